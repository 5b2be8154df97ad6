"""Which checks there are and what each takes: the one description of every kind.

The rubric reader, the JSON Schema and the reference page are made from `KINDS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
Family: TypeAlias = Literal["text", "data", "files", "code", "trace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A key beside the check's own: what it does, the JSON Schema of its value, and `takes`, the same in words."""

    doc: str
    takes: str
    schema: Schema
    default: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of check. `takes` says in words what `schema` says of its argument."""

    doc: str
    takes: str
    schema: Schema
    example: str
    family: Family = "text"
    options: Mapping[str, Option] = field(default_factory=dict)


# ---------------------------------------------------------------------------------------------------- the kinds

_WORD: Final[Schema] = {"type": "string", "minLength": 1}
_WORDS: Final[Schema] = {"anyOf": [_WORD, {"type": "array", "items": _WORD, "minItems": 1}]}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_AMOUNT: Final[Schema] = {"type": "number", "minimum": 0}
_YES: Final[Schema] = {"enum": [True, None]}
_FLAG: Final[Schema] = {"enum": [True, False]}

_TEXTS: Final[Mapping[str, Option]] = {
    "path": Option(
        doc="Which files of a folder to look at. The check has to hold for every one; with no such file it is unmet. "
        "Left out, all text files of a folder are looked at as one text.",
        takes="a path or glob inside the artifact, or a list of them",
        schema=_WORDS,
    ),
    "match": Option(
        doc="With `path`: whether every file has to meet the check as written, or any one of them.",
        takes="`every` or `any`",
        schema={"enum": ["every", "any"]},
        default="every",
    ),
    "in": Option(
        doc="What of a case is looked at: the target's output, or the diff of its workspace. Without a workspace there "
        "is no diff, and the check cannot be judged.",
        takes="`output` or `diff`",
        schema={"enum": ["output", "diff"]},
        default="output",
    ),
}
_TIMEOUT: Final = Option(
    doc="Seconds it may take. The limit is part of the question: what still runs then is unmet, also with `not-`.",
    takes="a number of seconds above 0",
    schema={"type": "number", "exclusiveMinimum": 0},
    default=60,
)


def _text_kind(doc: str, takes: str, schema: Schema, example: str) -> Kind:
    return Kind(doc=doc, takes=takes, schema=schema, example=example, options=_TEXTS)


_ONE_TEXT, _TEXT_OR_LIST = "a text", "a text or a list of texts"

KINDS: Final[Mapping[str, Kind]] = {
    "contains": _text_kind(
        "The text contains this; of a list, all. With `not-`: none of them.",
        _TEXT_OR_LIST,
        _WORDS,
        "{contains: [Install, Usage]}",
    ),
    "contains-any": _text_kind(
        "The text contains at least one of these.", _TEXT_OR_LIST, _WORDS, "{contains-any: [MIT, Apache]}"
    ),
    "contains-all": _text_kind(
        "The text contains all of these. With `not-`: at least one is missing.",
        _TEXT_OR_LIST,
        _WORDS,
        "{contains-all: [Install, Usage]}",
    ),
    "icontains": _text_kind(
        "As `contains`, whatever the case of letters.", _TEXT_OR_LIST, _WORDS, "{not-icontains: todo}"
    ),
    "icontains-any": _text_kind(
        "As `contains-any`, whatever the case of letters.", _TEXT_OR_LIST, _WORDS, "{icontains-any: [licence, license]}"
    ),
    "icontains-all": _text_kind(
        "As `contains-all`, whatever the case of letters.", _TEXT_OR_LIST, _WORDS, "{icontains-all: [install, usage]}"
    ),
    "equals": _text_kind(
        "The text is exactly this. Line breaks at the end do not count.",
        _ONE_TEXT,
        {"type": "string"},
        "{equals: '42'}",
    ),
    "starts-with": _text_kind("The text starts with this.", _ONE_TEXT, _WORD, "{starts-with: '# '}"),
    "ends-with": _text_kind(
        "The text ends with this. Line breaks at the end do not count.", _ONE_TEXT, _WORD, "{ends-with: 'Thank you.'}"
    ),
    "regex": _text_kind(
        "A regular expression (Python's) matches somewhere in the text. Flags: i any case, m ^ and $ at every line, "
        "s dot matches line breaks, x spaces and comments, a ASCII.",
        "a pattern, or {pattern, flags}",
        {
            "anyOf": [
                _WORD,
                {
                    "type": "object",
                    "properties": {"pattern": _WORD, "flags": {"type": "string"}},
                    "required": ["pattern"],
                    "additionalProperties": False,
                },
            ]
        },
        r"{regex: '(?m)^\s*1[.)]'}",
    ),
    "max-words": _text_kind("At most so many words.", "a whole number from 0", _COUNT, "{max-words: 500}"),
    "min-words": _text_kind("At least so many words.", "a whole number from 0", _COUNT, "{min-words: 50}"),
    "max-chars": _text_kind("At most so many characters.", "a whole number from 0", _COUNT, "{max-chars: 4000}"),
    "min-chars": _text_kind("At least so many characters.", "a whole number from 0", _COUNT, "{min-chars: 200}"),
    "is-json": Kind(
        family="data",
        doc="The text is one JSON value.",
        takes="true",
        schema=_YES,
        example="{is-json: true}",
        options=_TEXTS,
    ),
    "json-schema": Kind(
        family="data",
        doc="The text is JSON that fits this JSON Schema: written here, or in a file beside the rubric. "
        "Needs `pip install honestone[schema]`.",
        takes="a JSON Schema, or the path of one",
        schema={"anyOf": [_WORD, {"type": "object"}]},
        example="{json-schema: {type: object, required: [name]}}",
        options=_TEXTS,
    ),
    "field-accuracy": Kind(
        family="data",
        doc="The text is JSON whose fields are as expected: so much of their weight as `threshold` says (0-1; left out, all of "
        "it), and every `required` one. `match` is exact, numeric_tolerance (`tolerance`, of the expected value if `relative`) "
        "or date (`formats` such as DD.MM.YYYY).",
        takes="{fields: [{path, expected, match, ...}], threshold}",
        schema={
            "type": "object",
            "properties": {
                "fields": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "properties": {
                            "path": _WORD,
                            "expected": {},
                            "match": {"enum": ["exact", "numeric_tolerance", "date"]},
                            "tolerance": _AMOUNT,
                            "relative": _FLAG,
                            "formats": {"type": "array", "items": _WORD, "minItems": 1},
                            "weight": {"type": "number", "exclusiveMinimum": 0},
                            "required": _FLAG,
                        },
                        "required": ["path", "expected"],
                        "additionalProperties": False,
                    },
                },
                "threshold": {"type": "number", "minimum": 0, "maximum": 1},
            },
            "required": ["fields"],
            "additionalProperties": False,
        },
        example="{field-accuracy: {fields: [{path: 'items[0].price', expected: 12.5, match: numeric_tolerance, tolerance: 0.01}]}}",
        options=_TEXTS,
    ),
    "file-exists": Kind(
        family="files",
        doc="The artifact holds a file or folder of this path or glob (`**` crosses folders); of a list, all. "
        "With `not-`: none of them.",
        takes="a path or glob inside the artifact, or a list of them",
        schema=_WORDS,
        example="{file-exists: [LICENSE, 'tests/**/test_*.py']}",
    ),
    "links-resolve": Kind(
        family="files",
        doc="In Markdown, every relative link and image leads to a file of the artifact and every #anchor to a heading "
        "(as GitHub names them). Web addresses are not looked at; a link out of the artifact does not resolve.",
        takes="true",
        schema=_YES,
        example="{links-resolve: true, path: 'docs/**/*.md'}",
        options={
            "path": Option(
                doc="Which Markdown files of a folder to look at. Left out: all of them.",
                takes="a path or glob inside the artifact, or a list of them",
                schema=_WORDS,
            ),
            "beside": Option(
                doc="For an artifact that is one file: the folder in which its links to other files are looked up, "
                "relative to the rubric. Left out, such links are unmet, as the file is judged alone.",
                takes="the path of a folder",
                schema=_WORD,
            ),
        },
    ),
    "command": Kind(
        family="code",
        doc="A program ends with the exit code expected. It runs in a private copy of the artifact, without keys, in a "
        "sandbox where there is one; of a case with a workspace, in a copy of it as the target left it, where the "
        "output is `output.txt`. A relative program path, or the script given to an interpreter, is looked up "
        "beside the rubric, then in the copy. There is no shell: `sh -c '...'` for a pipe. "
        "$HONESTONE_ARTIFACT is the path of what is judged.",
        takes="a command, or a list of its words",
        schema=_WORDS,
        example="{command: python repro.py, expect_exit: 1, timeout: 30}",
        options={
            "expect_exit": Option(
                doc="The exit code that meets the check.",
                takes="a whole number from 0 to 255",
                schema={"type": "integer", "minimum": 0, "maximum": 255},
                default=0,
            ),
            "expect_stdout": Option(
                doc="What the program has to print, besides its exit code.",
                takes="{contains: a text or a list} or {regex: a pattern} or both",
                schema={
                    "type": "object",
                    "properties": {"contains": _WORDS, "regex": _WORD},
                    "minProperties": 1,
                    "additionalProperties": False,
                },
            ),
            "stdin": Option(
                doc="What the program reads: `artifact` is the text judged; left out, nothing.",
                takes="`artifact`",
                schema={"enum": ["artifact"]},
            ),
            "timeout": _TIMEOUT,
        },
    ),
    "pytest": Kind(
        family="code",
        doc="Tests of yours pass. A test file or folder beside the rubric is copied and run by the first Python that has "
        "pytest: honestone's own, then `python3`. The tests can import the artifact's modules; "
        "$HONESTONE_ARTIFACT and $AI_OUTPUT_FILE hold the path of what is judged.",
        takes="the path of a test file or folder",
        schema=_WORD,
        example="{pytest: tests/test_report.py}",
        options={
            "output_env": Option(
                doc="A variable more that holds the path of what is judged, under the name that the tests know.",
                takes="the name of a variable",
                schema={
                    "type": "string",
                    "pattern": r"^(?!(?:PATH|HOME|TMPDIR|LANG|PYTHON\w*|LD_\w*)$)[A-Za-z_][A-Za-z0-9_]*$",
                },
            ),
            "timeout": _TIMEOUT,
        },
    ),
    "grader": Kind(
        family="code",
        doc="A program of yours that grades as AgentV's do. It reads one JSON object: input, expected_output, output, "
        "file_changes, workspace_path, trace_summary, config. It prints {score: 0-1, assertions: [{text, passed}]}, or nothing "
        "but an exit code: 0 is met, another without words on stderr unmet, with them it could not be judged.",
        takes="a command, or a list of its words",
        schema=_WORDS,
        example="{grader: python graders/tone.py, min_score: 0.8}",
        options={
            "min_score": Option(
                doc="The score that meets the check.",
                takes="a number from 0 to 1",
                schema={"type": "number", "minimum": 0, "maximum": 1},
                default=1,
            ),
            "config": Option(
                doc="Settings that the program is given as `config`.", takes="a mapping", schema={"type": "object"}
            ),
            "timeout": _TIMEOUT,
        },
    ),
    "python": Kind(
        family="code",
        doc="A function of yours says yes: `module:function`, found beside the rubric or in the working directory. It is "
        "called with the text and returns True or False, or (True or False, note); an AssertionError is a no.",
        takes="`module:function`",
        schema={"type": "string", "pattern": r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*"},
        example="{python: 'checks:has_summary', with: text}",
        options={
            "with": Option(
                doc="What the function is called with: the text, or the path of the file or folder judged.",
                takes="`text` or `path`",
                schema={"enum": ["text", "path"]},
                default="text",
            ),
            "timeout": _TIMEOUT,
        },
    ),
    "tool-calls": Kind(
        family="trace",
        doc="The target called these tools; `*` in a name stands for anything. Where the target does not report its tool calls, "
        "this cannot be judged; the same holds for all checks of a run.",
        takes="a list of names, or of {tool, arguments, count}",
        schema={
            "type": "array",
            "minItems": 1,
            "items": {
                "anyOf": [
                    _WORD,
                    {
                        "type": "object",
                        "properties": {
                            "tool": _WORD,
                            "arguments": {"type": "object"},
                            "count": {"type": "integer", "minimum": 1},
                        },
                        "required": ["tool"],
                        "additionalProperties": False,
                    },
                ]
            },
        },
        example="{tool-calls: [search, {tool: open, arguments: {id: 7}}], mode: in_order}",
        options={
            "mode": Option(
                doc="`any_order`: each was called, in any order, others too. `in_order`: in this order, others may come between. "
                "`exact`: these calls and no other. `subset`: nothing but these was called (`count`: at most so often).",
                takes="`any_order`, `in_order`, `exact` or `subset`",
                schema={"enum": ["any_order", "in_order", "exact", "subset"]},
                default="any_order",
            ),
            "args": Option(
                doc="How `arguments` are compared: `exact`, `subset` (these are among the call's), or `ignore`.",
                takes="`exact`, `subset` or `ignore`",
                schema={"enum": ["exact", "subset", "ignore"]},
                default="exact",
            ),
        },
    ),
    "tool-count": Kind(
        family="trace",
        doc="How often the target called each of these tools; `*` in a name stands for anything, so `'*'` is all calls.",
        takes="{NAME: {min, max}}",
        schema={
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {
                "type": "object",
                "properties": {"min": _COUNT, "max": _COUNT},
                "minProperties": 1,
                "additionalProperties": False,
            },
        },
        example="{tool-count: {search: {min: 1, max: 3}, '*': {max: 10}}}",
    ),
    "latency": Kind(
        family="trace",
        doc="The target's run took at most so many milliseconds.",
        takes="a number from 0",
        schema=_AMOUNT,
        example="{latency: 5000}",
    ),
    "cost": Kind(
        family="trace",
        doc="The target's run cost at most so many US dollars.",
        takes="a number from 0",
        schema=_AMOUNT,
        example="{cost: 0.05}",
    ),
    "tokens": Kind(
        family="trace",
        doc="The target's run took at most so many tokens: in total, or `input` and `output` each.",
        takes="a whole number from 0, or {input, output, total}",
        schema={
            "anyOf": [
                _COUNT,
                {
                    "type": "object",
                    "properties": {"input": _COUNT, "output": _COUNT, "total": _COUNT},
                    "minProperties": 1,
                    "additionalProperties": False,
                },
            ]
        },
        example="{tokens: {input: 4000, output: 500}}",
    ),
    "skill-loaded": Kind(
        family="trace",
        doc="The agent read the skill that was installed for it.",
        takes="true",
        schema=_YES,
        example="{skill-loaded: true}",
    ),
}


def check_schema() -> dict[str, Any]:
    """The JSON Schema of one check as people write it: one kind, negated or not, and its options."""
    shapes = []
    for name, kind in KINDS.items():
        options = {key: {**option.schema, "description": option.doc} for key, option in kind.options.items()}
        for written in (name, f"not-{name}"):
            own = {written: {**kind.schema, "description": kind.doc}}
            shapes.append(
                {"type": "object", "properties": own | options, "required": [written], "additionalProperties": False}
            )
    return {"anyOf": shapes}
