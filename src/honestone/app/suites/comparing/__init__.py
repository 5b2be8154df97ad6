"""A suite next to its baseline, and runs next to each other."""
