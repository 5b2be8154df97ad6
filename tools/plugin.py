"""Writes the plugin for Claude Code and Codex, and the extension for Gemini CLI, or says which
files are stale (`--check`).

They hold what `honestone agent install` writes, from the same source. plugin/ is the plugin of the
first two, each with a manifest and a marketplace of its own; gemini/ is the extension. Gemini CLI
reads its hooks from hooks/hooks.json alone, where Claude Code too looks for hooks in the folder of
a marketplace, and its events have other names: so neither has the other's folder for its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from honestone import __version__
from honestone.app.agents.host_files import OwnFile, hook_groups, server
from honestone.app.agents.hosts import HOSTS, NAME

REPO = Path(__file__).resolve().parents[1]
SUMMARY = (
    "Grade an artifact against a rubric with independent judges, and improve it until it passes"
)
AUTHOR = {"name": "The honestone authors"}
LAUNCHER = """\
#!/bin/sh
# Calls honestone for a hook. Where it is not installed, a session is not held and nothing is said at every turn.
PATH="$PATH:$HOME/.local/bin"
command -v honestone >/dev/null 2>&1 || exit 0
exec honestone "$@"
"""


def generated() -> Iterator[tuple[str, str]]:
    """Every file, by its path in the repository."""
    manifest = {"name": NAME, "version": __version__, "description": SUMMARY}
    about = {
        **manifest,
        "author": AUTHOR,
        "license": "MIT",
        "keywords": ["evaluation", "rubric", "quality-gate"],
    }
    listed = {"name": NAME, "description": SUMMARY}
    skill = OwnFile("SKILL.md").text()
    servers = {"mcpServers": {NAME: server(NAME)}}
    yield "plugin/skills/honestone/SKILL.md", skill
    yield "plugin/hooks/honestone.sh", LAUNCHER
    yield "plugin/hooks/hooks.json", _hooks("claude", "${CLAUDE_PLUGIN_ROOT}/hooks")
    yield "plugin/.mcp.json", _json(servers)
    yield "plugin/.claude-plugin/plugin.json", _json(about)
    yield (
        "plugin/.codex-plugin/plugin.json",
        _json(
            {
                **about,
                "skills": "./skills/",
                "hooks": "./hooks/hooks.json",
                "mcpServers": "./.mcp.json",
            }
        ),
    )
    yield (
        ".claude-plugin/marketplace.json",
        _json(
            {
                "name": NAME,
                "description": SUMMARY,
                "owner": AUTHOR,
                "plugins": [{**listed, "source": "./plugin"}],
            }
        ),
    )
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    local = {
        "source": {"source": "local", "path": "./plugin"},
        "policy": policy,
        "category": "Productivity",
    }
    yield (
        ".agents/plugins/marketplace.json",
        _json({"name": NAME, "plugins": [{"name": NAME, **local}]}),
    )
    yield "gemini/gemini-extension.json", _json({**manifest, **servers})
    yield "gemini/hooks/honestone.sh", LAUNCHER
    yield "gemini/hooks/hooks.json", _hooks("gemini", "${extensionPath}/hooks")
    yield "gemini/skills/honestone/SKILL.md", skill
    yield "gemini/commands/honestone.toml", OwnFile("command.toml").text()


def _hooks(host: str, folder: str) -> str:
    groups = hook_groups(HOSTS[host], f'sh "{folder}/honestone.sh"')
    return _json({"hooks": {event: [group] for event, group in groups.items()}})


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    stale = [(path, text) for path, text in generated() if not _holds(REPO / path, text)]
    for path, text in stale:
        if "--check" not in sys.argv:
            (REPO / path).parent.mkdir(parents=True, exist_ok=True)
            (REPO / path).write_text(text, encoding="utf-8")
        print(f"{'stale:' if '--check' in sys.argv else 'wrote'} {path}")
    return 1 if stale and "--check" in sys.argv else 0


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
