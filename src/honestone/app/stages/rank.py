"""Candidates ranked by a panel that reads the edits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from honestone.app.event_loop import run_to_end
from honestone.app.judging.judging_options import (
    JudgingOptions,
    make_context,
    make_panel,
    make_seats,
)
from honestone.app.stages.apply import settled
from honestone.app.stages.files import SkillUnderEdit, StageFiles, candidates_in, stamp
from honestone.app.stages.lessons import lessons_about
from honestone.app.stages.propose import HOURS
from honestone.core.artifact import Artifact, Version
from honestone.core.errors import UsageError
from honestone.core.judging.ballot import Ballot
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.core.skill import brief
from honestone.core.skill import risk as risks
from honestone.core.skill.brief import EDIT, EDIT_RUBRIC, failures_in_words, shown_edit
from honestone.core.skill.plan import PlanError, Refusal
from honestone.engine.judging.evaluator import Evaluator, Judged
from honestone.engine.judging.panel import Panel
from honestone.engine.judging.seats import Seat
from honestone.formats import stage_files as doc
from honestone.formats.stage_files import StageFile
from honestone.ports import Observer


class RankRequest(Struct, frozen=True, kw_only=True):
    """What `skill rank` is asked for. Without judges nothing is judged; `mock` is a panel that
    approves everything.
    """

    candidates: Path
    mock: bool = False
    judging: JudgingOptions = field(default_factory=JudgingOptions)


def rank(request: RankRequest, files: StageFiles, observer: Observer) -> StageFile[doc.Ranking]:
    """Rank the candidates of an artifact and write the ranking. Raises UsageError before anything
    is spent.
    """
    workspace, mock = files.workspace, request.mock
    source = files.read(request.candidates, doc.Candidates)
    skill = settled(files, SkillUnderEdit.of(workspace, source))
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
        lessons = brief.warnings_of(lessons_about(files, skill))
        with workspace.open_store() as store:
            panel = make_panel(seats, store, meter, judging)

            async def work() -> None:
                for at, edit in enumerate(todo):
                    observer.progress(at, len(todo), f"asking about {edit.id}")
                    reviews[edit.id] = await review(edit, skill, panel, lessons)

            run_to_end(work, panel.close)
    body = ranking_file(source.body, edits, reviews, seats, mock=mock)
    # With what other programs say of their candidates.
    raw = {str(one["id"]): one for one in source.marked.value["candidates"]}
    scored = [{**raw[one.id], **msgspec.to_builtins(one)} for one in body.scored_candidates]
    return files.write(body, more={"scored_candidates": scored})


def edit_seats(skill: SkillUnderEdit, judging: JudgingOptions) -> tuple[Seat, ...]:
    """The judges named. Raises for one that cannot be made."""
    return make_seats(judging.judges, make_context(judging, skill.workspace))


async def review(
    edit: CandidateEdit, skill: SkillUnderEdit, panel: Panel, lessons: Sequence[str]
) -> Judged:
    """What the judges answer about one edit: its diff, SKILL.md and the changed files as they would
    be.
    """
    from honestone.adapters.checks import CheckRunner

    assert edit.after is not None
    shown = Artifact(skill.named, shown_edit(edit.before, edit.after))
    rationale = edit.candidate.rationale
    known = failures_in_words([rationale] if rationale.strip() else [], lessons)
    evaluator = Evaluator(EDIT_RUBRIC, CheckRunner(skill.workspace.folder), panel)
    return await evaluator.judge(evaluator.question(shown, input=known))


class CandidateEdit(Struct, frozen=True, kw_only=True):
    """A candidate with what its plan makes of the skill; `after` None: it cannot be applied, and
    `problem` says why.
    """

    candidate: doc.CandidateEntry
    before: Version
    after: Version | None
    problem: PlanError | None = None

    @property
    def id(self) -> str:
        return self.candidate.id

    @property
    def risk(self) -> risks.Risk:
        """The worse of the level that the candidate states and that of the bytes it changes."""
        levels = []
        if self.candidate.risk_level in list(risks.Risk):
            levels.append(risks.Risk(self.candidate.risk_level))
        if self.after is not None:
            levels.append(risks.risk_of(self.before, self.after))
        return risks.worst(levels)

    @property
    def category(self) -> risks.Category:
        if self.candidate.category in list(risks.Category):
            return risks.Category(self.candidate.category)
        if self.after is None:
            return risks.Category.DOCS
        return risks.category_of(self.before, self.after)

    @property
    def for_a_person(self) -> list[str]:
        """Why the gate would not keep it by itself, in the original's words."""
        reasons = []
        if self.category in risks.NEEDS_A_PERSON:
            reasons.append("not_auto_keep_category")
        if self.risk is not risks.Risk.LOW:
            reasons.append(f"risk_{self.risk}")
        return reasons


def edit_of(candidate: doc.CandidateEntry, skill: SkillUnderEdit) -> CandidateEdit:
    try:
        return CandidateEdit(
            candidate=candidate, before=skill.version, after=skill.edited(candidate)
        )
    except UsageError as found:
        problem = found if isinstance(found, PlanError) else PlanError(Refusal.ERROR, found.message)
        return CandidateEdit(candidate=candidate, before=skill.version, after=None, problem=problem)


def ranking_file(
    source: doc.Candidates,
    edits: Sequence[CandidateEdit],
    reviews: dict[str, Judged],
    seats: Sequence[Seat],
    *,
    mock: bool,
) -> doc.Ranking:
    """The candidates with their scores, best first; those without a score come last, equal ones in
    the order proposed.
    """
    names, moment = [seat.id for seat in seats], stamp()
    scored = [_scored(edit, reviews.get(edit.id), names, moment) for edit in edits]
    accept = risks.Recommendation.ACCEPT
    scored.sort(
        key=lambda one: (one.score is None, -(one.score or 0), one.recommendation != accept)
    )
    critic_mode = "panel" if names else "none"
    if mock:
        critic_mode = "mock"
    return doc.Ranking(
        run_id=source.run_id,
        lane=source.lane,
        source_candidate_artifact=source.truth_anchor,
        target=source.target,
        critic_mode=critic_mode,
        mock=mock,
        judges=names,
        scored_candidates=scored,
        summary={
            **{
                str(one): sum(1 for row in scored if row.recommendation == one)
                for one in risks.Recommendation
            },
            "evaluator_evidence_enabled": False,
            "llm_judge_enabled": bool(names) and not mock,
            "llm_judge_backend": ", ".join(names) or None,
        },
        usage=dict(Spend.of(judged.spend for judged in reviews.values()).to_plain()),
    )


def _scored(
    edit: CandidateEdit, judged: Judged | None, judges: Sequence[str], moment: str
) -> doc.ScoredCandidate:
    """A candidate with its score. What no judge could score, and what cannot be applied, has none."""
    opinion = None if judged is None else _opinion(judged.ballots)
    blockers, notes = [], list(risks.notes_about(edit.risk, edit.category))
    score: Fraction | None
    if edit.problem is not None:
        score = None
        blockers = [_BLOCKER[edit.problem.refusal]]
        notes = [edit.problem.message]
    elif opinion is not None:
        score = opinion.score
        if score is None:
            blockers = ["panel_unavailable", *opinion.failures]
    else:
        score = risks.UNJUDGED
        notes.append("no judge was asked: every edit that can be applied gets the same score")
    recommendation = risks.recommendation_of(score, None if opinion is None else opinion.label)
    if recommendation is risks.Recommendation.REJECT and score is not None:
        blockers.append("panel_against")
    if edit.after is not None and edit.for_a_person:
        blockers += edit.for_a_person
        if recommendation is risks.Recommendation.ACCEPT:
            recommendation = risks.Recommendation.HOLD
    report = None
    if opinion is not None:
        report = doc.PanelReport(
            panel_reviews=opinion.reviews,
            cognitive_label=None if opinion.label is None else str(opinion.label),
            final_recommendation=str(recommendation),
            aggregated_score=_rounded(score),
        )
    copied = {
        name: getattr(edit.candidate, name)
        for name in doc.CandidateEntry.__struct_fields__
        if name not in _COMPUTED
    }
    return doc.ScoredCandidate(
        **copied,
        risk_level=str(edit.risk),
        executor_support=edit.after is not None,
        candidate_digest=edit.candidate.candidate_digest
        if edit.after is None
        else edit.after.digest,
        score=_rounded(score),
        risk_penalty=float(risks.RISK_PENALTY[edit.risk]),
        recommendation=str(recommendation),
        blockers=list(blockers),
        judge_notes=[*notes, *([] if opinion is None else opinion.suggestions)],
        judge_adapter={
            "name": "honestone-panel" if judges else "none",
            "evaluated_at": moment,
            "evaluator_evidence_enabled": False,
            "llm_judge_enabled": opinion is not None,
        },
        score_components={} if opinion is None else opinion.components,
        panel=report,
    )


_COMPUTED = ("risk_level", "executor_support", "candidate_digest")

_BLOCKER = {
    Refusal.UNSUPPORTED: "executor_not_supported",
    Refusal.NO_CHANGE: "changes_nothing",
    Refusal.ERROR: "plan_does_not_fit",
    Refusal.OUTSIDE: "leaves_the_skill",
}


class _Opinion(Struct, frozen=True, kw_only=True):
    """What the ballots about one edit come to. Judges whose answers are not complete have no score
    and no vote.
    """

    score: Fraction | None
    label: risks.Label | None
    reviews: list[doc.PanelReview]
    components: dict[str, float | None]
    failures: list[str]
    suggestions: list[str]


def _opinion(ballots: Sequence[Ballot]) -> _Opinion:
    line = Scorer(EDIT_RUBRIC).card(ballots).line(EDIT)
    scores = {judge: share * 10 for judge, share in line.by_judge.items()}
    complete = [[mark for judge, mark in item.votes if judge in scores] for item in line.items]
    components = {
        item.item.id: _rounded(risks.mean_of([Fraction(bool(mark.answer)) for mark in marks]))
        for item, marks in zip(line.items, complete, strict=True)
    }
    suggestions = [
        f"{judge}: {' '.join(mark.suggestion.split())[:300]}"
        for item in line.items
        for judge, mark in item.votes
        if mark.suggestion and mark.suggestion.strip() and mark.answer is False
    ]
    return _Opinion(
        score=risks.mean_of(list(scores.values())),
        label=risks.label_of(list(scores.values())),
        reviews=[_review(ballot, scores.get(ballot.judge)) for ballot in ballots],
        components=components,
        failures=[
            f"{one.judge}: {one.reason or 'no complete answer'}"
            for one in ballots
            if one.judge not in scores
        ],
        suggestions=list(dict.fromkeys(suggestions))[:20],
    )


def _review(ballot: Ballot, score: Fraction | None) -> doc.PanelReview:
    return doc.PanelReview(
        reviewer=ballot.judge,
        state=str(ballot.state),
        reason=ballot.reason,
        score=_rounded(score),
        recommendation=None if score is None else str(risks.recommendation_of(score, None)),
        answers={item: mark.answer for (_, item), mark in ballot.marks.items()},
        abstained={item: why for (_, item), why in ballot.abstained.items()},
    )


def _rounded(value: Fraction | None) -> float | None:
    return None if value is None else round(float(value), 9)
