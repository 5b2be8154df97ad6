"""The tests of a promptfoo config: each with the defaults under it, as layers of which the later
override the earlier.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.checking.script import Script
from honestone.core.errors import FileError, UsageError
from honestone.core.json_value import Json, is_number, late_pattern
from honestone.formats.source import Loss
from honestone.formats.syntax.csv_rows import csv_rows
from honestone.formats.syntax.document import Document, MarkedLine
from honestone.formats.syntax.marked import Marked, parse_marked
from honestone.formats.syntax.nodes import node_of
from honestone.formats.syntax.reader import FileEntry, FileReading, Steps, shown, words
from honestone.interop.criteria import as_text
from honestone.interop.promptfoo.assertion import TABLES
from honestone.interop.promptfoo.assertion_types import assertion_of_cell, factuality_scores
from honestone.interop.promptfoo.code import CODE_FILES, read_transform, suffix_of
from honestone.interop.promptfoo.made import may_be_fetched, rows_of_dataset, sheet_of, tests_made
from honestone.interop.promptfoo.providers import Provider
from honestone.interop.reader import ignoring_others
from honestone.interop.sibling_files import SiblingFiles

MAX_CASES: Final = 10_000
T = TypeVar("T")
_IMAGES: Final = words(".png .jpg .jpeg .gif .webp")
_MEDIA: Final = words(".bmp .svg .tiff .mp3 .wav .ogg .mp4 .mov .webm")


class Layer(Struct, frozen=True, kw_only=True):
    """A test as it is written, or the defaults under it: each later layer overrides the earlier."""

    at: FileEntry
    # The table that it is a row of.
    table: Path | None = None
    description: str | None = None
    id: str | None = None
    variables: Mapping[str, object] = field(default_factory=dict)
    threshold: Fraction | None = None
    prefix: str | None = None
    suffix: str | None = None
    expands: bool | None = None
    keeps_defaults: bool = True
    prompts: tuple[str, ...] | None = None
    # What takes the place of the config's providers.
    provider: Provider | None = None
    providers: tuple[str, ...] | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    transforms: tuple[Script, ...] = ()
    # `transformVars`.
    changes_variables: Script | None = None
    # It has a `rubricPrompt`.
    asks_otherwise: bool = False
    # The scores of the answers to `factuality`.
    factuality: Mapping[str, Fraction] = field(default_factory=dict)


class ConfigFiles:
    """A config and the files that it names, each with what is wrong in it and what is lost."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.reading = FileReading(document.marked)
        self.others: list[FileReading] = []
        # promptfoo runs without tests that it does not find, and fails each test whose assertion or
        # variable it does not find. What is wrong with one prompt, test or provider keeps no other
        # from being read.
        self.siblings = SiblingFiles(document.path.parent, loses_missing=True)

    def other(self, marked: Marked) -> FileReading:
        self.others.append(FileReading(marked))
        return self.others[-1]

    def has(self, *, problems: bool = False, losses: bool = False, code: bool = False) -> bool:
        """Whether something was found wrong, or lost, in this file or in one that it names; or is
        made by code that was not run.
        """
        return any(
            (problems and one.problems)
            or (losses and one.losses)
            or (
                code and self.document.run_code is None and any(use.makes_cases for use in one.code)
            )
            for one in (self.reading, *self.others)
        )


class LayerReading:
    """The tests of a config and their defaults, wherever they are written. `provider` reads the one
    that a test names for itself.
    """

    def __init__(
        self,
        files: ConfigFiles,
        provider: Callable[[FileReading, Steps, object], Provider | None],
    ) -> None:
        self.document, self.reading = files.document, files.reading
        self.siblings, self.other = files.siblings, files.other
        self.provider = provider

    def default_test(self, top: FileEntry) -> Layer | None:
        value = top.raw("defaultTest")
        if value is None:
            return None
        if not isinstance(value, str):
            return self.layer(top.below("defaultTest"), is_default=True)
        path = (*top.path, "defaultTest")
        marked = self.siblings.named(self.reading, value.removeprefix("file://"), path)
        return self.layer(self.other(marked).at(), is_default=True) if marked else None

    def tests(self, top: FileEntry, default: Layer | None) -> list[tuple[Layer, ...]]:
        value = top.raw("tests")
        path = (*top.path, "tests")
        base = () if default is None else (default,)
        if value is None or value == []:  # promptfoo runs every prompt once
            return [] if "scenarios" in top else [base or (Layer(at=top),)]
        if isinstance(value, str):
            layers = list(self.test_file(value, self.reading, path))
        elif isinstance(value, dict):
            layers = list(self.test_entry(self.reading, path))
        elif isinstance(value, list):
            layers = [
                layer
                for i in range(len(value))
                for layer in self.test_entry(self.reading, (*path, i))
            ]
        else:
            message = f"`tests` must be a list of tests or the name of a file, not {shown(value)}"
            self.reading.loss(message, path, _WARNS)
            layers = []
        return [(*base, layer) for layer in layers]

    def test_entry(self, reading: FileReading, path: Steps) -> Iterator[Layer]:
        at = FileEntry(reading, path)
        if isinstance(at.value, str):
            yield from self.test_file(at.value, reading, path)
        elif "path" in at and "vars" not in at and "assert" not in at:
            yield from self.test_file(str(at.value["path"]), reading, path, at.value.get("config"))
        else:
            yield self.layer(at)

    def test_file(
        self, name: str, reading: FileReading, path: Steps, config: Json = None
    ) -> Iterator[Layer]:
        """The tests in a YAML, JSON, JSON lines or CSV file, or in all files that a pattern
        chooses.
        """
        if may_be_fetched(name):
            yield from self.tests_fetched(name, reading, path)
            return
        if re.match(r"(?:https?|huggingface|langfuse):", name):
            reading.loss(
                f"the tests at `{name[:60]}` are on a server", path, "save them next to this file"
            )
            return
        name = name.removeprefix("file://")
        if suffix_of(name.partition("#")[0]) in (".xlsx", ".xls"):
            message = f"the test file `{name[:60]}` is made by a spreadsheet program"
            reading.loss(message, path, "save the tests as YAML, JSON or CSV")
            return
        if suffix_of(name) in CODE_FILES:
            yield from self.tests_of_code(name, config, reading, path)
            return
        for file in self.siblings.glob(reading, name, path):
            yield from self.tests_in(file, reading, path)

    def tests_fetched(self, name: str, reading: FileReading, path: Steps) -> Iterator[Layer]:
        """The tests of a data set or a sheet on a server, where a person allows to fetch them."""
        reading.runs(f"the tests at `{name[:60]}`", path, makes_cases=True)
        fetch = self.document.fetch
        if fetch is None:
            reading.note(
                f"promptfoo: the tests at `{name[:60]}` are fetched with --allow-code only"
            )
            return
        try:
            if not name.startswith("huggingface:"):
                text = sheet_of(name, fetch)
                for line, row in csv_rows(text, name, reading.problems):
                    yield from self.row(Path(name), line, row)
                return
            tests = rows_of_dataset(name, fetch)
            other = self.other(parse_marked(json.dumps(tests, ensure_ascii=False), name))
        except FileError as error:
            reading.elsewhere(error, path)
            return
        except UsageError as error:
            reading.problem(error.message, path, error.hint)
            return
        for index in range(len(tests)):
            yield from self.test_entry(other, (index,))

    def tests_of_code(
        self, name: str, config: Json, reading: FileReading, path: Steps
    ) -> Iterator[Layer]:
        if '"file://' in json.dumps(config, default=str):
            reading.loss(
                "a file that the `config` of tests names is not read",
                path,
                "write its content here",
            )
        marked = tests_made(name, config, reading, path, self.siblings, self.document.run_code)
        if marked is not None:
            other = self.other(marked)
            for index in range(len(marked.value)):
                yield from self.test_entry(other, (index,))

    def tests_in(self, file: Path, reading: FileReading, path: Steps) -> Iterator[Layer]:
        text = self.siblings.open(reading, file, path)
        if text is None:
            return
        suffix = file.suffix.lower()
        if suffix == ".csv":
            for line, row in csv_rows(text, str(file), reading.problems):
                yield from self.row(file, line, row)
            return
        if suffix in (".jsonl", ".ndjson"):
            try:
                rows = Document(path=file, text=text).rows
            except FileError as error:
                reading.elsewhere(error, path)
                return
            for row_read in rows:
                yield from self.test_entry(self.other(row_read.marked), ())
            return
        marked = self.siblings.marked(reading, file, path)
        if marked is None:
            return
        other = self.other(marked)
        if isinstance(marked.value, list):
            for index in range(len(marked.value)):
                yield from self.test_entry(other, (index,))
        else:
            yield from self.test_entry(other, ())

    def row(self, file: Path, line: int, row: Mapping[str, str]) -> Iterator[Layer]:
        """One row of a table: columns are variables, `__...` columns are what they are named after."""
        test, unread = test_of_row(row)
        reading = self.other(MarkedLine(str(file), node_of(test, (line, 1)), line))
        reading.losses += [
            Loss(place=f"{file}:{line}:1", message=f"the column `{column}` has no meaning here")
            for column in unread
        ]
        yield replace(self.layer(reading.at(), expands=False), table=file)

    def scenarios(self, top: FileEntry, default: Layer | None) -> list[tuple[Layer, ...]]:
        """Every set of data of a scenario with every test of it."""
        base = () if default is None else (default,)
        found: list[tuple[Layer, ...]] = []
        for at in top.each("scenarios"):
            if isinstance(at.value, str):
                at.loss("a scenario in a file of its own is not read", hint="write it here")
            if isinstance(at.value, str) or not at.read(TABLES["scenario"]):
                continue
            data = [self.layer(config, is_default=True) for config in at.each("config")]
            tests = [
                layer
                for test in at.each("tests")
                for layer in self.test_entry(self.reading, test.path)
            ]
            if len(found) + len(data) * len(tests) > MAX_CASES:
                raise too_many_cases(at)
            found += [(*base, config, test) for config in data for test in tests]
        return found

    def layer(
        self, at: FileEntry, *, is_default: bool = False, expands: bool | None = None
    ) -> Layer:
        """One test, read once; its assertions are read for each case, with the case's variables."""
        known = TABLES["test"].named("`defaultTest`") if is_default else TABLES["test"]
        if not at.read(
            ignoring_others(known, at.value, "promptfoo", _MEANT) if at.is_mapping else known
        ):
            return Layer(at=at)
        variables = self.variables(at)
        options = at.mapping("options", TABLES["options"])
        prompts, providers, own = at.texts("prompts"), at.texts("providers"), at.raw("provider")
        return Layer(
            at=at,
            description=at.text("description"),
            variables=variables,
            threshold=at.number("threshold", low=0, high=1),
            prefix=None if options is None else options.text("prefix"),
            suffix=None if options is None else options.text("suffix"),
            expands=False
            if options is not None and options.flag("disableVarExpansion")
            else expands,
            keeps_defaults=options is None or options.flag("disableDefaultAsserts") is not True,
            prompts=None if prompts is None else tuple(prompts),
            provider=self.provider(at.reading, (*at.path, "provider"), own) if own else None,
            providers=None if providers is None else tuple(providers),
            metadata=at.data("metadata"),
            transforms=() if options is None else self.transforms(options),
            changes_variables=None if options is None else self.changes_variables(options),
            asks_otherwise=options is not None and "rubricPrompt" in options,
            factuality={}
            if options is None
            else factuality_scores(options.mapping("factuality", TABLES["factuality"])),
        )

    def changes_variables(self, options: FileEntry) -> Script | None:
        if "transformVars" not in options:
            return None
        what = "the `transformVars` of a test"
        found = read_transform(options, "transformVars", self.siblings, what, makes_cases=True)
        return found[0] if found else None

    def transforms(self, options: FileEntry) -> tuple[Script, ...]:
        """What changes the output of a test. `postprocess` is its old name."""
        key = options.which("transform", "postprocess")
        return (
            read_transform(options, key, self.siblings, "the `transform` of a test") or ()
            if key
            else ()
        )

    def variables(self, at: FileEntry) -> dict[str, object]:
        value = at.raw("vars")
        path = (*at.path, "vars")
        if value is None:
            return {}
        if isinstance(value, str) or (
            isinstance(value, list) and all(isinstance(v, str) for v in value)
        ):
            names = [value] if isinstance(value, str) else value
            return {
                key: v
                for name in names
                for key, v in self.variables_in(name, at.reading, path).items()
            }
        if not isinstance(value, dict):
            at.problem(f"`vars` must be a mapping, not {shown(value)}", "vars")
            return {"vars": _UNREAD}
        return {
            key: self.variable(v, at.reading, (*path, key)) for key, v in at.data("vars").items()
        }

    def variables_in(self, name: str, reading: FileReading, path: Steps) -> dict[str, object]:
        """The variables of a file, or of all files that a pattern chooses."""
        files = self.siblings.glob(reading, name.removeprefix("file://"), path)
        found: dict[str, object] = {} if files else {name: _UNREAD}
        for file in files:
            marked = self.siblings.marked(reading, file, path)
            if marked and isinstance(marked.value, dict):
                found |= {str(key): v for key, v in marked.value.items()}
            else:
                found[name] = _UNREAD
                if marked:
                    reading.problem(f"`{file.name}` must hold a mapping of variables", path)
        return found

    def variable(self, value: Any, reading: FileReading, path: Steps) -> Any:
        """A value, or the content of the file that it names."""
        if isinstance(value, list):
            parts = [self.variable(v, reading, (*path, i)) for i, v in enumerate(value)]
            # Numbers are kept as they are written, which is text: whether the list is several cases
            # is decided here.
            return parts if is_several(value) else tuple(parts)
        if not isinstance(value, str) or not value.startswith("file://"):
            if is_number(value):
                written = reading.marked.raw(path)
                return value if written in (None, as_text(value)) else written
            return value
        name = value.removeprefix("file://")
        if suffix_of(name) in CODE_FILES:
            reading.loss(
                f"the variable `{value[:60]}` is made by code of this config, which honestone never runs",
                path,
            )
            return _UNREAD
        if suffix_of(name) in _IMAGES:
            return self.siblings.data_url(reading, name, path) or _UNREAD
        if suffix_of(name) in _MEDIA:
            reading.loss(
                f"the variable `{value[:60]}` is neither text nor an image that models take", path
            )
            return _UNREAD
        if "*" in name:
            files = self.siblings.glob(reading, name, path)
            return [self.text_of(reading, file, path) for file in files] or _UNREAD
        found = self.siblings.find(reading, name, path)
        if found is None:
            return _UNREAD
        if found.suffix.lower() in (".yaml", ".yml", ".json"):
            marked = self.siblings.marked(reading, found, path)
            # A list in a file is one value; only a list in the config stands for several cases.
            if marked is None:
                return _UNREAD
            return tuple(marked.value) if isinstance(marked.value, list) else marked.value
        return self.text_of(reading, found, path)

    def text_of(self, reading: FileReading, file: Path, path: Steps) -> str:
        is_pdf = file.suffix.lower() == ".pdf"
        text = (self.siblings.pdf_text if is_pdf else self.siblings.open)(reading, file, path)
        return _UNREAD if text is None else text


def test_of_row(row: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The test that a row of a table stands for, and the `__` columns that mean nothing here."""
    test: dict[str, Any] = {"vars": {}}
    asserts: list[dict[str, object]] = []
    thresholds: dict[int, float] = {}
    unread: list[str] = []
    for column, cell in row.items():
        if not column.startswith("__"):
            test["vars"][column] = cell
        elif not cell.strip() or column == "__metadata":
            continue
        elif re.fullmatch(r"__expected\d*", column):
            asserts.append(assertion_of_cell(cell))
        elif (match := _THRESHOLD.fullmatch(column)) and (
            number := _finite_number(cell)
        ) is not None:
            thresholds[int(match[1] or 1) - 1] = number
        elif column == "__description":
            test["description"] = cell
        elif column in ("__prefix", "__suffix"):
            test.setdefault("options", {})[column[2:]] = cell
        elif column == "__threshold" and (number := _finite_number(cell)) is not None:
            test["threshold"] = number
        elif column.startswith("__metadata:"):
            name = column.removeprefix("__metadata:")
            is_list = name.endswith("[]")
            value = [part.strip() for part in re.split(r"(?<!\\),", cell)] if is_list else cell
            test.setdefault("metadata", {})[name.removesuffix("[]")] = value
        elif column != "__metric":
            unread.append(column)
    for index, assertion in enumerate(asserts):
        assertion |= {"threshold": thresholds[index]} if index in thresholds else {}
        if row.get("__metric", "").strip():
            assertion["metric"] = row["__metric"]
    if asserts:
        test["assert"] = asserts
    return test, unread


def too_many_cases(at: FileEntry) -> UsageError:
    return UsageError(
        f"this config stands for more than {MAX_CASES} cases",
        place=at.reading.marked.at(at.path),
        hint="variables that are lists are multiplied: split them, or set `disableVarExpansion`",
    )


# Words for what a test has; others are passed over, as promptfoo does.
_MEANT: Final = (
    *(name for row in TABLES["test"].rows if row.how != "ignored" for name in row.names),
    *words("variables assertions asserts defaultTest"),
)


class Unread(str):
    """In the place of a variable that cannot be read: the cases that have it are skipped."""


_UNREAD: Final = Unread()


def last_of(layers: Sequence[Layer], value_of: Callable[[Layer], T | None]) -> T | None:
    """What the last layer says that says something."""
    return next(
        (value for layer in reversed(layers) if (value := value_of(layer)) is not None), None
    )


def together(
    layers: Sequence[Layer], values_of: Callable[[Layer], Mapping[str, object]]
) -> dict[str, object]:
    """What all layers say; of one name the last."""
    return {name: value for layer in layers for name, value in values_of(layer).items()}


def as_data(layers: Sequence[Layer]) -> dict[str, Any]:
    """A test as code hears of it."""
    written = layers[-1].at.value
    own = {
        key: written[key]
        for key in ("description", "assert", "options", "threshold")
        if key in written
    }
    variables = together(layers, lambda layer: layer.variables)
    return {**own, "vars": variables, "metadata": together(layers, lambda layer: layer.metadata)}


def with_variables(layers: tuple[Layer, ...], variables: Mapping[str, object]) -> tuple[Layer, ...]:
    return (*layers[:-1], replace(layers[-1], variables=variables))


def is_several(value: object) -> bool:
    """A list that stands for several cases: promptfoo multiplies lists of texts, and keeps others
    as one value.
    """
    return isinstance(value, list) and bool(value) and isinstance(value[0], str)


# A column with the threshold of one expected value, by its number.
_THRESHOLD: Final = late_pattern(r"__config:__expected(\d*):threshold")

_WARNS: Final = "promptfoo warns of it and reads on; --accept-loss leaves it out"


def _finite_number(text: str) -> int | float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
