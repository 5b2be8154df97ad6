"""The form: what each key does, what is kept, what is shown; then at a real pseudo-terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.judges.human import HumanJudge, write_reply
from honestone.adapters.people.form import View, fitted, page_of, shown_text, typed_row
from honestone.adapters.people.keys import KeyReader, Press
from honestone.adapters.people.sheet import Sheet, Wish, draft_of, new_sheet, press, restore
from honestone.adapters.people.terminal import without_frames
from honestone.core.artifact import Artifact, Version
from honestone.core.judging.ballot import AskedCriterion, Mark, Question
from honestone.core.judging.rubric import Anchors, Item
from honestone.core.numbers import exact
from honestone.ports import Reply
from honestone.system.drawing import Style, width

from .desk import GOOD, HONESTONE, Desk

SCALE = Anchors(
    levels=((exact(0), "hostile"), (exact(5), "mixed"), (exact(10), "factual throughout"))
)
QUESTION = Question(
    artifact=Artifact("note.md", Version.of_text("An apple.\n", "note.md")),
    criteria=(
        AskedCriterion(
            id="words",
            requirement="It says what it must",
            items=(
                Item(id="apple", requirement="It names the apple"),
                Item(id="pear", requirement="배와 사과를 이름으로 부른다", may_not_apply=True),
            ),
        ),
        AskedCriterion(
            id="tone",
            requirement="Neutral tone",
            items=(Item(id="tone", requirement="Neutral tone", anchors=SCALE, whole=True),),
        ),
    ),
)
APPLE, PEAR, TONE = ("words", "apple"), ("words", "pear"), ("tone", "tone")
VIEW = View(name="human", path="note.md")


def typed(sheet: Sheet, keys: str) -> Wish | None:
    """Type these bytes; returns what the last key asked for beyond the sheet."""
    wish = None
    for key in KeyReader().feed(keys.encode()):
        wish = press(sheet, key)
    return wish


# ------------------------------------------------------------------------------------------------------
# what keys do


def test_yes_no_a_number_and_hand_in() -> None:
    """y, n, a number with Enter, then Enter hands everything in."""
    sheet = new_sheet(QUESTION)
    assert typed(sheet, "yn7.5\r") is None
    assert typed(sheet, "\r") is Wish.HAND_IN
    assert sheet.marks() == {APPLE: Mark(True), PEAR: Mark(False), TONE: Mark(7.5)}


def test_a_skipped_item_is_no_answer() -> None:
    """Skipping moves on and leaves no mark; the page can still be handed in."""
    sheet = new_sheet(QUESTION)
    assert typed(sheet, "ys3\r\r") is Wish.HAND_IN
    assert sheet.marks() == {APPLE: Mark(True), PEAR: None, TONE: Mark(3)}


def test_back_and_answer_again() -> None:
    """b goes back, and the later answer is the one that counts."""
    sheet = new_sheet(QUESTION)
    typed(sheet, "ybn")
    assert sheet.at == 1 and sheet.marks()[APPLE] == Mark(False)


def test_nothing_is_handed_in_while_items_are_open() -> None:
    """A sheet with open items cannot reach its end by the arrow, and Enter there leads to the first
    open one.
    """
    sheet = new_sheet(QUESTION)
    typed(sheet, "\x1b[C")
    assert sheet.at == 0 and "answer it first" in sheet.note
    sheet.at = 3
    assert typed(sheet, "\r") is None and sheet.at == 0


def test_does_not_apply_only_where_it_may() -> None:
    """x is refused on an item that always applies and taken on one that may not."""
    sheet = new_sheet(QUESTION)
    typed(sheet, "x")
    assert sheet.at == 0 and sheet.entries[0].is_open and "always applies" in sheet.note
    typed(sheet, "yx")
    assert sheet.marks()[PEAR] == Mark("n/a")


@pytest.mark.parametrize("number", ["11", "-1", "1..5", "-", "5."])
def test_a_number_off_the_scale_is_said_and_not_taken(number: str) -> None:
    """What is no number on the scale leaves the item open, and the person types another."""
    sheet = new_sheet(QUESTION)
    typed(sheet, f"yy{number}\r")
    assert sheet.at == 2 and sheet.entries[2].is_open and sheet.note
    typed(sheet, "10\r")
    assert sheet.marks()[TONE] == Mark(10)


def test_y_is_no_number_and_a_number_is_no_yes() -> None:
    """Each kind of item takes only its own keys."""
    sheet = new_sheet(QUESTION)
    typed(sheet, "1")
    assert sheet.at == 0 and sheet.typing is None and "y or n" in sheet.note
    typed(sheet, "yyy")
    assert sheet.at == 2 and sheet.entries[2].is_open and "number" in sheet.note


def test_evidence_and_suggestion_go_with_the_answer() -> None:
    """e and w take a line of text each, in any script; backspace takes back a whole letter."""
    sheet = new_sheet(QUESTION)
    typed(sheet, "e사과가 있다라\x7f\rwSay more, please\rn")
    assert sheet.marks()[APPLE] == Mark(False, ("사과가 있다",), "Say more, please")


def test_escape_leaves_the_text_as_it_was() -> None:
    """Esc while typing forgets what was typed; alone it does nothing, and never ends the form."""
    sheet = new_sheet(QUESTION)
    press(sheet, Press("char", "e"))
    press(sheet, Press("char", "z"))
    press(sheet, Press("esc"))
    assert sheet.typing is None and sheet.entries[0].evidence == ""
    assert press(sheet, Press("esc")) is None and sheet.entries[0].is_open


def test_a_korean_keyboard_works_unswitched() -> None:
    """The same key in Hangul mode means the same."""
    sheet = new_sheet(QUESTION)
    typed(sheet, "ㅛㅜ")
    assert sheet.marks()[APPLE] == Mark(True) and sheet.marks()[PEAR] == Mark(False)
    assert typed(sheet, "ㅂ") is Wish.LATER


@pytest.mark.parametrize(
    "noise",
    [
        "\x1b[A\x1b[B",
        "\x1b[15~",
        "\x1b]0;yyyy\x07",
        "\x1bPnnn\x1b\\",
        "\x1bOP",
        "\x1by",
        "\x1b[200~y\nn\ny\x1b[201~",
        "\x1b[<0;5;5M",
        "\x00\x1f",
    ],
)
def test_escape_sequences_and_pastes_answer_nothing(noise: str) -> None:
    """Arrows, function keys, mouse reports, titles and pasted text are no answers."""
    sheet = new_sheet(QUESTION)
    typed(sheet, noise)
    assert sheet.at == 0 and all(said.is_open for said in sheet.entries)
    typed(sheet, "y")
    assert sheet.at == 1


def test_a_paste_into_evidence_is_one_line() -> None:
    """Pasted line breaks do not end the line: they become spaces."""
    sheet = new_sheet(QUESTION)
    typed(sheet, "e\x1b[200~two\nlines \x1b[31mhere\x1b[201~\r")
    assert sheet.entries[0].evidence == "two lines \\x1b[31mhere" and sheet.at == 0


@given(st.binary(max_size=80), st.integers(0, 80))
def test_keys_do_not_depend_on_how_bytes_arrive(data: bytes, cut: int) -> None:
    """Split anywhere, the same bytes are the same keys."""
    whole, parted = KeyReader(), KeyReader()
    assert [*parted.feed(data[:cut]), *parted.feed(data[cut:])] == whole.feed(data)


KEYS = st.lists(
    st.sampled_from(
        [
            *"ynsbxew?oq0159.-ㅛ가",
            "\r",
            "\x7f",
            "\x15",
            "\x1b[C",
            "\x1b[D",
            "\x1b[200~a\nb\x1b[201~",
        ]
    ),
    max_size=40,
)


@given(KEYS)
def test_whatever_is_typed_survives_and_is_read_back(keys: list[str]) -> None:
    """After any keys the draft gives the same sheet, and the reply is read as exactly what was
    said.
    """
    sheet = new_sheet(QUESTION)
    typed(sheet, "".join(keys))
    again = new_sheet(QUESTION)
    restore(again, json.loads(json.dumps(draft_of(sheet))))
    assert draft_of(again) == draft_of(sheet)
    marks = sheet.marks()
    judge = HumanJudge("human", None)  # type: ignore[arg-type]
    reading = judge.read(QUESTION, judge.render(QUESTION), Reply(text=write_reply(QUESTION, marks)))
    assert reading.marks == {key: mark for key, mark in marks.items() if mark is not None}
    assert reading.is_clean


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda x: (
        st.lists(x, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["schema", "at", "said", "item", "answer", "typing", "text", "skipped", "evidence"]
            ),
            x,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_a_damaged_draft_is_never_an_invalid_answer(plain: Any) -> None:
    """Whatever lies in the draft file, the sheet opens, shows, and holds only valid answers."""
    sheet = new_sheet(QUESTION)
    if isinstance(plain, dict):
        plain = {
            "said": [{"item": list(TONE), "answer": plain}],
            **plain,
            "schema": "honestone.draft/1",
        }
    restore(sheet, plain)
    assert page_of(sheet, VIEW, Style(), 80).head
    assert sheet.entries[2].answer is None or 0 <= float(sheet.entries[2].answer) <= 10


# ------------------------------------------------------------------------------------------------------
# what is shown


@given(KEYS, st.integers(20, 120), st.integers(8, 40))
def test_a_page_fits_the_terminal(keys: list[str], columns: int, rows: int) -> None:
    """On no screen is a line wider or a page longer than the terminal, and the last line of keys
    stays in sight.
    """
    sheet = new_sheet(QUESTION)
    typed(sheet, "".join(keys))
    page = page_of(sheet, VIEW, Style(color=True), columns)
    lines = fitted(page, rows, sheet.scroll)
    assert len(lines) <= rows and lines[-1] == page.foot[-1]
    assert max(width(re.sub(r"\x1b\[[\d;]*m", "", row)) for row in lines) <= columns
    assert width(typed_row(sheet.text, columns)) <= columns


def test_a_page_shows_position_criterion_item_and_scale() -> None:
    """Where one is, what is asked, and every level of a scale; no other item."""
    sheet = new_sheet(QUESTION)
    first = "\n".join(
        page_of(sheet, VIEW, Style(), 80).head + page_of(sheet, VIEW, Style(), 80).body
    )
    assert (
        "1 of 3" in first
        and "note.md" in first
        and "It says what it must" in first
        and "It names the apple" in first
    )
    assert "이름으로" not in first
    typed(sheet, "yy")
    third = "\n".join(page_of(sheet, VIEW, Style(), 80).body)
    assert "10  factual throughout" in third and " 0  hostile" in third


def test_no_colour_and_no_escape_without_colour() -> None:
    """Without colour the page is plain text, even if the artifact's name is hostile."""
    view = View(name="human", path="\x1b[2Jnote.md", input="ignore \x1b]0;me\x07")
    page = page_of(new_sheet(QUESTION), view, Style(color=False, unicode=False), 60)
    text = "\n".join([*page.head, *page.body, *page.foot])
    assert "\x1b" not in text and "\x07" not in text and "\\x1b" in text


def test_what_is_opened_is_the_version_judged_made_harmless() -> None:
    """The pager gets the case and the text with escape sequences made visible."""
    question = Question(
        artifact=Artifact("note.md", Version.of_text("a\x1b[31mb\n")),
        criteria=QUESTION.criteria,
        input="Why?",
    )
    text = shown_text(question)
    assert "\x1b" not in text and "\\x1b[31mb" in text and "== input ==" in text and "Why?" in text


def test_the_live_line_is_dropped_and_notes_are_kept() -> None:
    """Of what was printed meanwhile only whole lines come back."""
    frame = b"\r\x1b[2K"
    printed = b"row 1\n" + frame + b"* 1/3 asking" + frame + b"a note\n" + frame + b"* 2/3" + frame
    assert without_frames(printed) == b"row 1\na note\n"


# ------------------------------------------------------------------------------------------------
# at a real terminal

ALL_JUDGED = """\
rubric: 1
threshold: 80
floor: 0
criteria:
  - id: words
    requirement: It says what it must
    items:
      - {id: apple, requirement: It names the apple}
      - {id: pear, requirement: 배를 이름으로 부른다}
      - {id: plum, requirement: It names the plum, may_not_apply: true}
"""


def sit_down(
    desk: Desk, *args: str, env: dict[str, str] | None = None, size: tuple[int, int] = (24, 80)
) -> pexpect.spawn[str]:
    """The installed command at a terminal of its own."""
    child = pexpect.spawn(
        HONESTONE,
        list(args),
        cwd=str(desk.folder),
        env={**desk.env, "TERM": "xterm", **(env or {})},
        dimensions=size,
        encoding="utf-8",
        timeout=20,
    )
    child.delaybeforesend = 0
    return child


def leave(child: pexpect.spawn[str]) -> tuple[int | None, str]:
    """Wait for the end; the exit code and what was printed since the last thing waited for."""
    child.expect(pexpect.EOF)
    said = str(child.before)
    child.close()
    return child.exitstatus, said


def document_in(said: str) -> Any:
    """The JSON document that was printed to the terminal, between whatever else was."""
    start = re.search(r'\{\s+"schema"', said)
    assert start is not None, said
    return json.JSONDecoder().raw_decode(said[start.start() :])[0]


def evaluating(desk: Desk, *more: str) -> list[str]:
    return ["eval", "note.md", "--rubric", "rubric.yaml", "--judge", "human", *more]


@pytest.fixture
def asked(desk: Desk) -> Desk:
    desk.rubric(ALL_JUDGED)
    desk.file("note.md", GOOD)
    return desk


@pytest.mark.slow
def test_a_person_alone_scores_their_file(asked: Desk) -> None:
    """Three keys and Enter: a scorecard with exit 0, and the same command asks nobody again."""
    child = sit_down(asked, *evaluating(asked))
    child.expect("1 of 3")
    child.send("y")
    child.expect("2 of 3")
    child.send("y")
    child.expect("3 of 3")
    child.send("x")
    child.expect("Enter hands it in")
    child.send("\r")
    code, said = leave(child)
    assert code == 0 and "PASSED" in said and "human: 3 items answered" in said
    again = asked.run(*evaluating(asked, "--json"))
    assert (
        again.code == 0 and again.json["usage"]["cached_calls"] == 1 and again.json["score"] == 100
    )
    assert not list((asked.store / "drafts").glob("*.json"))


@pytest.mark.slow
def test_stdin_and_stdout_may_be_pipes(asked: Desk) -> None:
    """The form is on the terminal while JSON goes through a pipe."""
    command = f"{HONESTONE} {' '.join(evaluating(asked, '--json'))} < /dev/null | cat > out.json"
    child = pexpect.spawn(
        "/bin/sh",
        ["-c", command],
        cwd=str(asked.folder),
        env={**asked.env, "TERM": "xterm"},
        encoding="utf-8",
        timeout=20,
    )
    child.expect("1 of 3")
    child.send("nnn\r")
    leave(child)
    document = json.loads((asked.folder / "out.json").read_text())
    (judge,) = document["judges"]
    assert document["score"] == 0 and (judge["id"], judge["state"], judge["reason"]) == (
        "human",
        "AVAILABLE",
        None,
    )


def test_skipped_items_are_abstentions_asked_once(asked: Desk) -> None:
    """A skipped item has no vote and leaves the verdict open; nobody is asked a second time for it."""
    child = sit_down(asked, *evaluating(asked, "--json"))
    child.expect("1 of 3")
    child.send("ysn\r")
    code, said = leave(child)
    document = document_in(said)
    items = document["criteria"][0]["items"]
    assert [item["votes"] for item in items] == [{"human": "yes"}, {}, {"human": "no"}]
    assert document["usage"]["judge_calls"] == 1 and document["score"] is None and code == 1


@pytest.mark.slow
@pytest.mark.parametrize("how", ["q", "ctrl-c", "kill", "hang-up"])
def test_put_off_interrupted_or_killed_it_goes_on_at_the_same_item(asked: Desk, how: str) -> None:
    """What was answered is there again, and so is half a line of text that was being typed."""
    child = sit_down(asked, *evaluating(asked))
    child.expect("1 of 3")
    child.send("y")
    child.expect("2 of 3")
    if how == "q":
        child.send("q")
    else:
        child.send("wmore abou")
        child.expect("> more abou")
        if how == "ctrl-c":
            child.sendintr()
        else:
            child.kill(signal.SIGKILL)
    if how == "hang-up":
        child.close()  # the window is closed: the process is told and ends
        assert not child.isalive()
    else:
        code, said = leave(child)
        assert how == "kill" or (code == 130 and "run the same command to resume" in said)
    child = sit_down(asked, *evaluating(asked, "--json"))
    child.expect("2 of 3")
    if how != "q":
        child.expect("> more abou")
        child.send("t pears\r")
    child.send("n")
    child.expect("3 of 3")
    child.send("y\r")
    code, said = leave(child)
    items = document_in(said)["criteria"][0]["items"]
    assert [item["votes"]["human"] for item in items] == ["yes", "no", "yes"]
    assert items[1]["suggestion"] == (None if how == "q" else "more about pears")


@pytest.mark.slow
def test_the_terminal_is_given_back_as_it_was(asked: Desk) -> None:
    """After q the line editing and echo of the terminal are on again."""
    script = f"{HONESTONE} {' '.join(evaluating(asked))}; stty -a"
    child = pexpect.spawn(
        "/bin/sh",
        ["-c", script],
        cwd=str(asked.folder),
        env={**asked.env, "TERM": "xterm"},
        encoding="utf-8",
        timeout=20,
    )
    child.expect("1 of 3")
    child.send("q")
    _, said = leave(child)
    assert re.search(r"(?<!-)\bicanon\b", said) and re.search(r"(?<!-)\becho\b", said)
    assert "\x1b[?1049l" in said and "\x1b[?2004l" in said


def test_a_terminal_without_a_cursor_will_do(asked: Desk) -> None:
    """TERM=dumb: plain lines one below the other, not one escape sequence."""
    child = sit_down(asked, *evaluating(asked), env={"TERM": "dumb"})
    seen = ""
    for wait, key in (
        ("1 of 3", "e"),
        ("Enter keeps it", "an apple\rn"),
        ("2 of 3", "y"),
        ("3 of 3", "n"),
        ("hands it in", "\r"),
    ):
        child.expect(wait)
        seen += str(child.before) + str(child.after)
        child.send(key)
    code, said = leave(child)
    assert code == 1 and "\x1b" not in seen and "> an apple" in seen
    assert "“an apple” (human, in the artifact)" in said


def test_a_narrow_terminal_holds_korean(asked: Desk) -> None:
    """At 24 columns the item is broken between words and the form still works."""
    child = sit_down(asked, *evaluating(asked), size=(16, 24))
    child.expect("1 of 3")
    child.send("y")
    child.expect("배를 이름으로 부른다")
    child.send("yy\r")
    code, _ = leave(child)
    assert code == 0


def test_the_pager_shows_what_is_judged(asked: Desk) -> None:
    """o opens the artifact in $PAGER, and the form comes back at the same item; no key reaches the
    pager's variables.
    """
    pager = asked.file(
        "pager.py",
        "import os, sys\nprint('PAGER GOT', open(sys.argv[1]).read(), os.environ.get('MY_API_KEY'))\n",
    )
    env = {"PAGER": f"{sys.executable} {pager}", "MY_API_KEY": "hidden-value"}
    child = sit_down(asked, *evaluating(asked), env=env)
    child.expect("1 of 3")
    child.send("o")
    child.expect("PAGER GOT # Fruit")
    child.expect("None")
    child.expect("1 of 3")
    child.send("yyy\r")
    code, _ = leave(child)
    assert code == 0


def test_two_artifacts_are_asked_one_after_the_other(asked: Desk) -> None:
    """Rows that are ready while the form is open come after it; both files are judged in their
    order.
    """
    asked.file("second.md", "Nothing.\n")
    child = sit_down(
        asked, "eval", "note.md", "second.md", "--rubric", "rubric.yaml", "--judge", "human"
    )
    child.expect("note.md.*1 of 3")
    child.send("yyy\r")
    child.expect("second.md.*1 of 3")
    child.send("nnn\r")
    code, said = leave(child)
    assert code == 1 and said.index("✓ note.md") < said.index("✗ second.md")


@pytest.mark.slow
def test_another_judge_goes_on_while_the_person_thinks(asked: Desk) -> None:
    """A script judge is asked and answers although the form stays open."""
    judge = asked.judge("script")
    child = sit_down(asked, *evaluating(asked, "--judge", judge.spec, "--json"))
    child.expect("1 of 3")
    deadline = time.monotonic() + 300
    while not judge.calls and time.monotonic() < deadline:
        time.sleep(0.02)
    assert judge.calls == 1
    child.send("yyy\r")
    _, said = leave(child)
    document = document_in(said)
    assert [judge["state"] for judge in document["judges"]] == ["AVAILABLE", "AVAILABLE"]


def test_judge_timeout_does_not_hurry_a_person(asked: Desk) -> None:
    """The limit for judges is over long before the answer, which counts all the same."""
    child = sit_down(asked, *evaluating(asked, "--judge-timeout", "0.2"))
    child.expect("1 of 3")
    time.sleep(0.6)
    child.send("yyy\r")
    code, _ = leave(child)
    assert code == 0


def test_without_a_terminal_it_says_what_to_do_instead(asked: Desk) -> None:
    """No terminal: exit 3, the judge SKIPPED, and the words name `judge prompt` and `judge submit`."""
    found = asked.run(*evaluating(asked, "--json"), prefix=["setsid"])
    assert found.code == 3
    (state,) = found.json["judges"]
    assert (
        state["state"] == "SKIPPED"
        and "honestone agent prompt" in state["reason"]
        and "no terminal" in state["reason"]
    )


# --------------------------------------------------------------------------------------------- a
# person alone improves

PARTLY = """\
rubric: 1
threshold: 80
floor: 60
criteria:
  - id: words
    requirement: It names the fruit
    items:
      - {id: apple, requirement: It names the apple}
      - {id: pear, requirement: It names the pear}
  - id: heading
    requirement: It has a heading
    check: {regex: '^# '}
"""


def _editor(desk: Desk, name: str, body: str) -> str:
    """A scripted $EDITOR: a program that edits the file it is given."""
    path = desk.file(
        name,
        f"import pathlib, sys\npath = pathlib.Path(sys.argv[1])\ntext = path.read_text()\n{body}\n",
    )
    return f"{sys.executable} {path}"


def _improving(desk: Desk, *more: str) -> list[str]:
    holdout = desk.judge("witness")
    return [
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        "human",
        "--worker",
        "human",
        "--holdout",
        holdout.spec,
        *more,
    ]


@pytest.fixture
def unfinished(desk: Desk) -> Desk:
    desk.rubric(PARTLY)
    desk.file("note.md", "# Fruit\n\nAn apple a day.\n")
    return desk


@pytest.mark.slow
def test_a_person_alone_improves_their_file_to_passed(unfinished: Desk) -> None:
    """Judge the baseline, edit in $EDITOR, judge again; checks and a script as the witness certify:
    PASSED.
    """
    editor = _editor(unfinished, "editor.py", "path.write_text(text + 'And a pear.\\n')")
    child = sit_down(unfinished, *_improving(unfinished), env={"EDITOR": editor}, size=(40, 120))
    child.expect("1 of 2")
    child.send("yn\r")
    child.expect("It names the pear")
    child.expect("The copy to edit: (.*note.md)")
    assert str(unfinished.store) in child.match.group(1)
    child.expect("Enter opens it")
    child.send("\r")
    child.expect("1 of 2")
    child.send("yy\r")
    code, said = leave(child)
    assert code == 0 and "PASSED" in said
    assert (unfinished.folder / "note.md").read_text().endswith("And a pear.\n")
    assert unfinished.run("show", "--json").json["policy"] == "keep-best", (
        "a person is asked once about a version"
    )
    assert not list((unfinished.store / "drafts").iterdir())


@pytest.mark.slow
def test_without_an_editor_the_copy_is_edited_elsewhere(unfinished: Desk) -> None:
    """No $EDITOR: the path is named, somebody edits it, and Enter hands it in."""
    child = sit_down(unfinished, *_improving(unfinished), size=(40, 120))
    child.expect("1 of 2")
    child.send("yn\r")
    child.expect("The copy to edit: (.*note.md)")
    place = Path(child.match.group(1))
    child.expect("press Enter")
    place.write_text(place.read_text() + "And a pear.\n")
    child.send("\r")
    child.expect("1 of 2")
    child.send("yy\r")
    code, _ = leave(child)
    assert code == 0 and "pear" in (unfinished.folder / "note.md").read_text()


@pytest.mark.slow
def test_giving_up_a_round_leaves_the_file_alone(unfinished: Desk) -> None:
    """q in every round: each is `unchanged`, and the loop says that nothing was changed."""
    child = sit_down(unfinished, *_improving(unfinished, "--json"), size=(40, 200))
    child.expect("1 of 2")
    child.send("yn\r")
    for _ in range(3):
        child.expect("The copy to edit: (.*note.md)")
        Path(child.match.group(1)).write_text("given up")
        child.expect("q gives this round up")
        child.send("q")
    code, said = leave(child)
    document = document_in(said)
    assert code == 1 and document["result"] == "NO_CHANGE"
    assert [entry["outcome"] for entry in document["rounds"]] == ["unchanged"] * 3
    assert (unfinished.folder / "note.md").read_text() == "# Fruit\n\nAn apple a day.\n"


@pytest.mark.slow
def test_an_edit_survives_a_kill(unfinished: Desk) -> None:
    """Killed while the person edits, the same command goes on with the edited copy."""
    child = sit_down(unfinished, *_improving(unfinished), size=(40, 120))
    child.expect("1 of 2")
    child.send("yn\r")
    child.expect("The copy to edit: (.*note.md)")
    place = Path(child.match.group(1))
    child.expect("press Enter")
    place.write_text(place.read_text() + "And a pear.\n")
    os.kill(child.pid, signal.SIGKILL)
    leave(child)
    child = sit_down(unfinished, *_improving(unfinished), size=(40, 120))
    child.expect("The copy to edit: (.*note.md)")
    assert Path(child.match.group(1)) == place and "pear" in place.read_text()
    child.expect("press Enter")
    child.send("\r")
    child.expect("1 of 2")
    child.send("yy\r")
    code, _ = leave(child)
    assert code == 0


@pytest.mark.slow
def test_an_editor_that_fails_is_no_hand_in(unfinished: Desk) -> None:
    """An editor that ends with an error asks what to do; q still gives the round up."""
    editor = _editor(unfinished, "broken.py", "path.write_text('half'); sys.exit(3)")
    child = sit_down(
        unfinished,
        *_improving(unfinished, "--rounds", "1", "--json"),
        env={"VISUAL": editor},
        size=(40, 200),
    )
    child.expect("1 of 2")
    child.send("yn\r")
    child.expect("Enter opens it")
    child.send("\r")
    child.expect("ended with 3")
    child.send("q")
    code, said = leave(child)
    document = document_in(said)
    assert code == 1 and [entry["outcome"] for entry in document["rounds"]] == ["unchanged"]


@pytest.mark.slow
def test_no_terminal_for_the_worker_is_a_failed_round_not_a_change(unfinished: Desk) -> None:
    """`--worker human` without a terminal: every round says why, nothing is edited."""
    judge = unfinished.judge("steers")
    found = unfinished.run(
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        judge.spec,
        "--worker",
        "human",
        "--json",
        prefix=["setsid"],
    )
    assert found.code == 1 and found.json["result"] == "WORKER_FAILED"
    assert "no terminal to edit at" in found.json["rounds"][0]["reason"]
