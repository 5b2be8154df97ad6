"""Dataclasses as the JSON objects that are kept of them, and back: each field by its type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import Final, Generic, NamedTuple, TypeVar

from honestone.core.json_value import Json, JsonObject

T = TypeVar("T")
_SAME: Final[Mapping[str, str]] = MappingProxyType({})


class Form(NamedTuple):
    """How a field is written as JSON and read back."""

    write: Callable[..., Json] = lambda value: value
    read: Callable[..., object] = lambda value: value


class _Field(NamedTuple):
    name: str
    key: str
    default: object
    form: Form


class Codec(Generic[T]):
    """`forms` are those of fields by their type, as it is written there; other fields are plain JSON values. A field that has its
    default is not written, unless it is one of `always`. `keys`: what fields are called that have another name in JSON;
    `never` are not kept; `last` come after all others."""

    def __init__(
        self,
        of: Callable[..., T],
        forms: Mapping[str, Form],
        *,
        always: Collection[str] = (),
        keys: Mapping[str, str] = _SAME,
        never: Collection[str] = (),
        last: Collection[str] = (),
    ) -> None:
        self._make = of
        self._fields = [
            _Field(
                one.name,
                keys.get(one.name, one.name),
                MISSING
                if one.name in always
                else one.default
                if one.default_factory is MISSING
                else one.default_factory(),
                forms.get(str(one.type).removesuffix(" | None"), Form()),
            )
            for one in sorted(fields(of), key=lambda one: one.name in last)  # type: ignore[arg-type]
            if one.name not in never
        ]

    def write(self, record: T) -> dict[str, Json]:
        plain: dict[str, Json] = {}
        for name, key, default, form in self._fields:
            value = getattr(record, name)
            if value != default:
                plain[key] = form.write(value)
        return plain

    def read(self, plain: JsonObject, **more: object) -> T:
        """`more` are the fields that are not kept. Names that are not known are left out. Raises TypeError, ValueError or
        KeyError for a record that is not whole."""
        values = {
            name: form.read(value) for name, key, _, form in self._fields if (value := plain.get(key)) is not None
        }
        return self._make(**values, **more)
