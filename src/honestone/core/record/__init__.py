"""What a run records: events, and what is read from them."""
