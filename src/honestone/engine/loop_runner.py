"""The improvement loop: ask core what to do, do it, record it, and repeat.

`improve`, `improve --suite`, `step` and `skill run` are this loop, each with its own policy and its
own `Judgement`.

A run can be killed between any two lines, and what it paid for must be neither lost nor paid for
twice. So core decides by the state alone, only `apply` changes the state, and each event is in the
store before core is asked again. Resuming needs no code of its own: fold the recorded events, and
ask core what to do. `show` and `rescore` use the same fold, so a report cannot differ from what the
loop saw.

The person's file is the one thing outside the store. An event (`DeliveryBegun`) announces each
change of it before it is made, so that a loop that finds the file half written knows what it was
writing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic

from msgspec.structs import asdict, replace

from honestone.core import events
from honestone.core.artifact import Version
from honestone.core.editing.proposal import (
    DID_NOT_WORK,
    ProposalOutcome,
    classify,
    diff_size,
    size_limit,
)
from honestone.core.errors import FileError, UsageError
from honestone.core.events import CandidateTried, Event, RecordedCandidate
from honestone.core.judging.spend import Meter, Spend
from honestone.core.loop.delivery import delivery
from honestone.core.loop.state import (
    Accept,
    Ask,
    Policy,
    Propose,
    Result,
    RollBack,
    S,
    Stop,
    decide,
)
from honestone.core.record.rates import RateLimits
from honestone.engine.journal import OutOfTime, give_back, in_time, settle, turn
from honestone.engine.live import Live
from honestone.engine.place import Place, is_mix, load_version, sweep, version_blobs
from honestone.engine.traced import propose, tell_scores
from honestone.ports import Brief, Observer, Store, WorkDone, Worker
from honestone.system.files import ReadBack, deliver, make_copy, modes_of, read_back
from honestone.system.processes.private import end_inhabitants, private_folder
from honestone.system.telemetry import is_traced, part_under_way


class Judgement(ABC, Generic[S]):
    """What differs between loops: how a version is judged, what the worker is asked for, and which
    of several proposals is judged. A judgement records its results with `loop.record`, which is how
    they reach the loop's state.
    """

    async def resume(self, loop: LoopRunner[S]) -> None:
        """Repair what a killed process left unfinished. Called once, before the first action."""

    @abstractmethod
    async def ask(self, loop: LoopRunner[S], action: Ask) -> None:
        """Have a version judged and record the ballots, or the limit that was reached first."""

    @abstractmethod
    def brief(self, loop: LoopRunner[S], action: Propose, place: Path, candidate: int) -> Brief:
        """Write the brief of the worker. `place`: the artifact in the worker's private copy.
        `candidate` counts from 0.
        """

    async def proposed(self, loop: LoopRunner[S], action: Propose) -> None:
        """Prepare the choice, once all candidates of a round are made: rank them, for example."""

    async def choose(
        self, loop: LoopRunner[S], action: Propose, new: Sequence[CandidateTried]
    ) -> CandidateTried | None:
        """Choose the candidate to judge; None leaves the round open, because a limit was reached."""
        return new[0]

    def described(self, loop: LoopRunner[S], tried: CandidateTried) -> RecordedCandidate:
        """The entry of the record about one candidate, whether it was chosen or not."""
        rank = loop.state.ranks.get(tried.version or "")
        return {
            "candidate": tried.candidate,
            "outcome": str(tried.outcome),
            "version": tried.version,
            "edit": None if rank is None else float(rank * 10),
        }

    @abstractmethod
    async def close(self) -> None:
        """Release judges and targets."""


@dataclass(slots=True, kw_only=True)
class LoopRunner(Generic[S]):
    """One run of a loop, new or resumed. `state` is always the fold of the events on record."""

    run: str
    state: S
    policy: Policy
    judgement: Judgement[S]
    place: Place
    worker: Worker
    store: Store
    meter: Meter
    observer: Observer
    worker_rates: RateLimits | None = None
    _versions: dict[str, Version] = field(default_factory=dict)
    _live: Live = field(init=False)

    def __post_init__(self) -> None:
        self._live = Live(
            kind="improve",
            run=self.run,
            journal=self.store.journal,
            meter=self.meter,
            observer=self.observer,
        )

    async def work(self) -> Stop:
        """Work until core says stop. After a kill, the same call resumes from the recorded events."""
        with self._live.here():
            return await self._work()

    async def _work(self) -> Stop:
        self._require_output()
        await self._finish_delivery()
        await self._take_version_on_disk()
        await self.judgement.resume(self)
        while True:
            if changed := self.place.judging.changed():
                return await self._end_with_another_contract(changed)
            # A kept version is delivered here, directly after the event that kept it. A run that
            # was killed in between comes back to this line with the same state, so it delivers
            # what an uninterrupted run delivers. It is not done again when later votes change what
            # is best: the person's file must not change back and forth while the loop runs.
            if self.state.just_accepted and not self.place.only_passed:
                await self._deliver(delivery(self.state).version)
            action = decide(self.state, self.policy)
            if isinstance(action, Propose | Stop):
                self._require_untouched(self.state.delivered)
            match action:
                case Stop():
                    await self._end(action)
                    return action
                case Ask():
                    with part_under_way("round", "ask", len(self.state.rounds)) as span:
                        await self.judgement.ask(self, action)
                        if is_traced() and action.role == "panel":
                            ballots = self.state.ballots.get((action.version, "panel"), {})
                            tell_scores(span, self.state.scorer, tuple(ballots.values()))
                case Propose():
                    with part_under_way("round", "propose", len(self.state.rounds) + 1):
                        await self._propose(action)
                case Accept(version=version, reason=reason):
                    await self._decide_round(version, reason, is_accepted=True)
                case RollBack(reason=reason):
                    await self._decide_round(
                        self.state.rounds[-1].version, reason, is_accepted=False
                    )

    async def _decide_round(self, version: str | None, reason: str, *, is_accepted: bool) -> None:
        """Record the decision about a round together with the beliefs that it was made on. Reports
        show these figures, and not those that later votes lead to.
        """
        entry = self.state.rounds[-1]
        before, after = self.state.standing(entry.base), self.state.standing(version or "")
        if version is not None and is_accepted:
            accepted = events.VersionAccepted(
                round=entry.number, version=version, reason=reason, before=before, after=after
            )
            await self.record(accepted)
        else:
            rejected = events.VersionRejected(
                round=entry.number, reason=reason, before=before, after=after
            )
            await self.record(rejected)

    async def close(self) -> None:
        await give_back(self.meter)
        await self.judgement.close()
        await self.worker.close()

    # -- what a judgement calls

    async def record(self, event: Event, blobs: Mapping[str, bytes] | None = None) -> None:
        """Append an event to the run, then apply it to the state. `blobs`: the contents that the
        event names, by digest.
        """
        event = self._timed(event)
        await self.store.journal.append(self.run, event, blobs)
        self._apply(event)

    async def out_of_budget(self) -> bool:
        """Whether a limit is used up. If so, record it."""
        reason = self.meter.exhausted()
        if reason is not None:
            await self.reach_limit(events.LimitReached(reason=reason))
        return reason is not None

    async def reach_limit(self, limit: events.LimitReached) -> None:
        if self.state.limit is None:
            await self.record(limit)

    def version(self, digest: str) -> Version:
        """A version of this run, with its bytes."""
        if digest not in self._versions:
            self._versions[digest] = load_version(self.store, digest).named(self.place.own_name)
        return self._versions[digest]

    def say(self, doing: str) -> None:
        """Show on the progress line what the loop does now."""
        self._live.progress(len(self.state.rounds), self.state.limits.rounds, doing)

    # -- events

    def _timed(self, event: Event) -> Event:
        return replace(event, seconds=round(self.meter.seconds, 3))

    def _apply(self, event: Event) -> None:
        self.state.apply(event)
        self.observer.event(event)

    async def _end(self, stop: Stop) -> None:
        """Deliver what the rule chooses, and close the run. Does nothing for a finished run."""
        if self.state.finished is not None:
            return
        chosen = delivery(self.state, stop.result)
        is_wanted = stop.result is Result.PASSED or not self.place.only_passed
        if is_wanted and stop.result is not Result.CONTRACT_CHANGED:
            await self._deliver(chosen.version)
            if stop.result is not Result.COULD_NOT_JUDGE and not self.place.only_passed:
                await self._deliver_elsewhere(chosen.version)
        if stop.is_final:
            event = self._timed(
                events.RunFinished(
                    result=str(stop.result),
                    reason=stop.reason,
                    changed=stop.changed,
                    delivery=chosen,
                )
            )
            await self.store.journal.finish_run(self.run, str(stop.result), event)
            self._apply(event)

    async def _end_with_another_contract(self, changed: tuple[str, ...]) -> Stop:
        """End a run in which a file that takes part in the judging changed, a rubric's test for
        example. Nothing is delivered, and the original is put back: by whose standard the versions
        so far are better is no longer known.
        """
        if self.state.rounds and self.state.rounds[-1].is_open:
            await self.record(
                events.VersionRejected(
                    round=self.state.rounds[-1].number, reason="what judges changed"
                )
            )
        named = ", ".join(changed[:5]) + (" and more" if len(changed) > 5 else "")
        reason = f"what judges changed while the loop ran: {named}; nothing is delivered"
        if not self._is_untouched(self.state.delivered):
            reason += (
                f"; {self.place.named!r} was changed by someone else too, and is left as it is"
            )
        elif self.state.delivered != self.state.original and not self.place.dry_run:
            await self._put(self.state.original)
        stop = Stop(result=Result.CONTRACT_CHANGED, reason=reason, changed=changed)
        await self._end(stop)
        return stop

    def _require_output(self) -> None:
        output, is_folder = self.place.output, self.version(self.state.original).is_folder
        if output is not None and output.exists() and output.is_dir() != is_folder:
            kind = "folder" if is_folder else "file"
            raise UsageError(
                f"the artifact is a {kind}, but {str(output)!r} is not",
                hint="name another --output",
            )

    # -- proposing

    async def _propose(self, action: Propose) -> None:
        if action.ranked:
            await self._propose_ranked(action)
        elif not await self.out_of_budget():
            made = await self._try(action)
            await self._record_proposal(action, made, spend=made.spend)

    async def _propose_ranked(self, action: Propose) -> None:
        """Make several candidates and propose one of them. Each is recorded as soon as it is made,
        so that after a kill none is paid for twice.
        """
        for number in range(len(self.state.tried), action.candidates):
            if await self.out_of_budget():
                break
            made = await self._try(action, number)
            await self.record(made, self._blobs(made))
        tried = list(self.state.tried)
        if not tried:
            return
        await self.judgement.proposed(self, action)
        new = self._new(tried)
        chosen = await self.judgement.choose(self, action, new) if new else _any_of(tried)
        if chosen is not None:
            described = [self.judgement.described(self, one) for one in tried]
            await self._record_proposal(
                action, chosen, candidate=chosen.candidate, candidates=described
            )

    async def _record_proposal(
        self,
        action: Propose,
        made: CandidateTried,
        *,
        spend: Spend | None = None,
        candidate: int | None = None,
        candidates: Sequence[RecordedCandidate] = (),
    ) -> None:
        proposed = events.EditProposed(
            round=len(self.state.rounds) + 1,
            focus=action.focus,
            outcome=made.outcome,
            items=action.items,
            detail=made.detail,
            message=made.message,
            spend=spend or Spend(),
            base=None if action.base == self.state.current else action.base,
            version=made.version,
            diff=made.diff,
            candidate=candidate,
            candidates=candidates,
        )
        await self.record(proposed, None if candidates else self._blobs(made))

    def _blobs(self, made: CandidateTried) -> Mapping[str, bytes] | None:
        return None if made.version is None else version_blobs(self.version(made.version))

    def _new(self, tried: Sequence[CandidateTried]) -> list[CandidateTried]:
        """The usable candidates, each version once and none that was decided in an earlier round."""
        new: dict[str, CandidateTried] = {}
        for one in tried:
            version = one.version
            if version is None or one.outcome is not ProposalOutcome.CHANGED:
                continue
            if version not in self.state.accepted_versions and not self.state.rounds.decided(
                version
            ):
                new.setdefault(version, one)
        return list(new.values())

    async def _try(self, action: Propose, candidate: int = 0) -> CandidateTried:
        """Call the worker on a private copy, and classify what it did by the bytes in the copy. Its
        exit code and its own account decide nothing.
        """
        place, before, number = self.place, self.version(action.base), len(self.state.rounds) + 1
        self.say(f"round {number}: {self.worker.id} works on {', '.join(action.focus)}")

        def brief(copy: Path) -> Brief:
            return replace(self.judgement.brief(self, action, copy, candidate), round=number)

        async with turn(self.store.journal, self.worker_rates):
            done, after = await work_on_copy(self.worker, before, place, brief, self.meter)
        await settle(self.store.journal, self.worker_rates, 0, done.usage)
        version = None if after.version is None else place.part(after.version)
        outcome, detail = classify(
            before,
            version,
            ended=done.ended,
            strays=(*after.strays, *place.forbidden(before, version)),
            trouble=after.trouble,
            max_diff=place.max_diff,
            max_size=size_limit(self.version(self.state.original), place.max_growth),
        )
        gone = [name for name in place.must_hold if version and name not in version.files]
        if outcome is ProposalOutcome.CHANGED and gone:
            outcome, detail = ProposalOutcome.SHRUNK, f"{gone[0]} is gone"
        made = CandidateTried(
            round=number,
            candidate=candidate + 1,
            outcome=outcome,
            detail=_detailed(outcome, detail, done.message),
            message=done.message or None,
            spend=self._counted(done),
        )
        if outcome is not ProposalOutcome.CHANGED or version is None:
            return made
        self._versions[version.digest] = version
        return replace(made, version=version.digest, diff=asdict(diff_size(before, version)))

    def _counted(self, done: WorkDone) -> Spend:
        spend = Spend(worker_calls=done.calls)
        spend.add(done.usage)
        self.meter.counted(spend)
        return spend

    # -- delivering

    async def _deliver(self, version: str) -> None:
        """Put this version into the person's file, unless it is there already."""
        if not self.place.dry_run and version != self.state.delivered:
            self._require_untouched(self.state.delivered)
            await self._put(version)

    async def _deliver_elsewhere(self, version: str) -> None:
        """Put the delivered version into the file of `--output` at the end, even where that is the
        original: the file then always holds the result.
        """
        best = self.version(version)
        if self.place.output is None or self.place.dry_run:
            return
        if self.place.delivered(best, best).digest != best.digest:
            await self._put(best.digest)

    async def _put(self, digest: str) -> None:
        """Announce a delivery and carry it out. File modes that the delivery loses are recorded
        with the announcement, so that `undo` can restore them.
        """
        before, after = self.version(self.state.delivered).files, self.version(digest).files
        lost = [
            name
            for name in before
            if name not in after or before[name].executable != after[name].executable
        ]
        modes = modes_of(self.place.target, lost) if self.version(digest).is_folder else {}
        await self.record(events.DeliveryBegun(version=digest, modes=modes))
        await self._write(digest)

    async def _write(self, digest: str) -> None:
        """Carry out the delivery that was announced. Only files that differ on disk are written: a
        delivery that is killed again and again still makes progress each time.
        """
        before, after = self.version(self.state.delivered), self.version(digest)
        on_disk = self.place.delivered(before, after)
        if on_disk.digest != after.digest:
            deliver(self.place.target, on_disk, after, home=self.place.home)
        await self.record(events.DeliveryDone(version=digest))

    def _require_untouched(self, expected: str) -> None:
        """Raise UsageError where someone else changed the person's file. This is checked before
        each proposal, too: nothing more is spent on versions that could not be delivered.
        """
        if not self._is_untouched(expected):
            raise UsageError(
                f"{self.place.named!r} was changed by someone else while the loop ran; it is left as it is",
                hint=f"the best version so far is kept: honestone show {self.run} --version best",
            )

    def _is_untouched(self, expected: str) -> bool:
        """Whether the person's file holds that version. True where the loop does not write to it,
        with `--dry-run` or `--output`.
        """
        if self.place.dry_run or self.place.output is not None:
            return True
        try:
            return self.place.on_disk().digest == expected
        except FileError:  # removed, or no longer text
            return False

    async def _finish_delivery(self) -> None:
        """Finish a delivery that was announced and not completed, because the process was killed.

        The file may then hold the old version, the new one or a mix of their files; anything else
        was written by someone else, and is left alone.
        """
        target = self.state.delivering
        if target is None:
            return
        before, after = self.version(self.state.delivered), self.version(target)
        sweep(self.place.target, before, after)
        if self.place.output is None and not is_mix(self.place.on_disk(), before, after):
            self._require_untouched(target)
        await self._write(target)

    async def _take_version_on_disk(self) -> None:
        """Record it where the person's file holds another version of this run, one that was put
        back by hand. The loop continues from there, and delivers the best version over it.
        """
        if self.place.dry_run or self.place.output is not None:
            return
        version = self.place.on_disk().digest
        if version != self.state.delivered and version in self.state.accepted_versions:
            await self.record(events.DeliveryDone(version=version))


async def work_on_copy(
    worker: Worker,
    before: Version,
    place: Place,
    brief: Callable[[Path], Brief],
    meter: Meter,
) -> tuple[WorkDone, ReadBack]:
    """Call the worker on a private copy, and read back what the copy then holds. `brief` makes the
    brief for the copy's path. The call ends when the minutes of `meter` are used up.
    """
    with private_folder("work") as root:
        (root / "copy").mkdir()
        copy = make_copy(
            before, root / "copy", name=place.path.name or "artifact", siblings=dict(place.siblings)
        )
        asked, brief_file = brief(copy.place), root / "brief.md"
        brief_file.write_text(asked.text, encoding="utf-8")
        try:
            async with in_time(meter):
                done = await propose(worker, asked, copy.place, brief_file)
        except OutOfTime as ended:
            done = WorkDone(ended="timeout", message=str(ended))
        finally:
            # Programs that the worker left running would change the copy while it is read.
            end_inhabitants(root)
        return done, read_back(copy, max_bytes=place.max_bytes)


def _any_of(tried: Sequence[CandidateTried]) -> CandidateTried:
    """The candidate to record when none is new: one that has a version, if any, because the record
    then says in which round that version was decided.
    """
    return next((one for one in tried if one.version is not None), tried[0])


def _detailed(outcome: ProposalOutcome, detail: str | None, message: str) -> str | None:
    """The detail of a proposal that is not used, with the worker's message where that explains it."""
    if outcome is ProposalOutcome.CHANGED or not message:
        return detail
    if detail is None:
        return message
    return f"{detail} ({message})" if outcome in DID_NOT_WORK else detail
