"""Labels given in Python: by a function that is asked about each text, or from a table of answers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from honestone.core.checking.checks import visible
from honestone.core.errors import UsageError
from honestone.core.judging.ballot import Answer
from honestone.core.judging.rubric import Rubric
from honestone.core.statistics.labels import COLUMNS, LabelTarget, targets_of
from honestone.core.statistics.raters import sample
from honestone.formats.text_table import TableRow, cell_text, is_missing
from honestone.report.exports.rows import safe_cell
from honestone.system.files import write_atomically

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-not-found, import-untyped, unused-ignore]

# A text and what is asked about it; None is a skip.
AskPerson: TypeAlias = Callable[[str, str], bool | int | float | str | None]
_WORDS: Final = {True: "yes", False: "no"}


class GivenAnswer(Struct, frozen=True, kw_only=True):
    """One answer: `id` is of the text, `criterion` what was asked, by its name in the rubric."""

    id: str
    criterion: str
    value: Answer


@dataclass(frozen=True, kw_only=True)
class Labels:
    """What a rater said of texts. `skipped`: questions without an answer."""

    rater: str
    ids: Sequence[str]
    criteria: Sequence[str]
    answers: Sequence[GivenAnswer]
    skipped: int

    @property
    def rows(self) -> list[dict[str, Answer | str | None]]:
        """A row a text: its id, and a column `RATER/CRITERION` for each criterion."""
        found: dict[str, dict[str, Answer | str | None]] = {id: {"id": id} for id in self.ids}
        for row in found.values():
            row |= {f"{self.rater}/{name}": None for name in self.criteria}
        for one in self.answers:
            found[one.id][f"{self.rater}/{one.criterion}"] = one.value
        return list(found.values())

    def to_frame(self) -> DataFrame:
        """The rows as a pandas DataFrame, as `result.calibrate` takes them."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise UsageError(
                "a table needs pandas, which is not installed", hint="pip install pandas"
            ) from None
        return pandas.DataFrame(self.rows)

    def to_csv(self) -> str:
        """The labels as a labels file: `artifact,rater,CRITERION...`, which `calibrate` and
        `agreement` read.
        """
        out = io.StringIO()
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["artifact", "rater", *self.criteria])
        for row in self.rows:
            cells = (row[f"{self.rater}/{name}"] for name in self.criteria)
            table.writerow([safe_cell(str(row["id"])), safe_cell(self.rater), *map(_cell, cells)])
        return out.getvalue()

    def save(self, path: Path) -> None:
        """Write the labels file."""
        write_atomically(path, self.to_csv().encode())

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        return (
            f"<Labels by {visible(self.rater, 60)}: {len(self.answers)} answers about"
            f" {len(self.ids)} texts, {self.skipped} skipped>"
        )


def _cell(value: object) -> str:
    if value is None:
        return ""
    return _WORDS[value] if isinstance(value, bool) else str(value)


def label_texts(
    texts: Mapping[str, str],
    rubric: Rubric,
    answers: AskPerson | Sequence[TableRow],
    *,
    rater: str,
    count: int | None = None,
) -> Labels:
    """Ask a function about every text and criterion, or read a table with an `id` and a column a
    criterion. `count`: only so many texts, always the same ones.

    Raises UsageError for a rubric that asks judges nothing, and for values that cannot be answers.
    """
    require_rater(rater)
    targets = {one.name: one for one in targets_of(rubric).values()}
    if not targets:
        raise UsageError("this rubric asks judges nothing, so there is nothing to label")
    chosen = [*texts] if count is None else sample(dict.fromkeys(texts, ""), count)
    found: list[GivenAnswer] = []
    skipped = 0
    if callable(answers):
        answered = _questions(texts, chosen, targets, answers)
    else:
        answered = _read(answers, chosen, targets)
    for id, target, value in answered:
        if is_missing(value):
            skipped += 1
            continue
        try:
            answer = target.read(value)  # type: ignore[arg-type]
        except ValueError as error:
            raise UsageError(
                f"the answer about {visible(repr(id), 60)}, `{target.name}`: {error}",
                hint=f"it must be {target.choices}",
            ) from None
        found.append(GivenAnswer(id=id, criterion=target.name, value=answer))
    return Labels(rater=rater, ids=chosen, criteria=[*targets], answers=found, skipped=skipped)


def require_rater(rater: str) -> None:
    """Raises UsageError for what cannot be the first part of a column `RATER/CRITERION`."""
    if not rater.strip() or "/" in rater:
        raise UsageError(f"`rater` is {rater!r}, but must be a name without `/`")


def _questions(
    texts: Mapping[str, str],
    ids: Sequence[str],
    targets: Mapping[str, LabelTarget],
    ask: AskPerson,
) -> Iterator[tuple[str, LabelTarget, object]]:
    for id in ids:
        for target in targets.values():
            part = target.criterion if target.item is None else target.item
            yield id, target, ask(texts[id], part.requirement)


def _read(
    rows: Sequence[TableRow],
    ids: Sequence[str],
    targets: Mapping[str, LabelTarget],
) -> Iterator[tuple[str, LabelTarget, object]]:
    by_id = {cell_text(row.cells.get("id")): row.cells for row in rows}
    for row in rows:
        unknown = [
            name for name in row.cells if name not in ("id", *COLUMNS) and name not in targets
        ]
        if unknown:
            raise UsageError(
                f"the answers have a column {unknown[0]!r}, which the rubric does not ask about",
                hint=f"a column `id`, and of: {', '.join(targets)}",
            )
    for id in ids:
        for name, target in targets.items():
            yield id, target, by_id.get(id, {}).get(name)
