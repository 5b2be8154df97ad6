"""Agent Skills: trigger evals, queries with whether an agent should pick the skill up. The trace of
a run answers them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from honestone.core.json_value import late_pattern
from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.source import SuiteSource
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.reader import Cases, FileEntry, FileReading, Steps, shown, words
from honestone.interop.agent_skills.extra_keys import extra_keys
from honestone.interop.criteria import gated, triggers, undecided
from honestone.interop.reader import Formats

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables

# Where a file that is a mapping has its queries.
LISTS: Final = words("evals queries cases tests test_cases prompts")
QUERY: Final = words("query prompt input question text message utterance user_prompt")
SHOULD: Final = words(
    "should_trigger shouldTrigger should_activate should_load expect_trigger expected_trigger expects_trigger trigger triggers"
)
EXPECTED: Final = ("expected", "expect", "label")


def read_triggers(document: Document) -> SuiteSource:
    """The suite of a trigger file, a case for each query. Raises SourceErrors with everything that
    is wrong.
    """
    reading = FileReading(document.marked)
    reading.note(*FORMATS.defaults("agent-skills-triggers"))
    top = reading.at()
    about: dict[str, object] = {}
    skill = None
    if top.is_mapping:
        top.read(TABLES["triggers"])
        skill, about = top.text("skill_name"), extra_keys(top, TABLES["triggers"])
    cases = Cases("queries")
    groups: set[Steps] = set()
    for number, (entry, wanted) in enumerate(_entries(top, None, groups), 1):
        cases.add(_case(entry, number, wanted, about), entry)
    if not cases and not reading.problems:
        reading.problem("this file has no queries", ())
    if len(groups) > 1:
        reading.loss(
            "these are the queries of several skills; each is asked about the one that is installed",
            (),
        )
    reading.finish()
    skill = (skill or "").strip() or None
    suite = Suite(
        cases=cases.all(), title=f"when {skill} is picked up" if skill else "", skill_id=skill
    )
    return reading.suite_source(document.path, "agent-skills-triggers", suite, cases)


def _entries(
    at: FileEntry, wanted: bool | None, groups: set[Steps]
) -> Iterator[tuple[FileEntry, bool | None]]:
    """Each query, with whether it should trigger where the name of its list says so. `groups` gets
    where such lists are.
    """
    yield from ((entry, wanted) for entry in at.rows())
    if not isinstance(at.value, list | dict):
        at.problem(f"trigger evals are a list of queries, not {shown(at.value)}")
    for key in at.value if at.is_mapping else ():
        is_mapping = isinstance(at.value[key], dict)
        should_trigger = None if is_mapping else _group(key)
        if at.value[key] and (is_mapping or should_trigger is not None or key in LISTS):
            groups |= set() if should_trigger is None else {at.path}
            yield from _entries(
                at.below(key), wanted if should_trigger is None else should_trigger, groups
            )


def _group(key: object) -> bool | None:
    """Whether a list of this name has queries that should trigger (`should_not_trigger`,
    `negative_cases`); None: no such name.
    """
    match = _GROUP.fullmatch(re.sub(r"[\s_-]+", " ", str(key)).strip().casefold())
    return None if match is None else not (match[1] or match[2])


_GROUP: Final = late_pattern(
    r"(?:should |must |does |do )?(?:(not |no |non )?(?:triggers?|triggering|activate)|positives?|(negatives?))"
    r"(?: queries| cases| examples| prompts| triggers| tests)?"
)


def _case(
    entry: FileEntry, number: int, wanted: bool | None, about: Mapping[str, object]
) -> Case | None:
    if isinstance(entry.value, str):
        if wanted is None:
            entry.problem(
                f"a query must be a mapping that says whether it should trigger, not {shown(entry.value)}"
            )
            return None
        return _made(entry, str(number), entry.value, wanted, about)
    if not entry.read(TABLES["query"]):
        return None
    query = entry.text(*QUERY)
    if entry.which(*QUERY) is None:
        entry.problem("`query` is missing", hint="it is what the agent is asked")
    about = {**about, **extra_keys(entry, TABLES["query"])}
    own = entry.which(*SHOULD)
    answer = None if own is None else says_trigger(entry.value[own])
    other = next((key for key in EXPECTED if key in entry), None)
    if other is not None and (
        own is not None or wanted is not None or says_trigger(entry.value[other]) is None
    ):
        about[other] = entry.value[other]
    elif other is not None:
        answer = says_trigger(entry.value[other])
    if answer is None and (own is not None or wanted is None):
        entry.loss("nothing says whether this query should trigger, so it is skipped", own)
        wanted = None
    id = (entry.text("id", "name") or str(number)).strip()
    if query is None:
        return None
    return _made(entry, id, query, wanted if answer is None else answer, about)


def says_trigger(value: object) -> bool | None:
    """`true`, `yes`, `trigger`, `do_not_trigger` and the like as true and false; None for any other
    value.
    """
    text = (
        re.sub(r"[\s_-]+", " ", value).strip().casefold()
        if isinstance(value, str)
        else str(value).casefold()
    )
    match = _TRIGGER.fullmatch(text)
    return None if match is None else not (match[1] or match[2])


_TRIGGER: Final = late_pattern(
    r"(?:should )?(no |not |do not |does not |should not )?triggers?|true|yes|positive|(false|no|negative)"
)


def _made(
    entry: FileEntry, id: str, query: str, wanted: bool | None, metadata: Mapping[str, object]
) -> Case | None:
    if not query.strip():
        entry.problem(f"a query must be text, not {shown(query)}")
        return None
    rubric = undecided() if wanted is None else gated(entry.reading, entry.path, [triggers(wanted)])
    if rubric is None:
        return None
    skip = "nothing says whether it should trigger" if wanted is None else None
    return Case(
        id=id, rubric=rubric, messages=(Message("user", query),), metadata=metadata, skip=skip
    )


def signs_of_triggers(document: Document) -> int:
    """Queries that say whether they should trigger, or lists whose names say it."""
    if document.is_lines:
        return 0
    lists = (
        {key: document.mapping.get(key) for key in LISTS}
        if document.mapping
        else {"": document.value}
    )
    for key, entries in lists.items():
        # Evals with a prompt are those of an evals file, whatever else they say.
        asked = {"query"} if key == "evals" else set(QUERY)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and asked & entry.keys() and _says_trigger(entry):
                return 97
    if {"prompt", "query"} & document.keys:
        return 0
    inner = [one for one in document.mapping.values() if isinstance(one, dict)]
    return 80 if any(_has_groups(one) for one in (document.mapping, *inner)) else 0


def _has_groups(held: Mapping[str, object]) -> bool:
    """Whether a list says that its queries should trigger, and one that they should not; or a key
    says it in full.
    """
    groups = {_group(key) for key, value in held.items() if isinstance(value, list) and value}
    return {True, False} <= groups or any(
        isinstance(held.get(key), list) for key in ("should_trigger", "should_not_trigger")
    )


def _says_trigger(entry: Mapping[str, object]) -> bool:
    return any(
        says_trigger(entry[key]) is not None
        for key in (*SHOULD, *EXPECTED)
        if isinstance(entry.get(key), str | bool)
    )
