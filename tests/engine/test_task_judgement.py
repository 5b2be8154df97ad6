"""The shell of a loop over tasks: what is run, in which order, what is paid for once, and what the
worker is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import engine_world as world
import pytest

from honestone.adapters.stores.memory import MemoryStore
from honestone.core.artifact import Version
from honestone.core.events import StartedArtifact, StartedSuite, SuiteImprovementStarted
from honestone.core.judging.rubric import Check, Criterion, Item, Rubric
from honestone.core.judging.spend import Meter, Spend
from honestone.core.loop.state import LoopLimits, Result, Stop, fold
from honestone.core.loop.suite_loop import (
    KeepWhatHelps,
    Splits,
    SuiteLoopState,
    certifying_rubric,
    state_of_suite,
    steering_rubric,
)
from honestone.core.record.event_codec import event_to_plain
from honestone.core.skill.evaluation import TaskResult
from honestone.core.suite.case import Case, Message, Split
from honestone.engine.judgements import SplitRun, TaskJudgement
from honestone.engine.loop_runner import LoopRunner
from honestone.engine.place import Place, version_blobs
from honestone.system.files import load_artifact
from honestone.testing import ScriptedWorker, unchanged

IDS = {"train": ["ta", "tb", "tc"], "val": ["va", "vb"], "test": ["xa", "xb"]}


def _case(id: str, split: str) -> Case:
    item = Item(
        id="says", requirement="says it", check=Check(kind="contains", value=[id]), whole=True
    )
    rubric = Rubric(criteria=(Criterion(id="says", requirement="says it", items=(item,)),))
    return Case(id=id, rubric=rubric, messages=(Message("user", f"Say {id}"),), split=Split(split))


SPLITS = Splits.among([_case(id, split) for split, ids in IDS.items() for id in ids])


def knows(text: str, id: str) -> bool | None:
    """A task passes when the artifact holds its id or ALL; it has no result when the artifact says
    DOWN and its id.
    """
    return None if f"DOWN {id}" in text else id in text or "ALL" in text


@dataclass
class Runner:
    """Runs no agent: it looks into the artifact. `asked` is every run in order."""

    knows: Callable[[str, str], bool | None] = knows
    asked: list[tuple[str, str]] = field(default_factory=list)
    stop_at: int | None = None
    cut_at: int | None = None
    closed: bool = False

    async def run(
        self, version: Version, split: str, meter: Meter, need: object = None
    ) -> SplitRun:
        if self.stop_at == len(self.asked):
            raise Killed
        self.asked.append((version.text, split))
        results = []
        for id in IDS[split]:
            passed = self.knows(version.text, id)
            why = "the agent is down" if passed is None else ""
            results.append(
                TaskResult(
                    task_id=id, passed=passed, score=None, details=f"no {id} in it", error=why
                )
            )
        cut = "--max-calls 3 are used up" if self.cut_at == len(self.asked) else None
        spend = Spend(target_calls=len(results), judge_calls=1)
        return SplitRun(
            run=f"run-{len(self.asked)}",
            results=results,
            spend=spend,
            earlier=Spend(),
            flags=["flaky: x"],
            cut_short=cut,
        )

    async def close(self) -> None:
        self.closed = True


@dataclass
class Edits:
    """A panel whose scores stand in the edits themselves."""

    scores: Mapping[str, Fraction | None]
    asked: list[str] = field(default_factory=list)

    async def score(
        self, before: Version, after: Version, failed: Sequence[str], meter: Meter
    ) -> tuple[Fraction | None, Spend]:
        self.asked.append(after.text)
        return self.scores[after.text], Spend(judge_calls=1)

    async def close(self) -> None: ...


class Killed(Exception):
    """The process ended here."""


class Quiet:
    def note(self, text: str) -> None: ...

    def progress(self, done: int, total: int, doing: str) -> None: ...

    def event(self, event: Mapping[str, Any]) -> None: ...


class Loop:
    """One run over a file or a skill in `root`; `again()` is the same command after a kill."""

    def __init__(
        self,
        path: Path,
        steps: Any,
        *,
        candidates: int = 1,
        runner: Runner | None = None,
        edits: Edits | None = None,
        rounds: int = 5,
        place: Mapping[str, Any] = {},
    ) -> None:
        self.runner, self.edits = runner or Runner(), edits
        self.worker = ScriptedWorker(steps)
        self.place = Place(path=path, named=path.name, **place)
        self.store = MemoryStore()
        version = load_artifact(path, exclude=self.place.exclude).version
        self.first = SuiteImprovementStarted(
            contract={},
            contract_id="c",
            limits=LoopLimits(rounds=rounds, calls=100, minutes=10).to_plain(),
            artifact=StartedArtifact(path=path.name, digest=version.digest),
            policy="keep-best",
            worker="scripted",
            rubric=steering_rubric(SPLITS, title="Words", least=Fraction(1)),
            certifying=certifying_rubric(SPLITS, title="Words", least=Fraction(1)),
            splits=SPLITS.ids,
            candidates=candidates,
            suite=StartedSuite(path="suite.yaml"),
        )
        self.store.keep_blobs(version_blobs(version))
        self.run_id = self.store.start_run(
            kind="improve", subject=str(path), identity="x", contract="c", first=self.first
        )

    def state(self) -> SuiteLoopState:
        state = state_of_suite(self.first)
        fold(state, self.store.events(self.run_id)[1:])
        return state

    def run(self) -> Stop:
        self.meter = world.meter()
        work = LoopRunner(
            run=self.run_id,
            judgement=TaskJudgement(
                self.runner, train=SPLITS.train, kind="a prompt", edits=self.edits
            ),
            state=self.state(),
            policy=KeepWhatHelps(),
            place=self.place,
            worker=self.worker,
            store=self.store,
            meter=self.meter,
            observer=Quiet(),
        )
        return world.run(work.work())

    @property
    def log(self) -> list[dict[str, Any]]:
        return [event_to_plain(event) for event in self.store.events(self.run_id)]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.log if event["type"] == kind]

    @property
    def splits_run(self) -> list[str]:
        return [split for _, split in self.runner.asked]


START = "ta va\n"


@pytest.fixture
def doc(tmp_path: Path) -> Path:
    path = tmp_path / "prompt.md"
    path.write_text(START)
    return path


def test_a_general_edit_passes_and_is_delivered(doc: Path) -> None:
    """Val before train, test at the very end, the original's test first; the file holds the result."""
    loop = Loop(doc, ["ta va ALL\n"])
    assert loop.run().result is Result.PASSED and doc.read_text() == "ta va ALL\n"
    assert loop.splits_run == ["val", "train", "val", "train", "test", "test"]
    assert [text for text, split in loop.runner.asked if split == "test"] == [START, "ta va ALL\n"]


def test_the_worker_is_shown_train_only(doc: Path) -> None:
    """The brief names the failed train tasks with prompt and judge's words; nothing of val and test
    is in any.
    """
    loop = Loop(doc, ["ta va tb\n", "ta va tb more\n", unchanged], rounds=3)
    loop.run()
    briefs = [brief.text for brief in loop.worker.briefs]
    assert "Say tb" in briefs[0] and "no tc in it" in briefs[0] and "Say ta" not in briefs[0]
    assert "Say tb" not in briefs[1] and "Say tc" in briefs[1]
    assert not any(id in text for text in briefs for id in ("Say v", "Say x", "no vb", "no xa"))
    assert loop.worker.briefs[0].unmet == (("train", "tb"), ("train", "tc"))


def test_what_val_refuses_is_rolled_back_and_not_run_on_train(doc: Path) -> None:
    """The file keeps its bytes; train was run for the original alone."""
    loop = Loop(doc, [f"ta tb tc {n}\n" for n in range(3)])
    assert loop.run().result is Result.PLATEAU and doc.read_text() == START
    assert loop.splits_run == ["val", "train", "val", "val", "val"]


def test_test_that_fails_is_unconfirmed_with_the_best_delivered(doc: Path) -> None:
    """Good on train and val, bad on test: one look, and the loop ends."""
    loop = Loop(doc, ["ta tb tc va vb\n"])
    assert loop.run().result is Result.UNCONFIRMED and doc.read_text() == "ta tb tc va vb\n"
    assert loop.splits_run.count("test") == 2


def test_an_unchanged_skill_costs_no_run(doc: Path) -> None:
    """The worker that only talks: NO_CHANGE, and nothing was run after the baseline."""
    loop = Loop(doc, unchanged)
    assert loop.run().result is Result.NO_CHANGE
    assert loop.splits_run == ["val", "train"]


def test_the_same_bytes_again_cost_no_run(doc: Path) -> None:
    """A proposal that was decided before is rejected as the same."""
    loop = Loop(doc, ["tb tc\n", "tb tc\n", unchanged])
    loop.run()
    assert loop.splits_run == ["val", "train", "val"]
    assert "same bytes" in loop.of("rejected")[1]["reason"]


# ----------------------------------------------------------------------------------------------------------
# candidates


def test_of_several_candidates_the_best_on_train_goes_on(doc: Path) -> None:
    """Each is run on train, only the best on val; the round says what came of every one."""
    loop = Loop(doc, ["ta va junk\n", "ta va ALL\n"], candidates=2)
    assert loop.run().result is Result.PASSED and doc.read_text() == "ta va ALL\n"
    assert loop.splits_run[:5] == ["val", "train", "train", "train", "val"]
    (proposed,) = loop.of("proposed")
    assert proposed["candidate"] == 2
    assert [one["train"] for one in proposed["candidates"]] == [
        [pytest.approx(1 / 3)] * 2,
        [1.0, 1.0],
    ]


def test_a_panel_chooses_before_anything_is_run(doc: Path) -> None:
    """With judges of edits no candidate is run to be ranked; its score is on record."""
    edits = Edits({"ta va junk\n": Fraction(1, 6), "ta va ALL\n": Fraction(1)})
    loop = Loop(doc, ["ta va junk\n", "ta va ALL\n"], candidates=2, edits=edits)
    assert loop.run().result is Result.PASSED
    assert loop.splits_run == ["val", "train", "val", "train", "test", "test"]
    assert [one["edit"] for one in loop.of("proposed")[0]["candidates"]] == [
        pytest.approx(10 / 6),
        10.0,
    ]


def test_a_dead_panel_makes_up_no_ranking(doc: Path) -> None:
    """Nobody could say of one of them: train decides."""
    edits = Edits({"ta va junk\n": Fraction(1), "ta va ALL\n": None})
    loop = Loop(doc, ["ta va junk\n", "ta va ALL\n"], candidates=2, edits=edits)
    assert loop.run().result is Result.PASSED
    assert loop.of("proposed")[0]["candidate"] == 2


def test_equal_candidates_are_run_once(doc: Path) -> None:
    """Two workers with one idea: there is nothing to rank."""
    loop = Loop(doc, "ta va ALL\n", candidates=3)
    assert loop.run().result is Result.PASSED and loop.worker.calls == 3
    assert loop.splits_run == ["val", "train", "val", "train", "test", "test"]


def test_when_no_candidate_changed_anything_the_outcome_says_so(doc: Path) -> None:
    """Nine outcomes, read from bytes, with several candidates too."""
    loop = Loop(doc, unchanged, candidates=2)
    assert loop.run().result is Result.NO_CHANGE and loop.worker.calls == 6


# ----------------------------------------------------------------------------------------------------------
# kills and limits


@pytest.mark.parametrize("candidates", [1, 2])
@pytest.mark.parametrize("kill_at", range(7))
def test_a_kill_anywhere_repeats_nothing_on_record(
    doc: Path, kill_at: int, candidates: int
) -> None:
    """The same command goes on: every split of every version is run once, every proposal made once."""
    steps = ["ta va junk\n", "ta va ALL\n"]
    loop = Loop(doc, steps, candidates=candidates, runner=Runner(stop_at=kill_at))
    try:
        loop.run()
    except Killed:
        loop.runner.stop_at = None
        loop.run()
    assert loop.state().finished is not None and loop.state().finished.result is Result.PASSED  # type: ignore[union-attr]
    assert len(loop.runner.asked) == len(set(loop.runner.asked))
    assert loop.worker.calls == 2 and doc.read_text() == "ta va ALL\n"


def test_a_limit_within_a_split_is_no_result(doc: Path) -> None:
    """What a budget cut off stands for nothing: BUDGET, the reason, and what it cost is on record
    all the same.
    """
    loop = Loop(doc, ["ta va ALL\n"], runner=Runner(cut_at=3))
    stop = loop.run()
    assert (stop.result, stop.reason) == (Result.BUDGET, "--max-calls 3 are used up")
    assert doc.read_text() == START and loop.of("limit")[0]["spend"] == {
        "judge_calls": 1,
        "target_calls": 2,
    }
    assert loop.meter.spent.target_calls == 7


def test_a_limit_before_test_gives_no_pass(doc: Path) -> None:
    """Val passes, but nobody looked at test: UNCONFIRMED."""
    loop = Loop(doc, ["ta va ALL\n"], runner=Runner(cut_at=5))
    stop = loop.run()
    assert stop.result is Result.UNCONFIRMED and "test was not run" in stop.reason


def test_an_agent_that_fails_on_val_is_no_pass(doc: Path) -> None:
    """The edit is good, but a task of val could not be run with it: rolled back, the original
    bytes.
    """
    loop = Loop(doc, [f"ta va ALL DOWN va {n}\n" for n in range(3)])
    stop = loop.run()
    assert stop.result is Result.PLATEAU and doc.read_text() == START
    assert "va (the agent is down)" in loop.of("rejected")[0]["reason"]


# ----------------------------------------------------------------------------------------------------------
# skills


def skill_at(tmp_path: Path, **place: Any) -> tuple[Path, dict[str, Any]]:
    root = tmp_path / "skill"
    (root / "fixtures").mkdir(parents=True)
    (root / "SKILL.md").write_text(START)
    (root / "suite.yaml").write_text("secret\n")
    (root / "fixtures" / "test_it.py").write_text("secret\n")
    (root / "grade.py").write_text("judges\n")
    hidden = frozenset(
        {(root / "suite.yaml").resolve(), (root / "fixtures" / "test_it.py").resolve()}
    )
    return root, {
        "exclude": hidden,
        "off_limits": ("fixtures", "suite.yaml"),
        "locked": ("grade.py",),
        "must_hold": ("SKILL.md",),
        **place,
    }


def test_the_suite_is_not_in_the_workers_copy(tmp_path: Path) -> None:
    """It holds val and test, so a worker is not given it, nor the fixtures."""
    root, place = skill_at(tmp_path)
    seen: list[str] = []

    def look(copy: Path, brief: Any) -> None:
        seen.extend(str(path.relative_to(copy)) for path in sorted(copy.rglob("*")))

    Loop(root, look, place=place, rounds=1).run()
    assert seen == ["SKILL.md", "grade.py"]


@pytest.mark.parametrize(
    ("do", "outcome", "word"),
    [
        (lambda copy: (copy / "suite.yaml").write_text("mine\n"), "out-of-scope", "suite.yaml"),
        (
            lambda copy: (
                (copy / "fixtures").mkdir(),
                (copy / "fixtures" / "conftest.py").write_text("x\n"),
            ),
            "out-of-scope",
            "conftest.py",
        ),
        (lambda copy: (copy / "grade.py").write_text("print(1)\n"), "out-of-scope", "it judges"),
        (lambda copy: (copy / "SKILL.md").rename(copy / "OTHER.md"), "shrunk", "SKILL.md is gone"),
    ],
    ids=["suite", "fixture", "judge", "skill"],
)
def test_a_worker_cannot_touch_what_judges(
    tmp_path: Path, do: Any, outcome: str, word: str
) -> None:
    """A suite, a fixture or a judging program made or changed, or SKILL.md gone: thrown away,
    nothing run, nothing lost.
    """
    root, place = skill_at(tmp_path)

    def step(copy: Path, brief: Any) -> None:
        do(copy)

    loop = Loop(root, step, place=place, rounds=1)
    loop.run()
    (proposed,) = loop.of("proposed")
    assert proposed["outcome"] == outcome and word in proposed["detail"]
    assert (root / "suite.yaml").read_text() == "secret\n" and (
        root / "SKILL.md"
    ).read_text() == START
    assert loop.splits_run == ["val", "train"]
