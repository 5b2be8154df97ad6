"""The two batch APIs: OpenAI's, a file of requests that is sent up and a file of answers that is
fetched, and Anthropic's.
"""

from __future__ import annotations

import re
import secrets
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, TypedDict

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from honestone.adapters.answers import StreamedAnswer, clean, decode, failure_of, read_answer
from honestone.adapters.endpoint import Endpoint, EndpointAnswer, host_of
from honestone.adapters.transport import hold
from honestone.core.json_value import Json
from honestone.ports import CallFailed
from honestone.system.loose_json import count, record, records, string, table

MAX_RESULT_BYTES: Final = 256_000_000
_LISTED: Final = 100
_PAGES: Final = 5
# Seconds by which the server's clock may be behind ours.
_CLOCKS: Final = 600.0

NO_BATCHES: Final = "leave out --batch, or name a judge of OpenAI or Anthropic"
_STATUS: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}


class BatchGone(CallFailed):
    """The server does not know the batch, or ended it without an answer to anything."""


class AskedRequest(Struct, frozen=True):
    """One request of a batch: its digest and the body that a call of its own would have had."""

    digest: str
    body: object

    @property
    def name(self) -> str:
        """Its name within the batch: at most 64 letters, digits and hyphens."""
        return name_of(self.digest)


def name_of(digest: str) -> str:
    return f"honestone-{digest[:48]}"


class _Page(TypedDict, total=False):
    """One page of the batches of an account."""

    data: Json
    has_more: Json


class _Metadata(TypedDict, total=False):
    """What we give a batch so that it is found again."""

    honestone: Json


class _Errors(TypedDict, total=False):
    """Why OpenAI refused a batch: a list of errors."""

    data: Json


class _Batch(TypedDict, total=False):
    """A batch, or a file, as either API describes it. The first three are of both, the next five of
    OpenAI, the rest of Anthropic.
    """

    id: Json
    created_at: Json
    request_counts: Json
    metadata: Json
    status: Json
    errors: Json
    output_file_id: Json
    error_file_id: Json
    processing_status: Json


class _Response(TypedDict, total=False):
    """How OpenAI's server answered one request of a batch."""

    status_code: Json
    body: Json


class _Error(TypedDict, total=False):
    """What a server writes of a request that failed; Anthropic's has the error in an `error`."""

    code: Json
    type: Json
    message: Json
    error: Json


class _Result(TypedDict, total=False):
    """What became of one request of Anthropic's."""

    type: Json
    message: Json
    error: Json


class _Line(TypedDict, total=False):
    """A line of results: OpenAI's has a `response` or an `error`, Anthropic's a `result`."""

    custom_id: Json
    response: Json
    error: Json
    result: Json


class BatchApi(ABC):
    """A provider's batches for one model. Every method raises CallFailed."""

    def __init__(self, endpoint: Endpoint, model: str, path: str) -> None:
        self.endpoint = endpoint
        self.model = model
        self.path = path

    @property
    def place(self) -> str:
        return f"{self.endpoint.base_url}{self.path} {self.model}"

    @property
    def host(self) -> str:
        return host_of(self.endpoint.base_url)

    @abstractmethod
    async def submit(self, requests: Sequence[AskedRequest], mark: str) -> str:
        """Send a batch; returns its id. After a failure that is `retryable` it may have arrived all
        the same.
        """

    @abstractmethod
    async def find(self, mark: str, size: int, since: float, known: frozenset[str]) -> str | None:
        """The id of a batch that was sent and not confirmed; `known` are ids of others."""

    @abstractmethod
    async def is_over(self, id: str) -> bool:
        """Whether there are results. Raises BatchGone where there will be none."""

    @abstractmethod
    async def results(self, id: str) -> dict[str, EndpointAnswer | CallFailed]:
        """The answer to each request by its name, as a call of its own would have got it."""

    # ----------------------------------------------------------------------------------------------
    # for subclasses

    async def _send(
        self, method: str, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> bytes:
        variable, key = self.endpoint.key.read()
        endpoint = replace(self.endpoint, max_bytes=MAX_RESULT_BYTES)
        got = await hold(self).call(method, endpoint, path, body, kind=kind)
        if got.status == 200:
            return got.body
        failed = failure_of(got, endpoint, model=self.model, variable=variable, key=key)
        if got.status == 404:
            raise BatchGone(
                f"{self.host} does not know this batch, or has no batches ({got.status})",
                hint=NO_BATCHES,
            )
        raise failed

    async def _object(self, method: str, path: str, body: object = None) -> Json:
        """The JSON object that the server answers with."""
        sent = None if body is None else msgspec.json.encode(body)
        value = decode(await self._send(method, path, sent))
        if not isinstance(value, dict):
            raise CallFailed(
                f"{self.host} answered with something that is not a whole JSON object",
                retryable=True,
            )
        return value

    def _each_once(
        self, found: Sequence[tuple[str, EndpointAnswer | CallFailed]]
    ) -> dict[str, EndpointAnswer | CallFailed]:
        """The answers by the names of their requests. Two answers to one request leave open which
        of them counts.
        """
        times = Counter(name for name, _ in found)
        twice = CallFailed(f"{self.host} answered this request more than once in one batch")
        return {name: answer if times[name] == 1 else twice for name, answer in found}

    def _id(self, given: Json) -> str:
        """An id goes into an address and into messages, so it is one word."""
        id = string(given)
        if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}", id):
            raise CallFailed(f"{self.host} took the batch and gave it no id that can be used")
        return id

    async def _batch(self, path: str) -> _Batch:
        return record(await self._object("GET", path), _Batch)

    async def _listed(self, path: str) -> Iterator[_Batch]:
        """The newest batches of the account."""
        found: list[_Batch] = []
        after = ""
        for _ in range(_PAGES):
            page = record(await self._object("GET", f"{path}?limit={_LISTED}{after}"), _Page)
            rows = records(page.get("data"), _Batch)
            found += rows
            if not page.get("has_more") or not rows:
                break
            after = f"&{self.next_page}={self._id(rows[-1].get('id'))}"
        return iter(found)

    next_page = "after"


class OpenAIBatches(BatchApi):
    """`/files` and `/batches`. Our mark goes with the batch as metadata, so one that was not
    confirmed is found by it.
    """

    async def submit(self, requests: Sequence[AskedRequest], mark: str) -> str:
        lines = [
            {"custom_id": one.name, "method": "POST", "url": f"/v1{self.path}", "body": one.body}
            for one in requests
        ]
        body, kind = _form(
            "requests.jsonl", b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        )
        file = record(decode(await self._send("POST", "/files", body, kind)), _Batch)
        made = await self._object(
            "POST",
            "/batches",
            {
                "input_file_id": self._id(file.get("id")),
                "endpoint": f"/v1{self.path}",
                "completion_window": "24h",
                "metadata": {"honestone": mark},
            },
        )
        return self._id(record(made, _Batch).get("id"))

    async def find(self, mark: str, size: int, since: float, known: frozenset[str]) -> str | None:
        for row in await self._listed("/batches"):
            is_ours = record(row.get("metadata"), _Metadata).get("honestone") == mark
            if is_ours and string(row.get("id")) not in known:
                return self._id(row.get("id"))
        return None

    async def is_over(self, id: str) -> bool:
        value = await self._batch(f"/batches/{id}")
        status = string(value.get("status"))
        if status == "failed":
            errors = records(record(value.get("errors"), _Errors).get("data"), _Error)
            words = (
                clean(string(errors[0].get("message")) if errors else "", "") or "no reason given"
            )
            raise BatchGone(f"{self.host} refused the batch: {words}")
        return status in ("completed", "expired", "cancelled")

    async def results(self, id: str) -> dict[str, EndpointAnswer | CallFailed]:
        value = await self._batch(f"/batches/{id}")
        found: list[tuple[str, EndpointAnswer | CallFailed]] = []
        for named in (value.get("output_file_id"), value.get("error_file_id")):
            if named:
                file = self._id(named)
                for line in _lines(await self._send("GET", f"/files/{file}/content")):
                    found.append((string(line.get("custom_id")), self._answer(line)))
        return self._each_once(found)

    def _answer(self, line: _Line) -> EndpointAnswer | CallFailed:
        response, error = record(line.get("response"), _Response), record(line.get("error"), _Error)
        status = count(response.get("status_code"))
        if status is not None:
            return EndpointAnswer(status, {}, msgspec.json.encode(response.get("body")))
        if error.get("code") in ("batch_expired", "batch_cancelled"):
            return _unanswered(self.host, string(error.get("code")).removeprefix("batch_"))
        return EndpointAnswer(500, {}, msgspec.json.encode({"error": error}))


class AnthropicBatches(BatchApi):
    """`/messages/batches`. A batch carries no mark of ours: one that was not confirmed is found by
    its time and size, and its results say by their names whether it is ours.
    """

    next_page = "after_id"

    async def submit(self, requests: Sequence[AskedRequest], mark: str) -> str:
        body = {"requests": [{"custom_id": one.name, "params": one.body} for one in requests]}
        made = record(await self._object("POST", f"{self.path}/batches", body), _Batch)
        return self._id(made.get("id"))

    async def find(self, mark: str, size: int, since: float, known: frozenset[str]) -> str | None:
        for row in await self._listed(f"{self.path}/batches"):
            counts = [count(number) or 0 for number in table(row.get("request_counts")).values()]
            if (
                sum(counts) == size
                and _seconds(row.get("created_at")) >= since - _CLOCKS
                and string(row.get("id")) not in known
            ):
                return self._id(row.get("id"))
        return None

    async def is_over(self, id: str) -> bool:
        value = await self._batch(f"{self.path}/batches/{id}")
        return value.get("processing_status") == "ended"

    async def results(self, id: str) -> dict[str, EndpointAnswer | CallFailed]:
        # Not by its `results_url`: an address that a server names is not given our key.
        body = await self._send("GET", f"{self.path}/batches/{id}/results")
        found = [
            (string(line.get("custom_id")), self._answer(record(line.get("result"), _Result)))
            for line in _lines(body)
        ]
        return self._each_once(found)

    def _answer(self, result: _Result) -> EndpointAnswer | CallFailed:
        kind = string(result.get("type"))
        if kind == "succeeded":
            return EndpointAnswer(200, {}, msgspec.json.encode(result.get("message")))
        if kind in ("expired", "canceled"):
            return _unanswered(self.host, kind)
        error = record(result.get("error"), _Error)
        error = record(error.get("error"), _Error) or error
        status = _STATUS.get(string(error.get("type")), 500)
        return EndpointAnswer(status, {}, msgspec.json.encode({"error": error}))


def read_result(api: BatchApi, answer: EndpointAnswer) -> Json | StreamedAnswer | CallFailed:
    """The JSON object of one request's answer, or what went wrong, as for a call of its own."""
    variable, key = api.endpoint.key.read()
    return read_answer(answer, api.endpoint, model=api.model, variable=variable, key=key)


def _unanswered(host: str, how: str) -> CallFailed:
    return CallFailed(
        f"{host} did not come to this request within its 24 hours: {how}",
        hint="the same command asks again; without --batch it is answered at once",
    )


def _lines(body: bytes) -> Iterator[_Line]:
    """The objects of JSON lines; a line that is none is left out, and its request has no answer."""
    for line in body.splitlines():
        value = decode(line) if line.strip() else None
        if isinstance(value, dict):
            yield record(value, _Line)


def _form(name: str, data: bytes) -> tuple[bytes, str]:
    """A file as multipart/form-data with the purpose `batch`, and its media type."""
    edge = secrets.token_hex(16)
    head = (
        f'--{edge}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    return (
        head.encode() + data + f"\r\n--{edge}--\r\n".encode(),
        f"multipart/form-data; boundary={edge}",
    )


def _seconds(stamp: object) -> float:
    try:
        return datetime.fromisoformat(string(stamp)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
