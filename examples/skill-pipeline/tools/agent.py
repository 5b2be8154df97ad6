"""A stand-in for an agent that may be given a skill: the task on stdin, its answer on stdout.

Like an agent it reads a skill's description first, and loads the skill only when the task is about that. Then it follows
what stands in its text, as far as it understands the words. Put `--target claude` (or `codex`, `gemini`) in its place, and
the same commands run on a real one.
"""

import os
import re
import sys
from pathlib import Path

KINDS = {"This is a fix.": "Fixed", "This is new.": "Added", "This is a change.": "Changed"}
TOO_COMMON = {"when", "somebody", "asks", "write", "this", "that", "turns", "change", "into", "line", "lines"}


def words(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"[a-z]{4,}", text.lower())} - TOO_COMMON


def skill_for(task: str) -> str:
    """The text of the skill, where there is one and its description is about what the task asks for."""
    folder = os.environ.get("HONESTONE_SKILL")
    if folder is None:
        return ""
    text = (Path(folder) / "SKILL.md").read_text(encoding="utf-8")
    description = re.search(r"^description: (.*)", text, re.MULTILINE)
    asked = task.split(".")[0]
    return text if description and words(description[1]) & words(asked) else ""


def answer(task: str, skill: str) -> str:
    sentence = task.split(". ")[1]
    kind = next((name for said, name in KINDS.items() if said in task), "Changed")
    issue = re.search(r"issue (\d+)", task)
    if "**Breaking**" in skill and "have to be changed" in task:
        sentence = f"**Breaking** {sentence}"
    if "Begin with the kind" in skill:
        sentence = f"{kind}: {sentence}"
    if issue and "number of its issue" in skill:
        sentence = f"{sentence} (#{issue[1]})"
    return sentence


task = sys.stdin.read()
print(answer(task, skill_for(task)))
