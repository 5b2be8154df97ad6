"""`honestone rescore`: a run's recorded answers under other weights, bars or rules. No call, never refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.app.setup import load_rubric, open_store_for, settings_here, with_bars
from honestone.cli import options as shared
from honestone.cli.printing import FORMATS, exit_code_of, overall_outcome, render_scorecards, write
from honestone.core.contract import digest_json
from honestone.core.errors import UsageError
from honestone.core.events import Event
from honestone.core.rubric import Rubric, from_plain, to_plain
from honestone.ports import Store
from honestone.system.files import printable

if TYPE_CHECKING:
    from honestone.report.documents.scorecard import ScorecardDoc


@click.command("rescore", short_help="Score a run again from its record.")
@click.argument("run", default="last")
@click.option(
    "--rubric", "rubric_path", type=shared.PATH, help="Another version of the rubric: weights, bars, fewer items."
)
@shared.gate_options
@shared.combine_option
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@shared.json_option
def rescore(
    run: str,
    rubric_path: Path | None,
    threshold: float | None,
    floor: float | None,
    combine: str | None,
    form: str,
    as_json: bool,
) -> int:
    """Score a recorded run again, from its answers alone. Exits with the verdict it finds.

    An item that was reworded is a new item: nobody has answered it, so it stays open.
    """
    from msgspec.structs import replace

    from honestone.report.documents.scorecard import RescoredDoc

    with open_store_for(settings_here(), readonly=True) as store:
        info = store.find_run(run)
        if info.kind == "suite":
            return _rescore_suite(store, info, rubric_path, threshold, floor, combine, "json" if as_json else form)
        started = next(store.iter_events(info.id))
        if "certifying" in started:
            raise UsageError(
                f"run {info.id} improved an artifact over a suite, so its scores are pass rates",
                hint="rescore one of the suite's own runs: `honestone runs` lists them",
            )
        rubric = from_plain(started["rubric"]) if rubric_path is None else load_rubric(rubric_path)
        rubric = with_bars(rubric, threshold=threshold, floor=floor)
        contract = _new_contract(started, rubric, combine)
        was = RescoredDoc(run=info.id, contract=info.contract)
        documents = [
            replace(
                document,
                rescored_from=was,
                rubric=document.rubric if rubric_path is None else printable(rubric_path),
                usage=None if document.usage is None else replace(document.usage, judge_calls=0),
            )
            for document in _rescored(store, info, started, rubric, combine, contract)
        ]
    print(f"rescored run {info.id}, no call made", file=sys.stderr)
    print(f"  contract then  {info.contract}\n  contract now   {contract}", file=sys.stderr)
    write(render_scorecards(documents, "json" if as_json else form))
    return exit_code_of(overall_outcome(document.verdict for document in documents))


def _rescore_suite(
    store: Store,
    info: Any,
    rubric_path: Path | None,
    threshold: float | None,
    floor: float | None,
    combine: str | None,
    form: str,
) -> int:
    """A suite's run under other bars or another rule. Its rubrics are its cases' own."""
    from honestone.cli.suites.printing import print_suite
    from honestone.core.suite.record import read_record
    from honestone.report.suite_documents import suite_document

    if rubric_path is not None:
        raise UsageError(
            f"run {info.id} is a suite's, and its cases have rubrics of their own",
            hint="rescore it with --threshold, --floor or --combine; run it again under other rubrics",
        )
    log = store.events(info.id)
    shared = {**log[0]["contract"], "rule": combine or log[0]["rule"]}
    shared["options"] = {
        **shared["options"],
        **({"threshold": threshold} if threshold is not None else {}),
        **({"floor": floor} if floor is not None else {}),
    }
    contract = digest_json(shared)
    record = read_record(
        log,
        run=info.id,
        rule=combine or log[0]["rule"],
        bars=lambda rubric: with_bars(rubric, threshold=threshold, floor=floor),
    )
    document = suite_document(record)
    document["rescored_from"] = {"run": info.id, "contract": info.contract}
    document["contract"] = contract
    document["usage"] = {**document["usage"], "judge_calls": 0, "target_calls": 0}
    print(f"rescored run {info.id}, no call made", file=sys.stderr)
    print(f"  contract then  {info.contract}\n  contract now   {contract}", file=sys.stderr)
    print_suite(document, form)
    return exit_code_of(document["verdict"])


def _new_contract(started: Event, rubric: Rubric, combine: str | None) -> str:
    return digest_json({**started["contract"], "rubric": to_plain(rubric), "rule": combine or started["rule"]})


def _rescored(
    store: Store, info: Any, started: Event, rubric: Rubric, combine: str | None, contract: str
) -> Iterator[ScorecardDoc]:
    from honestone.app.history import judged_documents, scorer_of, state_of, still_valid, text_of
    from honestone.report.scorecard import Facts, scorecard_document, usage_document

    if info.kind == "eval":
        yield from judged_documents(store, info.id, rubric=rubric, rule=combine, contract=contract)
        return
    state = state_of(store.events(info.id))
    best = state.best
    was = from_plain(started["rubric"])
    cast = state.ballots.get((best, "panel"), {}).values()
    ballots = [still_valid(ballot, was, rubric) for ballot in cast]
    facts = Facts(
        path=started["artifact"]["path"],
        digest=best,
        contract=contract,
        run=info.id,
        usage=usage_document({}),
        text=text_of(store, best),
        rubric=started.get("rubric_path"),
    )
    yield scorecard_document(scorer_of(started, rubric=rubric, rule=combine), ballots, facts)
