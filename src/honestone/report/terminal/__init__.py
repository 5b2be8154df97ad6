"""Documents for the terminal."""
