"""A fix: links to files that are not there lead to the file with the most similar name."""

import difflib
import os
import re
from pathlib import Path

from commands import PROJECT


def relinked(page: str) -> str:
    files = sorted(path.name for path in PROJECT.iterdir() if path.is_file())

    def nearest(link: "re.Match[str]") -> str:
        target, hash, anchor = link[2].partition("#")
        if not target or ":" in target or (PROJECT / target).exists():
            return link[0]
        found = difflib.get_close_matches(target, files, n=1, cutoff=0.5)
        return f"{link[1]}({found[0]}{hash}{anchor})" if found else link[0]

    return re.sub(r"(\[[^\]]*\])\(([^)\s]+)\)", nearest, page)


if __name__ == "__main__":
    path = Path(os.environ["HONESTONE_ARTIFACT"])
    path.write_text(relinked(path.read_text(encoding="utf-8")), encoding="utf-8")
