"""The telemetry of this process: none until a door provides it, and then made with the first run or
call.

Nothing is looked up or imported for it while no door has provided any.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

if TYPE_CHECKING:
    from honestone.core.record.telemetry import Activity, CallAnswer, PartKind, TracedScore
    from honestone.ports import Span, Telemetry


class NoTelemetry:
    """Implements ports.Telemetry and ports.Span: hears everything and keeps nothing."""

    def begin(self, activity: Activity) -> NoTelemetry:
        return self

    def here(self) -> AbstractContextManager[None]:
        return nullcontext()

    def answered(self, answer: CallAnswer) -> None: ...

    def failed(self, kind: str, reason: str) -> None: ...

    def scored(self, scores: Iterable[TracedScore]) -> None: ...

    def end(self) -> None: ...

    def from_record(self, judge: str) -> None: ...

    def variables(self) -> Mapping[str, str]:
        return {}

    def close(self) -> Sequence[str]:
        return ()


NO_TELEMETRY: Final = NoTelemetry()


class _Here(Struct):
    now: Telemetry = NO_TELEMETRY
    make: Callable[[], Telemetry] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_HERE: Final = _Here()


def telemetry() -> Telemetry:
    """The telemetry of this process, made with the first call."""
    if _HERE.make is not None:
        with _HERE.lock:
            make, _HERE.make = _HERE.make, None
            if make is not None:
                _HERE.now = make()
    return _HERE.now


def is_traced() -> bool:
    """Whether anybody hears."""
    return telemetry() is not NO_TELEMETRY


def provide(make: Callable[[], Telemetry]) -> None:
    """Let `make` be called with the first run or call, unless there is telemetry already."""
    if _HERE.now is NO_TELEMETRY:
        _HERE.make = make


def close_telemetry() -> Sequence[str]:
    """Send what is left, and be without from now on; lines for a person."""
    now, _HERE.now, _HERE.make = _HERE.now, NO_TELEMETRY, None
    return now.close()


@contextmanager
def using(given: Telemetry) -> Iterator[None]:
    """Meanwhile this is the telemetry of the process."""
    before, _HERE.now = _HERE.now, given
    try:
        yield
    finally:
        _HERE.now = before


def run_under_way(id: str, kind: str) -> Span:
    """A run that begins now; whoever begins it ends it."""
    if not is_traced():
        return NO_TELEMETRY
    from honestone.core.record.telemetry import TracedRun

    return telemetry().begin(TracedRun(id=id, kind=kind))


def part_under_way(
    kind: PartKind, name: str, number: int | None = None
) -> AbstractContextManager[Span]:
    """A part of a run for as long as the block lasts."""
    if not is_traced():
        return nullcontext(NO_TELEMETRY)
    from honestone.core.record.telemetry import TracedPart

    return span_of(TracedPart(kind=kind, name=name, number=number))


@contextmanager
def span_of(activity: Activity) -> Iterator[Span]:
    """An activity for as long as the block lasts. What the block raises is a failure of it."""
    span = telemetry().begin(activity)
    try:
        with span.here():
            yield span
    except BaseException as error:
        span.failed(type(error).__name__, str(error))
        raise
    finally:
        span.end()
