"""`honestone rubric check`: what is wrong or weak in a rubric, what can be fixed, and whether it
judges as it must.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from honestone.app.judging.judging_options import AcceptLoss, JudgingOptions
from honestone.app.options import Argument, Option
from honestone.cli import options as shared
from honestone.cli.helping import Grouped
from honestone.cli.terminal import Progress, dump, here, write
from honestone.core.judging.rubric import Rubric
from honestone.core.numbers import show_bar, show_points
from honestone.system.drawing import clean, count

if TYPE_CHECKING:
    from honestone.app.rubrics.check import RubricCheck
    from honestone.app.rubrics.history import History
    from honestone.app.rubrics.trial import GoldenRow, OracleResult
    from honestone.formats.rubric.rubric_fix import Fixed


@click.command("check", cls=Grouped, short_help="Find what is wrong or weak in a rubric.")
@shared.from_parameters
def check(
    *,
    path: Annotated[Path, Argument()],
    strict: Annotated[bool, Option("Findings exit 1.")] = False,
    fix: Annotated[bool, Option("Fix what is safe to fix; comments and layout stay.")] = False,
    golden: Annotated[
        Path | None, Option("Examples with the verdict that the rubric must give.", metavar="DIR")
    ] = None,
    oracle: Annotated[
        Path | None, Option("This must pass and an empty artifact must fail.", metavar="GOOD")
    ] = None,
    history: Annotated[
        bool | None,
        Option(
            "What recorded runs say about the items. [on where there is a store]",
            name="--history/--no-history",
        ),
    ] = None,
    accept_loss: AcceptLoss = False,
    judging: JudgingOptions,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Check a rubric, ours or another tool's. Errors exit 2; findings exit 0, or 1 with --strict.

    With --golden or --oracle judges are asked: exit 1 when a verdict is not as it must be, 3 when
    it cannot be decided.
    """
    from honestone.app.rubrics.check import RubricCheckRequest, check_rubric

    request = RubricCheckRequest(
        judging=judging,
        path=path,
        fix=fix,
        golden=golden,
        oracle=oracle,
        history=history,
        accept_loss=accept_loss,
    )
    with Progress(quiet=quiet) as progress:
        checked = check_rubric(here(), request, progress)
    if as_json:
        write(dump(checked.to_plain()) + "\n")
    else:
        _print(checked, with_table=bool(request.history))
    return checked.exit_code(strict=strict)


# ----------------------------------------------------------------------------------------------------
# printing


def _print(checked: RubricCheck, *, with_table: bool) -> None:

    lines: list[str] = []
    if checked.fixed is not None:
        lines += _fix_lines(checked.fixed)
    for finding in checked.findings:
        lines.append(f"{finding.place}: {finding.message} [{finding.rule}]")
        lines.append(f"  why: {finding.why}")
        lines.append(f"  suggestion: {finding.suggestion}")
    if with_table and checked.history is not None:
        lines += _history_lines(checked.history)
    if checked.golden is not None:
        lines += _golden_lines(checked.golden)
    if checked.oracle is not None:
        lines += _oracle_lines(checked.oracle)
    lines += [f"note: {note}" for note in checked.notes]
    lines.append(
        summary(checked.rubric, len(checked.findings), broken="differs" in checked.agreements)
    )
    write("".join(f"{clean(line)}\n" for line in lines))


def _fix_lines(fixed: Fixed) -> list[str]:
    lines = []
    for change in fixed.changes:
        was = f"{change.before} became {change.after}" if change.before else f"added {change.after}"
        lines += [f"{change.place}: fixed: {was} [{change.rule}]", f"  {change.why}"]
    lines += [f"not fixed: {why}" for why in fixed.left]
    return lines or ["nothing to fix"]


def _history_lines(history: History) -> list[str]:
    from honestone.app.rubrics.history import history_table

    head = f"record: {count(len(history.record), 'artifact', 'artifacts')} in {count(history.runs, 'run', 'runs')}"
    return (
        [head, *(f"  {row}" for row in history_table(history))]
        if history.items
        else [f"{head}; no answer to these items"]
    )


def _golden_lines(rows: Sequence[GoldenRow]) -> list[str]:
    width = max((len(row.example.name) for row in rows), default=0)
    lines = []
    for row in rows:
        card = row.tried.card
        score = (
            show_points(card.low)
            if card.low == card.high
            else f"{show_points(card.low)}-{show_points(card.high)}"
        )
        lines.append(
            f"golden  {row.agreement:<11}  {row.example.name:<{width}}  {row.tried.verdict.outcome}, {score} points"
        )
        lines += [f"        {words}" for words in row.differences]
        if row.agreement != "as expected":
            lines += [f"        because {reason}" for reason in row.tried.verdict.reasons]
    right = sum(row.agreement == "as expected" for row in rows)
    return [
        *lines,
        f"{right} of {count(len(rows), 'golden example', 'golden examples')} as expected",
    ]


def _oracle_lines(oracle: OracleResult) -> list[str]:
    state = {"as expected": "sound", "differs": "broken", "undecided": "undecided"}[
        oracle.agreement
    ]
    good, empty = (
        f"{tried.verdict.outcome} ({show_points(tried.card.low)} points)"
        for tried in (oracle.good, oracle.empty)
    )
    lines = [f"oracle  {state}: {oracle.path} is {good}, an empty artifact is {empty}"]
    lines += [f"        {words}" for words in oracle.broken]
    if oracle.agreement == "undecided":
        lines += [
            f"        {reason}"
            for tried in (oracle.good, oracle.empty)
            for reason in tried.verdict.reasons
        ]
    if oracle.met_by_nothing:
        lines.append(f"        met by an empty artifact: {', '.join(oracle.met_by_nothing)}")
    return lines


def summary(rubric: Rubric, findings: int, *, broken: bool = False) -> str:
    """One line: how much is asked, of whom, and every bar. `broken`: it gave an example another
    verdict than it must.
    """
    criteria = sum(1 for _ in rubric.walk())
    items = list(rubric.questions())
    checks = sum(1 for _, item in items if item.check is not None)
    what = f"{count(criteria, 'criterion', 'criteria')}, {count(len(items), 'item', 'items')} ({checks} answered by code)"
    bars = f"threshold {show_bar(rubric.threshold)}, floor {show_bar(rubric.floor) if rubric.floor else 'off'}"
    parts = ["wrong verdicts on examples"] if broken else []
    parts += [count(findings, "finding", "findings")] if findings or broken else ["sound"]
    return f"{', '.join(parts)}: {what}; {bars}"
