"""`rubric check --fix`: the safe edits, made at marked positions so that comments and layout stay.

Safe means: it changes no question, no bar and no answer on record. Three things are fixed:
    weights of 90-110 are scaled to 100;  ids that say nothing become the text's, where nothing refers to them;
    a missing `rubric: 1` line is put in front.
What comes out is read again and compared with what was meant: an edit that would do anything else is not made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from fractions import Fraction
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from honestone.core.authoring.lint import suggested_id
from honestone.core.authoring.lint.ids import ids as id_remarks
from honestone.core.authoring.lint.numbers import groups_of, weight_of, weights_sum
from honestone.core.errors import UsageError
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.formats.fields import VERSION
from honestone.formats.rubric.rubric_file import RubricSource, parse_rubric
from honestone.formats.syntax.yaml_lines import number_text, scalar

Steps: TypeAlias = tuple[str | int, ...]

_LINE_END: Final = late_pattern("\r\n|\r|\n|\x85|\u2028|\u2029")
_JSON_LINE_END: Final = late_pattern("\r\n|\r|\n")


class Change(Struct, frozen=True, kw_only=True):
    """One thing that was fixed: where, by which rule, from what to what, and why that is safe."""

    place: str
    rule: str
    before: str
    after: str
    why: str

    def to_plain(self) -> dict[str, str]:
        return asdict(self)


class Fixed(Struct, frozen=True, kw_only=True):
    """The text after all changes. `left` says in words what was not fixed and why."""

    text: str
    changes: tuple[Change, ...] = ()
    left: tuple[str, ...] = ()


class _Edit(Struct, frozen=True):
    """The text from `start` to `end` becomes `new`, which makes `change`."""

    start: int
    end: int
    new: str
    change: Change


def fix_rubric(
    text: str, name: str, *, referred: Callable[[str], str | None] = lambda id: None
) -> Fixed:
    """`referred` says what refers to an id (a lock, a record, golden examples), or None when
    nothing does.

    Raises RubricError as `parse_rubric` does. Fixing twice changes nothing more.
    """
    fixing = _Fixing(text, parse_rubric(text, name))
    fixing.weights()
    fixing.ids(referred)
    fixing.version()
    return fixing.done()


class _Fixing:
    """Edits collected for one text, and the rubric that they should make of it."""

    def __init__(self, text: str, source: RubricSource) -> None:
        self.text = text
        self.source = source
        self.rubric = source.rubric
        self.is_json = text.lstrip("\ufeff \t\r\n").startswith("{")
        ends = (_JSON_LINE_END if self.is_json else _LINE_END).finditer(text)
        self.lines = [int(text.startswith("\ufeff")), *(match.end() for match in ends)]
        self.edits: list[_Edit] = []
        self.left: list[str] = []

    # ----------------------------------------------------------------------------------------------
    # the three fixes

    def weights(self) -> None:
        """Scaled by one factor and rounded to the decimals that the file uses, so that they sum to
        100.
        """
        wrong = {remark.path for remark in weights_sum(self.rubric)}
        for group, path in groups_of(self.rubric):
            if path not in wrong:
                continue
            at = self.source.marked.key_at(path)
            places = [(*path, index, "weight") for index in range(len(group))]
            spans = [self._span(place) for place in places]
            written = [span for span in spans if span is not None]
            shared = len(set(written)) < len(written)  # `<<` brings one weight to several criteria
            unwritten = any(
                span is None and not one.is_penalty for span, one in zip(spans, group, strict=True)
            )
            if shared or unwritten:
                self.left.append(
                    f"{at}: these weights are not all written out as numbers, so they are left as they are"
                )
                continue
            scaled = scaled_to_100(tuple(one.weight for one in group))
            for index, (place, span, weight) in enumerate(zip(places, spans, scaled, strict=True)):
                if span is None or weight == group[index].weight:
                    continue
                new = number_text(weight)
                why = f"scaled by 100/{number_text(weight_of(group))}: what each counts for stays the same, to the rounding"
                self._change(place, span, new, "weights-sum", why)
                self.rubric = _with(self.rubric, (*path, index), weight=weight)

    def ids(self, referred: Callable[[str], str | None]) -> None:
        """The text's own words as the id, where that is unique and nothing knows the old one."""
        for remark in list(id_remarks(self.rubric)):
            owner = remark.path[:-1]
            span = self._span(remark.path)
            old = remark.item or remark.criterion or ""
            new = suggested_id(remark.text or "")
            if span is None or new is None:
                continue
            known_by = referred(old)
            if known_by is not None:
                self.left.append(
                    f"{self.source.marked.at(remark.path)}: the id `{old}` is left, as {known_by} refers to it"
                )
            elif new in self._taken(owner):
                self.left.append(
                    f"{self.source.marked.at(remark.path)}: the id `{old}` is left, as `{new}` is taken"
                )
            else:
                why = "made of its text; nothing on record refers to the old one"
                self._change(remark.path, span, new, "id-says-nothing", why)
                self.rubric = _with(self.rubric, owner, id=new)

    def version(self) -> None:
        """`rubric: 1` as the first key of a block mapping; any other place is not safe."""
        marked = self.source.marked
        root = marked.root
        if "rubric" in marked.value or self.is_json or not isinstance(root.children, dict):
            return
        key = next(iter(root.children.values()))[0]
        start = self._offset(key.line, key.column)
        if key.column != 1 or not self.text.startswith(key.raw or "\0", start):
            return
        end = re.search("\r\n|\n", self.text)
        line = f"rubric: {VERSION}"
        why = "says which version of the format this is"
        change = Change(
            place=f"{marked.name}:{key.line}:1", rule="version", before="", after=line, why=why
        )
        self.edits.append(_Edit(start, start, line + (end.group(0) if end else "\n"), change))

    # ----------------------------------------------------------------------------------------------
    # edits

    def _taken(self, owner: Steps) -> Collection[str]:
        """Ids that a new one must not be: of all criteria, or of the other items of the same
        criterion.
        """
        if len(owner) >= 2 and owner[-2] == "items":
            criterion = _get(self.rubric, owner[:-2])
            return {item.id for item in criterion.items}
        return {criterion.id for criterion, _ in self.rubric.walk()}

    def _offset(self, line: int, column: int) -> int:
        return self.lines[line - 1] + column - 1 if line <= len(self.lines) else len(self.text)

    def _span(self, path: Steps) -> tuple[int, int] | None:
        """The place of a scalar, quotes included; None for what is not there or written in another
        way (an alias).
        """
        marked = self.source.marked
        raw = marked.raw(path) if marked.has(path) else None
        if not raw:
            return None
        start = self._offset(*marked.position(path))
        for written in (raw, f"'{raw}'", f'"{raw}"'):
            if self.text.startswith(written, start):
                return start, start + len(written)
        return None

    def _change(self, path: Steps, span: tuple[int, int], new: str, rule: str, why: str) -> None:
        start, end = span
        old = self.text[start:end]
        is_text = rule != "weights-sum"
        # A word like null is only an id in quotes.
        needs = is_text and (self.is_json or scalar(new) != new)
        if old[0] in "'\"":
            quote = old[0]
        else:
            quote = '"' if needs else ""
        place = self.source.marked.at(path)
        change = Change(place=place, rule=rule, before=old.strip("'\""), after=new, why=why)
        self.edits.append(_Edit(start, end, f"{quote}{new}{quote}", change))

    def done(self) -> Fixed:
        text = self.text
        edits = sorted(self.edits, key=lambda edit: edit.start)
        for edit in reversed(edits):
            text = text[: edit.start] + edit.new + text[edit.end :]
        if edits:
            self._require_as_meant(text)
        return Fixed(text=text, changes=tuple(edit.change for edit in edits), left=tuple(self.left))

    def _require_as_meant(self, text: str) -> None:
        """An anchor used elsewhere, say, would change more than was meant: then nothing is written."""
        try:
            now: Rubric | None = parse_rubric(text, self.source.marked.name).rubric
        except UsageError:
            now = None
        if now != self.rubric:
            raise UsageError(
                "this file cannot be fixed without changing more than was meant",
                place=self.source.marked.at(()),
                hint="make the changes that `honestone rubric check` suggests by hand",
            )


# ----------------------------------------------------------------------------------------------------
# numbers


def scaled_to_100(weights: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """The same shares of 100, rounded to as many decimals as the weights have (or as it takes to
    keep all above 0).

    What rounding leaves over goes to the largest remainders; penalties are scaled by the same
    factor.
    """
    total = sum((weight for weight in weights if weight > 0), Fraction(0))
    decimals = max(len(number_text(weight).partition(".")[2]) for weight in weights)
    while True:
        unit = Fraction(1, 10**decimals)
        exact = [weight * 100 / total for weight in weights]
        whole = [
            value // unit * unit if value > 0 else round(value / unit) * unit for value in exact
        ]
        spare = round((100 - sum((value for value in whole if value > 0), Fraction(0))) / unit)
        order = sorted(
            (at for at, weight in enumerate(weights) if weight > 0),
            key=lambda at: (whole[at] - exact[at], at),
        )
        for at in order[: max(spare, 0)]:
            whole[at] += unit
        if all(
            (new > 0) == (old > 0) and (new < 0) == (old < 0)
            for new, old in zip(whole, weights, strict=True)
        ):
            return tuple(whole)
        decimals += 1


# ----------------------------------------------------------------------------------------------------
# rubrics


def _get(rubric: Rubric, path: Steps) -> Any:
    found: Any = rubric
    for name, index in _pairs(path):
        found = getattr(
            found, "children" if name == "criteria" and isinstance(found, Criterion) else name
        )[index]
    return found


def _pairs(path: Steps) -> Iterator[tuple[str, int]]:
    for at in range(0, len(path) - 1, 2):
        yield str(path[at]), int(path[at + 1])


def _with(rubric: Rubric, path: Steps, **changes: Any) -> Rubric:
    """The rubric with one criterion or item changed. A criterion that is its own question is
    renamed with it.
    """
    return replace(rubric, criteria=_changed(rubric.criteria, list(_pairs(path)), changes))


def _changed(
    group: tuple[Any, ...], steps: list[tuple[str, int]], changes: dict[str, object]
) -> tuple[Any, ...]:
    (_, index), *rest = steps
    entry = group[index]
    if not rest:
        new = replace(entry, **changes)
        if isinstance(new, Criterion) and "id" in changes:
            new = replace(new, items=tuple(_renamed(item, entry.id, new.id) for item in new.items))
    elif rest[0][0] == "items":
        new = replace(entry, items=_changed(entry.items, rest, changes))
    else:
        new = replace(entry, children=_changed(entry.children, rest, changes))
    return (*group[:index], new, *group[index + 1 :])


def _renamed(item: Item, old: str, new: str) -> Item:
    """An item that takes its id from its criterion: the criterion itself, or its check next to
    anchors.
    """
    if item.whole:
        return replace(item, id=new)
    return replace(item, id=f"{new}-check") if item.id == f"{old}-check" else item
