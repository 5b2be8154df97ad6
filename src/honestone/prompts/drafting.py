"""The prompt that asks a model to draft the items of a rubric. What the person typed is fenced
data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from honestone.core.authoring.rubric_drafting import LEVELS, CriterionWish, code_kinds
from honestone.core.reading.json_schema import JsonSchema, closed_object
from honestone.prompts.filling import load_template

TEXT: Final[JsonSchema] = {"type": "string"}
TEXTS: Final[JsonSchema] = {"type": "array", "items": TEXT}


def one_list(name: str, *forms: JsonSchema) -> JsonSchema:
    """The JSON Schema of an object with one list, each entry in one of the forms."""
    return closed_object({name: {"type": "array", "items": {"anyOf": list(forms)}}})


# What the prompt asks for: items, or levels where there are none. It is the same for every rubric.
DRAFT_SCHEMA: Final = one_list(
    "criteria",
    closed_object({"id": TEXT, "requirement": TEXT, "items": TEXTS}),
    closed_object(
        {
            "id": TEXT,
            "requirement": TEXT,
            "anchors": closed_object({str(level): TEXT for level in LEVELS}),
        }
    ),
)


def draft_prompt(about: str, wanted: Sequence[CriterionWish], problems: Sequence[str] = ()) -> str:
    """`problems` name what was wrong with the first reply when it is asked once more."""
    criteria = "\n\n".join(_criterion(one) for one in wanted)
    values = {
        "about": fenced(about),
        "criteria": fenced(criteria),
        "checks": ", ".join(code_kinds()),
        "complaint": complaint(problems),
    }
    return load_template("draft").fill(values)


def complaint(problems: Sequence[str]) -> str:
    """What was wrong with the last reply, or nothing."""
    if not problems:
        return ""
    listed = "\n".join(f"- {problem}" for problem in problems)
    return f"Your last reply could not be used. What was wrong with it:\n{listed}\nReply again, in full.\n\n"


def _criterion(wanted: CriterionWish) -> str:
    lines = [f"id: {wanted.id}", f"said: {wanted.name}"]
    if wanted.description:
        lines.append(f"described as: {wanted.description}")
    lines += [f"item already given: {text}" for text in wanted.items]
    return "\n".join(lines)


def fenced(text: str) -> str:
    """A fence that the text cannot close."""
    fence = "````"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
