"""Evidence: whether the words that a judge quotes are in the text, and where."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

from honestone.core.json_value import late_pattern

# Fewer letters or digits than this are in almost any text, so they prove nothing.
MIN_LETTERS: Final = 3


class Found(Struct, frozen=True):
    """Where a quote is: `text[start:end]`. A quote with left-out words spans from its first part to
    its last.
    """

    start: int
    end: int
    how: Literal["exact", "normalised"]


def is_quote(quote: str) -> bool:
    """Whether there is anything to look up. An empty or tiny quote is neither evidence nor false
    evidence.
    """
    letters = 0
    for character in quote:
        letters += character.isalnum()
        if letters >= MIN_LETTERS:
            return True
    return False


def find_quote(quote: str, text: str) -> Found | None:
    """Where the quote is in the text, or None. Exact first; then white space, typographic signs and
    quotation marks around it do not count; then words left out at an ellipsis; letter case counts
    until nothing else helps.
    """
    if not is_quote(quote):
        return None
    at = text.find(quote)
    if at >= 0:
        return Found(at, at + len(quote), "exact")
    plain = _plain(text)
    wanted = " ".join(quote.translate(_SAME).split())
    for words in dict.fromkeys((wanted, _unquoted(wanted))):
        parts = [part for part in map(str.strip, _ELLIPSIS.split(words)) if part]
        for needle in ((words,), tuple(parts)):
            for haystack, fold in ((plain.words, False), (plain.folded, True)):
                span = _in_order(tuple(map(str.lower, needle)) if fold else needle, haystack)
                if span:
                    return Found(plain.offset(span[0]), plain.offset(span[1] - 1) + 1, "normalised")
    return None


_SAME: Final = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‘’‚‛´`′‹›", "'"),
        **dict.fromkeys("‐‑‒–—―−﹣-", "-"),
    }
)
_ELLIPSIS = late_pattern(r"\[?\s*(?:\.{3,}|…)\s*\]?")


class _Plain(Struct, frozen=True):
    """A text with one space between words and plain signs, and the way back to its offsets."""

    words: str
    folded: str
    at_plain: list[int]
    at_text: list[int]

    def offset(self, position: int) -> int:
        """Where a character of `words` is in the text; the space between two words ends the first."""
        word = bisect_right(self.at_plain, position) - 1
        return self.at_text[word] + position - self.at_plain[word]


@lru_cache(maxsize=8)
def _plain(text: str) -> _Plain:
    found = [(match.start(), match[0]) for match in re.finditer(r"\S+", text.translate(_SAME))]
    at_plain, total = [], 0
    for _, word in found:
        at_plain.append(total)
        total += len(word) + 1
    words = " ".join(word for _, word in found)
    folded = words.lower()
    # One letter (İ) grows when folded and would shift every offset behind it.
    return _Plain(
        words,
        folded if len(folded) == len(words) else words,
        at_plain,
        [start for start, _ in found],
    )


def _unquoted(words: str) -> str:
    """Remove the quotation marks that a judge puts around a quote."""
    while len(words) > 1 and words[0] in "\"'" and words[-1] == words[0]:
        words = words[1:-1].strip()
    return words


def _in_order(parts: tuple[str, ...], text: str) -> tuple[int, int] | None:
    """The span from the first part to the last, each behind the one before; every part has to say
    something.
    """
    if not parts or not all(map(is_quote, parts)):
        return None
    start, at = -1, 0
    for part in parts:
        found = text.find(part, at)
        if found < 0:
            return None
        start = found if start < 0 else start
        at = found + len(part)
    return start, at


# A letter that a judge wrote as its escape once more: `\u0067` in a text that was JSON in JSON.
_ESCAPED: Final = late_pattern(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
# Accents, marks that are not seen, marks of Markdown, and a hyphen at the end of a line.
_NOT_OF_A_WORD: Final = late_pattern(
    "[\u0300-\u036f\u00ad\u034f\u200b-\u200f\u2060-\u2064\ufeff*_~`]|-[ \t]*\r?\n[ \t]*"
)
_BETWEEN_LETTERS: Final = late_pattern(r"(?<![a-z])([a-z])[^a-z0-9]+(?=[a-z](?![a-z]))")
_BETWEEN_DIGITS: Final = late_pattern(r"(?<=\d)[\s,.'’](?=\d)")
_NOT_ALPHANUMERIC: Final = bytes(
    code for code in range(256) if not (code < 128 and chr(code).isalnum())
)


def mentions_word(text: str, word: str) -> bool:
    """Whether a text has a word in small letters, or a number, however it is written: in capitals,
    with accents, in wide letters, with invisible marks in it, letter by letter, in entities or
    escapes; a number with separators. For what a control item names, which is nowhere in the text.
    """
    plain = _unwrapped(text)
    # Nearly every text ends here: what follows only takes out what is not a letter or a digit.
    if word.encode() not in _alphanumeric(plain):
        return False
    plain = _NOT_OF_A_WORD.sub("", plain)
    if word in plain:
        return True
    between = _BETWEEN_DIGITS if word.isdecimal() else _BETWEEN_LETTERS
    return word in between.sub(r"\1" if between is _BETWEEN_LETTERS else "", plain)


def mentions_any(texts: Iterable[str], words: Sequence[str]) -> bool:
    """Whether one of the texts has one of the words, as `mentions_word` finds them."""
    texts = list(texts)
    # A line break is no letter, no part of an escape or entity, and no mark that joins the letter
    # before it: what is in none of the texts one after the other is in none of them alone.
    together = _alphanumeric(_unwrapped("\n".join(texts)))
    likely = [word for word in words if word.encode() in together]
    return any(mentions_word(text, word) for word in likely for text in texts)


def _unwrapped(text: str) -> str:
    """The small letters that a text stands for, without escapes, entities and styles of letters."""
    plain = text
    if "\\" in plain:
        plain = _ESCAPED.sub(lambda match: chr(int(match[1] or match[2], 16)), plain)
    if "&" in plain:
        import html

        plain = html.unescape(plain)
    if not plain.isascii():
        plain = unicodedata.normalize("NFKD", plain)
    return plain.casefold()


def _alphanumeric(plain: str) -> bytes:
    """The letters and digits of ASCII, in their order."""
    return plain.encode("utf-8", "surrogatepass").translate(None, delete=_NOT_ALPHANUMERIC)
