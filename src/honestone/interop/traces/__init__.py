"""Traces of applications: OpenTelemetry (OTLP JSON), exports of Langfuse, logs of Inspect."""
