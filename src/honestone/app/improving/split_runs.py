"""What judges the versions of a suite's loop: runs of its splits, and the panel that reads edits of a
skill.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from honestone.adapters.checks import CheckRunner
from honestone.app.judging import judging_options
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.suites.comparing.skill_run import not_loaded, results_of
from honestone.app.suites.plan import SuitePlan
from honestone.app.suites.running.side_run import SideRun
from honestone.app.suites.subject import SuiteSubject, skill_of
from honestone.core.artifact import Artifact, Version
from honestone.core.events import OutputProduced
from honestone.core.judging.ballot import CHECK, Ballot
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Meter, Spend
from honestone.core.loop.suite_loop import (
    ByNeed,
    Splits,
)
from honestone.core.record.record import SuiteRecord, read_record
from honestone.core.record.runs import side_of_loop
from honestone.core.skill.brief import EDIT_RUBRIC, failures_in_words, shown_edit
from honestone.core.suite.attempts import Status
from honestone.core.suite.case import Case
from honestone.engine.judgements import SplitRun
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.judging.seats import Seat
from honestone.ports import Observer, Store
from honestone.report.building.suite import panel_states, suite_flags, suite_warnings
from honestone.report.documents import plain


class SplitRuns(Struct, frozen=True, kw_only=True):
    """Runs of splits as runs of the suite in the store. Each belongs to one run of the loop, so
    that none is borrowed.

    `folder` is the name under which a skill is installed, `leave_out` what of it never is.
    """

    plan: SuitePlan
    store: Store
    observer: Observer
    splits: Splits
    loop: str
    folder: str
    leave_out: Sequence[str]

    async def run(
        self, version: Version, split: str, meter: Meter, need: ByNeed | None = None
    ) -> SplitRun:
        again = 0 if need is None else need.again
        cases, subject = self.splits.of(split), self._subject(version, again)
        record, left = self._finished(subject, cases), meter.rest()
        is_new = record is None
        if record is None:
            side = SideRun.open(self.plan, self.store, self.observer, subject, cases, left)
            # A split that is asked again is a run of its own, with the outputs of the first.
            first = self._finished(self._subject(version), cases) if again else None
            known = None if first is None else OutputsOfRun(record=first)
            await side.work(by_need=need, known=known)
            record = side.finish()
        spend = record.spend
        return SplitRun(
            run=record.run or "",
            results=results_of(cases, record),
            spend=spend,
            earlier=left.before if is_new else spend,
            judges=[plain(one) for one in panel_states(_first_looks(record))],
            flags=[
                *suite_warnings(record),
                *suite_flags(record),
                *(not_loaded(record) if self.plan.subject.is_isolated else []),
            ],
            cut_short=_cut_short(record, left, meter),
            answers=record.answers(case.id for case in cases),
        )

    async def close(self) -> None:
        await self.plan.close()

    def _subject(self, version: Version, again: int = 0) -> SuiteSubject:
        note, path = side_of_loop(self.loop, again), self.plan.subject.path
        if self.plan.subject.skill is None:
            return SuiteSubject(path=path, version=version, note=note)
        return SuiteSubject.of_skill(
            path, skill_of(version, self.folder, leave_out=self.leave_out), note
        )

    def _finished(self, subject: SuiteSubject, cases: Sequence[Case]) -> SuiteRecord | None:
        """What is on record as finished: by an earlier process that could not report it any more,
        or as the first look at a split.
        """
        identity = self.plan.identity(subject, cases)
        for info in self.store.runs():
            if info.id < self.loop:
                return None
            if info.identity == identity and info.finished is not None:
                return read_record(self.store.events(info.id), run=info.id)
        return None


class OutputsOfRun(Struct, frozen=True, kw_only=True):
    """The outputs of an earlier run of the same cases. Answers `engine.cases.KnownOutputs`."""

    record: SuiteRecord

    async def find(self, case: Case, attempt: int) -> OutputProduced | None:
        output = self.record.cases[case.id].output_of(attempt)
        return None if output is None else replace(output, spend=Spend())

    async def keep(self, output: OutputProduced) -> None:
        """Nothing to do: they are on record."""


class PanelOfEdits(Struct, frozen=True, kw_only=True):
    """The panel of `skill rank`: yes/no questions about an edit, and its score the share of yes."""

    seats: tuple[Seat, ...]
    store: Store
    judging: JudgingOptions
    named: str

    async def score(
        self, before: Version, after: Version, failed: Sequence[str], meter: Meter
    ) -> tuple[Fraction | None, Spend]:
        panel = judging_options.make_panel(self.seats, self.store, meter.rest(), self.judging)
        evaluator = Evaluator(EDIT_RUBRIC, CheckRunner(Path()), panel)  # the rubric has no check
        shown = Artifact(self.named, shown_edit(before, after))
        judged = await evaluator.judge(
            evaluator.question(shown, input=failures_in_words(list(failed)))
        )
        return Scorer(EDIT_RUBRIC, self.judging.rule).card(judged.ballots).score, judged.spend

    async def close(self) -> None:
        for seat in self.seats:
            await seat.judge.close()


def _first_looks(record: SuiteRecord) -> list[Ballot]:
    """Further looks are of the same judges."""
    return [ballot for ballot in record.tally.ballots if ballot.draw_of is None]


def _cut_short(record: SuiteRecord, left: Meter, whole: Meter) -> str | None:
    """The limit that came before every task had its result, in the words of the loop's own limits."""
    statuses = {result.status for result in record.results.values()}
    if not statuses & {Status.SKIPPED, Status.INCONCLUSIVE}:
        return None
    if left.exhausted() is not None:
        is_money = (
            left.usd is not None and (left.before.usd or 0.0) + (left.spent.usd or 0.0) >= left.usd
        )
        return (
            f"--max-usd {whole.usd:g} is used up"
            if is_money
            else f"--max-minutes {whole.minutes:g} are used up"
        )
    asks = Status.SKIPPED in statuses or any(
        ballot.judge != CHECK for ballot in record.tally.ballots
    )
    return f"--max-calls {whole.calls} are used up" if asks and left.no_call_left() else None
