"""The gate: six layers that a candidate passes one after another, and the decision they come to.

    schema         the artifacts speak of the same candidate, run and bytes        blocks
    compile        code compiles, data parses, front matter parses                 blocks
    lint           long lines, tabs mixed with spaces                              advises
    regression     something was applied, and it did no worse on real tasks        blocks
    review         no reviewer rejects it                                         blocks
    human_review   what a person has to decide                                     advises

The first layer that blocks is the last one looked at: `revert`, or `reject` where nothing had been
applied. Evidence that is missing is neither a pass nor a failure (`passed` is None): then, and
where the edit is risky, a person decides (`pending_promote`). Else `keep`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NotRequired, TypeAlias, TypedDict

from msgspec import Struct

from honestone.core.artifact import Version
from honestone.core.editing.proposal import touched
from honestone.core.json_value import is_number
from honestone.core.skill import risk as risks
from honestone.core.skill.risk import Recommendation, Risk

# An artifact, or a part of one, as its file has it: other programs write them too.
Fields: TypeAlias = Mapping[str, object]

MAX_LINE: Final = 120
_SHOWN: Final = 5


class Decision(StrEnum):
    KEEP = "keep"
    PENDING = "pending_promote"
    REVERT = "revert"
    REJECT = "reject"


EXIT_OF: Final = {Decision.KEEP: 0, Decision.PENDING: 3, Decision.REVERT: 1, Decision.REJECT: 1}


class Evidence(Struct, frozen=True, kw_only=True):
    """All that the gate knows of one candidate. `before` and `after` are the skill without and with
    it.

    `ranked` and `executed` are what ranking and execution say of the candidate, `result` what was
    applied, `evaluation` the evaluation's artifact or None. `troubles` are files that do not
    compile or parse; `is_vetoed`: a person has turned these very bytes down before.
    """

    candidate_id: str
    ranking: Fields
    execution: Fields
    evaluation: Fields | None
    ranked: Fields
    before: Version
    after: Version
    troubles: tuple[str, ...] = ()
    is_vetoed: bool = False

    @property
    def result(self) -> Fields:
        return _mapping(self.execution.get("result"))

    @property
    def is_applied(self) -> bool:
        return self.result.get("modified") is True


class PlainLayer(TypedDict):
    """A layer as the receipt has it; only the last one says whether a person has to decide."""

    passed: bool | None
    details: str
    layer: str
    needs_human: NotRequired[bool]


class PlainLayers(TypedDict):
    """The layers as the receipt has them."""

    all_passed: bool
    failed_at: str | None
    layer_results: list[PlainLayer]
    layers_run: int
    layers_total: int


class LayerResult(Struct, frozen=True, kw_only=True):
    """`passed` None: there is nothing that shows it either way. `needs_human` has a reason for
    every doubt.
    """

    layer: str
    passed: bool | None
    details: str
    blocks: bool = False
    needs_human: tuple[str, ...] = ()

    def to_plain(self) -> PlainLayer:
        plain: PlainLayer = {"passed": self.passed, "details": self.details, "layer": self.layer}
        if self.layer == "human_review":
            plain["needs_human"] = bool(self.needs_human)
        return plain


class GateResult(Struct, frozen=True, kw_only=True):
    decision: Decision
    reason: str
    layers: tuple[LayerResult, ...]
    # Why a person has to decide; empty where none has to.
    human: tuple[str, ...]

    @property
    def failed_at(self) -> str | None:
        return next((layer.layer for layer in self.layers if layer.blocks), None)

    def layers_to_plain(self) -> PlainLayers:
        blocking = [layer for layer in self.layers if layer.layer not in ADVISORY]
        return {
            "all_passed": all(layer.passed is True for layer in blocking),
            "failed_at": self.failed_at,
            "layer_results": [layer.to_plain() for layer in self.layers],
            "layers_run": len(self.layers),
            "layers_total": len(LAYERS),
        }

    @property
    def blockers(self) -> list[LayerResult]:
        """The layers that did not pass, advisory ones too."""
        return [layer for layer in self.layers if layer.passed is not True]


def pass_gate(evidence: Evidence) -> GateResult:
    """Every layer in order, up to the first that blocks; and what that comes to."""
    results: list[LayerResult] = []
    for layer in LAYERS.values():
        results.append(layer(evidence))
        if results[-1].blocks:
            decision = Decision.REVERT if evidence.is_applied else Decision.REJECT
            reason = f"{results[-1].layer}: {results[-1].details}"
            return GateResult(decision=decision, reason=reason, layers=tuple(results), human=())
    human = results[-1].needs_human
    if human:
        why = f"a person decides: {'; '.join(human)}"
        return GateResult(decision=Decision.PENDING, reason=why, layers=tuple(results), human=human)
    reason = "low risk, and at least as good as before on real tasks"
    return GateResult(decision=Decision.KEEP, reason=reason, layers=tuple(results), human=())


# --------------------------------------------------------------------------------------------------------------
# layers


def _schema(evidence: Evidence) -> LayerResult:
    return _blocking(
        "schema", list(_contradictions(evidence)), "the artifacts speak of the same candidate"
    )


def _contradictions(evidence: Evidence) -> Iterator[str]:
    name, run = evidence.candidate_id, evidence.ranking.get("run_id")
    if evidence.execution.get("run_id") != run:
        yield f"the execution is of run {_word(evidence.execution.get('run_id'))}, the ranking of {_word(run)}"
    if evidence.execution.get("candidate_id") != name:
        yield f"the execution is of candidate {_word(evidence.execution.get('candidate_id'))}, not `{name}`"
    executed = evidence.execution.get("candidate")
    if (
        isinstance(executed, Mapping)
        and evidence.is_applied
        and executed.get("execution_plan") != evidence.ranked.get("execution_plan")
    ):
        yield "the ranking's plan is not the one that was applied"
    evaluation = evidence.evaluation
    if evaluation is None:
        return
    if evaluation.get("candidate_id") != name:
        yield f"the evaluation is of candidate {_word(evaluation.get('candidate_id'))}, not `{name}`"
    if evaluation.get("run_id") != run:
        yield f"the evaluation is of run {_word(evaluation.get('run_id'))}, not {_word(run)}"
    digest = _figure(evaluation, "candidate_digest")
    if digest is not None and evidence.is_applied and digest != evidence.after.digest:
        yield "the evaluation ran other bytes than those that were applied"
    yield from _own_contradictions(evaluation)


def _own_contradictions(evaluation: Fields) -> Iterator[str]:
    """An evaluation says the same twice, and its verdict follows from its figures."""
    inside = _mapping(evaluation.get("evaluation"))
    for key in ("verdict", "execution_pass_rate", "baseline_pass_rate", "candidate_digest", "mock"):
        if key in inside and key in evaluation and inside[key] != evaluation[key]:
            yield f"the evaluation says two things of `{key}`"
    now, then = (
        _figure(evaluation, "execution_pass_rate"),
        _figure(evaluation, "baseline_pass_rate"),
    )
    if (
        _figure(evaluation, "verdict") == "pass"
        and is_number(now)
        and is_number(then)
        and now < then
    ):
        yield f"the evaluation's verdict is pass, but its pass rate fell from {then:g} to {now:g}"


def _compile(evidence: Evidence) -> LayerResult:
    return _blocking("compile", list(evidence.troubles), "what changed compiles and parses")


def _lint(evidence: Evidence) -> LayerResult:
    remarks = list(_style(evidence.before, evidence.after))
    return LayerResult(layer="lint", passed=not remarks, details=_first_of(remarks) or "OK")


def _style(before: Version, after: Version) -> Iterator[str]:
    """New lines only: what was there before is not the candidate's."""
    for path in touched(before, after):
        known = set(before.texts.get(path, "").split("\n"))
        for number, line in enumerate(after.texts.get(path, "").split("\n"), start=1):
            if line in known:
                continue
            if len(line) > MAX_LINE:
                yield f"{path}:{number} line too long ({len(line)} characters)"
            indent = line[: len(line) - len(line.lstrip(" \t"))]
            if " " in indent and "\t" in indent:
                yield f"{path}:{number} tabs mixed with spaces"


def _regression(evidence: Evidence) -> LayerResult:
    if not evidence.is_applied:
        why = _mapping(evidence.result.get("diff_summary")).get("reason") or evidence.result.get(
            "status"
        )
        return _blocking(
            "regression", [f"nothing was applied: {_short_text(why) or 'no reason given'}"], ""
        )
    if evidence.evaluation is None:
        return _unknown("no evaluation was given, so nothing shows what it does to real tasks")
    verdict, reason = (
        _figure(evidence.evaluation, "verdict"),
        _short_text(_figure(evidence.evaluation, "reason")),
    )
    because = f" ({reason})" if reason else ""
    if verdict == "fail":
        return _blocking(
            "regression", [f"it fails on real tasks{because or _rates(evidence.evaluation)}"], ""
        )
    if verdict in ("error", "skipped"):
        return _unknown(f"the evaluation ended as `{verdict}`{because}: nothing was judged")
    if verdict != "pass":
        return _unknown(f"the evaluation's verdict {_word(verdict)} is not known")
    if _figure(evidence.evaluation, "mock"):
        return _unknown("the evaluation is a mock: no agent ran")
    return LayerResult(
        layer="regression",
        passed=True,
        details=f"no worse on real tasks{_rates(evidence.evaluation)}",
    )


def _unknown(doubt: str) -> LayerResult:
    return LayerResult(layer="regression", passed=None, details=doubt, needs_human=(doubt,))


def _rates(evaluation: Fields) -> str:
    now, then = (
        _figure(evaluation, "execution_pass_rate"),
        _figure(evaluation, "baseline_pass_rate"),
    )
    return f" (pass rate {now:g}, before {then:g})" if is_number(now) and is_number(then) else ""


def _review(evidence: Evidence) -> LayerResult:
    ranked = evidence.ranked
    problems = []
    if ranked.get("recommendation") == Recommendation.REJECT:
        blockers = ranked.get("blockers")
        named = [_short_text(one) for one in blockers] if isinstance(blockers, list) else []
        problems.append(f"the ranking rejects it{': ' + ', '.join(named) if named else ''}")
    if (
        _mapping(ranked.get("panel")).get("final_recommendation") == Recommendation.REJECT
        and not problems
    ):
        problems.append("the panel rejects it")
    if _mapping(ranked.get("llm_verdict")).get("decision") == "reject":
        problems.append("the model that judged it rejects it")
    if evidence.is_vetoed:
        problems.append("a person has turned down exactly these bytes before")
    recommendation = _word(ranked.get("recommendation"))
    return _blocking("review", problems, f"recommendation {recommendation}")


def _human_review(evidence: Evidence) -> LayerResult:
    doubts = (*_regression(evidence).needs_human, *_reasons_for_a_person(evidence))
    return LayerResult(
        layer="human_review",
        passed=not doubts,
        details="; ".join(doubts) or "nothing that a person has to decide",
        needs_human=doubts,
    )


def _reasons_for_a_person(evidence: Evidence) -> Iterator[str]:
    ranked = evidence.ranked
    risk = gate_risk(evidence)
    if risk is not Risk.LOW:
        yield f"{risk} risk"
    stated, shown = ranked.get("category"), risks.category_of(evidence.before, evidence.after)
    if not isinstance(stated, str) or stated not in [str(one) for one in risks.Category]:
        yield f"its category {_word(stated)} is not known"
    for category in dict.fromkeys((str(stated), str(shown))):
        if category in [str(one) for one in risks.NEEDS_A_PERSON]:
            yield f"it changes {category}"
    if ranked.get("recommendation") == Recommendation.HOLD:
        yield "the ranking holds it back"
    elif ranked.get("recommendation") != Recommendation.ACCEPT:
        yield f"its recommendation {_word(ranked.get('recommendation'))} is not known"


def gate_risk(evidence: Evidence) -> Risk:
    """The worse of what the ranking says and what the bytes show. Any other word counts as medium."""
    risk_level = evidence.ranked.get("risk_level")
    stated = Risk(risk_level) if risk_level in [str(one) for one in Risk] else Risk.MEDIUM
    return risks.worst((stated, risks.risk_of(evidence.before, evidence.after)))


LAYERS: Final = {
    "schema": _schema,
    "compile": _compile,
    "lint": _lint,
    "regression": _regression,
    "review": _review,
    "human_review": _human_review,
}
ADVISORY: Final = ("lint", "human_review")


# --------------------------------------------------------------------------------------------------------------
# pieces


def _blocking(layer: str, problems: list[str], fine: str) -> LayerResult:
    return LayerResult(
        layer=layer, passed=not problems, details=_first_of(problems) or fine, blocks=bool(problems)
    )


def _first_of(problems: list[str]) -> str:
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return "; ".join(problems[:_SHOWN]) + more


def evaluation_figure(evaluation: Fields, key: str) -> object:
    """A field of an evaluation, at the top level or, as other programs have it, inside
    `evaluation`.
    """
    inside = _mapping(evaluation.get("evaluation"))
    return inside.get(key) if inside.get(key) is not None else evaluation.get(key)


_figure = evaluation_figure


def _mapping(value: object) -> Fields:
    return value if isinstance(value, Mapping) else {}


def _short_text(value: object) -> str:
    return " ".join(value.split())[:300] if isinstance(value, str) else ""


def _word(value: object) -> str:
    return f"`{_short_text(value)}`" if isinstance(value, str) else "(none)"
