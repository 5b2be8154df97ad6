"""One sample of Inspect as a case: its messages, choices, targets, files and metadata."""

from __future__ import annotations

import json
from functools import partial
from typing import Final

from honestone.core.judging.rubric import Criterion
from honestone.core.suite.case import Case, CaseWorkspace, Message
from honestone.formats.syntax.reader import FileEntry, did_you_mean, shown
from honestone.interop.criteria import (
    MAJORITY,
    as_text,
    expected_answer,
    gated,
    text_of_parts,
    undecided,
    yes_no,
)
from honestone.interop.reader import Formats
from honestone.interop.sibling_files import SiblingFiles

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables

FIELDS: Final = frozenset(TABLES["sample"].by_name) - {"..."}
# Letters of a key that is one of the user's own, not a misspelt field: `age`, `file`.
SHORT_KEY: Final = 4


def sample_case(at: FileEntry, number: int, siblings: SiblingFiles) -> Case | None:
    id = at.text("id") or str(number)
    messages = _messages(at, siblings.losing_missing())
    choices = _choices(at)
    targets = _targets(at)
    metadata = _metadata(at)
    files = _files(at, siblings)
    for key in map(str, at.value):
        if key in FIELDS or key.startswith("x-"):
            continue
        hint = did_you_mean(key, FIELDS) if len(key) > SHORT_KEY else None
        if hint:
            at.reading.problem(
                f"unknown key `{key}` in a sample", (*at.path, key), hint, at_key=True
            )
            continue
        metadata[key] = at.value[key]
        at.note(f"inspect: the field `{key}` is not a field of a sample; it is kept as metadata")
    if choices and messages:
        listed = "\n".join(f"{letter}) {choice}" for letter, choice in choices.items())
        messages = [
            *messages[:-1],
            Message(messages[-1].role, f"{messages[-1].content}\n\n{listed}"),
        ]
        targets = _chosen(targets, choices)
        at.note("inspect: the choices of a sample are put below its input as A), B), C), ...")
    question = []
    if choices and len(targets) > 1:
        question = [_all_chosen(targets)]
    elif targets:
        question = [expected_answer(targets)]
    rubric = gated(at.reading, at.path, question, MAJORITY)
    if not targets:
        at.note(
            "inspect: a sample without a target is skipped, as nothing says what a good output is"
        )
    return Case(
        id=id,
        rubric=rubric or undecided(),
        messages=tuple(messages),
        reference="\n".join(targets) or None,
        workspace=CaseWorkspace(files=files) if files else None,
        metadata=metadata,
        skip=None if rubric else "has no target",
    )


def _messages(at: FileEntry, siblings: SiblingFiles) -> list[Message]:
    if isinstance(at.raw("input"), list):
        return [
            message
            for entry in at.each("input")
            if (message := _message(entry, siblings)) is not None
        ]
    text = at.text("input")
    return [Message("user", text)] if text is not None else []


def _message(at: FileEntry, siblings: SiblingFiles) -> Message | None:
    if not at.read(TABLES["message"]):
        return None
    role = at.choice("role", ("system", "user", "assistant", "tool"))
    content, calls = at.raw("content"), _calls(at)
    if role is None:
        if "role" not in at:
            at.problem("a message needs a `role`")
        return None
    if content is None and not calls:
        at.problem("a message needs `content`")
    text = text_of_parts(
        at.reading, content, (*at.path, "content"), partial(siblings.data_url, at.reading)
    )
    return Message(role, "\n".join(part for part in (text, *calls) if part))


def _calls(at: FileEntry) -> list[str]:
    """The tool calls of a message as text, a line each."""
    lines = []
    for call in at.mappings("tool_calls", TABLES["call"]):
        inner = call.raw("function")  # a name, or OpenAI's mapping with the name and the arguments
        about = (
            inner
            if isinstance(inner, dict)
            else {"name": inner, "arguments": call.raw("arguments")}
        )
        at.note("inspect: tool calls in the messages of a sample are shown as text")
        lines.append(f"[calls {as_text(about.get('name'))}({as_text(about.get('arguments'))})]")
    return lines


def _choices(at: FileEntry) -> dict[str, str]:
    """The choices by their letters. A table holds them in one cell, separated by commas."""
    value = at.raw("choices")
    if value is None:
        return {}
    if isinstance(value, str):
        value = value.split(",") if "," in value else value.split()
    if not isinstance(value, list) or len(value) > 26:
        at.problem(f"`choices` must be a list of up to 26 texts, not {shown(value)}", "choices")
        return {}
    return {chr(65 + index): as_text(choice).strip() for index, choice in enumerate(value)}


def _chosen(targets: list[str], choices: dict[str, str]) -> list[str]:
    """The right choices with their letters. Inspect reads the letters one after another: `AC` is A
    and C.
    """
    letters = "".join(target.strip() for target in targets)
    if letters and set(letters) <= choices.keys():
        return [f"{letter}) {choices[letter]}" for letter in letters]
    return targets


def _all_chosen(targets: list[str]) -> Criterion:
    """Of several right choices all are to be chosen and no other, as Inspect's scorer `choice`
    asks.
    """
    listed = "\n".join(f"- {target}" for target in targets)
    return yes_no("expected-answer", f"Chooses all of these answers and no other:\n{listed}")


def _targets(at: FileEntry) -> list[str]:
    value = at.raw("target")
    if isinstance(value, list):
        found = [as_text(entry) for entry in value]
    elif isinstance(value, dict):
        at.problem("`target` must be text or a list of texts, not a mapping", "target")
        return []
    elif value is None or isinstance(value, str):
        found = [value or ""]
    else:
        found = [at.reading.marked.raw((*at.path, "target")) or as_text(value)]
    return [target for target in found if target.strip()]


def _metadata(at: FileEntry) -> dict[str, object]:
    value = at.raw("metadata")
    if not isinstance(value, str):
        return at.data("metadata")
    try:
        value = json.loads(value)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        at.problem("`metadata` must be a JSON object", "metadata")
    return dict(value) if isinstance(value, dict) else {}


def _files(at: FileEntry, siblings: SiblingFiles) -> dict[str, str]:
    """Files of the case's workspace: texts as written, or the content of a file next to the
    dataset.
    """
    value = at.raw("files")
    if value is None:
        return {}
    if not isinstance(value, dict):
        at.problem(
            f"`files` must be a mapping from names to texts or paths, not {shown(value)}", "files"
        )
        return {}
    found: dict[str, str] = {}
    for name, content in value.items():
        path = (*at.path, "files", name)
        if not isinstance(content, str):
            at.reading.problem(f"the file `{name}` must be a text or a path", path)
        elif content.startswith(("data:", "http:", "https:", "s3:")):
            at.reading.loss(f"the file `{name}` is binary data or on a server", path)
        elif str(name).startswith("/") or ".." in str(name).split("/"):
            at.reading.problem(f"the name `{name}` leads out of the workspace", path)
        elif (own := _sibling(content, siblings)) is not None:
            text = siblings.text(at.reading, own, path)
            if text is not None:
                found[str(name)] = text
        else:
            found[str(name)] = content
    return found


def _sibling(content: str, siblings: SiblingFiles) -> str | None:
    """The content itself where it is the path of a file, as Inspect reads it; None when it is a
    text.
    """
    if "\n" in content or len(content) > 255 or not content.strip():
        return None
    try:
        return content if (siblings.base / content).is_file() else None
    except (OSError, ValueError):
        return None
