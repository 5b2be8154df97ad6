"""A panel scores the candidates, each by its real edit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import msgspec

from honestone.app.judging_options import JudgingOptions, make_context, make_panel, make_seats
from honestone.app.loop import run_to_end
from honestone.app.stages.apply import settled
from honestone.app.stages.files import (
    SkillUnderEdit,
    StageFiles,
    anchor_of,
    candidates_in,
    document_of,
    edited,
    skill_of_file,
    stamp,
    write_document,
)
from honestone.app.stages.propose import HOURS, lessons_about
from honestone.core.artifact import Artifact, Version
from honestone.core.ballot import Ballot
from honestone.core.errors import UsageError
from honestone.core.scorecard import Scorer
from honestone.core.skill.brief import warnings_of
from honestone.core.skill.edit_rubric import EDIT, EDIT_RUBRIC, failures_in_words, shown_edit
from honestone.core.skill.plan import PlanError, Refusal
from honestone.core.skill.risk import (
    NOT_KEPT_ALONE,
    RISK_PENALTY,
    UNJUDGED,
    Category,
    Label,
    Recommendation,
    Risk,
    category_of,
    label_of,
    mean_of,
    notes_about,
    recommendation_of,
    risk_of,
    worst,
)
from honestone.core.spend import Spend
from honestone.engine.panel import Evaluator, Judged, Panel, Seat
from honestone.formats.stage_files import (
    CandidateEntry,
    Candidates,
    JsonObject,
    PanelReport,
    PanelReview,
    Ranking,
    ScoredCandidate,
    StageFile,
    read_stage,
)
from honestone.ports import Observer


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRequest:
    """What `stage rank` is asked for. Without judges nothing is judged; `mock` is a panel that approves everything."""

    candidates: Path
    mock: bool = False
    judging: JudgingOptions = field(default_factory=JudgingOptions)


def rank(request: RankRequest, files: StageFiles, observer: Observer) -> StageFile[Ranking]:
    """Rank the candidates of an artifact and write the ranking. Raises UsageError before anything is spent."""
    workspace, mock = files.workspace, request.mock
    source = read_stage(workspace.path(request.candidates), Candidates, shown=str(request.candidates))
    skill = settled(files, skill_of_file(workspace, source))
    edits = [edit_of(one, skill) for one in candidates_in(source)]
    judging = replace(request.judging, judges=("mock",)) if mock else request.judging
    seats = edit_seats(skill, judging)
    reviews: dict[str, Judged] = {}
    if seats:
        todo = [edit for edit in edits if edit.after is not None]
        meter = judging.meter(workspace.settings, calls=2 * len(todo) * len(seats), minutes=HOURS)
        observer.note(
            f"at most {meter.calls} judge calls: {len(todo)} candidates x {len(seats)} judges, each asked once more at most"
        )
        lessons = warnings_of(lessons_about(files, skill))
        with workspace.open_store() as store:
            panel = make_panel(seats, store, meter, judging)

            async def work() -> None:
                for at, edit in enumerate(todo):
                    observer.progress(at, len(todo), f"asking about {edit.id}")
                    reviews[edit.id] = await review(edit, skill, panel, lessons)

            run_to_end(work, panel.close)
    body = ranking_file(source.body, anchor_of(source), edits, reviews, seats, mock=mock)
    raw = {str(one["id"]): one for one in source.document["candidates"]}  # type: ignore[attr-defined]
    return write_document(files, _with_extras(body, raw), body)


def edit_seats(skill: SkillUnderEdit, judging: JudgingOptions) -> tuple[Seat, ...]:
    """The judges named. Raises for one that cannot be made."""
    return make_seats(judging.judges, make_context(judging, skill.workspace))


async def review(edit: CandidateEdit, skill: SkillUnderEdit, panel: Panel, lessons: Sequence[str]) -> Judged:
    """What the judges answer about one edit: its diff, SKILL.md and the changed files as they would be."""
    from honestone.adapters.checks import CheckRunner

    assert edit.after is not None
    shown = Artifact(skill.named, shown_edit(edit.before, edit.after))
    rationale = edit.candidate.rationale
    known = failures_in_words([rationale] if rationale.strip() else [], lessons)
    return await Evaluator(EDIT_RUBRIC, CheckRunner(skill.workspace.folder), panel).judge(shown, input=known)


def _with_extras(body: Ranking, raw: dict[str, JsonObject]) -> JsonObject:
    """The ranking with what other programs say of their candidates."""
    document: JsonObject = {**document_of(body)}
    document["scored_candidates"] = [{**raw[one.id], **msgspec.to_builtins(one)} for one in body.scored_candidates]
    return document


# ---------------------------------------------------------------------------------------------------------- the edits


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateEdit:
    """A candidate with what its plan makes of the skill; `after` None: it cannot be applied, and `problem` says why."""

    candidate: CandidateEntry
    before: Version
    after: Version | None
    problem: PlanError | None = None

    @property
    def id(self) -> str:
        return self.candidate.id

    @property
    def risk(self) -> Risk:
        """The worse of what is said and what the bytes say."""
        said = [Risk(self.candidate.risk_level)] if self.candidate.risk_level in list(Risk) else []
        return worst([*said, *([risk_of(self.before, self.after)] if self.after is not None else [])])

    @property
    def category(self) -> Category:
        if self.candidate.category in list(Category):
            return Category(self.candidate.category)
        return Category.DOCS if self.after is None else category_of(self.before, self.after)

    @property
    def for_a_person(self) -> list[str]:
        """Why the gate would not keep it by itself, in the original's words."""
        found = [f"risk_{self.risk}"] if self.risk is not Risk.LOW else []
        return [*(["not_auto_keep_category"] if self.category in NOT_KEPT_ALONE else []), *found]


def edit_of(candidate: CandidateEntry, skill: SkillUnderEdit) -> CandidateEdit:
    try:
        return CandidateEdit(candidate=candidate, before=skill.version, after=edited(candidate, skill))
    except UsageError as found:
        problem = found if isinstance(found, PlanError) else PlanError(Refusal.ERROR, found.message)
        return CandidateEdit(candidate=candidate, before=skill.version, after=None, problem=problem)


# ---------------------------------------------------------------------------------------------------------- the score


def ranking_file(
    source: Candidates,
    anchor: str,
    edits: Sequence[CandidateEdit],
    reviews: dict[str, Judged],
    seats: Sequence[Seat],
    *,
    mock: bool,
) -> Ranking:
    """The candidates with their scores, best first; those without a score come last, equal ones in the order proposed."""
    names, spend, moment = [seat.id for seat in seats], Spend(), stamp()
    for judged in reviews.values():
        spend.join(judged.spend)
    scored = [_scored(edit, reviews.get(edit.id), names, moment) for edit in edits]
    accept = Recommendation.ACCEPT
    scored.sort(key=lambda one: (one.score is None, -(one.score or 0), one.recommendation != accept))
    return Ranking(
        run_id=source.run_id,
        lane=source.lane,
        source_candidate_artifact=anchor,
        target=source.target,
        critic_mode="mock" if mock else "panel" if names else "none",
        mock=mock,
        judges=names,
        scored_candidates=scored,
        summary={
            **{str(one): sum(1 for row in scored if row.recommendation == one) for one in Recommendation},
            "evaluator_evidence_enabled": False,
            "llm_judge_enabled": bool(names) and not mock,
            "llm_judge_backend": ", ".join(names) or None,
        },
        usage=dict(spend.to_plain()),
    )


def _scored(edit: CandidateEdit, judged: Judged | None, judges: Sequence[str], moment: str) -> ScoredCandidate:
    """A candidate with its score. What no judge could score, and what cannot be applied, has none."""
    found = None if judged is None else _opinion(judged.ballots)
    blockers, notes = [], list(notes_about(edit.risk, edit.category))
    score: Fraction | None
    if edit.problem is not None:
        score = None
        blockers = [_BLOCKER[edit.problem.refusal]]
        notes = [edit.problem.message]
    elif found is not None:
        score = found.score
        if score is None:
            blockers = ["panel_unavailable", *found.failures]
    else:
        score = UNJUDGED
        notes.append("no judge was asked: every edit that can be applied gets the same score")
    recommendation = recommendation_of(score, None if found is None else found.label)
    if recommendation is Recommendation.REJECT and score is not None:
        blockers.append("panel_against")
    if edit.after is not None and edit.for_a_person:
        blockers += edit.for_a_person
        if recommendation is Recommendation.ACCEPT:
            recommendation = Recommendation.HOLD
    report = None
    if found is not None:
        report = PanelReport(
            panel_reviews=found.reviews,
            cognitive_label=None if found.label is None else str(found.label),
            final_recommendation=str(recommendation),
            aggregated_score=_number(score),
        )
    said = {name: getattr(edit.candidate, name) for name in CandidateEntry.__struct_fields__ if name not in _COMPUTED}
    return ScoredCandidate(
        **said,
        risk_level=str(edit.risk),
        executor_support=edit.after is not None,
        candidate_digest=edit.candidate.candidate_digest if edit.after is None else edit.after.digest,
        score=_number(score),
        risk_penalty=float(RISK_PENALTY[edit.risk]),
        recommendation=str(recommendation),
        blockers=list(blockers),
        judge_notes=[*notes, *([] if found is None else found.suggestions)],
        judge_adapter={
            "name": "honestone-panel" if judges else "none",
            "evaluated_at": moment,
            "evaluator_evidence_enabled": False,
            "llm_judge_enabled": found is not None,
        },
        score_components={} if found is None else found.components,
        panel=report,
    )


_COMPUTED = ("risk_level", "executor_support", "candidate_digest")

_BLOCKER = {
    Refusal.UNSUPPORTED: "executor_not_supported",
    Refusal.NO_CHANGE: "changes_nothing",
    Refusal.ERROR: "plan_does_not_fit",
    Refusal.OUTSIDE: "leaves_the_skill",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opinion:
    """What the ballots about one edit come to. Judges whose answers are not complete have no score and no vote."""

    score: Fraction | None
    label: Label | None
    reviews: list[PanelReview]
    components: dict[str, float | None]
    failures: list[str]
    suggestions: list[str]


def _opinion(ballots: Sequence[Ballot]) -> _Opinion:
    line = Scorer(EDIT_RUBRIC).card(ballots).line(EDIT)
    scores = {judge: share * 10 for judge, share in line.by_judge.items()}
    complete = [[mark for judge, mark in item.votes if judge in scores] for item in line.items]
    components = {
        item.item.id: _number(mean_of([Fraction(bool(mark.answer)) for mark in marks]))
        for item, marks in zip(line.items, complete, strict=True)
    }
    suggestions = [
        f"{judge}: {' '.join(mark.suggestion.split())[:300]}"
        for item in line.items
        for judge, mark in item.votes
        if mark.suggestion and mark.suggestion.strip() and mark.answer is False
    ]
    return _Opinion(
        score=mean_of(list(scores.values())),
        label=label_of(list(scores.values())),
        reviews=[_review(ballot, scores.get(ballot.judge)) for ballot in ballots],
        components=components,
        failures=[f"{one.judge}: {one.reason or 'no complete answer'}" for one in ballots if one.judge not in scores],
        suggestions=list(dict.fromkeys(suggestions))[:20],
    )


def _review(ballot: Ballot, score: Fraction | None) -> PanelReview:
    return PanelReview(
        reviewer=ballot.judge,
        state=str(ballot.state),
        reason=ballot.reason,
        score=_number(score),
        recommendation=None if score is None else str(recommendation_of(score, None)),
        answers={item: mark.answer for (_, item), mark in ballot.marks.items()},
        abstained={item: why for (_, item), why in ballot.abstained.items()},
    )


def _number(value: Fraction | None) -> float | None:
    return None if value is None else round(float(value), 9)
