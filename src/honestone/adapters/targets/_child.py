"""Calls a person's function in a process of its own, again and again: a request comes over a
socket, its answer goes back.

Standard library only: it is started as a script, and nothing of ours is to be in the function's
way. Each message is four bytes with its length and that many bytes of JSON. The first names the
function, each later one is a call.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any, TypedDict

# Variables that belong to one call begin with this.
MARK = "HONESTONE_"


class Asked(TypedDict, total=False):
    """A message: the first has the function and the `paths` of its module, each later one a call."""

    module: str
    function: str
    paths: list[str]
    env: dict[str, str]
    cwd: str
    input: Any
    artifact: str | None


class Answer(TypedDict, total=False):
    """What goes back: that the function was found, what it returned, or why it failed."""

    found: bool
    returned: Any
    error: str


def main() -> None:
    os.dup2(2, 1)  # whatever is printed goes to stderr
    wire = socket.socket(fileno=int(sys.argv[1]))
    wire.set_inheritable(False)
    calls, source = _Calls(), wire.makefile("rb")
    while (asked := _read_message(source)) is not None:
        answer = calls.answer(asked)
        sys.stdout.flush()
        wire.sendall(len(answer).to_bytes(4, "big") + answer)
    os._exit(0)  # threads that the function left behind are not waited for


def _read_message(source: Any) -> Asked | None:
    """None when the other end is closed."""
    size = source.read(4)
    body = source.read(int.from_bytes(size, "big")) if len(size) == 4 else b""
    return json.loads(body) if body else None


class _Calls:
    """The function, once it is found, and an event loop that async ones share, with the clients
    that they keep.
    """

    def __init__(self) -> None:
        self._function: Any = None
        self._parameter: Any = None
        self._runner: Any = None

    def answer(self, asked: Asked) -> bytes:
        try:
            if self._function is None:
                self._function = _found(asked)
                self._parameter = artifact_parameter(self._function)
                answer: Answer = {"found": True}
            else:
                answer = {"returned": self._called(asked)}
        except BaseException as error:
            answer = {"error": last_line(error)}
        try:
            return json.dumps(answer, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError):
            what = type(answer["returned"]).__name__
            return json.dumps(
                {"error": f"it returned {what}, not a text or an object of JSON values"}
            ).encode()

    def _called(self, asked: Asked) -> Any:
        for name in [
            name for name in os.environ if name.startswith(MARK) and name not in asked["env"]
        ]:
            del os.environ[name]
        os.environ.update(asked["env"])
        folder = os.open(asked["cwd"], os.O_RDONLY)
        os.fchdir(folder)
        os.close(folder)
        given, named = arguments(self._parameter, asked["input"], asked["artifact"])
        returned = self._function(*given, **named)
        return self._awaited(returned) if hasattr(returned, "__await__") else returned

    def _awaited(self, returned: Any) -> Any:
        import asyncio

        async def wait() -> Any:
            return await returned

        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(wait())


def _found(asked: Asked) -> Any:
    import importlib

    sys.path[:0] = asked["paths"]
    is_file = asked["module"].endswith(".py")
    value: Any = _module_of(asked) if is_file else importlib.import_module(asked["module"])
    for name in asked["function"].split("."):
        value = getattr(value, name)
    if not callable(value):
        raise TypeError(f"{asked['function']} is not a function")
    return value


def _module_of(asked: Asked) -> Any:
    """The module in a file, which is looked up in the paths."""
    import importlib.util

    places = [os.path.join(place, asked["module"]) for place in asked["paths"]]
    path = next((one for one in places if os.path.isfile(one)), None)
    if path is None:
        raise FileNotFoundError(f"the file {asked['module']} is not there")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    name = os.path.basename(path).removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def artifact_parameter(function: Any) -> Any:
    """The parameter that takes the artifact: the one of this name, else a second one that has to be
    given; None for none.
    """
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions say nothing
        return None
    plain = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    found = next((p for p in plain if p.name == "artifact"), None)
    second = [p for p in plain if p.kind is not p.KEYWORD_ONLY][1:2]
    return found or next((p for p in second if p.default is p.empty), None)


def arguments(parameter: Any, given: Any, artifact: Any) -> tuple[list[Any], dict[str, Any]]:
    """What a function with this `artifact_parameter` is called with. `artifact` is a path or None.
    Raises TypeError where one is needed and not there.
    """
    if parameter is None or (artifact is None and parameter.default is not parameter.empty):
        return [given], {}
    if artifact is None:
        raise TypeError("it takes an artifact, but this run is given none")
    from pathlib import Path

    if parameter.kind is parameter.KEYWORD_ONLY:
        return [given], {parameter.name: Path(artifact)}
    return [given, Path(artifact)], {}


def last_line(error: BaseException) -> str:
    """`ValueError: WHY`, with the last line of a longer text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1]}" if lines else type(error).__name__


if __name__ == "__main__":
    main()
