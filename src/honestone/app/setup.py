"""The one place that wires: options and settings in, rubrics, panels and stores out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from honestone.core.artifact import Artifact, Version
from honestone.core.ballot import CHECK
from honestone.core.checks import KINDS
from honestone.core.contract import Contract, make_contract
from honestone.core.errors import CouldNotJudge, SettingsError, UsageError
from honestone.core.numbers import exact
from honestone.core.rubric import Check, Rubric
from honestone.core.scorecard import Rule

if TYPE_CHECKING:
    from honestone.adapters.checks import CheckRunner
    from honestone.adapters.registry import AdapterContext
    from honestone.adapters.stores.sqlite import SqliteStore
    from honestone.core.question import Question
    from honestone.engine.meter import Meter
    from honestone.engine.panel import Panel, Seat
    from honestone.formats.settings import Settings
    from honestone.ports import Store

EFFORTS = {"quick": (1, 1, 3), "standard": (3, 1, 5), "thorough": (3, 2, 8)}
"""Judges found by themselves, looks per judge, rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingOptions:
    """The shared options of `eval` and `improve`, as given."""

    judges: tuple[str, ...]
    threshold: float | None
    floor: float | None
    combine: str | None
    effort: str
    repeat: int | None
    evidence: str
    ask: Literal["rubric", "criterion", "item"]
    pack: Literal["none", "head", "outline"]
    max_age: float | None
    judge_timeout: float | None
    sandbox: str
    pass_env: tuple[str, ...]
    max_calls: int | None
    max_usd: float | None
    max_minutes: float | None
    max_size: float | None
    fresh: bool

    @classmethod
    def take(cls, options: dict[str, Any]) -> JudgingOptions:
        """Takes its own out of a command's keyword arguments."""
        return cls(**{name: options.pop(name) for name in cls.__slots__})

    @property
    def rule(self) -> Rule:
        return Rule(self.combine or "mean")

    @property
    def looks(self) -> int:
        return self.repeat or EFFORTS[self.effort][1]


def judging_defaults(*, judges: tuple[str, ...] = ()) -> JudgingOptions:
    """The shared options as they are when nothing else is asked for."""
    return JudgingOptions(
        judges=judges,
        threshold=None,
        floor=None,
        combine=None,
        effort="standard",
        repeat=None,
        evidence="warn",
        ask="rubric",
        pack="none",
        max_age=None,
        judge_timeout=None,
        sandbox="auto",
        pass_env=(),
        max_calls=None,
        max_usd=None,
        max_minutes=None,
        max_size=None,
        fresh=False,
    )


def settings_here() -> Settings:
    from honestone.formats.settings import find_settings

    return find_settings(Path.cwd())


def store_folder(settings: Settings) -> Path:
    """`.honestone/` beside the nearest settings file, else in the working directory; HONESTONE_HOME moves it."""
    moved = os.environ.get("HONESTONE_HOME")
    return Path(moved) if moved else (settings.folder or Path.cwd()) / ".honestone"


def open_store(settings: Settings, *, readonly: bool = False) -> SqliteStore:
    from honestone.adapters.stores.sqlite import SqliteStore

    return SqliteStore(store_folder(settings), readonly=readonly)


def load_rubric(
    path: Path,
    *,
    threshold: float | None = None,
    floor: float | None = None,
    accept_loss: bool = False,
    note: Callable[[str], None] | None = None,
) -> Rubric:
    """A rubric, ours or another tool's, with the bars of the command line put over its own.

    Raises SourceErrors for what a foreign file says and ours cannot, unless that is accepted; then it is noted.
    """
    from honestone.formats.source import ForeignRubric, refuse_losses
    from honestone.interop.recognise import read_any_rubric

    source = read_any_rubric(path)
    if isinstance(source, ForeignRubric):
        lost = refuse_losses(source.losses, source.dialect, accepted=accept_loss)
        for line in (f"{path} was read as {source.dialect}", *source.notes, *lost):
            if note is not None:
                note(line)
    return with_bars(source.rubric, threshold=threshold, floor=floor)


def with_bars(rubric: Rubric, *, threshold: float | None, floor: float | None) -> Rubric:
    if threshold is not None:
        rubric = replace(rubric, threshold=_points("--threshold", threshold))
    if floor is not None:
        rubric = replace(rubric, floor=_points("--floor", floor))
    return rubric


def _points(option: str, number: float) -> Fraction:
    try:
        value = exact(number) / 100
    except ValueError:
        value = Fraction(-1)
    if not 0 <= value <= 1:
        raise UsageError(f"{option} is {number:g}, but must be from 0 to 100", hint=f"for example {option} 80")
    return value


def make_context(options: JudgingOptions, settings: Settings, **extra: Any) -> AdapterContext:
    from honestone.adapters.registry import JUDGE_TIMEOUT, AdapterContext

    return AdapterContext(
        cwd=Path.cwd(),
        settings=settings,
        judge_timeout=options.judge_timeout or JUDGE_TIMEOUT,
        pass_env=options.pass_env,
        pack=options.pack,
        person=_person_at_the_terminal,
        **extra,
    )


def _person_at_the_terminal() -> Any:
    from honestone.adapters.people.form import TerminalPerson

    return TerminalPerson()


def make_seats(
    specs: Sequence[str], context: AdapterContext, *, looks: int = 1, taken: Sequence[str] = ()
) -> tuple[Seat, ...]:
    """Seats for judge names in the order given. A second equal one is a second draw, with `#2` to its name."""
    from honestone.adapters.registry import make_judge
    from honestone.engine.panel import Seat

    seats: list[Seat] = []
    counts: dict[str, int] = {}
    for spec in taken:
        counts[spec] = counts.get(spec, 0) + 1
    for spec in (spec for spec in specs for _ in range(looks)):
        draw = counts.get(spec, 0)
        counts[spec] = draw + 1
        name = spec if draw == 0 else f"{spec}#{draw + 1}"
        if name == CHECK:
            raise SettingsError(
                f"a judge cannot be called `{CHECK}`: that is the name of code", hint="rename it in settings"
            )
        seats.append(Seat(id=name, judge=make_judge(spec, context, id=name), draw=draw))
    return tuple(seats)


def choose_judges(options: JudgingOptions, rubric: Rubric, settings: Settings) -> tuple[str, ...]:
    """The judges named, else those that can run here, up to the effort's number and of different families.

    None is needed, looked for or listed where code answers everything. Raises CouldNotJudge when none is found.
    """
    if not rubric.asks_judges:
        return ()
    if options.judges:
        return options.judges
    from honestone.cli.doctor import ready_judges, survey

    found = ready_judges(settings, limit=EFFORTS[options.effort][0])
    if not found:
        rows = [
            f"  {row.name}: {row.found}" + (f"; get it: {row.hint}" if row.hint else "")
            for row in survey(settings, settings.judges)
        ]
        raise CouldNotJudge(
            "no judge was named and none was found, so nothing was judged. `honestone doctor` says:\n"
            + "\n".join(rows),
            hint="name one with --judge (script:COMMAND, cmd:COMMAND, human, ...)",
        )
    return found


def make_checker(rubric: Rubric, rubric_path: Path, options: JudgingOptions, artifacts: Sequence[Path]) -> CheckRunner:
    """`artifacts` are what is judged: a program among their files is taken from the version, never from disk."""
    from honestone.adapters.checks import CheckRunner

    # Only checks that run programs look at where artifacts lie; resolving thousands of paths for the others is waste.
    runs_code = any(KINDS[check.kind].family != "text" for check in checks_of(rubric))
    return CheckRunner(
        rubric_path.parent.resolve(),
        sandbox=options.sandbox,
        pass_env=options.pass_env,
        artifacts=[path.resolve() for path in artifacts] if runs_code else (),
    )


def never_judged(rubric: Rubric, rubric_path: Path, checker: CheckRunner) -> frozenset[Path]:
    """What is no part of a folder artifact though it lies in it: the rubric, its lock, and the tests and schemas that judge."""
    files = checker.judging_files(checks_of(rubric))
    lock = rubric_path.with_name(f"{rubric_path.name}.lock")
    return frozenset({rubric_path.resolve(), lock.resolve(), *(path.resolve() for path in files)})


def checks_of(rubric: Rubric) -> list[Check]:
    return [item.check for _, item in rubric.questions() if item.check is not None]


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


def contract_for(rubric: Rubric, seats: Sequence[Seat], checker: CheckRunner, options: JudgingOptions) -> Contract:
    return make_contract(
        rubric,
        judges=[seat.identity for seat in seats],
        checks=[dict(checker.identity(item.check)) for _, item in rubric.questions() if item.check is not None],
        rule=str(options.rule),
        options={"evidence": options.evidence, "ask": options.ask, "pack": options.pack},
    )


def preflight_checks(rubric: Rubric, checker: CheckRunner, version: Version | None = None) -> None:
    """Whatever cannot be started is an error before anything is spent. `version` is the only one judged, if it is."""
    checker.preflight(checks_of(rubric), version)


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

    judges: list[tuple[str, Any]] = [(seat.id, seat.judge) for seat in seats if hasattr(seat.judge, "refusal")]
    if not judges or not rubric.asks_judges:
        return
    # What surely fits is not rendered to find out; text that requirements make too long is skipped later.
    surely = min(judge.budget.characters for _, judge in judges) // 2
    first = split(asked_criteria(rubric), options.ask)[0]
    for path, size in sizes:
        if size > surely:
            artifact = Artifact(str(path), load(path))
            question = Question(artifact=artifact, criteria=first, input=input, reference=reference)
            refuse_if_all_refuse(str(path), judges, [question])


def refuse_if_all_refuse(name: str, judges: Sequence[tuple[str, Any]], questions: Sequence[Question]) -> None:
    """Raises UsageError when every one of these judges (id, judge) finds one of the questions too big."""
    from honestone.core.packing import Pack, what_to_do

    reasons = {}
    for id, judge in judges:
        why = next((why for question in questions if (why := judge.refusal(question))), None)
        if why is None:
            return
        reasons[id] = why
    if not reasons:
        return
    hint = what_to_do(Pack(judges[0][1].budget.pack))
    said = dict.fromkeys(why.removesuffix(f"; {hint}") for why in reasons.values())
    raise UsageError(f"{name!r} is {'; '.join(said)} ({', '.join(reasons)})", hint=hint)


def make_pair_seats(seats: Sequence[Seat]) -> tuple[Seat, ...]:
    """The same seats for comparing two artifacts. Raises UsageError for a judge that cannot be shown two."""
    from honestone.adapters.judges.absent import AbsentJudge
    from honestone.adapters.judges.pairwise import PairJudge
    from honestone.adapters.judges.prompted import PromptedJudge

    made = []
    for seat in seats:
        if type(seat.judge) is PromptedJudge and seat.judge.is_paid and not seat.id.startswith("agent:"):
            made.append(replace(seat, judge=PairJudge(seat.judge)))
        elif isinstance(seat.judge, AbsentJudge):
            made.append(seat)
        else:
            raise UsageError(
                f"the judge `{seat.id}` cannot compare two artifacts: {_WHY_NO_PAIRS.get(seat.id.split(':')[0], _NO_PAIRS)}",
                hint="name a model: codex, gemini, claude, PROVIDER:MODEL, cmd:COMMAND or a name from settings",
            )
    return tuple(made)


_NO_PAIRS = "it takes one artifact at a time"
_WHY_NO_PAIRS = {
    "script": "a script is asked about one artifact; score both with `honestone eval` and compare the numbers",
    "human": "the form for people shows one artifact",
    "agent": "`judge prompt` shows one artifact",
    "record": "a recording holds answers about one artifact",
    "mock": "it looks at nothing",
}


def max_bytes(options: JudgingOptions, settings: Settings) -> int:
    from honestone.system.files import MAX_BYTES

    size = options.max_size or settings.limits.get("max_size")
    return int(size * 1_000_000) if size else MAX_BYTES


def limit(given: float | int | None, settings: Settings, name: str, default: float) -> float:
    """The command line before the settings before the default."""
    if given is not None:
        return given
    found = settings.limits.get(name)
    if found is not None and found < 0:
        raise SettingsError(f"`limits.{name}` is {found}, but must not be negative")
    return float(found) if found is not None else default


def shown_path(path: Path) -> str:
    """Relative to the working directory where that is shorter to read."""
    try:
        return os.path.relpath(path)
    except ValueError:
        return str(path)


class open_store_for:
    """A store for the length of a command."""

    def __init__(self, settings: Settings, *, readonly: bool = False) -> None:
        self._store = open_store(settings, readonly=readonly)

    def __enter__(self) -> Store:
        return self._store

    def __exit__(self, *_: object) -> None:
        self._store.close()
