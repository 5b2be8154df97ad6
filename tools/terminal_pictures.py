"""Records commands in a terminal as SVG pictures for the documentation: `make pictures` writes them
to docs/pictures.

Each command runs in a pseudo-terminal of 100 columns, in the folder of tools/pictures.py, so that
what is shown is what was printed.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from pathlib import Path

import pexpect
from pictures import ROOT, Store
from rich.console import Console
from rich.text import Text

WIDTH = 100
LINES = 40
"""A picture ends after so many lines: what comes first is what decides."""
COMMANDS = {
    "terminal-improve": "honestone show last",
    "terminal-suite": "honestone eval suite.json --target 'cmd:python3 bot.py one' -j 'script:python3 kind.py' -q",
}


def picture(command: str, folder: Path) -> str:
    """The command and the beginning of what it prints, as an SVG without a font or an address of
    another machine.
    """
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    printed = pexpect.run(
        command, cwd=folder, env=environment, dimensions=(LINES, WIDTH), timeout=120
    ).decode()
    lines = printed.replace("\r\n", "\n").splitlines()
    shown = [f"$ {command}", *lines[:LINES], *(["..."] if len(lines) > LINES else [])]
    console = Console(record=True, width=WIDTH + 2, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi("\n".join(shown)))
    svg = console.export_svg(title="honestone", unique_id="terminal")
    return re.sub(r"(?s)\s*@font-face \{.*?\}", "", svg)


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        store = Store(Path(made))
        store.fill()
        for name, command in COMMANDS.items():
            shown = command.replace("show last", f"show {store.runs['belief']}")
            (ROOT / f"docs/pictures/{name}.svg").write_text(
                picture(shown, Path(made)), encoding="utf-8"
            )


if __name__ == "__main__":
    main()
