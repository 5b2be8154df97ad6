"""`honestone view` in a real process, over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import pytest

from cli.desk import Desk
from honestone.core.errors import UsageError
from honestone.core.numbers import percent
from honestone.view.access import Access, PageSessions
from honestone.view.listening import ViewOptions as _Options
from honestone.view.listening import _listen

EVIL = '</script><script>alert(1)</script><img src=x onerror=alert(2)>" onmouseover=alert(3) x="{{7*7}}\u202e'
PATIENCE = 30.0  # seconds for a line of the server


class Server:
    """A `honestone view` on a desk. `get` asks with the token unless it is told otherwise.
    `is_installed`: the installed command, for who looks at its process.
    """

    def __init__(self, desk: Desk, *args: str, is_installed: bool = False) -> None:
        self.process = desk.start(
            "view", "--json", "--no-open", "--port", "0", *args, is_installed=is_installed
        )
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if ready else ""
        assert line, (
            self.process.stderr.read()
            if self.process.stderr and self.process.poll() is not None
            else "no line"
        )
        self.said: dict[str, Any] = json.loads(line)
        self.port: int = self.said["port"]
        self.token: str = self.said["token"] or ""

    def ask(
        self, path: str, method: str = "GET", *, token: bool = True, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        """(status, headers in small letters, body)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        given = {
            "Host": f"127.0.0.1:{self.port}",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        if token:
            given["Authorization"] = f"Bearer {self.token}"
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body

    def get(self, path: str) -> str:
        status, _, body = self.ask(path)
        assert status == 200, (path, status, body[:500])
        return body

    def heard(self) -> str:
        """What it has written to stderr."""
        assert self.process.stderr is not None
        os.set_blocking(self.process.stderr.fileno(), False)
        said = b""
        with suppress(BlockingIOError):
            while more := os.read(self.process.stderr.fileno(), 65536):
                said += more
        return said.decode(errors="replace")

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(PATIENCE)


@pytest.fixture
def shown(desk: Desk) -> Iterator[tuple[Desk, Server]]:
    """Two runs of a suite with hostile words in every place, one of a rubric, and their server."""
    cases = [
        {
            "id": one,
            "input": f"{one} {EVIL}",
            "rubric": [
                {"id": "good", "requirement": f"says {EVIL}", "check": {"contains": "good"}}
            ],
        }
        for one in ("fine", "wrong", "a/b c?#<b>")
    ]
    desk.file("suite.yaml", json.dumps({"suite": 1, "title": f"Words {EVIL}", "cases": cases}))
    for name, words in (
        ("one", "'good' if not text.startswith('wrong') else 'poor'"),
        ("two", "'good' if not text.startswith('fine') else 'poor'"),
    ):
        desk.file(f"{name}.py", f"import sys\ntext = sys.stdin.read()\nprint({words}, {EVIL!r})\n")
        desk.run("eval", "suite.yaml", "--target", f"cmd:{sys.executable} {name}.py", "-q")
    desk.file("note.md", f"\napple\r\n{EVIL}\n")
    desk.file(
        "rubric.yaml",
        "rubric: 1\ntitle: Fruit\ncriteria: [{id: a, requirement: apple, check: {contains: apple}}]\n",
    )
    desk.run("eval", "note.md", "--rubric", "rubric.yaml", "-q")
    server = Server(desk)
    yield desk, server
    server.stop()


def runs(desk: Desk) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(desk.run("runs", "--json").out)
    return listed


def addresses(desk: Desk) -> list[str]:
    rubric, second, first = (run["id"] for run in runs(desk))
    return [
        *(
            "/",
            "/run/last",
            f"/run/{first}",
            f"/run/{first}/case?id=fine",
            f"/run/{first}/case?id={quote('a/b c?#<b>', safe='')}",
        ),
        *(
            f"/compare/{first}/{second}",
            f"/trend?run={first},{second}",
            "/api/runs",
            f"/api/run/{rubric}",
        ),
    ]


@pytest.mark.slow
def test_everything_needs_the_token(shown: tuple[Desk, Server]) -> None:
    desk, server = shown
    assert server.said["schema"] == "honestone.view/1" and server.said["host"] == "127.0.0.1"
    assert urlsplit(server.said["url"]).query == f"token={server.token}"
    for path in addresses(desk):
        assert server.ask(path)[0] == 200, path
        status, _, body = server.ask(path, token=False)
        assert status == 401 and "note.md" not in body and "Words" not in body
        assert server.ask(path, token=False, Cookie=f"honestone-{server.port}=wrong")[0] == 401


def test_the_token_leaves_the_address_for_a_cookie(shown: tuple[Desk, Server]) -> None:
    """Another one for each browser, and none of them the token: cookies go to every port of this
    machine.
    """
    _, server = shown
    status, headers, _ = server.ask(f"/run/last?status=failed&token={server.token}", token=False)
    assert (status, headers["location"]) == (303, "/run/last?status=failed")
    assert "HttpOnly" in headers["set-cookie"] and "SameSite=Strict" in headers["set-cookie"]
    cookie = headers["set-cookie"].split(";")[0]
    assert (
        server.token not in headers["set-cookie"]
        and server.ask("/", token=False, Cookie=cookie)[0] == 200
    )
    other = server.ask(f"/?token={server.token}", token=False)[1]["set-cookie"].split(";")[0]
    assert other != cookie
    again = server.ask(f"/?token={server.token}", token=False, Cookie=cookie)
    assert again[0] == 303 and "set-cookie" not in again[1]
    named = cookie.partition("=")[2]
    assert server.ask(f"/?token={named}", token=False)[0] == 401, "a cookie is not a token"


@pytest.mark.parametrize(
    "path",
    [
        "//evil.test/",
        "/\\evil.test/",
        "/\\/evil.test/",
        "///evil.test/",
        "/%5cevil.test/",
        "/%2f/evil.test",
        "/a\\b",
    ],
)
def test_no_address_leads_to_another_server(shown: tuple[Desk, Server], path: str) -> None:
    """Two slashes at its beginning would, and a browser reads a backslash as a slash."""
    _, server = shown
    status, headers, _ = server.ask(f"{path}?token={server.token}", token=False)
    place = headers.get("location", "/")
    assert urlsplit(urljoin("http://here.test/", place.replace("\\", "/"))).netloc == "here.test", (
        status,
        place,
    )
    assert "\\" not in place


def test_the_address_that_is_opened_works_once(shown: tuple[Desk, Server]) -> None:
    """Other programs may see it among the words of the browser's command."""
    sessions = PageSessions("once")
    access = Access(token="lasting", port=1, names=(), sessions=sessions)
    assert access.opens("once") and not access.opens("") and access.opens("lasting")
    cookie = sessions.begin("once")
    assert not access.opens("once") and access.opens("lasting")
    assert access.has_cookie({access.cookie: cookie}) and not access.has_cookie(
        {access.cookie: "once"}
    )


def test_what_is_not_http_says_nothing(shown: tuple[Desk, Server]) -> None:
    """No traceback in the terminal, and the next request is answered."""
    _, server = shown
    for sent in (
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost\r\n\r\n",
        b"\0" * 70_000,
    ):
        with (
            closing(socket.create_connection(("127.0.0.1", server.port), 10)) as line,
            suppress(OSError),
        ):
            line.sendall(sent)
            line.recv(100)
    assert server.ask("/")[0] == 200
    assert "Traceback" not in server.heard() and "rror" not in server.heard()


def test_idle_connections_keep_nobody_out(shown: tuple[Desk, Server]) -> None:
    """However many there are, and whoever has no token cannot keep one either."""
    _, server = shown
    idle: list[socket.socket] = []
    try:
        for _ in range(700):
            idle.append(socket.create_connection(("127.0.0.1", server.port), 10))
        assert server.ask("/")[0] == 200
        idle[-1].settimeout(20)
        idle[-1].sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.port)
        answer = b""
        while more := idle[-1].recv(65536):
            answer += more
        assert b" 401 " in answer.partition(b"\r\n")[0]
    finally:
        for one in idle:
            one.close()
    assert "Traceback" not in server.heard()


@pytest.mark.slow
def test_every_answer_has_the_policy(shown: tuple[Desk, Server]) -> None:
    desk, server = shown
    for path in [*addresses(desk), "/nowhere", "/run/zzzz", "/static/style.css"]:
        headers = server.ask(path)[1]
        policy = headers["content-security-policy"]
        assert (
            "default-src 'none'" in policy
            and "unsafe" not in policy
            and "frame-ancestors 'none'" in policy
        )
        assert "require-trusted-types-for 'script'" in policy
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == (
            "nosniff",
            "no-referrer",
        )
        assert (
            "no-store" in headers["cache-control"] and "access-control-allow-origin" not in headers
        )


def test_other_names_and_other_sites_are_refused(shown: tuple[Desk, Server]) -> None:
    _, server = shown
    assert server.ask("/", Host=f"evil.test:{server.port}")[0] == 421
    assert server.ask("/api/runs", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert server.ask("/", method)[0] == 405


class Elements(HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.odd: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.odd += (
            [tag]
            if tag in ("img", "iframe", "base", "object", "embed")
            or (tag == "script" and not known.get("src"))
            else []
        )
        self.odd += [f"{tag} {name}" for name in known if name.startswith("on") or name == "style"]
        places = [known.get(name) or "" for name in ("href", "src", "action")]
        self.odd += [
            f"{tag} {one}"
            for one in places
            if (not one.startswith(("/", "#", "?")) and one) or one.startswith("//")
        ]


@pytest.mark.slow
def test_hostile_words_are_words_everywhere(shown: tuple[Desk, Server]) -> None:
    """No element, attribute or address is made of what a run holds; what turns text around is shown
    as a sign.
    """
    desk, server = shown
    for path in addresses(desk):
        if path.startswith("/api/"):
            continue
        body, found = server.get(path), Elements()
        found.feed(body)
        assert found.odd == [] and "\u202e" not in body, path
    assert "{{7*7}}" in server.get(addresses(desk)[3])


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/static/../../../../etc/passwd",
            "/static/%2e%2e/%2e%2e/etc/passwd",
            "/run/..%2f..%2fetc",
            "/run/%00",
            "/run/zzzz",
        ),
        *(
            "/run/last/case?id=nosuch",
            "/compare/zzz/last",
            "/compare?a=/etc/passwd&b=suite.yaml",
            "/trend?run=suite.yaml",
        ),
    ],
)
def test_no_address_leads_out_of_the_store(shown: tuple[Desk, Server], path: str) -> None:
    _, server = shown
    status, _, body = server.ask(path)
    assert status in (400, 404) and "Traceback" not in body and "root:" not in body


@pytest.mark.slow
def test_an_odd_query_is_no_error(shown: tuple[Desk, Server]) -> None:
    desk, server = shown
    suite = runs(desk)[1]["id"]
    for query in (
        "page=x&status=y",
        "page=-4",
        "page=99999999999",
        "sort=" + "x" * 500,
        "q=%ff",
        "page=7",
    ):
        assert server.ask(f"/run/{suite}?{query}")[0] == 200, query


def test_the_numbers_are_those_of_the_command(shown: tuple[Desk, Server]) -> None:
    desk, server = shown
    rubric, second, first = (run["id"] for run in runs(desk))
    assert json.loads(server.get("/api/runs")) == runs(desk)
    for run in (rubric, second, first):
        assert json.loads(server.get(f"/api/run/{run}")) == json.loads(
            desk.run("show", run, "--json").out
        )
    compared = json.loads(desk.run("compare", first, second, "--json").out)
    assert json.loads(server.get(f"/api/compare/{first}/{second}")) == compared


@pytest.mark.slow
def test_the_store_is_open_for_reading_alone(shown: tuple[Desk, Server]) -> None:
    server = Server(shown[0], is_installed=True)
    server.get("/")
    place = Path(f"/proc/{server.process.pid}")
    if not place.exists():
        pytest.skip("there is no /proc here")
    flags = [
        int(re.findall(r"flags:\s*(\d+)", (place / "fdinfo" / one).read_text())[0], 8)
        for one in os.listdir(place / "fd")
        if os.path.realpath(place / "fd" / one).endswith(".db")
    ]
    server.stop()
    assert flags and not any(one & (os.O_WRONLY | os.O_RDWR) for one in flags)


def test_contracts_that_differ_are_told_and_not_compared(shown: tuple[Desk, Server]) -> None:
    desk, server = shown
    suite = (desk.folder / "suite.yaml").read_text()
    desk.file("suite.yaml", suite.replace('"contains": "good"', '"contains": "goo"'))
    desk.run("eval", "suite.yaml", "--target", f"cmd:{sys.executable} one.py", "-q")
    now, _, _, first = (run["id"] for run in runs(desk))
    status, _, body = server.ask(f"/compare/{first}/{now}")
    assert status == 409 and "different contracts" in body and "case" in body


def test_a_run_that_is_made_later_is_shown(desk: Desk) -> None:
    """Also where no store was: nothing is made by looking."""
    server = Server(desk)
    assert "No run yet" in server.get("/") and not (desk.folder / ".honestone").exists()
    desk.file("note.md", "apple")
    desk.file(
        "rubric.yaml",
        "rubric: 1\ncriteria: [{id: a, requirement: apple, check: {contains: apple}}]\n",
    )
    desk.run("eval", "note.md", "--rubric", "rubric.yaml", "-q")
    assert "note.md" in server.get("/") and json.loads(server.get("/api/runs"))[0]["kind"] == "eval"
    assert server.stop() == 0


@pytest.mark.slow
def test_a_store_that_was_removed_and_made_again_is_another_one(shown: tuple[Desk, Server]) -> None:
    desk, server = shown
    old = runs(desk)[0]["id"]
    server.get(f"/run/{old}")
    for path in sorted((desk.folder / ".honestone").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    desk.run("eval", "note.md", "--rubric", "rubric.yaml", "-q")
    assert server.ask(f"/run/{old}")[0] == 404 and len(json.loads(server.get("/api/runs"))) == 1


def test_a_run_without_its_beginning_is_one_clear_page(shown: tuple[Desk, Server]) -> None:
    """As it is one clear error of `show`; the list still has every run."""
    desk, server = shown
    newest = runs(desk)[0]["id"]
    (path,) = (desk.folder / ".honestone").glob("*.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(
            "update events set data = (select data from events where run = ?1 and seq = 2)"
            " where run = ?1 and seq = 1",
            (newest,),
        )
    for address in (f"/run/{newest}", f"/api/run/{newest}"):
        status, _, page = server.ask(address)
        assert status == 404 and "is damaged" in page, (address, page)
    assert len(json.loads(server.get("/api/runs"))) == len(runs(desk))


def test_a_port_in_use_is_refused_and_the_usual_one_gives_way(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = desk.run("view", "--no-open", "--port", port)
        assert refused.code == 2 and port in refused.err and "Traceback" not in refused.err


def test_beyond_this_machine_never_without_a_token(desk: Desk) -> None:
    refused = desk.run("view", "--no-open", "--host", "0.0.0.0", "--port", "0", "--no-token")
    assert refused.code == 2 and "token" in refused.err


def test_ctrl_c_ends_it_well(shown: tuple[Desk, Server]) -> None:
    _, server = shown
    assert server.stop() == 0
    assert isinstance(server.process, subprocess.Popen) and server.process.stderr is not None
    assert server.process.stderr.read() == ""


def test_answers_that_changed_are_next_to_each_other(shown: tuple[Desk, Server]) -> None:
    desk, server = shown
    _, second, first = (run["id"] for run in runs(desk))
    page = server.get(f"/compare/{first}/{second}")
    assert "1 case did not change" in page
    assert f'href="/run/{first}/case?id=fine"' in page
    assert "no: check" in page
    assert "yes: check" in page
    assert "Show them too" in page
    assert "Show them too" not in server.get(f"/compare/{first}/{second}?all=1")


def test_a_trend_names_what_turned_with_intervals(shown: tuple[Desk, Server]) -> None:
    desk, server = shown
    _, second, first = (run["id"] for run in runs(desk))
    page = server.get(f"/trend?run={first}&run={second}")
    told = json.loads(desk.run("trend", first, second, "--json").out)["runs"]
    low, high = told[0]["rate_interval"]
    assert 0 < low < told[0]["pass_rate"] < high < 1
    assert page.count('<circle class="after"') == 2
    assert f"95%: {percent(low)} to {percent(high)}" in page
    assert "1 regression</span>" in page
    assert f'href="/compare/{first}/{second}"' in page
    assert f"/trend?run={first},{second}" in server.get("/")


@pytest.mark.slow
def test_a_table_is_shown_by_page_and_leads_to_each_cell(shown: tuple[Desk, Server]) -> None:
    desk, server = shown
    targets = [
        part for name in ("one", "two") for part in ("--target", f"cmd:{sys.executable} {name}.py")
    ]
    document = json.loads(desk.run("eval", "suite.yaml", *targets, "--json").out)
    page = server.get(f"/run/{document['run']}")
    column = document["columns"][1]["run"]
    assert f'href="/run/{column}/case?id=fine"' in page
    assert "3 cases" in page
    assert "2 cases" in server.get(f"/run/{document['run']}?differ=1")
    assert "1 case<" in server.get(f"/run/{document['run']}?q=a/b")
    assert "0 cases" in server.get(f"/run/{document['run']}?status=skipped")


@pytest.mark.parametrize("port", [-1, 99999])
def test_a_port_that_no_server_can_have(port: int) -> None:
    with pytest.raises(UsageError, match="`port` must be 0 to 65535"):
        _listen(_Options(port=port))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_who_ends_it_at_its_first_line_gets_no_failure(desk: Desk, how: signal.Signals) -> None:
    """The address is there before the pages are loaded."""
    server = Server(desk)
    assert server.stop(how) == 0
    assert server.heard() == ""
