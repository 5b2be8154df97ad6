"""Drafting a rubric: what a person said matters becomes criteria with yes/no items or five anchors,
and weights.

Nothing is invented here: an item is the person's own words, or is in a shipped template, or came
from a model and passed `read_model_draft`. Where that is not enough, `shortage` says what is
missing, and somebody has to be asked. Nothing is read out of the wording either: an item is
answered by code only where it names the check.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.authoring.lint import Remark, lint
from honestone.core.checking.check_problems import check_problem
from honestone.core.checking.checks import KINDS
from honestone.core.json_value import is_number, late_pattern
from honestone.core.judging.rubric import (
    DEFAULT_FLOOR,
    DEFAULT_THRESHOLD,
    Anchors,
    Check,
    Criterion,
    Item,
    Rubric,
    Rule,
    as_written,
    slug,
)
from honestone.core.numbers import exact
from honestone.core.reading.json_text import objects_in
from honestone.core.reading.thinking import without_thinking
from honestone.core.reading.tolerant_json import Unusable, doubled_keys
from honestone.core.tables import table_text

FEWEST_CRITERIA: Final = 2
FEWEST_ITEMS: Final = 5
MOST_ITEMS: Final = 10
LEVELS: Final = (0, 25, 50, 75, 100)

WHY_TWO: Final = "at least two criteria are needed: one alone hides what is weak, and a second one gives it away. What else matters?"
WHY_FLOOR: Final = (
    "Without a floor a strong criterion hides a weak one: 90 and 55 make 72.5, which passes 70. The floor is the score "
    "that every criterion has to reach on its own."
)


class CriterionWish(Struct, frozen=True, kw_only=True):
    """One thing that a person said matters, in their words. `levels` are the texts of the five
    anchors, lowest first.
    """

    name: str
    description: str = ""
    items: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return slug(self.name)


class ShippedRubric(Struct, frozen=True, kw_only=True):
    """What may be drawn on: a shipped template by its name."""

    name: str
    rubric: Rubric


class RubricDraft(Struct, frozen=True, kw_only=True):
    """A rubric in the making. A criterion may still lack items; `origins` says by criterion id
    where its items are from.
    """

    about: str
    criteria: tuple[Criterion, ...]
    threshold: Fraction = DEFAULT_THRESHOLD
    floor: Fraction = DEFAULT_FLOOR
    origins: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, rubric: Rubric, origins: Mapping[str, str], about: str | None = None
    ) -> RubricDraft:
        """A rubric as a draft; `about`: what is judged, where that is not its title."""
        bars = {"threshold": rubric.threshold, "floor": rubric.floor}
        return cls(
            about=rubric.title if about is None else about,
            criteria=rubric.criteria,
            origins=origins,
            **bars,
        )

    def rubric(self) -> Rubric:
        """Raises RubricError when it breaks a rule of the format."""
        return Rubric(
            criteria=self.criteria,
            title=self.about,
            threshold=self.threshold,
            floor=self.floor,
            combine=combination_of(self.criteria),
        )


def combination_of(criteria: Iterable[Criterion]) -> Rule | None:
    """How the votes of judges are combined in a new rubric: by their majority where judges answer
    every item with yes or no, since a mean of misread marks shrinks to the middle. None for others.
    """
    items = [item for top in criteria for one, _ in top.walk() for item in one.items]
    asked = [item for item in items if item.check is None]
    is_yes_no = bool(asked) and all(item.anchors is None for item in asked)
    return Rule.MAJORITY if is_yes_no else None


# -----------------------------------------------------------------------------------------------
# what a person typed

_NAMED: Final = late_pattern(
    r"\s*(?P<name>[^:：]{1,80}?)\s*(?:[:：]|\s[-–—]\s)\s*(?P<rest>\S.*)", re.DOTALL
)
_BETWEEN_NAMES: Final = late_pattern(r"\s*[,;、，；]\s*")
_BETWEEN_PIECES: Final = late_pattern(r"\s*(?:[;；、，,]|[.!?。！？](?=\s|$)|\n)\s*")
_LEADING: Final = late_pattern(
    r"^(?:[-*•□☐]\s+|\d+[.)]\s+|(?:and|or|그리고|및)\s+)+", re.IGNORECASE
)


def parse_wanted(text: str) -> CriterionWish:
    """`NAME: description`, or a name alone."""
    text = _LEADING.sub("", " ".join(text.split()))
    match = _NAMED.fullmatch(text)
    return (
        CriterionWish(name=match["name"], description=match["rest"])
        if match
        else CriterionWish(name=text)
    )


def parse_many(text: str) -> tuple[CriterionWish, ...]:
    """A line may name several criteria: `clarity, tone`. With a description it is one."""
    if _NAMED.fullmatch(_LEADING.sub("", " ".join(text.split()))):
        return (parse_wanted(text),)
    return tuple(parse_wanted(part) for part in _BETWEEN_NAMES.split(text) if part.strip(" -*•"))


def pieces(description: str) -> tuple[str, ...]:
    """The parts of a description that can be yes/no items of their own, in the person's words."""
    items = [_as_item(part) for part in _BETWEEN_PIECES.split(description)]
    return tuple(dict.fromkeys(part for part in items if _says_something(part)))


def _as_item(text: str) -> str:
    text = _LEADING.sub("", text.strip()).strip().rstrip(".。;,")
    return text[:1].upper() + text[1:]


def _says_something(text: str) -> bool:
    """Two words, or one that holds as much, as in Korean or Chinese: `오류 없음`, `정확성`."""
    words = re.findall(r"\w+", text)
    return len(words) >= 2 or any(not word.isascii() and len(word) >= 4 for word in words)


# ---------------------------------------------------------------------------------------------------
# vague wording


class Vague(Struct, frozen=True, kw_only=True):
    """A word that two people read differently, and a wording that can be seen in the artifact."""

    word: str
    instead: str

    def warning(self, text: str) -> str:
        return (
            f"`{text}` is hard to score: two people may read `{self.word}` differently. "
            f"Consider something that can be seen, for example `{self.instead}`"
        )


_TABLES: Final = tomllib.loads(table_text("authoring/drafting"))


def _vague_pattern(words: str = "", korean: str = "") -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\w-])(?:{words})(?![\w-])" if words else rf"(?:{korean})\w*", re.IGNORECASE
    )


_VAGUE: Final = [
    (_vague_pattern(row.get("words"), row.get("korean")), row["instead"])
    for row in _TABLES["vague"]
]


def vague_word(text: str) -> Vague | None:
    """The first word of a text that two people read differently."""
    found = ((match, instead) for pattern, instead in _VAGUE if (match := pattern.search(text)))
    return next((Vague(word=match[0], instead=instead) for match, instead in found), None)


def _is_plain(piece: str) -> bool:
    return vague_word(piece) is None and not item_remarks(piece)


def vague_criterion(wanted: CriterionWish) -> Vague | None:
    """A criterion is vague when its words are and nothing that was said with it can be seen in an
    artifact.
    """
    if (
        wanted.items
        or wanted.levels
        or any(vague_word(piece) is None for piece in pieces(wanted.description))
    ):
        return None
    return vague_word(wanted.name) or vague_word(wanted.description)


# ------------------------------------------------------------------------------------------------
# from words and templates


def _stem(word: str) -> str:
    if word.isascii():
        return (
            word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word
        )
    return re.sub(r"(?<=\w\w)(?:으로|에서|에게|은|는|이|가|을|를|의|와|과|도|로)$", "", word)


_EMPTY_WORDS: Final = frozenset(_TABLES["empty"].split())


def tokens(text: str) -> frozenset[str]:
    """Words that carry meaning, folded, with plurals and common Korean endings cut."""
    words = set()
    for word in re.findall(r"\w+(?:-\w+)*", text.casefold()):
        words.add(word)
        words |= set(word.split("-"))
    return frozenset(_stem(word) for word in words) - _EMPTY_WORDS


def likeness(one: Iterable[str], other: Iterable[str]) -> Fraction:
    """The share of words that two texts have in common (Jaccard)."""
    a, b = frozenset(one), frozenset(other)
    return Fraction(len(a & b), len(a | b)) if a | b else Fraction(0)


def suggested_template(about: str, library: Sequence[ShippedRubric]) -> ShippedRubric | None:
    """The template whose name is in what is judged: `a README for our tool` is about `readme`."""
    folded = about.casefold()
    words_about = tokens(about)
    for one in library:
        spaced = one.name.replace("-", " ")
        if one.name in folded or spaced in folded or tokens(spaced) <= words_about:
            return one
    for name, words in _TABLES["called"].items():
        if any(word in folded for word in words):
            return next((one for one in library if one.name == name), None)
    return None


def draft_criterion(wanted: CriterionWish) -> Criterion:
    """A criterion from the person's own words alone. It may lack items."""
    own = Criterion(id=wanted.id, requirement=wanted.description or wanted.name)
    if wanted.levels:
        return anchored(own, wanted.levels)
    return replace(own, items=tuple(distinct(plain_item(text) for text in own_words(wanted))))


def own_words(wanted: CriterionWish) -> tuple[str, ...]:
    """What the person gave as items; where that is too little, the parts of their description too.

    A description of one part says what the criterion means, so it is its requirement and no item.
    """
    parts = pieces(wanted.description)
    return (
        wanted.items
        if len(wanted.items) >= FEWEST_ITEMS or len(parts) < 2
        else (*wanted.items, *parts)
    )


def anchored(criterion: Criterion, levels: Sequence[str]) -> Criterion:
    """The criterion marked by five anchors, at 0, 25, 50, 75 and 100."""
    anchors = Anchors(
        levels=tuple((exact(at), text) for at, text in zip(LEVELS, levels, strict=True))
    )
    whole = Item(id=criterion.id, requirement=criterion.requirement, anchors=anchors, whole=True)
    return replace(criterion, items=(whole,))


def plain_item(text: str) -> Item:
    """A statement as an item. It is answered by code only where the statement itself says so, as
    in `Has at most 60 words (code: max-words 60)`.
    """
    text = _as_item(" ".join(text.split()))
    match = _CODE.fullmatch(text)
    check = None if match is None else _check_in(match)
    if match is None or check is None or check_problem(check) is not None:
        return Item(id=slug(text), requirement=text)
    statement = _as_item(match["statement"])
    return Item(id=slug(statement), requirement=statement, check=check)


# `Has at most 60 words (code: max-words 60)`
_CODE: Final = late_pattern(
    r"(?P<statement>.*\S)\s*\(code:\s*(?P<kind>[\w-]+)(?:\s+(?P<value>.*\S))?\s*\)", re.DOTALL
)


def _check_in(match: re.Match[str]) -> Check | None:
    """The check of a statement; None for a kind that needs more than the whole text."""
    kind = match["kind"].removeprefix("not-")
    if kind not in code_kinds():
        return None
    value = match["value"]
    try:
        read = True if value is None else json.loads(value)
    except ValueError:
        read = value
    return Check(kind=kind, value=read, negated=match["kind"].startswith("not-"))


def code_kinds() -> tuple[str, ...]:
    """The checks that a statement can name: those that need nothing but the whole text."""
    return tuple(kind for kind in KINDS if KINDS[kind].family == "text" or kind == "is-json")


def code_problem(text: str) -> str | None:
    """Why the check that a statement names cannot answer it."""
    match = _CODE.fullmatch(_as_item(" ".join(text.split())))
    if match is None:
        return None
    check = _check_in(match)
    if check is None:
        kinds = ", ".join(code_kinds())
        return f"`{match['kind'][:40]}` is not a check that a draft can name; those are {kinds}"
    problem = check_problem(check)
    return None if problem is None else problem[0]


_ABOUT_WORDING: Final = ("vague-wording", "two-questions", "not-observable", "double-negative")


def item_remarks(text: str) -> list[Remark]:
    """What the linter says of the wording of one item."""
    alone = Rubric(
        criteria=(Criterion(id="criterion", requirement="criterion", items=(plain_item(text),)),)
    )
    return [remark for remark in lint(alone) if remark.rule in _ABOUT_WORDING]


def distinct(items: Iterable[Item]) -> list[Item]:
    """Items without those that say what an earlier one says; ids made different where long texts
    begin alike.
    """
    chosen: list[Item] = []
    for item in items:
        if not item.requirement:
            continue
        words = tokens(item.requirement)
        if any(likeness(words, tokens(other.requirement)) > Fraction(7, 10) for other in chosen):
            continue
        taken = {other.id for other in chosen}
        id = next(
            name
            for name in (item.id, *(f"{item.id}-{n}" for n in range(2, 99)))
            if name not in taken
        )
        chosen.append(item if id == item.id else replace(item, id=id))
    return chosen


def make_draft(about: str, wanted: Sequence[CriterionWish]) -> RubricDraft:
    """Every criterion from the person's own words, with equal weights."""
    drafted = [draft_criterion(one) for one in wanted]
    weights = equal_weights(len(drafted))
    return RubricDraft(
        about=about,
        criteria=tuple(replace(c, weight=w) for c, w in zip(drafted, weights, strict=True)),
        origins={c.id: "your words" for c in drafted if c.items},
    )


# ------------------------------------------------------------------------------------------------
# weights and rules


def equal_weights(number: int) -> tuple[Fraction, ...]:
    """Whole percent that differ by one at most and sum to exactly 100."""
    if number > 100:
        return (Fraction(1),) * number
    share, rest = divmod(100, max(number, 1))
    return tuple(Fraction(share + (index < rest)) for index in range(number))


def weights_problem(weights: Sequence[Fraction]) -> str | None:
    """Why weights are not valid: each above 0, and together 100 (99 and 101 pass as rounding)."""
    if any(weight <= 0 for weight in weights):
        return "every weight has to be above 0"
    total = sum(weights, Fraction(0))
    if not 99 <= total <= 101:
        problem = f"the weights have to sum to 100, and these sum to {as_written(total)}"
        meant = [str(as_written(weight * 100)) for weight in weights]
        is_shares = 99 <= total * 100 <= 101
        return (
            f"{problem}: are {' '.join(meant)} meant?"
            if is_shares
            else f"{problem}: share them out again"
        )
    return None


def parse_weight(text: str) -> Fraction | None:
    """`30`, `30%` or `12.5`; None for what is not a number from 0 to 100."""
    match = re.fullmatch(r"\s*(\d{1,3}(?:\.\d{1,4})?)\s*%?\s*", text)
    number = exact(match[1]) if match else None
    return number if number is not None and number <= 100 else None


def find_criterion(name: str, ids: Sequence[str]) -> str | None:
    """The id that a person means by a name: the same, the same as a slug, or the start of one
    alone.
    """
    wanted = slug(name)
    if wanted in ids:
        return wanted
    starting = [id for id in ids if id.startswith(wanted)]
    return starting[0] if len(starting) == 1 else None


def near_criterion(name: str, ids: Sequence[str]) -> str | None:
    return next(iter(get_close_matches(slug(name), ids, n=1, cutoff=0.5)), None)


class Shortage(Struct, frozen=True, kw_only=True):
    """A criterion that has too few items, and how many it has."""

    id: str
    has: int

    @property
    def words(self) -> str:
        number = self.has or "no"
        noun = "item" if self.has == 1 else "items"
        wanted = f"{FEWEST_ITEMS} to {MOST_ITEMS}"
        return f"criterion `{self.id}` has {number} {noun} and needs {wanted}, or five anchors"


def shortage(criteria: Sequence[Criterion]) -> tuple[Shortage, ...]:
    return tuple(
        Shortage(id=criterion.id, has=len(criterion.items))
        for criterion in criteria
        if not is_anchored(criterion) and len(criterion.items) < FEWEST_ITEMS
    )


def is_anchored(criterion: Criterion) -> bool:
    return any(item.anchors is not None for item in criterion.items)


def draft_problems(draft: RubricDraft) -> Iterator[str]:
    """What has to be put right before a draft can be accepted."""
    if len(draft.criteria) < FEWEST_CRITERIA:
        yield WHY_TWO
    for one in shortage(draft.criteria):
        yield one.words
    for criterion in draft.criteria:
        if len(criterion.items) > MOST_ITEMS:
            yield f"criterion `{criterion.id}` has {len(criterion.items)} items, and {MOST_ITEMS} are the most: split it"
    problem = weights_problem([criterion.weight for criterion in draft.criteria])
    if problem is not None:
        yield problem


def formula(criterion: Criterion) -> str:
    """How a criterion's score comes about, in words."""
    if not is_anchored(criterion):
        return f"met / {len(criterion.items)} x 100"
    return "a level from 0 to 100" if len(criterion.items) == 1 else "mean of its items"


def method(criteria: Sequence[Criterion]) -> str:
    anchored_ones = sum(is_anchored(criterion) for criterion in criteria)
    if not anchored_ones:
        return "checklists of yes/no items"
    return (
        "anchors" if anchored_ones == len(criteria) else "checklists of yes/no items, and anchors"
    )


def pass_condition(threshold: Fraction, floor: Fraction) -> str:
    overall = f"overall >= {as_written(threshold * 100)}"
    return f"{overall} and every criterion >= {as_written(floor * 100)}" if floor else overall


# ------------------------------------------------------------------------------------------------------
# from a model

_LONGEST_ITEM: Final = 240


class ModelCriteria(Struct, frozen=True, kw_only=True):
    """What a model proposed. With `problems` it cannot be used as it is; `weak` are items in vague
    words.
    """

    criteria: tuple[Criterion, ...] = ()
    problems: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()

    @property
    def weights(self) -> str | None:
        """The weights that it proposed, in words. A draft starts with equal ones all the same."""
        weights = [criterion.weight for criterion in self.criteria]
        if all(weight == 1 for weight in weights):
            return None
        return ", ".join(f"{c.id} {as_written(c.weight)}" for c in self.criteria)


def read_model_draft(reply: str, wanted: Sequence[CriterionWish]) -> ModelCriteria:
    """The model's criteria for exactly those that were asked for, or everything that is wrong with
    its reply.
    """
    scan = objects_in(without_thinking(reply)[0])
    objects = [one.value for one in scan.found if "criteria" in one.value]
    if len(objects) != 1:
        what = (
            "no JSON object with `criteria`"
            if not objects
            else f"{len(objects)} JSON objects with `criteria`"
        )
        return ModelCriteria(problems=(f"the reply holds {what}; one is wanted",))
    rows = objects[0]["criteria"]
    if doubled_keys(objects[0]) or not isinstance(rows, list):
        return ModelCriteria(problems=("`criteria` has to be one list",))
    return _read_rows(rows, {one.id: one for one in wanted})


def _read_rows(rows: Sequence[object], asked: Mapping[str, CriterionWish]) -> ModelCriteria:
    problems: list[str] = []
    found: dict[str, Criterion] = {}
    for number, row in enumerate(rows, 1):
        id = row.get("id") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(id, str) or id not in asked:
            problems.append(
                f"criterion {number} has no `id` of those asked for: {', '.join(asked)}"
            )
        elif id in found:
            problems.append(f"criterion `{id}` is there twice")
        else:
            criterion, wrong = _read_row(row, asked[id])
            found[id] = criterion
            problems += [f"criterion `{id}`: {one}" for one in wrong]
    problems += [f"criterion `{id}` is missing" for id in asked if id not in found]
    criteria = tuple(found[id] for id in asked if id in found)
    return ModelCriteria(
        criteria=() if problems else criteria,
        problems=tuple(problems),
        weak=tuple(_weak_items(criteria)),
    )


def _read_row(row: Mapping[str, object], wanted: CriterionWish) -> tuple[Criterion, list[str]]:
    wrong: list[str] = []
    if doubled_keys(row):
        wrong.append("a key is there twice")
    unknown = set(row) - {"id", "requirement", "weight", "items", "anchors"}
    wrong += [f"unknown key `{key[:40]}`" for key in sorted(unknown)]
    requirement = row.get("requirement") or wanted.description or wanted.name
    if not isinstance(requirement, str) or len(requirement) > _LONGEST_ITEM:
        wrong.append(f"`requirement` has to be one sentence of at most {_LONGEST_ITEM} characters")
        requirement = wanted.name
    weight = row.get("weight", 1)
    if not is_number(weight) or not 0 < weight <= 100:
        wrong.append("`weight` has to be a number above 0")
        weight = 1
    criterion = Criterion(
        id=wanted.id, requirement=" ".join(requirement.split()), weight=exact(weight)
    )
    items, anchors = row.get("items"), row.get("anchors")
    if (items is None) == (anchors is None):
        return criterion, [*wrong, "it needs either `items` or `anchors`"]
    if items is not None:
        read, more = _read_items(items)
        return replace(criterion, items=read), wrong + more
    levels, more = _read_levels(anchors)
    return (anchored(criterion, levels) if levels else criterion), wrong + more


def _read_items(value: object) -> tuple[tuple[Item, ...], list[str]]:
    if not isinstance(value, list) or not all(
        isinstance(text, str) and text.strip() for text in value
    ):
        return (), ["`items` has to be a list of texts"]
    wrong = [
        f"item {number} is longer than {_LONGEST_ITEM} characters"
        for number, text in enumerate(value, 1)
        if len(text) > _LONGEST_ITEM
    ]
    items = tuple(distinct(plain_item(text) for text in value))
    wrong += [
        f"item {number}: {problem}"
        for number, text in enumerate(value, 1)
        if (problem := code_problem(text)) is not None
    ]
    if len(items) < len(value):
        wrong.append("two items say the same")
    if not FEWEST_ITEMS <= len(items) <= MOST_ITEMS:
        wrong.append(f"it has {len(items)} items, but {FEWEST_ITEMS} to {MOST_ITEMS} are wanted")
    return items, wrong


def _read_levels(value: object) -> tuple[tuple[str, ...], list[str]]:
    wanted = [str(level) for level in LEVELS]
    if not isinstance(value, dict) or doubled_keys(value) or sorted(value) != sorted(wanted):
        return (), [f"`anchors` has to describe exactly the levels {', '.join(wanted)}"]
    texts = tuple(value[level] for level in wanted)
    if not all(
        isinstance(text, str) and text.strip() and not isinstance(text, Unusable) for text in texts
    ):
        return (), ["every level of `anchors` needs a text"]
    if len({text.strip().casefold() for text in texts}) < len(texts):
        return (), ["two levels of `anchors` have the same text"]
    return tuple(" ".join(text.split()) for text in texts), []


def _weak_items(criteria: Iterable[Criterion]) -> Iterator[str]:
    for criterion in criteria:
        for item in criterion.items:
            for remark in item_remarks(item.requirement) if item.anchors is None else ():
                yield f"criterion `{criterion.id}`: {remark.message}; {remark.suggestion}"
