"""Writing, checking and locking rubrics on the command line."""
