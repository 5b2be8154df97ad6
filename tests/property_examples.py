"""How many examples the property tests of a run try."""

from __future__ import annotations

import os
from typing import Final

PROFILE: Final = os.environ.get("HONESTONE_TEST_PROFILE", "fixed")

# `make test-deep` tries what a test names, and 400 where it names nothing.
_AT_MOST: Final = {"quick": 20, "fixed": 30}
AT_MOST: Final = _AT_MOST.get(PROFILE, 400)


def examples(wanted: int) -> int:
    """`wanted` examples, or fewer in the loops of a contributor (`make quick`, `make test`)."""
    return min(wanted, AT_MOST)
