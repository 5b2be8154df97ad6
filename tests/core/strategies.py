"""Rubrics, ballots and small builders for the tests of the core, and a second, plainer way to add
up a score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.judging.ballot import CHECK, NOT_APPLICABLE, Answer, Ballot, Mark
from honestone.core.judging.rubric import Anchors, Check, Criterion, Item, Key, Rubric

# -------------------------------------------------------------------------------------------------------
# builders


def scale(*levels: float | str) -> Anchors:
    return Anchors(levels=tuple((Fraction(str(level)), f"level {level}") for level in levels))


def percent(name: str, **more: Any) -> Criterion:
    """A criterion that judges mark from 0 to 100."""
    item = Item(id=name, requirement=f"{name} is good", anchors=scale(0, 100), whole=True)
    return Criterion(id=name, requirement=f"{name} is good", items=(item,), **weighed(more))


def yes_no(name: str, *, may_not_apply: bool = False, **more: Any) -> Criterion:
    item = Item(id=name, requirement=f"{name} holds", whole=True, may_not_apply=may_not_apply)
    return Criterion(id=name, requirement=f"{name} holds", items=(item,), **weighed(more))


def checked(name: str, fix: str | None = None, **more: Any) -> Criterion:
    item = Item(
        id=name,
        requirement=f"code sees {name}",
        check=Check(kind="contains", value=name),
        whole=True,
        fix=fix,
    )
    return Criterion(id=name, requirement=f"code sees {name}", items=(item,), **weighed(more))


def checklist(name: str, items: Iterable[str | Item], **more: Any) -> Criterion:
    made = tuple(
        item if isinstance(item, Item) else Item(id=item, requirement=f"has {item}")
        for item in items
    )
    return Criterion(id=name, requirement=f"{name} is complete", items=made, **weighed(more))


def group(name: str, *children: Criterion, **more: Any) -> Criterion:
    return Criterion(id=name, requirement=f"{name} is good", children=children, **weighed(more))


def rubric(
    *criteria: Criterion, threshold: float | str = 70, floor: float | str = 0, title: str = ""
) -> Rubric:
    return Rubric(criteria=criteria, threshold=points(threshold), floor=points(floor), title=title)


def points(number: float | str) -> Fraction:
    return Fraction(str(number)) / 100


def weighed(more: dict[str, Any]) -> dict[str, Any]:
    """Weights and floors as people write them: numbers, floors from 0 to 100."""
    out = dict(more)
    if "weight" in out:
        out["weight"] = Fraction(str(out["weight"]))
    if out.get("floor") is not None:
        out["floor"] = points(out["floor"])
    return out


def ballot(judge: str, answers: Mapping[str, Any]) -> Ballot:
    """`{"a": 70, "b": {"first": True}}`: a whole criterion's answer, or its items' answers. None is
    no mark.
    """
    marks: dict[Key, Mark] = {}
    for criterion, given in answers.items():
        items = given if isinstance(given, dict) else {criterion: given}
        for item, answer in items.items():
            if answer is not None:
                marks[criterion, item] = Mark(answer)
    return Ballot(judge=judge, marks=marks)


# ------------------------------------------------------------------------------------------------------
# strategies

_SCALES = (scale(0, 5, 10), scale(1, 2, 3, 4, 5), scale(0, 25, 50, 75, 100), scale(-2, "0.5", 3))
_weights = st.sampled_from(
    [Fraction(n) for n in (1, 2, 3, 25, 50)] + [Fraction("0.9"), Fraction("7.25")]
)
_bars = st.integers(1, 20).map(lambda n: Fraction(n * 5, 100))
JUDGES = ("ann", "bob", "cy")


@st.composite
def items(draw: st.DrawFn, name: str, *, whole: bool, anchors: bool, checks: bool) -> Item:
    kind = draw(st.sampled_from(["yes-no"] + ["anchors"] * anchors + ["check"] * checks))
    return Item(
        id=name,
        requirement=f"requirement of {name}",
        anchors=draw(st.sampled_from(_SCALES)) if kind == "anchors" else None,
        check=Check(kind="contains", value=name) if kind == "check" else None,
        may_not_apply=kind != "check" and draw(st.booleans()),
        whole=whole,
    )


@st.composite
def criteria(draw: st.DrawFn, name: str, *, depth: int, penalty: bool) -> Criterion:
    requirement = f"requirement of {name}"
    if penalty:
        item = draw(items(name, whole=True, anchors=False, checks=True))
        return Criterion(id=name, requirement=requirement, weight=-draw(_weights), items=(item,))
    shape = draw(st.sampled_from(["one", "list"] + ["group"] * (depth > 0)))
    bars: dict[str, Any] = {
        "weight": draw(_weights),
        "floor": draw(st.none() | _bars),
        "required": draw(st.booleans()),
    }
    if shape == "group":
        return Criterion(
            id=name,
            requirement=requirement,
            children=draw(groups(f"{name}.", depth=depth - 1)),
            **bars,
        )
    names = [name] if shape == "one" else [f"i{n}" for n in range(draw(st.integers(1, 3)))]
    parts = tuple(
        draw(items(part, whole=shape == "one", anchors=True, checks=True)) for part in names
    )
    return Criterion(id=name, requirement=requirement, items=parts, **bars)


@st.composite
def groups(draw: st.DrawFn, prefix: str, *, depth: int) -> tuple[Criterion, ...]:
    signs = [False, *draw(st.lists(st.booleans(), max_size=2))]
    return tuple(
        draw(criteria(f"{prefix}{n}", depth=depth, penalty=penalty))
        for n, penalty in enumerate(signs)
    )


@st.composite
def rubrics(draw: st.DrawFn, *, depth: int = 2) -> Rubric:
    """Every way of marking, mixed freely, in trees with penalties, floors and required criteria."""
    return Rubric(
        criteria=draw(groups("c", depth=depth)),
        threshold=draw(_bars),
        floor=draw(st.just(Fraction(0)) | _bars),
        title=draw(st.sampled_from(["", "A title"])),
    )


def answers(item: Item) -> st.SearchStrategy[Answer]:
    """A valid answer to an item."""
    if item.anchors is None:
        valid: st.SearchStrategy[Any] = st.booleans()
    else:
        low, high = item.anchors.lowest, item.anchors.highest
        tenths = st.integers(int(low * 10), int(high * 10)).map(lambda n: n / 10)
        valid = (
            st.sampled_from([int(v) for v, _ in item.anchors.levels if v.denominator == 1]) | tenths
        )
    return valid | st.just(NOT_APPLICABLE) if item.may_not_apply else valid


@st.composite
def ballots(
    draw: st.DrawFn, of: Rubric, *, complete: bool = False, judges: int = 3
) -> tuple[Ballot, ...]:
    """What code and up to three judges say; marks are missing here and there unless `complete`."""
    questions = list(of.questions())
    found = []
    for judge in (CHECK, *JUDGES[: draw(st.integers(1 if complete else 0, judges))]):
        asked = [
            (key, item) for key, item in questions if (item.check is not None) == (judge == CHECK)
        ]
        marks = {
            key: Mark(draw(answers(item))) for key, item in asked if complete or draw(st.booleans())
        }
        if asked:
            found.append(Ballot(judge=judge, marks=marks))
    return tuple(found)


@st.composite
def judged(draw: st.DrawFn, *, complete: bool = False) -> tuple[Rubric, tuple[Ballot, ...]]:
    of = draw(rubrics())
    return of, draw(ballots(of, complete=complete))


@st.composite
def completions(draw: st.DrawFn, of: Rubric, given: tuple[Ballot, ...]) -> tuple[Ballot, ...]:
    """The same ballots with every answer that they lack; from code and one judge where there is
    none of them.
    """
    out = list(given)
    if not any(b.judge == CHECK for b in out):
        out.append(Ballot(judge=CHECK, marks={}))
    if all(b.judge == CHECK for b in out):
        out.append(Ballot(judge="late", marks={}))

    def late(ballot: Ballot) -> dict[Key, Mark]:
        asked = [
            (key, item)
            for key, item in of.questions()
            if (item.check is not None) == (ballot.judge == CHECK)
        ]
        return {key: Mark(draw(answers(item))) for key, item in asked if key not in ballot.marks}

    return tuple(replace(b, marks={**b.marks, **late(b)}) for b in out)


# ------------------------------------------------------------------------------------------- a
# second way to add up


def plain_score(of: Rubric, given: Iterable[Ballot]) -> Fraction | None:
    """The score of complete ballots by the rule of the mean, written as directly as possible. None:
    nothing applies.
    """
    votes: dict[Key, list[Answer]] = {}
    for one in given:
        for key, mark in one.marks.items():
            votes.setdefault(key, []).append(mark.answer)

    def item_score(key: Key, item: Item) -> Fraction | None:
        shares = [_share(item, answer) for answer in votes[key] if answer != "n/a"]
        return sum(shares, Fraction(0)) / len(shares) if shares else None

    def score(c: Criterion) -> Fraction | None:
        if c.children:
            return mean([(child.weight, score(child)) for child in c.children])
        found = [s for s in (item_score((c.id, i.id), i) for i in c.items) if s is not None]
        return sum(found, Fraction(0)) / len(found) if found else None

    def mean(parts: list[tuple[Fraction, Fraction | None]]) -> Fraction | None:
        here = [(weight, s) for weight, s in parts if s is not None]
        below = sum((weight for weight, _ in here if weight > 0), Fraction(0))
        if not below:
            return None
        return min(
            max(sum((weight * s for weight, s in here), Fraction(0)) / below, Fraction(0)),
            Fraction(1),
        )

    return mean([(c.weight, score(c)) for c in of.criteria])


def _share(item: Item, answer: Answer) -> Fraction:
    if item.anchors is None:
        return Fraction(int(bool(answer)))
    low, high = item.anchors.lowest, item.anchors.highest
    return (Fraction(str(answer)) - low) / (high - low)
