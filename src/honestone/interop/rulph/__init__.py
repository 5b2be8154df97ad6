"""rulph rubrics and reports."""
