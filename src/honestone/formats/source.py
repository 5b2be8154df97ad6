"""What a reader gives back: a rubric or a suite, with where it came from and what a person should
know about the reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from honestone.core.errors import UsageError
from honestone.core.judging.rubric import Rubric
from honestone.formats.syntax.marked import Marked

if TYPE_CHECKING:
    from honestone.core.suite.case import Message, Suite


class Loss(Struct, frozen=True, kw_only=True):
    """Something in a foreign file that has no meaning here. Refused unless the person accepts it
    (`--accept-loss`).
    """

    place: str
    message: str
    hint: str | None = None

    def what_to_do(self, dialect: str) -> str:
        return (
            self.hint
            or f"{dialect} can say this and honestone cannot: --accept-loss reads the rest"
        )


class CodeUse(Struct, frozen=True, kw_only=True):
    """A place of a foreign file whose code is run when the suite is: `what` says it in words,
    `file`
    holds the code where it is not in the file itself. It runs only with a person's permission.

    `makes_cases`: prompts or tests come of it, which are not in the suite before it has run.
        Without a `file` these are fetched from a server.
    """

    place: str
    what: str
    file: Path | None = None
    makes_cases: bool = False

    @property
    def is_fetched(self) -> bool:
        return self.makes_cases and self.file is None


class KeyAt(Struct, frozen=True, kw_only=True):
    """A key of a file, and its `file:line:column`; of a value that is in no file only the key."""

    key: str
    place: str | None = None


class WrittenPrompt(Struct, frozen=True, kw_only=True):
    """A prompt as its file has it: its templates, and the file that holds it and nothing else."""

    label: str
    messages: tuple[Message, ...]
    file: Path | None = None


class WrittenCases(Struct, frozen=True, kw_only=True):
    """How a file writes its cases: prompts that the variables of each case fill in, and tables. `defaults` are variables of all cases, `variables` those of each, by its id;
    `tables` the tables of the cases that are rows of one.
    """

    prompts: tuple[WrittenPrompt, ...]
    defaults: Mapping[str, object]
    variables: Mapping[str, Mapping[str, object]]
    tables: Mapping[str, Path]


class SuiteSource(Struct, frozen=True, kw_only=True):
    """A suite as it was read. `dialect` names the format (`honestone`, `agentv-2`, `promptfoo`,
    ...).

    `notes` say which defaults were chosen; `files` are all files that were read, never part of an
    artifact; `base` is the folder that relative paths mean.
    """

    suite: Suite
    dialect: str
    base: Path
    notes: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    files: tuple[Path, ...] = ()
    # `file:line:column` of each case by its id.
    places: Mapping[str, str] = field(default_factory=dict)
    # Code of a foreign file that running the suite runs. That of our own files is a check like any
    # other.
    code: tuple[CodeUse, ...] = ()
    # Why each target that the file names and that is none here was not taken.
    untaken_targets: tuple[str, ...] = ()
    # The first key in a rubric of a case that only a suite may have.
    key_of_suite: KeyAt | None = None
    # Prompts and tables that its cases were filled in from.
    written: WrittenCases | None = None

    @property
    def is_fetched(self) -> bool:
        """Whether some of it is on a server, where it may be another text each time."""
        return any(one.is_fetched for one in self.code)


class ForeignRubric(Struct, frozen=True, kw_only=True):
    """A rubric read from another tool's file. `marks` are marks recorded in the file itself (item
    key to answer).
    """

    rubric: Rubric
    dialect: str
    marked: Marked
    notes: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    marks: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    # How many rounds of improvement the file asks for, where it says so: the default of `--rounds`.
    rounds: int | None = None


class SourceErrors(UsageError):
    """All that is wrong with a file, in its order. Message, place and hint are the first one's."""

    def __init__(self, errors: Sequence[UsageError]) -> None:
        first = errors[0]
        super().__init__(first.message, place=first.place, hint=first.hint)
        self.errors = tuple(errors)


def refuse_losses(losses: Sequence[Loss], dialect: str, *, accepted: bool) -> tuple[str, ...]:
    """The losses as notes when they are accepted. Raises SourceErrors with every one of them when
    not.
    """
    if losses and not accepted:
        raise SourceErrors(
            [
                UsageError(loss.message, place=loss.place, hint=loss.what_to_do(dialect))
                for loss in losses
            ]
        )
    return tuple(f"lost: {loss.place}: {loss.message}" for loss in losses)
