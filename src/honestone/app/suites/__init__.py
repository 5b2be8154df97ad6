"""Running a suite, with or without a baseline."""
