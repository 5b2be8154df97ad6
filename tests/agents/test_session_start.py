"""`honestone agent hook session-start`: a session that comes back is reminded of its run."""

from __future__ import annotations

import pytest

from .host import Answer, Host, action


def start(host: Host, session: object = "S1", source: str = "resume", **env: str) -> Answer:
    given = {
        "hook_event_name": "SessionStart",
        "session_id": session,
        "cwd": str(host.folder),
        "source": source,
    }
    return host.hook("session-start", given, env=env)


def said(answer: Answer) -> str:
    found = answer.json["hookSpecificOutput"]
    assert set(answer.json) == {"hookSpecificOutput"} and set(found) == {
        "hookEventName",
        "additionalContext",
    }
    assert found["hookEventName"] == "SessionStart" and len(found["additionalContext"]) < 1500
    return str(found["additionalContext"])


@pytest.mark.parametrize("source", ["startup", "resume", "compact", "clear"])
def test_it_names_run_contract_and_command(host: Host, source: str) -> None:
    step = host.begin("--threshold", "72.5", "--floor", "10")
    text = said(start(host, source=source))
    assert step["run"] in text and "honestone step next --session S1" in text
    assert (
        "72.5 of 100" in text
        and "below 10" in text
        and '"rubric.yaml"' in text
        and '"note.md"' in text
    )


def test_it_is_silent_otherwise(host: Host) -> None:
    """Without a run, for other sessions, for no session, and at the end."""
    assert start(host).silent
    step = host.begin("--rounds", "1")
    assert all(start(host, session).silent for session in ("S2", "", None, 7))
    while step["action"] != "done":
        step = action(host.carry_out(step, text="Plum.\n"))
    assert start(host).silent


def test_gemini_is_given_the_id_that_its_shell_lacks(host: Host) -> None:
    """With a run and without; an id that a shell would read is quoted."""
    assert "--session G7`" in said(start(host, "G7", GEMINI_SESSION_ID="G7"))
    assert "--session 'a b'" in said(start(host, "a b", GEMINI_SESSION_ID="a b"))
    host.begin()
    assert said(start(host, GEMINI_SESSION_ID="S1")).count("--session S1`") == 2


def test_long_names_are_cut_and_the_command_is_whole(host: Host) -> None:
    long = "x" * 200
    host.rubric(
        f"rubric: 1\ntitle: '{long * 9} `\n\n  rm -rf'\ncriteria: [{{id: a, requirement: It names the pear}}]\n"
    )
    host.file(f"{long}.md", "# Fruit\n")
    host.begin(artifact=f"{long}.md", session="s" * 200)
    text = said(start(host, "s" * 200))
    assert (
        f"honestone step next --session {'s' * 200}`" in text
        and "\n" not in text
        and "must not be edited" in text
    )


def test_damage_is_said(host: Host) -> None:
    host.begin()
    (host.store / "store.db").write_bytes(b"nothing")
    assert start(host).said
