"""verifiers data sets."""
