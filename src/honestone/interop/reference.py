"""The reference page of other tools' formats, in Markdown. Made from what each reader says of itself."""

from __future__ import annotations

from collections.abc import Iterable

from honestone.formats.reader import Keys
from honestone.interop.reader import Reader
from honestone.interop.recognise import readers

_HOW = {"read": "read", "ignored": "changes nothing", "lost": "lost: refused without `--accept-loss`"}


def foreign_reference() -> str:
    """The whole page: a table of the formats, then each with its defaults, its keys and an example."""
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
        *(f"| [{reader.name}](#{reader.name}) | a {reader.gives} | {reader.title} |" for reader in known),
        "",
        "What a format does not say follows its own tool's documented rule, and the output says which was taken. A foreign file has no",
        "floor unless it says so.",
        "",
    ]
    for reader in known:
        out += _section(reader)
    return "\n".join(out).rstrip() + "\n"


def _section(reader: Reader) -> list[str]:
    out = [f"## {reader.name}", "", f"{reader.title[0].upper()}{reader.title[1:]}. Gives a {reader.gives}.", ""]
    if reader.defaults:
        out += [*(f"- {_inline(default)}" for default in reader.defaults), ""]
    if reader.keys:
        out += ["| key | what it becomes | |", "| --- | --- | --- |", *_rows(reader.keys), ""]
    if reader.example:
        language = (
            "json" if reader.example.lstrip().startswith(("{", "[")) else "toml" if " = " in reader.example else "yaml"
        )
        out += [f"```{language}", reader.example.strip("\n"), "```", ""]
    return out


def _rows(tables: Iterable[Keys]) -> list[str]:
    rows: dict[str, None] = {}
    for table in tables:
        for row in table.rows:
            names = table.at + ", ".join("any other key" if name == "..." else name for name in row.names)
            rows[f"| `{names}` | {_inline(row.meaning)} | {_HOW[row.how]} |"] = None
    return list(rows)


def _inline(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def format_lines() -> list[str]:
    """One line a format, for a terminal."""
    width = max(len(reader.name) for reader in readers())
    return [f"{reader.name:<{width}}  {reader.gives:<6}  {reader.title}" for reader in readers()]
