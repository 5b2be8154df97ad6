"""A run of the loop as a page: how it ended, its rounds with what they changed, what moved, and the
evidence.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
import samples
from rendered import improvement_html
from suite_samples import HOSTILE

DIFF = "--- a/report.md\n+++ b/report.md\n@@ -1 +1 @@\n-start\n+one two\n"
_VOID = {"meta", "line", "rect", "circle", "input", "br"}


class Page(HTMLParser):
    """Every element that a browser would make, and whether they are nested as they are written."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.made: set[str] = set()
        self.ids: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.made.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.open.pop() == tag


def test_rounds_scores_changes_and_evidence_are_on_the_page() -> None:
    """What a reader asks: did it pass, how did it get there, what was changed, and who says so."""
    page = improvement_html(
        samples.improvement("PASSED", worker="cmd:python w.py"), diffs=[(1, DIFF)]
    )
    assert (
        "PASSED" in page and "61.7 → 91.6" in page and "the version of round 3 is delivered" in page
    )
    assert (
        page.index("Round 1")
        < page.index("one two")
        < page.index("Round 2")
        < page.index("Round 4")
    )
    assert "<span class=add>+one two</span>" in page and "<span class=del>-start</span>" in page
    assert (
        "gemini DEGRADED: timed out after 120 s" in page
        and "out-of-scope: rubric.yaml was changed" in page
    )
    assert (
        "States the exact version of the software" in page
        and "held-out judge" in page
        and "claude" in page
    )


@pytest.mark.parametrize(
    "doc", [samples.improvement("PASSED"), samples.unconfirmed(), samples.broken()]
)
def test_the_page_is_whole_and_loads_nothing(doc: dict[str, Any]) -> None:
    """Elements are nested, ids are single, nothing is asked for from elsewhere, and no script may
    run.
    """
    page = improvement_html(doc, diffs=[(1, DIFF)])
    read = Page(page)
    assert not read.open and len(read.ids) == len(set(read.ids))
    assert (
        not read.attributes & {"src", "onclick", "onerror", "style"} and "script" not in read.made
    )
    assert "script-src 'none'" in page and not re.search(r"https?://", page)


def test_who_disagrees_and_the_way_back_are_said_at_the_top() -> None:
    """UNCONFIRMED names the judge before anything else."""
    page = improvement_html(samples.unconfirmed() | {"delivered": "sha256:ef"})
    top = page[page.index("<main>") : page.index('id="rounds"')]
    assert "claude disagrees (did not pass)" in top and "honestone undo 01JABCDEF0" in top


def test_hostile_words_stay_words() -> None:
    """In the name, the rubric, a round, its diff and its judges; a quote that is not in the
    artifact says so.
    """
    doc = samples.improvement("PLATEAU", title=HOSTILE, reason=HOSTILE, worker=HOSTILE)
    doc["artifact"]["path"] = HOSTILE
    for one in doc["rounds"]:
        one |= {
            "focus": [HOSTILE],
            "reason": HOSTILE,
            "judges": [samples.judge(HOSTILE, "DEGRADED", HOSTILE)],
        }
    page = improvement_html(doc, diffs=[(1, "+" + HOSTILE)])
    assert (
        Page(page).made.isdisjoint({"script", "img"})
        and "\x1b" not in page
        and "\u202e" not in page
    )
    assert "not in the text" in page


def test_nothing_scored_is_a_page_too() -> None:
    """A loop that was stopped before its first score."""
    page = improvement_html(
        samples.improvement("INTERRUPTED", baseline=None, final=None, rounds=[], best_round=0)
    )
    assert "No round was made." in page and not Page(page).open


def test_the_page_is_certain_of_what_code_alone_decides_and_of_nothing_else() -> None:
    """As the rounds are; a probability that is rounded to 1 is not certain."""
    doc = samples.improvement("PASSED")
    by_code = doc | {"probability": 1.0, "belief": {"probability": 1.0}}
    assert "100% sure" in improvement_html(by_code) and "by code alone" in improvement_html(by_code)
    by_looks = doc | {"probability": 1.0, "belief": {"probability": 1.0, "looks": 3}}
    page = improvement_html(by_looks)
    assert "100% sure" not in page and "99% sure" in page
