"""Confusing negations: two in one question, so that a reader is not sure which answer is the good one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from honestone.core.authoring.lint.remark import Remark, asked, short
from honestone.core.rubric import Rubric

_NOT: Final = r"(?:not|never|cannot|\w+n['’]t)"
_WITHIN: Final = r"(?:(?!\b(?:and|but|or|that|which|who|because|if|when)\b|[,;:.(/]).){0,40}?"
_NEGATIVE_VERB: Final = (
    r"(?:lack(?:s|ing|ed)?|miss(?:es|ed)?|omit(?:s|ted|ting)?|fail(?:s|ed|ing)? to|forget(?:s|ting)?|neglect(?:s|ed|ing)?|"
    r"exclude[sd]?|excluding|leave[s]? out|avoid(?:s|ed|ing)?|missing|absent|devoid|ignore[sd]?)"
)
_NEGATIVE_ADJECTIVE: Final = (
    r"(?:un(?!i|der|til|less|ion)\w{4,}|in(?:accurate|complete|correct|consistent|valid|appropriate|sufficient|visible|secure|"
    r"adequate|effective|efficient|coherent|comprehensible)|im(?:possible|proper|precise|polite|plausible)|ir(?:relevant|regular|"
    r"responsible)|il(?:legal|legible|logical)|dis(?:honest|organi[sz]ed|respectful|similar)|non-?\w{4,})"
)
_PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_NOT}\b (?:\w+ly )?{_NEGATIVE_VERB}\b",
        rf"\b(?:is|are|was|were|be|been)(?: not| never|n['’]t) (?:\w+ly )?{_NEGATIVE_ADJECTIVE}\b",
        rf"\bnot (?:\w+ly )?{_NEGATIVE_ADJECTIVE}\b",
        rf"\b(?:{_NOT}|no|none|nothing|nobody)\b{_WITHIN}\b(?:not|never|\w+n['’]t)\b(?! only)",
        rf"\b(?:{_NOT}|no|none|nothing|nobody)\b{_WITHIN}\bwithout\b",
        r"\b(?:no|zero) (?:lack|absence)\b|\bfree (?:of|from) (?:missing|omissions)\b",
        r"\bwithout\b(?: \w+){0,2} (?:not|never|lacking|missing|omitting|failing)\b",
        r"\bavoids? not\b",
        r"(?:없|않|못하|아니)(?:지|지는|지도) 않|(?:부족|누락|결여|생략|빠뜨리|빠지)(?:하지|되지|지)는? 않|않(?:은|는) (?:것|곳|부분)[이은]? 없|없는 (?:것|곳|부분)[이은]? 없|아닌 것[이은]? 아니",
    )
)
_ONLY: Final = re.compile(r"\bnot only\b|\bwhy not\b|\bwhether or not\b|\bif not\b|\bor not\b", re.IGNORECASE)


def double_negatives(rubric: Rubric) -> Iterator[Remark]:
    """Questions to judges with two negations, and negated criteria whose question is negative itself."""
    for question in asked(rubric):
        if not question.by_judges:
            continue
        text = _ONLY.sub(" ", question.text)
        hit = next((match for pattern in _PATTERNS if (match := pattern.search(text))), None)
        if hit is not None:
            yield question.remark(
                "double-negative",
                f'"{" ".join(hit.group(0).split())}" negates twice: {short(question.text)}',
                "say what should be there: " + _positive(hit.group(0)),
            )
        elif question.criterion.negate and re.search(rf"\b(?:{_NOT}|no|without)\b", text, re.IGNORECASE):
            yield question.remark(
                "double-negative",
                f"its answer is turned round (negate) and its wording is negative too: {short(question.text)}",
                "drop one of the two negations",
            )


def _positive(found: str) -> str:
    """A hint at the positive form."""
    lower = found.casefold()
    for sign, instead in (
        ("lack", '"has ..."'),
        ("miss", '"has ..."'),
        ("omit", '"includes ..."'),
        ("fail", "name what it does"),
        ("without", '"every ... has ..."'),
        ("exclude", '"includes ..."'),
        ("leave", '"includes ..."'),
        ("avoid", "name what it does"),
    ):
        if sign in lower:
            return instead
    return '"is clear" asks the same as "is not unclear"' if re.search(r"\bun", lower) else "one plain yes"
