"""The words that options and fields of files take alike, each list once."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias, get_args

# What one call to a judge covers.
Ask: TypeAlias = Literal["rubric", "criterion", "item"]
# What a judge's quote that is not found in the text does to its answer.
Evidence: TypeAlias = Literal["warn", "require", "off"]
# What a program runs in; `auto` is the first sandbox that works here, `require` refuses to run
# without one.
SandboxChoice: TypeAlias = Literal["auto", "require", "bwrap", "landlock", "none"]
SANDBOX_CHOICES: Final[tuple[SandboxChoice, ...]] = get_args(SandboxChoice)
# How a worker's edit ended.
Ending: TypeAlias = Literal["exited", "timeout", "denied", "crashed"]


class Pack(StrEnum):
    """What of an artifact is shown that does not fit: nothing, the beginning of each file, or
    headings of the largest.
    """

    NONE = "none"
    HEAD = "head"
    OUTLINE = "outline"
