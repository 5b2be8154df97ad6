"""waza evaluations, tasks and rubrics."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import checks, lost, never_crashes, put, rubric_of, suite_of, wild, wrong

from honestone.core.errors import HonestoneError
from honestone.core.suite.case import AttemptRule, Case
from honestone.formats.document import Document
from honestone.formats.source import SourceErrors
from honestone.interop.reader import Reader
from honestone.interop.recognise import recognise
from honestone.interop.waza.read import READERS
from property_examples import examples

EVAL, TASK, RUBRIC, TRIGGERS = READERS

TASK_TEXT = "id: t\nname: T\ninputs: {prompt: Do it}\n"


def graded(tmp_path: Path, grader: str) -> Case:
    source = suite_of(TASK, put(tmp_path, f"{TASK_TEXT}graders:\n  - {grader}\n"))
    assert not source.losses, source.losses
    return source.suite.cases[0]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            "type: text, config: {contains: [a], not_contains_cs: [B]}",
            [("icontains", "a"), ("not-contains", "B")],
        ),
        (
            "type: text, config: {regex_match: ['a+'], regex_not_match: ['b+']}",
            [("regex", "a+"), ("not-regex", "b+")],
        ),
        (
            "type: file, config: {must_exist: [a.txt], must_not_exist: [b]}",
            [("command", ["test", "-e", "a.txt"]), ("not-command", ["test", "-e", "b"])],
        ),
        (
            "type: behavior, config: {max_tokens: 100, max_duration_ms: 5000, forbidden_tools: [rm]}",
            [("tokens", 100), ("latency", 5000), ("not-tool-calls", ["rm"])],
        ),
        (
            "type: action_sequence, config: {matching_mode: in_order_match, expected_actions: [a, b]}",
            [("tool-calls", ["a", "b"])],
        ),
        (
            "type: json_schema, config: {schema: {type: object}}",
            [("json-schema", {"type": "object"})],
        ),
        ("type: program, config: {command: ./ok.sh, args: [-v]}", [("command", ["./ok.sh", "-v"])]),
        (
            "type: tool_constraint, config: {expect_tools: [{tool: bash}], reject_tools: [{tool: rm}]}",
            [("tool-calls", ["bash"]), ("not-tool-calls", ["rm"])],
        ),
    ],
)
def test_graders_are_checklists_with_floor_100(
    tmp_path: Path, config: str, expected: list[tuple[str, Any]]
) -> None:
    """All of a grader has to hold for the task to pass."""
    (criterion,) = graded(tmp_path, f"{{name: g, weight: 2, {config}}}").rubric.criteria
    assert [(name, value) for name, value, _ in checks(criterion)] == expected
    assert (criterion.id, criterion.weight, criterion.floor) == ("g", 2, 1)


def test_a_prompt_grader_is_a_question(tmp_path: Path) -> None:
    """Its own text, or a rubric in a file beside the task."""
    (criterion,) = graded(
        tmp_path, "{name: q, type: prompt, config: {prompt: Is it kind?}}"
    ).rubric.criteria
    assert criterion.requirement == "Is it kind?" and criterion.items[0].check is None
    (tmp_path / "kind.yaml").write_text(RUBRIC.example)
    (criterion,) = graded(
        tmp_path, "{name: q, type: prompt, config: {rubric: ./kind.yaml}}"
    ).rubric.criteria
    assert criterion.id == "q" and criterion.items[0].anchors is not None


def test_code_runs_with_permission(tmp_path: Path) -> None:
    """Expressions over the output are items; what looks at anything else is lost, and nothing runs
    by being read.
    """
    text = TASK_TEXT + (
        "graders:\n  - {name: a, type: code, config: {assertions: ['len(output) > 3', \"any(w in output for w in ['x', 'y'])\", 'tool_calls == []', 'exit(1)', 'a b']}}\n"
        "  - {name: b, type: code, config: {language: javascript, assertions: [output.length > 3, 'transcript.length']}}\n"
    )
    source = suite_of(TASK, put(tmp_path, text))
    a, b = source.suite.cases[0].rubric.criteria
    assert [item.requirement for item in a.items] == [
        "len(output) > 3",
        "any(w in output for w in ['x', 'y'])",
    ]
    assert [item.requirement for item in b.items] == ["output.length > 3"]
    assert [use.what for use in source.code] == ["the grader `a` (`code`)"] * 2 + [
        "the grader `b` (`code`)"
    ]
    said = [message.partition(" ")[2] for message in lost(source)]
    assert "looks at `tool_calls`" in said[0] and "is not an expression" in said[2]
    assert len(said) == 4


def test_code_is_lost_never_run(tmp_path: Path) -> None:
    """Expressions, other skills, triggers and diffs are told with their place; the rest is still
    read.
    """
    text = TASK_TEXT + (
        "graders:\n  - {name: a, type: code, config: {assertions: ['exit(1)']}}\n  - {name: b, type: trigger, config: {skill_path: x, mode: positive}}\n"
        "  - {name: c, type: prompt, config: {rubric: groundedness}}\n  - {name: d, type: text, config: {contains: [x]}}\n"
    )
    source = suite_of(TASK, put(tmp_path, text))
    assert [message.split()[0] for message in lost(source)] == ["5:49", "6:5", "7:5"]
    assert [c.id for c in source.suite.cases[0].rubric.criteria] == ["d"]


def test_expectations_and_inputs(tmp_path: Path) -> None:
    """Words, triggers and rules are checks; files come from the fixtures or stand in the task."""
    text = (
        "id: t\nname: T\ntags: [x]\ntimeout_seconds: 9\ninputs:\n  prompt_file: p.md\n  context: {lang: py}\n  files: [{path: a.py}, {path: b.py, content: 'b = 1'}]\n"
        "expected:\n  output_contains: [Yes]\n  output_not_contains: [no]\n  output_contains_any: [p, q]\n  should_trigger: false\n"
        "  outcomes: [{type: task_completed}]\n  behavior: {max_response_time_ms: 100, max_tool_calls: 3, required_tools: [ls]}\n"
    )
    source = suite_of(TASK, put(tmp_path, text, p_md="Look at it", fixtures__a_py="a = 1"))
    (case,) = source.suite.cases
    assert (
        case.input == "Look at it"
        and case.timeout == 9
        and case.tags == ("x",)
        and case.metadata == {"lang": "py"}
    )
    assert case.workspace is not None and case.workspace.files == {"a.py": "a = 1", "b.py": "b = 1"}
    found = [check[:2] for criterion in case.rubric.criteria for check in checks(criterion)]
    assert found == [
        ("icontains", "Yes"),
        ("not-icontains", "no"),
        ("icontains-any", ["p", "q"]),
        ("not-skill-loaded", True),
        ("latency", 100),
        ("tool-count", {"*": {"max": 3}}),
        ("tool-calls", ["ls"]),
    ]
    assert not lost(source)


def test_limits_of_tool_calls_and_patterns_of_files_are_checks(tmp_path: Path) -> None:
    """All calls together are counted, 0 limits nothing; each pattern is looked for in its own file."""
    text = (
        "id: t\nname: T\ninputs: {prompt: p}\ngraders:\n"
        "  - {name: a, type: behavior, config: {max_tool_calls: 5}}\n"
        "  - {name: b, type: tool_calls, config: {min_calls: 1, max_calls: 0}}\n"
        "  - {name: c, type: file, config: {content_patterns: [{path: a.py, must_match: ['def '], must_not_match: [eval]}]}}\n"
    )
    source = suite_of(TASK, put(tmp_path, text))
    found = [checks(criterion) for criterion in source.suite.cases[0].rubric.criteria]
    assert [[check[:2] for check in group] for group in found] == [
        [("tool-count", {"*": {"max": 5}})],
        [("tool-count", {"*": {"min": 1}})],
        [("regex", "def "), ("not-regex", "eval")],
    ]
    assert [check[2] for check in found[2]] == [{"path": "a.py"}] * 2 and not lost(source)


def test_trigger_tests_are_a_suite(tmp_path: Path) -> None:
    """A case for each prompt, with the check that waza makes; what is not a prompt is said with its
    place.
    """
    text = (
        "skill: explainer\nshould_trigger_prompts:\n  - {prompt: Explain this, reason: direct, confidence: medium}\n"
        "should_not_trigger_prompts:\n  - prompt: Tell a joke\n"
    )
    document = put(tmp_path, text)
    assert recognise(document) is TRIGGERS
    source = suite_of(TRIGGERS, document)
    one, two = source.suite.cases
    assert (source.suite.skill_id, one.input, one.description) == (
        "explainer",
        "Explain this",
        "direct",
    )
    assert one.metadata == {"confidence": "medium"}
    found = [
        check[0]
        for case in (one, two)
        for criterion in case.rubric.criteria
        for check in checks(criterion)
    ]
    assert found == ["skill-loaded", "not-skill-loaded"]
    assert wrong(TRIGGERS, put(tmp_path, "should_trigger_prompts: [{reason: x}]\n", name="b.yaml"))
    assert wrong(TRIGGERS, put(tmp_path, "skill: s\nshould_trigger_prompts: []\n", name="c.yaml"))


def test_an_evaluation_reads_its_tasks(tmp_path: Path) -> None:
    """Task files beside it, each with the shared graders; trials all have to pass; the skill is
    what is tested.
    """
    document = put(
        tmp_path,
        EVAL.example,
        name="e.yaml",
        tasks__one_yaml=TASK.example,
        tasks__two_yaml="id: two\nname: 2\nenabled: false\ninputs: {prompt: x}\n",
    )
    assert recognise(document) is EVAL
    source = suite_of(EVAL, document)
    one, two = source.suite.cases
    assert (source.suite.skill_id, source.suite.target.skill) == ("rename", True)
    assert (one.attempts, one.attempt_rule, one.timeout) == (2, AttemptRule.PASS_HAT_K, 120)
    assert [c.id for c in one.rubric.criteria] == [
        "no-errors",
        "says-what-it-did",
        "output-contains",
    ]
    assert two.skip == "is not enabled"
    assert source.places["two"].endswith("two.yaml:1:1") and len(source.files) == 3


def test_mistakes_have_places_in_their_own_files(tmp_path: Path) -> None:
    """A slip in a task names the task's file; a pattern without files names the evaluation."""
    document = put(tmp_path, EVAL.example, tasks__one_yaml="id: a\nname: A\ninput: {prompt: x}\n")
    with pytest.raises(HonestoneError, match=r"one\.yaml:1:1: `inputs` is missing"):
        EVAL.read(document)
    (tmp_path / "tasks" / "one.yaml").unlink()
    assert wrong(EVAL, document)[0].startswith(
        "10:9 no file next to this one matches `tasks/*.yaml`"
    )
    assert wrong(TASK, put(tmp_path, TASK_TEXT + "graders: [{name: a, type: txt}]\n"))[
        0
    ].startswith("4:27 unknown grader `txt`")


def test_a_rubric_with_levels_is_a_scale(tmp_path: Path) -> None:
    """Numbers as they are written; two levels are one yes/no question; uneven scores go on 0 to 1."""
    (criterion,) = rubric_of(RUBRIC, put(tmp_path, RUBRIC.example)).rubric.criteria
    anchors = criterion.items[0].anchors
    assert anchors is not None and [int(value) for value, _ in anchors.levels] == [1, 3, 5]
    assert anchors.levels[0][1] == "rude: Blames the person"
    two = "name: t\nevaluation_criteria: Is it so?\nrating_levels: {0: {label: no}, 1: {label: yes, examples: [So]}}\n"
    (criterion,) = rubric_of(RUBRIC, put(tmp_path, two)).rubric.criteria
    assert (
        criterion.items[0].anchors is None and "Met: yes For example: So" in criterion.requirement
    )
    uneven = "evaluation_criteria: How?\nrating_levels: [{value: 1, normalized_score: 0}, {value: 2, normalized_score: 0.9}, {value: 3, normalized_score: 1}]\n"
    (criterion,) = rubric_of(RUBRIC, put(tmp_path, uneven)).rubric.criteria
    assert criterion.items[0].anchors is not None and criterion.items[0].anchors.levels[1][
        0
    ] == Fraction(9, 10)


def test_what_a_judge_is_not_shown_is_lost(tmp_path: Path) -> None:
    """A rubric about tool calls cannot be answered from the output alone."""
    text = RUBRIC.example + "input_mapping: {query: q, tool_calls: t}\n"
    assert lost(rubric_of(RUBRIC, put(tmp_path, text))) == [
        "7:39 `tool_calls` is not shown to a judge here"
    ]


def test_the_files_of_others_load_or_are_refused_with_their_place() -> None:
    """Every waza file beside this checkout is recognised; what is wrong is named with file, line
    and field.
    """
    for path in wild("waza"):
        document = Document.of(path)
        reader = recognise(document)
        assert reader in READERS, path.name
        assert isinstance(reader, Reader)
        places, words = outcome(reader, document)
        assert all(place.startswith(f"{path}:") for place in places), path.name
        assert all("`" in text for text in words), path.name


def outcome(reader: Reader, document: Document) -> tuple[list[str], list[str]]:
    """Where and what was refused or lost."""
    try:
        source = reader.read(document)
    except SourceErrors as error:
        return [e.place or "" for e in error.errors], [e.message for e in error.errors]
    return [loss.place for loss in source.losses], [loss.message for loss in source.losses]


values = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(-1, 2, allow_nan=False)
    | st.text(max_size=8)
)
nested = st.recursive(
    values,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
config_keys = st.sampled_from(
    [
        "contains",
        "regex_match",
        "must_exist",
        "max_tokens",
        "required_tools",
        "expected_actions",
        "matching_mode",
        "schema",
        "schema_file",
        "command",
        "args",
        "prompt",
        "rubric",
        "expect_tools",
        "timeout",
    ]
)
grader = (
    st.fixed_dictionaries(
        {
            "name": values,
            "type": st.sampled_from(
                [
                    "text",
                    "file",
                    "behavior",
                    "action_sequence",
                    "json_schema",
                    "program",
                    "prompt",
                    "tool_constraint",
                    "tool_calls",
                    "code",
                    "?",
                ]
            ),
        },
        optional={
            "config": st.dictionaries(config_keys, nested, max_size=3) | nested,
            "weight": values,
            "rubric": values,
        },
    )
    | nested
)
task = st.fixed_dictionaries(
    {
        "id": values,
        "inputs": st.fixed_dictionaries(
            {"prompt": values}, optional={"files": nested, "context": nested, "prompt_file": values}
        )
        | nested,
    },
    optional={
        "name": values,
        "expected": st.dictionaries(
            st.sampled_from(
                ["output_contains", "output_contains_any", "outcomes", "behavior", "should_trigger"]
            ),
            nested,
            max_size=3,
        )
        | nested,
        "graders": st.lists(grader, max_size=3) | nested,
        "tags": nested,
        "timeout_seconds": values,
    },
)
level = (
    st.fixed_dictionaries(
        {},
        optional={
            "value": values,
            "label": values,
            "normalized_score": values,
            "description": values,
            "examples": nested,
        },
    )
    | nested
)
rubric = st.fixed_dictionaries(
    {
        "evaluation_criteria": values,
        "rating_levels": st.lists(level, max_size=4)
        | st.dictionaries(st.sampled_from(["0", "1", "x"]), level, max_size=3),
    },
    optional={"name": values, "input_mapping": nested, "score_normalization": nested},
)
evaluation = st.fixed_dictionaries(
    {"tasks": nested, "graders": st.lists(grader, max_size=2) | nested, "config": nested},
    optional={"name": values, "skill": values},
)


@settings(max_examples=examples(150), deadline=None)
@given(task, rubric, evaluation)
def test_no_file_crashes_a_reader(
    task: dict[str, Any], rubric: dict[str, Any], evaluation: dict[str, Any]
) -> None:
    """Whatever stands in a file, it is read or refused in words."""
    here = Path(__file__).parent / "none" / "f.yaml"
    for reader, value in ((TASK, task), (RUBRIC, rubric), (EVAL, evaluation)):
        never_crashes(reader, Document(path=here, text=json.dumps(value)))


def test_a_level_shows_its_example_and_forms_of_a_fault(tmp_path: Path) -> None:
    """One example or several, and the forms that a fault takes, are part of the level's words."""
    text = (
        "evaluation_criteria: How polite?\nrating_levels:\n"
        "  - {value: 1, label: rude, example: 'Your fault', fault_formats: ['a -> BLAME', 'b -> SHOUT']}\n"
        "  - {value: 2, label: polite, examples: [Try this, Or that]}\n"
    )
    source = rubric_of(RUBRIC, put(tmp_path, text))
    (item,) = source.rubric.criteria[0].items
    assert item.anchors is not None and not source.losses
    assert [words for _, words in item.anchors.levels] == [
        "rude For example: Your fault Forms of a fault: a -> BLAME; b -> SHOUT",
        "polite For example: Try this; Or that",
    ]


HOOKED = """\
name: hooked
skill: rename
config: {trials_per_task: 1, timeout_seconds: 60, executor: mock, model: any, parallel: true, max_workers: 3}
metrics: [{name: done, weight: 1, threshold: 0.8}]
hooks:
  before_run:
    - {command: touch run.log, working_directory: sub dir}
    - {command: no-such-program}
  before_task:
    - {command: "sh check.sh a;b", exit_codes: [0, 3], error_on_fail: true}
  after_task: [{command: touch ended.log}]
graders:
  - {name: says, type: text, config: {contains: [hi]}}
tasks: [tasks/*.yaml]
"""


def _hooked(tmp_path: Path, code: int) -> subprocess.CompletedProcess[str]:
    """An evaluation with hooks, run with permission."""
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "t.yaml").write_text(TASK_TEXT)
    (tmp_path / "check.sh").write_text(f'test "$1" = "a;b" && exit {code}\n')
    (tmp_path / "eval.yaml").write_text(HOOKED.replace("skill: rename\n", ""))
    words = ["eval", "eval.yaml", "--target", "cmd:echo hi", "--allow-code", "--json"]
    command = [sys.executable, "-m", "honestone", *words]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)


@pytest.mark.starts_processes
def test_hooks_run_around_every_task_in_the_folder_of_the_evaluation(tmp_path: Path) -> None:
    """Without a shell; one that fails without `error_on_fail` changes nothing, and an exit code
    that is listed is none.
    """
    ran = _hooked(tmp_path, 3)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (tmp_path / "sub dir" / "run.log").exists()
    assert (tmp_path / "ended.log").exists()


@pytest.mark.starts_processes
def test_a_hook_that_must_not_fail_ends_the_task(tmp_path: Path) -> None:
    """With `error_on_fail`, an exit code that is not listed is an error of the case."""
    ran = _hooked(tmp_path, 4)
    assert ran.returncode == 3
    assert "setup failed" in ran.stdout
    assert "check.sh" in json.loads(ran.stdout)["cases"][0]["error"]


@pytest.mark.starts_processes
def test_hooks_need_permission(tmp_path: Path) -> None:
    """They are code of the file: the reading names each."""
    _hooked(tmp_path, 0)
    source = suite_of(EVAL, Document.of(tmp_path / "eval.yaml"))
    assert next(one.what for one in source.code) == "the hook `touch run.log`"
    assert len(source.code) == 4
    assert source.suite.concurrency == 3
    assert not source.losses
    refused = subprocess.run(
        [sys.executable, "-m", "honestone", "eval", "eval.yaml", "--target", "cmd:echo hi"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert refused.returncode == 2
    assert "--allow-code" in refused.stderr


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("{required_skills: [rename], mode: any_order}", None),
        ("{required_skills: [rename], mode: in_order, allow_extra: false}", None),
        ("{required_skills: [rename, other], mode: in_order}", "looks at other skills (`other`)"),
        ("{required_skills: [rename, rename], mode: any_order}", "counts how often"),
        ("{required_skills: [rename], mode: exact_match}", "counts how often"),
    ],
)
def test_the_skill_under_test_is_looked_for(
    tmp_path: Path, config: str, expected: str | None
) -> None:
    """What is asked of other skills, or of how often one starts, is a loss."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "t.yaml").write_text(TASK_TEXT)
    text = (
        HOOKED.partition("hooks:")[0]
        + f"graders: [{{name: g, type: skill_invocation, config: {config}}}]\ntasks: [tasks/*.yaml]\n"
    )
    source = suite_of(EVAL, put(tmp_path, text))
    if expected is None:
        assert not source.losses
        assert checks(source.suite.cases[0].rubric.criteria[0]) == [("skill-loaded", True, {})]
    else:
        assert expected in source.losses[0].message


def test_files_are_compared_with_saved_ones(tmp_path: Path) -> None:
    """A snapshot is an equal file; fragments are there, or not there after `-`."""
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "a.txt").write_text("one\ntwo\n")
    grader = (
        "{name: g, type: diff, config: {context_dir: saved, expected_files:"
        " [{path: out.txt, snapshot: a.txt, contains: ['+ one', '-three', 'two', '+']}]}}"
    )
    case = graded(tmp_path, grader)
    there = {"path": "out.txt"}
    assert checks(case.rubric.criteria[0]) == [
        ("equals", "one\ntwo\n", there),
        ("contains", "one", there),
        ("not-contains", "three", there),
        ("contains", "two", there),
    ]
    assert (
        "snapshot"
        in wrong(
            TASK,
            put(
                tmp_path,
                f"{TASK_TEXT}graders: [{{name: g, type: diff, config: {{expected_files: [{{path: a}}]}}}}]",
            ),
        )[0]
    )
