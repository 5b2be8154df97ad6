"""Variables of the environment that may hold a key: no program and no text gets them unless a
person names them.
"""

from __future__ import annotations

import re
from typing import Final

from honestone.core.json_value import late_pattern

_SECRET: Final = late_pattern(
    r"key|token|secret|passw|passphrase|credential|auth|cookie|session", re.IGNORECASE
)


def looks_secret(name: str) -> bool:
    """Whether a variable of this name may hold a key, token or password."""
    return _SECRET.search(name) is not None
