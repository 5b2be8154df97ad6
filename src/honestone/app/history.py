"""Recorded runs by their names, and as documents: what `show`, `rescore` and the end of a command print."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from honestone.core import events
from honestone.core.errors import StoreError
from honestone.core.events import (
    EvaluationStarted,
    Event,
    LoopStarted,
    SuiteImprovementStarted,
    SuiteStarted,
    total_spend,
)
from honestone.core.judging.ballot import Ballot, Mark, answer_problem
from honestone.core.judging.rubric import Rule
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.core.record.runs import LAST, loop_of_side

if TYPE_CHECKING:
    from honestone.core.judging.rubric import Item, Key, Rubric
    from honestone.core.loop.state import LoopState
    from honestone.ports import RunInfo, Store
    from honestone.report.documents.improvement import ImprovementDoc
    from honestone.report.documents.scorecard import ScorecardDoc


def find_run(store: Store, name: str) -> RunInfo:
    """The run with this id or beginning of one. `last` is the newest one that is not a part of an
    improvement, as `runs` lists them. Raises StoreError with near names.
    """
    found = store.find_run(name)
    if name not in LAST or not is_part_of_loop(store, found):
        return found
    return next((one for one in store.runs(own=True) if not is_part_of_loop(store, one)), found)


def is_part_of_loop(store: Store, run: RunInfo) -> bool:
    """Whether it is the run of a split, which an improvement over a suite began."""
    if run.kind != "suite":
        return False
    first = next(store.iter_events(run.id), None)
    return isinstance(first, SuiteStarted) and loop_of_side(first.side) is not None


def scorer_of(started: Event, *, rubric: Rubric | None = None, rule: str | None = None) -> Scorer:
    assert isinstance(started, EvaluationStarted | LoopStarted)
    return Scorer(rubric or started.rubric, Rule(rule or started.rule))


def started_of(log: Sequence[Event]) -> LoopStarted:
    """The first event of a loop."""
    assert isinstance(log[0], LoopStarted)
    return log[0]


def state_of(log: Sequence[Event], *, scorer: Scorer | None = None) -> LoopState:
    """The loop's state from its events alone."""
    from honestone.core.loop.named import policy_named
    from honestone.core.loop.state import fold
    from honestone.core.loop.suite_belief import state_of_suite_run

    if isinstance(log[0], SuiteImprovementStarted):
        return fold(state_of_suite_run(log[0]), log[1:])
    return fold(policy_named(started_of(log).policy).start(log[0], scorer), log[1:])


def text_of(store: Store, digest: str) -> str | None:
    """What quotes from a version are looked up in, when the store has it."""
    from honestone.engine.place import load_version

    try:
        return load_version(store, digest).text
    except StoreError:
        return None


def texts_of(store: Store, digest: str) -> dict[str, str]:
    """The texts of a version by their paths in it, in the order in which quotes are looked up; ""
    is a file's own. Empty where the store does not have it.
    """
    from honestone.engine.place import load_version

    try:
        version = load_version(store, digest)
    except StoreError:
        return {}
    return version.texts if version.is_folder else {"": version.text}


def judged_documents(
    store: Store,
    run: str,
    *,
    rubric: Rubric | None = None,
    rule: str | None = None,
    contract: str | None = None,
) -> Iterator[ScorecardDoc]:
    """The scorecards of an `eval` run, one at a time, under its own rubric and rule or another."""
    from honestone.report.building.scorecard import judged_document

    log = store.iter_events(run)
    started = next(log)
    assert isinstance(started, EvaluationStarted)
    was = started.rubric
    scorer = scorer_of(started, rubric=rubric or was, rule=rule)
    if contract is not None:
        started = replace(started, contract_id=contract)
    for entry in log:
        for event in events.judged_in(entry):
            has_quotes = rubric is not None or scorer.rubric.asks_judges
            if rubric is not None:
                event = replace(
                    event,
                    ballots=tuple(still_valid(ballot, was, rubric) for ballot in event.ballots),
                )
            text = event.output or (text_of(store, event.digest) if has_quotes else None)
            yield judged_document(scorer, started, event, run=run, text=text)


def still_valid(ballot: Ballot, was: Rubric, now: Rubric) -> Ballot:
    """A ballot without the answers to questions that are others now: reworded, on a new scale, by
    another check.
    """
    old, new = dict(was.questions()), dict(now.questions())
    marks: dict[Key, Mark] = {}
    abstained = {key: why for key, why in ballot.abstained.items() if key in new}
    for key, mark in ballot.marks.items():
        if (
            key in new
            and _is_same_question(old.get(key), new[key])
            and not answer_problem(new[key], mark.answer)
        ):
            marks[key] = mark
        elif key in new:
            abstained[key] = "answered another question then"
    return replace(ballot, marks=marks, abstained=abstained)


def _is_same_question(old: Item | None, new: Item) -> bool:
    return old is not None and (old.requirement, old.anchors, old.check) == (
        new.requirement,
        new.anchors,
        new.check,
    )


def improvement_report(
    store: Store,
    run: str,
    *,
    state: LoopState | None = None,
    log: Sequence[Event] | None = None,
    resumed: bool = False,
    here: Spend | None = None,
    save: bool = False,
    shown: Callable[[Path], str] = os.path.relpath,
) -> tuple[ImprovementDoc, str]:
    """A loop's document and its Markdown report; `save` writes the report into the store's folder."""
    from honestone.report.building.improvement import (
        improvement_document,
        suite_improvement_document,
    )
    from honestone.report.building.scorecard import usage_document
    from honestone.report.pages.markdown import improvement_markdown

    log = log if log is not None else store.events(run)
    state = state if state is not None else state_of(log)
    path = store.root / "reports" / f"{run}.md"
    usage = usage_document(total_spend(log), here or Spend())
    known = save or path.exists()
    started = started_of(log)
    is_suite = isinstance(started, SuiteImprovementStarted)
    draw: Callable[..., ImprovementDoc] = (
        suite_improvement_document if is_suite else improvement_document
    )
    document = draw(
        state,
        log,
        run=run,
        usage=usage,
        text_of=lambda digest: text_of(store, digest),
        report=shown(path) if known else None,
        resumed=resumed,
    )
    report = improvement_markdown(
        document, rubric=started.rubric, diffs=round_diffs(store, state, started.artifact.path)
    )
    if save:
        write_report(store.root, run, report)
    return document, report


def write_report(root: Path, run: str, text: str) -> None:
    from honestone.system.files import write_below

    write_below(root, f"reports/{run}.md", text.encode("utf-8", "backslashreplace"))


def round_diffs(store: Store, state: LoopState, artifact: str) -> list[tuple[int, str]]:
    """(round, unified diff) of what each round changed in the artifact at that path."""
    from honestone.core.editing.proposal import unified_diff
    from honestone.engine.place import load_version

    out, name = [], PurePath(artifact).name
    for entry in state.rounds:
        if entry.version is not None:
            before, after = (
                load_version(store, digest).named(name) for digest in (entry.base, entry.version)
            )
            out.append((entry.number, unified_diff(before, after)))
    return out
