"""`record:` judges: recorded answers found by digest, path or name, read by the same strict reader."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from honestone.adapters.judges.record import RecordJudge
from honestone.core.artifact import Artifact, Entry, Version
from honestone.core.errors import FileError
from honestone.core.judging.ballot import Question, asked_criteria
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.ports import CallFailed, Reading
from property_examples import examples

RUBRIC = Rubric(
    criteria=(
        Criterion(
            id="one", requirement="Good", items=(Item(id="one", requirement="Good", whole=True),)
        ),
    )
)


def question(path: str = "docs/a.md", text: str = "x") -> Question:
    version = Version({Path(path).name: Entry(text.encode())}, is_folder=False)
    return Question(artifact=Artifact(path, version), criteria=asked_criteria(RUBRIC))


def row(met: Any = True, **names: Any) -> dict[str, Any]:
    return {**names, "criteria": {"one": {"met": met}}}


def judge(folder: Path, content: str | bytes | list[dict[str, Any]]) -> RecordJudge:
    path = folder / "answers"
    if isinstance(content, list):
        content = "".join(json.dumps(entry) + "\n" for entry in content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return RecordJudge("record:answers", path)


def read(recorded: RecordJudge, asked: Question) -> Reading:
    request = recorded.render(asked)
    return recorded.read(asked, request, asyncio.run(recorded.ask(request, asked)))


def answer(recorded: RecordJudge, asked: Question) -> Any:
    return [mark.answer for mark in read(recorded, asked).marks.values()]


@pytest.mark.parametrize(
    "name",
    [
        {"artifact": "docs/a.md"},
        {"artifact": "a.md"},
        {"artifact": {"path": "docs/a.md"}},
        {"digest": question().artifact.version.digest},
        {"artifact": {"digest": question().artifact.version.digest, "path": "elsewhere.md"}},
        {},
    ],
)
def test_a_row_is_found_by_digest_path_name_or_holds_for_all(
    tmp_path: Path, name: dict[str, Any]
) -> None:
    """Each way of naming what a row belongs to finds it."""
    assert answer(judge(tmp_path, [row(False, **name)]), question()) == [False]


def test_the_closest_row_wins(tmp_path: Path) -> None:
    """The digest before the path, the path before the name, the name before what holds for all."""
    digest = question().artifact.version.digest
    rows = [
        row(False),
        row(False, artifact="a.md"),
        row(False, artifact="docs/a.md"),
        row(True, digest=digest),
    ]
    assert answer(judge(tmp_path, rows), question()) == [True]
    rows = [row(False), row(False, artifact="a.md"), row(True, artifact="docs/a.md")]
    assert answer(judge(tmp_path, rows), question()) == [True]


def test_no_row_is_no_reply(tmp_path: Path) -> None:
    """An artifact without a row is abstained on with the reason."""
    recorded = judge(tmp_path, [row(artifact="b.md")])
    with pytest.raises(CallFailed, match=r"no answers for 'docs/a\.md'"):
        read(recorded, question())


def test_one_object_a_list_and_lines_are_all_read(tmp_path: Path) -> None:
    """JSON, indented JSON, a JSON list, lines with blank ones between, a byte-order mark."""
    rows = [row(True, artifact="a.md"), row(False, artifact="b.md")]
    for content in (
        json.dumps(rows),
        json.dumps(rows, indent=2),
        "\n\n".join(json.dumps(entry) for entry in rows) + "\n",
        "\ufeff" + "\n".join(json.dumps(entry) for entry in rows),
    ):
        recorded = judge(tmp_path, content)
        assert answer(recorded, question("a.md")) == [True]
        assert answer(recorded, question("b.md")) == [False]
    assert answer(judge(tmp_path, json.dumps(row(), indent=1)), question()) == [True]


@pytest.mark.parametrize(
    ("content", "words", "place"),
    [
        ("", "no recorded answers", None),
        ("\n \n", "no recorded answers", None),
        (b"\xff\xfe", "not UTF-8", None),
        ('{"criteria": {}}\nnot json\n', "no JSON", ":2"),
        ([row(artifact="a.md"), row(artifact="a.md")], "two rows for 'a.md'", None),
        ([row(), row()], "two rows that hold for every artifact", None),
    ],
)
def test_a_bad_file_is_refused_at_once(
    tmp_path: Path, content: Any, words: str, place: str | None
) -> None:
    """Before anything is asked the file is known to be readable and unambiguous."""
    with pytest.raises(FileError) as caught:
        judge(tmp_path, content)
    assert words in caught.value.message
    assert caught.value.hint
    if place:
        assert str(caught.value.place).endswith(place)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """The path is named, with what the file should be."""
    with pytest.raises(FileError, match=r"none\.json") as caught:
        RecordJudge("record:none.json", tmp_path / "none.json")
    assert caught.value.hint


@pytest.mark.parametrize("met", ["NaN", "null", '"yes"', "1.5", "[]"])
@pytest.mark.parametrize("as_list", [False, True])
def test_a_recorded_answer_is_read_as_strictly_as_a_live_one(
    tmp_path: Path, met: str, as_list: bool
) -> None:
    """A damaged answer is an error of its item, alone or in a list, never a mark."""
    text = f'{{"criteria": {{"one": {{"met": {met}}}}}}}'
    reading = read(judge(tmp_path, f"[{text}]" if as_list else text), question())
    assert reading.marks == {}
    assert reading.errors


def test_an_answer_given_twice_is_none(tmp_path: Path) -> None:
    """A key given twice in a row is an error, in a list too."""
    text = '{"criteria": {"one": {"met": true}, "one": {"met": true}}}'
    for content in (text, f"[{text}]"):
        assert read(judge(tmp_path, content), question()).marks == {}


def test_it_costs_nothing_and_is_who_its_bytes_are(tmp_path: Path) -> None:
    """No call is counted; other bytes are another judge."""
    first = judge(tmp_path, [row(True)])
    assert first.is_paid is False
    assert first.identity != judge(tmp_path, [row(False)]).identity


@settings(
    max_examples=examples(80),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["criteria", "one", "met", "artifact", "digest", "score"]),
                    inner,
                    max_size=3,
                )
            ),
            max_leaves=8,
        ).map(json.dumps),
    )
)
def test_no_file_crashes_it(tmp_path_factory: pytest.TempPathFactory, content: Any) -> None:
    """Whatever a file holds: it is refused by name, has no row, or is read into marks that are
    booleans.
    """
    folder = tmp_path_factory.mktemp("record")
    try:
        reading = read(judge(folder, content), question())
    except (FileError, CallFailed):
        return
    assert all(isinstance(mark.answer, bool) for mark in reading.marks.values())
