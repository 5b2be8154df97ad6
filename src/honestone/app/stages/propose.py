"""Candidates that are real edits, each made by a worker in a private copy of the skill, and what is known before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import msgspec

from honestone.app.judging_options import JudgingOptions, make_context
from honestone.app.loop import run_to_end
from honestone.app.stages.apply import settled
from honestone.app.stages.files import (
    SkillUnderEdit,
    StageFiles,
    memory,
    new_run_id,
    refuse_strangers,
    skill_at,
    stamp,
    write_json,
    write_memory,
    write_stage,
)
from honestone.app.workspace import Workspace
from honestone.core.artifact import Version
from honestone.core.errors import UsageError
from honestone.core.loop.proposal import ProposalOutcome, classify, diff_size, unified_diff
from honestone.core.skill.brief import (
    FailedTask,
    FailedTry,
    Learned,
    Lesson,
    Occasion,
    Source,
    learn,
    read_lesson,
    warnings_of,
    write_skill_brief,
)
from honestone.core.skill.gate_layers import Decision
from honestone.core.skill.plan import PlanError, apply_plan, plan_between, plan_to_plain, target_of
from honestone.core.skill.risk import category_of, risk_of, touched
from honestone.core.spend import Spend
from honestone.core.suite.case import Split
from honestone.formats.marked import read_text
from honestone.formats.stage_files import (
    STANDALONE,
    CandidateEntry,
    Candidates,
    DiffSummary,
    GateLayers,
    InputSource,
    Promotion,
    Receipt,
    RejectedProposal,
    SkillEvaluation,
    SkillNamed,
    StageFile,
    TaskRow,
    TracedTask,
    Traces,
    read_as,
    read_object,
    read_stage,
)
from honestone.ports import Brief, Observer, Worker
from honestone.system.files import make_copy, printable, read_back
from honestone.system.private import private_folder

SNIPPET = 400
HOURS = 240
"""Minutes that a stage works at most where no limit is given."""

_KINDS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".jsonl": "jsonl",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".log": "log",
}
_DID_NOT_WORK = (ProposalOutcome.CRASHED, ProposalOutcome.DENIED, ProposalOutcome.TIMEOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeRequest:
    """What `stage propose` is asked for. Without `task_suite` the worker is shown no tasks."""

    skill: Path
    worker: str
    candidates: int = 1
    sources: tuple[Path, ...] = ()
    traces: tuple[Path, ...] = ()
    task_suite: Path | None = None
    worker_timeout: float | None = None
    judging: JudgingOptions = field(default_factory=JudgingOptions)


def propose(request: ProposeRequest, files: StageFiles, observer: Observer) -> StageFile[Candidates]:
    """Have the worker make edits and write the candidates artifact. Raises UsageError before anything is spent."""
    workspace = files.workspace
    skill = settled(files, skill_at(workspace, request.skill))
    occasion = read_occasion(
        files, skill, request.sources, task_suite=request.task_suite, traces=request.traces, observer=observer
    )
    worker = make_stage_worker(request.worker, skill, request.worker_timeout)
    meter = request.judging.meter(workspace.settings, calls=0, minutes=HOURS)
    known = {one.digest for one in occasion.tried if one.digest}

    async def work() -> list[Proposal]:
        found: list[Proposal] = []
        for number in range(1, request.candidates + 1):
            refusal = meter.exhausted()
            if refusal is not None:
                found.append(Proposal(number=number, outcome="not-asked", detail=refusal))
                observer.note(f"proposal {number} was not asked for: {refusal}")
                continue
            observer.progress(number - 1, request.candidates, f"{worker.id} edits {skill.named}, proposal {number}")
            found.append(await propose_one(skill, worker, occasion, found, count=request.candidates, known=known))
            meter.counted(found[-1].spend)
            if found[-1].after is None:
                observer.note(f"proposal {number} is not a candidate: {found[-1].outcome}, {found[-1].detail}")
        return found

    found = run_to_end(work, worker.close)
    return write_stage(files, candidates_file(skill, found, occasion, request.worker, run_id=new_run_id(skill)))


def make_stage_worker(name: str, skill: SkillUnderEdit, timeout: float | None) -> Worker:
    from honestone.adapters.registry import WORKER_TIMEOUT, make_worker

    context = make_context(
        JudgingOptions(), skill.workspace, worker_timeout=timeout or WORKER_TIMEOUT, artifact=skill.root
    )
    return make_worker(name, context)


# ------------------------------------------------------------------------------------------------------ one proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What one call of the worker came to. `after` is there only where it is a candidate."""

    number: int
    outcome: str
    detail: str | None
    after: Version | None = None
    spend: Spend = field(default_factory=Spend)


async def propose_one(
    skill: SkillUnderEdit,
    worker: Worker,
    occasion: Occasion,
    earlier: Sequence[Proposal],
    *,
    count: int,
    known: set[str],
) -> Proposal:
    """One call of the worker, in a private copy. `known` are digests that were proposed or decided before; a new
    candidate's is added. Raises UsageError where the skill itself was changed meanwhile."""
    before, number = skill.version, len(earlier) + 1
    with private_folder("work") as root:
        (root / "copy").mkdir()
        copy = make_copy(before, root / "copy", name=skill.root.name)
        text = write_skill_brief(
            occasion,
            location=str(copy.place),
            name=skill.skill.name,
            number=number,
            count=count,
            others=others_in_words(before, [one.after for one in earlier if one.after is not None]),
        )
        brief_file = root / "brief.md"
        brief_file.write_text(text, encoding="utf-8")
        done = await worker.propose(Brief(text=text, focus=("skill",), candidate=number - 1), copy.place, brief_file)
        found = read_back(copy)
    if skill.read_again().version.digest != before.digest:
        raise UsageError(
            f"`{skill.named}` was changed while {worker.id} worked on a copy of it; it is left as it is",
            hint="a worker edits the copy that $HONESTONE_ARTIFACT names, never the skill itself",
        )
    spend = Spend(worker_calls=1)
    spend.add(done.usage)
    after = None if found.version is None else without_hidden(found.version)
    outcome, detail = classify(before, after, ended=done.ended, strays=found.strays, trouble=found.trouble)
    made = Proposal(number=number, outcome=str(outcome), detail=detail, spend=spend)
    if outcome is not ProposalOutcome.CHANGED or after is None:
        said = " ".join(done.message.split())[:300]
        return replace(made, detail=f"{detail} ({said})" if said and outcome in _DID_NOT_WORK else detail)
    if after.digest in known:
        return replace(made, outcome="duplicate", detail="the same bytes as a proposal before it")
    try:
        plan = plan_between(before, after)
        refuse_strangers(plan, skill)
        apply_plan(plan, before)
    except PlanError as error:
        return replace(made, outcome=str(ProposalOutcome.OUT_OF_SCOPE), detail=error.message)
    known.add(after.digest)
    return replace(made, after=after)


def without_hidden(version: Version) -> Version:
    """Hidden files are never part of a skill; a worker's own notes and caches often are hidden."""
    kept = {
        name: entry
        for name, entry in version.files.items()
        if not any(part.startswith(".") for part in PurePosixPath(name).parts)
    }
    return replace(version, files=kept)


# ------------------------------------------------------------------------------------------------------- the artifact


def candidates_file(
    skill: SkillUnderEdit, found: Sequence[Proposal], occasion: Occasion, worker: str, *, run_id: str
) -> Candidates:
    """What was proposed, as an artifact. Its status is `error` where the worker could not work at all."""
    created, spend = stamp(), Spend()
    for one in found:
        spend.join(one.spend)
    candidates = [_entry(skill, one.number, one.after, occasion, created) for one in found if one.after is not None]
    did_work = any(one.outcome not in (*_DID_NOT_WORK, "not-asked") for one in found)
    return Candidates(
        run_id=run_id,
        status="success" if did_work else "error",
        target=skill.profile(),
        base_digest=skill.version.digest,
        input_sources=[
            InputSource(path=one.path, kind=one.kind, characters=len(one.text), snippet=one.text[:SNIPPET])
            for one in occasion.sources
        ],
        failure_trace_used=bool(occasion.tried),
        worker=worker,
        candidate_count=len(candidates),
        candidates=candidates,
        rejected_proposals=[
            RejectedProposal(candidate=one.number, outcome=one.outcome, detail=one.detail)
            for one in found
            if one.after is None
        ],
        usage=dict(spend.to_plain()),
    )


def _entry(skill: SkillUnderEdit, number: int, after: Version, occasion: Occasion, created: str) -> CandidateEntry:
    """Category and risk are computed from the bytes."""
    before = skill.version
    plan, size = plan_between(before, after), diff_size(before, after)
    inside = target_of(plan)
    name = PurePosixPath(inside).stem.lower() if inside else "files"
    return CandidateEntry(
        id=f"cand-{number:02}-{_slug(name)}-{after.digest[7:15]}",
        title=_title(before, after),
        target_path=skill.path_of(inside),
        category=str(category_of(before, after)),
        rationale=_rationale(occasion),
        risk_level=str(risk_of(before, after)),
        proposed_change_summary=_what_changed(before, after),
        source_refs=[source.path for source in occasion.sources],
        execution_plan=plan_to_plain(plan),
        created_at=created,
        candidate_digest=after.digest,
        base_digest=before.digest,
        diff_summary=DiffSummary(added_lines=size.added, removed_lines=size.removed, files=size.files),
    )


def _slug(text: str) -> str:
    return "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in text)[:30].strip("-") or "file"


def _title(before: Version, after: Version) -> str:
    paths, size = touched(before, after), diff_size(before, after)
    named = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    return f"Edit {named}: {size.added} line{'' if size.added == 1 else 's'} added, {size.removed} removed"


def _what_changed(before: Version, after: Version) -> str:
    """The first lines that were added and removed, in one line."""
    lines = [
        line
        for line in unified_diff(before, after).splitlines()
        if line[:1] in "+-" and line[:3] not in ("+++", "---") and line[1:].strip()
    ]
    text = "; ".join(" ".join(line.split()) for line in lines[:6])
    return (text[:397] + "...") if len(text) > 400 else text or _title(before, after)


def others_in_words(before: Version, made: Sequence[Version]) -> list[str]:
    """What earlier proposals changed, a line each."""
    return [_what_changed(before, one) for one in made]


def _rationale(occasion: Occasion) -> str:
    ids = list(dict.fromkeys(task.task_id for task in occasion.failed_tasks))
    if ids:
        more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
        return f"Tasks that failed before: {', '.join(ids[:8])}{more}"
    if occasion.sources:
        return f"What was said in {', '.join(source.path for source in occasion.sources)}"
    return "No failure is on record: an edit that may help in general"


# --------------------------------------------------------------------------------------------- what a proposal is about


def read_occasion(
    files: StageFiles,
    skill: SkillUnderEdit,
    sources: Sequence[Path],
    *,
    task_suite: Path | None,
    traces: Sequence[Path] = (),
    observer: Observer,
) -> Occasion:
    """What the worker is shown: sources, edits that were put back, tasks that failed in the last evaluation, and what
    was learned. Nothing about tasks of the test split. Raises UsageError with places."""
    workspace = files.workspace
    tasks = SuiteTasks() if task_suite is None else read_suite_tasks(workspace, task_suite)
    return Occasion(
        failing=tuple(tasks.shown(_last_failures(files, skill, tasks, observer))),
        tried=tuple(read_trace(workspace, path, tasks) for path in traces),
        sources=read_sources(workspace, sources),
        lessons=tuple(warnings_of(lessons_about(files, skill))),
    )


def read_sources(workspace: Workspace, paths: Sequence[Path]) -> tuple[Source, ...]:
    """Raises FileError for what is missing or not text."""
    return tuple(
        Source(path=printable(path), kind=_KINDS.get(path.suffix.lower(), "text"), text=read_text(workspace.path(path)))
        for path in paths
    )


def read_trace(workspace: Workspace, path: Path, tasks: SuiteTasks) -> FailedTry:
    """A traces file, without tasks of the test split. Raises UsageError with the place."""
    marked = read_object(workspace.path(path))
    if not isinstance(marked.value.get("failed_tasks"), list):
        raise UsageError(
            f"`{printable(path)}` is not a traces file: it has no list `failed_tasks`",
            place=marked.at(("failed_tasks",)),
            hint="`honestone stage run` writes one for every edit that is put back, below STATE_ROOT/traces",
        )
    return failed_try(read_as(marked, Traces), tasks)


def failed_try(traces: Traces, tasks: SuiteTasks) -> FailedTry:
    """What a worker is shown of an edit that was put back."""
    failed = [TracedTask(task_id=one) if isinstance(one, str) else one for one in traces.failed_tasks]
    found = [FailedTask(task_id=one.task_id, prompt=one.prompt or "", details=one.details or "") for one in failed]
    return FailedTry(
        candidate_id=traces.candidate_id,
        reason=traces.reason,
        tasks=tuple(tasks.shown(found)),
        digest=traces.candidate_digest,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteTasks:
    """The tasks of a suite that a worker may be shown: `prompts` by id. `hidden` are those of a test split that the suite
    names."""

    path: Path | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    def shown(self, tasks: Sequence[FailedTask]) -> list[FailedTask]:
        return [
            replace(task, prompt=task.prompt or self.prompts.get(task.task_id, ""))
            for task in tasks
            if task.task_id not in self.hidden
        ]


def read_suite_tasks(workspace: Workspace, path: Path) -> SuiteTasks:
    """The tasks of a suite of any format. Raises UsageError and its kinds."""
    from honestone.interop.recognise import read_any_suite

    cases = read_any_suite(workspace.path(path)).suite.cases
    has_splits = any(case.split is not None for case in cases)
    hidden = frozenset(case.id for case in cases if has_splits and case.in_split is Split.TEST)
    prompts = {case.id: case.input for case in cases if case.id not in hidden}
    return SuiteTasks(path=workspace.path(path), prompts=prompts, hidden=hidden)


def failed_in(rows: Sequence[TaskRow]) -> list[FailedTask]:
    """The tasks that failed on one side of an evaluation. One that could not be run or judged is none of them."""
    return [FailedTask(task_id=one.task_id, details=one.details) for one in rows if one.passed is False]


def _last_failures(files: StageFiles, skill: SkillUnderEdit, tasks: SuiteTasks, observer: Observer) -> list[FailedTask]:
    """What this skill, as it is, failed in the newest evaluation of this suite below STATE_ROOT."""
    if tasks.path is None:
        return []
    for one in _evaluations(files):
        rows = _rows_of(one, skill)
        if rows is not None and _is_at(files.workspace, one.task_suite, tasks.path) and _is_of(one, skill):
            return failed_in(rows)
    observer.note(
        f"no evaluation of {printable(tasks.path)} is on record below {printable(files.root)}: "
        "the worker is shown no failed tasks"
    )
    return []


def _evaluations(files: StageFiles) -> list[SkillEvaluation]:
    """The evaluations below STATE_ROOT that can be read, newest first."""
    found = []
    for path in files.folder(SkillEvaluation.folder).glob("*.json"):
        try:
            found.append(read_stage(path, SkillEvaluation).body)
        except UsageError:
            continue
    return sorted(found, key=lambda one: one.created_at, reverse=True)


def _is_at(workspace: Workspace, named: str, path: Path) -> bool:
    return bool(named) and "\0" not in named and workspace.path(named).resolve() == path.resolve()


def _is_of(evaluation: SkillEvaluation, skill: SkillUnderEdit) -> bool:
    about = evaluation.target
    return about is not None and not evaluation.mock and _is_at(skill.workspace, about.path, skill.folder)


def _rows_of(evaluation: SkillEvaluation, skill: SkillUnderEdit) -> list[TaskRow] | None:
    """The side of an evaluation on which the skill ran as it is now; None where it has changed since.

    Other programs name no digest of the baseline; theirs is taken for the skill as it is.
    """
    digest = skill.version.digest
    if evaluation.candidate_digest == digest:
        return evaluation.candidate_results
    names_none = evaluation.baseline_digest is None and evaluation.lane != STANDALONE
    return evaluation.baseline_results if names_none or evaluation.baseline_digest == digest else None


_Failed = Mapping[tuple[str | None, str], tuple[str, ...]]


def learn_from(files: StageFiles, observer: Observer) -> list[Lesson]:
    """The lessons of all that is below STATE_ROOT; written to its memory where there are any, and to `--output`."""
    earlier = []
    for one in memory(files):
        lesson = read_lesson(one)
        if lesson is None:
            observer.note(f"an entry of memory.json is not a lesson and is left out: {str(one)[:80]}")
        else:
            earlier.append(lesson)
    found = [outcome for _, outcome in _outcomes(files, observer)]
    lessons = learn(found, earlier)
    plain = [lesson.to_plain() for lesson in lessons]
    if lessons:
        write_memory(files, plain)
    if files.output is not None:
        write_json(files.output, plain)
    return lessons


def lessons_about(files: StageFiles, skill: SkillUnderEdit) -> list[Lesson]:
    """What the receipts below STATE_ROOT teach about this skill."""
    return learn(outcome for named, outcome in _outcomes(files, None) if skill.inside(named) == "")


def _outcomes(files: StageFiles, observer: Observer | None) -> Iterator[tuple[str, Learned]]:
    """Every decision on record, with the folder of its skill."""
    failed = _failed_tasks(files)
    for path in sorted(files.folder(Receipt.folder).glob("*.json")):
        try:
            receipt = _read(path)
        except UsageError as error:
            if observer is not None:
                observer.note(f"left out {path}: {error.message}")
            continue
        if receipt is not None and receipt.decision in (Decision.KEEP, Decision.REVERT, Decision.REJECT):
            yield (receipt.target.path if receipt.target else ""), _outcome(receipt, failed)


class _Decided(msgspec.Struct, kw_only=True):
    """What is learned from a receipt of the gate, or of a person; other programs write less than honestone."""

    stage: str = ""
    run_id: str | None = None
    candidate_id: str = ""
    decision: str = ""
    reason: str = ""
    candidate_category: str | None = None
    created_at: str = ""
    target: SkillNamed | None = None
    gate_layers: GateLayers | None = None


def _read(path: Path) -> _Decided | None:
    """None for a file that is not a receipt."""
    receipt = read_as(read_object(path), _Decided)
    return receipt if receipt.stage in (Receipt.says, Promotion.says) else None


def _outcome(receipt: _Decided, failed: _Failed) -> Learned:
    succeeded = receipt.decision == Decision.KEEP
    layer = receipt.gate_layers.failed_at if receipt.gate_layers else None
    return Learned(
        receipt=f"{receipt.run_id}/{receipt.candidate_id}/{receipt.stage}/{receipt.decision}",
        category=receipt.candidate_category or "unknown",
        succeeded=succeeded,
        candidate_id=receipt.candidate_id,
        timestamp=receipt.created_at,
        layer=None if succeeded else "person" if receipt.stage == Promotion.says else layer,
        reason=receipt.reason,
        failed_tasks=() if succeeded else failed.get((receipt.run_id, receipt.candidate_id), ()),
    )


def _failed_tasks(files: StageFiles) -> _Failed:
    """Which tasks each edit that was put back had failed, by run and candidate."""
    found = {}
    for path in files.folder(Traces.folder).glob("*.json"):
        try:
            traces = read_as(read_object(path), Traces)
        except UsageError:
            continue  # whoever reads traces to propose by them reports it
        tasks = (one if isinstance(one, str) else one.task_id for one in traces.failed_tasks)
        found[traces.run_id, traces.candidate_id] = tuple(tasks)
    return found
