"""`--browser` of commands that ask a person, in a headless Chromium: a session by keys alone, begun
at the terminal and ended in the browser; a worker's edit; and every page that asks, in both
schemes, three widths and under its policy.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest
from test_view_pages import AXE, EVIL, FINDINGS, HONESTONE, chromium

pytestmark = pytest.mark.skipif(
    chromium.PROGRAM is None, reason="chromium is not here: make test-pages installs it"
)

PATIENCE = 60
RUBRIC = f"""\
rubric: 1
threshold: 80
floor: 0
criteria:
  - id: words
    requirement: It says what it must
    items:
      - {{id: apple, requirement: {json.dumps("It names the apple " + EVIL)}}}
      - {{id: pear, requirement: It names the pear, may_not_apply: true}}
  - {{id: tone, requirement: Neutral tone, anchors: {{0: hostile, 10: factual}}}}
"""
WORK = "rubric: 1\nthreshold: 100\nfloor: 0\ncriteria: [{id: a, requirement: says pear, check: {contains: the pear}}]\n"
EVAL = ("eval", "note.md", "-r", "rubric.yaml", "--judge", "human", "--json")
BAD = "document.querySelectorAll('main img, main script, [onmouseover], [onerror]').length"


class Asking:
    """A folder, a browser, and a command that asks in it."""

    def __init__(self, folder: Path, browser: Any) -> None:
        self.folder, self.browser = folder, browser
        self.started: list[subprocess.Popen[str]] = []
        for name, text in (
            ("rubric.yaml", RUBRIC),
            ("work.yaml", WORK),
            ("note.md", f"An apple {EVIL}\nand a pear.\n"),
        ):
            (folder / name).write_text(text, "utf-8")
        (folder / "draft.md").write_text(f"An apple {EVIL}\n", "utf-8")

    def terminal(self, *args: str) -> Any:
        env = {**os.environ, "TERM": "xterm"}
        return pexpect.spawn(
            str(HONESTONE),
            list(args),
            cwd=str(self.folder),
            env=env,
            encoding="utf-8",
            timeout=PATIENCE,
        )

    def begin(self, *args: str) -> None:
        """Starts the command, and opens the address that it prints once a person is asked."""
        command = [HONESTONE, *args, "--browser", "--no-open", "--port", "0"]
        made = subprocess.Popen(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(made)
        assert made.stderr is not None
        line = next((line for line in made.stderr if "honestone.view/1" in line), "")
        assert line, "the command asked no one"
        threading.Thread(target=made.stderr.read, daemon=True).start()
        self.said = json.loads(line)
        self.open()

    def open(self, more: str = "", **how: Any) -> Any:
        self.browser.said.clear()
        self.browser.asked.clear()
        self.browser.open(self.said["url"] + more, **how)
        return self.browser

    def until(self, expression: str) -> None:
        """It becomes true in the page, which complains of nothing."""
        self.browser.until(
            lambda: self.browser.run(
                f"!!(document.readyState === 'complete' && document.body && ({expression}))"
            )
        )
        assert not self.browser.said, self.browser.said

    def is_at(self, at: int) -> None:
        self.until(
            f"document.body.dataset.at === '{at}' && document.querySelector('[data-hs=question]')"
        )

    def end(self) -> tuple[int, dict[str, Any]]:
        out, _ = self.started[-1].communicate(timeout=PATIENCE)
        return self.started[-1].returncode, json.loads(out)


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    browser = chromium.Chromium(tmp_path / "profile")
    (tmp_path / "work").mkdir()
    made = Asking(tmp_path / "work", browser)
    yield made
    for one in made.started:
        one.kill()
        one.wait()
    browser.close()


def test_begun_at_the_terminal_it_is_ended_in_the_browser_by_keys(asking: Asking) -> None:
    """The first answer is the terminal's; the others are keys of the page; the last one hands in,
    and the page says that the command has ended.
    """
    child = asking.terminal(*EVAL)
    child.expect("1 of 3")
    child.send("y")
    child.expect("2 of 3")
    child.kill(signal.SIGKILL)
    child.close()
    asking.begin(*EVAL)
    asking.is_at(1)
    page = asking.browser
    page.press("b")
    asking.is_at(0)
    assert "yes" in page.run("document.querySelector('[data-hs=said]').textContent")
    page.press("Enter")
    asking.is_at(1)
    page.press("w")
    page.type("say which pear")
    page.press("Enter")
    asking.until("document.querySelector('[data-hs=said]').textContent.includes('Kept')")
    page.press("n")
    asking.is_at(2)
    assert "hands everything in" in page.run("document.querySelector('main').innerText")
    page.press("9")
    page.press("Enter")
    asking.until("/Handed in|has ended/.test(document.title)")
    assert page.run("document.querySelector('h1').textContent === document.title")
    code, document = asking.end()
    votes = [item["votes"]["human"] for one in document["criteria"] for item in one["items"]]
    assert code == 1 and votes == ["yes", "no", 9]
    assert "say which pear" in json.dumps(document)
    page.until(lambda: "has ended" in page.run("document.querySelector('main').innerText"))
    assert (
        page.run("document.querySelector('h1').textContent")
        == page.run("document.title")
        == "The command has ended"
    )


def test_what_is_asked_next_comes_by_itself(asking: Asking) -> None:
    """Two looks of `noise`: after the first sheet the page shows the second, with nothing answered,
    in the same window.
    """
    asking.begin("noise", "note.md", "-r", "rubric.yaml", "--judge", "human", "-n", "2", "--json")
    page = asking.browser
    for sheet in (1, 2):
        asking.is_at(0)
        assert page.run("document.querySelector('[data-hs=said]').textContent") == ""
        page.press("y")
        asking.is_at(1)
        page.press("x")
        asking.is_at(2)
        page.run("window.sheet = document.body.dataset.sheet")
        page.press("8" if sheet == 1 else "4")
        page.press("Enter")
        if sheet == 1:
            asking.until("document.body.dataset.sheet && document.body.dataset.at === '0'")
    code, document = asking.end()
    assert (
        code == 0
        and document["judges"][0]["looks"] == 2
        and document["judges"][0]["overall"]["sd"] > 0
    )


def test_a_worker_edits_by_keys(asking: Asking) -> None:
    """The text is the first thing that the keyboard reaches in the page's main part; Hand in
    delivers it.
    """
    asking.begin(
        "improve", "draft.md", "-r", "work.yaml", "--worker", "human", "--rounds", "1", "--json"
    )
    asking.until("document.getElementById('edited')")
    page = asking.browser
    assert (
        "says pear" in page.run("document.querySelector('main').innerText") and page.run(BAD) == 0
    )
    assert page.run("document.getElementById('edited').value") == f"An apple {EVIL}\n"
    page.run(
        "document.getElementById('edited').focus(); document.getElementById('edited').select()"
    )
    page.type("the pear\n")
    page.press("Tab")
    page.press("Enter")
    asking.until("/Handed in|has ended/.test(document.title)")
    code, document = asking.end()
    assert (code, document["result"]) == (0, "PASSED")
    assert (asking.folder / "draft.md").read_text("utf-8") == "the pear\n"


def test_every_page_that_asks_fits_and_holds_no_markup_of_what_it_shows(asking: Asking) -> None:
    """Yes or no, a scale, a complete sheet, an edit: three widths, both schemes, and axe where that
    is installed.
    """
    asking.begin(*EVAL)
    for more in ("&at=0", "&at=2"):
        _looks_right(asking, more)
    asking.started[-1].kill()
    child = asking.terminal(*EVAL)
    for expected, keys in (
        ("1 of 3", "y"),
        ("2 of 3", "x"),
        ("3 of 3", "9\r"),
        ("Enter hands it in", ""),
    ):
        child.expect(expected)
        child.send(keys)
    child.kill(signal.SIGKILL)
    child.close()
    asking.begin(*EVAL)
    assert (
        asking.browser.run("document.querySelector('h1').textContent") == "Every item is answered"
    )
    _looks_right(asking, "")
    asking.browser.press("Enter")
    asking.until("/Handed in|has ended/.test(document.title)")
    assert asking.end()[0] == 0
    asking.begin(
        "improve", "draft.md", "-r", "work.yaml", "--worker", "human", "--rounds", "1", "--json"
    )
    _looks_right(asking, "")


def _looks_right(asking: Asking, more: str) -> None:
    for wide in (400, 900, 1400):
        for dark in (False, True):
            page = asking.open(more, wide=wide, dark=dark)
            assert page.run("document.documentElement.scrollWidth") <= wide, (more, wide)
            assert page.run(BAD) == 0 and page.run("document.title") != "GONE"
            assert not page.said, page.said
            assert all("127.0.0.1" in one for one in page.asked if one.startswith("http")), (
                page.asked
            )
            if AXE.exists():
                page.run(AXE.read_text("utf-8") + "; 0")
                found = page.ask(
                    "Runtime.evaluate",
                    {"expression": FINDINGS, "returnByValue": True, "awaitPromise": True},
                )
                assert found["result"].get("value") == [], (
                    more,
                    wide,
                    dark,
                    found["result"].get("value"),
                )
