"""The coding agents, as data: where each finds skills, hooks and MCP servers in a project and in a home."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NAME: Final = "honestone"
"""Of the command, the skill and the MCP server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Paths are relative to the project or home. `second` is one second in the unit of the host's time limits."""

    name: str
    skill: str
    hooks: str
    servers: str
    stop: str = "Stop"
    second: int = 1
    command_file: str | None = None

    @property
    def whole_files(self) -> dict[str, str]:
        """Files that are ours alone, by the template of each."""
        return {self.skill: "SKILL.md", **({self.command_file: "command.toml"} if self.command_file else {})}


HOSTS: Final = {
    host.name: host
    for host in (
        Host(
            name="claude", skill=".claude/skills/honestone/SKILL.md", hooks=".claude/settings.json", servers=".mcp.json"
        ),
        Host(
            name="codex",
            skill=".agents/skills/honestone/SKILL.md",
            hooks=".codex/hooks.json",
            servers=".codex/config.toml",
        ),
        Host(
            name="gemini",
            skill=".agents/skills/honestone/SKILL.md",
            hooks=".gemini/settings.json",
            servers=".gemini/settings.json",
            stop="AfterAgent",
            second=1000,
            command_file=".gemini/commands/honestone.toml",
        ),
    )
}
_MOVED: Final = {".claude": "CLAUDE_CONFIG_DIR", ".codex": "CODEX_HOME"}
"""Variables that name a person's own folder of a host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
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
