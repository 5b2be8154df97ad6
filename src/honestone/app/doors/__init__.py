"""What doors give to use cases, and get back."""
