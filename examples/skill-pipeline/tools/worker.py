"""A stand-in for a worker that edits skills: the brief on stdin, the skill's folder in $HONESTONE_ARTIFACT.

Without a word it does what the brief lets it think of: a rule for the first failure that it understands, and where the
brief names none, it makes the text shorter, which is what workers do who know nothing. `worker.py shorten`, `number` and
`description` make that one edit whatever the brief says.
"""

import os
import re
import sys
from pathlib import Path

RULE = "- End with the number of its issue, as in (#7), where there is one.\n"


def shorten(text: str) -> str:
    """Keep the first rule of a list: somebody has to save tokens."""
    return re.sub(r"(?m)^(- .*\n)(?:- .*\n)+", r"\1", text)


def number(text: str) -> str:
    rules = list(re.finditer(r"(?m)^- .*\n", text))
    return text[: rules[-1].end()] + RULE + text[rules[-1].end() :]


def description(text: str) -> str:
    return text.replace("asks for a changelog line.", "asks for a changelog line or for release notes.")


EDITS = {"shorten": shorten, "number": number, "description": description}


def choose(brief: str) -> str:
    """The judge's words say what was missing, and the text of a task what it was about."""
    if "'(#" in brief:
        return "number"
    return "description" if "release notes" in brief else "shorten"


skill = Path(os.environ["HONESTONE_ARTIFACT"]) / "SKILL.md"
edit = sys.argv[1] if len(sys.argv) > 1 else choose(sys.stdin.read())
skill.write_text(EDITS[edit](skill.read_text(encoding="utf-8")), encoding="utf-8")
