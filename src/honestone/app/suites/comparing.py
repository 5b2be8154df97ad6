"""Comparing two reports: whether they may be compared, what changed, and what that means for a gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from honestone.core.contract import differences
from honestone.core.errors import ContractMismatch, UsageError
from honestone.core.suite.comparison import GATES, compare, judge_comparison
from honestone.core.verdict import Outcome, Verdict
from honestone.report.suite_documents import comparison_document, sides_of


def require_gates(gates: Sequence[str]) -> tuple[str, ...]:
    for gate in gates:
        if gate not in GATES:
            raise UsageError(
                f"--fail-on `{gate}` is not known", hint=f"known: {', '.join(GATES)}; repeat it for several"
            )
    return tuple(gates)


def compare_reports(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    gates: Sequence[str],
    across: bool,
    require_improvement: bool = False,
    documents: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """`honestone.comparison/1`. Raises ContractMismatch when the two were judged differently, unless `across`.

    `documents` are the contracts in full, where they are at hand, to say in words what differs.
    """
    changed = _contract_changes(before, after, documents)
    if changed and not across:
        raise ContractMismatch(
            "the two runs were judged under different contracts:\n  " + "\n  ".join(changed[:20]),
            hint="run the baseline again under this contract, or compare all the same with --across-contracts",
        )
    found = compare(sides_of(before), sides_of(after))
    verdict = judge_comparison(found, gates)
    if require_improvement and verdict.outcome is Outcome.PASS and (found.interval is None or found.interval[0] <= 0):
        verdict = Verdict(
            Outcome.FAIL, ("the improvement is not above the noise: the interval's lower end is not above 0",)
        )
    return comparison_document(found, verdict, baseline=before["run"], candidate=after["run"], notes=changed)


def _contract_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], documents: tuple[Mapping[str, Any], Mapping[str, Any]] | None
) -> list[str]:
    changed = []
    if before["contract"] != after["contract"]:
        said = differences(*documents) if documents is not None else []
        changed += [f"the contract that all cases share: {line}" for line in said] or [
            f"the contract that all cases share: {before['contract'][:19]} became {after['contract'][:19]}"
        ]
    contracts = {case["id"]: case["contract"] for case in before["cases"]}
    for case in after["cases"]:
        then = contracts.get(case["id"])
        if then is not None and then != case["contract"]:
            changed.append(
                f"case `{case['id']}` has another contract: its rubric, input, reference, workspace or attempts changed"
            )
    return changed


def compared_fields(
    comparison: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any], *, min_given: bool
) -> dict[str, Any]:
    """What a report says of its baseline. The verdict is the comparison's; with --min-pass-rate both must hold."""
    verdicts = [comparison, *([after] if min_given else [])]
    outcome = next((o for o in ("fail", "inconclusive") if any(v["verdict"] == o for v in verdicts)), "pass")
    reasons = [reason for v in verdicts if v["verdict"] == outcome for reason in v["reasons"]]
    return {
        "verdict": outcome,
        "reasons": reasons,
        "baseline_pass_rate": before["pass_rate"],
        "delta": comparison["delta"],
        "interval": comparison["interval"],
        "regressions": comparison["regressions"],
        "comparison": dict(comparison),
    }
