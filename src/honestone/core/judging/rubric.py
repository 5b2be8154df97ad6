"""Rubrics: what matters, how each criterion is marked, and the bar it has to meet.

A criterion is either a group of child criteria or a list of items. However it was written (a
checklist, anchors, one yes/no question, a check), it is marked item by item; a criterion that is
one question has one item, itself.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from functools import partial
from itertools import count, pairwise
from typing import Final, Literal, TypeAlias, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.errors import RubricError
from honestone.core.json_value import Codec, Form, Json, JsonObject, built, is_integer
from honestone.core.numbers import ONE, ZERO, exact
from honestone.core.tables import table_text

T = TypeVar("T")
# Names one item of a rubric: (criterion id, item id).
Key: TypeAlias = tuple[str, str]
# Leads to a value of a rubric: ("criteria", 0, "weight").
Path: TypeAlias = tuple[str | int, ...]

DEFAULT_THRESHOLD = Fraction(70, 100)
DEFAULT_FLOOR = Fraction(60, 100)
Quorum: TypeAlias = int | Literal["all"]
QUORUM_WORDS: Final = "a whole number from 1, or `all`"


class Rule(StrEnum):
    """How the votes on one item become one number."""

    MEAN = "mean"
    MEDIAN = "median"
    MAJORITY = "majority"
    MIN = "min"


# The rules by their names.
RULES: Final = tuple(map(str, Rule))


class Check(Struct, frozen=True, kw_only=True):
    """A deterministic test of an artifact or output.

    `kind` is its name without `not-`, `value` its argument (`contains: [a, b]` has ["a", "b"]),
    `options` the other keys next to it (`path`, `timeout`, `expect_exit`, ...), both plain JSON
    values.
    """

    kind: str
    value: Json = None
    negated: bool = False
    options: JsonObject = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"not-{self.kind}" if self.negated else self.kind

    @property
    def words(self) -> tuple[str, ...]:
        """The argument of a kind that takes a text or several."""
        return (
            (self.value,)
            if isinstance(self.value, str)
            else tuple(map(str, cast(Sequence[Json], self.value)))
        )

    @property
    def text(self) -> str:
        """The argument of a kind that takes one text."""
        return self.words[0]

    def option(self, key: str, default: T) -> T:
        """An option as the schema of the kind has it."""
        return cast(T, self.options.get(key, default))


class Anchors(Struct, frozen=True, kw_only=True):
    """Described levels on a scale of their own. `levels` is sorted by value; there are two at
    least.
    """

    levels: tuple[tuple[Fraction, str], ...]

    @property
    def lowest(self) -> Fraction:
        return self.levels[0][0]

    @property
    def highest(self) -> Fraction:
        return self.levels[-1][0]

    def share(self, mark: int | float) -> Fraction:
        """A number on this scale as 0-1, linearly. Raises ValueError when it is not on the scale."""
        value = exact(mark)
        if not self.lowest <= value <= self.highest:
            raise ValueError(
                f"{mark} is not on the scale {as_written(self.lowest)}-{as_written(self.highest)}"
            )
        return (value - self.lowest) / (self.highest - self.lowest)


class Item(Struct, frozen=True, kw_only=True):
    """One question. Answered by `check` if it has one, else by judges: a number if it has
    `anchors`, else yes or no.

    `whole` marks the item that is its criterion itself (its id is the criterion's).
    """

    id: str
    requirement: str
    anchors: Anchors | None = None
    check: Check | None = None
    fix: str | None = None
    may_not_apply: bool = False
    whole: bool = False


class Criterion(Struct, frozen=True, kw_only=True):
    """One thing that matters. `weight` is relative to its siblings; negative is a penalty on a
    yes/no
    criterion.

    `negate`: its score is 1 minus what its items or children come to (they ask for what should not
        be).
    """

    id: str
    requirement: str
    weight: Fraction = ONE
    floor: Fraction | None = None
    required: bool = False
    negate: bool = False
    items: tuple[Item, ...] = ()
    children: tuple[Criterion, ...] = ()
    fix: str | None = None

    @property
    def is_penalty(self) -> bool:
        return self.weight.numerator < 0

    def walk(self, parent: str | None = None) -> Iterator[tuple[Criterion, str | None]]:
        """Itself and all below it with each one's parent id, parents before children."""
        yield self, parent
        for child in self.children:
            yield from child.walk(self.id)


# Of `audit`, the best one first.
TIERS: Final = ("high", "medium", "low")
# The lowest bar for the probability of a verdict, in percent: below it a guess would do.
LEAST_SURE: Final = 50
# Looks without which nothing is decided: one look cannot be contradicted.
LEAST_LOOKS: Final = 2


class Rubric(Struct, frozen=True, kw_only=True):
    """Criteria and the gate: `threshold` for the whole, `floor` for every top-level criterion (both
    0-1; 0 is off).

    `quorum`: how many judges must answer, and suffice; "all" counts those that are not installed
        too. None: the votes of judges that failed stay open.
    `require_calibration`, `require_tier`: only judges that labels vouch for, or that reached this
        tier of `judges audit`, may decide.
    `sure`: judges are asked on until the verdict is this probable (0-1), within `max_looks` looks
        of judges. The second is a limit and not a part of the contract.
    `combine`: how the votes of several judges on one item become one. None: as the command says,
        else their mean.

    Raises RubricError when it breaks a rule of the format.
    """

    criteria: tuple[Criterion, ...]
    title: str = ""
    threshold: Fraction = DEFAULT_THRESHOLD
    floor: Fraction = DEFAULT_FLOOR
    quorum: Quorum | None = None
    require_calibration: bool = False
    require_tier: str | None = None
    sure: Fraction | None = None
    max_looks: int | None = None
    combine: Rule | None = None

    def __post_init__(self) -> None:
        for problem in problems(self):
            raise problem

    def walk(self) -> Iterator[tuple[Criterion, str | None]]:
        for criterion in self.criteria:
            yield from criterion.walk()

    def questions(self) -> Iterator[tuple[Key, Item]]:
        """Every item in the order of the file, with its key."""
        for criterion, _ in self.walk():
            for item in criterion.items:
                yield (criterion.id, item.id), item

    @property
    def bad_keys(self) -> set[Key]:
        """Items to which yes is the bad answer: of penalties, and under an odd number of negations."""
        return _bad_keys(self.criteria, is_negated=False)

    @property
    def asks_judges(self) -> bool:
        """Whether any item needs a judge: with checks alone, code decides and no witness is needed."""
        return any(item.check is None for _, item in self.questions())

    @property
    def has_checks(self) -> bool:
        return any(item.check is not None for _, item in self.questions())

    @property
    def can_fail(self) -> bool:
        """Whether any bar is above 0."""
        return bool(self.threshold) or any(
            c.required or self.floor_of(c, parent)
            for top in self.criteria
            for c, parent in top.walk()
        )

    @property
    def without_bars(self) -> Rubric:
        """The same, with neither threshold nor floors nor anything required."""

        def free(one: Criterion) -> Criterion:
            children = tuple(map(free, one.children))
            return replace(one, floor=None, required=False, children=children)

        criteria = tuple(map(free, self.criteria))
        return replace(self, criteria=criteria, threshold=ZERO, floor=ZERO)

    @property
    def has_fixes(self) -> bool:
        """Whether the rubric itself says how to put something right, so that the worker `fix` can
        work on it.
        """
        return any(item.fix for _, item in self.questions()) or any(c.fix for c, _ in self.walk())

    def floor_of(self, criterion: Criterion, parent: str | None) -> Fraction:
        """The floor that holds for a node: its own, else the rubric's for a top-level criterion
        that is not a penalty.
        """
        if criterion.floor is not None:
            return criterion.floor
        return self.floor if parent is None and not criterion.is_penalty else ZERO


def _bad_keys(criteria: Sequence[Criterion], *, is_negated: bool) -> set[Key]:
    keys: set[Key] = set()
    for criterion in criteria:
        is_turned = is_negated != criterion.negate
        if is_turned != criterion.is_penalty:
            keys |= {(criterion.id, item.id) for item in criterion.items}
        keys |= _bad_keys(criterion.children, is_negated=is_turned)
    return keys


def with_checks(rubric: Rubric, change: Callable[[Check], Check]) -> Rubric:
    """The same rubric with each check as `change` gives it."""

    def changed(criterion: Criterion) -> Criterion:
        items = tuple(
            replace(item, check=change(item.check)) if item.check else item
            for item in criterion.items
        )
        return replace(criterion, items=items, children=tuple(map(changed, criterion.children)))

    return replace(rubric, criteria=tuple(map(changed, rubric.criteria)))


def is_quorum(value: object) -> bool:
    return value == "all" or (is_integer(value) and value >= 1)


def as_written(number: Fraction) -> int | float:
    """A fraction as the JSON number it came from."""
    return number.numerator if number.denominator == 1 else float(number)


class RepeatedIds:
    """Ids made unique in reading order: one that is there already gets `#2`, `#3` and so on."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def take(self, id: str) -> str:
        own, number = id, self._numbers.get(id, 1)
        while own in self._taken:
            number += 1
            own = f"{id}#{number}"
        self._numbers[id] = number
        self._taken.add(own)
        return own


def slug(text: str, *, limit: int = 48) -> str:
    """An id from a text in any script: words joined by `-`. Rewording makes a new id."""
    words = re.findall(r"\w+", text.casefold())
    out = ""
    for word in words:
        longer = f"{out}-{word}" if out else word
        if len(longer) > limit and out:
            break
        out = longer[:limit]
    return out or "item"


def free_id(id: str, used: Container[str]) -> str:
    """The id, with a number when it is taken."""
    return next(
        name for number in count(1) if (name := id if number == 1 else f"{id}-{number}") not in used
    )


def problems(rubric: Rubric) -> Iterator[RubricError]:
    """Every rule of arithmetic and naming that a rubric breaks, each with the path to the value."""
    if not rubric.criteria:
        yield _problem("no-criteria", ("criteria",))
        return
    for name, bar in (("threshold", rubric.threshold), ("floor", rubric.floor)):
        if not _is_share(bar):
            yield _problem("bar", (name,), name=name, bar=as_written(bar * 100))
    if rubric.quorum is not None and not is_quorum(rubric.quorum):
        yield _problem("quorum", ("quorum",), quorum=rubric.quorum, words=QUORUM_WORDS)
    if rubric.require_tier is not None and rubric.require_tier not in TIERS:
        yield _problem("tier", ("require_tier",), tier=rubric.require_tier, words=", ".join(TIERS))
    if rubric.sure is not None and (why := sure_problem(rubric.sure * 100)) is not None:
        yield _problem("sure", ("sure",), why=why)
    if rubric.max_looks is not None and rubric.max_looks < LEAST_LOOKS:
        yield _problem("max-looks", ("max_looks",), looks=rubric.max_looks)
    if rubric.combine is not None and rubric.combine not in RULES:
        yield _problem("combine", ("combine",), combine=rubric.combine, words=", ".join(RULES))
    yield from _group_problems(rubric.criteria, ("criteria",), set())


def sure_problem(percent: object) -> str | None:
    """Why a bar for the probability of a verdict is not one, as words after its name; None for one
    that is.
    """
    number = None if isinstance(percent, bool) else _exact_number(percent)
    if number is None:
        given = str(percent).lower() if isinstance(percent, bool) else repr(percent)
        return f"{given}, but must be a percentage from 50 to below 100"
    if LEAST_SURE <= number < 100:
        return None
    shown = as_written(number) if number.denominator < 10**9 else float(number)
    if Fraction(1, 2) <= number < 1:
        return (
            f"{shown}, but must be a percentage from 50 to below 100:"
            f" did you mean {as_written(number * 100)}?"
        )
    return f"{shown}, but must be a percentage from 50 to below 100"


def _exact_number(value: object) -> Fraction | None:
    try:
        return exact(value) if isinstance(value, int | float | Fraction) else None
    except ValueError:
        return None


def _is_share(number: Fraction) -> bool:
    """Whether it is from 0 to 1: comparing fractions takes ten times as long."""
    return 0 <= number.numerator <= number.denominator


def _problem(rule: str, path: Path, **facts: object) -> RubricError:
    """What breaks a rule, in the words of `rubric.toml`."""
    rule_text = tomllib.loads(table_text("judging/rubric"))[rule]
    return RubricError(rule_text["message"].format(**facts), path=path, hint=rule_text.get("hint"))


def _group_problems(
    group: tuple[Criterion, ...], path: Path, seen: set[str]
) -> Iterator[RubricError]:
    for index, criterion in enumerate(group):
        here, id = (*path, index), criterion.id
        if not id.strip():
            yield _problem("no-id", (*here, "id"))
        if id in seen:
            yield _problem("same-id", (*here, "id"), id=id)
        seen.add(id)
        if criterion.floor is not None and not _is_share(criterion.floor):
            yield _problem(
                "floor", (*here, "floor"), id=id, floor=as_written(criterion.floor * 100)
            )
        if bool(criterion.items) == bool(criterion.children):
            yield _problem("items-or-children", here, id=id)
        if criterion.is_penalty:
            yield from _penalty_problems(criterion, here)
        yield from _item_problems(criterion, here)
        yield from _group_problems(criterion.children, (*here, "criteria"), seen)
    if group and not any(criterion.weight.numerator > 0 for criterion in group):
        yield _problem("no-weight", (*path, 0, "weight") if len(group) == 1 else path)


def _penalty_problems(criterion: Criterion, here: Path) -> Iterator[RubricError]:
    yes_no = (
        len(criterion.items) == 1
        and criterion.items[0].whole
        and criterion.items[0].anchors is None
    )
    if not yes_no:
        yield _problem(
            "penalty", (*here, "weight"), id=criterion.id, weight=as_written(criterion.weight)
        )
    if criterion.negate:
        yield _problem("penalty-negated", (*here, "negate"), id=criterion.id)
    if criterion.required or criterion.floor:
        yield _problem(
            "penalty-barred",
            (*here, "required" if criterion.required else "floor"),
            id=criterion.id,
        )


def _item_problems(criterion: Criterion, here: Path) -> Iterator[RubricError]:
    seen: set[str] = set()
    for index, item in enumerate(criterion.items):
        place, id = here if item.whole else (*here, "items", index), item.id
        if id in seen:
            yield _problem("same-item", (*place, "id"), criterion=criterion.id, id=id)
        seen.add(id)
        if not item.requirement.strip():
            yield _problem("no-text", place, criterion=criterion.id)
        if item.anchors is not None and len(item.anchors.levels) < 2:
            yield _problem("one-level", (*place, "anchors"), id=id)
        elif item.anchors is not None and not _rises(item.anchors):
            yield _problem("not-rising", (*place, "anchors"), id=id)
        if item.anchors is not None and item.check is not None:
            yield _problem("anchors-and-check", (*place, "check"), id=id)


def _rises(anchors: Anchors) -> bool:
    values = [value for value, _ in anchors.levels]
    return all(lower < higher for lower, higher in pairwise(values))


def to_plain(rubric: Rubric) -> dict[str, Json]:
    """The rubric as plain JSON values: what the contract hashes and a run records. `from_plain`
    reads it back.
    """
    return _RUBRIC.write(rubric)


def plain_of_contract(rubric: Rubric) -> dict[str, Json]:
    """The same without what limits the judging and says nothing of what a score means."""
    plain = to_plain(rubric)
    plain.pop("max_looks", None)
    return plain


def from_plain(plain: JsonObject) -> Rubric:
    return _RUBRIC.read(plain)


def _check_to_plain(check: Check) -> Json:
    return {"kind": check.name, "value": check.value, "options": dict(check.options)}


def _check(kind: str, value: Json, options: JsonObject) -> Check:
    return Check(
        kind=kind.removeprefix("not-"),
        negated=kind.startswith("not-"),
        value=value,
        options=options,
    )


_ITEM: Final = Codec(
    Item,
    {
        Anchors: Form(
            lambda anchors: [[str(value), text] for value, text in anchors.levels],
            lambda rows: Anchors(levels=tuple((Fraction(value), text) for value, text in rows)),
        ),
        Check: Form(_check_to_plain, partial(built, _check)),
    },
)
_PARTS: Final[Mapping[object, Form]] = {
    Fraction: Form(str, Fraction),
    Rule: Form(str, Rule),
    tuple[Criterion, ...]: Form(
        lambda criteria: [_CRITERION.write(one) for one in criteria],
        lambda rows: tuple(_CRITERION.read(row) for row in rows),
    ),
    tuple[Item, ...]: Form(
        lambda items: [_ITEM.write(one) for one in items],
        lambda rows: tuple(_ITEM.read(row) for row in rows),
    ),
}
_CRITERION: Final[Codec[Criterion]] = Codec(
    Criterion, _PARTS, always=("weight",), keys={"children": "criteria"}
)
_RUBRIC: Final = Codec(Rubric, _PARTS, always=("title", "threshold", "floor"))
