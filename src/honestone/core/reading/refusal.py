"""Whether a reply refuses to do what was asked, by its words."""

from __future__ import annotations

import json
import re
from typing import Final

from honestone.core.json_value import late_pattern
from honestone.core.tables import table_json

_WRITTEN: Final = json.loads(table_json("reading/refusal"))
_REFUSAL: Final = late_pattern("|".join(_WRITTEN["refusals"]), re.IGNORECASE)
_SORRY: Final = late_pattern(_WRITTEN["sorry"], re.IGNORECASE)
_LOOKED_AT: Final = 20_000


def is_refusal(reply: str) -> bool:
    """Whether a reply refuses. An empty one does. One that begins with an apology does; any other
    has to say that it does not do what was asked. Only its first characters are looked at.
    """
    text = reply.strip()[:_LOOKED_AT]
    return not text or _SORRY.match(text) is not None or _REFUSAL.search(text) is not None
