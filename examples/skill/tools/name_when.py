"""A fix: paragraphs that say when to use the skill, and when not, get headings of their own."""

import re

from commands import PAGE

HEADINGS = {"## When to use it": r"(?m)^Use (?:it |this )?when\b", "## When not to use it": r"(?m)^Do not use\b"}


def with_headings(page: str) -> str:
    for heading, opening in HEADINGS.items():
        found = re.search(opening, page)
        if found and heading not in page:
            page = f"{page[: found.start()]}{heading}\n\n{page[found.start() :]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(with_headings(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
