"""waza's trigger tests: prompts that should, and should not, make an agent read a skill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.document import Document
from honestone.formats.reader import Cases, FileEntry, FileReading
from honestone.formats.source import SuiteSource
from honestone.interop.criteria import gated, triggers
from honestone.interop.reader import Formats

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables

LISTS: Final[Mapping[str, bool]] = {
    "should_trigger_prompts": True,
    "should_not_trigger_prompts": False,
}


def read_triggers(document: Document) -> SuiteSource:
    """The suite of a file of trigger tests, a case for each prompt. Raises SourceErrors with
    everything that is wrong.
    """
    reading = FileReading(document.marked)
    reading.note(*FORMATS.defaults("waza-triggers"))
    top = reading.at()
    cases = Cases("prompts")
    if top.read(TABLES["triggers"]):
        entries = [
            (at, wanted)
            for key, wanted in LISTS.items()
            for at in top.mappings(key, TABLES["trigger-prompt"])
        ]
        for number, (at, wanted) in enumerate(entries, 1):
            cases.add(_case(at, number, wanted), at)
        if not cases and not reading.problems:
            reading.problem("this file has no prompts", ())
    skill = top.text("skill") if top.is_mapping else None
    reading.finish()
    suite = Suite(cases=cases.all(), title=f"when {skill} is picked up", skill_id=skill)
    return reading.suite_source(document, "waza-triggers", suite, cases)


def _case(at: FileEntry, number: int, wanted: bool) -> Case | None:
    prompt, reason, confidence = at.text("prompt"), at.text("reason"), at.text("confidence")
    rubric = gated(at.reading, at.path, [triggers(wanted)])
    if prompt is None or rubric is None:
        return None
    return Case(
        id=str(number),
        rubric=rubric,
        messages=(Message("user", prompt),),
        description=reason,
        metadata={"confidence": confidence} if confidence is not None else {},
    )


def signs_of_triggers(document: Document) -> int:
    return 95 if any(isinstance(document.mapping.get(key), list) for key in LISTS) else 0
