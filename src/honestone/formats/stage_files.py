"""The files of the skill pipeline, each defined once: what is written, what is read, and the
published JSON Schema.

What other programs of this pipeline write fits too: fields beyond those named here are allowed
everywhere, and what only honestone writes is never required.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, ClassVar, Final, Generic, Literal, TypeAlias, TypedDict, TypeVar

import msgspec
from msgspec import Meta, Struct

from honestone.core.errors import FileError, UsageError
from honestone.core.json_value import late_pattern
from honestone.formats.syntax.marked import Marked, read_marked

LANE: Final = "generic-skill"
# The lane of a skill that was evaluated without a ranking: its baseline ran without any skill.
STANDALONE: Final = "standalone"
SCHEMA_VERSION: Final = "1.0"
JsonObject: TypeAlias = dict[str, object]


def _words_written(*known: str | None) -> Meta:
    """The words that honestone writes. Reading takes others too: what decides by them says what it
    does not know.
    """
    return Meta(extra_json_schema={"enum": list(known)})


CategoryWord: TypeAlias = Annotated[
    str, _words_written("docs", "reference", "guardrail", "prompt", "workflow", "tests")
]
RiskWord: TypeAlias = Annotated[str, _words_written("low", "medium", "high")]
NoteRiskWord: TypeAlias = Annotated[str | None, _words_written("low", "medium", "high", None)]
LabelWord: TypeAlias = Annotated[
    str | None, _words_written("CONSENSUS", "VERIFIED", "SPLIT", "DISPUTED", None)
]
RecommendationWord: TypeAlias = Annotated[
    str, _words_written("accept_for_execution", "hold", "reject")
]
VerdictWord: TypeAlias = Annotated[str, _words_written("pass", "fail", "skipped", "error")]
EndedWord: TypeAlias = Annotated[
    str, _words_written("success", "no_change", "unsupported", "error")
]
LayerWord: TypeAlias = Annotated[
    str, _words_written("schema", "compile", "lint", "regression", "review", "human_review")
]
DecisionWord: TypeAlias = Annotated[
    str, _words_written("keep", "pending_promote", "revert", "reject")
]
PipelineDecisionWord: TypeAlias = Annotated[
    str, _words_written("keep", "pending_promote", "revert", "reject", "error")
]

Name: TypeAlias = Annotated[str, Meta(min_length=1)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Rate: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Score: TypeAlias = Annotated[float, Meta(ge=0, le=10)]
Delta: TypeAlias = Annotated[float, Meta(ge=-1, le=1)]
Digest: TypeAlias = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
Moment: TypeAlias = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT", description="UTC, ISO 8601.")]
ThisFile: TypeAlias = Annotated[
    Name, Meta(description="Where this file is; honestone writes the absolute path.")
]


class StageDocument(Struct, kw_only=True):
    """The head and the end of every artifact. Whoever writes it fills in `created_at` and
    `truth_anchor`.

    `written` is the command that writes it, its name in messages and what its `stage` says;
    `folder` its place below STATE_ROOT.
    """

    written: ClassVar[tuple[str, str, str]]
    folder: ClassVar[str]

    schema_version: Literal["1.0"] = "1.0"
    lane: Name = LANE
    run_id: Annotated[Name, Meta(description="The same in every artifact of one run.")]
    stage: str
    status: Annotated[Name, Meta(description="`success`, or why not.")] = "success"
    created_at: Moment = ""
    next_step: str | None = None
    next_owner: str | None = None
    truth_anchor: ThisFile = ""


HEAD: Final = ("schema_version", "lane", "run_id", "stage", "status", "created_at")
END: Final = ("next_step", "next_owner", "truth_anchor")


# -----------------------------------------------------------------------------------------------------------
# pieces


class SkillNamed(Struct, kw_only=True):
    """What artifacts say about the skill."""

    path: Annotated[
        Name, Meta(description="The skill's folder, relative to the working directory.")
    ]
    exists: bool = True
    kind: Name = "directory"
    name: str = ""
    has_references: bool = False
    markdown_files: Annotated[list[str], Meta(max_length=20)] = []


# The five actions that a program can carry out. Any other is for a person.
Plan: TypeAlias = Annotated[
    JsonObject,
    Meta(
        extra_json_schema=msgspec.json.decode(
            (files(__package__) / "plan_schema.json").read_bytes()
        )
    ),
]


class DiffSummary(Struct, kw_only=True, omit_defaults=True):
    """How large an edit is, in lines and files; `reason` says what was done, or why nothing was."""

    added_lines: Count | None = None
    removed_lines: Count | None = None
    files: Count | None = None
    reason: str | None = None


class CandidateEntry(Struct, kw_only=True):
    """One proposed edit."""

    id: Annotated[Name, Meta(description="Unique within the artifact.")]
    title: str = ""
    target_path: Annotated[
        str, Meta(description="The file or folder that is edited, from the working directory.")
    ] = ""
    category: CategoryWord | None = None
    rationale: str = ""
    risk_level: RiskWord | None = None
    proposed_change_summary: str = ""
    stage: str = "proposed"
    source_refs: list[object] = []
    executor_support: Annotated[
        bool, Meta(description="Whether a program can carry out the plan.")
    ] = True
    execution_plan: Plan = {}
    lane: str = LANE
    protected_target: bool = False
    created_at: str = ""
    candidate_digest: Digest | None = None
    base_digest: str | None = None
    diff_summary: DiffSummary | None = None


class PanelReview(Struct, kw_only=True):
    """What one judge answered. No score: its answers are not complete."""

    reviewer: str = ""
    state: str = ""
    reason: str | None = None
    score: Score | None = None
    recommendation: str | None = None
    answers: JsonObject = {}
    abstained: dict[str, str] = {}


class PanelReport(Struct, kw_only=True):
    """What the panel's answers about one edit come to."""

    panel_reviews: list[PanelReview] = []
    cognitive_label: LabelWord = None
    final_recommendation: str | None = None
    aggregated_score: Score | None = None


class ScoredCandidate(CandidateEntry, kw_only=True):
    """A candidate with its score."""

    score: Annotated[
        Score | None,
        Meta(description="0-10; null where no judge could score it or no program can apply it."),
    ] = None
    heuristic_score: float | None = None
    risk_penalty: Annotated[float, Meta(ge=0)] = 0.0
    recommendation: RecommendationWord | None = None
    blockers: list[object] = []
    judge_notes: list[str] = []
    judge_adapter: JsonObject | None = None
    score_components: dict[str, float | None] | None = None
    panel: PanelReport | None = None


class RejectedProposal(Struct, kw_only=True):
    """A proposal that is not a candidate, with the reason."""

    candidate: Count
    outcome: Name
    detail: str | None


class InputSource(Struct, kw_only=True):
    """Something that a person gave to learn from."""

    path: Name
    kind: Name
    characters: Count
    snippet: Annotated[str, Meta(max_length=400)]


class TaskRow(Struct, kw_only=True):
    """One task on one side."""

    task_id: Name
    passed: Annotated[bool | None, Meta(description="null: it could not be run or judged.")]
    score: Rate | None
    details: str = ""
    duration_ms: Annotated[float, Meta(ge=0)] = 0
    error: str | None = ""
    attempts: Count = 1
    passes: Count = 0


class WaitingEntry(TypedDict, total=False):
    """A candidate that waits for a person, or that a person turned down. Other programs write these
    files too: a value may be of another kind than ours, and other keys are left where they are.
    """

    candidate_id: object
    run_id: object
    lane: object
    title: object
    target: object
    folder: object
    target_path: object
    category: object
    risk_level: object
    reason: object
    reasons: object
    diff: object
    execution_plan: object
    base_digest: object
    candidate_digest: object
    created_at: object
    receipt_path: object


class Figures(Struct, kw_only=True):
    """What an evaluation found, in rates from 0 to 1."""

    verdict: VerdictWord
    execution_pass_rate: Rate | None = None
    baseline_pass_rate: Rate | None = None
    delta: Delta | None = None
    interval: Annotated[list[float], Meta(min_length=2, max_length=2)] | None = None
    baseline_health: JsonObject | None = None


class StandaloneFigures(Figures, kw_only=True):
    """The same of a skill by itself, with the counts behind its rate."""

    total_tasks: Count
    passed: Count
    failed: Count
    pass_rate: Rate | None


class RollbackPointer(Struct, kw_only=True, omit_defaults=True):
    """The way back: the backup of one file, or of the folder with the paths that were changed."""

    method: Name
    backup_path: Name
    target_path: Name
    changed: list[str] | None = None


_APPLIED: Final = {
    "if": {"properties": {"modified": {"const": True}}, "required": ["modified"]},
    "then": {
        "properties": {"status": {"const": "success"}, "rollback_pointer": {"type": "object"}},
        "required": ["diff", "rollback_pointer"],
    },
}


class ExecutionResult(Struct, kw_only=True):
    """What applying a candidate came to."""

    status: EndedWord
    modified: bool
    diff: str | None = None
    diff_summary: DiffSummary | None = None
    risk_level: str | None = None
    base_digest: str | None = None
    candidate_digest: Digest | None = None
    backup_path: str | None = None
    rollback_pointer: RollbackPointer | None = None
    error: str | None = None


class LayerRow(Struct, kw_only=True, omit_defaults=True):
    """One of the gate's layers."""

    passed: bool | None
    details: str
    layer: LayerWord
    needs_human: bool | None = None


class GateLayers(Struct, kw_only=True):
    """The gate's layers in order; none after the first that blocks."""

    all_passed: bool | None = None
    failed_at: str | None = None
    layer_results: list[LayerRow] = []
    layers_run: Count = 0
    layers_total: Count = 0


class Rollback(Struct, kw_only=True):
    """Whether the original was put back."""

    attempted: bool
    success: bool
    reason: str | None = None


class Blocker(Struct, kw_only=True):
    """A layer that did not pass."""

    layer: Name
    details: str = ""


# --------------------------------------------------------------------------------------------------------
# artifacts


class Candidates(StageDocument, kw_only=True):
    """What `skill propose` writes."""

    written: ClassVar[tuple[str, str, str]] = ("propose", "a candidates artifact", "proposed")
    folder: ClassVar[str] = "candidate_versions"

    stage: Literal["proposed"] = "proposed"
    next_step: str | None = "rank_candidates"
    next_owner: str | None = "critic"
    target: SkillNamed
    base_digest: Digest | None = None
    input_sources: list[InputSource] = []
    failure_trace_used: bool = False
    worker: str | None = None
    candidate_count: Count
    candidates: list[CandidateEntry]
    rejected_proposals: list[RejectedProposal] = []
    usage: JsonObject = {}


class Ranking(StageDocument, kw_only=True):
    """What `skill rank` writes."""

    written: ClassVar[tuple[str, str, str]] = ("rank", "a ranking", "ranked")
    folder: ClassVar[str] = "rankings"

    stage: Literal["ranked"] = "ranked"
    next_step: str | None = "execute_candidate"
    next_owner: str | None = "executor"
    source_candidate_artifact: str | None = None
    target: SkillNamed
    critic_mode: Name = "none"
    mock: bool = False
    judges: list[str] = []
    scored_candidates: Annotated[list[ScoredCandidate], Meta(description="Best first.")]
    summary: JsonObject = {}
    usage: JsonObject = {}


class SkillEvaluation(StageDocument, kw_only=True):
    """What `skill evaluate` writes: its figures at the top and, as in the original, inside
    `evaluation`.
    """

    written: ClassVar[tuple[str, str, str]] = ("evaluate", "an evaluation", "evaluated")
    folder: ClassVar[str] = "evaluations"

    stage: Literal["evaluated"] = "evaluated"
    next_step: str | None = "gate_decision"
    next_owner: str | None = "gate"
    skill_id: str | None = None
    source_ranking_artifact: str | None = None
    candidate_id: str | None = None
    candidate_score: float | None = None
    eval_threshold: float | None = None
    task_suite: str = ""
    task_suite_skill_id: str | None = None
    pass_k: Annotated[int, Meta(ge=1)] = 1
    evaluation: Figures
    execution_pass_rate: Rate | None = None
    baseline_pass_rate: Rate | None = None
    delta: Delta | None = None
    verdict: VerdictWord | None = None
    interval: Annotated[list[float], Meta(min_length=2, max_length=2)] | None = None
    reason: str | None = None
    mock: bool = False
    candidate_digest: Digest | None = None
    baseline_digest: Annotated[
        str | None,
        Meta(description="Of the skill that the baseline ran; null: it ran without one."),
    ] = None
    regressions: list[str] = []
    candidate_results: list[TaskRow] = []
    baseline_results: list[TaskRow] = []
    task_results: list[TaskRow] | None = None
    baseline_cached: bool = False
    warnings: list[str] = []
    agent: str | None = None
    judges: list[object] = []
    runs: JsonObject | None = None
    usage: JsonObject = {}
    target: SkillNamed | None = None


class Execution(StageDocument, kw_only=True):
    """What `skill apply` writes."""

    written: ClassVar[tuple[str, str, str]] = ("apply", "an execution", "executed")
    folder: ClassVar[str] = "executions"

    stage: Literal["executed"] = "executed"
    next_step: str | None = "apply_gate"
    next_owner: str | None = "gate"
    candidate_id: Name
    candidate: JsonObject | None = None
    source_ranking_artifact: str | None = None
    target: SkillNamed | None = None
    candidate_digest: Annotated[Digest | None, Meta(description="Of the skill after the edit.")] = (
        None
    )
    result: Annotated[ExecutionResult, Meta(extra_json_schema=_APPLIED)]
    execution_trace: JsonObject = {}


class Receipt(StageDocument, kw_only=True):
    """What `skill gate` writes."""

    written: ClassVar[tuple[str, str, str]] = ("gate", "a gate receipt", "gated")
    folder: ClassVar[str] = "receipts"

    stage: Literal["gated"] = "gated"
    next_step: str | None = "propose_candidates"
    next_owner: str | None = "proposer"
    decision: DecisionWord
    reason: Name
    candidate_id: Name
    candidate_category: str | None = None
    risk_level: str | None = None
    candidate_digest: Digest | None = None
    target: SkillNamed | None = None
    source_ranking_artifact: str | None = None
    source_execution_artifact: str | None = None
    source_evaluation_artifact: str | None = None
    evaluation_verdict: str | None = None
    rollback: Rollback
    blockers: list[Blocker]
    gate_layers: GateLayers
    human_review_request: JsonObject | None = None


class Promotion(StageDocument, kw_only=True):
    """What `skill promote` writes."""

    written: ClassVar[tuple[str, str, str]] = ("promote", "a promotion", "promoted")
    folder: ClassVar[str] = "receipts"

    stage: Literal["promoted"] = "promoted"
    next_step: str | None = "propose_candidates"
    next_owner: str | None = "proposer"
    decision: Annotated[Literal["keep", "reject"], Meta(description="`keep`: it was applied.")]
    reason: Name
    decided_by: Annotated[Name, Meta(description="Always a person.")] = "person"
    candidate_id: Name
    candidate_category: str | None = None
    risk_level: NoteRiskWord = None
    candidate_digest: Digest | None
    target: SkillNamed
    source_gate_receipt: str | None = None
    rollback_pointer: RollbackPointer | None = None


class PipelineTry(Struct, kw_only=True):
    """One candidate and what became of it: `error` while that is not decided. A path is null where
    that stage was not reached.
    """

    decision: PipelineDecisionWord
    reason: Name
    candidate_id: str | None
    candidates: str | None
    ranking: str | None
    evaluation: str | None
    execution: str | None
    receipt: str | None
    traces: str | None
    execution_pass_rate: Rate | None
    baseline_pass_rate: Rate | None
    delta: Delta | None
    interval: Annotated[list[float], Meta(min_length=2, max_length=2)] | None


class Pipeline(Struct, kw_only=True):
    """What `skill run` writes and prints."""

    folder: ClassVar[str] = "pipelines"

    schema: Literal["honestone.pipeline/1"] = "honestone.pipeline/1"
    run: Name
    resumed: bool = False
    created_at: Moment
    skill: SkillNamed
    task_suite: Name
    decision: PipelineDecisionWord
    reason: Name
    candidate_id: str | None
    evaluation: str | None
    execution_pass_rate: Rate | None
    baseline_pass_rate: Rate | None
    delta: Delta | None
    interval: Annotated[list[float], Meta(min_length=2, max_length=2)] | None
    mock: bool
    tries: Annotated[
        list[PipelineTry], Meta(description="In order; what could not be judged is not a try.")
    ]
    limits: JsonObject = {}
    usage: JsonObject
    truth_anchor: ThisFile


class TracedTask(Struct, kw_only=True, omit_defaults=True):
    """A task that failed with an edit, with its prompt and the judge's words."""

    task_id: Name
    prompt: str | None = None
    details: str | None = None
    passed_before: bool | None = None


class Traces(Struct, kw_only=True):
    """Why an edit was put back, for the next proposal."""

    folder: ClassVar[str] = "traces"

    type: str = "failure_trace"
    run_id: str | None = None
    candidate_id: Name
    candidate_digest: Digest | None = None
    reason: str
    failed_tasks: Annotated[
        list[TracedTask | Name], Meta(description="What the next proposal is shown.")
    ]
    failed_dimension: str | None = None
    failed_category: str | None = None
    scores_before: float | None = None
    scores_after: float | None = None
    created_at: str = ""
    truth_anchor: str = ""


class PendingEdit(Struct, kw_only=True):
    """An edit that waits for a person."""

    candidate_id: Name


class Pending(Struct, kw_only=True):
    """Edits that wait for a person, in STATE_ROOT."""

    pending: list[PendingEdit]
    last_updated: str | None = None


class MemoryEntry(Struct, kw_only=True):
    """What became of the edits of one kind: advice for the next proposal."""

    type: Annotated[Name, Meta(description="The category of the edits.")]
    succeeded: bool
    context: JsonObject
    timestamp: str
    hit_count: Annotated[int, Meta(ge=1)]


# ----------------------------------------------------------------------------------------------------------
# reading

D = TypeVar("D", bound=StageDocument)
S = TypeVar("S", bound=Struct)


class StageFile(Struct, Generic[D], frozen=True, kw_only=True):
    """One artifact as it was read: `body` is what it means to us, `document` all that it says,
    `marked` where.
    """

    path: Path
    body: D
    document: JsonObject
    marked: Marked

    def at(self, *steps: str | int) -> str:
        return self.marked.at(steps)


def read_object(path: Path) -> Marked:
    """A JSON file whose root is an object. Raises FileError with the place."""
    marked = read_marked(path)
    if not isinstance(marked.value, dict):
        raise FileError("this file must hold a JSON object", place=marked.at())
    return marked


def read_stage(path: Path, kind: type[D], *, shown: str | None = None) -> StageFile[D]:
    """The artifact of a stage, of this program or another. Raises UsageError with the place where
    it is not one.
    """
    marked = read_object(path)
    document: JsonObject = marked.value
    says, version = document.get("stage"), document.get("schema_version")
    verb, what, wanted = kind.written
    if says != wanted:
        found = (
            f"it is the artifact of another stage, {says!r}"
            if isinstance(says, str)
            else "it has no `stage` field"
        )
        raise UsageError(
            f"`{shown or path}` is not {what}: {found}",
            place=marked.at(("stage",)),
            hint=f"`honestone skill {verb}` writes {what} (stage: {wanted})",
        )
    if version != SCHEMA_VERSION:
        raise UsageError(
            f"its schema version is {version!r}, and only {SCHEMA_VERSION!r} is known",
            place=marked.at(("schema_version",)),
        )
    return StageFile(path=path, body=read_as(marked, kind), document=document, marked=marked)


_AT: Final = late_pattern(r"^(.*?)(?: - at `\$(.*)`)?$", re.DOTALL)
_TYPES: Final = {
    "str": "text",
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
}


def read_as(marked: Marked, kind: type[S]) -> S:
    """A file's values as one of the documents above. Raises UsageError with the place of what does
    not fit.
    """
    try:
        return msgspec.convert(marked.value, kind)
    except msgspec.ValidationError as error:
        match = _AT.match(str(error))
        problem, steps = (match[1], _steps(match[2] or "")) if match else (str(error), [])
        missing = re.search(r"missing required field `(\w+)`", problem)
        if missing:
            message = f"`{_dotted([*steps, missing[1]])}` is missing"
        else:
            message = f"`{_dotted(steps)}` does not fit: {_in_words(problem)}"
        raise UsageError(message, place=marked.at(steps)) from None


def _steps(path: str) -> list[str | int]:
    """`.candidates[0].id` as the steps of a marked path."""
    return [int(at) if at else key for key, at in re.findall(r"\.([^.\[]+)|\[(\d+)\]", path)]


def _dotted(steps: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(
        "."
    )


def _in_words(text: str) -> str:
    words = re.sub(
        r"`([a-z| ]+)`",
        lambda match: " or ".join(_TYPES.get(one, one) for one in match[1].split(" | ")),
        text,
    )
    return words[:1].lower() + words[1:]
