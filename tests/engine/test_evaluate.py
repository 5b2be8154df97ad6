"""Many artifacts: each on record before it is shown, in the order given, and the same marks on the
quick way as on the slow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import engine_world as world
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from honestone.adapters.checks import CheckRunner
from honestone.adapters.stores.memory import MemoryStore
from honestone.core.errors import FileError
from honestone.core.judging.ballot import ballot_to_plain
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.suite.case import Case
from honestone.engine.evaluate import Evaluation, JudgedArtifact, TextEvaluator
from honestone.engine.judging.evaluator import Evaluator
from honestone.ports import CallFailed, Judge, Output, Store, Task
from honestone.testing import ScriptedJudge
from property_examples import examples

JUDGED = world.rubric(world.words("a", "alpha", "beta"), world.checked("c", "gamma"))
CODE = world.rubric(
    world.checked("a", "alpha"), world.checked("b", "beta"), world.checked("c", "gamma")
)


class Silent:
    def note(self, text: str) -> None: ...

    def progress(self, done: int, total: int, doing: str) -> None: ...

    def event(self, event: Any) -> None: ...


def evaluation(
    rubric: Rubric, judges: Sequence[Judge] = (), *, store: Store | None = None, **more: Any
) -> Evaluation:
    store = store or MemoryStore()
    run = store.start_run(
        kind="eval", subject="", identity="", contract="c", first={"type": "started"}
    )
    bench = Evaluator(rubric, CheckRunner(Path()), world.panel(judges, store))
    return Evaluation(
        run=run,
        evaluator=bench,
        store=store,
        contract="sha256:" + "0" * 64,
        observer=Silent(),
        max_bytes=10_000,
        **more,
    )


def judge_all(evaluation: Evaluation, paths: Sequence[Path]) -> list[JudgedArtifact]:
    async def collect() -> list[JudgedArtifact]:
        return [judgement async for judgement in evaluation.judge_all(paths)]

    return world.run(collect())


def judge_texts(evaluation: Evaluation, paths: Sequence[Path]) -> list[JudgedArtifact]:
    texts = TextEvaluator.of(evaluation.evaluator.rubric, evaluation.evaluator.checker)
    assert texts is not None
    return list(evaluation.judge_texts(texts, paths))


def write(folder: Path, texts: Sequence[str]) -> list[Path]:
    paths = [folder / f"{n}.md" for n in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def test_results_come_in_the_order_given_whoever_is_quick(tmp_path: Path) -> None:
    """The first is the slowest here; some are judged at the same time all the same."""
    inside = most = done = 0
    three, others = asyncio.Event(), asyncio.Event()

    async def step(question: Any) -> bool:
        nonlocal inside, most, done
        inside += 1
        most = max(most, inside)
        if inside == 3:
            three.set()
        await asyncio.wait_for(three.wait(), 60)
        if "alpha" in question.artifact.version.text:
            await asyncio.wait_for(others.wait(), 60)
        inside, done = inside - 1, done + 1
        if done == 2:
            others.set()
        return True

    paths = write(tmp_path, ["alpha", "beta", "gamma", "delta", "epsilon"])
    found = judge_all(evaluation(JUDGED, [ScriptedJudge(step)], concurrency=3), paths)
    assert [judgement.event.path for judgement in found] == [
        str(path) for path in paths
    ] and most == 3


def test_a_judgement_is_on_record_before_it_is_handed_on(tmp_path: Path) -> None:
    """Whoever stops after the first has it in the store."""
    store = MemoryStore()
    work = evaluation(JUDGED, [ScriptedJudge()], store=store)

    async def first_only() -> None:
        results = work.judge_all(write(tmp_path, ["one", "two", "three"]))
        async for _ in results:
            assert store.events(work.run)[1].path.endswith("0.md")
            break
        await results.aclose()  # type: ignore[attr-defined]

    world.run(first_only())


def test_one_judge_that_fails_on_one_artifact_spoils_no_other(tmp_path: Path) -> None:
    """Its ballot says so; the others have theirs."""

    def step(question: Any) -> Any:
        return CallFailed("too long") if "beta" in question.artifact.version.text else True

    found = judge_all(
        evaluation(JUDGED, [ScriptedJudge(step)]), write(tmp_path, ["alpha", "beta", "gamma"])
    )
    assert [judgement.event.ballots[1].reason for judgement in found] == [None, "too long", None]


class Shout:
    """A target: its input in capitals; it fails where the artifact says so."""

    identity = {"kind": "shout"}  # noqa: RUF012

    def refuse(self, cases: Sequence[Case]) -> None:
        pass

    async def run(self, task: Task) -> Output:
        assert task.version is not None
        if "broken" in task.version.text:
            return Output(text="", error="it ended with exit code 1")
        return Output(text=f"{task.prompt} {task.version.text}".upper())

    async def close(self) -> None:
        pass


def test_a_target_that_fails_is_an_error_and_no_judge_is_asked(tmp_path: Path) -> None:
    """Never a low score: no ballot at all, and the reason."""
    judge = ScriptedJudge(True)
    good, bad = judge_all(
        evaluation(JUDGED, [judge], target=Shout(), input="say"),
        write(tmp_path, ["alpha", "broken"]),
    )
    assert good.event.output == good.text == "SAY ALPHA" and good.event.error is None
    assert judge.questions[0].output == "SAY ALPHA" and judge.calls == 1
    assert (
        bad.event.error == "the target failed: it ended with exit code 1"
        and bad.event.ballots == ()
    )


def test_bad_input_in_the_middle_is_named(tmp_path: Path) -> None:
    """An artifact that became unreadable meanwhile ends the command with its name."""
    paths = write(tmp_path, ["alpha", "beta"])
    paths.insert(1, tmp_path / "gone.md")
    with pytest.raises(FileError, match=r"gone\.md"):
        judge_all(evaluation(JUDGED, [ScriptedJudge()]), paths)


@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.lists(st.sampled_from(["alpha ", "beta ", "gamma ", "x ", "é"]), min_size=1).map(
            "".join
        ),
        min_size=1,
        max_size=9,
    )
)
def test_the_quick_way_for_text_checks_gives_the_same_as_the_slow_one(
    tmp_path: Path, texts: list[str]
) -> None:
    """Ballot by ballot and score by score, fresh and from the record."""
    paths = write(tmp_path, texts)
    slow = judge_all(evaluation(CODE), paths)
    store = MemoryStore()
    quick = judge_texts(evaluation(CODE, store=store), paths)
    again = judge_texts(evaluation(CODE, store=store), paths)
    scorer = Scorer(CODE)
    for other in (quick, again):
        assert [(j.event.path, j.event.digest) for j in other] == [
            (j.event.path, j.event.digest) for j in slow
        ]
        assert [ballot_to_plain(j.event.ballots[0]) for j in other] == [
            ballot_to_plain(j.event.ballots[0]) for j in slow
        ]
        assert [scorer.card(j.event.ballots) for j in other] == [
            Scorer(CODE).card(j.event.ballots) for j in slow
        ]


def test_more_artifacts_than_one_chunk(tmp_path: Path) -> None:
    """Every one is judged once, in order, with its own marks."""
    texts = [("alpha " * (n % 2) + "beta " * (n % 3 > 0) + "x") for n in range(450)]
    found = judge_texts(evaluation(CODE), write(tmp_path, texts))
    got = [tuple(m.answer for m in j.event.ballots[0].marks.values()) for j in found]
    assert got == [("alpha" in text, "beta" in text, False) for text in texts]
