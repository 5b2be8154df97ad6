"""The text of PDF and Word files, read by a process of its own under limits of size, memory and
time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from honestone.core.errors import FileError
from honestone.system.event_loop import run_coroutine
from honestone.system.processes import _document
from honestone.system.processes.environment import base_environment
from honestone.system.processes.process import Limits, run

# By the end of a file's name: how its reader is called, and what it is.
DOCUMENTS: Final = {".pdf": ("pdf", "a PDF"), ".docx": ("docx", "a Word document")}
MAX_BYTES: Final = 20_000_000
MAX_TEXT: Final = 5_000_000
_SECONDS: Final = 60.0
_LIMITS: Final = Limits(memory_bytes=1_500_000_000, cpu_seconds=30)
_AS_TEXT: Final = "save it as text, Markdown or CSV, and name that file"


def document_text(path: Path) -> str:
    """The text as Markdown: headings, lists and tables of a Word document; of a PDF what its pages
    show.

    Raises FileError where the file cannot be read, is too large, holds no text, or where the extra
    `documents` is missing.
    """
    kind, what = DOCUMENTS[path.suffix.lower()]
    data = _read_document(path)
    reading = run(
        [sys.executable, "-I", _document.__file__],
        cwd=path.resolve().parent,
        env=base_environment(),
        stdin=f"{kind}\n".encode() + data,
        timeout=_SECONDS,
        output_limit=MAX_TEXT,
        limits=_LIMITS,
    )
    ended = run_coroutine(reading)
    if ended.exit == _document.MISSING:
        raise FileError(
            f"`{path.name}` is {what}, and the library that reads it is not installed",
            hint=f"pip install 'honestone[documents]', or {_AS_TEXT}",
        )
    if ended.exit == _document.REFUSED:
        raise FileError(f"`{path.name}` {ended.stderr.decode(errors='replace')}", hint=_AS_TEXT)
    if ended.exit != 0 or ended.truncated:
        limits = f"{MAX_TEXT // 1_000_000} MB of text, {_SECONDS:g} seconds"
        raise FileError(
            f"`{path.name}` is damaged, or larger than what is read of a document ({limits})",
            hint=_AS_TEXT,
        )
    return ended.stdout.decode(errors="replace").replace("\0", "")


def _read_document(path: Path) -> bytes:
    if not path.exists():
        raise FileError(f"file `{path}` not found", hint="is the name right?")
    if not path.is_file():
        raise FileError(f"`{path}` is not a file", hint="name a PDF, a Word document or a text")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileError(f"`{path}` cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise FileError(f"`{path}` is larger than {MAX_BYTES // 1_000_000} MB", hint=_AS_TEXT)
    return data
