"""A coding agent as honestone sees it: a session that works in steps, and a host that calls hooks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import warm

from cli.desk import HONESTONE, Desk, Result
from cli.test_judge_prompt_submit import answered, honest

NOTE = "# Fruit\n\nAn apple a day.\n"


@dataclass(frozen=True)
class Answer:
    """What a hook printed. It never fails, and prints one JSON object or nothing."""

    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out or "{}")
        return found

    @property
    def held(self) -> bool:
        return self.json.get("decision") == "block"

    @property
    def reason(self) -> str:
        """Of a hold, which is exactly what all three hosts take."""
        assert set(self.json) == {"decision", "reason"}
        return str(self.json["reason"])

    @property
    def word(self) -> str | None:
        """Of a loop that was given up, which the person is shown."""
        assert set(self.json) <= {"systemMessage"}
        return self.json.get("systemMessage")

    @property
    def silent(self) -> bool:
        return (self.out, self.err) == ("", "")

    @property
    def said(self) -> bool:
        """Let go, with a line about the damage on stderr."""
        return (
            self.out == ""
            and self.err.startswith("honestone: the hook let go: ")
            and self.err.count("\n") == 1
        )


class Host(Desk):
    """A desk at which agents work."""

    def hook(
        self, name: str, given: object, *args: str, env: Mapping[str, str] | None = None
    ) -> Answer:
        """A hook, with what the host gives it: an object, or raw text."""
        return self.ended(self.hooking(name, *args, env=env), given)

    def hooking(
        self,
        name: str,
        *args: str,
        env: Mapping[str, str] | None = None,
        is_installed: bool = False,
    ) -> subprocess.Popen[bytes]:
        """One that waits for its stdin. `is_installed`: the installed command, for who kills it."""
        return subprocess.Popen(
            [HONESTONE if is_installed else warm.command(), "agent", "hook", name, *args],
            cwd=self.folder,
            env={**self.env, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def ended(self, hook: subprocess.Popen[bytes], given: object) -> Answer:
        raw = given if isinstance(given, bytes) else json.dumps(given).encode()
        out, err = (text.decode() for text in hook.communicate(raw, timeout=300))
        assert hook.returncode == 0 and "Traceback" not in out + err, (hook.returncode, out, err)
        return Answer(out, err)

    def stop(self, session: str = "S1", *args: str, **given: object) -> Answer:
        """The end of a turn."""
        return self.hook("stop", self.stopping(session, **given), *args)

    def stopping(self, session: str = "S1", **given: object) -> dict[str, object]:
        return {"hook_event_name": "Stop", "session_id": session, "cwd": str(self.folder), **given}

    def begin(
        self, *more: str, artifact: str = "note.md", session: str | None = "S1"
    ) -> dict[str, Any]:
        """The first action of a run whose judge is the session's agent."""
        owner = ("--session", session) if session else ()
        policy = () if "--policy" in more else ("--policy", "keep-best")
        words = (
            "step",
            "next",
            artifact,
            "--rubric",
            "rubric.yaml",
            "--judge",
            "agent:me",
            *policy,
            *owner,
            *more,
        )
        return action(self.run(*words))

    def reply(self, step: Mapping[str, Any]) -> str:
        """An honest reply to a judge's prompt: the last word of each requirement is looked for in
        the text.
        """
        prompt = step.get("prompt") or Path(step["prompt_file"]).read_text()
        text = prompt[: prompt.rindex("Requirements:")]
        return answered(prompt, honest(text[text.index("# Fruit") :]))

    def carry_out(
        self, step: Mapping[str, Any], *more: str, text: str = "And a pear. This is my farewell.\n"
    ) -> Result:
        """Do what an action says: reply as a judge, or add this text."""
        if step["action"] == "judge":
            path = self.file("reply.txt", self.reply(step))
            return self.run("step", "submit", step["run"], "--reply", path.name, *more)
        place = Path(step["location"])
        place.write_text(place.read_text() + text)
        return self.run("step", "submit", step["run"], "--round", str(step["round"]), *more)

    def folder_of(self, run: str) -> Path:
        return self.store / "step" / run


def action(found: Result) -> dict[str, Any]:
    assert found.out, found.err
    document: dict[str, Any] = json.loads(found.out)
    return document
