"""How risky an edit of a skill is, and what kind of edit it is: computed from the bytes, never from what is said of it.

low       text of Markdown files only
medium    SKILL.md's front matter changed (when the skill is loaded), files removed, other text files
high      anything executable, code, a file that cannot be read, what the skill may use, a command that loading it runs
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from honestone.core.artifact import Entry, Version, as_text
from honestone.core.skill.front_matter import entries, is_plain, split
from honestone.core.skill.skill_file import SKILL_FILE


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


_ORDER: Final = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)

_MARKDOWN: Final = (".md", ".markdown")
_TEXT: Final = (".txt", ".rst", ".csv", ".tsv", ".json", ".yaml", ".yml", ".toml", ".svg", ".xml")
_DATA_THAT_RUNS: Final = frozenset({"package.json", "pyproject.toml", "settings.json", "hooks.json", "mcp.json"})
_POWERS: Final = re.compile(r"allowed|tools|hooks|permission|mcp|command|agent|model", re.IGNORECASE)
"""Keys of front matter that say what a skill may use or run."""
_RUNS_WHEN_LOADED: Final = re.compile(r"^[ \t>*-]*!`|[ \t(]!`[^`\n]+`", re.MULTILINE)
"""Agent CLIs run such a command when they load the text."""


def risk_of(old: Version, new: Version) -> Risk:
    """The risk of the riskiest file that differs; low where nothing does."""
    return worst(_risk_of_file(path, old.files.get(path), new.files.get(path)) for path in touched(old, new))


def worst(risks: Iterable[Risk]) -> Risk:
    return max(risks, key=_ORDER.index, default=Risk.LOW)


def touched(old: Version, new: Version) -> list[str]:
    paths = sorted({*old.files, *new.files})
    return [path for path in paths if old.files.get(path) != new.files.get(path)]


def _risk_of_file(path: str, old: Entry | None, new: Entry | None) -> Risk:
    if any(entry is not None and _is_code(path, entry) for entry in (old, new)):
        return Risk.HIGH
    if new is None:
        return Risk.MEDIUM
    if not path.lower().endswith(_MARKDOWN):
        return Risk.MEDIUM
    before, after = (as_text(entry.data) or "" if entry is not None else "" for entry in (old, new))
    if len(_RUNS_WHEN_LOADED.findall(after)) > len(_RUNS_WHEN_LOADED.findall(before)):
        return Risk.HIGH
    return _risk_of_front_matter(path, before, after)


def _is_code(path: str, entry: Entry) -> bool:
    """Executable, a program by its first line, no text, or a kind of file that is not known to be only text."""
    name = path.rpartition("/")[2].lower()
    if entry.executable or entry.data.startswith(b"#!") or as_text(entry.data) is None:
        return True
    return name in _DATA_THAT_RUNS or not (name.endswith((*_MARKDOWN, *_TEXT)) or name in ("license", "notice"))


def _risk_of_front_matter(path: str, before: str, after: str) -> Risk:
    old, new = split(before).block or "", split(after).block or ""
    if old == new and _opens(before) == _opens(after):
        return Risk.LOW
    if not is_plain(old) or not is_plain(new):
        return Risk.HIGH
    was, now = entries(old), entries(new)
    changed = {key for key in {*was, *now} if was.get(key, "").strip() != now.get(key, "").strip()}
    if any(_POWERS.search(key) for key in changed):
        return Risk.HIGH
    return Risk.MEDIUM if path == SKILL_FILE else Risk.LOW


def _opens(text: str) -> bool:
    """Whether it begins as front matter does, also where that never ends."""
    return text.removeprefix("\ufeff").startswith("---")


class Category(StrEnum):
    """The original's kinds of edits."""

    DOCS = "docs"
    REFERENCE = "reference"
    GUARDRAIL = "guardrail"
    PROMPT = "prompt"
    WORKFLOW = "workflow"
    TESTS = "tests"


NOT_KEPT_ALONE: Final = frozenset({Category.PROMPT, Category.WORKFLOW, Category.TESTS})
"""What a person decides about, whatever the risk."""

_TEST_FOLDERS: Final = frozenset({"tests", "test", "fixtures", "evals"})
_GUARD: Final = re.compile(
    r"\b(?:never|must not|do not|don't|not to use|limit(?:s|ations?)?|guard ?rails?|anti-?patterns?|safety|avoid)\b",
    re.IGNORECASE,
)


def category_of(old: Version, new: Version) -> Category:
    """From what changed, the most consequential first: code is workflow, SKILL.md's front matter is prompt, then tests,
    then references alone, then rules about what not to do, else docs."""
    paths = touched(old, new)
    code = any(_is_code(path, entry) for path in paths for entry in _both(path, old, new))
    if code or any(path.split("/")[0] == "scripts" for path in paths):
        return Category.WORKFLOW
    if _front(old) != _front(new):
        return Category.PROMPT
    if any(_TEST_FOLDERS & set(path.split("/")[:-1]) for path in paths):
        return Category.TESTS
    if paths and all(path.split("/")[0] in ("references", "reference") for path in paths):
        return Category.REFERENCE
    added = _added_lines(old, new)
    if added and 2 * sum(1 for line in added if _GUARD.search(line)) > len(added):
        return Category.GUARDRAIL
    return Category.DOCS


def _both(path: str, old: Version, new: Version) -> list[Entry]:
    return [entry for entry in (old.files.get(path), new.files.get(path)) if entry is not None]


def _front(version: Version) -> str | None:
    entry = version.files.get(SKILL_FILE)
    return split(as_text(entry.data) or "").block if entry is not None else None


def _added_lines(old: Version, new: Version) -> list[str]:
    """The lines with words that are in the new text of a file and not in the old."""
    found = []
    for path in touched(old, new):
        known = set(old.texts.get(path, "").splitlines())
        lines = new.texts.get(path, "").splitlines()
        found += [line for line in lines if line not in known and re.search(r"\w", line)]
    return found
