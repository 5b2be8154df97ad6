"""Reads the cases of a suite file, one at a time, each with the rubric that judges it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, cast

from honestone.core.errors import RubricError, UsageError
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
from honestone.core.suite.case import Case, Expect, Message
from honestone.formats.rubric.check_words import check_in_words
from honestone.formats.rubric.rubric_file import UncheckedRubric
from honestone.formats.suite.code_context import case_context, with_context
from honestone.formats.suite.filling import FILLED, Words, fill_node, fill_text, values_of, words_of
from honestone.formats.suite.places import Places
from honestone.formats.suite.value_reading import RubricPart, SuitePrompt, SuiteValueReading
from honestone.formats.syntax.document import ReadRubric
from honestone.formats.syntax.marked import Marked
from honestone.formats.syntax.nodes import MapKey, Node
from honestone.formats.syntax.reader import Steps as FilePath
from honestone.formats.syntax.reader import did_you_mean, value_at
from honestone.formats.values import Got, shown_value

# Keys that a case takes from the suite where it does not have them itself.
_INHERITED: Final = ("timeout", "attempts", "attempt_rule", "workspace")

# Replaces a case in the parsed file once it was read, so that its memory is free.
_READ: Final = Node({}, None, 1, 1, {})

_DEFAULT_RUBRIC: Final = ("defaults", "rubric")
# Keys that only a case has, as they are.
_OWN: Final = ("reference", "split", "tags", "targets", "depends_on", "skip", "expect")
# What most cases have of them, as one object.
_NONE: Final[Mapping[str, Any]] = {}


def check_criteria(checks: tuple[Check, ...], taken: set[str]) -> tuple[Criterion, ...]:
    """Make a criterion of each check in a case's `checks`: with weight 1, and an id made from what
    the check asks. `taken`: ids that are in use already.
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


class CaseReading(SuiteValueReading):
    """Reads cases; a rubric that several of them share is one object in all of them."""

    def __init__(self, marked: Marked, path: Path, read_rubric: ReadRubric) -> None:
        super().__init__(marked, path, read_rubric)
        # The rubric of all cases that bring no rubric, checks or vars of their own.
        self._common: Rubric | None = None
        self.case_places: Mapping[str, str] = {}
        # By id, of a suite of several prompts: the vars of a case as values, as code is given them.
        self.case_values: dict[str, Mapping[str, object]] = {}
        self.id_places = Places(marked.name)
        # Of prompts that a case could not fill in: the label, and what was said.
        self.unfilled_prompts: set[tuple[str, str]] = set()

    def each_case(
        self, numbers: Iterable[int], suite: Got, *, is_stored: bool
    ) -> Iterator[tuple[Case, str]]:
        """Read the cases with these numbers, each with its place in the file. A case that has no
        error is then dropped from the parsed file. `is_stored`: who stores the cases finds double
        ids, so they are not looked for here.
        """
        for index in numbers:
            path, before = ("cases", index), len(self.problems)
            case = self._case(path, suite)
            if not is_stored and self.marked.has((*path, "id")):
                self._report_double_id((*path, "id"))
            if case is None:
                continue
            place = self.marked.at(path)
            if len(self.problems) == before:
                cases = self.marked.node(("cases",))
                if not case.depends_on and isinstance(cases.children, list):
                    cases.children[index], cases.value[index] = _READ, _READ.value
            yield case, place

    def _report_double_id(self, path: FilePath) -> None:
        id, here = (self.marked.raw(path) or "").strip(), self.marked.at(path)
        first = self.id_places.get(id)
        if first is None:
            self.id_places.put(id, here)
        elif id:
            file, *position = first.rsplit(":", 2)  # values from Python have no line
            where = (
                f"in line {position[0]}"
                if position and here.startswith(f"{file}:")
                else f"at {first}"
            )
            hint = "an id names one case in results and choices"
            self.problem(f"two cases have this id, the first {where}", path, hint)

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
        if "prompts" in suite:
            got |= self._asked(path, got, suite["prompts"])
            values = values_of(self.marked.node(path))
            known = case_context(values, got.get("metadata", _NONE))
            rubric = with_context(rubric, known)
        elif "prompts" in got:
            self.require_prompts(got["prompts"], (), (*path, "prompts"), "a case")
            return None
        elif "input" not in got:
            note = f"case `{got['id']}` has no input: the target is given an empty text"
            self.notes.append(f"{self.marked.at(path)}: {note}")
        return Case(
            id=got["id"],
            rubric=rubric,
            messages=got.get("input", ()),
            prompts=got.get("prompts", _NONE),
            variables=got.get("variables", _NONE),
            metadata=got.get("metadata", _NONE),
            setup=(*suite.get("setup", ()), *got.get("setup", ())),
            teardown=(*got.get("teardown", ()), *suite.get("teardown", ())),
            **{key: suite[key] for key in _INHERITED if key in suite and key not in got},
            **{key: got[key] for key in (*_INHERITED, *_OWN) if key in got},
        )

    def _asked(self, path: FilePath, got: Got, prompts: Sequence[SuitePrompt]) -> Got:
        """What a case is asked in a suite with prompts: these, with its vars and its input filled
        in. Raises nothing: what cannot be filled in is a problem of the prompt.
        """
        known = dict(self.words)
        own: tuple[Message, ...] = got.get("input", ())
        if len(own) > 1 or any(message.role != "user" for message in own):
            hint = "give its messages to a prompt, and fill vars into them"
            self.problem(
                "`input` must be one text in a suite with `prompts`", (*path, "input"), hint
            )
        elif own and "input" in known:
            hint = "leave one of them out, or give the var another name"
            self.problem(
                "`{{ input }}` of the prompts is both the `input` of this case and its var `input`",
                (*path, "input"),
                hint,
            )
        elif own:
            known["input"] = own[0].content
        wanted: Sequence[str] = got.get("prompts", [one.label for one in prompts])
        if not wanted:
            hint = "leave it out where the case is for all prompts"
            self.problem("`prompts` of a case is empty", (*path, "prompts"), hint)
        self.require_prompts(wanted, prompts, (*path, "prompts"), "a case")
        asked = {
            one.label: self._filled_prompt(one, known, got["id"])
            for one in prompts
            if one.label in wanted
        }
        if not asked:
            return {}  # why is a problem
        first = next(iter(asked.values()))
        if len(prompts) > 1:
            self.case_values[got["id"]] = {**known, **values_of(self.marked.node(path))}
        return (
            {
                "input": first,
                "prompts": asked,
                "variables": known,
            }
            if len(prompts) > 1
            else {"input": first, "prompts": {}}
        )

    def require_prompts(
        self, names: Sequence[str], prompts: Sequence[SuitePrompt], path: FilePath, whose: str
    ) -> None:
        """Report each name at `path`, the value of `prompts` of a case or a target, which the suite
        does not have.
        """
        if not prompts:
            if "prompts" not in self.marked.value:  # else they are wrong themselves
                hint = "give the suite `prompts`, with these labels"
                self.problem(f"`prompts` of {whose}, but the suite has none", path, hint)
            return
        labels = [one.label for one in prompts]
        for name in names:
            if name not in labels:
                hint = did_you_mean(name, labels) or f"its prompts: {', '.join(labels)}"
                self.problem(f"the suite has no prompt `{name}`", path, hint)

    def _filled_prompt(self, prompt: SuitePrompt, known: Words, case: str) -> tuple[Message, ...]:
        def unfilled(_: int, message: str, hint: str) -> None:
            # Of all cases that lack the same, the first is named.
            if (prompt.label, message) not in self.unfilled_prompts:
                self.unfilled_prompts.add((prompt.label, message))
                problem = f"the prompt `{prompt.label}` in case `{case}`: {message}"
                if prompt.file is None:
                    self.problem(problem, prompt.path, hint)
                else:
                    self.elsewhere(UsageError(problem, place=prompt.file, hint=hint), prompt.path)

        return tuple(
            Message(one.role, fill_text(one.content, known, unfilled)) for one in prompt.messages
        )

    def _fill(self, path: FilePath) -> None:
        """Fill the vars of a case into its texts. Only keys that hold texts for the target or for
        judges are filled in, and nothing that names a file or a program.
        """
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
            if name in FILLED:
                child = fill_node(child, (*path, name), self.words, self.unfilled)
            filled.put(key, child)
        index = cast(int, path[-1])
        cases.children[index], cases.value[index] = filled, filled.value

    def _shared(self, suite: Got) -> Iterator[RubricPart]:
        """The rubrics that this case has in common with others: of the suite, then of `defaults`.
        A rubric with `{{ name }}` in it is read again for each case, with its vars filled in.
        """
        for path, part in (
            (("rubric",), suite.get("rubric")),
            (_DEFAULT_RUBRIC, suite.get("defaults", {}).get("rubric")),
        ):
            if part is None:
                continue
            if not self.words or not part.is_template:
                yield part
                continue
            template = self.marked
            self.marked = template.with_node(
                path, fill_node(template.node(path), path, self.words, self.unfilled)
            )
            try:
                yield self.part(value_at(self.marked.value, path), path, "")
            finally:
                self.marked = template

    def _whole_rubric(
        self, path: FilePath, value: Mapping[MapKey, Any], got: Got, suite: Got
    ) -> Rubric | None:
        """Put together the rubric of a case; None where something is wrong with a part of it.

        Its criteria are those of the shared rubrics, of the case's own rubric, and one for each of
        its checks. Each bar of the gate is taken from the first of these that names it: the case's
        rubric, the rubric of `defaults`, the suite's rubric, the suite, the default.
        """
        own: RubricPart | None = got.get("rubric")
        checks = got.get("checks", ())
        if ("rubric" in value and own is None) or ("checks" in value and not checks):
            return None  # reading it has reported why
        is_common = own is None and not checks and not self.words
        if is_common and self._common is not None:
            self._check_expected(path, got.get("expect"), self._common.criteria)
            return self._common
        parts: list[RubricPart] | None = None
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
        self._check_expected(path, got.get("expect"), criteria)
        nearest_first = parts[::-1]
        thresholds = [part.threshold for part in nearest_first]
        floors = [part.floor for part in nearest_first]
        tiers = [part.require_tier for part in parts if part.require_tier]
        draft = UncheckedRubric(
            title=next((part.title for part in nearest_first if part.title), ""),
            threshold=_first(*thresholds, suite.get("threshold"), DEFAULT_THRESHOLD),
            floor=_first(*floors, suite.get("floor"), DEFAULT_FLOOR),
            require_calibration=any(part.require_calibration for part in parts),
            require_tier=min(tiers, key=TIERS.index, default=None),
            combine=next((part.combine for part in nearest_first if part.combine), None),
            quorum=next((part.quorum for part in nearest_first if part.quorum is not None), None),
            criteria=criteria,
        )
        rubric = self._sound(draft, nearest_first, places, path)
        if is_common:
            self._common = rubric
        return rubric

    def _sound(
        self,
        draft: UncheckedRubric,
        parts: list[RubricPart],
        places: list[FilePath],
        around: FilePath,
    ) -> Rubric | None:
        """Make a Rubric of the draft; None, with its problems reported, where it breaks a rule.
        `parts`: where the draft comes from, in the order of precedence. `places`: the path of each
        criterion in the file. `around`: the path for problems that belong to no part.
        """

        def where(inside: FilePath) -> FilePath:
            """The path in the file of what is at the path `inside` of the draft."""
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
                combine=draft.combine,
                quorum=draft.quorum,
                criteria=draft.criteria,
            )
        except RubricError:
            return None  # a problem at the same place has been reported already

    def rubric_at(self, path: FilePath) -> Rubric | None:
        """Read the rubric at one place of a file of any format, in any form that a suite takes."""
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
            combine=part.combine,
            quorum=part.quorum,
            criteria=part.criteria,
        )
        return self._sound(draft, [part], self._places(part), path)

    def _places(self, part: RubricPart) -> list[FilePath]:
        """The path of each criterion; of a rubric in another file, the path that names that file."""
        return list(part.paths or (part.path,) * len(part.criteria))

    def _check_expected(
        self, path: FilePath, expect: Expect | None, criteria: tuple[Criterion, ...]
    ) -> None:
        """Report each criterion that `expect` names and the case does not have."""
        ids = [criterion.id for top in criteria for criterion, _ in top.walk()]
        for id in expect.criteria if expect else ():
            if id in ids:
                continue
            keys = self.keys_at((*path, "expect"))
            self.problem(
                f"`expect` names `{id}`, which is not a criterion of this case",
                next(key for key in keys if self.marked.raw_key(key).strip() == id),
                did_you_mean(id, ids) or f"criteria: {', '.join(ids[:10])}",
                at_key=True,
            )


def _first(*values: Fraction | None) -> Fraction:
    return next(value for value in values if value is not None)
