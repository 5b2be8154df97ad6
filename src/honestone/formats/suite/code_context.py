"""What the code of a case's checks is given of the case without being written: in a suite with
`prompts`, its vars, its description and its metadata.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from honestone.core.json_value import Json
from honestone.core.judging.rubric import Check, Rubric, with_checks

_CONTEXT: Final = "context"


def case_context(
    variables: Mapping[str, object], description: str | None, metadata: Mapping[str, object]
) -> dict[str, Json]:
    """The context of a case, in promptfoo's words."""
    test = {"description": description, "metadata": metadata}
    found: dict[str, Json] = json.loads(json.dumps({"vars": variables, "test": test}, default=str))
    return found


def with_context(rubric: Rubric, known: Mapping[str, Json]) -> Rubric:
    """The rubric with `known` in the context of its code; what is written there counts."""

    def change(check: Check) -> Check:
        return _with(check, {**known, **_written(check)})

    return _changed(rubric, change)


def without_context(rubric: Rubric, known: Mapping[str, Json]) -> Rubric:
    """The rubric without what `with_context` would put back."""

    def change(check: Check) -> Check:
        written = _written(check)
        if not known.keys() <= written.keys():
            return check
        return _with(
            check,
            {
                name: value
                for name, value in written.items()
                if name not in known or known[name] != value
            },
        )

    return _changed(rubric, change)


def _changed(rubric: Rubric, change: Callable[[Check], Check]) -> Rubric:
    """The rubric itself where no code is in it, so that cases share it."""
    has_code = any(
        item.check is not None and _runs_code(item.check)
        for criterion, _ in rubric.walk()
        for item in criterion.items
    )
    if not has_code:
        return rubric
    return with_checks(rubric, lambda check: change(check) if _runs_code(check) else check)


def _runs_code(check: Check) -> bool:
    return check.kind == "script" or "transform" in check.options


def _written(check: Check) -> Mapping[str, Json]:
    written = check.options.get(_CONTEXT)
    return written if isinstance(written, Mapping) else {}


def _with(check: Check, context: Mapping[str, Json]) -> Check:
    options = {name: value for name, value in check.options.items() if name != _CONTEXT}
    return replace(check, options={**options, **({_CONTEXT: dict(context)} if context else {})})
