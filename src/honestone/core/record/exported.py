"""A finished run in the form in which a server of another tool takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from honestone.core.record.langfuse import LangfuseSpan, Score

MlflowCell: TypeAlias = str | int | float | None


class MlflowRun(Struct, frozen=True, kw_only=True):
    """`known_by` is the tag by which a run that is there already is found. `began` and `ended` are
    milliseconds since 1970. `table` has one list for each column, all of the same length.
    """

    experiment: str
    name: str
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    known_by: str
    table: Mapping[str, list[MlflowCell]]
    report: str
    began: int
    ended: int


class LangfuseTraces(Struct, frozen=True):
    """`spans`: of OTLP in its JSON form, the spans of one trace next to each other. `scores`:
    bodies
        of POST /api/public/scores.
    """

    spans: list[LangfuseSpan]
    scores: list[Score]
    resource: Mapping[str, str]
    scope: tuple[str, str]

    @property
    def traces(self) -> int:
        return len({str(span["traceId"]) for span in self.spans})
