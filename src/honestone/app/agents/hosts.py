"""The coding agents, as data: where each finds skills, hooks and MCP servers in a project and in a
home.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from msgspec import Struct

# Of the command, the skill and the MCP server.
NAME: Final = "honestone"


class Host(Struct, frozen=True, kw_only=True):
    """Paths are relative to the project or home. `called` is what a person types; `session` the
    variable with the session's id in its shell; `second` is one second in the unit of the host's
    time limits.
    """

    name: str
    title: str
    skill: str
    hooks: str
    servers: str
    stop: str = "Stop"
    second: int = 1
    called: str = f"/{NAME}"
    session: str | None = None
    command_file: str | None = None


# Not TOML: a hook reads this at each stop of a session, and a reader of TOML takes longer than all
# else that it does.
_TABLES: Final = json.loads(Path(__file__).with_name("hosts.json").read_text("utf-8"))
HOSTS: Final = {name: Host(name=name, **one) for name, one in _TABLES.items()}

# Variables that name a person's own folder of a host.
_MOVED: Final = {".claude": "CLAUDE_CONFIG_DIR", ".codex": "CODEX_HOME"}


class Scope(Struct, frozen=True, kw_only=True):
    """A project, or a person's home (`user`)."""

    base: Path
    user: bool

    def path(self, named: str) -> Path:
        """Where a file of the table is in this scope."""
        if not self.user:
            return self.base / named
        if named == ".mcp.json":
            named = ".claude/.claude.json" if os.environ.get(_MOVED[".claude"]) else ".claude.json"
        first, _, rest = named.partition("/")
        moved = os.environ.get(_MOVED.get(first, "")) if rest else None
        return Path(moved).expanduser().absolute() / rest if moved else self.base / named

    def shown(self, named: str) -> str:
        """Relative in a project."""
        return str(self.path(named)) if self.user else named
