"""Requests that wait to be sent together, and batches that are waited for.

What was asked is sent as one batch as soon as no further request has come for a moment. A batch is
written down before it is sent, and taken off the list only when the replies have been handed on and
kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from honestone.adapters.answers import StreamedAnswer
from honestone.adapters.endpoint import EndpointAnswer
from honestone.adapters.models.batches.api import (
    AskedRequest,
    BatchApi,
    BatchGone,
    name_of,
    read_result,
)
from honestone.adapters.models.batches.ledger import BatchLedger, OpenBatch
from honestone.adapters.models.batches.options import MOST, BatchOptions
from honestone.adapters.transport import in_parts, let_go
from honestone.core.json_value import Json
from honestone.ports import CallFailed

# How long no further request has come when a batch is sent.
QUIET_SECONDS: Final = 1.0
MOST_BYTES: Final = 100_000_000
FIRST_LOOK: Final = 1.0
LONGEST_WAIT: Final = 60.0
SUBMIT_TRIES: Final = 4
TAKEN_UP: Final = "the same command takes it up again and pays nothing twice"

T = TypeVar("T")


class _Waiting(Struct):
    """A request and who waits for its answer."""

    request: AskedRequest
    size: int
    futures: list[asyncio.Future[EndpointAnswer]] = field(default_factory=list)


class BatchQueue:
    """The batches of one model. Implements `api_model.Sender`. Belongs to one event loop."""

    def __init__(self, api: BatchApi, ledger: BatchLedger, options: BatchOptions) -> None:
        self._api = api
        self._ledger = ledger
        self._options = options
        self._asked: dict[str, _Waiting] = {}
        self._new: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: dict[str, OpenBatch] | None = None
        """By digest: in which batch of an earlier process, or of this one, a request is."""
        self._under_way: set[str] = set()
        self._answers: dict[str, EndpointAnswer | CallFailed] = {}
        self._handed_on: set[str] = set()
        self._is_settling = False
        self._began = time.monotonic()

    async def send(self, body: object, draw: int) -> Json | StreamedAnswer:
        """What a call would have been answered with. Raises CallFailed."""
        self._api.endpoint.key.read()  # before anything waits for others
        encoded = msgspec.json.encode([self._api.place, draw, body], order="deterministic")
        digest = hashlib.sha256(encoded).hexdigest()
        answer = await self._answer(AskedRequest(digest, body), len(encoded))
        read = read_result(self._api, answer)
        if isinstance(read, CallFailed):
            raise read
        return read

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._settle()
        await let_go(self._api)

    # --------------------------------------------------------------------------------------------
    # who waits for what

    async def _answer(self, request: AskedRequest, size: int) -> EndpointAnswer:
        digest = request.digest
        if digest in self._answers:
            self._hand_on([digest])
            found = self._answers.pop(digest)
            if isinstance(found, CallFailed):
                raise found
            return found
        waiting = self._asked.setdefault(digest, _Waiting(request, size))
        future: asyncio.Future[EndpointAnswer] = asyncio.get_running_loop().create_future()
        waiting.futures.append(future)
        if len(waiting.futures) == 1:
            batch = self._known().get(digest)
            if batch is None:
                self._put(digest)
            else:
                self._take_up(batch)
        return await future

    def _known(self) -> dict[str, OpenBatch]:
        if self._open is None:
            batches = [
                one
                for one in self._ledger.all(self._api.place)
                if one.fresh or not self._options.fresh
            ]
            self._open = {digest: one for one in batches for digest in one.asked}
        return self._open

    def _put(self, digest: str) -> None:
        """Into the batch that is sent next."""
        self._new.append(digest)
        if self._timer is not None:
            self._timer.cancel()
        wait = 0.0 if len(self._new) >= MOST else QUIET_SECONDS
        self._timer = asyncio.get_running_loop().call_later(wait, self._flush)

    def _flush(self) -> None:
        self._timer = None
        sized = (
            (digest, self._asked[digest].size) for digest in self._new if digest in self._asked
        )
        for digests in in_parts(sized, MOST, MOST_BYTES):
            batch = OpenBatch(
                place=self._api.place,
                mark=secrets.token_hex(12),
                since=time.time(),
                size=len(digests),
                asked=tuple(digests),
                fresh=self._options.fresh,
            )
            self._known().update(dict.fromkeys(digests, batch))
            self._start(self._carry(batch, is_new=True), batch)
        self._new.clear()

    def _take_up(self, batch: OpenBatch) -> None:
        if batch.mark not in self._under_way:
            self._start(self._carry(batch, is_new=False), batch)

    def _start(self, work: Awaitable[None], batch: OpenBatch) -> None:
        self._under_way.add(batch.mark)
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -------------------------------------------------------------------------------------------------
    # one batch

    async def _carry(self, batch: OpenBatch, *, is_new: bool) -> None:
        """A batch from its sending to its answers. Whatever happens, whoever waits for it hears of
        it.
        """
        try:
            batch = await self._sent(batch, is_new=is_new)
            answers = await self._ended(batch)
        except BatchGone as gone:
            self._forget(batch)
            if is_new:
                self._fail(batch, gone)
            else:  # it was another process's: asked from the beginning
                self._ask_again(batch)
        except CallFailed as failed:
            if batch.id is None and not failed.retryable:  # it never arrived
                self._forget(batch)
            self._fail(batch, failed)
        except Exception as error:
            self._fail(batch, error)
        else:
            self._deliver(batch, answers, is_new=is_new)
        finally:
            self._under_way.discard(batch.mark)

    async def _sent(self, batch: OpenBatch, *, is_new: bool) -> OpenBatch:
        """The batch with its id, on record; sent now, or found where a process ended before it
        heard the id.
        """
        host = self._api.host
        if batch.id is not None:
            self._options.say(
                f"batch {batch.id} at {host}: taken up again, {len(batch.asked)} of its replies are needed"
            )
            return batch
        self._ledger.keep(batch)
        known = frozenset(one.id for one in self._ledger.all(batch.place) if one.id is not None)
        id = (
            None
            if is_new
            else await self._patiently(
                lambda: self._api.find(batch.mark, batch.size, batch.since, known)
            )
        )
        found = id is not None
        if id is None and not is_new:
            raise BatchGone("it was never sent")
        if id is None:
            id = await self._submit(batch, known)
        batch = replace(batch, id=id)
        self._ledger.keep(batch)
        self._known().update(dict.fromkeys(batch.asked, batch))
        count = f"{batch.size} call{'' if batch.size == 1 else 's'}"
        how = "taken up again" if found else "sent at half the price, answered within 24 hours"
        self._options.say(
            f"batch {id} at {host}: {count} {how}; stop with Ctrl-C at any time: {TAKEN_UP}"
        )
        return batch

    async def _submit(self, batch: OpenBatch, known: frozenset[str]) -> str:
        """Submit a batch once: before a second try, ask the server whether the first one arrived."""
        requests = [self._asked[digest].request for digest in batch.asked]
        wait = FIRST_LOOK
        for _ in range(SUBMIT_TRIES - 1):
            try:
                return await self._api.submit(requests, batch.mark)
            except CallFailed as failed:
                if not failed.retryable:
                    raise
                await asyncio.sleep(wait if failed.retry_after is None else failed.retry_after)
                wait *= 4
            id = await self._api.find(batch.mark, batch.size, batch.since, known)
            if id is not None:
                return id
        return await self._api.submit(requests, batch.mark)

    async def _ended(self, batch: OpenBatch) -> dict[str, EndpointAnswer | CallFailed]:
        assert batch.id is not None, "it has been sent"
        id, wait = batch.id, FIRST_LOOK
        while not await self._patiently(lambda: self._api.is_over(id)):
            await self._sleep(wait, id)
            wait = min(wait * 1.5, LONGEST_WAIT)
        return await self._patiently(lambda: self._api.results(id))

    async def _patiently(self, look: Callable[[], Awaitable[T]]) -> T:
        """What costs nothing is tried until the time is over: a night has more than one dropped
        connection.
        """
        wait = FIRST_LOOK
        while True:
            try:
                return await look()
            except CallFailed as failed:
                if not failed.retryable:
                    raise
                await self._sleep(max(wait, failed.retry_after or 0.0), None, failed)
                wait = min(wait * 2, LONGEST_WAIT)

    async def _sleep(self, seconds: float, id: str | None, why: CallFailed | None = None) -> None:
        left = self._options.minutes * 60 - (time.monotonic() - self._began)
        if left <= 0:
            if why is not None:
                raise CallFailed(why.reason, hint=why.hint)
            raise CallFailed(
                f"batch {id} is not done after {self._options.minutes:g} minutes (--max-minutes)",
                hint=TAKEN_UP,
            )
        await asyncio.sleep(min(seconds, left))

    # -------------------------------------------------------------------------------------------------
    # what became of it

    def _deliver(
        self, batch: OpenBatch, answers: Mapping[str, EndpointAnswer | CallFailed], *, is_new: bool
    ) -> None:
        names = {name_of(digest): digest for digest in batch.asked}
        if (
            not is_new and not names.keys() & answers.keys()
        ):  # somebody else's batch of the same size
            self._forget(batch)
            self._ask_again(batch)
            return
        missing = CallFailed(
            f"{self._api.host} ended batch {batch.id} without an answer to this request"
        )
        handed = []
        for name, digest in names.items():
            answer = answers.get(name, missing)
            waiting = self._asked.pop(digest, None)
            if waiting is None:
                self._answers[digest] = answer
                continue
            handed.append(digest)
            _resolve(waiting.futures, answer)
        self._hand_on(handed)

    def _hand_on(self, digests: Iterable[str]) -> None:
        """They are taken off the list after those who waited have run: these keep a reply before
        they wait for anything.
        """
        self._handed_on.update(digests)
        if not self._is_settling:
            self._is_settling = True
            asyncio.get_running_loop().call_soon(self._settle)

    def _settle(self) -> None:
        self._is_settling = False
        done, self._handed_on = self._handed_on, set()
        for batch in {
            one.mark: one for digest in done if (one := self._known().get(digest)) is not None
        }.values():
            left = [digest for digest in batch.asked if digest not in done]
            rest = replace(batch, asked=tuple(left))
            for digest in batch.asked:
                self._known().pop(digest, None)
            self._known().update(dict.fromkeys(left, rest))
            if left:
                self._ledger.keep(rest)
            else:
                self._ledger.forget(rest)

    def _forget(self, batch: OpenBatch) -> None:
        self._ledger.forget(batch)
        for digest in batch.asked:
            self._known().pop(digest, None)

    def _ask_again(self, batch: OpenBatch) -> None:
        for digest in batch.asked:
            if digest in self._asked:
                self._put(digest)

    def _fail(self, batch: OpenBatch, error: Exception) -> None:
        for digest in batch.asked:
            waiting = self._asked.pop(digest, None)
            if waiting is not None:
                _resolve(waiting.futures, error)


def _resolve(
    futures: Iterable[asyncio.Future[EndpointAnswer]], answer: EndpointAnswer | Exception
) -> None:
    for future in futures:
        if future.done():  # whoever waited was stopped
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
