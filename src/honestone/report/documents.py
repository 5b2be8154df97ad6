"""Documents: what `--json` prints, built from events. Every other form of a report is drawn from these.

    honestone.scorecard/1     one artifact or output, judged
    honestone.improvement/1   one run of the loop

JSON numbers are points (0-100), not rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from honestone.core import events
from honestone.core.ballot import CHECK, Answer, Ballot, Mark, State, ballot_from_plain
from honestone.core.events import Event
from honestone.core.numbers import to_points
from honestone.core.reading.evidence import find_quote, is_quote
from honestone.core.rubric import Key, as_written
from honestone.core.scorecard import ItemLine, Line, Scorecard, Scorer
from honestone.core.verdict import Outcome, Verdict, judge_gate

if TYPE_CHECKING:  # `eval` knows no loop, and its rules are slow to load.
    from honestone.core.loop.state import LoopState, Round

SCORECARD = "honestone.scorecard/1"
IMPROVEMENT = "honestone.improvement/1"

_TOKENS = ("input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a scorecard document says beside the scores. `text` is what quotes are looked up in, if it is at hand."""

    path: str
    digest: str
    contract: str
    run: str | None
    usage: Mapping[str, Any]
    text: str | None = None
    notes: tuple[str, ...] = ()
    error: str | None = None
    rubric: str | None = None


@dataclass(frozen=True, slots=True)
class _Scored:
    """All of a scorecard that follows from the answers alone. `votes` are an item's key and who answered it."""

    verdict: Verdict
    score: float | None
    interval: list[float]
    low_confidence: bool
    flags: tuple[str, ...]
    criteria: tuple[dict[str, Any], ...]
    votes: tuple[tuple[tuple[Key, tuple[str, ...]], ...], ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What one scorer's documents have in common; many artifacts share few. For one scorer.

    `lines`: criteria that code answers, by the identity of their lines (which it keeps alive). `criteria`, `cards`:
    those of judges, by the answers, for then only words differ.
    """

    lines: dict[int, tuple[Line, dict[str, Any]]] = field(default_factory=dict)
    criteria: dict[tuple[object, ...], dict[str, Any]] = field(default_factory=dict)
    cards: dict[tuple[object, ...], _Scored] = field(default_factory=dict)


_KNOWN_LINES, _KNOWN_CRITERIA, _KNOWN_CARDS = 4096, 1024, 256


def scorecard_document(
    scorer: Scorer, ballots: Sequence[Ballot], facts: Facts, known: Known | None = None
) -> dict[str, Any]:
    """One scorecard with its verdict. Over many artifacts, `known` saves drawing equal criteria again."""
    rubric = scorer.rubric
    quotes = _Quotes(facts.text)
    scored, criteria = _scored(scorer, ballots, quotes, known)
    verdict = scored.verdict
    if facts.error is not None:
        verdict = Verdict(Outcome.INCONCLUSIVE, (facts.error, *verdict.reasons))
    flags = [*scored.flags]
    if any(ballot.judge.startswith("mock") for ballot in ballots):
        flags.append("mock run: no judge looked at this")
    return {
        "schema": SCORECARD,
        "title": rubric.title,
        "rubric": facts.rubric,
        "has_fixes": scorer.has_fixes,
        "artifact": {"path": facts.path, "digest": facts.digest},
        "verdict": str(verdict.outcome),
        "reasons": list(verdict.reasons),
        "score": scored.score,
        "interval": [*scored.interval],
        "threshold": _as_points(rubric.threshold),
        "floor": _as_points(rubric.floor),
        "low_confidence": scored.low_confidence,
        "self_evaluated": any(ballot.judge.startswith("self:") and ballot.marks for ballot in ballots),
        "criteria": criteria,
        "judges": judge_states(ballots),
        "flags": flags,
        "sandbox": _sandbox(ballots),
        "evidence_found": quotes.counts,
        "contract": facts.contract,
        "run": facts.run,
        "usage": dict(facts.usage),
        **({"notes": list(facts.notes)} if facts.notes else {}),
    }


def _sandbox(ballots: Iterable[Ballot]) -> str | None:
    """Where checks ran code: "bwrap", "none", or None when no check did."""
    said = next((ballot.reason for ballot in ballots if ballot.judge == CHECK and ballot.reason), None)
    return said.removeprefix("sandbox: ") if said else None


def judge_states(ballots: Iterable[Ballot]) -> list[dict[str, Any]]:
    """Who took part; checks are no judge."""
    out = []
    for ballot in ballots:
        if ballot.judge != CHECK:
            entry: dict[str, Any] = {"id": ballot.judge, "state": str(ballot.state), "reason": ballot.reason}
            if ballot.problems:
                entry["problems"] = list(ballot.problems)
            if ballot.repairs:
                entry["repairs"] = list(ballot.repairs)
            out.append(entry)
    return out


class _Quotes:
    """Looks quotes up once each and counts what was found."""

    def __init__(self, text: str | None) -> None:
        self._text = text
        self._known: dict[str, bool] = {}
        self._quoted = self._found = 0

    def found(self, quote: str) -> bool | None:
        if self._text is None or not is_quote(quote):
            return None
        if quote not in self._known:
            self._known[quote] = find_quote(quote, self._text) is not None
        self._quoted += 1
        self._found += self._known[quote]
        return self._known[quote]

    @property
    def counts(self) -> dict[str, int] | None:
        return {"found": self._found, "quoted": self._quoted} if self._quoted else None


def _scored(
    scorer: Scorer, ballots: Sequence[Ballot], quotes: _Quotes, known: Known | None
) -> tuple[_Scored, list[dict[str, Any]]]:
    """What the answers come to, and the criteria with the words of these ballots."""
    of_judges = known is not None and any(ballot.judge != CHECK for ballot in ballots)
    key = _answers(ballots) if of_judges else ()
    if known is not None and (same := known.cards.get(key)) is not None:
        marks = {ballot.judge: ballot.marks for ballot in ballots}
        criteria = []
        for drawn, votes in zip(same.criteria, same.votes, strict=True):
            said = [tuple([(judge, marks[judge][item]) for judge in judges]) for item, judges in votes]
            criteria.append(_reworded(drawn, said, quotes))
        return same, criteria
    card = scorer.card(ballots)
    criteria = [_criterion(line, quotes, known) for line in card.lines]
    scored = _Scored(
        verdict=judge_gate(card, scorer.rubric),
        score=_points(card.score),
        interval=_interval(card.low, card.high),
        low_confidence=scorer.asks_judges and card.low_confidence,
        flags=card.flags,
        criteria=tuple(criteria),
        votes=tuple(
            tuple(((line.criterion.id, i.item.id), tuple(judge for judge, _ in i.votes)) for i in line.items)
            for line in card.lines
        )
        if of_judges
        else (),
    )
    if known is not None and of_judges and len(known.cards) < _KNOWN_CARDS:
        known.cards[key] = scored
    return scored, criteria


def _answers(ballots: Sequence[Ballot]) -> tuple[object, ...]:
    """All that the numbers come from. True equals 1 and 1 equals 1.0, but they are not shown alike."""
    out: list[object] = []
    for ballot in ballots:
        out.append(ballot.judge)
        for key, mark in ballot.marks.items():
            out += key, mark.answer, mark.answer.__class__
    return tuple(out)


def _criterion(line: Line, quotes: _Quotes, known: Known | None) -> dict[str, Any]:
    if known is None or (line.criterion.children and not line.only_checks):
        return _draw_criterion(line, quotes)
    if line.only_checks:
        same = known.lines.get(id(line))
        if same is not None:
            return same[1]
        drawn = _draw_criterion(line, quotes)
        if len(known.lines) < _KNOWN_LINES:
            known.lines[id(line)] = (line, drawn)
        return drawn
    key = _answers_of(line)
    found = known.criteria.get(key)
    if found is not None:
        return _reworded(found, [item.votes for item in line.items], quotes)
    drawn = _draw_criterion(line, quotes)
    if len(known.criteria) < _KNOWN_CRITERIA:
        known.criteria[key] = drawn
    return drawn


def _answers_of(line: Line) -> tuple[object, ...]:
    votes = [(judge, mark.answer, mark.answer.__class__) for item in line.items for judge, mark in item.votes]
    return (line.criterion.id, *map(len, [item.votes for item in line.items]), *votes)


def _reworded(drawn: dict[str, Any], votes: Sequence[Votes], quotes: _Quotes) -> dict[str, Any]:
    """A criterion drawn for other marks with the same answers."""
    items = [{**item, **_words(said, quotes), "note": None} for item, said in zip(drawn["items"], votes, strict=True)]
    return {**drawn, "items": items}


def _draw_criterion(line: Line, quotes: _Quotes) -> dict[str, Any]:
    criterion = line.criterion
    return {
        "id": criterion.id,
        "parent": line.parent,
        "requirement": criterion.requirement,
        "score": _points(line.score),
        "interval": _interval(line.low, line.high),
        "weight": as_written(criterion.weight),
        "floor": as_written(line.floor * 100),
        "required": criterion.required,
        "below_floor": line.is_below_floor,
        "spread": to_points(line.spread),
        "by_judge": {judge: to_points(score) for judge, score in line.by_judge.items()},
        "applies": line.applies,
        "voters": line.voters,
        "is_penalty": criterion.is_penalty,
        "items": [_item(item, quotes) for item in line.items],
    }


def _item(line: ItemLine, quotes: _Quotes) -> dict[str, Any]:
    item = line.item
    scale = item.anchors
    return {
        "id": item.id,
        "requirement": item.requirement,
        "kind": "check" if item.check else "anchors" if scale else "yes-no",
        "scale": [as_written(scale.lowest), as_written(scale.highest)] if scale else None,
        "met": None if line.met is None else float(line.met),
        "unmet": line.unmet,
        "applies": line.applies,
        "votes": {judge: _vote(mark.answer) for judge, mark in line.votes},
        **_words(line.votes, quotes),
        "note": None,
    }


Votes: TypeAlias = tuple[tuple[str, Mark], ...]


def _words(votes: Votes, quotes: _Quotes) -> dict[str, Any]:
    """What was said of an item beside the answers."""
    evidence: list[dict[str, Any]] = []
    suggestions: list[dict[str, str]] = []
    for judge, mark in votes:
        for quote in mark.evidence:
            found = None if judge == CHECK else quotes.found(quote)
            evidence.append({"judge": judge, "quote": quote, "found": found})
        if mark.suggestion and mark.suggestion.strip():
            suggestions.append({"judge": judge, "text": mark.suggestion})
    return {
        "evidence": evidence,
        "suggestion": suggestions[0]["text"] if suggestions else None,
        "suggestions": suggestions,
    }


def add_notes(document: dict[str, Any], ballots: Sequence[Ballot]) -> dict[str, Any]:
    """Say at each item without an answer why nobody answered."""
    if not any(ballot.abstained for ballot in ballots):
        return document
    why: dict[tuple[str, str], list[str]] = {}
    for ballot in ballots:
        for key, reason in ballot.abstained.items():
            why.setdefault(key, []).append(f"{ballot.judge}: {reason}")
    for criterion in document["criteria"]:
        for item in criterion["items"]:
            told = why.get((criterion["id"], item["id"]))
            if told:
                item["note"] = "; ".join(told)
    return document


def _vote(answer: Answer) -> str | int | float:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return answer


def _as_points(bar: Fraction) -> int | float:
    """A bar as it was written: 70, not 70.0."""
    points = to_points(bar)
    return int(points) if points.is_integer() else points


def _points(score: Fraction | None) -> float | None:
    return None if score is None else to_points(score)


def _interval(low: Fraction, high: Fraction) -> list[float]:
    return [to_points(low), to_points(high)]


def usage_document(total: Mapping[str, Any], here: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Calls, tokens and money of a run; `this_process` is what this command spent."""
    out = {
        "judge_calls": total.get("judge_calls", 0),
        "cached_calls": total.get("cached_calls", 0),
        "worker_calls": total.get("worker_calls", 0),
        **{name: total.get(name, 0) for name in _TOKENS},
        "usd": total.get("usd"),
    }
    if total.get("target_calls"):
        out["target_calls"] = total["target_calls"]
    if here is not None:
        out["this_process"] = usage_document(here)
    return out


# ---------------------------------------------------------------------------------------------------------- judged artifacts


def judged_document(scorer: Scorer, started: Event, judged: Event, *, run: str, text: str | None) -> dict[str, Any]:
    """The scorecard of one `judged` event of an `eval` run."""
    ballots = [ballot_from_plain(plain) for plain in judged["ballots"]]
    usage = usage_document(judged.get("spend", {}), judged.get("spend", {}))
    facts = Facts(
        path=judged["path"],
        digest=judged["digest"],
        contract=started["contract_id"],
        run=run,
        usage=usage,
        text=text,
        notes=tuple(judged.get("notes", ())),
        error=judged.get("error"),
        rubric=started.get("rubric_path"),
    )
    document = add_notes(scorecard_document(scorer, ballots, facts), ballots)
    if "output" in judged:
        document["output"] = judged["output"]
    if "packed" in judged:
        document["packed"] = judged["packed"]
    return document


# ---------------------------------------------------------------------------------------------------------- loops


def improvement_document(
    state: LoopState,
    log: Sequence[Event],
    *,
    run: str,
    usage: Mapping[str, Any],
    text_of: Callable[[str], str | None],
    report: str | None,
    resumed: bool = False,
) -> dict[str, Any]:
    """A run of the loop, finished or not (then its result is INTERRUPTED)."""
    from honestone.core.loop.actions import Result

    started = log[0]
    artifact = started["artifact"]
    stop = state.finished
    best_round = next((r.number for r in state.rounds if r.version == state.best and r.accepted), 0)

    def card_of(version: str) -> dict[str, Any]:
        ballots = list(state.ballots.get((version, "panel"), {}).values())
        facts = Facts(
            path=artifact["path"],
            digest=version,
            contract=started["contract_id"],
            run=run,
            usage=usage_document(_spend_on(log, version)),
            text=text_of(version),
            rubric=started.get("rubric_path"),
        )
        return add_notes(scorecard_document(state.scorer, ballots, facts), ballots)

    return {
        "schema": IMPROVEMENT,
        "title": state.rubric.title,
        "artifact": {"path": artifact["path"], "digest": state.best, "original": state.original},
        "result": str(stop.result) if stop else str(Result.INTERRUPTED),
        "reason": stop.reason if stop else "stopped before the end; the same command goes on",
        "best_round": best_round,
        "threshold": as_written(state.rubric.threshold * 100),
        "floor": as_written(state.rubric.floor * 100),
        "policy": started["policy"],
        "worker": started["worker"],
        "limits": started["limits"],
        "rounds": [
            round_document(state, entry, event) for entry, event in zip(state.rounds, _proposals(log), strict=True)
        ],
        "baseline": card_of(state.original),
        "final": card_of(state.best),
        "certification": _certification(state),
        "contract": started["contract_id"],
        "run": run,
        "report": report,
        "resumed": resumed,
        "usage": dict(usage),
        **({"packed": started["packed"]} if "packed" in started else {}),
    }


def _proposals(log: Iterable[Event]) -> list[Event]:
    return [event for event in log if event["type"] == events.PROPOSED]


def spend_in(log: Iterable[Event]) -> dict[str, Any]:
    """What these events say was spent, name by name."""
    total: dict[str, Any] = {}
    for event in log:
        for name, value in event.get("spend", {}).items():
            total[name] = total.get(name, 0) + value
    return total


def _spend_on(log: Iterable[Event], version: str) -> dict[str, Any]:
    return spend_in(event for event in log if event["type"] == events.BALLOT and event["version"] == version)


def round_document(state: LoopState, entry: Round, event: Event) -> dict[str, Any]:
    """One round: what was tried on what, what came of it, and the scores before and after."""
    from honestone.core.loop.focus import below_floor
    from honestone.core.loop.proposal import ProposalOutcome

    before = state.card(entry.base)
    judged = entry.version is not None and entry.outcome is ProposalOutcome.CHANGED and _is_judged(state, entry.version)
    after: Scorecard | None = state.card(entry.version) if judged and entry.version else None
    ballots = list(state.ballots.get((entry.version or "", "panel"), {}).values()) if judged else []
    return {
        "round": entry.number,
        "focus": list(entry.focus),
        "outcome": str(entry.outcome),
        "outcome_detail": entry.detail,
        "decision": "accepted" if entry.accepted else "rejected" if entry.accepted is False else None,
        "reason": entry.reason,
        "score_before": _points(before.score),
        "score_after": _points(after.score) if after else None,
        "interval_after": _interval(after.low, after.high) if after else None,
        "criteria": _moves(before, after) if after else [],
        "judges": judge_states(ballots),
        "diff": event.get("diff"),
        "version": entry.version,
        "floor_violations": sorted(below_floor(after)) if after else [],
        "flags": list(after.flags) if after else [],
    }


def _is_judged(state: LoopState, version: str) -> bool:
    return bool(state.ballots.get((version, "panel")))


def _moves(before: Scorecard, after: Scorecard) -> list[dict[str, Any]]:
    return [
        {
            "id": new.criterion.id,
            "before": _points(old.score),
            "after": _points(new.score),
            "by_judge": {judge: to_points(score) for judge, score in new.by_judge.items()},
        }
        for old, new in zip(before.lines, after.lines, strict=True)
    ]


def _certification(state: LoopState) -> dict[str, Any]:
    """What the held-out judges said of the version that is delivered."""

    if not state.needs_witness:
        return {"needed": False, "ok": None, "judges": [], "reason": "code alone decides, so no witness is needed"}
    version = state.best
    verdicts = state.certifications(version)
    judges = []
    for judge in state.holdouts:
        ballot = state.ballots.get((version, "holdout"), {}).get(judge)
        verdict = verdicts.get(judge)
        checks = state.ballots.get((version, "panel"), {}).get(CHECK)
        card = state.scorer.card([ballot, checks] if checks else [ballot]) if ballot else None
        judges.append(
            {
                "id": judge,
                "verdict": str(verdict.outcome) if verdict else None,
                "score": _points(card.score) if card else None,
                "state": str(ballot.state) if ballot else str(State.SKIPPED),
                "reason": (ballot.reason or "; ".join(verdict.reasons) or None) if ballot and verdict else "not asked",
            }
        )
    asked = bool(verdicts)
    return {
        "needed": True,
        "ok": state.is_certified(version)
        if asked
        else None
        if not state.holdouts
        else False
        if state.consulted
        else None,
        "judges": judges,
        "consulted": len(state.consulted),
        "consultations": state.consultations,
        "reason": None if state.holdouts else "no held-out judge was named (--holdout)",
    }
