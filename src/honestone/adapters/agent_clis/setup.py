"""The settings of one CLI, checked: what a judge, a worker and a target of the same table have in
common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from honestone.adapters.agent_clis import NAMES, known_cli
from honestone.adapters.agent_clis.base import AgentCli, Auth, Setup
from honestone.adapters.agent_clis.custom import Custom
from honestone.adapters.agent_clis.detect import find_auth
from honestone.adapters.agent_clis.driver import locate
from honestone.core.errors import SettingsError
from honestone.core.judging.needs import KeyNeed, MachineNeeds
from honestone.ports import CallFailed, NothingToClose
from honestone.system.processes.commands import describe_command, needs_of_program


class CliSettings(TypedDict, total=False):
    """`base_url` is the server's root. Without `auth`, what `detect` finds. `command` is where a
    known CLI is; a list of words makes it a CLI that settings describe (`custom.py`), with its
    `output`; relative paths in it are from `here`. `timeout` in seconds.
    """

    model: str | None
    base_url: str | None
    auth: Auth | None
    api_key_env: str | None
    command: str | Sequence[str] | None
    output: str
    here: Path
    timeout: float


class CliMissing(CallFailed):
    """The program of an agent CLI is not installed. `identity` and `needs` are those it would have."""

    def __init__(self, reason: str, *, identity: Mapping[str, Any], needs: MachineNeeds) -> None:
        super().__init__(reason, missing=True)
        self.identity = identity
        self.needs = needs


class CliAdapter(NothingToClose):
    """What a model, a worker and a target that are CLIs begin with.

    Raises SettingsError for a setting that is wrong, and CliMissing when the program is not
    installed.
    """

    # Seconds for a call where the settings name none.
    timeout = 300.0

    def __init__(self, name: str, **settings: Unpack[CliSettings]) -> None:
        self.cli = _cli_of(name, settings)
        self.identity = _identity_of(self.cli, settings)
        self.needs = _needs_of(self.cli, settings)
        try:
            self.setup = _set_up(self.cli, {"timeout": self.timeout, **settings})
        except CallFailed as failed:
            raise CliMissing(failed.reason, identity=self.identity, needs=self.needs) from None


def _cli_of(name: str, settings: CliSettings) -> AgentCli:
    command = settings.get("command")
    if command is not None and not isinstance(command, str):
        return Custom(
            name, command, settings.get("output", "text"), settings.get("here", Path("/"))
        )
    try:
        return known_cli(name)
    except KeyError:
        raise SettingsError(
            f"no agent CLI is called `{name}`", hint=f"known: {', '.join(NAMES)}"
        ) from None


def _set_up(cli: AgentCli, settings: CliSettings) -> Setup:
    model, base_url, auth = settings.get("model"), settings.get("base_url"), settings.get("auth")
    api_key_env, command = settings.get("api_key_env"), settings.get("command")
    if auth not in (None, "key", "login"):
        raise SettingsError(f"`auth` of `{cli.name}` is {auth!r}", hint='it is "key" or "login"')
    if auth == "login" and api_key_env:
        raise SettingsError(
            f'`{cli.name}` has both auth = "login" and `api_key_env`',
            hint="a login needs no key: leave one out",
        )
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise SettingsError(
            f"`base_url` of `{cli.name}` is {base_url!r}",
            hint="it is the server's root, http(s)://...",
        )
    if model is not None and (not model.strip() or model.startswith("-")):
        raise SettingsError(f"`model` of `{cli.name}` is {model!r}, which cannot be a model's name")
    is_custom = isinstance(cli, Custom)
    return Setup(
        label=cli.name,
        program=locate(cli, command if isinstance(command, str) else None),
        model=model,
        base_url=base_url,
        auth=auth or ("key" if is_custom else find_auth(cli, api_key_env)) or "key",
        key_names=(api_key_env,) if api_key_env else cli.key_names,
        timeout=settings["timeout"],
    )


def _declared_auth(cli: AgentCli, settings: CliSettings) -> Auth | None:
    """What the settings say, whatever is found on this machine."""
    return settings.get("auth") or (
        "key" if isinstance(cli, Custom) or settings.get("api_key_env") else None
    )


def _needs_of(cli: AgentCli, settings: CliSettings) -> MachineNeeds:
    auth = _declared_auth(cli, settings)
    command = settings.get("command")
    names: tuple[str, ...] = ()
    if auth != "login":
        variable = settings.get("api_key_env")
        names = (variable,) if variable else cli.key_names
    login = cli.name if auth != "key" and cli.package else None
    keys = (KeyNeed(variables=names, login=login),) if names or login else ()
    if isinstance(cli, Custom):
        return MachineNeeds(keys=keys) | needs_of_program(cli.words[0])
    return MachineNeeds(keys=keys, programs=(command if isinstance(command, str) else cli.program,))


def _identity_of(cli: AgentCli, settings: CliSettings) -> dict[str, Any]:
    """The version is left out: these programs update themselves, and we replace the instructions
    they bring. So is what is found on this machine: a judge is the same one where its key is not
    set and where it is not installed.
    """
    auth, base_url = _declared_auth(cli, settings), settings.get("base_url")
    identity: dict[str, Any] = {
        "kind": "agent-cli",
        "cli": cli.name,
        "model": settings.get("model"),
        "auth": auth,
    }
    if base_url:
        identity["base_url"] = base_url
    if isinstance(cli, Custom):
        files = describe_command(cli.words[0 if "/" in cli.words[0] else 1 :], cli.here)["files"]
        identity |= {"output": cli.output, "command": list(cli.words), "files": files}
    return identity
