"""Candidates: edits that a worker makes in a private copy of the skill, each ranked by a panel; and
what is known before.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.app.event_loop import run_to_end
from honestone.app.judging.judging_options import (
    JudgingOptions,
    make_context,
)
from honestone.app.stages.apply import settled
from honestone.app.stages.edit_brief import read_edit_brief
from honestone.app.stages.files import SkillUnderEdit, StageFiles, stamp
from honestone.core.artifact import Version
from honestone.core.editing.proposal import (
    DID_NOT_WORK,
    ProposalOutcome,
    classify,
    diff_size,
    touched,
    unified_diff,
)
from honestone.core.errors import UsageError
from honestone.core.judging.spend import Meter, Spend
from honestone.core.skill import brief
from honestone.core.skill import risk as risks
from honestone.core.skill.plan import PlanError, plan_between, plan_to_plain, target_of
from honestone.engine.loop_runner import work_on_copy
from honestone.engine.place import Place
from honestone.formats import stage_files as doc
from honestone.formats.stage_files import StageFile
from honestone.ports import Brief, Observer, Worker

SNIPPET = 400
# Minutes that a stage works at most where no limit is given.
HOURS = 240


class ProposeRequest(Struct, frozen=True, kw_only=True):
    """What `skill propose` is asked for. Without `task_suite` the worker is shown no tasks."""

    skill: Path
    worker: str
    candidates: int = 1
    sources: tuple[Path, ...] = ()
    traces: tuple[Path, ...] = ()
    task_suite: Path | None = None
    worker_timeout: float | None = None
    judging: JudgingOptions = field(default_factory=JudgingOptions)


def propose(
    request: ProposeRequest, files: StageFiles, observer: Observer
) -> StageFile[doc.Candidates]:
    """Have the worker make edits and write the candidates artifact. Raises UsageError before
    anything is spent.
    """
    workspace = files.workspace
    skill = settled(files, SkillUnderEdit.at(workspace, request.skill))
    edit_brief = read_edit_brief(
        files,
        skill,
        request.sources,
        task_suite=request.task_suite,
        traces=request.traces,
        observer=observer,
    )
    worker = make_stage_worker(request.worker, skill, request.worker_timeout)
    meter = request.judging.meter(workspace.settings, calls=0, minutes=HOURS)
    digests = {one.digest for one in edit_brief.tried if one.digest}

    async def work() -> list[Proposal]:
        proposals: list[Proposal] = []
        for number in range(1, request.candidates + 1):
            refusal = meter.exhausted()
            if refusal is not None:
                proposals.append(Proposal(number=number, outcome="not-asked", detail=refusal))
                observer.note(f"proposal {number} was not asked for: {refusal}")
                continue
            observer.progress(
                number - 1,
                request.candidates,
                f"{worker.id} edits {skill.named}, proposal {number}",
            )
            proposals.append(
                await propose_one(
                    skill,
                    worker,
                    edit_brief,
                    proposals,
                    count=request.candidates,
                    known=digests,
                    meter=meter,
                )
            )
            meter.counted(proposals[-1].spend)
            if proposals[-1].after is None:
                observer.note(
                    f"proposal {number} is not a candidate: {proposals[-1].outcome}, {proposals[-1].detail}"
                )
        return proposals

    proposals = run_to_end(work, worker.close)
    return files.write(
        candidates_file(skill, proposals, edit_brief, request.worker, run_id=skill.new_run_id())
    )


def make_stage_worker(name: str, skill: SkillUnderEdit, timeout: float | None) -> Worker:
    from honestone.adapters.context import WORKER_TIMEOUT
    from honestone.adapters.registry import make_worker

    context = make_context(JudgingOptions(), skill.workspace)
    return make_worker(
        name, replace(context, worker_timeout=timeout or WORKER_TIMEOUT, artifact=skill.root)
    )


class Proposal(Struct, frozen=True, kw_only=True):
    """What one call of the worker came to. `after` is there only where it is a candidate."""

    number: int
    outcome: str
    detail: str | None
    after: Version | None = None
    spend: Spend = field(default_factory=Spend)


async def propose_one(
    skill: SkillUnderEdit,
    worker: Worker,
    edit_brief: brief.EditBrief,
    earlier: Sequence[Proposal],
    *,
    count: int,
    known: set[str],
    meter: Meter,
) -> Proposal:
    """One call of the worker, in a private copy. `known` are digests that were proposed or decided
    before; a new candidate's is added. Raises UsageError where the skill itself was changed
    meanwhile.
    """
    before, number = skill.version, len(earlier) + 1
    others = [one.after for one in earlier if one.after is not None]
    done, found = await work_on_copy(
        worker,
        before,
        Place(path=skill.root, named=skill.named),
        lambda place: skill_brief(skill, edit_brief, place, number, count, others),
        meter,
    )
    if skill.read_again().version.digest != before.digest:
        raise UsageError(
            f"`{skill.named}` was changed while {worker.id} worked on a copy of it; it is left as it is",
            hint="a worker edits the copy that $HONESTONE_ARTIFACT names, never the skill itself",
        )
    spend = Spend(worker_calls=done.calls)
    spend.add(done.usage)
    after = None if found.version is None else without_hidden(found.version)
    outcome, detail = classify(
        before, after, ended=done.ended, strays=found.strays, trouble=found.trouble
    )
    made = Proposal(number=number, outcome=str(outcome), detail=detail, spend=spend)
    if outcome is not ProposalOutcome.CHANGED or after is None:
        message = " ".join(done.message.split())[:300] if outcome in DID_NOT_WORK else ""
        if message:
            made = replace(made, detail=message if detail is None else f"{detail} ({message})")
        return made
    if after.digest in known:
        return replace(made, outcome="duplicate", detail="the same bytes as a proposal before it")
    try:
        skill.require_plan_to(after)
    except PlanError as error:
        return replace(made, outcome=str(ProposalOutcome.OUT_OF_SCOPE), detail=error.message)
    known.add(after.digest)
    return replace(made, after=after)


def skill_brief(
    skill: SkillUnderEdit,
    edit_brief: brief.EditBrief,
    place: Path,
    number: int,
    count: int,
    made: Sequence[Version],
) -> Brief:
    """What a worker is asked to do with the copy at `place`; `made` are the proposals before this
    one.
    """
    text = brief.write_skill_brief(
        edit_brief,
        location=str(place),
        name=skill.skill.name,
        number=number,
        count=count,
        others=[_what_changed(skill.version, one) for one in made],
    )
    return Brief(text=text, focus=("skill",), candidate=number - 1)


def without_hidden(version: Version) -> Version:
    """Hidden files are never part of a skill; a worker's own notes and caches often are hidden."""
    files = {
        name: entry
        for name, entry in version.files.items()
        if not any(part.startswith(".") for part in PurePosixPath(name).parts)
    }
    return replace(version, files=files)


def candidates_file(
    skill: SkillUnderEdit,
    proposals: Sequence[Proposal],
    edit_brief: brief.EditBrief,
    worker: str,
    *,
    run_id: str,
) -> doc.Candidates:
    """What was proposed, as an artifact. Its status is `error` where the worker could not work at
    all.
    """
    created, spend = stamp(), Spend.of(one.spend for one in proposals)
    candidates = [
        _entry(skill, one.number, one.after, edit_brief, created)
        for one in proposals
        if one.after is not None
    ]
    did_work = any(one.outcome not in (*DID_NOT_WORK, "not-asked") for one in proposals)
    return doc.Candidates(
        run_id=run_id,
        status="success" if did_work else "error",
        target=skill.profile(),
        base_digest=skill.version.digest,
        input_sources=[
            doc.InputSource(
                path=one.path, kind=one.kind, characters=len(one.text), snippet=one.text[:SNIPPET]
            )
            for one in edit_brief.sources
        ],
        failure_trace_used=bool(edit_brief.tried),
        worker=worker,
        candidate_count=len(candidates),
        candidates=candidates,
        rejected_proposals=[
            doc.RejectedProposal(candidate=one.number, outcome=one.outcome, detail=one.detail)
            for one in proposals
            if one.after is None
        ],
        usage=dict(spend.to_plain()),
    )


def _entry(
    skill: SkillUnderEdit, number: int, after: Version, edit_brief: brief.EditBrief, created: str
) -> doc.CandidateEntry:
    """Category and risk are computed from the bytes."""
    before = skill.version
    plan, size = plan_between(before, after), diff_size(before, after)
    inside = target_of(plan)
    name = PurePosixPath(inside).stem.lower() if inside else "files"
    return doc.CandidateEntry(
        id=f"cand-{number:02}-{_slug(name)}-{after.digest[7:15]}",
        title=_title(before, after),
        target_path=skill.path_of(inside),
        category=str(risks.category_of(before, after)),
        rationale=_rationale(edit_brief),
        risk_level=str(risks.risk_of(before, after)),
        proposed_change_summary=_what_changed(before, after),
        source_refs=[source.path for source in edit_brief.sources],
        execution_plan=plan_to_plain(plan),
        created_at=created,
        candidate_digest=after.digest,
        base_digest=before.digest,
        diff_summary=doc.DiffSummary(
            added_lines=size.added, removed_lines=size.removed, files=size.files
        ),
    )


def _slug(text: str) -> str:
    return (
        "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in text)[:30].strip("-")
        or "file"
    )


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


def _rationale(edit_brief: brief.EditBrief) -> str:
    ids = list(dict.fromkeys(task.task_id for task in edit_brief.failed_tasks))
    if ids:
        more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
        return f"Tasks that failed before: {', '.join(ids[:8])}{more}"
    if edit_brief.sources:
        return f"What was said in {', '.join(source.path for source in edit_brief.sources)}"
    return "No failure is on record: an edit that may help in general"
