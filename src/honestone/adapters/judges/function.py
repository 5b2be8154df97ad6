"""A function as a judge: `f(request)`. Request and reply are the JSON objects of `script:` judges."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from honestone.adapters.functions import FunctionCall, Raised
from honestone.adapters.judges.script import JsonJudge
from honestone.core.judging.ballot import Question
from honestone.ports import CallFailed, Function, NothingToClose, Reply, Request


class FunctionJudge(NothingToClose, JsonJudge):
    """Returns the object, its JSON text, or True or False where one yes/no question is asked. One
    that raises abstains.
    """

    is_paid = True

    def __init__(self, function: Function, *, timeout: float) -> None:
        self._call = FunctionCall(function, timeout)
        self.function = function
        self.id, self.token = self._call.name, self._call.token
        self.identity = self._call.identity

    async def ask(self, request: Request, question: Question) -> Reply:
        try:
            returned = await self._call(json.loads(request.body))
        except TimeoutError:
            raise CallFailed(f"no reply within {self._call.timeout:g} s (judge_timeout)") from None
        except Raised as why:
            raise CallFailed(f"it raised {why}") from None
        return _reply(returned)


class NamedFunctionJudge(FunctionJudge):
    """`python:FILE:FUNCTION`: known by the name and the digest of the file, so that what it answered
    is on record for the next command.
    """

    def __init__(
        self, id: str, function: Function, identity: Mapping[str, Any], *, timeout: float
    ) -> None:
        super().__init__(function, timeout=timeout)
        self.id, self.identity = id, dict(identity)
        self.token = json.dumps(self.identity, sort_keys=True)


def _reply(returned: object) -> Reply:
    if isinstance(returned, bool):
        return Reply(text="", exit=0 if returned else 1)
    if isinstance(returned, str):
        return Reply(text=returned)
    if not isinstance(returned, Mapping):
        raise CallFailed(f"it returned {type(returned).__name__}, not an object with `criteria`")
    try:
        return Reply(text=json.dumps(dict(returned), ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise CallFailed(f"what it returned is not JSON: {error}") from None
