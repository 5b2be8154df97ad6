"""What the rubric asks of the text and no ready-made check answers. Each function gets the text and says yes or no."""

from __future__ import annotations

import re


def opens_with_what_it_is(text: str) -> tuple[bool, str]:
    """Directly under the title stands a paragraph of at most 40 words."""
    body = re.sub(r"\A\s*# .*\n+", "", text)
    first = body.split("\n\n")[0].strip()
    if not first or first.startswith(("#", "```", "- ", "![")):
        return False, "no paragraph under the title"
    return len(first.split()) <= 40, f"the first paragraph has {len(first.split())} words"


def no_empty_section(text: str) -> tuple[bool, str]:
    empty = [title for title, body in sections(text) if not body.strip()]
    return not empty, "empty: " + ", ".join(empty)


def blocks_are_closed(text: str) -> tuple[bool, str]:
    fences = len(re.findall(r"(?m)^```", text))
    return fences % 2 == 0, f"{fences} lines open or close a code block"


def no_wall_of_text(text: str) -> tuple[bool, str]:
    """No paragraph and no point of a list has more than 60 words."""
    parts = re.split(r"\n\n|^[-*] ", prose(text), flags=re.MULTILINE)
    longest = max((len(part.split()) for part in parts), default=0)
    return longest <= 60, f"the longest paragraph has {longest} words"


def nothing_twice(text: str) -> tuple[bool, str]:
    """No sentence of five words or more stands twice."""
    seen: set[str] = set()
    for sentence in re.split(r"(?<=[.!?])\s+|\n\n", prose(text)):
        plain = " ".join(sentence.lower().split())
        if len(plain.split()) >= 5 and plain in seen:
            return False, f"twice: {plain[:60]}"
        seen.add(plain)
    return True, ""


def prose(text: str) -> str:
    """The text without its code blocks."""
    return re.sub(r"(?ms)^```.*?^```[ \t]*$", "", text)


def sections(text: str) -> list[tuple[str, str]]:
    """Every section below the title, with its text."""
    parts = re.split(r"(?m)^## (.*)$", text)
    return list(zip(parts[1::2], parts[2::2]))
