"""Runs a person's tests or function in a process of its own and leaves a sealed answer in a file.

What is asked is the first line of stdin, with the name of the file and the seal's key: no argument,
variable or open descriptor gives them to the code that is judged. Started as a script, also by
other Pythons than ours: nothing but the standard library, and nothing newer than 3.8.
"""

from __future__ import annotations

import sys

if not getattr(sys.flags, "safe_path", False):
    sys.path[:1] = []  # our own folder holds modules with everyday names

import builtins
import contextlib
import json
import os
from types import FunctionType

try:
    from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` costs more than all of the rest
    from collections.abc import Callable, Iterator
    from typing import Any, TypedDict

    class Tests(TypedDict):
        """What is asked about tests; `paths` are the folders of the artifact."""

        kind: str
        root: str
        tests: str
        files: list[str]
        paths: list[str]

    Call = TypedDict(
        "Call",
        {
            "kind": str,
            "module": str,
            "function": str,
            "with": str,
            "before": "list[str]",
            "after": "list[str]",
        },
    )
    """What is asked about a function; `before` and `after` go around the module path."""

    class Returned(TypedDict):
        """What a function answered; `met` None: it could not be judged."""

        met: bool | None
        note: str | None


def main() -> None:
    asked = json.loads(sys.stdin.buffer.readline())
    leave = sealed(
        os.path.join(os.path.dirname(asked["root"]), asked.pop("file")), asked.pop("key").encode()
    )
    if asked["kind"] == "pytest":
        run_tests(asked, leave)
    else:
        os.dup2(2, 1)  # whatever is printed from here on goes to stderr
        leave(call(asked))


def sealed(path: str, key: bytes) -> Callable[[object], None]:
    """A function that writes the answer and ends the process. Only C functions, taken before any
    judged code runs, have a part in it: replacing `os.write` or `json.dumps` later changes nothing.
    """
    flags, create, write, end, digest = (
        os.O_WRONLY | os.O_CREAT | os.O_EXCL,
        os.open,
        os.write,
        os._exit,
        sha256,
    )

    def leave(answer: object) -> None:
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        data = f"{answer!r}".encode("utf-8", "replace")
        write(
            create(path, flags, 0o600), digest(key + data + key).hexdigest().encode() + b"\n" + data
        )
        end(0)

    return leave


# ----------------------------------------------------------------------------------------------------------
# pytest


def run_tests(asked: Tests, leave: Callable[[object], None]) -> None:
    import pytest

    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    witness = Witness(asked)
    # The first setting that pytest would find in the folder of the tests, and none of a folder
    # above it.
    words = ["-c", settings_of(asked["tests"].partition("::")[0]), "--rootdir", asked["root"]]
    words += [
        "--confcutdir",
        asked["root"],
        "-q",
        "-rfE",
        "--color=no",
        "--tb=short",
        "-p",
        "no:cacheprovider",
    ]
    code = int(pytest.main([asked["tests"], *words], plugins=[witness]))
    leave(dict(witness.counts(), exit=code))


def settings_of(tests: str) -> str:
    import pathlib

    from _pytest.config.findpaths import load_config_dict_from_file

    folder = tests if os.path.isdir(tests) else os.path.dirname(tests)
    for name in (
        "pytest.toml",
        ".pytest.toml",
        "pytest.ini",
        ".pytest.ini",
        "pyproject.toml",
        "tox.ini",
        "setup.cfg",
    ):
        path = pathlib.Path(folder, name)
        if path.is_file() and load_config_dict_from_file(path) is not None:
            return str(path)
    return os.devnull


class Witness:
    """A pytest plugin that counts what was collected and how each test ended, and watches pytest's
    own parts.
    """

    def __init__(self, asked: Tests) -> None:
        import pytest

        self._asked = asked
        self._ends: dict[str, str] = {}
        self._items: dict[int, tuple[Any, object]] = {}
        self._deselected = 0
        self._patched = False
        pytest.hookimpl(tryfirst=True)(Witness.pytest_runtest_setup)
        pytest.hookimpl(trylast=True)(Witness.pytest_collection_finish)
        pytest.hookimpl(trylast=True)(Witness.pytest_sessionfinish)

    def counts(self) -> dict[str, int]:
        ends = list(self._ends.values())
        found = {
            kind: ends.count(kind) for kind in ("passed", "failed", "skipped", "xfailed", "xpassed")
        }
        return dict(
            found,
            collected=len(self._items),
            deselected=self._deselected,
            patched=int(self._patched),
        )

    # -- hooks, in the order in which they are called

    def pytest_load_initial_conftests(self, early_config: Any) -> None:
        """After installed plugins, before any conftest. The artifact's folders only now: neither
        pytest nor a plugin of it may come from there.
        """
        self._hooks = early_config.pluginmanager.hook
        self._parts = list(parts_of_runner())
        sys.path[:0] = [path for path in self._asked["paths"] if os.path.isdir(path)]

    def pytest_sessionstart(self) -> None:
        """What installed plugins put into pytest when they were configured is a part of it from
        here on.
        """
        self._parts = [
            (space, name, space[name] if name != CODE and is_of_plugin(space.get(name)) else part)
            for space, name, part in self._parts
        ]
        self._look()

    def pytest_collection_finish(self, session: Any) -> None:
        self._at_work = [part for part in self._parts if module_of(part[0]).endswith(AT_WORK)]
        self._items = {id(item): (item, code_of(item)) for item in session.items}
        files = frozenset(self._asked["files"])
        self._look(all(str(item.path) in files for item in session.items))

    def pytest_deselected(self, items: list[Any]) -> None:
        self._deselected += len(items)

    def pytest_runtest_setup(self, item: Any) -> None:
        known = self._items.get(id(item), (None, None))[1]
        if (
            "runtest" in vars(item)
            or code_of(item) is not known
            or any(differs(*part) for part in self._at_work)
        ):
            self._patched = True

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.outcome == "rerun":
            self._ends.pop(report.nodeid, None)
        elif (report.when == "call" or report.outcome != "passed") and self._ends.get(
            report.nodeid
        ) != "failed":
            end = report.outcome
            if hasattr(report, "wasxfail"):
                end = "xfailed" if report.skipped else "xpassed"
            self._ends[report.nodeid] = end

    def pytest_sessionfinish(self) -> None:
        self._look()

    def _look(self, is_right: bool = True) -> None:
        """Whether pytest is as it was, and no hook or tracer is the judged code's."""
        hooks = [
            one.function for caller in vars(self._hooks).values() for one in caller.get_hookimpls()
        ]
        watching = [
            getattr(one, "__code__", None) for one in (*hooks, sys.gettrace(), sys.getprofile())
        ]
        theirs = ("<", *(path + os.sep for path in self._asked["paths"]))
        if (
            not is_right
            or any(code is not None and code.co_filename.startswith(theirs) for code in watching)
            or any(differs(*part) for part in self._parts)
        ):
            self._patched = True


RUNNER = {"pytest", "_pytest", "pluggy", "unittest"}
CODE, NAMES = "()", "*"
# The modules that decide how a test ends: looked at before each test, all others when all tests are
# done.
AT_WORK = (
    ".runner",
    ".python",
    ".nodes",
    ".reports",
    ".raises",
    ".outcomes",
    ".skipping",
    ".unittest",
    ".rewrite",
    "_hooks",
)

REPLACED_BY_TESTS = {"print", "input", "open", "breakpoint", "help", "exit", "quit"}


def parts_of_runner() -> Iterator[tuple[Any, str, Any]]:
    """What pytest is made of: where it is held, under which name, and what it is now."""
    for name, value in vars(builtins).items():
        if callable(value) and name not in REPLACED_BY_TESTS:
            yield vars(builtins), name, value
    for module in [
        module for name, module in list(sys.modules.items()) if name.partition(".")[0] in RUNNER
    ]:
        for name, value in list(vars(module).items()):
            if isinstance(value, (FunctionType, type)):
                yield vars(module), name, value
            if isinstance(value, FunctionType):
                yield value, CODE, value.__code__
            elif isinstance(value, type) and value.__module__ == module.__name__:
                yield vars(value), NAMES, frozenset(vars(value))
                for key, part in list(vars(value).items()):
                    if isinstance(part, (FunctionType, property, classmethod, staticmethod)):
                        yield vars(value), key, part
                    if isinstance(part, FunctionType):
                        yield part, CODE, part.__code__


def module_of(space: Any) -> str:
    found = (
        space.__module__
        if isinstance(space, FunctionType)
        else space.get("__module__") or space.get("__name__")
    )
    return str(found)


def differs(space: Any, name: str, part: Any) -> bool:
    if name == NAMES:
        new = [] if len(space) == len(part) else [space[key] for key in space.keys() - part]
        return any(
            (callable(one) or hasattr(one, "__get__")) and not is_of_plugin(one) for one in new
        )
    return (space.__code__ if name == CODE else space.get(name)) is not part


def is_of_plugin(part: object) -> bool:
    file = getattr(getattr(part, "__code__", None), "co_filename", "")
    return "-packages" + os.sep in file and not any(
        os.sep + name + os.sep in file for name in RUNNER
    )


def code_of(item: Any) -> object:
    return getattr(getattr(item, "function", None), "__code__", None)


# ----------------------------------------------------------------------------------------------------------
# python


def call(asked: Call) -> Returned:
    import importlib

    given: Any = sys.stdin.buffer.read().decode("utf-8")
    sys.path[:0] = asked["before"]
    sys.path += asked["after"]
    if asked["with"] == "path":
        import pathlib

        given = pathlib.Path(os.environ["HONESTONE_ARTIFACT"])
    try:
        function = getattr(importlib.import_module(asked["module"]), asked["function"])
        returned = function(given)
    except AssertionError as error:
        return {"met": False, "note": as_text(error) or failed_line(error)}
    except BaseException as error:
        return {"met": None, "note": f"raised {type(error).__name__}: {as_text(error)}"[:300]}
    if isinstance(returned, bool):
        return {"met": returned, "note": f"returned {returned}"}
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[0], bool):
        return {
            "met": returned[0],
            "note": None if returned[1] is None else as_text(returned[1])[:300],
        }
    return {"met": None, "note": f"returned {repr(returned)[:100]}, not True or False"}


def as_text(value: object) -> str:
    """Exactly a str: one of a class of its own could write itself into the answer as something
    else.
    """
    return "".join((str(value), ""))


def failed_line(error: BaseException) -> str:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    return "failed: {}".format(frames[-1].line if frames else "an assertion")


if __name__ == "__main__":
    main()
