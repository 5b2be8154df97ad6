"""Checks of a run: which tools were called and how, how long it took, what it cost, whether the
skill was read.

What the target does not report is unknown (None), never a no. A limit that what is known already
breaks is broken.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias, TypedDict

from msgspec import Struct, field

from honestone.core.checking.text_form import normal_value
from honestone.core.json_value import listed, quoted
from honestone.core.numbers import exact

if TYPE_CHECKING:
    from honestone.core.judging.rubric import Check
    from honestone.core.suite.trace import ToolCall, Trace

# Whether it is met (None: the target does not report it), and a note.
Answer: TypeAlias = tuple[bool | None, str | None]

NO_CALLS: Final = "the target does not report its tool calls"


def trace_answer(check: Check, trace: Trace) -> Answer:
    """What a run's trace says of a check, as it is written without `not-`."""
    return _ANSWERS[check.kind](trace, check.value, **check.options)


def count_problems(value: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, str | None]]:
    """(message, hint) of what the schema of `tool-count` cannot say."""
    for name, bounds in value.items():
        if bounds.get("min", 0) > bounds.get("max", bounds.get("min", 0)):
            yield (
                f"`min` of {quoted(name)} is {bounds['min']}, more than its `max`, {bounds['max']}",
                None,
            )


# -------------------------------------------------------------------------------------------------------
# tool calls


class _PlainCall(TypedDict, total=False):
    tool: str
    arguments: Mapping[str, object]
    count: int


class WantedCall(Struct, frozen=True, kw_only=True):
    """One call that a check speaks of. `arguments` None: any. `count` None: once, in `subset` any
    number of times.
    """

    tool: str
    arguments: Mapping[str, object] | None = None
    count: int | None = None
    args: str = "exact"

    @property
    def times(self) -> int:
        return 1 if self.count is None else self.count

    @property
    def words(self) -> str:
        return self.tool + (f" ({self.count} times)" if self.count is not None else "")

    def fits(self, call: ToolCall) -> bool:
        if not name_pattern(self.tool).fullmatch(call.name):
            return False
        if self.arguments is None or self.args == "ignore":
            return True
        compare = same if self.args == "exact" else within
        return compare(normal_value(dict(self.arguments)), normal_value(dict(call.arguments)))


@lru_cache(maxsize=256)
def name_pattern(name: str) -> re.Pattern[str]:
    """`*` matches any text."""
    return re.compile(".*".join(map(re.escape, re.split(r"\*+", name))), re.DOTALL)


def same(wanted: object, found: object) -> bool:
    """Equal as JSON values: 1 is 1.0, but neither is true."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        return wanted.keys() == found.keys() and all(
            same(value, found[key]) for key, value in wanted.items()
        )
    if isinstance(wanted, list | tuple) and isinstance(found, list | tuple):
        return len(wanted) == len(found) and all(map(same, wanted, found))
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    return bool(wanted == found)


def within(wanted: object, found: object) -> bool:
    """An object's entries are among the other's, at every depth; everything else is equal."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        return all(key in found and within(value, found[key]) for key, value in wanted.items())
    return same(wanted, found)


def _tool_calls(
    trace: Trace, value: Sequence[str | _PlainCall], args: str = "exact", mode: str = "any_order"
) -> Answer:
    if trace.tool_calls is None:
        return None, NO_CALLS
    problem = _MODES[mode]([_wanted(one, args) for one in value], trace.tool_calls)
    if problem is None:
        return True, None
    return False, f"{problem}; called: {_tool_names(trace.tool_calls)}"


def _wanted(written: str | _PlainCall, args: str) -> WantedCall:
    if isinstance(written, str):
        return WantedCall(tool=written)
    return WantedCall(
        tool=written["tool"],
        arguments=written.get("arguments"),
        count=written.get("count"),
        args=args,
    )


def _tool_names(calls: Sequence[ToolCall]) -> str:
    return listed([call.name for call in calls]) if calls else "no tool"


def _any_order(wanted: Sequence[WantedCall], calls: Sequence[ToolCall]) -> str | None:
    """Each wanted call is another of the calls made."""
    if sum(one.times for one in wanted) > len(calls):
        return _first_missing(wanted, calls)
    spread = [one for one in wanted for _ in range(one.times)]
    # Who has as many to choose from as there are wanted ones will always get one, so no more need
    # be looked at.
    options = [
        list(islice((at for at, call in enumerate(calls) if one.fits(call)), len(spread)))
        for one in spread
    ]
    unmatched = matched(options)
    return None if unmatched is None else f"not called: {spread[unmatched].words}"


def _first_missing(wanted: Sequence[WantedCall], calls: Sequence[ToolCall]) -> str:
    short = next((one for one in wanted if sum(map(one.fits, calls)) < one.times), None)
    if short is not None:
        return f"not called: {short.words}"
    return f"only {len(calls)} call{'' if len(calls) == 1 else 's'}"


def matched(options: Sequence[Sequence[int]]) -> int | None:
    """Give each a place of its own among those it could have; who gets none, or None when all have
    theirs.
    """
    owner: dict[int, int] = {}
    has: dict[int, int] = {}
    for start in range(len(options)):
        came_from: dict[int, int] = {}
        place = _free_place(start, options, owner, came_from)
        if place is None:
            return start
        while True:  # along the way that was found, everybody moves on by one
            one = came_from[place]
            before = has.get(one)
            owner[place], has[one] = one, place
            if before is None:
                break
            place = before
    return None


def _free_place(
    start: int,
    options: Sequence[Sequence[int]],
    owner: Mapping[int, int],
    came_from: dict[int, int],
) -> int | None:
    queue = deque([start])
    while queue:
        one = queue.popleft()
        for place in options[one]:
            if place in came_from:
                continue
            came_from[place] = one
            if place not in owner:
                return place
            queue.append(owner[place])
    return None


def _in_order(wanted: Sequence[WantedCall], calls: Sequence[ToolCall]) -> str | None:
    """The wanted calls one after another, with anything between. The first that fits is never the
    wrong one to take.
    """
    at = 0
    for one in wanted:
        for _ in range(min(one.times, len(calls) + 1)):
            while at < len(calls) and not one.fits(calls[at]):
                at += 1
            if at == len(calls):
                return f"not called in this order: {one.words}"
            at += 1
    return None


def _exactly(wanted: Sequence[WantedCall], calls: Sequence[ToolCall]) -> str | None:
    at = 0
    for one in wanted:
        for _ in range(min(one.times, len(calls) + 1)):
            if at == len(calls):
                return f"not called: {one.words}"
            if not one.fits(calls[at]):
                return f"call {at + 1} is {quoted(calls[at].name)}, not {one.words}"
            at += 1
    return None if at == len(calls) else f"call {at + 1} is one too many: {quoted(calls[at].name)}"


def _nothing_but(wanted: Sequence[WantedCall], calls: Sequence[ToolCall]) -> str | None:
    """Each call made is one of those; of one with a `count` at most so many."""
    options = []
    for call in calls:
        fitting = [at for at, one in enumerate(wanted) if one.fits(call)]
        if not fitting:
            return f"also called: {quoted(call.name)}"
        if all(wanted[at].count is not None for at in fitting):
            options.append((call, fitting))
    # Only calls that every fitting entry counts can be too many; each takes one of the places there
    # are.
    first, places = 0, {}
    for at, one in enumerate(wanted):
        places_of_entry = min(one.count or 0, len(options))
        places[at] = range(first, first + places_of_entry)
        first += places_of_entry
    if len(options) > first:
        return f"called too often: {quoted(options[first][0].name)}"
    unmatched = matched(
        [[place for at in fitting for place in places[at]] for _, fitting in options]
    )
    return None if unmatched is None else f"called too often: {quoted(options[unmatched][0].name)}"


_MODES: Final[Mapping[str, Callable[[Sequence[WantedCall], Sequence[ToolCall]], str | None]]] = {
    "any_order": _any_order,
    "in_order": _in_order,
    "exact": _exactly,
    "subset": _nothing_but,
}


def _tool_count(trace: Trace, value: Mapping[str, Mapping[str, int]]) -> Answer:
    if trace.tool_calls is None:
        return None, NO_CALLS
    for name, bounds in value.items():
        pattern = name_pattern(name)
        made = sum(1 for call in trace.tool_calls if pattern.fullmatch(call.name))
        if made < bounds.get("min", 0):
            return False, f"{quoted(name)} was called {made} times, fewer than {bounds['min']}"
        if made > bounds.get("max", made):
            return False, f"{quoted(name)} was called {made} times, more than {bounds['max']}"
    return True, None


# ------------------------------------------------------------------------------------------------------------
# limits


class _Amount(Struct, frozen=True):
    """A sum of what is known; `is_whole` says whether that is all."""

    parts: Sequence[int | float | None]
    unit: str = field(default="")

    @property
    def is_whole(self) -> bool:
        return None not in self.parts

    def under(self, most: int | float, what: str) -> Answer:
        known = sum(exact(part) for part in self.parts if part is not None)
        if known > exact(most):
            shown = float(known) if known.denominator > 1 else int(known)
            return False, f"{what}: {shown:,}{self.unit}, more than {most:,}{self.unit}"
        return (True, None) if self.is_whole else (None, f"the target does not report its {what}")


def _latency(trace: Trace, value: float) -> Answer:
    return _Amount([trace.duration_ms], " ms").under(value, "duration")


def _cost(trace: Trace, value: float) -> Answer:
    return _Amount([trace.usd], " USD").under(value, "cost")


def _tokens(trace: Trace, value: int | Mapping[str, int]) -> Answer:
    limits = value if isinstance(value, Mapping) else {"total": value}
    amounts = {
        "input": [trace.input_tokens],
        "output": [trace.output_tokens],
        "total": [trace.input_tokens, trace.output_tokens],
    }
    answers = [
        _Amount(amounts[name]).under(most, f"tokens ({name})") for name, most in limits.items()
    ]
    for wanted in (False, None):
        for met, note in answers:
            if met is wanted:
                return met, note
    return True, None


def _model_calls(trace: Trace, value: int) -> Answer:
    return _Amount([trace.model_calls]).under(value, "calls of its model")


def _skill_loaded(trace: Trace, value: object) -> Answer:
    if trace.skill_loaded is None:
        return None, "the target does not report whether the skill was read"
    return trace.skill_loaded, "the skill was " + ("read" if trace.skill_loaded else "not read")


_ANSWERS: Final[Mapping[str, Callable[..., Answer]]] = {
    "tool-calls": _tool_calls,
    "tool-count": _tool_count,
    "latency": _latency,
    "cost": _cost,
    "tokens": _tokens,
    "model-calls": _model_calls,
    "skill-loaded": _skill_loaded,
}
