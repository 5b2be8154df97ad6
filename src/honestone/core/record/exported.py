"""A finished run in the form in which a server of another tool takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

from msgspec import Struct

from honestone.core.json_value import Json

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


class Attribute(TypedDict):
    """One attribute of a span; its value is wrapped by its type, as in `{"stringValue": "a"}`."""

    key: str
    value: Json


class Parent(TypedDict, total=False):
    """The span that a span is a part of, where there is one."""

    parentSpanId: str


class LangfuseSpan(Parent):
    """A span of OTLP as JSON: ids in hexadecimal, moments in nanoseconds since 1970, as text."""

    traceId: str
    spanId: str
    name: str
    kind: int
    startTimeUnixNano: str
    endTimeUnixNano: str
    attributes: Sequence[Attribute]


class Owner(TypedDict, total=False):
    """What a score is of: a trace or a session."""

    traceId: str
    sessionId: str


class ScoreAbout(TypedDict, total=False):
    """What a score was made of: that of a criterion also says what each judge gave and how it
    counts.
    """

    by_judge: Mapping[str, float | None]
    weight: float
    required: bool
    floor: float
    attempt: int
    counts: bool


class LangfuseNotes(TypedDict, total=False):
    """What is said about a score."""

    comment: str
    metadata: ScoreAbout


class Score(Owner, LangfuseNotes):
    """A score of a trace, or of a session; a number from 0 to 1, or a word."""

    id: str
    name: str
    value: float | str
    dataType: str
    timestamp: str


class LangfuseTraces(Struct, frozen=True):
    """`spans`: of OTLP in its JSON form, the spans of one trace next to each other. `scores`:
    bodies of POST /api/public/scores.
    """

    spans: list[LangfuseSpan]
    scores: list[Score]
    resource: Mapping[str, str]
    scope: tuple[str, str]

    @property
    def traces(self) -> int:
        return len({str(span["traceId"]) for span in self.spans})
