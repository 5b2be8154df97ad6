"""Every figure of a suite's report, computed a second time from the raw attempts by nothing but
fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from honestone.core.events import Event
from honestone.core.judging.ballot import Ballot, JudgeState, Mark, ballot_to_plain
from honestone.core.judging.rubric import Criterion, Item, Rubric, to_plain
from honestone.core.record.event_codec import event_from_plain
from honestone.core.record.record import read_record
from honestone.core.suite.case import AttemptRule, Case, Message, case_to_plain
from honestone.report.building.suite import suite_document
from honestone.report.documents import plain
from property_examples import examples

ITEM = (Item(id="q", requirement="Q"),)
RUBRIC = Rubric(
    threshold=Fraction(7, 10),
    floor=Fraction(0),
    criteria=(
        Criterion(id="a", requirement="A", weight=Fraction(3), items=ITEM),
        Criterion(id="b", requirement="B", weight=Fraction(1), items=ITEM),
    ),
)
RULES = ("pass@k", "pass^k", "mean", "best")
ATTEMPT = st.one_of(st.just("error"), st.tuples(*[st.sampled_from([True, False, None])] * 2))
CASE = st.one_of(
    st.just(("skip", "mean", [])),
    st.tuples(st.just("run"), st.sampled_from(RULES), st.lists(ATTEMPT, min_size=1, max_size=4)),
)


def span(attempt: Any) -> tuple[Fraction, Fraction]:
    """Of one attempt, by hand: 3 parts A and 1 part B; what is not answered may be anything."""
    if attempt == "error":
        return Fraction(0), Fraction(1)
    low = sum(w for w, met in zip((3, 1), attempt, strict=True) if met is True)
    high = sum(w for w, met in zip((3, 1), attempt, strict=True) if met is not False)
    return Fraction(low, 4), Fraction(high, 4)


def gate(low: Fraction, high: Fraction) -> str:
    bar = Fraction(7, 10)
    return "passed" if low >= bar else "failed" if high < bar else "open"


def status_of_one(attempt: Any) -> str:
    return (
        "target-error"
        if attempt == "error"
        else gate(*span(attempt)).replace("open", "inconclusive")
    )


def expected(rule: str, attempts: list[Any]) -> tuple[str, Fraction, Fraction]:
    """Status and interval of a case, as DESIGN-suites §8 says it."""
    spans, kinds = [span(one) for one in attempts], [status_of_one(one) for one in attempts]
    open_kind = "target-error" if "target-error" in kinds else "inconclusive"
    if len(attempts) == 1:
        return kinds[0], *spans[0]
    if rule == "mean":
        low, high = (sum(end) / Fraction(len(spans)) for end in zip(*spans, strict=True))
        if set(kinds) == {"target-error"}:
            return "target-error", Fraction(0), Fraction(1)
        return gate(low, high).replace("open", open_kind), low, high
    if rule == "best":
        whole = [n for n, (low, high) in enumerate(spans) if low == high]
        best = max(whole or range(len(spans)), key=lambda n: (spans[n], -n))
        return kinds[best], *spans[best]
    pick = max if rule == "pass@k" else min
    low, high = pick(low for low, _ in spans), pick(high for _, high in spans)
    one, every = ("passed", "failed") if rule == "pass@k" else ("failed", "passed")
    status = one if one in kinds else every if set(kinds) == {every} else open_kind
    return status, low, high


def log_of(cases: list[Any]) -> list[Event]:
    """The events of a run in which each attempt went as it was drawn."""
    first: dict[str, Any] = {
        "type": "started",
        "kind": "suite",
        "suite": {"path": "s", "title": "", "dialect": "honestone"},
        "target": "t",
        "artifact": None,
        "contract": {},
        "contract_id": "c",
        "rule": "mean",
        "min_pass_rate": "1",
        "rubrics": {"r": to_plain(RUBRIC)},
        "cases": [],
    }
    log = [first]
    for number, (kind, rule, attempts) in enumerate(cases):
        case = Case(
            id=f"c{number}",
            rubric=RUBRIC,
            messages=(Message("user", "x"),),
            attempts=max(len(attempts), 1),
            attempt_rule=AttemptRule(rule),
            skip="later" if kind == "skip" else None,
        )
        first["cases"].append({**case_to_plain(case), "rubric": "r", "contract": f"k{number}"})
        for at, attempt in enumerate(attempts, 1):
            log += events_of(case.id, at, attempt)
    return [event_from_plain(plain) for plain in log]


def events_of(case: str, at: int, attempt: Any) -> list[dict[str, Any]]:
    made: dict[str, Any] = {
        "type": "produced",
        "case": case,
        "attempt": at,
        "output": "x",
        "duration_ms": at,
    }
    made["spend"] = {"target_calls": 1, "input_tokens": at}
    if attempt == "error":
        return [{**made, "error": "it broke"}]
    known = {
        (name, "q"): Mark(met) for name, met in zip("ab", attempt, strict=True) if met is not None
    }
    open_ = {(name, "q"): "silence" for name, met in zip("ab", attempt, strict=True) if met is None}
    ballot = Ballot(judge="j", state=JudgeState.AVAILABLE, marks=known, abstained=open_)
    asked = {"type": "attempted", "case": case, "attempt": at, "ballots": [ballot_to_plain(ballot)]}
    return [made, {**asked, "spend": {"judge_calls": 1}}]


def same(told: float | None, wanted: Fraction) -> bool:
    return told is not None and abs(told - float(wanted)) < 1e-8


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(CASE, min_size=1, max_size=6))
@example([("run", "mean", [(True, True), (True, None), (False, True)])])
def test_every_figure_follows_from_the_attempts(cases: list[Any]) -> None:
    """Status, score, interval, instability, counts, rates, verdict and usage: none is anything but
    the sum of its parts.
    """
    document = plain(suite_document(read_record(log_of(cases), run="r")))
    wanted = [
        ("skipped", None, None) if kind == "skip" else expected(rule, attempts)
        for kind, rule, attempts in cases
    ]
    for (_, _, attempts), (status, low, high), found in zip(
        cases, wanted, document["cases"], strict=True
    ):
        assert found["status"] == status
        kinds = [status_of_one(one) for one in attempts]
        assert [one["status"] for one in found["attempts"]] == kinds
        assert found["unstable"] == ({"passed", "failed"} <= set(kinds))
        if low is None or high is None:
            assert found["score"] is None
            continue
        assert same(found["interval"][0], 100 * low) and same(found["interval"][1], 100 * high)
        assert same(found["score"], 100 * low) if low == high else found["score"] is None
        for one, attempt in zip(found["attempts"], attempts, strict=True):
            below, above = span(attempt)
            assert same(one["score"], 100 * below) if below == above else one["score"] is None
    ran = [one for one in wanted if one[0] != "skipped"]
    assert document["counts"] == {
        kind: sum(one[0] == kind for one in wanted)
        for kind in ("passed", "failed", "inconclusive", "target-error", "skipped")
    }
    unsure = sum(one[0] in ("inconclusive", "target-error") for one in ran)
    passed = sum(one[0] == "passed" for one in ran)
    assert document["usage"]["target_calls"] == sum(len(attempts) for _, _, attempts in cases)
    if not ran:
        assert (document["verdict"], document["pass_rate"], document["mean_score"]) == (
            "skipped",
            None,
            None,
        )
        return
    low, high = Fraction(passed, len(ran)), Fraction(passed + unsure, len(ran))
    assert same(document["pass_rate_interval"][0], low) and same(
        document["pass_rate_interval"][1], high
    )
    assert same(document["pass_rate"], low) if not unsure else document["pass_rate"] is None
    assert document["verdict"] == ("pass" if low == 1 else "fail" if high < 1 else "inconclusive")
    means = [sum((one[at] for one in ran), Fraction(0)) / len(ran) for at in (1, 2)]
    assert all(
        same(told, 100 * mean)
        for told, mean in zip(document["mean_score_interval"], means, strict=True)
    )
    is_known = not unsure and means[0] == means[1]
    assert (
        same(document["mean_score"], 100 * means[0]) if is_known else document["mean_score"] is None
    )
