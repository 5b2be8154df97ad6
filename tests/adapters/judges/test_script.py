"""`script:` judges: what they are sent, how their ends are read, and what they never see."""

from __future__ import annotations

import asyncio
import json
import sys
import textwrap
from pathlib import Path

import pytest

from honestone.adapters.judges.script import ScriptJudge
from honestone.core.artifact import Artifact, Entry, Version
from honestone.core.judging.ballot import Question, asked_criteria
from honestone.core.judging.rubric import Anchors, Criterion, Item, Rubric
from honestone.ports import CallFailed, Reading, Reply
from honestone.system.processes.program import Program

YES_NO = Item(id="one", requirement="It is good", whole=True)
SCALED = Item(
    id="one",
    requirement="It is good",
    whole=True,
    anchors=Anchors(levels=((0, "bad"), (10, "good"))),  # type: ignore[arg-type]
)


def question(*items: Item, text: str = "hello", folder: bool = False) -> Question:
    criteria = (Criterion(id="one", requirement="It is good", items=items or (YES_NO,)),)
    version = Version({"a.md": Entry(text.encode())}, is_folder=folder)
    return Question(
        artifact=Artifact("a.md", version), criteria=asked_criteria(Rubric(criteria=criteria))
    )


def judge(
    folder: Path, body: str, *, timeout: float = 20, pass_env: tuple[str, ...] = ()
) -> ScriptJudge:
    (folder / "j.py").write_text("import json, os, sys, time\n" + textwrap.dedent(body))
    argv = [sys.executable, "-I", "-S", "j.py"]
    return ScriptJudge("j", Program(argv=argv, cwd=folder, timeout=timeout, pass_env=pass_env))


def ask(script: ScriptJudge, asked: Question, problems: tuple[str, ...] = ()) -> Reply:
    return asyncio.run(script.ask(script.render(asked, problems), asked))


def read(script: ScriptJudge, asked: Question) -> Reading:
    request = script.render(asked)
    return script.read(asked, request, asyncio.run(script.ask(request, asked)))


def test_the_request_is_one_json_object_on_stdin(tmp_path: Path) -> None:
    """What the program reads is the request that was rendered, text beyond ASCII included."""
    script = judge(tmp_path, "sys.stdout.write(sys.stdin.read())")
    asked = question(text="früh ☕\r\n")
    sent = json.loads(ask(script, asked).text)
    assert sent["schema"] == "honestone.judge-request/1"
    assert sent["artifact"]["text"] == "früh ☕\r\n"
    assert "problems" not in sent
    again = json.loads(ask(script, asked, ("no answer",)).text)
    assert again["problems"] == ["no answer"]


def test_rendering_is_pure(tmp_path: Path) -> None:
    """The same question is the same request; another draw is another."""
    script = judge(tmp_path, "")
    asked = question()
    assert script.render(asked) == script.render(asked)


@pytest.mark.parametrize(("code", "answer"), [(0, True), (1, False), (255, False)])
def test_an_exit_code_answers_one_yes_no_question(tmp_path: Path, code: int, answer: bool) -> None:
    """With nothing on stdout and stderr, 0 is yes and any other code no."""
    reading = read(judge(tmp_path, f"sys.exit({code})"), question())
    assert [mark.answer for mark in reading.marks.values()] == [answer]
    assert reading.is_clean


@pytest.mark.parametrize(
    "items",
    [(SCALED,), (Item(id="a", requirement="A"), Item(id="b", requirement="B"))],
    ids=["scaled", "two"],
)
def test_an_exit_code_says_nothing_about_anything_else(
    tmp_path: Path, items: tuple[Item, ...]
) -> None:
    """Where a scale or several items are asked, silence is an error for each of them."""
    reading = read(judge(tmp_path, ""), question(*items))
    assert reading.marks == {}
    assert len(reading.errors) == len(items)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "sys.exit('first line\\nthe quota is used up')",
            "ended with exit code 1: the quota is used up",
        ),
        ("print('{}'); sys.exit('late')", "late"),
        ("os.kill(os.getpid(), 9)", "was ended by signal 9"),
        ("time.sleep(30)", "no reply within 0.3 s"),
        ("while True: os.write(1, b'x' * 65536)", "more than can be a reply"),
    ],
)
def test_a_failed_program_is_no_reply(tmp_path: Path, body: str, words: str) -> None:
    """A crash, a signal, a time-out or a flood raises with the reason; there is nothing to keep."""
    timeout = 0.3 if "sleep" in body else 20
    with pytest.raises(CallFailed) as caught:
        ask(judge(tmp_path, body, timeout=timeout), question())
    assert words in caught.value.reason
    assert not caught.value.missing


def test_words_on_stderr_do_no_harm_to_an_answer(tmp_path: Path) -> None:
    """A program may log as it likes when it answers; words alone are not a yes."""
    said = "print('loading', file=sys.stderr)\n"
    criterion = next(iter(question().items()))[0][0]
    answer = f"print({json.dumps({'criteria': {criterion: {'met': True}}})!r})"
    assert [
        mark.answer for mark in read(judge(tmp_path, said + answer), question()).marks.values()
    ] == [True]
    with pytest.raises(CallFailed, match="no answer, but said: loading"):
        read(judge(tmp_path, said), question())


def test_output_that_is_no_utf8_is_an_error_and_no_crash(tmp_path: Path) -> None:
    """Bytes that are no text are kept replaced, and answer nothing."""
    reading = read(judge(tmp_path, "os.write(1, b'\\xff\\xfe{')"), question())
    assert reading.marks == {}
    assert reading.problems


def test_a_program_that_reads_nothing_can_still_answer(tmp_path: Path) -> None:
    """A large request that nobody reads blocks nothing."""
    script = judge(tmp_path, 'print(\'{"criteria": {"one": {"met": true}}}\')')
    reading = read(script, question(text="x" * 1_000_000))
    assert [mark.answer for mark in reading.marks.values()] == [True]


def test_its_identity_holds_the_digest_of_its_files(tmp_path: Path) -> None:
    """A changed program is another judge; the folder and the time limit are no part of who it is."""
    script = judge(tmp_path, "print(1)")
    same = judge(tmp_path, "print(1)", timeout=5)
    assert script.identity == same.identity
    changed = judge(tmp_path, "print(2)")
    assert changed.identity != script.identity
    json.dumps(script.identity)


def test_a_secret_reaches_it_only_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is an allow-list; a variable named is passed, one that looks like a key is
    not.
    """
    monkeypatch.setenv("SOME_API_KEY", "sk-1")
    monkeypatch.setenv("PLAIN_SETTING", "x")
    body = "print(json.dumps(sorted(os.environ)))"
    assert not {"SOME_API_KEY", "PLAIN_SETTING"} & set(
        json.loads(ask(judge(tmp_path, body), question()).text)
    )
    passed = json.loads(ask(judge(tmp_path, body, pass_env=("SOME_API_KEY",)), question()).text)
    assert "SOME_API_KEY" in passed
    assert "PLAIN_SETTING" not in passed
    assert "sk-1" not in json.dumps(
        dict(judge(tmp_path, body, pass_env=("SOME_API_KEY",)).identity)
    )
