"""A suite from traces of an application, with what it answered as a recorded target next to the
suite.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.authoring.draft import DraftedSuite, SuiteDraftRequest, recorded_name
from honestone.core.errors import UsageError
from honestone.core.json_value import Json, as_json, listed
from honestone.core.judging.rubric import slug
from honestone.core.suite.case import Case, Message, Suite, TargetSpec
from honestone.core.suite.sampling import stratified
from honestone.formats.drafts.cases import answer_rubric
from honestone.interop.traces.read import read_traces
from honestone.interop.traces.task import DroppedTrace, TracedTask
from honestone.interop.transcripts import HIDDEN, printable_text, without_secrets
from honestone.system.drawing import count
from honestone.system.files import printable

if TYPE_CHECKING:
    from honestone.app.workspace import Workspace

# So many cases at most where no sample is asked for.
MOST: Final = 1000
# Characters of an input: a longer one is dropped.
LONGEST: Final = 200_000
_NOT_STATED: Final = "(not said)"


class _Chosen(Struct, frozen=True, kw_only=True):
    """A task and the id of its case."""

    id: str
    task: TracedTask


def suite_from_traces(
    workspace: Workspace, request: SuiteDraftRequest, path: Path, output: Path | None
) -> DraftedSuite:
    """Raises UsageError for a request that cannot be, FileError for a file without a usable trace."""
    _refuse(request)
    if output is None:
        raise UsageError(
            "a suite from traces is two files, so it needs a name", hint="--output suite.yaml"
        )
    traces = read_traces(workspace.path(path))
    dropped = list(traces.dropped)
    usable = _usable([_clean(task) for task in traces.tasks], dropped)
    if not usable:
        raise UsageError(
            f"no trace of `{printable(path)}` can be a case: {dropped[0].why}",
            place=dropped[0].place,
        )
    most = MOST if request.sample is None else request.sample
    strata = _strata(usable, request.by)
    chosen = set(stratified([one.name for one in usable], strata, most, seed=request.seed))
    for index, task in enumerate(usable):
        if index not in chosen:
            why = (
                f"not in the sample of {most}"
                if request.sample
                else f"beyond the first {MOST}: --sample takes a sample"
            )
            dropped.append(DroppedTrace(name=task.name, place=task.place, why=why))
    taken = list(_with_ids([task for index, task in enumerate(usable) if index in chosen]))
    suite = Suite(
        cases=tuple(_case(one) for one in taken),
        title=f"Cases from {path.name}",
        target=TargetSpec(use=f"record:{recorded_name(output)}"),
    )
    return DraftedSuite(
        suite=suite,
        form="honestone",
        source=f"traces in {printable(path)}",
        to_check=_TO_CHECK,
        notes=tuple(_notes(len(traces.tasks), taken, strata, chosen, request)),
        dropped=tuple(dropped),
        recorded="".join(json.dumps(_output_row(one), ensure_ascii=True) + "\n" for one in taken),
    )


_TO_CHECK: Final = (
    "are names and texts out that other people should not read?",
    "the criterion `answer` is not from the traces: say what matters to you",
    "outputs are what was recorded, whether good or bad: `--target` names what should answer now",
    "where a word, a format or a call of a tool could tell, add `checks:`",
)


def _refuse(request: SuiteDraftRequest) -> None:
    if request.skill is not None or request.sessions is not None:
        raise UsageError("--from-traces is not combined with --from or --from-transcripts")
    if request.form == "task-suite" or request.model is not None or request.most is not None:
        raise UsageError(
            "traces become a suite of ours, without a model",
            hint="leave --format, --judge and --tasks out; --sample N",
        )


# -------------------------------------------------------------------------------------------------------
# what is used


def _clean(task: TracedTask) -> TracedTask:
    """Remove characters that no terminal shows, and what looks like a secret."""
    return replace(
        task,
        messages=tuple(
            Message(one.role, _cleaned(one.content))
            for one in task.messages
            if _cleaned(one.content)
        ),
        output=None if task.output is None else _cleaned(task.output),
        reference=None if task.reference is None else _cleaned(task.reference),
    )


def _cleaned(text: str) -> str:
    return without_secrets(printable_text(text))


def _usable(tasks: Sequence[TracedTask], dropped: list[DroppedTrace]) -> list[TracedTask]:
    """The tasks with an input and an output, each input once."""
    first: dict[str, TracedTask] = {}
    for task in tasks:
        key = json.dumps(
            [[one.role, " ".join(one.content.split()).casefold()] for one in task.messages]
        )
        why = _why_not(task)
        if why is None and key in first:
            why = f"the same input as trace {first[key].name}"
        if why is None:
            first[key] = task
        else:
            dropped.append(DroppedTrace(name=task.name, place=task.place, why=why))
    return list(first.values())


def _why_not(task: TracedTask) -> str | None:
    if not task.messages:
        return "no input is recorded: texts are recorded only where the application says so"
    if not task.output:
        return "no output is recorded"
    letters = sum(len(one.content) for one in task.messages)
    return f"its input has more than {LONGEST:,} characters" if letters > LONGEST else None


def _strata(tasks: Sequence[TracedTask], by: str | None) -> list[str]:
    """The value of `by` of each task. Raises UsageError where no task has one."""
    if by is None:
        return [""] * len(tasks)
    if not any(by in task.facts for task in tasks):
        counts = Counter(key for task in tasks for key in task.facts)
        raise UsageError(
            f"no trace says `{by}`",
            hint=f"--by takes one of: {listed([key for key, _ in counts.most_common(12)])}",
        )
    return [task.facts.get(by, _NOT_STATED) for task in tasks]


def _with_ids(tasks: Sequence[TracedTask]) -> Iterator[_Chosen]:
    used: Counter[str] = Counter()
    ids: set[str] = set()
    for task in tasks:
        base = slug(task.messages[-1].content, limit=40)
        id = base
        while id in ids:
            used[base] += 1
            id = f"{base}-{used[base] + 1}"
        ids.add(id)
        yield _Chosen(id=id, task=task)


# ------------------------------------------------------------------------------------------------------
# what is written


def _case(one: _Chosen) -> Case:
    task = one.task
    facts = {"trace": task.name, **task.facts}
    return Case(
        id=one.id,
        rubric=answer_rubric(has_reference=task.reference is not None),
        messages=task.messages,
        reference=task.reference,
        metadata={key: _cleaned(value) for key, value in facts.items()},
    )


def _output_row(one: _Chosen) -> Json:
    """A row of `record:FILE`: the output, and what the trace says of the run."""
    task = one.task
    row = {"id": as_json(one.id), "output": task.output}
    if task.tool_calls is not None:
        row["tool_calls"] = [
            {
                "name": call.name,
                "arguments": _hidden(dict(call.arguments)),
                "result": _hidden(call.result),
            }
            for call in task.tool_calls
        ]
    for name in ("input_tokens", "output_tokens", "usd", "duration_ms"):
        if getattr(task, name) is not None:
            row[name] = getattr(task, name)
    return row


def _hidden(value: Json) -> Json:
    """The value without what looks like a secret in its texts."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {without_secrets(key): _hidden(one) for key, one in value.items()}
    return [_hidden(one) for one in value] if isinstance(value, list) else value


def _notes(
    found: int,
    taken: Sequence[_Chosen],
    strata: Sequence[str],
    chosen: set[int],
    request: SuiteDraftRequest,
) -> Iterator[str]:
    yield f"{count(found, 'trace')}, {count(len(taken), 'case')}"
    if request.by is not None:
        there, used = Counter(strata), Counter(strata[index] for index in chosen)
        shown = [f"{name[:60]} {used[name]} of {number}" for name, number in there.most_common(20)]
        yield f"sampled by {request.by} (seed {request.seed}): {'; '.join(shown)}"
    hidden = sum(
        HIDDEN in json.dumps([_output_row(one), one.task.messages[-1].content]) for one in taken
    )
    if hidden:
        yield f"what looked like a secret was taken out of {count(hidden, 'case')}"
