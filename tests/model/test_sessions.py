"""Sessions with a real, very small model, as a user types them: nothing crashes, tokens are those
of the server, every reply is read or refused with a reason, and nothing is PASSED without a line
that says how little it means.
"""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from typing import Any

import pytest
from tests.cli.desk import Desk, Result, until

from .server import Relay

ENDS = (0, 1, 3)
RUBRIC = """\
rubric: 1
threshold: 60
floor: 0
criteria:
  - {id: steps, requirement: The text says what the reader has to do}
  - {id: polite, requirement: The text is polite}
  - {id: clear, requirement: The text is easy to follow, anchors: {1: hardly, 2: with effort, 3: easily}}
"""
MAIL = (
    "Please increase the timeout to 30 seconds in config.toml and restart the service. Thank you.\n"
)
PARAMETERS = "temperature = 0, max_output_tokens = 300"
# Each way of asking: the keys of its table, and the parameters beyond the common ones.
APIS = {
    "chat": ('provider = "compatible"', ""),
    "chat without a schema": (
        'provider = "compatible"',
        ', extra = {response_format = {type = "text"}}',
    ),
    "responses": ('provider = "openai"\napi_key_env = ""', ', api = "responses"'),
    "messages": ('provider = "anthropic"\napi_key_env = ""', ""),
    "ollama": ('provider = "ollama"', ""),
}


def table(relay: Relay, way: str = "chat", kind: str = "judges", name: str = "smol") -> str:
    keys, more = APIS[way]
    place = f'base_url = "{relay.url}"\nmodel = "smollm2"\ntimeout = 300'
    asked = "" if kind == "embeddings" else f"parameters = {{{PARAMETERS}{more}}}\n"
    return f"[{kind}.{name}]\n{keys}\n{place}\n{asked}"


def at_work(desk: Desk, *tables: str) -> Desk:
    desk.file("honestone.toml", "\n".join(tables))
    desk.rubric(RUBRIC)
    desk.file("mail.md", MAIL)
    return desk


def ended_well(done: Result, *codes: int) -> Result:
    assert done.code in (codes or ENDS), (done.code, done.err[-2000:], done.out[-2000:])
    assert "Traceback" not in done.err + done.out
    if re.search(r"(?m)^✓ PASSED", done.out):
        assert "LOW CONFIDENCE" in done.out, done.out
    return done


def is_settled(card: dict[str, Any]) -> None:
    """Each item has an answer, or somebody says why not."""
    reasons = [judge["reason"] for judge in card["judges"] if judge["reason"]]
    for criterion in card["criteria"]:
        for item in criterion["items"]:
            assert item["votes"] or item.get("note") or reasons, item


@pytest.mark.parametrize("way", APIS)
def test_it_judges_through_every_api(way: str, desk: Desk, relay: Relay) -> None:
    """With and without a schema. A second run makes no call for a reply that could be used."""
    at_work(desk, table(relay, way))
    done = ended_well(desk.run("eval", "mail.md", "-r", "rubric.yaml", "-j", "smol", "--json"))
    card = done.json
    is_settled(card)
    usage = card["usage"]
    assert usage["judge_calls"] == len(relay.answers) >= 1
    assert (usage["input_tokens"], usage["output_tokens"]) == relay.tokens
    text = ended_well(desk.run("show", "last"))
    assert card["verdict"] != "pass" or "LOW CONFIDENCE" in text.out
    read = desk.run("judge", "read", "last")
    assert "Traceback" not in read.err
    if card["judges"][0]["state"] == "AVAILABLE":
        calls = len(relay.answers)
        ended_well(desk.run("eval", "mail.md", "-r", "rubric.yaml", "-j", "smol"))
        assert len(relay.answers) == calls


def test_two_calls_are_under_way_and_none_is_lost(desk: Desk, relay: Relay) -> None:
    """The server answers one call at a time; no reply is lost to its queue."""
    at_work(desk, table(relay))
    names = [f"mail{n}.md" for n in range(4)]
    for n, name in enumerate(names):
        desk.file(name, MAIL.replace("30", str(30 + n)))
    cards = ended_well(desk.run("eval", *names, "-r", "rubric.yaml", "-j", "smol", "--json")).json
    for card in cards:
        is_settled(card)
        assert not any("no complete reply" in (judge["reason"] or "") for judge in card["judges"])


def test_a_suite_with_a_model_target(desk: Desk, relay: Relay) -> None:
    """Code judges what the model wrote; its tokens are the server's."""
    at_work(desk, table(relay, kind="targets"))
    cases = "\n".join(
        f"  - {{id: c{n}, input: 'Say {word}.', checks: [{{icontains: {word}}}]}}"
        for n, word in enumerate(["hello", "yes"])
    )
    desk.file("suite.yaml", f"suite: 1\ntarget: smol\ncases:\n{cases}\n")
    report = ended_well(desk.run("eval", "suite.yaml", "--json")).json
    assert len(report["cases"]) == 2 and len(relay.answers) == 2
    assert report["usage"]["target_calls"] == 2 if "target_calls" in report["usage"] else True


def test_similar_compares_its_vectors(desk: Desk, embedder: Relay) -> None:
    """Equal texts are alike, each text is sent once, and on record it costs no call."""
    at_work(desk, table(embedder, kind="embeddings"))
    same, other = "Our shop opens at nine in the morning.", "Bread 4711 @@ {} []"
    cases = "".join(
        f"  - {{id: {id}, input: {json.dumps(text)}, "
        f"checks: [{{similar: {json.dumps(same)}, min_score: 0.98}}]}}\n"
        for id, text in (("same", same), ("other", other))
    )
    desk.file("suite.yaml", f"suite: 1\ntarget: cmd:cat\ncases:\n{cases}")
    words = ("eval", "suite.yaml", "--embeddings", "smol", "--json")
    report = ended_well(desk.run(*words), 1).json
    assert [case["status"] for case in report["cases"]] == ["passed", "failed"], report["cases"]
    vectors = [row["embedding"] for answer in embedder.answers for row in answer["data"]]
    assert len(vectors) == 2 and len(vectors[0]) > 100
    calls = len(embedder.answers)
    ended_well(desk.run(*words), 1)
    assert len(embedder.answers) == calls


def test_it_works_on_a_file(desk: Desk, relay: Relay) -> None:
    """The model as worker, a check as judge: it ends, and what it did is told."""
    at_work(desk, table(relay, kind="workers"))
    desk.rubric(
        "rubric: 1\ncriteria: [{id: sorry, requirement: It says sorry, check: {icontains: sorry}}]\n"
    )
    loop = (
        "improve",
        "mail.md",
        "-r",
        "rubric.yaml",
        "--worker",
        "smol",
        "--rounds",
        "1",
        "--policy",
        "keep-best",
    )
    done = ended_well(desk.run(*loop, "--json"))
    assert done.json["schema"] == "honestone.improvement/1" and relay.answers
    ended_well(desk.run("show", "last"))


def test_noise_and_audit_measure_it(desk: Desk, relay: Relay) -> None:
    """Both end with figures, or say why there are none."""
    at_work(desk, table(relay))
    desk.rubric(
        "rubric: 1\nthreshold: 60\nfloor: 0\ncriteria: [{id: polite, requirement: The text is polite}]\n"
    )
    noise = ended_well(desk.run("noise", "mail.md", "-r", "rubric.yaml", "-j", "smol", "-n", "2"))
    assert noise.out if noise.code == 0 else "error: " in noise.err
    audit = ended_well(desk.run("audit", "mail.md", "-r", "rubric.yaml", "-j", "smol", "--json"))
    assert audit.json["schema"] == "honestone.audit/1"


TEXTS = [
    ("Thank you for writing. Please restart the router.", True, True),
    ("No idea. Go away.", False, False),
    ("Kindly send the form by Friday.", True, True),
    ("Whoever wrote this is a fool.", False, False),
    ("The sea is blue today.", False, True),
    ("Open the menu and choose Export, please.", True, True),
    ("Ugh.", False, False),
    ("Fix it yourself, you idiot: press reset.", True, False),
    ("We are sorry for the delay.", False, True),
    ("Please back up the disk before you update.", True, True),
]


def test_thirty_labels_say_what_it_is_worth(desk: Desk, relay: Relay) -> None:
    """A calibration is measured, and unless it vouches for the model, the model may not decide."""
    at_work(desk, table(relay))
    rows = ["artifact,rater,steps,polite,clear"]
    for n, (text, steps, polite) in enumerate(TEXTS):
        desk.file(f"texts/{n}.md", text + "\n")
        rows.append(f"texts/{n}.md,maria,{'yes' if steps else 'no'},{'yes' if polite else 'no'},3")
    desk.file("labels.csv", "\n".join(rows) + "\n")
    found = ended_well(
        desk.run("calibrate", "--labels", "labels.csv", "-r", "rubric.yaml", "-j", "smol", "--json")
    )
    assert found.code == 3 or found.json["schema"] == "honestone.calibration/1"
    calls = len(relay.answers)
    decide = desk.run("eval", "mail.md", "-r", "rubric.yaml", "-j", "smol", "--require-calibration")
    assert decide.is_refusal or decide.code in ENDS
    assert not decide.is_refusal or (len(relay.answers) == calls and "smol" in decide.err)


def test_an_agent_asks_it_through_mcp(desk: Desk, relay: Relay) -> None:
    """The tool `eval` gives the document that the command prints."""
    at_work(desk, table(relay))
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    call = {
        "name": "eval",
        "arguments": {"artifact": "mail.md", "rubric": "rubric.yaml", "judges": ["smol"]},
    }
    said = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    with desk.start("mcp", "--allow-commands", stdin=subprocess.PIPE) as host:
        assert host.stdin is not None and host.stdout is not None
        host.stdin.write("".join(json.dumps(one) + "\n" for one in said))
        host.stdin.flush()
        answers = (json.loads(line) for line in host.stdout)
        found = next(one for one in answers if one.get("id") == 2)
        host.stdin.close()
    assert "verdict" in json.dumps(found["result"]["structuredContent"]), found


def test_the_page_shows_its_run(desk: Desk, relay: Relay) -> None:
    """The view has the run of a model judge, with its verdict."""
    at_work(desk, table(relay))
    card = ended_well(desk.run("eval", "mail.md", "-r", "rubric.yaml", "-j", "smol", "--json")).json
    page = ended_well(desk.run("show", card["run"], "-f", "html"))
    assert "mail.md" in page.out and "smol" in page.out
    viewer = desk.start("view", "--no-open", "--port", "0")
    lines: list[str] = []
    try:
        assert viewer.stdout is not None

        def has_address() -> bool:
            assert viewer.stdout is not None
            lines.append(viewer.stdout.readline())
            return "http://" in lines[-1]

        assert until(has_address), lines
        address = re.search(r"http://\S+", lines[-1])
        assert address is not None
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(address[0], timeout=30) as answer:
            assert answer.status == 200 and b"<html" in answer.read().lower()
    finally:
        viewer.terminate()
        viewer.communicate(timeout=30)
