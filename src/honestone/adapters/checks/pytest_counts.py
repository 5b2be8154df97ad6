"""What the check `pytest` makes of a run of pytest: its counts, the lines that name what failed, and
which Python has it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import subprocess
import sys
from functools import cache
from typing import Final, Literal, TypeAlias, TypedDict

from honestone.core.checking.checks import CheckAnswer
from honestone.core.errors import ProgramMissing
from honestone.system.processes.commands import answer_of
from honestone.system.processes.environment import base_environment

_Counted: TypeAlias = Literal["passed", "failed", "skipped", "xfailed", "xpassed", "deselected"]
_UNMET: Final[tuple[_Counted, ...]] = ("failed", "skipped", "xfailed", "xpassed", "deselected")
_COUNTED: Final[tuple[_Counted, ...]] = ("passed", *_UNMET)


class TestCounts(TypedDict, total=False):
    """What our plugin counted in a run of pytest; `exit` is pytest's own code."""

    exit: int
    collected: int
    passed: int
    failed: int
    skipped: int
    xfailed: int
    xpassed: int
    deselected: int


def counted(answer: TestCounts, summary: str) -> CheckAnswer:
    """Met is only what was collected, run and passed, all of it."""
    code, collected = answer["exit"], answer["collected"]
    if code not in (0, 1) or not collected + answer["deselected"]:
        why = {5: "no tests were collected"}.get(
            code, f"pytest could not run the tests (exit {code})"
        )
        return None, f"{why}: {summary}" if summary else why
    if code == 1 and answer["failed"]:
        return False, summary
    if any(answer[kind] for kind in _UNMET):
        counts = ", ".join(f"{answer[kind]} {kind}" for kind in _COUNTED if answer[kind])
        return False, f"not every test passed: {counts}"
    if code != 0 or answer["passed"] != collected:
        return (
            None,
            f"the report does not fit: {collected} collected, {answer['passed']} passed, exit {code}",
        )
    return True, summary


def summary_of(printed: str) -> str:
    """The lines that name what failed, else the last line."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    if failed:
        return "; ".join(failed[:3])
    return lines[-1].strip("= ") if lines else ""


@cache
def python_with_pytest() -> str:
    """Our own Python if it has pytest, else the first on PATH that does. Raises UsageError."""
    if importlib.util.find_spec("pytest") is not None:
        return sys.executable
    for name in ("python3", "python"):
        python = shutil.which(name)
        if python is not None and _can_import_pytest(python):
            return python
    raise ProgramMissing(
        "the check `pytest` needs pytest, and no Python here has it", hint="pip install pytest"
    )


def _can_import_pytest(python: str) -> bool:
    asked = [python, "-c", "import sys; sys.path[:1] = []; import pytest"]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return answer_of(asked, 60, env=base_environment()).returncode == 0
    return False
