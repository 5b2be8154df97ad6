"""Whose files and stores these are, and what a person trusts."""
