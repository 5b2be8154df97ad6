"""What the Python functions return: frozen, short in a session, a table in a notebook, and the
document that `--json` prints.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from honestone.core.checking.checks import visible
from honestone.core.errors import UsageError
from honestone.report.documents import JsonDocument, JsonValue, plain

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-not-found, import-untyped, unused-ignore]


class DocumentResult(Mapping[str, JsonValue]):
    """Reads like its document: `result["verdict"]`. `heads` and `rows` are its table."""

    heads: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def document(self) -> JsonDocument:
        """What the command prints with `--json`."""
        return plain(self._as_struct())

    def _as_struct(self) -> Struct:
        """The document with its fields declared, from which `document` is made."""
        raise NotImplementedError

    @property
    @abstractmethod
    def verdict(self) -> str:
        """`pass`, `fail` or `inconclusive`."""

    @property
    def is_low_confidence(self) -> bool:
        """Whether the verdict rests on one judge."""
        return False

    @property
    def stated_verdict(self) -> str:
        """The verdict; one that a single judge gave says so."""
        is_decided = self.verdict in ("pass", "fail")
        return (
            f"{self.verdict}, low confidence"
            if is_decided and self.is_low_confidence
            else self.verdict
        )

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    def to_dict(self) -> JsonDocument:
        """A copy of the document, to change at will."""
        return deepcopy(self.document)

    @property
    @abstractmethod
    def rows(self) -> Sequence[Sequence[object]]: ...

    @property
    @abstractmethod
    def headline(self) -> str: ...

    def to_frame(self) -> DataFrame:
        """The table as a pandas DataFrame. Raises UsageError where pandas is not installed."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise UsageError(
                "a table needs pandas, which is not installed", hint="pip install pandas"
            ) from None
        heads, rows = self.frame_table()
        return pandas.DataFrame([list(row) for row in rows], columns=list(heads))

    def frame_table(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        """The columns and rows of `to_frame`: those that a notebook shows, and more where there is
        more.
        """
        return self.heads, self.rows

    def __getitem__(self, key: str) -> JsonValue:
        return self.document[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.document)

    def __len__(self) -> int:
        return len(self.document)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {visible(self.headline, 150)}>"

    def _repr_html_(self) -> str:
        from honestone.report.pages.notebook import fragment

        return fragment(self.headline, self.heads, self.rows)
