"""Pages that a command serves: the address, printed and opened in the browser, and a person who is
asked there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypeAlias

from honestone.app.options import Option
from honestone.cli import options as shared
from honestone.cli.terminal import PERSON, dump_line, here
from honestone.core.errors import UsageError

if TYPE_CHECKING:
    from honestone.app.workspace import Workspace
    from honestone.view.listening import Address


def announce(
    address: Address, workspace: Workspace, out: TextIO, *, as_json: bool, opens: bool
) -> None:
    """As `honestone.view/1` or for people."""
    shown = {
        "schema": "honestone.view/1",
        "url": address.url,
        "host": address.host,
        "port": address.port,
        "token": address.token,
        "store": str(workspace.store) if workspace.shared is None else workspace.shared.shown,
    }
    out.write(dump_line(shown) + "\n" if as_json else f"{address.url}\nCtrl-C ends it.\n")
    out.flush()
    if opens:
        from honestone.view.opening import open_page

        open_page(address)


# Options of a command that can ask a person in the browser.
IsInBrowser: TypeAlias = Annotated[
    bool, Option("Ask a person in the browser instead of the terminal.")
]
Port: TypeAlias = Annotated[
    int | None,
    Option(
        "The port of the page, exactly that one; 0 is any that is free."
        " [7410, or the next that is free]",
        min=0,
        max=65535,
        metavar="N",
    ),
]
OpensNone: TypeAlias = Annotated[bool, Option("Print the address of the page and open no browser.")]


def refuse_without_browser(port: int | None, no_open: bool) -> None:
    """Raises UsageError for options of a page that is not asked for."""
    if port is not None or no_open:
        raise UsageError(
            f"{'--no-open' if no_open else '--port'} is about the page of --browser",
            hint="add --browser",
        )


def _page(browser: IsInBrowser = False, port: Port = None, no_open: OpensNone = False) -> None:
    """The options of a page."""


def asks_people(command: Callable[..., int]) -> Callable[..., int]:
    """A command with --browser, which asks the judge and worker `human` there instead of at the
    terminal.
    """

    @wraps(command)
    def asking(*args: Any, browser: bool, port: int | None, no_open: bool, **options: Any) -> int:
        if not browser:
            refuse_without_browser(port, no_open)
            return command(*args, **options)
        from honestone.view.judging import person_in_browser

        workspace = here()

        def show_address(address: Address) -> None:
            announce(address, workspace, sys.stderr, as_json=True, opens=not no_open)

        with person_in_browser(port, show_address) as person:
            set_before = PERSON.set(person)
            try:
                return command(*args, **options)
            finally:
                PERSON.reset(set_before)

    return shared.with_params(asking, _page)
