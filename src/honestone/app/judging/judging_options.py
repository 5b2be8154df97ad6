"""The options about judging that every use case shares, the limits that follow, and the judges they
name made ready.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.options import BY_COMMAND, Option, given_words, require_valid
from honestone.app.workspace import Workspace
from honestone.core.artifact import Artifact, Version
from honestone.core.errors import CouldNotJudge, SettingsError, UsageError
from honestone.core.judging.ballot import CHECK
from honestone.core.judging.choices import Ask, Evidence, Pack, SandboxChoice
from honestone.core.judging.rubric import (
    QUORUM_WORDS,
    TIERS,
    Quorum,
    Rubric,
    Rule,
    is_quorum,
    sure_problem,
)
from honestone.core.judging.settings_tables import LimitName
from honestone.ports import Embedder, Function, Judge, SizedJudge, Store

if TYPE_CHECKING:
    from honestone.adapters.context import AdapterContext
    from honestone.adapters.models.batches.options import BatchOptions
    from honestone.core.judging.ballot import Question
    from honestone.core.judging.spend import Meter
    from honestone.engine.judging.panel import Panel
    from honestone.engine.judging.seats import Seat
    from honestone.ports import Settings


class Effort(NamedTuple):
    """Judges found when none is named, looks per judge, rounds; rounds and judge calls of a policy
    that decides by belief: it looks once at most versions, and draws further looks as it needs
    them.
    """

    judges: int
    looks: int
    rounds: int
    belief_rounds: int
    belief_calls: int


EFFORTS: Final = {
    "quick": Effort(1, 1, 3, 8, 16),
    "standard": Effort(3, 1, 5, 16, 30),
    "thorough": Effort(3, 2, 8, 24, 60),
}
# In minutes: the time limit of a run that no one limited.
A_DAY: Final = 24 * 60
# Texts whose judges are waited for together where their calls go in batches.
BATCH_AT_ONCE: Final = 2_000
# In minutes: how long a batch is waited for that may take a day.
_A_BATCH: Final = A_DAY + 120


Seconds: TypeAlias = Annotated[float | None, Option(above=0, metavar="SECONDS")]
JudgeNames: TypeAlias = Annotated[
    tuple[str | Judge | Function, ...],
    Option("Judge to use; repeat for a panel.", name="--judge", short="-j", metavar="JUDGE"),
]
Threshold: TypeAlias = Annotated[
    float | None,
    Option(
        "Overall bar instead of the rubric's.", metavar="0-100", min=0, max=100, show_range=False
    ),
]
Floor: TypeAlias = Annotated[
    float | None,
    Option(
        "Bar for every criterion instead of the rubric's; 0 is off.",
        metavar="0-100",
        min=0,
        max=100,
        show_range=False,
    ),
]
Combine: TypeAlias = Annotated[
    str | None, Option("How votes become one. [mean]", choices=tuple(map(str, Rule)))
]
MaxCalls: TypeAlias = Annotated[int | None, Option("Judge calls, retries included.", min=0)]
MaxUsd: TypeAlias = Annotated[float | None, Option("Money, where the price is known.", min=0)]
MaxMinutes: TypeAlias = Annotated[float | None, Option("Time worked on the run.", min=0)]
FromOutside: TypeAlias = Annotated[
    Sequence[Path],
    Option(
        "A folder out of the project that a suite's files, the code of its checks and sandboxed targets may read.",
        metavar="DIR",
    ),
]
ReadAs: TypeAlias = Annotated[
    str | None,
    Option(
        "The format of the rubric or suite, instead of what its content says.",
        name="--as",
        metavar="FORMAT",
    ),
]
AllowCode: TypeAlias = Annotated[
    bool,
    Option("Run code of another tool's file, such as promptfoo's javascript assertions."),
]
AcceptLoss: TypeAlias = Annotated[
    bool,
    Option("Read another tool's file although something in it has no meaning here."),
]
Sure: TypeAlias = Annotated[
    float | None,
    Option(
        "Ask judges on until it is that probable that the contract is met, or that it is not."
        " [the rubric's or suite's, else one look each]",
        metavar="50-99.9",
    ),
]
MaxLooks: TypeAlias = Annotated[
    int | None,
    Option(
        "With --sure: the most looks of judges at one text, or at all cases of a suite."
        " [12; 6 a case]",
        min=2,
    ),
]
Locked: TypeAlias = Annotated[
    bool,
    Option("Refuse a rubric, prompt, judge or bar other than `rubric lock` wrote."),
]
RequireImprovement: TypeAlias = Annotated[
    bool, Option("Pass only if the lower bound of the interval is above 0.")
]
RequireCalibration: TypeAlias = Annotated[
    bool,
    Option(
        "Refuse a judge that `judges calibrate` has not measured as it is now, or found lenient, or with"
        " too few labels.",
    ),
]
RequireTier: TypeAlias = Annotated[
    str | None,
    Option(
        "Refuse a judge that `judges audit` has not found to be of that tier.",
        choices=TIERS,
    ),
]


_OF_ONE_EVALUATION: Final = frozenset(
    ("judges", "effort", "repeat", "fresh", "max_calls", "max_usd", "max_minutes")
)


class JudgingOptions(Struct, frozen=True, kw_only=True):
    """The options of every command that judges. Judges are names, functions, or objects that answer
    `ports.Judge`.
    """

    judges: JudgeNames = ()
    threshold: Threshold = None
    floor: Floor = None
    combine: Combine = None
    quorum: Annotated[
        Quorum | None,
        Option(
            "Judges that must answer, and suffice; `all` counts those not installed too."
            " [the rubric's, else a missing vote leaves the gate open]",
            metavar="N|all",
        ),
    ] = None
    effort: Annotated[
        str,
        Option(
            "Judges, repeats and rounds in one dial.", choices=tuple(EFFORTS), show_default=True
        ),
    ] = "standard"
    repeat: Annotated[
        int | None,
        Option(
            "Looks per judge; of a suite, runs of each case: one that flips is unstable."
            " [1; thorough: 2 looks]",
            short="-n",
            metavar="N",
            min=1,
            max=20,
        ),
    ] = None
    evidence: Annotated[
        Evidence,
        Option("What to do when a judge's quote is not found in the text.", show_default=True),
    ] = "warn"
    ask: Annotated[Ask, Option("What one call to a judge covers.", show_default=True)] = "rubric"
    pack: Annotated[
        str,
        Option(
            "What a judge is shown of an artifact that is too big for it.",
            choices=tuple(map(str, Pack)),
            show_default=True,
        ),
    ] = "none"
    max_age: Annotated[
        float | None,
        Option("Recorded replies older than this are asked again.", min=0, metavar="DAYS"),
    ] = None
    judge_timeout: Seconds = None
    sandbox: Annotated[
        SandboxChoice,
        Option(
            "Where checks run code. `require` refuses to run it without a sandbox.",
            show_default=True,
        ),
    ] = "auto"
    embeddings: Annotated[
        str | None,
        Option(
            "Model that makes the vectors of `similar`: a name of the settings, or PROVIDER:MODEL.",
            metavar="NAME",
        ),
    ] = None
    pass_env: Annotated[
        Sequence[str], Option("A variable that judges and workers may see.", metavar="NAME")
    ] = ()
    allow_outside: FromOutside = ()
    read_as: ReadAs = None
    allow_host: Annotated[
        Sequence[str],
        Option(
            "A host of the settings that may be given a standard key, such as OPENAI_API_KEY.",
            metavar="HOST[:PORT]",
        ),
    ] = ()
    max_calls: MaxCalls = None
    max_usd: MaxUsd = None
    max_minutes: MaxMinutes = None
    max_size: Annotated[float | None, Option("Largest artifact. [10]", above=0, metavar="MB")] = (
        None
    )
    fresh: Annotated[bool, Option("Start over: ignore recorded replies.")] = False
    # The rest are options of single commands.
    # Run the code of another tool's file although it is not trusted.
    allow_code: Annotated[AllowCode, BY_COMMAND] = False
    # Of every judge that decides: measured against labels, of a tier of `judges audit`.
    require_calibration: Annotated[RequireCalibration, BY_COMMAND] = False
    require_tier: Annotated[RequireTier, BY_COMMAND] = None
    # Ask on until the verdict is so probable (percent), within so many looks.
    sure: Annotated[Sure, BY_COMMAND] = None
    max_looks: Annotated[MaxLooks, BY_COMMAND] = None
    # The judges that an optimiser asked, where `judges` are those held out: they are not asked.
    steering: tuple[str | Judge | Function, ...] = ()
    # Ask through the providers' batch APIs. It is called with a line for each batch that was sent
    # or resumed.
    batch: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        """Raises UsageError for what no command line would accept."""
        if self.quorum is not None and not is_quorum(self.quorum):
            raise UsageError(f"`quorum` is {self.quorum!r}, but must be {QUORUM_WORDS}")
        if self.sure is not None and (why := sure_problem(self.sure)) is not None:
            raise UsageError(f"`sure` (--sure) is {why}", hint="for example --sure 95")
        require_valid(self, JudgingOptions)

    def outside(self, place: Callable[[Path], Path]) -> list[Path]:
        """Folders out of the project that may be read; `place` says where a named one is."""
        return [place(folder) for folder in self.allow_outside]

    @property
    def words_for_improve(self) -> tuple[str, ...]:
        """The options of an evaluation that `improve` repeats, as they are typed: the bars, and how
        judges are asked. Not the limits of one evaluation; judges only where some are held out.
        """
        names = [("--judge", one) for one in self.steering]
        names += [("--holdout", one) for one in self.judges] if names else []
        judges = [word for option, one in names for word in (option, _name_of(one))]
        return (*given_words(self, _OF_ONE_EVALUATION), *judges)

    @property
    def rule(self) -> Rule:
        return Rule(self.combine or "mean")

    @property
    def looks(self) -> int:
        return self.repeat or EFFORTS[self.effort].looks

    def meter(self, settings: Settings, *, calls: float, minutes: float = A_DAY) -> Meter:
        """The limits of a run: the option, else the settings, else these `calls` and `minutes`;
        money has no default.
        """
        from honestone.core.judging.spend import Meter

        return Meter(
            calls=int(limit(self.max_calls, settings, "max_calls", calls)),
            is_by_record=self.max_calls == 0,
            minutes=limit(self.max_minutes, settings, "max_minutes", minutes),
            usd=self.max_usd if self.max_usd is not None else settings.limits.get("max_usd"),
            clock=time.monotonic,
        )


class ArtifactOptions(Struct, frozen=True, kw_only=True):
    """The options of `eval ARTIFACT` other than those of judging. They are here, where a suite
    finds them too: its command declares them, and loads no code that judges artifacts.
    """

    gate_only: Annotated[bool, Option("Stop asking judges once the verdict cannot change.")] = False
    input: Annotated[str | None, Option("The input that a target gets. [the artifact's text]")] = (
        None
    )
    reference: Annotated[str | None, Option("A reference answer that judges see.")] = None
    staged: Annotated[
        bool, Option("Judge what is staged in git, as the next commit would have it.")
    ] = False
    accept_loss: Annotated[AcceptLoss, BY_COMMAND] = False
    locked: Annotated[Locked, BY_COMMAND] = False


class TextOptions(Struct, frozen=True, kw_only=True):
    """The options of `eval TABLE --text COLUMN` besides those of judging. `--input` and
    `--reference` name columns there too.
    """

    text: Annotated[
        str | None,
        Option("The column of a table whose texts are judged, a row each.", metavar="COLUMN"),
    ] = None
    id: Annotated[
        str | None,
        Option("The column with the ids of the texts. [the row's number]", metavar="COLUMN"),
    ] = None
    group: Annotated[
        str | None,
        Option("The column by which texts are counted in groups, too.", metavar="COLUMN"),
    ] = None
    input_text: Annotated[
        str | None, Option("The same input for all texts of a table.", metavar="TEXT")
    ] = None
    max_rows: Annotated[
        int | None, Option("Judge the first rows of a table only.", min=1, metavar="N")
    ] = None

    def __post_init__(self) -> None:
        """Raises UsageError for what no command line would accept."""
        require_valid(self, TextOptions)


def limit(given: float | int | None, settings: Settings, name: LimitName, default: float) -> float:
    """The option before the settings before the default."""
    if given is not None:
        return given
    setting = settings.limits.get(name)
    if setting is not None and setting < 0:
        raise SettingsError(f"`limits.{name}` is {setting}, but must not be negative")
    return float(setting) if setting is not None else default


def max_bytes(options: JudgingOptions, settings: Settings) -> int:
    """The largest artifact that is read."""
    from honestone.system.files import MAX_BYTES

    size = options.max_size or settings.limits.get("max_size")
    return int(size * 1_000_000) if size else MAX_BYTES


def make_context(options: JudgingOptions, workspace: Workspace) -> AdapterContext:
    """What judges, workers and targets are made with. Fields that only some use cases set are put
    in by `replace`.
    """
    from honestone.adapters.context import JUDGE_TIMEOUT, AdapterContext

    return AdapterContext(
        cwd=workspace.folder,
        settings=workspace.settings,
        judge_timeout=options.judge_timeout or JUDGE_TIMEOUT,
        pass_env=tuple(options.pass_env),
        allow_hosts=tuple(options.allow_host),
        allowed=tuple(options.outside(workspace.path)),
        pack=options.pack,
        person=workspace.ask_person,
        commands=workspace.allows_commands,
        batches=_batches(options, workspace),
    )


def _batches(options: JudgingOptions, workspace: Workspace) -> BatchOptions | None:
    if options.batch is None:
        return None
    from honestone.adapters.models.batches.options import BatchOptions

    minutes = limit(options.max_minutes, workspace.settings, "max_minutes", _A_BATCH)
    return BatchOptions(
        folder=workspace.store / "batches", say=options.batch, minutes=minutes, fresh=options.fresh
    )


def make_embedder(options: JudgingOptions, workspace: Workspace) -> Embedder | None:
    """The model that makes the vectors of `similar`; None where none is named. Raises
    SettingsError.
    """
    if options.embeddings is None:
        return None
    from honestone.adapters.named_models import make_embedder

    return make_embedder(options.embeddings, make_context(options, workspace))


def notes_on_unnamed_files(seats: Sequence[Seat], folder: Path) -> list[str]:
    """A sentence for each judge that is a program of which only running it would tell which files
    it runs.
    """
    from honestone.core.checking.checks import visible
    from honestone.system.trust.judging_files import names_commands, parts_that_name_no_file

    notes = []
    for seat in seats:
        parts = (
            parts_that_name_no_file(seat.identity, folder) if names_commands(seat.identity) else []
        )
        if parts:
            shown = visible(parts[0], 60)
            notes.append(
                f"the files of the judge {visible(seat.id, 80)} cannot be named (`{shown}` is known only when it runs):"
                " a change of them during the run is not noticed, and a lock does not cover them"
            )
    return notes


def refuse_commands(
    judges: Sequence[str | Judge | Function], workspace: Workspace, options: JudgingOptions
) -> None:
    """Raises CommandRefused for a judge that may not be used here, also where the rubric asks none."""
    from honestone.adapters.registry import require_harmless_judge

    context = make_context(options, workspace)
    for judge in judges:
        if isinstance(judge, str):
            require_harmless_judge(judge, context)


def make_seats(
    judges: Sequence[str | Judge | Function], context: AdapterContext, *, looks: int = 1
) -> tuple[Seat, ...]:
    """Seats in the order given. A second equal judge is a second draw, with `#2` to its name.
    Raises UsageError for an object that is not a judge, SettingsError for an unknown name.
    """
    from honestone.adapters.registry import is_batched, judge_kind, make_judge
    from honestone.core.record.rates import rates_of
    from honestone.engine.judging.seats import Seat
    from honestone.engine.judging.voter import voter

    seats: list[Seat] = []
    known: list[tuple[object, str]] = []
    counts: dict[str, int] = {}
    for judge in (judge for judge in judges for _ in range(looks)):
        name = _name_of(judge)
        draw = counts.get(name, 0)
        counts[name] = draw + 1
        id = name if draw == 0 else f"{name}#{draw + 1}"
        if id == CHECK:
            raise SettingsError(
                f"a judge cannot be called `{CHECK}`: that is the name of code",
                hint="rename it in settings",
            )
        made = judge if isinstance(judge, Judge) else make_judge(judge, context, id=id)
        kind = judge_kind(judge, context) if isinstance(judge, str) else "program"
        same = voter(made, context.cwd)
        draw_of = next((first for other, first in known if other == same), None)
        if draw_of is None:
            known.append((same, id))
        rates = rates_of(context.settings.judges.get(name))
        seats.append(Seat(id=id, judge=made, draw=draw, kind=kind, draw_of=draw_of, rates=rates))
    if context.batches is not None and seats and not any(is_batched(seat.judge) for seat in seats):
        raise UsageError(
            f"--batch asks through a batch API, which the judge `{seats[0].id}` has not",
            hint="name a model of OpenAI or Anthropic, such as --judge openai:MODEL, or leave out --batch",
        )
    return tuple(seats)


def certified_by(
    options: JudgingOptions, holdouts: Sequence[str], workspace: Workspace
) -> JudgingOptions:
    """The options with held-out judges as the panel. The judges of the options, which an optimiser
    asked, are not asked again. Raises UsageError for a judge that is both, and where no judge is
    named that it could be.
    """
    if not holdouts:
        return options
    if not options.judges:
        raise UsageError(
            "--holdout certifies what was optimised against other judges, but --judge names none",
            hint="name those judges with --judge; a judge that simply decides is named with --judge alone",
        )
    seats = make_seats([*options.judges, *holdouts], make_context(options, workspace))
    steering, certifying = seats[: len(options.judges)], seats[len(options.judges) :]
    both = next((one for one in certifying if one.draw_of in {seat.id for seat in steering}), None)
    if both is not None:
        raise UsageError(
            f"the held-out judge `{both.draw_of}` is one of --judge, so it certifies nothing",
            hint="hold out a judge that no optimiser asked",
        )
    return replace(options, judges=tuple(holdouts), steering=options.judges)


def _name_of(judge: str | Judge | Function) -> str:
    from honestone.adapters.functions import name_of

    if isinstance(judge, str | Judge):
        return judge if isinstance(judge, str) else judge.id
    return name_of(judge)


def choose_judges(
    options: JudgingOptions, rubric: Rubric, workspace: Workspace
) -> tuple[str | Judge | Function, ...]:
    """The judges named, else those that can run here, up to the effort's number and of different
    families.

    None is needed, looked for or listed where code answers everything. Raises CouldNotJudge when
    none is found.
    """
    if not rubric.asks_judges:
        return ()
    if options.judges:
        return options.judges
    from honestone.app.readiness import ready_judges, survey

    # Judges of the settings are found where they are trusted; whoever may run no command is given
    # none of them.
    settings = (
        workspace.settings if workspace.allows_commands else replace(workspace.settings, judges={})
    )
    ready = ready_judges(settings, limit=EFFORTS[options.effort].judges)
    if not ready:
        rows = [
            f"  {row.name}: {row.found}" + (f"; get it: {row.hint}" if row.hint else "")
            for row in survey(settings)
        ]
        raise CouldNotJudge(
            "no judge was named and none was found, so nothing was judged. `honestone doctor` says:\n"
            + "\n".join(rows),
            hint="name one with --judge (script:COMMAND, cmd:COMMAND, human, ...)",
        )
    return ready


def require_quorum(rubric: Rubric, seats: Sequence[Seat]) -> None:
    """Raises UsageError for a quorum that this panel can never meet. Equal judges are one."""
    size = len({seat.draw_of or seat.id for seat in seats})
    if isinstance(rubric.quorum, int) and rubric.quorum > size and rubric.asks_judges:
        raise UsageError(
            f"the quorum is {rubric.quorum}, but the panel has {size} judge{'' if size == 1 else 's'}",
            hint="--quorum takes a number up to the panel's size, or `all`",
        )


def make_panel(
    seats: Sequence[Seat],
    store: Store,
    meter: Meter,
    options: JudgingOptions,
    *,
    fallback: Seat | None = None,
    holdouts: Sequence[Seat] = (),
    concurrency: int | None = None,
) -> Panel:
    """`concurrency`: calls at once of a judge that does not say itself how many it takes."""
    from honestone.engine.judging.panel import CALLS_AT_ONCE, Panel

    return Panel(
        seats=(*seats, *holdouts),
        first_counts=frozenset(seat.id for seat in holdouts),
        journal=store.journal,
        meter=meter,
        fresh=options.fresh,
        ask=options.ask,
        fallback=fallback,
        require_evidence=options.evidence == "require",
        oldest_reply=oldest_reply(options),
        concurrency=concurrency or CALLS_AT_ONCE,
    )


def oldest_reply(options: JudgingOptions) -> str | None:
    """From when on what is on record counts, as an ISO time: `--max-age`."""
    from datetime import UTC, datetime, timedelta

    if options.max_age is None:
        return None
    return (datetime.now(UTC) - timedelta(days=options.max_age)).isoformat(timespec="milliseconds")


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
    """An artifact that no model judge can be shown is an error before anything is spent. `sizes`
    are in bytes.

    Where only some judges can, the others are skipped with the same reason when their turn comes.
    """
    from honestone.core.judging.ballot import Question, asked_criteria
    from honestone.engine.judging.panel import split

    judges = _with_bounds(seats)
    if not judges or not rubric.asks_judges:
        return
    # What surely fits is not rendered to find out; text that requirements make too long is skipped
    # later.
    surely = min(judge.budget.characters for judge in judges.values()) // 2
    first = split(asked_criteria(rubric), options.ask)[0]
    for path, size in sizes:
        if size > surely:
            artifact = Artifact(str(path), load(path))
            question = Question(artifact=artifact, criteria=first, input=input, reference=reference)
            refuse_if_all_refuse(str(path), seats, [question])


def refuse_if_all_refuse(name: str, seats: Sequence[Seat], questions: Sequence[Question]) -> None:
    """Raises UsageError when every judge that can be shown only so much finds one of the questions
    too big.
    """
    from honestone.core.judging.packing import what_to_do

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
    causes = dict.fromkeys(why.removesuffix(f"; {hint}") for why in reasons.values())
    raise UsageError(f"{name!r} is {'; '.join(causes)} ({', '.join(reasons)})", hint=hint)


def _with_bounds(seats: Sequence[Seat]) -> dict[str, SizedJudge]:
    return {seat.id: seat.judge for seat in seats if isinstance(seat.judge, SizedJudge)}
