"""Reads the native suite format (`suite.yaml`): returns a Suite, or reports every error of the file
with its place.

The work is spread over three classes, each built on the one before: `SuiteValueReading` reads the
value of one key, `CaseReading` reads a case, and `_SuiteReading` here reads the whole file.
`fields.toml` lists the keys and what they take; criteria and checks are read as in a rubric file.

A file may hold more cases than fit in memory. So cases are read one at a time, and each is dropped
from the parsed file as soon as it has become a `Case`.
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
from honestone.core.suite.outline import outline_of
from honestone.formats.source import SourceErrors, SuiteSource, WrittenCases, WrittenPrompt
from honestone.formats.suite.case_reading import CaseReading
from honestone.formats.suite.places import Places
from honestone.formats.suite.suite_tables import CaseNode, cases_in, files_like, with_defaults
from honestone.formats.suite_values import take_path
from honestone.formats.syntax.document import Document, KeepCases, ReadExpected
from honestone.formats.syntax.nodes import Node
from honestone.formats.syntax.reader import FileReading
from honestone.formats.syntax.reader import Steps as FilePath
from honestone.formats.values import Got, Refused


def read_suite(document: Document) -> SuiteSource:
    """Read the suite of a file. Raises FileError when it cannot be read, SourceErrors with all that
    is wrong in it.
    """
    # A suite of several prompts has more than one input a case, which are kept in memory.
    has_prompts = isinstance(document.value, dict) and "prompts" in document.value
    if document.keep_cases is not None and not has_prompts:
        # Cases that go to disk leave no places behind for errors. A suite with an error is read a
        # second time, with its cases in memory, to report all of them.
        with suppress(UsageError):
            return _read_suite(document, document.keep_cases)
    return _read_suite(document, None)


def _read_suite(document: Document, keep: KeepCases | None) -> SuiteSource:
    reading = _SuiteReading(document.marked, document.path, document.read_rubric)
    reading.read_expected = document.read_expected
    suite = reading.suite(keep)
    written = None
    if suite.prompts:
        variables = {case.id: reading.case_values.get(case.id, {}) for case in suite.cases}
        written = WrittenCases(
            prompts=reading.written_prompts, defaults={}, variables=variables, tables={}
        )
    return SuiteSource(
        suite=suite,
        dialect="honestone",
        base=document.path.parent,
        notes=tuple(dict.fromkeys(reading.notes)),
        losses=tuple(reading.losses),
        files=(document.path, *reading.files),
        places=reading.case_places,
        key_of_suite=reading.key_of_suite,
        written=written,
    )


def rubric_within(
    document: Document, path: FilePath, reading: FileReading
) -> tuple[Rubric | None, list[Path]]:
    """Read a rubric within a file of any format: a list of criteria, a whole rubric, or
    `{file: PATH}`. Returns it with the files that were read for it. An unsound one is None, and its
    problems are added to `reading`.
    """
    own = _SuiteReading(document.marked, document.path, document.read_rubric)
    rubric = own.rubric_at(path)
    reading.join(own)
    return rubric, list(own.files)


# Keys of the file that are fields of a Suite as they are.
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

    read_expected: ReadExpected | None = None
    written_prompts: tuple[WrittenPrompt, ...] = ()

    def suite(self, keep: KeepCases | None = None) -> Suite:
        """Read the whole file. `keep` stores the cases on disk, and finds double ids itself."""
        value = self.marked.value
        if not isinstance(value, dict):
            raise UsageError(
                "this is not a suite",
                place=self.marked.at(),
                hint="a suite has a list of `cases`; `honestone suite new` writes one",
            )
        self.check_version("suite", SUITE_VERSION)
        numbers = self._gathered()
        # The first case is fetched now: after that `cases` is a list, also where the file names
        # other files, and the keys of the suite can be read. The other cases come one at a time.
        first = list(islice(numbers, 1))
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
        read = self.each_case(chain(first, numbers), got, is_stored=keep is not None)
        cases, self.case_places = (keep or self._in_memory)(read)
        self._check_dependencies(cases)
        self._check_prompts_of_targets(got)
        if self.problems:
            raise SourceErrors(self.in_order())
        fields: Got = {key: got[key] for key in _OF_SUITE if key in got}
        # `artifact` and `target` may be lists; a Suite has the first and the others apart.
        for key in ("artifact", "target"):
            if key in got:
                fields[key], fields[f"more_{key}s"] = got[key][0], got[key][1:]
        self._note_unknown_targets(cases, {spec.label for spec in got.get("target", ())})
        prompts = got.get("prompts", ())
        if len(prompts) > 1:
            fields["prompts"] = tuple(one.label for one in prompts)
            self.written_prompts = tuple(
                WrittenPrompt(label=one.label, messages=one.messages) for one in prompts
            )
        return Suite(cases=cases, **fields)

    def _in_memory(
        self, read: Iterable[tuple[Case, str]]
    ) -> tuple[Sequence[Case], Mapping[str, str]]:
        """All cases in memory, and the place of each by its id."""
        cases, places = list[Case](), Places(self.marked.name)
        for case, place in read:
            cases.append(case)
            places.put(case.id, place)
        return tuple(cases), places

    def _note_unknown_targets(self, cases: Sequence[Case], labels: AbstractSet[str | None]) -> None:
        for name in outline_of(cases).targets:
            if name not in labels:
                self.note(
                    f"no target of this suite has the label `{name}`, which `targets` of a case names"
                )

    def _check_prompts_of_targets(self, got: Got) -> None:
        """Report each name among the `prompts` of a target which the suite does not have: the
        target would not be asked.
        """
        is_list = "target" in got and isinstance(self.marked.value["target"], list)
        for index, spec in enumerate(got.get("target", ())):
            path = ("target", index, "prompts") if is_list else ("target", "prompts")
            if spec.prompts is not None:
                self.require_prompts(spec.prompts, got.get("prompts", ()), path, "a target")

    def _check_dependencies(self, cases: Sequence[Case]) -> None:
        """Report each `depends_on` that names no case, or closes a circle."""
        if self.problems or not outline_of(cases).has_dependencies:
            return
        for id, why in wrong_dependencies({case.id: case.depends_on for case in cases}):
            index = next(index for index, case in enumerate(cases) if case.id == id)
            self.problem(why, ("cases", index, "depends_on"))

    def _gathered(self) -> Iterator[int]:
        """Build the list of all cases, and yield the number of each as soon as it is in the list.

        An entry of `cases` that names a file stands for the cases of that file. Each case gets what
        `defaults` says for all. `self.marked` is the file with the built list while the caller
        reads a case, and after the last one; in between it is the file as it was written, so that
        an error in naming a file is reported at its own place.
        """
        if "cases" not in self.marked.value:
            return
        listed, defaults = self.marked.node(("cases",)), None
        if "defaults" in self.marked.value:
            defaults = self.marked.node(("defaults",))
        is_list = isinstance(listed.children, list)
        if not listed.value or not (is_list or isinstance(listed.value, str)):
            return  # the reader of the key `cases` reports it
        cases = Node([], None, listed.line, listed.column, [])
        written, gathered = self.marked, self.marked.with_node(("cases",), cases)
        for index, entry in enumerate(listed.below() if is_list else [listed]):
            path: FilePath = ("cases", index) if is_list else ("cases",)
            for case, id in self._cases_at(entry, path):
                cases.append(with_defaults(case, defaults, id))
                self.marked = gathered
                yield len(cases.value) - 1
                self.marked = written
        self.marked = gathered

    def _cases_at(self, entry: Node, path: FilePath) -> Iterator[CaseNode]:
        """The cases of one entry: the case that is written there, or all cases of the files that a
        text names. Each comes with the id that its file gives it, if any.
        """
        if not isinstance(entry.value, str):
            yield entry, None
            return
        with self.noting():
            name = take_path(self, entry.value, path, "")
            for file in self._files_like(name, path):
                try:
                    yield from cases_in(self.file(file, path), self.read_expected)
                except UsageError as error:
                    self.all_elsewhere(error, path)

    def _files_like(self, name: str, path: FilePath) -> list[str]:
        """The files that a name with `*`, `?` or `[` stands for; a plain name stands for itself."""
        if not set(name) & set("*?[") or (self.base / name).exists():
            return [name]
        try:
            return [str(file.relative_to(self.base)) for file in files_like(name, self.base)]
        except UsageError as error:
            raise Refused(error.message, path, error.hint) from None
