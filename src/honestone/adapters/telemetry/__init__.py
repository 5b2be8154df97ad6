"""Telemetry: what was done, carried to a collector."""
