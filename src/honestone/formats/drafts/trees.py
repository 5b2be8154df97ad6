"""Criteria in YAML or JSON of an unknown shape: the list or mapping whose entries look most like
criteria.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from honestone.formats.drafts.found import (
    LEFT_OUT,
    FoundCriterion,
    Notes,
    has_role,
    number_in,
    plain_name,
    word_levels,
)
from honestone.formats.syntax.marked import Marked
from honestone.formats.syntax.nodes import MapKey
from honestone.formats.syntax.reader import value_at

_Path = tuple[MapKey, ...]

_DEEPEST: Final = 8


def criteria_in_tree(marked: Marked, notes: Notes) -> tuple[str, list[FoundCriterion]]:
    """The title of a tree and its criteria; none where no part of it looks like criteria."""
    reading = _Reading(marked, notes)
    best: tuple[int, _Path] | None = None
    for path, value in _parts(marked.value):
        strength = _strength(path, value)
        if strength and (best is None or strength > best[0]):
            best = strength, path
    if best is None:
        return "", []
    path = best[1]
    if path:
        notes.take(_key_of(path), "criteria", marked.at(path))
    found = reading.criteria(path)
    title = reading.title(path)
    reading.leave_out_around(path)
    return title, found


def _parts(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    """Every list and mapping, what is further up first."""
    level: list[tuple[_Path, Any]] = [(path, value)]
    for _ in range(_DEEPEST):
        below: list[tuple[_Path, Any]] = []
        for at, one in level:
            if isinstance(one, dict | list):
                yield at, one
                below += [
                    ((*at, key), part)
                    for key, part in (one.items() if isinstance(one, dict) else enumerate(one))
                ]
        level = below


def _strength(path: _Path, value: Any) -> int:
    """How much a part looks like criteria; 0: not at all. Levels of a scale look like criteria and
    are not.
    """
    if path and plain_name(path[-1]).endswith(
        ("level", "levels", "scale", "anchors", "descriptors")
    ):
        return 0
    is_named = bool(path) and isinstance(path[-1], str) and has_role(path[-1], "holds")
    if isinstance(value, list):
        entries = [one for one in value if isinstance(one, dict) and _name_key(one) is not None]
        if not entries or len(entries) < len(value):
            return 1 if is_named and _texts(value) and len(value) > 1 else 0
    else:
        entries = [one for one in value.values() if isinstance(one, dict)]
        if is_named and value and not entries and _is_by_name(value):
            return 2
        if not is_named or not entries or len(entries) < len(value):
            return 0
    marked = sum(_is_marked(one) for one in entries)
    named = sum(any(isinstance(one[key], str) for key in _keys(one, "name")) for one in entries)
    described = sum(
        any(isinstance(one[k], str) and k != _name_key(one) for k in _keys(one, "text"))
        for one in entries
    )
    if not marked and not named and not (is_named and (described or isinstance(value, list))):
        return 0
    return 2 * is_named + (marked == len(entries)) + bool(named) + (len(entries) > 1)


def _is_marked(entry: Mapping[Any, Any]) -> bool:
    """Whether an entry has a weight, levels or items, by its keys and by what they hold."""
    weighs = any(number_in(entry[key]) is not None for key in _keys(entry, "weight"))
    lists = any(_texts(entry[key]) for key in _keys(entry, "items"))
    return weighs or lists or any(_is_scale(entry[key]) for key in _keys(entry, "levels"))


def _is_scale(value: object) -> bool:
    """{4: bold, 1: absent}, or entries that each have a number and are not criteria of their own."""
    if isinstance(value, dict) and not any(isinstance(one, dict) for one in value.values()):
        return len(value) > 1 and all(number_in(key) is not None for key in value)
    if isinstance(value, dict):
        rows = list(value.values())
    elif isinstance(value, list):
        rows = value
    else:
        return False
    return len(rows) > 1 and all(isinstance(row, dict) and _is_level(row) for row in rows)


def _is_level(row: Mapping[Any, Any]) -> bool:
    numbers = any(number_in(row[key]) is not None for key in _keys(row, "value"))
    return numbers and not any(_texts(value) for value in row.values()) and not _keys(row, "name")


def _is_by_name(value: Mapping[Any, Any]) -> bool:
    """{Thesis: 40}, {Thesis: a bold claim} or {Thesis: [a, b]}."""
    kinds = {type(one) for one in value.values()}
    if kinds <= {int, float}:
        return True
    return (kinds == {str} and not any(has_role(k, "title", "text", "weight") for k in value)) or (
        kinds == {list} and all(_texts(one) for one in value.values())
    )


def _name_key(entry: Mapping[Any, Any]) -> str | None:
    """The key that holds an entry's name; the text of one that has no name, and its id where it has
    no text either.
    """
    keys_of_text = [key for key, value in entry.items() if isinstance(value, str) and value.strip()]
    for role in ("name", "weak", "text", "id"):
        for key in keys_of_text:
            if has_role(key, role) and (role == "id" or plain_name(key) != "id"):
                return str(key)
    return None


def _keys(entry: Mapping[Any, Any], *roles: str) -> list[Any]:
    return [key for key in entry if has_role(key, *roles)]


def _texts(value: object) -> list[str]:
    """A list of texts and nothing else."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return []
    return [one for one in value if one.strip()]


def _key_of(path: Sequence[MapKey]) -> str:
    return next((str(step) for step in reversed(path) if isinstance(step, str)), "list")


class _Reading:
    def __init__(self, marked: Marked, notes: Notes) -> None:
        self.marked = marked
        self.notes = notes

    def take(self, path: _Path, purpose: str) -> None:
        self.notes.take(_key_of(path), purpose, self.marked.key_at(path))

    def value(self, path: _Path) -> Any:
        return value_at(self.marked.value, path)

    def title(self, path: _Path) -> str:
        """The nearest title around the criteria."""
        for length in range(len(path) - 1, -1, -1):
            around = self.value(path[:length])
            for key in _keys(around, "title") if isinstance(around, dict) else ():
                if isinstance(around[key], str) and (*path[:length], key) != path:
                    self.take((*path[:length], key), "title")
                    return str(around[key])
        return ""

    def leave_out_around(self, path: _Path) -> None:
        """What is next to the criteria, and was not taken."""
        seen = {one.place for one in self.notes.taken}
        for length in range(len(path)):
            around = self.value(path[:length])
            for key in around if isinstance(around, dict) else ():
                other = (*path[:length], key)
                if other != path[: length + 1] and self.marked.key_at(other) not in seen:
                    self.take(other, LEFT_OUT)

    def criteria(self, path: _Path) -> list[FoundCriterion]:
        value = self.value(path)
        if isinstance(value, list):
            return [self._entry((*path, index), None) for index in range(len(value))]
        return [self._entry((*path, name), str(name)) for name in value]

    def _entry(self, path: _Path, name: str | None) -> FoundCriterion:
        entry, place = self.value(path), self.marked.at(path)
        if not isinstance(entry, dict):
            return self._bare(path, name, entry, place)
        key = None if name is not None else _name_key(entry)
        if key is not None:
            self.take((*path, key), "criterion")
        elif name is not None:
            self.notes.take("keys", "criterion", place)
        found = FoundCriterion(name=name or str(entry.get(key, "")) or "criterion", place=place)
        graded = word_levels([str(part) for part in entry if isinstance(entry[part], str)])
        found.levels = {level: f"{part}: {entry[part]}" for part, level in graded.items()}
        for part in entry:
            if part in graded:
                self.take((*path, part), f"level {graded[part]}")
            elif part != key:
                self._part((*path, part), found)
        return found

    def _bare(self, path: _Path, name: str | None, entry: Any, place: str) -> FoundCriterion:
        """An entry that is a text, a weight or a list of texts."""
        if name is None:
            self.notes.take(_key_of(path), "criterion", place)
            return FoundCriterion(name=str(entry), place=place)
        self.notes.take("keys", "criterion", place)
        found = FoundCriterion(name=name, place=place)
        if isinstance(entry, str):
            self.notes.take("values", "requirement", place)
            found.text = entry
        elif isinstance(entry, list):
            self.notes.take("values", "items", place)
            found.items = _texts(entry)
        else:
            self.notes.take("values", "weight", place)
            found.weight = self._number(path)
        return found

    def _part(self, path: _Path, found: FoundCriterion) -> None:
        """One key of an entry, taken by its name and what it holds; anything else is left out."""
        key, value = path[-1], self.value(path)
        if (
            has_role(key, "weight")
            and found.weight is None
            and (weight := self._number(path)) is not None
        ):
            found.weight = weight
            self.take(path, "weight")
        elif has_role(key, "levels") and (levels := self._levels(path)):
            found.levels = levels
            self.take(path, "levels")
        elif has_role(key, "items", "text") and (texts := _texts(value)):
            found.items += texts
            self.take(path, "items")
        elif has_role(key, "children") and isinstance(value, list) and _strength(path, value):
            found.children = self.criteria(path)
            self.take(path, "criteria")
        elif has_role(key, "text") and isinstance(value, str) and value.strip() and not found.text:
            found.text = value
            self.take(path, "requirement")
        elif value not in (None, "", [], {}):
            self.take(path, LEFT_OUT)

    def _number(self, path: _Path) -> Fraction | None:
        try:
            return self.marked.number(path)
        except ValueError:
            return number_in(self.value(path))

    def _levels(self, path: _Path) -> dict[Fraction, str]:
        """{4: bold, 1: absent}, [{score: 4, description: bold}, ...] or {excellent: {score: 4,
        ...}}; numbers each once.
        """
        value = self.value(path)
        if (
            isinstance(value, list)
            and value
            and all(isinstance(one, dict) and len(one) == 1 for one in value)
        ):
            value = {name: meaning for one in value for name, meaning in one.items()}
        if isinstance(value, dict) and all(isinstance(meaning, str) for meaning in value.values()):
            graded = word_levels(map(str, value))
            if graded.keys() == set(map(str, value)):
                return {graded[str(name)]: f"{name}: {meaning}" for name, meaning in value.items()}
        pairs: list[tuple[Fraction | None, str]] = []
        if isinstance(value, dict):
            for name, meaning in value.items():
                if isinstance(meaning, dict):
                    pairs.append(self._level((*path, name), str(name)))
                else:
                    pairs.append((number_in(name), str(meaning)))
        elif isinstance(value, list):
            pairs = [
                self._level((*path, n), "") if isinstance(one, dict) else (None, "")
                for n, one in enumerate(value)
            ]
        numbers = [number for number, _ in pairs if number is not None]
        if len(numbers) < 2 or len(numbers) < len(pairs) or len(set(numbers)) < len(numbers):
            return {}
        return {number: text for number, text in pairs if number is not None}

    def _level(self, path: _Path, label: str) -> tuple[Fraction | None, str]:
        entry = self.value(path)
        number = next(
            (
                self._number((*path, k))
                for k in _keys(entry, "value")
                if not isinstance(entry[k], str)
            ),
            None,
        )
        texts = [str(v) for k, v in entry.items() if isinstance(v, str) and v.strip()]
        return number, ": ".join([*([label] if label else []), *texts])
