"""`honestone label --browser` in a real process, over HTTP: blind, on disk at once, several raters."""

from __future__ import annotations

import http.client
import json
import re
import select
import signal
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from cli.desk import Desk

PATIENCE = 60.0
EVIL = (
    '</pre><script>alert(1)</script><img src=x onerror=alert(2)>" onmouseover=alert(3) x="{{7*7}}'
)
RUBRIC = """\
rubric: 1
threshold: 50
floor: 0
criteria:
  - {id: a, requirement: It says alpha}
  - {id: s, requirement: How good it is, anchors: {0: poor, 50: fair, 100: fine}}
"""


class Labels:
    """A server of one rater's items. `ask` comes as the page does: with its cookie, from its
    origin.
    """

    def __init__(self, desk: Desk, rater: str, *args: str) -> None:
        self.desk = desk
        words = args or ("a.md", "b.md", "c.md")
        self.process = desk.start(
            "label", *words, "-r", "r.yaml", "--labels", "l.jsonl", "--rater", rater, "--browser", "--json", "--no-open",
            "--port", "0", is_installed=False,
        )  # fmt: skip
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if ready else ""
        assert line, self.process.stderr.read() if self.process.stderr else "no line"
        self.said: dict[str, Any] = json.loads(line)
        self.place = urlsplit(self.said["url"]).netloc

    def ask(
        self, method: str, path: str, body: object = None, **headers: str | None
    ) -> tuple[int, str]:
        port = self.said["port"]
        given: dict[str, str | None] = {
            "Host": self.place,
            "Cookie": f"honestone-{port}={self.said['token']}",
            **(
                {"Origin": f"http://{self.place}", "Content-Type": "application/json"}
                if method == "POST"
                else {}
            ),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        data = (
            None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request(
            method, path, data, {name: value for name, value in given.items() if value is not None}
        )
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, text

    def page(self, at: int | None = None) -> str:
        status, text = self.ask("GET", "/label" if at is None else f"/label?at={at}")
        assert status == 200, text[:300]
        return text

    def at(self) -> int:
        return int(found(self.page(), "data-at"))

    def answer(self, at: int, value: object, **more: object) -> tuple[int, Any]:
        question = found(self.page(at), "data-question")
        status, text = self.ask(
            "POST", "/label", {"at": at, "value": value, "question": question, **more}
        )
        return status, json.loads(text)

    def all(self, yes: object, score: object) -> None:
        while 'data-hs="question"' in (text := self.page()):
            at = int(found(text, "data-at"))
            assert self.answer(at, yes if found(text, "data-criterion") == "a" else score)[0] == 200

    def stop(self, how: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Also after a kill the command has ended: it holds its stdout to the end."""
        self.process.send_signal(how)
        out, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out


def found(text: str, name: str) -> str:
    match = re.search(f'{name}="([^"]*)"', text)
    assert match, (name, text[:500])
    return match[1]


@pytest.fixture
def made(desk: Desk) -> Desk:
    for name, words in (("a", "alpha beta"), ("b", "alpha"), ("c", f"beta {EVIL}")):
        desk.file(f"{name}.md", words + "\n")
    desk.file("r.yaml", RUBRIC)
    return desk


@pytest.fixture
def ann(made: Desk) -> Iterator[Labels]:
    server = Labels(made, "ann")
    yield server
    if server.process.poll() is None:
        server.process.kill()
    server.process.wait()


def rows(desk: Desk) -> list[dict[str, Any]]:
    path = desk.folder / "l.jsonl"
    return (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    )


def test_an_answer_is_on_disk_before_the_next_item_is_shown(made: Desk, ann: Labels) -> None:
    """Killed after an answer, the same command begins at the next item."""
    for at in range(3):
        value = True if found(ann.page(at), "data-criterion") == "a" else 50
        assert ann.answer(at, value) == (200, {"at": at + 1, "of": 6}) and len(rows(made)) == at + 1
    ann.stop(signal.SIGKILL)
    again = Labels(made, "ann")
    assert again.at() == 3
    again.all(False, 100)
    code, out = again.stop()
    assert code == 0 and json.loads(out.splitlines()[-1])["answered"] == 3
    keys = (
        "schema",
        "artifact",
        "rater",
        "criterion",
        "item",
        "value",
        "digest",
        "rubric",
        "evidence",
        "at",
        "seconds",
    )
    assert all(set(keys) <= set(row) for row in rows(made)) and len(rows(made)) == 6


def test_going_back_and_skipping(made: Desk, ann: Labels) -> None:
    """The last answer counts; a skip takes it back; what was said is shown to who said it."""
    at = next(at for at in range(6) if found(ann.page(at), "data-criterion") == "a")
    ann.answer(at, None, note="not sure")
    assert rows(made)[-1]["value"] is None and rows(made)[-1]["note"] == "not sure"
    assert "Your answer: skipped" in ann.page(at) and "not sure" in ann.page(at)
    ann.answer(at, True)
    assert "Your answer: yes" in ann.page(at)
    done = made.run("calibrate", "--labels", "l.jsonl", "-r", "r.yaml", "--judge", "mock", "--json")
    assert done.json["units"] == 1


def test_evidence_has_its_place_in_code_points(made: Desk) -> None:
    """Offsets that hold the words are kept, others are looked up, and words from nowhere have none."""
    text = "\U0001f600 alpha\r\nbeta"
    made.file("a.md", text)
    server = Labels(made, "ann", "a.md")
    quotes = [
        {"quote": "alpha\u240d\nb", "start": 2, "end": 10},
        {"quote": "beta", "start": 0, "end": 4},
        {"quote": "gone by"},
    ]
    assert server.answer(0, True, evidence=quotes)[0] == 200
    assert rows(made)[-1]["evidence"] == [
        {"quote": "alpha\r\nb", "start": 2, "end": 10},
        {"quote": "beta", "start": text.index("beta"), "end": text.index("beta") + 4},
        {"quote": "gone by", "start": None, "end": None},
    ]
    server.stop()


def test_the_server_serves_nothing_else(ann: Labels) -> None:
    for path in (
        "/",
        "/run/last",
        "/api/runs",
        "/trend",
        "/label/next",
        "/static/view.js/..",
        "/static/../r.yaml",
    ):
        assert ann.ask("GET", path)[0] == 404, path
    assert ann.ask("GET", "/label", Cookie=None)[0] == 401
    assert ann.ask("GET", "/label", Host="evil.test")[0] == 421


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": None}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.test"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
        ({"Cookie": None}, 401),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Host": "evil.test"}, 421),
    ],
)
def test_only_our_own_page_writes(
    headers: dict[str, str | None], status: int, made: Desk, ann: Labels
) -> None:
    """A token in a header is not enough: our origin, our cookie, and JSON."""
    bearer = {"Authorization": f"Bearer {ann.said['token']}"} if "Cookie" in headers else {}
    assert ann.ask("POST", "/label", {"at": 0, "value": True}, **headers, **bearer)[0] == status
    assert ann.ask("PUT", "/label", {"at": 0, "value": True})[0] == 405 and not rows(made)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", 400),
        (b"[1]", 400),
        (b'{"at": "0", "value": true}', 400),
        (b'{"at": 0, "value": true, "more": 1}', 400),
        (b'{"at": 0, "value": {"x": 1}}', 400),
        (b'{"at": 0, "value": "yes", "question": "QUESTION"}', 422),
        (b'{"at": 0, "value": "n/a", "question": "QUESTION"}', 422),
        (b'{"at": 0, "value": 250, "question": "QUESTION"}', 422),
        (b'{"at": 0, "value": -1, "question": "QUESTION"}', 422),
        (b'{"at": 99, "value": true}', 409),
        (b'{"at": -1, "value": true}', 409),
        (b'{"at": 0, "value": true, "question": "another"}', 409),
        (b'{"at": 0, "value": true}', 409),
        (json.dumps({"at": 0, "value": True, "note": "x" * 5000}).encode(), 413),
    ],
)
def test_what_is_not_an_answer_is_said_and_not_written(
    sent: bytes, status: int, made: Desk, ann: Labels
) -> None:
    question = found(ann.page(0), "data-question").encode()
    got, text = ann.ask("POST", "/label", sent.replace(b"QUESTION", question))
    assert got == status and json.loads(text)["said"] and not rows(made)
    assert "Traceback" not in text


def test_it_is_blind(made: Desk) -> None:
    """What was judged before, by whom and how, is in nothing that is served; nor what another
    person said.
    """
    judge = made.judge(
        "secret_judge",
        "print(json.dumps({'criteria': {'a': {'met': True, 'suggestion': 'SUGGESTED'}, 's': {'score': 77}}}))",
    )
    made.run("eval", "a.md", "b.md", "-r", "r.yaml", "--judge", judge.spec)
    first = Labels(made, "ann", "last")
    first.all(True, 100)
    first.stop()
    assert {row["run"] is not None for row in rows(made)} == {True}
    other = Labels(made, "bob", "last")
    shown = "".join(other.page(at) for at in range(4))
    for word in (
        "secret_judge",
        "SUGGESTED",
        "ann",
        "Your answer",
        "a.md",
        "b.md",
        str(rows(made)[0]["run"]),
    ):
        assert word not in shown, word
    assert not re.search(r"\b77\b", re.sub("<[^>]*>", " ", shown))
    other.stop()


def test_hostile_words_make_nothing(made: Desk) -> None:
    server = Labels(made, "ann", "c.md")
    server.answer(0, True, note=EVIL, evidence=EVIL)
    shown = server.page(0) + server.page(1) + server.page(2)
    assert "<script>alert" not in shown and "<img" not in shown and 'x="{{' not in shown
    server.stop()


def test_raters_agree_and_a_third_settles(made: Desk) -> None:
    """Once every rater is through the last page has counts and differences, and answers are final;
    `settled` is asked those.
    """
    first = Labels(made, "ann")
    first.all(True, 100)
    assert "data-agreed" not in first.page() and "how far they agree" in first.page()
    early = made.run(
        "label",
        "a.md",
        "b.md",
        "c.md",
        "-r",
        "r.yaml",
        "--labels",
        "l.jsonl",
        "--rater",
        "settled",
        stdin="",
    )
    assert early.is_refusal and "nothing to settle yet" in early.err
    second = Labels(made, "bob")
    second.all(False, 100)
    end = second.page()
    assert (found(end, "data-agreed"), found(end, "data-compared")) == ("3", "6")
    assert end.count("data-difference") == 3 and "Krippendorff" in end and "ann" in end
    assert found(first.page(), "data-agreed") == "3"
    before = len(rows(made))
    status, got = first.answer(0, None)
    assert status == 409 and "final" in got["said"] and len(rows(made)) == before
    first.stop()
    second.stop()
    third = Labels(made, "settled")
    assert "Item 1 of 3" in third.page() and "bob" not in third.page()
    third.all(True, 100)
    assert third.page().count('<td data-rater="settled">yes</td></tr>') == 3
    third.stop()
    assert len(rows(made)) == 15


def test_outputs_of_a_suite_with_their_input(made: Desk) -> None:
    """A sample by status; each output gets a file next to the labels that `calibrate` can read."""
    cases = [
        {"id": f"secret-{n}", "input": f"question {n}", "checks": [{"contains": "good"}]}
        for n in range(6)
    ]
    made.file("suite.yaml", json.dumps({"suite": 1, "cases": cases}))
    made.file(
        "t.py",
        "import sys\nn = sys.stdin.read().split()[1]\nprint('good alpha' if n in '0123' else 'rotten', n)",
    )
    made.run("eval", "suite.yaml", "--target", "cmd:python t.py")
    server = Labels(made, "ann", "last", "--sample", "4")
    shown = [server.page(at) for at in range(8)]
    assert "question" in shown[0] and not any(
        word in "".join(shown) for word in ("secret-", "t.py", "passed", "failed")
    )
    assert (
        sum("rotten" in page for page in shown) == 4 == sum("good alpha" in page for page in shown)
    )
    server.all(True, 50)
    server.stop()
    kept = rows(made)
    assert {row["case"][:7] for row in kept} == {"secret-"} and {
        row["attempt"] for row in kept
    } == {1}
    assert all((made.folder / row["artifact"]).is_file() for row in kept)
    assert (
        made.run(
            "calibrate", "--labels", "l.jsonl", "-r", "r.yaml", "--judge", "mock", "--json"
        ).json["units"]
        == 4
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a.md", "--port", "1"), "--browser"),
        (("a.md", "--no-open"), "--browser"),
        (("a.md", "--browser", "--labels", "l.csv"), "NAME.jsonl"),
        (("0ABCDE", "--browser"), "no store"),
        (("a.md", "--sample", "0"), "--sample"),
    ],
)
def test_wrong_calls_are_refused(words: tuple[str, ...], said: str, made: Desk) -> None:
    more = () if "--labels" in words else ("--labels", "l.jsonl")
    result = made.run("label", *words, *more, "-r", "r.yaml", "--rater", "me", stdin="")
    assert result.is_refusal and said in result.err, result.err
