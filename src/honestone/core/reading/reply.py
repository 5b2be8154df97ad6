"""Reading what a model replied to a prompt: the answers that surely stand there, and why there is none for the rest.

The reply has to hold one whole JSON object that echoes the call's token: `{"token": ..., "answers": {"1": {"evidence",
"answer", "suggestion"}, ...}}`. An object with another token is quoted or forged; two different ones with the right
token are ambiguous. Nothing is completed, clamped or assumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from honestone.core.ballot import Mark, Reading, answer_problem
from honestone.core.reading.json_text import (
    FoundObject,
    Scan,
    Unusable,
    around_repairs,
    clean_text,
    doubled_keys,
    objects_in,
    without_thinking,
)
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


def read_reply(text: str, schema: ReplySchema, *, cut: bool = False) -> ReplyReading:
    """Never raises, whatever the text. `cut`: the model was stopped by a length limit, so nothing is repaired."""
    body, thought = without_thinking(text)
    scan = objects_in(body, lenient=not cut)
    chosen = _choose(body, scan, schema, cut=cut)
    if isinstance(chosen, str):
        return ReplyReading(errors=dict.fromkeys(schema.items, chosen), problems=(chosen,))
    found, reading = chosen
    dropped = ("a thinking block",) if thought else ()
    return ReplyReading(
        answers=reading.answers,
        errors=reading.errors,
        problems=reading.problems,
        repairs=(*dropped, *around_repairs(body, found), *found.repairs, *reading.repairs),
    )


def complaints(numbers: Mapping[int, Key], reading: Reading, control: int | None = None) -> tuple[str, ...]:
    """What a judge is told when it is asked once more. It names items by number: their words and ids stay out.

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


def _choose(body: str, scan: Scan, schema: ReplySchema, *, cut: bool) -> tuple[FoundObject, ReplyReading] | str:
    """The one object that is the reply with its reading, or why there is none."""
    if not body.strip():
        return "the reply is empty"
    if scan.given_up:
        return f"the reply cannot be read: {scan.given_up}"
    if scan.unfinished and schema.token in body[scan.unfinished.start :]:
        return "the reply is cut off: its last JSON object does not end"
    ours = [found for found in scan.found if _echoes(found.value, schema.token)]
    if not ours:
        return _why_none(scan, cut)
    # A judge may repeat the empty skeleton before it fills it in; it answers nothing, so it contradicts nothing.
    ours = [found for found in ours if not _is_blank(found.value)] or ours[:1]
    readings = [_read_object(found.value, schema) for found in ours]
    if any(reading != readings[0] for reading in readings):
        return "the reply holds different JSON objects with the token, so it is ambiguous"
    if any(schema.token in body[part.start : part.end] for part in scan.abandoned_after(ours[-1].end)):
        return "the reply holds a damaged JSON object after the one with the token, so it is ambiguous"
    if cut and body.strip() != body[ours[0].start : ours[0].end]:
        return "the reply is cut off"
    return ours[0], readings[0]


def _why_none(scan: Scan, cut: bool) -> str:
    if cut or scan.unfinished:
        return "the reply is cut off before its JSON object ends"
    if any("token" in found.value for found in scan.found):
        return "no JSON object in the reply echoes the token of this call"
    if scan.found:
        return 'no JSON object in the reply has a "token" and "answers"'
    return "the reply holds no JSON object that can be read"


def _echoes(value: Mapping[str, Any], token: str) -> bool:
    return value.get("token") == token and "answers" in value


def _is_blank(value: Mapping[str, Any]) -> bool:
    answers = value["answers"]
    return isinstance(answers, dict) and all(_answer_of(given) is None for given in answers.values())


def _answer_of(given: object) -> object:
    return given.get("answer") if isinstance(given, dict) else given


def _read_object(value: Mapping[str, Any], schema: ReplySchema) -> ReplyReading:
    given = value["answers"]
    twice = doubled_keys(value) & {"token", "answers"}
    if twice or not isinstance(given, dict):
        why = f'"{min(twice)}" stands twice in the reply' if twice else '"answers" is not an object'
        return ReplyReading(errors=dict.fromkeys(schema.items, why), problems=(why,))
    answers: dict[int, Mark] = {}
    errors: dict[int, str] = {}
    repairs: list[str] = []
    doubled = doubled_keys(given)
    for number, item in schema.items.items():
        key = str(number)
        if key not in given:
            errors[number] = "not answered"
        elif key in doubled:
            errors[number] = "answered twice"
        else:
            mark = _read_answer(given[key], item, number, repairs)
            if isinstance(mark, Mark):
                answers[number] = mark
            else:
                errors[number] = mark
    asked = set(map(str, schema.items))
    unknown = [key for key in given if key not in asked]
    return ReplyReading(
        answers=answers, errors=errors, problems=tuple(_unknown_problem(unknown)), repairs=tuple(repairs)
    )


def _unknown_problem(unknown: Sequence[str]) -> list[str]:
    if not unknown:
        return []
    shown = ", ".join(repr(clean_text(key[:20])) for key in unknown[:3])
    more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
    return [f"the reply answers items that were not asked: {shown}{more}"]


def _read_answer(given: object, item: Item, number: int, repairs: list[str]) -> Mark | str:
    """The mark, or why there is none."""
    if not isinstance(given, dict):
        why = _value_problem(item, given)
        return why if why else Mark(given)  # type: ignore[arg-type]
    twice = doubled_keys(given)
    if twice:
        return f'"{clean_text(min(twice)[:20])}" stands twice in the answer'
    if "answer" not in given:
        return 'has no "answer"'
    answer = given["answer"]
    if why := _value_problem(item, answer):
        return why
    evidence = _evidence(given.get("evidence"))
    if evidence is None:
        repairs.append(f"evidence of item {number} is no text and was left out")
    suggestion = given.get("suggestion")
    if suggestion is not None and not isinstance(suggestion, str):
        repairs.append(f"the suggestion for item {number} is no text and was left out")
        suggestion = None
    return Mark(answer, evidence or (), (clean_text(suggestion.strip()) or None) if suggestion else None)


def _value_problem(item: Item, answer: object) -> str | None:
    if (answer is True or answer is False) and item.anchors is None:
        return None
    # Containers are named, not shown: they may be endless.
    if isinstance(answer, dict | list):
        wanted = "true or false" if item.anchors is None else "a number"
        return f"expected {wanted}, got {'an object' if isinstance(answer, dict) else 'a list'}"
    if isinstance(answer, Unusable):
        return f"{answer!r} is no usable number"
    if isinstance(answer, str):
        answer = clean_text(answer)
    return answer_problem(item, answer)


def _evidence(given: object) -> tuple[str, ...] | None:
    """The quotes, without empty ones; None when it is neither text nor a list of texts."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (clean_text(given),) if given.strip() else ()
    if not isinstance(given, list) or not all(isinstance(quote, str) for quote in given):
        return None
    return tuple(clean_text(quote) for quote in given if quote.strip())
