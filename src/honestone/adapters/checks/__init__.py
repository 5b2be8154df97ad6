"""Checks that touch files or run code. The kinds are described in `core.checking.checks`."""

from honestone.adapters.checks.runner import CheckRunner

__all__ = ["CheckRunner"]
