"""The policies of `improve` by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from honestone.core.loop.belief import BELIEF, STRICT
from honestone.core.loop.policies import KeepBest, Plain
from honestone.core.loop.state import RubricPolicy

_NAMED: Final[Mapping[str, RubricPolicy]] = {policy.name: policy for policy in (Plain(), KeepBest(), BELIEF, STRICT)}
POLICIES: Final = tuple(_NAMED)


def policy_named(name: str) -> RubricPolicy:
    """Raises KeyError for a name that is not one of POLICIES."""
    return _NAMED[name]
