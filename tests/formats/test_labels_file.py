"""Labels files: what is read from CSV and JSON lines, what is refused with its line, and what is
added.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.errors import UsageError
from honestone.core.judging.rubric import Rubric
from honestone.core.statistics.labels import GivenLabel, LabelQuote, targets_of
from honestone.formats.labels_file import LabelsFile, labels_so_far, read_labels
from honestone.formats.rubric.rubric_file import read_rubric

TEXT = """\
rubric: 1
criteria:
  - {id: sound, requirement: It is sound}
  - id: words
    requirement: It names things
    items: [{id: apple, requirement: It names the apple}, {id: pear, requirement: It names the pear}]
  - {id: depth, requirement: It goes deep, anchors: {0: shallow, 10: deep}, may_not_apply: true}
  - {id: code, requirement: It says a, check: {contains: a}}
"""


@pytest.fixture
def rubric(tmp_path: Path) -> Rubric:
    (tmp_path / "r.yaml").write_text(TEXT)
    return read_rubric(tmp_path / "r.yaml").rubric


def read(folder: Path, rubric: Rubric, name: str, text: str | bytes) -> list[tuple[object, ...]]:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return [
        (one.artifact, one.rater, one.key, one.answer) for one in read_labels(folder / name, rubric)
    ]


@pytest.mark.parametrize("before", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_table(before: str, end: str, tmp_path: Path, rubric: Rubric) -> None:
    """Empty cells are not labelled; a criterion with items is labelled item by item, or as a whole."""
    lines = [
        "artifact, rater,sound,words/apple,words,depth",
        "a.md,maria,yes,No,50,7.5",
        '"b, c.md",,TRUE,,false,',
        ",,,,,",
        "c.md,maria,0,,,N/A",
    ]
    assert read(tmp_path, rubric, "l.csv", before + end.join(lines)) == [
        ("a.md", "maria", ("sound", "sound"), True),
        ("a.md", "maria", ("words", "apple"), False),
        ("a.md", "maria", ("words", ""), 50),
        ("a.md", "maria", ("depth", "depth"), 7.5),
        ("b, c.md", "person", ("sound", "sound"), True),
        ("b, c.md", "person", ("words", ""), False),
        ("c.md", "maria", ("sound", "sound"), False),
        ("c.md", "maria", ("depth", "depth"), "n/a"),
    ]


def test_json_lines(tmp_path: Path, rubric: Rubric) -> None:
    """Values as JSON or as text; the item is needed only where there are several."""
    rows = [
        {"artifact": "a.md", "rater": "m", "criterion": "sound", "value": True},
        {"artifact": "a.md", "rater": "n", "criterion": "sound", "item": "sound", "value": "no"},
        {"artifact": "a.md", "criterion": "words", "item": "pear", "value": 1},
        {"artifact": "a.md", "criterion": "words", "item": None, "value": 80},
        {"artifact": "a.md", "criterion": "depth", "value": 3},
        {"artifact": "b.md", "criterion": "depth", "value": None},
    ]
    text = "\n\n".join(map(json.dumps, rows))
    assert [row[1:] for row in read(tmp_path, rubric, "l.jsonl", text)] == [
        ("m", ("sound", "sound"), True),
        ("n", ("sound", "sound"), False),
        ("person", ("words", "pear"), True),
        ("person", ("words", ""), 80),
        ("person", ("depth", "depth"), 3),
    ]


def test_the_later_answer_about_other_bytes_counts(tmp_path: Path, rubric: Rubric) -> None:
    row = {"artifact": "a.md", "rater": "m", "criterion": "sound"}
    lines = [
        {**row, "value": True, "digest": "sha256:1"},
        {**row, "value": False, "digest": "sha256:2"},
    ]
    assert [
        row[3] for row in read(tmp_path, rubric, "l.jsonl", "\n".join(map(json.dumps, lines)))
    ] == [False]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("l.csv", "artifact,sond\na.md,yes\n", ["l.csv:1", "`sond`", "did you mean `sound`?"]),
        ("l.csv", "artefact,sound\na.md,yes\n", ["l.csv:1", "`artifact`", "is `artefact` it?"]),
        ("l.csv", "artifact,code\na.md,yes\n", ["l.csv:1", "answered by a check"]),
        ("l.csv", "artifact,sound\na.md,maybe\n", ["l.csv:2", "'maybe'", "yes or no"]),
        ("l.csv", "artifact,sound\na.md,50\n", ["l.csv:2", "yes or no"]),
        ("l.csv", "artifact,sound\na.md,n/a\n", ["l.csv:2", "not allowed"]),
        ("l.csv", "artifact,depth\na.md,yes\n", ["l.csv:2", "from 0 to 10"]),
        ("l.csv", "artifact,depth\na.md,11\n", ["l.csv:2", "scale"]),
        ("l.csv", "artifact,depth\na.md,nan\n", ["l.csv:2", "'nan'"]),
        ("l.csv", "artifact,words\na.md,101\n", ["l.csv:2", "from 0 to 100"]),
        ("l.csv", "artifact,words/aple\na.md,yes\n", ["l.csv:1", "did you mean `words/apple`?"]),
        ("l.csv", "artifact,sound\na.md,yes\n./a.md,yes\n", ["l.csv:3", "twice", "line 2"]),
        ("l.csv", "artifact,sound\n,yes\n", ["l.csv:2", "which artifact"]),
        ("l.csv", "artifact,sound\na.md,yes,no\n", ["l.csv:2", "3 cells"]),
        ("l.csv", "artifact,sound,sound\na.md,yes,no\n", ["two columns"]),
        ("l.csv", b"artifact,sound\na.md,\xff\n", ["not UTF-8"]),
        ("l.csv", "", ["l.csv"]),
        ("l.jsonl", "{}\n", ["l.jsonl:1", "`criterion`"]),
        ("l.jsonl", "[]\n", ["l.jsonl:1", "not a JSON object"]),
        (
            "l.jsonl",
            '{"artifact": "a", "criterium": "sound", "value": true}\n',
            ["did you mean `criterion`?"],
        ),
        (
            "l.jsonl",
            '{"artifact": "a", "criterion": "sond", "value": true}\n',
            ["did you mean `sound`?"],
        ),
        (
            "l.jsonl",
            '{"artifact": "a", "criterion": "sound", "item": "x", "value": true}\n',
            ["`sound/x`"],
        ),
        (
            "l.jsonl",
            '{"artifact": "a\\u0000", "criterion": "sound", "value": true}\n',
            ["which artifact"],
        ),
        (
            "l.jsonl",
            '{"artifact": "a", "criterion": "sound", "value": [1]}\n',
            ["l.jsonl:1", "yes or no"],
        ),
        (
            "l.jsonl",
            '{"artifact": "a", "criterion": "sound", "value": "\\u001b[31m"}\n',
            ["l.jsonl:1"],
        ),
        (
            "l.jsonl",
            '{"artifact": "a", "rater": 3, "criterion": "sound", "value": true}\n',
            ["must be text"],
        ),
    ],
)
def test_errors_have_their_line(
    name: str, text: str | bytes, said: list[str], tmp_path: Path, rubric: Rubric
) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, rubric, name, text)
    message = f"{caught.value} {caught.value.hint}"
    assert all(word in message for word in said), message
    assert "\x1b" not in message


def test_every_error_is_reported(tmp_path: Path, rubric: Rubric) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, rubric, "l.csv", "artifact,sound\na.md,maybe\nb.md,perhaps\n")
    assert len(caught.value.errors) == 2


@pytest.mark.parametrize("name", ["l.csv", "l.jsonl"])
@pytest.mark.parametrize("ends", [True, False])
def test_what_is_added_is_read_back(name: str, ends: bool, tmp_path: Path, rubric: Rubric) -> None:
    """Also behind a last line that has no end."""
    targets = {one.name: one for one in targets_of(rubric).values()}
    file = LabelsFile.open(tmp_path / name, [one for one in targets.values() if one.item])
    answers = {"sound": True, "words/apple": False, "depth": 2.5}
    for column, answer in answers.items():
        label = GivenLabel(
            artifact="ä, b.md", rater="마리아", key=targets[column].key, answer=answer
        )
        file.add(label, targets[column])
        if not ends:
            (tmp_path / name).write_bytes((tmp_path / name).read_bytes().rstrip(b"\n"))
    found = labels_so_far(tmp_path / name, rubric)
    assert {(one.artifact, one.rater) for one in found} == {("ä, b.md", "마리아")}
    assert [one.answer for one in found] == list(answers.values())


def test_a_table_without_the_column_is_not_added_to(tmp_path: Path, rubric: Rubric) -> None:
    (tmp_path / "l.csv").write_text("artifact,sound\na.md,yes\n")
    with pytest.raises(UsageError, match=r"no column `rater`"):
        LabelsFile.open(tmp_path / "l.csv", targets_of(rubric).values())


_CELL = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["yes", "no", "7", "artifact"]
)


@given(rows=st.lists(st.lists(_CELL, min_size=3, max_size=3), max_size=5))
def test_any_table_is_read_or_refused(
    rows: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Never with another error."""
    folder = tmp_path_factory.mktemp("labels")
    (folder / "r.yaml").write_text(TEXT)
    rubric = read_rubric(folder / "r.yaml").rubric
    out = io.StringIO()
    csv.writer(out).writerows([["artifact", "sound", "depth"], *rows])
    try:
        found = read(folder, rubric, "l.csv", out.getvalue())
    except UsageError:
        return
    assert len(found) <= 2 * len(rows)


def test_of_lines_that_label_wrote_the_last_counts(tmp_path: Path, rubric: Rubric) -> None:
    """A null is a skip, which takes an answer back; lines without the schema may still not say the
    same twice.
    """
    row = {
        "schema": "honestone.label/1",
        "artifact": "a.md",
        "rater": "m",
        "criterion": "sound",
        "digest": "sha256:1",
    }
    lines = [{**row, "value": True}, {**row, "value": False}, {**row, "rater": "n", "value": True}]
    lines += [{**row, "rater": "n", "value": None}]
    text = "\n".join(map(json.dumps, lines))
    assert read(tmp_path, rubric, "l.jsonl", text) == [("a.md", "m", ("sound", "sound"), False)]
    given = labels_so_far(tmp_path / "l.jsonl", rubric)
    assert [(one.rater, one.answer) for one in given] == [("m", False), ("n", None)]
    with pytest.raises(UsageError, match="twice"):
        read(tmp_path, rubric, "l.jsonl", text.replace("honestone.label/1", "other"))


_WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    note=_WORDS,
    quote=_WORDS,
    seconds=st.floats(0, 1e6),
    answer=st.sampled_from([True, False, None]),
)
def test_any_remark_is_read_back(
    note: str,
    quote: str,
    seconds: float,
    answer: bool | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Line ends of every kind in it too: a line stays one line."""
    folder = tmp_path_factory.mktemp("labels")
    (folder / "r.yaml").write_text(TEXT)
    rubric = read_rubric(folder / "r.yaml").rubric
    target = targets_of(rubric)["sound"]
    label = GivenLabel(
        artifact="a.md",
        rater="m",
        key=target.key,
        answer=answer,
        digest="sha256:1",
        evidence=(LabelQuote(quote=quote, start=0, end=len(quote)), LabelQuote(quote=quote)),
        note=note,
        seconds=seconds,
    )
    file = LabelsFile.open(folder / "l.jsonl", [target])
    file.add(label, target)
    (found,) = labels_so_far(folder / "l.jsonl", rubric)
    assert (found.note, found.evidence, found.answer) == (note, label.evidence, answer)
