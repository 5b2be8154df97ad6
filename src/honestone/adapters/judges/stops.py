"""Why a model stopped before its reply was whole, where its server says so."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

# The words of servers for a reply, or a prompt, that a filter withheld.
_FILTERS: Final = frozenset(
    "content_filter content-filter content_filtered guardrail_intervened safety recitation blocklist prohibited_content spii "
    "image_safety model_armor jailbreak".split()
)

ANOTHER_JUDGE: Final = (
    "name another judge (--judge NAME), or take out what its provider does not let it read"
)
LEAST_RAISE: Final = 4_000


class StoppedReply(Struct, frozen=True, kw_only=True):
    """`again`: how often asking again may help."""

    reason: str
    hint: str
    again: int


def stop_of(
    stop: str, text: str, *, cut: bool, table: str | None, written: int
) -> StoppedReply | None:
    """What the server's word for the end of a reply means; None where it ended by itself. `written`
    in
    tokens.

    `table`: the judge's name in settings, where its replies have a limit that can be raised.
    """
    if stop.casefold() in _FILTERS:
        return StoppedReply(
            reason=f"content filter: the server withheld the reply ({stop})",
            hint=ANOTHER_JUDGE,
            again=0,
        )
    if stop == "refusal":
        words = " ".join(text.split())
        return StoppedReply(
            reason=f"it refused: {words[:200]!r}" if words else "it refused",
            hint=ANOTHER_JUDGE,
            again=0,
        )
    if cut:
        return StoppedReply(
            reason="the reply was cut at its length limit",
            hint=_write_more(table, written),
            again=1,
        )
    return None


def _write_more(table: str | None, written: int) -> str:
    less = "ask for less at once with --ask criterion"
    if table is None:
        return less
    limit = max(LEAST_RAISE, -(-written * 2 // 1000) * 1000)
    named = (
        f"[judges.{table}]"
        if table.replace("-", "").replace("_", "").isalnum()
        else "a [judges.NAME] of its own"
    )
    return f"set max_tokens = {limit} in {named} of honestone.toml, or {less}"
