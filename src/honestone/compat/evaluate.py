"""`python -m honestone.evaluate`: the command line of improvement-evaluator, flag for flag."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import honestone
from honestone.app.judging_options import JudgingOptions
from honestone.app.quiet import Quiet
from honestone.app.stages import evaluate as use_case
from honestone.app.stages.files import StageFiles
from honestone.app.workspace import Workspace
from honestone.cli.main import report, report_outside, report_usage
from honestone.cli.options import options
from honestone.core.errors import HonestoneError
from honestone.core.skill.evaluation import EXIT_OF, SkillVerdict
from honestone.system.drawing import clean

NAME = "python -m honestone.evaluate"


class CallableModule(ModuleType):
    """`honestone.evaluate` stays a function after the module of that name was imported: the module can be called."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        return honestone.__getattr__("evaluate")(*args, **named)


class _Notes(Quiet):
    """An observer whose notes go to stderr, and nothing else."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def note(self, text: str) -> None:
        if not self._quiet:
            click.echo(clean(text), err=True)


class _Command(click.Command):
    """Remembers the words it was called with, for the line that resumes."""

    words: tuple[str, ...] = ()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        self.words = tuple(args)
        return super().parse_args(ctx, args)


@click.command("evaluate", cls=_Command)
@options("python -m honestone.evaluate")
def compat_command(state_root: Path, output: Path | None, as_json: bool, quiet: bool, **asked: Any) -> int:
    """Whether a skill makes an agent do better on real tasks.

    \b
    Pipeline:    --input RANKING --candidate-id ID --task-suite SUITE --state-root DIR
    Standalone:  --standalone --skill-path SKILL --task-suite SUITE --state-root DIR

    \b
    The last line of stdout is the summary. Exit codes: 0 pass, 1 fail, 3 error or skipped, 2 usage.
    """
    skill, named = asked.pop("skill_path"), {name: asked[name] for name in ("input", "candidate_id")}
    problem = use_case.mode_problem(standalone=asked.pop("standalone"), skill=skill, **named)
    if problem is not None:
        raise click.UsageError(problem, click.get_current_context())
    judging = JudgingOptions(judges=asked.pop("judges"), fresh=asked.pop("fresh"))
    request = use_case.EvaluateSkillRequest(skill=skill, judging=judging, **asked)
    observer = _Notes(quiet=quiet)
    done = use_case.evaluate(request, StageFiles.at(Workspace.at(Path()), state_root, output), observer)
    for line in use_case.remarks(done.body):
        observer.note(line)
    click.echo(json.dumps(done.document if as_json else use_case.summary(done.body), allow_nan=False))
    return EXIT_OF[SkillVerdict(str(done.body.verdict))]


def main(args: Sequence[str] | None = None) -> None:
    """Ends the process with the exit code of the verdict, or 2 with what is wrong."""
    sys.exit(_run(args))


def _run(args: Sequence[str] | None) -> int:
    try:
        code = compat_command.main(args=args if args is None else list(args), prog_name=NAME, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except HonestoneError as error:
        report(error, resume=shlex.join([*NAME.split(), *(word for word in compat_command.words if word != "--fresh")]))
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        return 130
    except click.ClickException as error:
        report_usage(error)
        return 2
    except OSError as error:
        return report_outside(error)
