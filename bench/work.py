"""What every tool in the benches is given: texts, and the criteria they are judged by. Standard
library only.
"""

from __future__ import annotations

import random

WORDS = (
    *("harbour", "lantern", "orchard", "pebble", "quarry", "ribbon", "saddle", "thicket"),
    *("velvet", "willow", "anchor", "barley", "cinder", "drapery", "ember"),
)
CRITERIA = (
    ("cause", 3, "Names what went wrong and points to the words of the report that show it."),
    ("remedy", 2, "Proposes a remedy that a reader can carry out without asking back."),
    ("limits", 1, "Says what the remedy does not reach."),
    ("plain", 1, "Is written in plain sentences without padding."),
    ("honest", 2, "Invents no names, numbers or places that the report does not give."),
)
MODEL = "stand-in"


def text_of(number: int) -> str:
    """A report and an answer to it, about 1.4 kB, the same for the same number."""
    draw = random.Random(number)
    report, answer = (" ".join(draw.choices(WORDS, k=k)) for k in (70, 110))
    return f"Report {number}: the night train stopped. {report}.\n\nAnswer: {answer}. Do so and run it again.\n"
