"""The loop's shell: asks core what to do, does it, and keeps what happened before it goes on."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from honestone.core import events
from honestone.core.artifact import Artifact, Entry, Version
from honestone.core.ballot import CHECK, ballot_to_plain
from honestone.core.errors import CouldNotJudge, FileError, UsageError
from honestone.core.events import Event
from honestone.core.loop.actions import Accept, Action, Ask, Propose, Result, RollBack, Stop
from honestone.core.loop.decide import Policy, decide
from honestone.core.loop.focus import fixes_for, unmet_keys, write_brief
from honestone.core.loop.proposal import ProposalOutcome, classify, diff_size
from honestone.core.loop.state import LoopState
from honestone.engine.judging import Evaluator
from honestone.engine.meter import Meter, Spend
from honestone.engine.panel import Seat
from honestone.engine.versions import load_version, version_blobs
from honestone.ports import Brief, Observer, Store, WorkDone, Worker
from honestone.system.files import TEMPORARY, deliver, load_artifact, make_copy, read_back


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the artifact lives. `beside` are files in its folder that are no part of it, `exclude` their real paths.

    `output`: deliver there instead; `dry_run`: deliver nowhere. `off_limits` are paths in a folder, or folders there, that
    a worker is not shown and may not make; files in `locked` judge, so it may not change them; without those in `must_hold`
    the artifact is no longer what it was.
    """

    path: Path
    named: str
    exclude: frozenset[Path] = frozenset()
    beside: Mapping[str, Entry] = field(default_factory=dict)
    output: Path | None = None
    dry_run: bool = False
    max_bytes: int = 10_000_000
    max_diff: int = 2000
    off_limits: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()
    must_hold: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What one call of a worker came to, read from bytes. `after` is there only where it changed something for good."""

    outcome: ProposalOutcome
    detail: str | None
    message: str | None
    spend: Spend
    before: Version
    after: Version | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """As an event tells it."""
        facts: dict[str, Any] = {
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


class LoopRunner(ABC):
    """One run of a loop, new or taken up again, whatever its versions are looked at with.

    `state` is the fold of its events, always.
    """

    def __init__(
        self,
        *,
        run: str,
        state: LoopState,
        policy: Policy,
        place: Place,
        worker: Worker,
        store: Store,
        meter: Meter,
        observer: Observer,
    ) -> None:
        self.run = run
        self.state = state
        self._policy = policy
        self._place = place
        self._worker = worker
        self._store = store
        self._meter = meter
        self._observer = observer
        self._versions: dict[str, Version] = {}

    async def work(self) -> Stop:
        """Go on until core says stop. Whatever kills it, the same call on the same events goes on where it was."""
        self._require_possible()
        self._finish_delivery()
        self._take_what_lies_there()
        await self._take_up()
        while True:
            # Here and nowhere else: a kill between accepting and delivering is made good before anything else happens.
            self._deliver()
            action = decide(self.state, self._policy)
            if isinstance(action, Stop):
                if action.result is not Result.COULD_NOT_JUDGE:
                    self._deliver_elsewhere()
                if self.state.finished is None:
                    self._finish(action)
                return action
            await self._carry_out(action)

    async def close(self) -> None:
        """Let go of whoever works or judges."""
        await self._worker.close()

    @abstractmethod
    async def _ask(self, action: Ask) -> None:
        """Have a version looked at, and record what was seen; or record the limit that came first."""

    @abstractmethod
    def _brief(self, action: Propose, place: Path, candidate: int) -> Brief:
        """What the worker is told. `place` is the artifact in its copy."""

    async def _take_up(self) -> None:  # noqa: B027
        """What is made good before a run goes on: nothing, unless a loop says otherwise."""

    async def _carry_out(self, action: Action) -> None:
        match action:
            case Ask():
                await self._ask(action)
            case Propose():
                await self._propose(action)
            case Accept(version=version, reason=reason):
                self._record(events.ACCEPTED, round=self.state.rounds[-1].number, version=version, reason=reason)
            case RollBack(reason=reason):
                self._record(events.REJECTED, round=self.state.rounds[-1].number, reason=reason)

    def _require_possible(self) -> None:
        """What would only fail, or prove nothing, after money was spent."""
        output, is_folder = self._place.output, self._version(self.state.original).is_folder
        if output is not None and output.exists() and output.is_dir() != is_folder:
            raise UsageError(
                f"the artifact is a {'folder' if is_folder else 'file'}, but {str(output)!r} is not",
                hint="name another --output",
            )

    # -- events

    def _record(self, kind: str, blobs: dict[str, bytes] | None = None, **facts: Any) -> None:
        event: Event = {"type": kind, **facts, "seconds": round(self._meter.seconds, 3)}
        self._store.append(self.run, event, blobs)
        self.state.apply(event)
        self._observer.event(event)

    def _finish(self, stop: Stop) -> None:
        event: Event = {
            "type": events.FINISHED,
            "result": str(stop.result),
            "reason": stop.reason,
            "seconds": round(self._meter.seconds, 3),
        }
        self._store.finish_run(self.run, str(stop.result), event)
        self.state.apply(event)
        self._observer.event(event)

    def _out_of_budget(self) -> bool:
        reason = self._meter.exhausted()
        if reason is not None and self.state.limit is None:
            self._record(events.LIMIT, reason=reason)
        return reason is not None

    def _version(self, digest: str) -> Version:
        if digest not in self._versions:
            self._versions[digest] = load_version(self._store, digest)
        return self._versions[digest]

    # -- proposing

    async def _propose(self, action: Propose) -> None:
        if self._out_of_budget():
            return
        number = len(self.state.rounds) + 1
        made = await self._try(action, number)
        self._record(events.PROPOSED, made.blobs, round=number, focus=list(action.focus), **made.facts)

    async def _try(self, action: Propose, number: int, candidate: int = 0) -> Made:
        """One call of the worker, in a private copy."""
        before = self._version(action.base)
        self._observer.progress(
            number - 1,
            self.state.limits.rounds,
            f"round {number}: {self._worker.id} works on {', '.join(action.focus)}",
        )
        with tempfile.TemporaryDirectory(prefix="honestone-work-") as folder:
            root = Path(folder).resolve()
            (root / "copy").mkdir()
            copy = make_copy(
                before, root / "copy", name=self._place.path.name or "artifact", beside=dict(self._place.beside)
            )
            brief = self._brief(action, copy.place, candidate)
            brief_file = root / "brief.md"
            brief_file.write_text(brief.text, encoding="utf-8")
            rubric = self._never_the_workers()
            done = await self._worker.propose(brief, copy.place, brief_file)
            after = read_back(copy, max_bytes=self._place.max_bytes)
            touched = tuple(
                f"{path.name} (where it lies)"
                for path, data in self._never_the_workers().items()
                if data != rubric.get(path)
            )
        outcome, detail = classify(
            before,
            after.version,
            ended=done.ended,
            strays=(*after.strays, *touched, *_forbidden(before, after.version, self._place)),
            trouble=after.trouble,
            max_diff=self._place.max_diff,
        )
        gone = [name for name in self._place.must_hold if after.version and name not in after.version.files]
        if outcome is ProposalOutcome.CHANGED and gone:
            outcome, detail = ProposalOutcome.SHRUNK, f"{gone[0]} is gone"
        return self._made(before, after.version, outcome, detail, done)

    def _never_the_workers(self) -> dict[Path, bytes | None]:
        """The rubric, and whatever else judges, as it is on disk: a proposal during which it changes is thrown away."""
        return {path: path.read_bytes() if path.is_file() else None for path in sorted(self._place.exclude)}

    def _made(
        self, before: Version, after: Version | None, outcome: ProposalOutcome, detail: str | None, done: WorkDone
    ) -> Made:
        spend = Spend(worker_calls=1)
        spend.add(done.usage)
        self._meter.counted(spend)
        if outcome is not ProposalOutcome.CHANGED:
            after = None
        if after is not None:
            self._versions[after.digest] = after
        if detail is None and outcome is not ProposalOutcome.CHANGED:
            detail = done.message or None
        elif done.message and outcome in (ProposalOutcome.CRASHED, ProposalOutcome.DENIED, ProposalOutcome.TIMEOUT):
            detail = f"{detail} ({done.message})"
        return Made(
            outcome=outcome, detail=detail, message=done.message or None, spend=spend, before=before, after=after
        )

    # -- delivering

    def _deliver(self) -> None:
        """Let the person's file hold the best accepted version."""
        best = self.state.best
        if self._place.dry_run or best == self.state.delivered:
            return
        if self._place.output is None:
            self._require_untouched(self.state.delivered)
        self._record(events.DELIVERING, version=best)
        self._write(best)
        self._record(events.DELIVERED, version=best)

    def _deliver_elsewhere(self) -> None:
        """At the end, `--output` holds the best version, also when that is the original."""
        best = self._version(self.state.best)
        if self._place.output is None or self._place.dry_run or self._found(best, best).digest == best.digest:
            return
        self._record(events.DELIVERING, version=best.digest)
        self._write(best.digest)
        self._record(events.DELIVERED, version=best.digest)

    def _write(self, digest: str) -> None:
        """Only what differs on disk is written, so that a delivery that is killed again and again gets done all the same."""
        before, after = self._version(self.state.delivered), self._version(digest)
        found = self._found(before, after)
        if found.digest != after.digest:
            deliver(self._target, found, after)

    @property
    def _target(self) -> Path:
        return self._place.output or self._place.path

    def _found(self, before: Version, after: Version) -> Version:
        """What is on disk of two versions. Other files in an `--output` folder are none of our business."""
        try:
            found = load_artifact(self._target, exclude=self._place.exclude, max_bytes=self._place.max_bytes).version
        except FileError:
            return Version({}, is_folder=True)
        if not found.is_folder:
            return found
        ours = {*before.files, *after.files}
        return Version({name: e for name, e in found.files.items() if name in ours}, is_folder=True)

    def _require_untouched(self, expected: str) -> None:
        if self.on_disk().digest != expected:
            raise UsageError(
                f"{self._place.named!r} was changed by somebody else while the loop ran; it is left as it is",
                hint=f"the best version so far is kept: honestone show {self.run} --version best",
            )

    def _finish_delivery(self) -> None:
        """A kill may fall between announcing a delivery and its end; writing it once more does no harm."""
        target = self.state.delivering
        if target is None:
            return
        before, after = self._version(self.state.delivered), self._version(target)
        sweep(self._target, before, after)
        if self._place.output is None and not is_mix(self.on_disk(), before, after):
            self._require_untouched(target)
        self._write(target)
        self._record(events.DELIVERED, version=target)

    def _take_what_lies_there(self) -> None:
        """A person may have put another version of this run back; the best one is then delivered over that."""
        if self._place.dry_run or self._place.output is not None:
            return
        found = self.on_disk().digest
        if found != self.state.delivered and found in self.state.kept:
            self._record(events.DELIVERED, version=found)

    def on_disk(self) -> Version:
        return current_version(self._place)


class Improvement(LoopRunner):
    """The loop in which judges and checks look at every version."""

    def __init__(
        self, *, evaluator: Evaluator, panel: tuple[Seat, ...], holdouts: tuple[Seat, ...], **shell: Any
    ) -> None:
        super().__init__(**shell)
        self._evaluator = evaluator
        self._seats = {"panel": panel, "holdout": holdouts}

    async def close(self) -> None:
        await self._evaluator.panel.close()
        await super().close()

    def _require_possible(self) -> None:
        require_apart(self._seats["panel"], self._seats["holdout"])
        super()._require_possible()

    async def _ask(self, action: Ask) -> None:
        if self._out_of_budget():
            return
        artifact = Artifact(self._place.named, self._version(action.version))
        if CHECK in action.judges:
            ballot = await self._evaluator.check(artifact)
            self._record(events.BALLOT, version=action.version, role=action.role, ballot=ballot_to_plain(ballot))
        wanted = [seat for seat in self._seats[action.role] if seat.id in action.judges]
        if not wanted:
            return
        self._observer.progress(len(self.state.rounds), self.state.limits.rounds, f"asking {_names(wanted)}")
        for consulted in await self._evaluator.panel.consult(self._evaluator.question(artifact), wanted):
            if consulted.refused is None:
                self._record(
                    events.BALLOT,
                    version=action.version,
                    role=action.role,
                    ballot=ballot_to_plain(consulted.ballot),
                    spend=consulted.spend.to_plain(),
                )
            elif self.state.limit is None:
                self._record(events.LIMIT, reason=consulted.refused)

    def _brief(self, action: Propose, place: Path, candidate: int) -> Brief:
        card = self.state.card(action.base)
        line = card.line(action.focus[0])
        return Brief(
            text=write_brief(card, line, location=str(place), title=self.state.rubric.title),
            focus=action.focus,
            unmet=unmet_keys(line),
            fixes=fixes_for(line),
            candidate=candidate,
        )

    async def _take_up(self) -> None:
        """A crash or a time-out is no reply: what judges owe on the versions that still count is asked for once more
        when a run is taken up again. A refusal is a reply, on record, and costs nothing to read again."""
        for version in dict.fromkeys((self.state.best, self.state.current)):
            ballots = self.state.ballots.get((version, "panel"), {})
            failed = [seat for seat in self._seats["panel"] if (b := ballots.get(seat.id)) is not None and not b.marks]
            if not failed or self._meter.exhausted():
                continue
            artifact = Artifact(self._place.named, self._version(version))
            for consulted in await self._evaluator.panel.consult(self._evaluator.question(artifact), failed):
                if consulted.ballot.marks:
                    self._record(
                        events.BALLOT,
                        version=version,
                        role="panel",
                        ballot=ballot_to_plain(consulted.ballot),
                        spend=consulted.spend.to_plain(),
                    )


def _forbidden(before: Version, after: Version | None, place: Place) -> list[str]:
    """What a worker made where nothing of the artifact may be, or changed although it judges."""
    if after is None or not after.is_folder:
        return []
    made = [
        name for name in after.files if any(name == other or name.startswith(f"{other}/") for other in place.off_limits)
    ]
    changed = [name for name in place.locked if before.files.get(name) != after.files.get(name)]
    return [*(f"{name} (not part of the artifact)" for name in made), *(f"{name} (it judges)" for name in changed)]


def require_apart(panel: Sequence[Seat], holdouts: Sequence[Seat]) -> None:
    """A witness is a judge that the loop never listened to, whatever it is called. Raises UsageError."""
    steering = [_essence(seat.judge.identity) for seat in panel]
    for seat in holdouts:
        if _essence(seat.judge.identity) in steering:
            raise UsageError(
                f"the held-out judge {seat.id!r} is one of the panel: it cannot both steer and certify",
                hint="a witness is a judge that the loop never listened to: name another --holdout",
            )


def _essence(identity: Any) -> Any:
    """An identity with every word of a command that names a file replaced by what is in the file."""
    if not isinstance(identity, Mapping):
        return identity
    files = identity.get("files", {})
    if "command" in identity and isinstance(files, Mapping):
        words = [files.get(word, word) for word in identity["command"]]
        return {**{k: v for k, v in identity.items() if k != "files"}, "command": words}
    return {key: _essence(value) for key, value in identity.items()}


def current_version(place: Place) -> Version:
    return load_artifact(place.path, exclude=place.exclude, max_bytes=place.max_bytes).version


def is_mix(found: Version, before: Version, after: Version) -> bool:
    """Whether every file is as in one version or the other: a delivery that was cut off."""
    paths = {*found.files, *before.files, *after.files}
    return all(found.files.get(path) in (before.files.get(path), after.files.get(path)) for path in paths)


def sweep(root: Path, before: Version, after: Version) -> None:
    """Remove what a delivery that was killed left half-written: a temporary file with the beginning of one of its own."""
    near = root.rglob(f"{TEMPORARY}*") if after.is_folder else root.parent.glob(f"{TEMPORARY}*")
    for path in list(near):
        name = path.relative_to(root).as_posix() if after.is_folder else path.name
        if name in before.files or name in after.files or path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        # Beside a file others may be writing right now, so there an empty one may be theirs.
        if (data or after.is_folder) and any(e.data.startswith(data) for e in after.files.values()):
            path.unlink(missing_ok=True)


def _names(seats: list[Seat]) -> str:
    return ", ".join(seat.id for seat in seats)


def require_resumable(place: Place, state: LoopState, store: Store, run: str) -> None:
    """An unfinished run goes on only over bytes it knows: its original, or a version it accepted."""
    try:
        found = current_version(place)
    except FileError as error:
        raise UsageError(
            f"run {run} is unfinished, but its artifact cannot be read: {error.message}",
            hint="bring the file back, or start over with --fresh",
        ) from None
    if found.digest in state.kept:
        return
    if state.delivering is not None:
        before, after = load_version(store, state.delivered), load_version(store, state.delivering)
        if place.output is None:
            sweep(place.path, before, after)
            found = current_version(place)
        if is_mix(found, before, after):
            return
    raise UsageError(
        f"run {run} on {place.named!r} is unfinished, and somebody has edited the file since",
        hint="start from the edited file with --fresh, or bring back a version of the run: "
        f"honestone show {run} --version best > {place.named}",
    )


__all__ = ["CouldNotJudge", "Improvement", "Place", "current_version", "require_resumable"]
