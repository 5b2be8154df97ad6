"""improvement-evaluator's task suites (`task_suite.yaml`, version 1.0), and its skill
specifications.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from honestone.core.json_value import is_number
from honestone.core.judging.rubric import Check, Criterion, Item, Rubric, slug
from honestone.core.numbers import ONE, ZERO
from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.rubric.check_words import check_in_words
from honestone.formats.source import ForeignRubric, SuiteSource
from honestone.formats.suite.suite_file import rubric_within
from honestone.formats.suite_values import MAX_SECONDS
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.reader import (
    Cases,
    FileEntry,
    FileReading,
    Keys,
    did_you_mean,
    shown,
    words,
)
from honestone.interop.criteria import FROM_0_TO_1, check_criterion, checklist, scaled
from honestone.interop.reader import Formats, Reader

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables
NOTES: Final = FORMATS.notes

VERSION: Final = "1.0"
PASS_THRESHOLD: Final = Fraction(7, 10)
TIMEOUT: Final = 300
FIXTURES: Final = "fixtures"


def read_task_suite(document: Document) -> SuiteSource:
    """Raises SourceErrors with everything that is wrong."""
    reading = FileReading(document.marked, "tasks", "task")
    reading.note(*FORMATS.defaults("task-suite"))
    top = reading.at()
    skill = _filled(top, "skill_id", "name the skill that the suite is for")
    _version(top)
    title = _if_text(top, "description")
    tasks = _Tasks(reading, document)
    tasks.read(top)
    _note_extra(top, TABLES["suite"], "the suite")
    reading.finish()
    assert skill is not None
    suite = Suite(cases=tasks.cases.all(), title=title or skill, skill_id=skill)
    return reading.suite_source(document.path, "task-suite-1.0", suite, tasks.cases, tasks.files)


def _filled(entry: FileEntry, key: str, hint: str) -> str | None:
    """A text that must be there and must say something."""
    text = entry.text(key)
    if text is None and not (key in entry and not isinstance(entry.value[key], str)):
        is_there = isinstance(entry.value, dict) and key in entry.value
        path = (*entry.path, key) if is_there else entry.path
        entry.reading.problem(f"`{key}` is {'empty' if is_there else 'missing'}", path, hint)
    return text.strip() if text else None


def _if_text(entry: FileEntry, key: str) -> str | None:
    """Words for people, which the format leaves free."""
    value = entry.raw(key)
    return (value.strip() or None) if isinstance(value, str) else None


def _version(top: FileEntry) -> None:
    """The text "1.0"; the number 1.0 says the same, though the tool itself refuses it."""
    value = top.raw("version")
    if value is None:
        top.problem("`version` is missing", hint=f'write version: "{VERSION}"')
    elif is_number(value) and value == 1:
        top.note(
            f'version is a number; read as the text "{VERSION}" (improvement-evaluator itself wants quotes)'
        )
    elif value != VERSION:
        top.problem(f'`version` is {shown(value)}, but must be "{VERSION}"', "version")


def _note_extra(entry: FileEntry, keys: Keys, where: str) -> None:
    """Extra keys are allowed in this format; one that was probably meant to be another is reported."""
    for key in entry.value if isinstance(entry.value, dict) else ():
        if str(key) not in keys.by_name:
            hint = did_you_mean(key, [name for name in keys.by_name if name not in entry])
            place = entry.reading.marked.key_at((*entry.path, key))
            note = f"{place}: `{key}` in {where} is not a key of the format and changes nothing"
            entry.note(note + (f"; {hint}" if hint else ""))


class _Tasks:
    """The tasks of a suite, and the files that they name. `quality` judges a task without a judge."""

    def __init__(
        self, reading: FileReading, document: Document, quality: Sequence[Criterion] = ()
    ) -> None:
        self.reading = reading
        self.document = document
        self.quality = tuple(quality)
        self.files: list[Path] = []
        self.cases = Cases("tasks")

    def read(self, top: FileEntry) -> None:
        value = top.value.get("tasks") if top.is_mapping else None
        if not isinstance(value, list) or not value:
            wrong = f"must be a list, not {shown(value)}"
            if value is None:
                wrong = "is missing"
            elif value == []:
                wrong = "is empty"
            top.problem(
                f"`tasks` {wrong}",
                "tasks",
                "a suite has one task at least",
            )
            return
        for task in top.each("tasks"):
            if task.read(TABLES["task"]):
                self.cases.add(self.task(task), task)

    def task(self, task: FileEntry) -> Case | None:
        id = _filled(task, "id", "name the task: id: finds-the-bug")
        if id is not None and not id.isprintable():
            task.problem("`id` holds characters that cannot be shown", "id")
        prompt = _filled(task, "prompt", "say what the agent is asked")
        timeout, rubric = self._timeout(task), self._judge(task)
        _note_extra(task, TABLES["task"], f"task `{id}`")
        if id is None or prompt is None or rubric is None:
            return None
        written = task.value["prompt"]
        return Case(
            id=id,
            rubric=rubric,
            messages=(Message("user", written if isinstance(written, str) else prompt),),
            timeout=timeout,
            description=_if_text(task, "description"),
            metadata={
                str(key): _with_text_keys(value)
                for key, value in task.value.items()
                if str(key) not in TABLES["task"].by_name
            },
        )

    def _timeout(self, task: FileEntry) -> float:
        seconds = task.number("timeout_seconds", high=MAX_SECONDS)
        if seconds is not None and seconds <= 0:
            self.reading.problem(
                "`timeout_seconds` must be above 0", (*task.path, "timeout_seconds")
            )
        return float(seconds) if seconds is not None else TIMEOUT

    # ------------------------------------------------------------------------------------------
    # judges

    def _judge(self, task: FileEntry) -> Rubric | None:
        if "judge" not in task and self.quality:
            self.reading.note(
                "tasks without a `judge` are judged by the specification's `quality_criteria`"
            )
            return Rubric(criteria=self.quality, floor=ZERO)
        if "judge" not in task:
            hint = "say how it is judged: {type: contains, expected: [word]}"
            task.problem("`judge` is missing", hint=hint)
            return None
        judge = task.below("judge")
        if not judge.is_mapping:
            judge.problem(f"`judge` must be a mapping, not {shown(judge.value)}")
            return None
        keywords = self._keywords
        read = {"contains": keywords, "not-contains": keywords, "pytest": self._pytest}
        read |= {"llm-rubric": self._llm_rubric, "rubric": self._rubric}
        kind = judge.choice("type", tuple(read))
        if kind is None:
            if "type" not in judge:
                judge.problem("`type` of `judge` is missing", hint=f"one of: {', '.join(read)}")
            return None
        judge.read(TABLES[f"judge {kind}"])
        rubric = read[kind](judge)
        _note_extra(judge, TABLES[f"judge {kind}"], f"`judge` of task `{task.value.get('id')}`")
        return rubric

    def _keywords(self, judge: FileEntry) -> Rubric | None:
        """Score: found of all. It passes only with all of them, wherever they are and in whatever
        case.
        """
        negated = judge.value["type"] == "not-contains"
        words = judge.raw("expected")
        here = (*judge.path, "expected")
        if not isinstance(words, list) or not words:
            self.reading.problem(
                "`expected` must be a list of one word at least",
                here if "expected" in judge else judge.path,
            )
            return None
        wrong = [index for index, word in enumerate(words) if not isinstance(word, str) or not word]
        for index in wrong:
            self.reading.problem(
                f"`expected` must hold texts, not {shown(words[index])}",
                (*here, index),
                None
                if isinstance(words[index], str)
                else f'put it in quotes: "{self.reading.marked.raw((*here, index))}"',
            )
        return None if wrong else keywords_rubric(words, negated=negated)

    def _pytest(self, judge: FileEntry) -> Rubric | None:
        name = judge.text("test_file")
        here = (*judge.path, "test_file")
        if name is None:
            self.reading.problem(
                "`test_file` is missing",
                judge.path,
                f"name a test next to the suite: {FIXTURES}/test_it.py",
            )
            return None
        problem = fixture_problem(self.document.path.parent, name)
        if problem:
            self.reading.problem(
                problem, here, f"tests are next to the suite, in the folder {FIXTURES}/"
            )
            return None
        self.files.append(self.document.path.parent / name)
        return pytest_rubric(name)

    def _llm_rubric(self, judge: FileEntry) -> Rubric | None:
        text = _filled(judge, "rubric", "say what a good answer has")
        threshold = judge.number("pass_threshold", low=0, high=1)
        if text is None or ("pass_threshold" in judge and threshold is None):
            return None
        return scored_rubric(text, PASS_THRESHOLD if threshold is None else threshold)

    def _rubric(self, judge: FileEntry) -> Rubric | None:
        """Ours: a whole rubric as the judge of a task."""
        if "rubric" not in judge:
            self.reading.problem(
                "`rubric` is missing", judge.path, "write criteria, or {file: PATH}"
            )
            return None
        rubric, files = rubric_within(self.document, (*judge.path, "rubric"), self.reading)
        self.files += files
        return rubric


def keywords_rubric(words: list[str], *, negated: bool = False) -> Rubric:
    items = []
    for word in words:
        check = Check(kind="icontains", value=word, negated=negated)
        items.append(Item(id=slug(word), requirement=check_in_words(check), check=check))
    id, text = (
        ("none-of", "Holds none of the words") if negated else ("keywords", "Holds every keyword")
    )
    return Rubric(criteria=(checklist(id, items, text),), threshold=ONE, floor=ZERO)


def pytest_rubric(test_file: str) -> Rubric:
    criterion = check_criterion(Check(kind="pytest", value=test_file), id="tests")
    return Rubric(criteria=(criterion,), threshold=ONE, floor=ZERO)


def scored_rubric(text: str, threshold: Fraction) -> Rubric:
    """A judge gives a score from 0 to 1; it passes from the threshold on."""
    return Rubric(criteria=(scaled("rubric", text, FROM_0_TO_1),), threshold=threshold, floor=ZERO)


def fixture_problem(base: Path, name: str) -> str | None:
    """Why this is not a test file of the suite: it must be a real file in the real folder
    `fixtures` next to it.
    """
    if not name.startswith(f"{FIXTURES}/"):
        return f"`test_file` is `{name}`, but must start with {FIXTURES}/"
    if "\0" in name or ".." in name.split("/"):
        return f"`test_file` is {name!r}, which leads out of {FIXTURES}/"
    try:
        folder = base.resolve() / FIXTURES
        real = (base / name).resolve(strict=True)
        if not real.is_relative_to(folder):
            return f"`test_file` is `{name}`, which leads out of {FIXTURES}/"
        is_file = stat.S_ISREG(real.stat().st_mode)
    except FileNotFoundError:
        return f"file `{name}` not found next to the suite"
    except (OSError, RuntimeError, ValueError) as error:
        return f"`{name}` cannot be read: {getattr(error, 'strerror', None) or error}"
    return None if is_file else f"`{name}` is not a file"


def _with_text_keys(value: Any) -> Any:
    """The mapping with a text for every key, as JSON would have it."""
    if isinstance(value, Mapping):
        return {str(key): _with_text_keys(entry) for key, entry in value.items()}
    return [_with_text_keys(entry) for entry in value] if isinstance(value, list) else value


# ----------------------------------------------------------------------------------------------------
# specifications


def read_skill_spec(document: Document) -> ForeignRubric:
    """What a specification of a skill says about quality: a weighted rubric."""
    reading = FileReading(document.marked)
    reading.note(*FORMATS.defaults("skill-spec"))
    top = reading.at()
    criteria = _quality(top)
    title = top.text("name", "purpose")
    if any(
        key in top
        for key in words("purpose inputs outputs domain_knowledge reference_skills tasks")
    ):
        reading.note(NOTES["only-quality"])
    _note_extra(top, TABLES["spec"], "the specification")
    if not criteria and not reading.problems:
        top.problem("this specification has no `quality_criteria`, so nothing can be judged by it")
    reading.finish()
    rubric = Rubric(criteria=tuple(criteria), title=title.strip() if title else "", floor=ZERO)
    return reading.rubric_source(rubric, "skill-spec")


def _quality(top: FileEntry) -> list[Criterion]:
    found: dict[str, Criterion] = {}
    for entry in top.mappings("quality_criteria", TABLES["quality"]):
        name = _filled(entry, "name", "name what is judged")
        text = _filled(entry, "description", "say what is asked")
        weight = entry.weight("weight")
        if name in found:
            entry.problem(f"two criteria have the name `{name}`", "name")
        elif name and text:
            found[name] = scaled(name, text, FROM_0_TO_1, weight=weight)
    if found and not any(criterion.weight for criterion in found.values()):
        top.reading.problem(
            "the weights of these criteria sum to 0", ("quality_criteria",), at_key=True
        )
    return list(found.values())


def read_spec_with_tasks(document: Document) -> SuiteSource:
    """A specification that has tasks too: each is judged as it says, else by what the specification
    says about quality.
    """
    reading = FileReading(document.marked, "tasks", "task")
    reading.note(*FORMATS.defaults("task-suite"), *FORMATS.defaults("skill-spec"))
    top = reading.at()
    skill = _filled(top, "name", "name the skill")
    tasks = _Tasks(reading, document, _quality(top))
    tasks.read(top)
    _note_extra(top, TABLES["spec"], "the specification")
    reading.finish()
    suite = Suite(cases=tasks.cases.all(), title=skill or "", skill_id=skill)
    return reading.suite_source(document.path, "skill-spec", suite, tasks.cases, tasks.files)


# ----------------------------------------------------------------------------------------------------
# what they look like


def _has_tasks(document: Document) -> bool:
    tasks = document.value.get("tasks") if isinstance(document.value, dict) else None
    return isinstance(tasks, list) and any(
        isinstance(task, dict) and "prompt" in task for task in tasks
    )


def _signs_of_suite(document: Document) -> int:
    if document.is_lines or "quality_criteria" in document.keys:
        return 0
    if "skill_id" in document.keys and document.keys & {"tasks", "version"}:
        return 100
    tasks = document.mapping.get("tasks")
    entries = [task for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
    return 80 if any(isinstance(task.get("judge"), dict) for task in entries) else 0


def _signs_of_spec(document: Document) -> int:
    is_spec = not document.is_lines and {"quality_criteria", "purpose"} <= document.keys
    return 90 if is_spec and not _has_tasks(document) else 0


def _signs_of_spec_with_tasks(document: Document) -> int:
    return (
        90
        if not document.is_lines and "quality_criteria" in document.keys and _has_tasks(document)
        else 0
    )


READERS: tuple[Reader, ...] = (
    FORMATS.reader("task-suite", _signs_of_suite, read_task_suite),
    FORMATS.reader("skill-spec", _signs_of_spec, read_skill_spec),
    FORMATS.reader("skill-spec-tasks", _signs_of_spec_with_tasks, read_spec_with_tasks),
)
