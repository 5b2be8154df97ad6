"""Reads the values of a suite's keys: texts, rubrics, checks and files."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.errors import FileError, HonestoneError, UsageError
from honestone.core.judging.rubric import Check, Criterion, Quorum, Rubric, Rule, free_id, slug
from honestone.core.suite.case import Message
from honestone.formats.project import require_readable
from honestone.formats.rubric.rubric_file import RUBRIC_VALUES, RubricReading, RubricSource
from honestone.formats.source import KeyAt
from honestone.formats.suite.filling import Words, fill_node, fill_text, has_holes
from honestone.formats.suite_values import SUITE_VALUES, take_path
from honestone.formats.syntax.document import ReadRubric
from honestone.formats.syntax.marked import Marked, near_files, read_text
from honestone.formats.syntax.reader import Steps as FilePath
from honestone.formats.values import Got, Refused, ValueReaders, take_check, take_text


class RubricPart(Struct, frozen=True, kw_only=True):
    """The criteria from one place of the file, with the bars of the gate that are named there.

    `path`: the place. `paths`: the place of each criterion, empty for those of another file.
    `is_template`: it has `{{ name }}` in it, so each case with vars has its own version.
    """

    criteria: tuple[Criterion, ...]
    path: FilePath
    paths: tuple[FilePath, ...] = ()
    threshold: Fraction | None = None
    floor: Fraction | None = None
    title: str = ""
    require_calibration: bool = False
    require_tier: str | None = None
    combine: Rule | None = None
    quorum: Quorum | None = None
    is_template: bool = False


class SuitePrompt(Struct, frozen=True, kw_only=True):
    """A prompt of the suite: messages with `{{ name }}` in them, and the place that named it.
    `file`: the path of its file, where it has one.
    """

    label: str
    messages: tuple[Message, ...]
    path: FilePath
    file: str | None = None


class SuiteValueReading(RubricReading):
    """Reads values of a suite's keys: a text here or in a file, a rubric, checks, a folder."""

    def __init__(self, marked: Marked, path: Path, read_rubric: ReadRubric) -> None:
        super().__init__(marked, "cases", "case")
        self.read_rubric = read_rubric
        self.base = path.parent
        self.files: dict[Path, None] = {}
        self.texts: dict[Path, str] = {}
        self.parts: dict[Path, RubricPart | None] = {}
        self.templates: dict[Path, Marked] = {}  # rubric files of ours that words are filled into
        self.words: Words = {}  # the vars of the case that is being read
        self.noted: set[tuple[str, str]] = set()
        self.key_of_suite: KeyAt | None = None

    @property
    def readers(self) -> ValueReaders:
        return VALUES

    def problem(
        self, message: str, path: FilePath, hint: str | None = None, *, at_key: bool = False
    ) -> None:
        """Report a problem, each once: what cases share is read again for each of them."""
        place = self.marked.key_at(path) if at_key else self.marked.at(path)
        if (place, message) not in self.noted:
            self.noted.add((place, message))
            super().problem(message, path, hint, at_key=at_key)

    def elsewhere(self, error: HonestoneError, path: FilePath) -> None:
        place = error.place or self.marked.at(path)
        if (place, error.message) not in self.noted:
            self.noted.add((place, error.message))
            super().elsewhere(error, path)

    def unfilled(self, message: str, path: FilePath, hint: str) -> None:
        self.problem(message, path, hint)

    def _filled(self, text: str, file: Path, path: FilePath) -> str:
        """Fill the vars of the case into a text from a file."""

        def unfilled(at: int, message: str, hint: str) -> None:
            line = text.count("\n", 0, at) + 1
            self.elsewhere(UsageError(message, place=f"{file}:{line}:1", hint=hint), path)

        return fill_text(text, self.words, unfilled) if self.words else text

    def part(self, value: Any, path: FilePath, owner: str) -> RubricPart:
        """Read the value of `rubric`: a list of criteria, a whole rubric, or a file."""
        if isinstance(value, dict) and "criteria" not in value and "file" in value:
            return self._part_of_file(
                self._in_file("in-file", path, " of `rubric`"), (*path, "file")
            )
        hint = "write a list of criteria: [Names the cause, Says how to fix it]"
        if isinstance(value, dict) and "criteria" not in value:
            raise Refused(
                "this rubric has no `criteria`", path, hint + ", or {file: PATH}", at_key=True
            )
        if not isinstance(value, dict | list):
            if isinstance(value, str) and value.strip().endswith((".yaml", ".yml", ".json")):
                hint = f"write {{file: {value.strip()}}}"
            raise self.must_be("part", value, path, owner, hint)
        got: Got = {}
        if isinstance(value, list):
            listed = path
            self.name_texts(value)
            got["criteria"] = self.criteria(value, path, "")
        else:
            listed = (*path, "criteria")
            self.name_texts(value["criteria"])
            got = self.fields("rubric", path, " of this rubric")
        criteria: tuple[Criterion, ...] | None = got.get("criteria")
        if criteria is None:
            raise Refused
        self._remember_key_of_suite(got.get("sure"), got.get("max_looks"), self.marked, path)
        return RubricPart(
            criteria=criteria,
            path=path,
            paths=tuple((*listed, index) for index in range(len(criteria))),
            threshold=got.get("threshold"),
            floor=got.get("floor"),
            title=got.get("title", ""),
            require_calibration=got.get("require_calibration", False),
            require_tier=got.get("require_tier"),
            combine=got.get("combine"),
            quorum=got.get("quorum"),
            is_template=has_holes(self.marked.node(path)),
        )

    def _remember_key_of_suite(
        self, sure: Fraction | None, max_looks: int | None, marked: Marked, path: FilePath = ()
    ) -> None:
        """Remember where a rubric of a case has `sure` or `max_looks`, so that it can be refused:
        looks are shared out over all cases of a suite, so only the suite can have these keys.
        """
        if self.key_of_suite is None and (sure is not None or max_looks is not None):
            key = "max_looks" if sure is None else "sure"
            self.key_of_suite = KeyAt(key=key, place=marked.key_at((*path, key)))

    def _in_file(self, shape: str, path: FilePath, owner: str) -> Any:
        """The one key of `{file: PATH}` or `{files: [PATH]}`."""
        values = list(self.fields(shape, path, owner).values())
        if not values:
            raise Refused
        return values[0]

    def _part_of_file(self, name: str, path: FilePath) -> RubricPart:
        """Read a rubric file; one that several cases name is read once. Raises Refused where it is
        unsound.
        """
        file = self.file(name, path)
        if file not in self.parts:
            self.parts[file] = self._read_part(file, name, path)
        part = self.parts[file]
        if part is None:
            raise Refused
        if self.words and part.is_template:
            part = replace(part, criteria=self._filled_rubric(self.templates[file], path).criteria)
        return replace(part, path=path)

    def _filled_rubric(self, template: Marked, path: FilePath) -> Rubric:
        """Read a rubric file once more, with the vars of one case filled in."""

        def unfilled(message: str, inside: FilePath, hint: str) -> None:
            self.elsewhere(UsageError(message, place=template.at(inside), hint=hint), path)

        before = len(self.problems)
        try:
            rubric = RubricReading(
                Marked(template.name, fill_node(template.root, (), self.words, unfilled))
            ).rubric()
        except UsageError as error:
            self.all_elsewhere(error, path)
            raise Refused from None
        if len(self.problems) > before:
            raise Refused
        return rubric

    def _read_part(self, file: Path, name: str, path: FilePath) -> RubricPart | None:
        try:
            source = self.read_rubric(file)
        except UsageError as error:
            self.all_elsewhere(error, path)
            return None
        self.notes += source.notes
        rubric = source.rubric
        threshold: Fraction | None = rubric.threshold
        floor: Fraction | None = rubric.floor
        is_template = False
        if isinstance(source, RubricSource):
            self.templates[file] = source.marked
            self._remember_key_of_suite(rubric.sure, rubric.max_looks, source.marked)
            is_template = has_holes(source.marked.root)
            # A bar that a file of ours does not name is the suite's.
            threshold = threshold if source.marked.has(("threshold",)) else None
            floor = floor if source.marked.has(("floor",)) else None
        else:
            self.losses += source.losses
        if file.parent != self.base and (rubric.has_checks or rubric.has_fixes):
            self.notes.append(
                f"{name}: relative paths in its checks and fixes start at the suite's folder"
            )
        return RubricPart(
            criteria=rubric.criteria,
            path=path,
            threshold=threshold,
            floor=floor,
            title=rubric.title,
            require_calibration=rubric.require_calibration,
            require_tier=rubric.require_tier,
            combine=rubric.combine,
            quorum=rubric.quorum,
            is_template=is_template,
        )

    def checks(self, value: Any, path: FilePath, owner: str) -> tuple[Check, ...]:
        if path[0] == "defaults" and has_holes(self.marked.node(path)):
            return ()  # what they are is known when a case has filled them in

        def one(entry: Any, here: FilePath) -> Check:
            return take_check(self, entry, here, f" number {cast(int, here[-1]) + 1}")

        return self.each("checks", value, path, owner, one)

    def file(self, name: str, path: FilePath) -> Path:
        """The path of a file that the suite names. Raises Refused where it cannot be read, and for a
        pipe or a device, which could block for ever.
        """
        file = self.base / name
        try:
            require_readable(file)
            if not file.exists():
                read_text(file)  # says what is missing, with the near match
            if not file.is_file():
                raise FileError(f"`{name}` is not a file")
        except UsageError as error:
            self.elsewhere(error, path)
            raise Refused from None
        except (OSError, ValueError) as error:
            raise Refused(
                f"`{name}` cannot be read: {getattr(error, 'strerror', None) or error}", path
            ) from None
        self.files.setdefault(file)
        return file

    def _text_of_file(self, name: str, path: FilePath) -> str:
        file = self.file(name, path)
        if file not in self.texts:
            try:
                self.texts[file] = read_text(file)
            except UsageError as error:
                self.elsewhere(error, path)
                raise Refused from None
        return self._filled(self.texts[file], file, path)

    def folder(self, value: Any, path: FilePath, owner: str) -> str:
        name = take_path(self, value, path, owner)
        if (self.base / name).is_dir():
            return name
        if (self.base / name).exists():
            raise Refused(f"`{name}` is a file, but must be a folder", path)
        raise Refused(f"folder `{name}` not found next to the suite", path)

    def input(self, value: Any, path: FilePath, owner: str) -> tuple[Message, ...]:
        if isinstance(value, list):
            if not value:
                raise Refused("`input` is empty", path)
            return self.each("input", value, path, owner, self._message)
        if isinstance(value, dict) and "files" in value:
            return self._texts_of_files(
                self._in_file("in-files", path, " of `input`"), (*path, "files")
            )
        if isinstance(value, dict) and "file" not in value:
            raise self.must_be("input", value, path, owner)
        return (Message("user", self.prose(value, path, owner)),)

    def prompts(self, value: Any, path: FilePath, owner: str) -> tuple[SuitePrompt, ...]:
        """Read the value of `prompts`: one or several, each with a label of its own."""
        one = value if isinstance(value, list) else [value]
        found: dict[str, SuitePrompt] = {}
        for index, entry in enumerate(one):
            with self.noting():
                prompt = self._prompt(entry, (*path, index) if one is value else path)
                label = free_id(prompt.label, found)
                found[label] = replace(prompt, label=label)
        if not found:
            raise Refused("`prompts` is empty", path) if not one else Refused
        return tuple(found.values())

    def _prompt(self, value: Any, path: FilePath) -> SuitePrompt:
        if isinstance(value, dict):
            got = self.fields("prompt", path, " of a prompt")
            if "input" not in got:
                raise (
                    Refused("this prompt has no `input`", path) if "input" not in value else Refused
                )
            messages, written, file = got["input"], value["input"], None
            if isinstance(written, dict) and "file" in written:
                messages = messages_of_file(str(written["file"]), messages[0].content)
                file = str(self.base / str(written["file"]))
            label = got.get("label") or label_of(messages)
            return SuitePrompt(label=label, messages=messages, path=path, file=file)
        text = take_text(self, value, path, "")
        if not (names_file(text) or (has_form_of_path(text) and self._is_there(text))):
            return SuitePrompt(
                label=label_of(written := (Message("user", text),)), messages=written, path=path
            )
        name = take_path(self, text, path, "")
        place = self.base / name
        if not self._is_there(name):
            near = near_files(place)
            how = f"a text that looks like a path is written {{input: {json.dumps(text)}}}"
            hint = how if near is None else f"{near}; {how}"
            raise Refused(f"file `{place}` not found", path, hint)
        return SuitePrompt(
            label=label_of_file(name),
            messages=messages_of_file(name, self._text_of_file(name, path)),
            path=path,
            file=str(place),
        )

    def _is_there(self, name: str) -> bool:
        with suppress(OSError, ValueError):  # too long for the name of a file
            return (self.base / name.strip()).exists()
        return False

    def _message(self, value: Any, path: FilePath) -> Message:
        who = f"message number {cast(int, path[-1]) + 1}"
        if not isinstance(value, dict):
            raise Refused(f"{who} must be a mapping", path, "write {role: user, content: Hello}")
        got = self.fields("message", path, f" of {who}")
        for key in ("role", "content"):
            if key not in value:
                self.problem(f"`{key}` of {who} is missing", path)
        if "role" not in got or "content" not in got:
            raise Refused
        return Message(got["role"], got["content"])

    def _texts_of_files(self, names: tuple[str, ...], path: FilePath) -> tuple[Message, ...]:
        texts = self.each("paths", list(names), path, "", self._text_of_file)
        blocks = [f"{name}:\n\n{text.rstrip()}" for name, text in zip(names, texts, strict=True)]
        return (Message("user", texts[0] if len(names) == 1 else "\n\n".join(blocks)),)

    def content(self, value: Any, path: FilePath, owner: str) -> str:
        """Read a text as `prose` does, but accept an empty one: an empty answer is an answer."""
        if isinstance(value, str) and not value.strip():
            return value
        return self.prose(value, path, owner)

    def prose(self, value: Any, path: FilePath, owner: str) -> str:
        """Read a text, here or in a file, exactly as it is written."""
        if not isinstance(value, dict):
            take_text(self, value, path, owner)
            return cast(str, value)
        if "file" not in value:
            raise self.must_be("prose", value, path, owner)
        return self._text_of_file(
            self._in_file("in-file", path, f" of `{path[-1]}`"), (*path, "file")
        )


def label_of(messages: tuple[Message, ...]) -> str:
    """The name of a prompt that has none: its first words."""
    return slug(messages[-1].content, limit=40)


def label_of_file(name: str) -> str:
    return slug(Path(name).stem, limit=40)


def names_file(text: str) -> bool:
    """Whether a prompt is the path of a file, and not what is asked itself."""
    return has_form_of_path(text) and " " not in text.strip()


def has_form_of_path(text: str) -> bool:
    """Whether a prompt may be the path of a file. One with spaces is, where the file is there."""
    return not set(text.strip()) & set("\n{}") and bool(Path(text.strip()).suffix)


def messages_of_file(name: str, text: str) -> tuple[Message, ...]:
    """What the file of a prompt holds: a JSON list of {role, content}, or a text. As in promptfoo,
    that of a `.txt` is without the line breaks around it, any other is exactly as it is written.
    """
    text = text.strip("\n") if name.lower().endswith(".txt") else text
    try:
        value = json.loads(text) if text.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        value = None
    is_chat = isinstance(value, list) and all(
        isinstance(one, dict)
        and isinstance(one.get("role"), str)
        and isinstance(one.get("content"), str)
        for one in value
    )
    if not value or not is_chat:
        return (Message("user", text),)
    return tuple(Message(one["role"], one["content"]) for one in value)


VALUES: Final[ValueReaders] = {
    **RUBRIC_VALUES,
    **SUITE_VALUES,
    "part": SuiteValueReading.part,
    "checks": SuiteValueReading.checks,
    "folder": SuiteValueReading.folder,
    "input": SuiteValueReading.input,
    "prompts": SuiteValueReading.prompts,
    "content": SuiteValueReading.content,
    "prose": SuiteValueReading.prose,
}
