"""Verdicts in free text: a score, yes or no, or which of two is better, where a model wrote no
agreed JSON.

Only explicit statements count: a labelled or bracketed verdict, a sentence that says it, a JSON
object with a verdict key. What the judge quotes, attributes to somebody else, denies or supposes is
not its verdict. Two statements of equal rank that differ are ambiguous. Without a verdict the
answer is None: nothing is assumed, and `problems` say why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from honestone.core.json_value import is_integer, is_number, late_pattern
from honestone.core.reading import json_text, thinking, tolerant_json
from honestone.core.tables import table_json

FreeAnswer: TypeAlias = bool | int | float | str | None


class FreeReading(Struct, frozen=True):
    """The verdict, or None with the reason in `problems`; and what was overlooked to read it."""

    answer: FreeAnswer
    problems: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


class _Claim(Struct, frozen=True):
    """One statement of a verdict. A higher rank is more final; `problem` explains a value that
    cannot be used.
    """

    value: FreeAnswer
    rank: int
    problem: str | None = None


FINAL, STATED, IMPLIED = 3, 2, 1

_WRITTEN: Final = json.loads(table_json("reading/free_text"))
_WORDS: Final = {name: frozenset(words) for name, words in _WRITTEN.pop("words").items()}
_PATTERN: Final = {name: late_pattern(one, re.IGNORECASE) for name, one in _WRITTEN.items()}


_Understand: TypeAlias = Callable[[object], _Claim | None]


# --------------------------------------------------------------------------------------------------------
# the three


def read_score(text: str, lo: float, hi: float) -> FreeReading:
    """A number from `lo` to `hi`. A number off the scale is reported, not cut to fit."""

    def understand(value: object) -> _Claim | None:
        return _score_claim(value, lo, hi, STATED)

    return _read_claims(
        text,
        _WORDS["score_keys"],
        understand,
        lambda plain: _spoken_scores(plain, lo, hi),
        (lo, hi),
    )


def read_yes_no(text: str) -> FreeReading:
    return _read_claims(text, _WORDS["yes_no_keys"], _yes_no_claim, _spoken_yes_no)


def read_pairwise(text: str) -> FreeReading:
    """`a`, `b` or `tie`."""
    return _read_claims(text, _WORDS["pair_keys"], _pair_claim, _spoken_preferences)


def as_yes_no(value: object) -> bool | None:
    """True and False in the words that models use for them; None for anything else."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return value == 1
    if isinstance(value, str):
        word = value.strip(" \t\r\n.!*_`\"'✓✗✅❌").casefold()
        if word in _WORDS["yes"]:
            return True
        if word in _WORDS["no"]:
            return False
    return None


# ------------------------------------------------------------------------------------------------
# one way to decide


def prepared(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without thinking, odd white space and a string around its JSON, and what was
    overlooked.
    """
    text = text.replace("\ufeff", "").replace("\xa0", " ").replace("\r\n", "\n")
    body, thought = thinking.without_thinking(text)
    rest = thinking.after_unopened_thinking(body)
    if rest is not None:
        body, thought = rest, True
    body, encoded = json_text.decoded_once(body)
    return body, (
        *(("a thinking block",) if thought else ()),
        *((json_text.ENCODED,) if encoded else ()),
    )


def _read_claims(
    text: str,
    keys: frozenset[str],
    understand: _Understand,
    spoken: Callable[[str], Iterable[_Claim]],
    scale: tuple[float, float] | None = None,
) -> FreeReading:
    body, repairs = prepared(text)
    if not body.strip():
        return FreeReading(None, ("the reply is empty",), repairs)
    scan = json_text.objects_in(body)
    written, more = _written_claims(body, scan, keys, understand, scale)
    # What is said next to an object counts too: it may take the object's verdict back.
    spoken_claims = list(spoken(json_text.outside(body, scan)))
    if written:
        spoken_claims = [claim for claim in spoken_claims if claim.rank >= STATED]
    answer, problem = _decide([*written, *spoken_claims])
    if answer is None and problem is None:
        problem = _why_nothing(scan, bool(written))
    return FreeReading(
        answer, (problem,) if problem else (), (*repairs, *(more if answer is not None else ()))
    )


def _decide(claims: list[_Claim]) -> tuple[FreeAnswer, str | None]:
    """The highest rank decides, if all of it agrees."""
    if not claims:
        return None, None
    top = max(claim.rank for claim in claims)
    best = [claim for claim in claims if claim.rank == top]
    values = {claim.value for claim in best if claim.value is not None}
    problems = [claim.problem for claim in best if claim.problem]
    if len(values) > 1:
        named = ", ".join(sorted(str(value).lower() for value in values)[:4])
        return None, f"ambiguous: the reply states different verdicts ({named})"
    if problems:
        return None, problems[0]
    return next(iter(values)), None


def _why_nothing(scan: json_text.Scan, placeholders: bool) -> str:
    if placeholders:
        return "the reply repeats the form, but does not fill it in"
    if scan.given_up:
        return f"no verdict was found, and {scan.given_up}"
    if scan.unfinished:
        return "the reply is cut off before its verdict"
    return "no verdict was found"


# -------------------------------------------------------------------------------------------------
# in JSON objects


def _written_claims(
    body: str,
    scan: json_text.Scan,
    keys: frozenset[str],
    understand: _Understand,
    scale: tuple[float, float] | None,
) -> tuple[list[_Claim], tuple[str, ...]]:
    """What the objects of a reply state. The one introduced as final outranks drafts and
    quotations.
    """
    claims: list[_Claim] = []
    repairs: list[str] = []
    before = 0
    for found in scan.found:
        own = [
            claim for claim in (understand(value) for value in _values(found.value, keys)) if claim
        ]
        if own and scale and (limit := _other_limit(found.value, scale[1])):
            own = [_Claim(None, claim.rank, limit) for claim in own]
        if own:
            is_final = _introduces_verdict(body[before : found.start])
            claims += [_Claim(c.value, FINAL if is_final else c.rank, c.problem) for c in own]
            repairs += [*json_text.around_repairs(body, found), *found.repairs]
        before = found.end
    last = scan.found[-1].end if scan.found else 0
    for part in scan.abandoned_after(last):
        if _names_verdict(body[part.start : part.end], keys):
            is_final = _introduces_verdict(body[last : part.start])
            claims.append(
                _Claim(None, FINAL if is_final else STATED, "an object with a verdict is damaged")
            )
    if scan.unfinished and scale:
        cut = _cut_score(scan, keys, understand, scale)
        is_final = _introduces_verdict(body[before : scan.unfinished.start])
        claims += [_Claim(c.value, FINAL if is_final else c.rank, c.problem) for c in cut]
        repairs += ["the object does not end; its score is complete"] if cut else []
    return claims, tuple(dict.fromkeys(repairs))


_NAMED = late_pattern(r"""["'“„]?([A-Za-z][\w \t-]{0,30})["'”“]?\s*:""")


def _names_verdict(text: str, keys: frozenset[str]) -> bool:
    """Whether what could not be read as an object names one of the verdict keys."""
    return any(_key(match[1]) in keys for match in _NAMED.finditer(text))


def _values(value: Mapping[str, object], keys: frozenset[str], depth: int = 2) -> list[object]:
    """The values under verdict keys: of the object itself, else of the objects in it."""
    own: list[object] = []
    for key, given in value.items():
        if _key(key) in keys:
            own.append(_TWICE if key in tolerant_json.doubled_keys(value) else given)
    if own or depth == 1:
        return own
    # What a model calls the part of its reply that is not its answer is left out.
    inner = [
        given
        for key, given in value.items()
        if isinstance(given, dict) and not _PATTERN["taken_back"].search(_key(key))
    ]
    return [found for given in inner for found in _values(given, keys, depth - 1)]


_TWICE: Final = tolerant_json.Unusable("stated twice in one object")


def _other_limit(value: Mapping[str, object], hi: float, depth: int = 2) -> str | None:
    """Why the number of an object is on another scale than the one asked for: it names the highest
    number itself.
    """
    for key, given in value.items():
        if isinstance(given, dict) and depth > 1 and (why := _other_limit(given, hi, depth - 1)):
            return why
        if _key(key) not in _WORDS["limit_keys"]:
            continue
        upper = _last_number(given) if isinstance(given, str) else given
        number = (
            float(upper)
            if isinstance(upper, str | int | float) and not isinstance(upper, bool)
            else hi
        )
        if number != hi:
            return f"the score is on a scale to {number:g}, not to {hi:g}"
    return None


def _key(key: str) -> str:
    return re.sub(r"[\W_]+", " ", key).strip().casefold()


def _introduces_verdict(between: str) -> bool:
    """Whether the words right before an object call it the final one or the judge's own."""
    lines = [line for line in between[-300:].splitlines() if line.strip("`~ \tjsonJSON")]
    return bool(lines and _PATTERN["introduces"].search(lines[-1]))


# ------------------------------------------------------------------------------------------------------
# plain words


_SENTENCE_END = late_pattern(r"(?<=[.!?])[\"'”’)]*\s+|\n+")


def _plain_words(text: str) -> str:
    """Remove markup and what is quoted: block quotes, and words in quotation marks inside a
    sentence.
    """
    whole = text.strip()
    if len(whole) > 1 and whole[0] in "\"“'" and whole[-1] in "\"”'" and whole[1:-1].isprintable():
        text = whole[1:-1]
    text = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(">"))
    return _PATTERN["markup"].sub("", _PATTERN["quoted"].sub(' "" ', text))


def _sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(text):
        if stripped := sentence.strip():
            yield stripped[:4000]


def _own_statements(name: str, text: str) -> Iterator[re.Match[str]]:
    """What may be statements of the judge's own. Of hundreds (a table, a flood) only the first and
    last can be the verdict.
    """
    found = list(_PATTERN[name].finditer(text))
    for match in found if len(found) <= 200 else found[:100] + found[-100:]:
        if _is_own(_sentence_before(text, match.start())):
            yield match


# A bare verb needs a speaker before it to give words to somebody: "to tell a story" gives words to
# nobody.
def _is_own(before: str) -> bool:
    """Whether a statement is the judge's own: `before` is its sentence up to it.

    "Assistant (a) argues that ..." is somebody else's; "While (a) argues ..., I find ..." is the
    judge's again, and so is the main clause behind a concession.
    """
    if _PATTERN["supposed"].search(before) or _PATTERN["denied"].search(before):
        return False
    verbs = [
        verb
        for verb in _PATTERN["attribution"].finditer(before)
        if not _PATTERN["task_speaks"].search(before[: verb.start()])
    ]
    if not verbs:
        return True
    since = before[verbs[-1].end() :]
    speaker = before[: verbs[-1].start()]
    if re.search(r"\b(?:i|we)\b(?:\W+\w+){0,2}\W*$", speaker, re.IGNORECASE):
        return True
    return bool(_PATTERN["own_voice"].search(since)) or bool(
        _PATTERN["concession"].search(before) and "," in since
    )


# -----------------------------------------------------------------------------------------------------------
# scores


def _score_claim(value: object, lo: float, hi: float, rank: int) -> _Claim | None:
    """A JSON value, or the words of a number. None for a placeholder like "[1-10]"."""
    if isinstance(value, str):
        match = _PATTERN["written_score"].fullmatch(_with_points(value))
        if match is None:
            if not re.search(r"\w", value) or _is_form(value):
                return None
            shown = tolerant_json.clean_text(value.strip())[:40]
            return _Claim(None, rank, f"{shown!r} is not a score")
        return _number_claim(match[1], match[2] or match[3], lo, hi, rank)
    if not is_number(value):
        shown = "null" if value is None else "no number"
        if isinstance(value, bool | tolerant_json.Unusable):
            shown = repr(value)
        return _Claim(None, rank, f"the score is {shown}, not a number")
    return _on_scale(value, lo, hi, rank)


def _is_form(value: str) -> bool:
    """The words of a form rather than an answer: [1-10], <score>, 1-10, a number from 1 to 10,
    yes/no, A or B.
    """
    text = value.strip()
    return bool(
        not text.strip(". …_-")
        or re.fullmatch(r"[\[<{(].*[\]>})]", text, re.DOTALL)
        or re.search(r"\d\s*(?:[-–—]|to|\.\.)\s*\d", text)
        or re.fullmatch(
            r"[\w()]+(?:\s*[/|,]\s*|\s+or\s+)[\w() ]+(?:(?:\s*[/|,]\s*|\s+or\s+)[\w() ]+)*", text
        )
    )


def _number_claim(number: str, out_of: str | None, lo: float, hi: float, rank: int) -> _Claim:
    value = _written_number(number)
    if out_of is not None and (100 if out_of == "%" else _written_number(out_of)) != hi:
        written = f"{number}%" if out_of == "%" else f"{number}/{out_of}"
        return _Claim(None, rank, f"{written} is on another scale than {lo:g}-{hi:g}")
    return _on_scale(value, lo, hi, rank)


def _on_scale(value: int | float, lo: float, hi: float, rank: int) -> _Claim:
    if not lo <= value <= hi:
        return _Claim(None, rank, f"{value} is not on the scale {lo:g}-{hi:g}")
    return _Claim(value, rank)


def _written_number(written: str) -> int | float:
    written = written.replace("−", "-")
    return float(written) if "." in written else int(written)


# A comma inside a number whose denominator follows can only be a decimal one.
_DECIMAL_COMMA = late_pattern(
    r"(?<![\w.,])([-+−]?\d{1,3}),(\d{1,2})(?=\s*(?:/|out\s+of\b|of\s+\d|%)|\s*$)"
)


def _with_points(text: str) -> str:
    """8,5/10 as 8.5/10."""
    return _DECIMAL_COMMA.sub(r"\1.\2", text)


def _spoken_scores(text: str, lo: float, hi: float) -> Iterator[_Claim]:
    plain = _with_points(_plain_words(text))
    whole = _PATTERN["written_score"].fullmatch(plain.strip(" \t\n.[]()"))
    if whole:
        yield _number_claim(whole[1], whole[2] or whole[3], lo, hi, STATED)
        return
    claims = list(_score_claims(plain, lo, hi))
    other = _other_scale_in(plain, hi)
    for claim, has_denominator in claims:
        if other is not None and not has_denominator and claim.value is not None:
            claim = _Claim(
                None, claim.rank, f"the reply speaks of a scale to {other:g}, not of {lo:g}-{hi:g}"
            )
        yield claim


def _score_claims(plain: str, lo: float, hi: float) -> Iterator[tuple[_Claim, bool]]:
    """Every score that is stated, and whether its own denominator says on which scale."""
    last = 0
    for match in _own_statements("bracketed", plain):
        out_of = match[2] or match[3]
        yield _number_claim(match[1], out_of, lo, hi, FINAL), out_of is not None
        last = max(last, match.end())
    for match in _own_statements("overall", plain):
        number, out_of = (match[1], match[2] or match[3]) if match[1] else (match[4], match[5])
        yield _number_claim(number, out_of, lo, hi, FINAL), out_of is not None
        last = max(last, match.end())
    for match in _own_statements("labelled", plain):
        rank = _label_rank(match[1], match[2], plain[match.end() : match.end() + 60])
        if rank is None:
            continue
        out_of = match[4] or match[5]
        yield (
            _number_claim(match[3], out_of or _last_number(match[2]), lo, hi, rank),
            out_of is not None,
        )
        last = max(last, match.end()) if rank == FINAL else last
    yield from ((claim, True) for claim in _fraction_claims(plain, lo, hi))
    for match in _own_statements("given_number", plain):
        yield _number_claim(match[1], None, lo, hi, IMPLIED), False
    for match in _PATTERN["taken_back_after"].finditer(plain, last):
        # What is said after a final verdict, or where there is none, may replace every number
        # before it.
        if lo <= _written_number(match[1] or match[2]) <= hi:
            yield (
                _Claim(None, FINAL, "ambiguous: the reply takes a number back and states another"),
                True,
            )


def _fraction_claims(plain: str, lo: float, hi: float) -> Iterator[_Claim]:
    """Fractions on the scale that are given as a verdict. Another one may be a verdict too, so it
    may not differ.
    """
    claims: list[_Claim] = []
    others: set[FreeAnswer] = set()
    for match in _own_statements("fraction", plain):
        if _written_number(match[2]) != hi or not lo <= _written_number(match[1]) <= hi:
            continue
        before = plain[max(0, match.start() - 40) : match.start()]
        claim = _number_claim(match[1], match[2], lo, hi, IMPLIED)
        # 3/10 of the links is not a score: a fraction counts where a verdict stands, and only on
        # the scale asked for.
        if _PATTERN["range_before"].search(before) or _PATTERN["bounded"].search(before):
            others.add(f"about {match[0]}")
        elif _stands_as_verdict(plain, match):
            claims.append(claim)
        elif not re.match(r"\s+of\b", plain[match.end() : match.end() + 10]):
            others.add(claim.value)
    yield from claims
    if claims and others - {claim.value for claim in claims}:
        yield _Claim(
            None, IMPLIED, "ambiguous: the reply states several scores, and none as the whole"
        )


def _last_number(written: str | None) -> str | None:
    """The upper end of what brackets behind a label say of the scale: (1-10), (out of 5)."""
    numbers = re.findall(r"\d+(?:\.\d+)?", written or "")
    return numbers[-1] if numbers else None


def _other_scale_in(plain: str, hi: float) -> float | None:
    """The upper end of another scale that the reply speaks of."""
    for match in _PATTERN["out_of_scale"].finditer(plain):
        upper = [_written_number(number) for number in match.groups() if number][-1]
        if upper != hi:
            return upper
    return None


_ASPECT_AFTER = late_pattern(
    r"[\s\])]*(?:for|on|in)\s+(?!this\b|general\b|total\b|the\s+(?:whole|end)\b|all\b|my\b)\w+",
    re.IGNORECASE,
)


def _label_rank(word: str | None, aside: str | None, after: str) -> int | None:
    """ "Final score" outranks "Score"; "Clarity score" is about one aspect and only counts alone, as do "Score (clarity)" and
    "Score: 8 for clarity". None for "Maximum score", which is not a verdict.
    """
    name = "" if word is None else word.casefold()
    if name in _WORDS["foreign"]:
        return None
    if name in _WORDS["final"]:
        return FINAL
    is_aspect = bool(name) and name not in _WORDS["own"]
    is_about = bool(aside) and not re.search(r"\d", aside or "")
    return IMPLIED if is_aspect or is_about or _ASPECT_AFTER.match(after) else STATED


def _sentence_before(text: str, at: int) -> str:
    """The sentence that a statement ends, up to the statement."""
    window = text[max(0, at - 400) : at]
    starts = [match.end() for match in _SENTENCE_END.finditer(window)]
    return window[starts[-1] :] if starts else window


def _stands_as_verdict(text: str, match: re.Match[str]) -> bool:
    before = _sentence_before(text, match.start())
    after = text[match.end() : match.end() + 80]
    if re.match(r"\s+of\b", after):
        return False
    alone = not before.strip(" \t-•([") and re.match(r"[ \t\])]*[.!]?[ \t]*(?:\n|$)", after)
    ends_sentence = re.match(r"[ \t\])]*[.!]?\s*$", after) and len(before.split()) <= 8
    return bool(alone or ends_sentence or _PATTERN["gives"].search(before))


def _cut_score(
    scan: json_text.Scan, keys: frozenset[str], understand: _Understand, scale: tuple[float, float]
) -> list[_Claim]:
    """The score of an object that does not end, when the score itself surely does."""
    assert scan.unfinished is not None
    given = [value for key, value in scan.unfinished.members if _key(key) in keys]
    if scan.unfinished.last and _key(scan.unfinished.last[0]) in keys:
        value = scan.unfinished.last[1]
        # 1 may be the beginning of 10. 8 cannot go on when 80 is off the scale.
        if not is_integer(value) or scale[0] <= value * 10 <= scale[1]:
            return []
        given.append(value)
    return [claim for claim in map(understand, given) if claim]


# -----------------------------------------------------------------------------------------------------------
# yes/no


def _yes_no_claim(value: object) -> _Claim | None:
    answer = as_yes_no(value)
    if answer is not None:
        return _Claim(answer, STATED)
    if isinstance(value, str) and _is_form(value):
        return None
    return _Claim(None, STATED, f"the answer is {_shown_value(value)}, not yes or no")


def _shown_value(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return repr(tolerant_json.clean_text(value.strip())[:40])
    return repr(value) if isinstance(value, bool | tolerant_json.Unusable) else "of another kind"


def _spoken_yes_no(text: str) -> Iterator[_Claim]:
    plain = _plain_words(text)
    for match in _own_statements("yes_no_bracketed", plain):
        yield _Claim(as_yes_no(match[1]), FINAL)
    for match in _own_statements("yes_no_labelled", plain):
        yield _Claim(as_yes_no(match[2]), FINAL if match[1] else STATED)
    # A first and a last word count as much as a label: where they differ, the reply contradicts
    # itself.
    if first := _PATTERN["yes_no_first"].match(plain):
        yield _Claim(as_yes_no(first[1]), STATED)
    closing = plain.strip().rsplit("\n", 1)[-1][-200:]
    if (last := _PATTERN["yes_no_last"].search(closing)) and _is_own(closing[: last.start()]):
        yield _Claim(as_yes_no(last[1]), STATED)


# ---------------------------------------------------------------------------------------------------------
# pairwise


# A first or last line that is nothing but a name is a verdict; with a colon it is a heading over
# something else. The name may have a remark in brackets, such as a reason or its number.
_REMARK = r"(?:[^\w«»:\n(]*+(?P<remark>\((?:[^()\n]|\([^()\n]*+\))*+\)|«[AB]»))?+"
_ONLY_NAME_FIRST = late_pattern(rf"[^\w«»]*«([AB])»{_REMARK}[^\w«»:\n]*(?:\n|$)")
_ONLY_NAME_LAST = late_pattern(rf"(?:\n|^)[^\w«»\n]*«([AB])»{_REMARK}[^\w«»:\n]*\Z")
_REMARK_AFTER = late_pattern(_REMARK)
_NUMBER_OF_SIDE: Final = {"1": "a", "2": "b", "«A»": "a", "«B»": "b"}


_OR_AFTER = late_pattern(r"[ \t]*(?:or|/)[ \t]*«")
_OR_BEFORE = late_pattern(r"(?:\bor|/)[ \t]*$")


def _pair_claim(value: object) -> _Claim | None:
    if isinstance(value, str):
        words = value.strip(" \t\n.!*`\"'[]")
        if words.casefold() in _WORDS["tie"]:
            return _Claim("tie", STATED)
        if match := _PATTERN["side"].fullmatch(words):
            return _Claim(_side(match[1]), STATED)
        if _is_form(value):
            return None
    return _Claim(None, STATED, f"the preference is {_shown_value(value)}, not a, b or tie")


def _side(written: str) -> str:
    return "a" if written.casefold() in {"a", "1", "first"} else "b"


def _spoken_preferences(text: str) -> Iterator[_Claim]:
    plain = _plain_words(text)
    yield from _bracketed_preferences(plain)
    named = _PATTERN["mention"].sub(_mention, plain)
    if letter := re.fullmatch(r"[^\w?]*([ab])[^\w?]*", plain, re.IGNORECASE):
        named = f"«{letter[1].upper()}»"
    for bare in (_ONLY_NAME_FIRST.match(named), _ONLY_NAME_LAST.search(named)):
        if bare:
            yield _remarked(_side(bare[1]), STATED, bare["remark"])
    for match in _own_statements("pair_labelled", named):
        rank = FINAL if match[1] else STATED
        remark = _REMARK_AFTER.match(named, match.end())
        # Only a number that contradicts takes a label back: its remark needs not say why.
        aside = remark["remark"] if remark and _number_of(remark["remark"]) else None
        yield _remarked(_side(match[2]), rank, aside) if match[2] else _Claim("tie", rank)
    sides: list[_Claim] = []
    others: list[_Claim] = []
    for sentence in _sentences(named):
        found = list(_preferred_in(sentence))
        if found:
            sides += found
            others.clear()
        elif _PATTERN["tie"].search(sentence) and not _PATTERN["aspect"].search(sentence):
            others.append(_Claim("tie", STATED))
        elif _PATTERN["neither"].search(sentence) and (
            not sides or re.search(_WRITTEN["better"], sentence)
        ):
            others.append(_Claim(None, STATED, "the reply finds neither better"))
    # "Both are equally good, but (a) is better" ends with a side; a tie said last takes the side
    # back.
    yield from sides
    yield from others


def _number_of(remark: str | None) -> str | None:
    return _NUMBER_OF_SIDE.get((remark or "").strip("() \t.*#"))


def _remarked(side: str, rank: int, remark: str | None) -> _Claim:
    """A name and its remark: the same side once more, or a reason for it. Any other remark may take
    the name back.
    """
    if remark is None or _number_of(remark) == side:
        return _Claim(side, rank)
    other = "«b»" if side == "a" else "«a»"
    words = _PATTERN["the_other"].sub(other, remark.strip("() \t").casefold())
    own, _, rest = words.partition(other)
    fits = (not own and _finds_fault(rest)) or (
        _PATTERN["reason"].match(words) and not _PATTERN["fault"].search(own)
    )
    if (
        fits
        and not _PATTERN["against"].search(words)
        and all(claim.value == side for claim in _preferred_in(words.upper()))
    ):
        return _Claim(side, rank)
    return _Claim(None, rank, "the remark behind the name does not support it")


def _finds_fault(words: str) -> bool:
    """Either a fault by its name or something that is denied; a fault that is denied is none."""
    return bool(_PATTERN["fault"].search(words)) != bool(_PATTERN["denies_one"].search(words))


def _mention(match: re.Match[str]) -> str:
    written = next(group for group in match.groups() if group)
    # Ignoring case must not turn the article "a" or a small "b" into a name; after a noun or in
    # brackets it is one.
    if (match[4] or match[5]) and not written.isupper():
        return match[0]
    return f"«{_side(written).upper()}»"


def _bracketed_preferences(plain: str) -> Iterator[_Claim]:
    for match in _own_statements("pair_bracketed", plain):
        if match[1]:
            yield _Claim("tie" if match[1] in "Cc" else match[1].lower(), FINAL)
        elif match[5] or "=" in match[3]:
            yield _Claim("tie", FINAL)
        else:
            yield _Claim((match[2] if ">" in match[3] else match[4]).lower(), FINAL)


def _preferred_in(sentence: str) -> Iterator[_Claim]:
    # "better documented", "better at detail", "better in terms of detail" praise one side of it.
    if sentence.endswith("?"):
        return
    for pattern in (_PATTERN["is_better"], _PATTERN["better_is"], _PATTERN["chooses"]):
        for match in pattern.finditer(sentence):
            before = sentence[: match.start()]
            if pattern is _PATTERN["chooses"]:
                before = re.sub(r"\b(?:but|so)\b.*$", "", before)
                if re.search(r"\b(?:find|consider)\b", match[0], re.IGNORECASE) and not _PATTERN[
                    "better"
                ].search(match["rest"]):
                    continue
            if not _is_own(before) or (
                _PATTERN["aspect"].search(before) and "overall" not in before.casefold()
            ):
                continue
            if _OR_AFTER.match(sentence, match.end()) or _OR_BEFORE.search(before):
                continue
            side = match[1] or (match[2] if pattern is _PATTERN["is_better"] else None)
            if side:
                yield _Claim(_side(side), STATED)
