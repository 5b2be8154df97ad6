"""A suite run as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st
from rendered import suite_junit
from suite_samples import case, every_status, hostile, report, with_baseline

from property_examples import examples


def parsed(doc: dict) -> ET.Element:  # type: ignore[type-arg]
    suite = ET.fromstring(suite_junit(doc).encode()).find("testsuite")
    assert suite is not None
    return suite


def test_failure_error_and_skipped_are_told_apart() -> None:
    """One testcase a case; what could not be judged is an error, not a failure."""
    suite = parsed(every_status())
    kinds = {one.get("name"): [child.tag for child in one] for one in suite.iter("testcase")}
    assert kinds == {
        "fine": [],
        "wrong": ["failure"],
        "dead": ["error"],
        "later": ["skipped"],
        "unsure": ["error"],
        'comma, "quoted" | <b>': [],
    }


def test_a_case_has_its_probability() -> None:
    """As the suite has, under the same name; whatever came of it."""
    doc = every_status()
    for row, chance in zip(doc["cases"], (0.9, 0.25), strict=False):
        row["passes"] = chance
    known = {
        one.get("name"): {p.get("name"): p.get("value") for p in one.iter("property")}
        for one in parsed(doc).iter("testcase")
    }
    first, second, *others = known.values()
    assert (first, second) == ({"probability": "0.9"}, {"probability": "0.25"})
    assert not any(others)


def test_a_suite_under_sure_has_its_gate() -> None:
    """Of each case alone a CI would see no more than which outcome is likelier."""
    doc = every_status()
    gates = []
    for target in (None, 0.95):
        doc["belief"] = {
            "probability": 0.7,
            "target": target,
            "looks": 4,
            "max_looks": None,
            "decided": None,
            "undecided": False,
            "more_looks": None,
            "rests_on": [],
            "sentence": "70% sure",
        }
        gates.append([one.get("name") for one in parsed(doc).iter("testcase")].count("gate"))
    assert gates == [0, 1]


def test_counts_add_up() -> None:
    """A CI that reads only the attributes sees the same."""
    suite = parsed(every_status())
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped", "name")] == [
        "6",
        "1",
        "2",
        "1",
        "Words and more",
    ]
    assert suite.get("time") == "0.060"
    assert all(
        one.get("classname") == "Words and more" and float(one.get("time", "x")) >= 0
        for one in suite.iter("testcase")
    )


def test_messages_hold_the_reason_and_details_the_items() -> None:
    """The first line says why, the body what is not met and what the output was."""
    found = {one.get("name"): one for one in parsed(every_status()).iter("testcase")}
    failure, dead = found["wrong"].find("failure"), found["dead"].find("error")
    assert failure is not None and "why wrong is failed" in str(failure.get("message"))
    assert "✗ Says good" in str(failure.text) and "output of wrong" in str(failure.text)
    assert dead is not None and str(dead.get("message")).startswith("target-error")


def test_the_gate_agrees_with_the_exit_code() -> None:
    """With a baseline, or a rate below 1, the verdict is a test case; a run that passes has no
    failure.
    """
    for more in (
        {"verdict": "pass"},
        {"verdict": "pass", "comparison": None, "min_pass_rate": 0.5},
    ):
        doc = with_baseline() | more
        next(one for one in doc["cases"] if one["id"] == "down")["passes"] = 0.25
        suite = parsed(doc)
        found = {one.get("name"): one for one in suite.iter("testcase")}
        assert (suite.get("failures"), suite.get("errors"), suite.get("tests")) == ("0", "0", "5")
        assert not list(found["gate"])
        [left] = found["down"]
        assert left.tag == "skipped" and str(left.get("message")).startswith("failed: ")
        assert str(left.get("message")).endswith("; probability 0.25")
    failed = {
        one.get("name"): one
        for one in parsed(with_baseline() | {"verdict": "fail"}).iter("testcase")
    }
    gate = failed["gate"].find("failure")
    assert gate is not None and "1 regression: down" in str(gate.get("message"))
    assert [child.tag for child in failed["down"]] == ["failure"]


def test_hostile_words_leave_it_xml() -> None:
    """Nothing closes an element or a CDATA, and no character is outside of XML."""
    suite = parsed(hostile())
    assert len(list(suite.iter("testcase"))) == 6  # five cases and the gate
    assert {child.tag for one in suite.iter("testcase") for child in one} == {
        "failure",
        "error",
        "skipped",
    }


@settings(max_examples=examples(40), deadline=None)
@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=40))
def test_any_text_can_stand_anywhere(text: str) -> None:
    """Whatever a target prints, the file is XML with one testcase."""
    doc = report([case("x" + text, "failed", 0.0, reasons=[text], output=text)])
    assert len(list(parsed(doc).iter("testcase"))) == 1
