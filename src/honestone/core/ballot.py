"""Ballots: what one judge answered, and what it did not and why. A missing answer is an abstention, never a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from honestone.core.rubric import Item, Key

NOT_APPLICABLE: Final = "n/a"
Answer: TypeAlias = bool | int | float | Literal["n/a"]
"""True or False to a yes/no item, a number on its own scale to an anchored one, "n/a" where an item allows it."""

CHECK: Final = "check"
"""The voter name of code. Judges are asked only what no check answers."""


class State(StrEnum):
    """Whether a judge took part. SKIPPED is not there; DEGRADED is there, but failed."""

    AVAILABLE = "AVAILABLE"
    SKIPPED = "SKIPPED"
    DEGRADED = "DEGRADED"


@dataclass(frozen=True, slots=True)
class Mark:
    """One answer. Everything but the answer is optional."""

    answer: Answer
    evidence: tuple[str, ...] = ()
    suggestion: str | None = None


_NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """One judge's answers about one version. `abstained` says why an item that was asked has no mark."""

    judge: str
    marks: Mapping[Key, Mark]
    abstained: Mapping[Key, str] = field(default_factory=lambda: _NOTHING)
    state: State = State.AVAILABLE
    reason: str | None = None
    problems: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A reply understood: valid marks, an error per item that has none, and what was repaired to read it.

    `problems` are errors of the reply as a whole (unknown ids, nothing readable); with any error or problem the judge
    is asked once more. `tampered`: the artifact steers this judge, so nothing it said counts.
    """

    marks: Mapping[Key, Mark]
    errors: Mapping[Key, str] = field(default_factory=lambda: _NOTHING)
    problems: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    tampered: bool = False

    @property
    def is_clean(self) -> bool:
        return not self.errors and not self.problems and not self.tampered


def answer_problem(item: Item, answer: object) -> str | None:
    """Why this is no valid answer to the item, or None. Nothing is clamped and no type is guessed."""
    if answer == NOT_APPLICABLE and isinstance(answer, str):
        return None if item.may_not_apply else 'answered "n/a", which is not allowed here'
    if item.anchors is None:
        return None if isinstance(answer, bool) else f"expected true or false, got {_short(answer)}"
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return f"expected a number, got {_short(answer)}"
    try:
        item.anchors.share(answer)
    except ValueError as error:
        return str(error)
    return None


def _short(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def ballot_to_plain(ballot: Ballot) -> dict[str, Any]:
    """As JSON values, in the order of the answers; `ballot_from_plain` reads it back."""
    out: dict[str, Any] = {"judge": ballot.judge, "state": str(ballot.state)}
    marks: dict[str, dict[str, Any]] = {}
    for (criterion, item), mark in ballot.marks.items():
        bare = not mark.evidence and mark.suggestion is None
        marks.setdefault(criterion, {})[item] = (
            mark.answer if bare else [mark.answer, list(mark.evidence), mark.suggestion]
        )
    out["marks"] = marks
    if ballot.abstained:
        out["abstained"] = [[c, i, why] for (c, i), why in ballot.abstained.items()]
    if ballot.reason is not None:
        out["reason"] = ballot.reason
    if ballot.problems:
        out["problems"] = list(ballot.problems)
    if ballot.repairs:
        out["repairs"] = list(ballot.repairs)
    return out


def ballot_from_plain(plain: Mapping[str, Any]) -> Ballot:
    marks: dict[Key, Mark] = {}
    for criterion, items in plain["marks"].items():
        for item, value in items.items():
            if isinstance(value, list):
                answer, evidence, suggestion = value
                marks[criterion, item] = Mark(answer, tuple(evidence), suggestion)
            else:
                marks[criterion, item] = Mark(value)
    return Ballot(
        judge=plain["judge"],
        state=State(plain["state"]),
        marks=marks,
        abstained={(c, i): why for c, i, why in plain.get("abstained", ())},
        reason=plain.get("reason"),
        problems=tuple(plain.get("problems", ())),
        repairs=tuple(plain.get("repairs", ())),
    )


def checked_ballot(said: object) -> Ballot:
    """What text checks said, as `engine.bulk` records it: {criterion: {item: [met, note]}}."""
    marks: dict[Key, Mark] = {}
    abstained: dict[Key, str] = {}
    assert isinstance(said, Mapping)
    for criterion, items in said.items():
        for item, (met, note) in items.items():
            if met is None:
                abstained[criterion, item] = note or "the check could not run"
            else:
                marks[criterion, item] = Mark(met, (note,) if note else ())
    return Ballot(judge=CHECK, marks=marks, abstained=abstained)
