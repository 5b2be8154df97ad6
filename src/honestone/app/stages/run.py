"""All stages of one skill: propose, rank, evaluate, apply, gate; again with what failed, until something is kept.

It is the loop of `improve` with the gate as its policy: recorded in the store, limited and resumed as every loop. The
stages' files are written from its events, for those who read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import msgspec

from honestone.app.judging_options import JudgingOptions, make_panel
from honestone.app.loop import run_to_end
from honestone.app.stages.apply import applied_result, back_up, execution_file, is_half_delivered, only_one, recover
from honestone.app.stages.evaluate import (
    DEFAULT_TARGET,
    EvaluateSkillRequest,
    TaskRuns,
    TwoSides,
    evaluation_file,
    prepare_tasks,
    read_suite,
)
from honestone.app.stages.files import (
    D,
    SkillUnderEdit,
    StageFiles,
    document_of,
    edited,
    new_run_id,
    placed,
    plan_of,
    refuse_strangers,
    safe_name,
    skill_at,
    stamp,
    write_json,
)
from honestone.app.stages.gate import (
    DecisionFiles,
    is_vetoed,
    parked,
    receipt_file,
    receipt_name,
    record_decision,
    troubles,
)
from honestone.app.stages.propose import (
    HOURS,
    Proposal,
    SuiteTasks,
    candidates_file,
    failed_in,
    failed_try,
    make_stage_worker,
    others_in_words,
    read_occasion,
    read_sources,
    read_suite_tasks,
    without_hidden,
)
from honestone.app.stages.rank import edit_of, edit_seats, ranking_file, review
from honestone.core.artifact import Version
from honestone.core.contract import digest_json
from honestone.core.errors import FileError, Interrupted, UsageError
from honestone.core.events import (
    CandidateTried,
    Event,
    LimitReached,
    RunFinished,
    StageDone,
    StagesStarted,
    StartedArtifact,
    StartedSuite,
    total_spend,
)
from honestone.core.json_value import JsonObject as JsonMapping
from honestone.core.loop.actions import Ask, Propose
from honestone.core.loop.proposal import ProposalOutcome
from honestone.core.loop.state import LoopLimits, fold
from honestone.core.skill.brief import Occasion, write_skill_brief
from honestone.core.skill.evaluation import SkillVerdict
from honestone.core.skill.gate_layers import EXIT_OF, Decision, Evidence, pass_gate
from honestone.core.skill.plan import PlanError, apply_plan, plan_between
from honestone.core.skill.stage_loop import (
    EVALUATED,
    EXECUTED,
    GATED,
    PROPOSED,
    RANKED,
    TRACED,
    Gate,
    StageLoopState,
    end_of,
    new_state,
)
from honestone.core.spend import Spend
from honestone.engine.loop_runner import Judgement, LoopRunner
from honestone.engine.panel import Judged, Seat
from honestone.engine.place import Place, load_version, require_resumable, version_blobs
from honestone.formats.stage_files import (
    Candidates,
    Execution,
    JsonObject,
    Pipeline,
    PipelineTry,
    Ranking,
    Receipt,
    Rollback,
    ScoredCandidate,
    SkillEvaluation,
    SkillNamed,
    StageDocument,
    TracedTask,
    Traces,
)
from honestone.ports import Brief, Observer, Store
from honestone.system.files import printable

KIND = "stages"
ERROR = "error"

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

    body: Pipeline
    approve: str | None = None
    """The command that approves what waits for a person."""

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
    skill = skill_at(workspace, request.skill)
    with only_one(skill.folder), workspace.open_store() as store:
        files.refuse_inside(skill)
        if not store.lock(digest_json({"path": str(skill.root)})):
            raise UsageError(f"another process is working on the skill `{skill.named}`", hint="wait for it, or stop it")
        return _Run(request, files, recover(files, skill), store, observer).work()


# ------------------------------------------------------------------------------------------------- before it is spent


class _Run:
    """One `stage run`: everything is read and checked when it is made, before the first call."""

    def __init__(
        self, request: StageRunRequest, files: StageFiles, skill: SkillUnderEdit, store: Store, observer: Observer
    ) -> None:
        self._request = request
        self._files = files
        self._skill = skill
        self._store = store
        self._observer = observer
        names = ("mock",) if request.mock else request.judging.judges
        judging = replace(request.judging, judges=names)
        self._suite = read_suite(files.workspace, request.task_suite)
        self._evaluate = EvaluateSkillRequest(
            task_suite=request.task_suite,
            target=request.target or DEFAULT_TARGET,
            pass_k=request.pass_k,
            eval_threshold=0,
            mock=request.mock,
            # The limits are the loop's: what a side was judged by does not depend on them.
            judging=replace(judging, max_calls=None, max_usd=None, max_minutes=None),
        )
        self._occasion = Occasion(sources=read_sources(files.workspace, request.sources))
        self._worker = make_stage_worker(request.worker, skill, request.worker_timeout)
        self._seats = edit_seats(skill, judging)
        self._tasks = prepare_tasks(skill, self._evaluate, self._suite, observer)
        self._judging = judging

    def _identity(self) -> str:
        """What the run is known by: the same command resumes it, also with other limits."""
        return digest_json({"path": str(self._skill.root), **self._contract()})

    def _contract(self) -> JsonMapping:
        """What decides how the skill is edited and judged."""
        request = self._request
        return {
            "kind": KIND,
            "suite": [str(self._files.workspace.path(request.task_suite).resolve()), self._tasks.identity()],
            "worker": [request.worker, dict(self._worker.identity)],
            "target": "mock" if request.mock else self._evaluate.target,
            "judges": [seat.identity for seat in self._seats],
            "sources": [[printable(path), digest_json(self._read(path))] for path in request.sources],
            "numbers": [request.retries, request.candidates, request.pass_k],
        }

    def _read(self, path: Path) -> str:
        return self._files.workspace.path(path).read_text("utf-8", "replace")

    def _cost(self, limits: LoopLimits) -> str:
        """The most that a run can spend."""
        request, tasks = self._request, self._tasks.count
        tries, attempts = request.retries, request.pass_k
        runs, proposals = tasks * attempts * (tries + 1), tries * request.candidates
        said = (
            f"up to {_many(tasks, 'task')} x {_many(attempts, 'attempt')} x (baseline + {_many(tries, 'try', 'tries')}) = "
            f"{runs} agent runs of {self._tasks.target}; up to {_many(proposals, 'proposal')} by {self._worker.id}"
        )
        return f"{said}; at most {limits.calls} judge calls" if self._most_calls else said

    @property
    def _most_calls(self) -> int:
        """Every reply may have to be asked for twice."""
        tries = self._request.retries
        return 2 * (len(self._seats) * tries * self._request.candidates + self._tasks.judge_calls * (tries + 1))

    # ------------------------------------------------------------------------------------------------------ the run

    def work(self) -> PipelineRun:
        meter = self._judging.meter(self._files.workspace.settings, calls=self._most_calls, minutes=HOURS)
        limits = LoopLimits(rounds=self._request.retries, calls=meter.calls, minutes=meter.minutes, usd=meter.usd)
        self._observer.note(self._cost(limits))
        self._occasion = read_occasion(
            self._files,
            self._skill,
            self._request.sources,
            task_suite=self._request.task_suite,
            observer=self._observer,
        )
        run, log = self._resume() or self._start(limits)
        started, resumed = log[0], len(log) > 1
        assert isinstance(started, StagesStarted)
        state = fold(new_state(started.artifact.digest, limits), log[1:])
        state.limit = None  # what interrupted an earlier process is asked again
        skill = self._skill.with_version(load_version(self._store, started.artifact.digest))
        place = SkillPlace(path=skill.root, named=skill.named, skill=skill)
        if resumed:
            require_resumable(place, state, self._store, run)
            done = len(state.rounds)
            self._observer.note(f"resuming run {run} ({_many(done, 'try is', 'tries are')} on record)")
        meter.before, meter.seconds_before = total_spend(log), max(event.seconds or 0.0 for event in log)
        judgement = StageJudgement(
            files=self._files,
            skill=skill,
            occasion=replace(self._occasion, lessons=started.lessons),
            tasks=read_suite_tasks(self._files.workspace, self._request.task_suite),
            evaluate=self._evaluate,
            runs=self._tasks,
            seats=self._seats,
            judging=self._judging,
            worker=self._request.worker,
            mock=self._request.mock,
        )
        loop = LoopRunner(
            run=run,
            state=state,
            policy=Gate(candidates=self._request.candidates),
            judgement=judgement,
            place=place,
            worker=self._worker,
            store=self._store,
            meter=meter,
            observer=self._observer,
        )
        try:
            stop = run_to_end(loop.work, loop.close)
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; the same command resumes run {run}:", hint=None) from None
        ended = self._written(run, state, stop.reason, skill, resumed=resumed)
        if ended.decision == ERROR:
            self._observer.note("what is done is on record: run the same command to resume")
        else:
            # Last of all: a run that was killed before its document was written is resumed.
            self._store.finish_run(run, str(stop.result), RunFinished(result=str(stop.result), reason=stop.reason))
        return ended

    def _start(self, limits: LoopLimits) -> tuple[str, list[Event]]:
        skill, request = self._skill, self._request
        identity = self._identity()
        first = StagesStarted(
            contract=self._contract(),
            contract_id=identity,
            panel=tuple(seat.id for seat in self._seats),
            limits=asdict(limits),
            artifact=StartedArtifact(path=skill.named, digest=skill.version.digest, is_folder=True),
            suite=StartedSuite(path=printable(request.task_suite)),
            worker=request.worker,
            policy="gate",
            target=self._tasks.target,
            candidates=request.candidates,
            pass_k=request.pass_k,
            mock=request.mock,
            lessons=self._occasion.lessons,
        )
        self._store.keep_blobs(version_blobs(skill.version))
        run = self._store.start_run(
            kind=KIND, subject=str(skill.root), identity=identity, contract=identity, first=first
        )
        return run, [first]

    def _resume(self) -> tuple[str, list[Event]] | None:
        """The unfinished run of this command; with `--fresh` every unfinished one of the skill is closed."""
        same, subject = None, str(self._skill.root)
        unfinished = [
            one for one in self._store.runs() if one.kind == KIND and one.subject == subject and one.finished is None
        ]
        identity = self._identity()
        for info in unfinished:
            if info.identity == identity and not self._judging.fresh:
                same = info
                continue
            if not self._judging.fresh:
                self._require_delivered(info.id)
            why = "started over with --fresh" if self._judging.fresh else "another run of this skill was started"
            self._store.finish_run(info.id, "INTERRUPTED", RunFinished(result="INTERRUPTED", reason=why))
        return None if same is None else (same.id, self._store.events(same.id))

    def _require_delivered(self, run: str) -> None:
        if is_half_delivered(self._store.iter_events(run)):
            raise UsageError(
                f"`{self._skill.named}` holds half of an edit: run {run} is not finished",
                hint="run the command of that run again: it completes the edit; or start over with --fresh",
            )

    # ------------------------------------------------------------------------------------------------- the document

    def _written(
        self, run: str, state: StageLoopState, reason: str, skill: SkillUnderEdit, *, resumed: bool
    ) -> PipelineRun:
        path = self._files.output or self._files.folder(Pipeline.folder) / f"{safe_name(run)}.json"
        done = _pipeline(run, self._store.events(run), state, reason=reason, skill=skill.profile(), path=path)
        body = msgspec.structs.replace(done.body, resumed=resumed)
        write_json(path, msgspec.to_builtins(body))
        return replace(done, body=body)


def recorded_pipeline(files: StageFiles, store: Store, run: str) -> PipelineRun:
    """A run of all stages as its events tell it, finished or not."""
    log = store.events(run)
    started, last = log[0], log[-1]
    assert isinstance(started, StagesStarted)
    limits = {name: value for name, value in started.limits.items() if value is not None}
    state = fold(new_state(started.artifact.digest, msgspec.convert(limits, LoopLimits)), log[1:])
    reason = last.reason if isinstance(last, RunFinished) else state.limit or "it is not finished"
    if end_of(state) is None and state.limit is None:
        state.limit = reason
    path = files.folder(Pipeline.folder) / f"{safe_name(run)}.json"
    return _pipeline(run, log, state, reason=reason, skill=SkillNamed(path=started.artifact.path), path=path)


def _pipeline(
    run: str, log: Sequence[Event], state: StageLoopState, *, reason: str, skill: SkillNamed, path: Path
) -> PipelineRun:
    started = log[0]
    assert isinstance(started, StagesStarted)
    number = end_of(state) if state.limit is None else None
    last = None if number is None else _try(state, number)
    body = Pipeline(
        run=run,
        created_at=stamp(),
        skill=skill,
        task_suite=started.suite.path,
        decision=ERROR if last is None else last.decision,
        reason=reason,
        candidate_id=None if last is None else last.candidate_id,
        evaluation=last.evaluation if last else None,
        execution_pass_rate=last.execution_pass_rate if last else None,
        baseline_pass_rate=last.baseline_pass_rate if last else None,
        delta=last.delta if last else None,
        interval=last.interval if last else None,
        mock=started.mock,
        tries=[_try(state, one + 1) for one in range(len(state.rounds))],
        limits=asdict(state.limits),
        usage=dict(total_spend(log).to_plain()),
        truth_anchor=printable(path.absolute()),
    )
    approve = None
    if number is not None and body.decision == Decision.PENDING:
        request = _body(state, number, GATED, Receipt).human_review_request or {}
        approve = str(request.get("approve"))
    return PipelineRun(body=body, approve=approve)


def _many(count: int, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def _try(state: StageLoopState, number: int) -> PipelineTry:
    """One round as `honestone.pipeline/1` tells it."""
    entry = state.rounds[number - 1]
    paths = {
        name: None if (found := state.file_of(number, stage)) is None else found.path for name, stage in _PATHS.items()
    }
    ranking, evaluated = state.file_of(number, RANKED), state.file_of(number, EVALUATED)
    figures = None if evaluated is None else msgspec.convert(evaluated.document, SkillEvaluation)
    candidate = None
    if ranking is not None and entry.version is not None:
        candidate = _candidate(msgspec.convert(ranking.document, Ranking), entry.version)
    return PipelineTry(
        decision=str(state.decision(number)),
        reason=entry.reason,
        candidate_id=None if candidate is None else candidate.id,
        **paths,
        execution_pass_rate=figures.execution_pass_rate if figures else None,
        baseline_pass_rate=figures.baseline_pass_rate if figures else None,
        delta=figures.delta if figures else None,
        interval=figures.interval if figures else None,
    )


_PATHS = {
    "candidates": PROPOSED,
    "ranking": RANKED,
    "evaluation": EVALUATED,
    "execution": EXECUTED,
    "receipt": GATED,
    "traces": TRACED,
}


def _candidate(ranking: Ranking, version: str) -> ScoredCandidate:
    return next(one for one in ranking.scored_candidates if one.candidate_digest == version)


def _body(state: StageLoopState, number: int, stage: str, kind: type[D]) -> D:
    found = state.file_of(number, stage)
    assert found is not None
    return msgspec.convert(found.document, kind)


# ----------------------------------------------------------------------------------------------------------- the place


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillPlace(Place):
    """The skill's folder: hidden files, links and suites in it are not part of it."""

    skill: SkillUnderEdit

    def on_disk(self) -> Version:
        return self.skill.read_again().version

    def part(self, version: Version) -> Version:
        return without_hidden(version)

    def delivered(self, before: Version, after: Version) -> Version:
        try:
            return self.on_disk()
        except FileError:  # half delivered, without its SKILL.md
            return Place.delivered(self, before, after)

    def forbidden(self, before: Version, after: Version | None) -> list[str]:
        if after is None or after.digest == before.digest:
            return []
        try:
            plan = plan_between(before, after)
            refuse_strangers(plan, self.skill)
            apply_plan(plan, before)
        except PlanError as error:
            return [error.message]
        return []


# ------------------------------------------------------------------------------------------------------- the judgement


@dataclass(slots=True, kw_only=True)
class StageJudgement(Judgement[StageLoopState]):
    """The stages as the judgement of the loop. Every file is an event first: a kill in between loses none."""

    files: StageFiles
    skill: SkillUnderEdit
    occasion: Occasion
    tasks: SuiteTasks
    evaluate: EvaluateSkillRequest
    runs: TaskRuns
    seats: tuple[Seat, ...]
    judging: JudgingOptions
    worker: str
    mock: bool
    _made: list[Version] = field(default_factory=list)

    async def close(self) -> None:
        await self.runs.close()
        for seat in self.seats:
            await seat.judge.close()

    async def resume(self, loop: StageLoop) -> None:
        """Files that a killed process recorded and did not write, and what the last decision leaves for others."""
        for one in loop.state.files.values():
            if not Path(one.path).exists():
                write_json(Path(one.path), one.document)
        number = len(loop.state.rounds)
        if number and loop.state.file_of(number, GATED) is not None:
            self._record_decision(loop, number)

    def _write(
        self,
        loop: StageLoop,
        number: int,
        stage: str,
        body: StageDocument | Traces,
        name: str,
        spend: Spend | None = None,
        of_runs: Mapping[str, Spend] | None = None,
    ) -> None:
        path = (self.files.folder(body.folder) / f"{safe_name(name)}.json").absolute()
        if isinstance(body, StageDocument):
            document = document_of(placed(body, path))
        else:
            document = msgspec.to_builtins(
                msgspec.structs.replace(body, created_at=stamp(), truth_anchor=printable(path))
            )
        done = StageDone(round=number, stage=stage, path=printable(path), document=document)
        loop.record(replace(done, spend=spend or Spend(), of_runs=of_runs or {}))
        write_json(path, document)

    # -- proposing

    def brief(self, loop: StageLoop, action: Propose, place: Path, candidate: int) -> Brief:
        before = self.skill.version
        made = [loop.version(one.version) for one in loop.state.tried if one.version is not None]
        text = write_skill_brief(
            self._occasion(loop.state),
            location=str(place),
            name=self.skill.skill.name,
            number=candidate + 1,
            count=action.candidates,
            others=others_in_words(before, made),
        )
        return Brief(text=text, focus=action.focus, candidate=candidate)

    def _occasion(self, state: StageLoopState) -> Occasion:
        """What was known at the start, and what this run's tries have shown since."""
        tried = []
        failing = self.occasion.failing
        for number in range(1, len(state.rounds) + 1):
            traces, evaluation = state.file_of(number, TRACED), state.file_of(number, EVALUATED)
            if traces is not None:
                tried.append(failed_try(msgspec.convert(traces.document, Traces), self.tasks))
            if evaluation is not None:
                rows = msgspec.convert(evaluation.document, SkillEvaluation).baseline_results
                failing = tuple(self.tasks.shown(failed_in(rows)))
        return replace(self.occasion, failing=failing, tried=tuple(tried))

    def proposed(self, loop: StageLoop, action: Propose) -> None:
        """The candidates artifact, once for all that were proposed together."""
        number = loop.state.batch
        if (number, PROPOSED) in loop.state.files:
            return
        decided = {entry.version for entry in loop.state.rounds}
        found: list[Proposal] = []
        for one in loop.state.tried:
            version = one.version
            known = version in decided or version in {p.after.digest for p in found if p.after is not None}
            if version is None or one.outcome is not ProposalOutcome.CHANGED:
                found.append(Proposal(number=one.candidate, outcome=str(one.outcome), detail=one.detail))
            elif known:
                same = "the same bytes as a proposal before it"
                found.append(Proposal(number=one.candidate, outcome="duplicate", detail=same))
            else:
                found.append(
                    Proposal(number=one.candidate, outcome="changed", detail=None, after=loop.version(version))
                )
        spend = Spend(worker_calls=len(found))
        run_id = new_run_id(self.skill)
        body = candidates_file(self.skill, found, self._occasion(loop.state), self.worker, run_id=run_id)
        self._write(loop, number, PROPOSED, msgspec.structs.replace(body, usage=spend.to_plain()), run_id)

    def described(self, loop: StageLoop, tried: CandidateTried) -> JsonMapping:
        return {**Judgement.described(self, loop, tried), "detail": tried.detail}

    async def choose(self, loop: StageLoop, action: Propose, new: Sequence[CandidateTried]) -> CandidateTried | None:
        """The best candidate that is not decided yet; the ranking rejects a batch as a whole where none is worth a try."""
        state, number = loop.state, loop.state.batch
        if state.limit is not None:
            return None
        if state.files.get((number, RANKED)) is None and not await self._rank(loop, number):
            return None
        if not state.wanted:
            return self._reject_all(loop, number, new)
        version = next(one for one in state.wanted if state.decided(one) is None)
        return next(one for one in new if one.version == version)

    async def _rank(self, loop: StageLoop, number: int) -> bool:
        """False where a limit, or a panel without a reply, came first."""
        source = _body(loop.state, number, PROPOSED, Candidates)
        edits = [edit_of(one, self.skill) for one in source.candidates]
        reviews: dict[str, Judged] = {}
        if self.seats:
            panel = make_panel(self.seats, loop.store, loop.meter, self.judging)
            for edit in edits:
                loop.say(f"asking about {edit.id}")
                judged = await review(edit, self.skill, panel, self.occasion.lessons)
                reviews[edit.id] = judged
                if judged.refused is not None:
                    loop.reach_limit(LimitReached(reason=judged.refused, spend=_sum(reviews)))
                    return False
        anchor = source.truth_anchor
        body = ranking_file(source, anchor, edits, reviews, self.seats, mock=self.mock)
        dead = all("panel_unavailable" in one.blockers for one in body.scored_candidates)
        if dead and body.scored_candidates:
            blockers = ", ".join(map(str, body.scored_candidates[0].blockers))
            why = f"no judge could be asked about the candidates: {blockers}"
            loop.reach_limit(LimitReached(reason=why, spend=_sum(reviews)))
            return False
        self._write(loop, number, RANKED, body, source.run_id, _sum(reviews))
        return True

    def _reject_all(self, loop: StageLoop, number: int, new: Sequence[CandidateTried]) -> CandidateTried:
        ranking = _body(loop.state, number, RANKED, Ranking)
        best = ranking.scored_candidates[0]
        reason = f"the ranking rejects it: {', '.join(map(str, best.blockers)) or 'no reason given'}"
        if loop.state.file_of(number, TRACED) is None:
            notes = "; ".join(best.judge_notes)
            self._trace(loop, number, ranking, best, f"{reason} ({notes})" if notes else reason, None)
        return next((one for one in new if one.version == best.candidate_digest), new[0])

    # -- judging

    async def ask(self, loop: StageLoop, action: Ask) -> None:
        """Evaluate the candidate and have the gate decide; what an earlier process recorded is not done again."""
        number, state = len(loop.state.rounds), loop.state
        ranking = _body(state, number, RANKED, Ranking)
        candidate, after = _candidate(ranking, action.version), loop.version(action.version)
        found = troubles(self.skill.version, after)
        evaluation = None
        if not found:
            try:
                if state.file_of(number, EVALUATED) is None and not await self._evaluate(
                    loop, number, ranking, candidate
                ):
                    return
            except PlanError as problem:
                self._trace(loop, number, ranking, candidate, problem.message, None)
                return
            evaluation = _body(state, number, EVALUATED, SkillEvaluation)
        self._gate(loop, number, ranking, candidate, evaluation)

    async def _evaluate(self, loop: StageLoop, number: int, ranking: Ranking, candidate: ScoredCandidate) -> bool:
        """False where a limit came first, or agents and judges could not work: that is not a try."""
        file = loop.state.file_of(number, RANKED)
        assert file is not None
        asked = TwoSides(
            run_id=ranking.run_id,
            skill=self.skill,
            after=edited(candidate, self.skill),
            before=self.skill.version,
            candidate=candidate,
            ranking=file.path,
        )
        if loop.out_of_budget():
            return False
        fresh = self.judging.fresh and not any(stage == EVALUATED for _, stage in loop.state.files)
        known = _known_spend(loop.store.events(loop.run))
        done = await self.runs.compare(loop.store, loop.meter, asked, fresh=fresh, known=known)
        loop.meter.counted(done.spend)
        if done.report is None:
            limit = loop.meter.exhausted() or loop.meter.no_call_left()
            why = limit or "a limit came before every task was run"
            loop.reach_limit(LimitReached(reason=why, spend=done.spend, of_runs=done.runs))
            return False
        suite = self.runs.source
        body = evaluation_file(asked, self.evaluate, suite, done.report)
        if body.verdict == SkillVerdict.ERROR:
            why = f"the evaluation could not be made: {body.reason}"
            loop.reach_limit(LimitReached(reason=why, spend=done.spend, of_runs=done.runs))
            return False
        self._write(loop, number, EVALUATED, body, f"{ranking.run_id}-{candidate.id}", done.spend, done.runs)
        return True

    def _gate(
        self,
        loop: StageLoop,
        number: int,
        ranking: Ranking,
        candidate: ScoredCandidate,
        evaluation: SkillEvaluation | None,
    ) -> None:
        """Execution, traces and receipt, the receipt last: it decides the round."""
        state, before = loop.state, self.skill.version
        after = edited(candidate, self.skill)
        name = f"{ranking.run_id}-{candidate.id}"
        if state.file_of(number, EXECUTED) is None:
            place = Path(safe_name(ranking.run_id), safe_name(candidate.id))
            pointer = back_up(self.files, self.skill, _changed(before, after), place)
            result = applied_result(self.skill, plan_of(candidate, self.skill), after, pointer)
            raw: JsonObject = msgspec.to_builtins(candidate)
            body = execution_file(ranking, ranking.truth_anchor, candidate, raw, result)
            self._write(loop, number, EXECUTED, body, name)
        execution = _body(state, number, EXECUTED, Execution)
        evidence = self._evidence(state, number, candidate, after)
        result_of_gate = pass_gate(evidence)
        decision = result_of_gate.decision
        if decision in (Decision.REVERT, Decision.REJECT) and state.file_of(number, TRACED) is None:
            self._trace(loop, number, ranking, candidate, result_of_gate.reason, evaluation)
        anchors = DecisionFiles(
            ranking=ranking.truth_anchor,
            execution=execution.truth_anchor,
            evaluation=None if evaluation is None else evaluation.truth_anchor,
        )
        rollback = Rollback(attempted=False, success=True, reason="never_put_in_place")
        if decision is Decision.KEEP:
            rollback = Rollback(attempted=False, success=False, reason="not_needed")
        receipt = receipt_file(self.files, ranking, evidence, result_of_gate, rollback, anchors)
        self._write(loop, number, GATED, receipt, receipt_name(receipt))
        self._record_decision(loop, number)
        loop.observer.note(f"try {number}: {decision}, {result_of_gate.reason}")

    def _evidence(self, state: StageLoopState, number: int, candidate: ScoredCandidate, after: Version) -> Evidence:
        ranking, execution = state.file_of(number, RANKED), state.file_of(number, EXECUTED)
        evaluation = state.file_of(number, EVALUATED)
        assert ranking is not None and execution is not None
        return Evidence(
            candidate_id=candidate.id,
            ranking=ranking.document,
            execution=execution.document,
            evaluation=None if evaluation is None else evaluation.document,
            ranked=msgspec.to_builtins(candidate),
            before=self.skill.version,
            after=after,
            troubles=troubles(self.skill.version, after),
            is_vetoed=is_vetoed(self.files, self.skill, after),
        )

    def _record_decision(self, loop: StageLoop, number: int) -> None:
        state = loop.state
        receipt, entry = _body(state, number, GATED, Receipt), None
        if receipt.decision == Decision.PENDING:
            ranking = _body(state, number, RANKED, Ranking)
            version = state.rounds[number - 1].version or ""
            evidence = self._evidence(state, number, _candidate(ranking, version), loop.version(version))
            entry = parked(self.skill, evidence, pass_gate(evidence), run_id=receipt.run_id, lane=receipt.lane)
        record_decision(self.files, receipt, entry, self.skill)

    def _trace(
        self,
        loop: StageLoop,
        number: int,
        ranking: Ranking,
        candidate: ScoredCandidate,
        reason: str,
        evaluation: SkillEvaluation | None,
    ) -> None:
        """What the next proposal is shown of a try that was put back; never anything of the test split."""
        broken = set(evaluation.regressions) if evaluation is not None else set()
        failed = self.tasks.shown(failed_in(evaluation.candidate_results)) if evaluation is not None else []
        failed.sort(key=lambda one: one.task_id not in broken)  # what it broke comes first
        body = Traces(
            run_id=ranking.run_id,
            candidate_id=candidate.id,
            candidate_digest=candidate.candidate_digest,
            reason=reason,
            failed_tasks=[
                TracedTask(
                    task_id=one.task_id, prompt=one.prompt, details=one.details, passed_before=one.task_id in broken
                )
                for one in failed
            ],
            failed_category=candidate.category,
            scores_before=None if evaluation is None else evaluation.baseline_pass_rate,
            scores_after=None if evaluation is None else evaluation.execution_pass_rate,
        )
        self._write(loop, number, TRACED, body, f"{ranking.run_id}-{candidate.id}")


def _sum(reviews: Mapping[str, Judged]) -> Spend:
    spend = Spend()
    for one in reviews.values():
        spend.join(one.spend)
    return spend


def _known_spend(log: Sequence[Event]) -> dict[str, Spend]:
    """What the loop has counted of the runs of a suite, by run."""
    known: dict[str, Spend] = {}
    for event in log:
        if isinstance(event, StageDone | LimitReached):
            for run, spend in event.of_runs.items():
                known.setdefault(run, Spend()).join(spend)
    return known


def _changed(before: Version, after: Version) -> list[str]:
    from honestone.core.skill.risk import touched

    return touched(before, after)
