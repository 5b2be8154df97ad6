"""One table for every model API: whatever the other side does, a reply is a reply and a failure
says what failed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
import traceback
from typing import Any

import pytest

from honestone.adapters.models.catalog import make_model
from honestone.ports import CallFailed, Completion, Model, Prompt

from .standin import APIS, KEY, Fault, Saying, Standin

PROVIDER = {
    "chat": "compatible",
    "responses": "openai",
    "messages": "anthropic",
    "generateContent": "google",
}
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "boolean"}, "note": {"type": "string", "maxLength": 80}},
    "required": ["answer"],
}
NATIVE_CUT = {
    "chat": "length",
    "responses": "max_output_tokens",
    "messages": "max_tokens",
    "generateContent": "MAX_TOKENS",
}

pytestmark = pytest.mark.parametrize("api", APIS)


def model_for(standin: Standin, api: str, model: str = "tester", **more: Any) -> Model:
    more.setdefault("base_url", standin.base_url(api))
    more.setdefault("api_key_env", "TEST_KEY")
    return make_model(
        PROVIDER[api],
        model,
        api=api if api in ("chat", "responses") else None,
        timeout=more.pop("timeout", 60.0),
        **more,
    )


def ask(model: Model, prompt: Prompt | None = None) -> Completion:
    async def once() -> Completion:
        try:
            return await model.complete(prompt or Prompt(text="Is it so?"))
        finally:
            await model.close()

    return asyncio.run(once())


def failure(model: Model, prompt: Prompt | None = None) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        ask(model, prompt)
    return caught.value


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock of its own, which a test moves on: a time limit is over when the
    test says so.
    """

    skipped = 0.0

    def time(self) -> float:
        return super().time() + self.skipped

    def skip(self, seconds: float) -> None:
        self.skipped += seconds


def late(model: Model, standin: Standin) -> CallFailed:
    """What a call ends with whose time is over while the server has it and does not answer."""

    async def once() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SkippingLoop)
        standin.on_hang = lambda: loop.call_soon_threadsafe(loop.skip, 1000)
        try:
            await model.complete(Prompt(text="Is it so?"))
        finally:
            await model.close()

    with asyncio.Runner(loop_factory=SkippingLoop) as runner, pytest.raises(CallFailed) as caught:
        runner.run(once())
    return caught.value


# ----------------------------------------------------------------------------------------------------------
# replies


def test_a_reply_arrives_with_its_text_usage_and_model(standin: Standin, api: str) -> None:
    """Text, tokens in and out and from the cache, and the model that really answered; thinking is
    no part of the text.
    """
    standin.say = Saying(text='{"answer": true, "note": "ok \u2713"}')
    got = ask(model_for(standin, api))
    assert got.text == '{"answer": true, "note": "ok \u2713"}'
    assert (got.usage.input_tokens, got.usage.output_tokens, got.usage.cached_tokens) == (11, 7, 3)
    assert got.usage.usd is None
    assert got.model == "tester-2026"
    assert not got.cut and "stop" not in got.detail


def test_the_prompt_the_system_text_and_the_limit_are_sent(standin: Standin, api: str) -> None:
    """What was asked is on the wire word for word, and the strict stand-in takes it."""
    ask(
        model_for(standin, api),
        Prompt(text="Q: \u00e9\u2028?", system="Be brief.", max_output_tokens=77),
    )
    sent = json.dumps(standin.last.body, ensure_ascii=False)
    assert "Q: \u00e9\u2028?" in sent and "Be brief." in sent and "77" in sent
    assert "temperature" not in sent


def test_a_schema_is_sent_the_way_the_api_wants_it(standin: Standin, api: str) -> None:
    """Structured output is asked for natively, in the dialect that each API accepts."""
    ask(model_for(standin, api), Prompt(text="Q", schema=SCHEMA))
    body = standin.last.body
    if api in ("chat", "responses"):
        sent = body["response_format"]["json_schema"] if api == "chat" else body["text"]["format"]
        assert sent["strict"] is True
        assert sent["schema"]["required"] == ["answer", "note"]
        assert sent["schema"]["additionalProperties"] is False
        assert sent["schema"]["properties"]["note"]["type"] == ["string", "null"]
    elif api == "messages":
        schema = body["output_config"]["format"]["schema"]
        assert schema["additionalProperties"] is False
        assert schema["properties"]["note"] == {"type": "string"}
        assert schema["required"] == ["answer"]
    else:
        assert body["generationConfig"]["responseMimeType"] == "application/json"
        assert body["generationConfig"]["responseJsonSchema"] == SCHEMA


def test_a_server_without_schemas_is_asked_once_with_one_and_then_without(
    standin: Standin, api: str
) -> None:
    """The refused call fails as one worth repeating at once; from then on the model is asked in
    plain text.
    """
    standin.declines = {"schema"}
    model = model_for(standin, api, model=f"plain-{api}-{time.monotonic_ns()}")
    first = failure(model, Prompt(text="Q", schema=SCHEMA))
    assert first.retryable and first.retry_after == 0 and "schema" in first.reason
    got = ask(model, Prompt(text="Q", schema=SCHEMA))
    assert got.text == '{"answer": true}' and got.detail["schema"] == "declined"
    assert len(standin.calls) == 2
    assert "answer" not in json.dumps(standin.last.body)


def test_a_reply_cut_by_the_length_limit_says_so(standin: Standin, api: str) -> None:
    """The half text is kept and marked as cut."""
    standin.say = Saying(text='{"answer": tr', stop="length")
    got = ask(model_for(standin, api))
    assert got.cut and got.text == '{"answer": tr' and got.detail["stop"] == NATIVE_CUT[api]


def test_half_json_without_a_length_stop_is_the_reply_as_it_is(standin: Standin, api: str) -> None:
    """What the model wrote is handed on; whether it can be read is decided elsewhere."""
    standin.say = Saying(text='{"answer": tr')
    got = ask(model_for(standin, api))
    assert not got.cut and got.text == '{"answer": tr'


@pytest.mark.parametrize("said", ["", "I would rather not say."])
def test_an_empty_reply_and_prose_are_replies(standin: Standin, api: str, said: str) -> None:
    """An empty or wordy answer was paid for and is kept, not turned into a failure."""
    standin.say = Saying(text=said)
    assert ask(model_for(standin, api)).text == said


def test_a_refusal_is_a_reply(standin: Standin, api: str) -> None:
    """The words of a refusal are the reply's text, and the detail tells what it is."""
    standin.say = Saying(text="I cannot help with that.", stop="refusal")
    got = ask(model_for(standin, api))
    assert got.text == "I cannot help with that."
    assert got.detail["stop"] in ("refusal", "SAFETY") and not got.cut


def test_a_lone_surrogate_in_a_reply_does_no_harm(standin: Standin, api: str) -> None:
    """Half a character can be neither stored nor printed, so it arrives as a question mark."""
    standin.say = Saying(text="so \ud83d ends")
    assert ask(model_for(standin, api)).text == "so ? ends"


# ----------------------------------------------------------------------------------------------------------
# refusals


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_its_variable(
    standin: Standin, api: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable is named, the key is not, and nobody tries again."""
    standin.fault = Fault("status", status=status, message=f"bad key {KEY} for you")
    got = failure(model_for(standin, api))
    assert got.reason.startswith(f"TEST_KEY was refused ({status})") and "[key]" in got.reason
    assert not got.retryable and not got.missing


def test_a_wrong_key_is_told_in_each_apis_own_way(
    standin: Standin, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Google says 400 where the others say 401: the words for the person are the same."""
    monkeypatch.setenv("TEST_KEY", "sk-some-other-key-entirely")
    got = failure(model_for(standin, api))
    assert got.reason.startswith("TEST_KEY was refused") and not got.retryable
    assert "sk-some-other" not in got.reason


def test_a_missing_key_is_a_missing_judge_and_no_call(
    standin: Standin, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its key a model is not there; nothing goes over the wire."""
    monkeypatch.delenv("TEST_KEY")
    got = failure(model_for(standin, api))
    assert got.missing and not got.retryable and got.reason == "TEST_KEY is not set"
    assert standin.calls == []


def test_a_model_that_does_not_exist_is_named(standin: Standin, api: str) -> None:
    """The name that was typed stands in the message; trying again would not help."""
    got = failure(model_for(standin, api, model="ghost-9"))
    assert got.reason.startswith("no such model: ghost-9") and not got.retryable


def test_a_wrong_base_url_is_told_from_a_missing_model(standin: Standin, api: str) -> None:
    """A 404 from a server without this API asks about the address, not about the model."""
    got = failure(model_for(standin, api, base_url=standin.root + "/nowhere"))
    assert "base_url" in got.reason and "no such model" not in got.reason and not got.retryable


def test_a_refused_request_shows_the_servers_words_clipped_and_clean(
    standin: Standin, api: str
) -> None:
    """Error text is hostile data: one printable line of bounded length."""
    standin.fault = Fault("status", status=400, message="bad\x1b[31m thing\r\n\x07" + "x" * 5000)
    got = failure(model_for(standin, api))
    assert "bad thing xxx" in got.reason and len(got.reason) < 450 and got.reason.isprintable()
    assert not got.retryable


def test_an_account_without_credit_is_not_tried_again(standin: Standin, api: str) -> None:
    """A 429 that no wait can cure is told apart from one that a wait cures."""
    standin.fault = Fault(
        "status", status=429, message="You exceeded your quota", code="insufficient_quota"
    )
    got = failure(model_for(standin, api))
    assert not got.retryable and "credit" in got.reason


def test_a_redirect_is_not_followed(standin: Standin, api: str) -> None:
    """A key must not travel to where a server points."""
    standin.fault = Fault(
        "status", status=307, headers={"Location": standin.root + "/elsewhere"}, times=1
    )
    got = failure(model_for(standin, api))
    assert "redirect" in got.reason and "/elsewhere" in got.reason and not got.retryable
    assert len(standin.calls) == 1


# ----------------------------------------------------------------------------------------------------------
# passing trouble


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_passing_trouble_is_worth_another_try(standin: Standin, api: str, status: int) -> None:
    """Overload and server faults are retryable, with no wait named when the server names none."""
    standin.fault = Fault("status", status=status)
    got = failure(model_for(standin, api))
    assert got.retryable and got.retry_after is None and str(status) in got.reason


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"Retry-After": "7"}, 7, 7),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25, 0.25),
        (
            {
                "Retry-After": "Wed, 21 Oct 2065 07:28:09 GMT",
                "Date": "Wed, 21 Oct 2065 07:28:00 GMT",
            },
            0,
            10**10,
        ),
        ({"Retry-After": "soon"}, None, None),
        ({"Retry-After": "-5"}, None, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_passed_on(
    standin: Standin, api: str, headers: dict[str, str], low: float | None, high: float | None
) -> None:
    """Seconds, milliseconds and dates are understood; nonsense is as good as nothing."""
    standin.fault = Fault("status", status=429, headers=headers)
    wait = failure(model_for(standin, api)).retry_after
    assert wait is None if low is None else wait is not None and low <= wait <= (high or 0)


@pytest.mark.parametrize("kind", ["half", "half_chunked", "drop", "not_http"])
def test_a_broken_connection_is_worth_another_try(standin: Standin, api: str, kind: str) -> None:
    """A reply cut off by the network is never read, even when a whole object could be made out."""
    standin.fault = Fault(kind)
    got = failure(model_for(standin, api))
    assert got.retryable and "127.0.0.1" in got.reason


@pytest.mark.parametrize(
    ("body", "headers", "told"),
    [
        (b"", {}, "nothing at all"),
        (b"  \n", {}, "nothing at all"),
        (b"All is well, have a nice day", {}, "not a whole JSON object"),
        (b'{"choices": [{"message": {"content": "{\\"answer\\": tr', {}, "not a whole JSON object"),
        (
            b"<html><body>Log in to the wifi</body></html>",
            {"Content-Type": "text/html"},
            "web page",
        ),
        (b"<!doctype html><p>{}</p>", {}, "web page"),
        (b"[1, 2]", {}, "not a whole JSON object"),
        (b"null", {}, "not a whole JSON object"),
        (b"[" * 100_000, {}, "not a whole JSON object"),
        (b"{}", {}, "holds no"),
        (b'{"choices": [], "output": null, "content": "x", "candidates": {}}', {}, "holds no"),
    ],
)
def test_a_200_that_is_no_reply_is_a_failure(
    standin: Standin, api: str, body: bytes, headers: dict[str, str], told: str
) -> None:
    """Empty bodies, prose, pages and half JSON are trouble on the way, never something to find a
    verdict in.
    """
    if api == "responses" and body == b"{}":
        told = "holds no"
    standin.fault = Fault("body", body=body, headers=headers)
    got = failure(model_for(standin, api))
    assert told in got.reason and got.retryable


def test_an_error_inside_a_200_is_an_error(standin: Standin, api: str) -> None:
    """Gateways wrap the provider's failure in a success."""
    standin.fault = Fault(
        "body", body=b'{"error": {"message": "upstream is overloaded", "code": 502}}'
    )
    got = failure(model_for(standin, api))
    assert got.retryable and "upstream is overloaded" in got.reason
    standin.fault = Fault("body", body=b'{"error": {"message": "no key", "code": 401}}')
    assert not failure(model_for(standin, api)).retryable


@pytest.mark.parametrize("kind", ["hang", "drip"])
def test_the_time_limit_holds_for_silence_and_for_drips(
    standin: Standin, api: str, kind: str
) -> None:
    """A server that sends a byte now and then is as late as one that sends none."""
    standin.fault = Fault(kind)
    got = late(model_for(standin, api, timeout=600), standin)
    assert "within 600 s" in got.reason and not got.retryable


def test_a_body_without_end_is_not_read_to_its_end(standin: Standin, api: str) -> None:
    """More than the limit is refused while it comes in, not after."""
    from msgspec.structs import replace

    standin.fault = Fault("huge")
    model = model_for(standin, api)
    model.endpoint = replace(model.endpoint, max_bytes=500_000)  # type: ignore[attr-defined]
    assert "more than 0.5 MB" in failure(model).reason


def test_nobody_listening_is_said_at_once(standin: Standin, api: str) -> None:
    """A refused connection names the address. Nothing ever answered there, so waiting would not
    change that.
    """
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    got = failure(model_for(standin, api, base_url=f"http://127.0.0.1:{port}/v1"))
    assert not got.retryable and f"127.0.0.1:{port}" in got.reason and "refused" in got.reason


# ----------------------------------------------------------------------------------------------------------
# secrets


@pytest.mark.parametrize(
    "fault",
    [
        None,
        Fault("status", status=401, message=f"who is {KEY}?"),
        Fault("status", status=500, message=f"trace: Authorization: Bearer {KEY}"),
        Fault("status", status=400, message="x" * 290 + KEY),
        Fault("status", status=302, headers={"Location": f"http://127.0.0.1:1/?k={KEY}"}),
        Fault("body", body=f"echo {KEY}".encode()),
        Fault("half"),
        Fault("hang"),
    ],
)
def test_the_key_occurs_in_nothing(
    standin: Standin, api: str, fault: Fault | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever happens, the key is in no message, repr, identity, traceback, chained error or log
    line.
    """
    caplog.set_level(logging.DEBUG)
    standin.fault = fault
    standin.say = Saying(text=f"you sent {KEY}, did you not?")
    model = model_for(standin, api)
    left = [repr(model), json.dumps(model.identity), repr(vars(model))]
    if fault is None:
        got = ask(model)
        left.append(repr(got))
        assert got.text == "you sent [key], did you not?"
    else:
        error = late(model, standin) if fault.kind == "hang" else failure(model)
        left += ["".join(traceback.format_exception(error)), repr(error)]
        assert error.__cause__ is None and error.__context__ is None
    sent = standin.last.headers
    assert KEY in (
        sent.get("authorization", "") + sent.get("x-api-key", "") + sent.get("x-goog-api-key", "")
    )
    left.append(caplog.text)
    assert not [text for text in left if KEY in text or KEY[:10] in text]


def test_a_key_that_cannot_be_sent_is_told_without_being_shown(
    standin: Standin, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key pasted with something inside it names its variable only."""
    monkeypatch.setenv("TEST_KEY", "sk-one\nsk-two")
    got = failure(model_for(standin, api))
    assert got.reason.startswith("TEST_KEY holds a character") and "sk-" not in got.reason
    assert standin.calls == []


# ----------------------------------------------------------------------------------------------------------
# many calls


def test_many_calls_share_connections_and_wait_their_turn(standin: Standin, api: str) -> None:
    """No more calls than allowed are in the air at once, and every one of them gets its reply."""
    # The server answers three calls together or none: with fewer at once no reply would come.
    standin.meeting = threading.Barrier(3)
    model = model_for(standin, api, concurrency=3)

    async def crowd() -> list[Completion]:
        got = await asyncio.gather(*(model.complete(Prompt(text=f"Q{i}")) for i in range(12)))
        await model.close()
        return got

    assert [c.text for c in asyncio.run(crowd())] == ['{"answer": true}'] * 12
    assert standin.most_in_the_air == 3


def test_a_model_serves_two_event_loops_one_after_the_other(standin: Standin, api: str) -> None:
    """The sync face starts a loop a call: nothing of the first may break the second."""
    model = model_for(standin, api)
    assert ask(model).text == ask(model).text == '{"answer": true}'


def test_a_cancelled_call_ends_at_once_and_leaves_the_model_usable(
    standin: Standin, api: str
) -> None:
    """Ctrl-C in the middle of a call is not turned into a failure of the judge."""
    standin.fault = Fault("hang", times=1)
    model = model_for(standin, api)

    async def scene() -> str:
        hangs, loop = asyncio.Event(), asyncio.get_running_loop()
        standin.on_hang = lambda: loop.call_soon_threadsafe(hangs.set)
        task = asyncio.ensure_future(model.complete(Prompt(text="Q")))
        await hangs.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        got = await model.complete(Prompt(text="Q"))
        await model.close()
        return got.text

    assert asyncio.run(scene()) == '{"answer": true}'
