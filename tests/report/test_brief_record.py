"""A run of many cases whose words stay in the store: its report has the bytes that it has where all
is in memory.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.report.test_suite_figures import CASE, log_of

from honestone.adapters.stores.memory import MemoryStore
from honestone.adapters.stores.stored import StoredCases
from honestone.app.remote.record import WatchedRecord
from honestone.app.suites.running.side_run import SideRun
from honestone.cli.main import main
from honestone.core.belief.verdict import TextBelief
from honestone.core.events import AttemptJudged, CasePassedBy, Event, OutputProduced, SidesCompared
from honestone.core.judging.ballot import Mark
from honestone.core.record import case_belief
from honestone.core.record import record as records
from honestone.core.record.event_codec import event_from_plain, event_to_plain
from honestone.core.record.record import FEW, CaseRecord, SuiteRecord, read_record
from honestone.core.skill.sides import SidesComparison
from honestone.core.suite.attempts import Status
from honestone.core.suite.case import Case
from honestone.report.building.suite import suite_report

WORDS = st.text(max_size=20) | st.just("half a pair \ud800")


def with_words(log: list[Event], words: list[str]) -> list[Event]:
    """The same run, whose outputs and judges say something: each in its own words."""
    said, out = cycle(words), list[Event]()
    for event in log:
        if isinstance(event, OutputProduced):
            event = replace(event, output=next(said), diff=next(said))
        if isinstance(event, AttemptJudged):
            ballots = [
                replace(
                    one,
                    marks={
                        key: Mark(mark.answer, (next(said),), next(said))
                        for key, mark in one.marks.items()
                    },
                    problems=(next(said),),
                )
                for one in event.ballots
            ]
            event = replace(event, ballots=tuple(ballots))
        out.append(event)
    return out


def both(log: list[Event]) -> tuple[Any, Any]:
    """The report of a run from memory, and from a store with nothing but numbers in memory."""
    store = MemoryStore()
    run = store.start_run(kind="suite", subject="s", identity="i", contract="c", first=log[0])
    store.append_many(run, log[1:])
    whole = suite_report(read_record(store.events(run), run=run)).whole
    with patch.object(records, "FEW", 0):
        brief = read_record(store.iter_events(run), run=run, is_brief=True)
    streamed = suite_report(brief, log=lambda: nullcontext(store.by_case(run)))
    try:
        return whole, (streamed.whole, brief)
    finally:
        store.close()


@given(st.lists(CASE, min_size=1, max_size=4), st.lists(WORDS, min_size=1, max_size=5))
@example(
    [("run", "mean", [(True, None), "error"]), ("run", "best", [(True, True)])], ["a", "\ud800"]
)
def test_a_report_from_the_store_is_the_report_from_memory(
    cases: list[Any], words: list[str]
) -> None:
    whole, (streamed, brief) = both(with_words(log_of(cases), words))
    assert streamed == whole
    assert brief.verdict == whole.verdict


@given(st.lists(CASE, min_size=1, max_size=4), st.lists(WORDS, min_size=1, max_size=5))
@example(
    [
        ("run", "mean", [(True, None), "error"]),
        ("skip", "mean", []),
        ("run", "best", [(True, True)]),
    ],
    ["a", "\ud800"],
)
def test_a_report_of_a_coordinator_is_the_report_from_memory(
    cases: list[Any], words: list[str]
) -> None:
    """It keeps no case that is over: its report reads them from the store, one at a time."""
    log = with_words(log_of(cases), words)
    store = MemoryStore()
    run = store.start_run(kind="suite", subject="s", identity="i", contract="c", first=log[0])
    store.append_many(run, log[1:])
    whole = read_record(log, run=run)
    watched = WatchedRecord(run, store, lambda: nullcontext(store))
    for event in log[1:]:
        watched.add(event)
    assert suite_report(watched).whole == suite_report(whole).whole
    assert watched.verdict == whole.verdict
    assert watched.belief == whole.belief
    over = {id for id, one in whole.cases.items() if one.is_complete or one.passed_by is not None}
    assert watched.left.keys() == whole.cases.keys() - over
    assert watched.bad == sum(
        whole.cases[id].result.status is not Status.PASSED
        for id in over
        if whole.cases[id].is_complete
    )
    store.close()


def test_a_coordinator_keeps_nothing_of_cases_that_are_over() -> None:
    """Of those that are not, what is alike is one object."""
    log = log_of([("run", "mean", [(True, False)])] * 50)
    store = MemoryStore()
    run = store.start_run(kind="suite", subject="s", identity="i", contract="c", first=log[0])
    watched = WatchedRecord(run, store, lambda: nullcontext(store))
    assert len(watched.left) == 50 and len({id(one) for one in watched.left.values()}) == 1
    for event in log[1:]:
        watched.add(event)
    assert not watched.left and not watched.cases and not watched._under_way
    store.close()


def test_a_coordinator_reads_its_cases_once_for_what_they_come_to() -> None:
    """Rates, belief and verdict come from one pass over the store."""
    log = log_of([("run", "mean", [(True, False)])] * 5)
    store = MemoryStore()
    run = store.start_run(kind="suite", subject="s", identity="i", contract="c", first=log[0])
    store.append_many(run, log[1:])
    opened = 0

    def reading() -> nullcontext[MemoryStore]:
        nonlocal opened
        opened += 1
        return nullcontext(store)

    watched = WatchedRecord(run, store, reading)
    for event in log[1:]:
        watched.add(event)
    assert watched.belief is not None
    assert watched.verdict == "pass"
    assert opened == 1
    store.close()


def test_a_coordinator_that_takes_a_run_up_waits_for_what_a_limit_left_out() -> None:
    """A case that was passed by, or whose judge a limit refused, is over when it is judged; or when
    it is passed by again.
    """
    begun, *done = log_of([("run", "mean", [(True, True)])] * 4)
    produced, judged = (
        [one for one in done if isinstance(one, kind)] for kind in (OutputProduced, AttemptJudged)
    )
    store = MemoryStore()
    run = store.start_run(kind="suite", subject="s", identity="i", contract="c", first=begun)
    watched = WatchedRecord(run, store, lambda: nullcontext(store))
    limited = [CasePassedBy(case="c0", reason="a limit"), CasePassedBy(case="c3", reason="a limit")]
    refused = [
        produced[1],
        replace(judged[1], ballots=(), refused="a limit"),
        produced[2],
        judged[2],
    ]
    for event in (*limited, *refused):
        watched.add(event)
    assert not watched.left and watched.bad == 1
    watched.ask_again()
    assert set(watched.left) == {"c0", "c1", "c3"} and watched.bad == 0
    watched.add(produced[0])
    assert "c0" in watched.left
    for event in (judged[0], judged[1]):
        watched.add(event)
    assert set(watched.left) == {"c3"} and watched.bad == 0
    watched.leave_out_passed_by()
    assert not watched.left
    store.close()


def test_a_comparison_has_its_words_too() -> None:
    """What a run kept of its baseline has no texts of its own: they are those of its cases."""
    from honestone.app.suites.comparing.compare import compare_summaries
    from honestone.core.record.summary import summary_of

    log = with_words(
        log_of([("run", "mean", [(True, True)]), ("run", "mean", [(False, True)])]),
        ["one", "two", "three"],
    )
    summary = summary_of(read_record(log, run="R"))
    comparison = compare_summaries(summary, summary, gates=(), across=False)
    stored = event_to_plain(SidesCompared(sides=SidesComparison(comparison=comparison)))
    whole, (streamed, _) = both([*log, event_from_plain(stored)])
    assert streamed == whole
    assert all(one.candidate.output for one in streamed.comparison.cases)


def test_what_ended_holds_no_text_and_shares_its_answers() -> None:
    """Ten thousand cases that were answered alike hold one ballot, and no output."""
    log = with_words(
        log_of([("run", "mean", [(True, False)])] * (FEW + 1)), ["a word that is long"]
    )
    brief = read_record(log, is_brief=True)
    assert len({id(one.ballots[1]) for one in brief.cases.values()}) == 1
    assert all(
        one.produced[1].output == "" and one.produced[1].duration_ms == 1
        for one in brief.cases.values()
    )
    few = read_record(log_of([("run", "mean", [(True, False)])] * 3), is_brief=True)
    assert not few.is_brief and few.cases["c0"].produced[1].output == "x"


def test_an_output_that_is_not_judged_yet_is_kept() -> None:
    """A run that is resumed judges it."""
    log = log_of([("run", "mean", [(True, False)])])
    with patch.object(records, "FEW", 0):
        brief = read_record(log[:2], is_brief=True)
    assert brief.cases["c0"].produced[1].output == "x"
    brief.add(log[2])
    assert brief.cases["c0"].produced[1].output == ""


@pytest.mark.parametrize("name", ["é", "\ud800", 'a"b'])
def test_events_are_found_by_their_case(name: str) -> None:
    """Whatever it is called."""
    store = MemoryStore()
    run = store.start_run(
        kind="suite", subject="s", identity="i", contract="c", first=log_of([])[0]
    )
    about = ((name, 1), ("other", 1), (name, 2))
    events = [OutputProduced(case=one, attempt=number, output=f"of {one}") for one, number in about]
    store.append_many(run, events)
    read = store.by_case(run)
    assert (
        list(read(name)) == [events[0], events[2]]
        and list(read("other")) == [events[1]]
        and not list(read("none"))
    )
    store.close()


def test_a_long_run_leaves_its_recorded_cases_in_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it works it keeps none of them: they are on disk, and are read there by who asks."""
    cases = [{"id": f"c{n}", "input": "x", "checks": [{"contains": "x"}]} for n in range(3)]
    suite = {"suite": 1, "target": "mock", "cases": cases}
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(records, "FEW", 2)
    monkeypatch.setattr("sys.argv", ["honestone", "eval", "suite.json", "-q"])
    seen: list[Any] = []
    finish = SideRun.finish

    def noted(side: SideRun, *arguments: Any) -> SuiteRecord:
        seen.append(side.record.started.cases)
        assert [one.id for one in side.record.started.cases] == ["c0", "c1", "c2"]
        return finish(side, *arguments)

    monkeypatch.setattr(SideRun, "finish", noted)
    with pytest.raises(SystemExit):
        main()
    assert [type(one) for one in seen] == [StoredCases]


def test_what_is_on_record_of_an_attempt_is_in_one_place() -> None:
    """A run of many cases has one dictionary a case, and not one for outputs, answers and ends each."""
    record = read_record(log_of([("run", "mean", [(True, True)]), ("run", "mean", ["error"])]))
    for one in record.cases.values():
        values = [getattr(one, name) for name in CaseRecord.__slots__]
        assert [value for value in values if isinstance(value, dict)] == [one.made]
        (made,) = one.made.values()
        assert (made.produced, made.ballots or ()) == (one.shown_output, one.shown_ballots)
        assert made.ended == one.result.shown


def test_what_equal_answers_say_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long run, whatever the number of its cases."""
    asked: list[str] = []
    belief_text = case_belief.belief_text

    def noted(case: Case) -> TextBelief:
        asked.append(case.id)
        return belief_text(case)

    monkeypatch.setattr(case_belief, "belief_text", noted)
    log = log_of([("run", "mean", [(number % 3 > 0, None)]) for number in range(60)])
    whole, (streamed, brief) = both(log)
    asked.clear()
    brief._belief = None
    assert brief.belief == read_record(log).belief
    assert brief.belief is not None and brief.belief.looks == 60
    assert len(asked) == 60 + 2
    assert streamed == whole


def test_of_two_judgements_of_an_attempt_the_one_counts_that_counted() -> None:
    """A limit refused a judge first, and the run was resumed."""
    log = log_of([("run", "mean", [(True, None)]), ("run", "mean", [(False, None)])])
    at = next(place for place, event in enumerate(log) if isinstance(event, AttemptJudged))
    judged = log[at]
    assert isinstance(judged, AttemptJudged)
    none = tuple(replace(one, marks={}) for one in judged.ballots)
    refused = replace(judged, ballots=none, refused="--max-calls 1")
    for twice in ([refused, judged], [judged, refused]):
        whole, (streamed, _) = both([*log[:at], *twice, *log[at + 1 :]])
        assert streamed == whole


def test_words_are_put_back_without_scoring_again(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of([("run", "mean", [(True, None), (False, None)])])
    with patch.object(records, "FEW", 0):
        brief = read_record(log, is_brief=True)
    (case,) = brief.each()
    memory = read_record(log).cases[case.case.id]
    monkeypatch.setattr(CaseRecord, "add", None)
    found = case.whole(log)
    assert found.produced == memory.produced and found.ballots == memory.ballots
    assert found.result == memory.result and found.attempts == memory.attempts
