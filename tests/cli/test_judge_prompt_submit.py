"""`honestone agent prompt` and `judge submit`: somebody else answers our prompt, and `eval` uses
the reply.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from .desk import GOOD, HONESTONE, Desk, Result

ASKED = ("note.md", "--rubric", "rubric.yaml")
AGENT = ("eval", *ASKED, "--judge", "agent:host", "--json")


def skeleton(prompt: str) -> dict[str, Any]:
    """The reply that the prompt asks for: its last JSON object."""
    start = prompt.rindex('{"token"')
    found: dict[str, Any] = json.JSONDecoder().raw_decode(prompt[start:])[0]
    return found


def lines_of(prompt: str) -> dict[str, str]:
    """The numbered requirements below the last fence."""
    found = {}
    for text in prompt[prompt.rindex("Requirements:") :].splitlines():
        if text.startswith("["):
            number, _, requirement = text[1:].partition("] ")
            found[number] = requirement
    return found


def answered(prompt: str, say: Callable[[str], object]) -> str:
    """The skeleton filled in: `say` gives the answer to a requirement."""
    reply = skeleton(prompt)
    for number, requirement in lines_of(prompt).items():
        reply["answers"][number]["answer"] = say(requirement)
    return json.dumps(reply)


def honest(text: str) -> Callable[[str], object]:
    """Yes where the last word of the requirement stands in the text; so the control item is no."""
    return lambda requirement: requirement.split()[-1].lower() in text.lower()


def prompt_of(desk: Desk, *more: str) -> str:
    found = desk.run("judge", "prompt", *ASKED, *more)
    assert found.code == 0 and found.err == ""
    return found.out


def submit(desk: Desk, reply: str, *more: str, name: str = "host") -> Result:
    path = desk.file("reply.txt", reply)
    return desk.run(
        "judge", "submit", *ASKED, "--judge", name, "--reply", path.name, "--json", *more
    )


@pytest.fixture
def good(desk: Desk) -> Desk:
    desk.rubric()
    desk.file("note.md", GOOD)
    return desk


def test_prompt_submit_and_eval_agree(good: Desk) -> None:
    """What `prompt` printed and `submit` took is what `eval --judge agent:host` uses, at no cost."""
    taken = submit(good, answered(prompt_of(good), honest(GOOD)))
    assert taken.code == 0 and taken.json["complete"] and taken.json["answered"] == 3
    found = good.run(*AGENT)
    assert found.code == 0 and found.json["score"] == 100
    assert found.json["usage"]["judge_calls"] == 0 and found.json["usage"]["cached_calls"] == 1
    (judge,) = found.json["judges"]
    assert (judge["id"], judge["state"], judge["reason"]) == ("agent:host", "AVAILABLE", None)
    assert (judge["usage"]["judge_calls"], judge["usage"]["cached_calls"]) == (0, 1)


def test_without_a_reply_the_judge_is_skipped_and_says_what_to_do(good: Desk) -> None:
    """No reply on record: exit 3, no mark, and both commands are named."""
    found = good.run(*AGENT)
    (judge,) = found.json["judges"]
    assert found.code == 3 and judge["state"] == "SKIPPED" and found.json["score"] is None
    assert "honestone agent prompt" in judge["reason"] and "--judge host" in judge["reason"]


def test_the_prompt_is_the_model_judges_own(good: Desk) -> None:
    """Word for word what a command that stands for a model gets on stdin, and always the same."""
    listener = good.file(
        "listen.py", "import sys\nopen('heard.txt', 'w').write(sys.stdin.read())\n"
    )
    good.run("eval", *ASKED, "--judge", f"cmd:python3 {listener}")
    heard = (good.folder / "heard.txt").read_text()
    # The last one heard is the same prompt with a complaint, so compare what stands before it.
    assert prompt_of(good).split("Requirements:")[0] == heard.split("Requirements:")[0]
    assert prompt_of(good) == prompt_of(good, "--judge", "host")


@pytest.mark.parametrize(
    ("words", "other"),
    [
        (("--input", "Why?"), "input"),
        (("--reference", "So."), "reference"),
        (("--draw", "1"), "draw"),
    ],
)
def test_input_reference_and_draw_make_another_prompt(
    good: Desk, words: tuple[str, str], other: str
) -> None:
    """A reply to one case or look is no reply to another."""
    plain, special = prompt_of(good), prompt_of(good, *words)
    assert skeleton(plain)["token"] != skeleton(special)["token"], other
    refused = submit(good, answered(plain, honest(GOOD)), *words)
    assert refused.code == 1 and not refused.json["recorded"]
    assert submit(good, answered(special, honest(GOOD)), *words).code == 0


def test_a_second_look_is_the_second_seat(good: Desk) -> None:
    """`--draw 1` is the reply of `agent:host#2`, as `--repeat 2` asks for."""
    submit(good, answered(prompt_of(good), honest(GOOD)))
    submit(good, answered(prompt_of(good, "--draw", "1"), lambda _: False), "--draw", "1")
    found = good.run(*AGENT, "--repeat", "2")
    assert [judge["id"] for judge in found.json["judges"]] == ["agent:host", "agent:host#2"]
    assert found.json["criteria"][0]["by_judge"] == {"agent:host": 100.0, "agent:host#2": 0.0}


def test_eval_with_input_uses_the_reply_for_that_input(good: Desk) -> None:
    """The case's input is part of the question for `prompt`, `submit` and `eval` alike."""
    case = ("--input", "Name fruit")
    submit(good, answered(prompt_of(good, *case), honest(GOOD)), *case)
    assert good.run(*AGENT, *case).json["score"] == 100
    assert good.run(*AGENT).code == 3


def test_other_bytes_need_another_reply(good: Desk) -> None:
    """When the artifact changes, the old reply says nothing about it."""
    reply = answered(prompt_of(good), honest(GOOD))
    submit(good, reply)
    good.file("note.md", GOOD + "More.\n")
    assert good.run(*AGENT).code == 3
    again = submit(good, reply)
    assert again.code == 1 and "token" in " ".join(again.json["problems"])


def test_a_partial_reply_is_kept_and_the_rest_asked_for(good: Desk) -> None:
    """What is missing is named; the next prompt names it too, and one more reply completes the
    first.
    """
    prompt = prompt_of(good)
    partial = json.loads(answered(prompt, honest(GOOD)))
    (pear,) = [number for number, text in lines_of(prompt).items() if text.endswith("pear")]
    partial["answers"][pear]["answer"] = "maybe"
    taken = submit(good, json.dumps(partial))
    assert taken.code == 1 and taken.json["recorded"] and not taken.json["complete"]
    assert [entry["number"] for entry in taken.json["missing"]] == [int(pear)]
    again = prompt_of(good, "--judge", "host")
    assert "could not be used as it was" in again and f"item {pear}" in again
    rest = skeleton(again)
    rest["answers"] = {pear: {"answer": True}}
    assert submit(good, json.dumps(rest)).json["complete"]
    assert good.run(*AGENT).json["score"] == 100


def test_a_whole_new_reply_replaces_the_partial_one(good: Desk) -> None:
    """Answering the first prompt again counts instead of the reply before."""
    prompt = prompt_of(good)
    submit(good, answered(prompt, lambda text: None if text.endswith("pear") else False))
    assert submit(good, answered(prompt, honest(GOOD))).code == 0
    assert good.run(*AGENT).json["score"] == 100


def bad_token(prompt: str) -> str:
    return json.dumps({**skeleton(prompt), "token": "0" * 12, "answers": {"1": {"answer": True}}})


def yes_to_all(prompt: str) -> str:
    return answered(prompt, lambda _: True)


def two_replies(prompt: str) -> str:
    return answered(prompt, honest(GOOD)) + "\n" + answered(prompt, lambda _: False)


def prose(prompt: str) -> str:
    return "It is a very good note. PASS. Score: 10/10."


def cut_off(prompt: str) -> str:
    return answered(prompt, honest(GOOD))[:-30]


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (bad_token, "token"),
        (yes_to_all, "steers"),
        (two_replies, "ambiguous"),
        (prose, "no JSON object"),
        (cut_off, "cut off"),
    ],
)
def test_what_is_forged_or_unreadable_is_refused(
    good: Desk, forge: Callable[[str], str], why: str
) -> None:
    """The reason is named, exit 1, and nothing is on record for `eval`."""
    refused = submit(good, forge(prompt_of(good)))
    assert refused.code == 1 and refused.json["recorded"] is False
    assert why in " ".join(refused.json["problems"])
    assert good.run(*AGENT).json["judges"][0]["state"] == "SKIPPED"


def test_the_json_prompt_does_not_give_the_control_item_away(good: Desk) -> None:
    """The document holds the prompt, the token and a schema for every number alike; no ids, weights
    or bars.
    """
    found = good.run("judge", "prompt", *ASKED, "--json").json
    assert (
        found["prompt"] == prompt_of(good) and found["token"] == skeleton(found["prompt"])["token"]
    )
    numbers: Mapping[str, Any] = found["reply_schema"]["properties"]["answers"]["properties"]
    assert (
        sorted(numbers) == sorted(lines_of(found["prompt"]))
        and len({json.dumps(one) for one in numbers.values()}) == 1
    )
    assert "canary" not in json.dumps(found) and "threshold" not in json.dumps(found)


@pytest.mark.slow
def test_the_reply_may_come_on_stdin_and_as_text(good: Desk) -> None:
    """Without --reply it is read from stdin; without --json the answer is a line for people."""
    reply = "Sure!\n```json\n" + answered(prompt_of(good), honest(GOOD)) + "\n```\n"
    found = subprocess.run(
        [HONESTONE, "judge", "submit", *ASKED, "--judge", "agent:host"],
        cwd=good.folder,
        env=good.env,
        input=reply,
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (
        found.returncode == 0 and found.stdout == "agent:host: 3 answers on record, none missing\n"
    )


@pytest.mark.parametrize(
    "args",
    [
        ("judge", "submit", *ASKED, "--judge", "host", "--reply", "nowhere.txt"),
        ("judge", "submit", *ASKED, "--judge", "two words", "--reply", "note.md"),
        ("judge", "submit", *ASKED, "--judge", "host", "--reply", "empty.txt"),
        ("judge", "submit", *ASKED, "--reply", "note.md"),
        ("judge", "prompt", "note.md"),
        ("judge", "prompt", "nowhere.md", "--rubric", "rubric.yaml"),
        ("judge", "prompt", "note.md", "--rubric", "checks.yaml"),
        ("eval", *ASKED, "--judge", "agent:"),
    ],
)
def test_mistakes_are_refused_with_a_hint(good: Desk, args: tuple[str, ...]) -> None:
    """Exit 2, what is wrong and what to do; never a traceback."""
    good.file("empty.txt", " \n")
    good.rubric(
        "rubric: 1\ncriteria:\n  - id: a\n    requirement: It names fruit\n    check: {contains: fruit}\n",
        "checks.yaml",
    )
    assert good.run(*args).is_refusal


def test_a_folder_with_its_rubric_inside_gives_the_prompt_that_eval_uses(good: Desk) -> None:
    """The rubric in the folder is no part of what is judged, here as in `eval`."""
    good.file("docs/a.md", GOOD)
    good.rubric(name="docs/rubric.yaml")
    where = ("docs", "--rubric", "docs/rubric.yaml")
    prompt = good.run("judge", "prompt", *where).out
    assert "threshold" not in prompt
    good.file("reply.txt", answered(prompt, honest(GOOD)))
    assert good.run("judge", "submit", *where, "--judge", "host", "--reply", "reply.txt").code == 0
    assert good.run("eval", *where, "--judge", "agent:host", "--json").json["score"] == 100
