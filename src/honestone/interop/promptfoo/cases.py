"""Prompts times tests: the cases of a promptfoo config, with their variables filled in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.errors import UsageError
from honestone.core.json_value import Json, late_pattern
from honestone.core.judging.images import IMAGE_MARK, written_images
from honestone.core.judging.rubric import free_id, slug
from honestone.core.suite.case import AttemptRule, Case, Message
from honestone.formats.syntax.reader import Cases, FileReading, Steps
from honestone.interop.criteria import as_text, gated, undecided
from honestone.interop.environment import HINT
from honestone.interop.promptfoo.assertion import Scope
from honestone.interop.promptfoo.assertion_types import read_assertions
from honestone.interop.promptfoo.code import json_values
from honestone.interop.promptfoo.columns import Columns
from honestone.interop.promptfoo.hooks import Extension, extended_before_each
from honestone.interop.promptfoo.layers import (
    MAX_CASES,
    ConfigFiles,
    Layer,
    Unread,
    as_data,
    is_several,
    last_of,
    together,
    too_many_cases,
)
from honestone.interop.promptfoo.made import NOT_RUN, prompts_made
from honestone.interop.promptfoo.prompts import Prompt, chat_messages
from honestone.interop.promptfoo.templates import fill

# Characters that all prompts together may come to once their variables are filled in.
MAX_FILLED_IN_ALL: Final = 50_000_000

_DATA_URL: Final = late_pattern(r"(?m)^[ \t]*(data:image/[\w.+-]+;base64,[\w+/=]+)[ \t]*$")
# What assertions about a context read without a template.
_READ_BY_NAME: Final = frozenset(("context", "query"))
_VARIABLES: Final = HINT
_TEMPLATES: Final = "names, loops, conditions and filters are filled in; see docs/from-promptfoo.md"


class RunOptions(Struct, frozen=True, kw_only=True):
    """What `evaluateOptions` says."""

    repeat: int = 1
    concurrency: int | None = None
    timeout: float | None = None


class CaseReading:
    """The cases that the prompts and tests of a config stand for. `variables` are those that the
    config sets under `env`.
    """

    def __init__(
        self,
        files: ConfigFiles,
        columns: Columns,
        extensions: Sequence[Extension],
        options: RunOptions,
        variables: Mapping[str, str],
    ) -> None:
        self.reading, self.siblings = files.reading, files.siblings
        self.run_code = files.document.run_code
        self.columns, self.extensions, self.options = columns, extensions, options
        self.own_variables = variables
        self.filled = 0
        self.templates: set[str] = set()
        self.variable_names: set[str] = set()
        """Templates that were filled in, and the names of the tests' variables."""
        self.variables: dict[str, Mapping[str, object]] = {}
        self.tables: dict[str, Path] = {}
        """Of cases by their ids: their variables, and the tables that they are rows of."""

    def unseen_variables(self) -> list[str]:
        """The variables of tests that are in no template."""
        text = "\n".join(self.templates)
        return sorted(
            name
            for name in self.variable_names - _READ_BY_NAME
            if not re.search(rf"\b{re.escape(name)}\b", text)
        )

    def applies(self, prompt: Prompt, layers: Sequence[Layer]) -> bool:
        chosen = last_of(layers, lambda layer: layer.prompts)
        return chosen is None or prompt.is_among(chosen)

    def cases(
        self, prompts: Sequence[Prompt], number: int, layers: tuple[Layer, ...], cases: Cases
    ) -> None:
        """The cases of one test: one, or as many as its listed variables multiply to. Each is asked
        with every prompt that the test is for.
        """
        test = layers[-1]
        mine = [prompt for prompt in prompts if self.applies(prompt, layers)]
        # A provider of a test that is asked nothing is no column.
        columns = self.columns.of_test(mine, layers) if mine else None
        if columns is None:
            return
        variables: dict[str, Any] = together(layers, lambda layer: layer.variables)
        expands = last_of(layers, lambda layer: layer.expands) is not False
        self.variable_names |= variables.keys()
        lists = [name for name, value in variables.items() if expands and is_several(value)]
        if len(cases) + math.prod(len(variables[name]) for name in lists) > MAX_CASES:
            raise too_many_cases(test.at)
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
        ids = ["/".join([name, *(slug(as_text(v), limit=24) for v in one)]) for one in chosen]
        known = [self.known(own, test) for own in self.extended(layers, each)]
        written = zip(*(self.messages(prompt, known) for prompt in mine), strict=True)
        for id, own, templates in zip(ids, known, written, strict=True):
            asked = {
                prompt.id: self.filled_messages(prompt, template, layers, own)
                for prompt, template in zip(mine, templates, strict=True)
            }
            id = free_id(id, cases)
            case = self.case(id, asked, layers, own)
            self.variables[id] = own
            if test.table is not None:
                self.tables[id] = test.table
            if case is not None and len(prompts) > 1:
                case = replace(case, prompts=asked, variables=_plain(own))
            cases.add(case and replace(case, targets=columns), test.at)

    def extended(
        self, layers: tuple[Layer, ...], variables: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """The variables of each case of a test after `beforeEach` of extensions."""
        if self.run_code is None or not any(one.is_for("beforeEach") for one in self.extensions):
            return variables
        for extension in self.extensions:
            if extension.is_for("beforeEach"):
                given = [{**as_data(layers), "vars": one} for one in variables]
                variables = extended_before_each(extension, given, self.run_code)
        return variables

    def known(self, variables: Mapping[str, Any], test: Layer) -> dict[str, Any]:
        """The variables of a case, those that hold templates filled in. As in promptfoo, one line
        break at the end of a text is left out.
        """
        found = dict(variables)
        for key, value in variables.items():
            if isinstance(value, str) and "{{" in value:
                found[key] = self.filled_in(value, variables, test.at.reading, test.at.path)
            if isinstance(value, str) and value.endswith("\n"):
                found[key] = found[key].removesuffix("\n")
        return found

    def messages(self, prompt: Prompt, contexts: Sequence[Json]) -> Sequence[tuple[Message, ...]]:
        """The messages of a prompt for the variables of each case, as templates; none where its
        code is not run or fails.
        """
        if prompt.script is None:
            return [prompt.messages] * len(contexts)
        nothing: list[tuple[Message, ...]] = [()] * len(contexts)
        if self.run_code is None or not contexts:
            return nothing
        config = {} if prompt.config is None else prompt.config
        given = json_values({"all": contexts, "config": config})
        assert isinstance(given, dict) and isinstance(given["all"], list)
        try:
            made = prompts_made(
                prompt.script,
                given["all"],
                [one.plain for one in self.columns.providers],
                given["config"],
                self.run_code,
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

    def filled_messages(
        self,
        prompt: Prompt,
        templates: Sequence[Message],
        layers: Sequence[Layer],
        known: Mapping[str, object],
    ) -> tuple[Message, ...]:
        """The messages of a prompt for one case, with what its test puts before and after them."""
        test = layers[-1]
        messages = [
            Message(
                message.role,
                self.with_images(
                    self.filled_in(message.content, known, prompt.reading, prompt.path), prompt
                ),
            )
            for message in templates
        ]
        prefix = last_of(layers, lambda layer: layer.prefix)
        suffix = last_of(layers, lambda layer: layer.suffix)
        if messages and (prefix or suffix):
            first = self.filled_in(prefix or "", known, test.at.reading, test.at.path)
            last = self.filled_in(suffix or "", known, test.at.reading, test.at.path)
            end = messages[-1]
            messages[-1] = Message(end.role, f"{first}{end.content}{last}")
        return tuple(messages)

    def case(
        self,
        id: str,
        asked: Mapping[str, tuple[Message, ...]],
        layers: Sequence[Layer],
        known: Mapping[str, object],
    ) -> Case | None:
        """One case. `asked` has its messages by prompt; where none of them is known, it is skipped."""
        test = layers[-1]
        messages = next(iter(asked.values()))

        def filled(text: str, reading: FileReading, path: Steps) -> str:
            return self.filled_in(text, known, reading, path)

        threshold = last_of(layers, lambda layer: layer.threshold)
        metadata = together(layers, lambda layer: layer.metadata)
        scope = Scope(
            gates=threshold is None,
            fill=filled,
            siblings=self.siblings,
            case={"vars": known, "test": {"description": test.description, "metadata": metadata}},
            asks_otherwise=any(layer.asks_otherwise for layer in layers),
            factuality={key: score for layer in layers for key, score in layer.factuality.items()},
            functions={
                name: schema
                for one in self.columns.named_providers
                for name, schema in one.functions.items()
            },
            is_structured=any(one.is_structured for one in self.columns.named_providers),
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
        problems = len(test.at.reading.problems)
        rubric = gated(test.at.reading, test.at.path, criteria, threshold)
        if len(test.at.reading.problems) > problems:
            return None
        unread = [
            f"its variable `{name[:60]}` cannot be read"
            for name, v in known.items()
            if isinstance(v, Unread)
        ]
        is_known = any(asked.values())
        skip = next(iter(unread), None) if is_known else f"its prompt is {NOT_RUN}"
        if rubric is None:
            skip = "asserts nothing that decides"
            self.reading.note(
                "promptfoo passes a test that asserts nothing; here it is skipped, as nothing was judged"
            )
        return Case(
            id=id,
            rubric=rubric or undecided(),
            messages=messages,
            timeout=self.options.timeout,
            attempts=self.options.repeat,
            attempt_rule=AttemptRule.PASS_HAT_K,
            skip=skip,
            description=test.description,
            metadata=metadata,
        )


def _plain(variables: Mapping[str, Any]) -> Mapping[str, Json]:
    plain = json_values(variables)
    assert isinstance(plain, dict)
    return plain
