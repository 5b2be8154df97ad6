"""A fix: makes the name a valid one, lets the description say when to use the skill, and cuts it to whole sentences.

python3 tools/fix_front_matter.py 300    the description has at most 300 characters
"""

import re
import sys

from commands import PAGE


def repaired(page: str, limit: int) -> str:
    head = re.match(r"---\n(.*?)\n---\n", page, re.DOTALL)
    if not head:
        return page
    lines = [_line(line, page[head.end() :], limit) for line in head[1].splitlines()]
    return "---\n" + "\n".join(lines) + "\n---\n" + page[head.end() :]


def _line(line: str, body: str, limit: int) -> str:
    key, colon, value = line.partition(":")
    if key.strip() == "name":
        return f"name: {'-'.join(re.findall(r'[a-z0-9]+', value.lower()))[:64].strip('-')}"
    if key.strip() == "description":
        return f"description: {_description(value.strip(), body, limit)}"
    return line


def _description(text: str, body: str, limit: int) -> str:
    """Whole sentences from the start, as many as there is room for beside the one that says when."""
    when = "" if re.search(r"\buse (it |this )?when\b", text, re.IGNORECASE) else _when(body)
    kept = ""
    for sentence in re.split(r"(?<=[.!?]) ", text):
        if len(f"{kept} {sentence} {when}".strip()) > limit:
            break
        kept = f"{kept} {sentence}".strip()
    return f"{kept} {when}".strip()


def _when(body: str) -> str:
    """The first sentence of the body that says when to use it."""
    found = re.search(r"(?ms)^Use (?:it |this )?when\b.*?[.](?=\s|\Z)", body)
    return " ".join(found[0].split()) if found else ""


if __name__ == "__main__":
    PAGE.write_text(repaired(PAGE.read_text(encoding="utf-8"), int(sys.argv[1])), encoding="utf-8")
