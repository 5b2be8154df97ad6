"""Candidates: edits that a worker makes in a private copy of the skill, each ranked by a panel; and
what is known before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path, PurePosixPath

import msgspec

from honestone.app.event_loop import run_to_end
from honestone.app.judging.judging_options import (
    JudgingOptions,
    make_context,
    make_panel,
    make_seats,
)
from honestone.app.stages.files import SkillUnderEdit, StageFiles, candidates_in, stamp, write_json
from honestone.app.stages.gate import settled
from honestone.app.workspace import Workspace
from honestone.core.artifact import Artifact, Version
from honestone.core.editing.proposal import (
    DID_NOT_WORK,
    ProposalOutcome,
    classify,
    diff_size,
    touched,
    unified_diff,
)
from honestone.core.errors import UsageError
from honestone.core.judging.ballot import Ballot
from honestone.core.judging.scorecard import Scorer
from honestone.core.judging.spend import Meter, Spend
from honestone.core.skill import brief
from honestone.core.skill import risk as risks
from honestone.core.skill.brief import EDIT, EDIT_RUBRIC, failures_in_words, shown_edit
from honestone.core.skill.gate_layers import Decision
from honestone.core.skill.plan import PlanError, Refusal, plan_between, plan_to_plain, target_of
from honestone.core.suite.case import Split
from honestone.engine.loop_runner import work_on_copy
from honestone.engine.panel import Evaluator, Judged, Panel, Seat
from honestone.engine.place import Place
from honestone.formats import stage_files as doc
from honestone.formats.stage_files import StageFile
from honestone.formats.syntax.marked import read_text
from honestone.ports import Brief, Observer, Worker
from honestone.system.files import printable

SNIPPET = 400
# Minutes that a stage works at most where no limit is given.
HOURS = 240

_KINDS = {
    "md": "markdown",
    "yml": "yaml",
    **{name: name for name in ("markdown", "json", "jsonl", "yaml", "log")},
}


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
    known = {one.digest for one in edit_brief.tried if one.digest}

    async def work() -> list[Proposal]:
        found: list[Proposal] = []
        for number in range(1, request.candidates + 1):
            refusal = meter.exhausted()
            if refusal is not None:
                found.append(Proposal(number=number, outcome="not-asked", detail=refusal))
                observer.note(f"proposal {number} was not asked for: {refusal}")
                continue
            observer.progress(
                number - 1,
                request.candidates,
                f"{worker.id} edits {skill.named}, proposal {number}",
            )
            found.append(
                await propose_one(
                    skill,
                    worker,
                    edit_brief,
                    found,
                    count=request.candidates,
                    known=known,
                    meter=meter,
                )
            )
            meter.counted(found[-1].spend)
            if found[-1].after is None:
                observer.note(
                    f"proposal {number} is not a candidate: {found[-1].outcome}, {found[-1].detail}"
                )
        return found

    found = run_to_end(work, worker.close)
    return files.write(
        candidates_file(skill, found, edit_brief, request.worker, run_id=skill.new_run_id())
    )


def make_stage_worker(name: str, skill: SkillUnderEdit, timeout: float | None) -> Worker:
    from honestone.adapters.context import WORKER_TIMEOUT
    from honestone.adapters.registry import make_worker

    context = make_context(JudgingOptions(), skill.workspace)
    return make_worker(
        name, replace(context, worker_timeout=timeout or WORKER_TIMEOUT, artifact=skill.root)
    )


# ------------------------------------------------------------------------------------------------------
# one proposal


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


# -------------------------------------------------------------------------------------------------------
# the artifact


def candidates_file(
    skill: SkillUnderEdit,
    found: Sequence[Proposal],
    edit_brief: brief.EditBrief,
    worker: str,
    *,
    run_id: str,
) -> doc.Candidates:
    """What was proposed, as an artifact. Its status is `error` where the worker could not work at
    all.
    """
    created, spend = stamp(), Spend.of(one.spend for one in found)
    candidates = [
        _entry(skill, one.number, one.after, edit_brief, created)
        for one in found
        if one.after is not None
    ]
    did_work = any(one.outcome not in (*DID_NOT_WORK, "not-asked") for one in found)
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
            for one in found
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


# ---------------------------------------------------------------------------------------------------------
# the ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRequest:
    """What `stage rank` is asked for. Without judges nothing is judged; `mock` is a panel that
    approves everything.
    """

    candidates: Path
    mock: bool = False
    judging: JudgingOptions = field(default_factory=JudgingOptions)


def rank(request: RankRequest, files: StageFiles, observer: Observer) -> StageFile[doc.Ranking]:
    """Rank the candidates of an artifact and write the ranking. Raises UsageError before anything
    is spent.
    """
    workspace, mock = files.workspace, request.mock
    source = files.read(request.candidates, doc.Candidates)
    skill = settled(files, SkillUnderEdit.of(workspace, source))
    edits = [edit_of(one, skill) for one in candidates_in(source)]
    judging = replace(request.judging, judges=("mock",)) if mock else request.judging
    seats = edit_seats(skill, judging)
    reviews: dict[str, Judged] = {}
    if seats:
        todo = [edit for edit in edits if edit.after is not None]
        meter = judging.meter(workspace.settings, calls=2 * len(todo) * len(seats), minutes=HOURS)
        observer.note(
            f"at most {meter.calls} judge calls: {len(todo)} candidates x {len(seats)} judges, each asked once more at most"
        )
        lessons = brief.warnings_of(lessons_about(files, skill))
        with workspace.open_store() as store:
            panel = make_panel(seats, store, meter, judging)

            async def work() -> None:
                for at, edit in enumerate(todo):
                    observer.progress(at, len(todo), f"asking about {edit.id}")
                    reviews[edit.id] = await review(edit, skill, panel, lessons)

            run_to_end(work, panel.close)
    body = ranking_file(source.body, edits, reviews, seats, mock=mock)
    # With what other programs say of their candidates.
    raw = {str(one["id"]): one for one in source.marked.value["candidates"]}
    scored = [{**raw[one.id], **msgspec.to_builtins(one)} for one in body.scored_candidates]
    return files.write(body, more={"scored_candidates": scored})


def edit_seats(skill: SkillUnderEdit, judging: JudgingOptions) -> tuple[Seat, ...]:
    """The judges named. Raises for one that cannot be made."""
    return make_seats(judging.judges, make_context(judging, skill.workspace))


async def review(
    edit: CandidateEdit, skill: SkillUnderEdit, panel: Panel, lessons: Sequence[str]
) -> Judged:
    """What the judges answer about one edit: its diff, SKILL.md and the changed files as they would
    be.
    """
    from honestone.adapters.checks import CheckRunner

    assert edit.after is not None
    shown = Artifact(skill.named, shown_edit(edit.before, edit.after))
    rationale = edit.candidate.rationale
    known = failures_in_words([rationale] if rationale.strip() else [], lessons)
    evaluator = Evaluator(EDIT_RUBRIC, CheckRunner(skill.workspace.folder), panel)
    return await evaluator.judge(evaluator.question(shown, input=known))


# ----------------------------------------------------------------------------------------------------------
# the edits


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateEdit:
    """A candidate with what its plan makes of the skill; `after` None: it cannot be applied, and
    `problem` says why.
    """

    candidate: doc.CandidateEntry
    before: Version
    after: Version | None
    problem: PlanError | None = None

    @property
    def id(self) -> str:
        return self.candidate.id

    @property
    def risk(self) -> risks.Risk:
        """The worse of the level that the candidate states and that of the bytes it changes."""
        levels = []
        if self.candidate.risk_level in list(risks.Risk):
            levels.append(risks.Risk(self.candidate.risk_level))
        if self.after is not None:
            levels.append(risks.risk_of(self.before, self.after))
        return risks.worst(levels)

    @property
    def category(self) -> risks.Category:
        if self.candidate.category in list(risks.Category):
            return risks.Category(self.candidate.category)
        if self.after is None:
            return risks.Category.DOCS
        return risks.category_of(self.before, self.after)

    @property
    def for_a_person(self) -> list[str]:
        """Why the gate would not keep it by itself, in the original's words."""
        reasons = []
        if self.category in risks.NEEDS_A_PERSON:
            reasons.append("not_auto_keep_category")
        if self.risk is not risks.Risk.LOW:
            reasons.append(f"risk_{self.risk}")
        return reasons


def edit_of(candidate: doc.CandidateEntry, skill: SkillUnderEdit) -> CandidateEdit:
    try:
        return CandidateEdit(
            candidate=candidate, before=skill.version, after=skill.edited(candidate)
        )
    except UsageError as found:
        problem = found if isinstance(found, PlanError) else PlanError(Refusal.ERROR, found.message)
        return CandidateEdit(candidate=candidate, before=skill.version, after=None, problem=problem)


# ----------------------------------------------------------------------------------------------------------
# the score


def ranking_file(
    source: doc.Candidates,
    edits: Sequence[CandidateEdit],
    reviews: dict[str, Judged],
    seats: Sequence[Seat],
    *,
    mock: bool,
) -> doc.Ranking:
    """The candidates with their scores, best first; those without a score come last, equal ones in
    the order proposed.
    """
    names, moment = [seat.id for seat in seats], stamp()
    scored = [_scored(edit, reviews.get(edit.id), names, moment) for edit in edits]
    accept = risks.Recommendation.ACCEPT
    scored.sort(
        key=lambda one: (one.score is None, -(one.score or 0), one.recommendation != accept)
    )
    critic_mode = "panel" if names else "none"
    if mock:
        critic_mode = "mock"
    return doc.Ranking(
        run_id=source.run_id,
        lane=source.lane,
        source_candidate_artifact=source.truth_anchor,
        target=source.target,
        critic_mode=critic_mode,
        mock=mock,
        judges=names,
        scored_candidates=scored,
        summary={
            **{
                str(one): sum(1 for row in scored if row.recommendation == one)
                for one in risks.Recommendation
            },
            "evaluator_evidence_enabled": False,
            "llm_judge_enabled": bool(names) and not mock,
            "llm_judge_backend": ", ".join(names) or None,
        },
        usage=dict(Spend.of(judged.spend for judged in reviews.values()).to_plain()),
    )


def _scored(
    edit: CandidateEdit, judged: Judged | None, judges: Sequence[str], moment: str
) -> doc.ScoredCandidate:
    """A candidate with its score. What no judge could score, and what cannot be applied, has none."""
    found = None if judged is None else _opinion(judged.ballots)
    blockers, notes = [], list(risks.notes_about(edit.risk, edit.category))
    score: Fraction | None
    if edit.problem is not None:
        score = None
        blockers = [_BLOCKER[edit.problem.refusal]]
        notes = [edit.problem.message]
    elif found is not None:
        score = found.score
        if score is None:
            blockers = ["panel_unavailable", *found.failures]
    else:
        score = risks.UNJUDGED
        notes.append("no judge was asked: every edit that can be applied gets the same score")
    recommendation = risks.recommendation_of(score, None if found is None else found.label)
    if recommendation is risks.Recommendation.REJECT and score is not None:
        blockers.append("panel_against")
    if edit.after is not None and edit.for_a_person:
        blockers += edit.for_a_person
        if recommendation is risks.Recommendation.ACCEPT:
            recommendation = risks.Recommendation.HOLD
    report = None
    if found is not None:
        report = doc.PanelReport(
            panel_reviews=found.reviews,
            cognitive_label=None if found.label is None else str(found.label),
            final_recommendation=str(recommendation),
            aggregated_score=_number(score),
        )
    copied = {
        name: getattr(edit.candidate, name)
        for name in doc.CandidateEntry.__struct_fields__
        if name not in _COMPUTED
    }
    return doc.ScoredCandidate(
        **copied,
        risk_level=str(edit.risk),
        executor_support=edit.after is not None,
        candidate_digest=edit.candidate.candidate_digest
        if edit.after is None
        else edit.after.digest,
        score=_number(score),
        risk_penalty=float(risks.RISK_PENALTY[edit.risk]),
        recommendation=str(recommendation),
        blockers=list(blockers),
        judge_notes=[*notes, *([] if found is None else found.suggestions)],
        judge_adapter={
            "name": "honestone-panel" if judges else "none",
            "evaluated_at": moment,
            "evaluator_evidence_enabled": False,
            "llm_judge_enabled": found is not None,
        },
        score_components={} if found is None else found.components,
        panel=report,
    )


_COMPUTED = ("risk_level", "executor_support", "candidate_digest")

_BLOCKER = {
    Refusal.UNSUPPORTED: "executor_not_supported",
    Refusal.NO_CHANGE: "changes_nothing",
    Refusal.ERROR: "plan_does_not_fit",
    Refusal.OUTSIDE: "leaves_the_skill",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opinion:
    """What the ballots about one edit come to. Judges whose answers are not complete have no score
    and no vote.
    """

    score: Fraction | None
    label: risks.Label | None
    reviews: list[doc.PanelReview]
    components: dict[str, float | None]
    failures: list[str]
    suggestions: list[str]


def _opinion(ballots: Sequence[Ballot]) -> _Opinion:
    line = Scorer(EDIT_RUBRIC).card(ballots).line(EDIT)
    scores = {judge: share * 10 for judge, share in line.by_judge.items()}
    complete = [[mark for judge, mark in item.votes if judge in scores] for item in line.items]
    components = {
        item.item.id: _number(risks.mean_of([Fraction(bool(mark.answer)) for mark in marks]))
        for item, marks in zip(line.items, complete, strict=True)
    }
    suggestions = [
        f"{judge}: {' '.join(mark.suggestion.split())[:300]}"
        for item in line.items
        for judge, mark in item.votes
        if mark.suggestion and mark.suggestion.strip() and mark.answer is False
    ]
    return _Opinion(
        score=risks.mean_of(list(scores.values())),
        label=risks.label_of(list(scores.values())),
        reviews=[_review(ballot, scores.get(ballot.judge)) for ballot in ballots],
        components=components,
        failures=[
            f"{one.judge}: {one.reason or 'no complete answer'}"
            for one in ballots
            if one.judge not in scores
        ],
        suggestions=list(dict.fromkeys(suggestions))[:20],
    )


def _review(ballot: Ballot, score: Fraction | None) -> doc.PanelReview:
    return doc.PanelReview(
        reviewer=ballot.judge,
        state=str(ballot.state),
        reason=ballot.reason,
        score=_number(score),
        recommendation=None if score is None else str(risks.recommendation_of(score, None)),
        answers={item: mark.answer for (_, item), mark in ballot.marks.items()},
        abstained={item: why for (_, item), why in ballot.abstained.items()},
    )


def _number(value: Fraction | None) -> float | None:
    return None if value is None else round(float(value), 9)


# --------------------------------------------------------------------------------------------- what
# a proposal is about


def read_edit_brief(
    files: StageFiles,
    skill: SkillUnderEdit,
    sources: Sequence[Path],
    *,
    task_suite: Path | None,
    traces: Sequence[Path] = (),
    observer: Observer,
) -> brief.EditBrief:
    """What the worker is shown: sources, edits that were put back, tasks that failed in the last
    evaluation, and what was learned. Nothing about tasks of the test split. Raises UsageError with
    places.
    """
    workspace = files.workspace
    tasks = SuiteTasks() if task_suite is None else read_suite_tasks(workspace, task_suite)
    return brief.EditBrief(
        failing=tuple(tasks.shown(_last_failures(files, skill, tasks, observer))),
        tried=tuple(read_trace(workspace, path, tasks) for path in traces),
        sources=read_sources(workspace, sources),
        lessons=tuple(brief.warnings_of(lessons_about(files, skill))),
    )


def read_sources(workspace: Workspace, paths: Sequence[Path]) -> tuple[brief.Source, ...]:
    """Raises FileError for what is missing or not text."""
    return tuple(
        brief.Source(
            path=printable(path),
            kind=_KINDS.get(path.suffix.lower()[1:], "text"),
            text=read_text(workspace.path(path)),
        )
        for path in paths
    )


def read_trace(workspace: Workspace, path: Path, tasks: SuiteTasks) -> brief.FailedTry:
    """A traces file, without tasks of the test split. Raises UsageError with the place."""
    marked = doc.read_object(workspace.path(path))
    if not isinstance(marked.value.get("failed_tasks"), list):
        raise UsageError(
            f"`{printable(path)}` is not a traces file: it has no list `failed_tasks`",
            place=marked.at(("failed_tasks",)),
            hint="`honestone stage run` writes one for every edit that is put back, below STATE_ROOT/traces",
        )
    return failed_try(doc.read_as(marked, doc.Traces), tasks)


def failed_try(traces: doc.Traces, tasks: SuiteTasks) -> brief.FailedTry:
    """What a worker is shown of an edit that was put back."""
    failed = [
        doc.TracedTask(task_id=one) if isinstance(one, str) else one for one in traces.failed_tasks
    ]
    found = [
        brief.FailedTask(task_id=one.task_id, prompt=one.prompt or "", details=one.details or "")
        for one in failed
    ]
    return brief.FailedTry(
        candidate_id=traces.candidate_id,
        reason=traces.reason,
        tasks=tuple(tasks.shown(found)),
        digest=traces.candidate_digest,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteTasks:
    """The tasks of a suite that a worker may be shown: `prompts` by id. `hidden` are those of a
    test split that the suite names.
    """

    path: Path | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    def shown(self, tasks: Sequence[brief.FailedTask]) -> list[brief.FailedTask]:
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


def failed_in(rows: Sequence[doc.TaskRow]) -> list[brief.FailedTask]:
    """The tasks that failed on one side of an evaluation. One that could not be run or judged is
    none of them.
    """
    return [
        brief.FailedTask(task_id=one.task_id, details=one.details)
        for one in rows
        if one.passed is False
    ]


def _last_failures(
    files: StageFiles, skill: SkillUnderEdit, tasks: SuiteTasks, observer: Observer
) -> list[brief.FailedTask]:
    """What this skill, as it is, failed in the newest evaluation of this suite below STATE_ROOT."""
    if tasks.path is None:
        return []
    for one in _evaluations(files):
        rows = _rows_of(one, skill)
        if (
            rows is not None
            and _is_at(files.workspace, one.task_suite, tasks.path)
            and _is_of(one, skill)
        ):
            return failed_in(rows)
    observer.note(
        f"no evaluation of {printable(tasks.path)} is on record below {printable(files.root)}: "
        "the worker is shown no failed tasks"
    )
    return []


def _evaluations(files: StageFiles) -> list[doc.SkillEvaluation]:
    """The evaluations below STATE_ROOT that can be read, newest first."""
    found = []
    for path in files.folder(doc.SkillEvaluation.folder).glob("*.json"):
        try:
            found.append(doc.read_stage(path, doc.SkillEvaluation).body)
        except UsageError:
            continue
    return sorted(found, key=lambda one: one.created_at, reverse=True)


def _is_at(workspace: Workspace, named: str, path: Path) -> bool:
    return bool(named) and "\0" not in named and workspace.path(named).resolve() == path.resolve()


def _is_of(evaluation: doc.SkillEvaluation, skill: SkillUnderEdit) -> bool:
    about = evaluation.target
    return (
        about is not None
        and not evaluation.mock
        and _is_at(skill.workspace, about.path, skill.folder)
    )


def _rows_of(evaluation: doc.SkillEvaluation, skill: SkillUnderEdit) -> list[doc.TaskRow] | None:
    """The side of an evaluation on which the skill ran as it is now; None where it has changed
    since.

    Other programs name no digest of the baseline; theirs is taken for the skill as it is.
    """
    digest = skill.version.digest
    if evaluation.candidate_digest == digest:
        return evaluation.candidate_results
    names_none = evaluation.baseline_digest is None and evaluation.lane != doc.STANDALONE
    return (
        evaluation.baseline_results if names_none or evaluation.baseline_digest == digest else None
    )


_Failed = Mapping[tuple[str | None, str], tuple[str, ...]]


def learn_from(files: StageFiles, observer: Observer) -> list[brief.Lesson]:
    """The lessons of all that is below STATE_ROOT; written to its memory where there are any, and
    to `--output`.
    """
    earlier = []
    for one in files.memory():
        lesson = brief.read_lesson(one)
        if lesson is None:
            observer.note(
                f"an entry of memory.json is not a lesson and is left out: {str(one)[:80]}"
            )
        else:
            earlier.append(lesson)
    found = [outcome for _, outcome in _outcomes(files, observer)]
    lessons = brief.learn(found, earlier)
    plain = [lesson.to_plain() for lesson in lessons]
    if lessons:
        files.remember(plain)
    if files.output is not None:
        write_json(files.output, plain)
    return lessons


def lessons_about(files: StageFiles, skill: SkillUnderEdit) -> list[brief.Lesson]:
    """What the receipts below STATE_ROOT teach about this skill."""
    return brief.learn(
        outcome for named, outcome in _outcomes(files, None) if skill.inside(named) == ""
    )


def _outcomes(files: StageFiles, observer: Observer | None) -> Iterator[tuple[str, brief.Learned]]:
    """Every decision on record, with the folder of its skill."""
    failed = _failed_tasks(files)
    for path in sorted(files.folder(doc.Receipt.folder).glob("*.json")):
        try:
            receipt = _read_decision(path)
        except UsageError as error:
            if observer is not None:
                observer.note(f"left out {path}: {error.message}")
            continue
        if receipt is not None and receipt.decision in (
            Decision.KEEP,
            Decision.REVERT,
            Decision.REJECT,
        ):
            yield (receipt.target.path if receipt.target else ""), _outcome(receipt, failed)


class _Decided(msgspec.Struct, kw_only=True):
    """What is learned from a receipt of the gate, or of a person; other programs write less than
    honestone.
    """

    stage: str = ""
    run_id: str | None = None
    candidate_id: str = ""
    decision: str = ""
    reason: str = ""
    candidate_category: str | None = None
    created_at: str = ""
    target: doc.SkillNamed | None = None
    gate_layers: doc.GateLayers | None = None


def _read_decision(path: Path) -> _Decided | None:
    """None for a file that is not a receipt."""
    receipt = doc.read_as(doc.read_object(path), _Decided)
    return receipt if receipt.stage in ("gated", "promoted") else None


def _outcome(receipt: _Decided, failed: _Failed) -> brief.Learned:
    succeeded = receipt.decision == Decision.KEEP
    layer = receipt.gate_layers.failed_at if receipt.gate_layers else None
    if receipt.stage == "promoted":
        layer = "person"
    return brief.Learned(
        receipt=f"{receipt.run_id}/{receipt.candidate_id}/{receipt.stage}/{receipt.decision}",
        category=receipt.candidate_category or "unknown",
        succeeded=succeeded,
        candidate_id=receipt.candidate_id,
        timestamp=receipt.created_at,
        layer=None if succeeded else layer,
        reason=receipt.reason,
        failed_tasks=() if succeeded else failed.get((receipt.run_id, receipt.candidate_id), ()),
    )


def _failed_tasks(files: StageFiles) -> _Failed:
    """Which tasks each edit that was put back had failed, by run and candidate."""
    found = {}
    for path in files.folder(doc.Traces.folder).glob("*.json"):
        try:
            traces = doc.read_as(doc.read_object(path), doc.Traces)
        except UsageError:
            continue  # whoever reads traces to propose by them reports it
        tasks = (one if isinstance(one, str) else one.task_id for one in traces.failed_tasks)
        found[traces.run_id, traces.candidate_id] = tuple(tasks)
    return found
