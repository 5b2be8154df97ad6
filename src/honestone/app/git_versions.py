"""Artifacts as git has them: at a commit, or staged for the next one. The working tree is not
touched.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from honestone.core.artifact import Version
from honestone.core.checking.checks import visible
from honestone.core.errors import UsageError
from honestone.system.files import load_artifact, printable
from honestone.system.processes.commands import GIT, answer_of
from honestone.system.processes.environment import base_environment

GIT_TIMEOUT: Final = 60


def load_at_ref(
    artifact: Path, ref: str, *, exclude: Collection[Path] = (), max_bytes: int
) -> Version | None:
    """The artifact as a git commit has it; None without such a ref or a repository.

    Raises UsageError when the ref does not hold the artifact.
    """
    if (
        ref.startswith("-")
        or _git(_folder(artifact), "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") is None
    ):
        return None
    return _load(artifact, ref, f"the git ref `{ref}`", exclude, max_bytes)


def load_staged(artifact: Path, *, exclude: Collection[Path] = (), max_bytes: int) -> Version:
    """The artifact as the next commit would have it. Raises UsageError where nothing of it is
    staged.
    """
    tree = _git(_folder(artifact), "write-tree")
    if tree is None:
        raise UsageError(
            f"what is staged of `{printable(artifact)}` cannot be read",
            hint="--staged works in a git repository without unmerged files",
        )
    _refuse_links(artifact, tree.decode().strip())
    return _load(artifact, tree.decode().strip(), "what is staged in git", exclude, max_bytes)


def _refuse_links(artifact: Path, tree: str) -> None:
    """Raises UsageError where a link is staged: the commit has the link, and not what it leads to."""
    top = _top(_folder(artifact))
    place = artifact.parent.resolve() / artifact.name
    if artifact.is_dir() and not artifact.is_symlink():
        place = artifact.resolve()
    if not place.is_relative_to(top):
        return  # `_load` says so
    inside = place.relative_to(top).as_posix()
    within = [] if inside == "." else ["--", inside]
    rows = _entries(_git(top, "ls-tree", "-r", "-z", "--full-tree", tree, *within, literal=True))
    links = [name for name, (mode, _) in rows.items() if mode == _LINK]
    if links:
        raise UsageError(
            f"`{visible(links[0], 200)}` is staged as a link, and what it leads to is not part of the commit",
            hint="stage the file itself, or judge a folder without links",
        )


def not_as_staged(files: Iterable[Path], near: Path) -> list[Path]:
    """The files of the repository around `near` that the next commit would not hold as they are on
    disk: changed, a link, or taken out of git. Files that git does not know, and those of other
    places, are not part of a commit.

    Digests are compared, as git's own look at changes may skip a file.
    """
    top = _top(_folder(near))
    inside: dict[str, Path] = {}
    for file in files:
        # By the name that was used and by the file that it leads to: a link is changed as easily as
        # a file.
        for path in (Path(os.path.abspath(file)), file.resolve()):
            place = path.parent.resolve() / path.name
            if place.is_relative_to(top):
                inside[os.fspath(place.relative_to(top))] = place
    if not inside:
        return []
    staged = _entries(_git(top, "ls-files", "-s", "-z", "--", *inside, literal=True))
    committed = _entries(
        _git(top, "ls-tree", "-z", "--full-tree", "HEAD", "--", *inside, literal=True)
    )
    found = [path for name, path in inside.items() if name in committed and name not in staged]
    found += [
        inside[name] for name, (mode, _) in staged.items() if name in inside and mode == _LINK
    ]
    compared = [name for name, (mode, _) in staged.items() if name in inside and mode != _LINK]
    return sorted(
        [*found, *(inside[name] for name in compared if _digest(top, name) != staged[name][1])]
    )


_LINK: Final = "120000"


def _entries(listed: bytes | None) -> dict[str, tuple[str, str]]:
    """Mode and digest by name, of `ls-files -s` and `ls-tree`."""
    found = {}
    for row in (listed or b"").split(b"\0"):
        words, _, name = row.partition(b"\t")
        mode, *more = words.decode("ascii", "replace").split()[:3] or [""]
        if more:
            found[os.fsdecode(name)] = (
                mode,
                more[-1] if more[0] in ("blob", "tree", "commit") else more[0],
            )
    return found


def _digest(top: Path, name: str) -> str | None:
    """The digest that git would store the file under now."""
    if (top / name).is_symlink():
        return None
    answer = _git(top, "hash-object", "--", name)
    return None if answer is None else answer.decode("ascii", "replace").strip()


def _folder(artifact: Path) -> Path:
    return artifact if artifact.is_dir() else artifact.parent


def _load(
    artifact: Path, tree: str, name: str, exclude: Collection[Path], max_bytes: int
) -> Version:
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
        return load_artifact(
            place, exclude={path.resolve() for path in hidden}, max_bytes=max_bytes
        ).version


def _top(folder: Path) -> Path:
    output = _git(folder, "rev-parse", "--show-toplevel")
    if output is None:
        raise UsageError(
            "git has no working tree here", hint="name another artifact, a run or a saved report"
        )
    return Path(os.fsdecode(output.removesuffix(b"\n"))).resolve()


def _checked_out(top: Path, tree: str, name: str, inside: str, into: Path) -> Path:
    """The files as a checkout would write them, through an index of our own. (`git archive` leaves
    out what is marked export-ignore.) Raises UsageError where a part is another repository's.
    """
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
        _git(
            top, "checkout-index", "-z", "--stdin", f"--prefix={into}/tree/", env=index, stdin=names
        )
    return into / "tree" / inside


def _git(
    folder: Path,
    *words: str,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    literal: bool = False,
) -> bytes | None:
    """What git says, or None when it is not there or refuses."""
    options = ["--literal-pathspecs"] if literal else []
    try:
        own = base_environment(
            env, pass_names=[name for name in os.environ if name.startswith("GIT_")]
        )
        done = answer_of([*GIT, *options, *words], GIT_TIMEOUT, cwd=folder, env=own, stdin=stdin)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
