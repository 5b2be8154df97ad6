"""promptfoo configs: prompts times tests become cases, assertions become criteria."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Final

from honestone.core.errors import FileError, UsageError
from honestone.core.rubric import slug
from honestone.core.suite.case import AttemptRule, Case, Message, Suite, TargetSpec
from honestone.formats.document import Document
from honestone.formats.marked import Marked
from honestone.formats.nodes import Node
from honestone.interop.base import KnownKey, Loss, MarkedLine, Reader, Steps, SuiteSource, Taking, Walk, shown
from honestone.interop.criteria import as_text, distinct, gated, undecided
from honestone.interop.placeholders import fill
from honestone.interop.promptfoo.asserts import (
    CODE_FILES,
    LOST_TYPES,
    READ_TYPES,
    assertion_of_cell,
    is_type,
    read_assertions,
)
from honestone.interop.sibling_files import SiblingFiles

MAX_CASES: Final = 10_000
_MEDIA: Final = (
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".webp",
    ".bmp",
    ".svg",
    ".pdf",
    ".mp3",
    ".wav",
    ".ogg",
    ".mp4",
    ".mov",
    ".webm",
)
MAX_FILLED_IN_ALL: Final = 50_000_000
"""Characters that all prompts together may come to once their variables are filled in."""

DEFAULTS: Final = (
    "promptfoo: a case passes when every assertion passes; with a `threshold`, when their weighted mean reaches it",
    "promptfoo: an `llm-rubric` without a threshold is one yes/no question, and more than half of the judges have to say yes",
    "promptfoo: an assertion of weight 0 is shown and does not count",
)

# -------------------------------------------------------------------------------------------------- what is read


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prompt:
    """One prompt: its messages as templates, and the place that named it."""

    id: str
    label: str
    messages: tuple[Message, ...]
    walk: Walk
    path: Steps


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    """A test as it is written, or the defaults under it: each later layer overrides the earlier."""

    at: Taking
    description: str | None = None
    id: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    threshold: Fraction | None = None
    prefix: str | None = None
    suffix: str | None = None
    expands: bool | None = None
    keeps_defaults: bool = True
    prompts: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """What `evaluateOptions` says."""

    repeat: int = 1
    concurrency: int | None = None
    timeout: float | None = None


def target_of(provider: str) -> str | None:
    """What `--target` takes for a promptfoo provider; None where there is no such target."""
    kind, _, rest = provider.partition(":")
    if provider == "echo":
        return "cmd:cat"
    if kind == "exec" and rest.strip():
        return f"cmd:{rest.strip()} {{PROMPT}}"
    modes = {"openai": ("chat", "responses"), "anthropic": ("messages",), "google": (), "ollama": ("chat",)}
    if kind not in modes or not rest:
        return None
    first, _, more = rest.partition(":")
    if first in modes[kind]:
        return f"{kind}:{more}" if more else None
    if first in (
        "completion",
        "completions",
        "embedding",
        "embeddings",
        "image",
        "assistant",
        "realtime",
        "live",
        "moderation",
    ):
        return None
    return f"{kind}:{rest}"


class _Config:
    """One reading of a config and of the files that it names."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.walk = Walk(document.marked)
        self.walks: list[Walk] = []
        self.beside = SiblingFiles(document.path.parent)
        self.filled = 0

    def other(self, marked: Marked) -> Walk:
        walk = Walk(marked)
        self.walks.append(walk)
        return walk

    def read(self) -> SuiteSource:
        top = self.walk.at()
        if not top.require_mapping("a promptfoo config"):
            self.walk.finish()
        title = top.text("description") or ""
        prompts = self.prompts(top)
        target = self.target(top)
        options = self.options(top)
        default = self.default_test(top)
        tests = [*self.tests(top, default), *self.scenarios(top, default)]
        top.ignore(
            "assertionTemplates",
            "$schema",
            "outputPath",
            "sharing",
            "writeLatestResults",
            "metadata",
            "tags",
            "tracing",
            "nunjucksFilters",
            "author",
        )
        top.ignore(
            "commandLineOptions", why="promptfoo: `commandLineOptions` are not read: options stand on the command line"
        )
        top.ignore("env", why="promptfoo: `env` is not read: variables come from the environment")
        top.lose("derivedMetrics", message="`{key}` computes figures of its own, which no report here has")
        top.lose("extensions", message="`{key}` runs code of this config, which honestone never does")
        top.lose("redteam", message="`{key}` makes attacks with a model; there is nothing like it here")
        top.close("a promptfoo config")
        cases: dict[str, Case] = {}
        places: dict[str, str] = {}
        if not tests and not self.walk.problems and not any(walk.problems for walk in self.walks):
            self.walk.problem("this config has no tests", (), "give it `tests`, each with `vars` and `assert`")
        for prompt in prompts:
            for number, layers in enumerate(tests, 1):
                if self.applies(prompt, layers):
                    self.cases(prompt, len(prompts) > 1, number, layers, options, cases, places)
        if tests and prompts and not cases:
            self.walk.problem("no test of this config goes with any of its prompts", ())
        for note in DEFAULTS:
            self.walk.note(note)
        self.walk.join(*self.walks)
        self.walk.finish()
        suite = Suite(
            cases=tuple(cases.values()), title=title, target=TargetSpec(use=target), concurrency=options.concurrency
        )
        return SuiteSource(
            suite=suite,
            dialect="promptfoo",
            base=self.document.path.parent,
            notes=tuple(self.walk.notes),
            losses=tuple(self.walk.losses),
            files=(self.document.path, *self.beside.files),
            places=places,
        )

    # -------------------------------------------------------------------------------------------------- the target

    def target(self, top: Taking) -> str | None:
        """The one provider, where it is also a target here. Several are not lost: `--target` chooses."""
        key = top.which("providers", "targets")
        value = top.raw("providers", "targets")
        entries = value if isinstance(value, list) else [] if value is None else [value]
        if not entries:
            self.walk.note("promptfoo: no provider is named: --target says what produces the outputs")
            return None
        names = [self.provider(top, str(key), entry) for entry in entries]
        use = target_of(names[0]) if len(names) == 1 else None
        if use is None:
            listed = ", ".join(f"`{name}`" for name in names[:5])
            self.walk.note(f"promptfoo: the target is not taken from {listed}: --target chooses one")
        else:
            self.walk.note(f"promptfoo: provider `{names[0]}` is the target `{use}`")
        return use

    def provider(self, top: Taking, key: str, entry: Any) -> str:
        if isinstance(entry, str):
            return entry
        if not isinstance(entry, dict) or not entry:
            self.walk.problem(f"a provider must be text or a mapping, not {shown(entry)}", (*top.path, key))
            return "?"
        name = entry.get("id")
        options = entry
        if name is None and len(entry) == 1 and isinstance(next(iter(entry.values())), dict | None):
            name, options = next(iter(entry.items()))
        if isinstance(options, dict) and options.get("prompts"):
            place = (*top.path, key)
            self.walk.loss("`prompts` of a provider has no meaning here: every prompt is tried", place)
        if isinstance(options, dict) and options.get("config"):
            self.walk.note(
                "promptfoo: the `config` of a provider is not read: settings of a target stand in honestone.toml"
            )
        return str(name if name is not None else "?")

    def options(self, top: Taking) -> _Options:
        if "evaluateOptions" not in top:
            top.ignore("evaluateOptions")
            return _Options()
        at = top.below("evaluateOptions")
        at.require_mapping("`evaluateOptions`")
        repeat = at.number("repeat", low=1, high=1000, is_whole=True)
        concurrency = at.number("maxConcurrency", low=1, high=1000, is_whole=True)
        timeout = at.number("timeoutMs", low=0)
        at.ignore(
            "delay",
            "maxEvalTimeMs",
            why="promptfoo: `delay` and `maxEvalTimeMs` are not read: --max-minutes limits a run",
        )
        at.ignore(
            "cache",
            "showProgressBar",
            "generateSuggestions",
            "eventSource",
            "interactiveProviders",
            "isRedteam",
            "silent",
        )
        at.close("`evaluateOptions`")
        if repeat is not None and repeat > 1:
            self.walk.note("promptfoo: every repeat is a test of its own, so all attempts have to pass (pass^k)")
        return _Options(
            repeat=int(repeat or 1),
            concurrency=None if concurrency is None else int(concurrency),
            timeout=float(timeout) / 1000 if timeout else None,
        )

    # ------------------------------------------------------------------------------------------------- the prompts

    def prompts(self, top: Taking) -> list[_Prompt]:
        value = top.raw("prompts")
        path = (*top.path, "prompts")
        if value is None:
            self.walk.note("promptfoo: without `prompts`, the prompt is the variable `prompt`")
            found = [self.prompt("{{prompt}}", None, self.walk, path)]
        elif isinstance(value, str):
            found = list(self.named(value, None, self.walk, path))
        elif isinstance(value, list):
            found = [p for i, entry in enumerate(value) for p in self.entry(entry, (*path, i))]
        elif isinstance(value, dict):
            found = [
                p
                for name, label in value.items()
                for p in self.named(str(name), as_text(label) or None, self.walk, (*path, name))
            ]
        else:
            self.walk.problem(f"`prompts` must be text or a list, not {shown(value)}", path)
            found = []
        unique: dict[str, _Prompt] = {}
        for prompt in found:
            id = distinct(prompt.id, unique)
            unique[id] = _Prompt(
                id=id, label=prompt.label, messages=prompt.messages, walk=prompt.walk, path=prompt.path
            )
        return list(unique.values())

    def entry(self, entry: Any, path: Steps) -> Iterator[_Prompt]:
        if isinstance(entry, str):
            yield from self.named(entry, None, self.walk, path)
            return
        at = Taking(self.walk, path)
        if not at.require_mapping("a prompt"):
            return
        label, raw, id = at.text("label", "display"), at.text("raw"), at.text("id")
        at.lose("config", "function", message="`{key}` of a prompt has no meaning here")
        at.close("a prompt")
        text = raw if raw is not None else id
        if text is None:
            self.walk.problem("a prompt needs `raw` or `id`", path)
            return
        yield from self.named(text, label or (id if raw is not None else None), self.walk, path)

    def named(self, text: str, label: str | None, walk: Walk, path: Steps) -> Iterator[_Prompt]:
        """The prompts that one entry stands for: its own text, or the files that it names."""
        if re.match(r"(?:exec|langfuse|portkey|helicone|package|https?):", text):
            walk.loss(f"the prompt `{text[:60]}` comes from a program or a service", path, "write it into a file")
            return
        is_file = text.startswith("file://")
        name = text.removeprefix("file://")
        if not is_file and not _looks_like_path(name):
            yield self.prompt(text, label, walk, path)
            return
        code = name.rsplit(":", 1)[0] if ":" in name else name
        if Path(code).suffix.lower() in (*CODE_FILES, ".exe", ".bat", ".pl"):
            walk.loss(f"the prompt `{text[:60]}` is made by code of this config, which honestone never runs", path)
            return
        if "*" in name:
            files = self.beside.glob(walk, name, path)
        else:
            found = self.beside.find(walk, name, path)
            files = [] if found is None else [found]
        for file in files:
            yield from self.in_file(file, label, walk, path)

    def in_file(self, file: Path, label: str | None, walk: Walk, path: Steps) -> Iterator[_Prompt]:
        text = self.beside.open(walk, file, path)
        if text is None:
            return
        suffix = file.suffix.lower()
        if suffix == ".csv":
            texts = [(row.get("prompt") or "", row.get("label") or None) for _, row in _table(text, file, walk)]
        elif suffix == ".jsonl":
            texts = [(line, None) for line in text.splitlines() if line.strip()]
        elif suffix == ".txt":
            texts = [(part.strip("\n"), None) for part in re.split(r"(?m)^---[ \t]*$", text)]
        elif suffix in (".yaml", ".yml"):
            marked = self.beside.marked(walk, file, path)
            if marked is None:
                return
            texts = [(as_text(marked.value), None)]
        else:
            texts = [(text, None)]
        texts = [(text, name) for text, name in texts if text.strip()]
        if not texts:
            walk.problem(f"there is no prompt in `{file.name}`", path)
        for number, (text, name) in enumerate(texts, 1):
            stem = file.stem if len(texts) == 1 else f"{file.stem}-{number}"
            yield self.prompt(text, name or (label if len(texts) == 1 else None) or stem, walk, path)

    def prompt(self, text: str, label: str | None, walk: Walk, path: Steps) -> _Prompt:
        messages = _chat(text, walk, path) or (Message("user", text),)
        name = label or text
        return _Prompt(id=slug(name, limit=40), label=name, messages=messages, walk=walk, path=path)

    # --------------------------------------------------------------------------------------------------- the tests

    def default_test(self, top: Taking) -> _Layer | None:
        value = top.raw("defaultTest")
        if value is None:
            return None
        if not isinstance(value, str):
            return self.layer(top.below("defaultTest"), is_default=True)
        path = (*top.path, "defaultTest")
        found = self.beside.find(self.walk, value.removeprefix("file://"), path)
        marked = found and self.beside.marked(self.walk, found, path)
        return self.layer(self.other(marked).at(), is_default=True) if marked else None

    def tests(self, top: Taking, default: _Layer | None) -> list[tuple[_Layer, ...]]:
        value = top.raw("tests")
        path = (*top.path, "tests")
        base = () if default is None else (default,)
        if value is None:
            return [base] if base and "scenarios" not in top else []
        if isinstance(value, str):
            layers = list(self.test_file(value, self.walk, path))
        elif isinstance(value, dict):
            self.walk.loss("`tests` are made by code of this config, which honestone never runs", path)
            layers = []
        elif isinstance(value, list):
            layers = [layer for i in range(len(value)) for layer in self.test_entry(self.walk, (*path, i))]
        else:
            self.walk.problem(f"`tests` must be a list of tests or the name of a file, not {shown(value)}", path)
            layers = []
        return [(*base, layer) for layer in layers]

    def test_entry(self, walk: Walk, path: Steps) -> Iterator[_Layer]:
        at = Taking(walk, path)
        if isinstance(at.value, str):
            yield from self.test_file(at.value, walk, path)
        elif at.require_mapping("a test"):
            if "path" in at and "vars" not in at and "assert" not in at:
                walk.loss("these tests are made by code of this config, which honestone never runs", path)
                return
            yield self.layer(at)

    def test_file(self, name: str, walk: Walk, path: Steps) -> Iterator[_Layer]:
        """The tests in a YAML, JSON, JSON lines or CSV file, or in all files that a pattern chooses."""
        if re.match(r"(?:https?|huggingface|langfuse):", name):
            walk.loss(f"the tests at `{name[:60]}` are on a server", path, "save them beside this file")
            return
        name = name.removeprefix("file://")
        plain = name.rsplit(":", 1)[0] if ":" in name else name
        if Path(plain).suffix.lower() in CODE_FILES or Path(plain.partition("#")[0]).suffix.lower() in (
            ".xlsx",
            ".xls",
        ):
            why = "is made by code or a spreadsheet program"
            walk.loss(f"the test file `{name[:60]}` {why}", path, "save the tests as YAML, JSON or CSV")
            return
        if "*" in name:
            files = self.beside.glob(walk, name, path)
        else:
            found = self.beside.find(walk, name, path)
            files = [] if found is None else [found]
        for file in files:
            yield from self.tests_in(file, walk, path)

    def tests_in(self, file: Path, walk: Walk, path: Steps) -> Iterator[_Layer]:
        text = self.beside.open(walk, file, path)
        if text is None:
            return
        suffix = file.suffix.lower()
        if suffix == ".csv":
            for line, row in _table(text, file, walk):
                yield from self.row(file, line, row)
            return
        if suffix in (".jsonl", ".ndjson"):
            try:
                rows = Document(path=file, text=text).rows
            except FileError as error:
                walk.problems.append(error)
                return
            for row_read in rows:
                yield from self.test_entry(self.other(row_read.marked), ())
            return
        marked = self.beside.marked(walk, file, path)
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
        asserts: list[dict[str, Any]] = []
        unread: list[str] = []
        for column, cell in row.items():
            if not column.startswith("__"):
                test["vars"][column] = cell
            elif not cell.strip() or column == "__metadata":
                continue
            elif re.fullmatch(r"__expected\d*", column):
                asserts.append(assertion_of_cell(cell))
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
        for assertion in asserts:
            if row.get("__metric", "").strip():
                assertion["metric"] = row["__metric"]
        if asserts:
            test["assert"] = asserts
        walk = self.other(MarkedLine(str(file), _node(test, line), line))
        walk.losses += [
            Loss(place=f"{file}:{line}:1", message=f"the column `{column}` has no meaning here") for column in unread
        ]
        yield self.layer(walk.at(), expands=False)

    def scenarios(self, top: Taking, default: _Layer | None) -> list[tuple[_Layer, ...]]:
        """Every set of data of a scenario with every test of it."""
        base = () if default is None else (default,)
        found: list[tuple[_Layer, ...]] = []
        for at in top.each("scenarios", "scenarios"):
            if isinstance(at.value, str):
                self.walk.loss("a scenario in a file of its own is not read", at.path, "write it here")
                continue
            if not at.require_mapping("a scenario"):
                continue
            at.ignore("description")
            data = [
                self.layer(config, is_default=True)
                for config in at.each("config", "data")
                if config.require_mapping("data")
            ]
            tests = [layer for test in at.each("tests", "tests") for layer in self.test_entry(self.walk, test.path)]
            at.close("a scenario")
            if len(found) + len(data) * len(tests) > MAX_CASES:
                raise self.too_many(at)
            found += [(*base, config, test) for config in data for test in tests]
        return found

    def too_many(self, at: Taking) -> UsageError:
        return UsageError(
            f"this config stands for more than {MAX_CASES} cases",
            place=at.walk.marked.at(at.path),
            hint="variables that are lists are multiplied: split them, or set `disableVarExpansion`",
        )

    def layer(self, at: Taking, *, is_default: bool = False, expands: bool | None = None) -> _Layer:
        """One test, read once; its assertions are read for each case, with the case's variables."""
        if not at.require_mapping("a test"):
            return _Layer(at=at)
        options = at.below("options") if "options" in at else None
        prefix = suffix = None
        keeps = True
        if options is not None and options.require_mapping("`options`"):
            prefix, suffix = options.text("prefix"), options.text("suffix")
            if options.flag("disableVarExpansion"):
                expands = False
            keeps = options.flag("disableDefaultAsserts") is not True
            options.ignore("disableConversationVar", "runSerially")
            options.ignore("provider", why="the `provider` of `options` is not read: --judge names the judges")
            options.lose(
                "transform",
                "postprocess",
                message="`{key}` runs code on every output before it is judged; here the output is judged as it is",
            )
            options.lose("transformVars", message="`{key}` runs code on the variables; here they are used as they are")
            options.lose("rubricPrompt", message="`{key}` changes what a judge is asked; here it is asked as always")
            options.lose(
                "storeOutputAs", message="`{key}` carries an output over to a later test, which no case here does"
            )
            options.lose(
                "factuality", message="`{key}` gives scores to the kinds of a factuality answer; here it is yes or no"
            )
            for key in options.value:
                if key not in options.taken:
                    options.lose(
                        str(key), message="`{key}` is an option of the provider, which a case here does not set"
                    )
        at.ignore("options", "assert")
        at.lose("provider", "providers", message="`{key}` of one test: a suite here has one target")
        at.lose("providerOutput", message="`{key}` is a recorded output: `--target record:FILE` reads those")
        at.lose("assertScoringFunction", message="`{key}` runs code of this config, which honestone never does")
        prompts = at.texts("prompts")
        metadata = at.raw("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            at.walk.problem(f"`metadata` must be a mapping, not {shown(metadata)}", (*at.path, "metadata"))
            metadata = None
        layer = _Layer(
            at=at,
            description=at.text("description"),
            variables=self.variables(at),
            threshold=at.number("threshold", low=0, high=1),
            prefix=prefix,
            suffix=suffix,
            expands=expands,
            keeps_defaults=keeps,
            prompts=None if prompts is None else tuple(prompts),
            metadata={str(key): value for key, value in (metadata or {}).items()},
        )
        at.close("`defaultTest`" if is_default else "a test")
        return layer

    def variables(self, at: Taking) -> dict[str, Any]:
        value = at.raw("vars")
        path = (*at.path, "vars")
        if value is None:
            return {}
        if isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value)):
            out: dict[str, Any] = {}
            for name in [value] if isinstance(value, str) else value:
                found = self.beside.find(at.walk, name.removeprefix("file://"), path)
                marked = found and self.beside.marked(at.walk, found, path)
                if marked and isinstance(marked.value, dict):
                    out |= {str(key): v for key, v in marked.value.items()}
                elif marked:
                    at.walk.problem(f"`{name}` must hold a mapping of variables", path)
            return out
        if not isinstance(value, dict):
            at.walk.problem(f"`vars` must be a mapping, not {shown(value)}", path)
            return {}
        return {str(key): self.variable(v, at.walk, (*path, key)) for key, v in value.items()}

    def variable(self, value: Any, walk: Walk, path: Steps) -> Any:
        """A value, or the content of the file that it names."""
        if isinstance(value, list):
            return [self.variable(v, walk, (*path, i)) for i, v in enumerate(value)]
        if not isinstance(value, str) or not value.startswith("file://"):
            if isinstance(value, int | float) and not isinstance(value, bool):
                return walk.marked.raw(path) or value
            return value
        name = value.removeprefix("file://")
        plain = name.rsplit(":", 1)[0] if ":" in name else name
        if Path(plain).suffix.lower() in CODE_FILES:
            walk.loss(f"the variable `{value[:60]}` is made by code of this config, which honestone never runs", path)
            return ""
        if Path(plain).suffix.lower() in _MEDIA:
            walk.loss(f"the variable `{value[:60]}` is no text, which a case here cannot hold", path)
            return ""
        if "*" in name:
            return [self.beside.open(walk, file, path) or "" for file in self.beside.glob(walk, name, path)]
        found = self.beside.find(walk, name, path)
        if found is None:
            return ""
        if found.suffix.lower() in (".yaml", ".yml", ".json"):
            marked = self.beside.marked(walk, found, path)
            # A list in a file is one value; only a list in the config stands for several cases.
            if marked is None:
                return ""
            return tuple(marked.value) if isinstance(marked.value, list) else marked.value
        return self.beside.open(walk, found, path) or ""

    # --------------------------------------------------------------------------------------------------- the cases

    def applies(self, prompt: _Prompt, layers: Sequence[_Layer]) -> bool:
        chosen = next((layer.prompts for layer in reversed(layers) if layer.prompts is not None), None)
        if chosen is None:
            return True
        return any(
            name in (prompt.label, prompt.id)
            or prompt.label.startswith(name.removesuffix("*").removesuffix(":") + ":")
            or (name.endswith("*") and prompt.label.startswith(name[:-1]))
            for name in chosen
        )

    def cases(
        self,
        prompt: _Prompt,
        is_one_of_several: bool,
        number: int,
        layers: Sequence[_Layer],
        options: _Options,
        cases: dict[str, Case],
        places: dict[str, str],
    ) -> None:
        """The cases of one prompt and one test: one, or as many as its listed variables multiply to."""
        test = layers[-1]
        variables: dict[str, Any] = {}
        for layer in layers:
            variables |= layer.variables
        expands = next((layer.expands for layer in reversed(layers) if layer.expands is not None), True)
        lists = [name for name, value in variables.items() if expands and isinstance(value, list)]
        for name in lists:
            if not variables[name]:
                test.at.walk.problem(f"the variable `{name}` is an empty list, so this test has no case", test.at.path)
                return
        if len(cases) + math.prod(len(variables[name]) for name in lists) > MAX_CASES:
            raise self.too_many(test.at)
        described = test.description
        name = slug(described, limit=60) if described else f"test-{number}"
        for chosen in product(*(variables[name] for name in lists)):
            own = {**variables, **dict(zip(lists, chosen, strict=True))}
            own = {key: list(v) if isinstance(v, tuple) else v for key, v in own.items()}
            id = "/".join(
                [*([prompt.id] if is_one_of_several else []), name, *(slug(as_text(v), limit=24) for v in chosen)]
            )
            id = distinct(id, cases)
            case = self.case(id, prompt, layers, own, options)
            if case is not None:
                cases[id] = case
                places[id] = test.at.walk.marked.at(test.at.path)

    def case(
        self, id: str, prompt: _Prompt, layers: Sequence[_Layer], variables: Mapping[str, Any], options: _Options
    ) -> Case | None:
        test = layers[-1]

        def filled(text: str, walk: Walk, path: Steps) -> str:
            result = fill(text, known)
            for lost in result.lost:
                walk.loss(lost, path, "names of variables are filled in, nothing else of a template is")
            self.filled += len(result.text)
            if self.filled > MAX_FILLED_IN_ALL:
                raise UsageError("filled in, these prompts and tests are too large", place=walk.marked.at(path))
            return result.text

        known: Mapping[str, Any] = variables
        known = {
            key: filled(value, test.at.walk, test.at.path) if isinstance(value, str) and "{{" in value else value
            for key, value in variables.items()
        }
        threshold = next((layer.threshold for layer in reversed(layers) if layer.threshold is not None), None)
        criteria = [
            criterion
            for layer in layers
            if (layer is test or test.keeps_defaults) and "assert" in layer.at
            for criterion in read_assertions(
                layer.at.below("assert"), gates=threshold is None, fill=filled, beside=self.beside
            )
        ]
        messages = [
            Message(message.role, filled(message.content, prompt.walk, prompt.path)) for message in prompt.messages
        ]
        prefix = next((layer.prefix for layer in reversed(layers) if layer.prefix is not None), None)
        suffix = next((layer.suffix for layer in reversed(layers) if layer.suffix is not None), None)
        if prefix or suffix:
            first = filled(prefix or "", test.at.walk, test.at.path)
            last = filled(suffix or "", test.at.walk, test.at.path)
            end = messages[-1]
            messages[-1] = Message(end.role, f"{first}{end.content}{last}")
        problems = len(test.at.walk.problems)
        rubric = gated(test.at.walk, test.at.path, criteria, threshold)
        if len(test.at.walk.problems) > problems:
            return None
        skip = None
        if rubric is None:
            skip = "asserts nothing that decides"
            self.walk.note("promptfoo passes a test that asserts nothing; here it is skipped, as nothing was judged")
        metadata: dict[str, Any] = {}
        for layer in layers:
            metadata |= layer.metadata
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


def _looks_like_path(text: str) -> bool:
    known = (".txt", ".md", ".json", ".jsonl", ".yaml", ".yml", ".j2", ".csv", *CODE_FILES)
    return len(text) < 300 and not re.search(r"\s|\{", text) and Path(text).suffix.lower() in known


def _chat(text: str, walk: Walk, path: Steps) -> tuple[Message, ...] | None:
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
        if not isinstance(entry, dict) or not isinstance(entry.get("role"), str) or "content" not in entry:
            return None
        messages.append(Message(entry["role"], _content(entry["content"], walk, path)))
    return tuple(messages)


def _content(content: Any, walk: Walk, path: Steps) -> str:
    if not isinstance(content, list):
        return as_text(content)
    parts = []
    for part in content:
        if isinstance(part, dict) and part.get("type") in ("text", "input_text") and isinstance(part.get("text"), str):
            parts.append(part["text"])
        elif isinstance(part, str):
            parts.append(part)
        else:
            walk.loss("a part of a message that is no text has no meaning here", path)
    return "\n".join(parts)


def _table(text: str, file: Path, walk: Walk) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with their first lines. A file that is none is a problem."""
    reader = csv.reader(io.StringIO(text))
    try:
        header = [column.strip() for column in next(reader, [])]
        if len(set(header)) != len(header):
            walk.problems.append(UsageError("two columns have the same name", place=f"{file}:1:1"))
            return
        line = reader.line_num + 1
        for cells in reader:
            if len(cells) > len(header):
                walk.problems.append(
                    UsageError(
                        f"this row has {len(cells)} cells, but there are {len(header)} columns",
                        place=f"{file}:{line}:1",
                        hint="put a cell with a comma in double quotes",
                    )
                )
            elif any(cell.strip() for cell in cells):
                yield line, dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        place = f"{file}:{max(reader.line_num, 1)}:1"
        walk.problems.append(UsageError(f"this is no CSV table: {error}", place=place))


def _number(text: str) -> int | float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _node(value: Any, line: int) -> Node:
    """A value made here as a node, all of it at one line."""
    if isinstance(value, dict):
        node = Node({}, None, line, 1, {})
        for key, child in value.items():
            node.put(Node(key, key, line, 1), _node(child, line))
        return node
    if isinstance(value, list):
        node = Node([], None, line, 1, [])
        for child in value:
            node.append(_node(child, line))
        return node
    return Node(value, value if isinstance(value, str) else json.dumps(value), line, 1)


# ------------------------------------------------------------------------------------------------ being recognised


def _signs(document: Document) -> int:
    """Prompts or providers at the top, and something in the tests that only promptfoo has. 20 where something speaks of
    AgentV, which has prompts and providers too: then its own reader decides."""
    keys = document.keys
    if document.is_lines or not keys & {"prompts", "providers"}:
        return 0
    value = document.value
    tests = value.get("tests")
    listed = [test for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []
    asserts = [a for test in [*listed, value.get("defaultTest")] for a in _asserts_of(test)]
    other_tests = any(test.keys() & {"id", "criteria", "input", "expected_output"} for test in listed)
    if keys & _AGENTV or other_tests or any(_is_agentv(a) for a in asserts):
        return 20
    own = any(isinstance(a, dict) and _is_own(a) for a in asserts)
    has_tests = "tests" in keys or bool(keys & {"defaultTest", "scenarios"})
    return 60 if own or has_tests or ("description" in keys and "name" not in keys) else 0


_AGENTV: Final = frozenset(
    {"name", "assert", "evaluate_options", "workspace", "environment", "execution", "eval_cases"}
)


def _asserts_of(test: Any) -> list[Any]:
    listed = test.get("assert") if isinstance(test, dict) else None
    return listed if isinstance(listed, list) else []


def _is_agentv(assertion: Any) -> bool:
    """A plain text, a kind that promptfoo does not have, or questions in a list."""
    if not isinstance(assertion, dict):
        return True
    type = assertion.get("type")
    known = not isinstance(type, str) or is_type(type) or type == "assert-set"
    return not known or (type == "llm-rubric" and isinstance(assertion.get("value"), list))


def _is_own(assertion: Mapping[str, Any]) -> bool:
    return "$ref" in assertion or (isinstance(assertion.get("type"), str) and is_type(assertion["type"]))


KEYS: Final = (
    KnownKey(key="description", meaning="The suite's title."),
    KnownKey(
        key="prompts",
        meaning="Each prompt with each test is a case, `PROMPT/TEST` where there are several prompts. Texts, chats, and text, Markdown, JSON, YAML and CSV files beside the config.",
    ),
    KnownKey(key="prompts: code, exec:, langfuse: ...", meaning="Prompts made by programs or services.", how="lost"),
    KnownKey(
        key="providers, targets",
        meaning="The target, when it is one that `--target` knows (openai, anthropic, google, ollama, exec, echo); else told, and `--target` chooses.",
    ),
    KnownKey(key="providers[].config", meaning="Settings of a target stand in honestone.toml.", how="ignored"),
    KnownKey(key="providers[].prompts", meaning="Prompts for one provider only.", how="lost"),
    KnownKey(key="tests", meaning="The tests, here or in YAML, JSON, JSON lines and CSV files."),
    KnownKey(key="tests[].description", meaning="The case's description; its short form is the case's id."),
    KnownKey(
        key="tests[].vars", meaning="Filled in for `{{name}}`; lists are multiplied into cases, `file://` is read."
    ),
    KnownKey(key="tests[].assert", meaning="The criteria, in order."),
    KnownKey(
        key="tests[].threshold",
        meaning="The threshold of the case's rubric, for the weighted mean; then no assertion has a floor.",
    ),
    KnownKey(key="tests[].prompts", meaning="The prompts that the test goes with."),
    KnownKey(key="tests[].metadata", meaning="Kept with the case."),
    KnownKey(key="tests[].options.prefix, suffix", meaning="Put before and after the prompt."),
    KnownKey(key="tests[].options.disableVarExpansion, disableDefaultAsserts", meaning="As in promptfoo."),
    KnownKey(key="tests[].options.provider", meaning="`--judge` names the judges.", how="ignored"),
    KnownKey(
        key="tests[].options.transform, transformVars, rubricPrompt, storeOutputAs, factuality",
        meaning="Code, prompts and memory between tests.",
        how="lost",
    ),
    KnownKey(
        key="tests[].provider, providers, providerOutput, assertScoringFunction",
        meaning="A suite has one target, and code of a config is never run.",
        how="lost",
    ),
    KnownKey(key="defaultTest", meaning="Under every test; its assertions come first."),
    KnownKey(key="scenarios", meaning="Every `config` with every test."),
    KnownKey(key="assertionTemplates, $ref", meaning="Assertions used in several places."),
    KnownKey(key="assert[].type", meaning=f"Read, each also with `not-`: {', '.join(READ_TYPES)}."),
    KnownKey(key="assert[].type: others", meaning=f"Not read: {', '.join(LOST_TYPES)}.", how="lost"),
    KnownKey(key="assert[].weight", meaning="The criterion's weight; 0 is shown and does not count."),
    KnownKey(
        key="assert[].threshold",
        meaning="The pass mark of a score (`llm-rubric`, `g-eval`), the limit of `latency` and `cost`.",
    ),
    KnownKey(key="assert[].metric", meaning="The criterion's id."),
    KnownKey(key="assert[].provider, config", meaning="`--judge` names the judges.", how="ignored"),
    KnownKey(
        key="assert[].transform, contextTransform, rubricPrompt", meaning="The assertion is left out.", how="lost"
    ),
    KnownKey(
        key="assert-set: assert, threshold, weight",
        meaning="A criterion with child criteria; its threshold is its floor.",
    ),
    KnownKey(key="evaluateOptions.repeat", meaning="Attempts, all of which have to pass."),
    KnownKey(
        key="evaluateOptions.maxConcurrency, timeoutMs", meaning="How many cases run at a time; the limit of one run."
    ),
    KnownKey(
        key="commandLineOptions, env, outputPath, sharing, tags, metadata, tracing",
        meaning="How promptfoo itself runs.",
        how="ignored",
    ),
    KnownKey(key="derivedMetrics, extensions, redteam", meaning="Nothing here is like them.", how="lost"),
)

EXAMPLE: Final = """\
description: Answers about opening hours
prompts:
  - "Answer in one sentence: {{question}}"
providers: [openai:gpt-5-mini]
tests:
  - description: weekday
    vars: {question: When do you open on Monday?}
    assert:
      - {type: contains, value: "9"}
      - {type: not-icontains, value: sorry}
      - {type: llm-rubric, value: Names the hour and nothing else}
"""


def _read(document: Document) -> SuiteSource:
    return _Config(document).read()


PROMPTFOO: Final = Reader(
    name="promptfoo",
    title="a promptfoo config",
    gives="suite",
    signs=_signs,
    read=_read,
    keys=KEYS,
    defaults=DEFAULTS,
    looks_like=("prompts", "providers", "tests", "defaultTest", "evaluateOptions", "scenarios", "description"),
    example=EXAMPLE,
)

READERS: tuple[Reader, ...] = (PROMPTFOO,)
