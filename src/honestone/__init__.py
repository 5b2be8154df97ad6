"""Say what good looks like. Measure it honestly. Make it better until it is."""

__version__ = "0.1.0"
