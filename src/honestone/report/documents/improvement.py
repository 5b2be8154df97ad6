"""`honestone.improvement/1`: one run of the loop, on a rubric or over the tasks of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from honestone.core.belief.stated import CONTRACT_MET, SPLITS_PASS
from honestone.core.numbers import chance_words, change, points, rate_change_words, sure
from honestone.report.documents import scorecard
from honestone.report.documents.belief import BeliefDoc
from honestone.report.documents.findings import states_words
from honestone.report.documents.states import state_phrase, state_words
from honestone.system.drawing import line

IMPROVEMENT: Final = "honestone.improvement/1"

# Characters of what a worker said that a report keeps.
LONGEST_WORDS: Final = 300


class MoveDoc(Struct, frozen=True, kw_only=True):
    """How one criterion moved in a round.

    `within_noise`: it moved, by less than `noise.tolerance`, and judges marked it
    """

    id: str
    before: float | None = None
    after: float | None = None
    by_judge: dict[str, float | None] = {}
    within_noise: bool = False

    @property
    def by(self) -> str:
        """The change in points; empty where one score is not known."""
        return change(self.before, self.after)

    def words(self, arrow: str = "→") -> str:
        """`tone 40.0 → 41.0 (+1.0, within noise)`."""
        remarks = ", ".join(
            part for part in (self.by, "within noise" if self.within_noise else "") if part
        )
        return f"{line(self.id)} {points(self.before)} {arrow} {points(self.after)}" + (
            f" ({remarks})" if remarks else ""
        )


class DiffDoc(Struct, frozen=True, kw_only=True):
    """Lines added and removed, in how many files."""

    added: int = 0
    removed: int = 0
    files: int = 0

    @property
    def words(self) -> str:
        """`+12 -3`, and in how many files when there are several."""
        where = f" in {self.files:,} files" if self.files > 1 else ""
        return f"+{self.added:,} -{self.removed:,}{where}"


class RoundDoc(Struct, frozen=True, kw_only=True):
    """One round of a loop.

    `round`, `focus`: its number from 1; the criteria that it was about
    `outcome`, `outcome_detail`: what the worker's bytes say
    `decision`, `reason`: `accepted` or `rejected`, and why; `null` where the run was interrupted
        before
    `score_before`, `score_after`, `interval_after`: the overall score; `null` when a mark is
        missing. Of a policy with beliefs it is the score expected by every vote at that moment, so
        that all rounds are on one scale whoever looked
    `criteria`, `judges`, `flags`, `floor_violations`: how each criterion moved, judge states,
        flags, criteria below a floor
    `diff`, `version`: lines added and removed; the digest of the new bytes
    `low_confidence`: whether some item of its version had fewer than two voters among judges
    `within_noise`: the overall score moved, by less than `noise.tolerance`, and judges marked it
    `same_judges`: whether those who scored the new version scored the one it started from; `null`
        where it was not scored
    `same_as`: the earlier round that proposed the same bytes; `null` for new ones
    `said`, `usage`: the worker's own last words, shortened; what the round cost
    `probability`: of the contract being met by its version, 0-1; `null` where nothing was judged
    `candidate`, `candidates`: over a suite, which of the candidates was taken, and what came of
        each
    """

    round: int
    focus: list[str] = []
    outcome: str = ""
    outcome_detail: str | None = None
    decision: str | None = None
    reason: str | None = None
    score_before: float | None = None
    score_after: float | None = None
    interval_after: list[float] | None = None
    criteria: list[MoveDoc] = []
    judges: list[scorecard.JudgeDoc] = []
    diff: DiffDoc | None = None
    version: str | None = None
    floor_violations: list[str] = []
    flags: list[str] = []
    low_confidence: bool = False
    within_noise: bool = False
    same_judges: bool | None = None
    same_as: int | None = None
    worker_message: str | None = field(default=None, name="said")
    usage: scorecard.UsageDoc | None = None
    probability: float | None = None
    candidate: object = UNSET
    candidates: object = UNSET

    @property
    def is_open(self) -> bool:
        """Whether the run was interrupted before it was decided."""
        return self.decision is None

    @property
    def is_accepted(self) -> bool:
        return self.decision == "accepted"

    @property
    def is_gain(self) -> bool:
        """Whether it was kept, and not for the same score or a lower one."""
        before, after = self.score_before, self.score_after
        return self.is_accepted and (before is None or after is None or after > before)

    @property
    def decision_words(self) -> str:
        """`accepted`, `no gain` where it was kept without a higher score, `rejected`, or
        `interrupted`.
        """
        return (
            "no gain" if self.is_accepted and not self.is_gain else self.decision or "interrupted"
        )

    @property
    def outcome_words(self) -> str:
        """What the worker's proposal was, from its bytes."""
        outcome, detail = line(self.outcome), line(self.outcome_detail or "", 200)
        return f"{outcome}: {detail}" if detail else outcome

    @property
    def decision_reason(self) -> str:
        """Why it was decided so, where the outcome does not say it already."""
        reason = line(self.reason or "")
        return "" if reason == self.outcome_words else reason

    @property
    def remarks(self) -> list[str]:
        """The outcome when nothing usable came, the reason, judges that were gone, floors that are
        still broken.
        """
        return self.remarks_next_to(())

    def remarks_next_to(self, listed: Sequence[scorecard.JudgeDoc]) -> list[str]:
        """The same in a report that lists judges with their reasons: these are not repeated."""
        outcome = self.outcome_words if self.outcome not in ("", "changed") else ""
        reason = line(self.reason or "")
        remarks = [outcome] if outcome and not reason.startswith(outcome[:60]) else []
        remarks += [reason, states_words(self.judges, listed)]
        if self.floor_violations:
            remarks.append("below floor: " + ", ".join(map(line, self.floor_violations)))
        return [part for part in remarks if part]

    @property
    def diff_words(self) -> str:
        return self.diff.words if self.diff else ""

    @property
    def worker_words(self) -> str:
        """What the worker said, in quotes, where the outcome does not say it already."""
        worker_message = line(self.worker_message or "")
        return (
            f'the worker: "{worker_message}"'
            if worker_message and worker_message not in line(self.outcome_detail or "")
            else ""
        )

    def moved_words(self, arrow: str = "→") -> str:
        """Every criterion that moved; how many did not."""
        if not any(one.by for one in self.criteria):
            return ""
        moved = [one.words(arrow) for one in self.criteria if one.by not in ("", "0.0")]
        still = sum(one.by == "0.0" for one in self.criteria)
        words = "; ".join(moved) or "no criterion moved"
        return f"{words}; {still} as before" if moved and still else words

    @property
    def _is_blurred(self) -> bool:
        return self.same_judges is False and any(one.by not in ("", "0.0") for one in self.criteria)

    @property
    def _open_words(self) -> str:
        low, high = self.interval_after or (None, None)
        if self.score_after is None or low == high or not any(one.is_absent for one in self.judges):
            return ""
        return (
            f"with the votes that did not come, the score is from {points(low)} to {points(high)}"
        )

    def story(
        self,
        arrow: str = "→",
        subject: str = CONTRACT_MET,
        *,
        is_expected: bool = False,
        has_moves: bool = True,
    ) -> list[str]:
        """What moved, how sure the policy is, what the worker said and what it cost: a line each.
        Of bytes that an earlier round proposed, what moved is said there. `subject`: of what it is
        sure. `is_expected`: the score is what is expected by every vote, and its interval holds
        that with 95 %, whoever failed. `has_moves` False: what moved is shown elsewhere.
        """
        noise = "" if is_expected else self._open_words
        if self.within_noise:
            noise = "the score moved within noise"
        apart = (
            "scored by other judges than before, so a part of the move may be theirs"
            if self._is_blurred
            else ""
        )
        how_sure = (
            "" if self.probability is None else f"{chance_words(self.probability)} that {subject}"
        )
        moved = self.moved_words(arrow) if has_moves else ""
        looked = () if self.same_as else (moved, apart, noise, how_sure)
        spent = f"spent {', '.join(self.usage.words(whole_run=True))}" if self.usage else ""
        return [one for one in (*looked, self.worker_words, spent) if one]


class WitnessDoc(Struct, frozen=True, kw_only=True):
    """What one held-out judge said of the version that is delivered."""

    id: str
    verdict: str | None = None
    score: float | None = None
    state: str = ""
    reason: str | None = None

    @property
    def verdict_words(self) -> str:
        """`did not pass`; of one that gave no mark there is none."""
        has_none = self.verdict is None or (self.verdict == "inconclusive" and self.score is None)
        return "no verdict" if has_none else state_phrase(self.verdict or "")


class TestRunsDoc(Struct, frozen=True, kw_only=True):
    """The suite runs over the test split: of the result, and of the original."""

    result: str | None = None
    baseline: str | None = None


class CertificationDoc(Struct, frozen=True, kw_only=True):
    """What those say that did not steer the loop: held-out judges, or over a suite the tasks of the
    test split.

    `needed`, `ok`: whether somebody had to confirm the result, and whether all did; `null` where
        nothing was asked
    `split`, `tasks`, `runs`: of a suite: the split, how many tasks it has, the runs to `show`
    `pass_rate`, `baseline_pass_rate`, `delta`, `interval`: of the result and of the original on
        that split, 0-1
    `failed`, `undecided`: the ids of those tasks
    `judges`: what each held-out judge said
    `consulted`, `consultations`: how often they were asked, and how often they may be
    `reason`: why it is not confirmed, or was not asked
    """

    needed: bool = False
    ok: bool | None = None
    split: str | UnsetType = UNSET
    pass_rate: float | UnsetType | None = UNSET
    baseline_pass_rate: float | UnsetType | None = UNSET
    delta: float | UnsetType | None = UNSET
    interval: list[float] | UnsetType | None = UNSET
    tasks: int | UnsetType = UNSET
    failed: list[str] | UnsetType = UNSET
    undecided: list[str] | UnsetType = UNSET
    runs: TestRunsDoc | UnsetType = UNSET
    judges: list[WitnessDoc] = []
    consulted: int | UnsetType = UNSET
    consultations: int | UnsetType = UNSET
    reason: str | None = None

    @property
    def tested(self) -> TestRunsDoc:
        return self.runs or TestRunsDoc()

    @property
    def split_words(self) -> str:
        """`2 of 2 passed, the original 0 of 2 (+100.0 points, 95% from +50.0 to +100.0)`, or why
        test was not run.
        """
        if not self.tasks:
            return f"not run: {line(self.reason or '')}"
        words = f"{self._passed(self.pass_rate)} passed"
        if self.tested.result != self.tested.baseline:
            words += f", the original {self._passed(self.baseline_pass_rate)}"
            if self.interval and self.delta is not UNSET and self.delta is not None:
                low, high = (rate_change_words(end, "-") for end in self.interval)
                by = rate_change_words(self.delta, "-")
                words += f" ({by} points, 95% from {low} to {high})"
        for name, ids in (("failed", self.failed), ("undecided", self.undecided)):
            if ids:
                words += f"; {name}: {', '.join(map(line, ids))}"
        return words

    def _passed(self, rate: float | UnsetType | None) -> str:
        of = self.tasks or 0
        return f"? of {of}" if rate is None or rate is UNSET else f"{round(rate * of)} of {of}"


class LoopSuiteDoc(Struct, frozen=True, kw_only=True):
    """The suite whose tasks a loop was run over, and the format it was read as."""

    path: str = ""
    dialect: str | None = None


class AdviceDoc(Struct, frozen=True, kw_only=True):
    """What would help a run that did not reach its goal.

    `kind`: `budget`, `rounds`, `item` (a clearer one), `judge` (a better one), `worker` (another)
        or `person`
    `about`: the option, judge, criterion, `CRITERION/ITEM` or file that it is about; `null` for the
        run as a whole
    """

    kind: str
    text: str = ""
    about: str | None = None


class StandingDoc(Struct, frozen=True, kw_only=True):
    """What is expected of a version by every vote of the run: `score` with its 95 % `interval` and
    the `criteria`, in points; the `probability` that the contract is met, 0-1.
    """

    score: float
    interval: list[float]
    criteria: dict[str, float] = {}
    probability: float | None = None

    def on(self, card: scorecard.ScorecardDoc) -> scorecard.ScorecardDoc:
        """A scorecard with what is expected in place of what the judges who looked at it gave."""
        criteria = [
            one
            if (score := self.criteria.get(one.id)) is None
            else replace(
                one,
                score=score,
                interval=[score, score],
                below_floor=one.applies and score < (one.floor or 0),
            )
            for one in card.criteria
        ]
        return replace(card, score=self.score, interval=self.interval, criteria=criteria)


class ExpectedDoc(Struct, frozen=True, kw_only=True):
    """What is expected of the original (`baseline`) and of the version that is delivered (`final`)."""

    baseline: StandingDoc | None = None
    final: StandingDoc | None = None


class DeliveryDoc(Struct, frozen=True, kw_only=True):
    """What the run delivers, and why.

    `rule`: `passed`, `better` (than the original, by its marks and with a probability of at least
        80 %) or `original`
    `reason`: in words
    `probability`: that a version is better than the original by every vote of the run, 0-1; `null`
        where marks or the result decided
    """

    rule: str
    reason: str = ""
    probability: float | None = None


class ImprovementDoc(Struct, frozen=True, kw_only=True):
    """One run of the loop.

    `schema`, `title`, `artifact`: the shape; the rubric's title; `path`, `digest` of the best
        version, `original`
    `result`: `PASSED`, `UNCONFIRMED`, `PLATEAU`, `ROUND_LIMIT`, `BUDGET`, `METRIC_DEAD`,
        `NO_CHANGE`, `WORKER_FAILED`, `COULD_NOT_JUDGE`, `CONTRACT_CHANGED` or `INTERRUPTED`
    `reason`, `changed`: why it ended so; the files that judge and changed while it ran
    `best_round`: the round whose version is delivered, or while the run is under way the best; 0 is
        the original
    `delivery`: which of three rules decided what is delivered, and why; absent while the run is
        under way, and in older runs
    `threshold`, `floor`, `policy`, `panel`, `worker`, `limits`: what the run was given; `panel` are
        the judges that steer
    `options`: the words of the command that a next one repeats; absent where there are none
    `noise`: not over a suite: which fall of the score is noise, and how that is known
    `rounds`: what was tried, and what came of it
    `baseline`, `final`: scorecards of the original and of the best version
    `expected`: what is expected of the two by every vote of the run, whoever looked at which;
        absent where the policy has no beliefs
    `certification`: the held-out judges, what each said, and `ok`
    `low_confidence`: whether one judge alone scored the best version, and no held-out judge
        confirmed its verdict
    `probability`: that the best version meets the contract, by every look of the run, 0-1; `null`
        where nothing was judged
    `belief`: the same with what it rests on
    `advice`: what would help next, the most decisive first (`kind`, `text`, what it is `about`);
        empty for a run that passed or has not ended
    `contract`, `run`, `report`: the contract id; the run to `show`; the Markdown report that was
        saved
    `deliver`: what was to be delivered: the `best` version, or only one that `passed`
    `delivered`, `output`, `undone`: the version that was delivered; where, if not in place; whether
        `undo` took it back
    `resumed`, `usage`: whether an earlier process began the run; what all of it cost
    `packed`: which parts of an artifact that is too large a judge was shown
    `suite`, `target`, `splits`, `candidates`: over a suite: what was run, and how the tasks are
        divided
    `mock`, `flags`: over a suite: whether no agent ran; every flag of its runs once
    """

    schema: str = IMPROVEMENT
    title: str = ""
    artifact: scorecard.ArtifactDoc = scorecard.ArtifactDoc()
    result: str
    reason: str | None = None
    low_confidence: bool = False
    changed: list[str] = []
    best_round: int = 0
    delivery: DeliveryDoc | UnsetType = UNSET
    threshold: int | float = 0
    floor: int | float = 0
    policy: str = ""
    panel: list[str] = []
    worker: str | None = None
    limits: dict[str, object] = {}
    options: list[str] | UnsetType = UNSET
    noise: scorecard.KnownNoiseDoc | UnsetType = UNSET
    rounds: list[RoundDoc] = []
    baseline: scorecard.ScorecardDoc | None = None
    final: scorecard.ScorecardDoc | None = None
    expected: ExpectedDoc | UnsetType = UNSET
    certification: CertificationDoc = CertificationDoc()
    probability: float | None = None
    belief: BeliefDoc | None = None
    advice: list[AdviceDoc] = []
    contract: str = ""
    run: str | None = None
    report: str | None = None
    deliver: str = "best"
    delivered: str | None = None
    output: str | None = None
    undone: bool = False
    resumed: bool = False
    usage: scorecard.UsageDoc | None = None
    packed: dict[str, object] | UnsetType = UNSET
    suite: LoopSuiteDoc | UnsetType = UNSET
    target: str | UnsetType = UNSET
    splits: object = UNSET
    candidates: object = UNSET
    mock: bool | UnsetType = UNSET
    flags: list[str] | UnsetType = UNSET

    @property
    def can_be_undone(self) -> bool:
        """Whether the person's own file holds a version of the run."""
        return self.output is None and self.delivered not in (None, self.artifact.original)

    @property
    def is_held_back(self) -> bool:
        """Whether there is a better version that was not delivered."""
        return (
            bool(self.best_round)
            and not self.undone
            and self.delivered not in (None, self.artifact.digest)
        )

    @property
    def noise_words(self) -> str:
        """Which changes were noise to the policy, where that was measured."""
        return self.noise.words if self.noise and self.noise.run else ""

    @property
    def last_card(self) -> scorecard.ScorecardDoc | None:
        """The scorecard of the best version, or of the original where nothing else was scored. It
        rests on one judge only where the run does: a held-out judge that confirms it is not in it.
        """
        card = self.final or self.baseline
        if card is None or self.low_confidence:
            return card
        return replace(card, low_confidence=False)

    @property
    def sure_words(self) -> tuple[str, str]:
        """How sure it is that the best version meets the contract, and by what. Code alone is
        certain.
        """
        if self.probability is None:
            return "", ""
        if self.belief is not None and not self.belief.looks:
            return chance_words(self.probability), "by code alone"
        return sure(self.probability), "by every look of the run"

    @property
    def witnesses(self) -> list[WitnessDoc]:
        """What the held-out judges said, as a report shows it: why one was not there is left out
        where the report's list of judges says it.
        """
        listed = self.last_card.judges if self.last_card else []
        reasons = {(one.id, one.reason) for one in listed}
        return [
            replace(one, reason=None) if (one.id, one.reason) in reasons else one
            for one in self.certification.judges
        ]

    @property
    def before(self) -> scorecard.ScorecardDoc | None:
        """The original on the scale of all rounds: as it is expected to be, where different judges
        looked at the two.
        """
        baseline = self.expected.baseline if self.expected else None
        return baseline.on(self.baseline) if baseline and self.baseline else self.baseline

    @property
    def after(self) -> scorecard.ScorecardDoc | None:
        """The delivered version on the same scale."""
        final = self.expected.final if self.expected else None
        return final.on(self.final) if final and self.final else self.final

    @property
    def subject(self) -> str:
        """What its probabilities are about, in words."""
        return SPLITS_PASS if self.suite else CONTRACT_MET

    def story_of(self, one: RoundDoc, arrow: str = "→", *, has_moves: bool = True) -> list[str]:
        """What a report says of one of its rounds, a line each."""
        return one.story(arrow, self.subject, is_expected=bool(self.expected), has_moves=has_moves)

    @property
    def last_flags(self) -> list[str]:
        return self.flags or (self.last_card.flags if self.last_card else [])

    @property
    def result_words(self) -> str:
        """The result as `--json` has it, in words: PASSED, ROUND LIMIT, ...; a PASSED that rests on
        one judge says so.
        """
        if self.result == "PASSED":
            return scorecard.stated_verdict("PASSED", "pass", low_confidence=self.low_confidence)
        return state_words(self.result)

    @property
    def limit_words(self) -> str:
        return ", ".join(
            f"{name} {value}" for name, value in self.limits.items() if value is not None
        )
