"""Texts of an AgentV file: messages with their blocks, reference answers, templates, and the files
they name.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from honestone.core.errors import FileError
from honestone.core.json_value import late_pattern
from honestone.core.judging.images import (
    IMAGE_MARK,
    is_image_address,
    written_image,
    written_images,
)
from honestone.core.suite.case import Message, as_prompt
from honestone.formats.project import repository_of
from honestone.formats.syntax.marked import read_text
from honestone.formats.syntax.reader import FileEntry, FileReading, Steps, listed, shown, words
from honestone.interop.agentv.dialect import TABLES
from honestone.interop.sibling_files import ImageBudget, data_url

_PLACEHOLDER: Final = late_pattern(r"\{\{-?\s*([A-Za-z_][\w.]*)\s*(?:\|[^}]*)?-?\}\}")
_PROGRAM: Final = (".ts", ".js", ".mjs", ".cjs", ".mts", ".py", ".sh")
_LOOKS_LIKE_PATH: Final = late_pattern(
    r"(?:file://)?\S+\.(?:md|markdown|txt|j2|njk|prompt|ts|js|mjs|cjs|mts|py|sh)"
)


def plain(value: Any) -> str:
    """A value as text: text as it is, anything else as JSON."""
    return (
        value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, indent=2, default=str)
    )


def names_file(text: str) -> bool:
    """Whether a prompt is the path of a file and not the prompt itself."""
    return text.startswith("file://") or (
        "\n" not in text and _LOOKS_LIKE_PATH.fullmatch(text.strip()) is not None
    )


class Variables(Struct, frozen=True):
    """The variables of a case by name. What a person writes in one is open: a text, a list, a
    mapping.
    """

    values: Mapping[str, object] = field(default_factory=dict)

    def with_others(self, others: Mapping[str, object]) -> Variables:
        """These and others, which take the place of those with the same name."""
        return Variables({**self.values, **others})

    def get(self, name: str) -> object:
        """None where there is none."""
        return self.values.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self.values


NO_VARIABLES: Final = Variables()


def fill(text: str, values: Variables) -> str:
    """`{{ name }}` and `{{ vars.name }}` replaced by a variable, once; what has no value stays as
    it is.
    """
    return _PLACEHOLDER.sub(lambda match: _value(match, values), text)


def _value(found: re.Match[str], values: Variables) -> str:
    is_there, value = looked_up(found[1], values)
    return plain(value) if is_there else found[0]


def looked_up(name: str, values: Variables) -> tuple[bool, object]:
    """A variable by its name, also with `vars.` in front, or a value inside it (`who.name`); and
    whether it is there.
    """
    for path in (name, name.removeprefix("vars.")):
        value: object = values.values
        for step in (path,) if path in values else path.split("."):
            if not isinstance(value, Mapping) or step not in value:
                break
            value = value[step]
        else:
            return True, value
    return False, None


def placeholders(text: str) -> list[str]:
    return [match[1] for match in _PLACEHOLDER.finditer(text)]


def _calls(take: FileEntry) -> Iterator[str]:
    """The tool calls of a message as text, a line each: a target and a judge read them there."""
    calls = take.raw("tool_calls")
    for call in listed(calls):
        known: Mapping[str, object] = call if isinstance(call, dict) else {}
        function = known.get("function")
        inner: Mapping[str, object] = function if isinstance(function, dict) else known
        name = next(
            (
                inner[key]
                for key in ("tool", "name", "tool_name")
                if isinstance(inner.get(key), str)
            ),
            None,
        )
        given = next((inner[key] for key in ("input", "arguments", "args") if key in inner), None)
        if name is None:
            yield f"(tool call: {plain(call)})"
            continue
        if given is None:
            yield f"(tool call: {name})"
            continue
        arguments = given if isinstance(given, str) else json.dumps(given, default=str)
        yield f"(tool call: {name} {arguments})"


class Texts:
    """Reads texts for one file: knows its folder, and remembers the files it read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: list[Path] = []
        self._images = ImageBudget()
        real = folder.resolve()
        self._levels: Final = len(real.relative_to(repository_of(real)).parts)

    def resolve(self, name: str) -> Path:
        """A name in the file as a path: looked for next to the file, then in each folder above, up
        to the repository's root.

        One that is found nowhere is next to the file; with a leading slash, at the root.
        """
        name = name.removeprefix("file://")
        bare = name.lstrip("/") or "."
        places = [self.folder.joinpath(*[".."] * level, bare) for level in range(self._levels + 1)]
        there = next((place for place in places if os.path.exists(place)), None)
        return there or places[-1 if name.startswith("/") else 0]

    def file(self, name: str) -> str:
        """The text of a file that is named. Raises FileError."""
        text = self._read_file(read_text, name)
        if "\0" in text:
            raise FileError(f"`{name}` is not text")
        return text

    def _read_file(self, read: Callable[[Path], str], name: str) -> str:
        path = self.resolve(name)
        text = read(path)
        if path not in self.files:
            self.files.append(path)
        return text

    def _why(self, name: str, error: FileError) -> str:
        return error.message if self.resolve(name).exists() else "it is not there"

    # ------------------------------------------------------------------------------------------------
    # messages

    def messages(self, take: FileEntry, key: str) -> tuple[Message, ...]:
        """An input: text, one message, a list of messages, or any other value as JSON."""
        return self.messages_at(take.reading, (*take.path, key), take.raw(key))

    def messages_at(self, reading: FileReading, path: Steps, value: Any) -> tuple[Message, ...]:
        if isinstance(value, str):
            return (Message("user", value),)
        if isinstance(value, dict) and "role" in value:
            return tuple(self._message(FileEntry(reading, path)))
        if isinstance(value, list) and all(
            isinstance(one, dict) and "role" in one for one in value
        ):
            return tuple(
                m
                for index in range(len(value))
                for m in self._message(FileEntry(reading, (*path, index)))
            )
        raw = reading.marked.raw(path) if not isinstance(value, dict | list) else None
        return (Message("user", raw if raw is not None else plain(value)),)

    def _message(self, take: FileEntry) -> list[Message]:
        take.read(TABLES["message"])
        parts = [part for part in (self.content(take), *_calls(take)) if part]
        return [Message(take.text("role") or "user", "\n\n".join(parts))]

    def content(self, take: FileEntry) -> str:
        """A message's content: text, a list of text and file blocks, or a value as JSON."""
        value = take.raw("content")
        if value is None:
            if "tool_calls" not in take:
                take.problem("`content` is missing")
            return ""
        if (
            isinstance(value, list)
            and value
            and all(isinstance(block, dict) and "type" in block for block in value)
        ):
            blocks = [
                self._block(FileEntry(take.reading, (*take.path, "content", i)))
                for i in range(len(value))
            ]
            return "\n\n".join(block for block in blocks if block)
        return (
            take.reading.marked.raw((*take.path, "content")) or plain(value)
            if not isinstance(value, str)
            else value
        )

    def _block(self, take: FileEntry) -> str:
        take.read(TABLES["block"])
        kind = take.choice("type", ("text", "file", "image"))
        value = take.text("value", "text", "path")
        if value is None or kind not in ("file", "image"):
            return value or ""
        if kind == "image" and is_image_address(value):
            image = written_image(value)
            if image is None:
                take.loss(f"the image `{value[:60]}` is not of a kind that models take")
            return image or ""
        return self.attached(take.reading, (*take.path, "value"), value, is_image=kind == "image")

    def attached(
        self, reading: FileReading, path: Steps, name: str, *, is_image: bool = False
    ) -> str:
        """The text of an input file, under its name, or the image. One that is not there is left
        out, as AgentV does with a warning; one that cannot be read is a loss.
        """
        if not os.path.lexists(self.resolve(name)):
            reading.note(
                f"{reading.marked.at(path)}: the input file `{name}` is not there: the input is without it, as in AgentV"
            )
            return ""
        try:
            if is_image:
                url = self._read_file(data_url, name)
                self._images.add(url, reading, path)
                return written_image(url) or ""
            text = self.file(name)
        except FileError as error:
            reading.loss(
                f"the input file `{name}` cannot be given to the target: {self._why(name, error)}",
                path,
                "put the file where its path says; or --accept-loss names it to the target without its text",
            )
            return f"(file: {name})"
        return f"--- file: {name}\n{text.rstrip()}\n--- end of file: {name}"

    # -----------------------------------------------------------------------------------------------
    # references

    def reference(self, take: FileEntry, *keys: str) -> str | None:
        """The expected output as text: of one message its content, of several all."""
        key = take.which(*keys)
        return (
            None
            if key is None
            else self.reference_at(take.reading, (*take.path, key), take.value[key])
        )

    def reference_at(self, reading: FileReading, path: Steps, value: Any) -> str | None:
        found = as_prompt(self.messages_at(reading, path, value))
        if IMAGE_MARK in found:
            reading.loss("an image in an expected output is not shown to judges", path)
            found = written_images(found)[0]
        return found if found.strip() else None

    # --------------------------------------------------------------------------------------------------
    # prompts

    def prompt(self, reading: FileReading, path: Steps, value: Any, *, bare: bool) -> str | None:
        """A judge's prompt: the text itself or of the file it names. None when there is none to
        use,
        which was said.

        `bare`: a path without `file://` that leads nowhere is only noted.
        """
        if isinstance(value, dict):
            raw = value.get("raw")
            if isinstance(raw, str) and raw.strip():
                return raw
            reading.loss(
                "a prompt that a program writes cannot be read",
                path,
                "write the prompt's text in its place",
            )
            return None
        if not isinstance(value, str) or not value.strip():
            reading.problem(f"`prompt` must be text, not {shown(value)}", path)
            return None
        if not names_file(value):
            return value
        if value.strip().endswith(_PROGRAM):
            reading.loss(
                f"the prompt `{value}` is written by a program, which is not run",
                path,
                "write the prompt's text in its place",
            )
            return None
        try:
            return self.file(value.strip())
        except FileError as error:
            if bare and not value.startswith("file://"):
                reading.note(
                    f"{reading.marked.at(path)}: the prompt file `{value}` is not there: the judge is asked by the grader's name and the case's goal"
                )
            else:
                reading.loss(
                    f"the prompt file `{value}` cannot be read: {self._why(value, error)}",
                    path,
                    "put the file where its path says; or --accept-loss leaves it out",
                )
            return None


_OURS: Final = {
    **dict.fromkeys(words("input input_text question input_messages"), "(the input)"),
    **dict.fromkeys(words("output output_text candidate_answer answer"), "(the output)"),
    **dict.fromkeys(
        words("expected_output expected_output_text reference_answer expected_messages"),
        "(the reference)",
    ),
    "file_changes": "(the changes)",
}


def as_requirement(
    reading: FileReading, path: Steps, prompt: str, goal: str | None, values: Variables
) -> str:
    """A judge's prompt as a requirement: what a judge sees anyway is named instead, the rest is
    filled in.
    """
    goals = dict.fromkeys(("criteria", "expected_outcome"), goal or "")
    known = values.with_others({**_OURS, **goals})
    open_ = sorted({name for name in placeholders(prompt) if name not in known})
    if open_:
        reading.loss(f"the prompt asks for `{open_[0]}`, which a judge is not given", path)
    return fill(prompt, known).strip()
