"""What SARIF 2.1.0 (OASIS, sections 3.13 to 3.30) requires of the parts that we write, as
assertions.
"""

from __future__ import annotations

import re
from typing import Any

LEVELS = {"none", "note", "warning", "error"}
KINDS = {"notApplicable", "pass", "fail", "review", "open", "informational"}


def assert_sarif(log: Any) -> list[dict[str, Any]]:
    """Fails where the log is not valid; returns the results of its runs."""
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    assert isinstance(log["runs"], list)
    found = []
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"]
        ids = [rule["id"] for rule in driver.get("rules", [])]
        assert len(set(ids)) == len(ids)
        assert all(rule["shortDescription"]["text"] for rule in driver.get("rules", []))
        assert run.get("columnKind") in (None, "utf16CodeUnits", "unicodeCodePoints")
        for result in run["results"]:
            _assert_result(result, ids)
            found.append(result)
    return found


def _assert_result(result: Any, rules: list[str]) -> None:
    assert result["message"]["text"]
    assert rules[result["ruleIndex"]] == result["ruleId"]
    assert result["level"] in LEVELS and result["kind"] in KINDS
    if result["kind"] != "fail":
        assert result["level"] == "none"
    assert result["locations"]
    for location in [*result["locations"], *result.get("relatedLocations", [])]:
        place = location["physicalLocation"]
        assert re.fullmatch(
            r"(file:///)?(?:[A-Za-z0-9\-._~/]|%[0-9A-F]{2})+", place["artifactLocation"]["uri"]
        )
        region = place["region"]
        assert region["startLine"] >= 1
        assert region.get("startColumn", 1) >= 1
        last = region.get("endLine", region["startLine"])
        assert last >= region["startLine"]
        if last == region["startLine"] and "endColumn" in region:
            assert region["endColumn"] >= region["startColumn"]
