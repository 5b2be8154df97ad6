"""Each sentence of a report is printed once, with everyone who said it: why a judge is absent, and
a quote that several judges give.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import samples
import suite_samples
from hypothesis import given
from hypothesis import strategies as st
from rendered import (
    improvement_html,
    improvement_markdown,
    improvement_text,
    scorecard_markdown,
    scorecard_text,
    scorecards_text,
    suite_html,
    suite_markdown,
    suite_text,
)

from honestone.report.building.judges_of_run import JudgesOfRun
from honestone.report.documents.findings import own_note
from honestone.report.documents.scorecard import CriterionDoc, JudgeDoc, ScorecardDoc
from honestone.report.pages.view_html import scorecard_html

Doc = dict[str, Any]


def absent_judges(count: int) -> list[Doc]:
    """Judges that could not be asked, each for a reason of its own."""
    states = ("SKIPPED", "DEGRADED")
    return [
        samples.judge(f"judge{n}", states[n % 2], f"cause{n}x; to get it: npm install")
        for n in range(count)
    ]


def note_of(judges: list[Doc]) -> str:
    return "; ".join(f"{one['id']}: {one['reason']}" for one in judges)


def unanswered_card(judges: list[Doc], items: int, **more: Any) -> Doc:
    note = note_of(judges)
    criteria = [
        samples.criterion(
            f"c{n}",
            None,
            interval=[0, 100],
            items=[samples.item(f"c{n}", f"Says thing {n}", note=note)],
        )
        for n in range(items)
    ]
    return samples.scorecard(
        "inconclusive", None, criteria, interval=[0, 100], judges=judges, **more
    )


def unanswered_suite(judges: list[Doc], items: int, cases: int) -> Doc:
    note = note_of(judges)
    return suite_samples.report(
        [
            suite_samples.case(
                f"case{n}",
                "inconclusive",
                judges=judges,
                criteria=[
                    suite_samples.criterion(
                        f"c{i}", None, [suite_samples.item(f"c{i}", {}, note=note)]
                    )
                    for i in range(items)
                ],
            )
            for n in range(cases)
        ],
        judges=judges,
    )


def unanswered_loop(judges: list[Doc], items: int, rounds: int) -> Doc:
    card = unanswered_card(judges, items)
    return samples.improvement(
        "COULD_NOT_JUDGE",
        reason=f"the baseline has no usable mark ({note_of(judges)})",
        best_round=0,
        baseline=card,
        final=card,
        rounds=[
            samples.one_round(n, "c0", "rejected", 50.0, None, judges=judges)
            for n in range(1, rounds + 1)
        ],
    )


def scorecard_page(doc: Doc) -> str:
    return scorecard_html(msgspec.convert(doc, ScorecardDoc), None)


COUNTS = st.integers(1, 4)


def assert_each_cause_once(page: str, judges: int) -> None:
    assert [page.count(f"cause{n}x") for n in range(judges)] == [1] * judges


@pytest.mark.parametrize("draw", [scorecard_text, scorecard_markdown, scorecard_page])
@given(judges=COUNTS, items=COUNTS)
def test_a_scorecard_gives_the_reason_of_each_absent_judge_once(
    draw: Callable[[Doc], str], judges: int, items: int
) -> None:
    """In text, Markdown and HTML, however many items they leave without an answer."""
    assert_each_cause_once(draw(unanswered_card(absent_judges(judges), items)), judges)


@given(judges=COUNTS, items=COUNTS, artifacts=st.integers(2, 4))
def test_several_scorecards_give_it_once_for_all(judges: int, items: int, artifacts: int) -> None:
    cards = [unanswered_card(absent_judges(judges), items) for _ in range(artifacts)]
    assert_each_cause_once(scorecards_text(cards), judges)


@pytest.mark.parametrize("draw", [suite_text, suite_markdown, suite_html])
@given(judges=COUNTS, items=COUNTS, cases=COUNTS)
def test_a_suite_gives_it_once_for_all_cases(
    draw: Callable[[Doc], str], judges: int, items: int, cases: int
) -> None:
    """The Markdown is what a comment of a pull request shows."""
    assert_each_cause_once(draw(unanswered_suite(absent_judges(judges), items, cases)), judges)


@pytest.mark.parametrize("draw", [improvement_text, improvement_markdown, improvement_html])
@given(judges=COUNTS, items=COUNTS, rounds=st.integers(0, 3), held_out=st.booleans())
def test_a_loop_gives_it_once_for_all_rounds(
    draw: Callable[[Doc], str], judges: int, items: int, rounds: int, held_out: bool
) -> None:
    """Of a judge that was held out, too."""
    absent = absent_judges(judges)
    loop = unanswered_loop(absent, items, rounds)
    if held_out:
        witness = {key: absent[0][key] for key in ("id", "state", "reason")}
        witness["verdict"] = "inconclusive"
        loop["certification"] = {"needed": True, "ok": False, "judges": [witness]}
    page = draw(loop)
    assert_each_cause_once(page, judges)
    assert page.count("no verdict") == held_out


def test_a_round_gives_its_outcome_once() -> None:
    """Where the outcome is why it was rejected."""
    same = "unchanged: every byte is as before"
    one = samples.one_round(1, "c0", "rejected", 50.0, None)
    one |= {"outcome": "unchanged", "outcome_detail": "every byte is as before", "reason": same}
    loop = samples.improvement("NO_CHANGE", reason="no change was kept", rounds=[one])
    for draw in (improvement_text, improvement_markdown, improvement_html):
        assert draw(loop).count("every byte is as before") == 1


def test_looks_of_a_judge_that_was_never_there_are_one_column() -> None:
    """Of one that was there, each look is a column."""
    looks = ["claude", "claude (look 2)"]
    absent = [samples.judge(name, "SKIPPED", "not installed") for name in looks]
    there = [samples.judge(name.replace("claude", "codex")) for name in looks]
    page = improvement_markdown(unanswered_loop([*absent, *there], 1, 1))
    assert "| version | claude | codex | codex (look 2) | why |" in page


def test_what_another_reason_says_stays_at_its_item() -> None:
    """Only what the list of judges says is left out; a judge that is there says why at the item."""
    judges = [*absent_judges(1), samples.judge("codex")]
    card = unanswered_card(judges[:1], 2)
    card["judges"] = judges
    card["criteria"][0]["items"][0]["note"] += "; codex: the answer was cut"
    text = scorecard_text(card)
    assert text.count("cause0x") == 1 and "codex: the answer was cut" in text
    assert '1 item: see "Judges" for why' in text


@given(st.lists(st.sampled_from(["a", "a; b", "b", ": ", ""]), max_size=4), st.integers(0, 4))
def test_a_note_loses_exactly_what_is_the_reason_of_an_absent_judge(
    reasons: list[str], absent: int
) -> None:
    notes = [f"j{n}: {reason}" for n, reason in enumerate(reasons)]
    judges = [
        JudgeDoc(id=f"j{n}", state="SKIPPED" if n < absent else "AVAILABLE", reason=reason)
        for n, reason in enumerate(reasons)
    ]
    kept = [
        note
        for note, judge, reason in zip(notes, judges, reasons, strict=True)
        if not (judge.is_absent and reason)
    ]
    assert own_note("; ".join(notes), judges) == ("; ".join(kept) or None)


def test_looks_of_one_judge_that_fail_alike_are_one_row() -> None:
    looks = ["claude", *(f"claude (look {n})" for n in (2, 3, 4))]
    failed = [samples.judge(name, "DEGRADED", "no answer") for name in looks]
    text = scorecard_text(unanswered_card(failed, 2))
    assert "claude (asked 4 times)" in text
    assert text.count("no answer") == 1
    # Their unusable replies are counted together, too.
    unusable = [{**one, "unusable": 2} for one in failed]
    assert "8 unusable replies" in scorecard_text(unanswered_card(unusable, 2))
    # One that was not there never looked.
    absent = [samples.judge(name, "SKIPPED", "not installed") for name in looks]
    text = scorecard_text(unanswered_card(absent, 2))
    assert "looks)" not in text
    assert text.count("not installed") == 1


QUOTE = "It happens on every start"


def quoted_card(judges: int) -> Doc:
    names = [f"judge{n}" for n in range(judges)]
    evidence = [{"judge": name, "quote": QUOTE, "found": True} for name in names]
    items = [samples.item("c", "Says when", dict.fromkeys(names, "no"), evidence=evidence)]
    return samples.scorecard(
        "fail",
        0.0,
        [samples.criterion("c", 0.0, items=items)],
        judges=[samples.judge(name) for name in names],
    )


@pytest.mark.parametrize("draw", [scorecard_text, scorecard_markdown, scorecard_page])
@given(judges=COUNTS)
def test_a_quote_of_several_judges_is_one_quote(draw: Callable[[Doc], str], judges: int) -> None:
    page = draw(quoted_card(judges))
    assert page.count(QUOTE) == 1
    if draw is not scorecard_page:
        assert ", ".join([*(f"judge{n}" for n in range(judges)), "in the artifact"]) in page


def test_what_several_looks_of_a_judge_say_is_said_by_it_once() -> None:
    """Its answer, its quote and its suggestion, with how many looks; another judge by its name."""
    looks = ["codex", "codex (look 2)", "codex (look 3)", "claude"]
    evidence = [{"judge": name, "quote": QUOTE, "found": True} for name in looks]
    advice = [{"judge": name, "text": "Say when"} for name in looks]
    votes = dict.fromkeys(looks, "no")
    item = samples.item("c", "Says when", votes, evidence=evidence, suggestions=advice)
    doc = samples.scorecard("fail", 0.0, [samples.criterion("c", 0.0, items=[item])])
    for text in (scorecard_text(doc), scorecard_markdown(doc)):
        assert text.count("codex (3 looks), claude") == 3 and "look 2" not in text


def test_a_quote_of_several_judges_is_one_quote_in_a_case() -> None:
    card = quoted_card(3)
    case = suite_samples.case(
        "one", "failed", 0.0, criteria=card["criteria"], judges=card["judges"]
    )
    text = suite_text(suite_samples.report([case]))
    assert text.count(QUOTE) == 1 and "judge0, judge1, judge2" in text


def test_an_equal_suggestion_of_several_judges_is_one_line_with_all_of_them() -> None:
    """In text, Markdown and on the page; another one stays a line of its own."""
    said = [("anna", "Say when"), ("bob", "Say when"), ("anna", "Say why"), ("bob", "Say when")]
    suggestions = [{"judge": judge, "text": text} for judge, text in said]
    votes = {"anna": "no", "bob": "no"}
    item = samples.item("a", "Says when", met=0.0, unmet=True, votes=votes, suggestions=suggestions)
    doc = samples.scorecard("fail", 0.0, [samples.criterion("a", 0.0, items=[item])])
    page = scorecard_html(msgspec.convert(doc, ScorecardDoc), None)
    for text in (scorecard_text(doc), scorecard_markdown(doc), page):
        assert text.count("Say when") == text.count("Say why") == 1
    assert "Say when (anna, bob)" in scorecard_text(doc)
    assert "suggestion: Say when (anna, bob)" in scorecard_markdown(doc)
    assert "anna, bob" in page


def test_a_place_in_the_table_is_one_look_where_some_asked_a_part() -> None:
    """What a look did not ask about is a dash, and the list of judges counts such looks."""
    every = {"a": 100.0, "a#2": 0.0, "a#3": 100.0, "b": 100.0}
    others = {name: score for name, score in every.items() if name != "a#2"}
    criteria = [
        samples.criterion("first", 100.0, by_judge=others),
        samples.criterion("second", 75.0, by_judge=every),
    ]
    judges = [
        samples.judge(name, **({"criteria": ["second"]} if name == "a#2" else {})) for name in every
    ]
    text = scorecard_text(samples.scorecard("pass", 90.0, criteria, judges=judges))
    rows = [row.split() for row in text.splitlines()]
    assert next(row for row in rows if "first" in row)[-4:] == ["100.0", "-", "100.0", "100.0"]
    assert next(row for row in rows if "second" in row)[-4:] == ["100.0", "0.0", "100.0", "100.0"]
    assert "a (3 looks, 1 at a part)" in text


def test_the_mean_of_a_judge_counts_a_criterion_once_however_often_it_was_asked() -> None:
    """A look at a part asks what is contested again, which is no reason to weigh it more."""
    scores = [{"a": 100.0}, {"a": 0.0, "a#2": 0.0, "a#3": 100.0}]
    criteria = [
        msgspec.convert(samples.criterion(f"c{at}", 50.0, by_judge=one), CriterionDoc)
        for at, one in enumerate(scores)
    ]
    judges = JudgesOfRun()
    judges.add(criteria, [JudgeDoc(id=name, state="AVAILABLE") for name in scores[1]])
    assert judges.judges["a"].mean == pytest.approx((100 + 100 / 3) / 2)
