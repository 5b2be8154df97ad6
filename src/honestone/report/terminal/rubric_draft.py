"""A rubric in the making, for people: the table of criteria with weights and items, and the
evaluation contract.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from honestone.core.authoring.lint import flow
from honestone.core.authoring.rubric_drafting import RubricDraft, formula, method, pass_condition
from honestone.core.checking.checks import KINDS
from honestone.core.judging.rubric import Check, Criterion, as_written
from honestone.core.numbers import show_bar, to_points
from honestone.report.documents.drafts import DraftCriterionDoc, DraftItemDoc, RubricDraftDoc
from honestone.system.drawing import Style, cut, line, pad, width, wrap

_WIDEST_NAME: Final = 24
_STACKED_BELOW: Final = 64  # columns; on narrower pages the items are under the name


def draft_table(draft: RubricDraft, style: Style, columns: int) -> list[str]:
    """Each criterion with its weight, its items or levels, and how its score comes about."""
    names = [line(criterion.id) for criterion in draft.criteria]
    name_width = min(max((width(name) for name in [*names, "Criterion"]), default=4), _WIDEST_NAME)
    if columns < _STACKED_BELOW:
        return [
            row
            for entry in enumerate(draft.criteria, 1)
            for row in _stacked(*entry, style, columns)
        ]
    left = 3 + name_width + 2 + 6 + 2
    out = [
        style.paint(f"{'#':<3}{pad('Criterion', name_width)}  {'Weight':>6}  Items", "dim"),
        style.paint(style.glyph("rule") * columns, "dim"),
    ]
    for number, criterion in enumerate(draft.criteria, 1):
        rows = list(_cells(criterion, style, columns - left))
        name = list(wrap(names[number - 1], name_width))
        for index in range(max(len(rows), len(name))):
            first = f"{number:<3}" if index == 0 else "   "
            called = pad(name[index] if index < len(name) else "", name_width)
            share = f"{_percent(criterion):>6}" if index == 0 else " " * 6
            out.append(
                f"{first}{called}  {share}  {rows[index] if index < len(rows) else ''}".rstrip()
            )
        out.append("")
    return out


def _stacked(number: int, criterion: Criterion, style: Style, columns: int) -> Iterator[str]:
    share = f" ({_percent(criterion)})"
    yield (
        cut(f"{number}. {line(criterion.id)}", max(columns - len(share), 8), style.glyph("more"))
        + share
    )
    for row in _cells(criterion, style, columns - 2):
        yield f"  {row}"
    yield ""


def _percent(criterion: Criterion) -> str:
    return f"{as_written(criterion.weight):g}%"


def _cells(criterion: Criterion, style: Style, columns: int) -> Iterator[str]:
    if line(criterion.requirement) != line(criterion.id):
        yield from wrap(line(criterion.requirement), columns)
    box = "□ " if style.unicode else "[ ] "
    for item in criterion.items:
        if item.anchors is not None:
            for value, text in item.anchors.levels:
                yield from wrap(line(text), columns, first=f"{as_written(value):>4} = ")
        else:
            by_code = f" (code: {line(check_shown(item.check))})" if item.check is not None else ""
            yield from wrap(line(item.requirement) + by_code, columns, first=box)
    for child in criterion.children:
        yield from wrap(f"{line(child.id)}: {line(child.requirement)}", columns, first="- ")
    if criterion.items:
        yield style.paint(f"score = {formula(criterion)}", "dim")


def check_shown(check: Check) -> str:
    """A check in full, and what it looks at: `max-words 60, whole text`."""
    options = dict(check.options)
    place, path = str(options.pop("in", "output")), options.pop("path", None)
    if path is not None:
        where = f"files {flow(path)}"
    elif place != "output":
        where = f"the {place}"
    else:
        where = "whole text" if KINDS[check.kind].family in ("text", "data") else ""
    value = "" if check.value is True or check.value is None else f" {flow(check.value)}"
    others = [f"{key} {flow(option)}" for key, option in options.items()]
    return ", ".join(filter(None, [f"{check.name}{value}", *others, where]))


def contract_lines(draft: RubricDraft, rounds: int, style: Style, columns: int) -> list[str]:
    """What will be judged, by which rule and bar, and the most rounds of `improve`: the evaluation
    contract.
    """
    facts = [
        ("Judged", line(draft.about)),
        ("Threshold", f"{show_bar(draft.threshold)} of 100"),
        ("Floor", f"{show_bar(draft.floor)} for every criterion" if draft.floor else "off"),
        ("Max rounds", str(rounds)),
        ("Method", method(draft.criteria)),
    ]
    out = [style.paint("Evaluation contract", "bold"), ""]
    for name, text in facts:
        out += wrap(text, columns, first=f"{name:<12}")
    return [
        *out,
        "",
        *draft_table(draft, style, columns),
        *wrap(pass_condition(draft.threshold, draft.floor), columns, first="Passes when "),
    ]


def draft_document(draft: RubricDraft, rounds: int) -> RubricDraftDoc:
    """The same as a document."""
    return RubricDraftDoc(
        target=draft.about,
        threshold=to_points(draft.threshold),
        floor=to_points(draft.floor),
        max_rounds=rounds,
        method=method(draft.criteria),
        criteria=[_criterion_document(criterion, draft) for criterion in draft.criteria],
        pass_condition=pass_condition(draft.threshold, draft.floor),
    )


def _criterion_document(criterion: Criterion, draft: RubricDraft) -> DraftCriterionDoc:
    anchors = next((item.anchors for item in criterion.items if item.anchors is not None), None)
    return DraftCriterionDoc(
        id=criterion.id,
        requirement=criterion.requirement,
        weight=as_written(criterion.weight),
        items=[
            DraftItemDoc(
                id=item.id,
                requirement=item.requirement,
                check=item.check.name if item.check else None,
                code=check_shown(item.check) if item.check else None,
            )
            for item in criterion.items
            if item.anchors is None
        ],
        anchors={str(as_written(value)): text for value, text in anchors.levels}
        if anchors
        else None,
        formula=formula(criterion),
        origin=draft.origins.get(criterion.id),
    )
