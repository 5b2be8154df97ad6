"""Checks, the declarative part: reading one, what can be wrong with it, and those that need nothing
but a text.

The kinds are described in `check_kinds.toml`, checks of JSON fields and of traces in
`field_accuracy` and `trace_checks`. What touches files or starts programs is in `adapters/checks`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal, TypeAlias, TypedDict

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.artifact import Entry, Version
from honestone.core.checking.added_kinds import added_kinds
from honestone.core.checking.gave_up import GaveUp as GaveUp
from honestone.core.checking.javascript.looks import is_javascript
from honestone.core.checking.javascript.looks import look_of as javascript_look
from honestone.core.checking.javascript.patterns import compile_javascript, units
from honestone.core.checking.looks import LOOKS, Look, listed_words
from honestone.core.checking.patterns import GUARDS, compile_regex, path_pattern
from honestone.core.checking.text_form import asks_for_line_breaks, form_words, normal, normal_value
from honestone.core.json_value import NOTE_LIMIT as NOTE_LIMIT
from honestone.core.json_value import Json, JsonObject, built, late_pattern, members, texts
from honestone.core.json_value import line_of as line_of
from honestone.core.json_value import quoted as quoted
from honestone.core.json_value import visible as visible
from honestone.core.judging.rubric import Check, Item, Rubric
from honestone.core.numbers import ONE, ZERO
from honestone.core.tables import table_text

# What a check answers: met (True), unmet (False, with what was missing or found), or could not be
# judged (None, with why). `not-` turns met and unmet round, and nothing else.
CheckAnswer: TypeAlias = tuple[bool | None, str | None]

# What a target produced is judged as a file of this name.
OUTPUT_NAME: Final = "output.txt"


class TextCheck(Struct, frozen=True, kw_only=True):
    """A check of a text, compiled once. `evaluate(text)` says whether it is met, and what is
    missing
    or found if not; None where a bound was met first.

    `guard_from`: a text as long as this may keep a backtracking pattern busy for ever, so it has to
        be evaluated under a time limit. None: never.
    """

    check: Check
    evaluate: Callable[[str], CheckAnswer]
    guard_from: int | None = None

    def __call__(self, text: str) -> CheckAnswer:
        return self.evaluate(text)


_MET: Final[CheckAnswer] = (True, None)


def compile_text_check(check: Check) -> TextCheck:
    """A check of the text family, or `is-json`, ready to be used on many texts. It has to be free
    of problems.
    """
    look = _look_of(check)

    def evaluate(text: str) -> CheckAnswer:
        try:
            problem = look(text)
        except GaveUp as why:
            return None, str(why)
        except RecursionError:
            return None, "the text is nested too deeply for this check"
        return _MET if problem is None else (False, problem)

    guard = GUARDS[check.kind](check.value) if check.kind in GUARDS else None
    return TextCheck(check=check, evaluate=evaluate, guard_from=guard)


def _look_of(check: Check) -> Look:
    """The look at a text, in the forms that the check compares."""
    if is_javascript(check):
        return javascript_look(check)
    build, side = LOOKS.get(check.kind) or _added(check), int(check.negated)
    as_written = build(check.value)[side]
    if check.kind in _OF_NORMAL_FORM and not is_exact(check):
        return lambda text: as_written(normal(text))
    if check.kind not in _COMPARED or _asks_for_form(check):
        return as_written
    value = normal_value(check.value)
    in_form = as_written if value == check.value else build(value)[side]
    return _in_either_form(check, as_written, in_form)


def _in_either_form(check: Check, as_written: Look, in_form: Look) -> Look:
    """A text meets the check as it is written, or in normal form. Where the form alone decides, the
    note says so.
    """
    texts = _compared_texts(check)

    def noted(problem: str, text: str) -> str:
        return f"{problem} (the same but for its form: {form_words(text, *texts)})"

    def exactly(text: str) -> str | None:
        problem, plain = as_written(text), normal(text)
        if problem is None or check.negated or (plain == text and in_form is as_written):
            return problem
        return noted(problem, text) if in_form(plain) is None else problem

    def misses(text: str) -> str | None:
        problem = as_written(text)
        if problem is None:
            return None
        plain = normal(text)
        return problem if plain == text and in_form is as_written else in_form(plain)

    def has(text: str) -> str | None:
        problem = as_written(text)
        if problem is not None:
            return problem
        plain = normal(text)
        if plain == text and in_form is as_written:
            return None
        problem = in_form(plain)
        return None if problem is None else noted(problem, text)

    if is_exact(check):
        return exactly
    return has if check.negated else misses


def is_exact(check: Check) -> bool:
    """Whether texts are compared as they are written, and in no other form."""
    return check.options.get("exact") in ("bytes", "javascript")


def _asks_for_form(check: Check) -> bool:
    """Whether what it looks for is a form of texts: `not-contains: "\\r\\n"` wants a file without
    CRLF.
    """
    if check.kind == "regex":
        return _NAMES_CR.search(compile_regex(check.value).pattern) is not None
    return any(map(asks_for_line_breaks, _compared_texts(check)))


def _compared_texts(check: Check) -> Sequence[str]:
    """The texts, or the pattern, that it compares a text with."""
    return (compile_regex(check.value).pattern,) if check.kind == "regex" else check.words


def is_text_check(check: Check) -> bool:
    """Whether `compile_text_check` can compile it."""
    return check.kind in LOOKS or bool(KINDS[check.kind].package)


def searches(check: Check, text: str) -> list[tuple[re.Pattern[str], str]]:
    """What a `regex` check searches, and by which pattern, one after the other until one is found."""
    if is_javascript(check):
        return [(compile_javascript(str(check.value)), units(text))]
    searches = [(compile_regex(check.value), text)]
    if is_exact(check) or _asks_for_form(check):
        return searches
    other = (compile_regex(normal_value(check.value)), normal(text))
    return searches if other == searches[0] else [*searches, other]


# Kinds that compare texts: as they are written, else in normal form.
_COMPARED: Final = frozenset(
    kind for kind in LOOKS if "contains" in kind and kind.split("-")[-1] not in ("html", "xml")
) | {"equals", "starts-with", "ends-with", "regex"}
# Kinds that look at the normal form alone.
_OF_NORMAL_FORM: Final = frozenset(
    ["max-chars", "min-chars", "max-words", "min-words", "is-refusal"]
)
# A pattern that names CR is about the bytes of line breaks.
_NAMES_CR: Final = late_pattern(r"\r|\\r|\\x0[dD]|\\u000[dD]|\\015")


def matching(paths: Iterable[str], globs: str | Sequence[str]) -> list[str]:
    """The paths that any of the globs chooses, in their order."""
    patterns = [path_pattern(glob) for glob in listed_words(globs)]
    return [path for path in paths if any(pattern.fullmatch(path) for pattern in patterns)]


def judged(version: Version, output: str | None, files: Version | None = None) -> Version:
    """What a check looks at: the version, or what a target produced, as one file; with its
    workspace, next to that.
    """
    if output is None:
        return version
    output_file = {OUTPUT_NAME: Entry(output.encode("utf-8", "replace"))}
    if files is None:
        return Version(output_file, is_folder=False)
    return Version(dict(sorted({**files.files, **output_file}.items())), is_folder=True)


Family: TypeAlias = Literal[
    "text", "data", "files", "code", "scripts", "trace", "likeness", "embeddings"
]


class Schema(TypedDict, total=False):
    """The part of JSON Schema that says what checks take."""

    type: str
    enum: list[Json]
    anyOf: list[Schema]
    items: Schema
    minItems: int
    minLength: int
    pattern: str
    minimum: float
    maximum: float
    exclusiveMinimum: float
    properties: dict[str, Schema]
    required: list[str]
    minProperties: int
    additionalProperties: Schema | bool


class KindOption(Struct, frozen=True, kw_only=True):
    """A key next to the check's own: what it does, the JSON Schema of its value, and `takes`, the
    same in words.
    """

    doc: str
    takes: str
    schema: Schema
    default: Json = None


class Kind(Struct, frozen=True, kw_only=True):
    """One kind of check. `takes` says in words what `schema` says of its argument."""

    doc: str
    takes: str
    schema: Schema
    example: str
    family: Family = "text"
    # Whether it gives a score from 0 to 100 next to its yes or no.
    measures: bool = False
    options: Mapping[str, KindOption] = field(default_factory=dict)
    # Name and version of the package that adds it; ours have none.
    package: str = ""


class AddedCheck(Struct, frozen=True, kw_only=True):
    """A kind of check of another package. It is about a text: `look` makes of the argument, which
    fits `kind.schema`, what says why a text does not meet it (None where it does). It raises GaveUp
    where it cannot tell.
    """

    kind: Kind
    look: Callable[..., Look]


class OwnKinds(Mapping[str, Kind]):
    """Ours, in the order of their table. Each is read from it when it is looked up: all of it would
    take 4 ms of each start.
    """

    def __init__(self, table: str) -> None:
        self._texts: dict[str, str] = {}
        for part in _BEFORE_TABLE.split(table)[1:]:
            name = part[1:].partition("]")[0].partition(".")[0]
            self._texts[name] = self._texts.get(name, "") + part
        self._shape_text = self._texts.pop("shapes")
        self._shared_text = self._texts.pop("shared")
        self._known: dict[str, Kind] = {}

    def __getitem__(self, name: str) -> Kind:
        if name not in self._known:
            row = self._row(name, self._texts[name])
            options = _options_of(row)
            options |= {key: self._shared[key] for key in texts(row.pop("shared", []))}
            self._known[name] = replace(built(Kind, row), options=options)
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def _row(self, name: str, text: str) -> dict[str, Json]:
        """A table with the shapes that it names, which may name others."""
        written, count = json.dumps(tomllib.loads(text)[name]), 1
        while count:
            written, count = _SHAPE.subn(lambda name: self._shapes[name[1]], written)
        row: dict[str, Json] = json.loads(written)
        return row

    @cached_property
    def _shapes(self) -> dict[str, str]:
        shapes = tomllib.loads(self._shape_text)["shapes"]
        return {"nothing": "null"} | {name: json.dumps(one) for name, one in shapes.items()}

    @cached_property
    def _shared(self) -> dict[str, KindOption]:
        return _options_of(self._row("shared", self._shared_text))


_BEFORE_TABLE: Final = late_pattern(r"^(?=\[)", re.MULTILINE)
_SHAPE: Final = late_pattern(r'"@(\w+)"')


def _options_of(row: JsonObject) -> dict[str, KindOption]:
    return {key: built(KindOption, dict(members(one))) for key, one in members(row.get("options"))}


OWN: Final = OwnKinds(table_text("checking/check_kinds"))


class AllKinds(Mapping[str, Kind]):
    """Ours, then those that other packages add, each loaded when it is looked up."""

    def __getitem__(self, name: str) -> Kind:
        return OWN[name] if name in OWN else self.added(name).kind

    def added(self, name: str) -> AddedCheck:
        """Raises KeyError for an unknown name, SettingsError where it cannot be loaded."""
        added = added_kinds()[name]()
        assert isinstance(added, AddedCheck)
        return added

    def __contains__(self, name: object) -> bool:
        return name in OWN or name in added_kinds()

    def __iter__(self) -> Iterator[str]:
        yield from OWN
        yield from (name for name in added_kinds() if name not in OWN)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _added(check: Check) -> Callable[..., tuple[Look, Look]]:
    """What says of a text that another package's check is not met, and that it is."""

    def looks(value: Json) -> tuple[Look, Look]:
        look = KINDS.added(check.kind).look(value)
        return look, lambda text: f"the text meets `{check.kind}`" if look(text) is None else None

    return looks


KINDS: Final = AllKinds()


def measures(check: Check) -> bool:
    """Whether a check gives a score. Its own bar decides whether it is met."""
    return check.kind in KINDS and KINDS[check.kind].measures


def is_transformed(check: Check) -> bool:
    """Whether code changes the output before the check looks at it. A `script` changes it itself."""
    return "transform" in check.options and check.kind != "script"


def checks_of(rubric: Rubric) -> list[Check]:
    return [item.check for _, item in rubric.questions() if item.check is not None]


def is_of_text_alone(check: Check) -> bool:
    """Whether it needs no file and no program."""
    return KINDS[check.kind].family == "text" and not is_transformed(check)


def runs_code(check: Check) -> bool:
    """Whether it starts a program that the rubric or suite brings along."""
    return KINDS[check.kind].family in ("code", "scripts") or is_transformed(check)


class OwnBar(TypedDict, total=False):
    """How a criterion leaves it to its measuring check whether it is met."""

    required: bool
    floor: Fraction


def own_bar(items: Sequence[Item], weight: Fraction = ONE) -> OwnBar:
    """What holds for a criterion of these items, unless it says otherwise, where one measuring
    check answers all of it; else nothing.
    """
    is_measured = len(items) == 1 and items[0].check is not None and measures(items[0].check)
    return own_gate(True) if is_measured and weight > 0 else {}


def own_gate(required: bool) -> OwnBar:
    """Whether a measuring check must be met, by its own bar and no floor."""
    return {"required": required, "floor": ZERO}


def check_schema() -> dict[str, list[object]]:
    """The JSON Schema of one check as people write it: one kind, negated or not, and its options."""
    shapes: list[object] = []
    for name, kind in KINDS.items():
        options = {
            key: {**option.schema, "description": option.doc}
            for key, option in kind.options.items()
        }
        for written in (name, f"not-{name}"):
            own = {written: {**kind.schema, "description": kind.doc}}
            shapes.append(
                {
                    "type": "object",
                    "properties": own | options,
                    "required": [written],
                    "additionalProperties": False,
                }
            )
    return {"anyOf": shapes}
