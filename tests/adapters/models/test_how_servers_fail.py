"""How servers fail a judge: each way has its own reason and hint, and is asked again only where
that helps.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.adapters import transport
from honestone.adapters.answers import DamagedEvent, events_of, failure_of
from honestone.adapters.endpoint import Endpoint, EndpointAnswer
from honestone.adapters.judges.prompted import PromptedJudge
from honestone.adapters.models import api_model
from honestone.adapters.stores.memory import MemoryStore
from honestone.core.artifact import Artifact, Version
from honestone.core.judging.ballot import (
    AskedCriterion,
    Ballot,
    Question,
    ballot_from_plain,
    ballot_to_plain,
)
from honestone.core.judging.rubric import Item
from honestone.core.judging.spend import Meter
from honestone.engine.judging.panel import Panel
from honestone.engine.judging.seats import Seat
from honestone.ports import CallFailed, Prompt
from property_examples import examples

from .standin import APIS, Fault, Saying, Standin
from .test_model_contract import ask, failure, model_for

STREAMING = ("chat", "responses", "messages")


@pytest.fixture(autouse=True)
def no_server_is_known() -> None:
    """What servers said in earlier tests: their ports may be given out again."""
    api_model._streams.clear()
    api_model._declined.clear()


def consult(standin: Standin, api: str, **more: Any) -> Ballot:
    """The ballot of a judge at the stand-in about one question."""
    item = Item(id="a", requirement="says alpha", whole=True)
    asked = (AskedCriterion(id="a", requirement="says alpha", items=(item,)),)
    judge = PromptedJudge("x", model_for(standin, api), structured=False, **more)
    panel = Panel(
        seats=[Seat(id="x", judge=judge, kind="model")],
        journal=MemoryStore().journal,
        meter=Meter(calls=50, minutes=60, usd=None, clock=time.monotonic),
    )

    async def once() -> Ballot:
        try:
            found = await panel.consult(
                Question(artifact=Artifact("a.md", Version.of_text("alpha")), criteria=asked)
            )
        finally:
            await panel.close()
        return found[0].ballot

    return asyncio.run(once())


@pytest.mark.parametrize("api", APIS)
def test_a_filter_or_a_refusal_is_named_and_asked_once(standin: Standin, api: str) -> None:
    """Asking again would meet the same filter; another judge may not. What the model said is
    quoted.
    """
    for stop, words in (("filter", ""), ("refusal", "I cannot help with this.")):
        standin.say, calls = Saying(text=words, stop=stop), len(standin.calls)
        ballot = consult(standin, api, reasks=3)
        assert len(standin.calls) == calls + 1 and not ballot.marks
        named = {"chat": "content filter", "responses": "content filter", "messages": "refused"}
        filtered = named.get(api, "content filter")
        wanted = filtered if stop == "filter" or api == "generateContent" else "refused"
        assert wanted in (ballot.reason or "") and "--judge" in (ballot.hint or "")
        assert wanted == "content filter" or words in (ballot.reason or "")
        assert ballot_from_plain(ballot_to_plain(ballot)) == ballot


@pytest.mark.parametrize("api", APIS)
def test_a_reply_cut_at_its_limit_is_asked_for_once_more_at_most(
    standin: Standin, api: str
) -> None:
    """The hint is a larger limit, of this judge, and it is larger than what was written."""
    standin.say = Saying(text='{"token": "', stop="length")
    ballot = consult(standin, api, reasks=5)
    assert len(standin.calls) == 2 and "length limit" in (ballot.reason or "")
    assert "max_tokens = 4000 in [judges.x]" in (ballot.hint or "")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 15000 tokens.",
            "15000 8192",
        ),
        ("prompt is too long: 208310 tokens > 200000 maximum", "208310 200000"),
        (
            "The input token count (1,200,000) exceeds the maximum number of tokens allowed (1,048,576).",
            "1200000 1048576",
        ),
        (
            "claude-3-opus-20240229: prompt is too long: 208310 tokens > 200000 maximum",
            "208310 200000",
        ),
        (
            "you requested 4196 tokens (196 in the messages, 4000 in the completion); maximum context length is 4096",
            "4196 4096",
        ),
        ("the request exceeds the available context size", ""),
    ],
)
def test_a_prompt_that_does_not_fit_says_both_sizes(
    standin: Standin, api: str, words: str, sizes: str
) -> None:
    """One call; the hint is to show parts."""
    standin.fault = Fault("status", status=400, message=words)
    ballot = consult(standin, api)
    assert len(standin.calls) == 1 and "does not fit into the context" in (ballot.reason or "")
    assert "--pack" in (ballot.hint or "")
    if sizes:
        sent, limit = sizes.split()
        assert f"{sent} tokens, its limit is {limit}" in (ballot.reason or "")
        assert f"max_input_tokens = {limit}" in (ballot.hint or "")


BROKE = [
    "litellm.RateLimitError: RateLimitError: OpenAIException - You exceeded your current quota, please check your plan and billing details.",
    "Your credit balance is too low to access the API. Please go to Plans & Billing to upgrade or purchase credits.",
    "insufficient_quota",
    "Insufficient credits. Add more using https://openrouter.ai/credits",
]
SLOW = [
    "Rate limit reached, try again in 10ms",
    "Quota exceeded for quota metric 'requests' and limit 'requests per minute'",
    "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000. Visit https://x.example/billing to raise it.",
    "Too many requests",
]


@pytest.mark.parametrize("api", APIS)
def test_an_account_without_credit_is_known_by_its_words(standin: Standin, api: str) -> None:
    """Whatever gateway they came through: one call. A limit that passes by itself stays worth
    another try.
    """
    for words in BROKE:
        standin.fault, calls = Fault("status", status=429, message=words), len(standin.calls)
        ballot = consult(standin, api)
        assert len(standin.calls) == calls + 1 and "no credit" in (ballot.reason or ""), words
    standin.fault = Fault("status", status=400, message=BROKE[1])
    assert "no credit" in failure(model_for(standin, api)).reason
    for words in SLOW:
        standin.fault = Fault("status", status=429, message=words)
        assert failure(model_for(standin, api)).retryable, words


@settings(max_examples=examples(200), deadline=None)
@given(
    st.text(max_size=80),
    st.sampled_from([400, 402, 403, 413, 422, 429, 500]),
    st.integers(0, 10**9),
)
def test_any_words_of_a_server_make_one_failure(words: str, status: int, number: int) -> None:
    """Whatever it says, in whichever shape: a reason in one printable line, and at most one hint."""
    for body in (words, f'{{"error": {{"message": "context length {number} {number // 2}"}}}}'):
        failed = failure_of(
            EndpointAnswer(status, {}, body.encode("utf-8", "replace")),
            Endpoint(provider="compatible", base_url="http://127.0.0.1:1/v1"),
            model="m",
            variable="",
            key="",
        )
        assert (
            isinstance(failed, CallFailed)
            and failed.reason.isprintable()
            and len(failed.reason) < 500
        )


# ----------------------------------------------------------------------------------------------------------
# streams


@pytest.mark.parametrize("api", STREAMING)
def test_a_server_that_only_streams_is_asked_so(standin: Standin, api: str) -> None:
    """One refused call for each server and model, then streams; the reply is what it would have
    been without one.
    """
    standin.say = Saying(text='{"answer": true, "note": "é, \\n"}')
    plain = ask(model_for(standin, api))
    standin.streams_only = True
    first = failure(model_for(standin, api))
    assert first.retryable and first.retry_after == 0 and "stream" in first.reason
    calls = len(standin.calls)
    got = ask(model_for(standin, api))
    assert (got.text, got.cut, got.model, got.usage) == (
        plain.text,
        plain.cut,
        plain.model,
        plain.usage,
    )
    assert len(standin.calls) == calls + 1 and standin.last.body["stream"] is True


@pytest.mark.parametrize("api", STREAMING)
def test_every_call_that_was_refused_for_it_is_sent_again_as_a_stream(
    standin: Standin, api: str
) -> None:
    """Several are under way when the first is refused: each is worth another try, and that one is
    answered.
    """
    standin.streams_only, standin.say = True, Saying(text='{"answer": true}')
    standin.meeting = threading.Barrier(6)
    model = model_for(standin, api, concurrency=6)

    async def twice(number: int) -> str:
        with pytest.raises(CallFailed) as failed:
            await model.complete(Prompt(text=f"Q{number}"))
        assert failed.value.retryable and failed.value.retry_after == 0, failed.value.reason
        return (await model.complete(Prompt(text=f"Q{number}"))).text

    async def crowd() -> list[str]:
        got = await asyncio.gather(*map(twice, range(6)))
        await model.close()
        return got

    assert asyncio.run(crowd()) == ['{"answer": true}'] * 6


@pytest.mark.parametrize("api", STREAMING)
def test_a_stream_that_ends_early_is_never_read(standin: Standin, api: str) -> None:
    """Wherever it ends, half an answer is trouble on the way and worth another try."""
    standin.streams_only, standin.say = True, Saying(text='{"answer": true}')
    failure(model_for(standin, api))
    for length in range(1, 4 if api != "responses" else 3):
        standin.stream_length = length
        assert failure(model_for(standin, api)).retryable


@pytest.mark.parametrize(
    ("pieces", "end", "is_read"),
    [
        (['{"answer": ', "true}"], "data: [DONE]\n\n", True),
        (["```json\n", '{"answer": true}', "\n```"], "data: [DONE]\n\n", True),
        (['{"answer": ', "tr"], "data: [DONE]\n\n", False),
        (["It is ", "fine."], "data: [DONE]\n\n", False),
        (['{"answer": true} {"ans'], "data: [DONE]\n\n", False),
        (['{"answer": ', "true}"], "", False),
    ],
)
def test_done_behind_a_whole_object_ends_a_stream(
    standin: Standin, pieces: list[str], end: str, is_read: bool
) -> None:
    """Some servers give no reason for the end. Half an object, and a text that may go on, are never
    read.
    """
    events = [
        {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
        for piece in pieces
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + end
    standin.fault = Fault("body", body=body.encode(), headers={"Content-Type": "text/event-stream"})
    if is_read:
        assert ask(model_for(standin, "chat")).text == "".join(pieces)
    else:
        assert failure(model_for(standin, "chat")).retryable


def test_an_error_in_a_stream_is_an_error(standin: Standin) -> None:
    """It comes with status 200 and may come late."""
    body = b'data: {"choices": [{"delta": {"content": "x"}}]}\n\ndata: {"error": {"message": "overloaded", "code": 529}}\n\n'
    standin.fault = Fault("body", body=body, headers={"Content-Type": "text/event-stream"})
    got = failure(model_for(standin, "chat"))
    assert got.retryable and "overloaded" in got.reason and "529" in got.reason


def test_google_is_not_asked_to_stream(standin: Standin) -> None:
    """Its stream has an address of its own, so a refusal that names one stays a refusal."""
    standin.fault = Fault("status", status=400, message="Stream must be set to true")
    assert not failure(model_for(standin, "generateContent")).retryable


@settings(max_examples=examples(200), deadline=None)
@given(
    st.binary(max_size=60),
    st.lists(st.sampled_from([b"data: {}\n", b"data: [1]\n", b"\n", b"event: x\r\n", b"data:"])),
)
def test_any_bytes_are_events_or_nothing(noise: bytes, lines: list[bytes]) -> None:
    """No crash, and objects only; half an object is a damaged event."""
    with contextlib.suppress(DamagedEvent):
        found = events_of(EndpointAnswer(200, {}, b"".join(lines) + noise))
        assert all(isinstance(event, dict) for event in found)


def test_a_reply_is_read_in_small_pieces(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio asks for 256 KiB at a time, for which the system is asked for memory at each reply."""
    asked: list[int] = []
    recv = transport._Socket.recv

    def noted(self: transport._Socket, size: int, flags: int = 0) -> bytes:
        data = recv(self, size, flags)
        asked.append(len(data))
        return data

    monkeypatch.setattr(transport._Socket, "recv", noted)
    standin.say = Saying(text="x" * 1_000_000)
    assert len(ask(model_for(standin, "chat")).text) == 1_000_000
    assert sum(asked) > 1_000_000 and max(asked) <= transport.MOST_READ
