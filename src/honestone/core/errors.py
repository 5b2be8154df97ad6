"""The errors that reach a person, and the exit code each one ends a command with.

    HonestoneError
    ├── UsageError                 2  what was asked cannot be done as asked; nothing was spent
    │   ├── FileError              2  a file is missing, unreadable, too large, not text
    │   ├── ProgramMissing         2  a program that a check runs by is not installed here
    │   ├── RubricError            2  a rubric breaks a rule of the format or of arithmetic
    │   ├── SettingsError          2  a setting or a judge, worker or target name is wrong
    │   ├── StoreError             2  the store cannot be read or written
    │   ├── ContractMismatch       2  two things were judged under different contracts
    │   └── CommandRefused         2  a program that whoever asks may not have run
    ├── CouldNotJudge              3  nothing could be judged at all, so no verdict is given
    ├── StoreAway                  3  a shared store did not answer for too long; the same command resumes
    └── Interrupted              130  stopped by the person; the same command resumes

A judge, worker or target that fails is not an error: it is data (an abstention, an outcome).
Our own bugs are ordinary Python exceptions and are meant to crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class HonestoneError(Exception):
    """Something a person has to know. `place` is `file:line:column`, `hint` says what to do.

    `errors` are those of a whole file, where one error stands for several.
    """

    exit_code: ClassVar[int] = 2
    errors: Sequence[HonestoneError] = ()

    def __init__(self, message: str, *, place: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.hint = hint
        if hint:
            self.add_note(hint)  # a Python session and pytest show it below the message

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.message}"


class UsageError(HonestoneError):
    """What was asked cannot be done as asked. Nothing was spent."""


class FileError(UsageError):
    """A file is missing, unreadable, empty, too large or not text."""


class ProgramMissing(UsageError):
    """A program is not installed on this machine. The file that names it may be right."""


class RubricError(UsageError):
    """A rubric breaks a rule. `path` leads to the offending value: ("criteria", 0, "weight")."""

    def __init__(
        self,
        message: str,
        *,
        path: tuple[str | int, ...] = (),
        place: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, place=place, hint=hint)
        self.path = path


class SettingsError(UsageError):
    """A setting, or the name of a judge, worker or target, is wrong."""


class StoreError(UsageError):
    """The store cannot be opened, read or written."""


class NoStoreError(StoreError):
    """No run was made here yet, so no store has been made."""


class ContractMismatch(UsageError):
    """Two things were judged under different contracts."""


class CommandRefused(UsageError):
    """A program or an address that whoever asks may not have used."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is not allowed here: it can run a program, contact an address or read a file of its own choosing",
            hint="a person allows it by starting the server with: honestone agent mcp --allow-commands",
        )


class CouldNotJudge(HonestoneError):
    """Nothing could be judged, so no verdict is given."""

    exit_code = 3


class StoreAway(HonestoneError):
    """A shared store that had answered did not answer again in time. The same command resumes when
    it does.
    """

    exit_code = 3


class RunCancelled(HonestoneError):
    """Somebody ended the run with `honestone runs cancel`. It is not resumed."""

    exit_code = 130


class Interrupted(HonestoneError):
    """Stopped by the person. The same command resumes where this one stopped."""

    exit_code = 130
