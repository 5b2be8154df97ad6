"""Where an AgentV case runs: its workspace or environment, and the commands before and after."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.errors import FileError
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import as_written
from honestone.core.suite.case import CaseWorkspace, is_url
from honestone.formats.syntax.marked import read_marked
from honestone.formats.syntax.nodes import MapKey
from honestone.formats.syntax.reader import FileEntry, shown
from honestone.interop.agentv.dialect import TABLES
from honestone.interop.agentv.templates import reading_of
from honestone.interop.agentv.text import Texts

_BEFORE: Final = ("before_all", "before_each")
_AFTER: Final = ("after_each", "after_all")
_IN_A_CONTAINER: Final = (
    "start the container in the target (--target 'cmd:docker run ...'), or run honestone inside it"
)


class Container(Struct, frozen=True, kw_only=True):
    """Where programs that grade run. `resets`: command lines in it that put its repositories at
    their commits.
    """

    image: str
    options: Mapping[str, object]
    resets: tuple[str, ...] = ()

    def words(self, words: list[str]) -> list[str]:
        """The command line of a program, after the resets."""
        return (
            ["sh", "-c", " && ".join((*self.resets, 'exec "$@"')), "sh", *words]
            if self.resets
            else words
        )


class Place(Struct, frozen=True, kw_only=True):
    """Where a case runs: its folder, command lines that check repositories out into it, and others
    by the name of their hook; `container` is where what it made is graded.
    """

    workspace: CaseWorkspace | None = None
    hooks: Mapping[str, str] = field(default_factory=dict)
    clones: tuple[str, ...] = ()
    container: Container | None = None

    @property
    def setup(self) -> tuple[str, ...]:
        return (*self.clones, *(self.hooks[name] for name in _BEFORE if name in self.hooks))

    @property
    def teardown(self) -> tuple[str, ...]:
        return tuple(self.hooks[name] for name in _AFTER if name in self.hooks)

    def over(self, above: Place) -> Place:
        """This, and from above what it does not say."""
        own, rest = self.workspace or CaseWorkspace(), above.workspace or CaseWorkspace()
        repository = own if own.git is not None or self.clones else rest
        there = replace(own, copy=own.copy or rest.copy, git=repository.git, ref=repository.ref)
        is_there = self.workspace is not None or above.workspace is not None
        return Place(
            workspace=there if is_there else None,
            hooks={**above.hooks, **self.hooks},
            clones=self.clones if repository is own else above.clones,
            container=self.container or above.container,
        )


def read_place(take: FileEntry, texts: Texts, above: Place = Place()) -> Place:
    """The place of a case or a file. A case's `workspace` adds to that of its file; its
    `environment` replaces it.
    """
    for key, read in (("workspace", _workspace), ("environment", _environment)):
        value = take.raw(key)
        if value is None:
            continue
        if isinstance(value, str):
            own = _in_file(take, key, value, texts, read)
        elif isinstance(value, dict):
            own = read(take.below(key))
        else:
            take.problem(
                f"`{key}` must be a mapping or the name of a file, not {shown(value)}", key
            )
            return above
        return own.over(above) if key == "workspace" else own
    return above


def _in_file(
    take: FileEntry, key: str, name: str, texts: Texts, read: Callable[[FileEntry], Place]
) -> Place:
    """A workspace or environment in a file of its own; the paths in it start at the folder of that
    file.
    """
    path = texts.resolve(name)
    try:
        inner = reading_of(read_marked(path))
    except FileError as error:
        take.problem(f"the file of `{key}` cannot be read: {error.message}", key)
        return Place()
    texts.files.append(path)
    place = read(inner.at())
    take.reading.join(inner)
    if place.workspace is None or place.workspace.copy is None:
        return place
    folder = os.path.relpath(path.parent, texts.folder)
    copy = (
        place.workspace.copy
        if folder == "."
        else os.path.normpath(os.path.join(folder, place.workspace.copy))
    )
    return replace(place, workspace=replace(place.workspace, copy=copy))


def _workspace(take: FileEntry) -> Place:
    if not take.read(TABLES["workspace"]):
        return Place()
    copy = take.text("template")
    container = _container(take)
    git, ref, clones = _repositories(take, only_in_container=container is not None)
    hooks = _hooks(take.below("hooks")) if isinstance(take.value.get("hooks"), dict) else {}
    there = CaseWorkspace(copy=copy, git=git, ref=ref) if copy or git or hooks or clones else None
    return Place(workspace=there, hooks=hooks, clones=clones, container=container)


_LONGEST: Final = (
    1800  # seconds that AgentV lets a program run in a container where the file does not say it
)


def _container(take: FileEntry) -> Container | None:
    """`docker` of a workspace: AgentV runs the programs that grade in it, and nothing else."""
    here = take.mapping("docker", TABLES["docker"])
    image = None if here is None else here.text("image")
    if here is None or image is None:
        return None
    seconds, cpus = here.number("timeout", low=0), here.number("cpus", low=0)
    limits = {"memory": here.text("memory"), "cpus": None if cpus is None else as_written(cpus)}
    container = {
        "image": image,
        **{key: value for key, value in limits.items() if value is not None},
    }
    resets = tuple(
        f"{shlex.join(['git', *(['-C', folder] if folder else []), 'reset', '--hard', commit])} >&2"
        for repo in take.mappings("repos", TABLES["repository"])
        if (commit := repo.text("commit", "base_commit")) is not None
        for folder in [repo.text("path")]
    )
    options = {"container": container, "timeout": as_written(seconds or Fraction(_LONGEST))}
    return Container(image=image, options=options, resets=resets)


def _repositories(
    take: FileEntry, *, only_in_container: bool
) -> tuple[str | None, str | None, tuple[str, ...]]:
    """The repository that is the workspace itself, its commit, and the command lines that check out
    those in folders of it.
    """
    git, ref, lines = None, None, list[str]()
    for repo in take.mappings("repos", TABLES["repository"]):
        address, commit = _address(repo), _commit(repo)
        folder = os.path.normpath(repo.text("path") or ".")
        if address is None and only_in_container:
            continue  # the image has it
        if address is None:
            repo.loss("the address of this repository is not written, so it is not checked out")
        elif folder == "." and git is None:
            git, ref = address, commit
        elif folder == "." or os.path.isabs(folder) or folder.startswith(".."):
            repo.loss(
                "a repository is checked out into the workspace or a folder of its own in it",
                "path",
            )
        elif not is_url(address):
            repo.loss(
                f"the repository `{address}` of this machine cannot be checked out into a folder of the workspace"
            )
        else:
            lines.append(shlex.join(["git", "clone", "--quiet", "--", address, folder]))
            if commit is not None:
                lines.append(
                    shlex.join(["git", "-C", folder, "checkout", "--quiet", "--detach", commit])
                )
    return git, ref, tuple(lines)


_GITHUB: Final = late_pattern(r"[\w.-]+/[\w.-]+")


def _address(repo: FileEntry) -> str | None:
    source = repo.raw("source")
    if isinstance(source, dict):
        here = repo.mapping("source", TABLES["source"])
        found = None if here is None else here.text("url", "path")
    else:
        found = repo.text("repo", "source")
    return (
        f"https://github.com/{found}.git"
        if found is not None and _GITHUB.fullmatch(found)
        else found
    )


def _commit(repo: FileEntry) -> str | None:
    """What is checked out; with `ancestor: N`, the commit so many before it."""
    older = repo.mapping("checkout", TABLES["checkout"])
    found = repo.text("commit", "base_commit", "ref") or (
        None if older is None else older.text("ref")
    )
    back = repo.number("ancestor", low=0, is_whole=True) or (
        None if older is None else older.number("ancestor", low=0, is_whole=True)
    )
    return f"{found or 'HEAD'}~{int(back)}" if back else found


def _hooks(take: FileEntry) -> dict[str, str]:
    take.read(TABLES["hooks"])
    found = {key: line for key in (*_BEFORE, *_AFTER) for line in _command(take, key)}
    if "before_all" in take or "after_all" in take:
        take.note("`before_all` and `after_all` run for every case, each in a workspace of its own")
    return found


def _command(take: FileEntry, key: MapKey) -> Iterator[str]:
    """The command line of a hook; none where only `reset` is written."""
    value = take.raw(str(key))
    if value is None:
        return
    here = take.below(key)
    if isinstance(value, dict):
        here.read(TABLES["command"].named(f"`{key}`"))
        words = here.texts("command") or here.texts("script")
        is_line = isinstance(value.get("command") or value.get("script"), str)
        if here.text("cwd") not in (None, ".", "./", "{{workspace_path}}"):
            here.loss("commands run in the workspace, not in another folder", "cwd")
        if words:
            words = [word.replace("{{workspace_path}}", ".") for word in words]
            yield _with_permission(here, words[0] if is_line else shlex.join(words))
    elif isinstance(value, str):
        yield _with_permission(here, value)
    else:
        take.reading.problem(
            f"`{key}` must be a mapping with a `command`, not {shown(value)}", here.path
        )


def _with_permission(take: FileEntry, line: str) -> str:
    """A command that runs before anything is judged, so not confined as checks are."""
    take.reading.runs(f"the command `{line[:60]}`", take.path)
    return line


def _environment(take: FileEntry) -> Place:
    if not take.read(TABLES["environment"]):
        return Place()
    if take.choice("type", ("host", "docker")) == "docker":
        take.loss("`docker`: a workspace in a container is not started", hint=_IN_A_CONTAINER)
    copy = take.text("workdir")
    hooks = {name: line for name in _BEFORE[1:] for line in _command(take, "setup")}
    return Place(workspace=CaseWorkspace(copy=copy) if copy else CaseWorkspace(), hooks=hooks)
