"""Answers, stream events and rows of batches whose fields hold anything at all: each is read, or it
is a call that failed.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from honestone.adapters.answers import MOST_NESTED, StreamedAnswer, decode, read_answer
from honestone.adapters.endpoint import EndpointAnswer
from honestone.adapters.models.api_model import ApiModel
from honestone.adapters.models.batches.api import (
    AnthropicBatches,
    BatchApi,
    OpenAIBatches,
    read_result,
)
from honestone.adapters.models.catalog import make_model
from honestone.adapters.models.embeddings import HttpEmbedder, make_embedder
from honestone.adapters.transport import Transport
from honestone.ports import CallFailed, Prompt
from property_examples import examples

LOG = {"token": "true", "logprob": -0.1, "top_logprobs": [{"token": "no", "logprob": -3}]}
CALL = {"name": "f", "arguments": '{"a": 1}'}
USED = {"input_tokens": 1, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 0}}
RESPONSE = {
    "status": "completed",
    "model": "m",
    "error": None,
    "incomplete_details": {"reason": "max_output_tokens"},
    "usage": USED,
    "output": [
        {
            "type": "message",
            "phase": "final_answer",
            "content": [{"type": "output_text", "text": "a", "logprobs": [LOG]}],
        },
        {"type": "function_call", **CALL},
    ],
}
CHOICE = {"index": 0, "finish_reason": "stop", "logprobs": {"content": [LOG]}}
SAID = {"content": "true", "refusal": None, "tool_calls": [{"function": CALL}]}
CHAT = {
    "model": "m",
    "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    "choices": [{**CHOICE, "message": SAID}],
}
MESSAGE = {
    "model": "m",
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1},
    "content": [
        {"type": "text", "text": "a"},
        {"type": "tool_use", "name": "f", "input": {"a": 1}},
    ],
}
WEIGHED = {"token": "true", "logProbability": -0.1}
GOOGLE = {
    "modelVersion": "m",
    "promptFeedback": {"blockReason": "SAFETY"},
    "usageMetadata": {"promptTokenCount": 1},
    "candidates": [
        {
            "finishReason": "STOP",
            "content": {
                "parts": [
                    {"text": "a", "thought": True},
                    {"functionCall": {"name": "f", "args": {"a": 1}}},
                ]
            },
            "logprobsResult": {
                "chosenCandidates": [WEIGHED],
                "topCandidates": [{"candidates": [WEIGHED]}],
            },
        }
    ],
}
FAILED = {"error": {"code": "400", "type": "x", "message": "m", "param": "p", "details": [{}]}}
ANSWERS: list[tuple[str, Any]] = [
    ("responses", RESPONSE),
    ("responses", {**RESPONSE, "status": "failed", "error": {"code": "server_error"}}),
    ("chat", CHAT),
    ("chat", {**CHAT, "choices": [{**CHOICE, "message": {"function_call": CALL}}]}),
    ("messages", MESSAGE),
    ("generateContent", GOOGLE),
    ("chat", FAILED),
    ("generateContent", {"error": {"details": [{"reason": "r", "retryDelay": "1s"}]}}),
]
STREAMS: list[tuple[str, list[Any]]] = [
    ("responses", [{"type": "response.completed", "response": RESPONSE}]),
    ("chat", [{**CHAT, "choices": [{**CHOICE, "delta": SAID}]}, FAILED, {}]),
    (
        "messages",
        [
            {"type": "message_start", "message": MESSAGE},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
            {"type": "content_block_delta", "index": 0, "delta": {"text": "a"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"a": 1}},
            {"type": "message_stop"},
        ],
    ),
]

HALVES = st.sampled_from(["\ud800", "a\udc00", '{"a": "\\ud83d"}', "²", "4²0", "9" * 5_000])
NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, -(10**400), 1e999])
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | HALVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "code", "text", "\ud800"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value inside of one."""
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for key, one in inner:
        yield (*way, key)
        yield from places(one, (*way, key))


def changed(value: Any, way: tuple[Any, ...], put: Any) -> Any:
    whole = copy.deepcopy(value)
    *before, last = way
    at = whole
    for step in before:
        at = at[step]
    at[last] = put
    return whole


def model(api: str) -> ApiModel:
    provider = {"messages": "anthropic", "generateContent": "google"}.get(api, "openai")
    made = make_model(
        provider,
        "tester",
        api=api if provider == "openai" else None,
        base_url="http://127.0.0.1:9/v1",
        parameters={} if api == "messages" else {"probability": True},
    )
    assert isinstance(made, ApiModel)
    return made


MODELS = {api: model(api) for api in ("responses", "chat", "messages", "generateContent")}


def is_read(api: str, body: bytes) -> bool:
    """Whether a body is read, to a completion that can be written down; False where it is a call
    that failed.
    """
    asked = MODELS[api]
    value = read_answer(
        EndpointAnswer(200, {}, body), asked.endpoint, model="tester", variable="K", key=""
    )
    if isinstance(value, CallFailed):
        return False
    try:
        whole = asked.assembled(value.events) if isinstance(value, StreamedAnswer) else value
        made = asked.completion(whole, Prompt(text="?"), frozenset())
    except CallFailed:
        return False
    calls = [[call.name, call.arguments] for call in made.calls]
    plain = [made.text, made.model, dict(made.detail), calls]
    assert json.dumps(plain, ensure_ascii=False).encode()
    return True


def stream_of(events: Any) -> bytes:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


@pytest.mark.parametrize(("api", "answer"), ANSWERS[:6])
def test_the_answers_that_are_changed_are_read_as_they_are(api: str, answer: Any) -> None:
    is_failure = answer.get("status") == "failed"
    assert is_read(api, json.dumps(answer).encode()) is not is_failure


@settings(max_examples=examples(600), deadline=None)
@given(st.sampled_from(ANSWERS), st.data())
def test_anything_in_a_field_of_an_answer_is_read_or_a_call_that_failed(
    answer: tuple[str, Any], data: st.DataObject
) -> None:
    api, whole = answer
    way = data.draw(st.sampled_from(list(places(whole))))
    is_read(api, json.dumps(changed(whole, way, data.draw(ANYTHING))).encode())


@settings(max_examples=examples(600), deadline=None)
@given(st.sampled_from(STREAMS), st.data())
def test_anything_in_a_field_of_an_event_is_read_or_a_call_that_failed(
    stream: tuple[str, list[Any]], data: st.DataObject
) -> None:
    api, events = stream
    way = data.draw(st.sampled_from(list(places(events))))
    is_read(api, stream_of(changed(events, way, data.draw(ANYTHING))))


@pytest.mark.parametrize("odd", [[0], {"a": []}, [["a"]], -(10**400), "²", "9" * 5_000, "\ud800"])
def test_every_field_with_a_value_that_cannot_be_looked_up_or_counted(odd: Any) -> None:
    """Each of them, and not only those that a random test comes across."""
    for api, answer in ANSWERS:
        for way in places(answer):
            is_read(api, json.dumps(changed(answer, way, odd)).encode())
    for api, events in STREAMS:
        for way in places(events):
            is_read(api, stream_of(changed(events, way, odd)))


@pytest.mark.parametrize(("api", "answer"), ANSWERS[:6])
def test_a_value_that_is_nested_without_end_is_a_call_that_failed(api: str, answer: Any) -> None:
    """Also where the interpreter's own reader takes it, which those behind it would not."""
    for depth in (MOST_NESTED + 1, 900, 990, 100_000):
        deep = "[" * depth + "]" * depth
        body = json.dumps(changed(answer, (next(iter(answer)),), "DEEP")).encode()
        assert not is_read(api, body.replace(b'"DEEP"', deep.encode()))
    assert decode(b"[" * MOST_NESTED + b"]" * MOST_NESTED) is not None
    given = {"name": "f", "arguments": deep}
    assert is_read("responses", json.dumps(changed(RESPONSE, ("output", 1), given)).encode())


@settings(max_examples=examples(200))
@given(ANYTHING, st.booleans())
@example("\\ud800", True)
@example("\ud83d\ude00", True)
@example("a\\\ud800", True)
def test_whole_characters_stay_as_they_are_and_halves_do_not(value: Any, is_ascii: bool) -> None:
    """However they are written. Two halves in a row are one character in JSON."""
    body = json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    try:
        plain = json.loads(body)
    except ValueError:
        assert decode(body) is None
        return
    found = json.dumps(decode(body), ensure_ascii=False)
    assert found == json.dumps(plain, ensure_ascii=False).encode(errors="replace").decode()


NAME = "honestone-a"
BATCH = {
    "id": "batch_1",
    "created_at": "2026-01-01T00:00:00Z",
    "request_counts": {"succeeded": 1},
    "metadata": {"honestone": "mark"},
    "status": "failed",
    "errors": {"data": [{"message": "m"}]},
    "output_file_id": "file_1",
    "error_file_id": "file_2",
    "processing_status": "ended",
}
PAGE = {"data": [BATCH], "has_more": False}
OPENAI_ROW = {
    "custom_id": NAME,
    "response": {"status_code": 200, "body": RESPONSE},
    "error": {"code": "batch_expired", "message": "m"},
}
ANTHROPIC_ROWS = [
    {"custom_id": NAME, "result": {"type": "succeeded", "message": MESSAGE}},
    {
        "custom_id": NAME,
        "result": {"type": "errored", "error": {"error": {"type": "api_error", "message": "m"}}},
    },
]


def batches(api: str, body: bytes, results: bytes) -> BatchApi:
    """An account whose server answers each call with the body, or with results where these are
    asked for.
    """
    kind = OpenAIBatches if api == "responses" else AnthropicBatches

    class Answering(kind):  # type: ignore[valid-type, misc]
        async def _send(self, method: str, path: str, *_: Any) -> bytes:
            return results if path.endswith(("/content", "/results")) else body

    made = Answering(MODELS[api].endpoint, "tester", MODELS[api].path())
    assert isinstance(made, BatchApi)
    return made


async def use(api: BatchApi) -> None:
    """Everything that is asked of an account; each may fail."""
    none: frozenset[str] = frozenset()
    for asked in (
        api.submit([], "mark"),
        api.find("mark", 1, 0.0, none),
        api.is_over("batch_1"),
        api.results("batch_1"),
    ):
        try:
            found = await asked
        except CallFailed:
            continue
        for answer in found.values() if isinstance(found, dict) else ():
            if isinstance(answer, EndpointAnswer):
                read_result(api, answer)


ROWS = [("responses", OPENAI_ROW), *(("messages", row) for row in ANTHROPIC_ROWS)]


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(ROWS), st.data(), ANYTHING)
def test_anything_in_a_field_of_a_batch_is_read_or_a_call_that_failed(
    row: tuple[str, Any], data: st.DataObject, put: Any
) -> None:
    api, line = row
    of_page = data.draw(st.sampled_from(list(places(PAGE))))
    of_batch = data.draw(st.sampled_from(list(places(BATCH))))
    of_line = data.draw(st.sampled_from(list(places(line))))
    results = json.dumps(changed(line, of_line, put)).encode()
    for body in (changed(PAGE, of_page, put), changed(BATCH, of_batch, put), BATCH):
        asyncio.run(use(batches(api, json.dumps(body).encode(), results)))


@pytest.mark.parametrize("odd", [["a"], {"a": 1}, "²", "\ud800", "0001-01-01", -(10**400)])
def test_every_field_of_a_batch_with_a_value_that_cannot_be_looked_up(odd: Any) -> None:
    for api, line in ROWS:
        written = json.dumps(line).encode()
        for way in places(PAGE):
            body = json.dumps(changed(PAGE, way, odd)).encode()
            asyncio.run(use(batches(api, body, written)))
        for way in places(line):
            results = json.dumps(changed(line, way, odd)).encode()
            asyncio.run(use(batches(api, json.dumps(BATCH).encode(), results)))


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(["openai", "google"]), st.lists(NUMBERS, max_size=3) | ANYTHING)
def test_anything_as_an_embedding_is_a_vector_or_a_call_that_failed(
    provider: str, vector: Any
) -> None:
    made = make_embedder(provider, "m", base_url="http://127.0.0.1:9/v1")
    assert isinstance(made, HttpEmbedder)
    value = {"data": [{"embedding": vector}], "embedding": {"values": vector}}

    async def post(*_: Any, **__: Any) -> Any:
        return decode(json.dumps(value).encode())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transport, "post", post)
        try:
            numbers, _ = asyncio.run(made.embed("a"))
        except CallFailed:
            return
    assert numbers and all(isinstance(one, float) for one in numbers)
