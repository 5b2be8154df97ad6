"""`honestone rubric check`: findings, --fix, --golden, --oracle and what the record says."""

from __future__ import annotations

import json

import pytest

from .desk import GOOD, Desk

WEAK = """\
rubric: 1        # the format
threshold: 70
criteria:        # what matters
  - id: facts
    requirement: The facts are there
    weight: 60   # most of it
    items:
      - Names the author
      - {id: check1, requirement: "Is under 200 words"}   # a remark
      - The writing is clear
      - Names the cause and explains the fix
      - Does not lack a date
      - The author intended to help
  - id: r2
    requirement: Ends with a farewell to the reader
    weight: 35
"""

CODE = """\
rubric: 1
title: A note about fruit
threshold: 80
floor: 0
criteria:
  - id: fruit
    requirement: It names fruit
    items:
      - {id: apple, requirement: Names the apple, check: {icontains: apple}}
      - {id: pear, requirement: Names the pear, check: {icontains: pear}}
      - {id: plain, requirement: Holds no TODO, check: {not-contains: TODO}}
  - id: close
    requirement: It ends with a farewell
    check: {icontains: farewell}
"""


def rules(found: object) -> list[tuple[str, str]]:
    assert isinstance(found, dict)
    return [(finding["rule"], finding["place"]) for finding in found["findings"]]


# ----------------------------------------------------------------------------------------------------
# findings


def test_every_finding_has_rule_place_reason_and_suggestion(desk: Desk) -> None:
    """A weak rubric gets each remark once, at its line, in the order of the file."""
    desk.rubric(WEAK)
    result = desk.run("rubric", "check", "rubric.yaml", "--json")
    assert result.code == 0
    assert result.json["schema"] == "honestone.findings/1"
    assert result.json["ok"] is False
    assert rules(result.json) == [
        ("weights-sum", "rubric.yaml:3:1"),
        ("code-could-answer", "rubric.yaml:9:9"),
        ("id-says-nothing", "rubric.yaml:9:14"),
        ("vague-wording", "rubric.yaml:10:9"),
        ("two-questions", "rubric.yaml:11:9"),
        ("double-negative", "rubric.yaml:12:9"),
        ("not-observable", "rubric.yaml:13:9"),
        ("id-says-nothing", "rubric.yaml:14:9"),
    ]
    assert all(finding["why"] and finding["suggestion"] for finding in result.json["findings"])
    assert result.json["findings"][1]["check"] == {"max-words": 199}


def test_text_says_the_same(desk: Desk) -> None:
    """Place, rule, reason and suggestion as lines; findings exit 1 with --strict."""
    desk.rubric(WEAK)
    result = desk.run("rubric", "check", "rubric.yaml", "--strict")
    assert result.code == 1
    assert "rubric.yaml:10:9: " in result.out
    assert "[vague-wording]" in result.out
    assert result.out.count("  why: ") == result.out.count("  suggestion: ") == 8
    assert "{max-words: 199}" in result.out
    assert result.out.splitlines()[-1].startswith("8 findings: 2 criteria, 7 items")


def test_a_broken_rubric_is_an_error_and_no_finding(desk: Desk) -> None:
    """Exit 2 with the place, and nothing on stdout."""
    desk.rubric("rubric: 1\ncriteria:\n  - {id: a, requirement: A, weight: heavy}\n")
    result = desk.run("rubric", "check", "rubric.yaml", "--json")
    assert result.is_refusal
    assert "rubric.yaml:3:" in result.err


def test_judges_are_refused_where_nothing_asks_them(desk: Desk) -> None:
    """--judge without --golden or --oracle would be silently without effect."""
    desk.rubric(CODE)
    assert desk.run("rubric", "check", "rubric.yaml", "--judge", "mock").is_refusal


def test_control_characters_of_a_rubric_do_not_reach_the_terminal(desk: Desk) -> None:
    """An item that tries to colour the screen is shown without its escapes."""
    desk.rubric('rubric: 1\ncriteria:\n  - {id: a, requirement: "\\e[m Is well written"}\n')
    result = desk.run("rubric", "check", "rubric.yaml")
    assert result.code == 0
    assert "\x1b" not in result.out
    assert "Is well written" in result.out


# ----------------------------------------------------------------------------------------------------
# --fix


def test_fix_mends_weights_and_ids_and_keeps_remarks(desk: Desk) -> None:
    """Weights sum to 100, ids name what is asked, every comment stays, and a second time there is
    nothing to do.
    """
    path = desk.rubric(WEAK)
    result = desk.run("rubric", "check", "rubric.yaml", "--fix", "--json")
    assert result.code == 0
    fixed = [(change["rule"], change["before"], change["after"]) for change in result.json["fixed"]]
    assert fixed == [
        ("weights-sum", "60", "63"),
        ("id-says-nothing", "check1", "is-under-200-words"),
        ("id-says-nothing", "r2", "ends-with-a-farewell-to-the"),
        ("weights-sum", "35", "37"),
    ]
    mended = (
        WEAK.replace("weight: 60", "weight: 63")
        .replace("weight: 35", "weight: 37")
        .replace("id: check1", "id: is-under-200-words")
        .replace("id: r2", "id: ends-with-a-farewell-to-the")
    )
    assert path.read_text() == mended
    assert not {"weights-sum", "id-says-nothing"} & {rule for rule, _ in rules(result.json)}
    again = desk.run("rubric", "check", "rubric.yaml", "--fix", "--json")
    assert again.json["fixed"] == []
    assert path.read_text() == mended


def test_fix_leaves_an_id_that_the_record_knows(desk: Desk) -> None:
    """Answers on record hang on the id, so it stays and the reason is told."""
    desk.rubric(CODE.replace("id: pear,", "id: check2,"))
    desk.file("note.md", GOOD)
    assert desk.run("eval", "note.md", "--rubric", "rubric.yaml").code == 0
    result = desk.run("rubric", "check", "rubric.yaml", "--fix")
    assert "not fixed" in result.out
    assert "a recorded run" in result.out
    assert "id: check2" in (desk.folder / "rubric.yaml").read_text()


def test_fix_leaves_an_id_that_a_lock_knows(desk: Desk) -> None:
    """A lock names it, so it stays."""
    desk.rubric(CODE.replace("id: pear,", "id: check2,"))
    assert desk.run("rubric", "lock", "rubric.yaml").code == 0
    result = desk.run("rubric", "check", "rubric.yaml", "--fix")
    assert "rubric.yaml.lock refers to it" in result.out
    assert "id: check2" in (desk.folder / "rubric.yaml").read_text()


# ----------------------------------------------------------------------------------------------------
# --golden


def golden(desk: Desk, expected: str | None = None) -> None:
    desk.rubric(CODE)
    if expected is None:
        desk.file("gold/pass/good.md", GOOD)
        desk.file("gold/fail/bad.md", "Nothing here.\n")
    else:
        desk.file("gold/good.md", GOOD)
        desk.file("gold/half.md", "An apple. TODO\n")
        desk.file("gold/expected.yaml", expected)


def test_golden_folders_name_the_verdict(desk: Desk) -> None:
    """What lies in pass/ passes and what lies in fail/ fails: exit 0 and a row each."""
    golden(desk)
    result = desk.run("rubric", "check", "rubric.yaml", "--golden", "gold", "--json")
    assert result.code == 0, result.err
    rows = {row["example"]: (row["told"], row["verdict"]) for row in result.json["golden"]}
    assert rows == {"pass/good.md": ("as expected", "pass"), "fail/bad.md": ("as expected", "fail")}


def test_a_golden_example_that_differs_exits_1(desk: Desk) -> None:
    """A bad example among those that must pass is named with the reason."""
    golden(desk)
    desk.file("gold/pass/wrong.md", "Nothing here.\n")
    result = desk.run("rubric", "check", "rubric.yaml", "--golden", "gold")
    assert result.code == 1
    assert "differs" in result.out
    assert "the verdict is fail, not pass" in result.out
    assert "2 of 3 golden examples as expected" in result.out


def test_golden_ranges_hold_scores_and_criteria(desk: Desk) -> None:
    """A third of fruit and no farewell is 16.6: inside [10, 20] as expected, outside of anything
    else not.
    """
    golden(
        desk,
        "good.md: pass\nhalf.md: {verdict: fail, score: [10, 20], fruit: [33, 34], close: 0}\n",
    )
    result = desk.run("rubric", "check", "rubric.yaml", "--golden", "gold", "--json")
    assert result.code == 0, result.out
    golden(desk, "good.md: pass\nhalf.md: {fruit: [50, 100]}\n")
    result = desk.run("rubric", "check", "rubric.yaml", "--golden", "gold", "--json")
    assert result.code == 1
    assert result.json["golden"][1]["differences"] == [
        "`fruit` is 33.3, expected 50 to 100"
    ] or result.json["golden"][1]["differences"] == ["`fruit` is 33.3, expected 50.0 to 100.0"]


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        ("gone.md: pass\n", "not found"),
        ("good.md: maybe\n", "is not a verdict"),
        ("good.md: {friut: [1, 2]}\n", "did you mean `fruit`?"),
        ("good.md: {score: [80, 20]}\n", "from a lower number to a higher one"),
        ("good.md: {score: high}\n", "two numbers"),
        ("../rubric.yaml: pass\n", "leads out of"),
        ("- good.md\n", "must be a mapping"),
    ],
)
def test_mistakes_in_expected_are_told_with_their_place(
    desk: Desk, expected: str, says: str
) -> None:
    """Exit 2 before anything is judged."""
    golden(desk, expected)
    result = desk.run("rubric", "check", "rubric.yaml", "--golden", "gold")
    assert result.is_refusal, result
    assert says in result.err
    assert "expected.yaml:1:" in result.err


def test_a_golden_example_that_cannot_be_judged_is_undecided(desk: Desk) -> None:
    """A judge that fails leaves it open: exit 3, never a pass."""
    desk.rubric()
    desk.file("gold/pass/good.md", GOOD)
    broken = desk.judge("broken", "sys.exit('the model is gone')")
    result = desk.run(
        "rubric", "check", "rubric.yaml", "--golden", "gold", "--judge", broken.spec, "--json"
    )
    assert result.code == 3
    assert result.json["golden"][0]["told"] == "undecided"


def test_golden_asks_judges_once(desk: Desk) -> None:
    """Replies are on record: the same command again repeats no call."""
    desk.rubric()
    desk.file("gold/pass/good.md", GOOD)
    judge = desk.judge()
    for _ in range(2):
        result = desk.run(
            "rubric", "check", "rubric.yaml", "--golden", "gold", "--judge", judge.spec
        )
        assert result.code == 0, result.out
    assert judge.calls == 1


# ----------------------------------------------------------------------------------------------------
# --oracle


def test_the_oracle_accepts_a_sound_rubric(desk: Desk) -> None:
    """The good note passes, an empty one fails, and what emptiness meets is told."""
    desk.rubric(CODE)
    desk.file("good.md", GOOD)
    result = desk.run("rubric", "check", "rubric.yaml", "--oracle", "good.md", "--json")
    assert result.code == 0
    assert result.json["oracle"]["told"] == "as expected"
    assert result.json["oracle"]["empty"]["met"] == ["fruit/plain"]


def test_a_rubric_that_an_empty_artifact_passes_is_broken(desk: Desk) -> None:
    """Only things that should be absent are asked for: exit 1, and it says so."""
    desk.rubric(
        "rubric: 1\ncriteria:\n  - {id: done, requirement: Holds no TODO, check: {not-contains: TODO}}\n"
    )
    desk.file("good.md", GOOD)
    result = desk.run("rubric", "check", "rubric.yaml", "--oracle", "good.md")
    assert result.code == 1
    assert "broken" in result.out
    assert "an empty artifact passes" in result.out
    assert "sound" not in result.out


def test_a_rubric_that_the_good_answer_fails_is_broken(desk: Desk) -> None:
    """The reasons are those of its verdict."""
    desk.rubric(CODE.replace("farewell}", "goodbye}"))
    desk.file("good.md", GOOD)
    result = desk.run("rubric", "check", "rubric.yaml", "--oracle", "good.md")
    assert result.code == 1
    assert "the known-good good.md does not pass" in result.out


def test_the_oracle_takes_a_folder(desk: Desk) -> None:
    """An empty folder is its empty artifact."""
    desk.rubric(CODE)
    desk.file("good/note.md", GOOD)
    result = desk.run("rubric", "check", "rubric.yaml", "--oracle", "good", "--json")
    assert (result.code, result.json["oracle"]["empty"]["verdict"]) == (0, "fail")


# ----------------------------------------------------------------------------------------------------
# the record


def runs(desk: Desk, *judges: str) -> None:
    """Six different notes judged: pears come and go, an apple is in all of them."""
    names = []
    for number in range(6):
        text = (
            f"Apple {number}."
            + (" Pear." if number % 2 else "")
            + (" farewell" if number < 3 else "")
        )
        names.append(desk.file(f"note{number}.md", text).name)
    words = [word for judge in judges for word in ("--judge", judge)]
    assert desk.run("eval", *names, "--rubric", "rubric.yaml", *words).code in (0, 1)


def test_the_record_shows_items_that_never_discriminate(desk: Desk) -> None:
    """All six notes have an apple: the item says nothing about a note. The numbers are in the
    finding.
    """
    desk.rubric()
    runs(desk, desk.judge().spec)
    found = desk.run("rubric", "check", "rubric.yaml", "--json").json
    told = [finding for finding in found["findings"] if finding["rule"] == "never-discriminates"]
    assert [(finding["criterion"], finding["item"]) for finding in told] == [("words", "apple")]
    assert "6 artifacts" in told[0]["message"]
    stats = {one["item"]: one for one in found["history"]["items"]}
    assert (stats["apple"]["difficulty"], stats["pear"]["difficulty"]) == (1.0, 0.5)
    assert stats["apple"]["item_rest"] is None


def test_the_record_shows_items_on_which_judges_disagree(desk: Desk) -> None:
    """One judge finds pears where there are some, the other everywhere else."""
    desk.rubric()
    contrary = desk.judge(
        "contrary",
        """
        found = reply()
        pear = found["criteria"]["words"]["items"]["pear"]
        pear["met"] = not pear["met"]
        print(json.dumps(found))
        """,
    )
    runs(desk, desk.judge().spec, contrary.spec)
    found = desk.run("rubric", "check", "rubric.yaml", "--json").json
    told = [finding for finding in found["findings"] if finding["rule"] == "judges-disagree"]
    assert [finding["item"] for finding in told] == ["pear"]
    assert "100% of 6 pairs" in told[0]["message"]


def test_history_shows_the_numbers_and_can_be_left_out(desk: Desk) -> None:
    """A table with --history, nothing of it with --no-history, a refusal without any record."""
    desk.rubric()
    assert desk.run("rubric", "check", "rubric.yaml", "--history").is_refusal
    runs(desk, desk.judge().spec)
    table = desk.run("rubric", "check", "rubric.yaml", "--history").out
    assert "record: 6 artifacts in 1 run" in table
    assert "words/pear" in table
    assert "item-rest" in table
    assert (
        "history" not in desk.run("rubric", "check", "rubric.yaml", "--no-history", "--json").json
    )


def test_a_reworded_item_has_no_history(desk: Desk) -> None:
    """What was answered then was another question."""
    desk.rubric()
    runs(desk, desk.judge().spec)
    path = desk.folder / "rubric.yaml"
    path.write_text(path.read_text().replace("It names the apple", "It praises the apple"))
    found = json.loads(desk.run("rubric", "check", "rubric.yaml", "--json").out)
    assert "apple" not in {one["item"] for one in found["history"]["items"]}
