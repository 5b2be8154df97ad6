"""How far judges can be trusted (`honestone.audit/1`), for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from honestone.core.audit.verdict import Tier
from honestone.core.numbers import percent
from honestone.report.documents.trust.audit import AuditDoc, AuditedJudgeDoc, FlipDoc, ProbeDoc
from honestone.report.trust.figures import FigureReport, FigureRow, FigureTable
from honestone.system.drawing import count

_EXAMPLES: Final = 3
_NO_TIER: Final = "no tier"


def audit_figures(doc: AuditDoc) -> FigureReport:
    """What the report on audited judges says: a table of probes for each judge."""
    return FigureReport(
        title="Audit",
        subject=doc.artifact.path,
        headline=_headline(doc),
        facts=[("", _cost(doc))],
        tables=[_table(judge) for judge in doc.judges],
        run=doc.run,
    )


def _table(judge: AuditedJudgeDoc) -> FigureTable:
    title, remarks = f"{judge.id}: {_tier(judge)}", list(_remarks(judge))
    if not any(probe.trials for probe in judge.probes):
        return FigureTable(title=title, remarks=remarks)
    return FigureTable(
        title=title,
        remarks=remarks,
        named_by="probe",
        heads=("trials", "flips", "rate"),
        has_intervals=True,
        rows=[_row(probe) for probe in judge.probes],
        figure_width=8,
        name_width=16,
    )


def _row(probe: ProbeDoc) -> FigureRow:
    if probe.rate is None or probe.interval is None:
        return FigureRow(probe.id, ("0", "", "n/a"), remark=probe.reason or "")
    low, high = probe.interval
    interval = f"{100 * low:.1f} to {100 * high:.1f}%"
    trouble = ""
    if not probe.ok:
        trouble = "NOISE" if probe.noise else "FLIPS"
    figures = (str(probe.trials), str(probe.flips), percent(probe.rate))
    return FigureRow(probe.id, figures, interval, trouble, _examples(probe))


def _headline(doc: AuditDoc) -> str:
    tiers = [judge.tier for judge in doc.judges]
    counts = [f"{tiers.count(tier)} {tier}" for tier in reversed(Tier) if tier in tiers]
    counts += [f"{tiers.count(None)} could not be audited"] if None in tiers else []
    return f"{count(len(tiers), 'judge')}: {', '.join(counts)}"


def _cost(doc: AuditDoc) -> str:
    again = doc.usage.cached_calls
    return count(doc.usage.judge_calls, "judge call") + (f", {again} on record" if again else "")


def _tier(judge: AuditedJudgeDoc) -> str:
    return f"{f'tier {judge.tier}' if judge.tier else _NO_TIER}, {judge.reason}"


def _remarks(judge: AuditedJudgeDoc) -> Iterator[str]:
    if judge.noisy:
        yield "noisy: its answers move although nothing was changed; flips marked as noise do not say that it was talked round"


def _examples(probe: ProbeDoc) -> list[str]:
    """The first flips of a probe that is not ok."""
    flipped: Sequence[FlipDoc] = [] if probe.ok else probe.flipped
    lines = [
        f"{_place(one)}: {_moved(probe, one)} ({one.variant or 'untouched'})"
        for one in flipped[:_EXAMPLES]
    ]
    more = len(flipped) - len(lines)
    return [*lines, *([f"and {more} more"] if more else [])]


def _place(one: FlipDoc) -> str:
    return one.criterion if one.item == one.criterion else f"{one.criterion} / {one.item}"


def _moved(probe: ProbeDoc, one: FlipDoc) -> str:
    if one.after is None:
        return "void, the control item was answered with yes"
    if probe.id == "swapped-quotes":
        return f"{_word(one.after)}, with a quote that is not in the text"
    return (
        _word(one.after) if one.before is None else f"{_word(one.before)}, then {_word(one.after)}"
    )


def _word(answer: bool | float | str) -> str:
    return {True: "yes", False: "no"}[answer] if isinstance(answer, bool) else f"{answer}"
