"""`http://...`, `https://...`: a target that is a server. One POST a run, JSON in; JSON or text out.

Sent: {"input", "messages", "case", "attempt"}, with "artifact" and "skill" where the run has one. A reply of type JSON is
{"output": TEXT, "trace": {...}} or a JSON text; any other is the output itself. Nothing is followed or retried.
"""

from __future__ import annotations

import asyncio
import os
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from honestone.adapters.targets.command import prompt_of
from honestone.adapters.targets.trace_parsing import OUTPUT_LIMIT, TOO_LONG, as_output
from honestone.core.artifact import Version
from honestone.core.checks import visible
from honestone.core.errors import SettingsError
from honestone.core.suite.case import Case
from honestone.ports import NothingToClose, Output, Task

if TYPE_CHECKING:
    import aiohttp

CONNECT_SECONDS: Final = 10.0
_CHUNK: Final = 65_536


class HttpTarget(NothingToClose):
    """`key_env` names the variable whose value is sent as a bearer token; it is read for each call and kept nowhere."""

    def __init__(self, url: str, *, timeout: float, key_env: str | None = None) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(
                f"the target `{visible(url, 80)}` is not an address", hint="for example http://127.0.0.1:8080/answer"
            )
        if parts.username is not None or parts.password is not None:
            raise SettingsError(
                "the target's address holds a login, which would appear in logs and reports",
                hint="name the variable that holds the key: api_key_env of a [targets.NAME] table",
            )
        self._url = url
        self._host = parts.netloc
        self._timeout = timeout
        self._key_env = key_env

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"kind": "http", "url": self._url}

    def refuse(self, cases: Sequence[Case]) -> None:
        if self._key_env is not None and not self._key():
            raise SettingsError(f"{self._key_env} is not set", hint=f"export it: the target {self._host} needs it")

    def _key(self) -> str:
        return os.environ.get(self._key_env or "", "").strip()

    async def run(self, task: Task) -> Output:
        timeout = task.timeout or self._timeout
        started = time.monotonic()
        try:
            async with asyncio.timeout(timeout):
                output = await self._exchange(task)
        except TimeoutError:
            output = Output(text="", error=f"no complete reply from {self._host} within {timeout:g} s")
        return _timed(output, started, self._key())

    async def _exchange(self, task: Task) -> Output:
        import aiohttp

        try:
            async with (
                aiohttp.ClientSession(
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
                    cookie_jar=aiohttp.DummyCookieJar(),
                    trust_env=False,
                    auto_decompress=False,  # what is small on the wire may be huge in memory
                ) as session,
                session.post(self._url, json=_body(task), headers=self._headers(), allow_redirects=False) as answer,
            ):
                return await self._read(answer)
        except aiohttp.ServerTimeoutError:
            return Output(text="", error=f"could not connect to {self._host} within {CONNECT_SECONDS:g} s")
        except aiohttp.ClientConnectorError as error:
            why = error.os_error.strerror or str(error.os_error)
            return Output(text="", error=f"could not connect to {self._host}: {visible(why.lower(), 120)}")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Output(text="", error=f"the call of {self._host} failed: {type(error).__name__}")

    def _headers(self) -> dict[str, str]:
        key = self._key()
        login = {"Authorization": f"Bearer {key}"} if key else {}
        return {"Accept": "application/json, text/plain", "Accept-Encoding": "identity", **login}

    async def _read(self, answer: aiohttp.ClientResponse) -> Output:
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            return Output(text="", error="its reply is compressed, which was not asked for")
        data = bytearray()
        async for chunk in answer.content.iter_chunked(_CHUNK):
            data += chunk
            if len(data) > OUTPUT_LIMIT:
                return Output(text="", error=TOO_LONG)
        if 300 <= answer.status < 400:
            return Output(text="", error=f"it answered {answer.status}: redirects are not followed")
        if answer.status != 200:
            said = visible(" ".join(data[:2000].decode("utf-8", "replace").split()), 200)
            return Output(text="", error=f"it answered {answer.status}: {said}".rstrip(": "))
        return as_output(bytes(data), is_json="json" in answer.content_type)


def _timed(output: Output, started: float, key: str) -> Output:
    from dataclasses import replace

    error = output.error.replace(key, "[key]") if output.error and key else output.error
    return replace(output, error=error, duration_ms=int((time.monotonic() - started) * 1000))


def _body(task: Task) -> dict[str, Any]:
    body: dict[str, Any] = {
        "input": prompt_of(task),
        "messages": [{"role": message.role, "content": message.content} for message in task.messages],
        "case": task.case,
        "attempt": task.attempt,
    }
    if task.version is not None and not task.isolated:
        body["artifact"] = _content(task.version)
    if task.skill is not None:
        body["skill"] = {"name": task.skill.name, **_content(task.skill.version)}
    return body


def _content(version: Version) -> dict[str, Any]:
    if not version.is_folder:
        return {"digest": version.digest, "text": version.text}
    files = [{"path": path, "text": text} for path, text in version.texts.items()]
    return {"digest": version.digest, "files": files}
