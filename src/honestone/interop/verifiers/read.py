"""verifiers (Prime Intellect): rubric files (TOML or JSON), and run configurations whose judges
name such files.

What has a meaning here is how a rubric judge marks. Tasks, rewards and harnesses are Python
packages: from a configuration only its `[[env.taskset.task.judges]]` are read, and what else gives
reward there is a loss.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from honestone.core.errors import FileError
from honestone.core.numbers import ONE
from honestone.core.rubric import DEFAULT_THRESHOLD, Criterion, Rubric
from honestone.formats.document import Document
from honestone.formats.marked import Marked
from honestone.formats.reader import FileEntry, FileReading, Steps, did_you_mean
from honestone.formats.source import ForeignRubric
from honestone.formats.toml_nodes import toml_marked
from honestone.interop.criteria import scaled, unique_ids, yes_no
from honestone.interop.reader import Formats, Reader
from honestone.interop.verifiers.dataset import read_rows, signs_of_rows
from honestone.system.loose_json import down

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables
NOTES: Final = FORMATS.notes

BETWEEN = (
    "choices become a scale from 0 to 1, evenly spaced: a judge may also answer between two of them"
)
CONFIG_KEYS: Final = frozenset(
    {"env", "eval", "ablation", "num_tasks", "num_rollouts", "num_examples", "rollouts_per_example"}
)
JUDGES: Final = ("env", "taskset", "task", "judges")
NO_RUBRIC = 'a rubric file has [[criteria]] with `name` and `text`; a configuration names it: [[env.taskset.task.judges]] id = "rubric", path = ...'


# ------------------------------------------------------------------------------------------------------
# recognising


def signs(document: Document) -> int:
    value = document.value
    if document.is_lines:
        return 0
    if isinstance(value, dict | list):
        return 75 if _has_criteria(value) else 0
    if not _looks_like_toml(document.text):
        return 0
    try:
        value = tomllib.loads(document.text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return 60 if re.search(r"(?m)^\s*\[\[criteria\]\]", document.text) else 0
    if "criteria" in value:
        return 90
    return 50 if CONFIG_KEYS & set(value) else 0


def _has_criteria(value: Any) -> bool:
    entries = value.get("criteria") if isinstance(value, dict) else value
    if (
        not isinstance(entries, list)
        or not entries
        or not all(isinstance(entry, dict) for entry in entries)
    ):
        return False
    keys = {str(key) for entry in entries for key in entry}
    return {"name", "text"} <= keys and not keys & {"id", "requirement", "requirements"}


def _looks_like_toml(text: str) -> bool:
    return (
        re.search(r"(?m)^\s*(?:\[{1,2}[^\[\]\n]+\]{1,2}\s*(?:#.*)?$|[\w.\"'-]+\s*=)", text)
        is not None
    )


# ------------------------------------------------------------------------------------------------------
# reading


def read(document: Document) -> ForeignRubric:
    marked = _marked(document)
    reading = FileReading(marked)
    value = marked.value
    if isinstance(value, list) or "criteria" in value:
        criteria, title = _file(reading, reading.at())
    else:
        criteria, title = _configuration(reading, document.path), ""
    reading.finish()
    if not any(criterion.weight > 0 for criterion in criteria):
        reading.problem("no criterion has a weight above 0", (), NO_RUBRIC)
        reading.finish()
    reading.note(NOTES["no-bars"])
    named = unique_ids(criteria)
    rubric = Rubric(criteria=named, title=title, threshold=DEFAULT_THRESHOLD, floor=Fraction(0))
    return reading.rubric_source(rubric, "verifiers")


def _marked(document: Document) -> Marked:
    return (
        document.marked
        if isinstance(document.value, dict | list)
        else toml_marked(document.text, document.name)
    )


def _file(reading: FileReading, root: FileEntry) -> tuple[list[Criterion], str]:
    """A rubric file: a list of criteria, or a mapping with that list."""
    title = ""
    if root.is_mapping:
        root.read(TABLES["file"])
        title = root.text("title", "name") or ""
        if root.value.get("criteria") == []:
            root.problem("this rubric has no criteria", "criteria", NO_RUBRIC)
        entries = root.each("criteria")
    else:
        entries = root.rows()
    seen: dict[str, Steps] = {}
    criteria = []
    for entry in entries:
        criterion = _criterion(reading, entry)
        if criterion is None:
            continue
        if criterion.id in seen:
            first = reading.marked.at(seen[criterion.id])
            reading.problem(
                f"two criteria have the name `{criterion.id}`: the first is {first}", entry.path
            )
        seen.setdefault(criterion.id, entry.path)
        criteria.append(criterion)
    return criteria, title


def _criterion(reading: FileReading, entry: FileEntry) -> Criterion | None:
    if not entry.read(TABLES["criterion"]):
        return None
    name, text = entry.text("name"), entry.text("text")
    weight = entry.number("weight", low=0) if "weight" in entry else ONE
    choices = _choices(reading, entry)
    if name is None or text is None or weight is None or choices is None:
        return None
    words = [choice.casefold() for choice in choices]
    if words in (["no", "yes"], ["yes", "no"]):
        return yes_no(name, text, weight=weight, negate=words[0] == "yes")
    reading.note(BETWEEN)
    levels = {Fraction(rank, len(choices) - 1): choice for rank, choice in enumerate(choices)}
    return scaled(name, text, levels, weight=weight)


def _choices(reading: FileReading, entry: FileEntry) -> list[str] | None:
    """From worst to best; no and yes without any. None when they are wrong."""
    if "choices" not in entry:
        return ["no", "yes"]
    here = (*entry.path, "choices")
    if not isinstance(entry.raw("choices"), list):
        reading.problem("`choices` must be a list of texts, from worst to best", here)
        return None
    choices = entry.texts("choices")
    if choices is None:
        return None
    if (
        len(choices) < 2
        or len(set(choices)) < len(choices)
        or not all(choice.strip() for choice in choices)
    ):
        reading.problem("`choices` needs two different texts at least, from worst to best", here)
        return None
    return choices


# ------------------------------------------------------------------------------------------------------
# configurations


def _configuration(reading: FileReading, path: Path) -> list[Criterion]:
    """The rubric judges of a run configuration, each a group with its weight."""
    task = down(reading.marked.value, *JUDGES[:-1])
    if not isinstance(task, dict) or not isinstance(task.get("judges"), list):
        reading.problem(
            "this verifiers configuration names no rubric: its tasks and rewards are Python packages",
            JUDGES,
            NO_RUBRIC,
        )
        return []
    reading.note(NOTES["run-settings"])
    tasks = reading.at(JUDGES[:-1])
    for name in task.get("rewards") or ():
        reading.loss(f"the reward `{name}` is Python code", (*JUDGES[:-1], "rewards", name))
    taskset = down(reading.marked.value, "env", "taskset", "id")
    if taskset is not None:
        reading.loss(
            f"the rewards that the taskset `{taskset}` computes are Python code",
            ("env", "taskset", "id"),
        )
    judges = [
        found
        for entry in tasks.each("judges")
        if (found := _judge(reading, entry, path)) is not None
    ]
    if not judges and not reading.problems:
        reading.problem("no judge of this configuration has a rubric", JUDGES, NO_RUBRIC)
    if len(judges) > 1:
        reading.note(
            "several rubric judges: their weighted mean, where verifiers adds up weight times score"
        )
    return list(judges[0].children) if len(judges) == 1 else judges


def _judge(reading: FileReading, entry: FileEntry, config: Path) -> Criterion | None:
    if not entry.read(TABLES["judge"]):
        return None
    id = entry.text("id")
    if id is not None and id != "rubric":
        entry.loss(f"the judge `{id}` has no rubric file")
        return None
    name = entry.text("name") or "rubric"
    weight = entry.number("weight") if "weight" in entry else ONE
    file = entry.text("path")
    weights = _weights(reading, entry)
    if id is None or file is None or weight is None:
        return None
    if weight <= 0:
        entry.loss(
            f"judge `{name}` has the weight {float(weight):g}: a group of criteria is not a penalty"
        )
        return None
    criteria = _read_named(reading, entry, file, config)
    known = {criterion.id for criterion in criteria}
    for unknown in sorted(set(weights) - known) if criteria else ():
        path = (*entry.path, "weights", unknown)
        message = f"`weights` names `{unknown}`, which is not a criterion of {file}"
        reading.problem(message, path, did_you_mean(unknown, known), at_key=True)
    children = tuple(replace(c, weight=weights.get(c.id, c.weight)) for c in criteria)
    return (
        Criterion(id=name, requirement=name, weight=weight, children=children) if children else None
    )


def _weights(reading: FileReading, entry: FileEntry) -> Mapping[str, Fraction]:
    weights = entry.mapping("weights", TABLES["weights"])
    if weights is None:
        return {}
    found = {str(key): reading.at(weights.path).number(str(key), low=0) for key in weights.value}
    return {key: number for key, number in found.items() if number is not None}


def _read_named(reading: FileReading, entry: FileEntry, file: str, config: Path) -> list[Criterion]:
    """The criteria of the file that a judge names: next to the configuration, else in the working
    directory.
    """
    here = (*entry.path, "path")
    sibling = config.parent / file
    path = sibling if sibling.is_file() else Path(file)
    try:
        document = Document.of(path)
        inner = FileReading(_marked(document))
    except FileError as error:
        reading.problem(error.message, here, error.hint)
        return []
    if not isinstance(inner.marked.value, dict | list):
        reading.problem(f"`{file}` is not a rubric", here, NO_RUBRIC)
        return []
    criteria, _ = _file(inner, inner.at())
    if not criteria and not inner.problems:
        inner.problem("this rubric has no criteria", (), NO_RUBRIC)
    elif not inner.problems and not any(criterion.weight > 0 for criterion in criteria):
        inner.problem("no criterion has a weight above 0", ())
    reading.join(inner)
    return criteria


READERS: tuple[Reader, ...] = (
    FORMATS.reader("verifiers", signs, read),
    FORMATS.reader("verifiers-dataset", signs_of_rows, read_rows),
)
