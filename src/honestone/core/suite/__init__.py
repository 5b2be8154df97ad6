"""Cases, attempts, results of a suite and comparisons of two runs."""
