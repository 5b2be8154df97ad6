"""Writing suites: what is written reads back as the same suite, and is pleasant to read."""

from __future__ import annotations

import tempfile
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_suites import FOLDER, suites
from msgspec.structs import replace

from honestone.core.errors import UsageError
from honestone.core.suite.case import Expect, Suite
from honestone.formats.suite.suite_file import read_suite
from honestone.formats.suite.suite_write import dump_suite
from honestone.formats.syntax.document import Document
from property_examples import examples


def read(text: str, folder: Path) -> Suite:
    (folder / FOLDER).mkdir(exist_ok=True)
    return read_suite(Document(path=folder / "suite.yaml", text=text)).suite


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None)
@given(suites())
def test_what_is_written_reads_back_the_same(suite: Suite) -> None:
    """Any suite, written and read again, is the same suite to the last character and digit."""
    with tempfile.TemporaryDirectory() as folder:
        assert read(dump_suite(suite), Path(folder)) == suite


COMMON = """\
suite: 1
rubric:
  - id: polite
    requirement: Is polite
attempts: 3
attempt_rule: pass@k
timeout: 30
setup: make seed
cases:
  - id: first
    input: Hello
    rubric:
      - id: short
        requirement: Is short
  - id: second
    input: |
      Two
      lines
    checks:
      - {contains: [one, two]}
"""


def test_what_cases_share_stands_once_at_the_top(tmp_path: Path) -> None:
    """A suite that a person wrote tidily stays as it was."""
    assert dump_suite(read(COMMON, tmp_path)) == COMMON


def test_a_gate_of_its_own_is_written_with_the_case(tmp_path: Path) -> None:
    """A case with another threshold keeps it, and the others keep theirs."""
    suite = read(COMMON, tmp_path)
    last = suite.cases[1]
    changed = replace(
        suite,
        cases=(
            suite.cases[0],
            replace(last, rubric=replace(last.rubric, threshold=Fraction(9, 10))),
        ),
    )
    text = dump_suite(changed)
    assert text.count("threshold:") == 1 and "threshold: 90" in text
    assert read(text, tmp_path) == changed


def test_descriptions_are_kept_as_comments(tmp_path: Path) -> None:
    """What the format has no key for is not lost without a word, and changes nothing."""
    suite = read(COMMON, tmp_path)
    described = replace(
        suite,
        skill_id="greeter",
        cases=(replace(suite.cases[0], description="Says hello\n\x1b[2J"), suite.cases[1]),
    )
    text = dump_suite(described)
    assert "# skill: greeter" in text and "# Says hello" in text and "\x1b" not in text
    assert read(text, tmp_path) == suite


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)
json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=examples(60), deadline=None)
@given(st.dictionaries(texts, json_like, max_size=4))
def test_metadata_is_written_and_read_back(made: dict[str, Any]) -> None:
    """Any JSON below any names, as it was; files hold no NUL."""
    suite = read_suite(Document(path=Path("suite.yaml"), text=COMMON)).suite
    told = replace(suite, cases=(replace(suite.cases[0], metadata=made), suite.cases[1]))
    again = read_suite(Document(path=Path("suite.yaml"), text=dump_suite(told))).suite
    assert dict(again.cases[0].metadata) == made


def test_what_json_does_not_have_is_written_as_text(tmp_path: Path) -> None:
    """A date or an endless number in the metadata of another tool's file."""
    suite = read(COMMON, tmp_path)
    told = replace(
        suite.cases[0], metadata={"on": date(2026, 1, 2), "n": float("inf"), "big": 2**70}
    )
    again = read(dump_suite(replace(suite, cases=(told, suite.cases[1]))), tmp_path)
    assert again.cases[0].metadata == {"on": "2026-01-02", "n": "inf", "big": str(2**70)}


def test_what_the_format_cannot_say_is_refused_with_the_case(tmp_path: Path) -> None:
    """An id with a line break and an ambiguous range are errors, not approximations."""
    suite = read(COMMON, tmp_path)
    first = suite.cases[0]
    for wrong in (
        replace(first, id="a\nb"),
        replace(first, expect=Expect(criteria={"score": (Fraction(0), Fraction(1))})),
    ):
        with pytest.raises(UsageError, match=r"case `"):
            dump_suite(replace(suite, cases=(wrong,)))
