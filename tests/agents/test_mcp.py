"""`honestone agent mcp`: the commands as tools, and what an agent and its workspace cannot make the
server do.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cli.desk import PYTHON

from .host import Host
from .mcp_host import McpHost

CHECKED = "rubric: 1\ntitle: T\nfloor: 0\ncriteria:\n  - {id: a, requirement: A, check: {contains: [apple]}}\n"
NOTE = {"artifact": "note.md", "rubric": "rubric.yaml"}


def slow_judge(host: Host) -> str:
    """It says who it is, and answers at once only when told to."""
    lines = (
        f"import json, os, sys, time\nhere = {str(host.logs)!r}\nasked = json.load(sys.stdin)\n"
        "open(here + '/pids', 'a').write(f'{os.getpid()}\\n')\n"
        "while not os.path.exists(here + '/fast'): time.sleep(.05)\n"
        "yes = {c['id']: {'items': {i['id']: {'met': True} for i in c['items']}} if 'items' in c else {'met': True} for c in asked['criteria']}\n"
        "print(json.dumps({'criteria': yes}))\n"
    )
    return f"script:{PYTHON} {host.file('../slow.py', lines).resolve()}"


def alive(host: Host) -> list[str]:
    """The judges that were started and have not ended."""
    pids = (host.logs / "pids").read_text().split() if (host.logs / "pids").exists() else []
    return [pid for pid in pids if _runs(Path("/proc", pid, "stat"))]


def _runs(stat: Path) -> bool:
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(found: object, seconds: float = 60) -> bool:
    assert callable(found)
    end = time.monotonic() + seconds
    while not found() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(found())


@pytest.mark.slow
def test_tools_say_what_they_take(host: Host) -> None:
    """Every schema is closed, those that only read say so, and none lets an agent choose what a
    person chooses.
    """
    with McpHost(host) as server:
        assert (
            server.hello["serverInfo"]["name"] == "honestone"
            and "step_submit" in server.hello["instructions"]
        )
        tools = {tool["name"]: tool for tool in server.ask("tools/list")["result"]["tools"]}
        assert set(tools) == {
            "eval",
            "improve",
            "rubric_check",
            "runs",
            "show",
            "step_next",
            "step_submit",
        }
        assert {name for name, tool in tools.items() if tool["annotations"]["readOnlyHint"]} == {
            "rubric_check",
            "runs",
            "show",
        }
        for tool in tools.values():
            schema = tool["inputSchema"]
            assert (
                schema["type"] == "object"
                and schema["additionalProperties"] is False
                and tool["description"]
            )
            assert not {"allow_host", "allow_outside", "pass_env", "sandbox", "as_json"} & set(
                schema["properties"]
            )
        assert "self" in tools["improve"]["inputSchema"]["properties"]


def bare(document: dict[str, Any]) -> dict[str, Any]:
    """A scorecard without its run and what was spent."""
    judges = [
        {key: value for key, value in judge.items() if key != "usage"}
        for judge in document["judges"]
    ]
    return {**document, "run": "", "usage": "", "judges": judges}


def test_a_call_is_what_the_command_says(host: Host) -> None:
    """The command's JSON with its exit code, the same in words, and every judge and artifact as
    progress.
    """
    judge = host.judge().spec
    with McpHost(host, "--allow-commands") as server:
        found = server.call("eval", {"progressToken": 7}, **NOTE, judges=[judge])
        assert (
            not found.error and found.code == 1 and found.data["schema"] == "honestone.scorecard/1"
        )
        assert found.data["score"] == 37.5 and "37.5" in found.text and "verdict fail" in found.text
        assert found.data["run"] in found.text and "pear" in found.text
        counts = [tick["progress"] for tick in server.progress]
        assert counts == sorted(set(counts)) and any(
            "answered" in tick["message"] for tick in server.progress
        )
        assert server.call("eval", **NOTE, judges=[judge], threshold=30).code == 0
        shown = server.call("show", run=found.data["run"])
        assert shown.data["score"] == 37.5 and shown.data["run"] == found.data["run"]
        assert [run["id"] for run in server.call("runs").data["runs"]][-1] == found.data["run"]
        checked = server.call("rubric_check", rubric="rubric.yaml", strict=True)
        assert checked.data["schema"] == "honestone.findings/1" and checked.code == bool(
            checked.data["findings"]
        )
        report = server.ask(
            "resources/read", {"uri": f"honestone://runs/{found.data['run']}/report"}
        )["result"]
        assert "pear" in report["contents"][0]["text"]
        listed = server.ask("resources/list")["result"]["resources"]
        assert found.data["run"] in json.dumps(listed)
        rubric = server.ask("resources/read", {"uri": "honestone://rubrics/rubric.yaml"})["result"]
        assert rubric["contents"][0]["text"] == (host.folder / "rubric.yaml").read_text()
    by_command = host.run(
        "eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge, "--json"
    ).json
    assert bare(found.data) == {**bare(by_command), "exit_code": 1}


def test_improve_passes_and_tells_its_rounds(host: Host) -> None:
    worker = host.worker("w", "put(read() + b'A pear. farewell')").spec
    with McpHost(host, "--allow-commands") as server:
        found = server.call(
            "improve",
            {"progressToken": "x"},
            **NOTE,
            judges=[host.judge().spec],
            holdouts=[host.judge("other").spec],
            worker=worker,
        )
        assert (
            found.data["result"] == "PASSED" and found.code == 0 and "result PASSED" in found.text
        )
        assert any("round 1" in tick["message"] for tick in server.progress)
    assert "pear" in (host.folder / "note.md").read_text()


def test_wrong_calls_are_errors_that_say_why(host: Host) -> None:
    host.file("checked.yaml", CHECKED)
    wrong: list[tuple[str, dict[str, object], str]] = [
        ("eval", {"artifact": "note.md"}, "rubric"),
        ("eval", {**NOTE, "treshold": 3}, "treshold"),
        ("eval", {**NOTE, "threshold": "high"}, "threshold"),
        ("eval", {**NOTE, "threshold": True}, "threshold"),
        ("eval", {**NOTE, "threshold": 101}, "threshold"),
        ("eval", {**NOTE, "judges": "codex"}, "judges"),
        ("eval", {**NOTE, "judges": [{"cmd": "x"}]}, "judges"),
        ("eval", {**NOTE, "judges": ["no-such-judge"]}, "no-such-judge"),
        ("eval", {**NOTE, "effort": "enormous"}, "effort"),
        ("eval", {**NOTE, "max_calls": -1}, "max_calls"),
        ("eval", {**NOTE, "allow_host": ["evil.example"]}, "allow_host"),
        ("eval", {**NOTE, "artifact": "--help"}, "--help"),
        ("eval", {**NOTE, "artifact": "a\0b"}, "not a path"),
        ("eval", {**NOTE, "artifact": "x" * 5000}, "x"),
        ("eval", {**NOTE, "rubric": "note.md"}, "note.md"),
        ("improve", {**NOTE, "worker": "nobody"}, "nobody"),
        (
            "improve",
            {"artifact": "note.md", "rubric": "checked.yaml", "policy": "x", "worker": "codex"},
            "policy",
        ),
        ("rubric_check", {"rubric": "note.md"}, "note.md"),
        ("show", {"run": "../../etc"}, "store"),
        ("runs", {"limit": 0}, "limit"),
        ("step_next", {"artifact": "note.md"}, "rubric"),
        ("step_next", {}, "no step run"),
        ("step_submit", {"round": "1"}, "round"),
        ("no_such_tool", {}, "no_such_tool"),
    ]
    with McpHost(host) as server:
        for tool, given, word in wrong:
            assert word in server.call(tool, **given).refused, (tool, given)
        assert "error" in server.ask("resources/read", {"uri": "honestone://runs/none/report"})
        assert "error" in server.ask("resources/read", {"uri": "file:///etc/passwd"})
        assert server.call("eval", artifact="note.md", rubric="checked.yaml").code == 0


def test_paths_stay_in_the_roots(host: Host) -> None:
    """However they are written, links followed, and in files that name files too."""
    out = host.folder.parent / "outside"
    out.mkdir()
    (out / "secret.md").write_text("SECRET apple\n")
    (out / "rubric.yaml").write_text(CHECKED)
    (out / "schema.json").write_text('{"const": "SECRET"}')
    (host.folder / "link.md").symlink_to("../outside/secret.md")
    (host.folder / "linked").symlink_to("../outside")
    host.file("checked.yaml", CHECKED)
    host.file(
        "schema.yaml", CHECKED.replace("contains: [apple]", "json-schema: ../outside/schema.json")
    )
    host.file(
        "beside.yaml",
        CHECKED.replace("contains: [apple]", "links-resolve: true, beside: ../outside"),
    )
    with McpHost(host) as server:
        for path in (
            "/etc/passwd",
            "../outside/secret.md",
            "link.md",
            "linked/secret.md",
            "linked",
            "..",
        ):
            said = server.call("eval", artifact=path, rubric="checked.yaml").refused
            assert "outside" in said and "SECRET" not in said, path
        for rubric in (
            "../outside/rubric.yaml",
            "linked/rubric.yaml",
            "schema.yaml",
            "beside.yaml",
        ):
            assert "outside" in server.call("eval", artifact="note.md", rubric=rubric).refused, (
                rubric
            )
        assert "outside" in server.call("rubric_check", rubric="linked/rubric.yaml").refused
        given = {"artifact": "note.md", "rubric": "checked.yaml", "worker": "codex"}
        assert "outside" in server.call("improve", **{**given, "artifact": "link.md"}).refused
        started = server.call(
            "step_next", artifact="note.md", rubric="checked.yaml", output="../outside/new.md"
        )
        assert "outside" in started.refused
        assert "outside" in server.call("step_submit", reply="../outside/secret.md").refused
        for name in (
            "..%2Foutside%2Frubric.yaml",
            "%2e%2e/outside/rubric.yaml",
            "linked/rubric.yaml",
            "/etc/passwd",
        ):
            found = server.ask("resources/read", {"uri": f"honestone://rubrics/{name}"})
            assert "outside" in found["error"]["message"], name
        assert (
            server.call("eval", artifact=str(host.folder / "note.md"), rubric="checked.yaml").code
            == 0
        )
    with McpHost(host, "--root", str(host.folder), "--root", str(out)) as server:
        assert server.call("eval", artifact="../outside/secret.md", rubric="checked.yaml").code == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "rubric.yaml",
        "schema.json",
        "secret.md",
    ]


def test_a_store_is_not_written_through_links(host: Host) -> None:
    """Nor is what it holds believed: a run of steps that names other places and programs is
    refused.
    """
    out = host.folder.parent / "outside"
    out.mkdir()
    host.file("checked.yaml", CHECKED.replace("apple", "pear"))
    given = {"artifact": "note.md", "rubric": "checked.yaml"}
    with McpHost(host) as server:
        step = server.call("step_next", **given).data
        kept = host.folder / ".honestone/step" / step["run"] / "session.json"
        plain = json.loads(kept.read_text())
        evil = f"cmd:touch {out}/ran"
        for change in (
            {"folder": str(out)},
            {"artifact": "../outside/x.md"},
            {"rubric": "/etc/passwd"},
            {"options": {**plain["options"], "judges": [evil]}},
            {"options": {**plain["options"], "holdouts": [evil]}},
            {"options": {**plain["options"], "output": "../outside/x.md"}},
        ):
            kept.write_text(json.dumps({**plain, **change}))
            assert server.call("step_next").error, change
        kept.write_text(json.dumps(plain))
        for name in (
            "reports",
            f"step/{step['run']}/replies",
            f"step/{step['run']}/round-1/copy/../../prompts",
        ):
            link = host.folder / ".honestone" / os.path.normpath(name)
            aside = link.rename(link.with_name("aside")) if link.exists() else None
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(out / "new")
            assert "link" in server.call("step_next").refused, name
            link.unlink()
            if aside is not None:
                aside.rename(link)
        assert server.call("step_next").data["action"] == "propose"
        (host.folder / ".honestone").rename(host.folder / "moved")
        (host.folder / ".honestone").symlink_to(out)
        assert "link" in server.call("eval", **given).refused
    assert list(out.iterdir()) == []


def test_nothing_in_the_workspace_runs_a_command(host: Host) -> None:
    """Names, settings, checks: each is refused with the flag's name, before anything is run."""
    ran = host.logs / "ran"
    touch = f"touch {ran}"
    host.file("checked.yaml", CHECKED)
    host.file("fix.yaml", CHECKED.replace("apple]}", f"pear]}}, fix: {touch}"))
    host.file("mine.py", f"def f(*a, **k):\n    open({str(ran)!r}, 'w')\n")
    host.file(
        "honestone.toml",
        f'[judges.sly]\ncommand = "{touch}"\n[judges.far]\nprovider = "openai"\nmodel = "m"\n'
        'base_url = "http://127.0.0.1:9/v1"\n[workers.sly]\ncommand = "' + touch + '"\n'
        f'[targets.sly]\ncommand = "{touch}"\n[judges.cli]\nprovider = "claude"\ncommand = "{host.folder}/claude"\n',
    )
    mine = "{language: python, file: mine.py, function: f}"
    commands = (
        *(f"command: {touch}", "pytest: mine.py", "python: 'mine:f'", "grader: mine.py"),
        *(f"script: {mine}", f"contains: [apple], transform: {mine}"),
    )
    for number, check in enumerate(commands):
        host.file(f"check{number}.yaml", CHECKED.replace("contains: [apple]", check))
    note = {"artifact": "note.md", "rubric": "checked.yaml"}
    calls: list[tuple[str, dict[str, object]]] = [
        *(
            ("eval", {**note, "judges": [judge]})
            for judge in (f"cmd:{touch}", f"script:{touch}", "record:x.json", "sly", "far", "cli")
        ),
        *(
            ("eval", {**note, "target": target})
            for target in (
                f"cmd:{touch}",
                "python:mine:f",
                "http://127.0.0.1:9",
                "https://a.example",
                "sly",
            )
        ),
        *(("improve", {**note, "worker": worker}) for worker in (f"cmd:{touch}", "sly")),
        ("improve", {**note, "rubric": "fix.yaml", "worker": "fix"}),
        ("improve", {**note, "rubric": "fix.yaml"}),
        ("step_next", {**note, "holdouts": [f"script:{touch}"]}),
        ("step_next", {**note, "judges": [f"script:{touch}"]}),
        *(("eval", {**note, "rubric": f"check{number}.yaml"}) for number in range(len(commands))),
    ]
    env = {"OPENAI_API_KEY": "sk-1"}
    with McpHost(host, env=env) as server:
        for tool, given in calls:
            assert "--allow-commands" in server.call(tool, **given).refused, (tool, given)
        assert server.call("eval", **note).code == 0
    # Trusted settings are found by themselves in a terminal, but not here: who writes the workspace
    # is not who trusted it.
    assert host.run("trust").code == 0
    with McpHost(host, env={"PATH": os.path.dirname(sys.executable)}) as server:
        found = server.call("eval", **NOTE)
        assert not found.error and found.code == 3 and "sly" not in found.text.partition("codex")[0]
    assert not ran.exists()
    with McpHost(host, "--allow-commands") as server:
        server.call("eval", **note, target="sly")
    assert ran.exists()


def test_a_cancelled_call_leaves_nothing(host: Host) -> None:
    """Its judge is gone at once, another call meanwhile is not disturbed, and the same call works."""
    judge = slow_judge(host)
    host.file("checked.yaml", CHECKED)
    with McpHost(host, "--allow-commands") as server:
        first = server.start_call("eval", **NOTE, judges=[judge])
        assert until(lambda: alive(host))
        assert server.call("eval", artifact="note.md", rubric="checked.yaml").code == 0
        assert alive(host)
        server.cancel(first)
        assert until(lambda: not alive(host), 20)
        loop = server.start_call(
            "improve", **NOTE, judges=[judge], worker=f"cmd:{PYTHON} -c pass", dry_run=True
        )
        assert until(lambda: alive(host))
        server.cancel(loop)
        assert until(lambda: not alive(host), 20)
        (host.logs / "fast").touch()
        assert server.call("eval", **NOTE, judges=[judge]).data["score"] == 100
        again = server.call(
            "improve", **NOTE, judges=[judge], worker=f"cmd:{PYTHON} -c pass", dry_run=True
        )
        assert again.data["result"] and not again.error
        assert [run["kind"] for run in server.call("runs").data["runs"]].count("improve") == 1, (
            "it was resumed"
        )


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["stdin", "term", "kill"])
def test_the_server_takes_its_programs_with_it(host: Host, ending: str) -> None:
    judge = slow_judge(host)
    with McpHost(host, "--allow-commands", is_installed=True) as server:
        server.start_call("eval", **NOTE, judges=[judge])
        assert until(lambda: alive(host))
        if ending != "stdin":
            server.process.send_signal(signal.SIGTERM if ending == "term" else signal.SIGKILL)
        else:
            assert server.process.stdin is not None
            server.process.stdin.close()
        code = server.process.wait(60)
    assert code == {"stdin": 0, "term": 143, "kill": -9}[ending]
    assert until(lambda: not alive(host), 20)


def test_roots_of_the_client_make_them_narrower(host: Host) -> None:
    """Never wider, and a client that names none says nothing."""
    inner = host.folder / "inner"
    inner.mkdir()
    for folder in (host.folder, inner):
        (folder / "note.md").write_text("An apple\n")
        (folder / "checked.yaml").write_text(CHECKED)
    here = {"artifact": str(host.folder / "note.md"), "rubric": str(inner / "checked.yaml")}
    for roots, outside in (
        ([], False),
        ([str(host.folder.parent)], False),
        ([str(inner)], True),
        (["/usr"], True),
    ):
        with McpHost(host, roots=roots) as server:
            found = server.call("eval", **here)
            assert found.error is outside and ("outside" in found.text) is outside, roots
            if roots == [str(inner)]:
                assert server.call("eval", artifact="note.md", rubric="checked.yaml").code == 0
    assert (inner / ".honestone").is_dir()


@pytest.mark.slow
def test_steps_belong_to_the_session_of_the_host(host: Host) -> None:
    """Known from the environment, else from what the host says with the call; the loop goes to its
    end in steps.
    """
    meta = {"x-codex-turn-metadata": {"thread_id": "T1", "turn_id": "1"}}
    with McpHost(host, env={"CLAUDE_CODE_SESSION_ID": "C1"}) as server:
        assert server.call("step_next", meta, **NOTE, judges=["agent:me"]).data["session"] == "C1"
        assert server.call("step_next", session="S9").error
    with McpHost(host) as server:
        assert "other sessions" in server.call("step_next", meta).refused
        step = server.call("step_next", meta, **NOTE, judges=["agent:me"], rounds=1).data
        assert step["session"] == "T1" and step["exit_code"] == 0 and "prompt" not in step
        text_meta = {"x-codex-turn-metadata": json.dumps({"session_id": "T1"})}
        assert server.call("step_next", text_meta).data == step
        while step["action"] != "done":
            if step["action"] == "judge":
                Path(step["reply_file"]).write_text(host.reply(step))
                step = server.call("step_submit", run=step["run"], reply=step["reply_file"]).data
            else:
                place = Path(step["location"])
                place.write_text(place.read_text() + "A pear. farewell\n")
                step = server.call("step_submit", run=step["run"], round=step["round"]).data
        assert (
            80 < step["score_after"] <= 100
            and step["result"] == "UNCONFIRMED"
            and step["exit_code"] == 3
        )


def test_without_the_extra(host: Host) -> None:
    """Exit 2 and the line to type; and no other command loads any of it."""
    code = "import sys; sys.modules['mcp'] = None; sys.argv = ['honestone', 'mcp']; from honestone.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=host.folder, timeout=120
    )
    assert (
        done.returncode == 2 and "pip install 'honestone[mcp]'" in done.stderr and not done.stdout
    )
    loads = (
        "import sys; from honestone.cli.main import main; sys.argv = ['honestone', 'mcp', '--help']\n"
        "try: main()\nexcept SystemExit: print(*sorted({'mcp', 'pydantic', 'anyio'} & set(sys.modules)), 'end')"
    )
    done = subprocess.run(
        [sys.executable, "-c", loads], capture_output=True, text=True, cwd=host.folder, timeout=120
    )
    assert done.stdout.splitlines()[-1] == "end", done.stdout[-300:]


def test_half_a_surrogate_pair_is_answered(host: Host) -> None:
    """The SDK cannot read such a line, and whoever sent it would wait for ever."""
    with McpHost(host) as server:
        for name in ("\ud800.md", "\udc00\ud83d", "a\\\ud800"):
            assert server.call("eval", artifact=name, rubric="rubric.yaml").error, name
        assert not server.call("eval", **NOTE).error
        whole = server.call("eval", artifact="\U0001f600.md", rubric="rubric.yaml")
        assert "\U0001f600" in whole.text
