"""`honestone agent install|uninstall|status` in projects and homes that hold a person's own
settings.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.cli.main import main
from honestone.formats.syntax.json_edit import cut_out, put_in
from honestone.formats.syntax.toml_edit import cut_table, put_table

SKILL = {
    "claude": ".claude/skills/honestone/SKILL.md",
    "codex": ".agents/skills/honestone/SKILL.md",
    "gemini": ".agents/skills/honestone/SKILL.md",
}
HOOKS = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
}
SERVERS = {"claude": ".mcp.json", "codex": ".codex/config.toml", "gemini": ".gemini/settings.json"}
AGENTS = tuple(SKILL)
MINE = {"hooks": [{"type": "command", "command": "echo mine"}]}
TREE = Mapping[str, tuple[int, bytes | str | None]]

KILLED = """
import os, sys
real, left = os.replace, [int(sys.argv.pop(1))]
def replace(*words, **more):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), 9)
    real(*words, **more)
os.replace = replace
from honestone.cli.main import main
main()
"""
"""The command, killed at its N-th replacement of a file."""


class Desk:
    """A project and a home next to each other, and the command in the project."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.project, self.home, self.capsys = root / "project", root / "home", capsys
        self.project.mkdir()
        self.home.mkdir()
        self.err = ""

    def agent(self, *words: str, fails: bool = False) -> dict[str, Any]:
        with pytest.raises(SystemExit) as end:
            main(["agent", *words, "--json"])
        out, self.err = self.capsys.readouterr()
        assert end.value.code == (2 if fails else 0), self.err
        return json.loads(out) if out else {}

    def put(self, path: str, text: str) -> Path:
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def tree(self) -> TREE:
        """Everything in the project and the home, with modes, bytes and where links lead."""
        found: dict[str, tuple[int, bytes | str | None]] = {}
        for top in (self.project, self.home):
            for path in sorted(top.rglob("*")):
                content = (
                    os.readlink(path)
                    if path.is_symlink()
                    else path.read_bytes()
                    if path.is_file()
                    else None
                )
                found[str(path.relative_to(top.parent))] = (
                    stat.S_IMODE(path.lstat().st_mode),
                    content,
                )
        return found


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    made = Desk(tmp_path, capsys)
    monkeypatch.chdir(made.project)
    monkeypatch.setenv("HOME", str(made.home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return made


def furnish(desk: Desk) -> None:
    """Settings of a person for all three agents, in odd forms, with modes of their own."""
    mine = json.dumps(MINE)
    desk.put(
        ".claude/settings.json", '{"hooks": {"Stop":[' + mine + ']} ,\r\n\t"é":"\\u00e9"}'
    ).chmod(0o600)
    desk.put(".codex/config.toml", '# mine\nmodel = "x"   # keep').chmod(0o640)
    desk.put(".codex/hooks.json", '{ "hooks" : { } }')
    desk.put(
        ".gemini/settings.json",
        '{\n    "ui": {\n        "theme": "x"\n    },\n    "mcpServers": {}\n}\n\n',
    )
    desk.put(".mcp.json", '{"mcpServers": {\n  "other": {"command": "o"}}}')
    (desk.project / ".gemini/commands").mkdir()


@pytest.mark.parametrize("furnished", [False, True])
def test_there_and_back(desk: Desk, furnished: bool) -> None:
    """Nothing is lost, twice changes nothing, and what was there before is there again, to the byte
    and mode.
    """
    if furnished:
        furnish(desk)
    before = desk.tree()
    first = desk.agent("install", *(word for name in AGENTS for word in ("--agent", name)), "--mcp")
    assert {*SKILL.values(), *HOOKS.values(), *SERVERS.values()} <= set(first["written"])
    after = desk.tree()
    assert str(desk.project).encode() not in b"".join(
        content
        for path, (_, content) in after.items()
        if path.startswith("project") and isinstance(content, bytes)
    )
    states = desk.agent("status", "--project")["agents"]
    assert [(one["installed"], {file["state"] for file in one["files"]}) for one in states] == [
        (True, {"ok"})
    ] * 3
    assert desk.agent("install", "--agent", "codex", "--agent", "claude", "--mcp")["written"] == []
    assert desk.tree() == after
    assert (
        sorted(desk.agent("uninstall", "--dry-run")["removed"]) == sorted(first["written"])
        and desk.tree() == after
    )
    assert sorted(desk.agent("uninstall")["removed"]) == sorted(first["written"])
    assert desk.tree() == before
    assert desk.agent("uninstall")["removed"] == []


@pytest.mark.parametrize("name", AGENTS)
def test_edits_made_meanwhile_stay(desk: Desk, name: str) -> None:
    """In files that were there and in those that we made; ours goes from wherever it was moved to."""
    desk.agent("install", "--agent", name, "--mcp")
    hooks = desk.project / HOOKS[name]
    settings = json.loads(hooks.read_text())
    event = next(iter(settings["hooks"]))
    settings["hooks"][event][0]["hooks"].insert(0, MINE["hooks"][0])
    settings["hooks"][event].append(MINE)
    settings["later"] = [1]
    hooks.write_text(json.dumps(settings, indent=4))
    skill = desk.project / SKILL[name]
    (skill.parent / "notes.md").write_text("mine\n")
    desk.agent("uninstall", "--agent", name)
    assert json.loads(hooks.read_text()) == {"hooks": {event: [MINE, MINE]}, "later": [1]}
    assert [path.name for path in skill.parent.iterdir()] == ["notes.md"]


def test_a_table_with_the_persons_own_lines(desk: Desk) -> None:
    """Keys that were added to our table go with it; what follows and the remarks before that stay."""
    config = desk.put(".codex/config.toml", 'model = "x"\n')
    desk.agent("install", "--agent", "codex", "--mcp")
    more = 'default_tools_approval_mode = "approve"\n[mcp_servers.honestone.env]\nA = "b"\n\n# theirs\n[other]\nx = 1\n'
    config.write_text(config.read_text() + more)
    assert desk.agent("install", "--agent", "codex", "--mcp")["written"] == []
    desk.agent("uninstall")
    assert config.read_text() == 'model = "x"\n\n# theirs\n[other]\nx = 1\n'


def test_an_edited_skill_stays_unless_forced(desk: Desk) -> None:
    desk.agent("install", "--agent", "claude")
    skill = desk.project / SKILL["claude"]
    edited = skill.read_text() + "Always in French.\n"
    skill.write_text(edited)
    desk.agent("install", "--agent", "claude", fails=True)
    assert SKILL["claude"] in desk.err and "edited" in desk.err
    assert (
        desk.agent("status", "--project", "--agent", "claude")["agents"][0]["files"][0]["state"]
        == "changed"
    )
    assert SKILL["claude"] not in desk.agent("uninstall")["removed"] and "edited" in desk.err
    assert skill.read_text() == edited
    assert desk.agent("uninstall", "--force")["removed"] == [SKILL["claude"]] and not skill.exists()


@pytest.mark.parametrize("name", AGENTS)
def test_a_foreign_skill_is_given_back(desk: Desk, name: str) -> None:
    desk.put(SKILL[name], "---\nname: honestone\ndescription: somebody else's\n---\n").chmod(0o600)
    before = desk.tree()
    desk.agent("install", "--agent", name, fails=True)
    assert SKILL[name] in desk.err and "--force" in desk.err and desk.tree() == before
    desk.agent("install", "--agent", name, "--force")
    desk.agent("install", "--agent", name, "--force", "--command", "hs")
    desk.agent("uninstall", "--agent", name)
    assert desk.tree() == before


@pytest.mark.parametrize(
    "broken",
    [
        "{ not json, // but loved\n",
        "[]",
        "",
        '{"hooks": []}',
        '{"hooks": {}, "hooks": {}}',
        "\ufeff{}",
    ],
)
@pytest.mark.parametrize("name", AGENTS)
def test_settings_that_cannot_be_edited(desk: Desk, name: str, broken: str) -> None:
    """Nothing is written, for the other agents neither."""
    desk.put(HOOKS[name], broken)
    before = desk.tree()
    desk.agent("install", "--agent", "claude", "--agent", "codex", "--agent", "gemini", fails=True)
    assert HOOKS[name] in desk.err and desk.tree() == before
    assert any(
        file["state"] != "ok"
        for file in desk.agent("status", "--agent", name)["agents"][0]["files"]
    )


@pytest.mark.parametrize(
    "theirs",
    ["mcp_servers = 1\n", "mcp_servers = {}\n", "not toml", '[mcp_servers.honestone]\nurl = "u"\n'],
)
def test_toml_that_cannot_be_edited(desk: Desk, theirs: str) -> None:
    desk.put(".codex/config.toml", theirs)
    before = desk.tree()
    desk.agent("install", "--agent", "codex", "--mcp", fails=True)
    assert ".codex/config.toml" in desk.err and desk.tree() == before


def test_links(desk: Desk, tmp_path: Path) -> None:
    """Settings are written through a link, which stays; out of a project only by --user."""
    for path in (".claude", ".dotfiles"):
        (desk.project / path).mkdir()
    desk.put(".dotfiles/settings.json", '{"a": 1}')
    (desk.project / ".claude/settings.json").symlink_to("../.dotfiles/settings.json")
    (desk.project / ".mcp.json").symlink_to(".dotfiles/servers.json")
    before = desk.tree()
    desk.agent("install", "--agent", "claude", "--mcp")
    assert "agent hook stop" in (desk.project / ".dotfiles/settings.json").read_text()
    assert "mcp" in (desk.project / ".dotfiles/servers.json").read_text()
    desk.agent("uninstall")
    assert desk.tree() == before
    (tmp_path / "shared").mkdir()
    (desk.project / ".gemini").symlink_to(tmp_path / "shared")
    desk.agent("install", "--agent", "gemini", fails=True)
    assert ".gemini/" in desk.err and not list((tmp_path / "shared").iterdir())
    (desk.home / ".gemini").symlink_to(tmp_path / "shared")
    desk.agent("install", "--agent", "gemini", "--user")
    assert (tmp_path / "shared/settings.json").exists()


def test_the_persons_own_folders(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLAUDE_CONFIG_DIR and CODEX_HOME move what is in the home, never what is in a project."""
    (desk.home / ".keep").touch()
    before = desk.tree()
    desk.agent("install", "--agent", "claude", "--user", "--mcp")
    assert json.loads((desk.home / ".claude.json").read_text())["mcpServers"]["honestone"][
        "args"
    ] == ["mcp"]
    desk.agent("uninstall", "--user")
    assert desk.tree() == before
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "x"))
    desk.agent("install", "--agent", "claude", "--agent", "codex", "--user", "--mcp")
    for path in (
        "c/skills/honestone/SKILL.md",
        "c/settings.json",
        "c/.claude.json",
        "x/hooks.json",
        "x/config.toml",
    ):
        assert (tmp_path / path).is_file()
        assert stat.S_IMODE((tmp_path / path).stat().st_mode) == 0o600
    assert (desk.home / SKILL["codex"]).is_file() and not (desk.home / ".claude").exists()
    desk.agent("uninstall", "--user")
    assert desk.tree() == before and not (tmp_path / "c").exists() and not (tmp_path / "x").exists()
    desk.agent("install", "--agent", "codex")
    assert (desk.project / HOOKS["codex"]).is_file() and not (tmp_path / "x").exists()


def test_a_skill_that_two_share(desk: Desk) -> None:
    before = desk.tree()
    desk.agent("install", "--agent", "codex", "--agent", "gemini")
    desk.agent("uninstall", "--agent", "codex")
    assert (desk.project / SKILL["gemini"]).exists() and not (desk.project / ".codex").exists()
    desk.agent("uninstall", "--agent", "gemini")
    assert desk.tree() == before


def test_another_command(desk: Desk) -> None:
    """It is in hooks, skill and server; later calls keep it until another is named."""
    desk.agent("install", "--agent", "claude", "--command", "uvx honestone")
    desk.agent("install", "--agent", "claude", "--mcp")
    assert json.loads((desk.project / ".mcp.json").read_text())["mcpServers"]["honestone"] == {
        "command": "uvx",
        "args": ["honestone", "mcp"],
    }
    assert "uvx honestone step next" in (desk.project / SKILL["claude"]).read_text()
    assert desk.agent("install", "--agent", "claude", "--mcp")["written"] == []
    desk.agent("install", "--agent", "claude", "--mcp", "--command", "honestone")
    text = "".join(path.read_text() for path in desk.project.rglob("*") if path.is_file())
    assert "uvx" not in text and text.count("agent hook stop") == 1


def test_a_project_that_somebody_else_installed(desk: Desk) -> None:
    """Without the record of it, what is empty without ours goes too."""
    furnish(desk)
    desk.agent("install", "--agent", "claude", "--agent", "gemini")
    for path in sorted((desk.home).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    desk.agent("uninstall")
    assert json.loads((desk.project / HOOKS["claude"]).read_text()) == {
        "hooks": {"Stop": [MINE]},
        "é": "é",
    }
    assert (
        not (desk.project / ".claude/skills").exists() and not (desk.project / ".agents").exists()
    )
    assert list(desk.home.iterdir()) == []


def test_a_write_that_fails_takes_the_others_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(desk)
    before = desk.tree()
    real = os.replace

    def replace(source: str, target: str, **more: Any) -> None:
        if target == "config.toml":
            raise OSError(28, "No space left on device")
        real(source, target, **more)

    monkeypatch.setattr(os, "replace", replace)
    desk.agent("install", "--agent", "claude", "--agent", "codex", "--mcp", fails=True)
    assert "No space left" in desk.err and "config.toml" in desk.err and desk.tree() == before


@pytest.mark.parametrize("repair", ["install", "uninstall"])
@pytest.mark.parametrize("killed_at", [1, 2, 4])
def test_killed_in_the_middle(desk: Desk, killed_at: int, repair: str) -> None:
    furnish(desk)
    before = desk.tree()
    words = ["install", "--agent", "claude", "--agent", "codex", "--mcp"]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(killed_at), "agent", *words], timeout=60
    )
    assert done.returncode == -9 and desk.tree() != before
    if repair == "install":
        desk.agent(*words)
        states = desk.agent("status", "--project", "--agent", "claude", "--agent", "codex")[
            "agents"
        ]
        assert {file["state"] for one in states for file in one["files"]} == {"ok"}
    desk.agent("uninstall")
    assert desk.tree() == before


def test_which_agents(desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those on PATH; none there is a refusal that says how to name one."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    desk.agent("install", fails=True)
    assert "--agent claude" in desk.err
    (tmp_path / "bin").mkdir()
    for name in ("gemini", "honestone"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    written = desk.agent("install", "--dry-run")["written"]
    assert written == [SKILL["gemini"], ".gemini/commands/honestone.toml", HOOKS["gemini"]]
    assert not list(desk.project.iterdir())


def test_codex_waits_for_trust(desk: Desk) -> None:
    """It is said at once and by status; honestone never gives it."""
    desk.agent("install", "--agent", "codex", "--mcp")
    assert "/hooks" in desk.err and "approve" in desk.err
    (row,) = desk.agent("status", "--project", "--agent", "codex")["agents"]
    assert any("/hooks" in note for note in row["notes"])
    assert not (desk.home / ".codex").exists()


# ------------------------------------------------------------------------------------------------
# the edits by themselves

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["a", "b", "hooks", 'é"']), plain, max_size=3),
    st.sampled_from([None, 1, 2, "\t"]),
    plain,
)
def test_json_that_is_put_in_is_cut_out_exactly(
    document: dict[str, Any], indent: int | str | None, value: Any
) -> None:
    document.pop("hooks", None)
    document["list"] = [1]
    text = json.dumps(document, indent=indent) + "\n"
    new, made = put_in(text, ("hooks", "Stop"), value, append=True)
    assert json.loads(new) == {**document, "hooks": {"Stop": [value]}} and made == [
        ("hooks",),
        ("hooks", "Stop"),
    ]
    assert cut_out(new, ("hooks",)) == text
    new, made = put_in(text, ("list",), value, append=True)
    assert json.loads(new)["list"] == [1, value] and made == []
    assert cut_out(new, ("list", 1)) == text


@given(
    st.lists(
        st.sampled_from(["", "# x", "a = 1", "[t]", "s = '''\n[x]\n'''", "b = 2"]),
        max_size=5,
        unique=True,
    ),
    st.booleans(),
)
def test_toml_that_is_put_in_is_cut_out_exactly(lines: list[str], ended: bool) -> None:
    text = "\n".join(lines) + ("\n" if ended else "")
    assert cut_table(put_table(text, "g", "n", {"command": "c", "args": ["mcp"]}), "g", "n") == text
