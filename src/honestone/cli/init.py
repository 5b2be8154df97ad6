"""`honestone init`: starter files for the document found here. What is there already is never written over."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from honestone.cli import options as shared
from honestone.core.errors import FileError

RUBRIC, SETTINGS, DRAFT = "rubric.yaml", "honestone.toml", "README.md"

_MARKDOWN = (".md", ".markdown")
_FIRST = ("readme.md", "readme.markdown", "skill.md")
"""Documents that are meant when there are several."""


@dataclass(slots=True)
class _Done:
    """What was written and what was left alone, each with a remark."""

    written: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)


@click.command("init", short_help="Write starter files to this folder.")
@click.option("--dir", "folder", type=shared.PATH, default=Path(), metavar="DIR", help="The folder. [this one]")
@shared.json_option
def init(folder: Path, as_json: bool) -> int:
    """Write a starter rubric for the document in this folder, and a settings file. Nothing is written over."""
    if not folder.is_dir():
        raise FileError(f"there is no folder {str(folder)!r}", hint="make it first, or name another --dir")
    done = _Done()
    document = _document(folder)
    if document is None:
        document = DRAFT
        _write(folder / DRAFT, _DRAFT, "a first draft, to have something to score", done)
    _write(folder / RUBRIC, starter_rubric(document), f"what {document} has to do; edit it", done)
    _write_settings(folder, done)
    _tell(folder, document, done, as_json=as_json)
    return 0


def _document(folder: Path) -> str | None:
    """The document that is most likely meant: a README, a SKILL.md, else the first Markdown file."""
    try:
        found = sorted(
            path.name
            for path in folder.iterdir()
            if path.suffix.lower() in _MARKDOWN and path.is_file() and path.stat().st_size > 0
        )
    except OSError as error:
        raise FileError(f"cannot read the folder {str(folder)!r}: {error.strerror or error}") from None
    order = {name: number for number, name in enumerate(_FIRST)}
    return min(found, key=lambda name: (order.get(name.lower(), len(order)), name), default=None)


def _write(path: Path, text: str, remark: str, done: _Done) -> None:
    """A new file. What has this name already, be it a broken link, stays."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError:
        done.kept[path.name] = "it is there already"
    except OSError as error:
        raise FileError(
            f"cannot write {str(path)!r}: {error.strerror or error}",
            hint="name a folder that can be written: --dir DIR",
        ) from None
    else:
        done.written[path.name] = remark


def _write_settings(folder: Path, done: _Done) -> None:
    """Not where settings hold already, for example those of a `pyproject.toml`: a second file would hide them."""
    from honestone.app.setup import shown_path
    from honestone.formats.settings import find_settings

    holding = find_settings(folder.resolve()).folder
    if holding is not None and not (folder / SETTINGS).exists():
        done.kept[SETTINGS] = f"settings of {shown_path(holding)} hold here"
        return
    _write(folder / SETTINGS, _SETTINGS, "judges, workers and limits; all of it is a remark as yet", done)


def _tell(folder: Path, document: str, done: _Done, *, as_json: bool) -> None:
    from honestone.cli.printing import dump, write
    from honestone.cli.progress import style_for
    from honestone.report.draw import clean

    commands = next_commands(folder, document)
    if as_json:
        told = {"schema": "honestone.init/1", "folder": str(folder), "document": document}
        write(dump({**told, "written": list(done.written), "kept": list(done.kept), "next": commands}) + "\n")
        return
    style = style_for(sys.stdout)
    lines = [f"wrote       {clean(name):<16}{clean(remark)}" for name, remark in done.written.items()]
    lines += [f"left alone  {clean(name):<16}{clean(remark)}" for name, remark in done.kept.items()]
    lines += ["", "next", *(f"  {style.paint(clean(command), 'cyan')}" for command in commands)]
    write(style.finish(lines))


def next_commands(folder: Path, document: str) -> list[str]:
    """The two commands to type now, in the folder where `init` was typed."""
    rubric, judged = (shlex.quote(str(folder / name)) for name in (RUBRIC, document))
    return [f"honestone eval {judged} --rubric {rubric}", "honestone doctor"]


# ------------------------------------------------------------------------------------------------------ the starter


def starter_rubric(document: str) -> str:
    """A rubric that code alone can answer, with remarks that show the rest. A file may have any name."""
    from honestone.report.draw import line

    name = line(document)
    parts = [_HEAD.format(document=name, title=json.dumps(f"{name} does its job")), _COMPLETE]
    if name.lower().startswith("readme"):
        parts.append(_README)
    elif name.lower() == "skill.md":
        parts.append(_SKILL)
    else:
        parts.append(_DOCUMENT)
    return "\n".join([*parts, _READABLE, _JUDGED])


def starters() -> Iterator[str]:
    """Every kind of starter there is, for the tests."""
    yield from (starter_rubric(name) for name in (DRAFT, "SKILL.md", "design.md"))


_HEAD = """\
# What {document} has to do. A starter: keep what matters to you, and say in your own words what else does.
#   honestone rubric check rubric.yaml     finds mistakes
#   honestone rubric show rubric.yaml      shows how it is understood
rubric: 1
title: {title}
threshold: 80                     # the weighted mean has to reach this, 0-100
floor: 50                         # and every criterion this, whatever the mean says; 0 turns it off

criteria:
"""

_COMPLETE = """\
  - id: complete
    requirement: Nothing in it is unfinished
    weight: 30                    # the weights of one level sum to 100
    items:                        # yes/no items: the score of a criterion is the share of them that is met
      - id: long-enough
        requirement: Has at least 80 words
        check: {min-words: 80}    # an item with a check is answered by code
      - id: no-placeholder
        requirement: Holds no TODO, FIXME, TBD or XXX
        check: {not-regex: '\\b(TODO|FIXME|TBD|XXX)\\b'}
      - id: no-promises
        requirement: Announces nothing that is not there
        check: {not-icontains: [coming soon, will be added, to be written]}
      - id: no-template-text
        requirement: Holds no text of a template
        check: {not-icontains: [lorem ipsum, your name here, insert description]}
      - id: no-empty-section
        requirement: Every section has something in it
        check: {not-regex: '(?m)^(##+) .*\\s*\\n(?=\\1 )'}
"""

_README = """\
  - id: useful
    requirement: A stranger knows what it is and gets it running
    weight: 40
    floor: 60                     # a higher bar than the others
    items:
      - id: has-a-title
        requirement: Starts with a title
        check: {regex: '\\A\\s*(# \\S|<h1)'}
      - id: has-install
        requirement: Has a section on installing or getting started
        check: {regex: {pattern: '^#+ .*(install|set ?up|getting started|quick ?start)', flags: im}}
      - id: has-usage
        requirement: Has a section on using it
        check: {regex: {pattern: '^#+ .*(usage|use|using|example|quick ?start)', flags: im}}
      - id: shows-an-example
        requirement: Shows something to type, in a code block
        check: {regex: '(?m)^```'}
      - id: names-the-licence
        requirement: Says under which licence it may be used
        check: {regex: {pattern: 'licen[sc]e', flags: i}}
      # A check may run a program of yours; it gets the path of what is judged in $HONESTONE_ARTIFACT:
      # - id: example-runs
      #   requirement: The example of the README runs
      #   check: {command: python3 tools/run_example.py, timeout: 60}
      #   fix: python3 tools/fix_example.py        # what `improve --worker fix` runs when it is not met
"""

_SKILL = """\
  - id: useful
    requirement: An agent finds it, and knows when to use it and how
    weight: 40
    floor: 60                     # a higher bar than the others
    items:
      - id: has-front-matter
        requirement: Starts with front matter
        check: {regex: '\\A---\\n(.+\\n)+---\\n'}
      - id: has-a-name
        requirement: The name is made of small letters, digits and hyphens
        check: {regex: '(?m)\\A---\\n(?:.+\\n)*?name: *[a-z0-9]+(-[a-z0-9]+)*$'}
      - id: has-a-description
        requirement: The description has 40 to 1000 characters
        check: {regex: '(?m)\\A---\\n(?:.+\\n)*?description: *.{40,1000}$'}
      - id: says-when
        requirement: Says when to use it
        check: {regex: {pattern: 'use (it |this |this skill )?(when|for|whenever)', flags: i}}
      - id: gives-steps
        requirement: Gives steps or an example to follow
        check: {regex: '(?m)^(\\d+\\. |```)'}
"""

_DOCUMENT = """\
  - id: useful
    requirement: A reader finds what it is about and what follows from it
    weight: 40
    floor: 60                     # a higher bar than the others
    items:
      - id: has-a-title
        requirement: Starts with a title
        check: {regex: '\\A\\s*(---\\n(.*\\n)*?---\\s*)?# \\S'}
      - id: has-sections
        requirement: Has at least two sections
        check: {regex: '(?ms)^## .*^## '}
      - id: opens-with-text
        requirement: Says something before the first section
        check: {regex: '(?m)^# .*\\n+(?!#)\\S'}
      - id: gives-examples
        requirement: Gives an example, a figure or a table
        check: {regex: {pattern: '^```|^\\||!\\[|for example|for instance|e\\.g\\.', flags: im}}
      - id: names-a-next-step
        requirement: Says what follows, or who does what
        check: {regex: {pattern: 'next step|decision|recommend|summary|conclusion|should', flags: i}}
"""

_READABLE = """\
  - id: readable
    requirement: It is easy to read and leads to the rest
    weight: 30
    items:
      - id: short-enough
        requirement: Has at most 2000 words
        check: {max-words: 2000}
      - id: links-resolve
        requirement: Every link to a file or a heading resolves
        check: {links-resolve: true, beside: .}
      - id: links-say-where
        requirement: No link is called "here" or "link"
        check: {not-regex: {pattern: '\\[(click )?(here|link|this)\\]\\(', flags: i}}
      - id: images-have-words
        requirement: Every image has a text for those who cannot see it
        check: {not-regex: '!\\[\\s*\\]\\('}
      - id: no-doubled-word
        requirement: No word stands twice in a row
        check: {not-regex: {pattern: '(?<![-\\w])([a-z]{2,}) \\1(?![-\\w])', flags: i}}
"""

_JUDGED = """\
  # What code cannot tell, judges can. Take the `#` away, lower the weights above so that they sum to 100 again, and name
  # who judges: `honestone doctor` shows who can, for example
  #   honestone eval DOCUMENT --rubric rubric.yaml --judge claude --judge codex
  # - id: clear
  #   requirement: A reader who knows nothing of it understands it at the first reading
  #   weight: 30
  #   items:                      # 5 to 10 questions that two readers would answer alike
  #     - The first paragraph says what it is and for whom
  #     - No term is used before it is explained
  #     - Every claim is backed by an example, a number or a source
  #     - Each section answers the question that its heading asks
  #     - Nothing is said twice
  # - id: tone
  #   requirement: Plain, factual tone
  #   weight: 10
  #   anchors:                    # levels instead of items, for what cannot be taken apart
  #     0: advertises or lectures
  #     25: mostly praise, few facts
  #     50: facts and praise mixed
  #     75: factual with a few empty words
  #     100: factual throughout
"""

_DRAFT = """\
# Project name

TODO: say in one sentence what this is and for whom.

## Install

TODO

## Usage

TODO: show the shortest example that does something useful.
"""

_SETTINGS = """\
# Settings of honestone for this folder and those below it. Everything here is a remark: take a `#` away to use it.
# Keys never stand in this file: a setting names the variable that holds one.

# Judges and workers by a name of your own: honestone eval README.md --rubric rubric.yaml --judge local
# [judges.local]
# provider = "openai"                        # any server that speaks this protocol, for example Ollama or vLLM
# base_url = "http://127.0.0.1:11434/v1"
# model = "qwen3"
# api_key_env = "LOCAL_KEY"

# [judges.my-claude]
# provider = "claude"                        # an agent CLI: codex, claude or gemini
# auth = "login"                             # or "key" with api_key_env

# [workers.my-codex]
# provider = "codex"

# What one command may use at most. Options of the same names on the command line come first.
# [limits]
# rounds = 5
# max_calls = 60
# max_minutes = 30
# max_usd = 2.0
"""
