"""Transcripts: sessions of several programs are read for what was asked and whether it was taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.errors import FileError
from honestone.core.suite.case import split_of
from honestone.interop.transcripts import (
    HIDDEN,
    Ask,
    Sessions,
    Turn,
    ask_of,
    draft_from_sessions,
    read_sessions,
    read_transcripts,
    without_machinery,
)


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def claude(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": content}, "sessionId": "s", **more}


def codex(role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"timestamp": "t", "type": "response_item", "payload": message}


def read(path: Path) -> list[Turn]:
    ((_, turns),) = read_sessions(path)
    return turns


SAID = [Turn("user", "Name the tier of 0.9"), Turn("assistant", "POWERFUL"), Turn("user", "thanks")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "claude.jsonl",
            lines(
                {"type": "summary", "summary": "x"},
                claude("user", "Caveat: The messages below were generated", isMeta=True),
                claude("user", "<system-reminder>be good</system-reminder>Name the tier of 0.9"),
                claude(
                    "assistant",
                    [
                        {"type": "thinking", "thinking": "hm"},
                        {"type": "text", "text": "Let me look."},
                    ],
                ),
                claude("assistant", [{"type": "tool_use", "name": "Bash", "input": {}}]),
                claude("user", [{"type": "tool_result", "content": "0.9 is high"}]),
                claude("assistant", "a helper's word", isSidechain=True),
                claude("assistant", [{"type": "text", "text": "POWERFUL"}]),
                claude("user", [{"type": "text", "text": "thanks"}]),
            ),
        ),
        (
            "codex.jsonl",
            lines(
                {"type": "session_meta", "payload": {"id": "x"}},
                codex(
                    "user", "# AGENTS.md instructions for /x\n<INSTRUCTIONS>be good</INSTRUCTIONS>"
                ),
                codex("user", "<environment_context>x</environment_context>"),
                codex("developer", "be good"),
                codex("user", "Name the tier of 0.9"),
                {
                    "type": "event_msg",
                    "payload": {"type": "user_message", "message": "Name the tier of 0.9"},
                },
                {
                    "type": "response_item",
                    "payload": {"type": "function_call", "name": "shell", "arguments": "{}"},
                },
                codex("assistant", "POWERFUL"),
                codex("user", "thanks"),
            ),
        ),
        (
            "plain.json",
            json.dumps(
                {
                    "messages": [
                        {"role": "system", "content": "be good"},
                        {"role": "user", "content": "Name the tier of 0.9"},
                        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
                        {"role": "tool", "content": "0.9 is high"},
                        {"role": "assistant", "content": "POWERFUL"},
                        {"role": "user", "content": "thanks"},
                    ]
                },
                indent=1,
            ),
        ),
        (
            "shared.json",
            json.dumps(
                {
                    "conversations": [
                        {"from": "human", "value": "Name the tier of 0.9"},
                        {"from": "gpt", "value": "POWERFUL"},
                        {"from": "human", "value": "thanks"},
                    ]
                }
            ),
        ),
        (
            "gemini.json",
            json.dumps(
                {
                    "history": [
                        {"role": "user", "parts": [{"text": "Name the tier of 0.9"}]},
                        {
                            "role": "model",
                            "parts": [{"text": "hm", "thought": True}, {"text": "POWERFUL"}],
                        },
                        {"role": "user", "parts": [{"text": "thanks"}]},
                    ]
                }
            ),
        ),
    ],
)
def test_sessions_of_each_program_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    """What people and the agent said; nothing of tools, thoughts, helpers, instructions or
    reminders.
    """
    (tmp_path / name).write_text(text)
    assert read(tmp_path / name) == SAID


def test_json_lines_of_conversations_are_many_sessions(tmp_path: Path) -> None:
    """One object with messages a line: each is a session with the line where it stands."""
    one = {"messages": [{"role": "user", "content": "First one"}]}
    two = {"messages": [{"role": "user", "content": "Second one"}]}
    (tmp_path / "x.jsonl").write_text(lines(one) + "broken {\n" + lines(two))
    assert [(at, turns[0].text) for at, turns in read_sessions(tmp_path / "x.jsonl")] == [
        (1, "First one"),
        (3, "Second one"),
    ]


@pytest.mark.parametrize(
    ("said", "taken", "corrections"),
    [
        (["thanks, that works"], True, 0),
        (["No, I meant the other file"], None, 1),
        (["that's wrong", "perfect"], True, 1),
        (["Now do the next thing"], None, 0),
        ([], None, 0),
        (["不对，重来", "好的"], True, 1),
    ],
)
def test_how_an_answer_was_taken(said: list[str], taken: bool | None, corrections: int) -> None:
    """Thanks take it, a refusal is a correction, and anything else tells nothing."""
    turns = [Turn("user", "Do it please"), Turn("assistant", "done")]
    for text in said:
        turns += [Turn("user", text), Turn("assistant", "done again")]
    found = ask_of(turns, "x:1")
    assert found is not None
    assert (found.taken, len(found.corrections)) == (taken, corrections)


def ask(
    prompt: str,
    answer: str = "A long answer of many words that nobody would ever write again in just this way",
    **more: Any,
) -> Ask:
    return Ask(prompt=prompt, answer=answer, place="logs/a.jsonl:1", **more)


def drafted(*asks: Ask, **more: Any) -> Any:
    return draft_from_sessions(Sessions(asks=asks, files=1), **more)


def test_a_short_answer_that_was_taken_is_judged_by_its_words() -> None:
    """Code answers where the accepted answer is a name; else a judge compares with it."""
    short, long = drafted(
        ask("Name the tier of 0.9", "`POWERFUL`", taken=True), ask("Explain the tiers")
    ).suite.cases[::-1]
    assert [item.check.value for _, item in short.rubric.questions() if item.check] == ["POWERFUL"]
    assert long.rubric.asks_judges
    assert long.reference is not None


def test_what_was_asked_for_afterwards_is_what_is_judged() -> None:
    """A correction says what the first answer lacked."""
    (case,) = drafted(
        ask("Write the release note", corrections=("You forgot the date",), taken=True)
    ).suite.cases
    assert "You forgot the date" in case.rubric.criteria[0].requirement


def test_splits_are_by_the_id_alone() -> None:
    """More sessions move no task to another split, and no other id."""
    few = drafted(*(ask(f"Explain thing number {n}") for n in range(5))).suite.cases
    many = {
        case.id: case
        for case in drafted(
            *(ask(f"Explain thing number {n}") for n in range(30)), most=50
        ).suite.cases
    }
    assert len(many) == 30
    for case in few:
        assert case.split == split_of(case.id) == many[case.id].split


def test_the_same_ask_is_one_task_and_limits_are_told() -> None:
    """Repeated prompts, asks that are too short or unanswered, and more than asked for."""
    out = drafted(
        ask("Explain it all"),
        ask("explain  it ALL"),
        ask("hi"),
        ask("Explain more", answer=""),
        ask("Explain the rest"),
        most=1,
    )
    assert len(out.suite.cases) == 1
    assert any("2 sessions left out" in note for note in out.notes)
    assert any("1 more sessions" in note for note in out.notes)


def test_secrets_do_not_get_into_a_suite() -> None:
    """Neither from the prompt nor from the answer."""
    key = "sk-" + "a1B2" * 8
    out = drafted(ask(f"Use {key} to call it", answer=f"I used {key} and it went well"))
    (case,) = out.suite.cases
    assert key not in case.input + (case.reference or "")
    assert HIDDEN in case.input
    assert any("secret" in note for note in out.notes)


def test_a_folder_without_sessions_is_refused(tmp_path: Path) -> None:
    """No folder, an empty one, files that hold something else, binary ones."""
    with pytest.raises(FileError, match="not found"):
        read_transcripts(tmp_path / "gone")
    with pytest.raises(FileError, match="no session"):
        read_transcripts(tmp_path)
    (tmp_path / "a.json").write_text('{"shopping": ["milk"]}')
    (tmp_path / "b.jsonl").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "c.json").write_text("[" * 100_000)
    with pytest.raises(FileError, match="not UTF-8"):
        read_transcripts(tmp_path)


def test_one_broken_file_does_not_hide_the_others(tmp_path: Path) -> None:
    """It is told in a note."""
    (tmp_path / "a.jsonl").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/b.jsonl").write_text(
        lines(claude("user", "Explain it all"), claude("assistant", "so"))
    )
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "deep/b.jsonl")
    found = read_transcripts(tmp_path)
    assert [one.prompt for one in found.asks] == ["Explain it all"]
    assert len(found.notes) == 1


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "type",
                    "message",
                    "payload",
                    "messages",
                    "parts",
                    "text",
                    "from",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(_JSON, max_size=5))
def test_no_json_whatever_ends_the_reading(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any]
) -> None:
    """Any values at all, as lines and as one document: messages or nothing."""
    folder = tmp_path_factory.mktemp("any")
    for name, text in (("a.jsonl", lines(*rows)), ("b.json", json.dumps(rows, indent=1))):
        (folder / name).write_text(text)
        for _, turns in read_sessions(folder / name):
            assert all(turn.text.strip() and turn.role in ("user", "assistant") for turn in turns)


def test_a_command_of_the_program_is_no_ask() -> None:
    """`/clear` and what a program wrote under a person's name."""
    assert without_machinery("/clear") == ""
    assert without_machinery("<command-name>/x</command-name> <command-args>y</command-args>") == ""
    assert without_machinery("Read <b>this</b>") == "Read <b>this</b>"
