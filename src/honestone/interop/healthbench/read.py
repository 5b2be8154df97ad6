"""HealthBench: JSON lines, each a conversation with criteria that give points or take them away. One line is one case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from honestone.core.errors import RubricError
from honestone.core.rubric import DEFAULT_THRESHOLD, Criterion, Rubric, slug
from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.document import Document
from honestone.interop.base import KnownKey, Reader, SuiteSource, Taking, Walk, shown
from honestone.interop.criteria import unique_ids, yes_no

ID_TAG: Final = "id:"
"""A criterion's tag that starts so is its id: the format has no other place for one."""
NO_BARS = "threshold 70 and no floor: the format has neither; --threshold and --floor set them"
CUT = "a case's score is cut to 0..1; HealthBench cuts only the mean over all cases"
REFERENCE = "the ideal completion is the case's reference, which judges see; HealthBench's own grader is not shown it"
CRITERION_TAGS: Final = "criterion_tags"
KEPT: Final = ("ideal_completions_group", "ideal_completions_ref_completions")


def signs(document: Document) -> int:
    value = document.value
    row = value[0] if isinstance(value, list) and value else value
    if not isinstance(row, dict) or not isinstance(row.get("rubrics"), list):
        return 0
    entries = [entry for entry in row["rubrics"] if isinstance(entry, dict)]
    if any("criterion" in entry and "points" in entry for entry in entries):
        return 95 if "prompt" in row else 70
    return 60 if {"prompt", "prompt_id"} & set(row) else 0


def read(document: Document) -> SuiteSource:
    cases: list[Case] = []
    places: dict[str, str] = {}
    walks: list[Walk] = []
    for walk, row in _rows(document):
        if not walks or walk is not walks[-1]:
            walks.append(walk)
        case = _case(walk, row, len(cases) + 1)
        if case is not None and case.id in places:
            walk.problem(f"two lines have the prompt_id `{case.id}`: the first is {places[case.id]}", row.path)
        elif case is not None:
            cases.append(case)
            places[case.id] = walk.marked.at(row.path)
    whole = walks[0]
    for other in walks[1:]:
        whole.join(other)
    whole.finish()
    return SuiteSource(
        suite=Suite(cases=tuple(cases)),
        dialect="healthbench",
        base=document.path.parent,
        files=(document.path,),
        notes=(NO_BARS, CUT, *whole.notes),
        losses=tuple(whole.losses),
        places=places,
    )


def _rows(document: Document) -> Iterator[tuple[Walk, Taking]]:
    """Every case with the walk it belongs to: one a line, or one for a whole JSON file (an object or a list)."""
    if document.is_lines:
        for row in document.rows:
            walk = Walk(row.marked)
            yield walk, walk.at()
        return
    whole = Walk(document.marked)
    if not isinstance(document.value, list):
        yield whole, whole.at()
        return
    for index in range(len(document.value)):
        yield whole, whole.at((index,))


def _case(walk: Walk, row: Taking, number: int) -> Case | None:
    if not row.require_mapping("a line"):
        return None
    wrong = len(walk.problems)
    id = row.text("prompt_id")
    if id is None:
        walk.note("a line without `prompt_id` is called by its number")
    messages = tuple(_messages(walk, row))
    tags = row.texts("example_tags") or []
    ideal = _ideal(walk, row)
    canary = row.text("canary")
    rubric, criterion_tags = _rubric(walk, row)
    row.close("a line")
    if rubric is None or len(walk.problems) > wrong:
        return None
    metadata = {key: ideal[key] for key in KEPT if key in ideal}
    if criterion_tags:
        metadata[CRITERION_TAGS] = criterion_tags
        walk.note("the tags of single criteria are kept in each case's metadata")
    if canary is not None:
        metadata["canary"] = canary
    return Case(
        id=id or f"line-{number}",
        rubric=rubric,
        messages=messages,
        reference=ideal.get("ideal_completion"),
        tags=tuple(tags),
        metadata=metadata,
    )


def _messages(walk: Walk, row: Taking) -> Iterator[Message]:
    if "prompt" not in row:
        walk.problem("`prompt` is missing", row.path, 'a list of {"role", "content"}')
    empty = isinstance(row.raw("prompt"), list) and not row.raw("prompt")
    if empty:
        walk.problem("`prompt` is empty", (*row.path, "prompt"), 'a list of {"role", "content"}')
    for message in row.each("prompt", "messages"):
        if not message.require_mapping("a message"):
            continue
        role = message.text("role", required=True)
        content = message.raw("content")
        if not isinstance(content, str):
            walk.problem(f"`content` must be text, not {shown(content)}", message.path)
        message.close("a message")
        if role is not None and isinstance(content, str):
            yield Message(role, content)


def _ideal(walk: Walk, row: Taking) -> Mapping[str, Any]:
    """The ideal completion and what belongs to it."""
    if "ideal_completions_data" not in row:
        row.raw("ideal_completions_data")
        return {}
    data = row.below("ideal_completions_data")
    if not data.require_mapping("`ideal_completions_data`"):
        return {}
    found: dict[str, Any] = {}
    for key in ("ideal_completion", "ideal_completions_group"):
        text = data.text(key)
        if text is not None:
            found[key] = text
    others = data.texts("ideal_completions_ref_completions")
    if others is not None:
        found["ideal_completions_ref_completions"] = others
    data.close("`ideal_completions_data`")
    if "ideal_completion" in found:
        walk.note(REFERENCE)
    return found


def _rubric(walk: Walk, row: Taking) -> tuple[Rubric | None, dict[str, list[str]]]:
    """The criteria of a line, and the tags of each by its id."""
    here = (*row.path, "rubrics")
    wrong = len(walk.problems)
    entries = list(row.each("rubrics", "criteria"))
    read = [found for entry in entries if (found := _criterion(walk, entry)) is not None]
    if len(walk.problems) > wrong:
        return None, {}
    if not read:
        walk.problem("this line has no criteria", here if "rubrics" in row else row.path)
        return None, {}
    named = unique_ids([criterion for criterion, _ in read])
    if not any(criterion.weight > 0 for criterion in named):
        walk.problem(
            "no criterion of this line gives points: a score is a share of the points that can be won",
            here,
            "give one criterion `points` above 0",
        )
        return None, {}
    tags = {criterion.id: tags for criterion, (_, tags) in zip(named, read, strict=True) if tags}
    try:
        return Rubric(criteria=named, threshold=DEFAULT_THRESHOLD, floor=Fraction(0)), tags
    except RubricError as error:
        walk.problem(error.message, here, error.hint)
        return None, {}


def _criterion(walk: Walk, entry: Taking) -> tuple[Criterion, list[str]] | None:
    if not entry.require_mapping("a criterion"):
        return None
    requirement = entry.text("criterion", required=True)
    points = entry.number("points")
    if entry.which("points") is None:
        walk.problem("`points` is missing", entry.path, "a number; below 0 it takes points away")
    tags = entry.texts("tags") or []
    entry.close("a criterion")
    if requirement is None or points is None:
        return None
    named = next((tag for tag in tags if tag.startswith(ID_TAG) and tag[len(ID_TAG) :].strip()), None)
    id = named[len(ID_TAG) :] if named else slug(requirement)
    return yes_no(id, requirement, weight=points), [tag for tag in tags if tag is not named]


READERS: tuple[Reader, ...] = (
    Reader(
        name="healthbench",
        title="a HealthBench file",
        gives="suite",
        signs=signs,
        read=read,
        keys=(
            KnownKey(key="prompt_id", meaning="the case's id"),
            KnownKey(key="prompt[].role, content", meaning="the conversation, which is the input"),
            KnownKey(key="rubrics[].criterion", meaning="a yes/no question"),
            KnownKey(key="rubrics[].points", meaning="its weight; below 0 a penalty"),
            KnownKey(
                key="rubrics[].tags", meaning="kept in the case's metadata; a tag `id:NAME` is the criterion's id"
            ),
            KnownKey(key="example_tags", meaning="the case's tags"),
            KnownKey(key="ideal_completions_data.ideal_completion", meaning="the case's reference"),
            KnownKey(
                key="ideal_completions_data.ideal_completions_group, ideal_completions_ref_completions",
                meaning="kept in the case's metadata",
            ),
            KnownKey(key="canary", meaning="kept in the case's metadata"),
        ),
        defaults=("score: points won / points that can be won", CUT, NO_BARS),
        looks_like=("prompt", "prompt_id", "rubrics", "example_tags", "ideal_completions_data"),
        example='{"prompt_id": "burn-1", "prompt": [{"role": "user", "content": "I burned my hand."}], '
        '"rubrics": [{"criterion": "Says to cool it under running water", "points": 5, "tags": ["axis:accuracy"]}, '
        '{"criterion": "Suggests butter", "points": -4, "tags": []}], "example_tags": ["theme:first-aid"]}\n',
    ),
)
