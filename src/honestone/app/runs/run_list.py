"""The history of runs: one line each, with what it came to, how that changed, and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypedDict

import msgspec

from honestone.app.run_figures import RunFigures
from honestone.core.editing.result import EXIT_CODES, Result
from honestone.core.errors import StoreError
from honestone.core.numbers import chance_words, change_words, duration_words, points
from honestone.core.record.kinds import COLUMN
from honestone.system.drawing import count, line

if TYPE_CHECKING:
    from honestone.app.workspace import Workspace
    from honestone.ports import RunInfo, Store

UNFINISHED = "unfinished"
_VERDICTS = {0: "pass", 1: "fail", 3: "inconclusive", 130: "interrupted"}


class _Ended(msgspec.Struct):
    """Of the last event of a run: what it came to, where whoever ended it knew that."""

    figures: RunFigures | None = None


class PlainRun(TypedDict):
    """A run as `runs --json` lists it. `score` and `change` are in points, or for a suite `change`
    is that of `pass_rate` (0-1).
    """

    id: str
    kind: str
    subject: str
    contract: str
    started: str
    finished: str | None
    result: str | None
    project: str
    person: str
    verdict: str | None
    side: str | None
    title: str | None
    score: float | None
    pass_rate: float | None
    probability: float | None
    usd: float | None
    target_calls: int
    judge_calls: int
    duration_ms: int | None
    judges: Sequence[str]
    low_confidence: bool
    change: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """One line of `runs`. `change` is against the run before of the same subject, kind and side: of
    the pass rate (0-1), else of the score (points); None at first.
    """

    info: RunInfo
    figures: RunFigures
    change: float | None = None

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def verdict(self) -> str | None:
        return verdict_of(self.info)

    @property
    def words(self) -> str:
        """Title, rate or score, change, cost and time, as far as they are known."""
        figures = self.figures
        parts = [line(figures.title or "")]
        if figures.pass_rate is not None:
            parts.append(f"{points(figures.pass_rate * 100)}%")
        elif figures.score is not None:
            parts.append(points(figures.score))
        if self.change is not None:
            is_rate = figures.pass_rate is not None
            parts.append(change_words(self.change * 100 if is_rate else self.change))
        if figures.probability not in (None, 0.0, 1.0) and self.verdict != "fail":
            parts.append(chance_words(figures.probability or 0.0))
        if figures.low_confidence and self.verdict in ("pass", "fail"):
            parts.append("low confidence")
        for caller, calls in (("target", figures.target_calls), ("judge", figures.judge_calls)):
            if calls:
                parts.append(count(calls, f"{caller} call"))
        if figures.usd is not None:
            parts.append(f"{figures.usd:.4g} USD")
        if figures.duration_ms is not None:
            parts.append(duration_words(figures.duration_ms))
        return "  ".join(part for part in parts if part)

    def to_plain(self) -> PlainRun:
        info, figures = self.info, self.figures
        return {
            "id": info.id,
            "kind": info.kind,
            "subject": info.subject,
            "contract": info.contract,
            "started": info.started,
            "finished": info.finished,
            "result": info.result,
            "project": info.project or "",
            "person": info.person or "",
            "verdict": self.verdict,
            "side": figures.side,
            "title": figures.title,
            "score": figures.score,
            "pass_rate": figures.pass_rate,
            "probability": figures.probability,
            "usd": figures.usd,
            "target_calls": figures.target_calls,
            "judge_calls": figures.judge_calls,
            "duration_ms": figures.duration_ms,
            "judges": figures.judges,
            "low_confidence": figures.low_confidence,
            "change": self.change,
        }


def verdict_of(info: RunInfo) -> str | None:
    """`pass`, `fail`, `inconclusive`, ... of any kind of run; None while it is unfinished."""
    try:
        return _VERDICTS[EXIT_CODES.get(Result(info.result or ""), 1)]
    except ValueError:
        return info.result


def list_runs(
    workspace: Workspace, *, limit: int, kind: str | None = None, verdict: str | None = None
) -> list[ListedRun]:
    """Newest first, the columns of tables only as a `kind` of their own. `verdict` may be a result
    too (`UNCONFIRMED`), or `unfinished`.
    """
    with workspace.open_store(readonly=True, is_shown=True) as store:
        every = store.runs()
        figures = cache(lambda run: figures_of_run(store, run))
        return [
            listed_run(info, every, figures) for info in chosen_runs(every, kind, verdict)[:limit]
        ]


def chosen_runs(every: Sequence[RunInfo], kind: str | None, verdict: str | None) -> list[RunInfo]:
    listed = [
        info for info in every if (info.kind == kind if kind is not None else info.kind != COLUMN)
    ]
    return [info for info in listed if _has_verdict(info, verdict)]


def _has_verdict(info: RunInfo, wanted: str | None) -> bool:
    known = {verdict_of(info) or UNFINISHED, (info.result or UNFINISHED).lower()}
    return wanted is None or wanted.lower() in known


def listed_run(
    info: RunInfo, every: Sequence[RunInfo], figures: Callable[[str], RunFigures]
) -> ListedRun:
    """One of `every` run with its change against the one before."""
    now = figures(info.id)
    for old in every:
        if old.id < info.id and _same(old, info) and old.finished is not None:
            before = figures(old.id)
            if (before.side, before.compared_by) == (now.side, now.compared_by):
                return ListedRun(info=info, figures=now, change=_change(before, now))
    return ListedRun(info=info, figures=now)


def _same(one: RunInfo, other: RunInfo) -> bool:
    """Whether two runs are of the same thing under the same contract: `suite.yaml` of two projects
    that share a store are not.
    """
    return _subject(one) == _subject(other)


def _subject(run: RunInfo) -> tuple[str, str, str, str]:
    return run.kind, run.subject, run.project or "", run.contract


def _change(before: RunFigures, now: RunFigures) -> float | None:
    old, new = before.pass_rate, now.pass_rate
    if old is None or new is None:
        old, new = before.score, now.score
    return None if old is None or new is None else round(new - old, 9)


def figures_of_run(store: Store, run: str) -> RunFigures:
    """Those that were kept when it ended, else from its events; of a run that cannot be read
    nothing is known.
    """
    try:
        return _stored_figures(store.last_event(run)) or _read_figures(store, run)
    except StoreError:
        return RunFigures()


def _stored_figures(last: bytes) -> RunFigures | None:
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(last, type=_Ended).figures
    return None


def _read_figures(store: Store, run: str) -> RunFigures:
    from honestone.app.runs.figures_from_events import read_figures

    return read_figures(store, run)
