"""A suite run for the terminal."""

from __future__ import annotations

import re

import pytest
from rendered import suite_text
from suite_samples import HOSTILE, case, every_status, hostile, report, with_baseline

from honestone.report.terminal.suite_text import MOST_DETAILS
from honestone.system.drawing import Style, width

_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def line_of(text: str, name: str) -> str:
    return next(one for one in text.splitlines() if name in one and not one.startswith(" "))


def test_every_case_has_a_line_with_its_status_and_score_failures_first() -> None:
    """A reader finds each case on one line, told apart by a word; what needs a look comes first."""
    text = suite_text(every_status())
    for name, status in (
        ("fine", "passed"),
        ("wrong", "failed"),
        ("dead", "target-error"),
        ("later", "skipped"),
        ("unsure", "inconclusive"),
        ('comma, "quoted" | <b>', "passed"),
    ):
        assert re.search(rf"{re.escape(name)}\s+{status}\b", line_of(text, name))
    assert "100.0" in line_of(text, "fine") and "12 ms" in line_of(text, "fine")
    order = [
        text.index(f"{row} ") for row in ("✗ wrong", "! dead", "? unsure", "– later", "✓ fine")
    ]
    assert order == sorted(order)
    assert text.count("why wrong is failed") == 1 and line_of(text, "later").endswith(
        "why later is skipped"
    )
    assert "n/a" in line_of(text, "dead") and "0.0-100.0" in line_of(text, "unsure")


def test_failed_cases_show_their_unmet_items_and_passed_ones_none() -> None:
    """What to repair stands below the case that misses it."""
    text = suite_text(report([case("fine"), case("wrong", "failed", 0.0)]))
    wrong = text.index("✗ wrong")
    assert text.index("Says good") > wrong
    assert text.count("Says good") == 1


def test_the_summary_says_verdict_rate_counts_time_and_spend() -> None:
    """The last block can be read alone."""
    text = suite_text(every_status())
    summary = text[text.index("DID NOT PASS") :]
    assert (
        "between 40.0% and 80.0%" in summary
        and "2 of 5 passed" in summary
        and "needs 100%" in summary
    )
    assert "2 passed · 1 failed · 1 inconclusive · 1 target-error · 1 skipped" in summary
    assert "60 ms" in summary and "5 target calls" in summary and "$0.0123" in summary
    assert "mean score" not in summary, "an unknown mean is not shown as a number"
    known = suite_text(every_status() | {"mean_score_interval": [40.0, 80.0], "duration_ms": 3456})
    assert re.search(r"mean score +between 40.0 and 80.0$", known, re.M)
    assert re.search(r"time +3.4 s · 60 ms in the target", known)
    assert "honestone show 01JRUN" in summary


def test_unstable_cases_are_named() -> None:
    """A case whose attempts disagree is named in its line and in the summary."""
    attempts = [
        {"attempt": n, "status": s, "score": 0.0} for n, s in ((1, "passed"), (2, "failed"))
    ]
    text = suite_text(report([case("shaky", "failed", 50.0, unstable=True, attempts=attempts)]))
    assert "unstable" in line_of(text, "shaky")
    assert re.search(r"^  unstable +shaky$", text, re.M)
    assert "1: passed 0.0; 2: failed 0.0" in text


def test_a_baseline_brings_the_comparison_with_every_name() -> None:
    """Regressions, improvements, missing and new cases are named, with the differences and their
    intervals.
    """
    text = suite_text(with_baseline())
    block = text[text.index("Against the baseline") :]
    assert re.search(r"regressions +down", block) and re.search(r"improvements +up", block)
    assert re.search(r"missing +gone", block) and re.search(r"new +fresh", block)
    assert "75.0% to 75.0%: 0.0 points (95% interval −60.0 to +60.0)" in block
    assert "needs" not in block[block.index("DID NOT PASS") :], (
        "beside a baseline the comparison decides"
    )


def test_beside_a_baseline_only_a_bar_that_was_set_is_shown() -> None:
    """The default of all cases passing is no bar there."""
    assert (
        "needs"
        not in suite_text(with_baseline() | {"min_pass_rate": 1.0}).split("DID NOT PASS")[-1]
    )
    assert "needs 90%" in suite_text(with_baseline() | {"min_pass_rate": 0.9})


def test_calls_of_a_target_are_never_called_free() -> None:
    """What an agent costs is not known here, so the line does not say that nothing was spent."""
    usage = {
        "judge_calls": 0,
        "cached_calls": 2,
        "input_tokens": 0,
        "output_tokens": 0,
        "usd": None,
    }
    assert "nothing spent" in suite_text(report([case("x")], usage=usage))
    told = suite_text(report([case("x")], usage=usage | {"target_calls": 3}))
    assert "3 target calls" in told and "nothing spent" not in told


def test_a_flag_of_every_case_is_a_flag_of_the_run() -> None:
    """A mock judge is said once for all; a flag of one case stays with it."""
    text = suite_text(
        report(
            [
                case("x", flags=["mock: nobody looked", "only x"]),
                case("y", flags=["mock: nobody looked"]),
                case("z", "skipped"),
            ]
        )
    )
    assert text.count("mock: nobody looked") == 1 and "only x" not in text


def test_hostile_words_reach_no_terminal() -> None:
    """Control characters, separators and overrides are shown as what they are."""
    text = suite_text(hostile())
    assert not _CONTROL.search(text)
    assert "\\x1b" in text and "\\u202e" in text
    assert "\x1b" in HOSTILE and _CONTROL.search(HOSTILE)


@pytest.mark.parametrize("columns", [32, 50, 80, 110])
def test_nothing_is_wider_than_the_page_but_what_is_typed(columns: int) -> None:
    """Only the command to type may stick out: it has to survive copying."""
    text = suite_text(with_baseline(), Style(width=columns))
    lines = [one for one in text.splitlines() if not one.lstrip().startswith("again")]
    # A line of the case table has four columns that cannot shrink further than this.
    assert all(width(one) <= max(columns, 46) for one in lines), [
        one for one in lines if width(one) > columns
    ]


def test_of_very_many_failed_cases_each_keeps_its_line() -> None:
    """Details are cut at a number that is said; lines are not."""
    text = suite_text(report([case(f"c{n}", "failed", 0.0) for n in range(MOST_DETAILS + 30)]))
    assert len(re.findall(r"^✗ c\d+ +failed", text, re.M)) == MOST_DETAILS + 30
    assert "30 more cases" in text


def test_ascii_pages_hold_only_ascii() -> None:
    """A stream that cannot show blocks gets none."""
    assert suite_text(with_baseline(), Style(unicode=False, encoding="ascii")).isascii()


def test_no_color_unless_asked_for() -> None:
    """Escape sequences appear only in a coloured page."""
    assert "\x1b" not in suite_text(every_status())
    assert "\x1b[" in suite_text(every_status(), Style(color=True))


def test_a_case_that_was_not_run_took_no_time() -> None:
    """Skipped is not 0 ms."""
    text = suite_text(report([case("fine"), case("later", "skipped", duration_ms=0)]))
    assert "12 ms" in line_of(text, "fine") and " ms" not in line_of(text, "later")
