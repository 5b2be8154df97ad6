"""Each option of a command, each key of a file and each key of `--json` has an address of its own in
the reference.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import click
import pytest

from honestone.cli.main import cli
from honestone.core.checking.checks import KINDS
from honestone.formats.fields import SHAPES
from honestone.report.documents import field_rows, find_struct

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"


def anchors_of(page: str) -> Counter[str]:
    return Counter(re.findall(r'<a id="([^"]+)"></a>', (REFERENCE / page).read_text("utf-8")))


def options(command: click.Command, words: tuple[str, ...] = ()) -> list[str]:
    """`eval--judge` for each option that help shows, of this command and those below it."""
    context = click.Context(command, info_name=words[-1] if words else "honestone")
    found = [
        "-".join(words or ("honestone",)) + long[0]
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
        for long in [[name for name in option.opts if name.startswith("--")]]
    ]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                found += options(inner, (*words, name))
    return found


def test_each_option_has_an_address() -> None:
    known, wanted = anchors_of("cli.md"), options(cli)
    assert len(wanted) > 500
    assert [one for one in wanted if known[one] != 1] == []


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("rubric.md", ("rubric", "criterion", "item", "level")),
        ("suite.md", ("suite", "case", "target", "workspace", "git", "message")),
    ],
)
def test_each_key_of_a_file_has_an_address(page: str, names: tuple[str, ...]) -> None:
    known = anchors_of(page)
    wanted = [f"{name}-{field.key}" for name in names for field in SHAPES[name].fields]
    assert [one for one in wanted if known[one] != 1] == []


def test_each_check_and_its_options_have_an_address() -> None:
    known = anchors_of("checks.md")
    wanted = {f"check-{name}" for name in KINDS} | {
        f"check-option-{option}" for kind in KINDS.values() for option in kind.options
    }
    assert [one for one in sorted(wanted) if known[one] != 1] == []


def test_each_key_of_a_document_has_an_address() -> None:
    """Of the structs whose tables the page has."""
    text = (REFERENCE / "json.md").read_text("utf-8")
    known = anchors_of("json.md")
    structs = [
        part.partition("=")[0]
        for marked in re.findall(r"<!-- keys (.+) -->", text)
        for part in marked.split()
    ]
    assert len(structs) > 15
    for struct in structs:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", struct.removesuffix("Doc")).lower()
        keys = [
            key for fields, _ in field_rows(find_struct(struct).__doc__ or "") for key in fields
        ]
        assert [key for key in keys if known[f"{name}-{key.lower()}"] != 1] == []
