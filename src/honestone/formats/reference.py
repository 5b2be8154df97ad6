"""The reference page of the rubric format, in Markdown. Made from `fields` and the kinds of check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from honestone.core.checks import KINDS, Kind
from honestone.formats.fields import CRITERION, ITEM, LEVEL, RUBRIC, TAKES, VERSION, Shape, Taken, Takes

_EXAMPLE = """\
rubric: 1
title: A bug report that a stranger can act on
threshold: 80
floor: 60
criteria:
  - id: reproducible
    requirement: A stranger can reproduce the bug
    weight: 50
    required: true
    floor: 70
    items:
      - States the exact version of the software
      - Gives the expected and the actual result
      - id: numbered-steps
        requirement: Gives numbered steps
        check: {regex: '(?m)^\\s*1[.)]'}
  - id: tone
    requirement: Neutral, factual tone
    weight: 25
    anchors: {0: hostile, 50: neutral in places, 100: factual throughout}
  - id: impact
    requirement: Says who is hit and how badly
    weight: 25
"""

_RULES = """\
- A criterion's score is the share of its items that are met; a number on anchors counts as its place between the
  lowest and the highest.
- A group's score is the weighted mean of its children. A penalty takes away from it, and the result is cut to 0-100.
- The rubric passes when its score reaches `threshold`, every top-level criterion reaches its floor, and no `required`
  criterion is 0. Nothing else can make up for any of the three.
- A missing answer is neither 0 nor a pass: the score becomes a range, and the result may be that it could not be judged.
"""

_FILE_RULES = """\
- Files are YAML 1.2 or JSON, in UTF-8, up to 10 MB. `yes`, `no`, `on`, `off` and `12:30` are text; write `true` and
  `false`.
- Unknown keys, duplicate keys, custom tags and a second document are errors. All errors of a file are shown at once,
  each with file, line and column.
- Ids are text as written: `id: off` and `id: 1.0` are fine.
- Numbers are exact decimals: 72.5 is 72.5.
"""


def rubric_reference() -> str:
    """The whole page."""
    lines = [
        "# Rubric reference",
        "",
        f"A rubric says what good looks like and the bar to meet. This page describes format version {VERSION}.",
        "It is generated from the program: it cannot say anything that the program does not do.",
        "",
        "```yaml",
        *_EXAMPLE.splitlines(),
        "```",
        "",
        "## How it is scored",
        "",
        *_RULES.splitlines(),
        "",
        "## How files are read",
        "",
        *_FILE_RULES.splitlines(),
        "",
    ]
    for title, shape in (("The rubric", RUBRIC), ("A criterion", CRITERION), ("An item", ITEM), ("Anchors", LEVEL)):
        lines += section(title, shape)
    lines += _checks()
    return "\n".join(lines).rstrip() + "\n"


def section(title: str, shape: Shape, takes: Mapping[Takes, Taken] = TAKES) -> Iterator[str]:
    """A shape as a table of its keys."""
    yield f"## {title}"
    yield ""
    if shape is LEVEL:
        yield "Levels by number, `{0: none, 10: full}`, or a list of levels with these keys. There are two at least."
    else:
        yield " ".join(part for part in (shape.doc, shape.short) if part)
    yield ""
    yield "| key | takes | default | meaning | example |"
    yield "| --- | --- | --- | --- | --- |"
    for field in shape.fields:
        cells = takes[field.takes].words, field.default, field.doc, f"`{field.example}`"
        yield f"| `{field.key}` | {' | '.join(map(_cell, cells))} |"
    yield ""


def _checks() -> Iterator[str]:
    yield "## Checks"
    yield ""
    yield (
        "A check is one kind with its argument, and options next to it: `check: {contains: Install, path: '*.md'}`. "
        "Each kind has an opposite with `not-` before its name. A kind that needs no argument may stand alone: `check: is-json`."
    )
    yield ""
    yield "| kind | takes | options | meaning | example |"
    yield "| --- | --- | --- | --- | --- |"
    for name, kind in KINDS.items():
        options = ", ".join(f"`{option}`" for option in kind.options) or "none"
        yield f"| `{name}` | {_cell(kind.takes)} | {options} | {_cell(kind.doc)} | {_cell(f'`{kind.example}`')} |"
    yield ""
    yield "### Options of checks"
    yield ""
    yield "| option | of | takes | default | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for (option, doc), (kinds, takes, default) in _options().items():
        yield f"| `{option}` | {_kinds_in_words(kinds)} | {_cell(takes)} | {default} | {_cell(doc)} |"


def _options() -> dict[tuple[str, str], tuple[list[str], str, str]]:
    """Every option once, with the kinds that have it."""
    found: dict[tuple[str, str], tuple[list[str], str, str]] = {}
    for name, kind in KINDS.items():
        for key, option in kind.options.items():
            default = "none" if option.default is None else f"`{option.default}`"
            found.setdefault((key, option.doc), ([], option.takes, default))[0].append(name)
    return found


def _kinds_in_words(names: list[str]) -> str:
    if len(names) > 4:
        others = [name for name, kind in KINDS.items() if _is_about_text(kind) and name not in names]
        if not others:
            return "all kinds that read text"
    return ", ".join(f"`{name}`" for name in names)


def _is_about_text(kind: Kind) -> bool:
    return kind.family in ("text", "data")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
