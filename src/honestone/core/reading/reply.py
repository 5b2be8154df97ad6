"""Reading what a model replied to a prompt: the answers that are surely there, and why there is
none for the rest.

The reply has to hold one whole JSON object that echoes the call's token: `{"token": ..., "answers":
{"1": {"evidence", "answer", "suggestion"}, ...}}`, or `"answers": [{"n": 1, "evidence", ...},
...]`. An object with another token is quoted or forged; two different ones with the right token are
ambiguous. Where a number was not asked, no number of the reply counts. Nothing is completed,
clamped or assumed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeAlias, cast

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.json_value import is_integer, late_pattern
from honestone.core.judging.ballot import Answer, Mark, Reading, answer_problem
from honestone.core.judging.rubric import Anchors, Item, Key, as_written
from honestone.core.reading import json_text, thinking, tolerant_json
from honestone.core.reading.stray_brackets import without_stray_opening
from honestone.core.tables import table_json


class ReplySchema(Struct, frozen=True, kw_only=True):
    """What a reply has to hold: the token, and an answer for each numbered item."""

    token: str
    items: Mapping[int, Item]


class ReplyReading(Struct, frozen=True, kw_only=True):
    """The valid answers by number, the reason for each number that has none, and what concerns the
    whole reply.

    Every number of the schema is in exactly one of `answers` and `errors`. `problems` and `errors`
    are worth asking once more; `repairs` only say what was overlooked. `unused_evidence`: what was
    quoted for a number, but is in no mark: the answer could not be read, or the quote was not a
    text.
    """

    answers: Mapping[int, Mark] = field(default_factory=dict)
    errors: Mapping[int, str] = field(default_factory=dict)
    unused_evidence: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


# Number and what was answered to it: the mark, or why there is none. What was left out is added to
# the repairs.
ReadAnswer: TypeAlias = Callable[[int, object, list[str]], "Mark | str"]


def read_reply(text: str, schema: ReplySchema, *, cut: bool = False) -> ReplyReading:
    """Never raises, whatever the text. `cut`: the model was stopped by a length limit, so nothing
    is repaired.
    """

    def read_answer(number: int, given: object, repairs: list[str]) -> Mark | str:
        return _read_answer(given, schema.items[number], number, repairs)

    return read_numbered(text, schema.token, schema.items, read_answer, cut=cut)


def read_numbered(
    text: str, token: str, numbers: Collection[int], read_answer: ReadAnswer, *, cut: bool = False
) -> ReplyReading:
    """`{"token": ..., "answers": {"1": ..., ...}}`: the one object with the token, each of its
    answers read.
    """
    body, thought = thinking.without_thinking(text)
    rest = thinking.after_unopened_thinking(body)
    if rest is not None and token in rest:  # else the closing tag is a quotation inside the reply
        body, thought = rest, True
    body, encoded = (body, False) if cut else json_text.decoded_once(body)

    def read(value: Mapping[str, object]) -> ReplyReading:
        return _read_object(value, numbers, read_answer)

    try:
        found, reading = _choose(
            body, json_text.objects_in(body, lenient=not cut), token, read, cut
        )
    except _Unreadable as error:
        mended = None if cut else _read_mended(body, token, read)
        if mended is None:
            return ReplyReading(errors=dict.fromkeys(numbers, error.why), problems=(error.why,))
        found, reading = mended
    dropped = [
        what
        for what, is_there in (("a thinking block", thought), (json_text.ENCODED, encoded))
        if is_there
    ]
    around = (*dropped, *json_text.around_repairs(body, found), *found.repairs)
    return replace(reading, repairs=(*around, *reading.repairs)) if around else reading


class _Unreadable(Exception):
    def __init__(self, why: str) -> None:
        self.why = why


def complaints(numbers: Mapping[int, Key], reading: Reading) -> tuple[str, ...]:
    """What a judge reads when it is asked once more. It names items by number: their words and ids
    stay out.

    A reason that voided the whole reply is said once, not for every item.
    """
    number_of = {key: number for number, key in numbers.items()}
    by_reason: dict[str, list[int]] = {}
    for key, why in reading.errors.items():
        if why not in reading.problems and key in number_of:
            by_reason.setdefault(why, []).append(number_of[key])
    # Control items are named like any other, among those with the same reason, or they would stand
    # out.
    for number, why in reading.control_errors.items():
        by_reason.setdefault(why, []).append(number)
    lines = list(reading.problems)
    for why, those in by_reason.items():
        named = ", ".join(str(number) for number in sorted(those))
        lines.append(f"item{'s' if len(those) > 1 else ''} {named}: {why}")
    return tuple(dict.fromkeys(lines))


def _choose(
    body: str,
    scan: json_text.Scan,
    token: str,
    read: Callable[[Mapping[str, object]], ReplyReading],
    cut: bool,
) -> tuple[json_text.FoundObject, ReplyReading]:
    """The one object that is the reply with its reading."""
    if not body.strip():
        raise _Unreadable("the reply is empty")
    if scan.given_up:
        raise _Unreadable(f"the reply cannot be read: {scan.given_up}")
    if scan.unfinished and token in body[scan.unfinished.start :]:
        raise _Unreadable("the reply is cut off: its last JSON object does not end")
    ours = [
        found
        for found in scan.found
        if found.value.get("token") == token and "answers" in found.value
    ]
    if not ours:
        raise _Unreadable(_why_none(scan, cut))
    # A judge may repeat the empty skeleton before it fills it in; it answers nothing, so it
    # contradicts nothing.
    ours = [found for found in ours if not _is_blank(found.value["answers"])] or ours[:1]
    readings = [read(found.value) for found in ours]
    if len(ours) > 1 and any(reading != readings[0] for reading in readings):
        raise _Unreadable(
            "the reply holds different JSON objects with the token, so it is ambiguous"
        )
    if scan.skipped and any(
        token in body[part.start : part.end] for part in scan.abandoned_after(ours[-1].end)
    ):
        raise _Unreadable(
            "the reply holds a damaged JSON object after the one with the token, so it is ambiguous"
        )
    if cut and body.strip() != body[ours[0].start : ours[0].end]:
        raise _Unreadable("the reply is cut off")
    return ours[0], readings[0]


def _read_mended(
    body: str, token: str, read: Callable[[Mapping[str, object]], ReplyReading]
) -> tuple[json_text.FoundObject, ReplyReading] | None:
    """A reply that can be read but for one opening bracket too many, without the answer that it is
    in; None where it is not that.
    """
    mended = without_stray_opening(body) if body.count(token) == 1 else None
    if mended is None or mended.found.value.get("token") != token:
        return None
    answers = mended.found.value.get("answers")
    if not isinstance(answers, dict | list):
        return None
    reading, lost = read(mended.found.value), mended.lost
    if isinstance(lost, int) and isinstance(answers, list):
        lost = str(answers[lost].get("n")) if isinstance(answers[lost], dict) else None
    if lost is None:
        return mended.found, reading
    whole = {number: mark for number, mark in reading.answers.items() if str(number) != lost}
    errors = {
        **reading.errors,
        **dict.fromkeys(reading.answers.keys() - whole.keys(), "a stray opening bracket is in it"),
    }
    dropped = {
        number: reading.answers[number].evidence for number in reading.answers.keys() - whole.keys()
    }
    return mended.found, replace(
        reading,
        answers=whole,
        errors=errors,
        unused_evidence={**reading.unused_evidence, **dropped},
    )


def _why_none(scan: json_text.Scan, cut: bool) -> str:
    if cut or scan.unfinished:
        return "the reply is cut off before its JSON object ends"
    if any("token" in found.value for found in scan.found):
        return "no JSON object in the reply echoes the token of this call"
    if scan.found:
        return 'no JSON object in the reply has a "token" and "answers"'
    return "the reply holds no JSON object that can be read"


def _is_blank(answers: object) -> bool:
    given = list(answers.values()) if isinstance(answers, dict) else answers
    return isinstance(given, list) and all(_is_open(_answer_of(one)) for one in given)


def _is_open(answer: object) -> bool:
    """Nothing, or a hint of the form in place of an answer."""
    return answer is None or (
        isinstance(answer, str) and answer.startswith("<") and answer.endswith(">")
    )


def _answer_of(given: object) -> object:
    return given.get("answer") if isinstance(given, dict) else given


def _read_object(
    value: Mapping[str, object], numbers: Collection[int], read_answer: ReadAnswer
) -> ReplyReading:
    given = value["answers"]
    if isinstance(given, list):
        given = _by_number(given)
    elif isinstance(given, dict):
        given = _with_answers_outside(given, value)
    twice = tolerant_json.doubled_keys(value) & {"token", "answers"}
    if twice or not isinstance(given, dict):
        why = f'"{min(twice)}" is there twice in the reply' if twice else _NO_ANSWERS
        return ReplyReading(errors=dict.fromkeys(numbers, why), problems=(why,))
    doubled = tolerant_json.doubled_keys(given)
    keys = {str(number): number for number in sorted(numbers)}
    if problem := _numbering_problem(given, doubled, keys):
        return ReplyReading(errors=dict.fromkeys(numbers, problem), problems=(problem,))
    answers: dict[int, Mark] = {}
    errors: dict[int, str] = {}
    repairs: list[str] = []
    unused: dict[int, tuple[str, ...]] = {}
    for key, number in keys.items():
        if key not in given:
            errors[number] = "not answered"
        elif key in doubled:
            errors[number] = "answered twice"
        elif isinstance(mark := read_answer(number, given[key], repairs), Mark):
            answers[number] = mark
            if mark.evidence:
                continue
        else:
            errors[number] = mark
        if evidence := _unused_evidence(given.get(key), answers.get(number)):
            unused[number] = evidence
    if isinstance(value["answers"], dict) and any(key in value for key in keys):
        repairs.append("a stray closing bracket between the answers")
    return ReplyReading(
        answers=answers, errors=errors, unused_evidence=unused, repairs=tuple(repairs)
    )


def _unused_evidence(given: object, mark: Mark | None) -> tuple[str, ...]:
    """The texts quoted in an answer that has no mark, or whose mark has none of them."""
    evidence = given.get("evidence") if isinstance(given, dict) else None
    if not evidence or (mark is not None and mark.evidence):
        return ()
    return tuple(_texts_in(evidence))


def _texts_in(value: object) -> Iterator[str]:
    """Every text in a value of JSON, in no particular order; keys of objects are texts too."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            waiting += one


# What an answer has, and nothing else: outside of one it is the rest of an answer that a stray
# bracket closed.
_OF_AN_ANSWER: Final = frozenset({"n", "evidence", "answer", "suggestion"})


def _with_answers_outside(
    given: dict[str, object], value: Mapping[str, object]
) -> dict[str, object]:
    """The answers with those that a stray closing bracket put next to them, whose keys can only be
    numbers of items.
    """
    outside = [
        (key, one) for key, one in value.items() if key.isdecimal() and isinstance(one, dict)
    ]
    if not outside:
        return given
    merged = tolerant_json.object_of([*given.items(), *outside])
    twice = tolerant_json.doubled_keys(given) | tolerant_json.doubled_keys(merged)
    return tolerant_json.doubled_object(
        merged, twice | (tolerant_json.doubled_keys(value) & {key for key, _ in outside})
    )


_NO_ANSWERS = (
    '"answers" is neither an object nor a list of objects, each with the number of its item as "n"'
)


def _by_number(answers: Sequence[object]) -> dict[str, object] | None:
    """A list of numbered answers as the object that the skeleton shows; None where one of them has
    no clear number.
    """
    pairs: list[tuple[str, object]] = []
    for answer in answers:
        number = (
            answer.get("n")
            if isinstance(answer, dict) and "n" not in tolerant_json.doubled_keys(answer)
            else None
        )
        if not is_integer(number):
            return None
        pairs.append((str(number), answer))
    return tolerant_json.object_of(pairs)


def _numbering_problem(
    given: Mapping[str, object], doubled: Collection[str], asked: Collection[str]
) -> str | None:
    """Why the answers are numbered otherwise than the items were. Then any of them may belong to
    another item.
    """
    unknown = [key for key in given if key not in asked and key not in _OF_AN_ANSWER]
    if unknown:
        return f"the reply answers items that were not asked: {short_list(unknown)}; none of its numbers can be trusted"
    missing = [key for key in asked if key not in given]
    twice = [key for key in asked if key in doubled]
    if missing and twice:
        return (
            f"the reply answers item {short_list(twice)} twice and item {short_list(missing)} not at all; "
            "none of its numbers can be trusted"
        )
    return None


def short_list(names: Sequence[str]) -> str:
    """The first of some names out of a reply, quoted and cut, for a message."""
    shown = ", ".join(repr(tolerant_json.clean_text(name[:20])) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return shown + more


def _read_answer(given: object, item: Item, number: int, repairs: list[str]) -> Mark | str:
    """The mark, or why there is none."""
    if not isinstance(given, dict):
        bare = _understood(item, given, number, repairs)
        return _value_problem(item, bare) or Mark(cast(Answer, bare))
    if why := shape_problem(given):
        return why
    answer = _understood(item, given["answer"], number, repairs)
    if why := _value_problem(item, answer):
        return why
    evidence = read_evidence(given, number, repairs)
    suggestion = given.get("suggestion")
    if suggestion is not None and not isinstance(suggestion, str):
        repairs.append(f"the suggestion for item {number} is not a text and was left out")
        suggestion = None
    return Mark(
        cast(Answer, answer),
        evidence,
        (tolerant_json.clean_text(suggestion.strip()) or None) if suggestion else None,
    )


def shape_problem(given: Mapping[str, object]) -> str | None:
    """Why an object cannot be an answer."""
    if twice := tolerant_json.doubled_keys(given):
        return f'"{tolerant_json.clean_text(min(twice)[:20])}" is there twice in the answer'
    return None if "answer" in given else 'has no "answer"'


_YES_NO: Final = json.loads(table_json("reading/yes_no"))
# Each also as its capitals read back: those of the Turkish `hayır` have lost the missing dot.
_AS_BOOLEAN: Final[Mapping[str, bool]] = {
    form: meaning
    for words, meaning in ((_YES_NO["yes"], True), (_YES_NO["no"], False))
    for word in words
    for form in (word, word.upper().casefold())
}
_FRACTION = late_pattern(
    r"([-−]?\d{1,9}(?:[.,]\d{1,9})?)\s*(?:/|out of)\s*(\d{1,9}(?:\.\d{1,9})?)", re.IGNORECASE
)


def _understood(item: Item, answer: object, number: int, repairs: list[str]) -> object:
    """A text that can only mean one answer as that answer: "yes" where true or false is asked for,
    "8/10" on a scale to 10.
    """
    if not isinstance(answer, str):
        return answer
    if item.anchors is None:
        value: object = _AS_BOOLEAN.get(
            " ".join(answer.strip(" \t\r\n.!*_`\"'").split()).casefold()
        )
    else:
        value = _of_fraction(answer, item.anchors)
    if value is None:
        return answer
    repairs.append(f"the answer to item {number} is a text")
    return value


def _fraction_of(answer: str) -> tuple[Fraction, Fraction] | None:
    match = _FRACTION.fullmatch(answer.strip())
    if match is None:
        return None
    return Fraction(match[1].replace(",", ".").replace("−", "-")), Fraction(match[2])


def _of_fraction(answer: str, anchors: Anchors) -> int | float | None:
    """8 of "8/10", where the scale ends with 10 and has an 8."""
    parts = _fraction_of(answer)
    if (
        parts is None
        or parts[1] != anchors.highest
        or not anchors.lowest <= parts[0] <= anchors.highest
    ):
        return None
    return as_written(parts[0])


def _value_problem(item: Item, answer: object) -> str | None:
    if (answer is True or answer is False) and item.anchors is None:
        return None
    # Containers are named, not shown: they may be endless.
    if isinstance(answer, dict | list):
        wanted = "true or false" if item.anchors is None else "a number"
        return f"expected {wanted}, got {'an object' if isinstance(answer, dict) else 'a list'}"
    if isinstance(answer, tolerant_json.Unusable):
        return f"{answer!r} is not a usable number"
    if isinstance(answer, str):
        answer = tolerant_json.clean_text(answer)
        if item.anchors is not None and _fraction_of(answer) is not None:
            scale = f"{as_written(item.anchors.lowest)}-{as_written(item.anchors.highest)}"
            return f"{answer[:40]!r} is not on the scale {scale}"
    return answer_problem(item, answer)


def read_evidence(answer: Mapping[str, object], number: int, repairs: list[str]) -> tuple[str, ...]:
    """The quotes, without empty ones."""
    given = answer.get("evidence")
    if given is None:
        return ()
    quotes: list[object] = given if isinstance(given, list) else [given]
    texts = [quote for quote in quotes if isinstance(quote, str)]
    if len(texts) < len(quotes):
        repairs.append(f"evidence of item {number} is not a text and was left out")
        return ()
    return tuple(tolerant_json.clean_text(quote) for quote in texts if quote.strip())
