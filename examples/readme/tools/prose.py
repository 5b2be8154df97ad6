"""Text and code of a page apart, for tools that may only touch the text."""

from __future__ import annotations

import re
from collections.abc import Callable


def outside_code(page: str, change: Callable[[str], str]) -> str:
    """The page with `change` applied to what stands between its code blocks."""
    parts = re.split(r"(?ms)(^```.*?^```[ \t]*$)", page)
    return "".join(part if part.startswith("```") else change(part) for part in parts)
