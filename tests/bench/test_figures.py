"""The arithmetic of the benchmark's figures, and the tables that show them."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any

import leaderboard
import pytest
import tables
from cells import PANEL, jobs
from driver import OBSERVERS, Outcome, Settings
from figures import Figure, Measured, figures_of
from goals import Goal, goals
from hypothesis import given
from hypothesis import strategies as st
from worlds import World

from honestone.core.loop.named import POLICIES
from honestone.core.loop.state import Result

REPO = Path(__file__).resolve().parents[2]


def outcome(result: Result = Result.PASSED, **given: Any) -> Outcome:
    usual: dict[str, Any] = {
        "is_good": True,
        "final": 70.0,
        "regressed": False,
        "judge_calls": 10,
        "holdout_calls": 4,
        "worker_calls": 5,
        "rounds": 5,
    }
    return Outcome(result=result, **{**usual, **given})


def cell(*outcomes: Outcome, world: World | None = None, label: str = "belief") -> Measured:
    done = figures_of(outcomes, world=world or World(), policy="belief", seed=1, seconds=1.0)
    return Measured(label=label, figures=done)


def test_figures_count_what_happened() -> None:
    """Two right PASSes, one wrong, one run that ended otherwise although its version is good."""
    found = cell(
        outcome(stated=0.9),
        outcome(stated=0.8, final=80.0),
        outcome(is_good=False, stated=0.7),
        outcome(Result.PLATEAU, judge_calls=30),
    ).figures
    assert (found.true_pass.value, found.false_pass.value, found.u3.value) == (
        50,
        25,
        pytest.approx(-25),
    )
    assert found.false_share.value == pytest.approx(
        100 / 3
    ) and found.stated.value == pytest.approx(0.8)
    assert found.final.value == 72.5 and found.final.se == pytest.approx(
        sqrt((3 * 2.5**2 + 7.5**2) / 3) / 2
    )
    assert (found.judge_calls_max, found.results) == (30, {"PASSED": 3, "PLATEAU": 1})


def test_what_is_not_defined_is_null() -> None:
    found = cell(outcome(Result.BUDGET)).figures
    assert found.false_share == Figure(None, None) == found.stated
    assert found.true_pass == Figure(0, None)


def test_the_panels_word_counts_where_no_judge_was_held_out() -> None:
    """Else UNCONFIRMED is what it says."""
    runs = (
        outcome(Result.UNCONFIRMED),
        outcome(Result.UNCONFIRMED, is_good=False),
        outcome(Result.PLATEAU),
    )
    alone = cell(*runs, world=World(holdout=0), label=PANEL)
    assert [one.value for one in (alone.true_pass, alone.false_pass)] == [
        pytest.approx(100 / 3)
    ] * 2
    assert alone.false_share.value == pytest.approx(50)
    assert alone.u3.value == pytest.approx(100 / 3 - 100)
    assert cell(*runs).figures.panel_true_pass.value == 0


@given(
    st.lists(
        st.tuples(st.sampled_from([Result.PASSED, Result.PLATEAU]), st.booleans()),
        min_size=2,
        max_size=60,
    )
)
def test_u3_is_the_same_by_either_way(runs: list[tuple[Result, bool]]) -> None:
    """From utilities of runs, and from shares: value and error. So the panel's word is compared by
    the same number.
    """
    usual = cell(*(outcome(result, is_good=good) for result, good in runs))
    words = {Result.PASSED: Result.UNCONFIRMED}
    alone = cell(
        *(outcome(words.get(r, r), is_good=g) for r, g in runs), world=World(holdout=0), label=PANEL
    )
    mine, theirs = usual.figures.u3, alone.u3
    assert theirs.value == pytest.approx(mine.value) and theirs.se == pytest.approx(
        mine.se, abs=1e-9
    )


def test_every_cell_has_its_own_name() -> None:
    every = list(jobs(POLICIES))
    assert len({job.key for job in every}) == len(every)
    assert {job.label for job in every} >= {PANEL, *POLICIES, *OBSERVERS}


def test_only_the_tables_of_a_page_are_written() -> None:
    measured = {
        (label, world.name): cell(outcome(), outcome(is_good=False), world=world, label=label)
        for label in ("keep-best", "belief")
        for world in tables.HEADLINE
    }
    page = "before\n<!-- measured: means -->\nold\n<!-- end -->\nafter <!-- end -->\n"
    new = tables.written(page, measured)
    assert new.startswith(
        "before\n<!-- measured: means -->\n\n| policy | mean U3 |"
    ) and new.endswith("after <!-- end -->\n")
    assert "| keep-best | -100.0 ±100.0 | -100.0 ±200.0 |" in new and "old" not in new
    assert tables.written(new, measured) == new


@pytest.mark.parametrize("page", tables.PAGES)
def test_pages_show_what_is_on_record(page: str) -> None:
    """A figure in the docs is one that was measured: `make bench-improve`, or `leaderboard.py
    --write`.
    """
    text = (REPO / page).read_text(encoding="utf-8")
    assert tables.written(text, leaderboard.on_record()) == text


@pytest.mark.slow
def test_a_cell_is_measured_in_parts_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the runs are spread over processes."""

    class Here:
        map = staticmethod(map)

    job = next(job for job in jobs(POLICIES) if job.label == "plain")
    found = []
    for chunk in (2, 50):
        monkeypatch.setattr(leaderboard, "CHUNK", chunk)
        done = leaderboard.measured(Here(), job, runs=5, seed=3)  # type: ignore[arg-type]
        found.append({**_plain(done), "seconds": 0})
    assert found[0] == found[1]


def _plain(done: Any) -> dict[str, Any]:
    return {name: getattr(done, name) for name in done.__struct_fields__}


def test_settings_are_each_policys_own_unless_given() -> None:
    assert (Settings(policy="plain").limits.rounds, Settings(policy="plain").limits.patience) == (
        5,
        3,
    )
    assert (Settings(policy="belief").limits.rounds, Settings(policy="belief").limits.patience) == (
        16,
        16,
    )
    given_ = Settings(policy="belief", rounds=3, patience=2, max_calls=9).limits
    assert (given_.rounds, given_.patience, given_.calls) == (3, 2, 9)


@pytest.mark.parametrize(
    ("figure", "is_most", "expected"),
    [
        (Figure(8.0, 0.1), True, "met"),
        (Figure(8.3, 0.2), True, "within the error"),
        (Figure(8.5, 0.2), True, "missed"),
        (Figure(7.9, 0.1), False, "within the error"),
        (Figure(9.0, None), True, "missed"),
        (Figure(None, None), True, "not measured"),
    ],
)
def test_a_goal_is_missed_beyond_its_error(figure: Figure, is_most: bool, expected: str) -> None:
    assert Goal(what="x", bar=8, figure=figure, is_most=is_most).outcome == expected


def test_goals_name_the_cells_that_there_are() -> None:
    """Each belongs to a world of the leaderboard; what was not measured has no row."""
    names = {(job.label, job.world.name) for job in jobs(POLICIES)}
    record = {
        key: cell(outcome(stated=0.9), outcome(is_good=False, stated=0.8), label=key[0])
        for key in names
    }
    whole = list(goals(record))
    assert len(whole) == 4 * 8 + 4 + 8 + 3
    stated = next(goal for goal in whole if goal.what == "checklist: stated above what is so")
    assert stated.figure.value == pytest.approx(85 - 50)
    assert list(goals({})) == []


@pytest.mark.parametrize("name", list(tables.TABLES))
def test_tables_of_a_part_of_the_cells(name: str) -> None:
    """A measurement may be cut short: what is not there has no row, and no cell stands for it."""
    every = list(jobs(POLICIES))
    for count in (0, 1, 7, len(every)):
        record = {
            job.key: cell(outcome(stated=0.9), label=job.label, world=job.world)
            for job in every[:count]
        }
        lines = tables.TABLES[name](record).splitlines()
        assert lines[1].startswith("| --- |") and len({line.count("|") for line in lines}) == 1
