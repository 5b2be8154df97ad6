"""`honestone show --format langfuse`: traces and scores on a server that takes what Langfuse's
takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from .desk import Desk
from .langfuse_server import SECRET, LangfuseStandin, langfuse_standin

# Each test makes runs, and sends them to a server.
pytestmark = pytest.mark.slow

SUITE = """\
suite: 1
title: Fruit
attempts: 2
target: cmd:python3 bot.py
cases:
  - {id: both, input: "an apple, hello", rubric: [It names the apple], reference: An apple, tags: [sweet]}
  - {id: none, input: a stone, rubric: [It names the apple]}
  - {id: dead, input: crash, checks: [{contains: apple}]}
  - {id: later, input: never, skip: not yet, checks: [{contains: apple}]}
"""
BOT = """\
import sys
asked = sys.stdin.read()
if "crash" in asked:
    sys.exit("no answer today")
print(asked)
"""


@pytest.fixture
def server() -> Iterator[LangfuseStandin]:
    with langfuse_standin() as found:
        yield found


@pytest.fixture
def judged(ready: Desk) -> Desk:
    """A folder with one finished run."""
    ready.file("suite.yaml", SUITE)
    ready.file("bot.py", BOT)
    assert ready.run("eval", "suite.yaml", "--judge", ready.judge().spec).code == 1
    return ready


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for one in span["attributes"]:
        ((kind, value),) = one["value"].items()
        found[one["key"]] = (
            [each["stringValue"] for each in value["values"]] if kind == "arrayValue" else value
        )
    return found


def test_each_attempt_is_a_trace_with_its_scores(judged: Desk, server: LangfuseStandin) -> None:
    """The run is the session; scores are the report's divided by 100; one that is not known is not
    sent.
    """
    shown = judged.run("show", "--format", "langfuse", env=server.env)
    assert shown.code == 0, shown.err
    doc = json.loads(judged.run("show", "--json").out)
    spans = {
        (attributes(one)["langfuse.trace.name"], one["traceId"]): attributes(one)
        for one in server.spans.values()
    }
    assert sorted(name for name, _ in spans) == ["both", "both", "dead", "dead", "none", "none"]
    assert {one["session.id"] for one in spans.values()} == {doc["run"]}
    both = next(one for (name, _), one in spans.items() if name == "both")
    assert both["langfuse.observation.input"] == "an apple, hello" and both[
        "langfuse.trace.tags"
    ] == ["sweet"]
    assert both["langfuse.observation.output"].strip() == "an apple, hello"
    assert json.loads(both["langfuse.observation.metadata.reference"]) == "An apple"
    scores = [one for one in server.scores.values() if "traceId" in one]
    by_name = {
        name: [one["value"] for one in scores if one["name"] == name]
        for name in ("honestone", "honestone.status")
    }
    assert sorted(by_name["honestone"]) == [0, 0, 1, 1]
    assert sorted(by_name["honestone.status"]) == sorted(["passed", "failed", "target-error"] * 2)
    session = {one["name"]: one["value"] for one in server.scores.values() if "sessionId" in one}
    assert session == {"honestone.verdict": "fail"}, (
        "a case has no output, so no rate and no mean is known"
    )
    assert {one["traceId"] for one in scores} == {one["traceId"] for one in server.spans.values()}
    assert (
        f"6 traces and {len(server.scores)} scores sent to {server.url.removeprefix('http://')}"
        in shown.out
    )
    assert (
        "no place for: 1 case without an attempt; scores of 2 attempts that could not be judged"
        in shown.err
    )


def test_the_whole_card_of_the_attempt_that_counts_is_there(
    judged: Desk, server: LangfuseStandin
) -> None:
    """Criteria with their items and quotes have no field of their own: they are metadata of the
    trace.
    """
    assert judged.run("show", "--format", "langfuse", env=server.env).code == 0
    doc = json.loads(judged.run("show", "--json").out)
    cards = [
        attributes(one).get("langfuse.observation.metadata.case") for one in server.spans.values()
    ]
    kept = {card["id"]: card for card in (json.loads(one) for one in cards if one)}
    assert {id: card["criteria"] for id, card in kept.items()} == {
        case["id"]: case["criteria"] for case in doc["cases"] if case["id"] != "later"
    }
    dead = next(attributes(one) for one in server.spans.values() if one["name"] == "dead")
    assert (
        dead["langfuse.observation.level"] == "ERROR"
        and "no answer today" in dead["langfuse.observation.status_message"]
    )


def test_sending_twice_writes_over(judged: Desk, server: LangfuseStandin) -> None:
    """All ids and moments are of the run, so a second command changes nothing."""
    assert judged.run("show", "--format", "langfuse", env=server.env).code == 0
    before = (dict(server.spans), dict(server.scores))
    assert judged.run("show", "--format", "langfuse", env=server.env).code == 0
    assert (server.spans, server.scores) == before


def test_a_server_that_takes_one_score_at_a_time_gets_them_so(
    judged: Desk, server: LangfuseStandin
) -> None:
    """Lists are newer than many servers."""
    assert judged.run("show", "--format", "langfuse", env=server.env).code == 0
    before = dict(server.scores)
    server.scores.clear()
    server.takes_lists = False
    assert judged.run("show", "--format", "langfuse", env=server.env).code == 0
    assert server.scores == before


def test_a_server_that_asks_to_wait_is_asked_again(judged: Desk, server: LangfuseStandin) -> None:
    """A limit of calls a minute passes by itself."""
    server.faults = [
        ("/api/public/otel/v1/traces", 429, {"Retry-After": "0"}, {"message": "slow down"}),
        ("/api/public/scores", 503, {"Retry-After": "0"}, {"message": "restarting"}),
    ]
    assert judged.run("show", "--format", "langfuse", env=server.env).code == 0
    assert server.faults == [] and server.scores


@pytest.mark.parametrize(
    ("path", "status", "said", "expected"),
    [
        (
            "/api/public/scores",
            207,
            {"accepted": 1, "rejected": 2, "errors": [{"message": "name"}]},
            "2 refused: name",
        ),
        (
            "/api/public/otel/v1/traces",
            200,
            {"partialSuccess": {"rejectedSpans": "3"}},
            "3 spans refused",
        ),
        (
            "/api/public/otel/v1/traces",
            413,
            {"message": "too large"},
            "did not take the traces (413): too large",
        ),
        ("/api/public/otel/v1/traces", 307, {}, "redirects"),
    ],
)
def test_what_the_server_does_not_take_is_reported(
    judged: Desk, server: LangfuseStandin, path: str, status: int, said: object, expected: str
) -> None:
    """A part that is refused is not taken for sent."""
    server.faults = [(path, status, {}, said)]
    refused = judged.run("show", "--format", "langfuse", env=server.env)
    assert refused.is_refusal and expected in refused.err and "nothing counts twice" in refused.err
    assert refused.out == ""


def test_a_refused_score_ends_the_sending_one_by_one(judged: Desk, server: LangfuseStandin) -> None:
    """One error is shown, not a group of them."""
    server.takes_lists = False
    server.faults = [
        ("/api/public/scores", 400, {}, {"message": "no"}),
        ("/api/public/scores", 400, {}, {"message": "no"}),
    ]
    refused = judged.run("show", "--format", "langfuse", env=server.env)
    assert refused.is_refusal and "did not take the scores (400): no" in refused.err


def test_wrong_keys_are_named_and_not_shown(judged: Desk, server: LangfuseStandin) -> None:
    """The server repeats what it got; the message does not."""
    wrong = server.env | {"LANGFUSE_SECRET_KEY": "sk-lf-another-0123456789"}
    refused = judged.run("show", "--format", "langfuse", env=wrong)
    assert refused.is_refusal and "refused the keys (401)" in refused.err
    assert "sk-lf-another" not in refused.err and "Basic" not in refused.err


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"LANGFUSE_SECRET_KEY": ""}, "needs LANGFUSE_SECRET_KEY"),
        ({"LANGFUSE_HOST": ""}, "needs LANGFUSE_HOST"),
        ({"LANGFUSE_HOST": f"http://me:{SECRET}@127.0.0.1:9"}, "without a login"),
        ({"LANGFUSE_HOST": "127.0.0.1:9"}, "must be http://HOST"),
        ({"LANGFUSE_HOST": "http://127.0.0.1:9"}, "could not connect to 127.0.0.1:9"),
    ],
)
def test_a_server_that_cannot_be_asked_is_exit_2(
    judged: Desk, server: LangfuseStandin, changed: dict[str, str], expected: str
) -> None:
    """Nothing is sent to a server of our choosing, and no key is in a message."""
    refused = judged.run("show", "--format", "langfuse", env=server.env | changed)
    assert refused.is_refusal and expected in refused.err
    assert SECRET not in refused.err
    assert server.bodies == []
