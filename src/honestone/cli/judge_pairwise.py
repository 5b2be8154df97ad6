"""`honestone judge pairwise`: which of two artifacts meets a rubric better, by judges that see both in both orders."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.app.setup import (
    JudgingOptions,
    choose_judges,
    limit,
    load_rubric,
    make_checker,
    make_context,
    make_pair_seats,
    make_panel,
    make_seats,
    max_bytes,
    never_judged,
    open_store_for,
    preflight_checks,
    refuse_if_all_refuse,
    settings_here,
)
from honestone.cli import options as shared
from honestone.cli.progress import Progress
from honestone.core.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from honestone.engine.pairwise import PairJudged
    from honestone.report.documents.pairwise import PairwiseDoc


@click.command("pairwise", short_help="Compare two artifacts by one rubric.")
@click.argument("a", type=shared.PATH)
@click.argument("b", type=shared.PATH)
@click.option("--rubric", "rubric_path", type=shared.PATH, required=True, help="The rubric file.")
@shared.judging_options
@shared.json_option
@shared.quiet_option
def pairwise(a: Path, b: Path, rubric_path: Path, as_json: bool, quiet: bool, **options: Any) -> int:
    """Say which of two files or folders meets a rubric better, criterion by criterion.

    Every model judge is asked twice, with A first and with B first. What changes with the order is a tie and counted
    as inconsistent. Checks are compared by code. The preference is from 0 (A) to 100 (B).

    Exits 0 when it could be judged, 3 when not, 2 when something is wrong with the call.
    """
    judging = JudgingOptions.take(options)
    _refuse_bars(judging)
    with Progress(quiet=quiet) as progress:
        return _Pairwise(a, b, rubric_path, judging, progress).run(as_json=as_json)


def _refuse_bars(judging: JudgingOptions) -> None:
    """What means nothing in a comparison is refused, not ignored."""
    for name, given in (("--threshold", judging.threshold), ("--floor", judging.floor)):
        if given is not None:
            raise UsageError(
                f"{name} is a bar for scores, and a comparison has none", hint="`honestone eval` scores each artifact"
            )
    if judging.combine == "min":
        raise UsageError("--combine min would always side with A", hint="use mean, median or majority")


class _Pairwise:
    """One comparison: everything is read and checked before the first call."""

    def __init__(self, a: Path, b: Path, rubric_path: Path, judging: JudgingOptions, progress: Progress) -> None:
        from honestone.core.pairwise import ORDERS, pair_question
        from honestone.system.files import load_artifact, printable

        self._judging = judging
        self._progress = progress
        self._settings = settings_here()
        self._rubric = load_rubric(rubric_path)
        self._rubric_name = printable(rubric_path)
        self._names = [printable(path) for path in (a, b)]
        self._checker = make_checker(self._rubric, rubric_path, judging, [a, b])
        exclude = never_judged(self._rubric, rubric_path, self._checker)
        size = max_bytes(judging, self._settings)
        self._loaded = [load_artifact(path, exclude=exclude, max_bytes=size) for path in (a, b)]
        self._a, self._b = (loaded.version for loaded in self._loaded)
        for version in (self._a, self._b):
            preflight_checks(self._rubric, self._checker, version)
        names = choose_judges(judging, self._rubric, self._settings)
        seats = make_seats(names, make_context(judging, self._settings), looks=judging.looks)
        self._seats = make_pair_seats(seats)
        models = [(seat.id, seat.judge) for seat in self._seats if hasattr(seat.judge, "refusal")]
        questions = [pair_question(self._rubric, self._a, self._b, order) for order in ORDERS]
        refuse_if_all_refuse(" and ".join(self._names), models, questions)

    def run(self, *, as_json: bool) -> int:
        from honestone.cli.printing import dump, write
        from honestone.cli.progress import style_for
        from honestone.report.pairwise import pairwise_text

        judged = self._judge()
        self._progress.close()
        document = self._document(judged)
        if as_json:
            write(dump(document) + "\n")
        else:
            import sys

            write(pairwise_text(document, style_for(sys.stdout)))
        return 3 if judged.comparison.preferred is None else 0

    def _judge(self) -> PairJudged:
        from honestone.app.stopping import run_to_end, same_command
        from honestone.engine.meter import Meter
        from honestone.engine.pairwise import judge_pair

        calls = 2 * len(self._seats)
        most = int(limit(self._judging.max_calls, self._settings, "max_calls", 2 * self._parts * calls + 10))
        usd = self._judging.max_usd
        meter = Meter(
            calls=most,
            minutes=limit(self._judging.max_minutes, self._settings, "max_minutes", 24 * 60),
            usd=usd if usd is not None else self._settings.limits.get("max_usd"),
            clock=time.monotonic,
        )
        if self._seats:
            judges = ", ".join(seat.id for seat in self._seats)
            self._progress.note(
                f"2 artifacts in both orders x {len(self._seats)} judge{'s' if len(self._seats) > 1 else ''} ({judges}): "
                f"{calls * self._parts} calls, at most {most}; recorded replies cost nothing"
            )
        with open_store_for(self._settings) as store:
            panel = make_panel(self._seats, store, meter, self._judging)
            try:
                return run_to_end(
                    lambda: judge_pair(
                        self._rubric, self._a, self._b, panel=panel, checker=self._checker, rule=self._judging.rule
                    ),
                    panel.close,
                )
            except KeyboardInterrupt:
                self._progress.close()
                raise Interrupted(
                    "interrupted; the same command goes on and repeats no call on record", hint=same_command()
                ) from None

    @property
    def _parts(self) -> int:
        """Calls that one look of one judge takes."""
        from honestone.core.question import asked_criteria

        # A comparison has one question a criterion, so items and criteria are the same.
        return 1 if self._judging.ask == "rubric" else len(asked_criteria(self._rubric))

    def _document(self, judged: PairJudged) -> PairwiseDoc:
        from honestone.report.pairwise import PairFacts, pairwise_document
        from honestone.report.scorecard import usage_document

        facts = PairFacts(
            title=self._rubric.title,
            rubric=self._rubric_name,
            a=(self._names[0], self._a.digest),
            b=(self._names[1], self._b.digest),
            contract=self._contract(),
            usage=usage_document(judged.spend.to_plain()),
            text=f"{self._a.text}\n{self._b.text}",
            notes=self._notes(judged),
            packed=judged.packed,
        )
        return pairwise_document(judged.comparison, judged.ballots, facts)

    def _contract(self) -> str:
        from honestone.core.contract import make_contract

        checks = [item.check for _, item in self._rubric.questions() if item.check is not None]
        contract = make_contract(
            self._rubric,
            judges=[seat.identity for seat in self._seats],
            checks=[dict(self._checker.identity(check)) for check in checks],
            rule=str(self._judging.rule),
            options={
                "kind": "pairwise",
                "evidence": self._judging.evidence,
                "ask": self._judging.ask,
                "pack": self._judging.pack,
            },
        )
        return contract.id

    def _notes(self, judged: PairJudged) -> list[str]:
        notes = [f"{side}: {note}" for side, loaded in zip("AB", self._loaded, strict=True) for note in loaded.notes]
        if judged.are_same:
            notes.append("both are the same, byte for byte: no judge was asked")
        for judge, shown in judged.packed.items():
            notes += [f"{judge} was shown of {side.upper()}: {part['shown']}" for side, part in shown.items()]
        return notes
