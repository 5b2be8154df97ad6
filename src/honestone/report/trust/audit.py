"""How far judges can be trusted (`honestone.audit/1`), for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from honestone.core.audit.verdict import Tier
from honestone.core.numbers import percent
from honestone.report.documents.trust.audit import AuditDoc, AuditedJudgeDoc, FlipDoc, ProbeDoc
from honestone.report.pages.markdown import measured_markdown
from honestone.system.drawing import Style, count, line, pad

PLAIN: Final = Style()
_EXAMPLES: Final = 3
_NO_TIER: Final = "no tier"


def audit_text(doc: AuditDoc, style: Style = PLAIN) -> str:
    lines = [style.paint(f"{line(doc.artifact.path)}: {_headline(doc)}", "bold"), f"  {_cost(doc)}"]
    for judge in doc.judges:
        lines += ["", style.paint(f"  {line(judge.id)}: {line(_tier(judge))}", "bold")]
        lines += [f"    {remark}" for remark in _remarks(judge)]
        if _was_tried(judge):
            lines.append(
                style.paint(
                    f"    {pad('', 16)}{'trials':>8}{'flips':>8}{'rate':>8}  95% interval", "dim"
                )
            )
        for probe in judge.probes if _was_tried(judge) else ():
            trials, flips, rate, interval, trouble = _cells(probe)
            row = f"    {pad(probe.id, 16)}{trials:>8}{flips:>8}{rate:>8}  {pad(interval, 17)}{line(trouble)}"
            lines += [row.rstrip(), *(f"      {line(remark)}" for remark in _examples(probe))]
    return style.finish(
        [*lines, *([f"  again   honestone show {line(doc.run)}"] if doc.run else [])]
    )


def audit_markdown(doc: AuditDoc) -> str:
    judges = []
    for judge in doc.judges:
        rows = [(probe.id, *_cells(probe)) for probe in judge.probes] if _was_tried(judge) else []
        examples = [example for probe in judge.probes for example in _examples(probe)]
        judges.append((judge, _tier(judge), _remarks(judge), rows, examples))
    return measured_markdown(
        "audit", doc=doc, headline=_headline(doc), cost=_cost(doc), judges=judges
    )


def _was_tried(judge: AuditedJudgeDoc) -> bool:
    return any(probe.trials for probe in judge.probes)


def _headline(doc: AuditDoc) -> str:
    tiers = [judge.tier for judge in doc.judges]
    found = [f"{tiers.count(tier)} {tier}" for tier in reversed(Tier) if tier in tiers]
    found += [f"{tiers.count(None)} could not be audited"] if None in tiers else []
    return f"{count(len(tiers), 'judge')}: {', '.join(found)}"


def _cost(doc: AuditDoc) -> str:
    again = doc.usage.cached_calls
    return count(doc.usage.judge_calls, "judge call") + (f", {again} on record" if again else "")


def _tier(judge: AuditedJudgeDoc) -> str:
    return f"{f'tier {judge.tier}' if judge.tier else _NO_TIER}, {judge.reason}"


def _remarks(judge: AuditedJudgeDoc) -> Iterator[str]:
    if judge.noisy:
        yield "noisy: its answers move although nothing was changed; flips marked as noise do not say that it was talked round"


def _cells(probe: ProbeDoc) -> tuple[str, str, str, str, str]:
    if probe.rate is None or probe.interval is None:
        return "0", "", "n/a", "", probe.reason or ""
    low, high = probe.interval
    interval = f"{100 * low:.1f} to {100 * high:.1f}%"
    trouble = ""
    if not probe.ok:
        trouble = "NOISE" if probe.noise else "FLIPS"
    return str(probe.trials), str(probe.flips), percent(probe.rate), interval, trouble


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
