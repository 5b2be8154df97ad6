"""Writes the sessions of docs/agents.md: the real agent CLIs, with a model service on 127.0.0.1
behind them. `--check` says whether they are stale. The CLIs come from tests/clis/install.sh; the
model is that of tests/clis/test_real_agents.py.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPO / "tests/clis"), str(REPO / "tests/adapters/agent_clis")]

import standin as play  # noqa: E402
import test_real_agents as real  # noqa: E402
from pupil import texts  # noqa: E402

from conftest import BIN, are_pinned  # noqa: E402
from honestone.app.agents.hosts import HOSTS, Host  # noqa: E402

PAGE = REPO / "docs/agents.md"
BEGIN, END = "<!-- sessions: written by tools/sessions.py -->\n", "<!-- end of the sessions -->\n"
SHOWN = ("action", "judge", "round", "result", "reason", "score_before", "score_after", "rounds")
"""What is shown of an action."""


@dataclass
class Session:
    """What the model was shown and did, one row each, and how much that was."""

    host: Host
    version: str = ""
    rows: list[tuple[str, str]] = field(default_factory=list)
    requests: int = 0
    characters: int = 0
    holds: int = 0
    opened_by: str = ""

    def add(self, who: str, what: str) -> None:
        self.rows.append((who, what))

    def saw(self, text: str, line: Any, tools: list[str]) -> None:
        """A request without the folder of this machine, and what the model answered."""
        self.requests += 1
        action = real.last_action(text)
        shown = {} if action is None else {key: action[key] for key in SHOWN if key in action}
        if action is not None and ("honestone", json.dumps(shown)) not in self.rows[-3:]:
            text = json.dumps(action, separators=(",", ":")).replace(
                str(real.HONESTONE.parent), "/venv/bin"
            )
            self.characters += len(text)
            self.add("honestone", json.dumps(shown))
        held = re.search(r"The honestone run \S+ is not finished\.[^\n<]*?times\)\.", text)
        if held and not any(who == "stop hook" for who, _ in self.rows):
            self.add("stop hook", held[0].replace("\\", ""))
        if isinstance(line, play.Learn):
            tool = next(
                (name for name in ("Skill", "activate_skill", "exec_command") if name in tools), "?"
            )
            self.opened_by = f"`{tool}`" if tool != "exec_command" else "reading its file"
            self.add(
                self.host.name, f"opens the skill `{line.skill}` by {self.opened_by.strip('`')}"
            )
        elif isinstance(line, play.Run):
            self.add(self.host.name, f"$ {line.command}")
        else:
            self.add(self.host.name, line.text)

    def text(self, project: Path) -> str:
        """The rows without what is another one each time: ids, and folders of this machine."""
        out = "\n".join(f"{who:<10} {what}" for who, what in self.rows)
        out = out.replace(str(real.HONESTONE.parent), "/venv/bin").replace(f"{project}/", "")
        for kind, pattern in (
            ("RUN", r"\b01[0-9A-HJKMNP-TV-Z]{24}\b"),
            ("SESSION", r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b"),
        ):
            out = re.sub(pattern, kind, out)
        numbers = {
            found: str(at)
            for at, found in enumerate(dict.fromkeys(re.findall(r"prompt-([0-9a-f]{12})", out)), 1)
        }
        return re.sub(r"prompt-([0-9a-f]{12})", lambda found: f"prompt-{numbers[found[1]]}", out)


def run(name: str, service: Any) -> tuple[Session, str]:
    """A session from what a person says to the end."""
    session, inner = Session(HOSTS[name]), real.agent(play)  # type: ignore[arg-type]
    session.add("you", real.SAID)

    def answer(seen: Any) -> Any:
        text, line = "\n".join(texts(seen.body)), inner(seen)
        if real.SAID in text:
            session.saw(text.replace(f"{project}/", ""), line, seen.tools)
        return line

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        person, project = Path(folder, "person").resolve(), Path(folder, "project").resolve()
        furnish(person, project, patch)
        said = real.ready(name, service.play(name, answer), person, project, patch)
        real.call(str(real.HONESTONE), "agent", "install", "--agent", name, cwd=project)
        done = real.call(*said, cwd=project)
        if "RESULT PASSED" not in done.stdout:
            raise SystemExit(
                f"{name} did not get to the end:\n{done.stdout[-800:]}\n{done.stderr[-800:]}"
            )
        session.version = re.findall(
            r"\d+\.\d+\.\d+", real.call(name, "--version", cwd=project).stdout
        )[0]
        (holds,) = project.glob(".honestone/step/*/holds.json")
        session.holds = json.loads(holds.read_text())["total"]
        session.add("stop hook", "(silent: the session ends)")
        return session, session.text(project)


def furnish(person: Path, project: Path, patch: pytest.MonkeyPatch) -> None:
    for made in (person / ".local/bin", project, project.parent / "tmp"):
        made.mkdir(parents=True)
    for name, text in (
        ("note.md", "alpha\n"),
        ("rubric.yaml", real.RUBRIC),
        ("judge.py", real.JUDGE),
    ):
        (project / name).write_text(text)
    for name in list(os.environ):
        if name.startswith(
            ("CODEX_", "CLAUDE", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "OPENAI_", "HONESTONE_")
        ):
            patch.delenv(name)
    for name, value in (
        ("HOME", str(person)),
        ("TMPDIR", str(project.parent / "tmp")),
        ("MY_KEY", "sk-secret-4711"),
    ):
        patch.setenv(name, value)
    patch.setenv(
        "PATH", os.pathsep.join([str(BIN), str(real.HONESTONE.parent), os.environ["PATH"]])
    )


def sessions() -> Iterator[str]:
    with play.Standin() as service:
        found = [run(name, service) for name in HOSTS]
    yield (
        "| measured | " + " | ".join(f"{one.host.title} {one.version}" for one, _ in found) + " |\n"
    )
    yield "|---" * (len(found) + 1) + "|\n"
    for label, values in (
        ("the skill's body reaches the model by", [one.opened_by for one, _ in found]),
        ("requests to the model", [one.requests for one, _ in found]),
        (
            "characters of all actions, about",
            [f"{round(one.characters, -2):,}" for one, _ in found],
        ),
        ("times held by the stop hook", [one.holds for one, _ in found]),
    ):
        yield f"| {label} | {' | '.join(map(str, values))} |\n"
    for one, text in found:
        yield f"\n### {one.host.title}\n\n```text\n{text}\n```\n"


def main() -> int:
    if not are_pinned():
        raise SystemExit(
            "docs/agents.md shows the pinned agent CLIs: tests/clis/install.sh installs them"
        )
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = f"{before}{BEGIN}\n{''.join(sessions())}\n{END}{after}"
    if "--check" in sys.argv:
        print(
            "docs/agents.md: its sessions are stale"
            if wanted != page
            else "docs/agents.md: its sessions are fresh"
        )
        return int(wanted != page)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
