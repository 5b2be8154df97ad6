"""The notebooks of the docs run from end to end, and print what is kept in them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="make test-exports installs it")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def texts(document: Any) -> list[str]:
    """What the cells print and return, in words."""
    outputs = [output for cell in document.cells for output in cell.get("outputs", ())]
    return [
        output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs
    ]


def pictures(document: Any) -> list[bytes]:
    return [
        base64.b64decode(output.data["image/png"])
        for cell in document.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_shows(notebook: Path) -> None:
    import nbformat
    from notebook import executed

    shown = nbformat.read(notebook, as_version=4)
    found = executed(notebook)
    assert texts(found) == texts(shown)
    assert pictures(found)
    assert all(picture.startswith(b"\x89PNG") for picture in pictures(found))


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS
