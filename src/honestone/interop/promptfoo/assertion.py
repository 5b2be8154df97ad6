"""One assertion of promptfoo as it is read: its value, weight and bar, and its criterion."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.checking.checks import measures, own_gate
from honestone.core.checking.script import Script
from honestone.core.json_value import Json, is_number
from honestone.core.judging.rubric import Check, Criterion, slug
from honestone.core.numbers import ONE
from honestone.formats.syntax.reader import FileEntry, FileReading, Keys, Steps, shown
from honestone.interop import criteria
from honestone.interop.promptfoo.code import (
    CODE_FILES,
    CodeContext,
)
from honestone.interop.reader import Formats
from honestone.interop.sibling_files import SiblingFiles

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables

# Fills in `{{name}}`; what it cannot is lost at that place.
Fill: TypeAlias = Callable[[str, FileReading, Steps], str]

# The option of checks that compare as promptfoo does.
AS_JAVASCRIPT: Final[Mapping[str, Any]] = {"exact": "javascript"}

_CODE = "is code that makes a value, which honestone does not run"


class Scope(Struct, frozen=True, kw_only=True):
    """What a list of assertions is read with. `gates`: each must pass by itself, without a
    threshold over it.
    """

    gates: bool
    fill: Fill
    siblings: SiblingFiles
    # What code hears of the case.
    case: CodeContext = field(default_factory=dict)
    # Of the whole test: what changes the output before an assertion looks at it.
    transforms: tuple[Script, ...] = ()
    # Scores of the answers to `factuality` that the test sets.
    factuality: Mapping[str, Fraction] = field(default_factory=dict)
    # What providers may call, with the JSON Schemas of the arguments.
    functions: Mapping[str, Json] = field(default_factory=dict)
    # Code sees the value of an output that is JSON.
    is_structured: bool = False
    # `rubricPrompt` of the test has the question that judges are asked.
    asks_otherwise: bool = False
    depth: int = 0

    def deeper(self, *, gates: bool) -> Scope:
        return replace(self, gates=gates, depth=self.depth + 1)


class Assertion(Struct, frozen=True, kw_only=True):
    """One assertion being read."""

    at: FileEntry
    type: str
    negated: bool
    weight: Fraction
    metric: str | None
    scope: Scope

    @property
    def here(self) -> Steps:
        return (*self.at.path, "value")

    @property
    def floor(self) -> Fraction | None:
        return self.bar(ONE)

    @property
    def name(self) -> str:
        return f"the assertion `{'not-' if self.negated else ''}{self.type}`"

    def bar(self, mark: Fraction) -> Fraction | None:
        return mark if self.scope.gates and self.weight > 0 else None

    def below(self, keys: Keys) -> FileEntry:
        """The value as a mapping, which the caller has made sure of."""
        below = self.at.below("value")
        below.read(keys)
        return below

    def problem(self, message: str, hint: str | None = None) -> None:
        self.at.problem(f"`{self.type}` {message}", "value", hint)

    def loss(self, message: str, hint: str | None = None) -> None:
        self.at.loss(message, hint=hint)

    def takes(self, what: str, value: Any) -> None:
        """Reports a value that is not `what`. One that was lost has been reported."""
        if value is not None:
            self.problem(f"takes {what}, not {shown(value)}")
        elif "value" not in self.at:
            self.problem(f"needs a `value`: {what}")

    def variable(self, name: str) -> str | None:
        """A variable of the test that is a text, filled in."""
        known = self.scope.case.get("vars")
        value = known.get(name) if isinstance(known, Mapping) else None
        return value if isinstance(value, str) and value.strip() else None

    def value(self) -> Any:
        """`value` as it is compared: a file's content, templates filled in. None when it is missing
        or was lost.
        """
        raw = self.at.raw("value")
        if isinstance(raw, list):
            return [
                self._text_value(v, (*self.here, i)) if isinstance(v, str) else v
                for i, v in enumerate(raw)
            ]
        return self._text_value(raw, self.here) if isinstance(raw, str) else raw

    def _text_value(self, text: str, path: Steps) -> Any:
        if text.startswith("file://"):
            return self._file(text.removeprefix("file://"), path)
        if text.startswith("package:"):
            self.at.reading.loss(f"`{text[:60]}` {_CODE}", path)
            return None
        return self.scope.fill(text, self.at.reading, path)

    def _file(self, name: str, path: Steps) -> Any:
        reading = self.at.reading
        plain = name.split(":")[0] if re.search(r"\.\w+:", name) else name
        if Path(plain).suffix.lower() in CODE_FILES:
            reading.loss(f"`file://{name}` {_CODE}", path)
            return None
        found = self.scope.siblings.find(reading, name, path)
        if found is None:
            return None
        if found.suffix.lower() in (".json", ".yaml", ".yml"):
            marked = self.scope.siblings.marked(reading, found, path)
            return None if marked is None else marked.value
        return self.scope.siblings.open(reading, found, path)

    def text(self) -> str | None:
        """A value that is one text."""
        value = self.value()
        if isinstance(value, str) and value.strip():
            return value
        if is_number(value):
            return self.at.reading.marked.raw(self.here) or criteria.as_text(value)
        if "value" not in self.at:
            self.problem("needs a `value`", "give it a text: value: ...")
        elif value is not None:
            self.problem(f"takes a text, not {shown(value)}")
        return None

    def check(self, kind: str, value: Any, **options: Any) -> Criterion | None:
        check = criteria.sound_check(
            self.at.reading, self.here, kind, value, negated=self.negated, **options
        )
        return None if check is None else self.criterion(check)

    def criterion(self, check: Check, requirement: str | None = None) -> Criterion:
        own = measures(check)
        bars = own_gate(self.scope.gates and self.weight > 0) if own else {"floor": self.floor}
        return criteria.check_criterion(
            check, id=self.metric, requirement=requirement, weight=self.weight, **bars
        )

    def question(self, requirement: str) -> Criterion:
        id = self.metric or slug(requirement)
        return criteria.yes_no(
            id,
            requirement,
            weight=self.weight,
            floor=self.bar(criteria.MAJORITY),
            negate=self.negated,
        )

    def grade(self, requirement: str, threshold: Fraction) -> Criterion | None:
        """A question answered with a score from 0 to 1."""
        if self.negated:
            self.loss(
                f"`not-{self.type}` with a `threshold` has no meaning here",
                "leave the threshold out",
            )
            return None
        id = self.metric or slug(requirement)
        return criteria.scaled(
            id, requirement, criteria.FROM_0_TO_1, weight=self.weight, floor=self.bar(threshold)
        )
