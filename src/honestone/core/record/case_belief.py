"""What the answers about the attempts of a case say of whether it passes, by its rule.

one        as it is
pass@k     one attempt has to pass
pass^k     all of them have to
mean       the mean of their true scores has to reach the bars, so each of them needs a look. One that has
           no output may be worth anything, from nothing to full marks
best       the one with the highest true score has to pass, so each of them needs a look: marks alone
           do not say which one that is

Attempts whose outputs are equal are one text: they pass together, and what judges said of it counts
once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.belief.cases.bar import SuiteBar, lack_of_judges, suite_belief
from honestone.core.belief.cases.pooled import mean_of
from honestone.core.belief.cases.ranges import OutsideBelief, text_with
from honestone.core.belief.cases.suite import SETTLED, CaseBelief, SuiteBelief, as_one
from honestone.core.belief.stated import EVEN, StatedBelief, alike, looks_at, repeats, settled
from honestone.core.belief.verdict import TextBelief
from honestone.core.events import OutputProduced, SuiteStarted
from honestone.core.judging.ballot import CHECK, Ballot
from honestone.core.judging.contract import digest_json
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.core.numbers import ZERO, sure
from honestone.core.record.runs import loop_of_side
from honestone.core.suite.attempts import Attempt, CaseResult, Status
from honestone.core.suite.case import AttemptRule, Case

_NOTHING: Final = Spend()


class AttemptRecord(Struct):
    """What is on record of one attempt: `produced` what the target gave, `ballots` what was
    answered, `ended` what it came to. `digest`: of the output, once that was asked for or its words
    are dropped.
    """

    produced: OutputProduced | None = None
    ballots: tuple[Ballot, ...] | None = None
    ended: Attempt | None = None
    digest: str | None = None

    def drop_words(self, scorer: Scorer, *, is_named: bool) -> None:
        """What its numbers come from stays. `is_named`: and what tells whether its text is another one's."""
        if self.produced is not None:
            if is_named:
                self.digest = digest_of(self)
            self.produced = replace(self.produced, output="", trace=None, diff=None, spend=_NOTHING)
        if self.ballots is not None:
            self.ballots = scorer.without_words(self.ballots)


def digest_of(made: AttemptRecord | None) -> str | None:
    """The digest of what the target gave; None where nothing is on record of that."""
    if made is not None and made.digest is None and made.produced is not None:
        made.digest = output_digest(made.produced.output, made.produced.diff)
    return None if made is None else made.digest


class AttemptLooks(Struct, frozen=True):
    """The looks at one attempt that is not judged to its end. `is_short`: they do not say whether
    it passes. `output`: the digest of its output (`output_digest`).
    """

    ballots: Sequence[Ballot]
    text: TextBelief
    is_short: bool
    output: str | None = None


class CaseAttempts(Struct, frozen=True, kw_only=True):
    """What is known of the attempts of a case: those that ended, and those under way. `digest_of` gives
    the digest of an output; `contract` is the case's contract id (None: its text needs no name).
    """

    case: Case
    scorer: Scorer
    ended_of: Callable[[int], Attempt | None]
    ballots_of: Callable[[int], Sequence[Ballot] | None]
    under_way: Mapping[int, AttemptLooks]
    digest_of: Callable[[int], str | None] = lambda number: None
    contract: str | None = None

    def belief(self, numbers: Sequence[int]) -> CaseBelief:
        """P(the case passes) as far as its attempts of these numbers tell."""
        found = self._by_rule(numbers)
        return replace(found, name=self.text_name(numbers), tries=self.case.attempts)

    def text_name(self, numbers: Sequence[int]) -> Hashable:
        """Equal for cases of which judges are shown the same in each of these attempts, and of which
        code says the same. None where no judge is asked, one of them has no output, or no target gave one.
        """
        case = self.case
        if self.contract is None or not self.scorer.asks_judges:
            return None
        if any(self._output_of(number) is None for number in numbers):
            return None
        if all(self._is_target_error(number) for number in numbers):
            return None
        texts = tuple([self._text_of(number) for number in numbers])
        # A contract has what fills prompts in, and not what they ask.
        return self.contract, case.input, texts

    def _output_of(self, number: int) -> str | None:
        under_way = self.under_way.get(number)
        return self.digest_of(number) if under_way is None else under_way.output

    def _by_rule(self, numbers: Sequence[int]) -> CaseBelief:
        if len(numbers) == 1:
            return self.attempt(numbers[0])
        rule = self.case.attempt_rule
        if rule is AttemptRule.BEST:
            return self._best(numbers)
        if is_pooled(self.case):
            return self._mean(numbers)
        attempts = [self.attempt(number) for number in self.distinct(numbers)]
        needed = 1 if rule is AttemptRule.PASS_AT_K else len(attempts)
        return CaseBelief.of_attempts(self.case.id, attempts, needed)

    def deciding(self, numbers: Sequence[int]) -> dict[int, int]:
        """The attempts that decide the case, as `distinct` gives them: of `best` those that have an
        output.
        """
        if self.case.attempt_rule is not AttemptRule.BEST:
            return self.distinct(numbers)
        return self.distinct([one for one in numbers if not self._is_target_error(one)])

    def distinct(self, numbers: Sequence[int]) -> dict[int, int]:
        """One attempt for each text that these attempts gave, the one with the most looks, and how
        many gave it. An attempt without an output is one of its own.
        """
        alike: dict[Hashable, list[int]] = {}
        for number in numbers:
            alike.setdefault(self._text_of(number), []).append(number)
        return {
            max(same, key=lambda one: (len(self._ballots(one)), one in self.under_way)): len(same)
            for same in alike.values()
        }

    def looks_by_text(self) -> dict[Hashable, int]:
        """How many looks at each text of its attempts gave marks, by what `named` calls it."""
        return {name: len(looks) for name, looks in self.looked_at.items()}

    @property
    def looked_at(self) -> Mapping[Hashable, Sequence[Ballot]]:
        """The looks at each text that gave marks, by the same names."""
        found: dict[Hashable, Sequence[Ballot]] = {}
        for number in range(1, self.case.attempts + 1):
            ballots = [one for one in self._ballots(number) if one.judge != CHECK and one.marks]
            if ballots:
                found[self.named(self._text_of(number))] = ballots
        return found

    def named(self, text: Hashable) -> Hashable:
        """A text of an attempt among those of all cases. Cases that are run once share it where their
        question is the same.
        """
        is_alone = self.contract is None or self.case.attempts > 1
        return (self.case.id if is_alone else self.contract), self.case.input, text

    def _text_of(self, number: int) -> Hashable:
        """Equal for attempts that judges are shown the same of, and of which code says the same."""
        output = self._output_of(number)
        if output is None or self._is_target_error(number):
            return number
        return shown_text(output, self._ballots(number))

    def attempt(self, number: int) -> CaseBelief:
        """One attempt alone, like a case of its own."""
        found = self._of_looks(number)
        return found.by_code if is_statable(self.case) else found

    def _of_looks(self, number: int) -> CaseBelief:
        """The same, with its text where code settles that."""
        id, ended, under_way = self.case.id, self.ended_of(number), self.under_way.get(number)
        if under_way is not None:
            return self._of_text(under_way.text, is_short=under_way.is_short)
        if ended is not None and ended.status is Status.TARGET_ERROR:
            return CaseBelief.without_output(id)
        if not self.scorer.asks_judges:
            decided = ended is not None and ended.status in (Status.PASSED, Status.FAILED)
            passed = ended is not None and ended.status is Status.PASSED
            return CaseBelief(id, certain=passed if decided else None)
        is_short = ended is not None and ended.card is not None and bool(ended.card.short)
        text = belief_text(self.case).see_all(self.ballots_of(number) or ())
        return self._of_text(text, is_short=is_short)

    def _of_text(self, text: TextBelief, *, is_short: bool) -> CaseBelief:
        if not is_statable(self.case):
            return CaseBelief(self.case.id, text, is_short=True)
        is_short = is_short or not text.applies
        return CaseBelief(self.case.id, text, is_short=is_short, is_turned=is_turned(self.case))

    def _mean(self, numbers: Sequence[int]) -> CaseBelief:
        """Of an attempt whose target failed nothing is known: its scores may be anything."""
        id = self.case.id
        if all(self._is_target_error(number) for number in numbers):
            return CaseBelief.without_output(id)
        texts = self.distinct(numbers)
        given = [number for number in texts if not self._is_target_error(number)]
        text, ends = mean_of(
            self.case.rubric,
            [self._ballots(number) for number in given],
            [texts[number] for number in given],
            len(texts) - len(given),
        )
        is_begun = all(self._is_begun(number) for number in texts)
        if is_begun and text.probability in (0.0, 1.0):
            looked = [CaseBelief(id, text)] if text.looks else []
            return CaseBelief.sure(id, passes=text.probability == 1.0, others=looked)
        is_short = not text.applies or not all(map(self._is_scored, given))
        return CaseBelief(id, text, is_short=is_short, ends=ends)

    def _best(self, numbers: Sequence[int]) -> CaseBelief:
        rest = list(self.deciding(numbers))
        if not rest:
            return CaseBelief.without_output(self.case.id)
        if not self.scorer.asks_judges:
            return self.attempt(self._highest(rest))
        found = CaseBelief.of_best(self.case.id, [self._of_looks(number) for number in rest])
        if found.certain is not None or all(map(self._is_scored, rest)):
            return found
        return CaseBelief(self.case.id, is_short=True)

    def _is_scored(self, number: int) -> bool:
        """Whether something says how high it scores. That code settles whether it passes does not,
        as long as judges can be asked.
        """
        under_way = self.under_way.get(number)
        if under_way is not None:
            return bool(under_way.text.looks) and not under_way.is_short
        return self.attempt(number).is_looked_at

    def _is_begun(self, number: int) -> bool:
        return number in self.under_way or self.ended_of(number) is not None

    def _highest(self, numbers: Sequence[int]) -> int:
        """The attempt that the marks place highest; of equal ones the first."""
        scores = {number: self._score(number) for number in numbers}
        return max(numbers, key=lambda number: (scores[number], -number))

    def _score(self, number: int) -> tuple[object, object]:
        ended = self.ended_of(number)
        if number not in self.under_way and ended is not None:
            return ended.low, ended.high
        card = self.scorer.card(self._ballots(number))
        return (card.low, card.high) if card.has_marks else (ZERO, ZERO)

    def _ballots(self, number: int) -> Sequence[Ballot]:
        under_way = self.under_way.get(number)
        return self.ballots_of(number) or () if under_way is None else under_way.ballots

    def _is_target_error(self, number: int) -> bool:
        ended = self.ended_of(number)
        return ended is not None and ended.status is Status.TARGET_ERROR


class OpenAttempts(NamedTuple):
    """How much of what is not known about a case depends on each attempt, 0 to .25: by its number,
    and on the next one that has no output yet (None: there is none).
    """

    by_number: Mapping[int, float]
    next: float | None = None


def open_attempts(
    tried: CaseAttempts,
    opened: Sequence[int],
    belief: SuiteBelief,
) -> OpenAttempts:
    """What of a case of this suite is open. `opened`: its attempts that were begun.

    An attempt matters as far as the others leave the case to it: a first one that surely passes
    leaves nothing to the others under pass@k, and one that surely fails nothing under pass^k.
    """
    case = tried.case
    every = range(1, case.attempts + 1)
    if case.attempts == 1 or is_pooled(case):
        whole = tried.belief(every)
        chance = belief.passing_of(whole) if whole.is_looked_at else 0.0
        return OpenAttempts(dict.fromkeys(opened, chance * (1.0 - chance)))
    is_best = case.attempt_rule is AttemptRule.BEST
    if is_best and (whole := tried.belief(every)).is_best:
        rows = zip(tried.deciding(every), belief.depends_on_each(whole), strict=True)
        return OpenAttempts(dict(rows))
    alone = {number: tried.belief([number]) for number in tried.distinct(opened)}
    chances = {number: belief.passing_of(one) for number, one in alone.items() if one.is_looked_at}
    # One that passes is enough; a turned best attempt is the one that is turned least.
    is_any = not is_turned(case) if is_best else case.attempt_rule is AttemptRule.PASS_AT_K
    shares = {number: 1.0 - one if is_any else one for number, one in chances.items()}
    found = {}
    for number, chance in chances.items():
        others = prod([one for other, one in shares.items() if other != number])
        found[number] = chance * (1.0 - chance) * others**2
    if len(opened) == case.attempts or is_best:
        return OpenAttempts(found)
    unseen = belief.expected_unseen
    return OpenAttempts(found, unseen * (1.0 - unseen) * prod(shares.values()) ** 2)


def shown_text(output: str, ballots: Iterable[Ballot]) -> Hashable:
    """Equal for attempts at one question that gave this output (`output_digest`) and of which code
    says the same.
    """
    checks = [one for one in ballots if one.judge == CHECK]
    return output, frozenset(
        [(key, mark.answer, mark.score) for one in checks for key, mark in one.marks.items()]
    )


def name_of_shown(contract: str, input: str, output: str, diff: object) -> Hashable:
    """`CaseAttempts.text_name` of one attempt of which no code says anything, by what a report shows."""
    return contract, input, ((output_digest(output, diff), frozenset()),)


def output_digest(output: str | None, diff: object) -> str:
    """Equal for outputs that judges are shown the same of, next to the same question."""
    return digest_json([output, diff])


def belief_text(case: Case) -> TextBelief:
    """What is believed of an output of the case, before its first answer."""
    return text_with(case.rubric, None if case.expect is None else case.expect.to_plain())


def is_turned(case: Case) -> bool:
    """Whether it passes where what is believed of its output is not so."""
    expect = case.expect
    return expect is not None and (expect.asks_scores or expect.wants_met is False)


def is_statable(case: Case) -> bool:
    """Whether looks say how probable it is that the case passes. They do not where it asks the
    judges for doubt, or for more ranges than are distinguished.
    """
    expect = case.expect
    if expect is None or (not expect.asks_scores and expect.wants_met is not None):
        return True
    return isinstance(belief_text(case), OutsideBelief)


def is_pooled(case: Case) -> bool:
    """Whether the mean of its attempts decides. A test of the judges passes in every attempt."""
    return case.attempts > 1 and case.attempt_rule is AttemptRule.MEAN and case.expect is None


def decided_by(case: Case) -> AttemptRule:
    """The rule of its attempts. A test of the judges passes in every attempt."""
    rule = case.attempt_rule
    is_every = rule is AttemptRule.MEAN and case.expect is not None
    return AttemptRule.PASS_HAT_K if is_every else rule


def needs_every_attempt(case: Case) -> bool:
    """Whether nothing is known of the case before each of its attempts has a look."""
    return is_pooled(case) or (case.attempts > 1 and case.attempt_rule is AttemptRule.BEST)


def by_belief(found: CaseResult, belief: CaseBelief) -> CaseResult:
    """The result of a case whose suite is asked on: what all looks at its attempts make more
    likely. As it is where code or the target decides, or no look tells.
    """
    chance = belief.alone
    if chance is None or found.status is Status.SKIPPED:
        return found
    # What code decides is undecided where a judge that is needed did not answer.
    if belief.certain is not None and found.status not in (Status.PASSED, Status.FAILED):
        return found
    passes = chance >= EVEN
    if found.status is Status.TARGET_ERROR and not passes:
        return found
    status = Status.PASSED if passes else Status.FAILED
    if found.status is status:
        return found
    claim = f"{sure(chance)} that the case passes"
    by_marks = "; ".join(found.reasons) or f"by its marks it is {found.status.value}"
    return CaseResult(
        status=status,
        low=found.low,
        high=found.high,
        reasons=(by_marks, claim),
        is_unstable=found.is_unstable,
        shown=found.shown,
    )


def _may_be_heard(one: Believed) -> bool:
    """Whether judges that a case lacks may still answer: a limit came first, or nothing was asked."""
    if one.case.skip is not None:
        return False
    looks = [ballot for every in one.ballots.values() for ballot in every if ballot.judge != CHECK]
    return not looks or any(ballot.was_not_asked for ballot in looks)


def are_exhausted(
    ballots: Mapping[str, Iterable[Sequence[Ballot]]], chances: Mapping[str, float]
) -> bool:
    """Whether no look at cases would decide their suite: every judge repeated itself about each text,
    or about those of the cases that are not settled. `ballots`: by case, those about each attempt;
    `chances`: P(it passes) of each case.
    """
    open_ = [id for id, one in chances.items() if 0.0 < one < 1.0]
    looks = {id: [looks_at(one) for one in ballots.get(id, ())] for id in open_}
    judges = {judge for every in looks.values() for one in every for judge in one}
    spent = {
        id: all(repeats(one.get(judge, ())) for one in every if one for judge in judges)
        for id, every in looks.items()
    }
    unsettled = [spent[id] for id in open_ if chances[id] * (1.0 - chances[id]) >= SETTLED]
    return all(spent.values()) or (bool(unsettled) and all(unsettled))


class Chances(NamedTuple):
    """P(it truly passes) of cases that are certain or were looked at: by what was said of each
    alone, and by what all cases say about the judges (None: not known, as of a saved report). `texts`
    are the names of the texts of cases, as far as they are known.
    """

    alone: Mapping[str, float]
    together: Mapping[str, float] | None
    texts: Mapping[str, Hashable] = MappingProxyType({})


B = TypeVar("B", bound="Believed")


class Unasked:
    """Counts the cases that are skipped and not by the suite itself, so that what is stated of a
    suite agrees with the rows of its cases: those that were passed by, and those that a run has not
    come to. A case of several attempts is one of them until enough of its attempts have a look.

    `alike`: how many looks of each judge had the same reply as another one at the same text; None
    where the words of replies are not in memory.
    """

    def __init__(self) -> None:
        self.passed_by = self.so_far = 0
        self.alike: Counter[str] | None = Counter()
        self._compared = set[Hashable]()

    def counted(self, cases: Iterable[B]) -> Iterator[B]:
        for one in cases:
            if one.case.skip is None and one.result.status is Status.SKIPPED:
                self.passed_by += one.passed_by is not None
                self.so_far += one.passed_by is None
            if self.alike is not None and _has_further_looks(one):
                self._compare(one, self.alike)
            yield one

    def _compare(self, case: Believed, counted: Counter[str]) -> None:
        if case.is_brief:
            self.alike = None
            return
        for name, ballots in case.tried({}).looked_at.items():
            if name not in self._compared:
                self._compared.add(name)
                counted.update({judge: alike(one) for judge, one in looks_at(ballots).items()})


def _has_further_looks(case: Believed) -> bool:
    return any(one.draw_of is not None for every in case.ballots.values() for one in every)


class Believed(Protocol):
    """A case with what is believed of it. Those with an equal `believed_by` have equal beliefs; None
    where that is not known.
    """

    @property
    def case(self) -> Case: ...

    @property
    def is_brief(self) -> bool: ...

    @property
    def ballots(self) -> Mapping[int, Sequence[Ballot]]: ...

    @property
    def believed_by(self) -> tuple[object, ...] | None: ...

    @property
    def believed_as(self) -> CaseBelief: ...

    @property
    def passed_by(self) -> str | None: ...

    @property
    def result(self) -> CaseResult: ...

    def tried(self, under_way: Mapping[int, AttemptLooks]) -> CaseAttempts: ...


def beliefs_of(cases: Iterable[Believed]) -> Sequence[CaseBelief]:
    """What is believed of each that is not skipped: worked out once for those with equal answers, and
    the same of those that are one text.
    """
    # With the cases, so that no identity is used again.
    known: dict[tuple[object, ...], tuple[CaseBelief, Believed]] = {}
    found = []
    for one in cases:
        if one.case.skip is not None:
            continue
        key = one.believed_by
        same = None if key is None else known.get(key)
        belief = (
            one.believed_as
            if same is None
            else replace(same[0], id=one.case.id, name=one.tried({}).text_name([1]))
        )
        if key is not None and same is None:
            known[key] = belief, one
        found.append(belief)
    return as_one(found)


def bar_from(started: SuiteStarted) -> SuiteBar:
    """What the suite of a run is held to."""
    return SuiteBar(
        least=started.min_pass_rate,
        sure=started.sure,
        max_looks=started.max_looks,
        is_alone=loop_of_side(started.side) is None,
    )


def bar_of(
    cases: Sequence[CaseBelief],
    bar: SuiteBar,
    records: Callable[[], Iterable[Believed]],
    unasked: Unasked,
) -> StatedBelief | None:
    """How sure it is that enough cases pass, and whether more looks would tell: that rests on every
    word of the answers in `records`. None where nothing was judged. `unasked` has counted them.
    """
    passed_by, so_far = unasked.passed_by, unasked.so_far
    found = suite_belief(cases, bar, not_asked=passed_by, not_yet_asked=so_far, alike=unasked.alike)
    if found is None or found.decided is not False or found.is_exhausted:
        return found
    lacks = lack_of_judges(SuiteBelief(cases, bar.need(len(cases))))
    if lacks and not any(_may_be_heard(one) for one in records()):
        return settled(found, lacks=lacks)
    if passed_by or so_far:
        return found
    chances = SuiteBelief(cases, bar.need(len(cases))).by_case()
    ballots = {one.case.id: list(one.ballots.values()) for one in records()}
    return settled(found, is_exhausted=are_exhausted(ballots, chances))
