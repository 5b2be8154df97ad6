"""The arguments of tools: own ones as fields of a struct, and options as the requests declare them,
with their types, bounds and defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar, Union, cast

import msgspec
from msgspec import Meta, Struct

from honestone.app.options import REQUIRED, Declared, parts
from honestone.core.json_value import late_pattern

A = TypeVar("A", bound="Arguments")

# Where the declaration's words are for people at a command line.
_FOR_AGENTS: Final[Mapping[str, str]] = {
    "judges": "Judges: codex, gemini, claude, PROVIDER:MODEL, agent:NAME (handed in), or a name from settings. "
    "Left out: those that are found.",
    "holdouts": "Judges that certify and never steer.",
    "worker": "Who edits: codex, gemini, claude, PROVIDER:MODEL.",
    "judge_timeout": "Seconds.",
    "worker_timeout": "Seconds.",
    "sure": "Percent, from 50 to below 100: ask judges on until the verdict is that probable.",
    "max_looks": "With `sure`: the most looks of judges.",
    "max_age": "Days: older recorded replies are asked again.",
    "max_size": "Largest artifact, in MB.",
}
_CLAUSE_END: Final = late_pattern(r"[;:] | \[")
# Arguments with the name of the command's option, which is a word of Python.
_RENAMED: Final[Mapping[str, str]] = {"self_judge": "self"}


class Arguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Those of a call; an unknown one is an error."""


class OfferedOption(Struct, frozen=True):
    """The options of a request that agents may choose, by field. Each is named, so that a new option
    is none of theirs until somebody decides that it is.
    """

    request: type
    names: Sequence[str]

    @property
    def options(self) -> Iterator[Declared]:
        """Raises LookupError for a name that the request does not declare."""
        known = {one.field: one for one in parts(self.request) if isinstance(one, Declared)}
        yield from (known[name] for name in self.names)


def with_options(own: type[A], offered: Sequence[OfferedOption]) -> type[A]:
    """The arguments of a tool: its own and the options that are offered."""
    found = [_argument(option) for one in offered for option in one.options]
    made = msgspec.defstruct(
        own.__name__,
        found,
        bases=(own,),
        rename=dict(_RENAMED),
        kw_only=True,
        forbid_unknown_fields=True,
    )
    return cast("type[A]", made)


def _argument(declared: Declared) -> tuple[str, Any, Any]:
    """Name, type and default of an option as a field of msgspec. A path is a text in JSON."""
    kind: Any = str if declared.kind is Path else declared.one_type
    if declared.is_many:
        kind = tuple[kind, ...]
    option = declared.option
    if declared.kind in (int, float):
        if option.above is not None:
            kind = Annotated[kind, Meta(gt=option.above, le=option.max)]
        elif option.min is not None or option.max is not None:
            kind = Annotated[kind, Meta(ge=option.min, le=option.max)]
    hint = Union[kind, None] if declared.is_optional else kind  # noqa: UP007
    assert declared.default is not REQUIRED, declared.field
    default = list(declared.default) if isinstance(declared.default, tuple) else declared.default
    return declared.field, Annotated[hint, Meta(description=_first_clause(declared))], default


def _first_clause(declared: Declared) -> str | None:
    """The first clause of its help: agents pay for each word, and read defaults in the schema."""
    words = declared.option.help
    if declared.field in _FOR_AGENTS or words is None:
        return _FOR_AGENTS.get(declared.field)
    return f"{_CLAUSE_END.split(words, maxsplit=1)[0].rstrip('.')}."


def shared_values(given: Arguments, request: type[Struct]) -> dict[str, Any]:
    """The arguments that a request has under the same names, paths as paths."""
    paths = {one.field for one in parts(request) if isinstance(one, Declared) and one.kind is Path}
    names = {*request.__struct_fields__} & {*given.__struct_fields__}
    return {
        name: Path(value) if name in paths and isinstance(value, str) else value
        for name, value in msgspec.structs.asdict(given).items()
        if name in names
    }
