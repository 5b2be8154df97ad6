"""What was found in a file and taken for a part of a rubric, and the draft that it makes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from honestone.core.authoring.rubric_drafting import combination_of
from honestone.core.errors import FileError, RubricError
from honestone.core.json_value import late_pattern, visible
from honestone.core.judging.rubric import (
    DEFAULT_FLOOR,
    DEFAULT_THRESHOLD,
    Anchors,
    Criterion,
    Item,
    Rubric,
    free_id,
    slug,
)
from honestone.core.numbers import ONE
from honestone.formats.rubric.rubric_file import DRAFT_LINE
from honestone.formats.rubric.rubric_write import dump_draft

LEFT_OUT: Final = "left out"
MOST_CRITERIA: Final = 500
# A longer cell or line is prose, not a requirement; it is cut there, and that is said.
MOST_LETTERS: Final = 2_000

_WORDS: Final = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
# Words for levels from worst to best; those of one line mean about the same.
_RANKS: Final = {
    plain: rank
    for rank, line in enumerate(_WORDS.pop("grades").strip().splitlines())
    for plain in line.replace(",", " ").split()
}
NAMES: Final = {role: frozenset(words.split()) for role, words in _WORDS.items()}


def plain_name(name: object) -> str:
    """A key or a heading as it is looked up: letters and digits alone, without case."""
    return "".join(re.findall(r"[^\W_]+|%", str(name).casefold()))


def has_role(name: object, *roles: str) -> bool:
    plain = plain_name(name)
    return any(
        plain in NAMES[role] or (plain.endswith("s") and plain[:-1] in NAMES[role])
        for role in roles
    )


def word_levels(names: Iterable[str]) -> dict[str, Fraction]:
    """The names that are words for levels, with their places from 0 up, evenly spaced; none where
    these are not in order.
    """
    known = {name: rank for name in names if (rank := _RANKS.get(plain_name(name))) is not None}
    ranks = list(known.values())
    if (
        len(known) < 2
        or len(set(ranks)) < len(ranks)
        or ranks not in (sorted(ranks), sorted(ranks, reverse=True))
    ):
        return {}
    return {
        name: Fraction(place)
        for place, name in enumerate(sorted(known, key=lambda name: known[name]))
    }


class TakenPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a file (`source`: a column, a key, a heading), what it was taken for, and where it
    is first.
    """

    source: str
    purpose: str
    place: str

    def to_plain(self) -> dict[str, str]:
        return {"from": self.source, "as": self.purpose, "place": self.place}

    @property
    def words(self) -> str:
        return f"{visible(self.source, 60)} -> {self.purpose}"


@dataclass(kw_only=True)
class FoundCriterion:
    """One criterion in the file's own words. `levels` are sorted when the draft is made."""

    name: str
    place: str
    text: str = ""
    weight: Fraction | None = None
    items: list[str] = field(default_factory=list)
    levels: dict[Fraction, str] = field(default_factory=dict)
    children: list[FoundCriterion] = field(default_factory=list)


class Notes:
    """What was taken for what, each once, with its first place."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], TakenPart] = {}

    def take(self, source: object, purpose: str, place: str) -> None:
        self._taken.setdefault(
            (str(source), purpose), TakenPart(source=str(source), purpose=purpose, place=place)
        )

    @property
    def taken(self) -> tuple[TakenPart, ...]:
        return tuple(self._taken.values())


class RubricFromFile(msgspec.Struct, frozen=True, kw_only=True):
    """A drafted rubric, the name of the file that it is from, and what was taken for what."""

    rubric: Rubric
    source: str
    taken: tuple[TakenPart, ...]

    @property
    def text(self) -> str:
        """The file, in which every comment is on one printable line."""
        used = ", ".join(one.words for one in self.taken if one.purpose != LEFT_OUT)
        left = ", ".join(visible(one.source, 60) for one in self.taken if one.purpose == LEFT_OUT)
        head = [
            f"{DRAFT_LINE}{visible(self.source)}: read what was taken for what, then delete this line."
        ]
        head += [f"# Taken: {visible(used, 2000)}."]
        head += [f"# Left out: {visible(left, 2000)}."] if left else []
        head += ["# Threshold and floor are not from that file: set the bars that you mean."]
        return "".join(f"{line}\n" for line in head) + dump_draft(self.rubric)


def drafted(
    title: str,
    found: Sequence[FoundCriterion],
    notes: Notes,
    source: str,
    *,
    threshold: Fraction = DEFAULT_THRESHOLD,
    floor: Fraction = DEFAULT_FLOOR,
) -> RubricFromFile:
    """Raises FileError where the file holds no criteria, or none that can be a rubric."""
    if not found:
        raise FileError(
            f"`{source}` holds nothing that can be taken for criteria, so nothing was written",
            hint="criteria are the rows of a table with a column `Criterion`, headings with checklists, or a list under "
            "`criteria`; or say them with `honestone rubric new --criterion`",
        )
    if sum(1 for _ in _all(found)) > MOST_CRITERIA:
        raise FileError(
            f"`{source}` holds more than {MOST_CRITERIA} rows that look like criteria: too many for a rubric"
        )
    try:
        criteria = _criteria(found, set(), notes)
        rubric = Rubric(
            criteria=criteria,
            title=_short(title),
            threshold=threshold,
            floor=floor,
            combine=combination_of(criteria),
        )
    except RubricError as error:
        raise FileError(
            f"what `{source}` holds cannot be a rubric: {error.message}", hint=error.hint
        ) from None
    return RubricFromFile(rubric=rubric, source=source, taken=notes.taken)


def _all(found: Iterable[FoundCriterion]) -> Iterator[FoundCriterion]:
    for one in found:
        yield one
        yield from _all(one.children)


def _criteria(
    found: Sequence[FoundCriterion], taken: set[str], notes: Notes
) -> tuple[Criterion, ...]:
    weighed = any(one.weight is not None for one in found)
    made = []
    for one in found:
        if weighed and one.weight is None:
            notes.take(one.name, "weight 1, for it names none", one.place)
        made.append(_criterion(one, taken, notes))
    return tuple(made)


def _criterion(one: FoundCriterion, taken: set[str], notes: Notes) -> Criterion:
    name, text = _short(one.name), _short(one.text)
    id = free_id(slug(name), taken)
    taken.add(id)
    says = name if not text or plain_name(text) == plain_name(name) else f"{name}: {text}"
    criterion = Criterion(id=id, requirement=says, weight=ONE if one.weight is None else one.weight)
    if one.children:
        return replace(criterion, children=_criteria(one.children, taken, notes))
    asked: dict[str, str] = {}
    for item in dict.fromkeys(one.items):
        asked[free_id(slug(_short(item)), asked)] = _short(item)
    listed = tuple(Item(id=own, requirement=words) for own, words in asked.items())
    if len(one.levels) >= 2:
        levels = tuple((value, _short(words)) for value, words in sorted(one.levels.items()))
        own = Item(id=id, requirement=says, anchors=Anchors(levels=levels), whole=True)
        return replace(criterion, items=(*listed, own))
    return replace(criterion, items=listed or (Item(id=id, requirement=says, whole=True),))


def _short(text: str) -> str:
    text = " ".join("".join(c if c.isprintable() or c.isspace() else " " for c in text).split())
    return text if len(text) <= MOST_LETTERS else text[:MOST_LETTERS] + "..."


# Thousands are parted by commas, spaces or apostrophes; `2,5` and `0,125` have a comma before their
# decimals.
_THOUSANDS: Final = late_pattern(r"(?<![\d.,])[1-9]\d{0,2}(?:[,'’\u00a0\u202f ]\d{3})+(?![\d,])")
_NUMBER: Final = late_pattern(
    r"[\s(\[/~≈]*(\d{1,9}(?:[.,]\d{1,6})?)(?:\s*/\s*(\d{1,6}))?\s*(?:%|percent|points?|pts?\.?|marks?|점)?[\s)\].]*",
    re.IGNORECASE,
)


def number_in(text: object) -> Fraction | None:
    """A weight or a level as people write it: 40, 40%, 40 points, 2/3, 0,4, 1,000. None for
    anything else.
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        return None
    match = _NUMBER.fullmatch(_THOUSANDS.sub(lambda found: re.sub(r"\D", "", found[0]), str(text)))
    if match is None or (match[2] is not None and int(match[2]) == 0):
        return None
    return Fraction(match[1].replace(",", ".")) / (int(match[2]) if match[2] else 1)
