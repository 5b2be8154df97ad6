"""How many cases are at work at a time: what is said of a run holds on all machines together, what is
said of a runner on its own.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.desk import Desk

from .site import Site

CASES = [
    {"id": f"c{n:02}", "input": f"apple {n}", "checks": [{"contains": ["apple"]}]}
    for n in range(24)
]
# Each says that it is here, and how many are, itself among them, before it answers.
COUNTED = """cd {folder}; touch here.$$; ls here.* | wc -l >> counts
{waits}
cat; rm here.$$
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "counted"
    made.mkdir()
    return made


def project(desk: Desk, folder: Path, *, waits: str = "", settings: str = "", **suite: int) -> None:
    desk.file("honestone.toml", settings)
    desk.file("suite.yaml", json.dumps({"suite": 1, "cases": CASES, **suite}))
    desk.file("target.sh", COUNTED.format(folder=folder, waits=waits))


def order(site: Site, *more: str) -> dict[str, int]:
    done = site.order("--target", "cmd:sh target.sh", "--sandbox", "none", *more)
    out, err = done.communicate(timeout=120)
    assert done.returncode == 0, err
    found: dict[str, int] = json.loads(out)["counts"]
    return found


def test_a_runner_has_as_many_cases_at_work_as_it_has_hands(
    desk: Desk, site: Site, folder: Path
) -> None:
    """None of 24 answers before all 24 have been asked, although a run on one machine has 8 at work."""
    project(
        desk,
        folder,
        waits="while [ $(ls here.* | wc -l) -lt 24 -a ! -e all ]; do sleep 0.05; done; touch all",
    )
    site.runner("--concurrency", "24")
    assert order(site)["passed"] == 24


@pytest.mark.parametrize(
    ("suite", "settings", "option"),
    [
        ({"concurrency": 3}, "", ()),
        ({}, "[limits]\nconcurrency = 3\n", ()),
        ({"concurrency": 9}, "[limits]\nconcurrency = 9\n", ("--concurrency", "3")),
    ],
    ids=["suite", "settings", "option"],
)
def test_what_is_said_of_a_run_holds_over_all_runners(
    desk: Desk,
    site: Site,
    folder: Path,
    suite: dict[str, int],
    settings: str,
    option: tuple[str, ...],
) -> None:
    """Three cases at a time, however many hands two runners have."""
    project(desk, folder, waits="sleep 0.1", settings=settings, **suite)
    for _ in range(2):
        site.runner("--concurrency", "8")
    assert order(site, *option)["passed"] == 24
    assert 2 <= max(map(int, (folder / "counts").read_text().split())) <= 3


def test_a_suite_that_is_to_be_sure_has_as_many_at_work_as_its_runner_has_hands(
    desk: Desk, site: Site, folder: Path
) -> None:
    """One runner at a time works on it."""
    cases = [{**one, "rubric": ["it says apple"]} for one in CASES]
    project(
        desk,
        folder,
        waits="while [ $(ls here.* | wc -l) -lt 12 -a ! -e all ]; do sleep 0.05; done; touch all",
    )
    desk.file("suite.yaml", json.dumps({"suite": 1, "sure": 90, "cases": cases}))
    judge = desk.judge("one")
    site.runner("--concurrency", "12")
    assert order(site, "--judge", judge.spec, "--min-pass-rate", "0.5")["passed"]
