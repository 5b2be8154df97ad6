"""Words of a wording: lower case, without those that carry no meaning, cut to their stems."""

from __future__ import annotations

import re
from typing import Final

NEGATIONS: Final = frozenset("not no never without none nothing nobody cannot lack avoid omit 않 없 못".split())
_EMPTY: Final = frozenset(
    """
    a an and are as at be been being by can could do does did for from had has have how if in into is it its
    itself may might must of on or shall should so such than that the their them there these they this those to
    was were what when where which who whom whose why will with would your our his her also very any some all
    each every both either response answer output text document artifact agent model assistant reply e g i
    """.split()
)

# Words that ask for the same in an item: "names the author" and "mentions the author" are one question.
_ALIKE: Final = {
    word: group[0]
    for group in (
        [
            "say",
            "state",
            "name",
            "mention",
            "give",
            "provide",
            "include",
            "contain",
            "list",
            "show",
            "tell",
            "specify",
            "present",
            "hold",
            "offer",
            "indicate",
            "said",
            "given",
            "shown",
            "told",
            "held",
        ],
        ["explain", "describe", "clarify", "elaborate"],
        ["error", "mistake", "bug", "defect"],
        ["suggest", "recommend", "propose", "advise"],
        ["identify", "detect", "find", "recognize", "recognise", "spot"],
        ["avoid", "omit"],
        ["correct", "accurate", "right"],
        ["example", "instance"],
    )
    for word in group
}
_PARTICLES: Final = re.compile(r"(?<=[가-힣])(?:에서|으로|까지|부터|은|는|이|가|을|를|의|에|로|와|과|도|만)$")
_WORD: Final = re.compile(r"[^\W_]\w*(?:['’][a-z]+)?")
_QUOTED: Final = re.compile(r"[\"“`]([^\"”`]{1,80})[\"”`]|(?<!\w)'([^']{1,80})'(?!\w)")


def stems(text: str) -> frozenset[str]:
    """What a wording asks about, whatever its order and inflection. Negations stay, apart from each other."""
    return frozenset(stem for word in _WORD.findall(text.casefold()) if (stem := _stem(word)) is not None)


def _stem(word: str) -> str | None:
    if word.endswith(("n't", "n’t")):
        return "not"
    word = re.sub(r"['’]s?$|['’]\w+$", "", word)
    if word in _EMPTY:
        return None
    word = _PARTICLES.sub("", word) if len(word) > 1 else word
    return _ALIKE.get(_cut(word), _cut(word))


def _cut(word: str) -> str:
    """English inflections off: good enough to compare, not to read."""
    if not word.isascii() or len(word) < 4:
        return word
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x")):
        if word.endswith(ending):
            return word[: -len(ending)] + instead
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            return word[:-1] if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "sl" else word
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


_ALIKE.update({_cut(word): meant for word, meant in list(_ALIKE.items())})


def quoted_in(text: str) -> list[str]:
    """What is in quotes or backticks."""
    return [double or single for double, single in _QUOTED.findall(text)]
