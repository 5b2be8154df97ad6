"""Trying a rubric on examples: golden ones, whose verdict is known, and the oracle, a good answer and an empty one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from honestone.app.setup import (
    JudgingOptions,
    choose_judges,
    limit,
    make_checker,
    make_context,
    make_panel,
    make_seats,
    max_bytes,
    never_judged,
    open_store_for,
    preflight_checks,
    refuse_too_big,
    settings_here,
    with_bars,
)
from honestone.core.artifact import Artifact, Entry, Version
from honestone.core.numbers import show_points, to_points
from honestone.core.rubric import Rubric
from honestone.core.scorecard import Scorecard, Scorer
from honestone.core.verdict import Outcome, Verdict, judge_gate
from honestone.formats.golden_file import Example, differing

AT_ONCE: Final = 8
Told = Literal["as expected", "differs", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Something to try a rubric on."""

    name: str
    path: Path
    version: Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What the rubric made of one subject."""

    card: Scorecard
    verdict: Verdict

    def to_plain(self) -> dict[str, Any]:
        return {
            "verdict": str(self.verdict.outcome),
            "reasons": list(self.verdict.reasons),
            "score": None if self.card.score is None else to_points(self.card.score),
            "interval": [to_points(self.card.low), to_points(self.card.high)],
        }


class Trial:
    """A rubric with the judges and options of the command line. Everything is read and checked before the first call."""

    def __init__(self, rubric: Rubric, path: Path, judging: JudgingOptions, artifacts: Sequence[Path]) -> None:
        self.rubric = with_bars(rubric, threshold=judging.threshold, floor=judging.floor)
        self._judging = judging
        self._settings = settings_here()
        self._checker = make_checker(self.rubric, path, judging, artifacts)
        self._exclude = never_judged(self.rubric, path, self._checker)
        self._max_bytes = max_bytes(judging, self._settings)
        preflight_checks(self.rubric, self._checker)
        names = choose_judges(judging, self.rubric, self._settings)
        self._seats = make_seats(names, make_context(judging, self._settings), looks=judging.looks)

    def load(self, path: Path) -> Version:
        from honestone.system.files import load_artifact

        return load_artifact(path, exclude=self._exclude, max_bytes=self._max_bytes).version

    def judge_all(self, subjects: Sequence[Subject], note: Any) -> list[Tried]:
        """In the order given. Every reply is on record before it is used, so that the same command repeats no call."""
        from honestone.app.stopping import run_to_end, same_command
        from honestone.core.errors import Interrupted
        from honestone.engine.meter import Meter

        versions = {subject.path: subject.version for subject in subjects}
        sizes = [(subject.path, subject.version.size) for subject in subjects]
        refuse_too_big(self._seats, self.rubric, self._judging, sizes, versions.__getitem__)
        most = 4 * len(subjects) * len(self._seats) + 10
        meter = Meter(
            calls=int(limit(self._judging.max_calls, self._settings, "max_calls", most)),
            minutes=limit(self._judging.max_minutes, self._settings, "max_minutes", 24 * 60),
            usd=self._judging.max_usd if self._judging.max_usd is not None else self._settings.limits.get("max_usd"),
            clock=time.monotonic,
        )
        if self._seats:
            judges = ", ".join(seat.id for seat in self._seats)
            note(
                f"{len(subjects)} example{'s' if len(subjects) > 1 else ''} x {len(self._seats)} judge{'s' if len(self._seats) > 1 else ''} "
                f"({judges}): {len(subjects) * len(self._seats)} calls, at most {meter.calls} with retries; recorded replies cost nothing"
            )
        with open_store_for(self._settings) as store:
            panel = make_panel(self._seats, store, meter, self._judging)
            try:
                return run_to_end(lambda: self._judge_all(subjects, panel), panel.close)
            except KeyboardInterrupt:
                raise Interrupted(
                    "interrupted; the same command goes on and repeats no call on record", hint=same_command()
                ) from None

    async def _judge_all(self, subjects: Sequence[Subject], panel: Any) -> list[Tried]:
        from honestone.engine.judging import Evaluator

        evaluator = Evaluator(self.rubric, self._checker, panel)
        scorer = Scorer(self.rubric, self._judging.rule)
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(subject: Subject) -> Tried:
            async with slots:
                judged = await evaluator.judge(Artifact(subject.name, subject.version))
            card = scorer.card(judged.ballots)
            return Tried(card=card, verdict=judge_gate(card, self.rubric))

        return list(await asyncio.gather(*(one(subject) for subject in subjects)))


# ---------------------------------------------------------------------------------------------------- golden examples


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenRow:
    """One example: what the rubric made of it, and what of that is not as expected."""

    example: Example
    tried: Tried
    told: Told
    differences: tuple[str, ...]

    def to_plain(self) -> dict[str, Any]:
        return {
            "example": self.example.name,
            "told": self.told,
            "differences": list(self.differences),
            **self.tried.to_plain(),
        }


def golden_row(example: Example, tried: Tried) -> GoldenRow:
    criteria = {line.criterion.id: (line.low, line.high) for line in tried.card.lines}
    found = list(differing(example.expect, str(tried.verdict.outcome), (tried.card.low, tried.card.high), criteria))
    told: Told = "as expected" if not found else "differs" if any(sure is False for _, sure in found) else "undecided"
    return GoldenRow(example=example, tried=tried, told=told, differences=tuple(words for words, _ in found))


# ---------------------------------------------------------------------------------------------------- the oracle


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleResult:
    """The good answer must pass and an empty artifact must fail. `told` as for golden examples; `broken` says what is wrong."""

    path: Path
    good: Tried
    empty: Tried
    told: Told
    broken: tuple[str, ...] = ()
    met_by_nothing: tuple[str, ...] = field(default=())

    def to_plain(self) -> dict[str, Any]:
        return {
            "told": self.told,
            "broken": list(self.broken),
            "good": {"path": str(self.path), **self.good.to_plain()},
            "empty": {**self.empty.to_plain(), "met": list(self.met_by_nothing)},
        }


def empty_like(version: Version) -> Version:
    """An artifact of the same kind with nothing in it."""
    if version.is_folder:
        return Version({}, is_folder=True)
    return Version({name: Entry(b"") for name in version.files}, is_folder=False)


def oracle_result(path: Path, good: Tried, empty: Tried) -> OracleResult:
    broken = []
    if good.verdict.outcome is Outcome.FAIL:
        broken.append(f"the known-good {path} does not pass: " + "; ".join(good.verdict.reasons))
    if empty.verdict.outcome is Outcome.PASS:
        broken.append(
            f"an empty artifact passes with {show_points(empty.card.low)} points: nothing in the rubric asks for anything to be there"
        )
    is_open = good.verdict.outcome is Outcome.INCONCLUSIVE or empty.verdict.outcome is Outcome.INCONCLUSIVE
    told: Told = "differs" if broken else "undecided" if is_open else "as expected"
    met = tuple(
        f"{line.criterion.id}/{one.item.id}"
        for line in empty.card.lines
        for one in line.items
        if one.met == 1 and not line.criterion.is_penalty
    )
    return OracleResult(path=path, good=good, empty=empty, told=told, broken=tuple(broken), met_by_nothing=met)
