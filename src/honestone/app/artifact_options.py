"""The options of `eval` for artifacts and for tables of texts. They are here so that a suite, whose
command declares them too, loads no code that judges artifacts.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from honestone.app.judging.judging_options import AcceptLoss, Locked
from honestone.app.options import BY_COMMAND, Option, require_valid


class ArtifactOptions(Struct, frozen=True, kw_only=True):
    """The options of `eval ARTIFACT` other than those of judging."""

    gate_only: Annotated[bool, Option("Stop asking judges once the verdict cannot change.")] = False
    input: Annotated[str | None, Option("The input that a target gets. [the artifact's text]")] = (
        None
    )
    reference: Annotated[str | None, Option("A reference answer that judges see.")] = None
    staged: Annotated[
        bool, Option("Judge what is staged in git, as the next commit would have it.")
    ] = False
    accept_loss: Annotated[AcceptLoss, BY_COMMAND] = False
    locked: Annotated[Locked, BY_COMMAND] = False


class TextOptions(Struct, frozen=True, kw_only=True):
    """The options of `eval TABLE --text COLUMN` besides those of judging. `--input` and
    `--reference` name columns there too.
    """

    text: Annotated[
        str | None,
        Option("The column of a table whose texts are judged, a row each.", metavar="COLUMN"),
    ] = None
    id: Annotated[
        str | None,
        Option("The column with the ids of the texts. [the row's number]", metavar="COLUMN"),
    ] = None
    group: Annotated[
        str | None,
        Option("The column by which texts are counted in groups, too.", metavar="COLUMN"),
    ] = None
    input_text: Annotated[
        str | None, Option("The same input for all texts of a table.", metavar="TEXT")
    ] = None
    max_rows: Annotated[
        int | None, Option("Judge the first rows of a table only.", min=1, metavar="N")
    ] = None

    def __post_init__(self) -> None:
        """Raises UsageError for what no command line would accept."""
        require_valid(self, TextOptions)
