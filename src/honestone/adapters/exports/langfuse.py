"""A finished run to a Langfuse server: traces as OTLP in its JSON form, then scores on them.

The server and the keys are those of Langfuse's own variables. Everything has an id of its own, so
that sending again writes over what is there and nothing counts twice.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from msgspec import Struct

from honestone.adapters import transport
from honestone.adapters.answers import clean, decode, error_details, retry_after
from honestone.adapters.endpoint import Endpoint, EndpointAnswer, host_of
from honestone.adapters.transport import Transport
from honestone.core.errors import UsageError
from honestone.core.record.exported import LangfuseSpan, LangfuseTraces, Score
from honestone.ports import CallFailed
from honestone.system.loose_json import tables

HOST_VARIABLES: Final = ("LANGFUSE_BASE_URL", "LANGFUSE_HOST")
KEY_VARIABLES: Final = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
SPANS: Final = "/api/public/otel/v1/traces"
SCORES: Final = "/api/public/scores"
# Bytes of a request: a server takes 1 MiB of scores at a time.
_LARGEST: Final = 900_000
_MOST: Final = 100
_SECONDS: Final = 30.0
# Before the second, third and fourth try, where the server does not say how long to wait.
_WAITS: Final = (1.0, 4.0, 15.0)
_LONGEST_WAIT: Final = 60.0
_SIDE_BY_SIDE: Final = 4


class LangfuseServer(Struct, frozen=True, kw_only=True):
    """Where to, without a login, and what proves that we may. `secrets` are never shown."""

    endpoint: Endpoint
    headers: Mapping[str, str]
    secrets: tuple[str, ...]

    @property
    def where(self) -> str:
        return host_of(self.endpoint.base_url)


def langfuse_server(environment: Mapping[str, str]) -> LangfuseServer:
    """The server of the variables. Raises UsageError for what is missing or cannot be."""
    host = next(
        (found for name in HOST_VARIABLES if (found := environment.get(name, "").strip())), ""
    )
    keys = [environment.get(name, "").strip() for name in KEY_VARIABLES]
    missing = [
        name
        for name, value in zip((HOST_VARIABLES[1], *KEY_VARIABLES), (host, *keys), strict=True)
        if not value
    ]
    if missing:
        raise UsageError(
            f"--format langfuse needs {', '.join(missing)}: not set",
            hint="LANGFUSE_HOST is the address, such as https://cloud.langfuse.com; the keys are in the project's settings",
        )
    scheme, mark, rest = host.partition("://")
    if scheme not in ("http", "https") or not mark or not rest or "@" in rest:
        raise UsageError(
            "the address of Langfuse must be http://HOST or https://HOST, without a login",
            hint="LANGFUSE_HOST=https://cloud.langfuse.com",
        )
    if not all(key.isascii() and key.isprintable() and " " not in key for key in keys):
        raise UsageError(
            f"{' or '.join(KEY_VARIABLES)} holds a character that cannot be part of a key; set it again"
        )
    login = base64.b64encode(":".join(keys).encode()).decode()
    headers = {
        "Authorization": f"Basic {login}",
        "Content-Type": "application/json",
        "x-langfuse-ingestion-version": "4",
        "x-langfuse-public-key": keys[0],
    }
    endpoint = Endpoint(provider="langfuse", base_url=host.rstrip("/"), timeout=_SECONDS)
    return LangfuseServer(endpoint=endpoint, headers=headers, secrets=(login, keys[1]))


async def send_to_langfuse(server: LangfuseServer, made: LangfuseTraces) -> None:
    """Send all of it, traces first. Raises UsageError, which says what had arrived, and holds no
    key.
    """
    sending = _Sending(server)
    sending.transport = transport.hold(sending)
    try:
        for part in _parts(made.spans):
            await sending.post(SPANS, _otlp(part, made.resource, made.scope), "traces")
        await sending.scores(made.scores)
    finally:
        await transport.let_go(sending)


_Row = TypeVar("_Row", LangfuseSpan, Score)


class _Sending:
    """One export. It counts what has arrived, for whoever has to hear that the rest did not."""

    def __init__(self, server: LangfuseServer) -> None:
        self.transport: Transport | None = None
        self._server = server
        self._arrived = 0

    async def scores(self, scores: Sequence[Score]) -> None:
        """Send the scores as lists, which servers take since 2026; one by one where the first list
        is refused.
        """
        parts = list(_parts(scores))
        for number, part in enumerate(parts):
            answer = await self._exchange(SCORES, part)
            if number == 0 and answer.status in (400, 404, 422):
                await self._one_by_one(scores)
                return
            self._check(answer, "scores")
            self._arrived += len(part)

    async def _one_by_one(self, scores: Sequence[Score]) -> None:
        turns = asyncio.Semaphore(_SIDE_BY_SIDE)

        async def send(score: Score) -> None:
            async with turns:
                await self.post(SCORES, score, "scores")
            self._arrived += 1

        try:
            async with asyncio.TaskGroup() as group:
                for score in scores:
                    group.create_task(send(score))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None

    async def post(self, path: str, body: object, what: str) -> None:
        self._check(await self._exchange(path, body), what)

    async def _exchange(self, path: str, body: object) -> EndpointAnswer:
        """An answer that is final: what may pass by itself is asked again."""
        assert self.transport is not None
        data = json.dumps(body, ensure_ascii=True, allow_nan=False).encode()
        for wait in (*_WAITS, None):
            got = await self.transport.exchange(
                "POST", self._server.endpoint, path, self._server.headers, data
            )
            again = (
                got.retryable
                if isinstance(got, CallFailed)
                else got.status == 429 or got.status >= 500
            )
            if not again or wait is None:
                break
            asked = None if isinstance(got, CallFailed) else retry_after(got.headers, time.time())
            await asyncio.sleep(min(wait if asked is None else asked, _LONGEST_WAIT))
        if isinstance(got, CallFailed):
            raise self._failure(str(got))
        return got

    def _check(self, answer: EndpointAnswer, what: str) -> None:
        """Raise an error unless the server accepted all of it."""
        where, words = self._server.where, error_details(answer).message
        if answer.status in (401, 403):
            names = " and ".join(KEY_VARIABLES)
            raise self._failure(
                f"{where} refused the keys ({answer.status}); are {names} of one project?"
            )
        if 300 <= answer.status < 400:
            raise self._failure(
                f"{where} redirects, which is not followed; set LANGFUSE_HOST to where it leads"
            )
        if answer.status >= 400:
            raise self._failure(
                f"{where} did not take the {what} ({answer.status}): {words or 'no reason given'}"
            )
        reply = decode(answer.body)
        refused = _refused(reply) if isinstance(reply, dict) else ""
        if refused:
            raise self._failure(f"{where} did not take all {what}: {refused}")

    def _failure(self, words: str) -> UsageError:
        for secret in self._server.secrets:
            words = clean(words, secret, limit=400)
        return UsageError(
            words,
            hint=f"{self._arrived} scores had arrived; send again with the same command: nothing counts twice",
        )


def _refused(reply: Mapping[str, object]) -> str:
    """What the answer to a part says was not taken (207, and OTLP's `partialSuccess`); empty where
    all was.
    """
    number, errors = reply.get("rejected"), reply.get("errors")
    if number:
        first = next((one.get("message") for one in tables(errors)), "")
        return f"{number} refused: {first or 'no reason given'}"
    partial = reply.get("partialSuccess")
    if isinstance(partial, dict) and str(partial.get("rejectedSpans") or "0") != "0":
        return f"{partial['rejectedSpans']} spans refused: {partial.get('errorMessage') or 'no reason given'}"
    return ""


def _parts(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    sized = ((row, len(json.dumps(row, ensure_ascii=True)) + 2) for row in rows)
    return transport.in_parts(sized, _MOST, _LARGEST)


def _otlp(
    spans: Sequence[LangfuseSpan], resource: Mapping[str, str], scope: tuple[str, str]
) -> object:
    about = {
        "attributes": [
            {"key": name, "value": {"stringValue": value}} for name, value in resource.items()
        ]
    }
    scoped = {"scope": {"name": scope[0], "version": scope[1]}, "spans": spans}
    return {"resourceSpans": [{"resource": about, "scopeSpans": [scoped]}]}
