"""A fix: takes out what only says that something is missing, and sections that are empty then."""

import os
import re
from pathlib import Path

from prose import outside_code

UNFINISHED = re.compile(r"\b(?:TODO|FIXME|TBD|XXX)\b|coming soon|will be added|stay tuned", re.IGNORECASE)


def finished(page: str) -> str:
    page = outside_code(page, _without_unfinished)
    return re.sub(r"(?m)^## .*\n\s*(?=^## |\Z)", "", page).rstrip() + "\n"


def _without_unfinished(text: str) -> str:
    return "".join(_kept(block) for block in re.split(r"(\n{2,})", text))


def _kept(block: str) -> str:
    """A list loses its unfinished points; a paragraph is kept whole or not at all."""
    points = re.split(r"(?m)^(?=[-*] )", block)
    return "".join(point for point in points if not UNFINISHED.search(point))


if __name__ == "__main__":
    path = Path(os.environ["HONESTONE_ARTIFACT"])
    path.write_text(finished(path.read_text(encoding="utf-8")), encoding="utf-8")
