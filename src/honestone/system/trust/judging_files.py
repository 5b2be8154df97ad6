"""The files that judge, as they are when a run begins, and which of them have changed since."""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from honestone.core.errors import CouldNotJudge
from honestone.system.files import printable

if TYPE_CHECKING:
    from honestone.core.checking.commands.judging_words import NamedFiles

_LARGEST_SCRIPT: Final = 1_000_000


class JudgingFiles:
    """`listing` names the files, each time: one that is new or gone has changed too. A Python
    program brings the modules next to it that it imports. `base` is what their names are relative
    to, `unfollowed` is a folder whose modules are judged themselves.
    """

    def __init__(
        self,
        listing: Callable[[], Iterable[Path]] = tuple,
        *,
        base: Path = Path(),
        unfollowed: Path | None = None,
    ) -> None:
        self._listing, self._base, self._unfollowed = listing, base, unfollowed
        self._seen: dict[Path, tuple[tuple[int, ...], str, tuple[Path, ...]]] = {}
        self._start = self._digests()

    def __contains__(self, path: Path) -> bool:
        return path in self._start

    @property
    def paths(self) -> tuple[Path, ...]:
        """Their real paths, as they were at the start."""
        return tuple(self._start)

    @property
    def digests(self) -> Mapping[str, str]:
        """The digests of the files as they were at the start, by name."""
        return {
            printable(os.path.relpath(path, self._base)): digest
            for path, digest in self._start.items()
        }

    def changed(self) -> tuple[str, ...]:
        """The names of files that are new, gone or different, in order."""
        now, start = self._digests(), self._start
        paths = {path for path in (*now, *start) if now.get(path) != start.get(path)}
        return tuple(sorted(printable(os.path.relpath(path, self._base)) for path in paths))

    def require_unchanged(self) -> None:
        """Raises CouldNotJudge that names what changed."""
        if changed := self.changed():
            raise CouldNotJudge(
                f"what judges changed during the run: {', '.join(changed[:5])}",
                hint="what changes a judge may not be judged by it; what was judged before is on record",
            )

    def _digests(self) -> dict[Path, str]:
        digests: dict[Path, str] = {}
        waiting = [Path(os.path.realpath(path)) for path in self._listing()]
        while waiting:
            path = waiting.pop()
            if path not in digests:
                _, digest, modules = self._read_program(path)
                digests[path] = digest
                waiting += modules
        return {path: digest for path, digest in digests.items() if digest}

    def _read_program(self, path: Path) -> tuple[tuple[int, ...], str, tuple[Path, ...]]:
        """When it was last seen so, its digest (empty where there is no such file) and the modules
        it imports.
        """
        try:
            at = os.stat(path)
            stamp = (at.st_mtime_ns, at.st_ctime_ns, at.st_ino, at.st_size)
            known = self._seen.get(path)
            if known is None or known[0] != stamp:
                data = path.read_bytes()
                modules = tuple(_sibling_modules(path, data)) if self._is_followed(path) else ()
                known = self._seen[path] = (stamp, hashlib.sha256(data).hexdigest(), modules)
            return known
        except OSError:
            return (), "", ()

    def _is_followed(self, path: Path) -> bool:
        return path.suffix == ".py" and not (
            self._unfollowed and path.is_relative_to(self._unfollowed)
        )


def _sibling_modules(program: Path, data: bytes) -> Iterator[Path]:
    """Where its imports would be found next to it, also those that are not there yet: a new one
    would take the place of the library's.
    """
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [".".join(filter(None, (node.module, alias.name))) for alias in node.names]
        else:
            continue
        for name in names:
            place = program.parent
            for part in name.split("."):
                place = place / part
                yield from (place.with_name(part + suffix) for suffix in (".py", ".pyc", ".so"))
                yield place / "__init__.py"


def names_commands(identity: object) -> bool:
    """Whether an identity holds a command anywhere, and so may name files."""
    if isinstance(identity, Mapping):
        return "command" in identity or any(map(names_commands, identity.values()))
    return isinstance(identity, list | tuple) and any(map(names_commands, identity))


def files_named(identity: object, base: Path) -> Iterator[Path]:
    """The files that the commands in an identity name: as `describe_command` wrote them down, and
    what is further inside the words (in `sh -c`, in an option's value, in a recipe that they call).
    """
    for command in _commands_in(identity):
        files = command.get("files")
        if isinstance(files, Mapping):
            yield from (base / str(word) for word in files)
        named = _named_files(command, base)
        yield from (
            base / name for name in (*named.files, *named.loaded) if (base / name).is_file()
        )


def described_files(identity: object) -> list[str]:
    """The names whose digests an identity holds."""
    found: list[str] = []
    for command in _commands_in(identity):
        files = command.get("files")
        found += map(str, files) if isinstance(files, Mapping) else ()
    return found


def programs_named(identity: object, *bases: Path) -> Iterator[Path]:
    """The programs, scripts and recipes that the commands in an identity run, without the data that
    they are given.
    """
    for command in _commands_in(identity):
        for base in bases:
            named = _named_files(command, base)
            yield from (
                base / name for name in (*named.scripts, *named.loaded) if (base / name).is_file()
            )


def parts_that_name_no_file(identity: object, base: Path) -> list[str]:
    """Parts of the commands in an identity of which only running them would tell which files they
    run.
    """
    return [
        part for command in _commands_in(identity) for part in _named_files(command, base).unclear
    ]


def _commands_in(identity: object) -> Iterator[Mapping[str, object]]:
    if isinstance(identity, Mapping):
        if "command" in identity:
            yield identity
        for value in identity.values():
            yield from _commands_in(value)
    elif isinstance(identity, list | tuple):
        for value in identity:
            yield from _commands_in(value)


def _named_files(command: Mapping[str, object], base: Path) -> NamedFiles:
    from honestone.core.checking.commands.judging_words import (
        named_by,  # not needed where nothing is run
    )

    words = command["command"]
    listed = [str(word) for word in words] if isinstance(words, list | tuple) else []
    return named_by(listed, lambda name: _content(base / name))


def _content(path: Path) -> bytes | None:
    try:
        return (
            path.read_bytes() if path.is_file() and path.stat().st_size <= _LARGEST_SCRIPT else None
        )
    except (OSError, ValueError):  # unreadable, or no name of a file
        return None
