"""By which files of an artifact a check judges: those that its words name, tests, the settings of
the programs that it runs, and what Python reads before any of it. One rule for proposals of a
worker, which may not touch one, and for the workspace that a target leaves, in which they are as
they were at the start.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from honestone.adapters.checks.check_input import Setting
from honestone.adapters.checks.code import FIXTURES, module_file, program_words
from honestone.core.artifact import Entry, Version
from honestone.core.checking.checks import matching
from honestone.core.checking.commands import command_texts, judging_words, known_programs
from honestone.core.judging.rubric import Check

_KINDS: Final = frozenset({"pytest", "python", "command", "grader", "script", "json-schema"})
_STARTUP: Final = frozenset({"sitecustomize.py", "usercustomize.py"})
_LARGEST_SCRIPT: Final = 1_000_000
_READ_BY_PYTHON: Final = (".py", ".pyc", ".so", ".pyd", ".pth", ".ini", ".toml", ".cfg")


def would_judge(
    checks: Sequence[Check], setting: Setting, before: Version, after: Version
) -> list[str]:
    """The names that differ between two versions and judge, by these checks: a proposal may not
    touch one.
    """
    asked = [check for check in checks if check.kind in _KINDS]
    code = [check for check in asked if check.kind != "json-schema"]
    found = {name for check in asked for name in judging_changes(check, setting, before, after)}
    if code:
        found.update(filter(_starts_python, changed_between(before, after)))
        found.update(_shadows(code, before.files, after.files))
    return sorted(found)


def judging_changes(check: Check, setting: Setting, before: Version, after: Version) -> list[str]:
    """The names that differ between two versions and by which this check judges. Nothing where it
    says that it is the artifact's own (`own: true`).
    """
    if check.kind not in _KINDS or check.options.get("own"):
        return []
    rule = _Rule(check, setting, before)
    return [
        name
        for name in changed_between(before, after)
        if rule.judges(name, before.files.get(name), after.files.get(name))
    ]


def judging_names(check: Check, setting: Setting, version: Version) -> list[str]:
    """The files of a version by which a check judges it."""
    if check.kind not in _KINDS or check.options.get("own"):
        return []
    rule = _Rule(check, setting, version)
    return sorted(name for name, entry in version.files.items() if rule.judges(name, entry, None))


def unnamed_parts(check: Check, setting: Setting, version: Version) -> list[str]:
    """Parts of a check's command, and of what it calls, of which only running them would tell by
    which files they judge.
    """
    if check.kind not in _KINDS or check.options.get("own"):
        return []
    return list(_Rule(check, setting, version).unnamed)


def laid_over(check: Check, setting: Setting, start: Version, left: Version) -> Version:
    """What a target left, with the files by which the check judges as they were at the start."""
    names = judging_changes(check, setting, start, left)
    if check.kind in _KINDS and check.kind != "json-schema" and not check.options.get("own"):
        names += [name for name in changed_between(start, left) if _starts_python(name)]
    if not names:
        return left
    files = {name: entry for name, entry in left.files.items() if name not in names}
    files |= {name: start.files[name] for name in names if name in start.files}
    return Version(dict(sorted(files.items())), is_folder=True)


def changed_between(before: Version, after: Version) -> list[str]:
    """The names that are new, gone or different."""
    return [
        name
        for name in {**before.files, **after.files}
        if before.files.get(name) != after.files.get(name)
    ]


def _starts_python(name: str) -> bool:
    path = PurePosixPath(name)
    return path.name in _STARTUP or path.suffix == ".pth" or "__pycache__" in path.parts


class _Rule:
    """By which files of an artifact one check judges. `start` is the version in which they are
    looked up.
    """

    def __init__(self, check: Check, setting: Setting, start: Version) -> None:
        self._check, self._setting, self._start = check, setting, start
        self._globs: str | Sequence[str] = check.option("judged_by", ())
        self._patterns: tuple[str, ...] = ()
        self._files: frozenset[str] = frozenset()
        self._programs: tuple[str, ...] = ()
        self._settings: tuple[str, ...] = ()
        self._plugins: tuple[tuple[str, str], ...] = ()
        self._import_folders: tuple[str, ...] = ()
        self._tests: str | None = None
        self._includes_any = False
        self.unnamed: tuple[str, ...] = ()
        if check.kind in ("command", "grader") and "container" not in check.options:
            self._read_words()
        elif check.kind == "pytest":
            self._tests = _in_artifact(str(check.value).partition("::")[0], setting)
            # Tests that lie next to the rubric are run where no setting of the artifact is read.
            self._programs = (
                () if self._tests is None else known_programs.with_their_own(["pytest"])
            )
        elif check.kind == "json-schema" and isinstance(check.value, str):
            self._files = frozenset({_in_artifact(check.value, setting) or ""})

    def judges(self, name: str, before: Entry | None, after: Entry | None) -> bool:
        """Whether a file judges, that is so `before` and so `after` (None: it is not there)."""
        if not self._start.is_folder and self._check.kind != "json-schema":
            return False  # the one file is what is judged
        if name in self._files or (self._globs and matching([name], self._globs)):
            return True
        if self._patterns and matching([name], self._patterns):
            return True
        if self._includes_any and known_programs.may_be_included(name):
            return True
        return (
            self._is_of_kind(name, before)
            or self._is_setting(name, before, after)
            or name in self._loaded
        )

    def _is_of_kind(self, name: str, before: Entry | None) -> bool:
        value = str(self._check.value)
        if self._check.kind == "pytest":
            return self._tests is not None and _around(PurePosixPath(self._tests), name)
        if self._check.kind == "python" and module_file(value, self._setting) is None:
            module = value.partition(":")[0].replace(".", "/")
            return name == f"{module}.py" or name.startswith(f"{module}/")
        if self._check.kind in ("command", "grader") and known_programs.is_test(name):
            if known_programs.runs_tests(self._programs):
                return self._has_tests
            return before is not None and not known_programs.only_looks(self._programs)
        return False

    @cached_property
    def _has_tests(self) -> bool:
        """Whether there were tests at the start. Where there were none, new ones are what is
        judged.
        """
        return any(map(known_programs.is_test, self._start.files))

    def _is_setting(self, name: str, before: Entry | None, after: Entry | None) -> bool:
        if not self._programs:
            return False
        if self._tests is not None and not PurePosixPath(self._tests).is_relative_to(
            PurePosixPath(name).parent
        ):
            return False  # pytest reads no settings of other folders
        if known_programs.is_shared(name):
            was, now = (
                known_programs.settings_in(
                    name, None if entry is None else entry.data, self._programs
                )
                for entry in (before, after)
            )
            return was != now
        return known_programs.is_setting(name, self._programs)

    @cached_property
    def _loaded(self) -> frozenset[str]:
        """Files that the settings of the programs, their words or tests name as further settings, or
        as code to run.
        """
        if not self._programs:
            return frozenset()
        files = self._start.files
        waiting = [
            name
            for name in files
            if known_programs.is_shared(name) or known_programs.is_setting(name, self._programs)
        ]
        waiting += self._settings
        imports = {
            os.path.join(_folder_of(name), folder)
            for name in waiting
            for folder in command_texts.import_folders(self._text_of(name))
        } | set(self._import_folders)
        found: set[str] = set()
        for folder, word in self._plugins:
            found.update(_modules([word], {folder, *imports}, files))
        for name in files:
            if name.endswith(".py") and known_programs.is_test(name):
                words = command_texts.plugins_named_in(self._text_of(name))
                found.update(_modules(words, {_folder_of(name), ".", *imports}, files))
        found.update(self._run_by_recipes)
        waiting += found
        while waiting:
            name = waiting.pop()
            text = self._text_of(name)
            new = set(_named_by_settings(name, text, files, imports)) - found
            found |= new
            waiting += new
        return frozenset(found)

    @property
    def _run_by_recipes(self) -> Iterator[str]:
        """The scripts that the recipes of the programs run, from the root or next to the recipe."""
        running = [name for name in self._programs if known_programs.recipe_of(name).runs]
        for name in self._start.files if running else ():
            if known_programs.is_setting(name, running):
                words = command_texts.scripts_run_by(self._text_of(name))
                yield from _modules(words, {_folder_of(name), "."}, self._start.files)

    def _text_of(self, name: str) -> str:
        entry = self._start.files.get(name)
        if entry is None or len(entry.data) > _LARGEST_SCRIPT:
            return ""
        return entry.data.decode("utf-8", "replace")

    def _read_words(self) -> None:
        words, _ = program_words(self._check)
        named = judging_words.named_by(words, self._content, tuple(self._start.files))
        self._programs = known_programs.with_their_own(named.programs)
        self._patterns = (*named.patterns, *(f"**/{one}" for one in named.patterns))
        self._includes_any, self.unnamed = named.includes_any, tuple(dict.fromkeys(named.unclear))
        settings = map(self._name_of, named.settings)
        self._settings = tuple(name for name in settings if name is not None)
        self._plugins, self._import_folders = tuple(named.plugins), tuple(named.import_folders)
        shows = "expect_stdout" in self._check.options
        files = {
            self._name_of(word) for word in named.files if not (shows and _is_shown(word, named))
        }
        for operands in named.compared:
            files |= set(self._held_against(operands))
        self._files = frozenset(
            name for name in files if name is not None and name in self._start.files
        )

    def _name_of(self, word: str) -> str | None:
        return self._setting.in_version(word, self._start)

    def _held_against(self, operands: Sequence[str]) -> list[str | None]:
        """Of what is compared, which is the measure: what alone was there at the start, what its
        name says, else the first.
        """
        there = [name for word in operands if (name := self._name_of(word)) in self._start.files]
        called = [name for name in there if name is not None and known_programs.is_measure(name)]
        return [*(called or there[:1])]

    def _content(self, word: str) -> bytes | None:
        """A file as the command would see it: of the artifact, else next to the rubric."""
        name = self._name_of(word)
        entry = None if name is None else self._start.files.get(name)
        if entry is not None:
            return entry.data
        path = self._setting.sibling(word)
        with contextlib.suppress(OSError):
            if path is not None and path.is_file() and path.stat().st_size <= _LARGEST_SCRIPT:
                return path.read_bytes()
        return None


_ENDINGS: Final = (
    *("", ".json", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".py", ".rb", ".toml"),
    *(".yaml", ".yml", "/index.js", "/index.ts", "/__init__.py"),
)


def _named_by_settings(
    name: str, text: str, files: Mapping[str, Entry], imports: Collection[str]
) -> Iterator[str]:
    """Files that a file of settings loads, by a path from its folder or from the root, also without
    its ending and with dots; plugins of pytest also from the folders of imports.
    """
    folder = _folder_of(name)
    yield from _modules(command_texts.words_loaded_by(text), {folder, "."}, files)
    yield from _modules(command_texts.plugins_loaded_by(text), {folder, ".", *imports}, files)


def _folder_of(name: str) -> str:
    return str(PurePosixPath(name).parent)


def _modules(
    words: Iterable[str], folders: Collection[str], files: Mapping[str, Entry]
) -> Iterator[str]:
    """The files that words name from these folders."""
    for word in words:
        path = re.sub(r"^(?:<\w+>|\$\{?\w+\}?)/", "", word)
        paths = (path, path.replace(".", "/")) if "/" not in path else (path,)
        for base in folders:
            for one in paths:
                stem = os.path.normpath(os.path.join(base, one))
                yield from (stem + ending for ending in _ENDINGS if stem + ending in files)


def _is_shown(word: str, named: judging_words.NamedFiles) -> bool:
    """Of a check that looks at what is printed: whether a file is the program that prints it, which
    is what is judged. One that is called a check or a test judges all the same.
    """
    return word in named.scripts and not known_programs.is_measure(word)


def _in_artifact(name: str, setting: Setting) -> str | None:
    """The name in the artifact of what a check calls `name`, also where only the artifact has it."""
    found = setting.name_in_artifact(setting.base / name)
    is_sibling = setting.sibling(name, even_judged=True) is not None
    return found if found is not None or is_sibling else os.path.normpath(name)


def _around(tests: PurePosixPath, name: str) -> bool:
    """Among the tests, or next to them."""
    path = PurePosixPath(name)
    if path.is_relative_to(tests.parent if tests.parent.name == FIXTURES else tests):
        return True
    return path.parent == tests.parent and tests.suffix == ".py" and path.suffix in _READ_BY_PYTHON


def _shadows(
    checks: Sequence[Check], before: Mapping[str, Entry], after: Mapping[str, Entry]
) -> Iterator[str]:
    """New modules at the top that Python would take for ones of the library, of installed packages
    or of the checks.
    """
    own = {
        PurePosixPath(str(check.value).partition(":")[0]).stem
        for check in checks
        if check.kind in ("pytest", "python")
    }
    known = {_top(name) for name in before}
    for name in after.keys() - before.keys():
        top = _top(name)
        if top is not None and top not in known and (top in own or _is_elsewhere(top)):
            yield name


def _top(name: str) -> str | None:
    """The name under which a file at the root, or in `src`, is imported."""
    parts = PurePosixPath(name).parts
    parts = parts[1:] if parts[0] == "src" else parts
    if len(parts) == 1 and parts[0].endswith(_READ_BY_PYTHON[:4]):
        return parts[0].partition(".")[0]
    return parts[0] if len(parts) == 2 and parts[1] == "__init__.py" else None


def _is_elsewhere(module: str) -> bool:
    try:
        return module in sys.stdlib_module_names or importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return True
