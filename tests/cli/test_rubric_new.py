"""`honestone rubric new`: templates, flags, a model's draft, and the conversation at a real
pseudo-terminal.
"""

from __future__ import annotations

import json
import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.app.authoring.draft_file import from_json, to_json
from honestone.core.authoring.rubric_drafting import CriterionWish
from honestone.formats.rubric.rubric_file import read_rubric
from honestone.templates import template_names, template_text

from .desk import HONESTONE, Desk

FIVE = [
    "Names the cause",
    "Quotes the message",
    "Shows the command",
    "Gives the version",
    "Links the log",
]
OTHER = [
    "Holds no insult",
    "Thanks the reporter",
    "Names what works",
    "Asks one question",
    "Ends with the next step",
]
FLAGS = [
    "--about",
    "an answer to a bug report",
    "--criterion",
    "facts: what a stranger can check",
    "--criterion",
    "voice",
    *(word for text in FIVE for word in ("--item", f"facts: {text}")),
    *(word for text in OTHER for word in ("--item", f"voice: {text}")),
]


def strictly_sound(desk: Desk, name: str = "rubric.yaml") -> bool:
    result = desk.run("rubric", "check", "--strict", name)
    assert result.code == 0, result.out + result.err
    return True


# -----------------------------------------------------------------------------------------------------------
# templates


def test_templates_are_listed_shown_and_written(desk: Desk) -> None:
    """The list names all ten; `show` prints what `new` writes, byte for byte, and the file is
    sound.
    """
    listed = desk.run("rubric", "new", "--list-templates", "--json").json
    assert [row["name"] for row in listed["templates"]] == list(template_names())
    assert all(row["by_code"] and row["criteria"] for row in listed["templates"])
    assert "bug-report" in desk.run("rubric", "new", "--list-templates").out
    shown = desk.run("rubric", "show", "--template", "readme")
    assert (
        desk.run("rubric", "new", "--template", "readme", "--output", "bar/readme.yaml").code == 0
    )
    assert (
        (desk.folder / "bar/readme.yaml").read_text("utf-8") == shown.out == template_text("readme")
    )
    assert strictly_sound(desk, "bar/readme.yaml")
    assert desk.run("rubric", "show", "--template", "readme", "--json").json["title"]


def test_a_template_with_other_bars(desk: Desk) -> None:
    """`--threshold` and `--floor` are put in; every remark of the file stays."""
    assert (
        desk.run("rubric", "new", "--template", "skill", "--threshold", "72.5", "--floor", "0").code
        == 0
    )
    found = read_rubric(desk.folder / "rubric.yaml").rubric
    assert (float(found.threshold), float(found.floor)) == (0.725, 0)
    assert (desk.folder / "rubric.yaml").read_text("utf-8").startswith("# What an agent skill")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--template", "bug-reprot"], "did you mean `bug-report`"),
        (["--template", "readme", "--item", "a: b"], "written as it is"),
        (["--template", "readme", "--threshold", "101"], "from 0 to 100"),
        (["--template", "readme", "--floor", "nan"], "from 0 to 100"),
        ([*FLAGS, "--threshold", "0.8", "--yes"], "is 80 meant?"),
        ([*FLAGS, "--floor", "0.605", "--yes"], "is 60.5 meant?"),
        ([*FLAGS, "--weight", "facts=0.7", "--weight", "voice=0.3", "--yes"], "are 70 30 meant?"),
        ([], "--about"),
        (["--about", "x"], "--criterion"),
        (["--about", "x", "--criterion", "a: b c", "--yes"], "at least two criteria"),
        ([*FLAGS], "--yes"),
        ([*FLAGS[:6], "--judge", "none", "--yes"], "--item"),
        ([*FLAGS, "--item", "fact: Is X", "--criterion", "factor", "--yes"], "not a criterion"),
        ([*FLAGS, "--item", "vocie: Is X", "--yes"], "did you mean `voice`"),
        ([*FLAGS, "--item", "voice", "--yes"], "CRITERION: TEXT"),
        ([*FLAGS, "--criterion", "Facts: again", "--yes"], "two criteria"),
        ([*FLAGS, "--criterion", " ", "--yes"], "is empty"),
        ([*FLAGS, "--weight", "facts=60", "--yes"], "no --weight for `voice`"),
        ([*FLAGS, "--weight", "facts=60", "--weight", "voice=60", "--yes"], "sum to 120"),
        ([*FLAGS, "--weight", "facts=many", "--yes"], "NAME=NUMBER"),
        (
            [*FLAGS, "--criterion", "look", "--anchors", "look: a | b | c", "--yes"],
            "five different texts",
        ),
        ([*FLAGS, "--anchors", "voice: a | b | c | d | e", "--yes"], "both --item and --anchors"),
        ([*FLAGS, "--judge", "human", "--yes"], "is not a model"),
        ([*FLAGS, "--judge", "mock", "--yes"], "is not a model"),
        ([*FLAGS, "--judge", "agent:me", "--yes"], "is not a model"),
        ([*FLAGS, "--judge", "script:true", "--yes"], "is not a model"),
        ([*FLAGS, "--judge", "nobody", "--yes"], "unknown judge"),
        ([*FLAGS, "--output", ".", "--yes"], "is a folder"),
    ],
)
def test_what_cannot_be_written_is_refused(desk: Desk, args: list[str], words: str) -> None:
    """Exit 2 with what is wrong and what to type, and nothing is written."""
    result = desk.run("rubric", "new", *args)
    assert result.is_refusal and words in result.err, result.err
    assert os.listdir(desk.folder) == []


def test_nothing_is_written_over(desk: Desk) -> None:
    """A file that is there stays, unless `--force` says otherwise."""
    desk.file("rubric.yaml", "mine\n")
    for args in (["--template", "essay"], [*FLAGS, "--yes"]):
        result = desk.run("rubric", "new", *args)
        assert result.is_refusal and "--force" in result.err
        assert (desk.folder / "rubric.yaml").read_text() == "mine\n"
    assert desk.run("rubric", "new", "--template", "essay", "--force").code == 0
    assert read_rubric(desk.folder / "rubric.yaml").rubric.title


def test_a_draft_that_is_only_shown_refuses_no_file_that_is_there(desk: Desk) -> None:
    """`--json` without `--yes` writes nothing, so a rubric that is there is no reason to refuse."""
    desk.file("rubric.yaml", "mine\n")
    shown = desk.run("rubric", "new", *FLAGS, "--json")
    assert shown.code == 0 and shown.json["written"] is None, shown.err
    assert desk.run("rubric", "new", *FLAGS, "--json", "--yes").is_refusal
    assert (desk.folder / "rubric.yaml").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("settings", "rounds"),
    [("", 16), ("[limits]\nrounds = 7\n", 7)],
    ids=["by effort", "by settings"],
)
def test_the_contract_names_the_rounds_that_improve_will_have(
    desk: Desk, settings: str, rounds: int
) -> None:
    """`Max rounds` is the limit of an `improve` without options: that of the usual policy, or of
    the settings.
    """
    desk.file("honestone.toml", settings)
    desk.file("note.md", "An apple.\n")
    made = desk.run("rubric", "new", *FLAGS, "--yes")
    assert f"Max rounds  {rounds}\n" in made.out
    judge, worker = desk.judge(), desk.worker("worker", "pass")
    more = ("--worker", worker.spec, "--judge", judge.spec, "--dry-run", "--json")
    assert (
        desk.run("improve", "note.md", "--rubric", "rubric.yaml", *more).json["limits"]["rounds"]
        == rounds
    )


# -----------------------------------------------------------------------------------------------------------
# by flags


def test_a_rubric_by_flags(desk: Desk) -> None:
    """The contract is printed, the file is what was said, with equal weights and the usual bars,
    and is sound.
    """
    result = desk.run("rubric", "new", *FLAGS, "--yes")
    assert result.code == 0, result.err
    for words in (
        "Evaluation contract",
        "Max rounds  16",
        "70 of 100",
        "60 for every criterion",
        "score = met / 5 x 100",
        "overall >= 70 and every criterion >= 60",
        "an answer to a bug report",
        "50%",
    ):
        assert words in result.out, words
    found = read_rubric(desk.folder / "rubric.yaml").rubric
    assert [[item.requirement for item in c.items] for c in found.criteria] == [FIVE, OTHER]
    assert [int(c.weight) for c in found.criteria] == [50, 50]
    assert strictly_sound(desk)
    assert os.listdir(desk.folder) == ["rubric.yaml"]


def test_an_agent_looks_first_and_accepts_then(desk: Desk) -> None:
    """`--json` shows the draft and writes nothing; the same with `--yes` writes exactly that."""
    said = [
        *FLAGS,
        "--weight",
        "facts=70",
        "--weight",
        "voice=30",
        "--threshold",
        "80",
        "--floor",
        "0",
    ]
    look = desk.run("rubric", "new", *said, "--json")
    assert look.code == 0 and look.json["written"] is None and os.listdir(desk.folder) == []
    assert look.json["pass_condition"] == "overall >= 80" and look.json["max_rounds"] == 16
    assert [row["weight"] for row in look.json["criteria"]] == [70, 30]
    done = desk.run("rubric", "new", *said, "--json", "--yes").json
    assert done["written"] == "rubric.yaml"
    assert {**done, "written": None} == look.json
    assert read_rubric(desk.folder / "rubric.yaml").rubric.threshold == Fraction(4, 5)


def test_korean_by_flags_and_anchors(desk: Desk) -> None:
    """Names, items and levels in Korean; columns line up although letters are two wide."""
    result = desk.run(
        "rubric",
        "new",
        "--about",
        "버그 신고에 대한 답변",
        "--criterion",
        "사실: 원인을 적는다, 명령을 보여 준다, 버전을 적는다, 기록을 링크한다, 메시지를 인용한다",
        "--criterion",
        "말투",
        "--anchors",
        "말투： 모욕이 있다 | 비꼬는 문장이 있다 | 반말이 섞여 있다 | 존댓말만 쓴다 | 존댓말로 고마움을 적는다",
        "--yes",
    )
    assert result.code == 0, result.err
    found = read_rubric(desk.folder / "rubric.yaml").rubric
    assert [c.id for c in found.criteria] == ["사실", "말투"] and len(found.criteria[0].items) == 5
    from honestone.system.drawing import width

    boxes = {width(row[: row.index("□")]) for row in result.out.splitlines() if "□" in row}
    assert len(boxes) == 1
    assert strictly_sound(desk)


def test_vague_words_are_told(desk: Desk) -> None:
    """A vague criterion is warned of with a rewording, in English and Korean; the rubric is written
    all the same.
    """
    said = [
        *FLAGS[:2],
        "--criterion",
        "good design",
        "--criterion",
        "품질",
        "--judge",
        "none",
        "--json",
    ]
    anchors = "a heading | two | three | four | five"
    result = desk.run(
        "rubric",
        "new",
        *said,
        "--anchors",
        f"good design: {anchors}",
        "--anchors",
        f"품질: {anchors}",
    )
    assert result.code == 0 and result.json["notes"] == []  # levels say what is meant
    judge, _ = model(desk, [{"id": "good-purpose", "items": FIVE}, {"id": "end", "items": OTHER}])
    told = desk.run(
        "rubric",
        "new",
        "--about",
        "readme",
        "--criterion",
        "good purpose",
        "--criterion",
        "end",
        "--judge",
        judge,
        "--json",
    )
    assert told.code == 0, told.err
    assert any(
        "`good purpose` is hard to score" in note and "for example" in note
        for note in told.json["notes"]
    )


def test_a_check_is_drafted_only_where_it_was_asked_for(desk: Desk) -> None:
    """Said of a paragraph, `at most 60 words` stays with judges; what code decides is shown in
    full.
    """
    said = [*FLAGS, "--item", "facts: The first paragraph has at most 60 words"]
    coded = [*said, "--item", "facts: Has at most 300 words (code: max-words 300)"]
    result = desk.run("rubric", "new", *coded, "--yes")
    assert result.code == 0, result.err
    assert "Has at most 300 words (code: max-words 300, whole text)" in result.out
    items = read_rubric(desk.folder / "rubric.yaml").rubric.criteria[0].items
    assert [item.check.kind if item.check else None for item in items[5:]] == [None, "max-words"]
    shown = desk.run("rubric", "new", *coded, "--json").json["criteria"][0]["items"][6]
    assert (shown["check"], shown["code"]) == ("max-words", "max-words 300, whole text")


def test_a_check_that_a_draft_cannot_name_is_refused(desk: Desk) -> None:
    refused = desk.run("rubric", "new", *FLAGS, "--item", "facts: Tests pass (code: pytest)")
    assert refused.is_refusal
    assert "`pytest` is not a check that a draft can name" in refused.err


# -------------------------------------------------------------------------------------------------------------
# a model


def model(desk: Desk, *replies: Any) -> tuple[str, Path]:
    """A `cmd:` judge that gives these replies in turn, and the log of what it was asked."""
    log = desk.logs / "asked.jsonl"
    desk.file(
        "model.py",
        "import json, os, sys\n"
        f"log, replies = {str(log)!r}, {[r if isinstance(r, str) else json.dumps({'criteria': r}) for r in replies]!r}\n"
        "asked = open(log).read().count(chr(10)) if os.path.exists(log) else 0\n"
        "open(log, 'a').write(json.dumps(sys.stdin.read()) + chr(10))\n"
        "print(replies[min(asked, len(replies) - 1)])\n",
    )
    return f"cmd:{sys.executable} -I -S model.py", log


def asked(log: Path) -> list[str]:
    return [json.loads(row) for row in log.read_text().splitlines()] if log.exists() else []


BARE = ["--about", "an answer", "--criterion", "facts: what can be checked", "--criterion", "voice"]
DRAFTED = [
    {"id": "facts", "requirement": "The facts are there", "items": FIVE},
    {"id": "voice", "items": OTHER},
]


def test_a_model_drafts_the_items(desk: Desk) -> None:
    """One call, our prompt with the person's words in it; its items and nothing else; equal
    weights.
    """
    judge, log = model(desk, DRAFTED)
    result = desk.run("rubric", "new", *BARE, "--judge", judge, "--yes", "--json")
    assert result.code == 0, result.err
    assert [item["requirement"] for item in result.json["criteria"][1]["items"]] == OTHER
    assert [row["weight"] for row in result.json["criteria"]] == [50, 50]
    assert result.json["criteria"][0]["from"] == f"drafted by {judge}"
    assert len(asked(log)) == 1 and "described as: what can be checked" in asked(log)[0]
    assert strictly_sound(desk)


def test_a_bad_draft_is_asked_for_once_more_with_the_errors(desk: Desk) -> None:
    """The second prompt names what was wrong with the first reply."""
    judge, log = model(desk, [{"id": "facts", "items": FIVE[:3]}], DRAFTED)
    assert desk.run("rubric", "new", *BARE, "--judge", judge, "--yes").code == 0
    first, second = asked(log)
    assert "could not be used" not in first
    assert "has 3 items" in second and "criterion `voice` is missing" in second


def test_two_bad_drafts_fall_back_to_the_words(desk: Desk) -> None:
    """Never a third call; with enough words of one's own the rubric is written, with a note; else
    items are asked for.
    """
    judge, log = model(desk, "I would rather not.")
    result = desk.run("rubric", "new", *BARE, "--judge", judge, "--yes")
    assert result.is_refusal and "--item" in result.err and len(asked(log)) == 2
    full = desk.run("rubric", "new", *FLAGS, "--judge", judge, "--yes", "--json")
    assert full.code == 0 and any("could not be used" in note for note in full.json["notes"])
    assert [item["requirement"] for item in full.json["criteria"][0]["items"]] == FIVE


def test_own_items_stay_first_beside_a_models(desk: Desk) -> None:
    """What a person gave is never replaced by what a model drafted."""
    judge, _ = model(desk, DRAFTED)
    result = desk.run(
        "rubric",
        "new",
        *BARE,
        "--item",
        "voice: Uses the reporter's words",
        "--judge",
        judge,
        "--yes",
        "--json",
    )
    assert [item["requirement"] for item in result.json["criteria"][1]["items"]] == [
        "Uses the reporter's words",
        *OTHER,
    ]


def test_what_was_paid_for_is_not_asked_twice(desk: Desk) -> None:
    """Looking with `--json` and accepting with `--yes` is one call and one draft."""
    judge, log = model(
        desk, DRAFTED, [{"id": "facts", "items": OTHER}, {"id": "voice", "items": FIVE}]
    )
    look = desk.run("rubric", "new", *BARE, "--judge", judge, "--json").json
    done = desk.run("rubric", "new", *BARE, "--judge", judge, "--json", "--yes").json
    assert look["criteria"] == done["criteria"] and len(asked(log)) == 1
    assert not (desk.folder / "rubric.yaml.draft").exists()


def test_a_model_that_crashes_is_a_note(desk: Desk) -> None:
    """It costs the person nothing but the draft."""
    desk.file("model.py", "import sys\nsys.exit('no key')\n")
    result = desk.run(
        "rubric", "new", *FLAGS, "--judge", f"cmd:{sys.executable} -I -S model.py", "--yes"
    )
    assert result.code == 0 and "note:" in result.err and "no key" in result.err


# -----------------------------------------------------------------------------------------------------
# at a terminal


class Talk:
    """The command at a terminal of its own: wait for words on the page, type, go on."""

    def __init__(
        self,
        desk: Desk,
        *args: str,
        env: dict[str, str] | None = None,
        size: tuple[int, int] = (40, 100),
    ) -> None:
        self.child = pexpect.spawn(
            HONESTONE,
            ["rubric", "new", *args],
            cwd=str(desk.folder),
            env={**desk.env, "TERM": "xterm", **(env or {})},
            dimensions=size,
            encoding="utf-8",
            timeout=20,
        )
        self.child.delaybeforesend = 0

    def sees(self, *words: str) -> Talk:
        for one in words:
            self.child.expect_exact(one)
        return self

    def types(self, *lines: str) -> Talk:
        """Each line with Enter, once the page has shown the one before."""
        for one in lines:
            for part in range(0, len(one), 40):
                self.child.send(one[part : part + 40])
            if one:
                self.child.expect_exact(f"> {one}"[-60:])
            self.child.send("\r")
        return self

    def presses(self, keys: str) -> Talk:
        self.child.send(keys)
        return self

    def ends(self) -> tuple[int | None, str]:
        self.child.expect(pexpect.EOF)
        said = str(self.child.before)
        self.child.close()
        return self.child.exitstatus, said


@pytest.mark.slow
def test_the_whole_conversation_in_english(desk: Desk) -> None:
    """Too few criteria, a vague one, items, weights that do not sum, a floor above the threshold:
    all asked again.
    """
    talk = Talk(desk, "--judge", "none")
    talk.sees("step 1 of 3", "What will be judged?", "bug-report").types("answers to customers")
    talk.sees("What matters?").types("content: what a stranger can check")
    talk.sees("What matters so far", "1. content").types("")
    talk.sees("at least two criteria").types("good style")
    talk.sees("2. good style").types("")
    talk.sees("hard to score", "instead").types("")  # kept as it is: asked once
    talk.sees("content has 0 of at least 5").types(*FIVE)
    talk.sees("good style has 0 of at least 5").types("a")
    talk.sees("at 0 of 100").types(
        "no greeting",
        "a greeting",
        "a greeting with a name",
        "a name in every paragraph",
        "a name and a thank you",
    )
    talk.sees(
        "step 2 of 3",
        "Draft:",
        "50%",
        "what a stranger can check",
        "Names the cause",
        "50%",
        "25 = a greeting",
        "a accept",
    ).presses("w")
    talk.sees("sum to 100").types("60 60")
    talk.sees("sum to 120").types("0.7 0.3")
    talk.sees("are 70 30 meant?").types("70 30")
    talk.sees("70%", "a accept").presses("a")
    talk.sees("step 3 of 3", "overall score").types("eighty")
    talk.sees("not a number from 0 to 100").types("0.8")
    talk.sees("`0.8` is out of 100: is 80 meant?").types("80")
    talk.sees("hides a weak one").types("0.7")
    talk.sees("is 70 meant?").types("90")
    talk.sees("above the threshold").types("")
    code, said = talk.ends()
    assert code == 0, said
    assert "Evaluation contract" in said and "overall >= 80 and every criterion >= 60" in said
    found = read_rubric(desk.folder / "rubric.yaml").rubric
    assert [item.requirement for item in found.criteria[0].items] == FIVE
    assert [int(c.weight) for c in found.criteria] == [70, 30]
    assert (
        found.criteria[1].items[0].anchors is not None
        and len(found.criteria[1].items[0].anchors.levels) == 5
    )
    assert os.listdir(desk.folder) == ["rubric.yaml"]


@pytest.mark.slow
def test_the_conversation_in_korean(desk: Desk) -> None:
    """Typed byte by byte as an input method may send it; Hangul keys choose as their Latin ones do."""
    talk = Talk(desk, "--judge", "none")
    talk.sees("What will be judged?")
    for byte in "고객 답변".encode():
        os.write(talk.child.child_fd, bytes([byte]))
    talk.sees("> 고객 답변").types("")
    talk.sees("Judged: 고객 답변").types(
        "사실: 원인을 적는다, 명령을 보여 준다, 버전을 적는다, 기록을 링크한다, 메시지를 인용한다"
    )
    talk.sees("1. 사실").types("깔끔한 문장")
    talk.sees("2. 깔끔한 문장").types("")
    talk.sees("`깔끔한`", "주석으로 남은 코드").types("문장마다 마침표가 있다")
    talk.sees("깔끔한 문장 has 1 of at least 5").types(
        "반말이 없다", "느낌표가 없다", "첫 줄에 이름을 적는다"
    )
    talk.presses("마지막 줄에 서명이 있답\x7f다\r")
    talk.sees("step 2 of 3", "a accept").presses("ㅁ")
    talk.sees("overall score").types("")
    talk.sees("every criterion").types("")
    code, said = talk.ends()
    assert code == 0 and "70 of 100" in said and "깔끔한" in said
    found = read_rubric(desk.folder / "rubric.yaml").rubric
    assert found.title == "고객 답변" and [c.id for c in found.criteria] == ["사실", "깔끔한-문장"]
    assert found.criteria[1].items[4].requirement == "마지막 줄에 서명이 있다"
    assert found.criteria[1].requirement == "문장마다 마침표가 있다"
    assert strictly_sound(desk)


@pytest.mark.slow
def test_a_template_from_the_list(desk: Desk) -> None:
    """A category by its number, Enter for its criteria, accept, and the template's own bars stand."""
    number = list(template_names()).index("readme") + 1
    talk = Talk(desk)
    talk.sees("What will be judged?").types(str(number))
    talk.sees("takes the template readme").types("")
    talk.sees("a accept").presses("a")
    talk.sees("Enter alone takes 80").types("")
    talk.sees("every criterion").types("0")
    assert talk.ends()[0] == 0
    found = read_rubric(desk.folder / "rubric.yaml").rubric
    assert [c.id for c in found.criteria] == [
        "purpose",
        "getting-started",
        "finished",
        "next-steps",
    ]
    assert found.floor == 0 and found.criteria[1].floor == Fraction(7, 10) and found.has_checks


@pytest.mark.slow
def test_ctrl_c_keeps_every_answer_and_it_goes_on(desk: Desk) -> None:
    """Half a line typed, Ctrl-C: exit 130 with the way on; the next start offers it and the half
    line is there.
    """
    talk = Talk(desk, "--judge", "none")
    talk.sees("What will be judged?").types("our newsletter")
    talk.sees("What matters?").types("length: has at most 300 words", "dates")
    talk.sees("2. dates").presses("sour")
    talk.sees("> sour").presses("\x03")
    code, said = talk.ends()
    assert code == 130 and "rubric.yaml.draft" in said and "honestone rubric new" in said
    assert "Traceback" not in said and not (desk.folder / "rubric.yaml").exists()
    talk = Talk(desk, "--judge", "none")
    talk.sees(
        "unfinished rubric", "our newsletter", "1. length: has at most 300 words", "2. dates"
    ).presses("\r")
    talk.sees("> sour").presses("ces\r")
    talk.sees("3. sources").types("")
    talk.sees("length has 0 of at least 5").presses("\x04")  # Ctrl-D leaves as well
    assert talk.ends()[0] == 130
    kept = json.loads((desk.folder / "rubric.yaml.draft").read_text())
    assert [one["name"] for one in kept["wanted"]] == ["length", "dates", "sources"]
    talk = Talk(desk, "--judge", "none")
    talk.sees("unfinished rubric").presses("n")
    talk.sees("What will be judged?").presses("\x03")
    assert talk.ends()[0] == 130


@pytest.mark.slow
def test_a_draft_accepted_is_not_asked_about_again(desk: Desk) -> None:
    """Left at the bars, it goes on at the bars."""
    talk = Talk(desk, *FLAGS, "--judge", "none").sees("2. voice").types("")
    talk.sees("a accept").presses("a")
    talk.sees("overall score").presses("\x03")
    assert talk.ends()[0] == 130
    talk = Talk(desk, "--judge", "none").sees("was accepted").presses("\r")
    talk.sees("overall score").types("90")
    talk.sees("every criterion").types("50")
    assert talk.ends()[0] == 0
    found = read_rubric(desk.folder / "rubric.yaml").rubric
    assert (found.threshold, found.floor) == (Fraction(9, 10), Fraction(1, 2))


@pytest.mark.slow
def test_the_draft_in_an_editor(desk: Desk) -> None:
    """What the editor leaves is the draft; a file that is no rubric is told with its line and can
    be edited again.
    """
    editor = desk.file(
        "edit.py",
        """
import pathlib, sys
path = pathlib.Path(sys.argv[1])
text = path.read_text()
if "Names the cause" in text:
    path.write_text(text.replace("Names the cause", "Names both causes").replace("weight: 50", "wieght: 50", 1))
else:
    path.write_text(text.replace("wieght", "weight"))
""",
    )
    talk = Talk(desk, *FLAGS, "--judge", "none", env={"EDITOR": f"{sys.executable} {editor}"})
    talk.sees("2. voice").types("")
    talk.sees("a accept").presses("e")
    talk.sees("unknown key `wieght`", "did you mean `weight`").presses("e")
    talk.sees("Names both causes", "a accept").presses("a")
    talk.sees("overall score").types("")
    talk.sees("every criterion").types("")
    assert talk.ends()[0] == 0
    assert "Names both causes" in (desk.folder / "rubric.yaml").read_text()


@pytest.mark.slow
def test_start_over_asks_first_and_begins_anew(desk: Desk) -> None:
    """s, then y; any other key keeps the draft, so that a sentence typed at it cannot throw it
    away.
    """
    talk = Talk(desk, *FLAGS, "--judge", "none").sees("2. voice").types("")
    for keys in ("\r", "s", "n"):
        talk.sees("a accept").presses("s")
        talk.sees("Start over?").presses(keys)
    talk.sees("a accept").presses("s")
    talk.sees("Start over?").presses("y")
    talk.sees("What will be judged?").presses("\x03")
    assert talk.ends()[0] == 130


@pytest.mark.slow
def test_a_model_drafts_in_the_conversation(desk: Desk) -> None:
    """Named by `--judge` it is asked at once; its draft is shown and can be accepted."""
    judge, log = model(desk, DRAFTED)
    talk = Talk(desk, *BARE, "--judge", judge)
    talk.sees("2. voice").types("")
    talk.sees("The facts are there", "Thanks the reporter", "drafted by cmd:", "a accept").presses(
        "y"
    )
    talk.sees("overall score").types("")
    talk.sees("every criterion").types("")
    assert talk.ends()[0] == 0 and len(asked(log)) == 1
    assert strictly_sound(desk)


def found_model(desk: Desk, *replies: Any) -> Path:
    """Settings that name a model, so that one is found without `--judge`."""
    spec, log = model(desk, *replies)
    words = json.dumps([*spec.removeprefix("cmd:").split()[:-1], str(desk.folder / "model.py")])
    desk.file("honestone.toml", f'[judges.drafter]\nprovider = "cli"\ncommand = {words}\n')
    assert desk.run("trust").code == 0  # settings of a checkout run nothing by finding before that
    return log


@pytest.mark.slow
def test_a_model_that_was_found_is_asked_only_when_the_person_says_so(desk: Desk) -> None:
    """n drafts from the words and costs nothing; Enter lets it draft."""
    log = found_model(desk, DRAFTED)
    talk = Talk(desk, *BARE).sees("2. voice").types("")
    talk.sees("drafter can draft the items", "costs nothing").presses("n")
    talk.sees("facts has 0 of at least 5").presses("\x03")
    assert talk.ends()[0] == 130 and asked(log) == []
    (desk.folder / "rubric.yaml.draft").unlink()
    talk = Talk(desk, *BARE).sees("2. voice").types("")
    talk.sees("drafter can draft the items").presses("\r")
    talk.sees("drafted by drafter", "a accept").presses("a")
    talk.sees("step 3 of 3").presses("\x03")
    assert talk.ends()[0] == 130 and len(asked(log)) == 1


def test_by_flags_a_model_is_looked_for_only_where_words_are_too_few(desk: Desk) -> None:
    """Enough items: nobody is asked. Too few: the one that is found, and it is said before the
    call; `none` asks nobody.
    """
    log = found_model(desk, DRAFTED)
    assert desk.run("rubric", "new", *FLAGS, "--json").code == 0 and asked(log) == []
    refused = desk.run("rubric", "new", *BARE, "--judge", "none", "--yes")
    assert refused.is_refusal and asked(log) == []
    done = desk.run("rubric", "new", *BARE, "--yes")
    assert done.code == 0 and len(asked(log)) == 1 and "asking drafter" in done.err


@pytest.mark.slow
def test_a_terminal_that_cannot_move_its_cursor(desk: Desk) -> None:
    """Pages one below the other, and the same rubric."""
    talk = (
        Talk(desk, *FLAGS, "--judge", "none", env={"TERM": "dumb"}).sees("2. voice").presses("\r")
    )
    talk.sees("a accept").presses("a")
    talk.sees("overall score").presses("75\r")
    talk.sees("every criterion").presses("\r")
    code, said = talk.ends()
    assert code == 0 and "\x1b" not in said
    assert read_rubric(desk.folder / "rubric.yaml").rubric.threshold == Fraction(3, 4)


@pytest.mark.slow
def test_pasted_lines_are_criteria_of_their_own(desk: Desk) -> None:
    """A list from elsewhere is taken line by line, escape sequences in it made harmless."""
    talk = Talk(desk, "--about", "a recipe", "--judge", "none")
    talk.sees("What matters?").presses(
        "\x1b[200~- amounts: every amount has a unit\n- order\n\n- \x1b[31mheat\n\x1b[201~"
    )
    talk.sees("1. amounts: every amount has a unit", "2. order", "3. \\x1b[31mheat").presses("-3\r")
    talk.sees("> -3", "Another one, or Enter").presses("\x03")
    assert talk.ends()[0] == 130
    kept = json.loads((desk.folder / "rubric.yaml.draft").read_text())
    assert [one["name"] for one in kept["wanted"]] == ["amounts", "order"]


@pytest.mark.slow
def test_a_small_terminal_shows_the_whole_draft(desk: Desk) -> None:
    """On 12 rows of 50 columns the draft scrolls and the keys stay in sight."""
    talk = Talk(desk, *FLAGS, "--judge", "none", size=(12, 50))
    talk.sees("2. voice").types("")
    talk.sees("a accept").presses("\x1b[B" * 30)
    talk.sees("Ends with the next step", "a accept").presses("a")
    talk.sees("step 3 of 3").presses("\x03")
    assert talk.ends()[0] == 130


# --------------------------------------------------------------------------------------------------------
# what is kept

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda x: (
        st.lists(x, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "about",
                    "wanted",
                    "name",
                    "items",
                    "draft",
                    "rubric",
                    "typing",
                    "floor",
                    "replies",
                ]
            ),
            x,
            max_size=6,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_a_damaged_draft_file_is_no_draft(plain: Any) -> None:
    """Whatever lies there, it is read whole or not at all."""
    whole = {"schema": "honestone.rubric-answers/1", **to_json(from_json(None) or _answers())}
    damaged = {**whole, **plain} if isinstance(plain, dict) else plain
    read = from_json(damaged)
    assert read is None or from_json(to_json(read)) == read


def _answers() -> Any:
    from honestone.app.authoring.draft_file import RubricAnswers

    return RubricAnswers(
        about="x", wanted=[CriterionWish(name="a", items=("b",))], typing=("about", "y")
    )


@pytest.mark.slow
def test_words_that_steer_are_never_answers(desk: Desk) -> None:
    """`help` and `?` help, `done` continues, `back` returns, each in every question; none becomes a
    criterion or an item.
    """
    talk = Talk(desk, "--judge", "none")
    talk.sees("What will be judged?").types("back")
    talk.sees("this is the first question").types("help")
    talk.sees("done continues", "back returns").types("a blog post")
    talk.sees("What matters?").types("...")
    talk.sees("says nothing to look at").types("back")
    talk.sees("What will be judged?", "> a blog post").presses("\r")
    talk.sees("What matters?").types("hook: opens with an event")
    talk.sees("1. hook").types("zest: names numbers")
    talk.sees("2. zest").types("done")
    talk.sees("hook has 0 of at least 5").types("?")
    talk.sees("done continues", "back returns").types("!!")
    talk.sees("neither true nor false").types("Done")
    talk.sees("5 more items at least").types(*FIVE[:2])
    talk.sees("hook has 2 of").types("BACK")
    talk.sees("What matters so far", "1. hook", "2. zest").types("done")
    talk.sees("hook has 2 of").types(*FIVE[2:])
    talk.sees("zest has 0 of").types("a")
    talk.sees("at 0 of 100").types("none")
    talk.sees("at 25 of 100").types("back")
    talk.sees("zest has 0 of").types(*(one.replace("Names", "Counts") for one in FIVE))
    talk.sees("a accept").presses("w")
    talk.sees("sum to 100").types("back")
    talk.sees("a accept").presses("a")
    talk.sees("overall score").types("back")
    talk.sees("a accept").presses("a")
    talk.sees("overall score").types("85")
    talk.sees("on its own").types("back")
    talk.sees("overall score").types("help")
    talk.sees("done continues").types("90")
    talk.sees("on its own").types("done")
    code, said = talk.ends()
    assert code == 0, said
    found = read_rubric(desk.folder / "rubric.yaml").rubric
    items = {
        criterion.id: [item.requirement for item in criterion.items] for criterion in found.criteria
    }
    assert list(items) == ["hook", "zest"] and {len(one) for one in items.values()} == {5}
    assert not [
        one
        for each in items.values()
        for one in each
        if one.lower() in ("help", "?", "!!", "done", "back")
    ]
    assert (found.threshold * 100, found.title) == (90, "a blog post")
