"""What `eval SUITE` was asked, as plain JSON, so that a runner on another machine asks the same of the same files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

import msgspec

from honestone.app.judging_options import JudgingKeywords, JudgingOptions
from honestone.app.suites.plan import CaseChoice, SuiteRequest
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.json_value import JsonObject


class OrderedJudging(JudgingKeywords, total=False):
    """The options of `JudgingOptions` that are plain values, under the same names."""

    allow_host: Sequence[str]
    read_as: str | None
    max_calls: int | None
    max_usd: float | None
    max_minutes: float | None


class OrderedSuite(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The options of `SuiteRequest` that are plain values. Paths are from the folder that the order was made in."""

    suite: str
    judging: OrderedJudging
    judges: tuple[str, ...] = ()
    target: str | None = None
    artifact: str | None = None
    ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    attempts: int | None = None
    attempt_rule: str | None = None
    concurrency: int | None = None
    target_timeout: float | None = None
    min_pass_rate: str | None = None
    accept_loss: bool = False

    def to_plain(self) -> JsonObject:
        plain: JsonObject = msgspec.to_builtins(self)
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, object]) -> OrderedSuite:
        """Raises ValueError for what `to_plain` never gave."""
        return msgspec.convert(plain, cls)

    def request(self) -> SuiteRequest:
        return SuiteRequest(
            suite=Path(self.suite),
            judging=JudgingOptions(judges=self.judges, **self.judging),
            target=self.target,
            artifact=None if self.artifact is None else Path(self.artifact),
            choice=CaseChoice(ids=self.ids, tags=self.tags, splits=self.splits, shard=self.shard),
            attempts=self.attempts,
            attempt_rule=self.attempt_rule,
            concurrency=self.concurrency,
            target_timeout=self.target_timeout,
            min_pass_rate=None if self.min_pass_rate is None else Fraction(self.min_pass_rate),
            accept_loss=self.accept_loss,
        )


_JUDGING: Final = tuple(OrderedJudging.__annotations__)
_NOT_REMOTE: Final = {
    "pick": "--pick",
    "outputs": "--outputs",
    "baseline": "--baseline",
    "fail_on": "--fail-on",
    "update_baseline": "--update-baseline",
    "require_improvement": "--require-improvement",
    "across_contracts": "--across-contracts",
    "mock": "--mock",
}


def ordered(workspace: Workspace, request: SuiteRequest) -> OrderedSuite:
    """Raises UsageError for what only a run on this machine can do."""
    for name, option in _NOT_REMOTE.items():
        if getattr(request, name):
            _refuse(f"{option} is for runs on this machine")
    if len(request.targets) > 1 or len(request.artifacts) > 1:
        _refuse("a table of several targets or artifacts is run on this machine")
    judging, choice = request.judging, request.choice
    if judging.batch is not None or judging.allow_outside:
        _refuse("--batch and --allow-outside are for runs on this machine")
    if choice.failed or choice.errored:
        _refuse("--failed and --errored are for runs on this machine", "name the cases with --case")
    target = request.target or next(iter(request.targets), None)
    named = [one for one in (*judging.judges, target) if one is not None]
    texts = [one for one in named if isinstance(one, str)]
    if len(texts) < len(named) or "human" in texts:
        _refuse("a judge or target that is a person, a function or an object of this process cannot travel")
    artifact = request.artifact or next(iter(request.artifacts), None)
    # The code of another tool's file was permitted here, or this machine would not have read it.
    given = {name: getattr(judging, name) for name in _JUDGING} | {"allow_code": True}
    return OrderedSuite(
        suite=_from(workspace, request.suite),
        judging=msgspec.convert(given, OrderedJudging),
        judges=tuple(one for one in judging.judges if isinstance(one, str)),
        target=target if isinstance(target, str) else None,
        artifact=None if artifact is None else _from(workspace, artifact),
        ids=choice.ids,
        tags=choice.tags,
        splits=choice.splits,
        shard=choice.shard,
        attempts=request.attempts,
        attempt_rule=request.attempt_rule,
        concurrency=request.concurrency,
        target_timeout=request.target_timeout,
        min_pass_rate=None if request.min_pass_rate is None else str(request.min_pass_rate),
        accept_loss=request.accept_loss,
    )


def _refuse(why: str, hint: str = "leave out --remote, or that") -> None:
    raise UsageError(f"{why}, but --remote has the cases run on other machines", hint=hint)


def _from(workspace: Workspace, path: Path) -> str:
    """As a path from the folder of the workspace, whatever form it was given in."""
    return os.path.relpath(workspace.path(path).resolve(), workspace.folder)
