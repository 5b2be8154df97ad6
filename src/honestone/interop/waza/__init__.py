"""waza evaluations."""
