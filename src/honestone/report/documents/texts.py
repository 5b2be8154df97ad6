"""`honestone.texts/1`: a table of texts that were judged, a row each, and what they come to.

Scores are points (0-100), never rounded.
"""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from honestone.core.numbers import chance_words, percent, points, sure
from honestone.core.statistics.text_tally import open_words
from honestone.report.documents.scorecard import (
    UsageDoc,
    low_confidence_of,
    stated_verdict,
)
from honestone.report.documents.states import state_phrase, state_words
from honestone.system.drawing import count, line

TEXTS: Final = "honestone.texts/1"
# The name of rows whose group is empty.
NO_GROUP: Final = "(none)"


class TextColumnsDoc(Struct, frozen=True, kw_only=True):
    """Which columns of the table are what.

    `text`, `id`, `input`, `reference`, `group`: the columns; `null` where none was named
    """

    text: str | None = None
    id: str | None = None
    input: str | None = None
    reference: str | None = None
    group: str | None = None


class TextRowDoc(Struct, frozen=True, kw_only=True):
    """One text.

    `id`: from the table's column, else the number of the row
    `score`: the overall score, `null` where a needed mark is missing
    `verdict`: `pass`, `fail` or `inconclusive`
    `probability`: that the contract is met, 0-1; `null` where it is not known
    `undecided`: no answer is missing, and the probability is between the bars of `sure`
    `criteria`: the score of every criterion by its id, `null` where it is not known or does not
        apply
    `reasons`: the criteria that were missed or not answered, each with what it misses
    `group`: of a table with groups
    `error`: why there was nothing to judge, or why no judge answered
    """

    id: str
    score: float | None = None
    verdict: str
    probability: float | None = None
    undecided: bool = False
    criteria: dict[str, float | None] = {}
    reasons: list[str] = []
    group: str | UnsetType = UNSET
    error: str | UnsetType = UNSET

    @property
    def verdict_words(self) -> str:
        """`did not pass`."""
        return state_phrase(self.verdict, is_undecided=self.undecided)

    @property
    def name(self) -> str:
        return line(self.id) or "(no id)"

    @property
    def score_words(self) -> str:
        return points(self.score)

    @property
    def sure_words(self) -> str:
        """`97% sure` that the contract is met; empty where that is not known."""
        return "" if self.probability is None else chance_words(self.probability)


class MeanDoc(Struct, frozen=True, kw_only=True):
    """`mean`, `interval`: of the scores that are known, and 95% of it: Wilson's where all are 0 or
        100, else by the standard error; `null` where there are too few
    `texts`: how many they are
    """

    mean: float | None = None
    interval: list[float] | None = None
    texts: int = 0

    @property
    def words(self) -> str:
        """`66.6 (95% interval 30.0 to 90.3)`."""
        if self.mean is None:
            return "not known"
        if self.interval is None:
            return points(self.mean)
        low, high = map(points, self.interval)
        return f"{points(self.mean)} (95% interval {low} to {high})"


class TextGroupDoc(Struct, frozen=True, kw_only=True):
    """The texts of one group.

    `passed`, `failed`, `open`: how many; `open` could not be judged, or were judged and are not as
        sure as was asked: `undecided` of them
    `pass_rate`, `pass_rate_interval`: 0-1, of those that could be judged; 95%, Wilson's
    `mean_score`: over the texts whose score is known
    `criteria`: the same of every criterion
    """

    passed: int = 0
    failed: int = 0
    open: int = 0
    undecided: int = 0
    pass_rate: float | None = None
    pass_rate_interval: list[float] | None = None
    mean_score: MeanDoc = MeanDoc()
    criteria: dict[str, MeanDoc] = {}

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.open

    @property
    def passed_words(self) -> str:
        """`4 of 6 passed, 1 could not be judged`."""
        passed = f"{self.passed:,} of {self.total:,} passed"
        return ", ".join([passed, *open_words(self.undecided, self.open)])

    @property
    def rate_words(self) -> str:
        return self.rate_beside(None)

    def rate_beside(self, bar: float | None) -> str:
        """`66.7% (95% interval 30.0% to 90.3%)`, of those that could be judged. `bar`: what it
        needs, 0-1.
        """
        if self.pass_rate is None or self.pass_rate_interval is None:
            return "pass rate not known"
        low, high = map(percent, self.pass_rate_interval)
        return f"{percent(self.pass_rate, bar)} (95% interval {low} to {high})"


class WorstTextDoc(Struct, frozen=True, kw_only=True):
    """One of the texts that did worst. `missed`: the first criterion that it missed."""

    id: str
    verdict: str
    score: float | None = None
    missed: str = ""

    @property
    def name(self) -> str:
        return line(self.id) or "(no id)"

    @property
    def score_words(self) -> str:
        return points(self.score)


class TextsSummaryDoc(TextGroupDoc, frozen=True, kw_only=True):
    """What all texts come to.

    `groups`: the same for every group, by its name
    `worst`: the ten that did worst, the worst first: failed ones by their score, then open ones
    `least_sure`: how probable the least certain verdict is, 0-1; `null` where no judge answered
    """

    groups: dict[str, TextGroupDoc] = {}
    worst: list[WorstTextDoc] = []
    least_sure: float | None = None

    @property
    def sure_words(self) -> str:
        """`at least 96% sure`, of every verdict; empty where no judge answered."""
        return "" if self.least_sure is None else f"each verdict at least {sure(self.least_sure)}"


class AbsentJudgeDoc(Struct, frozen=True, kw_only=True):
    """A judge that did not answer about some of the texts.

    `id`, `reason`: who, and what it said the most often
    `texts`: how many it did not answer about
    """

    id: str
    reason: str
    texts: int

    @property
    def words(self) -> str:
        """`did not answer about 3 texts: it ended with exit code 1`."""
        return f"did not answer about {count(self.texts, 'text')}: {line(self.reason)}"


class TextsDoc(Struct, frozen=True, kw_only=True):
    """A table of texts, judged.

    `title`, `rubric`: the rubric's title and path
    `name`, `table`: the file, or what was given in Python; its columns, `null` where there are none
    `verdict`, `reasons`: of all texts, by `min_pass_rate`; without one every text must pass
    `rows`: in the order of the table
    `low_confidence_rows`: how many have items that fewer than two judges voted on
    `left_out`: rows that `--max-rows` left out
    `absent_judges`: those that did not answer about some texts
    """

    schema: str = TEXTS
    rows: list[TextRowDoc] = []
    title: str = ""
    rubric: str | None = None
    name: str = ""
    table: TextColumnsDoc | None = None
    verdict: str
    reasons: list[str] = []
    summary: TextsSummaryDoc
    min_pass_rate: float | None = None
    low_confidence_rows: int = 0
    left_out: int = 0
    absent_judges: list[AbsentJudgeDoc] = []
    contract: str = ""
    run: str | None = None
    usage: UsageDoc

    @property
    def heading(self) -> str:
        """The name on one line."""
        return line(self.name) or "texts"

    @property
    def verdict_words(self) -> str:
        return stated_verdict(
            state_words(
                self.verdict,
                is_partial=self.left_out > 0,
                is_undecided=self.summary.undecided == self.summary.open,
            ),
            self.verdict,
            low_confidence=bool(self.low_confidence_rows),
        )

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """(name, meaning) of what a reader must know before the verdict."""
        summary = self.summary
        return low_confidence_of(self.low_confidence_rows, summary.passed + summary.failed, "text")

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What was judged by what, in words."""
        columns = self.table
        named = (
            [
                f"{role} `{line(column)}`"
                for role in ("text", "id", "input", "reference", "group")
                if (column := getattr(columns, role))
            ]
            if columns
            else []
        )
        rubric = line(self.title) or line(self.rubric or "")
        return [
            (name, value)
            for name, value in (
                ("rubric", rubric),
                ("columns", ", ".join(named)),
                ("left out", count(self.left_out, "row") if self.left_out else ""),
            )
            if value
        ]

    @property
    def rate_words(self) -> str:
        return self.summary.rate_beside(self.min_pass_rate)

    @property
    def spent_words(self) -> list[str]:
        return self.usage.words()
