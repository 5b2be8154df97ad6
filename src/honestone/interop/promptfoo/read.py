"""promptfoo configs: prompts times tests become cases, assertions become criteria."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Final, TypeVar

from honestone.core.checking.script import Script
from honestone.core.errors import FileError, UsageError
from honestone.core.json_value import Json
from honestone.core.judging.images import IMAGE_MARK, written_images
from honestone.core.judging.rubric import free_id, slug
from honestone.core.suite.case import AttemptRule, Case, Message, OutputForm, Suite, TargetSpec
from honestone.formats.source import Loss, SuiteSource
from honestone.formats.syntax.csv_rows import csv_rows
from honestone.formats.syntax.document import Document, MarkedLine
from honestone.formats.syntax.marked import Marked, parse_marked
from honestone.formats.syntax.nodes import node_of
from honestone.formats.syntax.reader import (
    Cases,
    FileEntry,
    FileReading,
    Steps,
    listed,
    shown,
    words,
)
from honestone.interop.criteria import as_text, gated, undecided
from honestone.interop.environment import HINT
from honestone.interop.promptfoo.assertion import FORMATS, TABLES, Scope
from honestone.interop.promptfoo.asserts import (
    assertion_of_cell,
    factuality_scores,
    is_type,
    lose_problems,
    read_assertions,
)
from honestone.interop.promptfoo.code import CODE_FILES, json_values, read_transform, suffix_of
from honestone.interop.promptfoo.hooks import (
    Extension,
    extended_before_all,
    extended_before_each,
    read_extensions,
    variables_transformed,
)
from honestone.interop.promptfoo.made import (
    NOT_RUN,
    may_be_fetched,
    prompts_made,
    rows_of_dataset,
    sheet_of,
    tests_made,
)
from honestone.interop.promptfoo.prompts import Prompt, PromptReading, chat_messages
from honestone.interop.promptfoo.providers import Provider, read_provider
from honestone.interop.promptfoo.templates import fill
from honestone.interop.reader import Reader, ignoring_others
from honestone.interop.sibling_files import LEFT_OUT, SiblingFiles

MAX_CASES: Final = 10_000
T = TypeVar("T")
_IMAGES: Final = words(".png .jpg .jpeg .gif .webp")
_MEDIA: Final = words(".bmp .svg .tiff .mp3 .wav .ogg .mp4 .mov .webm")
# Characters that all prompts together may come to once their variables are filled in.
MAX_FILLED_IN_ALL: Final = 50_000_000


# --------------------------------------------------------------------------------------------------
# what is read


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    """A test as it is written, or the defaults under it: each later layer overrides the earlier."""

    at: FileEntry
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """What `evaluateOptions` says."""

    repeat: int = 1
    concurrency: int | None = None
    timeout: float | None = None


class _Config:
    """One reading of a config and of the files that it names."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.reading = FileReading(document.marked)
        self.others: list[FileReading] = []
        # promptfoo runs without tests that it does not find, and fails each test whose assertion or
        # variable it does not find. What is wrong with one prompt, test or provider keeps no other
        # from being read.
        self.siblings = SiblingFiles(document.path.parent, loses_missing=True)
        self.filled = 0
        self.own_variables: dict[str, str] = {}
        self.providers: list[Provider] = []
        self.pinned: dict[str, Provider] = {}
        """Providers of single tests, by their columns."""
        self.named_providers: list[Provider] = []
        self.extensions: list[Extension] = []
        self.templates: set[str] = set()
        self.variable_names: set[str] = set()
        """Templates that were filled in, and the names of the tests' variables."""
        self.known_extended: dict[int, list[dict[str, Any]]] = {}
        """Variables after `beforeEach`, by the identity of the test."""

    def other(self, marked: Marked) -> FileReading:
        self.others.append(FileReading(marked))
        return self.others[-1]

    def read(self) -> SuiteSource:
        reading, top = self.reading, self.reading.at()
        if not top.read(TABLES["config"]):
            reading.finish()
        if "redteam" in top and not any(
            key in top for key in ("tests", "scenarios", "defaultTest")
        ):
            raise UsageError(
                "this promptfoo config is for red teaming alone: a model of promptfoo's makes its tests",
                place=reading.marked.at((*top.path, "redteam")),
                hint="run it with `promptfoo redteam run`; honestone reads configs with `tests`",
            )
        prompts = PromptReading(self.reading, self.siblings).prompts(top)
        options = self.options(top)
        self.providers = list(self.listed_providers(top))
        self.own_variables = _own_variables(top)
        default = self.default_test(top)
        tests = [*self.tests(top, default), *self.scenarios(top, default)]
        self.extensions = read_extensions(top, self.siblings)
        tests = self.changed_by_code(tests, () if default is None else (default,))
        if not tests and not self.has(problems=True, losses=True, code=True):
            reading.problem(
                "this config has no tests", (), "give it `tests`, each with `vars` and `assert`"
            )
        cases = Cases()
        for prompt in prompts:
            for number, layers in enumerate(tests, 1):
                if self.applies(prompt, layers):
                    self.cases(prompt, len(prompts) > 1, number, layers, options, cases)
        if tests and prompts and not cases:
            reading.loss("no test of this config is for any of its prompts", ())
        if not cases:
            cases.add(_nothing_read(is_code=self.has(code=True)), top)
        reading.note(*FORMATS.defaults("promptfoo"))
        reading.join(*self.others)
        lose_problems(reading, LEFT_OUT)
        reading.finish()
        found = cases.all()
        first, *more = self.targets(found) or [TargetSpec()]
        suite = Suite(
            cases=found,
            title=top.text("description") or "",
            target=first,
            more_targets=tuple(more),
            concurrency=options.concurrency,
        )
        return reading.suite_source(
            self.document.path, "promptfoo", suite, cases, self.siblings.files
        )

    def changed_by_code(
        self, tests: list[tuple[_Layer, ...]], base: tuple[_Layer, ...]
    ) -> list[tuple[_Layer, ...]]:
        """The tests with what `beforeAll` of extensions, then `transformVars`, make of them, where
        that code is run. Raises UsageError where they fail: which tests were meant is not known
        then.
        """
        run_code = self.document.run_code
        if run_code is None or not tests:
            return tests
        for extension in self.extensions:
            if extension.is_for("beforeAll"):
                given = [_as_data(layers) for layers in tests]
                found, more = extended_before_all(
                    extension, self.reading.marked.value, given, run_code
                )
                tests = [
                    _with_variables(layers, made) for layers, made in zip(tests, found, strict=True)
                ]
                other = self.other(
                    parse_marked(json.dumps(more, ensure_ascii=False), str(extension.script.file))
                )
                tests += [
                    (*base, layer)
                    for n in range(len(more))
                    for layer in self.test_entry(other, (n,))
                ]
        scripts = [_last(layers, lambda layer: layer.changes_variables) for layers in tests]
        for script in dict.fromkeys(one for one in scripts if one is not None):
            mine = [n for n, one in enumerate(scripts) if one == script]
            changed = variables_transformed(script, [_as_data(tests[n]) for n in mine], run_code)
            for n, made in zip(mine, changed, strict=True):
                tests[n] = _with_variables(tests[n], made)
        return tests

    def extended(
        self, layers: tuple[_Layer, ...], variables: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """The variables of each case of a test after `beforeEach` of extensions, which is called
        once for all prompts.
        """
        run_code = self.document.run_code
        if run_code is None or not any(one.is_for("beforeEach") for one in self.extensions):
            return variables
        if id(layers) not in self.known_extended:
            for extension in self.extensions:
                if extension.is_for("beforeEach"):
                    given = [{**_as_data(layers), "vars": one} for one in variables]
                    variables = extended_before_each(extension, given, run_code)
            self.known_extended[id(layers)] = variables
        return self.known_extended[id(layers)]

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

    # --------------------------------------------------------------------------------------------------
    # the target

    def listed_providers(self, top: FileEntry) -> Iterator[Provider]:
        key = str(top.which("providers", "targets"))
        value = top.raw("providers", "targets")
        entries = listed(value)
        if not entries:
            self.reading.note(
                "promptfoo: no provider is named: --target says what produces the outputs"
            )
        for index, entry in enumerate(entries):
            path = (*top.path, key, index) if isinstance(value, list) else (*top.path, key)
            provider = self.provider(self.reading, path, entry)
            if provider is not None:
                yield provider

    def note_what_reaches_no_target(self, provider: str) -> None:
        """A provider that is code may read variables that are in no prompt. Another target never
        sees them, so that tests which differ in them alone ask it the same.
        """
        text = "\n".join(self.templates)
        unseen = sorted(
            name for name in self.variable_names if not re.search(rf"\b{re.escape(name)}\b", text)
        )
        if unseen:
            names = ", ".join(f"`{name}`" for name in unseen)
            is_one = len(unseen) == 1
            these, are = ("the variable", "is") if is_one else ("the variables", "are")
            self.reading.note(
                f"promptfoo: {these} {names} {are} in no template: no target but `{provider}` sees what is in it"
            )

    def targets(self, cases: Sequence[Case]) -> list[TargetSpec]:
        """The providers that are targets here too, each a column. Others are not lost: `--target`
        chooses.
        """
        is_pinned = all(set(case.targets) & self.pinned.keys() for case in cases)
        providers = [*([] if is_pinned else self.providers), *self.pinned.values()]
        has_columns = len(providers) > 1 or any(case.targets for case in cases)
        targets: list[TargetSpec] = []
        for provider in providers:
            use = provider.use
            if use is None:
                self.reading.note(
                    f"promptfoo: the target is not taken from `{provider.id}`: --target names one"
                )
                self.note_what_reaches_no_target(provider.id)
                continue
            self.reading.note(f"promptfoo: provider `{provider.id}` is the target `{use}`")
            label = provider.label or (provider.id if has_columns else None)
            # promptfoo cuts the white space around what a program prints.
            output: OutputForm = "trimmed" if provider.id.startswith("exec:") else "text"
            spec = TargetSpec(use=use, label=label, parameters=provider.parameters, output=output)
            if spec in targets:
                self.reading.note(
                    f"promptfoo: provider `{provider.id}` is named twice; its cases run once"
                )
            else:
                targets.append(spec)
        return targets

    def columns(self, prompt: Prompt, layers: Sequence[_Layer]) -> tuple[str, ...] | None:
        """The providers that a test with a prompt is for, by their columns: none named where it is
        for all of them, None where it is for none.
        """
        own = _last(layers, lambda layer: layer.provider)
        if own is not None:
            self.pinned.setdefault(own.column, own)
            return (own.column,)
        chosen = _last(layers, lambda layer: layer.providers)
        found = [
            one.column
            for one in self.providers
            if (one.prompts is None or prompt.is_among(one.prompts))
            and (chosen is None or any(one.is_meant(name) for name in chosen))
        ]
        if len(found) == len(self.providers):
            return ()
        return tuple(dict.fromkeys(found)) or None

    def provider(self, reading: FileReading, path: Steps, entry: Any) -> Provider | None:
        provider = read_provider(reading, path, entry, self.siblings)
        if provider is not None:
            self.named_providers.append(provider)
        return provider

    def options(self, top: FileEntry) -> _Options:
        at = top.mapping("evaluateOptions", TABLES["run"])
        if at is None:
            return _Options()
        repeat = at.number("repeat", low=1, high=1000, is_whole=True)
        concurrency = at.number("maxConcurrency", low=1, high=1000, is_whole=True)
        timeout = at.number("timeoutMs", low=0)
        if repeat is not None and repeat > 1:
            self.reading.note(
                "promptfoo: every repeat is a test of its own, so all attempts have to pass (pass^k)"
            )
        return _Options(
            repeat=int(repeat or 1),
            concurrency=None if concurrency is None else int(concurrency),
            timeout=float(timeout) / 1000 if timeout else None,
        )

    # ---------------------------------------------------------------------------------------------------
    # the tests

    def default_test(self, top: FileEntry) -> _Layer | None:
        value = top.raw("defaultTest")
        if value is None:
            return None
        if not isinstance(value, str):
            return self.layer(top.below("defaultTest"), is_default=True)
        path = (*top.path, "defaultTest")
        marked = self.siblings.named(self.reading, value.removeprefix("file://"), path)
        return self.layer(self.other(marked).at(), is_default=True) if marked else None

    def tests(self, top: FileEntry, default: _Layer | None) -> list[tuple[_Layer, ...]]:
        value = top.raw("tests")
        path = (*top.path, "tests")
        base = () if default is None else (default,)
        if value is None or value == []:  # promptfoo runs every prompt once
            return [] if "scenarios" in top else [base or (_Layer(at=top),)]
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

    def test_entry(self, reading: FileReading, path: Steps) -> Iterator[_Layer]:
        at = FileEntry(reading, path)
        if isinstance(at.value, str):
            yield from self.test_file(at.value, reading, path)
        elif "path" in at and "vars" not in at and "assert" not in at:
            yield from self.test_file(str(at.value["path"]), reading, path, at.value.get("config"))
        else:
            yield self.layer(at)

    def test_file(
        self, name: str, reading: FileReading, path: Steps, config: Json = None
    ) -> Iterator[_Layer]:
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

    def tests_fetched(self, name: str, reading: FileReading, path: Steps) -> Iterator[_Layer]:
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
    ) -> Iterator[_Layer]:
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

    def tests_in(self, file: Path, reading: FileReading, path: Steps) -> Iterator[_Layer]:
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

    def row(self, file: Path, line: int, row: Mapping[str, str]) -> Iterator[_Layer]:
        """One row of a table: columns are variables, `__...` columns are what they are named after."""
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
            elif (found := _THRESHOLD.fullmatch(column)) and (number := _number(cell)) is not None:
                thresholds[int(found[1] or 1) - 1] = number
            elif column == "__description":
                test["description"] = cell
            elif column in ("__prefix", "__suffix"):
                test.setdefault("options", {})[column[2:]] = cell
            elif column == "__threshold" and (number := _number(cell)) is not None:
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
        reading = self.other(MarkedLine(str(file), node_of(test, (line, 1)), line))
        reading.losses += [
            Loss(place=f"{file}:{line}:1", message=f"the column `{column}` has no meaning here")
            for column in unread
        ]
        yield self.layer(reading.at(), expands=False)

    def scenarios(self, top: FileEntry, default: _Layer | None) -> list[tuple[_Layer, ...]]:
        """Every set of data of a scenario with every test of it."""
        base = () if default is None else (default,)
        found: list[tuple[_Layer, ...]] = []
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
                raise self.too_many(at)
            found += [(*base, config, test) for config in data for test in tests]
        return found

    def too_many(self, at: FileEntry) -> UsageError:
        return UsageError(
            f"this config stands for more than {MAX_CASES} cases",
            place=at.reading.marked.at(at.path),
            hint="variables that are lists are multiplied: split them, or set `disableVarExpansion`",
        )

    def layer(
        self, at: FileEntry, *, is_default: bool = False, expands: bool | None = None
    ) -> _Layer:
        """One test, read once; its assertions are read for each case, with the case's variables."""
        known = TABLES["test"].named("`defaultTest`") if is_default else TABLES["test"]
        if not at.read(
            ignoring_others(known, at.value, "promptfoo", _MEANT) if at.is_mapping else known
        ):
            return _Layer(at=at)
        variables = self.variables(at)
        options = at.mapping("options", TABLES["options"])
        prompts, providers, own = at.texts("prompts"), at.texts("providers"), at.raw("provider")
        return _Layer(
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
            return parts if _is_several(value) else tuple(parts)
        if not isinstance(value, str) or not value.startswith("file://"):
            if isinstance(value, int | float) and not isinstance(value, bool):
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

    # ---------------------------------------------------------------------------------------------------
    # the cases

    def applies(self, prompt: Prompt, layers: Sequence[_Layer]) -> bool:
        chosen = _last(layers, lambda layer: layer.prompts)
        return chosen is None or prompt.is_among(chosen)

    def cases(
        self,
        prompt: Prompt,
        is_one_of_several: bool,
        number: int,
        layers: tuple[_Layer, ...],
        options: _Options,
        cases: Cases,
    ) -> None:
        """The cases of one prompt and one test: one, or as many as its listed variables multiply
        to.
        """
        test = layers[-1]
        columns = self.columns(prompt, layers)
        if columns is None:
            return
        variables: dict[str, Any] = _together(layers, lambda layer: layer.variables)
        expands = _last(layers, lambda layer: layer.expands) is not False
        self.variable_names |= variables.keys()
        lists = [name for name, value in variables.items() if expands and _is_several(value)]
        if len(cases) + math.prod(len(variables[name]) for name in lists) > MAX_CASES:
            raise self.too_many(test.at)
        described = test.description
        name = slug(described, limit=60) if described else f"test-{number}"
        chosen = list(product(*(variables[name] for name in lists)))
        each = [
            {
                key: list(v) if isinstance(v, tuple) else v
                for key, v in {**variables, **dict(zip(lists, one, strict=True))}.items()
            }
            for one in chosen
        ]
        before = [prompt.id] if is_one_of_several else []
        found = [
            (
                "/".join([*before, name, *(slug(as_text(v), limit=24) for v in one)]),
                self.known(own, test),
            )
            for one, own in zip(chosen, self.extended(layers, each), strict=True)
        ]
        templates = self.messages(prompt, [known for _, known in found])
        for (id, known), messages in zip(found, templates, strict=True):
            case = self.case(free_id(id, cases), prompt, messages, layers, known, options)
            cases.add(case and replace(case, targets=columns), test.at)

    def known(self, variables: Mapping[str, Any], test: _Layer) -> dict[str, Any]:
        """The variables of a case, those that hold templates filled in."""
        return {
            key: self.filled_in(value, variables, test.at.reading, test.at.path)
            if isinstance(value, str) and "{{" in value
            else value
            for key, value in variables.items()
        }

    def messages(self, prompt: Prompt, contexts: Sequence[Json]) -> Sequence[tuple[Message, ...]]:
        """The messages of a prompt for the variables of each case, as templates; none where its
        code is not run or fails.
        """
        if prompt.script is None:
            return [prompt.messages] * len(contexts)
        nothing: list[tuple[Message, ...]] = [()] * len(contexts)
        if self.document.run_code is None or not contexts:
            return nothing
        config = {} if prompt.config is None else prompt.config
        given = json_values({"all": contexts, "config": config})
        assert isinstance(given, dict) and isinstance(given["all"], list)
        try:
            made = prompts_made(
                prompt.script,
                given["all"],
                [one.plain for one in self.providers],
                given["config"],
                self.document.run_code,
            )
        except UsageError as error:
            prompt.reading.problem(error.message, prompt.path, error.hint)
            return nothing
        return [
            chat_messages(text, prompt.reading, prompt.path) or (Message("user", text),)
            for text in made
        ]

    def with_images(self, text: str, prompt: Prompt) -> str:
        """A message in which a line that is the data URL of an image is that image."""
        text = _DATA_URL.sub(r"[[image: \1]]", text) if "data:image/" in text else text
        if IMAGE_MARK in text and IMAGE_MARK in written_images(text)[0]:
            prompt.reading.loss(
                "an image of a message is neither in the file nor at an address", prompt.path
            )
        return text

    def filled_in(
        self, text: str, known: Mapping[str, object], reading: FileReading, path: Steps
    ) -> str:
        """A template with the variables of a case."""
        self.templates.add(text)
        result = fill(text, known, self.own_variables)
        for lost in result.lost:
            reading.loss(lost, path, _VARIABLES if "`env." in lost else _TEMPLATES)
        for name in result.empty:
            self.reading.note(
                f"promptfoo: `{name}` is not a variable of every test; it is empty there, as in promptfoo"
            )
        self.filled += len(result.text)
        if self.filled > MAX_FILLED_IN_ALL:
            raise UsageError(
                "filled in, these prompts and tests are too large", place=reading.marked.at(path)
            )
        return result.text

    def case(
        self,
        id: str,
        prompt: Prompt,
        templates: Sequence[Message],
        layers: Sequence[_Layer],
        known: Mapping[str, object],
        options: _Options,
    ) -> Case | None:
        """One case. Without `templates` its prompt is not known, and it is skipped."""
        test = layers[-1]

        def filled(text: str, reading: FileReading, path: Steps) -> str:
            return self.filled_in(text, known, reading, path)

        threshold = _last(layers, lambda layer: layer.threshold)
        metadata = _together(layers, lambda layer: layer.metadata)
        scope = Scope(
            gates=threshold is None,
            fill=filled,
            siblings=self.siblings,
            case={"vars": known, "test": {"description": test.description, "metadata": metadata}},
            asks_otherwise=any(layer.asks_otherwise for layer in layers),
            factuality={key: score for layer in layers for key, score in layer.factuality.items()},
            functions={
                name: schema
                for one in self.named_providers
                for name, schema in one.functions.items()
            },
            is_structured=any(one.is_structured for one in self.named_providers),
            transforms=next(
                (layer.transforms for layer in reversed(layers) if layer.transforms), ()
            ),
        )
        criteria = [
            criterion
            for layer in layers
            if (layer is test or test.keeps_defaults) and "assert" in layer.at
            for criterion in read_assertions(layer.at.below("assert"), scope)
        ]
        messages = [
            Message(
                message.role,
                self.with_images(filled(message.content, prompt.reading, prompt.path), prompt),
            )
            for message in templates
        ]
        prefix = _last(layers, lambda layer: layer.prefix)
        suffix = _last(layers, lambda layer: layer.suffix)
        if messages and (prefix or suffix):
            first = filled(prefix or "", test.at.reading, test.at.path)
            last = filled(suffix or "", test.at.reading, test.at.path)
            end = messages[-1]
            messages[-1] = Message(end.role, f"{first}{end.content}{last}")
        problems = len(test.at.reading.problems)
        rubric = gated(test.at.reading, test.at.path, criteria, threshold)
        if len(test.at.reading.problems) > problems:
            return None
        unread = [
            f"its variable `{name[:60]}` cannot be read"
            for name, v in known.items()
            if isinstance(v, _Unread)
        ]
        skip = next(iter(unread), None) if messages else f"its prompt is {NOT_RUN}"
        if rubric is None:
            skip = "asserts nothing that decides"
            self.reading.note(
                "promptfoo passes a test that asserts nothing; here it is skipped, as nothing was judged"
            )
        return Case(
            id=id,
            rubric=rubric or undecided(),
            messages=tuple(messages),
            timeout=options.timeout,
            attempts=options.repeat,
            attempt_rule=AttemptRule.PASS_HAT_K,
            skip=skip,
            description=test.description,
            metadata=metadata,
        )


# Words for what a test has; others are passed over, as promptfoo does.
_MEANT: Final = (
    *(name for row in TABLES["test"].rows if row.how != "ignored" for name in row.names),
    *words("variables assertions asserts defaultTest"),
)


class _Unread(str):
    """In the place of a variable that cannot be read: the cases that have it are skipped."""


_UNREAD: Final = _Unread()


def _last(layers: Sequence[_Layer], value_of: Callable[[_Layer], T | None]) -> T | None:
    """What the last layer says that says something."""
    return next(
        (value for layer in reversed(layers) if (value := value_of(layer)) is not None), None
    )


def _together(
    layers: Sequence[_Layer], values_of: Callable[[_Layer], Mapping[str, object]]
) -> dict[str, object]:
    """What all layers say; of one name the last."""
    return {name: value for layer in layers for name, value in values_of(layer).items()}


def _as_data(layers: Sequence[_Layer]) -> dict[str, Any]:
    """A test as code hears of it."""
    written = layers[-1].at.value
    own = {
        key: written[key]
        for key in ("description", "assert", "options", "threshold")
        if key in written
    }
    variables = _together(layers, lambda layer: layer.variables)
    return {**own, "vars": variables, "metadata": _together(layers, lambda layer: layer.metadata)}


def _with_variables(
    layers: tuple[_Layer, ...], variables: Mapping[str, object]
) -> tuple[_Layer, ...]:
    return (*layers[:-1], replace(layers[-1], variables=variables))


def _is_several(value: object) -> bool:
    """A list that stands for several cases: promptfoo multiplies lists of texts, and keeps others
    as one value.
    """
    return isinstance(value, list) and bool(value) and isinstance(value[0], str)


def _nothing_read(*, is_code: bool) -> Case:
    """What a config comes to whose prompts or tests are all lost, or made by code that was not run:
    one case that is skipped, and says why.
    """
    why = NOT_RUN if is_code else "missing, made by a program or on a server"
    return Case(id="not-read", rubric=undecided(), skip=f"its prompts or tests are {why}")


# A column with the threshold of one expected value, by its number.
_THRESHOLD: Final = re.compile(r"__config:__expected(\d*):threshold")
_DATA_URL: Final = re.compile(r"(?m)^[ \t]*(data:image/[\w.+-]+;base64,[\w+/=]+)[ \t]*$")
_WARNS: Final = "promptfoo warns of it and reads on; --accept-loss leaves it out"


def _own_variables(top: FileEntry) -> dict[str, str]:
    """What a config sets under `env`. One that names another variable is of the environment, so it
    is not one of its own.
    """
    found = top.raw("env")
    plain = (
        {} if not isinstance(found, dict) else {str(name): value for name, value in found.items()}
    )
    return {
        name: str(value)
        for name, value in plain.items()
        if isinstance(value, str | int | float) and "{{" not in str(value)
    }


_VARIABLES: Final = HINT
_TEMPLATES: Final = "names, loops, conditions and filters are filled in; see docs/from-promptfoo.md"


def _number(text: str) -> int | float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


# ------------------------------------------------------------------------------------------------
# being recognised


def _signs(document: Document) -> int:
    """Prompts or providers at the top, and something in the tests that only promptfoo has. 20 where
    something speaks of AgentV, which has prompts and providers too: then its own reader decides.
    """
    keys = document.keys
    if document.is_lines or not isinstance(value := document.value, dict):
        return 0
    speaks_of_agentv = bool(keys & (_AGENTV - {"name"}))
    has_prompts = bool(keys & {"prompts", "providers", "targets", "redteam"})
    if keys & (_OWN if has_prompts else _OWN - {"scenarios"}) and not speaks_of_agentv:
        return 90
    if not has_prompts:
        return 30 if not speaks_of_agentv and _is_tests(value) else 0
    tests = value.get("tests")
    listed = [test for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []
    asserts = [a for test in [*listed, value.get("defaultTest")] for a in _asserts_of(test)]
    other_tests = any(
        test.keys() & {"id", "criteria", "input", "expected_output"} for test in listed
    )
    fills = "prompts" in keys and bool(keys & {"providers", "targets"})
    filled = fills and bool(listed) and all("vars" in test for test in listed)
    odd_asserts = any(_is_agentv(a, is_filled=filled) for a in asserts)
    if (
        fills
        and not speaks_of_agentv
        and not odd_asserts
        and _names_models(value.get("providers", value.get("targets")))
    ):
        return 99
    if keys & _AGENTV or other_tests or odd_asserts:
        return 20
    own = any(isinstance(a, dict) and _is_own(a) for a in asserts) or fills
    has_tests = "tests" in keys or bool(keys & {"defaultTest", "scenarios"})
    if own or has_tests or ("description" in keys and "name" not in keys):
        return 60
    return 20 if "providers" in keys else 0


def _names_models(providers: Any) -> bool:
    """promptfoo's names of providers, `openai:gpt-5` or `file://my.js`; AgentV has names of
    targets, and providers of its own.
    """
    names: list[str] = []
    for one in providers if isinstance(providers, list) else [providers]:
        if isinstance(one, dict) and "runtime" in one:
            return False
        names.append(str((one.get("id") or next(iter(one), "")) if isinstance(one, dict) else one))
    return any(":" in name for name in names) and not any(
        name.startswith("agentv:") for name in names
    )


def _is_tests(value: Mapping[str, Any]) -> bool:
    """A file of tests alone: each fills in variables, and has what promptfoo's tests have."""
    tests = value.get("tests")
    known = TABLES["test"].by_name.keys()
    return (
        isinstance(tests, list)
        and bool(tests)
        and all(
            isinstance(test, dict) and "vars" in test and test.keys() <= known for test in tests
        )
        and not any(_is_agentv(a, is_filled=False) for test in tests for a in _asserts_of(test))
    )


_OWN: Final = frozenset(
    words(
        "defaultTest evaluateOptions commandLineOptions scenarios redteam assertionTemplates nunjucksFilters"
    )
)
_AGENTV: Final = frozenset(
    {"name", "assert", "evaluate_options", "workspace", "environment", "execution", "eval_cases"}
)


def _asserts_of(test: Any) -> list[Any]:
    listed = test.get("assert") if isinstance(test, dict) else None
    return listed if isinstance(listed, list) else []


def _is_agentv(assertion: Any, *, is_filled: bool) -> bool:
    """A plain text, a kind that promptfoo does not have, or questions in a list. Where all tests
    fill in prompts, an unknown kind says nothing.
    """
    if not isinstance(assertion, dict):
        return True
    type = assertion.get("type")
    known = is_filled or not isinstance(type, str) or is_type(type) or type == "assert-set"
    return not known or (type == "llm-rubric" and isinstance(assertion.get("value"), list))


def _is_own(assertion: Mapping[str, Any]) -> bool:
    return "$ref" in assertion or (
        isinstance(assertion.get("type"), str) and is_type(assertion["type"])
    )


def _read_config(document: Document) -> SuiteSource:
    return _Config(document).read()


READERS: tuple[Reader, ...] = (FORMATS.reader("promptfoo", _signs, _read_config),)
