"""Runs a person's tests or function in a process of its own and writes the outcome to stdout, which is only for that.

Started as a script, also by other Pythons than ours: nothing but the standard library, and nothing newer than 3.8.
"""

from __future__ import annotations

import sys

if not getattr(sys.flags, "safe_path", False):
    sys.path[:1] = []  # our own folder holds modules with everyday names

import json
import os
from typing import Any


def main() -> None:
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever is printed from here on goes to stderr
    kind, asked = sys.argv[1], json.loads(sys.argv[2])
    answer = run_tests(asked) if kind == "pytest" else call(asked)
    sys.stdout.flush()
    os.write(answers, json.dumps(answer).encode())


def run_tests(asked: dict[str, Any]) -> dict[str, Any]:
    import pytest

    # Only now: pytest itself must not come from the artifact, but the artifact's modules win over installed ones.
    sys.path[:0] = [path for path in asked["paths"] if os.path.isdir(path)]
    words = ["-q", "-rfE", "--color=no", "--tb=short", "-p", "no:cacheprovider", "--rootdir", asked["root"]]
    return {"exit": int(pytest.main([asked["tests"], *words]))}


def call(asked: dict[str, Any]) -> dict[str, Any]:
    import importlib

    sys.path[:0] = asked["before"]
    sys.path += asked["after"]
    given: Any = sys.stdin.buffer.read().decode("utf-8")
    if asked["with"] == "path":
        import pathlib

        given = pathlib.Path(os.environ["HONESTONE_ARTIFACT"])
    try:
        function = getattr(importlib.import_module(asked["module"]), asked["function"])
        returned = function(given)
    except AssertionError as error:
        return {"met": False, "note": str(error) or failed_line(error)}
    except BaseException as error:
        return {"met": None, "note": f"raised {type(error).__name__}: {error}"[:300]}
    if isinstance(returned, bool):
        return {"met": returned, "note": f"returned {returned}"}
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[0], bool):
        return {"met": returned[0], "note": None if returned[1] is None else str(returned[1])[:300]}
    return {"met": None, "note": f"returned {repr(returned)[:100]}, not True or False"}


def failed_line(error: BaseException) -> str:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    return "failed: {}".format(frames[-1].line if frames else "an assertion")


if __name__ == "__main__":
    main()
