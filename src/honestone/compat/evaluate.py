"""`python -m honestone.evaluate`: the command line of improvement-evaluator, flag for flag."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Final

import click

import honestone
from honestone.app.doors.quiet import Quiet
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.options import Declared, Option, declared
from honestone.app.stages import evaluate as use_case
from honestone.app.stages.files import StageFiles
from honestone.app.workspace import Workspace
from honestone.core.errors import HonestoneError
from honestone.core.skill.evaluation import EXIT_OF, SkillVerdict
from honestone.report.errors import error_text, system_error_text, usage_text
from honestone.system.drawing import clean

NAME = "python -P -m honestone.evaluate"
_PATH = click.Path(path_type=Path)


class CallableModule(ModuleType):
    """`honestone.evaluate` stays a function after the module of that name was imported: the module
    can be called.
    """

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


def _numbers(
    *,
    pass_k: Annotated[int, Option("Attempts at each task.", min=1, max=100)] = 1,
    eval_threshold: Annotated[
        float,
        Option("The least score of a ranking that is worth running.", min=0),
    ] = use_case.DEFAULT_THRESHOLD,
) -> None:
    """The options that are numbers, declared as those of the other commands, which refuse in our own
    words.
    """


class _Number(click.FloatRange):
    """A number, refused as its declaration says; its bounds are in the help."""

    def __init__(self, declared: Declared) -> None:
        super().__init__(declared.option.min, declared.option.max)
        self._declared = declared

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return self._declared.number(str(value))
        except ValueError as error:
            raise click.UsageError(f"{self._declared.typed} is {error}", ctx) from None


_METAVARS: Final = {int: "N", float: "NUMBER"}


def _with_numbers(command: Callable[..., int]) -> Callable[..., int]:
    for one in reversed([*declared(_numbers)]):
        command = click.option(
            one.typed,
            type=_Number(one),
            default=one.default,
            help=one.option.help,
            show_default=True,
            metavar=_METAVARS[one.kind],
        )(command)
    return command


@click.command("evaluate", cls=_Command)
@click.option("--input", type=_PATH, help="The ranking artifact (pipeline mode).")
@click.option("--candidate-id", metavar="ID", help="The candidate of the ranking to evaluate.")
@click.option("--standalone", is_flag=True, help="Evaluate a skill by itself, without a ranking.")
@click.option("--task-suite", type=_PATH, required=True, help="The task suite (YAML).")
@click.option(
    "--state-root", type=_PATH, required=True, help="The folder for evaluation state and output."
)
@click.option("--skill-path", type=_PATH, help="SKILL.md or its folder (standalone mode).")
@click.option(
    "--baseline-cache-dir", type=_PATH, help="Keep baselines here for 7 days. [the store]"
)
@click.option("--mock", is_flag=True, help="Run no agent and ask no judge, for a dry run.")
@click.option(
    "--output", type=_PATH, help="The artifact's file, instead of one in STATE_ROOT/evaluations."
)
@click.option(
    "--target", metavar="TARGET", help=f"The agent that does the tasks. [{use_case.DEFAULT_TARGET}]"
)
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="JUDGE",
    help="Judge for llm-rubric tasks; repeat for a panel.",
)
@click.option("--fresh", is_flag=True, help="Run the baseline and ask every judge again.")
@click.option(
    "--require-improvement",
    is_flag=True,
    help="Pass only if the lower bound of the interval is above 0.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="The whole artifact on the last line, not its summary."
)
@click.option("-q", "--quiet", is_flag=True, help="No notes on stderr.")
@_with_numbers
def compat_command(
    state_root: Path, output: Path | None, as_json: bool, quiet: bool, **asked: Any
) -> int:
    """Whether a skill makes an agent do better on real tasks.

    \b
    Pipeline:    --input RANKING --candidate-id ID --task-suite SUITE --state-root DIR
    Standalone:  --standalone --skill-path SKILL --task-suite SUITE --state-root DIR

    \b
    The last line of stdout is the summary. Exit codes: 0 pass, 1 fail, 3 error or skipped, 2 usage.
    """
    skill, named = (
        asked.pop("skill_path"),
        {name: asked[name] for name in ("input", "candidate_id")},
    )
    problem = use_case.mode_problem(standalone=asked.pop("standalone"), skill=skill, **named)
    if problem is not None:
        raise click.UsageError(problem, click.get_current_context())
    judging = JudgingOptions(judges=asked.pop("judges"), fresh=asked.pop("fresh"))
    request = use_case.EvaluateSkillRequest(skill=skill, judging=judging, **asked)
    observer = _Notes(quiet=quiet)
    done = use_case.evaluate(
        request, StageFiles.at(Workspace.at(Path()), state_root, output), observer
    )
    for line in use_case.remarks(done.body):
        observer.note(line)
    click.echo(
        json.dumps(done.document if as_json else use_case.summary(done.body), allow_nan=False)
    )
    return EXIT_OF[SkillVerdict(str(done.body.verdict))]


def main(args: Sequence[str] | None = None) -> None:
    """Ends the process with the exit code of the verdict, or 2 with what is wrong."""
    sys.exit(_run(args))


def _run(args: Sequence[str] | None) -> int:
    try:
        code = compat_command.main(
            args=args if args is None else list(args), prog_name=NAME, standalone_mode=False
        )
        return code if isinstance(code, int) else 0
    except HonestoneError as error:
        resume = shlex.join(
            [*NAME.split(), *(word for word in compat_command.words if word != "--fresh")]
        )
        print(error_text(error, command=resume), file=sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        return 130
    except click.ClickException as error:
        ctx = error.ctx if isinstance(error, click.UsageError) else None
        print(
            usage_text(error.format_message(), None if ctx is None else ctx.command_path),
            file=sys.stderr,
        )
        return 2
    except OSError as error:
        print(system_error_text(error), file=sys.stderr)
        return 2
