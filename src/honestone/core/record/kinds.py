"""Kinds of runs in the store that are of suites."""

TABLE = "table"
# Only its table is listed.
COLUMN = "column"
# The kinds whose events are those of a suite's run.
SUITES = ("suite", COLUMN)
