"""improvement-evaluator's task suites (`task_suite.yaml`, version 1.0), and its skill specifications."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from honestone.core.numbers import ONE, ZERO
from honestone.core.rubric import Check, Criterion, Item, Rubric, slug
from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.check_words import check_in_words
from honestone.formats.document import Document
from honestone.formats.fields import near
from honestone.formats.suite_fields import MAX_SECONDS
from honestone.formats.suite_file import rubric_within
from honestone.interop.base import EntryWalk, ForeignRubric, KnownKey, Reader, SuiteSource, Taking, Walk, shown
from honestone.interop.criteria import FROM_0_TO_1, scaled

VERSION: Final = "1.0"
KINDS: Final = ("contains", "not-contains", "pytest", "llm-rubric", "rubric")
PASS_THRESHOLD: Final = Fraction(7, 10)
TIMEOUT: Final = 300
FIXTURES: Final = "fixtures"

DEFAULTS: Final = (
    "task suite: pass_threshold 0.7 and timeout_seconds 300 where a task does not say them",
    "task suite: keyword and pytest tasks pass at 100; no criterion has a floor",
)
SPEC_DEFAULTS: Final = ("skill specification: threshold 70, no floor",)

_SUITE_KEYS: Final = ("skill_id", "version", "description", "tasks")
_TASK_KEYS: Final = ("id", "description", "prompt", "judge", "timeout_seconds")


def read_task_suite(document: Document) -> SuiteSource:
    """Raises SourceErrors with everything that is wrong."""
    walk = EntryWalk(document.marked, "tasks", "task")
    walk.notes += DEFAULTS
    top = walk.at()
    skill = _filled(top, "skill_id", "name the skill that the suite is for")
    _version(walk, top)
    title = _if_text(top, "description")
    top.taken.add("tasks")
    tasks = _Tasks(walk, document)
    cases = tasks.read(top)
    _note_extra(walk, top, _SUITE_KEYS, "the suite")
    walk.finish()
    assert skill is not None
    return SuiteSource(
        suite=Suite(cases=tuple(cases), title=title or skill, skill_id=skill),
        dialect="task-suite-1.0",
        base=document.path.parent,
        notes=tuple(walk.notes),
        losses=tuple(walk.losses),
        files=(document.path, *dict.fromkeys(tasks.files)),
        places={case.id: walk.marked.at(("tasks", index)) for index, case in enumerate(cases)},
    )


def _filled(taking: Taking, key: str, hint: str) -> str | None:
    """A text that has to be there and has to say something."""
    text = taking.text(key)
    if text is None and not (key in taking and not isinstance(taking.value[key], str)):
        is_there = isinstance(taking.value, dict) and key in taking.value
        taking.walk.problem(
            f"`{key}` is empty" if is_there else f"`{key}` is missing",
            (*taking.path, key) if is_there else taking.path,
            hint,
        )
    return text.strip() if text else None


def _if_text(taking: Taking, key: str) -> str | None:
    """Words for people, which the format leaves free."""
    value = taking.raw(key)
    return (value.strip() or None) if isinstance(value, str) else None


def _version(walk: Walk, top: Taking) -> None:
    """The text "1.0"; the number 1.0 says the same, though the tool itself refuses it."""
    value = top.raw("version")
    if value is None:
        walk.problem("`version` is missing", (), f'write version: "{VERSION}"')
    elif isinstance(value, int | float) and not isinstance(value, bool) and value == 1:
        walk.note(f'version is a number; read as the text "{VERSION}" (improvement-evaluator itself wants quotes)')
    elif value != VERSION:
        walk.problem(f'`version` is {shown(value)}, but must be "{VERSION}"', ("version",))


def _note_extra(walk: Walk, taking: Taking, known: tuple[str, ...], where: str) -> None:
    """Extra keys are allowed in this format; one that was probably meant to be another is said to be."""
    for key in taking.value if isinstance(taking.value, dict) else ():
        if key not in known and key not in taking.taken:
            meant = near(str(key), [name for name in known if name not in taking])
            place = walk.marked.key_at((*taking.path, key))
            walk.note(
                f"{place}: `{key}` in {where} is no key of the format and changes nothing"
                + (f"; did you mean `{meant}`?" if meant else "")
            )


class _Tasks:
    """The tasks of a suite, and the files that they name."""

    def __init__(self, walk: Walk, document: Document) -> None:
        self.walk = walk
        self.document = document
        self.files: list[Path] = []
        self.first: dict[str, int] = {}

    def read(self, top: Taking) -> list[Case]:
        value = top.value.get("tasks") if top.is_mapping else None
        if not isinstance(value, list) or not value:
            what = (
                "is missing" if value is None else "is empty" if value == [] else f"must be a list, not {shown(value)}"
            )
            self.walk.problem(
                f"`tasks` {what}", ("tasks",) if value is not None else (), "a suite has one task at least"
            )
            return []
        cases = [self.task(Taking(self.walk, ("tasks", index)), index) for index in range(len(value))]
        return [case for case in cases if case is not None]

    def task(self, task: Taking, index: int) -> Case | None:
        if not task.require_mapping("a task"):
            return None
        id = _filled(task, "id", "name the task: id: finds-the-bug")
        self._no_id_twice(id, task, index)
        prompt = _filled(task, "prompt", "say what the agent is asked")
        description = _if_text(task, "description")
        timeout = self._timeout(task)
        rubric = self._judge(task)
        _note_extra(self.walk, task, _TASK_KEYS, f"task `{id}`")
        if id is None or prompt is None or rubric is None:
            return None
        return Case(
            id=id,
            rubric=rubric,
            messages=(Message("user", str(task.value["prompt"]) if isinstance(task.value["prompt"], str) else prompt),),
            timeout=timeout,
            description=description,
            metadata={str(key): _plain(value) for key, value in task.value.items() if key not in _TASK_KEYS},
        )

    def _no_id_twice(self, id: str | None, task: Taking, index: int) -> None:
        if id is None:
            return
        if id in self.first:
            line = self.walk.marked.position(("tasks", self.first[id], "id"))[0]
            self.walk.problem(f"two tasks have this id, the first in line {line}", (*task.path, "id"))
        if not id.isprintable():
            self.walk.problem("`id` holds characters that cannot be shown", (*task.path, "id"))
        self.first.setdefault(id, index)

    def _timeout(self, task: Taking) -> float:
        seconds = task.number("timeout_seconds", high=MAX_SECONDS)
        if seconds is not None and seconds <= 0:
            self.walk.problem("`timeout_seconds` must be above 0", (*task.path, "timeout_seconds"))
        return float(seconds) if seconds is not None else TIMEOUT

    # ------------------------------------------------------------------------------------------ judges

    def _judge(self, task: Taking) -> Rubric | None:
        if "judge" not in task:
            self.walk.problem(
                "`judge` is missing", task.path, "say how it is judged: {type: contains, expected: [word]}"
            )
            return None
        judge = task.below("judge")
        if not judge.require_mapping("`judge`"):
            return None
        kind = judge.choice("type", KINDS)
        if kind is None:
            if "type" not in judge:
                self.walk.problem("`type` of `judge` is missing", judge.path, f"one of: {', '.join(KINDS)}")
            return None
        rubric = {
            "contains": self._keywords,
            "not-contains": self._keywords,
            "pytest": self._pytest,
            "llm-rubric": self._llm_rubric,
            "rubric": self._rubric,
        }[kind](judge)
        _note_extra(self.walk, judge, (), f"`judge` of task `{task.value.get('id')}`")
        return rubric

    def _keywords(self, judge: Taking) -> Rubric | None:
        """Score: found of all. It passes only with all of them, wherever they stand and in whatever case."""
        negated = judge.value["type"] == "not-contains"
        words = judge.raw("expected")
        here = (*judge.path, "expected")
        if not isinstance(words, list) or not words:
            self.walk.problem(
                "`expected` must be a list of one word at least", here if "expected" in judge else judge.path
            )
            return None
        wrong = [index for index, word in enumerate(words) if not isinstance(word, str) or not word]
        for index in wrong:
            self.walk.problem(
                f"`expected` must hold texts, not {shown(words[index])}",
                (*here, index),
                None
                if isinstance(words[index], str)
                else f'put it in quotes: "{self.walk.marked.raw((*here, index))}"',
            )
        return None if wrong else keywords_rubric(words, negated=negated)

    def _pytest(self, judge: Taking) -> Rubric | None:
        name = judge.text("test_file")
        here = (*judge.path, "test_file")
        if name is None:
            self.walk.problem(
                "`test_file` is missing", judge.path, f"name a test beside the suite: {FIXTURES}/test_it.py"
            )
            return None
        problem = fixture_problem(self.document.path.parent, name)
        if problem:
            self.walk.problem(problem, here, f"tests stand beside the suite, in the folder {FIXTURES}/")
            return None
        self.files.append(self.document.path.parent / name)
        return pytest_rubric(name)

    def _llm_rubric(self, judge: Taking) -> Rubric | None:
        text = _filled(judge, "rubric", "say what a good answer has")
        threshold = judge.number("pass_threshold", low=0, high=1)
        if text is None or ("pass_threshold" in judge and threshold is None):
            return None
        return scored_rubric(text, PASS_THRESHOLD if threshold is None else threshold)

    def _rubric(self, judge: Taking) -> Rubric | None:
        """Ours: a whole rubric as the judge of a task."""
        if "rubric" not in judge:
            self.walk.problem("`rubric` is missing", judge.path, "write criteria, or {file: PATH}")
            return None
        judge.taken.add("rubric")
        found = rubric_within(self.document, (*judge.path, "rubric"))
        self.walk.problems += found.problems
        self.walk.losses += found.losses
        for note in found.notes:
            self.walk.note(note)
        self.files += found.files
        return found.rubric


def keywords_rubric(words: list[str], *, negated: bool = False) -> Rubric:
    items = []
    used: set[str] = set()
    for word in words:
        check = Check(kind="icontains", value=word, negated=negated)
        first = slug(word)
        id, number = first, 2
        while id in used:
            id, number = f"{first}-{number}", number + 1
        used.add(id)
        items.append(Item(id=id, requirement=check_in_words(check), check=check))
    id, text = ("none-of", "Holds none of the words") if negated else ("keywords", "Holds every keyword")
    return Rubric(criteria=(Criterion(id=id, requirement=text, items=tuple(items)),), threshold=ONE, floor=ZERO)


def pytest_rubric(test_file: str) -> Rubric:
    check = Check(kind="pytest", value=test_file)
    item = Item(id="tests", requirement=check_in_words(check), check=check, whole=True)
    return Rubric(
        criteria=(Criterion(id="tests", requirement=item.requirement, items=(item,)),), threshold=ONE, floor=ZERO
    )


def scored_rubric(text: str, threshold: Fraction) -> Rubric:
    """A judge gives a score from 0 to 1; it passes from the threshold on."""
    return Rubric(criteria=(scaled("rubric", text, FROM_0_TO_1),), threshold=threshold, floor=ZERO)


def fixture_problem(base: Path, name: str) -> str | None:
    """Why this is no test file of the suite: it has to be a real file in the real folder `fixtures` beside it."""
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
        return f"there is no file `{name}` beside the suite"
    except (OSError, RuntimeError, ValueError) as error:
        return f"`{name}` cannot be read: {getattr(error, 'strerror', None) or error}"
    return None if is_file else f"`{name}` is not a file"


def _plain(value: Any) -> Any:
    """With text for every key, as JSON would have it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


# ---------------------------------------------------------------------------------------------------- specifications

_SPEC_KEYS: Final = (
    "name",
    "purpose",
    "description",
    "inputs",
    "outputs",
    "quality_criteria",
    "domain_knowledge",
    "reference_skills",
    "tasks",
)


def read_skill_spec(document: Document) -> ForeignRubric:
    """What a specification of a skill says about quality: a weighted rubric."""
    walk = Walk(document.marked)
    walk.notes += SPEC_DEFAULTS
    top = walk.at()
    criteria = _quality(walk, top)
    title = top.text("name", "purpose")
    top.ignore(
        "purpose",
        "inputs",
        "outputs",
        "domain_knowledge",
        "reference_skills",
        "tasks",
        why="only `quality_criteria` says how a skill is judged; the rest of a specification says what it is made from",
    )
    top.ignore(*_SPEC_KEYS)
    _note_extra(walk, top, _SPEC_KEYS, "the specification")
    if not criteria and not walk.problems:
        walk.problem("this specification has no `quality_criteria`, so nothing can be judged by it", ())
    walk.finish()
    return ForeignRubric(
        rubric=Rubric(criteria=tuple(criteria), title=title.strip() if title else "", floor=ZERO),
        dialect="skill-spec",
        marked=document.marked,
        notes=tuple(walk.notes),
        losses=tuple(walk.losses),
    )


def _quality(walk: Walk, top: Taking) -> list[Criterion]:
    found: list[Criterion] = []
    for entry in top.each("quality_criteria", "criteria"):
        if not entry.require_mapping("a criterion"):
            continue
        name = _filled(entry, "name", "name what is judged")
        text = _filled(entry, "description", "say what is asked")
        weight = entry.number("weight", low=0)
        entry.close("a quality criterion")
        if name and text and name in {criterion.id for criterion in found}:
            walk.problem(f"two criteria have the name `{name}`", (*entry.path, "name"))
        elif name and text:
            found.append(scaled(name, text, FROM_0_TO_1, weight=ONE if weight is None else weight))
    if found and not any(criterion.weight for criterion in found):
        walk.problem("the weights of these criteria sum to 0", ("quality_criteria",), at_key=True)
    return found


def read_spec_with_tasks(document: Document) -> SuiteSource:
    """A specification that has tasks too: each is judged as it says, else by what the specification says about quality."""
    walk = EntryWalk(document.marked, "tasks", "task")
    walk.notes += (*DEFAULTS, *SPEC_DEFAULTS)
    top = walk.at()
    skill = _filled(top, "name", "name the skill")
    quality = _quality(walk, top)
    top.ignore(*_SPEC_KEYS)
    tasks = _SpecTasks(walk, document, quality)
    cases = tasks.read(top)
    _note_extra(walk, top, _SPEC_KEYS, "the specification")
    walk.finish()
    return SuiteSource(
        suite=Suite(cases=tuple(cases), title=skill or "", skill_id=skill),
        dialect="skill-spec",
        base=document.path.parent,
        notes=tuple(walk.notes),
        losses=tuple(walk.losses),
        files=(document.path, *dict.fromkeys(tasks.files)),
        places={case.id: walk.marked.at(("tasks", index)) for index, case in enumerate(cases)},
    )


class _SpecTasks(_Tasks):
    def __init__(self, walk: Walk, document: Document, quality: list[Criterion]) -> None:
        super().__init__(walk, document)
        self.quality = quality

    def _judge(self, task: Taking) -> Rubric | None:
        if "judge" in task or not self.quality:
            return super()._judge(task)
        self.walk.note("tasks without a `judge` are judged by the specification's `quality_criteria`")
        return Rubric(criteria=tuple(self.quality), floor=ZERO)


# ---------------------------------------------------------------------------------------------------- what they look like


def _has_tasks(document: Document) -> bool:
    tasks = document.value.get("tasks") if isinstance(document.value, dict) else None
    return isinstance(tasks, list) and any(isinstance(task, dict) and "prompt" in task for task in tasks)


def _signs_of_suite(document: Document) -> int:
    if document.is_lines or "quality_criteria" in document.keys:
        return 0
    if "skill_id" in document.keys and document.keys & {"tasks", "version"}:
        return 95
    tasks = document.value.get("tasks") if isinstance(document.value, dict) else None
    judged = isinstance(tasks, list) and any(
        isinstance(task, dict) and isinstance(task.get("judge"), dict) for task in tasks
    )
    return 80 if judged else 0


def _signs_of_spec(document: Document) -> int:
    is_spec = not document.is_lines and {"quality_criteria", "purpose"} <= document.keys
    return 90 if is_spec and not _has_tasks(document) else 0


def _signs_of_spec_with_tasks(document: Document) -> int:
    return 90 if not document.is_lines and "quality_criteria" in document.keys and _has_tasks(document) else 0


_TASK_DOCS: Final = (
    KnownKey(key="tasks[].id", meaning="the case's id; unique"),
    KnownKey(key="tasks[].prompt", meaning="the case's input"),
    KnownKey(key="tasks[].description", meaning="the case's description"),
    KnownKey(key="tasks[].timeout_seconds", meaning="the case's timeout; 300 without one"),
    KnownKey(
        key="tasks[].judge: contains", meaning="one `icontains` item for each text of `expected`; passes with all"
    ),
    KnownKey(key="tasks[].judge: not-contains", meaning="honestone's own: passes with none of `expected`"),
    KnownKey(
        key="tasks[].judge: pytest",
        meaning="a `pytest` check of `test_file`, which stands in fixtures/ beside the suite; $AI_OUTPUT_FILE is the output",
    ),
    KnownKey(
        key="tasks[].judge: llm-rubric",
        meaning="a judge's score from 0 to 1 by `rubric`; passes from `pass_threshold` on",
    ),
    KnownKey(
        key="tasks[].judge: rubric",
        meaning="honestone's own: `rubric` is a whole rubric, a list of criteria or {file: PATH}",
    ),
)

_SPEC_DOCS: Final = (
    KnownKey(key="name", meaning="the title"),
    KnownKey(key="quality_criteria[]", meaning="criteria by `name`, `description` and `weight`, scored from 0 to 1"),
    KnownKey(key="purpose, inputs, outputs, domain_knowledge, reference_skills", meaning="for people", how="ignored"),
)

READERS: tuple[Reader, ...] = (
    Reader(
        name="task-suite",
        title="a task suite (improvement-evaluator 1.0)",
        gives="suite",
        signs=_signs_of_suite,
        read=read_task_suite,
        keys=(
            KnownKey(key="skill_id", meaning="the skill that the suite is for; its name in results"),
            KnownKey(key="version", meaning='"1.0"; the number 1.0 is read with a note'),
            KnownKey(key="description", meaning="the suite's title"),
            *_TASK_DOCS,
            KnownKey(key="any other key", meaning="noted", how="ignored"),
        ),
        defaults=DEFAULTS,
        looks_like=("skill_id", "version", "tasks", "description"),
        example='skill_id: greeter\nversion: "1.0"\ntasks:\n  - {id: hi, prompt: Greet me, judge: {type: contains, expected: [hello]}}\n',
    ),
    Reader(
        name="skill-spec",
        title="a skill specification (improvement-evaluator)",
        gives="rubric",
        signs=_signs_of_spec,
        read=read_skill_spec,
        keys=_SPEC_DOCS,
        defaults=SPEC_DEFAULTS,
        looks_like=("name", "purpose", "inputs", "outputs", "quality_criteria"),
        example="name: greeter\npurpose: Greets\nquality_criteria:\n  - {name: warmth, description: Sounds warm, weight: 0.5}\n",
    ),
    Reader(
        name="skill-spec-tasks",
        title="a skill specification with tasks (improvement-evaluator)",
        gives="suite",
        signs=_signs_of_spec_with_tasks,
        read=read_spec_with_tasks,
        keys=(*_SPEC_DOCS, *_TASK_DOCS),
        defaults=(*DEFAULTS, *SPEC_DEFAULTS),
        example="name: greeter\npurpose: Greets\nquality_criteria:\n  - {name: warmth, description: Sounds warm}\ntasks:\n  - {id: hi, prompt: Greet me}\n",
    ),
)

__all__ = ["READERS", "fixture_problem", "keywords_rubric", "pytest_rubric", "read_task_suite", "scored_rubric"]
