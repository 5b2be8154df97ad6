"""What is run through a suite: an artifact, a skill from disk, no skill, or nothing where the
target alone answers; and what `--baseline` means: a run, a saved report, another artifact, or the
artifact at a git ref; tried in this order.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from honestone.app.history import find_run, is_part_of_loop
from honestone.app.workspace import Workspace
from honestone.core.artifact import Version
from honestone.core.checking.checks import visible
from honestone.core.errors import FileError, StoreError, UsageError
from honestone.core.events import StartedArtifact, StartedColumn, TableStarted
from honestone.core.json_value import late_pattern
from honestone.core.record import summary
from honestone.core.record.case_belief import Chances, name_of_shown
from honestone.core.record.record import read_record
from honestone.core.record.runs import LAST, SUITES, TABLE
from honestone.core.record.summary import RunSummary, summary_of
from honestone.core.skill.evaluation import TaskResult
from honestone.core.skill.skill_file import SKILL_FILE, Skill, is_skill, skill_name
from honestone.core.suite.attempts import Status
from honestone.core.suite.comparison import CaseSide
from honestone.ports import Store
from honestone.report.documents.belief import is_undecided
from honestone.report.documents.scorecard import ItemDoc
from honestone.report.documents.suite import REPORT, BaselineDoc, SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc, text_of
from honestone.report.documents.table import TABLE as TABLE_DOCUMENT
from honestone.system.files import MAX_BYTES, load_artifact, printable

# The baseline of a skill where none is installed.
WITHOUT: Final = "without"


class SuiteSubject(Struct, frozen=True, kw_only=True):
    """What is run through a suite, or nothing where the target alone answers. `note` says which
    side it is.

    `path` is the name that is shown, `place` where it was read. `is_isolated`: the runs get a fresh
    HOME and folder, with `skill` installed in it, or without any.
    """

    path: str = ""
    version: Version | None = None
    note: str = ""
    place: Path | None = None
    skill: Skill | None = None
    is_isolated: bool = False

    @classmethod
    def of_skill(
        cls, path: str, skill: Skill, note: str = "", *, place: Path | None = None
    ) -> SuiteSubject:
        return cls(
            path=path, version=skill.version, note=note, place=place, skill=skill, is_isolated=True
        )

    @classmethod
    def without_skill(cls) -> SuiteSubject:
        """The same tasks without any skill."""
        return cls(path=WITHOUT, note="baseline", is_isolated=True)


def skill_folder(path: Path) -> Path:
    """A path to a SKILL.md means its folder."""
    return path.parent if path.name == SKILL_FILE and path.is_file() else path


def looks_like_skill(path: Path) -> bool:
    return (skill_folder(path) / SKILL_FILE).is_file()


def load_skill(path: Path, *, exclude: Collection[Path] = (), max_bytes: int = MAX_BYTES) -> Skill:
    """The skill at a folder or its SKILL.md. Raises FileError when there is none.

    The suite (`exclude`), the suite's `fixtures/`, hidden files and links do not belong to it.
    """
    folder = skill_folder(path)
    if not folder.exists():
        raise FileError(
            f"the skill {printable(path)!r} does not exist",
            hint="name the skill's folder, or its SKILL.md",
        )
    if not looks_like_skill(path):
        raise FileError(
            f"{printable(path)!r} is not a skill: it has no {SKILL_FILE}",
            hint="name the skill's folder",
        )
    version = load_artifact(folder, exclude=exclude, max_bytes=max_bytes).version
    fixtures = {file.parent.resolve() / "fixtures" for file in exclude}
    inside = {
        place.relative_to(folder.resolve()).as_posix()
        for place in fixtures
        if place.is_relative_to(folder.resolve())
    }
    return skill_of(version, printable(folder.resolve().name), leave_out=inside)


def skill_of(version: Version, folder: str, *, leave_out: Collection[str] = ()) -> Skill:
    """A folder's version as a skill, named by its front matter, else by the folder."""
    files = {
        name: entry
        for name, entry in version.files.items()
        if not any(part.startswith(".") for part in PurePosixPath(name).parts)
        and not any(name == place or name.startswith(place + "/") for place in leave_out)
    }
    version = replace(version, files=files)
    if not is_skill(version):
        raise FileError(f"{folder!r} is not a skill: it has no {SKILL_FILE} that can be read")
    return Skill(name=skill_name(version.texts.get(SKILL_FILE, ""), folder), version=version)


class Baseline(Struct, frozen=True, kw_only=True):
    """`summary` of one that was run before; `subject` of one that has to be run; neither where
    `is_same`: the git ref holds the artifact's very bytes, as in a pull request that does not touch
    it.

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
    """None where `update` is about to make the file. Raises UsageError when the name is nothing of
    all that.
    """
    if not name.strip():
        raise UsageError(
            "--baseline is empty",
            hint="name a run, a saved report, another artifact or a git ref such as HEAD",
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
    from honestone.app.git_versions import load_at_ref

    found = load_at_ref(subject.place, name, exclude=exclude, max_bytes=max_bytes)
    if found is None:
        raise UsageError(
            f"the baseline `{name}` is not a run, a saved report, a file, a folder or a git ref",
            hint="`honestone runs` lists runs; `git branch -a` and `git tag` list refs",
        )
    at = f"{subject.path} at {name}"
    if subject.skill is not None:
        return Baseline(
            name=name, subject=_side(at, subject, skill=skill_of(found, subject.skill.name))
        )
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
    """The baseline's side. Raises UsageError for the subject's own bytes: such a comparison would
    measure noise.
    """
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
    """The last suite run that came to its end: one that is being resumed would be compared with
    itself.
    """
    for info in store.runs(own=True):
        is_ended = info.kind == "suite" and info.finished and info.result != "interrupted"
        if is_ended and not is_part_of_loop(store, info):
            return info.id
    raise UsageError(
        "no suite run has finished here, so `last` names none", hint="name an artifact or a git ref"
    )


def find_run_summary(workspace: Workspace, store: Store, name: str) -> RunSummary | None:
    """A run in the store, or the one in a saved report; None when the name is neither.

    Raises UsageError for a run of another kind, and for a file that looks like a report and is not
    a complete one.
    """
    try:
        info = find_run(store, name) if name else None
    except StoreError:
        info = None
    if info is None:
        return read_saved_report(workspace.path(name))
    if info.kind == TABLE:
        columns = ", ".join(
            f"{one.run} ({printable(one.name)})" for one in _columns(store, info.id)
        )
        raise UsageError(
            f"run {info.id} is a table, not the run of one target",
            hint=f"name a column of it: {columns}",
        )
    if info.kind not in SUITES:
        raise UsageError(
            f"run {info.id} is of the kind {info.kind}, not a suite's",
            hint="`honestone runs` lists them",
        )
    return summary_of(read_record(store.events(info.id), run=info.id))


def _columns(store: Store, run: str) -> Sequence[StartedColumn]:
    started = next(store.iter_events(run))
    assert isinstance(started, TableStarted)
    return started.columns


MOST_OF_A_REPORT: Final = 500_000_000
_SAVE: Final = "`honestone show RUN --json > FILE` saves one"
_OURS: Final = late_pattern(rb'"schema"\s*:\s*"honestone\.')


def read_saved_report(path: Path) -> RunSummary | None:
    """The run in a saved report, whatever its file is called; None for a file that is something
    else.

    Raises UsageError for another kind of document of ours, and for a report that is damaged: as an
    artifact it would be a baseline by mistake.
    """
    data = _beginning_with_a_brace(path)
    if data is None:
        return None
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        if _OURS.search(data[:4000]):
            raise UsageError(
                f"`{path}` was a report, but it is cut off or damaged", hint=_SAVE
            ) from None
        return None
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or not schema.startswith("honestone."):
        return None
    return read_report(document, f"`{path}`")


def read_report(document: object, name: str) -> RunSummary:
    """The run in a report. Raises UsageError, which calls it by `name`, for another document and a
    damaged one.
    """
    schema = document.get("schema") if isinstance(document, Mapping) else None
    if schema == TABLE_DOCUMENT:
        raise UsageError(
            f"{name} is a table, not the run of one target",
            hint="each of its `columns` names the `run` that it is; --target and --artifact make a run of one",
        )
    if schema != REPORT:
        raise UsageError(
            f"{name} is {visible(str(schema), 60)}, not the {REPORT} of a suite", hint=_SAVE
        )
    try:
        return _summary(msgspec.convert(document, SuiteReportDoc))
    except ValueError as error:
        raise UsageError(
            f"{name} is not a complete report: {visible(str(error), 200)}", hint=_SAVE
        ) from None


def _summary(report: SuiteReportDoc) -> RunSummary:
    """Raises ValueError when a case is in it twice."""
    cases = {case.id: _case(case) for case in report.cases}
    if len(cases) != len(report.cases):
        raise ValueError("a case is in it twice")
    artifact, span = report.artifact, report.pass_rate_interval
    return RunSummary(
        run=report.run,
        suite=report.suite.title or report.suite.path,
        artifact=None
        if artifact is None
        else StartedArtifact(path=artifact.path, digest=artifact.digest),
        target=report.target,
        verdict=report.verdict,
        pass_rate=report.pass_rate,
        pass_rate_interval=None if span is None else (span[0], span[-1]),
        mean_score=report.mean_score,
        counts=report.counts,
        contract=report.contract,
        cases=cases,
        min_pass_rate=report.min_pass_rate,
        is_mock=report.mock is True,
        is_undecided=is_undecided(report.belief),
        left_out=tuple(report.left_out_cases or ()),
        baseline=report.baseline.name if isinstance(report.baseline, BaselineDoc) else None,
        baseline_tasks=msgspec.convert(report.baseline_results or (), tuple[TaskResult, ...]),
        chances=lambda: Chances(_chances(report.cases), None, _texts(report.cases)),
    )


def _chances(cases: Iterable[CaseDoc]) -> dict[str, float]:
    """P(it truly passes) of each case that a report says it of."""
    return {one.id: one.chance for one in cases if one.chance is not None}


def _texts(cases: Iterable[CaseDoc]) -> dict[str, Hashable]:
    """The names of the texts of cases with one attempt and without checks, whose answers a report
    rounds.
    """
    found = dict[str, Hashable]()
    for one in cases:
        items = (item for criterion in one.criteria for item in criterion.items)
        is_plain = len(one.attempts) <= 1 and all(item.kind != "check" for item in items)
        if is_plain and isinstance(one.output, str):
            given = text_of(one.input)
            found[one.id] = name_of_shown(one.contract, given, one.output, one.diff)
    return found


def _case(case: CaseDoc) -> summary.CaseSummary:
    status = Status(case.status)
    items = [_item(item) for criterion in case.criteria for item in criterion.items]
    task = summary.make_task(
        case.id,
        status=status,
        points=case.score,
        items=items,
        duration_ms=int(case.duration_ms or 0),
        reasons=[*case.reasons, *(f"{one.id}: {one.reason}" for one in case.judges if one.reason)],
        attempts=[Status(one.status) for one in case.attempts],
    )
    side = CaseSide(
        status=status,
        score=summary.printed_share(case.score),
        is_unstable=case.unstable,
        input=text_of(case.input),
        output=None if case.output is None else text_of(case.output),
        low_confidence=case.is_lonely,
        items=summary.marks_of(items),
    )
    return summary.CaseSummary(
        side=side, contract=case.contract, input=str(case.input or ""), task=task
    )


def _item(item: ItemDoc) -> summary.ItemSummary:
    met = None if item.met is None else True
    if item.unmet:
        met = False
    return summary.ItemSummary(
        name=item.requirement or item.id, met=met, suggestion=item.suggestion
    )


def _beginning_with_a_brace(path: Path) -> bytes | None:
    try:
        if not path.is_file() or path.stat().st_size > MOST_OF_A_REPORT:
            return None
        with path.open("rb") as file:
            start = file.read(4096)
            return (
                start + file.read()
                if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
                else None
            )
    except (OSError, ValueError):
        return None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")
