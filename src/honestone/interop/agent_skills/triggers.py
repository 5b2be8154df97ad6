"""Agent Skills: trigger evals, queries with whether an agent should pick the skill up. The trace of a run answers them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.document import Document
from honestone.formats.reader import Cases, FileEntry, FileReading, shown
from honestone.formats.source import SuiteSource
from honestone.interop.agent_skills.extra_keys import extra_keys
from honestone.interop.criteria import gated, triggers
from honestone.interop.reader import Formats

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables

# Where a file that is a mapping has its queries.
LISTS: Final = ("evals", "queries", "cases")

# Where it has them as two lists of texts.
GROUPS: Final[Mapping[str, bool]] = {"should_trigger": True, "should_not_trigger": False}


def read_triggers(document: Document) -> SuiteSource:
    """The suite of a trigger file, a case for each query. Raises SourceErrors with everything that is wrong."""
    reading = FileReading(document.marked)
    reading.note(*FORMATS.defaults("agent-skills-triggers"))
    top = reading.at()
    about: dict[str, object] = {}
    skill = None
    if top.is_mapping:
        top.read(TABLES["triggers"])
        skill, about = top.text("skill_name"), extra_keys(top, TABLES["triggers"])
    cases = Cases("queries")
    for number, (entry, wanted) in enumerate(_entries(top), 1):
        cases.add(_case(entry, number, wanted, about), entry)
    if not cases and not reading.problems:
        reading.problem("this file has no queries", ())
    reading.finish()
    skill = (skill or "").strip() or None
    suite = Suite(cases=cases.all(), title=f"when {skill} is picked up" if skill else "", skill_id=skill)
    return reading.suite_source(document, "agent-skills-triggers", suite, cases)


def _entries(top: FileEntry) -> Iterator[tuple[FileEntry, bool | None]]:
    """Each query, with whether it should trigger where its list says so."""
    if isinstance(top.value, list):
        for index in range(len(top.value)):
            yield FileEntry(top.reading, (*top.path, index)), None
        return
    if not top.is_mapping:
        top.problem(f"trigger evals are a list of queries, not {shown(top.value)}")
        return
    for key in LISTS:
        for entry in top.each(key):
            yield entry, None
    for key, wanted in GROUPS.items():
        for entry in top.each(key):
            yield entry, wanted


def _case(entry: FileEntry, number: int, wanted: bool | None, about: Mapping[str, object]) -> Case | None:
    if isinstance(entry.value, str) and wanted is not None:
        return _made(entry, str(number), entry.value, wanted, about)
    if not entry.read(TABLES["query"]):
        return None
    query = entry.text("query", "prompt")
    if entry.which("query", "prompt") is None:
        entry.problem("`query` is missing", hint="it is what the agent is asked")
    about = {**about, **extra_keys(entry, TABLES["query"])}
    said = entry.raw("expected")
    if said is not None and (wanted is not None or _expected(said) is None or "should_trigger" in entry):
        about["expected"] = said
    if wanted is None:
        wanted = entry.flag("should_trigger") if "should_trigger" in entry else _expected(said)
        if wanted is None and "should_trigger" not in entry:
            entry.problem("`should_trigger` is missing", hint="true or false: whether the agent should read the skill")
    if query is None or wanted is None:
        return None
    id = (entry.text("id", "name") or str(number)).strip()
    return _made(entry, id, query, wanted, about)


def _expected(said: object) -> bool | None:
    """`trigger`, `do_not_trigger` and the like as true and false; None for any other value."""
    words = re.sub(r"[\s_-]+", " ", said).strip().casefold() if isinstance(said, str) else ""
    found = _TRIGGER.fullmatch(words)
    return None if found is None else found[1] is None


_TRIGGER: Final = re.compile(r"(?:should )?(no |not |do not |does not |should not )?triggers?")


def _made(entry: FileEntry, id: str, query: str, wanted: bool, metadata: Mapping[str, object]) -> Case | None:
    if not query.strip():
        entry.problem(f"a query must be text, not {shown(query)}")
        return None
    rubric = gated(entry.reading, entry.path, [triggers(wanted)])
    if rubric is None:
        return None
    return Case(id=id, rubric=rubric, messages=(Message("user", query),), metadata=metadata)


def signs_of_triggers(document: Document) -> int:
    """Queries that say whether they should trigger, or two lists of them."""
    if document.is_lines:
        return 0
    if any(isinstance(document.mapping.get(key), list) for key in GROUPS) and not {"prompt", "query"} & document.keys:
        return 80
    lists = {key: document.mapping.get(key) for key in LISTS} if document.mapping else {"": document.value}
    for key, entries in lists.items():
        # Evals with a prompt are those of an evals file, whatever else they say.
        asked = {"query"} if key == "evals" else {"query", "prompt"}
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and asked & entry.keys() and _says_trigger(entry):
                return 97
    return 0


def _says_trigger(entry: Mapping[str, object]) -> bool:
    return "should_trigger" in entry or _expected(entry.get("expected")) is not None
