"""Cases from tables and globs, words filled in, defaults, and choosing cases by pattern: the command in a real process."""

from __future__ import annotations

import pytest

from .desk import Desk
from .test_suites import case, run, statuses, suite, target


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        (["refund-*"], ["refund-1", "refund-2"]),
        (["*[15]"], ["refund-1", "order-5", "a1"]),
        (["order-5", "*-2"], ["refund-2", "order-5"]),
        (["a[1]"], ["a[1]"]),
    ],
)
def test_a_pattern_chooses_cases(desk: Desk, asked: list[str], chosen: list[str]) -> None:
    """In the file's order; an id that looks like a pattern is itself."""
    suite(
        desk,
        case("refund-1"),
        case("refund-2"),
        case("order-5"),
        "{id: 'a[1]', input: apple, checks: [{contains: apple}]}",
        case("a1"),
    )
    options = [word for name in asked for word in ("--case", name)]
    result, report = run(desk, "--target", target(desk).spec, *options)
    assert (result.code, list(statuses(report))) == (0, chosen)


def test_a_pattern_that_matches_no_case_is_refused(desk: Desk) -> None:
    """Exit 2, and nothing is asked."""
    suite(desk, case("refund-1"))
    made = target(desk)
    result, _ = run(desk, "--target", made.spec, "--case", "q*")
    assert result.is_refusal and "q*" in result.err and "refund-1" in result.err
    assert made.calls == 0
