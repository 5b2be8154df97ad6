"""Where a command target runs, what it sees of the person, and what is left of it."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.targets.command import CommandTarget
from honestone.core.artifact import Entry, Version
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.case import Message
from honestone.ports import Output, Task
from honestone.system.processes.program import Program

SKILL = Skill(
    name="helper",
    version=Version({"SKILL.md": Entry(b"knows"), "refs/more.md": Entry(b"more")}, is_folder=True),
)
LOOK = """
def below(place):
    return sorted(os.path.relpath(os.path.join(d, f), place) for d, _, fs in os.walk(place) for f in fs)
print(json.dumps({"env": dict(os.environ), "cwd": os.getcwd(), "here": below("."), "home": below(os.environ["HOME"]) if "honestone-target-" in os.environ["HOME"] else None,
                  "stdin": sys.stdin.read(), "argv": sys.argv[1:]}))
"""


def target(
    folder: Path, body: str, *words: str, output: Any = "text", **options: Any
) -> CommandTarget:
    (folder / "t.py").write_text("import json, os, sys, time, subprocess\n" + textwrap.dedent(body))
    options = {"timeout": 20} | options
    return CommandTarget(
        Program(argv=[sys.executable, "t.py", *words], cwd=folder, **options), output=output
    )


def run(made: CommandTarget, prompt: str = "hi", **task: Any) -> Output:
    return asyncio.run(made.run(Task(messages=(Message("user", prompt),), **task)))


def seen(output: Output) -> dict[str, Any]:
    assert output.error is None
    return json.loads(output.text)  # type: ignore[no-any-return]


def test_an_isolated_run_sees_only_its_skill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fresh HOME and folder elsewhere, four variables and the skill's; the script is found all
    the same.
    """
    monkeypatch.setenv("SECRET_API_KEY", "sk-1")
    monkeypatch.setenv("EDITOR", "vi")
    (tmp_path / "CLAUDE.md").write_text("x")
    look = target(tmp_path, LOOK)
    with_skill = seen(run(look, isolated=True, skill=SKILL, case="c"))
    without = seen(run(look, isolated=True, case="c"))
    place = f"{with_skill['cwd']}/.agents/skills/helper"
    assert with_skill["here"] == [
        ".agents/skills/helper/SKILL.md",
        ".agents/skills/helper/refs/more.md",
    ]
    assert with_skill["env"].pop("HONESTONE_SKILL") == place
    assert with_skill["env"].pop("HONESTONE_ARTIFACT") == place
    assert without["here"] == with_skill["home"] == without["home"] == []
    ours = {"LC_CTYPE"}  # Python's own
    assert (
        with_skill["env"].keys() - ours
        == without["env"].keys() - ours
        == {"PATH", "LANG", "HOME", "TMPDIR"}
    )
    assert with_skill["stdin"] == without["stdin"] == "hi"
    for place in (with_skill["cwd"], with_skill["env"]["HOME"]):
        assert not place.startswith(str(tmp_path))
        assert not os.path.exists(place)
    assert with_skill["cwd"] != without["cwd"]


def test_a_variable_may_be_passed_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into an isolated run too, and only that one."""
    monkeypatch.setenv("MY_KEY", "sk-1")
    assert (
        seen(run(target(tmp_path, LOOK, pass_env=["MY_KEY"]), isolated=True))["env"]["MY_KEY"]
        == "sk-1"
    )


def test_an_artifact_that_was_not_installed_does_not_reach_an_isolated_run(tmp_path: Path) -> None:
    """The side without the skill is not shown it in another way."""
    look = target(tmp_path, LOOK)
    assert "HONESTONE_ARTIFACT" not in seen(run(look, isolated=True, version=SKILL.version))["env"]
    named = target(tmp_path, LOOK, "{ARTIFACT}")
    assert "{ARTIFACT}" in str(run(named, isolated=True, version=SKILL.version).error)


def test_the_workspace_is_where_it_runs_and_the_skill_leaves_no_trace_there(tmp_path: Path) -> None:
    """The skill is there during the run and gone after it; what lay under its name comes back."""
    work = tmp_path / "work"
    (work / ".agents/skills/helper").mkdir(parents=True)
    (work / ".agents/skills/helper/own.md").write_text("own")
    look = target(tmp_path, LOOK + "open('made', 'w')\n", "{WORKSPACE}", "{CASE_ID}", "{ATTEMPT}")
    found = seen(run(look, folder=work, skill=SKILL, case="c {ATTEMPT}", attempt=2))
    assert found["cwd"] == str(work)
    assert found["argv"] == [str(work), "c {ATTEMPT}", "2"]
    assert ".agents/skills/helper/SKILL.md" in found["here"]
    assert (found["env"]["HONESTONE_CASE"], found["env"]["HONESTONE_ATTEMPT"]) == (
        "c {ATTEMPT}",
        "2",
    )
    assert sorted(p.name for p in (work / ".agents/skills/helper").iterdir()) == ["own.md"]
    assert (work / "made").exists()


def test_a_workspace_without_skills_gets_no_folder_for_them(tmp_path: Path) -> None:
    """Folders made for the skill go with it."""
    work = tmp_path / "work"
    work.mkdir()
    assert (
        ".agents/skills/helper/SKILL.md"
        in seen(run(target(tmp_path, LOOK), folder=work, skill=SKILL))["here"]
    )
    assert list(work.iterdir()) == []


def test_messages_as_json_and_as_blocks(tmp_path: Path) -> None:
    """`{INPUT_JSON}` is the list; stdin has them as blocks."""
    messages = (Message("system", "Be brief"), Message("user", "Hello"))
    output = asyncio.run(target(tmp_path, LOOK, "{INPUT_JSON}").run(Task(messages=messages)))
    found = seen(output)
    assert found["stdin"] == "system: Be brief\n\nuser: Hello"
    assert json.loads(found["argv"][0]) == [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "Hello"},
    ]


# -------------------------------------------------------------------------------------------------------------
# output


@pytest.mark.parametrize(
    ("printed", "text", "error"),
    [
        ({"output": "alpha", "usd": 0.5}, "alpha", None),
        ("alpha", "alpha", None),
        ({"text": 5}, "", "is not a JSON text, or an object"),
        ({"output": 5}, "", "is not a JSON text, or an object"),
        ({"output": "a", "tool_calls": [{}]}, "", "has no `name`"),
        ({"output": "a", "input_tokens": -1}, "", "not a whole number from 0"),
        ({"output": "a", "usd": "much"}, "", "not a number from 0"),
        ({"output": "\ud800"}, "", "not UTF-8"),
    ],
)
def test_json_is_read_when_it_is_asked_for(
    tmp_path: Path, printed: Any, text: str, error: str | None
) -> None:
    """An object with `output`, or a JSON text; what is neither is the target's failure."""
    body = f"print({json.dumps(printed)!r})"
    output = run(target(tmp_path, body, output="json"))
    assert output.text == text
    assert output.error is None if error is None else error in str(output.error)
    assert run(target(tmp_path, body)).text == json.dumps(printed) + "\n"


@pytest.mark.parametrize("printed", ["{", "NaN", "[" * 200_000, '{"output": 1e999}', "9" * 5000])
def test_what_is_no_json_is_an_error_and_no_crash(tmp_path: Path, printed: str) -> None:
    """Half an object, nothing that JSON knows, a tower of brackets."""
    (tmp_path / "p").write_text(printed)
    assert run(target(tmp_path, "print(open('p').read())", output="json")).error is not None


def test_the_rest_of_the_object_is_the_trace(tmp_path: Path) -> None:
    """Under our names and AgentV's; names that we do not know are kept."""
    told = {
        "output": "a",
        "tool_calls": ["search", {"tool": "open", "args": {"id": 7}, "result": 1}],
        "token_usage": {"input": 5, "output": 6},
        "cost_usd": 0.5,
        "trace": {"duration_ms": 7.4, "skill_loaded": True, "mine": [1]},
    }
    output = run(target(tmp_path, f"print({json.dumps(told)!r})", output="json"))
    assert output.trace is not None
    assert [(call.name, dict(call.arguments)) for call in output.trace.tool_calls or ()] == [
        ("search", {}),
        ("open", {"id": 7}),
    ]
    assert (output.usage.input_tokens, output.usage.output_tokens, output.usage.usd) == (5, 6, 0.5)
    assert (output.trace.duration_ms, output.trace.skill_loaded) == (7, True)
    assert dict(output.trace.extra) == {"mine": [1]}


# -------------------------------------------------------------------------------------------------------------
# ending


def test_a_case_may_give_more_or_less_time(tmp_path: Path) -> None:
    """The task's limit stands above the target's own, and is named."""
    output = run(target(tmp_path, "time.sleep(30)"), timeout=0.3)
    assert "within 0.3 s" in str(output.error)
    assert 300 <= output.duration_ms < 10_000


def test_a_child_that_holds_the_output_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    """What was printed counts; nothing is left running."""
    body = "child = subprocess.Popen(['sleep', '60'])\nprint(child.pid)"
    output = run(target(tmp_path, body))
    pid = int(output.text)
    assert output.duration_ms < 15_000
    assert (
        not os.path.exists(f"/proc/{pid}")
        or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]
    )


def test_a_flood_is_cut_and_not_kept(tmp_path: Path) -> None:
    """A gigabyte of output is an error at 16 MiB, and never in memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    output = run(target(tmp_path, "subprocess.run(['head', '-c', '1000000000', '/dev/zero'])"))
    assert "more than 16 MiB" in str(output.error)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_an_end_by_a_code_for_a_signal_is_told(tmp_path: Path) -> None:
    """137 is what shells make of a kill."""
    assert "exit code 137: Killed" in str(
        run(target(tmp_path, "sys.stderr.write('Killed'); sys.exit(137)")).error
    )


def test_words_on_stderr_cannot_touch_the_terminal(tmp_path: Path) -> None:
    """Control characters in a reason are shown, not obeyed."""
    error = str(run(target(tmp_path, "sys.exit('no\\x1b[2J')")).error)
    assert error.isprintable()
    assert "no\\x1b" in error


def test_the_form_of_the_output_is_part_of_what_it_is(tmp_path: Path) -> None:
    """JSON and text are two targets."""
    assert target(tmp_path, "", output="json").identity != target(tmp_path, "").identity
