"""What judges, models, targets and workers say that they need, and that they are the same wherever
that is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from honestone.adapters.context import AdapterContext
from honestone.adapters.machine import ThisMachine
from honestone.adapters.registry import make_judge, make_target
from honestone.core.judging.needs import KeyNeed, MachineNeeds
from honestone.formats.settings import Settings
from honestone.ports import needs_of

JUDGES: Mapping[str, Mapping[str, Any]] = {
    "desk": {
        "provider": "compatible",
        "model": "m",
        "base_url": "http://127.0.0.1:9/v1",
        "api_key_env": "DESK_KEY",
    },
    "free": {"provider": "compatible", "model": "m", "base_url": "http://127.0.0.1:9/v1"},
    "mine": {"provider": "cli", "command": ["mytool", "--print"], "api_key_env": "MY_KEY"},
    "ours": {"provider": "codex", "api_key_env": "OUR_KEY"},
    "signed": {"provider": "claude", "auth": "login"},
    "web": {"provider": "http", "base_url": "http://127.0.0.1:9/", "api_key_env": "WEB_KEY"},
}
CODEX = KeyNeed(variables=("CODEX_API_KEY", "OPENAI_API_KEY"), login="codex")
NEEDS = {
    "openai:gpt-5.1": MachineNeeds(keys=(KeyNeed(variables=("OPENAI_API_KEY",)),)),
    "desk": MachineNeeds(keys=(KeyNeed(variables=("DESK_KEY",)),)),
    "free": MachineNeeds(),
    "codex": MachineNeeds(keys=(CODEX,), programs=("codex",)),
    "mine": MachineNeeds(keys=(KeyNeed(variables=("MY_KEY",)),), programs=("mytool",)),
    "ours": MachineNeeds(keys=(KeyNeed(variables=("OUR_KEY",)),), programs=("codex",)),
    "signed": MachineNeeds(keys=(KeyNeed(login="claude"),), programs=("claude",)),
    "script:sh judge.sh": MachineNeeds(programs=("sh",), variables=("TOKEN",)),
    "script:./judge.sh": MachineNeeds(variables=("TOKEN",)),
    "cmd:sh judge.sh": MachineNeeds(programs=("sh",), variables=("TOKEN",)),
    "mock": MachineNeeds(),
}


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AdapterContext:
    """A machine without keys, logins and agent CLIs."""
    for name in ("CODEX_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    program = tmp_path / "judge.sh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return AdapterContext(
        cwd=tmp_path, settings=Settings(judges=JUDGES, targets=JUDGES), pass_env=("TOKEN",)
    )


@pytest.mark.parametrize("name", NEEDS)
def test_needs_are_names(name: str, context: AdapterContext) -> None:
    """Of a judge that is installed and of one that is not."""
    assert needs_of(make_judge(name, context)) == NEEDS[name]


def test_a_variable_that_is_made_for_each_call_is_not_needed(context: AdapterContext) -> None:
    """TRACEPARENT comes from telemetry, or is not there."""
    traced = replace(context, pass_env=("TRACEPARENT", "TOKEN"))
    for found in (
        make_judge("script:./judge.sh", traced),
        make_target("python:json:dumps", traced),
    ):
        assert needs_of(found) == MachineNeeds(variables=("TOKEN",))


def test_a_target_has_needs(context: AdapterContext) -> None:
    """As a judge has; and none where it names none."""
    found = {
        name: needs_of(make_target(name, context))
        for name in ("web", "openai:gpt-5.1", "cmd:sh judge.sh")
    }
    assert found["web"] == MachineNeeds(keys=(KeyNeed(variables=("WEB_KEY",)),))
    assert found["openai:gpt-5.1"] == NEEDS["openai:gpt-5.1"]
    assert found["cmd:sh judge.sh"] == NEEDS["cmd:sh judge.sh"]
    assert needs_of(make_target("python:json:dumps", context)) == MachineNeeds(variables=("TOKEN",))
    assert needs_of(make_target("identity", context)) == MachineNeeds()


@pytest.mark.parametrize("name", ["openai:gpt-5.1", "desk", "codex", "mine", "ours", "signed"])
def test_a_judge_is_the_same_with_and_without_what_it_needs(
    name: str, context: AdapterContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no program and no key, with both, and with a login."""
    bare = dict(make_judge(name, context).identity)
    for program in ("codex", "claude", "mytool"):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert dict(make_judge(name, context).identity) == bare
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DESK_KEY", "MY_KEY", "OUR_KEY"):
        monkeypatch.setenv(variable, "sk-4711")
    assert dict(make_judge(name, context).identity) == bare
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "t")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "auth.json").write_text('{"tokens": {"id_token": "t"}}')
    judge = make_judge(name, context)
    assert dict(judge.identity) == bare and "sk-4711" not in str(bare)
    assert needs_of(judge).missing(ThisMachine()) == []


def test_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key with a blank in it is set, and cannot be sent. An empty variable is not set."""
    machine = ThisMachine()
    monkeypatch.setenv("GOOD_KEY", "sk-4711")
    monkeypatch.setenv("BAD_KEY", "two words")
    monkeypatch.setenv("EMPTY_KEY", "")
    assert machine.key_problem("GOOD_KEY") is None and machine.key_problem("EMPTY_KEY") == ""
    said = str(machine.key_problem("BAD_KEY"))
    assert "BAD_KEY holds a character" in said and "two words" not in said
    assert machine.is_set("BAD_KEY") and not machine.is_set("EMPTY_KEY")
    assert machine.has_program("sh") and machine.has_program("/bin/sh")
    assert not machine.has_program("no-such-program") and not machine.has_program(
        str(tmp_path / "gone")
    )
