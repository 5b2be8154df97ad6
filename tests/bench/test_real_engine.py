"""The benchmark's driver does what the engine does: the same worlds, with files, a panel, a meter
and the SQLite store.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from driver import Cell, Outcome, Settings, listed, version_number
from simulation import Simulation
from worlds import World

from honestone.adapters.checks import CheckRunner
from honestone.adapters.stores.sqlite import SqliteStore
from honestone.core.events import (
    BallotCast,
    EditProposed,
    Event,
    LimitReached,
    RunFinished,
    VersionAccepted,
    VersionRejected,
)
from honestone.core.judging.ballot import Question
from honestone.core.judging.spend import Meter
from honestone.core.loop.named import POLICIES
from honestone.core.loop.state import Action, LoopState, Propose
from honestone.engine.judgements import PanelJudgement
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.judging.panel import Panel
from honestone.engine.judging.seats import Seat
from honestone.engine.loop_runner import LoopRunner
from honestone.engine.place import Place, version_blobs
from honestone.ports import Brief, CallFailed
from honestone.system.files import load_artifact
from honestone.testing import ScriptedJudge, ScriptedWorker

FILLER = "".join(
    f"Line {number} of a text that is here so that an edit is small.\n" for number in range(20)
)


def text_of(version: int) -> str:
    return f"This is version {version}.\n{FILLER}"


def version_in(text: str) -> int:
    found = re.match(r"This is version (\d+)\.", text)
    assert found is not None
    return int(found[1])


class Silent:
    def note(self, text: str) -> None: ...

    def progress(self, done: int, total: int, doing: str) -> None: ...

    def event(self, event: Event) -> None: ...


class Remembering:
    """A policy of the product that keeps its last action, for the worker."""

    def __init__(self, cell: Cell) -> None:
        self.name = cell.settings.policy
        self._policy = cell.policy
        self.last: Action | None = None

    def decide(self, state: LoopState) -> Action:
        self.last = self._policy.decide(state)
        return self.last


class Engine:
    """One run of a cell as `improve` runs it."""

    def __init__(self, cell: Cell, seed: int, number: int, folder: Path) -> None:
        self.cell = cell
        self.simulation = Simulation(cell.world, cell.rubric, seed=seed, run=number)
        self.file = folder / "artifact.md"
        self.file.write_text(text_of(0))
        self.store = SqliteStore(folder / "store")
        self.policy = Remembering(cell)
        self.worker = ScriptedWorker(self.edit)
        self.looks = Counter[tuple[str, int]]()

    def look(self, judge: str, question: Question) -> Any:
        every = self.cell.world.panel + self.cell.world.holdout
        version = version_in(question.artifact.version.text)
        look = question.draw // every
        if (
            judge in self.cell.world.heldout_judges
        ):  # Its question stays the same: only a call that failed is repeated.
            look = self.looks[judge, version]
            self.looks[judge, version] += 1
        ballot = self.simulation.ballot(judge, version, look)
        if not ballot.marks:
            return CallFailed("simulated: no reply")
        return {key: mark.answer for key, mark in ballot.marks.items()}

    def edit(self, place: Path, brief: Brief) -> None:
        action = self.policy.last
        assert isinstance(action, Propose) and action.focus == brief.focus
        base = version_in(place.read_text())
        made = self.simulation.edit(base, brief.focus, listed(self.runner.state, action))
        place.write_text(text_of(made))

    def run(self) -> list[Event]:
        original = load_artifact(self.file).version
        self.store.keep_blobs(version_blobs(original))
        started = self.cell.started(original.digest)
        run = self.store.start_run(
            kind="improve", subject="", identity="", contract="", first=started
        )
        meter = Meter(calls=self.cell.settings.max_calls, minutes=60, usd=None, clock=lambda: 0.0)
        seats = {}
        for name in (*self.cell.world.panel_judges, *self.cell.world.heldout_judges):
            judge = ScriptedJudge(lambda question, name=name: self.look(name, question), id=name)
            seats[name] = Seat(id=name, judge=judge, kind="model")
        panel = Panel(seats=tuple(seats.values()), journal=self.store.journal, meter=meter)
        self.runner = LoopRunner(
            run=run,
            state=self.cell.policy.start(started, self.cell.scorer),
            policy=self.policy,
            judgement=PanelJudgement(
                Evaluator(self.cell.rubric, CheckRunner(self.file.parent), panel),
                panel=[seats[name] for name in self.cell.world.panel_judges],
                holdouts=[seats[name] for name in self.cell.world.heldout_judges],
            ),
            place=Place(path=self.file, named="artifact.md"),
            worker=self.worker,
            store=self.store,
            meter=meter,
            observer=Silent(),
        )
        asyncio.run(self.runner.work())
        return list(self.store.events(run))


def story(log: Iterable[Event], names: dict[str, int]) -> list[tuple[object, ...]]:
    """What was decided and answered, in order. `names`: versions by their name in this log."""
    told: list[tuple[object, ...]] = []
    for event in log:
        match event:
            case BallotCast(version=version, role=role, draw=draw, ballot=ballot):
                answers = {key: mark.answer for key, mark in ballot.marks.items()}
                told.append(("ballot", names[version], role, ballot.judge, draw, answers))
            case EditProposed(version=version, base=base):
                assert version is not None
                names.setdefault(version, len(names))
                told.append(
                    (
                        "edit",
                        event.round,
                        event.focus,
                        event.items,
                        base and names[base],
                        names[version],
                    )
                )
            case VersionAccepted(version=version, reason=reason):
                told.append(("kept", names[version], reason))
            case VersionRejected(reason=reason):
                told.append(("given up", reason))
            case LimitReached(reason=reason):
                told.append(("limit", reason))
            case RunFinished(result=result, reason=reason):
                told.append(("end", result, reason))
    return told


WORLDS = {
    "scores": World(rho=0.5),
    "checklist": World(mode="checklist", p_game=0.2),
    "calls that fail": World(mode="checklist", judge_fails=0.2),
    "trade-off": World(trade_off=0.5, C=3, panel=2, holdout=1),
}


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))
def test_the_engine_decides_as_the_benchmark_does(
    tmp_path: Path, world: World, policy: str
) -> None:
    """Event by event: the same questions, answers, edits, decisions and end; and the same version
    is delivered.
    """
    cell = Cell.of(world, Settings(policy=policy, max_calls=24))
    for number in range(3):
        drive = cell.drive(seed=5, number=number)
        (tmp_path / str(number)).mkdir()
        engine = Engine(cell, 5, number, tmp_path / str(number))
        log = engine.run()
        told = story(log, {engine.runner.state.original: 0})
        assert len(told) > 10 and told == story(drive.log, {drive.state.original: 0})
        delivered = version_in(engine.file.read_text())
        assert delivered == version_number(drive.state.best)
        outcome: Outcome = drive.outcome()
        assert outcome.final == engine.simulation.overall(delivered)
        assert outcome.worker_calls == engine.worker.calls


def test_a_limit_ends_both_at_the_same_call(tmp_path: Path) -> None:
    cell = Cell.of(World(), Settings(policy="keep-best", max_calls=7))
    drive, engine = cell.drive(seed=1, number=1), Engine(cell, 1, 1, tmp_path)
    log = engine.run()
    assert story(log, {engine.runner.state.original: 0}) == story(
        drive.log, {drive.state.original: 0}
    )
    assert drive.outcome().judge_calls == 7 and drive.state.limit == "--max-calls 7 are used up"
