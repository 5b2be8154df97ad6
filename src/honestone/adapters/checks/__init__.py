"""Checks that touch files or run code. The kinds are described in `core.checking.checks`."""

from honestone.adapters.checks.checker import CheckRunner

__all__ = ["CheckRunner"]
