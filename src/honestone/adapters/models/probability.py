"""How sure a model was of each true and false that it wrote, from the log probabilities of its
tokens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypedDict

from msgspec import Struct

from honestone.system.loose_json import number, string, table, tables

_TRUE = frozenset({"true", "yes"})
_FALSE = frozenset({"false", "no"})
# What a token may hold around its word.
_AROUND = ' \t\r\n:,"[]{}.'


class Token(Struct, frozen=True):
    """One token of a reply and the alternatives that the model weighed, itself among them, each
    with its logarithm.
    """

    text: str
    alternatives: tuple[tuple[str, float], ...]


class SureAnswer(TypedDict):
    """How sure a model was of one answer: where its word begins in the reply, P(true), P(false)."""

    at: int
    true: float
    false: float


class ReplyDetail(TypedDict, total=False):
    """What is kept of a reply besides its text: why it ended, where that is not as usual, and how
    sure the model was of its answers.
    """

    stop: str
    probability: list[SureAnswer]


def answers(tokens: Sequence[Token]) -> list[SureAnswer]:
    """For each answer in order: where its word begins in the reply, P(true) and P(false). The rest
    of 1 was neither.

    Only a bare word where JSON has a value counts, or the reply's first word; a true inside a quote
    does not count.
    """
    found: list[SureAnswer] = []
    place = _Place()
    at = 0
    for token in tokens:
        word_at = len(token.text) - len(token.text.lstrip(_AROUND))
        place.pass_over(token.text[:word_at])
        if _word(token.text) in _TRUE | _FALSE and place.takes_a_value:
            found.append(
                {"at": at + word_at, "true": _mass(token, _TRUE), "false": _mass(token, _FALSE)}
            )
        place.pass_over(token.text[word_at:])
        at += len(token.text)
    return found


class _Place:
    """Where in a JSON text we are: inside a string or not, and after which character."""

    __slots__ = ("before", "escaped", "in_string")

    def __init__(self) -> None:
        self.in_string = self.escaped = False
        self.before = ""

    @property
    def takes_a_value(self) -> bool:
        return not self.in_string and self.before in ("", ":", ",", "[")

    def pass_over(self, part: str) -> None:
        for char in part:
            if self.in_string:
                self.in_string = self.escaped or char != '"'
                self.escaped = char == "\\" and not self.escaped
            elif char == '"':
                self.in_string = True
            if not char.isspace():
                self.before = char


def openai_tokens(listed: Any) -> list[Token]:
    """The probabilities of tokens from the list that both OpenAI APIs send."""
    return [
        Token(
            string(entry.get("token")),
            _alternatives(tables(entry.get("top_logprobs")), "logprob") or _own(entry),
        )
        for entry in tables(listed)
    ]


def google_tokens(result: Any) -> list[Token]:
    chosen = tables(table(result).get("chosenCandidates"))
    tops = tables(table(result).get("topCandidates"))
    return [
        Token(
            string(one.get("token")),
            _alternatives(
                tables(tops[i].get("candidates")) if i < len(tops) else [one], "logProbability"
            ),
        )
        for i, one in enumerate(chosen)
    ]


def _own(entry: Any) -> tuple[tuple[str, float], ...]:
    return _alternatives([entry], "logprob")


def _alternatives(entries: Any, name: str) -> tuple[tuple[str, float], ...]:
    weighed = ((string(e.get("token")), number(e.get(name))) for e in entries)
    return tuple((token, log) for token, log in weighed if log is not None and log <= 1e-6)


def _word(token: str) -> str:
    return token.strip(_AROUND).casefold()


def _mass(token: Token, words: frozenset[str]) -> float:
    """The probability of any spelling of these words, each spelling counted once."""
    spellings = {
        spelling: logarithm
        for spelling, logarithm in token.alternatives
        if _word(spelling) in words
    }
    return min(1.0, math.fsum(math.exp(logarithm) for logarithm in spellings.values()))
