"""A fix: no blanks at the ends of lines, no tabs to indent with, one line break at the end of a file."""

import os
from pathlib import Path


def tidy(text):
    lines = [line.rstrip() for line in text.splitlines()]
    lines = [line[: len(line) - len(line.lstrip())].expandtabs(4) + line.lstrip() for line in lines]
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    for path in sorted(Path(os.environ["HONESTONE_ARTIFACT"]).rglob("*.py")):
        path.write_text(tidy(path.read_text(encoding="utf-8")), encoding="utf-8")
