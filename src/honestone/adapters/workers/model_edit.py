"""A worker that is a model: it is shown the artifact and replies with search/replace edits, applied
exactly or refused.

One form of reply, a JSON object, because models can be held to it by a schema and because every
marker line that a plain-text form would need also occurs in artifacts (a Markdown heading
underlined with `=======`). All edits of a reply are applied or none; a reply that cannot be applied
is asked for once more with the reasons.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, Final, NotRequired, TypeAlias, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.artifact import as_text
from honestone.core.errors import FileError
from honestone.core.json_value import each_once, fence_of
from honestone.core.reading.json_schema import JsonSchema
from honestone.ports import (
    Brief,
    CallFailed,
    Completion,
    EagerWorker,
    Model,
    Prompt,
    Usage,
    WorkDone,
)
from honestone.prompts.filling import load_schema, load_template
from honestone.system.files import load_artifact, write_atomically
from honestone.system.loose_json import table

# A file below this may be replaced whole: writing it again costs little and loses little.
SHORT_BYTES: Final = 8_000

# About 100,000 tokens. A larger artifact needs a worker that opens files by itself.
MAX_PROMPT_CHARS: Final = 400_000

MAX_REPLY_CHARS: Final = 2_000_000
_MAX_OBJECTS: Final = 200
_BOM: Final = b"\xef\xbb\xbf"

SCHEMA: Final[JsonSchema] = load_schema("edit")

Ask: TypeAlias = Callable[[Prompt], Awaitable[Completion]]


class Unfit(Exception):
    """A reply that cannot be applied. `reasons` are shown to the model when it is asked once more."""

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class Edit(Struct, frozen=True):
    path: str
    search: str
    replace: str


class Shown(Struct, frozen=True):
    """A file as the model sees it: without byte-order mark, its line breaks as single characters."""

    text: str
    has_bom: bool
    has_crlf: bool
    size: int

    @property
    def is_short(self) -> bool:
        return self.size < SHORT_BYTES

    def back(self, text: str) -> bytes:
        """A new text as bytes of the kind that the file has."""
        if self.has_crlf:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        return (_BOM if self.has_bom else b"") + text.encode(errors="replace")


class _Counted:
    """A model that counts the requests to it, those that failed too."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.calls = 0

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._model.identity

    async def complete(self, prompt: Prompt) -> Completion:
        self.calls += 1
        return await self._model.complete(prompt)

    async def close(self) -> None:
        await self._model.close()


class ModelEditWorker(EagerWorker):
    """Asks `model` for edits. `ask` makes its calls where retries and budgets are wired around them.

    `hidden` are paths inside a folder artifact that are neither shown nor changed: the rubric, the
    suite.
    """

    def __init__(
        self,
        id: str,
        model: Model,
        *,
        hidden: Collection[str] = (),
        ask: Callable[[Model], Ask] | None = None,
        max_prompt_chars: int = MAX_PROMPT_CHARS,
    ) -> None:
        self.id = id
        self._model = model
        self._hidden = frozenset(hidden)
        self._ask = ask
        self._max_prompt_chars = max_prompt_chars

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "kind": "model-edit",
            "model": dict(self._model.identity),
            "prompt": load_template("edit").digest,
        }

    async def propose(self, brief: Brief, place: Path, brief_file: Path) -> WorkDone:
        """Never raises CallFailed: a call that failed is a worker that crashed, with its reason."""
        try:
            files = self._load(place, brief_file)
        except FileError as error:
            return WorkDone(ended="crashed", message=str(error), calls=0)
        model = _Counted(self._model)
        done = await self._propose(model, files, brief, place)
        return replace(done, calls=model.calls)

    async def _propose(
        self, model: _Counted, files: Mapping[str, Shown], brief: Brief, place: Path
    ) -> WorkDone:
        ask = self._ask(model) if self._ask else model.complete
        spent: list[Usage] = []
        complaint: tuple[str, ...] = ()
        for _ in range(2):
            text = prompt_text(brief.text, files, complaint)
            if len(text) > self._max_prompt_chars:
                return WorkDone(ended="crashed", message=_too_large(files, self._max_prompt_chars))
            try:
                reply = await ask(Prompt(text=text, schema=SCHEMA, draw=brief.candidate))
            except CallFailed as failed:
                return WorkDone(ended="crashed", message=failed.reason, usage=_sum(spent))
            spent.append(reply.usage)
            try:
                changed = apply(read_edits(reply.text, cut=reply.cut), files, place)
            except Unfit as unfit:
                complaint = unfit.reasons
                continue
            return self._write(place, files, changed, _sum(spent))
        return WorkDone(
            ended="not-applied",
            message=_clip("; ".join(complaint)),
            usage=_sum(spent),
        )

    async def close(self) -> None:
        await self._model.close()

    def _load(self, place: Path, brief_file: Path) -> dict[str, Shown]:
        """What may be shown and changed. Links, binary files and hidden files are not among it."""
        if place.is_symlink():
            raise FileError(f"{place.name!r} is a link")
        hidden = {(place / name).resolve() for name in self._hidden} if place.is_dir() else set()
        version = load_artifact(place, exclude={*hidden, brief_file.resolve()}).version
        files = {}
        for path, entry in version.files.items():
            text = as_text(entry.data)
            if text is not None:
                has_crlf = "\r\n" in text and "\n" not in text.replace("\r\n", "")
                shown = text.replace("\r\n", "\n") if has_crlf else text
                files[path] = Shown(shown, entry.data.startswith(_BOM), has_crlf, len(entry.data))
        return files

    def _write(
        self, place: Path, files: Mapping[str, Shown], changed: Mapping[str, str], usage: Usage
    ) -> WorkDone:
        """All files or none: what was written before a failure is put back."""
        done: list[str] = []
        try:
            for path, text in changed.items():
                write_atomically(_at(place, path), files[path].back(text))
                done.append(path)
        except (OSError, FileError) as error:
            for path in done:
                write_atomically(_at(place, path), files[path].back(files[path].text))
            return WorkDone(
                ended="crashed", message=f"its edits could not be written: {error}", usage=usage
            )
        message = f"edited {', '.join(changed)}" if changed else "it proposed no change"
        return WorkDone(ended="exited", exit=0, message=_clip(message), usage=usage)


# ------------------------------------------------------------------------------------------------------
# the prompt


def prompt_text(task: str, files: Mapping[str, Shown], complaint: Sequence[str] = ()) -> str:
    fence = fence_of(*(shown.text for shown in files.values()))
    blocks = [
        f"File {json.dumps(path, ensure_ascii=False)}{', short' if shown.is_short else ''}:\n"
        f"{fence}\n{shown.text}{'' if shown.text.endswith(chr(10)) else chr(10)}{fence}"
        for path, shown in files.items()
    ]
    refused = ""
    if complaint:
        reasons = "\n".join(f"- {reason}" for reason in complaint)
        refused = f"Your last reply could not be applied, so nothing was changed:\n{reasons}\nReply again, in full.\n\n"
    return load_template("edit").fill(
        {
            "task": task.strip(),
            "files": "\n\n".join(blocks),
            "complaint": refused,
            "path": json.dumps(next(iter(files)), ensure_ascii=False),
        }
    )


# ------------------------------------------------------------------------------------------------------
# the reply


def read_edits(text: str, *, cut: bool = False) -> list[Edit]:
    """The edits of a reply. Raises Unfit unless it holds exactly one whole set of them."""
    if cut:
        raise Unfit("the reply was cut off by its length limit: make fewer or smaller edits")
    if len(text) > MAX_REPLY_CHARS:
        raise Unfit("the reply is far too long")
    found = _objects_with_edits(re.sub(r"^\s*<think(ing)?>.*?</think(ing)?>", "", text, flags=re.S))
    if not found:
        raise Unfit('no valid JSON object with "edits" was found in the reply')
    if any(other != found[0] for other in found):
        raise Unfit('there are several different JSON objects with "edits" in the reply')
    edits, problems = [], []
    for number, entry in enumerate(found[0]["edits"], 1):
        named = table(entry)
        texts = [
            part
            for name in ("path", "search", "replace")
            if isinstance(part := named.get(name), str)
        ]
        if len(texts) == 3:
            edits.append(Edit(*texts))
        else:
            problems.append(f'edit {number} must have "path", "search" and "replace", each a text')
    if problems:
        raise Unfit(*problems)
    return edits


def apply(edits: Sequence[Edit], files: Mapping[str, Shown], place: Path) -> dict[str, str]:
    """The new text of each file that changes. Raises Unfit with every reason why one of the edits
    does not fit.
    """
    problems: list[str] = []
    spans: dict[str, list[tuple[int, int, str]]] = {}
    for number, edit in enumerate(edits, 1):
        try:
            path = _path(edit.path, files, place)
            spans.setdefault(path, []).append(_span(edit, files[path]))
        except Unfit as unfit:
            problems += [
                f"edit {number} ({_clip(edit.path, 80)}): {reason}" for reason in unfit.reasons
            ]
    for path, wanted in spans.items():
        wanted.sort(key=lambda span: span[:2])
        if any(one[1] > two[0] or one[:2] == two[:2] for one, two in pairwise(wanted)):
            problems.append(f"two edits of {path} touch the same words")
    if problems:
        raise Unfit(*problems[:20])
    changed = {}
    for path, wanted in spans.items():
        text = files[path].text
        for start, end, new in reversed(wanted):
            text = text[:start] + new + text[end:]
        if text != files[path].text:
            changed[path] = text
    return changed


def _span(edit: Edit, shown: Shown) -> tuple[int, int, str]:
    """Where an edit is in its file."""
    search, replace = (
        part.replace("\r\n", "\n") if shown.has_crlf else part
        for part in (edit.search, edit.replace)
    )
    if not search:
        if not shown.is_short:
            raise Unfit(
                f'"search" is empty, but the file is too long to be replaced whole ({shown.size} bytes)'
            )
        return 0, len(shown.text), replace
    start = shown.text.find(search)
    if start < 0:
        raise Unfit(
            'text to replace not found in the file: copy "search" from it character for character'
        )
    if shown.text.find(search, start + 1) >= 0:
        raise Unfit(
            'text to replace found more than once in the file: add neighbouring lines to "search"'
        )
    return start, start + len(search), replace


def _path(named: str, files: Mapping[str, Shown], place: Path) -> str:
    """The file that an edit names. The brief tells the artifact's whole path, so that is understood
    as well.
    """
    for path in files:
        if named in (path, f"./{path}", str(_at(place, path))):
            return path
    if PurePosixPath(named).is_absolute() or ".." in PurePosixPath(named).parts:
        raise Unfit("this path leads out of the artifact")
    near = get_close_matches(named, files, n=1)
    raise Unfit(
        "this is not one of the files that were shown"
        + (f"; did you mean {near[0]}?" if near else "")
    )


class _Edits(TypedDict):
    """What a model wrote: a list of edits, which are not looked at yet, and why."""

    edits: list[object]
    summary: NotRequired[object]


def _objects_with_edits(text: str) -> list[_Edits]:
    """Whole top-level objects that have a list of edits, in order."""
    # Not strict: a raw line break inside a string is a common slip that can mean only one thing.
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=each_once)
    found: list[_Edits] = []
    at = text.find("{")
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value.get("edits"), list):
                found.append(value)
        at = text.find("{", end)
    return found


# ------------------------------------------------------------------------------------------------------
# small parts


def _at(place: Path, path: str) -> Path:
    return place / path if place.is_dir() else place


def _sum(spent: Sequence[Usage]) -> Usage:
    """The usage of several calls. A figure that one of them did not report is unknown for all."""

    def add(name: str) -> Any:
        values = [getattr(usage, name) for usage in spent]
        return sum(values) if values and None not in values else None

    return Usage(
        input_tokens=add("input_tokens"),
        output_tokens=add("output_tokens"),
        cached_tokens=add("cached_tokens"),
        usd=add("usd"),
    )


def _clip(text: str, limit: int = 400) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _too_large(files: Mapping[str, Shown], limit: int) -> str:
    largest = sorted(files, key=lambda path: -files[path].size)[:3]
    named = ", ".join(f"{path} ({files[path].size / 1000:.0f} kB)" for path in largest)
    return f"the artifact does not fit into one prompt of {limit // 1000} thousand characters; largest: {named}"
