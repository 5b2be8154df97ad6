"""Calls a person's function in a process of its own and writes what came of it to stdout, which is only for that.

Standard library only: it is started as a script, and nothing of ours is to be in the function's way.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever is printed from here on goes to stderr
    asked = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    answer = json.dumps(_answer(asked)).encode()
    sys.stdout.flush()
    while answer:
        answer = answer[os.write(answers, answer) :]
    os._exit(0)  # threads that the function left behind are not waited for


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    try:
        function = _found(asked)
        if "input" not in asked:
            return {"found": True}
        returned = function(asked["input"])
        if hasattr(returned, "__await__"):
            returned = _awaited(returned)
    except BaseException as error:
        return {"error": _last_line(error)}
    try:
        json.dumps(returned, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return {"error": f"it returned {type(returned).__name__}, not a text or an object of JSON values"}
    return {"returned": returned}


def _found(asked: dict[str, Any]) -> Any:
    import importlib

    sys.path[:0] = asked["paths"]
    value: Any = importlib.import_module(asked["module"])
    for name in asked["function"].split("."):
        value = getattr(value, name)
    if not callable(value):
        raise TypeError(f"{asked['function']} is not a function")
    return value


def _awaited(returned: Any) -> Any:
    import asyncio

    async def wait() -> Any:
        return await returned

    return asyncio.run(wait())


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1]}" if lines else type(error).__name__


if __name__ == "__main__":
    main()
