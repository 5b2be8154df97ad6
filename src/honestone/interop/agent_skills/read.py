"""Agent Skills: `evals.json` (a skill's evals, next to it), trigger evals, and `grading.json` (a
grader's record of a run).
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import Final

from honestone.core.artifact import as_text
from honestone.core.errors import UsageError
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Criterion, free_id, slug
from honestone.core.numbers import ONE
from honestone.core.suite.case import Case, CaseWorkspace, Message, Suite
from honestone.formats.project import may_read, repository_of
from honestone.formats.source import ForeignRubric, SuiteSource
from honestone.formats.suite_values import unsafe_name
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.reader import Cases, FileEntry, FileReading, Steps, shown, words
from honestone.interop.agent_skills.extra_keys import extra_keys
from honestone.interop.agent_skills.triggers import read_triggers, says_trigger, signs_of_triggers
from honestone.interop.criteria import (
    MAJORITY,
    check_criterion,
    gated,
    sound_check,
    triggers,
    undecided,
    yes_no,
)
from honestone.interop.reader import Formats, Reader

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables

# Where a file that is a mapping has its evals.
LISTS: Final = words("evals test_cases testCases cases tests scenarios")

PROMPTS: Final = words("prompt query input question task user_prompt userPrompt query_flow")
ASSERTIONS: Final = words("assertions expectations assertion expectation")
EXPECTED: Final = words("expected_output expectedOutput expected_outputs")
# What skills write in place of assertions, the likelier first: a list, names with texts, or one
# text for what is expected.
BEHAVIOURS: Final = words(
    "expected expected_result expected_results expected_outcome expected_outcomes expected_behavior expected_behaviors expected_behaviour expected_behaviours expectedBehavior expectedBehaviors expect"
    " expects checks criteria success_criteria acceptance_criteria evaluation_criteria grading_criteria pass_criteria must_have"
    " must_include must_contain"
)
# What must not happen; the later ones count where there are no assertions.
FAILURES: Final = words("fail fails must_not_have must_not_include must_not_contain must_not")

RESULTS: Final = ("expectations", "assertion_results")
MAX_FILE: Final = 10_000_000
MOST_FILES: Final = 1_000


# ----------------------------------------------------------------------------------------------------
# evals.json


def read_evals(document: Document) -> SuiteSource:
    """Raises SourceErrors with everything that is wrong."""
    reading = FileReading(document.marked, "evals", "eval")
    reading.note(*FORMATS.defaults("agent-skills"))
    top = reading.at()
    skill: str | None = None
    about: dict[str, object] = {}
    if not isinstance(top.value, list):
        if not top.read(TABLES["evals"]):
            reading.finish()
        skill, about = top.text("skill_name", "skillName"), extra_keys(top, TABLES["evals"])
    files: list[Path] = []
    cases = Cases("evals")
    for number, entry in enumerate(_entries(top), 1):
        if entry.read(TABLES["eval"]):
            cases.add(_case(reading, entry, number, document, files, about, cases), entry)
    reading.finish()
    skill = (skill or "").strip() or None
    suite = Suite(cases=cases.all(), title=skill or "", skill_id=skill)
    return reading.suite_source(document.path, "agent-skills", suite, cases, files)


def _entries(top: FileEntry) -> Iterator[FileEntry]:
    """Each eval: of the list that the file is, or of those below its keys, which may hold named
    groups of evals.
    """
    keys = [key for key in LISTS if key in top] if top.is_mapping else []
    found = (
        [one for key in keys for one in _listed(top.below(key))]
        if top.is_mapping
        else list(_listed(top))
    )
    if not found:
        key = keys[0] if keys else LISTS[0]
        top.problem(f"`{key}` must be a list of one eval at least", key)
    yield from found


def _listed(at: FileEntry) -> Iterator[FileEntry]:
    """The entries of a list, or of the lists in a mapping."""
    for key in at.value if at.is_mapping else ():
        yield from _listed(at.below(key)) if isinstance(at.value[key], list) else ()
    yield from at.rows()


def _case(
    reading: FileReading,
    entry: FileEntry,
    number: int,
    document: Document,
    files: list[Path],
    about: Mapping[str, object],
    cases: Cases,
) -> Case | None:
    id = (entry.text("id") or str(number)).strip()
    messages = _messages(entry)
    expected = _expected(entry)
    own = extra_keys(entry, TABLES["eval"])
    criteria = [*_assertions(reading, entry), *_failures(reading, entry), *_trigger(entry)]
    names, workspace = _files(reading, entry, document, files)
    if names and messages:
        last = f"{messages[-1].content}\n\nInput files: {', '.join(names)}"
        messages = [*messages[:-1], Message(messages[-1].role, last)]
    if not criteria and expected and not _names_a_skill(entry, expected):
        reading.note(
            "an eval without assertions is judged by whether it gives what it says is expected"
        )
        criteria = [
            yes_no(
                "gives-what-is-expected",
                f"Gives what is expected: {expected.strip()}",
                floor=MAJORITY,
            )
        ]
    rubric = gated(reading, entry.path, criteria) if criteria else undecided()
    if not criteria:
        _skipped(entry, id, own)
    if not messages or rubric is None:
        return None
    if id in cases:
        entry.note(f"{entry.place}: two evals have the id `{id}`, so this one gets a number")
    return Case(
        id=free_id(id, cases),
        rubric=rubric,
        messages=tuple(messages),
        reference=expected,
        workspace=workspace,
        description=entry.text("name", "description", "title", "eval_name"),
        metadata={**about, **_about_assertions(entry), **own, **_unread(entry)},
        skip=None if criteria else "nothing says what a good output is",
    )


def _skipped(entry: FileEntry, id: str, own: Mapping[str, object]) -> None:
    """An eval without criteria: a loss where a key of it seems to say what is expected, else a
    note.
    """
    key = next((key for key in own if _MEASURES.search(key)), None)
    key = key or next((one for one in BEHAVIOURS if one in entry), None)
    if key is None:
        where = entry.reading.marked.at(entry.path)
        entry.note(f"{where}: eval `{id}` says nothing to judge it by, so it is skipped")
    else:
        entry.loss(
            f"`{key}` is not something to judge an output by here, so the eval is skipped", key
        )


# Names of keys that say what an output is measured by.
_MEASURES: Final = late_pattern(
    r"(?i)expect|must|should|requir|forbid|criteri|rubric|check|assert|verif|valid|success|gold|pass|rout"
)


def _messages(entry: FileEntry) -> list[Message]:
    """The input: a text, or messages. A conversation without its replies has turns that no case
    here has.
    """
    key = entry.which(*PROMPTS)
    value = entry.raw(*PROMPTS)
    if value is None:
        entry.loss("an eval without a `prompt` has nothing to ask, so it is left out")
        return []
    if not isinstance(value, list):
        text = entry.text(*PROMPTS)
        return [] if text is None else [Message("user", text)]
    listed = [
        (one.get("role"), one.get("content")) if isinstance(one, dict) else ("user", one)
        for one in value
    ]
    found = [
        Message(role, text)
        for role, text in listed
        if isinstance(role, str) and isinstance(text, str) and text
    ]
    if not found or len(found) < len(listed):
        entry.problem(f"`{key}` must be text, or a list of texts or messages", key)
    elif any(one.role == two.role == "user" for one, two in pairwise(found)):
        entry.loss(
            "each turn needs the reply to the one before it; here all are given at once", key
        )
    return found


def _expected(entry: FileEntry) -> str | None:
    """What a good output is, in one text."""
    key = entry.which(*EXPECTED) or next(
        (one for one in BEHAVIOURS if isinstance(entry.raw(one), str)), None
    )
    value = None if key is None else entry.raw(key)
    if key is None or not isinstance(value, list | dict):
        return None if key is None else entry.text(key)
    listed = value if isinstance(value, list) else [value]
    return (
        "\n".join(
            one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in listed
        )
        or None
    )


def _names_a_skill(entry: FileEntry, expected: str) -> bool:
    """`expect: deploy` says which of several skills is to be used, and nothing about an output."""
    one = entry.which(*EXPECTED) or next(
        (key for key in BEHAVIOURS if entry.value.get(key) == expected), None
    )
    return (
        one in ("expected", "expect", "expects")
        and re.fullmatch(r"[\w:-]+", expected.strip()) is not None
    )


def _keys_of_questions(entry: FileEntry) -> list[str]:
    """The keys of what is asked about an output: assertions, else the first list of what is
    expected, or names with texts.
    """
    keys = [key for key in ASSERTIONS if key in entry]
    return keys or [key for key in BEHAVIOURS if isinstance(entry.raw(key), list | dict)][:1]


def _unread(entry: FileEntry) -> dict[str, object]:
    """What is expected in other words, next to what is asked: metadata, as any key that is not
    read.
    """
    read, expected = _keys_of_questions(entry), _expected(entry)
    failures = FAILURES[2:] if any(key in ASSERTIONS for key in read) else ()
    return {
        key: entry.value[key]
        for key in (*BEHAVIOURS, *failures)
        if key in entry and key not in read and entry.value[key] != expected
    }


def _assertions(reading: FileReading, entry: FileEntry) -> Iterator[Criterion]:
    """Each one is a yes/no question that most judges must answer yes."""
    for key in _keys_of_questions(entry):
        value = entry.value[key]
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list | dict):
            reading.problem(
                f"`{key}` must be a list of texts, not {shown(value)}", (*entry.path, key)
            )
            continue
        for step, assertion in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _assertion(reading, assertion, (*entry.path, key, step))


def _assertion(reading: FileReading, assertion: object, here: Steps) -> Iterator[Criterion]:
    """One of a list, or below its name."""
    text = _question(assertion) if isinstance(assertion, dict) else assertion
    if not isinstance(text, str) or not text.strip():
        what = f"an entry of `{here[-2]}` must be text, not {shown(assertion)}"
        (reading.loss if isinstance(assertion, dict) else reading.problem)(what, here)
        return
    about: Mapping[object, object] = assertion if isinstance(assertion, dict) else {}
    name = about.get("id") or about.get("name") or (here[-1] if isinstance(here[-1], str) else None)
    id = str(name).strip() if isinstance(name, str | int) and str(name).strip() else slug(text)
    yield _criterion(reading, about, id, text.strip(), here)


def _failures(reading: FileReading, entry: FileEntry) -> Iterator[Criterion]:
    """What an output must not do, a question each."""
    known = FAILURES[:2] if any(key in entry for key in ASSERTIONS) else FAILURES
    for key in (one for one in known if one in entry):
        for index, text in enumerate(entry.texts(key) or ()):
            if text.strip():
                yield yes_no(
                    f"not-{slug(text)}", f"This does not happen: {text.strip()}", floor=MAJORITY
                )
            else:
                reading.problem(f"an entry of `{key}` has no text", (*entry.path, key, index))


# Where an assertion has its question, the likelier first.
_ASKED: Final = words(
    "description text check assertion expectation criterion criteria question requirement statement rule name prompt"
)
_ASSERTION: Final = (*_ASKED, "id")
# Keys of an assertion that would change how it is judged: nothing here does what they say.
_JUDGES: Final = words(
    "weight points threshold score required critical negate value values pattern regex command script code"
)


# Types of assertions that code answers, in their words; and those words with the keys that hold
# what is looked for.
_TYPE: Final = late_pattern(
    r"(?:(?:content|output|text|response)-)?(not-|does-not-)?(contains?|includes?|regex|matches)(-any|-all)?(-absent)?"
)
_LOOKED_FOR: Final = ("value", "values", "pattern", "regex")


def _criterion(
    reading: FileReading, assertion: Mapping[object, object], id: str, question: str, path: Steps
) -> Criterion:
    """A check where the assertion names what to look for, else a question. `prompt` is what its
    judge is asked.
    """
    match = _TYPE.fullmatch(str(assertion.get("type")).replace("_", "-"))
    key = (
        next((one for one in _LOOKED_FOR if _can_be_found(assertion.get(one))), None)
        if match
        else None
    )
    for other in assertion:
        if (
            other in _JUDGES
            and other != key
            and not (other in ("required", "critical") and assertion[other] is True)
        ):
            reading.loss(f"`{other}` of an assertion has no meaning here", (*path, str(other)))
    if match and key is not None:
        kind = "regex" if match[2] in ("regex", "matches") else f"contains{match[3] or ''}"
        opposite = bool(match[1]) != bool(match[4])
        check = sound_check(reading, (*path, key), kind, assertion[key], negated=opposite)
        if check is not None:
            return check_criterion(check, id=id, requirement=question, floor=ONE)
    prompt = assertion.get("prompt")
    asked = (
        f"{question}\n\n{prompt.strip()}"
        if isinstance(prompt, str) and prompt.strip() != question
        else question
    )
    return yes_no(id, asked, floor=MAJORITY)


def _can_be_found(wanted: object) -> bool:
    return isinstance(wanted, str) or (
        isinstance(wanted, list) and bool(wanted) and all(isinstance(one, str) for one in wanted)
    )


def _question(assertion: Mapping[object, object]) -> object:
    """What an assertion that is a mapping asks."""
    return next((assertion[key] for key in _ASKED if assertion.get(key)), None)


def _about_assertions(entry: FileEntry) -> dict[str, object]:
    """What else assertions say of themselves (`kind`), as metadata of the eval: `assertions`, in
    their order.
    """
    more = [
        {str(name): value for name, value in one.items() if name not in (*_ASSERTION, *_JUDGES)}
        if isinstance(one, dict)
        else {}
        for key in _keys_of_questions(entry)
        for one in (entry.value[key] if isinstance(entry.value[key], list) else ())
    ]
    return {"assertions": more} if any(more) else {}


def _trigger(entry: FileEntry) -> Iterator[Criterion]:
    """Whether the agent should have read the skill at all."""
    key = entry.which("should_trigger", "shouldTrigger")
    wanted = None if key is None else says_trigger(entry.value[key])
    if wanted is not None:
        yield triggers(wanted)
    elif key is not None:
        entry.loss(f"`{key}` must be true or false, not {shown(entry.value[key])}", key)


# ------------------------------------------------------------------------------------------------
# input files


def _files(
    reading: FileReading, entry: FileEntry, document: Document, read: list[Path]
) -> tuple[list[str], CaseWorkspace | None]:
    """The names of the input files as the agent gets them, and those that are there in the
    workspace of the case, by their path. One that is not there is a loss: the case would run
    without its input.
    """
    key = entry.which("files", "file", "input_files")
    names = None if key is None else entry.raw(key)
    listed = [names] if isinstance(names, str) else names or []
    if not isinstance(listed, list | dict):
        entry.problem(f"`files` must be a list of paths, not {shown(names)}", "files")
        return [], None
    given: list[str] = []
    found: dict[str, str] = {}
    for step, named in listed.items() if isinstance(listed, dict) else enumerate(listed):
        here = (*entry.path, str(key), step)
        name, content = (step, named) if isinstance(step, str) else _name_and_content(named)
        if not isinstance(name, str):
            reading.loss(f"a file of an eval must be a path, not {shown(named)}", here, _WHERE)
            continue
        name = _in_skill(name, document.path.parent)
        wrong = unsafe_name(name)
        if wrong:
            reading.loss(f"the file name {wrong}, so the case runs without it", here, _WHERE)
            continue
        given.append(name)
        texts = (
            {name: content}
            if isinstance(content, str)
            else _texts(document.path.parent, name, read)
        )
        if texts is None:
            reading.loss(
                f"`{name}` is not there, so the case runs without it",
                here,
                f"{_WHERE}; --accept-loss runs the case without it",
            )
        for inner, text in (texts or {}).items():
            if isinstance(text, str):
                found[inner] = text
            else:
                reading.loss(f"`{inner}` {text[0]}, so the case runs without it", here)
    return given, CaseWorkspace(files=found) if found else None


def _name_and_content(entry: object) -> tuple[object, object]:
    """The name of a file, and its content where the entry holds that too."""
    if not isinstance(entry, dict):
        return entry, None
    return next(
        (entry[key] for key in ("path", "name", "filename", "file") if entry.get(key)), None
    ), entry.get("content")


def _in_skill(name: str, base: Path) -> str:
    """The path below the skill's folder. `../tests/data.csv`, written from `evals/`, does not leave
    that folder.
    """
    name = name.removeprefix("./").rstrip("/")
    return name.removeprefix("../") if base.name in _EVALS else name


_EVALS: Final = ("evals", "eval")
_WHERE: Final = (
    "paths are relative to the skill or to the root of its repository: evals/files/data.csv"
)


def _texts(base: Path, name: str, read: list[Path]) -> Mapping[str, str | tuple[str]] | None:
    """The text of a file named relative to the skill's folder, which holds `evals/`, or to the root
    of its repository, or of each file of a folder, or why there is none; None where nothing has
    this name.
    """
    roots = [base.parent, base] if base.name in _EVALS else [base]
    repository = repository_of(base.resolve())
    for root in (*roots, repository):
        place = root / name
        try:
            real = place.resolve(strict=True)
            if not real.is_relative_to(root.resolve()):
                return {name: ("leads out of the skill's folder",)}
            if root is repository and not may_read(place, repository):
                return {
                    name: (
                        "is not in the project; --allow-outside DIR names a folder that may be read",
                    )
                }
            if not real.is_dir():
                return {name: _file_text(place, real, read)}
            inner = sorted(
                one.relative_to(real).as_posix() for one in islice(real.rglob("*"), MOST_FILES + 1)
            )
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, RuntimeError, ValueError) as error:
            return {name: (f"cannot be read ({getattr(error, 'strerror', None) or error})",)}
        if len(inner) > MOST_FILES:
            return {name: (f"is a folder of more than {MOST_FILES} files",)}
        files = [
            one for one in inner if not (real / one).is_dir() and not (real / one).is_symlink()
        ]
        return {f"{name}/{one}": _file_text(place / one, real / one, read) for one in files} or {
            name: ("is empty",)
        }
    return None


def _file_text(place: Path, real: Path, read: list[Path]) -> str | tuple[str]:
    try:
        about = real.stat()
        if not stat.S_ISREG(about.st_mode):
            return ("is not a file",)
        if about.st_size > MAX_FILE:
            return ("is larger than 10 MB",)
        text = as_text(real.read_bytes())
    except OSError as error:
        return (f"cannot be read ({error.strerror or error})",)
    read.append(place)
    return ("is not a text file",) if text is None else text


# ----------------------------------------------------------------------------------------------------
# grading.json


def _refuse_grading(document: Document) -> SuiteSource | ForeignRubric:
    raise UsageError(
        "this is a recorded grading of Agent Skills: marks of a run that is over, not a suite",
        place=document.marked.at(),
        hint="its suite is the skill's evals/evals.json: honestone eval evals/evals.json",
    )


# ----------------------------------------------------------------------------------------------------
# what they look like


_JUDGED_BY: Final = {*ASSERTIONS, *BEHAVIOURS, *EXPECTED}


def _signs_of_evals(document: Document) -> int:
    if document.is_lines:
        return 0
    named = "skill_name" in document.keys or "skillName" in document.keys
    if named and isinstance(document.mapping.get("evals"), list | dict):
        return 95
    lists = [document.mapping.get(key) for key in LISTS] if document.mapping else [document.value]
    if document.mapping and any(
        isinstance(one, dict) and "prompt" in one for one in _flat(lists[0])
    ):
        return 60
    likeness = max(_likeness(_flat(one)) for one in lists)
    return 60 if likeness and named else likeness


def _flat(listed: object) -> list[object]:
    """The entries of a list, or of the lists in a mapping."""
    lists = (
        [one for one in listed.values() if isinstance(one, list)]
        if isinstance(listed, dict)
        else [listed]
    )
    return [entry for one in lists if isinstance(one, list) for entry in one]


def _likeness(listed: list[object]) -> int:
    """Each entry has a prompt; and something says, or seems to say, what a good output is."""
    entries = [
        one
        for one in listed
        if isinstance(one, dict) and one.keys() & {"prompt", "query", "query_flow"}
    ]
    if (
        not entries
        or len(entries) < len(listed)
        or any(one.keys() & {"vars", "assert"} for one in entries)
    ):
        return 0
    if not any("prompt" in one for one in entries) and any(
        one.keys() & set(ASSERTIONS) for one in entries
    ):
        return 99  # AgentV has `tests` with assertions too, and never a query
    if any(one.keys() & _JUDGED_BY for one in entries):
        return 60
    return 30 if any(_MEASURES.search(str(key)) for one in entries for key in one) else 0


def _signs_of_grading(document: Document) -> int:
    for key in RESULTS:
        results = document.mapping.get(key)
        if isinstance(results, list) and any(
            isinstance(entry, dict) and "passed" in entry for entry in results
        ):
            return 90
    return 0


READERS: tuple[Reader, ...] = (
    FORMATS.reader("agent-skills", _signs_of_evals, read_evals),
    FORMATS.reader("agent-skills-triggers", signs_of_triggers, read_triggers),
    FORMATS.reader("agent-skills-grading", _signs_of_grading, _refuse_grading),
)
