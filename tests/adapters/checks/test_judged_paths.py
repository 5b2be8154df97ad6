"""By which files of an artifact or workspace a check judges, and what is put back after a target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.checks.check_input import Setting
from honestone.adapters.checks.judged_paths import judging_changes, judging_names, laid_over
from honestone.core.artifact import Entry, Version
from honestone.core.judging.rubric import Check


def folder(**files: str) -> Version:
    named = {name.replace("__", "/").replace("_DOT_", "."): text for name, text in files.items()}
    return Version(
        {name: Entry(text.encode()) for name, text in sorted(named.items())}, is_folder=True
    )


def command(words: str, **options: Any) -> Check:
    return Check(kind="command", value=words, options=options)


START = folder(
    app_DOT_py="bad",
    check_DOT_py="assert False",
    Makefile="test:\n\tpython check.py\n",
    tests__test_a_DOT_py="assert False",
    README_DOT_md="x",
    want_DOT_txt="good",
)


def after(name: str, text: str | None) -> Version:
    files = {one: entry for one, entry in START.files.items() if one != name}
    if text is not None:
        files[name] = Entry(text.encode())
    return Version(dict(sorted(files.items())), is_folder=True)


@pytest.mark.parametrize(
    ("words", "name", "judges"),
    [
        ("python check.py", "check.py", True),
        ("sh -c 'python check.py'", "check.py", True),
        ("make test", "check.py", True),
        ("make test", "Makefile", True),
        ("make test", "GNUmakefile", True),
        ("make test", "tests/test_a.py", True),
        ("make test", "tests/conftest.py", True),
        ("python check.py", "tests/test_a.py", True),
        ("ruff check .", "ruff.toml", True),
        ("diff want.txt out.txt", "want.txt", True),
        ("pytest -q", "tests/helper.py", True),
        ("pytest -q", "test_more.py", True),
        # What is judged.
        ("python check.py", "app.py", False),
        ("make test", "app.py", False),
        ("ruff check .", "tests/test_a.py", False),
        ("grep -q x README.md", "README.md", False),
        ("python new.py", "new.py", False),
        ("diff want.txt out.txt", "out.txt", False),
        ("pytest -q", "app.py", False),
    ],
)
def test_what_a_command_judges_by(words: str, name: str, judges: bool, tmp_path: Path) -> None:
    """Scripts, recipes, settings and tests judge, whether they are changed, added or removed; what
    is looked at does not.
    """
    setting = Setting(base=tmp_path)
    changes = [after(name, "other")] + ([after(name, None)] if name in START.files else [])
    for changed in changes:
        assert (judging_changes(command(words), setting, START, changed) == [name]) is judges
        restored = laid_over(command(words), setting, START, changed)
        assert restored == (START if judges else changed)


def test_own_takes_a_check_out_and_judged_by_adds(tmp_path: Path) -> None:
    """`own: true`: the artifact's tests are what is judged. `judged_by`: more files are not."""
    setting = Setting(base=tmp_path)
    changed = after("check.py", "pass")
    assert judging_changes(command("python check.py", own=True), setting, START, changed) == []
    changed = after("app.py", "pass")
    assert judging_changes(command("make test", judged_by=["*.py"]), setting, START, changed) == [
        "app.py"
    ]
    assert judging_changes(command("make test", judged_by="app.py"), setting, START, changed) == [
        "app.py"
    ]


def test_tests_that_were_not_there_are_what_is_judged(tmp_path: Path) -> None:
    """A target that is asked to write tests: there is nothing at the start that could judge."""
    start = folder(app_DOT_py="x")
    left = folder(app_DOT_py="x", tests__test_a_DOT_py="def test(): pass")
    assert laid_over(command("python -m pytest -q"), Setting(base=tmp_path), start, left) is left


def test_a_program_whose_output_is_looked_at_is_what_is_judged(tmp_path: Path) -> None:
    """With `expect_stdout` the program that prints is what is judged, unless it is called a check;
    its recipe is not.
    """
    setting, prints = Setting(base=tmp_path), {"contains": "hello"}
    for words, name, judges in (
        ("python app.py", "app.py", False),
        ("python check.py", "check.py", True),
        ("make test", "Makefile", True),
    ):
        changed = judging_changes(
            command(words, expect_stdout=prints), setting, START, after(name, "other")
        )
        assert (changed == [name]) is judges, words


def test_one_file_is_what_is_judged(tmp_path: Path) -> None:
    """An artifact of one file does not judge itself."""
    one, two = (Version({"run.py": Entry(text)}, is_folder=False) for text in (b"1", b"2"))
    assert judging_changes(command("python run.py"), Setting(base=tmp_path), one, two) == []


def test_the_names_that_judge(tmp_path: Path) -> None:
    """For the report: the files of a version by which a check judges it."""
    assert judging_names(command("make test"), Setting(base=tmp_path), START) == [
        "Makefile",
        "check.py",
        "tests/test_a.py",
    ]
    assert judging_names(command("ruff check ."), Setting(base=tmp_path), START) == []


PLUGIN = {"plug_DOT_py": "", "lib__plug_DOT_py": "", "app_DOT_py": "", "tests__test_a_DOT_py": ""}


@pytest.mark.parametrize(
    ("words", "name", "text", "plugin"),
    [
        ("pytest", "pyproject.toml", 'addopts = "-p plug"', "plug.py"),
        ("pytest", "pyproject.toml", 'addopts = ["-q", "-p", "plug"]', "plug.py"),
        ("pytest", "pyproject.toml", 'addopts = [\n  "-p",\n  "plug",\n]', "plug.py"),
        ("pytest", "pytest.ini", "[pytest]\naddopts = -pplug", "plug.py"),
        ("pytest", "pytest.ini", "[pytest]\naddopts =\n  -p\n  plug", "plug.py"),
        ("pytest", "pytest.ini", "[pytest]\npythonpath = lib\naddopts = -p plug", "lib/plug.py"),
        ("pytest", "pyproject.toml", 'pythonpath = ["lib"]\naddopts = "-pplug"', "lib/plug.py"),
        ("pytest", "tox.ini", "[pytest]\nenv =\n  PYTEST_PLUGINS=plug", "plug.py"),
        ("pytest", "conftest.py", 'pytest_plugins = ["plug"]\nimport app', "plug.py"),
        ("pytest", "tests/test_b.py", 'pytest_plugins = "plug"\nimport app', "plug.py"),
        ("pytest -c cfg/p.ini", "cfg/p.ini", "[pytest]\naddopts = -p plug", "plug.py"),
        ("pytest --config-file=cfg/p.ini", "cfg/p.ini", "addopts = -p plug", "plug.py"),
        ("pytest -p plug", "README.md", "", "plug.py"),
        ("env PYTHONPATH=lib pytest -pplug", "README.md", "", "lib/plug.py"),
        ("env PYTEST_ADDOPTS='-p plug' pytest", "README.md", "", "plug.py"),
    ],
)
def test_a_plugin_of_pytest_judges(
    words: str, name: str, text: str, plugin: str, tmp_path: Path
) -> None:
    """However settings, code or words load it; what is tested does not, also where code next to the
    names of plugins imports it.
    """
    start = folder(**PLUGIN, **{name.replace("/", "__").replace(".", "_DOT_"): text})
    found = judging_names(command(words), Setting(base=tmp_path), start)
    assert plugin in found
    assert "app.py" not in found


def test_a_plugin_judges_for_a_check_of_kind_pytest(tmp_path: Path) -> None:
    """Its settings are those of the command."""
    start = folder(**PLUGIN, pyproject_DOT_toml='addopts = ["-p", "plug"]')
    check = Check(kind="pytest", value="tests/test_a.py", options={})
    found = judging_names(check, Setting(base=tmp_path), start)
    assert "plug.py" in found and "app.py" not in found
