"""`show --all`: everything of a large suite in its HTML page, and refused where it would do
nothing.
"""

from __future__ import annotations

import pytest

from .desk import Desk

SUITE = """
suite: 1
target: cmd:cat
cases:
  - {id: one, input: an apple, checks: [{contains: apple}]}
"""


@pytest.fixture
def judged(desk: Desk) -> Desk:
    desk.file("suite.yaml", SUITE)
    assert desk.run("eval", "suite.yaml").code == 0
    return desk


def test_the_page_of_a_small_suite_has_all_of_it_anyway(judged: Desk) -> None:
    whole = judged.run("show", "--format", "html", "--all")
    assert whole.code == 0
    assert whole.out.startswith("<!doctype html>")
    assert whole.out == judged.run("show", "--format", "html").out


def test_it_is_refused_for_what_has_everything(judged: Desk) -> None:
    for asked in (["--all"], ["--all", "--json"], ["--all", "--format", "csv"]):
        refused = judged.run("show", *asked)
        assert refused.is_refusal
        assert "--all is for the HTML page of a suite or of many artifacts" in refused.err
        assert "honestone show RUN --format html --all" in refused.err
