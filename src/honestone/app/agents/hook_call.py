"""What a coding agent gives a hook that it calls: JSON on stdin, of which these fields count."""

from __future__ import annotations

from msgspec import Struct

from honestone.core.json_value import Json


class HookCall(Struct, frozen=True, kw_only=True):
    """`event` is the hook's name as the agent has it; `session` is the session's id, `folder` where
    it works. None where the agent gave no text.
    """

    event: str | None = None
    session: str | None = None
    folder: str | None = None
    permission_mode: str | None = None
    has_background_tasks: bool = False

    @classmethod
    def of(cls, given: Json) -> HookCall:
        """Fields of another type than expected count as absent: agents differ in what they give."""
        if not isinstance(given, dict):
            return cls()

        def text(name: str) -> str | None:
            value = given.get(name)
            return value if isinstance(value, str) else None

        return cls(
            event=text("hook_event_name"),
            session=text("session_id"),
            folder=text("cwd"),
            permission_mode=text("permission_mode"),
            has_background_tasks=bool(given.get("background_tasks")),
        )
