"""A finished run of a suite, and the command that shows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HONESTONE = Path(sys.executable).parent / "honestone"
SUITE = {
    "suite": 1,
    "title": "Answers",
    "attempts": 2,
    "target": "cmd:python3 bot.py",
    "rubric": [
        {"id": "polite", "requirement": "Is polite", "weight": 3},
        {
            "id": "level",
            "requirement": "Is clear",
            "anchors": {"0": "dark", "5": "half", "10": "clear"},
        },
    ],
    "cases": [
        {
            "id": "good",
            "input": "Hello </script> \u2028 \U0001f600",
            "reference": "A greeting",
            "tags": ["a"],
        },
        {"id": "bad", "input": "rude"},
        {"id": "dead", "input": "crash"},
        {"id": "later", "input": "never", "skip": "not yet"},
    ],
}
BOT = """\
import sys
asked = sys.stdin.read()
if "crash" in asked:
    sys.exit("no answer today")
print("Go away." if "rude" in asked else "Dear reader, hello.")
"""
JUDGE = """\
import json, sys
asked = json.load(sys.stdin)
fine = "Dear" in (asked["output"] or "")
print(json.dumps({"criteria": {"polite": {"met": fine}, "level": {"score": 10 if fine else 5}}}))
"""


def command(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [HONESTONE, *args],
        cwd=folder,
        env=os.environ | env,
        capture_output=True,
        timeout=300,
        check=False,
    )


def shown(folder: Path, form: str) -> bytes:
    ended = command(folder, "show", (folder / "run").read_text(), "--format", form)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def report(folder: Path) -> dict:  # type: ignore[type-arg]
    found: dict = json.loads(shown(folder, "json"))  # type: ignore[type-arg]
    return found
