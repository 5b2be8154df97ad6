"""verifiers (Prime Intellect): rubric files (TOML or JSON), and run configurations whose judges name such files.

What has a meaning here is how a rubric judge marks. Tasks, rewards and harnesses are Python packages: from a
configuration only its `[[env.taskset.task.judges]]` are read, and what else gives reward there is a loss.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from honestone.core.errors import FileError
from honestone.core.numbers import ONE
from honestone.core.rubric import DEFAULT_THRESHOLD, Criterion, Rubric
from honestone.formats.document import Document
from honestone.formats.marked import Marked
from honestone.formats.nodes import MAX_DEPTH, Node, refuse
from honestone.formats.reader import FileEntry, FileReading, Steps, did_you_mean
from honestone.formats.source import ForeignRubric
from honestone.interop.criteria import scaled, unique_ids, yes_no
from honestone.interop.reader import Formats, Reader

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables
NOTES: Final = FORMATS.notes

BETWEEN = "choices become a scale from 0 to 1, evenly spaced: a judge may also answer between two of them"
CONFIG_KEYS: Final = frozenset(
    {"env", "eval", "ablation", "num_tasks", "num_rollouts", "num_examples", "rollouts_per_example"}
)
JUDGES: Final = ("env", "taskset", "task", "judges")
NO_RUBRIC = 'a rubric file has [[criteria]] with `name` and `text`; a configuration names it: [[env.taskset.task.judges]] id = "rubric", path = ...'


# ------------------------------------------------------------------------------------------------------ recognising


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
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        return False
    keys = {str(key) for entry in entries for key in entry}
    return {"name", "text"} <= keys and not keys & {"id", "requirement", "requirements"}


def _looks_like_toml(text: str) -> bool:
    return re.search(r"(?m)^\s*(?:\[{1,2}[^\[\]\n]+\]{1,2}\s*(?:#.*)?$|[\w.\"'-]+\s*=)", text) is not None


# ------------------------------------------------------------------------------------------------------ reading


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
    return document.marked if isinstance(document.value, dict | list) else toml_marked(document.text, document.name)


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
        entries = [reading.at((*root.path, index)) for index in range(len(root.value))]
    seen: dict[str, Steps] = {}
    criteria = []
    for entry in entries:
        criterion = _criterion(reading, entry)
        if criterion is None:
            continue
        if criterion.id in seen:
            first = reading.marked.at(seen[criterion.id])
            reading.problem(f"two criteria have the name `{criterion.id}`: the first is {first}", entry.path)
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
    if len(choices) < 2 or len(set(choices)) < len(choices) or not all(choice.strip() for choice in choices):
        reading.problem("`choices` needs two different texts at least, from worst to best", here)
        return None
    return choices


# ------------------------------------------------------------------------------------------------------ configurations


def _configuration(reading: FileReading, path: Path) -> list[Criterion]:
    """The rubric judges of a run configuration, each a group with its weight."""
    task = _down(reading.marked.value, JUDGES[:-1])
    if not isinstance(task, dict) or not isinstance(task.get("judges"), list):
        reading.problem(
            "this verifiers configuration names no rubric: its tasks and rewards are Python packages",
            _deepest(reading),
            NO_RUBRIC,
        )
        return []
    reading.note(NOTES["run-settings"])
    tasks = reading.at(JUDGES[:-1])
    for name in task.get("rewards") or ():
        reading.loss(f"the reward `{name}` is Python code", (*JUDGES[:-1], "rewards", name))
    taskset = _down(reading.marked.value, ("env", "taskset", "id"))
    if taskset is not None:
        reading.loss(f"the rewards that the taskset `{taskset}` computes are Python code", ("env", "taskset", "id"))
    judges = [found for entry in tasks.each("judges") if (found := _judge(reading, entry, path)) is not None]
    if not judges and not reading.problems:
        reading.problem("no judge of this configuration has a rubric", JUDGES, NO_RUBRIC)
    if len(judges) > 1:
        reading.note("several rubric judges: their weighted mean, where verifiers adds up weight times score")
    return list(judges[0].children) if len(judges) == 1 else judges


def _deepest(reading: FileReading) -> Steps:
    """The last part of `env.taskset.task` that is there."""
    path: Steps = ()
    for step in JUDGES:
        if not reading.marked.has((*path, step)):
            break
        path = (*path, step)
    return path


def _down(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


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
        entry.loss(f"judge `{name}` has the weight {float(weight):g}: a group of criteria is not a penalty")
        return None
    criteria = _read_named(reading, entry, file, config)
    known = {criterion.id for criterion in criteria}
    for unknown in sorted(set(weights) - known) if criteria else ():
        path = (*entry.path, "weights", unknown)
        message = f"`weights` names `{unknown}`, which is not a criterion of {file}"
        reading.problem(message, path, did_you_mean(unknown, known), at_key=True)
    children = tuple(replace(c, weight=weights.get(c.id, c.weight)) for c in criteria)
    return Criterion(id=name, requirement=name, weight=weight, children=children) if children else None


def _weights(reading: FileReading, entry: FileEntry) -> Mapping[str, Fraction]:
    weights = entry.mapping("weights", TABLES["weights"])
    if weights is None:
        return {}
    found = {str(key): reading.at(weights.path).number(str(key), low=0) for key in weights.value}
    return {key: number for key, number in found.items() if number is not None}


def _read_named(reading: FileReading, entry: FileEntry, file: str, config: Path) -> list[Criterion]:
    """The criteria of the file that a judge names: next to the configuration, else in the working directory."""
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


# ------------------------------------------------------------------------------------------------------ TOML with places


class _Written(float):
    """A float that remembers how it was written."""

    raw: str

    def __new__(cls, text: str) -> _Written:
        self = super().__new__(cls, text.replace("_", ""))
        self.raw = text.replace("_", "")
        return self


def toml_marked(text: str, name: str) -> Marked:
    """TOML with the place of every table and key. Raises FileError when it is not TOML."""
    try:
        value = tomllib.loads(text, parse_float=_Written)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r" \(at line (\d+), column (\d+)\)", str(error))
        line, column = (int(at[1]), int(at[2])) if at else (len(text.splitlines()) or 1, 1)
        message = re.sub(r" \(at [^)]*\)$", "", str(error))
        raise refuse(name, line, column, f"this is not valid TOML: {message[:1].lower()}{message[1:]}") from None
    except RecursionError:
        raise refuse(name, 1, 1, f"this is nested more than {MAX_DEPTH} levels deep") from None
    return Marked(name, _toml_node(value, (), (1, 1), _toml_places(text), name))


def _toml_node(
    value: Any, path: Steps, place: tuple[int, int], places: Mapping[Steps, tuple[int, int]], name: str
) -> Node:
    line, column = places.get(path, place)
    if len(path) > MAX_DEPTH:
        raise refuse(name, line, column, f"this is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        node = Node({}, None, line, column, {})
        for key, below in value.items():
            child = _toml_node(below, (*path, key), (line, column), places, name)
            node.put(Node(key, key, child.line, child.column), child)
    elif isinstance(value, list):
        node = Node([], None, line, column, [])
        for index, below in enumerate(value):
            node.append(_toml_node(below, (*path, index), (line, column), places, name))
    elif isinstance(value, bool):
        node = Node(value, str(value).lower(), line, column)
    elif isinstance(value, _Written):
        node = Node(float(value), value.raw, line, column)
    elif isinstance(value, int):
        node = Node(value, str(value), line, column)
    else:
        node = Node(str(value), str(value), line, column)
    return node


_NAME = r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')"
_TABLE = re.compile(rf"\s*(\[{{1,2}})\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*\]")
_KEY = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=\s*")


def _toml_places(text: str) -> Mapping[Steps, tuple[int, int]]:
    """Where tables and keys are. Only for messages: what is inside an inline value is found at the value's start."""
    places: dict[Steps, tuple[int, int]] = {}
    counts: dict[Steps, int] = {}
    table: Steps = ()
    quotes = None  # the quotes that a text over several lines waits for
    for number, line in enumerate(text.split("\n"), 1):
        if quotes is not None:
            quotes = None if line.count(quotes) % 2 else quotes
            continue
        quotes = next((q for q in ('"""', "'''") if line.count(q) % 2), None)
        if header := _TABLE.match(line):
            table = _table_path(_names(header[2]), len(header[1]) == 2, counts)
            places[table] = (number, header.start(1) + 1)
        elif key := _KEY.match(line):
            places[(*table, *_names(key[1]))] = (number, key.end() + 1)
    return places


def _names(dotted: str) -> list[str]:
    return [name.strip("\"'") for name in re.findall(_NAME, dotted)]


def _table_path(names: Sequence[str], is_entry: bool, counts: dict[Steps, int]) -> Steps:
    """The path of a table's header: names of arrays of tables are followed by the number of the entry they mean."""
    path: Steps = ()
    for index, name in enumerate(names):
        path = (*path, name)
        if is_entry and index == len(names) - 1:
            counts[path] = counts.get(path, 0) + 1
        if path in counts:
            path = (*path, counts[path] - 1)
    return path


READERS: tuple[Reader, ...] = (FORMATS.reader("verifiers", signs, read),)
