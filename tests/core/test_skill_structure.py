"""The structure of a skill: what is odd is told with its line, what is well formed is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.artifact import Entry, Version
from honestone.core.skill.structure import RULES, StructureRemark, check_structure, front_values

GOOD = """\
---
name: plants
description: Answers questions about plants. Use when somebody asks about a plant.
---
# Plants

Read [the list](references/list.md) and run `scripts/look.py`.

See [the web](https://plants.example/x) and [below](#rules).

```
[not a link](nowhere.md) TODO:
```

## Rules
- Say the name first.
"""


def look(text: str, *files: str, folder: str = "plants") -> list[StructureRemark]:
    names = {"SKILL.md": Entry(text.encode()), **{name: Entry(b"see more\n") for name in files}}
    return check_structure(Version(names, is_folder=True), folder=folder)


def rules(text: str, *files: str, folder: str = "plants") -> list[str]:
    return [one.rule for one in look(text, *files, folder=folder)]


def test_a_well_formed_skill_has_nothing_to_say() -> None:
    """Front matter, a trigger, links that lead somewhere."""
    assert rules(GOOD, "references/list.md", "scripts/look.py") == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("# Plants\nDo it.\n", "no-front-matter"),
        (GOOD.replace("name: plants\n", ""), "no-name"),
        (GOOD.replace("name: plants", "name: My Plants"), "odd-name"),
        (GOOD.replace("name: plants", "name: trees"), "other-folder"),
        (GOOD.replace("description: Answers", "about: Answers"), "no-description"),
        (GOOD.replace("Answers questions", "x " * 600), "long-description"),
        (
            GOOD.replace(
                "Answers questions about plants. Use when somebody asks about a plant.", "Plants."
            ),
            "short-description",
        ),
        (
            GOOD.replace(" Use when somebody asks about a plant.", " It knows them all."),
            "no-trigger",
        ),
        (
            "---\nname: plants\ndescription: Use when a plant is asked about.\n---\n# Plants\n",
            "no-body",
        ),
        (GOOD + "- more\n" * 600, "long-body"),
        (GOOD.replace("references/list.md", "references/gone.md"), "broken-link"),
        (GOOD.replace("references/list.md", "../other/list.md"), "link-outside"),
        (GOOD + "- TODO: more rules\n", "unfinished"),
        (GOOD + "```\ncode\n", "open-code"),
    ],
)
def test_each_oddity_is_told(text: str, rule: str) -> None:
    """One thing wrong at a time."""
    found = look(text, "references/list.md", "scripts/look.py")
    assert rule in [one.rule for one in found]
    assert all(
        one.why == RULES[one.rule].why and 1 <= one.line <= text.count("\n") + 1 for one in found
    )


def test_the_line_is_where_it_stands() -> None:
    """A broken link is told with the line of the link."""
    (found,) = look(GOOD, "references/list.md")
    assert (found.rule, found.line) == ("broken-link", 7)
    assert "scripts/look.py" in found.message


def test_a_file_that_nothing_names_is_told() -> None:
    """An agent does not read what it is not told of."""
    assert rules(GOOD, "references/list.md", "scripts/look.py", "more.md") == ["unused-file"]


def test_front_matter_is_read_as_people_write_it() -> None:
    """Plain, quoted, folded and literal values."""
    text = "---\na: plain # note\nb: \"say \\\"x\\\"\"\nc: 'it''s'\nd: >-\n  one\n  two\ne: |\n  x\n  y\nf:\n  - g\n---\n"
    assert front_values(text) == {
        "a": "plain",
        "b": 'say "x"',
        "c": "it's",
        "d": "one two",
        "e": "x\ny",
        "f": "- g",
    }
    assert front_values("no front matter") == {}


@given(st.text(max_size=300))
def test_any_text_can_be_looked_at(text: str) -> None:
    """Whatever stands in it, remarks have a rule that is explained."""
    assert all(one.rule in RULES and one.line >= 1 for one in look(f"---\n{text}\n---\n{text}"))
