"""Replies that gave no answer: evidence in the record, shown by `judge read RUN`, and asked for
again by the same command.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import ClassVar

import pytest

from honestone.app.authoring.drafting_model import DraftingCost
from honestone.core.judging.spend import Usage
from honestone.ports import CallFailed, Completion, Prompt

from .desk import Desk, until

MODEL = """
import pathlib, re, sys
prompt = sys.stdin.read()
calls = pathlib.Path("calls.txt")
calls.write_text((calls.read_text() if calls.exists() else "") + "x")
if not pathlib.Path("good").exists():
    print("I LIKECHEESE.")
    sys.exit()
import json
start = prompt.rindex('{"token"')
form = json.JSONDecoder().raw_decode(prompt[start:])[0]
asked = dict(re.findall(r"^\\[(\\d+)\\] (.+)$", prompt[prompt.rindex("Requirements:"):], re.M))
for number, requirement in asked.items():
    form["answers"][number] = {"answer": "contains the word" not in requirement}
print(json.dumps(form))
"""
JUDGE = f"cmd:{sys.executable} -I -S model.py"


@pytest.fixture
def small(desk: Desk) -> Desk:
    desk.file("model.py", MODEL)
    desk.file("note.md", "A note.\n")
    desk.file(
        "rubric.yaml",
        "rubric: 1\nthreshold: 60\ncriteria:\n  - {id: a, requirement: It is a note}\n",
    )
    return desk


def calls(desk: Desk) -> int:
    path = desk.folder / "calls.txt"
    return len(path.read_text()) if path.exists() else 0


def test_the_same_command_asks_again_and_repeats_no_usable_call(small: Desk) -> None:
    """Two calls in vain, one that is read, none after that; the report of the first run says how to
    see the replies.
    """
    ask = ("eval", "note.md", "--rubric", "rubric.yaml", "--judge", JUDGE)
    first = small.run(*ask)
    assert first.code == 3 and calls(small) == 2
    assert "2 unusable replies" in first.out and "honestone judge read" in first.out
    assert "honestone doctor" not in first.out
    (small.folder / "good").touch()
    second = small.run(*ask, "--json")
    assert second.code == 0 and calls(small) == 3
    assert "unusable" not in second.json["judges"][0]
    assert small.run(*ask).code == 0 and calls(small) == 3


@pytest.mark.slow
def test_judge_read_shows_the_replies_of_a_run(small: Desk) -> None:
    """As text and as JSON, of an eval, a comparison of two texts and a suite; a run without any
    says so.
    """
    small.file("other.md", "Another note.\n")
    small.file(
        "suite.yaml",
        "suite: 1\nrubric: {file: rubric.yaml}\ncases:\n  - {id: one, input: A note.}\n",
    )
    for command in (
        ("eval", "note.md", "--rubric", "rubric.yaml", "--judge", JUDGE),
        ("judge", "pairwise", "note.md", "other.md", "--rubric", "rubric.yaml", "--judge", JUDGE),
        ("eval", "suite.yaml", "--target", "cmd:cat", "--judge", JUDGE),
    ):
        ran = small.run(*command)
        assert ran.code == 3, ran.out + ran.err
        shown = small.run("judge", "read", "last")
        assert shown.code == 0 and "I LIKECHEESE." in shown.out, (command, shown.out + shown.err)
        found = small.run("judge", "read", "last", "--json").json
        assert {reply["text"].strip() for reply in found["replies"]} == {"I LIKECHEESE."}
    (small.folder / "good").touch()
    assert small.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", JUDGE).code == 0
    assert small.run("judge", "read", "last").out.startswith("0 unusable replies")


def test_judge_read_needs_a_kind_or_a_run(small: Desk) -> None:
    """Neither, both, and a run that is not there are refused with what to type."""
    assert small.run("judge", "read").is_refusal
    assert small.run("judge", "read", "last", "--kind", "score").is_refusal
    assert small.run("judge", "read", "nowhere").is_refusal


def test_a_suite_asks_again_only_where_the_judge_gave_no_answer(small: Desk) -> None:
    """The second run of the suite pays for the case that has none."""
    small.file(
        "suite.yaml",
        "suite: 1\nrubric: {file: rubric.yaml}\ncases:\n  - {id: one, input: A note.}\n",
    )
    first = small.run("eval", "suite.yaml", "--target", "cmd:cat", "--judge", JUDGE)
    assert first.code == 3 and "2 unusable replies" in first.out
    (small.folder / "good").touch()
    assert (
        small.run("eval", "suite.yaml", "--target", "cmd:cat", "--judge", JUDGE).code == 0
        and calls(small) == 3
    )
    assert (
        small.run("eval", "suite.yaml", "--target", "cmd:cat", "--judge", JUDGE).code == 0
        and calls(small) == 3
    )


@pytest.mark.slow
def test_improve_that_was_killed_asks_again_where_a_judge_gave_no_answer(small: Desk) -> None:
    """The baseline had only one of two judges; resumed, it has both, and the usable one costs nothing
    again.
    """
    small.file("note.md", "A note of apple.\n")
    rubric = "rubric: 1\nthreshold: 60\ncriteria:\n"
    small.file("rubric.yaml", rubric + "  - {id: a, requirement: It names the pear}\n")
    steady = small.judge("steady")
    body = """
    import os, time
    open("at-work", "w").write("x")
    while not os.path.exists(HERE + "/good"):
        time.sleep(0.05)
    put(b"A note of apple and pear.\\n")
    """
    body = body.replace("HERE", repr(str(small.folder))).replace(
        '"at-work"', repr(str(small.folder / "at-work"))
    )
    worker = small.worker("w", body)
    judges = ("--judge", JUDGE, "--judge", steady.spec, "--holdout", small.judge("other").spec)
    loop = ("improve", "note.md", "-r", "rubric.yaml", *judges, "--worker", worker.spec)
    words = (*loop, "--policy", "keep-best", "--rounds", "1", "--json")
    running = small.start(*words)
    assert until((small.folder / "at-work").exists)
    running.kill()
    running.communicate()
    assert calls(small) == 2 and steady.calls == 1
    (small.folder / "good").touch()
    done = small.run(*words)
    assert "resuming run" in done.err, done.err
    versions = {
        tuple(row["before"] is None for row in one["criteria"]) for one in done.json["rounds"]
    }
    assert versions == {(False,)}
    assert calls(small) == 4 and steady.calls == 2, (calls(small), steady.calls)


def test_an_unusable_draft_is_asked_for_again(small: Desk) -> None:
    """The message says who drafted it, in how many calls, and what was wrong; the reply stays as
    evidence.
    """
    words = (
        "--about",
        "a note",
        "--criterion",
        "subject: what changed",
        "--criterion",
        "why: the reason",
    )
    ask = ("rubric", "new", *words, "--judge", JUDGE, "--yes", "--output", "new.yaml")
    first = small.run(*ask)
    assert first.is_refusal and calls(small) == 2
    assert JUDGE in first.err and "in 2 calls" in first.err and "JSON" in first.err
    assert "cost unknown" in first.err
    assert "--judge MODEL" not in first.err
    items = {
        "subject": "file module test page table",
        "why": "fault user ticket release measurement",
    }
    criteria = [
        {
            "id": id,
            "requirement": id,
            "items": [
                f"{id.capitalize()} names the {word} that was changed" for word in listed.split()
            ],
        }
        for id, listed in items.items()
    ]
    small.file("model.py", f"print({json.dumps({'criteria': criteria})!r})\n")
    assert small.run(*ask).code == 0 and (small.folder / "new.yaml").exists()


class _Priced:
    """A model that reports what a call used; the second call fails after it was sent."""

    identity: ClassVar[dict[str, str]] = {"model": "priced"}

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, prompt: Prompt) -> Completion:
        self.calls += 1
        if self.calls > 1:
            raise CallFailed("overloaded")
        return Completion(text="words", usage=Usage(input_tokens=300, output_tokens=40, usd=0.0125))

    async def close(self) -> None:
        """Nothing is open."""


def test_what_a_draft_cost_is_what_the_model_reported() -> None:
    """Calls, tokens and money; a call that failed is one, and nothing is said of what nobody
    reported.
    """
    cost, model = DraftingCost(), _Priced()
    assert cost.words == "nothing spent"
    assert asyncio.run(cost.complete(model, Prompt(text="draft"))) == "words"
    assert cost.calls == 1 and cost.words == "300 tokens in, 40 out, $0.0125"
    with pytest.raises(CallFailed):
        asyncio.run(cost.complete(model, Prompt(text="draft")))
    assert cost.calls == 2 and cost.words == "300 tokens in, 40 out, $0.0125"
