"""Rows of `honestone.texts/1` made from scorecards, one at a time, and the summary of all."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from msgspec import UNSET, Struct, field

from honestone.core.events import TableColumns
from honestone.core.judging.ballot import CHECK
from honestone.core.judging.scorecard import Outcome
from honestone.core.numbers import bar_number, points
from honestone.core.statistics.rates import wilson
from honestone.core.statistics.text_tally import Count, MeanTally, TextTally
from honestone.report.documents.belief import is_undecided
from honestone.report.documents.scorecard import (
    CriterionDoc,
    ItemDoc,
    JudgeDoc,
    ScorecardDoc,
    UsageDoc,
)
from honestone.report.documents.texts import (
    NO_GROUP,
    AbsentJudgeDoc,
    MeanDoc,
    TextColumnsDoc,
    TextGroupDoc,
    TextRowDoc,
    TextsDoc,
    TextsSummaryDoc,
    WorstTextDoc,
)
from honestone.system.drawing import line

MOST_WORST: Final = 10
# Characters of one reason, and of what a check found.
_LONGEST: Final = 500
_REMEMBERED: Final = 4096
_DEGRADED: Final = "DEGRADED"
# Reasons of one judge that are counted apart.
_MOST_REASONS: Final = 50


class TextsFacts(Struct, frozen=True, kw_only=True):
    """What the document says besides rows and summary. `least`: the share that has to pass."""

    table: TableColumns | None = None
    name: str = ""
    title: str = ""
    rubric: str | None = None
    contract: str = ""
    run: str | None = None
    least: Fraction | None = None
    left_out: int = 0


class Absences(Struct):
    """How many texts each judge did not answer about, and why; of many reasons those that came
    first.
    """

    texts: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, judges: Sequence[JudgeDoc]) -> None:
        for one in judges:
            self.texts[one.id] += 1
            reasons = self.reasons.setdefault(one.id, Counter())
            reason = line(one.reason or "", _LONGEST)
            if reason in reasons or len(reasons) < _MOST_REASONS:
                reasons[reason] += 1

    @property
    def documents(self) -> list[AbsentJudgeDoc]:
        return [
            AbsentJudgeDoc(id=id, reason=reasons.most_common(1)[0][0], texts=self.texts[id])
            for id, reasons in self.reasons.items()
        ]


class TextsWriter(Struct):
    """Makes the rows as scorecards come, and counts them. `has_groups`: rows have a group."""

    has_groups: bool = False
    tally: TextTally = field(default_factory=TextTally)
    groups: dict[str, TextTally] = field(default_factory=dict)
    lonely: int = 0
    least_sure: float | None = None
    absent: Absences = field(default_factory=Absences)
    _worst: list[tuple[tuple[bool, float, int], WorstTextDoc]] = field(default_factory=list)
    # Reasons of criteria that many scorecards share, which are kept alive with them.
    _reasons: dict[int, tuple[CriterionDoc, str | None]] = field(default_factory=dict)

    def row(self, card: ScorecardDoc, group: str = "", error: str | None = None) -> TextRowDoc:
        """The row of one text, which is counted. `error`: why there was nothing to judge."""
        outcome = Outcome(card.verdict)
        known = error is None
        criteria = {one.id: one.score if known else None for one in card.criteria}
        score = card.score if known else None
        absent = [one for one in card.judges if one.state == _DEGRADED and one.reason]
        if known and absent:
            self.absent.add(absent)
        error = error or errors_of(absent) or None
        reasons = self._row_reasons(card, absent, None if known else error)
        undecided = known and is_undecided(card.belief)
        self._count(outcome, score, criteria, group, undecided)
        self.lonely += card.low_confidence and outcome in (Outcome.PASS, Outcome.FAIL)
        probability = card.belief.probability if known and card.belief is not None else None
        self._take_in(outcome, probability)
        id = card.artifact.path
        if outcome is not Outcome.PASS:
            self._add_worst(id, outcome, score, reasons)
        return TextRowDoc(
            id=id,
            score=score,
            verdict=card.verdict,
            probability=probability,
            undecided=undecided,
            criteria=criteria,
            reasons=reasons,
            group=group if self.has_groups else UNSET,
            error=error or UNSET,
        )

    def _take_in(self, outcome: Outcome, probability: float | None) -> None:
        """How sure a verdict is, where judges looked."""
        if probability is None or probability in (0.0, 1.0) or outcome is Outcome.INCONCLUSIVE:
            return
        own = probability if outcome is Outcome.PASS else 1.0 - probability
        self.least_sure = own if self.least_sure is None else min(own, self.least_sure)

    def _count(
        self,
        outcome: Outcome,
        score: float | None,
        criteria: Mapping[str, float | None],
        group: str,
        undecided: bool,
    ) -> None:
        self.tally.add(outcome, score, criteria, is_undecided=undecided)
        if self.has_groups:
            name = group or NO_GROUP
            tally = self.groups.get(name)
            if tally is None:
                tally = self.groups[name] = TextTally()
            tally.add(outcome, score, criteria, is_undecided=undecided)

    def _row_reasons(
        self, card: ScorecardDoc, absent: Sequence[JudgeDoc], error: str | None
    ) -> list[str]:
        """The criteria that were missed, then those that no one answered. What is undecided says
        first how sure it is: that leaves it open.
        """
        if error is not None:
            return [error]
        sentences = list(card.reasons) if is_undecided(card.belief) else []
        reasons = [
            (_is_missed(one), reason)
            for one in card.criteria
            if (reason := self._reason(one, absent)) is not None
        ]
        reasons.sort(key=lambda one: not one[0])
        return [*sentences, *(reason for _, reason in reasons)] or list(card.reasons)

    def _reason(self, one: CriterionDoc, absent: Sequence[JudgeDoc]) -> str | None:
        remembered = self._reasons.get(id(one))
        if remembered is None:
            remembered = one, missed_words(one, absent)
            if len(self._reasons) < _REMEMBERED:
                self._reasons[id(one)] = remembered
        return remembered[1]

    def _add_worst(
        self, id: str, outcome: Outcome, score: float | None, reasons: Sequence[str]
    ) -> None:
        order = (outcome is not Outcome.FAIL, -1.0 if score is None else score, self.tally.total)
        if len(self._worst) == MOST_WORST and order >= self._worst[-1][0]:
            return
        missed = line(reasons[0], _LONGEST) if reasons else ""
        one = WorstTextDoc(id=id, verdict=str(outcome), score=score, missed=missed)
        insort(self._worst, (order, one), key=lambda entry: entry[0])
        del self._worst[MOST_WORST:]

    def document(
        self, facts: TextsFacts, usage: UsageDoc, rows: Sequence[TextRowDoc] = ()
    ) -> TextsDoc:
        """All of it. Without `rows`, what is around them."""
        verdict = self.tally.verdict(Fraction(1) if facts.least is None else facts.least)
        columns = facts.table
        return TextsDoc(
            title=facts.title,
            rubric=facts.rubric,
            name=facts.name,
            table=None
            if columns is None
            else TextColumnsDoc(
                text=columns.text or None,
                id=columns.id,
                input=columns.input,
                reference=columns.reference,
                group=columns.group,
            ),
            rows=list(rows),
            verdict=str(verdict.outcome),
            reasons=list(verdict.reasons),
            summary=self.summary(),
            min_pass_rate=None if facts.least is None else float(facts.least),
            low_confidence_rows=self.lonely,
            left_out=facts.left_out,
            absent_judges=self.absent.documents,
            contract=facts.contract,
            run=facts.run,
            usage=usage,
        )

    def summary(self) -> TextsSummaryDoc:
        whole = _group_document(self.tally)
        return TextsSummaryDoc(
            passed=whole.passed,
            failed=whole.failed,
            open=whole.open,
            undecided=whole.undecided,
            pass_rate=whole.pass_rate,
            pass_rate_interval=whole.pass_rate_interval,
            mean_score=whole.mean_score,
            criteria=whole.criteria,
            groups={name: _group_document(tally) for name, tally in self.groups.items()},
            worst=[one for _, one in self._worst],
            least_sure=self.least_sure,
        )


def _group_document(tally: TextTally) -> TextGroupDoc:
    passed, failed = tally.counts[Count.PASSED], tally.counts[Count.FAILED]
    judged = passed + failed
    return TextGroupDoc(
        passed=passed,
        failed=failed,
        open=tally.open,
        undecided=tally.counts[Count.UNDECIDED],
        pass_rate=passed / judged if judged else None,
        pass_rate_interval=list(wilson(passed, judged)) if judged else None,
        mean_score=_mean_document(tally.scores),
        criteria={id: _mean_document(one) for id, one in tally.criteria.items()},
    )


def _mean_document(tally: MeanTally) -> MeanDoc:
    interval = tally.interval
    return MeanDoc(
        mean=tally.mean,
        interval=None if interval is None else list(interval),
        texts=tally.count,
    )


def _is_missed(one: CriterionDoc) -> bool:
    return one.below_floor or any(item.is_problem for item in one.items)


def missed_words(one: CriterionDoc, absent: Sequence[JudgeDoc] = ()) -> str | None:
    """What a criterion misses, after its id, whatever its floor is; None where it misses nothing.
    `absent`: judges whose reasons are said elsewhere.
    """
    if not one.applies:
        return None
    wanting = [item for item in one.items if item.is_problem or item.is_unanswered]
    if wanting:
        missed = "; ".join(_item_words(one, item, absent) for item in wanting)
        return line(f"{one.id}: {missed}", _LONGEST)
    if one.below_floor:
        return f"{line(one.id)}: {points(one.score)}, below its floor {bar_number(one.floor)}"
    return None


def _item_words(one: CriterionDoc, item: ItemDoc, absent: Sequence[JudgeDoc]) -> str:
    asked = line(item.requirement or one.requirement)
    if item.is_unanswered:
        note = _without_reasons(item.note or "no answer", absent)
        words = f"not answered ({note})" if note else "not answered"
        return words if one.is_whole(item) else f"{asked}: {words}"
    if CHECK in item.votes:
        evidence = "; ".join(line(quote.quote) for quote in item.evidence)
        return f"{asked} ({evidence})" if asked and evidence else asked or evidence or "not met"
    if item.kind == "anchors":
        return f"{points((item.met or 0) * 100)} of 100"
    return f"not met: {asked}" if asked and asked != line(one.id) else "not met"


def _without_reasons(note: str, absent: Sequence[JudgeDoc]) -> str:
    """A note without what judges said for themselves."""
    for judge in absent:
        note = note.replace(f"{judge.id}: {judge.reason}", "")
    return line(note).strip(" ;,")


def errors_of(absent: Sequence[JudgeDoc]) -> str:
    """What the judges that failed said: `NAME: REASON`, joined; empty where none did."""
    return line("; ".join(f"{one.id}: {one.reason}" for one in absent), _LONGEST)


def judge_errors(card: ScorecardDoc) -> str:
    """The same of all judges of a scorecard that failed."""
    return errors_of([one for one in card.judges if one.state == _DEGRADED and one.reason])
