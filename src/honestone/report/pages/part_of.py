"""One part of a text that is too long for a page, with the addresses of the others."""

from __future__ import annotations

from urllib.parse import urlencode

from msgspec import Struct


class PartOf(Struct, frozen=True, kw_only=True):
    """Which part of its long texts a served page shows: `number` from 1 on; of a text with fewer
    parts the last one. `query` is the rest of the address.
    """

    number: int
    query: dict[str, str]

    def span(self, length: int, longest: int) -> tuple[int, int]:
        """Where the part of a text of `length` characters begins and ends, if no part has more than
        `longest`.
        """
        start = (min(self.number, self.count(length, longest)) - 1) * longest
        return start, min(start + longest, length)

    def count(self, length: int, longest: int) -> int:
        return max(1, -(-length // longest))

    def link(self, number: int) -> str:
        return "?" + urlencode({**self.query, "part": str(number)}, errors="backslashreplace")
