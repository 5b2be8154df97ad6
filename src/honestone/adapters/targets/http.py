"""`http://...`, `https://...`: a target that is a server. One POST a run, JSON in; JSON or text
out.

Sent: {"input", "messages", "case", "attempt"}, with "artifact" and "skill" where the run has one. A
reply of type JSON is {"output": TEXT, "trace": {...}} or a JSON text; any other is the output
itself. Nothing is followed or retried.
"""

from __future__ import annotations

import json
import os
import time
import urllib.parse
from collections.abc import Sequence
from typing import NotRequired, TypedDict

from msgspec.structs import replace

from honestone.adapters.endpoint import Endpoint, EndpointAnswer, key_header
from honestone.adapters.machine import require
from honestone.adapters.targets.command import prompt_of
from honestone.adapters.targets.trace_parsing import OUTPUT_LIMIT, as_output, since
from honestone.adapters.transport import hold, let_go
from honestone.core.artifact import Version
from honestone.core.checking.checks import visible
from honestone.core.errors import SettingsError
from honestone.core.judging.contract import Identity
from honestone.core.judging.needs import NO_NEEDS, KeyNeed, MachineNeeds
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.case import Case
from honestone.ports import CallFailed, Output, Task


class HttpTarget:
    """`key_env` names the variable whose value is sent as a bearer token; it is read for each call
    and kept nowhere.
    """

    def __init__(self, url: str, *, timeout: float, key_env: str | None = None) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(
                f"the target `{visible(url, 80)}` is not an address",
                hint="for example http://127.0.0.1:8080/answer",
            )
        if parts.username is not None or parts.password is not None:
            raise SettingsError(
                "the target's address holds a login, which would appear in logs and reports",
                hint="name the variable that holds the key: api_key_env of a [targets.NAME] table",
            )
        self._endpoint = Endpoint(
            provider="target", base_url=url, timeout=timeout, max_bytes=OUTPUT_LIMIT
        )
        self._host = parts.netloc
        self._key_env = key_env
        self.identity: Identity = {"kind": "http", "url": url}
        self.needs = (
            NO_NEEDS if key_env is None else MachineNeeds(keys=(KeyNeed(variables=(key_env,)),))
        )

    def refuse(self, cases: Sequence[Case]) -> None:
        require(f"the target {self._host}", self.needs)

    async def run(self, task: Task) -> Output:
        endpoint = replace(self._endpoint, timeout=task.timeout or self._endpoint.timeout)
        key, started = os.environ.get(self._key_env or "", "").strip(), time.monotonic()
        # A connection of its own for each run: one that the server closes meanwhile would cost a
        # run.
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/plain",
            "Connection": "close",
        }
        body = json.dumps(_body(task)).encode()
        got = await hold(self).exchange(
            "POST", endpoint, "", headers | key_header(endpoint.auth, key), body
        )
        output = (
            Output(text="", error=got.reason) if isinstance(got, CallFailed) else _read_answer(got)
        )
        error = output.error.replace(key, "[key]") if output.error and key else output.error
        return replace(output, error=error, duration_ms=since(started))

    async def close(self) -> None:
        await let_go(self)


def _read_answer(answer: EndpointAnswer) -> Output:
    if answer.headers.get("content-encoding", "identity") != "identity":
        return Output(text="", error="its reply is compressed, which was not asked for")
    if 300 <= answer.status < 400:
        return Output(text="", error=f"it answered {answer.status}: redirects are not followed")
    if answer.status != 200:
        body = visible(" ".join(answer.body[:2000].decode("utf-8", "replace").split()), 200)
        return Output(text="", error=f"it answered {answer.status}: {body}".rstrip(": "))
    kind = answer.headers.get("content-type", "").partition(";")[0]
    return as_output(answer.body, is_json="json" in kind.casefold())


class _Message(TypedDict):
    """A message of a case."""

    role: str
    content: str


class _File(TypedDict):
    """A text file of a folder."""

    path: str
    text: str


class _Content(TypedDict):
    """A file with its text, or a folder with its text files."""

    digest: str
    text: NotRequired[str]
    files: NotRequired[list[_File]]


class _Skill(_Content):
    """A skill that the agent has."""

    name: str


class _Body(TypedDict):
    """What a target is sent."""

    input: str
    messages: list[_Message]
    case: str
    attempt: int
    artifact: NotRequired[_Content]
    skill: NotRequired[_Skill]
    more_skills: NotRequired[list[_Skill]]


def _body(task: Task) -> _Body:
    body: _Body = {
        "input": prompt_of(task),
        "messages": [
            {"role": message.role, "content": message.content} for message in task.messages
        ],
        "case": task.case,
        "attempt": task.attempt,
    }
    if task.version is not None and not task.isolated:
        body["artifact"] = _content(task.version)
    if task.skill is not None:
        body["skill"] = _skill(task.skill)
    if task.more_skills:
        body["more_skills"] = [_skill(one) for one in task.more_skills]
    return body


def _skill(skill: Skill) -> _Skill:
    return {"name": skill.name, **_content(skill.version)}


def _content(version: Version) -> _Content:
    if not version.is_folder:
        return {"digest": version.digest, "text": version.text}
    files: list[_File] = [{"path": path, "text": text} for path, text in version.texts.items()]
    return {"digest": version.digest, "files": files}
