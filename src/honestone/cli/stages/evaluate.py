"""`honestone skill evaluate`: a skill's tasks run on two sides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from honestone.app.judging.judging_options import (
    JudgeNames,
    JudgingOptions,
    MaxCalls,
    MaxMinutes,
    MaxUsd,
    RequireImprovement,
    Seconds,
)
from honestone.app.options import Option
from honestone.app.suites.options import PromptNames
from honestone.cli import options as shared
from honestone.cli.stages import group
from honestone.cli.stages.group import stage_files


@click.command("evaluate", short_help="Run a candidate's edit on real tasks.")
@shared.from_parameters
def evaluate_command(
    *,
    input: Annotated[Path | None, Option("The ranking artifact (pipeline mode).")] = None,
    candidate_id: Annotated[
        str | None, Option("The candidate of the ranking to evaluate.", metavar="ID")
    ] = None,
    standalone: Annotated[bool, Option("Evaluate a skill by itself, without a ranking.")] = False,
    task_suite: Annotated[
        Path,
        Option(
            "The task suite (YAML).", name="--suite", old_names=("--task-suite",), metavar="SUITE"
        ),
    ],
    skill_path: Annotated[Path | None, Option("SKILL.md or its folder (standalone mode).")] = None,
    baseline_cache_dir: Annotated[
        Path | None, Option("Keep baselines here for 7 days. [the store]")
    ] = None,
    eval_threshold: Annotated[
        float,
        Option("The least score of a ranking that is worth running.", min=0, show_default=True),
    ] = 6.0,
    mock: Annotated[bool, Option("Run no agent and ask no judge, for a dry run.")] = False,
    target: group.TaskTarget = None,
    prompts: PromptNames = (),
    pass_k: group.PassK = 1,
    judges: JudgeNames = (),
    judge_timeout: Seconds = None,
    fresh: Annotated[bool, Option("Run the baseline and ask every judge again.")] = False,
    require_improvement: RequireImprovement = False,
    max_calls: MaxCalls = None,
    max_usd: MaxUsd = None,
    max_minutes: MaxMinutes = None,
    state_root: group.StateRoot = None,
    output: group.ArtifactFile = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Run a skill's tasks on two sides and write the evaluation artifact.

    With --input and --candidate-id: the candidate's edit against the skill as it is. With
    --standalone: the skill against no skill at all. The last line of stdout is the summary, one
    JSON object; with --json the whole artifact.

    \b
    Exit codes: 0 pass, 1 fail, 3 error or skipped (nothing was judged), 2 usage.
    """
    from honestone.app.stages.evaluate import (
        EvaluateSkillRequest,
        evaluate,
        mode_problem,
        remarks,
        summary,
    )
    from honestone.cli.terminal import Progress, dump_line, write
    from honestone.core.skill.evaluation import EXIT_OF, SkillVerdict

    problem = mode_problem(
        standalone=standalone, input=input, candidate_id=candidate_id, skill=skill_path
    )
    if problem is not None:
        raise click.UsageError(problem, click.get_current_context())
    request = EvaluateSkillRequest(
        skill=skill_path,
        judging=JudgingOptions(
            judges=judges,
            judge_timeout=judge_timeout,
            fresh=fresh,
            max_calls=max_calls,
            max_usd=max_usd,
            max_minutes=max_minutes,
        ),
        input=input,
        candidate_id=candidate_id,
        task_suite=task_suite,
        baseline_cache_dir=baseline_cache_dir,
        eval_threshold=eval_threshold,
        mock=mock,
        target=target,
        prompts=prompts,
        pass_k=pass_k,
        require_improvement=require_improvement,
    )
    with Progress(quiet=quiet) as progress:
        done = evaluate(request, stage_files(state_root, output), progress)
        for line in remarks(done.body):
            progress.note(line)
    write(dump_line(done.document if as_json else summary(done.body)) + "\n")
    return EXIT_OF[SkillVerdict(str(done.body.verdict))]
