"""What the code of a case's checks is given of the case without being written: in a suite with
`prompts`, its vars and its metadata.
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
    variables: Mapping[str, object], metadata: Mapping[str, object]
) -> dict[str, Json]:
    """The context of a case, in promptfoo's words."""
    # promptfoo writes a description of a test; a case has none.
    test = {"description": None, "metadata": metadata}
    found: dict[str, Json] = json.loads(json.dumps({"vars": variables, "test": test}, default=str))
    return found


def with_context(rubric: Rubric, known: Mapping[str, Json]) -> Rubric:
    """The rubric with `known` in the context of its code; what is written there counts, of `vars`
    and `test` each entry by itself.
    """

    def change(check: Check) -> Check:
        return _with(check, _merged(known, _written(check)))

    return _changed(rubric, change)


def without_context(rubric: Rubric, known: Mapping[str, Json]) -> Rubric:
    """The rubric without what `with_context` would put back."""

    def change(check: Check) -> Check:
        written = _written(check)
        left = dict[str, Json]()
        for name, value in written.items():
            usual = known.get(name)
            if isinstance(value, Mapping) and isinstance(usual, Mapping):
                own = {one: of for one, of in value.items() if one not in usual or usual[one] != of}
                left |= {name: own} if own else {}
            elif name not in known or usual != value:
                left[name] = value
        return _with(check, left) if _merged(known, left) == written else check

    return _changed(rubric, change)


def _merged(known: Mapping[str, Json], written: Mapping[str, Json]) -> dict[str, Json]:
    merged = {**known, **written}
    for name, usual in known.items():
        own = merged[name]
        if isinstance(usual, Mapping) and isinstance(own, Mapping):
            merged[name] = {**usual, **own}
    return merged


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
