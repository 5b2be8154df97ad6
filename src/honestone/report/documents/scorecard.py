"""`honestone.scorecard/1`: one artifact or output, judged. Scores are points (0-100), never
rounded.

What the parts are called in words is here too, so that text, Markdown, HTML and JUnit have one
wording.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from honestone.core.json_value import late_pattern
from honestone.core.judging.ballot import (
    NO_FURTHER_LOOK,
    OUT_OF_TIME,
    JudgeState,
)
from honestone.core.judging.ballot import NOT_ASKED as UNASKED
from honestone.core.judging.scorecard import DISAGREE, read_looks_differ
from honestone.core.numbers import Number, exact, money, points
from honestone.report.documents.belief import BeliefDoc, belief_words, is_undecided
from honestone.report.documents.states import state_words
from honestone.system.drawing import count, line

_Score = TypeVar("_Score", bound=float | None)

SCORECARD: Final = "honestone.scorecard/1"

LOW_CONFIDENCE: Final = (
    "fewer than two judges marked it all; `honestone judges calibrate` measures a judge"
)
LOW_CONFIDENCE_NAME: Final = "LOW CONFIDENCE"
NOTHING_CAN_FAIL: Final = "nothing can fail: threshold and floors are 0, and nothing is required"
SELF_EVALUATED: Final = "the marks come from the worker's own model"
# Judges further apart than this on one criterion are flagged (DESIGN §8).
APART: Final = 20


class ArtifactDoc(Struct, frozen=True, kw_only=True):
    """What was judged: its path as it was named, and the digest of its bytes.

    `original`: of an improvement, the digest of the version before it
    """

    path: str = ""
    digest: str = ""
    original: str | UnsetType = UNSET

    @property
    def name(self) -> str:
        return line(self.path or "artifact")


class QuoteDoc(Struct, frozen=True, kw_only=True):
    """A quote that a judge gave as evidence.

    `found`: whether the text holds it; `null` where it was not looked up
    `start`, `end`: where, in code points of the text that was judged (the artifact, or the output);
        `null` where it is not found
    `how`: `exact`, or `normalised`: found but for white space, typographic signs, case or words
        left out
    """

    judge: str = ""
    quote: str = ""
    found: bool | None = None
    start: int | None = None
    end: int | None = None
    how: Literal["exact", "normalised"] | None = None

    def place_words(self, of: str = "artifact") -> str:
        """Where the quote is: in the artifact (or output), not in it, or not looked up."""
        if self.found is None:
            return ""
        return f"in the {of}" if self.found else f"NOT in the {of}"

    def source_words(self, of: str = "artifact") -> str:
        """`codex, in the artifact`: who quoted it, and whether it is there."""
        return ", ".join(part for part in (line(self.judge), self.place_words(of)) if part)


class SuggestionDoc(Struct, frozen=True, kw_only=True):
    judge: str = ""
    text: str = ""


# How a loop and a panel name later looks of the same judge.
_LOOK: Final = late_pattern(r" \(look \d+\)$|#([2-9]|[1-9]\d+)$")


def first_look(judge: str) -> str:
    """The judge's name without the number of a look."""
    return _LOOK.sub("", judge)


def named_looks(judges: Iterable[str]) -> list[str]:
    """The names of who said the same: `codex (3 looks)` for the looks of one judge."""
    looks: dict[str, list[str]] = {}
    for judge in judges:
        looks.setdefault(first_look(judge), []).append(judge)
    return [
        names[0] if len(names) == 1 else f"{judge} ({len(names)} looks)"
        for judge, names in looks.items()
    ]


def looks_of_judges(by_judge: Mapping[str, _Score]) -> dict[str, list[_Score]]:
    """What each judge gave, one value a look."""
    looks: dict[str, list[_Score]] = {}
    for judge, score in by_judge.items():
        looks.setdefault(first_look(judge), []).append(score)
    return looks


NOT_ASKED: Final = "-"  # by a look that asked a part of the criteria


def looks_given(judges: Iterable[JudgeDoc], criteria: Iterable[CriterionDoc]) -> list[str]:
    """The looks of a document that gave a score of some criterion, in the order of its judges."""
    given = {look for one in criteria for look in one.by_judge}
    return [one.id for one in judges if one.id in given]


def look_cells(by_judge: Mapping[str, Number | None], looks: Iterable[str]) -> dict[str, list[str]]:
    """What each judge gave of a criterion, look by look, in words; `-` for one of `looks`, those of
    the whole document, that did not ask about it, so that a place is one look in every row.
    """
    judges = {first_look(one): list[str]() for one in by_judge}
    for look in dict.fromkeys((*looks, *by_judge)):
        cells = judges.get(first_look(look))
        if cells is not None:
            cells.append(points(by_judge[look]) if look in by_judge else NOT_ASKED)
    return judges


def are_apart(by_judge: Mapping[str, float | None]) -> bool:
    """Whether judges, each with the mean of its looks, are far apart."""
    from statistics import fmean

    known = {judge: score for judge, score in by_judge.items() if score is not None}
    means = [fmean(own) for own in looks_of_judges(known).values()]
    return bool(means) and max(means) - min(means) > APART


class SharedSuggestion(Struct, frozen=True, kw_only=True):
    """A suggestion with every judge that made it; none where the document does not say who."""

    text: str
    judges: tuple[str, ...]

    @property
    def source_words(self) -> str:
        return ", ".join(named_looks(map(line, self.judges)))


class ItemDoc(Struct, frozen=True, kw_only=True):
    """One question of a criterion.

    `kind`, `scale`: `check`, `yes-no` or `anchors`, and the ends of its scale
    `met`, `unmet`, `votes`: the combined vote from 0 to 1; whether half or more say no; each
        voter's answer
    `applies`: whether it counts, that is, whether somebody said that it applies
    `evidence`: quotes with their judge, and whether each was found in the text
    `suggestion`, `suggestions`: the first suggestion; all, with their judge
    `note`: why it has no answer
    """

    id: str
    requirement: str = ""
    kind: str = "yes-no"
    scale: list[int | float] | None = None
    met: float | None = None
    unmet: bool | None = None
    applies: bool = True
    votes: dict[str, str | int | float] = {}
    evidence: list[QuoteDoc] = []
    suggestion: str | None = None
    suggestions: list[SuggestionDoc] = []
    note: str | None = None

    @property
    def asked(self) -> str:
        """What is asked, or the id where the document does not say."""
        return line(self.requirement or self.id)

    @property
    def is_problem(self) -> bool:
        """Whether half or more say no; of a penalty, that half or more say yes."""
        return self.applies and bool(self.unmet)

    @property
    def is_unanswered(self) -> bool:
        """No vote at all, which is neither met nor unmet."""
        return self.applies and self.unmet is None

    @property
    def scale_words(self) -> str:
        return f"{mark_number(self.scale[0])} to {mark_number(self.scale[1])}" if self.scale else ""

    def share_of(self, vote: str | int | float) -> float | None:
        """A vote as its place on the item's scale, 0 to 1; None for `n/a`."""
        if isinstance(vote, str):
            return {"yes": 1.0, "no": 0.0}.get(vote)
        low, high = self.scale or (0, 1)
        return (vote - low) / (high - low) if high != low else None

    @property
    def votes_by_answer(self) -> list[tuple[str, list[str]]]:
        """`[("no", ["codex", "gemini"]), ("yes", ["claude"])]`; marks on a scale in the order of
        the judges.
        """
        groups: dict[str, list[str]] = {}
        for judge, answer in self.votes.items():
            groups.setdefault(mark_number(answer), []).append(line(judge))
        order = {"no": 0, "yes": 1, "n/a": 3}
        named = [(answer, named_looks(judges)) for answer, judges in groups.items()]
        return sorted(named, key=lambda group: order.get(group[0], 2))

    @property
    def vote_words(self) -> str:
        """`no: codex, gemini; yes: claude`."""
        return "; ".join(
            f"{answer}: {', '.join(judges)}" for answer, judges in self.votes_by_answer
        )

    @property
    def advice(self) -> list[SharedSuggestion]:
        """The suggestions, equal ones as one, in the order in which they were given first."""
        judges: dict[str, list[str]] = {}
        for one in self.suggestions or [SuggestionDoc(text=self.suggestion or "")]:
            judges.setdefault(one.text, []).append(one.judge)
        return [
            SharedSuggestion(text=text, judges=tuple(dict.fromkeys(filter(None, names))))
            for text, names in judges.items()
            if text
        ]


class CriterionDoc(Struct, frozen=True, kw_only=True):
    """A node of the rubric's tree.

    `parent`: the id of the group it is in, or `null`
    `score`, `interval`: its score, `null` when a mark is missing; what is known, lowest and highest
    `below_floor`: certainly below: whatever the missing marks are
    `spread`, `by_judge`: how far judges are apart, each with the mean of its looks; each look whose
        answers to this criterion are complete
    `applies`, `is_penalty`: out of the mean or not; negative weight
    `voters`: the fewest judges on any item, `null` for checks
    """

    id: str
    parent: str | None = None
    requirement: str = ""
    score: float | None = None
    interval: list[float] | None = None
    weight: int | float | None = None
    floor: int | float | None = None
    required: bool = False
    below_floor: bool = False
    spread: float | None = None
    by_judge: dict[str, float | None] = {}
    applies: bool = True
    voters: int | None = None
    is_penalty: bool = False
    items: list[ItemDoc] = []

    @property
    def asked(self) -> str:
        """What is asked, where that says more than the id."""
        requirement = line(self.requirement)
        return "" if requirement == line(self.id) else requirement

    @property
    def needs(self) -> int | float | None:
        return self.floor or None

    def is_whole(self, item: ItemDoc) -> bool:
        """Whether the item is the criterion itself, so that a heading would say the same twice."""
        return len(self.items) == 1 and item.id == self.id

    def is_improvable(self, item: ItemDoc) -> bool:
        """Good enough, but not fully: some judge disagrees, or the mark is below the top of its
        scale.
        """
        if not item.applies or item.is_problem or item.is_unanswered or item.met is None:
            return False
        return item.met > 0 if self.is_penalty else item.met < 1

    def state_notes(self, *, spread: bool = False) -> list[str]:
        """What a table says of the criterion next to its score."""
        if not self.applies:
            return ["does not apply"]
        notes = ["below floor"] if self.below_floor else []
        notes += ["required"] if self.required else []
        if self.is_penalty:
            notes.append("penalty incurred" if self.score else "penalty, not incurred")
        return [*notes, f"judges {points(self.spread)} apart"] if spread and self.spread else notes


class AskedDoc(Struct, frozen=True, kw_only=True):
    """How often a judge was asked the same question, and each score, oldest first."""

    times: int
    scores: list[float | None]


class JudgeDoc(Struct, frozen=True, kw_only=True):
    """Who took part; checks are not a judge.

    `state`, `reason`: AVAILABLE, SKIPPED or DEGRADED, and why
    `asked`: how often it was asked this question, where it was more than once
    `problems`, `repairs`: what was wrong in its replies, and what was repaired; absent where there
        is nothing
    `hint`: what to do about its reason; absent where that is not known
    `unusable`: how many of its replies gave no answer; absent where none. `honestone judges read
        RUN` shows them
    `usage`: calls, recorded replies, tokens and money of this judge; absent where the record does
        not tell judges apart
    `criteria`: the ids of those that this look asked, where it asked a part (`sure`)
    `unanswered`: why further looks of this judge gave no mark, one each (`sure`); absent where all did
    `looks`: how many looks with marks a row of several documents is of; absent in JSON
    """

    id: str
    state: str = ""
    reason: str | None = None
    problems: list[str] | UnsetType = UNSET
    repairs: list[str] | UnsetType = UNSET
    asked: AskedDoc | UnsetType = UNSET
    hint: str | UnsetType = UNSET
    unusable: int | UnsetType = UNSET
    usage: UsageDoc | UnsetType = UNSET
    criteria: list[str] | UnsetType = UNSET
    unanswered: list[str] | UnsetType = UNSET
    looks: int | UnsetType = UNSET

    @property
    def is_absent(self) -> bool:
        """Whether an answer of it is missing: none is where the verdict was sure without it."""
        return self.state != "AVAILABLE" and not self.is_spared

    @property
    def is_in_trouble(self) -> bool:
        return self.is_absent or bool(self.remarks)

    @property
    def is_spared(self) -> bool:
        """Whether it was there and not asked: the verdict did not need it, or a limit ended the looks."""
        reason = self.reason or UNASKED
        return self.state == JudgeState.SKIPPED and reason.startswith(UNASKED)

    @property
    def state_words(self) -> str:
        """Its state as reports print it: one that was not asked is not one that was not there."""
        return "NOT ASKED" if self.is_spared else self.state

    @property
    def reason_words(self) -> str:
        reason = self.reason or ""
        return reason.removeprefix(UNASKED) if self.is_spared else reason

    @property
    def unanswered_words(self) -> str:
        """`asked 4 times, answered 3: no answer`, the reasons once each; empty where it always
        answered.
        """
        if not self.unanswered:
            return ""
        why = "; ".join(dict.fromkeys(self.unanswered))
        times = self.looks_with_marks + len(self.unanswered)
        return f"asked {times:,} times, answered {self.looks_with_marks:,}: {why}"

    @property
    def looks_with_marks(self) -> int:
        return int(self.state == JudgeState.AVAILABLE) if self.looks is UNSET else self.looks

    @property
    def remarks(self) -> list[str]:
        """What a report says of it besides its state and its reason."""
        return [*self.troubles, *filter(None, [self.unanswered_words])]

    @property
    def unusable_replies(self) -> int:
        return 0 if self.unusable is UNSET else self.unusable

    @property
    def troubles(self) -> list[str]:
        """What went wrong beyond its reason, which may end in the words of one of them."""
        reason = self.reason or ""
        return [one for one in self.problems or [] if not reason.endswith(one)]


def limits_in(reasons: Iterable[str | None]) -> list[str]:
    """The options whose limits kept judges from an answer, by the reasons that a report gives: each
    once, as `--max-calls`.
    """
    begins = (UNASKED, OUT_OF_TIME, NO_FURTHER_LOOK)
    words = (
        word
        for reason in reasons
        if reason is not None and reason.startswith(begins)
        for word in reason.split()
        if word.startswith("--max-")
    )
    return list(dict.fromkeys(words))


class UsageDoc(Struct, frozen=True, kw_only=True):
    """Calls, tokens and money.

    `judge_calls`, `worker_calls`, `target_calls`: calls that were paid for
    `cached_calls`: replies that were on record
    `cached_outputs`: of a suite: outputs of a repeatable target that were on record
    `usd`: `null` where the price is not known
    `this_process`: what this command spent
    """

    judge_calls: int = 0
    cached_calls: int = 0
    worker_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    target_calls: int | UnsetType = UNSET
    cached_outputs: int | UnsetType = UNSET
    this_process: UsageDoc | UnsetType = UNSET

    def words(self, *, whole_run: bool = False) -> list[str]:
        """`["2 judge calls", "1 recorded reply", "1,234 tokens in, 56 out", "cost unknown"]`."""
        parts = [count(self.judge_calls, "judge call")]
        if whole_run and self.target_calls:
            parts.insert(0, count(self.target_calls, "target call"))
        if self.cached_outputs:
            parts.insert(0, count(self.cached_outputs, "recorded output"))
        if self.cached_calls:
            parts.append(count(self.cached_calls, "recorded reply", "recorded replies"))
        if self.worker_calls or whole_run:
            parts.append(count(self.worker_calls, "worker call"))
        has_tokens = bool(self.input_tokens or self.output_tokens)
        if has_tokens:
            parts.append(f"{count(self.input_tokens, 'token')} in, {self.output_tokens:,} out")
        if self.judge_calls or has_tokens or self.usd is not None:
            parts.append(UNKNOWN_COST if self.usd is None else money(self.usd))
        elif not self.worker_calls:
            parts.append(NOTHING_SPENT)
        return parts


UNKNOWN_COST: Final = "cost unknown"
NOTHING_SPENT: Final = "nothing spent"


def spent_tile(words: Sequence[str]) -> tuple[str, str]:
    """Of what a page says of a run's cost in words: what is shown large, and the rest. Large is the
    money, else the first calls that were made; money that is not known is not said.
    """
    known = [one for one in words if one != UNKNOWN_COST]
    made = [one for one in known if not one.startswith("0 ")] or known
    is_money = made[-1] == NOTHING_SPENT or made[-1].startswith("$")
    large = made[-1] if is_money else made[0]
    return large, ", ".join(one for one in known if one is not large)


# What is added up where several are spent together.
COUNTED: Final = ("judge_calls", "cached_calls", "worker_calls", "input_tokens", "output_tokens")


class EvidenceShareDoc(Struct, frozen=True, kw_only=True):
    """How many quotes were given, and how many of them the text holds."""

    found: int = 0
    quoted: int = 0

    @property
    def words(self) -> str:
        return (
            f"{self.found:,} of {count(self.quoted, 'quote')} found word for word in the artifact"
        )


class KnownNoiseDoc(Struct, frozen=True, kw_only=True, rename={"origin": "from"}):
    """Which changes of a score are noise.

    `from`: `noise`, measured by the command of that name in the run `run`, or `default`
    `tolerance`: a smaller change is noise, in points; a version that fell by less is kept
    """

    origin: Literal["noise", "default"] = "default"
    tolerance: float
    run: str | None = None

    def holds(self, before: Number | None, after: Number | None) -> bool:
        """Whether two scores in points differ by less."""
        return (
            before is not None
            and after is not None
            and abs(exact(after) - exact(before)) < exact(self.tolerance)
        )

    @property
    def words(self) -> str:
        how = (
            f"measured in run {line(self.run)}"
            if self.run
            else "not measured; `honestone judges noise` does"
        )
        return f"changes under {points(self.tolerance)} points are noise here ({how})"


class RescoredDoc(Struct, frozen=True, kw_only=True):
    """The recorded run that `rescore` scored again, and the contract it was judged under."""

    run: str
    contract: str


class ScorecardDoc(Struct, frozen=True, kw_only=True):
    """One artifact or output, judged.

    `schema`, `title`, `rubric`: the shape; the rubric's title and path
    `has_fixes`: whether the rubric has `fix:` commands, so that `improve` needs no `--worker`
    `options`: the words of the command that a next one repeats; absent where there are none
    `artifact`: `path` as it was named, `digest` of what was judged
    `verdict`: `pass`, `fail`, `inconclusive`, or `skipped`
    `reasons`: every bar that is missed; else every bar that is open
    `belief`: how sure that is; `null` where nothing was judged
    `score`, `interval`: the overall score, `null` when a needed mark is missing; what is known,
        lowest and highest
    `threshold`, `floor`: the rubric's bars, or those of the command line
    `low_confidence`: whether some item had fewer than two voters among judges; `false` where code
        answers all, or `sure` is asked
    `low_confidence_reason`: what that means and what to do; absent otherwise
    `self_evaluated`: whether some marks come from the worker's own model (`improve --self`)
    `criteria`: every node of the tree, parents before children
    `judges`: who took part, and the state of each
    `flags`: judges, or looks of one, over 20 points apart, and other warnings
    `sandbox`: where checks ran code: `bwrap`, `none`, or null when none did
    `judged_by`: the files by which checks that run code judged: named by them, settings of their
        programs, tests; absent where there is none
    `evidence_found`: quotes found and given, or `null`
    `contract`, `run`: the contract id; the run to `show`
    `usage`: calls, recorded replies, tokens and money of the whole run
    `notes`: for example, files that were left out; absent where there is none
    `output`: what a target produced; absent for a file
    `packed`: which parts of an artifact that is too large a judge was shown
    `noise`: which changes of the score are noise, where `honestone judges noise` has measured it under
        this contract
    `rescored_from`: only from `rescore`: the `run` and the `contract` it came from
    """

    schema: str = SCORECARD
    title: str = ""
    rubric: str | None = None
    has_fixes: bool = False
    options: list[str] | UnsetType = UNSET
    artifact: ArtifactDoc = ArtifactDoc()
    verdict: str
    reasons: list[str] = []
    belief: BeliefDoc | None = None
    score: float | None = None
    interval: list[float] | None = None
    threshold: int | float = 0
    floor: int | float = 0
    low_confidence: bool = False
    low_confidence_reason: str | UnsetType = UNSET
    self_evaluated: bool = False
    criteria: list[CriterionDoc] = []
    judges: list[JudgeDoc] = []
    flags: list[str] = []
    sandbox: str | None = None
    judged_by: list[str] | UnsetType = UNSET
    evidence_found: EvidenceShareDoc | None = None
    contract: str = ""
    run: str | None = None
    usage: UsageDoc | None = None
    notes: list[str] | UnsetType = UNSET
    output: str | UnsetType | None = UNSET
    packed: dict[str, object] | UnsetType = UNSET
    noise: KnownNoiseDoc | UnsetType = UNSET
    rescored_from: RescoredDoc | UnsetType = UNSET

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """(name, meaning) of what a reader must know before the score."""
        warnings = [("SELF-EVALUATED", SELF_EVALUATED)] if self.self_evaluated else []
        return warnings + ([(LOW_CONFIDENCE_NAME, LOW_CONFIDENCE)] if self.low_confidence else [])

    @property
    def verdict_words(self) -> str:
        words = state_words(self.verdict, is_undecided=is_undecided(self.belief))
        return stated_verdict(words, self.verdict, low_confidence=self.low_confidence)

    @property
    def noise_words(self) -> str:
        """What is known of the noise, and whether the score is too near the bar for a verdict that
        lasts.
        """
        if not self.noise:
            return ""
        near = "; the score is that near its threshold, so another look may turn the verdict"
        return f"noise: {self.noise.words}{near if self.noise.holds(self.score, self.threshold) else ''}"

    @property
    def score_words(self) -> str:
        return span_words(self.score, self.interval)

    @property
    def belief_words(self) -> list[str]:
        """How sure the verdict is, and what contradicts it."""
        return belief_words(self.belief, self.verdict)

    @property
    def open_reasons(self) -> list[str]:
        """What may say which limit left the verdict open; nothing where it is not open."""
        if self.verdict != "inconclusive":
            return []
        return [*(one.reason for one in self.judges if one.reason), *(self.notes or ())]


# ------------------------------------------------------------------------------------------------------------
# in words


def stated_verdict(words: str, verdict: str, *, low_confidence: bool) -> str:
    """A verdict in words as every report prints it: one that a single judge gave says so."""
    is_decided = verdict in ("pass", "fail")
    return f"{words}, {LOW_CONFIDENCE_NAME}" if low_confidence and is_decided else words


def low_confidence_of(lonely: int, judged: int, what: str = "case") -> list[tuple[str, str]]:
    """The warning of a report in which so many of the cases that were judged have fewer than two
    voters on an item.
    """
    if not lonely:
        return []
    where = f"the {what}" if judged == 1 else f"{lonely:,} of {count(judged, what)}"
    why = f"fewer than two judges marked it all in {where}; `honestone judges calibrate` measures a judge"
    return [(LOW_CONFIDENCE_NAME, why)]


def warning_words(warnings: Iterable[tuple[str, str]]) -> list[str]:
    """Warnings as plain sentences: `LOW CONFIDENCE: fewer than two judges ...`."""
    return [f"{name}: {why}" for name, why in warnings]


def span_words(score: Number | None, interval: Sequence[Number] | None) -> str:
    """A score in words: `61.7`, or `between 50.0 and 100.0`."""
    if score is None and interval:
        return f"between {points(interval[0])} and {points(interval[1])}"
    return points(score)


def mark_number(answer: str | Number) -> str:
    """An answer or a mark on its own scale, as it was given."""
    return str(int(answer)) if isinstance(answer, float) and answer.is_integer() else line(answer)


def worst_states(judges: Iterable[JudgeDoc]) -> list[JudgeDoc]:
    """Each judge once, in its worst state: one artifact that it failed on must not hide behind the
    others. One that it was spared does not count as failed. Its looks, and its unusable replies, are
    those of all.
    """
    of_id: dict[str, list[JudgeDoc]] = {}
    for judge in judges:
        of_id.setdefault(judge.id, []).append(judge)
    return [
        replace(
            summed(max(own, key=_badness), own),
            unusable=sum(one.unusable_replies for one in own) or UNSET,
        )
        for own in of_id.values()
    ]


def summed(judge: JudgeDoc, looks: Sequence[JudgeDoc]) -> JudgeDoc:
    """A judge with the looks of all of these, those without a mark too."""
    unanswered = [why for one in looks for why in one.unanswered or ()]
    return replace(
        judge,
        looks=sum(one.looks_with_marks for one in looks),
        unanswered=unanswered or UNSET,
    )


def states_over_many(judges: Iterable[JudgeDoc]) -> list[JudgeDoc]:
    """The same of several artifacts or cases, each of which has looks of its own: how many looks a
    judge has in one of them says nothing of all.
    """
    return worst_states(replace(one, id=first_look(one.id)) for one in judges)


def _badness(judge: JudgeDoc) -> int:
    if judge.is_spared:
        return 0
    return 2 if judge.is_absent else 1


_SHOWN_ELSEWHERE: Final = ("low confidence", "low_confidence", "self-evaluated", "self_evaluated")


def flags_to_show(flags: Iterable[str]) -> list[str]:
    """The flags that no other line of a report says; all disagreements as one, with what it may
    mean, and of each judge whose looks differ all criteria as one.
    """
    shown = [flag for flag in map(line, flags) if flag.lower() not in _SHOWN_ELSEWHERE]
    split = [flag.removeprefix(DISAGREE) for flag in shown if flag.startswith(DISAGREE)]
    unsteady: dict[str, list[str]] = {}
    others = []
    for flag in shown:
        if (found := read_looks_differ(flag)) is not None:
            unsteady.setdefault(found[0], []).append(found[1])
        elif not flag.startswith(DISAGREE):
            others.append(flag)
    return [
        *(
            [f"judges disagree on {', '.join(split)}: they may read the wording differently"]
            if split
            else []
        ),
        *(f"the looks of {judge} differ on {', '.join(own)}" for judge, own in unsteady.items()),
        *others,
    ]


def depths(criteria: Iterable[CriterionDoc]) -> Mapping[str, int]:
    """How deep each criterion is in its tree; parents come before children."""
    depths: dict[str, int] = {}
    for one in criteria:
        depths[one.id] = depths[one.parent] + 1 if one.parent in depths else 0
    return depths


def items_of(criteria: Iterable[CriterionDoc]) -> Iterator[tuple[CriterionDoc, ItemDoc]]:
    """Every item with its criterion, in the order of the rubric."""
    for criterion in criteria:
        for item in criterion.items:
            yield criterion, item
