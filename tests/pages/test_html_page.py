"""The HTML page in a headless Chromium, used as a person would: read, open, sort, filter, with a
keyboard, on a phone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from by_path import load

HERE = Path(__file__).parent
samples = load("suite_samples", HERE.parent / "report" / "suite_samples.py")
improvements = load("honestone_test_samples", HERE.parent / "report" / "samples.py")
rendered = load("rendered", HERE.parent / "report" / "rendered.py")
suite_html = rendered.suite_html
chromium = load("honestone_test_chromium", HERE / "chromium.py")

pytestmark = pytest.mark.skipif(
    chromium.PROGRAM is None, reason="chromium is not here: make test-pages installs it"
)

NAMES = "Array.from(document.querySelectorAll('a.open')).filter(a => a.offsetParent).map(a => a.textContent)"
FOCUS = "document.activeElement.textContent"
OPENED = "Array.from(document.querySelectorAll('tr.row.is-open a.open')).map(a => a.textContent)"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    running = chromium.Chromium(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Any:
    """Shows a report, and looks afterwards whether the page complained or loaded anything."""
    browser.said.clear()
    browser.asked.clear()

    def show(doc: Any, hash: str = "", draw: Any = suite_html, **how: Any) -> Any:
        path = tmp_path / "page.html"
        path.write_text(draw(doc), encoding="utf-8")
        browser.open(path.as_uri() + hash, **how)
        return browser

    yield show
    browser.run("1")
    assert not browser.said, browser.said
    assert {one for one in browser.asked if not one.startswith("about:")} <= {
        (tmp_path / "page.html").as_uri()
    }


def suite() -> Any:
    """Five cases with statuses, scores and times that sort in different ways."""
    case = samples.case
    return samples.report(
        [
            case("b2", "failed", 20.0, duration_ms=500, tags=["slow"], split="test"),
            case("b10", score=90.0, duration_ms=5),
            case("a", "target-error", duration_ms=50),
            case("later", "skipped"),
            case("c", "failed", 5.0, duration_ms=70, output="a rare word"),
        ]
    )


def head(browser: Any, name: str) -> None:
    browser.run(
        f"Array.from(document.querySelectorAll('th button')).find(b => b.textContent === '{name}').click()"
    )


def sorted_by(browser: Any) -> Any:
    return browser.run(
        "Array.from(document.querySelectorAll('th[aria-sort]')).filter(h => h.ariaSort !== 'none').map(h => h.textContent + ' ' + h.ariaSort)"
    )


def test_hostile_words_run_nothing(page: Any) -> None:
    """A page with hostile words everywhere keeps its title and its policy is never broken."""
    browser = page(samples.hostile())
    assert browser.run("document.title").startswith("Title </script>")
    assert browser.run("document.querySelectorAll('script').length") == 1
    assert browser.run("document.querySelectorAll('img, iframe, object, form').length") == 0
    assert len(browser.run(NAMES)) == 5
    browser.run("document.querySelectorAll('a.open').forEach(a => a.click())")
    assert len(browser.run(OPENED)) == 5


def test_a_case_is_opened_and_closed_with_the_keyboard(page: Any) -> None:
    """Enter and space open, Escape closes from inside, arrows walk; the state is told to who cannot
    see it.
    """
    browser = page(suite())
    browser.run("document.querySelector('a.open').focus()")
    browser.press("Enter")
    assert browser.run(OPENED) == ["b2"]
    assert browser.run("document.querySelector('a.open').ariaExpanded") == "true"
    assert browser.run("document.querySelector('a.open').getAttribute('role')") == "button"
    assert "output of b2" in browser.run("document.querySelector('tr.detail.is-open').innerText")
    assert browser.run("location.hash") == "#case-b2"
    browser.press("Tab", "Escape")
    assert browser.run(OPENED) == [] and browser.run(FOCUS) == "b2"
    browser.press("ArrowDown", " ")
    assert browser.run(OPENED) == ["c"]
    browser.press("End")
    assert browser.run(FOCUS) == "b10"
    browser.press("Home")
    assert browser.run(FOCUS) == "b2"


def test_focus_can_be_seen(page: Any) -> None:
    """Whoever walks with the keyboard sees where they are."""
    browser = page(suite())
    browser.press("Tab", "Tab")
    seen = browser.run(
        "(() => { const s = getComputedStyle(document.activeElement); return [document.activeElement.tagName, s.outlineStyle, parseFloat(s.outlineWidth)]; })()"
    )
    assert seen[0] == "BUTTON" and seen[1] == "solid" and seen[2] >= 2


def test_columns_sort_both_ways_and_unknown_comes_last(page: Any) -> None:
    """Scores sort as numbers, names with numbers in them as people count."""
    browser = page(suite())
    head(browser, "Score")
    assert browser.run(NAMES) == ["c", "b2", "b10", "a", "later"]
    assert sorted_by(browser) == ["Score ascending"]
    head(browser, "Score")
    assert browser.run(NAMES) == ["b10", "b2", "c", "a", "later"]
    assert sorted_by(browser) == ["Score descending"]
    head(browser, "Case")
    assert browser.run(NAMES) == ["a", "b2", "b10", "c", "later"]
    head(browser, "Status")
    assert browser.run(NAMES) == ["b2", "c", "a", "later", "b10"]
    head(browser, "Time")
    assert browser.run(NAMES) == ["b10", "a", "c", "b2", "later"]


def test_filters_narrow_the_table_and_say_so(page: Any) -> None:
    """Status, tag, split and words from anywhere in a case; together they all hold."""
    browser = page(suite())
    browser.run("document.querySelector('button[data-status=failed]').click()")
    assert browser.run(NAMES) == ["b2", "c"]
    assert browser.run("document.getElementById('shown').textContent") == "2 of 5 cases shown"
    browser.run("document.getElementById('search').focus()")
    browser.type("Rare WORD")
    browser.until(lambda: browser.run(NAMES) == ["c"])
    browser.run(
        "document.querySelector('button[data-status=failed]').click(); document.getElementById('search').value = ''"
    )
    browser.run(
        "(() => { const s = document.querySelector('select[data-filter=tags]'); s.value = 'slow'; s.dispatchEvent(new Event('change')); })()"
    )
    assert browser.run(NAMES) == ["b2"]


def test_a_link_to_a_case_opens_it(page: Any) -> None:
    """An address with a case's name shows that case, whatever is in the name."""
    doc = samples.report(
        [samples.case("one"), samples.case('two words, "quoted" | <b> 50%'), samples.case("three")]
    )
    browser = page(doc, "#case-two%20words%2C%20%22quoted%22%20%7C%20%3Cb%3E%2050%25")
    assert browser.run(OPENED) == ['two words, "quoted" | <b> 50%']
    browser.run("location.hash = '#case-three'")
    browser.until(lambda: len(browser.run(OPENED)) == 2)


def test_a_quote_leads_to_its_place_in_the_output(page: Any) -> None:
    """Following a quote unfolds the output and goes to the mark."""
    said = [{"judge": samples.JUDGES[0], "quote": "needle in it", "found": True}]
    asked = samples.item("a", dict.fromkeys(samples.JUDGES, "yes"), evidence=said)
    output = "hay\n" * 2000 + "the needle in it\n" + "hay\n" * 2000
    browser = page(
        samples.report(
            [samples.case("x", output=output, criteria=[samples.criterion("c", 100.0, [asked])])]
        ),
        "#case-x",
    )
    assert browser.run(
        "document.querySelector('mark').offsetParent === null || !document.querySelector('mark').closest('details.text').open"
    )
    browser.run("document.querySelector('.said a').click()")
    browser.until(
        lambda: browser.run("document.querySelector('mark').closest('details.text').open")
    )
    browser.until(
        lambda: browser.run(
            "(() => { const r = document.querySelector('mark').getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight; })()"
        )
    )
    assert browser.run("document.querySelector('mark').textContent") == "needle in it"


@pytest.mark.parametrize("wide", [320, 390])
def test_a_phone_needs_no_sideways_scroll(page: Any, wide: int) -> None:
    """Nothing sticks out, with hostile long words and with a case open; sorting is a menu there."""
    doc = samples.hostile()
    doc["cases"].append(
        samples.case("w" * 300, "failed", 0.0, output="x" * 5000, diff="+" + "y" * 900)
    )
    browser = page(doc, wide=wide)
    browser.run(
        "document.querySelectorAll('a.open').forEach(a => a.click()); document.querySelectorAll('details').forEach(d => { d.open = true; })"
    )
    assert browser.run("document.documentElement.scrollWidth") <= wide
    browser.run(
        "(() => { const s = document.getElementById('sorter'); s.value = 'score up'; s.dispatchEvent(new Event('change')); })()"
    )
    assert browser.run("document.getElementById('sorter').offsetParent !== null")
    assert browser.run(NAMES)[0] == "w" * 300


@pytest.mark.parametrize("dark", [False, True])
def test_words_can_be_read_in_light_and_dark(page: Any, dark: bool) -> None:
    """Every text has at least the contrast of 4.5 to 1 that WCAG asks for, against its own
    background.
    """
    browser = page(samples.with_baseline(), "#case-down", dark=dark)
    low = browser.run(_CONTRAST)
    assert not low, low
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    red = int(re.findall(r"\d+", background)[0])
    assert red < 60 if dark else red > 200


def compared(*outputs: str) -> Any:
    """A comparison whose cases were given and said something."""
    doc = samples.with_baseline()["comparison"]
    for one in doc["cases"]:
        one["input"] = outputs[0]
        one["baseline"]["output"], one["candidate"]["output"] = outputs
    return doc


def improved(doc: Any) -> str:
    return str(
        rendered.improvement_html(
            doc, diffs=[(1, f"--- a\n+++ b\n@@ -1 +1 @@\n-start\n+{'y' * 900}\n")]
        )
    )


@pytest.mark.parametrize("dark", [False, True])
def test_comparisons_and_improvements_can_be_read(page: Any, dark: bool) -> None:
    """Their words have the same contrast, the changed ones too, and both outputs are next to each
    other where there is room.
    """
    browser = page(
        compared("it is red", "it is blue"), draw=rendered.comparison_html, dark=dark, wide=1200
    )
    assert browser.run(_CONTRAST) == []
    tops = browser.run(
        "Array.from(document.querySelector('.sides').children).map(e => e.offsetTop)"
    )
    assert len(set(tops)) == 1
    browser = page(improvements.broken(), draw=improved, dark=dark)
    assert browser.run(_CONTRAST) == []


@pytest.mark.parametrize("wide", [320, 390])
def test_comparisons_and_improvements_fit_a_phone(page: Any, wide: int) -> None:
    """With long and hostile words; there both outputs are one below the other."""
    doc = compared("x" * 5000 + samples.HOSTILE, samples.HOSTILE + "y" * 5000)
    browser = page(doc, draw=rendered.comparison_html, wide=wide)
    assert browser.run("document.documentElement.scrollWidth") <= wide
    assert browser.run("document.querySelectorAll('script, img, iframe').length") == 0
    tops = browser.run(
        "Array.from(document.querySelector('.sides').children).map(e => e.offsetTop)"
    )
    assert len(set(tops)) == 2
    loop = improvements.improvement("PASSED", title=samples.HOSTILE, worker="w" * 300)
    browser = page(loop, draw=improved, wide=wide)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") <= wide
    assert browser.run("document.querySelectorAll('script, img, iframe').length") == 0


_CONTRAST = """
(() => {
  const numbers = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] === 1) { return c.slice(0, 3); } } return [255, 255, 255]; };
  const found = [];
  for (const e of document.querySelectorAll('body *')) {
    if (!e.offsetParent || !Array.from(e.childNodes).some(n => n.nodeType === 3 && n.data.trim())) { continue; }
    const a = light(numbers(getComputedStyle(e).color).slice(0, 3)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) { found.push([e.className, e.textContent.slice(0, 30), ratio]); }
  }
  return found;
})()
"""


def test_two_thousand_cases_can_be_used(page: Any) -> None:
    """Sorting, searching and opening work on many cases; of so many the texts of those that did not
    pass are there.
    """
    cases = [
        samples.case(
            f"c{n}", "passed" if n % 3 else "failed", float(n % 101), output=f"word{n} " * 50
        )
        for n in range(2000)
    ]
    browser = page(samples.report(cases))
    head(browser, "Score")
    head(browser, "Score")
    assert browser.run("document.querySelector('tbody[data-is]').dataset.score") == "100"
    browser.run(
        "(() => { const s = document.getElementById('search'); s.value = 'word1233'; s.dispatchEvent(new Event('input')); })()"
    )
    browser.until(lambda: browser.run(NAMES) == ["c1233"])
    browser.run("document.querySelector('tbody:not([hidden]) a.open').click()")
    assert browser.run(OPENED) == ["c1233"]


def test_without_a_script_everything_is_there(tmp_path: Path) -> None:
    """With scripts turned off the table is whole, cases are unfolded by the browser itself, and no
    dead control is shown.
    """
    browser = chromium.Chromium(tmp_path / "profile", script=False)
    try:
        path = tmp_path / "page.html"
        path.write_text(suite_html(suite()), encoding="utf-8")
        browser.open(path.as_uri())
        assert not browser.run("document.documentElement.classList.contains('js')")
        assert browser.run(NAMES) == ["b2", "c", "a", "later", "b10"]
        assert browser.run("document.getElementById('toolbar').offsetParent === null")
        assert browser.run("document.querySelectorAll('th button').length") == 0
        assert browser.run(
            "Array.from(document.querySelectorAll('details.whole > summary')).every(s => s.offsetParent)"
        )
        browser.run("document.querySelector('details.whole > summary').click()")
        assert "output of b2" in browser.run("document.querySelector('details.whole').innerText")
    finally:
        browser.close()
