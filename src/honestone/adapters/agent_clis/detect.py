"""Which agent CLIs are here, in which version, and how this person is signed in. Reads files; asks
no model, no server.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from honestone.adapters.agent_clis import known_cli
from honestone.adapters.agent_clis.base import AgentCli, Auth
from honestone.adapters.agent_clis.driver import locate
from honestone.core.json_value import late_pattern
from honestone.ports import CallFailed
from honestone.system.processes.commands import answer_of
from honestone.system.processes.environment import base_environment

SECONDS: Final = 2.0
_VERSION: Final = late_pattern(r"\d+\.\d+(?:\.\d+)?(?:[-+.][0-9A-Za-z.]+)?")


class CliStatus(Struct, frozen=True, kw_only=True):
    """What `doctor` says of a CLI. `auth` None: it cannot be called yet; `hint` says what to type,
    None when ready.
    """

    name: str
    found: str | None
    version: str | None = None
    auth: Auth | None = None
    hint: str | None = None


def detect(name: str, *, command: str | None = None, api_key_env: str | None = None) -> CliStatus:
    """The state of codex, gemini or claude. Never longer than about two seconds; safe to call from
    several threads.
    """
    cli = known_cli(name)
    try:
        path = locate(cli, command)
    except CallFailed:
        return CliStatus(name=name, found=None, hint=cli.install)
    auth = find_auth(cli, api_key_env)
    names = (api_key_env,) if api_key_env else cli.key_names
    hint = None if auth else f"{cli.sign_in}, or: export {names[0]}=..."
    return CliStatus(
        name=name, found=path, version=version_of(path, cli.package), auth=auth, hint=hint
    )


def find_auth(cli: AgentCli, api_key_env: str | None = None) -> Auth | None:
    """A key whose variable the settings name; else the login; else a key in one of the usual
    variables.
    """
    if api_key_env:
        return "key" if _is_set((api_key_env,)) else None
    if cli.has_login():
        return "login"
    return "key" if _is_set(cli.key_names) else None


def _is_set(names: Sequence[str]) -> bool:
    return any(os.environ.get(name, "").strip() for name in names)


def version_of(path: str, package: str) -> str | None:
    """The version of a CLI, from the package file next to the program, because starting the program
    can take five seconds; else from its `--version`.
    """
    real = Path(os.path.realpath(path))
    for folder in list(real.parents)[:4]:
        try:
            described = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(described, dict) and described.get("name") == package:
            version = described.get("version")
            return version if isinstance(version, str) else None
    return _asked_version(path)


def _asked_version(path: str) -> str | None:
    try:
        env = base_environment({"NO_COLOR": "1"})
        done = answer_of([path, "--version"], SECONDS, env=env, is_alone=True)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return match[0] if match else None
