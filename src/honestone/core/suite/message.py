"""Messages of a conversation with a target."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

# The role of a message in whose place the target replies, which makes the input a conversation.
REPLY: Final = "target"


class Message(Struct, frozen=True):
    """One message of a case's input. `role` is `user`, `system` or `assistant`, `target` (REPLY),
    or what the file says.
    """

    role: str
    content: str

    @property
    def is_reply(self) -> bool:
        """Whether the target replies in its place."""
        return self.role == REPLY
