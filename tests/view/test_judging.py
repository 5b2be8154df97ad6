"""`--browser` of commands that ask a person, in a real process over HTTP; drafts shared with the
terminal.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pexpect
import pytest

from cli.desk import HONESTONE, Desk

# A server and a run that asks it.
pytestmark = pytest.mark.slow

PATIENCE = 60.0
RUBRIC = """\
rubric: 1
threshold: 80
floor: 0
criteria:
  - id: words
    requirement: It says what it must
    items:
      - {id: apple, requirement: It names the apple}
      - {id: pear, requirement: It names the pear, may_not_apply: true}
  - {id: tone, requirement: Neutral tone, anchors: {0: hostile, 10: factual}}
"""


class Judging:
    """A command that asks in the browser, and the page's requests."""

    started: ClassVar[list[subprocess.Popen[str]]] = []

    def __init__(self, desk: Desk, *args: str) -> None:
        self.process = desk.start(*args, "--browser", "--no-open", "--port", "0")
        self.started.append(self.process)
        assert self.process.stderr is not None
        self.said: dict[str, Any] = {}
        printed = b""
        while not self.said:
            ready, _, _ = select.select([self.process.stderr], [], [], PATIENCE)
            more = os.read(self.process.stderr.fileno(), 65536) if ready else b""
            if not more:
                self.process.kill()
                raise AssertionError((printed, self.process.communicate()))
            printed += more
            lines = printed.decode("utf-8", "replace").split("\n")[:-1]
            self.said = next((json.loads(line) for line in lines if "honestone.view/1" in line), {})
        self.place = urlsplit(self.said["url"]).netloc

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
        given = {
            "Host": self.place,
            "Cookie": f"honestone-{self.said['port']}={self.said['token']}",
            **(
                {"Origin": f"http://{self.place}", "Content-Type": "application/json"}
                if method == "POST"
                else {}
            ),
            **headers,
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.said["port"], timeout=PATIENCE)
        connection.request(method, path, None if body is None else json.dumps(body), given)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, text

    def page(self, at: int | None = None) -> str:
        status, text = self.ask("GET", "/judge" if at is None else f"/judge?at={at}")
        assert status == 200, text[:300]
        return text

    def sheet(self, *, but: str = "") -> str:
        """What is asked now, as soon as it is another one."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = json.loads(self.ask("GET", "/judge/next")[1])["sheet"]
            if found and found != but:
                return str(found)
            time.sleep(0.05)
        raise AssertionError("nothing was asked")

    def say(
        self, at: int, value: object, sheet: str = "", **more: object
    ) -> tuple[int, dict[str, Any]]:
        sheet = sheet or self.sheet()
        sent = {"at": at, "value": value, "sheet": sheet, "question": f"{sheet}-{at}", **more}
        status, text = self.ask("POST", "/judge", sent)
        return status, json.loads(text)

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


@pytest.fixture
def asked(desk: Desk) -> Iterator[Desk]:
    desk.file("rubric.yaml", RUBRIC)
    desk.file("note.md", "An apple \U0001f600 and a pear.\n")
    return desk


EVAL = ("eval", "note.md", "-r", "rubric.yaml", "--judge", "human", "--json")


def test_a_person_judges_and_the_command_continues(asked: Desk) -> None:
    """The last answer hands in; evidence and advice are in the scorecard; the next command asks no
    one.
    """
    page = Judging(asked, *EVAL)
    assert 'data-criterion="words"' in page.page() and "note.md" not in page.page()
    assert page.say(0, True, evidence=[{"quote": "An apple", "start": 0, "end": 8}], note="")[
        1
    ] == {"at": 1}
    assert page.say(1, False, note="Say more")[1] == {"at": 2}
    assert "hands everything in" in page.page() and page.say(2, 11)[0] == 422
    assert page.say(2, 9)[1] == {"done": True}
    code, out, err = page.end()
    document = json.loads(out)
    items = document["criteria"][0]["items"]
    assert [one["votes"] for one in items] == [{"human": "yes"}, {"human": "no"}]
    assert items[0]["evidence"][0]["quote"] == "An apple" and items[0]["evidence"][0]["found"]
    assert "Say more" in out and "Traceback" not in err and code == 1
    again = asked.run(*EVAL, "--browser", "--port", "0")
    assert again.json["usage"]["cached_calls"] == 1 and "honestone.view/1" not in again.err
    assert not list((asked.store / "drafts").glob("*.json"))


def test_killed_it_continues_and_ends_at_the_terminal(asked: Desk) -> None:
    """Two answers in the browser, kill -9; the terminal begins at the third."""
    page = Judging(asked, *EVAL)
    page.say(0, True)
    page.say(1, "n/a")
    page.process.send_signal(signal.SIGKILL)
    page.end()
    child = pexpect.spawn(
        HONESTONE,
        list(EVAL),
        cwd=str(asked.folder),
        env={**asked.env, "TERM": "xterm"},
        encoding="utf-8",
        timeout=PATIENCE,
    )
    child.expect("3 of 3")
    child.send("10\r")
    child.expect("Enter hands it in")
    child.send("\r")
    child.expect('"verdict": "pass"')
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_begun_at_the_terminal_it_ends_in_the_browser(asked: Desk) -> None:
    child = pexpect.spawn(
        HONESTONE,
        list(EVAL),
        cwd=str(asked.folder),
        env={**asked.env, "TERM": "xterm"},
        encoding="utf-8",
        timeout=PATIENCE,
    )
    child.expect("1 of 3")
    child.send("y")
    child.expect("2 of 3")
    child.send("eapple\r")
    child.expect("evidence: apple")
    child.kill(signal.SIGKILL)
    child.close()
    page = Judging(asked, *EVAL)
    assert 'data-at="1"' in page.page() and "apple</textarea>" in page.page()
    assert "Your answer: yes" in page.page(0)
    page.say(1, None)
    page.say(2, 10)
    assert page.end()[0] in (0, 1, 3)


def test_cases_of_a_suite_are_asked_one_after_the_other(asked: Desk) -> None:
    """With their input; an answer to what is not asked any more is refused."""
    cases = [
        {"id": f"c{n}", "input": f"question {n}", "rubric": ["Names the fruit"]} for n in (1, 2)
    ]
    asked.file("suite.yaml", json.dumps({"suite": 1, "cases": cases}))
    asked.file("t.py", "import sys\nprint('answer to', sys.stdin.read())")
    page = Judging(
        asked, "eval", "suite.yaml", "--target", "cmd:python t.py", "--judge", "human", "--json"
    )
    first = page.sheet()
    shown = page.page()
    assert "question" in shown and "answer to" in shown and "t.py" not in shown
    assert page.say(0, True, first)[1] == {"done": True}
    second = page.sheet(but=first)
    assert page.say(0, True, first)[0] == 409 and page.page() != shown
    assert page.say(0, True, second)[1] == {"done": True}
    code, out, _ = page.end()
    assert code == 0 and json.loads(out)["verdict"] == "pass"


def test_a_person_edits_in_the_browser(asked: Desk) -> None:
    """The worker `human`: brief and text, line ends kept; giving up ends the round."""
    asked.file("draft.md", "An apple\r\nis here\r\n")
    asked.file(
        "w.yaml",
        "rubric: 1\nthreshold: 100\nfloor: 0\ncriteria: [{id: a, requirement: says pear, check: {contains: pear}}]\n",
    )
    page = Judging(
        asked, "improve", "draft.md", "-r", "w.yaml", "--worker", "human", "--rounds", "1", "--json"
    )
    shown = page.page()
    assert "says pear" in shown and "An apple\nis here\n</textarea>" in shown
    sheet = page.sheet()
    status, _ = page.ask("POST", "/judge", {"at": 0, "sheet": sheet, "text": "A pear\nis here\n"})
    assert status == 200 and "A pear" in page.page()
    assert json.loads(page.ask("POST", "/judge", {"at": 0, "sheet": sheet, "hand": "in"})[1]) == {
        "done": True
    }
    code, out, err = page.end()
    assert code == 0 and json.loads(out)["result"] == "PASSED", err
    assert (asked.folder / "draft.md").read_bytes() == b"A pear\r\nis here\r\n"


def test_nothing_else_is_served_and_only_the_page_writes(asked: Desk) -> None:
    page = Judging(asked, *EVAL)
    for path in ("/", "/label", "/run/last", "/api/runs"):
        assert page.ask("GET", path)[0] == 404, path
    body = {"at": 0, "value": True, "sheet": page.sheet()}
    assert page.ask("POST", "/judge", body, Origin="http://evil.test")[0] == 403
    assert (
        page.ask("POST", "/judge", body, Cookie="", Authorization=f"Bearer {page.said['token']}")[0]
        == 401
    )
    assert page.ask("POST", "/judge", {**body, "hand": "in"})[0] == 409
    assert page.ask("POST", "/judge", {**body, "at": 7})[0] == 409
    assert "Your answer" not in page.page(0)
    page.process.send_signal(signal.SIGINT)
    assert page.end()[0] == 130


def test_wrong_calls_are_refused(asked: Desk) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = asked.run(*EVAL, "--browser", "--port", port)
        assert result.is_refusal and port in result.err
    result = asked.run(*EVAL, "--port", "0")
    assert result.is_refusal and "--browser" in result.err
    for command in ("improve", "noise", "calibrate", "audit"):
        assert "--browser" in asked.run(command, "--help-all").out


def answered(page: Judging) -> list[str]:
    """Says yes, or 10 on the scale, to every item of every sheet until the command ends. Returns
    the sheets as they were first shown.
    """
    shown, sheet = [], ""
    while page.process.poll() is None:
        try:
            sheet = page.sheet(but=sheet)
            shown.append(page.page(0))
            for at in range(3):  # A probe may ask in another order.
                if page.say(at, True, sheet)[0] == 422:
                    page.say(at, 10, sheet)
        except (OSError, http.client.HTTPException):  # The command has ended meanwhile.
            break
    return shown


def test_noise_asks_for_every_look_from_scratch(asked: Desk) -> None:
    """A look shows nothing of the one before; a killed command repeats no look and begins at the
    open item.
    """
    noise = ("noise", "note.md", "-r", "rubric.yaml", "--judge", "human", "-n", "3", "--json")
    page = Judging(asked, *noise)
    first = page.sheet()
    for at, value in enumerate((True, True, 10)):
        page.say(at, value, first)
    second = page.sheet(but=first)
    assert "Your answer" not in page.page(0)
    page.say(0, True, second)
    page.process.send_signal(signal.SIGKILL)
    page.end()
    page = Judging(asked, *noise)
    assert page.sheet() == second and 'data-at="1"' in page.page()
    page.say(1, True, second)
    page.say(2, 10, second)
    third = page.sheet(but=second)
    assert "Your answer" not in page.page(0)
    for at, value in enumerate((True, True, 10)):
        page.say(at, value, third)
    code, out, err = page.end()
    document = json.loads(out)
    assert code == 0, err
    assert document["tolerance"] == 0 and document["judges"][0]["looks"] == 3


def test_audit_asks_about_every_variant_and_calibrate_about_every_label(asked: Desk) -> None:
    """Whoever says yes to all is of tier low, since the empty artifact passes too; labels are not
    shown.
    """
    page = Judging(asked, "audit", "note.md", "-r", "rubric.yaml", "--judge", "human", "--json")
    shown = answered(page)
    code, out, err = page.end()
    judge = json.loads(out)["judges"][0]
    assert code == 0 and judge["tier"] == "low", err
    assert len(shown) > 5 and not any("Your answer" in one for one in shown)
    asked.file("other.md", "Nothing of that.\n")
    labels = [
        {"artifact": name, "rater": "ann", "criterion": "words", "item": item, "value": value}
        for name, value in (("note.md", True), ("other.md", False))
        for item in ("apple", "pear")
    ]
    asked.file("labels.jsonl", "".join(json.dumps(one) + "\n" for one in labels))
    page = Judging(
        asked,
        "calibrate",
        "--labels",
        "labels.jsonl",
        "-r",
        "rubric.yaml",
        "--judge",
        "human",
        "--fresh",
        "--json",
    )
    shown = answered(page)
    code, out, err = page.end()
    judge = json.loads(out)["judges"][0]
    assert code == 0, err
    assert len(shown) == 2 and not any("ann" in one.split("</head>")[1] for one in shown)
    assert (judge["units"], judge["tpr"], judge["tnr"]) == (2, 1.0, 0.0)
