"""Fields of a JSON text against what is expected."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.checking.check_problems import read_check
from honestone.core.checking.field_accuracy import (
    date_pattern,
    fields_answer,
    look_up,
    number_of,
    path_steps,
)
from honestone.core.errors import RubricError

DOCUMENT = {
    "name": "Ada",
    "total": "12.50",
    "date": "2024-02-29",
    "items": [{"n": 1}, {"n": True}],
    "none": None,
}


def met(*fields: dict[str, Any], document: Any = None, **more: Any) -> bool:
    check = read_check({"field-accuracy": {"fields": list(fields), **more}})
    return fields_answer(check, DOCUMENT if document is None else document)[0]


def field(path: str, expected: Any, **more: Any) -> dict[str, Any]:
    return {"path": path, "expected": expected, **more}


@pytest.mark.parametrize(
    ("one", "is_met"),
    [
        (field("name", "Ada"), True),
        (field("name", "ada"), False),
        (field("items[0].n", 1.0), True),
        (field("items.0.n", 1), True),
        (field("items[1].n", 1), False),
        (field("items[2].n", 1), False),
        (field("none", None), True),
        (field("gone", None), False),
        (field("total", 12.5, match="numeric_tolerance"), True),
        (field("total", 12.6, match="numeric_tolerance", tolerance=0.1), True),
        (field("total", 12.61, match="numeric_tolerance", tolerance=0.1), False),
        (field("total", 10, match="numeric_tolerance", tolerance=0.25, relative=True), True),
        (field("total", 10, match="numeric_tolerance", tolerance=0.24, relative=True), False),
        (field("name", 1, match="numeric_tolerance", tolerance=99), False),
        (field("date", "29-Feb-2024", match="date"), True),
        (field("date", "29.02.24", match="date", formats=["DD.MM.YY", "YYYY-MM-DD"]), True),
        (field("date", "29/02/2024", match="date", formats=["%d/%m/%Y", "%Y-%m-%d"]), True),
        (field("date", "2024-02-28", match="date"), False),
        (field("name", "2024-02-28", match="date"), False),
    ],
)
def test_one_field(one: dict[str, Any], is_met: bool) -> None:
    """Exactly as JSON, as numbers within a tolerance, or as the same day however it is written."""
    assert met(one) is is_met


def test_the_threshold_is_a_share_of_the_weight_and_required_is_above_it() -> None:
    """Two thirds of the weight fit; exact at the bar; a required field cannot be made up for."""
    right, wrong = field("name", "Ada", weight=2), field("total", "x", weight=1)
    assert met(right, wrong) is False
    assert met(right, wrong, threshold=0.66) is True
    assert met(right, wrong, threshold=0.67) is False
    assert met(right, field("total", "x", required=True), threshold=0) is False
    third = [field("name", "Ada", weight=0.1), field("gone", 1, weight=0.2)]
    assert met(*third, threshold=0.3333333) is True
    assert met(*third, threshold=0.3333334) is False


def test_what_is_wrong_is_named() -> None:
    """Missing and different fields, and how many fit."""
    check = read_check(
        {
            "field-accuracy": {
                "fields": [field("name", "Bob"), field("gone", 1), field("none", None)]
            }
        }
    )
    assert fields_answer(check, DOCUMENT) == (
        False,
        '1 of 3 fields fit; name is "Ada", not "Bob"; gone is missing',
    )


@pytest.mark.parametrize("document", [[], "text", 7, None, [[[]]]])
def test_another_shape_is_a_missing_field(document: Any) -> None:
    """Never a crash."""
    check = read_check({"field-accuracy": {"fields": [field("a.b", 1)]}})
    assert fields_answer(check, document)[0] is False


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (field("", 1), "takes"),
        (field("a..b", 1), "is not a path"),
        (field("a", "x", match="numeric_tolerance"), "compared as a number"),
        (field("a", "29.2.24", match="date"), "compared as a date"),
        (field("a", "2024-02-30", match="date"), "compared as a date"),
        (field("a", "x", match="date", formats=["MM"]), "names no day"),
        (field("a", 1, tolerance=-1), "takes"),
        (field("a", 1, weight=0), "takes"),
        ({"path": "a"}, "takes"),
    ],
)
def test_a_field_that_cannot_be_meant_is_refused(one: dict[str, Any], says: str) -> None:
    """When it is read."""
    with pytest.raises(RubricError, match=says):
        read_check({"field-accuracy": {"fields": [one]}})


@given(st.lists(st.text(st.characters(blacklist_characters=".[]"), min_size=1), min_size=1))
def test_paths_lead_where_they_say(keys: list[str]) -> None:
    """Nested objects are found by their keys."""
    document: Any = "found"
    for key in reversed(keys):
        document = {key: document}
    assert path_steps(".".join(keys)) == keys
    assert look_up(document, ".".join(keys)) == ("found", True)


@given(st.text() | st.integers() | st.floats() | st.none() | st.booleans())
def test_any_value_is_a_number_or_none(value: Any) -> None:
    """Never a crash, and a huge exponent is no number."""
    assert number_of(value) is None or isinstance(number_of(value), Fraction)
    assert number_of("1e999999999") is None


@given(st.text())
def test_any_text_as_a_date_format(written: str) -> None:
    """Is a form of dates, or none."""
    assert date_pattern(written) is None or "Y" in written.upper() or "%" in written


@given(st.dates())
def test_every_day_reads_alike_in_every_form(day: Any) -> None:
    """Written in two ways, it is the same day."""
    written = f"{day.day} {day:%B} {day.year:04d}"
    assert met(field("d", day.isoformat(), match="date"), document={"d": written}) is True
