"""`honestone stage rank`: a panel scores the candidates, each by its real edit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.stages.options import show_artifact, stage_files, stage_options
from honestone.core.artifact import Artifact, Version
from honestone.core.ballot import Ballot
from honestone.core.errors import UsageError
from honestone.core.scorecard import Scorer
from honestone.core.skill.edit_rubric import EDIT, EDIT_RUBRIC, failures_in_words, shown_edit
from honestone.core.skill.panel_label import (
    RISK_PENALTY,
    UNJUDGED,
    Label,
    Recommendation,
    label_of,
    mean_of,
    notes_about,
    recommendation_of,
)
from honestone.core.skill.plan import PlanError, Refusal, apply_plan
from honestone.core.skill.risk import NOT_KEPT_ALONE, Category, Risk, category_of, risk_of, worst
from honestone.core.skill.stage_file import PROPOSED, RANKED

if TYPE_CHECKING:
    from honestone.app.stages.files import Artifact as StageArtifact
    from honestone.app.stages.files import StageFiles, Target
    from honestone.cli.progress import Progress
    from honestone.engine.panel import Panel


@click.command("rank", short_help="Have a panel score the candidates.")
@click.option("--input", "candidates", type=shared.PATH, required=True, metavar="FILE", help="The candidates artifact.")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="JUDGE",
    help="Who judges; repeat for a panel. Without one nothing is judged.",
)
@click.option("--mock", is_flag=True, help="Use a mock panel that approves everything, for a dry run.")
@click.option("--judge-timeout", type=shared.Amount(min=0, min_open=True), default=None, metavar="SECONDS")
@click.option("--max-calls", type=click.IntRange(min=0), default=None, help="Judge calls, retries included.")
@stage_options
def rank_command(
    candidates: Path,
    judges: tuple[str, ...],
    mock: bool,
    judge_timeout: float | None,
    max_calls: int | None,
    state_root: Path | None,
    output: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Score every candidate from 0 to 10 and recommend what to do with it.

    Judges answer yes/no questions about the edit; a score is the share of yes times 10. Without judges every candidate
    whose plan can be applied gets 7.
    """
    from honestone.app.stages.files import read_stage
    from honestone.cli.progress import Progress

    if mock and judges:
        raise click.UsageError("--mock is a panel of its own: leave --judge out", click.get_current_context())
    files = stage_files(state_root, output)
    with Progress(quiet=quiet) as progress:
        document = rank(
            read_stage(candidates, PROPOSED),
            files,
            progress=progress,
            judges=judges,
            mock=mock,
            judge_timeout=judge_timeout,
            max_calls=max_calls,
        )
    lines = [
        f"{one['id']}: {'no score' if one['score'] is None else format(one['score'], 'g')}, {one['recommendation']}"
        + (f" ({', '.join(one['blockers'])})" if one["blockers"] else "")
        for one in document["scored_candidates"]
    ]
    show_artifact(document, lines, as_json=as_json)
    return 0


def rank(
    candidates: StageArtifact,
    files: StageFiles,
    *,
    progress: Progress,
    judges: Sequence[str] = (),
    mock: bool = False,
    judge_timeout: float | None = None,
    max_calls: int | None = None,
) -> dict[str, Any]:
    """Rank the candidates of an artifact and write the ranking."""
    from honestone.app.stages.files import candidates_of, refuse_inside, skill_of_artifact, stamp, write_stage
    from honestone.app.stages.resume import settled

    names = ("mock",) if mock else tuple(judges)
    target = skill_of_artifact(candidates)
    refuse_inside(files, target)
    target = settled(files, target)
    edits = [_edit(candidate, target) for candidate in candidates_of(candidates)]
    reviews, usage = _reviews(edits, target, names, progress, judge_timeout, max_calls)
    moment = stamp()
    scored = [_scored(edit, reviews.get(edit.id), names, moment) for edit in edits]
    # Best first; what has no score comes last. Equal ones stay in the order in which they were proposed.
    scored.sort(
        key=lambda one: (one["score"] is None, -(one["score"] or 0), one["recommendation"] != "accept_for_execution")
    )
    return write_stage(
        RANKED,
        {
            "source_candidate_artifact": candidates.document.get("truth_anchor") or str(candidates.path),
            "target": candidates.document["target"],
            "critic_mode": "mock" if mock else "panel" if names else "none",
            "mock": mock,
            "judges": list(names),
            "scored_candidates": scored,
            "summary": {
                **{str(one): sum(1 for row in scored if row["recommendation"] == one) for one in Recommendation},
                "evaluator_evidence_enabled": False,
                "llm_judge_enabled": bool(names) and not mock,
                "llm_judge_backend": ", ".join(names) or None,
            },
            "usage": usage,
        },
        files,
        run_id=candidates.run_id,
        lane=candidates.lane,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """A candidate with what its plan comes to; `after` None: it cannot be applied, and `problem` says why."""

    candidate: dict[str, Any]
    before: Version
    after: Version | None
    problem: PlanError | None = None

    @property
    def id(self) -> str:
        return str(self.candidate["id"])

    @property
    def risk(self) -> Risk:
        """The worse of what is said and what the bytes say."""
        said = [Risk(self.candidate["risk_level"])] if self.candidate.get("risk_level") in list(Risk) else []
        return worst([*said, *([risk_of(self.before, self.after)] if self.after is not None else [])])

    @property
    def category(self) -> Category:
        said = self.candidate.get("category")
        if said in list(Category):
            return Category(said)
        return Category.DOCS if self.after is None else category_of(self.before, self.after)

    @property
    def for_a_person(self) -> list[str]:
        """Why the gate would not keep it by itself, in the original's words."""
        found = [f"risk_{self.risk}"] if self.risk is not Risk.LOW else []
        return [*(["not_auto_keep_category"] if self.category in NOT_KEPT_ALONE else []), *found]


def _edit(candidate: dict[str, Any], target: Target) -> _Edit:
    from honestone.app.stages.files import plan_of, require_base

    try:
        require_base(candidate, target)
        after = apply_plan(plan_of(candidate, target), target.version)
    except UsageError as found:
        problem = found if isinstance(found, PlanError) else PlanError(Refusal.ERROR, found.message)
        return _Edit(candidate=candidate, before=target.version, after=None, problem=problem)
    return _Edit(candidate=candidate, before=target.version, after=after)


# ---------------------------------------------------------------------------------------------------------- the panel


def _reviews(
    edits: Sequence[_Edit],
    target: Target,
    names: Sequence[str],
    progress: Progress,
    judge_timeout: float | None,
    max_calls: int | None,
) -> tuple[dict[str, Sequence[Ballot]], dict[str, Any]]:
    """The judges' ballots about every edit that can be applied, by candidate."""
    from honestone.adapters.checks import CheckRunner
    from honestone.app.setup import (
        judging_defaults,
        make_context,
        make_panel,
        make_seats,
        open_store_for,
        settings_here,
    )
    from honestone.app.stopping import run_to_end
    from honestone.engine.judging import Evaluator
    from honestone.engine.meter import Meter, Spend

    todo = [edit for edit in edits if edit.after is not None]
    if not names:
        return {}, {}
    options, settings = judging_defaults(judges=tuple(names)), settings_here()
    seats = make_seats(names, make_context(_timed(options, judge_timeout), settings))
    calls = max_calls if max_calls is not None else 2 * len(todo) * len(seats)
    progress.note(
        f"at most {calls} judge calls: {len(todo)} candidates x {len(seats)} judges, each asked once more at most"
    )
    meter = Meter(calls=calls, minutes=240, usd=None, clock=time.monotonic)
    found: dict[str, Sequence[Ballot]] = {}

    def evaluator_of(panel: Panel) -> Evaluator:
        return Evaluator(EDIT_RUBRIC, CheckRunner(Path.cwd()), panel)

    with open_store_for(settings) as store:
        panel = make_panel(seats, store, meter, options)
        evaluator = evaluator_of(panel)

        async def work() -> None:
            for at, edit in enumerate(todo):
                progress.progress(at, len(todo), f"asking about {edit.id}")
                assert edit.after is not None
                shown = Artifact(target.named, shown_edit(edit.before, edit.after))
                judged = await evaluator.judge(shown, input=failures_in_words(_tasks_of(edit.candidate)))
                found[edit.id] = judged.ballots

        run_to_end(work, panel.close)
    spend = Spend()
    spend.join(meter.spent)
    return found, spend.to_plain()


def _timed(options: Any, judge_timeout: float | None) -> Any:
    from dataclasses import replace

    return replace(options, judge_timeout=judge_timeout)


def _tasks_of(candidate: Mapping[str, Any]) -> list[str]:
    rationale = candidate.get("rationale")
    return [rationale] if isinstance(rationale, str) and rationale.strip() else []


# ---------------------------------------------------------------------------------------------------------- the score


def _scored(edit: _Edit, ballots: Sequence[Ballot] | None, judges: Sequence[str], moment: str) -> dict[str, Any]:
    """A candidate with its score. What nobody could judge, and what cannot be applied, has none."""
    panel = None if ballots is None else _panel(ballots)
    blockers, notes = [], list(notes_about(edit.risk, edit.category))
    score: Fraction | None
    if edit.after is None:
        assert edit.problem is not None
        score = None
        blockers = [_BLOCKER[edit.problem.refusal]]
        notes = [edit.problem.message]
    elif panel is not None:
        score = panel.score
        if score is None:
            blockers = ["panel_unavailable", *panel.failures]
    else:
        score = UNJUDGED
        notes.append("nobody was asked: every edit that can be applied gets the same score")
    recommendation = recommendation_of(score, None if panel is None else panel.label)
    if recommendation is Recommendation.REJECT and score is not None:
        blockers.append("panel_against")
    if edit.after is not None and edit.for_a_person:
        blockers += edit.for_a_person
        if recommendation is Recommendation.ACCEPT:
            recommendation = Recommendation.HOLD
    return {
        **edit.candidate,
        "risk_level": str(edit.risk),
        "executor_support": edit.after is not None,
        "score": _number(score),
        "heuristic_score": None,
        "risk_penalty": float(RISK_PENALTY[edit.risk]),
        "recommendation": str(recommendation),
        "blockers": blockers,
        "judge_notes": [*notes, *([] if panel is None else panel.suggestions)],
        "judge_adapter": {
            "name": "honestone-panel" if judges else "none",
            "evaluated_at": moment,
            "evaluator_evidence_enabled": False,
            "llm_judge_enabled": panel is not None,
        },
        "score_components": {} if panel is None else panel.components,
        "panel": None
        if panel is None
        else {
            "panel_reviews": panel.reviews,
            "cognitive_label": None if panel.label is None else str(panel.label),
            "final_recommendation": str(recommendation),
            "aggregated_score": _number(score),
        },
        **({} if edit.after is None else {"candidate_digest": edit.after.digest}),
    }


_BLOCKER = {
    Refusal.UNSUPPORTED: "executor_not_supported",
    Refusal.NO_CHANGE: "changes_nothing",
    Refusal.ERROR: "plan_does_not_fit",
    Refusal.OUTSIDE: "leaves_the_skill",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """What the ballots about one edit come to. Judges whose answers are not complete have no score and no vote."""

    score: Fraction | None
    label: Label | None
    reviews: list[dict[str, Any]]
    components: dict[str, float | None]
    failures: list[str]
    suggestions: list[str]


def _panel(ballots: Sequence[Ballot]) -> _Panel:
    line = Scorer(EDIT_RUBRIC).card(ballots).line(EDIT)
    scores = {judge: share * 10 for judge, share in line.by_judge.items()}
    reviews = [_review(ballot, scores.get(ballot.judge)) for ballot in ballots]
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
    return _Panel(
        score=mean_of(list(scores.values())),
        label=label_of(list(scores.values())),
        reviews=reviews,
        components=components,
        failures=[
            f"{ballot.judge}: {ballot.reason or 'no complete answer'}"
            for ballot in ballots
            if ballot.judge not in scores
        ],
        suggestions=list(dict.fromkeys(suggestions))[:20],
    )


def _review(ballot: Ballot, score: Fraction | None) -> dict[str, Any]:
    own = recommendation_of(score, None)
    return {
        "reviewer": ballot.judge,
        "state": str(ballot.state),
        "reason": ballot.reason,
        "score": _number(score),
        "recommendation": None if score is None else str(own),
        "answers": {item: mark.answer for (_, item), mark in ballot.marks.items()},
        "abstained": {item: why for (_, item), why in ballot.abstained.items()},
    }


def _number(value: Fraction | None) -> float | None:
    return None if value is None else round(float(value), 9)
