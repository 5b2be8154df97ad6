"""`honestone agreement`: a table of ratings in, figures out; what is wrong with a table has its
line.
"""

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
    """Gaps are counted and never filled; the columns named are not raters; `--raters` takes
    several.
    """
    desk.file("t.csv", TABLE)
    found = measured(desk, "agreement", "t.csv", "--unit", "id", "--ignore", "note", "--json")
    assert found["schema"] == "honestone.agreement/1" and found["raters"] == [
        "human",
        "first",
        "second",
    ]
    assert (found["units"], found["complete_units"], found["missing"], found["off_scale"]) == (
        4,
        3,
        1,
        [],
    )
    assert [(one["a"], one["b"], one["n"]) for one in found["pairs"]] == [
        ("human", "first", 4),
        ("human", "second", 3),
        ("first", "second", 3),
    ]
    assert found["pairs"][0]["exact"] == 0.75 and found["pairs"][0]["mean_difference"] == -0.25
    assert found == measured(
        desk, "agreement", "t.csv", "--unit", "id", "--raters", "human,first,second", "--json"
    )


def test_json_lines_give_the_same(desk: Desk) -> None:
    """Numbers as numbers or as text, a gap as null or left out."""
    desk.file("t.csv", "u,a,b\n1,1,2\n2,2,\n3,3,3\n")
    desk.file(
        "t.jsonl",
        '{"u": 1, "a": 1, "b": "2"}\n\n{"u": 2, "a": 2.0, "b": null}\n{"u": 3, "b": 3, "a": "3"}\n',
    )
    one, other = (
        measured(desk, "agreement", name, "--unit", "u", "--json") for name in ("t.csv", "t.jsonl")
    )
    assert {**one, "table": ""} == {**other, "table": ""}


def test_off_the_scale_is_missing_and_listed(desk: Desk) -> None:
    desk.file("t.csv", TABLE)
    found = measured(
        desk, "agreement", "t.csv", "--unit", "id", "--unit", "note", "--scale", "0-3", "--json"
    )
    assert (
        found["off_scale"] == [{"unit": ["4", "u"], "rater": "second", "value": 9}]
        and found["missing"] == 2
    )
    assert (
        "1 left out, the first by second: 9 (4, u)"
        in desk.run("agreement", "t.csv", "--unit", "id", "--unit", "note", "--scale", "0-3").out
    )


def test_a_truth_is_compared_with_each(desk: Desk) -> None:
    desk.file("t.csv", TABLE)
    found = measured(
        desk, "agreement", "t.csv", "--unit", "id", "--ignore", "note", "--truth", "human", "--json"
    )
    assert found["truth"] == "human" and found["raters"] == ["first", "second"]
    assert [(one["a"], one["b"]) for one in found["pairs"]] == [
        ("human", "first"),
        ("human", "second"),
    ]


def test_words_have_nominal_figures_alone(desk: Desk) -> None:
    desk.file("t.csv", "u,a,b\n1,good,bad\n2,bad,bad\n3,good,good\n4,3,3\n")
    found = measured(desk, "agreement", "t.csv", "--unit", "u", "--json")
    assert (
        found["level"] == "nominal"
        and found["alpha"]["nominal"] is not None
        and found["alpha"]["interval"] is None
    )
    assert found["pairs"][0]["cohen_kappa"] is not None and found["pairs"][0]["spearman"] is None
    assert {icc["value"] for icc in found["icc"].values()} == {None} and "NaN" not in json.dumps(
        found
    )


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
def test_what_is_wrong_has_its_place(
    text: str, options: tuple[str, ...], said: str, desk: Desk
) -> None:
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
        "t.jsonl",
        json.dumps({"<b>\x1b[31mA": 1, "| B": 7})
        + "\n"
        + json.dumps({"<b>\x1b[31mA": 2, "| B": 2})
        + "\n",
    )
    text = desk.run("agreement", "t.jsonl", "--scale", "0-5")
    page = desk.run("agreement", "t.jsonl", "--format", "markdown")
    assert (
        text.code == page.code == 0 and "\x1b" not in text.out + page.out and "<b>" not in page.out
    )


@pytest.mark.parametrize(
    "word",
    [
        "",
        " ",
        "NaN",
        "nan",
        "N/A",
        "n/a",
        "NA",
        "#N/A",
        "<NA>",
        "NULL",
        "null",
        "None",
        "NaT",
        "-",
        "–",
        ".",
    ],
)
@pytest.mark.parametrize("other", ["yes", "3"])
def test_what_programs_write_for_a_missing_rating_is_missing(
    desk: Desk, word: str, other: str
) -> None:
    """Two of them in a row are no agreement, in words as in numbers."""
    rows = [("1", word, word), ("2", other, other), ("3", other, other), ("4", other, word)]
    desk.file("t.csv", "item,a,b\n" + "".join(f'{id},"{a}","{b}"\n' for id, a, b in rows))
    found = measured(desk, "agreement", "t.csv", "--unit", "item", "--json")
    assert (found["missing"], found["complete_units"]) == (3, 2), found
    assert found["level"] == ("nominal" if other == "yes" else "interval")


@pytest.mark.parametrize("word", ["none", "no", "0", "unknown", "neither"])
def test_a_word_that_may_be_a_rating_is_one(desk: Desk, word: str) -> None:
    """What a rater can mean by it is not taken for a gap."""
    desk.file("t.csv", f"item,a,b\n1,{word},{word}\n2,yes,yes\n")
    assert measured(desk, "agreement", "t.csv", "--unit", "item", "--json")["missing"] == 0


@pytest.mark.parametrize(
    "head",
    [
        "item",
        "id",
        "Item ID",
        "case_id",
        "artifact",
        "file",
        "",
        "Unnamed: 0",
        "index",
        "question",
        "sentence",
    ],
)
@pytest.mark.parametrize("names", [["1", "2", "3"], ["a.md", "b.md", "c.md"]])
def test_a_column_that_names_the_rows_is_no_rater(desk: Desk, head: str, names: list[str]) -> None:
    """By its name, or because its words are different in every row; and the report says so."""
    rows = zip(names, ["yes", "yes", "no"], strict=True)
    desk.file("t.csv", f"{head},a,b\n" + "".join(f"{name},{said},{said}\n" for name, said in rows))
    found = measured(desk, "agreement", "t.csv", "--json")
    assert found["raters"] == ["a", "b"] and found["raw_agreement"] == 1.0
    assert any("not a rater" in note for note in found["notes"])
    assert "not a rater" in desk.run("agreement", "t.csv").out
    named = measured(desk, "agreement", "t.csv", "--raters", "a,b", "--json")
    assert named["raters"] == ["a", "b"] and named["notes"] == []


def test_columns_of_ratings_stay_raters(desk: Desk) -> None:
    """Different numbers in every row may be ratings, also such as count, next to others that are
    all different; and `judge` may be the name of one who rates.
    """
    desk.file("ranks.csv", "ann,bob\n1,2\n2,1\n3,3\n")
    assert measured(desk, "agreement", "ranks.csv", "--json")["raters"] == ["ann", "bob"]
    desk.file("t.csv", "id,score,judge\n1,10.5,9\n2,20,21\n3,30,33\n")
    assert measured(desk, "agreement", "t.csv", "--json")["raters"] == ["score", "judge"]
    desk.file("v.csv", "ann,bob,cy\n1,1,1\n2,2,2\n3,3,3\n4,4,4\n5,4,4\n")
    found = measured(desk, "agreement", "v.csv", "--json")
    assert found["raters"] == ["ann", "bob", "cy"] and found["raw_agreement"] < 1
    desk.file("w.csv", f"a,b\n{'1' * 5000},1\n2,1\n3,1\n")
    assert "internal error" not in desk.run("agreement", "w.csv").err
    desk.file("u.csv", "id,a\n1,yes\n2,no\n")
    refused = desk.run("agreement", "u.csv")
    assert refused.is_refusal and "`id` names the rows" in refused.err


def test_a_column_that_says_something_else_is_named(desk: Desk) -> None:
    """Three columns of words, of which one has none of the labels of the others: it stays a rater,
    and the report says how to leave it out.
    """
    rows = "chat,yes,yes\nmail,no,yes\nchat,no,no\n"
    desk.file("t.csv", f"channel,ann,bob\n{rows}")
    found = measured(desk, "agreement", "t.csv", "--json")
    assert found["raters"] == ["channel", "ann", "bob"]
    (note,) = found["notes"]
    assert "`channel` shares no label" in note and "--ignore channel" in note
    desk.file("same.csv", f"channel,ann,bob\n{rows.replace('chat', 'yes')}")
    assert measured(desk, "agreement", "same.csv", "--json")["notes"] == []


RUBRIC = """\
rubric: 1
criteria:
  - {id: tone, requirement: It is kind, items: [{id: polite, requirement: Is polite}, {id: warm, requirement: Is warm}]}
  - {id: short, requirement: It is short}
"""


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.csv"])
def test_the_file_that_label_writes_is_read(desk: Desk, name: str) -> None:
    """Each rater is a column, a unit is an item of an artifact; the last of several labels counts,
    and a skip is a gap.
    """
    desk.rubric(RUBRIC)
    for letter in "ab":
        desk.file(f"{letter}.md", f"{letter}\n")
    if name.endswith(".csv"):
        desk.file(
            name,
            "artifact,rater,tone/polite,tone/warm,short\na.md,ann,yes,no,yes\na.md,bob,yes,yes,\nb.md,ann,no,no,n/a\nb.md,bob,no,no,n/a\n",
        )
        assert desk.run(
            "label", "a.md", "--rubric", "rubric.yaml", "--labels", name, "--agreement"
        ).code in (0, 2)
        units, missing = 6, 1
    else:
        for rater in ("ann", "bob"):
            keys = "y\nn\ny\ny\nn\nn\n" if rater == "ann" else "y\ny\ny\ny\nn\nn\n"
            ended = desk.run(
                "label",
                "a.md",
                "b.md",
                "--rubric",
                "rubric.yaml",
                "--labels",
                name,
                "--rater",
                rater,
                stdin=keys,
            )
            assert ended.code == 0 and (desk.folder / name).exists(), ended.err
        rows = (desk.folder / name).read_text().splitlines()
        units, missing = len(rows) // 2, 0
    found = measured(desk, "agreement", name, "--json")
    assert found["raters"] == ["ann", "bob"] and (found["units"], found["missing"]) == (
        units,
        missing,
    ), found
    assert 0 < found["raw_agreement"] < 1
    assert any("what one rater said" in note for note in found["notes"])


def test_a_label_that_settles_is_no_rater_and_may_be_the_truth(desk: Desk) -> None:
    """It is the answer that the raters came to together; a later label of one rater counts."""
    rows = [("ann", True), ("ann", False), ("bob", True), ("settled", True)]
    lines = [
        {"artifact": "a.md", "rater": rater, "criterion": "tone", "value": value}
        for rater, value in rows
    ]
    lines += [{**line, "artifact": "b.md", "value": True} for line in lines[1:]]
    desk.file("l.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    found = measured(desk, "agreement", "l.jsonl", "--json")
    assert found["raters"] == ["ann", "bob"] and found["pairs"][0]["exact"] == 0.5
    truth = measured(desk, "agreement", "l.jsonl", "--truth", "settled", "--json")
    assert [(one["a"], one["b"], one["exact"]) for one in truth["pairs"]] == [
        ("settled", "ann", 0.5),
        ("settled", "bob", 1.0),
    ]


@pytest.mark.parametrize(
    ("rater", "value"), [("rater", "label"), ("annotator", "rating"), ("Coder ID", "score")]
)
def test_a_row_a_rating_is_read(desk: Desk, rater: str, value: str) -> None:
    """As tools for annotation write it."""
    rows = [("1", "ann", "3"), ("1", "bob", "3"), ("2", "ann", "1"), ("2", "bob", "2")]
    desk.file("t.csv", f"item,{rater},{value}\n" + "".join(",".join(row) + "\n" for row in rows))
    found = measured(desk, "agreement", "t.csv", "--json")
    assert (found["raters"], found["units"], found["raw_agreement"]) == (["ann", "bob"], 2, 0.5)


def test_a_list_of_rows_in_json_is_a_table(desk: Desk) -> None:
    """And a document of `calibrate` is refused with where its ratings are."""
    desk.file("t.json", json.dumps([{"item": 1, "a": 1, "b": 1}, {"item": 2, "a": 2, "b": 3}]))
    assert measured(desk, "agreement", "t.json", "--json")["raters"] == ["a", "b"]
    desk.file(
        "c.json",
        json.dumps(
            {"schema": "honestone.calibration/1", "labels": "labels.csv", "units": 2, "judges": []}
        ),
    )
    refused = desk.run("agreement", "c.json")
    assert refused.is_refusal and "labels.csv" in refused.err, refused.err


def test_labels_are_measured_by_criterion_too(desk: Desk) -> None:
    """A labels file has figures for every criterion, with the raters by name."""
    rows = [
        f"r/{n}.txt,{who},{'yes' if n % 2 else 'no'},{'yes' if (n % 3 > 0) != (who == 'tom' and n == 4) else 'no'}"
        for n in range(9)
        for who in ("maria", "tom")
    ]
    desk.file("l.csv", "\n".join(["artifact,rater,helpful,polite", *rows]) + "\n")
    found = measured(desk, "agreement", "l.csv", "--json")
    by_name = {one["id"]: one for one in found["criteria"]}
    assert found["raters"] == ["maria", "tom"]
    assert by_name["helpful"]["raw_agreement"] == 1
    assert by_name["polite"]["raw_agreement"] == pytest.approx(8 / 9)
    text = desk.run("agreement", "l.csv").out
    assert all(word in text for word in ("maria", "tom", "helpful", "polite"))


def test_how_many_cells_are_missing_is_always_said(desk: Desk) -> None:
    """Also where none is; a minus is a rating where some cells are a plus, and else a gap."""
    desk.file("a.csv", "u,a,b\n1,yes,yes\n2,no,no\n3,-,-\n")
    desk.file("b.csv", "u,a,b\n1,+,+\n2,-,-\n3,-,+\n")
    assert measured(desk, "agreement", "a.csv", "--unit", "u", "--json")["missing"] == 2
    assert measured(desk, "agreement", "b.csv", "--unit", "u", "--json")["missing"] == 0
    assert "0 cells without a value" in desk.run("agreement", "b.csv", "--unit", "u").out


def test_a_completion_is_the_reference_unless_another_column_is(desk: Desk) -> None:
    """Of fine-tuning files it is the right answer; a refusal names the command that drafts."""
    desk.file("o.jsonl", '{"prompt": "When?", "completion": "In 1891"}\n')
    assert "reference: In 1891" in desk.run("suite", "new", "--from", "o.jsonl").out
    desk.file("p.jsonl", '{"prompt": "When?", "completion": "In 1901", "ideal": "In 1891"}\n')
    assert "reference: In 1891" in desk.run("suite", "new", "--from", "p.jsonl").out
    desk.file("d.json", '[{"input": "When?", "actual_output": "x", "expected_output": "y"}]')
    desk.file("r.csv", "question,answer,ground_truth\nWhen?,x,y\n")
    for name in ("d.json", "r.csv"):
        refused = desk.run("suite", "check", name)
        assert refused.is_refusal
        assert f"suite new --from {name}" in refused.err


def test_columns_of_a_draft_can_be_named(desk: Desk) -> None:
    """--reference and --output-column say which of two columns that compete is which."""
    desk.file("t.csv", "question,reference,second,answer\nWhen?,ONE,TWO,THREE\n")
    command = ("suite", "new", "--from", "t.csv")
    assert "reference: ONE" in desk.run(*command).out
    named = desk.run(*command, "--reference", "second", "--output-column", "reference").out
    assert "reference: TWO" in named
    desk.file("skill/SKILL.md", "---\nname: a\ndescription: b\n---\nDo it.\n")
    assert desk.run("suite", "new", "--from", "skill", "--reference", "a").is_refusal
    refused = desk.run(*command, "--reference", "nocol")
    assert refused.is_refusal
    assert "`nocol`" in refused.err
    assert "second" in refused.err
