"""All stages of one skill: propose, rank, evaluate, apply, gate; again with what failed, until
something is kept.

It is the loop of `improve` with the gate as its policy: recorded in the store, limited and resumed
as every loop. The stages' files are written from its events, for those who read them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from honestone.app.improving.loop import LoopPlan, run_loop
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.stages import evaluate
from honestone.app.stages import stage_loop as stages
from honestone.app.stages.apply import only_one, recover
from honestone.app.stages.edit_brief import read_edit_brief, read_sources, read_suite_tasks
from honestone.app.stages.files import (
    SkillUnderEdit,
    StageFiles,
    safe_name,
    stamp,
    write_json,
)
from honestone.app.stages.propose import HOURS, make_stage_worker
from honestone.app.stages.rank import edit_seats
from honestone.app.stages.stage_judgement import (
    SkillPlace,
    StageJudgement,
    stage_body,
    version_tried,
)
from honestone.app.stages.stage_loop import (
    EVALUATED,
    EXECUTED,
    GATED,
    PROPOSED,
    RANKED,
    TRACED,
    StageLoopState,
    is_half_delivered,
)
from honestone.app.suites.plan import SuitePlan
from honestone.app.suites.subject import SuiteSubject
from honestone.core import events
from honestone.core.errors import Interrupted, UsageError
from honestone.core.events import Event
from honestone.core.json_value import JsonObject as JsonMapping
from honestone.core.json_value import as_json
from honestone.core.judging.contract import digest_json
from honestone.core.loop.state import LoopLimits, fold
from honestone.core.skill.gate_layers import EXIT_OF, Decision
from honestone.engine.judging.seats import Seat
from honestone.formats import stage_files as doc
from honestone.ports import Observer, RunInfo, Store
from honestone.report.building.suite import usage_of
from honestone.report.documents import ReadsAsDocument
from honestone.system.drawing import count as many
from honestone.system.files import printable
from honestone.system.trust.judging_files import JudgingFiles, files_named

KIND = "stages"
ERROR = "error"
_NOT_DECIDED = "it is not decided yet"


class StageRunRequest(Struct, frozen=True, kw_only=True):
    """What `skill run` is asked for. `judging` holds the judges, `fresh` and the limits."""

    skill: Path
    task_suite: Path
    worker: str
    target: str | None = None
    prompts: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()
    retries: int = 3
    candidates: int = 1
    pass_k: int = 1
    mock: bool = False
    worker_timeout: float | None = None
    judging: JudgingOptions = field(default_factory=JudgingOptions)


@dataclass(frozen=True, kw_only=True, eq=False)
class PipelineRun(ReadsAsDocument):
    """How a run of all stages ended: what it cost in words, and the unified diff of an edit that was
    kept.
    """

    body: doc.Pipeline
    spent: tuple[str, ...] = ()
    diff: str = ""
    can_be_undone: bool = False
    # The command that approves what waits for a person.
    approve: str | None = None

    @property
    def decision(self) -> str:
        """`keep`, `pending_promote`, `revert`, `reject` or `error`."""
        return self.body.decision

    @property
    def exit_code(self) -> int:
        return 3 if self.decision == ERROR else EXIT_OF[Decision(self.decision)]

    def _as_struct(self) -> doc.Pipeline:
        return self.body


def run_all_stages(request: StageRunRequest, files: StageFiles, observer: Observer) -> PipelineRun:
    """Raises UsageError before anything is spent, and while another run works on this skill."""
    workspace = files.workspace
    skill = SkillUnderEdit.at(workspace, request.skill)
    with only_one(skill.folder), workspace.open_store() as store:
        files.refuse_inside(skill)
        skill = recover(files, skill)
        done = run_loop(_plan(request, files, skill, observer), store, observer)
        if done.stop is None:
            raise Interrupted(f"interrupted; the same command resumes run {done.id}:", hint=None)
        path = files.output or _place(files, done.id)
        ended = _pipeline(done.id, done.log, done.state, done.stop.reason, skill.profile(), path)
        body = replace(ended.body, resumed=done.resumed)
        ended = dataclasses.replace(ended, body=body)  # noqa: TID251
        write_json(path, ended.document)
        if ended.decision == ERROR:
            observer.note("what is done is on record: run the same command to resume")
        else:
            # Last of all: a run that was killed before its document was written is resumed.
            result = str(done.stop.result)
            store.finish_run(
                done.id, result, events.RunFinished(result=result, reason=done.stop.reason)
            )
        return ended


class _StagePlan(LoopPlan[StageLoopState], frozen=True, kw_only=True):
    """The same command resumes a run, also with other limits; any other run of the skill is closed
    by it.
    """

    @property
    def identity(self) -> str:
        return self.started.contract_id

    def done_in_words(self, state: StageLoopState) -> str:
        return f"{many(len(state.rounds), 'try is', 'tries are')} on record"

    def pass_over(self, store: Store, old: RunInfo) -> None:
        if is_half_delivered(store.iter_events(old.id)):
            raise UsageError(
                f"`{self.place.named}` holds half of an edit: run {old.id} is not finished",
                hint="run the command of that run again: it completes the edit; or start over with --fresh",
            )
        why = "another run of this skill was started"
        store.finish_run(
            old.id, "INTERRUPTED", events.RunFinished(result="INTERRUPTED", reason=why)
        )


def _plan(
    request: StageRunRequest, files: StageFiles, skill: SkillUnderEdit, observer: Observer
) -> _StagePlan:
    """Everything is read and checked, before the first call."""
    workspace = files.workspace
    judging = replace(request.judging, judges=("mock",) if request.mock else request.judging.judges)
    asked = _evaluation_request(request, judging)
    suite = evaluate.read_suite(workspace, request.task_suite)
    sources = read_sources(workspace, request.sources)
    worker = make_stage_worker(request.worker, skill, request.worker_timeout)
    seats = edit_seats(skill, judging)
    tasks = evaluate.plan_tasks(skill, asked, suite)
    tries, proposed = request.retries, request.retries * request.candidates
    # Every reply may have to be asked for twice.
    calls = 2 * (len(seats) * proposed + tasks.judge_calls(tasks.chosen) * (tries + 1))
    meter = judging.meter(workspace.settings, calls=calls, minutes=HOURS)
    limits = LoopLimits(rounds=tries, calls=meter.calls, minutes=meter.minutes, usd=meter.usd)
    observer.note(_cost(request, tasks, worker.id, judge_calls=limits.calls if calls else 0))
    edit_brief = read_edit_brief(
        files,
        skill,
        request.sources,
        task_suite=request.task_suite,
        prompts=request.prompts,
        observer=observer,
    )
    contract: JsonMapping = {
        "kind": KIND,
        "suite": [
            str(workspace.path(request.task_suite).resolve()),
            tasks.identity(SuiteSubject.without_skill(), tasks.chosen),
        ],
        "worker": [request.worker, as_json(worker.identity)],
        "target": "mock" if request.mock else asked.target,
        "judges": [as_json(seat.identity) for seat in seats],
        "sources": [[source.path, digest_json(source.text)] for source in sources],
        "numbers": [tries, request.candidates, request.pass_k],
    }
    judgement = StageJudgement(
        files=files,
        skill=skill,
        edit_brief=edit_brief,
        tasks=read_suite_tasks(workspace, request.task_suite, request.prompts),
        asked=asked,
        plan=tasks,
        seats=seats,
        watch=_watch(seats, tasks),
        judging=judging,
        worker=request.worker,
        mock=request.mock,
    )
    return _StagePlan(
        workspace=workspace,
        place=SkillPlace(path=skill.root, named=skill.named, skill=skill),
        version=skill.version,
        worker=worker,
        policy=stages.Gate(candidates=request.candidates),
        started=events.StagesStarted(
            contract=contract,
            contract_id=digest_json({"path": str(skill.root), **contract}),
            panel=tuple(seat.id for seat in seats),
            limits=asdict(limits),
            artifact=events.StartedArtifact(
                path=skill.named, digest=skill.version.digest, is_folder=True
            ),
            suite=events.StartedSuite(path=printable(request.task_suite)),
            worker=request.worker,
            policy="gate",
            target=tasks.target_name,
            candidates=request.candidates,
            pass_k=request.pass_k,
            mock=request.mock,
            lessons=edit_brief.lessons,
        ),
        belongs_to={},
        state=lambda started: stages.state_of_stages(started, limits),
        judgement=judgement.of_run,
        fresh=judging.fresh,
    )


def _watch(seats: Sequence[Seat], tasks: SuitePlan) -> JudgingFiles:
    """The programs of the ranking panel, and by the plan of the tasks what judges those, as they
    are before a worker runs.
    """
    assert len(tasks.watches) == len(tasks.contracts.rubrics)
    base = tasks.workspace.folder
    return JudgingFiles(lambda: files_named([seat.identity for seat in seats], base), base=base)


def _evaluation_request(
    request: StageRunRequest, judging: JudgingOptions
) -> evaluate.EvaluateSkillRequest:
    return evaluate.EvaluateSkillRequest(
        task_suite=request.task_suite,
        target=request.target or evaluate.DEFAULT_TARGET,
        prompts=request.prompts,
        pass_k=request.pass_k,
        eval_threshold=0,
        mock=request.mock,
        # The limits are the loop's: what a side was judged by does not depend on them.
        judging=replace(judging, max_calls=None, max_usd=None, max_minutes=None),
    )


def _cost(request: StageRunRequest, tasks: SuitePlan, worker: str, *, judge_calls: int) -> str:
    """The most that a run can spend, in words."""
    count = sum(1 for case in tasks.chosen if case.skip is None)
    tries, proposed = request.retries, request.retries * request.candidates
    total = count * request.pass_k * (tries + 1)
    return (
        f"up to {many(count, 'task')} x {many(request.pass_k, 'attempt')} x (baseline + "
        f"{many(tries, 'try', 'tries')}) = {total} agent runs of {tasks.target_name}; "
        f"up to {many(proposed, 'proposal')} by {worker}"
        f"{f'; at most {judge_calls} judge calls' if judge_calls else ''}"
    )


def _place(files: StageFiles, run: str) -> Path:
    return files.folder(doc.Pipeline.folder) / f"{safe_name(run)}.json"


def recorded_pipeline(files: StageFiles, store: Store, run: str) -> PipelineRun:
    """A run of all stages as its events tell it, finished or not."""
    log = store.events(run)
    last, state = log[-1], fold(stages.state_of_stages(log[0]), log[1:])
    reason = (
        last.reason if isinstance(last, events.RunFinished) else state.limit or "it is not finished"
    )
    if stages.end_of(state) is None and state.limit is None:
        state.limit = reason
    info = store.find_run(run)
    made = datetime.fromisoformat(info.finished or info.started)
    return _pipeline(run, log, state, reason, None, _place(files, run), made)


def _pipeline(
    run: str,
    log: Sequence[Event],
    state: StageLoopState,
    reason: str,
    skill: doc.SkillNamed | None,
    path: Path,
    made: datetime | None = None,
) -> PipelineRun:
    started = log[0]
    assert isinstance(started, events.StagesStarted)
    number = stages.end_of(state) if state.limit is None else None
    last = None if number is None else _try(state, number)
    spend = events.total_spend(log)
    body = doc.Pipeline(
        run=run,
        created_at=stamp(made),
        skill=skill or doc.SkillNamed(path=started.artifact.path),
        task_suite=started.suite.path,
        decision=ERROR if last is None else last.decision,
        reason=reason,
        candidate_id=None if last is None else last.candidate_id,
        evaluation=last.evaluation if last else None,
        **{name: getattr(last or _UNKNOWN, name) for name in _RATES},
        mock=started.mock,
        tries=[_try(state, one + 1) for one in range(len(state.rounds))],
        limits=asdict(state.limits),
        usage=dict(spend.to_plain()),
        truth_anchor=printable(path.absolute()),
    )
    approve, diff = None, ""
    if number is not None and body.decision == Decision.PENDING:
        request = stage_body(state, number, GATED, doc.Receipt).human_review_request or {}
        approve = str(request.get("approve"))
    if number is not None and body.decision == Decision.KEEP:
        diff = stage_body(state, number, EXECUTED, doc.Execution).result.diff or ""
    words = usage_of(spend).words(whole_run=True)
    return PipelineRun(
        body=body,
        approve=approve,
        diff=diff,
        can_be_undone=state.delivered != state.original,
        spent=tuple(words),
    )


def _try(state: StageLoopState, number: int) -> doc.PipelineTry:
    """One round as `honestone.pipeline/1` tells it."""
    entry = state.rounds[number - 1]
    paths = {
        name: None if (found := state.file_of(number, stage)) is None else found.path
        for name, stage in _PATHS.items()
    }
    evaluated = state.file_of(number, EVALUATED)
    figures = (
        None if evaluated is None else msgspec.convert(evaluated.document, doc.SkillEvaluation)
    )
    is_ranked = paths["ranking"] is not None and entry.version is not None
    fields = {
        "decision": ERROR if entry.is_open else str(state.decision(number)),
        "reason": entry.reason or _NOT_DECIDED,
        "candidate_id": version_tried(state, number, entry.version or "").candidate.id
        if is_ranked
        else None,
        **paths,
        **{name: getattr(figures or _UNKNOWN, name) for name in _RATES},
    }
    return msgspec.convert(fields, doc.PipelineTry)


_PATHS = {
    "candidates": PROPOSED,
    "ranking": RANKED,
    "evaluation": EVALUATED,
    "execution": EXECUTED,
    "receipt": GATED,
    "traces": TRACED,
}


_RATES = ("execution_pass_rate", "baseline_pass_rate", "delta", "interval")
_UNKNOWN = doc.Figures(verdict="")
