"""Filling in prompts: a template and its values in one pass, so that nothing inside a value is ever
expanded.

The judge's prompt holds the case and the requirements, and nothing that could steer a mark: no id,
weight, floor, threshold, earlier score or other judge. Everything that is drawn (the token, the
place and word of the control item) comes from a digest of the prompt's own content, so the same
question always gives the same prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple, cast

from msgspec import Struct, field

from honestone.core.artifact import Version, digest_of
from honestone.core.judging.ballot import AskedCriterion, Question
from honestone.core.judging.controls import INVENTED_WORD, false_claim, speaks_to_judges
from honestone.core.judging.images import Image, image_type
from honestone.core.judging.packing import Packed
from honestone.core.judging.request import Request
from honestone.core.judging.rubric import Anchors, Item, Key, as_written
from honestone.core.reading.evidence import mentions_word
from honestone.core.reading.json_schema import JsonSchema, Schemas, closed_object

# Raise it when the code below changes what a judge sees; the template's own text is covered by its
# digest.
LAYOUT: Final = 3

# A control item is a yes/no question whose right answer is no. The word of this one is drawn for
# each prompt; a second one, of `core/judging/controls.py`, is answered alike.
CANARY: Final = Item(id="canary", requirement=INVENTED_WORD)


# -------------------------------------------------------------------------------------------------------
# templates


class Template(Struct, frozen=True):
    """The text between the places and the places' names, alternating; and the digest of the file."""

    pieces: tuple[str, ...]
    digest: str

    def fill(self, values: Mapping[str, str]) -> str:
        out = list(self.pieces)
        out[1::2] = [values[name] for name in self.pieces[1::2]]
        return "".join(out)


def parse_template(text: str) -> Template:
    """`{{name}}` marks a place."""
    return Template(tuple(re.split(r"\{\{(\w+)\}\}", text)), digest_of(text.encode()))


@lru_cache(maxsize=16)
def load_template(name: str) -> Template:
    return parse_template((Path(__file__).parent / f"{name}.md").read_text("utf-8"))


def load_schema(name: str) -> JsonSchema:
    """The JSON Schema of the reply that a template asks for."""
    schema: JsonSchema = json.loads(
        (Path(__file__).parent / f"{name}.schema.json").read_text("utf-8")
    )
    return schema


# ------------------------------------------------------------------------------------------------
# the judge's prompt


def judge_prompt(
    question: Question,
    problems: Sequence[str] = (),
    packed: Packed | None = None,
    images: Sequence[Image] = (),
) -> Request:
    """`problems` name the errors of a first reply; numbers are the same as in the prompt it
    answered.

    `packed` is what is shown of a text to judge that is too big, `images` are those that go with
    the prompt.
    """
    template = load_template("judge")
    plan = _plan(question.criteria)
    material = _material(question, packed, images)
    base = sha256(f"{template.digest}\0{question.draw}\0{plan.text}\0".encode())
    base.update(_encoded(material))
    controls = drawn_controls(
        base.digest(), len(plan.items), _judged(question, packed, images), material + plan.text
    )
    items = _numbered(plan, controls)
    complaint = _complaint(problems)
    token = sha256(base.digest() + _encoded(items) + _encoded(complaint)).hexdigest()[:12]
    values = {
        "answers": plan.answers,
        "material": material,
        "items": items,
        "complaint": complaint,
        "skeleton": _skeleton(token, _with_controls(plan.hints, controls)),
    }
    numbers = plan.numbers.get(controls.numbers)
    if numbers is None:
        numbers = controls.others([key for key, _ in plan.items])
        plan.numbers[controls.numbers] = numbers
    return controls.request(_sendable(template.fill(values)), token, numbers)


def reply_schema(numbers: Mapping[int, Item]) -> JsonSchema:
    """The JSON Schema of the reply as the skeleton shows it, evidence before the answer."""
    return _schema_of(_kinds(numbers))


def sent_schema(numbers: Mapping[int, Item]) -> JsonSchema:
    """The JSON Schema that is sent with a prompt, which is paid for like the prompt. Only what
    every provider's strict mode takes: where all items are answered alike it is a list of numbered
    answers, which costs the same for any number.

    Equal schemas are one object, so that what is made of one for a provider is made once. No caller
    may change it.
    """
    global _latest_schema
    known, schema = _latest_schema
    if known is not numbers:
        kinds = _kinds(numbers)
        alike = {kind for _, kind in kinds}
        schema = (
            _listed_schema_of(alike.pop(), len(kinds)) if len(alike) == 1 else _schema_of(kinds)
        )
        _latest_schema = (numbers, schema)
    return schema


_latest_schema: tuple[Mapping[int, Item] | None, JsonSchema] = (None, {})


def exact_schema(token: str, numbers: Mapping[int, Item]) -> JsonSchema:
    """The JSON Schema for a server of one's own, which makes a grammar of each: it holds a model to
    this token, these numbers, the levels of each scale, and to texts that end. It is new with each
    prompt, which a provider that compiles and caches schemas would be slow or dear with.
    """
    global _latest_exact
    known, parts = _latest_exact
    if known is not numbers:
        parts = _exact_parts(
            tuple((number, _exact_kind(item)) for number, item in sorted(numbers.items()))
        )
        _latest_exact = (numbers, parts)
    return exact_reply(token, *parts)


_latest_exact: tuple[Mapping[int, Item] | None, tuple[JsonSchema, Schemas]] = (
    None,
    ({}, {}),
)


class ExactSchema(dict[str, object]):
    """A schema that is new with each call, and closed and complete as strict modes want it: it is
    sent as it is.
    """


def exact_reply(token: str, answers: JsonSchema, described: Schemas) -> JsonSchema:
    """The schema of a reply with this token and no other, an `ExactSchema`."""
    whole = closed_object({"token": {"type": "string", "enum": [token]}, "answers": answers})
    return cast(JsonSchema, ExactSchema({**whole, "$defs": described}))


def exact_text() -> JsonSchema:
    return {"type": "string", "maxLength": _LONGEST_TEXT}


# How long a quote and a suggestion may be where a grammar holds a model to it. A small model that
# repeats itself would go on to the limit of its reply, and the whole of it would be lost.
_LONGEST_TEXT: Final = 300

# A scale is a choice of its levels where each whole number has one; up to so many.
_MOST_LEVELS: Final = 20


def _exact_kind(item: Item) -> _ExactKind:
    if item.anchors is None:
        return _ExactKind(None, item.may_not_apply)
    low, high = item.anchors.lowest, item.anchors.highest
    levels = tuple(as_written(value) for value, _ in item.anchors.levels)
    is_each_whole_number = (
        levels == tuple(as_written(low + n) for n in range(len(levels))) and low.denominator == 1
    )
    chosen = levels if is_each_whole_number and len(levels) <= _MOST_LEVELS else ()
    return _ExactKind(_Scale(as_written(low), as_written(high), chosen), item.may_not_apply)


class _Scale(NamedTuple):
    """The ends of a scale, and its levels where there is nothing between them."""

    low: int | float
    high: int | float
    levels: tuple[int | float, ...]


class _ExactKind(NamedTuple):
    """How an item may be answered, its scale included."""

    scale: _Scale | None
    may_not_apply: bool


@lru_cache(maxsize=64)
def _exact_parts(
    kinds: tuple[tuple[int, _ExactKind], ...],
) -> tuple[JsonSchema, Schemas]:
    """The schema of `answers`, and the kinds of answer that it refers to."""
    names = {
        kind: f"k{n}" for n, kind in enumerate(dict.fromkeys(kind for _, kind in kinds), start=1)
    }
    answers = closed_object(
        {str(number): {"$ref": f"#/$defs/{names[kind]}"} for number, kind in kinds}
    )
    return answers, {name: closed_object(_exact_properties(kind)) for kind, name in names.items()}


def _exact_properties(kind: _ExactKind) -> Schemas:
    answer = _or_not_applicable(_exact_answer(kind.scale), kind)
    return {"evidence": exact_text(), "answer": answer, "suggestion": exact_text()}


def _exact_answer(scale: _Scale | None) -> JsonSchema:
    if scale is None:
        return {"type": "boolean"}
    if scale.levels:
        return {"type": "integer", "enum": list(scale.levels)}
    return {"type": "number", "minimum": scale.low, "maximum": scale.high}


def _or_not_applicable(plain: JsonSchema, kind: _Kind | _ExactKind) -> JsonSchema:
    return {"anyOf": [plain, {"type": "string", "enum": ["n/a"]}]} if kind.may_not_apply else plain


def _kinds(numbers: Mapping[int, Item]) -> tuple[tuple[int, _Kind], ...]:
    return tuple(
        (n, _Kind(item.anchors is not None, item.may_not_apply))
        for n, item in sorted(numbers.items())
    )


class _Kind(NamedTuple):
    """How an item may be answered."""

    is_number: bool
    may_not_apply: bool


@lru_cache(maxsize=64)
def _schema_of(kinds: tuple[tuple[int, _Kind], ...]) -> JsonSchema:
    # Each kind of answer is described once: a schema is part of every call, and of what it costs.
    names = dict(zip(dict.fromkeys(kind for _, kind in kinds), "abcd", strict=False))
    answers: Schemas = {str(number): {"$ref": f"#/$defs/{names[kind]}"} for number, kind in kinds}
    schema = closed_object({"token": {"type": "string"}, "answers": closed_object(answers)})
    return {
        **schema,
        "$defs": {name: closed_object(_answer_properties(kind)) for kind, name in names.items()},
    }


@lru_cache(maxsize=64)
def _listed_schema_of(kind: _Kind, count: int) -> JsonSchema:
    return _list_of_answers(_answer_properties(kind), count)


def _list_of_answers(answer: Schemas, count: int) -> JsonSchema:
    """A reply whose answers are a list, each with the number of its item as `n`."""
    entry = closed_object({"n": {"type": "integer"}, **answer})
    answers: JsonSchema = {"type": "array", "items": entry, "minItems": count, "maxItems": count}
    return closed_object({"token": {"type": "string"}, "answers": answers})


def _answer_properties(kind: _Kind) -> Schemas:
    answer = _or_not_applicable({"type": "number" if kind.is_number else "boolean"}, kind)
    return {"evidence": {"type": "string"}, "answer": answer, "suggestion": {"type": "string"}}


# -----------------------------------------------------------------------------------------------------
# requirements


class _Line(Struct, frozen=True):
    """One item: its criterion's heading if it is the first of a checklist, its words, and how it is
    answered.
    """

    heading: str
    requirement: str
    below: str


class _Plan(Struct, frozen=True):
    """The requirements of a call before they are numbered; and their numbers by those of the control
    items.
    """

    criteria: tuple[AskedCriterion, ...]
    items: tuple[tuple[Key, Item], ...]
    lines: tuple[_Line, ...]
    text: str
    answers: str
    hints: tuple[str, ...]
    numbers: dict[tuple[int, ...], Mapping[int, Key]] = field(default_factory=dict)


_latest: _Plan | None = None


def _plan(criteria: tuple[AskedCriterion, ...]) -> _Plan:
    # Case after case asks the same rubric: the plan of the last one is kept.
    global _latest
    if _latest is None or _latest.criteria is not criteria:
        _latest = _make_plan(criteria)
    return _latest


def _make_plan(criteria: tuple[AskedCriterion, ...]) -> _Plan:
    items, lines = [], []
    for criterion in criteria:
        for index, item in enumerate(criterion.items):
            first_of_checklist = index == 0 and not item.whole
            heading = f"{_one_line(criterion.requirement)}:\n" if first_of_checklist else ""
            items.append(((criterion.id, item.id), item))
            lines.append(_Line(_safe_heading(heading), _one_line(item.requirement), _below(item)))
    text = "\n".join(f"{line.heading}{line.requirement}{line.below}" for line in lines)
    asked = [item for _, item in items]
    hints = tuple(map(_hint, asked))
    return _Plan(criteria, tuple(items), tuple(lines), text, _answers_wanted(asked), hints)


def _hint(item: Item) -> str:
    """What the form has in place of an answer: never a value, so that a form sent back empty
    answers nothing.
    """
    if item.anchors is None:
        return "<true, false or n/a>" if item.may_not_apply else "<true or false>"
    scale = f"{as_written(item.anchors.lowest)} to {as_written(item.anchors.highest)}"
    return f"<{scale} or n/a>" if item.may_not_apply else f"<{scale}>"


def _with_controls(hints: Sequence[str], controls: DrawnControls) -> list[str]:
    """The hints by number, those of the control items among them."""
    out = list(hints)
    for number in controls.numbers:
        out.insert(number - 1, _hint(CANARY))
    return out


def _answers_wanted(items: Iterable[Item]) -> str:
    """How an answer may look, said only for the kinds that are asked."""
    items = tuple(items)
    wanted = "true or false"
    if any(item.anchors for item in items):
        wanted += ", or a number where a scale is given"
    if any(item.may_not_apply for item in items):
        wanted += ', or "n/a" only where that is allowed'
    return wanted


def _below(item: Item) -> str:
    """Under an item's own line: its scale and levels, and whether it may be set aside."""
    out = _scale(item.anchors) if item.anchors else ""
    if item.may_not_apply:
        out += '\n    "n/a" is allowed if it cannot apply'
    return out


def _scale(anchors: Anchors) -> str:
    low, high = as_written(anchors.lowest), as_written(anchors.highest)
    levels = "".join(
        f"\n    {as_written(value)}: {_one_line(text)}" for value, text in anchors.levels
    )
    return f"\n    answer: a number from {low} to {high}{levels}"


def _numbered(plan: _Plan, controls: DrawnControls) -> str:
    """`[N] requirement` on a line of its own for every item, the control items among them."""
    waiting = list(controls.by_number)
    out: list[str] = []
    number = 1
    for line in plan.lines:
        if line.heading:
            out.append(("\n" if out else "") + line.heading.rstrip("\n"))
        while waiting and waiting[0][0] == number:
            out.append(f"[{number}] {waiting.pop(0)[1]}")
            number += 1
        out.append(f"[{number}] {line.requirement}{line.below}")
        number += 1
    out.extend(f"[{number}] {requirement}" for number, requirement in waiting)
    return "\n".join(out)


def _safe_heading(heading: str) -> str:
    # A criterion whose words begin like an item line must not be taken for one.
    return f"- {heading}" if heading.startswith("[") else heading


# --------------------------------------------------------------------------------------------------
# control items


class DrawnControls(Struct, frozen=True):
    """The control items of one prompt: `by_number` has number and requirement of each, in order."""

    by_number: tuple[tuple[int, str], ...]
    canary: int
    word: str
    claim: int | None = None
    claimed: str | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(number for number, _ in self.by_number)

    def others(self, keys: Iterable[Key]) -> dict[int, Key]:
        """The numbers of the rubric's items, in their order."""
        free = (number for number in count(1) if number not in self.numbers)
        return dict(zip(free, keys, strict=False))

    def request(self, body: str, token: str, numbers: Mapping[int, Key]) -> Request:
        return Request(
            body=body,
            token=token,
            numbers=numbers,
            canary=self.canary,
            control_word=self.word,
            claim=self.claim,
            claimed=self.claimed,
        )


def drawn_controls(seed: bytes, items: int, judged: str, shown: str) -> DrawnControls:
    """The control items among so many items of a rubric: one, and a second where the judged text
    speaks to judges. `shown` is all that a judge reads and that could hold what they name.
    """
    canary = int.from_bytes(seed[:8]) % (items + 1) + 1
    word = _invented_word(seed[8:], shown)
    asked = CANARY.requirement.replace("…", word)
    if not speaks_to_judges(judged):
        return DrawnControls(((canary, asked),), canary, word)
    seed = sha256(b"claim\0" + seed).digest()
    drawn = false_claim(seed, shown, mentions_word)
    claim = int.from_bytes(seed[:8]) % (items + 2) + 1
    canary += claim <= canary
    both = sorted(((canary, asked), (claim, drawn.requirement)))
    return DrawnControls(tuple(both), canary, word, claim, drawn.absent)


_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_LETTERS: Final = tuple(_VOWELS if place % 2 else _CONSONANTS for place in range(9))


def _invented_word(seed: bytes, text: str) -> str:
    """A word of nine letters that the text does not hold, always the same for one seed and text."""
    lowered = text.lower()
    while True:
        word = "".join(
            [group[byte % len(group)] for group, byte in zip(_LETTERS, seed, strict=False)]
        )
        if word not in lowered:
            return word
        seed = sha256(seed).digest()


def _complaint(problems: Sequence[str]) -> str:
    """Why the judge is asked once more. The reasons may echo a hostile reply, so each is one short,
    plain line.
    """
    if not problems:
        return ""
    lines = "".join(f"- {_harmless(problem)}\n" for problem in problems[:20])
    return f"Your last reply could not be used as it was:\n{lines}\n"


def _harmless(problem: str) -> str:
    plain = "".join(" " if c in "{}[]`@" or not c.isprintable() else c for c in problem)
    return _one_line(plain)[:160]


# Stands for a hint like the one before it.
_SAME: Final = "<?>"


def _skeleton(
    token: str, hints: Sequence[str], first: str = '{"evidence":"","answer":"%s","suggestion":""}'
) -> str:
    """The reply to be filled in, with a hint in place of each answer. Number 1 shows every key; the
    others only what no reply may lack.
    """
    shown = [_SAME if n and hint == hints[n - 1] else hint for n, hint in enumerate(hints)]
    rest = "".join(
        f',"{number}":{{"answer":"{hint}"}}' for number, hint in enumerate(shown[1:], start=2)
    )
    return f'{{"token": "{token}", "answers": {{"1":{first % shown[0]}{rest}}}}}'


# ---------------------------------------------------------------------------------------------------------
# material


def _material(question: Question, packed: Packed | None, images: Sequence[Image]) -> str:
    """The fenced blocks in their order: input, reference, workspace changes, and the text to judge
    last.
    """
    blocks = []
    if question.input is not None:
        blocks.append(_block("Input that the text answers:", question.input))
    if question.reference is not None:
        blocks.append(_block("Reference, what a good text would hold:", question.reference))
    if question.workspace and question.workspace.get("diff"):
        blocks.append(_block("Changes made in the workspace:", str(question.workspace["diff"])))
    if question.output is not None:
        shown = question.output if packed is None else packed.version.text
        blocks.append(_block(f"Text to judge:{shown_in_part(packed)}", shown))
    else:
        blocks.append(_artifact(question.artifact.version, packed, images))
    return "\n\n".join(blocks)


def _judged(question: Question, packed: Packed | None, images: Sequence[Image]) -> str:
    """All that is shown of what is judged, names of files too. Images may hold words: they count as
    a text in letters that cannot be read.
    """
    unread = "\ufeff" if images else ""
    diff = str((question.workspace or {}).get("diff") or "")
    if question.output is not None:
        shown = question.output if packed is None else packed.version.text
        return f"{shown}\n{diff}{unread}"
    version = question.artifact.version
    shown_version = packed.version if packed else version
    names = version.files if version.is_folder else ()
    return "\n".join((*names, *shown_version.texts.values(), diff, unread))


def _artifact(version: Version, packed: Packed | None, images: Sequence[Image]) -> str:
    shown = packed.version if packed else version
    part = shown_in_part(packed)
    if not version.is_folder:
        return _block(f"Text to judge:{part}", shown.text)
    tree = tree_of(version, packed, images)
    fence = _fence(tree + "\n" + "\n".join(shown.texts.values()))
    files = [_fenced(fence, text, _path(path)) for path, text in shown.texts.items()]
    return "\n\n".join(
        [
            f"Text to judge, a folder of {len(version.files)} files:{part}\n{_fenced(fence, tree)}",
            *files,
        ]
    )


def shown_in_part(packed: Packed | None) -> str:
    """What a judge reads about a text that is too big to be shown whole."""
    if packed is None:
        return ""
    return f"\nOnly a part is shown, because the whole is too big: {packed.sentence}. What is left out does exist."


def tree_of(version: Version, packed: Packed | None = None, images: Sequence[Image] = ()) -> str:
    """Every file's name on a line, with what is not shown of it, and the number of an image that
    is.
    """
    texts = version.texts
    # The digest makes another image another prompt, and so another request on record.
    attached = {
        image.path: f"image {n}, attached, {image.digest[7:23]}"
        for n, image in enumerate(images, start=1)
    }
    lines = []
    for path in sorted(version.files):
        if path not in texts:
            label = attached.get(path) or _not_shown(version.files[path].data)
        else:
            label = packed.label(path) if packed else ""
        lines.append(f"{_path(path)} ({label})" if label else _path(path))
    return "\n".join(lines)


def _not_shown(data: bytes) -> str:
    return f"{'an image, not shown' if image_type(data) else 'not text'}, {len(data)} bytes"


def _block(title: str, text: str) -> str:
    return f"{title}\n{_fenced(_fence(text), text)}"


def _fenced(fence: str, text: str, name: str = "") -> str:
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{fence}{name}\n{text}{end}{fence}"


def _fence(text: str) -> str:
    """A fence that does not occur in the text: more backticks in a row than it holds, else a word
    of its own digest.
    """
    longest = max(map(len, re.findall("`+", text)), default=0) if "`" in text else 0
    if longest < 12:
        return "`" * max(3, longest + 1)
    seed = _encoded(text)
    while True:
        seed = sha256(seed).digest()
        fence = f"~~~{seed.hex()[:16]}~~~"
        if fence not in text:
            return fence


def _path(path: str) -> str:
    """A file's name on one line: names are data too, and may hold line breaks."""
    return "".join(c if c.isprintable() and c != "`" else f"\\x{ord(c):02x}" for c in path)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _sendable(text: str) -> str:
    """Lone surrogates (from a target's odd output) cannot be sent as UTF-8."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")
