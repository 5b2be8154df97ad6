"""The options of `eval SUITE`, taken out of a command's keyword arguments and checked, and the
formats of what it prints.
"""

from __future__ import annotations

import gc
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from honestone.cli.options import shown_store
from honestone.cli.terminal import dump, render, write, write_page
from honestone.core.numbers import exact
from honestone.system.drawing import style_for

if TYPE_CHECKING:
    from msgspec import Struct

    from honestone.app.judging_options import JudgingOptions
    from honestone.app.suites.plan import SuiteRequest
    from honestone.report.case_by_case import SuiteReport


_AS_GIVEN = (
    "outputs pick attempts attempt_rule concurrency target_timeout baseline across_contracts update_baseline "
    "require_improvement with_skills"
).split()


def take_suite_request(
    suite: Path,
    judging: JudgingOptions,
    options: dict[str, Any],
    *,
    targets: tuple[str, ...],
    accept_loss: bool,
    locked: bool,
) -> SuiteRequest:
    """Raises UsageError for a shard or a gate that cannot be."""
    from honestone.app.suites.choice import CaseChoice, parse_shard
    from honestone.app.suites.compare import require_gates
    from honestone.app.suites.plan import SuiteRequest

    least, shard = options["min_pass_rate"], options["shard"]
    return SuiteRequest(
        suite=suite,
        judging=judging,
        targets=targets,
        artifacts=options["subjects"],
        choice=CaseChoice(
            ids=options["cases"],
            tags=options["tags"],
            splits=options["splits"],
            failed=options["failed"],
            errored=options["errored"],
            shard=None if shard is None else parse_shard(shard),
        ),
        min_pass_rate=None if least is None else exact(least),
        fail_on=require_gates(options["fail_on"]),
        accept_loss=accept_loss,
        locked=locked,
        judge_again=_judge_again(click.get_current_context(), suite),
        is_brief=True,
        **{name: options[name] for name in _AS_GIVEN},
    )


_OF_A_TARGET: Final = (
    *(
        "targets",
        "subjects",
        "outputs",
        "fresh",
        "target_timeout",
        "baseline",
        "update_baseline",
        "with_skills",
    ),
    *("remote", "priority"),
)


def _judge_again(ctx: click.Context, suite: Path) -> str:
    """This command with the outputs on record, instead of what makes new ones."""
    words = ["honestone", "eval", str(suite), "--outputs", "last"]
    for option in ctx.command.params:
        name = option.name or ""
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not given or not isinstance(option, click.Option) or name in _OF_A_TARGET:
            continue
        value = ctx.params[name] if name in ctx.params else shown_store()
        for one in value if option.multiple else [value]:
            words += [option.opts[-1]] if option.is_flag else [option.opts[-1], str(one)]
    return shlex.join(words)


SUITE_FORMATS = ("text", "markdown", "json", "junit", "csv", "jsonl", "html")
# What `show` makes of a recorded run for other tools, besides the reports that `eval` prints as
# well.
SUITE_EXPORTS = ("inspect", "langfuse", "mlflow", "parquet")


def print_suite(document: Mapping[str, object] | Struct | SuiteReport, form: str) -> None:
    from honestone.report.case_by_case import SuiteReport

    if not isinstance(document, SuiteReport):
        (write_page if form == "html" else write)(render(document, form))
        return
    gc.freeze()  # What lives now stays to the end of the command; looking through it again and again is waste.
    if form == "html":
        from honestone.report.suite_html import suite_pieces

        write_page(suite_pieces(document))
        return
    for part in _parts(document, form):
        write(part)


def _parts(report: SuiteReport, form: str) -> Iterable[str]:
    """A report case by case: none is held longer than it takes to write it. Formats of other
    packages get all of it.
    """
    if form == "json":
        return dump_report(report)
    if form in _IN_PARTS:
        parts: Iterable[str] = vars(import_module(f"honestone.report.{_IN_PARTS[form]}"))[
            f"{form}_parts"
        ](report)
        return parts
    if form == "markdown":
        from honestone.report.markdown import suite_markdown

        return [suite_markdown(report)]
    if form == "text":
        from honestone.report.suite_text import suite_text

        return [suite_text(report, style_for(sys.stdout))]
    return [render(report.whole, form)]


# Where the function FORMAT_parts of a format is.
_IN_PARTS: Final = {"csv": "rows", "jsonl": "rows", "junit": "junit"}


_NO_CASES: Final = '\n "cases": []'


def dump_report(report: SuiteReport) -> Iterator[str]:
    """`dump` of the whole report and a line break, case by case."""
    before, at, after = dump(report.head).partition(_NO_CASES)
    yield before + at[:-1]
    between = "\n  "
    for case in report.cases:
        yield between + dump(case).replace("\n", "\n  ")
        between = ",\n  "
    yield ("]" if between == "\n  " else "\n ]") + after + "\n"
