"""The native suite format, described once: the reader, near matches, the JSON Schema and the reference page use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from honestone.core.suite.case import SUITE_VERSION, AttemptRule, Split
from honestone.formats import fields
from honestone.formats.fields import Field, Shape, Taken, Takes

MAX_COUNT: Final = 10_000
"""How many attempts or cases at a time a file may ask for: more is a slip of the finger."""
MAX_SECONDS: Final = 10_000_000
VERDICTS: Final = ("pass", "fail", "inconclusive")
OUTPUTS: Final = ("text", "json")

_TEXT: Final[Mapping[str, Any]] = {"type": "string", "pattern": r"\S"}
_NAME: Final[Mapping[str, Any]] = {"type": ["string", "number", "boolean"]}
_FILE: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"file": _TEXT},
    "required": ["file"],
    "additionalProperties": False,
}
_FILES: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": _TEXT, "minItems": 1}},
    "required": ["files"],
    "additionalProperties": False,
}
_MESSAGES: Final[Mapping[str, Any]] = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {"role": _NAME, "content": {"anyOf": [{"type": "string"}, _FILE]}},
        "required": ["role", "content"],
        "additionalProperties": False,
    },
}
_RANGE: Final[Mapping[str, Any]] = {
    "type": "array",
    "items": {"type": "number", "minimum": 0, "maximum": 100},
    "minItems": 2,
    "maxItems": 2,
}

TAKES: Final[Mapping[Takes, Taken]] = {
    **fields.TAKES,
    "suite-version": Taken(words=f"the number {SUITE_VERSION}", schema={"const": SUITE_VERSION}),
    "case-id": Taken(words="text", schema=_NAME),
    "prose": Taken(words="text, or {file: PATH}", schema={"anyOf": [_TEXT, _FILE]}),
    "content": Taken(words="text, or {file: PATH}", schema={"anyOf": [{"type": "string"}, _FILE]}),
    "path": Taken(words="a path", schema=_TEXT),
    "folder": Taken(words="the path of a folder beside the suite", schema=_TEXT),
    "target": Taken(words="the name of a target, or a mapping", schema={"$ref": "#/$defs/target"}),
    "rubric": Taken(words="a list of criteria, a rubric, or {file: PATH}", schema={"$ref": "#/$defs/rubric"}),
    "checks": Taken(
        words="a list of checks", schema={"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/check"}}
    ),
    "count": Taken(words="a whole number from 1", schema={"type": "integer", "minimum": 1, "maximum": MAX_COUNT}),
    "rule": Taken(
        words="one of " + ", ".join(f"`{rule}`" for rule in AttemptRule),
        schema={"enum": [str(rule) for rule in AttemptRule]},
    ),
    "seconds": Taken(
        words="a number of seconds above 0", schema={"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS}
    ),
    "commands": Taken(
        words="a command line, or a list of them",
        schema={"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]},
    ),
    "workspace": Taken(words="a mapping", schema={"$ref": "#/$defs/workspace"}),
    "cases": Taken(words="a list", schema={"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/case"}}),
    "input": Taken(
        words="text, a list of {role, content}, or {file: PATH}", schema={"anyOf": [_TEXT, _MESSAGES, _FILE, _FILES]}
    ),
    "split": Taken(
        words="one of " + ", ".join(f"`{split}`" for split in Split), schema={"enum": [str(split) for split in Split]}
    ),
    "tags": Taken(words="a word, or a list of words", schema={"anyOf": [_NAME, {"type": "array", "items": _NAME}]}),
    "expect": Taken(
        words="a mapping with `verdict`, `score` or ids of criteria",
        schema={
            "type": "object",
            "minProperties": 1,
            "properties": {"verdict": {"enum": list(VERDICTS)}},
            "additionalProperties": _RANGE,
        },
    ),
    "output": Taken(words="`text` or `json`", schema={"enum": list(OUTPUTS)}),
    "files": Taken(
        words="a mapping from paths to text", schema={"type": "object", "additionalProperties": {"type": "string"}}
    ),
    "git": Taken(
        words="the address or path of a repository, with `@REF` or as {repo, ref}",
        schema={
            "anyOf": [
                _TEXT,
                {
                    "type": "object",
                    "properties": {"repo": _TEXT, "ref": _NAME},
                    "required": ["repo"],
                    "additionalProperties": False,
                },
            ]
        },
    ),
    "ref": Taken(words="the name of a commit, branch or tag", schema=_NAME),
    "paths": Taken(words="a list of paths", schema={"type": "array", "items": _TEXT, "minItems": 1}),
}

_INHERITED = "the suite's"

# Keys that a suite gives to its cases and a case may have of its own, with the words that differ.
_ATTEMPTS: Final = "How often each case is run."
_RULE: Final = (
    "What the attempts at a case come to. `mean`: their mean score meets the gate. `best`: the one with the highest score "
    "decides. `pass@k`: one that passes is enough. `pass^k`: every one has to pass."
)
_TIMEOUT: Final = "Seconds that one run of the target may take."
_WORKSPACE: Final = (
    "The folder that set-up, target and teardown run in: a private one for each case and attempt. What the target changes "
    "in it is shown to judges as a diff."
)
_RUBRIC: Final = (
    "A list of criteria (texts or mappings), a whole rubric, or `{file: PATH}` for one in a file beside the suite."
)

SUITE: Final = Shape(
    name="suite",
    doc="A named set of cases, and what holds for all of them.",
    fields=(
        Field(
            key="suite",
            takes="suite-version",
            doc="The version of this format.",
            example="suite: 1",
            default="1",
            also=("version",),
        ),
        Field(
            key="title",
            takes="name",
            doc="What this suite is about, for people.",
            example="title: Bug triage",
            also=("name", "description"),
        ),
        Field(
            key="artifact",
            takes="path",
            doc="What is evaluated: a file or folder beside the suite. The command line may name another.",
            example="artifact: skills/triage",
            also=("skill", "prompt", "subject"),
        ),
        Field(
            key="target",
            takes="target",
            doc="What produces an output for each case: what `--target` takes, or a mapping. Without one the artifact itself is judged.",
            example="target: {use: claude, skill: true, timeout: 120}",
            also=("provider", "providers", "agent", "targets"),
        ),
        Field(
            key="rubric",
            takes="rubric",
            doc="Applies to every case, beside the case's own. " + _RUBRIC,
            example="rubric: {file: shared.yaml}",
            also=("criteria", "rubrics", "evaluators"),
        ),
        Field(
            key="threshold",
            takes="points",
            doc="The score that a case has to reach, where neither its own rubric nor the shared one names a threshold.",
            example="threshold: 80",
            default="70",
            also=("pass_threshold", "passing_score", "min_score"),
        ),
        Field(
            key="floor",
            takes="points",
            doc="The score that every top-level criterion has to reach, where neither rubric names a floor; 0 turns it off.",
            example="floor: 0",
            default="60",
            also=("minimum", "criterion_floor"),
        ),
        Field(
            key="attempts",
            takes="count",
            doc=_ATTEMPTS,
            example="attempts: 3",
            default="1",
            also=("repeat", "runs", "trials", "pass_k", "k"),
        ),
        Field(
            key="attempt_rule",
            takes="rule",
            doc=_RULE,
            example="attempt_rule: pass@k",
            default="mean",
            also=("rule", "attempts_rule"),
        ),
        Field(
            key="timeout",
            takes="seconds",
            doc=_TIMEOUT,
            example="timeout: 120",
            default="the target's",
            also=("timeout_seconds", "time_limit"),
        ),
        Field(
            key="setup",
            takes="commands",
            doc="Command lines that run before the target, in the case's folder, without a shell. A case's own come after.",
            example="setup: pip install -r requirements.txt",
            also=("before", "before_each", "set_up"),
        ),
        Field(
            key="teardown",
            takes="commands",
            doc="Command lines that always run at the end. A case's own come before.",
            example="teardown: ./stop.sh",
            also=("after", "after_each", "tear_down"),
        ),
        Field(
            key="workspace",
            takes="workspace",
            doc=_WORKSPACE,
            example="workspace: {copy: fixtures/app}",
            also=("sandbox", "cwd", "folder"),
        ),
        Field(
            key="concurrency",
            takes="count",
            doc="How many cases run at a time.",
            example="concurrency: 4",
            default="chosen by the program",
            also=("workers", "parallel", "max_concurrency"),
        ),
        Field(
            key="cases",
            takes="cases",
            doc="The cases, one at least.",
            example="cases: [{id: greets, input: Hello, rubric: [Answers with a greeting]}]",
            default="required",
            also=("tests", "tasks", "evalcases", "evals", "examples", "case"),
        ),
    ),
)

CASE: Final = Shape(
    name="case",
    doc=(
        "One input, and how the output for it is judged. It needs something to be judged by: a `rubric` or `checks` of its "
        "own, or the suite's rubric. They stand side by side."
    ),
    fields=(
        Field(
            key="id",
            takes="case-id",
            doc="Names it in results, reports and on the command line; text as written. Unique in the suite.",
            example="id: sql-injection",
            default="required",
            also=("name", "case", "test_id", "key"),
        ),
        Field(
            key="input",
            takes="input",
            doc="What the target is given: text, messages, or the text of files beside the suite (`{file: PATH}`, `{files: [PATH, ...]}`).",
            example="input: 'Review this: SELECT 1'",
            also=("prompt", "question", "query", "messages", "inputs"),
        ),
        Field(
            key="reference",
            takes="prose",
            doc="What a good answer holds, for judges only: text, or `{file: PATH}`.",
            example="reference: Should name the injection and the fix",
            also=("expected", "expected_output", "expected_outcome", "answer", "ideal"),
        ),
        Field(
            key="rubric",
            takes="rubric",
            doc=_RUBRIC,
            example="rubric: [Names the injection, Suggests parameters]",
            also=("criteria", "rubrics", "assertions"),
        ),
        Field(
            key="checks",
            takes="checks",
            doc="Tests that code answers; each is a criterion of weight 1.",
            example="checks: [{contains: [parameter]}, {not-regex: TODO}]",
            also=("check", "assert", "asserts"),
        ),
        Field(
            key="split",
            takes="split",
            doc="Failures in `train` may be shown to a worker, `val` decides what is kept, `test` has the last word.",
            example="split: test",
            default="by a stable hash of the id: 60 train, 20 val, 20 test",
            also=("set", "subset"),
        ),
        Field(
            key="tags",
            takes="tags",
            doc="Words to choose cases by (`--tag`).",
            example="tags: [slow, security]",
            also=("labels", "tag"),
        ),
        Field(
            key="timeout",
            takes="seconds",
            doc=_TIMEOUT,
            example="timeout: 300",
            default=_INHERITED,
            also=("timeout_seconds", "time_limit"),
        ),
        Field(
            key="attempts",
            takes="count",
            doc=_ATTEMPTS,
            example="attempts: 5",
            default=_INHERITED,
            also=("repeat", "runs", "trials", "pass_k", "k"),
        ),
        Field(
            key="attempt_rule",
            takes="rule",
            doc=_RULE,
            example="attempt_rule: pass^k",
            default=_INHERITED,
            also=("rule", "attempts_rule"),
        ),
        Field(
            key="setup",
            takes="commands",
            doc="Command lines that run after the suite's own.",
            example="setup: [git init, ./seed.sh]",
            also=("before", "before_each", "set_up"),
        ),
        Field(
            key="teardown",
            takes="commands",
            doc="Command lines that run before the suite's own.",
            example="teardown: ./drop.sh",
            also=("after", "after_each", "tear_down"),
        ),
        Field(
            key="workspace",
            takes="workspace",
            doc=_WORKSPACE + " Stands in place of the suite's.",
            example="workspace: {files: {notes.txt: buy milk}}",
            default=_INHERITED,
            also=("sandbox", "cwd", "folder"),
        ),
        Field(
            key="skip",
            takes="text",
            doc="Why it is not run for now.",
            example="skip: waits for the new parser",
            also=("skipped", "disabled", "ignore"),
        ),
        Field(
            key="expect",
            takes="expect",
            doc=(
                "A test of the judges themselves: the case passes when verdict and scores come out as said here. `score` "
                "and the ids of criteria take a range, both ends included."
            ),
            example="expect: {verdict: fail, score: [10, 30]}",
            also=("expected_verdict", "expected_score"),
        ),
    ),
)

TARGET: Final = Shape(
    name="target",
    doc="What produces the output for a case.",
    short="A plain text is its `use`.",
    fields=(
        Field(
            key="use",
            takes="text",
            doc="What `--target` takes: `claude`, `cmd:COMMAND`, `python:module:function`, a name from settings.",
            example="use: claude",
            default="named on the command line",
            also=("name", "provider", "target", "id"),
        ),
        Field(
            key="skill",
            takes="flag",
            doc="The artifact is installed as a skill of the agent.",
            example="skill: true",
            default="true for a folder with a SKILL.md",
        ),
        Field(
            key="timeout",
            takes="seconds",
            doc=_TIMEOUT + " A case's own comes first.",
            example="timeout: 120",
            also=("timeout_seconds", "time_limit"),
        ),
        Field(
            key="output",
            takes="output",
            doc='With `json` it prints `{"output": TEXT, ...}` or a JSON string; what else it tells is the trace.',
            example="output: json",
            default="text",
            also=("format",),
        ),
    ),
)

WORKSPACE: Final = Shape(
    name="workspace",
    doc="What a case's folder holds at the start: a copy of a folder or of a repository, then `files`.",
    fields=(
        Field(
            key="copy",
            takes="folder",
            doc="A folder beside the suite.",
            example="copy: fixtures/app",
            also=("folder", "template", "from", "path", "dir"),
        ),
        Field(
            key="git",
            takes="git",
            doc="A repository and the commit, branch or tag to take.",
            example="git: https://example.org/app.git@v1.2",
            also=("repo", "repository", "url"),
        ),
        Field(
            key="files",
            takes="files",
            doc="Files by their path in the folder.",
            example="files: {notes.txt: buy milk}",
            also=("file",),
        ),
    ),
)

GIT: Final = Shape(
    name="repository",
    doc="A repository, where its address holds an `@` itself.",
    fields=(
        Field(
            key="repo",
            takes="text",
            doc="Its address or path.",
            example="repo: https://example.org/app.git",
            default="required",
            also=("url", "path"),
        ),
        Field(
            key="ref",
            takes="ref",
            doc="The commit, branch or tag.",
            example="ref: v1.2",
            default="its default branch",
            also=("commit", "branch", "tag", "rev"),
        ),
    ),
)

IN_FILE: Final = Shape(
    name="file",
    doc="What stands in a file beside the suite.",
    fields=(
        Field(
            key="file", takes="path", doc="Its path.", example="file: cases/long.md", default="required", also=("path",)
        ),
    ),
)

IN_FILES: Final = Shape(
    name="list of files",
    doc="What stands in several files beside the suite, each under its name.",
    fields=(Field(key="files", takes="paths", doc="Their paths.", example="files: [a.md, b.md]", default="required"),),
)

MESSAGE: Final = Shape(
    name="message",
    doc="One message of an input.",
    fields=(
        Field(
            key="role",
            takes="name",
            doc="Who says it: user, system or assistant.",
            example="role: user",
            default="required",
            also=("from", "author"),
        ),
        Field(
            key="content",
            takes="content",
            doc="What is said: text, or `{file: PATH}`.",
            example="content: Hello",
            default="required",
            also=("text", "message", "value"),
        ),
    ),
)

SHAPES: Final = (SUITE, CASE, TARGET, WORKSPACE, GIT, IN_FILE, IN_FILES, MESSAGE)
