"""The terminal reports: what a person must be able to read off them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import samples
from rendered import (
    improvement_html,
    improvement_markdown,
    improvement_text,
    round_text,
    scorecard_markdown,
    scorecard_text,
    scorecards_text,
)

from honestone.report.documents.improvement import ImprovementDoc
from honestone.report.documents.scorecard import spent_tile
from honestone.report.documents.states import state_phrase
from honestone.report.pages.rulph import improvement_rulph
from honestone.system.drawing import Style, width

CARDS = [
    samples.passed,
    samples.failed,
    samples.inconclusive,
    samples.tree,
    samples.korean,
    samples.hostile,
]
LOOPS: list[Callable[[], dict[str, Any]]] = [
    lambda: samples.improvement("PASSED"),
    samples.unconfirmed,
    samples.broken,
]
WIDTHS = [32, 40, 57, 58, 80, 110, 300]


def said(text: str) -> str:
    """The words of a page, as if it had not been wrapped."""
    return " ".join(text.split())


def row(text: str, name: str) -> str:
    return next(one for one in text.splitlines() if one.strip().startswith(name))


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("make", CARDS)
def test_every_line_fits_the_terminal(make: Callable[[], dict[str, Any]], columns: int) -> None:
    """Nothing wraps by accident, except commands, which have to survive copying; wide terminals are
    not filled.
    """
    for one in scorecard_text(make(), Style(width=columns)).splitlines():
        assert width(one) <= min(columns, 110) or re.match(r"(again|next|report) ", one)


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("make", LOOPS)
def test_every_line_of_a_loop_fits_the_terminal(
    make: Callable[[], dict[str, Any]], columns: int
) -> None:
    """The same for loops."""
    for one in improvement_text(make(), Style(width=columns)).splitlines():
        assert width(one) <= min(columns, 110) or re.match(r"(again|next|report) ", one)


@pytest.mark.parametrize("make", CARDS)
def test_colour_adds_nothing_but_colour(make: Callable[[], dict[str, Any]]) -> None:
    """Without colour the page says the same, and a plain page has no escape sequence in it."""
    plain = scorecard_text(make(), Style(width=80))
    assert "\x1b" not in plain
    assert (
        re.sub(r"\x1b\[[0-9;]*m", "", scorecard_text(make(), Style(width=80, color=True))) == plain
    )


@pytest.mark.parametrize("make", CARDS)
def test_an_ascii_terminal_gets_ascii(make: Callable[[], dict[str, Any]]) -> None:
    """Bars and marks have plain forms; letters of the artifact become escapes."""
    assert scorecard_text(make(), Style(width=80, unicode=False, encoding="ascii")).isascii()


def test_the_verdict_comes_first_with_its_reasons() -> None:
    """The first line is the answer; the reasons follow."""
    text = scorecard_text(samples.failed())
    assert text.splitlines()[0] == "✗ DID NOT PASS  report.md"
    assert "below its floor 70" in text.splitlines()[3]
    assert scorecard_text(samples.passed()).startswith("✓ PASSED  report.md\n")
    assert scorecard_text(samples.inconclusive()).startswith("? COULD NOT BE JUDGED  report.md\n")


def test_each_criterion_has_a_bar_its_floor_and_its_weight() -> None:
    """Aligned: the marks of equal floors stand under each other."""
    text = scorecard_text(samples.failed(), Style(width=80))
    assert row(text, "reproducible").endswith("50.0     70      50  below floor, required")
    assert row(text, "tone").index("┃") == row(text, "impact").index("┃")
    assert "69.9 " in row(text, "impact") and "70.0 " not in row(text, "impact")


def test_disagreement_is_shown_where_it_is_and_once_below() -> None:
    """Judges more than 20 points apart are named with the gap."""
    text = scorecard_text(samples.failed(), Style(width=80))
    assert "codex 65.0 · gemini 35.0 · judges 30.0 apart" in text
    assert said(text).count("judges disagree on reproducible (30.0), tone (25.0)") == 1


def test_judges_get_columns_where_there_is_room() -> None:
    """On a wide terminal each judge's scores stand under its name."""
    text = scorecard_text(samples.failed(), Style(width=110))
    head = next(one for one in text.splitlines() if "score  needs" in one)
    end = head.index("gemini") + len("gemini")
    assert row(text, "reproducible")[:end].endswith("35.0")
    assert row(text, "tone")[:end].endswith("100.0")


def test_unmet_items_come_with_votes_evidence_and_suggestion() -> None:
    """Who said no, where the quote stands, and what to do; met items are not listed."""
    text = said(scorecard_text(samples.failed(), Style(width=80)))
    assert "✗ Gives numbered steps that start from a fresh installation no: codex, gemini" in text
    assert "“First open the app, then it crashes” (codex, in the artifact)" in text
    assert "“It never works for me” (gemini, NOT in the artifact)" in text
    assert "→ Number the steps and start each with a verb (codex)" in text
    assert "exit code 0, expected 1" in text
    assert "exact version" not in text


def test_a_mark_below_the_top_is_shown_on_its_scale() -> None:
    """Anchored criteria that pass show what each judge gave; dissent on met items is shown too."""
    text = said(scorecard_text(samples.failed(), Style(width=80)))
    assert "~ tone: Neutral, factual tone codex 75, gemini 100 (on 0 to 100)" in text
    assert "~ Names the users hit no: claude#2; yes: codex, gemini" in text


def test_a_missing_score_is_an_interval_never_a_number() -> None:
    """The overall line and the criteria show what is known, and why nobody answered."""
    text = scorecard_text(samples.inconclusive(), Style(width=90))
    assert "62.5-93.7" in row(text, "overall") and "▒" in row(text, "overall")
    assert "0.0-100.0" in row(text, "impact")
    assert "? impact: Says who is hit and how badly" in text
    assert "codex: gave no answer" in text
    assert "LOW CONFIDENCE" in text
    assert "claude  SKIPPED    command not found" in text
    assert "honestone doctor" in text


def test_a_degraded_judge_says_why_and_what_was_wrong_with_its_reply() -> None:
    """State, reason and problems of a reply."""
    text = said(scorecard_text(samples.failed(), Style(width=80)))
    assert "claude DEGRADED timed out after 120 s" in text
    assert "item 4: answered twice" in text


def test_a_tree_is_indented_and_penalties_read_as_penalties() -> None:
    """Children stand below their parents; a penalty is a problem when it applies, not when it does
    not.
    """
    text = scorecard_text(samples.tree(), Style(width=80))
    assert "\n    correct " in text and "\n      numbers " in text
    assert row(text, "profanity").endswith("-10  penalty incurred")
    assert row(text, "ads").endswith("-5  penalty, not incurred")
    assert "✗ penalty incurred: profanity: Contains profanity" in text
    assert "Advertises" not in text
    assert row(text, "alt").endswith("does not apply") and "n/a" in row(text, "alt")


def test_a_reason_of_all_items_is_said_once() -> None:
    """In the list of what has no answer, in text and Markdown; different reasons stay at their items.
    That of a judge which answered nothing is in the list of judges alone.
    """
    why = "x: no usable answer: the reply is empty"

    def report(*notes: str | None, state: str = "AVAILABLE") -> samples.Doc:
        items = [samples.item(f"i{n}", f"Says {n}", note=note) for n, note in enumerate(notes)]
        one = samples.criterion("c", None, items=items, interval=[0, 100])
        judges = [samples.judge("x", state, "no usable answer: the reply is empty")]
        return samples.scorecard("inconclusive", None, [one], judges=judges, interval=[0, 100])

    for draw in (scorecard_text, scorecard_markdown):
        shown = draw(report(why, why, why))
        assert f"all 3: {why}" in shown and shown.count(why) == 1
        assert shown.count("the reply is empty") == 2, "the judge's own line says it once"
        absent = draw(report(why, why, why, state="DEGRADED"))
        assert "3 items: see" in absent and absent.count("the reply is empty") == 1
        assert f"both: {why}" in draw(report(why, why))
        assert "all 3" not in draw(report(why, why, "y: away")) and "all 1" not in draw(report(why))


def test_a_judge_that_quotes_what_is_not_there_is_not_to_decide() -> None:
    """Where none of its quotes is in the text; one that is found is enough."""

    def report(*found: bool) -> str:
        quotes = [{"judge": "codex", "quote": f"q{n}", "found": one} for n, one in enumerate(found)]
        items = [samples.item("i", "Says i", {"codex": "yes"}, evidence=quotes)]
        one = samples.criterion("c", 100.0, items=items)
        return said(scorecard_text(samples.scorecard("pass", 100.0, [one])))

    assert "none of its 2 quotes is in what it judged" in report(False, False)
    assert "its quote is not in what it judged, so do not let it decide" in report(False)
    assert "do not let it decide" not in report(False, True) + report()


def test_self_evaluation_is_marked() -> None:
    """A score by the worker's own model says so."""
    text = scorecard_text(samples.passed() | {"self_evaluated": True, "low_confidence": True})
    assert "! SELF-EVALUATED" in text and "! LOW CONFIDENCE" in text


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (samples.usage(judge_calls=1, usd=0.0312), "1 judge call · $0.0312"),
        (
            samples.usage(judge_calls=0, cached_calls=3),
            "0 judge calls · 3 recorded replies · nothing spent",
        ),
        (
            samples.usage(worker_calls=2, input_tokens=1234567, output_tokens=9),
            "2 judge calls · 2 worker calls · 1,234,567 tokens in, 9 out · cost unknown",
        ),
    ],
)
def test_what_it_cost_is_said_and_unknown_is_not_zero(usage: dict[str, Any], words: str) -> None:
    """Unknown money is called unknown; a run from the record says that nothing was spent."""
    assert f"spent   {words}\n" in scorecard_text(samples.passed() | {"usage": usage})


@pytest.mark.parametrize(
    ("words", "large"),
    [
        (["2 judge calls", "$0.03"], "$0.03"),
        (["0 judge calls", "nothing spent"], "nothing spent"),
        (["0 judge calls", "3 recorded replies", "nothing spent"], "nothing spent"),
        (["2 judge calls", "9 tokens in, 1 out", "cost unknown"], "2 judge calls"),
        (["0 judge calls", "9 tokens in, 1 out", "cost unknown"], "9 tokens in, 1 out"),
        (["0 judge calls", "1 worker call"], "1 worker call"),
        (["3 target calls", "0 judge calls"], "3 target calls"),
        (["0 judge calls"], "0 judge calls"),
    ],
)
def test_the_tile_of_a_page_shows_money_or_calls_that_were_made(
    words: list[str], large: str
) -> None:
    """All else that is known stands beside it, in order."""
    rest = [one for one in words if one not in (large, "cost unknown")]
    assert spent_tile(words) == (large, ", ".join(rest))


def test_what_to_type_next() -> None:
    """The run can be shown again; a failed one can be improved; names are quoted for the shell."""
    text = scorecard_text(samples.failed() | {"artifact": {"path": "my report.md"}})
    assert "again   honestone show 01JABCDEF0\n" in text
    assert (
        "next    honestone improve 'my report.md' --rubric RUBRIC --worker WORKER --judge codex"
        in text
    )
    mends_itself = samples.failed() | {"rubric": "bars.yaml", "has_fixes": True}
    assert "--rubric bars.yaml --judge codex" in scorecard_text(mends_itself)
    assert "honestone improve" not in scorecard_text(samples.passed())


def test_judges_that_differ_at_their_end_are_told_apart_however_often_they_looked() -> None:
    """In 60 columns, as agents get it, both were `script...15 (2 looks)`."""
    judges = [
        samples.judge(f"script:python noisy.py {name} .15{look}")
        for name in ("A", "B")
        for look in ("", "#2")
    ]
    text = scorecard_text(samples.passed() | {"judges": judges}, Style(width=60))
    assert re.search(r"A \.15 \(2 looks\) +AVAILABLE", text), text
    assert re.search(r"B \.15 \(2 looks\) +AVAILABLE", text), text


def test_several_artifacts_one_line_each_then_those_that_failed() -> None:
    """The table names all, the details only what needs attention; what was spent is summed."""
    docs = [
        samples.passed() | {"artifact": {"path": "good.md"}},
        samples.failed() | {"artifact": {"path": "bad.md"}},
    ]
    text = scorecards_text(docs, Style(width=90))
    assert text.splitlines()[0].startswith("✓ good.md  ") and text.splitlines()[1].startswith(
        "✗ bad.md   "
    )
    assert "✓ PASSED" not in text and text.count("DID NOT PASS  bad.md") == 1
    assert "1 of 2 passed · 1 did not pass" in text
    assert f"again   honestone show {docs[0]['run']}\n" in text
    assert "spent   6 judge calls" in text


def test_of_several_artifacts_each_that_passed_says_how_sure_that_is() -> None:
    """One that probably does not meet its contract is named: nothing else is shown of it."""
    beliefs = [
        {
            "probability": chance,
            "looks": 2,
            "sentence": f"{words} that the contract is met (2 judges)",
        }
        for chance, words in ((0.979, "97% sure"), (0.389, "38% sure"))
    ]
    docs = [
        samples.passed() | {"artifact": {"path": f"{name}.md"}, "belief": belief}
        for name, belief in zip(("good", "odd"), beliefs, strict=True)
    ]
    docs.append(samples.failed() | {"artifact": {"path": "bad.md"}, "belief": beliefs[1]})
    text = scorecards_text(docs, Style(width=90))
    good, odd, bad = text.splitlines()[:3]
    assert good.endswith("  97% sure") and odd.endswith("  38% sure") and "sure" not in bad
    doubt = "! UNSURE  odd.md: only 38% sure that the contract is met: --sure 95 asks on"
    assert doubt in text
    assert text.count("UNSURE") == 1


def test_thousands_of_criteria_do_not_flood_the_terminal() -> None:
    """Of a huge tree the top and the trouble are drawn, and the rest is counted."""
    many = [samples.criterion("top", 70.0)] + [
        samples.criterion(f"leaf{n}", 90.0, parent="top", floor=0) for n in range(3000)
    ]
    many[1500]["below_floor"] = True
    text = scorecard_text(samples.scorecard("fail", 70.0, many))
    assert len(text.splitlines()) < 30
    assert "leaf1499 " in text and "2,999 more criteria" in text


def test_outside_text_cannot_act_on_the_terminal() -> None:
    """Escape sequences and overrides in names, quotes, reasons and ids are shown, not obeyed."""
    text = scorecard_text(samples.hostile(), Style(width=80))
    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\u2028\ufeff]", text
    )
    assert "\\x1b[31m" in text


def test_a_passed_loop_shows_before_after_rounds_and_witness() -> None:
    """Result, both scores, each round with its decision and reason, who certified, cost and report."""
    text = improvement_text(samples.improvement("PASSED"), Style(width=100))
    assert text.startswith("✓ PASSED  report.md\n")
    assert re.search(r"61\.7 → .* 91\.6   \+29\.9  needs 80", row(text, "overall"))
    assert re.search(
        r"✗  2  impact +rejected  75\.0 → 55\.0  \+12 -3\n +the score fell by 20\.0", text
    )
    assert "gemini DEGRADED: timed out after 120 s" in text
    assert "out-of-scope: rubric.yaml was changed" in text
    assert "✓ claude passed 88.0" in text
    assert "the version of round 3 is delivered" in text
    other = improvement_text(samples.improvement("PASSED", output="better.md"), Style(width=100))
    assert "the version of round 3 is delivered to better.md" in other
    assert "4 worker calls" in text and "report  .honestone/reports/01JABCDEF0.md" in text


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ("PLATEAU", "no progress"),
        ("ROUND_LIMIT", "round limit"),
        ("BUDGET", "budget"),
        ("METRIC_DEAD", "the score cannot move"),
        ("NO_CHANGE", "the worker changed nothing"),
        ("WORKER_FAILED", "the worker failed"),
    ],
)
def test_a_loop_that_was_stopped_names_the_breaker(result: str, words: str) -> None:
    """By the one word that `--json`, the page and the list of runs have, and rulph's in its format."""
    doc = samples.improvement(result)
    headline = result.replace("_", " ")
    assert improvement_text(doc).startswith(f"✗ {headline}  report.md\n")
    assert improvement_markdown(doc).startswith(f"# {headline}: report.md\n")
    assert headline in improvement_html(doc) and state_phrase(result) == headline.lower()
    rulph = improvement_rulph(msgspec.convert(doc, ImprovementDoc))
    assert f"CIRCUIT BREAKER ({words})" in rulph and headline not in rulph


def test_an_unconfirmed_loop_is_not_shown_as_passed() -> None:
    """The headline, the held-out judge's verdict and its reason."""
    text = improvement_text(samples.unconfirmed(), Style(width=90))
    assert text.startswith("? UNCONFIRMED  report.md\n") and "PASSED" not in text
    assert "✗ claude did not pass 71.2 overall score 71.2 is below the threshold 80" in text


def test_a_loop_that_kept_nothing_says_so_and_shows_what_is_missing() -> None:
    """The original stands; unmet items of the final version follow."""
    text = improvement_text(samples.broken(), Style(width=80))
    assert "the original was kept: no version was better" in text
    assert "Not met" in text and "Gives numbered steps" in text


def test_a_loop_whose_final_could_not_be_scored_shows_the_interval() -> None:
    """No number is made up for what nobody judged."""
    doc = samples.improvement(
        "COULD_NOT_JUDGE", baseline=samples.inconclusive(), final=samples.inconclusive(), rounds=[]
    )
    text = improvement_text(doc, Style(width=90))
    assert "62.5-93.7" in row(text, "overall") and text.startswith("? COULD NOT BE JUDGED")


def test_a_round_as_it_ends_names_scores_by_judge_and_floors() -> None:
    """What a person watches while the loop runs."""
    one = samples.one_round(
        2, "impact", "rejected", 75.0, 55.0, reason="it fell", floor_violations=["reproducible"]
    )
    one["criteria"][0]["by_judge"] = {"codex": 70.0, "gemini": 40.0}
    text = round_text(one, Style(width=100))
    assert (
        "reproducible 75.0 → 55.0 (codex 70.0, gemini 40.0), judges disagree, BELOW FLOOR" in text
    )
