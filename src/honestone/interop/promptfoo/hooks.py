"""Code that changes the variables of tests before they run: `transformVars`, and the functions of
`extensions`. It is run with a person's permission only, once for all tests, before anything is
spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from honestone.core.checking.script import Script
from honestone.core.errors import UsageError
from honestone.core.json_value import Json
from honestone.formats.syntax.document import RunCode
from honestone.formats.syntax.reader import FileEntry, shown
from honestone.interop.promptfoo.code import json_values, script_of
from honestone.interop.sibling_files import SiblingFiles

# A test as code hears of it: its `vars`, and what else it says.
Test: TypeAlias = Mapping[str, Any]
Variables: TypeAlias = dict[str, Any]

BEFORE: Final = ("beforeAll", "beforeEach")
AFTER: Final = ("afterEach", "afterAll")


class Extension(Struct, frozen=True, kw_only=True):
    """A function that is called before all tests and before each; only one of these where it has
    that name (`hook`).
    """

    script: Script
    hook: str | None = None

    def is_for(self, hook: str) -> bool:
        return self.hook in (None, hook)

    def arguments(self, hook: str, context: Json) -> list[Json]:
        """Those named after a hook get its name last."""
        return [hook, context] if self.hook is None else [context, {"hookName": hook}]


def read_extensions(top: FileEntry, siblings: SiblingFiles) -> list[Extension]:
    """`extensions` of a config. What they do after a test changes no verdict, and is not run."""
    found = []
    for at in top.each("extensions"):
        if not isinstance(at.value, str) or not at.value.startswith("file://"):
            at.loss(
                f"the extension {shown(at.value)} is not run",
                hint="name a function: file://hooks.js:beforeAll",
            )
            continue
        script = script_of(
            at.value,
            at.reading,
            at.path,
            siblings,
            f"the extension `{at.value[:60]}`",
            makes_cases=True,
        )
        hook = (
            script.function if script is not None and script.function in (*BEFORE, *AFTER) else None
        )
        if script is not None and hook not in AFTER:
            found.append(Extension(script=script, hook=hook))
        at.note(
            "promptfoo: extensions run confined and before the tests alone: `afterEach` and `afterAll` are not called"
        )
    return found


def variables_transformed(
    script: Script, given: Sequence[Test], run_code: RunCode
) -> list[Variables]:
    """The variables of each test with what the code returns for them. Raises UsageError."""
    made = run_code(script, [[json_values(test["vars"]), {"prompt": None}] for test in given])
    for one in made:
        if not isinstance(one, Mapping):
            raise UsageError(
                f"`transformVars` must return a mapping of variables, not {shown(one)}"
            )
    return [_changed(test, one) for test, one in zip(given, made, strict=True)]


def extended_before_all(
    extension: Extension, suite: Test, given: Sequence[Test], run_code: RunCode
) -> tuple[list[Variables], list[Json]]:
    """The variables of each test, and the tests that come after them, once a function was called
    for the whole config. Raises UsageError where it changes anything else.
    """
    whole: Any = json_values({**suite, "tests": list(given)})
    (returned,) = run_code(extension.script, [extension.arguments("beforeAll", {"suite": whole})])
    now = _returned(returned, "suite", whole)
    after, tests = now["tests"], whole["tests"]
    if not isinstance(after, list) or len(after) < len(tests) or {**now, "tests": tests} != whole:
        raise UsageError(
            "an extension changes more of the config than its tests, which is not read"
        )
    changed = [_extended(*three) for three in zip(given, tests, after, strict=False)]
    return changed, list(after[len(tests) :])


def extended_before_each(
    extension: Extension, given: Sequence[Test], run_code: RunCode
) -> list[Variables]:
    """The variables of each test once a function was called for it. Raises UsageError where it
    changes anything else.
    """
    tests: list[Any] = [json_values(test) for test in given]
    returned = run_code(
        extension.script, [extension.arguments("beforeEach", {"test": test}) for test in tests]
    )
    now = [_returned(one, "test", test) for one, test in zip(returned, tests, strict=True)]
    return [_extended(*three) for three in zip(given, tests, now, strict=True)]


def _extended(test: Test, before: Mapping[str, Any], now: Any) -> Variables:
    if not isinstance(now, Mapping) or {**now, "vars": before["vars"]} != before:
        raise UsageError(
            "an extension changes more of a test than its variables, which is not read"
        )
    return _changed(test, now.get("vars"))


def _returned(context: Any, name: str, given: Any) -> Any:
    """What a function returned at this name of its context, or what it was given where it returned
    nothing. Raises UsageError.
    """
    if not context:
        return given
    now = context.get(name) if isinstance(context, Mapping) else None
    if not isinstance(now, Mapping) or not now.keys() >= given.keys():
        raise UsageError(
            f"an extension must return its context with the whole `{name}`, or nothing"
        )
    return now


def _changed(test: Test, made: Any) -> Variables:
    """The variables of a test with those that are others now. What was not changed keeps its kind:
    one value, or several.
    """
    before: Any = json_values(test["vars"])
    now = made.items() if isinstance(made, Mapping) else ()
    return {
        **test["vars"],
        **{key: value for key, value in now if key not in before or before[key] != value},
    }
