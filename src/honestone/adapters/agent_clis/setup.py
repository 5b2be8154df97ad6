"""The settings of one CLI, checked: what a judge and a worker of the same table have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from honestone.adapters.agent_clis import NAMES, known_cli
from honestone.adapters.agent_clis.base import AgentCli, Auth, Setup
from honestone.adapters.agent_clis.custom import Custom
from honestone.adapters.agent_clis.detect import find_auth
from honestone.adapters.agent_clis.driver import locate
from honestone.core.errors import SettingsError
from honestone.system.process import describe_command


def cli_of(name: str) -> AgentCli:
    try:
        return known_cli(name)
    except KeyError:
        raise SettingsError(f"no agent CLI is called `{name}`", hint=f"known: {', '.join(NAMES)}") from None


def set_up(
    cli: AgentCli,
    *,
    model: str | None,
    base_url: str | None,
    auth: Auth | None,
    api_key_env: str | None,
    command: str | None,
    timeout: float,
) -> Setup:
    """The settings of one CLI, checked. Raises SettingsError, and CallFailed when the program is not there."""
    if auth not in (None, "key", "login"):
        raise SettingsError(f"`auth` of `{cli.name}` is {auth!r}", hint='it is "key" or "login"')
    if auth == "login" and api_key_env:
        raise SettingsError(
            f'`{cli.name}` has both auth = "login" and `api_key_env`', hint="a login needs no key: leave one out"
        )
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise SettingsError(
            f"`base_url` of `{cli.name}` is {base_url!r}", hint="it is the server's root, http(s)://..."
        )
    if model is not None and (not model.strip() or model.startswith("-")):
        raise SettingsError(f"`model` of `{cli.name}` is {model!r}, which is no model's name")
    return Setup(
        label=cli.name,
        program=locate(cli, command),
        model=model,
        base_url=base_url,
        auth=auth or find_auth(cli, api_key_env) or "key",
        key_names=(api_key_env,) if api_key_env else cli.key_names,
        timeout=timeout,
    )


def identity_of(cli: AgentCli, setup: Setup) -> dict[str, Any]:
    """The version is left out: these programs update themselves, and we replace the instructions they bring."""
    identity: dict[str, Any] = {"kind": "agent-cli", "cli": cli.name, "model": setup.model, "auth": setup.auth}
    if setup.base_url:
        identity["base_url"] = setup.base_url
    if isinstance(cli, Custom):
        identity |= {"output": cli.output, **describe_command(cli.words, Path.cwd())}
    return identity
