"""The policy `belief` of a loop over a suite: what is kept and what PASSED rest on the probability
that enough cases of `val` and of `test` pass, and not on one look a case.

Every case gets a look of one judge. Further looks go to the cases of val, and at the end of test,
that can still turn its bar. What judges answered belongs to the text that they were shown: an edit
that leaves an output as it is costs no look, and cases of two splits with the same question and the
same output are one text. All splits of a version share the evidence about the judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Final

from msgspec.structs import replace

from honestone.core.belief.cases.bar import lack_of_judges
from honestone.core.belief.cases.sides import better_than
from honestone.core.belief.comparison import Better
from honestone.core.belief.stated import EVEN, EndedBy, sure_sentence
from honestone.core.events import (
    BallotCast,
    CandidateRanked,
    CaseAnswers,
    Event,
    SuiteImprovementStarted,
)
from honestone.core.judging.ballot import CHECK
from honestone.core.judging.scorecard import Outcome, Verdict
from honestone.core.loop.allowance import Allowance
from honestone.core.loop.state import Accept, Ask, LoopState, Result, RollBack, Stop, Words
from honestone.core.loop.suite_answers import AnsweredSuiteState
from honestone.core.loop.suite_loop import (
    HOPELESS,
    TEST,
    TRAIN,
    VAL,
    WORDS,
    ByNeed,
    KeepWhatHelps,
    SuiteLoopState,
    move,
    not_run,
    state_of_suite,
)
from honestone.core.numbers import sure

# How sure a version is made that it reaches the bars of val and of test, where nothing is asked for.
ENOUGH: Final = 0.95
# Changed versions in a row of which every case passes and fails as in the one before, after which
# the cases tell nothing: an edit that helps one case and harms another leaves the pass rate as it is.
DEAD_AFTER: Final = 7
_WORDS: Final = replace(
    WORDS,
    dead="every case of seven changed versions in a row passed or failed as in the one before, "
    "or could not be judged",
)


def enough(asked: Fraction | None) -> float:
    """How sure a version is made where a suite asks for so much (0-1)."""
    return ENOUGH if asked is None else float(asked)


def enough_of_split(asked: Fraction | None) -> float:
    """How sure of its bar each of two splits is made, so that both together are as sure as that."""
    return (1.0 + enough(asked)) / 2


@dataclass(slots=True, kw_only=True)
class SuiteBeliefState(AnsweredSuiteState):
    """The state of a loop over a suite whose judges are asked by need.

    `asked`: judge calls so far. `times_asked`: by version and split, how often it was asked. `bought`:
    the same, how many looks that brought. `new_texts`: by version, how many texts of val and train no
    version before it had.
    """

    dead_after: int = DEAD_AFTER
    words: Words = _WORDS
    asked: int = 0
    times_asked: dict[tuple[str, str], int] = field(default_factory=dict)
    bought: dict[tuple[str, str], int] = field(default_factory=dict)
    new_texts: dict[str, int] = field(default_factory=dict)

    # `slots=True` makes a new class, which `super()` without arguments does not know. So methods
    # name the base class.

    def apply(self, event: Event) -> None:
        if isinstance(event, BallotCast | CandidateRanked):
            self.asked += event.spend.judge_calls
        if isinstance(event, BallotCast):
            key = event.version, event.ballot.judge
            self.times_asked[key] = self.times_asked.get(key, 0) + 1
            self.bought[key] = self.bought.get(key, 0) + _looks_in(event.cases)
            self._count_texts(event)
        AnsweredSuiteState.apply(self, event)

    def _count_texts(self, event: BallotCast) -> None:
        if event.role == "panel":
            texts = {part.text for one in event.cases for part in one.parts}
            new = texts - self.looks_at.keys()
            self.new_texts[event.version] = self.new_texts.get(event.version, 0) + len(new)

    # -- what is believed

    def _attempts(self, split: str) -> int:
        """How many attempts there may be at all cases of a split."""
        return sum(self.attempts.get(id, 1) for id in self._ids(split))

    def ended_by(self, version: str) -> EndedBy | None:
        """Of the split that is less sure, as of those that may be asked again."""
        splits = [VAL, TEST] if (version, TEST) in self.answers else [VAL]
        least = min(splits, key=lambda one: self.chance(version, one).chance)
        if self.chance(version, least).chance <= HOPELESS:
            return None
        most = self.rubric.max_looks
        if most is not None and self.bought.get((version, least), 0) >= most:
            return EndedBy(option="--max-looks", most=most)
        left = self.calls_left if self.by_need(version, least).looks > 0 else 0
        return self.limits.that_ended(self.limit, calls_left=left)

    def lacks_answers(self, version: str) -> str:
        if self.calls_left <= 0:
            return ""
        splits = [split for split in (VAL, TEST) if (version, split) in self.answers]
        lacks = [lack_of_judges(self._suite(version, split)) for split in splits]
        return next(filter(None, lacks), "")

    def better(self, version: str, than: str, *splits: str) -> tuple[float, float]:
        """P(more cases pass with a version than with another one), and P(fewer do)."""
        key = (version, than, *splits)
        if key not in self._known.better:
            self._known.better[key] = better_than(*self._moved(version, than, *splits))
        return self._known.better[key]

    def _moved(
        self, version: str, than: str, *splits: str
    ) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """P(it passes) of each case with a version, and with another one. Cases whose text is the
        same do not differ, and are left out.
        """
        now, before = dict[str, float](), dict[str, float]()
        for split in splits:
            old = {one.case: one for one in self.answers.get((than, split), ())}
            new = {one.case: one for one in self.answers.get((version, split), ())}
            moved = {id for id in new.keys() & old.keys() if new[id].texts != old[id].texts}
            for chances, suite in (
                (now, self._suite(version, split)),
                (before, self._suite(than, split)),
            ):
                chances |= {id: p for id, p in suite.by_case().items() if id in moved}
        return now, before

    def better_than_original(self, version: str) -> Better:
        """By the cases of every split that both were run on."""
        splits = (VAL, TRAIN, TEST)
        now, before = self._moved(version, self.original, *splits)
        won = sum([now[id] - before[id] for id in sorted(now.keys() & before.keys())])
        cases = sum([len(self._ids(split)) for split in splits])
        return Better(better_than(now, before)[0], 100.0 * won / cases)

    # -- what follows

    def verdict(self, version: str) -> Verdict:
        """The verdict of val alone."""
        if (version, VAL) not in self.answers:
            return LoopState.verdict(self, version)
        chance = self.chance(version, VAL)
        if chance.low >= self.least:
            return Verdict(Outcome.PASS)
        lacks = lack_of_judges(self._suite(version, VAL))
        why = f"{sure(chance.low)} that enough cases of val pass"
        return Verdict(Outcome.FAIL, (f"it could not be judged, as {lacks}" if lacks else why,))

    def certifications(self, version: str) -> dict[str, Verdict]:
        card = self.certification_card(version)
        if card is None:
            return {}
        chance = self.chance(version, VAL, TEST).low
        stated = self.stated(version)
        words = "" if stated is None else sure_sentence(stated)
        if chance < self.least:
            return {TEST: Verdict(Outcome.FAIL, (words,))}
        found = Verdict(Outcome.PASS, (words,))
        return {TEST: self._above_chance(card) if self.strict else found}

    def tells_apart(self, before: str, after: str) -> bool:
        """Whether any case of val or train passes in one version and fails in another."""
        lines = zip(self.card(before).lines, self.card(after).lines, strict=True)
        moves = [move(old, new) for old, new in lines]
        return self.is_marked(after) and any(one.won or one.lost or one.undone for one in moves)

    def _is_refused(self, version: str) -> bool:
        val = move(self.card(self.best).line(VAL), self.card(version).line(VAL))
        better, worse = self.better(version, self.best, VAL)
        return worse > better or bool(val.undone)

    @property
    def calls_left(self) -> int:
        """Judge calls that the run may still make."""
        return 0 if self.limit is not None else self.limits.calls - self.asked

    @property
    def allowance(self) -> Allowance:
        """What may still be asked, and what the rest of the run needs."""
        quorums = [rubric.quorum or 1 for rubric in self.rubrics.values()]
        judges = {judge for text in self._texts.values() for judge in text.looks}
        needed = max([len(judges) if one == "all" else int(one) for one in quorums] + [1])
        open_version = self.rounds[-1].version if self.rounds and self.rounds[-1].is_open else None
        edited = [entry.version for entry in self.rounds if entry.version]
        return Allowance(
            calls=self.calls_left,
            rounds=self.limits.rounds - len(self.rounds),
            least={name: needed * self._attempts(name) for name in (TRAIN, VAL, TEST)},
            of_edits=tuple(
                needed * self.new_texts.get(version, 0)
                for version in edited
                if version not in (self.original, open_version)
            ),
            candidates=self.candidates,
            needs_original=(self.original, TEST) not in self.answers,
        )

    def by_need(self, version: str, split: str) -> ByNeed:
        """How judges are asked about this split of a version now."""
        allowance, attempts = self.allowance, self._attempts(split)
        again = self.times_asked.get((version, split), 0)
        most, bought = self.rubric.max_looks, self.bought.get((version, split), 0)
        is_original = version == self.original
        is_compared_with = split == TEST and is_original and bool(self.rounds)
        if again:
            is_tested = (version, TEST) in self.answers
            looks = allowance.further_looks(split, is_original=is_original, is_tested=is_tested)
        else:
            looks = allowance.first_looks(split, attempts, is_original=is_original)
        return ByNeed(
            looks=looks if most is None else min(looks, max(most - bought, 0)),
            once=not again and (split == TRAIN or is_compared_with),
            known=self.looks_at,
            alongside=self._texts_alongside(version),
            apart=self._texts_apart(version),
            hopeless=EVEN if split == VAL and allowance.has_another and not again else HOPELESS,
            again=again,
        )


def _looks_in(cases: Sequence[CaseAnswers]) -> int:
    ballots = [one for case in cases for part in case.parts for one in part.ballots]
    return sum([one.judge != CHECK for one in ballots])


def state_of_suite_run(started: Event) -> SuiteLoopState:
    """The state of a run over a suite before its first event, under the policy of that run."""
    assert isinstance(started, SuiteImprovementStarted)
    if not started.rubrics:
        return state_of_suite(started)
    is_by_belief = started.policy == KeepWhatIsLikelier().name
    kind = SuiteBeliefState if is_by_belief else AnsweredSuiteState
    of = partial(kind, rubrics=started.rubrics, attempts=started.attempts)
    return state_of_suite(started, of)


@dataclass(frozen=True, slots=True)
class KeepWhatIsLikelier(KeepWhatHelps):
    """Keep a version when it is more likely that more cases pass than that fewer do: of val, and of
    val and train together.
    """

    name: str = "belief"

    def settle(self, state: LoopState) -> Ask | Stop | None:
        """No further version is proposed with the calls that are held for test. Before a run ends,
        the calls that are left go to what is still open.
        """
        assert isinstance(state, SuiteBeliefState)
        settled = KeepWhatHelps.settle(self, state) or self._out_of_calls(state)
        if not isinstance(settled, Stop):
            return settled
        return self._ask_on(state) or self._look_for_failures(state) or settled

    def _out_of_calls(self, state: SuiteBeliefState) -> Stop | None:
        allowance, most = state.allowance, state.limits.calls
        if allowance.spare >= 0:
            return None
        held = allowance.held_for_test(is_original=False)
        return Stop(
            result=Result.BUDGET,
            reason=f"{allowance.calls} of --max-calls {most} are left: val and train of another"
            f" version need {allowance.for_another_version}, and {held} are held for test",
        )

    def _ask_on(self, state: SuiteBeliefState) -> Ask | None:
        """The split of the best version that is asked again, once: of those that are open the one
        that is less sure.
        """
        version = state.best
        if state.limit is not None or (version, VAL) not in state.answers:
            return None
        splits = [VAL, TEST] if (version, TEST) in state.answers else [VAL]
        asked = state.rubric.sure
        if state.chance(version, *splits).low >= enough(asked):
            return None
        chances = {split: state.chance(version, split).chance for split in splits}
        if min(chances.values()) <= HOPELESS:
            return None
        for split in sorted(splits, key=lambda one: chances[one]):
            may_ask = state.times_asked.get((version, split), 0) == 1
            if (
                may_ask
                and chances[split] < enough_of_split(asked)
                and state.by_need(version, split).looks > 0
            ):
                return Ask(
                    judges=(split,),
                    version=version,
                    role="holdout" if split == TEST else "panel",
                    draw=1,
                )
        return None

    def _look_for_failures(self, state: SuiteBeliefState) -> Ask | None:
        """Train is asked again, once, where none of its cases is known to fail, but val is open and
        another version can be paid for: one look a case may have missed what the worker needs.
        """
        version = state.current
        is_open = (version, VAL) in state.answers and (
            state.chance(version, VAL).low < enough(state.rubric.sure)
        )
        may_ask = state.limit is None and state.times_asked.get((version, TRAIN), 0) == 1
        if not is_open or not may_ask or not state.allowance.has_another:
            return None
        if any(state.card(version).line(TRAIN).short_items):
            return None
        if state.by_need(version, TRAIN).looks <= 0:
            return None
        return Ask(judges=(TRAIN,), version=version, role="panel", draw=1)

    def judge(self, state: LoopState, version: str) -> Accept | RollBack:
        assert isinstance(state, SuiteBeliefState)
        val = move(state.card(state.best).line(VAL), state.card(version).line(VAL))
        if val.undone:
            return RollBack(reason=not_run(state, version, val))
        better, worse = state.better(version, state.best, VAL)
        if worse > better:
            return RollBack(reason=f"fewer cases of val pass: {sure(worse)}")
        better, worse = state.better(version, state.best, VAL, TRAIN)
        if better > worse:
            return Accept(version=version, reason=f"more cases pass: {sure(better)}")
        if state.verdict(version).passed and not state.verdict(state.best).passed:
            passing = sure(state.chance(version, VAL).low)
            return Accept(version=version, reason=f"val passes now: {passing}")
        if better == worse == 0.0:
            return RollBack(reason="no case of val and train is judged differently")
        return RollBack(reason=f"not more cases pass: {sure(better)} that more do")
