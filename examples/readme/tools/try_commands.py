"""A check: do the commands that the page shows work? Exit 0 is yes.

python3 tools/try_commands.py run       every command ends without an error
python3 tools/try_commands.py output    every command prints what the page shows under it
python3 tools/try_commands.py options   every option that the page names is one that the program has
"""

import os
import sys
from pathlib import Path

from commands import known_options, options_in, run, shown_commands, stage


def problem(page: str, question: str) -> str:
    with stage() as folder:
        if question == "options":
            known = known_options(folder)
            unknown = [name for name in options_in(page) if name not in known]
            return f"no such option: {', '.join(unknown)}" if unknown else ""
        shown = shown_commands(page)
        if not shown:
            return "no command to try"
        for one in shown:
            worked, printed = run(one.command, folder)
            if not worked:
                return f"`{one.command}` does not work: {last_line(printed, folder)}"
            if question == "output" and printed.strip() != one.output.strip():
                return f"`{one.command}` prints: {printed.strip()}"
        return ""


def last_line(printed: str, folder: Path) -> str:
    """What a program complained of, without the paths of this machine."""
    lines = printed.replace(f"{folder}{os.sep}", "").replace(sys.executable, "python3").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it says nothing")


if __name__ == "__main__":
    sys.exit(problem(Path(os.environ["HONESTONE_ARTIFACT"]).read_text(encoding="utf-8"), sys.argv[1]) or 0)
