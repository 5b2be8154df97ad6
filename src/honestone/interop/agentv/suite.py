"""A whole AgentV file (YAML, or JSON lines with the YAML file next to it) as a suite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from honestone.core.errors import UsageError
from honestone.core.suite.case import Case, Suite, TargetSpec
from honestone.formats.document import Document
from honestone.formats.reader import Entry, Reading, Steps, shown
from honestone.formats.source import Loss, SuiteSource
from honestone.interop.agentv.cases import (
    Running,
    Shared,
    Targets,
    cases_of_file,
    read_case,
    read_execution,
    read_options,
    read_place,
)
from honestone.interop.agentv.dialect import CASE_LISTS, PASS_MARK, Dialect, dialect_of, dialect_of_row
from honestone.interop.agentv.keys import DEFAULT_TEST, DEFAULTS_OF_FILE, FILE, FILE_EXECUTION, OPTIONS
from honestone.interop.agentv.targets import use_of
from honestone.interop.agentv.text import Texts


@dataclass(kw_only=True)
class _File:
    """One reading: the reading of the file itself, and those of the rows or files with its cases."""

    document: Document
    reading: Reading
    dialect: Dialect
    texts: Texts
    targets: Targets
    others: list[Reading]

    def joined(self) -> Reading:
        for other in self.others:
            self.reading.join(other)
        self.reading.problems = list({(p.place, p.message): p for p in self.reading.problems}.values())
        return self.reading

    @property
    def losses(self) -> tuple[Loss, ...]:
        return tuple({(loss.place, loss.message): loss for loss in self.reading.losses}.values())


def read_suite_file(document: Document) -> SuiteSource:
    """An AgentV suite. Raises FileError, or SourceErrors with all that is wrong."""
    if document.is_lines:
        return _read_lines(document, _beside(document.path, (".yaml", ".yml")))
    rows = _beside(document.path, (".jsonl", ".ndjson"))
    if rows is not None and not any(key in document.keys for key in CASE_LISTS):
        raise UsageError(
            "this file says what holds for all cases, but has none itself",
            place=document.marked.at(()),
            hint=f"the cases are in the rows next to it, which read it too: name {rows.name}",
        )
    dialect = dialect_of(document.value)
    if dialect is None:
        document.marked.at(())  # raises the reading error, when there is one
        raise UsageError("this is not an AgentV file", place=document.marked.at(()))
    file = _start(document, Reading(document.marked), dialect)
    top = file.reading.at()
    shared, concurrency, title = _shared(file, top)
    cases = list(_own_cases(file, top, shared))
    return _finish(file, shared, cases, concurrency, title)


def _start(document: Document, reading: Reading, dialect: Dialect) -> _File:
    return _File(
        document=document,
        reading=reading,
        dialect=dialect,
        texts=Texts(document.path.parent),
        targets=Targets(),
        others=[],
    )


def _beside(path: Path, endings: tuple[str, ...]) -> Path | None:
    """The file of the same stem with one of these endings."""
    return next((there for ending in endings if (there := path.with_suffix(ending)) != path and there.is_file()), None)


def _read_lines(document: Document, sidecar: Path | None) -> SuiteSource:
    """Each row a case; a YAML file of the same stem says what holds for all."""
    marked = document.rows[0].marked if sidecar is None else Document.of(sidecar).marked
    above = marked.value if sidecar is not None and isinstance(marked.value, dict) else {}
    rows = document.rows
    dialect = dialect_of_row(rows[0].marked.value if isinstance(rows[0].marked.value, dict) else {}, above)
    file = _start(document, Reading(marked) if sidecar is not None else Reading(rows[0].marked), dialect)
    merges = dialect.merges and not any(
        key in row.marked.value for row in rows for key in ("expected_outcome", "outcome")
    )
    shared, concurrency, title = Shared(dialect=dialect, texts=file.texts, merges=merges), None, ""
    if sidecar is not None:
        top = file.reading.at()
        if top.is_mapping:
            shared, concurrency, title = _shared(file, top)
            shared = replace(shared, merges=merges)
        else:
            top.problem(f"the file next to JSON lines must be a mapping, not {shown(top.value)}")
        file.texts.files.append(sidecar)
    cases: list[_Read] = []
    for number, row in enumerate(rows, 1):
        reading = Reading(row.marked)
        file.others.append(reading)
        cases += _case(Entry(reading, ()), shared, number, file)
    return _finish(file, shared, cases, concurrency, title)


# ------------------------------------------------------------------------------------------------ what holds for all


def _shared(file: _File, top: Entry) -> tuple[Shared, int | None, str]:
    """What the file says for all cases, how many run at a time, and its title."""
    top.read(FILE)
    running = Running(threshold=top.number("threshold", low=0, high=1), timeout=_timeout(top))
    graders = [top]
    concurrency = None
    if isinstance(top.value.get("execution"), dict):
        execution = top.below("execution")
        execution.read(FILE_EXECUTION)
        running = running.over(read_execution(execution, file.targets))
        concurrency = execution.number("workers", "max_concurrency", low=1, is_whole=True)
        graders.append(execution)
    elif "execution" in top:
        file.reading.problem(
            f"`execution` must be a mapping, not {shown(top.raw('execution'))}", (*top.path, "execution")
        )
    if isinstance(top.value.get("evaluate_options"), dict):
        options = top.below("evaluate_options")
        options.read(OPTIONS)
        running = running.over(read_options(options))
        concurrency = options.number("max_concurrency", low=1, is_whole=True) or concurrency
    file.targets.take(top, "target", "providers")
    if isinstance(top.value.get("targets"), list):
        file.targets.take(top, "targets")
    _defaults(file, top)
    values, more = _default_test(file, top)
    graders += more
    place = read_place(top)
    messages = file.texts.messages(top, "input") if "input" in top else ()
    files = tuple((top, name) for name in top.texts("input_files") or ())
    title = top.text("name", "dataset") or ""
    description = top.text("description")
    shared = Shared(
        dialect=file.dialect,
        texts=file.texts,
        merges=file.dialect.merges and "tests" in top,
        running=running,
        graders=tuple(graders),
        prompts=top if "prompts" in top else None,
        values=values,
        messages=messages,
        input_files=files,
        **({"place": place} if place is not None else {}),
    )
    return (
        shared,
        None if concurrency is None else int(concurrency),
        title or (description or "").strip().split("\n")[0],
    )


def _timeout(top: Entry) -> float | None:
    seconds = top.number("timeout_seconds", low=0)
    return float(seconds) if seconds else None


def _defaults(file: _File, top: Entry) -> None:
    value = top.raw("defaults")
    if not isinstance(value, dict):
        return
    here = top.below("defaults")
    here.read(DEFAULTS_OF_FILE)
    file.targets.take(here, "provider", "target")


def _default_test(file: _File, top: Entry) -> tuple[dict[str, Any], list[Entry]]:
    """`default_test`: variables and graders of all cases."""
    value = top.raw("default_test")
    if value is None:
        return {}, []
    if not isinstance(value, dict):
        file.reading.loss("`default_test` in a file of its own is not read", (*top.path, "default_test"))
        return {}, []
    here = top.below("default_test")
    here.read(DEFAULT_TEST)
    file.targets.take(here, "provider", "providers")
    values = here.raw("vars")
    return ({str(k): v for k, v in values.items()} if isinstance(values, dict) else {}), [here]


# ----------------------------------------------------------------------------------------------------------- cases


@dataclass(frozen=True, slots=True)
class _Read:
    case: Case
    take: Entry


def _case(take: Entry, shared: Shared, number: int, file: _File) -> Iterator[_Read]:
    case = read_case(take, shared, number, file.targets)
    if case is not None:
        yield _Read(case, take)


def _own_cases(file: _File, top: Entry, shared: Shared) -> Iterator[_Read]:
    key = next((key for key in CASE_LISTS if key in top), None)
    if key is None:
        file.reading.problem(
            "this file has no cases", top.path, "an AgentV file lists them under `tests` (earlier `evalcases`)"
        )
        return
    value = top.value[key]
    path: Steps = (*top.path, key)
    if isinstance(value, str):
        yield from _cases_elsewhere(file, shared, path, value, 1)
        return
    if not isinstance(value, list) or not value:
        what = f"must be a list of cases, not {shown(value)}" if value else "holds no case"
        file.reading.problem(f"`{key}` {what}", path)
        return
    number = 1
    for index, entry in enumerate(value):
        here: Steps = (*path, index)
        if isinstance(entry, str):
            read = list(_cases_elsewhere(file, shared, here, entry, number))
        elif isinstance(entry, dict) and "include" in entry:
            file.reading.loss("cases taken from another suite are not read", here, "run that file by itself")
            read = []
        else:
            read = list(_case(Entry(file.reading, here), shared, number, file))
        number += max(len(read), 1)
        yield from read


def _cases_elsewhere(file: _File, shared: Shared, path: Steps, name: str, number: int) -> Iterator[_Read]:
    found, reading = cases_of_file(file.reading, path, name, file.texts)
    file.others += [reading] if reading is not None else [take.reading for take in found]
    for offset, take in enumerate(found):
        yield from _case(take, shared, number + offset, file)


# ---------------------------------------------------------------------------------------------------------- finish


def _finish(file: _File, shared: Shared, cases: list[_Read], concurrency: int | None, title: str) -> SuiteSource:
    seen: dict[str, Entry] = {}
    for read in cases:
        if read.case.id in seen:
            steps: Steps = (*read.take.path, "id")
            read.take.reading.problem(
                f"two cases have the id `{read.case.id}`",
                steps,
                f"the first is at {seen[read.case.id].reading.marked.at(seen[read.case.id].path)}",
            )
        seen.setdefault(read.case.id, read.take)
    target, said = _target(file.targets.names)
    reading = file.joined()
    reading.finish()
    if not cases:
        raise UsageError(
            "no case of this file can be read",
            place=reading.marked.at(()),
            hint=reading.losses[0].message if reading.losses else "a file needs one case at least",
        )
    bar = shared.running.threshold
    notes = [file.dialect.said, _pass_note(file.dialect, bar), *said, *reading.notes]
    return SuiteSource(
        suite=Suite(cases=tuple(read.case for read in cases), title=title, target=target, concurrency=concurrency),
        dialect=file.dialect.name,
        base=file.document.path.parent,
        notes=tuple(notes),
        losses=file.losses,
        files=(file.document.path, *dict.fromkeys(file.texts.files)),
        places={read.case.id: read.take.reading.marked.at(read.take.path) for read in cases},
    )


def _pass_note(dialect: Dialect, bar: Any) -> str:
    if bar is None:
        return f"dialect {dialect.name}: a case passes at {float(PASS_MARK * 100):g}, without a floor"
    return f"a case passes at {float(bar * 100):g} (the file's threshold), without a floor"


def _target(names: list[str]) -> tuple[TargetSpec, list[str]]:
    """The one target of the file, when `--target` can say it."""
    known = [use for name in names if (use := use_of(name)) is not None]
    if len(names) == 1 and known:
        return TargetSpec(use=known[0]), []
    listed = ", ".join(f"`{name}`" for name in names)
    what = "target" if len(names) == 1 else "targets"
    return TargetSpec(), [f"the file's {what} {listed}: name what to run with --target"] if names else []
