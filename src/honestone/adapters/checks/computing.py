"""Checks that only compute, where signals, deadlines and other work reach the program all the same.

A check is begun where it is asked for. What is not done after `HERE_SECONDS` is broken off and made
again in a process of its own, which ends with the task that waits for it. Where nothing can be
broken off (any thread but the main one), what may take long goes there at once.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from honestone.adapters.checks import text as text_checks
from honestone.adapters.checks.check_input import Setting, Subject
from honestone.core.artifact import Version
from honestone.core.checking.checks import KINDS, CheckAnswer, GaveUp, TextCheck
from honestone.core.errors import HonestoneError
from honestone.core.judging.rubric import Check
from honestone.ports import Finding, Output

T = TypeVar("T")

# The families of checks that start nothing and ask nobody.
COMPUTING: Final = {
    name: f"honestone.adapters.checks.{name}"
    for name in ("text", "data", "files", "trace", "likeness")
}
# How long a check may keep the event loop from everything else.
HERE_SECONDS: Final = 0.25
# Without patterns, what every check gets through in much less: characters (`levenshtein` takes their
# square), and calls of tools.
_FEW_CHARACTERS: Final = 5_000
_FEW_COMPARED: Final = 200
_FEW_CALLS: Final = 50


class _NotHere(BaseException):
    """The time is up that a check has where it is asked for. Not an Exception, as `TookTooLong`."""


class Family(Protocol):
    """A module that answers the checks of one family."""

    def find(self, check: Check, subject: Subject) -> Coroutine[Any, Any, Finding]: ...


async def found(family: Family, check: Check, subject: Subject) -> Finding:
    """What a check that only computes finds. Raises GaveUp, and UsageError for what cannot be
    applied.
    """

    def here() -> Finding:
        return at_once(family.find(check, subject))

    if _is_short(check, subject):
        return here()
    if text_checks.can_interrupt():
        _import_library(check)
        try:
            return text_checks.in_time(here, HERE_SECONDS, _NotHere)
        except _NotHere:
            return await _in_a_process(check, subject)
    if KINDS[check.kind].family == "text":  # its patterns have a process of their own there
        return await _in_thread(here)
    return await _in_a_process(check, subject)


async def text_answers(
    checks: Sequence[TextCheck], text: str, setting: Setting
) -> list[CheckAnswer]:
    """What compiled checks say of a text, in their order."""
    slow = [one for one in checks if text_checks.needs_time(one, text)]
    if not slow:
        return [one.evaluate(text) for one in checks]
    slow_answers = iter(await _slow_answers(slow, text, setting))
    return [
        next(slow_answers) if text_checks.needs_time(one, text) else one.evaluate(text)
        for one in checks
    ]


async def _slow_answers(
    checks: Sequence[TextCheck], text: str, setting: Setting
) -> list[CheckAnswer]:
    """The same of those that need time. They share what they have here."""
    if not text_checks.can_interrupt():
        return await _in_thread(lambda: text_checks.text_answers(checks, text))
    with suppress(_NotHere):
        return text_checks.in_time(
            lambda: [one.evaluate(text) for one in checks], HERE_SECONDS, _NotHere
        )
    # As an output: a text that is no file may hold what no file can.
    subject = Subject(setting, _NO_FILES, Output(text=text))
    return [await _told(one.check, subject) for one in checks]


async def _told(check: Check, subject: Subject) -> CheckAnswer:
    try:
        finding = await _in_a_process(check, subject)
    except GaveUp as why:
        return None, str(why)
    return finding.met, finding.note


async def _in_thread(work: Callable[[], T]) -> T:
    from honestone.adapters.functions import in_thread

    return await in_thread(work)


_NO_FILES: Final = Version({}, is_folder=True)


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    finally:
        work.close()
    raise AssertionError("a check that only computes waits for something")


def _is_short(check: Check, subject: Subject) -> bool:
    """Whether a check is over at once, whatever is in the text."""
    if KINDS[check.kind].family == "trace":
        trace = None if subject.output is None else subject.output.trace
        return trace is None or len(trace.tool_calls or ()) <= _FEW_CALLS
    if check.kind == "levenshtein":
        return max(len(subject.text), len(check.text)) <= _FEW_COMPARED
    if KINDS[check.kind].family == "text" or _has_patterns(check):
        return False
    sizes = (len(entry.data) for entry in subject.version.files.values())
    return len(subject.text) + sum(sizes) <= _FEW_CHARACTERS


_OF_SCHEMAS: Final = frozenset({"json-schema", "contains-json", "function-calls"})


def _has_patterns(check: Check) -> bool:
    """Whether it holds a text against a schema that has patterns, as a file may."""
    is_of_schema = check.kind in _OF_SCHEMAS and check.value is not None
    return is_of_schema and (isinstance(check.value, str) or "pattern" in repr(check.value))


def _import_library(check: Check) -> None:
    """An import that is broken off would leave half a module."""
    name = {"data": "jsonschema", "files": "markdown_it"}.get(KINDS[check.kind].family)
    if name is not None and check.kind not in ("is-json", "field-accuracy", "file-exists"):
        with suppress(ImportError):
            import_module(name)


# ------------------------------------------------------------------------------------------------------
# a process of its own


async def _in_a_process(check: Check, subject: Subject) -> Finding:
    """The same, where it ends with the task that waits for it, or at the limit of checks."""
    from honestone.adapters.checks.grading import exit_words, last_words_of
    from honestone.system.processes import process
    from honestone.system.processes.commands import NotStarted
    from honestone.system.processes.environment import base_environment

    setting = subject.setting
    asked = pickle.dumps((check, _without_objects(setting), subject.artifact, subject.output))
    try:
        ended = await process.run(
            [sys.executable, *_CHILD],
            cwd=Path(),
            env=base_environment(),
            stdin=asked,
            timeout=setting.timeout,
        )
    except NotStarted as error:
        raise GaveUp(f"no process could be started for it: {error.reason}") from None
    if ended.timed_out:
        raise GaveUp(f"it takes more than {setting.timeout:g} s")
    if ended.exit != 0:
        raise GaveUp(f"its process failed: {exit_words(ended.exit)}{last_words_of(ended)}")
    outcome: Finding | GaveUp | HonestoneError = pickle.loads(ended.stdout)
    if isinstance(outcome, Finding):
        return outcome
    raise outcome


def _without_objects(setting: Setting) -> Setting:
    return Setting(
        base=setting.base,
        folder=setting.folder,
        closed=setting.closed,
        timeout=setting.timeout,
        artifacts=setting.artifacts,
    )


_CHILD: Final = (
    "-I",
    "-c",
    f"import sys; sys.path.append(sys.argv.pop(1)); from {__name__} import main; main()",
    str(Path(__file__).parents[3]),
)


def main() -> None:
    """The process: reads a pickle of what is asked, writes one of what was found or raised. Both
    ends are ours, and no program of anybody else is started here.
    """
    check, setting, artifact, output = pickle.loads(sys.stdin.buffer.read())
    family = cast(Family, import_module(COMPUTING[KINDS[check.kind].family]))
    outcome: Finding | GaveUp | HonestoneError
    try:
        outcome = at_once(family.find(check, Subject(setting, artifact, output)))
    except (GaveUp, HonestoneError) as error:
        outcome = error
    sys.stdout.buffer.write(pickle.dumps(outcome))
