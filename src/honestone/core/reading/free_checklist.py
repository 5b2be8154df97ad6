"""Checklists in free text: which of the given items a reply says yes or no to.

An item is recognised by its own words, or by its number in the list; letter case, punctuation and
numbering do not count. Where a reply answers a number that the list does not have, none of its
answers is trusted. What is missing, stated twice, or neither yes nor no is None with a problem; it
is never counted as a no.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from honestone.core.json_value import late_pattern
from honestone.core.reading import json_text, tolerant_json
from honestone.core.reading.free_text import as_yes_no, prepared


class ChecklistReading(Struct, frozen=True):
    """Each item with True, False or None; None altogether when the reply holds no checklist."""

    answer: Mapping[str, bool | None] | None
    problems: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


def read_checklist(text: str, items: Sequence[str]) -> ChecklistReading:
    """A reply that is cut off yields no checklist: what it would have said next is not known."""
    body, dropped = prepared(text)
    if not body.strip():
        return ChecklistReading(None, ("the reply is empty",), dropped)
    names = _Names(items)
    scan = json_text.objects_in(body)
    if scan.given_up:
        return ChecklistReading(None, (f"the reply cannot be read: {scan.given_up}",), dropped)
    if scan.unfinished:
        return ChecklistReading(
            None, ("the reply is cut off before its JSON object ends",), dropped
        )
    written = [
        (found, tally) for found in scan.found if (tally := _best_tally(found.value, names)).answers
    ]
    if not written:
        return _from_lines(json_text.outside(body, scan), names, dropped)
    found, tally = written[-1]
    if any(part.why is json_text.Skip.ABANDONED for part in scan.abandoned_after(found.end)):
        return ChecklistReading(
            None, ("ambiguous: a damaged JSON object follows the checklist",), dropped
        )
    if any(other.answers != tally.answers for _, other in written):
        return ChecklistReading(None, ("ambiguous: the reply holds different checklists",), dropped)
    return _reading(
        tally, names, (*dropped, *json_text.around_repairs(body, found), *found.repairs)
    )


class _Tally(Struct):
    """What a reply states about the items: their answers, and numbers that it answers and the list
    does not have.
    """

    answers: dict[str, bool | None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    off_list: list[str] = field(default_factory=list)

    def note(self, item: str, answer: bool | None, problem: str | None) -> None:
        if item in self.answers:
            answer, problem = None, f"answered twice: {item}"
        self.answers[item] = answer
        if problem:
            self.problems.append(problem)


class _Names:
    """Finds the item that a name means. Two items that differ only in signs differ by their exact
    words.
    """

    def __init__(self, items: Sequence[str]) -> None:
        self.items = tuple(items)
        self.exact = set(items)
        self.plain: dict[str, str | None] = {}
        for item in items:
            self.plain[_bare(item)] = None if _bare(item) in self.plain else item

    def find(self, name: str) -> str | None:
        name = name.strip()
        if name in self.exact:
            return name
        number = self._number(name)
        if number is not None:
            index = number - 1
            return self.items[index] if 0 <= index < len(self.items) else None
        unnumbered = _NUMBERING.sub("", name)
        return self.plain.get(_bare(name)) or (
            unnumbered if unnumbered in self.exact else self.plain.get(_bare(unnumbered))
        )

    def is_off_list(self, name: str) -> bool:
        """Whether a name is a number that no item has."""
        number = self._number(name.strip())
        return number is not None and not 0 < number <= len(self.items)

    def _number(self, name: str) -> int | None:
        if name in self.exact or _bare(name) in self.plain:
            return None
        match = re.fullmatch(r"\W*(?:item[ _-]?|q)?(\d{1,4})\W*", name, re.IGNORECASE)
        return int(match[1]) if match else None


_NUMBERING = late_pattern(r"^\s*(?:[-*+•]\s+)?(?:\[?\(?\d{1,4}[.):\]]+\s*)?")


def _bare(text: str) -> str:
    """The letters and digits of a name, without case."""
    return " ".join(re.findall(r"\w+", text.casefold()))


# --------------------------------------------------------------------------------------------------------------
# JSON


def _best_tally(value: object, names: _Names) -> _Tally:
    """The object that names most items, of an object and the objects in it; the outer one when they
    name equally many.
    """
    tallies = [_tally(mapping, names) for mapping in _mappings(value)]
    return max(tallies, key=lambda tally: len(tally.answers), default=_Tally())


def _mappings(value: object, depth: int = 4) -> Iterator[list[tuple[str, object, bool]]]:
    """Everything in a reply that can be a checklist, as (name, answer, named twice): objects, and
    lists of items.
    """
    if depth == 0:
        return
    if isinstance(value, dict):
        twice = tolerant_json.doubled_keys(value)
        yield [(key, given, key in twice) for key, given in value.items()]
        for given in value.values():
            yield from _mappings(given, depth - 1)
    elif isinstance(value, list):
        rows = [row for row in value if isinstance(row, dict)]
        yield [(name, row, False) for row in rows if (name := _row_name(row))]


_NAME_KEYS: Final = ("item", "requirement", "question", "criterion", "text", "name", "id", "number")
_ANSWER_KEYS: Final = (
    "answer",
    "met",
    "verdict",
    "passed",
    "pass",
    "checked",
    "result",
    "satisfied",
    "value",
)


def _row_name(row: Mapping[str, object]) -> str | None:
    return next((str(row[key]) for key in _NAME_KEYS if isinstance(row.get(key), str | int)), None)


def _tally(rows: Sequence[tuple[str, object, bool]], names: _Names) -> _Tally:
    tally = _Tally()
    unknown = []
    for name, given, twice in rows:
        item = names.find(name)
        if item is None:
            unknown.append(name)
            if names.is_off_list(name):
                tally.off_list.append(name)
            continue
        if isinstance(given, dict):
            key = next((key for key in _ANSWER_KEYS if key in given), None)
            twice = twice or key in tolerant_json.doubled_keys(given)
            given = given[key] if key else None
        answer = None if twice else as_yes_no(given)
        problem = f"expected yes or no, got {_shown(given)}: {item}" if answer is None else None
        tally.note(item, answer, f"answered twice: {item}" if twice else problem)
    if tally.answers:
        tally.problems += [
            f"not one of the items, ignored: {tolerant_json.clean_text(name[:80])}"
            for name in unknown[:10]
        ]
    return tally


def _shown(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return repr(tolerant_json.clean_text(value[:40]))
    return (
        repr(value) if isinstance(value, int | float | tolerant_json.Unusable) else "something else"
    )


# -------------------------------------------------------------------------------------------------------------
# lines


_BOX = late_pattern(
    r"^\s*(?:[-*+•]\s*|\d{1,4}[.)]\s*)?(?:\[([ xX✓✗-]?)\]|([☐☑☒✅❌✓✔✗✘]))\s*(.+?)\s*$"
)
_ANSWERED = late_pattern(
    r"^(.*?)(?:^|[\s:–—=|>-]+)\W*(yes|no|true|false|pass(?:ed)?|fail(?:ed)?|met|unmet|not met)\W*$",
    re.IGNORECASE,
)
_MARKUP = late_pattern(r"[*`~]+|(?<!\w)_+|_+(?!\w)")
_TICKED: Final = frozenset("xX✓☑☒✅✔")


def _from_lines(body: str, names: _Names, dropped: tuple[str, ...]) -> ChecklistReading:
    """`- [x] item`, `1. item? Yes`, `item: no`, `2. no`."""
    tally = _Tally()
    for line in body.splitlines():
        answered = _line_answer(_MARKUP.sub("", line)[:5000])
        if answered is None:
            continue
        name, answer = answered
        if item := names.find(name):
            tally.note(item, answer, None)
        elif names.is_off_list(name):
            tally.off_list.append(name)
    if not tally.answers:
        return ChecklistReading(None, ("no checklist was found",), dropped)
    return _reading(tally, names, (*dropped, "read from lines of text"))


def _line_answer(line: str) -> tuple[str, bool] | None:
    """What a line names, an item or not, and what it answers."""
    if box := _BOX.match(line):
        mark = box[1] if box[1] is not None else box[2]
        # A crossed box is a tick in a list of [x], and a no where it stands as a sign of its own.
        return box[3], mark in _TICKED and mark != "☒"
    if answered := _ANSWERED.match(line):
        answer = as_yes_no(answered[2])
        name = answered[1].rstrip(" :–—=|>-")
        return (name, answer) if name and answer is not None else None
    return None


def _reading(tally: _Tally, names: _Names, repairs: tuple[str, ...]) -> ChecklistReading:
    if tally.off_list:
        shown = ", ".join(repr(tolerant_json.clean_text(name[:20])) for name in tally.off_list[:3])
        why = f"the reply answers numbers that the list does not have: {shown}; none of its numbers can be trusted"
        return ChecklistReading(dict.fromkeys(names.items), (why,), repairs)
    missing = [f"not answered: {item}" for item in names.items if item not in tally.answers]
    answer = {item: tally.answers.get(item) for item in names.items}
    return ChecklistReading(answer, (*tally.problems, *missing), repairs)
