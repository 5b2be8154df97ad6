"""`python -m honestone.evaluate`: the command line of improvement-evaluator, flag for flag."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import honestone


class CallableModule(ModuleType):
    """`honestone.evaluate` stays a function after the module of that name was imported: the module can be called."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        return honestone.__getattr__("evaluate")(*args, **named)


def main(args: Sequence[str] | None = None) -> None:
    """Ends the process with the exit code of the verdict, or 2 with what is wrong."""
    from honestone.cli.main import main as run
    from honestone.cli.stages.evaluate import compat_command

    run(args, command=compat_command, name="python -m honestone.evaluate")
