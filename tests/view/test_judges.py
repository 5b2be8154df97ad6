"""The page about the judges of a run: failures, agreement, and what was measured of each before."""

from __future__ import annotations

import json
import re
import sys

from cli.desk import Desk
from honestone.report.building.judges_of_run import JudgesOfRun
from honestone.report.documents.scorecard import CriterionDoc, ItemDoc, JudgeDoc
from view.test_server import Server

RUBRIC = "rubric: 1\nthreshold: 50\nfloor: 0\ncriteria: [{id: a, requirement: says alpha}, {id: b, requirement: says beta}]\n"
JUDGE = (
    "import json, sys\n"
    "q = json.load(sys.stdin)\n"
    "text = q['artifact']['text']\n"
    "print(json.dumps({'criteria': {c['id']: {'met': MET} for c in q['criteria']}}))\n"
)


def cells(page: str, row: str) -> list[str]:
    """The cells of the table rows whose head holds some words."""
    found = re.search(rf'<th scope="row">{re.escape(row)}</th>(.*?)</tr>', page, re.DOTALL)
    assert found, row
    return [
        re.sub("<[^>]*>", "", one).strip()
        for one in re.findall(r"<td[^>]*>(.*?)</td>", found[1], re.DOTALL)
    ]


def test_agreement_failures_and_calibration(desk: Desk) -> None:
    desk.file("rubric.yaml", RUBRIC)
    judges = {}
    for name, met in (
        ("right", "{'a': 'alpha', 'b': 'beta'}[c['id']] in text"),
        ("kind", "True"),
        ("gone", "1 / 0"),
    ):
        judges[name] = (
            f"script:{sys.executable} {desk.file(f'{name}.py', JUDGE.replace('MET', met))}"
        )
    for name, text in (("one.md", "alpha beta"), ("two.md", "alpha"), ("three.md", "neither <b>")):
        desk.file(name, text)
    files = ("one.md", "two.md", "three.md", "--rubric", "rubric.yaml")
    labels = [
        {
            "artifact": f"{name}.md",
            "rater": "ann",
            "criterion": criterion,
            "value": criterion in met,
        }
        for name, met in (("one", "ab"), ("two", "a"), ("three", ""))
        for criterion in "ab"
    ]
    desk.file("labels.jsonl", "".join(json.dumps(one) + "\n" for one in labels))
    measured = desk.run(
        "calibrate",
        "--labels",
        "labels.jsonl",
        "--rubric",
        "rubric.yaml",
        "--judge",
        judges["right"],
        "--json",
    )
    calibration = json.loads(measured.out)["run"]
    desk.run("eval", *files, *(part for one in judges.values() for part in ("--judge", one)), "-q")
    run = json.loads(desk.run("runs", "--json", "--kind", "eval").out)[0]["id"]
    server = Server(desk)
    page = server.get(f"/run/{run}/judges")
    server.stop()
    right, kind, gone = judges.values()
    assert cells(page, right)[:6] == ["3", "6", "0", "50.0", "0", "never"]
    assert cells(page, kind)[:4] == ["3", "6", "0", "100.0"]
    assert cells(page, gone)[1] == "0"
    assert "3 times" in cells(page, gone)[5]
    assert cells(page, right)[6] == "0 judge calls3 recorded repliesnothing spent"
    assert cells(page, kind)[6].startswith("3 judge calls")
    assert cells(page, f"{right} and {kind}") == ["6", "50.0%", "0.00", "+50.0"]
    table = page[page.index("Measured against people") :]
    assert cells(table, right)[0].startswith(calibration)
    assert cells(table, right)[1].startswith("1.00")
    assert "not calibrated" in cells(table, kind)[0]


def test_a_run_without_judges_says_so(desk: Desk) -> None:
    desk.file(
        "rubric.yaml",
        "rubric: 1\ncriteria: [{id: a, requirement: says alpha, check: {contains: alpha}}]\n",
    )
    desk.file("one.md", "alpha")
    desk.run("eval", "one.md", "--rubric", "rubric.yaml", "-q")
    server = Server(desk)
    assert "No judge took part" in server.get("/run/last/judges")
    server.stop()


def test_the_page_of_a_table_has_the_name_of_its_file(desk: Desk) -> None:
    """Of files that are no table it says how many there are."""
    rubric = "rubric: 1\ncriteria: [{id: a, check: {contains: text}}]\n"
    desk.file("rubric.yaml", rubric)
    desk.file("data/answers.csv", "id,answer\n1,a text\n2,a text too\n")
    desk.file("one.md", "a text")
    desk.file("two.md", "a text too")
    given = ("-r", "rubric.yaml", "-q")
    assert desk.run("eval", "data/answers.csv", "--text", "answer", *given).code == 0
    server = Server(desk)
    table = server.get("/run/last")
    desk.run("eval", "one.md", "two.md", *given)
    files = server.get("/run/last")
    server.stop()
    assert "<h1>answers.csv</h1>" in table and "<title>answers.csv" in table
    assert "<h1>2 artifacts</h1>" in files and "<title>2 artifacts" in files


def test_the_list_of_runs_is_filtered_by_undecided(desk: Desk) -> None:
    """Every result that its list shows can be asked for, each by its own word alone."""
    desk.file("rubric.yaml", RUBRIC)
    desk.file("one.md", "alpha beta")
    kind = f"script:{sys.executable} {desk.file('kind.py', JUDGE.replace('MET', 'True'))}"
    gone = f"script:{sys.executable} {desk.file('gone.py', JUDGE.replace('MET', '1 / 0'))}"
    runs = {}
    for name, judge in (("undecided", kind), ("could not be judged", gone)):
        asking = ("eval", "one.md", "-r", "rubric.yaml", "-j", judge, "--sure", "99.9")
        runs[name] = desk.run(*asking, "--json").json["run"]
    server = Server(desk)
    listed = server.get("/")
    pages = {name: server.get(f"/?result={name.replace(' ', '+')}") for name in runs}
    server.stop()
    for name, run in runs.items():
        assert f'<option value="{name}">{name}</option>' in listed
        assert re.findall(r'data-run="(\w+)"', pages[name]) == [run], name


def test_looks_of_one_judge_are_not_held_against_each_other() -> None:
    """An answer is apart from what other judges said, and no look of the same judge is another."""
    votes: dict[str, str | int | float] = {"a": "yes", "a#2": "no", "a#3": "yes", "b": "yes"}
    two, three = (JudgesOfRun(), JudgesOfRun())
    for found, given in ((two, votes), (three, {**votes, "c": "yes"})):
        judges = [JudgeDoc(id=one, state="AVAILABLE") for one in given]
        found.add([CriterionDoc(id="q", items=[ItemDoc(id="q", votes=given)])], judges)
    assert [one.apart for one in two.judges.values()] == [0, 0]
    assert [one.apart for one in three.judges.values()] == [1, 0, 0]
