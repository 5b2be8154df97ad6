"""Asking judges: in parallel, apart from each other, once more where an answer is missing, and
never twice for what is already on record.
"""

from __future__ import annotations

import hashlib
import json as plain_json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from honestone import ports
from honestone.core.json_value import JsonObject
from honestone.core.judging.ballot import (
    NOT_ASKED,
    OUT_OF_TIME,
    Answer,
    AskedCriterion,
    Ballot,
    JudgeState,
    Question,
    Reading,
)
from honestone.core.judging.choices import Ask
from honestone.core.judging.contract import canonical, canonical_text
from honestone.core.judging.rubric import Key
from honestone.core.judging.spend import Meter, Spend, Usage
from honestone.core.record.rates import tokens_of
from honestone.engine.journal import OutOfTime, claimed, in_time, settle, take_call, turn
from honestone.engine.judging.ballots import (
    Consulted,
    ballot_of,
    complaints_about,
    joined_ballot,
    merged,
    no_ballot,
)
from honestone.engine.judging.retrying import next_wait, with_retries
from honestone.engine.judging.seats import Seat, function_token
from honestone.engine.live import HERE
from honestone.engine.traced import ask_judge
from honestone.system import late_asyncio as asyncio
from honestone.system.telemetry import telemetry

# Of a judge that does not say itself how many it takes.
CALLS_AT_ONCE: Final = 8


class NotGranted(Exception):
    """A call was not made because a limit is used up."""


class Panel(Struct, kw_only=True):
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
    concurrency: int = CALLS_AT_ONCE
    ask: Ask = "rubric"
    fallback: Seat | None = None
    oldest_reply: str | None = None
    first_counts: frozenset[str] = frozenset()
    answered: Callable[[str], None] = lambda seat: None
    _asked: set[str] = field(default_factory=set)
    _waiting: dict[str, asyncio.Lock] = field(default_factory=dict)
    _gates: dict[str, asyncio.Semaphore] = field(default_factory=dict)
    _identities: dict[str, tuple[ports.Judge, str]] = field(default_factory=dict)
    # The latest request was not on record, so the next one is probably not either: it is claimed
    # before it is looked up, and looked up once.
    _is_asking: bool = False

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

    async def on_record(
        self, seat: Seat, question: Question, before: str | None = None
    ) -> Question | None:
        """What the look of this seat that counts on record (`before`: from before that time) was
        asked: this question, or a part of its criteria. None where no look can be had without a call.
        """
        if not seat.judge.is_paid or self.fresh or len(split(question.criteria, self.ask)) != 1:
            return None
        question = replace(question, draw=seat.draw)
        found: dict[int, Question] = {}
        try:
            whole = seat.judge.render(question)
            key = self._key(seat, whole)
            known = [
                one for one in await self.journal.recall(key) if before is None or one.at < before
            ]
            for asked in _questions_of(question, known):
                request = whole if asked is question else seat.judge.render(asked)
                asking = _Asking(seat=seat, question=asked, first=request, recorded_under=whole)
                chosen = await self._on_record(key, asking, request, known)
                # Of a reply that missed a control nothing counts: its judge would be asked again.
                if chosen is not None and asking.read(request, chosen[1]).control != "missed":
                    found[chosen[0]] = asked
        except ports.CallFailed:
            return None
        if not found:
            return None
        return found[min(found) if seat.id in self.first_counts else max(found)]

    async def consult_one(self, seat: Seat, question: Question) -> Consulted:
        """One seat's ballot, in as many calls as `ask` says."""
        if question.draw != seat.draw:
            question = replace(question, draw=seat.draw)
        live = HERE.get()
        if live is not None:
            live.asked(seat.id)
        parts = split(question.criteria, self.ask)
        if len(parts) == 1:
            consulted = await self._consult_part(seat, question)
        else:
            every = question.also_asked | {key for key, _ in question.items()}
            asked = (
                self._consult_part(seat, replace(question, criteria=part, also_asked=every))
                for part in parts
            )
            consulted = joined_ballot(seat, await asyncio.gather(*asked))
        if live is not None:
            live.answered(seat.id, failed=consulted.ballot.state is not JudgeState.AVAILABLE)
        self.answered(seat.id)
        if seat.draw_of is None and not question.whole:
            return consulted
        ballot = replace(consulted.ballot, draw_of=seat.draw_of, asked=question.part)
        return replace(consulted, ballot=ballot)

    async def _consult_part(self, seat: Seat, question: Question) -> Consulted:
        asking = _Asking(seat=seat, question=question)
        spend = asking.spend
        if not any(criterion.items for criterion in question.criteria):
            return Consulted(ballot=Ballot(judge=seat.id, kind=seat.kind, marks={}), spend=spend)
        consulted = await self._consult_once(asking)
        if asking.is_of_record and asking.missed_control:
            # Its replies on record can be read, and still nothing of them counts.
            again = await self._consult_once(replace(asking, ignore_record=True))
            consulted = consulted if again.refused else again
        return replace(
            consulted,
            ballot=replace(consulted.ballot, unusable=tuple(dict.fromkeys(asking.unusable))),
        )

    async def _consult_once(self, asking: _Asking) -> Consulted:
        seat, question, spend = asking.seat, asking.question, asking.spend
        try:
            request = asking.first = seat.judge.render(question)
            if question.whole:
                whole = replace(question, criteria=question.whole, whole=())
                asking.recorded_under = seat.judge.render(whole)
            first, before = await self._look(asking, request)
        except ports.CallFailed as failed:
            state = JudgeState.SKIPPED if failed.missing else JudgeState.DEGRADED
            ballot = no_ballot(seat, question, failed.reason, state=state, hint=failed.hint)
            return Consulted(ballot=ballot, spend=spend)
        except NotGranted as refused:
            ballot = no_ballot(seat, question, NOT_ASKED + str(refused))
            return Consulted(ballot=ballot, spend=spend, refused=str(refused))
        except OutOfTime as ended:
            ballot = no_ballot(seat, question, OUT_OF_TIME + str(ended))
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
        replies = asking.replies_among(stored_replies)
        if not replies or request is not asking.first:
            return False
        reading = asking.read(request, replies[-1])
        for count in range(1, asking.seat.reasks + 1):
            again = _asked_again(asking, request, reading, count)
            found = await self.journal.recall(self._key(asking.seat, again))
            readings = [asking.read(again, reply) for reply in asking.replies_among(found)]
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
            if reply is not None and places_asked(reply) == question.places:
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
            asking.unusable.append((self._key_of(asking, request), len(before)))
        return reading, before

    async def _reply(
        self, asking: _Asking, request: ports.Request
    ) -> tuple[ports.Reply, Sequence[ports.StoredReply]]:
        seat, question, spend = asking.seat, asking.question, asking.spend
        judge = seat.judge
        if not judge.is_paid:
            return await judge.ask(request, question), ()
        key = self._key_of(asking, request)
        # Equal requests wait for each other, so that the second finds the first one's reply.
        lock = self._waiting.get(key)
        if lock is None:
            lock = self._waiting[key] = asyncio.Lock()
        try:
            async with lock:
                found: tuple[int, ports.Reply] | None = None
                replies: Sequence[ports.StoredReply] = ()
                if not self._is_asking:
                    replies = await self.journal.recall(key)
                    found = await self._on_record(key, asking, request, replies)
                if found is None:
                    async with claimed(self.journal, key):
                        # Here too where it was looked up before: another process may have asked it
                        # since.
                        replies = await self.journal.recall(key)
                        found = await self._on_record(key, asking, request, replies)
                        self._is_asking = found is None
                        if found is None:
                            reply = await self._paid_reply(
                                key, seat, request, question, spend, len(replies)
                            )
                            return reply, replies
                telemetry().from_record(seat.id)
                spend.cached_calls += 1
                self.meter.spent.cached_calls += 1
                place, reply = found
                return reply, replies[:place]
        finally:
            self._waiting.pop(key, None)

    async def _on_record(
        self, key: str, asking: _Asking, request: ports.Request, known: Sequence[ports.StoredReply]
    ) -> tuple[int, ports.Reply] | None:
        """The reply that counts without a call, with its place. One without an answer counts only
        in the run that asked for it.
        """
        if not known:
            return None
        seat = asking.seat
        readable = {
            place: reply
            for place, stored in enumerate(known)
            if (reply := read_stored_reply(stored)) is not None
            and places_asked(reply) == asking.question.places
        }
        # A host agent cannot be asked: what it replied to this very prompt is on record, or is not
        # there.
        if key in self._asked or seat.kind == "agent":
            chosen = self._chosen(seat, known, list(readable))
            return None if chosen is None else (chosen, readable[chosen])
        if asking.ignore_record or (self.fresh and seat.id not in self.first_counts):
            return None
        usable = [
            place for place, reply in readable.items() if asking.read(request, reply).is_usable
        ]
        if not usable and await self._is_answered_after(asking, request, known):
            usable = list(readable)[-1:]
        chosen = self._chosen(seat, known, usable)
        return None if chosen is None else (chosen, readable[chosen])

    def _chosen(
        self, seat: Seat, known: Sequence[ports.StoredReply], places: Sequence[int]
    ) -> int | None:
        if seat.id in self.first_counts:
            return next(iter(places), None)
        is_recent = bool(places) and known[places[-1]].at >= (self.oldest_reply or "")
        return places[-1] if is_recent else None

    def _key_of(self, asking: _Asking, request: ports.Request) -> str:
        """A look at a part of the criteria is recorded as that look at all of them, so that it is
        found whatever part another run would choose.
        """
        under = asking.recorded_under if request is asking.first else None
        return self._key(asking.seat, under or request)

    def _key(self, seat: Seat, request: ports.Request) -> str:
        """`digest_json` of judge, body and draw, with the judge, who never changes, written down
        only once.
        """
        judge, identity = self._identities.get(seat.id, (None, ""))
        if judge is not seat.judge:
            identity = canonical({**seat.judge.identity, **function_token(seat.judge)})
            self._identities[seat.id] = (seat.judge, identity)
        body = canonical_text(request.body if request.keyed is None else request.keyed)
        rest = f',"draw":{seat.draw},"judge":{identity}}}'.encode("utf-8", "surrogatepass")
        return "sha256:" + hashlib.sha256(b'{"body":' + body + rest).hexdigest()

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
                    if question.whole:
                        detail = {**reply.detail, ASKED: list(question.places)}
                        reply = replace(reply, detail=detail)
                    limit.reschedule(None)
                    # At once, before it is read: a kill may cost the replies that came in the same
                    # turn of the event loop, which were in the air all the same.
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
        late = None if first is None else read_stored_reply(first)
        # One about other criteria, of a run that chose another part, answers another question.
        return late if late and places_asked(late) == question.places else reply

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
        """The semaphore that limits how many calls of a judge run at once."""
        if seat.id not in self._gates:
            own = seat.judge.concurrency if isinstance(seat.judge, ports.HasCapacity) else None
            self._gates[seat.id] = asyncio.Semaphore(own or self.concurrency)
        return self._gates[seat.id]

    async def close(self) -> None:
        for seat in self.seats:
            await seat.judge.close()


def split(criteria: tuple[AskedCriterion, ...], ask: Ask) -> list[tuple[AskedCriterion, ...]]:
    """The parts of a rubric that are asked in one call each."""
    if ask == "rubric" or not criteria:
        return [criteria]
    if ask == "criterion":
        return [(criterion,) for criterion in criteria]
    return [
        (replace(criterion, items=(item,)),) for criterion in criteria for item in criterion.items
    ]


class _Asking(Struct, kw_only=True):
    """One seat with one question, while it is asked: what that cost, and the replies that gave no
    answer.
    """

    seat: Seat
    question: Question
    ignore_record: bool = False
    first: ports.Request | None = None
    # The same look at all criteria, where the question is about a part of them.
    recorded_under: ports.Request | None = None
    missed_control: bool = False
    spend: Spend = field(default_factory=Spend)
    unusable: list[tuple[str, int]] = field(default_factory=list)
    # The last one that was read.
    _read: tuple[ports.Request, ports.Reply, Reading] | None = None

    @property
    def is_of_record(self) -> bool:
        """Whether all that is known is of earlier runs. A host agent cannot be asked for more."""
        return (
            self.spend.cached_calls > 0
            and self.spend.judge_calls == 0
            and self.seat.kind != "agent"
        )

    def replies_among(self, stored: Sequence[ports.StoredReply]) -> list[ports.Reply]:
        """Those that can be read and were asked the same criteria."""
        replies = [reply for one in stored if (reply := read_stored_reply(one)) is not None]
        return [one for one in replies if places_asked(one) == self.question.places]

    def read(self, request: ports.Request, reply: ports.Reply) -> Reading:
        """What a reply says. A reply on record is asked for that twice: whether it counts, and what
        it says.
        """
        if self._read is None or self._read[0] is not request or self._read[1] is not reply:
            reading = self.seat.judge.read(self.question, request, reply)
            self._read = (request, reply, reading)
        return self._read[2]


def _asked_again(
    asking: _Asking, request: ports.Request, reading: Reading, count: int
) -> ports.Request:
    """The whole prompt again with what was wrong, for the `count`-th time."""
    problems = complaints_about(request, reading)
    if count > 1:  # What is on record for the same words is the reply that could not be used.
        problems = (*problems, f"{count} replies in a row could not be used")
    return asking.seat.judge.render(asking.question, problems)


# In a reply on record: the places of the criteria that it was asked among those of the rubric,
# where that was a part of all. Their ids may be others by then: no prompt names them.
ASKED: Final = "asked_places"


def places_asked(reply: ports.Reply) -> tuple[int, ...]:
    """The places of the criteria that it was asked; empty for all of them."""
    return tuple(reply.detail.get(ASKED, ()))


def _questions_of(question: Question, known: Sequence[ports.StoredReply]) -> Sequence[Question]:
    """The questions that these replies to a look answered: all of it, or a part. A part that this
    question does not have is none of them.
    """
    replies = [reply for one in known if (reply := read_stored_reply(one))]
    found = [question.part_at(places) for places in dict.fromkeys(map(places_asked, replies))]
    return [one for one in found if one is not None]


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
