"""Formats that other packages add by an entry point in the group `honestone.formats`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from honestone.core.errors import SettingsError
from honestone.core.judging.rubric import Rubric
from honestone.formats.source import ForeignRubric
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.reader import FileReading, keys
from honestone.interop import recognise
from honestone.interop.criteria import yes_no
from honestone.interop.reader import Reader
from honestone.system import plugins

CARD = keys(
    "a card", "card | the version\nquestion* | the one question\n! colour | has no meaning here"
)


def read(document: Document) -> ForeignRubric:
    reading = FileReading(document.marked)
    card = reading.at()
    question = card.text("question") if card.read(CARD) else None
    reading.finish()
    return reading.rubric_source(Rubric(criteria=(yes_no("card", str(question)),)), "card")


READER = Reader(
    name="card",
    title="a card",
    gives="rubric",
    signs=lambda document: 90 if "card" in document.keys else 0,
    read=read,
    keys=(CARD,),
)


@dataclass(frozen=True)
class Point:
    name: str
    found: Any
    value: str = "a_package:READER"

    def load(self) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Point]]:
    """What the installed packages offer; the readers are gathered again."""
    found: list[Point] = []
    monkeypatch.setattr(
        plugins, "entry_points", lambda group: found if group == "honestone.formats" else []
    )
    plugins.plugins.cache_clear()
    yield found
    plugins.plugins.cache_clear()


def test_a_package_can_add_a_format(points: list[Point], tmp_path: Path) -> None:
    """Its files are recognised and read like ours, with losses and places, and it is listed with
    the formats.
    """
    points.append(Point("card", READER))
    path = tmp_path / "a.yaml"
    path.write_text("card: 1\nquestion: Is it short?\ncolour: red\n")
    source = recognise.read_any_rubric(path)
    assert isinstance(source, ForeignRubric)
    assert [criterion.requirement for criterion in source.rubric.criteria] == ["Is it short?"]
    assert [loss.message for loss in source.losses] == ["`colour` has no meaning here"]
    from reference import foreign_reference

    assert "## card" in foreign_reference()


@pytest.mark.parametrize("found", [ImportError("no such module"), "not a reader"])
def test_a_format_that_cannot_be_loaded_is_an_error(points: list[Point], found: Any) -> None:
    """A package that promises a format and has none is named, with what to do."""
    points.append(Point("card", found))
    with pytest.raises(SettingsError, match="the format `card` of an installed package") as raised:
        recognise.readers()
    assert "uninstall" in str(raised.value.hint)
