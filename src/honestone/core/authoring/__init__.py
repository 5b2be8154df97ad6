"""Drafting and linting of rubrics and suites."""
