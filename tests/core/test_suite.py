"""Suites: their rules, splits that stay put, and plain forms that read back."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.errors import UsageError
from honestone.core.judging.contract import digest_json
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.suite.attempts import CaseResult, Status, judge_suite, rates_of
from honestone.core.suite.case import (
    AttemptRule,
    Case,
    CaseWorkspace,
    Expect,
    Message,
    Split,
    Suite,
    as_prompt,
    case_document,
    case_from_plain,
    case_to_plain,
    split_of,
)

RUBRIC = Rubric(
    criteria=(
        Criterion(id="q", requirement="Q", items=(Item(id="q", requirement="Q", whole=True),)),
    )
)


def test_a_suite_needs_cases_with_ids_of_their_own() -> None:
    """No case, a doubled id and no attempt are refused."""
    one = Case(id="a", rubric=RUBRIC)
    for cases in ((), (one, one), (replace(one, attempts=0),)):
        with pytest.raises(UsageError):
            Suite(cases=cases)
    assert Suite(cases=(one,)).case("a") is one


def test_splits_are_sixty_twenty_twenty_and_stay_put() -> None:
    """By the id alone, so that adding a case moves no other."""
    counts = Counter(split_of(f"case-{number}") for number in range(4_000))
    assert [round(counts[split] / 4_000, 1) for split in Split] == [0.6, 0.2, 0.2]
    assert [split_of(name) for name in ("a", "b", "sql-injection")] == [
        split_of(n) for n in ("a", "b", "sql-injection")
    ]
    assert Case(id="a", rubric=RUBRIC, split=Split.TEST).in_split is Split.TEST


def test_several_messages_are_blocks() -> None:
    """One is its content, none is empty."""
    turns = (Message("system", "Be brief"), Message("user", "Hello\nthere"))
    assert as_prompt(turns) == "system: Be brief\n\nuser: Hello\nthere"
    assert (as_prompt(turns[1:]), as_prompt(())) == ("Hello\nthere", "")


WORDS = st.text(min_size=1, max_size=8)
SPANS = st.tuples(st.fractions(0, 1, max_denominator=50), st.fractions(0, 1, max_denominator=50))
CASES = st.builds(
    Case,
    id=WORDS,
    rubric=st.just(RUBRIC),
    messages=st.lists(st.builds(Message, WORDS, WORDS), max_size=3).map(tuple),
    reference=st.none() | WORDS,
    split=st.sampled_from(Split),
    tags=st.lists(WORDS, max_size=2).map(tuple),
    timeout=st.none() | st.floats(1, 100),
    attempts=st.integers(1, 5),
    attempt_rule=st.sampled_from(AttemptRule),
    stops_at_pass=st.booleans(),
    setup=st.lists(WORDS, max_size=2).map(tuple),
    teardown=st.lists(WORDS, max_size=2).map(tuple),
    workspace=st.none()
    | st.builds(
        CaseWorkspace, copy=st.none() | WORDS, files=st.dictionaries(WORDS, WORDS, max_size=2)
    ),
    skip=st.none() | WORDS,
    description=st.none() | WORDS,
    expect=st.none()
    | st.builds(
        Expect,
        verdict=st.none() | st.sampled_from(["pass", "fail"]),
        score=st.none() | SPANS,
        criteria=st.dictionaries(WORDS, SPANS, max_size=2),
    ),
)


@given(CASES)
def test_a_case_reads_back_as_it_was(case: Case) -> None:
    """Its plain form loses nothing, so that a run can be judged again from its record."""
    assert case_from_plain(case_to_plain(case), RUBRIC) == case


@pytest.mark.parametrize(
    "changed",
    [
        {"messages": (Message("user", "other"),)},
        {"reference": "r"},
        {"attempts": 2},
        {"attempt_rule": AttemptRule.BEST},
        {"workspace": CaseWorkspace(files={"a": "b"})},
        {"rubric": replace(RUBRIC, threshold=Fraction(1))},
        {"setup": ("x",)},
        {"expect": Expect(verdict="fail")},
    ],
)
def test_what_decides_a_score_is_in_the_cases_contract(changed: dict[str, object]) -> None:
    """And what does not (id, tags, split, skip) is not."""
    case = Case(id="a", rubric=RUBRIC, messages=(Message("user", "x"),))
    assert digest_json(case_document(case)) != digest_json(case_document(replace(case, **changed)))  # type: ignore[arg-type]
    same = replace(case, id="b", tags=("t",), split=Split.TEST, skip="later", description="d")
    assert digest_json(case_document(case)) == digest_json(case_document(same))


def results(letters: str) -> list[CaseResult]:
    kinds = {
        "p": Status.PASSED,
        "f": Status.FAILED,
        "e": Status.TARGET_ERROR,
        "i": Status.INCONCLUSIVE,
        "s": Status.SKIPPED,
    }
    ends = {"p": (1, 1), "f": (0, 0), "s": (0, 0)}
    return [
        CaseResult(
            status=kinds[x],
            low=Fraction(ends.get(x, (0, 1))[0]),
            high=Fraction(ends.get(x, (0, 1))[1]),
        )
        for x in letters
    ]


@pytest.mark.parametrize(
    ("letters", "least", "outcome"),
    [
        ("pp", "1", "pass"),
        ("pf", "1", "fail"),
        ("pf", "1/2", "pass"),
        ("pf", "6/10", "fail"),
        ("pe", "1/2", "pass"),
        ("pe", "6/10", "inconclusive"),
        ("fe", "6/10", "fail"),
        ("ee", "1", "inconclusive"),
        ("ps", "1", "pass"),
        ("ss", "1", "skipped"),
        ("fi", "0", "pass"),
        ("pi", "1", "inconclusive"),
    ],
)
def test_the_gate_of_a_suite_decides_on_what_is_known(
    letters: str, least: str, outcome: str
) -> None:
    """The lower end of the pass rate passes, the upper end fails, in between nothing is known."""
    assert judge_suite(rates_of(results(letters)), least=Fraction(least)).outcome == outcome


def test_a_run_that_a_budget_cut_short_cannot_pass() -> None:
    """Even when all that was reached passed; what failed still fails."""
    assert judge_suite(rates_of(results("pps")), is_cut_short=True).outcome == "inconclusive"
    assert judge_suite(rates_of(results("pfs")), is_cut_short=True).outcome == "fail"


def test_rates_are_open_while_a_case_is() -> None:
    """Counts are always told."""
    rates = rates_of(results("pfes"))
    assert (rates.pass_rate, rates.mean_score, rates.passes) == (
        None,
        None,
        (Fraction(1, 3), Fraction(2, 3)),
    )
    assert rates.counts[Status.SKIPPED] == 1
    assert rates_of(results("pf")).pass_rate == Fraction(1, 2)
