"""Runs the notebooks of the docs and keeps what they print: `tools/notebook.py [NOTEBOOK...]`, with the
interpreter of `.exports`. A notebook runs in a copy of its folder, so that it finds its tables and
leaves no store behind.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

NOTEBOOKS: Final = Path(__file__).resolve().parents[1] / "docs" / "notebooks"


def executed(notebook: Path, seconds: int = 300) -> Any:
    """The notebook with its outputs, as nbformat has it. Raises CellExecutionError when a cell
    fails.
    """
    import nbformat
    from nbclient import NotebookClient

    document = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "docs")
        shutil.copytree(notebook.parent, place)
        client = NotebookClient(
            document, timeout=seconds, resources={"metadata": {"path": str(place)}}
        )
        client.execute()
    for cell in document.cells:
        cell.metadata.pop("execution", None)  # times
    document.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    return document


def main(arguments: Sequence[str]) -> None:
    import nbformat

    for notebook in map(Path, arguments) if arguments else sorted(NOTEBOOKS.glob("*.ipynb")):
        nbformat.write(executed(notebook), notebook)  # type: ignore[no-untyped-call]
        print(f"wrote {notebook}")


if __name__ == "__main__":
    main(sys.argv[1:])
