"""Which cases of a suite's run the table shows, and in which order."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from suite_samples import case, criterion, item, report

from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.pages.case_table import SORTS, CaseFilter, CaseTable, case_table

JUDGES = ("one", "two", "three")


def table(*cases: Any) -> CaseTable:
    doc = msgspec.convert(msgspec.to_builtins(report(list(cases))), SuiteReportDoc)
    return case_table(doc, doc.cases)


def ids(found: CaseTable, **wanted: str) -> list[str]:
    return [row.case.id for row in found.chosen(CaseFilter(**wanted))]


def judged(id: str, votes: dict[str, str], score: float | None, **more: Any) -> Any:
    return case(
        id, criteria=[criterion("tone", score, [item("tone", votes)])], **{"score": score, **more}
    )


def test_a_judge_stands_apart_where_most_answered_otherwise() -> None:
    found = table(
        judged("same", dict.fromkeys(JUDGES[:3], "yes"), 100.0),
        judged("split", {JUDGES[0]: "no", **dict.fromkeys(JUDGES[1:3], "yes")}, 66.0),
    )
    assert found.judges == [JUDGES[0]]
    assert ids(found, judge=JUDGES[0]) == ["split"]
    assert ids(found, judge="another") == []


def test_score_and_time_are_bounds() -> None:
    found = table(
        judged("low", {}, 20.0, duration_ms=2500), judged("high", {}, 80.0, duration_ms=100)
    )
    assert ids(found, below="50") == ["low"]
    assert ids(found, below="80") == ["low"]
    assert ids(found, over="2.5") == []
    assert ids(found, over="2.4") == ["low"]
    assert ids(found, below="nan", over="much") == ["low", "high"]


def test_errors_that_differ_in_numbers_and_names_are_one_kind() -> None:
    def gone(id: str, error: str) -> Any:
        return case(id, "target-error", error=error, score=None, reasons=[error])

    found = table(
        gone("a", "port 7410 of 'one' refused"),
        gone("b", "port 9 of 'two' refused"),
        gone("c", "no such file"),
        case("d"),
    )
    (words, number, first), (_, other, _) = found.errors
    assert (number, first.case.id, other) == (2, "a", 1)
    assert ids(found, alike=words) == ["a", "b"]


def test_columns_and_scores_sort_both_ways_and_unknown_comes_last() -> None:
    found = table(
        judged("mid", {}, 50.0),
        judged("none", {}, None, interval=[0, 100]),
        judged("low", {}, 10.0),
        judged("high", {}, 90.0),
    )
    assert ids(found, sort="score") == ["low", "mid", "high", "none"]
    assert ids(found, sort="-score") == ["high", "mid", "low", "none"]
    assert ids(found, sort="by:tone") == ["low", "mid", "high", "none"]
    assert ids(found, sort="by:<no such>") == ids(found, sort="order")


FOUND = table(
    judged("one", {JUDGES[0]: "no", JUDGES[1]: "yes"}, 50.0, tags=["x"]),
    judged("two", {}, 100.0, unstable=True, split="test"),
    case("three", "target-error", error="gone", score=None),
)


@given(
    st.dictionaries(
        st.sampled_from(
            (
                "status",
                "tag",
                "split",
                "criterion",
                "judge",
                "below",
                "over",
                "unstable",
                "alike",
                "q",
            )
        ),
        st.sampled_from(("", "passed", "x", "test", "tone", "50", "-1", "1e999", "1"))
        | st.text(max_size=8),
    ),
    st.sampled_from([*SORTS, "by:tone", "by:", ""]),
)
def test_a_filter_only_leaves_out_and_a_sort_only_orders(wanted: dict[str, str], sort: str) -> None:
    shown = ids(FOUND, **wanted, sort=sort)
    assert len(set(shown)) == len(shown)
    assert set(shown) == set(ids(FOUND, **wanted))
    assert set(shown) <= {"one", "two", "three"}
    for name in wanted:
        assert set(shown) <= set(
            ids(FOUND, **{other: value for other, value in wanted.items() if other != name})
        )


def test_a_check_with_another_value_in_each_case_is_one_column() -> None:
    """One that half of the cases have stays apart; a second one of a case has its own column."""

    def checked(number: int, *words: str) -> Any:
        asked = [(f"contains-{one}", f"contains '{one}'") for one in (f"v{number}", *words)]
        asked.append(("short", "at most 40 words"))
        criteria = [
            criterion(id, 100.0, [item(id, {"check": "yes"}, kind="check")], requirement=says)
            for id, says in asked
        ]
        return case(f"case-{number}", criteria=criteria)

    found = table(*(checked(number) for number in range(20)), checked(20, "more"))
    assert found.columns == ("contains …", "short", "contains … (2)")
    assert all("contains …" in row.cells for row in found.rows)
    assert [len(row.cells) for row in found.rows] == [2] * 20 + [3]


def test_groups_of_judged_criteria_are_columns_of_their_own() -> None:
    """A group has no items, and is no check; its column is found by its id."""

    def grouped(number: int) -> Any:
        inside = criterion("deep", 50.0, [item("deep", {"one": "no"})], parent=f"g{number}")
        group = criterion(f"g{number}", 50.0, [], requirement=f"Has {number} parts")
        return case(f"case-{number}", criteria=[group, inside])

    found = table(*(grouped(number) for number in range(1, 6)))
    assert found.columns == ("g1", "g2", "g3", "g4", "g5")
    assert ids(found, sort="by:g3")[0] == "case-3"


@pytest.mark.parametrize(
    ("says", "form"),
    [
        ("doesn't say '{}'", "doesn't say …"),
        ("O'Brien and it's at most {}", "O'Brien and it's at most …"),
        ("contains '{}' or \"it's {}\"", "contains …"),
        ("contains `{}`, '{}'", "contains …"),
    ],
)
def test_an_apostrophe_begins_no_value(says: str, form: str) -> None:
    def checked(number: int) -> Any:
        id = f"says-{number}"
        one = item(id, {"check": "yes"}, kind="check")
        says_so = says.replace("{}", str(number))
        return case(f"case-{number}", criteria=[criterion(id, 100.0, [one], requirement=says_so)])

    assert table(*(checked(number) for number in range(5))).columns == (form,)


def test_errors_with_apostrophes_are_one_kind() -> None:
    errors = ("can't open 'a'", "can't open 'b'")
    found = table(
        *(case(one, "target-error", error=one, score=None, reasons=[one]) for one in errors)
    )
    assert [(words, number) for words, number, _ in found.errors] == [
        ("target-error: can't open …", 2)
    ]
