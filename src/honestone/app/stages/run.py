"""All stages of one skill: propose, rank, evaluate, apply, gate; again with what failed, until
something is kept.

It is the loop of `improve` with the gate as its policy: recorded in the store, limited and resumed
as every loop. The stages' files are written from its events, for those who read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import msgspec

from honestone.app.improving.loop import LoopPlan, run_loop
from honestone.app.judging.judging_options import JudgingOptions, make_panel
from honestone.app.stages import candidates as proposals
from honestone.app.stages import evaluate, gate
from honestone.app.stages import stage_loop as stages
from honestone.app.stages.candidates import HOURS, Proposal
from honestone.app.stages.files import (
    D,
    SkillUnderEdit,
    StageFiles,
    safe_name,
    stamp,
    stamped,
    write_json,
)
from honestone.app.stages.stage_loop import (
    EVALUATED,
    EXECUTED,
    GATED,
    PROPOSED,
    RANKED,
    TRACED,
    StageLoopState,
)
from honestone.app.suites.plan import SuitePlan
from honestone.app.suites.subject import SuiteSubject
from honestone.core import events
from honestone.core.artifact import Version
from honestone.core.editing.proposal import ProposalOutcome, touched
from honestone.core.errors import FileError, Interrupted, UsageError
from honestone.core.events import CandidateTried, Event, LimitReached, StageDone
from honestone.core.json_value import JsonObject as JsonMapping
from honestone.core.judging.contract import digest_json
from honestone.core.judging.spend import Meter, Spend
from honestone.core.loop.state import Ask, LoopLimits, Propose, fold
from honestone.core.skill.brief import EditBrief
from honestone.core.skill.evaluation import SkillVerdict
from honestone.core.skill.gate_layers import EXIT_OF, Decision, Evidence, pass_gate
from honestone.core.skill.plan import PlanError
from honestone.engine.loop_runner import Judgement, LoopRunner
from honestone.engine.panel import Judged, Seat
from honestone.engine.place import Place, load_version
from honestone.formats import stage_files as doc
from honestone.formats.stage_files import JsonObject
from honestone.ports import Brief, Observer, RunInfo, Store
from honestone.system.drawing import count as many
from honestone.system.files import printable
from honestone.system.trust.judging_files import JudgingFiles, files_named

KIND = "stages"
ERROR = "error"
_NOT_DECIDED = "it is not decided yet"

StageLoop: TypeAlias = LoopRunner[StageLoopState]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRunRequest:
    """What `stage run` is asked for. `judging` holds the judges, `fresh` and the limits."""

    skill: Path
    task_suite: Path
    worker: str
    target: str | None = None
    sources: tuple[Path, ...] = ()
    retries: int = 3
    candidates: int = 1
    pass_k: int = 1
    mock: bool = False
    worker_timeout: float | None = None
    judging: JudgingOptions = field(default_factory=JudgingOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineRun:
    """How a run of all stages ended."""

    body: doc.Pipeline
    # The command that approves what waits for a person.
    approve: str | None = None

    @property
    def decision(self) -> str:
        """`keep`, `pending_promote`, `revert`, `reject` or `error`."""
        return self.body.decision

    @property
    def document(self) -> JsonObject:
        """`honestone.pipeline/1`."""
        return self.to_dict()

    @property
    def exit_code(self) -> int:
        return 3 if self.decision == ERROR else EXIT_OF[Decision(self.decision)]

    def to_dict(self) -> JsonObject:
        plain: JsonObject = msgspec.to_builtins(self.body)
        return plain


def run_all_stages(request: StageRunRequest, files: StageFiles, observer: Observer) -> PipelineRun:
    """Raises UsageError before anything is spent, and while another run works on this skill."""
    workspace = files.workspace
    skill = SkillUnderEdit.at(workspace, request.skill)
    with gate.only_one(skill.folder), workspace.open_store() as store:
        files.refuse_inside(skill)
        skill = gate.recover(files, skill)
        done = run_loop(_plan(request, files, skill, observer), store, observer)
        if done.stop is None:
            raise Interrupted(f"interrupted; the same command resumes run {done.id}:", hint=None)
        path = files.output or _place(files, done.id)
        ended = _pipeline(done.id, done.log, done.state, done.stop.reason, skill.profile(), path)
        ended = replace(ended, body=msgspec.structs.replace(ended.body, resumed=done.resumed))
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


# -------------------------------------------------------------------------------------------------
# before it is spent


@dataclass(frozen=True, slots=True, kw_only=True)
class _StagePlan(LoopPlan[StageLoopState]):
    """The same command resumes a run, also with other limits; any other run of the skill is closed
    by it.
    """

    @property
    def identity(self) -> str:
        return self.started.contract_id

    def done_in_words(self, state: StageLoopState) -> str:
        return f"{many(len(state.rounds), 'try is', 'tries are')} on record"

    def pass_over(self, store: Store, old: RunInfo) -> None:
        if gate.is_half_delivered(store.iter_events(old.id)):
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
    asked = _asked(request, judging)
    suite = evaluate.read_suite(workspace, request.task_suite)
    sources = proposals.read_sources(workspace, request.sources)
    worker = proposals.make_stage_worker(request.worker, skill, request.worker_timeout)
    seats = proposals.edit_seats(skill, judging)
    tasks = evaluate.plan_tasks(skill, asked, suite)
    tries, proposed = request.retries, request.retries * request.candidates
    # Every reply may have to be asked for twice.
    calls = 2 * (len(seats) * proposed + tasks.judge_calls(tasks.chosen) * (tries + 1))
    meter = judging.meter(workspace.settings, calls=calls, minutes=HOURS)
    limits = LoopLimits(rounds=tries, calls=meter.calls, minutes=meter.minutes, usd=meter.usd)
    observer.note(_cost(request, tasks, worker.id, judge_calls=limits.calls if calls else 0))
    edit_brief = proposals.read_edit_brief(
        files, skill, request.sources, task_suite=request.task_suite, observer=observer
    )
    contract: JsonMapping = {
        "kind": KIND,
        "suite": [
            str(workspace.path(request.task_suite).resolve()),
            tasks.identity(SuiteSubject.without_skill(), tasks.chosen),
        ],
        "worker": [request.worker, dict(worker.identity)],
        "target": "mock" if request.mock else asked.target,
        "judges": [seat.identity for seat in seats],
        "sources": [[source.path, digest_json(source.text)] for source in sources],
        "numbers": [tries, request.candidates, request.pass_k],
    }
    judgement = StageJudgement(
        files=files,
        skill=skill,
        edit_brief=edit_brief,
        tasks=proposals.read_suite_tasks(workspace, request.task_suite),
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


def _asked(request: StageRunRequest, judging: JudgingOptions) -> evaluate.EvaluateSkillRequest:
    return evaluate.EvaluateSkillRequest(
        task_suite=request.task_suite,
        target=request.target or evaluate.DEFAULT_TARGET,
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


# -------------------------------------------------------------------------------------------------------
# the document


def recorded_pipeline(files: StageFiles, store: Store, run: str) -> PipelineRun:
    """A run of all stages as its events tell it, finished or not."""
    log = store.events(run)
    last, state = log[-1], fold(stages.state_of_stages(log[0]), log[1:])
    reason = (
        last.reason if isinstance(last, events.RunFinished) else state.limit or "it is not finished"
    )
    if stages.end_of(state) is None and state.limit is None:
        state.limit = reason
    return _pipeline(run, log, state, reason, None, _place(files, run))


def _pipeline(
    run: str,
    log: Sequence[Event],
    state: StageLoopState,
    reason: str,
    skill: doc.SkillNamed | None,
    path: Path,
) -> PipelineRun:
    started = log[0]
    assert isinstance(started, events.StagesStarted)
    number = stages.end_of(state) if state.limit is None else None
    last = None if number is None else _try(state, number)
    body = doc.Pipeline(
        run=run,
        created_at=stamp(),
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
        usage=dict(events.total_spend(log).to_plain()),
        truth_anchor=printable(path.absolute()),
    )
    approve = None
    if number is not None and body.decision == Decision.PENDING:
        request = _body(state, number, GATED, doc.Receipt).human_review_request or {}
        approve = str(request.get("approve"))
    return PipelineRun(body=body, approve=approve)


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
    known = {
        "decision": ERROR if entry.is_open else str(state.decision(number)),
        "reason": entry.reason or _NOT_DECIDED,
        "candidate_id": _tried(state, number, entry.version or "").candidate.id
        if is_ranked
        else None,
        **paths,
        **{name: getattr(figures or _UNKNOWN, name) for name in _RATES},
    }
    return msgspec.convert(known, doc.PipelineTry)


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


def _tried(state: StageLoopState, number: int, version: str) -> _Tried:
    ranking = _body(state, number, RANKED, doc.Ranking)
    return _Tried(
        number,
        ranking,
        next(one for one in ranking.scored_candidates if one.candidate_digest == version),
    )


def _body(state: StageLoopState, number: int, stage: str, kind: type[D]) -> D:
    found = state.file_of(number, stage)
    assert found is not None
    return msgspec.convert(found.document, kind)


# -----------------------------------------------------------------------------------------------------------
# the place


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillPlace(Place):
    """The skill's folder: hidden files, links and suites in it are not part of it."""

    skill: SkillUnderEdit

    def on_disk(self) -> Version:
        return self.skill.read_again().version

    def part(self, version: Version) -> Version:
        return proposals.without_hidden(version)

    def delivered(self, before: Version, after: Version) -> Version:
        try:
            return self.on_disk()
        except FileError:  # half delivered, without its SKILL.md
            return Place.delivered(self, before, after)

    def forbidden(self, before: Version, after: Version | None) -> list[str]:
        if after is None or after.digest == before.digest:
            return []
        try:
            self.skill.with_version(before).require_plan_to(after)
        except PlanError as error:
            return [error.message]
        return []


# -------------------------------------------------------------------------------------------------------
# the judgement


@dataclass(frozen=True, slots=True)
class _Tried:
    """The candidate of a round, as its ranking has it."""

    number: int
    ranking: doc.Ranking
    candidate: doc.ScoredCandidate

    @property
    def name(self) -> str:
        return f"{self.ranking.run_id}-{self.candidate.id}"


@dataclass(slots=True, kw_only=True)
class StageJudgement(Judgement[StageLoopState]):
    """The stages as the judgement of the loop. Every file is an event first: a kill in between
    loses none.
    """

    files: StageFiles
    skill: SkillUnderEdit
    edit_brief: EditBrief
    tasks: proposals.SuiteTasks
    asked: evaluate.EvaluateSkillRequest
    plan: SuitePlan
    seats: tuple[Seat, ...]
    watch: JudgingFiles
    judging: JudgingOptions
    worker: str
    mock: bool

    def of_run(self, run: str, store: Store, meter: Meter) -> StageJudgement:
        """The same about the skill as the run found it, with the lessons that were known then."""
        started = next(store.iter_events(run))
        assert isinstance(started, events.StagesStarted)
        skill = self.skill.with_version(load_version(store, started.artifact.digest))
        return replace(
            self, skill=skill, edit_brief=replace(self.edit_brief, lessons=started.lessons)
        )

    async def close(self) -> None:
        await self.plan.close()
        for seat in self.seats:
            await seat.judge.close()

    async def resume(self, loop: StageLoop) -> None:
        """Files that a killed process recorded and did not write, and what the last decision leaves
        for others. What interrupted an earlier process is asked again.
        """
        loop.state.limit = None
        for one in loop.state.files.values():
            if not Path(one.path).exists():
                write_json(Path(one.path), one.document)
        number = len(loop.state.rounds)
        if number and loop.state.file_of(number, GATED) is not None:
            self._record_decision(loop, number)

    async def _write(
        self,
        loop: StageLoop,
        number: int,
        stage: str,
        body: doc.StageDocument | doc.Traces,
        name: str,
        spend: Spend | None = None,
        of_runs: Mapping[str, Spend] | None = None,
    ) -> None:
        path = (self.files.folder(body.folder) / f"{safe_name(name)}.json").absolute()
        document = stamped(body, path)
        done = StageDone(round=number, stage=stage, path=printable(path), document=document)
        await loop.record(replace(done, spend=spend or Spend(), of_runs=of_runs or {}))
        write_json(path, document)

    # -- proposing

    def brief(self, loop: StageLoop, action: Propose, place: Path, candidate: int) -> Brief:
        made = [loop.version(one.version) for one in loop.state.tried if one.version is not None]
        edit_brief = self._edit_brief(loop.state)
        return proposals.skill_brief(
            self.skill, edit_brief, place, candidate + 1, action.candidates, made
        )

    def _edit_brief(self, state: StageLoopState) -> EditBrief:
        """What was known at the start, and what this run's tries have shown since."""
        tried = []
        failing = self.edit_brief.failing
        for number in range(1, len(state.rounds) + 1):
            traces, evaluation = state.file_of(number, TRACED), state.file_of(number, EVALUATED)
            if traces is not None:
                tried.append(
                    proposals.failed_try(msgspec.convert(traces.document, doc.Traces), self.tasks)
                )
            if evaluation is not None:
                rows = msgspec.convert(evaluation.document, doc.SkillEvaluation).baseline_results
                failing = tuple(self.tasks.shown(proposals.failed_in(rows)))
        return replace(self.edit_brief, failing=failing, tried=tuple(tried))

    async def proposed(self, loop: StageLoop, action: Propose) -> None:
        """The candidates artifact, once for all that were proposed together."""
        number = loop.state.batch
        if (number, PROPOSED) in loop.state.files:
            return
        known = {entry.version for entry in loop.state.rounds}
        found: list[Proposal] = []
        for one in loop.state.tried:
            made = Proposal(number=one.candidate, outcome=str(one.outcome), detail=one.detail)
            if one.version in known and one.outcome is ProposalOutcome.CHANGED:
                made = replace(
                    made, outcome="duplicate", detail="the same bytes as a proposal before it"
                )
            elif one.version is not None and one.outcome is ProposalOutcome.CHANGED:
                known.add(one.version)
                made = replace(made, detail=None, after=loop.version(one.version))
            found.append(made)
        run_id, spend = (
            self.skill.new_run_id(),
            Spend(worker_calls=sum(one.spend.worker_calls for one in loop.state.tried)),
        )
        body = proposals.candidates_file(
            self.skill, found, self._edit_brief(loop.state), self.worker, run_id=run_id
        )
        await self._write(
            loop, number, PROPOSED, msgspec.structs.replace(body, usage=spend.to_plain()), run_id
        )

    def described(self, loop: StageLoop, tried: CandidateTried) -> JsonMapping:
        return {**Judgement.described(self, loop, tried), "detail": tried.detail}

    async def choose(
        self, loop: StageLoop, action: Propose, new: Sequence[CandidateTried]
    ) -> CandidateTried | None:
        """The best candidate that is not decided yet; the ranking rejects a batch as a whole where
        none is worth a try.
        """
        state, number = loop.state, loop.state.batch
        if state.limit is not None:
            return None
        if state.files.get((number, RANKED)) is None and not await self._rank(loop, number):
            return None
        if not state.wanted:
            return await self._reject_all(loop, number, new)
        version = next(one for one in state.wanted if state.decided(one) is None)
        return next(one for one in new if one.version == version)

    async def _rank(self, loop: StageLoop, number: int) -> bool:
        """False where a limit, or a panel without a reply, came first."""
        source = _body(loop.state, number, PROPOSED, doc.Candidates)
        edits = [proposals.edit_of(one, self.skill) for one in source.candidates]
        reviews: dict[str, Judged] = {}
        if self.seats:
            panel = make_panel(self.seats, loop.store, loop.meter, self.judging)
            for edit in edits:
                loop.say(f"asking about {edit.id}")
                judged = await proposals.review(edit, self.skill, panel, self.edit_brief.lessons)
                self.watch.require_unchanged()
                reviews[edit.id] = judged
                if judged.refused is not None:
                    await loop.reach_limit(
                        LimitReached(
                            reason=judged.refused,
                            spend=Spend.of(one.spend for one in reviews.values()),
                        )
                    )
                    return False
        body = proposals.ranking_file(source, edits, reviews, self.seats, mock=self.mock)
        dead = all("panel_unavailable" in one.blockers for one in body.scored_candidates)
        if dead and body.scored_candidates:
            blockers = ", ".join(map(str, body.scored_candidates[0].blockers))
            why = f"no judge could be asked about the candidates: {blockers}"
            await loop.reach_limit(
                LimitReached(reason=why, spend=Spend.of(one.spend for one in reviews.values()))
            )
            return False
        await self._write(
            loop,
            number,
            RANKED,
            body,
            source.run_id,
            Spend.of(one.spend for one in reviews.values()),
        )
        return True

    async def _reject_all(
        self, loop: StageLoop, number: int, new: Sequence[CandidateTried]
    ) -> CandidateTried:
        ranking = _body(loop.state, number, RANKED, doc.Ranking)
        best = ranking.scored_candidates[0]
        reason = (
            f"the ranking rejects it: {', '.join(map(str, best.blockers)) or 'no reason given'}"
        )
        if loop.state.file_of(number, TRACED) is None:
            notes = "; ".join(best.judge_notes)
            await self._trace(
                loop,
                _Tried(number, ranking, best),
                f"{reason} ({notes})" if notes else reason,
                None,
            )
        return next((one for one in new if one.version == best.candidate_digest), new[0])

    # -- judging

    async def ask(self, loop: StageLoop, action: Ask) -> None:
        """Evaluate the candidate and have the gate decide; what an earlier process recorded is not
        done again.
        """
        number, state = len(loop.state.rounds), loop.state
        tried, after = _tried(state, number, action.version), loop.version(action.version)
        evaluation = None
        if not gate.troubles(self.skill.version, after):
            try:
                if state.file_of(number, EVALUATED) is None and not await self._evaluate(
                    loop, tried
                ):
                    return
            except PlanError as problem:
                await self._trace(loop, tried, problem.message, None)
                return
            evaluation = _body(state, number, EVALUATED, doc.SkillEvaluation)
        await self._gate(loop, tried, evaluation)

    async def _evaluate(self, loop: StageLoop, tried: _Tried) -> bool:
        """False where a limit came first, or agents and judges could not work: that is not a try."""
        file = loop.state.file_of(tried.number, RANKED)
        assert file is not None
        asked = evaluate.TwoSides(
            run_id=tried.ranking.run_id,
            skill=self.skill,
            after=self.skill.edited(tried.candidate),
            before=self.skill.version,
            candidate=tried.candidate,
            ranking=file.path,
        )
        if await loop.out_of_budget():
            return False
        fresh = self.judging.fresh and not any(stage == EVALUATED for _, stage in loop.state.files)
        request = replace(self.asked, judging=replace(self.asked.judging, fresh=fresh))
        known = _known_spend(loop.store.events(loop.run))
        done = await evaluate.compare_sides(
            self.plan, request, asked, loop.store, loop.meter, loop.observer, known=known
        )
        loop.meter.counted(done.spend)
        if done.report is None:
            limit = loop.meter.exhausted() or loop.meter.no_call_left()
            why = limit or "a limit came before every task was run"
            await loop.reach_limit(LimitReached(reason=why, spend=done.spend, of_runs=done.runs))
            return False
        body = evaluate.evaluation_file(asked, self.asked, self.plan.source, done.report)
        if body.verdict == SkillVerdict.ERROR:
            why = f"the evaluation could not be made: {body.reason}"
            await loop.reach_limit(LimitReached(reason=why, spend=done.spend, of_runs=done.runs))
            return False
        await self._write(loop, tried.number, EVALUATED, body, tried.name, done.spend, done.runs)
        return True

    async def _gate(
        self, loop: StageLoop, tried: _Tried, evaluation: doc.SkillEvaluation | None
    ) -> None:
        """Execution, traces and receipt, the receipt last: it decides the round."""
        state, number, ranking, candidate = loop.state, tried.number, tried.ranking, tried.candidate
        before, after = self.skill.version, self.skill.edited(candidate)
        if state.file_of(number, EXECUTED) is None:
            place = Path(safe_name(ranking.run_id), safe_name(candidate.id))
            pointer = gate.back_up(self.files, self.skill, touched(before, after), place)
            result = gate.applied_result(self.skill, self.skill.plan_of(candidate), after, pointer)
            body = gate.execution_file(ranking, candidate, msgspec.to_builtins(candidate), result)
            await self._write(loop, number, EXECUTED, body, tried.name)
        execution = _body(state, number, EXECUTED, doc.Execution)
        evidence = self._evidence(state, tried, after)
        found = pass_gate(evidence)
        decision = found.decision
        if decision in (Decision.REVERT, Decision.REJECT) and state.file_of(number, TRACED) is None:
            await self._trace(loop, tried, found.reason, evaluation)
        rollback = doc.Rollback(attempted=False, success=True, reason="never_put_in_place")
        if decision is Decision.KEEP:
            rollback = doc.Rollback(attempted=False, success=False, reason="not_needed")
        receipt = gate.receipt_file(
            self.files, ranking, execution, evaluation, evidence, found, rollback
        )
        await self._write(loop, number, GATED, receipt, gate.receipt_name(receipt))
        self._record_decision(loop, number)
        loop.observer.note(f"try {number}: {decision}, {found.reason}")

    def _evidence(self, state: StageLoopState, tried: _Tried, after: Version) -> Evidence:
        ranking, execution, evaluation = (
            state.file_of(tried.number, stage) for stage in (RANKED, EXECUTED, EVALUATED)
        )
        assert ranking is not None and execution is not None
        return gate.gather(
            self.files,
            self.skill,
            after,
            ranking=ranking.document,
            execution=execution.document,
            evaluation=None if evaluation is None else evaluation.document,
            ranked=msgspec.to_builtins(tried.candidate),
        )

    def _record_decision(self, loop: StageLoop, number: int) -> None:
        state = loop.state
        receipt, entry = _body(state, number, GATED, doc.Receipt), None
        if receipt.decision == Decision.PENDING:
            version = state.rounds[number - 1].version or ""
            evidence = self._evidence(state, _tried(state, number, version), loop.version(version))
            entry = gate.parked(
                self.skill, evidence, pass_gate(evidence), run_id=receipt.run_id, lane=receipt.lane
            )
        gate.record_decision(self.files, receipt, entry, self.skill)

    async def _trace(
        self, loop: StageLoop, tried: _Tried, reason: str, evaluation: doc.SkillEvaluation | None
    ) -> None:
        """What the next proposal is shown of a try that was put back; never anything of the test
        split.
        """
        broken = set(evaluation.regressions) if evaluation is not None else set()
        failed = (
            self.tasks.shown(proposals.failed_in(evaluation.candidate_results))
            if evaluation is not None
            else []
        )
        failed.sort(key=lambda one: one.task_id not in broken)  # what it broke comes first
        body = doc.Traces(
            run_id=tried.ranking.run_id,
            candidate_id=tried.candidate.id,
            candidate_digest=tried.candidate.candidate_digest,
            reason=reason,
            failed_tasks=[
                doc.TracedTask(
                    task_id=one.task_id,
                    prompt=one.prompt,
                    details=one.details,
                    passed_before=one.task_id in broken,
                )
                for one in failed
            ],
            failed_category=tried.candidate.category,
            scores_before=None if evaluation is None else evaluation.baseline_pass_rate,
            scores_after=None if evaluation is None else evaluation.execution_pass_rate,
        )
        await self._write(loop, tried.number, TRACED, body, tried.name)


def _known_spend(log: Sequence[Event]) -> dict[str, Spend]:
    """What the loop has counted of the runs of a suite, by run."""
    known: dict[str, Spend] = {}
    for event in log:
        if isinstance(event, StageDone | LimitReached):
            for run, spend in event.of_runs.items():
                known.setdefault(run, Spend()).join(spend)
    return known
