"""Checks that measure how alike a text and a reference are, by arithmetic alone: `levenshtein`,
`rouge-n`, `bleu`, `gleu`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from honestone.adapters.checks.check_input import Subject, finding
from honestone.core.checking.checks import GaveUp, is_exact
from honestone.core.checking.likeness import bleu, edit_distance, gleu, rouge_n
from honestone.core.checking.text_form import normal
from honestone.core.judging.rubric import Check
from honestone.ports import Finding

# The score (0-1) that meets a check which names none.
DEFAULT_BARS: Final = {"rouge-n": 0.75, "bleu": 0.5, "gleu": 0.5, "similar": 0.75}
DEFAULT_DISTANCE: Final = 5


async def find(check: Check, subject: Subject) -> Finding:
    if check.kind == "levenshtein":
        return _distance(check, subject.text)
    references = [normal(words) for words in check.words]
    return measured(check, _MEASURES[check.kind](check, normal(subject.text), references))


def measured(check: Check, score: float) -> Finding:
    """A score (0-1) held against the check's own bar. Negated, both are turned round."""
    bar = check.option("min_score", DEFAULT_BARS[check.kind])
    met, points = score >= bar, 100 * score
    note = f"{check.kind} {score:.4g}, {'at least' if met else 'below'} {bar:g}"
    return finding(check, (met, note), score=100 - points if check.negated else points)


def _distance(check: Check, text: str) -> Finding:
    most = check.option("max", DEFAULT_DISTANCE)
    wanted = check.text
    if not is_exact(check):
        text, wanted = normal(text), normal(wanted)
    try:
        distance = edit_distance(text, wanted, most)
    except ValueError as error:
        raise GaveUp(str(error)) from None
    shown = f"more than {most}" if distance is None else str(distance)
    return finding(check, (distance is not None, f"the edit distance is {shown}"))


# The check, the text and the references, all in normal form.
_MEASURES: Final[Mapping[str, Callable[[Check, str, Sequence[str]], float]]] = {
    "rouge-n": lambda check, text, references: rouge_n(text, references[0], check.option("n", 1)),
    "bleu": lambda check, text, references: bleu(text, references),
    "gleu": lambda check, text, references: gleu(text, references),
}
