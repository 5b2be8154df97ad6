"""A suite that is ordered keeps its cases in a file: what is planned, chosen and said is the same,
and memory hardly grows with it.
"""

from __future__ import annotations

import json
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace
from tests.report.test_suite_figures import log_of

from honestone.adapters.stores.memory import MemoryStore
from honestone.app.doors.quiet import Quiet
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.remote.order import make_order
from honestone.app.remote.record import UnfinishedCases, WatchedRecord
from honestone.app.remote.request import ordered
from honestone.app.suites.choice import CaseChoice
from honestone.app.suites.costs import suite_cost
from honestone.app.suites.plan import SuitePlan, SuiteRequest
from honestone.app.suites.planning import plan_suite
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.events import SuiteStarted
from honestone.core.record.record import read_record
from honestone.core.suite.outline import outline_of
from honestone.system.case_file import PAGE, CaseFile

FEW, MANY = 2_000, 6_000
MOST = 200
"""Bytes of memory that a case may take at the peak; each of ours was 600 when all were kept."""

SUITE = {"suite": 1, "rubric": [{"id": "r", "check": {"contains": "a"}}], "cases": "cases.jsonl"}


def row(number: int) -> dict[str, object]:
    """Every kind of row: with checks of its own, skipped, with vars, tags, a split, files, and what
    is hard to write down.
    """
    more: list[dict[str, object]] = [
        {"tags": ["hot", "é"], "metadata": {"source": [1, None, 2.5]}},
        {"checks": [{"contains": "b"}], "attempts": 3},
        {"skip": "not yet", "split": "test"},
        {"input": "of {{city}}", "vars": {"city": "Paris"}, "timeout": 2.5},
        {
            "workspace": {"files": {"a.txt": "x"}},
            "expect": {"score": [10, 30.5], "verdict": "fail"},
        },
        {
            "input": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
            "reference": "r",
            "setup": "true",
        },
        {},
    ]
    return {"id": f"case-{number:05}", "input": f"Question {number}", **more[number % len(more)]}


def planned(
    folder: Path,
    *,
    is_ordered: bool,
    choice: CaseChoice = CaseChoice(),
    threshold: float | None = None,
) -> SuitePlan:
    judging = JudgingOptions(threshold=threshold)
    request = SuiteRequest(
        suite=Path("suite.json"),
        target="cmd:cat",
        judging=judging,
        choice=choice,
        is_ordered=is_ordered,
    )
    return plan_suite(Workspace.at(folder), request, Quiet())


def suite(folder: Path, rows: list[dict[str, object]]) -> Path:
    (folder / "suite.json").write_text(json.dumps(SUITE))
    (folder / "cases.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return folder


@pytest.mark.parametrize("threshold", [None, 80.0])
@pytest.mark.parametrize(
    "choice",
    [
        CaseChoice(),
        CaseChoice(ids=("case-00001", "case-000?7", "case-*42")),
        CaseChoice(tags=("hot",), shard="2/3"),
        CaseChoice(splits=("test",)),
        CaseChoice(
            failed=True,
            statuses={
                "case-00003": ["failed"],
                "case-00150": ["passed", "failed"],
                "gone": ["failed"],
            },
        ),
    ],
)
def test_what_is_ordered_is_what_would_be_run_here(
    tmp_path: Path, choice: CaseChoice, threshold: float | None
) -> None:
    """The same cases in the same order under the same contracts, and the same first event."""
    suite(tmp_path, [row(number) for number in range(2 * PAGE + 10)])
    here, there = (
        planned(tmp_path, is_ordered=one, choice=choice, threshold=threshold)
        for one in (False, True)
    )
    assert isinstance(here.cases, tuple) and not isinstance(there.cases, tuple)
    assert [case.id for case in there.chosen] == [case.id for case in here.chosen]
    assert there.left_out == here.left_out and there.source.places == here.source.places
    assert there.identity(there.subject, there.chosen) == here.identity(here.subject, here.chosen)
    assert _started(there) == _started(here)


def _started(plan: SuitePlan) -> tuple[list[object], SuiteStarted]:
    first = plan.started(plan.subject, plan.chosen, plan.meter(0))
    return [dict(one.plain) for one in first.cases], replace(first, cases=())


@pytest.mark.parametrize(
    "wrong",
    [
        [{"id": "a", "input": "x"}, {"id": "b", "input": "x"}, {"id": "a", "input": "y"}],
        [
            {"id": "a", "input": "x"},
            {"id": "b", "input": "x", "chekcs": []},
            {"input": "y", "attempts": 0},
        ],
        [{"id": "a", "input": "x"}, {"id": "b", "input": "x", "workspace": {"copy": "gone"}}],
        [
            {"id": "a", "input": "x", "depends_on": ["b"]},
            {"id": "b", "input": "x", "depends_on": ["a"]},
        ],
        [],
    ],
)
def test_what_is_wrong_is_said_as_without_an_order(
    tmp_path: Path, wrong: list[dict[str, object]]
) -> None:
    """Each mistake at its place, before anything is ordered."""
    suite(tmp_path, wrong)
    said = []
    for is_ordered in (False, True):
        with pytest.raises(UsageError) as refused:
            planned(tmp_path, is_ordered=is_ordered)
        every = getattr(refused.value, "errors", (refused.value,))
        said.append([(str(one.place), one.message, one.hint) for one in every])
    assert said[0] == said[1] and said[0]


def test_without_room_for_a_file_the_cases_are_kept_in_memory(tmp_path: Path) -> None:
    suite(tmp_path, [row(number) for number in range(8)])
    with patch(
        "honestone.system.case_file.TemporaryFile",
        side_effect=OSError(28, "No space left on device"),
    ):
        plan = planned(tmp_path, is_ordered=True)
    assert isinstance(plan.cases, tuple) and len(plan.cases) == 8


def test_the_file_of_cases_has_no_name_and_ends_with_them(tmp_path: Path) -> None:
    suite(tmp_path, [row(number) for number in range(8)])
    with patch.object(tempfile, "tempdir", str(tmp_path)):
        plan = planned(tmp_path, is_ordered=True)
        kept = plan.source.suite.cases
        assert (
            isinstance(kept, CaseFile)
            and kept[-1].id == "case-00007"
            and [one.id for one in kept[6:]] == ["case-00006", "case-00007"]
        )
        assert kept[0].rubric is kept[6].rubric and kept[0].rubric is not kept[1].rubric
        with pytest.raises(IndexError):
            kept[8]
    assert {path.name for path in tmp_path.iterdir()} == {"suite.json", "cases.jsonl"}


# -------------------------------------------------------------------------------------------------------------
# memory


@pytest.mark.slow
def test_the_memory_of_an_order_hardly_grows_with_its_cases(tmp_path: Path) -> None:
    """Reading, checking, choosing, the identity of the run, its first event and the ids that are
    queued.
    """

    def order(folder: Path) -> None:
        plan = planned(folder, is_ordered=True)
        first = plan.started(plan.subject, plan.chosen, plan.meter(plan.judge_calls(plan.chosen)))
        assert plan.identity(plan.subject, plan.chosen) and sum(
            1 for one in first.cases if one.id
        ) == len(plan.cases)

    peaks = []
    for number in (10, FEW, MANY):  # the first one loads what is needed
        folder = tmp_path / str(number)
        folder.mkdir()
        suite(
            folder, [{"id": f"case-{one:05}", "input": f"Question {one}"} for one in range(number)]
        )
        # A file is asked for so many bytes at once, whatever its size: tracemalloc counts them all.
        with patch("honestone.formats.syntax.document.MOST_LINES", 1_000_000):
            peaks.append(_peak(lambda folder=folder: order(folder)))
    assert (peaks[2] - peaks[1]) / (MANY - FEW) < MOST, peaks


@pytest.mark.slow
def test_the_memory_of_watching_hardly_grows_with_the_cases(tmp_path: Path) -> None:
    suite(tmp_path, [{"id": f"case-{one:05}", "input": f"Question {one}"} for one in range(MANY)])
    plan, store = planned(tmp_path, is_ordered=True), MemoryStore()
    runs = [
        store.start_run(
            kind="suite",
            subject="s",
            identity="i",
            contract="c",
            first=plan.started(plan.subject, plan.chosen[:number], plan.meter(0)),
        )
        for number in (10, FEW, MANY)
    ]
    peaks = [
        _peak(lambda run=run: WatchedRecord(run, store, lambda: nullcontext(store))) for run in runs
    ]
    assert (peaks[2] - peaks[1]) / (MANY - FEW) < MOST, peaks
    store.close()


def test_ids_whose_hashes_are_equal_are_told_apart() -> None:
    """Each case is left until its own result is there, and they come in the suite's order."""
    begun, *_ = log_of([("run", "mean", [(True, True)])] * 5)
    assert isinstance(begun, SuiteStarted)
    record = read_record([begun])

    def weak(self: UnfinishedCases, id: str) -> int:
        return hash((self._salt, id)) if self._salt else 7

    with patch.object(UnfinishedCases, "_hash", weak):
        left = UnfinishedCases(begun.cases, record.case_record)
        assert list(left) == [one.id for one in begun.cases] and len(left) == 5
        left.put("c1", is_left=False)
        left.put("c1", is_left=False)
        left.put("c3", is_left=False)
        left.put("c3", is_left=True)
        assert list(left) == ["c0", "c2", "c3", "c4"] and len(left) == 4 and "gone" not in left
        with pytest.raises(KeyError):
            left.put("gone", is_left=True)


def _peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        kept = work()
        del kept
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_cases_of_an_order_are_gone_through_three_times(tmp_path: Path) -> None:
    """To plan them, to find the unfinished run of the same ones, and to record them: each time every
    case is made anew from its file.
    """
    suite(tmp_path, [row(number) for number in range(2 * PAGE + 10)])
    times = 0
    each_row = CaseFile._each_row

    def counted(self: CaseFile) -> Iterator[Any]:
        nonlocal times
        times += 1
        return each_row(self)

    with patch.object(CaseFile, "_each_row", counted):
        plan = planned(tmp_path, is_ordered=True)
        make_order(plan, ordered(plan.workspace, plan.request), tmp_path, MemoryStore())
        suite_cost(plan, 1)
        plan.identity(plan.subject, plan.chosen)
        first = plan.started(plan.subject, plan.chosen, plan.meter(plan.judge_calls(plan.chosen)))
        assert len(list(first.cases)) == 2 * PAGE + 10
    assert times == 3


def test_an_outline_says_what_the_cases_say(tmp_path: Path) -> None:
    """Found while cases are written to a file, in a pass over made cases, or in memory: the same."""
    suite(tmp_path, [row(number) for number in range(2 * PAGE + 10)])
    here, there = (planned(tmp_path, is_ordered=one) for one in (False, True))
    for cases in (here.chosen, there.chosen, there.source.suite.cases):
        outline = outline_of(cases)
        listed = list(cases)
        assert list(outline.rubrics) == list(dict.fromkeys(id(one.rubric) for one in listed))
        assert [listed[0].id, listed[1].id] == list(outline.first.values())[:2]
        assert outline.workspaces == {one.id: one.workspace for one in listed if one.workspace}
        assert outline.skipped == sum(one.skip is not None for one in listed)
        assert outline.attempts == Counter(one.attempts for one in listed if one.skip is None)
        assert not outline.has_dependencies
