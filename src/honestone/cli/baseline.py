"""What `--baseline` means: a run, a saved report, another artifact, or the artifact at a git ref; tried in this order."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honestone.cli.skill_loading import load_skill, skill_of
from honestone.core.artifact import Version
from honestone.core.errors import FileError, StoreError, UsageError
from honestone.report.suite_documents import REPORT, suite_document
from honestone.system.files import load_artifact, printable

if TYPE_CHECKING:
    from honestone.cli.suite_session import Subject

GIT_TIMEOUT = 60
WITHOUT = "without"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """`report` where it has been run, `subject` where it is still to run. `is_without`: the skill is not there at all."""

    name: str
    report: dict[str, Any] | None = None
    subject: Subject | None = None
    is_without: bool = False


def find_baseline(
    name: str, store: Any, subject: Subject, *, update: bool, exclude: Collection[Path], max_bytes: int
) -> Baseline | None:
    """None where `--update-baseline` is about to make the file. Raises UsageError when it is nothing of all that."""
    from honestone.cli.suite_session import Subject

    if name == WITHOUT and not Path(name).exists():
        if not subject.is_isolated:
            raise UsageError(
                f"--baseline {WITHOUT} is the tasks with no skill at all, but no skill is evaluated",
                hint="--artifact SKILL_FOLDER",
            )
        return Baseline(name=name, subject=Subject.without_skill(), is_without=True)
    report = run_or_report(name, store)
    if report is not None:
        return Baseline(name=name, report=report)
    path = Path(name)
    if update and name.endswith(".json") and not path.exists():
        return None
    if subject.version is None:
        raise UsageError(
            f"the baseline `{name}` is neither a run nor a saved report",
            hint="an artifact or a git ref can be a baseline only where there is an artifact: --artifact PATH",
        )
    if path.exists():
        if subject.is_isolated:
            skill = load_skill(path, exclude=exclude, max_bytes=max_bytes)
            return Baseline(
                name=printable(path),
                subject=_other(Subject.of_skill(printable(path), skill, "baseline"), subject),
            )
        version = load_artifact(path, exclude=exclude, max_bytes=max_bytes).version
        return Baseline(
            name=printable(path), subject=_other(Subject(path=printable(path), version=version, note="baseline"), subject)
        )  # fmt: skip
    found = load_at_ref(Path(subject.path), name, exclude=exclude, max_bytes=max_bytes)
    if found is None:
        raise UsageError(
            f"the baseline `{name}` is no run, no saved report, no file or folder, and no git ref here",
            hint="`honestone runs` lists runs; `git branch -a` and `git tag` list refs",
        )
    at = f"{subject.path} at {name}"
    if subject.skill is not None:
        then = Subject.of_skill(at, skill_of(found, subject.skill.name), "baseline")
    else:
        then = Subject(path=at, version=found, note="baseline")
    return Baseline(name=name, subject=_other(then, subject))


def _other(baseline: Subject, subject: Subject) -> Subject:
    """The same bytes on both sides would measure noise."""
    assert baseline.version is not None and subject.version is not None
    if baseline.version.digest == subject.version.digest:
        raise UsageError(
            f"the baseline `{baseline.path}` holds the same bytes as the artifact, so there is nothing to compare",
            hint="name the version from before the change: a git ref such as HEAD, a run, or another folder",
        )
    return baseline


def run_or_report(name: str, store: Any) -> dict[str, Any] | None:
    """The report of a run in the store or of a saved file; None when the name is neither.

    Raises UsageError for a run of another kind and for a file that looks like a report but is none.
    """
    path = Path(name)
    if path.is_file() and path.suffix == ".json":
        return _saved(path)
    try:
        info = store.find_run(name)
    except StoreError:
        return None
    if info.kind != "suite":
        raise UsageError(
            f"run {info.id} is an {info.kind} run, not a suite's", hint="`honestone runs` lists them"
        )
    return suite_document(store.events(info.id), run=info.id)


def _saved(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if isinstance(document, dict) and document.get("schema") == REPORT:
        return document
    return None


def load_at_ref(
    artifact: Path, ref: str, *, exclude: Collection[Path] = (), max_bytes: int
) -> Version | None:
    """The artifact as a git commit has it; None when there is no such ref or no repository.

    Raises UsageError when the ref does not hold the artifact. The working tree is not touched.
    """
    folder = artifact if artifact.is_dir() else artifact.parent
    if ref.startswith("-") or _git(folder, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") is None:
        return None
    top = _git(folder, "rev-parse", "--show-toplevel")
    assert top is not None
    inside = artifact.resolve().relative_to(Path(top.decode().strip()).resolve()).as_posix()
    with tempfile.TemporaryDirectory(prefix="honestone-baseline-") as temporary:
        # From the top: below it git would look for the path within the folder that it is called in.
        packed = _git(Path(top.decode().strip()), "archive", "--format=tar", ref, "--", f":(literal){inside}")
        if packed is None:
            raise UsageError(
                f"the git ref `{ref}` has no `{inside}`", hint="name a ref from after it was added"
            )
        _unpack(packed, Path(temporary))
        place = Path(temporary) / inside
        if not place.exists():
            raise FileError(f"the git ref `{ref}` has no `{inside}`")
        hidden = {place / path.relative_to(artifact.resolve()) for path in exclude if _is_in(path, artifact)}
        return load_artifact(place, exclude={path.resolve() for path in hidden}, max_bytes=max_bytes).version


def _is_in(path: Path, folder: Path) -> bool:
    return folder.is_dir() and path.is_relative_to(folder.resolve())


def _unpack(packed: bytes, into: Path) -> None:
    import io
    import tarfile

    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(into, filter="data")


def _git(folder: Path, *words: str) -> bytes | None:
    """What git says, or None when it is not there or refuses."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder or ".", capture_output=True, timeout=GIT_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
