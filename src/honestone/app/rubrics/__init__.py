"""Writing and keeping rubrics."""
