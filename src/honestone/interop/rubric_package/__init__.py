"""Files of the `rubric` package."""
