"""CheckEval question files."""
