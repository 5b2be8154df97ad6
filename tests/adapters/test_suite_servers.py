"""The server that a suite names for its target: only a person lets questions and keys go there."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from honestone.adapters.context import AdapterContext, TargetServer
from honestone.adapters.keys import keep_keys
from honestone.adapters.named_models import server_of_suite
from honestone.adapters.registry import make_target
from honestone.core.errors import CommandRefused, SettingsError
from honestone.core.judging.settings_tables import ModelTable
from honestone.ports import Settings

ELSEWHERE = TargetServer(base_url="http://elsewhere.example.test:8000/v1", api_key_env="BOT_KEY")


def context(*hosts: str, commands: bool = True) -> AdapterContext:
    return AdapterContext(cwd=Path(), settings=Settings(), allow_hosts=hosts, commands=commands)


@pytest.mark.parametrize(
    "server",
    [
        ELSEWHERE,
        TargetServer(base_url="http://elsewhere.example.test:8000/v1"),
        TargetServer(base_url="https://api.openai.com/v1", api_key_env="GITHUB_TOKEN"),
        TargetServer(api_key_env="GITHUB_TOKEN"),
        TargetServer(base_url="http://api.openai.com:443/v1"),
        TargetServer(base_url="HTTP://api.openai.com:443/v1", api_key_env="OPENAI_API_KEY"),
        TargetServer(base_url="https://api.openai.com:80/v1"),
    ],
)
def test_no_text_and_no_variable_goes_to_a_host_that_no_person_named(server: TargetServer) -> None:
    """Nor a variable of another service to the provider's own host, nor its key without encryption."""
    with pytest.raises(SettingsError, match="nothing was sent") as refused:
        server_of_suite("openai:m", server, context("other.example.test"))
    assert "--allow-host" in str(refused.value.hint)


def test_a_host_that_a_person_named_is_asked_with_the_variable_of_the_suite() -> None:
    table = server_of_suite("openai:m", ELSEWHERE, context("elsewhere.example.test:8000"))
    assert table == {
        "provider": "openai",
        "model": "m",
        "base_url": ELSEWHERE.base_url,
        "api_key_env": "BOT_KEY",
    }


def test_the_own_host_and_key_of_a_provider_need_no_permission() -> None:
    server = TargetServer(base_url="https://api.openai.com/v1", api_key_env="OPENAI_API_KEY")
    assert server_of_suite("openai:m", server, context())["api_key_env"] == "OPENAI_API_KEY"


def test_where_nothing_may_be_contacted_the_server_of_a_suite_is_not() -> None:
    with pytest.raises(CommandRefused):
        server_of_suite("openai:m", ELSEWHERE, context("elsewhere.example.test", commands=False))


def test_a_command_has_no_server() -> None:
    with pytest.raises(SettingsError, match="not a model API"):
        server_of_suite("claude", ELSEWHERE, context("elsewhere.example.test"))


@pytest.mark.parametrize("server", [ELSEWHERE, TargetServer(api_key_env="AWS_SECRET_ACCESS_KEY")])
@pytest.mark.parametrize(
    "spec",
    ["cmd:cat", "claude", "python:json:dumps", "http://127.0.0.1:1/x", "mock", "identity"],
)
def test_a_target_that_would_not_use_the_server_of_a_suite_is_refused(
    spec: str, server: TargetServer
) -> None:
    """The suite says that another program answers its cases than the one that would."""
    with pytest.raises(SettingsError, match="not a model API"):
        make_target(spec, replace(context("elsewhere.example.test"), target_server=server))


@pytest.mark.parametrize("name", ["bot", "openai:m"])
def test_a_name_of_the_settings_has_its_server_from_them(name: str) -> None:
    """Also one that is written like a model."""
    settings = Settings(targets={name: {"provider": "ollama", "model": "m"}})
    asked = replace(context("elsewhere.example.test"), settings=settings, target_server=ELSEWHERE)
    with pytest.raises(SettingsError, match="a name of the settings"):
        make_target(name, asked)
    assert make_target(name, replace(asked, target_server=None)) is not None


def test_a_model_with_the_server_of_a_suite_is_a_target() -> None:
    asked = replace(context("elsewhere.example.test"), target_server=ELSEWHERE)
    made = make_target("openai:m", asked)
    assert made is not None and made.identity["base_url"] == ELSEWHERE.base_url


def test_a_key_goes_to_its_own_host_by_https_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a checkout's settings name the address: with the port of https, http is still http."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "honestone.toml").write_text("")
    settings = Settings(file=tmp_path / "honestone.toml")
    table: ModelTable = {"provider": "openai", "model": "m"}
    own: ModelTable = {**table, "base_url": "https://api.openai.com/v1"}
    plain: ModelTable = {**table, "base_url": "http://api.openai.com:443/v1"}
    assert "api_key_env" not in keep_keys("judge", own, settings, ())
    assert keep_keys("judge", plain, settings, ())["api_key_env"] == ""
    own["api_key_env"] = plain["api_key_env"] = "OPENAI_API_KEY"
    assert keep_keys("judge", own, settings, ()) == own
    with pytest.raises(SettingsError, match="not its own host"):
        keep_keys("judge", plain, settings, ())
