"""`honestone agreement`: a table of ratings in, figures out; what is wrong with a table has its line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .desk import Desk

TABLE = "id,note,human,first,second\n1,x,0,0,1\n2,y,3,2,\n3,z,1,1,1\n4,u,2,2,9\n"


def measured(desk: Desk, *words: str) -> dict[str, Any]:
    result = desk.run(*words)
    assert result.code == 0, result.err
    found: dict[str, Any] = json.loads(result.out)
    return found


def test_a_table_in_csv(desk: Desk) -> None:
    """Gaps are counted and never filled; the columns named are not raters; `--raters` takes several."""
    desk.file("t.csv", TABLE)
    found = measured(desk, "agreement", "t.csv", "--unit", "id", "--ignore", "note", "--json")
    assert found["schema"] == "honestone.agreement/1" and found["raters"] == ["human", "first", "second"]
    assert (found["units"], found["complete_units"], found["missing"], found["off_scale"]) == (4, 3, 1, [])
    assert [(one["a"], one["b"], one["n"]) for one in found["pairs"]] == [
        ("human", "first", 4),
        ("human", "second", 3),
        ("first", "second", 3),
    ]
    assert found["pairs"][0]["exact"] == 0.75 and found["pairs"][0]["mean_difference"] == -0.25
    assert found == measured(desk, "agreement", "t.csv", "--unit", "id", "--raters", "human,first,second", "--json")


def test_json_lines_give_the_same(desk: Desk) -> None:
    """Numbers as numbers or as text, a gap as null or left out."""
    desk.file("t.csv", "u,a,b\n1,1,2\n2,2,\n3,3,3\n")
    desk.file("t.jsonl", '{"u": 1, "a": 1, "b": "2"}\n\n{"u": 2, "a": 2.0, "b": null}\n{"u": 3, "b": 3, "a": "3"}\n')
    one, other = (measured(desk, "agreement", name, "--unit", "u", "--json") for name in ("t.csv", "t.jsonl"))
    assert {**one, "table": ""} == {**other, "table": ""}


def test_off_the_scale_is_missing_and_listed(desk: Desk) -> None:
    desk.file("t.csv", TABLE)
    found = measured(desk, "agreement", "t.csv", "--unit", "id", "--unit", "note", "--scale", "0-3", "--json")
    assert found["off_scale"] == [{"unit": ["4", "u"], "rater": "second", "value": 9}] and found["missing"] == 2
    assert (
        "1 left out, the first by second: 9 (4, u)"
        in desk.run("agreement", "t.csv", "--unit", "id", "--unit", "note", "--scale", "0-3").out
    )


def test_a_truth_is_compared_with_each(desk: Desk) -> None:
    desk.file("t.csv", TABLE)
    found = measured(desk, "agreement", "t.csv", "--unit", "id", "--ignore", "note", "--truth", "human", "--json")
    assert found["truth"] == "human" and found["raters"] == ["first", "second"]
    assert [(one["a"], one["b"]) for one in found["pairs"]] == [("human", "first"), ("human", "second")]


def test_words_have_nominal_figures_alone(desk: Desk) -> None:
    desk.file("t.csv", "u,a,b\n1,good,bad\n2,bad,bad\n3,good,good\n4,3,3\n")
    found = measured(desk, "agreement", "t.csv", "--unit", "u", "--json")
    assert found["level"] == "nominal" and found["alpha"]["nominal"] is not None and found["alpha"]["interval"] is None
    assert found["pairs"][0]["cohen_kappa"] is not None and found["pairs"][0]["spearman"] is None
    assert {icc["value"] for icc in found["icc"].values()} == {None} and "NaN" not in json.dumps(found)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (TABLE, ("--unit", "idd"), "did you mean `id`?"),
        (TABLE, ("--unit", "id", "--truth", "nobody"), "--truth names the column `nobody`"),
        (TABLE, ("--unit", "id", "--scale", "0-3"), "t.csv:2"),
        (TABLE, ("--unit", "id", "--scale", "low"), "LOW-HIGH"),
        (TABLE, ("--unit", "id", "--level", "ordinal"), "`note` is 'x' here"),
        ("u,a\n1,2\n", ("--unit", "u"), "two raters at least"),
        ("u,a,b\n", ("--unit", "u"), "has no rows"),
        ("u,a,b\n1,2\n", ("--unit", "u"), "t.csv:2"),
        ('u,a,b\n1,"2,3\n', ("--unit", "u"), "t.csv:2"),
        ("u,a,a\n1,2,3\n", ("--unit", "u"), "two columns have the same name"),
    ],
)
def test_what_is_wrong_has_its_place(text: str, options: tuple[str, ...], said: str, desk: Desk) -> None:
    """Exit 2, and never a number."""
    desk.file("t.csv", text)
    result = desk.run("agreement", "t.csv", *options)
    assert result.code == 2 and said in result.err and not result.out


def test_a_broken_line_of_json_has_its_number(desk: Desk) -> None:
    desk.file("t.jsonl", '{"a": 1, "b": 2}\n[1]\n')
    result = desk.run("agreement", "t.jsonl")
    assert result.code == 2 and "t.jsonl:2" in result.err
    desk.file("t.jsonl", '{"a": 1, "b": [2]}\n')
    result = desk.run("agreement", "t.jsonl")
    assert result.code == 2 and "t.jsonl:1" in result.err and "`b`" in result.err


def test_names_and_values_cannot_act_on_a_terminal_or_a_page(desk: Desk) -> None:
    desk.file(
        "t.jsonl", json.dumps({"<b>\x1b[31mA": 1, "| B": 7}) + "\n" + json.dumps({"<b>\x1b[31mA": 2, "| B": 2}) + "\n"
    )
    text = desk.run("agreement", "t.jsonl", "--scale", "0-5")
    page = desk.run("agreement", "t.jsonl", "--format", "markdown")
    assert text.code == page.code == 0 and "\x1b" not in text.out + page.out and "<b>" not in page.out


TRUESCORE = """\
id,length,human,first,second
a,120,yes,yes,no
=b,80,,no,
c,-3,no,yes,yes
"""


def test_truescore_reads_the_table(desk: Desk) -> None:
    """A row for each unit and judge that rated it; the truth where there is one; other columns as they are."""
    desk.file("t.csv", TRUESCORE)
    words = ("agreement", "t.csv", "--unit", "id", "--ignore", "length", "--format", "truescore")
    assert desk.run(*words, "--truth", "human").out.splitlines() == [
        "example_id,judge,judge_passed,human_passed,length",
        "a,first,yes,yes,120",
        "a,second,no,yes,120",
        "'=b,first,no,,80",
        "c,first,yes,no,-3",
        "c,second,yes,no,-3",
    ]
    assert desk.run(*words).out.splitlines()[:2] == ["example_id,judge,judge_passed,length", "a,human,yes,120"]


def test_truescore_takes_scores_and_rows_without_a_name(desk: Desk) -> None:
    desk.file("t.csv", TABLE)
    words = ("agreement", "t.csv", "--ignore", "id", "--ignore", "note", "--truth", "human", "-f", "truescore")
    rows = desk.run(*words).out.splitlines()
    assert rows[1:3] == ["1,first,0,0,1,x", "1,second,1,0,1,x"] and len(rows) == 8
    two = desk.run("agreement", "t.csv", "--unit", "id", "--unit", "note", "--scale", "0-3", "-f", "truescore").out
    assert "1/x,human,0,1,x" in two and "second,9" not in two


def test_words_that_truescore_cannot_read_are_refused(desk: Desk) -> None:
    desk.file("t.csv", "u,a,b\n1,lovely,bad\n")
    result = desk.run("agreement", "t.csv", "--unit", "u", "-f", "truescore")
    assert result.is_refusal and "lovely" in result.err
