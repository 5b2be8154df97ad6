"""What other programs wrote down, and our own reports, read as recorded outputs."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.targets.record import RecordTarget
from honestone.adapters.targets.record_files import read_record
from honestone.core.artifact import digest_of
from honestone.core.errors import FileError, UsageError
from honestone.core.judging.rubric import Criterion, Item, Rubric, slug
from honestone.core.suite.case import Case
from honestone.ports import Output


def case(id: str, **more: Any) -> Case:
    return Case(
        id=id,
        rubric=Rubric(
            criteria=(Criterion(id="c", requirement="r", items=(Item(id="i", requirement="r"),)),)
        ),
        **more,
    )


def read(
    folder: Path, document: Any, *cases: Case, name: str = "rec.json"
) -> dict[tuple[str, int], Output]:
    data = document if isinstance(document, bytes) else json.dumps(document, indent=1).encode()
    (folder / name).write_bytes(data)
    target = RecordTarget(folder / name, name=name)
    target.refuse(cases or (case("a"), case("b")))
    return dict(target.outputs)


def texts(found: dict[tuple[str, int], Output]) -> dict[tuple[str, int], str]:
    return {key: one.text for key, one in found.items()}


FIRST = {("a", 1): "first", ("b", 1): "second"}


def sample(id: Any, text: str, epoch: int = 1, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    output = {"model": "openai/x", "completion": text, "choices": [], "usage": usage, "time": 0.5}
    return {"id": id, "epoch": epoch, "input": "?", "output": output, **more}


def result(index: int, text: Any, description: str | None = None, **more: Any) -> dict[str, Any]:
    test = {"vars": more.pop("vars", {})} | (
        {} if description is None else {"description": description}
    )
    response = {"output": text, "tokenUsage": {"prompt": 3, "completion": 4, "total": 7}}
    return {"testIdx": index, "testCase": test, "vars": test["vars"], "response": response, **more}


def promptfoo(*rows: Any) -> dict[str, Any]:
    return {
        "evalId": "e",
        "results": {"version": 3, "results": list(rows), "stats": {}},
        "config": {},
    }


def ours(*attempts: Any, id: str = "a") -> dict[str, Any]:
    return {
        "id": id,
        "status": "passed",
        "shown_attempt": 1,
        "output": attempts[0]["output"],
        "attempts": list(attempts),
    }


@pytest.mark.parametrize(
    "document",
    [
        [{"id": "a", "output": "first"}, {"id": "b", "output": "second"}],
        {
            "cases": [
                ours({"attempt": 1, "output": "first"}),
                ours({"attempt": 1, "output": "second"}, id="b"),
            ]
        },
        promptfoo(result(0, "first", "a"), result(1, "second", "b")),
        {"results": [result(0, "first", "a"), result(1, "second", "b")]},
        {
            "version": 2,
            "eval": {"model": "x"},
            "samples": [sample("a", "first"), sample("b", "second")],
        },
        b'{"test_id": "a", "output": "first", "status": "passed"}\n{"test_id": "b", "output": "second"}\n',
        b'\xef\xbb\xbf{"id": "a", "output": "first"}\r\n\r\n{"id": "b", "output": "second"}',
    ],
    ids=["list", "report", "promptfoo", "promptfoo 2", "inspect", "jsonl", "mark and CRLF"],
)
def test_every_form_is_known_by_what_it_holds(tmp_path: Path, document: Any) -> None:
    """The name of the file plays no part."""
    assert texts(read(tmp_path, document, name="anything.dat")) == FIRST


def test_attempts_of_a_report_with_what_came_along(tmp_path: Path) -> None:
    """Each with its own output, time, diff and trace; one that failed is a failure again and no
    empty output.
    """
    trace = {
        "tool_calls": [{"name": "search", "arguments": {}, "result": None}],
        "input_tokens": 5,
        "extra": {"seed": 1},
    }
    good = {
        "attempt": 1,
        "status": "passed",
        "output": "first",
        "duration_ms": 40,
        "diff": "+x",
        "trace": trace,
    }
    bad = {
        "attempt": 2,
        "status": "target-error",
        "output": "",
        "reasons": ["it ended with exit code 7"],
    }
    found = read(tmp_path, {"cases": [ours(good, bad)]}, case("a", attempts=2))
    one, two = found["a", 1], found["a", 2]
    assert (one.text, one.duration_ms, one.diff, one.error) == ("first", 40, "+x", None)
    assert one.trace is not None
    assert (one.trace.input_tokens, dict(one.trace.extra)) == (5, {"seed": 1})
    assert [call.name for call in one.trace.tool_calls or ()] == ["search"]
    assert (two.text, two.error) == ("", "it ended with exit code 7")


def test_promptfoos_names_are_those_of_our_reader_of_its_configs(tmp_path: Path) -> None:
    """By description as it is or as an id, by number, behind a prompt, before a value of a list;
    objects are JSON.
    """
    prompt = {"prompt": {"label": "Answer kindly", "raw": "..."}}
    named = {
        "Says hello": result(0, "0", "Says hello"),
        "says-goodbye": result(1, "1", "Says goodbye"),
        "test-3": result(2, "2"),
        "answer-kindly/greets": result(3, "3", "greets", **prompt),
        "town/oslo": result(4, "4", "town", vars={"city": "Oslo", "kind": "x"}),
        "town/bergen": result(5, "5", "town", vars={"city": "Bergen", "kind": "x"}),
        "object": result(6, {"a": "ä"}, "object"),
    }
    found = read(tmp_path, promptfoo(*named.values()), *map(case, named))
    assert texts(found) == {(id, 1): str(n) for n, id in enumerate(named) if n < 6} | {
        ("object", 1): '{"a": "ä"}'
    }
    assert found["test-3", 1].trace is not None
    assert (found["test-3", 1].trace.input_tokens, found["test-3", 1].trace.output_tokens) == (3, 4)


def test_what_promptfoo_calls_an_error_is_only_one_without_an_output(tmp_path: Path) -> None:
    """Its `error` also holds why an assertion failed."""
    failed = {**result(0, "first", "a"), "error": "Expected output to contain x"}
    broken = {**result(1, None, "b"), "error": "API error: 401"}
    found = read(tmp_path, promptfoo(failed, broken))
    assert (found["a", 1].text, found["a", 1].error, found["b", 1].error) == (
        "first",
        None,
        "API error: 401",
    )


def test_promptfoos_repeats_are_attempts(tmp_path: Path) -> None:
    """In the order of the file, as many as the case asks for; one more is doubled."""
    rows = [result(n, str(n), "a") for n in range(2)]
    assert texts(read(tmp_path, promptfoo(*rows), case("a", attempts=2))) == {
        ("a", 1): "0",
        ("a", 2): "1",
    }
    with pytest.raises(UsageError, match="recorded twice"):
        read(tmp_path, promptfoo(*rows), case("a"))


def test_two_providers_are_named_where_they_collide(tmp_path: Path) -> None:
    """One of them has to be chosen."""
    rows = [result(0, "x", "a", provider={"id": id}) for id in ("openai:x", "anthropic:y")]
    with pytest.raises(UsageError, match=r"openai:x.*anthropic:y") as refused:
        read(tmp_path, promptfoo(*rows), case("a"))
    assert "keep the outputs of one" in str(refused.value.hint)


def test_inspect_epochs_are_attempts_and_failures_are_failures(tmp_path: Path) -> None:
    """Numbers are ids; without `completion` the first choice is read; what was used is known."""
    parts = [{"type": "text", "text": "part"}, {"type": "image", "image": "x"}]
    choice = {"message": {"role": "assistant", "content": parts}}
    old = {"id": 2, "epoch": 1, "output": {"model": "m", "choices": [choice]}}
    broken = sample(1, "", 2, error={"message": "rate limit", "traceback": "..."})
    log = {"samples": [sample(1, "first"), broken, old]}
    found = read(tmp_path, log, case("1", attempts=2), case("2"))
    one = found["1", 1]
    assert (one.text, one.duration_ms, one.usage.input_tokens) == ("first", 500, 7)
    assert (found["1", 2].error, found["2", 1].text) == ("rate limit", "part")


def archive(members: dict[str, str]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in members.items():
            packed.writestr(name, text)
    return held.getvalue()


def test_inspects_own_archive(tmp_path: Path) -> None:
    """`.eval` is what Inspect writes unless it is told otherwise; a problem names the member."""
    rows = {
        f"samples/{id}_epoch_1.json": json.dumps(sample(id, text))
        for (id, _), text in FIRST.items()
    }
    header = {"header.json": json.dumps({"eval": {"model": "x"}}), "summaries.json": "[]"}
    assert texts(read(tmp_path, archive({**header, **rows}), name="log.eval")) == FIRST
    with pytest.raises(UsageError) as refused:
        read(
            tmp_path,
            archive({**rows, "samples/again.json": json.dumps(sample("b", "x"))}),
            name="log.eval",
        )
    assert refused.value.place == "log.eval:samples/again.json"
    for damaged in (archive(rows)[:-30], archive({"samples/x.json": "{"}), b"PK\x03\x04"):
        with pytest.raises(FileError, match="cannot be unpacked"):
            read(tmp_path, damaged, name="log.eval")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            [ours({"attempt": 1, "output": "x"}), ours({"attempt": 1, "output": "y"})],
            "recorded twice; first in line 12",
        ),
        (
            [
                ours({"attempt": 1, "output": "x"}),
                {"id": "b", "status": "skipped", "shown_attempt": None},
            ],
            "no `output`",
        ),
        ([ours({"attempt": 1, "output": "x"}), {"output": "x"}], "has no `id`"),
        (
            [ours({"attempt": 1, "output": "x"}), ours({"attempt": 0, "output": "y"})],
            "counts from 1",
        ),
        ([ours({"attempt": 1, "output": "x"}), 7], "not a JSON object"),
        (
            [ours({"attempt": 1, "output": "x"}), {"id": "b", "shown_attempt": 1, "attempts": [3]}],
            "not an attempt",
        ),
    ],
)
def test_a_gap_in_a_document_is_named_with_its_line(
    tmp_path: Path, rows: list[Any], says: str
) -> None:
    """The line where the second entry begins, in a document that is laid out over many."""
    document = {"schema": "honestone.report/1", "reasons": [{"cases": [1, 2]}], "cases": rows}
    laid_out = json.dumps(document, indent=1)
    with pytest.raises(UsageError, match=says.partition("; first")[0]) as refused:
        read(tmp_path, document)
    line = int(str(refused.value.place).rpartition(":")[2])
    entries = [
        n for n, text in enumerate(laid_out.split("\n"), 1) if text.startswith(("  {", "  7"))
    ]
    assert line == entries[-1]
    assert says in str(refused.value)


@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=4),
            st.none()
            | st.text(max_size=6)
            | st.lists(st.integers() | st.text(max_size=3), max_size=2),
            max_size=3,
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([None, 1, 4]),
)
def test_lines_are_those_where_entries_begin(
    rows: list[dict[str, Any]], indent: int | None
) -> None:
    """Whatever the entries hold and however the document is laid out."""
    import tempfile

    text = json.dumps(
        {"first": {"samples": [0]}, "samples": rows, "last": []}, indent=indent, ensure_ascii=False
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        path.write_text(text, encoding="utf-8", newline="")
        record = read_record(path, "x.json")
    assert record.rows == rows
    for index, row in enumerate(rows):
        line = int(record.place(index).rpartition(":")[2])
        rest = "\n".join(text.split("\n")[line - 1 :])
        starts = [at for at in range(len(rest)) if rest[at] == "{" and _decodes_to(rest[at:], row)]
        assert starts


def _decodes_to(text: str, value: Any) -> bool:
    try:
        return bool(json.JSONDecoder().raw_decode(text)[0] == value)
    except ValueError:
        return False


@given(
    st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=8), max_size=12),
    st.integers(0, 3),
)
def test_names_of_a_promptfoo_row_stay_few(variables: dict[str, str], index: int) -> None:
    """However many variables it has."""
    from honestone.adapters.targets.record_files import _promptfoo_names

    names = list(_promptfoo_names(result(index, "x", vars=variables)))
    assert names[0] == f"test-{index + 1}"
    assert len(names) < 1000
    if len(variables) == 1:
        (value,) = variables.values()
        assert f"test-{index + 1}/{slug(value, limit=24)}" in names


ROWS = ({"id": "a", "output": "first"}, {"id": "b", "output": "second"})


def test_json_lines_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    """A file of many outputs is not held in memory; one that is replaced meanwhile is still the one
    that was read.
    """
    path = tmp_path / "rec.jsonl"
    path.write_text("\n\n".join(json.dumps(row) for row in ROWS))
    file = read_record(path, "rec.jsonl")
    assert not isinstance(file.rows, list) and list(file.rows) == list(ROWS)
    assert (file.rows[1], file.rows[0:2], file.place(1), file.end) == (
        ROWS[1],
        list(ROWS),
        "rec.jsonl:3",
        "rec.jsonl:3",
    )
    assert file.digest == digest_of(path.read_bytes())
    other = tmp_path / "other"
    other.write_text("something else")
    other.replace(path)
    assert list(file.rows) == list(ROWS)


def test_a_row_that_changes_while_it_is_used_is_refused(tmp_path: Path) -> None:
    """What is judged is what the run's digest stands for."""
    path = tmp_path / "rec.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS))
    file = read_record(path, "rec.jsonl")
    path.write_text(path.read_text().replace("second", "secret"))
    assert file.rows[0] == ROWS[0]
    with pytest.raises(FileError, match=r"rec\.jsonl' was changed while it was used"):
        file.rows[1]


@pytest.mark.parametrize("damage", [b"\xff", b"\0"])
def test_a_line_that_is_not_text_is_named(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "rec.jsonl"
    path.write_bytes(
        b"\n".join(json.dumps(row).encode() for row in ROWS) + b'\n{"id": "' + damage + b'"}'
    )
    with pytest.raises(UsageError, match="it is not UTF-8 text") as error:
        read_record(path, "rec.jsonl")
    assert error.value.place == "rec.jsonl:3"


@pytest.mark.parametrize(
    "row", ['{"id": "c", "output": "\\ud800"}', '{"id": "c", "output": "", "cost": NaN}']
)
def test_rows_that_python_alone_reads_are_read(tmp_path: Path, row: str) -> None:
    """Half a surrogate pair; NaN, which other tools write."""
    path = tmp_path / "rec.jsonl"
    path.write_text("\n".join([*map(json.dumps, ROWS), row]))
    assert read_record(path, "rec.jsonl").rows[2]["id"] == "c"
