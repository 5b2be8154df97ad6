"""Checks that say yes to everything, for a dry run. Their identity says so, so no record of theirs
is ever mixed up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from honestone.adapters.checks.check_input import Subject
from honestone.adapters.checks.checker import CheckRunner
from honestone.core.checking.checks import TextCheck
from honestone.core.judging.rubric import Check
from honestone.ports import Finding


class MockChecks(CheckRunner):
    """What cannot be started here is still an error: a dry run shows it too. Nothing is looked at
    or run.
    """

    def identity(self, check: Check) -> Mapping[str, Any]:
        return {**super().identity(check), "mock": True}

    def compile(self, check: Check) -> TextCheck | None:
        return None

    async def answers(self, checks: Sequence[Check], subject: Subject) -> list[Finding]:
        return [Finding(met=True, note="mock: not looked at") for _ in checks]
