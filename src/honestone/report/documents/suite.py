"""`honestone.report/1`, `honestone.comparison/1` and `honestone.trend/1`: runs of suites.

Scores are points (0-100), rates and their differences 0-1; never rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from honestone.core import numbers
from honestone.core.suite.comparison import COMPARISON
from honestone.report.documents import scorecard
from honestone.report.documents.belief import BeliefDoc, belief_words, better_words, is_undecided
from honestone.report.documents.states import state_words
from honestone.report.documents.suite_case import STATUSES, CaseDoc, StatusName
from honestone.system.drawing import count, line

REPORT: Final = "honestone.report/1"
# Raised by one where a release adds fields.
REVISION: Final = 5
TREND: Final = "honestone.trend/1"

# The order in which people read cases; data keeps the file's.
WORST_FIRST: Final = ("failed", "target-error", "inconclusive", "skipped", "passed")


class SuiteNameDoc(Struct, frozen=True, kw_only=True):
    """The suite: its path, its title, and the format it was read as."""

    path: str
    title: str
    dialect: str | None = None


class SideDoc(Struct, frozen=True, kw_only=True):
    """A case on one side of a comparison.

    `output`: what came out, `null` where it is not known
    """

    status: StatusName
    verdict: str = ""
    score: float | None = None
    output: str | None = None


class ComparedCaseDoc(Struct, frozen=True, kw_only=True):
    """A case that ran on both sides.

    `input`: what the target got
    `delta`: in points, `null` when a score is not known
    `unstable`: the attempts disagree on a side
    `fixed`, `broken`: the items, in words, that only the candidate meets and that only the baseline
        met; where there are any
    `noise`: which differences are noise of the judges, where `honestone judges noise` has measured the
        rubric with them
    """

    id: str
    input: str | None = None
    baseline: SideDoc
    candidate: SideDoc
    delta: float | None = None
    unstable: bool = False
    fixed: list[str] | UnsetType = UNSET
    broken: list[str] | UnsetType = UNSET
    noise: scorecard.KnownNoiseDoc | UnsetType = UNSET

    @property
    def has_turned(self) -> bool:
        return self.baseline.status != self.candidate.status

    @property
    def flipped(self) -> list[tuple[str, list[str]]]:
        """(`broken` or `fixed`, the items in words) of those that there are."""
        return [
            (name, items)
            for name, items in (("broken", self.broken), ("fixed", self.fixed))
            if items
        ]

    def by_words(self, minus: str = "−") -> str:
        """`+1.0, within noise`; empty where a score is not known."""
        if self.delta is None:
            return ""
        is_noise = (
            self.delta
            and self.noise
            and self.noise.holds(self.baseline.score, self.candidate.score)
        )
        return numbers.change_words(self.delta, minus) + (", within noise" if is_noise else "")


class ComparisonDoc(Struct, frozen=True, kw_only=True):
    """Two runs, case by case.

    `baseline`, `candidate`: the run ids
    `verdict`, `reasons`: by the gates of `--fail-on`
    `delta`, `interval`: the pass rate's difference, candidate minus baseline, 0-1, with its 95%
        interval
    `score_delta`, `score_interval`: the mean score's, in points
    `p`: the exact two-sided sign test over wins and losses
    `wins`, `losses`, `ties`: cases by score
    `regressions`, `improvements`: ids: passed there and failed here, and the other way round
    `missing`, `new`: ids that are judged on one side only
    `undecided`, `unstable`: ids that were not judged on a side; ids whose attempts disagree on a
        side
    `low_confidence_cases`: how many cases fewer than two judges decided, on a side
    `notes`: with `--across-contracts`: what is not the same
    `cases`: its `input`, and both sides with `status`, `verdict`, `score`, `output`
    `better`, `worse`: the probability that more, or fewer, of the shared cases truly pass in the
        candidate
    """

    schema: str = COMPARISON
    baseline: str | None = None
    candidate: str | None = None
    verdict: str
    reasons: list[str] = []
    delta: float | None = None
    interval: list[float] | None = None
    score_delta: float | None = None
    score_interval: list[float] | None = None
    p: float | None = None
    wins: int = 0
    losses: int = 0
    ties: int = 0
    regressions: list[str] = []
    improvements: list[str] = []
    missing: list[str] = []
    new: list[str] = []
    undecided: list[str] = []
    unstable: list[str] = []
    low_confidence_cases: int = 0
    notes: list[str] = []
    cases: list[ComparedCaseDoc] = []
    better: float | UnsetType = UNSET
    worse: float | UnsetType = UNSET

    @property
    def verdict_words(self) -> str:
        low = bool(self.low_confidence_cases)
        return scorecard.stated_verdict(state_words(self.verdict), self.verdict, low_confidence=low)

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """(name, meaning) of what a reader must know before the verdict."""
        return scorecard.low_confidence_of(self.low_confidence_cases, len(self.cases))

    @property
    def remarks(self) -> list[str]:
        return [*self.notes, *noise_words(self.cases)]

    @property
    def named(self) -> list[tuple[str, str, list[str]]]:
        """(what they are, what that means, ids) of every list of ids that is not empty."""
        lists = (
            self.regressions,
            self.improvements,
            self.missing,
            self.new,
            self.undecided,
            self.unstable,
        )
        return [
            (name, MEANINGS[name], ids) for name, ids in zip(MEANINGS, lists, strict=True) if ids
        ]

    @property
    def changed(self) -> list[ComparedCaseDoc]:
        """Cases whose status, score or an item of whose rubric differs, the largest loss first."""
        return sorted(
            (case for case in self.cases if case.has_turned or case.delta or case.flipped),
            key=lambda case: (case.delta is None, case.delta or 0),
        )

    def figures(
        self,
        rates: tuple[numbers.Number | None, numbers.Number | None] = (None, None),
        minus: str = "−",
    ) -> list[tuple[str, str]]:
        """The differences in words: pass rate (from the first of `rates` to the second), mean
        score, wins and losses.
        """
        rate = _difference(self.delta, self.interval, numbers.rate_change_words, minus)
        if self.delta is not None and None not in rates:
            rate = f"{numbers.percent(rates[0])} to {numbers.percent(rates[1])}: {rate}"
        score = _difference(self.score_delta, self.score_interval, numbers.change_words, minus)
        sign = f"{count(self.wins, 'win')}, {count(self.losses, 'loss', 'losses')}, {count(self.ties, 'tie')}"
        if self.p is not None:
            sign += f" (sign test: p = {p_words(self.p)})"
        found = [("pass rate", rate), ("mean score", score), ("by case", sign)]
        sure = better_words(self.better, self.worse)
        if self.better == self.worse == 0.0 and (self.wins or self.losses):
            sure = "neither is better: no case is more or less likely to pass"
        elif not {self.better, self.worse} - {0.0, 1.0}:
            sure = ""
        return [*found, ("belief", sure)] if sure else found


MEANINGS: Final = {
    "regressions": "passed there, failed here",
    "improvements": "failed there, passed here",
    "missing": "judged there, not here",
    "new": "only here",
    "undecided": "could not be judged on one side",
    "unstable": "flips between equal attempts, so it says nothing",
}


def _difference(
    by: numbers.Number | None,
    interval: Sequence[numbers.Number] | None,
    in_words: Callable[[numbers.Number, str], str],
    minus: str,
) -> str:
    if by is None:
        return "not known: some cases could not be judged"
    words = in_words(by, minus)
    if not interval:
        return f"{words} points"
    low, high = (in_words(end, minus) for end in interval)
    return f"{words} points (95% interval {low} to {high})"


def p_words(p: numbers.Number) -> str:
    """Never 0: an exact test cannot say so."""
    if p < 0.0001:
        return "below 0.0001"
    return "1" if p == 1 else f"{p:.4f}".rstrip("0")


class BaselineDoc(Struct, frozen=True, kw_only=True):
    """What a skill was compared with: `without`, or as it was given; its run, and what that side
    cost this time.
    """

    name: str = ""
    run: str | None = None
    usage: dict[str, object] | UnsetType = UNSET


class TurnedDoc(Struct, frozen=True, kw_only=True, rename={"before": "from"}):
    """A case whose status is not what it was in the run before, with `--watch`.

    `from`, `to`: one of the five of `counts`
    `column`: of a table
    """

    id: str
    before: StatusName
    to: StatusName
    column: str | UnsetType = UNSET

    @property
    def words(self) -> str:
        where = f" ({line(self.column)})" if self.column else ""
        return f"{line(self.id)}{where}  {self.before} → {self.to}"


def turned_words(turned: Sequence[TurnedDoc]) -> str:
    """`2 fixed, 1 broken`: fixed passes now, broken passed before; the rest changed otherwise."""
    fixed = sum(one.to == "passed" for one in turned)
    broken = sum(one.before == "passed" for one in turned)
    counts = {"fixed": fixed, "broken": broken, "changed": len(turned) - fixed - broken}
    return ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)


class TriggeringDoc(Struct, frozen=True, kw_only=True):
    """How well a skill is picked up.

    `cases`, `unknown`: cases that ask whether the agent read the skill; those of them where the
        target does not say
    `precision`: of the cases whose agent read it, the share (0-1) that should; `null` where none is
        known to have read it
    `recall`: of the cases that should, the share (0-1) whose agent read it; `null` where none of
        them is known
    """

    cases: int
    precision: float | None
    recall: float | None
    unknown: int


class SuiteReportDoc(Struct, frozen=True, kw_only=True):
    """One run of a suite.

    `revision`: which fields there may be: 2 added `input` and `output` to the cases of
        `comparison`, `outputs`, `turned`, and `cached_outputs` of `usage`; 3 added `scores` to
        attempts; 4 added `with_skills`, `model_calls` to traces, and `usage` to judges; 5 added
        `low_confidence_cases`
    `suite`: `path`, `title`, and the `dialect` it was read as (`honestone`, `promptfoo`,
        `agentv-4`, ...)
    `artifact`, `target`: what was evaluated, `null` where the target alone answers; what made the
        outputs, as it was named
    `verdict`, `reasons`: of the run; with a baseline the comparison's, and both where
        `--min-pass-rate` was given. Of a skill also `error` (exit 3): the suite is broken, or open
        tasks could tip it
    `belief`: how sure it is that the bar is met; with a baseline also that this side is better, and
        that it is worse, and without a bar only that; `null` where nothing was judged
    `pass_rate`, `pass_rate_interval`: 0-1, over cases that were not skipped; `null` when one of
        them is undecided, and what is known
    `min_pass_rate`: the share that has to pass; `null` where a baseline decides alone
    `mean_score`, `mean_score_interval`: 0-100, over the same cases
    `counts`: how many cases are `passed`, `failed`, `inconclusive`, `target-error`, `skipped`
    `unstable`: ids of cases whose attempts disagree
    `low_confidence_cases`: how many of the cases that passed or failed have an item with fewer than
        two voters among judges; 0 where `sure` is asked
    `judges`, `notes`: each judge's worst state; what the reader of the file took as its rule
    `flags`: `flaky: ID (2 of 5)`, `mock`, `the agent never loaded the skill: ...`
    `contract`: of what all cases share: judges, prompt, rule, bars of the command line
    `usage`: as in a scorecard; `target_calls` are runs of the target. With a baseline that was run,
        of both sides together
    `duration_ms`: of the run
    `execution_pass_rate`, `baseline_pass_rate`, `delta`: 0-1, with a baseline, and of a skill; each
        `null` while a task of it is open
    `interval`, `regressions`: with a baseline, as in its comparison
    `baseline`, `baseline_cached`: of a skill: what it was compared with; whether its results are
        from before
    `mock`, `structure`: of a skill: whether no agent ran and no judge judged; remarks on its files
        (`rule`, `line` of SKILL.md, `message`, `suggestion`): advice, never in the score
    `candidate_results`, `baseline_results`: of a skill, one for each task: `task_id`, `passed`
        (`null`: it could not be run or judged, and `error` says why), `score` 0-1, `details`,
        `duration_ms`, `attempts`, and how many `passes`
    `comparison`: with a baseline: `honestone.comparison/1`
    `triggering`: where cases ask whether a skill was read: `cases`, `precision`, `recall`,
        `unknown`
    `with_skills`: `path` (the name) and `digest` of the skills that were installed next to the
        artifact; absent where there are none
    `left_out`, `left_out_cases`: how many cases of the suite were not chosen to be run; their ids,
        absent where there are none
    `cases`: in the file's order: a scorecard's keys, and its own
    `rescored_from`: only from `rescore`: the `run` and the `contract` it came from
    `turned`: with `--watch`: the cases whose status changed since the run before
    `outputs`: with `--outputs`: where the outputs were recorded; then `target` and `artifact` are
        what made them
    """

    schema: str = REPORT
    revision: int = REVISION
    title: str | UnsetType = UNSET
    suite: SuiteNameDoc
    artifact: scorecard.ArtifactDoc | None
    target: str | None
    verdict: str
    reasons: list[str]
    belief: BeliefDoc | None = None
    pass_rate: float | None
    pass_rate_interval: list[float] | None
    min_pass_rate: float | None = None
    mean_score: float | None
    mean_score_interval: list[float] | None = None
    counts: dict[str, int]
    unstable: list[str] = []
    low_confidence_cases: int = 0
    judges: list[scorecard.JudgeDoc] = []
    flags: list[str] = []
    notes: list[str] = []
    contract: str
    run: str | None
    usage: scorecard.UsageDoc | None = None
    duration_ms: int | float | None = None
    execution_pass_rate: float | UnsetType | None = UNSET
    baseline_pass_rate: float | UnsetType | None = UNSET
    delta: float | UnsetType | None = UNSET
    interval: list[float] | UnsetType | None = UNSET
    regressions: list[str] | UnsetType = UNSET
    baseline: BaselineDoc | UnsetType | None = UNSET
    baseline_cached: bool | UnsetType = UNSET
    mock: bool | UnsetType = UNSET
    structure: list[dict[str, object]] | UnsetType = UNSET
    candidate_results: list[dict[str, object]] | UnsetType = UNSET
    baseline_results: list[dict[str, object]] | UnsetType = UNSET
    comparison: ComparisonDoc | UnsetType | None = UNSET
    outputs: str | UnsetType = UNSET
    turned: list[TurnedDoc] | UnsetType = UNSET
    triggering: TriggeringDoc | UnsetType = UNSET
    with_skills: list[scorecard.ArtifactDoc] | UnsetType = UNSET
    left_out: int = 0
    left_out_cases: list[str] | UnsetType = UNSET
    cases: list[CaseDoc]
    rescored_from: scorecard.RescoredDoc | UnsetType = UNSET

    @property
    def belief_words(self) -> list[str]:
        """How sure the verdict is, and what contradicts it."""
        return belief_words(self.belief, self.verdict)

    def sure_words_of(self, case: CaseDoc) -> str:
        """How sure it is that a case passes, where judges are asked on until the suite is decided: why
        that is open, or is not.
        """
        is_asked = self.belief is not None and self.belief.target is not None
        return case.chance_words if is_asked else ""

    @property
    def name(self) -> str:
        """The suite's title, else its path."""
        return line(self.suite.title or self.suite.path or "suite")

    @property
    def compared(self) -> ComparisonDoc | None:
        return self.comparison or None

    @property
    def worst_first(self) -> list[CaseDoc]:
        """The cases with those in front that did not pass; equal ones in the file's order."""
        return sorted(self.cases, key=lambda case: WORST_FIRST.index(case.status))

    @property
    def rates(self) -> tuple[numbers.Number | None, numbers.Number | None]:
        """The pass rates of the baseline and of this run."""
        return None if isinstance(
            self.baseline_pass_rate, UnsetType
        ) else self.baseline_pass_rate, self.pass_rate

    @property
    def source_words(self) -> list[tuple[str, str]]:
        """What was run: suite, artifact, target, baseline; only what is known."""
        path, dialect = line(self.suite.path), self.suite.dialect
        facts = [
            (
                "suite",
                f"{path} ({line(dialect)})" if dialect and dialect not in _OURS and path else path,
            ),
            ("artifact", line(self.artifact.path) if self.artifact else ""),
            ("target", line(self.target or "")),
            ("outputs", line(self.outputs or "")),
            (
                "baseline",
                line(self.baseline.name or self.baseline.run or "") if self.baseline else "",
            ),
        ]
        return [(name, value) for name, value in facts if value]

    @property
    def status_counts(self) -> dict[str, int]:
        return {status: self.counts.get(status, 0) for status in STATUSES}

    @property
    def counts_words(self) -> list[str]:
        left_out = [f"{self.left_out:,} left out"] if self.left_out else []
        return [*counts_words(self.status_counts), *left_out]

    @property
    def verdict_words(self) -> str:
        """What passes with regressions says so."""
        words = state_words(
            self.verdict, is_partial=self.left_out > 0, is_undecided=is_undecided(self.belief)
        )
        words = scorecard.stated_verdict(
            words, self.verdict, low_confidence=bool(self.low_confidence_cases)
        )
        lost = self.compared.regressions if self.compared and self.verdict == "pass" else []
        return f"{words}, {count(len(lost), 'regression')}" if lost else words

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """(name, meaning) of what a reader must know before the verdict."""
        judged = self.status_counts["passed"] + self.status_counts["failed"]
        return scorecard.low_confidence_of(self.low_confidence_cases, judged)

    @property
    def passed_count(self) -> tuple[int, int]:
        """(passed, not skipped)."""
        counts = self.status_counts
        return counts["passed"], sum(counts.values()) - counts["skipped"]

    @property
    def least_rate(self) -> numbers.Number | None:
        """The bar of the pass rate. With a baseline the comparison decides, and a bar of 1 is only
        the default.
        """
        return None if self.min_pass_rate == 1 and self.compared else self.min_pass_rate

    @property
    def needs_words(self) -> str:
        return (
            ""
            if self.least_rate is None
            else f"needs {numbers.show_bar(numbers.exact(self.least_rate))}%"
        )

    @property
    def rate_words(self) -> str:
        return numbers.rate_words(self.pass_rate, self.pass_rate_interval, self.least_rate)

    @property
    def mean_words(self) -> str:
        """The mean score, or what is known of it; empty when nothing is."""
        known = self.mean_score is not None or self.mean_score_interval
        return scorecard.span_words(self.mean_score, self.mean_score_interval) if known else ""

    @property
    def with_skills_words(self) -> str:
        """The skills that were installed next to the one that was tried; empty where there are
        none.
        """
        others = [] if isinstance(self.with_skills, UnsetType) else self.with_skills
        return (
            f"{count(len(others), 'other skill')}: {', '.join(line(one.path) for one in others)}"
            if others
            else ""
        )

    @property
    def triggering_words(self) -> str:
        """How well the skill is picked up; empty where no case asks."""
        triggering = self.triggering
        if isinstance(triggering, UnsetType):
            return ""
        known = [
            f"precision {numbers.percent(triggering.precision)}",
            f"recall {numbers.percent(triggering.recall)}",
        ]
        open_ones = (
            [f"{triggering.unknown:,} of {count(triggering.cases, 'case')} unknown"]
            if triggering.unknown
            else []
        )
        return ", ".join([*known, *open_ones])

    @property
    def target_time(self) -> numbers.Number | None:
        """Milliseconds in the target, all cases one after another; None when none was measured."""
        times = [case.time for case in self.cases if case.time is not None]
        return sum(times) if times else None

    @property
    def time_words(self) -> list[str]:
        """How long the run took, and the target by itself."""
        parts = [numbers.duration_words(self.duration_ms)]
        if self.target_time is not None:
            parts.append(
                f"{numbers.duration_words(self.target_time)} in the target, all cases together"
            )
        return [part for part in parts if part]

    @property
    def spent_words(self) -> list[str]:
        """As for one artifact, with the calls of the target in front. What those cost is not
        nothing, but not known.
        """
        if self.usage is None:
            return []
        if not self.usage.target_calls:
            return self.usage.words()
        return [
            count(self.usage.target_calls, "target call"),
            *(part for part in self.usage.words() if part != scorecard.NOTHING_SPENT),
        ]

    @property
    def shared_flags(self) -> list[str]:
        """The flags of the run, and those that every judged case has."""
        judged = [set(case.flags) for case in self.cases if case.criteria]
        common = set.intersection(*judged) if judged else set()
        return list(dict.fromkeys([*self.flags, *sorted(common)]))

    @property
    def remarks(self) -> list[str]:
        """Notes, and what of the scores is noise."""
        return [*self.notes, *noise_words(self.cases)]

    @property
    def unstable_names(self) -> list[str]:
        """Cases whose attempts disagree."""
        return [case.name for case in self.cases if case.unstable]

    @property
    def judge_states(self) -> list[scorecard.JudgeDoc]:
        """Each judge once, in its worst state over the run and its cases."""
        # The unusable replies of the run are those of all its cases already, and its looks are theirs.
        of_run = (replace(judge, looks=0) for judge in self.judges)
        of_cases = (replace(judge, unusable=UNSET) for case in self.cases for judge in case.judges)
        return scorecard.states_over_many([*of_run, *of_cases])

    @property
    def open_reasons(self) -> list[str]:
        """What may say which limit left the verdict open; nothing where it is not open."""
        if self.verdict != "inconclusive":
            return []
        found = [*(one.reason for one in self.judge_states), *(one.error for one in self.cases)]
        return [one for one in found if one]


_OURS: Final = ("honestone", "native")


class TrendRunDoc(Struct, frozen=True, kw_only=True):
    """One run of a trend: keys of its report.

    `rate_interval`: 95% of the pass rate, 0-1 (Wilson), its judged cases taken as a sample; `null`
        while one is undecided
    `mean_interval`: 95% of the mean score, in points from 0 to 100 (its standard error); `null`
        likewise
    `min_pass_rate`: what it needed, 0-1; `null` where only a comparison decided
    `undecided`: every needed answer is there, and the probability is between the bars of `sure`
    """

    run: str | None
    suite: str = ""
    artifact: scorecard.ArtifactDoc | None = None
    target: str | None = None
    verdict: str = ""
    undecided: bool = False
    low_confidence_cases: int = 0
    pass_rate: float | None = None
    pass_rate_interval: list[float] | None = None
    mean_score: float | None = None
    rate_interval: list[float] | None = None
    mean_interval: list[float] | None = None
    min_pass_rate: float | None = None
    counts: dict[str, int] = {}
    regressions: list[str] = []
    improvements: list[str] = []

    @property
    def verdict_words(self) -> str:
        low = bool(self.low_confidence_cases)
        words = state_words(self.verdict, is_undecided=self.undecided)
        return scorecard.stated_verdict(words, self.verdict, low_confidence=low)

    @property
    def counts_words(self) -> list[str]:
        return (
            counts_words({status: self.counts.get(status, 0) for status in STATUSES})
            if self.counts
            else []
        )

    @property
    def rate_words(self) -> str:
        """The pass rate, or what is known of it."""
        return numbers.rate_words(self.pass_rate, self.pass_rate_interval, self.min_pass_rate)

    @property
    def rate_percent(self) -> str:
        """The pass rate, or `n/a`."""
        return numbers.percent(self.pass_rate, self.min_pass_rate)

    def change_from(self, before: TrendRunDoc | None, minus: str = "−") -> str:
        """The difference of the pass rates in points; empty when one is not known."""
        if before is None or before.pass_rate is None or self.pass_rate is None:
            return ""
        by = numbers.exact(self.pass_rate) - numbers.exact(before.pass_rate)
        return numbers.rate_change_words(by, minus)


class TrendDoc(Struct, frozen=True, kw_only=True):
    """Runs in a row.

    `runs`: in the order given, each with keys of its report; `regressions` and `improvements` are
        against the run before
    `notes`: whether their figures cannot be compared
    """

    schema: str = TREND
    runs: list[TrendRunDoc] = []
    notes: list[str] = []

    @property
    def steps(self) -> Iterator[tuple[TrendRunDoc | None, TrendRunDoc]]:
        """Every run with the one before it."""
        return zip([None, *self.runs], self.runs, strict=False)


# ------------------------------------------------------------------------------------------------------------
# in words


def counts_words(counts: Mapping[str, int]) -> list[str]:
    """`["2 passed", "1 failed"]`; the first always, the others where there are some."""
    return [
        f"{counts[status]:,} {status}"
        for status in STATUSES
        if counts[status] or status == "passed"
    ]


def noise_words(cases: Iterable[CaseDoc | ComparedCaseDoc]) -> list[str]:
    """What is known of the noise, once for each rubric that was measured."""
    return list(
        dict.fromkeys(f"noise: for a case, {case.noise.words}" for case in cases if case.noise)
    )
