"""One finished run for every test of a module."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .finished_run import BOT, JUDGE, SUITE, command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished run."""
    made = tmp_path_factory.mktemp("suite")
    (made / "suite.json").write_text(json.dumps(SUITE))
    (made / "bot.py").write_text(BOT)
    (made / "judge.py").write_text(JUDGE)
    ended = command(made, "eval", "suite.json", "-j", f"script:{sys.executable} judge.py", "-q")
    assert ended.returncode == 1, ended.stderr
    (made / "run").write_text(json.loads(command(made, "show", "last", "--json").stdout)["run"])
    return made
