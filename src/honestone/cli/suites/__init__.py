"""Suites on the command line: reading, choosing, running one side or two, comparing."""
