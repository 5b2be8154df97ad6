"""`honestone eval` as a person uses it: real processes, scripted judges, numbers that can be worked
out by hand.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from .desk import GOOD, PYTHON, RUBRIC, Desk, Program, Result

YES = 'print(json.dumps({"criteria": {"one": {"met": True}}}))'
ONE = "rubric: 1\nfloor: 0\nthreshold: 50\ncriteria:\n  - {id: one, requirement: It is good}\n"
ANCHORED = """\
rubric: 1
floor: 0
threshold: 70
criteria:
  - id: tone
    requirement: It is calm
    anchors: {0: hostile, 100: calm}
"""


def evaluate(
    desk: Desk, artifact: str, *judges: Program | str, rubric: str = "rubric.yaml", **extra: Any
) -> Result:
    """`honestone eval --json` with these judges."""
    named = [
        word
        for judge in judges
        for word in ("--judge", judge if isinstance(judge, str) else judge.spec)
    ]
    options = [word for name, value in extra.items() for word in option(name, value)]
    return desk.run("eval", artifact, "--rubric", rubric, *named, "--json", *options)


def option(name: str, value: Any) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    return [flag] if value is True else [flag, str(value)]


def level(desk: Desk, name: str, score: Any) -> Program:
    """A judge that gives the criterion `tone` this score."""
    return desk.judge(
        name, f'print(json.dumps({{"criteria": {{"tone": {{"score": {score!r}}}}}}}))'
    )


def crashing(desk: Desk, name: str) -> Program:
    return desk.judge(name, "print('it is all fine')\nsys.exit('the model is gone')")


# ----------------------------------------------------------------------------------------------------------
# scores


def test_scores_weights_and_verdict_of_one_file(ready: Desk) -> None:
    """Half of weight 3 and none of weight 1 is 37.5 of 100: below 80, exit 1."""
    judge = ready.judge()
    result = evaluate(ready, "note.md", judge)
    card = result.json
    assert result.code == 1
    assert card["verdict"] == "fail"
    assert card["score"] == 37.5
    assert card["interval"] == [37.5, 37.5]
    assert {line["id"]: line["score"] for line in card["criteria"]} == {"words": 50.0, "close": 0.0}
    assert card["reasons"] == [reason for reason in card["reasons"] if "37.5" in reason]
    ready.file("note.md", GOOD)
    passed = evaluate(ready, "note.md", judge)
    assert (passed.code, passed.json["verdict"], passed.json["score"]) == (0, "pass", 100.0)
    assert judge.calls == 2


def test_the_weighted_mean_is_sum_of_products_over_sum_of_weights(desk: Desk) -> None:
    """0.9 x 3, 0.8 x 1 and 0.7 x 2 give 4.9 / 6; anchors 0/5/10 are linear between."""
    desk.rubric(
        """\
        rubric: 1
        floor: 0
        criteria:
          - {id: a, requirement: A, weight: 3, anchors: {0: none, 5: half, 10: full}}
          - {id: b, requirement: B, weight: 1, anchors: {0: none, 5: half, 10: full}}
          - {id: c, requirement: C, weight: 2, anchors: {0: none, 5: half, 10: full}}
        """
    )
    desk.file("note.md", "x\n")
    body = (
        'print(json.dumps({"criteria": {"a": {"score": 9}, "b": {"score": 8}, "c": {"score": 7}}}))'
    )
    card = evaluate(desk, "note.md", desk.judge(body=body)).json
    assert card["score"] == pytest.approx(490 / 6, abs=1e-8)
    assert [line["score"] for line in card["criteria"]] == [90.0, 80.0, 70.0]


@pytest.mark.parametrize(
    ("score", "threshold", "code"),
    [(91.65, 90, 0), (69.9999999, 70, 1), (70, 70, 0), (70.0000001, 70.0000002, 1)],
)
def test_row_12_bars_are_compared_on_exact_decimals(
    desk: Desk, score: float, threshold: float, code: int
) -> None:
    """91.65 against 90 is met; 69.9999999 never rounds up into a pass, and is never shown as 70.0."""
    desk.rubric(ANCHORED)
    desk.file("note.md", "x\n")
    judge = level(desk, "judge", score)
    result = evaluate(desk, "note.md", judge, threshold=threshold)
    assert result.code == code, result.out
    if score == 69.9999999:
        text = desk.run("show").out
        assert "69.9" in text
        assert "70.0" not in text


def test_row_3_a_required_criterion_at_0_fails_whatever_the_mean(ready: Desk) -> None:
    """A score of 75 over a bar of 50 fails when what is missing is required; floors likewise, and
    both are named.
    """
    ready.rubric(
        RUBRIC.replace("    weight: 1", "    weight: 1\n    required: true\n    floor: 40")
    )
    ready.file("note.md", "An apple and a pear.\n")
    result = evaluate(ready, "note.md", ready.judge(), threshold=50)
    assert result.code == 1
    assert result.json["score"] == 75.0
    assert any("close" in reason and "required" in reason for reason in result.json["reasons"])
    assert any("close" in reason and "floor 40" in reason for reason in result.json["reasons"])
    assert [line["below_floor"] for line in result.json["criteria"]] == [False, True]


def test_a_floor_fails_though_the_mean_passes(ready: Desk) -> None:
    """The rubric's floor holds for every criterion, and `--floor 0` turns it off."""
    ready.file("note.md", "An apple and a pear.\n")
    judge = ready.judge()
    failed = evaluate(ready, "note.md", judge, threshold=50, floor=60)
    assert failed.code == 1
    assert any("close" in reason for reason in failed.json["reasons"])
    assert evaluate(ready, "note.md", judge, threshold=50, floor=0).code == 0
    assert judge.calls == 1


# ----------------------------------------------------------------------------------------------------------
# panels


@pytest.mark.parametrize(
    ("dead", "code", "low"), [(0, 1, False), (1, 1, False), (2, 1, True), (3, 3, True)]
)
def test_of_three_judges_some_crash(ready: Desk, dead: int, code: int, low: bool) -> None:
    """One crash leaves the mean of two, two crashes LOW CONFIDENCE, three no score at all."""
    panel = [crashing(ready, f"dead{n}") for n in range(dead)]
    panel += [ready.judge(f"live{n}") for n in range(3 - dead)]
    result = evaluate(ready, "note.md", *panel)
    card = result.json
    assert result.code == code
    states = [judge["state"] for judge in card["judges"]]
    assert states == ["DEGRADED"] * dead + ["AVAILABLE"] * (3 - dead)
    assert card["low_confidence"] is low
    assert card["score"] == (None if dead == 3 else 37.5)
    if dead:
        assert "the model is gone" in card["judges"][0]["reason"]
    if dead == 3:
        assert card["verdict"] == "inconclusive"
        assert card["interval"] == [0.0, 100.0]


@pytest.mark.parametrize(("other", "is_flagged"), [(75, True), (80, False), (79.99, True)])
def test_judges_more_than_20_points_apart_are_flagged(
    desk: Desk, other: float, is_flagged: bool
) -> None:
    """100 and 75 on one criterion are a disagreement; 100 and 80 are not."""
    desk.rubric(ANCHORED)
    desk.file("note.md", "x\n")
    card = evaluate(desk, "note.md", level(desk, "high", 100), level(desk, "low", other)).json
    assert any(flag.startswith("disagreement: tone") for flag in card["flags"]) is is_flagged
    assert card["score"] == pytest.approx((100 + other) / 2)
    assert card["criteria"][0]["spread"] == pytest.approx(100 - other)


@pytest.mark.parametrize(("rule", "score"), [("mean", 60.0), ("median", 80.0), ("min", 10.0)])
def test_votes_combine_as_asked(desk: Desk, rule: str, score: float) -> None:
    """90, 80 and 10 are 60 by mean, 80 by median and 10 by min."""
    desk.rubric(ANCHORED)
    desk.file("note.md", "x\n")
    judges = [level(desk, f"j{number}", number) for number in (90, 80, 10)]
    assert evaluate(desk, "note.md", *judges, combine=rule).json["score"] == score


@pytest.mark.parametrize(
    ("key", "option", "score"),
    [("min", None, 10.0), ("median", None, 80.0), ("min", "mean", 60.0), ("median", "min", 10.0)],
)
def test_a_rubric_says_how_votes_combine_and_the_command_overrides_it(
    desk: Desk, key: str, option: str | None, score: float
) -> None:
    """90, 80 and 10 by the rubric's own rule; the option holds before it, also when rescored."""
    desk.rubric(ANCHORED + f"combine: {key}\n")
    desk.file("note.md", "x\n")
    judges = [level(desk, f"j{number}", number) for number in (90, 80, 10)]
    card = evaluate(desk, "note.md", *judges, **({} if option is None else {"combine": option}))
    assert card.json["score"] == score
    again = desk.run("rescore", card.json["run"], "--combine", "mean", "--json").json
    assert again["score"] == 60.0


def test_a_rubric_that_combines_otherwise_is_another_contract(desk: Desk) -> None:
    """`combine` is in the contract; a rule that does not exist is refused with its place."""
    desk.file("note.md", "x\n")
    judge = level(desk, "one", 90)
    contracts = set()
    for more in ("", "combine: mean\n", "combine: min\n"):
        desk.rubric(ANCHORED + more)
        contracts.add(evaluate(desk, "note.md", judge).json["contract"])
    assert len(contracts) == 3
    desk.rubric(ANCHORED + "combine: most\n")
    refused = evaluate(desk, "note.md", judge)
    assert refused.is_refusal and "one of `mean`, `median`, `majority`, `min`" in refused.err


def test_cases_of_a_suite_combine_by_their_own_rubrics(desk: Desk) -> None:
    """Two of three say yes: by majority the case passes, by the mean of the shared rubric not."""
    body = 'print(json.dumps({"criteria": {c["id"]: {"met": MET} for c in request["criteria"]}}))'
    words = []
    for name, met in (("a", "True"), ("b", "True"), ("c", "False")):
        words += ["--judge", desk.judge(name, body.replace("MET", met)).spec]
    desk.file(
        "suite.yaml",
        "suite: 1\ntarget: cmd:cat\nthreshold: 80\nfloor: 0\ncases:\n"
        "  - {id: mean, input: x, rubric: [It holds]}\n"
        "  - {id: majority, input: x, rubric: {combine: majority, criteria: [It holds]}}\n",
    )
    found = desk.run("eval", "suite.yaml", *words, "--json").json
    assert {case["id"]: case["status"] for case in found["cases"]} == {
        "mean": "failed",
        "majority": "passed",
    }


def test_a_second_equal_judge_is_a_second_draw(ready: Desk) -> None:
    """Named twice, a judge gets `#2`, is asked again with draw 1, and both are on record."""
    judge = ready.judge()
    result = evaluate(ready, "note.md", judge, judge)
    assert [seat["id"] for seat in result.json["judges"]] == [judge.spec, f"{judge.spec}#2"]
    assert sorted(request["draw"] for request in judge.requests) == [0, 1]
    assert evaluate(ready, "note.md", judge, judge).json["usage"]["cached_calls"] == 2
    assert judge.calls == 2
    assert evaluate(ready, "note.md", judge, repeat=2).json["usage"]["judge_calls"] == 0


def test_max_calls_are_granted_in_the_order_of_the_panel(ready: Desk) -> None:
    """With one call for two judges the first is asked; the second is DEGRADED and says which limit."""
    first, second = ready.judge("first"), ready.judge("second")
    result = evaluate(ready, "note.md", first, second, max_calls=1)
    assert (first.calls, second.calls) == (1, 0)
    assert [judge["state"] for judge in result.json["judges"]] == ["AVAILABLE", "DEGRADED"]
    assert "--max-calls 1" in result.json["judges"][1]["reason"]
    assert evaluate(ready, "note.md", first, second).code == 1
    assert (first.calls, second.calls) == (1, 1)


def test_max_calls_are_granted_in_the_order_of_the_artifacts(ready: Desk) -> None:
    """With two calls for four files the first two are judged; the rest could not be, which is no
    low score.
    """
    judge = ready.judge()
    names = [f"n{number}.md" for number in range(4)]
    for name in names:
        ready.file(name, GOOD + name)
    result = ready.run(
        "eval",
        *names,
        "--rubric",
        "rubric.yaml",
        "--judge",
        judge.spec,
        "--max-calls",
        "2",
        "--json",
    )
    assert result.code == 3
    assert [card["verdict"] for card in result.json] == [
        "pass",
        "pass",
        "inconclusive",
        "inconclusive",
    ]
    assert sorted(request["artifact"]["path"] for request in judge.requests) == names[:2]


def test_what_a_judge_is_sent_has_no_place_for_anything_else(ready: Desk) -> None:
    """A request holds the artifact, the question and nothing of scores, weights, other judges or
    the rubric's bars.
    """
    judge = ready.judge()
    evaluate(ready, "note.md", judge)
    (request,) = judge.requests
    assert set(request) == {
        "schema",
        "artifact",
        "input",
        "reference",
        "output",
        "criteria",
        "workspace",
        "draw",
    }
    assert request["artifact"]["text"] == "# Fruit\n\nAn apple a day.\n"
    assert request["criteria"] == [
        {
            "id": "words",
            "requirement": "It says what it must",
            "items": [
                {"id": "apple", "requirement": "It names the apple"},
                {"id": "pear", "requirement": "It names the pear"},
            ],
        },
        {"id": "close", "requirement": "It ends with a farewell"},
    ]


# ----------------------------------------------------------------------------------------------------------
# off the menu


OFF_MENU = {
    "row 1: omits the heavy criterion": '{"criteria": {"close": {"met": true}}}',
    "row 1: omits one item": '{"criteria": {"words": {"items": {"apple": {"met": true}}}, "close": {"met": true}}}',
    "row 4: answers one criterion twice": (
        '{"criteria": {"words": {"items": {"apple": {"met": true}, "pear": {"met": true}}},'
        ' "close": {"met": true}, "close": {"met": true}}}'
    ),
    "row 4: answers one item twice": (
        '{"criteria": {"words": {"items": {"apple": {"met": true}, "apple": {"met": false}, "pear": {"met": true}}},'
        ' "close": {"met": true}}}'
    ),
    "row 17: null": (
        '{"criteria": {"words": {"items": {"apple": {"met": null}, "pear": {"met": true}}}, "close": {"met": true}}}'
    ),
    "row 17: a number where yes or no is asked": (
        '{"criteria": {"words": {"items": {"apple": {"met": true}, "pear": {"met": true}}}, "close": {"score": 9}}}'
    ),
    "not a number": (
        '{"criteria": {"words": {"items": {"apple": {"met": NaN}, "pear": {"met": true}}}, "close": {"met": true}}}'
    ),
    "text for yes": (
        '{"criteria": {"words": {"items": {"apple": {"met": "yes"}, "pear": {"met": true}}}, "close": {"met": true}}}'
    ),
    "row 6: no JSON": "I would say that this passes.",
    "an empty reply": "",
    "a list": "[true, true, true]",
    "a verdict of its own": '{"verdict": "pass", "score": 1.0}',
    "cut off": '{"criteria": {"words": {"items": {"apple": {"met": true}, "pear": {"met": tr',
}


@pytest.mark.parametrize("what", list(OFF_MENU))
def test_an_answer_off_the_menu_is_asked_for_once_more_and_then_missing(
    ready: Desk, what: str
) -> None:
    """The second request names the problems; what is still missing leaves an interval and exit 3,
    never a pass.
    """
    judge = ready.judge(body=f"sys.stdout.write({OFF_MENU[what]!r})")
    result = evaluate(ready, "note.md", judge)
    assert judge.calls == 2
    first, second = judge.requests
    assert "problems" not in first
    assert second["problems"]
    assert {name: value for name, value in second.items() if name != "problems"} == first
    card = result.json
    assert result.code == 3, card
    assert card["verdict"] == "inconclusive"
    assert card["score"] is None
    low, high = card["interval"]
    assert low < high == 100.0
    assert evaluate(ready, "note.md", judge).code == 3
    # A reply of which nothing could be used is not an answer: the same command asks that judge
    # again.
    is_usable = bool(re.search("met", OFF_MENU[what])) and what != "cut off"
    assert judge.calls == (2 if is_usable else 4)


def test_unknown_ids_are_asked_about_and_void_the_reply(ready: Desk) -> None:
    """Row 4: ids of the judge's own invention are named to the judge and in the report, and no
    other id is trusted.
    """
    body = """
    answer = reply()
    answer["criteria"]["bonus"] = {"met": True}
    answer["criteria"]["words"]["items"]["plum"] = {"met": True}
    print(json.dumps(answer))
    """
    judge = ready.judge(body=body)
    result = evaluate(ready, "note.md", judge)
    assert judge.calls == 2
    assert any("bonus" in problem for problem in judge.requests[1]["problems"])
    assert any("plum" in problem for problem in judge.requests[1]["problems"])
    assert result.code == 3 and result.json["score"] is None
    assert any("bonus" in problem for problem in result.json["judges"][0]["problems"])


def test_an_answer_that_is_right_the_second_time_counts(ready: Desk) -> None:
    """The first valid answers stand; the second reply only fills what was missing."""
    body = """
    answer = reply()
    if not again:
        del answer["criteria"]["close"]
    else:
        answer["criteria"]["words"]["items"] = {"apple": {"met": False}, "pear": {"met": True}}
    print(json.dumps(answer))
    """
    judge = ready.judge(body=body)
    card = evaluate(ready, "note.md", judge).json
    assert judge.calls == 2
    assert card["score"] == 37.5
    assert {item["id"]: item["met"] for item in card["criteria"][0]["items"]} == {
        "apple": 1.0,
        "pear": 0.0,
    }
    assert card["usage"]["judge_calls"] == 2


@pytest.mark.parametrize("score", ["9", '"9"', "true", "-0.1", "1.01", "1e400", "null"])
def test_row_17_a_score_off_its_scale_is_never_clamped(desk: Desk, score: str) -> None:
    """On a 0-1 scale neither 9 nor "9" is a mark."""
    desk.rubric(ANCHORED.replace("100: calm", "1: calm"))
    desk.file("note.md", "x\n")
    judge = desk.judge(
        body=f"""sys.stdout.write('{{"criteria": {{"tone": {{"score": {score}}}}}}}')"""
    )
    result = evaluate(desk, "note.md", judge)
    assert (result.code, result.json["score"], judge.calls) == (3, None, 2)


def test_row_8_a_mark_between_two_anchors_is_taken(desk: Desk) -> None:
    """7.5 on a scale of 0-10 is 75 points, asked once."""
    desk.rubric(ANCHORED.replace("100: calm", "10: calm"))
    desk.file("note.md", "x\n")
    judge = level(desk, "judge", 7.5)
    assert evaluate(desk, "note.md", judge).json["score"] == 75.0
    assert judge.calls == 1


def test_row_17_nothing_said_about_anything_is_not_a_score_of_0(desk: Desk) -> None:
    """A judge that cannot tell gives an open interval, and a gate of 0 that nobody answered is no
    pass by mean.
    """
    desk.rubric(ONE)
    desk.file("note.md", "x\n")
    result = evaluate(
        desk, "note.md", desk.judge(body='print(\'{"criteria": {"one": {"met": null}}}\')')
    )
    assert (result.code, result.json["score"], result.json["interval"]) == (3, None, [0.0, 100.0])


@pytest.mark.parametrize(
    ("body", "code", "score"),
    [
        ("sys.exit(0)", 0, 100.0),
        ("sys.exit(1)", 1, 0.0),
        ("sys.exit(7)", 1, 0.0),
        ("sys.exit('no model')", 3, None),
        (
            'print(\'{"criteria": {"one": {"met": true}}}\'); sys.exit(\'but then it broke\')',
            3,
            None,
        ),
        ("os.kill(os.getpid(), 9)", 3, None),
    ],
)
def test_an_exit_code_speaks_where_one_question_is_asked(
    desk: Desk, body: str, code: int, score: float | None
) -> None:
    """0 is yes, another without words is no, another with words or a signal is a failed judge."""
    desk.rubric(ONE)
    desk.file("note.md", "x\n")
    result = evaluate(desk, "note.md", desk.judge(body=body))
    assert (result.code, result.json["score"]) == (code, score)


def test_a_judge_that_takes_too_long_is_degraded_and_ended(ready: Desk) -> None:
    """A time-out is no reply: nothing is kept, and the next command asks again."""
    judge = ready.judge(body="time.sleep(30)")
    result = evaluate(ready, "note.md", judge, judge_timeout=0.3)
    assert result.code == 3
    assert "no reply within 0.3 s" in result.json["judges"][0]["reason"]
    evaluate(ready, "note.md", judge, judge_timeout=0.3)
    assert judge.calls == 2


# ----------------------------------------------------------------------------------------------------------
# cmd: judges


FILLER = """
import json, re, sys
prompt = sys.stdin.read()
open({log!r}, "a").write(json.dumps(prompt) + "\\n")
skeleton = json.loads(prompt[prompt.rindex('{{"token"'):])
asked = dict(re.findall(r"^\\s*\\[(\\d+)\\] (.*)$", prompt, re.M))
artifact = prompt[:prompt.rindex("[1] ")]
for number, answer in skeleton["answers"].items():
    answer["answer"] = {expression}
print("Here you are:")
print(json.dumps(skeleton))
"""


def filler(desk: Desk, name: str, expression: str) -> Program:
    """A `cmd:` judge that fills in the skeleton at the end of the prompt."""
    log = desk.logs / f"{name}.jsonl"
    path = desk.file(f"{name}.py", FILLER.format(log=str(log), expression=expression))
    return Program(f"cmd:{PYTHON} {path.name}", path, log)


def test_any_program_that_fills_in_a_skeleton_is_a_judge(ready: Desk) -> None:
    """A `cmd:` judge answers by the last word of each line `[N]`; its marks are those of a script
    judge.
    """
    judge = filler(ready, "filler", "asked[number].split()[-1].lower() in artifact.lower()")
    ready.rubric(RUBRIC.replace("It ends with a farewell", "It ends with a proper farewell"))
    result = evaluate(ready, "note.md", judge)
    assert judge.calls == 1, judge.lines
    assert result.json["score"] == 37.5
    assert result.json["judges"][0]["state"] == "AVAILABLE"
    prompt = json.loads(judge.lines[0])
    assert "weight" not in prompt
    assert "80" not in prompt


@pytest.mark.parametrize("name", ["mockery", "mockingbird", "self-made", "agent-smith"])
def test_a_judge_is_not_known_by_the_beginning_of_its_name(ready: Desk, name: str) -> None:
    """A judge of the settings is an ordinary one, whatever it is called: no flag, no missing reply."""
    filler(ready, "filler", "asked[number].split()[-1].lower() in artifact.lower()")
    entry = (
        f'[judges.{name}]\nprovider = "cli"\ncommand = "{PYTHON} {ready.folder / "filler.py"}"\n'
    )
    ready.file("honestone.toml", entry)
    result = ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", name, "--json")
    assert (result.code, result.json["verdict"], result.json["flags"]) == (1, "fail", [])
    assert (
        result.json["self_evaluated"] is False and result.json["judges"][0]["state"] == "AVAILABLE"
    )


def test_a_judge_is_asked_again_as_often_as_its_settings_say(ready: Desk) -> None:
    """A reply that cannot be read is asked for again, also by the next command; a command after a
    usable one repeats no call.
    """
    judge = filler(ready, "filler", "asked[number].split()[-1].lower() in artifact.lower()")
    path = ready.folder / "filler.py"
    late = f"import os\nif sum(1 for _ in open({str(judge.log)!r})) < 3:\n    print('Sorry.'); sys.exit()\n"
    path.write_text(path.read_text().replace("skeleton =", late + "skeleton =", 1))
    for reasks, code, calls in ((1, 3, 2), (2, 1, 3), (2, 1, 3)):
        entry = (
            f'[judges.small]\nprovider = "cli"\ncommand = "{PYTHON} {path}"\nreasks = {reasks}\n'
        )
        ready.file("honestone.toml", entry)
        result = ready.run(
            "eval", "note.md", "--rubric", "rubric.yaml", "--judge", "small", "--json"
        )
        assert (result.code, judge.calls) == (code, calls), result.err
    assert (
        result.json["judges"][0]["state"] == "AVAILABLE"
        and result.json["usage"]["cached_calls"] == 1
    )


def test_a_judge_that_agrees_with_everything_is_void(ready: Desk) -> None:
    """Yes to the control question voids the ballot: DEGRADED as tampered, exit 3, asked once."""
    judge = filler(ready, "flatterer", "True")
    result = evaluate(ready, "note.md", judge)
    assert result.code == 3
    assert result.json["judges"][0]["state"] == "DEGRADED"
    assert "tampered" in result.json["judges"][0]["reason"]
    assert judge.calls == 1


# ----------------------------------------------------------------------------------------------------------
# the record


def test_two_evals_of_the_same_bytes_make_no_second_call_and_say_so(ready: Desk) -> None:
    """The second command asks nobody, says so on stderr, and gives the same numbers."""
    judge = ready.judge()
    first, second = evaluate(ready, "note.md", judge), evaluate(ready, "note.md", judge)
    assert judge.calls == 1
    assert "0 judge calls" in second.err
    assert "0 judge calls" not in first.err
    assert second.json["usage"]["judge_calls"] == 0
    assert second.json["usage"]["cached_calls"] == 1
    assert first.json["contract"] == second.json["contract"]
    assert first.json["score"] == second.json["score"]
    assert first.json["run"] != second.json["run"]


def test_a_fresh_eval_asks_anew_and_the_newest_reply_is_used_from_then_on(desk: Desk) -> None:
    """A judge that changes its mind is heard again only with `--fresh`; both replies stay on
    record.
    """
    desk.rubric(ONE)
    desk.file("note.md", "x\n")
    judge = desk.judge(
        body="print(json.dumps({'criteria': {'one': {'met': os.path.exists(LOG + '.yes')}}}))"
    )
    assert evaluate(desk, "note.md", judge).code == 1
    first = desk.run("runs", "--json").json[0]["id"]
    Path(f"{judge.log}.yes").touch()
    assert evaluate(desk, "note.md", judge).code == 1
    assert evaluate(desk, "note.md", judge, fresh=True).code == 0
    assert judge.calls == 2
    assert evaluate(desk, "note.md", judge).code == 0
    assert judge.calls == 2
    assert desk.run("show", first, "--json").json["verdict"] == "fail"


@pytest.mark.slow
def test_row_16_whatever_decides_a_score_changes_the_contract(ready: Desk) -> None:
    """One character of the rubric, a judge's file, a bar, the rule: another contract each; the
    artifact is no part.
    """
    judge = ready.judge()
    seen: dict[str, str] = {}

    def contract(what: str, **extra: Any) -> str:
        seen[what] = evaluate(ready, "note.md", judge, **extra).json["contract"]
        return seen[what]

    plain = contract("plain")
    assert contract("the same again") == plain
    ready.file("note.md", "An apple, changed.\n")
    assert contract("another artifact") == plain
    assert contract("threshold", threshold=81) != plain
    assert contract("floor", floor=1) != plain
    assert contract("rule", combine="median") != plain
    assert contract("evidence", evidence="require") != plain
    assert contract("two looks", repeat=2) != plain
    judge.path.write_text(judge.path.read_text() + "#")
    assert contract("a judge's file") != plain
    ready.rubric(RUBRIC.replace("the pear", "the Pear"))
    contract("the rubric")
    different = {
        name: value
        for name, value in seen.items()
        if name not in ("the same again", "another artifact")
    }
    assert len(set(different.values())) == len(different), seen


def test_a_changed_judge_is_another_judge(ready: Desk) -> None:
    """Row 16: after an edit of the judge's program its old replies are not used."""
    judge = ready.judge()
    evaluate(ready, "note.md", judge)
    judge.path.write_text(judge.path.read_text() + "\n# v2\n")
    evaluate(ready, "note.md", judge)
    assert judge.calls == 2


def test_a_crash_is_no_reply_and_is_tried_again_by_the_next_command(ready: Desk) -> None:
    """What was never answered is asked again; what was answered is not."""
    good = ready.judge("good")
    bad = ready.judge("bad", "sys.exit('gone')")
    evaluate(ready, "note.md", good, bad)
    evaluate(ready, "note.md", good, bad)
    assert (good.calls, bad.calls) == (1, 2)


def test_a_rubric_that_code_answers_needs_no_judge(desk: Desk) -> None:
    """Checks alone: no judge is looked for or listed, and confidence is not low."""
    desk.rubric(
        "rubric: 1\ncriteria:\n  - id: apple\n    requirement: It names the apple\n    check: {contains: apple}\n"
    )
    desk.file("note.md", "An apple.\n")
    result = desk.run(
        "eval", "note.md", "--rubric", "rubric.yaml", "--json", env={"PATH": "/nonexistent"}
    )
    assert result.code == 0, result.err
    assert result.json["judges"] == []
    assert result.json["low_confidence"] is False
    assert result.json["usage"]["judge_calls"] == 0


# ----------------------------------------------------------------------------------------------------------
# many


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("good.md", "open.md", "bad.md"), 1),
        (("good.md", "open.md"), 3),
        (("open.md", "good.md"), 3),
        (("good.md",), 0),
        (("bad.md", "good.md"), 1),
    ],
)
def test_of_several_artifacts_a_failure_outweighs_what_could_not_be_judged(
    ready: Desk, names: tuple[str, ...], code: int
) -> None:
    """Exit 1 over 3 over 0, whatever the order; the list keeps the order given."""
    ready.file("good.md", GOOD)
    ready.file("bad.md", "Nothing.\n")
    ready.file("open.md", "Unspeakable.\n")
    judge = ready.judge(
        body="if 'Unspeakable' in text: sys.exit('I cannot')\nprint(json.dumps(reply()))"
    )
    result = ready.run("eval", *names, "--rubric", "rubric.yaml", "--judge", judge.spec, "--json")
    assert result.code == code
    cards = result.json if len(names) > 1 else [result.json]
    assert [card["artifact"]["path"] for card in cards] == list(names)
    verdicts = {"good.md": "pass", "bad.md": "fail", "open.md": "inconclusive"}
    assert [card["verdict"] for card in cards] == [verdicts[name] for name in names]


def test_many_artifacts_are_summed_up(ready: Desk) -> None:
    """Forty files: how many passed, means by criterion, those that did worst with what they missed,
    and what was spent on all.
    """
    names = [f"n{number:02}.md" for number in range(40)]
    for number, name in enumerate(names):
        ready.file(name, GOOD if number != 7 else "Nothing.\n")
    judge = ready.judge()
    result = ready.run("eval", *names, "--rubric", "rubric.yaml", "--judge", judge.spec)
    assert result.code == 1
    assert "39 of 40 passed" in result.out
    assert re.search(r"(?m)^\S* n07\.md +\S+ +\w+: \S", result.out)
    assert "n08.md" not in result.out
    assert "95% interval" in result.out
    # Equal bytes under another name were judged already.
    assert judge.calls == 2
    assert "2 judge calls" in result.out
    assert "38 recorded replies" in result.out
    assert ready.run("show", "last").out.splitlines()[:5] == result.out.splitlines()[:5]


def test_a_folder_is_one_artifact_and_its_rubric_is_no_part_of_it(desk: Desk) -> None:
    """A judge gets the files in path order without the rubric; editing the rubric leaves the digest
    as it is.
    """
    desk.file("skill/b.md", "a pear\n")
    desk.file("skill/a/x.md", "an apple\n")
    desk.file("skill/pic.bin", b"\0\1")
    desk.file("skill/.git/config", "hidden apple\n")
    desk.rubric(RUBRIC, "skill/rubric.yaml")
    judge = desk.judge()
    first = evaluate(desk, "skill", judge, rubric="skill/rubric.yaml")
    files = judge.requests[0]["artifact"]["files"]
    assert files == [{"path": "a/x.md", "text": "an apple\n"}, {"path": "b.md", "text": "a pear\n"}]
    assert first.json["score"] == 75.0
    desk.rubric(RUBRIC + "# a remark\n", "skill/rubric.yaml")
    second = evaluate(desk, "skill", judge, rubric="skill/rubric.yaml")
    assert second.json["artifact"]["digest"] == first.json["artifact"]["digest"]
    desk.file("skill/pic.bin", b"\0\2")
    assert (
        evaluate(desk, "skill", judge, rubric="skill/rubric.yaml").json["artifact"]
        != first.json["artifact"]
    )


def test_a_link_that_the_person_names_is_followed(ready: Desk) -> None:
    """A link given on the command line is the file that it points to."""
    (ready.home / "elsewhere.md").write_text(GOOD)
    (ready.folder / "link.md").symlink_to(ready.home / "elsewhere.md")
    result = evaluate(ready, "link.md", ready.judge())
    assert (result.code, result.json["artifact"]["path"]) == (0, "link.md")


NAMES = [
    "with space.md",
    "-dash.md",
    "new\nline.md",
    "früh☕.md",
    "quote'\"$(x).md",
    "[red]x.md",
    "\x1b[31mred.md",
]


def test_unusual_file_names_are_judged_like_any_other(ready: Desk) -> None:
    """Spaces, dashes, line ends, quotes and escapes in names break neither the call nor the output."""
    for name in NAMES:
        ready.file(name, GOOD)
    call = ("eval", "--rubric", "rubric.yaml", "--judge", "mock")
    result = ready.run(*call, "--json", "--", *NAMES)
    assert result.code == 0, result.err
    assert [card["artifact"]["path"] for card in result.json] == NAMES
    text = ready.run(*call, "--", *NAMES).out
    assert "\x1b" not in text
    assert "früh☕.md" in text
    assert "\x1b" not in ready.run("runs").out
    assert (
        "\x1b"
        not in ready.run(
            "eval", "--rubric", "rubric.yaml", "--judge", "mock", "--", "\x1b[31mno.md"
        ).err
    )


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no file names that are not UTF-8")
def test_a_file_name_that_is_not_utf8_is_judged(ready: Desk) -> None:
    """A name in Latin-1 is shown escaped, in every format, and can be shown again."""
    name = b"caf\xe9.md"
    Path(os.fsdecode(os.fsencode(ready.folder) + b"/" + name)).write_text(GOOD)
    judge = ready.judge()
    call = ("eval", name, "--rubric", "rubric.yaml", "--judge", judge.spec)
    for form in ("text", "json", "markdown", "junit"):
        result = ready.run(*call, "--format", form)
        assert result.code == 0, (form, result.err)
        result.raw.decode("utf-8")
        assert "caf" in result.out
        assert ready.run("show", "--format", form).out == result.out
    assert judge.calls == 1
    assert ready.run("runs").code == 0


# ----------------------------------------------------------------------------------------------------------
# recorded judges


def test_recorded_answers_are_a_judge_that_costs_nothing(ready: Desk) -> None:
    """`record:` finds the row of an artifact by path, counts no call, and abstains where it has no
    row.
    """
    rows = [
        {
            "artifact": "note.md",
            "criteria": {
                "words": {"items": {"apple": {"met": True}, "pear": {"met": True}}},
                "close": {"met": True},
            },
        },
        {"artifact": "other.md", "criteria": {"close": {"met": False}}},
    ]
    ready.file("answers.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    result = evaluate(ready, "note.md", "record:answers.jsonl")
    assert (result.code, result.json["score"], result.json["usage"]["judge_calls"]) == (0, 100.0, 0)
    ready.file("third.md", "x\n")
    missing = evaluate(ready, "third.md", "record:answers.jsonl")
    assert missing.code == 3
    assert "no answers for" in missing.json["judges"][0]["reason"]
    partly = ready.file("other.md", "y\n")
    assert evaluate(ready, partly.name, "record:answers.jsonl").json["interval"] == [0.0, 75.0]


# ----------------------------------------------------------------------------------------------------------
# targets


def target(desk: Desk, body: str) -> str:
    desk.file("target.py", "import os, sys\n" + body)
    return f"cmd:{PYTHON} target.py"


def test_a_command_target_makes_the_output_that_is_judged(ready: Desk) -> None:
    """The judge sees the output in `output`; the input goes to the target's stdin."""
    spec = target(ready, "print(sys.stdin.read().upper() + 'pear farewell')")
    judge = ready.judge()
    result = evaluate(
        ready, "note.md", judge, target=spec, input="an apple", reference="what we hoped for"
    )
    assert result.json["score"] == 100.0
    (request,) = judge.requests
    assert request["output"] == "AN APPLEpear farewell\n"
    assert (request["input"], request["reference"]) == ("an apple", "what we hoped for")
    assert result.json["output"] == request["output"]


def test_a_target_may_use_files_for_prompt_and_output(ready: Desk) -> None:
    """`{PROMPT_FILE}` and `{OUTPUT_FILE}` are paths; braces in the input are not filled in again."""
    spec = target(
        ready,
        "given = open(sys.argv[1]).read()\nopen(sys.argv[2], 'w').write('pear ' + given)\nprint('noise')",
    )
    judge = ready.judge()
    evaluate(
        ready,
        "note.md",
        judge,
        target=f"{spec} {{PROMPT_FILE}} {{OUTPUT_FILE}}",
        input="{OUTPUT_FILE}",
    )
    assert judge.requests[0]["output"] == "pear {OUTPUT_FILE}"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("sys.exit('the model is away')", "the model is away"),
        ("sys.stdout.buffer.write(b'\\xff\\xfe')", "UTF-8"),
        ("os.kill(os.getpid(), 9)", "signal 9"),
    ],
)
def test_a_target_that_fails_is_no_low_score(ready: Desk, body: str, why: str) -> None:
    """A failed target is inconclusive, exit 3, with the reason; no judge is asked about it."""
    judge = ready.judge()
    result = evaluate(ready, "note.md", judge, target=target(ready, body))
    assert (result.code, result.json["verdict"], result.json["score"]) == (3, "inconclusive", None)
    assert why in result.json["reasons"][0]
    assert judge.calls == 0


def test_a_target_that_writes_no_output_file_has_failed(ready: Desk) -> None:
    """With `{OUTPUT_FILE}` named, stdout is not the output."""
    spec = target(ready, "print('pear')") + " {OUTPUT_FILE}"
    result = evaluate(ready, "note.md", "mock", target=spec)
    assert result.code == 3
    assert "wrote no output file" in result.json["reasons"][0]


def test_an_unknown_target_is_refused(ready: Desk) -> None:
    """A misspelt target is a usage error before anything is spent."""
    judge = ready.judge()
    result = ready.run(
        "eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec, "--target", "idnetity"
    )
    assert result.is_refusal
    assert "did you mean `identity`?" in result.err
    assert judge.calls == 0


# ----------------------------------------------------------------------------------------------------------
# where things are kept


def test_the_store_lies_beside_the_nearest_settings_file(ready: Desk) -> None:
    """From a folder below, the store of the project is used; it keeps itself out of version
    control.
    """
    ready.file("honestone.toml", "")
    below = ready.folder / "docs" / "deep"
    below.mkdir(parents=True)
    (below / "note.md").write_text(GOOD)
    result = ready.run(
        "eval", "note.md", "--rubric", "../../rubric.yaml", "--judge", "mock", cwd=below
    )
    assert result.code == 0, result.err
    assert (ready.store / "store.db").exists()
    assert (ready.store / ".gitignore").read_text() == "*\n"
    assert not (below / ".honestone").exists()


def test_honestone_home_moves_the_store(ready: Desk) -> None:
    """`HONESTONE_HOME` wins over the settings file's folder."""
    ready.file("honestone.toml", "")
    place = {"HONESTONE_HOME": str(ready.home / "kept")}
    assert (
        ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", "mock", env=place).code
        == 0
    )
    assert (ready.home / "kept" / "store.db").exists()
    assert not ready.store.exists()
    assert ready.run("runs", "--json", env=place).json[0]["subject"].endswith("note.md")


def test_the_store_is_never_part_of_an_artifact(ready: Desk) -> None:
    """Judging the folder that holds the store twice is judging the same bytes."""
    ready.file("docs/a.md", "An apple.\n")
    rubric = ready.folder / "rubric.yaml"
    call = ("eval", ".", "--rubric", rubric, "--judge", "mock", "--json")
    first, second = (ready.run(*call, cwd=ready.folder / "docs") for _ in range(2))
    assert (ready.folder / "docs" / ".honestone").exists()
    assert first.json["artifact"]["digest"] == second.json["artifact"]["digest"]


# ----------------------------------------------------------------------------------------------------------
# secrets


SECRET = "sk-very-secret-5823"
PRINT_ENV = 'open(LOG + ".env", "w").write(repr(dict(os.environ)))\nprint(json.dumps(reply()))'


def test_a_key_in_the_environment_reaches_nobody_and_no_disk(ready: Desk) -> None:
    """Judges, checks and targets do not see SOME_API_KEY, and it stands in no file afterwards."""
    ready.extra["SOME_API_KEY"] = SECRET
    check = "check: {command: \"sh -c 'test -z $SOME_API_KEY'\"}"
    ready.rubric(
        RUBRIC.replace(
            "requirement: It names the pear}", f"requirement: It names the pear, {check}}}"
        )
    )
    judge = ready.judge(body=PRINT_ENV)
    spec = target(ready, "print(os.environ.get('SOME_API_KEY', 'apple'))")
    result = evaluate(ready, "note.md", judge, target=spec)
    assert "SOME_API_KEY" not in Path(f"{judge.log}.env").read_text()
    assert result.json["output"] == "apple\n"
    assert {item["id"]: item["met"] for item in result.json["criteria"][0]["items"]}["pear"] == 1.0
    assert SECRET not in result.out + result.err
    assert ready.holds_anywhere(SECRET.encode()) == []


def test_pass_env_hands_a_named_variable_on(ready: Desk) -> None:
    """`--pass-env` shows it to the judge and still keeps it out of the store, events and output."""
    ready.extra |= {"SOME_API_KEY": SECRET, "OTHER_TOKEN": "other-secret"}
    judge = ready.judge(body=PRINT_ENV)
    result = evaluate(ready, "note.md", judge, pass_env="SOME_API_KEY")
    seen = Path(f"{judge.log}.env").read_text()
    assert SECRET in seen
    assert "OTHER_TOKEN" not in seen
    assert SECRET not in result.out + result.err
    assert ready.holds_anywhere(SECRET.encode()) == []


def test_the_same_bytes_by_another_path_cost_no_second_call(ready: Desk) -> None:
    """Promise 6: a judge has seen these bytes, wherever they lie and however their path is written."""
    judge = ready.judge()
    text = (ready.folder / "note.md").read_bytes()
    ready.file("sub/copy.md", text)
    assert ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec).code in (
        0,
        1,
    )
    for path in ("./note.md", "sub/copy.md", str(ready.folder / "note.md")):
        again = ready.run("eval", path, "--rubric", "rubric.yaml", "--judge", judge.spec, "--json")
        assert again.json["usage"]["judge_calls"] == 0
    assert judge.calls == 1


def test_held_out_judges_decide_alone(desk: Desk) -> None:
    """`--judge` names those that the text was optimised against: they are not asked."""
    desk.file("best.md", "an apple and a pear\nfarewell\n")
    desk.file("rubric.yaml", RUBRIC)
    kind, other = desk.judge("kind"), desk.judge("other")
    words = ("eval", "best.md", "-r", "rubric.yaml", "--judge", kind.spec)
    found = desk.run(*words, "--holdout", other.spec, "--sure", "90", "--json")
    assert found.json["belief"]["target"] == 0.9
    assert kind.calls == 0 < other.calls
    assert [one["judge"] for one in found.json["belief"]["rests_on"]] == [other.spec]


def test_a_held_out_judge_needs_the_judges_that_it_is_held_out_from(desk: Desk) -> None:
    """Otherwise no one could tell whether the text was optimised against it."""
    desk.file("best.md", "an apple\n")
    desk.file("rubric.yaml", RUBRIC)
    desk.file("table.csv", "id,text\n1,an apple\n")
    desk.file("suite.yaml", "suite: 1\ntarget: mock\nrubric: [good]\ncases: [{id: a, input: x}]\n")
    other = desk.judge("other")
    for words in (
        ("best.md", "-r", "rubric.yaml"),
        ("table.csv", "--text", "text", "-r", "rubric.yaml"),
        ("suite.yaml",),
    ):
        found = desk.run("eval", *words, "--holdout", other.spec)
        assert found.is_refusal and "--judge names none" in found.err, found
    assert other.calls == 0


def test_a_judge_that_was_optimised_against_certifies_nothing(desk: Desk) -> None:
    """Also under another name of the same program."""
    desk.file("best.md", "an apple\n")
    desk.file("rubric.yaml", RUBRIC)
    kind = desk.judge("kind")
    again = kind.spec.replace("script:", "script:env ")
    for holdout in (kind.spec, again):
        words = ("eval", "best.md", "-r", "rubric.yaml", "--judge", kind.spec)
        found = desk.run(*words, "--holdout", holdout)
        assert found.is_refusal and "certifies nothing" in found.err
    assert kind.calls == 0
