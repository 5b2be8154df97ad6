"""A suite run as one HTML page: what is in the file, without a browser."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rendered import suite_html
from suite_samples import (
    HOSTILE,
    JUDGES,
    case,
    criterion,
    every_status,
    hostile,
    item,
    report,
    with_baseline,
)

from honestone.report.pages.html_page import anchor_of
from honestone.report.pages.judged_texts.quote_marks import ALL_TEXTS, LONGEST, Marks, longest_text
from property_examples import examples

VOID = {"meta", "input", "br", "rect", "line", "circle"}


class Page(HTMLParser):
    """The elements of a page, and whether they are nested as they should be."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def test_every_case_input_and_output_is_in_the_page() -> None:
    """Without a script and without opening anything, all of it is in the file."""
    page = Page(suite_html(every_status()))
    for one in every_status()["cases"]:
        assert one["id"] in page.text and one["input"] in page.text
        if one["output"]:
            assert one["output"] in page.text
    assert len([attrs for attrs in page.all("tbody") if attrs.get("data-is")]) == 6


def test_elements_are_nested_and_ids_are_single() -> None:
    """A browser builds the tree that was meant."""
    for doc in (every_status(), hostile(), with_baseline()):
        page = Page(suite_html(doc))
        assert not page.wrong and not page.open
        ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
        assert len(ids) == len(set(ids))
        inside = {
            attrs["href"][1:]
            for attrs in page.all("a")
            if (attrs.get("href") or "").startswith("#")
        }  # type: ignore[index]
        assert inside <= set(ids), "every link leads somewhere"


def test_hostile_words_make_no_element_and_no_attribute() -> None:
    """The same elements as with harmless words; no handler, no image, nothing from elsewhere."""
    page = Page(suite_html(hostile()))
    assert len(page.all("script")) == 1 and not page.all("img") and len(page.all("title")) == 1
    for tag, attrs in page.tags:
        assert not [name for name in attrs if name.startswith("on")], (tag, attrs)
        assert not {"src", "srcset", "action", "data", "poster", "style"} & set(attrs), (tag, attrs)
        assert (attrs.get("href") or "#").startswith("#"), (tag, attrs)
    assert "{{table}}" in page.text, "words that look like the template's are words"
    assert not re.search("[\x00-\x08\x0b-\x1f\u2028\u202e]", suite_html(hostile()))


def test_the_policy_allows_this_script_and_style_and_nothing_else() -> None:
    """The hashes in the page are those of its own script and style."""
    text = suite_html(every_status())
    policy = next(
        attrs["content"] or "" for attrs in Page(text).all("meta") if attrs.get("http-equiv")
    )
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for name, directive in (("script", "script-src"), ("style", "style-src")):
        body = re.search(rf"<{name}>(.*?)</{name}>", text, re.S)
        assert body and body[1].isascii()
        digest = base64.b64encode(hashlib.sha256(body[1].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy


def test_the_page_itself_asks_for_nothing() -> None:
    """No way to talk to a network is even named."""
    text = suite_html(with_baseline())
    assert not re.search(
        r"\b(?:fetch|XMLHttpRequest|WebSocket|EventSource|importScripts|sendBeacon)\b", text
    )
    assert (
        "@import" not in text
        and not re.search(r"url\(\s*[\"']?(?:https?:)?//", text)
        and "innerHTML" not in text
    )


def test_quotes_are_marked_where_they_stand_with_their_judge() -> None:
    """Exact and reflowed quotes are found, a made-up one is said not to be there."""
    evidence = [
        {"judge": JUDGES[0], "quote": "quick brown", "found": True},
        {"judge": JUDGES[1], "quote": "brown fox", "found": True},
        {"judge": JUDGES[0], "quote": "purple elephant", "found": False},
    ]
    asked = item("a", dict.fromkeys(JUDGES, "yes"), evidence=evidence)
    text = suite_html(
        report(
            [
                case(
                    "x",
                    output="The quick brown\n  fox jumps.",
                    criteria=[criterion("c", 100.0, [asked])],
                )
            ]
        )
    )
    marked = [
        (look, words)
        for look, words in re.findall(
            r'<mark[^>]* class="(\w+)"[^>]*><a[^>]*>([^<]*)</a></mark>', text
        )
    ]
    assert marked == [("j1", "quick "), ("many", "brown"), ("j2", "\n  fox")]
    assert text.count(">in the output</a>") == 2 and text.count("not in the output") == 1


@settings(max_examples=examples(60), deadline=None)
@given(
    st.text(alphabet="abc \n<&>", max_size=60),
    st.lists(
        st.tuples(st.text(alphabet="abc <&", min_size=3, max_size=9), st.integers(1, 8)), max_size=6
    ),
)
def test_marks_never_change_the_text(text: str, quotes: list[tuple[str, int]]) -> None:
    """The pieces of a marked text are the text."""
    marks = Marks(text, "q")
    places = [marks.add(words, judge) for words, judge in quotes]
    pieces = marks.pieces(str)
    assert "".join(piece.text for piece in pieces) == text
    ids = [id for piece in pieces for id in piece.ids]
    assert sorted(ids) == sorted({place for place in places if place}), "each place once"


def test_a_text_that_is_too_long_is_cut_and_says_so() -> None:
    """The beginning is there, and how much is not."""
    text = suite_html(report([case("x", output="a" * (LONGEST + 1234))]))
    assert "Cut here: 1,234 more characters" in text
    assert "a" * LONGEST in text and "a" * (LONGEST + 1) not in text


def test_many_long_texts_share_the_room() -> None:
    """Short ones stay whole, and all together fit."""
    assert longest_text([10] * 1000) == LONGEST
    limit = longest_text([100_000] * 2000 + [50] * 5000)
    assert 50 < limit < 100_000 and limit * 2000 + 50 * 5000 <= ALL_TEXTS


@given(st.text(max_size=30))
def test_any_id_can_be_linked(id: str) -> None:
    """The anchor of an id needs no escaping, in HTML or in an address."""
    assert re.fullmatch(r"case-[A-Za-z0-9_.~%-]*", anchor_of(id))


def test_attempts_diff_and_trace_are_shown() -> None:
    """Every attempt's own output, the changed lines by kind, and each call of a tool."""
    attempts = [
        {
            "attempt": n,
            "status": s,
            "score": 50.0,
            "duration_ms": 5,
            "reasons": [],
            "output": o,
            "diff": None,
            "trace": None,
        }
        for n, s, o in ((1, "passed", "one"), (2, "failed", "two"))
    ]
    trace = {
        "tool_calls": [{"name": "read_file", "arguments": {"path": "a.py"}, "result": "text of a"}],
        "input_tokens": 1834,
        "usd": 0.5,
        "skill_loaded": False,
    }
    text = suite_html(
        report(
            [
                case(
                    "x",
                    output="one",
                    attempts=attempts,
                    diff="@@ -1 +1 @@\n-old\n+new",
                    trace=trace,
                )
            ]
        )
    )
    page = Page(text)
    assert (
        "Output of attempt 2" in page.text
        and "two" in page.text
        and "Output of attempt 1" not in page.text
    )
    assert "<span class=del>-old</span>" in text and "<span class=add>+new</span>" in text
    assert (
        "read_file" in page.text
        and '"path": "a.py"' in page.text
        and "1,834" in page.text
        and "$0.5000" in page.text
    )


def test_unknown_is_shown_as_unknown() -> None:
    """A report without a decided case has no score, no rate of 0 and no histogram."""
    page = Page(suite_html(report([case("dead", "target-error"), case("unsure", "inconclusive")])))
    assert "between 0.0% and 100.0%" in page.text and "n/a" in page.text
    assert "Cases by score" not in " ".join(str(attrs) for _, attrs in page.tags)


def test_a_case_that_was_not_asked_has_no_error() -> None:
    """Its report says there why it has no output, and its reasons say it too."""
    spared = {"error": "not asked: the rest", "reasons": ["not asked: the rest"]}
    found = suite_html(report([case("a", "skipped") | spared, case("b", "passed")]))
    assert "not asked: the rest" in found and "<summary>Error" not in found
    broken = suite_html(report([case("a", "target-error") | spared, case("b", "passed")]))
    assert "<summary>Error" in broken


def test_a_comparison_links_its_cases_and_names_the_missing_one() -> None:
    """Cases of this run can be opened from the comparison; the missing one is only named."""
    page = Page(suite_html(with_baseline()))
    links = [attrs["href"] for attrs in page.all("a")]
    assert links.count("#case-down") >= 2 and "#case-gone" not in links and "gone" in page.text
    said = [attrs.get("aria-label") or "" for attrs in page.all("svg")]
    assert any("down: from 100.0 to 0.0" in one for one in said)


@pytest.mark.slow
def test_two_thousand_cases_make_a_page() -> None:
    """Every one of many is in it."""
    page = Page(
        suite_html(
            report(
                [
                    case(f"c{n}", "passed" if n % 3 else "failed", float(n % 101))
                    for n in range(2000)
                ]
            )
        )
    )
    assert (
        len([attrs for attrs in page.all("tbody") if attrs.get("data-is")]) == 2000
        and not page.wrong
    )


def test_the_sample_is_hostile() -> None:
    """The words that the tests above rely on are what they should be."""
    assert all(
        part in HOSTILE
        for part in ("</script>", "onerror", "]]>", "\x1b", "\x00", "\u2028", "\u202e", "{{")
    )


def test_a_long_output_is_also_shown_where_its_evidence_is() -> None:
    """A forbidden word in line 300 is read without unfolding 400 lines; a short output is shown
    once.
    """
    said = {"judge": "check", "quote": 'found "BADWORD" on line 300'}
    wrong = item(
        "c",
        {"check": "no"},
        kind="check",
        requirement="does not contain 'BADWORD'",
        evidence=[said],
    )
    lines = ["here is the BADWORD" if n == 299 else f"plain {n}" for n in range(400)]
    bad = case(
        "long", "failed", 0.0, criteria=[criterion("c", 0.0, [wrong])], output="\n".join(lines)
    )
    page = suite_html(report([bad]))
    near = page[page.index("where the evidence is") : page.index("characters</span>")]
    assert "here is the BADWORD" in near and "297 lines above" in near and "plain 20\n" not in near
    assert "where the evidence is" not in suite_html(report([case("short", "failed", 0.0)]))
