"""How far judges can be trusted: each is asked questions whose answers are known, made from a
person's rubric and artifact.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.event_loop import run_interruptibly
from honestone.app.judging.judging_options import JudgingOptions, make_panel
from honestone.app.judging.measured.audits import audit_document
from honestone.app.trust.measuring import Measured, refuse_repeat, stop_at_limit
from honestone.app.workspace import Workspace
from honestone.core.artifact import Artifact
from honestone.core.audit.probes import (
    UNTOUCHED,
    ProbeKind,
    Probes,
    Variant,
    make_probes,
    swapped_quotes,
)
from honestone.core.audit.verdict import Tier, gives_credit
from honestone.core.errors import UsageError
from honestone.core.events import AuditStarted, Event, ProbeAnswered, RunFinished
from honestone.core.judging.ballot import Ballot, Question, asked_criteria
from honestone.core.judging.rubric import Key, Rubric
from honestone.core.reading.evidence import find_quote, is_quote
from honestone.engine.judging.ballots import Consulted
from honestone.engine.judging.panel import Panel
from honestone.engine.judging.seats import Seat
from honestone.engine.live import Live
from honestone.engine.place import version_blobs
from honestone.ports import Journal, Observer, Store
from honestone.report.documents.trust.audit import AuditDoc, AuditedJudgeDoc
from honestone.system.drawing import count


class AuditRequest(Struct, frozen=True, kw_only=True):
    """Who is audited, by which rubric and artifact."""

    artifact: Path | str
    rubric: Path | Rubric
    judging: JudgingOptions


def audit(workspace: Workspace, request: AuditRequest, observer: Observer) -> AuditDoc:
    """Every answer is kept before the next question; the same command resumes, and pays for nothing
    twice. A judge that could not be asked has no tier.

    Raises UsageError before anything is spent, CouldNotJudge at a limit, Interrupted.
    """
    refuse_repeat(request.judging, "every probe asks each judge once")
    if request.judging.pack != "none":
        raise UsageError(
            "--pack has no place here: what is added to an artifact might not be shown",
            hint="audit the judges with a smaller artifact",
        )
    return _Audit(workspace, request, observer).document()


class _Audit:
    def __init__(self, workspace: Workspace, request: AuditRequest, observer: Observer) -> None:
        self._of = of = Measured.read(
            workspace, request.artifact, request.rubric, request.judging, observer
        )
        self._observer = observer
        self._criteria = asked_criteria(of.plan.rubric)
        self._probes: Probes = make_probes(self._criteria, of.version, ask=request.judging.ask)
        self._each = (
            len(self._probes.variants) + 2
        )  # the untouched artifact, and the one with its quotes swapped
        self._meter = of.meter(self._each * len(of.seats))
        of.announce(observer, self._each, "question", self._meter)

    def document(self) -> AuditDoc:
        with self._of.workspace.open_store() as store:
            run, log = self._of.open(store, self._first(), self._meter)
            then = f"the same command resumes run {run} and repeats no question"
            run_interruptibly(lambda: self._ask_all(store, run, log), self._of.close, then)
            document = audit_document(log, run=run)
            result = "measured" if all(one.tier for one in document.judges) else "inconclusive"
            store.finish_run(
                run, result, RunFinished(result=result, seconds=round(self._meter.seconds, 3))
            )
        return document

    def _first(self) -> AuditStarted:
        of = self._of
        return AuditStarted(
            **of.judged_by(self._meter),
            rubric=of.plan.rubric,
            rubric_path=of.plan.name,
            artifact=of.started_artifact,
            left_out={str(probe): why for probe, why in self._probes.left_out.items()},
            fresh=of.fresh,
        )

    async def _ask_all(self, store: Store, run: str, log: list[Event]) -> None:
        live = Live(
            kind="audit", run=run, journal=store.journal, meter=self._meter, observer=self._observer
        )
        asking = _Asking(
            self._of, live, store.journal, run, log, self._panel(store, run, log), self._each
        )
        variants, seats = self._probes.variants, self._of.seats
        first = [self._probes.untouched, *(one for one in variants if one.probe is ProbeKind.EMPTY)]
        await asking.ask((seat, one) for one in first for seat in seats)
        # Nothing can be compared with the answers of a judge that gave none.
        seats = [seat for seat in seats if asking.ballot(seat, UNTOUCHED).marks]
        await asking.ask(
            (seat, one) for one in variants if one.probe is not ProbeKind.EMPTY for seat in seats
        )
        swapped = ((seat, self._swapped(asking.ballot(seat, UNTOUCHED))) for seat in seats)
        await asking.ask((seat, one) for seat, one in swapped if one is not None)

    def _panel(self, store: Store, run: str, log: Sequence[Event]) -> Panel:
        """Quotes are looked up here: an answer whose quote is not found is a flip and not an
        abstention.
        """
        started = log[0]
        assert isinstance(started, AuditStarted)
        panel = replace(
            make_panel(self._of.seats, store, self._meter, self._of.plan.options),
            require_evidence=False,
        )
        return replace(panel, oldest_reply=store.find_run(run).started) if started.fresh else panel

    def _swapped(self, ballot: Ballot) -> Variant | None:
        quotes = [
            quote for mark in ballot.marks.values() for quote in mark.evidence if is_quote(quote)
        ]
        return swapped_quotes(self._probes.untouched, quotes)


class _Asking:
    """The questions of one run: what is on record is not asked again."""

    def __init__(
        self,
        of: Measured,
        live: Live,
        journal: Journal,
        run: str,
        log: list[Event],
        panel: Panel,
        each: int,
    ) -> None:
        self._of, self._live, self._journal, self._run = of, live, journal, run
        self._log, self._panel, self._total = log, panel, each * len(of.seats)
        answered = [event for event in log if isinstance(event, ProbeAnswered)]
        self._ballots = {(one.ballot.judge, one.probe, one.variant): one.ballot for one in answered}

    def ballot(self, seat: Seat, probe: str) -> Ballot:
        """What a judge answered to a probe of one question without a name."""
        return self._ballots[seat.id, probe, ""]

    async def ask(self, questions: Iterable[tuple[Seat, Variant]]) -> None:
        """All at a time, as far as the judges take that; recorded in the order of the questions."""
        new = [
            (seat, one)
            for seat, one in questions
            if (seat.id, one.probe, one.name) not in self._ballots
        ]
        with self._live.here(lasts=True):
            tasks = [asyncio.ensure_future(self._consult(seat, one)) for seat, one in new]
        try:
            for (_, one), task in zip(new, tasks, strict=True):
                self._live.progress(len(self._ballots), self._total, "asking")
                consulted = await task
                stop_at_limit(consulted.refused, count(len(self._ballots), "question"))
                await self._keep(one, consulted)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._live.end()

    def _consult(self, seat: Seat, one: Variant) -> Coroutine[object, object, Consulted]:
        artifact = Artifact(self._of.artifact.path, one.version)
        return self._panel.consult_one(seat, Question(artifact=artifact, criteria=one.criteria))

    async def _keep(self, one: Variant, consulted: Consulted) -> None:
        quoted, unfound = self._quotes(one, consulted.ballot)
        event = ProbeAnswered(
            probe=one.probe,
            variant=one.name,
            version=one.version.digest,
            ballot=consulted.ballot,
            on=one.on,
            known=one.known,
            quoted=quoted,
            unfound=unfound,
            spend=consulted.spend,
        )
        await self._journal.append(self._run, event, version_blobs(one.version))
        self._log.append(event)
        self._ballots[consulted.ballot.judge, one.probe, one.name] = consulted.ballot

    def _quotes(self, one: Variant, ballot: Ballot) -> tuple[tuple[Key, ...], tuple[Key, ...]]:
        """The items that a ballot gives credit with a quote, and those of them with a quote that is
        not in what was shown.
        """
        quoted, unfound, items = [], [], dict(self._of.plan.rubric.questions())
        for key, mark in ballot.marks.items():
            quotes = [quote for quote in mark.evidence if is_quote(quote)]
            if quotes and gives_credit(items[key], mark.answer):
                quoted.append(key)
                unfound += (
                    [key]
                    if any(find_quote(quote, one.version.text) is None for quote in quotes)
                    else []
                )
        return tuple(quoted), tuple(unfound)


def below(document: AuditDoc, tier: Tier) -> list[AuditedJudgeDoc]:
    """The judges that are known not to reach a tier."""
    return [one for one in document.judges if one.tier is not None and not one.tier.reaches(tier)]
