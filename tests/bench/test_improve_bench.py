"""`python bench/improve` in a process of its own, as a developer runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench" / "improve"
FIGURES = (
    *(
        "true_pass",
        "false_pass",
        "false_share",
        "u3",
        "panel_true_pass",
        "panel_false_pass",
        "final",
    ),
    *("regressed", "judge_calls", "holdout_calls", "worker_calls", "stated"),
)


def bench(
    folder: Path, world: Any, *more: str, policy: str = "keep-best"
) -> subprocess.CompletedProcess[str]:
    file = folder / "world.json"
    file.write_text(world if isinstance(world, str) else json.dumps(world))
    command = [sys.executable, str(BENCH), "--world", str(file), "--policy", policy, *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def figures(folder: Path, world: Any, *more: str, policy: str = "keep-best") -> dict[str, Any]:
    done = bench(folder, world, "--json", *more, policy=policy)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_one_document_says_everything_about_a_cell(tmp_path: Path) -> None:
    """All keys are there, the world with its defaults, and each figure has an error."""
    found = figures(
        tmp_path, {"name": "mine", "mode": "checklist", "flip": 0.2}, "--runs", "12", "--seed", "3"
    )
    assert found["schema"] == "honestone.improve-bench/1"
    assert (found["policy"], found["runs"], found["seed"]) == ("keep-best", 12, 3)
    assert (
        found["world"]["name"] == "mine"
        and found["world"]["flip"] == 0.2
        and found["world"]["gain"] == 18
    )
    assert sum(found["results"].values()) == 12
    assert all(found[name].keys() == {"value", "se"} for name in FIGURES)
    assert 0 < found["stated"]["value"] <= 1, "keep-best states a probability beside its rule"
    assert (
        found["judge_calls_max"] <= 30
        and found["rounds_max"] <= 5
        and found["worker_calls_max"] <= 5
    )
    assert found["seconds"] > 0


@pytest.mark.slow
def test_the_seed_decides(tmp_path: Path) -> None:
    """Equal seeds give equal figures but for the time; other seeds give others."""
    first, again, other = (
        figures(tmp_path, {}, "--runs", "15", "--seed", seed) for seed in ("7", "7", "8")
    )
    for one in (first, again, other):
        del one["seconds"]
    assert first == again
    assert first["final"] != other["final"]


def test_one_run_has_no_error(tmp_path: Path) -> None:
    found = figures(tmp_path, {}, "--runs", "1")
    assert found["final"]["value"] > 0 and found["final"]["se"] is None


@pytest.mark.slow
def test_limits_hold(tmp_path: Path) -> None:
    """Rounds and judge calls never exceed what is given."""
    found = figures(
        tmp_path, {}, "--runs", "15", "--rounds", "9", "--patience", "9", "--max-calls", "14"
    )
    assert found["judge_calls_max"] == 14 and found["rounds_max"] <= 9
    assert found["results"].keys() <= {"PASSED", "UNCONFIRMED", "BUDGET", "PLATEAU"}


def test_people_get_a_line_per_figure(tmp_path: Path) -> None:
    done = bench(tmp_path, {"name": "mine"}, "--runs", "3", policy="plain")
    assert done.returncode == 0
    assert (
        done.stdout.startswith("plain in mine: 3 runs, seed 1\n") and "judge_calls" in done.stdout
    )


WRONG = [
    ({"gian": 20}, (), "keep-best", ("gian", "did you mean gain")),
    ({}, (), "nonesuch", ("nonesuch", "plain, keep-best", "oracle")),
    ({}, (), "keepbest", ("did you mean keep-best",)),
    ({"gain": "much"}, (), "plain", ("world.json", "$.gain")),
    ({"p_fix": 1.5}, (), "plain", ("$.p_fix", "<= 1")),
    ({"mode": "essay"}, (), "plain", ("essay",)),
    ({"coll": [9, 3]}, (), "plain", ("coll",)),
    ([1, 2], (), "plain", ("one JSON object",)),
    ("{", (), "plain", ("not JSON",)),
    ('{"sd": NaN}', (), "plain", ("not JSON",)),
    ({}, ("--runs", "0"), "plain", ("--runs", "from 1")),
    ({}, ("--seed", "-4"), "plain", ("--seed", "from 0")),
    ({}, ("--rounds", "many"), "plain", ("--rounds",)),
]


@pytest.mark.parametrize(("world", "more", "policy", "said"), WRONG)
def test_wrong_use_is_named(
    tmp_path: Path, world: Any, more: tuple[str, ...], policy: str, said: tuple[str, ...]
) -> None:
    """Exit code 2, what is wrong and what is near it, and no figure."""
    done = bench(tmp_path, world, *more, policy=policy)
    assert (done.returncode, done.stdout) == (2, "")
    assert all(part in done.stderr for part in said), done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_world_is_named(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(BENCH),
        "--world",
        str(tmp_path / "none.json"),
        "--policy",
        "plain",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "none.json" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("world", [{"mode": "score"}, {"mode": "checklist"}])
@pytest.mark.parametrize("policy", ["plain", "keep-best"])
def test_without_a_held_out_judge_nothing_is_passed(
    tmp_path: Path, world: dict[str, Any], policy: str
) -> None:
    """The panel's word alone is UNCONFIRMED, and counted as such."""
    found = figures(tmp_path, {**world, "holdout": 0}, "--runs", "30", policy=policy)
    assert (
        "PASSED" not in found["results"]
        and found["true_pass"]["value"] == found["false_pass"]["value"] == 0
    )
    said = found["panel_true_pass"]["value"] + found["panel_false_pass"]["value"]
    assert said == pytest.approx(100 * found["results"]["UNCONFIRMED"] / 30)


@pytest.mark.slow
@pytest.mark.parametrize("world", [{"mode": "score", "sd": 0}, {"mode": "checklist", "flip": 0}])
def test_judges_without_errors_pass_nothing_that_is_not_so(
    tmp_path: Path, world: dict[str, Any]
) -> None:
    found = figures(tmp_path, {**world, "p_game": 0}, "--runs", "40", "--rounds", "8")
    assert found["false_pass"]["value"] == 0 and found["true_pass"]["value"] > 20


@pytest.mark.slow
def test_the_oracle_passes_nothing_that_is_not_so(tmp_path: Path) -> None:
    """However bad the judges of the world are: it asks one that makes no errors."""
    found = figures(
        tmp_path, {"sd": 15, "rho": 0.5, "judge_fails": 0.2}, "--runs", "40", policy="oracle"
    )
    assert (
        found["false_pass"]["value"] == 0
        and found["true_pass"]["value"] > 50
        and found["rounds_max"] <= 8
    )


def test_judges_that_fail_cost_calls_and_give_no_marks(tmp_path: Path) -> None:
    """A world in which every call fails can be judged by no policy."""
    found = figures(tmp_path, {"judge_fails": 1}, "--runs", "5")
    assert found["results"] == {"COULD_NOT_JUDGE": 5} and found["judge_calls"]["value"] == 3
