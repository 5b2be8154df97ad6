"""The prompts of a promptfoo config: texts, files, and functions of files that make them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.checking.script import Script
from honestone.core.json_value import Json
from honestone.core.judging.rubric import free_id, slug
from honestone.core.suite.case import Message
from honestone.formats.syntax.csv_rows import csv_rows
from honestone.formats.syntax.reader import FileEntry, FileReading, Steps, shown
from honestone.interop.criteria import as_text, text_of_parts
from honestone.interop.promptfoo.assertion import TABLES
from honestone.interop.promptfoo.code import CODE_FILES, suffix_of
from honestone.interop.promptfoo.made import code_of_prompt
from honestone.interop.sibling_files import SiblingFiles


class Prompt(Struct, frozen=True, kw_only=True):
    """One prompt: its messages as templates, and the place that named it."""

    id: str
    label: str
    messages: tuple[Message, ...]
    reading: FileReading
    path: Steps
    # The file that holds it and nothing else.
    file: Path | None = None
    # The code that makes the messages, with `config`, where they are not written.
    script: Script | None = None
    config: Json = None

    def is_among(self, names: Sequence[str]) -> bool:
        """Whether a name means this prompt: its label, or how that begins (`group`, `group:*`)."""
        return any(
            name in (self.label, self.id)
            or self.label.startswith(name.removesuffix("*").removesuffix(":") + ":")
            or (name.endswith("*") and self.label.startswith(name[:-1]))
            for name in names
        )


class PromptReading:
    """One reading of the prompts of a config."""

    def __init__(self, reading: FileReading, siblings: SiblingFiles) -> None:
        self.reading = reading
        self.siblings = siblings

    def prompts(self, top: FileEntry) -> list[Prompt]:
        value = top.raw("prompts")
        path = (*top.path, "prompts")
        if value is None:
            self.reading.note("promptfoo: without `prompts`, the prompt is the variable `prompt`")
            found = [self._prompt("{{prompt}}", None, self.reading, path)]
        elif isinstance(value, str):
            found = list(self._of_entry(value, None, self.reading, path))
        elif isinstance(value, list):
            found = [p for i, entry in enumerate(value) for p in self._entry(entry, (*path, i))]
        elif isinstance(value, dict):
            found = [
                p
                for name, label in value.items()
                for p in self._of_entry(
                    str(name), as_text(label) or None, self.reading, (*path, name)
                )
            ]
        else:
            self.reading.problem(f"`prompts` must be text or a list, not {shown(value)}", path)
            found = []
        unique: dict[str, Prompt] = {}
        for prompt in found:
            id = free_id(prompt.id, unique)
            unique[id] = replace(prompt, id=id)
        return list(unique.values())

    def _entry(self, entry: Any, path: Steps) -> Iterator[Prompt]:
        if isinstance(entry, str):
            yield from self._of_entry(entry, None, self.reading, path)
            return
        at = FileEntry(self.reading, path)
        if not at.read(TABLES["prompt"]):
            return
        label, raw, id = at.text("label", "display"), at.text("raw"), at.text("id")
        text = raw if raw is not None else id
        if text is None:
            self.reading.loss(
                "a prompt without `raw` and `id` has no text", path, "--accept-loss leaves it out"
            )
            return
        for prompt in self._of_entry(
            text, label or (id if raw is not None else None), self.reading, path
        ):
            yield replace(prompt, config=at.raw("config"))

    def _of_entry(
        self, text: str, label: str | None, reading: FileReading, path: Steps
    ) -> Iterator[Prompt]:
        """The prompts that one entry stands for: its own text, or the files that it names."""
        if re.match(r"(?:exec|langfuse|portkey|helicone|package|https?):", text):
            reading.loss(
                f"the prompt `{text[:60]}` comes from a program or a service",
                path,
                "write it into a file",
            )
            return
        is_file = text.startswith("file://")
        name = text.removeprefix("file://")
        if not is_file and not _looks_like_path(name):
            yield self._prompt(text, label, reading, path)
            return
        if suffix_of(name) in (*CODE_FILES, ".exe", ".bat", ".pl"):
            yield from self._by_code(name, label, reading, path)
            return
        for file in self.siblings.glob(reading, name, path):
            yield from self._in_file(file, label, reading, path)

    def _by_code(
        self, name: str, label: str | None, reading: FileReading, path: Steps
    ) -> Iterator[Prompt]:
        """The prompts that functions of files make, one a file."""
        names = [name]
        if set(name) & set("*?["):
            names = [
                os.path.relpath(file, self.siblings.base)
                for file in self.siblings.glob(reading, name, path)
            ]
        for one in names:
            script = code_of_prompt(one, reading, path, self.siblings)
            if script is not None:
                shown_label = label or one
                id = slug(label or Path(script.file or one).stem, limit=40)
                yield Prompt(
                    id=id, label=shown_label, messages=(), reading=reading, path=path, script=script
                )

    def _in_file(
        self, file: Path, label: str | None, reading: FileReading, path: Steps
    ) -> Iterator[Prompt]:
        text = self.siblings.open(reading, file, path)
        if text is None:
            return
        suffix = file.suffix.lower()
        if suffix == ".csv":
            texts = [
                (row.get("prompt") or "", row.get("label") or None)
                for _, row in csv_rows(text, str(file), reading.problems)
            ]
        elif suffix == ".jsonl":
            texts = [(line, None) for line in text.splitlines() if line.strip()]
        elif suffix == ".txt":
            texts = [(part.strip("\n"), None) for part in re.split(r"(?m)^---[ \t]*$", text)]
        elif suffix in (".yaml", ".yml"):
            marked = self.siblings.marked(reading, file, path)
            if marked is None:
                return
            texts = [(as_text(marked.value), None)]
        else:
            texts = [(text, None)]
        texts = [(text, name) for text, name in texts if text.strip()]
        if not texts:
            reading.problem(f"`{file.name}` holds no prompt", path)
        for number, (text, name) in enumerate(texts, 1):
            stem = file.stem if len(texts) == 1 else f"{file.stem}-{number}"
            prompt = self._prompt(
                text, name or (label if len(texts) == 1 else None) or stem, reading, path
            )
            yield replace(prompt, file=file if len(texts) == 1 and suffix != ".csv" else None)

    def _prompt(self, text: str, label: str | None, reading: FileReading, path: Steps) -> Prompt:
        messages = chat_messages(text, reading, path) or (Message("user", text),)
        name = label or text
        return Prompt(
            id=slug(name, limit=40), label=name, messages=messages, reading=reading, path=path
        )


def _looks_like_path(text: str) -> bool:
    known = (".txt", ".md", ".json", ".jsonl", ".yaml", ".yml", ".j2", ".csv", *CODE_FILES)
    return len(text) < 300 and not re.search(r"\s|\{", text) and Path(text).suffix.lower() in known


def chat_messages(text: str, reading: FileReading, path: Steps) -> tuple[Message, ...] | None:
    """The messages of a prompt that is a JSON list of them; None when it is plain text."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list) or not value:
        return None
    messages = []
    for entry in value:
        if (
            not isinstance(entry, dict)
            or not isinstance(entry.get("role"), str)
            or "content" not in entry
        ):
            return None
        messages.append(Message(entry["role"], text_of_parts(reading, entry["content"], path)))
    return tuple(messages)
