"""The criteria of an AgentV rubric: strings, yes/no objects, and objects with 0-10 score ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct

from honestone.core.json_value import is_integer
from honestone.core.judging.rubric import Criterion, slug
from honestone.formats.syntax.reader import FileEntry, Keys, shown
from honestone.interop.agentv.dialect import TABLES, Dialect
from honestone.interop.agentv.text import Variables, fill
from honestone.interop.criteria import scaled, yes_no

# Score ranges are on 0-10.
TOP: Final = 10

OPERATORS: Final[Mapping[str, str]] = {
    "correctness": "Clearly says this, in any words: ",
    "contradiction": "Does not contradict this (leaving it out is fine): ",
}
_RATED: Final = {Fraction(0): "not at all", Fraction(1): "fully"}


class Bar(Struct, frozen=True, kw_only=True):
    """What one criterion has to reach by itself."""

    required: bool = False
    floor: Fraction | None = None


NO_BAR: Final = Bar()


def rated(id: str, requirement: str, *, weight: Fraction = Fraction(1), **more: Any) -> Criterion:
    """What a free-form judge marks: one criterion on 0-1."""
    return scaled(id, requirement, _RATED, weight=weight, **more)


def is_rated(criterion: Criterion) -> bool:
    """Whether a criterion is as `rated` makes them."""
    if len(criterion.items) != 1 or not criterion.items[0].whole:
        return False
    anchors = criterion.items[0].anchors
    return anchors is not None and dict(anchors.levels) == _RATED


def read_criteria(
    take: FileEntry, key: str, dialect: Dialect, values: Variables
) -> tuple[Criterion, ...]:
    """The criteria of a list: at least one, or a problem at the list."""
    listed = take.raw(key)
    if not isinstance(listed, list) or not listed:
        take.reading.problem(
            f"`{key}` must be a list of criteria, not {shown(listed)}"
            if listed
            else f"`{key}` holds no criterion",
            (*take.path, key),
            f"for example: {key}: [Names the cause]",
        )
        return ()
    here = [FileEntry(take.reading, (*take.path, key, index)) for index in range(len(listed))]
    found = [criterion for one in here for criterion in _criterion(one, dialect, values)]
    _say_when_mixed(take, found, dialect)
    return tuple(found)


def _say_when_mixed(take: FileEntry, found: list[Criterion], dialect: Dialect) -> None:
    kinds = {criterion.items[0].anchors is None for criterion in found}
    if len(kinds) == 2 and dialect.required:
        take.note(
            "criteria without score ranges are yes/no questions; AgentV marks them 0-10 where another of their list has ranges"
        )


def _criterion(take: FileEntry, dialect: Dialect, values: Variables) -> Iterator[Criterion]:
    if isinstance(take.value, str):
        text = fill(take.value, values).strip()
        if text:
            yield yes_no(slug(text), text, required=dialect.required)
        else:
            take.problem("a criterion has no text")
        return
    yield from read_criterion(take, dialect, values)


def read_criterion(
    take: FileEntry,
    dialect: Dialect,
    values: Variables,
    keys: Keys = TABLES["criterion"],
) -> Iterator[Criterion]:
    """One criterion written as a mapping; of a grader that is one, `keys` are the grader's."""
    if not take.read(keys):
        return
    id = take.text("id")
    text = take.text("expected_outcome", "outcome", "description", "criteria")
    weight = take.weight("weight")
    levels = _levels(take)
    if text is None and levels is None:
        take.problem(
            "this criterion has no text", hint=f"say what it asks for: {_text_key(dialect)}: ..."
        )
        text = "?"
    # Without a text the described levels say what is meant; the id names it.
    words = fill(text or id or "how good it is", values).strip()
    operator = take.choice("operator", tuple(OPERATORS))
    words = OPERATORS.get(operator or "", "") + words
    gate = _gate(take, dialect, is_scaled=levels is not None)
    name = id or slug(words)
    bars: dict[str, Any] = {"weight": weight, "required": gate.required, "floor": gate.floor}
    yield yes_no(name, words, **bars) if levels is None else scaled(name, words, levels, **bars)


def _text_key(dialect: Dialect) -> str:
    return "outcome" if dialect.required else "expected_outcome"


def _gate(take: FileEntry, dialect: Dialect, *, is_scaled: bool) -> Bar:
    """A criterion's own bar: `required_min_score` of 10, `min_score` of 1, or `required`."""
    of_ten = take.number("required_min_score", low=0, high=TOP)
    of_one = take.number("min_score", low=0, high=1)
    required = take.flag("required")
    floor = of_one
    if floor is None and of_ten is not None:
        floor = of_ten / TOP
    if not is_scaled:
        needed = required if required is not None else dialect.required and floor is None
        return Bar(required=needed, floor=floor)
    if required and floor is None and dialect.required_means_ten:
        take.note("`required: true` with score ranges asks for 10 of 10, as in AgentV 2")
        return Bar(floor=Fraction(1))
    if required and dialect.required and not dialect.required_means_ten:
        take.note(
            "`required: true` with score ranges: score 0 fails the case (AgentV itself ignores it there)"
        )
    return Bar(
        required=bool(required) and (floor is None or not dialect.required_means_ten), floor=floor
    )


# --------------------------------------------------------------------------------------------------
# score ranges


def _levels(take: FileEntry) -> dict[Fraction, str] | None:
    """`score_ranges` as levels on 0-10: a map from lower bounds, or a list of bands. None when
    there are none.
    """
    value = take.raw("score_ranges")
    if value is None:
        return None
    here = take.below("score_ranges")
    levels = None
    if isinstance(value, dict):
        levels = _from_map(here)
    elif isinstance(value, list):
        levels = _from_bands(here)
    if levels is None:
        here.problem(f"`score_ranges` must be a mapping from 0-10 to text, not {shown(value)}")
    # Something harmless in place of what is wrong: the problem has been noted.
    levels = levels or {Fraction(0): "?"}
    levels.setdefault(Fraction(TOP), levels[max(levels)])
    return dict(sorted(levels.items()))


def _from_map(take: FileEntry) -> dict[Fraction, str]:
    found: dict[Fraction, str] = {}
    for key in take.value:
        bound = _bound(key)
        place = (*take.path, key)
        if bound is None:
            take.reading.problem(
                f"`{take.reading.marked.raw_key(place)}` is not a score of a range: they are whole numbers from 0 to {TOP}",
                place,
                at_key=True,
            )
            continue
        if bound in found:
            take.reading.problem(f"`score_ranges` has {bound} twice", place, at_key=True)
        found[bound] = _stripped(take.value[key]) or "?"
        if _stripped(take.value[key]) is None:
            take.reading.problem(f"`score_ranges` says nothing at {bound}", place)
    if found and min(found) != 0:
        take.problem(
            f"`score_ranges` must start at 0, but start at {min(found)}",
            hint="describe what scores 0",
        )
    elif not take.value:
        take.problem("`score_ranges` is empty")
    return found if Fraction(0) in found else {}


def _bound(key: Any) -> Fraction | None:
    text = str(key)
    return (
        Fraction(int(text))
        if text.isascii() and text.isdigit() and len(text) < 3 and int(text) <= TOP
        else None
    )


def _stripped(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


def _from_bands(take: FileEntry) -> dict[Fraction, str]:
    """Bands `{score_range: [low, high], outcome}` that cover 0-10 without gap or overlap."""
    bands: list[tuple[int, int, str]] = []
    for index in range(len(take.value)):
        one = take.below(index)
        if not one.read(TABLES["band"]):
            continue
        ends, text = one.raw("score_range"), one.text("outcome", "expected_outcome", "description")
        if not _are_ends(ends):
            one.problem(
                f"`score_range` must be two whole numbers from 0 to {TOP}, the lower first, not {shown(ends)}",
                "score_range",
            )
            return {}
        bands.append((ends[0], ends[1], text or "?"))
    bands.sort()
    expected = 0
    for low, high, _ in bands:
        if low != expected:
            what = "overlap" if low < expected else "leave a gap"
            take.problem(
                f"`score_ranges` {what} at {min(low, expected)}",
                hint="bands cover 0 to 10, each score once",
            )
            return {}
        expected = high + 1
    if expected != TOP + 1:
        take.problem(
            f"`score_ranges` end at {expected - 1}, not at {TOP}",
            hint="bands cover 0 to 10, each score once",
        )
        return {}
    return {Fraction(low): text.strip() for low, _, text in bands}


def _are_ends(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(is_integer(end) and 0 <= end <= TOP for end in value)
        and value[0] <= value[1]
    )
