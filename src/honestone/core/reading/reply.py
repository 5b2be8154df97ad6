"""Reading what a model replied to a prompt: the answers that are surely there, and why there is none for the rest.

The reply has to hold one whole JSON object that echoes the call's token: `{"token": ..., "answers": {"1": {"evidence",
"answer", "suggestion"}, ...}}`, or `"answers": [{"n": 1, "evidence", ...}, ...]`. An object with another token is quoted or
forged; two different ones with the right token are ambiguous. Where a number was not asked, no number of the reply counts.
Nothing is completed, clamped or assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from honestone.core.ballot import Mark, Reading, answer_problem
from honestone.core.reading import json_text
from honestone.core.rubric import Item, Key


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplySchema:
    """What a reply has to hold: the token, and an answer for each numbered item."""

    token: str
    items: Mapping[int, Item]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyReading:
    """The valid answers by number, the reason for each number that has none, and what concerns the whole reply.

    Every number of the schema is in exactly one of `answers` and `errors`. `problems` and `errors` are worth asking
    once more; `repairs` only say what was overlooked.
    """

    answers: Mapping[int, Mark] = field(default_factory=dict)
    errors: Mapping[int, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


# Number and what was answered to it: the mark, or why there is none. What was left out is added to the repairs.
ReadAnswer: TypeAlias = Callable[[int, object, list[str]], "Mark | str"]


def read_reply(text: str, schema: ReplySchema, *, cut: bool = False) -> ReplyReading:
    """Never raises, whatever the text. `cut`: the model was stopped by a length limit, so nothing is repaired."""

    def read_answer(number: int, given: object, repairs: list[str]) -> Mark | str:
        return _read_answer(given, schema.items[number], number, repairs)

    return read_numbered(text, schema.token, schema.items, read_answer, cut=cut)


def read_numbered(
    text: str, token: str, numbers: Collection[int], read_answer: ReadAnswer, *, cut: bool = False
) -> ReplyReading:
    """`{"token": ..., "answers": {"1": ..., ...}}`: the one object with the token, each of its answers read."""
    body, thought = json_text.without_thinking(text)
    body, encoded = (body, False) if cut else json_text.decoded_once(body)
    try:
        found, reading = _choose(
            body,
            json_text.objects_in(body, lenient=not cut),
            token,
            lambda value: _read_object(value, numbers, read_answer),
            cut,
        )
    except _Unreadable as error:
        return ReplyReading(errors=dict.fromkeys(numbers, error.why), problems=(error.why,))
    dropped = [what for what, is_there in (("a thinking block", thought), (json_text.ENCODED, encoded)) if is_there]
    around = (*dropped, *json_text.around_repairs(body, found), *found.repairs)
    return replace(reading, repairs=(*around, *reading.repairs)) if around else reading


class _Unreadable(Exception):
    def __init__(self, why: str) -> None:
        self.why = why


def complaints(numbers: Mapping[int, Key], reading: Reading, control: int | None = None) -> tuple[str, ...]:
    """What a judge reads when it is asked once more. It names items by number: their words and ids stay out.

    A reason that voided the whole reply is said once, not for every item. `control` is the control item's number.
    """
    number_of = {key: number for number, key in numbers.items()}
    by_reason: dict[str, list[int]] = {}
    for key, why in reading.errors.items():
        if why not in reading.problems and key in number_of:
            by_reason.setdefault(why, []).append(number_of[key])
    if control is not None and reading.control_error is not None:
        # Named like any other, among those with the same reason, or it would stand out.
        by_reason.setdefault(reading.control_error, []).append(control)
    lines = list(reading.problems)
    for why, those in by_reason.items():
        named = ", ".join(str(number) for number in sorted(those))
        lines.append(f"item{'s' if len(those) > 1 else ''} {named}: {why}")
    return tuple(dict.fromkeys(lines))


def _choose(
    body: str, scan: json_text.Scan, token: str, read: Callable[[Mapping[str, object]], ReplyReading], cut: bool
) -> tuple[json_text.FoundObject, ReplyReading]:
    """The one object that is the reply with its reading."""
    if not body.strip():
        raise _Unreadable("the reply is empty")
    if scan.given_up:
        raise _Unreadable(f"the reply cannot be read: {scan.given_up}")
    if scan.unfinished and token in body[scan.unfinished.start :]:
        raise _Unreadable("the reply is cut off: its last JSON object does not end")
    ours = [found for found in scan.found if found.value.get("token") == token and "answers" in found.value]
    if not ours:
        raise _Unreadable(_why_none(scan, cut))
    # A judge may repeat the empty skeleton before it fills it in; it answers nothing, so it contradicts nothing.
    ours = [found for found in ours if not _is_blank(found.value["answers"])] or ours[:1]
    readings = [read(found.value) for found in ours]
    if len(ours) > 1 and any(reading != readings[0] for reading in readings):
        raise _Unreadable("the reply holds different JSON objects with the token, so it is ambiguous")
    if scan.skipped and any(token in body[part.start : part.end] for part in scan.abandoned_after(ours[-1].end)):
        raise _Unreadable("the reply holds a damaged JSON object after the one with the token, so it is ambiguous")
    if cut and body.strip() != body[ours[0].start : ours[0].end]:
        raise _Unreadable("the reply is cut off")
    return ours[0], readings[0]


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
    return answer is None or (isinstance(answer, str) and answer.startswith("<") and answer.endswith(">"))


def _answer_of(given: object) -> object:
    return given.get("answer") if isinstance(given, dict) else given


def _read_object(value: Mapping[str, object], numbers: Collection[int], read_answer: ReadAnswer) -> ReplyReading:
    given = value["answers"]
    if isinstance(given, list):
        given = _by_number(given)
    twice = json_text.doubled_keys(value) & {"token", "answers"}
    if twice or not isinstance(given, dict):
        why = f'"{min(twice)}" is there twice in the reply' if twice else _NO_ANSWERS
        return ReplyReading(errors=dict.fromkeys(numbers, why), problems=(why,))
    doubled = json_text.doubled_keys(given)
    keys = {str(number): number for number in sorted(numbers)}
    if problem := _numbering_problem(given, doubled, keys):
        return ReplyReading(errors=dict.fromkeys(numbers, problem), problems=(problem,))
    answers: dict[int, Mark] = {}
    errors: dict[int, str] = {}
    repairs: list[str] = []
    for key, number in keys.items():
        if key not in given:
            errors[number] = "not answered"
        elif key in doubled:
            errors[number] = "answered twice"
        elif isinstance(mark := read_answer(number, given[key], repairs), Mark):
            answers[number] = mark
        else:
            errors[number] = mark
    return ReplyReading(answers=answers, errors=errors, repairs=tuple(repairs))


_NO_ANSWERS = '"answers" is neither an object nor a list of objects, each with the number of its item as "n"'


def _by_number(answers: Sequence[object]) -> dict[str, object] | None:
    """A list of numbered answers as the object that the skeleton shows; None where one of them has no clear number."""
    pairs: list[tuple[str, object]] = []
    for answer in answers:
        number = answer.get("n") if isinstance(answer, dict) and "n" not in json_text.doubled_keys(answer) else None
        if not isinstance(number, int) or isinstance(number, bool):
            return None
        pairs.append((str(number), answer))
    return json_text.object_of(pairs)


def _numbering_problem(given: Mapping[str, object], doubled: Collection[str], asked: Collection[str]) -> str | None:
    """Why the answers are numbered otherwise than the items were. Then any of them may belong to another item."""
    unknown = [key for key in given if key not in asked]
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
    shown = ", ".join(repr(json_text.clean_text(name[:20])) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return shown + more


def _read_answer(given: object, item: Item, number: int, repairs: list[str]) -> Mark | str:
    """The mark, or why there is none."""
    if not isinstance(given, dict):
        return _value_problem(item, given) or Mark(given)  # type: ignore[arg-type]
    if why := shape_problem(given):
        return why
    answer = given["answer"]
    if why := _value_problem(item, answer):
        return why
    evidence = read_evidence(given, number, repairs)
    suggestion = given.get("suggestion")
    if suggestion is not None and not isinstance(suggestion, str):
        repairs.append(f"the suggestion for item {number} is not a text and was left out")
        suggestion = None
    return Mark(answer, evidence, (json_text.clean_text(suggestion.strip()) or None) if suggestion else None)


def shape_problem(given: Mapping[str, object]) -> str | None:
    """Why an object cannot be an answer."""
    if twice := json_text.doubled_keys(given):
        return f'"{json_text.clean_text(min(twice)[:20])}" is there twice in the answer'
    return None if "answer" in given else 'has no "answer"'


def _value_problem(item: Item, answer: object) -> str | None:
    if (answer is True or answer is False) and item.anchors is None:
        return None
    # Containers are named, not shown: they may be endless.
    if isinstance(answer, dict | list):
        wanted = "true or false" if item.anchors is None else "a number"
        return f"expected {wanted}, got {'an object' if isinstance(answer, dict) else 'a list'}"
    if isinstance(answer, json_text.Unusable):
        return f"{answer!r} is not a usable number"
    if isinstance(answer, str):
        answer = json_text.clean_text(answer)
    return answer_problem(item, answer)


def read_evidence(answer: Mapping[str, object], number: int, repairs: list[str]) -> tuple[str, ...]:
    """The quotes, without empty ones."""
    given = answer.get("evidence")
    quotes = given if isinstance(given, list) else [] if given is None else [given]
    texts = [quote for quote in quotes if isinstance(quote, str)]
    if len(texts) < len(quotes):
        repairs.append(f"evidence of item {number} is not a text and was left out")
        return ()
    return tuple(json_text.clean_text(quote) for quote in texts if quote.strip())
