"""A fix: files that SKILL.md names and that are not there become the most similar ones that are."""

import difflib
import re

from commands import PAGE, SKILL, paths_in


def repaired(page: str) -> str:
    there = sorted(path.relative_to(SKILL).as_posix() for path in SKILL.rglob("*") if path.is_file())
    for name in paths_in(page):
        if name not in there:
            near = difflib.get_close_matches(name, there, n=1, cutoff=0.7)
            page = re.sub(rf"(?<![\w/.-]){re.escape(name)}(?![\w-])", near[0], page) if near else page
    return page


if __name__ == "__main__":
    PAGE.write_text(repaired(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
