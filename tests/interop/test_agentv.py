"""AgentV files: every dialect is read as AgentV means it, and what is wrong or lost is named with
its place.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from reading import without_losses

from honestone.core.errors import FileError, UsageError
from honestone.core.judging.ballot import CHECK, Ballot, Mark
from honestone.core.judging.rubric import Criterion, Rubric
from honestone.core.judging.scorecard import Outcome, Verdict, judge_gate
from honestone.core.judging.scorer import Scorer
from honestone.core.suite.case import AttemptRule, Case, CaseWorkspace, Message, Split
from honestone.formats.project import reading_for
from honestone.formats.source import SourceErrors, SuiteSource
from honestone.formats.syntax.document import Document
from honestone.interop.agentv.read import READERS
from honestone.interop.environment import named_variables
from honestone.interop.recognise import read_any_rubric, read_any_suite, recognise


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def read(folder: Path, text: str, name: str = "x.yaml") -> SuiteSource:
    (folder / name).write_text(text, encoding="utf-8")
    return read_any_suite(folder / name)


def only(source: SuiteSource) -> Case:
    (case,) = source.suite.cases
    return case


def wrong(folder: Path, text: str, name: str = "x.yaml") -> list[UsageError]:
    with pytest.raises(UsageError) as caught:
        without_losses(read(folder, text, name))
    found = caught.value
    return list(found.errors) if isinstance(found, SourceErrors) else [found]


def verdict(rubric: Rubric, answers: dict[str, Any]) -> tuple[Fraction | None, Verdict]:
    """One judge's answers by criterion (checks among them)."""
    by_code = {key for key, item in rubric.questions() if item.check is not None}
    marks = {(id, id): Mark(answer) for id, answer in answers.items()}
    ballots = [
        Ballot(judge=CHECK, marks={k: m for k, m in marks.items() if k in by_code}),
        Ballot(judge="j", marks={k: m for k, m in marks.items() if k not in by_code}),
    ]
    card = Scorer(rubric).card([b for b in ballots if b.marks])
    return card.score, judge_gate(card, rubric)


def leaf(rubric: Rubric, id: str) -> Criterion:
    return next(criterion for criterion, _ in rubric.walk() if criterion.id == id)


PAGE = """
execution:
  evaluators:
    - name: quality
      type: rubric
      rubrics:
        - {id: names-cause, expected_outcome: Says the cause, weight: 3.0, required: true}
        - {id: names-fix, expected_outcome: Says the fix}
        - {id: care, expected_outcome: Careful, weight: 2, score_ranges: {0: sloppy, 5: fair, 8: good}}
evalcases:
  - id: one
    expected_outcome: Useful
    input: [{role: system, content: Be brief}, {role: user, content: Why?}]
"""


def test_the_page_is_read_with_its_defaults(folder: Path) -> None:
    """The documented page: a criterion is required only where it says so, and that choice is told."""
    source = read(folder, PAGE)
    case = only(source)
    assert source.dialect == "agentv-seed"
    assert any("`required` is false" in note for note in source.notes)
    assert [c.id for c, _ in case.rubric.walk()] == ["quality", "names-cause", "names-fix", "care"]
    assert (leaf(case.rubric, "names-cause").required, leaf(case.rubric, "names-fix").required) == (
        True,
        False,
    )
    assert (case.rubric.threshold, case.rubric.floor) == (Fraction(80, 100), 0)
    assert case.messages == (Message("system", "Be brief"), Message("user", "Why?"))
    assert case.reference == "Useful"
    assert not source.losses


def test_the_weighted_mean_and_the_scale_are_the_page_s(folder: Path) -> None:
    """3 of weight 3, 0 of weight 1 and 7.5 of 10 of weight 2 make (3 + 1.5) / 6, and 10 is the top
    of the scale.
    """
    rubric = only(read(folder, PAGE)).rubric
    score, _ = verdict(rubric, {"names-cause": True, "names-fix": False, "care": 7.5})
    assert score == Fraction(45, 60)
    anchors = leaf(rubric, "care").items[0].anchors
    assert anchors is not None
    assert [int(value) for value, _ in anchors.levels] == [0, 5, 8, 10]
    assert anchors.levels[-1][1] == "good"


def test_a_required_criterion_fails_the_case_whatever_the_mean(folder: Path) -> None:
    """A failed required criterion among passing checks fails the case and is named (the tool let
    0.818 pass).
    """
    text = """
tests:
  - id: mix
    criteria: good
    input: q
    assertions:
      - {type: contains, value: one}
      - {type: contains, value: two}
      - {type: contains, value: three}
      - type: rubrics
        criteria:
          - {id: must, outcome: m, required: true, weight: 2}
          - {id: may, outcome: o, weight: 10, required: false}
"""
    rubric = only(read(folder, text)).rubric
    score, outcome = verdict(
        rubric,
        {"contains": True, "contains-2": True, "contains-3": True, "must": False, "may": True},
    )
    assert score is not None
    assert score > rubric.threshold
    assert outcome.outcome is Outcome.FAIL
    assert any("must" in reason for reason in outcome.reasons)


@pytest.mark.parametrize(
    ("written", "dialect", "required"),
    [
        (
            "evalcases: [{id: a, expected_outcome: g, input: q, rubrics: [{expected_outcome: x}]}]",
            "agentv-seed",
            False,
        ),
        (
            "evalcases: [{id: a, expected_outcome: g, input_messages: [{role: user, content: q}], rubrics: [x]}]",
            "agentv-2",
            True,
        ),
        (
            "dataset: d\nevalcases: [{id: a, expected_outcome: g, input: q, rubrics: [x]}]",
            "agentv-2",
            True,
        ),
        (
            "tests: [{id: a, criteria: g, input: q, assert: [{type: rubrics, criteria: [x]}]}]",
            "agentv-2",
            True,
        ),
        (
            "tests: [{id: a, criteria: g, input: q, assertions: [{type: rubrics, criteria: [x]}]}]",
            "agentv-4",
            True,
        ),
        (
            "prompts: ['{{input}}']\ntests: [{id: a, vars: {input: q}, assert: [{type: llm-rubric, value: [x]}]}]",
            "agentv-5",
            True,
        ),
        (
            "prompts: ['{{input}}']\ntests: [{id: a, vars: {input: q}, assert: [x]}]",
            "agentv-5",
            True,
        ),
    ],
)
def test_the_dialect_is_told_by_content_and_sets_required(
    folder: Path, written: str, dialect: str, required: bool
) -> None:
    """The names a file uses say which dialect it is; the same criterion is required in AgentV's own
    and not on the page.
    """
    source = read(folder, written, name="whatever.txt.yaml")
    assert source.dialect == dialect
    assert leaf(only(source).rubric, "x").required is required
    assert any(dialect in note for note in source.notes)


def test_what_the_file_and_the_case_ask_stand_side_by_side(folder: Path) -> None:
    """Shared graders and a case's own rubrics are groups of equal weight; a case without its own
    has only the shared.
    """
    text = """
execution:
  evaluators:
    - {name: shared, type: rubric, rubrics: [{id: tone, expected_outcome: Kind tone}]}
evalcases:
  - {id: both, expected_outcome: g, input: hi, rubrics: [Greets, Smiles]}
  - {id: plain, expected_outcome: g, input: hi}
"""
    source = read(folder, text)
    both, plain = source.suite.cases
    assert [c.id for c in both.rubric.criteria] == ["rubrics", "shared"]
    assert verdict(both.rubric, {"greets": True, "smiles": False, "tone": True})[0] == Fraction(
        3, 4
    )
    assert [c.id for c, _ in plain.rubric.walk()] == ["shared", "tone"]


def test_a_case_s_evaluators_stand_in_place_of_the_file_s_in_2_5_and_beside_them_later(
    folder: Path,
) -> None:
    """`evalcases` lets a case override the file's graders; `tests` puts them one after another,
    unless it skips them.
    """
    old = """
execution: {evaluators: [{name: all, type: rubric, rubrics: [{id: a, expected_outcome: A}]}]}
evalcases:
  - {id: own, expected_outcome: g, input: q, execution: {evaluators: [{name: mine, type: rubric, rubrics: [{id: b, expected_outcome: B}]}]}}
"""
    assert [c.id for c in only(read(folder, old)).rubric.criteria] == ["mine"]
    new = """
assertions: [{name: all, type: contains, value: a}]
tests:
  - {id: own, criteria: g, input: q, assertions: [{name: mine, type: contains, value: b}]}
  - {id: bare, criteria: g, input: q, execution: {skip_defaults: true}, assertions: [{name: mine, type: contains, value: b}]}
"""
    own, bare = read(folder, new).suite.cases
    assert [c.id for c in own.rubric.criteria] == ["mine", "all"]
    assert [c.id for c in bare.rubric.criteria] == ["mine"]


def test_floors_of_a_criterion_come_from_either_scale(folder: Path) -> None:
    """`required_min_score: 8` of 10 and `min_score: 0.8` of 1 are the same floor; 7 misses it, 8
    meets it.
    """
    for key, value in (("required_min_score", "8"), ("min_score", "0.8")):
        text = f"evalcases: [{{id: a, expected_outcome: g, input: q, rubrics: [{{id: c, {key}: {value}, score_ranges: {{0: bad, 10: good}}}}]}}]"
        rubric = only(read(folder, text)).rubric
        assert leaf(rubric, "c").floor == Fraction(8, 10)
        assert verdict(rubric, {"c": 7})[1].outcome is Outcome.FAIL
        assert verdict(rubric, {"c": 8})[1].outcome is Outcome.PASS


def test_required_with_ranges_means_ten_in_agentv_two(folder: Path) -> None:
    """`required: true` beside score ranges: above 0 on the page, all of 10 in AgentV 2."""
    text = "evalcases: [{id: a, expected_outcome: g, %s, rubrics: [{id: c, required: true, score_ranges: {0: bad, 10: good}}]}]"
    page = leaf(only(read(folder, text % "input: q")).rubric, "c")
    two = leaf(only(read(folder, text % "input_messages: [{role: user, content: q}]")).rubric, "c")
    assert (page.required, page.floor) == (True, None)
    assert (two.required, two.floor) == (False, 1)


def test_bands_are_levels_at_their_lower_ends(folder: Path) -> None:
    """The list form of score ranges gives a level at each band's start and the top at 10."""
    bands = "[{score_range: [0, 3], outcome: bad}, {score_range: [4, 7], outcome: fair}, {score_range: [8, 10], outcome: good}]"
    text = f"tests: [{{id: a, criteria: g, input: q, assertions: [{{type: rubrics, criteria: [{{id: c, outcome: x, score_ranges: {bands}}}]}}]}}]"
    anchors = leaf(only(read(folder, text)).rubric, "c").items[0].anchors
    assert anchors is not None
    assert [(int(v), t) for v, t in anchors.levels] == [
        (0, "bad"),
        (4, "fair"),
        (8, "good"),
        (10, "good"),
    ]


@pytest.mark.parametrize(
    ("ranges", "says"),
    [
        ("{3: poor, 10: good}", "must start at 0"),
        ("{0: bad, 11: good}", "`11` is not a score"),
        ("{0: bad, 5.5: good}", "`5.5` is not a score"),
        ("{0: bad, five: good}", "`five` is not a score"),
        ("{0: bad, 10: ''}", "says nothing at 10"),
        ("{}", "is empty"),
        (
            "[{score_range: [0, 4], outcome: a}, {score_range: [6, 10], outcome: b}]",
            "leave a gap at 5",
        ),
        ("[{score_range: [0, 5], outcome: a}, {score_range: [5, 10], outcome: b}]", "overlap at 5"),
        ("[{score_range: [0, 9], outcome: a}]", "end at 9"),
        ("[{score_range: [0, ten], outcome: a}]", "two whole numbers"),
        ("great", "must be a mapping"),
    ],
)
def test_score_ranges_that_are_wrong_are_refused_in_place(
    folder: Path, ranges: str, says: str
) -> None:
    """A scale that does not cover 0-10 is an error at its line, never repaired in silence."""
    text = f"evalcases:\n  - id: a\n    expected_outcome: g\n    input: q\n    rubrics:\n      - {{id: c, expected_outcome: x, score_ranges: {ranges}}}\n"
    errors = wrong(folder, text)
    assert any(says in error.message for error in errors)
    assert all((error.place or "").startswith(f"{folder / 'x.yaml'}:6:") for error in errors)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("expected_outcome: Says the fix", "weight: 1", 8, "has no text"),
        ("weight: 3.0", "wight: 3.0", 7, "unknown key `wight`"),
        ("weight: 3.0", "weight: -3", 7, "`weight` is -3"),
        ("weight: 3.0", "weight: heavy", 7, "must be a number"),
        ("required: true", "required: sometimes", 7, "must be true or false"),
        ("type: rubric", "type: rubrix", 5, "is not a type of grader"),
        ("id: one", "idd: one", 11, "unknown key `idd`"),
        ("id: one", "name: one", 11, "`id` is missing"),
        ("role: system, ", "", 13, "`content`"),
    ],
)
def test_mistakes_are_named_with_their_line(
    folder: Path, old: str, new: str, line: int, says: str
) -> None:
    """A criterion without text, an unknown key, a wrong value: each an error with file and line,
    nothing is dropped.
    """
    if says == "`content`":
        old, new = "content: Why?", "contents: Why?"
    errors = wrong(folder, PAGE.replace(old, new))
    assert any(says in e.message and f"x.yaml:{line}:" in (e.place or "") for e in errors), [
        (e.place, e.message) for e in errors
    ]


def test_every_mistake_is_told_at_once_in_order(folder: Path) -> None:
    """Two mistakes are two errors, in the order of the file."""
    errors = wrong(
        folder, PAGE.replace("weight: 3.0", "wight: 3").replace("id: one", "id: one\n    foo: 1")
    )
    assert [e.message for e in errors] == [
        "unknown key `wight` in a criterion",
        "unknown key `foo` in a case",
    ]
    assert "weight" in (errors[0].hint or "")


def test_a_doubled_id_and_a_file_without_cases_are_refused(folder: Path) -> None:
    """Two cases of one id, or no case at all, are errors with a place."""
    doubled = wrong(folder, PAGE + "  - {id: one, expected_outcome: g, input: q}\n")
    assert "two cases have the id `one`" in doubled[0].message
    assert "x.yaml:14:" in (doubled[0].place or "")
    none = wrong(folder, PAGE[: PAGE.index("evalcases")])
    assert "no cases" in none[0].message
    assert "x.yaml:" in (none[0].place or "")


def test_a_goal_alone_is_marked_from_nothing_to_all(folder: Path) -> None:
    """Without graders one judge marks the goal 0-1; it is not shown twice."""
    case = only(
        read(folder, "tests: [{id: a, criteria: Be kind, input: q, expected_output: Hello}]")
    )
    (criterion,) = case.rubric.criteria
    assert (criterion.id, criterion.requirement, case.reference) == (
        "llm-grader",
        "Be kind",
        "Hello",
    )
    assert verdict(case.rubric, {"llm-grader": 0.85})[0] == Fraction(85, 100)
    assert (
        "nothing to judge" in wrong(folder, "tests: [{id: a, input: q, execution: {}}]")[0].message
    )


def test_goal_and_answer_are_both_shown_beside_graders(folder: Path) -> None:
    """A judge of a rubric is shown the case's goal and its reference answer, as in AgentV."""
    case = only(
        read(
            folder,
            "tests: [{id: a, criteria: Be kind, input: q, expected_output: {mood: 1}, assertions: [{type: is-json}]}]",
        )
    )
    assert case.reference is not None
    assert "Be kind" in case.reference
    assert '"mood": 1' in case.reference


def test_strings_among_assertions_are_one_rubric_that_counts_as_many(folder: Path) -> None:
    """Two strings and a check: each of the three counts a third."""
    text = "prompts: ['{{ input }}']\ntests: [{id: a, vars: {input: q}, assert: [Is kind, {type: contains, value: x}, Is short]}]"
    rubric = only(read(folder, text)).rubric
    assert [(c.id, c.weight) for c in rubric.criteria] == [("llm-rubric", 2), ("contains", 1)]
    assert verdict(rubric, {"is-kind": True, "is-short": False, "contains": True})[0] == Fraction(
        2, 3
    )


def test_text_checks_become_ours(folder: Path) -> None:
    """Each deterministic grader is the check of its name; `negate` and `not-` turn it round."""
    graders = [
        {"type": "contains", "value": "a"},
        {"type": "icontains_any", "value": ["a", "b"]},
        {"type": "contains-all", "value": ["a", "b"], "negate": True},
        {"type": "not-equals", "value": " 4 "},
        {"type": "regex", "value": "(?<n>a)b", "flags": "gi", "required": True},
        {"type": "is_json", "weight": 2},
        {"type": "starts-with", "value": "Dear"},
    ]
    case = {"id": "a", "criteria": "g", "input": "q", "assertions": graders}
    rubric = only(read(folder, json.dumps({"tests": [case]}))).rubric
    checks = [item.check for _, item in rubric.questions()]
    assert [(c.name, c.value) for c in checks if c] == [
        ("contains", "a"),
        ("icontains-any", ["a", "b"]),
        ("not-contains-all", ["a", "b"]),
        ("not-equals", "4"),
        ("regex", {"pattern": "(?P<n>a)b", "flags": "i"}),
        ("is-json", True),
        ("starts-with", "Dear"),
    ]
    assert rubric.criteria[4].required
    assert rubric.criteria[5].weight == 2


def test_a_bad_pattern_is_refused_in_place(folder: Path) -> None:
    """A pattern that cannot be compiled is an error where it stands, not at the first run."""
    text = "tests: [{id: a, criteria: g, input: q, assertions: [{type: regex, value: '('}]}]"
    assert "not a valid pattern" in wrong(folder, text)[0].message


def test_programs_limits_and_tool_calls_become_checks(folder: Path) -> None:
    """Code graders, latency, cost, tokens and trajectories are checks of our kinds."""
    text = """
tests:
  - id: a
    criteria: g
    input: q
    assertions:
      - {name: prog, type: code-grader, command: "python 'my check.py'", min_score: 0.6, required: true}
      - {type: latency, threshold: 2000}
      - {type: cost, budget: 0.1}
      - {type: token-usage, max_total: 100}
      - {name: both, type: execution-metrics, max_tokens: 9, max_duration_ms: 5, max_tool_calls: 3, max_llm_calls: 4}
      - {name: counts, type: tool_trajectory, mode: any_order, minimums: {search: 2, save: 1}}
      - {name: order, type: tool-trajectory, mode: in_order, expected: [{tool: search, args: {q: x}}, {tool: save, args: any}]}
      - {type: not-skill-used, value: triage}
"""
    source = read(folder, text)
    found = {c.id: c for c in only(source).rubric.criteria}
    checks = {id: c.items[0].check for id, c in found.items() if c.items}
    prog = checks["prog"]
    assert prog is not None
    assert (prog.kind, prog.value, dict(prog.options)) == (
        "grader",
        ["python", "my check.py"],
        {"scored": True, "takes_text": True},
    )
    assert (found["prog"].required, found["prog"].floor) == (False, Fraction(6, 10))
    assert [
        (c.kind, c.value) for id in ("latency", "cost", "token-usage") if (c := checks[id])
    ] == [
        ("latency", 2000),
        ("cost", 0.1),
        ("tokens", {"total": 100}),
    ]
    assert {c.id for c in found["both"].children} == {
        "max_tokens",
        "max_duration_ms",
        "max_tool_calls",
        "max_llm_calls",
    }
    assert [
        (c.id, c.items[0].check.value) for c in found["counts"].children if c.items[0].check
    ] == [
        ("search", {"search": {"min": 2}}),
        ("save", {"save": {"min": 1}}),
    ]
    order = checks["order"]
    assert order is not None
    assert order.value == [{"tool": "search", "arguments": {"q": "x"}}, {"tool": "save"}]
    assert dict(order.options) == {"mode": "in_order", "args": "exact"}
    skill = checks["not-skill-used"]
    assert skill is not None
    assert (skill.kind, skill.negated) == ("skill-loaded", True)
    assert not source.losses


def test_fields_are_compared_one_by_one(folder: Path) -> None:
    """Each field is a weighted criterion with its expected value; one without an expected value is
    told.
    """
    text = """
tests:
  - id: a
    criteria: g
    input: q
    expected_output: {total: 12.5, who: {name: Ann}}
    assertions:
      - name: fields
        type: field-accuracy
        fields:
          - {path: total, match: numeric_tolerance, tolerance: 0.1, weight: 3}
          - {path: who.name, match: exact}
          - {path: gone, match: exact}
"""
    source = read(folder, text)
    (group,) = only(source).rubric.criteria
    assert [(c.id, c.weight) for c in group.children] == [("total", 3), ("who.name", 1)]
    first = group.children[0].items[0].check
    assert first is not None
    assert first.value == {
        "fields": [
            {"path": "total", "expected": 12.5, "match": "numeric_tolerance", "tolerance": 0.1}
        ]
    }
    assert any("expected value" in note for note in source.notes)


def test_groups_nest_with_their_weights_and_thresholds(folder: Path) -> None:
    """`composite` weighs its members by name, `assert-set` has a threshold: a floor of the group."""
    two = """
evalcases:
  - id: a
    expected_outcome: g
    input: q
    execution:
      evaluators:
        - name: gate
          type: composite
          evaluators:
            - {name: safe, type: llm_judge, prompt: Is it safe?}
            - {name: good, type: llm_judge, prompt: Is it good?}
          aggregator: {type: weighted_average, weights: {safe: 0.3, good: 0.7}}
"""
    rubric = only(read(folder, two)).rubric
    assert [(c.id, c.weight, c.requirement) for c in rubric.criteria[0].children] == [
        ("safe", Fraction(3, 10), "Is it safe?"),
        ("good", Fraction(7, 10), "Is it good?"),
    ]
    assert verdict(rubric, {"safe": 1, "good": 0})[0] == Fraction(3, 10)
    five = """
prompts: ["{{ input }}"]
tests:
  - id: a
    vars: {input: q}
    assert:
      - {metric: flexible, type: assert-set, threshold: 0.5, assert: [{metric: x, type: llm-rubric, value: X}, {type: contains, value: y}]}
"""
    (group,) = only(read(folder, five)).rubric.criteria
    assert (group.id, group.floor, [c.id for c in group.children]) == (
        "flexible",
        Fraction(1, 2),
        ["x", "contains"],
    )


def test_a_group_put_together_by_code_is_a_loss_with_its_place(folder: Path) -> None:
    """An aggregator that is a program or a model cannot be said: a loss that names the line; the
    rest is read.
    """
    text = """
evalcases:
  - id: a
    expected_outcome: g
    input: q
    execution:
      evaluators:
        - name: gate
          type: composite
          evaluators: [{name: x, type: llm_judge, prompt: X?}]
          aggregator:
            type: code_judge
            path: node gate.js
        - {name: far, type: similar, value: hello}
        - {name: web, type: webhook, value: "https://x"}
        - {name: own, type: my-assertion}
"""
    source = read(folder, text)
    assert [int(loss.place.split(":")[-2]) for loss in source.losses] == [12, 14, 15, 16]
    assert [c.id for c in only(source).rubric.criteria] == ["gate"]


def test_a_case_of_which_every_grader_is_lost_is_skipped_never_passed(folder: Path) -> None:
    """With `--accept-loss` such a case must not be judged by something nobody wrote."""
    source = read(
        folder, "tests: [{id: a, criteria: g, input: q, assertions: [{type: webhook, value: u}]}]"
    )
    assert only(source).skip is not None
    assert source.losses


def test_operators_and_negation_are_kept(folder: Path) -> None:
    """`correctness` and `contradiction` change the question; `negate` turns a judge's mark round."""
    text = """
tests:
  - id: a
    criteria: g
    input: q
    assertions:
      - name: facts
        type: rubrics
        criteria: [{id: up, operator: correctness, outcome: Sales rose}, {id: down, operator: contradiction, outcome: Costs fell}]
      - {name: rude, type: llm-grader, prompt: Is it rude?, negate: true}
"""
    rubric = only(read(folder, text)).rubric
    assert leaf(rubric, "up").requirement != leaf(rubric, "down").requirement.replace(
        "Costs fell", "Sales rose"
    )
    assert leaf(rubric, "down").requirement.endswith("Costs fell")
    assert verdict(rubric, {"up": True, "down": True, "rude": 0.25})[0] == Fraction(7, 8)


def test_required_graders_have_their_cut_as_floor(folder: Path) -> None:
    """`required: true` asks for the grader's `min_score`, else the case's threshold; a number is
    the cut itself.
    """
    graders = "[{name: a, type: llm-grader, prompt: A, required: true}, {name: b, type: llm-grader, prompt: B, required: 0.4}, {name: c, type: llm-grader, prompt: C, required: true, min_score: 0.3}]"
    text = f"execution: {{threshold: 0.6}}\ntests: [{{id: t, criteria: g, input: q, assertions: {graders}}}]"
    rubric = only(read(folder, text)).rubric
    assert rubric.threshold == Fraction(6, 10)
    assert [c.floor for c in rubric.criteria] == [Fraction(6, 10), Fraction(4, 10), Fraction(3, 10)]


def test_prompt_files_are_read_beside_the_file(folder: Path) -> None:
    """A prompt file's text is what is asked, with names for what a judge sees anyway; a program is
    a loss.
    """
    (folder / "ask.md").write_text(
        "Judge {{output}} for {{input}}. Aim: {{criteria}}. Tools: {{tool_calls}}\n"
    )
    text = "tests: [{id: t, criteria: Be kind, input: q, assertions: [{name: a, type: llm-grader, prompt: file://ask.md}, {name: b, type: llm-grader, prompt: ask.ts}, {name: c, type: llm-grader, prompt: file://gone.md}]}]"
    source = read(folder, text)
    rubric = only(source).rubric
    assert rubric.criteria[0].requirement.startswith(
        "Judge (the output) for (the input). Aim: Be kind."
    )
    assert [
        ("tool_calls" in x.message, "ask.ts" in x.message, "gone.md" in x.message)
        for x in source.losses
    ] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
    assert folder / "ask.md" in source.files


def test_a_path_that_agentv_two_takes_for_text_is_noted(folder: Path) -> None:
    """AgentV 2 takes a prompt path that leads nowhere for the prompt: ours asks by name and goal
    and says so.
    """
    text = "evalcases: [{id: t, expected_outcome: Be kind, input: q, execution: {evaluators: [{name: safety, type: llm_judge, prompt: ../prompts/safe.md}]}}]"
    source = read(folder, text)
    assert only(source).rubric.criteria[0].requirement == "safety: Be kind"
    assert any("safe.md" in note and "x.yaml:1:" in note for note in source.notes)
    assert not source.losses


def test_input_files_and_blocks_become_part_of_the_input(folder: Path) -> None:
    """Text and file blocks and `input_files` are one message; a file that is not there is left out,
    with a note, as AgentV does.
    """
    (folder / "data.csv").write_text("a,b\n1,2\n")
    text = """
tests:
  - id: blocks
    criteria: g
    input: [{role: user, content: [{type: file, value: data.csv}, {type: text, value: Sum it}]}]
  - {id: files, criteria: g, input: Sum it, input_files: [data.csv]}
  - {id: gone, criteria: g, input: Sum it, input_files: [gone.csv]}
"""
    source = read(folder, text)
    blocks, files, gone = source.suite.cases
    assert blocks.input == files.input
    assert "1,2" in blocks.input
    assert blocks.input.endswith("Sum it")
    assert gone.input == "Sum it" and not source.losses
    assert [":7:" in note for note in source.notes if "`gone.csv` is not there" in note] == [True]


def test_images_of_an_input_are_given_to_models(folder: Path) -> None:
    """Next to the file, at an address or as a data URL; one that is not there is left out, and what
    models do not take is a loss.
    """
    data = b"\x89PNG\r\n\x1a\n\0"
    (folder / "dot.png").write_bytes(data)
    (folder / "text.png").write_text("no image")

    def asked(value: str) -> SuiteSource:
        blocks = f"[{{type: text, value: How many?}}, {{type: image, value: '{value}'}}]"
        return read(
            folder, f"tests: [{{id: a, criteria: g, input: [{{role: user, content: {blocks}}}]}}]"
        )

    source = asked("dot.png")
    assert [image.data for image in only(source).images] == [
        data
    ] and folder / "dot.png" in source.files
    (there,) = only(asked("https://pictures.test/dot.png")).images
    assert there.path == "https://pictures.test/dot.png"
    assert [image.data for image in only(asked("data:image/png;base64,iVBORw0KGgoA")).images] == [
        data
    ]
    gone = asked("gone.png")
    assert (
        only(gone).input == "How many?"
        and not gone.losses
        and any("`gone.png`" in note for note in gone.notes)
    )
    for odd in (
        "text.png",
        "data:image/svg+xml;base64,PHN2Zz4=",
        "https://pictures.test/a dot.png",
    ):
        source = asked(odd)
        assert [f"`{odd}`" in loss.message for loss in source.losses] == [True]
        assert "base64" not in only(source).input


def test_images_of_an_expected_output_are_lost(folder: Path) -> None:
    """Judges read the reference as text, so its image is not put in as a long line of letters."""
    (folder / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    said = "[{role: assistant, content: [{type: text, value: Like this}, {type: image, value: dot.png}]}]"
    source = read(folder, f"tests: [{{id: a, criteria: g, input: q, expected_output: {said}}}]")
    assert ["expected output" in loss.message for loss in source.losses] == [True]
    reference = only(source).reference or ""
    assert "Like this" in reference and "base64" not in reference


def test_an_input_file_that_cannot_be_read_is_a_loss(folder: Path) -> None:
    """A file that is there and is not text would be left out in another way than in AgentV."""
    (folder / "data.bin").write_bytes(b"\0\1\xff")
    (folder / "loop").symlink_to(folder / "loop")
    for name in ("data.bin", "loop"):
        source = read(
            folder, f"tests: [{{id: a, criteria: g, input: Sum it, input_files: [{name}]}}]"
        )
        assert [f"`{name}`" in loss.message for loss in source.losses] == [True]


def test_prompts_are_filled_with_the_case_s_variables(folder: Path) -> None:
    """A prompt with several variables is filled once; one that asks for a variable the case lacks
    is an error.
    """
    text = "prompts: ['Pack for {{ days }} days of {{weather}}']\ntests:\n  - {id: a, vars: {days: 3, weather: '{{days}}'}, assert: [ok]}\n"
    assert only(read(folder, text)).input == "Pack for 3 days of {{days}}"
    errors = wrong(folder, text.replace("days: 3, ", ""))
    assert "`days`" in errors[0].message
    assert "x.yaml:3:" in (errors[0].place or "")


def test_running_is_read_where_it_can_be_said(folder: Path) -> None:
    """Repeats, time limits, concurrency, tags and splits; a confidence interval is a loss."""
    text = """
name: runs
prompts: ["{{ input }}"]
providers: ["openai:gpt-5"]
evaluate_options: {repeat: {count: 3, strategy: pass_all, early_exit: true}, max_concurrency: 4, timeout_ms: 1500}
tests:
  - {id: a, vars: {input: q}, assert: [ok], metadata: {tags: [x, y], split: val, owner: me}}
  - {id: b, vars: {input: q}, assert: [ok], run: {repeat: 2, timeout_seconds: 9, threshold: 0.5}}
"""
    source = read(folder, text)
    a, b = source.suite.cases
    assert (source.suite.title, source.suite.concurrency, source.suite.target.use) == (
        "runs",
        4,
        "openai:gpt-5",
    )
    assert (a.attempts, a.attempt_rule, a.timeout) == (3, AttemptRule.PASS_HAT_K, 1.5)
    assert (a.tags, a.split, a.metadata) == (("x", "y"), Split.VAL, {"owner": "me"})
    assert (b.attempts, b.attempt_rule, b.timeout, b.rubric.threshold) == (
        2,
        AttemptRule.PASS_AT_K,
        9.0,
        Fraction(1, 2),
    )
    early = read(
        folder,
        "evaluate_options: {repeat: {count: 3, early_exit: true}}\ntests: [{id: a, criteria: g, input: q}]",
    )
    assert (a.stops_at_pass, only(early).stops_at_pass) == (False, True)
    lossy = read(
        folder,
        "execution: {trials: {count: 3, strategy: confidence_interval}}\ntests: [{id: a, criteria: g, input: q}]",
    )
    assert "confidence" in lossy.losses[0].message


def test_workspaces_and_hooks(folder: Path) -> None:
    """A template is copied, hooks are setup and teardown of each case."""
    text = """
workspace:
  template: ./seed
  hooks:
    before_each: {command: [node, "{{workspace_path}}/setup.mjs"], timeout_ms: 1000}
    after_all: {command: "rm -rf tmp"}
tests: [{id: a, criteria: g, input: q}]
"""
    case = only(read(folder, text))
    assert case.workspace == CaseWorkspace(copy="./seed")
    assert (case.setup, case.teardown) == (("node ./setup.mjs",), ("rm -rf tmp",))


def test_an_included_file_of_graders_is_read(folder: Path) -> None:
    """`include` brings graders from another file; its mistakes have that file's place."""
    (folder / "shared.yaml").write_text("assert:\n  - {type: contains, value: x}\n")
    text = "tests: [{id: a, criteria: g, input: q, assertions: [{include: ./shared.yaml}]}]"
    assert [c.id for c in only(read(folder, text)).rubric.criteria] == ["contains"]
    (folder / "shared.yaml").write_text("assert:\n  - {type: contains, valeu: x}\n")
    assert any("shared.yaml:2:" in (e.place or "") for e in wrong(folder, text))
    (folder / "shared.yaml").write_text("assert:\n  - {include: ./shared.yaml}\n")
    assert "deeper" in wrong(folder, text)[0].message


def test_json_lines_are_cases_with_the_file_beside_them(folder: Path) -> None:
    """Each row is a case; the YAML of the same stem says what holds for all; named alone it points
    to the rows.
    """
    rows = [
        {"id": "a", "expected_outcome": "Kind", "input": "q"},
        {"id": "b", "expected_outcome": "Short", "input": "r", "rubrics": ["Is short"]},
    ]
    (folder / "d.yaml").write_text(
        "dataset: both\nexecution: {evaluators: [{name: all, type: rubric, rubrics: [{id: tone, expected_outcome: Tone}]}]}\n"
    )
    text = "\n".join(map(json.dumps, rows)) + "\n"
    source = read(folder, text, "d.jsonl")
    assert [[c.id for c in case.rubric.criteria] for case in source.suite.cases] == [
        ["all"],
        ["rubrics", "all"],
    ]
    assert source.suite.title == "both"
    assert source.places["b"].startswith(f"{folder / 'd.jsonl'}:2:")
    with pytest.raises(UsageError, match="has none itself") as alone:
        read_any_suite(folder / "d.yaml")
    assert "d.yaml:1:" in (alone.value.place or "")
    assert "d.jsonl" in (alone.value.hint or "")
    rows[1]["rubrisc"] = ["x"]
    errors = wrong(folder, "\n".join(map(json.dumps, rows)), "d.jsonl")
    assert "d.jsonl:2:" in (errors[0].place or "")


def test_cases_in_files_of_their_own(folder: Path) -> None:
    """`tests` may name files of cases, YAML or JSON lines; one that is missing is an error with a
    place.
    """
    (folder / "more.jsonl").write_text('{"id": "b", "criteria": "g", "input": "q"}\n')
    (folder / "list.yaml").write_text("- {id: c, criteria: g, input: q}\n")
    text = "assertions: [{type: is-json}]\ntests:\n  - {id: a, criteria: g, input: q}\n  - file://more.jsonl\n  - file://list.yaml\n"
    assert [case.id for case in read(folder, text).suite.cases] == ["a", "b", "c"]
    (folder / "more.jsonl").unlink()
    errors = wrong(folder, text)
    assert "x.yaml:4:" in (errors[0].place or "")


def test_a_targets_file_is_no_suite(folder: Path) -> None:
    """A list of targets says what it is, with its place; its targets are offered as `--target`
    takes them.
    """
    text = """
targets:
  - name: mine
    provider: cli
    grader_target: judge
    command: python agent.py --id {EVAL_ID} {PROMPT_FILE} {FILES} -o {OUTPUT_FILE}
    timeout_seconds: 30
    cwd: ..
  - {name: judge, provider: openai, model: gpt-5}
  - {name: cloud, provider: azure, model: "${{ NAME }}"}
  - {name: cc, provider: claude-code}
  - {id: new, provider: cli, config: {command: [python, a b.py], timeout_ms: 500}}
"""
    (error,) = wrong(folder, text)
    assert "not a suite" in error.message
    assert "x.yaml:2:" in (error.place or "")
    hint = error.hint or ""
    assert (
        "`mine` (--target 'cmd:python agent.py --id {CASE_ID} {PROMPT_FILE} -o {OUTPUT_FILE}')"
        in hint
    )
    assert "`judge` (--target openai:gpt-5)" in hint
    assert "`cloud` (not known here)" in hint
    assert "`cc` (--target claude)" in hint
    assert "`new` (--target " in hint
    assert "python '\"'\"'a b.py'\"'\"''" in hint


@pytest.mark.parametrize(
    "entry",
    [
        "{provider: cli}",
        "{provider: [x]}",
        "{provider: cli, command: 3}",
        "3",
        "{name: [a], provider: null}",
    ],
)
def test_odd_targets_are_refused_like_others(folder: Path, entry: str) -> None:
    """Whatever an entry of a targets file holds, the file is refused as one, without a crash."""
    (error,) = wrong(folder, f"targets:\n  - {{provider: mock}}\n  - {entry}\n")
    assert "not a suite" in error.message


def test_grader_scores_are_expectations_of_the_suite_beside_them(folder: Path) -> None:
    """A file of ranges is its suite's cases with `expect`; the suite alone is read without."""
    (folder / "s.yaml").write_text(
        "evalcases:\n  - {id: a, expected_outcome: g, input: q, rubrics: [X]}\n  - {id: b, expected_outcome: g, input: q, rubrics: [X]}\n"
    )
    scores = "- {test_id: a, grader: rubrics, range: {min: 0.3}}\n- {test_id: a, range: {min: 0.2, max: 0.9}}\n"
    case = only(read(folder, scores, "s.grader-scores.yaml"))
    assert case.expect is not None
    assert case.expect.criteria == {"rubrics": (Fraction(3, 10), Fraction(1))}
    assert case.expect.score == (Fraction(1, 5), Fraction(9, 10))
    assert all(one.expect is None for one in read_any_suite(folder / "s.yaml").suite.cases)
    errors = wrong(
        folder, scores.replace("test_id: a, grader", "test_id: aa, grader"), "s.grader-scores.yaml"
    )
    assert "no case `aa`" in errors[0].message
    (folder / "s.yaml").unlink()
    (lone,) = wrong(folder, scores, "s.grader-scores.yaml")
    assert "s.grader-scores.yaml:1:" in (lone.place or "")


def test_an_unknown_file_is_never_an_agentv_suite(folder: Path) -> None:
    """A file of no format is refused with its place, whatever its name."""
    (error,) = wrong(folder, "shopping: [milk]\n", "suite.eval.yaml")
    assert "suite.eval.yaml:1:" in (error.place or "")


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_every_reader_s_own_example_is_recognised_and_read(folder: Path, reader: Any) -> None:
    """The example of each format on the reference page is one: its reader takes it and reads it
    without a loss.
    """
    ending = "jsonl" if reader.name == "agentv-jsonl" else "yaml"
    if reader.name == "agentv-grader-scores":
        (folder / "e.yaml").write_text(
            "evalcases: [{id: greeting, expected_outcome: g, input: q, rubrics: [x], execution: {evaluators: [{name: tone, type: rubric, rubrics: [{id: t, expected_outcome: T}]}]}}]"
        )
        ending = "grader-scores.yaml"
    path = folder / f"e.{ending}"
    path.write_text(reader.example)
    assert recognise(Document.of(path)) is reader
    if reader.name == "agentv-targets":
        assert "mine" in (wrong(folder, reader.example)[0].hint or "")
    else:
        source = read_any_suite(path) if reader.gives == "suite" else read_any_rubric(path)
        assert not getattr(source, "losses", ())
    assert reader.keys
    assert all(key.meaning for table in reader.keys for key in table.rows)


@pytest.mark.parametrize(
    "hostile",
    [
        "tests: 3",
        "tests: []",
        "tests: [3, [4]]",
        "evalcases: {a: 1}",
        "evalcases: [{id: [1], input: {a: [}]",
        "execution: 3\nevalcases: [{}]",
        "tests: [{id: a, input: q, assertions: {type: contains}}]",
        "tests: [{id: a, input: q, assertions: [[], 4, {type: 3}]}]",
        "tests: [{id: a, vars: [1], assert: [x]}]",
        "prompts: 5\ntests: [{id: a, assert: [x]}]",
        "tests: [{id: a, input: [{role: user}], assert: [x]}]",
        "tests: [{id: a, input: q, assertions: [{type: tool-trajectory, mode: x, expected: 4, minimums: [1]}]}]",
        "tests: [{id: a, input: q, assertions: [{type: trajectory:tool-sequence, value: 5}, {type: trajectory:tool-used}, {type: trajectory:tool-args-match, value: [1]}, {type: field-accuracy, fields: [3]}]}]",
        "tests: [{id: a, input: q, assertions: [{type: llm-rubric, value: {criteria: 4}}, {type: llm-rubric, prompt: [x]}]}]",
        "tests: [{id: a, input: q, assertions: [{type: composite, assertions: [], aggregator: 4}]}]",
        "tests: [{id: a, input: q, metadata: 4, workspace: [x], execution: {trials: x}}]",
        "tests: [{id: a, input: q, criteria: g, workspace: {hooks: {before_all: [1]}, repos: [3]}}]",
        'tests: [{id: a, input: q, assertions: [{type: script, command: "\'"}, {type: script, command: []}]}]',
        "default_test: {vars: 4}\ntests: [{id: a, input: q, criteria: g}]\nenvironment: {type: moon}",
    ],
)
def test_files_that_are_wrong_in_any_way_are_refused_with_a_place(
    folder: Path, hostile: str
) -> None:
    """Whatever stands where: an error with a place, or a suite with something to judge; never a
    crash.
    """
    place = ""
    try:
        assert read(folder, hostile).suite.cases
    except (UsageError, FileError) as error:
        place = error.place or "nowhere"
    assert not place or "x.yaml:" in place


# ------------------------------------------------------------------------------------------------------
# templates

TEMPLATES = """\
name: t
prompts: ["{{ input }}"]
default_test: {vars: {who: fern}}
tests:
  - id: a
    vars:
      input: 'say {{ env.HS_WORD | default("tulip") }}, {{ vars.more }} and {{ vars.who }}'
      more: moss
      expected_output: "{{ env.HS_WORD | default('tulip') }}"
    assert:
      - {type: contains, value: '{{ env.HS_WORD | default("tulip") }} {{ more }} {{ vars.more }}'}
      - 'says {{ env.HS_WORD | default("tulip") }} to {{ vars.who }}'
"""


@pytest.mark.parametrize(("env", "word"), [(None, "tulip"), ("sedge", "sedge")])
def test_variables_are_filled_in_wherever_they_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch, env: str | None, word: str
) -> None:
    """Of the environment, of the case and of the default test: in input, reference, checks and
    questions.
    """
    monkeypatch.delenv("HS_WORD", raising=False)
    if env is not None:
        monkeypatch.setenv("HS_WORD", env)
    with named_variables(["HS_WORD"]):
        source = read(folder, TEMPLATES)
    case = only(source)
    assert not source.losses
    if env is not None:
        assert "named with --pass-env" in read(folder, TEMPLATES).losses[0].message
    assert (case.input, case.reference) == (f"say {word}, moss and fern", word)
    checks = [item.check.value for _, item in case.rubric.questions() if item.check is not None]
    asked = [item.requirement for _, item in case.rubric.questions() if item.check is None]
    assert (checks, asked) == ([f"{word} moss moss"], [f"says {word} to fern"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{{ env.HS_UNSET_WORD }}", "`env.HS_UNSET_WORD` is not set and has no default"),
        ("{{ env.HS_UNSET_WORD | upper }}", "`env.HS_UNSET_WORD | upper` is more than a name"),
        ("{{ env.HS_API_KEY }}", "`env.HS_API_KEY` looks like a key"),
        ("{{ vars.gone }}", "`{{ vars.gone }}` names no variable"),
        ("{{ gone }}", "`{{ gone }}` names no variable"),
    ],
)
@pytest.mark.parametrize(
    "where",
    ["input: 'T'", "input: [{role: user, content: 'T'}]", "input: q\n    expected_output: 'T'"],
)
def test_a_variable_without_a_value_is_a_loss_with_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str, where: str
) -> None:
    """Never literal in silence, and a key of the environment is never put into a text."""
    monkeypatch.setenv("HS_API_KEY", "sk-very-secret")
    here = where.replace("T", text)
    source = read(
        folder, f"tests:\n  - id: a\n    criteria: g\n    {here}\n    assertions: [Is kind]\n"
    )
    assert [says in loss.message for loss in source.losses] == [True]
    assert "sk-very-secret" not in repr(source)


def test_a_value_with_braces_is_data(folder: Path) -> None:
    """What a variable holds is not looked at again."""
    text = "tests: [{id: a, criteria: g, vars: {x: '{{ b }}', b: c}, input: 'see {{ x }}', assertions: [Is kind]}]"
    source = read(folder, text)
    assert only(source).input == "see {{ b }}" and not source.losses


def test_texts_that_grow_without_end_are_refused(folder: Path) -> None:
    """Thousands of times a long value is an error with its place, not a full memory."""
    text = f"tests:\n- id: a\n  criteria: g\n  vars: {{x: {'x' * 20_000}}}\n  input: '{'{{ vars.x }}' * 5_000}'\n"
    with pytest.raises(UsageError, match="too large"):
        read(folder, text)


# -----------------------------------------------------------------------------------------------
# parts in other files

PARTS = """\
name: t
prompts: ['{{ input }}']
default_test: file://./dt.yaml
environment: file://env.yaml
tests: ./cases/
"""


def parts(folder: Path) -> None:
    """A folder of cases, with the default test and the environment in files of their own."""
    files = {
        "dt.yaml": "threshold: 0.9\nvars: {who: fern}\nassert: [{type: contains, value: hello}]\n",
        "env.yaml": "type: host\nworkdir: ./ws\n",
        "ws/seed.txt": "seed\n",
        "cases/beta/case.yaml": "vars: {input: 'hello {{ who }}'}\nassert: [{type: contains, value: fern}]\n",
        "cases/alpha/case.yaml": "id: first\nvars: {input: bye}\nassert: [{type: contains, value: bye}]\n",
        "cases/empty/readme.md": "x\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize("name", ["./cases/", "file://./cases/", "cases"])
def test_a_folder_of_cases_and_parts_in_files_of_their_own(folder: Path, name: str) -> None:
    """Cases come in the order of their folders' names; the default test and the environment hold
    for all of them.
    """
    parts(folder)
    source = read(folder, PARTS.replace("./cases/", name))
    first, beta = source.suite.cases
    assert (first.id, beta.id) == ("first", "beta") and not source.losses
    assert any("`empty`" in note for note in source.notes)
    assert [len(case.rubric.criteria) for case in (first, beta)] == [2, 2]
    assert {case.rubric.threshold for case in (first, beta)} == {Fraction(9, 10)}
    assert beta.workspace is not None and beta.workspace.copy == "./ws"
    assert source.places["beta"].endswith("beta/case.yaml:1:1")
    names = {path.name for path in source.files}
    assert {"dt.yaml", "env.yaml", "case.yaml"} <= names


def test_what_is_wrong_in_a_part_has_its_place_there(folder: Path) -> None:
    """A part that is missing or broken, a folder without cases, and a folder that a case does not
    name.
    """
    parts(folder)
    (folder / "dt.yaml").unlink()
    assert "the file of `default_test` cannot be read" in wrong(folder, PARTS)[0].message
    parts(folder)
    (folder / "env.yaml").write_text("type: moon\n")
    assert "env.yaml:1:7" in (wrong(folder, PARTS)[0].place or "")
    parts(folder)
    assert "has a case.yaml" in wrong(folder, PARTS.replace("./cases/", "./ws/"))[0].message


def test_a_folder_of_cases_outside_of_the_project_is_not_listed(folder: Path) -> None:
    """Not even the names of what is there are shown."""
    away = folder.parent / "away" / "secretname"
    away.mkdir(parents=True)
    (away / "case.yaml").write_text("vars: {input: q}\nassert: [ok]\n")
    (folder / "honestone.toml").write_text("")
    found = wrong(folder, PARTS.replace("./cases/", "../away"))
    assert "out of the project" in found[0].message and "secretname" not in found[0].message


def test_cases_that_depend_on_others_wait_for_them(folder: Path) -> None:
    """`depends_on` is kept; with `on_dependency_failure: run` nothing is waited for; a program that
    would get results is a loss.
    """
    graded = "assertions: [{type: code-grader, command: [python3, grade.py]}]"
    text = f"""
tests:
  - {{id: a, criteria: g, input: x}}
  - {{id: b, criteria: g, input: x, depends_on: [a], on_dependency_failure: fail}}
  - {{id: c, criteria: g, input: x, depends_on: [a], on_dependency_failure: run}}
  - {{id: d, criteria: g, input: x, depends_on: [a], {graded}}}
"""
    source = read(folder, text)
    assert [case.depends_on for case in source.suite.cases] == [(), ("a",), (), ("a",)]
    assert [
        "results of the cases" in loss.message and ":6:" in loss.place for loss in source.losses
    ] == [True]


@pytest.mark.parametrize("names", ["[gone]", "[a]", "[b]", "{x: 1}", "[[a]]", "5"])
def test_dependencies_that_cannot_be_are_refused(folder: Path, names: str) -> None:
    """A case that is not there, itself, a circle, and what is not a list of ids: an error with its
    place.
    """
    text = f"""
tests:
  - {{id: a, criteria: g, input: x, depends_on: {names}}}
  - {{id: b, criteria: g, input: x, depends_on: [a]}}
"""
    with pytest.raises(UsageError) as raised:
        read(folder, text)
    assert all(
        error.place and ":" in error.place for error in raised.value.errors or (raised.value,)
    )


TARGETS = "targets:\n  - {name: default, provider: cli, command: 'cat {PROMPT_FILE}'}\n  - {name: odd, provider: odd}\n"


@pytest.mark.parametrize(
    ("name", "use"), [("default", "cmd:cat {PROMPT_FILE}"), ("odd", None), ("none", None)]
)
def test_the_target_of_a_file_is_looked_for_in_the_list_of_its_project(
    tmp_path: Path, name: str, use: str | None
) -> None:
    """From its folder up to the repository's root; what is not in it is named."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".agentv").mkdir()
    (tmp_path / ".agentv/targets.yaml").write_text(TARGETS)
    folder = tmp_path / "evals"
    folder.mkdir()
    text = "tests:\n  - {id: a, criteria: says hi, input: hi, assertions: [{type: contains, value: hi}]}\n"
    path = folder / "EVAL.yaml"
    path.write_text(f"execution: {{target: {name}}}\n{text}")
    with reading_for(path):
        source = READERS[0].read(Document.of(path))
    assert source.suite.target.use == use
    assert any("targets.yaml" in note for note in source.notes)
