"""What a command prints under `--sure`, as a person reads it: no line contradicts another one."""

from __future__ import annotations

import csv
import io
import re
import shlex

import pytest

from honestone.report.documents.scorecard import CriterionDoc, JudgeDoc, ScorecardDoc
from honestone.report.pages.markdown import scorecard_markdown
from honestone.report.terminal.text import scorecard_text

from .desk import PYTHON, Desk
from .test_suites import suite, target

RUBRIC = """\
rubric: 1
combine: majority
criteria:
  - {id: who, requirement: Says who is hit}
  - {id: how, requirement: Says how badly}
"""
# Its looks at the same bytes differ: what it says of `how` turns with each.
TURNS = """\
looks = len(open(LOG).readlines())
print(json.dumps({"criteria": {"who": {"met": True}, "how": {"met": looks % 2 == 0}}}))
"""


def answers(*met: bool) -> str:
    found = {id: {"met": is_met} for id, is_met in zip(("who", "how"), met, strict=True)}
    return f"print(json.dumps({{'criteria': {found!r}}}))"


@pytest.fixture
def asked(desk: Desk) -> Desk:
    desk.file("rubric.yaml", RUBRIC)
    desk.file("text.md", "A report.")
    return desk


def printed(desk: Desk, *bodies: str, sure: str = "95", code: int = 0) -> str:
    judges = [
        word
        for place, body in enumerate(bodies)
        for word in ("--judge", desk.judge(f"judge{place}", body).spec)
    ]
    found = desk.run("eval", "text.md", "-r", "rubric.yaml", *judges, "--sure", sure)
    assert found.code == code, found.out + found.err
    return found.out


def test_a_failure_is_as_sure_as_was_asked_for(asked: Desk) -> None:
    """It says how sure the failure is: what is asked for is no bar for the contrary."""
    out = " ".join(printed(asked, *[answers(False, False)] * 3, code=1).split())
    said = re.search(r"(\d+)% sure that the contract is not met \(asked: 95%\)", out)
    assert said and int(said[1]) >= 95
    assert "sure that the contract is met" not in out


def test_what_was_judged_and_is_open_is_undecided(asked: Desk) -> None:
    """In the headline and in the list of runs; what has no answer at all could not be judged."""
    out = printed(asked, TURNS, sure="99", code=3)
    assert re.match(r"\? UNDECIDED +text\.md +\d+% sure\n", out), out
    assert "could not be judged" not in out.lower()
    assert printed(asked, "sys.exit('gone')", code=3).startswith("? COULD NOT BE JUDGED  text.md\n")
    listed = asked.run("runs").out.splitlines()
    assert [("undecided" in row, "could not be judged" in row) for row in listed[1:3]] == [
        (False, True),
        (True, False),
    ]
    assert len(asked.run("runs", "--verdict", "undecided").out.splitlines()) == 2


def test_one_judge_that_is_sure_enough_is_no_low_confidence(asked: Desk) -> None:
    """The probability counts that it is one; without `sure` a single look is marked as before."""
    judge = asked.judge("one", answers(True, True)).spec
    for form in ("text", "markdown", "html", "json"):
        found = asked.run(
            *("eval", "text.md", "-r", "rubric.yaml", "--judge", judge, "--sure", "80"),
            *("--format", form),
        )
        assert found.code == 0, found.out
        assert not re.search(r'low.confidence(?!": false)', found.out, re.IGNORECASE), form
    plain = asked.run("eval", "text.md", "-r", "rubric.yaml", "--judge", judge)
    assert "PASSED, LOW CONFIDENCE" in plain.out


def test_the_looks_of_a_judge_are_one_row(asked: Desk) -> None:
    """Its name is printed once for all of them, with what each gave."""
    out = printed(asked, TURNS, answers(True, True), sure="99", code=3)
    rows = out.partition("\nJudges\n")[2].partition("\n\n")[0].splitlines()
    assert len(rows) == 2 and all(re.search(r"\(\d+ looks\) +AVAILABLE", row) for row in rows), out
    assert "#2" not in out.partition("Met, but")[0], out


def test_a_suite_says_how_sure_its_failure_is_and_which_judges_looked(desk: Desk) -> None:
    """A judge that answered some cases and was not needed for others took part."""
    cases = [f"{{id: c{n}, input: c{n}, rubric: [It says apple]}}" for n in range(8)]
    suite(desk, *cases)
    body = "print(json.dumps({'criteria': {c['id']: {'met': False} for c in request['criteria']}}))"
    specs = [desk.judge(name, body).spec for name in ("one", "two", "three")]
    judges = [word for spec in specs for word in ("--judge", spec)]
    args = ("eval", "suite.yaml", "--target", target(desk).spec, *judges, "--sure", "95")
    found = desk.run(*args)
    words = " ".join(found.out.split())
    assert found.code == 1
    assert re.search(r"\d\d% sure that fewer than 8 of 8 cases pass \(asked: 95%\)", words), words
    assert "LOW CONFIDENCE" not in words
    report = desk.run(*args, "--json").json
    looked = {one["judge"] for one in report["belief"]["rests_on"]}
    states = {one["id"]: one["state"] for one in report["judges"]}
    assert looked and all(states[judge] == "AVAILABLE" for judge in looked), states


# It errs at one look of ten, by a draw of its own for each look.
ERRS = """\
import random
name = request["output"].split()[-1]
look = sum(1 for one in open(LOG))
met = ("good" in request["output"]) is not (random.Random(f"{SEED} {LOG[-9:]} {look}").random() < 0.1)
print(json.dumps({"criteria": {"good": {"met": met}}}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--attempts", "2", "--attempt-rule", "pass^k")])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_suite_again_asks_no_one_and_states_the_same(
    desk: Desk, seed: int, more: tuple[str, ...]
) -> None:
    """Judges that err, so that cases are looked at again before others are opened."""
    cases = [f"{{id: c{n}, input: {'good' if n < 22 else 'poor'} c{n}}}" for n in range(24)]
    suite(desk, *cases, head="rubric: [{id: good, requirement: It is good}]\n")
    specs = [desk.judge_in_python(f"judge{n}", f"SEED = {seed}\n{ERRS}").spec for n in range(3)]
    judges = [word for spec in specs for word in ("--judge", spec)]
    args = ("--target", target(desk).spec, *judges, "--sure", "95", "--min-pass-rate", "0.8")
    first, again = (desk.run("eval", "suite.yaml", *args, *more, "--json").json for _ in range(2))
    assert first["usage"]["judge_calls"] >= 20
    assert again["usage"]["judge_calls"] == 0
    assert first["belief"] == again["belief"]


def test_a_limit_that_ended_the_looks_is_named_once(asked: Desk) -> None:
    """By the judge that was not asked; where each of them looked, beside the sentence."""
    judges = [asked.judge(name, answers(True, False)).spec for name in ("one", "two")]
    words = [word for one in judges for word in ("--judge", one)]
    call = ["eval", "text.md", "-r", "rubric.yaml", *words, "--sure", "99"]
    for limit in ("1", "3"):
        asked.run(*call, "--max-calls", limit)
        for form in ("text", "markdown", "html"):
            shown = asked.run("show", "last", "--format", form).out
            assert f"--max-calls {limit} are used up" in shown, (limit, form)
            assert ("no further look" in shown) is (limit == "3"), (limit, form)


def judged_by(desk: Desk, *bodies: str) -> list[str]:
    specs = [desk.judge(f"judge{n}", body).spec for n, body in enumerate(bodies)]
    return [
        "eval",
        "text.md",
        "-r",
        "rubric.yaml",
        *(word for one in specs for word in ("--judge", one)),
    ]


@pytest.mark.parametrize("more", [(), ("--sure", "99")])
def test_what_a_limit_left_open_is_asked_on_by_a_higher_one(
    asked: Desk, more: tuple[str, ...]
) -> None:
    """And not by looking for other judges; of one that was not asked nothing else is said."""
    call = judged_by(asked, answers(True, True), answers(True, True))
    found = asked.run(*call, *more, "--max-calls", "1")
    assert found.code == 3 and "honestone doctor" not in found.out
    asks_on = "the same command with a higher --max-calls: replies on record cost nothing"
    assert found.out.count(asks_on) == 1
    assert "of which the limit allows 1;" in found.err
    assert asks_on not in asked.run(*call, *more).out


def test_a_judge_that_the_limit_of_looks_left_out_was_not_spared(asked: Desk) -> None:
    """The verdict was not sure without it."""
    call = judged_by(asked, *[answers(True, True)] * 3)
    open_ = asked.run(*call, "--sure", "99", "--max-looks", "2")
    assert open_.code == 3 and "NOT ASKED  --max-looks 2 are used up" in open_.out
    asked.file("suite.yaml", "suite: 1\nrubric: {file: rubric.yaml}\ncases: [{id: a, input: x}]\n")
    suite = asked.run(
        "eval", "suite.yaml", "--target", "cmd:cat", *call[4:], "--sure", "99", "--max-looks", "2"
    )
    assert "NOT ASKED  --max-looks 2 are used up" in suite.out, suite.out
    sure = asked.run(*call, "--sure", "90")
    assert sure.code == 0 and "NOT ASKED  the verdict was sure enough without it" in sure.out


def test_what_judges_said_before_is_said_of_a_judge_once(asked: Desk) -> None:
    """Over all of its looks."""
    call = judged_by(asked, answers(True, False), answers(True, True))
    asked.run(*call, "--sure", "99", "--max-looks", "3")
    asked.run(*call, "--sure", "99", "--max-looks", "3", "--fresh")
    for form in ("text", "markdown", "html"):
        shown = " ".join(asked.run("show", "last", "--format", form).out.split())
        assert shown.count("asked 4 times, 2 of them by this run: 50 50 50 50") == 1, form
        assert shown.count("asked 2 times: 100 100") == shown.count("asked 2 times") == 1, form
    asked_of = {one["id"]: one for one in asked.run("show", "last", "--json").json["judges"]}
    times = [one["asked"] for one in asked_of.values()]
    assert [one["times"] for one in times] == [2, 2, 2]


def test_no_look_is_foreseen_where_judges_that_the_quorum_needs_failed(asked: Desk) -> None:
    """The sentence says what is missing."""
    asked.file("rubric.yaml", RUBRIC.replace("rubric: 1", "rubric: 1\nquorum: 3"))
    call = judged_by(
        asked, answers(True, True), answers(True, True), "import sys; sys.exit('gone')"
    )
    found = asked.run(*call, "--sure", "99", "--json")
    belief = found.json["belief"]
    assert found.code == 3 and belief["more_looks"] is None and not belief["decided"]
    assert belief["sentence"].endswith(
        "; no further look would tell, as the quorum is not met: 2 of 3 judges answered"
    )


def test_a_lock_says_the_bar_as_it_is_written(asked: Desk) -> None:
    """95, not the 19/20 that is hashed."""
    asked.file("rubric.yaml", RUBRIC.replace("rubric: 1", "rubric: 1\nsure: 95"))
    judge = ("--judge", asked.judge("one", answers(True, True)).spec)
    assert asked.run("rubric", "lock", "rubric.yaml", *judge).code == 0
    lower = ("eval", "text.md", "-r", "rubric.yaml", *judge, "--locked", "--sure", "90")
    found = asked.run(*lower)
    assert found.code == 2 and "rubric.sure: 95 became 90" in found.err


@pytest.mark.slow
def test_a_baseline_that_decides_alone_states_no_probability_of_a_bar(desk: Desk) -> None:
    """One case fails on both sides, so that the run passes by the comparison, while it is sure that
    not every case passes. What is stated is about the verdict, in every report.
    """
    desk.file("new.md", "apple\n")
    desk.file("old.md", "pear\n")
    cases = [f"{{id: c{n}, input: c{n}, rubric: [It says apple]}}" for n in range(4)]
    fails = "{id: lost, input: lost, checks: [{contains: plum}]}"
    suite(desk, *cases, fails, head="artifact: new.md\n")
    made = f"cmd:{PYTHON} {desk.file('cat.py', 'import sys; print(open(sys.argv[1]).read())')}"
    body = (
        "met = 'apple' in request['output']\n"
        "print(json.dumps({'criteria': {c['id']: {'met': met} for c in request['criteria']}}))"
    )
    judge = desk.judge("one", body).spec
    args = ("eval", "suite.yaml", "--target", f"{made} {{ARTIFACT}}", "--judge", judge)
    args = (*args, "--baseline", "old.md")

    found = desk.run(*args, "--json")
    report = found.json
    belief = report["belief"]
    assert (found.code, report["verdict"], report["min_pass_rate"]) == (0, "pass", None), found.err
    assert (belief["probability"], belief["target"], belief["decided"]) == (None, None, None)
    assert belief["better"] > 0.8 > belief["worse"]
    assert belief["sentence"].endswith("% sure that it is better than the baseline")
    for form in ("text", "markdown", "html"):
        words = re.sub(r"<[^>]+>|\s+", " ", desk.run(*args, "--format", form).out)
        assert belief["sentence"] in words, form
        assert not re.search(r"% sure that (at least|fewer than)", words), form
    of_suite = desk.run(*args, "--format", "junit").out.partition("<testcase")[0]
    assert 'name="better"' in of_suite and 'name="probability"' not in of_suite
    assert desk.run("runs", "--json").json[0]["probability"] is None

    barred = desk.run(*args, "--min-pass-rate", "0.8", "--json").json["belief"]
    assert barred["probability"] > 0.5 and barred["better"] == belief["better"]
    assert "at least 4 of 5 cases pass" in barred["sentence"]


@pytest.mark.parametrize("more", [(), ("--sure", "99")])
def test_a_suite_whose_target_fails_could_not_be_judged(desk: Desk, more: tuple[str, ...]) -> None:
    """Where a target failed an answer is missing: in the headline and in the list of runs."""
    word = "COULD NOT BE JUDGED"
    suite(desk, *(f"{{id: c{n}, input: c{n}}}" for n in range(3)), head="rubric: [It holds]\n")
    body = "print(json.dumps({'criteria': {c['id']: {'met': True} for c in request['criteria']}}))"
    breaks = target(desk, body="sys.exit(1) if text == 'c1' else print(text)").spec
    judge = desk.judge("one", body).spec
    found = desk.run("eval", "suite.yaml", "--target", breaks, "--judge", judge, *more)
    assert found.code == 3 and re.search(rf"^\? {word}\b", found.out, re.MULTILINE), found.out
    assert word.lower() in desk.run("runs").out.splitlines()[1]


FORMS = ("text", "markdown", "html", "junit", "json")
# It answers its first question, fails at the second, and is asked on.
GONE_ONCE = """\
looks = len(open(LOG).readlines())
if looks == 1: sys.exit("no answer today")
print(json.dumps({"criteria": {"who": {"met": True}, "how": {"met": looks % 2 == 0}}}))
"""


def test_a_look_that_failed_is_said_in_every_form(asked: Desk) -> None:
    """How often the judge was asked, how often it answered, and why not; `spent` has the call."""
    judges = ("--judge", asked.judge("gone", GONE_ONCE).spec)
    asking = ("eval", "text.md", "-r", "rubric.yaml", *judges, "--sure", "99", "--max-looks", "4")
    found = asked.run(*asking, "--json")
    assert found.out, found.err
    card = found.json
    looks = card["belief"]["looks"]
    assert looks == 4 and card["usage"]["judge_calls"] == looks + 1
    (lost,) = [one["unanswered"] for one in card["judges"] if "unanswered" in one]
    assert len(lost) == 1 and "no answer today" in lost[0]
    for form in FORMS[:-1]:
        shown = asked.run("show", card["run"], "--format", form).out
        assert f"asked {looks + 1} times, answered {looks}: " in " ".join(shown.split()), form


def test_a_look_that_failed_at_a_case_is_counted_over_all_cases(desk: Desk) -> None:
    cases = [f"{{id: c{n}, input: c{n}, rubric: [It says apple]}}" for n in range(2)]
    suite(desk, *cases, head="sure: 99\nmax_looks: 6\n")
    body = """\
looks = len(open(LOG).readlines())
if looks == 2: sys.exit("no answer today")
marks = {c["id"]: {"met": True, "suggestion": str(looks)} for c in request["criteria"]}
print(json.dumps({"criteria": marks}))
"""
    found = desk.run(
        "eval",
        "suite.yaml",
        "--target",
        target(desk).spec,
        "--judge",
        desk.judge("gone", body).spec,
        "--json",
    )
    report = found.json
    looks, calls = report["belief"]["looks"], report["usage"]["judge_calls"]
    assert calls == looks + 1, found.out
    for form in FORMS[:-1]:
        shown = desk.run("show", report["run"], "--format", form).out
        assert f"asked {calls} times, answered {looks}: " in " ".join(shown.split()), form


def test_a_judge_whose_looks_differ_is_not_several_that_disagree(asked: Desk) -> None:
    """With one judge no form says that judges disagree; its looks do differ."""
    judge = asked.judge("turns", TURNS).spec
    card = asked.run(
        *("eval", "text.md", "-r", "rubric.yaml", "--judge", judge, "--sure", "99", "--json")
    ).json
    assert [one["spread"] for one in card["criteria"]] == [0, 0]
    for form in FORMS[:-2]:
        shown = asked.run("show", card["run"], "--format", form).out
        assert "judges disagree" not in shown and "apart" not in shown, form
        assert re.search(
            r"the looks of [^()]+ differ on how \(100\.0\)", shown.replace("\n", " ")
        ), form


def test_who_was_spared_is_not_asked_in_every_form(asked: Desk) -> None:
    """Not `SKIPPED`, which is a judge that is not there."""
    judges = [asked.judge(name, answers(False, False)) for name in ("one", "two", "three")]
    words = [word for one in judges for word in ("--judge", one.spec)]
    asking = ("eval", "text.md", "-r", "rubric.yaml", *words, "--sure", "60")
    run = asked.run(*asking, "--json").json["run"]
    assert not judges[2].log.exists()
    for form in ("text", "markdown", "html"):
        shown = asked.run("show", run, "--format", form).out
        assert "NOT ASKED" in shown and "SKIPPED" not in shown, form
        assert "the verdict was sure enough without it" in " ".join(shown.split()), form


def test_rows_say_of_a_judge_that_was_spared_that_it_was_not_asked(desk: Desk) -> None:
    suite(desk, "{id: a, input: a, rubric: {file: rubric.yaml}}")
    desk.file("rubric.yaml", RUBRIC)
    judges = [desk.judge(name, answers(False, False)).spec for name in ("one", "two", "three")]
    words = [word for one in judges for word in ("--judge", one)]
    found = desk.run(
        "eval",
        "suite.yaml",
        "--target",
        target(desk).spec,
        *words,
        "--sure",
        "60",
        "--format",
        "csv",
    )
    assert found.out, found.err
    states = [row["judge_state"] for row in csv.DictReader(io.StringIO(found.out))]
    assert states == [
        "AVAILABLE",
        "AVAILABLE",
        "not asked: the verdict was sure enough without it",
    ], found.out


def test_the_table_of_markdown_has_a_dash_for_what_a_look_did_not_ask() -> None:
    """A place in a cell is one look in every row, as on the terminal."""
    judges = [JudgeDoc(id=id, state="AVAILABLE") for id in ("a", "a#2", "a#3", "b")]
    both = {"a": 100.0, "a#2": 0.0, "a#3": 100.0, "b": 100.0}
    part = {"a": 100.0, "a#3": 0.0, "b": 100.0}
    criteria = [CriterionDoc(id="one", by_judge=both), CriterionDoc(id="two", by_judge=part)]
    doc = ScorecardDoc(verdict="pass", criteria=criteria, judges=judges)
    table = scorecard_markdown(doc)
    assert "| 100.0, 0.0, 100.0 | 100.0 |" in table and "| 100.0, -, 0.0 | 100.0 |" in table, table
    assert "100.0 - 0.0" in scorecard_text(doc)


def test_the_next_command_of_a_failure_is_not_refused(asked: Desk) -> None:
    """`improve` says no PASSED of what is less than 80% sure, so a lower bar of the rubric is raised."""
    asked.file("rubric.yaml", RUBRIC + "sure: 60\n")
    judges = [asked.judge(name, answers(False, False)).spec for name in ("one", "two", "three")]
    words = [word for one in judges for word in ("--judge", one)]
    found = asked.run("eval", "text.md", "-r", "rubric.yaml", *words)
    (again,) = re.findall(r"^next +honestone (improve .*)$", found.out, re.MULTILINE)
    assert " --sure 80" in again
    command = shlex.split(again.replace("WORKER", "'cmd:true'"))
    assert asked.run(*command, "--dry-run", "--rounds", "1").code == 1


def test_a_table_of_texts_says_how_sure_each_verdict_is(asked: Desk) -> None:
    """A column where judges looked, and in all how sure the least certain verdict is."""
    asked.file("texts.csv", "id,text\na,one text\nb,another text\n")
    body = "looks = len(open(LOG).readlines())\n" + answers(True, True)
    judge = ("--judge", asked.judge("one", body).spec)
    call = ("eval", "texts.csv", "--text", "text", "--id", "id", "-r", "rubric.yaml", *judge)
    document = asked.run(*call, "--json").json
    least = min(row["probability"] for row in document["rows"])
    assert document["summary"]["least_sure"] == least
    words = f"{int(least * 100)}% sure"
    assert f"each verdict at least {words}" in asked.run(*call).out
    found = asked.run(*call, "-f", "markdown").out
    assert f"each verdict at least {words}" in found and f"| a | passed | {words} |" in found
    page = asked.run(*call, "-f", "html").out
    assert '<th scope="col">Sure</th>' in page and f'<td class="num">{words}</td>' in page


def test_a_table_that_code_judges_has_no_column_of_it(desk: Desk) -> None:
    desk.file("rubric.yaml", "rubric: 1\ncriteria:\n  - {id: one, check: {contains: text}}\n")
    desk.file("texts.csv", "id,text\na,one text\n")
    call = ("eval", "texts.csv", "--text", "text", "-r", "rubric.yaml")
    assert desk.run(*call, "--json").json["summary"]["least_sure"] is None
    assert "sure" not in desk.run(*call, "-f", "markdown").out
