"""Writing a rubric in the native format, for people to read and edit. `parse_rubric` reads back the
same rubric.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from honestone.core.checking.checks import own_bar
from honestone.core.errors import RubricError
from honestone.core.judging.rubric import Anchors, Check, Criterion, Item, Rubric, Rule, slug
from honestone.core.suite.case import Suite
from honestone.formats.fields import VERSION
from honestone.formats.syntax.yaml_lines import entry, flow, indent, number_text, scalar, text_lines

# Checks and anchors up to this long are written on one line.
INLINE = 90
_SURE_COMMENT = "# sure: 95   # ask judges on until the verdict is 95 % sure"


def dump_rubric(rubric: Rubric) -> str:
    """YAML text. Raises RubricError for what the format cannot say (items in an unusual order)."""
    lines = [f"rubric: {VERSION}"]
    if rubric.title:
        lines.append(f"title: {scalar(rubric.title)}")
    lines += [
        f"threshold: {number_text(rubric.threshold * 100)}",
        f"floor: {number_text(rubric.floor * 100)}",
    ]
    if rubric.quorum is not None:
        lines.append(f"quorum: {rubric.quorum}")
    if rubric.combine is not None:
        lines.append(f"combine: {rubric.combine}")
    lines += vouching_lines(rubric)
    if rubric.sure is not None:
        lines.append(f"sure: {number_text(rubric.sure * 100)}")
    if rubric.max_looks is not None:
        lines.append(f"max_looks: {rubric.max_looks}")
    lines.append("criteria:")
    for criterion in rubric.criteria:
        lines += indent(entry(list(criterion_lines(criterion))))
    return "\n".join(lines) + "\n"


def dump_draft(rubric: Rubric) -> str:
    """The text of a new rubric. Where judges answer with yes or no it shows how to ask them on."""
    text = dump_rubric(rubric)
    if rubric.combine is not Rule.MAJORITY or rubric.sure is not None:
        return text
    return text.replace("\ncriteria:\n", f"\n{_SURE_COMMENT}\ncriteria:\n", 1)


def vouching_lines(of: Rubric | Suite) -> list[str]:
    """Who may decide."""
    lines = ["require_calibration: true"] if of.require_calibration else []
    return lines if of.require_tier is None else [*lines, f"require_tier: {of.require_tier}"]


def criterion_lines(criterion: Criterion) -> Iterator[str]:
    """A criterion as a mapping, line by line."""
    own, listed = _own_and_listed(criterion)
    yield f"id: {scalar(criterion.id)}"
    if not criterion.children or criterion.requirement != criterion.id:
        yield from text_lines("requirement", criterion.requirement)
    if criterion.weight != 1:
        yield f"weight: {number_text(criterion.weight)}"
    implied = own_bar(criterion.items, criterion.weight)
    if implied and criterion.floor is None:
        raise RubricError(
            f"criterion `{criterion.id}` is measured by a check and has no floor: a rubric file means 0"
        )
    if criterion.floor is not None and criterion.floor != implied.get("floor"):
        yield f"floor: {number_text(criterion.floor * 100)}"
    if criterion.required != implied.get("required", False):
        yield f"required: {str(criterion.required).lower()}"
    if criterion.negate:
        yield "negate: true"
    applies_less = own is not None and own.may_not_apply
    if applies_less:
        yield "may_not_apply: true"
    if listed:
        yield "items:"
        texts = Counter(slug(item.requirement) for item in listed)
        for item in listed:
            yield from indent(_item(item, applies_less, texts))
    if own is not None:
        yield from _marking(own)
    if criterion.fix is not None:
        yield from text_lines("fix", criterion.fix)
    if criterion.children:
        yield "criteria:"
        for child in criterion.children:
            yield from indent(entry(list(criterion_lines(child))))


def _own_and_listed(criterion: Criterion) -> tuple[Item | None, tuple[Item, ...]]:
    """The item that is the criterion itself, and those of its checklist."""
    wholes = [item for item in criterion.items if item.whole]
    listed = tuple(item for item in criterion.items if not item.whole)
    if not wholes:
        return None, listed
    own = wholes[0]
    is_plain = own.anchors is None and own.check is None
    sound = (
        len(wholes) == 1
        and own is criterion.items[-1]
        and (own.id, own.requirement) == (criterion.id, criterion.requirement)
        and own.fix is None
        and not (is_plain and listed)
    )
    if not sound:
        raise RubricError(
            f"criterion `{criterion.id}` is marked in a way that a rubric file cannot say"
        )
    return own, listed


def _item(item: Item, criterion_may_not_apply: bool, texts: Counter[str]) -> list[str]:
    by_text = item.id == slug(item.requirement) and texts[item.id] == 1
    lines = [] if by_text else [f"id: {scalar(item.id)}"]
    lines += text_lines("requirement", item.requirement)
    lines += _marking(item)
    if item.fix is not None:
        lines += text_lines("fix", item.fix)
    if item.may_not_apply != criterion_may_not_apply:
        lines.append(f"may_not_apply: {str(item.may_not_apply).lower()}")
    if by_text and len(lines) == 1:
        return [f"- {scalar(item.requirement)}"]
    return entry(lines)


def _marking(item: Item) -> Iterator[str]:
    if item.anchors is not None:
        yield from _anchors(item.anchors)
    if item.check is not None:
        yield from _check(item.check)


def _anchors(anchors: Anchors) -> Iterator[str]:
    levels = [(number_text(value), text) for value, text in anchors.levels]
    inline = "anchors: {" + ", ".join(f"{value}: {flow(text)}" for value, text in levels) + "}"
    if len(inline) <= INLINE:
        yield inline
        return
    yield "anchors:"
    for value, text in levels:
        yield f"  {value}: {scalar(text)}"


def check_pairs(check: Check) -> list[tuple[str, Any]]:
    """The keys of a check as a mapping."""
    return [(check.name, check.value if check.value is not None else True), *check.options.items()]


def check_lines(check: Check) -> list[str]:
    """A check as a mapping, over several lines."""
    lines: list[str] = []
    for key, value in check_pairs(check):
        if isinstance(value, str):
            lines += text_lines(flow(key), value)
        else:
            lines.append(f"{flow(key)}: {flow(value)}")
    return lines


def _check(check: Check) -> Iterator[str]:
    if check.value is None and not check.options:
        yield f"check: {check.name}"
        return
    pairs = check_pairs(check)
    inline = f"check: {flow(dict(pairs))}"
    if len(inline) <= INLINE:
        yield inline
        return
    yield "check:"
    yield from indent(check_lines(check))
