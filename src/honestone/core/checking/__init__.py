"""What checks decide."""
