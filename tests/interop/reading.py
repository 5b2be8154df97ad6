"""Small helpers of the tests of single readers: a file on disk, read, and what was found wrong with
it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from honestone.core.errors import HonestoneError
from honestone.core.judging.rubric import Check, Criterion
from honestone.formats.source import ForeignRubric, SourceErrors, SuiteSource, refuse_losses
from honestone.formats.syntax.document import Document
from honestone.interop.reader import Reader

DATA = Path(__file__).parents[3] / "../shared/data/rubrics_wild"


def wild(folder: str) -> list[Path]:
    """Files that other people wrote, where they are there."""
    found = sorted((DATA / folder).glob("*")) if (DATA / folder).is_dir() else []
    if not found:
        pytest.skip(f"rubrics_wild/{folder} is not beside this checkout")
    return found


def put(folder: Path, text: str, name: str = "f.yaml", **others: str) -> Document:
    """A document on disk, with files beside it (`a__b_txt` is a/b.txt)."""
    for other, content in others.items():
        path = folder / other.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (folder / name).write_text(text)
    return Document.of(folder / name)


def suite_of(reader: Reader, document: Document) -> SuiteSource:
    assert reader.signs(document) > 0, "the reader does not see that the file is its own"
    source = reader.read(document)
    assert isinstance(source, SuiteSource)
    return source


def rubric_of(reader: Reader, document: Document) -> ForeignRubric:
    assert reader.signs(document) > 0, "the reader does not see that the file is its own"
    source = reader.read(document)
    assert isinstance(source, ForeignRubric)
    return source


def wrong(reader: Reader, document: Document) -> list[str]:
    """All that a reading refuses, each `line:column message`: errors, or losses where there are
    none.
    """
    with pytest.raises(SourceErrors) as caught:
        without_losses(reader.read(document))
    return [f"{where(error.place)} {error.message}" for error in caught.value.errors]


def without_losses(source: SuiteSource | ForeignRubric) -> None:
    """Raises SourceErrors for losses, as a command does."""
    refuse_losses(source.losses, source.dialect, accepted=False)


def where(place: str | None) -> str:
    return ":".join((place or "").rsplit(":", 2)[1:])


def lost(source: SuiteSource | ForeignRubric) -> list[str]:
    return [f"{where(loss.place)} {loss.message}" for loss in source.losses]


def checks(criterion: Criterion) -> list[tuple[str, Any, Mapping[str, Any]]]:
    """Every check below a criterion: name, argument, options."""
    found = [item.check for node, _ in criterion.walk() for item in node.items]
    return [
        (check.name, check.value, dict(check.options))
        for check in found
        if isinstance(check, Check)
    ]


def never_crashes(reader: Reader, document: Document) -> None:
    """A reading ends with a source or with an error for people, whatever stands in the file."""
    assert 0 <= reader.signs(document) <= 100
    with contextlib.suppress(HonestoneError):
        source = reader.read(document)
        assert source.notes, "the defaults of a dialect are always told"
