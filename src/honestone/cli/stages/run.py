"""`honestone stage run`: propose, rank, evaluate, apply, gate; again with what failed, until something is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.stages.options import stage_files, stage_options
from honestone.core.skill.evaluation import SkillVerdict
from honestone.core.skill.gate_layers import Decision
from honestone.core.skill.panel_label import Recommendation
from honestone.core.skill.plan import PlanError, apply_plan
from honestone.core.skill.stage_file import EVALUATED, EXECUTED, GATED, PROPOSED, RANKED, TRACES_FOLDER

if TYPE_CHECKING:
    from honestone.app.stages.files import Artifact, StageFiles, Target
    from honestone.app.stages.resume import RunRecord
    from honestone.cli.progress import Progress

PIPELINE = "honestone.pipeline/1"
ERROR = "error"
_FIGURES = ("execution_pass_rate", "baseline_pass_rate", "delta", "interval")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a run is asked for, as given."""

    skill: Path
    task_suite: Path
    worker: str
    target: str
    judges: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()
    retries: int = 3
    candidates: int = 1
    pass_k: int = 1
    mock: bool = False
    fresh: bool = False
    worker_timeout: float | None = None


@click.command("run", short_help="All of it, up to three tries.")
@click.argument("skill", type=shared.PATH)
@click.option("--task-suite", type=shared.PATH, required=True, metavar="SUITE", help="The tasks that decide.")
@click.option("--worker", required=True, metavar="WORKER", help="Who edits: cmd:COMMAND, an agent CLI, ...")
@click.option("--target", default=None, metavar="TARGET", help="The agent that does the tasks. [claude]")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="JUDGE",
    help="Who scores candidates and judges llm-rubric tasks; repeat for a panel.",
)
@click.option(
    "--retries", type=click.IntRange(1, 50), default=3, show_default=True, help="Candidates that are tried at most."
)
@click.option(
    "--candidates",
    type=click.IntRange(1, 20),
    default=1,
    show_default=True,
    help="Edits to ask for at a time; the best accepted one is tried first.",
)
@click.option(
    "--source", "sources", type=shared.PATH, multiple=True, metavar="FILE", help="Feedback or notes to learn from."
)
@click.option("--pass-k", type=click.IntRange(1, 100), default=1, show_default=True, help="Attempts at each task.")
@click.option("--mock", is_flag=True, help="Run no agent and ask no judge; then nothing is kept.")
@click.option("--fresh", is_flag=True, help="Start over, and ask the baseline anew.")
@click.option("--worker-timeout", type=shared.Amount(min=0, min_open=True), default=None, metavar="SECONDS")
@stage_options
def run_command(
    state_root: Path | None, output: Path | None, as_json: bool, quiet: bool, target: str | None, **asked: Any
) -> int:
    """Improve a skill by what real tasks show. A candidate is tried on the tasks and kept only if the gate lets it; each
    that is put back is told to the worker with what failed. Every try starts from the original bytes.

    The same command goes on with a run that was stopped.

    \b
    Exit codes: 0 keep, 1 revert or reject, 3 pending_promote or error, 2 usage.
    """
    from honestone.cli.printing import dump, write
    from honestone.cli.progress import Progress
    from honestone.cli.stages.evaluate import DEFAULT_TARGET
    from honestone.report.draw import clean

    options = RunOptions(target=target or DEFAULT_TARGET, **asked)
    with Progress(quiet=quiet) as progress:
        document = run(options, stage_files(state_root, output), progress)
    if as_json:
        write(dump(document) + "\n")
    else:
        for line in pipeline_lines(document):
            write(clean(line) + "\n")
    return exit_code_of(document["decision"])


def exit_code_of(decision: str) -> int:
    from honestone.core.skill.gate_layers import EXIT_OF

    return 3 if decision == ERROR else EXIT_OF[Decision(decision)]


def pipeline_lines(document: Mapping[str, Any]) -> list[str]:
    lines = []
    for number, one in enumerate(document["tries"], start=1):
        lines.append(f"try {number}: {one['candidate_id'] or 'no candidate'}: {one['decision']}, {one['reason']}")
    lines.append(f"{document['decision']}: {document['reason']}")
    if document["decision"] == Decision.PENDING:
        receipt = json.loads(Path(document["tries"][-1]["receipt"]).read_text("utf-8"))
        lines.append(f"approve it with: {receipt['human_review_request']['approve']}")
    return [*lines, document["truth_anchor"]]


def run(options: RunOptions, files: StageFiles, progress: Progress) -> dict[str, Any]:
    """All stages of one skill; gives `honestone.pipeline/1` and writes it.

    Raises UsageError before anything is spent, and where another run works on this skill.
    """
    from honestone.app.stages.files import new_run_id, refuse_inside, target_at
    from honestone.app.stages.resume import open_record
    from honestone.app.stages.state import only_one

    found = target_at(options.skill)
    with only_one(found.folder):
        refuse_inside(files, found)
        cost, identity = _look_ahead(options, found)
        record = open_record(files, found, identity=identity, run=lambda: new_run_id(found), fresh=options.fresh)
        progress.note(cost)
        if record.goes_on:
            progress.note(f"going on with run {record.id}: {len(record.steps)} stages are done already")
        pipeline = _Pipeline(options=options, files=files, progress=progress, record=record)
        end = pipeline.run()
        document = _write(pipeline, end, files)
        if end.decision == ERROR:
            progress.note("what is done is on record: the same command goes on when that is mended")
        else:
            record.finish()
    return document


# ------------------------------------------------------------------------------------------------- before it is spent


def _look_ahead(options: RunOptions, skill: Target) -> tuple[str, str]:
    """Everything read and checked once, before the first call: what it may cost, and what the run is known by."""
    from honestone.app.quiet import Quiet
    from honestone.app.setup import judging_defaults
    from honestone.app.stages.proposal_input import read_sources
    from honestone.app.suites.plan import SuiteRequest, plan_suite
    from honestone.app.suites.subject import SuiteSubject
    from honestone.cli.stages.propose import make_stage_worker
    from honestone.cli.workspace import here
    from honestone.core.contract import digest_json
    from honestone.core.errors import FileError
    from honestone.system.files import printable

    if not options.task_suite.exists():
        raise FileError(
            f"Task suite not found: {printable(options.task_suite)}",
            hint="name a task_suite.yaml; `honestone suite new --from SKILL` drafts one",
        )
    read_sources(options.sources)
    worker = make_stage_worker(options.worker, skill, options.worker_timeout)
    agent = "mock" if options.mock else options.target
    names = ("mock",) if options.mock else options.judges
    request = SuiteRequest(
        suite=options.task_suite,
        judging=judging_defaults(judges=names),
        subject=SuiteSubject.of_skill(skill.named, skill.skill),
        target=agent,
        attempts=options.pass_k,
        attempt_rule="pass@k",
        mock=options.mock,
    )
    plan = plan_suite(here(), request, Quiet())
    _require_judges(names)
    tasks = [case for case in plan.chosen if case.skip is None]
    judged = sum(1 for case in tasks if case.rubric.asks_judges)
    cost = cost_line(options, tasks=len(tasks), judged=judged, agent=agent, worker=worker.id, judges=len(names))
    identity = digest_json(
        {
            "suite": [str(options.task_suite.resolve()), plan.identity(SuiteSubject.without_skill(), plan.chosen)],
            "worker": [options.worker, dict(worker.identity)],
            "target": agent,
            "judges": list(names),
            "sources": [[str(path), path.read_text("utf-8", "replace")] for path in options.sources],
            "numbers": [options.retries, options.candidates, options.pass_k],
        }
    )
    return cost, identity


def _require_judges(names: Sequence[str]) -> None:
    """Raises for a judge that cannot be: also where no task needs one, the ranking asks them."""
    from honestone.app.setup import judging_defaults, make_context, make_seats, settings_here

    if names:
        make_seats(tuple(names), make_context(judging_defaults(judges=tuple(names)), settings_here()))


def cost_line(options: RunOptions, *, tasks: int, judged: int, agent: str, worker: str, judges: int) -> str:
    """The most that a run can spend."""
    tries, attempts = options.retries, options.pass_k
    runs = tasks * attempts * (tries + 1)
    proposals = tries * options.candidates
    said = (
        f"up to {_many(tasks, 'task')} x {_many(attempts, 'attempt')} x (baseline + {_many(tries, 'try', 'tries')}) = "
        f"{runs} agent runs of {agent}; up to {_many(proposals, 'proposal')} by {worker}"
    )
    calls = 2 * judges * (proposals + judged * attempts * (tries + 1))
    return f"{said}; at most {calls} judge calls" if calls else said


def _many(count: int, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


# ----------------------------------------------------------------------------------------------------------- the loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One candidate and what became of it. Paths are None where that stage was not reached."""

    decision: str
    reason: str
    candidate_id: str | None = None
    candidates: str | None = None
    ranking: str | None = None
    evaluation: str | None = None
    execution: str | None = None
    receipt: str | None = None
    traces: str | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        return {
            "decision": self.decision,
            "reason": self.reason,
            "candidate_id": self.candidate_id,
            "candidates": self.candidates,
            "ranking": self.ranking,
            "evaluation": self.evaluation,
            "execution": self.execution,
            "receipt": self.receipt,
            "traces": self.traces,
            **{name: self.figures.get(name) for name in _FIGURES},
        }


@dataclass(kw_only=True)
class _Pipeline:
    """The loop over tries. It decides by artifacts alone, so that the same artifacts lead to the same place again."""

    options: RunOptions
    files: StageFiles
    progress: Progress
    record: RunRecord
    tries: list[Try] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    usage: list[Mapping[str, Any]] = field(default_factory=list)

    def run(self) -> Try:
        """The try that the run ended with, or an error, which is no try."""
        proposal = 0
        while len(self.tries) < self.options.retries:
            proposal += 1
            end = self._round(proposal)
            if end is not None:
                return end
        reverted = [one for one in self.tries if one.decision == Decision.REVERT]
        return (reverted or self.tries)[-1]

    def _round(self, number: int) -> Try | None:
        """One proposal and its candidates, best first. None where all were put back."""
        inner = self.files.without_output()
        proposed = self.record.step(
            f"propose {number}",
            PROPOSED,
            lambda: self._propose(inner),
            is_final=lambda found: found["status"] == "success",
        )
        self._spent(proposed)
        paths: dict[str, Any] = {"candidates": str(proposed.path)}
        if proposed.document["status"] != "success":
            return Try(decision=ERROR, reason=_no_candidate(proposed), **paths)
        if not proposed.document["candidates"]:
            self.tries.append(Try(decision=Decision.REJECT, reason=_no_candidate(proposed), **paths))
            return None
        ranked = self.record.step(
            f"rank {number}", RANKED, lambda: self._rank(proposed, inner), is_final=lambda found: not _is_dead(found)
        )
        self._spent(ranked)
        paths["ranking"] = str(ranked.path)
        scored = ranked.document["scored_candidates"]
        self.tried.update(one["candidate_digest"] for one in scored if one.get("candidate_digest"))
        wanted = in_order(scored)
        if _is_dead(ranked.document):
            why = "no judge could be asked about the candidates: " + ", ".join(map(str, scored[0]["blockers"]))
            return Try(decision=ERROR, reason=why, **paths)
        if not wanted:
            best = scored[0]
            reason = f"the ranking rejects it: {', '.join(map(str, best['blockers'])) or 'no reason given'}"
            notes = "; ".join(map(str, best.get("judge_notes") or []))
            traces = self._trace(number, ranked, best, f"{reason} ({notes})" if notes else reason, None)
            self.tries.append(
                Try(decision=Decision.REJECT, reason=reason, candidate_id=best["id"], traces=traces, **paths)
            )
            return None
        for candidate in wanted[: self.options.retries - len(self.tries)]:
            done = self._try(number, ranked, candidate, paths)
            if done.decision == ERROR:
                return done
            self.tries.append(done)
            self.progress.note(f"try {len(self.tries)}: {done.decision}, {done.reason}")
            if done.decision in (Decision.KEEP, Decision.PENDING):
                return done
        return None

    def _propose(self, files: StageFiles) -> dict[str, Any]:
        from honestone.cli.stages.propose import propose

        options = self.options
        return propose(
            self.record.target,
            options.worker,
            files,
            progress=self.progress,
            candidates=options.candidates,
            sources=options.sources,
            traces=[Path(one.traces) for one in self.tries if one.traces is not None],
            task_suite=options.task_suite,
            tried=self.tried,
            worker_timeout=options.worker_timeout,
        )

    def _rank(self, proposed: Artifact, files: StageFiles) -> dict[str, Any]:
        from honestone.cli.stages.rank import rank

        return rank(proposed, files, progress=self.progress, judges=self.options.judges, mock=self.options.mock)

    def _try(self, number: int, ranked: Artifact, candidate: Mapping[str, Any], paths: Mapping[str, Any]) -> Try:
        """Evaluate, apply and gate one candidate."""
        from honestone.cli.stages.apply import apply
        from honestone.cli.stages.gate import gate

        name, key, inner = candidate["id"], f"{number} {candidate['id']}", self.files.without_output()
        try:
            evaluation = self._examine(key, ranked, candidate)
        except PlanError as problem:
            told = self._trace(number, ranked, candidate, problem.message, None)
            return Try(decision=Decision.REJECT, reason=problem.message, candidate_id=name, traces=told, **paths)
        figures: Mapping[str, Any] = {} if evaluation is None else evaluation.document
        evaluated = None if evaluation is None else str(evaluation.path)
        if evaluation is not None:
            self._spent(evaluation)
        if figures.get("verdict") == SkillVerdict.ERROR:
            return Try(
                decision=ERROR,
                reason=f"the evaluation could not be made: {figures.get('reason')}",
                candidate_id=name,
                evaluation=evaluated,
                figures=figures,
                **paths,
            )
        executed = self.record.step(f"apply {key}", EXECUTED, lambda: apply(ranked, name, inner))
        receipt = self.record.step(f"gate {key}", GATED, lambda: gate(ranked, executed, evaluation, inner))
        decision, reason = receipt.document["decision"], receipt.document["reason"]
        traces: str | None = None
        if decision in (Decision.REVERT, Decision.REJECT):
            traces = self._trace(number, ranked, candidate, reason, evaluation)
        return Try(
            decision=decision,
            reason=reason,
            candidate_id=name,
            evaluation=evaluated,
            execution=str(executed.path),
            receipt=str(receipt.path),
            traces=traces,
            figures=figures,
            **paths,
        )

    def _examine(self, key: str, ranked: Artifact, candidate: Mapping[str, Any]) -> Artifact | None:
        """A candidate's evaluation; None where none is worth it: what does not compile is put back anyway."""
        from honestone.app.stages.compile import troubles
        from honestone.app.stages.files import plan_of

        if f"apply {key}" in self.record.steps:  # an earlier process did; the skill may hold the candidate now
            return self.record.known(f"evaluate {key}", EVALUATED)
        before = self.record.target.version
        after = apply_plan(plan_of(candidate, self.record.target), before)
        if troubles(before, after):
            evaluation = None
        else:
            evaluation = self._evaluate(key, ranked, candidate["id"], self.files.without_output())
        self.record.will_apply(after)
        return evaluation

    def _evaluate(self, key: str, ranked: Artifact, name: str, files: StageFiles) -> Artifact:
        from honestone.cli.stages.evaluate import evaluate

        options = self.options
        return self.record.step(
            f"evaluate {key}",
            EVALUATED,
            lambda: evaluate(
                task_suite=options.task_suite,
                files=files,
                progress=self.progress,
                input=ranked.path,
                candidate_id=name,
                target=options.target,
                judges=options.judges,
                pass_k=options.pass_k,
                eval_threshold=0,
                mock=options.mock,
                fresh=options.fresh and not self.tries,
            ),
            is_final=lambda document: document["verdict"] != SkillVerdict.ERROR,
        )

    def _trace(
        self, number: int, ranked: Artifact, candidate: Mapping[str, Any], reason: str, evaluation: Artifact | None
    ) -> str:
        """What the next proposal is told of a try that was put back; never anything of the test split."""
        from honestone.app.stages.files import reserve, safe_name, stamp, write_json
        from honestone.system.files import printable

        key = f"trace {number} {candidate['id']}"
        if key in self.record.steps:
            return self.record.steps[key]
        found = {} if evaluation is None else evaluation.document
        path = reserve(self.files.folder(TRACES_FOLDER), safe_name(f"{ranked.run_id}-{candidate['id']}")).absolute()
        write_json(
            path,
            {
                "type": "failure_trace",
                "run_id": ranked.run_id,
                "candidate_id": candidate["id"],
                **({"candidate_digest": digest} if (digest := candidate.get("candidate_digest")) else {}),
                "reason": reason,
                "failed_tasks": self._failed_tasks(found),
                "failed_dimension": None,
                "failed_category": candidate.get("category"),
                "scores_before": found.get("baseline_pass_rate"),
                "scores_after": found.get("execution_pass_rate"),
                "created_at": stamp(),
                "truth_anchor": printable(path),
            },
        )
        self.record.note(key, str(path))
        return str(path)

    def _failed_tasks(self, evaluation: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The tasks that the candidate failed; those that it broke come first."""
        from honestone.app.stages.proposal_input import failed_in, read_suite_tasks

        tasks = read_suite_tasks(self.options.task_suite)
        broken = set(evaluation.get("regressions") or [])
        failed = [
            one
            for one in failed_in(evaluation.get("candidate_results"), tasks.prompts)
            if one.task_id not in tasks.hidden
        ]
        failed.sort(key=lambda one: one.task_id not in broken)
        return [
            {
                "task_id": one.task_id,
                "prompt": one.prompt,
                "details": one.details,
                "passed_before": one.task_id in broken,
            }
            for one in failed
        ]

    def _spent(self, artifact: Artifact) -> None:
        usage = artifact.document.get("usage")
        if isinstance(usage, Mapping):
            self.usage.append(usage)


def in_order(scored: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What is worth trying: accepted ones first, best score first, then those that a person will decide about."""
    accepted = [one for one in scored if one["recommendation"] == Recommendation.ACCEPT]
    return accepted + [one for one in scored if one["recommendation"] == Recommendation.HOLD]


def _is_dead(ranking: Mapping[str, Any]) -> bool:
    """Whether no judge could be asked about any candidate: nothing was judged."""
    return all("panel_unavailable" in one["blockers"] for one in ranking["scored_candidates"])


def _no_candidate(proposed: Artifact) -> str:
    found = [f"{one['outcome']}, {one['detail']}" for one in proposed.document.get("rejected_proposals") or []]
    return f"no candidate was proposed: {'; '.join(found) or 'the worker gave nothing'}"


def _write(pipeline: _Pipeline, end: Try, files: StageFiles) -> dict[str, Any]:
    from honestone.app.stages.files import reserve, safe_name, stamp, target_profile, write_json
    from honestone.system.files import printable

    run_id = pipeline.record.id
    path = (files.output or reserve(files.folder("pipelines"), safe_name(run_id))).absolute()
    document = {
        "schema": PIPELINE,
        "run": run_id,
        "created_at": stamp(),
        "skill": target_profile(pipeline.record.target),
        "task_suite": printable(pipeline.options.task_suite),
        "decision": str(end.decision),
        "reason": end.reason,
        "candidate_id": end.candidate_id,
        "evaluation": end.evaluation,
        **{name: end.figures.get(name) for name in _FIGURES},
        "mock": pipeline.options.mock,
        "tries": [one.to_plain() for one in pipeline.tries],
        "usage": _together(pipeline.usage),
        "truth_anchor": printable(path),
    }
    write_json(path, document)
    return document


def _together(usage: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sum of what the stages cost. What one of them does not know is not known of all."""
    names = list(dict.fromkeys(name for one in usage for name in one))
    total: dict[str, Any] = {}
    for name in names:
        parts = [one[name] for one in usage if name in one]
        total[name] = sum(parts) if all(isinstance(part, int | float) for part in parts) else None
    return total
