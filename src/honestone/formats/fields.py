"""The native rubric format, described once: the reader, near matches, the JSON Schema and the reference page use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

VERSION: Final = 1
"""The `rubric:` version that this program reads and writes."""

Takes: TypeAlias = Literal[
    "version",
    "name",
    "text",
    "weight",
    "points",
    "flag",
    "items",
    "criteria",
    "anchors",
    "check",
    "command",
    "level",
    # of suites (`suite_fields`)
    "suite-version",
    "case-id",
    "prose",
    "content",
    "path",
    "folder",
    "target",
    "rubric",
    "checks",
    "count",
    "rule",
    "seconds",
    "commands",
    "workspace",
    "cases",
    "input",
    "split",
    "tags",
    "expect",
    "output",
    "files",
    "git",
    "ref",
    "paths",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A kind of value: in words for messages (`must be ...`), and as JSON Schema."""

    words: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key: what it takes, what it means, what holds without it. `also` are spellings of other tools and habits."""

    key: str
    takes: Takes
    doc: str
    example: str
    default: str = "none"
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A mapping with known keys. `short` says what it may be instead of a mapping."""

    name: str
    doc: str
    fields: tuple[Field, ...]
    short: str = ""

    def field(self, key: object) -> Field | None:
        return next((field for field in self.fields if field.key == key), None)


TAKES: Final[Mapping[Takes, Taken]] = {
    "version": Taken(words="the number 1", schema={"const": VERSION}),
    "name": Taken(words="text", schema={"type": ["string", "number", "boolean"]}),
    "text": Taken(words="text", schema={"type": "string", "pattern": r"\S"}),
    "weight": Taken(words="a number", schema={"type": "number"}),
    "points": Taken(words="a number from 0 to 100", schema={"type": "number", "minimum": 0, "maximum": 100}),
    "flag": Taken(words="true or false", schema={"type": "boolean"}),
    "items": Taken(words="a list", schema={"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/item"}}),
    "criteria": Taken(words="a list", schema={"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/criterion"}}),
    "anchors": Taken(words="a mapping from numbers to text", schema={"$ref": "#/$defs/anchors"}),
    "check": Taken(words="one check", schema={"$ref": "#/$defs/check"}),
    "command": Taken(words="a command line", schema={"type": "string", "pattern": r"\S"}),
    "level": Taken(words="a number", schema={"type": "number"}),
}

_ID_DOC = (
    "Names it in results, reports and judges' replies. Without one: its text, shortened; rewording makes a new id."
)
_MAY_NOT_APPLY = "A judge may answer that it does not apply; then it leaves the mean."
_FIX = "The command that the check-fixing worker runs when it is unmet, looked up beside the rubric."
_ANCHORS_DOC = (
    "Described levels, from number to text. A judge answers with any number on the scale from the lowest to the highest; "
    "the score is where it lies between the two, so 7.5 on 0-10 is 75."
)

RUBRIC: Final = Shape(
    name="rubric",
    doc="What good looks like, and the bar to meet.",
    fields=(
        Field(key="rubric", takes="version", doc="The version of this format.", example="rubric: 1", default="1"),
        Field(
            key="title",
            takes="name",
            doc="What this rubric is about, for people.",
            example="title: A bug report that a stranger can act on",
            also=("name",),
        ),
        Field(
            key="threshold",
            takes="points",
            doc="The overall score to reach.",
            example="threshold: 80",
            default="70",
            also=("pass_threshold", "passing_score", "pass_mark", "min_score"),
        ),
        Field(
            key="floor",
            takes="points",
            doc="The score that every top-level criterion has to reach, whatever the mean; 0 turns it off.",
            example="floor: 60",
            default="60",
            also=("minimum", "criterion_floor"),
        ),
        Field(
            key="criteria",
            takes="criteria",
            doc="The criteria, one at least.",
            example="criteria: [Says who is hit, Says how badly]",
            default="required",
            also=("criterion", "rubrics", "dimensions"),
        ),
    ),
)

CRITERION: Final = Shape(
    name="criterion",
    doc=(
        "One thing that matters. Without `items`, `anchors`, `check` or `criteria` it is one yes/no question. "
        "The first three may be mixed: then the criterion's own `anchors` or `check` count as one more item. "
        "A group has `criteria` and none of them."
    ),
    short="A plain text is a yes/no criterion of weight 1.",
    fields=(
        Field(
            key="id",
            takes="name",
            doc=_ID_DOC + " Unique in the whole rubric.",
            example="id: reproducible",
            default="from `requirement`",
            also=("key", "slug"),
        ),
        Field(
            key="requirement",
            takes="text",
            doc="What is asked, in words. A group may leave it out (its id stands in), and so may a criterion with a `check`.",
            example="requirement: A stranger can reproduce the bug",
            default="required",
            also=("description", "text", "question", "name", "title", "criterion", "outcome", "expectation"),
        ),
        Field(
            key="weight",
            takes="weight",
            doc=(
                "How much it counts among its siblings: 3 counts three times as much as 1. Percent-like weights must sum "
                "to 100. Negative is a penalty, for yes/no criteria only."
            ),
            example="weight: 50",
            default="1",
            also=("points", "importance"),
        ),
        Field(
            key="floor",
            takes="points",
            doc="The score that this criterion has to reach; overrides the rubric's.",
            example="floor: 70",
            default="the rubric's at the top level, else none",
            also=("minimum", "min_score", "required_min_score", "threshold"),
        ),
        Field(
            key="required",
            takes="flag",
            doc="Score 0 here fails everything, whatever the mean.",
            example="required: true",
            default="false",
            also=("must", "mandatory", "critical"),
        ),
        Field(
            key="negate",
            takes="flag",
            doc="Its score is turned round, for what should not be: 100 becomes 0.",
            example="negate: true",
            default="false",
            also=("not", "inverse", "invert", "reversed"),
        ),
        Field(
            key="items",
            takes="items",
            doc="A checklist: the score is the share of its items that are met. 5 to 10 items work best.",
            example="items: [States the exact version, Gives numbered steps]",
            also=("checklist", "sub_items", "questions"),
        ),
        Field(
            key="anchors",
            takes="anchors",
            doc=_ANCHORS_DOC,
            example="anchors: {0: hostile, 50: neutral in places, 100: factual throughout}",
            also=("levels", "scale", "score_ranges", "ranges"),
        ),
        Field(
            key="check",
            takes="check",
            doc="A test that code answers; it costs nothing and needs no judge.",
            example="check: {contains: Steps to reproduce}",
            also=("checks", "assert", "test"),
        ),
        Field(key="fix", takes="command", doc=_FIX, example="fix: ./tools/add_steps.sh"),
        Field(
            key="may_not_apply",
            takes="flag",
            doc=_MAY_NOT_APPLY + " On a checklist: holds for each of its items.",
            example="may_not_apply: true",
            default="false",
            also=("na", "not_applicable", "optional"),
        ),
        Field(
            key="criteria",
            takes="criteria",
            doc="Child criteria. They are weighed among themselves; their score is this criterion's.",
            example="criteria: [{id: tone, requirement: Neutral tone}, {id: facts, requirement: Facts only}]",
            also=("children", "sub_criteria", "sub_tasks"),
        ),
    ),
)

ITEM: Final = Shape(
    name="item",
    doc="One question of a checklist, answered yes or no by judges, on a scale with `anchors`, or by code with a `check`.",
    short="A plain text is a yes/no question.",
    fields=(
        Field(
            key="id",
            takes="name",
            doc=_ID_DOC + " Unique in its criterion.",
            example="id: numbered-steps",
            default="from `requirement`",
            also=("key", "slug"),
        ),
        Field(
            key="requirement",
            takes="text",
            doc="What is asked, in words. With a `check` it may be left out: then it says the check.",
            example="requirement: Gives numbered steps",
            default="required without a check",
            also=("description", "text", "question", "name", "title", "item"),
        ),
        Field(
            key="check",
            takes="check",
            doc="A test that code answers.",
            example="check: {regex: '(?m)^\\s*1[.)]'}",
            also=("checks", "assert", "test"),
        ),
        Field(
            key="anchors",
            takes="anchors",
            doc=_ANCHORS_DOC,
            example="anchors: {0: no steps, 5: some, 10: every step}",
            also=("levels", "scale", "score_ranges", "ranges"),
        ),
        Field(key="fix", takes="command", doc=_FIX, example="fix: ./tools/number_steps.sh"),
        Field(
            key="may_not_apply",
            takes="flag",
            doc=_MAY_NOT_APPLY,
            example="may_not_apply: true",
            default="as in its criterion",
            also=("na", "not_applicable", "optional"),
        ),
    ),
)

LEVEL: Final = Shape(
    name="level",
    doc="One described level, where anchors are written as a list.",
    fields=(
        Field(
            key="value",
            takes="level",
            doc="Its number on the scale.",
            example="value: 10",
            default="required",
            also=("level", "points"),
        ),
        Field(key="score", takes="level", doc="Another name for `value`.", example="score: 10"),
        Field(
            key="text",
            takes="text",
            doc="What it looks like.",
            example="text: factual throughout",
            default="required",
            also=("description", "label", "requirement"),
        ),
    ),
)

SHAPES: Final = (RUBRIC, CRITERION, ITEM, LEVEL)


def near(name: str, names: Iterable[str]) -> str | None:
    """The one of `names` that was probably meant."""
    import difflib

    found = difflib.get_close_matches(name.casefold().replace("-", "_"), list(names), n=1, cutoff=0.6)
    return found[0] if found else None


def unknown_key_hint(key: str, shape: Shape) -> str:
    """What to write instead of an unknown key: the near match, another tool's word for it, or all that there is."""
    spellings = {other: field.key for field in shape.fields for other in (*field.also, field.key)}
    meant = spellings.get(key) or spellings.get(near(key, spellings) or "")
    if meant is not None:
        return f"did you mean `{meant}`?"
    return f"a {shape.name} may have " + ", ".join(f"`{field.key}`" for field in shape.fields)
