"""Functions, texts and values in Python: what is given in place of names and files, and what comes
back.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honestone
from honestone.core.errors import HonestoneError
from property_examples import examples

CODE = {"criteria": [{"id": "a", "check": {"contains": "alpha"}}]}
JUDGED = {"threshold": 100, "criteria": [{"id": "a", "requirement": "says alpha"}]}
SUITE = {
    "suite": 1,
    "cases": [
        {"id": "x", "input": "alpha in", "checks": [{"contains": "alpha"}]},
        {"id": "y", "input": "beta in", "checks": [{"contains": "alpha"}]},
    ],
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("alpha in a file\n")
    return tmp_path


def says(word: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A judge that says yes where the word is."""

    def judge(request: dict[str, Any]) -> dict[str, Any]:
        text = request["output"] or request["artifact"]["text"]
        return {"criteria": {one["id"]: {"met": word in text} for one in request["criteria"]}}

    return judge


def statuses(result: honestone.SuiteResult) -> dict[str, str]:
    return {case.id: case.status for case in result.cases}


# -------------------------------------------------------------------------------------------------------------
# judges


async def _awaits(request: dict[str, Any]) -> dict[str, Any]:
    await asyncio.sleep(0)
    return says("alpha")(request)


class _Callable:
    def __call__(self, request: dict[str, Any]) -> Any:
        return _awaits(request)


@pytest.mark.parametrize(
    "judge",
    [
        says("alpha"),
        _awaits,
        _Callable(),
        lambda request: _awaits(request),
        lambda request: json.dumps(says("alpha")(request)),
        lambda request: "alpha" in request["artifact"]["text"],
    ],
)
def test_a_function_judges(judge: Any) -> None:
    """Sync or async, with an object, its JSON, or yes and no; alone or in a list."""
    assert honestone.evaluate("alpha", JUDGED, judges=[judge]).passed
    assert honestone.evaluate("beta", JUDGED, judges=judge).verdict == "fail"


def _stops(request: object) -> None:
    raise StopIteration


def _exits(request: object) -> None:
    sys.exit(3)


def _waits(request: object) -> None:
    time.sleep(30)


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        (lambda request: 1 / 0, "ZeroDivisionError"),
        (_stops, "StopIteration"),
        (_exits, "SystemExit: 3"),
        (_waits, "no reply within 0.2 s"),
        (lambda request: 5, "it returned int"),
        (lambda request: {"criteria": {1, 2}}, "not JSON"),
        (lambda request: None, "it returned NoneType"),
    ],
)
def test_a_judge_that_fails_abstains(judge: Any, why: str) -> None:
    """Inconclusive, with its words; never a score."""
    limit = 0.2 if judge is _waits else 60
    found = honestone.evaluate("alpha", JUDGED, judges=[judge], judge_timeout=limit)
    assert (found.verdict, found.score) == ("inconclusive", None)
    assert why in json.dumps(found.to_dict())


def test_two_functions_of_one_name_are_two_voters(here: Path) -> None:
    """And one given twice is a second look; nothing is answered from the record of another, nor of
    an earlier call.
    """
    calls: list[str] = []

    def make(word: str) -> Any:
        def judge(request: dict[str, Any]) -> dict[str, Any]:
            calls.append(word)
            return says(word)(request)

        return judge

    first, second = make("alpha"), make("beta")
    found = honestone.evaluate("alpha", JUDGED, judges=[first, second, first], store=here / "st")
    assert [ballot.draw_of for ballot in found.ballots] == [None, None, "judge()"]
    assert sorted(calls) == ["alpha", "alpha", "beta"]
    honestone.evaluate("alpha", JUDGED, judges=[first], store=here / "st")
    assert len(calls) == 4


def test_a_function_may_have_any_name(here: Path) -> None:
    """Also that of a judge or target of ours: it is neither, and nothing about it is a dry run."""

    def check(request: dict[str, Any]) -> bool:
        return True

    def mock(text: str) -> str:
        return text

    def identity(text: str) -> str:
        return text

    assert honestone.evaluate("x", JUDGED, judges=[check]).passed
    for target in (mock, identity):
        found = honestone.run_suite(SUITE["cases"][:1], target=target)  # type: ignore[index]
        assert (
            isinstance(found, honestone.SuiteResult)
            and found.passed
            and not found.record.started.mock
        )
    mock.__qualname__ = "\x1b[31m<script>"
    assert "\x1b" not in json.dumps(
        honestone.run_suite(SUITE, target=mock).to_dict(), ensure_ascii=False
    )


def test_a_witness_is_another_function(here: Path) -> None:
    """The panel's own function cannot certify; another of the same name can."""
    (here / "a.md").write_text("alpha\n")
    alpha, other = says("alpha"), says("alpha")
    with pytest.raises(honestone.UsageError, match="held-out"):
        honestone.improve(
            Path("a.md"), JUDGED, judges=[alpha], holdouts=[alpha], worker=lambda path, brief: None
        )
    found = honestone.improve(
        Path("a.md"), JUDGED, judges=[alpha], holdouts=[other], worker=lambda path, brief: None
    )
    assert found.passed and found.to_dict()["usage"]["judge_calls"] == 2, (
        "the answer of one is not that of the other"
    )
    says_no = honestone.improve(
        Path("a.md"),
        JUDGED,
        judges=[alpha],
        holdouts=[says("beta")],
        worker=lambda path, brief: None,
    )
    assert not says_no.passed


# ------------------------------------------------------------------------------------------------------------
# targets


def test_a_function_is_a_target() -> None:
    """Sync or async; one that raises is a target error with its words, and its case alone."""

    async def later(text: str) -> dict[str, Any]:
        await asyncio.sleep(0)
        if "beta" in text:
            raise ValueError("first\nWHYMARK")
        return {"output": text, "input_tokens": 3}

    assert statuses(honestone.run_suite(SUITE, target=str.upper)) == {"x": "failed", "y": "failed"}
    same = honestone.run_suite(SUITE, target=str)
    assert statuses(same) == statuses(honestone.run_suite(SUITE, target=lambda text: text))
    found = honestone.run_suite(SUITE, target=later)
    assert statuses(found) == {"x": "passed", "y": "target-error"}
    assert "ValueError: WHYMARK" in (found.cases[1].error or "")
    assert found.cases[0].trace is not None and found.cases[0].trace.input_tokens == 3


def _by_name(text: str, *, artifact: Path) -> str:
    return artifact.read_text()


def _second(text: str, place: Path) -> str:
    place.write_text(place.read_text() + "changed")
    return place.read_text()


def _may(text: str, artifact: Path | None = None) -> str:
    return "none" if artifact is None else artifact.read_text()


@pytest.mark.parametrize(
    "target", [_by_name, _second, _may, lambda text, artifact: artifact.read_text()]
)
def test_the_artifact_is_a_private_copy(target: Any, here: Path) -> None:
    """A parameter `artifact`, or a second one that must be given, gets its path; what is done to it
    stays there.
    """
    found = honestone.run_suite(SUITE, target=target, artifact=Path("README.md"))
    assert statuses(found) == {"x": "passed", "y": "passed"}
    assert (here / "README.md").read_text() == "alpha in a file\n"
    assert honestone.run_suite(
        SUITE, target=target, artifact=honestone.Text("alpha, a text")
    ).passed
    without = honestone.run_suite(SUITE, target=target)
    assert without.cases[0].output == "none" or "given none" in (without.cases[0].error or "")


def test_a_target_that_hangs_costs_its_case() -> None:
    """The others pass, and the time limit is the case's."""

    def slow(text: str) -> str:
        if "beta" in text:
            time.sleep(30)
        return text

    x, y = SUITE["cases"]
    found = honestone.run_suite(
        {"suite": 1, "cases": [{**x, "timeout": 300}, y]}, target=slow, target_timeout=0.3
    )
    assert statuses(found) == {"x": "passed", "y": "target-error"}
    assert "within 0.3 s" in (found.cases[1].error or "")


def test_a_function_answers_one_artifact_too() -> None:
    """As the target of `evaluate`."""
    assert honestone.evaluate("a", CODE, target=lambda text: text + "lpha").passed
    assert honestone.evaluate("a", CODE, target=lambda text: 1 / 0).verdict == "inconclusive"


# ------------------------------------------------------------------------------------------------------------
# workers


def _edits(path: Path, brief: str) -> None:
    assert "alpha" in brief
    path.write_text(path.read_text() + "alpha\n")


async def _returns(path: Path, brief: str) -> str:
    await asyncio.sleep(0)
    return "alpha\n"


@pytest.mark.parametrize("worker", [_edits, _returns])
def test_a_function_improves(worker: Any, here: Path) -> None:
    """It edits the private copy, or returns the new text; on a dry run the file stays."""
    (here / "a.md").write_text("start\n")
    dry = honestone.improve(Path("a.md"), CODE, worker=worker, dry_run=True)
    assert dry.passed and (here / "a.md").read_text() == "start\n"
    found = honestone.improve(Path("a.md"), CODE, worker=worker)
    assert (found.result, found.verdict, found.passed) == ("PASSED", "pass", True)
    assert "alpha" in (here / "a.md").read_text() and len(repr(found)) < 200
    assert found["result"] == "PASSED" and "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    ("worker", "why"),
    [
        (lambda path, brief: 5, "it returned int"),
        (lambda path, brief: 1 / 0, "ZeroDivisionError"),
        (lambda path, brief: time.sleep(30), "still working after 0.2 s"),
    ],
)
def test_a_worker_that_fails_is_said(worker: Any, why: str, here: Path) -> None:
    """The file is what it was."""
    (here / "a.md").write_text("start\n")
    limit = 0.2 if "0.2 s" in why else 60
    found = honestone.improve(Path("a.md"), CODE, worker=worker, rounds=1, worker_timeout=limit)
    assert not found.passed and why in json.dumps(found.to_dict())
    assert (here / "a.md").read_text() == "start\n"


# ----------------------------------------------------------------------------------------------------
# texts and files


@pytest.mark.parametrize("call", [honestone.evaluate, honestone.assert_passes])
def test_a_text_that_names_a_file_is_refused(call: Any) -> None:
    """With both ways to say which is meant."""
    with pytest.raises(honestone.UsageError, match="README") as caught:
        call("README.md", CODE)
    assert "Path('README.md')" in (caught.value.hint or "") and "Text('README.md')" in (
        caught.value.hint or ""
    )
    assert not honestone.evaluate(honestone.Text("README.md"), CODE).passed
    assert honestone.evaluate(Path("README.md"), CODE).passed


@settings(max_examples=examples(60), deadline=None)
@given(text=st.text(max_size=400))
def test_any_other_text_is_a_text(text: str) -> None:
    """Whatever is in it: it is judged as it is, or refused where it cannot be a text."""
    try:
        found = honestone.evaluate(
            honestone.Text(text), {"criteria": [{"id": "a", "check": {"equals": text}}]}
        )
    except HonestoneError:
        return
    assert found.path == "text"


@pytest.mark.parametrize(
    "rubric",
    [
        CODE,
        CODE["criteria"],
        json.dumps(CODE),
        "criteria: [{id: a, check: {contains: alpha}}]",
        "criteria:\n- id: a\n  check: {contains: alpha}\n",
        "rub.yaml",
        Path("rub.yaml"),
    ],
)
def test_a_rubric_is_a_value_a_text_or_a_file(rubric: Any, here: Path) -> None:
    """A text is the name of a file, else YAML."""
    (here / "rub.yaml").write_text("criteria: [{id: a, check: {contains: alpha}}]\n")
    assert (
        honestone.evaluate("alpha", rubric).passed and not honestone.evaluate("beta", rubric).passed
    )


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (
            {"suite": 1, "cases": [{"id": "a", "inputs": "x", "checks": [{"contains": "a"}]}]},
            "suite['cases'][0]",
        ),
        ([{"id": "a", "checks": [{"contians": "a"}]}], "suite['cases'][0]['checks'][0]"),
        ([{"id": "a", "input": "b", "checks": [{"contains": "a"}]}] * 2, "suite['cases'][1]['id']"),
        ([{"id": {1, 2}}], "a value of the type set"),
        ([], "suite"),
        ({}, "suite"),
    ],
)
def test_what_is_wrong_with_values_has_a_place(given: Any, place: str) -> None:
    """The way to the value, as Python writes it."""
    with pytest.raises(honestone.UsageError) as caught:
        honestone.run_suite(given, target="identity")
    assert place in str(caught.value)


def test_a_suite_object_and_a_foreign_dict_are_suites() -> None:
    """A Suite as it is, and a dict in the form of any file that is read."""
    rubric = honestone.parse_rubric("criteria: [{id: a, check: {contains: alpha}}]")
    case = honestone.Case(id="x", rubric=rubric, messages=(honestone.Message("user", "alpha"),))
    assert honestone.run_suite(honestone.Suite(cases=(case,)), target=lambda text: text).passed
    foreign = {
        "prompts": ["{{text}}"],
        "providers": ["echo"],
        "tests": [{"vars": {"text": "alpha"}, "assert": [{"type": "contains", "value": "alpha"}]}],
    }
    assert honestone.run_suite(foreign, target=lambda text: text).passed


class _NoType:
    pass


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: honestone.evaluate("x", JUDGED, judges=[5]), "judges"),
        (lambda: honestone.evaluate("x", JUDGED, judges=[_NoType]), "judges"),
        (lambda: honestone.evaluate("x", 5), "rubric"),
        (lambda: honestone.evaluate("x", " "), "rubric"),
        (lambda: honestone.evaluate("x", []), "rubric"),
        (lambda: honestone.evaluate(5, CODE), "artifact"),
        (lambda: honestone.evaluate(None, CODE), "artifact"),
        (lambda: honestone.evaluate(b"x", CODE), "artifact"),
        (lambda: honestone.evaluate("x", CODE, target=_NoType()), "target"),
        (lambda: honestone.evaluate("x", CODE, max_calls="3"), "max_calls"),
        (lambda: honestone.evaluate("x", CODE, threshold="high"), "threshold"),
        (lambda: honestone.evaluate("x", CODE, folder=5), "folder"),
        (lambda: honestone.run_suite(SUITE, target=5), "target"),
        (lambda: honestone.run_suite(5, target="identity"), "suite"),
        (lambda: honestone.run_suite(SUITE, target="identity", cases=[5]), "cases"),
        (lambda: honestone.run_suite(SUITE, target="identity", artifact=5), "artifact"),
        (
            lambda: honestone.run_suite(SUITE, target="identity", min_pass_rate="all"),
            "min_pass_rate",
        ),
        (lambda: honestone.improve(Path("README.md"), CODE, worker=5), "worker"),
        (lambda: honestone.improve(honestone.Text("x"), CODE, worker="fix"), "artifact"),
        (
            lambda: honestone.improve(Path("README.md"), CODE, holdouts=[5], worker="fix"),
            "holdouts",
        ),
        (lambda: honestone.compare(5, "last"), "a"),
        (lambda: honestone.assert_passes("x", CODE, judge=5), "judge"),
        (lambda: honestone.evaluate("x", CODE, nonsense=5), "nonsense"),
        (lambda: honestone.step(Path("README.md"), Path("r.yaml"), rounds="many"), "rounds"),
        (
            lambda: honestone.run_stages(
                Path("s"), task_suite=Path("t"), worker=lambda path, brief: None
            ),
            "worker",
        ),
    ],
)
def test_a_wrong_type_is_said(call: Callable[[], object], name: str) -> None:
    """With the parameter's name; never an AttributeError."""
    with pytest.raises((honestone.UsageError, TypeError), match=name):
        call()


# ------------------------------------------------------------------------------------------------------------
# results


def test_results_are_frozen_and_short() -> None:
    """They read like their documents, and a session shows them in a line."""
    one = honestone.evaluate("beta " * 3000, CODE)
    suite = honestone.run_suite(SUITE, target=lambda text: text * 500)
    other = honestone.run_suite(SUITE, target=lambda text: "alpha")
    compared = honestone.compare(other, suite)
    for result, schema in ((one, "scorecard"), (suite, "report"), (compared, "comparison")):
        assert result.to_dict()["schema"] == f"honestone.{schema}/1" == result["schema"]
        assert len(repr(result)) < 200 and "\n" not in repr(result)
        with pytest.raises((AttributeError, TypeError)):
            result.verdict = "pass"  # type: ignore[misc]
    assert (one.run, suite["verdict"], suite.passed) == (None, "fail", False)
    assert compared.regressions == ["y"] and compared.verdict == "fail"
    assert honestone.compare(other.run or "", suite.run or "")["regressions"] == ["y"]
    assert set(suite) == set(suite.to_dict()) and len(suite) == len(suite.to_dict())


def test_several_targets_are_a_table() -> None:
    """A column each, also where their names are equal; in a frame a row for every cell."""
    found = honestone.run_suite(
        SUITE, target=[lambda text: text, lambda text: "alpha <b>"], pick=True
    )
    assert isinstance(found, honestone.TableResult) and found["schema"] == "honestone.table/1"
    assert [column.verdict for column in found.columns] == [
        "fail",
        "pass",
    ] and found.verdict == "pass"
    assert (
        found.pick == found.columns[1].name and len({column.name for column in found.columns}) == 2
    )
    assert [row[2] for row in found.rows] == ["passed", "passed", "failed", "passed"]
    assert len(repr(found)) < 200 and "&lt;b&gt;" in found._repr_html_()
    one = honestone.run_suite(SUITE, target=[lambda text: text], artifact=[Path("README.md")])
    assert isinstance(one, honestone.SuiteResult)
    assert honestone.compare(found.columns[1].run, found.columns[0].run).regressions == ["y"]


def test_a_notebook_shows_a_table_with_nothing_alive_in_it() -> None:
    """A fragment, with input that tries to be more."""
    evil = "<script>alert(1)</script> \x1b[31m"
    cases = [{"id": "<b>x</b>", "input": evil, "checks": [{"contains": "alpha"}]}]
    shown = honestone.run_suite(
        {"suite": 1, "title": evil, "cases": cases}, target=lambda text: text
    )._repr_html_()
    assert (
        "&lt;script" in shown
        and "<script" not in shown
        and "<b>x" not in shown
        and "\x1b" not in shown
    )
    assert "<html" not in shown and "<td" in shown


def test_the_table_says_why() -> None:
    """The words of each miss, also of a target that failed; nothing for a case that passed."""
    found = honestone.run_suite(SUITE, target=lambda text: 7 if text == "beta in" else text)
    reasons = {row[0]: row[-1] for row in found.rows}
    assert found.heads[-1] == "reason" and reasons["x"] == ""
    assert reasons["y"] == "it returned int, not a text" and reasons["y"] in found._repr_html_()
    cells = honestone.run_suite(SUITE, target=[lambda text: text, lambda text: None])
    assert {row[-1] for row in cells.rows if row[2] == "target-error"} == {
        "it returned NoneType, not a text"
    }
    assert all(row[-1] for row in cells.rows if row[2] != "passed")


def test_a_frame_goes_in_and_comes_out() -> None:
    """Rows are cases, and empty cells are left out; pandas is loaded by its user alone."""
    pandas = pytest.importorskip("pandas")
    more = {
        "input": "{{ word }} {{ number }}",
        "checks": [{"equals": "alpha 7"}],
        "word": "alpha",
        "number": 7,
    }
    rows = [*SUITE["cases"], {"id": "z", "tags": "a, b", "reference": "r", **more}]  # type: ignore[misc]
    found = honestone.run_suite(
        pandas.DataFrame(rows).astype({"number": "Int64"}), target=lambda text: text
    )
    frame = found.to_frame()
    assert list(frame.columns[:5]) == ["case", "status", "score", "output", "reason"]
    assert list(frame["status"]) == ["passed", "failed", "passed"]
    assert (found.cases[2].reference, found.cases[2].tags) == ("r", ["a", "b"])


@pytest.mark.slow
def test_it_offers_what_there_is() -> None:
    """Tab shows the public names alone, and importing loads neither pandas nor our own parts."""
    names = {name for name in dir(honestone) if not name.startswith("_")}
    assert names == set(honestone.__all__)
    code = (
        "import sys, honestone; dir(honestone); honestone.aevaluate; print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# ----------------------------------------------------------------------------------------------------
# a running loop


def test_the_awaited_forms_leave_the_loop_free(here: Path) -> None:
    """Functions that block are in threads, and coroutines run where their clients are: in the
    caller's own loop.
    """
    (here / "a.md").write_text("start\n")
    seen: list[object] = []
    ticked = threading.Semaphore(0)

    def slow(given: Any, *more: Any) -> Any:
        """Ends when the loop has gone round, which it does not while it is held up."""
        assert ticked.acquire(timeout=300) and ticked.acquire(timeout=300)
        return "alpha\n"

    async def judge(request: dict[str, Any]) -> dict[str, Any]:
        seen.append(asyncio.get_running_loop())
        return says("alpha")(request)

    async def main() -> None:
        for work in (
            honestone.aevaluate("a", JUDGED, target=slow, judges=[judge]),
            honestone.arun_suite(SUITE, target=slow),
            honestone.aimprove(Path("a.md"), CODE, worker=slow),
        ):
            task = asyncio.ensure_future(work)
            while not task.done():
                await asyncio.sleep(0.02)
                ticked.release()
            assert task.result().passed
        first = await honestone.arun_suite(SUITE, target=lambda text: text)
        assert (await honestone.acompare(first, first)).passed
        assert seen == [asyncio.get_running_loop()]

    asyncio.run(main())


def test_several_in_one_loop_run_at_once() -> None:
    """Four that wait for each other come to an end only together."""
    barrier = threading.Barrier(4, timeout=300)

    def target(text: str) -> str:
        if "alpha" in text:
            barrier.wait()
        return text

    async def main() -> list[honestone.SuiteResult]:
        return await asyncio.gather(*(honestone.arun_suite(SUITE, target=target) for _ in range(4)))

    assert [statuses(found) for found in asyncio.run(main())] == [
        {"x": "passed", "y": "failed"}
    ] * 4


def test_a_cancel_ends_what_was_started(here: Path) -> None:
    """As Ctrl-C does: nothing goes on after it."""
    begun, before = threading.Event(), threading.active_count()  # other tests may have left some

    async def target(text: str) -> str:
        begun.set()
        await asyncio.sleep(30)
        raise AssertionError("it went on")

    async def main() -> None:
        task = asyncio.ensure_future(honestone.arun_suite(SUITE, target=target))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert threading.active_count() < before + 20

    asyncio.run(main())


def test_the_plain_forms_work_in_a_running_loop() -> None:
    """As in a notebook; and one may be called by a function that judges."""

    def judge(request: dict[str, Any]) -> dict[str, Any]:
        met = honestone.evaluate(request["artifact"]["text"], CODE).passed
        return {"criteria": {"a": {"met": met}}}

    async def main() -> bool:
        return honestone.evaluate("alpha", JUDGED, judges=[judge]).passed

    assert asyncio.run(main())
