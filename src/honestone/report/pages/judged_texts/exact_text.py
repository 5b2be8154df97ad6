"""A text as a page shows it code point for code point, so that offsets count in the page as they do
in the record.
"""

from __future__ import annotations

import re
from typing import Final

from markupsafe import Markup, escape

from honestone.core.json_value import late_pattern

_CONTROL_PICTURES: Final = 0x2400
_UNSEEN: Final = (
    "\u2426"  # stands for one code point that could not be seen, or would turn the text around
)
_NO_CHARACTER: Final = "\ufffd"

# Control characters but tab and line feed; direction marks, zero-width signs, separators, tags;
# half surrogate pairs.
_ODD: Final = late_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def exact_text(text: str) -> str:
    """The text with as many code points as before, each of which can be seen."""
    return _ODD.sub(_sign, text)


def exact_markup(text: str) -> Markup:
    """The same, escaped for HTML."""
    return escape(exact_text(text))


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == 0x7F:
        return "\u2421"
    return _NO_CHARACTER if 0xD800 <= code <= 0xDFFF else _UNSEEN
