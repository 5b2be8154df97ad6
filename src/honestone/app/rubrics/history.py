"""What recorded runs say about the items of a rubric: difficulty, correlation, disagreement, as
numbers and findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final, TypeAlias, TypedDict

from msgspec import Struct, field
from msgspec.structs import asdict

from honestone.app.rubrics.item_stats import ItemStats, Record, item_stats
from honestone.app.workspace import Workspace
from honestone.core.authoring.lint import Remark
from honestone.core.events import BallotCast, EvaluationStarted, Event, LoopStarted, judged_in
from honestone.core.judging.ballot import Ballot
from honestone.core.judging.rubric import Item, Key, Rubric
from honestone.formats.syntax.marked import Marked
from honestone.ports import Store

# How many of the newest runs are looked through.
RUNS: Final = 500


_Figure: TypeAlias = str | int | float | tuple[str, ...] | None


class PlainHistory(TypedDict):
    """A `History` as JSON."""

    artifacts: int
    runs: int
    items: list[dict[str, _Figure]]


class History(Struct, frozen=True, kw_only=True):
    """What is on record about this rubric's items, wherever they were asked in the same words."""

    record: Record = field(default_factory=Record)
    runs: int = 0
    items: tuple[ItemStats, ...] = ()

    @property
    def ids(self) -> frozenset[str]:
        """Ids of criteria and items that have answers."""
        return frozenset(id for one in self.items for id in one.key)

    def to_plain(self) -> PlainHistory:
        return {
            "artifacts": len(self.record),
            "runs": self.runs,
            "items": [_figures_of(one) for one in self.items],
        }


def _figures_of(one: ItemStats) -> dict[str, _Figure]:
    """Its figures, none of which has more than nine places."""
    plain = asdict(one)
    criterion, item = plain.pop("key")
    numbers = {
        name: round(float(x), 9) if isinstance(x, Fraction | float) else x
        for name, x in plain.items()
    }
    return {"criterion": criterion, "item": item, **numbers}


def read_history(workspace: Workspace, rubric: Rubric) -> History:
    """Raises StoreError for a store that is missing or cannot be read."""
    record, runs = Record(), 0
    with workspace.open_store(readonly=True) as store:
        for info in reversed(store.runs(limit=RUNS)):  # the oldest first, as the last answer counts
            runs += _add_run(store, info.id, rubric, record)
    return History(record=record, runs=runs, items=tuple(item_stats(rubric, record)))


def _add_run(store: Store, run: str, rubric: Rubric, record: Record) -> bool:
    """Whether the run had answers to any of these items."""
    from honestone.app.history import still_valid

    log: Iterator[Event] = store.iter_events(run)
    started = next(log, None)
    if not isinstance(started, EvaluationStarted | LoopStarted):
        return False  # a suite, whose cases have rubrics of their own
    was = started.rubric
    if not _same_questions(was, rubric):
        return False
    for event in log:
        for artifact, ballots in _ballots(event):
            record.add(artifact, [still_valid(ballot, was, rubric) for ballot in ballots])
    return True


def _same_questions(was: Rubric, now: Rubric) -> set[Key]:
    """Items that were asked then as they are now. Thousands of runs of other rubrics are passed by
    quickly.
    """
    old: dict[Key, Item] = dict(was.questions())
    return {
        key
        for key, item in now.questions()
        if key in old and old[key].requirement == item.requirement
    }


def _ballots(event: Event) -> Iterator[tuple[str, list[Ballot]]]:
    """What was judged (its digest, with the output where a target made one), and the answers about
    it.
    """
    if isinstance(event, BallotCast):
        yield event.version, [event.ballot]
        return
    for judged in judged_in(event):
        name = judged.digest if judged.output is None else f"{judged.digest}\0{judged.output}"
        yield name, list(judged.ballots)


# ----------------------------------------------------------------------------------------------------
# findings


def history_findings(history: History, rubric: Rubric, place_of: dict[Key, str]) -> list[Remark]:
    """Items that say nothing, on which judges differ, or that go against all others; with the
    numbers.
    """
    checks = {key for key, item in rubric.questions() if item.check is not None}
    findings = []
    for one in history.items:
        criterion, item = one.key
        for rule, facts in _about(one, is_check=one.key in checks):
            own, facts = None if item == criterion else item, {"name": f"item `{item}`", **facts}
            place = place_of.get(one.key, "")
            findings.append(
                Remark(rule=rule, path=(), place=place, criterion=criterion, item=own, facts=facts)
            )
    return findings


def _about(one: ItemStats, *, is_check: bool) -> Iterator[tuple[str, dict[str, _Figure]]]:
    """The rules that an item breaks, each with what was found."""
    over = f"over {one.artifacts} artifacts"
    if one.never_discriminates and not (
        is_check and one.difficulty == 1
    ):  # a check that is always met is a guard
        answer, advice = "no", "see whether it can be met at all, and whether judges find it"
        if one.difficulty == 1:
            answer, advice = "yes", "ask for more than everybody has, or drop it"
        difficulty = float(one.difficulty or 0)
        yield (
            "never-discriminates",
            {"answer": answer, "advice": advice, "over": over, "difficulty": difficulty},
        )
    if one.judges_disagree:
        yield "judges-disagree", {"disagreement": float(one.disagreement or 0), "pairs": one.pairs}
    if one.runs_against_the_rest:
        yield "runs-against-the-rest", {"item_rest": one.item_rest, "over": over}


def places(rubric: Rubric, marked: Marked) -> dict[Key, str]:
    """Where each item of a native rubric is, as file:line:column."""
    from honestone.core.authoring.lint.remark import asked

    return {(one.criterion.id, one.item.id): marked.at(one.path) for one in asked(rubric)}


def history_table(history: History) -> list[str]:
    """The numbers of every item, for `--history`."""
    rows = [("item", "artifacts", "difficulty", "item-rest", "discrimination", "disagreement")]
    for one in history.items:
        criterion, item = one.key
        name = criterion if criterion == item else f"{criterion}/{item}"
        numbers = (one.difficulty, one.item_rest, one.discrimination, one.disagreement)
        figures = ("-" if n is None else f"{float(n):.2f}" for n in numbers)
        rows.append((name, str(one.artifacts), *figures))  # type: ignore[arg-type]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(w) if at == 0 else cell.rjust(w)
            for at, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
