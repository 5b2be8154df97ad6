"""Judges, models and workers that follow a script."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from honestone import ports
from honestone.core.json_value import Json
from honestone.core.judging.ballot import Answer, Question, Reading
from honestone.core.judging.contract import Identity
from honestone.core.judging.controls import is_control_item
from honestone.core.judging.request import judge_request
from honestone.core.judging.rubric import Item, Key, as_written
from honestone.core.reading.answers import read_program


class _Scripted:
    """Takes one step for ever, or a list of steps one after another."""

    def __init__(self, steps: Any, what: str, usage: ports.Usage | None = None) -> None:
        self.closed = 0
        self._steps = list(steps) if isinstance(steps, list | tuple) else None
        self._always = steps
        self._what = what
        self._usage = usage or ports.Usage()
        self._taken = 0

    async def _step(self, *given: object) -> Any:
        """What the next step comes to: a function is called with what is `given`, an error is
        raised.
        """
        self._taken += 1
        if self._steps is not None and self._taken > len(self._steps):
            raise AssertionError(
                f"{self._what} has {len(self._steps)} steps, but was asked for one more"
            )
        step = self._always if self._steps is None else self._steps[self._taken - 1]
        if callable(step) and not isinstance(step, type):
            step = step(*given)
        if isinstance(step, Awaitable):
            step = await step
        if isinstance(step, BaseException):
            raise step
        return step

    async def close(self) -> None:
        self.closed += 1


# Answers by (criterion, item), item or criterion; the most exact name counts. One left out is not
# answered.
Answers: TypeAlias = Mapping[Any, Any]


class ScriptedJudge(_Scripted):
    """A `Judge` that gives the answers it was made with. It reads its own replies as those of
    `script:` judges are read.

    A step is True, False or a number (to every item), a mapping of answers, a text (the raw reply),
    a Reply, a CallFailed to raise, or a function of the question that returns one of these.
    `questions`, `problems` and `bodies` hold what it was asked, call by call.
    """

    def __init__(
        self,
        steps: Any = True,
        *,
        id: str = "judge",
        is_paid: bool = True,
        usage: ports.Usage | None = None,
        identity: Identity | None = None,
    ) -> None:
        super().__init__(steps, f"the script of the judge {id!r}", usage)
        self.id = id
        self.is_paid = is_paid
        self.identity: Identity = {"kind": "scripted", "name": id, **(identity or {})}
        self.questions: list[Question] = []
        self.problems: list[tuple[str, ...]] = []
        self.bodies: list[str] = []

    @property
    def calls(self) -> int:
        return len(self.questions)

    def render(self, question: Question, problems: Sequence[str] = ()) -> ports.Request:
        return ports.Request(body=json.dumps(judge_request(question, problems), ensure_ascii=False))

    async def ask(self, request: ports.Request, question: Question) -> ports.Reply:
        self.questions.append(question)
        self.bodies.append(request.body)
        self.problems.append(tuple(json.loads(request.body).get("problems", ())))
        step = await self._step(question)
        if isinstance(step, ports.Reply):
            return step
        text = (
            step
            if isinstance(step, str)
            else json.dumps(reply_json(question, step), ensure_ascii=False)
        )
        return ports.Reply(text=text, usage=self._usage)

    def read(self, question: Question, request: ports.Request, reply: ports.Reply) -> Reading:
        return read_program(reply.text, question)


def reply_json(question: Question, answers: Any) -> dict[str, Json]:
    """Answers as the JSON that a `script:` judge prints.

    `answers` is one answer to every item (True stands for the top of a scale, False for its
    bottom), or a mapping from (criterion, item), item or criterion. An answer may be an object with
    `met` or `score`, `evidence`, `suggestion`.
    """
    criteria: dict[str, Json] = {}
    for criterion in question.criteria:
        given: dict[str, Json] = {}
        items: dict[str, Json] = {}
        for item in criterion.items:
            answer = _answer_for((criterion.id, item.id), answers)
            if answer is _NOTHING:
                continue
            entry = _entry(item, answer)
            if item.whole:
                given.update(entry)
            else:
                items[item.id] = entry
        if items:
            given["items"] = items
        if given:
            criteria[criterion.id] = given
    return {"criteria": criteria}


_NOTHING: Final = object()


def _answer_for(key: Key, answers: Any) -> Any:
    if not isinstance(answers, Mapping):
        return answers
    return next((answers[name] for name in (key, key[1], key[0]) if name in answers), _NOTHING)


def _entry(item: Item, answer: Any) -> dict[str, Json]:
    if isinstance(answer, Mapping):
        return dict(answer)
    if item.anchors is None or answer == "n/a":
        return {"score" if item.anchors else "met": answer}
    if isinstance(answer, bool):
        answer = as_written(item.anchors.highest if answer else item.anchors.lowest)
    return {"score": answer}


class ScriptedModel(_Scripted):
    """A `Model` that writes what it was made with.

    A step is a text, a Completion, a CallFailed to raise, or a function of the prompt that returns
    one of these (`fill_in` makes one that answers a judge's prompt). `prompts` holds what it was
    asked.
    """

    def __init__(
        self, steps: Any = "", *, name: str = "scripted", usage: ports.Usage | None = None
    ) -> None:
        super().__init__(steps, f"the script of the model {name!r}", usage)
        self.identity: Identity = {"kind": "scripted", "model": name}
        self.prompts: list[ports.Prompt] = []
        self._name = name

    async def complete(self, prompt: ports.Prompt) -> ports.Completion:
        self.prompts.append(prompt)
        step = await self._step(prompt)
        if isinstance(step, ports.Completion):
            return step
        return ports.Completion(text=step, usage=self._usage, model=self._name)


def fill_in(
    answer: Answer | Callable[[str], Any] = True,
    *,
    evidence: str = "",
    suggestion: str = "",
    control: Any = False,
) -> Callable[[ports.Prompt], str]:
    """A step for `ScriptedModel`: the reply's skeleton at the end of a judge's prompt, filled in.

    `answer` is one answer to every item, or a function of an item's requirement. Control items,
    whose right answer is no, get `control`; they are those whose last word is nowhere else in the
    prompt.
    """

    def reply(prompt: ports.Prompt) -> str:
        skeleton = _last_object(prompt.text)
        requirements = _numbered(prompt.text)
        for number, entry in skeleton["answers"].items():
            requirement = requirements[number]
            is_control = prompt.text.count(requirement.split()[-1]) == 1 and is_control_item(
                requirement
            )
            if is_control:
                given = control
            else:
                given = answer(requirement) if callable(answer) else answer
            entry.update(evidence=evidence, answer=given, suggestion=suggestion)
        return json.dumps(skeleton, ensure_ascii=False)

    return reply


def _last_object(text: str) -> Any:
    at = text.rindex('{"token"')
    return json.JSONDecoder().raw_decode(text[at:])[0]


def _numbered(text: str) -> dict[str, str]:
    """The items of a prompt by number. Items come after the artifact, so the last line of a number
    is ours.
    """
    found = {}
    for line in text.splitlines():
        if line.startswith("[") and "] " in line:
            number, _, requirement = line[1:].partition("] ")
            if number.isdigit():
                found[number] = requirement
    return found


class ScriptedWorker(_Scripted):
    """A `Worker` that makes the edits it was made with.

    A step is a text (the new content of a file artifact), a mapping of paths to texts or None (a
    folder's files to write and to delete), a WorkDone, or a function of (place, brief) that edits
    and may return one of these. `briefs` holds the briefs that it was given.
    """

    def __init__(self, steps: Any, *, id: str = "scripted", fixes_only: bool = False) -> None:
        super().__init__(steps, f"the script of the worker {id!r}")
        self.id = id
        self.identity: Identity = {"kind": "scripted", "name": id}
        self.briefs: list[ports.Brief] = []
        self._fixes_only = fixes_only

    @property
    def calls(self) -> int:
        return len(self.briefs)

    def can_work_on(self, fixes: Sequence[str]) -> bool:
        return bool(fixes) or not self._fixes_only

    async def propose(self, brief: ports.Brief, place: Path, brief_file: Path) -> ports.WorkDone:
        self.briefs.append(brief)
        step = await self._step(place, brief)
        if isinstance(step, str):
            place.write_text(step, encoding="utf-8")
        elif isinstance(step, Mapping):
            for name, text in step.items():
                _write(place / name, text)
        return step if isinstance(step, ports.WorkDone) else ports.WorkDone(ended="exited", exit=0)


def _write(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def unchanged(place: Path, brief: ports.Brief) -> ports.WorkDone:
    """A step: says that it is done and changed nothing."""
    return ports.WorkDone(ended="exited", exit=0, message="Done! Everything is better now.")


def crash(place: Path, brief: ports.Brief) -> ports.WorkDone:
    """A step: ends with an error and changed nothing."""
    return ports.WorkDone(ended="crashed", exit=1, message="it broke")
