"""`eval SUITE --artifact SKILL --baseline ...`: does the skill help, on what, and by how much."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from .desk import Desk, Result
from .skill_desk import DISHES, Cook, cook, passed, scorer, skill, suite, wants

TWO, FOUR = DISHES[:2], DISHES[:4]


def run(
    desk: Desk, target: Cook, after: str, before: str, *more: str
) -> tuple[Result, dict[str, Any]]:
    result = desk.run(
        "eval",
        "orders/task_suite.yaml",
        "--artifact",
        after,
        "--baseline",
        before,
        "--target",
        target.spec,
        "--json",
        *more,
    )
    return result, (json.loads(result.out) if result.out else {})


@pytest.fixture
def kitchen(desk: Desk) -> Desk:
    """Five orders; `old` can cook two of them, `new` four."""
    suite(desk)
    skill(desk, "old", TWO)
    skill(desk, "new", FOUR)
    return desk


# ------------------------------------------------------------------------------------------------------------
# verdicts


def test_a_better_skill_passes_with_every_figure(kitchen: Desk) -> None:
    """Both rates, delta, the interval beside it, every task on both sides, and the cost said before
    the first run.
    """
    agent = cook(kitchen)
    result, report = run(kitchen, agent, "new", "old")
    figures = [
        report[name] for name in ("execution_pass_rate", "baseline_pass_rate", "delta", "verdict")
    ]
    assert (result.code, figures) == (0, [0.8, 0.4, 0.4, "pass"])
    assert report["interval"][0] >= 0 and report["interval"][0] < 0.4 < report["interval"][1] <= 1
    assert passed(report) == {dish: dish in FOUR for dish in DISHES}
    assert passed(report, "baseline_results") == {dish: dish in TWO for dish in DISHES}
    for one in (*report["candidate_results"], *report["baseline_results"]):
        assert (
            one["score"] == float(one["passed"]) and one["duration_ms"] >= 0 and one["error"] == ""
        )
    assert "5 tasks x 1 attempt x 2 sides = 10 agent runs" in result.err
    assert (report["mock"], report["baseline_cached"], report["regressions"]) == (False, False, [])
    assert sorted(one["order"] for one in agent.runs) == sorted(
        2 * [f"One {d}, please." for d in DISHES]
    )
    assert kitchen.run("show", report["run"], "--json").json == report


def test_a_worse_skill_fails_and_says_on_what(kitchen: Desk) -> None:
    """Exit 1, the lost tasks by name."""
    result, report = run(kitchen, cook(kitchen), "old", "new")
    assert (result.code, report["verdict"], report["regressions"]) == (1, "fail", ["pie", "cake"])
    assert "0.8 to 0.4" in report["reasons"][0]


@pytest.mark.slow
def test_no_difference_passes_with_the_noise_beside_it(kitchen: Desk) -> None:
    """Delta 0 is "at least as good"; the regression is named, and asking for an improvement refuses
    it.
    """
    skill(kitchen, "other", DISHES[1:3])
    result, report = run(kitchen, cook(kitchen), "other", "old")
    assert (result.code, report["verdict"], report["delta"]) == (0, "pass", 0)
    assert report["regressions"] == ["soup"]
    assert report["interval"][0] < 0 < report["interval"][1]
    result, report = run(kitchen, cook(kitchen), "other", "old", "--require-improvement")
    assert (result.code, report["verdict"]) == (1, "fail")
    result, report = run(kitchen, cook(kitchen), "other", "old", "--fail-on", "regression")
    assert (result.code, report["verdict"]) == (1, "fail")


def test_the_same_bytes_are_refused_before_any_run(kitchen: Desk) -> None:
    """Itself, and a copy of it in another folder, would measure noise."""
    skill(kitchen, "copy", TWO)
    agent = cook(kitchen)
    for before in ("old", "old/SKILL.md", "copy"):
        result, _ = run(kitchen, agent, "old", before)
        assert result.is_refusal, before
    assert agent.runs == []


def test_a_suite_that_the_baseline_hardly_passes_is_broken(kitchen: Desk) -> None:
    """Under 20%: error, exit 3, the candidate is never run. Exactly 20% is enough."""
    skill(kitchen, "none", ["lasagne"])
    skill(kitchen, "one", ["soup"])
    agent = cook(kitchen)
    result, report = run(kitchen, agent, "new", "none")
    assert (result.code, report["verdict"], len(agent.runs)) == (3, "error", 5)
    assert "fix the suite first" in report["reasons"][0]
    assert (
        report["baseline_pass_rate"],
        report["execution_pass_rate"],
        report["candidate_results"],
    ) == (0, None, [])
    assert run(kitchen, agent, "new", "one")[1]["delta"] == pytest.approx(0.6)


@pytest.mark.slow
def test_without_a_skill_zero_is_a_fine_baseline(kitchen: Desk) -> None:
    """A skill that every task needs: 0 without it, and that is the best case. 0 on both sides is
    none.
    """
    agent = cook(kitchen)
    result, report = run(kitchen, agent, "new", "without")
    assert (result.code, report["verdict"], report["baseline_pass_rate"], report["delta"]) == (
        0,
        "pass",
        0,
        0.8,
    )
    assert [one["given"] for one in agent.runs].count(None) == 5
    skill(kitchen, "none", ["lasagne"])
    result, report = run(kitchen, agent, "none", "without")
    assert (result.code, report["verdict"]) == (3, "error")


# -----------------------------------------------------------------------------------------------------
# what is seen


def test_an_agent_sees_its_skill_and_nothing_of_the_user(kitchen: Desk) -> None:
    """A fresh folder and HOME a run, the skill on its shelf under its name, no keys, no suite, no
    fixtures, no memory.
    """
    kitchen.file("CLAUDE.md", "remember me")
    (kitchen.home / ".agents/skills/mine").mkdir(parents=True)
    kitchen.file("new/references/more.md", "* bread = hot bread\n")
    kitchen.file("new/fixtures/answers.txt", "hot everything")
    kitchen.file("new/.notes.md", "* bread = hidden\n")
    kitchen.file("new/task_suite.yaml", (kitchen.folder / "orders/task_suite.yaml").read_text())
    kitchen.extra["MY_API_KEY"] = "sk-secret"
    agent = cook(kitchen)
    result = kitchen.run(
        "eval",
        "new/task_suite.yaml",
        "--artifact",
        "new/SKILL.md",
        "--baseline",
        "old",
        "--target",
        agent.spec,
        "--json",
    )
    assert (result.code, result.json["execution_pass_rate"]) == (0, 1)
    runs = agent.runs
    assert len({one["cwd"] for one in runs}) == len({one["home"] for one in runs}) == 10
    for one in runs:
        assert not one["cwd"].startswith(str(kitchen.folder)) and one["at_home"] == []
        assert set(one["names"]) - {"LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "_"} == {
            "PATH",
            "LANG",
            "HOME",
            "TMPDIR",
            "HONESTONE_SKILL",
            "HONESTONE_ARTIFACT",
        }
        assert one["given"] == f"{one['cwd']}/.agents/skills/kitchen"
    shelf = ".agents/skills/kitchen/"
    assert {tuple(one["shelf"]) for one in runs} == {
        (f"{shelf}SKILL.md",),
        (f"{shelf}SKILL.md", f"{shelf}references/more.md"),
    }
    assert not (kitchen.folder / "new/crumbs.txt").exists()


def test_a_git_ref_is_the_skill_as_it_was(kitchen: Desk) -> None:
    """`--baseline HEAD` compares an edit with what is committed, without touching the working tree."""
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    for words in (["init", "-q"], ["add", "old"], [*who, "commit", "-qm", "first"]):
        subprocess.run(
            ["git", *words], cwd=kitchen.folder, check=True, capture_output=True, env=kitchen.env
        )
    skill(kitchen, "old", FOUR)
    result, report = run(kitchen, cook(kitchen), "old", "HEAD")
    assert (result.code, report["baseline_pass_rate"], report["execution_pass_rate"]) == (
        0,
        0.4,
        0.8,
    )
    assert "hot cake" in (kitchen.folder / "old/SKILL.md").read_text()


# ------------------------------------------------------------------------------------------------------------
# attempts


def test_any_of_k_attempts_passes_and_the_flaky_task_is_named(kitchen: Desk) -> None:
    """No attempt follows a pass, and one that needed two is told on whichever side it was."""
    first = """\
        once = LOG + ".once"
        if 'pie' in order and 'pie' in lessons and not os.path.exists(once):
            open(once, "w").close()
            said = []
        """
    agent = cook(kitchen, first)
    result, report = run(kitchen, agent, "new", "old", "--attempts", "3")
    rows = {one["task_id"]: one for one in report["candidate_results"]}
    assert (result.code, rows["pie"]["passed"], rows["pie"]["passes"]) == (0, True, 1)
    assert [flag for flag in report["flags"] if "flaky" in flag] == ["flaky: pie (1 of 2)"]
    assert rows["soup"]["attempts"] == 1 and rows["bread"]["attempts"] == 3
    assert len(agent.runs) == (2 + 3 * 3) + (3 + 2 + 3)
    assert "up to 5 tasks x 3 attempts x 2 sides = 30 agent runs" in result.err


# ------------------------------------------------------------------------------------------------------------
# failures


def test_a_crash_is_nobodys_failed_task(kitchen: Desk) -> None:
    """No mark, no score, the reason; the rest is judged, and the verdict stands as far as it is
    decided.
    """
    down = "if 'cake' in order and given and 'cake' in lessons: sys.exit('the model is overloaded')"
    result, report = run(kitchen, cook(kitchen, down), "new", "old")
    row = next(one for one in report["candidate_results"] if one["task_id"] == "cake")
    assert (row["passed"], row["score"], "overloaded" in row["error"]) == (None, None, True)
    assert (result.code, report["verdict"]) == (0, "pass")
    assert (report["execution_pass_rate"], report["delta"], report["interval"]) == (
        None,
        None,
        None,
    )
    assert report["baseline_pass_rate"] == 0.4


def test_crashes_that_could_tip_it_are_an_error(kitchen: Desk) -> None:
    """Two of four crash against a baseline of two of five: nobody knows."""
    down = "if given and 'cake' in lessons and ('cake' in order or 'soup' in order or 'pie' in order): sys.exit(9)"
    result, report = run(kitchen, cook(kitchen, down), "new", "old")
    assert (result.code, report["verdict"]) == (3, "error")
    assert all(dish in report["reasons"][0] for dish in ("soup", "pie", "cake"))


def test_a_crash_does_not_save_a_worse_skill(kitchen: Desk) -> None:
    """Even with the crashed task passed it would be below the baseline."""
    down = "if 'bread' in order and 'pie' not in lessons: sys.exit(9)"
    result, report = run(kitchen, cook(kitchen, down), "old", "new")
    assert (result.code, report["verdict"]) == (1, "fail")


@pytest.mark.slow
def test_tasks_that_the_budget_did_not_reach_are_open_and_not_gone(desk: Desk) -> None:
    """A rate over the tasks that were affordable would be another rate. Nothing of it is remembered
    as a baseline.
    """
    suite(desk, {dish: {"type": "llm-rubric", "rubric": "Is warm"} for dish in DISHES})
    skill(desk, "old", TWO)
    skill(desk, "new", FOUR)
    agent = cook(desk)
    judge = ("--judge", scorer(desk, 1))
    result, report = run(
        desk, agent, "new", "old", *judge, "--max-calls", "1", "--concurrency", "1"
    )
    assert (result.code, report["verdict"]) == (3, "error")
    assert len(report["candidate_results"]) == len(report["baseline_results"]) == 5
    assert None in passed(report, "baseline_results").values()
    assert any("budget" in one["error"] for one in report["baseline_results"])
    result, report = run(desk, agent, "new", "old", *judge)
    assert (result.code, report["baseline_cached"], report["delta"]) == (0, False, 0)


# --------------------------------------------------------------------------------------------------------------
# judges


def test_keywords_in_any_case_and_script(desk: Desk) -> None:
    """`contains` wants all of them and scores what it found; `not-contains` wants none."""
    suite(
        desk,
        {
            "soup": wants("HOT SOUP"),
            "half": wants("hot soup", "salt"),
            "kanji": wants("検査", "ÄPFEL"),
            "clean": {"type": "not-contains", "expected": ["RAW"]},
            "raw": {"type": "not-contains", "expected": ["RAW"]},
        },
    )
    skill(desk, "old", ["stew"])
    skill(
        desk, "new", ["soup"], more="* half = hot soup\n* kanji = 検査 äpfel\n* raw = a raw egg\n"
    )
    _, report = run(desk, cook(desk), "new", "old")
    assert passed(report) == {
        "soup": True,
        "half": False,
        "kanji": True,
        "clean": True,
        "raw": False,
    }
    assert {one["task_id"]: one["score"] for one in report["candidate_results"]}["half"] == 0.5


@pytest.mark.parametrize(
    ("score", "threshold", "wanted"),
    [(0.7, None, True), (0.69, None, False), (0.5, 0.5, True), (7, None, None), (None, None, None)],
)
def test_a_judges_score_meets_the_threshold_or_is_none(
    desk: Desk, score: float | None, threshold: float | None, wanted: bool | None
) -> None:
    """0.7 unless the task says otherwise, exactly; what is no score from 0 to 1 fails nobody."""
    own = {} if threshold is None else {"pass_threshold": threshold}
    suite(
        desk,
        {"soup": wants("hot soup"), "taste": {"type": "llm-rubric", "rubric": "Is warm", **own}},
    )
    skill(desk, "old", ["soup"])
    skill(desk, "new", ["soup", "stew"])
    result, report = run(desk, cook(desk), "new", "old", "--judge", scorer(desk, score))
    assert passed(report) == {"soup": True, "taste": wanted}
    assert result.code == (3 if wanted is None else 0)


@pytest.mark.slow
def test_a_pytest_judge_runs_the_suites_own_tests_in_a_copy(desk: Desk) -> None:
    """`AI_OUTPUT_FILE` names the output; what the test writes is gone; a fixture out of reach is
    refused before a run.
    """
    suite(desk, {dish: {"type": "pytest", "test_file": "fixtures/test_dish.py"} for dish in DISHES})
    desk.file(
        "orders/fixtures/test_dish.py",
        "import os, pathlib\n\ndef test_dish():\n    here = pathlib.Path(__file__).parent\n    (here / 'made').write_text('x')\n"
        "    assert 'hot' in pathlib.Path(os.environ['AI_OUTPUT_FILE']).read_text()\n",
    )
    skill(desk, "old", TWO)
    skill(desk, "new", FOUR)
    agent = cook(desk)
    result, report = run(desk, agent, "new", "old")
    assert (result.code, report["delta"]) == (0, 0.4)
    assert not (desk.folder / "orders/fixtures/made").exists()
    runs = len(agent.runs)
    (desk.folder / "orders/fixtures/test_dish.py").rename(desk.folder / "test_dish.py")
    (desk.folder / "orders/fixtures/test_dish.py").symlink_to(desk.folder / "test_dish.py")
    result, _ = run(desk, agent, "new", "old")
    assert result.is_refusal and "test_dish.py" in result.err and len(agent.runs) == runs


# --------------------------------------------------------------------------------------------------------
# the baseline


@pytest.mark.slow
def test_a_baseline_is_remembered_by_content(kitchen: Desk) -> None:
    """The second comparison runs the candidate alone; another suite, and --fresh, ask it again."""
    agent = cook(kitchen)
    counts = []
    for more in ([], [], ["--fresh"]):
        before = len(agent.runs)
        result, report = run(kitchen, agent, "new", "old", *more)
        counts.append((len(agent.runs) - before, report["baseline_cached"]))
        assert ("baseline cached: 5" in result.err) == report["baseline_cached"]
    assert counts == [(10, False), (5, True), (10, False)]
    assert report["baseline"]["run"] is not None
    suite(kitchen, DISHES[:4])
    before = len(agent.runs)
    _, report = run(kitchen, agent, "new", "old")
    assert (len(agent.runs) - before, report["baseline_cached"], report["delta"]) == (8, False, 0.5)


@pytest.mark.slow
def test_a_crashed_baseline_is_never_remembered(kitchen: Desk) -> None:
    """The next comparison asks it again, and then it stands."""
    flag = kitchen.folder / "down"
    flag.touch()
    agent = cook(kitchen, f"if 'pie' not in lessons and os.path.exists({str(flag)!r}): sys.exit(3)")
    result, report = run(kitchen, agent, "new", "old")
    assert (result.code, report["verdict"]) == (3, "error")
    flag.unlink()
    result, report = run(kitchen, agent, "new", "old")
    assert (result.code, report["baseline_cached"], report["baseline_pass_rate"]) == (0, False, 0.4)


def test_a_saved_report_counts_only_the_tasks_of_both(kitchen: Desk) -> None:
    """Of a report over five tasks, two chosen ones are compared with the same two, and the rest is
    left out.
    """
    agent = cook(kitchen)
    full = ("eval", "orders/task_suite.yaml", "--artifact", "old", "--target", agent.spec)
    assert kitchen.run(*full, "--output", "before.json").code == 1
    result, report = run(kitchen, agent, "new", "before.json", "--case", "soup", "--case", "cake")
    assert (result.code, report["baseline_pass_rate"], report["delta"]) == (0, 0.5, 0.5)
    assert (
        report["left_out"] == 3
        and "bread" in report["left_out_cases"]
        and report["comparison"]["missing"] == []
    )


@pytest.mark.slow
def test_killed_it_goes_on_and_runs_no_task_twice(kitchen: Desk) -> None:
    """SIGKILL in the middle of the candidate's side; the same command asks only for what is
    missing.
    """
    hang = kitchen.folder / "hang"
    hang.touch()
    body = f"""\
        if 'cake' in order and 'cake' in lessons and os.path.exists({str(hang)!r}):
            time.sleep(60)
        """
    agent = cook(kitchen, body)
    words = [
        "eval",
        "orders/task_suite.yaml",
        "--artifact",
        "new",
        "--baseline",
        "old",
        "--target",
        agent.spec,
        "--json",
        "--concurrency",
        "1",
    ]
    process = kitchen.start(*words)
    until = time.monotonic() + 300
    while agent.count("cake") < 2 and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    hang.unlink()
    done = [one["order"] for one in agent.runs]
    result = kitchen.run(*words)
    assert (result.code, result.json["delta"]) == (0, 0.4)
    again = [one["order"] for one in agent.runs[len(done) :]]
    assert sorted(again) == ["One bread, please.", "One cake, please."]
    # Five tasks on each of two sides: what the killed process spent is counted once.
    usage, of_baseline = result.json["usage"], result.json["baseline"]["usage"]
    assert (usage["target_calls"], of_baseline["target_calls"]) == (10, 5)


def test_a_skill_needs_an_agent_to_be_named(kitchen: Desk) -> None:
    """No target: exit 2 with what can be named."""
    result = kitchen.run("eval", "orders/task_suite.yaml", "--artifact", "new", "--baseline", "old")
    assert result.is_refusal and "--target" in result.err


def test_a_mock_says_that_it_is_one(kitchen: Desk) -> None:
    """Also where only the judge pretends: such a run is no evidence."""
    result, report = run(kitchen, Cook("mock", Path("none")), "new", "old")
    assert (result.code, report["mock"], report["delta"]) == (0, True, 0)
    suite(kitchen, {"soup": {"type": "llm-rubric", "rubric": "Is warm"}})
    _, report = run(kitchen, cook(kitchen), "new", "old", "--judge", "mock")
    assert report["mock"] is True


def test_a_target_that_runs_nothing_cannot_have_a_skill(desk: Desk) -> None:
    """`identity` judges the artifact's own text; a skill answers no task: exit 2 before a line of
    cost.
    """
    suite(desk)
    skill(desk, "new", DISHES)
    for args in (
        (
            "eval",
            "orders/task_suite.yaml",
            "--artifact",
            "new",
            "--baseline",
            "without",
            "--target",
            "identity",
        ),
        ("eval", "orders/task_suite.yaml", "--artifact", "new", "--target", "identity"),
        (
            "stage",
            "evaluate",
            "--standalone",
            "--skill-path",
            "new",
            "--task-suite",
            "orders/task_suite.yaml",
            "--target",
            "identity",
            "--state-root",
            "st",
        ),
        (
            "stage",
            "run",
            "new",
            "--task-suite",
            "orders/task_suite.yaml",
            "--worker",
            "cmd:true",
            "--target",
            "identity",
        ),
    ):
        result = desk.run(*args)
        assert result.is_refusal and "identity" in result.err and "agent runs" not in result.err, (
            result.err
        )


def test_recorded_outputs_cannot_tell_two_sides_apart(desk: Desk) -> None:
    """They are the same with the skill and without it: a delta of 0 would be about nothing. Exit 2."""
    suite(desk)
    skill(desk, "new", DISHES)
    desk.file(
        "rows.jsonl",
        "".join(json.dumps({"id": dish, "output": f"hot {dish}"}) + "\n" for dish in DISHES),
    )
    words = ("eval", "orders/task_suite.yaml", "--artifact", "new", "--target", "record:rows.jsonl")
    result = desk.run(*words, "--baseline", "without")
    assert result.is_refusal and "both sides would be the same" in result.err
    assert desk.run(*words).code == 0


def test_a_baseline_under_another_contract_is_refused_before_anything_is_spent(
    kitchen: Desk,
) -> None:
    """Runs of skills, too; `--across-contracts` compares all the same."""
    agent = cook(kitchen)
    _, first = run(kitchen, agent, "old", "without")
    file = kitchen.folder / "orders" / "task_suite.yaml"
    file.write_text(file.read_text().replace("hot soup", "warm soup", 1))
    before = agent.count()
    refused, _ = run(kitchen, agent, "new", first["run"])
    assert refused.is_refusal and "under different contracts" in refused.err
    assert agent.count() == before
    _, found = run(kitchen, agent, "new", first["run"], "--across-contracts")
    assert found["verdict"] and agent.count() > before
