"""A person at a terminal as judge or worker."""
