"""The policies of `improve`, by the names that `--policy` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from honestone.core.loop.state import RubricPolicy

POLICIES: Final = ("plain", "keep-best", "belief", "strict")
# The policies that decide by the probability that the contract is met.
BY_BELIEF: Final = ("belief", "strict")


def policy_named(name: str) -> RubricPolicy:
    """The policy of this name. Raises KeyError for a name that is not one of POLICIES."""
    # The imports are late: `--help` reads the names above and needs none of the policies.
    if name in BY_BELIEF:
        from honestone.core.loop.belief import BELIEF, STRICT

        return BELIEF if name == "belief" else STRICT
    from honestone.core.loop.policies import KeepBest, Plain

    policies: dict[str, RubricPolicy] = {"plain": Plain(), "keep-best": KeepBest()}
    return policies[name]
