"""What a verdict states about how sure it is: numbers and one sentence, the same for every door.

A probability is cut and never rounded up, and it says 100 % only where code alone decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, log
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.judging.ballot import CHECK, Ballot, Mark
from honestone.core.judging.rubric import LEAST_LOOKS, Key, Rubric, Rule
from honestone.core.judging.scorecard import Outcome, Verdict
from honestone.core.numbers import chance_words, exact, show_bar

# Looks of judges at one text, where nothing else is said.
DEFAULT_LOOKS: Final = 12
# A judge that gave the same reply so often about the same bytes is not asked again.
REPEATS: Final = 3
# Below this a verdict without a bar is worth a warning.
EVEN: Final = 0.5
# A judgement that is this sure contradicts a verdict that says otherwise.
CONTRADICTS: Final = 0.5
# What a look brings on average, in log odds, below which no number of them is foreseen.
_LEAST_STEP: Final = 0.1
_LEAST: Final = 1e-9
# A bar above this is shown with the decimals of the probability.
_FINE: Final = 0.99
# A bar is shown to the ten thousandth of a percent.
_ASKED: Final = 1_000_000


# What a sentence is about: a text, and a version of what a suite is about.
CONTRACT_MET: Final = "the contract is met"
SPLITS_PASS: Final = "enough cases of val and of test pass"


class Ground(Struct, frozen=True, kw_only=True):
    """What a belief rests on: looks of one judge, of which `alike` had the same reply as another,
    or items that code answered.
    """

    kind: Literal["looks", "checks"]
    judge: str | None = None
    looks: int | None = None
    alike: int | None = None
    items: int | None = None


class EndedBy(Struct, frozen=True, kw_only=True):
    """The option whose limit ended the looks, and how many it allowed; None where it counts no looks."""

    option: str
    most: int | None = None


class StatedBelief(Struct, frozen=True, kw_only=True):
    """How sure it is that a contract is met.

    `probability`: 0-1, exactly 0 or 1 where code alone decides. `target`: the bar that was asked
    for, 0-1, or None. `looks`: calls of judges that gave marks. `decided`: whether the bar was
    reached, either way; None without one. `more_looks`: about how many more looks would decide;
    None where that is not needed, not known, or no number of looks would. `better` and `worse`: than
    a baseline, by more than nothing. `subject` is what the sentence is about, and `contrary` what
    holds where that does not. `not_asked`: cases that are skipped since no judge was asked about
    enough of their attempts; `not_yet_asked`: those that a run under way has not come to;
    `without_output`: those whose target failed. `is_exhausted`: further looks of the same judges
    would not decide it. `lacks`: what no further look brings, and no verdict is without. `ended_by`: the
    limit that ended the looks of a loop; elsewhere `max_looks` says whether it did.
    """

    probability: float
    target: float | None = None
    looks: int = 0
    max_looks: int | None = None
    decided: bool | None = None
    more_looks: int | None = None
    rests_on: tuple[Ground, ...] = ()
    better: float | None = None
    worse: float | None = None
    subject: str = CONTRACT_MET
    contrary: str = "the contract is not met"
    not_asked: int = 0
    not_yet_asked: int = 0
    without_output: int = 0
    is_exhausted: bool = False
    lacks: str = ""
    ended_by: EndedBy | None = None

    def with_sides(self, better: float | None, worse: float | None, *, is_alone: bool) -> Stated:
        """With what a comparison says. `is_alone`: it alone is the verdict, and no bar."""
        if not is_alone:
            return replace(self, better=better, worse=worse)
        return SideBelief(
            looks=self.looks,
            max_looks=self.max_looks,
            rests_on=self.rests_on,
            better=better,
            worse=worse,
        )

    @property
    def judges(self) -> int:
        return sum(one.kind == "looks" for one in self.rests_on)

    @property
    def is_certain(self) -> bool:
        """Whether code alone decides."""
        return self.probability in (0.0, 1.0)

    @property
    def outcome(self) -> Outcome | None:
        """What the probability decides; None without a bar. One look of a judge decides nothing."""
        if self.target is None:
            return None
        if self.looks == 1 and not self.is_certain:
            return Outcome.INCONCLUSIVE
        if self.probability >= self.target:
            return Outcome.PASS
        return Outcome.FAIL if 1.0 - self.probability >= self.target else Outcome.INCONCLUSIVE


class SideBelief(Struct, frozen=True, kw_only=True):
    """How sure it is that one side is better than its baseline, where the comparison alone is the
    verdict: no share of cases has to pass, so that no probability of that is stated.

    `better`, `worse`: 0-1, by more than nothing; None where that is not known. `looks`, `max_looks`
    and `rests_on` are those of `StatedBelief`.
    """

    looks: int = 0
    max_looks: int | None = None
    rests_on: tuple[Ground, ...] = ()
    better: float | None = None
    worse: float | None = None

    @property
    def probability(self) -> None:
        return None


Stated: TypeAlias = StatedBelief | SideBelief


# ------------------------------------------------------------------------------------------------------------
# numbers


def belief_of(
    rubric: Rubric, ballots: Sequence[Ballot], verdict: Verdict | None = None
) -> StatedBelief | None:
    """The belief that these ballots of one text come to; None where nothing was judged. `verdict`:
    the gate's, where it is known.
    """
    return stated_belief(rubric, ballots, chance_of(rubric, ballots, verdict))


def chance_of(
    rubric: Rubric, ballots: Sequence[Ballot], verdict: Verdict | None = None
) -> float | None:
    """P(contract met): it depends on the answers alone, so texts with equal answers share it. None
    where nothing was judged.
    """
    if verdict is not None and not any(ballot.judge != CHECK for ballot in ballots):
        return _CERTAIN.get(verdict.outcome)
    # What weighs looks is not loaded where code alone decides.
    from honestone.core.belief.verdict import TextBelief

    return TextBelief(rubric).see_all(ballots).probability


_CERTAIN: Final[Mapping[Outcome, float]] = {Outcome.PASS: 1.0, Outcome.FAIL: 0.0}


def stated_belief(
    rubric: Rubric, ballots: Sequence[Ballot], chance: float | None
) -> StatedBelief | None:
    """A probability with its bar and with what it rests on."""
    if chance is None:
        return None
    target = None if rubric.sure is None else float(rubric.sure)
    grounds = grounds_of(ballots)
    belief = StatedBelief(
        probability=chance,
        target=target,
        looks=sum([one.looks or 0 for one in grounds]),
        max_looks=None if target is None else rubric.max_looks or DEFAULT_LOOKS,
        rests_on=grounds,
    )
    if target is None:
        return belief
    lacks = lack_of_quorum(rubric, ballots)
    return settled(belief, is_exhausted=all_repeat(ballots), lacks=lacks)


def settled(belief: StatedBelief, *, is_exhausted: bool = False, lacks: str = "") -> StatedBelief:
    """Add what follows from the probability and its bar: whether the verdict is decided, and how
    many looks may decide it. `is_exhausted`: no judge is worth another question. `lacks`: what no
    answer of those that can be asked brings.
    """
    if belief.target is None:
        return belief
    decided = belief.outcome is not Outcome.INCONCLUSIVE
    more = None if decided or is_exhausted or lacks else looks_to_decide(belief)
    return replace(belief, decided=decided, more_looks=more, is_exhausted=is_exhausted, lacks=lacks)


def lack_of_quorum(rubric: Rubric, ballots: Iterable[Ballot], more: int = 0) -> str:
    """Why no look brings as many judges as the rubric's quorum needs; empty where it needs none, or
    those may still answer that were not asked. `more`: judges that have no ballot yet.
    """
    if rubric.quorum is None:
        return ""
    judges, waiting, answered = set[str](), set[str](), set[str]()
    for one in ballots:
        if one.judge != CHECK and one.kind != "self":
            judges.add(one.voter)
            if one.marks:
                answered.add(one.voter)
            elif one.was_not_asked:
                waiting.add(one.voter)
    needed = len(judges) + more if rubric.quorum == "all" else rubric.quorum
    if len(answered | waiting) + more >= needed:
        return ""
    return f"the quorum is not met: {len(answered)} of {_counted(needed, 'judge')} answered"


def looks_to_decide(belief: StatedBelief) -> int | None:
    """About how many more looks decide, if each tells as much as those so far did. Cases that were
    not asked can still tell, at one look each.
    """
    if belief.target is None or belief.looks == 0:
        return None
    now = abs(_log_odds(belief.probability))
    step = now / belief.looks
    unasked = belief.not_asked + belief.not_yet_asked
    if step < _LEAST_STEP:
        return unasked or None
    return max(ceil((_log_odds(belief.target) - now) / step), unasked, 1)


def _log_odds(chance: float) -> float:
    inside = min(max(chance, _LEAST), 1.0 - _LEAST)
    return log(inside / (1.0 - inside))


def looks_at(ballots: Iterable[Ballot]) -> Mapping[str, list[Ballot]]:
    """The looks that count, by judge."""
    looks: dict[str, list[Ballot]] = {}
    for ballot in ballots:
        if ballot.judge != CHECK and ballot.marks and not ballot.tampered:
            looks.setdefault(ballot.voter, []).append(ballot)
    return looks


def alike(looks: Sequence[Ballot]) -> int:
    """How many looks of one judge had the same reply as another of its looks. One at a part of the
    criteria is compared with none: few answers agree where the replies to all would not.
    """
    replies = _whole_replies(looks)
    if len(replies) < LEAST_LOOKS:
        return 0
    return sum(replies.count(one) > 1 for one in replies)


def repeats(looks: Sequence[Ballot]) -> bool:
    """Whether a judge gave one reply so often that it is not asked again about these bytes."""
    replies = _whole_replies(looks)
    return any(replies.count(one) >= REPEATS for one in replies)


def may_repeat(looks: Sequence[Ballot]) -> bool:
    """Whether the last look of a judge gives, to the last word, what an earlier one gave to the same
    items. Looks at all criteria show whether it repeats itself.
    """
    if not looks:
        return False
    last = looks[-1].marks
    return any(all(one.marks.get(key) == mark for key, mark in last.items()) for one in looks[:-1])


def _whole_replies(looks: Sequence[Ballot]) -> list[Mapping[Key, Mark]]:
    return [one.marks for one in looks if not one.asked]


def all_repeat(ballots: Iterable[Ballot]) -> bool:
    looks = looks_at(ballots)
    return bool(looks) and all(map(repeats, looks.values()))


def grounds_of(ballots: Sequence[Ballot]) -> tuple[Ground, ...]:
    """The looks of each judge, then what code answered."""
    checked = sum([len(one.marks) for one in ballots if one.judge == CHECK])
    return (
        *[
            Ground(kind="looks", judge=judge, looks=len(looks), alike=alike(looks))
            for judge, looks in looks_at(ballots).items()
        ],
        *([Ground(kind="checks", items=checked)] if checked else []),
    )


# ------------------------------------------------------------------------------------------------------------
# verdicts


def believed(gate: Verdict, belief: StatedBelief | None, rule: Rule | None = None) -> Verdict:
    """The verdict of a gate where nothing says `sure`; else the verdict of the probability.

    Where a gate passes or fails on other grounds than the probability, a reason says so, and names
    the `rule` by which votes became a score. What is between the bars is undecided where no answer
    is missing.
    """
    if belief is None or belief.outcome is None or gate.is_final:
        return gate
    outcome = belief.outcome
    sentence = sure_sentence(belief)
    if outcome is Outcome.INCONCLUSIVE:
        lacks = gate.lacks_answers
        return Verdict(outcome, (sentence,), lacks_answers=lacks, is_undecided=not lacks)
    if outcome is gate.outcome:
        return gate if outcome is Outcome.PASS else Verdict(outcome, (*gate.reasons, sentence))
    return _against_the_marks(outcome, gate, sentence, rule)


def likelier(gate: Verdict, belief: StatedBelief | None, rule: Rule) -> Verdict:
    """The verdict of a case whose suite is asked on: what its own answers make more likely. That of
    the gate where nothing was judged, where code decides, and where a quorum is not met.
    """
    if belief is None or belief.is_certain or gate.is_final:
        return gate
    outcome = Outcome.PASS if belief.probability >= EVEN else Outcome.FAIL
    return (
        gate
        if outcome is gate.outcome
        else _against_the_marks(outcome, gate, sure_sentence(belief), rule)
    )


def _against_the_marks(
    outcome: Outcome, gate: Verdict, sentence: str, rule: Rule | None
) -> Verdict:
    by_marks = "; ".join(gate.reasons) or "every bar is reached"
    marks = "which decide nothing" if rule is None else f"whose {rule} decides nothing"
    return Verdict(outcome, (f"by the marks alone, {marks} here: {by_marks}", sentence))


# ------------------------------------------------------------------------------------------------------------
# words


def sure_percent(belief: StatedBelief) -> str:
    """`97% sure`: whole percents, cut; with as many decimals as the bar that was asked for has, and with
    one where that is above 99 %.
    """
    if belief.target is None:
        return chance_words(belief.probability)
    asked = percent_words(belief.target).removesuffix("%").partition(".")[2]
    return chance_words(belief.probability, decimals=max(len(asked), int(belief.target > _FINE)))


@lru_cache(maxsize=1_024)
def sure_sentence(belief: StatedBelief) -> str:
    """`97% sure that the contract is met (asked: 95%), after 5 looks of 3 judges`. Where the bar
    that was asked for is reached the other way, it is about the contrary, by what is left to 100 %.
    """
    claim = f"{sure_percent(belief)} that {belief.subject}"
    if belief.outcome is Outcome.FAIL:
        contrary = replace(belief, probability=1.0 - belief.probability)
        claim = f"{sure_percent(contrary)} that {belief.contrary}"
    left = [
        f"; {_counted(count, 'case')} {what}"
        for count, what in (
            (belief.not_asked, "not asked"),
            (belief.not_yet_asked, "not yet asked"),
            (belief.without_output, "without an output"),
        )
        if count
    ]
    return _with_grounds(belief, claim) + "".join(left)


def _with_grounds(belief: StatedBelief, claim: str) -> str:
    if belief.target is None:
        return f"{claim} ({_grounds_words(belief)})"
    asked = f"asked: {percent_words(belief.target)}"
    after = _after_words(belief)
    if belief.decided:
        return f"{claim} ({asked}), {after}"
    return f"{claim}, {asked}, {after}; {_more_words(belief)}"


def _more_words(belief: StatedBelief) -> str:
    """A limit is named only where it ended the looks."""
    if belief.lacks:
        return f"no further look would tell, as {belief.lacks}"
    if belief.is_exhausted:
        return "more looks of these judges would not tell"
    limit, more = _limit_of(belief), belief.more_looks
    if limit is None:
        return "more looks may tell" if more is None else f"about {more} more would tell"
    if more is None or limit.most is None:
        asks_on = f"a higher {limit.option} asks on"
        return asks_on if more is None else f"about {more} more would tell: {asks_on}"
    return f"about {more} more would tell ({limit.option} {limit.most + more})"


def _limit_of(belief: StatedBelief) -> EndedBy | None:
    """The limit that ended the looks, where it is known."""
    if belief.ended_by is None and belief.max_looks is not None:
        is_reached = belief.looks >= belief.max_looks
        return EndedBy(option="--max-looks", most=belief.max_looks) if is_reached else None
    return belief.ended_by


def side_sentence(better: float | None, worse: float | None) -> str:
    """`96% sure that it is better than the baseline`, or worse: the likelier of the two. Empty where
    nothing is known.
    """
    if better is None or worse is None:
        return ""
    if better >= worse:
        return f"{chance_words(better)} that it is better than the baseline"
    return f"{chance_words(worse)} that it is worse than the baseline"


def percent_words(share: float) -> str:
    """A share 0-1 as it was asked for, cut after four decimals: `99.5%`. Less than all is never 100%."""
    return f"{show_bar(Fraction(int(exact(share) * _ASKED), _ASKED))}%"


def _grounds_words(belief: StatedBelief) -> str:
    if belief.looks == 0:
        return "code alone decides" if belief.rests_on else "nothing can fail"
    judges = _counted(belief.judges, "judge")
    if belief.looks == belief.judges:
        return f"{judges}, one look each" if belief.judges > 1 else "1 judge, one look"
    return f"{_counted(belief.looks, 'look')} of {judges}"


def _after_words(belief: StatedBelief) -> str:
    if belief.looks == 0:
        return "by code alone" if belief.rests_on else "since nothing can fail"
    return f"after {_counted(belief.looks, 'look')} of {_counted(belief.judges, 'judge')}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def doubt(outcome: Outcome | str, belief: StatedBelief | None, *, bar: str = "95") -> str:
    """One line where a verdict without a bar and the belief disagree; empty where they agree."""
    if belief is None or belief.target is not None or belief.is_certain:
        return ""
    verdict = str(outcome)
    if verdict == str(Outcome.PASS) and belief.probability < EVEN:
        return f"only {sure_percent(belief)} that {belief.subject}: --sure {bar} asks on"
    if verdict == str(Outcome.FAIL) and belief.probability > CONTRADICTS:
        return (
            f"by the marks alone it fails, and it is {sure_percent(belief)} that"
            f" {belief.subject}: --sure {bar} asks on"
        )
    return ""
