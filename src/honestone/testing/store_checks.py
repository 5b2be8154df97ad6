"""The check of a store: runs, events, replies, claims, grants and the journal of many machines."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from honestone import ports
from honestone.core import events
from honestone.core.errors import StoreError
from honestone.core.json_value import Json, JsonObject
from honestone.core.judging.spend import GrantRequest, RunGrants
from honestone.core.live import LiveRun
from honestone.testing.expectations import (
    require,
)


def check_store(make_store: Callable[[], ports.Store], *, survives: bool = True) -> None:
    """Whether a store keeps the promises of `ports.Store`.

    `make_store` opens the store, which has to be empty at first; called again it has to open the
    same one (a store that is gone with its process says `survives=False`).
    """
    store = make_store()
    require(store.runs() == [], "the store must be empty at first")
    first = _first(
        text="é \U0001f600 \u0000", numbers=[0, -1, 2**53, 0.1, None, True], deep={"a": [{}]}
    )
    run = store.start_run(kind="eval", subject="a.md", identity="one", contract="c1", first=first)
    log: list[events.Event] = [first]
    for number in range(3):
        event = events.LimitReached(reason=str(number), seconds=number / 8)
        store.append(run, event, {f"blob-{number}": bytes(range(number * 100))})
        log.append(event)
    many = [events.ArtifactJudged(path=f"{n}.md", digest=str(n)) for n in range(50)]
    store.append_many(run, many)
    log += many
    require(store.events(run) == log, "`events` must give back every event, unchanged and in order")
    made = [
        events.OutputProduced(case=case, attempt=n, output=case)
        for n, case in enumerate(("a", "b", "a"), 1)
    ]
    store.append_many(run, made)
    log += made
    log += _check_once(store, run)
    _check_cases(store)
    of_case = store.by_case(run)
    require(
        list(of_case("a"))[:2] == [made[0], made[2]],
        "`by_case` must give the events of a case, in order",
    )
    require(
        list(of_case("no such case")) == [], "a case that nothing is on record of has no events"
    )
    require(store.events("no-such-run") == [], "a run that is not there has no events")
    require(list(store.iter_events(run)) == log, "`iter_events` must give what `events` gives")
    require(
        list(store.iter_events(run, 2)) == log[2:],
        "`iter_events` must leave out as many events as it is asked to",
    )
    require(store.event_count(run) == len(log), "`event_count` must count the events of a run")
    require(store.event_count("no-such-run") == 0, "a run that is not there has no events to count")
    last = json.loads(store.last_event(run))
    require(last["type"] == log[-1].type, "`last_event` must give the newest event as it is kept")
    require(store.last_event("no-such-run") == b"", "a run that is not there has no last event")
    _check_live(store, run)
    _check_claims(store)
    _check_grants(store, run)
    _check_slots(store)
    _check_blobs(store)
    _check_replies(store)
    other = _check_runs(store, run, log)
    asyncio.run(_check_journal(store, run))
    if survives:
        store.close()
        store = make_store()
        require(
            store.events(run)[: len(log)] == log,
            "the events must still be there when the store is opened again",
        )
        require(
            store.blob("blob-2") == bytes(range(200)),
            "content must still be there when the store is opened again",
        )
        require(
            store.reply("key") == {"text": "second"},
            "replies must still be there when the store is opened again",
        )
        third = store.start_run(
            kind="eval", subject="c.md", identity="three", contract="c", first=_first()
        )
        require(third > other > run, "ids must sort by time, also after the store was opened again")
    store.close()


def _check_once(store: ports.Store, run: str) -> list[events.Event]:
    """Check that an attempt gets one output and one judgement that was not refused, whichever
    process writes. Returns the events that were added.
    """
    refused = events.AttemptJudged(case="b", attempt=2, refused="--max-calls 0 are used up")
    judgement = events.AttemptJudged(case="b", attempt=2)
    later = events.AttemptJudged(case="b", attempt=2, seconds=1.0)
    require(
        store.append(run, refused) is None and store.append(run, refused) is None,
        "refusals may be many",
    )
    require(
        store.append(run, judgement) is None, "an attempt that was refused may be judged after that"
    )
    require(
        store.append(run, later) == judgement,
        "`append` must give what was on record before, and keep that",
    )
    passed_by = events.CasePassedBy(case="c", reason="first")
    require(store.append(run, passed_by) is None, "a case can be passed by")
    require(
        store.append(run, events.CasePassedBy(case="c", reason="second")) == passed_by,
        "a case is passed by once",
    )
    made, other = (
        events.OutputProduced(case="d", attempt=1, output="d"),
        events.OutputProduced(case="e", attempt=1, output="e"),
    )
    require(
        store.append_many(run, [made]) == {},
        "`append_many` must give nothing where every event was kept",
    )
    again = [replace(made, output="late"), events.AttemptJudged(case="d", attempt=1), other]
    found = store.append_many(run, again)
    require(found == {0: made, 1: None}, f"`append_many` must say what was not kept, not {found}")
    return [refused, refused, judgement, passed_by, made, other]


def _check_cases(store: ports.Store) -> None:
    """The cases of a suite's run come back with its first event, and one by one."""
    names = [f"case {n}" for n in range(1203)]
    first = _suite_of(names)
    cases = first.cases
    run = store.start_run(kind="suite", subject="s", identity="cases", contract="c", first=first)
    started = store.events(run)[0]
    require(
        started == first, "the first event of a suite's run must come back with its cases, in order"
    )
    assert isinstance(started, events.SuiteStarted)
    require(
        len(started.cases) == 1203 and started.cases[-1].id == names[-1],
        "the cases must be counted",
    )
    found = store.cases_of(run, ["case 700", "no such case", "case 3"])
    require(
        found == {one.id: (one, []) for one in (cases[700], cases[3])},
        "cases must be readable by their ids",
    )
    require(store.result_of(run) is None, "an unfinished run has no result")
    _check_attempts(store, run)
    store.finish_run(run, "pass", events.RunFinished(result="pass"))
    require(
        store.result_of(run) == "pass",
        "a finished run is not unfinished: `result_of` must know its result",
    )


def _suite_of(names: Sequence[str]) -> events.SuiteStarted:
    """The first event of a run of a suite with these cases."""
    plain: JsonObject = {
        "input": [["user", "é \u0000"]],
        "attempts": 1,
        "attempt_rule": "mean",
        "split": "train",
    }
    cases = tuple(
        events.RecordedCase({"id": name, **plain, "rubric": "r", "contract": name})
        for name in names
    )
    suite = events.StartedSuite(path="s")
    return events.SuiteStarted(suite=suite, contract={}, contract_id="c", rubrics={}, cases=cases)


def _check_attempts(store: ports.Store, run: str) -> None:
    one, other = (
        events.OutputProduced(case=names, attempt=1, output="o") for names in ("case 1", "case 2")
    )
    more = events.OutputProduced(case="case 1", attempt=2, output="o")
    judged, refused = (
        events.AttemptJudged(case="case 1", attempt=1, refused=why) for why in (None, "a limit")
    )
    passed = events.CasePassedBy(case="case 3", reason="r")
    store.append_many(run, [refused, other, one, more, judged, passed])
    by_case = {id: made for id, (_, made) in store.cases_of(run, ["case 3", "case 1"]).items()}
    require(
        by_case == {"case 1": [one, judged], "case 3": [passed]},
        "what is on record of the attempts that a case has comes with it, in order, and that it was passed by",
    )


def _first(**facts: Json) -> events.Event:
    return events.OtherEvent(name="check", facts={"type": "check", **facts})


def _check_live(store: ports.Store, run: str) -> None:
    require(store.live(run) is None, "a run that says nothing has no record")
    store.keep_live(run, lambda: LiveRun(run=run, done=3, total=8))
    end = time.monotonic() + 30
    while (stored := store.live(run)) is None and time.monotonic() < end:
        time.sleep(0.05)
    require(
        stored is not None and (stored.live.done, stored.live.total) == (3, 8),
        "what a run says now must be kept",
    )


def _check_claims(store: ports.Store) -> None:
    _check_one_holder("run", "that nothing works on", store.lock, store.unlock)
    _check_one_holder("request", "that no one asks", store.claim_reply, store.give_back_reply)


def _check_one_holder(
    what: str, free: str, take: Callable[[str], bool], give_back: Callable[[str], object]
) -> None:
    require(take("sha256:one"), f"a {what} {free} can be claimed")
    require(not take("sha256:one"), f"a {what} that is claimed cannot be claimed again")
    require(take("sha256:two"), f"the claim of one {what} must not hold up another")
    give_back("sha256:one")
    require(take("sha256:one"), "a claim that was given back is free")
    for name in ("sha256:one", "sha256:two", "sha256:never"):
        give_back(name)


def _check_grants(store: ports.Store, run: str) -> None:
    opened = store.open_grants(run, RunGrants())
    require(
        (opened.calls, opened.usd, opened.dearest) == (0, 0.0, 0.0),
        "nothing is granted to a new run",
    )
    require(0 <= opened.seconds < 600, "`seconds` must count from the start of the run")
    known = RunGrants()
    for request in (
        GrantRequest(calls=3, usd=0.5, dearest=0.25, most_calls=5, most_usd=1.0),
        GrantRequest(calls=3, usd=0.25, dearest=0.75, most_calls=5, most_usd=1.0),
        GrantRequest(calls=1, usd=0.75, most_calls=5, most_usd=1.0),
        GrantRequest(calls=2, usd=0.5, dearest=0.125, most_calls=5, most_usd=1.0),
        GrantRequest(calls=-1, usd=-0.5, dearest=0.5),
        GrantRequest(calls=9, usd=9.0),
    ):
        wanted = request.of(known)
        granted, now = store.grant(run, request)
        known = wanted or known
        require(
            granted == (wanted is not None),
            f"{request} must be {'granted' if wanted else 'refused'}",
        )
        require(
            replace(now, seconds=0.0) == known,
            f"after {request} the grants must be {known}, not {now}",
        )
    raised = store.open_grants(run, RunGrants(calls=20, usd=1.0))
    require(
        (raised.calls, raised.usd) == (20, known.usd),
        "`open_grants` must raise what is lower, and lower nothing",
    )


def _check_slots(store: ports.Store) -> None:
    require(store.take_slot("line", 50.0) == 0, "the first slot of a line begins now")
    ahead = store.take_slot("line", 50.0)
    require(40 < ahead <= 50, f"a slot begins where the one before it ends, not in {ahead} s")
    require(store.take_slot("other", 1.0) == 0, "the slots of one line must not hold up another")
    store.take_slot("line", -90.0)
    require(store.take_slot("line", 1.0) < 20, "what was given back is free")


def _check_blobs(store: ports.Store) -> None:
    require(
        store.blob("blob-2") == bytes(range(200)), "content that came with an event must be there"
    )
    require(store.blob("blob-0") == b"", "empty content is content")
    require(store.blob("nowhere") is None, "content that is not there is None")
    store.keep_blobs({"blob-2": bytes(range(200)), "more": b"\0\xff"})
    require(store.blob("more") == b"\0\xff", "content must come back byte for byte")


def _check_replies(store: ports.Store) -> None:
    require(store.reply("key") is None, "a request without a reply has None")
    store.keep_reply("key", "judge", {"text": "first"})
    store.keep_reply("key", "judge", {"text": "second"})
    store.keep_reply("other", "judge", {"text": "lone \ud800 surrogate"})
    require(
        store.reply("key") == {"text": "second"},
        "of several replies to one request the newest counts",
    )
    late = store.keep_reply("key", "judge", {"text": "late"}, known=1)
    require(late is not None, "a reply that came after another one was not known must not be kept")
    assert late is not None
    require(
        json.loads(late.data) == {"text": "second"},
        "in its place the first one that was not known must be given",
    )
    require(store.reply("key") == {"text": "second"}, "a reply that came late must not be read")
    require(store.keep_reply("known", "judge", {}, known=0) is None, "the first reply is not late")
    require(store.reply("key", since="9999") is None, "a reply from before `since` does not count")
    require(store.reply("key", since="1970") is not None, "a reply from after `since` counts")
    reply = store.reply("other")
    require(
        reply is not None and reply["text"].startswith("lone "), "a reply in any text must be kept"
    )
    found = store.replies(["key", "unknown"])
    require(
        {k: json.loads(v) for k, v in found.items()} == {"key": {"text": "second"}},
        "`replies` must find what is there",
    )
    store.keep_replies({"many-1": {"n": 1}, "many-2": {"n": 2}}, "check")
    require(store.reply("many-2") == {"n": 2}, "what `keep_replies` kept must be found by `reply`")
    answers = store.answers(["key", "unknown"])
    require(
        [json.loads(one.data) for one in answers["key"]] == [{"text": "first"}, {"text": "second"}],
        "`answers` must give every reply to a request, oldest first",
    )
    require(not answers.get("unknown"), "`answers` must give nothing for a request without a reply")


async def _check_journal(store: ports.Store, run: str) -> None:
    """The store and its journal are one: what either keeps, the other one finds."""
    journal = store.journal
    require(store.journal is journal, "a store has one journal")
    for name in ("first", "second"):
        await journal.keep_reply("in a loop", "judge", {"text": name})
    replies = await asyncio.gather(
        *(journal.recall(key) for key in ("in a loop", "nothing", "in a loop"))
    )
    require(
        [len(one) for one in replies] == [2, 0, 2],
        "`recall` must give every reply to each request, to each who asks",
    )
    require(
        list(replies[0]) == list(store.answers(["in a loop"])["in a loop"]),
        "`recall` must give what `answers` gives",
    )
    require(
        await journal.reply("in a loop") == {"text": "second"},
        "what the journal kept must be found by `reply`",
    )
    require(
        await journal.reply("in a loop", since="9999") is None,
        "a reply from before `since` does not count",
    )
    await _check_journal_claims(store, journal)
    await _check_journal_events(store, journal)
    granted, now = await journal.grant(run, GrantRequest(calls=1))
    require(
        granted and store.open_grants(run, RunGrants()).calls == now.calls,
        "what the journal grants is granted",
    )
    require(await journal.take_slot("in a loop", 1.0) == 0, "the first slot of a line begins now")
    await journal.keep_blobs({"in a loop": b"kept"})
    require(
        await journal.blob("in a loop") == store.blob("in a loop") == b"kept",
        "content must come back",
    )
    require(await journal.blob("nowhere") is None, "content that is not there is None")


async def _check_journal_claims(store: ports.Store, journal: ports.Journal) -> None:
    claimed = await asyncio.gather(*(journal.claim_reply("in a loop") for _ in range(3)))
    require(sorted(claimed) == [False, False, True], "of several tasks one gets the claim")
    require(not store.claim_reply("in a loop"), "what the journal claimed cannot be claimed again")
    await journal.give_back_reply("in a loop")
    require(store.claim_reply("in a loop"), "a claim that was given back is free")
    store.give_back_reply("in a loop")


async def _check_journal_events(store: ports.Store, journal: ports.Journal) -> None:
    first = _suite_of([f"case {n}" for n in range(2)])
    run = store.start_run(
        kind="suite", subject="s", identity="in a loop", contract="c", first=first
    )
    asked = await asyncio.gather(*(journal.case_of(run, f"case {n}") for n in (1, 2, 0)))
    require(
        asked == [(first.cases[1], []), None, (first.cases[0], [])],
        "cases must be readable by their ids",
    )
    made = [events.OutputProduced(case=f"case {n}", attempt=1, output=str(n)) for n in range(2)]
    again = [replace(event, output="later") for event in made]
    found = await asyncio.gather(
        journal.append_many(run, made),
        journal.append_many(run, [events.CasePassedBy(case="x", reason="r"), again[1]]),
        journal.append_many(run, [again[0]]),
        journal.append_many(run, []),
    )
    require(
        [dict(one) for one in found] == [{}, {1: made[1]}, {0: made[0]}, {}],
        "each task must get what is on record instead of its own events, by their place",
    )
    require(
        await journal.append(run, again[0], {"of a loop": b"1"}) == made[0],
        "`append` must give what was on record",
    )
    require(
        await journal.case_of(run, "case 1") == (first.cases[1], [made[1]]),
        "with what is on record of it",
    )
    require(store.events(run)[1:3] == made, "events are in the order in which they were appended")
    await journal.finish_run(run, "pass", events.RunFinished(result="pass"))
    require(await journal.result_of(run) == "pass", "a finished run has a result")


def _check_runs(store: ports.Store, run: str, log: list[events.Event]) -> str:
    def newest_is(id: str) -> bool:
        newest = store.unfinished("one")
        return newest is not None and newest.id == id

    require(newest_is(run), "`unfinished` must find the run by its identity")
    require(store.unfinished("two") is None, "`unfinished` must not find another identity's run")
    other = store.start_run(
        kind="improve", subject="b.md", identity="one", contract="c2", first=_first()
    )
    require(other > run, "a later run's id must sort after an earlier one's")
    require(newest_is(other), "`unfinished` must find the newest")
    store.finish_run(other, "PASSED", events.RunFinished(result="PASSED"))
    require(newest_is(run), "a finished run is not unfinished")
    require(
        [info.id for info in store.runs()][::2] == [other, run], "`runs` must give the newest first"
    )
    require([info.id for info in store.runs(limit=1)] == [other], "`runs` must obey its limit")
    info = store.find_run("last")
    require(
        (info.id, info.result, info.kind, info.contract) == (other, "PASSED", "improve", "c2"),
        f"`find_run('last')` found {info}",
    )
    require(
        info.finished is not None and store.find_run(run).finished is None,
        "`finished` must say whether a run is",
    )
    require(store.find_run(run).id == run, "`find_run` must find a run by its id")
    require(
        store.find_run(run.lower()).id == run, "`find_run` must not mind how letters are written"
    )
    for name in ("no-such-run", run[:1]):
        try:
            found = store.find_run(name)
        except StoreError:
            continue
        raise AssertionError(f"`find_run({name!r})` must raise StoreError, but found {found.id}")
    require(store.events(run) == log, "one run's events must not show in another's")
    return other
