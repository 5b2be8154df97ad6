"""What `--baseline` means: a run, a saved report, another artifact, or the artifact at a git ref; tried in this order."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from honestone.app.suites.skill_loading import load_skill, skill_of
from honestone.app.suites.subject import WITHOUT, Subject
from honestone.core.artifact import Version
from honestone.core.checks import visible
from honestone.core.errors import StoreError, UsageError
from honestone.ports import Store
from honestone.report.suite_documents import REPORT, report_fault, suite_document
from honestone.system.files import load_artifact, printable

GIT_TIMEOUT = 60
LAST = ("last", "latest")
MAX_REPORT_BYTES = 500_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """`report` where it has been run, `subject` where it is still to run. `is_without`: the skill is not there at all.

    `is_same`: the git ref holds the artifact's very bytes, as in a pull request that does not touch it.
    """

    name: str
    report: dict[str, Any] | None = None
    subject: Subject | None = None
    is_without: bool = False
    is_same: bool = False


def find_baseline(
    name: str, store: Store, subject: Subject, *, update: bool, exclude: Collection[Path], max_bytes: int
) -> Baseline | None:
    """None where `--update-baseline` is about to make the file. Raises UsageError when it is nothing of all that."""

    if not name.strip():
        raise UsageError(
            "--baseline is empty", hint="name a run, a saved report, another artifact or a git ref such as HEAD"
        )
    if name == WITHOUT and not Path(name).exists():
        if not subject.is_isolated:
            raise UsageError(
                f"--baseline {WITHOUT} is the tasks with no skill at all, but no skill is evaluated",
                hint="--artifact SKILL_FOLDER",
            )
        return Baseline(name=name, subject=Subject.without_skill(), is_without=True)
    report = run_or_report(_last_finished(store) if name in LAST else name, store)
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
                name=printable(path), subject=_other(Subject.of_skill(printable(path), skill, "baseline"), subject)
            )
        version = load_artifact(path, exclude=exclude, max_bytes=max_bytes).version
        return Baseline(
            name=printable(path),
            subject=_other(Subject(path=printable(path), version=version, note="baseline"), subject),
        )
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
        if found.digest == subject.version.digest:
            return Baseline(name=name, is_same=True)
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


def _last_finished(store: Store) -> str:
    """The last suite run that came to its end: one that is being gone on with would be compared with itself."""
    for info in store.runs():
        if info.kind == "suite" and info.finished and info.result != "interrupted":
            return str(info.id)
    raise UsageError("no suite run came to its end here, so there is no last one", hint="name an artifact or a git ref")


def run_or_report(name: str, store: Store) -> dict[str, Any] | None:
    """The report of a run in the store or of a saved file; None when the name is neither.

    Raises UsageError for a run of another kind and for a file that looks like a report but is none.
    """
    try:
        info = store.find_run(name) if name else None
    except StoreError:
        info = None
    if info is None:
        return _saved(Path(name))
    if info.kind != "suite":
        raise UsageError(f"run {info.id} is an {info.kind} run, not a suite's", hint="`honestone runs` lists them")
    return suite_document(store.events(info.id), run=info.id)


def _saved(path: Path) -> dict[str, Any] | None:
    """A saved report, whatever its file is called. Any other file of ours is refused: it is no artifact by mistake."""
    data = _beginning_with_a_brace(path)
    if data is None:
        return None
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        if _OURS.search(data[:4000]):
            raise UsageError(f"`{path}` was a report, but it is cut off or damaged", hint=_ANEW) from None
        return None
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or not schema.startswith("honestone."):
        return None
    if schema != REPORT:
        raise UsageError(f"`{path}` is {visible(schema, 60)}, not a suite's {REPORT}", hint=_ANEW)
    fault = report_fault(document)
    if fault is not None:
        raise UsageError(f"`{path}` is no whole report: {fault}", hint=_ANEW)
    return dict(document)


_ANEW = "`honestone show RUN --json > FILE` saves one"
_OURS = re.compile(rb'"schema"\s*:\s*"honestone\.')


def _beginning_with_a_brace(path: Path) -> bytes | None:
    try:
        if not path.is_file() or path.stat().st_size > MAX_REPORT_BYTES:
            return None
        with path.open("rb") as file:
            start = file.read(4096)
            return start + file.read() if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else None
    except (OSError, ValueError):
        return None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def load_at_ref(artifact: Path, ref: str, *, exclude: Collection[Path] = (), max_bytes: int) -> Version | None:
    """The artifact as a git commit has it; None when there is no such ref or no repository.

    Raises UsageError when the ref does not hold the artifact. The working tree is not touched.
    """
    folder = artifact if artifact.is_dir() else artifact.parent
    if ref.startswith("-") or _git(folder, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") is None:
        return None
    top = _top(folder)
    real = artifact.resolve()
    if not real.is_relative_to(top):
        raise UsageError(
            f"`{printable(artifact)}` leads out of the repository, so the git ref `{ref}` cannot hold it",
            hint="name the artifact itself, not a link to it",
        )
    inside = real.relative_to(top).as_posix()
    with tempfile.TemporaryDirectory(prefix="honestone-baseline-") as temporary:
        place = _checked_out(top, ref, inside, Path(temporary).resolve())
        if not os.path.lexists(place):
            raise UsageError(f"the git ref `{ref}` has no `{inside}`", hint="name a ref from after it was added")
        hidden = {place / path.relative_to(real) for path in exclude if _is_in(path, artifact)}
        return load_artifact(place, exclude={path.resolve() for path in hidden}, max_bytes=max_bytes).version


def _top(folder: Path) -> Path:
    said = _git(folder, "rev-parse", "--show-toplevel")
    if said is None:
        raise UsageError("git has no working tree here", hint="name another artifact, a run or a saved report")
    return Path(os.fsdecode(said.removesuffix(b"\n"))).resolve()


def _checked_out(top: Path, ref: str, inside: str, into: Path) -> Path:
    """The files as a checkout of the ref would write them, through an index of our own. (`git archive` leaves out what
    is marked export-ignore.) Raises UsageError where a part is another repository's."""
    index = {"GIT_INDEX_FILE": str(into / "index")}
    within = [] if inside == "." else ["--", inside]
    listed = _git(top, "ls-tree", "-r", "-z", "--full-tree", ref, *within, literal=True)
    rows = [row.partition(b"\t") for row in (listed or b"").split(b"\0") if row]
    foreign = [os.fsdecode(name) for kind, _, name in rows if kind.startswith(b"160000")]
    if foreign:
        raise UsageError(
            f"at `{ref}` the artifact holds the submodule `{visible(foreign[0], 200)}`, whose files are in another history",
            hint="use a run, a saved report or a copy of the folder as the baseline",
        )
    names = b"".join(name + b"\0" for _, _, name in rows)
    if names and _git(top, "read-tree", "--no-sparse-checkout", ref, env=index) is not None:
        _git(top, "checkout-index", "-z", "--stdin", f"--prefix={into}/tree/", env=index, stdin=names)
    return into / "tree" / inside


def _is_in(path: Path, folder: Path) -> bool:
    return folder.is_dir() and path.is_relative_to(folder.resolve())


def _git(
    folder: Path, *words: str, env: Mapping[str, str] | None = None, stdin: bytes = b"", literal: bool = False
) -> bytes | None:
    """What git says, or None when it is not there or refuses."""
    options = ["--literal-pathspecs"] if literal else []
    try:
        done = subprocess.run(
            ["git", *options, *words],
            cwd=folder or ".",
            env={**os.environ, **(env or {})},
            input=stdin,
            capture_output=True,
            timeout=GIT_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
