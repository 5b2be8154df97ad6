"""The judgements of `improve`. Over a rubric checks and judges score every version, and held-out
judges certify; over a suite its splits are run with every version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.artifact import Artifact, Version
from honestone.core.errors import UsageError
from honestone.core.events import (
    BallotCast,
    CandidateRanked,
    CandidateTried,
    CaseAnswers,
    LimitReached,
    RecordedCandidate,
    Role,
)
from honestone.core.json_value import JsonObject
from honestone.core.judging.ballot import CHECK, Question
from honestone.core.judging.scorecard import Line
from honestone.core.judging.spend import Meter, Spend
from honestone.core.loop.policies import fixes_for, rejected_tries, unmet_items, write_brief
from honestone.core.loop.state import Ask, LoopState, Propose
from honestone.core.loop.suite_loop import (
    TEST,
    TRAIN,
    ByNeed,
    SuiteLoopState,
    ballot_of,
    failed_tasks,
    write_task_brief,
)
from honestone.core.skill.evaluation import TaskResult
from honestone.core.suite.case import Case
from honestone.engine.judging.ballots import Consulted
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.judging.seats import Seat
from honestone.engine.judging.voter import voter
from honestone.engine.loop_runner import Judgement, LoopRunner
from honestone.ports import Brief


class PanelJudgement(Judgement[LoopState]):
    """A rubric's panel steers; the seats in `holdouts` certify and their words never reach the
    worker.

    `before_asking` is called before these seats are asked a question; what it raises stops the loop
    there. Raises UsageError for a held-out judge that is one of the panel.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        panel: Sequence[Seat],
        holdouts: Sequence[Seat],
        before_asking: Callable[[Sequence[Seat], Question], None] | None = None,
    ) -> None:
        require_apart(panel, holdouts)
        self._evaluator = evaluator
        self._before_asking = before_asking
        self._seats = {"panel": panel, "holdout": holdouts}

    async def ask(self, loop: LoopRunner[LoopState], action: Ask) -> None:
        if await loop.out_of_budget():
            return
        artifact = Artifact(loop.place.named, loop.version(action.version))
        if CHECK in action.judges:
            ballot = await self._evaluator.check(self._evaluator.question(artifact))
            await loop.record(BallotCast(version=action.version, role=action.role, ballot=ballot))
        wanted = [seat for seat in self._seats[action.role] if seat.id in action.judges]
        if not wanted:
            return
        loop.say(f"asking {', '.join(seat.id for seat in wanted)}")
        self._evaluator.panel.answered = lambda seat: loop.say(f"{seat} answered")
        for consulted in await self._consult(artifact, wanted, _look_of(loop.state, action)):
            if consulted.refused is None:
                await _record(loop, action.version, action.role, consulted, action.draw)
            else:
                await loop.reach_limit(LimitReached(reason=consulted.refused))

    async def resume(self, loop: LoopRunner[LoopState]) -> None:
        """A crash or a time-out is not a reply: judges that failed on the versions that still count
        are asked again, and so are those that gave only unusable replies. A refusal is a reply, on
        record, and costs nothing to read again.
        """
        state = loop.state
        rounds = state.rounds[-1:]
        undecided = [one.version for one in rounds if one.is_open and one.version is not None]
        for version in dict.fromkeys((state.best, state.current, *undecided)):
            ballots = loop.state.ballots.get((version, "panel"), {})
            failed = [
                seat
                for seat in self._seats["panel"]
                if (b := ballots.get(seat.id)) is not None and not b.marks
            ]
            if failed and not loop.meter.exhausted():
                for consulted in await self._consult(
                    Artifact(loop.place.named, loop.version(version)), failed
                ):
                    if consulted.ballot.marks:
                        await _record(loop, version, "panel", consulted)

    async def _consult(
        self, artifact: Artifact, seats: Sequence[Seat], draw: int = 0
    ) -> Sequence[Consulted]:
        question = self._evaluator.question(artifact)
        # A second judge of one name is a second draw too, so a later look of all of them has draws
        # after those.
        every = sum(map(len, self._seats.values()))
        asked = [replace(seat, draw=seat.draw + draw * every) for seat in seats]
        if self._before_asking is not None:
            self._before_asking(asked, question)
        return await self._evaluator.panel.consult(question, asked)

    def brief(
        self, loop: LoopRunner[LoopState], action: Propose, place: Path, candidate: int
    ) -> Brief:
        card = loop.state.brief_card(action.base)
        line = card.line(action.focus[0])
        text = write_brief(
            card,
            line,
            location=str(place),
            title=loop.state.rubric.title,
            items=action.items,
            rejected=rejected_tries(loop.state, action),
        )
        return Brief(
            text=text,
            focus=action.focus,
            unmet=tuple(
                (line.criterion.id, one.item.id) for one in unmet_items(line, action.items)
            ),
            fixes=fixes_for(line, action.items),
            candidate=candidate,
        )

    async def close(self) -> None:
        await self._evaluator.panel.close()


def _look_of(state: LoopState, action: Ask) -> int:
    """Which look of its judge an action asks for, from 0. A call that failed does not count for a held-out
    judge: it is asked the same question again, so that of each look the first answer on record is
    the one that counts.
    """
    if action.role == "panel":
        return action.draw
    answered = state.ballots.get((action.version, action.role), {}).values()
    return sum(bool(one.marks) and one.voter in action.judges for one in answered)


async def _record(
    loop: LoopRunner[LoopState], version: str, role: Role, consulted: Consulted, draw: int = 0
) -> None:
    ballot, spend = consulted.ballot, consulted.spend
    await loop.record(BallotCast(version=version, role=role, ballot=ballot, draw=draw, spend=spend))


def require_apart(panel: Sequence[Seat], holdouts: Sequence[Seat]) -> None:
    """A held-out judge must be one that the loop never listened to, whatever it is called. Raises
    UsageError.
    """
    steering = [voter(seat.judge) for seat in panel]
    for seat in holdouts:
        if voter(seat.judge) in steering:
            raise UsageError(
                f"the held-out judge {seat.id!r} is one of the panel: it cannot both steer and certify",
                hint="a witness is a judge that the loop never listened to: name another --holdout",
            )


class SplitRun(Struct, frozen=True, kw_only=True):
    """One version's run over one split. `spend` is all it cost, `earlier` what of that an earlier
    process spent.

    `cut_short` is the limit that ended it before every task was run: then its results do not count.
    `answers`: what is known of each task.
    """

    run: str
    results: Sequence[TaskResult]
    spend: Spend
    earlier: Spend
    judges: Sequence[JsonObject] = ()
    flags: Sequence[str] = ()
    cut_short: str | None = None
    answers: Sequence[CaseAnswers] = ()


class SplitRunner(Protocol):
    """Runs the tasks of a split with a version of the artifact.

    The same version and split within one run of the loop are run once, and once each time that its
    judges are asked again: what an earlier process
    finished is returned, what it began is resumed. `meter` is the loop's; what is left of it is the
    limit. `need`: how judges are asked; None for one look of each of them.
    """

    async def run(
        self, version: Version, split: str, meter: Meter, need: ByNeed | None = None
    ) -> SplitRun: ...

    async def close(self) -> None: ...


class EditPanel(Protocol):
    """Says how good an edit looks (0-1) without running anything; None when no judge could say."""

    async def score(
        self, before: Version, after: Version, failed: Sequence[str], meter: Meter
    ) -> tuple[Fraction | None, Spend]: ...

    async def close(self) -> None: ...


SuiteLoop: TypeAlias = LoopRunner[SuiteLoopState]


class TaskJudgement(Judgement[SuiteLoopState]):
    """`train` are the tasks that the worker may be shown, `kind` says in words what is improved.

    Of several candidates `edits` chooses by their edits alone; without it, or where no judge could
    say, train does.
    """

    def __init__(
        self,
        runner: SplitRunner,
        *,
        train: Sequence[Case],
        kind: str,
        edits: EditPanel | None = None,
    ) -> None:
        self._runner = runner
        self._edits = edits
        self._train = train
        self._kind = kind

    async def close(self) -> None:
        await self._runner.close()
        if self._edits is not None:
            await self._edits.close()

    # -- judging

    async def ask(self, loop: SuiteLoop, action: Ask) -> None:
        """The next split; the one after it is asked for when this one is on record. Test runs the
        original first.
        """
        split, original = action.judges[0], loop.state.original
        if split == TEST and loop.state.unasked(original, "holdout"):
            await self._look(loop, original, split, action.role)
            if loop.state.limit is not None or action.version == original:
                return
        await self._look(loop, action.version, split, action.role)

    async def _look(self, loop: SuiteLoop, version: str, split: str, role: Role) -> None:
        if await loop.out_of_budget():
            return
        state = loop.state
        need = state.by_need(version, split)
        done = await self._runner.run(loop.version(version), split, loop.meter, need)
        # Into the loop's meter: what an earlier process spent on this split was not on record until
        # now.
        loop.meter.before.join(done.earlier)
        loop.meter.spent.join(done.spend.without(done.earlier))
        if done.cut_short is not None:
            await loop.reach_limit(
                LimitReached(reason=done.cut_short, of_run=done.run, spend=done.spend)
            )
            return
        await loop.record(
            BallotCast(
                version=version,
                role=role,
                ballot=ballot_of(split, done.results),
                spend=done.spend,
                of_run=done.run,
                judges=done.judges,
                flags=tuple(done.flags),
                cases=state.new_looks(done.answers),
            )
        )

    # -- proposing

    async def choose(
        self, loop: SuiteLoop, action: Propose, new: Sequence[CandidateTried]
    ) -> CandidateTried:
        """The candidate that is run on val: of several, the one that looks best."""
        if len(new) == 1:
            return new[0]
        ranks = await self._by_edit(loop, new, action.base) or await self._by_train(loop, new)
        best = max(ranks.values(), default=None)
        return next((one for one in new if ranks.get(one.version or "") == best), new[0])

    async def _by_edit(
        self, loop: SuiteLoop, new: Sequence[CandidateTried], base: str
    ) -> dict[str, Fraction]:
        """A panel's score of each edit; empty without a panel, and when it could not score every
        one.
        """
        if self._edits is None:
            return {}
        ranks = loop.state.ranks
        before, failed = loop.version(base), failed_tasks(loop.state.card(base), self._train)
        for one in new:
            version = one.version or ""
            if version in ranks or await loop.out_of_budget():
                continue
            score, spend = await self._edits.score(
                before, loop.version(version), [task.task_id for task in failed], loop.meter
            )
            loop.meter.spent.join(spend)
            await loop.record(CandidateRanked(version=version, score=score, spend=spend))
        scores = {
            one.version or "": score
            for one in new
            if (score := ranks.get(one.version or "")) is not None
        }
        return scores if len(scores) == len(new) else {}

    async def _by_train(
        self, loop: SuiteLoop, new: Sequence[CandidateTried]
    ) -> dict[str, Fraction]:
        """How many tasks of train surely pass with each, as far as the limits reach."""
        lines = {}
        for one in new:
            version = one.version or ""
            if loop.state.limit is None and _train_line(loop, version) is None:
                await self._look(loop, version, TRAIN, "panel")
            line = _train_line(loop, version)
            if line is not None:
                lines[version] = line.low
        return lines

    def described(self, loop: SuiteLoop, tried: CandidateTried) -> RecordedCandidate:
        line = _train_line(loop, tried.version or "")
        train = [float(line.low), float(line.high)] if line is not None else None
        return {**super().described(loop, tried), "train": train}

    def brief(self, loop: SuiteLoop, action: Propose, place: Path, candidate: int) -> Brief:
        failed = failed_tasks(loop.state.card(action.base), self._train)
        text = write_task_brief(
            failed,
            location=str(place),
            kind=self._kind,
            number=candidate + 1,
            candidates=action.candidates,
        )
        return Brief(
            text=text,
            focus=action.focus,
            unmet=tuple((TRAIN, task.task_id) for task in failed),
            candidate=candidate,
        )


def _train_line(loop: SuiteLoop, version: str) -> Line | None:
    """A version's results on train, where it was run on them."""
    seen = loop.state.ballots.get((version, "panel"), {})
    return loop.state.card(version).line(TRAIN) if TRAIN in seen else None
