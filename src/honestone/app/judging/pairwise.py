"""Which of two artifacts meets a rubric better, by judges that see both in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.event_loop import run_interruptibly
from honestone.app.judging.judging_options import (
    JudgingOptions,
    make_panel,
    refuse_if_all_refuse,
)
from honestone.app.judging.rubric_plan import RubricPlan, contract_for
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.judging.ballot import asked_criteria
from honestone.core.judging.rubric import Rule
from honestone.core.reading.pairwise import ORDERS, pair_question
from honestone.engine.judging.pairwise import PairJudged, judge_pair
from honestone.engine.judging.seats import Seat
from honestone.ports import Observer
from honestone.report.building.scorecard import usage_document
from honestone.report.documents.pairwise import PairwiseDoc
from honestone.report.trust.pairwise import PairFacts, pairwise_document
from honestone.system.files import Loaded, printable


class ComparePairRequest(Struct, frozen=True, kw_only=True):
    """Two files or folders, and what they are compared by."""

    a: Path
    b: Path
    rubric: Path
    judging: JudgingOptions


class PairResult(Struct, frozen=True, kw_only=True):
    """`could_judge` is False without a preference."""

    document: PairwiseDoc
    could_judge: bool


def compare_pair(
    workspace: Workspace, request: ComparePairRequest, observer: Observer
) -> PairResult:
    """Everything is read and checked before the first call. Raises UsageError, CouldNotJudge,
    Interrupted.
    """
    _refuse_bars(request.judging)
    return _Pair(workspace, request).judge(observer)


def _refuse_bars(judging: JudgingOptions) -> None:
    """What means nothing in a comparison is refused, not ignored."""
    for name, value in (("--threshold", judging.threshold), ("--floor", judging.floor)):
        if value is not None:
            raise UsageError(
                f"{name} is a bar for scores, and a comparison has none",
                hint="`honestone eval` scores each artifact",
            )


class _Pair:
    def __init__(self, workspace: Workspace, request: ComparePairRequest) -> None:
        paths = (request.a, request.b)
        self._workspace = workspace
        self._judging = request.judging
        self._names = [printable(path) for path in paths]
        self._plan = RubricPlan.read(workspace, request.rubric, request.judging, paths)
        if self._plan.scorer.rule is Rule.MIN:
            raise UsageError(
                "`combine` (--combine) is min, which would always side with A",
                hint="use --combine mean, median or majority",
            )
        self._loaded: list[Loaded] = [self._plan.load(path) for path in paths]
        self._a, self._b = (loaded.version for loaded in self._loaded)
        for version in (self._a, self._b):
            self._plan.preflight(version)
        self._seats: tuple[Seat, ...] = _pair_seats(self._plan.seats())
        questions = [pair_question(self._plan.rubric, self._a, self._b, order) for order in ORDERS]
        refuse_if_all_refuse(" and ".join(self._names), self._seats, questions)

    def judge(self, observer: Observer) -> PairResult:
        rubric, seats = self._plan.rubric, self._seats
        # A comparison has one question a criterion, so items and criteria are the same.
        parts = 1 if self._judging.ask == "rubric" else len(asked_criteria(rubric))
        calls = 2 * len(seats) * parts
        meter = self._judging.meter(self._workspace.settings, calls=2 * calls + 10)
        if seats:
            judges = ", ".join(seat.id for seat in seats)
            observer.note(
                f"2 artifacts in both orders x {len(seats)} judge{'s' if len(seats) > 1 else ''} ({judges}): "
                f"{calls} calls, at most {meter.calls}; recorded replies cost nothing"
            )
        with self._workspace.open_store() as store:
            panel = make_panel(seats, store, meter, self._judging)
            judged = run_interruptibly(
                lambda: judge_pair(
                    rubric,
                    self._a,
                    self._b,
                    panel=panel,
                    checker=self._plan.checker,
                    rule=self._plan.scorer.rule,
                ),
                panel.close,
            )
        return PairResult(
            document=self._document(judged), could_judge=judged.comparison.preferred is not None
        )

    def _document(self, judged: PairJudged) -> PairwiseDoc:
        facts = PairFacts(
            title=self._plan.rubric.title,
            rubric=self._plan.name or "",
            a=(self._names[0], self._a.digest),
            b=(self._names[1], self._b.digest),
            contract=contract_for(
                self._plan.rubric, self._seats, self._plan.checker, self._judging, kind="pairwise"
            ).id,
            usage=usage_document(judged.spend),
            text=f"{self._a.text}\n{self._b.text}",
            notes=self._notes(judged),
            packed=judged.packed,
        )
        return pairwise_document(judged.comparison, judged.ballots, facts)

    def _notes(self, judged: PairJudged) -> list[str]:
        notes = [
            f"{side}: {note}"
            for side, loaded in zip("AB", self._loaded, strict=True)
            for note in loaded.notes
        ]
        if judged.are_same:
            notes.append("both are the same, byte for byte: no judge was asked")
        for judge, shown in judged.packed.items():
            notes += [
                f"{judge} was shown of {side.upper()}: {part['shown']}"
                for side, part in shown.items()
            ]
        return notes


def _pair_seats(seats: Sequence[Seat]) -> tuple[Seat, ...]:
    """The same seats for comparing two artifacts. Raises UsageError for a judge that cannot be
    shown two.
    """
    from honestone.adapters.judges.pairwise import PairJudge
    from honestone.adapters.judges.prompted import PromptedJudge

    made = []
    for seat in seats:
        if type(seat.judge) is PromptedJudge and seat.kind != "agent":
            made.append(replace(seat, judge=PairJudge(seat.judge)))
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
    "agent": "`agent prompt` shows one artifact",
    "recorded": "a recording holds answers about one artifact",
    "mock": "it looks at nothing",
}
