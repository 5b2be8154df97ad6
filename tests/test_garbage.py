"""How often Python looks for cycles: the command decides it for its own process, the package leaves
it alone.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def printed(code: str, folder: Path) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()[-1]


def test_a_command_looks_for_cycles_less_often(tmp_path: Path) -> None:
    """As Python does it, that is a twentieth of the time of a run."""
    code = (
        "import gc, sys; from honestone.__main__ import main; sys.argv = ['honestone', '--version']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\nprint(gc.isenabled(), gc.get_threshold()[0])"
    )
    assert printed(code, tmp_path) == "True 10000"


def test_a_command_that_ends_is_not_looked_through(tmp_path: Path) -> None:
    """Python does so three times when it ends: that was a tenth of the time of `show`."""
    code = (
        "import gc, sys; from honestone.__main__ import main; sys.argv = ['honestone', '--version']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\nprint(len(gc.get_objects()) < 1000)"
    )
    assert printed(code, tmp_path) == "True"


@pytest.mark.slow
def test_a_program_that_calls_the_package_keeps_its_own_setting(tmp_path: Path) -> None:
    """Calls from Python leave the collector of their process as they found it."""
    code = (
        "import gc; before = gc.get_threshold(); import honestone\n"
        "card = honestone.evaluate('an apple', {'rubric': 1, 'criteria': [{'id': 'a', 'check': {'contains': 'apple'}}]})\n"
        "print(card.passed, gc.get_threshold() == before)"
    )
    assert printed(code, tmp_path) == "True True"
