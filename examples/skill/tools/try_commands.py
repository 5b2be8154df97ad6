"""A check: does what SKILL.md shows work? Exit 0 is yes.

python3 tools/try_commands.py run       every command ends without an error
python3 tools/try_commands.py output    every command prints what is shown under it
python3 tools/try_commands.py files     every file that is named is there
python3 tools/try_commands.py help      every script answers --help
"""

import os
import sys
from pathlib import Path

from commands import PAGE, paths_in, run, shown_commands, stage


def problem(page: str, question: str) -> str:
    with stage() as folder:
        if question == "files":
            missing = [name for name in paths_in(page) if not (folder / name).is_file()]
            return f"not there: {', '.join(missing)}" if missing else ""
        if question == "help":
            scripts = sorted(path.relative_to(folder).as_posix() for path in folder.glob("scripts/*.py"))
            silent = [name for name in scripts if not run(f"python3 {name} --help", folder)[0]]
            return f"no answer to --help: {', '.join(silent)}" if silent else ""
        for one in shown_commands(page):
            worked, printed = run(one.command, folder)
            if not worked:
                return f"`{one.command}` does not work: {last_line(printed, folder)}"
            if question == "output" and printed.strip() != one.output.strip():
                return f"`{one.command}` prints something else: {printed.split(chr(10))[0]} ..."
        return ""


def last_line(printed: str, folder: Path) -> str:
    """What a program complained of, without the paths of this machine."""
    lines = printed.replace(f"{folder}{os.sep}", "").replace(sys.executable, "python3").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it says nothing")


if __name__ == "__main__":
    sys.exit(problem(PAGE.read_text(encoding="utf-8"), sys.argv[1]) or 0)
