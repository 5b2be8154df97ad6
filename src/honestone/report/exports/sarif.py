"""Reports as SARIF 2.1.0, for code hosts: what is not met, at the file and line that its evidence
names.

A result is an unmet item. Its place is the first quote that the text holds, else the `FILE:LINE` of
a check's note, else the first line of the artifact. What could not be judged is a result of the
kind `open`. Lines and columns count from 1, columns in code points.
"""

from __future__ import annotations

import json
import urllib.parse
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath, PurePosixPath
from typing import Final

from msgspec import Struct, field

from honestone import __version__
from honestone.core.json_value import late_pattern
from honestone.report.documents.scorecard import (
    CriterionDoc,
    ItemDoc,
    QuoteDoc,
    ScorecardDoc,
    items_of,
    warning_words,
)
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc
from honestone.report.exports.sarif_log import (
    Driver,
    Location,
    LogicalLocation,
    Notification,
    Region,
    Run,
    SarifProperties,
    SarifResult,
    SarifRule,
)
from honestone.system.drawing import line

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_NAMED: Final = late_pattern(r"(?:^|[\s(`'\"])(?P<file>[^\s:()`'\"]+):(?P<line>[1-9]\d{0,6})\b")


class SarifSource(Struct, frozen=True):
    """A scorecard and the texts that were judged, by their paths in the artifact; the path "" is
    the artifact itself.

    The texts are in the order in which quotes were looked up in them, as if one line break were
    between two.
    """

    doc: ScorecardDoc
    texts: Mapping[str, str] = field(default_factory=dict)


def scorecards_sarif(sources: Iterable[SarifSource]) -> str:
    """One SARIF log with one run for all artifacts."""
    log = _Log()
    for source in sources:
        log.warn(source.doc.artifact.name, source.doc.warnings)
        places = _Places(source)
        for criterion, item in items_of(source.doc.criteria):
            log.add(criterion, item, places, fails=source.doc.verdict == "fail")
    return log.text


def suite_sarif(doc: SuiteReportDoc) -> str:
    """Unmet items of cases that did not pass, at the suite's file; the case is the logical
    location.
    """
    log = _Log()
    log.warn(doc.name, doc.warnings)
    for case in doc.cases:
        if case.status in ("passed", "skipped"):
            continue
        places = _CasePlace(doc.suite.path, case)
        for criterion, item in items_of(case.criteria):
            log.add(criterion, item, places, fails=doc.verdict == "fail")
        if case.error:
            log.add_error(case, places)
    return log.text


class _Log:
    """Rules and results as they come; a rule is an item of a rubric."""

    def __init__(self) -> None:
        self._rules: dict[str, SarifRule] = {}
        self._numbers: dict[str, int] = {}
        self._results: list[SarifResult] = []
        self._warnings: list[Notification] = []

    def warn(self, name: str, warnings: Iterable[tuple[str, str]]) -> None:
        """What a reader must know before the verdict on something with this name."""
        messages = (f"{name}: {words}" for words in warning_words(warnings))
        self._warnings += [{"level": "warning", "message": {"text": words}} for words in messages]

    def add(
        self, criterion: CriterionDoc, item: ItemDoc, places: _Places | _CasePlace, *, fails: bool
    ) -> None:
        """An item that is unmet, or that has no answer. Others are not findings."""
        if not criterion.applies or not (item.is_problem or item.is_unanswered):
            return
        if item.is_unanswered:
            text, kind, level = (
                f"could not be judged: {item.asked} ({line(item.note or 'no answer')})",
                "open",
                "none",
            )
        else:
            outcome = "incurs a penalty" if criterion.is_penalty else "not met"
            text, kind, level = (
                f"{outcome}: {_finding_text(item)}",
                "fail",
                "error" if fails else "warning",
            )
        rule = f"{line(criterion.id)}/{line(item.id)}"
        place = places.of(item)
        about: SarifProperties = {"criterion": line(criterion.id), "item": line(item.id)}
        if item.vote_words:
            about["votes"] = item.vote_words
        self._put(rule, item.asked, text, kind, level, place, about)

    def add_error(self, case: CaseDoc, places: _CasePlace) -> None:
        text = f"could not be judged: {line(case.error or '')}"
        self._put(
            "target",
            "The target gives an output",
            text,
            "open",
            "none",
            places.of(None),
            {"case": case.name},
        )

    def _put(
        self,
        rule: str,
        about: str,
        text: str,
        kind: str,
        level: str,
        locations: Sequence[Location],
        properties: SarifProperties,
    ) -> None:
        self._rules.setdefault(rule, {"id": rule, "shortDescription": {"text": about}})
        result: SarifResult = {
            "ruleId": rule,
            "ruleIndex": self._numbers.setdefault(rule, len(self._numbers)),
            "kind": kind,
            "level": level,
            "message": {"text": text},
            "locations": list(locations[:1]),
            "properties": properties,
        }
        if others := locations[1:]:
            result["relatedLocations"] = list(others)
        self._results.append(result)

    @property
    def text(self) -> str:
        driver: Driver = {
            "name": "honestone",
            "version": __version__,
            "rules": list(self._rules.values()),
        }
        run: Run = {
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "results": self._results,
        }
        if self._warnings:
            run["invocations"] = [
                {"executionSuccessful": True, "toolExecutionNotifications": self._warnings}
            ]
        return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _finding_text(item: ItemDoc) -> str:
    """The question, who said no, and what each suggests."""
    advice = "; ".join(line(one.text, 400) for one in item.advice)
    notes = "; ".join(line(one.quote, 400) for one in item.evidence if one.judge == "check")
    parts = [
        item.asked,
        f"({item.vote_words})" if item.votes else "",
        notes,
        f"suggestion: {advice}" if advice else "",
    ]
    return " ".join(part for part in parts if part)


# ------------------------------------------------------------------------------------------------------------
# places


class _Places:
    """Where the evidence of an item is, in the files of an artifact."""

    def __init__(self, source: SarifSource) -> None:
        self._path = source.doc.artifact.path or "artifact"
        self._texts = list(source.texts.items())
        self._starts = []
        at = 0
        for _, text in self._texts:
            self._starts.append(at)
            at += len(text) + 1

    def of(self, item: ItemDoc) -> list[Location]:
        """At least one place; the quotes of those who said no come first."""
        against = [one for one in item.evidence if item.votes.get(one.judge) == "no"]
        quotes = [*against, *(one for one in item.evidence if one not in against)]
        found = [
            place
            for one in quotes
            if (place := self._quoted(one) or self._place_in_note(one)) is not None
        ]
        return list(found) or [_location(self._uri(""), {"startLine": 1})]

    def _quoted(self, quote: QuoteDoc) -> Location | None:
        if quote.start is None or quote.end is None or not self._texts or quote.judge == "check":
            return None
        number = bisect_right(self._starts, quote.start) - 1
        file, text = self._texts[number]
        start, end = quote.start - self._starts[number], quote.end - self._starts[number]
        if start < 0 or end > len(text) or start >= end:
            return None
        first, from_column = _line_and_column(text, start)
        last, to_column = _line_and_column(text, end)
        region: Region = {
            "startLine": first,
            "startColumn": from_column,
            "endLine": last,
            "endColumn": to_column,
            "snippet": {"text": text[start:end][:1000]},
        }
        return _location(self._uri(file), region)

    def _place_in_note(self, quote: QuoteDoc) -> Location | None:
        """`page.md:3: a link leads nowhere`, where the artifact has such a file."""
        for match in _NAMED.finditer(quote.quote[:2000]):
            name = match["file"].removeprefix("./")
            files = [file for file, _ in self._texts]
            if name in files or (
                files == [""] and PurePosixPath(name).name == PurePath(self._path).name
            ):
                return _location(
                    self._uri(name if name in files else ""), {"startLine": int(match["line"])}
                )
        return None

    def _uri(self, file: str) -> str:
        return uri_of(self._path if not file else f"{self._path.rstrip('/')}/{file}")


class _CasePlace:
    """A case of a suite."""

    def __init__(self, suite: str, case: CaseDoc) -> None:
        logical: LogicalLocation = {
            "name": case.name,
            "fullyQualifiedName": case.name,
            "kind": "object",
        }
        self._place: Location = {
            **_location(uri_of(suite or "suite"), {"startLine": 1}),
            "logicalLocations": [logical],
        }

    def of(self, item: ItemDoc | None) -> list[Location]:
        return [self._place]


def _location(uri: str, region: Region) -> Location:
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def uri_of(path: str) -> str:
    """A relative reference, or a file URI for an absolute path. Both are valid whatever the path
    holds.
    """
    pure = PurePath(path)
    quoted = urllib.parse.quote(pure.as_posix().encode("utf-8", "surrogateescape"), safe="/-._~")
    return f"file://{quoted}" if pure.is_absolute() else quoted


def _line_and_column(text: str, at: int) -> tuple[int, int]:
    before = text.rfind("\n", 0, at)
    return text.count("\n", 0, at) + 1, at - before
