"""`honestone suite check`: whether a suite can be read, and what in it would show nothing when it
is run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.options import Argument, Option
from honestone.app.suites.options import PromptNames
from honestone.cli import options as shared
from honestone.cli.helping import Grouped
from honestone.cli.terminal import Progress, dump, here, write
from honestone.system.drawing import clean, count

if TYPE_CHECKING:
    from honestone.app.suites.check import SuiteCheck
    from honestone.core.authoring.suite_lint import SuiteRemark


@click.command("check", cls=Grouped, short_help="Find what is wrong or weak in a suite.")
@shared.from_parameters
def check(
    *,
    path: Annotated[Path, Argument()],
    strict: Annotated[bool, Option("Findings exit 1; advice does not.")] = False,
    skill: Annotated[
        Path | None, Option("The skill it is for: its structure is looked at too.", metavar="DIR")
    ] = None,
    runs: Annotated[
        tuple[str, ...],
        Option(
            "A run or a saved report that shows which tasks are passed. [the suite's runs on record]",
            name="--with-run",
            metavar="RUN",
        ),
    ] = (),
    run_bare: Annotated[
        bool, Option("Run the tasks once without any skill, to see which need none.", name="--run")
    ] = False,
    target: Annotated[
        str | None, Option("With --run: who does the tasks.", short="-t", metavar="TARGET")
    ] = None,
    prompts: PromptNames = (),
    accept_loss: Annotated[
        bool, Option("Check the rest of a file that says what honestone cannot.")
    ] = False,
    judging: JudgingOptions,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Check a suite, ours or another tool's. Errors and losses exit 2; findings exit 0, or 1 with
    --strict.

    Which tasks are passed without the skill, and which are never passed, is known from runs: those
    on record, those named by --with-run, or one made now by --run.
    """
    from honestone.app.suites.check import SuiteCheckRequest, check_suite

    request = SuiteCheckRequest(
        judging=judging,
        path=path,
        skill=skill,
        runs=runs,
        run_bare=run_bare,
        target=target,
        prompts=prompts,
        accept_loss=accept_loss,
    )
    with Progress(quiet=quiet) as progress:
        checked = check_suite(here(), request, progress)
    write(dump(checked.to_plain()) + "\n" if as_json else _text(checked))
    return 1 if strict and checked.findings else 0


def _text(checked: SuiteCheck) -> str:
    lines = [row for remark in checked.findings for row in _remark_lines(checked, remark, "")]
    lines += [
        row for remark in checked.advice for row in _remark_lines(checked, remark, "advice: ")
    ]
    for one in checked.structure:
        lines += [
            f"{one.place}: structure: {one.message} [{one.rule}]",
            f"  suggestion: {one.suggestion}",
        ]
    lines += [f"note: {note}" for note in checked.notes]
    lines.append(_summary(checked))
    return "".join(f"{clean(row)}\n" for row in lines)


def _remark_lines(checked: SuiteCheck, remark: SuiteRemark, kind: str) -> Iterator[str]:
    about = f"{remark.case}: " if remark.case is not None else ""
    yield f"{checked.place_of(remark)}: {kind}{about}{remark.message} [{remark.rule}]"
    yield f"  why: {remark.why}"
    yield f"  suggestion: {remark.suggestion}"


def _summary(checked: SuiteCheck) -> str:
    cases = checked.source.suite.cases
    by_code = sum(1 for case in cases if not case.rubric.asks_judges)
    parts = [
        f"{count(len(cases), 'case')} ({by_code} judged by code alone)",
        checked.source.dialect,
    ]
    findings, advice = len(checked.findings), len(checked.advice) + len(checked.structure)
    weak = [count(findings, "finding")] if findings or advice else ["nothing to say"]
    weak += [f"{advice} advice"] if advice else []
    return f"{', '.join(parts)}: {', '.join(weak)}"
