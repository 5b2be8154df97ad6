"""The pages of a loop: its chart, what each round changed in both forms, any two versions."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

import pytest

from cli.desk import Desk
from view.test_server import Server

JUDGE = (
    "import json, sys\n"
    "q = json.load(sys.stdin)\n"
    "text = q['artifact']['text']\n"
    "said = {c['id']: {'met': c['id'] in text, 'evidence': c['id'] if c['id'] in text else ''} for c in q['criteria']}\n"
    "print(json.dumps({'criteria': said}))\n"
)
WORKER = (
    "import os, pathlib\n"
    "path, tries = pathlib.Path(os.environ['HONESTONE_ARTIFACT']), pathlib.Path(__file__).with_name('tries')\n"
    "number = len(tries.read_text()) if tries.exists() else 0\n"
    "tries.write_text('x' * (number + 1))\n"
    "text = path.read_text()\n"
    "path.write_text([text + '\\nbeta <b>\\n', 'nothing\\n', text + 'gamma\\n'][min(number, 2)])\n"
)
RUBRIC = "rubric: 1\nthreshold: 100\nfloor: 0\ncriteria: [{id: alpha, requirement: a}, {id: beta, requirement: b}, {id: gamma, requirement: c}]\n"


@pytest.fixture
def loop(desk: Desk) -> Iterator[tuple[str, Server]]:
    """A run of three rounds, the second rolled back."""
    desk.file("draft.md", "alpha\n")
    desk.file("rubric.yaml", RUBRIC)
    judge = f"script:{sys.executable} {desk.file('judge.py', JUDGE)}"
    worker = f"cmd:{sys.executable} {desk.file('worker.py', WORKER)}"
    asked = (
        "--rubric",
        "rubric.yaml",
        "--judge",
        judge,
        "--worker",
        worker,
        "--policy",
        "keep-best",
        "--rounds",
        "3",
    )
    run = json.loads(desk.run("improve", "draft.md", *asked, "--json").out)["run"]
    server = Server(desk)
    yield run, server
    server.stop()


@pytest.mark.slow
def test_kept_and_rolled_back_have_shapes_and_words(loop: tuple[str, Server]) -> None:
    run, server = loop
    page = server.get(f"/run/{run}")
    chart = page[page.index('data-hs="chart"') : page.index("</figure>")]
    assert (
        'aria-label="Scores by round. the original: 33.3; round 1: 66.6; round 2: 0.0, rolled back; round 3: 100.0"'
        in chart
    )
    assert chart.count('<path class="diamond"') == 1
    assert chart.count('<circle class="after"') == 2
    assert chart.count('<circle class="before"') == 1
    assert re.findall(r'data-round="(\d)" data-decision="(\w+)"', page) == [
        ("1", "accepted"),
        ("2", "rejected"),
        ("3", "accepted"),
    ]
    assert '<mark id="q-1"' in page
    assert 'href="#said-q-1"' in page
    assert page.count('id="said-q-1"') == 1


@pytest.mark.slow
def test_changes_side_by_side(loop: tuple[str, Server]) -> None:
    run, server = loop
    page = server.get(f"/run/{run}?diff=side")
    assert page.count('<table class="diff-sides"') == 3
    assert '<td class="add"><ins>beta &lt;b&gt;</ins></td>' in page
    assert '<td class="del"><del>alpha</del></td><td class="add"><ins>nothing</ins></td>' in page


def test_any_two_versions(loop: tuple[str, Server]) -> None:
    run, server = loop
    page = server.get(f"/run/{run}/versions?a=1&b=2")
    assert (
        '<th scope="row">overall</th><td class="num">66.6</td><td class="num">0.0</td><td class="num">−66.6</td>'
        in page
    )
    assert "-alpha" in page
    assert "+nothing" in page
    assert "The two are the same bytes" in server.get(f"/run/{run}/versions?a=3&b=best")
    assert '<option value="2" selected>round 2, rejected</option>' in page
    for query in ("a=9", "b=best%3Cb%3E"):
        status, _, refused = server.ask(f"/run/{run}/versions?{query}")
        assert status == 400
        assert "has no version" in refused
        assert "<b>" not in refused
