"""Judging artifacts."""
