"""Suite reports, comparisons and trends to stdout, in the format asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from honestone.cli.terminal import render, write

if TYPE_CHECKING:
    from msgspec import Struct

SUITE_FORMATS = ("text", "markdown", "json", "junit", "csv", "jsonl", "html")
COMPARISON_FORMATS = ("text", "markdown", "json")


def print_suite(document: Mapping[str, object] | Struct, form: str) -> None:
    if form == "html":  # It says that it is UTF-8, whatever the terminal is.
        sys.stdout.flush()
        sys.stdout.buffer.write(render(document, form).encode("utf-8", "backslashreplace"))
        return
    write(render(document, form))
