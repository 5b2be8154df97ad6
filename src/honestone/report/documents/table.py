"""`honestone.table/1`: one suite with several targets or artifacts, a column each.

Scores are points (0-100), rates and their differences 0-1; never rounded.
"""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from honestone.core.judging.scorecard import are_undecided
from honestone.core.numbers import duration_words, money, rate_change_words, rate_words
from honestone.report.documents.belief import BeliefDoc, is_undecided
from honestone.report.documents.scorecard import (
    NOTHING_SPENT,
    ArtifactDoc,
    JudgeDoc,
    UsageDoc,
    low_confidence_of,
    span_words,
    stated_verdict,
)
from honestone.report.documents.states import state_words
from honestone.report.documents.suite import (
    WORST_FIRST,
    SuiteNameDoc,
    TurnedDoc,
    counts_words,
    p_words,
)
from honestone.report.documents.suite_case import STATUSES, CaseDoc
from honestone.system.drawing import count, line

TABLE: Final = "honestone.table/1"


class ColumnDoc(Struct, frozen=True, kw_only=True):
    """One target with one artifact: a run of the suite.

    `name`: short, and its own in this table
    `target`, `artifact`: what made the outputs, as it was named; what was evaluated, `null` where
        the target alone answers
    `run`: the run that it is, for `show`, `compare` and `--baseline`
    `verdict`, `reasons`, `belief`, `pass_rate`, `mean_score`, `counts`, `unstable`, `low_confidence_cases`,
        `judges`, `flags`: as in the report of that run
    `usage`, `duration_ms`: what it cost; time in the target, all cases added up
    """

    name: str
    target: str | None
    artifact: ArtifactDoc | None
    run: str
    verdict: str
    reasons: list[str] = []
    pass_rate: float | None
    pass_rate_interval: list[float] | None = None
    mean_score: float | None
    mean_score_interval: list[float] | None = None
    belief: BeliefDoc | None = None
    counts: dict[str, int]
    unstable: list[str] = []
    low_confidence_cases: int = 0
    judges: list[JudgeDoc] = []
    flags: list[str] = []
    usage: UsageDoc
    duration_ms: int | float

    @property
    def title(self) -> str:
        return line(self.name) or "(no name)"

    @property
    def what(self) -> str:
        """What it is in full: the target, and the artifact where there is one."""
        artifact = line(self.artifact.path) if self.artifact else ""
        return ", ".join(part for part in (line(self.target or ""), artifact) if part)

    @property
    def verdict_words(self) -> str:
        return stated_verdict(
            state_words(self.verdict, is_undecided=is_undecided(self.belief)),
            self.verdict,
            low_confidence=bool(self.low_confidence_cases),
        )

    def figures_by(self, bar: float | None) -> dict[str, str]:
        """What is shown of it under its name, in words. `bar`: the pass rate that it needs, 0-1."""
        known = self.mean_score is not None or self.mean_score_interval
        calls = [(self.usage.target_calls or 0, "target"), (self.usage.judge_calls, "judge")]
        return {
            "verdict": self.verdict_words,
            "pass rate": rate_words(self.pass_rate, self.pass_rate_interval, bar),
            "mean score": span_words(self.mean_score, self.mean_score_interval) if known else "n/a",
            "cases": ", ".join(
                counts_words({status: self.counts.get(status, 0) for status in STATUSES})
            ),
            "calls": ", ".join(f"{number:,} {who}" for number, who in calls if number) or "none",
            "cost": "unknown" if self.usage.usd is None else money(self.usage.usd),
            "time": duration_words(self.duration_ms),
        }


class CellDoc(CaseDoc, frozen=True, kw_only=True):
    """A case in one column: as in the report of the column's run, with the column's name."""

    column: str


class TableCaseDoc(Struct, frozen=True, kw_only=True):
    """One case in every column.

    `input`: what the target got; with several prompts the variables that fill them in
    `cells`: in the order of the columns, each the case as in the report of that column's run, with
        its `column`
    """

    id: str
    input: object = None
    cells: list[CellDoc]

    @property
    def name(self) -> str:
        return line(self.id) or "(no name)"

    @property
    def is_open(self) -> bool:
        """Whether a reader has to look at a cell of it."""
        return any(cell.is_open for cell in self.cells)

    @property
    def status(self) -> str:
        """The worst of its cells."""
        return min((cell.status for cell in self.cells), key=WORST_FIRST.index)


class PairDoc(Struct, frozen=True, kw_only=True):
    """Column `a` against column `b`.

    `wins`, `losses`: cases that only `a` passed; that only `b` passed
    `undecided`: cases that could not be judged in one of the two
    `delta`, `interval`: the pass rate of `a` minus that of `b`, 0-1, with its 95% interval
        (Newcombe, method 10); `null` while a case is undecided
    `p`: the exact McNemar test on passed and failed
    `p_adjusted`: Holm's, over all pairs of the table
    """

    a: str
    b: str
    wins: int
    losses: int
    undecided: int = 0
    delta: float | None
    interval: list[float] | None
    p: float
    p_adjusted: float

    def words(self, minus: str = "−") -> str:
        """`+75.0 points (95% interval +25.4 to +93.7), 6 wins, 0 losses, p = 0.0313, adjusted
        0.0625`.
        """
        difference = "difference not known"
        if self.delta is not None and self.interval is not None:
            low, high = (rate_change_words(end, minus) for end in self.interval)
            by = rate_change_words(self.delta, minus)
            difference = f"{by} points (95% interval {low} to {high})"
        parts = [difference, count(self.wins, "win"), count(self.losses, "loss", "losses")]
        if self.undecided:
            parts.append(f"{count(self.undecided, 'case')} not judged in one of them")
        p = p_words(self.p)
        return f"{', '.join(parts)}, p {p if p.startswith('below') else f'= {p}'}, adjusted {p_words(self.p_adjusted)}"


class TableDoc(Struct, frozen=True, kw_only=True):
    """One suite with several targets or artifacts.

    `verdict`: the worst column's: `fail`, else `inconclusive`, else `pass`; with `--pick` it is
        `pass` when a column passes
    `pick`: with `--pick` the cheapest column that passes, else `null`: by the money its target cost
        where that is known of all that pass, else by the target's calls
    `columns`: each target with each artifact
    `cases`: in the file's order, each with a cell for every column
    `pairs`: every two columns
    `usage`, `duration_ms`: of all columns together; of the run
    `turned`: with `--watch`: the cells whose status changed since the run before
    `left_out_cases`: ids of cases that were not chosen to be run, absent where there are none
    """

    schema: str = TABLE
    suite: SuiteNameDoc
    verdict: str
    pick: str | None
    picks: bool
    columns: list[ColumnDoc]
    cases: list[TableCaseDoc]
    pairs: list[PairDoc]
    min_pass_rate: float | None = None
    notes: list[str] = []
    contract: str = ""
    run: str
    usage: UsageDoc
    duration_ms: int | float
    turned: list[TurnedDoc] | UnsetType = UNSET
    left_out: int = 0
    left_out_cases: list[str] | UnsetType = UNSET

    @property
    def name(self) -> str:
        return line(self.suite.title or self.suite.path or "suite")

    @property
    def figure_names(self) -> list[str]:
        """Of the figures that a column has; of its cost only where that of one is known."""
        has_cost = any(one.usage.usd is not None for one in self.columns)
        return [name for name in self.figures[0] if name != "cost" or has_cost]

    @property
    def figures(self) -> list[dict[str, str]]:
        """What is shown of each column under its name, in words."""
        return [one.figures_by(self.min_pass_rate) for one in self.columns]

    @property
    def worst_first(self) -> list[TableCaseDoc]:
        return sorted(self.cases, key=lambda case: WORST_FIRST.index(case.status))

    @property
    def verdict_words(self) -> str:
        open_columns = [one for one in self.columns if one.verdict == "inconclusive"]
        undecided = are_undecided(is_undecided(one.belief) for one in open_columns)
        return stated_verdict(
            state_words(self.verdict, is_partial=self.left_out > 0, is_undecided=undecided),
            self.verdict,
            low_confidence=any(one.low_confidence_cases for one in self.columns),
        )

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """(name, meaning) of what a reader must know before the verdict."""
        counted = [
            (one.counts.get("passed", 0) + one.counts.get("failed", 0)) for one in self.columns
        ]
        return low_confidence_of(
            sum(one.low_confidence_cases for one in self.columns), sum(counted)
        )

    @property
    def pick_words(self) -> str:
        """What was picked; empty where nothing was to be."""
        if self.pick is not None:
            return f"picked {line(self.pick)}: the cheapest column that passes"
        return "picked none: no column passes" if self.picks else ""

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What was run, and what it took in all."""
        spent = [
            part
            for part in self.usage.words(whole_run=True)
            if part not in ("0 worker calls", NOTHING_SPENT)
        ]
        return [
            (name, value)
            for name, value in (
                ("suite", line(self.suite.path)),
                ("left out", count(self.left_out, "case") if self.left_out else ""),
                ("time", duration_words(self.duration_ms)),
                ("spent", ", ".join(spent)),
            )
            if value
        ]
