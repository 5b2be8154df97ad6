"""The loop's shell: what a worker does is read from bytes, the best is delivered, and the person's
file is theirs.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import engine_world as world
import pytest

from honestone.adapters.checks import CheckRunner
from honestone.adapters.stores.memory import MemoryStore
from honestone.core.artifact import Entry, Version
from honestone.core.errors import FileError, UsageError
from honestone.core.judging.ballot import CHECK
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Meter, Spend
from honestone.core.loop.named import policy_named
from honestone.core.loop.state import (
    Action,
    Ask,
    LoopLimits,
    LoopState,
    Policy,
    Propose,
    Result,
    RollBack,
    Stop,
    fold,
)
from honestone.core.record.event_codec import event_to_plain
from honestone.engine.judgements import PanelJudgement
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.judging.panel import Panel
from honestone.engine.loop_runner import LoopRunner
from honestone.engine.place import Place, load_version, require_resumable, sweep, version_blobs
from honestone.ports import Brief, CallFailed, Judge, Store, WorkDone
from honestone.system.files import load_artifact
from honestone.testing import ScriptedJudge, ScriptedWorker, crash, unchanged

RUBRIC = world.rubric(
    world.words("a", "one", "two", weight=60),
    world.words("b", "three", "four", weight=40),
    threshold=100,
)
CODE_ONLY = world.rubric(world.checked("a", "one"), world.checked("b", "two"), threshold=100)
START = "one\n"


class Quiet:
    """An observer that remembers events."""

    def __init__(self) -> None:
        self.events: list[Mapping[str, Any]] = []

    def note(self, text: str) -> None: ...

    def progress(self, done: int, total: int, doing: str) -> None: ...

    def event(self, event: Mapping[str, Any]) -> None:
        self.events.append(event)


def reader(id: str = "reader", **more: Any) -> ScriptedJudge:
    """Says yes to an item when its last word stands in the text."""

    def look(question: Any) -> dict[str, bool]:
        text = question.artifact.version.text
        return {item.id: item.requirement.split()[-1] in text for _, item in question.items()}

    return ScriptedJudge(look, id=id, **more)


@dataclass(kw_only=True)
class Loop:
    """Everything one loop needs; `run` may be called again to take it up again."""

    place: Place
    worker: ScriptedWorker
    rubric: Rubric = RUBRIC
    panel: tuple[Judge, ...] = field(default_factory=lambda: (reader(),))
    holdouts: tuple[Judge, ...] = field(default_factory=lambda: (reader("witness"),))
    store: Store = field(default_factory=MemoryStore)
    limits: LoopLimits = field(default_factory=lambda: LoopLimits(rounds=5, calls=100, minutes=60))
    clock: world.Clock = field(default_factory=world.Clock)
    policy: Policy = field(default_factory=lambda: policy_named("keep-best"))
    run_id: str = ""
    meter: Meter = field(init=False)

    def state(self, original: str) -> LoopState:
        checks = (CHECK,) if self.rubric.has_checks else ()
        judges = tuple(judge.id for judge in self.panel) if self.rubric.asks_judges else ()
        return LoopState(
            scorer=Scorer(self.rubric),
            panel=(*checks, *judges),
            holdouts=tuple(judge.id for judge in self.holdouts) if self.rubric.asks_judges else (),
            limits=self.limits,
            original=original,
        )

    def start(self) -> LoopState:
        if not self.run_id:
            version = load_artifact(self.place.path, exclude=self.place.exclude).version
            self.store.keep_blobs(version_blobs(version))
            first = {"type": "started", "artifact": {"digest": version.digest}}
            self.run_id = self.store.start_run(
                kind="improve", subject="", identity="", contract="", first=first
            )
        log = self.store.events(self.run_id)
        state = fold(self.state(self.log[0]["artifact"]["digest"]), log[1:])
        if len(log) > 1:
            require_resumable(self.place, state, self.store, self.run_id)
        return state

    def improvement(self) -> LoopRunner[LoopState]:
        state = self.start()
        spent = Spend(judge_calls=sum(e.get("spend", {}).get("judge_calls", 0) for e in self.log))
        self.meter = world.meter(
            self.limits.calls,
            clock=self.clock,
            minutes=self.limits.minutes,
            usd=self.limits.usd,
            before=spent,
            seconds_before=max((e.get("seconds", 0.0) for e in self.log), default=0.0),
        )
        seats = world.seats(*self.panel, *self.holdouts)
        bench = Evaluator(
            self.rubric,
            CheckRunner(self.place.path.parent),
            Panel(seats=seats, journal=self.store.journal, meter=self.meter),
        )
        count = len(self.panel)
        return LoopRunner(
            run=self.run_id,
            state=state,
            policy=self.policy,
            judgement=PanelJudgement(bench, panel=seats[:count], holdouts=seats[count:]),
            place=self.place,
            worker=self.worker,
            store=self.store,
            meter=self.meter,
            observer=Quiet(),
        )

    def run(self) -> Stop:
        return world.run(self.improvement().work())

    @property
    def log(self) -> list[dict[str, Any]]:
        return [event_to_plain(event) for event in self.store.events(self.run_id)]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.log if event["type"] == kind]

    @property
    def outcomes(self) -> list[str]:
        return [event["outcome"] for event in self.of("proposed")]

    @property
    def text(self) -> str:
        return self.place.path.read_text()


def file_loop(
    tmp_path: Path, steps: Any, text: str = START, *, place: Mapping[str, Any] = {}, **more: Any
) -> Loop:
    folder = tmp_path / "mine"
    folder.mkdir()
    path = folder / "doc.md"
    path.write_bytes(text.encode())
    return Loop(
        place=Place(path=path, named="doc.md", **place), worker=ScriptedWorker(steps), **more
    )


def folder_loop(tmp_path: Path, steps: Any, files: Mapping[str, str], **more: Any) -> Loop:
    root = tmp_path / "skill"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    rubric = root / "rubric.yaml"
    rubric.write_text("rubric: 1\n")
    place = Place(
        path=root,
        named="skill",
        exclude=frozenset({rubric.resolve()}),
        siblings={"rubric.yaml": Entry(rubric.read_bytes())},
    )
    return Loop(place=place, worker=ScriptedWorker(steps), **more)


def files_of(root: Path) -> dict[str, tuple[str, bool]]:
    return {
        str(path.relative_to(root)): (path.read_text(), os.access(path, os.X_OK))
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "rubric.yaml"
    }


GOOD = "one\ntwo\nthree\nfour\n"


# ----------------------------------------------------------------------------------------------------------
# the way to PASSED


def test_an_artifact_may_not_grow_round_by_round(tmp_path: Path) -> None:
    """Its first size counts, not that of the version before."""
    text = START + "x\n" * 25_000
    steps = [text + "two\n" + "y\n" * 2000, text + "two three\n" + "y\n" * 4000]
    loop = file_loop(tmp_path, steps, text, place={"max_growth": 1.1, "max_diff": 9000})
    loop.limits = LoopLimits(rounds=2, calls=100, minutes=60)
    loop.run()
    assert (
        loop.outcomes == ["changed", "too-large"]
        and "--max-growth" in loop.of("proposed")[1]["detail"]
    )


class LooksTwice:
    """Asks its only judge for two looks at the original, names an item for the worker, and ends."""

    name = "looks-twice"

    def decide(self, state: LoopState) -> Action:
        looks = state.ballots.get((state.original, "panel"), {})
        if len(looks) < 2:
            return Ask(judges=state.panel, version=state.original, role="panel", draw=len(looks))
        if not state.rounds:
            return Propose(focus=("a",), base=state.original, items=(("a", "one"),))
        if state.rounds[-1].is_open:
            return RollBack(reason="seen enough")
        return Stop(result=Result.PLATEAU, reason="it is done")


def test_a_policy_may_ask_for_another_look_and_name_items(tmp_path: Path) -> None:
    """The judge is asked again, though its first answer is on record, and the worker is given the
    named items alone.
    """
    loop = file_loop(tmp_path, [GOOD])
    loop.policy = LooksTwice()
    stop = loop.run()
    assert stop.result is Result.PLATEAU and loop.text == START
    assert [judge.calls for judge in loop.panel] == [2]  # type: ignore[attr-defined]
    assert [event.get("draw", 0) for event in loop.of("ballot")] == [0, 1]
    assert [brief.unmet for brief in loop.worker.briefs] == [(("a", "one"),)] and loop.of(
        "proposed"
    )[0]["items"] == [["a", "one"]]


def test_a_loop_that_passes(tmp_path: Path) -> None:
    """The worst criterion first, the file holds the result, and the witness was asked once, at the
    end.
    """
    loop = file_loop(tmp_path, ["one\nthree four\n", GOOD])
    stop = loop.run()
    assert (stop.result, loop.text) == (Result.PASSED, GOOD)
    assert [brief.focus for brief in loop.worker.briefs] == [("b",), ("a",)]
    assert [judge.calls for judge in (*loop.panel, *loop.holdouts)] == [3, 1]  # type: ignore[attr-defined]
    kinds = [event["type"] for event in loop.log]
    accepted = ["proposed", "ballot", "accepted", "delivering", "delivered"]
    assert kinds == ["started", "ballot", *accepted, *accepted, "ballot", "finished"]


def test_what_is_good_already_costs_no_worker(tmp_path: Path) -> None:
    """The baseline passes, the witness agrees, nothing is written."""
    loop = file_loop(tmp_path, [], GOOD)
    assert loop.run().result is Result.PASSED and loop.worker.calls == 0
    assert loop.of("delivering") == []


def test_without_a_witness_it_is_unconfirmed(tmp_path: Path) -> None:
    """The panel alone cannot say PASSED; the best version is delivered all the same."""
    loop = file_loop(tmp_path, GOOD, holdouts=())
    assert loop.run().result is Result.UNCONFIRMED and loop.text == GOOD


def test_code_alone_needs_no_witness(tmp_path: Path) -> None:
    """No judge is asked anything."""
    judge = ScriptedJudge(AssertionError("asked"))
    loop = file_loop(tmp_path, "one two\n", rubric=CODE_ONLY, panel=(judge,), holdouts=())
    assert loop.run().result is Result.PASSED and loop.text == "one two\n" and judge.calls == 0


def test_the_words_of_held_out_judges_never_reach_a_worker(tmp_path: Path) -> None:
    """Not in any brief, whatever they suggest and however often they are asked; the panel's do."""
    secret = ScriptedJudge(
        lambda q: {
            "a": {"met": False, "evidence": "HIDDEN QUOTE", "suggestion": "HIDDEN WORDS"},
            "b": True,
        },
        id="HIDDEN",
    )
    open_judge = ScriptedJudge(
        lambda q: {
            "a": "two" in q.artifact.version.text,
            "b": {"met": False, "suggestion": "write it in rhyme"},
        },
        id="open",
    )
    loop = file_loop(
        tmp_path,
        [f"one two {n}\n" for n in range(5)],
        panel=(open_judge,),
        holdouts=(secret,),
        rubric=world.rubric(
            world.words("a", "one", "two", weight=90),
            world.words("b", "three", weight=10),
            threshold=50,
        ),
    )
    stop = loop.run()
    briefs = "\n".join(brief.text for brief in loop.worker.briefs)
    assert stop.result is Result.UNCONFIRMED and secret.calls >= 1 and loop.worker.calls >= 2
    assert "HIDDEN" not in briefs
    assert "open: write it in rhyme" in briefs


def test_a_brief_says_where_and_what_and_nothing_of_rounds(tmp_path: Path) -> None:
    """The place in the private copy, the criterion, the unmet items; the file `brief.md` holds the
    same.
    """
    seen: list[tuple[str, str, str]] = []

    def look(place: Path, brief: Brief) -> None:
        (brief_file,) = place.parent.parent.glob("brief.md")
        seen.append((brief_file.read_text(), place.read_text(), str(place)))

    loop = file_loop(tmp_path, look, limits=LoopLimits(rounds=1, calls=10, minutes=1))
    loop.run()
    ((text, copy, place),) = seen
    assert text == loop.worker.briefs[0].text and copy == START
    assert (
        f"Location: {place}" in text
        and "Criterion: b" in text
        and "- has three" in text
        and "has one" not in text
    )
    assert not Path(place).exists(), "the private copy is gone afterwards"
    assert str(loop.place.path) not in text, "the worker is not told where the person's file is"


# ----------------------------------------------------------------------------------------------------------
# what a worker may do


def write_next_to(place: Path, brief: Brief) -> None:
    place.write_text(GOOD)
    (place.parent / "extra.md").write_text("more\n")


def link_out(place: Path, brief: Brief) -> None:
    place.unlink()
    place.symlink_to("/etc/passwd")


def remove(place: Path, brief: Brief) -> None:
    place.unlink()


def make_folder(place: Path, brief: Brief) -> None:
    place.unlink()
    place.mkdir()


def ending(ended: Any) -> Callable[[Path, Brief], WorkDone]:
    return lambda place, brief: WorkDone(ended=ended, message="as told")


def and_write(ended: Any) -> Callable[[Path, Brief], WorkDone]:
    def step(place: Path, brief: Brief) -> WorkDone:
        place.write_text(GOOD)
        return WorkDone(ended=ended)

    return step


LONG = "one\n" + "".join(f"line {n} of a text that is worth keeping\n" for n in range(40))

BAD = [
    ("unchanged", unchanged, Result.NO_CHANGE),
    ("crashed", crash, Result.WORKER_FAILED),
    ("denied", ending("denied"), Result.WORKER_FAILED),
    ("not-applied", ending("not-applied"), Result.WORKER_FAILED),
    ("timeout", ending("timeout"), Result.WORKER_FAILED),
    ("timeout", and_write("timeout"), Result.WORKER_FAILED),
    ("out-of-scope", write_next_to, Result.WORKER_FAILED),
    ("out-of-scope", link_out, Result.WORKER_FAILED),
    ("out-of-scope", make_folder, Result.WORKER_FAILED),
    (
        "out-of-scope",
        lambda place, brief: place.write_bytes(b"one two three four \xff\xfe") and None,
        Result.WORKER_FAILED,
    ),
    ("shrunk", remove, Result.WORKER_FAILED),
    ("shrunk", "", Result.WORKER_FAILED),
    ("shrunk", GOOD, Result.WORKER_FAILED),
    (
        "placeholder",
        LONG[:900] + "two three four\n[rest of the text unchanged]\n",
        Result.WORKER_FAILED,
    ),
    ("too-large", LONG + "two three four\n" * 60, Result.WORKER_FAILED),
]


@pytest.mark.parametrize(
    ("outcome", "step", "result"), BAD, ids=[f"{n}-{b[0]}" for n, b in enumerate(BAD)]
)
def test_a_bad_proposal_is_thrown_away(
    tmp_path: Path, outcome: str, step: Any, result: Result
) -> None:
    """Each kind by name; it costs no judge call, changes not a byte, and three of them end the
    loop.
    """
    loop = file_loop(tmp_path, step, LONG, place={"max_diff": 50})
    stop = loop.run()
    assert (stop.result, set(loop.outcomes), len(loop.outcomes)) == (result, {outcome}, 3)
    assert loop.text == LONG and sorted(p.name for p in loop.place.path.parent.iterdir()) == [
        "doc.md"
    ]
    assert loop.panel[0].calls == 1, "only the baseline was judged"  # type: ignore[attr-defined]
    assert Counter(e["type"] for e in loop.log)["rejected"] == 3
    assert all(outcome in e["reason"] for e in loop.of("rejected"))


@pytest.mark.parametrize("ended", ["crashed", "denied", "not-applied"])
def test_bytes_count_and_not_how_a_worker_ended(tmp_path: Path, ended: str) -> None:
    """An exit code of 1 after good work is good work."""
    loop = file_loop(tmp_path, and_write(ended))
    assert loop.run().result is Result.PASSED and loop.text == GOOD


def test_the_outcome_is_told_with_the_workers_own_words(tmp_path: Path) -> None:
    """What a failed worker said stands in the event, for the person."""
    loop = file_loop(tmp_path, ending("denied"))
    loop.run()
    assert all("as told" in event["detail"] for event in loop.of("proposed"))


def test_a_harmful_worker_is_rolled_back_and_its_bytes_are_judged_once(tmp_path: Path) -> None:
    """The same bad bytes again are rejected by their digest; a focus rejected twice yields to the
    next.
    """
    loop = file_loop(tmp_path, "nothing of it left\n")
    stop = loop.run()
    assert stop.result is Result.PLATEAU and loop.text == START
    assert loop.panel[0].calls == 2  # type: ignore[attr-defined]
    assert [brief.focus for brief in loop.worker.briefs] == [("b",), ("b",), ("a",)]
    assert ["same bytes" in event["reason"] for event in loop.of("rejected")] == [False, True, True]


def test_going_back_to_the_original_is_no_progress(tmp_path: Path) -> None:
    """The original's bytes were judged already: no call, rejected."""
    loop = file_loop(tmp_path, ["one three\n", START, unchanged, unchanged])
    loop.run()
    (first, *rest) = loop.of("rejected")
    assert "bytes of the original" in first["reason"] and len(rest) == 2
    assert loop.panel[0].calls == 2  # type: ignore[attr-defined]


def test_the_best_is_delivered_and_not_the_last(tmp_path: Path) -> None:
    """Small losses are kept on the way (policy `plain` keeps all), but the file holds the best."""
    loop = file_loop(
        tmp_path,
        ["one two three\n", "one\n.", "x\n", "y\n"],
        policy=policy_named("plain"),
        holdouts=(),
    )
    loop.run()
    assert loop.text == "one two three\n"
    assert len(loop.of("accepted")) >= 3 and len(loop.of("delivered")) == 1


# ----------------------------------------------------------------------------------------------------------
# folders


def test_a_folder_with_files_added_removed_and_made_programs(tmp_path: Path) -> None:
    """All of it is one change; what was not touched keeps its inode, and empty folders go."""
    loop = folder_loop(
        tmp_path,
        (steps := [lambda place, brief: change(place)]),
        {"SKILL.md": START, "old/gone.md": "x\n", "run.sh": "ls\n", "keep.md": "kept\n"},
    )

    def change(place: Path) -> None:
        (place / "SKILL.md").write_text(GOOD)
        (place / "old" / "gone.md").unlink()
        (place / "run.sh").chmod(0o755)
        (place / "new" / "deep").mkdir(parents=True)
        (place / "new" / "deep" / "more.md").write_text("more\n")

    assert steps
    kept = (loop.place.path / "keep.md").stat().st_ino
    assert loop.run().result is Result.PASSED
    assert files_of(loop.place.path) == {
        "SKILL.md": (GOOD, False),
        "run.sh": ("ls\n", True),
        "keep.md": ("kept\n", False),
        "new/deep/more.md": ("more\n", False),
    }
    assert (loop.place.path / "keep.md").stat().st_ino == kept and not (
        loop.place.path / "old"
    ).exists()
    original = load_version(loop.store, loop.log[0]["artifact"]["digest"])
    assert sorted(original.files) == ["SKILL.md", "keep.md", "old/gone.md", "run.sh"], (
        "the original can be had back"
    )


@pytest.mark.parametrize("how", ["edit", "delete", "link"])
def test_a_proposal_that_touches_the_rubric_is_thrown_away(tmp_path: Path, how: str) -> None:
    """However good the rest of it is."""

    def cheat(place: Path, brief: Brief) -> None:
        (place / "SKILL.md").write_text(GOOD)
        rubric = place / "rubric.yaml"
        if how == "edit":
            rubric.write_text("rubric: 1\nthreshold: 0\n")
        else:
            rubric.unlink()
        if how == "link":
            rubric.symlink_to("SKILL.md")

    loop = folder_loop(tmp_path, cheat, {"SKILL.md": START})
    assert loop.run().result is Result.WORKER_FAILED and set(loop.outcomes) == {"out-of-scope"}
    assert files_of(loop.place.path) == {"SKILL.md": (START, False)}
    assert (loop.place.path / "rubric.yaml").read_text() == "rubric: 1\n"
    assert all("rubric.yaml" in event["detail"] for event in loop.of("proposed"))


def test_the_rubric_in_the_folder_is_in_the_copy_but_no_judge_sees_it(tmp_path: Path) -> None:
    """A worker may read it; it is no part of what is judged."""
    seen: list[bool] = []

    def look(place: Path, brief: Brief) -> None:
        seen.append((place / "rubric.yaml").exists())

    loop = folder_loop(
        tmp_path, look, {"SKILL.md": START}, limits=LoopLimits(rounds=1, calls=9, minutes=9)
    )
    loop.run()
    (question,) = loop.panel[0].questions  # type: ignore[attr-defined]
    assert seen == [True] and list(question.artifact.version.files) == ["SKILL.md"]


# ----------------------------------------------------------------------------------------------------------
# the person's file


def test_the_person_edits_meanwhile(tmp_path: Path) -> None:
    """Exit 2, nothing of theirs is overwritten, and what was found is in the store."""

    def edit_both(place: Path, brief: Brief) -> None:
        loop.place.path.write_text("my own words\n")
        place.write_text(GOOD)

    loop = file_loop(tmp_path, edit_both)
    with pytest.raises(UsageError, match="changed by someone else") as error:
        loop.run()
    assert error.value.exit_code == 2 and error.value.hint and loop.run_id in error.value.hint
    assert loop.text == "my own words\n"
    (accepted,) = loop.of("accepted")
    assert load_version(loop.store, accepted["version"]).text == GOOD
    with pytest.raises(UsageError, match="has been edited since"):
        loop.run()
    assert loop.text == "my own words\n"


def test_the_person_removes_the_file_meanwhile(tmp_path: Path) -> None:
    """It is not made anew behind their back."""

    def remove_both(place: Path, brief: Brief) -> None:
        loop.place.path.unlink()
        place.write_text(GOOD)

    loop = file_loop(tmp_path, remove_both)
    with pytest.raises(UsageError, match="changed by someone else"):
        loop.run()
    assert not loop.place.path.exists()
    with pytest.raises(UsageError, match="cannot be read"):
        loop.run()


def test_the_person_adds_a_file_to_the_folder_meanwhile(tmp_path: Path) -> None:
    """A new file of theirs is a change too: nothing is delivered over it."""

    def add_both(place: Path, brief: Brief) -> None:
        (loop.place.path / "mine.md").write_text("mine\n")
        (place / "SKILL.md").write_text(GOOD)

    loop = folder_loop(tmp_path, add_both, {"SKILL.md": START})
    with pytest.raises(UsageError, match="changed by someone else"):
        loop.run()
    assert files_of(loop.place.path) == {"SKILL.md": (START, False), "mine.md": ("mine\n", False)}


def test_a_run_goes_on_when_the_person_brought_back_the_original(tmp_path: Path) -> None:
    """Its original, or any version it accepted, are bytes that it knows."""
    loop = file_loop(tmp_path, ["one two\n", KeyboardInterrupt(), GOOD])
    with pytest.raises(KeyboardInterrupt):
        loop.run()
    assert loop.text == "one two\n"
    loop.place.path.write_text(START)
    assert loop.run().result is Result.PASSED
    assert loop.text == GOOD


def test_a_dry_run_leaves_the_file_alone(tmp_path: Path) -> None:
    """The best version is in the store."""
    loop = file_loop(tmp_path, GOOD, place={"dry_run": True})
    assert loop.run().result is Result.PASSED and loop.text == START
    assert loop.of("delivering") == []
    assert load_version(loop.store, loop.of("accepted")[0]["version"]).text == GOOD


@pytest.mark.parametrize("there", [None, "something else\n"], ids=["new", "there"])
@pytest.mark.parametrize("steps", [GOOD, unchanged], ids=["improved", "unchanged"])
def test_another_place_gets_the_best_version(tmp_path: Path, steps: Any, there: str | None) -> None:
    """`--output` holds it at the end, even when the best is the original; the file itself is not
    touched.
    """
    output = tmp_path / "out" / "best.md"
    if there is not None:
        output.parent.mkdir()
        output.write_text(there)
    loop = file_loop(tmp_path, steps, place={"output": output})
    loop.run()
    assert output.read_text() == (GOOD if steps == GOOD else START) and loop.text == START


def test_another_folder_gets_all_of_the_best_version(tmp_path: Path) -> None:
    """Whatever stands there under the same names is replaced, and what has nothing to do with it
    stays.
    """
    output = tmp_path / "out"
    output.mkdir()
    (output / "keep.md").write_text("an older one\n")
    (output / "theirs.md").write_text("theirs\n")
    loop = folder_loop(tmp_path, {"SKILL.md": GOOD}, {"SKILL.md": START, "keep.md": "kept\n"})
    loop.place = Place(
        path=loop.place.path,
        named="skill",
        exclude=loop.place.exclude,
        siblings=loop.place.siblings,
        output=output,
    )
    assert loop.run().result is Result.PASSED
    assert files_of(output) == {
        "SKILL.md": (GOOD, False),
        "keep.md": ("kept\n", False),
        "theirs.md": ("theirs\n", False),
    }


def test_another_place_of_the_wrong_kind_is_refused_before_anything_is_spent(
    tmp_path: Path,
) -> None:
    """A folder where a file would go, and the other way round."""
    (tmp_path / "folder").mkdir()
    loop = file_loop(tmp_path, GOOD, place={"output": tmp_path / "folder"})
    with pytest.raises(UsageError, match="the artifact is a file") as error:
        loop.run()
    assert error.value.hint and loop.panel[0].calls == 0  # type: ignore[attr-defined]


def test_a_witness_must_not_be_one_of_the_panel_under_another_name(tmp_path: Path) -> None:
    """Its recorded replies would certify what they steered."""
    same = {"kind": "scripted", "name": "one and the same"}
    loop = file_loop(
        tmp_path, GOOD, panel=(reader("a", identity=same),), holdouts=(reader("b", identity=same),)
    )
    with pytest.raises(UsageError, match="'b' is one of the panel"):
        loop.run()
    assert loop.panel[0].calls == 0  # type: ignore[attr-defined]


def test_a_file_that_cannot_be_written_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error with a hint; when the place is writable again, the same command delivers what it
    had.
    """
    loop = file_loop(tmp_path, [GOOD])

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("honestone.system.files.os.replace", refuse)
        with pytest.raises(FileError, match="No space left") as error:
            loop.run()
    assert error.value.hint and "in the store" in error.value.hint and loop.text == START
    assert loop.run().result is Result.PASSED and loop.text == GOOD and loop.worker.calls == 1
    assert sorted(p.name for p in loop.place.path.parent.iterdir()) == ["doc.md"]


def test_leftovers_of_a_killed_delivery_are_swept_and_nothing_else(tmp_path: Path) -> None:
    """Only a temporary file that holds the beginning of what was being delivered."""
    before, after = Version.of_text("old", "doc.md"), Version.of_text("new text", "doc.md")
    for name, text in {
        ".honestone-1": "new te",
        ".honestone-2": "other",
        ".honestone-3": "",
        "new.md": "new",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / ".honestone").mkdir()
    sweep(tmp_path / "doc.md", before, after)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".honestone",
        ".honestone-2",
        ".honestone-3",
        "new.md",
    ]


# ----------------------------------------------------------------------------------------------------------
# limits and stops


def test_the_limit_of_calls_ends_the_loop(tmp_path: Path) -> None:
    """Typed BUDGET with the limit's name; what was judged counts, the rest is rolled back unjudged."""
    loop = file_loop(
        tmp_path,
        [f"one two {n}\n" for n in range(9)],
        limits=LoopLimits(rounds=5, calls=2, minutes=60),
    )
    stop = loop.run()
    assert stop.result is Result.BUDGET and "--max-calls 2" in stop.reason
    assert loop.meter.spent.judge_calls == 2 and loop.text == "one two 0\n"
    assert len(loop.of("limit")) == 1


def test_no_call_for_the_baseline_is_could_not_judge(tmp_path: Path) -> None:
    """With nothing known there is nothing to improve."""
    loop = file_loop(tmp_path, [], limits=LoopLimits(rounds=5, calls=0, minutes=60))
    stop = loop.run()
    assert (
        stop.result is Result.COULD_NOT_JUDGE
        and "--max-calls 0" in stop.reason
        and loop.worker.calls == 0
    )


def test_the_limit_of_minutes_ends_the_loop(tmp_path: Path) -> None:
    """Counted over all processes of the run together, on a clock of our own."""
    loop = file_loop(tmp_path, [], limits=LoopLimits(rounds=5, calls=50, minutes=10))

    def slow(place: Path, brief: Brief) -> None:
        loop.clock.now += 6 * 60
        place.write_text(place.read_text() + f"two {loop.worker.calls}\n")

    loop.worker = ScriptedWorker([slow, KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        loop.run()
    loop.clock.now += 10**6  # between the two processes nobody works
    loop.worker = ScriptedWorker([slow, crash])
    stop = loop.run()
    assert (
        stop.result is Result.BUDGET
        and "--max-minutes 10" in stop.reason
        and loop.worker.calls == 1
    )
    assert 720 <= loop.log[-1]["seconds"] < 800


def test_the_limit_of_money_ends_the_loop(tmp_path: Path) -> None:
    """What the judges say they cost is added up; the loop stops before a call that would no longer
    fit.
    """
    from honestone.ports import Usage

    priced = reader(usage=Usage(usd=0.4))
    loop = file_loop(
        tmp_path,
        [f"one two {n}\n" for n in range(9)],
        panel=(priced,),
        limits=LoopLimits(rounds=5, calls=50, minutes=60, usd=1.0),
    )
    stop = loop.run()
    assert stop.result is Result.BUDGET and "--max-usd 1" in stop.reason and priced.calls == 2


def test_judges_that_all_fail_leave_nothing_to_improve(tmp_path: Path) -> None:
    """COULD_NOT_JUDGE with their reasons; no worker is paid."""
    loop = file_loop(tmp_path, [], panel=(ScriptedJudge(CallFailed("it broke"), id="x"),))
    stop = loop.run()
    assert (
        stop.result is Result.COULD_NOT_JUDGE
        and "x: it broke" in stop.reason
        and loop.worker.calls == 0
    )


def test_a_metric_that_cannot_move_is_dead(tmp_path: Path) -> None:
    """Three other texts, each with exactly the same score."""
    stubborn = ScriptedJudge(False, id="stubborn")
    loop = file_loop(
        tmp_path, [f"one {n}\n" for n in range(9)], panel=(stubborn,), policy=policy_named("plain")
    )
    assert loop.run().result is Result.METRIC_DEAD and stubborn.calls == 4


# ----------------------------------------------------------------------------------------------------------
# stopped and taken up again


def test_a_loop_that_is_cancelled_goes_on_where_it_was(tmp_path: Path) -> None:
    """Stopped while the worker works: its proposal is asked for again, and no judge is."""
    loop = file_loop(tmp_path, ["one two\n", GOOD])
    reached = asyncio.Event()

    async def hang(brief: Brief, place: Path, brief_file: Path) -> WorkDone:
        if len(loop.worker.briefs) == 1:
            reached.set()
            await asyncio.sleep(60)
        return await ScriptedWorker.propose(loop.worker, brief, place, brief_file)

    loop.worker.propose = hang  # type: ignore[method-assign]

    async def stop_it() -> None:
        task = asyncio.ensure_future(loop.improvement().work())
        await asyncio.wait_for(reached.wait(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    world.run(stop_it())
    before = len(loop.log)
    assert loop.text == "one two\n" and loop.log[-1]["type"] == "delivered"
    del loop.worker.propose  # type: ignore[method-assign]
    assert loop.run().result is Result.PASSED and loop.text == GOOD
    assert loop.log[before]["type"] == "proposed" and len(loop.of("finished")) == 1
    assert [judge.calls for judge in (*loop.panel, *loop.holdouts)] == [3, 1]  # type: ignore[attr-defined]


def test_a_finished_loop_does_nothing_more(tmp_path: Path) -> None:
    """The same events give the same end without an event, a call or a write."""
    loop = file_loop(tmp_path, [GOOD])
    first = loop.run()
    log = loop.log
    assert loop.run() == first and loop.log == log and loop.worker.calls == 1


def test_the_state_is_the_fold_of_the_events(tmp_path: Path) -> None:
    """What the loop knew at its end is what its record says."""
    loop = file_loop(tmp_path, ["x\n", "one two\n", unchanged, GOOD])
    improvement = loop.improvement()
    world.run(improvement.work())
    again = loop.start()
    for name in (
        "current",
        "best",
        "rounds",
        "accepted_versions",
        "ballots",
        "limit",
        "finished",
        "delivering",
        "delivered",
    ):
        assert getattr(again, name) == getattr(improvement.state, name), name


def test_usage_of_worker_and_judges_stands_in_the_events(tmp_path: Path) -> None:
    """One worker call a proposal, one call a ballot."""
    loop = file_loop(tmp_path, ["one two\n", GOOD])
    loop.run()
    assert [e["spend"]["worker_calls"] for e in loop.of("proposed")] == [1, 1]
    assert sum(e["spend"].get("judge_calls", 0) for e in loop.of("ballot")) == 4
    assert (loop.meter.spent.worker_calls, loop.meter.spent.judge_calls) == (2, 4)
