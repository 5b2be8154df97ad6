"""`--fix`: safe edits at their places, and nothing else."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rubrics import rubrics

from honestone.core.authoring.lint import Remark
from honestone.core.judging.rubric import Rubric
from honestone.formats.findings import find
from honestone.formats.rubric.rubric_file import RubricSource, parse_rubric
from honestone.formats.rubric.rubric_fix import fix_rubric, scaled_to_100
from honestone.formats.rubric.rubric_write import dump_rubric

HEAD = "rubric: 1\ncriteria:\n"


def findings_of(source: RubricSource) -> list[Remark]:
    return find(source.rubric, source.marked)


def weights(text: str) -> list[Fraction]:
    return [criterion.weight for criterion in parse_rubric(text, "r").rubric.criteria]


def group(*written: str) -> str:
    return HEAD + "".join(
        f"  - id: name-{at}-given  # {at}\n    requirement: Names thing {at}\n    weight: {weight}\n"
        for at, weight in enumerate(written)
    )


# ----------------------------------------------------------------------------------------------------
# weights


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("60", "35"), ["63", "37"]),
        (("30", "30", "30"), ["34", "33", "33"]),
        (("50.5", "45"), ["52.9", "47.1"]),
        (("40", "40", "28"), ["37", "37", "26"]),
        (("100", "0.1", "9"), ["91.7", "0.1", "8.2"]),
        (("0", "95", "10"), ["0", "90", "10"]),
    ],
)
def test_weights_are_scaled_to_100(before: tuple[str, ...], after: list[str]) -> None:
    """One factor, rounded to the decimals of the file; the sum is 100 to the last digit."""
    fixed = fix_rubric(group(*before), "r")
    assert [str(float(weight)).removesuffix(".0") for weight in weights(fixed.text)] == after
    assert sum(weights(fixed.text)) == 100
    assert {change.rule for change in fixed.changes} == {"weights-sum"}


@pytest.mark.parametrize(
    "written", [("60", "40"), ("3", "1"), ("50", "50.5"), ("50", "39"), ("99",)]
)
def test_other_weights_are_left_alone(written: tuple[str, ...]) -> None:
    """What sums to 100, or is no percent at all, is right as it is."""
    text = group(*written)
    assert fix_rubric(text, "r").text == text


def test_weights_that_are_not_written_out_are_left() -> None:
    """A weight behind an alias is not edited, as others may stand behind it too; the reason is
    told.
    """
    text = (
        HEAD
        + "  - {id: first-of-all, requirement: A b, weight: &w 47}\n  - {id: second-of-all, requirement: C d, weight: *w}\n"
    )
    fixed = fix_rubric(text, "r")
    assert fixed.text == text
    assert "not all written out" in fixed.left[0]


@given(st.lists(st.integers(1, 10_000), min_size=2, max_size=8), st.integers(0, 2))
def test_scaling_keeps_order_and_sums_to_100(whole: list[int], places: int) -> None:
    """Bigger stays at least as big, nothing above 0 becomes 0, and no share moves by a whole unit
    of rounding.
    """
    before = tuple(Fraction(number, 10**places) for number in whole)
    after = scaled_to_100(before)
    assert sum(after) == 100
    assert all(weight > 0 for weight in after)
    factor = Fraction(100) / sum(before)
    assert all(abs(new - old * factor) < 1 for old, new in zip(before, after, strict=True))
    for (old, new), (other_old, other_new) in zip(
        sorted(zip(before, after, strict=True)),
        sorted(zip(before, after, strict=True))[1:],
        strict=False,
    ):
        assert old == other_old or new <= other_new


# ----------------------------------------------------------------------------------------------------
# ids


def test_an_id_is_made_of_the_text() -> None:
    """Of criteria and of items, quoted as it was."""
    text = (
        HEAD
        + "  - id: 'c1'   # one\n    requirement: Names the author\n    items:\n      - {id: \"r2\", requirement: Gives the year}\n      - Lists it\n"
    )
    fixed = fix_rubric(text, "r")
    assert fixed.text == text.replace("'c1'", "'names-the-author'").replace(
        '"r2"', '"gives-the-year"'
    )


def test_an_id_that_something_refers_to_stays() -> None:
    """The reason names what refers to it."""
    text = (
        HEAD
        + "  - {id: c1, requirement: Names the author}\n  - {id: c2, requirement: Gives the year}\n"
    )
    fixed = fix_rubric(text, "r", referred=lambda id: "a lock" if id == "c1" else None)
    assert fixed.text == text.replace("id: c2", "id: gives-the-year")
    assert fixed.left == ("r:3:10: the id `c1` is left, as a lock refers to it",)


def test_two_like_texts_do_not_get_one_id() -> None:
    """The second stays as it is, as ids are unique in a rubric."""
    text = (
        HEAD
        + "  - {id: c1, requirement: Names the author}\n  - {id: c2, requirement: Names the author!}\n"
    )
    fixed = fix_rubric(text, "r")
    assert fixed.text == text.replace("id: c1", "id: names-the-author")
    assert "`names-the-author` is taken" in fixed.left[0]


def test_korean_texts_make_korean_ids() -> None:
    """An id may be in any script."""
    text = (
        HEAD
        + "  - {id: r1, requirement: 출처를 적는다}\n  - {id: other-thing, requirement: Names it}\n"
    )
    assert "id: 출처를-적는다" in fix_rubric(text, "r").text


# ----------------------------------------------------------------------------------------------------
# the file


def test_the_version_line_is_added_below_leading_remarks() -> None:
    """Comments at the top stay at the top."""
    text = "# Ours.\n\ntitle: T\ncriteria: [One thing, Another one]\n"
    fixed = fix_rubric(text, "r")
    assert fixed.text == "# Ours.\n\nrubric: 1\ntitle: T\ncriteria: [One thing, Another one]\n"


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_stay(end: str) -> None:
    """A file from another system is edited at the right places and keeps its line ends."""
    text = group("60", "35").replace("\n", end)
    fixed = fix_rubric(text, "r")
    assert fixed.text == text.replace("weight: 60", "weight: 63").replace(
        "weight: 35", "weight: 37"
    )


def test_json_is_edited_too() -> None:
    """The quotes that JSON needs are there."""
    text = '{"rubric": 1, "criteria": [{"id": "c1", "requirement": "Names it all", "weight": 60}, {"id": "ending-well", "requirement": "Ends it", "weight": 35}]}'
    fixed = fix_rubric(text, "r")
    assert fixed.text == text.replace('"c1"', '"names-it-all"').replace("60", "63").replace(
        "35", "37"
    )


def test_places_and_reasons_are_told() -> None:
    """Each change says where, from what to what, and why."""
    fixed = fix_rubric(group("60", "35"), "r")
    assert [(change.place, change.before, change.after) for change in fixed.changes] == [
        ("r:5:13", "60", "63"),
        ("r:8:13", "35", "37"),
    ]
    assert all("100/95" in change.why for change in fixed.changes)


def test_a_merged_weight_is_never_half_changed() -> None:
    """`<<` brings one weight into two criteria: an edit would change more than was meant."""
    text = (
        "rubric: 1\ncriteria:\n  - &base\n    id: first-of-all\n    requirement: A b\n    weight: 31\n"
        "  - <<: *base\n    id: second-of-all\n  - <<: *base\n    id: third-of-all\n"
    )
    fixed = fix_rubric(text, "r")
    assert fixed.text == text
    assert "not all written out" in fixed.left[0]


def test_an_id_made_of_a_word_that_yaml_reads_as_something_else_is_quoted() -> None:
    """`null` out of a text "Null" is the id "null", and the other mends are not lost over it."""
    text = "rubric: 1\ncriteria:\n  - id: check1\n    requirement: 'Null'\n    weight: 45\n  - id: r2\n    requirement: Names the day\n    weight: 50\n"
    fixed = fix_rubric(text, "r")
    assert '  - id: "null"\n' in fixed.text and "  - id: names-the-day\n" in fixed.text
    assert [criterion.id for criterion in parse_rubric(fixed.text, "r").rubric.criteria] == [
        "null",
        "names-the-day",
    ]
    assert fix_rubric(fixed.text, "r").text == fixed.text


def remarked(text: str) -> str:
    """The text with a remark after every line that can take one."""
    lines = []
    for number, line in enumerate(text.split("\n")):
        safe = re.fullmatch(r"\s*(?:- )?(?:id|weight|floor|threshold): [\w.-]+", line)
        lines.append(f"{line}  # remark {number}" if safe else line)
    return "\n".join(lines)


@pytest.mark.slow
@settings(deadline=None)
@given(rubrics())
def test_fixing_is_idempotent_and_keeps_questions_and_remarks(rubric: Rubric) -> None:
    """Of any rubric: questions, bars and remarks stay, and a second time nothing changes."""
    text = remarked(dump_rubric(rubric))
    fixed = fix_rubric(text, "r")
    assert re.findall("# remark .*", fixed.text) == re.findall("# remark .*", text)
    now = parse_rubric(fixed.text, "r").rubric
    assert [item.requirement for _, item in now.questions()] == [
        item.requirement for _, item in rubric.questions()
    ]
    assert (now.threshold, now.floor) == (rubric.threshold, rubric.floor)
    again = fix_rubric(fixed.text, "r")
    assert (again.text, again.changes) == (fixed.text, ())
    if not fixed.left:
        assert "weights-sum" not in {
            finding.rule for finding in findings_of(parse_rubric(fixed.text, "r"))
        }
