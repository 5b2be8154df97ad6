"""Asking judges: in parallel, apart from each other, once more where an answer is missing, and
never twice for what is already on record.
"""

from __future__ import annotations

import asyncio
import hashlib
import json as plain_json
import random
import re
import shlex
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json.encoder import encode_basestring
from pathlib import Path
from typing import Final, TypeVar

from honestone import ports
from honestone.core.artifact import Artifact
from honestone.core.json_value import JsonObject
from honestone.core.judging.ballot import (
    CHECK,
    Answer,
    AskedCriterion,
    Ballot,
    JudgeKind,
    JudgeState,
    Mark,
    Question,
    Reading,
    asked_criteria,
)
from honestone.core.judging.choices import Ask
from honestone.core.judging.contract import Identity, canonical
from honestone.core.judging.rubric import Check, Key, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Meter, Spend, Usage
from honestone.core.reading.evidence import find_quote, is_quote
from honestone.core.reading.reply import complaints
from honestone.core.record.rates import RateLimits, tokens_of
from honestone.engine.journal import OutOfTime, claimed, in_time, settle, take_call, turn
from honestone.engine.judging.early_stop import settled
from honestone.engine.live import HERE
from honestone.engine.traced import ask_judge
from honestone.system.telemetry import telemetry

TAMPERED = "tampered: it answered yes to a question whose answer is no: the artifact steers it, or it agrees with everything"

AUDIT_IT = (
    "it is not fit to decide as it is; `honestone judges audit` measures how easily it is steered"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A judge's place on the panel. `draw` distinguishes judges of one name: the second is a second
    look. `draw_of`: the seat whose judge this one equals, whatever it is called; the two are one
    voter. `rates` are those of its account.
    """

    id: str
    judge: ports.Judge
    draw: int = 0
    kind: JudgeKind = "program"
    draw_of: str | None = None
    rates: RateLimits | None = None

    @property
    def identity(self) -> Identity:
        # How often it is asked again decides what counts, and nothing about a single reply: it is
        # not in a reply's key.
        reasks = {} if self.reasks == ports.REASKS else {"reasks": self.reasks}
        return {"id": self.id, "draw": self.draw, **self.judge.identity, **reasks}

    @property
    def reasks(self) -> int:
        """How often the judge is asked again about a reply that cannot be used."""
        return self.judge.reasks if isinstance(self.judge, ports.PatientJudge) else ports.REASKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Consulted:
    """One seat's ballot and what it took. `refused` says which limit kept it from being asked at
    all.
    """

    ballot: Ballot
    spend: Spend
    refused: str | None = None


class NotGranted(Exception):
    """A call was not made because a limit is used up."""


@dataclass(kw_only=True)
class Panel:
    """The judges of a run, with the record of their replies and the meter they share.

    `fresh`: ask again although a reply is on record (each request once). `require_evidence`: a
        quote that is not found in the text makes the answer an abstention. `concurrency`: calls of
        one judge under way at once, where the judge does not say. `ask`: one call for the whole
        rubric, or one for each criterion or item. `fallback` is asked only when no other judge
        answered anything. `oldest_reply` (ISO time): older ones on record do not count. Of the
        seats in `first_counts` the first answer on record to a question counts, also when `fresh`:
        they certify. `answered` hears the name of each seat that is through with a question.
    """

    seats: Sequence[Seat]
    journal: ports.Journal
    meter: Meter
    fresh: bool = False
    require_evidence: bool = False
    concurrency: int = 8
    ask: Ask = "rubric"
    fallback: Seat | None = None
    oldest_reply: str | None = None
    first_counts: frozenset[str] = frozenset()
    answered: Callable[[str], None] = lambda seat: None
    _asked: set[str] = field(default_factory=set)
    _waiting: dict[str, asyncio.Lock] = field(default_factory=dict)
    _gates: dict[str, asyncio.Semaphore] = field(default_factory=dict)
    _identities: dict[str, tuple[ports.Judge, str]] = field(default_factory=dict)

    async def consult(
        self, question: Question, seats: Sequence[Seat] | None = None
    ) -> list[Consulted]:
        """Every seat's ballot, in the order of the seats. Calls are granted in that order too."""
        chosen = self.seats if seats is None else seats
        if len(chosen) == 1:  # A task of its own would only cost.
            found = [await self.consult_one(chosen[0], question)]
        else:
            found = list(
                await asyncio.gather(*(self.consult_one(seat, question) for seat in chosen))
            )
        is_silent = not any(consulted.ballot.marks for consulted in found)
        if (
            self.fallback is not None
            and is_silent
            and not any(consulted.refused for consulted in found)
        ):
            found.append(await self.consult_one(self.fallback, question))
        return found

    async def has_reply(self, seat: Seat, question: Question) -> bool:
        """Whether a look of this seat is on record, so that it costs no call."""
        parts = split(question.criteria, self.ask)
        if not seat.judge.is_paid or self.fresh or len(parts) != 1:
            return False
        try:
            request = seat.judge.render(replace(question, draw=seat.draw))
        except ports.CallFailed:
            return False
        return bool(await self.journal.recall(self._key(seat, request)))

    async def consult_one(self, seat: Seat, question: Question) -> Consulted:
        """One seat's ballot, in as many calls as `ask` says."""
        if question.draw != seat.draw:
            question = replace(question, draw=seat.draw)
        live = HERE.get()
        if live is not None:
            live.asked(seat.id)
        parts = split(question.criteria, self.ask)
        if len(parts) == 1:
            found = await self._consult_part(seat, question)
        else:
            every = question.also_asked | {key for key, _ in question.items()}
            asked = (
                self._consult_part(seat, replace(question, criteria=part, also_asked=every))
                for part in parts
            )
            found = joined_ballot(seat, await asyncio.gather(*asked))
        if live is not None:
            live.answered(seat.id, failed=found.ballot.state is not JudgeState.AVAILABLE)
        self.answered(seat.id)
        return (
            found
            if seat.draw_of is None
            else replace(found, ballot=replace(found.ballot, draw_of=seat.draw_of))
        )

    async def _consult_part(self, seat: Seat, question: Question) -> Consulted:
        asking = _Asking(seat=seat, question=question)
        spend = asking.spend
        if not any(criterion.items for criterion in question.criteria):
            return Consulted(ballot=Ballot(judge=seat.id, kind=seat.kind, marks={}), spend=spend)
        found = await self._consult_once(asking)
        if asking.is_of_record and asking.missed_control:
            # Its replies on record can be read, and still nothing of them counts.
            again = await self._consult_once(replace(asking, ignore_record=True))
            found = found if again.refused else again
        return replace(
            found, ballot=replace(found.ballot, unusable=tuple(dict.fromkeys(asking.unusable)))
        )

    async def _consult_once(self, asking: _Asking) -> Consulted:
        seat, question, spend = asking.seat, asking.question, asking.spend
        try:
            request = asking.first = seat.judge.render(question)
            first, before = await self._look(asking, request)
        except ports.CallFailed as failed:
            state = JudgeState.SKIPPED if failed.missing else JudgeState.DEGRADED
            ballot = no_ballot(seat, question, failed.reason, state=state, hint=failed.hint)
            return Consulted(ballot=ballot, spend=spend)
        except NotGranted as refused:
            ballot = no_ballot(seat, question, f"not asked: {refused}")
            return Consulted(ballot=ballot, spend=spend, refused=str(refused))
        except OutOfTime as ended:
            ballot = no_ballot(seat, question, f"no answer in time: {ended}")
            return Consulted(ballot=ballot, spend=spend, refused=str(ended))
        reading, again_failed = first, None
        if not first.is_clean:
            reading, again_failed = await self._reasked(asking, request, first)
        asking.missed_control = reading.control == "missed"
        ballot = ballot_of(
            seat, question, reading, again_failed, require_evidence=self.require_evidence
        )
        # Whatever had it asked again (`--fresh`, `--max-age`), what was answered before stays in
        # sight.
        if before and seat.id not in self.first_counts:
            earlier = tuple(self._earlier(seat, request, question, before))
            ballot = replace(ballot, earlier=earlier) if earlier else ballot
        return Consulted(ballot=ballot, spend=spend)

    async def _reasked(
        self, asking: _Asking, request: ports.Request, reading: Reading
    ) -> tuple[Reading, str | None]:
        """What is known after asking again, as often as the judge is asked again, and why that
        ended early.
        """
        seat = asking.seat
        for count in range(1, seat.reasks + 1):
            if (
                reading.is_clean
                or reading.tampered
                or (reading.again is not None and count > reading.again)
            ):
                break
            try:
                again, _ = await self._look(asking, _asked_again(asking, request, reading, count))
            except (ports.CallFailed, NotGranted, OutOfTime) as failed:
                return reading, f"asked once more: {failed}"
            reading = merged(reading, again)
        return reading, None

    async def _is_answered_after(
        self, asking: _Asking, request: ports.Request, stored_replies: Sequence[ports.StoredReply]
    ) -> bool:
        """Whether the last of these replies, which gave no answer, was followed by one that did
        when the judge was asked again. Then all of it is on record, and none of it is paid for
        twice.
        """
        replies = [reply for one in stored_replies if (reply := read_stored_reply(one)) is not None]
        if not replies or request is not asking.first:
            return False
        reading = asking.read(request, replies[-1])
        for count in range(1, asking.seat.reasks + 1):
            again = _asked_again(asking, request, reading, count)
            found = await self.journal.recall(self._key(asking.seat, again))
            readings = [
                asking.read(again, reply)
                for one in found
                if (reply := read_stored_reply(one)) is not None
            ]
            if any(one.is_usable for one in readings):
                return True
            if not readings:
                return False
            reading = merged(reading, readings[-1])
        return False

    def _earlier(
        self,
        seat: Seat,
        request: ports.Request,
        question: Question,
        before: Sequence[ports.StoredReply],
    ) -> Iterator[dict[Key, Answer]]:
        """What this judge answered to the same question before, oldest first."""
        for stored in before:
            reply = read_stored_reply(stored)
            if reply is not None:
                reading = seat.judge.read(question, request, reply)
                if reading.marks:
                    yield {key: mark.answer for key, mark in reading.marks.items()}

    async def _look(
        self, asking: _Asking, request: ports.Request
    ) -> tuple[Reading, Sequence[ports.StoredReply]]:
        """What a reply says, and the replies to the same request from before it."""
        reply, before = await self._reply(asking, request)
        reading = asking.read(request, reply)
        if asking.seat.judge.is_paid and not reading.is_usable:
            asking.unusable.append((self._key(asking.seat, request), len(before)))
        return reading, before

    async def _reply(
        self, asking: _Asking, request: ports.Request
    ) -> tuple[ports.Reply, Sequence[ports.StoredReply]]:
        seat, question, spend = asking.seat, asking.question, asking.spend
        judge = seat.judge
        if not judge.is_paid:
            return await judge.ask(request, question), ()
        key = self._key(seat, request)
        # Equal requests wait for each other, so that the second finds the first one's reply.
        lock = self._waiting.get(key)
        if lock is None:
            lock = self._waiting[key] = asyncio.Lock()
        try:
            async with lock:
                known = await self.journal.recall(key)
                place = await self._on_record(key, asking, request, known)
                if place is None:
                    async with claimed(self.journal, key):
                        # Another process may have asked it since.
                        known = await self.journal.recall(key)
                        place = await self._on_record(key, asking, request, known)
                        if place is None:
                            reply = await self._paid_reply(
                                key, seat, request, question, spend, len(known)
                            )
                            return reply, known
                telemetry().from_record(seat.id)
                spend.cached_calls += 1
                self.meter.spent.cached_calls += 1
                stored = read_stored_reply(known[place])
                assert stored is not None
                return stored, known[:place]
        finally:
            self._waiting.pop(key, None)

    async def _on_record(
        self, key: str, asking: _Asking, request: ports.Request, known: Sequence[ports.StoredReply]
    ) -> int | None:
        """The place of the reply that counts without a call. One without an answer counts only in
        the run that asked for it.
        """
        seat = asking.seat
        readable = [
            (place, reply)
            for place, stored in enumerate(known)
            if (reply := read_stored_reply(stored)) is not None
        ]
        # A host agent cannot be asked: what it replied to this very prompt is on record, or is not
        # there.
        if key in self._asked or seat.kind == "agent":
            return self._chosen(seat, known, [place for place, _ in readable])
        if asking.ignore_record or (self.fresh and seat.id not in self.first_counts):
            return None
        usable = [place for place, reply in readable if asking.read(request, reply).is_usable]
        if not usable and await self._is_answered_after(asking, request, known):
            usable = [place for place, _ in readable][-1:]
        return self._chosen(seat, known, usable)

    def _chosen(
        self, seat: Seat, known: Sequence[ports.StoredReply], places: Sequence[int]
    ) -> int | None:
        if seat.id in self.first_counts:
            return next(iter(places), None)
        is_recent = bool(places) and known[places[-1]].at >= (self.oldest_reply or "")
        return places[-1] if is_recent else None

    def _key(self, seat: Seat, request: ports.Request) -> str:
        """`digest_json` of judge, body and draw, with the judge, who never changes, written down
        only once.
        """
        judge, identity = self._identities.get(seat.id, (None, ""))
        if judge is not seat.judge:
            identity = canonical({**seat.judge.identity, **function_token(seat.judge)})
            self._identities[seat.id] = (seat.judge, identity)
        text = f'{{"body":{encode_basestring(request.body if request.keyed is None else request.keyed)},"draw":{seat.draw},"judge":{identity}}}'
        return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    async def _paid_reply(
        self,
        key: str,
        seat: Seat,
        request: ports.Request,
        question: Question,
        spend: Spend,
        known: int,
    ) -> ports.Reply:
        """What a judge replies, once that is on record. `known`: so many replies to the request
        were there before.
        """
        from msgspec import to_builtins

        gate = self._gate(seat)
        tokens = 0 if seat.rates is None else tokens_of(request.body)
        attempt, waited = 1, 0.0
        while True:
            refusal = await take_call(self.meter)
            if refusal is not None:
                if attempt == 1:
                    raise NotGranted(refusal)
                raise ports.CallFailed(f"not tried again: {refusal}")
            spend.judge_calls += 1
            self.meter.spent.judge_calls += 1
            try:
                async with (
                    in_time(self.meter) as limit,
                    gate,
                    turn(self.journal, seat.rates, tokens),
                ):
                    reply = await ask_judge(seat.id, seat.judge, request, question)
                    limit.reschedule(None)
                    # At once, before anything else can fail, and not with those of others: a kill
                    # may cost one reply.
                    first = await self.journal.keep_reply(key, seat.id, to_builtins(reply), known)
                await settle(self.journal, seat.rates, tokens, reply.usage)
                break
            except OutOfTime:
                self.meter.made(Usage())
                raise
            except ports.CallFailed as failed:
                if failed.unsent:  # nothing was there to be called
                    spend.judge_calls -= 1
                    self.meter.spent.judge_calls -= 1
                    self.meter.give_back_call()
                else:
                    self.meter.made(Usage())
                wait = next_wait(failed, attempt, waited)
                if wait is None:
                    raise
                await asyncio.sleep(wait)
                attempt, waited = attempt + 1, waited + wait
        self._asked.add(key)
        spend.add(reply.usage)
        self.meter.made(reply.usage)
        # Another process asked the same after an outage, and was quicker: what came late is paid
        # for, and never read.
        return reply if first is None else read_stored_reply(first) or reply

    async def once(
        self, key: str, who: str, call: Callable[[], Awaitable[JsonObject]]
    ) -> JsonObject:
        """What a call of a check gave: taken from the record, else made, with retries, and kept.
        Raises CallFailed.
        """
        lock = self._waiting.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                if not self.fresh or key in self._asked:
                    reply = await self.journal.reply(key, self.oldest_reply)
                    if reply is not None:
                        return reply
                gate = self._gates.setdefault(who, asyncio.Semaphore(self.concurrency))

                async def granted() -> JsonObject:
                    async with gate:
                        return await call()

                found = await with_retries(granted)
                await self.journal.keep_reply(key, who, found)
                self._asked.add(key)
                return found
        finally:
            self._waiting.pop(key, None)

    def _gate(self, seat: Seat) -> asyncio.Semaphore:
        """As many calls of a judge at a time as it takes."""
        if seat.id not in self._gates:
            own = seat.judge.concurrency if isinstance(seat.judge, ports.HasCapacity) else None
            self._gates[seat.id] = asyncio.Semaphore(own or self.concurrency)
        return self._gates[seat.id]

    async def close(self) -> None:
        for seat in self.seats:
            await seat.judge.close()


def functions_of(seats: Sequence[Seat]) -> dict[str, list[str]]:
    """A part of a run's identity: one in which functions judged is not resumed with other
    functions.
    """
    tokens = [token for seat in seats for token in function_token(seat.judge).values()]
    return {"functions": tokens} if tokens else {}


def function_token(judge: ports.Judge) -> dict[str, str]:
    """What tells a judge that is a function from others of its name."""
    return {"token": judge.token} if isinstance(judge, ports.FunctionalJudge) else {}


def voter(judge: ports.Judge, folder: Path = Path()) -> object:
    """Equal for judges that are one, whatever they are called; functions are compared as objects."""
    return essence(unwrapped(judge.identity, folder)), judge.function if isinstance(
        judge, ports.FunctionalJudge
    ) else None


_INTERPRETERS: Final = re.compile(r"(python|pypy|bash|sh|zsh|dash|node|deno|perl|ruby|php)[\d.]*")
_LAUNCHERS: Final = frozenset(
    {"env", "nice", "nohup", "timeout", "stdbuf", "setsid", "ionice", "time", "command", "exec"}
)
# What a launcher takes before the program: options, variables, numbers and durations.
_OF_LAUNCHERS: Final = re.compile(r"-.*|\w+=.*|[\d.]+[smhd]?")


def unwrapped(identity: object, folder: Path) -> object:
    """A judge's identity with the script that a command runs among its words: a module named by
    `-m`, and what `sh -c` is given, are `python j.py`, where that file is in `folder`.
    """
    if not isinstance(identity, Mapping):
        return identity
    command = identity.get("command")
    if not isinstance(command, Sequence) or isinstance(command, str):
        return {key: unwrapped(value, folder) for key, value in identity.items()}
    words = _script_named(command, folder)
    if words == command:
        return identity
    from honestone.system.processes.process import describe_command

    return {**identity, **describe_command(words, folder)}


def _script_named(words: Sequence[str], folder: Path) -> Sequence[str]:
    place = _after_launchers(words)
    rest = words[place:]
    if len(rest) < 3 or not _INTERPRETERS.fullmatch(_program_name(rest[0])):
        return words
    options = (n for n, word in enumerate(rest[1:], 1) if _TAKES_CODE_LAST.fullmatch(word))
    option = next(options, None)
    if option is None or option + 1 == len(rest):
        return words
    if any(not word.startswith("-") for word in rest[1:option]):
        return words
    named, more = rest[option + 1], rest[option + 2 :]
    if rest[option].endswith("c"):
        is_shell = _program_name(rest[0]).endswith("sh")
        if not is_shell or more or _OF_SHELLS.search(named):
            return words
        try:
            inner = shlex.split(named)
        except ValueError:
            return words
        return _script_named(inner, folder) if inner else words
    path = named.replace(".", "/")
    for script in (f"{path}.py", f"{path}/__main__.py"):
        if (folder / script).is_file():
            return [rest[0], script, *more]
    return words


_TAKES_CODE_LAST: Final = re.compile(r"-[a-zA-Z]*[cm]")
# What makes a line of a shell more than one plain command.
_OF_SHELLS: Final = re.compile(r"[;&|<>$`(){}*?~\n\\]|^\s*\w+=")


def _after_launchers(words: Sequence[str]) -> int:
    place = 0
    while place < len(words) and _program_name(words[place]) in _LAUNCHERS:
        place += 1
        while place < len(words) and _OF_LAUNCHERS.fullmatch(words[place]):
            place += 1
    return place


def essence(identity: object) -> object:
    """A judge's identity with every word of a command that names a file replaced by what is in the
    file. How a script is started is not part of it: `python j.py`, `env python3 -u j.py` and
    `./j.py` are one judge.
    """
    if not isinstance(identity, Mapping):
        return identity
    files = identity.get("files", {})
    if "command" in identity and isinstance(files, Mapping):
        words = [files.get(word, word) for word in _without_start(identity["command"], files)]
        return {**{k: v for k, v in identity.items() if k != "files"}, "command": words}
    return {key: essence(value) for key, value in identity.items()}


def _without_start(words: Sequence[str], files: Mapping[str, object]) -> Sequence[str]:
    """A command from its script on, where all before it are launchers and one interpreter with
    options.
    """
    rest = words[_after_launchers(words) :]
    if not rest or not _INTERPRETERS.fullmatch(_program_name(rest[0])):
        return rest or words
    takes_value = False
    for number, word in enumerate(rest[1:], 1):
        if word in files and not takes_value:
            return rest[number:]
        if word in _TAKE_CODE or not (takes_value or word.startswith("-")):
            return words
        takes_value = word in _TAKE_A_VALUE and not takes_value
    return words


_TAKE_CODE: Final = ("-c", "-m", "-e", "-")
_TAKE_A_VALUE: Final = ("-W", "-X", "--require", "--import")


def _program_name(word: str) -> str:
    return word.rpartition("/")[2]


def split(criteria: tuple[AskedCriterion, ...], ask: Ask) -> list[tuple[AskedCriterion, ...]]:
    """The parts of a rubric that are asked in one call each."""
    if ask == "rubric" or not criteria:
        return [criteria]
    if ask == "criterion":
        return [(criterion,) for criterion in criteria]
    return [
        (replace(criterion, items=(item,)),) for criterion in criteria for item in criterion.items
    ]


def joined_ballot(seat: Seat, parts: Sequence[Consulted]) -> Consulted:
    """One ballot from several calls. A judge that followed the artifact in one of them is not
    believed in any.
    """
    ballots = [part.ballot for part in parts]
    tampered = next((ballot for ballot in ballots if ballot.tampered), None)
    marks = (
        {} if tampered else {key: mark for ballot in ballots for key, mark in ballot.marks.items()}
    )
    abstained = {key: why for ballot in ballots for key, why in ballot.abstained.items()}
    if tampered:
        abstained = {
            key: TAMPERED for ballot in ballots for key in (*ballot.marks, *ballot.abstained)
        }
    failed = tampered or next(
        (ballot for ballot in ballots if ballot.state is not JudgeState.AVAILABLE), None
    )
    return Consulted(
        ballot=Ballot(
            judge=seat.id,
            kind=seat.kind,
            tampered=tampered is not None,
            marks=marks,
            abstained=abstained,
            state=failed.state if failed and not marks else JudgeState.AVAILABLE,
            reason=failed.reason if failed else None,
            hint=failed.hint if failed else None,
            problems=tuple(
                dict.fromkeys(problem for ballot in ballots for problem in ballot.problems)
            ),
            repairs=tuple(dict.fromkeys(repair for ballot in ballots for repair in ballot.repairs)),
            unusable=tuple(reply for ballot in ballots for reply in ballot.unusable),
            earlier=tuple(
                {key: answer for part in parts for key, answer in part.items()}
                for parts in zip(*(ballot.earlier for ballot in ballots), strict=False)
            ),
        ),
        spend=Spend.of(part.spend for part in parts),
        refused=next((part.refused for part in parts if part.refused), None) if not marks else None,
    )


def judged_text(question: Question) -> str:
    """What a judge was shown and may quote from."""
    return question.output if question.output is not None else question.artifact.version.text


def complaints_about(request: ports.Request, reading: Reading) -> tuple[str, ...]:
    """The errors of a first reply in the words of its request: item numbers where it numbered
    items.
    """
    if request.numbers:
        return complaints(request.numbers, reading)
    return tuple(dict.fromkeys((*reading.problems, *reading.errors.values())))


def merged(first: Reading, second: Reading) -> Reading:
    """Item by item the first valid answer counts, to the control item too; a later look only fills
    what was missing.
    """
    marks = {**second.marks, **first.marks}
    errors = {
        key: second.errors.get(key, first.errors.get(key, "no answer"))
        for key in {**first.errors, **second.errors}
        if key not in marks
    }
    return Reading(
        marks=marks,
        errors=errors,
        problems=second.problems,
        repairs=tuple(dict.fromkeys((*first.repairs, *second.repairs))),
        control=first.control
        if first.control == "answered" and not second.tampered
        else second.control,
        control_errors={} if first.control == "answered" else second.control_errors,
        again=second.again,
        hint=second.hint,
    )


def ballot_of(
    seat: Seat,
    question: Question,
    reading: Reading,
    again_failed: str | None,
    *,
    require_evidence: bool,
) -> Ballot:
    """What a judge's reading comes to: no answer of it counts where the control item was missed or
    the artifact steered it. `again_failed` says why asking once more ended early.
    """
    if reading.tampered:
        return replace(no_ballot(seat, question, TAMPERED, hint=AUDIT_IT), tampered=True)
    if reading.control == "missed":
        if reading.problems and not reading.marks:
            prefix = "no usable answer: " if reading.again != 0 else ""
            return no_ballot(
                seat, question, prefix + reading.problems[0], reading, hint=reading.hint
            )
        why = (
            "it did not answer a question whose answer is known, so nothing it said can be trusted"
        )
        return no_ballot(seat, question, why, reading)
    marks, unfound = _with_evidence(question, reading, require_evidence)
    abstained = {
        key: reading.errors.get(key, "no answer") for key, _ in question.items() if key not in marks
    }
    abstained.update(unfound)
    problems = (*reading.problems, *((again_failed,) if again_failed else ()))
    if not marks:
        why = next(
            iter((*reading.problems, *reading.errors.values(), *unfound.values())),
            "no usable answer",
        )
        return no_ballot(seat, question, f"no usable answer: {why}", reading)
    return Ballot(
        judge=seat.id,
        kind=seat.kind,
        marks=marks,
        abstained=abstained,
        problems=problems,
        repairs=reading.repairs,
    )


def _with_evidence(
    question: Question, reading: Reading, require_evidence: bool
) -> tuple[dict[Key, Mark], dict[Key, str]]:
    """The marks that count, and why the others do not: a quote that is not in the text."""
    if not require_evidence:
        return dict(reading.marks), {}
    text = judged_text(question)
    supported: dict[Key, Mark] = {}
    unfound: dict[Key, str] = {}
    for key, mark in reading.marks.items():
        missing = next(
            (
                quote
                for quote in mark.evidence
                if is_quote(quote) and find_quote(quote, text) is None
            ),
            None,
        )
        if missing is None:
            supported[key] = mark
        else:
            unfound[key] = f"quoted evidence not found in the text: {missing[:120]!r}"
    return supported, unfound


def no_ballot(
    seat: Seat,
    question: Question,
    reason: str,
    reading: Reading | None = None,
    *,
    state: JudgeState = JudgeState.DEGRADED,
    hint: str | None = None,
) -> Ballot:
    return Ballot(
        judge=seat.id,
        kind=seat.kind,
        marks={},
        abstained={key: reason for key, _ in question.items()},
        state=state,
        reason=reason,
        problems=reading.problems if reading else (),
        repairs=reading.repairs if reading else (),
        hint=hint,
    )


@dataclass(kw_only=True)
class _Asking:
    """One seat with one question, while it is asked: what that cost, and the replies that gave no
    answer.
    """

    seat: Seat
    question: Question
    ignore_record: bool = False
    first: ports.Request | None = None
    missed_control: bool = False
    spend: Spend = field(default_factory=Spend)
    unusable: list[tuple[str, int]] = field(default_factory=list)

    @property
    def is_of_record(self) -> bool:
        """Whether all that is known is of earlier runs. A host agent cannot be asked for more."""
        return (
            self.spend.cached_calls > 0
            and self.spend.judge_calls == 0
            and self.seat.kind != "agent"
        )

    def read(self, request: ports.Request, reply: ports.Reply) -> Reading:
        return self.seat.judge.read(self.question, request, reply)


def _asked_again(
    asking: _Asking, request: ports.Request, reading: Reading, count: int
) -> ports.Request:
    """The whole prompt again with what was wrong, for the `count`-th time."""
    problems = complaints_about(request, reading)
    if count > 1:  # What is on record for the same words is the reply that could not be used.
        problems = (*problems, f"{count} replies in a row could not be used")
    return asking.seat.judge.render(asking.question, problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The ballots about one version and what they took, `by_judge` too where several were asked.
    `refused` is the limit that kept a judge from being asked.
    """

    ballots: tuple[Ballot, ...]
    spend: Spend
    by_judge: Mapping[str, Spend] = field(default_factory=dict)
    refused: str | None = None


class Evaluator:
    """Everything that judges for one rubric: the checks and the panel.

    With `gate_only` judges are asked one after another, and no more once the verdict cannot change.
    """

    def __init__(
        self,
        rubric: Rubric,
        checker: ports.Checker,
        panel: Panel,
        *,
        gate_only: Scorer | None = None,
    ) -> None:
        self.rubric = rubric
        self._gate_only = gate_only
        self.panel = panel
        self.checker = checker
        self._checks: list[tuple[Key, Check]] = [
            (key, item.check) for key, item in rubric.questions() if item.check is not None
        ]
        self._asked = asked_criteria(rubric)

    def question(
        self,
        artifact: Artifact,
        *,
        input: str | None = None,
        images: tuple[ports.Image, ...] = (),
        reference: str | None = None,
        output: ports.Output | None = None,
        case: str | None = None,
        attempt: int = 1,
    ) -> Question:
        """What the judges are asked about an artifact, or about the output that a target made of
        it.
        """
        return Question(
            artifact=artifact,
            criteria=self._asked,
            input=input,
            images=images,
            reference=reference,
            output=None if output is None else output.text,
            workspace={"path": output.folder, "diff": output.diff}
            if output and output.diff is not None
            else None,
            case=case,
            attempt=attempt,
        )

    async def judge(self, question: Question, output: ports.Output | None = None) -> Judged:
        """All checks and all seats. Judges are asked first, so that calls are granted in the order
        of the artifacts. `output` is what the question's output is the text of.
        """
        asking: asyncio.Task[list[Consulted]] | None = None
        if question.criteria and self._checks and not self.waits_for_checks:
            asking = asyncio.create_task(self.panel.consult(question))
        try:
            checks = [await self.check(question, output)] if self._checks else []
            consulted = (
                await (asking or self.consult(question, checks)) if question.criteria else []
            )
        except BaseException:
            if asking is not None:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
            raise
        spend = Spend.of(one.spend for one in consulted)
        refused = next((one.refused for one in consulted if one.refused is not None), None)
        by_judge = {one.ballot.judge: one.spend for one in consulted} if len(consulted) > 1 else {}
        ballots = (*checks, *(one.ballot for one in consulted))
        return Judged(ballots=ballots, spend=spend, by_judge=by_judge, refused=refused)

    @property
    def waits_for_checks(self) -> bool:
        """Whether judges are asked after the checks, because these may make them needless."""
        return self._gate_only is not None

    async def consult(self, question: Question, checks: Sequence[Ballot]) -> list[Consulted]:
        """The judges' ballots; `checks` are what code said."""
        if self._gate_only is None:
            return await self.panel.consult(question)
        found: list[Consulted] = []
        seats = list(self.panel.seats)
        while seats:
            known = [*checks, *(consulted.ballot for consulted in found)]
            if settled(self._gate_only, known, [seat.id for seat in seats]) is not None:
                break
            found += await self.panel.consult(question, [seats.pop(0)])
        return [*found, *(spared(seat) for seat in seats)]

    async def check(self, question: Question, output: ports.Output | None = None) -> Ballot:
        """What code says."""
        checks, version = [check for _, check in self._checks], question.artifact.version
        findings = await self.checker.run(
            checks,
            version,
            output,
            input=question.input,
            reference=question.reference,
            once=self.panel.once,
        )
        return check_ballot(self._checks, findings)


def spared(seat: Seat) -> Consulted:
    why = "not asked: whatever it said, the verdict would be the same (--gate-only)"
    return Consulted(
        ballot=Ballot(
            judge=seat.id, kind=seat.kind, marks={}, state=JudgeState.SKIPPED, reason=why
        ),
        spend=Spend(),
    )


def check_ballot(checks: Sequence[tuple[Key, Check]], findings: Sequence[ports.Finding]) -> Ballot:
    """Findings as a ballot: a check that could not run abstains, with the reason."""
    marks: dict[Key, Mark] = {}
    abstained: dict[Key, str] = {}
    for (key, _), finding in zip(checks, findings, strict=True):
        if finding.met is None:
            abstained[key] = finding.note or "the check could not run"
        else:
            marks[key] = Mark(
                finding.met, (finding.note,) if finding.note else (), score=finding.score
            )
    boxes = sorted({finding.sandbox for finding in findings if finding.sandbox})
    return Ballot(
        judge=CHECK,
        marks=marks,
        abstained=abstained,
        sandbox=", ".join(boxes) or None,
        judged_by=tuple(sorted({name for finding in findings for name in finding.judged_by})),
        restored=tuple(sorted({name for finding in findings for name in finding.restored})),
    )


T = TypeVar("T")

FIRST_WAIT: Final = 0.5
LONGEST_WAIT: Final = 30.0
# A wait that the server asked for is lengthened by up to this share (a second at most), so that
# calls that were turned away together do not come back together.
SPREAD: Final = 0.1


def next_wait(
    failure: ports.CallFailed,
    attempt: int,
    spent: float,
    *,
    attempts: int = 5,
    total_seconds: float = 120.0,
    jitter: Callable[[], float] = random.random,
) -> float | None:
    """Seconds to wait before the next attempt; None to give up. `attempt` counts from 1, `spent` is
    seconds so far.

    What the server asks for is obeyed; when that does not fit into the total, coming sooner does
    not help. `jitter` gives numbers from 0 to 1.
    """
    if not failure.retryable or attempt >= attempts:
        return None
    if failure.retry_after is not None:
        wait = failure.retry_after + jitter() * min(failure.retry_after * SPREAD, 1.0)
    else:
        # The exponent is cut before it can overflow.
        full = min(FIRST_WAIT * 2.0 ** min(attempt - 1, 16), LONGEST_WAIT)
        wait = full * (0.5 + 0.5 * jitter())
    return wait if spent + wait <= total_seconds else None


async def with_retries(
    call: Callable[[], Awaitable[T]],
    *,
    attempts: int = 5,
    total_seconds: float = 120.0,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """What `call` returns, tried again while that is worth it. Raises the last CallFailed."""
    start = clock()
    attempt = 1
    while True:
        try:
            return await call()
        except ports.CallFailed as failure:
            wait = next_wait(
                failure,
                attempt,
                clock() - start,
                attempts=attempts,
                total_seconds=total_seconds,
                jitter=jitter,
            )
            if wait is None:
                raise
        if wait > 0:
            await sleep(wait)
        attempt += 1


def read_stored_reply(stored: ports.StoredReply) -> ports.Reply | None:
    """A reply on record. One that cannot be read, of a damaged store, is asked for again."""
    from msgspec import DecodeError, ValidationError, convert, json

    try:
        return json.decode(stored.data, type=ports.Reply)
    except ValidationError:
        return None
    except DecodeError:  # half a surrogate pair, or damaged
        try:
            return convert(plain_json.loads(stored.data), ports.Reply)
        except (ValueError, ValidationError):
            return None
