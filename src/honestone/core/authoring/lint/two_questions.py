"""Two questions in one item: verbs or clauses joined by "and", "but", "or" or ";". Judges cannot
say half a yes.

Only what is clearly two is remarked on: nouns and adjectives may be joined ("names the cause and
the fix"), and what follows a relative word ("a person who owns it and approves it") belongs to
that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from honestone.core.authoring.lint.remark import Remark, asked, short
from honestone.core.authoring.lint.words import word_list
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Rubric

_VERBS: Final = word_list("verbs")
_ALSO_NOUNS: Final = word_list("also_nouns")
_AUXILIARIES: Final = word_list("auxiliaries")
_MODALS: Final = word_list("modals")
_RELATIVE: Final = word_list("relative")
_STARTS_OBJECT: Final = word_list("starts_object")
_STARTS_CLAUSE: Final = word_list("starts_clause")
_ADVERBS: Final = word_list("adverbs")
_JOINTS: Final = frozenset("and but or then ; &".split())
_TOKEN: Final = late_pattern(r"[^\W_][\w'’-]*|[,;:()\"“”`&]|—|–")
_BREAKS: Final = frozenset('("“`:—–')

_KOREAN_JOINED: Final = late_pattern(
    r"(?:하|되|있|없|이|시키|나타내|보여주|밝히|들|적|쓰|주|맞)(?:고|며|으며|으면서),?\s+(?!있|싶|나서|나면|"
    r"보면)(?=\S.*(?:다|까|요|가|음|함|됨|가\?|까\?)[.?]?$)|(?:한다|된다|있다|없다)\.?\s+(?:그리고|또한)\s"
)
_KOREAN_NOT: Final = late_pattern(r"(?:않|말|하지|되지)고[,\s]")


class _Word(Struct, frozen=True):
    text: str
    start: int

    @property
    def lower(self) -> str:
        return self.text.casefold().replace("’", "'")


class _Halves(Struct, frozen=True):
    """Where a wording falls apart, and by which word."""

    first: str
    second: str
    joint: str


def two_questions(rubric: Rubric) -> Iterator[Remark]:
    """Yes/no questions to judges that ask for two things."""
    for question in asked(rubric):
        halves = _halves(question.text) if question.is_yes_no else None
        if halves is None:
            continue
        says, advice = "asks two questions at once", "make it two items"
        if halves.joint == "or":
            says, advice = '"or" joins two questions', f"keep the one that is meant, or {advice}"
        first, second = short(halves.first), short(halves.second)
        yield question.remark("two-questions", says=says, advice=advice, first=first, second=second)


def _halves(text: str) -> _Halves | None:
    korean = _KOREAN_JOINED.search(text)
    if korean is not None and not _KOREAN_NOT.search(text[: korean.end() + 1]):
        return _Halves(text[: korean.end()].strip(" ,"), text[korean.end() :].strip(), "-고")
    words = [_Word(match.group(0), match.start()) for match in _TOKEN.finditer(text)]
    verb = _first_verb(words)
    if verb is None:
        return None
    for at in range(verb + 1, len(words) - 2):
        joint = words[at].lower
        if joint not in _JOINTS or _is_apart(words, at):
            continue
        if _is_second(words, verb, at, joint):
            second = text[words[at + 1].start :].strip()
            first = text[: words[at].start].strip(" ,;")
            return _Halves(first, second[:1].upper() + second[1:], "or" if joint == "or" else "and")
    return None


def _is_apart(words: list[_Word], at: int) -> bool:
    """`and/or`, "try and ...", and what is in brackets or quotes."""
    before = sum(1 for word in words[:at] if word.text in '("“`') - sum(
        1 for w in words[:at] if w.text in ")”"
    )
    return before % 2 == 1 or (
        words[at].lower == "but" and any(w.lower == "only" for w in words[:at])
    )


def _first_verb(words: list[_Word]) -> int | None:
    for at, word in enumerate(words[:8]):
        if word.text in _BREAKS or word.lower in _RELATIVE:
            return None
        if word.lower in _AUXILIARIES or _is_verb(words, at, at_start=_only_adverbs(words[:at])):
            return at
    return None


def _only_adverbs(words: list[_Word]) -> bool:
    return all(word.lower in _ADVERBS or word.lower.endswith("ly") for word in words)


def _is_verb(words: list[_Word], at: int, *, at_start: bool = False) -> bool:
    """A third person ("names"), or at the start of a wording also a plain form ("name the file") or
    a past ("named").
    """
    word = words[at].lower
    for base in _bases(word):
        if base in _VERBS and (word != base or at_start):
            return True
        if base in _ALSO_NOUNS and (word != base or at_start):
            return at_start or _next(words, at) in _STARTS_OBJECT
    return False


def _bases(word: str) -> Iterator[str]:
    """The plain forms that a word may come from; first itself."""
    yield word
    if word.endswith("ies"):
        yield word[:-3] + "y"
    if word.endswith("es"):
        yield word[:-2]
    if word.endswith("s"):
        yield word[:-1]
    if word.endswith("ied"):
        yield word[:-3] + "y"
    if word.endswith("ed"):
        yield from (word[:-2], word[:-1])


def _next(words: list[_Word], at: int) -> str:
    return words[at + 1].lower if at + 1 < len(words) else ""


def _is_second(words: list[_Word], verb: int, at: int, joint: str) -> bool:
    """Whether what follows the joint is a verb or a clause of its own, on a level with the first."""
    between = {word.lower for word in words[verb + 1 : at]}
    shares_object = at == verb + 1 or _is_verb(words, at - 1, at_start=words[verb].lower in _MODALS)
    if (
        between & _RELATIVE or shares_object
    ):  # "checks and reports the version": two verbs, one thing to look for
        return False
    after = at + 1
    while after < len(words) - 1 and words[after].lower in (_ADVERBS | {"and", ","}):
        after += 1
    if after >= len(words) - 1:
        return False
    return _second_verb(words, verb, after) or (
        joint not in ("or", "then") and _second_clause(words, after)
    )


def _second_verb(words: list[_Word], verb: int, at: int) -> bool:
    first, second = words[verb].lower, words[at].lower
    if second in _AUXILIARIES:
        return _next(words, at) not in (",", "")
    is_third = second.endswith("s") and not second.endswith("ss")
    if first in _MODALS or (first in (_VERBS | _ALSO_NOUNS) and _only_adverbs(words[:verb])):
        # "should name the file and explain the bug": plain forms, which are often nouns too, so an
        # object has to follow.
        return second in (_VERBS | _ALSO_NOUNS) and _next(words, at) in _STARTS_OBJECT
    if first.endswith("ed"):
        return second.endswith("ed") and any(
            base in (_VERBS | _ALSO_NOUNS) for base in _bases(second)
        )
    return is_third and _is_verb(words, at)


def _second_clause(words: list[_Word], at: int) -> bool:
    """ "the tests pass", "its heading says": a subject that begins with an article or pronoun, then
    its verb.
    """
    if words[at].lower not in _STARTS_CLAUSE:
        return False
    for place in range(at + 1, min(at + 5, len(words))):
        word = words[place].lower
        if word in _RELATIVE or word in ("of", "to", "in", "for", "and", "or", ",", "used"):
            return False
        if word in (_AUXILIARIES - {"have", "do"}) or (
            word.endswith("s") and _is_verb(words, place)
        ):
            return place + 1 < len(words)
    return False
