"""A fix that is too greedy, and honestly so: it looks at length alone.

python3 tools/shorten.py 200    drops the longest section, again and again, until at most 200 words are left

Sometimes the longest section is one that nobody misses. Sometimes it is the one that strangers came for. This tool
cannot know; the loop finds out, because every other criterion is measured again, and takes the change back.
"""

import os
import re
import sys
from pathlib import Path


def shortened(page: str, limit: int) -> str:
    opening, *sections = re.split(r"(?m)^(?=## )", page)
    while sections and words(opening + "".join(sections)) > limit:
        sections.remove(max(sections, key=words))
    return (opening + "".join(sections)).rstrip() + "\n"


def words(text: str) -> int:
    return len(text.split())


if __name__ == "__main__":
    path = Path(os.environ["HONESTONE_ARTIFACT"])
    path.write_text(shortened(path.read_text(encoding="utf-8"), int(sys.argv[1])), encoding="utf-8")
