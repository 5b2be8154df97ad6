"""Every name that telemetry uses, with its meaning: the adapter takes its names from here, and
`docs/reference/telemetry.md` lists them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from honestone.core.tables import table_text


class _Names(msgspec.Struct, forbid_unknown_fields=True):
    """`names.toml`: meanings by name; of a metric its kind and unit too."""

    attributes: dict[str, str]
    metrics: dict[str, tuple[str, str, str]]


_TABLES: Final = msgspec.toml.decode(table_text("names", __package__), type=_Names)
ATTRIBUTES: Final = _TABLES.attributes
METRICS: Final = _TABLES.metrics
# A score: one event for the whole and one for each criterion.
EVALUATION_EVENT: Final = "gen_ai.evaluation.result"

# Providers whose name in the conventions is another one.
PROVIDERS: Final = {"google": "gcp.gemini"}

DURATIONS: Final = (
    0.01,
    0.02,
    0.04,
    0.08,
    0.16,
    0.32,
    0.64,
    1.28,
    2.56,
    5.12,
    10.24,
    20.48,
    40.96,
    81.92,
)
# The bounds of buckets that the conventions advise.
TOKENS: Final = tuple(4**power for power in range(14))
