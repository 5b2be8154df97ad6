"""Inspect data sets."""
