"""The one loop: asks core what to do, does it, and records what happened before it continues.

`improve`, `improve --suite`, `step` and `stage run` are this loop with a policy and a judgement of their own.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic

from honestone.core import events
from honestone.core.artifact import Version
from honestone.core.errors import UsageError
from honestone.core.events import Event, event_from_plain
from honestone.core.loop.actions import Accept, Ask, Propose, Result, RollBack, Stop
from honestone.core.loop.decide import Policy, decide
from honestone.core.loop.proposal import ProposalOutcome, classify, diff_size
from honestone.core.loop.state import Candidate, S
from honestone.engine.meter import Meter, Spend
from honestone.engine.place import Place, is_mix, sweep
from honestone.engine.versions import load_version, version_blobs
from honestone.ports import Brief, Observer, Store, WorkDone, Worker
from honestone.system.files import deliver, make_copy, read_back


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The outcome of one call of a worker, read from bytes. `after` is there only where it changed something for good."""

    outcome: ProposalOutcome
    detail: str | None
    message: str | None
    spend: Spend
    before: Version
    after: Version | None = None

    @property
    def facts(self) -> dict[str, object]:
        """As an event records it."""
        facts: dict[str, object] = {
            "outcome": str(self.outcome),
            "detail": self.detail,
            "message": self.message,
            "spend": self.spend.to_plain(),
        }
        if self.after is not None:
            size = diff_size(self.before, self.after)
            facts["version"] = self.after.digest
            facts["diff"] = {"added": size.added, "removed": size.removed, "files": size.files}
        return facts

    @property
    def blobs(self) -> dict[str, bytes] | None:
        return None if self.after is None else version_blobs(self.after)


class Judgement(ABC, Generic[S]):
    """What differs from one loop to another: how a version is judged, what the worker is asked for, which of several
    proposals is judged. It records what it finds with `loop.record`; the loop's state is the fold of that."""

    async def resume(self, loop: LoopRunner[S]) -> None:
        """Called once before the first action: repair what an earlier process left undone."""

    @abstractmethod
    async def ask(self, loop: LoopRunner[S], action: Ask) -> None:
        """Have a version judged, and record the result; or record the limit that came first."""

    @abstractmethod
    def brief(self, loop: LoopRunner[S], action: Propose, place: Path, candidate: int) -> Brief:
        """What the worker is asked to do. `place` is the artifact in its copy, `candidate` counts from 0."""

    async def choose(self, loop: LoopRunner[S], action: Propose, new: Sequence[Candidate]) -> Candidate | None:
        """The one of several new candidates that is judged; None leaves the round open, where a limit came first."""
        return new[0]

    def described(self, loop: LoopRunner[S], candidate: Candidate) -> dict[str, object]:
        """What the record says of a candidate that was proposed, chosen or not."""
        return {
            "candidate": candidate.number,
            "outcome": str(candidate.outcome),
            "version": candidate.version,
            "edit": None if (rank := loop.state.ranks.get(candidate.version or "")) is None else float(rank * 10),
        }

    @abstractmethod
    async def close(self) -> None:
        """Release judges and targets."""


class LoopRunner(Generic[S]):
    """One run of a loop, new or resumed. `state` is the fold of its events, always."""

    def __init__(
        self,
        *,
        run: str,
        state: S,
        policy: Policy,
        judgement: Judgement[S],
        place: Place,
        worker: Worker,
        store: Store,
        meter: Meter,
        observer: Observer,
    ) -> None:
        self.run = run
        self.state = state
        self.place = place
        self.store = store
        self.meter = meter
        self.observer = observer
        self._policy = policy
        self._judgement = judgement
        self._worker = worker
        self._versions: dict[str, Version] = {}

    async def work(self) -> Stop:
        """Work until core says stop. After a kill, the same call on the same events resumes where it was."""
        self._require_output()
        self._finish_delivery()
        self._take_version_on_disk()
        await self._judgement.resume(self)
        while True:
            # Here and nowhere else: a kill between accepting and delivering is repaired before anything else happens.
            self._deliver()
            action = decide(self.state, self._policy)
            match action:
                case Stop():
                    self._end(action)
                    return action
                case Ask():
                    await self._judgement.ask(self, action)
                case Propose():
                    await self._propose(action)
                case Accept(version=version, reason=reason):
                    self.record(events.ACCEPTED, round=self.state.rounds[-1].number, version=version, reason=reason)
                case RollBack(reason=reason):
                    self.record(events.REJECTED, round=self.state.rounds[-1].number, reason=reason)

    async def close(self) -> None:
        await self._judgement.close()
        await self._worker.close()

    # -- for a judgement

    def record(self, kind: str, blobs: Mapping[str, bytes] | None = None, /, **facts: object) -> None:
        """Append an event, with the content it names, and take it into the state."""
        event = self._event(kind, **facts)
        self.store.append(self.run, event, blobs)
        self._apply(event)

    def out_of_budget(self) -> bool:
        """Whether a limit is used up; then that is on record."""
        reason = self.meter.exhausted()
        if reason is not None:
            self.reach_limit(reason)
        return reason is not None

    def reach_limit(self, reason: str, **facts: object) -> None:
        if self.state.limit is None:
            self.record(events.LIMIT, reason=reason, **facts)

    def version(self, digest: str) -> Version:
        if digest not in self._versions:
            self._versions[digest] = load_version(self.store, digest)
        return self._versions[digest]

    def say(self, doing: str) -> None:
        self.observer.progress(len(self.state.rounds), self.state.limits.rounds, doing)

    # -- events

    def _event(self, kind: str, **facts: object) -> Event:
        return event_from_plain({"type": kind, **facts, "seconds": round(self.meter.seconds, 3)})  # type: ignore[dict-item]

    def _apply(self, event: Event) -> None:
        self.state.apply(event)
        self.observer.event(event)

    def _end(self, stop: Stop) -> None:
        if stop.result is not Result.COULD_NOT_JUDGE:
            self._deliver_elsewhere()
        if self.state.finished is None:
            event = self._event(events.FINISHED, result=str(stop.result), reason=stop.reason)
            self.store.finish_run(self.run, str(stop.result), event)
            self._apply(event)

    def _require_output(self) -> None:
        output, is_folder = self.place.output, self.version(self.state.original).is_folder
        if output is not None and output.exists() and output.is_dir() != is_folder:
            raise UsageError(
                f"the artifact is a {'folder' if is_folder else 'file'}, but {str(output)!r} is not",
                hint="name another --output",
            )

    # -- proposing

    async def _propose(self, action: Propose) -> None:
        number = len(self.state.rounds) + 1
        if action.ranked:
            await self._propose_ranked(action, number)
        elif not self.out_of_budget():
            made = await self._try(action, number)
            self.record(events.PROPOSED, made.blobs, round=number, focus=list(action.focus), **made.facts)

    async def _propose_ranked(self, action: Propose, number: int) -> None:
        """Every candidate is recorded when it is made: none is paid for twice."""
        for candidate in range(len(self.state.tried), action.candidates):
            if self.out_of_budget():
                break
            made = await self._try(action, number, candidate)
            self.record(events.CANDIDATE, made.blobs, round=number, candidate=candidate + 1, **made.facts)
        tried = list(self.state.tried)
        if not tried:
            return
        new = self._new(tried)
        chosen = await self._judgement.choose(self, action, new) if new else _any_of(tried)
        if chosen is None:
            return
        changed = {} if chosen.version is None else {"version": chosen.version, "diff": chosen.diff}
        self.record(
            events.PROPOSED,
            round=number,
            focus=list(action.focus),
            candidate=chosen.number,
            candidates=[self._judgement.described(self, one) for one in tried],
            outcome=str(chosen.outcome),
            detail=chosen.detail,
            message=chosen.message,
            **changed,
        )

    def _new(self, tried: Sequence[Candidate]) -> list[Candidate]:
        """Each version once, and none that was decided already."""
        found: dict[str, Candidate] = {}
        for one in tried:
            version = one.version
            if version is None or version in self.state.kept or self.state.decided(version):
                continue
            if one.outcome is ProposalOutcome.CHANGED:
                found.setdefault(version, one)
        return list(found.values())

    async def _try(self, action: Propose, number: int, candidate: int = 0) -> Made:
        """One call of the worker, in a private copy."""
        place, before = self.place, self.version(action.base)
        self.say(f"round {number}: {self._worker.id} works on {', '.join(action.focus)}")
        with tempfile.TemporaryDirectory(prefix="honestone-work-") as folder:
            root = Path(folder).resolve()
            (root / "copy").mkdir()
            copy = make_copy(before, root / "copy", name=place.path.name or "artifact", beside=dict(place.siblings))
            brief = self._judgement.brief(self, action, copy.place, candidate)
            brief_file = root / "brief.md"
            brief_file.write_text(brief.text, encoding="utf-8")
            judging = place.judging_bytes()
            done = await self._worker.propose(brief, copy.place, brief_file)
            after = read_back(copy, max_bytes=place.max_bytes)
            touched = [path for path, data in place.judging_bytes().items() if data != judging.get(path)]
        outcome, detail = classify(
            before,
            after.version,
            ended=done.ended,
            strays=(
                *after.strays,
                *(f"{path.name} (the original file)" for path in touched),
                *place.forbidden(before, after.version),
            ),
            trouble=after.trouble,
            max_diff=place.max_diff,
        )
        gone = [name for name in place.must_hold if after.version and name not in after.version.files]
        if outcome is ProposalOutcome.CHANGED and gone:
            outcome, detail = ProposalOutcome.SHRUNK, f"{gone[0]} is gone"
        return self._made(before, after.version, outcome, detail, done)

    def _made(
        self, before: Version, after: Version | None, outcome: ProposalOutcome, detail: str | None, done: WorkDone
    ) -> Made:
        spend = Spend(worker_calls=1)
        spend.add(done.usage)
        self.meter.counted(spend)
        message = done.message or None
        made = Made(outcome=outcome, detail=detail, message=message, spend=spend, before=before)
        if outcome is ProposalOutcome.CHANGED and after is not None:
            self._versions[after.digest] = after
            return replace(made, after=after)
        if detail is None:
            return replace(made, detail=message)
        if message and outcome in (ProposalOutcome.CRASHED, ProposalOutcome.DENIED, ProposalOutcome.TIMEOUT):
            return replace(made, detail=f"{detail} ({message})")
        return made

    # -- delivering

    def _deliver(self) -> None:
        """Let the person's file hold the best accepted version."""
        best = self.state.best
        if self.place.dry_run or best == self.state.delivered:
            return
        if self.place.output is None:
            self._require_untouched(self.state.delivered)
        self._put(best)

    def _deliver_elsewhere(self) -> None:
        """At the end, `--output` holds the best version, also when that is the original."""
        best = self.version(self.state.best)
        if self.place.output is None or self.place.dry_run:
            return
        if self.place.delivered(best, best).digest != best.digest:
            self._put(best.digest)

    def _put(self, digest: str) -> None:
        self.record(events.DELIVERING, version=digest)
        self._write(digest)

    def _write(self, digest: str) -> None:
        """Only what differs on disk is written, so that a delivery that is killed again and again gets done all the same."""
        before, after = self.version(self.state.delivered), self.version(digest)
        found = self.place.delivered(before, after)
        if found.digest != after.digest:
            deliver(self.place.target, found, after)
        self.record(events.DELIVERED, version=digest)

    def _require_untouched(self, expected: str) -> None:
        if self.place.on_disk().digest != expected:
            raise UsageError(
                f"{self.place.named!r} was changed by someone else while the loop ran; it is left as it is",
                hint=f"the best version so far is kept: honestone show {self.run} --version best",
            )

    def _finish_delivery(self) -> None:
        """A kill may come between announcing a delivery and its end; writing it once more does no harm."""
        target = self.state.delivering
        if target is None:
            return
        before, after = self.version(self.state.delivered), self.version(target)
        sweep(self.place.target, before, after)
        if self.place.output is None and not is_mix(self.place.on_disk(), before, after):
            self._require_untouched(target)
        self._write(target)

    def _take_version_on_disk(self) -> None:
        """A person may have put another version of this run back; the best one is then delivered over that."""
        if self.place.dry_run or self.place.output is not None:
            return
        found = self.place.on_disk().digest
        if found != self.state.delivered and found in self.state.kept:
            self.record(events.DELIVERED, version=found)


def _any_of(tried: Sequence[Candidate]) -> Candidate:
    """Where no candidate is new: one with bytes, whose round then says what is known about them."""
    return next((one for one in tried if one.version is not None), tried[0])
