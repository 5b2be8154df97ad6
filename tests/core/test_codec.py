"""The codec of records: by the types of fields, however they are written."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

import pytest
from msgspec import Struct, field

from honestone.core import events
from honestone.core.json_value import Codec, Form, JsonObject
from honestone.core.judging import rubric
from honestone.core.record import event_codec
from honestone.core.suite import case

Share: TypeAlias = Fraction
Names: TypeAlias = tuple[str, ...]
FORMS = {Fraction: Form(str, Fraction), tuple[str, ...]: Form(list, tuple)}
RECORDS = [
    *event_codec._CODECS.values(),
    rubric._RUBRIC,
    rubric._CRITERION,
    rubric._ITEM,
    case._CASE,
]


class Written(Struct, frozen=True, kw_only=True):
    share: Fraction
    most: Fraction | None = None
    names: tuple[str, ...] = ()
    facts: JsonObject = field(default_factory=dict)


class WithAliases(Struct, frozen=True, kw_only=True):
    share: Share
    most: Share | None = None
    names: Names = ()
    facts: Mapping[str, object] = field(default_factory=dict)


def test_an_alias_changes_nothing_on_record() -> None:
    """A field is found by what its type is, not by the words of its annotation."""
    facts = {"deep": [1, {"a": None}]}
    plain = {"share": "1/3", "most": "2/3", "names": ["a", "b"], "facts": facts}
    for of in (Written, WithAliases):
        codec: Codec[Written | WithAliases] = Codec(of, FORMS)
        record = of(
            share=Fraction(1, 3),
            most=Fraction(2, 3),
            names=("a", "b"),
            facts=facts,
        )
        assert codec.write(record) == plain
        assert codec.read(plain) == record


def test_what_has_its_default_is_not_written() -> None:
    codec = Codec(Written, FORMS, always=("names",), keys={"share": "part"}, last=("share",))
    plain = codec.write(Written(share=Fraction(1)))
    assert list(plain.items()) == [("names", []), ("part", "1")]
    assert codec.read({**plain, "of a later version": 1}) == Written(share=Fraction(1))


def test_a_type_without_a_form_is_an_error() -> None:
    """It would be written as something that cannot be read back."""

    class Odd(Struct):
        number: complex

    with pytest.raises(TypeError, match="no form for the field 'number' of Odd"):
        Codec(Odd, FORMS).write(Odd(1j))


@pytest.mark.parametrize("codec", RECORDS, ids=lambda codec: codec._make.__name__)
def test_every_field_of_every_record_has_a_form(codec: Codec[object]) -> None:
    assert codec._fields


def test_a_comparison_of_sides_has_its_form() -> None:
    """Its module is imported late, so its type is not there when the codec is made."""
    compared = event_codec._CODECS[events.SidesCompared]
    forms = {one.name: one.form for one in compared._fields}
    assert forms["sides"] is event_codec._FORMS[event_codec._SIDES]
