"""The native rubric format, described once: the reader, near matches, the JSON Schema and the reference page use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

VERSION: Final = 1
"""The `rubric:` version that this program reads and writes."""

Takes: TypeAlias = str
"""The name of a kind of value: a key of `TAKES`, or of `suite_fields.TAKES`."""


@dataclass(frozen=True, slots=True)
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


def table(name: str, doc: str, rows: str, *, short: str = "") -> Shape:
    """A shape from a table with a line for each key: `key | takes | default | other spellings | example | meaning`."""
    cells = [[cell.strip() for cell in row.split("|")] for row in rows.strip().splitlines()]
    fields = tuple(
        Field(key=key, takes=takes, default=default, also=tuple(also.split()), example=example, doc=meaning)
        for key, takes, default, also, example, meaning in cells
    )
    return Shape(name=name, doc=doc, fields=fields, short=short)


TAKES: Final[Mapping[Takes, Taken]] = {
    "version": Taken("the number 1", {"const": VERSION}),
    "name": Taken("text", {"type": ["string", "number", "boolean"]}),
    "text": Taken("text", {"type": "string", "pattern": r"\S"}),
    "weight": Taken("a number", {"type": "number"}),
    "points": Taken("a number from 0 to 100", {"type": "number", "minimum": 0, "maximum": 100}),
    "flag": Taken("true or false", {"type": "boolean"}),
    "items": Taken("a list", {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/item"}}),
    "criteria": Taken("a list", {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/criterion"}}),
    "anchors": Taken("a mapping from numbers to text", {"$ref": "#/$defs/anchors"}),
    "check": Taken("one check", {"$ref": "#/$defs/check"}),
    "command": Taken("a command line", {"type": "string", "pattern": r"\S"}),
    "level": Taken("a number", {"type": "number"}),
}

RUBRIC: Final = table(
    "rubric",
    "What good looks like, and the bar to meet.",
    """
    rubric | version | 1 | | rubric: 1 | The version of this format.
    title | name | none | name | title: A bug report that a stranger can act on | What this rubric is about, for people.
    threshold | points | 70 | pass_threshold passing_score pass_mark min_score | threshold: 80 | The overall score to reach.
    floor | points | 60 | minimum criterion_floor | floor: 60 | The score that every top-level criterion must reach, whatever the mean; 0 turns it off.
    criteria | criteria | required | criterion rubrics dimensions | criteria: [Says who is hit, Says how badly] | The criteria, one at least.
    """,
)

CRITERION: Final = table(
    "criterion",
    "One thing that matters. Without `items`, `anchors`, `check` or `criteria` it is one yes/no question. The first three may be mixed: then the criterion's own `anchors` or `check` count as one more item. A group has `criteria` and none of them.",
    """
    id | name | from `requirement` | key slug | id: reproducible | Names it in results, reports and judges' replies. Without one: its text, shortened; rewording makes a new id. Unique in the whole rubric.
    requirement | text | required | description text question name title criterion outcome expectation | requirement: A stranger can reproduce the bug | What is asked, in words. A group may leave it out (its id takes its place), and so may a criterion with a `check`.
    weight | weight | 1 | points importance | weight: 50 | How much it counts among its siblings: 3 counts three times as much as 1. Percent-like weights must sum to 100. Negative is a penalty, for yes/no criteria only.
    floor | points | the rubric's at the top level, else none | minimum min_score required_min_score threshold | floor: 70 | The score that this criterion must reach; overrides the rubric's.
    required | flag | false | must mandatory critical | required: true | Score 0 here fails everything, whatever the mean.
    negate | flag | false | not inverse invert reversed | negate: true | Its score is inverted, for what should not be: 100 becomes 0.
    items | items | none | checklist sub_items questions | items: [States the exact version, Gives numbered steps] | A checklist: the score is the share of its items that are met. 5 to 10 items work best.
    anchors | anchors | none | levels scale score_ranges ranges | anchors: {0: hostile, 50: neutral in places, 100: factual throughout} | Described levels, from number to text. A judge answers with any number on the scale from the lowest to the highest; the score is its place between the two, so 7.5 on 0-10 is 75.
    check | check | none | checks assert test | check: {contains: Steps to reproduce} | A test that code answers; it costs nothing and needs no judge.
    fix | command | none | | fix: ./tools/add_steps.sh | The command that the check-fixing worker runs when it is unmet, looked up in the rubric's folder.
    may_not_apply | flag | false | na not_applicable optional | may_not_apply: true | A judge may answer that it does not apply; then it leaves the mean. On a checklist: holds for each of its items.
    criteria | criteria | none | children sub_criteria sub_tasks | criteria: [{id: tone, requirement: Neutral tone}, {id: facts, requirement: Facts only}] | Child criteria. They are weighed among themselves; their score is this criterion's.
    """,
    short="A plain text is a yes/no criterion of weight 1.",
)

ITEM: Final = table(
    "item",
    "One question of a checklist, answered yes or no by judges, on a scale with `anchors`, or by code with a `check`.",
    r"""
    id | name | from `requirement` | key slug | id: numbered-steps | Names it in results, reports and judges' replies. Without one: its text, shortened; rewording makes a new id. Unique in its criterion.
    requirement | text | required without a check | description text question name title item | requirement: Gives numbered steps | What is asked, in words. With a `check` it may be left out: then it says the check.
    check | check | none | checks assert test | check: {regex: '(?m)^\s*1[.)]'} | A test that code answers.
    anchors | anchors | none | levels scale score_ranges ranges | anchors: {0: no steps, 5: some, 10: every step} | Described levels, from number to text. A judge answers with any number on the scale from the lowest to the highest; the score is its place between the two, so 7.5 on 0-10 is 75.
    fix | command | none | | fix: ./tools/number_steps.sh | The command that the check-fixing worker runs when it is unmet, looked up in the rubric's folder.
    may_not_apply | flag | as in its criterion | na not_applicable optional | may_not_apply: true | A judge may answer that it does not apply; then it leaves the mean.
    """,
    short="A plain text is a yes/no question.",
)

LEVEL: Final = table(
    "level",
    "One described level, where anchors are written as a list.",
    """
    value | level | required | level points | value: 10 | Its number on the scale.
    score | level | none | | score: 10 | Another name for `value`.
    text | text | required | description label requirement | text: factual throughout | What it looks like.
    """,
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
