"""What earlier measurements of judges say about a run: calibrations, audits and noise."""
