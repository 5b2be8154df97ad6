"""Items that code could answer: for nothing, always alike. Each is shown with the check that does
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from honestone.core.authoring.lint.code_wordings import CODE_WORDINGS, CodeWording
from honestone.core.authoring.lint.remark import Remark, asked
from honestone.core.authoring.lint.words import compiled, has, needs
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Check, Rubric


def code_could_answer(rubric: Rubric) -> Iterator[Remark]:
    """Yes/no questions to judges that are about the letters of the text."""
    for question in asked(rubric):
        check = check_for(question.text) if question.is_yes_no else None
        if check is not None:
            yield question.remark("code-could-answer", check, written=written(check))


def check_for(text: str) -> Check | None:
    """The check that answers this wording, if it is one of those that code answers fully."""
    plain = _bare_wording(text)
    found_in = has(plain)
    wordings = ((pattern, rule) for pattern, needed, rule in _RULES if needed in found_in)
    found = (
        _check_of(rule, match)
        for pattern, rule in wordings
        if (match := compiled(pattern).fullmatch(plain))
    )
    return next((check for check in found if check is not None), None)


def written(check: Check) -> str:
    """A check as it is written in a rubric file, on one line."""
    return flow({check.name: check.value, **check.options})


# ----------------------------------------------------------------------------------------------------
# reading

_OPENING: Final = late_pattern(
    (
        r"^(?:(?:the|this|its|your) )?(?:it|text|response|answer|output|document|"
        r"summary|report|readme(?:\.md)?|file|artifact|post|essay|e-?mail|message|"
        r"article|letter|page|reply|code|skill(?:\.md)?|prompt|description|note|"
        r"content)\b\s*(?:(?:must|sh(?:ould|all)|may|can|does)\s+)?"
    ),
    re.IGNORECASE,
)
_QUESTION: Final = late_pattern(
    (
        r"^(?:does|do|is|are|has|have)\s+(?:the |this |its )?(?:it|text|response|answer|"
        r"output|document|summary|report|readme|file|artifact|post|essay|e-?mail|"
        r"message|article|letter|page|reply|code|skill|prompt|description|note|"
        r"content)\s+"
    ),
    re.IGNORECASE,
)


def _bare_wording(text: str) -> str:
    """A wording without its question form, its subject and its full stop: "contain 'x'"."""
    line = " ".join(text.split()).rstrip(".?! ")
    asks = _QUESTION.match(line)
    if asks is None:
        return _OPENING.sub("", line, count=1)
    auxiliary, rest = asks.group(0).split()[0].casefold(), line[asks.end() :]
    if auxiliary in ("is", "are"):
        return f"is {rest}"
    if auxiliary in ("has", "have"):
        return f"has {rest}"
    return rest


def _check_of(wording: CodeWording, match: re.Match[str]) -> Check | None:
    """The check that a wording asks for; None where its number is out of range."""
    if wording.make is not None:
        return wording.make(match)
    value = wording.value
    if wording.change is not None:
        digits = match["number"]
        value = int(digits.replace(",", "")) + wording.change if len(digits) <= 9 else -1
        if value < 0:
            return None
    elif value is None:
        value = match["quote"] if "quote" in match.re.groupindex else True
    return Check(kind=wording.kind, value=value, negated=wording.negated)


_RULES: Final = [
    (pattern, needs(pattern), wording) for wording in CODE_WORDINGS for pattern in wording.patterns
]


# ----------------------------------------------------------------------------------------------------
# writing

_BARE: Final = late_pattern(
    r"(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z][\w./ -]*[\w./]|[A-Za-z]", re.IGNORECASE
)


_ESCAPED: Final = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r"}


def flow(value: object) -> str:
    """A value in YAML's inline form, so that it can be pasted as it is."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(inner) for inner in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return str(value)
    if _BARE.fullmatch(value):
        return value
    if not value.isprintable():
        for sign, escaped in _ESCAPED.items():
            value = value.replace(sign, escaped)
        return f'"{value}"'
    return "'" + value.replace("'", "''") + "'"
