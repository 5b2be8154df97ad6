"""The history of runs: one line each, with what it came to, how that changed, and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import takewhile
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, TypedDict

import msgspec
from msgspec import Struct

from honestone.app.run_figures import RunFigures
from honestone.core.editing.result import EXIT_CODES, Result
from honestone.core.errors import StoreError
from honestone.core.numbers import (
    chance_percent,
    change_words,
    duration_words,
    money,
    percent,
    points,
    rate_change_words,
)
from honestone.core.record.runs import COLUMN, SUITES, TABLE, loop_of_side
from honestone.report.documents.run_list import RunPart, RunRow
from honestone.report.documents.states import state_phrase
from honestone.system.drawing import count, line

if TYPE_CHECKING:
    from honestone.app.workspace import Workspace
    from honestone.ports import RunInfo, Store

UNFINISHED: Final = "unfinished"
# How a verdict is drawn; what is unfinished, interrupted or only measured has none.
LOOKS: Final = {
    "pass": "passed",
    "fail": "failed",
    "inconclusive": "inconclusive",
}
# Runs of one second share the first 9 or 10 letters of their ids, all runs of a day the first 6.
_SHORTEST_ID: Final = 8
_VERDICTS = {0: "pass", 1: "fail", 3: "inconclusive", 130: "interrupted"}


class _Ended(msgspec.Struct):
    """Of the last event of a run: what it came to, where whoever ended it knew that."""

    figures: RunFigures | None = None


class PlainRun(TypedDict):
    """A run as `runs --json` lists it. `score` and `change` are in points, or for a suite `change`
    is that of `pass_rate` (0-1). `part_of`: the id of the improvement whose split it is of.
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
    part_of: str | None
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
    left_out: int
    change: float | None


class ListedRun(Struct, frozen=True, kw_only=True):
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
            "part_of": None if figures.side is None else loop_of_side(figures.side),
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
            "left_out": figures.left_out,
            "change": self.change,
        }


def run_row(
    run: ListedRun, short_id: str, folder: PurePath, parts: Sequence[ListedRun] = ()
) -> RunRow:
    """The row of a run. Paths are shown from `folder` on. `parts`: the runs of the splits of an
    improvement by a suite.
    """
    info, figures = run.info, run.figures
    side = f" ({figures.side})" if figures.side else ""
    what = _path_from(info.subject, folder)
    title = figures.title or (PurePath(figures.by).stem if figures.by else "")
    # A suite without a title has its file's name for one.
    is_own_name = info.kind in (TABLE, *SUITES) and title == PurePath(what).name
    return RunRow(
        id=info.id,
        short_id=short_id,
        started=info.started[:16].replace("T", " "),
        kind=info.kind,
        what=line(what + side),
        by="" if is_own_name else line(title),
        state=_state(info, figures),
        look=LOOKS.get(run.verdict or UNFINISHED, "skipped"),
        result=_result(figures),
        change=_change_in_words(run),
        cost="" if figures.usd is None else money(figures.usd),
        work=_work(figures),
        person=line(info.person or ""),
        chance=_chance(figures),
        is_low_confidence=figures.low_confidence and run.verdict in ("pass", "fail"),
        parts=tuple(
            RunPart(
                id=part.info.id,
                started=part.info.started[:16].replace("T", " "),
                result=_result(part.figures),
            )
            for part in parts
        ),
    )


def _path_from(subject: str, folder: PurePath) -> str:
    path = PurePath(subject)
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else subject


def _state(info: RunInfo, figures: RunFigures) -> str:
    """The verdict, or what a loop ended with where that says more: `plateau`."""
    is_partial = figures.left_out > 0
    return state_phrase(
        info.result or UNFINISHED, is_partial=is_partial, is_undecided=figures.is_undecided
    )


def _result(figures: RunFigures) -> str:
    if figures.pass_rate is not None:
        return percent(figures.pass_rate)
    return "" if figures.score is None else points(figures.score)


def _change_in_words(run: ListedRun) -> str:
    if run.change is None:
        return ""
    is_rate = run.figures.pass_rate is not None
    return rate_change_words(run.change) if is_rate else change_words(run.change)


def _chance(figures: RunFigures) -> str:
    """Empty where it is not known, and where it is certain."""
    probability = figures.probability
    return "" if probability is None or probability in (0.0, 1.0) else chance_percent(probability)


def _work(figures: RunFigures) -> str:
    callers = (("target", figures.target_calls), ("judge", figures.judge_calls))
    parts = [count(calls, f"{caller} call") for caller, calls in callers if calls]
    if figures.duration_ms is not None:
        parts.append(duration_words(figures.duration_ms))
    return " · ".join(parts)


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """For each id its shortest beginning of at least 8 letters that no other of them has."""
    in_order = sorted(ids)
    found = {}
    for before, id, after in zip(["", *in_order], in_order, [*in_order[1:], ""], strict=False):
        shared = max(_shared_length(id, other) for other in (before, after))
        found[id] = id[: max(_SHORTEST_ID, shared + 1)]
    return found


def verdict_of(info: RunInfo) -> str | None:
    """`pass`, `fail`, `inconclusive`, ... of any kind of run; None while it is unfinished."""
    try:
        return _VERDICTS[EXIT_CODES.get(Result(info.result or ""), 1)]
    except ValueError:
        return info.result


def _shared_length(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def list_runs(
    workspace: Workspace, *, limit: int, kind: str | None = None, verdict: str | None = None
) -> list[ListedRun]:
    """Newest first, the columns of tables only as a `kind` of their own. `verdict` may be a word of
    the list too (`partial`), a result (`UNCONFIRMED`), or `unfinished`.
    """
    with workspace.open_store(readonly=True, is_shown=True) as store:
        every = store.runs()
        figures = cache(lambda run: figures_of_run(store, run))
        return [
            listed_run(info, every, figures)
            for info in chosen_runs(every, kind, verdict, figures)[:limit]
        ]


def list_rows(
    workspace: Workspace, *, limit: int, kind: str | None = None, verdict: str | None = None
) -> list[RunRow]:
    """The same as rows. The runs of an improvement's splits are parts of its row."""
    with workspace.open_store(readonly=True, is_shown=True) as store:
        every = store.runs()
        figures = cache(lambda run: figures_of_run(store, run))
        chosen = chosen_runs(every, kind, verdict, figures)
        parts = parts_of(chosen, every, figures)
        shown = without_parts(chosen, parts)[:limit]
        return rows_of(shown, parts, every, figures, workspace.folder)


def rows_of(
    shown: Sequence[RunInfo],
    parts: Mapping[str, Sequence[RunInfo]],
    every: Sequence[RunInfo],
    figures: Callable[[str], RunFigures],
    folder: PurePath,
) -> list[RunRow]:
    """`shown` of `every` run as rows; `parts` are those of `parts_of`. Paths are shown from
    `folder` on.
    """
    names = short_ids(info.id for info in every)
    return [
        run_row(
            listed_run(info, every, figures),
            names[info.id],
            folder,
            [ListedRun(info=part, figures=figures(part.id)) for part in parts.get(info.id, ())],
        )
        for info in shown
    ]


def parts_of(
    chosen: Sequence[RunInfo], every: Sequence[RunInfo], figures: Callable[[str], RunFigures]
) -> dict[str, list[RunInfo]]:
    """The runs of splits among `every`, by the id of the improvement among `chosen` that they
    belong to, oldest first.
    """
    loops = [info for info in chosen if info.kind == "improve"]
    found: dict[str, list[RunInfo]] = {}
    for info in reversed(every):
        if info.kind != "suite":
            continue
        around = [loop for loop in loops if _is_within(info, loop)]
        side = figures(info.id).side if around else None
        for loop in around:
            if side is not None and loop_of_side(side) == loop.id:
                found.setdefault(loop.id, []).append(info)
    return found


def _is_within(run: RunInfo, loop: RunInfo) -> bool:
    """Whether a run began while a loop was under way: what it is a side of is read only then."""
    return loop.id < run.id and (loop.finished is None or run.started <= loop.finished)


def without_parts(
    chosen: Sequence[RunInfo], parts: Mapping[str, Sequence[RunInfo]]
) -> list[RunInfo]:
    inside = {info.id for runs in parts.values() for info in runs}
    return [info for info in chosen if info.id not in inside]


def chosen_runs(
    every: Sequence[RunInfo],
    kind: str | None,
    verdict: str | None,
    figures: Callable[[str], RunFigures],
) -> list[RunInfo]:
    listed = [
        info for info in every if (info.kind == kind if kind is not None else info.kind != COLUMN)
    ]
    return [
        info for info in listed if verdict is None or _has_verdict(info, verdict.lower(), figures)
    ]


def _has_verdict(info: RunInfo, wanted: str, figures: Callable[[str], RunFigures]) -> bool:
    """By the word of the list, or by that of `--json`."""
    result = info.result or UNFINISHED
    # The figures are read only where they make the difference.
    if result == "pass" and wanted in ("passed", "partial"):
        return wanted == _state(info, figures(info.id))
    if result == "inconclusive" and wanted != result:
        return wanted == _state(info, figures(info.id))
    return wanted in {verdict_of(info) or UNFINISHED, result.lower(), state_phrase(result)}


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
