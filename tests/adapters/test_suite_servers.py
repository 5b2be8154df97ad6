"""The server that a suite names for its target: only a person lets questions and keys go there."""

from __future__ import annotations

from pathlib import Path

import pytest

from honestone.adapters.context import AdapterContext, TargetServer
from honestone.adapters.named_models import server_of_suite
from honestone.core.errors import CommandRefused, SettingsError
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
    ],
)
def test_no_text_and_no_variable_goes_to_a_host_that_no_person_named(server: TargetServer) -> None:
    """Nor a variable of another service to the provider's own host."""
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
    with pytest.raises(SettingsError, match="no model API"):
        server_of_suite("claude", ELSEWHERE, context("elsewhere.example.test"))
