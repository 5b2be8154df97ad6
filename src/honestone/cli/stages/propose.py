"""`honestone stage propose`: candidates that are real edits, each made by a worker in a private copy of the skill."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click

from honestone.app.stages.proposal_input import Tasks, read_sources, read_suite_tasks, read_traces
from honestone.cli import options as shared
from honestone.cli.stages.options import show_artifact, stage_files, stage_options
from honestone.core.artifact import Version
from honestone.core.loop.proposal import ProposalOutcome, classify, diff_size
from honestone.core.skill.brief import FailedTask, Occasion, write_skill_brief
from honestone.core.skill.plan import PlanError, plan_between, plan_to_plain, target_of
from honestone.core.skill.risk import category_of, risk_of, touched
from honestone.core.skill.stage_file import LANE, PROPOSED

if TYPE_CHECKING:
    from honestone.app.stages.files import StageFiles, Target
    from honestone.cli.progress import Progress
    from honestone.ports import WorkDone, Worker

SNIPPET = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What one call of the worker came to. `after` is there only where it is a candidate."""

    number: int
    outcome: str
    detail: str | None
    after: Version | None = None
    message: str = ""
    usage: Any = None

    def to_plain(self) -> dict[str, Any]:
        return {"candidate": self.number, "outcome": self.outcome, "detail": self.detail}


@click.command("propose", short_help="Candidates: real edits by a worker.")
@click.argument("skill", type=shared.PATH)
@click.option(
    "--worker", "worker_name", required=True, metavar="WORKER", help="Who edits: cmd:COMMAND, an agent CLI, ..."
)
@click.option(
    "--candidates", type=click.IntRange(1, 20), default=1, show_default=True, help="How many edits to ask for."
)
@click.option(
    "--source",
    "sources",
    type=shared.PATH,
    multiple=True,
    metavar="FILE",
    help="Feedback or notes to learn from; repeat it.",
)
@click.option(
    "--trace",
    "traces",
    type=shared.PATH,
    multiple=True,
    metavar="FILE",
    help="A traces file of an edit that was put back; repeat it.",
)
@click.option(
    "--task-suite",
    type=shared.PATH,
    default=None,
    metavar="SUITE",
    help="Show the worker the tasks of this suite that failed last; never those of the test split.",
)
@click.option("--worker-timeout", type=shared.Amount(min=0, min_open=True), default=None, metavar="SECONDS")
@stage_options
def propose_command(
    skill: Path,
    worker_name: str,
    candidates: int,
    sources: tuple[Path, ...],
    traces: tuple[Path, ...],
    task_suite: Path | None,
    worker_timeout: float | None,
    state_root: Path | None,
    output: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Ask a worker for edits of a skill. Each is made in a private copy; the skill itself is not touched.

    Proposals that change nothing, leave the skill or repeat an earlier one are reported and are no candidates.
    """
    from honestone.app.stages.files import target_at
    from honestone.cli.progress import Progress

    files = stage_files(state_root, output)
    with Progress(quiet=quiet) as progress:
        document = propose(
            target_at(skill),
            worker_name,
            files,
            progress=progress,
            candidates=candidates,
            sources=sources,
            traces=traces,
            task_suite=task_suite,
            worker_timeout=worker_timeout,
        )
    found = [
        f"{one['id']}: {one['title']} ({one['category']}, {one['risk_level']} risk)" for one in document["candidates"]
    ]
    left = [f"not a candidate: {one['outcome']}: {one['detail']}" for one in document["rejected_proposals"]]
    show_artifact(document, [*found, *left], as_json=as_json)
    return 0 if document["status"] == "success" else 1


def propose(
    target: Target,
    worker_name: str,
    files: StageFiles,
    *,
    progress: Progress,
    candidates: int = 1,
    sources: Sequence[Path] = (),
    traces: Sequence[Path] = (),
    task_suite: Path | None = None,
    failing: Sequence[FailedTask] | None = None,
    tried: Collection[str] = (),
    worker_timeout: float | None = None,
) -> dict[str, Any]:
    """Propose edits of the skill and write the candidates artifact.

    `failing` are the tasks that the skill fails as it is; None looks for the last evaluation of `task_suite` below
    STATE_ROOT. `tried` are digests of versions that were decided already, beside those of the traces.
    """
    from honestone.app.stages.files import new_run_id, refuse_inside, stamp, target_profile, write_stage
    from honestone.app.stages.resume import settled

    refuse_inside(files, target)
    target = settled(files, target)
    tasks = Tasks() if task_suite is None else read_suite_tasks(task_suite)
    occasion = tasks.without_hidden(
        Occasion(
            failing=tuple(tasks.last_failures(files, target, progress) if failing is None else failing),
            tried=read_traces(traces),
            sources=read_sources(sources),
        )
    )
    known = {*tried, *(one.digest for one in occasion.tried if one.digest)}
    run = _Proposing(
        target=target,
        worker=make_stage_worker(worker_name, target, worker_timeout),
        occasion=occasion,
        count=candidates,
        known=known,
        progress=progress,
    )
    found = run.all()
    created = stamp()
    documents = [_candidate(target, one, occasion, created) for one in found if one.after is not None]
    rejected = [one.to_plain() for one in found if one.after is None]
    did_work = any(one.outcome not in _DID_NOT_WORK for one in found)
    return write_stage(
        PROPOSED,
        {
            "target": target_profile(target),
            "base_digest": target.version.digest,
            "input_sources": [
                {"path": one.path, "kind": one.kind, "characters": len(one.text), "snippet": one.text[:SNIPPET]}
                for one in occasion.sources
            ],
            "failure_trace_used": bool(occasion.tried),
            "worker": worker_name,
            "candidate_count": len(documents),
            "candidates": documents,
            "rejected_proposals": rejected,
            "usage": run.usage(),
        },
        files,
        run_id=new_run_id(target),
        status="success" if did_work else "error",
    )


_DID_NOT_WORK = (ProposalOutcome.CRASHED, ProposalOutcome.DENIED, ProposalOutcome.TIMEOUT)


def make_stage_worker(name: str, target: Target, timeout: float | None) -> Worker:
    from honestone.adapters.registry import WORKER_TIMEOUT, make_worker
    from honestone.app.setup import judging_defaults, make_context, settings_here

    context = make_context(
        judging_defaults(), settings_here(), worker_timeout=timeout or WORKER_TIMEOUT, artifact=target.folder.resolve()
    )
    return make_worker(name, context)


@dataclass(kw_only=True)
class _Proposing:
    """The calls of one `propose`, one after another, so that each can be told what the others did."""

    target: Target
    worker: Worker
    occasion: Occasion
    count: int
    known: set[str]
    progress: Progress
    found: list[Proposal] = field(default_factory=list)

    def all(self) -> list[Proposal]:
        from honestone.app.stopping import run_to_end

        return run_to_end(self._all, self.worker.close)

    def usage(self) -> dict[str, Any]:
        from honestone.engine.meter import Spend

        spend = Spend(worker_calls=len(self.found))
        for one in self.found:
            if one.usage is not None:
                spend.add(one.usage)
        return spend.to_plain()

    async def _all(self) -> list[Proposal]:
        for number in range(1, self.count + 1):
            self.progress.progress(
                number - 1, self.count, f"{self.worker.id} edits {self.target.named}, proposal {number}"
            )
            proposal = await self._one(number)
            if proposal.after is not None:
                self.known.add(proposal.after.digest)
            else:
                self.progress.note(f"proposal {number} is no candidate: {proposal.outcome}, {proposal.detail}")
            self.found.append(proposal)
        return self.found

    async def _one(self, number: int) -> Proposal:
        from honestone.app.stages.files import current_digest
        from honestone.core.errors import UsageError
        from honestone.ports import Brief
        from honestone.system.files import make_copy, read_back

        before = self.target.version
        with tempfile.TemporaryDirectory(prefix="honestone-work-") as folder:
            root = Path(folder).resolve()
            (root / "copy").mkdir()
            copy = make_copy(before, root / "copy", name=self.target.folder.resolve().name)
            text = write_skill_brief(
                self.occasion,
                location=str(copy.place),
                name=self.target.skill.name,
                number=number,
                count=self.count,
                others=[_what_changed(before, one.after) for one in self.found if one.after is not None],
            )
            brief_file = root / "brief.md"
            brief_file.write_text(text, encoding="utf-8")
            brief = Brief(text=text, focus=("skill",), candidate=number - 1)
            done = await self.worker.propose(brief, copy.place, brief_file)
            after = read_back(copy)
        if current_digest(self.target.folder) != before.digest:
            raise UsageError(
                f"`{self.target.named}` was changed while {self.worker.id} worked on a copy of it; it is left as it is",
                hint="a worker edits the copy that $HONESTONE_ARTIFACT names, never the skill where it lies",
            )
        version = None if after.version is None else _without_hidden(after.version)
        outcome, detail = classify(before, version, ended=done.ended, strays=after.strays, trouble=after.trouble)
        return self._decided(number, version, str(outcome), detail, done)

    def _decided(
        self, number: int, after: Version | None, outcome: str, detail: str | None, done: WorkDone
    ) -> Proposal:
        made = Proposal(number=number, outcome=outcome, detail=detail, message=done.message, usage=done.usage)
        if outcome != ProposalOutcome.CHANGED or after is None:
            said = " ".join(done.message.split())[:300]
            return replace(made, detail=f"{detail} ({said})" if said and outcome in _DID_NOT_WORK else detail)
        if after.digest in self.known:
            return replace(made, outcome="duplicate", detail="the same bytes as a proposal before it")
        try:
            self._require_appliable(after)
        except PlanError as error:
            return replace(made, outcome=str(ProposalOutcome.OUT_OF_SCOPE), detail=error.message)
        return replace(made, after=after)

    def _require_appliable(self, after: Version) -> None:
        from honestone.app.stages.files import refuse_strangers
        from honestone.core.skill.plan import apply_plan

        plan = plan_between(self.target.version, after)
        refuse_strangers(plan, self.target)
        apply_plan(plan, self.target.version)


def _without_hidden(version: Version) -> Version:
    """Hidden files are never part of a skill; a worker's own notes and caches often are hidden."""
    kept = {
        name: entry
        for name, entry in version.files.items()
        if not any(part.startswith(".") for part in PurePosixPath(name).parts)
    }
    return replace(version, files=kept)


def _candidate(target: Target, proposal: Proposal, occasion: Occasion, created: str) -> dict[str, Any]:
    """A candidate's entry. Category and risk are computed from the bytes."""
    before, after = target.version, proposal.after
    assert after is not None
    plan = plan_between(before, after)
    inside = target_of(plan)
    size = diff_size(before, after)
    name = PurePosixPath(inside).stem.lower() if inside else "files"
    return {
        "id": f"cand-{proposal.number:02}-{_slug(name)}-{after.digest[7:15]}",
        "title": _title(before, after),
        "target_path": target.path_of(inside),
        "category": str(category_of(before, after)),
        "rationale": _rationale(occasion),
        "risk_level": str(risk_of(before, after)),
        "proposed_change_summary": _what_changed(before, after),
        "stage": PROPOSED.says,
        "source_refs": [source.path for source in occasion.sources],
        "executor_support": True,
        "execution_plan": plan_to_plain(plan),
        "lane": LANE,
        "protected_target": False,
        "created_at": created,
        "candidate_digest": after.digest,
        "base_digest": before.digest,
        "diff_summary": {"added_lines": size.added, "removed_lines": size.removed, "files": size.files},
    }


def _slug(text: str) -> str:
    return "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in text)[:30].strip("-") or "file"


def _title(before: Version, after: Version) -> str:
    paths, size = touched(before, after), diff_size(before, after)
    named = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    return f"Edit {named}: {size.added} line{'' if size.added == 1 else 's'} added, {size.removed} removed"


def _what_changed(before: Version, after: Version) -> str:
    """The first lines that were added and removed, in one line."""
    from honestone.core.loop.proposal import unified_diff

    lines = [
        line
        for line in unified_diff(before, after).splitlines()
        if line[:1] in "+-" and line[:3] not in ("+++", "---") and line[1:].strip()
    ]
    text = "; ".join(" ".join(line.split()) for line in lines[:6])
    return (text[:397] + "...") if len(text) > 400 else text or _title(before, after)


def _rationale(occasion: Occasion) -> str:
    ids = list(dict.fromkeys(task.task_id for task in occasion.failed_tasks))
    if ids:
        more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
        return f"Tasks that failed before: {', '.join(ids[:8])}{more}"
    if occasion.sources:
        return f"What was said in {', '.join(source.path for source in occasion.sources)}"
    return "No failure is on record: an edit that may help in general"
