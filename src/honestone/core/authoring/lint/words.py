"""What the linter knows of words (`wording.toml`), and the words of one wording: lower case, cut to
their stems.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from typing import Final

from honestone.core.json_value import late_pattern
from honestone.core.tables import table_text

# The tables of `wording.toml`.
WORDING: Final = tomllib.loads(table_text("authoring/lint/wording"))


def word_list(name: str) -> frozenset[str]:
    return frozenset(WORDING["words"][name].split())


NEGATIONS: Final = word_list("negations")
_EMPTY: Final = word_list("empty")
_ENDINGS: Final = (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"))
_PARTICLES: Final = late_pattern(
    r"(?<=[가-힣])(?:에서|으로|까지|부터|은|는|이|가|을|를|의|에|로|와|과|도|만)$"
)
_WORD: Final = late_pattern(r"[^\W_]\w*(?:['’][a-z]+)?")
_QUOTED: Final = late_pattern(r"[\"“`]([^\"”`]{1,80})[\"”`]|(?<!\w)'([^']{1,80})'(?!\w)")


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of the tables, for any case. Compiling all of them costs more than reading a rubric
    does.
    """
    return re.compile(pattern, re.IGNORECASE)


@cache
def needs(pattern: str) -> str:
    """What a text must have for a pattern to match it: Korean letters, a digit, or nothing in
    particular.
    """
    if _HANGUL.search(pattern):
        return "korean"
    return "digit" if "(?P<number>" in pattern else ""


def has(text: str) -> frozenset[str]:
    """What patterns may need and a text has."""
    found = [name for name, sign in (("korean", _HANGUL), ("digit", _DIGIT)) if sign.search(text)]
    return frozenset(["", *found])


_HANGUL: Final = late_pattern("[가-힣]")
_DIGIT: Final = late_pattern(r"\d")


def stems(text: str) -> frozenset[str]:
    """What a wording asks about, whatever its order and inflection. Negations stay, apart from each
    other.
    """
    return frozenset(
        stem for word in _WORD.findall(text.casefold()) if (stem := _stem(word)) is not None
    )


@lru_cache(maxsize=4096)  # The words of a rubric repeat from item to item.
def _stem(word: str) -> str | None:
    if word.endswith(("n't", "n’t")):
        return "not"
    word = re.sub(r"['’]s?$|['’]\w+$", "", word)
    if word in _EMPTY:
        return None
    word = _PARTICLES.sub("", word) if len(word) > 1 else word
    cut = _cut(word)
    return _ALIKE.get(cut, cut)


def _cut(word: str) -> str:
    """English inflections off: good enough to compare, not to read."""
    if not word.isascii() or len(word) < 4:
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending):
            return word[: -len(ending)] + instead
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            return (
                word[:-1]
                if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "sl"
                else word
            )
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


_GROUPS: Final[list[list[str]]] = [group.split() for group in WORDING["words"]["alike"]]
_ALIKE: Final = {
    form: group[0] for group in _GROUPS for word in group for form in (word, _cut(word))
}


def quoted_in(text: str) -> list[str]:
    """What is in quotes or backticks."""
    return [double or single for double, single in _QUOTED.findall(text)]
