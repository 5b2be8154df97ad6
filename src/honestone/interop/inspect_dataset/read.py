"""Inspect datasets: samples with an input and a target, as JSON, JSON lines or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from honestone.core.errors import UsageError
from honestone.core.suite.case import Case, CaseWorkspace, Message, Suite
from honestone.formats.document import Document
from honestone.formats.fields import near
from honestone.formats.nodes import Node
from honestone.interop.base import KnownKey, MarkedLine, Reader, SuiteSource, Taking, Walk, shown
from honestone.interop.criteria import MAJORITY, as_text, expected_answer, gated, undecided
from honestone.interop.sibling_files import SiblingFiles

FIELDS: Final = ("input", "target", "choices", "id", "metadata", "files", "sandbox", "setup")
DEFAULTS: Final = (
    "inspect: a dataset has no scorer, so a judge is asked whether the output gives the target; more than half have to say yes",
)


def _columns(document: Document) -> list[str]:
    """The header, where the text is a table with an `input` column."""
    first = document.text.partition("\n")[0]
    if len(first) > 2000 or first.lstrip().startswith(("{", "[", "#", "-")):
        return []
    try:
        columns = [column.strip() for column in next(csv.reader([first]), [])]
    except csv.Error:
        return []
    return columns if "input" in columns and len(columns) > 1 else []


def _signs(document: Document) -> int:
    columns = _columns(document)
    if columns:
        return 60 if {"target", "choices"} & set(columns) else 0
    if document.is_lines:
        return _likeness(document.value)
    value = document.value
    if isinstance(value, list) and value:
        return min(_likeness(entry) for entry in value[:20])
    return 0


def _likeness(sample: Any) -> int:
    """Samples have an input and a target; other keys are allowed but may be another tool's."""
    if not isinstance(sample, dict) or "input" not in sample or not {"target", "choices"} & sample.keys():
        return 0
    if "score" in sample and not isinstance(sample["score"], str):
        return 0  # what came of a run: there `target` is what was run, not the right answer
    return 60 if sample.keys() <= set(FIELDS) else 30


def _read(document: Document) -> SuiteSource:
    main = Walk(MarkedLine(document.name, Node(None, None, 1, 1), 1))
    beside = SiblingFiles(document.path.parent)
    cases: dict[str, Case] = {}
    places: dict[str, str] = {}
    walks: list[Walk] = []
    for number, at in enumerate(_samples(document, main), 1):
        if at.walk not in walks[-1:]:
            walks.append(at.walk)
        if not at.require_mapping("a sample"):
            continue
        case = _case(at, number, cases, beside)
        if case is not None:
            cases[case.id] = case
            places[case.id] = at.walk.marked.at(at.path)
    for note in DEFAULTS:
        main.note(note)
    if not cases and not main.problems and not any(walk.problems for walk in walks):
        main.problem("this dataset has no samples", ())
    main.join(*walks)
    main.finish()
    return SuiteSource(
        suite=Suite(cases=tuple(cases.values())),
        dialect="inspect",
        base=document.path.parent,
        notes=tuple(main.notes),
        losses=tuple(main.losses),
        files=(document.path, *beside.files),
        places=places,
    )


def _samples(document: Document, main: Walk) -> Iterator[Taking]:
    if _columns(document):
        yield from _table(document, main)
    elif document.is_lines:
        for row in document.rows:
            yield Walk(row.marked).at()
    else:
        walk = Walk(document.marked)
        if not isinstance(document.marked.value, list):
            main.problem(f"a dataset is a list of samples, not {shown(document.marked.value)}", ())
            return
        for index in range(len(document.marked.value)):
            yield Taking(walk, (index,))


def _table(document: Document, main: Walk) -> Iterator[Taking]:
    reader = csv.reader(io.StringIO(document.text))
    try:
        header = [column.strip() for column in next(reader, [])]
        if len(set(header)) != len(header):
            main.problems.append(UsageError("two columns have the same name", place=f"{document.name}:1:1"))
            return
        line = reader.line_num + 1
        for cells in reader:
            if len(cells) > len(header):
                main.problems.append(
                    UsageError(
                        f"this row has {len(cells)} cells, but there are {len(header)} columns",
                        place=f"{document.name}:{line}:1",
                        hint="put a cell with a comma in double quotes",
                    )
                )
            elif any(cell.strip() for cell in cells):
                root = Node({}, None, line, 1, {})
                for column, cell in zip(header, cells, strict=False):
                    if cell:
                        root.put(Node(column, column, line, 1), Node(cell, cell, line, 1))
                yield Walk(MarkedLine(document.name, root, line)).at()
            line = reader.line_num + 1
    except csv.Error as error:
        place = f"{document.name}:{max(reader.line_num, 1)}:1"
        main.problems.append(UsageError(f"this is no CSV table: {error}", place=place))


def _case(at: Taking, number: int, taken: Mapping[str, Any], beside: SiblingFiles) -> Case | None:
    id = at.text("id") or str(number)
    if id in taken:
        at.walk.problem(f"two samples have the id `{id}`", (*at.path, "id"))
        return None
    messages = _messages(at)
    choices = _choices(at)
    targets = _targets(at)
    metadata = _metadata(at)
    files = _files(at, beside)
    at.lose("sandbox", message="`{key}` starts a container, which no case here does")
    at.lose("setup", message="`{key}` is a script for a container, which is not run here")
    for key in [key for key in at.value if key not in at.taken]:
        meant = near(str(key), FIELDS)
        if meant:
            continue  # reported below: probably a slip of the pen
        at.taken.add(key)
        metadata[str(key)] = at.value[key]
        at.walk.note(f"inspect: the field `{key}` is no field of a sample; it is kept as metadata")
    at.close("a sample")
    if choices and messages:
        listed = "\n".join(f"{letter}) {choice}" for letter, choice in choices.items())
        messages = [*messages[:-1], Message(messages[-1].role, f"{messages[-1].content}\n\n{listed}")]
        targets = [f"{t.strip()}) {choices[t.strip()]}" if t.strip() in choices else t for t in targets]
        at.walk.note("inspect: the choices of a sample stand below its input as A), B), C), ...")
    rubric = gated(at.walk, at.path, [expected_answer(targets)] if targets else [], MAJORITY)
    if not targets:
        at.walk.note("inspect: a sample without a target is skipped, as nothing says what a good output is")
    return Case(
        id=id,
        rubric=rubric or undecided(),
        messages=tuple(messages),
        reference="\n".join(targets) or None,
        workspace=CaseWorkspace(files=files) if files else None,
        metadata=metadata,
        skip=None if rubric else "has no target",
    )


def _messages(at: Taking) -> list[Message]:
    value = at.raw("input")
    path = (*at.path, "input")
    if isinstance(value, list):
        return [m for index in range(len(value)) if (m := _message(Taking(at.walk, (*path, index)))) is not None]
    text = at.text("input", required=True)
    return [Message("user", text)] if text is not None else []


def _message(at: Taking) -> Message | None:
    if not at.require_mapping("a message"):
        return None
    role = at.choice("role", ("system", "user", "assistant", "tool"))
    content = at.raw("content")
    at.ignore("source", "id", "tool_call_id", "model", "metadata")
    at.lose("tool_calls", "tool_error", message="`{key}` of a message has no meaning here")
    at.close("a message")
    if role is None:
        if "role" not in at:
            at.walk.problem("a message needs a `role`", at.path)
        return None
    if not isinstance(content, list):
        if content is None:
            at.walk.problem("a message needs `content`", at.path)
        return Message(role, as_text(content))
    parts = []
    for index, part in enumerate(content):
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
            parts.append(part["text"])
        elif isinstance(part, str):
            parts.append(part)
        else:
            at.walk.loss("a part of a message that is no text has no meaning here", (*at.path, "content", index))
    return Message(role, "\n".join(parts))


def _choices(at: Taking) -> dict[str, str]:
    """The choices by their letters. A table holds them in one cell, parted by commas."""
    value = at.raw("choices")
    if value is None:
        return {}
    if isinstance(value, str):
        value = value.split(",") if "," in value else value.split()
    if not isinstance(value, list) or len(value) > 26:
        at.walk.problem(f"`choices` must be a list of up to 26 texts, not {shown(value)}", (*at.path, "choices"))
        return {}
    return {chr(65 + index): as_text(choice).strip() for index, choice in enumerate(value)}


def _targets(at: Taking) -> list[str]:
    value = at.raw("target")
    if isinstance(value, list):
        found = [as_text(entry) for entry in value]
    elif isinstance(value, dict):
        at.walk.problem("`target` must be text or a list of texts, not a mapping", (*at.path, "target"))
        return []
    elif value is None or isinstance(value, str):
        found = [value or ""]
    else:
        found = [at.walk.marked.raw((*at.path, "target")) or as_text(value)]
    return [target for target in found if target.strip()]


def _metadata(at: Taking) -> dict[str, Any]:
    value = at.raw("metadata")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
            at.walk.problem("`metadata` must be a JSON object", (*at.path, "metadata"))
    if value is None:
        return {}
    if not isinstance(value, dict):
        at.walk.problem(f"`metadata` must be a mapping, not {shown(value)}", (*at.path, "metadata"))
        return {}
    return {str(key): v for key, v in value.items()}


def _files(at: Taking, beside: SiblingFiles) -> dict[str, str]:
    """Files of the case's workspace: texts as they stand, or the content of a file beside the dataset."""
    value = at.raw("files")
    if value is None:
        return {}
    if not isinstance(value, dict):
        at.walk.problem(
            f"`files` must be a mapping from names to texts or paths, not {shown(value)}", (*at.path, "files")
        )
        return {}
    found: dict[str, str] = {}
    for name, content in value.items():
        path = (*at.path, "files", name)
        if not isinstance(content, str):
            at.walk.problem(f"the file `{name}` must be a text or a path", path)
        elif content.startswith(("data:", "http:", "https:", "s3:")):
            at.walk.loss(f"the file `{name}` is binary data or on a server", path)
        elif str(name).startswith("/") or ".." in str(name).split("/"):
            at.walk.problem(f"the name `{name}` leads out of the workspace", path)
        elif (own := _beside(content, beside)) is not None:
            text = beside.text(at.walk, own, path)
            if text is not None:
                found[str(name)] = text
        else:
            found[str(name)] = content
    return found


def _beside(content: str, beside: SiblingFiles) -> str | None:
    """The content itself where it is the path of a file, as Inspect reads it; None when it is a text."""
    if "\n" in content or len(content) > 255 or not content.strip():
        return None
    try:
        return content if (beside.base / content).is_file() else None
    except (OSError, ValueError):
        return None


KEYS: Final = (
    KnownKey(key="input", meaning="The case's input: a text or a list of messages."),
    KnownKey(
        key="target",
        meaning="What a judge is asked about, and the case's reference; of a list, any of them. Without one the case is skipped.",
    ),
    KnownKey(key="choices", meaning="Put below the input as A), B), C)."),
    KnownKey(key="id", meaning="The case's id; without one, its number."),
    KnownKey(key="metadata", meaning="Kept with the case; so is every field that is no field of a sample."),
    KnownKey(key="files", meaning="Files of the case's workspace: texts, or paths beside the dataset."),
    KnownKey(key="sandbox, setup", meaning="Containers and scripts for them.", how="lost"),
    KnownKey(key="input[].role, content", meaning="A message; parts that are no text are lost."),
    KnownKey(key="input[].tool_calls, tool_error", meaning="Messages here are text.", how="lost"),
)

EXAMPLE: Final = """\
{"id": "tides", "input": "What causes the tides?", "target": "Mainly the pull of the moon"}
{"id": "boiling", "input": "At how many degrees Celsius does water boil at sea level?", "target": ["100", "one hundred"]}
"""

INSPECT: Final = Reader(
    name="inspect",
    title="an Inspect dataset",
    gives="suite",
    signs=_signs,
    read=_read,
    keys=KEYS,
    defaults=DEFAULTS,
    looks_like=("input", "target", "choices", "metadata", "files", "sandbox", "setup"),
    example=EXAMPLE,
)

READERS: tuple[Reader, ...] = (INSPECT,)
