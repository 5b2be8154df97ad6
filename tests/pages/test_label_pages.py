"""Labelling in a headless Chromium: by keys alone, with words of the text as evidence, on a phone,
under its policy.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from by_path import load

HERE = Path(__file__).parent
chromium = load("honestone_test_chromium", HERE / "chromium.py")
pytestmark = pytest.mark.skipif(
    chromium.PROGRAM is None, reason="chromium is not here: make test-pages installs it"
)

HONESTONE = Path(sys.executable).parent / "honestone"
TEXT = "\n\U0001f600 alpha\r\n</pre><img src=x onerror=\"document.title='GONE'\"> beta \u202e\n"
RUBRIC = """\
rubric: 1
criteria:
  - {id: a, requirement: "Says <b>alpha</b>", may_not_apply: true}
  - {id: s, requirement: How good it is, anchors: {0: poor, 100: fine}}
"""


class Form:
    """A server of one rater's items, and a browser."""

    def __init__(self, folder: Path, browser: Any) -> None:
        self.folder, self.browser = folder, browser
        (folder / "a.md").write_bytes(TEXT.encode())
        (folder / "r.yaml").write_text(RUBRIC, "utf-8")
        self.server = subprocess.Popen(
            [HONESTONE, "label", "a.md", "-r", "r.yaml", "--labels", "l.jsonl", "--rater", "ann", "--browser", "--json",
             "--no-open", "--port", "0"],
            cwd=folder, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.server.stdout is not None
        self.said = json.loads(self.server.stdout.readline())

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [
            json.loads(line) for line in (self.folder / "l.jsonl").read_text("utf-8").splitlines()
        ]

    def open(self, at: int | None = None, **how: Any) -> Any:
        self.browser.said.clear()
        self.browser.asked.clear()
        self.browser.open(self.said["url"] + ("" if at is None else f"&at={at}"), **how)
        assert self.browser.run("location.search.includes('token')") is False
        return self.browser

    def is_at(self, at: int) -> None:
        """Waits for the item, which may have complained of nothing."""
        self.browser.until(
            lambda: self.browser.run(
                f"document.readyState === 'complete' && document.body && document.body.dataset.at === '{at}'"
            )
        )
        assert not self.browser.said, self.browser.said

    def is_said(self, words: str) -> None:
        self.browser.until(
            lambda: (
                words in self.browser.run("document.querySelector('[data-hs=said]').textContent")
            )
        )


@pytest.fixture
def form(tmp_path: Path) -> Iterator[Form]:
    browser = chromium.Chromium(tmp_path / "profile")
    (tmp_path / "work").mkdir()
    made = Form(tmp_path / "work", browser)
    yield made
    made.server.kill()
    made.server.wait()
    browser.close()


def test_by_keys_alone(form: Form) -> None:
    """y, a number with Enter, b, Korean letters, s, and what a key cannot do is said."""
    page = form.open()
    page.press("1")
    page.press("Enter")
    form.is_said("Answer it first")
    page.press("y")
    form.is_at(1)
    page.press("y")
    form.is_said("number on the scale")
    page.press("2")
    page.type("50")
    page.press("Enter")
    form.is_said("not on the scale")
    page.said.clear()  # the browser notes the refused answer
    assert [row["value"] for row in form.rows] == [True]
    page.run("document.getElementById('score').value = ''; document.activeElement.blur()")
    page.press("b")
    form.is_at(0)
    assert "yes" in page.run("document.querySelector('[data-hs=said]').textContent")
    page.press("\u315c")
    form.is_at(1)
    page.press("s")
    form.is_at(2)
    assert page.run("document.querySelector('[data-hs=question]')") is None
    assert [row["value"] for row in form.rows] == [True, False, None]
    page.press("b")
    form.is_at(1)
    page.press("7")
    page.type("5")
    page.press("Enter")
    form.is_at(2)
    assert form.rows[-1]["value"] == 75


def test_selected_words_are_evidence_at_their_place(form: Form) -> None:
    """In code points, behind an emoji and a carriage return; the text is shown code point for code
    point.
    """
    page = form.open(0)
    assert page.run(
        "Array.from(document.querySelector('[data-hs=text]').textContent).length"
    ) == len(TEXT)
    select = (
        "(() => { const node = document.querySelector('[data-hs=text]').firstChild, at = node.data.indexOf('%s'),"
        " r = document.createRange(); r.setStart(node, at); r.setEnd(node, at + %d);"
        " getSelection().removeAllRanges(); getSelection().addRange(r) })()"
    )
    page.run(select % ("alpha", 5))
    page.press("e")
    form.is_said("Kept")
    assert page.run("document.getElementById('evidence').value") == "alpha"
    page.press("w")
    page.type("a <b>note</b>")
    page.press("Enter")
    form.is_said("Kept")
    page.press("y")
    form.is_at(1)
    start = TEXT.index("alpha")
    assert form.rows[0]["evidence"] == [{"quote": "alpha", "start": start, "end": start + 5}]
    assert form.rows[0]["note"] == "a <b>note</b>"
    page.run(select % ("beta", 4))
    page.press("9")
    page.press("Enter")
    form.is_at(2)
    assert form.rows[1]["evidence"][0]["start"] == TEXT.index("beta")
    assert page.run("document.title") != "GONE"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("wide", [400, 1280])
def test_it_fits(form: Form, wide: int, dark: bool) -> None:
    for at in (0, 1, 2):
        page = form.open(at, wide=wide, dark=dark)
        assert page.run("document.documentElement.scrollWidth") <= wide
        assert (
            page.run("document.querySelectorAll('main img, main b:not(li b), [onerror]').length")
            == 0
        )
        assert all(
            form.said["url"].split("/")[2] in one for one in page.asked if one.startswith("http")
        )


def test_the_keys_are_shown(form: Form) -> None:
    page = form.open(0)
    page.press("Tab")
    assert page.run("document.activeElement.textContent") == "Skip to the content"
    page.run("document.activeElement.blur()")
    page.press("?")
    assert page.run("document.getElementById('keys').hidden") is False
