"""Measuring judges and raters from Python: typed results with the documents of the commands, and
judges, workers and targets that are functions of a file.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import honestone
from honestone.app.judging.given_tables import label_rows

POLITE = {
    "threshold": 100,
    "floor": 0,
    "criteria": [{"id": "polite", "requirement": "is polite"}],
}
TEXTS = {f"t{n:02}": f"text {n}" + " please" * (n % 3 > 0) for n in range(24)}


def polite(request: Any) -> Any:
    met = "please" in request["artifact"]["text"]
    return {"criteria": {one["id"]: {"met": met} for one in request["criteria"]}}


def people() -> dict[str, list[Any]]:
    """What two people say: the second is of another opinion about two texts."""
    ann = ["please" in text for text in TEXTS.values()]
    return {
        "id": list(TEXTS),
        "ann": ann,
        "bob": [one != (n in (3, 7)) for n, one in enumerate(ann)],
    }


def test_labels_of_results_that_are_at_hand() -> None:
    """Two columns of people give kappa, their ceiling and a pass rate that is put right."""
    result = honestone.evaluate_many(TEXTS, POLITE, judges=polite)
    found = result.calibrate(people())
    (judge,) = found.judges
    assert judge.units == 24
    assert judge.kappa is not None
    assert 0.7 < judge.kappa <= 1
    assert found["schema"] == "honestone.calibration/1"
    assert found["human_ceiling"] is not None
    assert judge.corrected.ppi == pytest.approx(16 / 24, abs=0.12)
    only = result.calibrate({"id": ["t00", "t01", "nobody"], "ann": [False, True, True]})
    assert only.judges[0].units == 2


def test_labels_of_one_criterion_and_labels_that_belong_nowhere() -> None:
    """`RATER/CRITERION` is of one criterion; rows of no text, columns of nobody and cells that are
    no answers are refused.
    """
    result = honestone.evaluate_many(TEXTS, POLITE, judges=polite)
    labels = people()
    one = {"id": labels["id"], "ann/polite": labels["ann"]}
    assert result.calibrate(one).judges[0].kappa == 1
    for wrong, words in (
        ({"id": ["x"], "ann": [True]}, "no row"),
        ({"id": ["t00"], "ann/rude": [True]}, "rude"),
        ({"id": ["t00"], "ann": ["perhaps"]}, "perhaps"),
        ({"id": ["t00"]}, "no column"),
        ({"id": ["t00"], "ann": [None]}, "no answer"),
    ):
        with pytest.raises(honestone.UsageError, match=words):
            result.calibrate(wrong)


def test_labels_that_may_belong_to_two_texts_are_refused() -> None:
    """An id of two texts, two answers of one person about a text, and an index that may be ids or
    numbers of rows; rows may leave columns out, as the first one here.
    """
    rows = [{"id": n, "text": f"{n} please"} for n in (2, 0, 1)]
    result = honestone.evaluate_many(rows, POLITE, judges=polite, text="text", id="id")
    for labels, words in (
        ([{"id": 2, "ann": True}, {"id": "2", "ann": False}], "two answers"),
        ([{"ann": True}, {"ann": True}, {"ann": False}], "may be the ids"),
    ):
        with pytest.raises(honestone.UsageError, match=words):
            result.calibrate(labels)
    sparse = result.calibrate([{"id": 0}, {"id": 1, "ann": True}, {"id": 2, "bob": True}])
    assert sparse.judges[0].units == 2
    first_is_short = [{"text": "please"}, {"text": "no", "channel": "mail"}]
    found = honestone.evaluate_many(
        first_is_short, POLITE, judges=polite, text="text", group="channel"
    )
    assert set(found.summary.groups) >= {"mail"}


def test_rows_of_labels_are_of_one_text_by_ids_or_by_numbers() -> None:
    """A row number that is there twice matters only where rows are meant; a row without an id is of
    no text, whatever a text is called.
    """

    def places(labels: list[dict[str, object]], ids: list[str], numbers: list[int]) -> object:
        return label_rows(labels, ids, numbers, ["id"]).places

    two: list[dict[str, object]] = [{"ann": True}, {"ann": False}]
    with pytest.raises(honestone.UsageError, match=r"index of the table .* has `0` 2 times"):
        places(two, ["a", "b", "c", "d"], [0, 1, 0, 1])
    with pytest.raises(honestone.UsageError, match=r"2 of the texts .* have the id `a`"):
        places([{"id": "a", "ann": True}], ["a", "a"], [0, 1])
    assert places([*two, {"ann": True}], ["0", "1", "2"], [0, 0, 1]) == [0, 1, 2]
    unnamed: list[dict[str, object]] = [{"id": i, "ann": True} for i in ("x", None, "y")]
    assert places(unnamed, ["x", "y", "None"], [0, 1, 2]) == [0, None, 1]


def test_code_alone_is_measured_too() -> None:
    """Where no judge is asked, what code says of a text is compared with people."""
    rubric = {"threshold": 100, "criteria": [{"id": "a", "check": {"contains": "please"}}]}
    found = honestone.evaluate_many(TEXTS, rubric).calibrate(people())
    assert [one.id for one in found.judges] == ["checks"]


def test_a_labels_file(tmp_path: Path) -> None:
    """`calibrate` judges what a file labels, as its command does; awaited too."""
    answers = people()["ann"]
    rows = ["artifact,rater,polite"]
    for (name, text), met in zip(TEXTS.items(), answers, strict=True):
        (tmp_path / f"{name}.txt").write_text(text)
        rows.append(f"{name}.txt,ann,{'yes' if met else 'no'}")
    (tmp_path / "labels.csv").write_text("\n".join(rows) + "\n")
    given: Any = {"labels": Path("labels.csv"), "rubric": POLITE, "folder": tmp_path}
    found = honestone.calibrate(**given, judges=polite)
    assert (found.verdict, found.judges[0].kappa) == ("pass", 1)
    again = asyncio.run(honestone.acalibrate(**given, judges=polite))
    assert again["judges"][0]["units"] == 24


def test_noise_and_audit() -> None:
    """Of a text, by a function."""
    noise = honestone.noise("text please", POLITE, judges=polite, n=3)
    assert (noise["n"], noise.judges[0].looks, noise.tolerance) == (3, 3, 0)
    audit = honestone.audit("A text, please.\n\nSecond part.", POLITE, judges=polite)
    assert audit.judges[0].tier is not None
    strict = honestone.audit("A text, please.", POLITE, judges=lambda _: True, require_tier="high")
    assert strict.verdict == "fail"


def test_agreement_of_rows() -> None:
    """A frame, dicts and columns are measured as a file is."""
    columns = {"n": [1, 2, 3], "ann": ["yes", "no", "yes"], "bob": ["yes", "no", "no"]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for table in (columns, rows):
        found = honestone.agreement(table, unit="n")
        assert found.report.raters == ["ann", "bob"]
        assert found["raw_agreement"] == pytest.approx(2 / 3)


def test_what_is_on_record(tmp_path: Path) -> None:
    """`runs`, `show` and `rescore` of a store."""
    rubric = {**POLITE, "criteria": [*POLITE["criteria"], {"id": "b", "check": {"max-words": 1}}]}  # type: ignore[misc]
    one = honestone.evaluate("text please", rubric, judges=polite, store=tmp_path / "st")
    many = honestone.evaluate_many(TEXTS, POLITE, judges=polite, store=tmp_path / "st")
    store = tmp_path / "st"
    assert [run.id for run in honestone.runs(store=store)] == [many.run, one.run]
    assert len(honestone.runs(store=store, limit=1)) == 1
    assert honestone.show(one.run or "", store=store)["score"] == 50
    shown = honestone.show(many.run or "", store=store)
    assert shown["rows"] == many.document["rows"]
    again = honestone.rescore(one.run or "", threshold=50, store=store)
    assert (one.verdict, again["verdict"], again["score"]) == ("fail", "pass", 50)
    with pytest.raises(honestone.UsageError, match="nosuchrun"):
        honestone.show("nosuchrun", store=store)


def test_labels_by_a_function_and_from_a_table(tmp_path: Path) -> None:
    """What is returned calibrates, and its file is one that `calibrate` reads."""
    texts = {"a.txt": "please", "b.txt": "no"}
    asked: list[str] = []

    def answer(text: str, requirement: str) -> bool | None:
        asked.append(requirement)
        return None if text == "no" else True

    found = honestone.label(texts, POLITE, answers=answer, rater="ann", labels=tmp_path / "l.csv")
    assert asked == ["is polite"] * 2
    assert (len(found), found.skipped) == (1, 1)
    assert (tmp_path / "l.csv").read_text() == (
        "artifact,rater,polite\na.txt,ann,yes\nb.txt,ann,\n"
    )
    result = honestone.evaluate_many(texts, POLITE, judges=polite)
    assert result.calibrate(found.rows).judges[0].units == 1
    table = honestone.label(texts, POLITE, answers=[{"id": "b.txt", "polite": "no"}])
    assert [one.value for one in table.answers] == [False]
    assert len(honestone.label(TEXTS, POLITE, answers=lambda *_: True, sample=5)) == 5
    with pytest.raises(honestone.UsageError, match="rude"):
        honestone.label(texts, POLITE, answers=[{"id": "a.txt", "rude": True}])


@pytest.mark.parametrize("name", ["l.jsonl/", "l.csv/"])
@pytest.mark.parametrize("answers", [None, lambda *_: True])
def test_labels_in_a_folder_are_refused_before_anything_is_asked(
    name: str, answers: object, tmp_path: Path
) -> None:
    """A path with a slash at its end is no file, whether a page asks or a function answers."""
    options: dict[str, Any] = {"answers": answers, "labels": f"{tmp_path}/{name}"}
    with pytest.raises(honestone.UsageError, match="`labels` is a file"):
        honestone.label({"a.txt": "please"}, POLITE, **options)
    with pytest.raises(honestone.UsageError, match="`labels` is a file"):
        honestone.calibrate(options["labels"], POLITE, judges=polite)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name", ["acalibrate", "anoise", "aaudit", "alabel", "arescore", "aevaluate_many"]
)
def test_awaited_forms(name: str) -> None:
    """They are coroutine functions, with the options of the other form."""
    form, plain = getattr(honestone, name), getattr(honestone, name[1:])
    assert inspect.iscoroutinefunction(form)
    assert inspect.signature(form) == inspect.signature(plain)


def test_plots_are_figures() -> None:
    """Of a calibration, of noise and of a loop; names are no formulas."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    result = honestone.evaluate_many(TEXTS, POLITE, judges=polite)
    figure = result.calibrate(people()).plot()
    assert isinstance(figure, Figure)
    figure.canvas.draw()
    assert isinstance(honestone.noise("x", POLITE, judges=polite, n=2).plot(), Figure)


def test_plots_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says which extra to install."""
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    result = honestone.evaluate_many(TEXTS, POLITE, judges=polite).calibrate(people())
    with pytest.raises(honestone.UsageError) as refused:
        result.plot()
    assert "plots" in str(refused.value.hint)


FUNCTIONS = """\
import pathlib
print("imported")
def judge(request):
    print("asked")
    return "please" in request["artifact"]["text"]
async def slow(request):
    print("asked")
    return judge(request)
def bad(request): raise ValueError("ODDWORD")
def work(path, brief): pathlib.Path(path).write_text("please")
def answer(text): return "said " + text
"""


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "my.py").write_text(FUNCTIONS)
    (tmp_path / "deep" / "other.py").write_text("from near import judge\n")
    (tmp_path / "deep" / "near.py").write_text(FUNCTIONS)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["my.py:judge", "./my.py:judge", "my:judge", "my.py:slow", "deep/other.py:judge"]
)
def test_a_function_of_a_file_judges(functions: Path, name: str) -> None:
    """By file or module, async too, and next to its neighbours."""
    for text, passed in (("please", True), ("no", False)):
        found = honestone.evaluate(text, POLITE, judges=f"python:{name}", folder=functions)
        assert found.passed is passed
        assert [one["id"] for one in found["judges"]] == [f"python:{name}"]


def test_what_a_function_prints_is_not_output(
    functions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It goes to stderr."""
    honestone.evaluate("please", POLITE, judges="python:my.py:judge", folder=functions)
    out, err = capsys.readouterr()
    assert out == ""
    assert "asked" in err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my.py:nosuch", "nosuch"),
        ("none.py:judge", "none.py"),
        ("my.py", "names no function"),
        ("nomodule:judge", "nomodule"),
        ("my.py:FUNCTIONS.x", "FUNCTIONS"),
    ],
)
def test_a_function_that_is_not_there(functions: Path, name: str, words: str) -> None:
    """Refused before anything is judged, with what is missing."""
    with pytest.raises(honestone.UsageError, match=words):
        honestone.evaluate("please", POLITE, judges=f"python:{name}", folder=functions)


def test_a_worker_and_a_target_of_a_file(functions: Path) -> None:
    """`python:FILE:FUNCTION` edits, and answers."""
    (functions / "a.txt").write_text("no")
    rubric = {"threshold": 100, "criteria": [{"id": "a", "check": {"contains": "please"}}]}
    found = honestone.improve(
        Path("a.txt"), rubric, worker="python:my.py:work", folder=functions, store="st"
    )
    assert found.passed
    case = {"id": "a", "input": "hi", "checks": [{"contains": "said hi"}]}
    suite = honestone.run_suite([case], target="python:my.py:answer", folder=functions, store="st")
    assert suite.passed


def test_replies_of_a_named_function_are_on_record(functions: Path) -> None:
    """Nothing is asked again until the file changes."""
    given: Any = {"judges": "python:my.py:judge", "folder": functions, "store": "st"}
    calls = [
        honestone.evaluate("please", POLITE, **given)["usage"]["judge_calls"] for _ in range(2)
    ]
    (functions / "my.py").write_text(FUNCTIONS + "\n# changed\n")
    calls.append(honestone.evaluate("please", POLITE, **given)["usage"]["judge_calls"])
    assert calls == [1, 0, 1]
    assert json.dumps(calls)
