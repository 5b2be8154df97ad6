"""The gate: six layers in order, and what they come to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.artifact import Entry, Version
from honestone.core.skill.gate_layers import (
    EXIT_OF,
    LAYERS,
    Decision,
    Evidence,
    gate_risk,
    pass_gate,
)

HEAD = "---\nname: a\ndescription: Helps.\n---\n# A\n"
PLAN = {"action": "append_markdown_section"}
BEFORE = Version({"SKILL.md": Entry(HEAD.encode())}, is_folder=True)


def after(text: str = HEAD + "\nMore.\n", **files: Entry) -> Version:
    return Version({"SKILL.md": Entry(text.encode()), **files}, is_folder=True)


def evaluation(verdict: Any = "pass", **more: Any) -> dict[str, Any]:
    rates = {"execution_pass_rate": 0.75, "baseline_pass_rate": 0.5}
    return {"run_id": "r", "candidate_id": "c", "evaluation": {"verdict": verdict, **rates}, **more}


def evidence(*, judged: Any = "pass", new: Version | None = None, **changes: Any) -> Evidence:
    """A low-risk edit that was applied and passed, but for what a test changes."""
    ranked = {
        "id": "c",
        "category": "docs",
        "risk_level": "low",
        "recommendation": "accept_for_execution",
        "execution_plan": PLAN,
        **changes.pop("ranked", {}),
    }
    return Evidence(
        candidate_id="c",
        ranking={"run_id": "r"},
        execution={
            "run_id": "r",
            "candidate_id": "c",
            "candidate": {"execution_plan": PLAN},
            "result": {"modified": True, "status": "success"},
            **changes.pop("execution", {}),
        },
        evaluation=evaluation(judged) if isinstance(judged, str) else judged,
        ranked=ranked,
        before=BEFORE,
        after=new or after(),
        **changes,
    )


def test_low_risk_and_a_pass_is_kept_after_all_six_layers() -> None:
    """Six layers in the published order, all passed."""
    result = pass_gate(evidence())
    plain = result.layers_to_plain()
    assert result.decision is Decision.KEEP and EXIT_OF[result.decision] == 0
    assert [one["layer"] for one in plain["layer_results"]] == list(LAYERS)
    assert (
        plain["all_passed"],
        plain["failed_at"],
        plain["layers_run"],
        plain["layers_total"],
    ) == (True, None, 6, 6)
    assert result.blockers == []


@pytest.mark.parametrize(
    ("found", "layer"),
    [
        (evidence(judged=evaluation(run_id="other")), "schema"),
        (evidence(judged=evaluation(candidate_id="other")), "schema"),
        (evidence(judged=evaluation(candidate_digest="sha256:other")), "schema"),
        (evidence(execution={"run_id": "other"}), "schema"),
        (evidence(execution={"candidate": {"execution_plan": {"action": "other"}}}), "schema"),
        (evidence(judged={**evaluation("fail"), "verdict": "pass"}), "schema"),
        (evidence(troubles=("tool.py:1 does not compile",)), "compile"),
        (evidence(judged="fail"), "regression"),
        (evidence(ranked={"recommendation": "reject", "blockers": ["nonsense"]}), "review"),
        (evidence(ranked={"panel": {"final_recommendation": "reject"}}), "review"),
        (evidence(ranked={"llm_verdict": {"decision": "reject"}}), "review"),
        (evidence(is_vetoed=True), "review"),
    ],
)
def test_the_first_layer_that_blocks_is_the_last_one_looked_at(found: Evidence, layer: str) -> None:
    """A revert names the layer, and no layer after it was run."""
    result = pass_gate(found)
    assert result.decision is Decision.REVERT and result.failed_at == layer
    assert [one.layer for one in result.layers] == list(LAYERS)[: list(LAYERS).index(layer) + 1]
    assert result.reason.startswith(layer) and result.layers_to_plain()["all_passed"] is False


@pytest.mark.parametrize(
    "judged", [None, "error", "skipped", "splendid", evaluation(mock=True), evaluation(None)]
)
def test_evidence_that_is_missing_is_neither_a_pass_nor_a_failure(judged: Any) -> None:
    """No evaluation, one without a verdict, a mock: a person decides, and the layer says that it
    does not know.
    """
    result = pass_gate(evidence(judged=judged))
    by_name = {one.layer: one for one in result.layers}
    assert result.decision is Decision.PENDING and by_name["regression"].passed is None
    assert result.layers_to_plain()["all_passed"] is False and result.failed_at is None


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (evidence(ranked={"risk_level": "medium"}), "medium risk"),
        (evidence(ranked={"risk_level": "no such risk"}), "medium risk"),
        (evidence(ranked={"category": "prompt"}), "it changes prompt"),
        (evidence(ranked={"category": "poetry"}), "`poetry` is not known"),
        (evidence(ranked={"recommendation": "hold"}), "holds it back"),
        (evidence(ranked={"recommendation": None}), "is not known"),
        (evidence(new=after(HEAD, **{"run.sh": Entry(b"#!/bin/sh\n", True)})), "high risk"),
        (evidence(new=after(HEAD.replace("Helps.", "Use always."))), "medium risk"),
    ],
)
def test_what_is_risky_or_held_is_for_a_person(found: Evidence, why: str) -> None:
    """Also where the ranking calls it harmless and the bytes say otherwise."""
    result = pass_gate(found)
    assert result.decision is Decision.PENDING and any(why in one for one in result.human)
    assert len(result.layers) == 6 and result.layers_to_plain()["all_passed"] is True


def test_risk_is_the_worse_of_words_and_bytes() -> None:
    """A ranking cannot talk an executable down, nor do harmless bytes make a stated risk go away."""
    script = after(HEAD, **{"run.sh": Entry(b"echo\n", True)})
    assert gate_risk(evidence(new=script)) == "high"
    assert gate_risk(evidence(ranked={"risk_level": "high"})) == "high"


def test_lint_only_advises_and_only_about_new_lines() -> None:
    """A long new line and mixed tabs are named; an old long line is not the candidate's."""
    old = HEAD + "o" * 200 + "\n"
    new = old + "n" * 121 + "\n \tx\n"
    found = evidence(new=after(new), judged="pass")
    found = Evidence(
        **{**{name: getattr(found, name) for name in found.__slots__}, "before": after(old)}
    )
    result = pass_gate(found)
    lint = [one.to_plain() for one in result.blockers]
    assert result.decision is Decision.KEEP and [one["layer"] for one in lint] == ["lint"]
    assert "(121 characters)" in lint[0]["details"] and "tabs" in lint[0]["details"]
    assert "(200 characters)" not in lint[0]["details"]


def test_a_verdict_that_its_own_figures_deny_is_no_pass() -> None:
    """`pass` beside a rate that fell is a contradiction, not evidence."""
    judged = evaluation()
    judged["evaluation"]["execution_pass_rate"] = 0.25
    result = pass_gate(evidence(judged=judged))
    assert result.failed_at == "schema" and "fell from 0.5 to 0.25" in result.reason


anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.just([]), st.just({})
)


@given(
    judged=st.one_of(
        st.none(),
        st.builds(
            evaluation, st.sampled_from(["pass", "fail", "error", "skipped"]), mock=st.booleans()
        ),
        st.builds(evaluation, anything, run_id=st.sampled_from(["r", "x"]), mock=anything),
    ),
    ranked=st.fixed_dictionaries(
        {},
        optional={
            "risk_level": st.one_of(st.sampled_from(["low", "medium", "high"]), anything),
            "category": st.one_of(st.sampled_from(["docs", "tests", "prompt"]), anything),
            "recommendation": st.one_of(
                st.sampled_from(["accept_for_execution", "hold", "reject"]), anything
            ),
            "panel": anything,
            "blockers": anything,
        },
    ),
    modified=st.booleans(),
    troubles=st.sampled_from([(), ("bad",)]),
)
def test_whatever_the_artifacts_say_only_shown_and_harmless_edits_are_kept(
    judged: Any, ranked: dict[str, Any], modified: bool, troubles: tuple[str, ...]
) -> None:
    """No combination keeps an edit without a real pass, and nothing applied is always a rejection."""
    found = evidence(
        judged=judged,
        ranked=ranked,
        troubles=troubles,
        execution={"result": {"modified": modified, "status": "error"}},
    )
    result = pass_gate(found)
    assert [one.layer for one in result.layers] == list(LAYERS)[: len(result.layers)]
    assert (result.decision is Decision.REJECT) == (not modified)
    if result.decision is Decision.KEEP:
        assert judged["evaluation"]["verdict"] == "pass" and not judged.get("mock") and not troubles
        assert (
            found.ranked["risk_level"] == "low"
            and found.ranked["recommendation"] == "accept_for_execution"
        )
    if result.decision is Decision.REVERT:
        assert result.failed_at is not None
