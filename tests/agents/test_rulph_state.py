"""`honestone agent hook stop --state FILE`: decides by rulph's state.json, counts there, changes
nothing else.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .host import Answer, Host

RECORDED = (
    Path(__file__).parents[3] / "shared" / "data" / "samples" / "rulph" / "stop-hook-recorded.jsonl"
)
OURS = {
    "fractional_score": False,
    "threshold_zero": False,
    "max_rounds_zero": False,
    "integer_score_passes_floor_unknown": True,
}
"""Where the recorded decision is wrong."""

STATE = {
    "status": "active",
    "round": 1,
    "max_rounds": 5,
    "score": 50,
    "threshold": 70,
    "iteration": 0,
    "max_iterations": 15,
}


def rows() -> list[dict[str, Any]]:
    return (
        [json.loads(line) for line in RECORDED.read_text().splitlines()]
        if RECORDED.exists()
        else []
    )


def by(
    host: Host, text: str | bytes, file: str = "state.json", session: str = "s", **given: object
) -> Answer:
    host.file("state.json", text)
    return host.stop(session, "--state", file, **given)


def state(**changed: object) -> str:
    return json.dumps({"other": [1, None], "rulph": {**STATE, **changed}})


@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded cases are not here")
@pytest.mark.parametrize("row", rows(), ids=lambda row: row["case"])
def test_every_recorded_case(host: Host, row: dict[str, Any]) -> None:
    """The recorded decision where it is right; a state that lets go is left as it is, to the byte."""
    before = row.get("state_before_text", json.dumps(row.get("state_before")))
    answer = by(host, before)
    after = (host.folder / "state.json").read_text()
    holds = OURS.get(row["case"], row["stdout"] is not None)
    assert answer.held is holds
    if holds:
        was = json.loads(before)
        was["rulph"]["iteration"] = was["rulph"].get("iteration", 0) + 1
        assert answer.reason and json.loads(after) == was
    else:
        assert answer.out == "" and after == before
        assert answer.said is row["case"].startswith("corrupt")


@pytest.mark.parametrize(
    ("changed", "held"),
    [
        ({"score": 69.999}, True),
        ({"score": 70.0}, False),
        ({"score": None}, True),
        ({"score": 91, "floor": 95}, True),
        ({"score": 91, "floor": 70, "below_floor": []}, False),
        ({"score": 91, "below_floor": ["tone"]}, True),
        ({"round": 6}, False),
        ({"max_iterations": 0}, False),
        ({"iteration": 14}, True),
        ({"iteration": 10**400}, False),
        ({"status": "paused"}, True),
        ({"session_id": "s"}, True),
        ({"session_id": "another"}, False),
    ],
)
def test_decisions(host: Host, changed: dict[str, Any], held: bool) -> None:
    answer = by(host, state(**changed))
    assert answer.held is held and answer.err == ""


def test_the_reason_says_the_state_as_it_is(host: Host) -> None:
    reason = by(host, state(score=69.999, floor=60, below_floor=["producer_consumer"])).reason
    assert "score 69.999, threshold 70" in reason and "producer_consumer" in reason
    assert "held 1 of at most 15" in reason and "round 1 of 5" in reason
    assert "no score yet" in by(host, json.dumps({"rulph": {"status": "init"}})).reason


@pytest.mark.parametrize(
    "changed",
    [
        {"score": "x"},
        {"score": float("nan")},
        {"score": True},
        {"threshold": None},
        {"threshold": float("inf")},
        {"iteration": "many"},
        {"iteration": 1.5},
        {"max_rounds": []},
        {"below_floor": "tone"},
        {"status": 7},
        {"session_id": {}},
    ],
)
def test_nonsense_lets_go_and_is_said(host: Host, changed: dict[str, Any]) -> None:
    text = state(**changed)
    assert by(host, text).said and (host.folder / "state.json").read_text() == text


@pytest.mark.parametrize("text", [b"[]", b"null", b'{"rulph": 7}', b"\xff", b"[" * 99_999])
def test_what_is_no_state_lets_go_and_is_said(host: Host, text: bytes) -> None:
    assert by(host, text).said


def test_only_the_number_changes(host: Host) -> None:
    """Form, order, exponents and other counts stay, to the byte; so do the file's mode and a link
    to it.
    """
    text = (
        '{\n\t"a": {"iteration" :  3},\n\t"rulph": { "score": 5e1, "threshold": 70.50, "iteration" : 3,\n'
        '\t\t"title": "\\uc548녕", "status": "active" }, "z": {"iteration" :  3} }  \n'
    )
    path = host.file("real.json", text)
    path.chmod(0o640)
    (host.folder / "link.json").symlink_to("real.json")
    assert host.stop("s", "--state", "link.json").held
    assert path.read_text() == text.replace('"iteration" : 3', '"iteration" : 4')
    assert path.stat().st_mode & 0o777 == 0o640 and (host.folder / "link.json").is_symlink()


def test_each_session_has_a_file(host: Host) -> None:
    """rulph keeps a state for each; an id that leads elsewhere names none, and a state that is not
    there is no loop.
    """
    host.file(".hoyeon/s-1/state.json", state())
    name = f"{host.folder}/.hoyeon/{{session_id}}/state.json"
    assert host.stop("s-1", "--state", name).held
    assert all(
        host.stop(session, "--state", name).silent
        for session in ("s-2", "..", "../.hoyeon/s-1", "", "a/b")
    )
    host.file("home.json", "")
    (host.home / "state.json").write_text(state())
    assert host.stop("s", "--state", "~/state.json").held


def test_planning_and_sub_agents_are_let_go(host: Host) -> None:
    assert by(host, state(), permission_mode="plan").silent
    assert by(host, state(), hook_event_name="SubagentStop").silent
    assert by(host, state(), background_tasks=["b"]).silent


def test_every_hold_is_counted(host: Host) -> None:
    """Six processes at the same moment add six."""
    host.file("state.json", state())
    started = [host.hooking("stop", "--state", "state.json") for _ in range(6)]
    assert all(host.ended(hook, host.stopping("s")).held for hook in started)
    assert json.loads((host.folder / "state.json").read_text())["rulph"]["iteration"] == 6
