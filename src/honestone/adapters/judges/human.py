"""`human`: a person as a judge. One item at a time, at the person's own pace: `--judge-timeout`
does not hold here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, TypedDict

from honestone.core.artifact import digest_of
from honestone.core.judging.ballot import Answer, Mark, Question, Reading
from honestone.core.judging.request import judge_request
from honestone.core.judging.rubric import Item, Key
from honestone.core.reading.answers import load_strict, read_program
from honestone.ports import CallFailed, Reply, Request


class AnsweringPerson(Protocol):
    """Somebody who can be asked. What was said is kept at once, under `key`, until `forget`."""

    async def answer(self, question: Question, key: str, name: str) -> Mapping[Key, Mark | None]:
        """Every item of the question with its mark, or None where it was skipped. `name` is the
        judge's.

        Raises CallFailed when no one can be asked. When the person puts it off, the command is
        interrupted.
        """
        ...

    def forget(self, key: str) -> None: ...


class HumanJudge:
    """Asks a person. One question at a time, whatever else happens; a reply counts as a call and is
    never asked for twice.

    Skipped items are abstentions; they are not asked once more.
    """

    is_paid = True
    concurrency = 1

    def __init__(self, id: str, person: AnsweringPerson) -> None:
        self.id = id
        self._person = person
        self._handed_in: list[str] = []

    identity: Final = {"kind": "human", "timeout": None}

    def render(self, question: Question, problems: Sequence[str] = ()) -> Request:
        return Request(body=json.dumps(judge_request(question, problems), ensure_ascii=False))

    async def ask(self, request: Request, question: Question) -> Reply:
        key = digest_of(request.body.encode("utf-8", "surrogatepass")).removeprefix("sha256:")[:32]
        marks = await self._person.answer(question, key, self.id)
        if not any(marks.values()):
            raise CallFailed("the person skipped every item")
        self._handed_in.append(key)
        return Reply(text=write_reply(question, marks))

    def read(self, question: Question, request: Request, reply: Reply) -> Reading:
        found = read_program(reply.text, question)
        skipped = _skipped(reply.text)
        errors = {key: why for key, why in found.errors.items() if key not in skipped}
        return Reading(marks=found.marks, errors=errors, problems=found.problems)

    async def close(self) -> None:
        """Delete the person's unfinished forms: every reply is on record now."""
        for key in self._handed_in:
            self._person.forget(key)
        self._handed_in.clear()


def write_reply(question: Question, marks: Mapping[Key, Mark | None]) -> str:
    """What a person said as the JSON that script judges print; `skipped` names what was left out on
    purpose.
    """
    criteria: dict[str, _Entry | _Items | None] = {}
    for criterion in question.criteria:
        items: dict[str, _Entry | None] = {}
        for item in criterion.items:
            mark = marks.get((criterion.id, item.id))
            entry = _entry(item, mark)
            if item.whole:
                criteria[criterion.id] = entry
            else:
                items[item.id] = entry
        if items:
            criteria[criterion.id] = {"items": items}
    skipped = [list(key) for key, mark in marks.items() if mark is None]
    return json.dumps({"criteria": criteria, "skipped": skipped}, ensure_ascii=False)


class _Entry(TypedDict, total=False):
    """What was answered: yes or no in `met`, a level in `score`."""

    met: Answer
    score: Answer
    evidence: list[str]
    suggestion: str


class _Items(TypedDict):
    """The answers to the items of a criterion."""

    items: dict[str, _Entry | None]


def _entry(item: Item, mark: Mark | None) -> _Entry | None:
    if mark is None:
        return None
    entry: _Entry = {"met": mark.answer} if item.anchors is None else {"score": mark.answer}
    if mark.evidence:
        entry["evidence"] = list(mark.evidence)
    if mark.suggestion:
        entry["suggestion"] = mark.suggestion
    return entry


def _skipped(text: str) -> set[Key]:
    try:
        plain = load_strict(text)
    except ValueError:
        return set()
    listed = plain.get("skipped") if isinstance(plain, dict) else None
    pairs = listed if isinstance(listed, list) else []
    return {
        (pair[0], pair[1])
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair)
    }
