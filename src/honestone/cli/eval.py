"""`honestone eval`: score artifacts, print scorecards, exit with the verdict."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from honestone.adapters.registry import make_target
from honestone.app.setup import (
    JudgingOptions,
    choose_judges,
    contract_for,
    limit,
    load_rubric,
    make_checker,
    make_context,
    make_panel,
    make_seats,
    max_bytes,
    never_judged,
    open_store_for,
    preflight_checks,
    refuse_too_big,
    settings_here,
)
from honestone.app.stopping import run_to_end, same_command
from honestone.cli import options as shared
from honestone.cli.printing import MANY, Printer, exit_code_of, overall_outcome
from honestone.cli.progress import Progress
from honestone.cli.runs import refuse_other_formats
from honestone.cli.suites.options import take_suite_options
from honestone.cli.suites.printing import SUITE_FORMATS
from honestone.core import events
from honestone.core.artifact import Version
from honestone.core.errors import Interrupted, UsageError
from honestone.core.events import Event
from honestone.core.rubric import to_plain
from honestone.core.scorecard import Scorer
from honestone.core.verdict import judge_gate
from honestone.engine.evaluate import Evaluation, Judgement
from honestone.engine.judging import Evaluator
from honestone.engine.meter import Meter
from honestone.report.documents import Known
from honestone.system.files import Loaded, load_artifact, printable

_FEW = 500
_KEPT_BYTES = 2_000_000
"""Artifacts read to be checked are judged as they were read, as far as they may stay in memory; others are read again."""


@click.command("eval", short_help="Score artifacts against a rubric, or run a suite.")
@click.argument("artifacts", nargs=-1, required=True, metavar="ARTIFACT...|SUITE")
@click.option("--rubric", "rubric_path", type=shared.PATH, help="The rubric file; without one, run a suite.")
@shared.judging_options
@click.option("--target", default=None, help="What makes the output that is judged. [the suite's, else identity]")
@click.option("--gate-only", is_flag=True, help="Stop asking judges once the verdict cannot change.")
@click.option("--input", "input_text", default=None, help="The input that a target gets. [the artifact's text]")
@click.option("--reference", default=None, help="A reference answer that judges see.")
@click.option(
    "--accept-loss", is_flag=True, help="Read another tool's file although something in it has no meaning here."
)
@click.option("--locked", is_flag=True, help="Refuse a rubric, prompt, judge or bar other than `rubric lock` wrote.")
@shared.suite_options
@click.option("--format", "form", type=click.Choice(SUITE_FORMATS), default="text", show_default=True)
@shared.json_option
@shared.quiet_option
def eval_(
    artifacts: tuple[str, ...],
    rubric_path: Path | None,
    target: str | None,
    gate_only: bool,
    input_text: str | None,
    reference: str | None,
    accept_loss: bool,
    locked: bool,
    form: str,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Score files or folders against a rubric, or run the cases of a suite.

    Exits 0 when all pass, 1 when one fails, 3 when one could not be judged, 2 when something is wrong with the call.
    """
    judging = JudgingOptions.take(options)
    paths = [Path(name) for name in artifacts]
    form = "json" if as_json else form
    with Progress(quiet=quiet) as progress:
        if rubric_path is None:
            from honestone.cli.eval_suite import eval_suite

            if len(paths) != 1:
                raise UsageError("eval needs a rubric", hint="honestone eval ARTIFACT... --rubric RUBRIC")
            _refuse_for_suites(gate_only, input_text, reference)
            asked = take_suite_options(options, target=target, accept_loss=accept_loss, locked=locked)
            return eval_suite(paths[0], judging, asked, progress, form)
        _refuse_for_artifacts(options)
        refuse_other_formats(form, "an artifact's scorecard")
        return _Eval(
            judging,
            paths,
            rubric_path,
            target or "identity",
            input_text,
            reference,
            progress,
            gate_only=gate_only,
            accept_loss=accept_loss,
            locked=locked,
        ).run(paths, form)


def _refuse_for_suites(gate_only: bool, input_text: str | None, reference: str | None) -> None:
    for name, given in (("--gate-only", gate_only), ("--input", input_text), ("--reference", reference)):
        if given:
            raise UsageError(
                f"{name} is for artifacts; the cases of a suite say it themselves", hint="or name a --rubric"
            )


def _refuse_for_artifacts(options: dict[str, Any]) -> None:
    """Options of suites are not silently without effect."""
    for name, given in options.items():
        if given:
            raise UsageError(
                f"--{name.replace('_', '-')} is for suites, but --rubric judges artifacts",
                hint="leave one of the two out",
            )


class _Eval:
    """One `eval` command: everything is read and checked before the first call."""

    def __init__(
        self,
        judging: JudgingOptions,
        artifacts: Sequence[Path],
        rubric_path: Path,
        target: str,
        input_text: str | None,
        reference: str | None,
        progress: Progress,
        *,
        gate_only: bool,
        accept_loss: bool = False,
        locked: bool = False,
    ) -> None:
        self._judging = judging
        self._gate_only = gate_only
        self._progress = progress
        self._input = input_text
        self._reference = reference
        self._settings = settings_here()
        self._max_bytes = max_bytes(judging, self._settings)
        self._rubric = load_rubric(
            rubric_path, threshold=judging.threshold, floor=judging.floor, accept_loss=accept_loss, note=progress.note
        )
        self._scorer = Scorer(self._rubric, judging.rule)
        self._checker = make_checker(self._rubric, rubric_path, judging, artifacts)
        self._exclude = never_judged(self._rubric, rubric_path, self._checker)
        context = make_context(judging, self._settings)
        self._target = make_target(target, context)
        self._sizes: list[tuple[Path, int]] = []
        self._looked_at: dict[Path, Loaded] = {}
        self._has_folders = self._require_all(artifacts)
        preflight_checks(self._rubric, self._checker, self._only_version(artifacts))
        names = choose_judges(judging, self._rubric, self._settings)
        self._seats = make_seats(names, context, looks=judging.looks)
        if self._target is None:
            refuse_too_big(
                self._seats,
                self._rubric,
                judging,
                self._sizes,
                lambda path: self._load(path).version,
                input=input_text,
                reference=reference,
            )
        self._contract = contract_for(self._rubric, self._seats, self._checker, judging)
        self._contract_id = self._contract.id
        if locked:
            from honestone.cli.rubrics.lock import check_lock

            check_lock(rubric_path, self._contract)
        self._rubric_name = printable(rubric_path)
        self._known = Known()
        self._meter = Meter(
            calls=0,
            minutes=limit(judging.max_minutes, self._settings, "max_minutes", 24 * 60),
            usd=judging.max_usd if judging.max_usd is not None else self._settings.limits.get("max_usd"),
            clock=time.monotonic,
        )

    def run(self, paths: Sequence[Path], form: str) -> int:
        most = 2 * len(paths) * len(self._seats)
        self._meter.calls = int(limit(self._judging.max_calls, self._settings, "max_calls", 2 * most + 10))
        if self._seats:
            self._progress.note(self._preflight(len(paths)))
        with open_store_for(self._settings) as store:
            self._store = store
            panel = make_panel(self._seats, store, self._meter, self._judging)
            gate_only = self._scorer if self._gate_only else None
            self._evaluator = Evaluator(self._rubric, self._checker, panel, gate_only=gate_only)
            self._run = store.start_run(
                kind="eval",
                subject=", ".join(printable(path) for path in paths[:3]) + (", ..." if len(paths) > 3 else ""),
                identity="",
                contract=self._contract.id,
                first=self._started(),
            )
            try:
                return run_to_end(lambda: self._work(paths, form), panel.close)
            except KeyboardInterrupt:
                self._progress.close()
                raise Interrupted(
                    "interrupted; the same command goes on and repeats no call on record", hint=same_command()
                ) from None

    def _require_all(self, paths: Sequence[Path]) -> bool:
        """Bad input is refused before anything is spent. Thousands of files that only code looks at are looked at
        once, when their turn comes. Returns whether any is a folder."""
        at_once = len(paths) < _FEW or self._scorer.asks_judges
        has_folders = False
        kept = 0
        for path in paths:
            if at_once:
                loaded = self._load(path)
                version = loaded.version
                self._sizes.append((path, version.size))
                found = version.is_folder
                kept += version.size
                if kept <= _KEPT_BYTES:
                    self._looked_at[path] = loaded
            else:
                found = os.path.isdir(path)
            has_folders = has_folders or found
        return has_folders

    def _load(self, path: Path) -> Loaded:
        return load_artifact(path, exclude=self._exclude, max_bytes=self._max_bytes)

    def _only_version(self, paths: Sequence[Path]) -> Version | None:
        return self._load(paths[0]).version if len(paths) == 1 and self._target is None else None

    def _preflight(self, count: int) -> str:
        judges = ", ".join(seat.id for seat in self._seats)
        what = f"{count} artifacts" if count > 1 else "1 artifact"
        calls = count * len(self._seats)
        return (
            f"{what} x {len(self._seats)} judge{'s' if len(self._seats) > 1 else ''} ({judges}): "
            f"{calls} call{'s' if calls > 1 else ''}, at most {self._meter.calls} with retries; recorded replies cost nothing"
        )

    def _started(self) -> Event:
        return {
            "type": events.STARTED,
            "kind": "eval",
            "rubric": to_plain(self._rubric),
            "rubric_path": self._rubric_name,
            "contract": dict(self._contract.document),
            "contract_id": self._contract.id,
            "rule": str(self._judging.rule),
            "panel": [seat.id for seat in self._seats],
            "limits": {"calls": self._meter.calls, "minutes": self._meter.minutes, "usd": self._meter.usd},
        }

    async def _work(self, paths: Sequence[Path], form: str) -> int:
        printer = Printer(form, many=len(paths) > 1 if form == "json" else len(paths) >= MANY)
        outcomes: set[str] = set()
        evaluation = Evaluation(
            run=self._run,
            evaluator=self._evaluator,
            store=self._store,
            contract=self._contract_id,
            observer=self._progress,
            looked_at=self._looked_at,
            target=self._target,
            input=self._input,
            reference=self._reference,
            exclude=self._exclude,
            max_bytes=self._max_bytes,
            concurrency=int(self._settings.limits.get("concurrency", 64 if self._seats else 8)),
            fresh=self._judging.fresh,
            has_folders=self._has_folders,
        )
        async for judgement in evaluation.judge_all(paths):
            outcomes.add(self._print(judgement, printer))
        overall = overall_outcome(outcomes)
        self._store.finish_run(
            self._run,
            overall,
            {"type": events.FINISHED, "result": overall, "reason": "", "seconds": round(self._meter.seconds, 3)},
        )
        self._progress.close()
        printer.end()
        self._note_usage()
        return exit_code_of(overall)

    def _note_usage(self) -> None:
        spent = self._meter.spent
        if self._seats and spent.judge_calls == 0 and spent.cached_calls:
            self._progress.note(f"0 judge calls: every reply was on record ({spent.cached_calls}); --fresh asks anew")

    def _print(self, judgement: Judgement, printer: Printer) -> str:
        """Returns the outcome. A line of a long table needs no document, unless its details will be shown."""
        self._progress.clear()
        if printer.is_table and judgement.error is None:
            card = self._scorer.card(judgement.ballots)
            outcome = str(judge_gate(card, self._rubric).outcome)
            if not printer.wants_details(outcome):
                printer.row(outcome, card.low, card.high, judgement.path)
                return outcome
        document = self._document(judgement)
        printer.add(document)
        return str(document["verdict"])

    def _document(self, judgement: Judgement) -> dict[str, Any]:
        from honestone.report.documents import Facts, add_notes, scorecard_document, usage_document

        usage = usage_document(judgement.spend.to_plain())
        facts = Facts(
            path=judgement.path,
            digest=judgement.digest,
            contract=self._contract_id,
            run=self._run,
            text=judgement.text,
            usage={**usage, "this_process": usage},
            notes=judgement.notes,
            error=judgement.error,
            rubric=self._rubric_name,
        )
        document = scorecard_document(self._scorer, judgement.ballots, facts, self._known)
        if judgement.output is not None:
            document["output"] = judgement.output
        if judgement.packed:
            document["packed"] = dict(judgement.packed)
        return add_notes(document, judgement.ballots)
