"""`honestone show --format sarif`: findings of a run, at their lines, as a code host reads them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from sarif_rules import assert_sarif

from .desk import Desk

QUOTING = """
request_text = text
answer = {"items": {"apple": {"met": False, "evidence": "Nothing is here"}, "pear": {"met": True}}}
print(json.dumps({"criteria": {"words": answer, "close": {"met": False}}}))
"""


def test_findings_of_artifacts(ready: Desk) -> None:
    """A quote is at its line; a finding without one is at the first line; a passing run has none."""
    ready.file("bad.md", "# Title\n\nIndeed. Nothing is here.\n")
    judge = ready.judge("quoting", QUOTING)
    assert ready.run("eval", "bad.md", "--rubric", "rubric.yaml", "--judge", judge.spec).code == 1
    shown = ready.run("show", "--format", "sarif")
    assert shown.code == 0, shown.err
    first, second = assert_sarif(json.loads(shown.out))
    assert (first["ruleId"], first["level"]) == ("words/apple", "error")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "bad.md"
    assert (
        place["region"]["startLine"],
        place["region"]["startColumn"],
        place["region"]["endColumn"],
    ) == (3, 9, 24)
    assert second["ruleId"].startswith("close/")
    assert second["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_findings_of_a_suite_name_their_case(ready: Desk) -> None:
    """The suite's file is the place, the case its logical location; passed cases are no findings."""
    check = "{id: one, requirement: It greets, check: {contains: hello}}"
    ready.file(
        "suite.yaml",
        f"suite: 1\ntarget: 'cmd:cat'\nrubric:\n  rubric: 1\n  criteria:\n    - {check}\n"
        "cases:\n  - {id: good, input: hello}\n  - {id: bad, input: bye}\n",
    )
    assert ready.run("eval", "suite.yaml").code == 1
    (result,) = assert_sarif(json.loads(ready.run("show", "--format", "sarif").out))
    assert result["locations"][0]["logicalLocations"][0]["name"] == "bad"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "suite.yaml"


def test_a_run_without_findings_about_files_is_refused(ready: Desk) -> None:
    """Exit 2 with the kinds that have some."""
    judge = ready.judge()
    ready.file("note.md", "apple\n")
    assert (
        ready.run(
            "noise", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec, "-n", "2"
        ).code
        == 0
    )
    assert ready.run("show", "--format", "sarif").is_refusal
