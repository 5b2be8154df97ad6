"""Events: what happened in a run, in order. A run is its events; everything else is derived from them.

Each is one JSON object with a `type`. They hold facts and ballots, never scorecards, so that `rescore`, `show` and
resuming are one path: fold the events, combine the ballots.

    started     kind, artifact, rubric, contract, panel, holdouts, worker, policy, limits, version: the first
    judged      path, digest, ballots, spend, output, error: one artifact of an `eval` run
    checked     artifacts [path, digest, what checks said]: many that text checks alone judged
    produced    case, attempt, output, error, duration_ms, spend, trace, diff, files: what a target made of one case
    attempted   case, attempt, ballots, spend: that output, judged
    passed-by   case, reason: a case of a suite that was not run
    compared    comparison, baseline, ...: a suite run beside its baseline
    ballot      version, role (panel | holdout), ballot, calls, cached, seconds: one judge's answers
    candidate   round, candidate, outcome, detail, version, diff: one of several proposals of a round
    ranked      version, score: what a panel made of a candidate's edit before it was run
    proposed    round, focus, outcome, detail, version, diff, calls: what the worker did, read from bytes
    accepted    round, version, reason
    rejected    round, reason
    delivering  version: the person's file is about to be replaced
    delivered   version: it has been
    limit       which, reason: a budget is used up
    finished    result, reason: the last

Every event may carry `seconds`, the time worked on the run so far.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

Event: TypeAlias = dict[str, Any]
Role: TypeAlias = Literal["panel", "holdout"]

STARTED: Final = "started"
JUDGED: Final = "judged"
CHECKED: Final = "checked"
PRODUCED: Final = "produced"
ATTEMPTED: Final = "attempted"
PASSED_BY: Final = "passed-by"
COMPARED: Final = "compared"
BALLOT: Final = "ballot"
CANDIDATE: Final = "candidate"
RANKED: Final = "ranked"
PROPOSED: Final = "proposed"
ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
DELIVERING: Final = "delivering"
DELIVERED: Final = "delivered"
LIMIT: Final = "limit"
FINISHED: Final = "finished"


def judged_in(event: Event) -> list[Event]:
    """The `judged` events that an event stands for: itself, or one for every artifact of a `checked` one."""
    if event["type"] == JUDGED:
        return [event]
    if event["type"] != CHECKED:
        return []
    return [
        {"type": JUDGED, "path": path, "digest": digest, "ballots": [{"checked": said}], "spend": {}}
        for path, digest, said in event["artifacts"]
    ]
