"""The pages of `honestone view` in a headless Chromium: what they show, by keyboard, on a phone,
under their policy.
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
EVIL = "</script><script>document.title='GONE'</script><img src=x onerror=\"document.title='GONE'\">\" onmouseover=alert(3) x=\""
TEXT = f"\nVersion 2.4.1 \U0001f600 crashes \u2014 every time.\r\n\r\n1. Open the \u201cFile\u201d menu \u202e\n{EVIL}\n"
RUBRIC = """\
rubric: 1
title: Bug report
threshold: 80
criteria:
  - id: repro
    requirement: It can be reproduced
    items:
      - {id: version, requirement: States the exact version}
      - {id: logs, requirement: Attaches logs}
  - {id: tone, requirement: Neutral tone, anchors: {0: hostile, 100: factual}}
"""
AXE = HERE.parents[1] / ".axe/node_modules/axe-core/axe.min.js"
FINDINGS = (
    "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})"
    ".then(r => r.violations.map(x => [x.id, x.nodes.map(n => n.html.slice(0, 200))]))"
)
POINTS = "Array.from(document.querySelector('[data-hs=text]').textContent)"


class Pages:
    """A store with a rubric run and two suites, a server and a browser."""

    def __init__(self, folder: Path, browser: Any) -> None:
        self.folder, self.browser = folder, browser
        (folder / "report.md").write_bytes(TEXT.encode())
        (folder / "rubric.yaml").write_text(RUBRIC, "utf-8")
        quotes = {"one": "Version 2.4.1 \U0001f600 crashes", "two": 'Open the "File" menu'}
        for name, quote in quotes.items():
            version = {"met": True, "evidence": quote}
            logs = {
                "met": False,
                "evidence": "words from nowhere",
                "suggestion": f"attach the log {EVIL}",
            }
            said = {
                "criteria": {
                    "repro": {"items": {"version": version, "logs": logs}},
                    "tone": {"score": 50},
                }
            }
            (folder / f"{name}.py").write_text(f"print({json.dumps(json.dumps(said))})", "utf-8")
        judges = [
            part for name in quotes for part in ("--judge", f"script:{sys.executable} {name}.py")
        ]
        self.eval = self.run("eval", "report.md", "--rubric", "rubric.yaml", *judges, "--json")
        case = {
            "rubric": [{"id": "good", "requirement": "says good", "check": {"contains": "good"}}]
        }
        cases = [
            {"id": id, "input": f"{id} {EVIL}", **case} for id in ("fine", "wrong", "a/b c?#<b>")
        ]
        (folder / "suite.yaml").write_text(json.dumps({"suite": 1, "cases": cases}), "utf-8")
        self.suites = []
        for name in ("fine", "wrong"):
            code = f"import sys\nprint('poor' if sys.stdin.read().startswith({name!r}) else 'good', {EVIL!r})"
            (folder / f"not_{name}.py").write_text(code, "utf-8")
            self.suites.append(
                self.run(
                    "eval",
                    "suite.yaml",
                    "--target",
                    f"cmd:{sys.executable} not_{name}.py",
                    "--json",
                )
            )
        targets = [f"cmd:{sys.executable} not_{name}.py" for name in ("fine", "wrong")]
        self.table = self.run(
            "eval", "suite.yaml", *(part for one in targets for part in ("--target", one)), "--json"
        )
        code = "import os\nopen(os.environ['HONESTONE_ARTIFACT'], 'a').write('more\\n')"
        (folder / "worker.py").write_text(code, "utf-8")
        worker = f"cmd:{sys.executable} {folder / 'worker.py'}"
        loop = (
            "--rubric",
            "rubric.yaml",
            *judges[:2],
            "--worker",
            worker,
            "--policy",
            "keep-best",
            "--rounds",
            "2",
        )
        (folder / "draft.md").write_bytes(TEXT.encode())
        self.loop = self.run("improve", "draft.md", *loop, "--json")
        self.server = subprocess.Popen(
            [HONESTONE, "view", "--json", "--no-open", "--port", "0"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.server.stdout is not None
        self.said = json.loads(self.server.stdout.readline())

    def run(self, *args: str) -> Any:
        done = subprocess.run(
            [HONESTONE, *args], cwd=self.folder, capture_output=True, text=True, check=False
        )
        return json.loads(done.stdout)

    def open(self, path: str, **how: Any) -> Any:
        """The page, which may complain of nothing and load nothing from elsewhere."""
        self.browser.said.clear()
        self.browser.asked.clear()
        base = self.said["url"].split("/?")[0]
        self.browser.open(
            f"{base}{path}{'&' if '?' in path else '?'}token={self.said['token']}", **how
        )
        self.browser.run("1")
        assert not self.browser.said, self.browser.said
        assert {one.split("/")[2] for one in self.browser.asked if "://" in one} == {
            base.split("/")[2]
        }
        return self.browser

    @property
    def addresses(self) -> list[str]:
        first, second = (one["run"] for one in self.suites)
        case = f"/run/{first}/case?id=fine"
        loop = f"/run/{self.loop['run']}"
        return [
            "/",
            f"/run/{self.eval['run']}",
            f"/run/{self.eval['run']}/judges",
            loop,
            f"{loop}?diff=side",
            f"{loop}/versions?a=original&b=best&diff=side",
            f"/run/{self.table['run']}",
            f"/run/{first}",
            case,
            f"/compare/{first}/{second}",
            f"/trend?run={first},{second}",
        ]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    browser = chromium.Chromium(tmp_path_factory.mktemp("profile"))
    made = Pages(tmp_path_factory.mktemp("store"), browser)
    yield made
    made.server.kill()
    made.server.wait()
    browser.close()


def test_quotes_are_marked_where_they_are(pages: Pages) -> None:
    """Offsets in the page are those of the record, behind an emoji and typographic signs too."""
    page = pages.open(f"/run/{pages.eval['run']}")
    shown = page.run(POINTS)
    assert len(shown) == len(TEXT) and "\u202e" not in shown
    marks = page.run(
        "Array.from(document.querySelectorAll('[data-hs=text] mark')).map(m => { const r = document.createRange();"
        " r.setStart(document.querySelector('[data-hs=text]'), 0); r.setEndBefore(m);"
        " return [+m.dataset.start, +m.dataset.end, Array.from(r.toString()).length, Array.from(m.textContent).length] })"
    )
    items = [item for one in pages.eval["criteria"] for item in one["items"]]
    found = {
        (one["start"], one["end"]) for item in items for one in item["evidence"] if one["found"]
    }
    assert len(found) == 2 and {(mark[0], mark[1]) for mark in marks} == found
    assert all(start == before and end - start == long for start, end, before, long in marks)


def test_a_quote_leads_to_its_place_by_keyboard(pages: Pages) -> None:
    page = pages.open(f"/run/{pages.eval['run']}")
    page.run("document.querySelector('[data-quote] a').focus()")
    page.press("Enter")
    assert page.run("document.querySelector(location.hash).tagName") == "MARK"
    lost = page.run("document.querySelector(\"[data-item='repro/logs'] [data-quote]\").textContent")
    assert "not in the text" in lost


def test_hostile_words_make_nothing(pages: Pages) -> None:
    for path in pages.addresses:
        page = pages.open(path)
        page.run("document.querySelectorAll('details').forEach(e => { e.open = true })")
        assert (
            page.run(
                "document.querySelectorAll('main img, main script, [onmouseover], [onerror]').length"
            )
            == 0
        )
        assert page.run("document.title") != "GONE", path


def test_a_case_with_an_awkward_id_is_opened_by_keyboard(pages: Pages) -> None:
    page = pages.open(f"/run/{pages.suites[0]['run']}")
    assert page.run(
        "Array.from(document.querySelectorAll('[data-case]')).map(e => e.dataset.status)"
    ) == [
        "failed",
        "passed",
        "passed",
    ]
    page.run(
        "Array.from(document.querySelectorAll('[data-case] a')).find(a => a.textContent.startsWith('a/b')).focus()"
    )
    page.press("Enter")
    page.until(
        lambda: page.run(
            "document.body && document.body.dataset.page === 'case' && document.readyState === 'complete'"
        )
    )
    assert page.run("document.querySelector('[data-hs=text]').textContent").startswith("good")


def test_filters_are_in_the_address(pages: Pages) -> None:
    page = pages.open(f"/run/{pages.suites[0]['run']}?status=passed&sort=case")
    assert page.run(
        "Array.from(document.querySelectorAll('[data-case]')).map(e => e.dataset.case)"
    ) == [
        "a/b c?#<b>",
        "wrong",
    ]


@pytest.mark.parametrize("wide", [400, 1600])
def test_no_page_scrolls_sideways(pages: Pages, wide: int) -> None:
    for path in pages.addresses:
        page = pages.open(path, wide=wide)
        assert page.run("document.documentElement.scrollWidth") <= wide, path


def test_the_first_tab_skips_the_head_and_all_runs_follow(pages: Pages) -> None:
    page = pages.open("/")
    page.press("Tab")
    assert page.run("document.activeElement.textContent") == "Skip to the content"
    seen = set()
    for _ in range(30):
        page.press("Tab")
        seen.add(
            page.run(
                "(document.activeElement.closest('[data-run]') || {dataset: {}}).dataset.run || ''"
            )
        )
    assert {pages.eval["run"], *(one["run"] for one in pages.suites)} <= seen


def test_keys_move_search_and_tell_themselves(pages: Pages) -> None:
    page = pages.open("/")
    page.press("j")
    first = page.run("document.activeElement.textContent")
    page.press("j")
    assert page.run("document.activeElement.textContent") != first
    page.press("?")
    assert page.run("document.getElementById('keys').hidden") is False
    page.press("/")
    assert page.run("document.activeElement.type") == "search"


@pytest.mark.skipif(
    not AXE.exists(), reason="axe-core is not here: make test-pages installs it from npm"
)
@pytest.mark.parametrize(("wide", "dark"), [(400, True), (1280, False)])
def test_axe_finds_nothing(pages: Pages, wide: int, dark: bool) -> None:
    """WCAG 2.1 AA, as far as a program can tell."""
    for path in [*pages.addresses, "/nowhere"]:
        page = pages.browser if path == "/nowhere" else pages.open(path, wide=wide, dark=dark)
        if path == "/nowhere":
            page.open(f"{pages.said['url'].split('/?')[0]}{path}", wide=wide, dark=dark)
        page.run(AXE.read_text("utf-8") + "; 0")
        told = page.ask(
            "Runtime.evaluate",
            {"expression": FINDINGS, "awaitPromise": True, "returnByValue": True},
        )
        assert told["result"]["value"] == [], path


def test_a_mark_leads_back_to_the_answer_that_quotes_it(pages: Pages) -> None:
    page = pages.open(f"/run/{pages.eval['run']}")
    page.run("document.querySelector('[data-hs=text] mark a').focus()")
    page.press("Enter")
    page.until(lambda: page.run("location.hash").startswith("#said-"))
    assert page.run("document.querySelector(location.hash).dataset.quote")


def test_few_elements_move_for_who_asked_for_none(pages: Pages) -> None:
    """Nothing on any page is animated."""
    for path in pages.addresses:
        page = pages.open(path)
        assert page.run("document.getAnimations().length") == 0, path
