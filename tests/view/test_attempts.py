"""Attempts in the cells of a suite's table, and in its JSON."""

from __future__ import annotations

import json
import re
import sys

import pytest

from cli.desk import Desk
from view.test_server import Server

RUBRIC = [
    {"id": "word", "requirement": "says one", "check": {"contains": "one"}},
    {"id": "kind", "requirement": "says please", "check": {"contains": "please"}},
]


@pytest.mark.slow
def test_a_cell_shows_every_attempt_where_they_differ(desk: Desk) -> None:
    """The second attempt says another word, and the third produces nothing, which is no score of 0.
    With one attempt there is nothing to show."""
    code = (
        "import os, sys\nnumber = os.environ['HONESTONE_ATTEMPT']\n"
        "sys.exit('it broke') if number == '3' else print('one please' if number == '1' else 'two please')\n"
    )
    desk.file("t.py", code)
    cases = [{"id": "moody", "input": "hello", "attempts": 3}, {"id": "single", "input": "hello"}]
    desk.file("suite.json", json.dumps({"suite": 1, "rubric": RUBRIC, "cases": cases}))
    report = desk.run("eval", "suite.json", "--target", f"cmd:{sys.executable} t.py", "--json").json
    moody, single = report["cases"]
    assert [one.get("scores") for one in moody["attempts"]] == [
        {"word": 100.0, "kind": 100.0},
        {"word": 0.0, "kind": 100.0},
        None,
    ]
    assert "scores" not in single["attempts"][0]
    server = Server(desk)
    page = server.get("/run/last")
    server.stop()
    rows = dict(re.findall(r'<tr data-case="(\w+)"(.*?)</tr>', page, re.DOTALL))
    shown = re.findall(r'data-attempts="(\w+)">(.*?)</div>', rows["moody"], re.DOTALL)
    words = {name: re.sub("<[^>]*>", "", text) for name, text in shown}
    assert words["word"] == "attempt 1: 100.0 · attempt 2: 0.0 · attempt 3: ?"
    assert words["kind"] == "attempt 1: 100.0 · attempt 2: 100.0 · attempt 3: ?"
    assert "data-attempts" not in rows["single"]


def test_the_answers_to_every_attempt_can_be_seen(desk: Desk) -> None:
    """The case is shown by its first attempt, which passed; its table leads to the second, whose
    quote decided against it. A number that no attempt has shows the case as without one.
    """
    desk.file(
        "t.py",
        "import os\nprint('one here' if os.environ['HONESTONE_ATTEMPT'] == '1' else 'two there')\n",
    )
    judge = (
        "import json, sys\ntext = json.load(sys.stdin)['output'].strip()\n"
        "print(json.dumps({'criteria': {'word': {'met': 'one' in text, 'evidence': text}}}))\n"
    )
    desk.file("j.py", judge)
    rubric = [{"id": "word", "requirement": "says one"}]
    case = {
        "id": "moody",
        "input": "hello",
        "attempts": 2,
        "attempt_rule": "mean",
        "rubric": rubric,
    }
    desk.file("suite.json", json.dumps({"suite": 1, "cases": [case]}))
    words = (
        "eval",
        "suite.json",
        "--target",
        f"cmd:{sys.executable} t.py",
        "--judge",
        f"script:{sys.executable} j.py",
    )
    assert desk.run(*words, "--json").json["cases"][0]["shown_attempt"] == 1
    server = Server(desk)
    shown = {
        number: server.get(f"/run/last/case?id=moody&attempt={number}") for number in (1, 2, 7)
    }
    usual = server.get("/run/last/case?id=moody")
    server.stop()
    assert 'href="?id=moody&amp;attempt=2"' in usual and "Answers to attempt 1" in usual
    assert shown[1] == usual == shown[7]
    assert "Answers to attempt 2" in shown[2]
    quoted = {
        number: re.findall(r"<mark[^>]*>(.*?)</mark>", page) for number, page in shown.items()
    }
    assert ["here" in "".join(quoted[1]), "there" in "".join(quoted[2])] == [True, True]
    assert 'data-vote="no"' in shown[2] or ": <b>no</b>" in shown[2]
