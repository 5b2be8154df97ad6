"""Suites that run: one side, a table of several, once more, or while files change."""
