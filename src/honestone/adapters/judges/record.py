"""`record:FILE`: recorded answers as a judge. JSON or JSON lines, each row in the shape that script judges print.

A row may name what it belongs to with `artifact` (a path or a digest) or `digest`; a row that names nothing holds for
every artifact. One file may hold rows for many artifacts; two rows for one are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from honestone.core.answers import load_strict, read_program
from honestone.core.artifact import digest_of
from honestone.core.ballot import Reading
from honestone.core.errors import FileError
from honestone.core.question import Question
from honestone.ports import CallFailed, Reply, Request

_HINT = "record:FILE takes JSON, or one JSON object a line, in the shape that script judges print"


class RecordJudge:
    """Reads its file once. A recorded reply costs nothing and counts as no call."""

    is_paid = False

    def __init__(self, id: str, path: Path) -> None:
        self.id = id
        self._path = path
        try:
            data = path.read_bytes()
            text = data.decode("utf-8-sig")
        except OSError as error:
            raise FileError(
                f"cannot read the recorded answers {str(path)!r}: {error.strerror or error}", hint=_HINT
            ) from None
        except UnicodeDecodeError as error:
            raise FileError(
                f"the recorded answers {str(path)!r} are not UTF-8 (byte {error.start})", hint=_HINT
            ) from None
        self._digest = digest_of(data)
        self._rows = _index(_rows(text, path), path)

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"kind": "record", "digest": self._digest}

    def render(self, question: Question, problems: Sequence[str] = ()) -> Request:
        artifact = question.artifact
        return Request(body=json.dumps({"path": artifact.path, "digest": artifact.version.digest}))

    async def ask(self, request: Request, question: Question) -> Reply:
        artifact = question.artifact
        for name in (artifact.version.digest, artifact.path, Path(artifact.path).name, ""):
            if name in self._rows:
                return Reply(text=self._rows[name])
        raise CallFailed(f"{self._path.name} holds no answers for {artifact.path!r}")

    def read(self, question: Question, request: Request, reply: Reply) -> Reading:
        return read_program(reply.text, question)

    async def close(self) -> None:
        pass


def _rows(text: str, path: Path) -> list[tuple[str, str]]:
    """Each recorded row as (what it belongs to, its JSON text, untouched)."""
    try:
        whole = load_strict(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict):
        return [(_name(whole), text)]
    if isinstance(whole, list):
        # Rows of a list are cut out again as text, so that a damaged row is still read by the one strict reader.
        return [(_name(row), json.dumps(row, default=repr)) for row in whole]
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                rows.append((_name(load_strict(line)), line))
            except ValueError as error:
                raise FileError(f"no JSON: {error}", place=f"{path}:{number}", hint=_HINT) from None
    if not rows:
        raise FileError(f"{str(path)!r} holds no recorded answers", hint=_HINT)
    return rows


def _name(row: Any) -> str:
    if not isinstance(row, dict):
        return ""
    name = row.get("digest", row.get("artifact", ""))
    if isinstance(name, dict):
        name = name.get("digest") or name.get("path") or ""
    return name if isinstance(name, str) else ""


def _index(rows: list[tuple[str, str]], path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, text in rows:
        if name in found:
            what = f"for {name!r}" if name else "that hold for every artifact"
            raise FileError(f"{str(path)!r} holds two rows {what}", hint="keep one of them")
        found[name] = text
    return found
