"""The person at the terminal, for doors that have one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from honestone.adapters.people.form import TerminalPerson


def terminal_person(drafts: Path) -> TerminalPerson:
    """Asked only when a judge or worker is called `human`. `drafts` is the folder of unfinished forms."""
    from honestone.adapters.people.form import TerminalPerson

    return TerminalPerson(drafts)
