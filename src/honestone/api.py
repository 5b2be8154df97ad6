"""The Python door: what the commands do, as functions. Each makes a request and calls a use case of `app`.

All take the options of their command as keywords. `folder` is where relative paths, commands and settings start (the
current folder without it); `store` is the folder of the store, relative to `folder`. Judges are names, as `--judge`
takes them, or objects that answer `honestone.ports.Judge`. May be called from several threads at once, and from a place
with a running event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Unpack

from honestone.app.evaluate import Evaluated, EvaluateRequest, evaluate_one, require_pass
from honestone.app.improve import ImprovementResult
from honestone.app.improve import improve as improve_artifact
from honestone.app.judging_options import JudgingKeywords, JudgingOptions
from honestone.app.loop import ImprovementRequest, outside_a_loop
from honestone.app.quiet import Quiet
from honestone.app.stages.files import StageFiles
from honestone.app.stages.run import PipelineRun, StageRunRequest, run_all_stages
from honestone.app.step import StepResult, StepsForm, Submission, resume_steps, start_steps
from honestone.app.suites.compare import CompareRequest, compare_runs, require_gates
from honestone.app.suites.plan import CaseChoice, SuiteRequest
from honestone.app.suites.run import evaluate_suite
from honestone.app.workspace import Workspace
from honestone.core.numbers import exact
from honestone.core.rubric import Rubric
from honestone.ports import Judge, Worker
from honestone.report.documents import JsonDocument, plain

__all__ = [
    "Evaluated",
    "ImprovementResult",
    "StepResult",
    "assert_passes",
    "compare",
    "evaluate",
    "improve",
    "run_stages",
    "run_suite",
    "step",
]


def evaluate(
    artifact: str | Path,
    rubric: Rubric | Path | str,
    *,
    judges: Sequence[str | Judge] = (),
    target: str = "identity",
    input: str | None = None,
    reference: str | None = None,
    max_calls: int | None = None,
    max_usd: float | None = None,
    max_minutes: float | None = None,
    folder: Path | None = None,
    store: Path | None = None,
    **options: Unpack[JudgingKeywords],
) -> Evaluated:
    """Score an artifact: a text (`str`) or a file or folder (`Path`). `rubric` is one, or the path of a rubric file.

    The run and the judges' replies are kept in `store` and no reply is asked for twice; without it nothing is kept.
    Raises UsageError and its kinds for what is wrong with the call, CouldNotJudge when judges are needed and none is
    named. A judge that fails is not an error: the verdict is then inconclusive, or the panel smaller.
    """
    request = EvaluateRequest(
        artifacts=(artifact,),
        rubric=Path(rubric) if isinstance(rubric, str) else rubric,
        judging=_judging(judges, options, max_calls, max_usd, max_minutes),
        target=target,
        input=input,
        reference=reference,
        finds_judges=False,
        keep=store is not None,
    )
    workspace = _workspace(folder, store)
    return outside_a_loop(lambda: evaluate_one(workspace, request, Quiet()))


def assert_passes(
    output: str | Path,
    rubric: Rubric | Path | str,
    *,
    judge: str | Judge | Sequence[str | Judge] = (),
    input: str | None = None,
    reference: str | None = None,
    folder: Path | None = None,
    store: Path | None = None,
    **options: Unpack[JudgingKeywords],
) -> JsonDocument:
    """The scorecard document of an output (text, or the path of a file or folder) that passes: for tests.

    Raises AssertionError with the reasons when it does not pass, CouldNotJudge when that could not be found out.
    """
    judges = [judge] if isinstance(judge, str) or not isinstance(judge, Sequence) else judge
    return require_pass(
        evaluate(output, rubric, judges=judges, input=input, reference=reference, folder=folder, store=store, **options)
    )


def run_suite(
    suite: str | Path,
    *,
    target: str | None = None,
    judges: Sequence[str | Judge] = (),
    artifact: str | Path | None = None,
    baseline: str | None = None,
    cases: Sequence[str] = (),
    tags: Sequence[str] = (),
    splits: Sequence[str] = (),
    attempts: int | None = None,
    attempt_rule: str | None = None,
    concurrency: int | None = None,
    target_timeout: float | None = None,
    min_pass_rate: float | None = None,
    fail_on: Sequence[str] = (),
    across_contracts: bool = False,
    require_improvement: bool = False,
    accept_loss: bool = False,
    locked: bool = False,
    max_calls: int | None = None,
    max_usd: float | None = None,
    max_minutes: float | None = None,
    folder: Path | None = None,
    store: Path | None = None,
    **options: Unpack[JudgingKeywords],
) -> JsonDocument:
    """Run a suite, of any format that is read, as `honestone eval SUITE` does: the same store, the same resuming.

    A second run of the same suite is refused while the first is at work.
    Returns `honestone.report/1`. Raises UsageError for what is wrong with the call or a file, before anything is spent,
    and CouldNotJudge when judges are needed and none is named or found. What a target or a judge cannot do is in the
    report.
    """
    request = SuiteRequest(
        suite=Path(suite),
        judging=_judging(judges, options, max_calls, max_usd, max_minutes),
        artifact=None if artifact is None else Path(artifact),
        target=target,
        choice=CaseChoice(ids=tuple(cases), tags=tuple(tags), splits=tuple(splits)),
        attempts=attempts,
        attempt_rule=attempt_rule,
        concurrency=concurrency,
        target_timeout=target_timeout,
        min_pass_rate=None if min_pass_rate is None else exact(min_pass_rate),
        baseline=baseline,
        fail_on=require_gates(fail_on),
        across_contracts=across_contracts,
        require_improvement=require_improvement,
        accept_loss=accept_loss,
        locked=locked,
    )
    workspace = _workspace(folder, store)
    return outside_a_loop(lambda: evaluate_suite(workspace, request, Quiet()).document)


def compare(
    a: str | Path | JsonDocument,
    b: str | Path | JsonDocument,
    *,
    fail_on: Sequence[str] = (),
    across_contracts: bool = False,
    require_improvement: bool = False,
    folder: Path | None = None,
    store: Path | None = None,
) -> JsonDocument:
    """Compare two runs of one suite, `a` the baseline: run ids, files with saved reports, or what `run_suite` returned.

    Returns `honestone.comparison/1`. Raises ContractMismatch when the two were judged differently.
    """
    request = CompareRequest(
        baseline=a,
        candidate=b,
        gates=tuple(fail_on),
        across_contracts=across_contracts,
        require_improvement=require_improvement,
    )
    return plain(compare_runs(_workspace(folder, store), request))


def improve(
    artifact: str | Path,
    rubric: str | Path | None = None,
    *,
    suite: str | Path | None = None,
    judges: Sequence[str | Judge] = (),
    holdouts: Sequence[str | Judge] = (),
    worker: str | Worker | None = None,
    policy: str = "keep-best",
    rounds: int | None = None,
    worker_timeout: float | None = None,
    max_diff: int | None = None,
    self_judge: bool = False,
    output: str | Path | None = None,
    deliver: str = "best",
    dry_run: bool = False,
    target: str | None = None,
    candidates: int | None = None,
    min_pass_rate: float | None = None,
    require_improvement: bool = False,
    max_calls: int | None = None,
    max_usd: float | None = None,
    max_minutes: float | None = None,
    folder: Path | None = None,
    store: Path | None = None,
    **options: Unpack[JudgingKeywords],
) -> ImprovementResult:
    """Improve a file or folder against a rubric, or a skill or prompt by the tasks of a suite, as `honestone improve`
    does: the same run, resumed when it was interrupted, with the best version delivered.

    Raises UsageError and its kinds before anything is spent, CouldNotJudge when judges are needed and none is found.
    What a worker or a judge cannot do is in the result.
    """
    request = ImprovementRequest(
        artifact=Path(artifact),
        rubric=None if rubric is None else Path(rubric),
        suite=None if suite is None else Path(suite),
        judging=_judging(judges, options, max_calls, max_usd, max_minutes),
        worker=worker,
        holdouts=tuple(holdouts),
        policy=policy,
        rounds=rounds,
        worker_timeout=worker_timeout,
        max_diff=max_diff,
        self_judge=self_judge,
        dry_run=dry_run,
        output=None if output is None else Path(output),
        deliver=deliver,
        target=target,
        candidates=candidates,
        min_pass_rate=min_pass_rate,
        require_improvement=require_improvement,
    )
    workspace = _workspace(folder, store)
    return outside_a_loop(lambda: improve_artifact(workspace, request, Quiet()))


def step(
    artifact: str | Path | None = None,
    rubric: str | Path | None = None,
    *,
    submit: bool = False,
    reply: str | None = None,
    run: str | None = None,
    session: str | None = None,
    round: int | None = None,
    ended: Literal["exited", "timeout", "denied", "crashed"] = "exited",
    message: str = "",
    judges: Sequence[str] = (),
    holdouts: Sequence[str] = (),
    policy: str = "keep-best",
    rounds: int | None = None,
    max_diff: int | None = None,
    output: str | Path | None = None,
    dry_run: bool = False,
    max_calls: int | None = None,
    max_usd: float | None = None,
    max_minutes: float | None = None,
    folder: Path | None = None,
    store: Path | None = None,
    **options: Unpack[JudgingKeywords],
) -> StepResult:
    """The next action of the loop with the caller as its worker, as `honestone step` gives it.

    With an artifact and a rubric a run is started, or the same one resumed; without, the latest run is resumed (or
    `run`), with the options it was started with. `submit=True` hands in the edit at the last action's location, `reply`
    a judge's reply. A run that was started with a `session` is the latest one for this session alone. Raises as `improve` does, and UsageError without a run of steps.
    """
    workspace = _workspace(folder, store)
    if submit or reply is not None or artifact is None:
        handed = Submission(
            is_edit=submit and reply is None, reply=reply, round=round, ended=ended, message=message[:2000]
        )
        found = outside_a_loop(lambda: resume_steps(workspace, run, handed, Quiet(), StepsForm(session=session)))
    else:
        request = ImprovementRequest(
            artifact=Path(artifact),
            rubric=None if rubric is None else Path(rubric),
            judging=_judging(judges, options, max_calls, max_usd, max_minutes),
            holdouts=tuple(holdouts),
            policy=policy,
            rounds=rounds,
            max_diff=max_diff,
            dry_run=dry_run,
            output=None if output is None else Path(output),
        )
        found = outside_a_loop(lambda: start_steps(workspace, request, Quiet(), StepsForm(session=session)))
    found.hand_out()
    return found


def run_stages(
    skill: str | Path,
    *,
    task_suite: str | Path,
    worker: str,
    target: str | None = None,
    judges: Sequence[str | Judge] = (),
    retries: int = 3,
    candidates: int = 1,
    pass_k: int = 1,
    sources: Sequence[str | Path] = (),
    mock: bool = False,
    worker_timeout: float | None = None,
    state_root: str | Path | None = None,
    output: str | Path | None = None,
    max_calls: int | None = None,
    max_usd: float | None = None,
    max_minutes: float | None = None,
    folder: Path | None = None,
    store: Path | None = None,
    **options: Unpack[JudgingKeywords],
) -> PipelineRun:
    """Run all stages over a skill, as `honestone stage run` does: the same store, the same resuming.

    Returns the decision and `honestone.pipeline/1`. Raises UsageError for what is wrong with the call or a file, before
    anything is spent, and while another run works on the skill.
    """
    request = StageRunRequest(
        skill=Path(skill),
        task_suite=Path(task_suite),
        worker=worker,
        target=target,
        sources=tuple(map(Path, sources)),
        retries=retries,
        candidates=candidates,
        pass_k=pass_k,
        mock=mock,
        worker_timeout=worker_timeout,
        judging=_judging(judges, options, max_calls, max_usd, max_minutes),
    )
    files = StageFiles.at(
        _workspace(folder, store),
        None if state_root is None else Path(state_root),
        None if output is None else Path(output),
    )
    return outside_a_loop(lambda: run_all_stages(request, files, Quiet()))


def _workspace(folder: Path | None, store: Path | None) -> Workspace:
    """Raises SettingsError for settings that cannot be read."""
    return Workspace.at(Path() if folder is None else folder, store=store)


def _judging(
    judges: Sequence[str | Judge],
    options: JudgingKeywords,
    max_calls: int | None = None,
    max_usd: float | None = None,
    max_minutes: float | None = None,
) -> JudgingOptions:
    """Raises UsageError for a value that the command would not take, TypeError for an option it does not have."""
    named = (judges,) if isinstance(judges, str) else tuple(judges)
    return JudgingOptions(judges=named, max_calls=max_calls, max_usd=max_usd, max_minutes=max_minutes, **options)
