"""Addresses of shared stores: which texts are one, and that no form of a password is ever shown."""

from __future__ import annotations

import string
from contextlib import suppress
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.errors import StoreError
from honestone.core.record.store_address import store_address


@pytest.mark.parametrize(
    "text", ["", ".honestone", "/srv/runs", "../runs", "runs", "a/b:c", "./x:y"]
)
def test_a_folder_is_not_an_address(text: str) -> None:
    """What has no kind before a colon names a folder."""
    assert store_address(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("postgresql://db/runs", "postgresql"),
        ("postgres://db/runs", "postgresql"),
        ("POSTGRESQL://db/runs", "postgresql"),
        ("postgresql:///runs?host=/var/run", "postgresql"),
        ("postgresql://a:5432,b:5433/runs", "postgresql"),
        ("postgresql://[::1]:5432/runs", "postgresql"),
        ("other:anything", "other"),
        ("mysql://h/x", "mysql"),
    ],
)
def test_the_kind_is_what_comes_before_the_colon(text: str, kind: str) -> None:
    """Other kinds come with packages."""
    address = store_address(text)
    assert address is not None and address.kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "postgresql:/oops",
        "postgresql:",
        "postgres:x",
        "postgresql://h:99999/x",
        "postgresql://h:pw/x",
    ],
)
def test_an_address_that_cannot_be_one_is_refused(text: str) -> None:
    """Before anything is contacted, and with the form that is right."""
    with pytest.raises(StoreError, match="store") as caught:
        store_address(text)
    assert "postgresql://" in str(caught.value.hint)


secrets = st.text(
    string.ascii_letters + string.digits + "!#%&/:?@+ é", min_size=5, max_size=20
).map(lambda text: f"Qz7{text}")


@given(secret=secrets, in_query=st.booleans())
def test_a_password_is_never_shown(secret: str, in_query: bool) -> None:
    """Neither in the address that is shown, nor in its repr, nor in a message of the server that
    repeats it.
    """
    coded = quote(secret, safe="")
    text = (
        f"postgresql://ann@db:5432/runs?password={coded}&sslmode=require"
        if in_query
        else f"postgresql://ann:{coded}@db:5432/runs"
    )
    address = store_address(text)
    assert address is not None and address.has_password
    for said in (
        address.shown,
        repr(address),
        address.without_secrets(f"cannot use {text}, {secret}"),
    ):
        assert coded not in said and secret not in said
    assert address.shown.startswith("postgresql://ann@db:5432/runs")
    assert in_query == ("sslmode=require" in address.shown)


@given(secret=secrets)
def test_a_password_that_was_not_encoded_is_not_shown_either(secret: str) -> None:
    """A person may type it as it is, with characters that end a part of an address."""
    with suppress(StoreError):
        address = store_address(f"postgresql://ann:{secret}@db/runs")
        assert address is not None
        assert secret not in address.shown and secret not in address.without_secrets(address.url)


def test_an_address_without_a_password_is_shown_as_it_is() -> None:
    """So that it can be copied from a message."""
    address = store_address("postgresql://db.example.org/runs?sslmode=verify-full")
    assert address is not None and not address.has_password
    assert address.shown == "postgresql://db.example.org/runs?sslmode=verify-full"


@pytest.mark.parametrize(
    "text",
    [
        "host=127.0.0.1 port=1 user=u password=pgS3cretPw77",
        "password = 'pgS3cretPw77' host = db",
        "dbname=x sslpassword=pgS3cretPw77",
        "  user=u password=pgS3cretPw77",
        "HOST=h PASSWORD=pgS3cretPw77",
        "//u:pgS3cretPw77@127.0.0.1/db",
        "postgresql//u:pgS3cretPw77@127.0.0.1/db",
    ],
)
def test_what_other_tools_take_for_an_address_is_not_a_folder(text: str) -> None:
    """It is refused, and not printed: it may hold a password."""
    with pytest.raises(StoreError, match="postgresql://") as raised:
        store_address(text)
    assert "pgS3cretPw77" not in f"{raised.value} {raised.value.hint}"


@pytest.mark.parametrize("text", ["runs", "/tmp/a=b", "../x@y", "my runs/user", "store=1"])
def test_folders_are_folders(text: str) -> None:
    """Also with such signs in their names."""
    assert store_address(text) is None
