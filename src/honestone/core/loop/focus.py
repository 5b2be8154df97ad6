"""What to improve next, and the brief that tells a worker so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from honestone.core.numbers import ONE, ZERO, show_bar, show_points
from honestone.core.rubric import Key, as_written
from honestone.core.scorecard import ItemLine, Line, Scorecard, is_na

REJECTIONS_BEFORE_YIELDING = 2


def choose_focus(
    card: Scorecard, rejections: Mapping[str, int], workable: Callable[[Line], bool] = lambda line: True
) -> Line | None:
    """Below-floor criteria first (lowest first), then the lowest score, ties to the higher weight.

    A focus that has been rejected twice since the last accepted change yields to the next; when all have, the first
    comes round again. None when nothing known can be improved.
    """
    open_lines = [line for line in improvable(card) if workable(line)]
    if not open_lines:
        return None
    weights, low_places = effective_weights(card), below_floor(card)

    def order(line: Line) -> tuple[int, bool, Fraction, Fraction]:
        name = line.criterion.id
        turns = rejections.get(name, 0) // REJECTIONS_BEFORE_YIELDING
        return turns, name not in low_places, goodness(line), -abs(weights[name])

    return min(open_lines, key=order)


def improvable(card: Scorecard) -> list[Line]:
    """Criteria that are marked themselves and have something known to be short of full marks."""
    return [line for line in card.lines if line.applies and any(True for _ in short_items(line))]


def short_items(line: Line) -> Iterator[ItemLine]:
    """The items that cost this criterion marks."""
    best = ZERO if line.criterion.is_penalty else ONE
    return (item for item in line.items if item.met is not None and item.met != best)


def goodness(line: Line) -> Fraction:
    """The lower end of a criterion, turned round for a penalty (0 is good there)."""
    return ONE - line.high if line.criterion.is_penalty else line.low


def below_floor(card: Scorecard) -> set[str]:
    """Criteria that may be below a floor, of their own or of a group above them."""
    low: set[str] = set()
    for line in card.lines:  # parents come before children
        if (line.applies and line.low < line.floor) or line.parent in low:
            low.add(line.criterion.id)
    return low


def effective_weights(card: Scorecard) -> dict[str, Fraction]:
    """Each criterion's share of the overall score: its share among its siblings times its parent's."""
    siblings: dict[str | None, Fraction] = {}
    for line in card.lines:
        siblings[line.parent] = siblings.get(line.parent, ZERO) + max(line.criterion.weight, ZERO)
    shares: dict[str | None, Fraction] = {None: ONE}
    for line in card.lines:
        shares[line.criterion.id] = shares[line.parent] * line.criterion.weight / (siblings[line.parent] or ONE)
    return {name: value for name, value in shares.items() if name is not None}


def unmet_keys(line: Line) -> tuple[Key, ...]:
    return tuple((line.criterion.id, item.item.id) for item in short_items(line))


def fixes_for(line: Line) -> tuple[str, ...]:
    """The rubric's own fix commands for the unmet items of a criterion, then the criterion's."""
    found = [item.item.fix for item in short_items(line) if item.item.fix]
    if line.criterion.fix and any(True for _ in short_items(line)):
        found.append(line.criterion.fix)
    return tuple(dict.fromkeys(found))


def write_brief(card: Scorecard, line: Line, *, location: str, title: str) -> str:
    """What a worker is asked to do: where the artifact is, one criterion, what is unmet and why, what judges suggest."""
    criterion = line.criterion
    share = effective_weights(card)[criterion.id]
    lines = [
        "You are improving one artifact against one criterion of its rubric.",
        "",
        f"Location: {location}",
        f"Rubric: {_one_line(title)}" if title else None,
        f"Criterion: {criterion.id}",
        f"Requirement: {_one_line(criterion.requirement)}",
        f"Score: {show_points(line.low if line.score is None else line.score)} of 100, weight {show_points(abs(share))}% of the whole"
        + (f", floor {show_bar(line.floor)}" if line.floor else ""),
        "",
        "This must not be so, but is:" if criterion.is_penalty else "Not met yet:",
    ]
    for item in short_items(line):
        lines += _item_brief(item)
    suggestions = [
        f"- {judge}: {_one_line(mark.suggestion)}"
        for item in short_items(line)
        for judge, mark in item.votes
        if mark.suggestion and mark.suggestion.strip()
    ]
    if suggestions:
        lines += ["", "Suggestions, each with its judge:", *dict.fromkeys(suggestions)]
    lines += [
        "",
        "Improve only this criterion. Change the artifact in place and keep everything else in it as it is, without",
        "placeholders such as 'rest unchanged'. Do not touch a rubric or any file outside the artifact. What counts is",
        "what is on disk when you are done.",
    ]
    return "\n".join(text for text in lines if text is not None) + "\n"


def _item_brief(line: ItemLine) -> list[str]:
    item = line.item
    out = [f"- {_one_line(item.requirement)}"]
    if item.anchors is not None and line.met is not None:
        span = item.anchors.highest - item.anchors.lowest
        now = item.anchors.lowest + line.met * span
        out[0] += f" (now {float(now):g} on {as_written(item.anchors.lowest)}-{as_written(item.anchors.highest)})"
        above = [(value, text) for value, text in item.anchors.levels if value > now]
        out += [f"  {as_written(value)}: {_one_line(text)}" for value, text in above]
    for judge, mark in line.votes:
        if not is_na(mark.answer):
            out += [f"  {judge} quotes: {_one_line(quote)}" for quote in mark.evidence if quote.strip()]
    return out


def _one_line(text: str) -> str:
    return " ".join(text.split())
