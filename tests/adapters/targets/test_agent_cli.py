"""Agent CLIs as targets, played by small programs: where they work, what skill they are given, and
what they tell.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from honestone.adapters.targets.agent_cli import AgentCliTarget
from honestone.core.artifact import Entry, Version
from honestone.core.errors import SettingsError, UsageError
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.case import Case, Message
from honestone.interop.criteria import undecided
from honestone.ports import Output, Task

NAMES = ("codex", "claude", "gemini")
SKILL = Skill(name="helper", version=Version({"SKILL.md": Entry(b"knows")}, is_folder=True))

PROGRAM = """\
#!{python}
import json, os, pathlib, sys
home = pathlib.Path(os.environ["HOME"])
def below(place):
    return {{str(p.relative_to(place)): p.read_text() for p in place.rglob("*.md")}}
pathlib.Path({note!r}).write_text(json.dumps({{
    "argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "stdin": sys.stdin.read(), "home": below(home),
    "here": below(pathlib.Path.cwd()),
}}))
{body}
sys.stdout.write({stdout!r})
"""


def lines(*events: dict[str, Any]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def codex_events(*, reads: str = "a.md", printed: str = "x") -> str:
    return lines(
        {"type": "thread.started"},
        {"type": "item.completed", "item": {"type": "reasoning", "text": "hm"}},
        {
            "type": "item.completed",
            "item": {
                "type": "command_execution",
                "command": f"cat {reads}",
                "aggregated_output": printed,
                "exit_code": 0,
                "status": "completed",
            },
        },
        {
            "type": "item.completed",
            "item": {
                "type": "mcp_tool_call",
                "server": "s",
                "tool": "search",
                "arguments": {"q": 1},
            },
        },
        {"type": "item.completed", "item": {"type": "agent_message", "text": "done"}},
        {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 3}},
    )


def claude_events(*, skill: str = "") -> str:
    use = {"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": "a.md"}}
    used = {"type": "tool_use", "id": "2", "name": "Skill", "input": {"skill": skill}}
    return lines(
        {"type": "system", "subtype": "init", "tools": ["Read"]},
        {
            "type": "assistant",
            "message": {"id": "m1", "content": [{"type": "text", "text": "let me see"}]},
        },
        {"type": "assistant", "message": {"id": "m1", "content": [use]}},
        {
            "type": "user",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "1", "content": "x"}]},
        },
        *([{"type": "assistant", "message": {"id": "m2", "content": [used]}}] if skill else []),
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": "done",
            "stop_reason": "end_turn",
            "duration_ms": 70,
            "total_cost_usd": 0.25,
            "usage": {"input_tokens": 10, "output_tokens": 3},
            "modelUsage": {"claude-x": {}},
            "permission_denials": [],
        },
    )


def gemini_events(*, skill: str = "") -> str:
    stats = {
        "models": {"gemini-x": {"input_tokens": 10, "output_tokens": 3, "cached": 0}},
        "duration_ms": 70,
    }
    return lines(
        {"type": "init", "model": "gemini-x"},
        {"type": "message", "role": "user", "content": "Task"},
        {"type": "message", "role": "assistant", "content": "let me see", "delta": True},
        {
            "type": "tool_use",
            "tool_name": "read_file",
            "tool_id": "1",
            "parameters": {"file_path": "a.md"},
        },
        {"type": "tool_result", "tool_id": "1", "status": "success", "output": "x"},
        *(
            [
                {
                    "type": "tool_use",
                    "tool_name": "activate_skill",
                    "tool_id": "2",
                    "parameters": {"name": skill},
                }
            ]
            if skill
            else []
        ),
        {"type": "message", "role": "assistant", "content": "do", "delta": True},
        {"type": "message", "role": "assistant", "content": "ne", "delta": True},
        {"type": "result", "status": "success", "stats": stats},
    )


EVENTS = {"codex": codex_events, "claude": claude_events, "gemini": gemini_events}
CALLS = {
    "codex": [("command_execution", {"command": "cat a.md"}), ("search", {"q": 1})],
    "claude": [("Read", {"file_path": "a.md"})],
    "gemini": [("read_file", {"file_path": "a.md"})],
}
READS = {
    "codex": {"reads": "/x/skills/helper/SKILL.md", "printed": "knows"},
    "claude": {"skill": "helper"},
    "gemini": {"skill": "helper"},
}
SHELF = {"codex": ".codex/skills", "claude": ".claude/skills", "gemini": ".gemini/skills"}


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody with a skill of their own, a key in MY_KEY, and no login."""
    home = tmp_path / "person"
    for shelf in (*SHELF.values(), ".agents/skills"):
        (home / shelf / "own").mkdir(parents=True)
        (home / shelf / "own/SKILL.md").write_text("own")
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MY_KEY", "sk-secret-4711")
    return home


def fake(folder: Path, name: str, stdout: str, body: str = "") -> AgentCliTarget:
    program = folder / name
    program.write_text(
        PROGRAM.format(python=sys.executable, note=str(folder / "note"), stdout=stdout, body=body)
    )
    program.chmod(0o755)
    return AgentCliTarget(name, command=str(program), auth="key", api_key_env="MY_KEY", timeout=20)


def run(target: AgentCliTarget, prompt: str = "/init the project", **task: Any) -> Output:
    target.refuse(())
    return asyncio.run(target.run(Task(messages=(Message("user", prompt),), **task)))


def note(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "note").read_text())  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_and_the_trace_come_from_its_events(name: str, tmp_path: Path) -> None:
    """The last words are the output; tool calls in order with arguments, tokens, and the skill that
    was not read.
    """
    output = run(fake(tmp_path, name, EVENTS[name]()), skill=SKILL, isolated=True)
    assert (output.text, output.error) == ("done", None)
    assert output.trace is not None
    assert [(call.name, dict(call.arguments)) for call in output.trace.tool_calls or ()] == CALLS[
        name
    ]
    assert output.trace.tool_calls is not None
    assert output.trace.tool_calls[0].result == "x"
    assert (output.usage.input_tokens, output.trace.output_tokens) == (10, 3)
    assert output.trace.skill_loaded is False
    assert output.trace.usd == (0.25 if name == "claude" else None)
    assert output.trace.model_calls == (1 if name == "claude" else None)  # two events of one reply
    assert output.duration_ms > 0


@pytest.mark.parametrize("name", NAMES)
def test_reading_the_skill_is_seen(name: str, tmp_path: Path) -> None:
    """By its tool, or by its file."""
    output = run(fake(tmp_path, name, EVENTS[name](**READS[name])), skill=SKILL, isolated=True)
    assert output.trace is not None
    assert output.trace.skill_loaded is True
    assert output.trace.model_calls == (2 if name == "claude" else None)


@pytest.mark.parametrize(
    ("command", "printed", "loaded"),
    [
        ("cd /x/skills/helper && cat SKILL.md", "---\n---\nknows", True),
        (
            "cat /x/skills/helper/SKILL.md",
            "cat: /x/skills/helper/SKILL.md: No such file or directory",
            False,
        ),
        (
            "ls -l /x/skills/helper/SKILL.md",
            "-rw-r--r-- 1 me me 5 /x/skills/helper/SKILL.md",
            False,
        ),
        ("cat notes.md", "who knows", False),
    ],
)
def test_a_shell_has_read_the_skill_when_it_printed_it(
    command: str, printed: str, loaded: bool, tmp_path: Path
) -> None:
    """From whatever folder; a command that only names the file has read nothing."""
    output = run(fake(tmp_path, "codex", codex_events(reads=command, printed=printed)), skill=SKILL)
    assert output.trace is not None and output.trace.skill_loaded is loaded


@pytest.mark.parametrize("name", NAMES)
def test_only_codex_puts_a_skill_into_the_prompt_by_its_sign(name: str, tmp_path: Path) -> None:
    """`$helper` in a task is text to the others, and `$helpers` is to all."""
    for prompt, loaded in (("use $helper here", name == "codex"), ("use $helpers", False)):
        output = run(fake(tmp_path, name, EVENTS[name]()), prompt, skill=SKILL)
        assert output.trace is not None and output.trace.skill_loaded is loaded


@pytest.mark.parametrize("name", ["claude", "gemini"])
def test_a_skill_that_could_not_be_opened_was_not_read(name: str, tmp_path: Path) -> None:
    """The tool was called with its name and refused."""
    stdout = EVENTS[name](skill="helper")
    if name == "claude":
        failure = {
            "type": "tool_result",
            "tool_use_id": "2",
            "content": "<tool_use_error>Unknown skill</tool_use_error>",
        }
        stdout = lines({"type": "user", "message": {"content": [failure]}}) + stdout
    else:
        failed = {
            "type": "tool_result",
            "tool_id": "2",
            "status": "error",
            "error": {"message": "not found"},
        }
        stdout = lines(failed) + stdout
    output = run(fake(tmp_path, name, stdout), skill=SKILL)
    assert output.trace is not None and output.trace.skill_loaded is False


@pytest.mark.parametrize("name", NAMES)
def test_the_skill_lies_on_its_own_shelf_in_a_fresh_home(
    name: str, tmp_path: Path, person: Path
) -> None:
    """Nothing of the person's; without a skill there is none; the task is the same, and nothing of
    it on the command line.
    """
    target = fake(tmp_path, name, EVENTS[name]())
    run(target, skill=SKILL, isolated=True)
    with_skill = note(tmp_path)
    run(target, isolated=True)
    without = note(tmp_path)
    assert f"{SHELF[name]}/helper/SKILL.md" in with_skill["home"]
    assert "own" not in with_skill["home"].values()
    assert [path for path in without["home"] if "skills" in path] == []
    assert with_skill["env"]["HONESTONE_SKILL"].endswith(f"{SHELF[name]}/helper")
    assert "HONESTONE_SKILL" not in without["env"]
    assert "Task:\n/init the project" in with_skill["stdin"]
    assert "init" not in json.dumps(with_skill["argv"]).replace("initial", "")
    for place in (with_skill["cwd"], with_skill["env"]["HOME"]):
        assert not place.startswith(str(person))
        assert not Path(place).exists()


@pytest.mark.parametrize("name", NAMES)
def test_it_works_in_the_workspace_and_leaves_nothing_of_ours(name: str, tmp_path: Path) -> None:
    """What it makes there stays; the skill never lay in it. gemini is started elsewhere and told
    where to work.
    """
    work = tmp_path / "work"
    work.mkdir()
    body = f"open({str(work / 'made')!r}, 'w').write('x')"
    run(fake(tmp_path, name, EVENTS[name](), body), folder=work, skill=SKILL)
    assert [p.name for p in work.iterdir()] == ["made"]
    seen = note(tmp_path)
    assert str(work) in (seen["stdin"] if name == "gemini" else seen["cwd"])


@pytest.mark.parametrize("name", NAMES)
def test_a_failure_is_an_error_and_the_key_is_not_told(name: str, tmp_path: Path) -> None:
    """No closing event, a time-out, a key in the words."""
    target = fake(
        tmp_path,
        name,
        "",
        "sys.stderr.write('invalid api key ' + next(iter(v for v in os.environ.values() if 'sk-secret' in v)))",
    )
    output = run(target)
    assert output.text == ""
    assert "refused" in str(output.error)
    assert "sk-secret" not in str(output.error)
    slow = fake(tmp_path, name, EVENTS[name](), "import time; time.sleep(30)")
    assert "within 0.5 s" in str(run(slow, timeout=0.5).error)


def test_keys_in_a_trace_are_blackened(tmp_path: Path) -> None:
    """What a tool printed may hold the key."""
    events = claude_events().replace('"content": "x"', '"content": "KEY=sk-secret-4711"')
    output = run(fake(tmp_path, "claude", events))
    assert output.trace is not None
    assert output.trace.tool_calls is not None
    assert output.trace.tool_calls[0].result == "KEY=[key]"


def test_a_file_named_in_a_task_is_not_sent_along(tmp_path: Path) -> None:
    """claude attaches `@/any/file`, from anywhere; a mail address is none."""
    target = fake(tmp_path, "claude", claude_events())
    assert "/etc/hostname" in str(run(target, "Look at @/etc/hostname").error)
    assert run(target, "Mail a@b.c and @name").error is None


def test_another_artifact_is_the_prompt(tmp_path: Path) -> None:
    """An artifact that is no skill reaches the agent with the task."""
    run(fake(tmp_path, "codex", codex_events()), "the case", version=Version.of_text("Be kind."))
    assert "Be kind.\n\nthe case" in note(tmp_path)["stdin"]


def test_cases_with_images_are_refused(tmp_path: Path) -> None:
    """No CLI is sent them, so it would answer about something that it has not seen. Skipped ones do
    not matter.
    """
    target = fake(tmp_path, "codex", codex_events())
    case = Case(
        id="a", rubric=undecided(), messages=(Message("user", "[[image: https://x.org/a.png]]"),)
    )
    with pytest.raises(UsageError, match="is not sent images"):
        target.refuse([case])
    target.refuse([replace(case, skip="later")])


def test_without_a_key_it_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to do."""
    target = fake(tmp_path, "codex", codex_events())
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(SettingsError, match="MY_KEY is not set"):
        target.refuse(())
    with pytest.raises(SettingsError, match="is not there"):
        AgentCliTarget("codex", command=str(tmp_path / "gone"))


def test_any_other_cli_by_settings(tmp_path: Path) -> None:
    """Its skill lies where agents look by convention; of its tools nothing is known."""
    program = tmp_path / "mine"
    program.write_text(
        PROGRAM.format(python=sys.executable, note=str(tmp_path / "note"), stdout="done", body="")
    )
    program.chmod(0o755)
    target = AgentCliTarget("mine", command=[str(program)], timeout=20)
    output = run(target, skill=SKILL, isolated=True)
    assert output.text == "done"
    assert output.trace is None
    assert ".agents/skills/helper/SKILL.md" in note(tmp_path)["here"]


def test_an_update_of_the_program_is_another_target(tmp_path: Path) -> None:
    """Its rate from before must not stand beside a newer agent's; the same bytes are the same
    target.
    """
    first = fake(tmp_path, "claude", "{}").identity
    assert fake(tmp_path, "claude", "{}").identity == first
    assert fake(tmp_path, "claude", "{}", "# version 2").identity != first
