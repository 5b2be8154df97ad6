"""Who may ask: the name, the token, the page that a request comes from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.view.access import Access, is_loopback

PORT = 7410
ACCESS = Access(token="right", port=PORT, names=("0.0.0.0", "box.test"))
OURS = {"host": f"127.0.0.1:{PORT}"}


def refusal(
    method: str = "GET", named: str = "right", cookie: str = "", **headers: str
) -> int | None:
    given = {**OURS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return ACCESS.refusal(method, given, {ACCESS.cookie: cookie} if cookie else {}, named)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:7410",
        "localhost:7410",
        "LOCALHOST:7410",
        "[::1]:7410",
        "box.test:7410",
        "0.0.0.0:7410",
    ],
)
def test_names_that_are_ours(host: str) -> None:
    assert refusal(host=host) is None


@pytest.mark.parametrize(
    "host",
    [
        *(
            "",
            "127.0.0.1",
            "127.0.0.1:7411",
            "evil.test",
            "evil.test:7410",
            "127.0.0.1.evil.test:7410",
        ),
        *(
            "localhost.evil.test:7410",
            "127.0.0.1:7410@evil.test",
            "127.0.0.1:7410.evil.test",
            "::1:7410",
            " 127.0.0.1:7410",
        ),
    ],
)
def test_a_name_that_was_pointed_here_is_refused_also_with_the_token(host: str) -> None:
    """DNS rebinding: the browser believes the page's own name, we only ours."""
    assert refusal(host=host) == 421


@given(st.text(max_size=40))
def test_any_other_name_is_refused(host: str) -> None:
    known = {
        f"{name}:{PORT}" for name in ("127.0.0.1", "localhost", "[::1]", "box.test", "0.0.0.0")
    }
    assert refusal(host=host) == (None if host.lower() in known else 421)


@given(st.text(max_size=20))
def test_only_the_right_token_is_one_however_it_is_carried(token: str) -> None:
    expected = None if token == "right" else 401
    assert refusal(named=token) == expected
    assert refusal(named="", cookie=token or "x") == expected
    assert refusal(named="", authorization=f"Bearer {token}") == (
        None if token.strip() == "right" else 401
    )


def test_a_cookie_of_another_port_is_none() -> None:
    assert ACCESS.refusal("GET", OURS, {"honestone-7411": "right", "honestone": "right"}, "") == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, None),
        ({"sec_fetch_site": "same-origin", "sec_fetch_mode": "cors"}, None),
        (
            {"sec_fetch_site": "none", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"},
            None,
        ),
        (
            {
                "sec_fetch_site": "cross-site",
                "sec_fetch_mode": "navigate",
                "sec_fetch_dest": "document",
            },
            None,
        ),
        (
            {
                "sec_fetch_site": "cross-site",
                "sec_fetch_mode": "navigate",
                "sec_fetch_dest": "iframe",
            },
            403,
        ),
        (
            {
                "sec_fetch_site": "cross-site",
                "sec_fetch_mode": "no-cors",
                "sec_fetch_dest": "script",
            },
            403,
        ),
        ({"sec_fetch_site": "same-site", "sec_fetch_mode": "cors"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
    ],
)
def test_other_sites_may_lead_here_and_load_nothing(
    headers: dict[str, str], status: int | None
) -> None:
    """A page of another port on this machine is same-site, and gets the cookie: it is refused too."""
    assert refusal(**headers) == status


@pytest.mark.parametrize(
    ("method", "status"),
    [("GET", None), ("HEAD", None), ("POST", 405), ("PUT", 405), ("DELETE", 405), ("OPTIONS", 405)],
)
def test_nothing_is_written(method: str, status: int | None) -> None:
    assert refusal(method) == status


def test_without_a_token_the_name_still_counts() -> None:
    open_one = Access(token=None, port=PORT, names=())
    assert open_one.refusal("GET", OURS, {}, "") is None
    assert open_one.refusal("GET", {"host": "evil.test"}, {}, "") == 421


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("box.test", False),
        ("10.0.0.1", False),
    ],
)
def test_what_is_reached_from_this_machine_alone(host: str, is_one: bool) -> None:
    assert is_loopback(host) is is_one
