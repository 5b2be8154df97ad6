"""A skill's tasks run on two sides, and the evaluation artifact of that.

With a ranking, the candidate's own edit is applied to a copy, and that runs against the skill as it
is. Standalone, the skill as it is runs against no skill at all.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NotRequired, TypedDict

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from honestone.app.doors.quiet import Quiet
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.stages.apply import settled
from honestone.app.stages.files import SkillUnderEdit, StageFiles, find_candidate
from honestone.app.suites.comparing.baseline import BaselineFiles, require_writable
from honestone.app.suites.comparing.skill_run import SkillRun
from honestone.app.suites.plan import SuitePlan, SuiteRequest
from honestone.app.suites.planning import plan_suite
from honestone.app.suites.running.run import evaluate_suite
from honestone.app.suites.running.side_run import CutShort
from honestone.app.suites.subject import WITHOUT, Baseline, SuiteSubject, skill_of
from honestone.app.workspace import Workspace
from honestone.core.artifact import Version
from honestone.core.errors import FileError, UsageError
from honestone.core.events import total_spend
from honestone.core.judging.spend import Meter, Spend
from honestone.core.numbers import exact
from honestone.core.skill.evaluation import BROKEN_BELOW, SkillVerdict
from honestone.core.skill.plan import PlanError, Refusal
from honestone.core.skill.skill_file import Skill
from honestone.formats import stage_files as doc
from honestone.formats.source import SuiteSource
from honestone.formats.stage_files import LANE, STANDALONE, SkillEvaluation, StageFile
from honestone.ports import Observer, Store
from honestone.report.building.suite import suite_document
from honestone.report.documents import plain
from honestone.report.documents.scorecard import low_confidence_of, warning_words
from honestone.report.documents.suite import BaselineDoc, SuiteReportDoc
from honestone.system.files import printable

DEFAULT_TARGET: Final = "claude"
DEFAULT_JUDGE: Final = "claude"
DEFAULT_THRESHOLD: Final = 6.0

_RATES: Final = ("execution_pass_rate", "baseline_pass_rate", "delta", "interval", "verdict")
# What an evaluation and a suite's report say alike.
_SAME: Final = (
    *_RATES,
    "mock",
    "regressions",
    "candidate_results",
    "baseline_results",
    "baseline_cached",
    "judges",
)


class EvaluateSkillRequest(Struct, frozen=True, kw_only=True):
    """What `skill evaluate` is asked for: a candidate of a ranking, or with `standalone` a skill by
    itself.

    Without `baseline_cache_dir` a baseline of the last seven days is taken from the store.
    """

    task_suite: Path
    input: Path | None = None
    candidate_id: str | None = None
    skill: Path | None = None
    target: str | None = None
    prompts: tuple[str, ...] = ()
    pass_k: int = 1
    baseline_cache_dir: Path | None = None
    eval_threshold: float = DEFAULT_THRESHOLD
    mock: bool = False
    require_improvement: bool = False
    judging: JudgingOptions = field(default_factory=JudgingOptions)


def evaluate(
    request: EvaluateSkillRequest, files: StageFiles, observer: Observer
) -> StageFile[SkillEvaluation]:
    """Run it and write the evaluation artifact. Raises UsageError before anything is spent."""
    workspace = files.workspace
    suite = read_suite(workspace, request.task_suite)
    asked = (
        _standalone(request, suite, files) if request.input is None else _candidate(request, files)
    )
    folder = (
        None if request.baseline_cache_dir is None else workspace.path(request.baseline_cache_dir)
    )
    files.refuse_inside(asked.skill, cache=folder)
    _require_places(files)
    if asked.skip is not None:
        return files.write(evaluation_file(asked, request, suite))
    cache = None if folder is None else BaselineFiles(folder, note=observer.note)
    result = evaluate_suite(
        workspace, replace(suite_request(asked, request, suite, workspace), cache=cache), observer
    )
    return files.write(evaluation_file(asked, request, suite, result.report))


def mode_problem(
    *, standalone: bool, input: Path | None, candidate_id: str | None, skill: Path | None
) -> str | None:
    """Why these options cannot go together: a ranking with a candidate, or a skill by itself."""
    ranked = {"--input": input, "--candidate-id": candidate_id}
    if standalone:
        extra = [flag for flag, value in ranked.items() if value is not None]
        if extra:
            return f"--standalone takes no {' and no '.join(extra)}"
        return None if skill is not None else "--standalone needs --skill-path"
    missing = [flag for flag, value in ranked.items() if value is None]
    if missing:
        return f"{' and '.join(missing)} missing: name a ranking and a candidate, or --standalone with --skill-path"
    return (
        None if skill is None else "--skill-path is for --standalone; the ranking names its skill"
    )


def read_suite(workspace: Workspace, path: Path) -> SuiteSource:
    """A suite of any format. Raises FileError when there is none."""
    from honestone.interop.recognise import read_any_suite

    if not workspace.path(path).exists():
        raise FileError(
            f"Task suite not found: {printable(path)}",
            hint="name a task_suite.yaml; `honestone suite new --from SKILL` drafts one",
        )
    return read_any_suite(workspace.path(path))


class TwoSides(Struct, frozen=True, kw_only=True):
    """One evaluation, read and checked as far as it can be before anything is spent.

    `after` is the skill that is evaluated; `before` the one it is compared with, None: no skill at
    all. `skip`: why nothing is run. A candidate's evaluation names it and its ranking.
    """

    run_id: str
    skill: SkillUnderEdit
    after: Version
    before: Version | None = None
    lane: str = LANE
    skip: str | None = None
    candidate: doc.ScoredCandidate | None = None
    ranking: str | None = None

    @property
    def named(self) -> str:
        return (
            self.skill.named
            if self.candidate is None
            else f"{self.skill.named} with {self.candidate.id}"
        )


def _standalone(request: EvaluateSkillRequest, suite: SuiteSource, files: StageFiles) -> TwoSides:
    """The skill as it is, against no skill at all."""
    if request.skill is None:
        raise UsageError(
            "--standalone needs the skill", hint="--skill-path FOLDER, or its SKILL.md"
        )
    skill = settled(files, SkillUnderEdit.at(files.workspace, request.skill))
    run_id = f"{STANDALONE}-{suite.suite.skill_id or skill.skill.name}"
    return TwoSides(lane=STANDALONE, run_id=run_id, skill=skill, after=skill.version)


def _candidate(request: EvaluateSkillRequest, files: StageFiles) -> TwoSides:
    """The candidate's edit, applied to a copy of the skill that the ranking names."""
    assert request.input is not None
    if request.candidate_id is None:
        raise UsageError(
            "name a candidate of a ranking: --input RANKING --candidate-id ID",
            hint="or evaluate a skill by itself: --standalone --skill-path SKILL",
        )
    ranking = files.read(request.input, doc.Ranking)
    at, candidate = find_candidate(ranking, request.candidate_id)
    skill = settled(files, SkillUnderEdit.of(files.workspace, ranking))
    asked = TwoSides(
        lane=ranking.body.lane,
        run_id=ranking.body.run_id,
        skill=skill,
        after=skill.version,
        candidate=candidate,
        ranking=printable(request.input),
    )
    threshold = exact(request.eval_threshold)
    if candidate.score is None:
        return replace(asked, skip="the candidate has no score, so it is not run")
    score = ranking.marked.number(("scored_candidates", at, "score"))
    if score < threshold:
        return replace(
            asked, skip=f"score {float(score):g} is below --eval-threshold {float(threshold):g}"
        )
    skill.require_base(candidate)
    try:
        after = skill.edited(candidate)
    except PlanError as error:
        error.place = error.place or ranking.at("scored_candidates", at, "execution_plan")
        raise
    return replace(asked, after=after, before=skill.version)


def _require_places(files: StageFiles) -> None:
    """Raise UsageError for an output that cannot be written, before the agent runs and costs."""
    if files.output is not None and files.output.is_dir():
        raise UsageError(
            f"--output `{printable(files.output)}` is a folder",
            hint="name the file: --output evaluation.json",
        )
    option, folder = "--state-root:", files.folder(SkillEvaluation.folder)
    if files.output is not None:
        option, folder = "--output:", Path(os.path.realpath(files.output)).parent
    require_writable(folder, option, hint="name a place that can be written")


def suite_request(
    asked: TwoSides, request: EvaluateSkillRequest, suite: SuiteSource, workspace: Workspace
) -> SuiteRequest:
    """The two sides as a suite is asked for them. Raises PlanError where both would be the same."""
    subject = SuiteSubject.of_skill(asked.named, _installed(asked.after, asked.skill, suite))
    against = Baseline(name=WITHOUT, subject=SuiteSubject.without_skill(), is_without=True)
    if asked.before is not None:
        before = SuiteSubject.of_skill(
            asked.skill.named, _installed(asked.before, asked.skill, suite), "baseline"
        )
        against = Baseline(name=asked.skill.named, subject=before)
        if before.version == subject.version:
            raise PlanError(
                Refusal.NO_CHANGE,
                "the plan changes nothing that an agent is given: both sides would be the same",
            )
    judges = (
        ("mock",) if request.mock else request.judging.judges or _default_judges(suite, workspace)
    )
    return SuiteRequest(
        suite=request.task_suite,
        judging=replace(request.judging, judges=judges),
        subject=subject,
        against=against,
        target="mock" if request.mock else request.target or DEFAULT_TARGET,
        prompts=request.prompts,
        attempts=request.pass_k,
        attempt_rule="pass@k",
        mock=request.mock,
        require_improvement=request.require_improvement,
    )


def _installed(version: Version, skill: SkillUnderEdit, suite: SuiteSource) -> Skill:
    """What an agent is given of a version: never the files that judge it."""
    judging = {file.resolve() for file in suite.files}
    hidden = {
        file.relative_to(skill.root).as_posix()
        for file in (*judging, suite.base.resolve() / "fixtures")
        if file.is_relative_to(skill.root) and file != skill.root
    }
    return skill_of(version, printable(skill.root.name), leave_out=hidden)


def _default_judges(suite: SuiteSource, workspace: Workspace) -> tuple[str, ...]:
    """The default agent judges too, where it can; else no judge is named, and those that are found
    are asked.
    """
    from honestone.app.readiness import ready_judges

    if not any(case.rubric.asks_judges for case in suite.suite.cases):
        return ()
    return (DEFAULT_JUDGE,) if DEFAULT_JUDGE in ready_judges(workspace.settings, limit=100) else ()


def evaluation_file(
    asked: TwoSides,
    request: EvaluateSkillRequest,
    suite: SuiteSource,
    report: SuiteReportDoc | None = None,
) -> SkillEvaluation:
    """What was found, as an artifact: the seed's fields at the top and, as in the original, inside
    `evaluation`. Without a report nothing was run.
    """
    candidate, is_standalone = asked.candidate, asked.candidate is None
    evaluation = (
        _found(report, is_standalone=is_standalone)
        if report is not None
        else _skipped(asked.skip, request.mock)
    )
    return msgspec.structs.replace(
        evaluation,
        run_id=asked.run_id,
        lane=asked.lane,
        status="error" if evaluation.verdict == SkillVerdict.ERROR else "success",
        skill_id=asked.run_id.removeprefix(f"{STANDALONE}-") if is_standalone else None,
        source_ranking_artifact=asked.ranking,
        candidate_id=None if candidate is None else candidate.id,
        candidate_score=None if candidate is None else candidate.score,
        eval_threshold=None if candidate is None else float(request.eval_threshold),
        task_suite=printable(request.task_suite),
        task_suite_skill_id=suite.suite.skill_id,
        pass_k=request.pass_k,
        baseline_digest=None if asked.before is None else asked.before.digest,
        candidate_digest=None if report is None else asked.after.digest,
        target=asked.skill.profile(),
    )


def _found(report: SuiteReportDoc, *, is_standalone: bool) -> SkillEvaluation:
    """What an evaluation says of a suite's report with two sides."""
    baseline = report.baseline
    assert isinstance(baseline, BaselineDoc)
    document = plain(report)
    same = {name: document[name] for name in _SAME}
    rates = {name: document[name] for name in _RATES}
    evaluation = msgspec.convert({"run_id": "-", "evaluation": rates, **same}, SkillEvaluation)
    health, rows = (
        _health(evaluation.baseline_pass_rate, baseline.name),
        evaluation.candidate_results,
    )
    figures = {**rates, "baseline_health": health}
    if is_standalone:
        passed = [one.passed for one in rows]
        figures |= {
            "total_tasks": len(rows),
            "passed": passed.count(True),
            "failed": passed.count(False),
        }
        figures["pass_rate"] = evaluation.execution_pass_rate
    why = str(health["reason"])
    judged = sum(one.passed is not None for one in rows)
    lonely = warning_words(low_confidence_of(report.low_confidence_cases, judged))
    return msgspec.structs.replace(
        evaluation,
        evaluation=msgspec.convert(
            figures, doc.StandaloneFigures if is_standalone else doc.Figures
        ),
        reason="; ".join(report.reasons) or None,
        task_results=rows if is_standalone else None,
        warnings=[*lonely, *report.flags, *([why] if why else [])],
        agent=report.target,
        runs={"candidate": report.run, "baseline": baseline.run},
        usage=document["usage"],
    )


def _skipped(why: str | None, mock: bool) -> SkillEvaluation:
    verdict = str(SkillVerdict.SKIPPED)
    return SkillEvaluation(
        run_id="-", evaluation=doc.Figures(verdict=verdict), verdict=verdict, reason=why, mock=mock
    )


class BaselineHealth(TypedDict):
    """Whether a baseline can show anything: `healthy`, `warning` or `unknown`."""

    status: str
    threshold: float
    reason: str


def _health(rate: float | None, baseline: str) -> BaselineHealth:
    """Whether the baseline passes enough to show anything. Without a skill a low rate is as it
    should be.
    """
    is_low = rate is not None and exact(rate) < BROKEN_BELOW and baseline != WITHOUT
    status = "unknown" if rate is None else "healthy"
    if is_low:
        status = "warning"
    return {
        "status": status,
        "threshold": float(BROKEN_BELOW),
        "reason": f"baseline pass rate {rate:.3g} < 0.2" if is_low else "",
    }


class CandidateSummary(TypedDict):
    """What the last line of stdout says of an evaluation."""

    execution_pass_rate: float | None
    baseline_pass_rate: float | None
    delta: float | None
    verdict: str | None
    truth_anchor: str | None
    reason: NotRequired[str]


def summary(evaluation: SkillEvaluation) -> CandidateSummary:
    """What the last line of stdout says."""
    figures = CandidateSummary(
        execution_pass_rate=evaluation.execution_pass_rate,
        baseline_pass_rate=evaluation.baseline_pass_rate,
        delta=evaluation.delta,
        verdict=evaluation.verdict,
        truth_anchor=evaluation.truth_anchor,
    )
    if evaluation.reason:
        figures["reason"] = evaluation.reason
    return figures


def remarks(evaluation: SkillEvaluation) -> list[str]:
    """For people: what the figures are, what lost, and what is not to be trusted."""
    lines = []
    now, then, delta = (
        evaluation.execution_pass_rate,
        evaluation.baseline_pass_rate,
        evaluation.delta,
    )
    if (
        evaluation.interval is not None
        and now is not None
        and then is not None
        and delta is not None
    ):
        low, high = evaluation.interval
        interval = f"95% interval {low:+.3g} to {high:+.3g}"
        lines.append(
            f"{evaluation.verdict}: {now:.3g} against {then:.3g} (delta {delta:+.3g}, {interval})"
        )
    if evaluation.reason:
        lines.append(f"{evaluation.verdict}: {evaluation.reason}")
    if evaluation.regressions:
        lines.append(f"passed before and fails now: {', '.join(evaluation.regressions)}")
    return [*lines, *evaluation.warnings]


class TasksDone(Struct, frozen=True, kw_only=True):
    """A candidate's tasks run with those of the baseline. `report` None: a limit came first. `runs`
    says what each run in the store cost that the loop does not know of.
    """

    runs: Mapping[str, Spend]
    report: SuiteReportDoc | None = None

    @property
    def spend(self) -> Spend:
        return Spend.of(self.runs.values())


async def compare_sides(
    plan: SuitePlan,
    request: EvaluateSkillRequest,
    asked: TwoSides,
    store: Store,
    meter: Meter,
    observer: Observer,
    *,
    known: Mapping[str, Spend],
) -> TasksDone:
    """Both sides under the limits of a loop, the baseline's from the last seven days where there is
    one. What a limit cuts short is left open in the store and resumed by the next process. `known`
    is what the loop has counted of each run.

    Raises PlanError where the sides would be the same.
    """
    wanted = suite_request(asked, request, plan.source, plan.workspace)
    assert wanted.subject is not None
    plan = replace(plan, request=wanted, subject=wanted.subject)
    both, report = SkillRun(plan=plan, store=store, observer=observer, meter=meter.rest()), None
    with contextlib.suppress(CutShort):
        report = suite_document(await both.compare(wanted.against))
    runs = {
        run: total_spend(store.events(run)).without(known.get(run, Spend())) for run in both.runs
    }
    return TasksDone(runs=runs, report=report)


def plan_tasks(
    skill: SkillUnderEdit, request: EvaluateSkillRequest, suite: SuiteSource
) -> SuitePlan:
    """Everything read and checked. Raises UsageError and its kinds."""
    as_it_is = TwoSides(run_id="-", skill=skill, after=skill.version)
    return plan_suite(
        skill.workspace, suite_request(as_it_is, request, suite, skill.workspace), Quiet()
    )
