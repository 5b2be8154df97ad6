"""Cases from tables and globs, words filled in, defaults, and choosing cases by pattern: the
command in a real process.
"""

from __future__ import annotations

import pytest

from .desk import Desk
from .test_suites import case, run, statuses, suite, target


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        (["refund-*"], ["refund-1", "refund-2"]),
        (["*[15]"], ["refund-1", "order-5", "a1"]),
        (["order-5", "*-2"], ["refund-2", "order-5"]),
        (["a[1]"], ["a[1]"]),
    ],
)
def test_a_pattern_chooses_cases(desk: Desk, asked: list[str], chosen: list[str]) -> None:
    """In the file's order; an id that looks like a pattern is itself."""
    suite(
        desk,
        case("refund-1"),
        case("refund-2"),
        case("order-5"),
        "{id: 'a[1]', input: apple, checks: [{contains: apple}]}",
        case("a1"),
    )
    options = [word for name in asked for word in ("--case", name)]
    result, report = run(desk, "--target", target(desk).spec, *options)
    assert (result.code, list(statuses(report))) == (0, chosen)


def test_a_pattern_that_matches_no_case_is_refused(desk: Desk) -> None:
    """Exit 2, and nothing is asked."""
    suite(desk, case("refund-1"))
    made = target(desk)
    result, _ = run(desk, "--target", made.spec, "--case", "q*")
    assert result.is_refusal and "q*" in result.err and "refund-1" in result.err
    assert made.calls == 0


def test_cases_of_a_table_are_run_locked_checked_and_converted(desk: Desk) -> None:
    """The same cases for every command; a changed table is a changed suite."""
    desk.file("c.csv", "id,fruit,tags\nred,apple,sweet\ngreen,lime,\n")
    head = "suite: 1\ndefaults: {input: 'a {{ fruit }}', checks: [{contains: '{{ fruit }}'}, {contains: apple}]}\n"
    desk.file("suite.yaml", f"{head}cases: c.csv\n")
    made = target(desk)
    result, report = run(desk, "--target", made.spec)
    assert (result.code, statuses(report)) == (1, {"red": "passed", "green": "failed"})
    assert report["cases"][1]["input"] == "a lime"
    assert run(desk, "--target", made.spec, "--tag", "sweet")[0].code == 0
    assert desk.run("suite", "check", "suite.yaml").code == 0
    converted = desk.run("suite", "convert", "suite.yaml", "--to", "honestone")
    assert "a lime" in converted.out and "2 cases" in converted.err
    assert desk.run("suite", "lock", "suite.yaml").code == 0
    assert run(desk, "--target", made.spec, "--locked")[0].code == 1
    desk.file("c.csv", "id,fruit,tags\nred,apple,sweet\ngreen,lemon,\n")
    changed, _ = run(desk, "--target", made.spec, "--locked")
    assert changed.code == 2 and "green" in changed.err


def test_a_mistake_in_a_table_asks_nothing(desk: Desk) -> None:
    """Exit 2 with the table's file and line, whatever the text of the cell would do to a terminal."""
    desk.file("c.csv", 'id,fruit\nred,apple\nred,"\x1b[2J"\n\x1b[31m,"x\n')
    desk.file(
        "suite.yaml", "suite: 1\ndefaults: {input: '{{ fruit }}', rubric: [x]}\ncases: c.csv\n"
    )
    made = target(desk)
    result, _ = run(desk, "--target", made.spec)
    assert result.is_refusal and "c.csv:4:1" in result.err and "\x1b" not in result.err
    assert made.calls == 0


def test_suite_show_prints_the_cases_as_they_are_run_and_the_schema(desk: Desk) -> None:
    """The suite can be run as it is shown."""
    desk.file("c.csv", "id,fruit\nred,apple\n")
    desk.file(
        "s.yaml",
        "suite: 1\ndefaults: {input: 'a {{ fruit }}', checks: [{contains: apple}]}\ncases: c.csv\n",
    )
    shown = desk.run("suite", "show", "s.yaml")
    desk.file("suite.yaml", shown.out)
    assert run(desk, "--target", target(desk).spec)[1]["cases"][0]["input"] == "a apple"
    assert desk.run("suite", "show", "--schema").json["properties"]["cases"]
    assert desk.run("suite", "show").code == 2


def test_near_misses_are_told_how_tables_are_named(desk: Desk) -> None:
    """A table instead of a suite, `{file: ...}`, and a column of JSON lines that is no key of a
    case.
    """
    desk.file("c.csv", "id,city\na,Paris\n")
    desk.file("c.jsonl", '{"id": "a", "city": "Paris"}\n')
    desk.file("f.yaml", "suite: 1\nrubric: [x]\ncases: {file: c.csv}\n")
    desk.file("l.yaml", "suite: 1\nrubric: [x]\ncases: c.jsonl\n")
    for asked, hint in (
        ("c.csv", "cases: c.csv"),
        ("f.yaml", "cases: c.csv"),
        ("l.yaml", "under `vars`"),
    ):
        refused = desk.run("eval", asked, "--target", "cmd:cat")
        assert refused.is_refusal and hint in refused.err
