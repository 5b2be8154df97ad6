"""Files of `honestone eval` that were meant in another way than they were typed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from honestone.core.errors import HonestoneError, UsageError

_MANY: Final = 3
_ENDINGS: Final = (".yaml", ".yml", ".json")


def refuse_suite_with_rubric(paths: Sequence[Path]) -> None:
    """Raises UsageError for a suite of ours as the artifact, alone or with the file that it is to
    be run on: it has its own rubric. Among many files it is a text like the others.
    """
    for path in paths if len(paths) < _MANY else ():
        if _is_suite(path):
            raise UsageError(
                f"`{path}` is a suite, which has its own rubric: --rubric judges an artifact",
                hint=f"{_run(path)}; to judge the file as a text, give a copy of it the ending .txt",
            )


def needs_rubric(paths: Sequence[Path]) -> UsageError:
    """Why several files without a rubric are refused, and what was meant."""
    suites = [path for path in paths if _is_suite(path)]
    others = [path for path in paths if path not in suites]
    if len(suites) == 1 and others:
        named = [word for path in others for word in ("--artifact", str(path))]
        return UsageError(
            "a suite is given with other files",
            hint=f"the files that it is run on are named so: {_run(suites[0], *named)}",
        )
    if len(suites) > 1 and not others:
        return UsageError("eval runs one suite at a time", hint=_run(suites[0]))
    rubrics = [path for path in others if _is_rubric(path)]
    if len(rubrics) == 1 and len(others) > 1:
        words = [str(path) for path in others if path not in rubrics]
        return UsageError(
            "eval needs a rubric",
            hint=shlex.join(["honestone", "eval", *words, "--rubric", str(rubrics[0])]),
        )
    return UsageError("eval needs a rubric", hint="honestone eval ARTIFACT... --rubric RUBRIC")


def _run(suite: Path, *more: str) -> str:
    return shlex.join(["honestone", "eval", str(suite), *more])


def _is_suite(path: Path) -> bool:
    keys = _keys(path)
    return "cases" in keys and ("suite" in keys or "criteria" not in keys)


def _is_rubric(path: Path) -> bool:
    return "criteria" in _keys(path)


def _keys(path: Path) -> frozenset[str]:
    """The keys at the top of a file; none of a file that is not a mapping, or cannot be read."""
    from honestone.formats.syntax.document import Document

    if path.suffix.lower() not in _ENDINGS or not path.is_file():
        return frozenset()
    try:
        return frozenset(Document.of(path).keys)
    except HonestoneError:
        return frozenset()
