"""Providers by name: where they are, which key they get, and what is wrong said before a call."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from honestone.adapters.judges.prompted import PromptedJudge
from honestone.adapters.models.api_model import ApiModel
from honestone.adapters.models.catalog import PROVIDERS, family_of, find_provider, make_model, probe
from honestone.adapters.models.embeddings import make_embedder
from honestone.adapters.models.prices import PricedModel
from honestone.core.artifact import Artifact, Version
from honestone.core.errors import SettingsError
from honestone.core.judging.ballot import Question
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.engine.judging.asking_on import AskingOn
from honestone.engine.judging.seats import Seat
from honestone.ports import Model, Prompt, takes_exact_schemas, usd_a_call

from .standin import KEY, Fault, Standin


def identity(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return dict(make_model(*args, **kwargs).identity)


@pytest.mark.parametrize(
    ("provider", "api", "base_url"),
    [
        ("openai", "responses", "https://api.openai.com/v1"),
        ("anthropic", "messages", "https://api.anthropic.com/v1"),
        ("google", "generateContent", "https://generativelanguage.googleapis.com/v1beta"),
        ("ollama", "chat", "http://127.0.0.1:11434/v1"),
        ("vllm", "chat", "http://127.0.0.1:8000/v1"),
    ],
)
def test_each_provider_has_its_address_and_api(
    standin: Standin, provider: str, api: str, base_url: str
) -> None:
    """A name alone is enough, and the identity says what it means."""
    assert identity(provider, "m") == {
        "provider": provider,
        "api": api,
        "base_url": base_url,
        "model": "m",
        "parameters": {},
    }
    assert isinstance(make_model(provider, "m"), Model)


@pytest.mark.parametrize(
    ("provider", "variable", "value", "base_url"),
    [
        ("openai", "OPENAI_BASE_URL", "https://gate.example/v1/", "https://gate.example/v1"),
        (
            "openai",
            "OPENAI_BASE_URL",
            "https://gate.example/openai",
            "https://gate.example/openai/v1",
        ),
        ("anthropic", "ANTHROPIC_BASE_URL", "https://gate.example", "https://gate.example/v1"),
        (
            "google",
            "GOOGLE_GEMINI_BASE_URL",
            "https://gate.example/",
            "https://gate.example/v1beta",
        ),
        ("google", "GEMINI_BASE_URL", "https://gate.example/v1beta", "https://gate.example/v1beta"),
        ("ollama", "OLLAMA_HOST", "0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("ollama", "OLLAMA_HOST", "box:1234", "http://box:1234/v1"),
        ("ollama", "OLLAMA_HOST", ":1234", "http://127.0.0.1:1234/v1"),
        ("ollama", "OLLAMA_HOST", "https://box.example/", "https://box.example/v1"),
    ],
)
def test_base_url_variables_are_honoured(
    standin: Standin,
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    variable: str,
    value: str,
    base_url: str,
) -> None:
    """Each tool's own variable works here as it does there: roots get the version that they lack."""
    monkeypatch.setenv(variable, value)
    assert identity(provider, "m")["base_url"] == base_url


def test_a_given_base_url_goes_before_variables_and_is_taken_as_it_is(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in the settings wins over what stands around."""
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gate.example/v1")
    assert (
        identity("openai", "m", base_url="http://127.0.0.1:9/api/")["base_url"]
        == "http://127.0.0.1:9/api"
    )


def test_other_peoples_servers_are_spoken_to_in_chat_completions(standin: Standin) -> None:
    """Only OpenAI itself is sure to have Responses; `api` decides otherwise where it is known
    better.
    """
    assert identity("openai", "m", base_url="http://127.0.0.1:9/v1")["api"] == "chat"
    assert (
        identity("openai", "m", base_url="http://127.0.0.1:9/v1", api="responses")["api"]
        == "responses"
    )
    assert identity("openai", "m", api="chat")["api"] == "chat"
    with pytest.raises(SettingsError, match="anthropic has messages"):
        make_model("anthropic", "m", api="chat")


def sent_key(standin: Standin, provider: str, **more: Any) -> str:
    model = make_model(provider, "m", **more)

    async def once() -> None:
        await model.complete(Prompt(text="Q"))
        await model.close()

    asyncio.run(once())
    headers = standin.last.headers
    return (
        headers.get("authorization", "")
        + headers.get("x-api-key", "")
        + headers.get("x-goog-api-key", "")
    )


def test_keys_come_from_the_providers_variables(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each header carries the right variable's key, and Google's second name is the fallback."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", standin.root)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert sent_key(standin, "anthropic") == KEY
    monkeypatch.setenv("GEMINI_BASE_URL", standin.root)
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    assert sent_key(standin, "google") == KEY
    monkeypatch.setenv("OPENAI_BASE_URL", standin.root)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert sent_key(standin, "openai") == f"Bearer {KEY}"


def test_a_local_server_needs_no_key(standin: Standin) -> None:
    """With none set, none is sent and none is missed."""
    assert sent_key(standin, "vllm", base_url=standin.base_url("chat")) == ""
    assert sent_key(standin, "openai", base_url=standin.base_url("chat")) == ""
    assert sent_key(standin, "compatible", base_url=standin.base_url("chat"), api_key_env="") == ""


def test_a_foreign_server_never_gets_the_providers_own_key_unasked(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A settings file that came with somebody's repository must not collect keys by naming another
    address.
    """
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    from honestone.adapters.models.catalog import key_variable

    openai = find_provider("openai")
    assert key_variable(openai, "https://elsewhere.example/v1", None).read() == ("", "")
    assert key_variable(openai, "https://elsewhere.example/v1", "OPENAI_API_KEY").read()[1] == KEY
    assert key_variable(openai, None, None).read()[1] == KEY


@pytest.mark.parametrize(
    ("args", "more", "message", "hint"),
    [
        (("opnai", "m"), {}, "no provider 'opnai'", "'openai'"),
        (("zzz", "m"), {}, "no provider 'zzz'", "ollama"),
        (("openai", " "), {}, "not the name of a model", "openai:MODEL"),
        (("openai", "../x"), {}, "not the name of a model", ""),
        (("compatible", "m"), {}, "needs a `base_url`", "/v1"),
        (("openai", "m"), {"base_url": "https://me:pw@host/v1"}, "login or a query", "api_key_env"),
        (
            ("openai", "m"),
            {"base_url": "https://host/v1?key=secret"},
            "login or a query",
            "api_key_env",
        ),
        (("openai", "m"), {"base_url": "host:8000/v1"}, "not an address", ""),
        (("openai", "m"), {"base_url": "http://host:x/v1"}, "not an address", ""),
        (
            ("openai", "m"),
            {"api_key_env": "sk-123 oops"},
            "not the name of a variable",
            "never the key",
        ),
        (("openai", "m"), {"timeout": 0}, "time limit", ""),
        (("openai", "m"), {"concurrency": 0}, "concurrency", ""),
        (("openai", "m"), {"parameters": {"temprature": 1}}, "temprature", "`temperature`"),
        (("openai", "m"), {"parameters": {"temperature": "hot"}}, "must be a number", ""),
        (("openai", "m"), {"parameters": {"temperature": True}}, "must be a number", ""),
        (("openai", "m"), {"parameters": {"top_p": 2}}, "from 0 to 1", ""),
        (("openai", "m"), {"parameters": {"max_output_tokens": 0}}, "above 0", ""),
        (("openai", "m"), {"parameters": {"probability": "yes"}}, "true or false", ""),
        (("openai", "m"), {"parameters": {"effort": 3}}, "must be a word", ""),
        (
            ("openai", "m"),
            {"parameters": {"extra": {"messages": []}}},
            "may not set `messages`",
            "",
        ),
        (("openai", "m"), {"parameters": {"seed": 1}}, "responses does not offer it", ""),
        (
            ("anthropic", "m"),
            {"parameters": {"probability": True}},
            "messages does not offer it",
            "",
        ),
    ],
)
def test_wrong_settings_are_told_before_a_call(
    standin: Standin, args: tuple[str, str], more: dict[str, Any], message: str, hint: str
) -> None:
    """Each mistake has its own words, a near match where there is one, and shows no secret."""
    with pytest.raises(SettingsError) as caught:
        make_model(*args, **more)
    said = f"{caught.value.message} {caught.value.hint or ''}"
    assert message in caught.value.message and hint in (caught.value.hint or "")
    assert "pw" not in said and "secret" not in said and "sk-123" not in said


def test_parameters_reach_the_wire_and_the_identity(standin: Standin) -> None:
    """What was set is sent and is part of who the model is; `extra` goes along as it is."""
    parameters = {
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 4,
        "max_output_tokens": 50,
        "effort": "low",
        "extra": {"provider": {"order": ["x"]}},
    }
    model = make_model("compatible", "m", base_url=standin.base_url("chat"), parameters=parameters)
    assert model.identity["parameters"] == parameters

    async def once() -> None:
        await model.complete(Prompt(text="Q", draw=2))
        await model.close()

    asyncio.run(once())
    body = standin.last.body
    assert (body["temperature"], body["top_p"], body["seed"], body["max_tokens"]) == (
        0.5,
        0.9,
        6,
        50,
    )
    assert body["reasoning_effort"] == "low" and body["provider"] == {"order": ["x"]}


def test_a_server_that_knows_no_seed_is_asked_without(standin: Standin) -> None:
    """Repeated draws work on every server, with their own seed where there is one."""
    standin.declines = {"seed"}
    model = make_model("compatible", "seedless", base_url=standin.base_url("chat"))

    async def twice() -> str:
        from honestone.ports import CallFailed

        with pytest.raises(CallFailed, match="seed"):
            await model.complete(Prompt(text="Q", draw=1))
        got = await model.complete(Prompt(text="Q", draw=1))
        await model.close()
        return got.text

    assert asyncio.run(twice()) == '{"answer": true}'
    assert "seed" not in standin.last.body


@pytest.mark.parametrize(
    ("provider", "model", "family"),
    [
        ("openai", "gpt-5.2", "openai"),
        ("openai", "o3-mini", "openai"),
        ("ollama", "gpt-oss:20b", "openai"),
        ("ollama", "qwen3:8b", "qwen"),
        ("compatible", "meta-llama/Llama-3.3-70B", "meta"),
        ("compatible", "anthropic/claude-sonnet-5", "anthropic"),
        ("ollama", "gemma3", "google"),
        ("google", "learnlm", "google"),
        ("vllm", "olmo-2", "olmo"),
        ("codex", None, "codex"),
    ],
)
def test_a_models_family_is_who_trained_it(provider: str, model: str | None, family: str) -> None:
    """Wherever a model runs, its family is the same, so that a panel can be mixed."""
    assert family_of(provider, model) == family


def test_other_names_for_a_provider_are_known() -> None:
    """The words that people use lead to the same place."""
    assert find_provider("openai-compatible").name == "compatible"
    assert (
        find_provider("openai-compatible").name == "compatible"
        and find_provider("google").name == "google"
    )
    with pytest.raises(SettingsError):
        find_provider("codex")


# ----------------------------------------------------------------------------------------------------------
# doctor


def test_doctor_sees_a_key_without_spending_or_showing_it(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that is there makes a provider ready; one that is not is told with what to type."""
    found = asyncio.run(probe("anthropic"))
    assert (
        not found.ready
        and found.what == "ANTHROPIC_API_KEY is not set"
        and "export ANTHROPIC_API_KEY" in found.hint
    )
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    found = asyncio.run(probe("anthropic"))
    assert found.ready and found.what == "ANTHROPIC_API_KEY is set" and KEY not in repr(found)
    assert standin.seen == []


def test_doctor_finds_local_servers(standin: Standin) -> None:
    """Ollama tells its version, others how many models they have; no prompt is sent and no key."""
    found = asyncio.run(probe("ollama", base_url=standin.base_url("chat")))
    assert found.ready and found.what.startswith("Ollama 0.99.1 at ")
    found = asyncio.run(probe("vllm", base_url=standin.base_url("chat"), api_key_env="TEST_KEY"))
    assert found.ready and "2 models" in found.what and "TEST_KEY is set" in found.what
    assert standin.calls == [] and not any(KEY in str(s.headers) for s in standin.seen)


@pytest.mark.parametrize("provider", [p.name for p in PROVIDERS.values() if p.is_local])
def test_doctor_says_when_nothing_answers(standin: Standin, provider: str) -> None:
    """A closed port and a silent server both end within the limit, with a hint."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        found = asyncio.run(probe(provider, base_url=url))
    assert not found.ready and found.what == f"nothing answers at {url}" and found.hint


def test_doctor_is_not_fooled_by_another_server(standin: Standin) -> None:
    """A web server on the port is no model server."""
    standin.fault = Fault("body", body=b"<html>hello</html>", headers={"Content-Type": "text/html"})
    assert not asyncio.run(probe("vllm", base_url=standin.base_url("chat"))).ready


def test_doctor_reports_a_provider_without_an_address(standin: Standin) -> None:
    """`compatible` alone is not ready, and the hint says what it lacks."""
    found = asyncio.run(probe("compatible"))
    assert not found.ready and "base_url" in found.hint


@pytest.mark.starts_processes
def test_naming_a_model_loads_no_http_library() -> None:
    """Help, lint and cached runs stay quick: aiohttp comes with the first call."""
    code = (
        "import sys\n"
        "from honestone.adapters.models import catalog, prices\n"
        "import honestone.engine.judging.panel\n"
        "catalog.make_model('openai', 'm'), catalog.make_model('google', 'm'), catalog.make_model('anthropic', 'm')\n"
        "assert not {'aiohttp', 'http.client', 'jsonschema'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("provider", "base_url", "expected"),
    [
        ("compatible", "http://127.0.0.1:9/v1", True),
        ("compatible", "https://models.example/v1", True),
        ("compatible", "https://api.openai.com/v1", False),
        ("compatible", "https://one.openai.azure.com/openai/v1", False),
        ("compatible", "https://notazure.com/v1", True),
        ("ollama", None, True),
        ("vllm", "http://box:8000/v1", True),
        ("openai", "http://localhost:9/v1", True),
        ("openai", None, False),
        ("anthropic", None, False),
        ("anthropic", "https://gate.example/v1", False),
        ("anthropic", "http://[::1]:9/v1", True),
        ("google", None, False),
    ],
)
def test_large_providers_get_a_schema_that_stays_the_same(
    provider: str, base_url: str | None, expected: bool
) -> None:
    """They compile and cache each; a server of one's own makes a grammar of one that is new with
    every call. The price of a model changes nothing of it.
    """
    model = make_model(provider, "m", base_url=base_url)
    assert takes_exact_schemas(model) is expected
    assert takes_exact_schemas(PricedModel(model, provider, "m", {})) is expected


@pytest.mark.parametrize(
    ("provider", "base_url", "expected"),
    [
        ("ollama", None, (4, True)),
        ("vllm", None, (64, True)),
        ("compatible", "http://localhost:9/v1", (64, True)),
        ("openai", "http://[::1]:9/v1", (64, True)),
        ("ollama", "http://box:11434/v1", (4, False)),
        ("compatible", "https://models.example/v1", (64, False)),
    ],
)
def test_how_many_calls_a_server_on_this_machine_takes_is_found_out_unless_a_table_says_it(
    provider: str, base_url: str | None, expected: tuple[int, bool]
) -> None:
    """A judge, a target and an embedder alike, whatever the provider's name."""
    for asked, limits in (({}, expected), ({"concurrency": 7}, (7, False))):
        model = make_model(provider, "m", base_url=base_url, **asked)  # type: ignore[arg-type]
        embedder = make_embedder(provider, "m", base_url=base_url, **asked)  # type: ignore[arg-type]
        assert isinstance(model, ApiModel)
        for endpoint in (model.endpoint, embedder.endpoint):
            assert (endpoint.concurrency, endpoint.is_found_out) == limits


def test_a_judge_knows_what_its_calls_cost() -> None:
    """Its model's price, by which judges are compared before a call is made; None without one."""
    model: Any = SimpleNamespace(identity={}, concurrency=None)
    table = {"m": {"input": 1.0, "output": 5.0}}
    known = PromptedJudge("j", PricedModel(model, "openai", "m", table))
    unknown = PromptedJudge("j", PricedModel(model, "nowhere", "other", table))
    assert usd_a_call(known) == pytest.approx(0.004)
    assert usd_a_call(unknown) is None and usd_a_call(object()) is None


def test_looks_are_bought_by_the_prices_of_their_judges() -> None:
    """What asks on knows them by the name of each judge."""
    model: Any = SimpleNamespace(identity={}, concurrency=None)
    table = {"m": {"input": 1.0, "output": 5.0}, "n": {"input": 10.0, "output": 50.0}}
    seats = [
        Seat(id=name, judge=PromptedJudge(name, PricedModel(model, "openai", name, table)))
        for name in "mn"
    ]
    panel: Any = SimpleNamespace(seats=seats)
    item = Item(id="p", requirement="x", whole=True)
    rubric = Rubric(criteria=(Criterion(id="p", requirement="x", items=(item,)),))
    question = Question(artifact=Artifact("a.md", Version.of_text("a")), criteria=())
    judges = AskingOn.of(panel, question, rubric, ()).looking.judges
    assert [(one.id, one.usd) for one in judges] == [
        ("m", pytest.approx(0.004)),
        ("n", pytest.approx(0.04)),
    ]
