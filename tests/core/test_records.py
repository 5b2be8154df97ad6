"""Records are msgspec structs: what holds of all of them, and of those that differ."""

from __future__ import annotations

import inspect

import msgspec
import pytest
from msgspec.structs import replace

import honestone
from honestone import ports
from honestone.app.judging.judging_options import JudgingOptions
from honestone.core.errors import UsageError
from honestone.core.events import RecordedCase
from honestone.core.record.store_address import StoreAddress

PUBLIC = [
    one
    for module in (honestone, ports)
    for one in vars(module).values()
    if isinstance(one, type) and issubclass(one, msgspec.Struct)
]


def test_a_copy_with_another_value_is_checked_as_a_new_record_is() -> None:
    """Before 0.21, msgspec's `replace` asked no `__post_init__`."""
    with pytest.raises(UsageError, match="repeat"):
        replace(JudgingOptions(), repeat=99)


@pytest.mark.parametrize("record", PUBLIC, ids=lambda one: one.__qualname__)
def test_help_shows_the_signature_of_a_public_record(record: type) -> None:
    assert list(inspect.signature(record).parameters) == list(record.__struct_fields__)


def test_recorded_cases_are_equal_by_what_is_on_record() -> None:
    one, other = RecordedCase({"id": "a"}), RecordedCase({"id": "a"}, made_of=None)
    assert one == other
    assert not one != other  # noqa: SIM202
    assert one != RecordedCase({"id": "b"})


@pytest.mark.parametrize(
    "url",
    ["postgresql://me:hunter2@h/db", "postgresql://h/db?PASSWORD=hunter2", "s3://key:hunter2@b"],
)
def test_an_address_does_not_print_its_password(url: str) -> None:
    address = StoreAddress(kind=url.partition(":")[0], url=url)
    assert "hunter2" not in repr(address)
    assert "hunter2" not in address.shown
