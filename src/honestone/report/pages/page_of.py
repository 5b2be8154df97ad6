"""One page of a long table that a server shows, with the addresses of the others."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from honestone.report.pages.case_table import SORTS

# Rows of a table on one page.
ROWS: Final = 100


class PageOf(Struct, frozen=True, kw_only=True):
    """Which page of a long table this is: `number` from 1 on, of `total` rows. `query` is the rest
    of the address.
    """

    number: int
    total: int
    query: dict[str, str]

    @property
    def last(self) -> int:
        return max(1, -(-self.total // ROWS))

    @property
    def first_row(self) -> int:
        return (self.number - 1) * ROWS

    def link(self, number: int) -> str:
        return "?" + urlencode({**self.query, "page": str(number)}, errors="backslashreplace")

    def having(self, name: str, value: str) -> str:
        """The same with one value changed; an empty one leaves it out."""
        changed = {**self.query, name: value}
        return "?" + urlencode(
            {name: text for name, text in changed.items() if text}, errors="backslashreplace"
        )

    def sorted_by(self, key: str) -> str:
        """The address of the page sorted by a column, in the reverse order where it is sorted by
        that column already.
        """
        return self.having(
            "sort", f"-{key}" if self.query.get("sort") == key and f"-{key}" in SORTS else key
        )

    def direction(self, key: str) -> str:
        """What `aria-sort` says of a column."""
        order = self.query.get("sort", "status")
        if order.removeprefix("-") != key:
            return "none"
        return "descending" if order.startswith("-") else "ascending"
