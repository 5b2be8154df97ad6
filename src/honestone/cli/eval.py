"""`honestone eval`: score artifacts, print scorecards, exit with the verdict."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from honestone.cli import options as shared
from honestone.cli.printing import FORMATS, dump, render_scorecards, write
from honestone.cli.progress import Progress
from honestone.cli.wiring import (
    JudgingOptions,
    choose_judges,
    contract_for,
    limit,
    load_rubric,
    make_checker,
    make_seats,
    make_wiring,
    max_bytes,
    open_store,
    preflight_checks,
    settings_here,
)
from honestone.core import events
from honestone.core.artifact import Artifact
from honestone.core.ballot import ballot_to_plain
from honestone.core.errors import UsageError
from honestone.core.events import Event
from honestone.core.rubric import to_plain
from honestone.core.scorecard import Scorer
from honestone.core.verdict import Outcome

MANY = 30
"""From this many artifacts on, text output is a line each as they are judged, and the details of the first that fail."""


@click.command("eval", short_help="Score artifacts against a rubric.")
@click.argument("artifacts", nargs=-1, required=True, type=shared.PATH, metavar="ARTIFACT...")
@click.option("--rubric", "rubric_path", type=shared.PATH, help="The rubric file.")
@shared.judging_options
@click.option(
    "--target", default="identity", help="What makes the output that is judged: identity or cmd:COMMAND."
)
@click.option(
    "--input", "input_text", default=None, help="The input that a target gets. [the artifact's text]"
)
@click.option("--reference", default=None, help="A reference answer that judges see.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@shared.json_option
@shared.quiet_option
def eval_(
    artifacts: tuple[Path, ...],
    rubric_path: Path | None,
    target: str,
    input_text: str | None,
    reference: str | None,
    form: str,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Score files or folders against a rubric.

    Exits 0 when all pass, 1 when one fails, 3 when one could not be judged, 2 when something is wrong with the call.
    """
    judging = JudgingOptions.take(options)
    if rubric_path is None:
        _refuse_without_rubric(artifacts)
        raise UsageError("eval needs a rubric", hint="honestone eval ARTIFACT --rubric RUBRIC")
    with Progress(quiet=quiet) as progress:
        return _Eval(judging, artifacts, rubric_path, target, input_text, reference, progress).run(
            artifacts, "json" if as_json else form
        )


def _refuse_without_rubric(artifacts: Sequence[Path]) -> None:
    """A single file without --rubric would be a suite: say what it is instead."""
    from honestone.formats.rubric_file import RubricFileErrors, read_rubric

    if len(artifacts) != 1:
        return
    path = artifacts[0]
    if path.suffix in (".yaml", ".yml", ".json"):
        try:
            read_rubric(path)
        except RubricFileErrors:
            return
        raise UsageError(
            f"{str(path)!r} is a rubric, but what shall be judged by it?",
            hint=f"honestone eval ARTIFACT --rubric {path}",
        )


@dataclass(frozen=True, slots=True)
class _Result:
    """One artifact's `judged` event and what quotes are looked up in."""

    event: Event
    text: str | None


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
    ) -> None:
        from honestone.adapters.registry import make_target
        from honestone.engine.judging import Bench
        from honestone.engine.meter import Meter
        from honestone.engine.panel import Panel

        self._judging = judging
        self._progress = progress
        self._input = input_text
        self._reference = reference
        self._settings = settings_here()
        self._max_bytes = max_bytes(judging, self._settings)
        self._exclude = frozenset({rubric_path.resolve()})
        self._rubric = load_rubric(rubric_path, threshold=judging.threshold, floor=judging.floor)
        self._scorer = Scorer(self._rubric, judging.rule)
        self._checker = make_checker(rubric_path, judging)
        preflight_checks(self._rubric, self._checker)
        wiring = make_wiring(judging, self._settings)
        self._target = make_target(target, wiring)
        for path in artifacts:
            self._require(path, few=len(artifacts) < 500)
        names = choose_judges(judging, self._rubric, self._settings)
        self._seats = make_seats(names, wiring, looks=judging.looks)
        self._contract = contract_for(self._rubric, self._seats, self._checker, judging)
        self._meter = Meter(
            calls=0, minutes=limit(judging.max_minutes, self._settings, "max_minutes", 24 * 60),
            usd=judging.max_usd if judging.max_usd is not None else self._settings.limits.get("max_usd"),
            clock=time.monotonic,
        )  # fmt: skip
        self._make_panel = lambda store: Panel(
            seats=self._seats, store=store, meter=self._meter, fresh=judging.fresh,
            require_evidence=judging.evidence == "require",
        )  # fmt: skip
        self._make_bench = lambda panel: Bench(self._rubric, self._checker, panel)

    def run(self, paths: Sequence[Path], form: str) -> int:
        most = 2 * len(paths) * len(self._seats)
        self._meter.calls = int(limit(self._judging.max_calls, self._settings, "max_calls", 2 * most + 10))
        if self._seats:
            self._progress.note(self._preflight(len(paths)))
        with open_store_for(self._settings) as store:
            self._store = store
            self._bench = self._make_bench(self._make_panel(store))
            self._run = store.start_run(
                kind="eval", subject=", ".join(str(path) for path in paths[:3]) + (", ..." if len(paths) > 3 else ""),
                identity="", contract=self._contract.id, first=self._started(),
            )  # fmt: skip
            return asyncio.run(self._work(paths, form))

    def _require(self, path: Path, *, few: bool) -> None:
        """Bad input is refused before anything is spent; what is read later is the same bytes or another error."""
        from honestone.system.files import load_artifact

        if few or self._rubric.asks_judges or not path.exists():
            load_artifact(path, exclude=self._exclude, max_bytes=self._max_bytes)

    def _preflight(self, count: int) -> str:
        judges = ", ".join(seat.id for seat in self._seats)
        what = f"{count} artifacts" if count > 1 else "1 artifact"
        calls = count * len(self._seats)
        return (
            f"{what} x {len(self._seats)} judge{'s' if len(self._seats) > 1 else ''} ({judges}): "
            f"{calls} call{'s' if calls > 1 else ''}, at most {self._meter.calls}; recorded replies cost nothing"
        )

    def _started(self) -> Event:
        return {
            "type": events.STARTED, "kind": "eval", "rubric": to_plain(self._rubric), "contract": dict(self._contract.document),
            "contract_id": self._contract.id, "rule": str(self._judging.rule), "panel": [seat.id for seat in self._seats],
            "limits": {"calls": self._meter.calls, "minutes": self._meter.minutes, "usd": self._meter.usd},
        }  # fmt: skip

    async def _work(self, paths: Sequence[Path], form: str) -> int:
        printer = Printer(form, many=len(paths) > 1 if form == "json" else len(paths) >= MANY)
        outcomes: set[str] = set()
        try:
            async for result in self._judge_all(paths):
                document = self._document(result)
                outcomes.add(document["verdict"])
                self._progress.clear()
                printer.add(document)
        finally:
            await self._bench.panel.close()
        overall = overall_outcome(outcomes)
        self._store.finish_run(
            self._run, overall, {"type": events.FINISHED, "result": overall, "reason": "", "seconds": round(self._meter.seconds, 3)}
        )  # fmt: skip
        self._progress.close()
        printer.end()
        self._note_usage()
        return exit_code_of(overall)

    def _note_usage(self) -> None:
        spent = self._meter.spent
        if self._seats and spent.judge_calls == 0 and spent.cached_calls:
            self._progress.note(
                f"0 judge calls: all {spent.cached_calls} replies were on record (--fresh asks anew)"
            )

    def _document(self, result: _Result) -> dict[str, Any]:
        from honestone.report.documents import judged_document

        started = {"contract_id": self._contract.id}
        return judged_document(self._scorer, started, result.event, run=self._run, text=result.text)

    async def _judge_all(self, paths: Sequence[Path]) -> AsyncIterator[_Result]:
        """Results in the order given, some at a time. Events are written before a result is shown."""
        window: deque[asyncio.Task[_Result]] = deque()
        width = max(2, int(self._settings.limits.get("concurrency", 8)))
        waiting = iter(paths)
        done = 0
        try:
            while True:
                while len(window) < width and (path := next(waiting, None)) is not None:
                    window.append(asyncio.create_task(self._judge(path)))
                if not window:
                    return
                self._progress.progress(done, len(paths), "judging")
                result = await window.popleft()
                self._store.append(self._run, result.event)
                done += 1
                yield result
        finally:
            for task in window:
                task.cancel()
            await asyncio.gather(*window, return_exceptions=True)

    async def _judge(self, path: Path) -> _Result:
        from honestone.engine.versions import version_blobs
        from honestone.system.files import load_artifact

        loaded = load_artifact(path, exclude=self._exclude, max_bytes=self._max_bytes)
        artifact = Artifact(str(path), loaded.version)
        event: Event = {"type": events.JUDGED, "path": str(path), "digest": loaded.version.digest}
        if loaded.notes:
            event["notes"] = list(loaded.notes)
        output: str | None = None
        if self._target is not None:
            made = await self._target.run(loaded.version, self._input)
            if made.error is not None:
                return _Result({**event, "ballots": [], "error": f"the target failed: {made.error}"}, None)
            event["output"] = output = made.text
        judged = await self._bench.judge(
            artifact, input=self._input, reference=self._reference, output=output
        )
        event["ballots"] = [ballot_to_plain(ballot) for ballot in judged.ballots]
        event["spend"] = judged.spend.to_plain()
        if self._seats:
            self._store.keep_blobs(version_blobs(loaded.version))
        return _Result(event, output if output is not None else loaded.version.text if self._seats else None)


class Printer:
    """Prints documents as they come where the format allows it, so that memory stays flat over many artifacts.

    `many`: JSON is a list, and text is one line each with the details of the first three that did not pass.
    """

    def __init__(self, form: str, *, many: bool) -> None:
        self._is_list = form == "json" and many
        self._is_table = form == "text" and many
        self._form = form
        self._kept: list[dict[str, Any]] = []
        self._shown = self._passed = 0

    def add(self, document: dict[str, Any]) -> None:
        if self._is_list:
            write(("[" if self._shown == 0 else ",\n") + dump(document))
        elif self._is_table:
            write(_line(document))
        passed = document["verdict"] == Outcome.PASS
        if not self._is_list and not (self._is_table and (passed or len(self._kept) >= 3)):
            self._kept.append(document)
        self._passed += passed
        self._shown += 1

    def end(self) -> None:
        if self._is_list:
            write("]\n" if self._shown else "[]\n")
            return
        if self._is_table:
            write(f"\n{self._passed} of {self._shown} passed\n")
        for document in self._kept if self._is_table else ():
            write("\n" + render_scorecards([document], "text"))
        if not self._is_table:
            write(render_scorecards(self._kept, self._form))


def _line(document: dict[str, Any]) -> str:
    from honestone.report.draw import clean, points, score_or_interval

    score = document["score"]
    shown = points(score) if score is not None else score_or_interval(None, document["interval"])
    return f"{document['verdict']:<13}{shown:>6}  {clean(document['artifact']['path'])}\n"


def overall_outcome(outcomes: Iterable[str]) -> str:
    """Several artifacts: fail if any failed, else inconclusive if any could not be judged, else pass."""
    found = set(outcomes)
    if Outcome.FAIL in found:
        return str(Outcome.FAIL)
    return str(Outcome.PASS) if found <= {Outcome.PASS} else str(Outcome.INCONCLUSIVE)


def exit_code_of(outcome: str) -> int:
    from honestone.core.verdict import EXIT_CODES

    return EXIT_CODES[Outcome(outcome)]


class open_store_for:
    """A store for the length of a command."""

    def __init__(self, settings: Any, *, readonly: bool = False) -> None:
        self._store = open_store(settings, readonly=readonly)

    def __enter__(self) -> Any:
        return self._store

    def __exit__(self, *_: object) -> None:
        self._store.close()
