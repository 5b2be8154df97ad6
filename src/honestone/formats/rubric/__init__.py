"""The native rubric format."""
