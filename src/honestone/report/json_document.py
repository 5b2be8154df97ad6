"""A document as `--json` prints it: JSON values under names that a schema in docs/reference lists."""

from __future__ import annotations

from typing import Any, TypeAlias

JsonDocument: TypeAlias = dict[str, Any]
