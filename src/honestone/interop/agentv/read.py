"""Whole AgentV files: suites in every dialect (YAML, or JSON lines with the YAML file next to it),
rubrics without cases, and ranges for graders' scores.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from honestone.core.errors import FileError, UsageError
from honestone.core.judging.rubric import Criterion
from honestone.core.suite.case import Case, Expect, Message, Suite, TargetSpec
from honestone.core.suite.dependencies import wrong_dependencies
from honestone.formats.source import SuiteSource
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.marked import Marked, read_marked
from honestone.formats.syntax.nodes import moved
from honestone.formats.syntax.reader import (
    Cases,
    FileEntry,
    FileReading,
    Steps,
    did_you_mean,
    shown,
)
from honestone.interop.agentv import cases as case_reading
from honestone.interop.agentv import dialect as dialects
from honestone.interop.agentv.case_files import cases_elsewhere
from honestone.interop.agentv.dialect import FORMATS, TABLES, keys_of
from honestone.interop.agentv.extensions import read_extensions
from honestone.interop.agentv.lone_rubrics import read_lone_rubric, signs_of_rubric
from honestone.interop.agentv.places import read_place
from honestone.interop.agentv.prompts import prompts_of
from honestone.interop.agentv.targets import (
    is_targets_file,
    refuse_targets,
    targets_file,
    use_in,
    use_of,
)
from honestone.interop.agentv.templates import reading_of
from honestone.interop.agentv.text import NO_VARIABLES, Texts, Variables
from honestone.interop.reader import Reader


class _File:
    """One reading: the reading of the file itself, and those of the rows or files with its cases."""

    def __init__(
        self,
        document: Document,
        reading: FileReading,
        dialect: dialects.Dialect,
        texts: Texts | None = None,
    ) -> None:
        self.document, self.reading, self.dialect = document, reading, dialect
        self.texts = texts or Texts(document.path.parent)
        self.targets = case_reading.Targets()
        self.others: list[FileReading] = []
        self.shared = case_reading.Shared(dialect=dialect, texts=self.texts, merges=dialect.merges)


def read_suite_file(document: Document) -> SuiteSource:
    """An AgentV suite. Raises FileError, or SourceErrors with all that is wrong."""
    if document.is_lines:
        return _read_lines(document, _of_same_stem(document.path, (".yaml", ".yml")))
    rows = _of_same_stem(document.path, (".jsonl", ".ndjson"))
    if rows is not None and not any(key in document.keys for key in dialects.CASE_LISTS):
        raise UsageError(
            "this file says what holds for all cases, but has none itself",
            place=document.marked.at(()),
            hint=f"the cases are in the rows next to it, which read it too: name {rows.name}",
        )
    dialect = dialects.dialect_of(document.value)
    if dialect is None:
        document.marked.at(())  # raises the reading error, when there is one
        raise UsageError("this is not an AgentV file", place=document.marked.at(()))
    texts = Texts(document.path.parent)
    file = _File(document, _with_default_test(document.marked, texts), dialect, texts)
    top = file.reading.at()
    file.shared = _shared(file, top)
    return _finish(file, list(_own_cases(file, top)))


def _with_default_test(marked: Marked, texts: Texts) -> FileReading:
    """A reading of a file with its default test from the file that it names instead, as
    `file://FILE` or `ref://NAME`.
    """
    name = marked.value.get("default_test") if isinstance(marked.value, dict) else None
    if not isinstance(name, str):
        return reading_of(marked)
    wrong: FileError | None = None
    moves: list[str] = []
    try:
        path = texts.resolve(_file_of_ref(name.strip(), texts))
        marked = marked.with_node(("default_test",), moved(read_marked(path).root, str(path)))
        texts.files.append(path)
        if path.parent.resolve() != texts.folder.resolve():
            moves.append(f"paths in `{name}` start at the folder of the file that names it")
    except FileError as error:
        wrong = error
    reading = reading_of(marked)
    reading.note(*moves)
    if wrong is not None:
        reading.problem(
            f"the file of `default_test` cannot be read: {wrong.message}",
            ("default_test",),
            wrong.hint,
        )
    return reading


_REF: Final = "ref://"
_CONFIG: Final = ".agentv/config.yaml"


def _file_of_ref(name: str, texts: Texts) -> str:
    """The file that `ref://NAME` stands for: `refs` of AgentV's configuration has it. Raises
    FileError.
    """
    if not name.startswith(_REF):
        return name
    path = texts.resolve(_CONFIG)
    config = read_marked(path).value
    refs = config.get("refs") if isinstance(config, dict) else None
    found = refs.get(name.removeprefix(_REF)) if isinstance(refs, dict) else None
    if not isinstance(found, str):
        raise FileError(
            f"{_CONFIG} has no reference `{name.removeprefix(_REF)}`",
            hint="write it there, under `refs`",
        )
    texts.files.append(path)
    return found


def _of_same_stem(path: Path, endings: tuple[str, ...]) -> Path | None:
    """The file of the same stem with one of these endings."""
    return next(
        (
            there
            for ending in endings
            if (there := path.with_suffix(ending)) != path and there.is_file()
        ),
        None,
    )


def _read_lines(document: Document, sidecar: Path | None) -> SuiteSource:
    """Each row a case; a YAML file of the same stem says what holds for all."""
    marked = document.rows[0].marked if sidecar is None else Document.of(sidecar).marked
    above = marked.value if sidecar is not None and isinstance(marked.value, dict) else {}
    rows = document.rows
    dialect = dialects.dialect_of_row(
        rows[0].marked.value if isinstance(rows[0].marked.value, dict) else {}, above
    )
    file = _File(document, reading_of(marked), dialect)
    merges = dialect.merges and not any(
        key in row.marked.value for row in rows for key in ("expected_outcome", "outcome")
    )
    if sidecar is not None:
        top = file.reading.at()
        if top.is_mapping:
            file.shared = _shared(file, top)
        else:
            top.problem(f"the file next to JSON lines must be a mapping, not {shown(top.value)}")
        file.texts.files.append(sidecar)
    file.shared = replace(file.shared, merges=merges)
    file.others += [reading_of(row.marked) for row in rows]
    cases = [
        read
        for number, reading in enumerate(file.others, 1)
        for read in _case(reading.at(), number, file)
    ]
    return _finish(file, cases)


# ------------------------------------------------------------------------------------------------
# what holds for all


def _shared(file: _File, top: FileEntry) -> case_reading.Shared:
    """What the file says for all cases."""
    top.read(keys_of(top, "file", file.dialect))
    running = case_reading.Running(
        threshold=case_reading.top_threshold(top, file.dialect),
        timeout=top.seconds("timeout_seconds"),
    )
    graders = [top]
    concurrency = None
    if (execution := top.mapping("execution", TABLES["file-execution"])) is not None:
        running = running.over(case_reading.read_execution(execution, file.targets))
        concurrency = execution.number("workers", "max_concurrency", low=1, is_whole=True)
        graders.append(execution)
    if (options := top.mapping("evaluate_options", TABLES["options"])) is not None:
        running = running.over(case_reading.read_options(options))
        concurrency = options.number("max_concurrency", low=1, is_whole=True) or concurrency
    file.targets.take(top, "target", "providers")
    if isinstance(top.value.get("targets"), list):
        file.targets.take(top, "targets")
    system: tuple[Message, ...] = ()
    if (defaults := top.mapping("defaults", TABLES["defaults-of-file"])) is not None:
        file.targets.take(defaults, "provider", "target")
        instruction = defaults.text("system_message")
        system = (Message("system", instruction),) if instruction is not None else ()
    values, more = _default_test(file, top)
    for default in more:
        running = running.over(
            case_reading.Running(threshold=default.number("threshold", low=0, high=1))
        )
    title, description = top.text("name", "dataset") or "", top.text("description") or ""
    return replace(
        file.shared,
        title=title or description.strip().split("\n")[0],
        concurrency=None if concurrency is None else int(concurrency),
        merges=file.dialect.merges and "tests" in top,
        running=running,
        graders=(*graders, *more),
        prompts=prompts_of(top, file.texts) if "prompts" in top else (),
        values=values,
        options=more[0].mapping("options", TABLES["default-options"]) if more else None,
        messages=(*system, *(file.texts.messages(top, "input") if "input" in top else ())),
        input_files=tuple((top, name) for name in top.texts("input_files") or ()),
        place=read_place(top, file.texts),
        extensions=read_extensions(top, file.texts),
    )


def _default_test(file: _File, top: FileEntry) -> tuple[Variables, list[FileEntry]]:
    """`default_test`: variables and graders of all cases."""
    if isinstance(top.raw("default_test"), str):  # its file cannot be read, which was reported
        return NO_VARIABLES, []
    here = top.mapping("default_test", TABLES["default-test"])
    if here is None:
        return NO_VARIABLES, []
    file.targets.take(here, "provider", "providers")
    return Variables(here.data("vars")), [here]


# -----------------------------------------------------------------------------------------------------------
# cases


_Read: TypeAlias = tuple[Case, FileEntry]


def _case(take: FileEntry, number: int, file: _File) -> Iterator[_Read]:
    for case in case_reading.read_cases(take, file.shared, number, file.targets):
        yield case, take


def _own_cases(file: _File, top: FileEntry) -> Iterator[_Read]:
    key = next((key for key in dialects.CASE_LISTS if key in top), None)
    if key is None:
        hint = "an AgentV file lists them under `tests` (earlier `evalcases`)"
        top.problem("this file has no cases", hint=hint)
        return
    value = top.value[key]
    path: Steps = (*top.path, key)
    if isinstance(value, str):
        yield from _cases_elsewhere(file, path, value, 1)
        return
    if not isinstance(value, list) or not value:
        what = f"must be a list of cases, not {shown(value)}" if value else "holds no case"
        file.reading.problem(f"`{key}` {what}", path)
        return
    number = 1
    for index, entry in enumerate(value):
        here: Steps = (*path, index)
        if isinstance(entry, str):
            read = list(_cases_elsewhere(file, here, entry, number))
        elif isinstance(entry, dict) and "include" in entry:
            file.reading.loss(
                "cases taken from another suite are not read", here, "run that file by itself"
            )
            read = []
        else:
            read = list(_case(FileEntry(file.reading, here), number, file))
        number += max(len(read), 1)
        yield from read


def _cases_elsewhere(file: _File, path: Steps, name: str, number: int) -> Iterator[_Read]:
    found = cases_elsewhere(file.reading, path, name, file.texts)
    file.others += found.readings
    for offset, take in enumerate(found.cases):
        yield from _case(take, number + offset, file)


# ----------------------------------------------------------------------------------------------------------
# finish


def _finish(file: _File, read: list[_Read]) -> SuiteSource:
    cases, reading = Cases(), file.reading
    for case, take in read:
        if case.id in cases:
            take.problem(
                f"two cases have the id `{case.id}`",
                "id",
                f"the first is at {cases.places[case.id]}",
            )
        cases.setdefault(case.id, case)
        cases.places.setdefault(case.id, take.place)
    _refuse_dependencies(cases, {case.id: take for case, take in read})
    target, target_notes = _target(file.targets.names, file.document.path.parent)
    reading.join(*file.others)
    reading.finish()
    if not cases:
        raise UsageError(
            "no case of this file can be read",
            place=reading.marked.at(()),
            hint=reading.losses[0].message if reading.losses else "a file needs one case at least",
        )
    shared = file.shared
    reading.notes = [
        file.dialect.description,
        _pass_note(file.dialect, shared.running.threshold),
        *target_notes,
        *reading.notes,
    ]
    suite = Suite(
        cases=cases.all(), title=shared.title, target=target, concurrency=shared.concurrency
    )
    return reading.suite_source(
        file.document.path, file.dialect.name, suite, cases, file.texts.files
    )


def _refuse_dependencies(cases: Cases, takes: Mapping[str, FileEntry]) -> None:
    """Cases that wait for one that is not there, or for one another, are problems at their place."""
    for id, why in wrong_dependencies({id: case.depends_on for id, case in cases.items()}):
        takes[id].problem(f"case `{id}`: {why}", "depends_on")


def _pass_note(dialect: dialects.Dialect, bar: Any) -> str:
    if bar is None:
        return f"dialect {dialect.name}: a case passes at {float(dialects.PASS_MARK * 100):g}, without a floor"
    return f"a case passes at {float(bar * 100):g} (the file's threshold), without a floor"


def _target(names: list[str], base: Path) -> tuple[TargetSpec, list[str]]:
    """The one target of the file, when `--target` can say it, or the project's list of targets."""
    known = [use for name in names if (use := use_of(name)) is not None]
    if len(names) == 1 and known:
        return TargetSpec(use=known[0]), []
    project = targets_file(base) if len(names) == 1 else None
    if project is not None:
        shown_name = os.path.relpath(project, base)
        use = use_in(project, names[0])
        if use is not None:
            return TargetSpec(use=use), [f"the target `{names[0]}` of `{shown_name}` is `{use}`"]
        why = f"`{shown_name}` has none of this name that honestone runs"
        return TargetSpec(), [f"the file's target `{names[0]}`: {why}; --target names another"]
    listed = ", ".join(f"`{name}`" for name in names)
    what = "target" if len(names) == 1 else "targets"
    return TargetSpec(), [
        f"the file's {what} {listed}: name what to run with --target"
    ] if names else []


# --------------------------------------------------------------------------------------- grader
# scores

Range = tuple[Fraction, Fraction]


def is_scores_file(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and "test_id" in one and "range" in one for one in value)
    )


def read_scores(document: Document) -> SuiteSource:
    """The suite next to a file of grader scores, with the cases it names and their ranges."""
    reading = reading_of(document.marked)
    path = _suite_of(document)
    source = read_suite_file(Document.of(path))
    cases = {case.id: case for case in source.suite.cases}
    found: dict[str, dict[str, Range]] = {}
    for index in range(len(reading.marked.value)):
        for id, grader, range_ in _entry(FileEntry(reading, (index,)), cases):
            if grader in found.setdefault(id, {}):
                reading.problem(f"`{grader}` of `{id}` has two ranges", (index,))
            found[id][grader] = range_
    reading.finish()
    expected = tuple(replace(cases[id], expect=_expect(ranges)) for id, ranges in found.items())
    return replace(
        source,
        suite=replace(source.suite, cases=expected),
        files=(document.path, *source.files),
        notes=(
            *source.notes,
            *reading.notes,
            f"the scores of the graders are tested: a case passes when they stay in their ranges ({len(expected)} cases of {path.name})",
        ),
        places={case.id: document.marked.at((index,)) for index, case in enumerate(expected)},
    )


def _suite_of(document: Document) -> Path:
    stem = document.path.name.split(".grader-scores")[0]
    names = [f"{stem}{ending}" for ending in (".yaml", ".yml", ".eval.yaml", ".jsonl")]
    for name in names:
        path = document.path.with_name(name)
        if name != document.path.name and path.is_file():
            return path
    raise UsageError(
        "these are ranges for the scores of graders, but the suite they belong to is not there",
        place=document.marked.at(()),
        hint=f"it is looked for next to this file as {names[0]}",
    )


def _entry(take: FileEntry, cases: Mapping[str, Case]) -> Iterator[tuple[str, str, Range]]:
    take.read(TABLES["score"])
    id, grader = take.text("test_id", "eval_id"), take.text("grader", "evaluator")
    range_ = _range(take)
    if id is None or range_ is None:
        return
    if id not in cases:
        hint = did_you_mean(id, cases)
        take.problem(f"the suite has no case `{id}`", "test_id", hint)
        return
    yield id, "score" if grader is None else _criterion(take, grader, cases[id]), range_


def _range(take: FileEntry) -> Range | None:
    value = take.raw("range")
    here = take.below("range")
    if not isinstance(value, dict):
        take.reading.problem(
            f"`range` must be a mapping with `min` and `max`, not {shown(value)}", here.path
        )
        return None
    here.read(TABLES["ends"])
    low, high = here.number("min", low=0, high=1), here.number("max", low=0, high=1)
    low, high = low if low is not None else Fraction(0), high if high is not None else Fraction(1)
    if low > high:
        here.problem("`min` is above `max`")
    return low, high


def _criterion(take: FileEntry, grader: str, case: Case) -> str:
    """The criterion that a grader became: by name, else the one that judges mark."""
    top = case.rubric.criteria
    if any(one.id == grader for one in top):
        return grader
    judged = [one.id for one in top if _asks_judges(one)]
    path: Steps = (*take.path, "grader")
    if judged and grader.replace("_", "-") in (
        "rubrics",
        "rubric",
        "llm-rubric",
        "llm-grader",
        "llm-judge",
    ):
        if judged[0] != grader:
            take.note(f"the ranges of the grader `{grader}` are those of `{judged[0]}`")
        return judged[0]
    hint = did_you_mean(grader, [one.id for one in top]) or "it has " + ", ".join(
        f"`{one.id}`" for one in top
    )
    take.reading.problem(f"case `{case.id}` has no grader `{grader}`", path, hint)
    return grader


def _asks_judges(criterion: Criterion) -> bool:
    return any(item.check is None for node, _ in criterion.walk() for item in node.items)


def _expect(ranges: Mapping[str, Range]) -> Expect:
    return Expect(
        score=ranges.get("score"),
        criteria={name: ends for name, ends in ranges.items() if name != "score"},
    )


# ----------------------------------------------------------------------------------------- the
# readers


def _signs(dialect: dialects.Dialect) -> Callable[[Document], int]:
    def signs(document: Document) -> int:
        if document.is_lines or dialects.dialect_of(document.value) is not dialect:
            return 0
        return dialects.likeness(document.value)

    return signs


def _signs_of_lines(document: Document) -> int:
    return dialects.likeness_of_row(document.value) if document.is_lines else 0


def _signs_of_sidecar(document: Document) -> int:
    """A YAML file without cases with its cases in the JSON lines file of the same stem."""
    if document.is_lines or not document.keys & {
        "dataset",
        "execution",
        "evaluator",
        "assert",
        "assertions",
    }:
        return 0
    if document.keys & {
        "cases",
        "tests",
        "evalcases",
        "eval_cases",
        "criteria",
        "tasks",
        "prompts",
    }:
        return 0
    return 80 if document.path.with_suffix(".jsonl").is_file() else 0


READERS: tuple[Reader, ...] = (
    *(
        FORMATS.reader(dialect.name, _signs(dialect), read_suite_file)
        for dialect in dialects.DIALECTS
    ),
    FORMATS.reader(
        "agentv-jsonl",
        lambda document: max(_signs_of_lines(document), _signs_of_sidecar(document)),
        read_suite_file,
    ),
    FORMATS.reader("agentv-rubric", signs_of_rubric, read_lone_rubric),
    FORMATS.reader(
        "agentv-targets",
        lambda document: 90 if is_targets_file(document.value) else 0,
        refuse_targets,
    ),
    FORMATS.reader(
        "agentv-grader-scores",
        lambda document: 95 if not document.is_lines and is_scores_file(document.value) else 0,
        read_scores,
    ),
)
