"""Agent CLIs as models: one prompt in, one final message out, with no tools and nothing of the machine in sight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from honestone.adapters.agent_clis.base import AgentCli, Auth, Setup
from honestone.adapters.agent_clis.custom import Custom
from honestone.adapters.agent_clis.detect import CliStatus, detect
from honestone.adapters.agent_clis.driver import carry_out, failure, require_sendable
from honestone.adapters.agent_clis.setup import cli_of, identity_of, set_up
from honestone.ports import Completion, Prompt


def make_cli_model(
    name: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    auth: Auth | None = None,
    api_key_env: str | None = None,
    command: str | None = None,
    timeout: float = 300.0,
) -> AgentCliModel:
    """codex, gemini or claude as a model. `base_url` is the server's root. Without `auth`, what `detect` finds.

    Raises SettingsError for a setting that is none, and CallFailed (`missing`) when the program is not installed.
    """
    cli = cli_of(name)
    setup = set_up(
        cli, model=model, base_url=base_url, auth=auth, api_key_env=api_key_env, command=command, timeout=timeout
    )
    return AgentCliModel(cli, setup)


def make_custom_cli_model(
    name: str,
    *,
    command: Sequence[str],
    output: str = "text",
    model: str | None = None,
    base_url: str | None = None,
    auth: Auth | None = None,
    api_key_env: str | None = None,
    timeout: float = 300.0,
) -> AgentCliModel:
    """A CLI that settings describe (`custom.py`). Raises as `make_cli_model` does."""
    cli = Custom(name, command, output)
    setup = set_up(
        cli, model=model, base_url=base_url, auth=auth or "key", api_key_env=api_key_env, command=None, timeout=timeout
    )
    return AgentCliModel(cli, setup)


class AgentCliModel:
    """A fresh room for each prompt. Nothing is retried here."""

    def __init__(self, cli: AgentCli, setup: Setup) -> None:
        self._cli = cli
        self._setup = setup
        self._identity = identity_of(cli, setup)

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity

    async def complete(self, prompt: Prompt) -> Completion:
        require_sendable(self._cli, prompt.text)
        outcome = await carry_out(
            self._cli, self._setup, lambda room, key: self._cli.judge(self._setup, room, prompt, key)
        )
        is_cut = outcome.kind == "cut" and bool(outcome.text.strip())
        if outcome.kind != "answer" and not is_cut:
            raise failure(self._cli, self._setup, outcome)
        return Completion(
            text=outcome.text,
            cut=is_cut,
            usage=outcome.usage,
            model=outcome.model or self._setup.model,
            detail=dict(outcome.notes),
        )

    async def close(self) -> None:
        pass


__all__ = ["AgentCliModel", "CliStatus", "detect", "make_cli_model", "make_custom_cli_model"]
