"""Runs of steps that belong to sessions, and compact actions for an agent's context."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .host import Host, action


@pytest.mark.parametrize(
    "variable", ["HONESTONE_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"]
)
def test_the_shell_says_whose_run_it_is(host: Host, variable: str) -> None:
    """The option goes before it, and an empty variable is none."""
    words = ("step", "next", "note.md", "--rubric", "rubric.yaml", "--judge", "agent:me")
    assert action(host.run(*words, env={variable: ""}))["session"] is None
    assert (
        action(host.run(*words, env={variable: "E1", "CODEX_THREAD_ID": "E1"}))["session"] == "E1"
    )
    assert action(host.run("step", "next", env={variable: "E1"}))["session"] == "E1"
    assert action(host.run(*words, "--session", "O", env={variable: "E1"}))["session"] == "O"


def test_next_resumes_the_sessions_own_run(host: Host) -> None:
    """Never another's, and not the newest; what belongs to nobody is found without a session."""
    host.file("other.md", "# Fruit\n\nA pear.\n")
    a = host.begin(session="A")
    b = host.begin(artifact="other.md", session="B")
    assert action(host.run("step", "next", "--session", "A")) == a
    assert action(host.run("step", "next", "--session", "B")) == b
    for words in (("step", "next"), ("step", "submit"), ("step", "next", "--session", "C")):
        refused = host.run(*words)
        assert (
            refused.is_refusal
            and "other sessions" in refused.err
            and f"--session {b['session']}" in refused.err
        )
    host.file("third.md", "# Fruit\n")
    free = host.begin(artifact="third.md", session=None)
    assert action(host.run("step", "next")) == free
    assert action(host.run("step", "status", a["run"], "--json"))["session"] == "A"


def test_submit_with_a_name_needs_no_session(host: Host) -> None:
    """And the end names the session, also when it is asked for again."""
    step = host.begin("--rounds", "1")
    while step["action"] != "done":
        assert step["session"] == "S1"
        step = action(host.carry_out(step))
    assert (
        step["session"] == "S1"
        and action(host.run("step", "next", "--session", "S1"))["run"] == step["run"]
    )


@pytest.mark.parametrize("session", ["a\nb", "x" * 201])
def test_an_odd_id_is_refused(host: Host, session: str) -> None:
    words = (
        "step",
        "next",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        "agent:me",
        "--session",
        session,
    )
    assert host.run(*words).is_refusal


def test_quiet_on_every_call(host: Host) -> None:
    """`submit` takes -q as `next` does; it holds for the calls that follow, until the command is
    started again.
    """
    step = host.begin()
    assert "resuming" in host.run("step", "next", "--session", "S1").err
    judged = host.carry_out(step, "-q")
    assert judged.err == "" and action(judged)["action"] == "propose"
    assert host.run("step", "next", "--session", "S1").err == ""
    host.begin()
    assert "resuming" in host.run("step", "next", "--session", "S1").err


# -----------------------------------------------------------------------------------------------------------
# compact


def go_on(host: Host, step: dict[str, Any]) -> dict[str, Any]:
    """As an agent does: the file that is named, then `then` as it stands."""
    if step["action"] == "judge":
        Path(step["reply_file"]).write_text(host.reply(step))
    else:
        place = Path(step["location"])
        place.write_text(place.read_text() + "And a pear. This is my farewell.\n")
    ended = subprocess.run(
        ["sh", "-c", step["then"]], cwd=host.folder, env=host.env, capture_output=True, text=True
    )
    assert ended.stdout.endswith("}\n") and ended.stdout.count("\n") == 1, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.slow
def test_a_whole_loop_in_compact_steps(host: Host) -> None:
    """One line an action; prompts in files, one for each judge; the end in short; nothing handed
    out is left.
    """
    step = host.begin("--judge", "agent:two", "--holdout", "agent:witness", "--compact")
    seen = []
    while step["action"] != "done":
        seen.append((step["action"], step.get("judge"), step.get("prompt_file")))
        assert (
            "prompt" not in step
            and "apple" not in json.dumps(step | {"brief": ""})
            and step["session"] == "S1"
        )
        step = go_on(host, step)
    names = [(action, judge) for action, judge, _ in seen]
    judges = [("judge", "agent:me"), ("judge", "agent:two")]
    assert names == [*judges, ("propose", None), *judges, ("judge", "agent:witness")]
    files = [file for _, _, file in seen if file]
    assert len(set(files)) == len(files) == 5
    assert set(step) == {
        *("schema", "action", "run", "session", "result", "reason"),
        *("score_before", "score_after", "rounds", "report", "low_confidence"),
    }
    assert (step["schema"], step["result"], step["rounds"]) == ("honestone.step/1", "PASSED", 1)
    assert (step["score_before"], step["score_after"]) == (37.5, 100)
    assert (host.folder / step["report"]).exists()
    assert not [
        *host.folder_of(step["run"]).glob("prompt-*"),
        *host.folder_of(step["run"]).glob("round-*"),
    ]
    again = host.run("step", "next", "--session", "S1")
    assert again.json == step and again.out.count("\n") == 1


@pytest.mark.slow
def test_compact_or_not_it_is_one_run(host: Host) -> None:
    """The record is the same; only what is printed differs."""
    ends = []
    for words in (("--compact",), ()):
        host.file("note.md", "# Fruit\n\nAn apple a day.\n")
        step = host.begin(*words, "--fresh", "--holdout", "agent:witness")
        while step["action"] != "done":
            step = go_on(host, step) if words else action(host.carry_out(step))
        ends.append(host.run("show", step["run"], "--format", "json").json)
    drop = ("run", "report", "usage", "resumed")
    a, b = ({key: value for key, value in end.items() if key not in drop} for end in ends)
    for end in (a, b):
        for name in ("baseline", "final"):
            end[name] = {
                key: value for key, value in end[name].items() if key not in ("run", "usage")
            }
    assert a == b and a["result"] == "PASSED"


def test_what_is_printed_can_change_on_the_way(host: Host) -> None:
    """`--compact` on any call holds from then on; starting the command again without it ends it."""
    step = host.begin()
    assert "prompt" in step
    compact = action(host.run("step", "next", "--session", "S1", "--compact"))
    assert "prompt" not in compact and Path(compact["prompt_file"]).read_text() == step["prompt"]
    assert action(host.run("step", "next", "--session", "S1")) == compact
    assert host.begin() == step


@pytest.mark.slow
def test_a_whole_loop_by_belief(host: Host) -> None:
    """Each look has a prompt of its own, of the panel and of the witness, and nothing is handed out
    twice.
    """
    step = host.begin("--holdout", "agent:witness", "--compact", "--policy", "belief")
    looks = []
    while step["action"] != "done":
        assert len(looks) < 40
        if step["action"] == "judge":
            looks.append((step["judge"], Path(step["prompt_file"]).read_text()))
        step = go_on(host, step)
    assert step["result"] == "PASSED" and "sure that the contract is met" in step["reason"]
    judges = [judge for judge, _ in looks]
    assert (
        judges[0] == "agent:me"
        and judges.count("agent:witness") >= 1
        and len(set(looks)) == len(looks)
    )


@pytest.mark.slow
def test_a_reply_is_one_judges_alone(host: Host) -> None:
    """Two judges get the same prompt. `then` without a new reply does not hand in the first one's
    as the second's.
    """
    first = host.begin("--judge", "agent:two", "--holdout", "none", "--compact")
    second = go_on(host, first)
    assert second["judge"] == "agent:two" and second["reply_file"] != first["reply_file"]
    ended = host.run(*second["then"].split()[1:])
    assert ended.is_refusal and action(host.run("step", "next", "--session", "S1")) == second


@pytest.mark.slow
def test_a_refused_reply_is_said_in_the_next_action(host: Host) -> None:
    step = host.begin("--compact")
    Path(step["reply_file"]).write_text("I cannot judge this.")
    again = action(host.run(*step["then"].split()[1:]))
    assert again["prompt_file"] == step["prompt_file"] and "refused" in again["problems"][0]
    assert go_on(host, again)["action"] == "propose"


@pytest.mark.slow
def test_killed_between_any_two_compact_steps(host: Host) -> None:
    """kill -9 while `next` or `then` works: the same file, the same action, and the reply written
    to it is not lost.
    """
    step = host.begin("--compact")
    Path(step["reply_file"]).write_text(host.reply(step))
    for words in (["step", "next", "--session", "S1"], step["then"].split()[1:]):
        running = host.start(*words)
        try:
            running.wait(0.4)
        except subprocess.TimeoutExpired:
            running.kill()
        running.communicate()
    found = action(host.run("step", "next", "--session", "S1"))
    assert found in (step, {**found, "action": "propose"})
    while found["action"] == "judge":
        found = action(host.run(*found["then"].split()[1:]))
    assert found["action"] == "propose" and found["round"] == 1


def test_the_files_are_for_this_person_alone(host: Host) -> None:
    step = host.begin("--compact")
    assert Path(step["prompt_file"]).stat().st_mode & 0o077 == 0


def test_the_python_door_keeps_sessions_apart(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """`honestone.step(session=...)` is the same as the option."""
    import honestone

    monkeypatch.setenv(
        "XDG_STATE_HOME", str(host.home / ".local/state")
    )  # one account, as the hook's
    host.file("other.md", "# Fruit\n\nA pear.\n")
    options: dict[str, Any] = {
        "judges": ["agent:me"],
        "folder": host.folder,
        "store": Path(".honestone"),
    }
    a = honestone.step("note.md", "rubric.yaml", session="A", **options)
    b = honestone.step("other.md", "rubric.yaml", session="B", **options)
    places: dict[str, Any] = {"folder": host.folder, "store": Path(".honestone")}
    assert [honestone.step(session=name, **places).run for name in ("A", "B")] == [a.run, b.run]
    assert host.stop("A").held
