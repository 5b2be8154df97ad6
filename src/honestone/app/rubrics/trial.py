"""Trying a rubric on examples: golden ones, whose verdict is known, and the oracle, a good answer
and an empty one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, TypedDict

from msgspec import Struct, field

from honestone.app.event_loop import run_interruptibly
from honestone.app.judging.judging_options import JudgingOptions, make_panel, refuse_too_big
from honestone.app.judging.rubric_plan import RubricPlan
from honestone.app.workspace import Workspace
from honestone.core.artifact import Artifact, Entry, Version
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorecard import Outcome, Scorecard, Verdict, judge_gate
from honestone.core.numbers import show_points, to_points
from honestone.engine.judging.panel import Panel
from honestone.formats.rubric.golden_file import GoldenExample, differing
from honestone.system.drawing import count

AT_ONCE: Final = 8
Agreement = Literal["as expected", "differs", "undecided"]


class PlainTried(TypedDict):
    """A `Tried` as JSON."""

    verdict: str
    reasons: list[str]
    score: float | None
    interval: list[float | None]


class PlainGoldenRow(PlainTried):
    """A `GoldenRow` as JSON."""

    example: str
    told: Agreement
    differences: list[str]


class PlainGood(PlainTried):
    path: str


class PlainEmpty(PlainTried):
    met: list[str]


class PlainOracle(TypedDict):
    """An `OracleResult` as JSON."""

    told: Agreement
    broken: list[str]
    good: PlainGood
    empty: PlainEmpty


class ExampleSubject(Struct, frozen=True, kw_only=True):
    """Something to try a rubric on."""

    name: str
    path: Path
    version: Version


class Tried(Struct, frozen=True, kw_only=True):
    """What the rubric made of one subject."""

    card: Scorecard
    verdict: Verdict

    def to_plain(self) -> PlainTried:
        return {
            "verdict": str(self.verdict.outcome),
            "reasons": list(self.verdict.reasons),
            "score": None if self.card.score is None else to_points(self.card.score),
            "interval": [to_points(self.card.low), to_points(self.card.high)],
        }


class Trial:
    """A rubric with the judges and options of the command line. Everything is read and checked
    before the first call.
    """

    def __init__(
        self,
        workspace: Workspace,
        rubric: Rubric,
        path: Path,
        judging: JudgingOptions,
        artifacts: Sequence[Path],
    ) -> None:
        self._workspace = workspace
        self._judging = judging
        self._plan = RubricPlan.of(workspace, rubric, path, judging, artifacts)
        self._plan.preflight()
        self._seats = self._plan.seats()

    @property
    def rubric(self) -> Rubric:
        return self._plan.rubric

    def load(self, path: Path) -> Version:
        return self._plan.load(path).version

    def judge_all(
        self, subjects: Sequence[ExampleSubject], note: Callable[[str], None]
    ) -> list[Tried]:
        """In the order given. Every reply is on record before it is used, so that the same command
        repeats no call.

        Raises Interrupted when it is stopped.
        """
        versions = {subject.path: subject.version for subject in subjects}
        sizes = [(subject.path, subject.version.size) for subject in subjects]
        refuse_too_big(self._seats, self.rubric, self._judging, sizes, versions.__getitem__)
        calls = len(subjects) * len(self._seats)
        meter = self._judging.meter(self._workspace.settings, calls=4 * calls + 10)
        if self._seats:
            judges = ", ".join(seat.id for seat in self._seats)
            note(
                f"{count(len(subjects), 'example')} x {count(len(self._seats), 'judge')} ({judges}): {count(calls, 'call')}, "
                f"at most {meter.calls} with retries; recorded replies cost nothing"
            )
        with self._workspace.open_store() as store:
            panel = make_panel(self._seats, store, meter, self._judging)
            return run_interruptibly(lambda: self._judge_all(subjects, panel), panel.close)

    async def _judge_all(self, subjects: Sequence[ExampleSubject], panel: Panel) -> list[Tried]:
        from honestone.engine.judging.evaluator import Evaluator

        evaluator = Evaluator(self.rubric, self._plan.checker, panel)
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(subject: ExampleSubject) -> Tried:
            async with slots:
                judged = await evaluator.judge(
                    evaluator.question(Artifact(subject.name, subject.version))
                )
            card = self._plan.scorer.card(judged.ballots)
            return Tried(card=card, verdict=judge_gate(card, self.rubric))

        return list(await asyncio.gather(*(one(subject) for subject in subjects)))


# ----------------------------------------------------------------------------------------------------
# golden examples


class GoldenRow(Struct, frozen=True, kw_only=True):
    """One example: what the rubric made of it, and what of that is not as expected."""

    example: GoldenExample
    tried: Tried
    agreement: Agreement
    differences: tuple[str, ...]

    def to_plain(self) -> PlainGoldenRow:
        return {
            "example": self.example.name,
            "told": self.agreement,
            "differences": list(self.differences),
            **self.tried.to_plain(),
        }


def golden_row(example: GoldenExample, tried: Tried) -> GoldenRow:
    criteria = {line.criterion.id: (line.low, line.high) for line in tried.card.lines}
    score = (tried.card.low, tried.card.high)
    differences = list(differing(example.expect, str(tried.verdict.outcome), score, criteria))
    return GoldenRow(
        example=example,
        tried=tried,
        agreement=_agreement(
            is_wrong=any(sure is False for _, sure in differences), is_open=bool(differences)
        ),
        differences=tuple(words for words, _ in differences),
    )


def _agreement(*, is_wrong: bool, is_open: bool) -> Agreement:
    if is_wrong:
        return "differs"
    return "undecided" if is_open else "as expected"


# ----------------------------------------------------------------------------------------------------
# the oracle


class OracleResult(Struct, frozen=True, kw_only=True):
    """The good answer must pass and an empty artifact must fail. `agreement` as for golden
    examples; `broken` says what is wrong.
    """

    path: Path
    good: Tried
    empty: Tried
    agreement: Agreement
    broken: tuple[str, ...] = ()
    met_by_nothing: tuple[str, ...] = field(default=())

    def to_plain(self) -> PlainOracle:
        return {
            "told": self.agreement,
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
    is_open = (
        good.verdict.outcome is Outcome.INCONCLUSIVE
        or empty.verdict.outcome is Outcome.INCONCLUSIVE
    )
    met = tuple(
        f"{line.criterion.id}/{one.item.id}"
        for line in empty.card.lines
        for one in line.items
        if one.met == 1 and not line.criterion.is_penalty
    )
    return OracleResult(
        path=path,
        good=good,
        empty=empty,
        agreement=_agreement(is_wrong=bool(broken), is_open=is_open),
        broken=tuple(broken),
        met_by_nothing=met,
    )
