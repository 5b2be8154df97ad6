"""The dialects that AgentV has written its files in, recognised by content. One reading serves all;
a dialect decides defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct

from honestone.formats.syntax.reader import FileEntry, Keys, keys, words
from honestone.interop.reader import Formats, ignoring_others

# What a case has to reach in every dialect, unless the file says otherwise.
PASS_MARK: Final = Fraction(80, 100)


class Dialect(Struct, frozen=True, kw_only=True):
    """What holds where a file says nothing.

    `required`: a yes/no criterion is required unless it says otherwise. `merges`: the file's
        graders come after a case's own, else the case's replace them. `judge` names the judge that
        marks by a goal alone. `needs_input`: a case without an input is a mistake.
        `required_means_ten`: on a 0-10 scale `required: true` asks for the top.
    `bare_prompts`: a prompt that looks like a path and leads nowhere is not a mistake of the file.
        `bars_need_required`: a grader's `min_score` is a bar only with `required`. `top_threshold`:
        `threshold` counts at the top of a file and a case too.
    `ignores_keys`: its program leaves keys of a file and of a case that it does not know out, with
        a warning.
    """

    name: str
    required: bool
    merges: bool
    judge: str
    needs_input: bool = True
    required_means_ten: bool = False
    bare_prompts: bool = False
    bars_need_required: bool = False
    top_threshold: bool = True
    ignores_keys: bool = False

    @property
    def description(self) -> str:
        """The default of `required`, for the notes of a reading."""
        if self.required:
            return (
                f"dialect {self.name}: `required` is true for yes/no criteria unless it is written"
            )
        return f"dialect {self.name}: `required` is false unless it is written"


SEED: Final = Dialect(
    name="agentv-seed",
    required=False,
    merges=False,
    judge="llm_judge",
    needs_input=False,
    bare_prompts=True,
)
TWO: Final = Dialect(
    name="agentv-2",
    required=True,
    merges=True,
    judge="llm_judge",
    required_means_ten=True,
    bare_prompts=True,
    ignores_keys=True,
)
FOUR: Final = Dialect(
    name="agentv-4",
    required=True,
    merges=True,
    judge="llm-grader",
    bars_need_required=True,
    top_threshold=False,
    ignores_keys=True,
)
FIVE: Final = Dialect(
    name="agentv-5", required=True, merges=True, judge="llm-rubric", bars_need_required=True
)
DIALECTS: Final = (SEED, TWO, FOUR, FIVE)
CASE_LISTS: Final = ("tests", "evalcases", "eval_cases")
GRADER_LISTS: Final = ("assert", "assertions", "evaluators")

_OWN_OF_TWO: Final = {
    "input_messages",
    "expected_messages",
    "conversation_id",
    "outcome",
    "evaluator",
}
_TYPES_OF_FIVE: Final = {
    "llm-rubric",
    "agent-rubric",
    "assert-set",
    "script",
    "skill-used",
    "not-skill-used",
}
_TYPES_OF_FOUR: Final = {"llm-grader", "llm_grader", "code-grader", "code_grader"}
KEYS_OF_FIVE: Final = {
    "prompts",
    "providers",
    "evaluate_options",
    "default_test",
    "scenarios",
    "environment",
}
_KEYS_OF_FOUR: Final = {"assertions", "input_files", "workspace"}


def dialect_of(value: Any) -> Dialect | None:
    """The dialect of a whole file as plain values; None when it is not an AgentV file."""
    if not isinstance(value, dict):
        return None
    if any(isinstance(value.get(key), list) for key in ("evalcases", "eval_cases")):
        return _of_evalcases(value)
    if "tests" in value:
        return _of_tests(value)
    graders = [entry for entry in _graders(value) if isinstance(entry, dict)]
    return _of_evalcases(value) if any("type" in entry for entry in graders) else None


def _of_evalcases(value: Mapping[str, object]) -> Dialect:
    """The page's own names, or those that only the program of that time knows?"""
    keys = {key for case in _cases(value) for key in case} | (
        {"outcome"} if "dataset" in value else set()
    )
    texts = {key for entry in _everything(value) for key in entry if key == "outcome"}
    return TWO if (keys | texts) & _OWN_OF_TWO else SEED


def _of_tests(value: Mapping[str, object]) -> Dialect:
    cases = list(_cases(value))
    keys = set(value) | {key for case in cases for key in case}
    types = {entry["type"] for entry in _everything(value) if isinstance(entry.get("type"), str)}
    if keys & KEYS_OF_FIVE or types & _TYPES_OF_FIVE:
        return FIVE
    if keys & _KEYS_OF_FOUR or types & _TYPES_OF_FOUR:
        return FOUR
    if keys & {"assert", "rubrics", "evaluators", *_OWN_OF_TWO} or types:
        return TWO
    return FIVE if "vars" in keys else FOUR


def dialect_of_row(row: Mapping[str, object], sidecar: Mapping[str, object]) -> Dialect:
    """The dialect of a JSON lines file by its first row and the YAML file next to it."""
    if row.keys() & {"expected_outcome", "outcome", "input_messages", "expected_messages"}:
        return _of_evalcases({**sidecar, "evalcases": [dict(row)]})
    return _of_tests({**sidecar, "tests": [dict(row)]})


def _cases(value: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for key in CASE_LISTS:
        listed = value.get(key)
        if isinstance(listed, list):
            yield from (case for case in listed if isinstance(case, dict))


def _graders(value: Mapping[str, object]) -> Iterator[Any]:
    execution = value.get("execution")
    for holder in (value, execution if isinstance(execution, dict) else {}):
        for key in GRADER_LISTS:
            listed = holder.get(key)
            if isinstance(listed, list):
                yield from listed


def _everything(value: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Every grader of the file and its cases, with the criteria inside."""
    for holder in (value, *_cases(value)):
        for entry in (*_graders(holder), *_list_at(holder, "rubrics")):
            if isinstance(entry, dict):
                yield entry
                for key in ("rubrics", "criteria"):
                    yield from (inner for inner in _list_at(entry, key) if isinstance(inner, dict))


def _list_at(value: Mapping[str, object], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def likeness(value: Any) -> int:
    """How surely plain values are an AgentV suite, 0-100."""
    if not isinstance(value, dict):
        return 0
    if any(isinstance(value.get(key), list | str) for key in ("evalcases", "eval_cases")):
        return 97
    if isinstance(value.get("tests"), list | str):
        return _likeness_of_tests(value)
    if "cases" in value or dialect_of(value) is None:
        return 0
    return 60


def _likeness_of_tests(value: Mapping[str, object]) -> int:
    cases = list(_cases(value))
    if any("id" in case for case in cases) and any(case.keys() & _KEYS_OF_CASES for case in cases):
        return 98  # promptfoo's tests have no ids
    if (
        any(isinstance(value.get(key), list) for key in ("assert", "assertions"))
        or "execution" in value
    ):
        return 96  # nor a list of assertions for the whole file
    return 20


_KEYS_OF_CASES: Final = set(
    words(
        "input input_messages vars criteria expected_outcome assert"
        " assertions rubrics evaluators execution expected_output turns"
    )
)


def likeness_of_row(row: Any) -> int:
    """How surely a JSON lines row is an AgentV case, 0-100."""
    if (
        not isinstance(row, dict)
        or "id" not in row
        or not row.keys() & {"input", "input_messages", "vars"}
    ):
        return 0
    if row.keys() & {
        "criteria",
        "expected_outcome",
        "input_messages",
        "rubrics",
        "assertions",
        "assert",
        "evaluators",
    }:
        return 90
    return 40 if "expected_output" in row else 0


# The keys of AgentV's files and what each becomes. Every dialect's reader knows all of them.
FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables
_UNUSED: Final = keys("", "- config | changes nothing")
# The table of each kind of grader that is code, with the keys that all graders have.
CODE_GRADERS: Final[dict[str, Keys]] = {
    kind: (TABLES["grader"] + (own if "config" in own.by_name else own + _UNUSED)).named(
        f"a grader of type `{kind}`"
    )
    for name, own in TABLES.items()
    if name.startswith("code ")
    for kind in name.removeprefix("code ").split(", ")
}


def keys_of(take: FileEntry, table: str, dialect: Dialect) -> Keys:
    """The keys of a mapping. Where its dialect ignores others, those of this mapping too, each with
    a note; one that is probably a slip stays unknown.
    """
    known = TABLES[table]
    if not dialect.ignores_keys or not take.is_mapping:
        return known
    return ignoring_others(known, take.value, "AgentV", known.by_name.keys() - KEYS_OF_FIVE)
