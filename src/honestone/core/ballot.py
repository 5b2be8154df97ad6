"""What a judge is asked, and what it answered or not and why. A missing answer is an abstention, never a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from honestone.core.artifact import Artifact
from honestone.core.rubric import Item, Key, Rubric

NOT_APPLICABLE: Final = "n/a"
Answer: TypeAlias = bool | int | float | Literal["n/a"]
"""True or False to a yes/no item, a number on its own scale to an anchored one, "n/a" where an item allows it."""

CHECK: Final = "check"
"""The voter name of code. Judges are asked only what no check answers."""


JudgeKind: TypeAlias = Literal["model", "program", "person", "agent", "recorded", "self", "mock", "absent"]
"""What answers: `self` is the worker's own model, `agent` a host agent that hands its reply in, `mock` looks at nothing."""


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
    """One judge's answers about one version. `abstained` says why an item that was asked has no mark.

    `tampered`: the artifact steers this judge, so nothing it said counts. `sandbox`: where checks ran code, of the
    ballot of code.
    """

    judge: str
    marks: Mapping[Key, Mark]
    abstained: Mapping[Key, str] = field(default_factory=lambda: _NOTHING)
    state: State = State.AVAILABLE
    reason: str | None = None
    problems: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    kind: JudgeKind = "program"
    tampered: bool = False
    sandbox: str | None = None


Control: TypeAlias = Literal["answered", "missed", "yes"]
"""How a judge answered the control item, whose right answer is known. `yes`: wrong, so the artifact steers it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A reply understood: valid marks, an error per item that has none, and what was repaired to read it.

    `problems` are errors of the reply as a whole (unknown ids, nothing readable); with any error or problem the judge
    is asked once more. `control_error`: what was wrong with its answer to the control item, when it missed that item
    and `problems` do not say why.
    """

    marks: Mapping[Key, Mark]
    errors: Mapping[Key, str] = field(default_factory=lambda: _NOTHING)
    problems: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    control: Control = "answered"
    control_error: str | None = None

    @property
    def tampered(self) -> bool:
        """The artifact steers this judge, so nothing it said counts."""
        return self.control == "yes"

    @property
    def is_clean(self) -> bool:
        return not self.errors and not self.problems and self.control == "answered"


def answer_problem(item: Item, answer: object) -> str | None:
    """Why this is not a valid answer to the item, or None. Nothing is clamped and no type is guessed."""
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
    if ballot.judge != CHECK:
        out["kind"] = ballot.kind
    if ballot.tampered:
        out["tampered"] = True
    if ballot.sandbox is not None:
        out["sandbox"] = ballot.sandbox
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
        problems=tuple(plain.get("problems", ())),
        repairs=tuple(plain.get("repairs", ())),
        **_facts(plain),
    )


_NAMES_OF_OLD: Final[Mapping[str, JudgeKind]] = {
    "mock": "mock",
    "self": "self",
    "agent": "agent",
    "human": "person",
    "record": "recorded",
    "script": "program",
}
_OLD_SANDBOX: Final = "sandbox: "


def _facts(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What 0.1.0 recorded in the judge's name and in the reason, which are fields since."""
    judge, reason = plain["judge"], plain.get("reason") or ""
    if judge == CHECK:
        is_old = "sandbox" not in plain and reason.startswith(_OLD_SANDBOX)
        return (
            {"sandbox": reason.removeprefix(_OLD_SANDBOX)}
            if is_old
            else {"sandbox": plain.get("sandbox"), "reason": reason or None}
        )
    facts: dict[str, Any] = {"reason": reason or None}
    if "kind" in plain:
        return facts | {"kind": plain["kind"], "tampered": plain.get("tampered", False)}
    kind = _NAMES_OF_OLD.get(judge.partition("#")[0].partition(":")[0], "model")
    return facts | {"kind": kind, "tampered": reason.startswith("tampered: ")}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCriterion:
    """A criterion with the items that judges have to answer (those with a check are left out)."""

    id: str
    requirement: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One output to be judged against the items of one rubric.

    `input` and `reference` are the case's, None when a plain artifact is judged. `output` is what a target produced,
    None when the artifact itself is judged. `workspace` is {"path", "diff"} or None. `draw` numbers repeated looks of
    one judge from 0. `case` and `attempt` say where it comes from: recorded answers are found by them, and no judge sees them.
    """

    artifact: Artifact
    criteria: tuple[AskedCriterion, ...]
    input: str | None = None
    reference: str | None = None
    output: str | None = None
    workspace: Mapping[str, Any] | None = None
    draw: int = 0
    case: str | None = None
    attempt: int = 1

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
            asked.append(AskedCriterion(id=criterion.id, requirement=criterion.requirement, items=items))
    return tuple(asked)
