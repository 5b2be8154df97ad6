"""An Inspect task, run by Inspect itself with a stand-in for the model: what its solver asks a
model, and what its scorers make of an output. `_script.py` loads this where the function of a check
makes an Inspect task.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

STAND_IN = "mockllm/model"


def makes_task(found: object) -> bool:
    """By what Inspect's `@task` leaves on a function."""
    return getattr(getattr(found, "__registry_info__", None), "type", None) == "task"


def samples_of(make: Callable[..., Any]) -> dict[str, object]:
    """The samples in the order of the data set, as Inspect writes them, with the messages that the
    solver asks first, how often it asks, and the tools it offers; the scorers, and whether each
    asks a model itself.
    """
    log = run(make(), "?", score=False)
    places = {str(id): place for place, id in enumerate(log.eval.dataset.sample_ids)}
    samples = [sample_of(one) for one in sorted(log.samples, key=lambda one: places[str(one.id)])]
    solved = samples[0]["calls"] if samples else 0
    scorers = [
        {"name": one.name, "asks": asked(make, at) > solved}
        for at, one in enumerate(log.eval.scorers or [])
    ]
    return {"samples": samples, "scorers": scorers, "epochs": make().epochs or 1}


def sample_of(logged: Any) -> dict[str, Any]:
    full = import_module("inspect_ai.log").resolve_sample_attachments(logged, "full")
    calls = [event for event in full.events if event.event == "model"]
    described = full.model_dump(mode="json", include={"id", "target", "metadata"})
    messages = (
        [
            one.model_dump(mode="json", include={"role", "content", "tool_calls"})
            for one in calls[0].input
        ]
        if calls
        else []
    )
    tools = [tool.name for tool in calls[0].tools] if calls else []
    return {"sample": {**described, "input": messages}, "calls": len(calls), "tools": tools}


def asked(make: Callable[..., Any], scorer: int) -> int:
    """How often solver and one scorer ask the model for the first sample; 0 where they fail on the
    stand-in's output.
    """
    try:
        return calls_of(run(one_scorer(make(), scorer), "?", limit=1).samples[0])
    except RuntimeError:
        return 0


def calls_of(logged: Any) -> int:
    return sum(event.event == "model" for event in logged.events)


def score(
    make: Callable[..., Any], output: object, context: Mapping[str, Any]
) -> dict[str, object]:
    """What one scorer says of an output of the target for one sample."""
    log = run(one_scorer(make(), context["scorer"]), str(output), sample_id=context["sample"])
    (sample,) = log.samples
    if calls_of(sample) != 1:
        raise RuntimeError(
            "for this output the task asks the model again, and the target was asked once"
        )
    (result,) = sample.scores.values()
    if not isinstance(result.value, bool | int | float | str):
        raise RuntimeError("the scorer gave several values instead of one")
    value = import_module("inspect_ai.scorer").value_to_float()(result.value)
    if value != value:
        raise RuntimeError(f"the scorer gave no score: {result.explanation}")
    reason = f"{result.value}: {result.explanation}" if result.explanation else str(result.value)
    return {"pass": value > 0.5, "score": value, "reason": reason}


def one_scorer(task: Any, scorer: int) -> Any:
    return import_module("inspect_ai").task_with(task, scorer=task.scorer[scorer])


def run(task: Any, output: str, **options: Any) -> Any:
    """The log of a run in which the model always replies `output`. Raises RuntimeError with what
    Inspect says.
    """
    if task.sandbox or any(sample.sandbox for sample in task.dataset):
        raise RuntimeError(
            "it starts a sandbox, which is not started here: judge the log of `inspect eval` with --outputs"
        )
    model = import_module("inspect_ai.model")

    def reply(*asked: object) -> Any:
        answer = model.ModelOutput.from_content(STAND_IN, output)
        answer.usage = model.ModelUsage()  # else it is counted with tables from a server
        return answer

    stand_in = model.get_model(STAND_IN, custom_outputs=reply, memoize=False)
    folder = (
        tempfile.mkdtemp()
    )  # goes with the private copy: samples of a log are read from its file when they are asked for
    (log,) = import_module("inspect_ai").eval(
        task, model=stand_in, epochs=1, display="none", log_level="error", log_dir=folder, **options
    )
    if log.status != "success":
        raise RuntimeError(
            log.error.message if log.error else f"the run of the task is {log.status}"
        )
    return log
