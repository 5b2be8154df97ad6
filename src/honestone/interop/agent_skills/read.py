"""Agent Skills: `evals.json` (a skill's evals, next to it), trigger evals, and `grading.json` (a grader's record of a run)."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from honestone.core.artifact import as_text
from honestone.core.errors import UsageError
from honestone.core.numbers import ONE
from honestone.core.rubric import Criterion, slug
from honestone.core.suite.case import Case, CaseWorkspace, Message, Suite
from honestone.formats.document import Document
from honestone.formats.reader import Cases, FileEntry, FileReading, Steps, shown, words
from honestone.formats.source import ForeignRubric, SuiteSource
from honestone.formats.suite_file import unsafe_name
from honestone.interop.agent_skills.extra_keys import extra_keys
from honestone.interop.agent_skills.triggers import read_triggers, signs_of_triggers
from honestone.interop.criteria import MAJORITY, check_criterion, gated, sound_check, triggers, undecided, yes_no
from honestone.interop.reader import Formats, Reader

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables

# Where a file that is a mapping has its evals.
LISTS: Final = ("evals", "test_cases", "cases")

ASSERTIONS: Final = ("assertions", "expectations")
# What skills write in place of assertions: a list of them, or one text for what is expected.
BEHAVIOURS: Final = (
    "expected_behavior",
    "expected_behaviors",
    "expected_behaviour",
    "expected_behaviours",
    "expect",
    "expects",
)

RESULTS: Final = ("expectations", "assertion_results")
MAX_FILE: Final = 10_000_000
MOST_FILES: Final = 1_000


# ---------------------------------------------------------------------------------------------------- evals.json


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
        skill, about = top.text("skill_name"), extra_keys(top, TABLES["evals"])
    files: list[Path] = []
    cases = Cases("evals")
    for entry in _entries(top):
        if entry.read(TABLES["eval"]):
            cases.add(_case(reading, entry, document, files, about), entry)
    reading.finish()
    skill = (skill or "").strip() or None
    suite = Suite(cases=cases.all(), title=skill or "", skill_id=skill)
    return reading.suite_source(document, "agent-skills", suite, cases, files)


def _entries(top: FileEntry) -> Iterator[FileEntry]:
    """Each eval: of the list that the file is, or of the one below its key."""
    if isinstance(top.value, list):
        yield from (FileEntry(top.reading, (*top.path, index)) for index in range(len(top.value)))
        return
    key = top.which(*LISTS) or LISTS[0]
    evals = top.raw(key)
    if not isinstance(evals, list) or not evals:
        top.problem(f"`{key}` must be a list of one eval at least", key)
        return
    yield from top.each(key)


def _case(
    reading: FileReading, entry: FileEntry, document: Document, files: list[Path], about: Mapping[str, object]
) -> Case | None:
    id, prompt = entry.text("id"), entry.text("prompt")
    expected = _expected(entry)
    criteria = [*_assertions(reading, entry), *_failures(reading, entry), *_trigger(entry)]
    workspace = _files(reading, entry, document, files)
    description = entry.text("name", "description")
    if not criteria and expected:
        reading.note("an eval without assertions is judged by whether it gives what it says is expected")
        criteria = [yes_no("gives-what-is-expected", f"Gives what is expected: {expected.strip()}", floor=MAJORITY)]
    rubric = gated(reading, entry.path, criteria) if criteria else undecided()
    if not criteria:
        reading.note(f"{reading.marked.at(entry.path)}: eval `{id}` says nothing to judge it by, so it is skipped")
    if id is None or prompt is None or rubric is None:
        return None
    return Case(
        id=id.strip(),
        rubric=rubric,
        messages=(Message("user", prompt),),
        reference=expected,
        workspace=workspace,
        description=description,
        metadata={**about, **_about_assertions(entry), **extra_keys(entry, TABLES["eval"])},
        skip=None if criteria else "nothing says what a good output is",
    )


def _expected(entry: FileEntry) -> str | None:
    """What a good output is, in one text."""
    for key in BEHAVIOURS:
        if "expected_output" not in entry and isinstance(entry.value.get(key), str):
            return entry.text(key)
    return entry.text("expected_output")


def _assertions_key(entry: FileEntry) -> str | None:
    """The key of the assertions: by its name, else a list of what is expected."""
    return entry.which(*ASSERTIONS) or next((key for key in BEHAVIOURS if isinstance(entry.raw(key), list)), None)


def _assertions(reading: FileReading, entry: FileEntry) -> Iterator[Criterion]:
    """Each one is a yes/no question that most judges must answer yes."""
    both = [key for key in ASSERTIONS if key in entry]
    if len(both) > 1:
        reading.problem(
            "it has both `assertions` and `expectations`", (*entry.path, both[1]), "put all in one list", at_key=True
        )
    key = _assertions_key(entry)
    if key is None:
        return
    value = entry.value[key]
    if not isinstance(value, list):
        reading.problem(f"`{key}` must be a list of texts, not {shown(value)}", (*entry.path, key))
        return
    for index, said in enumerate(value):
        here = (*entry.path, key, index)
        text = _question(said) if isinstance(said, dict) else said
        if not isinstance(text, str) or not text.strip():
            reading.problem(f"an entry of `{key}` must be text, not {shown(said)}", here)
            continue
        about = said if isinstance(said, dict) else {}
        name = about.get("id") or about.get("name")
        id = str(name).strip() if isinstance(name, str | int) and str(name).strip() else slug(text)
        yield _criterion(reading, about, id, text.strip(), here)


def _failures(reading: FileReading, entry: FileEntry) -> Iterator[Criterion]:
    """What an output must not do, a question each."""
    key = entry.which("fail", "fails")
    for index, said in enumerate(entry.texts(key) or () if key else ()):
        if said.strip():
            yield yes_no(f"not-{slug(said)}", f"This does not happen: {said.strip()}", floor=MAJORITY)
        else:
            reading.problem(f"an entry of `{key}` has no text", (*entry.path, str(key), index))


_ASSERTION: Final = ("text", "description", "check", "id", "name", "prompt")
# Keys of an assertion that would change how it is judged: nothing here does what they say.
_JUDGES: Final = words("weight points threshold score required critical negate value pattern regex command script code")


# Types of assertions that code answers: the key that holds what is looked for, and the check of ours.
_BY_CODE: Final[Mapping[str, tuple[str, str]]] = {"regex": ("pattern", "regex"), "contains": ("value", "contains")}


def _criterion(reading: FileReading, said: Mapping[object, object], id: str, question: str, path: Steps) -> Criterion:
    """A check where the assertion names what to look for, else a question. `prompt` is what its judge is asked."""
    name = str(said.get("type")).replace("_", "-")
    bare = name.removeprefix("not-").removesuffix("-absent")
    key, kind = _BY_CODE.get(bare, ("", ""))
    wanted = said.get(key)
    for other in said:
        if other in _JUDGES and not (other == key and isinstance(wanted, str)):
            reading.loss(f"`{other}` of an assertion has no meaning here", (*path, str(other)))
    if isinstance(wanted, str):
        check = sound_check(reading, (*path, key), kind, wanted, negated=bare != name)
        if check is not None:
            return check_criterion(check, id=id, requirement=question, floor=ONE)
    prompt = said.get("prompt")
    asked = f"{question}\n\n{prompt.strip()}" if isinstance(prompt, str) and prompt.strip() else question
    return yes_no(id, asked, floor=MAJORITY)


def _question(said: Mapping[object, object]) -> object:
    """What an assertion that is a mapping asks."""
    return next((said[key] for key in ("description", "text", "check", "name", "prompt") if said.get(key)), said)


def _about_assertions(entry: FileEntry) -> dict[str, object]:
    """What else assertions say of themselves (`kind`, `weight`), as metadata of the eval: `assertions`, in their order."""
    key = _assertions_key(entry)
    said = entry.value[key] if key is not None else None
    more = [
        {str(name): value for name, value in one.items() if name not in (*_ASSERTION, *_JUDGES)}
        if isinstance(one, dict)
        else {}
        for one in (said if isinstance(said, list) else ())
    ]
    return {"assertions": more} if any(more) else {}


def _trigger(entry: FileEntry) -> Iterator[Criterion]:
    """Whether the agent should have read the skill at all."""
    wanted = entry.flag("should_trigger")
    if wanted is not None:
        yield triggers(wanted)


def _files(reading: FileReading, entry: FileEntry, document: Document, read: list[Path]) -> CaseWorkspace | None:
    """The input files, where the prompt expects them: by their path, in the workspace of the case."""
    names = entry.raw("files")
    if names is None:
        return None
    if not isinstance(names, list):
        entry.problem(f"`files` must be a list of paths, not {shown(names)}", "files")
        return None
    found: dict[str, str] = {}
    for index, name in enumerate(names):
        here = (*entry.path, "files", index)
        if not isinstance(name, str):
            reading.problem(f"a file of an eval must be a path, not {shown(name)}", here, _WHERE)
            continue
        name = _in_skill(name, document.path.parent)
        wrong = unsafe_name(name)
        if wrong:
            reading.loss(f"the file name {wrong}, so the case runs without it", here, _WHERE)
            continue
        for inner, text in _texts(document.path.parent, name, read).items():
            if isinstance(text, str):
                found[inner] = text
            else:
                reading.loss(f"`{inner}` {text[0]}, so the case runs without it", here)
    return CaseWorkspace(files=found) if found else None


def _in_skill(name: str, base: Path) -> str:
    """The path below the skill's folder. `../tests/data.csv`, written from `evals/`, does not leave that folder."""
    name = name.removeprefix("./").rstrip("/")
    return name.removeprefix("../") if base.name == "evals" else name


_WHERE: Final = "paths are relative to the skill: evals/files/data.csv"


def _texts(base: Path, name: str, read: list[Path]) -> dict[str, str | tuple[str]]:
    """The text of a file named relative to the skill's folder, which holds `evals/`, or of each file of a folder; or why
    there is none."""
    roots = [base.parent, base] if base.name == "evals" else [base]
    for root in roots:
        place = root / name
        try:
            real = place.resolve(strict=True)
            if not real.is_relative_to(root.resolve()):
                return {name: ("leads out of the skill's folder",)}
            if not real.is_dir():
                return {name: _text(place, real, read)}
            inner = sorted(one.relative_to(real).as_posix() for one in islice(real.rglob("*"), MOST_FILES + 1))
        except FileNotFoundError:
            continue
        except (OSError, RuntimeError, ValueError) as error:
            return {name: (f"cannot be read ({getattr(error, 'strerror', None) or error})",)}
        if len(inner) > MOST_FILES:
            return {name: (f"is a folder of more than {MOST_FILES} files",)}
        files = [one for one in inner if not (real / one).is_dir() and not (real / one).is_symlink()]
        return {f"{name}/{one}": _text(place / one, real / one, read) for one in files} or {name: ("is empty",)}
    return {name: ("is not there",)}


def _text(place: Path, real: Path, read: list[Path]) -> str | tuple[str]:
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


# ---------------------------------------------------------------------------------------------------- grading.json


def _refuse_grading(document: Document) -> SuiteSource | ForeignRubric:
    raise UsageError(
        "this is a recorded grading of Agent Skills: marks of a run that is over, not a suite",
        place=document.marked.at(),
        hint="its suite is the skill's evals/evals.json: honestone eval evals/evals.json",
    )


# ---------------------------------------------------------------------------------------------------- what they look like


_JUDGED_BY: Final = {*ASSERTIONS, *BEHAVIOURS, "expected_output"}


def _signs_of_evals(document: Document) -> int:
    evals = document.mapping.get("evals")
    if isinstance(evals, list):
        if "skill_name" in document.keys:
            return 95
        return 60 if any(isinstance(entry, dict) and "prompt" in entry for entry in evals) else 0
    if document.is_lines:
        return 0
    named = [document.mapping.get(key) for key in LISTS] if "skill_name" in document.keys else [document.value]
    return 60 if any(_are_evals(one) for one in named) else 0


def _are_evals(listed: object) -> bool:
    """Whether each entry has a prompt, and something says what a good output is."""
    if not isinstance(listed, list) or not all(
        isinstance(one, dict) and {"id", "prompt"} <= one.keys() for one in listed
    ):
        return False
    return any(one.keys() & _JUDGED_BY for one in listed)


def _signs_of_grading(document: Document) -> int:
    for key in RESULTS:
        results = document.mapping.get(key)
        if isinstance(results, list) and any(isinstance(entry, dict) and "passed" in entry for entry in results):
            return 90
    return 0


READERS: tuple[Reader, ...] = (
    FORMATS.reader("agent-skills", _signs_of_evals, read_evals),
    FORMATS.reader("agent-skills-triggers", signs_of_triggers, read_triggers),
    FORMATS.reader("agent-skills-grading", _signs_of_grading, _refuse_grading),
)
