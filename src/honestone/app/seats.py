"""Judges by name or as objects, made ready to be asked: seats, panels, and refusals before anything is spent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from honestone.app.judging_options import EFFORTS, JudgingOptions
from honestone.app.workspace import Workspace
from honestone.core.artifact import Artifact, Version
from honestone.core.ballot import CHECK
from honestone.core.errors import CouldNotJudge, SettingsError, UsageError
from honestone.core.rubric import Rubric
from honestone.ports import Completion, Judge, Model, Prompt, SizedJudge, Store

if TYPE_CHECKING:
    from honestone.adapters.registry import AdapterContext
    from honestone.core.question import Question
    from honestone.core.spend import Meter
    from honestone.core.suite.case import Case
    from honestone.engine.panel import Panel, Seat


class ContextFields(TypedDict, total=False):
    """Fields of AdapterContext that only some use cases set."""

    worker_timeout: float
    target_timeout: float
    target_output: str
    cases: Sequence[Case]
    suite_folder: Path | None
    artifact: Path | None
    rubric_folder: Path | None
    fixes: tuple[str, ...]
    hidden: tuple[str, ...]
    ask: Callable[[Model], Callable[[Prompt], Awaitable[Completion]]] | None


def make_context(options: JudgingOptions, workspace: Workspace, **extra: Unpack[ContextFields]) -> AdapterContext:
    """What judges, workers and targets are made with."""
    from honestone.adapters.registry import JUDGE_TIMEOUT, AdapterContext

    return AdapterContext(
        cwd=workspace.folder,
        settings=workspace.settings,
        judge_timeout=options.judge_timeout or JUDGE_TIMEOUT,
        pass_env=tuple(options.pass_env),
        pack=options.pack,
        person=workspace.ask_person,
        **extra,
    )


def make_seats(
    judges: Sequence[str | Judge], context: AdapterContext, *, looks: int = 1, taken: Sequence[str] = ()
) -> tuple[Seat, ...]:
    """Seats in the order given. A second equal judge is a second draw, with `#2` to its name; `taken` are names that
    have seats already. Raises UsageError for an object that is not a judge, SettingsError for an unknown name."""
    from honestone.adapters.registry import judge_kind, make_judge
    from honestone.engine.panel import Seat

    seats: list[Seat] = []
    counts: dict[str, int] = {}
    for name in taken:
        counts[name] = counts.get(name, 0) + 1
    for judge in (judge for judge in judges for _ in range(looks)):
        name = judge if isinstance(judge, str) else _name_of(judge)
        draw = counts.get(name, 0)
        counts[name] = draw + 1
        id = name if draw == 0 else f"{name}#{draw + 1}"
        if id == CHECK:
            raise SettingsError(
                f"a judge cannot be called `{CHECK}`: that is the name of code", hint="rename it in settings"
            )
        made = make_judge(judge, context, id=id) if isinstance(judge, str) else judge
        kind = judge_kind(judge, context) if isinstance(judge, str) else "program"
        seats.append(Seat(id=id, judge=made, draw=draw, kind=kind))
    return tuple(seats)


def _name_of(judge: object) -> str:
    if not isinstance(judge, Judge):
        raise UsageError(
            f"{judge!r} is not a judge: it does not answer `honestone.ports.Judge`",
            hint='name one ("cmd:COMMAND", "human", "codex", ...), or give it id, identity, is_paid, render, ask, read and close',
        )
    return judge.id


def choose_judges(options: JudgingOptions, rubric: Rubric, workspace: Workspace) -> tuple[str | Judge, ...]:
    """The judges named, else those that can run here, up to the effort's number and of different families.

    None is needed, looked for or listed where code answers everything. Raises CouldNotJudge when none is found.
    """
    if not rubric.asks_judges:
        return ()
    if options.judges:
        return options.judges
    from honestone.app.readiness import ready_judges, survey

    found = ready_judges(workspace.settings, limit=EFFORTS[options.effort][0])
    if not found:
        rows = [
            f"  {row.name}: {row.found}" + (f"; get it: {row.hint}" if row.hint else "")
            for row in survey(workspace.settings)
        ]
        raise CouldNotJudge(
            "no judge was named and none was found, so nothing was judged. `honestone doctor` says:\n"
            + "\n".join(rows),
            hint="name one with --judge (script:COMMAND, cmd:COMMAND, human, ...)",
        )
    return found


def make_panel(
    seats: Sequence[Seat], store: Store, meter: Meter, options: JudgingOptions, *, fallback: Seat | None = None
) -> Panel:
    from datetime import UTC, datetime, timedelta

    from honestone.engine.panel import Panel

    oldest = None
    if options.max_age is not None:
        oldest = (datetime.now(UTC) - timedelta(days=options.max_age)).isoformat(timespec="milliseconds")
    return Panel(
        seats=seats,
        store=store,
        meter=meter,
        fresh=options.fresh,
        ask=options.ask,
        fallback=fallback,
        require_evidence=options.evidence == "require",
        oldest_reply=oldest,
    )


def refuse_too_big(
    seats: Sequence[Seat],
    rubric: Rubric,
    options: JudgingOptions,
    sizes: Sequence[tuple[Path, int]],
    load: Callable[[Path], Version],
    *,
    input: str | None = None,
    reference: str | None = None,
) -> None:
    """An artifact that no model judge can be shown is an error before anything is spent. `sizes` are in bytes.

    Where only some judges can, the others are skipped with the same reason when their turn comes.
    """
    from honestone.core.question import Question, asked_criteria
    from honestone.engine.panel import split

    judges = _with_bounds(seats)
    if not judges or not rubric.asks_judges:
        return
    # What surely fits is not rendered to find out; text that requirements make too long is skipped later.
    surely = min(judge.budget.characters for judge in judges.values()) // 2
    first = split(asked_criteria(rubric), options.ask)[0]
    for path, size in sizes:
        if size > surely:
            artifact = Artifact(str(path), load(path))
            question = Question(artifact=artifact, criteria=first, input=input, reference=reference)
            refuse_if_all_refuse(str(path), seats, [question])


def refuse_if_all_refuse(name: str, seats: Sequence[Seat], questions: Sequence[Question]) -> None:
    """Raises UsageError when every judge that can be shown only so much finds one of the questions too big."""
    from honestone.core.packing import Pack, what_to_do

    judges = _with_bounds(seats)
    reasons = {}
    for id, judge in judges.items():
        why = next((why for question in questions if (why := judge.refusal(question))), None)
        if why is None:
            return
        reasons[id] = why
    if not reasons:
        return
    hint = what_to_do(Pack(next(iter(judges.values())).budget.pack))
    said = dict.fromkeys(why.removesuffix(f"; {hint}") for why in reasons.values())
    raise UsageError(f"{name!r} is {'; '.join(said)} ({', '.join(reasons)})", hint=hint)


def _with_bounds(seats: Sequence[Seat]) -> dict[str, SizedJudge]:
    return {seat.id: seat.judge for seat in seats if isinstance(seat.judge, SizedJudge)}


def make_pair_seats(seats: Sequence[Seat]) -> tuple[Seat, ...]:
    """The same seats for comparing two artifacts. Raises UsageError for a judge that cannot be shown two."""
    from honestone.adapters.judges.pairwise import PairJudge
    from honestone.adapters.judges.prompted import PromptedJudge
    from honestone.adapters.judges.unavailable import UnavailableJudge

    made = []
    for seat in seats:
        if type(seat.judge) is PromptedJudge and seat.kind != "agent":
            made.append(replace(seat, judge=PairJudge(seat.judge)))
        elif isinstance(seat.judge, UnavailableJudge):
            made.append(seat)
        else:
            raise UsageError(
                f"the judge `{seat.id}` cannot compare two artifacts: {_WHY_NO_PAIRS.get(seat.kind, _NO_PAIRS)}",
                hint="name a model: codex, gemini, claude, PROVIDER:MODEL, cmd:COMMAND or a name from settings",
            )
    return tuple(made)


_NO_PAIRS = "it takes one artifact at a time"
_WHY_NO_PAIRS = {
    "program": "a script is asked about one artifact; score both with `honestone eval` and compare the numbers",
    "person": "the form for people shows one artifact",
    "agent": "`judge prompt` shows one artifact",
    "recorded": "a recording holds answers about one artifact",
    "mock": "it looks at nothing",
}
