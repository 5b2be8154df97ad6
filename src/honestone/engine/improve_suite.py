"""The shell of a loop over a suite: splits are run where the other loop asks judges; all else is the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from honestone.core import events
from honestone.core.artifact import Version
from honestone.core.ballot import ballot_to_plain
from honestone.core.events import Role
from honestone.core.loop.actions import Ask, Propose
from honestone.core.loop.proposal import ProposalOutcome
from honestone.core.loop.state import Candidate
from honestone.core.loop.suite_loop import TEST, TRAIN, SuiteLoopState, ballot_of, failed_tasks, write_task_brief
from honestone.core.skill.evaluation import TaskResult
from honestone.core.suite.case import Case
from honestone.engine.improve import LoopRunner
from honestone.engine.meter import Meter, Spend
from honestone.ports import Brief


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRun:
    """One version's run over one split. `spend` is all it cost, `earlier` what of that an earlier process spent.

    `cut_short` is the limit that ended it before every task was run: then its results stand for nothing.
    """

    run: str
    results: Sequence[TaskResult]
    spend: Spend
    earlier: Spend
    judges: Sequence[Mapping[str, Any]] = ()
    flags: Sequence[str] = ()
    cut_short: str | None = None


class SplitRunner(Protocol):
    """Runs the tasks of a split with a version of the artifact.

    The same version and split within one run of the loop are run once: what an earlier process finished is returned, what
    it began is gone on with. `meter` is the loop's; what is left of it is the limit.
    """

    async def run(self, version: Version, split: str, meter: Meter) -> SplitRun: ...

    async def close(self) -> None: ...


class EditPanel(Protocol):
    """Says how good an edit looks (0-1) without running anything; None when nobody could say."""

    async def score(
        self, before: Version, after: Version, failed: Sequence[str], meter: Meter
    ) -> tuple[Fraction | None, Spend]: ...

    async def close(self) -> None: ...


class SuiteImprovement(LoopRunner):
    """The loop in which tasks look at every version. `kind` says in words what is improved.

    Of several candidates `edits` chooses by their edits alone; without it, or where nobody could say, train does.
    """

    state: SuiteLoopState

    def __init__(
        self, *, runner: SplitRunner, train: Sequence[Case], kind: str, edits: EditPanel | None = None, **shell: Any
    ) -> None:
        super().__init__(**shell)
        self._runner = runner
        self._edits = edits
        self._train = train
        self._kind = kind

    async def close(self) -> None:
        await self._runner.close()
        if self._edits is not None:
            await self._edits.close()
        await super().close()

    # -- looking

    async def _ask(self, action: Ask) -> None:
        """The next split; the one after it is asked for when this one is on record. Test runs the original first."""
        split = action.judges[0]
        if split == TEST and self.state.unasked(self.state.original, "holdout"):
            await self._look(self.state.original, split, action.role)
            if self.state.limit is not None or action.version == self.state.original:
                return
        await self._look(action.version, split, action.role)

    async def _look(self, version: str, split: str, role: Role) -> None:
        if self._out_of_budget():
            return
        done = await self._runner.run(self._version(version), split, self._meter)
        self._count(done)
        facts: dict[str, Any] = {"of_run": done.run, "spend": done.spend.to_plain()}
        if done.cut_short is not None:
            self._record(events.LIMIT, reason=done.cut_short, **facts)
            return
        self._record(
            events.BALLOT,
            version=version,
            role=role,
            ballot=ballot_to_plain(ballot_of(split, done.results)),
            judges=[dict(judge) for judge in done.judges],
            flags=list(done.flags),
            **facts,
        )

    def _count(self, done: SplitRun) -> None:
        """Into the loop's meter: what an earlier process spent on this split was not on record until now."""
        self._meter.before.join(done.earlier)
        self._meter.spent.join(_without(done.spend, done.earlier))

    # -- proposing

    async def _propose(self, action: Propose) -> None:
        if action.candidates == 1:
            await super()._propose(action)
            return
        await self._try_all(action)
        tried = list(self.state.tried)
        if not tried:
            return
        chosen = await self._choose(tried, action.base)
        facts: dict[str, Any] = {"outcome": str(chosen.outcome), "detail": chosen.detail, "message": chosen.message}
        if chosen.version is not None:
            facts |= {"version": chosen.version, "diff": chosen.diff}
        self._record(
            events.PROPOSED,
            round=len(self.state.rounds) + 1,
            focus=list(action.focus),
            candidate=chosen.number,
            candidates=[self._told(one) for one in tried],
            **facts,
        )

    async def _try_all(self, action: Propose) -> None:
        """Every candidate goes on record when it is made: none is paid for twice."""
        number = len(self.state.rounds) + 1
        for candidate in range(len(self.state.tried), action.candidates):
            if self._out_of_budget():
                return
            made = await self._try(action, number, candidate)
            self._record(events.CANDIDATE, made.blobs, round=number, candidate=candidate + 1, **made.facts)

    async def _choose(self, tried: Sequence[Candidate], base: str) -> Candidate:
        """The candidate that is run on val: of several that are new, the one that looks best."""
        new = self._new(tried)
        if not new:
            return next((one for one in tried if one.version is not None), tried[0])
        if len(new) == 1:
            return new[0]
        ranks = await self._by_edit(new, base) or await self._by_train(new)
        best = max(ranks.values(), default=None)
        return next((one for one in new if ranks.get(one.version or "") == best), new[0])

    async def _by_edit(self, new: Sequence[Candidate], base: str) -> dict[str, Fraction]:
        """What a panel makes of the edits; empty without a panel, and when it could not say of every one."""
        if self._edits is None:
            return {}
        before, failed = self._version(base), failed_tasks(self.state.card(base), self._train)
        for one in new:
            version = one.version or ""
            if version in self.state.ranks or self._out_of_budget():
                continue
            score, spend = await self._edits.score(
                before, self._version(version), [task.task_id for task in failed], self._meter
            )
            self._meter.spent.join(spend)
            told = None if score is None else str(score)
            self._record(events.RANKED, version=version, score=told, spend=spend.to_plain())
        scores = {one.version or "": self.state.ranks.get(one.version or "") for one in new}
        known = {version: score for version, score in scores.items() if score is not None}
        return known if len(known) == len(new) else {}

    async def _by_train(self, new: Sequence[Candidate]) -> dict[str, Fraction]:
        """How many tasks of train surely pass with each, as far as the limits reach."""
        for one in new:
            if self.state.limit is None and TRAIN not in self._seen(one.version):
                await self._look(one.version or "", TRAIN, "panel")
        return {
            one.version or "": self.state.card(one.version or "").line(TRAIN).low
            for one in new
            if TRAIN in self._seen(one.version)
        }

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

    def _seen(self, version: str | None) -> Mapping[str, Any]:
        return self.state.ballots.get((version or "", "panel"), {})

    def _told(self, one: Candidate) -> dict[str, Any]:
        known = TRAIN in self._seen(one.version)
        line = self.state.card(one.version or "").line(TRAIN) if known else None
        return {
            "candidate": one.number,
            "outcome": str(one.outcome),
            "version": one.version,
            "train": [float(line.low), float(line.high)] if line is not None else None,
            "edit": None if (score := self.state.ranks.get(one.version or "")) is None else float(score * 10),
        }

    def _brief(self, action: Propose, place: Path, candidate: int) -> Brief:
        failed = failed_tasks(self.state.card(action.base), self._train)
        text = write_task_brief(
            failed, location=str(place), kind=self._kind, number=candidate + 1, candidates=action.candidates
        )
        return Brief(
            text=text, focus=action.focus, unmet=tuple((TRAIN, task.task_id) for task in failed), candidate=candidate
        )


def _without(spend: Spend, earlier: Spend) -> Spend:
    """What of a spend is new. A price that nobody told stays unknown."""
    new = Spend()
    for name in Spend.__slots__:
        if name != "usd":
            setattr(new, name, getattr(spend, name) - getattr(earlier, name))
    if spend.usd is not None:
        new.usd = spend.usd - (earlier.usd or 0.0)
    return new


__all__ = ["EditPanel", "SplitRun", "SplitRunner", "SuiteImprovement"]
