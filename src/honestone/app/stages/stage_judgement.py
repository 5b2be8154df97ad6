"""The stages of one try: candidates are ranked, the best is evaluated, and the gate decides."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from honestone.app.judging.judging_options import JudgingOptions, make_panel
from honestone.app.stages import evaluate, gate
from honestone.app.stages.apply import applied_result, back_up, execution_file
from honestone.app.stages.edit_brief import SuiteTasks, failed_in, failed_try
from honestone.app.stages.file_troubles import troubles
from honestone.app.stages.files import (
    D,
    SkillUnderEdit,
    StageFiles,
    safe_name,
    stamped,
    write_json,
)
from honestone.app.stages.propose import Proposal, candidates_file, skill_brief, without_hidden
from honestone.app.stages.rank import edit_of, ranking_file, review
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
from honestone.core import events
from honestone.core.artifact import Version
from honestone.core.editing.proposal import ProposalOutcome, touched
from honestone.core.errors import FileError
from honestone.core.events import CandidateTried, Event, LimitReached, RecordedCandidate, StageDone
from honestone.core.judging.spend import Meter, Spend
from honestone.core.loop.state import Ask, Propose
from honestone.core.skill.brief import EditBrief
from honestone.core.skill.evaluation import SkillVerdict
from honestone.core.skill.gate_layers import Decision, Evidence, pass_gate
from honestone.core.skill.plan import PlanError
from honestone.engine.judging.evaluator import Judged
from honestone.engine.judging.seats import Seat
from honestone.engine.loop_runner import Judgement, LoopRunner
from honestone.engine.place import Place, load_version
from honestone.formats import stage_files as doc
from honestone.ports import Brief, Store
from honestone.system.files import printable
from honestone.system.trust.judging_files import JudgingFiles

StageLoop: TypeAlias = LoopRunner[StageLoopState]


def version_tried(state: StageLoopState, number: int, version: str) -> _Tried:
    ranking = stage_body(state, number, RANKED, doc.Ranking)
    return _Tried(
        number,
        ranking,
        next(one for one in ranking.scored_candidates if one.candidate_digest == version),
    )


def stage_body(state: StageLoopState, number: int, stage: str, kind: type[D]) -> D:
    file = state.file_of(number, stage)
    assert file is not None
    return msgspec.convert(file.document, kind)


class SkillPlace(Place, frozen=True, kw_only=True):
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
            return super().delivered(before, after)

    def forbidden(self, before: Version, after: Version | None) -> list[str]:
        if after is None or after.digest == before.digest:
            return []
        try:
            self.skill.with_version(before).require_plan_to(after)
        except PlanError as error:
            return [error.message]
        return []


class _Tried(Struct, frozen=True):
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
    tasks: SuiteTasks
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
        return dataclasses.replace(  # noqa: TID251
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
        return skill_brief(self.skill, edit_brief, place, candidate + 1, action.candidates, made)

    def _edit_brief(self, state: StageLoopState) -> EditBrief:
        """What was known at the start, and what this run's tries have shown since."""
        tried = []
        failing = self.edit_brief.failing
        for number in range(1, len(state.rounds) + 1):
            traces, evaluation = state.file_of(number, TRACED), state.file_of(number, EVALUATED)
            if traces is not None:
                tried.append(failed_try(msgspec.convert(traces.document, doc.Traces), self.tasks))
            if evaluation is not None:
                rows = msgspec.convert(evaluation.document, doc.SkillEvaluation).baseline_results
                failing = tuple(self.tasks.shown(failed_in(rows)))
        return replace(self.edit_brief, failing=failing, tried=tuple(tried))

    async def proposed(self, loop: StageLoop, action: Propose) -> None:
        """The candidates artifact, once for all that were proposed together."""
        number = loop.state.batch
        if (number, PROPOSED) in loop.state.files:
            return
        versions = {entry.version for entry in loop.state.rounds}
        proposals: list[Proposal] = []
        for one in loop.state.tried:
            made = Proposal(number=one.candidate, outcome=str(one.outcome), detail=one.detail)
            if one.version in versions and one.outcome is ProposalOutcome.CHANGED:
                made = replace(
                    made, outcome="duplicate", detail="the same bytes as a proposal before it"
                )
            elif one.version is not None and one.outcome is ProposalOutcome.CHANGED:
                versions.add(one.version)
                made = replace(made, detail=None, after=loop.version(one.version))
            proposals.append(made)
        run_id, spend = (
            self.skill.new_run_id(),
            Spend(worker_calls=sum(one.spend.worker_calls for one in loop.state.tried)),
        )
        body = candidates_file(
            self.skill, proposals, self._edit_brief(loop.state), self.worker, run_id=run_id
        )
        await self._write(
            loop, number, PROPOSED, msgspec.structs.replace(body, usage=spend.to_plain()), run_id
        )

    def described(self, loop: StageLoop, tried: CandidateTried) -> RecordedCandidate:
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
        version = next(one for one in state.wanted if state.rounds.decided(one) is None)
        return next(one for one in new if one.version == version)

    async def _rank(self, loop: StageLoop, number: int) -> bool:
        """False where a limit, or a panel without a reply, came first."""
        source = stage_body(loop.state, number, PROPOSED, doc.Candidates)
        edits = [edit_of(one, self.skill) for one in source.candidates]
        reviews: dict[str, Judged] = {}
        if self.seats:
            panel = make_panel(self.seats, loop.store, loop.meter, self.judging)
            for edit in edits:
                loop.say(f"asking about {edit.id}")
                judged = await review(edit, self.skill, panel, self.edit_brief.lessons)
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
        body = ranking_file(source, edits, reviews, self.seats, mock=self.mock)
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
        ranking = stage_body(loop.state, number, RANKED, doc.Ranking)
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
        tried, after = version_tried(state, number, action.version), loop.version(action.version)
        evaluation = None
        if not troubles(self.skill.version, after):
            try:
                if state.file_of(number, EVALUATED) is None and not await self._evaluate(
                    loop, tried
                ):
                    return
            except PlanError as problem:
                await self._trace(loop, tried, problem.message, None)
                return
            evaluation = stage_body(state, number, EVALUATED, doc.SkillEvaluation)
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
        counted = _known_spend(loop.store.events(loop.run))
        done = await evaluate.compare_sides(
            self.plan, request, asked, loop.store, loop.meter, loop.observer, known=counted
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
            pointer = back_up(self.files, self.skill, touched(before, after), place)
            result = applied_result(self.skill, self.skill.plan_of(candidate), after, pointer)
            body = execution_file(ranking, candidate, msgspec.to_builtins(candidate), result)
            await self._write(loop, number, EXECUTED, body, tried.name)
        execution = stage_body(state, number, EXECUTED, doc.Execution)
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
        receipt, entry = stage_body(state, number, GATED, doc.Receipt), None
        if receipt.decision == Decision.PENDING:
            version = state.rounds[number - 1].version or ""
            evidence = self._evidence(
                state, version_tried(state, number, version), loop.version(version)
            )
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
            self.tasks.shown(failed_in(evaluation.candidate_results))
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
    spends: dict[str, Spend] = {}
    for event in log:
        if isinstance(event, StageDone | LimitReached):
            for run, spend in event.of_runs.items():
                spends.setdefault(run, Spend()).join(spend)
    return spends
