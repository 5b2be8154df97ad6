"""Cases of one text, the same question with the same output, are one coin and one look; a text that two
runs share is neither better nor worse in one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.belief.cases.test_suite import case
from tests.report.test_suite_figures import CASE, log_of

from honestone.app.suites.comparing.compare import compare_summaries
from honestone.core.belief.cases.bar import SuiteBar, suite_belief
from honestone.core.belief.cases.sides import better_than
from honestone.core.belief.cases.suite import SuiteBelief
from honestone.core.events import OutputProduced, RecordedCase, SuiteStarted
from honestone.core.record.record import FEW, SuiteRecord, read_record
from honestone.core.record.summary import summary_of
from property_examples import examples


def record_of(cases: list[Any], contracts: list[str], outputs: str | None = None) -> SuiteRecord:
    """`outputs`: what the targets gave in this order, one character each; the same without it."""
    log = log_of(cases)
    first = log[0]
    assert isinstance(first, SuiteStarted)
    recorded = zip(first.cases, contracts, strict=True)
    cases_ = tuple([RecordedCase({**one.plain, "contract": own}) for one, own in recorded])
    given_out = iter(outputs or "")
    rest = [
        replace(one, output=next(given_out)) if outputs and isinstance(one, OutputProduced) else one
        for one in log[1:]
    ]
    return read_record([replace(first, cases=cases_), *rest])


YES, NO = ("run", "mean", [(True, True)]), ("run", "mean", [(False, False)])


def test_two_cases_of_one_text_are_as_probable_as_one() -> None:
    """And the look at it is stated once."""
    one, two = record_of([YES], ["k"]).belief, record_of([YES, YES], ["k", "k"]).belief
    assert one is not None and two is not None
    assert (two.probability, two.looks) == (one.probability, one.looks == 1)


@pytest.mark.parametrize(
    ("contracts", "outputs"), [(["k", "l"], "xx"), (["k", "k"], "xy")], ids=["question", "output"]
)
def test_another_question_or_output_is_another_text(contracts: list[str], outputs: str) -> None:
    one = record_of([YES], ["k"]).belief
    two = record_of([YES, YES], contracts, outputs).belief
    assert one is not None and two is not None
    assert two.looks == 2 and two.probability < one.probability


def test_case_of_one_text_has_what_the_most_looks_say_of_it() -> None:
    """Where one of them was asked about more often."""
    few, many = replace(case("a", True), name="t"), replace(case("b", True, False), name="t")
    both, one = SuiteBelief([few, many], 2), SuiteBelief([many], 1)
    assert both.chance == one.chance
    assert both.by_case() == dict.fromkeys("ab", one.by_case()["b"])
    stated = suite_belief([few, many], SuiteBar(least=Fraction(1)))
    assert stated is not None and stated.looks == 2


@pytest.mark.slow
def test_a_long_run_without_words_has_the_same_texts() -> None:
    """Its outputs are dropped once they are judged."""
    count = FEW + 2
    cases = [YES if place % 2 else NO for place in range(count)]
    contracts = [f"k{place // 4 % 300}{place % 2}" for place in range(count)]
    log = log_of(cases)
    first = log[0]
    assert isinstance(first, SuiteStarted)
    recorded = zip(first.cases, contracts, strict=True)
    began = tuple([RecordedCase({**one.plain, "contract": own}) for one, own in recorded])
    log = [replace(first, cases=began), *log[1:]]
    whole, brief = read_record(log), read_record(log, is_brief=True)
    assert brief.is_brief and not whole.is_brief
    assert whole.belief is not None and whole.belief.looks == len(set(contracts))
    assert brief.belief == whole.belief and brief.chances()[:2] == whole.chances()[:2]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(CASE, min_size=1, max_size=5), st.lists(st.sampled_from("kl"), min_size=5))
def test_a_run_is_neither_better_nor_worse_than_itself(
    cases: list[Any], contracts: list[str]
) -> None:
    record = record_of(cases, contracts[: len(cases)])
    found = compare_summaries(summary_of(record), summary_of(record), gates=(), across=False)
    known = record.chances().together
    assert (found.better, found.worse) == ((0.0, 0.0) if known else (None, None))


CHANCES = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]))
TEXTS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz"))


def by_counting(
    now: Mapping[str, float], before: Mapping[str, float], texts: list[Mapping[str, str]]
) -> tuple[float, float]:
    """Over every state of every pair of texts. Cases without a name have texts of their own."""
    pairs: dict[object, list[str]] = {}
    for id in sorted(now.keys() & before.keys()):
        new, old = texts[0].get(id), texts[1].get(id)
        if new is None or old is None or new != old:
            pairs.setdefault(id if new is None or old is None else (new, old), []).append(id)
    better = worse = 0.0
    for states in product(product((0, 1), repeat=2), repeat=len(pairs)):
        chance, by = 1.0, 0
        for (then, here), ids in zip(states, pairs.values(), strict=True):
            chance *= now[ids[0]] if here else 1.0 - now[ids[0]]
            chance *= before[ids[0]] if then else 1.0 - before[ids[0]]
            by += (here - then) * len(ids)
        better, worse = better + chance * (by > 0), worse + chance * (by < 0)
    return better, worse


@given(CHANCES, CHANCES, TEXTS, TEXTS)
def test_better_is_what_counting_the_texts_says(
    now: dict[str, float], before: dict[str, float], new: dict[str, str], old: dict[str, str]
) -> None:
    found = better_than(now, before, new, old)
    assert found == pytest.approx(by_counting(now, before, [new, old]))
