"""Agent Skills `evals.json`."""
