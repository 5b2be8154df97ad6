"""Who certifies where nobody was named: one of two or more judges is kept from steering."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from honestone.app.improving.holding_out import hold_one_out
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.engine.judging.seats import Seat

from .desk import Desk
from .test_improve import ADD_ALL, NOTE, improve

OTHERWISE = "print(json.dumps(reply()))  # another program"

ONE = Rubric(criteria=(Criterion(id="a", requirement="a", items=(Item(id="a", requirement="a"),)),))


@dataclass
class Named:
    """A judge that is asked nothing here."""

    identity: dict[str, Any] = field(default_factory=dict)


def model(name: str, provider: str = "compatible") -> dict[str, Any]:
    return {"kind": "prompted", "model": {"provider": provider, "model": name}}


def cli(name: str) -> dict[str, Any]:
    return {"kind": "prompted", "model": {"kind": "agent-cli", "cli": name, "model": None}}


def held(identities: dict[str, Any], quorum: Any = "all") -> tuple[list[str], list[str]]:
    seats = tuple(Seat(id=id, judge=Named(identity)) for id, identity in identities.items())  # type: ignore[arg-type]
    panel, holdouts = hold_one_out(seats, Rubric(criteria=ONE.criteria, quorum=quorum))
    return [seat.id for seat in panel], [seat.id for seat in holdouts]


@pytest.mark.parametrize(
    ("identities", "certifies"),
    [
        ({"x": {"kind": "script"}, "y": {"kind": "script"}}, "y"),
        ({"a": model("claude-1"), "b": model("gpt-9"), "c": model("claude-2")}, "b"),
        ({"a": model("gpt-1"), "b": model("gpt-2")}, "b"),
        ({"codex": cli("codex"), "x": model("gpt-2", "openai"), "claude": cli("claude")}, "claude"),
        ({"claude": cli("claude"), "codex": cli("codex"), "x": model("gpt-2", "openai")}, "claude"),
    ],
)
def test_the_last_judge_of_a_family_of_its_own(identities: dict[str, Any], certifies: str) -> None:
    panel, holdouts = held(identities)
    assert holdouts == [certifies] and panel == [id for id in identities if id != certifies]


def test_a_panel_stays_whole_where_it_must() -> None:
    """One judge, also when it is asked twice; a quorum that needs everybody."""
    assert held({"x": {}}) == (["x"], [])
    again = Seat(id="x#2", judge=Named(), draw=1, draw_of="x")  # type: ignore[arg-type]
    assert hold_one_out((Seat(id="x", judge=Named()), again), ONE)[1] == ()  # type: ignore[arg-type]
    assert held({"x": {}, "y": {}}, quorum=2) == (["x", "y"], [])
    assert held({"x": {}, "y": {}, "z": {}}, quorum=2) == (["x", "y"], ["z"])


@pytest.mark.slow
def test_two_judges_are_a_panel_and_a_witness(ready: Desk) -> None:
    """Said before anything is spent; `--holdout none` has both steer, and then nothing confirms
    what they say.
    """
    one, two, worker = (
        ready.judge("one"),
        ready.judge("two", OTHERWISE),
        ready.worker("worker", ADD_ALL),
    )
    done = improve(ready, worker, one, two)
    assert done.code == 0 and done.json["result"] == "PASSED", done
    assert one.calls == 3 and two.calls == 1
    assert (
        f"{two.spec} does not steer and is kept to certify" in done.err
        and "--holdout none" in done.err
    )
    ready.file("note.md", NOTE)
    both = improve(ready, worker, one, two, holdout="none")
    assert (
        both.code == 3
        and both.json["result"] == "UNCONFIRMED"
        and "kept to certify" not in both.err
    )
