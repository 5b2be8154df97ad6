"""The prompt that compares two texts. It names them First and Second and holds no path, score,
weight or other judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from honestone.core.artifact import Version
from honestone.core.judging.packing import Packed
from honestone.core.judging.request import Request
from honestone.core.reading.json_schema import JsonSchema, closed_object
from honestone.core.reading.pairwise import PairQuestion
from honestone.prompts import filling

# Raise it when the code below changes what a judge sees; the template's own text is covered by its
# digest.
LAYOUT: Final = 3

_HINT: Final = "<first, second or tie>"


def pair_prompt(
    question: PairQuestion,
    problems: Sequence[str] = (),
    packed: tuple[Packed | None, Packed | None] = (None, None),
) -> Request:
    """`problems` name the errors of a first reply; `packed` is what is shown of each text that is
    too big. The right answer to a control item is a tie.
    """
    template = filling.load_template("pairwise")
    both = "\n".join(_all_text(version) for version in (question.first, question.second))
    fence = filling._fence(both)
    first = _text("First", question.first, packed[0], fence)
    second = _text("Second", question.second, packed[1], fence)
    plan = _requirements(question)
    base = sha256(f"{template.digest}\0{question.draw}\0".encode())
    base.update(filling._encoded("\0".join((*plan, first, second))))
    texts = "\n".join((*plan, first, second))
    controls = filling.drawn_controls(base.digest(), len(plan), both, texts)
    lines = list(plan)
    for number, requirement in controls.by_number:
        lines.insert(number - 1, requirement)
    items = "\n".join(f"[{number}] {line}" for number, line in enumerate(lines, 1))
    complaint = filling._complaint(problems)
    token = sha256(
        base.digest() + filling._encoded(items) + filling._encoded(complaint)
    ).hexdigest()[:12]
    values = {
        "first": first,
        "second": second,
        "items": items,
        "complaint": complaint,
        "skeleton": filling._skeleton(token, [_HINT] * len(lines), '{"evidence":"","answer":"%s"}'),
    }
    numbers = controls.others([key for key, _ in question.items()])
    return controls.request(filling._sendable(template.fill(values)), token, numbers)


def pair_schema(numbers: Sequence[int]) -> JsonSchema:
    """The JSON Schema of the reply, evidence before the answer: a list of numbered answers."""
    return filling._list_of_answers(
        {"evidence": {"type": "string"}, "answer": _CHOICE}, len(numbers)
    )


def exact_pair_schema(token: str, numbers: Sequence[int]) -> JsonSchema:
    """The JSON Schema for a server of one's own: this token, these numbers, and quotes that end."""
    answers = closed_object({str(number): {"$ref": "#/$defs/k1"} for number in sorted(numbers)})
    answer = closed_object({"evidence": filling.exact_text(), "answer": _CHOICE})
    return filling.exact_reply(token, answers, {"k1": answer})


_CHOICE: Final[JsonSchema] = {"type": "string", "enum": ["first", "second", "tie"]}


def _requirements(question: PairQuestion) -> list[str]:
    """One text for each criterion: its requirement, and indented below it what that means."""
    return [
        "".join(
            [
                filling._one_line(criterion.requirement),
                *(
                    f"\n    - {filling._one_line(detail)}"
                    for detail in question.details.get(criterion.id, ())
                ),
            ]
        )
        for criterion in question.criteria
    ]


def _text(name: str, version: Version, packed: Packed | None, fence: str) -> str:
    shown = packed.version if packed else version
    part = filling.shown_in_part(packed)
    if not version.is_folder:
        return f"{name} text:{part}\n{filling._fenced(fence, shown.text)}"
    files = [
        filling._fenced(fence, text, filling._path(path)) for path, text in shown.texts.items()
    ]
    tree = filling._fenced(fence, filling.tree_of(version, packed))
    return "\n\n".join(
        [f"{name} text, a folder of {len(version.files)} files:{part}\n{tree}", *files]
    )


def _all_text(version: Version) -> str:
    return "\n".join([*map(filling._path, version.files), *version.texts.values()])
