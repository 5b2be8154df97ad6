"""The graders of an AgentV case as criteria: rubrics, free-form judges, code, and groups of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.errors import FileError
from honestone.core.judging.rubric import Criterion, slug
from honestone.formats.fields import near
from honestone.formats.syntax.marked import read_marked
from honestone.formats.syntax.reader import FileEntry, Steps, did_you_mean, shown, words
from honestone.interop.agentv.code_graders import CODE, Checks, Frame, _script, read_checks
from honestone.interop.agentv.dialect import CODE_GRADERS, FORMATS, TABLES
from honestone.interop.agentv.rubrics import NO_BAR, Bar, rated, read_criteria, read_criterion
from honestone.interop.agentv.templates import reading_of
from honestone.interop.agentv.text import Texts, as_requirement, fill, placeholders
from honestone.interop.criteria import check_criterion, yes_no

RUBRICS: Final = ("rubric", "rubrics")
JUDGES: Final = ("llm-judge", "llm-grader", "llm-rubric", "agent-rubric", "g-eval")
GROUPS: Final = ("composite", "assert-set")
_MEMBERS: Final = ("assert", "assertions", "evaluators")
_DEEPEST_INCLUDE: Final = 3


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


class _Common(Struct, frozen=True, kw_only=True):
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
    words = _judge_question(take, kind, common, frame)
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
        values = frame.values.with_others(dict.fromkeys(_FOR_CRITERIA, one.requirement))
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


def _judge_question(take: FileEntry, kind: str, common: _Common, frame: Frame) -> str:
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
