"""What a check is made on: the rubric's place, the version judged, and a private copy of it for
checks that run code.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.artifact import Version
from honestone.core.checking.checks import OUTPUT_NAME, CheckAnswer, judged, matching, visible
from honestone.core.judging.rubric import Check
from honestone.ports import Embedder, Finding, Once, Output
from honestone.system.files import materialise, remove
from honestone.system.processes.private import forget, make_private

if TYPE_CHECKING:
    from honestone.system.processes.sandbox import Sandbox


class Setting(Struct, frozen=True, kw_only=True, dict=True):
    """Where a rubric's checks are made. `artifacts` are the paths on disk of what is judged, as far
    as known.

    `folder` is where the command works, `closed` what else a program does not see (the project, the
    store), `allowed` are folders out of the project that it may read all the same.
    """

    base: Path
    folder: Path = Path()
    closed: tuple[Path, ...] = ()
    allowed: tuple[Path, ...] = ()
    sandbox_choice: str = "auto"
    timeout: float = 60
    pass_env: tuple[str, ...] = ()
    artifacts: tuple[Path, ...] = ()
    embedder: Embedder | None = None

    @cached_property
    def sandbox(self) -> Sandbox:
        from honestone.system.processes.sandbox import Sandbox

        return Sandbox.choose(self.sandbox_choice)

    @cached_property
    def unread(self) -> dict[tuple[Path | None, ...], Collection[str]]:
        """Files that code was found not to be able to open: by the folders that it sees and, after
        None, the files that were tried.
        """
        return {}

    @cached_property
    def hidden(self) -> tuple[Path, ...]:
        """What a program does not see: the project around the rubric's folder, the store, and names
        for us alone.
        """
        from honestone.system.processes.sandbox import hidden_from_programs

        return hidden_from_programs(self.base, self.folder, self.closed, self.allowed)

    @cached_property
    def _real_artifacts(self) -> frozenset[Path]:
        return frozenset(path.resolve() for path in self.artifacts)

    def name_in_artifact(self, path: Path) -> str | None:
        """The name in a version of a path on disk that belongs to an artifact, else None."""
        real = path.resolve()
        if real in self._real_artifacts and not real.is_dir():
            return real.name
        for parent in (real, *real.parents):
            if parent in self._real_artifacts:
                return real.relative_to(parent).as_posix()
        return None

    def sibling(self, name: str, *, even_judged: bool = False) -> Path | None:
        """What is next to the rubric under this name; a part of what is judged only if asked for."""
        with contextlib.suppress(OSError, ValueError):
            path = self.base / name
            if path.exists() and (even_judged or self.name_in_artifact(path) is None):
                return path.absolute()
        return None

    def in_version(self, name: str, version: Version) -> str | None:
        """The name in the version of what a rubric calls `name`: as seen from the rubric, else from
        the version.
        """
        candidates = [os.path.normpath(name)]
        if self.artifacts and not os.path.isabs(name):
            seen = self.name_in_artifact(self.base / name)
            candidates = [seen, *candidates] if seen is not None else candidates
        for candidate in candidates:
            if candidate in version.files or any(
                path.startswith(candidate + "/") for path in version.files
            ):
                return candidate
        return None

    def prefers_version(self, name: str, version: Version) -> bool:
        """Whether a name means the version's file: it is in the version, and the artifact's path is
        not known.
        """
        return not self.artifacts and self.in_version(name, version) is not None


class Subject(Struct, eq=False, dict=True):
    """One version, or one output of a run on it, under the checks of one rubric. `input` and
    `reference` are the case's, for graders; `once` makes calls that cost.
    """

    setting: Setting
    artifact: Version
    output: Output | None = None
    input: str | None = None
    reference: str | None = None
    once: Once | None = None

    @cached_property
    def version(self) -> Version:
        """The files that are judged: of the artifact, or the output as a file, in its workspace
        where there is one.
        """
        if self.output is None:
            return self.artifact
        return judged(self.artifact, self.output.text, self.output.files)

    def with_files(self, files: Version) -> Subject:
        """The same with other files in the workspace."""
        assert self.output is not None
        output = replace(self.output, files=files, start=None)
        return replace(self, output=output)

    @cached_property
    def text(self) -> str:
        return self.artifact.text if self.output is None else self.output.text

    @property
    def diff(self) -> str | None:
        """What the target changed in its workspace; None without one."""
        return None if self.output is None else self.output.diff

    @property
    def replies(self) -> list[str]:
        """What the target said in a conversation, reply by reply."""
        trace = None if self.output is None else self.output.trace
        replies = None if trace is None else trace.extra.get("replies")
        return [str(one) for one in replies] if isinstance(replies, list) else []

    def output_file(self, copy: CheckWorkspace) -> Path:
        """Where in a copy the file is that is judged: the output, else the artifact."""
        return copy.artifact if self.output is None else copy.work / OUTPUT_NAME

    def texts(self, check: Check) -> dict[str, str]:
        """The text files that a check's `path` chooses."""
        texts = self.version.texts
        return {path: texts[path] for path in matching(texts, check.option("path", ""))}

    def fresh_copy(self) -> CheckWorkspace:
        """The private copy, made when first needed and as new each time."""
        self._copy.restore()
        return self._copy

    @cached_property
    def _copy(self) -> CheckWorkspace:
        return CheckWorkspace(self.version)

    def __enter__(self) -> Subject:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if "_copy" in self.__dict__:
            self._copy.close()


class CheckWorkspace:
    """A private folder: `work` holds the version, `home` and `tmp` are empty, `extra` is the
    check's own.
    """

    def __init__(self, version: Version) -> None:
        self._version = version
        self.root = make_private("honestone-check-")
        self.work, self.home, self.tmp, self.extra = (
            self.root / n for n in ("work", "home", "tmp", "extra")
        )
        self._written: dict[str, tuple[int, ...]] | None = None

    @property
    def artifact(self) -> Path:
        """The path of what is judged: the folder, or the one file in it."""
        return self.work if self._version.is_folder else self.work / next(iter(self._version.files))

    def restore(self) -> None:
        """Bring it to the state of the version, whatever the last program did."""
        for place in (self.home, self.tmp, self.extra):
            if not place.is_dir() or place.is_symlink() or any(place.iterdir()):
                remove(place)
                place.mkdir()
        if self._written is None or self._written != state_of(self.work):
            remove(self.work)
            self.work.mkdir()
            materialise(self._version, self.work)
            self._written = state_of(self.work)

    def close(self) -> None:
        remove(self.root)
        forget(self.root)


def state_of(root: Path) -> dict[str, tuple[int, ...]]:
    """Below a folder, every path with what changes when its bytes, mode or place do. A program
    cannot set the time of change (ctime).
    """
    state: dict[str, tuple[int, ...]] = {}
    for path in _everything_below(root):
        try:
            seen = os.lstat(path)
        except OSError:
            state[path] = (-1,)
            continue
        state[path] = (seen.st_mode, seen.st_ino, seen.st_size, seen.st_ctime_ns)
    return state


def _everything_below(root: Path) -> Iterator[str]:
    yield str(root)
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            yield os.path.join(folder, name)


NO_SUCH_FILE: Final = "no text file matches {}"
NO_REPLY: Final = "the conversation has no reply {}"
NO_DIFF: Final = "no diff to look at: the target did not work in a workspace"


def over_texts(
    check: Check, subject: Subject, evaluate: Callable[[str], CheckAnswer]
) -> CheckAnswer:
    """A check of one text on what its options choose: the whole text, the diff, or every or any
    file of `path`.
    """
    place = check.options.get("in")
    if place == "diff":
        return (None, NO_DIFF) if subject.diff is None else evaluate(subject.diff)
    if isinstance(place, int):
        replies = subject.replies
        return (
            evaluate(replies[place - 1])
            if place <= len(replies)
            else (None, NO_REPLY.format(place))
        )
    if "path" not in check.options:
        return evaluate(subject.text)
    texts = subject.texts(check)
    if not texts:
        return False, NO_SUCH_FILE.format(_globs(check))
    answers = [(path, *evaluate(text)) for path, text in texts.items()]
    wanted = check.options.get("match", "every") == "any"
    if wanted and any(met for _, met, _ in answers):
        return True, None
    wrong = [answer for answer in answers if not answer[1]]
    if not wrong:
        return True, None
    unsure = [answer for answer in wrong if answer[1] is None]
    sure = [answer for answer in wrong if answer[1] is False]
    if unsure and (wanted or not sure):
        return None, _of_files(unsure)
    return False, _of_files(sure)


def _of_files(answers: list[tuple[str, bool | None, str | None]]) -> str:
    path, _, note = answers[0]
    more = f" (and {len(answers) - 1} more files)" if len(answers) > 1 else ""
    return visible(f"{path}: {note or 'unmet'}{more}")


def _globs(check: Check) -> str:
    paths = check.option("path", "")
    return visible(", ".join([paths] if isinstance(paths, str) else paths), 100)


def finding(
    check: Check,
    answer: CheckAnswer,
    *,
    sandbox: str | None = None,
    final: bool = False,
    score: float | None = None,
) -> Finding:
    """What was found, turned round for `not-`. `final`: holds as it is, negated or not. None stays
    None, and has no score. A note is of what is wrong; next to a score it stays where the check is
    met.
    """
    met, note = answer
    if met is not None and check.negated and not final:
        met = not met
    score = None if met is None else score
    is_silent = note is None or (met and score is None)
    return Finding(
        met=met, note=None if is_silent else visible(note or ""), sandbox=sandbox, score=score
    )
