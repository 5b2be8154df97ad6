"""What is on record: every run can be listed, shown again in every format, and scored again without
a call.
"""

from __future__ import annotations

import json
import sqlite3
import xml.etree.ElementTree as ET
from contextlib import closing
from typing import Any

import pytest

from honestone.core.numbers import points

from .desk import GOOD, PYTHON, RUBRIC, Desk, Program, Result

NOTE = "# Fruit\n\nAn apple a day.\n"
WORK = """
if "Criterion: words" in brief:
    put(read() + b"And a pear.\\n")
else:
    put(read() + b"This is my farewell.\\n")
"""


def judged(desk: Desk, *words: str) -> tuple[Program, Result]:
    """One `eval` of the note by a script judge."""
    judge = desk.judge()
    return judge, desk.run(
        "eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec, *words
    )


def improved(desk: Desk, *words: str) -> tuple[Program, Result]:
    judge, worker = desk.judge(), desk.worker("worker", WORK)
    call = (
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        judge.spec,
        "--worker",
        worker.spec,
    )
    return judge, desk.run(*call, *words)


# ----------------------------------------------------------------------------------------------------------
# show


def test_row_14_an_eval_can_be_shown_again_in_every_format(ready: Desk) -> None:
    """`show` gives what `eval` printed, byte for byte but for what this process spent, whatever
    became of the files.
    """
    judge, first = judged(ready, "--json")
    ready.file("note.md", "Something else.\n")
    (ready.folder / "rubric.yaml").unlink()
    (ready.folder / "judge.py").unlink()
    assert ready.run("show", "--json").json == first.json
    text, markdown = ready.run("show"), ready.run("show", "--format", "markdown")
    assert text.code == markdown.code == 0
    for line in ("words", "close", "37.5", "names the pear"):
        assert line in text.out
        assert line in markdown.out
    assert ready.run("show", first.json["run"][:12], "--json").json == first.json
    assert judge.calls == 1


@pytest.mark.slow
def test_row_14_an_improvement_can_be_shown_again_in_every_format(ready: Desk) -> None:
    """Rounds, scores, certification and report of a loop outlive the files it worked on."""
    judge, first = improved(ready, "--json")
    ready.file("note.md", "Something else.\n")
    (ready.folder / "worker.py").unlink()
    shown = ready.run("show", "--json").json
    varying = {"resumed", "usage"}
    assert {k: v for k, v in shown.items() if k not in varying} == {
        k: v for k, v in first.json.items() if k not in varying
    }
    assert shown["usage"]["judge_calls"] == judge.calls == 5
    assert shown["usage"]["this_process"]["judge_calls"] == 0
    for form in ("text", "markdown"):
        out = ready.run("show", "--format", form)
        assert out.code == 0
        assert "UNCONFIRMED" in out.out
        assert points(first.json["expected"]["final"]["score"]) in out.out
    suite = ET.fromstring(ready.run("show", "--format", "junit").out)
    assert suite.findall(".//testcase")


@pytest.mark.slow
def test_versions_and_diffs_of_a_loop(ready: Desk) -> None:
    """Every version comes back byte for byte by its number; the diff shows what each round changed."""
    improved(ready)
    assert ready.run("show", "--version", "0").raw.decode() == NOTE
    assert ready.run("show", "--version", "original").raw.decode() == NOTE
    assert ready.run("show", "--version", "1").raw.decode() == NOTE + "And a pear.\n"
    assert (
        ready.run("show", "--version", "best").raw.decode()
        == (ready.folder / "note.md").read_text()
    )
    diff = ready.run("show", "--format", "diff").out
    assert "+This is my farewell." in diff
    assert "+And a pear." in diff
    missing = ready.run("show", "--version", "9")
    assert missing.is_refusal
    assert "known: 0, original, best" in missing.err


def test_an_eval_has_no_versions(ready: Desk) -> None:
    """`--version` and `--format diff` of an eval are refused with a word why."""
    judged(ready)
    for call in (("show", "--version", "best"), ("show", "--format", "diff")):
        result = ready.run(*call)
        assert result.is_refusal
        assert "is an eval" in result.err


def test_a_run_that_is_not_there_and_one_that_is_ambiguous(ready: Desk) -> None:
    """An unknown id is refused; so is a beginning that several runs share."""
    judged(ready)
    judged(ready)
    unknown = ready.run("show", "ZZZZ")
    assert unknown.is_refusal
    assert "no run 'ZZZZ'" in unknown.err
    shared = ready.run("show", "0")
    assert shared.is_refusal
    assert "several runs" in shared.err


def test_junit_tells_a_failure_from_an_error(ready: Desk) -> None:
    """Unmet is `failure`, could not be judged is `error`, met is neither."""
    body = 'answer = reply()\nanswer["criteria"]["words"]["items"]["apple"]["met"] = None\nprint(json.dumps(answer))'
    ready.file("other.md", "A pear, and my farewell.\n")
    judge = ready.judge(body=body)
    call = (
        "eval",
        "note.md",
        "other.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        judge.spec,
        "--format",
        "junit",
    )
    result = ready.run(*call)
    root = ET.fromstring(result.out)
    found = {
        (suite.get("name"), case.get("name")): [
            child.tag for child in case if child.tag in ("failure", "error")
        ]
        for suite in root.iter("testsuite")
        for case in suite.iter("testcase")
    }
    tags: dict[str, set[str]] = {"note.md": set(), "other.md": set()}
    for (suite, _), children in found.items():
        for name in tags:
            if name in str(suite):
                tags[name].update(children)
    assert "failure" in tags["note.md"]
    assert "error" in tags["other.md"]
    assert "failure" not in tags["other.md"]
    assert any(not children for children in found.values())
    assert ready.run("show", "--format", "junit").out == result.out


def test_hostile_text_stays_text_in_every_format(ready: Desk) -> None:
    """What a judge says cannot colour the terminal, forge markup or break the XML."""
    evil = "\\x1b[31m</failure><system-out>]]> | **bold** <script>\\u202e \\x00"
    body = f"""
    answer = reply()
    answer["criteria"]["close"].update(evidence="{evil}", suggestion="{evil}")
    print(json.dumps(answer))
    """
    judge = ready.judge(body=body)
    ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec)
    for form in ("text", "markdown", "junit"):
        out = ready.run("show", "--format", form).out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "\0" not in out
    ET.fromstring(ready.run("show", "--format", "junit").out)
    items = ready.run("show", "--json").json["criteria"][1]["items"]
    assert items[0]["suggestion"].startswith("\x1b[31m")


@pytest.mark.slow
def test_runs_are_listed_newest_first(ready: Desk) -> None:
    """Kind, subject and result of every run, newest first; `--limit` cuts; JSON has the same."""
    judged(ready)
    improved(ready)
    listed = ready.run("runs", "--json").json
    assert [(run["kind"], run["result"]) for run in listed] == [
        ("improve", "UNCONFIRMED"),
        ("eval", "fail"),
    ]
    assert [run["id"] for run in listed] == sorted((run["id"] for run in listed), reverse=True)
    head, *rows = ready.run("runs").out.splitlines()
    assert head.split()[:3] == ["when", "run", "kind"]
    short = [row.split()[2] for row in rows]
    assert all(run["id"].startswith(id) for run, id in zip(listed, short, strict=True))
    assert len(ready.run("runs", "--limit", "1").out.splitlines()) == 2
    assert ready.run("show", short[0], "--json").json["run"] == listed[0]["id"]


# ----------------------------------------------------------------------------------------------------------
# rescore


def rescored(desk: Desk, *words: str) -> Result:
    return desk.run("rescore", *words, "--json")


def test_rescoring_needs_no_call_and_names_both_contracts(ready: Desk) -> None:
    """Other weights give another score from the same answers; old and new contract are printed."""
    judge, first = judged(ready, "--json")
    ready.rubric(RUBRIC.replace("weight: 3", "weight: 1"), "even.yaml")
    result = rescored(ready, "--rubric", "even.yaml")
    card = result.json
    assert (result.code, card["score"], judge.calls) == (1, 25.0, 1)
    assert card["rescored_from"] == {"run": first.json["run"], "contract": first.json["contract"]}
    assert card["contract"] != first.json["contract"]
    assert card["usage"]["judge_calls"] == 0
    told = ready.run("rescore", "--rubric", "even.yaml").err
    assert first.json["contract"] in told
    assert card["contract"] in told


def test_rescoring_as_it_was_gives_the_same_contract_and_score(ready: Desk) -> None:
    """Nothing changed, nothing moves."""
    _, first = judged(ready, "--json")
    card = rescored(ready).json
    assert (card["contract"], card["score"], card["verdict"]) == (
        first.json["contract"],
        first.json["score"],
        first.json["verdict"],
    )
    same = rescored(ready, "--rubric", "rubric.yaml").json
    assert same["contract"] == first.json["contract"]


@pytest.mark.parametrize(
    ("words", "code", "verdict"),
    [
        (("--threshold", "37.5"), 0, "pass"),
        (("--threshold", "37.6"), 1, "fail"),
        (("--threshold", "0", "--floor", "1"), 1, "fail"),
    ],
)
def test_rescoring_exits_with_the_verdict_it_finds(
    ready: Desk, words: tuple[str, ...], code: int, verdict: str
) -> None:
    """Other bars, another verdict, the same score."""
    judge, _ = judged(ready)
    result = rescored(ready, *words)
    assert (result.code, result.json["verdict"], result.json["score"]) == (code, verdict, 37.5)
    assert judge.calls == 1


def test_rescoring_with_another_rule(desk: Desk) -> None:
    """Votes of 90, 80 and 10 are 60 by mean and, from the record, 80 by median and 10 by min."""
    desk.rubric(
        "rubric: 1\nfloor: 0\ncriteria:\n  - {id: tone, requirement: Calm, anchors: {0: hostile, 100: calm}}\n"
    )
    desk.file("note.md", "x\n")
    words = []
    for score in (90, 80, 10):
        body = f'print(json.dumps({{"criteria": {{"tone": {{"score": {score}}}}}}}))'
        words += ["--judge", desk.judge(f"j{score}", body).spec]
    first = desk.run("eval", "note.md", "--rubric", "rubric.yaml", *words, "--json").json
    assert first["score"] == 60.0
    contracts = {first["contract"]}
    for rule, score in (("median", 80.0), ("min", 10.0)):
        card = rescored(desk, "--combine", rule).json
        assert card["score"] == score
        contracts.add(card["contract"])
    assert len(contracts) == 3


def test_a_reworded_item_is_a_new_item_that_nobody_answered(ready: Desk) -> None:
    """An item given as a string gets a new id by rewording: it stays open, so the verdict is
    inconclusive.
    """
    text = "rubric: 1\nfloor: 0\nthreshold: 80\ncriteria:\n  - id: words\n    requirement: Words\n    items:\n"
    ready.rubric(text + "      - It names the apple\n      - It names the day\n")
    judge, first = judged(ready, "--json")
    assert first.json["score"] == 100.0
    ready.rubric(text + "      - It names the apple\n      - It names each day\n", "new.yaml")
    result = rescored(ready, "--rubric", "new.yaml")
    assert (result.code, result.json["score"], result.json["interval"]) == (3, None, [50.0, 100.0])
    ready.rubric(text + "      - It names the apple\n", "fewer.yaml")
    assert rescored(ready, "--rubric", "fewer.yaml").code == 0
    assert judge.calls == 1


def test_an_answer_on_another_scale_is_no_answer(ready: Desk) -> None:
    """When a yes/no question becomes a scale, its old answer means nothing."""
    judged(ready)
    ready.rubric(
        RUBRIC.replace(
            "It ends with a farewell", "It ends with a farewell\n    anchors: {0: no, 10: yes}"
        ),
        "new.yaml",
    )
    result = rescored(ready, "--rubric", "new.yaml")
    assert (result.code, result.json["interval"]) == (1, [37.5, 62.5])
    assert result.json["score"] is None
    assert "another question" in result.json["criteria"][1]["items"][0]["note"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("requirement: It names the pear}", "requirement: It praises the pear}"),
        (
            "requirement: It names the pear}",
            "requirement: It names the pear, check: {contains: a}}",
        ),
    ],
)
def test_an_answer_to_another_question_under_the_same_id_does_not_count(
    ready: Desk, old: str, new: str
) -> None:
    """Reworded under its old id, or given to a check: nobody has answered that, so the interval
    opens.
    """
    judge, _ = judged(ready)
    ready.rubric(RUBRIC.replace(old, new), "new.yaml")
    result = rescored(ready, "--rubric", "new.yaml")
    assert (result.json["score"], result.json["interval"]) == (None, [37.5, 75.0])
    assert judge.calls == 1


def test_a_check_that_asks_for_something_else_has_not_been_run(ready: Desk) -> None:
    """What one check found says nothing about another, though both have one id."""
    rubric = "rubric: 1\nfloor: 0\ncriteria:\n  - {id: fruit, requirement: Fruit, check: {contains: apple}}\n"
    ready.rubric(rubric)
    assert ready.run("eval", "note.md", "--rubric", "rubric.yaml").code == 0
    assert rescored(ready, "--rubric", "rubric.yaml").code == 0
    ready.rubric(rubric.replace("apple}", "plum}"), "plum.yaml")
    result = rescored(ready, "--rubric", "plum.yaml")
    assert (result.code, result.json["interval"]) == (3, [0.0, 100.0])


def test_a_loop_is_rescored_at_its_best_version(ready: Desk) -> None:
    """Of an improvement the delivered version is scored again, without a call."""
    judge, first = improved(ready, "--json")
    calls = judge.calls
    result = rescored(ready, "--threshold", "100")
    assert (result.code, result.json["score"]) == (0, 100.0)
    assert result.json["artifact"]["digest"] == first.json["artifact"]["digest"]
    assert judge.calls == calls


def test_rescoring_several_artifacts_keeps_their_order(ready: Desk) -> None:
    """A list in, a list out, and the exit code of all together."""
    ready.file("good.md", GOOD)
    judge = ready.judge()
    call = ("eval", "good.md", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec)
    assert ready.run(*call).code == 1
    result = rescored(ready, "--threshold", "37.5")
    assert result.code == 0
    assert [card["artifact"]["path"] for card in result.json] == ["good.md", "note.md"]
    assert judge.calls == 2


def test_rescoring_with_a_bad_rubric_is_refused(ready: Desk) -> None:
    """The same care for a rubric as everywhere."""
    judged(ready)
    ready.rubric(RUBRIC.replace("weight: 3", "wieght: 3"), "bad.yaml")
    result = ready.run("rescore", "--rubric", "bad.yaml")
    assert result.is_refusal
    assert "bad.yaml:8:5" in result.err


# ----------------------------------------------------------------------------------------------------------
# stdout


def test_data_goes_to_stdout_and_notes_to_stderr(ready: Desk) -> None:
    """With `--json` stdout is one JSON document whatever is told meanwhile; `-q` silences stderr."""
    judge, result = judged(ready, "--json")
    assert json.loads(result.out)["schema"] == "honestone.scorecard/1"
    assert result.err
    quiet = ready.run(
        "eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec, "--json", "-q"
    )
    assert quiet.err == ""
    assert json.loads(quiet.out)["score"] == 37.5
    for call in (
        ("runs",),
        ("show",),
        ("rescore",),
        ("doctor",),
        ("rubric", "check", "rubric.yaml"),
    ):
        parsed: Any = json.loads(ready.run(*call, "--json").out)
        assert parsed


# -------------------------------------------------------------------------------------------------------
# the history


@pytest.mark.slow
def test_runs_say_what_they_came_to_how_that_changed_and_what_it_cost(ready: Desk) -> None:
    """A suite whose second run passes, an improvement after an evaluation: title, verdict, figures,
    filters.
    """
    ready.file(
        "suite.yaml",
        "suite: 1\ntitle: Words\ncases:\n"
        "  - {id: a, input: good, checks: [{contains: good}]}\n  - {id: b, input: poor, checks: [{contains: good}]}\n",
    )
    ready.file("echo.py", "import sys\nprint(sys.stdin.read(), open('more').read())\n")
    ready.file("more", "")
    target = f"cmd:{PYTHON} echo.py"
    assert ready.run("eval", "suite.yaml", "--target", target).code == 1
    ready.file("more", "good")
    assert ready.run("eval", "suite.yaml", "--target", target).code == 0
    judged(ready)
    improved(ready)
    listed = ready.run("runs", "--json").json
    suites = [run for run in listed if run["kind"] == "suite"]
    assert [
        (run["title"], run["verdict"], run["pass_rate"], run["change"], run["target_calls"])
        for run in suites
    ] == [
        ("Words", "pass", 1, 0.5, 2),
        ("Words", "fail", 0.5, None, 2),
    ]
    loop, evaluation = listed[0], listed[1]
    assert (loop["verdict"], loop["result"]) == ("inconclusive", "UNCONFIRMED")
    shown = ready.run("show", loop["id"], "--json").json
    assert loop["score"] == shown["expected"]["final"]["score"] > 90
    assert loop["judges"] == evaluation["judges"] and len(loop["judges"]) == 1
    assert (
        loop["judge_calls"] > evaluation["judge_calls"] == 1
        and loop["duration_ms"] > 0
        and loop["usd"] is None
    )
    assert loop["change"] is None and loop["pass_rate"] is None
    row = ready.run("runs", "--kind", "suite", env={"COLUMNS": "160"}).out.splitlines()[1]
    assert "suite.yaml  Words  ✓ passed        100.0%   +50.0" in row
    for words, kinds in (
        (("--kind", "suite", "--verdict", "fail"), ["suite"]),
        (("--verdict", "unconfirmed"), ["improve"]),
        (("--verdict", "fail", "--limit", "1"), ["eval"]),
        (("--verdict", "unfinished"), []),
    ):
        assert [run["kind"] for run in ready.run("runs", "--json", *words).json] == kinds, words


def test_what_a_run_says_is_shown_harmlessly_in_the_list(ready: Desk) -> None:
    ready.file(
        "suite.yaml",
        'suite: 1\ntitle: "a\\e[31mb\\nc"\ncases: [{id: a, input: x, checks: [{contains: x}]}]\n',
    )
    ready.run("eval", "suite.yaml", "--target", f"cmd:{PYTHON} -c pass")
    _, row = ready.run("runs").out.splitlines()
    assert "\x1b" not in row and "a\\x1b[31mb c" in row


def test_a_suites_run_says_itself_what_it_came_to(desk: Desk) -> None:
    """The list needs its last event only. That says what reading all of its events would; older
    runs have none, and are read.
    """
    cases = [{"id": one, "input": one, "checks": [{"contains": "a"}]} for one in ("anna", "bob")]
    desk.file("suite.json", json.dumps({"suite": 1, "target": "mock", "cases": cases}))
    desk.run("eval", "suite.json")
    kept = desk.run("runs", "--json").json
    [store] = desk.folder.rglob("*.db")
    with closing(sqlite3.connect(store)) as db, db:
        seq, data = db.execute("select seq, data from events order by seq desc limit 1").fetchone()
        last = json.loads(data)
        assert last.pop("figures")["pass_rate"] == kept[0]["pass_rate"] is not None
        db.execute("update events set data = ? where seq = ?", (json.dumps(last).encode(), seq))
    assert desk.run("runs", "--json").json == kept


def test_a_score_of_text_checks_is_listed(desk: Desk) -> None:
    """What code alone answered has a score as well."""
    desk.rubric(
        "rubric: 1\ncriteria:\n  - {id: pear, requirement: It has a pear, check: {contains: pear}}\n"
    )
    desk.file("note.md", "A pear.\n")
    assert desk.run("eval", "note.md", "--rubric", "rubric.yaml").code == 0
    (listed,) = desk.run("runs", "--json").json
    assert listed["score"] == 100.0


def test_a_change_is_one_of_the_same_thing(desk: Desk) -> None:
    """Another target, or another choice of cases, is not a change of the suite's result."""
    cases = "\n".join(
        f"  - {{id: {name}, input: {name}, checks: [{{contains: x}}]}}" for name in ("x", "y")
    )
    desk.file("suite.yaml", f"suite: 1\ncases:\n{cases}\n")
    changes = []
    for more in (["cmd:cat"], ["cmd:tr y x"], ["cmd:tr y x"], ["cmd:tr y x", "--case", "x"]):
        desk.run("eval", "suite.yaml", "--target", *more)
        changes.append(desk.run("runs", "--json", "--limit", "1").json[0]["change"])
    assert changes == [None, None, 0.0, None]
