"""What would help a loop that did not reach its goal: read from its record alone, so that every
report says the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Final

from msgspec import Struct

from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.judging.ballot import CHECK, Answer, Ballot, JudgeState
from honestone.core.judging.rubric import Item, Key
from honestone.core.judging.scorecard import DISAGREEMENT, ItemLine, Scorecard
from honestone.core.judging.scorer import is_na, share
from honestone.core.loop.state import CAME_FIRST, LoopState, Result, Round, Stop
from honestone.core.numbers import ZERO, show_points
from honestone.system.drawing import count

# Advice beyond this is left out: the first lines are what to do first.
MOST: Final = 6

_MOST_ITEMS: Final = 3
# Versions that a judge and others scored, before it is called kinder than they are.
_KIND_FROM: Final = 3


class Help(StrEnum):
    """What would help: another limit, wording, judge, worker, or a person's own look."""

    BUDGET = "budget"
    ROUNDS = "rounds"
    ITEM = "item"
    JUDGE = "judge"
    WORKER = "worker"
    PERSON = "person"


class Advice(Struct, frozen=True, kw_only=True):
    """`about`: the option, judge, criterion, `CRITERION/ITEM` or file that it is about."""

    kind: Help
    text: str
    about: str | None = None


def advise(state: LoopState, *, asks_judges: bool = True) -> list[Advice]:
    """What would help, the most decisive first. Empty for a run that passed or has not ended.
    `asks_judges` False: versions are scored by tasks that are run, so there is nothing to say of
    judges and their items.
    """
    stop = state.finished
    if stop is None or stop.result is Result.PASSED:
        return []
    if stop.result is Result.CONTRACT_CHANGED:
        return [_look_at(name) for name in stop.changed[:_MOST_ITEMS]]
    advice = [*_about_limits(state, stop)]
    if not asks_judges:
        advice += _about_held_out_tasks(state, stop)
    if asks_judges and state.needs_witness:
        advice += [*_about_witnesses(state, stop), *_about_failures(state), *_about_items(state)]
        advice += [
            *_about_answers(state),
            *_about_kindness(state),
            *_about_a_dead_metric(state, stop),
        ]
    return [*advice, *_about_the_worker(state, stop)][:MOST]


def _look_at(name: str) -> Advice:
    text = f"Look at what changed in {name}: put it back to run the same command again, or start over with --fresh."
    return Advice(kind=Help.PERSON, text=text, about=name)


# ----------------------------------------------------------------------------------------------------------
# limits


def _about_limits(state: LoopState, stop: Stop) -> Iterator[Advice]:
    last = _last_rise(state)
    rose = f"the score still rose in round {last.number}" if last is not None else ""
    limit = _limit(state, stop)
    if limit is not None:
        option = next((word for word in limit.split() if word.startswith("--max-")), None)
        text = f"A bigger budget: {limit}" + (f", and {rose}." if rose else ".")
        yield Advice(kind=Help.BUDGET, text=text, about=option)
    elif stop.result is Result.ROUND_LIMIT and rose:
        yield Advice(kind=Help.ROUNDS, text=f"More rounds (--rounds): {rose}.", about="--rounds")


def _limit(state: LoopState, stop: Stop) -> str | None:
    """The limit that was reached, in words: as it is on record, or as the reason has it next to how
    sure it is. None where none was.
    """
    if state.limit is not None:
        return state.limit
    parts = [part.removeprefix(CAME_FIRST) for part in stop.reason.split("; ")]
    named = (part for part in parts if part.startswith(("--max-", "of --max-")))
    return next(named, parts[0] if stop.result is Result.BUDGET else None)


def _last_rise(state: LoopState) -> Round | None:
    """The last of the two newest rounds whose gain is more than noise."""
    return next(
        (
            one
            for one in reversed(state.rounds[-2:])
            if one.is_progress and _gain_counts(state, one)
        ),
        None,
    )


def _gain_counts(state: LoopState, entry: Round) -> bool:
    if entry.version is None:
        return False
    gain = state.card(entry.version).low - state.card(entry.base).low
    return gain > ZERO and (gain >= state.tolerance or not state.needs_witness)


# ----------------------------------------------------------------------------------------------------------
# the worker


def _about_the_worker(state: LoopState, stop: Stop) -> Iterator[Advice]:
    rounds = len(state.rounds)
    if stop.result is Result.NO_CHANGE:
        yield Advice(
            kind=Help.WORKER,
            text=f"Another worker (--worker): this one changed nothing in {count(rounds, 'round')}.",
        )
        return
    if stop.result is Result.WORKER_FAILED:
        none = f"none of its {rounds} proposals" if rounds > 1 else "its proposal"
        failed = f"{none} could {'be' if rounds > 1 else 'not be'} used"
        text = f"Repair the worker, or name another: {failed}."
        yield Advice(kind=Help.WORKER, text=text)
        return
    for name in dict.fromkeys(name for entry in state.rounds for name in entry.focus):
        tried = [entry for entry in state.rounds if name in entry.focus]
        if len(tried) > 1 and not any(
            entry.accepted or _lacks_votes(state, entry) for entry in tried
        ):
            text = f"Another worker, or your own edit: '{name}' was tried {len(tried)} times and nothing was kept."
            yield Advice(kind=Help.WORKER, text=text, about=name)


def _lacks_votes(state: LoopState, entry: Round) -> bool:
    """Whether judges, rather than the worker, may be why it was not kept: one that was asked gave
    no answer.
    """
    if entry.outcome is not ProposalOutcome.CHANGED or entry.version is None:
        return False
    ballots = _ballots_on(state, entry.version)
    return not state.is_marked(entry.version) or any(
        one.state is not JudgeState.AVAILABLE for one in ballots
    )


# ----------------------------------------------------------------------------------------------------------
# judges


def _about_witnesses(state: LoopState, stop: Stop) -> Iterator[Advice]:
    if stop.result is not Result.UNCONFIRMED:
        return
    if not state.holdouts:
        yield Advice(
            kind=Help.JUDGE,
            text="A held-out judge (--holdout): all judges of this run steered the loop, so none can confirm it.",
        )
        return
    panel = _items(state.card(state.best))
    for ballot in state.ballots.get((state.best, "holdout"), {}).values():
        own = _items(state.scorer.alone([ballot]))
        contested = [key for key, one in own.items() if one.unmet and panel[key].unmet is False]
        for key in contested[:_MOST_ITEMS]:
            dissent = f"the panel finds it met, {ballot.voter} does not"
            text = f"A person's look (--judge human) at '{own[key].item.requirement}': {dissent}."
            yield Advice(kind=Help.PERSON, text=text, about=_item_name(key))


def _item_name(key: Key) -> str:
    """`CRITERION/ITEM`, or the criterion alone where it is one question."""
    return key[0] if key[0] == key[1] else "/".join(key)


def _about_held_out_tasks(state: LoopState, stop: Stop) -> Iterator[Advice]:
    """Over tasks, the split that certifies is the held-out judge."""
    if stop.result is Result.UNCONFIRMED:
        for split in state.certifications(state.best):
            text = f"A person's look at the tasks of {split}: those that steer the loop pass, and these do not confirm it."
            yield Advice(kind=Help.PERSON, text=text, about=split)


def _items(card: Scorecard) -> dict[Key, ItemLine]:
    return {
        (line.criterion.id, one.item.id): one
        for line in card.lines
        for one in line.items
        if line.applies
    }


def _about_failures(state: LoopState) -> Iterator[Advice]:
    """Judges that failed or left questions open, most often first."""
    found = []
    for judge, looks in _looks_by_judge(state).items():
        failed = [one for one in looks if one.state is not JudgeState.AVAILABLE or not one.marks]
        if failed:
            why = next((one.reason for one in reversed(failed) if one.reason), "")
            trouble = _no_answer(judge, len(failed), len(looks)) + (f" ({why})" if why else "")
            found.append((len(failed) / len(looks), judge, trouble))
            continue
        asked = sum(len(one.marks) + len(one.abstained) for one in looks)
        left = sum(len(one.abstained) for one in looks)
        if left * 5 >= asked:
            found.append((left / asked, judge, f"{judge} left {left} of {asked} questions open"))
    for _, judge, trouble in sorted(found, key=lambda one: -one[0]):
        yield Advice(kind=Help.JUDGE, text=f"A judge that answers: {trouble}.", about=judge)


def _no_answer(judge: str, failed: int, asked: int) -> str:
    if failed < asked:
        return f"{judge} gave no answer in {failed} of the {asked} times that it was asked"
    times = "once" if asked == 1 else f"{asked} times"
    return f"{judge}, asked {times}, gave no answer"


def _looks_by_judge(state: LoopState) -> Mapping[str, list[Ballot]]:
    """Every ballot of every judge that is not code, by its name, in the order of the versions."""
    looks: dict[str, list[Ballot]] = {}
    for version in _versions(state):
        for ballot in _ballots_on(state, version):
            if ballot.state is not JudgeState.SKIPPED:
                looks.setdefault(ballot.voter, []).append(ballot)
    return looks


def _about_kindness(state: LoopState) -> Iterator[Advice]:
    """A judge whose scores are 20 points or more above those of the others about the same versions."""
    apart: dict[str, list[Fraction]] = {}
    for version in _versions(state):
        scores = _scores_of(state, version)
        for judge, score in scores.items():
            others = [other for name, other in scores.items() if name != judge]
            if others:
                apart.setdefault(judge, []).append(score - sum(others, ZERO) / len(others))
    for judge, gaps in apart.items():
        mean = sum(gaps, ZERO) / len(gaps)
        if len(gaps) >= _KIND_FROM and mean > DISAGREEMENT:
            finding = f"{judge} scores {show_points(mean)} points above the others on average"
            yield Advice(
                kind=Help.JUDGE,
                text=f"A stricter judge, or labels to check this one by: {finding}.",
                about=judge,
            )


def _scores_of(state: LoopState, version: str) -> dict[str, Fraction]:
    """What each judge alone makes of a version, by its first complete look."""
    checks = [
        ballots[CHECK]
        for (of, _), ballots in state.ballots.items()
        if of == version and CHECK in ballots
    ]
    scores: dict[str, Fraction] = {}
    for ballot in _ballots_on(state, version):
        score = state.scorer.alone([ballot, *checks[:1]]).score if ballot.marks else None
        if score is not None:
            scores.setdefault(ballot.voter, score)
    return scores


# ----------------------------------------------------------------------------------------------------------
# items


class _Votes(Struct):
    """How the votes on one item fell: versions with several voters, those where they are apart and
    how, who flipped.
    `is_open`: they are apart about the best version.
    """

    asked: int = 0
    apart: int = 0
    last: str = ""
    flipped: str = ""
    is_open: bool = False

    @property
    def are_unclear(self) -> bool:
        return bool(self.flipped) or self.is_open or self.apart * 2 >= max(self.asked, 1)


def _about_items(state: LoopState) -> Iterator[Advice]:
    """Items that the goal needs and that judges do not agree on, with others or with themselves."""
    found = []
    best = _items(state.card(state.best))
    for key, item in state.rubric.questions():
        votes = _votes_on(state, key, item)
        is_settled = key in best and best[key].unmet is False and not votes.is_open
        if item.check is None and not is_settled and votes.are_unclear:
            found.append((votes.apart / max(votes.asked, 1), key, item, votes))
    for _, key, item, votes in sorted(found, key=lambda one: -one[0])[:_MOST_ITEMS]:
        reason = (
            f"the judges disagreed{_in_versions(votes.apart, votes.asked)} ({votes.last})"
            if votes.apart
            else ""
        )
        reason += ("; " if reason and votes.flipped else "") + votes.flipped
        yield Advice(
            kind=Help.ITEM,
            text=f"A clearer item '{item.requirement}': {reason}.",
            about=_item_name(key),
        )


def _in_versions(count: int, versions: int) -> str:
    """Of one version that is nothing to count."""
    return f" in {count} of {versions} versions" if versions > 1 else ""


def _votes_on(state: LoopState, key: Key, item: Item) -> _Votes:
    votes = _Votes()
    for version in _versions(state):
        by_judge = _answers_by_judge(state, version, key)
        for judge, answers in by_judge.items():
            if _differ(item, answers):
                votes.flipped = f"{judge} answered {_word(answers[0])} and {_word(answers[-1])} about the same bytes"
        if len(by_judge) > 1:
            votes.asked += 1
            if _differ(item, [answers[-1] for answers in by_judge.values()]):
                votes.apart += 1
                votes.is_open = votes.is_open or version == state.best
                votes.last = ", ".join(
                    f"{judge} {_word(answers[-1])}" for judge, answers in by_judge.items()
                )
    return votes


def _answers_by_judge(state: LoopState, version: str, key: Key) -> dict[str, list[Answer]]:
    """What each judge answered to one question about a version, the oldest answer first."""
    answers: dict[str, list[Answer]] = {}
    for ballot in _ballots_on(state, version):
        if key in ballot.marks and not is_na(ballot.marks[key].answer):
            before = [one[key] for one in ballot.earlier if key in one and not is_na(one[key])]
            answers.setdefault(ballot.voter, []).extend([*before, ballot.marks[key].answer])
    return answers


def _versions(state: LoopState) -> list[str]:
    return list(dict.fromkeys(version for version, _ in state.ballots))


def _ballots_on(state: LoopState, version: str) -> list[Ballot]:
    """Those of judges, whatever their role was."""
    both = [ballots.values() for (of, _), ballots in state.ballots.items() if of == version]
    return [ballot for ballots in both for ballot in ballots if ballot.judge != CHECK]


def _differ(item: Item, answers: list[Answer]) -> bool:
    shares = [share(item, answer) for answer in answers]
    return max(shares) - min(shares) > DISAGREEMENT


def _word(answer: Answer) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return f"{answer}"


def _about_answers(state: LoopState) -> Iterator[Advice]:
    """Items of the best version that no judge could answer, unless all of them are."""
    lines = [
        (line.criterion.id, one)
        for line in state.card(state.best).lines
        for one in line.items
        if one.applies
    ]
    open_lines = [(name, one) for name, one in lines if one.met is None and not one.may_leave]
    if len(open_lines) == len(lines):
        end = state.finished
        if end is None or _limit(state, end) is not None:
            return
        if end.result is Result.COULD_NOT_JUDGE:
            text = "A judge that can answer (honestone doctor lists those), or a person (--judge human)."
            yield Advice(kind=Help.PERSON, text=text)
        return
    ballots = state.ballots.get((state.best, "panel"), {}).values()
    for name, one in open_lines[:_MOST_ITEMS]:
        key = (name, one.item.id)
        why = next((ballot.abstained[key] for ballot in ballots if ballot.abstained.get(key)), "")
        needed = f"A person's answer (--judge human) to '{one.item.requirement}': no judge gave one"
        yield Advice(
            kind=Help.PERSON, text=needed + (f" ({why})." if why else "."), about=_item_name(key)
        )


def _about_a_dead_metric(state: LoopState, stop: Stop) -> Iterator[Advice]:
    judged = [
        one.version for one in state.rounds[-3:] if one.version and state.is_marked(one.version)
    ]
    if stop.result is Result.METRIC_DEAD and judged:
        text = "Finer items, or a scale with anchors: different versions scored exactly alike in every criterion."
        yield Advice(kind=Help.ITEM, text=text)
