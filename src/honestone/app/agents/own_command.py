"""What calls honestone in a shell that another program starts: an agent's, which may have another
PATH than this process.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from honestone.app.agents.hosts import NAME
from honestone.core.errors import FileError


def own_command(folder: Path) -> str:
    """Words for a POSIX shell, to be followed by arguments.

    `honestone` where it is on PATH. Else the shell looks for that, and takes the path that `agent
    install --command` named for the folder, one above it or the person's home, or that of this
    program. A command of several words, such as `uvx honestone`, is taken as it was named.
    """
    *_, where_not_on_path = forms = _forms(folder)
    return NAME if NAME in forms and shutil.which(NAME) else where_not_on_path


def checked_command(found: object, folder: Path) -> str:
    """Words from a file that an agent's workspace holds, if they are ours for this folder, whatever
    PATH was when they were written; else ours.
    """
    # The hook asks this each time that a session stops: most words need no record to be known.
    if found in _forms_of(_this_program()) or found in _forms(folder):
        return str(found)
    return own_command(folder)


def _forms(folder: Path) -> tuple[str, ...]:
    """What the command may be, by what is on PATH."""
    return _forms_of(_command_in_settings(folder) or _this_program())


def _forms_of(named: str) -> tuple[str, ...]:
    if len(shlex.split(named)) > 1:
        return (named,)
    return (NAME, f'"$(command -v {NAME} || echo {named})"')


def _command_in_settings(folder: Path) -> str | None:
    """The command from the person's own records, and not from files of a project, which someone
    else may have written.
    """
    from honestone.app.agents.file_changes import load_record

    for base in (folder, *folder.parents, Path.home()):
        with suppress(FileError):
            record = load_record(base)
            if record is not None and record.command is not None:
                return record.command
    return None


def _this_program() -> str:
    # -P: it starts in the folder of a project, and a module of that folder must not answer for one
    # of ours.
    script = Path(sys.executable).with_name(NAME)
    return shlex.join([str(script)] if script.exists() else [sys.executable, "-P", "-m", NAME])
