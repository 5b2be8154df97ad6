"""Artifacts as git has them: at a commit, or staged for the next one. The working tree is not touched."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from honestone.core.artifact import Version
from honestone.core.checks import visible
from honestone.core.errors import UsageError
from honestone.system.files import load_artifact, printable
from honestone.system.process import answer_of, base_environment

GIT_TIMEOUT: Final = 60


def load_at_ref(artifact: Path, ref: str, *, exclude: Collection[Path] = (), max_bytes: int) -> Version | None:
    """The artifact as a git commit has it; None without such a ref or a repository.

    Raises UsageError when the ref does not hold the artifact.
    """
    if ref.startswith("-") or _git(_folder(artifact), "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") is None:
        return None
    return _load(artifact, ref, f"the git ref `{ref}`", exclude, max_bytes)


def load_staged(artifact: Path, *, exclude: Collection[Path] = (), max_bytes: int) -> Version:
    """The artifact as the next commit would have it. Raises UsageError where nothing of it is staged."""
    tree = _git(_folder(artifact), "write-tree")
    if tree is None:
        raise UsageError(
            f"what is staged of `{printable(artifact)}` cannot be read",
            hint="--staged works in a git repository without unmerged files",
        )
    return _load(artifact, tree.decode().strip(), "what is staged in git", exclude, max_bytes)


def is_staged_as_it_is(path: Path) -> bool:
    """Whether a file has no changes that are not staged. One that git does not know has none."""
    return _git(_folder(path), "diff", "--quiet", "--", path.name, literal=True) is not None


def _folder(artifact: Path) -> Path:
    return artifact if artifact.is_dir() else artifact.parent


def _load(artifact: Path, tree: str, name: str, exclude: Collection[Path], max_bytes: int) -> Version:
    top = _top(_folder(artifact))
    real = artifact.resolve()
    if not real.is_relative_to(top):
        raise UsageError(
            f"`{printable(artifact)}` leads out of the repository, so {name} cannot hold it",
            hint="name the artifact itself, not a link to it",
        )
    inside = real.relative_to(top).as_posix()
    with tempfile.TemporaryDirectory(prefix="honestone-baseline-") as temporary:
        place = _checked_out(top, tree, name, inside, Path(temporary).resolve())
        if not os.path.lexists(place):
            raise UsageError(f"{name} has no `{inside}`", hint="add it to git first")
        hidden = {
            place / path.relative_to(real)
            for path in exclude
            if artifact.is_dir() and path.is_relative_to(artifact.resolve())
        }
        return load_artifact(place, exclude={path.resolve() for path in hidden}, max_bytes=max_bytes).version


def _top(folder: Path) -> Path:
    said = _git(folder, "rev-parse", "--show-toplevel")
    if said is None:
        raise UsageError("git has no working tree here", hint="name another artifact, a run or a saved report")
    return Path(os.fsdecode(said.removesuffix(b"\n"))).resolve()


def _checked_out(top: Path, tree: str, name: str, inside: str, into: Path) -> Path:
    """The files as a checkout would write them, through an index of our own. (`git archive` leaves out what
    is marked export-ignore.) Raises UsageError where a part is another repository's."""
    index = {"GIT_INDEX_FILE": str(into / "index")}
    within = [] if inside == "." else ["--", inside]
    listed = _git(top, "ls-tree", "-r", "-z", "--full-tree", tree, *within, literal=True)
    rows = [row.partition(b"\t") for row in (listed or b"").split(b"\0") if row]
    foreign = [os.fsdecode(name) for kind, _, name in rows if kind.startswith(b"160000")]
    if foreign:
        raise UsageError(
            f"{name} has the artifact with the submodule `{visible(foreign[0], 200)}`, whose files are in another history",
            hint="use a run, a saved report or a copy of the folder as the baseline",
        )
    names = b"".join(name + b"\0" for _, _, name in rows)
    if names and _git(top, "read-tree", "--no-sparse-checkout", tree, env=index) is not None:
        _git(top, "checkout-index", "-z", "--stdin", f"--prefix={into}/tree/", env=index, stdin=names)
    return into / "tree" / inside


def _git(
    folder: Path, *words: str, env: Mapping[str, str] | None = None, stdin: bytes = b"", literal: bool = False
) -> bytes | None:
    """What git says, or None when it is not there or refuses."""
    options = ["--literal-pathspecs"] if literal else []
    try:
        own = base_environment(env, pass_names=[name for name in os.environ if name.startswith("GIT_")])
        done = answer_of(["git", *options, *words], GIT_TIMEOUT, cwd=folder, env=own, stdin=stdin)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
