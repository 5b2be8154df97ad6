"""Files of recorded outputs, whoever wrote them, as one kind of row: `record:FILE` and `eval
--outputs FILE` read them here.

JSON lines {"id", "output", "attempt": 1}, in any order; what `--json` and `show --format jsonl`
print; promptfoo's result files; Inspect's logs (.json and .eval). Each row is known by what it
holds, never by the name of its file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import combinations, islice
from pathlib import Path
from typing import Any, Final, TypeAlias, TypedDict, overload
from weakref import finalize

import msgspec
from msgspec import Struct

from honestone.core.artifact import as_text, digest_of
from honestone.core.errors import FileError, UsageError
from honestone.core.json_value import (
    after_space,
    is_integer,
    json_once,
    line_of,
    members_of,
    parsed_json,
    visible,
)
from honestone.core.judging.rubric import slug
from honestone.system.loose_json import Table, down, record, table

MAX_BYTES: Final = 500_000_000
SHAPE: Final = (
    'a row is {"id": "CASE", "output": "TEXT"}, with "attempt": N from the second attempt on'
)


class RecordedOutput(Struct, frozen=True, kw_only=True):
    """`names` are the ids that its case may have, the likeliest first. Without `attempt` it is the
    case's next one.

    `output` is None where there is none, `error` why; `reported` is what else the target reported.
    `input` is what the case asked then and `made_by` who answered, where the file says so.
    """

    names: tuple[str, ...]
    attempt: int | None
    output: object
    error: str | None = None
    reported: Mapping[str, object] | None = None
    duration_ms: object = None
    diff: str | None = None
    input: object = None
    made_by: str | None = None


# The index of a row, and which of the row's outputs.
Where: TypeAlias = tuple[int, int]


class RecordFile(Struct, frozen=True, kw_only=True, dict=True):
    """`rows` are what the file holds, in its order; `place` says where one is. `about` is what it
    says of all of them.
    """

    name: str
    digest: str
    rows: Sequence[Any]
    places: Callable[[], Sequence[str]]
    about: Table

    @cached_property
    def _places(self) -> Sequence[str]:
        return self.places()

    def place(self, index: int) -> str:
        return f"{self.name}:{self._places[index]}"

    @property
    def end(self) -> str:
        """Its last row, after which what is missing would be."""
        return self.place(-1) if self.rows else f"{self.name}:1"

    def output(self, where: Where) -> RecordedOutput:
        index, number = where
        return next(islice(_outputs_of(self.rows[index]), number, None))

    def outputs(self) -> Iterator[tuple[Where, RecordedOutput]]:
        """Every output with its place. Raises UsageError for a row that is not one."""
        for index, row in enumerate(self.rows):
            if not isinstance(row, dict):
                raise UsageError(
                    "this row is not a JSON object", place=self.place(index), hint=SHAPE
                )
            try:
                for number, one in enumerate(_outputs_of(row)):
                    yield (index, number), one
            except _NotARow as why:
                raise UsageError(str(why), place=self.place(index), hint=SHAPE) from None


class _NotARow(Exception):
    """A row that names no case or no attempt; its text says why."""


def read_record(path: Path, name: str) -> RecordFile:
    """Raises FileError for what cannot be read, UsageError with the line for what is not JSON."""
    lines = _FileLines.of(path, name)
    if lines is not None:
        return RecordFile(
            name=name, digest=lines.digest, rows=lines, places=lambda: lines.numbers, about={}
        )
    data = _read_records(path, name)
    digest = digest_of(data)
    if data.startswith(b"PK\x03\x04"):
        return _archive(data, name, digest)
    text = as_text(data)
    if text is None:
        raise FileError(f"the record {name!r} is not UTF-8 text")
    whole = parsed_json(text)
    for steps in (("cases",), ("results", "results"), ("results",), ("samples",), ()):
        rows = down(whole, *steps)
        if isinstance(rows, list):
            about = table(whole)
            return RecordFile(
                name=name,
                digest=digest,
                rows=rows,
                places=partial(_line_numbers, text, steps),
                about=about,
            )
    found = list(_lines(text, name))
    numbers = [str(number) for number, _ in found]
    return RecordFile(
        name=name, digest=digest, rows=[row for _, row in found], places=lambda: numbers, about={}
    )


def _read_records(path: Path, name: str) -> bytes:
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise FileError(f"the record {name!r} is larger than {MAX_BYTES / 1e6:g} MB")
        return path.read_bytes()
    except OSError as error:
        raise FileError(
            f"the record {name!r} cannot be read: {(error.strerror or str(error)).lower()}",
            hint="record:FILE is a path from the working directory, or next to the suite",
        ) from None


def _archive(data: bytes, name: str, digest: str) -> RecordFile:
    """Inspect's `.eval`: an archive with a file for each sample."""
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(one.file_size for one in archive.infolist()) > MAX_BYTES:
                raise FileError(
                    f"the record {name!r} is larger than {MAX_BYTES / 1e6:g} MB when it is unpacked"
                )
            members = [
                one for one in archive.namelist() if re.fullmatch(r"samples/[^/]+\.json", one)
            ]
            about = (
                table(json_once(archive.read("header.json")))
                if "header.json" in archive.namelist()
                else {}
            )
            rows = [json_once(archive.read(member)) for member in members]
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        ValueError,
        RecursionError,
        EOFError,
    ) as error:
        why = visible(str(error), 120)
        raise FileError(
            f"the record {name!r} cannot be unpacked: {why}",
            hint="inspect log convert --to json writes it as JSON",
        ) from None
    return RecordFile(name=name, digest=digest, rows=rows, places=lambda: members, about=about)


def _text_of(line: bytes) -> str:
    """Raises ValueError where it is not text."""
    text = as_text(line)
    if text is None:
        raise ValueError("it is not UTF-8 text")
    return text


class _FileLines(Sequence[Any]):
    """The rows of a file of JSON lines, each read when it is asked for, so that what was recorded
    is not held in memory. Raises FileError for a row that is not the one that was there at first.
    """

    def __init__(self, name: str, handle: int) -> None:
        """Raises UsageError for a line that is not JSON, UnicodeError for one that is not text."""
        finalize(self, os.close, handle)
        self._name = name
        self._handle = handle
        self._rows = array("Q")
        digest, at = hashlib.sha256(), 0
        with open(handle, "rb", closefd=False) as file:
            for number, line in enumerate(file, 1):
                digest.update(line)
                if not line.isspace():
                    _record_row(line, name, number)
                    self._rows.extend((at, len(line), zlib.crc32(line), number))
                at += len(line)
        self.digest = f"sha256:{digest.hexdigest()}"

    @classmethod
    def of(cls, path: Path, name: str) -> _FileLines | None:
        """None where it is not a plain file whose first two rows are each a JSON value in a line."""
        try:
            if not path.is_file() or path.stat().st_size > MAX_BYTES:
                return None
            with path.open("rb") as file:
                first = list(islice((line for line in file if line.strip()), 2))
            if len([json.loads(_text_of(line)) for line in first]) == 2:
                return cls(name, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        except (
            OSError,
            ValueError,
            RecursionError,
        ):  # whoever reads it as a whole says what is wrong
            pass
        return None

    @property
    def numbers(self) -> list[str]:
        return [str(number) for number in self._rows[3::4]]

    def __len__(self) -> int:
        return len(self._rows) // 4

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        at, length, crc, number = self._rows[4 * index : 4 * index + 4]
        line = os.pread(self._handle, length, at)
        if zlib.crc32(line) != crc:
            raise FileError(
                f"the record {self._name!r} was changed while it was used",
                place=f"{self._name}:{number}",
            )
        try:
            # These very bytes were read strictly before; what only Python reads is left to it.
            return msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            return _record_row(line, self._name, number)


def _lines(text: str, name: str) -> Iterator[tuple[int, object]]:
    """Each line that holds something, with its number."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, _record_row(line, name, number)


def _record_row(line: str | bytes, name: str, number: int) -> object:
    try:
        return json_once(line if isinstance(line, str) else _text_of(line))
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise UsageError(
            f"this line is not JSON: {visible(why[:1].lower() + why[1:])}",
            place=f"{name}:{number}",
            hint=SHAPE,
        ) from None


def _line_numbers(text: str, steps: Sequence[str]) -> list[str]:
    """Where the entries of a list begin in a JSON text that is whole; `steps` lead to the list."""
    at = after_space(text, 0)
    for step in steps:
        at = [one.start for one in members_of(text, at) if one.key == step][-1]
    return [str(line_of(text, one.start)) for one in members_of(text, at)]


# ----------------------------------------------------------------------------------------------------------
# the rows


class _Attempt(TypedDict, total=False):
    """An attempt at a case of a report."""

    attempt: object
    status: object
    output: object
    error: object
    reasons: object
    trace: object
    duration_ms: object
    diff: object


class _ReportCase(_Attempt, total=False):
    """A case of a report, which is its own attempt where it had one."""

    id: object
    test_id: object
    attempts: object
    input: object
    target: object
    token_usage: object
    cost_usd: object


class _InspectOutput(TypedDict, total=False):
    """What a model answered, in a log of Inspect."""

    completion: object
    choices: object
    usage: object
    time: object
    error: object
    model: object


class _InspectSample(TypedDict, total=False):
    """A sample of such a log."""

    id: object
    epoch: object
    output: object
    error: object


class _PromptfooResponse(TypedDict, total=False):
    """What a provider answered, in a result of promptfoo."""

    output: object
    error: object
    tokenUsage: object


class _PromptfooResult(TypedDict, total=False):
    """Such a result."""

    testCase: object
    testIdx: object
    vars: object
    prompt: object
    provider: object
    response: object
    error: object
    cost: object
    latencyMs: object


def _outputs_of(row: object) -> Iterator[RecordedOutput]:
    here = table(row)
    keys, output = here.keys(), here.get("output")
    if keys & {"testCase", "testIdx"}:
        yield _of_promptfoo(record(row, _PromptfooResult))
    elif table(output).keys() & {"completion", "choices"}:
        yield _of_inspect(record(row, _InspectSample))
    elif keys & {"test_id", "shown_attempt"}:
        yield from _of_report(record(row, _ReportCase))
    else:
        yield _plain_output(here)


def _plain_output(row: Table) -> RecordedOutput:
    rest = {key: value for key, value in row.items() if key not in ("id", "attempt", "output")}
    return RecordedOutput(
        names=(_id(row.get("id")),),
        attempt=_attempt_number(row.get("attempt", 1)),
        output=row.get("output"),
        error=_text_or_none(row.get("error")),
        reported=rest,
    )


def _of_report(row: _ReportCase) -> Iterator[RecordedOutput]:
    """A case of `honestone.report/1`, or a line of `--format jsonl`: every attempt that it holds."""
    name, attempts = _id(row.get("test_id", row.get("id"))), row.get("attempts")
    reported = {
        "trace": None,
        "token_usage": row.get("token_usage"),
        "cost_usd": row.get("cost_usd"),
    }
    for one in attempts if isinstance(attempts, list) and attempts else [row]:
        if not isinstance(one, dict):
            raise _NotARow("`attempts` holds something that is not an attempt")
        each = record(one, _Attempt)
        has_failed = each.get("status", row.get("status")) == "target-error"
        trace = each.get("trace")
        if isinstance(trace, dict):
            extra = trace.get("extra")
            trace = {**table(extra), **{k: v for k, v in trace.items() if k != "extra"}}
        reasons = each.get("reasons")
        why = _text_or_none(each.get("error")) or (
            _text_or_none(reasons[0]) if isinstance(reasons, list) and reasons else None
        )
        yield RecordedOutput(
            names=(name,),
            attempt=_attempt_number(each.get("attempt", 1)),
            output=None if has_failed else each.get("output"),
            error=why or _text_or_none(row.get("error")) or "it failed" if has_failed else None,
            reported={**reported, "trace": trace},
            duration_ms=each.get("duration_ms"),
            diff=_text_or_none(each.get("diff")),
            input=row.get("input"),
            made_by=_text_or_none(row.get("target")),
        )


def _of_inspect(row: _InspectSample) -> RecordedOutput:
    response, failed = record(row.get("output"), _InspectOutput), row.get("error")
    text = response.get("completion")
    choices = response.get("choices")
    if text is None and isinstance(choices, list) and choices:
        text = _content(down(choices[0], "message", "content"))
    usage = response.get("usage")
    seconds = response.get("time")
    return RecordedOutput(
        names=(_id(row.get("id")),),
        attempt=_attempt_number(row.get("epoch", 1)),
        output=None if failed else text,
        error=(_text_or_none(down(failed, "message")) or "the sample failed")
        if failed
        else _text_or_none(response.get("error")),
        reported={name: down(usage, name) for name in ("input_tokens", "output_tokens")},
        duration_ms=seconds * 1000 if isinstance(seconds, float | int) else None,
        made_by=_text_or_none(response.get("model")),
    )


def _content(content: object) -> object:
    """The text of a message whose content is a list of parts."""
    if not isinstance(content, list):
        return content
    return "\n".join(
        str(part["text"]) for part in content if isinstance(part, dict) and "text" in part
    )


def _of_promptfoo(row: _PromptfooResult) -> RecordedOutput:
    response = record(row.get("response"), _PromptfooResponse)
    output = response.get("output")
    if output is not None and not isinstance(output, str):
        output = json.dumps(output, ensure_ascii=False)
    usage = response.get("tokenUsage")
    reported = {
        "input_tokens": down(usage, "prompt"),
        "output_tokens": down(usage, "completion"),
        "usd": row.get("cost"),
    }
    return RecordedOutput(
        names=tuple(_promptfoo_names(row)),
        attempt=None,
        output=output,
        error=_text_or_none(response.get("error")) or _text_or_none(row.get("error")),
        reported=reported,
        duration_ms=row.get("latencyMs"),
        made_by=_text_or_none(down(row.get("provider"), "id"))
        or _text_or_none(row.get("provider")),
    )


def _promptfoo_names(row: _PromptfooResult) -> Iterator[str]:
    """What the reader of promptfoo's configs calls the case: [PROMPT/]TEST[/VALUE...], the values
    being those of variables that list several. Which these are is not in a result, so each choice
    of them is a name.
    """
    described = _text_or_none(down(row.get("testCase"), "description"))
    test = _test_number(row.get("testIdx")) if described is None else slug(described, limit=60)
    if described is not None:
        yield described
    variables = row.get("vars") or down(row.get("testCase"), "vars")
    values = (
        [slug(_spelled(value), limit=24) for value in variables.values()]
        if isinstance(variables, dict)
        else []
    )
    label = (
        _text_or_none(down(row.get("prompt"), "label"))
        or _text_or_none(down(row.get("prompt"), "raw"))
        or ""
    )
    prompts = [
        "",
        f"{slug(label, limit=40)}/",
        f"{slug(Path(label.partition(': ')[0]).stem, limit=40)}/",
    ]
    for most in range(min(len(values), 4) + 1):
        for chosen in combinations(values[:8], most):
            yield from ("/".join([f"{prompt}{test}", *chosen]) for prompt in prompts)


def _test_number(index: object) -> str:
    if not isinstance(index, int):
        raise _NotARow("this result has neither `testCase.description` nor `testIdx`")
    return f"test-{index + 1}"


def _spelled(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _id(id: object) -> str:
    if is_integer(id):
        id = str(id)
    if not isinstance(id, str) or not id:
        raise _NotARow("this row has no `id`")
    return id


def _attempt_number(attempt: object) -> int:
    if not is_integer(attempt) or attempt < 1:
        raise _NotARow(f"`attempt` is {visible(repr(attempt), 40)}, but counts from 1")
    return attempt
