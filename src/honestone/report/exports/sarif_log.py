"""The parts of a SARIF 2.1.0 log that are written here, as its standard names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict


class SarifMessage(TypedDict):
    """Words for a person."""

    text: str


class Region(TypedDict, total=False):
    """Lines and columns count from 1, columns in code points; the end column is after the last one."""

    startLine: int
    startColumn: int
    endLine: int
    endColumn: int
    snippet: SarifMessage


class ArtifactLocation(TypedDict):
    """A file."""

    uri: str


class PhysicalLocation(TypedDict):
    """A place in a file."""

    artifactLocation: ArtifactLocation
    region: Region


class LogicalLocation(TypedDict):
    """A case of a suite."""

    name: str
    fullyQualifiedName: str
    kind: str


class Location(TypedDict):
    """Where a result is."""

    physicalLocation: PhysicalLocation
    logicalLocations: NotRequired[Sequence[LogicalLocation]]


class SarifRule(TypedDict):
    """An item of a rubric."""

    id: str
    shortDescription: SarifMessage


class SarifProperties(TypedDict, total=False):
    """What a result is about: an item with how judges voted, or a case."""

    criterion: str
    item: str
    votes: str
    case: str


class SarifResult(TypedDict):
    """An item that is unmet or could not be judged."""

    ruleId: str
    ruleIndex: int
    kind: str
    level: str
    message: SarifMessage
    locations: Sequence[Location]
    properties: SarifProperties
    relatedLocations: NotRequired[Sequence[Location]]


class Notification(TypedDict):
    """What a reader must know before the results."""

    level: str
    message: SarifMessage


class Invocation(TypedDict):
    """How the run went."""

    executionSuccessful: bool
    toolExecutionNotifications: Sequence[Notification]


class Driver(TypedDict):
    """The program and its rules."""

    name: str
    version: str
    rules: Sequence[SarifRule]


class SarifTool(TypedDict):
    """The program that wrote the log."""

    driver: Driver


class Run(TypedDict):
    """All results of one command."""

    tool: SarifTool
    columnKind: str
    results: Sequence[SarifResult]
    invocations: NotRequired[Sequence[Invocation]]
