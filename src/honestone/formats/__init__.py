"""Our own files: rubric, suite, settings, lock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from honestone.core.checking.added_kinds import FINDERS

if TYPE_CHECKING:
    from honestone.core.checking.checks import AddedCheck


def _added_checks() -> Mapping[str, Callable[[], AddedCheck]]:
    from honestone.formats.added_checks import added_checks

    return added_checks()


FINDERS.append(_added_checks)
