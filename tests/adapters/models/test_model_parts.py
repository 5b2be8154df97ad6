"""The pure parts under the model APIs: schemas, probabilities, waits, cleaning, prices."""

from __future__ import annotations

import asyncio
import math
import sys
import types
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.answers import clean, decode, retry_after
from honestone.adapters.endpoint import EndpointAnswer
from honestone.adapters.models.catalog import make_model
from honestone.adapters.models.prices import Price, estimate_tokens, price, usd
from honestone.adapters.models.probability import Token, answers
from honestone.adapters.models.schemas import for_anthropic, for_google, for_openai
from honestone.adapters.transport import _proxy_for
from honestone.core.errors import SettingsError
from honestone.ports import CallFailed, Prompt, Usage

from .standin import KEY, Saying, Standin

# ----------------------------------------------------------------------------------------------------------
# schemas

_names = st.text("abcxyz", min_size=1, max_size=4)
_leaves: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "boolean"},
        {"type": ["string", "null"]},
        {"enum": ["a", 1]},
        {"type": "number", "minimum": 0},
    ]
)
_schemas = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(lambda i: {"type": "array", "items": i}, inner),
        st.dictionaries(_names, inner, max_size=4).flatmap(
            lambda parts: st.builds(
                lambda needed: {"type": "object", "properties": parts, "required": needed},
                st.lists(st.sampled_from(sorted(parts)), unique=True) if parts else st.just([]),
            )
        ),
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
    ),
    max_leaves=12,
)


def objects(node: Any) -> list[dict[str, Any]]:
    """Every object schema inside a schema."""
    if isinstance(node, list):
        return [o for part in node for o in objects(part)]
    if not isinstance(node, dict):
        return []
    inner = [*node.get("properties", {}).values(), *node.get("anyOf", []), node.get("items")]
    return ([node] if "properties" in node else []) + objects(inner)


@given(
    st.builds(
        lambda part: {"type": "object", "properties": {"a": part}, "required": ["a"]}, _schemas
    )
)
def test_strict_schemas_are_closed_and_complete_at_every_depth(schema: dict[str, Any]) -> None:
    """Strict mode wants each object closed and each property required; what was optional may be
    null.
    """
    jsonschema = pytest.importorskip("jsonschema")
    before = repr(schema)
    strict, is_strict = for_openai(schema)
    assert is_strict and repr(schema) == before
    for node in objects(strict):
        assert node["additionalProperties"] is False and node["required"] == list(
            node["properties"]
        )
    jsonschema.Draft202012Validator.check_schema(strict)
    for node in objects(for_anthropic(schema)):
        assert node["additionalProperties"] is False
    assert "minimum" not in repr(for_anthropic(schema))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}},
        {"type": "object", "properties": {"a": {"type": "object", "patternProperties": {"x": {}}}}},
    ],
)
def test_a_schema_that_strict_mode_refuses_is_sent_as_a_wish(schema: dict[str, Any]) -> None:
    """Better a schema that guides than a call that is refused."""
    assert for_openai(schema) == (schema, False)


def test_a_property_named_like_a_keyword_is_only_a_name() -> None:
    """Criteria may be called oneOf or minimum."""
    schema = {
        "type": "object",
        "properties": {"oneOf": {"type": "string"}, "minimum": {"type": "boolean"}},
        "required": ["oneOf", "minimum"],
    }
    strict, is_strict = for_openai(schema)
    assert is_strict and set(strict["properties"]) == {"oneOf", "minimum"}
    assert set(for_anthropic(schema)["properties"]) == {"oneOf", "minimum"}
    assert for_google({"$schema": "x", **schema}) == schema


# ----------------------------------------------------------------------------------------------------------
# probability


def tokens(*pairs: tuple[str, dict[str, float]] | str) -> list[Token]:
    return [
        Token(p, ((p, 0.0),))
        if isinstance(p, str)
        else Token(p[0], tuple((t, math.log(q)) for t, q in p[1].items()))
        for p in pairs
    ]


def test_each_answer_has_its_probability_and_place() -> None:
    """Only true and false where JSON has a value count, with all spellings of a word added up."""
    reply = tokens(
        '{"note": "it is',
        " true",
        ' that", "1": ',
        ("true", {"true": 0.6, " True": 0.1, "false": 0.25, "x": 0.05}),
        ', "2":',
        (" false", {" false": 0.5, " true": 0.25}),
        "}",
    )
    whole = "".join(t.text for t in reply)
    first, second = answers(reply)
    assert (round(first["true"], 6), round(first["false"], 6)) == (0.7, 0.25)
    assert (round(second["true"], 6), round(second["false"], 6)) == (0.25, 0.5)
    assert whole[first["at"] :].startswith("true,") and whole[second["at"] :].startswith("false}")


def test_a_token_that_closes_a_string_and_answers_at_once_counts() -> None:
    """Tokenisers glue punctuation to words."""
    (found,) = answers(tokens('{"a', ('": true', {'": true': 0.9, '": false': 0.1}), "}"))
    assert (round(found["true"], 6), round(found["false"], 6), found["at"]) == (0.9, 0.1, 6)


def test_an_escaped_quote_does_not_end_a_string() -> None:
    r"""In "a \" : true" there is no answer."""
    assert answers(tokens('{"a": "b \\" :', " true", '"}')) == []


def test_a_bare_yes_is_an_answer_and_a_later_no_in_prose_is_not() -> None:
    """Models that answer in a word are asked for that word."""
    found = answers(tokens(("Yes", {"Yes": 0.8, "No": 0.2}), ", I see", " no", " problem"))
    assert len(found) == 1 and round(found[0]["true"], 6) == 0.8


@given(
    st.lists(st.tuples(st.text(max_size=6), st.floats(max_value=0, allow_nan=False)), max_size=20)
)
def test_probabilities_never_leave_0_to_1(pairs: list[tuple[str, float]]) -> None:
    """Whatever the server claims, a probability is one."""
    for found in answers(
        [Token(text, ((text, p), ("true", p), ("false", p))) for text, p in pairs]
    ):
        assert 0 <= found["true"] <= 1 and 0 <= found["false"] <= 1


@pytest.mark.parametrize("api", ["chat", "responses", "generateContent"])
def test_probabilities_arrive_from_each_api_that_has_them(standin: Standin, api: str) -> None:
    """Asked for with `probability`, they are in the detail; without, nothing is asked for."""
    standin.say = Saying(
        text='{"answer": true}',
        logprobs=[
            ('{"answer":', {'{"answer":': 0.0}),
            (" true", {" true": math.log(0.75), " false": math.log(0.25)}),
        ],
    )
    provider = "google" if api == "generateContent" else "openai"
    for wanted in (True, False):
        model = make_model(
            provider,
            f"sure-{api}",
            base_url=standin.base_url(api),
            api=None if provider == "google" else api,
            parameters={"probability": wanted},
        )

        async def once(model: Any = model) -> Any:
            got = await model.complete(Prompt(text="Q"))
            await model.close()
            return got

        detail = asyncio.run(once()).detail
        if wanted:
            (found,) = detail["probability"]
            assert (
                found["at"] == 11
                and round(found["true"], 6) == 0.75
                and round(found["false"], 6) == 0.25
            )
        else:
            assert "probability" not in detail and "logprobs" not in str(standin.last.body)


# ----------------------------------------------------------------------------------------------------------
# wire


@given(st.text(max_size=400), st.text("abcdef0123456789-_", min_size=4, max_size=40))
def test_cleaned_words_hold_no_key_and_no_control_characters(noise: str, key: str) -> None:
    """Wherever the key stands in a message, it is not in what is shown."""
    shown = clean(f"{noise}{key}{noise}{key}", key)
    assert key not in shown.replace("[key]", "\n") and len(shown) <= 300
    assert shown == "" or shown.isprintable()


@given(st.text(max_size=40))
def test_no_retry_after_header_breaks_anything(said: str) -> None:
    """A wait is a sensible number of seconds or nothing."""
    wait = retry_after({"retry-after": said}, 1_000_000.0)
    assert wait is None or 0 <= wait < 1e12


def test_an_http_date_is_counted_from_the_servers_own_clock() -> None:
    """Clocks differ; both dates come from the same one."""
    date, later = "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:09 GMT"
    assert retry_after({"retry-after": later, "date": date}, 0.0) == 9
    assert retry_after({"retry-after": date, "date": later}, 0.0) == 0
    assert retry_after({"retry-after": later}, 1445412480.0 - 1) == 10


@given(st.binary(max_size=200))
def test_any_bytes_are_json_or_nothing(body: bytes) -> None:
    """Decoding never raises."""
    decode(body)
    decode(b'{"a":' * 50 + body)


def test_proxies_come_from_the_environment_and_never_stand_before_this_machine(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual variables work, a login in them becomes a header, and loopback is always direct."""
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pass%21@proxy.example:3128")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    found = _proxy_for("https://api.example/v1")
    assert found is not None and found.url == "http://proxy.example:3128"
    assert found.headers == {"Proxy-Authorization": "Basic bWU6cGFzcyE="} and "pass" not in repr(
        found
    )
    assert (
        _proxy_for("http://127.0.0.1:11434/v1") is None
        and _proxy_for("http://localhost:1/v1") is None
    )
    monkeypatch.setenv("NO_PROXY", "api.example")
    assert _proxy_for("https://api.example/v1") is None
    monkeypatch.setenv("all_proxy", "socks5://proxy.example")
    monkeypatch.delenv("HTTPS_PROXY")
    with pytest.raises(CallFailed, match="socks5"):
        _proxy_for("https://other.example/v1")


def test_a_login_in_netrc_is_not_sent(
    standin: Standin, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Keys come from the named variable only."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password hunter2\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    model = make_model("vllm", "m", base_url=standin.base_url("chat"))

    async def once() -> None:
        await model.complete(Prompt(text="Q"))
        await model.close()

    asyncio.run(once())
    assert "authorization" not in standin.last.headers


def test_a_packed_reply_is_unpacked_and_a_bomb_is_not(standin: Standin) -> None:
    """A gateway may pack what nobody asked it to pack; it cannot fill the memory with it."""
    import gzip
    import json

    from msgspec.structs import replace

    from .standin import Fault

    whole = json.dumps(
        {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    ).encode()
    model = make_model("vllm", "m", base_url=standin.base_url("chat"))
    model.endpoint = replace(model.endpoint, max_bytes=100_000)  # type: ignore[attr-defined]

    async def ask() -> Any:
        try:
            return await model.complete(Prompt(text="Q"))
        finally:
            await model.close()

    standin.fault = Fault("body", body=gzip.compress(whole), headers={"Content-Encoding": "gzip"})
    assert asyncio.run(ask()).text == "hi"
    standin.fault = Fault(
        "body", body=gzip.compress(b" " * 10_000_000), headers={"Content-Encoding": "gzip"}
    )
    with pytest.raises(CallFailed, match=r"more than 0\.1 MB"):
        asyncio.run(ask())
    standin.fault = Fault("body", body=b"not gzip", headers={"Content-Encoding": "gzip"})
    with pytest.raises(CallFailed, match="nothing at all"):
        asyncio.run(ask())


@pytest.mark.parametrize("value", [True, -1, 1.5, "7", None, 10**13])
def test_a_token_count_that_is_none_is_unknown(value: Any) -> None:
    """Nonsense in a usage block is not counted and not 0."""
    from honestone.system.loose_json import count, total

    assert count(value) is None and total(value, None) is None and total(value, 3) == 3


def test_only_the_final_message_of_several_is_the_reply(standin: Standin) -> None:
    """A model that thinks aloud in messages of their own is read by its final one."""
    from honestone.adapters.models.openai import OpenAIResponses

    model = make_model("openai", "m")
    assert isinstance(model, OpenAIResponses)

    def message(said: str, **more: str) -> dict[str, Any]:
        return {"type": "message", "content": [{"type": "output_text", "text": said}], **more}

    two = [message("let me see", phase="commentary"), message("yes", phase="final_answer")]
    assert model.read({"status": "completed", "output": two}).text == "yes"
    assert model.read({"output": [message("a"), message("b")]}).text == "a\nb"
    with pytest.raises(CallFailed) as caught:
        model.read({"status": "failed", "error": {"code": "server_error", "message": "oops"}})
    assert caught.value.retryable
    with pytest.raises(CallFailed) as caught:
        model.read({"status": "failed", "error": {"code": "invalid_prompt", "message": "oops"}})
    assert not caught.value.retryable


def test_a_blocked_prompt_is_a_reply_without_text(standin: Standin) -> None:
    """Google's filter answers with no candidate: kept as an empty reply, not made up and not
    retried.
    """
    model = make_model("google", "m")
    got = model.read({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})  # type: ignore[attr-defined]
    assert got.text == "" and got.detail == {"stop": "PROHIBITED_CONTENT"}


def test_googles_own_way_to_ask_for_a_wait_is_heard() -> None:
    """RetryInfo in the error's details counts where no header does."""
    from honestone.adapters.answers import failure_of
    from honestone.adapters.models.catalog import make_endpoint

    body = b'{"error": {"code": 429, "message": "slow", "details": [{"retryDelay": "31.5s"}, {"retryDelay": 7}]}}'
    endpoint = make_endpoint(
        __import__("honestone.adapters.models.catalog", fromlist=["x"]).find_provider("google")
    )
    got = failure_of(EndpointAnswer(429, {}, body), endpoint, model="m", variable="K", key=KEY)
    assert got.retryable and got.retry_after == 31.5


# ----------------------------------------------------------------------------------------------------------
# prices


def test_a_price_from_settings() -> None:
    """By model, or by provider and model, in dollars for a million tokens."""
    settings = {
        "m": {"input": 2, "output": 8, "cached": 0.5},
        "ollama:m": {"input": 0, "output": 0},
    }
    assert price("openai", "m", settings) == Price(input=2.0, output=8.0, cached=0.5)
    assert price("ollama", "m", settings) == Price(input=0.0, output=0.0)


def test_an_unknown_price_is_none_and_never_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a price, or without token counts, nobody knows what a call cost."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert price("openai", "no-such-model", {}) is None
    assert usd(Usage(input_tokens=5, output_tokens=5), None) is None
    assert usd(Usage(input_tokens=None, output_tokens=5), Price(input=1, output=1)) is None
    assert usd(Usage(usd=0.25), None) == 0.25


@given(
    st.integers(0, 10**7),
    st.integers(0, 10**7),
    st.none() | st.integers(0, 10**7),
    st.integers(0, 10**4),
    st.integers(0, 10**4),
    st.none() | st.integers(0, 10**4),
)
def test_money_is_tokens_times_price(
    input: int, output: int, cached: int | None, p_in: int, p_out: int, p_cached: int | None
) -> None:
    """Exactly, with cached tokens at their own price where there is one and never more of them than
    tokens.
    """
    got = usd(
        Usage(input_tokens=input, output_tokens=output, cached_tokens=cached),
        Price(input=p_in, output=p_out, cached=p_cached),
    )
    cheap = min(cached or 0, input) if p_cached is not None else 0
    exact = Fraction((input - cheap) * p_in + cheap * (p_cached or 0) + output * p_out, 10**6)
    assert got is not None and got == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (3, "must be a table"),
        ({"input": 1}, "has no `output`"),
        ({"input": 1, "output": 2, "outptu": 3}, "`outptu`"),
        ({"input": -1, "output": 2}, "number from 0"),
        ({"input": True, "output": 2}, "number from 0"),
        ({"input": float("nan"), "output": 2}, "number from 0"),
    ],
)
def test_a_wrong_price_is_told(entry: Any, message: str) -> None:
    """A price that is none stops before anything is spent."""
    with pytest.raises(SettingsError, match=message):
        price("openai", "m", {"m": entry})


def test_prices_from_the_library_and_its_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The optional library is asked for a rate; whatever it raises, the price is unknown."""

    def calc_price(tokens: dict[str, int], *, model_ref: str, provider_id: str) -> Any:
        if model_ref != "known":
            raise LookupError(model_ref)
        cached = tokens.get("cache_read_tokens", 0)
        cents = (tokens["input_tokens"] - cached) * 3 + cached * 1 + tokens["output_tokens"] * 15
        return types.SimpleNamespace(total_price=cents / 10**6)

    fake = types.SimpleNamespace(calc_price=calc_price, Usage=lambda **tokens: tokens)
    monkeypatch.setitem(sys.modules, "genai_prices", fake)
    got = price("openai", "known")
    assert got is not None and got.source == "genai-prices"
    assert [round(v or 0, 6) for v in (got.input, got.output, got.cached)] == [3, 15, 1]
    assert price("openai", "unknown") is None


@given(st.text(max_size=1000))
def test_an_estimate_of_tokens_is_a_quarter_of_the_characters(text: str) -> None:
    """Rounded up, so that a short prompt is not free."""
    assert len(text) / 4 <= estimate_tokens(text) < len(text) / 4 + 1
