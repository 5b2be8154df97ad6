"""Two runs of a suite: whether they may be compared, what changed, and what that means for a gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from honestone.core.contract import differences
from honestone.core.errors import ContractMismatch, UsageError
from honestone.core.scorecard import Outcome, Verdict
from honestone.core.suite.comparison import GATES, RunComparison, compare, judge_comparison
from honestone.core.suite.record import RunSummary


def require_gates(gates: Sequence[str]) -> tuple[str, ...]:
    for gate in gates:
        if gate not in GATES:
            raise UsageError(
                f"--fail-on `{gate}` is not known", hint=f"known: {', '.join(GATES)}; repeat it for several"
            )
    return tuple(gates)


def compare_summaries(
    before: RunSummary,
    after: RunSummary,
    *,
    gates: Sequence[str],
    across: bool,
    require_improvement: bool = False,
    contracts: tuple[Mapping[str, object], Mapping[str, object]] | None = None,
) -> RunComparison:
    """Raises ContractMismatch when the two were judged differently, unless `across`.

    `contracts` are both contracts in full, where they are known, to say in words what differs.
    """
    changed = _contract_changes(before, after, contracts)
    if changed and not across:
        raise ContractMismatch(
            "the two runs were judged under different contracts:\n  " + "\n  ".join(changed[:20]),
            hint="run the baseline again under this contract, or compare all the same with --across-contracts",
        )
    found = compare(before.sides, after.sides)
    verdict = judge_comparison(found, gates)
    if require_improvement and verdict.outcome is Outcome.PASS and (found.interval is None or found.interval[0] <= 0):
        why = "the improvement is not above the noise: the lower bound of the interval is not above 0"
        verdict = Verdict(Outcome.FAIL, (why,))
    return RunComparison(found=found, verdict=verdict, baseline=before.run, candidate=after.run, notes=tuple(changed))


def _contract_changes(
    before: RunSummary, after: RunSummary, contracts: tuple[Mapping[str, object], Mapping[str, object]] | None
) -> list[str]:
    changed = []
    if before.contract != after.contract:
        said = differences(*contracts) if contracts is not None else []
        said = said or [f"{before.contract[:19]} became {after.contract[:19]}"]
        changed += [f"the contract that all cases share: {line}" for line in said]
    for id, case in after.cases.items():
        then = before.cases.get(id)
        if then is not None and then.contract != case.contract:
            changed.append(
                f"case `{id}` has another contract: its rubric, input, reference, workspace or attempts changed"
            )
    return changed
