"""Agent skills: edits, risk, gate layers, evaluation, lessons."""
