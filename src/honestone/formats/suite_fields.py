"""The native suite format, described once: the reader, near matches, the JSON Schema and the reference page use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from honestone.core.suite.case import SUITE_VERSION, AttemptRule, Split
from honestone.formats import fields
from honestone.formats.fields import Taken, Takes, table

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
    "suite-version": Taken(f"the number {SUITE_VERSION}", {"const": SUITE_VERSION}),
    "case-id": Taken("text", _NAME),
    "prose": Taken("text, or {file: PATH}", {"anyOf": [_TEXT, _FILE]}),
    "content": Taken("text, or {file: PATH}", {"anyOf": [{"type": "string"}, _FILE]}),
    "path": Taken("a path", _TEXT),
    "folder": Taken("the path of a folder next to the suite", _TEXT),
    "target": Taken("the name of a target, or a mapping", {"$ref": "#/$defs/target"}),
    "rubric": Taken("a list of criteria, a rubric, or {file: PATH}", {"$ref": "#/$defs/rubric"}),
    "checks": Taken("a list of checks", {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/check"}}),
    "count": Taken("a whole number from 1", {"type": "integer", "minimum": 1, "maximum": MAX_COUNT}),
    "rule": Taken(
        "one of " + ", ".join(f"`{rule}`" for rule in AttemptRule), {"enum": [str(rule) for rule in AttemptRule]}
    ),
    "seconds": Taken("a number of seconds above 0", {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS}),
    "commands": Taken(
        "a command line, or a list of them", {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
    ),
    "workspace": Taken("a mapping", {"$ref": "#/$defs/workspace"}),
    "cases": Taken("a list", {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/case"}}),
    "input": Taken("text, a list of {role, content}, or {file: PATH}", {"anyOf": [_TEXT, _MESSAGES, _FILE, _FILES]}),
    "split": Taken("one of " + ", ".join(f"`{split}`" for split in Split), {"enum": [str(split) for split in Split]}),
    "tags": Taken("a word, or a list of words", {"anyOf": [_NAME, {"type": "array", "items": _NAME}]}),
    "expect": Taken(
        "a mapping with `verdict`, `score` or ids of criteria",
        {
            "type": "object",
            "minProperties": 1,
            "properties": {"verdict": {"enum": list(VERDICTS)}},
            "additionalProperties": _RANGE,
        },
    ),
    "output": Taken("`text` or `json`", {"enum": list(OUTPUTS)}),
    "files": Taken("a mapping from paths to text", {"type": "object", "additionalProperties": {"type": "string"}}),
    "git": Taken(
        "the address or path of a repository, with `@REF` or as {repo, ref}",
        {
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
    "ref": Taken("the name of a commit, branch or tag", _NAME),
    "paths": Taken("a list of paths", {"type": "array", "items": _TEXT, "minItems": 1}),
}

SUITE: Final = table(
    "suite",
    "A named set of cases, and what holds for all of them.",
    """
    suite | suite-version | 1 | version | suite: 1 | The version of this format.
    title | name | none | name description | title: Bug triage | What this suite is about, for people.
    artifact | path | none | skill prompt subject | artifact: skills/triage | What is evaluated: a file or folder next to the suite. The command line may name another.
    target | target | none | provider providers agent targets | target: {use: claude, skill: true, timeout: 120} | What produces an output for each case: what `--target` takes, or a mapping. Without one the artifact itself is judged.
    rubric | rubric | none | criteria rubrics evaluators | rubric: {file: shared.yaml} | Applies to every case, together with the case's own. A list of criteria (texts or mappings), a whole rubric, or `{file: PATH}` for one in a file next to the suite.
    threshold | points | 70 | pass_threshold passing_score min_score | threshold: 80 | The score that a case must reach, where neither its own rubric nor the shared one names a threshold.
    floor | points | 60 | minimum criterion_floor | floor: 0 | The score that every top-level criterion must reach, where neither rubric names a floor; 0 turns it off.
    attempts | count | 1 | repeat runs trials pass_k k | attempts: 3 | How often each case is run.
    attempt_rule | rule | mean | rule attempts_rule | attempt_rule: pass@k | What the attempts at a case come to. `mean`: their mean score meets the gate. `best`: the one with the highest score decides. `pass@k`: one that passes is enough. `pass^k`: every one has to pass.
    timeout | seconds | the target's | timeout_seconds time_limit | timeout: 120 | Seconds that one run of the target may take.
    setup | commands | none | before before_each set_up | setup: pip install -r requirements.txt | Command lines that run before the target, in the case's folder, without a shell. A case's own come after.
    teardown | commands | none | after after_each tear_down | teardown: ./stop.sh | Command lines that always run at the end. A case's own come before.
    workspace | workspace | none | sandbox cwd folder | workspace: {copy: fixtures/app} | The folder that set-up, target and teardown run in: a private one for each case and attempt. What the target changes in it is shown to judges as a diff.
    concurrency | count | chosen by the program | workers parallel max_concurrency | concurrency: 4 | How many cases run at a time.
    cases | cases | required | tests tasks evalcases evals examples case | cases: [{id: greets, input: Hello, rubric: [Answers with a greeting]}] | The cases, one at least.
    """,
)

CASE: Final = table(
    "case",
    "One input, and how the output for it is judged. It needs something to be judged by: a `rubric` or `checks` of its own, or the suite's rubric. They count together.",
    """
    id | case-id | required | name case test_id key | id: sql-injection | Names it in results, reports and on the command line; text as written. Unique in the suite.
    input | input | none | prompt question query messages inputs | input: 'Review this: SELECT 1' | What the target is given: text, messages, or the text of files next to the suite (`{file: PATH}`, `{files: [PATH, ...]}`).
    reference | prose | none | expected expected_output expected_outcome answer ideal | reference: Should name the injection and the fix | What a good answer holds, for judges only: text, or `{file: PATH}`.
    rubric | rubric | none | criteria rubrics assertions | rubric: [Names the injection, Suggests parameters] | A list of criteria (texts or mappings), a whole rubric, or `{file: PATH}` for one in a file next to the suite.
    checks | checks | none | check assert asserts | checks: [{contains: [parameter]}, {not-regex: TODO}] | Tests that code answers; each is a criterion of weight 1.
    split | split | by a stable hash of the id: 60 train, 20 val, 20 test | set subset | split: test | Failures in `train` may be shown to a worker, `val` decides what is kept, `test` has the last word.
    tags | tags | none | labels tag | tags: [slow, security] | Words to choose cases by (`--tag`).
    timeout | seconds | the suite's | timeout_seconds time_limit | timeout: 300 | Seconds that one run of the target may take.
    attempts | count | the suite's | repeat runs trials pass_k k | attempts: 5 | How often each case is run.
    attempt_rule | rule | the suite's | rule attempts_rule | attempt_rule: pass^k | What the attempts at a case come to. `mean`: their mean score meets the gate. `best`: the one with the highest score decides. `pass@k`: one that passes is enough. `pass^k`: every one has to pass.
    setup | commands | none | before before_each set_up | setup: [git init, ./seed.sh] | Command lines that run after the suite's own.
    teardown | commands | none | after after_each tear_down | teardown: ./drop.sh | Command lines that run before the suite's own.
    workspace | workspace | the suite's | sandbox cwd folder | workspace: {files: {notes.txt: buy milk}} | The folder that set-up, target and teardown run in: a private one for each case and attempt. What the target changes in it is shown to judges as a diff. Replaces the suite's.
    skip | text | none | skipped disabled ignore | skip: waits for the new parser | Why it is not run for now.
    expect | expect | none | expected_verdict expected_score | expect: {verdict: fail, score: [10, 30]} | A test of the judges themselves: the case passes when verdict and scores come out as said here. `score` and the ids of criteria take a range, both ends included.
    """,
)

TARGET: Final = table(
    "target",
    "What produces the output for a case.",
    """
    use | text | named on the command line | name provider target id | use: claude | What `--target` takes: `claude`, `cmd:COMMAND`, `python:module:function`, a name from settings.
    skill | flag | true for a folder with a SKILL.md | | skill: true | The artifact is installed as a skill of the agent.
    timeout | seconds | none | timeout_seconds time_limit | timeout: 120 | Seconds that one run of the target may take. A case's own comes first.
    output | output | text | format | output: json | With `json` it prints `{"output": TEXT, ...}` or a JSON string; what else it reports is the trace.
    """,
    short="A plain text is its `use`.",
)

WORKSPACE: Final = table(
    "workspace",
    "What a case's folder holds at the start: a copy of a folder or of a repository, then `files`.",
    """
    copy | folder | none | folder template from path dir | copy: fixtures/app | A folder next to the suite.
    git | git | none | repo repository url | git: https://example.org/app.git@v1.2 | A repository and the commit, branch or tag to take.
    files | files | none | file | files: {notes.txt: buy milk} | Files by their path in the folder.
    """,
)

GIT: Final = table(
    "repository",
    "A repository, where its address holds an `@` itself.",
    """
    repo | text | required | url path | repo: https://example.org/app.git | Its address or path.
    ref | ref | its default branch | commit branch tag rev | ref: v1.2 | The commit, branch or tag.
    """,
)

IN_FILE: Final = table(
    "file",
    "The text of a file next to the suite.",
    """
    file | path | required | path | file: cases/long.md | Its path.
    """,
)

IN_FILES: Final = table(
    "list of files",
    "The text of several files next to the suite, each under its name.",
    """
    files | paths | required | | files: [a.md, b.md] | Their paths.
    """,
)

MESSAGE: Final = table(
    "message",
    "One message of an input.",
    """
    role | name | required | from author | role: user | Who says it: user, system or assistant.
    content | content | required | text message value | content: Hello | What is said: text, or `{file: PATH}`.
    """,
)

SHAPES: Final = (SUITE, CASE, TARGET, WORKSPACE, GIT, IN_FILE, IN_FILES, MESSAGE)
