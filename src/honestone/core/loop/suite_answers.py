"""What judges answered about a suite's cases in a loop, and what is believed of each version by it.
`keep-best` decides nothing by that, and states it; the policy `belief` decides by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

import msgspec
from msgspec.structs import replace

from honestone.core.belief.cases.bar import grounds_of_texts, is_judged
from honestone.core.belief.cases.pooled import Mean, mean_of
from honestone.core.belief.cases.ranges import text_with
from honestone.core.belief.cases.suite import (
    CaseBelief,
    Elsewhere,
    SuiteBelief,
    SuiteChance,
    all_reached,
)
from honestone.core.belief.stated import Ground, alike, looks_at
from honestone.core.belief.verdict import CLOSE, TextBelief
from honestone.core.editing.result import LEAST_STATED
from honestone.core.events import AttemptAnswers, BallotCast, CaseAnswers, Event
from honestone.core.judging.ballot import CHECK, Ballot
from honestone.core.judging.rubric import Rubric
from honestone.core.loop.state import LoopState
from honestone.core.loop.suite_loop import TEST, TRAIN, VAL, SuiteLoopState
from honestone.core.suite.case import AttemptRule


class Remembered(msgspec.Struct):
    """What was computed from the rest of a state: dropped when a ballot arrives."""

    suites: dict[tuple[str, str], SuiteBelief] = msgspec.field(default_factory=dict)
    chances: dict[tuple[str, ...], SuiteChance] = msgspec.field(default_factory=dict)
    better: dict[tuple[str, ...], tuple[float, float]] = msgspec.field(default_factory=dict)
    means: dict[tuple[frozenset[tuple[str, int]], int], Mean] = msgspec.field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class AnsweredSuiteState(SuiteLoopState):
    """The state of a loop over a suite of which the answers of judges are on record.

    `rubrics`: what judges answer, by their keys. `attempts`: of cases that are run several times, how
    often. `answers`: by version and split, what is known of each case. `looks_at` and `checks_of`: by
    text, the looks on record, and the answers of code.
    """

    rubrics: Mapping[str, Rubric]
    attempts: Mapping[str, int] = field(default_factory=dict)
    answers: dict[tuple[str, str], tuple[CaseAnswers, ...]] = field(default_factory=dict)
    looks_at: dict[str, list[Ballot]] = field(default_factory=dict)
    checks_of: dict[str, tuple[Ballot, ...]] = field(default_factory=dict)
    _texts: dict[str, TextBelief] = field(default_factory=dict)
    _known: Remembered = field(default_factory=Remembered, repr=False, compare=False)

    # `slots=True` makes a new class, which `super()` without arguments does not know. So methods
    # name the base class.

    def apply(self, event: Event) -> None:
        if isinstance(event, BallotCast):
            self.answers[event.version, event.ballot.judge] = event.cases
            for one in event.cases:
                for part in one.parts:
                    self._take_in(one, part)
            self._known = Remembered()
        LoopState.apply(self, event)

    def _take_in(self, one: CaseAnswers, part: AttemptAnswers) -> None:
        checks = tuple([ballot for ballot in part.ballots if ballot.judge == CHECK])
        looks = [ballot for ballot in part.ballots if ballot.judge != CHECK]
        self.looks_at.setdefault(part.text, []).extend(looks)
        if checks:
            self.checks_of[part.text] = checks
        if one.rubric in self.rubrics:
            text = self._texts.get(part.text)
            if text is None:
                text = self._texts[part.text] = text_with(self.rubrics[one.rubric], one.expect)
            text.see_all(part.ballots)

    def new_looks(self, cases: Sequence[CaseAnswers]) -> tuple[CaseAnswers, ...]:
        """The same without the looks that are on record, each text once. What code answered stays
        with every case: it does not count as a look, and costs nothing to repeat.
        """
        seen = {text: {ballot.judge for ballot in looks} for text, looks in self.looks_at.items()}

        def new_of(part: AttemptAnswers) -> tuple[Ballot, ...]:
            known = seen.setdefault(part.text, set())
            new = [one for one in part.ballots if one.judge == CHECK or one.judge not in known]
            known.update(one.judge for one in new)
            return tuple(new)

        return tuple([one.with_ballots(new_of) for one in cases])

    # -- what is believed

    @property
    def least(self) -> float:
        """How sure a version has to be to be PASSED (0-1)."""
        return LEAST_STATED if self.rubric.sure is None else float(self.rubric.sure)

    def _believed(self, version: str, split: str) -> list[CaseBelief]:
        """The cases of a split; without a look where it was not run."""
        known = {one.case: one for one in self.answers.get((version, split), ())}
        return [self._case(id, known.get(id)) for id in self._ids(split)]

    def _case(self, id: str, one: CaseAnswers | None) -> CaseBelief:
        if one is None:
            return CaseBelief(id)
        if one.rule is not None:
            return self._of_attempts(id, one)
        text = self._texts.get(one.text)
        name = None if text is None else one.text
        return CaseBelief(id, text, one.certain, one.is_short, one.is_turned, name=name)

    def _of_attempts(self, id: str, one: CaseAnswers) -> CaseBelief:
        """A case that is run several times; without a look where its target failed."""
        texts = [self._texts[part.text] for part in one.parts if part.text in self._texts]
        if one.certain is not None or not texts:
            return CaseBelief(id, certain=one.certain)
        if one.rule == AttemptRule.MEAN:
            text, ends = self._mean_of(one)
            return CaseBelief(id, text, is_short=one.is_short, made_of=tuple(texts), ends=ends)
        is_best = one.rule == AttemptRule.BEST
        if is_best and one.is_short:
            return CaseBelief(id, is_short=True)
        attempts = [
            CaseBelief(id, self._texts.get(part.text), part.certain, part.is_short, one.is_turned)
            for part in one.attempts
        ]
        if is_best:
            every = [replace(attempt, certain=None) for attempt in attempts if attempt.text]
            return CaseBelief.of_best(id, every)
        return CaseBelief.of_attempts(id, attempts, one.needed)

    def _mean_of(self, one: CaseAnswers) -> Mean:
        missing = sum([part.count for part in one.attempts if not part.text])
        key = one.texts, missing
        if key not in self._known.means:
            rubric, counts = self.rubrics[one.rubric], [part.count for part in one.parts]
            ballots = [
                [*self.checks_of.get(part.text, ()), *self.looks_at[part.text]]
                for part in one.parts
            ]
            self._known.means[key] = mean_of(rubric, ballots, counts, missing)
        return self._known.means[key]

    def _answers_of(self, version: str) -> Iterator[CaseAnswers]:
        for split in (VAL, TRAIN, TEST):
            yield from self.answers.get((version, split), ())

    def _texts_of(self, version: str) -> dict[str, TextBelief]:
        """Every text of a version that has a look, by its name."""
        answers = self._answers_of(version)
        names = sorted({part.text for one in answers for part in one.parts})
        found = {name: self._texts[name] for name in names if name in self._texts}
        return {name: text for name, text in found.items() if text.looks}

    def _texts_alongside(self, version: str) -> dict[str, TextBelief]:
        """Those of a version that say how many cases pass: turned ones do not."""
        answers = (one for one in self._answers_of(version) if one.is_turned)
        turned = {part.text for one in answers for part in one.parts}
        return {name: text for name, text in self._texts_of(version).items() if name not in turned}

    def _texts_apart(self, version: str) -> dict[str, TextBelief]:
        """Texts that say how judges err: those of other versions, and turned ones of this one."""
        own = self._texts_alongside(version)
        return {name: text for name, text in self._texts.items() if text.looks and name not in own}

    def _suite(self, version: str, split: str) -> SuiteBelief:
        if (version, split) not in self._known.suites:
            cases = self._believed(version, split)
            alongside, apart = self._texts_alongside(version), self._texts_apart(version)
            elsewhere = Elsewhere.of(alongside.values(), apart.values(), cases)
            need = ceil(self.rubric.threshold * len(cases))
            self._known.suites[version, split] = SuiteBelief(cases, need, elsewhere)
        return self._known.suites[version, split]

    def chance(self, version: str, *splits: str) -> SuiteChance:
        """P(each of these splits of a version reaches its bar), by every look at its texts."""
        key = (version, *splits)
        if key not in self._known.chances:
            suites = [self._suite(version, split) for split in splits]
            self._known.chances[key] = _chance_of(suites)
        return self._known.chances[key]

    def probability(self, version: str) -> float | None:
        """By both val and test. Where their bars are reached only by what is assumed of cases
        without a look, it is below what PASSED needs.
        """
        if (version, VAL) not in self.answers or not is_judged(self._suite(version, VAL)):
            return None
        found = self.chance(version, VAL, TEST)
        return max(found.low, min(found.chance, self.least - CLOSE))

    def _grounds(self, version: str) -> tuple[Ground, ...]:
        texts, counts = self._texts_of(version), Counter[str]()
        for name in texts:
            looks = looks_at(self.looks_at.get(name, ()))
            counts.update({judge: alike(one) for judge, one in looks.items()})
        return tuple(grounds_of_texts(texts.values(), counts))

    def _not_asked(self, version: str) -> int:
        """Those, and the cases that a run of a split left out."""
        known = [one for split in (VAL, TEST) for one in self.answers.get((version, split), ())]
        skipped = sum([one.is_skipped for one in known])
        return SuiteLoopState._not_asked(self, version) + skipped


def _chance_of(suites: Sequence[SuiteBelief]) -> SuiteChance:
    """P(each of these reaches its bar)."""
    if suites[0].assumed:
        return all_reached(suites)
    alone = [suite.chance or SuiteChance(0.0, 0.0, 1.0) for suite in suites]
    return min(alone, key=lambda one: one.chance)
