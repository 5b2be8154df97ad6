"""The reference pages of the formats in Markdown, made from the tables that the readers use:
`docs.py` writes them to files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from anchors import FORMAT_PAGES, anchor, key_anchor

from honestone.core.checking.checks import KINDS, Kind
from honestone.core.plugins import EXTENSION_POINTS, ExtensionPoint
from honestone.core.suite.case import SUITE_VERSION
from honestone.formats.fields import SHAPES, TAKES, VERSION, Shape
from honestone.formats.syntax.reader import Keys
from honestone.interop.reader import Reader
from honestone.interop.recognise import readers

RUBRIC_EXAMPLE = """\
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

RUBRIC_RULES = """\
- A criterion's score is the share of its items that are met; a number on anchors counts as its place between the
  lowest and the highest.
- A group's score is the weighted mean of its children. A penalty takes away from it, and the result is cut to 0-100.
- The rubric passes when its score reaches `threshold`, every top-level criterion reaches its floor, and no `required`
  criterion is 0. Nothing else can make up for any of the three.
- A missing answer is neither 0 nor a pass: the score becomes a range, and the result may be that it could not be judged.
"""

RUBRIC_FILES = """\
- Files are YAML 1.2 or JSON, in UTF-8, YAML up to 10 MB and JSON up to 100 MB. `yes`, `no`, `on`, `off` and `12:30` are
  text; write `true` and `false`.
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
        *RUBRIC_EXAMPLE.splitlines(),
        "```",
        "",
        "## How it is scored",
        "",
        *RUBRIC_RULES.splitlines(),
        "",
        "## How files are read",
        "",
        *RUBRIC_FILES.splitlines(),
        "",
    ]
    for title, shape in (
        ("The rubric", SHAPES["rubric"]),
        ("A criterion", SHAPES["criterion"]),
        ("An item", SHAPES["item"]),
        ("Anchors", SHAPES["level"]),
    ):
        lines += section(title, shape)
    lines += _checks()
    return "\n".join(lines).rstrip() + "\n"


def section(title: str, shape: Shape) -> Iterator[str]:
    """A shape as a table of its keys."""
    name = next(name for name, known in SHAPES.items() if known is shape)
    yield f"## {title}"
    yield ""
    if shape is SHAPES["level"]:
        yield "Levels by number, `{0: none, 10: full}`, or a list of levels with these keys. There are two at least."
    else:
        yield " ".join(part for part in (shape.doc, shape.short) if part)
    yield ""
    yield "| key | takes | default | meaning | example |"
    yield "| --- | --- | --- | --- | --- |"
    for field in shape.fields:
        cells = TAKES[field.takes].words, field.default, field.doc, f"`{field.example}`"
        place = anchor(key_anchor(name, field.key))
        yield f"| `{field.key}` | {place}{' | '.join(map(_cell, cells))} |"
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
        yield f"| `{name}` | {anchor(key_anchor('check', name))}{_cell(kind.takes)} | {options} | {_cell(kind.doc)} | {_cell(f'`{kind.example}`')} |"
    yield ""
    yield "### Options of checks"
    yield ""
    yield "| option | of | takes | default | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    used: set[str] = set()
    for (option, doc), (kinds, takes, default) in _options().items():
        place = "" if option in used else anchor(key_anchor("check-option", option))
        used.add(option)
        yield f"| `{option}` | {place}{_kinds_in_words(kinds)} | {_cell(takes)} | {default} | {_cell(doc)} |"


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
        others = [
            name for name, kind in KINDS.items() if _is_about_text(kind) and name not in names
        ]
        if not others:
            return "all kinds that read text"
    return ", ".join(f"`{name}`" for name in names)


def _is_about_text(kind: Kind) -> bool:
    return kind.family in ("text", "data")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


# ----------------------------------------------------------------------------------------------------
# suites

SUITE_EXAMPLE = """\
suite: 1
title: Reviewing SQL
target: {use: claude, skill: true, timeout: 120}
threshold: 80
attempts: 2
attempt_rule: pass^k
rubric:
  - Says in one sentence whether the query is safe
cases:
  - id: injection
    input: "Review: query = f'SELECT * FROM users WHERE id = {user_id}'"
    reference: Should name the injection and the fix
    rubric: [Names the injection, Suggests parameters]
    checks: [{icontains: parameter}]
    split: test
  - id: harmless
    input:
      - {role: system, content: You review database code.}
      - {role: user, content: "Review: SELECT count(*) FROM users"}
    rubric:
      threshold: 100
      floor: 0
      criteria:
        - id: raises-no-alarm
          requirement: Says that nothing is wrong
    tags: [false-alarm]
  - id: fixes-the-file
    input: Make app.py safe.
    workspace: {files: {app.py: "db.execute(f'DELETE FROM t WHERE id = {x}')"}}
    checks:
      - {icontains: safe}
      - {command: python -m py_compile app.py}
"""

SUITE_RULES = """\
- For each case the target makes an output from the input; judges and checks score it against the case's rubric.
- The suite's rubric, the case's own and its checks together are the top-level criteria of one rubric.
- Threshold and floor are the case's own rubric's where it is a whole one that names them; else the shared rubric's; else
  the suite's `threshold` and `floor`; else 70 and 60.
- `attempts`, `attempt_rule`, `timeout` and `workspace` of a case replace the suite's. `setup` and `teardown` of
  both run: the suite's set-up first, its teardown last.
- A case is `passed`, `failed`, `inconclusive` (judges did not settle it), `target-error` (no output, so no score) or
  `skipped`. The suite passes when every case that was not skipped has passed.
"""

SUITE_FILES = """\
- Files are YAML 1.2 or JSON, as rubric files are: unknown and doubled keys are errors, ids are text as written (`off`,
  `no` and `1.0` are ids), all errors of a file are shown at once, each with its place and its case.
- Paths are relative to the suite file. Files that are named by `{file: PATH}` are read with the suite, and are not part of
  the artifact.
- A case without a `split` gets one by a stable hash of its id: 60 of 100 train, 20 val, 20 test.
- Rows of JSON, JSON lines and YAML are cases. Columns of CSV that are keys of a case are these, others are its `vars`;
  empty cells are left out. A row without an id is called by its file and number (`refunds-3`).
"""


def suite_reference() -> str:
    """The whole page."""
    lines = [
        "# Suite reference",
        "",
        "A suite is a named set of cases: inputs for a target, and what its outputs are judged by.",
        f"This page describes format version {SUITE_VERSION}.",
        "It is generated from the program: it cannot say anything that the program does not do.",
        "",
        "```yaml",
        *SUITE_EXAMPLE.splitlines(),
        "```",
        "",
        "## How it is scored",
        "",
        *SUITE_RULES.splitlines(),
        "",
        "## How files are read",
        "",
        *SUITE_FILES.splitlines(),
        "",
    ]
    for title, shape in (
        ("The suite", SHAPES["suite"]),
        ("A case", SHAPES["case"]),
        ("The target", SHAPES["target"]),
        ("A prompt", SHAPES["prompt"]),
        ("The workspace", SHAPES["workspace"]),
        ("A repository", SHAPES["git"]),
        ("A message", SHAPES["message"]),
        ("A file", SHAPES["in-file"]),
        ("Several files", SHAPES["in-files"]),
    ):
        lines += section(title, shape)
    lines += [
        "Criteria, rubrics and checks: see the [rubric reference](rubric.md) and the [checks](checks.md)."
    ]
    return "\n".join(lines) + "\n"


# ----------------------------------------------------------------------------------------------------
# other tools

_HOW = {
    "read": "read",
    "ignored": "changes nothing",
    "lost": "lost: refused without `--accept-loss`",
}


def _page_of(reader: Reader) -> str | None:
    """None for a reader of another package."""
    package, _, rest = reader.read.__module__.partition(".interop.")
    return rest.partition(".")[0].replace("_", "-") if package == "honestone" and rest else None


def format_reference(page: str) -> str:
    """The page of one tool: its formats, each with its defaults, its keys and an example."""
    out = [
        f"# Formats of {FORMAT_PAGES[page]}",
        "",
        "What becomes of each key. [All formats](../formats.md), and what holds for each of them.",
        "",
    ]
    for reader in readers():
        out += _format(reader) if _page_of(reader) == page else []
    return "\n".join(out).rstrip() + "\n"


def _row(reader: Reader) -> str:
    """The anchor is the address that a format had while all of them were one page."""
    page = _page_of(reader)
    assert page is None or page in FORMAT_PAGES, page
    link = f"#{reader.name}" if page is None else f"formats/{page}.md#{reader.name}"
    address = "" if page is None else anchor(reader.name)
    return f"| {address}[{reader.name}]({link}) | a {reader.gives} | {reader.title} |"


def foreign_reference() -> str:
    """A table of the formats with what holds for all of them; those of other packages in full."""
    known = readers()
    out = [
        "# Formats of other tools",
        "",
        "`honestone eval` runs these files as they are. A format is recognised by a file's content, never by its name. A reader is",
        "lossless or loud: what has no meaning here is listed with file and line, and refused unless `--accept-loss` is given.",
        "`honestone suite convert` and `honestone rubric convert` write the native form.",
        "",
        "| format | gives | what it is |",
        "| --- | --- | --- |",
        *map(_row, known),
        "",
        "What a format does not say follows its own tool's documented rule, and the output says which was taken. A foreign file has no",
        "floor unless it says so.",
        "",
        *_survey(),
    ]
    for reader in known:
        out += _format(reader) if _page_of(reader) is None else []
    return "\n".join(out).rstrip() + "\n"


EXTENDING_OPENING = """\
# Extension points

Another package adds judges, checks, formats and more by *entry points*. It names an object in its `pyproject.toml`, in one
of the groups below:

```toml
[project.entry-points."honestone.judges"]
house = "my_package.judges:make_judge"
```

Once that package is installed next to honestone, the name is used like the built-in ones: here `--judge house`. Nothing
is loaded before its name is used, except readers of formats, which are asked about each file that is not
honestone's own. `honestone doctor` lists what is installed. A plugin that cannot be loaded, or that is not what the
group asks for, is a settings error (exit code 2) that names the package. Plugins run with all rights of the command:
install only packages that you trust.

[CONTRIBUTING](../../CONTRIBUTING.md#adding-things) shows how to add the same things to honestone itself.
"""


def extension_reference() -> str:
    """The whole page: a table of the groups, then each with its contract."""
    rows = [
        f"| [`{point.group}`](#{_anchor(point)}) | {point.noun} | {point.used_as} |"
        for point in EXTENSION_POINTS
    ]
    table = ["| group | adds | used as |", "| --- | --- | --- |", *rows]
    sections = [_extension_point(point) for point in EXTENSION_POINTS]
    return "\n".join([EXTENDING_OPENING, *table, "", *sections])


def _anchor(point: ExtensionPoint) -> str:
    return point.group.replace(".", "")


def _extension_point(point: ExtensionPoint) -> str:
    kind = "a function" if point.is_function else "an instance of"
    lines = [
        f"## {point.group}",
        "",
        f"Adds a {point.noun}. Used as: {point.used_as}.",
        "",
        f"The object is {kind} `{point.contract}`.",
        "",
        point.rules,
    ]
    if point.checked_by:
        lines += ["", f"`honestone.testing.{point.checked_by}` tests an implementation."]
    lines += ["", "```toml", f'[project.entry-points."{point.group}"]', point.example, "```", ""]
    return "\n".join(lines)


SURVEY = Path(__file__).resolve().parents[1] / "bench/formats-survey.json"


def _survey() -> list[str]:
    """How many published files load, by the survey."""
    found = json.loads(SURVEY.read_text("utf-8"))
    halves = [
        "## Files of strangers",
        "",
        f"{found['files']} files of {len(found['repositories'])} public repositories, written for the tools themselves. One half was",
        "looked at while the readers were made (*tuned*); the figures that count are those of the other (*measured*). *As it is*: nothing",
        "is lost. *Accepting losses*: with `--accept-loss`. `make formats-survey FOLDER=...` measures a folder that has a",
        "folder for each repository; each file is read with `--allow-outside` its root. The repositories are listed in",
        "`bench/formats-survey.json`.",
        "",
        "| files | goal | measured: as it is | accepting losses | tuned: as it is | accepting losses |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, tool in found["tools"].items():
        cells = [
            _shares(tool[half], key)
            for half in ("measured", "tuned")
            for key in ("as_they_are", "with_accept_loss")
        ]
        halves.append(f"| {name} | {tool['goal'] * 100:g}% | {' | '.join(cells)} |")
    return [*halves, ""]


def _shares(half: dict[str, int], key: str) -> str:
    files = half["files"]
    return f"{half[key] * 100 // files}% ({half[key]} of {files})" if files else "no file"


def _format(reader: Reader) -> list[str]:
    out = [
        f"## {reader.name}",
        "",
        f"{reader.title[0].upper()}{reader.title[1:]}. Gives a {reader.gives}.",
        "",
    ]
    if reader.defaults:
        out += [*(f"- {_cell(default)}" for default in reader.defaults), ""]
    if reader.keys:
        out += ["| key | what it becomes | |", "| --- | --- | --- |", *_rows(reader.keys), ""]
    if reader.example:
        language = (
            "json"
            if reader.example.lstrip().startswith(("{", "["))
            else "toml"
            if " = " in reader.example
            else "yaml"
        )
        out += [f"```{language}", reader.example.strip("\n"), "```", ""]
    return out


def _rows(tables: Iterable[Keys]) -> list[str]:
    rows: dict[str, None] = {}
    for table in tables:
        for row in table.rows:
            names = table.at + ", ".join(
                "any other key" if name == "..." else name for name in row.names
            )
            rows[f"| `{names}` | {_cell(row.meaning)} | {_HOW[row.how]} |"] = None
    return list(rows)
