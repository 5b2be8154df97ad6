"""What a suite's report says of one case: its attempts, their traces, marks and findings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from honestone.core import numbers
from honestone.core.belief.stated import EVEN
from honestone.report.documents import scorecard
from honestone.report.documents.belief import BeliefDoc
from honestone.system.drawing import line

StatusName: TypeAlias = Literal["passed", "failed", "inconclusive", "target-error", "skipped"]

STATUSES: Final[
    Mapping[str, tuple[str, str]]
] = {  # in the order of a summary: glyph of `draw.GLYPHS`, colour
    "passed": ("yes", "green"),
    "failed": ("no", "red"),
    "inconclusive": ("unknown", "yellow"),
    "target-error": ("warn", "yellow"),
    "skipped": ("absent", "dim"),
}


class TraceCallDoc(Struct, frozen=True, kw_only=True):
    """One call of a tool."""

    name: str = ""
    arguments: object = None
    result: object = None


class TraceDoc(Struct, frozen=True, kw_only=True):
    """What a target says of its own run.

    `tool_calls`: `null` where it does not say
    `skill_loaded`: whether the agent read the skill
    `model_calls`: how often it asked its model
    `extra`: what else it says
    """

    tool_calls: list[TraceCallDoc] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    duration_ms: int | float | None = None
    skill_loaded: bool | None = None
    model_calls: int | None = None
    extra: dict[str, object] = {}


class AttemptDoc(Struct, frozen=True, kw_only=True):
    """One attempt at a case.

    `attempt`: from 1
    `scores`: of each criterion by its id, 0 to 100, `null` without an answer; absent where there is
        one attempt, or nothing was judged
    `duration_ms`: in the target
    """

    attempt: int
    status: StatusName
    verdict: str = ""
    score: float | None = None
    interval: list[float] | None = None
    scores: dict[str, float | None] | UnsetType = UNSET
    duration_ms: int | float = 0
    reasons: list[str] = []
    output: object = None
    diff: str | None = None
    trace: TraceDoc | None = None


class CaseDoc(Struct, frozen=True, kw_only=True):
    """One case of a suite: the scorecard of the attempt that counts for it, its own result, and
    every
    attempt.

    `description`, `status`: for people; one of the five of `counts`
    `belief`: how sure it is that the attempt shown meets its rubric; `null` where nothing was judged
    `passes`: the probability that the case truly passes, where neither `belief` nor the status says it,
        as of several attempts, or where `expect` turns it round; `null` where its looks do not say it
    `score`, `interval`: what the attempts come to by `attempt_rule`; without a score 0 to 100
    `attempts`, `shown_attempt`: every attempt; the one that `criteria`, `output`, `diff`, `error`
        and `trace` are of
    `input`, `reference`: what the target got; what judges also saw
    `output`, `error`: what came out; why nothing did
    `diff`, `trace`: what the target changed in the workspace; what it says of its run (tokens, tool
        calls)
    `tags`, `metadata`, `split`: as written; or the hash's split
    `noise`: which changes of the score are noise of the judges, where `honestone judges noise` has
        measured its rubric with them
    `unstable`, `duration_ms`: attempts disagree; time in the target, all attempts
    `judged_by`: the files by which checks that run code judged; absent where there is none
    `contract`: of the case: rubric, input, reference, workspace, attempts
    """

    id: str
    description: str | None = None
    status: StatusName
    verdict: str = ""
    reasons: list[str] = []
    belief: BeliefDoc | None = None
    passes: float | UnsetType | None = UNSET
    score: float | None
    interval: list[float] | None = None
    threshold: int | float | None = None
    floor: int | float | None = None
    low_confidence: bool = False
    criteria: list[scorecard.CriterionDoc] = []
    judges: list[scorecard.JudgeDoc] = []
    flags: list[str] = []
    sandbox: str | None = None
    judged_by: list[str] | UnsetType = UNSET
    evidence_found: scorecard.EvidenceShareDoc | None = None
    contract: str
    duration_ms: int | float | None = None
    unstable: bool
    shown_attempt: int | None = None
    attempt_rule: str = ""
    attempts: list[AttemptDoc] = []
    input: object = None
    reference: object = None
    output: object = None
    error: str | None = None
    diff: str | None = None
    trace: TraceDoc | None = None
    tags: list[str] = []
    metadata: dict[str, object] | UnsetType = UNSET
    split: str | None = None
    noise: scorecard.KnownNoiseDoc | UnsetType = UNSET

    @property
    def chance(self) -> float | None:
        """The probability (0-1) that it truly passes, as far as the report says it. Where `passes`
        is absent and the status is not the likelier one by `belief`, it does not: a report of an
        older version may be of a case that is turned round, or below its quorum.
        """
        if self.status == "target-error":
            return 0.0
        if self.passes is not UNSET:
            return self.passes
        if len(self.attempts) > 1:
            return None
        chance = None if self.belief is None else self.belief.probability
        likelier = chance is not None and chance >= EVEN
        stated = "passed" if likelier else "failed"
        return chance if self.status == stated else None

    @property
    def probability(self) -> float | None:
        """What rows of tables state of the case: `passes` where it is there, else `belief`."""
        if self.passes is not UNSET:
            return self.passes
        return None if self.belief is None else self.belief.probability

    @property
    def chance_words(self) -> str:
        """`92% sure that it passes`; empty where judges say nothing of it."""
        known = self.probability
        return (
            ""
            if known in (None, 0.0, 1.0)
            else f"{numbers.chance_words(known or 0.0)} that it passes"
        )

    @property
    def name(self) -> str:
        return line(self.id) or "(no name)"

    @property
    def is_lonely(self) -> bool:
        """Whether it passed or failed by the word of one judge."""
        return self.low_confidence and self.status in ("passed", "failed")

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """(name, meaning) of what a reader must know before its verdict."""
        return scorecard.low_confidence_of(int(self.is_lonely), 1)

    @property
    def warning_flags(self) -> list[str]:
        """Its flags, with what a reader must know before its verdict in front."""
        return [*scorecard.warning_words(self.warnings), *self.flags]

    @property
    def own_error(self) -> str | None:
        """Why nothing came out; None of a case that is skipped, whose reasons say why."""
        return None if self.status == "skipped" else self.error

    @property
    def without_texts(self) -> CaseDoc:
        """The case without its input, its output and its attempts."""
        return replace(
            self, input=None, reference=None, output=None, diff=None, trace=None, attempts=[]
        )

    @property
    def brief(self) -> CaseDoc:
        """The case without texts, answers and attempts: what a report on many cases counts and
        sorts by. It still shows whether there is an answer: the first criterion stays, without its
        items.
        """
        criteria = [replace(one, items=[]) for one in self.criteria[:1]]
        bare = self.without_texts
        return replace(
            bare, description=None, reasons=[], criteria=criteria, error=None, metadata=UNSET
        )

    @property
    def is_open(self) -> bool:
        """Whether a reader has to look: everything but passed and skipped."""
        return self.status not in ("passed", "skipped")

    @property
    def time(self) -> numbers.Number | None:
        """Milliseconds in the target; None when it was not run."""
        return None if self.status == "skipped" else self.duration_ms

    @property
    def has_score(self) -> bool:
        """Whether there is something to show: a score, or what is known of one."""
        return self.score is not None or bool(
            self.interval and self.status not in ("target-error", "skipped")
        )

    @property
    def score_words(self) -> str:
        return numbers.score_or_interval(self.score, self.interval) if self.has_score else "n/a"

    @property
    def attempts_words(self) -> list[str]:
        """`["1 passed 100.0", "2 failed 0.0"]` where there is more than one."""
        attempts = [
            f"{one.attempt}: {one.status} {numbers.score_or_interval(one.score, None)}"
            for one in self.attempts
        ]
        return attempts if len(attempts) > 1 else []

    @property
    def findings(self) -> list[tuple[scorecard.CriterionDoc, scorecard.ItemDoc]]:
        """The items that are not met or not answered, each with its criterion."""
        return [
            pair
            for pair in scorecard.items_of(self.criteria)
            if pair[1].is_problem or pair[1].is_unanswered
        ]

    def judge_score(self, judge: str) -> Fraction | None:
        """One judge's overall score in points: the weighted mean over the top-level criteria, as
        the gate has it.

        Criteria that code answers alone count as they are. None when the judge left something open.
        """
        total = positive = Fraction(0)
        took_part = False
        for criterion in self.criteria:
            if criterion.parent is not None or not criterion.applies:
                continue
            took_part |= judge in criterion.by_judge
            score = criterion.by_judge.get(judge)
            if score is None and criterion.voters is None:
                score = criterion.score
            if score is None:
                return None
            weight = numbers.exact(1 if criterion.weight is None else criterion.weight)
            total += weight * numbers.exact(score)
            positive += max(weight, Fraction(0))
        return (
            max(Fraction(0), min(total / positive, Fraction(100)))
            if took_part and positive
            else None
        )


def text_of(value: object) -> str:
    """An input, output or reference as text: messages as `role: content` blocks, other values as
    JSON.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if (
        isinstance(value, list)
        and value
        and all(isinstance(text, str) for _, text in map(_message, value))
    ):
        messages = [_message(one) for one in value]
        return (
            str(messages[0][1])
            if len(value) == 1
            else "\n\n".join(f"{role}: {text}" for role, text in messages)
        )
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _message(value: object) -> tuple[object, object]:
    """(role, content), the content None where this is not a message."""
    return (
        (value.get("role", "user"), value.get("content"))
        if isinstance(value, Mapping)
        else ("", None)
    )
