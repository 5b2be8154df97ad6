"""The JSON that judges who are programs print, read strictly. Nothing is guessed, summed or
clamped.

Where an id was not asked, no id of the reply is trusted: they may be shifted (`q0` to `q3` for `q1`
to `q4`).

{"criteria": {ID: {"items": {ITEM: {"met": true|false|null|"n/a", "evidence", "suggestion"}}}
                | {"score": NUMBER} | {"met": ...}}}
{"score": 0..1, "assertions": [{"text", "passed", "evidence"}]}       where the rubric is a single criterion
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, cast

from honestone.core.json_value import is_number
from honestone.core.judging.ballot import (
    Answer,
    AskedCriterion,
    Mark,
    Question,
    Reading,
    answer_problem,
)
from honestone.core.judging.rubric import Item, Key, as_written
from honestone.core.numbers import exact
from honestone.core.reading.tolerant_json import clean_text


class Twice:
    """Stands for the value of a key that an object holds more than once."""

    def __repr__(self) -> str:
        return "two answers"


class NotFinite:
    """Stands for NaN and the infinities, which JSON does not have."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


_TWICE: Final = Twice()


def load_strict(text: str) -> object:
    """JSON in which a key given twice has the value `Twice` and NaN is `NotFinite`. Raises
    ValueError.
    """

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        out: dict[str, object] = {}
        for key, value in found:
            out[key] = _TWICE if key in out else value
        return out

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=NotFinite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_program(text: str, question: Question) -> Reading:
    """What a program printed, as answers to the question. Never raises: whatever is wrong is an
    error of an item.
    """
    try:
        plain = load_strict(text)
    except ValueError as error:
        what = (
            "it printed nothing"
            if not text.strip()
            else f"what it printed is not a JSON object: {error}"
        )
        return _nothing(question, what)
    if not isinstance(plain, dict):
        return _nothing(question, "what it printed is JSON, but not an object")
    return read_answers(plain, question)


def read_answers(plain: Mapping[str, object], question: Question) -> Reading:
    criteria = plain.get("criteria")
    if isinstance(criteria, dict):
        return _read_criteria(criteria, question)
    if "criteria" in plain:
        return _nothing(question, "`criteria` is not an object")
    if len(question.criteria) == 1 and ("score" in plain or "assertions" in plain):
        return _read_single(plain, question)
    return _nothing(question, "it has no `criteria`")


def _nothing(question: Question, why: str) -> Reading:
    return Reading(marks={}, errors={key: why for key, _ in question.items()}, problems=(why,))


def _read_criteria(criteria: Mapping[str, object], question: Question) -> Reading:
    known = _Ids(question)
    unknown = [
        f"`{clean_text(name)}` is not a criterion that was asked"
        for name in criteria
        if name not in known.criteria
    ]
    for criterion in question.criteria:
        unknown += known.unknown_items(criterion, criteria.get(criterion.id))
    if unknown:
        return _untrusted(unknown, question)
    marks: dict[Key, Mark] = {}
    errors: dict[Key, str] = {}
    problems: list[str] = []
    for criterion in question.criteria:
        given = criteria.get(criterion.id)
        for item, answer, where in _pair(criterion, given, problems):
            key = (criterion.id, item.id)
            mark = _mark(item, answer)
            if isinstance(mark, Mark):
                marks[key] = mark
            else:
                errors[key] = f"{where}: {mark}"
    return Reading(marks=marks, errors=errors, problems=tuple(problems))


class _Ids:
    """The ids that a reply to a question may name: those asked in this call or in another one."""

    def __init__(self, question: Question) -> None:
        self._all = question.also_asked | {key for key, _ in question.items()}
        self.criteria = {criterion for criterion, _ in self._all}

    def unknown_items(self, criterion: AskedCriterion, given: object) -> list[str]:
        answers = given.get("items") if isinstance(given, dict) else None
        if not isinstance(answers, dict):
            return []
        whole = {item.id for item in criterion.items if item.whole}
        return [
            f"`{criterion.id}` has no item `{clean_text(name)}` that was asked"
            for name in answers
            if name in whole or (criterion.id, name) not in self._all
        ]


def _untrusted(unknown: Sequence[str], question: Question) -> Reading:
    """A reply with ids that were not asked for: no answer of it is taken."""
    more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
    return _nothing(question, f"{'; '.join(unknown[:3])}{more}; none of its ids can be trusted")


def _pair(
    criterion: AskedCriterion, given: object, problems: list[str]
) -> Iterator[tuple[Item, object, str]]:
    """Each item of a criterion with what was answered to it (None: nothing) and a name for
    messages.
    """
    entry = given if isinstance(given, dict) else {}
    listed = entry.get("items")
    answers = listed if isinstance(listed, dict) else {}
    if isinstance(listed, list):
        problems.append(f"`items` of `{criterion.id}` is a list, but must be an object of item ids")
    for item in criterion.items:
        name = criterion.id if item.whole else f"{criterion.id}/{item.id}"
        yield item, (given if item.whole else answers.get(item.id)), name


def _mark(item: Item, given: object) -> Mark | str:
    """One answer as a mark, or why it is none."""
    if given is None:
        return "no answer"
    if isinstance(given, Twice):
        return "answered twice"
    bare_field = "score" if item.anchors else "met"
    entry = given if isinstance(given, dict) else {bare_field: given}
    if item.anchors is not None:
        if "score" not in entry:
            has_met = "met" in entry
            return (
                "a number on its scale is needed (`score`), got `met`" if has_met else "no `score`"
            )
        answer = entry["score"]
    elif "met" in entry:
        answer = entry["met"]
    elif "score" in entry:
        answer = _zero_or_one(entry["score"])
        if answer is None:
            return f"a yes/no question takes `met`, or a score of 0 or 1, got {entry['score']!r}"
    else:
        return "no `met`"
    if answer is None:
        return "no answer (null)"
    if isinstance(answer, Twice | NotFinite):
        return f"{answer!r} is not an answer"
    problem = answer_problem(item, answer)
    return problem or Mark(
        cast(Answer, answer), _texts(entry.get("evidence")), _text_if_any(entry.get("suggestion"))
    )


def _zero_or_one(score: object) -> bool | None:
    if not is_number(score) or score not in (0, 1):
        return None
    return bool(score)


def _texts(value: object) -> tuple[str, ...]:
    found = value if isinstance(value, list) else [value]
    return tuple(text for text in found if isinstance(text, str) and text.strip())


def _text_if_any(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _read_single(plain: Mapping[str, object], question: Question) -> Reading:
    """The reply of AgentV's code graders: a score from 0 to 1, or one assertion per item."""
    criterion = question.criteria[0]
    assertions = plain.get("assertions")
    if len(criterion.items) == 1 and criterion.items[0].whole:
        return _read_one(plain, criterion)
    if not isinstance(assertions, list):
        why = "a score for the whole criterion does not say which items are met; answer each item"
        return _nothing(question, why)
    given: dict[str, object] = {}
    unknown: list[str] = []
    for entry in assertions:
        text = entry.get("text") if isinstance(entry, dict) else None
        item = next((i for i in criterion.items if text in (i.id, i.requirement)), None)
        if item is None:
            unknown.append(f"no item has the text {_shown_text(text)}")
        else:
            given[item.id] = (
                _TWICE
                if item.id in given
                else {"met": entry.get("passed"), "evidence": entry.get("evidence")}
            )
    if unknown:
        return _untrusted(unknown, question)
    return _read_criteria({criterion.id: {"items": given}}, question)


def _shown_text(text: object) -> str:
    return repr(clean_text(text[:60])) if isinstance(text, str) else "that is not a text"


def _read_one(plain: Mapping[str, object], criterion: AskedCriterion) -> Reading:
    item = criterion.items[0]
    answer: dict[str, object] = {"score": plain.get("score")}
    if item.anchors is not None:
        share = _share(plain.get("score"))
        if share is None:
            why = f"`score` must be a number from 0 to 1, got {plain.get('score')!r}"
            return Reading(marks={}, errors={(criterion.id, item.id): why})
        answer["score"] = as_written(
            item.anchors.lowest + share * (item.anchors.highest - item.anchors.lowest)
        )
    assertions = plain.get("assertions")
    if isinstance(assertions, list):
        answer["evidence"] = [
            entry[name]
            for entry in assertions
            if isinstance(entry, dict)
            for name in ("evidence",)
            if isinstance(entry.get(name), str)
        ]
    mark = _mark(item, answer)
    key = (criterion.id, item.id)
    return (
        Reading(marks={key: mark})
        if isinstance(mark, Mark)
        else Reading(marks={}, errors={key: mark})
    )


def _share(score: object) -> Fraction | None:
    """A number from 0 to 1, exactly; None for anything else, text that looks like a number too."""
    if not is_number(score) or not 0 <= score <= 1:
        return None
    return exact(score)
