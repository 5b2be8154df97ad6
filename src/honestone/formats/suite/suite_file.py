"""Reading the native suite format (`suite.yaml`): a Suite, or every error of the file with its
place.

`fields.toml` lists the keys and what they take; criteria and checks are read as in a rubric file
(`rubric_file`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, cast

from honestone.core.errors import FileError, HonestoneError, RubricError, UsageError
from honestone.core.judging.rubric import (
    DEFAULT_FLOOR,
    DEFAULT_THRESHOLD,
    TIERS,
    Check,
    Criterion,
    Item,
    Rubric,
    free_id,
    slug,
)
from honestone.core.suite.case import (
    SUITE_VERSION,
    Case,
    Expect,
    Message,
    Suite,
)
from honestone.core.suite.dependencies import wrong_dependencies
from honestone.formats.project import require_readable
from honestone.formats.rubric.check_words import check_in_words
from honestone.formats.rubric.rubric_file import (
    RUBRIC_VALUES,
    RubricReading,
    RubricSource,
    UncheckedRubric,
)
from honestone.formats.source import SourceErrors, SuiteSource
from honestone.formats.suite.filling import FILLED, Words, fill_node, fill_text, has_holes, words_of
from honestone.formats.suite.suite_tables import CaseNode, cases_in, files_like, with_defaults
from honestone.formats.suite_values import SUITE_VALUES, take_path
from honestone.formats.syntax.document import Document, KeepCases, ReadRubric
from honestone.formats.syntax.marked import Marked, read_text
from honestone.formats.syntax.nodes import MapKey, Node
from honestone.formats.syntax.reader import FileReading, did_you_mean, value_at
from honestone.formats.syntax.reader import Steps as FilePath
from honestone.formats.values import (
    Got,
    Refused,
    ValueReaders,
    shown_value,
    take_check,
    take_text,
)


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


def check_criteria(checks: tuple[Check, ...], taken: set[str]) -> tuple[Criterion, ...]:
    """The criteria that a case's `checks` stand for: weight 1, named by what they ask; `taken` are
    ids already in use.
    """
    from honestone.core.checking.checks import own_bar

    criteria = []
    used = set(taken)
    for check in checks:
        requirement = check_in_words(check)
        id = free_id(slug(requirement), used)
        used.add(id)
        item = Item(id=id, requirement=requirement, check=check, whole=True)
        criteria.append(
            Criterion(id=id, requirement=requirement, items=(item,), **own_bar((item,)))
        )
    return tuple(criteria)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Criteria from one place of the file, with the path of each, and the gate that is named there.
    `is_template`: a case with vars fills words in.
    """

    criteria: tuple[Criterion, ...]
    path: FilePath
    paths: tuple[FilePath, ...] = ()
    threshold: Fraction | None = None
    floor: Fraction | None = None
    title: str = ""
    require_calibration: bool = False
    require_tier: str | None = None
    is_template: bool = False


# Keys of a case that the suite may say for all of them.
_INHERITED: Final = ("timeout", "attempts", "attempt_rule", "workspace")
# In the place of a case that was read.
_READ: Final = Node({}, None, 1, 1, {})
_DEFAULT_RUBRIC: Final = ("defaults", "rubric")
_OF_SUITE: Final = ("title", "concurrency", "require_calibration", "require_tier")
_OWN: Final = ("reference", "split", "tags", "targets", "depends_on", "skip", "expect", "metadata")


class _SuiteReading(RubricReading):
    """One pass over a suite file, and the files that it names."""

    def __init__(self, marked: Marked, path: Path, read_rubric: ReadRubric) -> None:
        super().__init__(marked, "cases", "case")
        self.read_rubric = read_rubric
        self.base = path.parent
        self.files: dict[Path, None] = {}
        self.texts: dict[Path, str] = {}
        self.parts: dict[Path, _Part | None] = {}
        self.templates: dict[Path, Marked] = {}  # rubric files of ours that words are filled into
        self.words: Words = {}  # the vars of the case that is being read
        self._common: Rubric | None = (
            None  # of the cases that bring nothing of their own to be judged by
        )
        self.noted: set[tuple[str, str]] = set()
        self.case_places: Mapping[str, str] = {}
        self.id_places: dict[str, str] = {}

    @property
    def readers(self) -> ValueReaders:
        return _VALUES

    def problem(
        self, message: str, path: FilePath, hint: str | None = None, *, at_key: bool = False
    ) -> None:
        """Each thing once: what all cases have from one place is read for each of them."""
        place = self.marked.key_at(path) if at_key else self.marked.at(path)
        if (place, message) not in self.noted:
            self.noted.add((place, message))
            super().problem(message, path, hint, at_key=at_key)

    def elsewhere(self, error: HonestoneError, path: FilePath) -> None:
        place = error.place or self.marked.at(path)
        if (place, error.message) not in self.noted:
            self.noted.add((place, error.message))
            super().elsewhere(error, path)

    # ------------------------------------------------------------------------------------------ the
    # suite

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
        found = self._each_case(chain(known, every), got, is_stored=keep is not None)
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

    def _no_id_twice(self, path: FilePath) -> None:
        id, here = (self.marked.raw(path) or "").strip(), self.marked.at(path)
        first = self.id_places.setdefault(id, here)
        if id and first is not here:
            file, *position = first.rsplit(":", 2)  # values that are given have no line
            where = (
                f"in line {position[0]}"
                if position and here.startswith(f"{file}:")
                else f"at {first}"
            )
            hint = "an id names one case in results and choices"
            self.problem(f"two cases have this id, the first {where}", path, hint)

    # ------------------------------------------------------------------------------------------
    # cases of tables

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
                    yield from cases_in(self._file(file, path))
                except UsageError as error:
                    self.all_elsewhere(error, path)

    def _files_like(self, name: str, path: FilePath) -> list[str]:
        if not set(name) & set("*?[") or (self.base / name).exists():
            return [name]
        try:
            return [str(file.relative_to(self.base)) for file in files_like(name, self.base)]
        except UsageError as error:
            raise Refused(error.message, path, error.hint) from None

    # ------------------------------------------------------------------------------------------
    # words filled in

    def _fill(self, path: FilePath) -> None:
        """Fills the vars of a case into its texts."""
        case, cases = self.marked.node(path), self.marked.node(path[:1])
        self.words = words_of(case)
        if (
            not self.words
            or not isinstance(case.children, dict)
            or not isinstance(cases.children, list)
        ):
            return
        filled = case.empty()
        for name, (key, child) in case.children.items():
            is_text = name in FILLED
            filled.put(
                key,
                fill_node(child, (*path, name), self.words, self._unfilled) if is_text else child,
            )
        index = cast(int, path[-1])
        cases.children[index], cases.value[index] = filled, filled.value

    def _unfilled(self, message: str, path: FilePath, hint: str) -> None:
        self.problem(message, path, hint)

    def _filled(self, text: str, file: Path, path: FilePath) -> str:
        """A text from a file, with the vars of the case filled in."""

        def unfilled(at: int, message: str, hint: str) -> None:
            line = text.count("\n", 0, at) + 1
            self.elsewhere(UsageError(message, place=f"{file}:{line}:1", hint=hint), path)

        return fill_text(text, self.words, unfilled) if self.words else text

    def _shared(self, suite: Got) -> Iterator[_Part]:
        """The rubrics of the suite and of `defaults`, as they are for this case."""
        for path, part in (
            (("rubric",), suite.get("rubric")),
            (_DEFAULT_RUBRIC, suite.get("defaults", {}).get("rubric")),
        ):
            if part is None or not (self.words and part.is_template):
                yield from () if part is None else (part,)
                continue
            template = self.marked
            self.marked = template.with_node(
                path, fill_node(template.node(path), path, self.words, self._unfilled)
            )
            try:
                yield self.part(value_at(self.marked.value, path), path, "")
            finally:
                self.marked = template

    # ------------------------------------------------------------------------------------------ a
    # case

    def _each_case(
        self, numbers: Iterable[int], suite: Got, *, is_stored: bool
    ) -> Iterator[tuple[Case, str]]:
        """The cases of these numbers with their places. What is right in the file is not kept."""
        for index in numbers:
            path, before = ("cases", index), len(self.problems)
            case = self._case(path, suite)
            if not is_stored and self.marked.has((*path, "id")):
                self._no_id_twice((*path, "id"))
            if case is None:
                continue
            place = self.marked.at(path)
            if len(self.problems) == before:
                cases = self.marked.node(("cases",))
                if not case.depends_on and isinstance(cases.children, list):
                    cases.children[index], cases.value[index] = _READ, _READ.value
            yield case, place

    def _case(self, path: FilePath, suite: Got) -> Case | None:
        value = value_at(self.marked.value, path)
        if not isinstance(value, dict):
            shown = shown_value(value, self.marked.raw(path))
            hint = "write {id: ..., input: ..., rubric: [...]}"
            self.problem(f"this is {shown}, but a case must be a mapping", path, hint)
            return None
        before = len(self.problems)
        self._fill(path)
        value = value_at(self.marked.value, path)
        got = self.fields("case", path, "")
        if "id" not in value:
            self.problem("`id` is missing", path, "give it a name that stays: id: greets-back")
        rubric = self._whole_rubric(path, value, got, suite)
        if rubric is None or "id" not in got or len(self.problems) > before:
            return None
        if "input" not in got:
            note = f"case `{got['id']}` has no input: the target is given an empty text"
            self.notes.append(f"{self.marked.at(path)}: {note}")
        return Case(
            id=got["id"],
            rubric=rubric,
            messages=got.get("input", ()),
            setup=(*suite.get("setup", ()), *got.get("setup", ())),
            teardown=(*got.get("teardown", ()), *suite.get("teardown", ())),
            **{key: suite[key] for key in _INHERITED if key in suite and key not in got},
            **{key: got[key] for key in (*_INHERITED, *_OWN) if key in got},
        )

    def _whole_rubric(
        self, path: FilePath, value: Mapping[MapKey, Any], got: Got, suite: Got
    ) -> Rubric | None:
        """Shared rubrics, own rubric and checks side by side. The gate is the own one's where it
        names it, else that of `defaults`, else the shared one's, else the suite's, else the usual
        one.
        """
        own: _Part | None = got.get("rubric")
        checks = got.get("checks", ())
        if ("rubric" in value and own is None) or ("checks" in value and not checks):
            return None  # it has been said what is wrong with it
        is_common = own is None and not checks and not self.words
        if is_common and self._common is not None:
            self._expected_are_there(path, got.get("expect"), self._common.criteria)
            return self._common
        parts: list[_Part] | None = None
        with self.noting():
            parts = [*self._shared(suite), *([] if own is None else [own])]
        if parts is None:
            return None
        if not parts and not checks:
            if "rubric" not in self.marked.value:
                hint = "give it a `rubric` or `checks`, or the suite a `rubric`"
                self.problem("there is nothing to judge it by", path, hint)
            return None
        criteria = tuple(criterion for part in parts for criterion in part.criteria)
        places = [place for part in parts for place in self._places(part)]
        ids = {criterion.id for top in criteria for criterion, _ in top.walk()}
        criteria += check_criteria(checks, ids)
        places += [(*path, "checks", index) for index in range(len(checks))]
        self._expected_are_there(path, got.get("expect"), criteria)
        draft = UncheckedRubric(
            title=next((part.title for part in parts[::-1] if part.title), ""),
            threshold=_first(
                *(part.threshold for part in parts[::-1]), suite.get("threshold"), DEFAULT_THRESHOLD
            ),
            floor=_first(*(part.floor for part in parts[::-1]), suite.get("floor"), DEFAULT_FLOOR),
            require_calibration=any(part.require_calibration for part in parts),
            require_tier=min(
                (part.require_tier for part in parts if part.require_tier),
                key=TIERS.index,
                default=None,
            ),
            criteria=criteria,
        )
        rubric = self._sound(draft, parts[::-1], places, path)
        if is_common:
            self._common = rubric
        return rubric

    def _sound(
        self, draft: UncheckedRubric, parts: list[_Part], places: list[FilePath], around: FilePath
    ) -> Rubric | None:
        """The rubric, when it breaks no rule of core. `places` are the paths of its criteria,
        `around` is for the rest.
        """

        def where(inside: FilePath) -> FilePath:
            if inside[0] == "criteria" and len(inside) > 1:
                return (*places[cast(int, inside[1])], *inside[2:])
            for part in parts:
                if getattr(part, str(inside[0]), None) is not None:
                    return (*part.path, inside[0]) if inside[0] != "criteria" else part.path
            return inside if self.marked.has(inside) else around

        before = len(self.problems)
        self.rules(draft, where)
        if len(self.problems) > before:
            return None
        try:
            return Rubric(
                title=draft.title,
                threshold=draft.threshold,
                floor=draft.floor,
                require_calibration=draft.require_calibration,
                require_tier=draft.require_tier,
                criteria=draft.criteria,
            )
        except RubricError:
            return None  # what is wrong has been reported at the same place already

    def rubric_at(self, path: FilePath) -> Rubric | None:
        """The rubric at one place of a file of any format, in any of the ways that a suite may say
        it.
        """
        part = None
        with self.noting():
            part = self.part(value_at(self.marked.value, path), path, "")
        if part is None:
            return None
        draft = UncheckedRubric(
            title=part.title,
            threshold=_first(part.threshold, DEFAULT_THRESHOLD),
            floor=_first(part.floor, DEFAULT_FLOOR),
            require_calibration=part.require_calibration,
            require_tier=part.require_tier,
            criteria=part.criteria,
        )
        return self._sound(draft, [part], self._places(part), path)

    def _places(self, part: _Part) -> list[FilePath]:
        return list(part.paths or (part.path,) * len(part.criteria))

    def _expected_are_there(
        self, path: FilePath, expect: Expect | None, criteria: tuple[Criterion, ...]
    ) -> None:
        known = [criterion.id for top in criteria for criterion, _ in top.walk()]
        for id in expect.criteria if expect else ():
            if id not in known:
                self.problem(
                    f"`expect` names `{id}`, which is not a criterion of this case",
                    next(
                        key
                        for key in self.keys_at((*path, "expect"))
                        if self.marked.raw_key(key).strip() == id
                    ),
                    did_you_mean(id, known) or f"criteria: {', '.join(known[:10])}",
                    at_key=True,
                )

    # ------------------------------------------------------------------------------------------
    # rubrics and checks

    def part(self, value: Any, path: FilePath, owner: str) -> _Part:
        """The value of `rubric`: a list of criteria, a whole rubric, or a file."""
        if isinstance(value, dict) and "criteria" not in value and "file" in value:
            return self._part_of_file(
                self._in_file("in-file", path, " of `rubric`"), (*path, "file")
            )
        hint = "write a list of criteria: [Names the cause, Says how to fix it]"
        if isinstance(value, dict) and "criteria" not in value:
            raise Refused(
                "this rubric has no `criteria`", path, hint + ", or {file: PATH}", at_key=True
            )
        if not isinstance(value, dict | list):
            seems_a_path = isinstance(value, str) and value.strip().endswith(
                (".yaml", ".yml", ".json")
            )
            raise self.must_be(
                "part",
                value,
                path,
                owner,
                f"write {{file: {value.strip()}}}" if seems_a_path else hint,
            )
        got: Got = {}
        listed, entries = (
            (path, value) if isinstance(value, list) else ((*path, "criteria"), value["criteria"])
        )
        self.name_texts(entries)
        if entries is value:
            got["criteria"] = self.criteria(value, path, "")
        else:
            got = self.fields("rubric", path, " of this rubric")
        criteria: tuple[Criterion, ...] | None = got.get("criteria")
        if criteria is None:
            raise Refused
        return _Part(
            criteria=criteria,
            path=path,
            paths=tuple((*listed, index) for index in range(len(criteria))),
            threshold=got.get("threshold"),
            floor=got.get("floor"),
            title=got.get("title", ""),
            require_calibration=got.get("require_calibration", False),
            require_tier=got.get("require_tier"),
            is_template=has_holes(self.marked.node(path)),
        )

    def _in_file(self, shape: str, path: FilePath, owner: str) -> Any:
        """The one key of `{file: PATH}` or `{files: [PATH]}`."""
        for found in self.fields(shape, path, owner).values():
            return found
        raise Refused

    def _part_of_file(self, name: str, path: FilePath) -> _Part:
        found = self._file(name, path)
        if found not in self.parts:
            self.parts[found] = self._read_part(found, name, path)
        part = self.parts[found]
        if part is None:
            raise Refused
        if self.words and part.is_template:
            part = replace(part, criteria=self._filled_rubric(self.templates[found], path).criteria)
        return replace(part, path=path)

    def _filled_rubric(self, template: Marked, path: FilePath) -> Rubric:
        """A rubric of a file for one case."""

        def unfilled(message: str, inside: FilePath, hint: str) -> None:
            self.elsewhere(UsageError(message, place=template.at(inside), hint=hint), path)

        before = len(self.problems)
        try:
            rubric = RubricReading(
                Marked(template.name, fill_node(template.root, (), self.words, unfilled))
            ).rubric()
        except UsageError as error:
            self.all_elsewhere(error, path)
            raise Refused from None
        if len(self.problems) > before:
            raise Refused
        return rubric

    def _read_part(self, file: Path, name: str, path: FilePath) -> _Part | None:
        try:
            source = self.read_rubric(file)
        except UsageError as error:
            self.all_elsewhere(error, path)
            return None
        self.notes += source.notes
        rubric, is_ours = source.rubric, isinstance(source, RubricSource)
        if isinstance(source, RubricSource):
            self.templates[file] = source.marked
        else:
            self.losses += source.losses
        if file.parent != self.base and (rubric.has_checks or rubric.has_fixes):
            self.notes.append(
                f"{name}: relative paths in its checks and fixes start at the suite's folder"
            )
        return _Part(
            criteria=rubric.criteria,
            path=path,
            threshold=rubric.threshold
            if not is_ours or source.marked.has(("threshold",))
            else None,
            floor=rubric.floor if not is_ours or source.marked.has(("floor",)) else None,
            title=rubric.title,
            require_calibration=rubric.require_calibration,
            require_tier=rubric.require_tier,
            is_template=is_ours and has_holes(source.marked.root),
        )

    def checks(self, value: Any, path: FilePath, owner: str) -> tuple[Check, ...]:
        if path[0] == "defaults" and has_holes(self.marked.node(path)):
            return ()  # what they are is known when a case has filled them in

        def one(entry: Any, here: FilePath) -> Check:
            return take_check(self, entry, here, f" number {cast(int, here[-1]) + 1}")

        return self.each("checks", value, path, owner, one)

    # ------------------------------------------------------------------------------------------
    # files next to the suite

    def _file(self, name: str, path: FilePath) -> Path:
        """A file that the suite names, when it is one: never a pipe or device, which could keep us
        waiting for ever.
        """
        file = self.base / name
        try:
            require_readable(file)
            if not file.exists():
                read_text(file)  # says what is missing, with the near match
            if not file.is_file():
                raise FileError(f"`{name}` is not a file")
        except UsageError as error:
            self.elsewhere(error, path)
            raise Refused from None
        except (OSError, ValueError) as error:
            raise Refused(
                f"`{name}` cannot be read: {getattr(error, 'strerror', None) or error}", path
            ) from None
        self.files.setdefault(file)
        return file

    def _text_of_file(self, name: str, path: FilePath) -> str:
        file = self._file(name, path)
        if file not in self.texts:
            try:
                self.texts[file] = read_text(file)
            except UsageError as error:
                self.elsewhere(error, path)
                raise Refused from None
        return self._filled(self.texts[file], file, path)

    def folder(self, value: Any, path: FilePath, owner: str) -> str:
        name = take_path(self, value, path, owner)
        if (self.base / name).is_dir():
            return name
        is_file = (self.base / name).exists()
        what = (
            f"`{name}` is a file, but must be a folder"
            if is_file
            else f"folder `{name}` not found next to the suite"
        )
        raise Refused(what, path)

    # ------------------------------------------------------------------------------------------
    # input and reference

    def input(self, value: Any, path: FilePath, owner: str) -> tuple[Message, ...]:
        if isinstance(value, list):
            if not value:
                raise Refused("`input` is empty", path)
            return self.each("input", value, path, owner, self._message)
        if isinstance(value, dict) and "files" in value:
            return self._texts_of_files(
                self._in_file("in-files", path, " of `input`"), (*path, "files")
            )
        if isinstance(value, dict) and "file" not in value:
            raise self.must_be("input", value, path, owner)
        return (Message("user", self.prose(value, path, owner)),)

    def _message(self, value: Any, path: FilePath) -> Message:
        who = f"message number {cast(int, path[-1]) + 1}"
        if not isinstance(value, dict):
            raise Refused(f"{who} must be a mapping", path, "write {role: user, content: Hello}")
        got = self.fields("message", path, f" of {who}")
        for key in ("role", "content"):
            if key not in value:
                self.problem(f"`{key}` of {who} is missing", path)
        if "role" not in got or "content" not in got:
            raise Refused
        return Message(got["role"], got["content"])

    def _texts_of_files(self, names: tuple[str, ...], path: FilePath) -> tuple[Message, ...]:
        texts = self.each("paths", list(names), path, "", self._text_of_file)
        blocks = [f"{name}:\n\n{text.rstrip()}" for name, text in zip(names, texts, strict=True)]
        return (Message("user", texts[0] if len(names) == 1 else "\n\n".join(blocks)),)

    def content(self, value: Any, path: FilePath, owner: str) -> str:
        """As `prose`; an answer that was empty is an answer."""
        return (
            value
            if isinstance(value, str) and not value.strip()
            else self.prose(value, path, owner)
        )

    def prose(self, value: Any, path: FilePath, owner: str) -> str:
        """Text exactly as written, here or in a file."""
        if not isinstance(value, dict):
            take_text(self, value, path, owner)
            return cast(str, value)
        if "file" not in value:
            raise self.must_be("prose", value, path, owner)
        return self._text_of_file(
            self._in_file("in-file", path, f" of `{path[-1]}`"), (*path, "file")
        )

    # ------------------------------------------------------------------------------------------
    # single values

    # ------------------------------------------------------------------------------------------
    # target, workspace, expect


_VALUES: Final[ValueReaders] = {
    **RUBRIC_VALUES,
    **SUITE_VALUES,
    "part": _SuiteReading.part,
    "checks": _SuiteReading.checks,
    "folder": _SuiteReading.folder,
    "input": _SuiteReading.input,
    "content": _SuiteReading.content,
    "prose": _SuiteReading.prose,
}


def _in_memory(found: Iterable[tuple[Case, str]]) -> tuple[Sequence[Case], Mapping[str, str]]:
    cases, places = list[Case](), dict[str, str]()
    for case, place in found:
        cases.append(case)
        places[case.id] = place
    return tuple(cases), places


def _first(*values: Fraction | None) -> Fraction:
    return next(value for value in values if value is not None)
