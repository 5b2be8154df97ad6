"""The graders of an AgentV case as criteria: rubrics, free-form judges, code, and groups of them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

from honestone.core.checking.checks import KINDS, check_problem
from honestone.core.errors import FileError
from honestone.core.judging.rubric import Check, Criterion, as_written, slug
from honestone.formats.fields import near
from honestone.formats.syntax.marked import read_marked
from honestone.formats.syntax.reader import FileEntry, Steps, did_you_mean, shown, words
from honestone.interop.agentv.dialect import Dialect
from honestone.interop.agentv.keys import CODE_GRADERS, FORMATS, TABLES
from honestone.interop.agentv.places import Container
from honestone.interop.agentv.rubrics import NO_BAR, Bar, rated, read_criteria, read_criterion
from honestone.interop.agentv.templates import reading_of
from honestone.interop.agentv.text import Texts, as_requirement, fill, placeholders
from honestone.interop.criteria import check_criterion, yes_no

RUBRICS: Final = ("rubric", "rubrics")
JUDGES: Final = ("llm-judge", "llm-grader", "llm-rubric", "agent-rubric", "g-eval")
GROUPS: Final = ("composite", "assert-set")
_MEMBERS: Final = ("assert", "assertions", "evaluators")
_DEEPEST_INCLUDE: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What the graders of one case are read with. `threshold` is the cut of a required grader
    without its own.
    """

    dialect: Dialect
    texts: Texts
    threshold: Fraction
    goal: str | None = None
    reference: str | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    expected: Any = None
    container: Container | None = None
    options: FileEntry | None = None
    depth: int = 0


def read_graders(take: FileEntry, key: str, frame: Frame) -> list[Criterion]:
    """The graders of a list, in order. Strings anywhere in it are one rubric, in the place of the
    first of them.
    """
    listed = take.raw(key)
    if listed is None:
        return []
    if not isinstance(listed, list):
        take.reading.problem(
            f"`{key}` must be a list of graders, not {shown(listed)}", (*take.path, key)
        )
        return []
    found: list[Criterion] = []
    strings = [index for index, entry in enumerate(listed) if isinstance(entry, str)]
    for index in range(len(listed)):
        here = FileEntry(take.reading, (*take.path, key, index))
        if index in strings:
            found += _of_strings(take, key, strings, frame) if index == strings[0] else []
        else:
            found += _included(here, frame) if "include" in here else read_grader(here, frame)
    return found


def _of_strings(take: FileEntry, key: str, indexes: Sequence[int], frame: Frame) -> list[Criterion]:
    """Strings among the graders: one rubric that counts as much as they are many."""
    children = []
    for index in indexes:
        text = fill(take.value[key][index], frame.values).strip()
        if text:
            children.append(yes_no(slug(text), text, required=frame.dialect.required))
        else:
            take.reading.problem("a criterion has no text", (*take.path, key, index))
    if not children:
        return []
    name = "llm-rubric" if frame.dialect.judge == "llm-rubric" else "rubrics"
    children = _in_words_of(FileEntry(take.reading, ()), children, frame)
    return [_group(name, children, weight=Fraction(len(children)))]


def _included(take: FileEntry, frame: Frame) -> list[Criterion]:
    """`include: NAME`: the graders of another file."""
    take.read(TABLES["include"])
    name = take.text("include")
    if name is None:
        return []
    if frame.depth >= _DEEPEST_INCLUDE:
        take.problem(f"`include` goes deeper than {_DEEPEST_INCLUDE} files")
        return []
    path = frame.texts.resolve(
        name if "/" in name or "." in name else f".agentv/templates/{name}.yaml"
    )
    try:
        inner = reading_of(read_marked(path))
    except FileError as error:
        take.problem(f"the graders of `{name}` cannot be read: {error.message}", "include")
        return []
    frame.texts.files.append(path)
    texts = Texts(path.parent)
    texts.files = frame.texts.files
    here = inner.at()
    found: list[Criterion] = []
    if here.read(TABLES["included"]):
        key = "assertions" if "assertions" in here else "assert"
        found = read_graders(here, key, replace(frame, texts=texts, depth=frame.depth + 1))
    take.reading.join(inner)
    return found


# --------------------------------------------------------------------------------------------------
# one grader


def read_grader(take: FileEntry, frame: Frame) -> list[Criterion]:
    """One grader as a criterion; none where it is lost, which was said."""
    written = take.reading.marked.raw((*take.path, "type")) if take.is_mapping else None
    if written is None or not written.strip():
        if take.read(TABLES["judge"]):
            take.text("type")
        return []
    kind, turned = _kind(written)
    if kind not in CODE and kind not in (*RUBRICS, *JUDGES, *GROUPS):
        _say_unknown(take, written, kind)
        return []
    what = f"a grader of type `{kind}`"
    if kind in CODE:
        take.read(CODE_GRADERS[kind])
    else:
        take.read(TABLES["group" if kind in GROUPS else "judge"].named(what))
    name, weight = take.text("name", "metric", "id") or written, take.weight("weight")
    negate = (take.flag("negate") or False) != turned
    common = _Common(name=name, weight=weight, negate=negate)
    if kind in CODE:
        return _of_code(take, kind, common, frame)
    return (
        _of_group(take, kind, common, frame)
        if kind in GROUPS
        else _of_judge(take, kind, common, frame)
    )


def _kind(written: str) -> tuple[str, bool]:
    """The type in kebab case, and whether `not-` inverts it."""
    kind = written.replace("_", "-")
    bare = kind.removeprefix("not-")
    return (bare, True) if bare != kind and bare in CODE else (kind, False)


def _say_unknown(take: FileEntry, written: str, kind: str) -> None:
    if kind in FORMATS.lost:
        take.loss(f"a grader of type `{written}` {FORMATS.lost[kind][0]}")
        return
    known = (*CODE, *RUBRICS, *JUDGES, *GROUPS)
    meant = (
        near(kind.replace("-", "_"), [one.replace("-", "_") for one in known]) or kind
    ).replace("_", "-")
    if meant != kind and _is_slip(kind, meant):
        take.problem(f"`{written}` is not a type of grader", "type", f"did you mean `{meant}`?")
        return
    take.loss(f"a grader of type `{written}` is a program of its own in AgentV")


def _is_slip(written: str, meant: str) -> bool:
    """Whether one word was probably mistyped for the other: same beginning, nearly the same length."""
    return written[:2] == meant[:2] and abs(len(written) - len(meant)) <= 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Common:
    name: str
    weight: Fraction
    negate: bool

    def group(self, children: Sequence[Criterion], bar: Bar = NO_BAR) -> Criterion:
        return _group(self.name, children, weight=self.weight, negate=self.negate, floor=bar.floor)


def _bar(take: FileEntry, frame: Frame, *, is_yes_no: bool) -> Bar:
    """A grader's own bar: `min_score`, or `required` (true: its cut, else the case's threshold; a
    number: that).
    """
    least = take.number("min_score", low=0, high=1)
    required = take.raw("required")
    if required is not None and not isinstance(required, bool):
        number = take.number("required", low=0, high=1)
        return Bar(floor=number if least is None else least)
    if least is not None and not required and frame.dialect.bars_need_required:
        take.note(
            "`min_score` of a grader without `required: true` decides nothing, as in AgentV itself"
        )
        return NO_BAR
    if required and is_yes_no and (least is None or not frame.dialect.bars_need_required):
        return Bar(required=True, floor=least)
    return Bar(floor=frame.threshold if required and least is None else least)


def _of_code(take: FileEntry, kind: str, common: _Common, frame: Frame) -> list[Criterion]:
    found = read_checks(take, kind, frame)
    bar = _bar(take, frame, is_yes_no=CODE[kind] is not _script and (found is None or found.whole))
    return [_as_criterion(found, common, bar)] if found else []


def _as_criterion(found: Checks, common: _Common, bar: Bar) -> Criterion:
    if found.whole and len(found.parts) == 1:
        (part,) = found.parts
        check = replace(part.check, negated=part.check.negated != common.negate)
        name, weight = common.name, common.weight
        return check_criterion(
            check, id=name, weight=weight, required=bar.required, floor=bar.floor
        )
    return common.group(
        [check_criterion(part.check, id=part.id, weight=part.weight) for part in found.parts], bar
    )


def _of_judge(take: FileEntry, kind: str, common: _Common, frame: Frame) -> list[Criterion]:
    key = _criteria_key(take)
    if key is not None:
        children = _in_words_of(take, read_criteria(take, key, frame.dialect, frame.values), frame)
        bar = _bar(take, frame, is_yes_no=_is_alone(common, children))
        return [_under_name(common, children, bar)] if children else []
    if kind in RUBRICS and isinstance(take.value.get("criteria"), str):
        text = fill(take.value["criteria"], frame.values).strip()
        take.note(
            "a rubric whose `criteria` is one text is one criterion; AgentV itself leaves such a grader out"
        )
        return (
            [
                _under_name(
                    common, [yes_no(slug(text), text, required=frame.dialect.required)], NO_BAR
                )
            ]
            if text
            else []
        )
    if kind in RUBRICS:
        what = "rubrics" if kind == "rubric" else "criteria"
        take.problem(
            f"a grader of type `{kind}` needs `{what}`",
            hint=f"for example: {what}: [Names the cause]",
        )
    elif "score_ranges" in take or isinstance(take.value.get("value"), dict):
        return _of_one_criterion(take, common, frame)
    words = _asked(take, kind, common, frame)
    floor = _bar(take, frame, is_yes_no=False).floor
    return [rated(common.name, words, weight=common.weight, negate=common.negate, floor=floor)]


_FOR_CRITERIA: Final = frozenset(words("rubrics rubrics_json"))


def _in_words_of(take: FileEntry, criteria: Sequence[Criterion], frame: Frame) -> list[Criterion]:
    """Criteria in the words of the rubric's `prompt`, else of the file's `rubric_prompt`, which has
    a place for them.
    """
    at, key = (take, "prompt") if "prompt" in take else (frame.options, "rubric_prompt")
    if at is None or key not in at or not criteria:
        return list(criteria)
    path = (*at.path, key)
    prompt = frame.texts.prompt(at.reading, path, at.raw(key), bare=frame.dialect.bare_prompts)
    if prompt is None or not _FOR_CRITERIA & set(placeholders(prompt)):
        if prompt is not None:
            at.loss(
                f"a `{key}` without `{{{{ rubrics }}}}`: the criteria are asked in honestone's words",
                key,
            )
        return list(criteria)
    take.note(f"a `{key}` is asked once for each criterion of its rubric")

    def reworded(one: Criterion) -> Criterion:
        values = {**frame.values, **dict.fromkeys(_FOR_CRITERIA, one.requirement)}
        asked = as_requirement(at.reading, path, prompt, frame.goal, values)
        return replace(
            one,
            requirement=asked,
            items=tuple(replace(item, requirement=asked) for item in one.items),
        )

    return [reworded(one) for one in criteria]


def _criteria_key(take: FileEntry) -> str | None:
    """The key of the list of criteria."""
    return next(
        (key for key in ("rubrics", "criteria", "value") if isinstance(take.value.get(key), list)),
        None,
    )


def _of_one_criterion(take: FileEntry, common: _Common, frame: Frame) -> list[Criterion]:
    """`llm-rubric` with one criterion as its value, or with score ranges next to it."""
    dialect, values = frame.dialect, frame.values
    if not isinstance(take.value.get("value"), dict):
        text = take.text("value")
        for one in read_criterion(
            FileEntry(take.reading, take.path), dialect, values, TABLES["judge"]
        ):
            words = fill(text, values).strip() if text else one.requirement
            items = tuple(replace(item, id=common.name, requirement=words) for item in one.items)
            mine = replace(one, id=common.name, weight=Fraction(1), requirement=words, items=items)
            return [_under_name(common, [mine], NO_BAR)]
        return []
    inner = take.below("value")
    key = _criteria_key(inner)
    read = (
        read_criteria(inner, key, dialect, values)
        if key
        else tuple(read_criterion(inner, dialect, values))
    )
    children = _in_words_of(take, read, frame)
    bar = _bar(take, frame, is_yes_no=_is_alone(common, children))
    return [_under_name(common, children, bar)] if children else []


def _asked(take: FileEntry, kind: str, common: _Common, frame: Frame) -> str:
    """What a free-form judge is asked: its prompt or value, else the case's goal, under the
    grader's name.
    """
    reading, bare = take.reading, frame.dialect.bare_prompts
    for key in ("prompt", "value", "criteria"):
        if key not in take or (key == "criteria" and kind in RUBRICS):
            continue
        path: Steps = (*take.path, key)
        prompt = frame.texts.prompt(reading, path, take.raw(key), bare=bare)
        if prompt is not None:
            return as_requirement(reading, path, prompt, frame.goal, frame.values) or "?"
    aim = frame.goal or (
        "Agrees with the reference in what matters"
        if frame.reference
        else "Is a good answer to the input"
    )
    is_named = common.name.replace("_", "-") not in (*JUDGES, *RUBRICS)
    return f"{common.name}: {aim}" if is_named else aim


def _under_name(common: _Common, children: Sequence[Criterion], bar: Bar) -> Criterion:
    """A rubric under its grader's name; one with a single criterion of that very name is that
    criterion.
    """
    if not _is_alone(common, children):
        return common.group(children, bar)
    (only,) = children
    return replace(
        only,
        weight=common.weight,
        negate=common.negate,
        required=only.required or bar.required,
        floor=only.floor if bar.floor is None else bar.floor,
    )


def _is_alone(common: _Common, children: Sequence[Criterion]) -> bool:
    if len(children) != 1 or children[0].id != common.name:
        return False
    has_own_bar = children[0].required or children[0].floor is not None
    return not (common.negate and has_own_bar)


def _group(name: str, children: Sequence[Criterion], **more: Any) -> Criterion:
    return Criterion(id=name, requirement=name, children=tuple(children), **more)


# -------------------------------------------------------------------------------------------------------
# groups


def _of_group(take: FileEntry, kind: str, common: _Common, frame: Frame) -> list[Criterion]:
    key = next((key for key in _MEMBERS if key in take), _MEMBERS[0])
    children = read_graders(take, key, frame)
    if key not in take or not take.value[key]:
        take.problem(f"a grader of type `{kind}` needs `{key}`")
    weights = _aggregation(take, children)
    threshold = take.number("threshold", low=0, high=1)
    bar = _bar(take, frame, is_yes_no=False)
    by_case = take.value.get("required") is True and "min_score" not in take
    if threshold is not None and (bar.floor is None or by_case):
        bar = Bar(floor=threshold)
    members = [replace(child, weight=weights.get(child.id, child.weight)) for child in children]
    return [common.group(members, bar)] if members else []


def _is_yes_no(criterion: Criterion) -> bool:
    """Whether it is one question that is met or not."""
    return (
        not criterion.children and len(criterion.items) == 1 and criterion.items[0].anchors is None
    )


def _aggregation(take: FileEntry, children: Sequence[Criterion]) -> dict[str, Fraction]:
    """The weights that a group's `aggregator` gives to its members by name."""
    value = take.raw("aggregator")
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "threshold" and all(_is_yes_no(child) for child in children):
        take.note(
            "`aggregator: threshold` of yes/no graders: the share that is met counts, as in AgentV's own total"
        )
        return {child.id: Fraction(1) for child in children}
    if isinstance(kind, str) and kind.replace("_", "-") != "weighted-average":
        path = (*take.path, "aggregator")
        take.reading.loss(
            f"the scores of a group put together by `{kind}`, not as a weighted mean", path
        )
        return {}
    here = take.mapping("aggregator", TABLES["aggregator"])
    if here is None:
        # `composite` counts its members alike: their own weights are for lists of graders.
        return (
            {child.id: Fraction(1) for child in children} if take.raw("type") == "composite" else {}
        )
    if here.text("type") is None:
        return {}
    weights: dict[str, Fraction] = {}
    by_name = here.mapping("weights", TABLES["weights"])
    names = sorted(child.id for child in children)
    for name in by_name.value if by_name is not None else ():
        path = (*here.path, "weights", name)
        if str(name) not in names:
            message = f"`{name}` is not a grader of this group"
            here.reading.problem(message, path, did_you_mean(name, names), at_key=True)
        weights[str(name)] = FileEntry(here.reading, path[:-1]).weight(name)
    return {child.id: weights.get(child.id, Fraction(1)) for child in children}


# ----------------------------------------------------------------------------------------------
# graders that are code


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One check of a grader; `id` names it among several. `apart`: the grader is a group, also of
    one.
    """

    check: Check
    id: str = ""
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What a grader of code asks. `whole`: one yes/no question; else the share of its parts, by
    weight.
    """

    parts: tuple[Part, ...]
    whole: bool = True


_Read = Callable[[FileEntry, Frame], Checks | None]


def single(kind: str, value: Any, **options: Any) -> Checks:
    return Checks(parts=(Part(check=Check(kind=kind, value=value, options=options)),))


def read_checks(take: FileEntry, kind: str, frame: Frame) -> Checks | None:
    """The checks of a grader whose type is in `CODE`. None when there are none, which was said."""
    found = CODE[kind](take, frame)
    for part in found.parts if found else ():
        problem = check_problem(part.check) if part.check.kind in KINDS else None
        if problem is not None:
            take.problem(problem[0], hint=problem[1])
    return found


# ----------------------------------------------------------------------------------------------------------
# texts


_TEXTS: Final = words(
    "contains contains-any contains-all icontains icontains-any icontains-all starts-with ends-with equals"
)


def _texts_reader(kind: str) -> _Read:
    def read(take: FileEntry, frame: Frame) -> Checks | None:
        value = take.texts("value")
        if not value or not all(word.strip() for word in value):
            take.problem(
                f"`{kind}` needs a `value`", hint=f"for example: {{type: {kind}, value: hello}}"
            )
            return None
        words = [fill(word, frame.values) for word in value]
        if kind in ("starts-with", "ends-with", "equals"):
            if len(words) > 1:
                take.problem(f"`value` of `{kind}` must be one text", "value")
            return single(kind, words[0].strip())  # the tool trims both sides
        return single(
            kind, words[0] if len(words) == 1 and not kind.endswith(("-any", "-all")) else words
        )

    return read


# What a pattern says in JavaScript of ASCII alone, and in Python of all letters and digits.
ASCII_CLASSES: Final = re.compile(r"\\[wWdDbB]")


def _regex(take: FileEntry, frame: Frame) -> Checks | None:
    pattern, flags = take.text("value", "pattern"), take.text("flags") or ""
    if pattern is None:
        take.problem("`value` is missing")
        return None
    unknown = sorted(set(flags) - set("imsgu"))
    if unknown:
        take.loss(f"the flag `{unknown[0]}` of a pattern has no equivalent here", "flags")
    python = pattern.replace("(?<", "(?P<").replace("(?P<=", "(?<=").replace("(?P<!", "(?<!")
    if ASCII_CLASSES.search(pattern) and "i" not in flags:
        python = f"(?a){python}"  # JavaScript's letters, digits and word ends are those of ASCII
    known_flags = "".join(sorted(set(flags) & set("ims")))  # g and u change nothing here
    return single("regex", {"pattern": python, "flags": known_flags} if known_flags else python)


def _is_json(take: FileEntry, frame: Frame) -> Checks | None:
    schema = take.raw("value", "schema")
    if isinstance(schema, dict):
        return single("json-schema", schema)
    if schema not in (None, True):
        take.problem(f"`value` of `is-json` must be a JSON Schema, not {shown(schema)}", "value")
    return single("is-json", True)


# ---------------------------------------------------------------------------------------------------------
# fields


def _field_accuracy(take: FileEntry, frame: Frame) -> Checks | None:
    together = (
        take.choice("aggregation", ("weighted_average", "all_or_nothing")) == "all_or_nothing"
    )
    fields = [
        field for at in take.mappings("fields", TABLES["field"]) for field in _field(at, frame)
    ]
    if "fields" not in take or not take.value["fields"]:
        take.problem("`field-accuracy` needs `fields`")
        return None
    if not fields and isinstance(frame.expected, dict):
        take.note(
            "fields without an expected value are all met by an output with JSON in it, as in AgentV"
        )
        return single("contains-json", True)
    if not fields:
        take.loss("none of these fields has an expected value in the case's expected output")
        return None
    if together:
        return single(
            "field-accuracy",
            {
                "fields": [{k: v for k, v in f.items() if k != "weight"} for f in fields],
                "threshold": 1,
            },
        )
    return Checks(
        whole=False,
        parts=tuple(
            Part(
                id=field["path"],
                weight=Fraction(str(field.get("weight", 1))),
                check=Check(
                    kind="field-accuracy",
                    value={"fields": [{k: v for k, v in field.items() if k != "weight"}]},
                ),
            )
            for field in fields
        ),
    )


def _field(take: FileEntry, frame: Frame) -> Iterator[dict[str, Any]]:
    path = take.text("path")
    match = take.choice("match", ("exact", "numeric_tolerance", "date"))
    weight, tolerance = take.number("weight", low=0), take.number("tolerance", low=0)
    relative, required, formats = (
        take.flag("relative"),
        take.flag("required"),
        take.texts("formats"),
    )
    if path is None:
        return
    if required is False:
        take.note(
            "a field that is not required counts as wrong when it is absent; AgentV leaves it out of the mean"
        )
    expected, found = _look_up(frame.expected, path)
    if not found:
        take.note("fields without an expected value are not asked (AgentV counts them as met)")
        return
    yield {
        "path": path,
        "expected": expected,
        "match": match or "exact",
        **({"weight": as_written(weight)} if weight is not None else {}),
        **({"tolerance": as_written(tolerance)} if tolerance is not None else {}),
        **({"relative": relative} if relative is not None else {}),
        **({"formats": formats} if formats else {}),
    }


def _look_up(value: Any, path: str) -> tuple[Any, bool]:
    """`a.b[0].c` in nested values."""
    for step in path.replace("[", ".").replace("]", "").split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif (
            isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value)
        ):
            value = value[int(step)]
        else:
            return None, False
    return value, True


def expected_data(value: Any) -> Any:
    """The structured answer that fields are compared with: the last message's content, read as JSON
    where it is text.
    """
    if isinstance(value, list) and value and isinstance(value[-1], dict) and "content" in value[-1]:
        value = value[-1]["content"]
    elif isinstance(value, dict) and "role" in value and "content" in value:
        value = value["content"]
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value


# -----------------------------------------------------------------------------------------------------
# tool calls


def _trajectory(take: FileEntry, frame: Frame) -> Checks | None:
    mode = take.choice("mode", ("any_order", "in_order", "exact", "subset", "superset"))
    args = _args(take, "args_match", "argsMatch")
    minimums = take.raw("minimums")
    entries = list(take.mappings("expected", TABLES["call"]))
    calls = [call for at in entries for call in _call(at)]
    each = {_args(at, "args_match", "argsMatch") for at in entries if "args" in at} - {None}
    if len(each) > 1:
        take.loss(
            "tool calls whose arguments are compared in several ways",
            "expected",
            "make a grader of each way",
        )
    args = args or min((one for one in each if one is not None), default=None)
    if isinstance(minimums, dict) and minimums:
        here = take.below("minimums")
        counts = {str(name): here.number(name, low=0, is_whole=True) for name in minimums}
        return Checks(
            whole=False,
            parts=tuple(
                Part(
                    id=name, check=Check(kind="tool-count", value={name: {"min": int(least or 0)}})
                )
                for name, least in counts.items()
            ),
        )
    if not calls:
        what = "minimums" if mode == "any_order" else "expected"
        take.problem(f"`tool-trajectory` needs `{what}`")
        return None
    take.note(
        "a sequence of tool calls is met or not met as a whole; AgentV gives part of the score for part of it"
    )
    options: dict[str, object] = {
        "mode": {"superset": "any_order", None: "in_order"}.get(mode, mode)
    }
    if any("arguments" in call for call in calls):
        options["args"] = args or "exact"
    return single("tool-calls", calls, **options)


def _args(take: FileEntry, *keys: str) -> str | None:
    """AgentV's `superset` (the call has all these arguments) is `subset` here (these are among the
    call's).
    """
    value = take.raw(*keys)
    if value is None or value in ("exact", "ignore"):
        return value if isinstance(value, str) else None
    if value == "superset":
        return "subset"
    take.loss(f"`{keys[0]}: {shown(value)}` of tool calls has no equivalent here")
    return None


def _call(take: FileEntry) -> Iterator[dict[str, Any]]:
    tool, args = take.text("tool"), take.raw("args")
    if args is not None and args != "any" and not isinstance(args, dict):
        take.problem(f"`args` must be a mapping or `any`, not {shown(args)}", "args")
    yield {"tool": tool or "?", **({"arguments": args} if isinstance(args, dict) else {})}


def _value(take: FileEntry, table: str) -> FileEntry | None:
    """The mapping at `value`, which such a grader needs."""
    if "value" not in take:
        take.problem(f"`{take.text('type')}` needs a `value`")
    return take.mapping("value", TABLES[table])


def _tool_used(take: FileEntry, frame: Frame) -> Checks | None:
    value = take.raw("value")
    if isinstance(value, str | list):
        names = [value] if isinstance(value, str) else value
        parts = tuple(
            Part(id=str(n), check=Check(kind="tool-count", value={str(n): {"min": 1}}))
            for n in names
        )
        return Checks(parts=parts, whole=len(parts) == 1) if parts else None
    here = _value(take, "tool-used")
    name = None if here is None else here.text("name", "tool")
    if here is None or name is None:
        return None
    least, most = here.number("min", low=0, is_whole=True), here.number("max", low=0, is_whole=True)
    least = Fraction(1) if least is None and most is None else least
    bounds = {
        key: int(bound) for key, bound in (("min", least), ("max", most)) if bound is not None
    }
    return single("tool-count", {name: bounds})


def _tool_sequence(take: FileEntry, frame: Frame) -> Checks | None:
    steps = take.raw("value")
    mode: str | None = "in_order"
    if not isinstance(steps, list):
        here = _value(take, "tool-sequence")
        if here is None:
            return None
        steps, mode = here.raw("steps"), here.choice("mode", ("in_order", "exact"))
    names = [_tool_name(step) for step in steps] if isinstance(steps, list) else []
    if not names or None in names:
        take.problem("`trajectory:tool-sequence` needs `steps`, a list of tool names", "value")
        return None
    return single("tool-calls", [{"tool": name} for name in names], mode=mode or "in_order")


def _tool_name(step: Any) -> str | None:
    name = (step.get("name") or step.get("tool")) if isinstance(step, dict) else step
    return name if isinstance(name, str) else None


def _tool_args(take: FileEntry, frame: Frame) -> Checks | None:
    here = _value(take, "tool-args")
    if here is None:
        return None
    name, args, mode = (
        here.text("name", "tool"),
        here.raw("args"),
        here.choice("mode", ("partial", "exact")),
    )
    if not isinstance(args, dict):
        here.problem(f"`args` must be a mapping, not {shown(args)}")
        return None
    how = "exact" if mode == "exact" else "subset"
    return single("tool-calls", [{"tool": name, "arguments": args}], mode="any_order", args=how)


def _skill_trigger(take: FileEntry, frame: Frame) -> Checks | None:
    take.text("skill")
    take.note(
        "`skill-trigger` asks whether the skill that is tried was read; its name is not compared"
    )
    parts = single("skill-loaded", True)
    if take.flag("should_trigger") is not False:
        return parts
    return Checks(
        parts=tuple(replace(part, check=replace(part.check, negated=True)) for part in parts.parts)
    )


def _skill_used(take: FileEntry, frame: Frame) -> Checks | None:
    take.raw("value")
    take.note(
        "`skill-used` asks whether the skill that is tried was read; its name is not compared"
    )
    return single("skill-loaded", True)


# ---------------------------------------------------------------------------------------------------------
# limits


# Graders that are a limit, here and in AgentV, with the key of it.
LIMITS: Final = {"latency": "threshold", "cost": "budget"}


def _limit(kind: str, key: str) -> _Read:
    def read(take: FileEntry, frame: Frame) -> Checks | None:
        most = take.number(key, low=0)
        if most is None:
            take.problem(f"`{kind}` needs `{key}`") if key not in take else None
            return None
        return single(kind, as_written(most))

    return read


_TOKENS: Final = {
    "total": ("max_total", "maxTotal"),
    "input": ("max_input", "maxInput"),
    "output": ("max_output", "maxOutput"),
}


def _tokens(take: FileEntry, frame: Frame) -> Checks | None:
    limits = {name: take.number(*keys, low=0) for name, keys in _TOKENS.items()}
    value = {name: as_written(most) for name, most in limits.items() if most is not None}
    if not value:
        take.problem("`token-usage` needs `max_total`, `max_input` or `max_output`")
        return None
    return single("tokens", value)


_METRICS: Final = {
    "max_duration_ms": ("latency", "maxDurationMs"),
    "max_cost_usd": ("cost", "maxCostUsd"),
    "max_tokens": ("tokens", "maxTokens"),
    "max_llm_calls": ("model-calls", "maxLlmCalls"),
}


def _metrics(take: FileEntry, frame: Frame) -> Checks | None:
    parts = []
    for key, (kind, other) in _METRICS.items():
        most = take.number(key, other, low=0, is_whole=kind == "model-calls")
        if most is not None:
            value: Any = {"total": as_written(most)} if kind == "tokens" else as_written(most)
            parts.append(Part(id=key, check=Check(kind=kind, value=value)))
    calls = take.number("max_tool_calls", "maxToolCalls", low=0, is_whole=True)
    if calls is not None:
        parts.append(
            Part(
                id="max_tool_calls",
                check=Check(kind="tool-count", value={"*": {"max": int(calls)}}),
            )
        )
    if not parts and not any(key.startswith(("max_", "target_")) for key in map(str, take.value)):
        take.problem(
            "`execution-metrics` needs a limit", hint="for example: max_duration_ms: 60000"
        )
    return Checks(parts=tuple(parts), whole=False) if parts else None


# -------------------------------------------------------------------------------------------------------
# commands


def _script(take: FileEntry, frame: Frame) -> Checks | None:
    words = _words(take)
    cwd = take.text("cwd")
    if cwd is not None and frame.texts.resolve(cwd).resolve() != frame.texts.folder.resolve():
        take.loss(f"a grader runs in its file's folder, not in `{cwd}`", "cwd")
    given = take.raw("config")
    config: dict[str, object] = dict(given) if isinstance(given, dict) else {}
    # Unknown keys are the program's own settings, as in AgentV.
    known = take.keys.by_name if take.keys is not None else {}
    config |= {str(key): value for key, value in take.value.items() if str(key) not in known}
    if words is None:
        return None
    options: dict[str, object] = {"config": config} if config else {}
    if frame.container is not None:
        take.reading.runs(f"a container of the image `{frame.container.image}`", take.path)
        words, options = frame.container.words(words), {**options, **frame.container.options}
    return single("grader", words, **options, scored=True, takes_text=True)


def _words(take: FileEntry) -> list[str] | None:
    key = take.which("command", "script")
    if key is None:
        take.problem("a grader that is a program needs a `command`")
        return None
    value = take.value[key]
    if isinstance(value, str):
        try:
            value = shlex.split(value)
        except ValueError as error:
            take.reading.problem(
                f"`{key}` cannot be split into words: {str(error).lower()}", (*take.path, key)
            )
            return None
    words = (
        take.texts(key) if isinstance(value, list) and isinstance(take.value[key], list) else value
    )
    if not words or not str(words[0]).strip():
        take.reading.problem(f"`{key}` is empty", (*take.path, key))
        return None
    return list(words)


# Graders that are code, by type in kebab case.
CODE: Final[Mapping[str, _Read]] = {
    **{kind: _texts_reader(kind) for kind in _TEXTS},
    **{kind: _limit(kind, key) for kind, key in LIMITS.items()},
    **dict.fromkeys(words("script code code-judge code-grader script-grader"), _script),
    "regex": _regex,
    "is-json": _is_json,
    "field-accuracy": _field_accuracy,
    "tool-trajectory": _trajectory,
    "trajectory:tool-used": _tool_used,
    "trajectory:tool-sequence": _tool_sequence,
    "trajectory:tool-args-match": _tool_args,
    "skill-used": _skill_used,
    "skill-trigger": _skill_trigger,
    "token-usage": _tokens,
    "execution-metrics": _metrics,
}
