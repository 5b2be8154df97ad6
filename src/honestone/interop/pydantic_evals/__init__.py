"""pydantic-evals data sets."""
