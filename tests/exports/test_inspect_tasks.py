"""Tasks of Inspect run by honestone and by Inspect itself, with the same outputs: the same scores."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

TASKS = """\
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, Target, accuracy, choice, f1, includes, match, mean, model_graded_qa, pattern, scorer
from inspect_ai.solver import (
    TaskState, chain_of_thought, generate, multiple_choice, prompt_template, self_critique, solver, system_message,
)


@scorer(metrics=[mean()])
def short():
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=max(0.0, 1 - len(state.output.completion) / 100))

    return score


@scorer(metrics=[accuracy()])
def partly():
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value="P" if state.metadata.get("half") else "I", explanation=str(len(state.messages)))

    return score


@solver
def shout():
    async def solve(state: TaskState, generate):
        state.user_prompt.text = state.user_prompt.text.upper()
        state = await generate(state)
        state.output.completion = state.output.completion.strip("!")
        return state

    return solve


@task
def cities():
    return Task(
        dataset=[
            Sample(input="Capital of France?", target="Paris", id="fr", metadata={"half": True}),
            Sample(input="Capital of Italy?", target=["Rome", "Roma"]),
        ],
        solver=[system_message("Answer {style}.", style="briefly"), prompt_template("Q: {prompt} A:"), generate()],
        scorer=[includes(), f1(), short(), partly()],
    )


@task
def fruits():
    return Task(
        dataset=[
            Sample(input="Which is a fruit?", choices=["stone", "pear"], target="B"),
            Sample(input="Which are fruits?", choices=["plum", "stone", "pear"], target=["A", "C"], id="both"),
        ],
        solver=multiple_choice(multiple_correct=True),
        scorer=choice(),
    )


@task
def numbers():
    return Task(
        dataset=[Sample(input="6 x 7?", target="42")],
        solver=[chain_of_thought(), shout()],
        scorer=[match(numeric=True), pattern(r"ANSWER: (\\\\d+)")],
    )
"""

LEFT_OUT = """

@task
def criticised():
    return Task(dataset=[Sample(input="Say it", target="it")], solver=[generate(), self_critique()], scorer=match())


@task
def graded():
    return Task(dataset=[Sample(input="Say it", target="it")], scorer=model_graded_qa())
"""

OUTPUT = {
    "cities/fr": "It is Paris!",
    "cities/2": "Milan",
    "fruits/1": "ANSWER: B",
    "fruits/both": "ANSWER: A, B",
    "numbers/1": "6 x 7 = 42\n\nANSWER: 42!",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("inspect_ai", reason="make test-exports installs it")
    folder = tmp_path_factory.mktemp("inspect")
    (folder / "task.py").write_text(TASKS)
    (folder / "left_out.py").write_text(TASKS.partition("\n\n\n")[0] + LEFT_OUT)
    (folder / "reply.py").write_text(f"import sys\nprint({OUTPUT!r}[sys.argv[1]], end='')\n")
    return folder


def _honestone(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "honestone",
        "eval",
        *words,
        "-j",
        "mock",
        "--allow-code",
        "--json",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500)


def _ours(folder: Path) -> dict[str, list[float]]:
    """The score of each scorer, from 0 to 1, by case."""
    ran = _honestone(folder, "task.py", "--target", "cmd:python3 reply.py {CASE_ID}")
    assert ran.returncode in (0, 1), ran.stderr
    cases = json.loads(ran.stdout)["cases"]
    return {case["id"]: [one["score"] / 100 for one in case["criteria"]] for case in cases}


def _theirs(folder: Path) -> dict[str, list[float]]:
    """The same of Inspect's own run, with its stand-in for a model."""
    inspect, model, scorer = (
        import_module(f"inspect_ai{name}") for name in ("", ".model", ".scorer")
    )
    sys.path.insert(0, str(folder))
    module: Any = import_module("task")
    found = {}
    for name in ("cities", "fruits", "numbers"):
        ids = [key.partition("/")[2] for key in OUTPUT if key.startswith(f"{name}/")]
        for id in ids:
            said = model.ModelOutput.from_content("mockllm/model", OUTPUT[f"{name}/{id}"])
            said.usage = model.ModelUsage()
            stand_in = model.get_model("mockllm/model", custom_outputs=[said], memoize=False)
            sample = int(id) if id.isdigit() else id
            (log,) = inspect.eval(
                getattr(module, name)(),
                model=stand_in,
                sample_id=sample,
                display="none",
                log_dir=str(folder / "logs"),
            )
            to_float = scorer.value_to_float()
            found[f"{name}/{id}"] = [
                to_float(score.value) for score in log.samples[0].scores.values()
            ]
    return found


def test_a_task_is_scored_as_inspect_scores_it(folder: Path) -> None:
    """Scorers of Inspect and of the file's own, solvers that change the question, and one that
    changes the reply.
    """
    ours, theirs = _ours(folder), _theirs(folder)
    assert ours.keys() == theirs.keys() == OUTPUT.keys()
    for case, scores in theirs.items():
        assert ours[case] == pytest.approx(scores, abs=1e-9), case


def test_what_a_task_does_more_is_a_loss(folder: Path) -> None:
    """A solver that asks several times and a scorer that asks a model, each at its place."""
    ran = _honestone(folder, "left_out.py", "--target", "mock")
    assert ran.returncode == 2
    assert "asks the model 3 times" in ran.stderr
    assert "the scorer `model_graded_qa` asks a model" in ran.stderr
