"""Documents on how far judges can be trusted."""
