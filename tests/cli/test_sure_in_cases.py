"""`sure` in a rubric of a suite's case: the suite says it for all, or nobody does."""

from __future__ import annotations

import json

import pytest

from .desk import Desk
from .test_suites import suite, target

ITEMS = "criteria: [says apple]"
WITHIN = {
    "in the case": f"{{id: one, input: x, rubric: {{sure: 95, {ITEMS}}}}}",
    "its limit alone": f"{{id: one, input: x, rubric: {{max_looks: 4, {ITEMS}}}}}",
    "in its file": "{id: one, input: x, rubric: {file: shared.yaml}}",
    "in a later case": "{id: one, input: x, rubric: [says apple]}\n"
    f"  - {{id: two, input: x, rubric: {{{ITEMS}, max_looks: 9, sure: 80}}}}",
}


def words(desk: Desk) -> tuple[str, ...]:
    return ("eval", "suite.yaml", "--judge", desk.judge().spec, "--target", target(desk).spec)


@pytest.fixture
def shared(desk: Desk) -> Desk:
    desk.file("shared.yaml", "rubric: 1\nsure: 95\ncriteria:\n  - says apple\n")
    return desk


@pytest.mark.parametrize("case", WITHIN.values(), ids=WITHIN)
def test_only_a_rubric_of_a_case_says_it(shared: Desk, case: str) -> None:
    """Refused with its place, and nothing is run."""
    suite(shared, case)
    judge, made = shared.judge(), target(shared)
    found = shared.run("eval", "suite.yaml", "--judge", judge.spec, "--target", made.spec)
    assert found.is_refusal, found.out
    key = "max_looks" if "max_looks: 4" in case else "sure"
    assert f"`{key}` belongs to the suite" in found.err
    file = "shared.yaml:2:1" if "shared" in case else "suite.yaml:"
    assert file in found.err
    assert judge.calls == made.calls == 0


@pytest.mark.parametrize("case", WITHIN.values(), ids=WITHIN)
def test_what_the_suite_or_the_command_says_holds_for_all(shared: Desk, case: str) -> None:
    """The suite over the rubrics of its cases, the command over both."""
    path = suite(shared, case)
    by_command = shared.run(*words(shared), "--sure", "80", "--json")
    assert by_command.json["belief"]["target"] == 0.8
    path.write_text(path.read_text().replace("cases:", "sure: 85\ncases:"))
    assert shared.run(*words(shared), "--json").json["belief"]["target"] == 0.85


def test_check_notes_what_eval_would_refuse(shared: Desk) -> None:
    """A command may say --sure later, so it is no error yet."""
    path = suite(shared, WITHIN["in its file"])
    noted = shared.run("suite", "check", "suite.yaml")
    assert noted.code == 0 and "shared.yaml:2:1: `sure` belongs to the suite" in noted.out
    path.write_text(path.read_text().replace("cases:", "sure: 85\ncases:"))
    assert "belongs to the suite" not in shared.run("suite", "check", "suite.yaml").out


def test_the_shared_rubric_of_a_suite_is_a_rubric_of_its_cases(shared: Desk) -> None:
    """Its file says it, the suite does not."""
    path = suite(shared, "{id: one, input: x}")
    path.write_text(path.read_text().replace("cases:", "rubric: {file: shared.yaml}\ncases:"))
    found = shared.run(*words(shared))
    assert found.is_refusal and "shared.yaml:2:1" in found.err


@pytest.mark.slow
def test_looks_on_record_count_in_a_suite(desk: Desk) -> None:
    """A run without `sure` asked each judge once about each case: none of that is asked again."""
    suite(desk, *(f"{{id: c{i}, input: apple {i}, rubric: [says apple]}}" for i in range(5)))
    judges = [desk.judge(name) for name in ("one", "two")]
    asked = ("eval", "suite.yaml", *(f"--judge={one.spec}" for one in judges))
    asked = (*asked, "--target", target(desk).spec, "--json")
    desk.run(*asked)
    assert [one.calls for one in judges] == [5, 5]
    found = desk.run(*asked, "--sure", "90").json
    assert found["verdict"] == "pass" and found["belief"]["looks"] == 10
    assert [one.calls for one in judges] == [5, 5]


@pytest.mark.slow
def test_more_looks_on_record_than_the_limit_make_no_verdict_worse(desk: Desk) -> None:
    """They cost nothing, so all of them are taken in, those of the last case too."""
    suite(desk, *(f"{{id: c{i}, input: apple {i}, rubric: [says apple]}}" for i in range(5)))
    judges = [desk.judge(name) for name in ("one", "two")]
    asked = ("eval", "suite.yaml", *(f"--judge={one.spec}" for one in judges))
    asked = (*asked, "--target", target(desk).spec, "--json")
    desk.run(*asked, "--sure", "99", "--max-looks", "30")
    before = [one.calls for one in judges]
    assert sum(before) > 6
    found = desk.run(*asked, "--sure", "80", "--max-looks", "6").json
    assert found["verdict"] == "pass" and [one.calls for one in judges] == before
    assert found["belief"]["looks"] == sum(before) > found["belief"]["max_looks"] == 6


def test_what_code_alone_judges_is_run_no_oftener(desk: Desk) -> None:
    """Nobody is asked, so in a task suite a pass ends a task as it does without `sure`."""
    tasks = [
        {"id": id, "prompt": f"hot {id}", "judge": {"type": "contains", "expected": ["hot"]}}
        for id in ("soup", "tea")
    ]
    suite = {"skill_id": "kitchen", "version": "1.0", "tasks": tasks}
    desk.file("task_suite.yaml", json.dumps(suite))
    desk.file("target.sh", "echo run >> runs.txt\ncat\n")
    words = ("--target", "cmd:sh target.sh", "--sandbox", "none", "--attempts", "4", "--sure", "95")
    ended = desk.run("eval", "task_suite.yaml", *words, "--json")
    assert ended.code == 0, ended.err
    assert (desk.folder / "runs.txt").read_text().split() == ["run", "run"]


@pytest.mark.parametrize("sure", [(), ("--sure", "95")])
def test_the_record_alone_judges_a_suite(desk: Desk, sure: tuple[str, ...]) -> None:
    """With --recorded its cases are run, and no judge is asked."""
    suite(desk, "{id: one, input: x, rubric: [says apple]}")
    body = (
        "print(json.dumps({'criteria': {one['id']: {'met': True} for one in request['criteria']}}))"
    )
    judges = [desk.judge(name, body) for name in ("a", "b")]
    words = [word for one in judges for word in ("--judge", one.spec)]
    asked = ("eval", "suite.yaml", *words, "--target", target(desk).spec, *sure, "--json")
    before = desk.run(*asked)
    calls = [one.calls for one in judges]
    found = desk.run(*asked, "--recorded")
    assert found.code == before.code == 0, found.err
    assert found.json["belief"] == before.json["belief"] is not None
    assert [one.calls for one in judges] == calls
    unknown = desk.run(*asked, "--recorded", "--fresh")
    assert unknown.code == 3 and [one.calls for one in judges] == calls
