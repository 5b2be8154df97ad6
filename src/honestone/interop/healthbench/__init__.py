"""HealthBench JSON lines."""
