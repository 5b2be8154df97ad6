"""`honestone init`: starter files for the document found here. What is there already is never
written over.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import click
from msgspec import Struct, field

from honestone.app.options import Argument, Option
from honestone.cli import options as shared
from honestone.cli.terminal import dump, here, write
from honestone.core.errors import FileError
from honestone.templates import starter_text

RUBRIC, SETTINGS, DRAFT = "rubric.yaml", "honestone.toml", "README.md"

_MARKDOWN = (".md", ".markdown")
# Documents that are meant when there are several.
_FIRST = ("readme.md", "readme.markdown", "skill.md")


class _Done(Struct):
    """What was written and what was left alone, each with a remark."""

    written: dict[str, str] = field(default_factory=dict)
    left_alone: dict[str, str] = field(default_factory=dict)


@click.command("init", short_help="Write starter files to this folder.")
@shared.from_parameters
def init(
    *,
    file: Annotated[Path | None, Argument()] = None,
    folder: Annotated[Path, Option("The folder. [this one]", name="--dir", metavar="DIR")] = Path(
        "."
    ),
    as_json: shared.AsJson = False,
) -> int:
    """Write a starter rubric for FILE, or else for the document in this folder, and a settings
    file. Nothing is written over.
    """
    if not folder.is_dir():
        raise FileError(
            f"the folder {str(folder)!r} does not exist",
            hint="make it first, or name another --dir",
        )
    if file is not None and not file.is_file():
        hint = (
            f"for a folder: --dir {shlex.quote(str(file))}"
            if file.is_dir()
            else "name the document to write it for"
        )
        raise FileError(f"{str(file)!r} is not a file", hint=hint)
    done, others = _Done(), list[str]()
    if file is None:
        documents = _documents(folder)
        if not documents:
            _write(
                folder / DRAFT,
                starter_text("draft.md"),
                "a first draft, to have something to score",
                done,
            )
        file, others = folder / (documents or [DRAFT])[0], documents[1:]
    _write(folder / RUBRIC, starter_rubric(file.name), f"what {file.name} has to do; edit it", done)
    _write_settings(folder, done)
    _tell(folder, file, done, others, as_json=as_json)
    return 0


def _documents(folder: Path) -> list[str]:
    """The documents that may be meant, the most likely one first: a README, a SKILL.md, then
    Markdown files by name.
    """
    try:
        documents = sorted(
            path.name
            for path in folder.iterdir()
            if path.suffix.lower() in _MARKDOWN and path.is_file() and path.stat().st_size > 0
        )
    except OSError as error:
        raise FileError(
            f"cannot read the folder {str(folder)!r}: {error.strerror or error}"
        ) from None
    order = {name: number for number, name in enumerate(_FIRST)}
    return sorted(documents, key=lambda name: (order.get(name.lower(), len(order)), name))


def _write(path: Path, text: str, remark: str, done: _Done) -> None:
    """A new file. What has this name already, be it a broken link, stays."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError:
        done.left_alone[path.name] = "it is there already"
    except OSError as error:
        raise FileError(
            f"cannot write {str(path)!r}: {error.strerror or error}",
            hint="name a folder that can be written: --dir DIR",
        ) from None
    else:
        done.written[path.name] = remark


def _write_settings(folder: Path, done: _Done) -> None:
    """Write a settings file, but not where settings hold already, for example those of a
    `pyproject.toml`: a second file would hide them.
    """
    from honestone.formats.settings import find_settings

    holding = find_settings(folder.resolve()).folder
    if holding is not None and not (folder / SETTINGS).exists():
        done.left_alone[SETTINGS] = f"settings of {here().shown(holding)} apply here"
        return
    _write(
        folder / SETTINGS,
        starter_text("settings.toml"),
        "judges, workers and limits; all of it is commented out",
        done,
    )


def _tell(
    folder: Path, document: Path, done: _Done, others: Sequence[str], *, as_json: bool
) -> None:
    """`others` are the documents that could have been meant too."""
    from honestone.system.drawing import clean, count, style_for

    commands = next_commands(folder, document)
    if as_json:
        head = {
            "schema": "honestone.init/1",
            "folder": str(folder),
            "document": _from(folder, document),
        }
        write(
            dump(
                {
                    **head,
                    "written": list(done.written),
                    "kept": list(done.left_alone),
                    "next": commands,
                }
            )
            + "\n"
        )
        return
    style = style_for(sys.stdout)
    lines = [
        f"wrote       {clean(name):<16}{clean(remark)}" for name, remark in done.written.items()
    ]
    lines += [
        f"left alone  {clean(name):<16}{clean(remark)}" for name, remark in done.left_alone.items()
    ]
    if others and RUBRIC in done.written:
        others_text = f"{count(len(others), 'other document')} here; to take another: {clean(_again(folder, others[0]))}"
        lines.append(f"taken       {clean(document.name):<16}{others_text}")
    lines += ["", "next", *(f"  {style.paint(clean(command), 'cyan')}" for command in commands)]
    write(style.finish(lines))


def _from(folder: Path, document: Path) -> str:
    """The document as seen from the folder, where it is in it."""
    return document.name if document.parent == folder else str(document)


def _again(folder: Path, other: str) -> str:
    """The commands for another document of the folder: the rubric that was just written is in the
    way.
    """
    where = [] if folder == Path() else ["--dir", str(folder)]
    init = shlex.join(["honestone", "init", str(folder / other), *where])
    return f"rm {shlex.quote(str(folder / RUBRIC))} && {init}"


def next_commands(folder: Path, document: Path) -> list[str]:
    """The two commands to type now, in the folder where `init` was typed."""
    rubric, judged = (shlex.quote(str(path)) for path in (folder / RUBRIC, document))
    return [f"honestone eval {judged} --rubric {rubric}", "honestone doctor"]


# ------------------------------------------------------------------------------------------------------
# the starter


def starter_rubric(document: str) -> str:
    """A rubric that code alone can answer, with remarks that show the rest. A file may have any
    name.
    """
    from honestone.system.drawing import line

    name = line(document)
    head = starter_text("head.yaml").format(document=name, title=json.dumps(f"{name} does its job"))
    kind = "document"
    if name.lower().startswith("readme"):
        kind = "readme"
    elif name.lower() == "skill.md":
        kind = "skill"
    return "\n".join(
        [head, *(starter_text(f"{part}.yaml") for part in ("complete", kind, "readable", "judged"))]
    )


def starters() -> Iterator[str]:
    """Every kind of starter there is, for the tests."""
    yield from (starter_rubric(name) for name in (DRAFT, "SKILL.md", "design.md"))
