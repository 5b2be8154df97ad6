"""`improve`: the loop on one artifact, resumable, with the best version delivered. Criteria of a
rubric steer it, or with `--suite` tasks in place of criteria.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from honestone.app.doors.results import DocumentResult
from honestone.app.history import improvement_report
from honestone.app.improving import loop
from honestone.app.improving.loop import ImprovementRequest, LoopPlan
from honestone.app.improving.plan_by_rubric import BeforeAsking, prepare_rubric
from honestone.app.improving.plan_by_suite import prepare_suite
from honestone.app.workspace import Workspace
from honestone.core import events
from honestone.core.editing.result import exit_code
from honestone.core.events import Event
from honestone.core.loop.state import LoopState, Result, Round
from honestone.ports import Observer
from honestone.report.building.improvement import round_document
from honestone.report.documents.belief import BeliefDoc
from honestone.report.documents.improvement import ImprovementDoc, RoundDoc
from honestone.system.drawing import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]

_VERDICTS: Final = {0: "pass", 1: "fail", 3: "inconclusive"}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ImprovementResult(DocumentResult):
    """How a run of the loop ended. `report` is the Markdown report that was saved."""

    heads = ("round", "decision", "before", "after", "outcome")
    run: str
    result: Result
    rounds: tuple[Round, ...]
    improvement: ImprovementDoc
    report: str

    @property
    def exit_code(self) -> int:
        return exit_code(self.result)

    @property
    def verdict(self) -> str:
        """`pass`, `fail`, or `inconclusive` where no one could say, or it was interrupted."""
        return _VERDICTS.get(self.exit_code, "inconclusive")

    @property
    def belief(self) -> BeliefDoc | None:
        """How sure it is of the version that was delivered, and what that rests on; None where
        judges are asked under a policy without beliefs.
        """
        return self.improvement.belief

    @property
    def probability(self) -> float | None:
        """The probability (0-1) that the version that was delivered meets the contract, or that it
        reaches the bars of val and of test.
        """
        return self.improvement.probability

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        return [
            (one.round, one.decision_words, one.score_before, one.score_after, one.outcome_words)
            for one in self.improvement.rounds
        ]

    @property
    def is_low_confidence(self) -> bool:
        return self.improvement.low_confidence

    @property
    def headline(self) -> str:
        rounds = count(len(self.rounds), "round")
        return f"{self.improvement.result_words} after {rounds}: {self.improvement.artifact.path}, run {self.run}"

    def _as_struct(self) -> ImprovementDoc:
        return self.improvement

    def plot(self) -> Figure:
        """The overall score of each round. Raises UsageError where matplotlib is not installed."""
        from honestone.report.figures import improvement_figure

        return improvement_figure(self.improvement)


def improve(
    workspace: Workspace,
    request: ImprovementRequest,
    observer: Observer,
    *,
    decided: Callable[[RoundDoc], None] | None = None,
) -> ImprovementResult:
    """Improve an artifact until it passes or the loop ends. `decided` is called with the document
    of each round.

    Raises UsageError and its kinds before anything is spent, CouldNotJudge where judges are needed
    and none is found.
    """
    return run(prepare(workspace, request, observer), observer, decided=decided)


def run(
    plan: LoopPlan[LoopState],
    observer: Observer,
    *,
    decided: Callable[[RoundDoc], None] | None = None,
    begun: Callable[[str], None] | None = None,
) -> ImprovementResult:
    """Carry a plan out. `begun` is called with the run's id before it works."""

    def watch(run: str, state: LoopState) -> Observer:
        if begun is not None:
            begun(run)
        return observer if decided is None else _Rounds(observer, state, decided)

    with plan.workspace.open_store() as store:
        done = loop.run_loop(plan, store, observer, begun=watch)
        document, report = improvement_report(
            store,
            done.id,
            state=done.state,
            log=done.log,
            resumed=done.resumed,
            here=done.spent,
            save=True,
            shown=plan.workspace.shown,
        )
    return ImprovementResult(
        run=done.id,
        result=done.stop.result if done.stop is not None else Result.INTERRUPTED,
        rounds=tuple(done.state.rounds),
        improvement=document,
        report=report,
    )


class _Rounds:
    """Passes everything on, and the document of each round as it is decided."""

    def __init__(
        self, observer: Observer, state: LoopState, decided: Callable[[RoundDoc], None]
    ) -> None:
        self.note, self.progress = observer.note, observer.progress
        self._observer = observer
        self._state = state
        self._decided = decided
        self._proposal: events.EditProposed | None = None

    def event(self, event: Event) -> None:
        self._observer.event(event)
        if isinstance(event, events.EditProposed):
            self._proposal = event
        elif (
            isinstance(event, events.VersionAccepted | events.VersionRejected)
            and self._proposal is not None
        ):
            self._decided(round_document(self._state, self._state.rounds[-1], self._proposal))


def prepare(
    workspace: Workspace,
    request: ImprovementRequest,
    observer: Observer,
    *,
    before_asking: BeforeAsking | None = None,
) -> LoopPlan[LoopState]:
    """Everything is read and checked, before the first call. `before_asking` is called before
    judges are asked.
    """
    if request.suite is not None:
        # Its state is a LoopState too; what needs more of it comes from the same plan.
        return cast(LoopPlan[LoopState], prepare_suite(workspace, request, observer))
    return prepare_rubric(workspace, request, observer, before_asking)
