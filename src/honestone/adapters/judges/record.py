"""`record:FILE`: recorded answers as a judge. JSON or JSON lines, each row in the shape that script
judges print.

A row may name what it belongs to with `artifact` (a path or a digest) or `digest`, or in a suite
with `case` and perhaps `attempt` (from 1); a row that names nothing holds for every artifact, one
without an attempt for every attempt. One file may hold rows for many artifacts; two rows for one
are refused.

A row may also be a graded PaperBench tree (nodes with `id`, `score` and `sub_tasks`): its leaves
are the answers, by id.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

from honestone.core.artifact import digest_of
from honestone.core.errors import FileError
from honestone.core.judging.ballot import Question, Reading
from honestone.core.judging.contract import Identity
from honestone.core.judging.rubric import RepeatedIds
from honestone.core.reading.answers import load_strict, read_program
from honestone.ports import CallFailed, NothingToClose, Reply, Request
from honestone.system.loose_json import record, records

_HINT = "record:FILE takes JSON, or one JSON object a line, in the shape that script judges print"
_TREE_HINT = (
    "of a PaperBench tree record: takes a graded one: every leaf with its own id and a score"
)


class RecordJudge(NothingToClose):
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
                f"cannot read the recorded answers {str(path)!r}: {error.strerror or error}",
                hint=_HINT,
            ) from None
        except UnicodeDecodeError as error:
            raise FileError(
                f"the recorded answers {str(path)!r} are not UTF-8 (byte {error.start})", hint=_HINT
            ) from None
        self.identity: Identity = {"kind": "record", "digest": digest_of(data)}
        self._rows = _index(_rows(text, path), path)

    def render(self, question: Question, problems: Sequence[str] = ()) -> Request:
        artifact = question.artifact
        body: _Asked = {"path": artifact.path, "digest": artifact.version.digest}
        if question.case is not None:
            body["case"] = question.case
            body["attempt"] = question.attempt
        return Request(body=json.dumps(body))

    async def ask(self, request: Request, question: Question) -> Reply:
        artifact = question.artifact
        names = [artifact.version.digest, artifact.path, Path(artifact.path).name, ""]
        if question.case is not None:
            names[:0] = [
                _case_name(question.case, question.attempt),
                _case_name(question.case, None),
            ]
        for name in names:
            if name in self._rows:
                return Reply(text=self._rows[name])
        about = repr(artifact.path) if question.case is None else f"case {question.case!r}"
        raise CallFailed(f"{self._path.name} holds no answers for {about}")

    def read(self, question: Question, request: Request, reply: Reply) -> Reading:
        return read_program(reply.text, question)


class _Asked(TypedDict, total=False):
    """Whose answers are looked for; a case of a suite is found by its id."""

    path: str
    digest: str
    case: str
    attempt: int


class _Node(TypedDict, total=False):
    """A node of a graded tree. One without `sub_tasks` is a leaf, a question with its score."""

    id: object
    sub_tasks: object
    criteria: object
    score: object
    valid_score: object
    explanation: object


class _LeafAnswer(TypedDict):
    """The answer to a leaf, as script judges print one."""

    score: object
    suggestion: str | None


def _rows(text: str, path: Path) -> list[tuple[str, str]]:
    """Each recorded row as (what it belongs to, its JSON text, untouched)."""
    try:
        whole = load_strict(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict):
        return [_record_row(whole, text, path)]
    if isinstance(whole, list):
        # Rows of a list are cut out again as text, so that a damaged row is still read by the one
        # strict reader.
        return [_record_row(row, json.dumps(row, default=repr), path) for row in whole]
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                row = load_strict(line)
            except ValueError as error:
                raise FileError(f"no JSON: {error}", place=f"{path}:{number}", hint=_HINT) from None
            rows.append(_record_row(row, line, path))
    if not rows:
        raise FileError(f"{str(path)!r} holds no recorded answers", hint=_HINT)
    return rows


def _record_row(row: object, text: str, path: Path) -> tuple[str, str]:
    tree = record(row, _Node)
    return _name(row), _as_answers(tree, path) if _is_tree(tree) else text


def _is_tree(row: _Node) -> bool:
    return "criteria" not in row and isinstance(row.get("sub_tasks"), list)


def _as_answers(tree: _Node, path: Path) -> str:
    """The leaves of a graded tree in the shape that script judges print.

    `score` answers a yes/no question too, when it is 0 or 1. A leaf without a valid score has no
    answer, which is not a 0. Inner nodes' scores are not read: the rubric adds up.
    """
    answers: dict[str, _LeafAnswer | None] = {}
    is_graded = False
    ids = RepeatedIds()
    for leaf, is_leaf in _nodes(tree):
        id = leaf.get("id")
        if not isinstance(id, str) and is_leaf:
            raise FileError(
                f"{str(path)!r}: a leaf of the tree has no id, or one that is not text",
                hint=_TREE_HINT,
            )
        id = ids.take(id) if isinstance(id, str) else ""
        if not is_leaf:
            continue
        score = leaf.get("score")
        is_graded |= score is not None
        is_valid = score is not None and leaf.get("valid_score", True) in (1,)  # True and 1.0 too
        answers[id] = {"score": score, "suggestion": _why_not(leaf)} if is_valid else None
    if not is_graded:
        raise FileError(f"{str(path)!r} is a tree without recorded scores", hint=_TREE_HINT)
    return json.dumps({"criteria": answers}, default=repr)


def _why_not(leaf: _Node) -> str | None:
    """Why a leaf is not fully met, where the grader said so."""
    explanation = leaf.get("explanation")
    return explanation if isinstance(explanation, str) and leaf.get("score") != 1 else None


def _nodes(tree: _Node) -> Iterator[tuple[_Node, bool]]:
    """Every node, and whether it is a leaf. In reading order, without recursion: how deep a file is
    nested is up to whoever wrote it.
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        children = records(node.get("sub_tasks"), _Node)
        yield node, not children
        waiting += reversed(children)


def _name(row: Any) -> str:
    if not isinstance(row, dict):
        return ""
    if isinstance(row.get("case"), str):
        attempt = row.get("attempt")
        return _case_name(row["case"], attempt if isinstance(attempt, int) else None)
    name = row.get("digest", row.get("artifact", ""))
    if isinstance(name, dict):
        name = name.get("digest") or name.get("path") or ""
    return name if isinstance(name, str) else ""


def _case_name(case: str, attempt: int | None) -> str:
    """What a case's answers go by; no path and no digest begins like this."""
    return f"\0{case}" if attempt is None else f"\0{case}\0{attempt}"


def _index(rows: list[tuple[str, str]], path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, text in rows:
        if name in found:
            what = (
                f"for {name.strip(chr(0)).replace(chr(0), ' #')!r}"
                if name
                else "that hold for every artifact"
            )
            raise FileError(f"{str(path)!r} holds two rows {what}", hint="keep one of them")
        found[name] = text
    return found
