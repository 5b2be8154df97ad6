"""A suite run as Markdown for pull requests."""

from __future__ import annotations

import re

from rendered import suite_markdown
from suite_samples import case, comparison, every_status, hostile, report, with_baseline

from honestone.report.pages.markdown import MOST


def tables(text: str) -> list[list[str]]:
    return [block.strip().splitlines() for block in re.findall(r"(?:^\|.*\n?)+", text, re.M)]


def case_table(text: str) -> list[str]:
    return next(block for block in tables(text) if block[0].startswith("| case |"))


def test_one_row_a_case_with_its_status() -> None:
    """The table has a row for every case, failures first, and each row its status as a word."""
    rows = case_table(suite_markdown(every_status()))
    assert len(rows) == 2 + 6
    assert [
        re.search(r"passed|failed|inconclusive|target-error|skipped", row)[0] for row in rows[2:]
    ] == [  # type: ignore[index]
        "failed",
        "target-error",
        "inconclusive",
        "skipped",
        "passed",
        "passed",
    ]


def test_hostile_words_break_no_cell_and_are_no_markup() -> None:
    """Every table keeps its columns, and no tag, link, mention or fence of others is live."""
    text = suite_markdown(hostile())
    for block in tables(text):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in block}) == 1, block[0]
    outside_code = re.sub(r"`[^`\n]*`", "", re.sub(r"<code>[^<]*</code>", "", text))
    assert set(re.findall(r"(?<!\\)</?(\w+)", outside_code)) == {"details", "summary"}
    assert (
        text.count("<details>")
        == text.count("</details>")
        == len(re.findall(r"^</details>$", text, re.M))
    )
    assert "\x1b" not in text and "\u2028" not in text and "\u202e" not in text
    assert not re.search(r"(?<![\\`])@everyone", outside_code)
    assert "```" not in text


def test_failed_cases_are_folded_with_what_they_miss() -> None:
    """Details stand under the name of their case, passed cases have none."""
    text = suite_markdown(every_status())
    assert "<summary><code>wrong</code> failed</summary>" in text
    assert "<code>fine</code>" not in text
    assert (
        "- Says good" in text
        and "**output**\n\n> output of wrong\n" in text
        and "> input of wrong\n" in text
    )


def test_a_page_never_outgrows_a_comment_and_says_what_it_cut() -> None:
    """Open cases keep their rows before passed ones; the rest is counted."""
    cases = [case(f"ok{n}") for n in range(3000)] + [
        case(f"bad{n}", "failed", 0.0, reasons=["x" * 400]) for n in range(60)
    ]
    text = suite_markdown(report(cases))
    assert len(text) <= MOST
    rows = case_table(text)[2:]
    assert sum(row.startswith("| bad") for row in rows) == 60
    cut = re.search(r"Cut to fit: ([\d,]+) cases have no row \(([\d,]+) passed\)", text)
    assert cut and int(cut[1].replace(",", "")) == 3060 - len(rows)
    assert "--format html" in text


def test_details_that_do_not_fit_are_counted() -> None:
    """The limit holds for details too, and says how many cases are without."""
    text = suite_markdown(
        report([case(f"bad{n}", "failed", 0.0, reasons=["y" * 900] * 5) for n in range(50)])
    )
    left_out = re.search(r"the details of (\d+) cases are left out", text)
    assert len(text) <= MOST and left_out
    assert text.count("<details>") + int(left_out[1]) == 50


def test_even_names_alone_that_are_too_long_give_a_verdict() -> None:
    """A page of hostile length still says how it ended."""
    named = comparison(regressions=["r" * 200 + str(n) for n in range(40)])
    text = suite_markdown(report([case("z" * 5000, "failed", 0.0)], comparison=named), most=2000)
    assert len(text) <= 2000 and text.startswith("# DID NOT PASS")


def test_a_baseline_is_told_with_names() -> None:
    """The comparison names what got worse."""
    text = suite_markdown(with_baseline())
    assert "- **regressions** (passed there, failed here): down" in text
    assert "| down | passed → failed | 100.0 | 0.0 | −100.0 |" in text
