"""Pages of runs that are under way, in a headless Chromium: they move without a reload, and what a
person did in them stays.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_view_pages import EVIL, HONESTONE, chromium

pytestmark = pytest.mark.skipif(
    chromium.PROGRAM is None, reason="chromium is not here: make test-pages installs it"
)

CASES = ("one", "two", "three", "four")
FOCUS = "(document.activeElement.closest('[data-case]') || {dataset: {}}).dataset.case || ''"
ROWS = "Array.from(document.querySelectorAll('[data-case]')).map(e => e.dataset.case + ' ' + e.dataset.status)"


class Live:
    """An empty folder with a server, a browser, and commands whose cases wait for files."""

    def __init__(self, folder: Path, profile: Path) -> None:
        self.folder = folder
        self.browser = chromium.Chromium(profile)
        self.started: list[subprocess.Popen[str]] = []
        self.said = json.loads(
            self._begin("view", "--json", "--no-open", "--port", "0", out=subprocess.PIPE)
        )
        gates = {name: str(folder / f"{name}.gate") for name in CASES}
        code = f"import os, sys, time\ntext = sys.stdin.read()\ngate = {gates!r}[text.split()[0]]\n"
        code += f"while not os.path.exists(gate):\n    time.sleep(0.02)\nprint(text, {EVIL!r})\n"
        (folder / "slow.py").write_text(code, "utf-8")
        cases = [
            {
                "id": one,
                "input": f"{one} apple",
                "checks": [{"contains": [one[:2] if one != "two" else "pear"]}],
            }
            for one in CASES
        ]
        (folder / "suite.yaml").write_text(
            json.dumps({"suite": 1, "concurrency": 1, "cases": cases}), "utf-8"
        )

    def _begin(self, *args: str, out: int = subprocess.DEVNULL) -> str:
        made = subprocess.Popen(
            [HONESTONE, *args], cwd=self.folder, stdout=out, stderr=subprocess.DEVNULL, text=True
        )
        self.started.append(made)
        return made.stdout.readline() if made.stdout is not None else ""

    def suite(self, *more: str) -> None:
        self._begin("eval", "suite.yaml", "--target", f"cmd:{sys.executable} slow.py", *more)

    def let(self, *names: str) -> None:
        for name in names:
            (self.folder / f"{name}.gate").touch()

    def open(self, path: str, **how: object) -> None:
        self.browser.said.clear()
        base = self.said["url"].split("/?")[0]
        self.browser.open(
            f"{base}{path}{'&' if '?' in path else '?'}token={self.said['token']}", **how
        )
        self.browser.run("window.stays = true")

    def until(self, expression: str) -> None:
        """It becomes true in the page that was opened, and nothing is complained of."""
        self.browser.until(lambda: self.browser.run(f"!!({expression})"))
        assert self.browser.run("window.stays === true"), "the page was loaded again"
        assert not self.browser.said, self.browser.said

    def close(self) -> None:
        for one in reversed(self.started):
            one.kill()
            one.wait()
        self.browser.close()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    (tmp_path / "folder").mkdir()
    made = Live(tmp_path / "folder", tmp_path / "profile")
    yield made
    made.close()


def test_a_suite_moves_to_its_end_and_the_focus_stays(live: Live) -> None:
    """From the empty list on: the run appears, its rows come in their order, the opened and focused
    stay, the verdict comes.
    """
    live.open("/")
    live.suite()
    live.until("document.querySelector('[data-run]')")
    live.let("one")
    live.until("document.querySelector('main').innerText.includes('1 of 4')")
    live.open("/run/last?sort=status")
    live.until(f"{ROWS}.join() === 'one passed'")
    assert live.browser.run("document.title").startswith("Running: 1 of 4")
    live.browser.run("document.querySelector('[data-case=one] a').focus()")
    live.browser.run("document.querySelector('input[type=search]').value = 'half a w'")
    live.let("two")
    live.until(f"{ROWS}.join() === 'two failed,one passed'")
    assert live.browser.run(FOCUS) == "one", "its row moved down, and has the focus still"
    live.let("three", "four")
    live.until("document.querySelector('[data-hs=live]').dataset.state === 'finished'")
    assert live.browser.run(ROWS) == ["two failed", "one passed", "three passed", "four passed"]
    assert live.browser.run("document.querySelector('[data-hs=verdict]').textContent") == "fail"
    assert live.browser.run("document.querySelector('[data-live=done]').textContent") == "4"
    assert live.browser.run(FOCUS) == "one"
    assert live.browser.run("document.querySelector('input[type=search]').value") == "half a w"
    assert (
        live.browser.run("document.querySelectorAll('main img, main script, [onmouseover]').length")
        == 0
    )
    assert "finished" in live.browser.run(
        "document.querySelector('[role=status][data-own]').textContent"
    )


@pytest.mark.parametrize("wide", [400, 1600])
def test_a_killed_run_is_said_and_nothing_scrolls_sideways(live: Live, wide: int) -> None:
    live.suite()
    live.let("one")
    live.open("/", wide=wide)
    live.until("document.querySelector('main').innerText.includes('1 of 4')")
    live.open("/run/last", wide=wide)
    live.until("document.querySelector('[data-hs=live]').dataset.state === 'running'")
    assert live.browser.run("document.documentElement.scrollWidth") <= wide
    live.started[-1].kill()
    live.until("document.querySelector('[data-hs=live]').dataset.state === 'interrupted'")
    assert live.browser.run("document.querySelectorAll('[data-case]').length") == 4
    assert live.browser.run("document.documentElement.scrollWidth") <= wide
