"""A reply without what a model thought aloud."""

from __future__ import annotations

import re
from typing import Final

from honestone.core.json_value import late_pattern

# A thinking block counts only where it begins the text: further on, the words may be a quotation.
_THINKING = late_pattern(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)


def without_thinking(text: str) -> tuple[str, bool]:
    """The text after a thinking block that begins it, and whether there was one. An endless one
    leaves nothing.
    """
    opening = _THINKING.match(text)
    if opening is None:
        return text, False
    closing = re.compile(f"</{opening[1]}>", re.IGNORECASE).search(text, opening.end())
    return (text[closing.end() :] if closing else ""), True


# The end of thinking whose opening tag the server or the prompt holds. Prose that mentions such a
# tag goes on in its line behind it, with a space before the tag or marks around it.
_UNOPENED = late_pattern(
    r"(?:</(?:think|thinking|thought|reasoning)>|\[/think\]|◁/think▷|</seed:think>)[ \t]*\n"
    r"|(?<![ \t\"'`“‘«])(?:</(?:think|thinking|thought|reasoning)>|\[/think\]|◁/think▷|</seed:think>)(?=[\w{*#`\[])",
    re.IGNORECASE,
)
# What each of the closing tags begins with.
_CLOSING_MARKS: Final = ("</", "[/", "◁/")
_OPENED = late_pattern(
    r"<(?:think|thinking|thought|reasoning)>|\[think\]|◁think▷|<seed:think>", re.IGNORECASE
)


def after_unopened_thinking(text: str) -> str | None:
    """What follows thinking that has a closing tag alone; None where there is none, or a block is
    opened in the text.
    """
    # Nearly every reply ends here: looking for a tag at each place of it costs far more.
    if not any(mark in text for mark in _CLOSING_MARKS):
        return None
    closings = list(_UNOPENED.finditer(text))
    if (
        not closings
        or not text[closings[-1].end() :].strip()
        or _OPENED.search(text, 0, closings[-1].start())
    ):
        return None
    return text[closings[-1].end() :]
