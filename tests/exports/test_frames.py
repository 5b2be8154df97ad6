"""Data frames of pandas and polars are scored, measured and given back alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import honestone

pandas = pytest.importorskip("pandas", reason="make test-exports installs it")
polars = pytest.importorskip("polars", reason="make test-exports installs it")

ROWS = {
    "ticket": ["a", "b", "c", "d"],
    "channel": ["chat", "mail", "chat", "mail"],
    "reply": ["thank you", "no", "thank you so much", "thank you, no"],
    "ann": ["yes", "no", "yes", None],
    "bob": ["yes", "no", "no", "yes"],
}
RUBRIC = {"threshold": 100, "criteria": [{"id": "thanks", "requirement": "The reply thanks"}]}


def thanks(request: dict[str, Any]) -> bool:
    return "thank" in request["artifact"]["text"]


def evaluated(frame: Any) -> Any:
    return honestone.evaluate_many(
        frame, RUBRIC, text="reply", id="ticket", group="channel", judges=[thanks]
    )


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("library", [pandas, polars], ids=lambda one: one.__name__)
def test_a_frame_is_scored_row_by_row(library: Any) -> None:
    result = evaluated(library.DataFrame(ROWS))
    assert result.ids == ["a", "b", "c", "d"]
    assert [one.verdict for one in result] == ["pass", "fail", "pass", "pass"]
    assert (result.summary.passed, result.summary.failed) == (3, 1)
    assert result.to_frame()["verdict"].tolist() == ["pass", "fail", "pass", "pass"]


def test_both_libraries_give_the_same_figures() -> None:
    found = [
        evaluated(frame).calibrate(frame[["ticket", "ann", "bob"]])
        for frame in (pandas.DataFrame(ROWS), polars.DataFrame(ROWS))
    ]
    first, second = (one.judges[0] for one in found)
    assert (first.kappa, first.corrected) == (second.kappa, second.corrected)
    assert found[0].human_ceiling == found[1].human_ceiling
    assert found[0].report.units == 4


@pytest.mark.parametrize("library", [pandas, polars], ids=lambda one: one.__name__)
def test_a_frame_without_a_column_of_texts_is_refused(library: Any) -> None:
    with pytest.raises(honestone.HonestoneError, match="reply"):
        honestone.evaluate_many(library.DataFrame(ROWS), RUBRIC, judges=[thanks])
