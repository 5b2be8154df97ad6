"""promptfoo configurations."""
