"""The table of hosts in the docs, held against the one that the program writes by."""

from __future__ import annotations

from pathlib import Path

import pytest

from honestone.app.agents.hosts import HOSTS, Host, Scope

PAGE = Path(__file__).resolve().parents[2] / "docs/agents.md"


def table() -> dict[str, dict[str, str]]:
    """Each row of the page's first table, by host."""
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    head, start = cells[0], 2
    found = {}
    for label, *values in cells[start:]:
        if label == "`action`":
            break
        found[label] = dict(zip(head[1:], values, strict=True))
    return found


def documented(host: Host) -> dict[str, str]:
    """What the page should say of a host."""
    home = Scope(base=Path("~"), user=True).path(host.servers)
    servers = [f"`{host.servers}`", *([] if home == Path("~") / host.servers else [f"`{home}`"])]
    return {
        "skill": f"`{host.skill.removesuffix('SKILL.md')}`",
        "a person types": f"`{host.called}`",
        "hooks in": f"`{host.hooks}`",
        "stop event": f"`{host.stop}`",
        "time limits in": {1: "seconds", 1000: "milliseconds"}[host.second],
        "MCP server in": ", ".join(servers),
        "session known by": f"`{host.session or '--session'}`",
    }


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_the_docs_say_what_is_written(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    assert {label: row[host.title] for label, row in table().items()} == documented(host)


def test_a_slash_command_needs_a_file_where_a_skill_is_none() -> None:
    """Gemini CLI has no command of a skill's name, so ours calls what its file is named."""
    gemini = HOSTS["gemini"]
    assert gemini.command_file is not None and gemini.called == f"/{Path(gemini.command_file).stem}"
