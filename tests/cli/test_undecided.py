"""UNDECIDED is one word with one rule: `sure` was asked, no needed answer is missing, and the
probability is between the bars. Every report and every list has it.
"""

from __future__ import annotations

import re

import pytest

from .desk import Desk
from .test_suites import suite, target
from .test_words_of_sure import RUBRIC, TURNS, answers

pytestmark = pytest.mark.slow

OPEN = re.compile(r"could not be judged|inconclusive", re.IGNORECASE)


def judges(desk: Desk, *bodies: str) -> list[str]:
    specs = [desk.judge(f"judge{place}", body).spec for place, body in enumerate(bodies)]
    return [word for spec in specs for word in ("--judge", spec)]


@pytest.fixture
def asked(desk: Desk) -> Desk:
    desk.file("rubric.yaml", RUBRIC)
    for name in ("a", "b"):
        desk.file(f"{name}.md", f"Report {name}.")
    return desk


def state_of(desk: Desk) -> str:
    """The state of the newest run in the list of runs."""
    row = desk.run("runs").out.splitlines()[1]
    found = re.search(r"undecided|could not be judged|did not pass|passed", row)
    assert found, row
    return found[0]


def test_several_files_are_undecided_where_each_open_one_is(asked: Desk) -> None:
    """In the last line, in the list of runs, and where that is asked for one word alone."""
    sure = ("-r", "rubric.yaml", "--sure", "99.9", "--max-looks", "4")
    found = asked.run("eval", "a.md", "b.md", *sure, *judges(asked, TURNS))
    assert found.code == 3 and "2 undecided" in found.out, found.out + found.err
    assert not OPEN.search(found.out), found.out
    assert state_of(asked) == "undecided"
    rows = {
        word: len(asked.run("runs", "--verdict", word).out.splitlines()[1:])
        for word in ("undecided", "could not be judged", "inconclusive")
    }
    assert rows == {"undecided": 1, "could not be judged": 0, "inconclusive": 1}
    asked.run("eval", "a.md", *sure, *judges(asked, "sys.exit('gone')"))
    assert state_of(asked) == "could not be judged"


def test_what_lacks_answers_is_not_undecided_without_sure(asked: Desk) -> None:
    """However probable the votes that came make it."""
    gone = judges(asked, answers(True, True), "sys.exit('gone')")
    found = asked.run("eval", "a.md", "-r", "rubric.yaml", *gone)
    assert found.code == 3
    assert found.out.startswith("? COULD NOT BE JUDGED  a.md"), found.out
    assert state_of(asked) == "could not be judged"


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_table_of_texts_counts_the_undecided(asked: Desk, form: str) -> None:
    """Each of its rows says how sure it is; where one has no answer at all, both are counted."""
    asked.file("texts.csv", "id,text\n1,one\n2,two\n3,three\n")
    body = f"if 'two' in str(request): sys.exit('gone')\n{TURNS}"
    args = ("-r", "rubric.yaml", "--text", "text", "--sure", "99.9", "--max-looks", "4")
    found = asked.run("eval", "texts.csv", *args, *judges(asked, body), "--format", form)
    assert found.code == 3, found.err
    assert "0 of 3 passed, 2 undecided, 1 could not be judged" in found.out, found.out
    assert len(re.findall(r"\d+% sure that the contract is (?:not )?met", found.out)) >= 2
    assert "COULD NOT BE JUDGED" in found.out and "UNDECIDED" not in found.out
    asked.file("texts.csv", "id,text\n1,one\n3,three\n")
    found = asked.run("eval", "texts.csv", *args, *judges(asked, body), "--format", form)
    assert "UNDECIDED" in found.out and "COULD NOT BE JUDGED" not in found.out
    assert state_of(asked) == "undecided"


def test_columns_and_trends_of_an_undecided_suite_have_the_word(desk: Desk) -> None:
    suite(desk, "{id: c0, input: c0}", head="rubric: [{id: who, requirement: Says who}]\n")
    turns = (
        "looks = len(open(LOG).readlines())\n"
        "print(json.dumps({'criteria': {'who': {'met': looks % 2 == 0}}}))"
    )
    one, two = target(desk).spec, target(desk, "two").spec
    args = ("--target", one, *judges(desk, turns), "--sure", "99.9", "--max-looks", "4")
    alone = desk.run("eval", "suite.yaml", *args)
    assert alone.code == 3 and "? UNDECIDED\n" in alone.out, alone.out + alone.err
    # Each case has looks of its own: of a judge over all of them the belief has the number.
    assert "AVAILABLE" in alone.out and "looks)" not in alone.out
    table = desk.run("eval", "suite.yaml", *args, "--target", two)
    assert re.search(r"verdict +UNDECIDED +UNDECIDED", table.out), table.out
    assert "? UNDECIDED\n" in table.out and not OPEN.search(table.out)
    assert state_of(desk) == "undecided"
