"""Findings: remarks with places, in our own files and in those of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from honestone.core.errors import UsageError
from honestone.formats.findings import find
from honestone.formats.rubric.rubric_file import parse_rubric
from honestone.formats.syntax.marked import parse_marked
from honestone.interop.recognise import read_any_rubric

WILD = Path(__file__).parents[2] / "../shared/data/rubrics_wild"


def test_a_wording_of_another_format_is_found_by_its_text() -> None:
    """Paths mean something else there, so the place is where the words stand."""
    rubric = parse_rubric(
        "rubric: 1\ncriteria: [Is well written, Names the author]\n", "ours"
    ).rubric
    theirs = parse_marked(
        '{"tests": [{"ask": "Names the author"},\n {"ask": "Is well written"}]}', "theirs.json"
    )
    assert [(f.rule, f.place) for f in find(rubric, theirs, is_native=False)] == [
        ("vague-wording", "theirs.json:2:10")
    ]


def test_an_id_that_the_reader_made_is_nobodys_fault() -> None:
    """Only ids that stand in the file are remarked on."""
    text = "rubric: 1\ncriteria:\n  - {id: c1, requirement: Names the author}\n  - {id: c2, requirement: Gives the year}\n"
    theirs = parse_marked("- c2\n- Names the author\n", "theirs")
    found = find(parse_rubric(text, "ours").rubric, theirs, is_native=False)
    assert [(f.rule, f.place) for f in found] == [("id-says-nothing", "theirs:1:3")]


@pytest.mark.skipif(not WILD.is_dir(), reason="the collected rubrics are not beside this checkout")
def test_rubrics_from_the_wild_are_linted_with_places() -> None:
    """Every rubric that is read is linted to the end, and each finding has a place in its file."""
    read = 0
    for path in sorted(WILD.rglob("*")):
        if path.suffix not in (".yaml", ".json"):
            continue
        try:
            source = read_any_rubric(path)
        except UsageError:
            continue  # a suite, or refused with its reason: the readers' own tests
        read += 1
        for finding in find(source.rubric, source.marked, is_native=False):
            assert finding.place.startswith(f"{path}:")
            assert finding.why
    assert read >= 4
