"""`mock`: answers every case with the words that its checks look for. It asks no model, and its
identity says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from honestone.core.judging.rubric import Check
from honestone.core.suite.case import Case
from honestone.core.suite.trace import Trace
from honestone.ports import NothingToClose, Output, Task

_LOOKS_FOR: Final = (
    "contains",
    "contains-all",
    "contains-any",
    "icontains",
    "icontains-all",
    "icontains-any",
)


class MockTarget(NothingToClose):
    """Replaces an agent where only the way through is tried, never what an agent can do."""

    def __init__(self, cases: Sequence[Case] = ()) -> None:
        self._answers: dict[str, str] = {}
        self.refuse(cases)

    identity: Final = {"kind": "mock", "mock": True}

    def refuse(self, cases: Sequence[Case]) -> None:
        """It runs on every suite; it learns the cases that it was not made with."""
        self._answers |= {case.id: "\n".join(_expected_words(case)) for case in cases}

    async def run(self, task: Task) -> Output:
        trace = Trace(tool_calls=(), skill_loaded=task.skill is not None)
        return Output(text=self._answers.get(task.case, ""), trace=trace)


def _expected_words(case: Case) -> Iterator[str]:
    for _, item in case.rubric.questions():
        if (
            item.check is not None
            and not item.check.negated
            and item.check.options.get("in") != "diff"
        ):
            yield from _looked_for(item.check)


def _looked_for(check: Check) -> list[str]:
    if check.kind == "equals":
        return [check.text]
    if check.kind not in _LOOKS_FOR:
        return []
    return list(check.words)
