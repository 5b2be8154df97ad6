"""Nouns and rules. Standard library only; no clock, file, network or random number."""
