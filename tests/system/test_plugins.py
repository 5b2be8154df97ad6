"""What installed packages add: one list of extension points, one loader, one kind of error."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import honestone
from honestone import testing
from honestone.core.errors import SettingsError
from honestone.core.plugins import CHECKS, EXTENSION_POINTS, JUDGES, STORES, ExtensionPoint
from honestone.system import plugins

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/extending.md"


def shout(*arguments: object) -> str:
    return f"{arguments[0]}!"


def import_what_is_missing(*arguments: object) -> None:
    importlib.import_module("no_such_module")


def crash(*arguments: object) -> None:
    raise RuntimeError("a bug of the package")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Four plugins in every group: one that works, and three that do not."""
    named = {
        "shout": f"{__name__}:shout",
        "gone": "no_such_module:x",
        "number": f"{__name__}:PAGE",
        "imports": f"{__name__}:import_what_is_missing",
        "crashes": f"{__name__}:crash",
    }
    monkeypatch.setattr(
        plugins,
        "entry_points",
        lambda *, group: [EntryPoint(name, value, group) for name, value in named.items()],
    )
    plugins.plugins.cache_clear()
    yield
    plugins.plugins.cache_clear()


def test_a_plugin_is_called_with_its_arguments(installed: None) -> None:
    assert plugins.plugins(JUDGES)["shout"].make("hello") == "hello!"


@pytest.mark.parametrize("point", EXTENSION_POINTS, ids=lambda point: point.group)
def test_every_group_has_the_same_errors(installed: None, point: ExtensionPoint) -> None:
    """A module that is missing, an object of another kind, a function that imports what is missing:
    each is a SettingsError that names the plugin and says what to do.
    """
    found = plugins.plugins(point)
    for use in (
        found["gone"].function,
        found["number"].function,
        found["imports"].make,
        lambda: found["shout"].instance(int),
    ):
        with pytest.raises(
            SettingsError, match=f"the {point.noun} `.*` of an installed package cannot be loaded"
        ) as raised:
            use()
        assert raised.value.hint == "update or uninstall that package"


def test_a_bug_of_a_plugin_is_not_hidden(installed: None) -> None:
    """Any other exception of the function keeps its traceback."""
    with pytest.raises(RuntimeError, match="a bug of the package"):
        plugins.plugins(STORES)["crashes"].make("", Path(), False)


@pytest.mark.slow
def test_entry_points_are_looked_up_in_one_module() -> None:
    """A new loader would bring errors of its own."""
    root = Path(honestone.__file__).parent
    users = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "entry_points"
    }
    # One other asks which distributions add something, and loads nothing of them.
    assert users == {"system/plugins.py", "system/trust/code_digest.py"}


@pytest.mark.parametrize("point", EXTENSION_POINTS, ids=lambda point: point.group)
def test_contracts_name_what_is_there(point: ExtensionPoint) -> None:
    """Every class and function that a contract or a rule names can be imported."""
    for name in re.findall(r"honestone(?:\.\w+){2,}", f"{point.contract} {point.rules}"):
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute)
    if point.checked_by:
        assert point.checked_by in testing.__all__


@pytest.mark.parametrize("point", EXTENSION_POINTS, ids=lambda point: point.group)
def test_the_page_has_every_extension_point(point: ExtensionPoint) -> None:
    """With its contract, its rules and its example, as they stand in the module."""
    text = PAGE.read_text(encoding="utf-8")
    assert f"## {point.group}\n" in text
    assert point.contract in text
    assert point.rules in text
    assert point.example in text


def test_the_page_has_no_other_extension_points() -> None:
    sections = re.findall(r"(?m)^## (.+)$", PAGE.read_text(encoding="utf-8"))
    assert sections == [point.group for point in EXTENSION_POINTS]


def test_a_group_has_one_name_and_the_prefix_of_the_program() -> None:
    """`doctor` shows groups without their prefix, and the digest of the code goes by it."""
    groups = [point.group for point in EXTENSION_POINTS]
    assert len(set(groups)) == len(groups)
    assert all(group.startswith("honestone.") for group in groups)
    assert CHECKS.group == "honestone.checks"
