"""The head that every artifact of the skill pipeline opens with, and what the stages are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

SCHEMA_VERSION: Final = "1.0"
LANE: Final = "generic-skill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage: the `stage` its artifact says, the folder below STATE_ROOT, and what comes after it."""

    verb: str
    says: str
    folder: str
    what: str
    next_step: str | None
    next_owner: str | None


PROPOSED: Final = Stage(
    verb="propose",
    says="proposed",
    folder="candidate_versions",
    what="candidates",
    next_step="rank_candidates",
    next_owner="critic",
)
RANKED: Final = Stage(
    verb="rank",
    says="ranked",
    folder="rankings",
    what="a ranking",
    next_step="execute_candidate",
    next_owner="executor",
)
EVALUATED: Final = Stage(
    verb="evaluate",
    says="evaluated",
    folder="evaluations",
    what="an evaluation",
    next_step="gate_decision",
    next_owner="gate",
)
EXECUTED: Final = Stage(
    verb="apply", says="executed", folder="executions", what="an execution", next_step="apply_gate", next_owner="gate"
)
GATED: Final = Stage(
    verb="gate",
    says="gated",
    folder="receipts",
    what="a gate receipt",
    next_step="propose_candidates",
    next_owner="proposer",
)

STAGES: Final = (PROPOSED, RANKED, EVALUATED, EXECUTED, GATED)
TRACES_FOLDER: Final = "traces"


def head(stage: Stage, *, run_id: str, created_at: str, status: str = "success", lane: str = LANE) -> dict[str, Any]:
    """The first fields of an artifact. `end` gives the last ones."""
    return {
        "schema_version": SCHEMA_VERSION,
        "lane": lane,
        "run_id": run_id,
        "stage": stage.says,
        "status": status,
        "created_at": created_at,
    }


def end(stage: Stage, truth_anchor: str) -> dict[str, Any]:
    """The last fields: who is next, and the absolute path of the file itself."""
    return {"next_step": stage.next_step, "next_owner": stage.next_owner, "truth_anchor": truth_anchor}
