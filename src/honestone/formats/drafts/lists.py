"""Criteria in a text: tables, headings with checklists below them, and bullets that name a weight."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from honestone.core.json_value import late_pattern
from honestone.formats.drafts.found import LEFT_OUT, FoundCriterion, Notes, number_in
from honestone.formats.drafts.tables import NO_HEADING, criteria_in, plain

_HEADING: Final = late_pattern(r" {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*")
_ENTRY: Final = late_pattern(
    r"([ \t]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[([ xX])\][ \t]*)?(\S.*)|([ \t]*)[☐☑☒□][ \t]*(\S.*)"
)
_FENCE: Final = late_pattern(r" {0,3}(`{3,}|~{3,})")
_RULE: Final = late_pattern(r"[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*")
_WEIGHT: Final = late_pattern(
    r"(?P<name>.*?\S)\s*(?:[(\[]\s*(?P<in>[^()\[\]]{1,25})[)\]]|[-–—:,]\s*(?P<behind>\d[\d.,]*\s*(?:%|points?|pts?|marks?)))\s*:?\s*(?P<rest>.*)"
)
_UNIT: Final = late_pattern(r"%|percent|points?|pts?|marks?|점|weight", re.IGNORECASE)
_ABOUT: Final = late_pattern(
    r"\b(?:rubric|criteri|checklist|grading|assess|evaluat|requirement|review|marking|scoring|must|quality)|기준|채점|평가",
    re.IGNORECASE,
)


@dataclass(kw_only=True)
class _Section:
    """A heading with what is below it, up to the next one."""

    title: str
    level: int
    line: int
    boxes: list[tuple[int, str, int]] = field(default_factory=list)
    bullets: list[tuple[int, str, int]] = field(default_factory=list)


def criteria_in_text(text: str, name: str, notes: Notes) -> tuple[str, list[FoundCriterion]]:
    """The title of a text and its criteria: those of its tables, else its checklists, else bullets
    with weights.
    """
    lines = text.split("\n")
    sections = list(_sections(lines))
    title = next((plain(one.title) for one in sections if one.level == 1), "")
    if title:
        notes_title = next(one for one in sections if one.level == 1)
    found = list(_of_tables(lines, name, notes))
    if not found and any(one.boxes for one in sections):
        found = list(_of_boxes(sections, name, notes))
    if not found:
        found = list(_of_bullets(sections, name, notes))
    if found and title and notes_title.title not in [one.name for one in found]:
        notes.take(notes_title.title, "title", f"{name}:{notes_title.line}")
    return title, found


def _sections(lines: Sequence[str]) -> Iterator[_Section]:
    """The first has no heading. What is in code fences is not looked at."""
    section, fence = _Section(title="", level=0, line=1), ""
    for number, line in enumerate(lines, 1):
        mark = _FENCE.match(line)
        if fence:
            if line.strip().startswith(fence):
                fence = ""
            continue
        if mark:
            fence = mark[1]
            continue
        if heading := _HEADING.fullmatch(line):
            yield section
            section = _Section(title=heading[2], level=len(heading[1]), line=number)
        elif entry := _ENTRY.fullmatch(line):
            words = plain(entry[3] or entry[5])
            if entry[2] is not None or entry[5] is not None:
                section.boxes.append(
                    (len((entry[1] or entry[4] or "").expandtabs(4)), words, number)
                )
            else:
                section.bullets.append((len(entry[1].expandtabs(4)), words, number))
    yield section


def _of_boxes(sections: Sequence[_Section], name: str, notes: Notes) -> Iterator[FoundCriterion]:
    """A heading with boxes is a criterion; without any heading each box is one."""
    for one in sections:
        if not one.boxes:
            continue
        place = f"{name}:{one.line}"
        if not one.title:
            yield from _nested_boxes(one, name, notes)
            continue
        called, weight, rest = _weighed(plain(one.title))
        notes.take(one.title, "criterion" if weight is None else "criterion and weight", place)
        notes.take("- [ ]", "item", place)
        yield FoundCriterion(
            name=called,
            text=rest,
            place=place,
            weight=weight,
            items=[words for _, words, _ in one.boxes],
        )
    for one in sections:
        if one.bullets and not one.boxes:
            notes.take(one.title or "text", LEFT_OUT, f"{name}:{one.line}")
        for _, words, line in one.bullets if one.boxes else ():
            notes.take(words, LEFT_OUT, f"{name}:{line}")


def _nested_boxes(section: _Section, name: str, notes: Notes) -> Iterator[FoundCriterion]:
    """Boxes without a heading: each is a criterion, and those further in are its items."""
    current: FoundCriterion | None = None
    depth = 0
    for indent, words, line in section.boxes:
        if current is not None and indent > depth:
            current.items.append(words)
            notes.take("- [ ] further in", "item", f"{name}:{line}")
            continue
        if current is not None:
            yield current
        called, weight, rest = _weighed(words)
        notes.take(
            "- [ ]", "criterion" if weight is None else "criterion and weight", f"{name}:{line}"
        )
        current, depth = (
            FoundCriterion(name=called, text=rest, weight=weight, place=f"{name}:{line}"),
            indent,
        )
    if current is not None:
        yield current


def _of_bullets(sections: Sequence[_Section], name: str, notes: Notes) -> Iterator[FoundCriterion]:
    """Bullets that name weights, with those below each as its items; or bullets under a heading
    that names a weight, or in a text that says that it holds criteria.
    """
    is_about = any(_ABOUT.search(one.title) for one in sections)
    for one in sections:
        called, weight, rest = _weighed(plain(one.title))
        place = f"{name}:{one.line}"
        weighed = [bullet for bullet in one.bullets if _weighed(bullet[1])[1] is not None]
        if weighed and weight is None:
            yield from _weighed_bullets(one, name, notes)
        elif one.bullets and one.title and (weight is not None or is_about):
            notes.take(one.title, "criterion" if weight is None else "criterion and weight", place)
            notes.take("bullets", "items", place)
            items = [words for _, words, _ in one.bullets]
            yield FoundCriterion(name=called, text=rest, place=place, weight=weight, items=items)
        elif weight is not None:
            notes.take(one.title, "criterion and weight", place)
            yield FoundCriterion(name=called, text=rest, place=place, weight=weight)


def _weighed_bullets(section: _Section, name: str, notes: Notes) -> Iterator[FoundCriterion]:
    current: FoundCriterion | None = None
    depth = 0
    for indent, words, line in section.bullets:
        called, weight, rest = _weighed(words)
        if weight is not None and (current is None or indent <= depth):
            if current is not None:
                yield current
            current, depth = (
                FoundCriterion(name=called, text=rest, weight=weight, place=f"{name}:{line}"),
                indent,
            )
            notes.take("bullet with a weight", "criterion and weight", f"{name}:{line}")
        elif current is not None and indent > depth:
            current.items.append(words)
            notes.take("bullets below", "items", f"{name}:{line}")
        else:
            notes.take(words, LEFT_OUT, f"{name}:{line}")
    if current is not None:
        yield current


def _weighed(words: str) -> tuple[str, Fraction | None, str]:
    """A name, the weight that it carries (`Thesis (40%): a bold claim`), and what is behind it."""
    match = _WEIGHT.fullmatch(words[:500])
    written = (match["in"] or match["behind"]) if match else None
    weight = number_in(_without_word(written)) if written and _UNIT.search(written) else None
    if match is None or weight is None:
        return words, None, ""
    return match["name"].strip(" :–—-"), weight, match["rest"].strip(" :–—-")


def _without_word(written: str) -> str:
    return re.sub(r"\b(?:weight|worth|max|maximum)\b\W*", "", written, flags=re.IGNORECASE)


def _of_tables(lines: Sequence[str], name: str, notes: Notes) -> Iterator[FoundCriterion]:
    at = 1
    while at < len(lines):
        if "|" not in lines[at - 1] or "|" not in lines[at] or not _RULE.fullmatch(lines[at]):
            at += 1
            continue
        first, *others = _cells(lines[at - 1])
        header = [first or NO_HEADING, *others]
        end = at + 1
        while end < len(lines) and "|" in lines[end]:
            end += 1
        rows = [
            (f"{name}:{number + 1}", dict(zip(header, _cells(lines[number]), strict=False)))
            for number in range(at + 1, end)
        ]
        yield from criteria_in(rows, [plain(column) for column in header], f"{name}:{at}", notes)
        at = end + 1


def _cells(line: str) -> list[str]:
    inside = line.strip().removeprefix("|")
    inside = inside[:-1] if inside.endswith("|") and not inside.endswith("\\|") else inside
    return [plain(cell) for cell in re.split(r"(?<!\\)\|", inside)]
