"""A run of a suite as a record: its cases, what was produced and said of each, and what that comes
to.

The record is folded from the run's events, one at a time. The engine folds while it runs, and
everything else reads a run back by the same fold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.belief.cases.bar import SuiteBar
from honestone.core.belief.cases.suite import CaseBelief, SuiteBelief
from honestone.core.belief.stated import Stated, StatedBelief, belief_of, believed, likelier
from honestone.core.events import (
    AttemptAnswers,
    AttemptJudged,
    CaseAnswers,
    CasePassedBy,
    DuplicateWork,
    Event,
    OutputProduced,
    RecordedCase,
    RunFinished,
    SidesCompared,
    SuiteStarted,
)
from honestone.core.json_value import JsonObject
from honestone.core.judging.ballot import Ballot
from honestone.core.judging.contract import ContractDocument, digest_json
from honestone.core.judging.rubric import Rubric, Rule
from honestone.core.judging.scorecard import Outcome, Verdict
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.core.record.case_belief import (
    AttemptLooks,
    AttemptRecord,
    CaseAttempts,
    Chances,
    Unasked,
    bar_from,
    bar_of,
    beliefs_of,
    by_belief,
    decided_by,
    digest_of,
    is_statable,
    is_turned,
)
from honestone.core.record.judge_spends import JudgeSpends
from honestone.core.skill.sides import SidesComparison
from honestone.core.suite.attempts import (
    Attempt,
    CaseResult,
    Rates,
    Status,
    judge_attempt,
    judge_suite,
    rates_of,
    result_of,
    skipped,
    target_failed,
)
from honestone.core.suite.case import AttemptRule, Case, Expect

# Cases whose words are kept in memory whatever is asked.
FEW: Final = 1_000


class CaseRecord(Struct, kw_only=True):
    """One case of a run. `rubric` is the key of its rubric in the first event, `contract` the
    case's contract id, `made` its attempts by their number.

    A brief one keeps of an attempt that ended what its numbers come from, and no words.
    `is_asked_on`: judges are asked on, so what is more likely holds before the mean of the marks.
    `has_twin`: another case of the run has this contract, so their outputs may be one text.
    """

    case: Case
    scorer: Scorer
    rubric: str
    contract: str
    made: dict[int, AttemptRecord] = field(default_factory=dict)
    passed_by: str | None = None
    is_brief: bool = False
    is_asked_on: bool = False
    has_twin: bool = False
    _refused: tuple[int, ...] = ()
    _unanswered: frozenset[int] = frozenset()
    _result: CaseResult | None = None

    def add(self, event: OutputProduced | AttemptJudged | CasePassedBy) -> None:
        match event:
            case OutputProduced():
                made = self._made(event.attempt)
                made.produced, made.digest = event, None
                if event.error is not None:  # a target that failed is the attempt's end
                    self._end(target_failed(event.attempt, event.error))
            case AttemptJudged():
                self._add_ballots(event)
            case CasePassedBy():
                self.passed_by = event.reason
                self._forget(self._refused)  # what was refused before was not asked again

    def _made(self, number: int) -> AttemptRecord:
        found = self.made.get(number)
        if found is None:
            found = self.made[number] = AttemptRecord()
        return found

    def output_of(self, number: int) -> OutputProduced | None:
        made = self.made.get(number)
        return None if made is None else made.produced

    def ballots_of(self, number: int) -> tuple[Ballot, ...] | None:
        """What was answered about an attempt; None where nothing is on record of that."""
        made = self.made.get(number)
        return None if made is None else made.ballots

    def ended_of(self, number: int) -> Attempt | None:
        """What an attempt came to; None where it has not ended."""
        made = self.made.get(number)
        return None if made is None else made.ended

    def has_ended(self, number: int) -> bool:
        return self.ended_of(number) is not None

    @property
    def produced(self) -> dict[int, OutputProduced]:
        """What the target gave, by number of the attempt."""
        every = self.made.items()
        return {number: one.produced for number, one in every if one.produced is not None}

    @property
    def ballots(self) -> dict[int, tuple[Ballot, ...]]:
        """What was answered, by number of the attempt."""
        every = self.made.items()
        return {number: one.ballots for number, one in every if one.ballots is not None}

    @property
    def attempts(self) -> list[Attempt]:
        """Those that have ended."""
        return [one.ended for one in self.made.values() if one.ended is not None]

    @property
    def low_confidence(self) -> bool:
        """Whether it passed or failed with fewer than two voters on an item that judges were asked."""
        card = None if self.result.shown is None else self.result.shown.card
        is_decided = self.result.status in (Status.PASSED, Status.FAILED) and not self.is_asked_on
        return is_decided and card is not None and self.scorer.rests_on_one(card)

    def _add_ballots(self, event: AttemptJudged) -> None:
        """What was answered about one attempt. Where a limit refused a judge, it counts as long as
        there is nothing else.
        """
        number, made = event.attempt, self._made(event.attempt)
        if event.refused is not None:
            if made.ballots is not None and number not in self._refused:
                return
            self._refused = (*self._refused, number)
        elif number in self._refused:
            self._refused = tuple(other for other in self._refused if other != number)
        self._unanswered -= {number}
        if any(ballot.is_unusable for ballot in event.ballots):
            self._unanswered |= {number}
        made.ballots = event.ballots
        if made.produced is None or made.produced.error is None:
            card, verdict = self.scorer.judged(event.ballots)
            if (rubric := self.scorer.rubric).sure is not None:
                verdict = believed(verdict, belief_of(rubric, event.ballots), self.scorer.rule)
            elif self.is_asked_on:
                verdict = likelier(verdict, belief_of(rubric, event.ballots), self.scorer.rule)
            self._end(judge_attempt(number, card, self.case, verdict))

    def ask_again(self) -> None:
        """Forget what a limit refused, and what a judge gave only unusable replies to: a run that
        is resumed asks for it again.
        """
        self._forget((*self._refused, *self._unanswered))
        self._unanswered = frozenset()

    def _forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            made = self._made(number)
            made.ballots = made.ended = None
        self._refused, self._result = (), None

    def _end(self, attempt: Attempt) -> None:
        made = self._made(attempt.number)
        if attempt.number <= self.case.attempts:
            made.ended = attempt
            self._result = None
        if self.is_brief:
            made.drop_words(self.scorer, is_named=self.has_twin or self.case.attempts > 1)

    def whole(self, events: Iterable[Event]) -> CaseRecord:
        """It with its words again, from what is on record of it. What its attempts came to is known.
        A judgement that does not count is not among them.
        """
        known = [
            event
            for event in events
            if isinstance(event, OutputProduced | CasePassedBy)
            or (isinstance(event, AttemptJudged) and self.ballots_of(event.attempt) is not None)
        ]
        made: dict[int, AttemptRecord] = {}
        for event in known:
            if isinstance(event, CasePassedBy):
                continue
            number = event.attempt
            one = made.get(number)
            if one is None:
                was = self.made.get(number, AttemptRecord())
                one = made[number] = AttemptRecord(ended=was.ended, digest=was.digest)
            if isinstance(event, OutputProduced) and one.produced is None:
                one.produced = event
            elif isinstance(event, AttemptJudged) and one.ballots is None:
                one.ballots = event.ballots
            else:
                return folded(self, known)
        return replace(self, made=made, is_brief=False)

    @property
    def believed_as(self) -> CaseBelief:
        """What its answers say of whether it passes; certain where code alone decides."""
        return self.believed_with({})

    def believed_with(self, under_way: Mapping[int, AttemptLooks]) -> CaseBelief:
        """The same, with the looks at attempts that are not on record yet."""
        numbers = list(range(1, self.case.attempts + 1))
        if self.case.stops_at_pass and self.is_complete and not under_way:
            numbers = [one.number for one in self.in_order]
        return self.tried(under_way).belief(numbers)

    def tried(self, under_way: Mapping[int, AttemptLooks]) -> CaseAttempts:
        """What is known of its attempts."""
        return CaseAttempts(
            case=self.case,
            scorer=self.scorer,
            ended_of=self.ended_of,
            ballots_of=self.ballots_of,
            under_way=under_way,
            digest_of=lambda number: digest_of(self.made.get(number)),
            contract=self.contract if self.has_twin else None,
        )

    @property
    def believed_by(self) -> tuple[object, ...] | None:
        """All that `believed_as` comes from, where that is one attempt that ended: of cases with
        equal ones it is the same, but for the id. A brief record holds equal ballots once.
        """
        made = self.made.get(1)
        if self.case.attempts > 1 or self.case.expect is not None or made is None:
            return None
        if made.ended is None or made.ballots is None:
            return None
        is_short = made.ended.card is not None and bool(made.ended.card.short)
        return id(self.scorer), id(made.ballots), made.ended.status, is_short

    @property
    def is_statable(self) -> bool:
        """Whether looks say how probable it is that it passes."""
        return is_statable(self.case)

    @property
    def is_refused(self) -> bool:
        """Whether a limit refused a judge that counts as long as there is nothing else."""
        return bool(self._refused)

    @property
    def in_order(self) -> list[Attempt]:
        return sorted(self.attempts, key=lambda one: one.number)

    @property
    def is_complete(self) -> bool:
        """Whether every attempt that was asked for has ended."""
        if self.case.skip is not None:
            return False
        made = self.attempts
        if len(made) == self.case.attempts:
            return True
        # Where judges are asked on, one look that says yes ends nothing.
        stops = self.case.stops_at_pass and not self.is_asked_on
        return stops and any(one.status is Status.PASSED for one in made)

    @property
    def result(self) -> CaseResult:
        """What the case comes to so far."""
        if self._result is None:
            self._result = self._come_to()
        return self._result

    def _come_to(self) -> CaseResult:
        expect = self.case.expect
        is_compound = self.case.attempts > 1 or (expect is not None and expect.asks_scores)
        if is_compound and self.is_asked_on and self.attempts and self.case.skip is None:
            belief = self.believed_as
            if self.is_complete or belief.certain is not None or belief.alone is not None:
                return by_belief(result_of(self.in_order, self.case), belief)
        if self.is_complete:
            return result_of(self.in_order, self.case)
        return skipped(self.passed_by or self.case.skip or "the run ended before it was reached")

    @property
    def is_cut_short(self) -> bool:
        """Whether a limit came before the case was run."""
        return (
            self.passed_by is not None
            and self.case.skip is None
            and self.result.status is Status.SKIPPED
        )

    @property
    def shown(self) -> int | None:
        """The number of the attempt whose answers represent the case."""
        return self.result.shown.number if self.result.shown is not None else None

    @property
    def shown_output(self) -> OutputProduced | None:
        return self.output_of(self.shown) if self.shown is not None else None

    @property
    def shown_ballots(self) -> tuple[Ballot, ...]:
        return () if self.shown is None else self.ballots_of(self.shown) or ()

    @property
    def duration_ms(self) -> int | None:
        """How long the target worked on it, in all attempts; None for a case that was not run."""
        if produced := self.produced:
            return sum(event.duration_ms for event in produced.values())
        return None if self.result.status is Status.SKIPPED else 0


def _with_marks(ballots: Iterable[Ballot]) -> tuple[Ballot, ...]:
    return tuple([one for one in ballots if one.marks])


class SuiteRecord:
    """A run of a suite, as far as it got. `rule` and `bars` judge what was answered by other rules
    than the run's own.
    `is_brief`: of many cases no words are kept in memory; who shows them reads them back from the
        run.
    """

    def __init__(
        self,
        started: SuiteStarted,
        *,
        run: str | None = None,
        rule: str | None = None,
        bars: Callable[[Rubric], Rubric] | None = None,
        is_brief: bool = False,
    ) -> None:
        rubrics = {key: bars(rubric) if bars else rubric for key, rubric in started.rubrics.items()}
        self._scorers = {
            key: Scorer(rubric, Rule(rule or started.rule)) for key, rubric in rubrics.items()
        }
        self.run = run
        self.is_rescored = rule is not None or bars is not None
        self.is_brief = is_brief and len(started.cases) > FEW
        # A store may read them each time they are gone through, and may be closed before the record
        # is done with. It would be asked for their number as well, without the iterator.
        self.started = (
            started if self.is_brief else replace(started, cases=tuple(iter(started.cases)))
        )
        self.cases = {one.id: self.case_record(one) for one in self.started.cases}
        self.count = len(self.cases)
        contracts = Counter([one.contract for one in self.cases.values()])
        for one in self.cases.values():
            one.has_twin = contracts[one.contract] > 1
        self.compared: SidesComparison | None = None
        self.seconds = 0.0
        self.spend = Spend()
        self.judge_spends = JudgeSpends()
        self._tally: SuiteTally | None = None
        self._belief: tuple[StatedBelief | None] | None = None

    def case_record(self, recorded: RecordedCase) -> CaseRecord:
        """A case of which nothing is on record."""
        scorer = self._scorers[recorded.rubric]
        case = recorded.case(scorer.rubric)
        return CaseRecord(
            case=case,
            scorer=scorer,
            rubric=recorded.rubric,
            contract=recorded.contract,
            is_brief=self.is_brief,
            is_asked_on=self.started.is_asked_on,
        )

    def add_to_case(self, event: OutputProduced | AttemptJudged | CasePassedBy) -> None:
        self.cases[event.case].add(event)

    def add(self, event: Event) -> None:
        if not isinstance(event, RunFinished | SidesCompared):
            self._tally = self._belief = None
        match event:
            case OutputProduced() | AttemptJudged():
                self.add_to_case(event)
                self.spend.join(event.spend)
                self.judge_spends.add(event)
            case CasePassedBy():
                self.add_to_case(event)
            case DuplicateWork():
                self.spend.join(event.spend)
            case SidesCompared():
                self.compared = event.sides
            case RunFinished():
                self.seconds = event.seconds or 0.0

    def answers(self, ids: Iterable[str]) -> list[CaseAnswers]:
        """What is known of these cases, with every look that gave marks."""
        return [self._answers_of(case) for case in map(self.cases.__getitem__, ids)]

    def _answers_of(self, case: CaseRecord) -> CaseAnswers:
        made, believed = case.shown_output, case.believed_as
        output, diff = (None, None) if made is None else (made.output, made.diff)
        is_down = case.result.status is Status.TARGET_ERROR
        answers = CaseAnswers(
            case=case.case.id,
            text=self.text_of(case.case.id, output, diff),
            rubric=case.rubric,
            certain=None if is_down else believed.certain,
            is_short=believed.is_short,
            is_turned=believed.is_turned,
            is_skipped=case.result.status is Status.SKIPPED,
            expect=_scores_of(case.case.expect),
            ballots=_with_marks(case.shown_ballots),
        )
        return answers if case.case.attempts == 1 else self._of_attempts(case, answers)

    def _of_attempts(self, case: CaseRecord, answers: CaseAnswers) -> CaseAnswers:
        """The same of a case that is run several times."""
        tried, rule = case.tried({}), decided_by(case.case)
        every = tried.deciding(range(1, case.case.attempts + 1))
        needed = len(every) if rule is AttemptRule.PASS_HAT_K else 1
        attempts = [self._of_attempt(case, tried, *one) for one in every.items()]
        return replace(
            answers,
            text="",
            ballots=(),
            is_turned=is_turned(case.case),
            rule=str(rule),
            needed=needed,
            attempts=tuple(attempts) if any(one.text for one in attempts) else (),
        )

    def _of_attempt(
        self, case: CaseRecord, tried: CaseAttempts, number: int, count: int
    ) -> AttemptAnswers:
        made, ballots, believed = (
            case.output_of(number),
            case.ballots_of(number),
            tried.attempt(number),
        )
        text = "" if made is None else self.text_of(case.case.id, made.output, made.diff)
        return AttemptAnswers(
            text="" if ballots is None else text,
            certain=believed.certain,
            is_short=believed.is_short,
            count=count,
            ballots=_with_marks(ballots or ()),
        )

    def text_of(self, case: str, output: str | None, diff: object) -> str:
        """The digest of what judges are shown in a case: cases with equal ones are one text."""
        artifact = self.started.artifact if output is None else None
        contract = self.cases[case].contract
        return digest_json([contract, output, diff, None if artifact is None else artifact.digest])

    @property
    def results(self) -> dict[str, CaseResult]:
        return {id: one.result for id, one in self.cases.items()}

    def each(self, numbers: Iterable[int] | None = None) -> Iterator[CaseRecord]:
        """Its cases in the suite's order, or those of these numbers (from 0), in this order."""
        every = self.cases.values()
        return iter(every) if numbers is None else map(list(every).__getitem__, numbers)

    @property
    def tally(self) -> SuiteTally:
        """It is kept until more is on record."""
        if self._tally is None:
            self._tally = tally_of(self.each())
        return self._tally

    @property
    def bar(self) -> SuiteBar:
        """What the suite is held to."""
        return bar_from(self.started)

    @property
    def bar_belief(self) -> StatedBelief | None:
        """How sure it is that enough cases pass; None where nothing was judged. It is kept until
        more is on record.
        """
        if self._belief is None:
            unasked = Unasked()
            cases = beliefs_of(unasked.counted(self.each()))
            self._belief = (bar_of(cases, self.bar, self.each, unasked),)
        return self._belief[0]

    @property
    def belief(self) -> Stated | None:
        """How sure it is that what the verdict asks for is so; None where nothing was judged. Where
        a baseline decides alone, that is about the two sides, and not about a share of cases.
        """
        found, sides = self.bar_belief, self.compared
        if found is None or sides is None:
            return found
        return found.with_sides(sides.better, sides.worse, is_alone=self.is_decided_by_baseline)

    @property
    def is_decided_by_baseline(self) -> bool:
        """Whether the comparison alone is the verdict: no share of cases was asked for."""
        is_compared = self.compared is not None and self.compared.verdict is not None
        return is_compared and not self.started.min_given and not self.is_rescored

    def chances(self) -> Chances:
        cases = beliefs_of(replace(one, has_twin=True) for one in self.each())
        alone = {one.id: one.alone for one in cases}
        return Chances(
            alone={id: chance for id, chance in alone.items() if chance is not None},
            together=SuiteBelief(cases, self.bar.need(len(cases))).by_case(),
            texts={one.id: one.name for one in cases if one.name is not None},
        )

    @property
    def own_verdict(self) -> Verdict:
        """The verdict of its cases alone, without a baseline."""
        tally = self.tally
        belief = None if self.started.sure is None else self.bar_belief
        # What is believed is about the cases that were not asked, too.
        is_cut_short, least = tally.is_cut_short and belief is None, self.started.min_pass_rate
        found = believed(judge_suite(tally.rates, least=least, is_cut_short=is_cut_short), belief)
        left_out = len(self.started.left_out)
        if found.outcome is not Outcome.PASS or not left_out:
            return found
        every = left_out + len(self.cases)
        return replace(
            found,
            reasons=(
                *found.reasons,
                f"not the whole suite: {left_out} of {every} cases were left out",
            ),
        )

    @property
    def is_undecided(self) -> bool:
        """Whether its bar decides and is open without an answer missing (`Verdict.is_undecided`)."""
        return self.own_verdict.is_undecided and not self.is_decided_by_baseline

    @property
    def verdict(self) -> str:
        """`pass`, `fail`, `inconclusive`, `skipped`; of a skill that was compared also `error`."""
        decided = None if self.compared is None else self.compared.verdict
        return decided or str(self.own_verdict.outcome)


def folded(
    case: CaseRecord, events: Iterable[OutputProduced | AttemptJudged | CasePassedBy]
) -> CaseRecord:
    """A case where something is on record twice: which of them counts, the fold says."""
    found = CaseRecord(
        case=case.case,
        scorer=case.scorer,
        rubric=case.rubric,
        contract=case.contract,
        is_asked_on=case.is_asked_on,
    )
    for event in events:
        found.add(event)
    return found


class SuiteTally(Struct, frozen=True, kw_only=True):
    """What the cases of a run come to together. `unstable`: by case, how many of how many attempts
    passed. `ballots`: the first one of each judge in each of its states, and of checks in each
    sandbox, without words. `lonely`: how many of the cases that passed or failed have an item that
    fewer than two judges voted on.
    """

    rates: Rates
    is_cut_short: bool
    unstable: Mapping[str, tuple[int, int]]
    ballots: Collection[Ballot]
    lonely: int = 0


def tally_of(cases: Iterable[CaseRecord]) -> SuiteTally:
    """The cases are gone through once."""
    unstable, ballots = dict[str, tuple[int, int]](), dict[tuple[str, ...], Ballot]()
    cut_short, lonely = False, 0

    def look(one: CaseRecord) -> CaseResult:
        nonlocal cut_short, lonely
        lonely += one.low_confidence
        cut_short = cut_short or one.is_cut_short
        if one.result.is_unstable:
            passed = [attempt.status is Status.PASSED for attempt in one.attempts]
            unstable[one.case.id] = (sum(passed), len(passed))
        for _, ballots_of in sorted(one.ballots.items()):
            for ballot in ballots_of:
                seen = (ballot.judge, ballot.state, ballot.sandbox or "")
                if seen not in ballots:
                    ballots[seen] = replace(ballot, marks={}, problems=(), repairs=(), earlier=())
                elif ballot.unusable:
                    every = ballots[seen].unusable + ballot.unusable
                    ballots[seen] = replace(ballots[seen], unusable=every)
        return one.result

    rates = rates_of(map(look, cases))
    return SuiteTally(
        rates=rates,
        is_cut_short=cut_short,
        unstable=unstable,
        ballots=ballots.values(),
        lonely=lonely,
    )


def read_record(
    log: Iterable[Event],
    *,
    run: str | None = None,
    rule: str | None = None,
    bars: Callable[[Rubric], Rubric] | None = None,
    is_brief: bool = False,
) -> SuiteRecord:
    """A run from its events, the first of them its start."""
    rest = iter(log)
    started = next(rest)
    assert isinstance(started, SuiteStarted), f"no run of a suite: {started.type} {started.kind}"
    record = SuiteRecord(started, run=run, rule=rule, bars=bars, is_brief=is_brief)
    for event in rest:
        record.add(event)
    return record


def _scores_of(expect: Expect | None) -> JsonObject | None:
    """What is expected of scores, as it is put on record."""
    return None if expect is None or not expect.asks_scores else expect.to_plain()


def rubric_key(plain: ContractDocument) -> str:
    """The name that cases share a rubric under in the first event."""
    return digest_json(plain)[7:23]
