"""Judges asked: who is on the panel, their replies and ballots, and one verdict of it."""
