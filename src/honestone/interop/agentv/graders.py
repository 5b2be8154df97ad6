"""The graders of an AgentV case as criteria: rubrics, free-form judges, code, and groups of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

from honestone.core.errors import FileError
from honestone.core.rubric import Criterion, Item, slug
from honestone.formats.check_words import check_in_words
from honestone.formats.fields import near
from honestone.formats.marked import read_marked
from honestone.formats.reader import Entry, Reading, Steps, did_you_mean, shown
from honestone.interop.agentv.checks import CODE, NOT_HERE, Checks, CodeContext, read_checks
from honestone.interop.agentv.dialect import Dialect
from honestone.interop.agentv.keys import AGGREGATOR, CODE_GRADERS, GROUP, INCLUDE, INCLUDED, JUDGE, WEIGHTS
from honestone.interop.agentv.rubrics import rated, read_criteria, read_criterion
from honestone.interop.agentv.text import Texts, as_requirement, fill
from honestone.interop.criteria import unique_ids, yes_no

RUBRICS: Final = ("rubric", "rubrics")
JUDGES: Final = ("llm-judge", "llm-grader", "llm-rubric", "agent-rubric", "g-eval")
GROUPS: Final = ("composite", "assert-set")
_MEMBERS: Final = ("assert", "assertions", "evaluators")
_DEEPEST_INCLUDE: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What the graders of one case are read with. `threshold` is the cut of a required grader without its own."""

    dialect: Dialect
    texts: Texts
    threshold: Fraction
    goal: str | None = None
    reference: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None
    depth: int = 0

    @property
    def code(self) -> CodeContext:
        return CodeContext(values=self.values, expected=self.expected)


def read_graders(take: Entry, key: str, frame: Frame) -> list[Criterion]:
    """The graders of a list, in order. Strings anywhere in it are one rubric, in the place of the first of them."""
    listed = take.raw(key)
    if listed is None:
        return []
    if not isinstance(listed, list):
        take.reading.problem(f"`{key}` must be a list of graders, not {shown(listed)}", (*take.path, key))
        return []
    found: list[Criterion] = []
    strings = [index for index, entry in enumerate(listed) if isinstance(entry, str)]
    for index in range(len(listed)):
        here = Entry(take.reading, (*take.path, key, index))
        if index in strings:
            found += _of_strings(take, key, strings, frame) if index == strings[0] else []
        else:
            found += _included(here, frame) if "include" in here else read_grader(here, frame)
    return found


def _of_strings(take: Entry, key: str, indexes: Sequence[int], frame: Frame) -> list[Criterion]:
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
    return [_group(_kind_name(frame.dialect), children, weight=Fraction(len(children)))]


def _kind_name(dialect: Dialect) -> str:
    return "llm-rubric" if dialect.judge == "llm-rubric" else "rubrics"


def _included(take: Entry, frame: Frame) -> list[Criterion]:
    """`include: NAME`: the graders of another file."""
    take.read(INCLUDE)
    name = take.text("include")
    if name is None:
        return []
    if frame.depth >= _DEEPEST_INCLUDE:
        take.reading.problem(f"`include` goes deeper than {_DEEPEST_INCLUDE} files", take.path)
        return []
    path = frame.texts.resolve(name if "/" in name or "." in name else f".agentv/templates/{name}.yaml")
    try:
        inner = Reading(read_marked(path))
    except FileError as error:
        take.reading.problem(f"the graders of `{name}` cannot be read: {error.message}", (*take.path, "include"))
        return []
    frame.texts.files.append(path)
    texts = Texts(path.parent)
    texts.files = frame.texts.files
    here = inner.at()
    found: list[Criterion] = []
    if here.read(INCLUDED):
        found = read_graders(here, "assert", replace(frame, texts=texts, depth=frame.depth + 1))
    take.reading.join(inner)
    return found


# -------------------------------------------------------------------------------------------------- one grader


def read_grader(take: Entry, frame: Frame) -> list[Criterion]:
    """One grader as a criterion; none where it is lost, which was said."""
    written = take.reading.marked.raw((*take.path, "type")) if take.is_mapping else None
    if written is None or not written.strip():
        if take.read(JUDGE):
            take.text("type")
        return []
    kind, turned = _kind(written)
    if kind not in CODE and kind not in (*RUBRICS, *JUDGES, *GROUPS):
        _say_unknown(take, written, kind)
        return []
    what = f"a grader of type `{kind}`"
    take.read(CODE_GRADERS[kind] if kind in CODE else GROUP.named(what) if kind in GROUPS else JUDGE.named(what))
    name, weight = take.text("name", "metric", "id") or written, take.number("weight", low=0)
    negate = (take.flag("negate") or False) != turned
    common = _Common(name=name, weight=Fraction(1) if weight is None else weight, negate=negate)
    if kind in CODE:
        return _of_code(take, kind, common, frame)
    return _of_group(take, kind, common, frame) if kind in GROUPS else _of_judge(take, kind, common, frame)


def _kind(written: str) -> tuple[str, bool]:
    """The type in kebab case, and whether `not-` inverts it."""
    kind = written.replace("_", "-")
    bare = kind.removeprefix("not-")
    return (bare, True) if bare != kind and bare in CODE else (kind, False)


def _say_unknown(take: Entry, written: str, kind: str) -> None:
    if kind in NOT_HERE:
        take.reading.loss(f"a grader of type `{written}` {NOT_HERE[kind]}", take.path)
        return
    known = (*CODE, *RUBRICS, *JUDGES, *GROUPS)
    meant = (near(kind.replace("-", "_"), [one.replace("-", "_") for one in known]) or kind).replace("_", "-")
    if meant != kind and _is_slip(kind, meant):
        take.problem(f"`{written}` is not a type of grader", "type", f"did you mean `{meant}`?")
        return
    take.reading.loss(f"a grader of type `{written}` is a program of its own in AgentV", take.path)


def _is_slip(written: str, meant: str) -> bool:
    """Whether one word was probably mistyped for the other: same beginning, nearly the same length."""
    return written[:2] == meant[:2] and abs(len(written) - len(meant)) <= 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Common:
    name: str
    weight: Fraction
    negate: bool


def _bar(take: Entry, frame: Frame, *, is_yes_no: bool, minimum: bool = True) -> dict[str, Any]:
    """A grader's own bar: `min_score`, or `required` (true: its cut, else the case's threshold; a number: that)."""
    least = take.number("min_score", low=0, high=1) if minimum else None
    required = take.raw("required")
    if isinstance(required, bool) or required is None:
        if required and is_yes_no:
            return {"required": True, "floor": least}
        return {"floor": frame.threshold if required and least is None else least}
    return {"floor": take.number("required", low=0, high=1)}


def _of_code(take: Entry, kind: str, common: _Common, frame: Frame) -> list[Criterion]:
    is_program = CODE[kind] is CODE["script"]
    if is_program:
        bar = _bar(take, frame, is_yes_no=True, minimum=False)
        found = read_checks(take, kind, frame.code)
    else:
        found = read_checks(take, kind, frame.code)
        bar = _bar(take, frame, is_yes_no=found is None or found.whole)
    return [_as_criterion(found, common, bar)] if found else []


def _as_criterion(found: Checks, common: _Common, bar: dict[str, Any]) -> Criterion:
    if found.whole and len(found.parts) == 1:
        check = replace(found.parts[0].check, negated=common.negate)
        words = check_in_words(check)
        item = Item(id=common.name, requirement=words, check=check, whole=True)
        return Criterion(id=common.name, requirement=words, weight=common.weight, items=(item,), **bar)
    children = [
        Criterion(
            id=part.id,
            requirement=words,
            weight=part.weight,
            items=(Item(id=part.id, requirement=words, check=part.check, whole=True),),
        )
        for part in found.parts
        for words in (check_in_words(part.check),)
    ]
    bar.pop("required", None)
    return _group(common.name, children, weight=common.weight, negate=common.negate, **bar)


def _of_judge(take: Entry, kind: str, common: _Common, frame: Frame) -> list[Criterion]:
    key = _criteria_key(take)
    if key is not None:
        _lose_prompt(take)
        children = read_criteria(take, key, frame.dialect, frame.values)
        bar = _bar(take, frame, is_yes_no=_is_alone(common, children))
        return [_named(common, children, bar)] if children else []
    if kind in RUBRICS:
        what = "rubrics" if kind == "rubric" else "criteria"
        take.reading.problem(
            f"a grader of type `{kind}` needs `{what}`", take.path, f"for example: {what}: [Names the cause]"
        )
    elif "score_ranges" in take or isinstance(take.value.get("value"), dict):
        return _of_one_criterion(take, kind, common, frame)
    words = _asked(take, kind, common, frame)
    bar = _bar(take, frame, is_yes_no=False)
    return [rated(common.name, words, weight=common.weight, negate=common.negate, **bar)]


def _lose_prompt(take: Entry) -> None:
    if "prompt" in take:
        take.loss("a rubric with a `prompt` of its own: the criteria are asked in honestone's words", "prompt")


def _criteria_key(take: Entry) -> str | None:
    """The key of the list of criteria."""
    return next((key for key in ("rubrics", "criteria", "value") if isinstance(take.value.get(key), list)), None)


def _of_one_criterion(take: Entry, kind: str, common: _Common, frame: Frame) -> list[Criterion]:
    """`llm-rubric` with one criterion as its value, or with score ranges next to it."""
    if isinstance(take.value.get("value"), dict):
        inner = take.below("value")
        if _criteria_key(inner) is not None:
            children: tuple[Criterion, ...] = read_criteria(
                inner, _criteria_key(inner) or "", frame.dialect, frame.values
            )
        else:
            children = tuple(read_criterion(inner, frame.dialect, frame.values))
    else:
        text = take.text("value")
        children = tuple(
            replace(
                one,
                id=common.name,
                weight=Fraction(1),
                requirement=fill(text, frame.values).strip() if text else one.requirement,
            )
            for one in read_criterion(Entry(take.reading, take.path), frame.dialect, frame.values, JUDGE)
        )
        children = tuple(
            replace(one, items=tuple(replace(item, id=one.id, requirement=one.requirement) for item in one.items))
            for one in children
        )
        return [_named(common, children, {})] if children else []
    bar = _bar(take, frame, is_yes_no=_is_alone(common, children))
    _lose_prompt(take)
    return [_named(common, children, bar)] if children else []


def _asked(take: Entry, kind: str, common: _Common, frame: Frame) -> str:
    """What a free-form judge is asked: its prompt or value, else the case's goal, under the grader's name."""
    reading, bare = take.reading, frame.dialect.bare_prompts
    for key in ("prompt", "value", "criteria"):
        if key not in take or (key == "criteria" and kind in RUBRICS):
            continue
        path: Steps = (*take.path, key)
        prompt = frame.texts.prompt(reading, path, take.raw(key), bare=bare)
        if prompt is not None:
            return as_requirement(reading, path, prompt, frame.goal, frame.values) or "?"
    aim = frame.goal or (
        "Agrees with the reference in what matters" if frame.reference else "Is a good answer to the input"
    )
    is_named = common.name.replace("_", "-") not in (*JUDGES, *RUBRICS)
    return f"{common.name}: {aim}" if is_named else aim


def _named(common: _Common, children: Sequence[Criterion], bar: dict[str, Any]) -> Criterion:
    """A rubric under its grader's name; one with a single criterion of that very name is that criterion."""
    if _is_alone(common, children):
        (only,) = children
        floor = bar.get("floor")
        return replace(
            only,
            weight=common.weight,
            negate=common.negate,
            required=only.required or bool(bar.get("required")),
            floor=only.floor if floor is None else floor,
        )
    bar.pop("required", None)
    return _group(common.name, children, weight=common.weight, negate=common.negate, **bar)


def _is_alone(common: _Common, children: Sequence[Criterion]) -> bool:
    if len(children) != 1 or children[0].id != common.name:
        return False
    has_own_bar = children[0].required or children[0].floor is not None
    return not (common.negate and has_own_bar)


def _group(name: str, children: Sequence[Criterion], **more: Any) -> Criterion:
    return Criterion(id=name, requirement=name, children=tuple(children), **more)


# ------------------------------------------------------------------------------------------------------- groups


def _of_group(take: Entry, kind: str, common: _Common, frame: Frame) -> list[Criterion]:
    key = next((key for key in _MEMBERS if key in take), _MEMBERS[0])
    children = read_graders(take, key, frame)
    if key not in take or not take.value[key]:
        take.reading.problem(f"a grader of type `{kind}` needs `{key}`", take.path)
    weights = _aggregation(take, children)
    threshold = take.number("threshold", low=0, high=1)
    bar = _bar(take, frame, is_yes_no=False)
    if bar["floor"] is None or (
        take.value.get("required") is True and "min_score" not in take and threshold is not None
    ):
        bar["floor"] = threshold if threshold is not None else bar["floor"]
    if not children:
        return []
    members = [replace(child, weight=weights.get(child.id, child.weight)) for child in children]
    return [_group(common.name, members, weight=common.weight, negate=common.negate, **bar)]


def _aggregation(take: Entry, children: Sequence[Criterion]) -> dict[str, Fraction]:
    """The weights that a group's `aggregator` gives to its members by name."""
    value = take.raw("aggregator")
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind.replace("_", "-") != "weighted-average":
        path = (*take.path, "aggregator")
        take.reading.loss(f"the scores of a group put together by `{kind}`, not as a weighted mean", path)
        return {}
    here = take.mapping("aggregator", AGGREGATOR)
    if here is None or here.text("type") is None:
        return {}
    weights: dict[str, Fraction] = {}
    by_name = here.mapping("weights", WEIGHTS)
    names = sorted(child.id for child in children)
    for name in by_name.value if by_name is not None else ():
        path = (*here.path, "weights", name)
        if str(name) not in names:
            message = f"`{name}` is not a grader of this group"
            here.reading.problem(message, path, did_you_mean(name, names), at_key=True)
        weight = Entry(here.reading, path[:-1]).number(name, low=0)
        weights[str(name)] = Fraction(1) if weight is None else weight
    return {child.id: weights.get(child.id, Fraction(1)) for child in children}


def as_top_level(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """The graders of a case as the criteria of its rubric, each id once."""
    return unique_ids(list(criteria))
