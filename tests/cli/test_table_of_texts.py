"""`honestone eval TABLE --text COLUMN`: a row a text, in every format of table, and as a table again."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.judging.scorecard import Outcome
from honestone.core.statistics.rates import mean_interval, wilson
from honestone.core.statistics.text_tally import MeanTally, TextTally
from honestone.formats.text_table import TextTable

from .desk import Desk

RUBRIC = """\
threshold: 100
floor: 0
criteria:
  - {id: short, check: {max-words: 6}}
  - {id: thanks, check: {icontains: thank you}}
"""
JUDGED = "threshold: 100\nfloor: 0\ncriteria: [{id: polite, requirement: It says please}]\n"
HEAD = ("ticket", "channel", "reply")
ROWS = (
    ("T-1", "chat", "Thank you, we open at six"),
    ("T-2", "mail", 'He said "thank you",\r\ntwice'),
    ("T-3", "chat", "No refunds are given here to anybody at all"),
    ("T-4", "mail", "감사합니다, thank you"),
)
OPTIONS = ("--text", "reply", "--id", "ticket", "-r", "rubric.yaml")


def sheet(delimiter: str = ",", rows: Any = ROWS) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows([HEAD, *rows])
    return out.getvalue()


OBJECTS = [dict(zip(HEAD, row, strict=True)) for row in ROWS]
TABLES = {
    "a.csv": sheet(),
    "bom.csv": "\ufeff" + sheet(";"),
    "a.tsv": sheet("\t"),
    "a.jsonl": "".join(json.dumps(one) + "\n" for one in OBJECTS),
    "a.json": json.dumps(OBJECTS),
    "columns.json": json.dumps({name: [one[name] for one in OBJECTS] for name in HEAD}),
    "nothing-in-its-name": sheet(),
}


@pytest.fixture
def table(desk: Desk) -> Desk:
    desk.rubric(RUBRIC)
    desk.file("a.csv", sheet())
    return desk


def verdicts(document: Any) -> dict[str, str]:
    return {row["id"]: row["verdict"] for row in document["rows"]}


@pytest.mark.parametrize("name", TABLES)
def test_every_kind_of_table(table: Desk, name: str) -> None:
    """The same rows in the same order, whatever the table is written in."""
    table.file(name, TABLES[name].encode())
    result = table.run("eval", name, *OPTIONS, "--group", "channel", "--json")
    assert result.code == 1
    assert verdicts(result.json) == {"T-1": "pass", "T-2": "pass", "T-3": "fail", "T-4": "pass"}
    summary = result.json["summary"]
    assert (summary["passed"], summary["failed"], summary["open"]) == (3, 1, 0)
    assert summary["criteria"]["thanks"]["mean"] == 75.0
    assert summary["groups"]["chat"]["failed"] == 1
    reasons = result.json["rows"][2]["reasons"]
    assert [one.partition(":")[0] for one in reasons] == ["short", "thanks"]


def test_the_rows_as_a_table(table: Desk) -> None:
    """CSV and JSON lines have a row a text; the record gives the same again."""
    shown = table.run("eval", "a.csv", *OPTIONS, "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(shown.out)))
    assert [row["criteria.short"] for row in rows] == ["100", "100", "0", "100"]
    assert "thanks" in rows[2]["reasons"]
    assert table.run("show", "last", "-f", "csv").out == shown.out
    lines = table.run("eval", "a.csv", *OPTIONS, "-f", "jsonl").out.splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["pass", "pass", "fail", "pass"]
    page = table.run("eval", "a.csv", *OPTIONS, "-f", "html").out
    assert "감사합니다" in page
    text = table.run("eval", "a.csv", *OPTIONS, "-f", "markdown").out
    assert "| T-3 | did not pass |" in text
    saved = table.run("eval", "a.csv", *OPTIONS, "-f", "csv", "--output", "out.csv")
    assert (table.folder / "out.csv").read_text("utf-8") == shown.out
    assert "3 of 4 passed" in saved.out


@pytest.mark.parametrize(
    ("words", "rows", "named"),
    [
        (("--text", "nocol"), sheet(), ("nocol", "ticket", "channel", "reply")),
        (("--text", "reply", "--group", "nocol"), sheet(), ("--group", "nocol", "channel")),
        (("--text", "reply"), "ticket,channel,reply\nT-1,chat\n", ("a.csv:2", "2 cells")),
        (("--text", "reply"), "ticket,reply\nT-1,a,b\n", ("a.csv:2", "3 cells")),
        (("--text", "reply"), 'ticket,reply\nT-1,"open\n', ("a.csv:2", "never closed")),
        (("--text", "reply"), "reply,reply\na,b\n", ("a.csv:1", "reply")),
        (("--text", "reply", "--id", "ticket"), sheet(rows=ROWS[:2] * 2), ("T-1", "row 1")),
        (("--text", "reply", "--id", "ticket"), sheet(rows=[("", "a", "b")]), ("a.csv:2", "no id")),
        (("--text", "reply"), "reply\n", ("no rows",)),
        (("--text", "reply"), b"reply\n\xe9\n", ("a.csv:2", "UTF-8")),
        (("--text", "a"), '{"a": "x"}\n{"a": \n', ("a.csv:2", "not a JSON object")),
        (("--text", "a"), '{"a": {"b": "x"}}\n{"a": {"b": "y"}}\n', ("a.csv:1", "a.KEY")),
    ],
)
def test_a_bad_table_is_refused_with_its_line(
    table: Desk, words: tuple[str, ...], rows: str | bytes, named: tuple[str, ...]
) -> None:
    """Exit 2 before anything is judged, and nothing on stdout."""
    table.file("a.csv", rows)
    result = table.run("eval", "a.csv", *words, "-r", "rubric.yaml", "--json")
    assert result.is_refusal
    assert not result.out
    for word in named:
        assert word in result.err


@pytest.mark.parametrize("gap", ["", "  ", "NaN"])
def test_a_missing_text_is_kept_and_never_passed(table: Desk, gap: str) -> None:
    """An empty or NaN text would pass a check on length: it is open, and stays in its place."""
    table.rubric("threshold: 0\nfloor: 0\ncriteria: [{id: short, check: {max-words: 6}}]\n")
    table.file("a.csv", sheet(rows=[("T-1", "a", gap), ("T-2", "a", "fine")]))
    result = table.run("eval", "a.csv", *OPTIONS, "--json")
    assert result.code == 3
    assert verdicts(result.json) == {"T-1": "inconclusive", "T-2": "pass"}
    assert "a.csv:2" in result.json["rows"][0]["error"]
    assert verdicts(table.run("show", "last", "--json").json) == verdicts(result.json)


def test_a_part_of_the_rows_decides(table: Desk) -> None:
    """--min-pass-rate and --max-rows, which says what it leaves out."""
    assert table.run("eval", "a.csv", *OPTIONS, "--min-pass-rate", "0.75").code == 0
    fails = table.run("eval", "a.csv", *OPTIONS, "--min-pass-rate", "0.8")
    assert fails.code == 1
    assert "80%" in fails.out
    first = table.run("eval", "a.csv", *OPTIONS, "--max-rows", "2", "--json")
    assert first.code == 0
    assert first.json["left_out"] == 2
    assert "2 of 4 rows" in first.err


def test_judges_see_their_row_and_nothing_else(desk: Desk) -> None:
    """--input and --reference name columns; the id and other columns reach no judge, and the same
    command again asks nobody.
    """
    desk.rubric(JUDGED)
    rows = [{"n": f"ID{k}", "q": f"Q{k}", "gold": f"G{k}", "a": f"A{k} please"} for k in range(3)]
    desk.file("q.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    judge = desk.judge()
    words = ("--text", "a", "--id", "n", "--input", "q", "--reference", "gold")
    command = ("eval", "q.jsonl", *words, "-r", "rubric.yaml", "-j", judge.spec, "--json")
    result = desk.run(*command)
    assert result.code == 0
    assert result.json["usage"]["judge_calls"] == 3
    for number, request in enumerate(sorted(judge.requests, key=lambda one: one["input"])):
        assert (request["input"], request["reference"]) == (f"Q{number}", f"G{number}")
        assert "ID" not in json.dumps(request)
    assert desk.run(*command).json["usage"]["judge_calls"] == 0
    assert judge.calls == 3


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_why_a_judge_did_not_answer_is_said_once(desk: Desk, form: str) -> None:
    """Under "Judges", with the number of texts; the rows say that there is no answer, and what was
    missed comes before it.
    """
    desk.rubric(
        "criteria:\n  - {id: polite, requirement: It says please}\n"
        "  - {id: short, check: {max-words: 3}}\n"
    )
    desk.file("a.csv", "id,reply\n1,please\n2,one two three four\n3,please do\n")
    judge = desk.judge("gone", "sys.exit('out of reach')")
    command = ("eval", "a.csv", "--text", "reply", "--id", "id", "-r", "rubric.yaml")
    result = desk.run(*command, "-j", judge.spec, "-f", form)
    if form == "json":
        (absent,) = result.json["absent_judges"]
        assert (absent["id"], absent["texts"]) == (judge.spec, 3)
        assert all("out of reach" in row["error"] for row in result.json["rows"])
        missed = [row["reasons"] for row in result.json["rows"]]
        assert missed[0] == ["polite: not answered"]
        assert [reason.partition(":")[0] for reason in missed[1]] == ["short", "polite"]
        return
    assert result.out.count("out of reach") == 1, result.out
    assert "did not answer about 3 texts" in " ".join(result.out.split())


def test_the_list_of_runs_has_the_rate_of_a_table(table: Desk) -> None:
    """Of the texts that could be judged, and its change; one text has its score."""
    table.file("a.csv", sheet(rows=(*ROWS, ("T-5", "mail", ""))))
    table.run("eval", "a.csv", *OPTIONS)
    passed = [("T-1", "chat", "Thank you"), ("T-2", "chat", "Thank you")]
    table.file("a.csv", sheet(rows=passed))
    table.run("eval", "a.csv", *OPTIONS)
    table.file("one.md", "Thank you")
    table.run("eval", "one.md", "-r", "rubric.yaml")
    one, now, before = table.run("runs", "--json").json
    assert (one["score"], one["pass_rate"]) == (100, None)
    assert (now["pass_rate"], now["change"], now["score"]) == (1, 0.25, None)
    assert before["pass_rate"] == 0.75
    worker = table.worker("add", "open(path, 'a').write(' thank you')")
    table.run("improve", "one.md", "-r", "rubric.yaml", "--worker", worker.spec)
    assert " rubric " in next(row for row in table.run("runs").out.splitlines() if "improve" in row)
    listed = table.run("runs").out
    assert "75.0%" in listed and "+25.0" in listed


def test_options_that_would_do_nothing_are_refused(table: Desk) -> None:
    """Options of a table without --text, those of suites with it, and --text without a rubric."""
    assert table.run("eval", "a.csv", "-r", "rubric.yaml", "--group", "channel").is_refusal
    assert table.run("eval", "a.csv", *OPTIONS, "--attempts", "2").is_refusal
    assert table.run("eval", "a.csv", "--text", "reply").is_refusal
    whole = table.run("eval", "a.csv", "-r", "rubric.yaml")
    assert "--text COLUMN" in whole.err
    assert "channel" in whole.err


scores = st.lists(st.sampled_from([0.0, 25.0, 50.0, 62.5, 100.0]), min_size=2, max_size=40)


@given(scores)
def test_means_row_by_row_are_those_of_all_rows(found: list[float]) -> None:
    """The running mean and interval are those of the whole sample: Wilson's of a rate."""
    tally = MeanTally()
    for score in found:
        tally.add(score)
    assert tally.mean == pytest.approx(sum(found) / len(found))
    assert tally.interval is not None
    if set(found) <= {0.0, 100.0}:
        expected = [100 * end for end in wilson(found.count(100.0), len(found))]
    else:
        interval = mean_interval(found)
        assert interval is not None
        expected = [max(0.0, interval[0]), min(100.0, interval[1])]
    assert list(tally.interval) == pytest.approx(expected)


@given(st.lists(st.sampled_from(list(Outcome)[:3]), min_size=1, max_size=30), st.fractions(0, 1))
def test_the_verdict_of_a_table_is_that_of_its_bounds(outcomes: list[Outcome], least: Any) -> None:
    """Pass only if it passes whatever the open rows are; fail only if it fails whatever they are."""
    tally = TextTally()
    for outcome in outcomes:
        tally.add(outcome, None, {})
    total, passed = len(outcomes), outcomes.count(Outcome.PASS)
    undecided = outcomes.count(Outcome.INCONCLUSIVE)
    found = tally.verdict(least).outcome
    assert (found is Outcome.PASS) == (passed >= least * total)
    assert (found is Outcome.FAIL) == (passed + undecided < least * total)


words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=8), st.sampled_from(",;\t"))
def test_csv_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], delimiter: str
) -> None:
    """Quotes, line breaks and separators in cells come back as they are."""
    out = io.StringIO()
    table = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    table.writerow(["one", "two"])
    table.writerows(rows)
    text = out.getvalue().replace('"one"', "one").replace('"two"', "two", 1)
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(text.encode())
    found = [(row.cells["one"], row.cells["two"]) for row in TextTable.of(path, "t.csv").rows()]
    assert found == rows


def test_a_long_table_is_read_row_by_row(tmp_path: Path) -> None:
    """The first row is there before a later one, which is broken, is looked at."""
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": "x"}\n' * 3 + "{\n")
    rows = TextTable.of(path, "t.jsonl").rows()
    assert [next(rows).place for _ in range(3)] == ["t.jsonl:1", "t.jsonl:2", "t.jsonl:3"]
