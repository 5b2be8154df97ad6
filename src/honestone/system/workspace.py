"""A case's workspace: a private folder made for one attempt, what a target changed in it, and its
set-up commands.

    folder = make_folder(case.workspace, base)      a copy of a folder or of a git repository, then files
    folder.start()                                  the state that the diff starts from (after `setup`)
    folder.diff(), folder.left()                    what changed, as a unified diff; and the files as they are now
    folder.close()

Links are kept only where they stay inside. Version control and caches are left out of a diff.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from honestone.core.artifact import Entry, Version, as_text
from honestone.core.checking.checks import visible
from honestone.core.errors import FileError, UsageError
from honestone.core.suite.case import CaseWorkspace, is_url
from honestone.system.files import NEVER_PART, printable, remove
from honestone.system.processes import process
from honestone.system.processes.commands import GIT, NotStarted, answer_of, split_command
from honestone.system.processes.environment import base_environment
from honestone.system.processes.private import forget, make_private
from honestone.system.processes.program import how_ended, last_words

# Characters of a diff. What comes after is counted, not shown.
DIFF_LIMIT: Final = 200_000

# Bytes of a workspace that checks may be given a copy of.
LEFT_LIMIT: Final = 50_000_000

_SHOWN_FILE: Final = 1_000_000
_CONTEXT: Final = 3
_COMPARED_LINES: Final = 5_000
_GIT_SECONDS: Final = 600


# -------------------------------------------------------------------------------------------------------
# the folder


def require_workspace(workspace: CaseWorkspace, base: Path) -> None:
    """Raises FileError, before anything is spent, for a folder that is not there and for names that
    lead out.
    """
    for name in workspace.files:
        _require_inside(name)
    if workspace.copy is not None and not (base / workspace.copy).is_dir():
        raise FileError(
            f"the workspace copies {workspace.copy!r}, but that folder does not exist",
            hint="its path is relative to the suite's folder",
        )
    if workspace.git is not None:
        if shutil.which("git") is None:
            raise FileError("the workspace is a git repository, but `git` is not installed")
        if not is_url(workspace.git) and not (base / workspace.git).exists():
            raise FileError(
                f"the workspace is the git repository {workspace.git!r}, which is not there"
            )
        if workspace.git.startswith("-") or (workspace.ref or "").startswith("-"):
            raise FileError(
                f"{workspace.ref or workspace.git!r} is not the name of a repository or a commit"
            )


def make_folder(workspace: CaseWorkspace, base: Path) -> Folder:
    """A private folder as a case describes it. Raises FileError as `require_workspace` does,
    OSError when it fails.
    """
    require_workspace(workspace, base)
    folder = Folder(make_private("honestone-case-"))
    try:
        if workspace.git is not None:
            _check_out(workspace.git, workspace.ref, base, folder.path)
        folder.path.mkdir(exist_ok=True)
        if workspace.copy is not None:
            folder.notes += tuple(_copy_tree(base / workspace.copy, folder.path, base))
        folder.notes += tuple(_drop_links_out(folder.path))
        for name, text in workspace.files.items():
            _write(folder.path, name, text)
    except BaseException:
        folder.close()
        raise
    return folder


class Folder:
    """A private folder. `path` is where the work is done, `notes` says what was left out of it."""

    def __init__(self, root: Path) -> None:
        self.path = root / "workspace"
        self.notes: tuple[str, ...] = ()
        self._root = root
        self._originals = root / "before"
        self._before: Mapping[str, State] = {}

    def start(self) -> None:
        """From here on, changes are the target's. Files are kept on disk, by digest, so that a diff
        can show what was there, and a check judge by it.
        """
        self._originals.mkdir(exist_ok=True)
        self._before = _snapshot(self.path, keep=self._originals)

    def diff(self, *, limit: int = DIFF_LIMIT) -> str:
        """What changed since the start, as a unified diff; empty when nothing did."""
        before, after = self._before, _snapshot(self.path, known=self._before)
        pairs = (
            (name, before.get(name), after.get(name))
            for name in sorted(before.keys() | after.keys())
        )
        return _cut(
            [partial(self._file_diff, *pair) for pair in pairs if _differs(*pair[1:])], limit
        )

    def _file_diff(self, name: str, was: State | None, now: State | None) -> Iterator[str]:
        shown = visible(printable(name), 500)
        yield f"diff --git a/{shown} b/{shown}"
        yield from _heading(was, now)
        old = self._file_text(was, self._originals / was.digest if was else None)
        new = self._file_text(now, self.path / name)
        if (
            was is not None
            and now is not None
            and was.digest == now.digest
            and was.kind == now.kind
        ):
            return
        if old is None or new is None:
            yield f"Binary or large file {shown} {_how_changed(was, now)}"
            return
        hunks = list(unified(old, new))
        if hunks:
            yield f"--- {f'a/{shown}' if was else '/dev/null'}"
            yield f"+++ {f'b/{shown}' if now else '/dev/null'}"
            yield from hunks

    def _file_text(self, state: State | None, path: Path | None) -> str | None:
        """The text of one side, empty where there is nothing; None when it cannot be shown."""
        if state is None:
            return ""
        if state.kind == "link":
            return state.leads_to
        if state.kind != "file" or state.size > _SHOWN_FILE or path is None:
            return None
        data = _read_file(path, _SHOWN_FILE + 1)
        return None if data is None or len(data) > _SHOWN_FILE else as_text(data)

    def left(self, *, limit: int = LEFT_LIMIT) -> Version:
        """The regular files as they are now. Raises OSError when they are more than can be copied
        for checks.
        """
        files: dict[str, Entry] = {}
        budget = limit
        for name, path, seen in _everything(self.path):
            if not stat.S_ISREG(seen.st_mode) or printable(name) != name:
                continue
            data = _read_file(path, budget + 1)
            if data is None:
                raise OSError(errno.EACCES, f"{visible(name, 100)} in the workspace cannot be read")
            budget -= len(data)
            if budget < 0:
                raise OSError(errno.EFBIG, f"the workspace holds more than {limit / 1e6:g} MB")
            files[name] = Entry(data, bool(seen.st_mode & 0o100))
        return Version(dict(sorted(files.items())), is_folder=True)

    def started(self, left: Version) -> Version | None:
        """The regular files as they were at the start; None where none of them differs from what
        was left. One that is too large to be kept and has changed is left out.
        """
        files: dict[str, Entry] = {}
        for name, state in self._before.items():
            if state.kind != "file" or printable(name) != name:
                continue
            now = left.files.get(name)
            if now is not None and _hash(now.data) == state.digest:
                files[name] = Entry(now.data, state.executable)
            elif (data := _read_file(self._originals / state.digest, _SHOWN_FILE + 1)) is not None:
                files[name] = Entry(data, state.executable)
        return None if files == left.files else Version(dict(sorted(files.items())), is_folder=True)

    def close(self) -> None:
        remove(self._root)
        forget(self._root)


# --------------------------------------------------------------------------------------------------------
# its making


def _require_inside(name: str) -> None:
    parts = Path(name).parts
    if not parts or "\0" in name or ".." in parts or Path(name).is_absolute() or ".git" in parts:
        raise FileError(
            f"the workspace's file {visible(name, 80)!r} does not name a file inside it",
            hint="names are relative to the workspace: src/app.py",
        )


def _write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not Path(os.path.realpath(path.parent)).is_relative_to(root):
        raise FileError(f"the workspace's file {visible(name, 80)!r} leads out of it")
    if path.is_symlink():
        path.unlink()
    path.write_bytes(text.encode("utf-8", "replace"))


def _copy_tree(source: Path, place: Path, base: Path) -> Iterator[str]:
    """Everything below a folder; yields what was left out, in words. Of a folder that holds the
    suite itself (in `base`), names that begin with a dot are the project's own: keys, settings,
    history.
    """
    source = Path(os.path.realpath(source))
    is_project = Path(os.path.realpath(base)).is_relative_to(source)
    for folder, folders, names in os.walk(source):
        here = Path(folder)
        if is_project and here == source:
            for name in sorted(name for name in [*folders, *names] if name.startswith(".")):
                yield f"left out {printable(Path(name))}: it begins with a dot"
            folders[:] = [name for name in folders if not name.startswith(".")]
            names = [name for name in names if not name.startswith(".")]
        # A folder above the temporary ones would be copied into itself.
        folders[:] = [name for name in folders if here / name != place.parent]
        (place / here.relative_to(source)).mkdir(parents=True, exist_ok=True)
        for name in sorted([*names, *(one for one in folders if (here / one).is_symlink())]):
            path, target = here / name, place / (here / name).relative_to(source)
            if path.is_symlink():
                inside = _inside(path, source)
                if inside is None:
                    yield f"left out {printable(path.relative_to(source))}: a link that leads out"
                    continue
                target.unlink(missing_ok=True)
                target.symlink_to(os.path.relpath(source / inside, here))
            elif path.is_file():
                shutil.copy2(path, target)
            else:
                yield f"left out {printable(path.relative_to(source))}: not a regular file"


def _inside(link: Path, root: Path) -> Path | None:
    """Where a link leads, relative to the folder that it has to stay in; None when it leaves it."""
    leads_to = Path(os.path.realpath(link))
    return leads_to.relative_to(root) if leads_to.is_relative_to(root) else None


def _drop_links_out(root: Path) -> Iterator[str]:
    """A repository may hold links to anywhere."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*names, *folders]:
            path = Path(folder, name)
            if path.is_symlink() and _inside(path, root) is None:
                path.unlink()
                yield f"left out {printable(path.relative_to(root))}: a link that leads out"


def _check_out(repository: str, ref: str | None, base: Path, place: Path) -> None:
    """A clone of its own, at a commit: nothing that is done in it reaches the original."""
    source = repository if is_url(repository) else os.path.abspath(base / repository)
    _git(
        ["clone", "--quiet", "--no-hardlinks", "--template=", "--", source, str(place)],
        place.parent,
    )
    if ref is not None:
        _git(["checkout", "--quiet", "--detach", ref, "--"], place)


def _git(words: Sequence[str], cwd: Path) -> None:
    settings = ["-c", "advice.detachedHead=false"]
    env = base_environment({"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"})
    try:
        done = answer_of([*GIT, *settings, *words], _GIT_SECONDS, cwd=cwd, env=env)
    except subprocess.TimeoutExpired:
        raise OSError(
            errno.ETIMEDOUT, f"git {words[0]} did not end within {_GIT_SECONDS} s"
        ) from None
    if done.returncode != 0:
        raise OSError(errno.EIO, visible(f"git {words[0]} failed: {last_words(done.stderr)}"))


# ---------------------------------------------------------------------------------------------------------
# snapshots


class State(Struct, frozen=True, kw_only=True):
    """One path at one moment. `stamp` changes whenever its bytes, mode or place do: a program
    cannot set it back.
    """

    kind: str
    executable: bool = False
    digest: str = ""
    size: int = 0
    leads_to: str = ""
    stamp: tuple[int, ...] = ()


def _snapshot(
    root: Path, *, known: Mapping[str, State] = {}, keep: Path | None = None
) -> Mapping[str, State]:
    """Every file and link below a folder by its path. `known` spares reading again what has not
    been touched; `keep` is where the bytes of files are put, by digest.
    """
    states = {}
    for name, path, seen in _everything(root):
        before = known.get(name)
        stamp = (seen.st_mode, seen.st_ino, seen.st_size, seen.st_ctime_ns)
        states[name] = (
            before
            if before is not None and before.stamp == stamp
            else _state_of(path, seen, stamp, keep)
        )
    return states


def _state_of(path: Path, seen: os.stat_result, stamp: tuple[int, ...], keep: Path | None) -> State:
    if stat.S_ISLNK(seen.st_mode):
        leads_to = printable(os.readlink(path))
        return State(kind="link", digest=_hash(leads_to.encode()), leads_to=leads_to, stamp=stamp)
    if not stat.S_ISREG(seen.st_mode):
        return State(kind="special", digest=str(stat.S_IFMT(seen.st_mode)), stamp=stamp)
    executable = bool(seen.st_mode & 0o100)
    data = _read_file(path, _SHOWN_FILE + 1) if seen.st_size <= _SHOWN_FILE else None
    if data is None:
        return State(
            kind="file", executable=executable, digest=_large(path), size=seen.st_size, stamp=stamp
        )
    digest = _hash(data)
    if keep is not None:
        (keep / digest).write_bytes(data)
    return State(kind="file", executable=executable, digest=digest, size=len(data), stamp=stamp)


def _everything(root: Path) -> Iterator[tuple[str, Path, os.stat_result]]:
    """Every file and link by its path below the root, without version control and caches."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in NEVER_PART)
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in sorted([*names, *links]):
            if name in NEVER_PART or name.endswith(".pyc"):
                continue
            path = Path(folder, name)
            with contextlib.suppress(FileNotFoundError):
                yield path.relative_to(root).as_posix(), path, os.lstat(path)


def _opened(path: Path) -> BufferedReader:
    """A link is not followed, a pipe not waited for."""
    return os.fdopen(
        os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb"
    )


def _read_file(path: Path, most: int) -> bytes | None:
    """Up to `most` bytes of a regular file."""
    with contextlib.suppress(OSError), _opened(path) as file:
        return file.read(most)
    return None


def _large(path: Path) -> str:
    with contextlib.suppress(OSError), _opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return "unreadable"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --------------------------------------------------------------------------------------------------------------
# diff


def _differs(was: State | None, now: State | None) -> bool:
    if was is None or now is None:
        return was is not now
    return (was.kind, was.executable, was.digest) != (now.kind, now.executable, now.digest)


def _mode(state: State) -> str:
    return {"link": "120000", "special": "a special file"}.get(
        state.kind, "100755" if state.executable else "100644"
    )


def _heading(was: State | None, now: State | None) -> Iterator[str]:
    if was is None and now is not None:
        yield f"new file mode {_mode(now)}"
    elif now is None and was is not None:
        yield f"deleted file mode {_mode(was)}"
    elif was is not None and now is not None and _mode(was) != _mode(now):
        yield f"old mode {_mode(was)}"
        yield f"new mode {_mode(now)}"


def _how_changed(was: State | None, now: State | None) -> str:
    if was is None and now is not None:
        return f"is new ({now.size} bytes)"
    if now is None:
        return "is gone"
    return f"has changed ({was.size if was else 0} to {now.size} bytes)"


def unified(old: str, new: str) -> Iterator[str]:
    """The hunks of a unified diff, three lines of context around each change."""
    before, after = _lines(old), _lines(new)
    for group in _groups(before, after):
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        yield f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@"
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                yield from _marked(" ", before[a1:a2])
                continue
            yield from _marked("-", before[a1:a2])
            yield from _marked("+", after[b1:b2])


_Step: TypeAlias = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]


class _Known(difflib.SequenceMatcher[str]):
    """Steps that are known already, to be put into groups."""

    def __init__(self, steps: list[_Step]) -> None:
        super().__init__()
        self._steps = steps

    def get_opcodes(self) -> list[_Step]:
        return self._steps


def _groups(
    before: Sequence[str], after: Sequence[str]
) -> Iterable[list[tuple[str, int, int, int, int]]]:
    """What is equal at both ends is taken off first; what is too long to compare is one replaced
    block.
    """
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    a, b = before[head : len(before) - tail], after[head : len(after) - tail]
    if not a and not b:
        return []
    if len(a) + len(b) > _COMPARED_LINES:
        steps: list[_Step] = [("replace", 0, len(a), 0, len(b))]
    else:
        steps = [*difflib.SequenceMatcher(None, a, b).get_opcodes()]
    steps = [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in steps]
    if head:
        steps.insert(0, ("equal", 0, head, 0, head))
    if tail:
        steps.append(("equal", len(before) - tail, len(before), len(after) - tail, len(after)))
    return _Known(steps).get_grouped_opcodes(_CONTEXT)


_NO_END: Final = "\\ No newline at end of file"


def _lines(text: str) -> list[str]:
    """The lines with their ends; the last has none where the text ends without."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.endswith("\n"):
            yield mark + line[:-1]
        else:
            yield mark + line
            yield _NO_END


def _range(start: int, stop: int) -> str:
    """As diff writes it: lines count from 1, an empty range has the number of the line before it."""
    length = stop - start
    begins = start + 1 if length else start
    return str(begins) if length == 1 else f"{begins},{length}"


def _cut(parts: Sequence[Callable[[], Iterator[str]]], limit: int) -> str:
    """The files' diffs up to a limit; whatever is missing is counted. One file may fill half of it,
    not all.
    """
    out, budget = [], limit
    for number, make in enumerate(parts):
        if budget <= 0:
            out.append(f"[the diff is cut here: {len(parts) - number} more files]\n")
            break
        part = "".join(line + "\n" for line in make())
        shown = part[: min(budget, max(limit // 2, 1))]
        out.append(shown)
        budget -= len(shown)
        if len(shown) < len(part):
            out.append(
                f"\n[the diff of this file is cut here: {len(part) - len(shown)} more characters]\n"
            )
    return "".join(out)


# ----------------------------------------------------------------------------------------------------------
# commands


async def run_command(
    line: str, *, cwd: Path, env: Mapping[str, str], timeout: float
) -> str | None:
    """Run a set-up or tear-down command; None when it ended well, else what went wrong. `env` is
    added to ours.
    """
    try:
        ended = await process.run(
            split_command(line),
            cwd=cwd,
            env=base_environment(env),
            timeout=timeout,
        )
    except UsageError as error:
        return error.message
    except NotStarted as error:
        return f"it could not be started: {error.reason}"
    if ended.timed_out:
        return f"still running after {timeout:g} s"
    if ended.truncated:
        return f"it printed more than {process.OUTPUT_LIMIT / 1e6:g} MB"
    if ended.exit != 0:
        return visible(f"it {how_ended(ended)}: {last_words(ended.stderr)}".rstrip(": "))
    return None
