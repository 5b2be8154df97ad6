"""Reading the native suite format (`suite.yaml`): a Suite, or every error of the file with its
place.

`fields.toml` lists the keys and what they take; criteria and checks are read as in a rubric file
(`rubric_file`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Final

from honestone.core.errors import UsageError
from honestone.core.judging.rubric import Rubric
from honestone.core.suite.case import SUITE_VERSION, Case, Suite
from honestone.core.suite.dependencies import wrong_dependencies
from honestone.formats.source import SourceErrors, SuiteSource
from honestone.formats.suite.case_reading import CaseReading
from honestone.formats.suite.suite_tables import CaseNode, cases_in, files_like, with_defaults
from honestone.formats.suite_values import take_path
from honestone.formats.syntax.document import Document, KeepCases
from honestone.formats.syntax.nodes import Node
from honestone.formats.syntax.reader import FileReading
from honestone.formats.syntax.reader import Steps as FilePath
from honestone.formats.values import Got, Refused


def read_suite(document: Document) -> SuiteSource:
    """The suite in a file. Raises FileError when it cannot be read, SourceErrors with all that is
    wrong in it.
    """
    if document.keep_cases is not None:
        with suppress(
            UsageError
        ):  # read once more it says what is wrong, as a suite that is kept in memory does
            return _read_suite(document, document.keep_cases)
    return _read_suite(document, None)


def _read_suite(document: Document, keep: KeepCases | None) -> SuiteSource:
    reading = _SuiteReading(document.marked, document.path, document.read_rubric)
    suite = reading.suite(keep)
    return SuiteSource(
        suite=suite,
        dialect="honestone",
        base=document.path.parent,
        notes=tuple(dict.fromkeys(reading.notes)),
        losses=tuple(reading.losses),
        files=(document.path, *reading.files),
        places=reading.case_places,
        key_of_suite=reading.key_of_suite,
    )


def rubric_within(
    document: Document, path: FilePath, reading: FileReading
) -> tuple[Rubric | None, list[Path]]:
    """A list of criteria, a whole rubric, or `{file: PATH}`, at a place of any file, and the files
    that were read for it. None, and problems of `reading`, when it is not sound.
    """
    own = _SuiteReading(document.marked, document.path, document.read_rubric)
    rubric = own.rubric_at(path)
    reading.join(own)
    return rubric, list(own.files)


_OF_SUITE: Final = (
    "title",
    "concurrency",
    "require_calibration",
    "require_tier",
    "sure",
    "max_looks",
)


class _SuiteReading(CaseReading):
    """One pass over a suite file, and the files that it names."""

    def suite(self, keep: KeepCases | None = None) -> Suite:
        """`keep` finds ids that are there twice."""
        value = self.marked.value
        if not isinstance(value, dict):
            raise UsageError(
                "this is not a suite",
                place=self.marked.at(),
                hint="a suite has a list of `cases`; `honestone suite new` writes one",
            )
        self.check_version("suite", SUITE_VERSION)
        every = self._gathered()
        known = list(
            islice(every, 1)
        )  # whether there is one is asked for now, the others are read one at a time
        value = self.marked.value
        got = self.fields("suite", (), "")
        if "cases" not in value:
            self.problem(
                "this suite has no `cases`", ("cases",), "add a list of them, each after `- `"
            )
        for key in ("threshold", "floor"):
            if not 0 <= got.get(key, 0) <= 1:
                self.problem(
                    f"`{key}` is {self.marked.raw((key,))}, but must be from 0 to 100", (key,)
                )
        found = self.each_case(chain(known, every), got, is_stored=keep is not None)
        cases, self.case_places = (keep or _in_memory)(found)
        self._no_wrong_dependency(cases)
        if self.problems:
            raise SourceErrors(self.in_order())
        named: Got = {key: got[key] for key in _OF_SUITE if key in got}
        for key in ("artifact", "target"):
            if key in got:
                named[key], named[f"more_{key}s"] = got[key][0], got[key][1:]
        self._note_unknown_targets(cases, {spec.label for spec in got.get("target", ())})
        return Suite(cases=cases, **named)

    def _note_unknown_targets(self, cases: Sequence[Case], labels: AbstractSet[str | None]) -> None:
        for name in dict.fromkeys(
            name for case in cases for name in case.targets if name not in labels
        ):
            self.note(
                f"no target of this suite has the label `{name}`, which `targets` of a case names"
            )

    def _no_wrong_dependency(self, cases: Sequence[Case]) -> None:
        if self.problems or not any(case.depends_on for case in cases):
            return
        for id, why in wrong_dependencies({case.id: case.depends_on for case in cases}):
            index = next(index for index, case in enumerate(cases) if case.id == id)
            self.problem(f"case `{id}`: {why}", ("cases", index, "depends_on"))

    def _gathered(self) -> Iterator[int]:
        """Puts the cases of the files that `cases` names in their place, each case with what
        `defaults` says for all; the number of each when it is there. Places are those of the file
        as it is written, but while a case is read.
        """
        if "cases" not in self.marked.value:
            return
        listed, defaults = self.marked.node(("cases",)), None
        if "defaults" in self.marked.value:
            defaults = self.marked.node(("defaults",))
        is_list = isinstance(listed.children, list)
        if not listed.value or not (is_list or isinstance(listed.value, str)):
            return  # reading it says what is wrong
        cases = Node([], None, listed.line, listed.column, [])
        written, gathered = self.marked, self.marked.with_node(("cases",), cases)
        for index, entry in enumerate(listed.below() if is_list else [listed]):
            for case, id in self._cases_at(entry, ("cases", index) if is_list else ("cases",)):
                cases.append(with_defaults(case, defaults, id))
                self.marked = gathered
                yield len(cases.value) - 1
                self.marked = written
        self.marked = gathered

    def _cases_at(self, entry: Node, path: FilePath) -> Iterator[CaseNode]:
        """A case as it is written, or those of the file, or of the files, that a text names."""
        if not isinstance(entry.value, str):
            yield entry, None
            return
        with self.noting():
            name = take_path(self, entry.value, path, "")
            for file in self._files_like(name, path):
                try:
                    yield from cases_in(self.file(file, path))
                except UsageError as error:
                    self.all_elsewhere(error, path)

    def _files_like(self, name: str, path: FilePath) -> list[str]:
        if not set(name) & set("*?[") or (self.base / name).exists():
            return [name]
        try:
            return [str(file.relative_to(self.base)) for file in files_like(name, self.base)]
        except UsageError as error:
            raise Refused(error.message, path, error.hint) from None


def _in_memory(found: Iterable[tuple[Case, str]]) -> tuple[Sequence[Case], Mapping[str, str]]:
    cases, places = list[Case](), dict[str, str]()
    for case, place in found:
        cases.append(case)
        places[case.id] = place
    return tuple(cases), places
