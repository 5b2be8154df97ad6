"""One call of an agent CLI: its private room, its environment, its end, and words for what went
wrong.

Nothing here looks at an exit code. What a call came to is read from its output by the CLI's own
reader, and our own clock alone says whether its time ran out: asked to stop, some of them exit 0
with a cheerful sentence.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from honestone.adapters.agent_clis.base import (
    FAILURES,
    AgentCli,
    CliFolders,
    CliOutcome,
    Command,
    Kind,
    Setup,
)
from honestone.adapters.machine import key_in
from honestone.core.suite.trace import Trace
from honestone.ports import CallFailed
from honestone.system.files import write_atomically
from honestone.system.loose_json import one_line
from honestone.system.processes import process
from honestone.system.processes.commands import NotStarted, find_program
from honestone.system.processes.environment import base_environment
from honestone.system.processes.private import end_inhabitants, private_folder

OUTPUT_LIMIT: Final = 32_000_000
# The variable that every process of one call carries, so that the last of them is found.
MARK: Final = "HONESTONE_CALL"

_PROXIES: Final = [
    form(name)
    for name in ("https_proxy", "http_proxy", "all_proxy", "no_proxy")
    for form in (str, str.upper)
]
_CERTIFICATES: Final = (
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CODEX_CA_CERTIFICATE",
)

Build = Callable[[CliFolders, str], Command]


# ---------------------------------------------------------------------------------------------------
# before the call


def locate(cli: AgentCli, command: str | None) -> str:
    """The path of its program. Raises CallFailed, `missing`, that says how to get it."""
    name = os.path.expanduser(command or cli.program)
    try:
        return find_program(name, cwd=Path("/"), env=base_environment())
    except NotStarted as error:
        raise CallFailed(f"{error.reason}; to get it: {cli.install}", missing=True) from None


def read_key(cli: AgentCli, setup: Setup) -> str:
    """The key; empty for a login. Raises CallFailed before anything is started."""
    if setup.auth == "login":
        return ""
    for name in setup.key_names:
        if key := key_in(name):
            return key
    if not setup.key_names:  # a settings CLI that needs none
        return ""
    names = " or ".join(setup.key_names)
    raise CallFailed(
        f'{names} is not set; export it, or log in with `{cli.sign_in}` and use auth = "login"',
        unsent=True,
    )


def require_login(cli: AgentCli, setup: Setup) -> None:
    if setup.auth == "login" and cli.package and not cli.has_login():
        raise CallFailed(f"{cli.name} is not logged in; type: {cli.sign_in}", unsent=True)


def require_sendable(cli: AgentCli, text: str) -> None:
    """Raises CallFailed for a prompt that the CLI would take for a command, or cut in silence, or
    not take at all.
    """
    start = text.lstrip("\ufeff \t\r\n")
    if not start:
        raise CallFailed("the prompt is empty", unsent=True)
    if start[0] in "/@!#":
        raise CallFailed(
            f"the prompt begins with {start[0]!r}, which an agent CLI may take for a command; begin it with a plain line",
            unsent=True,
        )
    if len(text) > cli.most_characters:
        raise CallFailed(
            f"the prompt has {len(text):,} characters; {cli.name} takes at most {cli.most_characters:,}",
            unsent=True,
        )


# ----------------------------------------------------------------------------------------------------------
# the call


async def carry_out(cli: AgentCli, setup: Setup, build: Build) -> CliOutcome:
    """Run one call and read it. Raises CallFailed when it cannot be started; whatever else happens
    is an outcome.
    """
    require_login(cli, setup)
    key = read_key(cli, setup)
    with private_folders() as folders:
        command = build(folders, key)
        place_links(command)
        try:
            ended = await process.run(
                command.argv,
                cwd=command.cwd,
                env=environment(setup, folders, command),
                stdin=command.stdin.encode("utf-8", "replace"),
                timeout=setup.timeout,
                output_limit=OUTPUT_LIMIT,
            )
        except NotStarted as error:
            raise CallFailed(f"{error.reason}; to get it: {cli.install}", missing=True) from None
        finally:
            end_inhabitants(folders.root)
            give_back(command)
        return _without_key(_outcome(cli, setup, ended, command), key)


def _outcome(cli: AgentCli, setup: Setup, ended: process.Ended, command: Command) -> CliOutcome:
    if ended.timed_out:
        return CliOutcome(kind="timeout", reason=f"it had not ended after {setup.timeout:g} s")
    if ended.truncated:
        return CliOutcome(
            kind="crashed", reason=f"it printed more than {OUTPUT_LIMIT // 1_000_000} MB"
        )
    return replace(cli.read(ended, setup), notes={**command.notes, "exit": ended.exit})


def environment(setup: Setup, folders: CliFolders, command: Command) -> dict[str, str]:
    """Built from nothing but a few harmless names. Proxies are not used for a server on this
    machine.
    """
    is_here = (
        re.match(r"https?://(localhost|127\.\d+\.\d+\.\d+|\[::1\])([:/]|$)", setup.base_url or "")
        is not None
    )
    own = {
        MARK: str(folders.root),
        "HOME": str(folders.home),
        "TMPDIR": str(folders.tmp),
        "XDG_CONFIG_HOME": str(folders.home / ".config"),
        "XDG_DATA_HOME": str(folders.home / ".local/share"),
        "XDG_CACHE_HOME": str(folders.home / ".cache"),
        "XDG_STATE_HOME": str(folders.home / ".local/state"),
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    names = (*command.pass_names, *_CERTIFICATES, *(() if is_here else _PROXIES))
    env = base_environment({**own, **command.env}, names)
    env.setdefault("LANG", "C.UTF-8")
    if "HOME" in command.env:  # a login in place: its own folders go with it
        for name in [name for name in own if name.startswith("XDG_")]:
            del env[name]
    return env


@contextlib.contextmanager
def private_folders() -> Iterator[CliFolders]:
    """A new folder that only this person can read; gone afterwards, with all that was written into
    it.
    """
    with private_folder("call") as root:
        folders = CliFolders(root=root)
        for folder in (folders.home, folders.work, folders.tmp):
            folder.mkdir()
        yield folders


def place_links(command: Command) -> None:
    for link, own in command.links.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(own)


def give_back(command: Command) -> None:
    """A CLI that renewed its login by replacing the file has replaced our link: the new login goes
    where it belongs.
    """
    for link, own in command.links.items():
        if link.is_file() and not link.is_symlink() and own.is_file() and link.stat().st_size:
            with contextlib.suppress(OSError):
                write_atomically(own, link.read_bytes(), through_links=True)


def _without_key(outcome: CliOutcome, key: str) -> CliOutcome:
    if not key:
        return outcome

    def clean(text: str) -> str:
        return text.replace(key, "[key]")

    return replace(
        outcome,
        text=clean(outcome.text),
        reason=clean(outcome.reason),
        denials=tuple(map(clean, outcome.denials)),
        trace=outcome.trace
        and Trace.from_plain(json.loads(clean(json.dumps(outcome.trace.to_plain())))),
    )


# ---------------------------------------------------------------------------------------------------------
# afterwards


def failure(cli: AgentCli, setup: Setup, outcome: CliOutcome) -> CallFailed:
    """What went wrong and what to do about it."""
    stated = one_line(outcome.reason)
    where = setup.base_url or "its service"
    key = (
        next((name for name in setup.key_names if os.environ.get(name)), "")
        if setup.auth == "key"
        else ""
    )
    parts = {
        "cli": cli.name,
        "sign_in": cli.sign_in,
        "key": key,
        "where": where,
        "model": f"`{setup.model}`" if setup.model else "of its default",
        "seconds": f"{setup.timeout:g}",
        "number": f" ({outcome.status})" if outcome.status else "",
        "because": f": {stated}" if stated else "",
    }
    reason = (_WITH_KEY if key else {}).get(outcome.kind) or _REASONS.get(
        outcome.kind, "{cli} failed{because}"
    )
    is_retryable = outcome.kind in ("slow down", "server", "network", "broken")
    wait = outcome.retry_after if outcome.kind == "slow down" else None
    return CallFailed(reason.format(**parts), retryable=is_retryable, retry_after=wait)


_REASONS: Final[Mapping[Kind, str]] = FAILURES["reasons"]
_WITH_KEY: Final[Mapping[Kind, str]] = FAILURES["with_key"]
