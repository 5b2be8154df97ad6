"""Rubrics and suites drafted: by a person, a model, from tables and traces."""
