"""What the formats for other programs leave out of a run, in words: whoever exports has to hear what is not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

_QUOTES: Final = "quotes and suggestions"
_COSTS: Final = "calls, tokens and cost of judges"
_COMPARISON: Final = "the comparison with a baseline"
_OF_A_SUITE: Final[Mapping[str, Sequence[str]]] = {
    "csv": (
        "criteria, items and votes",
        _QUOTES,
        "references, tags and splits",
        "attempts that do not count",
        "tokens, tool calls and changes of the target",
        _COSTS,
        _COMPARISON,
        "the verdict of the run",
    ),
    "jsonl": (
        "votes and suggestions of each judge",
        "intervals",
        "references, tags and splits",
        "tool calls and changes of the target",
        _COSTS,
        _COMPARISON,
        "the verdict of the run",
    ),
    "sarif": (
        "cases that passed and items that are met",
        "scores, weights and the verdict",
        "inputs, outputs and references",
        "quotes",
        "attempts that do not count",
        "tokens, tool calls and changes of the target",
        _COSTS,
        _COMPARISON,
    ),
}
_OF_ARTIFACTS: Final[Mapping[str, Sequence[str]]] = {
    "sarif": ("items that are met", "scores, weights and the verdict", "quotes that are not in the text", _COSTS)
}


def no_place_in(form: str, *, is_suite: bool, is_compared: bool = False) -> Sequence[str]:
    """What `form` has no place for; empty where it holds all of a run or is a report for people."""
    words = (_OF_A_SUITE if is_suite else _OF_ARTIFACTS).get(form, ())
    return [one for one in words if is_compared or one != _COMPARISON]
