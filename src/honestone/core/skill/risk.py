"""How risky an edit of a skill is, and what kind of edit it is: computed from the bytes, never from
what is said of it.

low       text of Markdown files only
medium    SKILL.md's front matter changed (when the skill is loaded), files removed, other text files
high      anything executable, code, a file that cannot be read, what the skill may use, a command that loading it runs
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Final

from honestone.core.artifact import Entry, Version, as_text
from honestone.core.editing.proposal import touched
from honestone.core.json_value import late_pattern
from honestone.core.skill.skill_file import SKILL_FILE, entries, is_plain, split


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


_ORDER: Final = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)

_MARKDOWN: Final = (".md", ".markdown")
_TEXT: Final = (".txt", ".rst", ".csv", ".tsv", ".json", ".yaml", ".yml", ".toml", ".svg", ".xml")
_DATA_THAT_RUNS: Final = frozenset(
    {"package.json", "pyproject.toml", "settings.json", "hooks.json", "mcp.json"}
)
# Keys of front matter that say what a skill may use or run.
_POWERS: Final = late_pattern(
    r"allowed|tools|hooks|permission|mcp|command|agent|model", re.IGNORECASE
)
# Agent CLIs run such a command when they load the text.
_RUNS_WHEN_LOADED: Final = late_pattern(r"^[ \t>*-]*!`|[ \t(]!`[^`\n]+`", re.MULTILINE)


def risk_of(old: Version, new: Version) -> Risk:
    """The risk of the riskiest file that differs; low where nothing does."""
    return worst(
        _risk_of_file(path, old.files.get(path), new.files.get(path)) for path in touched(old, new)
    )


def worst(risks: Iterable[Risk]) -> Risk:
    return max(risks, key=_ORDER.index, default=Risk.LOW)


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
    """Executable, a program by its first line, no text, or a kind of file that is not known to be
    only text.
    """
    name = path.rpartition("/")[2].lower()
    if entry.executable or entry.data.startswith(b"#!") or as_text(entry.data) is None:
        return True
    return name in _DATA_THAT_RUNS or not (
        name.endswith((*_MARKDOWN, *_TEXT)) or name in ("license", "notice")
    )


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


# What a person decides about, whatever the risk.
NEEDS_A_PERSON: Final = frozenset({Category.PROMPT, Category.WORKFLOW, Category.TESTS})

_TEST_FOLDERS: Final = frozenset({"tests", "test", "fixtures", "evals"})
_GUARD: Final = late_pattern(
    r"\b(?:never|must not|do not|don't|not to use|limit(?:s|ations?)?|guard ?rails?|anti-?patterns?|safety|avoid)\b",
    re.IGNORECASE,
)


def category_of(old: Version, new: Version) -> Category:
    """From what changed, the most consequential first: code is workflow, SKILL.md's front matter is
    prompt, then tests, then references alone, then rules about what not to do, else docs.
    """
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
    added = []
    for path in touched(old, new):
        known = set(old.texts.get(path, "").splitlines())
        lines = new.texts.get(path, "").splitlines()
        added += [line for line in lines if line not in known and re.search(r"\w", line)]
    return added


# A score of 6 or more speaks for a candidate.
FOR_FROM: Final = Fraction(6)
REJECTED_BELOW: Final = Fraction(4)
# What `rank` without judges gives a candidate whose plan can be applied: no judge has said anything
# against it.
UNJUDGED: Final = Fraction(7)
# Shown next to the score, never taken from it.
RISK_PENALTY: Final = {Risk.LOW: Fraction(0), Risk.MEDIUM: Fraction(3, 2), Risk.HIGH: Fraction(3)}

_NEAR: Final = Fraction(1)


class Label(StrEnum):
    CONSENSUS = "CONSENSUS"
    VERIFIED = "VERIFIED"
    SPLIT = "SPLIT"
    DISPUTED = "DISPUTED"


class Recommendation(StrEnum):
    ACCEPT = "accept_for_execution"
    HOLD = "hold"
    REJECT = "reject"


def label_of(scores: Sequence[Fraction]) -> Label | None:
    """The label for the judges' scores, which are 0 to 10; None without any."""
    if not scores:
        return None
    in_favour = sum(1 for score in scores if score >= FOR_FROM)
    if in_favour in (0, len(scores)):
        return Label.CONSENSUS if max(scores) - min(scores) <= _NEAR else Label.VERIFIED
    return Label.SPLIT if 2 * in_favour == len(scores) else Label.DISPUTED


def mean_of(scores: Sequence[Fraction]) -> Fraction | None:
    return sum(scores, Fraction(0)) / len(scores) if scores else None


def recommendation_of(score: Fraction | None, label: Label | None) -> Recommendation:
    """`score` None: no judge could score it. `label` None with a score: no judge was asked.

    Accepted when the score speaks for it and the panel is not divided; rejected below 4, or when
    all are against it.
    """
    if score is None:
        return Recommendation.REJECT
    if score < REJECTED_BELOW:
        return Recommendation.REJECT
    divided = label in (Label.SPLIT, Label.DISPUTED)
    if score < FOR_FROM:
        return Recommendation.HOLD if divided else Recommendation.REJECT
    return Recommendation.HOLD if divided else Recommendation.ACCEPT


def notes_about(risk: Risk, category: Category) -> list[str]:
    """What will happen to it at the gate, in words."""
    if risk is Risk.LOW and category not in NEEDS_A_PERSON:
        return ["low risk: it is kept when its evaluation passes"]
    return [f"{risk} risk, category {category}: a person decides, also when its evaluation passes"]
