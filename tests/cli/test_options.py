"""The table of options: every part of it is used, and what it says a second time is what the code
knows.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import pytest

import honestone.cli
from honestone.app.agents.hosts import HOSTS
from honestone.app.convert import RUBRIC_FORMATS
from honestone.app.convert import SUITE_FORMATS as WRITTEN_FORMATS
from honestone.app.noise import LOOKS
from honestone.app.stages.evaluate import DEFAULT_TARGET, DEFAULT_THRESHOLD
from honestone.cli.demo import EXAMPLES, FOLDER
from honestone.cli.options import _DECLARED, options
from honestone.cli.terminal import FORMATS
from honestone.core.audit.verdict import Tier
from honestone.core.statistics.agreement import Level
from honestone.report.documents import KINDS

FOLDER_OF_COMMANDS = Path(honestone.cli.__file__).parent
TABLES = tomllib.loads((FOLDER_OF_COMMANDS / "options.toml").read_text("utf-8"))


def option(table: str, name: str) -> click.Parameter:
    @click.command()
    @options(table)
    def command(**given: object) -> None: ...

    return next(one for one in command.params if name in one.opts)


def help_of(table: str, name: str) -> str:
    found = option(table, name)
    assert isinstance(found, click.Option)
    return found.help or ""


def test_every_table_is_of_a_command_or_of_another_table() -> None:
    code = "\n".join(path.read_text("utf-8") for path in FOLDER_OF_COMMANDS.parent.rglob("*.py"))
    named = {
        name
        for call in re.findall(r"\boptions\((\"[^)]*)\)", code)
        for name in re.findall(r'"([^"]+)"', call)
    }
    shared = {
        name
        for rows in TABLES.values()
        for key in rows
        if key[0] == "+"
        for name in key[1:].split(" +")
    }
    assert named | shared == {*TABLES, *_DECLARED, "store"}


@pytest.mark.parametrize(
    ("table", "name", "known"),
    [
        ("agreement", "--level", Level),
        ("audit", "--require-tier", reversed(Tier)),
        ("agents", "--agent", HOSTS),
        ("rescore", "--format", FORMATS),
        ("show", "--schema", KINDS),
        ("suite convert", "--to", WRITTEN_FORMATS),
        ("rubric convert", "--to", RUBRIC_FORMATS),
        ("demo", "name", EXAMPLES),
    ],
)
def test_the_choices_are_those_of_the_code(table: str, name: str, known: object) -> None:
    kind = option(table, name).type
    assert isinstance(kind, click.Choice)
    assert list(kind.choices) == [str(one) for one in known]  # type: ignore[attr-defined]


def test_the_figures_are_those_of_the_code() -> None:
    assert f"[{FOLDER};" in help_of("demo", "--dir")
    assert option("noise", "-n").default == LOOKS
    assert option("stage evaluate", "--eval-threshold").default == DEFAULT_THRESHOLD
    assert f"[{DEFAULT_TARGET}]" in help_of("stage-tasks", "--target")


def test_a_flag_can_be_left_open() -> None:
    """Given, denied, or not said."""

    @click.command()
    @options("scope")
    def command(project: bool | None) -> bool | None:
        return project

    said = [command.main(words, standalone_mode=False) for words in ([], ["--user"], ["--project"])]
    assert said == [None, False, True]
