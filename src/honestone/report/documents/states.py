"""The word that every report has for a state: text, page, Markdown and the list of runs. It is that
of `--json`, written for people.
"""

from __future__ import annotations

from typing import Final

from honestone.system.drawing import line

# Those that are not simply the name in `--json`.
_WORDS: Final = {
    "pass": "PASSED",
    "fail": "DID NOT PASS",
    "inconclusive": "COULD NOT BE JUDGED",
    "COULD_NOT_JUDGE": "COULD NOT BE JUDGED",
}


def state_words(state: str) -> str:
    """A verdict, or what a loop ended with, as a headline: `DID NOT PASS`, `ROUND LIMIT`."""
    return _WORDS.get(state) or line(state).replace("_", " ").upper()


def state_phrase(state: str) -> str:
    """The same inside a line: `did not pass`, `round limit`."""
    return state_words(state).lower()
