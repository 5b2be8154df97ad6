"""What a person sees who types the command alone, or asks for help."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from honestone.cli.helping import help_text
from honestone.cli.main import cli

from .desk import Desk


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command by what is typed for it."""

    def below(group: click.Group, words: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
        ctx = click.Context(group, info_name="honestone")
        for name in group.list_commands(ctx):
            command = group.get_command(ctx, name)
            assert command is not None
            yield " ".join((*words, name)), command
            if isinstance(command, click.Group):
                yield from below(command, (*words, name))

    return below(cli, ())


COMMANDS = dict(commands())


def test_the_command_alone_greets(desk: Desk) -> None:
    """What it is and what to type first; exit 0, nothing written."""
    shown = desk.run()
    assert (shown.code, shown.err) == (0, "") and len(shown.out.splitlines()) <= 25
    named = re.findall(r"(?m)^  honestone ([a-z]+)", shown.out)
    assert len(named) >= 3 and all(name in COMMANDS for name in named)
    assert not list(desk.folder.iterdir())


def test_every_command_has_an_example() -> None:
    """In the table of examples, or in its own words."""
    for path, command in COMMANDS.items():
        assert path in help_text()["examples"] or f"honestone {path}" in (command.help or ""), path
    assert set(help_text()["examples"]) <= set(COMMANDS)


@pytest.mark.parametrize(
    "line",
    sorted(
        {line for text in help_text()["examples"].values() for line in text.strip().splitlines()}
    ),
)
def test_every_example_can_be_typed(line: str) -> None:
    """Commands and options that there are, with values that they take."""
    words = shlex.split(line.partition(" > ")[0])
    assert words.pop(0) == "honestone"
    command: click.Command = cli
    ctx = click.Context(cli, info_name="honestone")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, found, words = command.resolve_command(ctx, words)
        assert found is not None
        command, ctx = found, click.Context(found, ctx, info_name=name)
    command.parse_args(ctx, words)


@pytest.mark.parametrize("name", ["eval", "improve"])
def test_many_options_are_in_groups(desk: Desk, name: str) -> None:
    """Each option once, all but --help in a group, and the examples last."""
    shown = desk.run(name, "--help").out
    headings = re.findall(r"(?m)^(\S.*):$", shown)
    assert len(set(headings) & set(help_text()["groups"])) >= 3
    rest = shown.partition("\nOptions:\n")[2]
    assert re.findall(r"--[a-z-]+", rest.partition("Examples:")[0]) == ["--help"]
    assert f"honestone {name} " in rest.partition("Examples:")[2]
    for param in COMMANDS[name].params:
        if isinstance(param, click.Option):
            assert len(re.findall(rf"(?m)^  (-\w, )?{param.opts[-1]}\b(?!-)", shown)) == 1, (
                param.opts
            )


def test_short_options_are_the_long_ones(desk: Desk) -> None:
    """-r and -j, -f; given in both ways they are given twice."""
    desk.file("a.md", "hello\n")
    desk.file("r.yaml", "rubric: 1\ncriteria: [{id: a, check: {contains: hello}}]\n")
    assert desk.run("eval", "a.md", "-r", "r.yaml", "-f", "json").json["verdict"] == "pass"
    twice = desk.run("eval", "a.md", "-r", "r.yaml", "--rubric", "r.yaml")
    assert twice.is_refusal and "--rubric is given twice" in twice.err
