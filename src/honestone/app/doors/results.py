"""What the Python functions return: frozen, short in a session, a table in a notebook, and the
document that `--json` prints.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from honestone.core.checking.checks import visible
from honestone.core.errors import UsageError
from honestone.report.documents import ReadsAsDocument

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-not-found, import-untyped, unused-ignore]


class DocumentResult(ReadsAsDocument):
    """Reads like its document: `result["verdict"]`. `heads` and `rows` are its table."""

    heads: ClassVar[tuple[str, ...]] = ()

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

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {visible(self.headline, 150)}>"

    def _repr_html_(self) -> str:
        from honestone.report.pages.notebook import fragment

        return fragment(self.headline, self.heads, self.rows)
