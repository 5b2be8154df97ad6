"""Checks of a text. The rules are in `core.checking.checks`; here patterns that could run for ever are kept
to a time.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Final, TypeVar

from honestone.adapters.checks.check_input import Subject, over_texts
from honestone.core.checking.checks import (
    CheckAnswer,
    TextCheck,
    compile_text_check,
    line_of,
    quoted,
    searches,
    visible,
)
from honestone.core.checking.javascript.looks import is_javascript
from honestone.core.checking.javascript.patterns import of_units
from honestone.core.judging.rubric import Check
from honestone.ports import Finding

T = TypeVar("T")

PATTERN_SECONDS: Final = 5.0
_AGAIN_SECONDS: Final = 0.1
TOOK_TOO_LONG: Final = f"the pattern takes more than {PATTERN_SECONDS:g} s on this text (repeats that overlap: simplify it)"


class TookTooLong(BaseException):
    """Not an Exception, so that no library swallows it on its way."""


async def find(check: Check, subject: Subject) -> Finding:
    compiled = compile_text_check(check)
    met, note = over_texts(check, subject, lambda text: text_answer(compiled, text))
    return Finding(met=met, note=note)


def text_answers(checks: Sequence[TextCheck], text: str) -> list[CheckAnswer]:
    """What compiled checks say of a text, each in bounded time.

    Setting an alarm takes longer than most patterns, so one is set for all of them. When it rings,
    each pattern is tried again by itself, with the whole time.
    """
    slow = [one for one in checks if needs_time(one, text)]
    if len(slow) > 1 and can_interrupt():
        try:
            found = in_time(lambda: [one.evaluate(text) for one in slow], PATTERN_SECONDS)
        except TookTooLong:
            pass
        else:
            return among_quick(checks, text, found)
    return [text_answer(one, text) for one in checks]


def among_quick(
    checks: Sequence[TextCheck], text: str, slow_answers: Iterable[CheckAnswer]
) -> list[CheckAnswer]:
    """The answers of all checks in their order: `slow_answers` are those of the ones that need
    time.
    """
    answers = iter(slow_answers)
    return [next(answers) if needs_time(one, text) else one.evaluate(text) for one in checks]


def needs_time(compiled: TextCheck, text: str) -> bool:
    """Whether a pattern may take long on a text of this length."""
    return compiled.guard_from is not None and len(text) >= compiled.guard_from


def text_answer(compiled: TextCheck, text: str) -> CheckAnswer:
    """What a compiled check says of a text, in bounded time."""
    if not needs_time(compiled, text) or _is_limited():
        return compiled.evaluate(text)
    try:
        if can_interrupt():
            return in_time(lambda: compiled.evaluate(text), PATTERN_SECONDS)
    except TookTooLong:
        return None, TOOK_TOO_LONG
    import asyncio

    from honestone.system.processes.environment import in_a_thread_that_starts

    return in_a_thread_that_starts(lambda: asyncio.run(searched_apart(compiled.check, text)))


# ------------------------------------------------------------------------------------------------------
# time limit


def can_interrupt() -> bool:
    """Whether a signal can break off what this thread computes: the main thread, with the alarm not
    in use.
    """
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)
        and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    )


class _Alarm:
    """The handler of SIGALRM while `in_time` computes."""

    def __init__(self, error: type[BaseException]) -> None:
        self._error = error
        self.is_over = False

    def __call__(self, _number: int, frame: FrameType | None) -> None:
        if not self.is_over and not _imports(frame):
            raise self._error


def _imports(frame: FrameType | None) -> bool:
    """Whether what `in_time` computes is importing. Broken off, that would leave half a module."""
    while frame is not None and frame.f_code is not in_time.__code__:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _is_limited() -> bool:
    """Whether `in_time` limits what this thread computes: no limit fits within another."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and isinstance(signal.getsignal(signal.SIGALRM), _Alarm)


def in_time(
    compute: Callable[[], T], seconds: float, error: type[BaseException] = TookTooLong
) -> T:
    """Compute, or raise `error`. The pattern matcher looks for signals as it goes, so it can be
    broken off.
    """
    alarm = _Alarm(error)
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        # Again and again: what is raised while Python frees an object is lost.
        signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_SECONDS)
        try:
            return compute()
        finally:
            alarm.is_over = True
    finally:
        alarm.is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


_SEARCH: Final = """\
import json, re, sys, warnings
warnings.simplefilter("ignore")
found = None
for number, asked in enumerate(json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogatepass"))):
    match = re.search(asked["pattern"], asked["text"], asked["flags"])
    if match is not None:
        found = [number, match.start(), match[0][:100]]
        break
json.dump(found, sys.stdout)
"""


async def searched_apart(check: Check, text: str) -> CheckAnswer:
    """The same search in a process that ends with the task that waits for it: some 20 ms slower, for
    threads that no signal reaches.
    """
    from honestone.system.processes import process
    from honestone.system.processes.commands import NotStarted
    from honestone.system.processes.environment import base_environment
    from honestone.system.processes.program import how_ended

    tried = searches(check, text)
    asked = [
        {"pattern": pattern.pattern, "flags": int(pattern.flags), "text": one}
        for pattern, one in tried
    ]
    try:
        ended = await process.run(
            [sys.executable, "-I", "-S", "-c", _SEARCH],
            cwd=Path(),
            env=base_environment(),
            # As they are: escaped, two halves of a character would be read as one.
            stdin=json.dumps(asked, ensure_ascii=False).encode("utf-8", "surrogatepass"),
            timeout=PATTERN_SECONDS,
        )
    except NotStarted as error:
        return None, f"the pattern could not be tried: {error.reason}"
    if ended.timed_out:
        return None, TOOK_TOO_LONG
    if ended.exit != 0:
        return None, f"the pattern could not be tried: its process {how_ended(ended)}"
    match = json.loads(ended.stdout)
    if (match is None) == check.negated:
        return True, None
    if match is None:
        written = str(check.value) if is_javascript(check) else tried[0][0].pattern
        return False, f"nothing matches /{visible(written, 120)}/"
    number, start, matched = match
    return False, f"found {quoted(of_units(matched))} on line {line_of(tried[number][1], start)}"
