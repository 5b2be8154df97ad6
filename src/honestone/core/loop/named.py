"""The policies of `improve` by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from honestone.core.loop.state import RubricPolicy

POLICIES: Final = ("plain", "keep-best", "belief", "strict")
# Those that decide by the probability that the contract is met.
BY_BELIEF: Final = ("belief", "strict")


def policy_named(name: str) -> RubricPolicy:
    """Raises KeyError for a name that is not one of POLICIES."""
    if name in BY_BELIEF:  # What the command line offers by name need not be loaded for that.
        from honestone.core.loop.belief import BELIEF, STRICT

        return BELIEF if name == "belief" else STRICT
    from honestone.core.loop.policies import KeepBest, Plain

    found: dict[str, RubricPolicy] = {"plain": Plain(), "keep-best": KeepBest()}
    return found[name]
