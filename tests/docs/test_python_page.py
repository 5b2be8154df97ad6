"""The examples of the page on Python are true."""

from __future__ import annotations

import doctest
import importlib
import traceback
from pathlib import Path

import pytest
from python_page import python_page

import honestone

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "python.md"


def test_the_examples_run_and_print_what_stands_under_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder with the reader's README, in order."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("# Desk\n\nWe are open from nine to six.\n")
    text = PAGE.read_text(encoding="utf-8")
    found = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(
        optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL, verbose=False
    )
    runner.run(found, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


def test_what_a_session_shows_of_an_error_has_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hint is below the message, as the page shows it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("x")
    with pytest.raises(honestone.UsageError) as caught:
        honestone.evaluate("README.md", {"criteria": [{"id": "a", "check": {"contains": "x"}}]})
    shown = "".join(traceback.format_exception_only(caught.value))
    page = PAGE.read_text(encoding="utf-8")
    assert shown in page


def test_the_page_is_the_same_after_the_module_of_a_function_was_imported() -> None:
    """`honestone.evaluate` is then a module that can be called; the page shows the function."""
    importlib.import_module("honestone.evaluate")
    assert python_page() in PAGE.read_text(encoding="utf-8")
