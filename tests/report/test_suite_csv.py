"""A suite run as CSV."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rendered import suite_csv
from suite_samples import JUDGES, case, criterion, every_status, hostile, item, judge, report

from honestone.report.exports.rows import COLUMNS
from property_examples import examples


def rows(doc: dict) -> list[dict[str, str]]:  # type: ignore[type-arg]
    return list(csv.DictReader(io.StringIO(suite_csv(doc), newline="")))


def test_a_row_per_case_and_judge() -> None:
    """Judged cases have a row a judge; a case that no judge saw has one."""
    found = rows(every_status())
    assert tuple(found[0]) == COLUMNS
    assert [(one["case"], one["judge"]) for one in found if one["case"] in ("wrong", "dead")] == [
        ("wrong", JUDGES[0]),
        ("wrong", JUDGES[1]),
        ("dead", ""),
    ]
    assert {one["case"] for one in found} == {
        "fine",
        "wrong",
        "dead",
        "later",
        "unsure",
        'comma, "quoted" | <b>',
    }


def test_no_score_is_an_empty_cell() -> None:
    """Missing is not zero: only decided cases have a number."""
    scores = {one["case"]: (one["score"], one["judge_score"]) for one in rows(every_status())}
    assert scores["wrong"] == ("0", "0") and scores["fine"] == ("100", "100")
    assert scores["dead"] == scores["later"] == scores["unsure"] == ("", "")


def test_a_judges_score_is_the_weighted_mean_of_its_criteria() -> None:
    """Weights count, checks count for every judge, and a judge that left something open has no
    score.
    """
    criteria = [
        criterion(
            "a",
            50.0,
            [item("a", dict.fromkeys(JUDGES, "yes"))],
            weight=3,
            by_judge={JUDGES[0]: 100, JUDGES[1]: 0},
        ),
        criterion("b", 100.0, [item("b", {"check": "yes"})], weight=1, voters=None, by_judge={}),
        criterion("c", None, [], weight=0, by_judge={JUDGES[0]: 20}),
    ]
    found = rows(report([case("one", "failed", 50.0, criteria=criteria)]))
    assert [one["judge_score"] for one in found] == ["100", ""]


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1"])
def test_what_could_be_a_formula_is_text(start: str) -> None:
    """A spreadsheet that opens the file computes nothing."""
    doc = report([case(start, "failed", 0.0, reasons=[start], judges=[judge(start)])])
    for one in rows(doc):
        for name in ("case", "judge", "reasons"):
            assert not one[name].lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r")), (
                name,
                one[name],
            )


def test_hostile_words_break_no_row() -> None:
    """Every row has all columns, and no control character is left."""
    found = rows(hostile())
    assert len(found) == 5 and all(None not in one and None not in one.values() for one in found)
    assert "\x1b" not in suite_csv(hostile()) and "\x00" not in suite_csv(hostile())


@settings(max_examples=examples(50), deadline=None)
@given(
    st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1).filter(
        lambda t: t.lstrip(" ")[:1] not in tuple("=+-@")
    )
)
def test_harmless_ids_come_back_as_they_are(name: str) -> None:
    """Quotes, commas and pipes in an id survive."""
    assert rows(report([case(name)]))[0]["case"] == name
