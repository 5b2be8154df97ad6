"""A skill's run compared with its baseline: all that its report says of the two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from honestone.core.skill.evaluation import SkillResult, SkillVerdict, TaskResult
from honestone.core.suite.comparison import RunComparison


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillComparison:
    """`verdict` holds, with every option; `figures` are those of the tasks alone. `structure` is advice on the files.

    `is_cached`: the baseline was run before; `baseline_usage` is what it cost this time.
    """

    verdict: SkillVerdict
    reasons: tuple[str, ...]
    figures: SkillResult
    comparison: RunComparison
    candidate: Sequence[TaskResult]
    baseline: Sequence[TaskResult]
    baseline_name: str
    baseline_run: str | None
    baseline_usage: Mapping[str, object]
    is_cached: bool
    is_mock: bool
    structure: Sequence[Mapping[str, object]]
    flags: Sequence[str]
