"""Reading a rubric file: every way of marking, every mistake with its line, and what the lint
remarks on.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.authoring.lint import Remark
from honestone.core.errors import FileError, RubricError
from honestone.core.judging.rubric import Check, Criterion, Rubric
from honestone.formats.fields import SHAPES
from honestone.formats.findings import find
from honestone.formats.rubric.rubric_file import (
    RubricFileErrors,
    RubricSource,
    parse_rubric,
    read_rubric,
)
from property_examples import examples

BUG = """\
rubric: 1
title: A bug report
threshold: 72.5
floor: 55
criteria:
  - id: reproducible
    requirement: A stranger can reproduce the bug
    weight: 50
    required: true
    floor: 70
    items:
      - States the exact version
      - id: numbered-steps
        requirement: Gives numbered steps
        check: {regex: '(?m)^1[.)]'}
      - check: {not-contains: TODO}
      - id: runs
        requirement: The script runs
        check: {command: python repro.py, expect_exit: 1, timeout: 30}
        fix: ./make_repro.sh
  - id: tone
    requirement: Neutral tone
    weight: 25
    anchors: {0: hostile, 50: mixed, 100: factual}
  - Says who is hit
"""

RUBRIC_SHAPES = [SHAPES[name] for name in ("rubric", "criterion", "item", "level")]


def findings_of(source: RubricSource) -> list[Remark]:
    return find(source.rubric, source.marked)


def rubric(criteria: str, head: str = "rubric: 1\n") -> Rubric:
    return parse_rubric(f"{head}criteria:\n{criteria}", "r.yaml").rubric


def one(criterion: str) -> Criterion:
    (found,) = rubric(criterion).criteria
    return found


def errors(text: str) -> list[tuple[str, str, str | None]]:
    """(line:column, message, hint) of everything wrong."""
    with pytest.raises(RubricFileErrors) as caught:
        parse_rubric(text, "r.yaml")
    assert caught.value.message == caught.value.errors[0].message
    assert caught.value.place == caught.value.errors[0].place
    return [
        ((e.place or "").removeprefix("r.yaml:"), e.message, e.hint) for e in caught.value.errors
    ]


def error(criteria: str) -> tuple[str, str, str | None]:
    """The only thing wrong with these criteria; they start in line 3."""
    (only,) = errors(f"rubric: 1\ncriteria:\n{criteria}")
    return only


# ----------------------------------------------------------------------------------------------------
# what is read


def test_the_example_of_the_format() -> None:
    """A rubric with a checklist, code checks, anchors and a yes/no criterion is read as it stands."""
    source = parse_rubric(BUG, "bug.yaml")
    read = source.rubric
    assert (read.title, read.threshold, read.floor) == (
        "A bug report",
        Fraction(725, 1000),
        Fraction(55, 100),
    )
    first, tone, impact = read.criteria
    assert (first.weight, first.floor, first.required) == (50, Fraction(7, 10), True)
    assert [item.id for item in first.items] == [
        "states-the-exact-version",
        "numbered-steps",
        "does-not-contain-todo",
        "runs",
    ]
    assert first.items[2].requirement == "does not contain 'TODO'"
    assert first.items[2].check == Check(kind="contains", value="TODO", negated=True)
    assert first.items[3].check == Check(
        kind="command", value="python repro.py", options={"expect_exit": 1, "timeout": 30}
    )
    assert first.items[3].fix == "./make_repro.sh"
    assert not any(item.whole for item in first.items)
    assert tone.items[0].whole and tone.items[0].anchors is not None
    assert tone.items[0].anchors.levels == ((0, "hostile"), (50, "mixed"), (100, "factual"))
    assert (impact.id, impact.requirement, impact.weight) == (
        "says-who-is-hit",
        "Says who is hit",
        1,
    )
    assert impact.items[0].whole and impact.items[0].id == "says-who-is-hit"
    assert source.notes == ()


def test_defaults() -> None:
    """Threshold 70, floor 60, weight 1, nothing required."""
    read = rubric("  - Is short\n")
    assert (read.threshold, read.floor) == (Fraction(7, 10), Fraction(6, 10))
    assert (read.criteria[0].weight, read.criteria[0].required, read.criteria[0].floor) == (
        1,
        False,
        None,
    )


def test_own_anchors_beside_items_are_one_more_item() -> None:
    """A criterion may be marked in several ways at once; what is its own comes last and has its id."""
    read = one("  - {id: a, requirement: A, items: [x, y], anchors: {0: n, 10: y}}\n")
    assert [(i.id, i.whole, i.anchors is not None) for i in read.items] == [
        ("x", False, False),
        ("y", False, False),
        ("a", True, True),
    ]


def test_all_ways_of_marking_in_one_criterion() -> None:
    """Items, anchors and a check together: the check is an item of its own, as an item has one
    answer.
    """
    read = one("  - {id: a, requirement: A, items: [x], anchors: {0: n, 10: y}, check: is-json}\n")
    assert [(i.id, i.whole, i.check is not None) for i in read.items] == [
        ("x", False, False),
        ("a-check", False, True),
        ("a", True, False),
    ]


def test_ids_stay_as_written() -> None:
    """`off`, `no`, `1.0` and `true` are ids like any other."""
    read = rubric(
        "".join(
            f"  - {{id: {id}, requirement: R}}\n"
            for id in ("off", "no", "1.0", "true", "0x1f", "1e3")
        )
    )
    assert [c.id for c in read.criteria] == ["off", "no", "1.0", "true", "0x1f", "1e3"]


def test_long_texts_that_begin_alike_get_ids_of_their_own() -> None:
    """Two different questions are never one item, however long the words that they share."""
    start = "The answer names the function in which the error is raised and also"
    ids = [
        item.id
        for item in one(
            f"  - {{id: a, requirement: A, items: ['{start} why', '{start} how']}}\n"
        ).items
    ]
    assert len(set(ids)) == 2
    turned = [
        item.id
        for item in one(
            f"  - {{id: a, requirement: A, items: ['{start} how', '{start} why']}}\n"
        ).items
    ]
    assert turned == ids[::-1]
    assert len({c.id for c in rubric(f"  - {start} why\n  - {start} how\n").criteria}) == 2


@pytest.mark.parametrize(
    "written",
    [
        "{0: none, 10: full}",
        '{"0": none, "10": full}',
        "{10: full, 0.0: none}",
        "[{value: 0, text: none}, {score: 10, text: full}]",
    ],
)
def test_ways_to_write_anchors(written: str) -> None:
    """Levels by number or as a list, in any order."""
    item = one(f"  - {{id: a, requirement: A, anchors: {written}}}\n").items[0]
    assert item.anchors is not None
    assert item.anchors.levels == ((0, "none"), (10, "full"))


def test_ways_to_write_a_check_without_argument() -> None:
    """A bare name, true and nothing mean the same."""
    bare, true, nothing = (
        one(f"  - {{id: a, requirement: A, check: {check}}}\n").items[0].check
        for check in ("not-is-json", "{not-is-json: true}", "{not-is-json: }")
    )
    assert bare == true == nothing == Check(kind="is-json", negated=True)


def test_arguments_of_checks_are_plain_values() -> None:
    """A JSON Schema in a rubric has text keys, whatever YAML makes of them."""
    check = (
        one("  - check: {json-schema: {properties: {1: {type: object}, no: {}}}, path: '*.json'}\n")
        .items[0]
        .check
    )
    assert check is not None
    assert check.value == {"properties": {"1": {"type": "object"}, "no": {}}}
    assert check.options == {"path": "*.json"}


def test_a_check_alone_is_a_criterion() -> None:
    """Requirement and id say the check when nothing else is given."""
    read = one("  - check: {max-words: 100}\n")
    assert (read.id, read.requirement) == ("has-at-most-100-words", "has at most 100 words")
    assert read.items[0].whole and read.items[0].id == read.id


def test_trees() -> None:
    """A group needs only its id; its children are criteria like any other."""
    read = one(
        "  - id: code\n    weight: 2\n    criteria:\n      - {id: tests, requirement: T, weight: 3}\n      - Reads well\n"
    )
    assert (read.requirement, read.items) == ("code", ())
    assert [(c.id, c.weight) for c in read.children] == [("tests", 3), ("reads-well", 1)]


def test_what_may_not_apply() -> None:
    """On a checklist it holds for each item that does not say otherwise."""
    read = one(
        "  - {id: a, requirement: A, may_not_apply: true, items: [x, {requirement: y, may_not_apply: false}], check: is-json}\n"
    )
    assert [(i.id, i.may_not_apply) for i in read.items] == [("x", True), ("y", False), ("a", True)]


def test_penalties() -> None:
    """A yes/no criterion may take points away."""
    assert (
        rubric("  - Good\n  - {id: lies, requirement: Makes things up, weight: -8}\n")
        .criteria[1]
        .is_penalty
    )


def test_json_rubrics() -> None:
    """The same format in JSON."""
    text = '{"rubric": 1, "criteria": [{"id": "a", "requirement": "A", "weight": 0.1, "anchors": {"0": "n", "10": "y"}}]}'
    (read,) = parse_rubric(text, "r.json").rubric.criteria
    assert read.weight == Fraction(1, 10)
    assert read.items[0].anchors is not None and read.items[0].anchors.highest == 10


def test_a_missing_version_line_is_noted() -> None:
    """Without `rubric: 1` the file is read, and the reading says so."""
    source = parse_rubric("criteria: [Is short]\n", "r.yaml")
    assert "rubric: 1" in source.notes[0]


def test_bars_are_exact() -> None:
    """A threshold has the decimals that were written, all of them."""
    assert rubric(
        "  - a b\n", "rubric: 1\nthreshold: 69.99999999999999999999\n"
    ).threshold < Fraction(7, 10)


# ----------------------------------------------------------------------------------------------------
# mistakes


@pytest.mark.parametrize(
    ("criterion", "place", "says", "hint"),
    [
        (
            "{id: a, requirement: A, wieght: 3}",
            "3:29",
            "unknown key `wieght` in criterion `a`",
            "`weight`",
        ),
        ("{id: a, description: A}", "3:13", "unknown key `description`", "`requirement`"),
        ("{id: a, requirement: A, zzz: 3}", "3:29", "unknown key `zzz`", "`may_not_apply`"),
        (
            "{id: a, requirement: A, contains: x}",
            "3:29",
            "unknown key `contains`",
            "`check: {contains: ...}`",
        ),
        (
            "{id: a, requirement: A, weight: high}",
            "3:37",
            '`weight` of criterion `a` is "high", but must be a number',
            "relative",
        ),
        ('{id: a, requirement: A, weight: "3"}', "3:37", 'is "3"', "without quotes: 3"),
        (
            "{id: a, requirement: A, weight: true}",
            "3:37",
            "is true, but must be a number",
            "relative",
        ),
        ("{id: a, requirement: A, weight: [3]}", "3:37", "is a list", "relative"),
        ("{id: a, requirement: A, weight: }", "3:29", "has no value", "default: 1"),
        ("{id: a, requirement: A, weight: 0}", "3:37", "sum to 0", "above 0"),
        ("{id: a, requirement: A, weight: -1}", "3:37", "sum to 0", "above 0"),
        ("{id: a, requirement: A, floor: 101}", "3:36", "`floor` of criterion `a` is 101", None),
        ("{id: a, requirement: A, floor: 70%}", "3:36", 'is "70%"', "write 70"),
        (
            "{id: a, requirement: A, required: yes}",
            "3:39",
            'is "yes", but must be true or false',
            "write `true`",
        ),
        ("{id: a, requirement: A, required: 0}", "3:39", "is 0, but must be true or false", None),
        ("{id: a}", "3:5", "`requirement` of criterion `a` is missing", "in words"),
        ("{weight: 3}", "3:5", "`requirement` of criterion number 1 is missing", "in words"),
        ("{id: a, requirement: 404}", "3:26", "is 404, but must be text", '"404"'),
        ("{id: a, requirement: ' '}", "3:26", "is empty", None),
        ("{id: '', requirement: A}", "3:10", "`id`", None),
        ("{id: [a], requirement: A}", "3:10", "is a list, but must be text", None),
        ("5", "3:5", "criterion number 1 is 5", "quotes"),
        ("", "3:", "criterion number 1 is empty", None),
        ("[a]", "3:5", "is a list", None),
        ("{id: a, requirement: A, items: []}", "3:36", "`items` of criterion `a` is empty", "- "),
        ("{id: a, requirement: A, items: x}", "3:36", 'is "x", but must be a list', "- "),
        (
            "{id: a, requirement: A, items: [x, 5]}",
            "3:40",
            "item number 2 of criterion `a` is 5",
            "quotes",
        ),
        ("{id: a, requirement: A, items: [x, x]}", "3:40", "two items with the id `x`", "reword"),
        (
            "{id: a, requirement: A, items: [{id: x}]}",
            "3:37",
            "`requirement` of item `x` is missing",
            "in words",
        ),
        (
            "{id: a, requirement: A, items: [{requirement: x, weight: 3}]}",
            "3:54",
            "unknown key `weight` in item `x`",
            None,
        ),
        ("{id: a, requirement: A, anchors: {5: only}}", "3:29", "one level", "lowest"),
        ("{id: a, requirement: A, anchors: {}}", "3:38", "is empty", "{0: none"),
        ("{id: a, requirement: A, anchors: {low: x, 5: y}}", "3:39", "`low`", "by number"),
        ("{id: a, requirement: A, anchors: {0: x, 5: }}", "3:45", "level 5", None),
        (
            "{id: a, requirement: A, anchors: {0: x, 5: 5}}",
            "3:48",
            "is 5, but must be text",
            "quotes",
        ),
        (
            "{id: a, requirement: A, anchors: [{value: 1, text: x}, {value: 1.0, text: y}]}",
            "3:",
            "described twice",
            None,
        ),
        (
            "{id: a, requirement: A, anchors: [{text: x}, {value: 1, text: y}]}",
            "3:39",
            "needs a `value`",
            None,
        ),
        (
            "{id: a, requirement: A, anchors: [x, {value: 1, text: y}]}",
            "3:39",
            "must be a mapping",
            None,
        ),
        ("{id: a, requirement: A, anchors: text}", "3:38", 'is "text"', "by number"),
        (
            "{id: a, requirement: A, weight: -50, anchors: {0: n, 1: y}}",
            "3:37",
            "penalty",
            "yes/no",
        ),
        (
            "{id: a, requirement: A, check: {contians: x}}",
            "3:37",
            "unknown check `contians`",
            "`contains`",
        ),
        (
            "{id: a, requirement: A, check: contians}",
            "3:36",
            "unknown check `contians`",
            "`contains`",
        ),
        ("{id: a, requirement: A, check: contains}", "3:36", "`contains` takes", None),
        ("{id: a, requirement: A, check: {contains: 3}}", "3:37", "`contains` takes", "quotes"),
        (
            "{id: a, requirement: A, check: {contains: x, pth: y}}",
            "3:50",
            "no option `pth`",
            "`path`",
        ),
        (
            "{id: a, requirement: A, check: {contains: x, regex: y}}",
            "3:50",
            "one kind",
            "two items",
        ),
        ("{id: a, requirement: A, check: {regex: '('}}", "3:37", "pattern", None),
        ("{id: a, requirement: A, check: [{contains: x}]}", "3:36", "is a list", "item of its own"),
        ("{id: a, requirement: A, check: {}}", "3:36", "`check` of criterion `a`", None),
        ("{id: a, requirement: A, fix: [x]}", "3:34", "must be a command line", None),
        (
            "{id: g, criteria: [x], items: [y]}",
            "3:28",
            "combined with child `criteria`",
            "child criterion",
        ),
        (
            "{id: g, criteria: [x], may_not_apply: true}",
            "3:28",
            "combined with child `criteria`",
            "children",
        ),
        ("{criteria: [x]}", "3:5", "`requirement` of criterion number 1 is missing", None),
    ],
)
def test_mistakes_in_a_criterion(criterion: str, place: str, says: str, hint: str | None) -> None:
    """Each mistake is told in words, at the line and column of the value, or of the key that should
    not be there.
    """
    criteria = f"  - {criterion}\n" + ("  - Something else\n" if "penalty" in says else "")
    where, message, advice = error(criteria)
    assert where.startswith(place)
    assert says in message
    if hint is not None:
        assert hint in (advice or "")


@pytest.mark.parametrize(
    ("head", "place", "says"),
    [
        ("rubric: 2", "1:9", "version 2, but this program reads version 1"),
        ("rubric: one", "1:9", "must be the number 1"),
        ("rubric: 0", "1:9", "must be the number 1"),
        ("rubric: 1\nthreshold: 101", "2:12", "`threshold` is 101"),
        ("rubric: 1\nthreshold: -1", "2:12", "`threshold` is -1"),
        ("rubric: 1\nthreshold: high", "2:12", '`threshold` is "high"'),
        ("rubric: 1\nfloor: 100.5", "2:8", "`floor` is 100.5"),
        ("rubric: 1\ntreshold: 80", "2:1", "unknown key `treshold`"),
        ("rubric: 1\ntitle: [a]", "2:8", "`title` is a list"),
    ],
)
def test_mistakes_in_the_head(head: str, place: str, says: str) -> None:
    """The gate and the version have places as well."""
    ((where, message, _),) = errors(f"{head}\ncriteria: [Is short]\n")
    assert where == place
    assert says in message


def test_all_mistakes_at_once_in_the_order_of_the_file() -> None:
    """One run shows everything that is wrong, and nothing that only follows from something else."""
    text = """\
rubric: 1
threshold: 101
criteria:
  - {id: a, requirement: A, weight: high}
  - {id: a, requirement: B, requierd: true}
  - {id: c, requirement: C, anchors: {0: n}}
"""
    assert [(place, message) for place, message, _ in errors(text)] == [
        ("2:12", "`threshold` is 101, but must be from 0 to 100"),
        ("4:37", '`weight` of criterion `a` is "high", but must be a number'),
        ("5:10", "two criteria have the id `a`"),
        ("5:29", "unknown key `requierd` in criterion `a`"),
        ("6:29", "`anchors` of `c` have one level, but a scale needs two at least"),
    ]


@pytest.mark.parametrize("criteria", ["[]", "x", "{a: b}", "5", ""])
def test_no_criterion_at_all(criteria: str) -> None:
    """A rubric without criteria is refused where they should be."""
    ((where, message, _),) = errors(f"rubric: 1\ncriteria: {criteria}\n")
    assert where.startswith("2:")
    assert "criteria" in message


def test_errors_inside_an_alias_point_at_what_was_written() -> None:
    """Shared parts of a file are read like written-out ones."""
    text = (
        "rubric: 1\ncriteria:\n  - {id: a, requirement: A, anchors: &scale {0: n, 10: y}}\n"
        "  - {id: b, requirement: B, anchors: *scale}\n"
    )
    first, second = parse_rubric(text, "r").rubric.criteria
    assert first.items[0].anchors == second.items[0].anchors


# ----------------------------------------------------------------------------------------------------
# other files


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        ("# Title\n\nSome text: with a colon: here\n\n## More\n- [ a\n", "x.yaml", "Markdown"),
        ("---\nname: x\n---\n# Skill\n", "SKILL.md", "Markdown"),
        ("just a sentence\n", "x.txt", "text document"),
        ("- Names it\n- Says why\n", "x.yaml", "list"),
        ("suite: 1\nrubric: {file: r.yaml}\ncases: []\n", "x.yaml", "suite"),
        ("version: '1.0'\ntasks: []\n", "x.yaml", "task suite"),
        ("evalcases: []\n", "x.yaml", "AgentV"),
        ('{"skill_name": "x", "evals": []}', "x.json", "Agent Skills"),
        ("prompts: [a]\nproviders: [b]\ntests: []\n", "x.yaml", "promptfoo"),
        ('{"id": "x", "requirements": "y", "weight": 1, "sub_tasks": []}', "x.json", "PaperBench"),
        ("42\n", "x.yaml", "single value"),
        ("rubric: 1\ntitle: x\n", "x.yaml", "no `criteria`"),
        ("rubric: 1\ncriterion: [a]\n", "x.yaml", "unknown key `criterion`"),
        ("rubric: 1\ncritera: [a]\n", "x.yaml", "unknown key `critera`"),
    ],
)
def test_files_that_are_no_rubric(text: str, name: str, says: str) -> None:
    """A file of another kind is told by its name, with what to do, and never read as an empty
    rubric.
    """
    with pytest.raises(RubricFileErrors) as caught:
        parse_rubric(text, name)
    assert says in caught.value.message
    assert (caught.value.place or "").startswith(f"{name}:")
    assert caught.value.hint


def test_broken_yaml_stays_a_syntax_error() -> None:
    """A rubric with a slip in its YAML is not taken for a document."""
    with pytest.raises(FileError) as caught:
        parse_rubric("rubric: 1\ncriteria:\n  - id: a\n   requirement: b\n", "r.yaml")
    assert caught.value.place == "r.yaml:4:4"


def test_reading_a_file(tmp_path: Path) -> None:
    """Places name the file as the person did."""
    path = tmp_path / "r.yaml"
    path.write_text("rubric: 1\ncriteria: [{id: a, requirement: A, wieght: 3}]\n")
    with pytest.raises(RubricError) as caught:
        read_rubric(path)
    assert caught.value.place == f"{path}:2:36"
    path.write_text(BUG)
    assert read_rubric(path).path == path


# ----------------------------------------------------------------------------------------------------
# findings

CLEAN = """\
rubric: 1
criteria:
  - {id: accuracy, requirement: The facts are right, weight: 60, items: [Names the author, Gives the year, Lists two sources, Quotes the law, Says who paid]}
  - {id: close, requirement: It ends with a farewell to the reader, weight: 40}
"""


def findings(text: str) -> list[tuple[str, str]]:
    found = findings_of(parse_rubric(text, "r"))
    assert all(finding.suggestion for finding in found)
    return [(finding.place.removeprefix("r:"), finding.message) for finding in found]


def test_a_sound_rubric_has_no_findings() -> None:
    """Nothing is remarked on where nothing is amiss, other sums of weights included."""
    assert findings(CLEAN) == []
    assert findings(CLEAN.replace("60", "3").replace("40", "2")) == []
    assert findings(CLEAN.replace("60", "61")) == []


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        (
            "  - {id: close, requirement: It ends with a farewell to the reader, weight: 40}\n",
            "",
            "2:1",
            "only one criterion",
        ),
        ("weight: 40", "weight: 35", "2:1", "sum to 95"),
        ("weight: 40", "weight: 41.5", "2:1", "sum to 101.5"),
        (", Lists two sources, Quotes the law, Says who paid]", "]", "3:66", "has 2 items"),
        (
            "Names the author",
            ", ".join(f"Names person {n}" for n in range(14)),
            "3:66",
            "has 18 items",
        ),
        (
            "rubric: 1",
            "rubric: 1\nthreshold: 50",
            "2:12",
            "the floor (60) is above the threshold (50)",
        ),
        ("rubric: 1", "rubric: 1\nfloor: 80", "2:8", "the floor (80) is above the threshold (70)"),
        ("rubric: 1", "rubric: 1\nfloor: 0.7", "2:8", "0.7 of 100 points"),
        ("weight: 40", "weight: 0, required: true", "4:80", "required but weighs 0"),
        ("id: close", "id: check1", "4:10", "`check1` says nothing"),
        ("id: close", "id: r2", "4:10", "`r2` says nothing"),
        (
            "[Names the author",
            "[{id: item3, requirement: Names the author}",
            "3:79",
            "`item3` says nothing",
        ),
    ],
)
def test_findings(old: str, new: str, place: str, says: str) -> None:
    """What is allowed but rarely meant is remarked on, once, at its place."""
    assert old in CLEAN
    ((where, message),) = findings(CLEAN.replace(old, new))
    assert says in message
    assert where == place


def test_weights_are_looked_at_in_each_group() -> None:
    """Children are weighed among themselves, so their sum is looked at by itself."""
    text = (
        "rubric: 1\ncriteria:\n  - {id: letter, requirement: It opens with a date}\n  - id: code\n    criteria:\n"
        "      - {id: tests, requirement: A test names it, weight: 50}\n      - {id: names, requirement: It has two names, weight: 45}\n"
    )
    ((where, message),) = findings(text)
    assert (where, "sum to 95" in message) == ("5:5", True)


# ----------------------------------------------------------------------------------------------------
# any file

KEYS = st.sampled_from(
    [field.key for shape in RUBRIC_SHAPES for field in shape.fields]
    + ["contains", "not-regex", "timeout", "0", "10"]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 101)
    | st.sampled_from([0.5, "x", "", " ", "10", "is-json", "(", "yes"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=5) | VALUES, max_size=4))
def test_no_file_makes_the_reader_crash(criteria: list[object]) -> None:
    """Whatever stands under `criteria`, the file is a rubric, or every complaint has a place in it."""
    text = json.dumps({"rubric": 1, "criteria": criteria}, indent=1)
    found: tuple[RubricError, ...] = ()
    read = None
    try:
        read = parse_rubric(text, "r")
    except RubricFileErrors as wrong:
        found = wrong.errors
    assert (read is None) == bool(found)
    for error in found:
        name, line, column = (error.place or "").split(":")
        assert name == "r" and int(line) <= text.count("\n") + 1 and int(column) >= 1
        assert error.message and "\0" not in error.message
