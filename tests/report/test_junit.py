"""JUnit reports: well-formed whatever is in them, with counts that add up."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st
from rendered import improvement_junit, scorecards_junit

from honestone.report.exports.junit import xml_text

KINDS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.encode())


def outcomes(suite: ElementTree.Element) -> dict[str, str]:
    return {
        f"{case.get('classname')}::{case.get('name')}": next(
            (child.tag for child in case), "passed"
        )
        for case in suite.iter("testcase")
    }


def assert_counts(node: ElementTree.Element) -> None:
    assert int(node.get("tests", "")) == len(list(node.iter("testcase")))
    for attribute, tag in KINDS.items():
        assert int(node.get(attribute, "")) == len(list(node.iter(tag)))


def test_one_suite_an_artifact_one_case_an_item() -> None:
    """Unmet is a failure, unanswered an error, not applicable skipped; the counts say the same."""
    root = parsed(scorecards_junit([samples.failed(), samples.tree(), samples.inconclusive()]))
    failed, tree, unsure = root.findall("testsuite")
    for node in (root, failed, tree, unsure):
        assert_counts(node)
    assert outcomes(failed) == {
        "report.md/reproducible::States the exact version of the software": "passed",
        "report.md/reproducible::Gives numbered steps that start from a fresh installation": "failure",
        "report.md/reproducible::Says what was expected": "failure",
        "report.md/reproducible::The attached script runs": "failure",
        "report.md/tone::Neutral, factual tone": "passed",
        "report.md/impact::Names the users hit": "passed",
        "report.md::gate": "failure",
    }
    assert outcomes(tree) == {
        "report.md/alt::Images have alternative texts": "skipped",
        "report.md/profanity::Contains profanity": "failure",
        "report.md/ads::Advertises something": "passed",
        "report.md::gate": "failure",
    }
    assert outcomes(unsure) == {
        "report.md/impact::Says who is hit and how badly": "error",
        "report.md::gate": "error",
    }


def test_the_gate_carries_the_reasons() -> None:
    """Whoever opens the failed gate reads why."""
    root = parsed(scorecards_junit([samples.failed()]))
    gate = next(case for case in root.iter("testcase") if case.get("name") == "gate")
    assert "below its floor 70" in str(gate[0].get("message"))


def test_a_failure_shows_votes_evidence_and_suggestion() -> None:
    """The body holds what the judges said."""
    body = "".join(next(parsed(scorecards_junit([samples.failed()])).iter("failure")).itertext())
    assert (
        "no: codex, gemini" in body
        and "NOT in the artifact" in body
        and "suggestion: Number the steps" in body
    )


def test_hostile_words_make_no_markup_and_the_file_parses() -> None:
    """Angle brackets, CDATA ends, NUL and overrides in every place."""
    text = scorecards_junit([samples.hostile()])
    assert {node.tag for node in parsed(text).iter()} - {"properties", "property"} == {
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "error",
    }
    assert "\\x1b" in text and "\x1b" not in text


@given(st.text(st.characters(), max_size=40))
def test_any_text_fits_into_xml(text: str) -> None:
    """Whatever a judge writes, element and attribute parse and agree."""
    safe = xml_text(text)
    root = ElementTree.fromstring(f'<a b="{safe}">{safe}</a>'.encode())
    assert (root.text or "").replace("\n", " ") == root.get("b")


def test_two_items_of_one_name_stay_two_cases() -> None:
    """CI servers merge cases of one name, so the id tells them apart."""
    twins = [
        samples.item("a", "Same words", {"codex": "yes"}),
        samples.item("b", "Same words", {"codex": "no"}),
    ]
    root = parsed(
        scorecards_junit(
            [samples.scorecard("fail", 50.0, [samples.criterion("c", 50.0, 1, twins)])]
        )
    )
    assert outcomes(root) == {
        "report.md/c::Same words": "passed",
        "report.md/c::Same words (b)": "failure",
        "report.md::gate": "failure",
    }


@pytest.mark.parametrize(
    ("doc", "tag"),
    [
        (samples.improvement("PASSED"), "passed"),
        (samples.unconfirmed(), "error"),
        (samples.broken(), "failure"),
        (samples.improvement("INTERRUPTED"), "error"),
    ],
)
def test_a_loop_is_its_final_scorecard_and_its_result(doc: dict[str, Any], tag: str) -> None:
    """PASSED passes; UNCONFIRMED is an error and not a failure; a circuit breaker fails."""
    root = parsed(improvement_junit(doc))
    assert_counts(root)
    assert outcomes(root)["report.md::result"] == tag
    assert "report.md::gate" in outcomes(root)


def test_a_loop_has_the_probability_of_its_end() -> None:
    """As `eval` and suites have it; none where nothing says one."""
    doc = samples.improvement("PASSED")
    belief = {"probability": 0.92, "target": 0.9, "looks": 3}
    found = [
        [
            one.get("value")
            for one in parsed(improvement_junit(one)).iter("property")
            if one.get("name") == "probability"
        ]
        for one in (doc, {**doc, "belief": belief})
    ]
    assert found == [[], ["0.92"]]
