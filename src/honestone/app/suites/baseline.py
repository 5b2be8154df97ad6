"""What `--baseline` means: a run, a saved report, another artifact, or the artifact at a git ref; tried in this order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from honestone.app.suites.git_version import load_at_ref
from honestone.app.suites.saved_report import read_saved_report
from honestone.app.suites.subject import WITHOUT, SuiteSubject, load_skill, skill_of
from honestone.app.workspace import Workspace
from honestone.core.artifact import Version
from honestone.core.errors import StoreError, UsageError
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.record import RunSummary, read_record, summary_of
from honestone.ports import Store
from honestone.system.files import load_artifact, printable

LAST = ("last", "latest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """`summary` of one that was run before; `subject` of one that has to be run; neither where `is_same`: the git ref
    holds the artifact's very bytes, as in a pull request that does not touch it.

    `is_without`: the skill is not there at all.
    """

    name: str
    summary: RunSummary | None = None
    subject: SuiteSubject | None = None
    is_without: bool = False
    is_same: bool = False


def find_baseline(
    workspace: Workspace,
    store: Store,
    name: str,
    subject: SuiteSubject,
    *,
    update: bool,
    exclude: Collection[Path],
    max_bytes: int,
) -> Baseline | None:
    """None where `update` is about to make the file. Raises UsageError when the name is nothing of all that."""
    if not name.strip():
        raise UsageError(
            "--baseline is empty", hint="name a run, a saved report, another artifact or a git ref such as HEAD"
        )
    path = workspace.path(name)
    if name == WITHOUT and not path.exists():
        if not subject.is_isolated:
            raise UsageError(
                f"--baseline {WITHOUT} runs the tasks without the skill, but no skill is evaluated",
                hint="--artifact SKILL_FOLDER",
            )
        return Baseline(name=name, subject=SuiteSubject.without_skill(), is_without=True)
    summary = find_run_summary(workspace, store, _last_finished(store) if name in LAST else name)
    if summary is not None:
        return Baseline(name=name, summary=summary)
    if update and name.endswith(".json") and not path.exists():
        return None
    if subject.version is None:
        raise UsageError(
            f"the baseline `{name}` is neither a run nor a saved report",
            hint="an artifact or a git ref can be a baseline only where there is an artifact: --artifact PATH",
        )
    if path.exists():
        return _other_artifact(path, printable(Path(name)), subject, exclude, max_bytes)
    assert subject.place is not None
    found = load_at_ref(subject.place, name, exclude=exclude, max_bytes=max_bytes)
    if found is None:
        raise UsageError(
            f"the baseline `{name}` is not a run, a saved report, a file, a folder or a git ref",
            hint="`honestone runs` lists runs; `git branch -a` and `git tag` list refs",
        )
    at = f"{subject.path} at {name}"
    if subject.skill is not None:
        return Baseline(name=name, subject=_side(at, subject, skill=skill_of(found, subject.skill.name)))
    if found.digest == subject.version.digest:
        return Baseline(name=name, is_same=True)
    return Baseline(name=name, subject=_side(at, subject, version=found))


def _other_artifact(
    path: Path, shown: str, subject: SuiteSubject, exclude: Collection[Path], max_bytes: int
) -> Baseline:
    if subject.is_isolated:
        skill = load_skill(path, exclude=exclude, max_bytes=max_bytes)
        return Baseline(name=shown, subject=_side(shown, subject, skill=skill))
    version = load_artifact(path, exclude=exclude, max_bytes=max_bytes).version
    return Baseline(name=shown, subject=_side(shown, subject, version=version))


def _side(
    path: str, subject: SuiteSubject, *, version: Version | None = None, skill: Skill | None = None
) -> SuiteSubject:
    """The baseline's side. Raises UsageError for the subject's own bytes: such a comparison would measure noise."""
    note = "baseline"
    side = (
        SuiteSubject(path=path, version=version, note=note)
        if skill is None
        else SuiteSubject.of_skill(path, skill, note)
    )
    assert side.version is not None and subject.version is not None
    if side.version.digest == subject.version.digest:
        raise UsageError(
            f"the baseline `{path}` holds the same bytes as the artifact, so there is nothing to compare",
            hint="name the version from before the change: a git ref such as HEAD, a run, or another folder",
        )
    return side


def _last_finished(store: Store) -> str:
    """The last suite run that came to its end: one that is being resumed would be compared with itself."""
    for info in store.runs():
        if info.kind == "suite" and info.finished and info.result != "interrupted":
            return info.id
    raise UsageError("no suite run has finished here, so `last` names none", hint="name an artifact or a git ref")


def find_run_summary(workspace: Workspace, store: Store, name: str) -> RunSummary | None:
    """A run in the store, or the one in a saved report; None when the name is neither.

    Raises UsageError for a run of another kind, and for a file that looks like a report and is not a complete one.
    """
    try:
        info = store.find_run(name) if name else None
    except StoreError:
        info = None
    if info is None:
        return read_saved_report(workspace.path(name))
    if info.kind != "suite":
        raise UsageError(f"run {info.id} is an {info.kind} run, not a suite's", hint="`honestone runs` lists them")
    return summary_of(read_record(store.events(info.id), run=info.id))
