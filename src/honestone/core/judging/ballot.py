"""What a judge is asked, and what it answered or not and why. A missing answer is an abstention,
never a number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.artifact import Artifact
from honestone.core.json_value import Json, JsonObject, built, is_number, without_empty
from honestone.core.judging.images import Image
from honestone.core.judging.rubric import Item, Key, Rubric

NOT_APPLICABLE: Final = "n/a"
# True or False to a yes/no item, a number on its own scale to an anchored one, "n/a" where an item
# allows it.
Answer: TypeAlias = bool | int | float | Literal["n/a"]

# The voter name of code. Judges are asked only what no check answers.
CHECK: Final = "check"


# What answers: `self` is the worker's own model, `agent` a host agent that hands its reply in,
# `mock` looks at nothing.
JudgeKind: TypeAlias = Literal[
    "model", "program", "person", "agent", "recorded", "self", "mock", "absent"
]


# Why a judge was not asked that the verdict did not need.
NOT_NEEDED: Final = "not asked: the verdict was sure enough without it"
# How the reason begins of a judge that gave no answer since it was not asked, or not until it gave one.
NOT_ASKED: Final = "not asked: "
OUT_OF_TIME: Final = "no answer in time: "
# How a note begins that says which limit ended the looks of judges that did answer.
NO_FURTHER_LOOK: Final = "no further look: "


class JudgeState(StrEnum):
    """Whether a judge took part. SKIPPED is not there; DEGRADED is there, but failed."""

    AVAILABLE = "AVAILABLE"
    SKIPPED = "SKIPPED"
    DEGRADED = "DEGRADED"


class Mark(Struct, frozen=True):
    """One answer. Everything but the answer is optional.

    `score`: points from 0 to 100 of a check that measures. They count in the mean; its answer, true
        or false, is whether its own bar was reached.
    """

    answer: Answer
    evidence: tuple[str, ...] = ()
    suggestion: str | None = None
    score: float | None = None


_NOTHING: Final[Mapping[Key, str]] = MappingProxyType({})


class Ballot(Struct, frozen=True, kw_only=True):
    """One judge's answers about one version. `abstained` says why an item that was asked has no
    mark.

    `tampered`: the artifact steers this judge, so nothing it said counts. `sandbox`: where checks
        ran code, of the ballot of code. `earlier`: what it answered to the same question before, as
        far as that is on record, oldest first.
    `draw_of`: the judge that this one equals, so that the two are one voter. `hint`: what to do
        where it gave no answer.
    `judged_by`: the files by which checks that run code judged, and `restored` those that were put
        back as they were at the start.
    `unusable`: replies of this judge that gave no answer, each by its key in the store and its
        place among those of the key.
    `asked`: the ids of the criteria that it was asked, where that is a part of what judges answer;
        empty for all of it.
    `unanswered`: why further looks of its judge, asked for a verdict that was not sure enough, gave
        no mark, one each; on one ballot of the judge.
    """

    judge: str
    marks: Mapping[Key, Mark]
    abstained: Mapping[Key, str] = field(default_factory=lambda: _NOTHING)
    state: JudgeState = JudgeState.AVAILABLE
    reason: str | None = None
    problems: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    kind: JudgeKind = "program"
    tampered: bool = False
    sandbox: str | None = None
    earlier: tuple[Mapping[Key, Answer], ...] = ()
    draw_of: str | None = None
    hint: str | None = None
    judged_by: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    unusable: tuple[tuple[str, int], ...] = ()
    asked: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()

    def was_asked(self, key: Key) -> bool:
        """Whether an item that judges answer was part of its question."""
        return not self.asked or key[0] in self.asked

    @property
    def is_unusable(self) -> bool:
        """Whether its judge replied, and nothing of it was an answer."""
        return bool(self.unusable) and not self.marks and not self.tampered

    @property
    def was_not_asked(self) -> bool:
        """Whether it may still answer: it was spared, or a limit kept it from that."""
        return not self.marks and (self.reason or "").startswith((NOT_ASKED, OUT_OF_TIME))

    @property
    def voter(self) -> str:
        return self.draw_of or self.judge


# How a judge answered the control item, whose right answer is known. `yes`: wrong, so the artifact
# steers it.
Control: TypeAlias = Literal["answered", "missed", "yes"]


class Reading(Struct, frozen=True, kw_only=True):
    """A reply understood: valid marks, an error per item that has none, and what was repaired to
    read it.

    `problems` are errors of the reply as a whole (unknown ids, nothing readable); with any error or
    problem the judge is asked once more. `control_errors`: what was wrong with its answers to control
    items, by their numbers, when it missed them and `problems` do not say why. `again`: how often asking
    again can help at most, where that is known (0: the problem is the reason as it is). `hint`:
    what a person can do about the problems.
    """

    marks: Mapping[Key, Mark]
    errors: Mapping[Key, str] = field(default_factory=lambda: _NOTHING)
    problems: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    control: Control = "answered"
    control_errors: Mapping[int, str] = field(default_factory=dict)
    again: int | None = None
    hint: str | None = None

    @property
    def tampered(self) -> bool:
        """The artifact steers this judge, so nothing it said counts."""
        return self.control == "yes"

    @property
    def is_usable(self) -> bool:
        """Whether it gives an answer, if only that this judge is steered. What is not usable is
        asked for again.
        """
        return bool(self.marks) or self.tampered

    @property
    def is_clean(self) -> bool:
        return not self.errors and not self.problems and self.control == "answered"


def answer_problem(item: Item, answer: object) -> str | None:
    """Why this is not a valid answer to the item, or None. Nothing is clamped and no type is
    guessed.
    """
    if answer == NOT_APPLICABLE and isinstance(answer, str):
        return None if item.may_not_apply else 'answered "n/a", which is not allowed here'
    if item.anchors is None:
        return None if isinstance(answer, bool) else f"expected true or false, got {_short(answer)}"
    if not is_number(answer):
        return f"expected a number, got {_short(answer)}"
    try:
        item.anchors.share(answer)
    except ValueError as error:
        return str(error)
    return None


def _short(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def ballot_to_plain(ballot: Ballot) -> dict[str, Json]:
    """A ballot as JSON values, in the order of the answers; `ballot_from_plain` reads it back."""
    marks: dict[str, dict[str, Json]] = {}
    for (criterion, item), mark in ballot.marks.items():
        marks.setdefault(criterion, {})[item] = _mark_to_plain(mark)
    more: dict[str, Json] = {
        "abstained": [[c, i, why] for (c, i), why in ballot.abstained.items()],
        "problems": list(ballot.problems),
        "repairs": list(ballot.repairs),
        "tampered": ballot.tampered,
        "judged_by": list(ballot.judged_by),
        "restored": list(ballot.restored),
        "earlier": [
            [[c, i, answer] for (c, i), answer in answers.items()] for answers in ballot.earlier
        ],
        "unusable": [[key, place] for key, place in ballot.unusable],
        "asked": list(ballot.asked),
        "unanswered": list(ballot.unanswered),
    }
    facts = {
        "reason": ballot.reason,
        "kind": None if ballot.judge == CHECK else ballot.kind,
        "sandbox": ballot.sandbox,
    }
    facts |= {"draw_of": ballot.draw_of, "hint": ballot.hint}
    stated = {name: value for name, value in facts.items() if value is not None}
    return {
        "judge": ballot.judge,
        "state": str(ballot.state),
        "marks": marks,
        **without_empty(more),
        **stated,
    }


def _mark_to_plain(mark: Mark) -> Json:
    if mark.score is not None:
        return [mark.answer, list(mark.evidence), mark.suggestion, mark.score]
    bare = not mark.evidence and mark.suggestion is None
    return mark.answer if bare else [mark.answer, list(mark.evidence), mark.suggestion]


def ballot_from_plain(plain: JsonObject) -> Ballot:
    return built(_ballot, plain)


def _ballot(
    judge: str,
    state: str,
    marks: Mapping[str, Mapping[str, _PlainMark]],
    abstained: Sequence[tuple[str, str, str]] = (),
    problems: Sequence[str] = (),
    repairs: Sequence[str] = (),
    earlier: Sequence[Sequence[tuple[str, str, Answer]]] = (),
    judged_by: Sequence[str] = (),
    restored: Sequence[str] = (),
    unusable: Sequence[tuple[str, int]] = (),
    asked: Sequence[str] = (),
    unanswered: Sequence[str] = (),
    **facts: bool | str,
) -> Ballot:
    return built(
        partial(
            Ballot,
            judge=judge,
            state=JudgeState(state),
            marks={
                (criterion, item): _mark(given)
                for criterion, items in marks.items()
                for item, given in items.items()
            },
            abstained={(c, i): why for c, i, why in abstained},
            problems=tuple(problems),
            repairs=tuple(repairs),
            judged_by=tuple(judged_by),
            restored=tuple(restored),
            earlier=tuple({(c, i): answer for c, i, answer in answers} for answers in earlier),
            unusable=tuple((key, place) for key, place in unusable),
            asked=tuple(asked),
            unanswered=tuple(unanswered),
        ),
        _facts(judge, facts),
    )


_PlainMark: TypeAlias = (
    Answer | tuple[Answer, list[str], str | None] | tuple[Answer, list[str], str | None, float]
)


def _mark(plain: _PlainMark) -> Mark:
    if isinstance(plain, bool | int | float | str):
        return Mark(plain)
    answer, evidence, suggestion, *score = plain
    return Mark(answer, tuple(evidence), suggestion, *score)


_NAMES_OF_OLD: Final[Mapping[str, JudgeKind]] = {
    "mock": "mock",
    "self": "self",
    "agent": "agent",
    "human": "person",
    "record": "recorded",
    "script": "program",
}
_OLD_SANDBOX: Final = "sandbox: "


def _facts(judge: str, plain: JsonObject) -> JsonObject:
    """What 0.1.0 recorded in the judge's name and in the reason, which are fields since."""
    reason = str(plain.get("reason") or "")
    if judge == CHECK:
        is_old = "sandbox" not in plain and reason.startswith(_OLD_SANDBOX)
        return {"sandbox": reason.removeprefix(_OLD_SANDBOX)} if is_old else plain
    if "kind" in plain:
        return plain
    kind = _NAMES_OF_OLD.get(judge.partition("#")[0].partition(":")[0], "model")
    return {"reason": reason or None, "kind": kind, "tampered": reason.startswith("tampered: ")}


def checked_ballot(recorded: object) -> Ballot:
    """What text checks said, as `engine.evaluate` records it: {criterion: {item: [met, note]}}."""
    assert isinstance(recorded, Mapping)
    rows = (
        ((criterion, item), one)
        for criterion, items in recorded.items()
        for item, one in items.items()
    )
    marks, abstained = marks_of_checks(rows)
    return Ballot(judge=CHECK, marks=marks, abstained=abstained)


def marks_of_checks(
    answers: Iterable[tuple[Key, Sequence[bool | str | None]]],
) -> tuple[dict[Key, Mark], dict[Key, str]]:
    """What checks said of items, met or not with a note: their marks, and why the others have none."""
    marks: dict[Key, Mark] = {}
    abstained: dict[Key, str] = {}
    for key, (met, note) in answers:
        if isinstance(met, bool):
            marks[key] = Mark(met, (str(note),) if note else ())
        else:
            abstained[key] = str(note or "the check could not run")
    return marks, abstained


class AskedCriterion(Struct, frozen=True, kw_only=True):
    """A criterion with the items that judges have to answer (those with a check are left out)."""

    id: str
    requirement: str
    items: tuple[Item, ...]


class Question(Struct, frozen=True, kw_only=True):
    """One output to be judged against the items of one rubric.

    `input` and `reference` are the case's, None when a plain artifact is judged. `output` is what a
    target produced, None when the artifact itself is judged. `workspace` is {"path", "diff"} or
    None. `draw` numbers repeated looks of one judge from 0. `case` and `attempt` say where it comes
    from: recorded answers are found by them, and no judge sees them. `images` are those of the
    input, whose text has their numbers. `also_asked`: the (criterion, item) ids that the same judge
    is asked in other calls, which a program that always answers everything may name. `whole`: all
    that judges are asked, where `criteria` is a part of it by choice; empty elsewhere.
    """

    artifact: Artifact
    criteria: tuple[AskedCriterion, ...]
    input: str | None = None
    reference: str | None = None
    output: str | None = None
    workspace: JsonObject | None = None
    draw: int = 0
    case: str | None = None
    attempt: int = 1
    images: tuple[Image, ...] = ()
    also_asked: frozenset[Key] = frozenset()
    whole: tuple[AskedCriterion, ...] = ()

    @property
    def part(self) -> tuple[str, ...]:
        """The ids of the criteria asked where they are a part of all; empty for all of them."""
        return tuple(one.id for one in self.criteria) if self.whole else ()

    def part_of(self, ids: Collection[str]) -> Question:
        """The same question about some criteria; about all of them where none is named."""
        if not ids:
            return self
        criteria = tuple(one for one in self.criteria if one.id in ids)
        return replace(self, criteria=criteria, whole=self.criteria)

    @property
    def places(self) -> tuple[int, ...]:
        """The places among all criteria of those asked, from 0; empty where all of them are."""
        asked = set(self.part)
        return tuple(place for place, one in enumerate(self.whole) if one.id in asked)

    def part_at(self, places: Sequence[int]) -> Question | None:
        """The same question about the criteria at some places, about all where none is named; None
        where it has none there.
        """
        if not places:
            return self
        if not all(type(one) is int and 0 <= one < len(self.criteria) for one in places):
            return None
        return self.part_of([self.criteria[one].id for one in places])

    def items(self) -> Iterator[tuple[Key, Item]]:
        """Every item asked, in the order of the rubric."""
        for criterion in self.criteria:
            for item in criterion.items:
                yield (criterion.id, item.id), item


def asked_criteria(rubric: Rubric) -> tuple[AskedCriterion, ...]:
    """The part of a rubric that judges answer."""
    asked = []
    for criterion, _ in rubric.walk():
        items = tuple(item for item in criterion.items if item.check is None)
        if items:
            asked.append(
                AskedCriterion(id=criterion.id, requirement=criterion.requirement, items=items)
            )
    return tuple(asked)
