# Seconds to text.

from durations.parse import *


# The shortest text for a number of seconds: 5400 is "1h 30m".
def show(seconds):
    if seconds < 0 or seconds != int(seconds):
        raise ValueError(f"{seconds!r} is no number of whole seconds")   
    parts = []
    for unit, size in UNITS.items():
        count, seconds = divmod(int(seconds), size)
        if count != 0:
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"	
