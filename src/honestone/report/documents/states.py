"""The word that every report has for a state: text, page, Markdown and the list of runs. It is that
of `--json`, written for people.
"""

from __future__ import annotations

from typing import Final

from honestone.system.drawing import line

_PARTIAL: Final = "PARTIAL"
_UNDECIDED: Final = "UNDECIDED"
# Those that are not simply the name in `--json`.
_WORDS: Final = {
    "pass": "PASSED",
    "fail": "DID NOT PASS",
    "inconclusive": "COULD NOT BE JUDGED",
    "COULD_NOT_JUDGE": "COULD NOT BE JUDGED",
}


def state_words(state: str, *, is_partial: bool = False, is_undecided: bool = False) -> str:
    """A verdict, or what a loop ended with, as a headline: `DID NOT PASS`, `ROUND LIMIT`.

    `is_partial`: cases or rows were left out. A part that passed does not pass the whole.
    `is_undecided`: every needed answer is there, and the probability is between the bars that `sure`
    asks for (`Verdict.is_undecided`).
    """
    if state == "inconclusive" and is_undecided:
        return _UNDECIDED
    if is_partial and state == "pass":
        return _PARTIAL
    return _WORDS.get(state) or line(state).replace("_", " ").upper()


def state_phrase(state: str, *, is_partial: bool = False, is_undecided: bool = False) -> str:
    """The same inside a line: `did not pass`, `round limit`."""
    return state_words(state, is_partial=is_partial, is_undecided=is_undecided).lower()
