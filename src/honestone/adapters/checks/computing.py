"""Checks that only compute, where signals, deadlines and other work reach the program all the same.

A check is begun where it is asked for. What is not done after `HERE_SECONDS` is broken off and made
again in a process of its own, which ends with the task that waits for it. Where nothing can be
broken off (any thread but the main one), what may take long goes there at once. Only the kinds of
other packages run to their end where they are: what breaking them off would leave is not known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, cast

from honestone.adapters.checks import text as text_checks
from honestone.adapters.checks.check_input import Setting, Subject
from honestone.core.artifact import Version
from honestone.core.checking.checks import (
    KINDS,
    CheckAnswer,
    GaveUp,
    TextCheck,
    compile_text_check,
    visible,
)
from honestone.core.checking.looks import listed_words
from honestone.core.errors import HonestoneError
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Check
from honestone.ports import Finding, Output

if TYPE_CHECKING:
    from honestone.system.processes.process import Ended

T = TypeVar("T")

# The families of checks that start nothing and ask no person or judge.
COMPUTING: Final = {
    name: f"honestone.adapters.checks.{name}"
    for name in ("text", "data", "files", "trace", "likeness")
}
# How long a check may keep the event loop from everything else.
HERE_SECONDS: Final = 0.25


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

    if KINDS[check.kind].package:
        return here()
    if text_checks.can_interrupt():
        with suppress(_NotHere):
            return await _within_time(here)
    elif is_short(check, subject):
        return here()
    (finding,) = await _in_processes([check], subject)
    return finding


async def answers_in_reach(
    checks: Sequence[TextCheck], text: str, setting: Setting
) -> list[CheckAnswer]:
    """What compiled checks say of a text, in their order."""
    slow = [one for one in checks if text_checks.needs_time(one, text)]
    if not slow:
        return [one.evaluate(text) for one in checks]
    return text_checks.among_quick(checks, text, await _slow_answers(slow, text, setting))


async def _slow_answers(
    checks: Sequence[TextCheck], text: str, setting: Setting
) -> list[CheckAnswer]:
    """The same of those that need time. They share what they have here."""
    if not text_checks.can_interrupt():
        return [await text_checks.searched_apart(one.check, text) for one in checks]
    with suppress(_NotHere):
        return await _within_time(lambda: [one.evaluate(text) for one in checks])
    # As an output: a text that is no file may hold what no file can.
    subject = Subject(setting, _NO_FILES, Output(text=text))
    findings = await _in_processes([one.check for one in checks], subject)
    return [(one.met, one.note) for one in findings]


_NO_FILES: Final = Version({}, is_folder=True)


async def _within_time(work: Callable[[], T]) -> T:
    """Raises _NotHere. Others have their turn after it, so that many checks in a row keep no other work
    waiting.
    """
    from asyncio import sleep

    done = text_checks.in_time(work, HERE_SECONDS, _NotHere)
    await sleep(0)
    return done


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    finally:
        work.close()
    raise AssertionError("a check that only computes waits for something")


# ------------------------------------------------------------------------------------------------------
# what is over at once, where nothing can be broken off

# What each of these gets through in much less than `HERE_SECONDS`: characters, compared characters
# (`levenshtein` takes their square), calls of tools, and characters of a text times those of the
# schema that it is held against.
_FEW_CHARACTERS: Final = 5_000
_FEW_COMPARED: Final = 200
_FEW_CALLS: Final = 50
_FEW_STEPS: Final = 1_000_000

# Each part of a text is looked at about once.
_LOOKED_AT_ONCE: Final = frozenset(
    {"is-json", "field-accuracy", "file-exists", "rouge-n", "bleu", "gleu"}
)
# What a schema may take long by, however small it and the text are.
_LONG_IN_SCHEMAS: Final = late_pattern(r"pattern|\$\w*[rR]ef|uniqueItems")
# Three stars of a glob may share out a name in as many ways as it has letters, cubed.
_MANY_STARS: Final = late_pattern(r"\*[^*]+\*[^*]+\*")


def is_short(check: Check, subject: Subject) -> bool:
    """Whether a check is over at once, whatever is in the text."""
    if any(map(_MANY_STARS.search, _globs(check))):
        return False
    family, size = KINDS[check.kind].family, _size(subject)
    if family == "trace":
        calls = _tool_names(subject)
        return len(calls) <= _FEW_CALLS and sum(map(len, calls)) <= _FEW_CHARACTERS
    if family == "text":
        guarded = compile_text_check(check).guard_from
        return guarded is None or size < guarded
    if check.kind == "levenshtein":
        return max(len(subject.text), len(check.text)) <= _FEW_COMPARED
    if check.kind == "links-resolve":
        return size <= _FEW_CHARACTERS and "beside" not in check.options
    if check.kind in ("json-schema", "contains-json", "function-calls"):
        return _has_short_schema(check, size)
    return size <= _FEW_CHARACTERS and check.kind in _LOOKED_AT_ONCE


def _globs(check: Check) -> Iterator[str]:
    yield from listed_words(check.option("path", ""))
    if check.kind == "file-exists":
        yield from check.words
    elif KINDS[check.kind].family == "trace":
        yield repr(check.value)


def _size(subject: Subject) -> int:
    """Of everything that a check may look at, in characters or bytes."""
    files = subject.version.files.items()
    said = sum(map(len, (subject.text, subject.diff or "", *subject.replies)))
    return said + sum(len(path) + len(entry.data) for path, entry in files)


def _tool_names(subject: Subject) -> list[str]:
    trace = None if subject.output is None else subject.output.trace
    return [] if trace is None else [call.name for call in trace.tool_calls or ()]


def _has_short_schema(check: Check, size: int) -> bool:
    """A schema that is in a file may be any."""
    if isinstance(check.value, str) or check.options.get("exact") == "javascript":
        return False
    schema = repr(check.value)
    is_simple = _LONG_IN_SCHEMAS.search(schema) is None
    return is_simple and size <= _FEW_CHARACTERS and size * len(schema) <= _FEW_STEPS


# ------------------------------------------------------------------------------------------------------
# a process of its own

# What the process says of a check: what it found, or the person's mistake.
_Outcome: TypeAlias = Finding | HonestoneError


async def _in_processes(checks: Sequence[Check], subject: Subject) -> list[Finding]:
    """The same, where it ends with the task that waits for it. One process takes them in their
    order; where it ends early, the next one begins with the check that this one was at. A check
    could not be judged where a process that began with it gave no answer.
    """
    findings: list[Finding] = []
    while len(findings) < len(checks):
        findings += await _in_a_process(checks[len(findings) :], subject)
    return findings


async def _in_a_process(checks: Sequence[Check], subject: Subject) -> list[Finding]:
    """What it found of the first checks: of one at least."""
    import pickle

    from honestone.system.processes import process
    from honestone.system.processes.commands import NotStarted
    from honestone.system.processes.environment import base_environment

    setting = subject.setting
    asked = (checks, _without_objects(setting), subject.artifact, subject.output)
    try:
        ended = await process.run(
            [sys.executable, "-I", "-c", _CHILD],
            cwd=Path(),
            env=base_environment(),
            stdin=pickle.dumps(sys.path) + pickle.dumps(asked),
            timeout=setting.timeout,
        )
    except NotStarted as error:
        return [_not_judged(f"no process could be started for it: {error.reason}")]
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        return [_not_judged(f"no process can be given it: {error}")]
    outcomes = [pickle.loads(one) for one in _parts(ended.stdout)]
    return [_finding_of(one) for one in outcomes] or [_not_judged(_why_none(ended, setting))]


def _not_judged(why: str) -> Finding:
    return Finding(met=None, note=visible(why))


def _finding_of(outcome: _Outcome) -> Finding:
    if isinstance(outcome, Finding):
        return outcome
    raise outcome


def _why_none(ended: Ended, setting: Setting) -> str:
    from honestone.adapters.checks.grading import exit_words, last_words_of

    if ended.timed_out:
        return f"it takes more than {setting.timeout:g} s"
    return f"its process failed: {exit_words(ended.exit)}{last_words_of(ended)}"


def _without_objects(setting: Setting) -> Setting:
    return Setting(
        base=setting.base,
        folder=setting.folder,
        closed=setting.closed,
        timeout=setting.timeout,
        artifacts=setting.artifacts,
    )


# It imports from where we do: another honestone may be installed for the same Python.
_CHILD: Final = f"""\
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from {__name__} import main
main()
"""
_SIZE: Final = 8


def _parts(answer: bytes) -> Iterator[bytes]:
    """Each is written as its length and its bytes; the last may be cut off."""
    while len(answer) > _SIZE:
        end = _SIZE + int.from_bytes(answer[:_SIZE], "big")
        if end > len(answer):
            return
        yield answer[_SIZE:end]
        answer = answer[end:]


def main() -> None:
    """The process: reads a pickle of what is asked, and writes one of what each check found or
    raised. Both ends are ours, and no program of anybody else is started here.
    """
    import os
    import pickle

    checks, setting, artifact, output = pickle.load(sys.stdin.buffer)
    _limit_time(setting.timeout)
    answer = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no answer
    subject = Subject(setting, artifact, output)
    with open(answer, "wb") as file:
        for check in checks:
            written = pickle.dumps(_outcome(check, subject))
            file.write(len(written).to_bytes(_SIZE, "big") + written)
            file.flush()


def _limit_time(seconds: float) -> None:
    """For when the process that would end it is gone."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = int(min(seconds, _LONGEST)) + 1
    if most == resource.RLIM_INFINITY or wanted <= most:
        resource.setrlimit(resource.RLIMIT_CPU, (wanted, most))


_LONGEST: Final = 1_000_000


def _outcome(check: Check, subject: Subject) -> _Outcome:
    family = cast(Family, import_module(COMPUTING[KINDS[check.kind].family]))
    try:
        return at_once(family.find(check, subject))
    except GaveUp as why:
        return _not_judged(str(why))
    except HonestoneError as error:
        return error
