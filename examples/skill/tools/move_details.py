"""A fix: moves the longest sections that no step needs to pages under references/ until SKILL.md is short enough.

python3 tools/move_details.py 300    at most 300 words stay; steps, code and what says when stay where they are
"""

import re
import sys

from commands import PAGE, SKILL


def movable(section: str) -> bool:
    return not re.match(r"## (When (not )?to use|Steps)", section) and "```" not in section


def moved(page: str, limit: int) -> str:
    while len(page.split()) > limit:
        sections = [part for part in re.split(r"(?m)^(?=## )", page)[1:] if movable(part)]
        longest = max(sections, key=lambda part: len(part.split()), default="")
        if len(longest.split()) < 20:  # a link in its place would be as long
            break
        title, _, body = longest.partition("\n")
        name = "-".join(re.findall(r"[a-z0-9]+", title.lower())) + ".md"
        target = SKILL / "references" / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(f"# {title[3:]}\n\n{body.strip()}\n".replace("](references/", "]("), encoding="utf-8")
        page = page.replace(longest, f"{title}\n\nSee [{title[3:].lower()}](references/{name}).\n\n")
    return page.rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(moved(PAGE.read_text(encoding="utf-8"), int(sys.argv[1])), encoding="utf-8")
