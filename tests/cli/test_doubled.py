"""What is doubled is refused by every reader: it is open which of the two was meant, and the last
one must not win.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from honestone.adapters.agent_clis.base import json_lines
from honestone.adapters.answers import decode
from honestone.adapters.targets.trace_parsing import as_output
from honestone.core.json_value import json_once
from honestone.view.asking import NotTaken, read_sent

from .desk import Desk

SUITE = "suite: 1\ntarget: cmd:cat\ncases: [{id: a, input: x, checks: [{contains: GOOD}]}]\n"

ROWS = [
    '{"id":"a","output":"bad","output":"GOOD"}',
    '{"id":"b","id":"a","output":"GOOD"}',
    '{"id":"a","output":"GOOD","trace":{"usd":1,"usd":2}}',
    '{"id":"a","output":"GOOD","error":"it broke"}',
    '[{"id":"a","output":"bad","output":"GOOD"}]',
    '{"cases":[{"id":"a","output":"bad","output":"GOOD"}]}',
]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("how", ["--outputs", "--target"])
def test_recorded_outputs_that_say_two_things_are_refused(desk: Desk, row: str, how: str) -> None:
    """A key twice, and an error next to an output: exit 2, and nothing passes."""
    desk.file("s.yaml", SUITE)
    name = desk.file("o.jsonl" if row.startswith('{"id') else "o.json", row + "\n").name
    result = desk.run("eval", "s.yaml", how, name if how == "--outputs" else f"record:{name}")
    assert result.code == 2 and name in result.err, result


def test_an_error_without_an_output_stays_an_error(desk: Desk) -> None:
    """The row of a target that failed is read as before, also with an empty output."""
    desk.file("s.yaml", SUITE)
    for row in ({"id": "a", "error": "it broke"}, {"id": "a", "output": "", "error": "it broke"}):
        desk.file("o.jsonl", json.dumps(row) + "\n")
        result = desk.run("eval", "s.yaml", "--outputs", "o.jsonl")
        assert result.code == 3 and "it broke" in result.out, result


@pytest.mark.parametrize(
    "printed",
    [
        '{"output": "bad", "output": "GOOD"}',
        '{"output": "GOOD", "error": "it broke"}',
        '{"output": "GOOD", "usd": 1, "usd": 0}',
    ],
)
def test_a_target_that_prints_two_answers_gives_none(printed: str) -> None:
    """What a command prints as JSON, or a function returns: an error of the target, never the last
    of the two.
    """
    output = as_output(printed.encode(), is_json=True)
    assert output.error and not output.text


@pytest.mark.parametrize(
    "labels",
    [
        '{"artifact":"a.txt","criterion":"q","item":"q","rater":"m","answer":false,"answer":true}\n',
        '{"artifact":"a.txt","rater":"m","rater":"n","criterion":"q","item":"q","answer":true}\n',
    ],
)
def test_rows_of_labels_name_each_key_once(desk: Desk, labels: str) -> None:
    """JSON lines of every kind: a label, a rating, a table."""
    desk.file("a.txt", "x")
    desk.file("r.yaml", "rubric: 1\ncriteria: [{id: q, requirement: good}]\n")
    desk.file("l.jsonl", labels)
    for command in (
        ["calibrate", "--labels", "l.jsonl", "-r", "r.yaml", "-j", "mock"],
        ["agreement", "l.jsonl"],
    ):
        result = desk.run(*command)
        assert result.code == 2 and "l.jsonl:1" in result.err and "twice" in result.err, result


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"x": {"a": 1, "a": 1}}',
        '[{"a": null, "a": null}]',
        '{"\\u0061": 1, "a": 2}',
    ],
)
def test_no_reader_of_json_takes_the_last_of_two(text: str) -> None:
    """The envelope of a server, an event of an agent CLI, an answer of a page: at any depth, and
    however it is escaped.
    """
    with pytest.raises(ValueError, match="twice"):
        json_once(text)
    assert decode(text.encode()) is None
    assert list(json_lines(text.encode(), dict)) == []


@pytest.mark.parametrize("more", [{}, {"note": "n"}])
def test_an_answer_of_a_page_says_each_thing_once(more: dict[str, Any]) -> None:
    """`value` twice is not an answer; once it is."""
    good = json.dumps({"at": 0, "value": True, "question": "q", **more})
    assert read_sent(good.encode()).value is True
    with pytest.raises(NotTaken, match="twice"):
        read_sent((good[:-1] + ', "value": false}').encode())


def test_half_a_character_is_no_answer_of_a_page() -> None:
    """Half a surrogate pair cannot be written to a file, so it is refused as before."""
    with pytest.raises(NotTaken):
        read_sent(b'{"at": 0, "value": true, "note": "\\ud800"}')
