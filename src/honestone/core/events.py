"""Events: what happened in a run, in order. A run is its events; everything else is derived from
them.

They hold facts and ballots, never scorecards, so that `rescore`, `show` and resuming are one path:
fold the events, combine the ballots. On disk each is one JSON object with its `type` and its fields
(without those that have their default); the first of a run, `started`, has a `kind` as well.
`event_to_plain` and `event_from_plain` are the codec. `seconds` is the time worked on the run so
far, by all processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import repeat
from typing import (
    TYPE_CHECKING,
    ClassVar,
    Literal,
    NamedTuple,
    NotRequired,
    TypeAlias,
    TypedDict,
    TypeVar,
)

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.editing.result import Delivery, Standing
from honestone.core.json_value import JsonObject
from honestone.core.judging.ballot import (
    Ballot,
    checked_ballot,
)
from honestone.core.judging.contract import Contract
from honestone.core.judging.packing import PlainPacked
from honestone.core.judging.rubric import Key, Rubric, Rule
from honestone.core.judging.spend import Spend
from honestone.core.statistics.labels import PersonLabel
from honestone.core.suite.case import Case, case_from_plain, case_to_plain
from honestone.core.suite.trace import Trace

if TYPE_CHECKING:
    from honestone.core.skill.sides import SidesComparison

Old = TypeVar("Old")
New = TypeVar("New")
Role: TypeAlias = Literal["panel", "holdout"]
Limit: TypeAlias = int | float | None


class Event(Struct, frozen=True, kw_only=True):
    """One thing that happened in a run."""

    type: ClassVar[str] = ""
    kind: ClassVar[str | None] = None

    seconds: float | None = None


class Spending(Event, frozen=True, kw_only=True):
    """An event that says what something cost."""

    spend: Spend = field(default_factory=Spend)


class JudgesAnswered(Spending, frozen=True, kw_only=True):
    """What judges answered. `by_judge`: the part of each in `spend`, where several were asked."""

    ballots: tuple[Ballot, ...] = ()
    by_judge: Mapping[str, Spend] = field(default_factory=dict)


class Started(Event, frozen=True, kw_only=True):
    """The first event of a run. `contract` is the document that `contract_id` is the digest of;
    `rule` combines votes; `panel` are the judges; `limits` are calls, minutes and usd, for loops
    rounds and patience too.
    """

    type = "started"

    contract: Mapping[str, object]
    contract_id: str
    rule: Rule = Rule.MEAN
    panel: tuple[str, ...] = ()
    limits: Mapping[str, Limit] = field(default_factory=dict)


class JudgedBy(TypedDict):
    """What every run in which judges are asked begins with."""

    contract: Mapping[str, object]
    contract_id: str
    rule: Rule
    panel: tuple[str, ...]
    limits: Mapping[str, Limit]


def judged_by(
    contract: Contract, rule: Rule, panel: Iterable[str], limits: Mapping[str, Limit]
) -> JudgedBy:
    """`panel` are the names of the judges."""
    document, id = contract.document, contract.id
    return JudgedBy(contract=document, contract_id=id, rule=rule, panel=tuple(panel), limits=limits)


class TableColumns(Struct, frozen=True, kw_only=True):
    """Which columns of a table are what: the text that is judged, the id, the input, the reference
    and the group of a row.
    """

    text: str
    id: str | None = None
    input: str | None = None
    reference: str | None = None
    group: str | None = None


class TableFacts(TypedDict, total=False):
    """What a run over the rows of a table begins with, besides what every evaluation does."""

    table: TableColumns
    left_out: int
    min_pass_rate: Fraction | None


class EvaluationStarted(Started, frozen=True, kw_only=True):
    """A run of `eval` over artifacts. `options`: the words of its command that a next one repeats."""

    kind = "eval"

    rubric: Rubric
    rubric_path: str | None = None
    # The columns of the table whose rows are judged; None where files or texts are. How many rows
    # were left out, and the share that has to pass.
    table: TableColumns | None = None
    left_out: int = 0
    min_pass_rate: Fraction | None = None
    options: tuple[str, ...] = ()


class StartedArtifact(Struct, frozen=True, kw_only=True):
    """What a run is about, by path and digest. A folder says so."""

    path: str
    digest: str
    is_folder: bool = False


class NoiseStarted(Started, frozen=True, kw_only=True):
    """A run of `noise`: the same bytes are judged `looks` times."""

    kind = "noise"

    rubric: Rubric
    artifact: StartedArtifact
    looks: int
    rubric_path: str | None = None


class AuditStarted(Started, frozen=True, kw_only=True):
    """A run of `audit`. `left_out`: the probes that could not be made of this rubric and artifact,
    and why. `fresh`: no answer from before it counts.
    """

    kind = "audit"

    rubric: Rubric
    artifact: StartedArtifact
    rubric_path: str | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = False


class CalibrationStarted(Started, frozen=True, kw_only=True):
    """What `calibrate` compares: the answers of the run `of_run` with `labels`, whose artifacts are
    named as in that run.
    `outdated`: labels left out because their artifact has changed since. `population`: the
        artifacts whose rate of passes is put right; the labelled ones where there are none.
    """

    kind = "calibrate"

    rubric: Rubric
    of_run: str
    labels: tuple[PersonLabel, ...]
    labels_path: str
    outdated: int = 0
    population: tuple[str, ...] = ()
    rubric_path: str | None = None


class LoopStarted(Started, frozen=True, kw_only=True):
    """A run of a loop: what is improved, by whom, and by which policy versions are kept. `deliver`:
    the `best` version, or only one that `passed`; to `output` if that is given. `tolerance`
    (points): a fall below that is noise, as measured by the run `noise_run`; without one it is the
    policy's own. `options`: the words of its command that a next one repeats.
    """

    kind = "improve"

    artifact: StartedArtifact
    policy: str
    worker: str
    rubric: Rubric
    holdouts: tuple[str, ...] = ()
    output: str | None = None
    deliver: str = "best"
    tolerance: float | None = None
    noise_run: str | None = None
    options: tuple[str, ...] = ()


class ImprovementStarted(LoopStarted, frozen=True, kw_only=True):
    """A loop in which judges look at versions. `packed`: what a judge was shown of an original too
    big for it.
    """

    rubric_path: str | None = None
    packed: Mapping[str, PlainPacked] = field(default_factory=dict)


class StartedSuite(Struct, frozen=True, kw_only=True):
    """The suite of a run. `dialect` is the format it was read in."""

    path: str
    title: str = ""
    dialect: str | None = None


class SuiteImprovementStarted(LoopStarted, frozen=True, kw_only=True):
    """A loop in which the splits of a suite score versions: `rubric` steers, `certifying`
    certifies.

    `splits` are the ids of their cases, `candidates` the proposals of a round. `mock`: a part of it
    only pretends. `rubrics`: what judges answer, by their keys.
    `attempts`: of cases that are run several times, how often. `is_by_code`: no case asks a judge.
    """

    suite: StartedSuite
    certifying: Rubric
    splits: Mapping[str, Sequence[str]]
    rubrics: Mapping[str, Rubric] = field(default_factory=dict)
    attempts: Mapping[str, int] = field(default_factory=dict)
    is_by_code: bool = False
    candidates: int = 1
    require_improvement: bool = False
    target: str | None = None
    mock: bool = False


class RecordedCase(Struct, frozen=True, eq=False):
    """A case as it was when the run began, made only when it is needed: `runs` reads many, and
    needs none. `made_of`: the case, where it is at hand; two are equal whether it is or not.
    """

    plain: JsonObject
    made_of: Case | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecordedCase) and self.plain == other.plain

    def __ne__(self, other: object) -> bool:
        """A struct's own does not ask `__eq__`."""
        return not self == other

    def __repr__(self) -> str:
        return f"RecordedCase({self.plain!r})"

    @classmethod
    def of(
        cls,
        case: Case,
        *,
        rubric: str,
        contract: str,
        asked: str | None,
        answered: str | None = None,
    ) -> RecordedCase:
        about = {"asked": asked, "answered": None if answered == case.input else answered}
        stated = {name: value for name, value in about.items() if value is not None}
        return cls({**case_to_plain(case), "rubric": rubric, "contract": contract, **stated}, case)

    @property
    def id(self) -> str:
        return str(self.plain["id"])

    @property
    def rubric(self) -> str:
        """Its rubric's key in `SuiteStarted.rubrics`."""
        return str(self.plain["rubric"])

    @property
    def contract(self) -> str:
        return str(self.plain["contract"])

    @property
    def attempts(self) -> int:
        return int(str(self.plain["attempts"]))

    @property
    def asked(self) -> str | None:
        """The digest of what the target was asked in this case, the target itself included; None
        where none was.
        """
        return None if "asked" not in self.plain else str(self.plain["asked"])

    @property
    def answered(self) -> str | None:
        """The input that its outputs answer, where these were recorded before and that was another
        than the case's.
        """
        return None if "answered" not in self.plain else str(self.plain["answered"])

    def case(self, rubric: Rubric) -> Case:
        if self.made_of is not None and self.made_of.rubric is rubric:
            return self.made_of
        return case_from_plain(self.plain, rubric)


class SuiteStarted(Started, frozen=True, kw_only=True):
    """A run over the cases of a suite. `side` is `baseline` or another name for what an artifact is
    compared with.

    `artifact` is None where the target alone answers. `min_given`: the least pass rate was asked
    for, not assumed.
    `sure`: judges are asked on until the verdict is this probable (0-1), within `max_looks` looks.
    `left_out`: ids of the suite's cases that were not chosen. `outputs`: where its outputs were
        recorded before; then `target` and `artifact` are what made them, where that is known.
        `more_skills` are installed next to the artifact. A store keeps the `cases` as rows of their
        own.
    `label`: the suite's name of the target, in a run with one of several prompts.
    """

    kind = "suite"

    suite: StartedSuite
    rubrics: Mapping[str, Rubric]
    cases: Sequence[RecordedCase] = ()
    target: str | None = None
    artifact: StartedArtifact | None = None
    side: str = ""
    min_pass_rate: Fraction = Fraction(1)
    min_given: bool = False
    sure: Fraction | None = None
    max_looks: int | None = None
    notes: tuple[str, ...] = ()
    mock: bool = False
    isolated: bool = False
    left_out: tuple[str, ...] = ()
    outputs: str | None = None
    more_skills: tuple[StartedArtifact, ...] = ()
    label: str | None = None

    @property
    def is_asked_on(self) -> bool:
        return asks_on(self.sure, self.panel)


def asks_on(sure: Fraction | None, judges: Sequence[object]) -> bool:
    """Whether a suite chooses its looks one by one: where it says how sure its verdict has to be
    (0-1), and there are judges. What code alone judges is certain.
    """
    return sure is not None and bool(judges)


class StartedColumn(Struct, frozen=True, kw_only=True):
    """A column of a table: its name there, and the run that it is."""

    name: str
    run: str


class TableStarted(Started, frozen=True, kw_only=True):
    """One suite with several targets or artifacts: each is a run of its own, a column."""

    kind = "table"

    suite: StartedSuite
    columns: tuple[StartedColumn, ...]


class StagesStarted(Started, frozen=True, kw_only=True):
    """A run of all stages over a skill. `lessons` are what earlier runs taught, as the worker is
    shown them.
    """

    kind = "stages"

    artifact: StartedArtifact
    suite: StartedSuite
    worker: str
    policy: str
    target: str
    candidates: int = 1
    pass_k: int = 1
    mock: bool = False
    lessons: tuple[str, ...] = ()


class LoopImported(Started, frozen=True, kw_only=True):
    """A loop that another tool ran: the `state` that it left in the file `path`. Nothing of it was
    judged by us.
    """

    kind = "imported"

    tool: str
    path: str
    state: JsonObject


class ArtifactJudged(JudgesAnswered, frozen=True, kw_only=True):
    """One artifact of an `eval` run. `output` is what a target made of it; `error` says why nothing
    was judged; `packed` what a judge, by its id, was shown of a text too big for it. `group` is that
    of a row of a table.
    """

    type = "judged"

    path: str
    digest: str
    output: str | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()
    packed: Mapping[str, PlainPacked] = field(default_factory=dict)
    group: str = ""


class CheckedArtifact(NamedTuple):
    """`said` is what the checks said: {criterion: {item: [met, note]}}. Who writes may bring it as
    encoded JSON.
    """

    path: str
    digest: str
    answers: object


class ArtifactsChecked(Event, frozen=True, kw_only=True):
    """Many artifacts of an `eval` run that text checks alone judged. `groups`: those of the rows of
    a table, in the order of `artifacts`; empty where it has none.
    """

    type = "checked"

    artifacts: Sequence[CheckedArtifact]
    groups: tuple[str, ...] = ()

    def judged(self) -> Iterator[ArtifactJudged]:
        groups = self.groups or repeat("")
        for (path, digest, answers), group in zip(self.artifacts, groups, strict=False):
            yield ArtifactJudged(
                path=path, digest=digest, ballots=(checked_ballot(answers),), group=group
            )


def judged_in(event: Event) -> Iterator[ArtifactJudged]:
    """The artifacts whose judging an event records: none, one, or many."""
    if isinstance(event, ArtifactJudged):
        yield event
    elif isinstance(event, ArtifactsChecked):
        yield from event.judged()


class LookTaken(JudgesAnswered, frozen=True, kw_only=True):
    """One look of a run of `noise`, counted from 1."""

    type = "look"

    number: int


class ProbeAnswered(Spending, frozen=True, kw_only=True):
    """What one judge answered to one question of an `audit`, about the `version` that it was shown.
    `known`: the items whose answer is known; `on`: the question whose answers it is compared with;
    `quoted`: the items that it credits with words it quotes, `unfound` those of them whose words it
    was not shown.
    """

    type = "probed"

    probe: str
    variant: str
    version: str
    ballot: Ballot
    on: str = ""
    known: tuple[Key, ...] = ()
    quoted: tuple[Key, ...] = ()
    unfound: tuple[Key, ...] = ()


class OutputProduced(Spending, frozen=True, kw_only=True):
    """What a target made of one case. `diff` is the change of its workspace, `files` the digest of
    the workspace afterwards, where checks look at it, and `start` that of the workspace as it was
    set up, where the two differ.
    """

    type = "produced"

    case: str
    attempt: int
    output: str
    duration_ms: int = 0
    error: str | None = None
    trace: Trace | None = None
    diff: str | None = None
    files: str | None = None
    start: str | None = None


class AttemptJudged(JudgesAnswered, frozen=True, kw_only=True):
    """That output, judged. One that was `refused` counts only as long as the attempt has no other
    judgement.
    """

    type = "attempted"

    case: str
    attempt: int
    # The limit that kept a judge from being asked.
    refused: str | None = None


class CasePassedBy(Event, frozen=True, kw_only=True):
    """A case that was not run."""

    type = "passed-by"

    case: str
    reason: str


class DuplicateWork(Spending, frozen=True, kw_only=True):
    """What an attempt cost that another process had put on record first. Only its `spend` counts."""

    type = "duplicate"

    case: str
    attempt: int


class SidesCompared(Event, frozen=True, kw_only=True):
    """How a suite run compares with its baseline, and what is known of a skill that is tried."""

    type = "compared"

    sides: SidesComparison


class AttemptAnswers(Struct, frozen=True, kw_only=True):
    """What is known of one attempt at a case, or of `count` of them that gave the same text. Empty
    where it was not made. `certain`, `is_short` and `ballots` as of a `CaseAnswers`.
    """

    text: str = ""
    certain: bool | None = None
    is_short: bool = False
    count: int = 1
    ballots: tuple[Ballot, ...] = ()


class CaseAnswers(Struct, frozen=True, kw_only=True):
    """What is known of one case with one version. `text`: the digest of what its judges are shown,
    so that cases with equal ones are one text. `rubric`: the key of what they answer. `certain`:
    whether it passes, where no judge can change that. `is_skipped`: no judge was asked about enough
    of it. `is_short` and `is_turned`: as of a `CaseBelief`. `expect`: the scores that are expected of it. `ballots`: the looks that were not on
    record of this text, and the answers of code.

    Where it is run several times, `attempts` have the texts: of `rule` best those that may be the
    best one, in their order; of pass@k and pass^k `needed` of them have to pass.
    """

    case: str
    text: str
    rubric: str
    certain: bool | None = None
    is_short: bool = False
    is_turned: bool = False
    is_skipped: bool = False
    expect: JsonObject | None = None
    ballots: tuple[Ballot, ...] = ()
    rule: str | None = None
    needed: int = 1
    attempts: tuple[AttemptAnswers, ...] = ()

    @property
    def parts(self) -> tuple[AttemptAnswers, ...]:
        """What is known of each of its texts."""
        if self.rule is not None:
            return tuple([one for one in self.attempts if one.text])
        return (
            AttemptAnswers(
                text=self.text,
                certain=self.certain,
                is_short=self.is_short,
                ballots=self.ballots,
            ),
        )

    @property
    def texts(self) -> frozenset[tuple[str, int]]:
        """Its texts, each with how many attempts gave it."""
        return frozenset((one.text, one.count) for one in self.parts)

    def with_ballots(self, of: Callable[[AttemptAnswers], tuple[Ballot, ...]]) -> CaseAnswers:
        """The same, each text with the ballots that `of` gives."""
        if self.rule is None:
            return replace(self, ballots=of(self.parts[0]))
        attempts = [replace(one, ballots=of(one)) if one.text else one for one in self.attempts]
        return replace(self, attempts=tuple(attempts))


class BallotCast(Spending, frozen=True, kw_only=True):
    """One judge's answers about a version; `draw` counts its looks at that version from 0. In a
    loop over a suite the judge is a split, and `of_run` its run; `judges` (id, state, reason) and
    `flags` are those of that run, and `cases` what its judges answered.
    """

    type = "ballot"

    version: str
    role: Role
    ballot: Ballot
    draw: int = 0
    of_run: str | None = None
    judges: Sequence[JsonObject] = ()
    flags: tuple[str, ...] = ()
    cases: tuple[CaseAnswers, ...] = ()


class CandidateTried(Spending, frozen=True, kw_only=True):
    """One of several proposals of a round, read from bytes. `version` is there only where it
    changed something for good.
    """

    type = "candidate"

    round: int
    candidate: int
    outcome: ProposalOutcome
    detail: str | None = None
    message: str | None = None
    version: str | None = None
    diff: Mapping[str, int] | None = None


class CandidateRanked(Spending, frozen=True, kw_only=True):
    """How good a panel finds an edit (0-1) before it is run; None: the panel could not say."""

    type = "ranked"

    version: str
    score: Fraction | None = None


class RecordedCandidate(TypedDict):
    """One of several proposals of a round, chosen or not. `edit`: how good its edit looks, 0-10;
    `train`: the interval of its pass rate on the train split; `detail`: why it is not worth a run.
    """

    candidate: int | None
    outcome: str
    version: str | None
    edit: float | None
    train: NotRequired[list[float] | None]
    detail: NotRequired[str | None]


class EditProposed(Spending, frozen=True, kw_only=True):
    """What a round's worker did, read from bytes. `base` is the version it started from, where that
    is not the one kept last; `items` are the unmet ones it was given, where they are not those of
    the scorecard of `base`; `candidate` is the chosen one of `candidates`, whose spend is theirs.
    """

    type = "proposed"

    round: int
    focus: tuple[str, ...]
    outcome: ProposalOutcome
    items: tuple[Key, ...] = ()
    detail: str | None = None
    message: str | None = None
    base: str | None = None
    version: str | None = None
    diff: Mapping[str, int] | None = None
    candidate: int | None = None
    candidates: Sequence[RecordedCandidate] = ()


class VersionAccepted(Event, frozen=True, kw_only=True):
    """The version of a round is kept. `before` and `after`: what was believed of the version that
    it started from and of this one, where the policy has beliefs.
    """

    type = "accepted"

    round: int
    version: str
    reason: str
    before: Standing | None = None
    after: Standing | None = None


class VersionRejected(Event, frozen=True, kw_only=True):
    """The version of a round is given up. `before` and `after` as in `VersionAccepted`, where it
    was judged.
    """

    type = "rejected"

    round: int
    reason: str
    before: Standing | None = None
    after: Standing | None = None


class DeliveryBegun(Event, frozen=True, kw_only=True):
    """The person's file is about to hold this version. `modes` (by path): of files whose mode is
    lost by that.
    """

    type = "delivering"

    version: str
    modes: Mapping[str, int] = field(default_factory=dict)


class DeliveryDone(Event, frozen=True, kw_only=True):
    """The person's file holds this version. `undone`: the original, because somebody asked for it
    back.
    """

    type = "delivered"

    version: str
    undone: bool = False


class StageDone(Spending, frozen=True, kw_only=True):
    """What a stage of a round came to, and the file that holds the same `document`. `of_runs` is
    the part of `spend` of each run of the suite.
    """

    type = "staged"

    round: int
    stage: str
    path: str
    document: JsonObject
    of_runs: Mapping[str, Spend] = field(default_factory=dict)


class LimitReached(Spending, frozen=True, kw_only=True):
    """A limit is used up; `reason` names its option. `of_run`: it ended that run of a split, which
    had
    used `spend`;
    `of_runs`: the part of it of each run of a suite.
    """

    type = "limit"

    reason: str
    of_run: str | None = None
    of_runs: Mapping[str, Spend] = field(default_factory=dict)


class ColumnPicked(Event, frozen=True, kw_only=True):
    """The cheapest column that passes, by name; None where none does."""

    type = "picked"

    column: str | None = None


class RunFinished(Event, frozen=True, kw_only=True):
    """The last event. `result` is a verdict, or how a loop ended; `changed` are files that judge,
    where they changed. `figures` are what a list of runs shows of it, `delivery` is what a loop
    delivers.
    """

    type = "finished"

    result: str
    reason: str = ""
    changed: tuple[str, ...] = ()
    delivery: Delivery | None = None
    figures: JsonObject | None = None


class OtherEvent(Event, frozen=True, kw_only=True):
    """An event that this version does not know. Nothing follows from it."""

    name: str
    facts: JsonObject


def total_spend(log: Iterable[Event]) -> Spend:
    """What the events of a run say was spent."""
    return Spend.of(event.spend for event in log if isinstance(event, Spending))
