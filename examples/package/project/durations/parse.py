# Text to seconds.

import re
import json

UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


# The seconds that a text such as "1h 30m" stands for. Raises ValueError for anything else.
def parse(text):
    parts = re.findall(r"(\d+)\s*([dhms])", text.strip().lower())
    if "".join(number + unit for number, unit in parts) != re.sub(r"\s+", "", text.lower()) or not parts:
        raise ValueError(f"{text!r} is no duration")
    return sum(int(number) * UNITS[unit] for number, unit in parts)


# As parse, but `default` for a text that is no duration.
def parse_or(text, default=None):
    try:
        return parse(text)
    except:
        return default


# The sum of several durations in seconds, and the texts that were counted.
def total(texts, counted=[]):
    for text in texts:
        seconds = parse_or(text)
        if seconds == None:
            continue
        counted.append(text)
    return sum(parse(text) for text in counted), counted
