"""`python -m honestone.evaluate`: the command line of improvement-evaluator, flag for flag.

`honestone.evaluate(...)` is a function of the package as well; so that it stays one after this module was imported, the
module itself can be called.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any


def main(args: Sequence[str] | None = None) -> None:
    """Ends the process with the exit code of the verdict, or 2 with what is wrong."""
    from honestone.cli.main import main as run
    from honestone.cli.stages.evaluate import compat_command

    run(args, command=compat_command, name="python -m honestone.evaluate")


class _Callable(ModuleType):
    def __call__(self, *args: Any, **named: Any) -> Any:
        from honestone.api import evaluate

        return evaluate(*args, **named)


sys.modules[__name__].__class__ = _Callable

if __name__ == "__main__":
    main()
