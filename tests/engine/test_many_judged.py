"""The quick ways of judging many: the same keys, documents and order as the plain ways."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import engine_world as world
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.adapters.checks import CheckRunner
from honestone.adapters.models.schemas import for_anthropic, for_openai
from honestone.adapters.stores.memory import MemoryStore
from honestone.cli.terminal import dump, dump_line
from honestone.core.errors import FileError
from honestone.core.judging.ballot import CHECK, Ballot, Mark
from honestone.core.judging.contract import digest_json
from honestone.core.judging.rubric import Anchors, Item, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.engine.evaluate import Evaluation, JudgedArtifact
from honestone.engine.judging.evaluator import Evaluator
from honestone.ports import Judge, Request
from honestone.prompts.filling import reply_schema, sent_schema
from honestone.report.building.scorecard import Facts, SharedParts, scorecard_document
from honestone.report.documents.scorecard import UsageDoc
from honestone.system.files import load_artifact
from honestone.testing import ScriptedJudge
from property_examples import examples

sys.path.insert(0, str(Path(__file__).parent.parent / "core"))
from strategies import answers, rubrics

JUDGED = world.rubric(world.words("a", "alpha", "beta"))
TEXT = "The words that a judge may quote stand here. And here."


class Silent:
    def note(self, text: str) -> None: ...

    def progress(self, done: int, total: int, doing: str) -> None: ...

    def event(self, event: Any) -> None: ...


def evaluation(judge: Judge, *, concurrency: int, **more: Any) -> Evaluation:
    store = MemoryStore()
    run = store.start_run(
        kind="eval", subject="", identity="", contract="c", first={"type": "started"}
    )
    panel = world.panel([judge], store, meter_=world.meter(1000), concurrency=1000)
    return Evaluation(
        run=run,
        evaluator=Evaluator(JUDGED, CheckRunner(Path()), panel),
        store=store,
        contract="sha256:" + "0" * 64,
        observer=Silent(),
        max_bytes=10_000,
        concurrency=concurrency,
        **more,
    )


def judge_all(work: Evaluation, paths: Sequence[Path]) -> list[JudgedArtifact]:
    async def collect() -> list[JudgedArtifact]:
        return [judgement async for judgement in work.judge_all(paths)]

    return world.run(collect())


def files(folder: Path, count: int) -> list[Path]:
    paths = [folder / f"{n:03}.md" for n in range(count)]
    for path in paths:
        path.write_text(f"text of {path.stem}")
    return paths


# ------------------------------------------------------------------------------------------------------------
# in order


def test_a_slow_one_holds_up_nobody_behind_it(tmp_path: Path) -> None:
    """The first is not done before the seventh has begun, though only two are under way at once."""
    seventh_began = asyncio.Event()

    async def step(question: Any) -> bool:
        if "006" in question.artifact.version.text:
            seventh_began.set()
        if "000" in question.artifact.version.text:
            await asyncio.wait_for(seventh_began.wait(), 20)
        return True

    paths = files(tmp_path, 9)
    found = judge_all(evaluation(ScriptedJudge(step), concurrency=2), paths)
    assert [judgement.event.path for judgement in found] == list(map(str, paths))
    assert all(judgement.event.ballots[0].marks for judgement in found)


def test_the_quick_are_only_so_far_ahead(tmp_path: Path) -> None:
    """Memory stays flat: with two at once, nobody begins who is eight or more behind the one that
    is waited for.
    """
    begun: list[str] = []
    enough = asyncio.Event()

    async def step(question: Any) -> bool:
        begun.append(question.artifact.version.text)
        if "000" in begun[-1]:
            for _ in range(200):
                await asyncio.sleep(0)
            assert len(begun) <= 8
            enough.set()
        return True

    found = judge_all(evaluation(ScriptedJudge(step), concurrency=2), files(tmp_path, 20))
    assert enough.is_set() and len(found) == 20 == len(begun)


def test_each_is_on_record_before_it_is_handed_on_and_none_twice(tmp_path: Path) -> None:
    """However many are recorded together, the record has them in order and ahead of whoever reads."""
    work = evaluation(ScriptedJudge(True), concurrency=5)
    paths = files(tmp_path, 150)

    async def collect() -> None:
        seen = 0
        async for judgement in work.judge_all(paths):
            events = work.store.events(work.run)
            assert events[1 + seen].path == judgement.event.path
            assert work.store.blob(judgement.event.digest) is not None
            seen += 1

    world.run(collect())
    assert [event.path for event in work.store.events(work.run)[1:]] == list(map(str, paths))


def test_after_an_error_nothing_new_is_begun(tmp_path: Path) -> None:
    """What came before it is handed on, then the error ends the command."""
    paths = files(tmp_path, 40)
    paths[3].unlink()
    judge = ScriptedJudge(True)
    work = evaluation(judge, concurrency=2)
    found = []

    async def collect() -> None:
        async for judgement in work.judge_all(paths):
            found.append(judgement.event.path)

    with pytest.raises(FileError, match=r"003\.md"):
        world.run(collect())
    assert found == list(map(str, paths[:3])) and judge.calls <= 6


def test_what_was_read_to_be_checked_is_what_is_judged(tmp_path: Path) -> None:
    """An artifact that somebody changes meanwhile is judged as it was read, and let go of after
    that.
    """
    paths = files(tmp_path, 2)
    looked_at = {paths[0]: load_artifact(paths[0], exclude=frozenset(), max_bytes=1000)}
    paths[0].write_text("other words")
    judge = ScriptedJudge(True)
    judge_all(evaluation(judge, concurrency=1, looked_at=looked_at), paths)
    assert [question.artifact.version.text for question in judge.questions] == [
        "text of 000",
        "text of 001",
    ]
    assert looked_at == {}


# ----------------------------------------------------------------------------------------------------------------
# keys


@given(st.text() | st.text(st.characters(codec=None)), st.integers(0, 3))
def test_a_reply_is_found_by_the_digest_of_judge_body_and_draw(body: str, draw: int) -> None:
    """The key that is put together by hand is the one that `judge submit` computes, whatever the
    text holds.
    """
    judge = ScriptedJudge(True)
    seat = SimpleNamespace(id="j", judge=judge, draw=draw)
    panel = world.panel([judge])
    expected = digest_json({"judge": judge.identity, "body": body, "draw": draw})
    assert panel._key(seat, Request(body=body)) == expected == panel._key(seat, Request(body=body))  # type: ignore[arg-type]


def test_another_judge_under_the_same_name_has_other_keys() -> None:
    """What is remembered of a judge is not taken for another's."""
    panel = world.panel([ScriptedJudge(True)])
    keys = set()
    for version in (1, 2):
        judge = SimpleNamespace(identity={"version": version})
        keys.add(panel._key(SimpleNamespace(id="j", judge=judge, draw=0), Request(body="b")))  # type: ignore[arg-type]
    assert len(keys) == 2


# -------------------------------------------------------------------------------------------------------------
# schemas


def test_equal_schemas_are_one_object_and_stay_strict() -> None:
    """Another order of calls, other items of the same kinds: nothing is made anew, and strict mode
    takes it.
    """
    plain = Item(id="a", requirement="A", whole=True)
    scaled = Item(
        id="b", requirement="B", anchors=Anchors(levels=((0, "bad"), (10, "good"))), whole=True
    )  # type: ignore[arg-type]
    first, other = reply_schema({1: plain, 2: scaled}), reply_schema({2: plain, 1: scaled})
    assert (
        first is reply_schema({1: Item(id="x", requirement="X"), 2: scaled}) and first is not other
    )
    sent, strict = for_openai(first)
    assert strict and for_openai(first)[0] is sent and for_openai(other)[0] is not sent
    assert sent["properties"]["answers"]["properties"]["2"] == {"$ref": "#/$defs/b"}
    assert sent["$defs"]["b"]["properties"]["answer"] == {"type": "number"}
    assert for_anthropic(first) is for_anthropic(first)
    assert for_anthropic(first)["$defs"]["a"]["additionalProperties"] is False

    alike = sent_schema({1: plain, 2: plain})
    assert (
        alike is sent_schema({3: plain, 4: plain}) and sent_schema({1: plain, 2: scaled}) is first
    )
    assert for_openai(alike) == (alike, True)
    answers = for_anthropic(alike)["properties"]["answers"]
    assert set(answers) == {"type", "items"} and answers["items"]["additionalProperties"] is False


# -----------------------------------------------------------------------------------------------------------
# documents


@st.composite
def several(draw: st.DrawFn) -> tuple[Rubric, list[tuple[Ballot, ...]]]:
    """A rubric, and what code and judges say of several artifacts, with words of their own."""
    of = draw(rubrics())
    said = st.lists(
        st.sampled_from(["The words", "not there", "ab", "stand here", ""]), max_size=2
    ).map(tuple)
    suggestion = st.none() | st.sampled_from(["do this", " "])
    found = []
    for _ in range(draw(st.integers(2, 6))):
        ballots = []
        for judge in (
            CHECK,
            *draw(st.sampled_from([("ann",), ("ann", "bob"), ("bob", "ann"), ()])),
        ):
            asked = [
                (key, item)
                for key, item in of.questions()
                if (item.check is not None) == (judge == CHECK)
            ]
            marks = {
                key: Mark(draw(answers(item)), draw(said), draw(suggestion))
                for key, item in asked
                if draw(st.booleans())
            }
            missing = {
                key: draw(st.sampled_from(["late", "gone"])) for key, _ in asked if key not in marks
            }
            if asked:
                ballots.append(Ballot(judge=judge, marks=marks, abstained=missing))
        found.append(tuple(ballots))
    return of, found


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(several())
def test_a_document_is_the_same_whatever_was_drawn_before(
    case: tuple[Rubric, list[tuple[Ballot, ...]]],
) -> None:
    """Numbers, words, notes and counts of each artifact, as if it were the only one; also the
    second time.
    """
    of, said = case
    scorer, known = Scorer(of), SharedParts()
    facts = Facts(path="p", digest="d", contract="c", run="r", usage=UsageDoc(), text=TEXT)
    for ballots in (*said, *said):
        plain = scorecard_document(Scorer(of), ballots, facts)
        quick = scorecard_document(scorer, ballots, facts, known)
        assert dump_line(quick) == dump_line(plain)
        assert json.loads(dump(quick)) == json.loads(dump_line(plain))
