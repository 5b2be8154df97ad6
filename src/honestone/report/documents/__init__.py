"""The documents that `--json` prints, one struct each: JSON, JSON Schema and the tables of the
reference come from them.

In the docstring of a struct a line such as "`score`, `interval`: meaning" explains those fields;
the reference page and the schemas show it. A field that may be `UNSET` is left out of the JSON
where it has no value.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cached_property
from typing import Any, Final, NewType, TypeAlias, cast

import msgspec

_KINDS: Final = {
    "scorecard": ("scorecard", "ScorecardDoc"),
    "improvement": ("improvement", "ImprovementDoc"),
    "report": ("suite", "SuiteReportDoc"),
    "comparison": ("suite", "ComparisonDoc"),
    "trend": ("suite", "TrendDoc"),
    "table": ("table", "TableDoc"),
    "texts": ("texts", "TextsDoc"),
    "imported": ("imported", "ImportedDoc"),
    "pairwise": ("pairwise", "PairwiseDoc"),
    "noise": ("noise", "NoiseDoc"),
    "audit": ("audit", "AuditDoc"),
    "agreement": ("agreement", "AgreementDoc"),
    "labels": ("labels", "LabelsDoc"),
    "calibration": ("calibration", "CalibrationDoc"),
    "rubric-draft": ("drafts", "RubricDraftDoc"),
}
KINDS: Final = tuple(_KINDS)


def document_class(kind: str) -> type[msgspec.Struct]:
    """The struct of `honestone.KIND/1`. Raises KeyError for an unknown kind."""
    return find_struct(_KINDS[kind][1])


def json_schema(kind: str) -> dict[str, object]:
    """The JSON Schema (2020-12) of `honestone.KIND/1`, every field explained where its struct
    explains it.
    """
    root = document_class(kind)
    (schema,), parts = msgspec.json.schema_components(
        [root],
        schema_hook=lambda _: {"description": "any JSON value"},
        ref_template="#/$defs/{name}",
    )
    for name, part in parts.items():
        meanings = dict(field_meanings(str(part.pop("description", ""))))
        for field, one in part.get("properties", {}).items():
            if field in meanings:
                part["properties"][field] = {"description": meanings[field], **one}
        part["title"] = name
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": parts}


def find_struct(name: str) -> type[msgspec.Struct]:
    """A struct of a document or of one of its parts. Raises KeyError for an unknown name."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        if name in (names := vars(importlib.import_module(module.name))):
            return cast(type[msgspec.Struct], names[name])
    raise KeyError(name)


def field_rows(docstring: str) -> Iterator[tuple[list[str], str]]:
    """(fields, meaning) of what a struct's docstring explains: a line for each, and the lines below
    it that are indented more.
    """
    for row in re.split(r"\n(?!\s{4,}\S)", inspect.cleandoc(docstring)):
        match = re.fullmatch(r"(`\w+`(?:, `\w+`)*): (.+)", " ".join(row.split()))
        if match:
            yield re.findall(r"`(\w+)`", match[1]), match[2]


def field_meanings(docstring: str) -> Iterator[tuple[str, str]]:
    for fields, meaning in field_rows(docstring):
        for field in fields:
            yield field, meaning


def rests_on_one_judge(document: Mapping[str, Any]) -> bool:
    """Whether a document's verdict has items that fewer than two judges voted on."""
    return bool(document.get("low_confidence") or document.get("low_confidence_cases"))


def plain(document: msgspec.Struct) -> PlainDocument:
    """A document as JSON values, for who asked for a dict."""
    return PlainDocument(msgspec.to_builtins(document))


def fields_of(source: object, *names: str) -> dict[str, Any]:
    """What a document has under the names of its source."""
    return {name: getattr(source, name) for name in names}


JsonDocument: TypeAlias = dict[str, Any]
# What a document holds under a key, for who reads it as plain values.
JsonValue: TypeAlias = Any
# A whole document as plain values, as `--json` prints it: what `plain` makes of a struct that
# declares its fields.
PlainDocument = NewType("PlainDocument", dict[str, Any])


class ReadsAsDocument(Mapping[str, JsonValue]):
    """Something with a document, which reads like it: `result["verdict"]`."""

    @cached_property
    def document(self) -> PlainDocument:
        """What the command prints with `--json`."""
        return plain(self._as_struct())

    def to_dict(self) -> PlainDocument:
        """A copy of the document, to change at will."""
        return deepcopy(self.document)

    def _as_struct(self) -> msgspec.Struct:
        """The document with its fields declared, from which `document` is made."""
        raise NotImplementedError

    def __getitem__(self, key: str) -> JsonValue:
        return self.document[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.document)

    def __len__(self) -> int:
        return len(self.document)
