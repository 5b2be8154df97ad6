"""`eval --batch`: one batch for many calls, at half the price, taken up again after a kill and
never paid for twice.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from .batches import KEY, Batches, batch_server
from .desk import GOOD, Desk, Result

PRICES = '[prices."m1"]\ninput = 10.0\noutput = 50.0\n'
"""A call of 1000 and 100 tokens is 0.015 dollars."""
JUDGES = ("openai:m1", "anthropic:m1")
PATIENCE = 120.0


@pytest.fixture
def server(ready: Desk) -> Iterator[Batches]:
    """The APIs of both providers behind one address, and a desk whose key and prices they take."""
    with batch_server() as found:
        found.release.set()
        for name in ("OPENAI", "ANTHROPIC"):
            ready.extra |= {f"{name}_BASE_URL": found.root, f"{name}_API_KEY": KEY}
        ready.file("honestone.toml", PRICES)
        ready.file("good.md", GOOD)
        ready.file("bad.md", "Nothing is here.\n")
        yield found


def words(judge: str, *more: str) -> list[str]:
    return [
        "eval",
        "good.md",
        "bad.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        judge,
        "--json",
        "--batch",
        *more,
    ]


def verdicts(result: Result) -> list[str]:
    return [card["verdict"] for card in result.json]


def killed(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE)


def on_list(desk: Desk) -> list[dict[str, object]]:
    return [json.loads(path.read_bytes()) for path in (desk.store / "batches").glob("*.json")]


@pytest.mark.parametrize("judge", JUDGES)
def test_many_calls_are_one_batch_at_half_the_price(
    ready: Desk, server: Batches, judge: str
) -> None:
    """Two texts, one batch of two requests, no call outside of it; 2 x 0.015 dollars become 0.015."""
    result = ready.run(*words(judge))
    assert (result.code, verdicts(result)) == (1, ["pass", "fail"]), result.err
    assert (len(server.batches), server.requests, server.direct) == (1, 2, 0)
    assert sum(card["usage"]["usd"] for card in result.json) == pytest.approx(0.015)
    assert "batch_0" in result.err and "half the price" in result.err and "24 hours" in result.err
    assert on_list(ready) == []


@pytest.mark.parametrize("judge", JUDGES)
def test_replies_of_a_batch_are_on_record_like_any_other(
    ready: Desk, server: Batches, judge: str
) -> None:
    """The same command again, with --batch or without, asks nothing; --fresh asks a new batch."""
    assert ready.run(*words(judge)).code == 1
    for more in (words(judge), words(judge)[:-1]):
        again = ready.run(*more)
        assert verdicts(again) == ["pass", "fail"]
    assert (len(server.batches), server.direct) == (1, 0)
    assert ready.run(*words(judge, "--fresh")).code == 1
    assert (len(server.batches), server.direct) == (2, 0)


@pytest.mark.slow
@pytest.mark.parametrize("judge", JUDGES)
def test_a_killed_run_takes_its_batch_up_again(ready: Desk, server: Batches, judge: str) -> None:
    """Killed while the batch is under way: the same command sends nothing and gets the replies of
    that batch.
    """
    server.release.clear()
    process = ready.start(*words(judge))
    deadline = time.monotonic() + PATIENCE
    while not (server.looks and [one for one in on_list(ready) if one["id"]]):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    killed(process)
    assert KEY.encode() not in b"".join(
        path.read_bytes() for path in (ready.store / "batches").iterdir()
    )
    server.release.set()
    result = ready.run(*words(judge))
    assert (result.code, verdicts(result)) == (1, ["pass", "fail"]), result.err
    assert (len(server.batches), server.requests, server.direct) == (1, 2, 0)
    assert "taken up again" in result.err
    assert on_list(ready) == []


@pytest.mark.slow
@pytest.mark.parametrize("judge", JUDGES)
def test_a_batch_whose_id_never_came_back_is_found(
    ready: Desk, server: Batches, judge: str
) -> None:
    """Killed between sending a batch and hearing its id: it is found at the server, and not sent a
    second time.
    """
    server.release.clear()
    server.silent = True
    process = ready.start(*words(judge))
    assert server.arrived.wait(PATIENCE)
    killed(process)
    assert [one["id"] for one in on_list(ready)] == [None]
    server.release.set()
    result = ready.run(*words(judge))
    assert (result.code, verdicts(result)) == (1, ["pass", "fail"]), result.err
    assert (len(server.batches), server.direct) == (1, 0)


@pytest.mark.parametrize("judge", JUDGES)
def test_only_what_is_missing_is_asked_again(ready: Desk, server: Batches, judge: str) -> None:
    """A request that the server did not come to leaves its text open, with the reason; the next run
    asks only that.
    """
    server.fails = {1: "expired"}
    result = ready.run(*words(judge))
    assert result.code == 3, result.err
    assert sorted(verdicts(result))[0] in ("fail", "inconclusive")
    reasons = [judged["reason"] or "" for card in result.json for judged in card["judges"]]
    assert any("24 hours" in reason for reason in reasons), reasons
    server.fails = {}
    again = ready.run(*words(judge))
    assert (again.code, verdicts(again)) == (1, ["pass", "fail"]), again.err
    assert [len(batch["requests"]) for batch in server.batches.values()] == [2, 1]


@pytest.mark.parametrize("judge", JUDGES)
def test_a_refused_request_says_so_in_the_servers_words(
    ready: Desk, server: Batches, judge: str
) -> None:
    """An error of one request has the meaning that it has for a call of its own, and touches no
    other request.
    """
    server.fails = {0: "errored"}
    result = ready.run(*words(judge))
    assert verdicts(result) == ["inconclusive", "fail"], result.err
    reasons = [judged["reason"] or "" for card in result.json for judged in card["judges"]]
    assert sum("the model has a bad day" in reason for reason in reasons) == 1, reasons
    assert server.requests == 2


def test_a_server_in_trouble_is_looked_at_again(ready: Desk, server: Batches) -> None:
    """Looking costs nothing, so failures of looks end no run."""
    server.troubles = 2
    result = ready.run(*words("openai:m1"))
    assert (result.code, len(server.batches)) == (1, 1), result.err


def test_a_time_limit_leaves_the_batch_to_the_next_run(ready: Desk, server: Batches) -> None:
    """--max-minutes ends the waiting: exit 3 with the limit named; the next run gets the replies of
    the same batch.
    """
    server.release.clear()
    result = ready.run(*words("openai:m1", "--max-minutes", "0.05"))
    assert result.code == 3
    assert all("--max-minutes" in card["judges"][0]["reason"] for card in result.json)
    server.release.set()
    again = ready.run(*words("openai:m1"))
    assert (again.code, len(server.batches)) == (1, 1), again.err


def test_judges_without_a_batch_api_are_refused_alone_and_asked_next_to_others(
    ready: Desk, server: Batches
) -> None:
    """A panel of programs has nothing to send; next to a model each is asked as usual."""
    script = ready.judge()
    alone = ready.run(*words(script.spec))
    assert alone.is_refusal and "--batch" in alone.err and "openai:MODEL" in alone.err
    both = ready.run(*words("openai:m1", "--judge", script.spec))
    assert (both.code, verdicts(both), script.calls) == (1, ["pass", "fail"], 2), both.err
    assert (len(server.batches), server.direct) == (1, 0)


def test_a_wrong_key_is_said_before_a_day_is_waited(ready: Desk, server: Batches) -> None:
    """A key that is refused is a failed judge with the variable's name, at once."""
    ready.extra["OPENAI_API_KEY"] = "sk-another-0123456789"
    result = ready.run(*words("openai:m1"))
    assert result.code == 3
    assert "OPENAI_API_KEY was refused" in result.json[0]["judges"][0]["reason"]
    assert server.batches == {} and on_list(ready) == []


@pytest.mark.slow
def test_the_cases_of_a_suite_are_one_batch(ready: Desk, server: Batches) -> None:
    """Twenty cases of a suite, eight outputs at a time, are judged in one batch; killed, the suite
    resumes with it.
    """
    cases = "".join(f"  - {{id: c{n}, input: 'apple pear farewell {n}'}}\n" for n in range(20))
    head = "suite: 1\ntarget: 'cmd:cat'\nrubric:\n"
    rubric = "".join(
        f"  {line}\n" for line in ready.folder.joinpath("rubric.yaml").read_text().splitlines()
    )
    ready.file("suite.yaml", head + rubric + "cases:\n" + cases)
    asked = ["eval", "suite.yaml", "--judge", "openai:m1", "--batch", "--json"]
    server.release.clear()
    process = ready.start(*asked)
    deadline = time.monotonic() + PATIENCE
    while not server.looks:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    killed(process)
    sent = len(server.batches)
    server.release.set()
    result = ready.run(*asked)
    assert (result.code, result.json["counts"]["passed"]) == (0, 20), result.err
    assert (server.requests, server.direct) == (20, 0)
    assert len(server.batches) - sent <= 2  # what was still with the target
