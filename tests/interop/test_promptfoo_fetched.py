"""Tests of promptfoo configs that are on a server: named without permission, and fetched with it."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from honestone.adapters.fetching import fetch
from honestone.core.errors import UsageError
from honestone.formats.source import SuiteSource
from honestone.interop.promptfoo.made import rows_of_dataset, sheet_of
from honestone.interop.recognise import read_any_suite

HEAD = "prompts: ['{{q}}']\nproviders: [echo]\ndefaultTest: {assert: [{type: contains, value: '{{a}}'}]}\n"
DATASET = "huggingface://datasets/some/rows?split=train&subset=x"
SHEET = "https://docs.google.com/spreadsheets/d/1eqFn-x/edit?usp=sharing#gid=7"


class Rows:
    """The server of rows: 230 of them, no more than 100 at a time."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, url: str) -> str:
        self.asked.append(url)
        asked = {key: value[0] for key, value in parse_qs(urlsplit(url).query).items()}
        start, length = int(asked["offset"]), int(asked["length"])
        rows = [
            {"row": {"q": f"{{{{{n}}}}}", "a": ["x", "y"]}}
            for n in range(start, min(start + min(length, 100), 230))
        ]
        return json.dumps({"num_rows_total": 230, "rows": rows})


def source(tmp_path: Path, tests: str, fetch: Rows | None = None) -> SuiteSource:
    path = tmp_path / "c.yaml"
    path.write_text(f"{HEAD}tests: '{tests}'\n")
    return read_any_suite(path, fetch=fetch)


@pytest.mark.parametrize("tests", [DATASET, SHEET])
def test_nothing_is_fetched_without_permission(tmp_path: Path, tests: str) -> None:
    """A note names them, nothing is lost, and the one case says why it is skipped."""
    found = source(tmp_path, tests)
    assert not found.losses and any(
        "fetched with --allow-code only" in note for note in found.notes
    )
    assert [(one.is_fetched, one.file) for one in found.code] == [(True, None)]
    assert [case.skip is not None for case in found.suite.cases] == [True]


def test_rows_of_a_data_set_are_tests(tmp_path: Path) -> None:
    """All of them, by pages; a list in a row is one value, and the query goes to the server as
    promptfoo sends it.
    """
    rows = Rows()
    found = source(tmp_path, DATASET, rows)
    assert (
        len(found.suite.cases) == 230
        and [urlsplit(url).netloc for url in rows.asked] == ["datasets-server.huggingface.co"] * 3
    )
    asked = parse_qs(urlsplit(rows.asked[1]).query)
    assert asked == {
        "dataset": ["some/rows"],
        "split": ["train"],
        "config": ["default"],
        "subset": ["x"],
        "offset": ["100"],
        "length": ["100"],
    }


@pytest.mark.parametrize(("limit", "calls"), [(5, 1), (100, 1), (150, 2), (900, 3), (0, 0)])
def test_no_more_rows_than_the_limit_are_asked_for(limit: int, calls: int) -> None:
    rows = Rows()
    assert len(rows_of_dataset(f"{DATASET}&limit={limit}", rows)) == min(limit, 230)
    assert len(rows.asked) == calls


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        "{}",
        '{"rows": 1, "num_rows_total": 1}',
        '{"rows": [1], "num_rows_total": 1}',
        "[" * 9_999,
    ],
)
def test_another_answer_is_refused(said: str) -> None:
    with pytest.raises(UsageError, match="something else than rows"):
        rows_of_dataset(DATASET, lambda _: said)


def test_a_server_that_says_there_is_always_more_comes_to_an_end() -> None:
    """Not even the first page has rows; and with rows, no more than a suite may have."""
    assert rows_of_dataset(DATASET, lambda _: '{"rows": [], "num_rows_total": 99999999}') == []
    page = json.dumps({"rows": [{"row": {}}] * 100, "num_rows_total": 10**9})
    assert len(rows_of_dataset(DATASET, lambda _: page)) <= 10_100


def test_a_public_sheet_is_a_table_of_tests(tmp_path: Path) -> None:
    asked: list[str] = []

    def sheet(url: str) -> str:
        asked.append(url)
        return "q,a,__expected\nhi,h,icontains:I\nho,o,\n"

    path = tmp_path / "c.yaml"
    path.write_text(f"{HEAD}tests: '{SHEET}'\n")
    cases = read_any_suite(path, fetch=sheet).suite.cases
    assert asked == ["https://docs.google.com/spreadsheets/d/1eqFn-x/export?format=csv&gid=7"]
    assert [(case.input, len(case.rubric.criteria)) for case in cases] == [("hi", 2), ("ho", 1)]
    with pytest.raises(UsageError, match="not public"):
        sheet_of(SHEET, lambda _: "<!doctype html>")


@pytest.mark.parametrize(
    "address",
    [
        "https://docs.google.com.evil.example/spreadsheets/d/a",
        "http://docs.google.com/spreadsheets/d/a",
        "https://x.sharepoint.com/a.csv",
    ],
)
def test_other_addresses_stay_a_loss(tmp_path: Path, address: str) -> None:
    found = source(tmp_path, address, Rows())
    assert ["on a server" in loss.message for loss in found.losses] == [True]


# ------------------------------------------------------------------------------------------------------
# fetching


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answers = {
            "/text?a=1": (200, "grüße", ""),
            "/moved": (302, "", "/text?a=1"),
            "/loop": (302, "", "/loop"),
        }
        answers |= {"/away": (302, "", "http://example.com/")}
        status, body, location = answers.get(self.path, (404, "no", ""))
        data = body.encode()
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_address[1]}"
        made.shutdown()


def test_a_text_is_fetched_where_it_has_moved_to(server: str) -> None:
    assert fetch(f"{server}/text?a=1") == fetch(f"{server}/moved") == "grüße"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/none", "answered 404"),
        ("/loop", "from one address to the next"),
        ("/away", "only https addresses"),
    ],
)
def test_what_cannot_be_fetched_says_why(server: str, path: str, why: str) -> None:
    """Plain http is for this machine only, also after a redirect."""
    with pytest.raises(UsageError, match=why):
        fetch(server + path)


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "http://example.com/a", "ftp://example.com", "nothing"]
)
def test_only_https_is_fetched(address: str) -> None:
    with pytest.raises(UsageError, match="only https"):
        fetch(address)
