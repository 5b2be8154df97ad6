"""A fix: file names and options that do not exist become the most similar ones that do, wherever they stand."""

import difflib
import os
import re
from pathlib import Path

from commands import known_options, options_in, shown_commands, stage


def renamed(page: str) -> str:
    with stage() as folder:
        files = sorted(path.name for path in folder.iterdir())
        options = sorted(known_options(folder))
        words = {word for one in shown_commands(page) for word in one.command.split()}
        wrong = [word for word in sorted(words) if re.fullmatch(r"[\w-]+\.\w+", word) and word not in files]
        near = {word: difflib.get_close_matches(word, files, n=1) for word in wrong}
        unknown = [word for word in options_in(page) if word not in options]
        near |= {word: difflib.get_close_matches(word, options, n=1, cutoff=0.5) for word in unknown}
    for word, found in near.items():
        if found:
            page = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", found[0], page)
    return page


if __name__ == "__main__":
    path = Path(os.environ["HONESTONE_ARTIFACT"])
    path.write_text(renamed(path.read_text(encoding="utf-8")), encoding="utf-8")
