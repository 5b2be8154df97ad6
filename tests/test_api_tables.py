"""`evaluate_many` on tables of every kind: frames, dicts, generators, dicts of texts."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import honestone

RUBRIC = {
    "threshold": 100,
    "floor": 0,
    "criteria": [
        {"id": "short", "check": {"max-words": 6}},
        {"id": "thanks", "check": {"icontains": "thank you"}},
    ],
}
POLITE = {
    "threshold": 100,
    "floor": 0,
    "criteria": [{"id": "polite", "requirement": "is polite"}],
}
ROWS = [
    {"ticket": f"T-{number}", "channel": "ab"[number % 2], "reply": reply}
    for number, reply in enumerate(["thank you", "no", "thank you all", "never"])
]
NAMED = {"text": "reply", "id": "ticket", "group": "channel"}


class Frame:
    """A data frame as other libraries have: columns by name."""

    def __init__(self, **columns: list[Any]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)


def columns() -> dict[str, list[Any]]:
    return {name: [row[name] for row in ROWS] for name in ROWS[0]}


def pandas_frame() -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS)


def polars_frame() -> Any:
    return pytest.importorskip("polars").DataFrame(ROWS)


TABLES: dict[str, Callable[[], Any]] = {
    "dicts": lambda: ROWS,
    "generator": lambda: (row for row in ROWS),
    "columns": columns,
    "frame": lambda: Frame(**columns()),
    "pandas": pandas_frame,
    "polars": polars_frame,
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_table_is_judged_alike(kind: str) -> None:
    """Ids, verdicts, groups and order are the same, awaited too."""
    found = honestone.evaluate_many(TABLES[kind](), RUBRIC, **NAMED)
    assert list(found.ids) == ["T-0", "T-1", "T-2", "T-3"]
    assert [one.passed for one in found] == [True, False, True, False]
    assert (found.summary.passed, found.summary.failed, found.summary.open) == (2, 2, 0)
    assert {name: one.passed for name, one in found.summary.groups.items()} == {"a": 2, "b": 0}
    again = asyncio.run(honestone.aevaluate_many(TABLES[kind](), RUBRIC, **NAMED))
    assert again.document["rows"] == found.document["rows"]
    assert json.loads(json.dumps(found.document))["schema"] == "honestone.texts/1"


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_without_a_text_column_is_refused(kind: str) -> None:
    """With the columns that it has; so is a column that is not there."""
    for words in ({}, {"text": "nocol"}, {"text": "reply", "group": "nocol"}):
        with pytest.raises(honestone.UsageError) as refused:
            honestone.evaluate_many(TABLES[kind](), RUBRIC, **words)
        said = f"{refused.value} {refused.value.hint}"
        assert all(name in said for name in ("ticket", "channel", "reply"))


def test_texts_by_their_ids() -> None:
    """The keys of a dict of texts are the ids; columns cannot be named there, nor of a list."""
    found = honestone.evaluate_many({"a": "thank you", 2: "no"}, RUBRIC)
    assert found.ids == ["a", "2"]
    assert [one.path for one in found] == ["a", "2"]
    for texts in ({"a": "thank you"}, ["thank you"]):
        with pytest.raises(honestone.UsageError, match="text="):
            honestone.evaluate_many(texts, RUBRIC, text="reply")


def test_a_missing_text_is_kept_and_never_passed() -> None:
    """None and NaN are rows without a text: open, with their reason, in their place."""
    rows = [{"t": "fine"}, {"t": None}, {"t": math.nan}, {}]
    easy = {"threshold": 0, "floor": 0, "criteria": [{"id": "a", "check": {"max-words": 9}}]}
    found = honestone.evaluate_many(rows, easy, text="t")
    assert [one.verdict for one in found] == ["pass", *["inconclusive"] * 3]
    assert all("no text" in (one.error or "") for one in found[1:])
    assert found.verdict == "inconclusive"


def test_ids_that_are_there_twice() -> None:
    """They would be one text: refused."""
    with pytest.raises(honestone.UsageError, match="T-0"):
        honestone.evaluate_many([ROWS[0], ROWS[0]], RUBRIC, **NAMED)


def test_judges_get_the_columns_that_are_named() -> None:
    """The input and reference of their row; `input_text` is one for all."""
    asked: list[Any] = []

    def judge(request: Any) -> bool:
        asked.append(request)
        return True

    rows = [{"q": f"Q{n}", "gold": f"G{n}", "a": f"A{n}", "by": "AUTHOR"} for n in range(3)]
    honestone.evaluate_many(rows, POLITE, text="a", input="q", reference="gold", judges=judge)
    found = {(one["artifact"]["text"], one["input"], one["reference"]) for one in asked}
    assert found == {(f"A{n}", f"Q{n}", f"G{n}") for n in range(3)}
    assert "AUTHOR" not in json.dumps(asked)
    asked.clear()
    honestone.evaluate_many(rows, POLITE, text="a", input_text="the same", judges=judge)
    assert {one["input"] for one in asked} == {"the same"}


def test_a_judge_that_raises_is_seen() -> None:
    """In `repr`, `.error`, HTML and the table, of one text and of many."""

    def broken(request: Any) -> bool:
        raise ValueError("ODDWORD")

    one = honestone.evaluate("text", POLITE, judges=broken)
    many = honestone.evaluate_many({"a": "x", "b": "y"}, POLITE, judges=broken)
    for words in (repr(one), one.error, one._repr_html_(), repr(many), many[0].error):
        assert "ODDWORD" in str(words)
    assert "ODDWORD" in many._repr_html_()
    assert "ODDWORD" in str(many.rows[0][-1])
    assert many.summary.open == 2


def test_the_table_in_a_notebook_is_inert_and_short() -> None:
    """Ids and reasons cannot be HTML; 500 texts are one line of `repr`."""
    found = honestone.evaluate_many({"T<b>1": "thank you <script>", "T-2": "no"}, RUBRIC)
    page = found._repr_html_()
    assert "<table" in page
    assert "T-2" in page
    assert "T<b>" not in page
    assert len(repr(honestone.evaluate_many(["no"] * 500, RUBRIC))) < 1500


def test_no_text_is_an_empty_result() -> None:
    """Of an empty list and of an empty table."""
    for found in (
        honestone.evaluate_many([], RUBRIC),
        honestone.evaluate_many({"t": []}, RUBRIC, text="t"),
    ):
        assert len(found) == 0
        assert found.summary.passed == 0
        assert found.verdict == "skipped"


def test_frames_of_results() -> None:
    """A row a text with ids as they were given; a row a case with criteria, input, tags, attempts."""
    pytest.importorskip("pandas")
    found = honestone.evaluate_many([{"n": 7, "t": "no"}], RUBRIC, text="t", id="n").to_frame()
    assert found["id"][0] == 7
    assert found["criteria.thanks"][0] == 0
    case = {"id": "a", "input": "INP", "tags": ["slow"], "checks": [{"contains": "INP"}]}
    suite = honestone.run_suite([case], target=lambda text: text).to_frame()
    assert {"input", "tags", "attempts"} <= set(suite.columns)
    assert any(str(name).startswith("criteria.") for name in suite.columns)


def test_a_row_that_is_none_is_not_an_empty_table() -> None:
    """The first row is refused as any other, and columns of different lengths are a user's mistake."""
    with pytest.raises(honestone.UsageError):
        honestone.evaluate_many([None, {"text": "x"}], rubric=RUBRIC, text="text")
    with pytest.raises(honestone.UsageError, match="different lengths"):
        honestone.evaluate_many(
            {"text": ["a", "b"], "g": ["1"]}, rubric=RUBRIC, text="text", group="g"
        )
