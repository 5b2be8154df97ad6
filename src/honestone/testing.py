"""For tests: judges, models and workers that follow a script, and checks of the ports.

A script is either one step, which is repeated for ever, or a list of steps, taken one after
another; a list that runs out is an error of the test. What was asked is kept, so that a test can
look at it.

    judge = ScriptedJudge({"steps": True, "tone": 75})                  # by item or criterion
    judge = ScriptedJudge(lambda question: {"steps": "1." in question.artifact.version.text})
    judge = ScriptedJudge([CallFailed("busy", retryable=True), True])   # fails once, then says yes to everything
    model = ScriptedModel([fill_in(True), "no JSON at all"])            # answers a prompt; then a raw reply
    worker = ScriptedWorker(["# Better", unchanged, crash])             # new text; nothing; an error

Whoever writes an adapter runs the check of its port in a test of their own. Each raises
AssertionError and says which promise of `honestone.ports` is broken:

    def test_my_judge():
        check_judge(MyJudge("mine"))

    def test_my_store(tmp_path):
        check_store(lambda: MyStore(tmp_path))      # called again, it opens the same store
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from honestone import ports
from honestone.core import events
from honestone.core.artifact import Artifact, Version
from honestone.core.errors import StoreError
from honestone.core.json_value import Json, JsonObject
from honestone.core.judging.ballot import Answer, Question, Reading, answer_problem, asked_criteria
from honestone.core.judging.controls import is_control_item
from honestone.core.judging.needs import MachineNeeds
from honestone.core.judging.request import judge_request
from honestone.core.judging.rubric import Anchors, Criterion, Item, Key, Rubric, as_written
from honestone.core.judging.spend import GrantRequest, RunGrants
from honestone.core.live import LiveRun
from honestone.core.reading.answers import read_program

T = TypeVar("T")

# Seconds that a check gives one call before it says that the adapter hangs.
PATIENCE = 300.0


# ----------------------------------------------------------------------------------------------------------
# scripts


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


# ----------------------------------------------------------------------------------------------------------
# judges

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
        identity: JsonObject | None = None,
    ) -> None:
        super().__init__(steps, f"the script of the judge {id!r}", usage)
        self.id = id
        self.is_paid = is_paid
        self.identity: JsonObject = {"kind": "scripted", "name": id, **(identity or {})}
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


# ----------------------------------------------------------------------------------------------------------
# models


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
        self.identity: JsonObject = {"kind": "scripted", "model": name}
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


# ----------------------------------------------------------------------------------------------------------
# workers


class ScriptedWorker(_Scripted):
    """A `Worker` that makes the edits it was made with.

    A step is a text (the new content of a file artifact), a mapping of paths to texts or None (a
    folder's files to write and to delete), a WorkDone, or a function of (place, brief) that edits
    and may return one of these. `briefs` holds the briefs that it was given.
    """

    def __init__(self, steps: Any, *, id: str = "scripted", fixes_only: bool = False) -> None:
        super().__init__(steps, f"the script of the worker {id!r}")
        self.id = id
        self.identity: JsonObject = {"kind": "scripted", "name": id}
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


# ----------------------------------------------------------------------------------------------------------
# checks of the ports


def sample_question(
    text: str = "# Setting up\n\n1. Install it.\n2. Start it.\n", *, draw: int = 0
) -> Question:
    """A question with every kind of item, for tests of judges."""
    anchors = Anchors(
        levels=((Fraction(0), "hostile"), (Fraction(5), "cool"), (Fraction(10), "kind"))
    )
    rubric = Rubric(
        title="A guide",
        criteria=(
            Criterion(
                id="steps",
                requirement="A stranger can follow it",
                items=(
                    Item(id="numbered", requirement="Has numbered steps"),
                    Item(id="undo", requirement="Says how to undo each step", may_not_apply=True),
                ),
            ),
            Criterion(
                id="tone",
                requirement="Friendly tone",
                items=(Item(id="tone", requirement="Friendly tone", anchors=anchors, whole=True),),
            ),
            Criterion(
                id="short",
                requirement="Fits on one page",
                items=(Item(id="short", requirement="Fits on one page", whole=True),),
            ),
        ),
    )
    artifact = Artifact("guide.md", Version.of_text(text, "guide.md"))
    return Question(artifact=artifact, criteria=asked_criteria(rubric), draw=draw)


def check_judge(judge: ports.Judge, question: Question | None = None) -> None:
    """Whether a judge keeps the promises of `ports.Judge`. It is asked once; a CallFailed is a fair
    answer.

    `question` is one that it can answer, if the sample is not.
    """
    asyncio.run(_judge_checks(judge, question or sample_question()))


async def _judge_checks(judge: ports.Judge, question: Question) -> None:
    _require(isinstance(judge.id, str) and judge.id != "", "`id` must be a text that is not empty")
    _check_identity(judge)
    _require(isinstance(judge.is_paid, bool), "`is_paid` must be True or False")
    request = judge.render(question)
    _require(isinstance(request, ports.Request), "`render` must return a Request")
    _require(
        judge.render(question) == request,
        "`render` must be pure: the same question gave two different requests",
    )
    _check_numbers(request, question)
    if judge.is_paid:
        _check_keys(judge, question, request)
    reply = await _ask(judge, request, question)
    if reply is not None:
        _check_reply_as_json(reply)
        _check_reading(judge, question, request, reply)
    for text in _GARBAGE:
        garbage = ports.Reply(text=text, exit=0 if reply is None else reply.exit)
        reading = _check_reading(judge, question, request, garbage)
        if judge.is_paid:
            _require(
                not reading.marks,
                f"`read` made marks of the reply {text[:40]!r}, which answers nothing",
            )
    await judge.close()
    await judge.close()


_NOT_REPLIES: Final = ("{", "[]", "null", "true", "NaN", '{"criteria": 3}', "no JSON here")
_GARBAGE: Final = ("", "   \n", *_NOT_REPLIES, "[" * 5_000, "\0", "é" * 70_000)


def _check_keys(judge: ports.Judge, question: Question, request: ports.Request) -> None:
    """Replies are found again by what was sent: requests that differ in anything that matters must
    differ.
    """
    other = sample_question("Another text altogether.\n")
    same_items = Question(artifact=other.artifact, criteria=question.criteria)
    _require(
        judge.render(same_items).body != request.body,
        "two artifacts must not give the same request",
    )
    again = judge.render(question, ("no answer to the first item",))
    _require(
        again.body != request.body,
        "a request with `problems` must say so, or its reply is taken from the record",
    )


def _check_numbers(request: ports.Request, question: Question) -> None:
    asked = [key for key, _ in question.items()]
    if request.numbers:
        keys = list(request.numbers.values())
        _require(sorted(keys) == sorted(asked), "`numbers` must give every item exactly one number")
        _require(
            not {*request.controls} & {*request.numbers},
            "the number of a control item must not be an item's",
        )


async def _ask(
    judge: ports.Judge, request: ports.Request, question: Question
) -> ports.Reply | None:
    try:
        reply = await _within(judge.ask(request, question))
    except ports.CallFailed as failed:
        _check_failure(failed)
        return None
    _require(
        isinstance(reply, ports.Reply),
        f"`ask` must return a Reply or raise CallFailed, not return {type(reply).__name__}",
    )
    return reply


def _check_reply_as_json(reply: ports.Reply) -> None:
    import msgspec

    plain = msgspec.to_builtins(reply)
    read_back = msgspec.convert(json.loads(json.dumps(plain, allow_nan=False)), ports.Reply)
    _require(
        msgspec.to_builtins(read_back) == plain,
        "a reply must be the same after it was kept as JSON",
    )
    _check_usage(reply.usage)


def _check_reading(
    judge: ports.Judge, question: Question, request: ports.Request, reply: ports.Reply
) -> Reading:
    try:
        reading = judge.read(question, request, reply)
    except Exception as error:
        raise AssertionError(f"`read` raised {error!r} on the reply {reply.text[:40]!r}") from error
    _require(isinstance(reading, Reading), "`read` must return a Reading")
    again = judge.read(question, request, reply)
    _require(again == reading, "`read` must be pure: the same reply gave two different readings")
    items = dict(question.items())
    for key, mark in reading.marks.items():
        _require(key in items, f"`read` returned a mark for {key}, which was not asked")
        problem = answer_problem(items[key], mark.answer)
        _require(problem is None, f"`read` returned an answer to {key} that is none: {problem}")
    _require(not reading.tampered or not reading.marks, "a tampered reading must hold no marks")
    for key in items:
        answers_given = (key in reading.marks) + (key in reading.errors)
        _require(
            answers_given == 1,
            f"`read` must give {key} either a mark or an error, not {'both' if answers_given else 'neither'}",
        )
    return reading


def check_model(model: ports.Model, prompt: str = "Reply with the word yes.") -> None:
    """Whether a model keeps the promises of `ports.Model`. It is asked three times."""
    _check_identity(model)
    wanted = ports.Prompt(text=prompt, max_output_tokens=200)

    async def use() -> None:
        await _complete(model, wanted)
        await asyncio.gather(_complete(model, wanted), _complete(model, wanted))
        task = asyncio.ensure_future(model.complete(wanted))
        await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=PATIENCE)
        _require(bool(done), "a cancelled `complete` must end")
        if not task.cancelled():
            _require(
                task.exception() is None or isinstance(task.exception(), ports.CallFailed),
                f"a cancelled `complete` raised {task.exception()!r}",
            )
        await model.close()
        await model.close()

    asyncio.run(use())


async def _complete(model: ports.Model, prompt: ports.Prompt) -> None:
    try:
        completion = await _within(model.complete(prompt))
    except ports.CallFailed as failed:
        _check_failure(failed)
        return
    _require(
        isinstance(completion, ports.Completion),
        "`complete` must return a Completion or raise CallFailed",
    )
    _require(isinstance(completion.text, str), "a completion's text must be a text, never None")
    _require(isinstance(completion.cut, bool), "`cut` must be True or False")
    _check_usage(completion.usage)
    json.dumps(dict(completion.detail), allow_nan=False)


def check_worker(worker: ports.Worker) -> None:
    """Whether a worker keeps the promises of `ports.Worker`. It gets one file and one brief, in a
    private copy.
    """
    asyncio.run(_worker_checks(worker))


async def _worker_checks(worker: ports.Worker) -> None:
    _require(
        isinstance(worker.id, str) and worker.id != "", "`id` must be a text that is not empty"
    )
    _check_identity(worker)
    for fixes in ((), ("true",)):
        _require(
            isinstance(worker.can_work_on(fixes), bool), "`can_work_on` must return True or False"
        )
    with tempfile.TemporaryDirectory(prefix="honestone-check-") as folder:
        root = Path(folder).resolve()
        place = root / "copy" / "guide.md"
        place.parent.mkdir()
        place.write_text("# Setting up\n\nInstall it. Start it.\n")
        brief_file = root / "brief.md"
        brief = ports.Brief(
            text=f"Location: {place}\nCriterion: steps\n\nNot met yet:\n- Has numbered steps\n",
            focus=("steps",),
            unmet=(("steps", "numbered"),),
        )
        brief_file.write_text(brief.text)
        done = await _within(worker.propose(brief, place, brief_file))
        _require(
            isinstance(done, ports.WorkDone),
            "`propose` must return a WorkDone; it reports failures, it does not raise them",
        )
        _require(
            done.ended in ("exited", "timeout", "denied", "not-applied", "crashed"),
            f"`ended` is {done.ended!r}",
        )
        _check_usage(done.usage)
        strays = [
            str(path.relative_to(root))
            for path in root.rglob("*")
            if path not in (place, place.parent, brief_file)
        ]
        _require(
            not strays,
            f"it left {strays} next to the artifact: every proposal would be out of scope",
        )
        _require(brief_file.read_text() == brief.text, "it changed the brief")
    await worker.close()
    await worker.close()


def check_store(make_store: Callable[[], ports.Store], *, survives: bool = True) -> None:
    """Whether a store keeps the promises of `ports.Store`.

    `make_store` opens the store, which has to be empty at first; called again it has to open the
    same one (a store that is gone with its process says `survives=False`).
    """
    store = make_store()
    _require(store.runs() == [], "the store must be empty at first")
    first = _first(
        text="é \U0001f600 \u0000", numbers=[0, -1, 2**53, 0.1, None, True], deep={"a": [{}]}
    )
    run = store.start_run(kind="eval", subject="a.md", identity="one", contract="c1", first=first)
    log: list[events.Event] = [first]
    for number in range(3):
        event = events.LimitReached(reason=str(number), seconds=number / 8)
        store.append(run, event, {f"blob-{number}": bytes(range(number * 100))})
        log.append(event)
    many = [events.ArtifactJudged(path=f"{n}.md", digest=str(n)) for n in range(50)]
    store.append_many(run, many)
    log += many
    _require(
        store.events(run) == log, "`events` must give back every event, unchanged and in order"
    )
    made = [
        events.OutputProduced(case=case, attempt=n, output=case)
        for n, case in enumerate(("a", "b", "a"), 1)
    ]
    store.append_many(run, made)
    log += made
    log += _check_once(store, run)
    _check_cases(store)
    of_case = store.by_case(run)
    _require(
        list(of_case("a"))[:2] == [made[0], made[2]],
        "`by_case` must give the events of a case, in order",
    )
    _require(
        list(of_case("no such case")) == [], "a case that nothing is on record of has no events"
    )
    _require(store.events("no-such-run") == [], "a run that is not there has no events")
    _require(list(store.iter_events(run)) == log, "`iter_events` must give what `events` gives")
    _require(
        list(store.iter_events(run, 2)) == log[2:],
        "`iter_events` must leave out as many events as it is asked to",
    )
    _require(store.event_count(run) == len(log), "`event_count` must count the events of a run")
    _require(
        store.event_count("no-such-run") == 0, "a run that is not there has no events to count"
    )
    last = json.loads(store.last_event(run))
    _require(last["type"] == log[-1].type, "`last_event` must give the newest event as it is kept")
    _require(store.last_event("no-such-run") == b"", "a run that is not there has no last event")
    _check_live(store, run)
    _check_claims(store)
    _check_grants(store, run)
    _check_slots(store)
    _check_blobs(store)
    _check_replies(store)
    other = _check_runs(store, run, log)
    asyncio.run(_check_journal(store, run))
    if survives:
        store.close()
        store = make_store()
        _require(
            store.events(run)[: len(log)] == log,
            "the events must still be there when the store is opened again",
        )
        _require(
            store.blob("blob-2") == bytes(range(200)),
            "content must still be there when the store is opened again",
        )
        _require(
            store.reply("key") == {"text": "second"},
            "replies must still be there when the store is opened again",
        )
        third = store.start_run(
            kind="eval", subject="c.md", identity="three", contract="c", first=_first()
        )
        _require(
            third > other > run, "ids must sort by time, also after the store was opened again"
        )
    store.close()


def _check_once(store: ports.Store, run: str) -> list[events.Event]:
    """What was added: an attempt has one output and one judgement that was not refused, whoever
    writes.
    """
    refused = events.AttemptJudged(case="b", attempt=2, refused="--max-calls 0 are used up")
    judgement = events.AttemptJudged(case="b", attempt=2)
    later = events.AttemptJudged(case="b", attempt=2, seconds=1.0)
    _require(
        store.append(run, refused) is None and store.append(run, refused) is None,
        "refusals may be many",
    )
    _require(
        store.append(run, judgement) is None, "an attempt that was refused may be judged after that"
    )
    _require(
        store.append(run, later) == judgement,
        "`append` must give what was on record before, and keep that",
    )
    passed_by = events.CasePassedBy(case="c", reason="first")
    _require(store.append(run, passed_by) is None, "a case can be passed by")
    _require(
        store.append(run, events.CasePassedBy(case="c", reason="second")) == passed_by,
        "a case is passed by once",
    )
    made, other = (
        events.OutputProduced(case="d", attempt=1, output="d"),
        events.OutputProduced(case="e", attempt=1, output="e"),
    )
    _require(
        store.append_many(run, [made]) == {},
        "`append_many` must give nothing where every event was kept",
    )
    again = [replace(made, output="late"), events.AttemptJudged(case="d", attempt=1), other]
    found = store.append_many(run, again)
    _require(found == {0: made, 1: None}, f"`append_many` must say what was not kept, not {found}")
    return [refused, refused, judgement, passed_by, made, other]


def _check_cases(store: ports.Store) -> None:
    """The cases of a suite's run come back with its first event, and one by one."""
    names = [f"case {n}" for n in range(1203)]
    first = _suite_of(names)
    cases = first.cases
    run = store.start_run(kind="suite", subject="s", identity="cases", contract="c", first=first)
    started = store.events(run)[0]
    _require(
        started == first, "the first event of a suite's run must come back with its cases, in order"
    )
    assert isinstance(started, events.SuiteStarted)
    _require(
        len(started.cases) == 1203 and started.cases[-1].id == names[-1],
        "the cases must be counted",
    )
    found = store.cases_of(run, ["case 700", "no such case", "case 3"])
    _require(
        found == {one.id: (one, []) for one in (cases[700], cases[3])},
        "cases must be readable by their ids",
    )
    _require(store.result_of(run) is None, "an unfinished run has no result")
    _check_attempts(store, run)
    store.finish_run(run, "pass", events.RunFinished(result="pass"))
    _require(
        store.result_of(run) == "pass",
        "a finished run is not unfinished: `result_of` must know its result",
    )


def _suite_of(names: Sequence[str]) -> events.SuiteStarted:
    """The first event of a run of a suite with these cases."""
    plain: JsonObject = {
        "input": [["user", "é \u0000"]],
        "attempts": 1,
        "attempt_rule": "mean",
        "split": "train",
    }
    cases = tuple(
        events.RecordedCase({"id": name, **plain, "rubric": "r", "contract": name})
        for name in names
    )
    suite = events.StartedSuite(path="s")
    return events.SuiteStarted(suite=suite, contract={}, contract_id="c", rubrics={}, cases=cases)


def _check_attempts(store: ports.Store, run: str) -> None:
    one, other = (
        events.OutputProduced(case=names, attempt=1, output="o") for names in ("case 1", "case 2")
    )
    more = events.OutputProduced(case="case 1", attempt=2, output="o")
    judged, refused = (
        events.AttemptJudged(case="case 1", attempt=1, refused=why) for why in (None, "a limit")
    )
    passed = events.CasePassedBy(case="case 3", reason="r")
    store.append_many(run, [refused, other, one, more, judged, passed])
    by_case = {id: made for id, (_, made) in store.cases_of(run, ["case 3", "case 1"]).items()}
    _require(
        by_case == {"case 1": [one, judged], "case 3": [passed]},
        "what is on record of the attempts that a case has comes with it, in order, and that it was passed by",
    )


def _first(**facts: Json) -> events.Event:
    return events.OtherEvent(name="check", facts={"type": "check", **facts})


def _check_live(store: ports.Store, run: str) -> None:
    _require(store.live(run) is None, "a run that says nothing has no record")
    store.keep_live(run, lambda: LiveRun(run=run, done=3, total=8))
    end = time.monotonic() + 30
    while (stored := store.live(run)) is None and time.monotonic() < end:
        time.sleep(0.05)
    _require(
        stored is not None and (stored.live.done, stored.live.total) == (3, 8),
        "what a run says now must be kept",
    )


def _check_claims(store: ports.Store) -> None:
    _check_one_holder("run", "that nothing works on", store.lock, store.unlock)
    _check_one_holder("request", "that no one asks", store.claim_reply, store.give_back_reply)


def _check_one_holder(
    what: str, free: str, take: Callable[[str], bool], give_back: Callable[[str], object]
) -> None:
    _require(take("sha256:one"), f"a {what} {free} can be claimed")
    _require(not take("sha256:one"), f"a {what} that is claimed cannot be claimed again")
    _require(take("sha256:two"), f"the claim of one {what} must not hold up another")
    give_back("sha256:one")
    _require(take("sha256:one"), "a claim that was given back is free")
    for name in ("sha256:one", "sha256:two", "sha256:never"):
        give_back(name)


def _check_grants(store: ports.Store, run: str) -> None:
    opened = store.open_grants(run, RunGrants())
    _require(
        (opened.calls, opened.usd, opened.dearest) == (0, 0.0, 0.0),
        "nothing is granted to a new run",
    )
    _require(0 <= opened.seconds < 600, "`seconds` must count from the start of the run")
    known = RunGrants()
    for request in (
        GrantRequest(calls=3, usd=0.5, dearest=0.25, most_calls=5, most_usd=1.0),
        GrantRequest(calls=3, usd=0.25, dearest=0.75, most_calls=5, most_usd=1.0),
        GrantRequest(calls=1, usd=0.75, most_calls=5, most_usd=1.0),
        GrantRequest(calls=2, usd=0.5, dearest=0.125, most_calls=5, most_usd=1.0),
        GrantRequest(calls=-1, usd=-0.5, dearest=0.5),
        GrantRequest(calls=9, usd=9.0),
    ):
        wanted = request.of(known)
        granted, now = store.grant(run, request)
        known = wanted or known
        _require(
            granted == (wanted is not None),
            f"{request} must be {'granted' if wanted else 'refused'}",
        )
        _require(
            replace(now, seconds=0.0) == known,
            f"after {request} the grants must be {known}, not {now}",
        )
    raised = store.open_grants(run, RunGrants(calls=20, usd=1.0))
    _require(
        (raised.calls, raised.usd) == (20, known.usd),
        "`open_grants` must raise what is lower, and lower nothing",
    )


def _check_slots(store: ports.Store) -> None:
    _require(store.take_slot("line", 50.0) == 0, "the first slot of a line begins now")
    ahead = store.take_slot("line", 50.0)
    _require(40 < ahead <= 50, f"a slot begins where the one before it ends, not in {ahead} s")
    _require(store.take_slot("other", 1.0) == 0, "the slots of one line must not hold up another")
    store.take_slot("line", -90.0)
    _require(store.take_slot("line", 1.0) < 20, "what was given back is free")


def _check_blobs(store: ports.Store) -> None:
    _require(
        store.blob("blob-2") == bytes(range(200)), "content that came with an event must be there"
    )
    _require(store.blob("blob-0") == b"", "empty content is content")
    _require(store.blob("nowhere") is None, "content that is not there is None")
    store.keep_blobs({"blob-2": bytes(range(200)), "more": b"\0\xff"})
    _require(store.blob("more") == b"\0\xff", "content must come back byte for byte")


def _check_replies(store: ports.Store) -> None:
    _require(store.reply("key") is None, "a request without a reply has None")
    store.keep_reply("key", "judge", {"text": "first"})
    store.keep_reply("key", "judge", {"text": "second"})
    store.keep_reply("other", "judge", {"text": "lone \ud800 surrogate"})
    _require(
        store.reply("key") == {"text": "second"},
        "of several replies to one request the newest counts",
    )
    late = store.keep_reply("key", "judge", {"text": "late"}, known=1)
    _require(late is not None, "a reply that came after another one was not known must not be kept")
    assert late is not None
    _require(
        json.loads(late.data) == {"text": "second"},
        "in its place the first one that was not known must be given",
    )
    _require(store.reply("key") == {"text": "second"}, "a reply that came late must not be read")
    _require(store.keep_reply("known", "judge", {}, known=0) is None, "the first reply is not late")
    _require(store.reply("key", since="9999") is None, "a reply from before `since` does not count")
    _require(store.reply("key", since="1970") is not None, "a reply from after `since` counts")
    reply = store.reply("other")
    _require(
        reply is not None and reply["text"].startswith("lone "), "a reply in any text must be kept"
    )
    found = store.replies(["key", "unknown"])
    _require(
        {k: json.loads(v) for k, v in found.items()} == {"key": {"text": "second"}},
        "`replies` must find what is there",
    )
    store.keep_replies({"many-1": {"n": 1}, "many-2": {"n": 2}}, "check")
    _require(store.reply("many-2") == {"n": 2}, "what `keep_replies` kept must be found by `reply`")
    answers = store.answers(["key", "unknown"])
    _require(
        [json.loads(one.data) for one in answers["key"]] == [{"text": "first"}, {"text": "second"}],
        "`answers` must give every reply to a request, oldest first",
    )
    _require(
        not answers.get("unknown"), "`answers` must give nothing for a request without a reply"
    )


async def _check_journal(store: ports.Store, run: str) -> None:
    """The store and its journal are one: what either keeps, the other one finds."""
    journal = store.journal
    _require(store.journal is journal, "a store has one journal")
    for name in ("first", "second"):
        await journal.keep_reply("in a loop", "judge", {"text": name})
    replies = await asyncio.gather(
        *(journal.recall(key) for key in ("in a loop", "nothing", "in a loop"))
    )
    _require(
        [len(one) for one in replies] == [2, 0, 2],
        "`recall` must give every reply to each request, to each who asks",
    )
    _require(
        list(replies[0]) == list(store.answers(["in a loop"])["in a loop"]),
        "`recall` must give what `answers` gives",
    )
    _require(
        await journal.reply("in a loop") == {"text": "second"},
        "what the journal kept must be found by `reply`",
    )
    _require(
        await journal.reply("in a loop", since="9999") is None,
        "a reply from before `since` does not count",
    )
    await _check_journal_claims(store, journal)
    await _check_journal_events(store, journal)
    granted, now = await journal.grant(run, GrantRequest(calls=1))
    _require(
        granted and store.open_grants(run, RunGrants()).calls == now.calls,
        "what the journal grants is granted",
    )
    _require(await journal.take_slot("in a loop", 1.0) == 0, "the first slot of a line begins now")
    await journal.keep_blobs({"in a loop": b"kept"})
    _require(
        await journal.blob("in a loop") == store.blob("in a loop") == b"kept",
        "content must come back",
    )
    _require(await journal.blob("nowhere") is None, "content that is not there is None")


async def _check_journal_claims(store: ports.Store, journal: ports.Journal) -> None:
    claimed = await asyncio.gather(*(journal.claim_reply("in a loop") for _ in range(3)))
    _require(sorted(claimed) == [False, False, True], "of several tasks one gets the claim")
    _require(not store.claim_reply("in a loop"), "what the journal claimed cannot be claimed again")
    await journal.give_back_reply("in a loop")
    _require(store.claim_reply("in a loop"), "a claim that was given back is free")
    store.give_back_reply("in a loop")


async def _check_journal_events(store: ports.Store, journal: ports.Journal) -> None:
    first = _suite_of([f"case {n}" for n in range(2)])
    run = store.start_run(
        kind="suite", subject="s", identity="in a loop", contract="c", first=first
    )
    asked = await asyncio.gather(*(journal.case_of(run, f"case {n}") for n in (1, 2, 0)))
    _require(
        asked == [(first.cases[1], []), None, (first.cases[0], [])],
        "cases must be readable by their ids",
    )
    made = [events.OutputProduced(case=f"case {n}", attempt=1, output=str(n)) for n in range(2)]
    again = [replace(event, output="later") for event in made]
    found = await asyncio.gather(
        journal.append_many(run, made),
        journal.append_many(run, [events.CasePassedBy(case="x", reason="r"), again[1]]),
        journal.append_many(run, [again[0]]),
        journal.append_many(run, []),
    )
    _require(
        [dict(one) for one in found] == [{}, {1: made[1]}, {0: made[0]}, {}],
        "each task must get what is on record instead of its own events, by their place",
    )
    _require(
        await journal.append(run, again[0], {"of a loop": b"1"}) == made[0],
        "`append` must give what was on record",
    )
    _require(
        await journal.case_of(run, "case 1") == (first.cases[1], [made[1]]),
        "with what is on record of it",
    )
    _require(store.events(run)[1:3] == made, "events are in the order in which they were appended")
    await journal.finish_run(run, "pass", events.RunFinished(result="pass"))
    _require(await journal.result_of(run) == "pass", "a finished run has a result")


def _check_runs(store: ports.Store, run: str, log: list[events.Event]) -> str:
    def newest_is(id: str) -> bool:
        newest = store.unfinished("one")
        return newest is not None and newest.id == id

    _require(newest_is(run), "`unfinished` must find the run by its identity")
    _require(store.unfinished("two") is None, "`unfinished` must not find another identity's run")
    other = store.start_run(
        kind="improve", subject="b.md", identity="one", contract="c2", first=_first()
    )
    _require(other > run, "a later run's id must sort after an earlier one's")
    _require(newest_is(other), "`unfinished` must find the newest")
    store.finish_run(other, "PASSED", events.RunFinished(result="PASSED"))
    _require(newest_is(run), "a finished run is not unfinished")
    _require(
        [info.id for info in store.runs()][::2] == [other, run], "`runs` must give the newest first"
    )
    _require([info.id for info in store.runs(limit=1)] == [other], "`runs` must obey its limit")
    info = store.find_run("last")
    _require(
        (info.id, info.result, info.kind, info.contract) == (other, "PASSED", "improve", "c2"),
        f"`find_run('last')` found {info}",
    )
    _require(
        info.finished is not None and store.find_run(run).finished is None,
        "`finished` must say whether a run is",
    )
    _require(store.find_run(run).id == run, "`find_run` must find a run by its id")
    _require(
        store.find_run(run.lower()).id == run, "`find_run` must not mind how letters are written"
    )
    for name in ("no-such-run", run[:1]):
        try:
            found = store.find_run(name)
        except StoreError:
            continue
        raise AssertionError(f"`find_run({name!r})` must raise StoreError, but found {found.id}")
    _require(store.events(run) == log, "one run's events must not show in another's")
    return other


# -- shared


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


async def _within(work: Awaitable[T]) -> T:
    try:
        return await asyncio.wait_for(work, PATIENCE)
    except TimeoutError:
        raise AssertionError(
            f"it did not return within {PATIENCE:g} s: an adapter owns its time limits"
        ) from None


def _check_identity(thing: Any) -> None:
    identity = thing.identity
    try:
        text = json.dumps(dict(identity), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"`identity` must be plain JSON values: {error}") from None
    _require(
        json.dumps(dict(thing.identity), sort_keys=True) == text,
        "`identity` must not change from one look to the next",
    )
    needs = ports.needs_of(thing)
    _require(
        isinstance(needs, MachineNeeds),
        "`needs` must be a MachineNeeds of honestone.core.judging.needs",
    )
    texts = {"identity": text, "needs": json.dumps(needs.to_plain())}
    for name, value in os.environ.items():
        secret = len(value) >= 8 and any(
            word in name.upper() for word in ("KEY", "TOKEN", "SECRET", "PASSWORD")
        )
        for what, text_shown in texts.items():
            _require(
                not secret or value not in text_shown,
                f"`{what}` holds the value of ${name}: it goes into files and reports",
            )


def _check_failure(failed: ports.CallFailed) -> None:
    _require(bool(failed.reason.strip()), "a CallFailed must say why")
    _require(
        failed.retry_after is None or failed.retry_after >= 0, "`retry_after` must not be negative"
    )


def _check_usage(usage: ports.Usage) -> None:
    for name in ("input_tokens", "output_tokens", "cached_tokens", "usd"):
        value = getattr(usage, name)
        _require(
            value is None or value >= 0,
            f"`{name}` is {value!r}: it is a number from 0, or None when it is not known",
        )


__all__ = [
    "ScriptedJudge",
    "ScriptedModel",
    "ScriptedWorker",
    "check_judge",
    "check_model",
    "check_store",
    "check_worker",
    "crash",
    "fill_in",
    "reply_json",
    "sample_question",
    "unchanged",
]
