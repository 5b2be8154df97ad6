"""`honestone stage evaluate`: a skill's tasks run on two sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from honestone.cli import options as shared
from honestone.cli.stages.group import judging_of, stage_files


@click.command("evaluate", short_help="Run a candidate's edit on real tasks.")
@shared.options("stage evaluate")
def evaluate_command(
    state_root: Path | None, output: Path | None, as_json: bool, quiet: bool, **asked: Any
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

    skill, standalone = asked.pop("skill_path"), asked.pop("standalone")
    problem = mode_problem(
        standalone=standalone, input=asked["input"], candidate_id=asked["candidate_id"], skill=skill
    )
    if problem is not None:
        raise click.UsageError(problem, click.get_current_context())
    request = EvaluateSkillRequest(skill=skill, judging=judging_of(asked), **asked)
    with Progress(quiet=quiet) as progress:
        done = evaluate(request, stage_files(state_root, output), progress)
        for line in remarks(done.body):
            progress.note(line)
    write(dump_line(done.document if as_json else summary(done.body)) + "\n")
    return EXIT_OF[SkillVerdict(str(done.body.verdict))]
