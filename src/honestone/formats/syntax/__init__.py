"""YAML, JSON, TOML and CSV with the place of every value, and the strict reader."""
