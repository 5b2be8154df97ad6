"""The improvement loop."""
