"""`python -m honestone.evaluate`: the original's command lines, word for word."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .desk import Desk
from .skill_desk import DISHES, artifact, cook, passed, python_m, skill, suite, summary, wants
from .test_stage_evaluate import ranking

FLAGS = (
    "--input",
    "--candidate-id",
    "--standalone",
    "--task-suite",
    "--state-root",
    "--skill-path",
    "--pass-k",
    "--baseline-cache-dir",
    "--eval-threshold",
    "--mock",
    "--output",
    "--target",
    "--judge",
)
TABLE = {
    "execution_pass_rate",
    "baseline_pass_rate",
    "delta",
    "verdict",
    "candidate_results",
    "baseline_results",
    "truth_anchor",
}
STANDALONE = ("--standalone", "--task-suite", "orders/task_suite.yaml", "--state-root", "state")


@pytest.fixture
def kitchen(desk: Desk) -> Desk:
    suite(desk)
    skill(desk, "kitchen", DISHES[:3])
    return desk


@pytest.mark.slow
def test_standalone_compares_with_no_skill_at_all(kitchen: Desk) -> None:
    """The SKILL.md may be named; the other side has no skill; every field of the table is there."""
    kitchen.file("kitchen/references/more.md", "* cake = hot cake\n")
    agent = cook(kitchen)
    result = python_m(
        kitchen, *STANDALONE, "--skill-path", "kitchen/SKILL.md", "--target", agent.spec
    )
    found = artifact(result)
    assert (result.code, found["verdict"], found["delta"]) == (0, "pass", 0.8)
    assert (found["lane"], found["run_id"], found["skill_id"]) == (
        "standalone",
        "standalone-kitchen",
        "kitchen",
    )
    assert set(found) >= TABLE and found["truth_anchor"].startswith(str(kitchen.folder / "state"))
    assert [one["given"] is None for one in agent.runs].count(True) == 5
    assert found["task_results"] == found["candidate_results"]
    own = found["evaluation"]
    assert (own["total_tasks"], own["passed"], own["failed"], own["pass_rate"]) == (5, 4, 1, 0.8)
    assert own["baseline_health"]["status"] == "healthy"


@pytest.mark.slow
def test_standalone_with_mock_needs_nothing(kitchen: Desk) -> None:
    """No agent is installed or asked; the line is the original's."""
    suite(
        kitchen, {"soup": wants("hot soup"), "taste": {"type": "llm-rubric", "rubric": "Is warm"}}
    )
    result = python_m(kitchen, *STANDALONE, "--skill-path", "./kitchen", "--mock")
    found = artifact(result)
    assert (result.code, summary(result)["verdict"], found["mock"]) == (0, "pass", True)
    assert passed(found) == passed(found, "baseline_results") == {"soup": True, "taste": True}


@pytest.mark.slow
def test_the_pipeline_line_with_every_flag(kitchen: Desk) -> None:
    """The candidate's edit runs, the baseline is remembered, the artifact lies where it was asked
    for.
    """
    ranking(kitchen)
    agent = cook(kitchen)
    line = (
        "--input",
        "ranking.json",
        "--candidate-id",
        "c1",
        "--task-suite",
        "orders/task_suite.yaml",
        "--state-root",
        "state",
        "--pass-k",
        "1",
        "--baseline-cache-dir",
        "cache",
        "--eval-threshold",
        "6.0",
        "--output",
        "result.json",
        "--target",
        agent.spec,
    )
    result = python_m(kitchen, *line)
    told = summary(result)
    assert (
        result.code,
        told["execution_pass_rate"],
        told["baseline_pass_rate"],
        told["delta"],
    ) == (
        0,
        0.8,
        0.6,
        pytest.approx(0.2),
    )
    assert told["truth_anchor"] == str(kitchen.folder / "result.json")
    assert "\n" not in result.out.rstrip("\n")
    result = python_m(kitchen, *line)
    assert "baseline cached: 5" in result.err and len(agent.runs) == 15


WRONG = {
    "no state root": (
        "--standalone",
        "--task-suite",
        "orders/task_suite.yaml",
        "--skill-path",
        "kitchen",
    ),
    "no suite": ("--standalone", "--state-root", "state", "--skill-path", "kitchen"),
    "no skill": STANDALONE,
    "no such skill": (*STANDALONE, "--skill-path", "nowhere"),
    "no mode": ("--task-suite", "orders/task_suite.yaml", "--state-root", "state"),
    "no candidate": (
        "--input",
        "ranking.json",
        "--task-suite",
        "orders/task_suite.yaml",
        "--state-root",
        "state",
    ),
    "unknown flag": (*STANDALONE, "--skill-path", "kitchen", "--skil"),
    "no attempts": (*STANDALONE, "--skill-path", "kitchen", "--pass-k", "0"),
    "a word for a number": (*STANDALONE, "--skill-path", "kitchen", "--pass-k", "many"),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_line_ends_with_2(kitchen: Desk, how: str) -> None:
    """What is wrong on stderr, nothing on stdout, nothing spent."""
    ranking(kitchen)
    agent = cook(kitchen)
    result = python_m(kitchen, *WRONG[how], "--target", agent.spec)
    assert (result.code, result.out) == (2, "")
    assert "error: " in result.err and "Traceback" not in result.err
    assert agent.runs == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--pass-k", "many"), "--pass-k is 'many', but must be a whole number from 1 to 100"),
        (("--pass-k", "0"), "--pass-k is 0, but must be from 1 to 100"),
        (("--eval-threshold", "nan"), "--eval-threshold is nan, but must be at least 0"),
    ],
)
def test_a_wrong_number_is_refused_in_the_words_of_every_command(
    kitchen: Desk, words: tuple[str, ...], said: str
) -> None:
    result = python_m(kitchen, *STANDALONE, "--skill-path", "kitchen", *words)
    assert result.code == 2 and f"error: {said}" in result.err


def test_a_missing_suite_is_said_in_the_originals_words(kitchen: Desk) -> None:
    """People look for this line."""
    result = python_m(
        kitchen,
        "--standalone",
        "--task-suite",
        "no.yaml",
        "--state-root",
        "s",
        "--skill-path",
        "kitchen",
    )
    assert result.code == 2 and "Task suite not found: no.yaml" in result.err


@pytest.mark.slow
def test_exit_codes_follow_the_verdict(kitchen: Desk) -> None:
    """Fail 1, error 3, skipped 3."""
    ranking(kitchen, score=1)
    low = (
        "--input",
        "ranking.json",
        "--candidate-id",
        "c1",
        "--task-suite",
        "orders/task_suite.yaml",
        "--state-root",
        "s",
    )
    result = python_m(kitchen, *low, "--target", cook(kitchen).spec)
    assert (result.code, summary(result)["verdict"]) == (3, "skipped")
    worse = cook(kitchen, "if given: said = []\nelse: said = ['hot soup', 'hot pie']", name="worse")
    result = python_m(kitchen, *STANDALONE, "--skill-path", "kitchen", "--target", worse.spec)
    assert (result.code, summary(result)["verdict"]) == (1, "fail")
    down = cook(kitchen, "sys.exit('no quota left')", name="down")
    result = python_m(kitchen, *STANDALONE, "--skill-path", "kitchen", "--target", down.spec)
    assert (result.code, summary(result)["verdict"]) == (3, "error")
    assert "no quota left" in summary(result)["reason"]


@pytest.mark.slow
def test_without_a_target_the_default_agent_is_asked_for(kitchen: Desk) -> None:
    """It is `claude`; where that is not installed the line says so, and nothing was spent."""
    kitchen.extra["PATH"] = str(kitchen.folder / "nothing")
    result = python_m(kitchen, *STANDALONE, "--skill-path", "kitchen")
    assert (result.code, result.out) == (2, "")
    assert "claude" in result.err


def test_help_lists_the_flags(kitchen: Desk) -> None:
    """Each of the original's, and ours beside them."""
    result = python_m(kitchen, "--help")
    assert result.code == 0
    assert [flag for flag in FLAGS if flag not in result.out] == []
    assert "python -P -m honestone.evaluate" in result.out


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", ["pass", "import honestone.evaluate", "from honestone.evaluate import main"]
)
def test_the_function_of_the_package_is_still_one(tmp_path: Path, first: str) -> None:
    """`honestone.evaluate(...)` scores, whether or not the module of that name was imported before."""
    rubric = "rubric: 1\ncriteria: [{id: greets, requirement: Greets, check: {contains: hello}}]"
    script = f"""\
{first}
import json, honestone
from honestone import evaluate
rubric = honestone.parse_rubric({rubric!r})
print(json.dumps([honestone.evaluate("hello you", rubric).passed, evaluate("good bye", rubric).passed]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert json.loads(done.stdout or "null") == [True, False], done.stderr
