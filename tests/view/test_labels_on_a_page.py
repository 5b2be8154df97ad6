"""`honestone.label` without `answers`: a page opens, a person answers, and the call returns labels.
The call is in a real process, the person is an HTTP client.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest

import honestone

PATIENCE: Final = 60.0
RUBRIC: Final = {
    "criteria": [
        {"id": "polite", "requirement": "is polite"},
        {"id": "good", "requirement": "is good", "anchors": {0: "poor", 10: "fine"}},
    ]
}
TEXTS: Final = {"a": "alpha </pre><b>", "b": "beta"}
CALL: Final = """\
import asyncio, json, sys
import honestone
texts, rubric, options = json.loads(sys.argv[1])
rubric["criteria"][1]["anchors"] = {0: "poor", 10: "fine"}
{call}
answers = [[one.id, one.criterion, one.value] for one in labels.answers]
print(json.dumps({"ids": [*labels.ids], "answers": answers, "skipped": labels.skipped, "rater": labels.rater}))
"""
PLAIN: Final = "labels = honestone.label(texts, rubric, **options)"
AWAITED: Final = "labels = asyncio.run(honestone.alabel(texts, rubric, **options))"
IN_A_LOOP: Final = """\
async def cell():
    return honestone.label(texts, rubric, **options)
labels = asyncio.run(cell())"""
CANCELLED: Final = """\
async def both():
    asking = asyncio.create_task(honestone.alabel(texts, rubric, **options))
    await asyncio.to_thread(sys.stdin.readline)
    asking.cancel()
    try:
        await asking
    except asyncio.CancelledError:
        print(json.dumps("cancelled"))
        sys.exit()
asyncio.run(both())"""


class Person:
    """A call that asks, and the person who answers it."""

    def __init__(self, folder: Path, call: str = PLAIN, **options: object) -> None:
        given = json.dumps([TEXTS, RUBRIC, {"port": 0, "no_open": True, "rater": "ann", **options}])
        self.process = subprocess.Popen(
            [sys.executable, "-c", CALL.replace("{call}", call), given],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.line = self.process.stderr.readline()
        url = urlsplit(self.line.strip())
        self.port, self.token = url.port, parse_qs(url.query).get("token", [""])[0]

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port or 0, timeout=PATIENCE)
        headers = {"Cookie": f"honestone-{self.port}={self.token}"}
        if method == "POST":
            headers |= {
                "Origin": f"http://127.0.0.1:{self.port}",
                "Content-Type": "application/json",
            }
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def answer(self, polite: object, good: object) -> dict[str, Any]:
        """Answer the item that is shown."""
        _, page = self.ask("GET", "/label")
        (at,) = re.findall('data-at="([0-9]+)"', page)
        (question,) = re.findall('data-question="([^"]+)"', page)
        value = polite if 'data-criterion="polite"' in page else good
        status, text = self.ask(
            "POST", "/label", {"at": int(at), "value": value, "question": question}
        )
        assert status == 200, text
        found: dict[str, Any] = json.loads(text)
        return found

    def labels(self) -> Any:
        """What the call returned."""
        out, err = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, err
        return json.loads(out)


@pytest.fixture
def people(tmp_path: Path) -> Iterator[list[Person]]:
    made: list[Person] = []
    yield made
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


@pytest.mark.parametrize("call", [PLAIN, AWAITED, IN_A_LOOP])
def test_the_last_answer_returns_the_labels(
    call: str, tmp_path: Path, people: list[Person]
) -> None:
    person = Person(tmp_path, call)
    people.append(person)
    answers = [person.answer(True, 10) for _ in range(4)]
    assert [one.get("done", False) for one in answers] == [False, False, False, True]
    assert "can be closed" in answers[-1]["words"]
    found = person.labels()
    assert found["ids"] == ["a", "b"]
    assert sorted(found["answers"]) == [
        ["a", "good", 10],
        ["a", "polite", True],
        ["b", "good", 10],
        ["b", "polite", True],
    ]
    assert (found["skipped"], found["rater"]) == (0, "ann")
    assert list(tmp_path.iterdir()) == []


def test_the_page_says_which_answer_ends_it(tmp_path: Path, people: list[Person]) -> None:
    """A skip counts as shown, and the page escapes what it asks about."""
    person = Person(tmp_path)
    people.append(person)
    for _ in range(3):
        _, page = person.ask("GET", "/label")
        assert "No other item is open" not in page and 'data-hand="in"' in page
        assert "<b>" not in page.replace("<b>0</b>", "").replace("<b>10</b>", "")
        person.answer(None, None)
    assert "No other item is open" in person.ask("GET", "/label")[1]
    assert person.answer(None, None)["done"] is True
    assert person.labels() == {"ids": ["a", "b"], "answers": [], "skipped": 4, "rater": "ann"}


@pytest.mark.parametrize("call", [PLAIN, IN_A_LOOP])
@pytest.mark.parametrize("end", ["button", "Ctrl-C"])
def test_the_person_ends_it_and_what_was_answered_is_returned(
    call: str, end: str, tmp_path: Path, people: list[Person]
) -> None:
    """With a labels file the same call resumes, and one where nothing is open asks nothing."""
    person = Person(tmp_path, call, labels="l.jsonl")
    people.append(person)
    person.answer(True, 5)
    if end == "button":
        status, text = person.ask("POST", "/label", {"at": 0, "hand": "in"})
        assert (status, json.loads(text)["done"]) == (200, True)
    else:
        os.kill(person.process.pid, signal.SIGINT)
    found = person.labels()
    assert (len(found["answers"]), found["skipped"]) == (1, 3)
    assert len((tmp_path / "l.jsonl").read_text().splitlines()) == 1
    again = Person(tmp_path, labels="l.jsonl")
    people.append(again)
    ends = [again.answer(True, 5).get("done", False) for _ in range(3)]
    assert ends == [False, False, True]
    assert len(again.labels()["answers"]) == 4
    asked = honestone.label(
        TEXTS, RUBRIC, rater="ann", labels=tmp_path / "l.jsonl", port=0, no_open=True
    )
    assert (len(asked), asked.skipped) == (4, 0)
    judge = {"criteria": {"polite": {"met": True}, "good": {"score": 10}}}
    result = honestone.evaluate_many(TEXTS, RUBRIC, judges=lambda _: judge)
    (measured,) = result.calibrate(asked.rows).judges
    assert (measured.units, measured.answers) == (2, 4)


def test_a_cancelled_call_ends_its_server(tmp_path: Path, people: list[Person]) -> None:
    person = Person(tmp_path, CANCELLED)
    people.append(person)
    person.answer(True, 5)
    assert person.process.stdin is not None
    person.process.stdin.write("\n")
    person.process.stdin.flush()
    assert person.labels() == "cancelled"


def test_what_no_page_can_do_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before anything is asked, with what to do."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(honestone.UsageError, match="no screen") as error:
        honestone.label(TEXTS, RUBRIC)
    assert "no_open=True" in (error.value.hint or "") and "answers=" in (error.value.hint or "")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(honestone.UsageError, match=f"port {port} is in use"):
            honestone.label(TEXTS, RUBRIC, port=port, no_open=True)
    with pytest.raises(honestone.UsageError, match=r"NAME\.jsonl"):
        honestone.label(TEXTS, RUBRIC, labels=tmp_path / "l.csv", port=0, no_open=True)
    with pytest.raises(honestone.UsageError, match="without `/`"):
        honestone.label(TEXTS, RUBRIC, rater="a/b", port=0, no_open=True)
    with pytest.raises(honestone.UsageError, match="same path"):
        honestone.label({"a": "x", "./a": "y"}, RUBRIC, port=0, no_open=True)
    with pytest.raises(honestone.UsageError, match="about the page"):
        honestone.label(TEXTS, RUBRIC, answers=lambda *_: True, port=0)
    code = {"criteria": [{"id": "a", "check": {"contains": "a"}}]}
    with pytest.raises(honestone.UsageError, match="nothing to label"):
        honestone.label(TEXTS, code, port=0, no_open=True)
