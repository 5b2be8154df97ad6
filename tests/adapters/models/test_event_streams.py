"""Streamed answers as servers send them: any line ends, comments, data over several lines. A reply
is read whole or not at all, wherever the stream ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from honestone.adapters.answers import DamagedEvent, StreamedAnswer, events_of, read_answer
from honestone.adapters.endpoint import EndpointAnswer
from honestone.adapters.models.api_model import ApiModel
from honestone.adapters.models.catalog import make_model
from honestone.ports import CallFailed
from property_examples import examples

TEXT = json.dumps(
    {"token": "ab12", "answers": {"1": {"evidence": 'a "}" 예', "answer": True}, "2": False}},
    ensure_ascii=False,
)
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
BETWEEN = st.lists(st.sampled_from([": keep-alive", "event: message", "id: 7", "retry: 10"]))


def model(api: str = "chat") -> ApiModel:
    made = make_model(
        "compatible", "tester", api=api, timeout=5.0, base_url="http://127.0.0.1:9/v1"
    )
    assert isinstance(made, ApiModel)
    return made


CHAT = model()


def text_of(body: bytes) -> str | None:
    """What the stream says, or None where it is trouble that is worth another try."""
    answer = EndpointAnswer(200, {"content-type": "text/event-stream"}, body)
    value = read_answer(answer, CHAT.endpoint, model="tester", variable="K", key="")
    if isinstance(value, CallFailed):
        assert value.retryable
        return None
    try:
        return (
            CHAT.read(CHAT.assembled(value.events)).text
            if isinstance(value, StreamedAnswer)
            else None
        )
    except CallFailed as failed:
        return None if failed.retryable else failed.reason


def chunk(piece: str, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": finish}]}


def pieces_of(text: str, cuts: Sequence[int]) -> list[str]:
    ends = [0, *sorted(cuts), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]


def written(value: dict[str, Any], end: str, lines: bool, before: Sequence[str]) -> str:
    """An event; its JSON on one line or, as the standard allows, over several."""
    shown = json.dumps(value, indent=1 if lines else None, ensure_ascii=False)
    rows = [*before, *(f"data: {row}" for row in shown.split("\n"))]
    return end.join(rows) + end * 2


@st.composite
def streams(draw: st.DrawFn, *, finish: bool | None = None) -> tuple[bytes, bool]:
    """A whole stream of TEXT, and whether the server gives a reason for its end."""
    has_reason = draw(st.booleans()) if finish is None else finish
    cuts = draw(st.lists(st.integers(0, len(TEXT)), max_size=5))
    chunks = [chunk(piece) for piece in pieces_of(TEXT, cuts)]
    if has_reason:
        chunks.append(chunk("", "stop"))
    end = draw(LINE_ENDS)
    body = "".join(written(one, end, draw(st.booleans()), draw(BETWEEN)) for one in chunks)
    if draw(st.booleans()):
        body = f": hello{end * 2}{body}"
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return f"{mark}{body}data: [DONE]{end * draw(st.integers(0, 2))}".encode(), has_reason


@settings(max_examples=examples(200))
@given(streams())
def test_a_whole_stream_is_read_however_it_is_written(stream: tuple[bytes, bool]) -> None:
    """[DONE] without a reason for the end, behind a whole object, is an end."""
    assert text_of(stream[0]) == TEXT


@settings(max_examples=examples(400))
@given(streams(), st.data())
def test_a_stream_cut_at_any_byte_is_read_whole_or_not_at_all(
    stream: tuple[bytes, bool], data: st.DataObject
) -> None:
    """Never a part of it. Without a reason for the end it is whole with [DONE] alone."""
    body, has_reason = stream
    end = data.draw(st.integers(0, len(body) - 1))
    found = text_of(body[:end])
    assert found in (None, TEXT)
    if not has_reason and b"[DONE]" not in body[:end]:
        assert found is None


@settings(max_examples=examples(200))
@given(streams(), st.data())
def test_a_damaged_event_is_never_left_out(stream: tuple[bytes, bool], data: st.DataObject) -> None:
    """The piece that it held would be missing from the middle of the reply."""
    body, _ = stream
    keys = [found.start() for found in re.finditer(rb'"(?:choices|index|delta|content)"', body)]
    at = data.draw(st.sampled_from(keys))
    assert text_of(body[:at] + body[at + 1 :]) is None


@settings(max_examples=examples(100))
@given(st.integers(1, len(TEXT) - 1), st.booleans())
def test_done_behind_a_part_of_an_object_is_not_an_end(length: int, lines: bool) -> None:
    """Whatever the server says."""
    body = written(chunk(TEXT[:length]), "\n", lines, ()) + "data: [DONE]\n\n"
    assert text_of(body.encode()) is None


@example(["\n"])
@given(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=1, max_size=6))
def test_a_server_that_leaves_out_empty_lines_is_read(ends: list[str]) -> None:
    """Each line is an event of its own where together they are none."""
    pieces = pieces_of(TEXT, range(9, 9 * len(ends), 9))
    rows = [
        f"data: {json.dumps(chunk(piece))}{end}" for piece, end in zip(pieces, ends, strict=True)
    ]
    assert text_of(f"{''.join(rows)}data: [DONE]\n".encode()) == TEXT


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data: {}\n\n", [{}]),
        (b'data: ping\n\ndata: {"a": 1}\n\n', [{"a": 1}]),
        (b'data: {"a": 1}\n\n: bye\n\n', [{"a": 1}]),
        (b"\n\n: hello\n\n", []),
        (b'data:{"a":\ndata:1}\n\n', [{"a": 1}]),
        (b'data: {"a": 1}\n\ndata: {"b"', [{"a": 1}]),
        (b'{"data": 1}', []),
    ],
)
def test_events_are_the_objects_of_a_stream(body: bytes, events: list[dict[str, Any]]) -> None:
    """Words in place of an object are no event; a body of another kind is no stream."""
    assert events_of(EndpointAnswer(200, {}, body)) == events


def test_an_event_that_is_not_whole_json_is_named() -> None:
    """As in the log of a gateway that writes into the stream."""
    body = b'data: {"a": 1\n\ndata: {"b": 2}\n\n'
    with pytest.raises(DamagedEvent):
        events_of(EndpointAnswer(200, {}, body))
    failed = read_answer(
        EndpointAnswer(200, {}, body), CHAT.endpoint, model="tester", variable="K", key=""
    )
    assert isinstance(failed, CallFailed) and failed.retryable and "damaged" in failed.reason
