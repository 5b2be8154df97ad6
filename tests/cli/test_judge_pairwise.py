"""`honestone judge pairwise`, and artifacts too big for a judge, as a person uses them: real
processes.
"""

from __future__ import annotations

import json
from typing import Any

from .desk import GOOD, PYTHON, Desk

_MODEL = """\
import json, re, sys
prompt = sys.stdin.read()
with open({log!r}, "a", encoding="utf-8") as log:
    log.write(json.dumps(prompt) + "\\n")
skeleton = json.loads(prompt[prompt.rindex('{{"token"'):])
material, _, asked = prompt.rpartition("\\nRequirements:\\n")
requirements = dict(re.findall(r"(?m)^\\[(\\d+)\\] (.*(?:\\n    .*)*)", asked))
first, _, second = material.partition("\\nSecond text")
words = lambda n: set(re.findall("apple|pear|farewell", requirements[n]))
met = lambda n, text: sum(word in text for word in words(n))
for n, entry in skeleton["answers"].items():
    {body}
print(json.dumps(skeleton))
"""
COMPARE = 'a, b = met(n, first), met(n, second); entry["answer"] = "first" if a > b else "second" if b > a else "tie"'
SCORE = 'entry["answer"] = bool(words(n)) and met(n, material) > 0'
PLACE = 'entry["answer"] = "first" if words(n) else "tie"'


def model(desk: Desk, body: str = COMPARE, name: str = "model") -> str:
    """A `cmd:` judge that goes by words; its prompts are in `logs/NAME.jsonl`."""
    path = desk.file(f"{name}.py", _MODEL.format(log=str(desk.logs / f"{name}.jsonl"), body=body))
    return f"cmd:{PYTHON} {path.name}"


def prompts(desk: Desk, name: str = "model") -> list[str]:
    log = desk.logs / f"{name}.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def compare(desk: Desk, *judges: str, **extra: Any) -> Any:
    named = [word for judge in judges for word in ("--judge", judge)]
    options = [
        word
        for name, value in extra.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    return desk.run(
        "judge",
        "pairwise",
        "note.md",
        "good.md",
        "--rubric",
        "rubric.yaml",
        *named,
        *options,
        "--json",
    )


def two(ready: Desk) -> Desk:
    """`note.md` names the apple, `good.md` the pear too, and says farewell."""
    ready.file("good.md", GOOD)
    return ready


# ----------------------------------------------------------------------------------------------------------
# pairwise


def test_the_better_text_wins_in_both_orders(ready: Desk) -> None:
    """B on every criterion: preference 1, exit 0, two calls; asked again it costs none."""
    desk = two(ready)
    found = compare(desk, judge := model(desk))
    assert found.code == 0, found.err
    said = found.json
    assert (said["schema"], said["preferred"], said["preference"]) == (
        "honestone.pairwise/1",
        "b",
        1.0,
    )
    assert [line["wins"] for line in said["criteria"]] == [{"a": 0, "tie": 0, "b": 1}] * 2
    looks = said["criteria"][0]["by_judge"][judge]
    assert (looks["a_first"], looks["b_first"], looks["winner"]) == ("second", "first", "b")
    assert (said["first_position_rate"], said["inconsistent"], said["compared"]) == (0.5, 0, 2)
    assert said["judges"] == [{"id": judge, "state": "AVAILABLE", "reason": None}]
    assert said["usage"]["judge_calls"] == 2 and said["contract"].startswith("sha256:")
    assert (said["a"]["path"], said["b"]["path"]) == ("note.md", "good.md")
    assert len(prompts(desk)) == 2
    again = compare(desk, judge)
    assert (again.json["usage"]["judge_calls"], again.json["usage"]["cached_calls"]) == (0, 2)
    assert len(prompts(desk)) == 2


def test_a_judge_that_goes_by_the_place_is_seen(ready: Desk) -> None:
    """A tie, all inconsistent, the first place won always; the text says so."""
    desk = two(ready)
    judge = model(desk, PLACE)
    said = compare(desk, judge).json
    assert (said["preferred"], said["inconsistent"], said["first_position_rate"]) == ("tie", 2, 1.0)
    shown = desk.run(
        "judge", "pairwise", "note.md", "good.md", "--rubric", "rubric.yaml", "--judge", judge
    )
    assert shown.code == 0
    assert (
        "NEITHER IS BETTER" in shown.out
        and "contradicts itself: first with A first, first with B first" in shown.out
    )
    assert "the first place won 100.0 of 100" in shown.out and "LOW CONFIDENCE" in shown.out


def test_a_judge_that_fails_is_exit_3_without_a_number(ready: Desk) -> None:
    """Nobody answered: the preference is null and lies anywhere."""
    desk = two(ready)
    desk.file("bad.py", "import sys; sys.exit('no model')")
    found = compare(desk, f"cmd:{PYTHON} bad.py")
    assert found.code == 3
    assert (found.json["preferred"], found.json["preference"], found.json["interval"]) == (
        None,
        None,
        [0.0, 1.0],
    )
    assert (
        found.json["judges"][0]["state"] == "DEGRADED"
        and "no model" in found.json["judges"][0]["reason"]
    )


def test_judges_that_see_one_artifact_at_a_time_are_refused_with_the_reason(ready: Desk) -> None:
    """Scripts, people and recordings; nothing was asked."""
    desk = two(ready)
    script = desk.judge()
    refused = compare(desk, script.spec)
    assert (
        refused.is_refusal and "cannot compare two artifacts" in refused.err and script.calls == 0
    )
    assert compare(desk, "mock").is_refusal


def test_bars_mean_nothing_in_a_comparison(ready: Desk) -> None:
    """Refused, not ignored; so is the smallest vote, which would side with A."""
    desk = two(ready)
    judge = model(desk)
    assert "--threshold" in compare(desk, judge, threshold=50).err
    assert compare(desk, judge, combine="min").is_refusal
    rubric = desk.folder / "rubric.yaml"
    rubric.write_text(rubric.read_text() + "combine: min\n")
    assert "always side with A" in compare(desk, judge).err
    assert prompts(desk) == []


def test_checks_alone_need_no_judge(desk: Desk) -> None:
    """Code compares what it can; text and JSON say which is met on which."""
    desk.rubric(
        """\
        rubric: 1
        criteria:
          - {id: apple, requirement: Names the apple, weight: 3, check: {contains: apple}}
          - {id: pear, requirement: Names the pear, weight: 1, check: {contains: pear}}
        """
    )
    desk.file("note.md", "An apple.\n")
    desk.file("good.md", "A pear.\n")
    found = compare(desk)
    assert (found.code, found.json["preferred"], found.json["preference"]) == (0, "a", 0.25)
    assert found.json["judges"] == []
    text = desk.run("judge", "pairwise", "note.md", "good.md", "--rubric", "rubric.yaml").out
    assert "A IS BETTER" in text and "check apple: A met, B unmet" in text


def test_equal_files_are_a_tie_without_a_call(ready: Desk) -> None:
    """And the result says why nobody was asked."""
    ready.file("good.md", (ready.folder / "note.md").read_bytes())
    found = compare(ready, model(ready))
    assert (found.code, found.json["preferred"]) == (0, "tie")
    assert any("the same, byte for byte" in note for note in found.json["notes"])
    assert prompts(ready) == []


def test_a_file_that_is_missing_is_a_usage_error(ready: Desk) -> None:
    """Before anything is asked."""
    assert compare(ready, model(ready)).is_refusal


# ----------------------------------------------------------------------------------------------------------
# too big


def small_limit(desk: Desk, tokens: int, body: str = SCORE) -> None:
    """Settings with a judge `small` that takes so many tokens, over a stand-in CLI of its own."""
    path = desk.file("cli.py", _MODEL.format(log=str(desk.logs / "small.jsonl"), body=body))
    words = json.dumps([*PYTHON.split(), str(path)])
    desk.file(
        "honestone.toml",
        f"[judges.small]\nprovider = 'cli'\ncommand = {words}\nmax_input_tokens = {tokens}\nauth = 'login'\n",
    )


LONG = "An apple.\n" + "More words, and more.\n" * 2000


def evaluate(desk: Desk, *words: str) -> Any:
    return desk.run(
        "eval", "note.md", "--rubric", "rubric.yaml", "--judge", "small", "--json", *words
    )


def test_too_big_for_the_only_judge_is_refused_before_anything_is_spent(ready: Desk) -> None:
    """The estimate, the limit, the file, and what to do; no call."""
    small_limit(ready, 1000)
    ready.file("note.md", LONG)
    found = evaluate(ready)
    assert found.is_refusal, (found.code, found.err, found.out)
    for words in (
        "an estimate",
        "limit is 1,000",
        "note.md (44,010 characters)",
        "max_input_tokens",
        "--pack head",
    ):
        assert words in found.err
    assert prompts(ready, "small") == []


def test_beside_a_judge_that_takes_it_the_small_one_is_skipped(ready: Desk) -> None:
    """The other decides; the reason stands at the one that was not asked."""
    small_limit(ready, 1000)
    ready.file("note.md", LONG)
    found = evaluate(ready, "--judge", model(ready, SCORE))
    states = {judge["id"]: (judge["state"], judge["reason"]) for judge in found.json["judges"]}
    assert states["small"][0] == "SKIPPED" and "too big for it" in states["small"][1]
    assert found.code == 1 and found.json["score"] is not None
    assert prompts(ready, "small") == []


def test_packed_it_is_judged_by_its_beginning_and_the_result_says_so(ready: Desk) -> None:
    """The judge is told, the person is told, the digest is that of the whole, and the contract
    another.
    """
    small_limit(ready, 1000)
    ready.file("note.md", LONG)
    found = evaluate(ready, "--pack", "head")
    (prompt,) = prompts(ready, "small")
    assert len(prompt) <= 4000 and "Only a part is shown" in prompt and "An apple." in prompt
    packed = found.json["packed"]["small"]
    assert (
        packed["strategy"] == "head" and packed["of"] == 44_010 and packed["files"][0]["of"] == 2001
    )
    assert any("small was shown a part (--pack head)" in note for note in found.json["notes"])
    shown = ready.run("show", found.json["run"], "--format", "json").json
    assert shown["packed"] == found.json["packed"] and shown["artifact"] == found.json["artifact"]
    ready.file("note.md", "An apple.\n")
    plain, packing = evaluate(ready), evaluate(ready, "--pack", "head")
    assert plain.json["contract"] != packing.json["contract"]
    assert "packed" not in packing.json
    assert found.json["artifact"]["digest"] != plain.json["artifact"]["digest"]


def test_two_texts_too_big_together_are_refused_or_packed(ready: Desk) -> None:
    """The same limit holds for a comparison; packed, both parts are named."""
    desk = two(ready)
    small_limit(desk, 1500, COMPARE)
    desk.file("note.md", LONG)
    refused = compare(desk, "small")
    assert refused.is_refusal and "too big for it" in refused.err and prompts(desk, "small") == []
    found = compare(desk, "small", pack="head")
    assert found.json["preferred"] == "b"
    assert set(found.json["packed"]["small"]) == {"a"}
    assert any(note.startswith("small was shown of A: the first") for note in found.json["notes"])


def test_a_limit_below_one_is_a_setting_that_is_wrong(ready: Desk) -> None:
    """Said before anything else."""
    small_limit(ready, 0)
    assert "max_input_tokens" in evaluate(ready).err and evaluate(ready).code == 2


def test_images_are_for_model_apis(ready: Desk) -> None:
    """An agent CLI with `images = true` is a setting that is wrong."""
    small_limit(ready, 1000)
    settings = (ready.folder / "honestone.toml").read_text()
    ready.file("honestone.toml", settings + "images = true\n")
    found = evaluate(ready)
    assert found.is_refusal and "not sent images" in found.err


def test_a_loop_on_a_text_too_big_is_refused_or_works_on_its_parts(ready: Desk) -> None:
    """`improve` holds the same limit before its first call; packed, it says what the judge sees of
    the original.
    """
    small_limit(ready, 1000)
    ready.file("note.md", LONG)
    worker = ready.worker(
        "worker", "put(read().replace(b'An apple.', b'An apple, a pear. farewell.'))"
    )
    words = [
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        "small",
        "--worker",
        worker.spec,
        "--rounds",
        "1",
    ]
    refused = ready.run(*words, "--json")
    assert refused.is_refusal and "too big for it" in refused.err
    assert prompts(ready, "small") == [] and worker.calls == 0
    found = ready.run(*words, "--json", "--pack", "head")
    assert found.json["packed"]["small"]["strategy"] == "head"
    assert "small was shown a part (--pack head)" in found.err
    assert found.json["best_round"] == 1 and found.json["final"]["score"] == 100.0
    assert all(len(prompt) <= 4000 for prompt in prompts(ready, "small"))
