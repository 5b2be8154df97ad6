"""`{{name}}` in the texts of other tools: plain names are filled in, whatever else a template says is reported as lost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from honestone.interop.criteria import as_text

MAX_FILLED: Final = 2_000_000
"""Characters one text may grow to."""

_HOLE: Final = re.compile(r"\{\{([^{}]{0,300})\}\}")
_NAME: Final = re.compile(r"[A-Za-z_$][\w$-]*(?:\.[\w$]+|\[\d+\])*")
_STEP: Final = re.compile(r"[\w$-]+")
_MORE: Final = re.compile(r"\{%[^{}]{0,60}|\{#[^{}]{0,60}|\{\{[^{}]{0,60}")


@dataclass(frozen=True, slots=True)
class Filled:
    """A text with its names filled in, and what could not be, each in words."""

    text: str
    lost: tuple[str, ...] = ()


def fill(text: str, variables: Mapping[str, object]) -> Filled:
    """The text with every `{{name}}`, `{{name.part}}` and `{{name[0]}}` replaced, in one pass: what is put in is not
    looked at again. Filters, loops and conditions stay as they are."""
    if "{" not in text:
        return Filled(text)
    parts: list[str] = []
    lost: list[str] = []
    at = size = 0
    for hole in _HOLE.finditer(text):
        parts.append(text[at : hole.start()])
        lost += _untouched(parts[-1])
        at = hole.end()
        put = _value(hole, variables, lost)
        parts.append(put)
        size += len(put)
        if size > MAX_FILLED:
            return Filled(text, (f"filled in, this text has more than {MAX_FILLED} characters",))
    rest = text[at:]
    return Filled("".join(parts) + rest, tuple(dict.fromkeys([*lost, *_untouched(rest)])))


def _untouched(text: str) -> list[str]:
    return [f"`{found[0].strip()}` is more than a name to fill in" for found in _MORE.finditer(text)][:3]


def _value(hole: re.Match[str], variables: Mapping[str, object], lost: list[str]) -> str:
    name = hole[1].strip()
    if not _NAME.fullmatch(name):
        lost.append(f"`{hole[0]}` is more than a name to fill in")
        return hole[0]
    value: Any = variables
    for step in _STEP.findall(name):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            what = "an environment variable" if name.startswith("env.") else "no variable of this test"
            lost.append(f"`{hole[0]}` names {what}")
            return ""
    return as_text(value)


__all__ = ["MAX_FILLED", "Filled", "fill"]
