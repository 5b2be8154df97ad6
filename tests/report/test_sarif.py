"""SARIF reports: valid whatever is in them, and at the lines that the evidence names."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st
from sarif_rules import assert_sarif

from honestone.report.documents.scorecard import ScorecardDoc
from honestone.report.exports.sarif import SarifSource, scorecards_sarif, uri_of


def results(doc: dict[str, Any], texts: dict[str, str] | None = None) -> list[dict[str, Any]]:
    source = SarifSource(msgspec.convert(doc, ScorecardDoc), texts or {})
    return assert_sarif(json.loads(scorecards_sarif([source])))


def one_quote(path: str, **quote: Any) -> dict[str, Any]:
    """A scorecard with one unmet item, whose judge gave this quote."""
    item = samples.item(
        "i", "It is kind", {"j": "no"}, unmet=True, met=0.0, evidence=[{"judge": "j", **quote}]
    )
    return samples.scorecard(
        "fail",
        0.0,
        [samples.criterion("c", 0.0, items=[item])],
        artifact={"path": path, "digest": "x"},
    )


def region(result: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = result["locations"][0]["physicalLocation"]["region"]
    return found


def uri(result: dict[str, Any]) -> str:
    return str(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])


@pytest.mark.parametrize("name", ["passed", "failed", "inconclusive", "tree", "korean", "hostile"])
def test_every_sample_is_valid(name: str) -> None:
    """Unmet items are results of the kind fail, unanswered ones open, and no other item is one."""
    doc = getattr(samples, name)()
    items = [
        item for one in doc["criteria"] if one.get("applies", True) for item in one.get("items", [])
    ]
    found = results(doc)
    unmet = sum(bool(item.get("unmet")) and item.get("applies", True) for item in items)
    assert sum(one["kind"] == "fail" for one in found) == unmet
    assert {one["level"] for one in found if one["kind"] == "fail"} <= (
        {"error"} if doc["verdict"] == "fail" else {"warning"}
    )


def test_a_quote_is_at_its_line_and_columns() -> None:
    """Lines and columns count from 1, columns in code points; the end is behind the last character."""
    text = "one\nzwei \N{GRINNING FACE} rude words\nthree\n"
    start = text.index("rude")
    (result,) = results(
        one_quote("a b.md", quote="rude words", found=True, start=start, end=start + 10), {"": text}
    )
    assert uri(result) == "a%20b.md"
    assert region(result) == {
        "startLine": 2,
        "startColumn": 8,
        "endLine": 2,
        "endColumn": 18,
        "snippet": {"text": "rude words"},
    }


def test_a_quote_of_a_folder_is_in_its_file() -> None:
    """Quotes are looked up in all texts one after another; the place names the file that holds it."""
    texts = {"a.md": "first\n", "sub/b.md": "second\nrude\n"}
    start = "\n".join(texts.values()).index("rude")
    (result,) = results(
        one_quote("docs", quote="rude", found=True, start=start, end=start + 4), texts
    )
    assert uri(result) == "docs/sub/b.md" and region(result)["startLine"] == 2


def test_the_note_of_a_check_names_file_and_line() -> None:
    """`sub/b.md:2: ...` is that place where the artifact has the file, and nothing where it has
    not.
    """
    texts = {"a.md": "first\n", "sub/b.md": "second\nrude\n"}
    (result,) = results(one_quote("docs", quote="a link leads nowhere (sub/b.md:2)"), texts)
    assert (uri(result), region(result)) == ("docs/sub/b.md", {"startLine": 2})
    (other,) = results(one_quote("docs", quote="see http://host:80 and /etc/passwd:3"), texts)
    assert (uri(other), region(other)) == ("docs", {"startLine": 1})


@given(
    st.lists(st.text(max_size=30), min_size=1, max_size=4),
    st.integers(-5, 150),
    st.integers(-5, 150),
    st.text(min_size=1, max_size=20),
    st.text(max_size=40),
)
def test_any_text_place_and_path_is_valid(
    parts: list[str], start: int, end: int, path: str, quote: str
) -> None:
    """Places out of the text, control characters, half surrogates: still valid SARIF, and what is
    quoted is at its place.
    """
    texts = {f"f{number}": part for number, part in enumerate(parts)}
    path = path.replace("\0", "")
    (result,) = results(one_quote(path, quote=quote, found=True, start=start, end=end), texts)
    where = region(result)
    if "snippet" in where:
        text = texts[uri(result).rpartition("/")[2]]
        lines = text.split("\n")
        first, last = where["startLine"] - 1, where["endLine"] - 1
        offset = sum(len(one) + 1 for one in lines[:first]) + where["startColumn"] - 1
        stop = sum(len(one) + 1 for one in lines[:last]) + where["endColumn"] - 1
        assert text[offset:stop] == where["snippet"]["text"] == "\n".join(parts)[start:end]


def test_absolute_paths_are_file_uris() -> None:
    """Nothing of a path can be taken for another part of a URI."""
    assert uri_of("/a b/ü?.md") == "file:///a%20b/%C3%BC%3F.md"
    assert uri_of("a:b#c.md") == "a%3Ab%23c.md"
