"""The files that a suite or a rubric names, when it is written to another folder: they are copied
next to it, or named from there. So what is converted loads where it is, without an option.
"""

from __future__ import annotations

import ast
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.adapters.checks.code import program_words
from honestone.core.checking.script import with_files
from honestone.core.errors import FileError, UsageError
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Check, Rubric, with_checks
from honestone.core.suite.case import Case, CaseWorkspace, Suite, is_url
from honestone.formats.project import Project
from honestone.system.files import printable

MOST_FILES: Final = 5_000
MOST_BYTES: Final = 100_000_000


class Copy(Struct, frozen=True):
    """A file that is to be there too: `source`, and its name below the folder of what is written."""

    source: Path
    name: Path


def write_copies(copies: Sequence[Copy], folder: Path, force: bool) -> None:
    """Raises FileError for one that cannot be written, or that would replace another file without
    `force`.
    """
    if not force:
        for copy in copies:
            refuse_another(copy, folder)
    for copy in copies:
        place = folder / copy.name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(copy.source, place)
        except OSError as error:
            why = error.strerror or str(error)
            raise FileError(
                f"cannot write {printable(place)!r}: {why}", hint="choose another --output"
            ) from None


def refuse_another(copy: Copy, folder: Path) -> None:
    place = folder / copy.name
    if place.is_file() and place.read_bytes() == copy.source.read_bytes():
        return
    if place.exists() or place.is_symlink():
        raise FileError(
            f"{printable(place)!r} is there already, and is another file than the one to be copied there",
            hint="--force writes over it, --output FILE chooses another folder",
        )


class CarriedFiles:
    """What is named in `source` by paths from its folder, as paths from the folder of `output`.
    Files that the new place cannot reach, and programs outside of its folder, which no sandbox
    would show, become `copies`.
    """

    def __init__(self, source: Path, output: Path, allowed: Sequence[Path] = ()) -> None:
        self.base, self.folder = source.parent.resolve(), output.parent.resolve()
        self.store = f"{output.name.partition('.')[0] or 'suite'}-files"
        self.from_project, self.to_project = Project.of(source, allowed), Project.of(output)
        self.copies: dict[Path, Copy] = {}
        self.notes: list[str] = []
        self._taken: dict[Path, Path] = {}

    # ------------------------------------------------------------------------------------------
    # what names files

    def suite(self, suite: Suite) -> Suite:
        artifacts = tuple(self._artifact(name) for name in suite.artifacts)
        cases = tuple(self._case(case) for case in suite.cases)
        self._note_commands(suite.cases)
        if not artifacts:
            return replace(suite, cases=cases)
        return replace(suite, cases=cases, artifact=artifacts[0], more_artifacts=artifacts[1:])

    def rubric(self, rubric: Rubric) -> Rubric:
        return with_checks(rubric, self._check)

    def _case(self, case: Case) -> Case:
        workspace = case.workspace and self._workspace(case.workspace)
        return replace(case, rubric=self.rubric(case.rubric), workspace=workspace)

    def _check(self, check: Check) -> Check:
        match check.kind:
            case "command" | "grader":
                words, programs = program_words(check)
                moved = [
                    self.program(word) if at in programs and _is_path(at, word) else word
                    for at, word in enumerate(words)
                ]
                return check if moved == list(words) else replace(check, value=moved)
            case "pytest":
                tests, mark, rest = str(check.value).partition("::")
                return replace(check, value=self.program(tests) + mark + rest)
            case "json-schema" if isinstance(check.value, str):
                return replace(check, value=self.data(check.value))
            case "python":
                self._module(str(check.value))
        return with_files(check, self.program)

    def _workspace(self, workspace: CaseWorkspace) -> CaseWorkspace:
        if workspace.copy is not None:
            return replace(workspace, copy=self.data(workspace.copy))
        if workspace.git is not None and not is_url(workspace.git):
            return replace(workspace, git=self._relative(workspace.git))
        return workspace

    def _artifact(self, name: str) -> str:
        """What is judged stays where it is."""
        moved = self._relative(name)
        if moved != name and not self._holds(self.to_project, self.base / name):
            self.notes.append(
                f"the artifact `{moved}` is outside of the new file's project: --allow-outside reads it"
            )
        return moved

    def _module(self, name: str) -> None:
        """A module of a `python` check is looked up next to the file that names it: it is copied
        there.
        """
        stem = Path(*name.partition(":")[0].split("."))
        for inner in (stem.with_suffix(".py"), stem / "__init__.py"):
            found = self._found(str(inner))
            if found is not None and self._may_copy(str(inner), found):
                if inner.name == "__init__.py":
                    self._add_folder(found.parent, stem)
                else:
                    self._add(found, inner)

    def _note_commands(self, cases: Iterable[Case]) -> None:
        names = [case.id for case in cases if case.setup or case.teardown]
        if names:
            shown = f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
            self.notes.append(
                f"commands of `setup` and `teardown` ({shown}) are written as they are"
            )

    # ------------------------------------------------------------------------------------------ one
    # path

    def data(self, name: str) -> str:
        """A file or folder that honestone reads: named from the new place where its project reaches
        it.
        """
        return self._moved(name, lambda real: self._holds(self.to_project, real))

    def program(self, name: str) -> str:
        """A file that is run: a sandbox shows what is below the folder of the file that names it."""
        return self._moved(name, lambda real: real.is_relative_to(self.folder))

    def _moved(self, name: str, reaches: Callable[[Path], bool]) -> str:
        real = self._found(name)
        if real is None:
            return name
        if reaches(real):
            return Path(os.path.relpath(real, self.folder)).as_posix()
        if not self._may_copy(name, real):
            return name
        place = self._place_for(real)
        if real.is_dir():
            self._add_folder(real, place)
        else:
            self._add(real, place)
            for neighbour in _imported(real):
                self._add(neighbour, place.parent / neighbour.relative_to(real.parent))
        return place.as_posix()

    def _relative(self, name: str) -> str:
        real = self._found(name)
        return name if real is None else Path(os.path.relpath(real, self.folder)).as_posix()

    def _found(self, name: str) -> Path | None:
        """The real path of a relative name; None where nothing is there."""
        if os.path.isabs(name) or not name.strip():
            return None
        try:
            real = (self.base / name).resolve()
            return real if real.exists() else None
        except (OSError, ValueError, RuntimeError):
            return None

    def _may_copy(self, name: str, real: Path) -> bool:
        if self._holds(self.from_project, real):
            return True
        self.notes.append(
            f"`{name[:100]}` leads out of the project, so it is not copied and its path is not changed"
        )
        return False

    def _holds(self, project: Project, path: Path) -> bool:
        try:
            return project.holds(path)
        except (OSError, ValueError, RuntimeError):
            return False

    # ------------------------------------------------------------------------------------------
    # copies

    def _place_for(self, real: Path) -> Path:
        """Where a copy goes: under its name from the old folder, or a numbered one where another
        file has that.
        """
        inner = real.relative_to(self.base) if real.is_relative_to(self.base) else Path(real.name)
        place, number = Path(self.store) / inner, 2
        while self._taken.get(place, real) != real:
            place, number = Path(self.store) / str(number) / inner, number + 1
        self._taken[place] = real
        return place

    def _add_folder(self, folder: Path, place: Path) -> None:
        # Of a folder that holds the suite itself, names that begin with a dot are the project's
        # own: keys, settings, history.
        is_project = self.base.is_relative_to(folder)
        for path in _files_below(folder):
            if is_project and path.relative_to(folder).parts[0].startswith("."):
                continue
            if not path.is_relative_to(self.folder / self.store):
                self._add(path, place / path.relative_to(folder))

    def _add(self, source: Path, name: Path) -> None:
        if (self.folder / name).resolve() == source:
            return
        self.copies[name] = Copy(source, name)
        if (
            len(self.copies) > MOST_FILES
            or sum(one.source.stat().st_size for one in self.copies.values()) > MOST_BYTES
        ):
            raise UsageError(
                f"this names more than {MOST_FILES:,} files or {MOST_BYTES // 1_000_000} MB to copy",
                hint="write it next to the file that it comes from",
            )


def _is_path(at: int, word: str) -> bool:
    """A program without a slash is looked up in PATH; what it is given to run is a path."""
    return at > 0 or "/" in word


def _files_below(folder: Path) -> Iterator[Path]:
    """The regular files of a folder, without its git history. Links are left out."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name != ".git" and not Path(here, name).is_symlink()
        )
        for name in sorted(names):
            path = Path(here, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _imported(script: Path) -> list[Path]:
    """The modules in a script's own folder that it imports, and those that these import. Nothing is
    run.
    """
    found: dict[Path, None] = {script: None}
    for one in _each_as_it_grows(found):
        for module in _named_modules(one):
            if (
                module.is_file()
                and not module.is_symlink()
                and module.resolve().is_relative_to(script.parent)
            ):
                found.setdefault(module.resolve())
    return [one for one in found if one != script]


def _each_as_it_grows(found: dict[Path, None]) -> Iterator[Path]:
    """Each key once, also those that are added meanwhile."""
    done: set[Path] = set()
    while len(done) < len(found):
        one = next(path for path in found if path not in done)
        done.add(one)
        yield one


def _named_modules(script: Path) -> list[Path]:
    """Where the modules would be that a script of Python or JavaScript names."""
    try:
        text = script.read_text("utf-8")
        if script.suffix == ".py":
            return [
                script.parent / f"{name.partition('.')[0]}.py"
                for name in _python_imports(ast.parse(text))
            ]
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if script.suffix not in _JAVASCRIPT:
        return []
    named = [script.parent / match[1] for match in _REQUIRED.finditer(text)]
    return [Path(f"{path}{suffix}") for path in named for suffix in ("", *_JAVASCRIPT, ".json")]


_JAVASCRIPT: Final = (".js", ".cjs", ".mjs")
_REQUIRED: Final = late_pattern(
    r"""(?:\brequire\(\s*|\bfrom\s+|\bimport\s+)["'](\./[^"'\n]{1,200})["']"""
)


def _python_imports(tree: ast.Module) -> set[str]:
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    return names | {
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
    }
