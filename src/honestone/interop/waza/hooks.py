"""waza's hooks: commands before and after every task, which run in the folder of the evaluation
with permission.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from honestone.formats.reader import FileEntry, words
from honestone.interop.reader import Formats

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables

_BEFORE: Final = words("before_run before_task")
_AFTER: Final = words("after_task after_run")


def read_hooks(top: FileEntry) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Command lines before and after every task, in the order in which they run."""
    hooks = top.mapping("hooks", TABLES["hooks"])
    if hooks is None:
        return (), ()
    if "before_run" in hooks or "after_run" in hooks:
        top.note(
            "waza: `before_run` and `after_run` run for every task here, each of which stands alone"
        )
    before, after = (
        tuple(line for name in names for line in _lines(hooks, name)) for names in (_BEFORE, _AFTER)
    )
    return before, after


def _lines(hooks: FileEntry, name: str) -> Iterator[str]:
    for at in hooks.mappings(name, TABLES["hook"]):
        command = at.text("command")
        folder, fails = at.text("working_directory") or ".", at.flag("error_on_fail")
        codes = at.texts("exit_codes") or ["0"]
        if not all(code.isascii() and code.isdigit() for code in codes):
            at.problem("`exit_codes` must be whole numbers", "exit_codes")
        elif command is not None:
            at.reading.runs(f"the hook `{command[:60]}`", at.path)
            # waza splits the line at white space and starts no shell for it.
            line = f'(cd "$HONESTONE_SUITE" && cd {shlex.quote(folder)} && {shlex.join(command.split())})'
            ended = f"case $? in {'|'.join(codes)}) ;; *) exit 1;; esac" if fails else "true"
            yield shlex.join(["sh", "-c", f"{line}; {ended}"])
