"""autorubric: rubrics (YAML or JSON) whose criteria are yes/no or choose one of several options,
and its datasets.

An option's value is the score of choosing it, so options become anchors from 0 to 1 with those
values.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from honestone.core.judging.rubric import Criterion, Rubric, as_written, slug
from honestone.core.numbers import ONE, ZERO
from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.source import ForeignRubric, SuiteSource
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.reader import Cases, FileEntry, FileReading, shown
from honestone.interop.criteria import scaled, yes_no
from honestone.interop.reader import Formats, Reader
from honestone.interop.rubric_package.read import FORMATS as PACKAGE
from honestone.interop.rubric_package.read import (
    OWN_KEYS,
    entries_of,
    make_rubric,
    rough_entries,
    title_of,
)

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables
NOTES: Final = FORMATS.notes

DEFAULT_WEIGHT = Fraction(10)
# The end of a scale that no option has: scores are shares of 0..1, so the scale has to reach both.
NO_OPTION = "(none of the options)"
BETWEEN = "options become a scale from 0 to 1: a judge may also answer between two of them"


# ------------------------------------------------------------------------------------------------------
# rubrics


def signs(document: Document) -> int:
    value = document.value
    if document.is_lines or (isinstance(value, dict) and "items" in value):
        return 0
    entries = rough_entries(value)
    if entries is None:
        return 0
    keys = {str(key) for entry in entries for key in entry}
    if keys & OWN_KEYS or "guidelines" in document.keys:
        return 80
    return 0 if all("weight" in entry for entry in entries) else 60


def read(document: Document) -> ForeignRubric:
    reading = FileReading(document.marked)
    rubric = read_rubric_at(reading, reading.at(), title=title_of(reading))
    reading.finish()
    assert rubric is not None
    return reading.rubric_source(rubric, "autorubric")


def read_rubric_at(reading: FileReading, root: FileEntry, *, title: str = "") -> Rubric | None:
    """The rubric at one place of a file; None when something in it is wrong (the reading knows
    what).
    """
    wrong = len(reading.problems)
    entries = entries_of(reading, root)
    criteria = [
        criterion for entry in entries if (criterion := _criterion(reading, entry)) is not None
    ]
    if len(reading.problems) > wrong:
        return None
    allowed = _without_scaled_penalties(reading, criteria, entries)
    reading.note(NOTES["cannot-assess"])
    return make_rubric(reading, allowed, title=title, path=root.path)


def _criterion(reading: FileReading, entry: FileEntry) -> Criterion | None:
    if not entry.read(TABLES["criterion"]):
        return None
    requirement = entry.text("requirement")
    name = entry.text("name")
    has_weight = entry.which("weight") is not None
    weight = entry.number("weight") if has_weight else DEFAULT_WEIGHT
    if not has_weight:
        reading.note("a criterion without `weight` weighs 10, as in autorubric")
    entry.choice("scale_type", ("ordinal", "nominal"))
    _aggregation(reading, entry)
    options = _options(reading, entry) if "options" in entry else None
    if requirement is None or weight is None:
        return None
    id = name or slug(requirement)
    if options is None:
        return yes_no(id, requirement, weight=weight)
    return _choosing(reading, id, requirement, weight, options)


def _aggregation(reading: FileReading, entry: FileEntry) -> None:
    how = entry.text("aggregation")
    if how is None:
        return
    if how == "mean":
        reading.note("`aggregation: mean` is the mean of the judges, not rounded to an option")
    else:
        hint = "--combine median, majority or min holds for the whole rubric"
        entry.loss(f"`aggregation: {how}` of one criterion", "aggregation", hint)


class _Options:
    """The options of one criterion, by value; `may_not_apply` when one of them is N/A."""

    def __init__(self) -> None:
        self.labels: dict[Fraction, list[str]] = {}
        self.may_not_apply = False

    @property
    def levels(self) -> dict[Fraction, str]:
        return {value: " / ".join(labels) for value, labels in self.labels.items()}

    @property
    def yes_is(self) -> Fraction | None:
        """What yes is worth where the options are exactly yes and no with 0 and 1; None otherwise."""
        if set(self.labels) != {ZERO, ONE} or any(
            len(labels) > 1 for labels in self.labels.values()
        ):
            return None
        words = {labels[0].casefold(): value for value, labels in self.labels.items()}
        return words["yes"] if set(words) == {"yes", "no"} else None


def _options(reading: FileReading, entry: FileEntry) -> _Options:
    found = _Options()
    count, wrong = 0, len(reading.problems)
    for option in entry.mappings("options", TABLES["option"]):
        label = option.text("label")
        is_na = bool(option.flag("na"))
        value = option.number("value") if is_na else option.number("value", low=0, high=1)
        if option.which("value") is None and not is_na:
            reading.problem(
                "`value` is missing", option.path, "the score of choosing this option, from 0 to 1"
            )
        if is_na:
            found.may_not_apply = True
        elif label is not None and value is not None:
            count += 1
            found.labels.setdefault(value, []).append(label)
    if count < 2 and len(reading.problems) == wrong:
        entry.problem(
            "`options` needs two options at least that are not N/A",
            "options",
            "leave `options` out for a yes/no question",
        )
    return found


def _choosing(
    reading: FileReading, id: str, requirement: str, weight: Fraction, options: _Options
) -> Criterion:
    na = options.may_not_apply
    if options.yes_is is not None:
        return yes_no(
            id, requirement, weight=weight, may_not_apply=na, negate=options.yes_is == ZERO
        )
    levels = options.levels
    for value, labels in options.labels.items():
        if len(labels) > 1:
            reading.note(
                f"`{id}`: options of equal value are one level: {_quoted_labels(labels)} ({as_written(value)})"
            )
    for end in (ZERO, ONE):
        if end not in levels:
            levels[end] = NO_OPTION
            reading.note(
                f"`{id}` has no option worth {end}: its scale includes it, so that scores stay the same"
            )
    reading.note(BETWEEN)
    return scaled(id, requirement, levels, weight=weight, may_not_apply=na)


def _quoted_labels(labels: Sequence[str]) -> str:
    return ", ".join(f"`{label}`" for label in labels)


def _without_scaled_penalties(
    reading: FileReading, criteria: Sequence[Criterion], entries: Sequence[FileEntry]
) -> list[Criterion]:
    """A penalty here is a yes/no question; next to positive weights one with options cannot be
    expressed.
    """
    if not any(criterion.weight > 0 for criterion in criteria):
        return list(criteria)
    allowed = []
    for criterion, entry in zip(criteria, entries, strict=True):
        is_scale = criterion.items[0].anchors is not None or criterion.negate
        if criterion.weight < 0 and is_scale:
            reading.loss(
                f"criterion `{criterion.id}` has a negative weight and options; a penalty here is a yes/no question",
                entry.path,
                "ask it as yes/no, or give it a positive weight and reverse its options",
            )
        else:
            allowed.append(criterion)
    return allowed


# ------------------------------------------------------------------------------------------------------
# datasets


def signs_dataset(document: Document) -> int:
    items = document.mapping.get("items")
    if not isinstance(items, list):
        return 0
    if any("submission" in item for item in items if isinstance(item, dict)):
        return 85
    return 60 if rough_entries(document.value) is not None else 0


def read_dataset(document: Document) -> SuiteSource:
    """One case an item. The submissions and the verdicts of people are in each case's metadata."""
    reading = FileReading(document.marked)
    top = reading.at()
    cases = Cases()
    if not top.read(TABLES["dataset"]):
        reading.finish()
    shared = read_rubric_at(reading, top.below("rubric")) if "rubric" in top else None
    for number, item in enumerate(top.mappings("items", TABLES["item"]), 1):
        cases.add(_case(reading, item, top, number, shared, cases), item)
    if not cases and not reading.problems:
        reading.problem("a dataset needs at least one item", ())
    reading.finish()
    suite = Suite(cases=cases.all(), title=top.text("name") or "")
    return reading.suite_source(document.path, "autorubric-dataset", suite, cases)


def _case(
    reading: FileReading,
    item: FileEntry,
    top: FileEntry,
    number: int,
    shared: Rubric | None,
    cases: Cases,
) -> Case | None:
    description = item.text("description")
    own = read_rubric_at(reading, item.below("rubric")) if "rubric" in item else None
    has_own = item.which("rubric") is not None
    asked = item.text("prompt") or top.text("prompt")
    submission = _submission(reading, item)
    rubric = own if has_own else shared
    if rubric is None and not has_own and not reading.problems:
        item.problem("this item has no rubric, and the dataset has none either")
    if asked is None:
        item.problem("this item has no prompt, and the dataset has none either")
    truth = _ground_truth(reading, item, rubric)
    metadata: dict[str, object] = {}
    if submission is not None:
        metadata["output"] = submission
        reading.note(
            "each item's submission is kept as `output` in the case's metadata; a run asks its target for a fresh one "
            "(--target record:FILE judges recorded ones)"
        )
    if truth is not None:
        metadata["ground_truth"] = truth
        reading.note("ground truth is kept in the case's metadata; no score comes from it")
    case_reference = item.text("reference_submission") or top.text("reference_submission")
    if rubric is None or asked is None:
        return None
    id = slug(description) if description else f"item-{number}"
    return Case(
        id=id if id not in cases else f"{id}-{number}",
        rubric=rubric,
        messages=(Message("user", asked),),
        reference=case_reference,
        description=description,
        metadata=metadata,
    )


def _submission(reading: FileReading, item: FileEntry) -> str | None:
    """Text, or JSON values (dialogues) as their text."""
    value = item.raw("submission")
    if value is None:
        item.problem("`submission` is missing", hint="the text that is graded")
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _ground_truth(reading: FileReading, item: FileEntry, rubric: Rubric | None) -> list[Any] | None:
    value = item.raw("ground_truth")
    if value is None:
        return None
    path = (*item.path, "ground_truth")
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        reading.problem(
            f"`ground_truth` must be a list with one verdict a criterion, not {shown(value)}", path
        )
        return None
    if rubric is not None and not reading.losses and len(value) != len(rubric.criteria):
        reading.problem(
            f"`ground_truth` has {len(value)} verdicts, but the rubric has {len(rubric.criteria)} criteria",
            path,
        )
    return list(value)


READERS: tuple[Reader, ...] = (
    FORMATS.reader("autorubric", signs, read, PACKAGE.tables["section"], PACKAGE.tables["rubric"]),
    FORMATS.reader("autorubric-dataset", signs_dataset, read_dataset),
)
