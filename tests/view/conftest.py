"""The desk of the command's tests."""

from __future__ import annotations

from cli.conftest import desk

__all__ = ["desk"]
