"""What a program sees of us: the variables that it gets, and nothing of our environment or memory."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final, TypeVar

from honestone.core.judging.needs import MachineNeeds
from honestone.core.record.secret_names import looks_secret
from honestone.system.telemetry import telemetry

T = TypeVar("T")
_PR_SET_DUMPABLE: Final = 4

_PASSED_ON: Final = frozenset(
    {
        "PATH",
        "LANG",
        "LANGUAGE",
        "HOME",
        "TMPDIR",
        "TEMP",
        "TMP",
        "TERM",
        "COLORTERM",
        "NO_COLOR",
        "TZ",
    }
    | {"USER", "LOGNAME", "SHELL", "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR"}
    | {"SYSTEMROOT", "COMSPEC", "PATHEXT"}
)


def base_environment(
    extra: Mapping[str, str] | None = None, pass_names: Iterable[str] = ()
) -> dict[str, str]:
    """The variables that a program gets: a short list of harmless ones, those named, and `extra` as
    it is.

    Whatever looks like a key, token or password stays out unless its name is in `pass_names`.
    TRACEPARENT, where it is named, is that of the call under way.
    """
    named = frozenset(pass_names)
    env = {name: value for name, value in os.environ.items() if name in named or _is_harmless(name)}
    # Last, so that it only helps where there is no other: commands of ours and of rubrics say
    # `python3`.
    env["PATH"] = os.pathsep.join([env.get("PATH", os.defpath), os.path.dirname(sys.executable)])
    if "TRACEPARENT" in named:
        env.update(telemetry().variables())
    env.update(extra or {})
    return env


def needs_of_variables(pass_names: Iterable[str]) -> MachineNeeds:
    """What programs that are given these variables need. TRACEPARENT is made for each call."""
    return MachineNeeds(variables=tuple(name for name in pass_names if name != "TRACEPARENT"))


@cache
def _is_harmless(name: str) -> bool:
    return (name in _PASSED_ON or name.startswith("LC_")) and not looks_secret(name)


@cache
def hide_our_environment() -> None:
    """From here on our own environment, with its keys, cannot be read through /proc, nor our
    memory. Then no core of ours is written either. Root reads it by capabilities: see
    `give_up_looking_into_others`.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def give_up_looking_into_others() -> None:
    """Takes from this thread, and from the programs that it starts, the capabilities to read
    another process's environment. For threads that start a program and end: it cannot be taken
    back. Only root has them.
    """
    if sys.platform == "linux" and os.geteuid() == 0:
        from honestone.system.processes._child import LOOKS_INTO_OTHERS, drop_capabilities, libc

        drop_capabilities(libc(), LOOKS_INTO_OTHERS)


def in_a_thread_that_starts(start: Callable[[], T]) -> T:
    """What `start` returns, called in a thread of its own, whose programs cannot look into us."""
    outcome: list[T] = []
    problem: list[BaseException] = []

    def work() -> None:
        try:
            hide_our_environment()
            give_up_looking_into_others()
            outcome.append(start())
        except BaseException as error:
            problem.append(error)

    thread = threading.Thread(target=work, name="honestone-start")
    thread.start()
    thread.join()
    if problem:
        raise problem[0]
    return outcome[0]
