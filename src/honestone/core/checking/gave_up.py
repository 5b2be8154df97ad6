"""The third answer of a check: met, unmet, or gave up."""


class GaveUp(Exception):
    """Raised by a look at a text that met a bound of its work. It is neither a yes nor a no, so
    `not-` does not turn it round: the check could not be judged, for the reason that this gives.
    """
