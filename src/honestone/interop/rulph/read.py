"""rulph's Evaluation Contract: the Markdown table of criteria, weights and sub-items in a contract
or a saved report.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from msgspec import Struct

from honestone.core.errors import UsageError
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Criterion, Item, Rubric, problems, slug
from honestone.core.numbers import ZERO, exact
from honestone.formats.rubric.rubric_file import UncheckedRubric
from honestone.formats.source import ForeignRubric, SourceErrors
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.marked import Marked
from honestone.formats.syntax.nodes import Spot, node_of
from honestone.formats.syntax.reader import Steps
from honestone.interop.criteria import checklist, scaled, yes_no
from honestone.interop.reader import Formats, Reader

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables

HEADING: Final = late_pattern(r"(?m)^#{1,6}[ \t].*\bEvaluation Contract\b")
REPORT: Final = late_pattern(
    r"(?mi)^#{1,6}[ \t].*\b(?:rubric-loop|rulph)\b|^#{1,6}[ \t]+(?:Score History|Final Scores)\b"
)
FROM_0_TO_100: Final = {ZERO: "not met at all", Fraction(100): "met in full"}

_MAX_ROUNDS: Final = r"max(?:imum|\.)?[ _-]rounds"
# As `--rounds` takes them.
_MOST_ROUNDS: Final = 100
_BOX: Final = "□☐☑☒■▢"
_BOXED: Final = late_pattern(rf"(?:^|\s*·?\s*)(?:[{_BOX}]|-?\s*\[[ xX]\])\s*")
_LEVEL: Final = late_pattern(r"(-?\d{1,9}(?:\.\d{1,9})?)\s*[:=]\s*(.+)", re.DOTALL)
_BAR: Final = late_pattern(r"(?<!\d)(\d{1,9}(?:\.\d{1,9})?)(?!\d)\s*(?:/\s*100|%|points?)?")


# ----------------------------------------------------------------------------------------------------
# reading


class _Row(Struct, frozen=True):
    """One row of the table: its line in the file, and its cells by column with the place of each."""

    line: int
    cells: dict[str, tuple[str, int]]


class _Contract:
    """One reading of a Markdown file."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines = text.split("\n")
        self.errors: list[UsageError] = []
        start = next((n for n, line in enumerate(self.lines) if HEADING.match(line)), None)
        if start is None:
            raise SourceErrors([_lacks_contract(text, name)])
        self.rows = self._table(start + 1)
        criteria = tuple(self._criteria())
        self.threshold, self.threshold_line = self._bar("threshold", start)
        self.floor, self.floor_line = self._bar("floor", start)
        self.rounds = self._rounds(start)
        if self.threshold is None:
            self._error(
                "the contract names no threshold",
                start + 1,
                1,
                "write **Threshold**: 90/100 above the table",
            )
        draft = UncheckedRubric(
            title=self._title(start),
            threshold=self.threshold or ZERO,
            floor=self.floor or ZERO,
            criteria=criteria,
        )
        if not self.errors:
            self._keep_the_rules(draft)
        if self.errors:
            raise SourceErrors(
                sorted(
                    self.errors, key=lambda error: int((error.place or "::0:0").rsplit(":", 2)[1])
                )
            )
        self.rubric = Rubric(
            title=draft.title, threshold=draft.threshold, floor=draft.floor, criteria=criteria
        )

    def _error(self, message: str, line: int, column: int = 1, hint: str | None = None) -> None:
        self.errors.append(UsageError(message, place=f"{self.name}:{line}:{column}", hint=hint))

    def _keep_the_rules(self, draft: UncheckedRubric) -> None:
        lines = {"threshold": self.threshold_line, "floor": self.floor_line}
        for found in problems(draft):  # type: ignore[arg-type]
            at = found.path
            line = (
                self.rows[at[1]].line
                if len(at) > 1 and isinstance(at[1], int)
                else lines.get(str(at[0]), 1)
            )
            self._error(found.message, line or 1, 1, found.hint)

    def _title(self, before: int) -> str:
        """The document's own heading, where it is not the name of the report."""
        found = (re.match(r"#[ \t]+(.+)", line) for line in self.lines[:before])
        title = next((match[1].strip() for match in found if match), "")
        return "" if REPORT.match(f"# {title}") else _cell_text(title)

    def _bar(self, word: str, start: int) -> tuple[Fraction | None, int | None]:
        """`**Threshold**: 90/100` of the contract, else `threshold 90/100` of the report's own
        summary.
        """
        named = self._value_above(word, start)
        if named is None:
            return None, None
        line, number, end = named
        bar = _BAR.search(line, end)
        if bar is None:
            self._error(f"the {word} is not a number", number, end + 1, "write it as 90/100")
            return ZERO, number
        return exact(bar[1]) / 100, number

    def _rounds(self, start: int) -> int | None:
        """`**Max rounds**: 5`: how many rounds of improvement follow the first scoring, as
        `--rounds` counts them.
        """
        named = self._value_above(_MAX_ROUNDS, start)
        if named is None:
            return None
        line, number, end = named
        stated = re.search(r"\S.*", line[end:].strip(" \t*_`:="))
        found = re.match(r"(\d{1,9})(?![\d.,])", stated[0]) if stated else None
        if found is None or not 1 <= int(found[1]) <= _MOST_ROUNDS:
            hint = "write it as **Max rounds**: 5, or leave the line out"
            self._error(
                f"Max rounds is not a whole number from 1 to {_MOST_ROUNDS}", number, end + 1, hint
            )
            return None
        return int(found[1])

    def _value_above(self, word: str, start: int) -> tuple[str, int, int] | None:
        """The line above the table that gives a value for `word` (a pattern), its number, and where
        in it the value begins.
        """
        above_table = self.rows[0].line if self.rows else len(self.lines)
        for number, whole in enumerate(self.lines[:above_table], 1):
            line = whole[:200]
            if number <= start and not re.match(r"\W*rubric\W", line, re.IGNORECASE):
                continue
            named = re.match(
                rf"[\W_]*(?:per-criterion |pass )?{word}[\W_]*?[:\s]", line, re.IGNORECASE
            )
            inside = named or re.search(rf"\b{word}\b\s*[:=]?\s*(?=\d)", line, re.IGNORECASE)
            if inside is not None:
                return line, number, inside.end()
        return None

    # ------------------------------------------------------------------------------------------ the
    # table

    def _table(self, start: int) -> list[_Row]:
        """The rows of the first table below the heading that has criteria and weights."""
        for number in range(start, len(self.lines) - 1):
            if HEADING.match(self.lines[number]) is None and re.match(
                r"#{1,6}[ \t]", self.lines[number]
            ):
                break
            names = [_column(cell) for cell, _ in _cells(self.lines[number])]
            if {"criterion", "weight"} <= set(names) and _is_ruler(self.lines[number + 1]):
                return list(self._rows(names, number + 2))
        self._error(
            "the contract has no table with the columns Criterion and Weight",
            start,
            1,
            "| # | Criterion | Weight | Sub-items |",
        )
        return []

    def _rows(self, names: list[str], start: int) -> Iterator[_Row]:
        for number in range(start, len(self.lines)):
            cells = _cells(self.lines[number])
            if not cells:
                if re.match(r"\s*\.\.\.\s*$", self.lines[number]):
                    self._error(
                        "the table continues with `...`", number + 1, 1, "write out every criterion"
                    )
                return
            if len(cells) != len(names):
                self._error(
                    f"this row has {len(cells)} cells, but the table has {len(names)} columns",
                    number + 1,
                    1,
                    "a `|` inside a cell is written as \\|",
                )
                continue
            yield _Row(number + 1, dict(zip(names, cells, strict=True)))

    def _criteria(self) -> Iterator[Criterion]:
        for row in self.rows:
            name = _cell_text(row.cells["criterion"][0].strip("*_`"))
            weight = self._weight(row)
            if not name:
                self._error("this criterion has no name", row.line, row.cells["criterion"][1])
                name = f"\0{row.line}"
            described = (
                _cell_text(row.cells["description"][0]) if "description" in row.cells else ""
            )
            marks = row.cells["sub-items"][0] if "sub-items" in row.cells else ""
            yield self._criterion(name, described or name, weight, marks, row)

    def _weight(self, row: _Row) -> Fraction:
        cell, column = row.cells["weight"]
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?%?", cell)
        if match is None:
            self._error(
                f'the weight "{cell[:40]}" is not a number', row.line, column, "write it as 20%"
            )
        return exact(match[1]) if match else Fraction(1)

    def _criterion(
        self, id: str, requirement: str, weight: Fraction, marks: str, row: _Row
    ) -> Criterion:
        boxed = (
            [_cell_text(part) for part in _BOXED.split(marks)[1:]] if _BOXED.search(marks) else []
        )
        if not all(boxed):
            self._error(f"an item of `{id}` has no text", row.line, row.cells["sub-items"][1])
        if len(boxed) == 1 and boxed[0] == requirement:
            return yes_no(id, requirement, weight=weight)
        if boxed:
            items = [Item(id=slug(text), requirement=text) for text in boxed]
            return checklist(id, items, requirement, weight=weight)
        levels = _levels(marks)
        if marks and not levels:
            self._error(
                f"the sub-items of `{id}` are not a checklist",
                row.line,
                row.cells["sub-items"][1],
                "write □ before each: □ Has a title · □ Has a date; or levels: 0: none · 100: full",
            )
        return scaled(id, requirement, levels or FROM_0_TO_100, weight=weight)

    # ------------------------------------------------------------------------------------------
    # places

    def marked(self) -> Marked:
        """The rubric as marked values, so that remarks about it have a place in the Markdown file."""
        lines = {"threshold": self.threshold_line, "floor": self.floor_line}
        spots: dict[Steps, Spot] = {
            (key,): (line, 1) for key, line in lines.items() if line is not None
        }
        value: dict[str, object] = {
            str(key): float(getattr(self.rubric, str(key)) * 100) for (key,) in spots
        }
        spots["criteria",] = (self.rows[0].line, 1)
        listed = value["criteria"] = []
        for index, (row, criterion) in enumerate(zip(self.rows, self.rubric.criteria, strict=True)):
            described = "description" if "description" in row.cells else "criterion"
            columns = {
                "id": "criterion",
                "requirement": described,
                "weight": "weight",
                "items": "sub-items",
            }
            at: Steps = ("criteria", index)
            spots[at] = (row.line, row.cells["criterion"][1])
            spots |= {
                (*at, key): (row.line, row.cells[of][1])
                for key, of in columns.items()
                if of in row.cells
            }
            items = [item.requirement for item in criterion.items if not item.whole]
            settings = {
                "id": criterion.id,
                "requirement": criterion.requirement,
                "weight": float(criterion.weight),
            }
            listed.append(settings | ({"items": items} if items else {}))
        return Marked(self.name, node_of(value, (1, 1), spots))


def _cells(line: str) -> list[tuple[str, int]]:
    """The cells of a table's row, each with its column in the line; none when it is not a row."""
    if "|" not in line or not line.strip().startswith("|"):
        return []
    found: list[tuple[str, int]] = []
    at = line.index("|") + 1
    for part in re.split(r"(?<!\\)\|", line.rstrip().removesuffix("|")[at:]):
        found.append((" ".join(part.split()), at + 1 + len(part) - len(part.lstrip())))
        at += len(part) + 1
    return found


def _is_ruler(line: str) -> bool:
    """`| --- | :---: |`"""
    return "|" in line and "-" in line and set(line) <= set("|:- \t\r")


def _column(cell: str) -> str:
    name = cell.strip(" *_`").casefold().replace(" ", "-")
    return {
        "criteria": "criterion",
        "dimension": "criterion",
        "subitems": "sub-items",
        "checklist": "sub-items",
        "what-it-measures": "description",
    }.get(name, name)


def _cell_text(cell: str) -> str:
    return " ".join(html.unescape(cell.replace("\\|", "|")).split())


def _levels(cell: str) -> dict[Fraction, str]:
    """`0: none · 50: half · 100: full`."""
    found: dict[Fraction, str] = {}
    for part in re.split(r"\s+·\s+|<br\s*/?>", cell):
        match = _LEVEL.fullmatch(part.strip())
        if match is None or exact(match[1]) in found:
            return {}
        found[exact(match[1])] = _cell_text(match[2])
    return found if len(found) > 1 and all(found.values()) else {}


def _lacks_contract(text: str, name: str) -> UsageError:
    report = REPORT.search(text)
    line = text.count("\n", 0, report.start()) + 1 if report else 1
    return UsageError(
        "this report of rulph holds scores only: it lacks the Evaluation Contract"
        if report
        else "this text has no Evaluation Contract",
        place=f"{name}:{line}:1",
        hint="a rubric needs the heading `## Evaluation Contract` and its table: | # | Criterion | Weight | Sub-items |",
    )


# ----------------------------------------------------------------------------------------------------
# what they look like


def _read_contract(document: Document) -> ForeignRubric:
    contract = _Contract(document.text, document.name)
    rounds = (
        []
        if contract.rounds is None
        else [f"rulph: Max rounds {contract.rounds} is the default of --rounds"]
    )
    return ForeignRubric(
        rubric=contract.rubric,
        dialect="rulph",
        marked=contract.marked(),
        notes=(*FORMATS.defaults("rulph"), *rounds),
        rounds=contract.rounds,
    )


def _is_markdown(document: Document) -> bool:
    return not document.is_lines and not isinstance(document.value, dict | list)


def _signs_of_contract(document: Document) -> int:
    if not _is_markdown(document):
        return 0
    if HEADING.search(document.text):
        return 90
    return 60 if REPORT.search(document.text) else 0


def _signs_of_reply(document: Document) -> int:
    return (
        85
        if all(isinstance(document.mapping.get(key), dict) for key in ("scores", "checklist"))
        else 0
    )


def _refuse_reply(document: Document) -> ForeignRubric:
    raise UsageError(
        "this is a judge's reply of rulph, not a rubric: it lacks weights, threshold and floor",
        place=document.marked.at(),
        hint=f"to read what it says: honestone judges read {document.name} --items FILE",
    )


def _signs_of_state(document: Document) -> int:
    state = document.mapping.get("rulph")
    return 85 if isinstance(state, dict) and {"round", "threshold"} <= state.keys() else 0


def _refuse_state(document: Document) -> ForeignRubric:
    raise UsageError(
        "this is the state of a rulph loop, not a rubric: it lacks the criteria and the floor",
        place=document.marked.at(("rulph",)),
        hint="the rubric is in the report or the Evaluation Contract of the same loop",
    )


READERS: tuple[Reader, ...] = (
    FORMATS.reader("rulph", _signs_of_contract, _read_contract),
    FORMATS.reader("rulph-reply", _signs_of_reply, _refuse_reply),
    FORMATS.reader("rulph-state", _signs_of_state, _refuse_state),
)
