"""Scorecards (`honestone.scorecard/1`) made from ballots. JSON numbers are points (0-100), not
rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from honestone.core.belief.stated import StatedBelief, believed, chance_of, stated_belief
from honestone.core.events import ArtifactJudged, EvaluationStarted, Event
from honestone.core.judging.ballot import CHECK, Answer, Ballot, Mark
from honestone.core.judging.rubric import Key, as_written
from honestone.core.judging.scorecard import ItemLine, Line, Outcome, Verdict, judge_gate
from honestone.core.judging.scorer import Scorer, answers_of
from honestone.core.judging.spend import Spend
from honestone.core.numbers import to_points
from honestone.core.reading.evidence import Found, find_quote, is_quote
from honestone.core.record.judge_spends import judge_spends
from honestone.report.documents import fields_of, scorecard
from honestone.report.documents.belief import BeliefDoc


class Facts(Struct, frozen=True, kw_only=True):
    """What a scorecard document says besides the scores. Quotes are looked up in `text`, where it
    is at hand; `costs` are of each judge, as far as they are known. `belief`: how sure the verdict is,
    where more is known of it than its ballots.
    """

    path: str
    digest: str
    contract: str
    run: str | None
    usage: scorecard.UsageDoc
    text: str | None = None
    notes: Sequence[str] = ()
    error: str | None = None
    rubric: str | None = None
    options: Sequence[str] = ()
    output: str | UnsetType | None = UNSET
    packed: Mapping[str, Any] | None = None
    costs: Mapping[str, scorecard.UsageDoc] = field(default_factory=dict)
    belief: StatedBelief | None = None


class _Scored(Struct, frozen=True):
    """All of a scorecard that follows from the answers alone. `votes` are an item's key and who
    answered it.
    """

    verdict: Verdict
    chance: float | None
    score: float | None
    interval: list[float]
    low_confidence: bool
    flags: tuple[str, ...]
    criteria: tuple[scorecard.CriterionDoc, ...]
    votes: tuple[tuple[tuple[Key, tuple[str, ...]], ...], ...]


class SharedParts(Struct, frozen=True):
    """What one scorer's documents have in common; many artifacts share few. For one scorer.

    `lines`: criteria that code answers, by the identity of their lines (which it keeps alive).
        `criteria`: those of judges, by the answers, for then only words differ. `cards`: the same,
        and those of code alone by answers and words.
    """

    lines: dict[int, tuple[Line, scorecard.CriterionDoc]] = field(default_factory=dict)
    criteria: dict[tuple[object, ...], scorecard.CriterionDoc] = field(default_factory=dict)
    cards: dict[tuple[object, ...], _Scored] = field(default_factory=dict)


_MOST_LINES, _MOST_CRITERIA, _MOST_CARDS = 4096, 1024, 256


def scorecard_document(
    scorer: Scorer, ballots: Sequence[Ballot], facts: Facts, shared: SharedParts | None = None
) -> scorecard.ScorecardDoc:
    """One scorecard with its verdict. Over many artifacts, `shared` saves drawing equal criteria
    again.
    """
    rubric = scorer.rubric
    quotes = _Quotes(facts.text)
    scored, criteria = _scored(scorer, ballots, quotes, shared)
    belief = facts.belief or stated_belief(rubric, ballots, scored.chance)
    verdict = believed(scored.verdict, belief, scorer.rule)
    if facts.error is not None:
        verdict = Verdict(Outcome.INCONCLUSIVE, (facts.error, *verdict.reasons))
    flags = [*scored.flags]
    if not scorer.can_fail:
        flags.append(scorecard.NOTHING_CAN_FAIL)
    if any(ballot.kind == "mock" for ballot in ballots):
        flags.append("mock run: no judge looked at this")
    if runs_open(ballots):
        flags.append(UNSANDBOXED)
    if restored := list(dict.fromkeys(name for ballot in ballots for name in ballot.restored)):
        flags.append(
            f"judged by files as they were at the start, which were changed: {listed(restored)}"
        )
    asked = _scores_of_repeated(scorer, ballots)
    flags += _asked_again(scorer, ballots, asked)
    return scorecard.ScorecardDoc(
        title=rubric.title,
        rubric=facts.rubric,
        has_fixes=scorer.has_fixes,
        options=list(facts.options) or UNSET,
        artifact=scorecard.ArtifactDoc(path=facts.path, digest=facts.digest),
        verdict=str(verdict.outcome),
        reasons=list(verdict.reasons),
        belief=BeliefDoc.of(belief, is_undecided=verdict.is_undecided),
        score=scored.score,
        interval=[*scored.interval],
        threshold=_as_points(rubric.threshold),
        floor=_as_points(rubric.floor),
        low_confidence=scored.low_confidence,
        low_confidence_reason=scorecard.LOW_CONFIDENCE if scored.low_confidence else UNSET,
        self_evaluated=any(ballot.kind == "self" and bool(ballot.marks) for ballot in ballots),
        criteria=_with_notes(criteria, ballots),
        judges=[
            replace(one, asked=asked[one.id]) if one.id in asked else one
            for one in judge_states(ballots, facts.costs)
        ],
        flags=flags,
        sandbox=_sandbox(ballots),
        judged_by=list(dict.fromkeys(name for ballot in ballots for name in ballot.judged_by))
        or UNSET,
        evidence_found=quotes.share,
        contract=facts.contract,
        run=facts.run,
        usage=facts.usage,
        notes=list(facts.notes) or UNSET,
        output=facts.output,
        packed=dict(facts.packed) if facts.packed else UNSET,
    )


def listed(names: Sequence[str], most: int = 5) -> str:
    """Some names, and how many more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


UNSANDBOXED: Final = "checks ran code without a sandbox"


def runs_open(ballots: Iterable[Ballot]) -> bool:
    """Whether a check ran code with nothing around it."""
    return any("none" in (ballot.sandbox or "").split(", ") for ballot in ballots)


def _scores_of_repeated(scorer: Scorer, ballots: Sequence[Ballot]) -> dict[str, scorecard.AskedDoc]:
    """The scores of looks that were asked for again: one for each answer, the one of this run last."""
    found = {}
    for ballot in ballots:
        if ballot.earlier:
            before = [
                {key: Mark(answer) for key, answer in answers.items()} for answers in ballot.earlier
            ]
            scores = [
                _score_alone(scorer, ballots, replace(ballot, marks=marks))
                for marks in (*before, ballot.marks)
            ]
            found[ballot.judge] = scorecard.AskedDoc(times=len(scores), scores=scores)
    return found


def _score_alone(scorer: Scorer, ballots: Sequence[Ballot], look: Ballot) -> float | None:
    alone = Ballot(judge=look.judge, kind=look.kind, marks=look.marks)
    checks = [ballot for ballot in ballots if ballot.judge == CHECK]
    return points_of(scorer.card([alone, *checks]).score)


def _asked_again(
    scorer: Scorer, ballots: Sequence[Ballot], asked: Mapping[str, scorecard.AskedDoc]
) -> list[str]:
    """What each judge gave over all of its looks, before this run and in it, where it was asked again:
    `asked 4 times: 0 0 0 100 (codex)`.
    """
    found = []
    for voter in dict.fromkeys(ballot.voter for ballot in ballots if ballot.judge in asked):
        looks = [one for one in ballots if one.voter == voter and one.marks]
        before = [
            score for one in looks if one.judge in asked for score in asked[one.judge].scores[:-1]
        ]
        now = [_score_alone(scorer, ballots, one) for one in looks]
        of_run = f", {len(now)} of them by this run" if len(now) > 1 else ""
        scores = " ".join("?" if one is None else f"{one:g}" for one in (*before, *now))
        found.append(f"asked {len(before) + len(now)} times{of_run}: {scores} ({voter})")
    return found


def _sandbox(ballots: Iterable[Ballot]) -> str | None:
    """Where checks ran code: "bwrap", "landlock", "none", or None when no check did."""
    return next((ballot.sandbox for ballot in ballots if ballot.sandbox), None)


def judge_costs(log: Iterable[Event]) -> Mapping[str, scorecard.UsageDoc]:
    """What each judge cost; empty where that is not known."""
    return {judge: usage_document(spend) for judge, spend in (judge_spends(log) or {}).items()}


def judge_states(
    ballots: Iterable[Ballot], costs: Mapping[str, scorecard.UsageDoc] = MappingProxyType({})
) -> list[scorecard.JudgeDoc]:
    """Who took part; checks are not a judge."""
    return [
        scorecard.JudgeDoc(
            id=ballot.judge,
            state=str(ballot.state),
            reason=ballot.reason,
            problems=list(ballot.problems) or UNSET,
            repairs=list(ballot.repairs) or UNSET,
            hint=ballot.hint or UNSET,
            unusable=len(ballot.unusable) or UNSET,
            usage=costs.get(ballot.judge, UNSET),
            criteria=list(ballot.asked) or UNSET,
            unanswered=list(ballot.unanswered) or UNSET,
        )
        for ballot in ballots
        if ballot.judge != CHECK
    ]


class _Quotes:
    """Looks quotes up once each and counts what was found."""

    def __init__(self, text: str | None) -> None:
        self._text = text
        self._known: dict[str, Found | None] = {}
        self._quoted = self._found = 0

    def document(self, judge: str, quote: str) -> scorecard.QuoteDoc:
        if judge == CHECK or self._text is None or not is_quote(quote):
            return scorecard.QuoteDoc(judge=judge, quote=quote)
        if quote not in self._known:
            self._known[quote] = find_quote(quote, self._text)
        self._quoted += 1
        place = self._known[quote]
        if place is None:
            return scorecard.QuoteDoc(judge=judge, quote=quote, found=False)
        self._found += 1
        return scorecard.QuoteDoc(
            judge=judge, quote=quote, found=True, start=place.start, end=place.end, how=place.how
        )

    @property
    def share(self) -> scorecard.EvidenceShareDoc | None:
        return (
            scorecard.EvidenceShareDoc(found=self._found, quoted=self._quoted)
            if self._quoted
            else None
        )


def _scored(
    scorer: Scorer, ballots: Sequence[Ballot], quotes: _Quotes, shared: SharedParts | None
) -> tuple[_Scored, list[scorecard.CriterionDoc]]:
    """What the answers come to, and the criteria with the words of these ballots."""
    of_judges = any(ballot.judge != CHECK for ballot in ballots)
    key: tuple[object, ...] = ()
    if shared is not None:
        key = answers_of(ballots) if of_judges else _answers_of_code(ballots)
    if shared is not None and (same := shared.cards.get(key)) is not None:
        if not of_judges:
            return same, list(same.criteria)
        marks = {ballot.judge: ballot.marks for ballot in ballots}
        criteria = []
        for drawn, votes in zip(same.criteria, same.votes, strict=True):
            marked = [
                tuple([(judge, marks[judge][item]) for judge in judges]) for item, judges in votes
            ]
            criteria.append(_reworded(drawn, marked, quotes))
        return same, criteria
    card = scorer.card(ballots)
    verdict = judge_gate(card, scorer.rubric)
    criteria = [_criterion(line, quotes, shared) for line in card.lines]
    scored = _Scored(
        verdict=verdict,
        chance=chance_of(scorer.rubric, ballots, verdict),
        score=points_of(card.score),
        interval=span_of(card.low, card.high),
        low_confidence=scorer.rests_on_one(card),
        flags=card.flags,
        criteria=tuple(criteria),
        votes=tuple(
            tuple(
                ((line.criterion.id, i.item.id), tuple(judge for judge, _ in i.votes))
                for i in line.items
            )
            for line in card.lines
        )
        if of_judges
        else (),
    )
    if shared is not None and len(shared.cards) < _MOST_CARDS:
        shared.cards[key] = scored
    return scored, criteria


def _answers_of_code(ballots: Sequence[Ballot]) -> tuple[object, ...]:
    """Answers and words: those of code repeat from text to text."""
    words = [
        (mark.evidence, mark.suggestion) for ballot in ballots for mark in ballot.marks.values()
    ]
    return (*answers_of(ballots), *words)


def _criterion(line: Line, quotes: _Quotes, shared: SharedParts | None) -> scorecard.CriterionDoc:
    if shared is None or (line.criterion.children and not line.only_checks):
        return _draw_criterion(line, quotes)
    if line.only_checks:
        same = shared.lines.get(id(line))
        if same is not None:
            return same[1]
        drawn = _draw_criterion(line, quotes)
        if len(shared.lines) < _MOST_LINES:
            shared.lines[id(line)] = (line, drawn)
        return drawn
    key = _answers_of(line)
    found = shared.criteria.get(key)
    if found is not None:
        return _reworded(found, [item.votes for item in line.items], quotes)
    drawn = _draw_criterion(line, quotes)
    if len(shared.criteria) < _MOST_CRITERIA:
        shared.criteria[key] = drawn
    return drawn


def _answers_of(line: Line) -> tuple[object, ...]:
    votes = [
        (judge, mark.answer, mark.answer.__class__)
        for item in line.items
        for judge, mark in item.votes
    ]
    span = (line.applies, *line.low.as_integer_ratio(), *line.high.as_integer_ratio())
    return (line.criterion.id, *span, *map(len, [item.votes for item in line.items]), *votes)


def _reworded(
    drawn: scorecard.CriterionDoc, votes: Sequence[_Votes], quotes: _Quotes
) -> scorecard.CriterionDoc:
    """A criterion drawn for other marks with the same answers."""
    items = []
    for item, marked in zip(drawn.items, votes, strict=True):
        evidence, suggestions = _quotes_and_suggestions(marked, quotes)
        first = suggestions[0].text if suggestions else None
        items.append(replace(item, evidence=evidence, suggestion=first, suggestions=suggestions))
    return replace(drawn, items=items)


def _draw_criterion(line: Line, quotes: _Quotes) -> scorecard.CriterionDoc:
    criterion = line.criterion
    return scorecard.CriterionDoc(
        id=criterion.id,
        parent=line.parent,
        requirement=criterion.requirement,
        score=points_of(line.score),
        interval=span_of(line.low, line.high),
        weight=as_written(criterion.weight),
        floor=as_written(line.floor * 100),
        required=criterion.required,
        below_floor=line.is_below_floor,
        spread=to_points(line.spread),
        by_judge={judge: to_points(score) for judge, score in line.by_judge.items()},
        applies=line.applies,
        voters=line.voters,
        is_penalty=criterion.is_penalty,
        items=[_item(item, quotes) for item in line.items],
    )


def _item(line: ItemLine, quotes: _Quotes) -> scorecard.ItemDoc:
    item = line.item
    scale = item.anchors
    kind = "anchors" if scale else "yes-no"
    evidence, suggestions = _quotes_and_suggestions(line.votes, quotes)
    return scorecard.ItemDoc(
        id=item.id,
        requirement=item.requirement,
        kind="check" if item.check else kind,
        scale=[as_written(scale.lowest), as_written(scale.highest)] if scale else None,
        met=None if line.met is None else float(line.met),
        unmet=line.unmet,
        applies=line.applies,
        votes={judge: _vote(mark.answer) for judge, mark in line.votes},
        evidence=evidence,
        suggestion=suggestions[0].text if suggestions else None,
        suggestions=suggestions,
    )


_Votes: TypeAlias = tuple[tuple[str, Mark], ...]


def _quotes_and_suggestions(
    votes: _Votes, quotes: _Quotes
) -> tuple[list[scorecard.QuoteDoc], list[scorecard.SuggestionDoc]]:
    """What was said of an item besides the answers: quotes and suggestions."""
    evidence: list[scorecard.QuoteDoc] = []
    suggestions: list[scorecard.SuggestionDoc] = []
    for judge, mark in votes:
        evidence += [quotes.document(judge, quote) for quote in mark.evidence]
        if mark.suggestion and mark.suggestion.strip():
            suggestions.append(scorecard.SuggestionDoc(judge=judge, text=mark.suggestion))
    return evidence, suggestions


def _with_notes(
    criteria: list[scorecard.CriterionDoc], ballots: Sequence[Ballot]
) -> list[scorecard.CriterionDoc]:
    """At each item without an answer, why it has none."""
    why: dict[Key, list[str]] = {}
    for ballot in ballots:
        for key, reason in ballot.abstained.items():
            why.setdefault(key, []).append(f"{ballot.judge}: {reason}")
    if not why:
        return criteria
    return [
        replace(
            one,
            items=[
                replace(item, note="; ".join(why[one.id, item.id]))
                if (one.id, item.id) in why
                else item
                for item in one.items
            ],
        )
        for one in criteria
    ]


def _vote(answer: Answer) -> str | int | float:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return answer


def _as_points(bar: Fraction) -> int | float:
    """A bar as it was written: 70, not 70.0."""
    points = to_points(bar)
    return int(points) if points.is_integer() else points


def points_of(score: Fraction | None) -> float | None:
    """A score 0-1 in points, None when it is not known."""
    return None if score is None else to_points(score)


def share_of(rate: Fraction | float | None) -> float | None:
    """A rate 0-1 as a JSON number, None when it is not known."""
    return None if rate is None else float(rate)


def span_of(low: Fraction, high: Fraction) -> list[float]:
    return [to_points(low), to_points(high)]


def usage_document(total: Spend, here: Spend | None = None) -> scorecard.UsageDoc:
    """Calls, tokens and money of a run; `this_process` is what this command spent."""
    return scorecard.UsageDoc(
        judge_calls=total.judge_calls,
        cached_calls=total.cached_calls,
        worker_calls=total.worker_calls,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        usd=total.usd or None,
        target_calls=total.target_calls or UNSET,
        this_process=UNSET if here is None else usage_document(here),
    )


def judged_document(
    scorer: Scorer,
    started: EvaluationStarted,
    judged: ArtifactJudged,
    *,
    run: str,
    text: str | None,
) -> scorecard.ScorecardDoc:
    """The scorecard of one artifact of an `eval` run."""
    facts = Facts(
        **fields_of(judged, "path", "digest", "notes", "error", "packed"),
        contract=started.contract_id,
        run=run,
        usage=usage_document(judged.spend, judged.spend),
        text=text,
        rubric=started.rubric_path,
        options=started.options,
        output=UNSET if judged.output is None else judged.output,
        costs=judge_costs([judged]),
    )
    return scorecard_document(scorer, judged.ballots, facts)
