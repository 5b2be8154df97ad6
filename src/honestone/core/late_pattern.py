"""Regular expressions of modules, compiled at their first use. A command uses about one in ten of those
that it loads, and to compile one may take as long as to import a module.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, AnyStr, cast


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, for a name of a module or a class. Its methods and attributes are
    there; functions of `re` do not take it. Raises re.error at its first use, where `re.compile`
    would at once: a test uses each.
    """
    return cast(re.Pattern[AnyStr], _LatePattern(pattern, flags))


class _LatePattern:
    """A pattern that has not been compiled, or the methods of one that was, as they were asked for."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._compiled, name)
        setattr(self, name, found)  # the next call finds it as fast as one of `re`
        return found

    @cached_property
    def _compiled(self) -> re.Pattern[Any]:
        return re.compile(self.pattern, self._flags)
