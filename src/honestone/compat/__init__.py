"""Command lines of other tools, flag for flag."""
