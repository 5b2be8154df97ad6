"""A run of a suite next to its baseline: what the run records of the two sides.

`sides_to_plain` and `sides_from_plain` are the codec. The stored JSON has the units of a report
(points for scores, 0-1 for rates), in which the decimals that were printed are exact: a comparison
that is read back has the figures that were shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypedDict, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.json_value import Json
from honestone.core.judging.scorecard import Outcome, Verdict
from honestone.core.judging.spend import Spend
from honestone.core.numbers import exact, to_points
from honestone.core.skill.evaluation import SkillResult, SkillVerdict, TaskResult
from honestone.core.suite.attempts import OUTCOMES, Status
from honestone.core.suite.comparison import (
    COMPARISON,
    CasePair,
    CaseSide,
    RunComparison,
    SuiteComparison,
    sign_test,
)


class SkillRemark(NamedTuple):
    """Advice on a skill's files, which is never part of a score. `line`: of SKILL.md, from 1."""

    rule: str
    line: int
    message: str
    suggestion: str


class SkillSide(Struct, frozen=True, kw_only=True):
    """The side of the skill that is tried. `pass_rate` is 0-1, None while a task is open; `flags`
    are those of the run.
    """

    pass_rate: float | None
    is_mock: bool
    structure: tuple[SkillRemark, ...] = ()
    flags: tuple[str, ...] = ()
    results: tuple[TaskResult, ...] = ()


class BaselineSide(Struct, frozen=True, kw_only=True):
    """What a run was compared with. `spend` is what that side cost this time, None where it was not
    run; `results` and `is_cached` are of a skill's baseline.
    """

    name: str
    run: str | None
    pass_rate: float | None
    spend: Spend | None = None
    is_cached: bool = False
    results: tuple[TaskResult, ...] = ()


class SidesComparison(Struct, frozen=True, kw_only=True):
    """Both sides of a run, and what they come to. Without a baseline there is only a `skill`.

    `verdict` is None without a baseline; of a skill it may also be `error`. `delta` and `interval`
    are differences of pass rates, 0-1. `spend` is that of both sides, where the baseline was run.
    `better` and `worse`: the probability that more cases truly pass than in the baseline, and that
    fewer do, where the answers of both sides are at hand.
    """

    skill: SkillSide | None = None
    baseline: BaselineSide | None = None
    verdict: str | None = None
    reasons: tuple[str, ...] = ()
    delta: float | None = None
    interval: tuple[float, float] | None = None
    comparison: RunComparison | None = None
    spend: Spend | None = None
    better: float | None = None
    worse: float | None = None


# ------------------------------------------------------------------------------------------------
# verdicts


class Decided(NamedTuple):
    """A verdict on a skill, with its reasons."""

    verdict: SkillVerdict
    reasons: tuple[str, ...] = ()


def decide_skill(
    judged: SkillResult, comparison: RunComparison, *, is_gated: bool, own: Verdict | None
) -> Decided:
    """The verdict on a skill. A pass of the rates holds only as long as nothing else speaks against
    it: no task in common, a gate that was asked for, the skill's `own` bar (None: it has none).
    """
    if judged.verdict is not SkillVerdict.PASS:
        return Decided(judged.verdict, (judged.reason,) if judged.reason else ())
    if not comparison.found.pairs:
        return Decided(SkillVerdict.ERROR, comparison.verdict.reasons)
    if is_gated and comparison.verdict.outcome is Outcome.FAIL:
        return Decided(SkillVerdict.FAIL, comparison.verdict.reasons)
    if own is not None and own.outcome is not Outcome.PASS:
        is_failure = own.outcome is Outcome.FAIL
        return Decided(SkillVerdict.FAIL if is_failure else SkillVerdict.ERROR, own.reasons)
    return Decided(SkillVerdict.PASS, (judged.reason,) if judged.reason else ())


def joint_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """A failure decides, then what is open; with the reasons of those that say so."""
    for outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE):
        same = [one for one in verdicts if one.outcome is outcome]
        if same:
            return Verdict(outcome, tuple(reason for one in same for reason in one.reasons))
    return Verdict(
        Outcome.PASS, tuple(reason for one in verdicts if one.passed for reason in one.reasons)
    )


# ------------------------------------------------------------------------------------------------
# What is stored. A record may be damaged, so that any field may be absent or hold anything.


class _PlainSpend(TypedDict, total=False):
    """A `Spend`. Tokens of a cache were never a part of this record."""

    judge_calls: Json
    cached_calls: Json
    worker_calls: Json
    input_tokens: Json
    output_tokens: Json
    target_calls: Json
    cached_outputs: Json
    usd: Json


class _PlainRemark(TypedDict, total=False):
    """A `SkillRemark`."""

    rule: Json
    line: Json
    message: Json
    suggestion: Json


class _PlainBaseline(TypedDict, total=False):
    """What names a `BaselineSide`; a skill's with what it cost."""

    name: Json
    run: Json
    usage: object


class _PlainSides(TypedDict, total=False):
    """A `SidesComparison`: fields of both sides are at the top."""

    verdict: Json
    reasons: Json
    execution_pass_rate: Json
    baseline_pass_rate: Json
    delta: Json
    interval: Json
    baseline: object
    regressions: Json
    comparison: object
    usage: object
    better: Json
    worse: Json
    mock: Json
    structure: object
    flags: Json
    candidate_results: object
    baseline_cached: Json
    baseline_results: object


class PlainComparison(TypedDict, total=False):
    """A `RunComparison`, without the texts that the run's own cases hold."""

    schema: Json
    baseline: Json
    candidate: Json
    verdict: Json
    reasons: Json
    delta: Json
    interval: Json
    score_delta: Json
    score_interval: Json
    p: Json
    wins: Json
    losses: Json
    ties: Json
    regressions: Json
    improvements: Json
    missing: Json
    new: Json
    undecided: Json
    unstable: Json
    low_confidence_cases: Json
    notes: Json
    cases: object


class _PlainPair(TypedDict, total=False):
    """A `CasePair`. `unstable` is of both sides together; `fixed` and `broken` are left out where
    they are empty.
    """

    id: Json
    input: Json
    baseline: object
    candidate: object
    delta: Json
    unstable: Json
    fixed: Json
    broken: Json


class _PlainSide(TypedDict, total=False):
    """A `CaseSide`."""

    status: Json
    verdict: Json
    score: Json
    output: Json


# ------------------------------------------------------------------------------------------------
# written


def sides_to_plain(sides: SidesComparison) -> _PlainSides:
    """What a run stores."""
    skill, baseline, comparison = sides.skill, sides.baseline, sides.comparison
    plain: _PlainSides = {}
    if sides.verdict is not None:
        plain["verdict"] = sides.verdict
        plain["reasons"] = list(sides.reasons)
    if skill is not None:
        plain["execution_pass_rate"] = skill.pass_rate
    if baseline is not None:
        plain["baseline_pass_rate"] = baseline.pass_rate
        plain["delta"] = sides.delta
        plain["interval"] = None if sides.interval is None else list(sides.interval)
        plain["baseline"] = _baseline_to_plain(baseline, is_of_skill=skill is not None)
    if comparison is not None:
        plain["regressions"] = list(comparison.found.regressions)
        plain["comparison"] = comparison_to_plain(comparison)
    if sides.spend is not None:
        plain["usage"] = _spend_to_plain(sides.spend)
    if sides.better is not None:
        plain["better"] = sides.better
        plain["worse"] = sides.worse
    if skill is not None:
        plain["mock"] = skill.is_mock
        plain["structure"] = [one._asdict() for one in skill.structure]
        plain["flags"] = list(skill.flags)
        plain["candidate_results"] = [one.to_plain() for one in skill.results]
    if skill is not None and baseline is not None:
        plain["baseline_cached"] = baseline.is_cached
        plain["baseline_results"] = [one.to_plain() for one in baseline.results]
    return plain


def _baseline_to_plain(baseline: BaselineSide, *, is_of_skill: bool) -> _PlainBaseline:
    plain: _PlainBaseline = {"name": baseline.name, "run": baseline.run}
    if is_of_skill:
        plain["usage"] = {} if baseline.spend is None else _spend_to_plain(baseline.spend)
    return plain


def _spend_to_plain(spend: Spend) -> _PlainSpend:
    return {
        "judge_calls": spend.judge_calls,
        "cached_calls": spend.cached_calls,
        "worker_calls": spend.worker_calls,
        "input_tokens": spend.input_tokens,
        "output_tokens": spend.output_tokens,
        "target_calls": spend.target_calls,
        "cached_outputs": spend.cached_outputs,
        "usd": spend.usd or None,
    }


def comparison_to_plain(comparison: RunComparison) -> PlainComparison:
    """A comparison as a run stores it."""
    compared = comparison.found
    return {
        "schema": COMPARISON,
        "baseline": comparison.baseline,
        "candidate": comparison.candidate,
        "verdict": str(comparison.verdict.outcome),
        "reasons": list(comparison.verdict.reasons),
        "delta": None if compared.delta is None else float(compared.delta),
        "interval": None
        if compared.interval is None
        else [float(end) for end in compared.interval],
        "score_delta": None if compared.score_delta is None else to_points(compared.score_delta),
        "score_interval": None
        if compared.score_interval is None
        else [to_points(end) for end in compared.score_interval],
        "p": compared.p,
        "wins": compared.wins,
        "losses": compared.losses,
        "ties": compared.ties,
        "regressions": list(compared.regressions),
        "improvements": list(compared.improvements),
        "missing": list(compared.missing),
        "new": list(compared.new),
        "undecided": list(compared.undecided),
        "unstable": list(compared.unstable),
        "low_confidence_cases": compared.low_confidence,
        "notes": list(comparison.notes),
        "cases": [_pair_to_plain(pair) for pair in compared.pairs],
    }


def _pair_to_plain(pair: CasePair) -> _PlainPair:
    return {
        "id": pair.id,
        "input": None,
        "baseline": _side_to_plain(pair.baseline, pair.baseline.output),
        "candidate": _side_to_plain(pair.candidate, None),
        "delta": None if pair.delta is None else to_points(pair.delta),
        "unstable": pair.is_unstable,
        **({"fixed": list(pair.fixed)} if pair.fixed else {}),
        **({"broken": list(pair.broken)} if pair.broken else {}),
    }


def _side_to_plain(side: CaseSide, output: str | None) -> _PlainSide:
    return {
        "status": side.status.value,
        "verdict": str(OUTCOMES[side.status]),
        "score": None if side.score is None else to_points(side.score),
        "output": output,
    }


# ------------------------------------------------------------------------------------------------
# read back


def sides_from_plain(stored: Json) -> SidesComparison:
    """What a run stored. Raises TypeError, ValueError or KeyError where it is damaged."""
    plain = _object(stored, _PlainSides)
    comparison, spend = plain.get("comparison"), plain.get("usage")
    verdict = plain.get("verdict")
    better, worse = _as_float(plain.get("better")), _as_float(plain.get("worse"))
    return SidesComparison(
        skill=_skill_from_plain(plain) if "candidate_results" in plain else None,
        baseline=None if verdict is None else _baseline_from_plain(plain),
        verdict=None if verdict is None else str(verdict),
        reasons=_texts(plain.get("reasons")),
        delta=_as_float(plain.get("delta")),
        interval=_numbers(plain.get("interval")),
        comparison=None
        if comparison is None
        else replace(comparison_from_plain(comparison), better=better, worse=worse),
        spend=None if spend is None else _spend_from_plain(spend),
        better=better,
        worse=worse,
    )


def _skill_from_plain(plain: _PlainSides) -> SkillSide:
    return SkillSide(
        pass_rate=_as_float(plain.get("execution_pass_rate")),
        is_mock=plain.get("mock") is True,
        structure=tuple(map(_remark_from_plain, _list(plain.get("structure")))),
        flags=_texts(plain.get("flags")),
        results=_results(plain.get("candidate_results")),
    )


def _remark_from_plain(value: object) -> SkillRemark:
    plain = _object(value, _PlainRemark)
    return SkillRemark(
        rule=str(plain["rule"]),
        line=_count(plain.get("line")),
        message=str(plain["message"]),
        suggestion=str(plain["suggestion"]),
    )


def _baseline_from_plain(plain: _PlainSides) -> BaselineSide:
    named = _object(plain.get("baseline") or {}, _PlainBaseline)
    spend = named.get("usage")
    return BaselineSide(
        name=str(named.get("name") or ""),
        run=_text_or_none(named.get("run")),
        pass_rate=_as_float(plain.get("baseline_pass_rate")),
        spend=_spend_from_plain(spend) if spend else None,
        is_cached=plain.get("baseline_cached") is True,
        results=_results(plain.get("baseline_results")),
    )


def _spend_from_plain(value: object) -> Spend:
    plain = _object(value, _PlainSpend)
    return Spend(
        usd=_as_float(plain.get("usd")),
        judge_calls=_count(plain.get("judge_calls")),
        cached_calls=_count(plain.get("cached_calls")),
        worker_calls=_count(plain.get("worker_calls")),
        input_tokens=_count(plain.get("input_tokens")),
        output_tokens=_count(plain.get("output_tokens")),
        target_calls=_count(plain.get("target_calls")),
        cached_outputs=_count(plain.get("cached_outputs")),
    )


def comparison_from_plain(value: object) -> RunComparison:
    """A comparison that a run stored. Raises TypeError, ValueError or KeyError where it is
    damaged.
    """
    plain = _object(value, PlainComparison)
    wins, losses = _count(plain.get("wins")), _count(plain.get("losses"))
    p = _as_float(plain.get("p"))
    interval, score_interval = plain.get("interval"), plain.get("score_interval")
    found = SuiteComparison(
        pairs=tuple(map(_pair_from_plain, _list(plain.get("cases")))),
        delta=_fraction(plain.get("delta")),
        interval=None if interval is None else _span(interval),
        score_delta=_share(plain.get("score_delta")),
        score_interval=None if score_interval is None else _span(score_interval, points=100),
        wins=wins,
        losses=losses,
        ties=_count(plain.get("ties")),
        p=sign_test(wins, losses) if p is None else p,
        regressions=_texts(plain.get("regressions")),
        improvements=_texts(plain.get("improvements")),
        missing=_texts(plain.get("missing")),
        new=_texts(plain.get("new")),
        undecided=_texts(plain.get("undecided")),
        unstable=_texts(plain.get("unstable")),
        low_confidence=_count(plain.get("low_confidence_cases")),
    )
    return RunComparison(
        found=found,
        verdict=Verdict(Outcome(str(plain["verdict"])), _texts(plain.get("reasons"))),
        baseline=_text_or_none(plain.get("baseline")),
        candidate=_text_or_none(plain.get("candidate")),
        notes=_texts(plain.get("notes")),
    )


def _pair_from_plain(value: object) -> CasePair:
    plain = _object(value, _PlainPair)
    input = _text_or_none(plain.get("input"))
    is_unstable = plain.get("unstable") is True
    return CasePair(
        id=str(plain["id"]),
        baseline=_side_from_plain(plain["baseline"], input, is_unstable=is_unstable),
        candidate=_side_from_plain(plain["candidate"], input, is_unstable=is_unstable),
        fixed=_texts(plain.get("fixed")),
        broken=_texts(plain.get("broken")),
    )


def _side_from_plain(value: object, input: str | None, *, is_unstable: bool) -> CaseSide:
    """`is_unstable`: the record says it of both sides together."""
    plain = _object(value, _PlainSide)
    return CaseSide(
        status=Status(str(plain["status"])),
        score=_share(plain.get("score")),
        is_unstable=is_unstable,
        input=input,
        output=_text_or_none(plain.get("output")),
    )


def _results(value: object) -> tuple[TaskResult, ...]:
    return tuple(TaskResult.from_plain(_object(one, dict[str, Json])) for one in _list(value))


_S = TypeVar("_S")


def _object(value: object, of: Callable[[], _S]) -> _S:
    """An object on record, of which any field may be absent or hold anything."""
    if not isinstance(value, Mapping):
        raise ValueError("an object was expected in what is on record of two sides")
    return cast(_S, value)


def _list(value: object) -> Sequence[Json]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise ValueError("a list was expected in what is on record of two sides")
    return value


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(map(str, _list(value)))


def _text_or_none(value: Json) -> str | None:
    return None if value is None else str(value)


def _fraction(value: Json) -> Fraction | None:
    """The decimal that was written."""
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise ValueError("a number was expected in what is on record of two sides")
    return exact(value)


def _share(value: Json) -> Fraction | None:
    """A score 0-1 from points."""
    points = _fraction(value)
    return None if points is None else points / 100


def _as_float(value: Json) -> float | None:
    number = _fraction(value)
    return None if number is None else float(number)


def _numbers(value: Json) -> tuple[float, float] | None:
    if value is None:
        return None
    low, high = _span(value)
    return float(low), float(high)


def _span(value: Json, *, points: int = 1) -> tuple[Fraction, Fraction]:
    ends = [end / points for one in _list(value) if (end := _fraction(one)) is not None]
    if len(ends) != 2:
        raise ValueError("an interval on record has two ends")
    return ends[0], ends[1]


def _count(value: Json) -> int:
    number = _fraction(value)
    return 0 if number is None else int(number)
