"""The commands as Python functions. Each makes a request from its arguments and calls a use case of
`app`.

All of them take the options of their command as keywords. `folder` is where relative paths,
commands and settings start, by default the current folder. `store` is the folder of the store,
relative to `folder`, or the address of a shared one (postgresql://HOST/DATABASE). Judges, targets
and workers are names as the command takes them, functions, or objects that implement the protocols
of `honestone.ports`. The functions may be called from several threads at once, and while an event
loop is running; there, `aevaluate` and the like can be awaited instead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import (
    Literal,
    Unpack,
)

from honestone.api.calls import awaited, checked, make_judging, make_workspace, one_or_several
from honestone.app.between_calls import keeping_open
from honestone.app.doors import given
from honestone.app.doors.given import GivenRubric, GivenSuite, Judges, Targets, Text
from honestone.app.doors.quiet import Quiet
from honestone.app.event_loop import run_stoppable
from honestone.app.improving.improve import ImprovementResult
from honestone.app.improving.improve import improve as improve_artifact
from honestone.app.improving.loop import ImprovementRequest
from honestone.app.improving.step import (
    StepResult,
    StepsForm,
    Submission,
    resume_steps,
    start_steps,
)
from honestone.app.judging.evaluate import EvaluateRequest, evaluate_one, require_pass
from honestone.app.judging.evaluated import Evaluated
from honestone.app.judging.given_tables import GivenTable, GivenTexts, SharedTexts, given_table
from honestone.app.judging.many import EvaluatedTexts, evaluate_artifacts, evaluate_table
from honestone.app.keywords import JudgingKeywords
from honestone.app.stages.files import StageFiles
from honestone.app.stages.run import PipelineRun, StageRunRequest, run_all_stages
from honestone.app.suites.choice import CaseChoice
from honestone.app.suites.comparing.compare import (
    CompareRequest,
    ComparisonResult,
    compare_runs,
)
from honestone.app.suites.plan import SuiteRequest
from honestone.app.suites.running.run import SuiteResult
from honestone.app.suites.running.table import TableResult, evaluate_columns
from honestone.app.suites.subject import SuiteSubject, read_report
from honestone.core.errors import UsageError
from honestone.core.events import TableColumns
from honestone.core.numbers import exact
from honestone.core.record.summary import RunSummary
from honestone.ports import Function, Judge, Target, Worker
from honestone.report.documents import JsonDocument

__all__ = [
    "ComparisonResult",
    "Evaluated",
    "EvaluatedTexts",
    "ImprovementResult",
    "StepResult",
    "SuiteResult",
    "TableResult",
    "Text",
    "acompare",
    "aevaluate",
    "aevaluate_many",
    "aimprove",
    "arun_suite",
    "assert_passes",
    "compare",
    "evaluate",
    "evaluate_many",
    "improve",
    "run_stages",
    "run_suite",
    "step",
]


@checked
def evaluate(
    artifact: str | PathLike[str],
    rubric: GivenRubric,
    *,
    judges: Judges = (),
    target: str | Target | Function = "identity",
    input: str | None = None,
    reference: str | None = None,
    folder: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    **options: Unpack[JudgingKeywords],
) -> Evaluated:
    """Score an artifact: a text (`str`) or a file or folder (`Path`).

    `rubric` is a Rubric, a Path, a dict, a list of criteria, or a `str`: the name of a file, else
    YAML.

    The run and the judges' replies are stored in `store`, and no reply is paid for twice; without a
    store nothing is stored. Raises UsageError and its kinds for a wrong call, CouldNotJudge when
    judges are needed and none is named. A judge that fails raises nothing: the panel is then
    smaller, or the verdict inconclusive.
    """
    __tracebackhide__ = True
    workspace = make_workspace(folder, store)
    request = EvaluateRequest(
        artifacts=(given.text_or_path(artifact, workspace),),
        rubric=given.a_rubric(rubric, workspace),
        judging=make_judging(judges, options),
        target=given.a_target(target),
        input=input,
        reference=reference,
        finds_judges=False,
        keep=store is not None,
    )
    return run_stoppable(lambda: keeping_open(lambda: evaluate_one(workspace, request, Quiet())))


@checked
def evaluate_many(
    artifacts: GivenTexts,
    rubric: GivenRubric,
    *,
    text: str | None = None,
    id: str | None = None,
    group: str | None = None,
    judges: Judges = (),
    target: str | Target | Function = "identity",
    input: str | None = None,
    reference: str | None = None,
    input_text: str | None = None,
    folder: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    **options: Unpack[JudgingKeywords],
) -> EvaluatedTexts:
    """Score many texts as one run: a sequence of results in their order, with a summary and a
    table.

    `artifacts` is a data frame (of pandas, polars or another library), a list of dicts or a
    generator of them, whose column `text` is judged; `id`, `group`, `input` and `reference` name
    columns too, and `input_text` is one input for all. Or it is a dict of texts by their ids, or a
    list of texts (`str`) and `Path`s; there `input` and `reference` are texts, the same for all.

    It works as `evaluate` does, but reads the rubric once and judges several texts at a time
    (`concurrency` in `[limits]` of the settings). The limits hold for all texts together; texts
    that they leave unjudged are inconclusive. A row without a text stays in the results and does
    not pass. Raises UsageError, with the table's columns, where the table has no column `text`.
    """
    __tracebackhide__ = True
    workspace = make_workspace(folder, store)
    columns = None
    if text is not None:
        columns = TableColumns(text=text, id=id, input=input, reference=reference, group=group)
    elif id is not None or group is not None:
        raise UsageError("id= and group= name columns, and text= does not", hint="add text=...")
    is_table = columns is not None
    shared = SharedTexts(
        input=input_text if is_table or input is None else input,
        reference=None if is_table else reference,
    )
    texts = given_table(artifacts, columns, shared)
    request = EvaluateRequest(
        artifacts=() if isinstance(texts, GivenTable) else given.texts_or_paths(texts, workspace),
        rubric=given.a_rubric(rubric, workspace),
        judging=make_judging(judges, options),
        target=given.a_target(target),
        input=shared.input,
        reference=shared.reference,
        finds_judges=False,
        keep=store is not None,
    )
    if isinstance(texts, GivenTable):
        return run_stoppable(
            lambda: keeping_open(lambda: evaluate_table(workspace, texts, request, Quiet()))
        )
    return run_stoppable(
        lambda: keeping_open(lambda: evaluate_artifacts(workspace, request, Quiet()))
    )


@checked
def assert_passes(
    output: str | PathLike[str],
    rubric: GivenRubric,
    *,
    judge: Judges = (),
    input: str | None = None,
    reference: str | None = None,
    folder: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    **options: Unpack[JudgingKeywords],
) -> JsonDocument:
    """Assert in a test that an output passes: a text, or the Path of a file or folder. Returns the
    scorecard document.

    Raises AssertionError with the reasons when it fails, CouldNotJudge when the verdict is
    inconclusive.
    """
    __tracebackhide__ = True
    artifact = given.text_or_path(output, make_workspace(folder, store), "output")
    evaluated = evaluate(
        output,
        rubric,
        judges=judge,
        input=input,
        reference=reference,
        folder=folder,
        store=store,
        **options,
    )
    return require_pass(evaluated, artifact, input)


@checked
def run_suite(
    suite: GivenSuite,
    *,
    target: Targets | None = None,
    prompts: str | Sequence[str] = (),
    outputs: str | PathLike[str] | None = None,
    judges: Judges = (),
    artifact: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    with_skills: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    pick: bool = False,
    baseline: str | None = None,
    cases: str | Sequence[str] = (),
    tags: str | Sequence[str] = (),
    splits: str | Sequence[str] = (),
    attempts: int | None = None,
    attempt_rule: str | None = None,
    concurrency: int | None = None,
    target_timeout: float | None = None,
    min_pass_rate: float | None = None,
    fail_on: str | Sequence[str] = (),
    across_contracts: bool = False,
    require_improvement: bool = False,
    accept_loss: bool = False,
    locked: bool = False,
    folder: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    **options: Unpack[JudgingKeywords],
) -> SuiteResult | TableResult:
    """Run a suite as `honestone eval SUITE` does: the same store, the same resuming.

    `suite` is a file of any format that is read, a Suite, a dict as a suite file holds it, a list
    of cases, or a DataFrame with a case in each row. `artifact` is a path, or a `Text`. Several
    targets or artifacts in a list make a table with a column for each, and `pick` names the
    cheapest that passes. `prompts` chooses among several of the suite. `with_skills` are folders of
    other skills, which are installed next to the artifact where that is a skill. `outputs` is a run
    or a file of outputs, which are judged instead of those of a target. A second run of the same
    suite is refused while the first is running.

    Raises UsageError for a wrong call or file, before anything is spent, and CouldNotJudge when
    judges are needed and none is named or found. Failures of a target or a judge are in the result.
    """
    workspace = make_workspace(folder, store)
    name, source = given.a_suite(_rows(suite), workspace)
    text = given.text_version(artifact) if isinstance(artifact, Text) else None
    paths = (
        ()
        if artifact is None or text is not None
        else given.several(artifact, "artifact", given.a_path)
    )
    request = SuiteRequest(
        suite=name,
        source=source,
        judging=make_judging(judges, options),
        artifacts=paths,
        with_skills=given.several(with_skills, "skill", given.a_path) if with_skills else (),
        subject=None if text is None else SuiteSubject(path="text", version=text),
        targets=() if target is None else given.several(target, "target", given.a_target),
        prompts=one_or_several(prompts),
        outputs=None if outputs is None else str(outputs),
        pick=pick,
        choice=CaseChoice(
            ids=one_or_several(cases), tags=one_or_several(tags), splits=one_or_several(splits)
        ),
        attempts=attempts,
        attempt_rule=attempt_rule,
        concurrency=concurrency,
        target_timeout=target_timeout,
        min_pass_rate=None if min_pass_rate is None else exact(min_pass_rate),
        baseline=baseline,
        fail_on=one_or_several(fail_on),
        across_contracts=across_contracts,
        require_improvement=require_improvement,
        accept_loss=accept_loss,
        locked=locked,
    )
    return run_stoppable(lambda: evaluate_columns(workspace, request, Quiet()))


@checked
def compare(
    a: str | PathLike[str] | Mapping[str, object],
    b: str | PathLike[str] | Mapping[str, object],
    *,
    fail_on: str | Sequence[str] = (),
    across_contracts: bool = False,
    require_improvement: bool = False,
    folder: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
) -> ComparisonResult:
    """Compare two runs of one suite, `a` the baseline: what `run_suite` returned, run ids, or files
    with saved reports.

    Raises ContractMismatch when the two were judged differently.
    """
    request = CompareRequest(
        baseline=_side(a, "a"),
        candidate=_side(b, "b"),
        gates=one_or_several(fail_on),
        across_contracts=across_contracts,
        require_improvement=require_improvement,
    )
    return ComparisonResult(report=compare_runs(make_workspace(folder, store), request))


@checked
def improve(
    artifact: str | PathLike[str],
    rubric: GivenRubric | None = None,
    *,
    suite: GivenSuite | None = None,
    judges: Judges = (),
    holdouts: Judges = (),
    worker: str | Worker | Function | None = None,
    policy: str | None = None,
    rounds: int | None = None,
    worker_timeout: float | None = None,
    max_diff: int | None = None,
    max_growth: float | None = None,
    self_judge: bool = False,
    output: str | PathLike[str] | None = None,
    deliver: str = "best",
    dry_run: bool = False,
    target: str | Target | Function | None = None,
    prompts: str | Sequence[str] = (),
    candidates: int | None = None,
    min_pass_rate: float | None = None,
    require_improvement: bool = False,
    folder: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    **options: Unpack[JudgingKeywords],
) -> ImprovementResult:
    """Improve a file or folder against a rubric, or a skill or prompt by the tasks of a suite, as
    `honestone improve` does: the same run, resumed when it was interrupted. The version that it
    puts into the file passed, or is better than the original; else the original stays.

    Raises UsageError and its kinds before anything is spent, CouldNotJudge when judges are needed
    and none is found. Failures of a worker or a judge are in the result.
    """
    workspace = make_workspace(folder, store)
    # In `improve` these two are required of the held-out judges, not of the panel.
    calibrated = options.pop("require_calibration", False)
    tier = options.pop("require_tier", None)
    name, source = (None, None) if suite is None else given.a_suite(_rows(suite), workspace)
    request = ImprovementRequest(
        artifact=given.a_path(artifact, "artifact"),
        rubric=None if rubric is None else given.a_rubric(rubric, workspace),
        suite=name,
        source=source,
        judging=make_judging(judges, options),
        worker=None if worker is None else given.a_worker(worker),
        holdouts=given.several(holdouts, "holdouts", given.a_judge),
        require_calibration=calibrated,
        require_tier=tier,
        policy=policy,
        rounds=rounds,
        worker_timeout=worker_timeout,
        max_diff=max_diff,
        max_growth=max_growth,
        self_judge=self_judge,
        dry_run=dry_run,
        output=None if output is None else given.a_path(output, "output"),
        deliver=deliver,
        target=None if target is None else given.a_target(target),
        prompts=one_or_several(prompts),
        candidates=candidates,
        min_pass_rate=min_pass_rate,
        require_improvement=require_improvement,
    )
    return run_stoppable(lambda: improve_artifact(workspace, request, Quiet()))


aevaluate = awaited(evaluate, "aevaluate")
aevaluate_many = awaited(evaluate_many, "aevaluate_many")
arun_suite = awaited(run_suite, "arun_suite")
acompare = awaited(compare, "acompare")
aimprove = awaited(improve, "aimprove")


@checked
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
    policy: str | None = None,
    rounds: int | None = None,
    max_diff: int | None = None,
    max_growth: float | None = None,
    output: str | Path | None = None,
    dry_run: bool = False,
    folder: Path | None = None,
    store: Path | None = None,
    **options: Unpack[JudgingKeywords],
) -> StepResult:
    """Take one step of the loop with the caller as its worker, as `honestone step` does, and return
    the next action.

    An artifact and a rubric start a run, or resume the same one. Without them the latest run is
    resumed (or `run`), with the options that it was started with. `submit=True` hands in the edit
    at the location that the last action named, `reply` the reply of a judge. A run that was started
    with a `session` counts as the latest one only for that session. Raises as `improve` does, and
    UsageError where no run of steps was begun.
    """
    workspace = make_workspace(folder, store)
    if submit or reply is not None or artifact is None:
        submission = Submission(
            is_edit=submit and reply is None,
            reply=reply,
            round=round,
            ended=ended,
            message=message[:2000],
        )
        result = run_stoppable(
            lambda: resume_steps(workspace, run, submission, Quiet(), StepsForm(session=session))
        )
    else:
        calibrated = options.pop("require_calibration", False)
        tier = options.pop("require_tier", None)
        request = ImprovementRequest(
            artifact=Path(artifact),
            rubric=None if rubric is None else Path(rubric),
            judging=make_judging(judges, options),
            holdouts=tuple(holdouts),
            require_calibration=calibrated,
            require_tier=tier,
            policy=policy,
            rounds=rounds,
            max_diff=max_diff,
            max_growth=max_growth,
            dry_run=dry_run,
            output=None if output is None else Path(output),
        )
        result = run_stoppable(
            lambda: start_steps(workspace, request, Quiet(), StepsForm(session=session))
        )
    result.hand_out()
    return result


@checked
def run_stages(
    skill: str | Path,
    *,
    task_suite: str | Path,
    worker: str,
    target: str | None = None,
    prompts: str | Sequence[str] = (),
    judges: Sequence[str | Judge] = (),
    retries: int = 3,
    candidates: int = 1,
    pass_k: int = 1,
    sources: Sequence[str | Path] = (),
    mock: bool = False,
    worker_timeout: float | None = None,
    state_root: str | Path | None = None,
    output: str | Path | None = None,
    folder: Path | None = None,
    store: Path | None = None,
    **options: Unpack[JudgingKeywords],
) -> PipelineRun:
    """Run all stages over a skill, as `honestone skill run` does: the same store, the same
    resuming.

    Returns the decision and `honestone.pipeline/1`. Raises UsageError for a wrong call or file,
    before anything is spent, and while another run works on the skill.
    """
    if not isinstance(worker, str):
        raise given.wrong(
            "worker", worker, "the name of a worker", 'a name: "codex", "cmd:COMMAND", ...'
        )
    request = StageRunRequest(
        skill=Path(skill),
        task_suite=Path(task_suite),
        worker=worker,
        target=target,
        prompts=one_or_several(prompts),
        sources=tuple(map(Path, sources)),
        retries=retries,
        candidates=candidates,
        pass_k=pass_k,
        mock=mock,
        worker_timeout=worker_timeout,
        judging=make_judging(judges, options),
    )
    files = StageFiles.at(
        make_workspace(folder, store),
        None if state_root is None else Path(state_root),
        None if output is None else Path(output),
    )
    return run_stoppable(lambda: run_all_stages(request, files, Quiet()))


def _rows(suite: object) -> object:
    """Turn a DataFrame of cases into a list, also where it is the `cases` of a dict."""
    if isinstance(suite, Mapping) and "cases" in suite:
        return {**suite, "cases": _rows(suite["cases"])}
    # A DataFrame can only be here if the caller imported pandas; importing it takes a second.
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(suite, pandas.DataFrame):
        return suite
    return given.cases_of_rows(json.loads(suite.to_json(orient="records", date_format="iso")))


def _side(side: object, name: str) -> str | Path | RunSummary:
    """One side of a comparison: a document, the id of a run, or a file. `name`: the parameter."""
    if isinstance(side, Mapping):
        return read_report(dict(side), "the report")
    return side if isinstance(side, str) else given.a_path(side, name)
