"""Files of traces, known by what they hold: OTLP JSON, exports of Langfuse, logs of Inspect; also
as JSON lines.

Files are hostile data: sizes and nesting have limits, and what is not a trace is dropped with its
place and the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from honestone.core.errors import FileError
from honestone.core.json_value import Json, parsed_json
from honestone.interop.traces import inspect_samples, langfuse, otel
from honestone.interop.traces.archive import MAGIC, MAX_BYTES, samples_in
from honestone.interop.traces.task import DroppedTrace, TracedTask

MAX_VALUES: Final = 200_000
_HINT: Final = "OTLP JSON of OpenTelemetry, exports of Langfuse (JSON or JSON lines) and logs of Inspect (.eval, .json) are read"


class FoundTraces(Struct, frozen=True, kw_only=True):
    """The tasks of a file in its order, and what in it is not one."""

    tasks: tuple[TracedTask, ...]
    dropped: tuple[DroppedTrace, ...]


def read_traces(path: Path) -> FoundTraces:
    """Raises FileError for a file that cannot be read, is too large, or holds no trace at all."""
    spans: list[otel.Span] = []
    observed: list[tuple[str, Json]] = []
    tasks: list[TracedTask] = []
    dropped: list[DroppedTrace] = []
    for number, (place, value) in enumerate(_values(path, dropped)):
        if number == MAX_VALUES:
            raise FileError(
                f"`{path}` holds more than {MAX_VALUES:,} traces or spans",
                hint="export a shorter time",
            )
        if not isinstance(value, dict):
            dropped.append(_not_one(place))
        elif "resourceSpans" in value or otel.is_span(value):
            spans += otel.spans_of(value, place)
        elif inspect_samples.is_sample(value):
            tasks.append(inspect_samples.task_of(value, place))
        elif langfuse.is_observation(value) or langfuse.is_trace(value):
            observed.append((place, value))
        else:
            dropped.append(_not_one(place))
    found = (*otel.tasks_of(spans), *langfuse.tasks_of(observed), *tasks)
    if not found:
        why = f" ({dropped[0].why})" if dropped else ""
        raise FileError(
            f"`{path}` holds no trace{why}", place=dropped[0].place if dropped else None, hint=_HINT
        )
    return FoundTraces(tasks=found, dropped=tuple(dropped))


def _not_one(place: str) -> DroppedTrace:
    why = "it is not a span, a trace or observation of Langfuse, or a sample of Inspect"
    return DroppedTrace(name="", place=place, why=why)


def _values(path: Path, dropped: list[DroppedTrace]) -> Iterator[tuple[str, Json]]:
    """The objects in a file, each with its place; lists are gone through."""
    data = _read_bytes(path)
    if data.startswith(MAGIC):
        for name, content in samples_in(data, path):
            yield f"{path}:{name}", parsed_json(content.decode("utf-8", "replace"))
        return
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"`{path}` is not UTF-8", place=f"{path}:1:1", hint=_HINT) from None
    whole = parsed_json(text)
    if whole is not None:
        yield from _inside(whole, f"{path}:1")
        return
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        value = parsed_json(line)
        if value is None:
            dropped.append(
                DroppedTrace(name="", place=f"{path}:{number}", why="this line is not JSON")
            )
        else:
            yield from _inside(value, f"{path}:{number}")


def _inside(value: Json, place: str) -> Iterator[tuple[str, Json]]:
    """A list's entries, the `samples` of a log of Inspect, and the `data` of a page of Langfuse's
    API.
    """
    held: Json = value
    if isinstance(value, dict):
        held = next(
            (value[key] for key in ("samples", "data") if isinstance(value.get(key), list)), value
        )
    if isinstance(held, list):
        for one in held:
            yield place, one
    else:
        yield place, held


def _read_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileError(
            f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}"
        ) from None
    if len(data) > MAX_BYTES:
        raise FileError(
            f"`{path}` is larger than {MAX_BYTES // 1_000_000} MB", hint="export a shorter time"
        )
    return data
