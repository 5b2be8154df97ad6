"""The shapes that `--json` prints are public: every field of the design, of the type it says, and
no NaN.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .desk import PYTHON, RUBRIC, Desk

NUMBER = (int, float)
TEXT_OR_NONE = (str, type(None))
NUMBER_OR_NONE = (int, float, type(None))

SCORECARD: dict[str, Any] = {
    "schema": str,
    "artifact": dict,
    "verdict": str,
    "reasons": list,
    "score": NUMBER_OR_NONE,
    "interval": list,
    "threshold": NUMBER,
    "floor": NUMBER,
    "low_confidence": bool,
    "criteria": list,
    "judges": list,
    "flags": list,
    "contract": str,
    "run": str,
    "usage": dict,
}
CRITERION: dict[str, Any] = {
    "id": str,
    "parent": TEXT_OR_NONE,
    "score": NUMBER_OR_NONE,
    "interval": list,
    "weight": NUMBER,
    "floor": NUMBER,
    "required": bool,
    "below_floor": bool,
    "spread": NUMBER,
    "by_judge": dict,
    "items": list,
}
ITEM: dict[str, Any] = {
    "id": str,
    "met": NUMBER_OR_NONE,
    "votes": dict,
    "evidence": list,
    "suggestion": TEXT_OR_NONE,
}
USAGE: dict[str, Any] = {
    "judge_calls": int,
    "cached_calls": int,
    "worker_calls": int,
    "input_tokens": int,
    "output_tokens": int,
    "usd": NUMBER_OR_NONE,
}
IMPROVEMENT: dict[str, Any] = {
    "schema": str,
    "result": str,
    "reason": str,
    "best_round": int,
    "rounds": list,
    "baseline": dict,
    "final": dict,
    "certification": dict,
    "report": str,
    "run": str,
    "contract": str,
    "usage": dict,
    "artifact": dict,
}
ROUND: dict[str, Any] = {
    "round": int,
    "focus": list,
    "outcome": str,
    "decision": TEXT_OR_NONE,
    "reason": TEXT_OR_NONE,
    "score_before": NUMBER_OR_NONE,
    "score_after": NUMBER_OR_NONE,
    "criteria": list,
    "judges": list,
}
SHA = re.compile(r"sha256:[0-9a-f]{64}")
ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


def has_shape(value: dict[str, Any], shape: dict[str, Any]) -> None:
    for name, kind in shape.items():
        assert name in value, name
        assert isinstance(value[name], kind), (name, value[name])
        if bool not in (kind if isinstance(kind, tuple) else (kind,)):
            assert not isinstance(value[name], bool), name


def is_interval(value: list[Any]) -> None:
    low, high = value
    assert 0 <= low <= high <= 100


def is_scorecard(card: dict[str, Any]) -> None:
    has_shape(card, SCORECARD)
    assert card["schema"] == "honestone.scorecard/1"
    assert card["verdict"] in ("pass", "fail", "inconclusive", "skipped")
    assert SHA.fullmatch(card["contract"])
    assert SHA.fullmatch(card["artifact"]["digest"])
    assert ULID.fullmatch(card["run"])
    is_interval(card["interval"])
    if card["score"] is not None:
        assert card["interval"][0] <= card["score"] <= card["interval"][1]
    has_shape(card["usage"], USAGE)
    for criterion in card["criteria"]:
        has_shape(criterion, CRITERION)
        is_interval(criterion["interval"])
        for item in criterion["items"]:
            has_shape(item, ITEM)
    for judge in card["judges"]:
        assert judge["state"] in ("AVAILABLE", "SKIPPED", "DEGRADED")
        assert (judge["reason"] is None) == (judge["state"] == "AVAILABLE")


def strict(text: str) -> Any:
    """JSON without NaN, infinities or a key given twice."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in pairs}) == len(pairs)
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=once)


def test_eval_of_one_artifact_is_an_object_with_every_public_field(ready: Desk) -> None:
    """Score known: interval closed, checks vote as `check`, a script judge by its id."""
    ready.rubric(RUBRIC.replace("names the pear}", "names the pear, check: {contains: pear}}"))
    judge = ready.judge()
    card = strict(
        ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec, "--json").out
    )
    is_scorecard(card)
    items = {item["id"]: item for item in card["criteria"][0]["items"]}
    assert items["apple"]["votes"] == {judge.spec: "yes"}
    assert items["pear"]["votes"] == {"check": "no"}
    assert items["pear"]["met"] == 0.0
    assert [seat["id"] for seat in card["judges"]] == [judge.spec]


def test_eval_without_a_score_keeps_the_shape(ready: Desk) -> None:
    """Nobody answered: score null, interval 0 to 100, a reason for the judge that failed."""
    judge = ready.judge(body="sys.exit('gone')")
    card = strict(
        ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec, "--json").out
    )
    is_scorecard(card)
    assert card["score"] is None
    assert card["interval"] == [0.0, 100.0]


def test_eval_of_several_artifacts_is_a_list(ready: Desk) -> None:
    """Two artifacts, two scorecards of one run."""
    ready.file("other.md", "pear\n")
    call = ("eval", "note.md", "other.md", "--rubric", "rubric.yaml", "--judge", "mock", "--json")
    cards = strict(ready.run(*call).out)
    assert len(cards) == 2
    for card in cards:
        is_scorecard(card)
    assert len({card["run"] for card in cards}) == 1
    assert strict(ready.run("show", "--json").out) == cards


def test_a_tree_lists_parents_before_children(ready: Desk) -> None:
    """Every node is in `criteria`, each with its parent's id or null."""
    ready.rubric(
        """\
        rubric: 1
        floor: 0
        criteria:
          - id: whole
            requirement: The whole
            criteria:
              - {id: part, requirement: It names the apple}
              - {id: other, requirement: It names the pear}
          - {id: alone, requirement: It says farewell}
        """
    )
    judge = ready.judge()
    card = strict(
        ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec, "--json").out
    )
    is_scorecard(card)
    assert [(line["id"], line["parent"]) for line in card["criteria"]] == [
        ("whole", None),
        ("part", "whole"),
        ("other", "whole"),
        ("alone", None),
    ]
    assert card["score"] == 25.0


def test_improve_has_every_public_field(ready: Desk) -> None:
    """Result, rounds, both scorecards, certification, and usage of run and process."""
    judge, witness = ready.judge(), ready.judge("witness")
    worker = ready.worker("worker", "put(read() + b'pear, farewell')")
    call = (
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        judge.spec,
        "--worker",
        worker.spec,
    )
    run = strict(ready.run(*call, "--holdout", witness.spec, "--json").out)
    has_shape(run, IMPROVEMENT)
    assert run["schema"] == "honestone.improvement/1"
    assert run["result"] == "PASSED"
    is_scorecard(run["baseline"])
    is_scorecard(run["final"])
    for entry in run["rounds"]:
        has_shape(entry, ROUND)
        for line in entry["criteria"]:
            assert {"id", "before", "after", "by_judge"} <= set(line)
    has_shape(run["usage"], USAGE)
    has_shape(run["usage"]["this_process"], USAGE)
    certified = run["certification"]
    assert (certified["needed"], certified["ok"]) == (True, True)
    assert [judge["id"] for judge in certified["judges"]] == [witness.spec]


def test_a_named_judge_keeps_the_text_it_was_named_with(ready: Desk) -> None:
    """Judge ids are what was given to `--judge`, in the order given."""
    ready.file("yes.py", "")
    names = [f"script:{PYTHON} yes.py", "mock", "record:answers.json"]
    ready.file("answers.json", '{"criteria": {"close": {"met": true}}}')
    words = [word for name in names for word in ("--judge", name)]
    card = strict(ready.run("eval", "note.md", "--rubric", "rubric.yaml", *words, "--json").out)
    is_scorecard(card)
    assert [judge["id"] for judge in card["judges"]] == names
