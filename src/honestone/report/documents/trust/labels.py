"""`honestone.labels/1`: what a person answered in one session of `label`."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

LABELS: Final = "honestone.labels/1"


class LabelsDoc(Struct, frozen=True, kw_only=True):
    """One session.

    `labels`: the file that the answers are kept in
    `answered`: answers kept in this session
    `open`: questions that this rater has not answered yet
    """

    schema: str = LABELS
    labels: str
    rater: str
    answered: int
    open: int
