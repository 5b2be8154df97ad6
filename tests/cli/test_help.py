"""What a person sees who types the command alone, or asks for help."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from honestone.cli.commands import NEW_NAMES, OLD, new_name
from honestone.cli.helping import Grouped, help_text
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
def test_all_of_the_help_is_in_groups(desk: Desk, name: str) -> None:
    """Each option once, all but --help in a group, and the examples last."""
    shown = desk.run(name, "--help-all").out
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
    order = re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", shown.partition("Who judges:\n")[2])
    assert order[0] == "--judge"


def test_the_first_screen_is_small(desk: Desk) -> None:
    """At most 16 commands and 40 lines, none of them an old name; all of them with --help-all."""
    lines = desk.run("--help").out.splitlines()
    names = [found[1] for line in lines if (found := re.match(r"  ([a-z]+)  +[A-Z]", line))]
    assert len(names) <= 16 and len(lines) <= 40 and not set(names) & set(OLD)
    assert max(map(len, lines)) <= 80
    everything = desk.run("--help-all").out
    for path, command in COMMANDS.items():
        assert isinstance(command, click.Group) or re.search(rf"(?m)^  {path}  ", everything), path
    for old, new in NEW_NAMES.items():
        assert re.search(rf"(?m)^  {old} +{new}$", everything), old


@pytest.mark.parametrize("name", ["eval", "improve", "suite", "judges", *help_text()["short"]])
def test_help_shows_what_people_use(desk: Desk, name: str) -> None:
    """At most 25 lines that fit; each option is one of the command, with its short form."""
    shown = desk.run(*name.split(), "--help").out.splitlines()
    assert len(shown) <= 25 and "Usage: " in shown[0]
    command = COMMANDS[name]
    if isinstance(command, click.Group):
        assert len(desk.run(*name.split(), "--help-all").out.splitlines()) > 100
        return
    assert shown[-1] == f"  All options: honestone {name} --help-all"
    lines = help_text()["short"][name].splitlines()
    rows = [line for line in lines if not line.endswith(":")]
    assert len(rows) <= 10 and set(lines) <= {line.strip() for line in shown}
    options = {one.opts[-1]: one for one in command.params if isinstance(one, click.Option)}
    for row in rows:
        found = re.match(r"(?:(-\w), )?(--[a-z-]+)\b", row)
        assert found is not None and len(row) <= 78, row
        short = [one for one in options[found[2]].opts if not one.startswith("--")]
        assert short == [found[1]] * (found[1] is not None), row


def test_a_command_of_many_options_has_a_short_help() -> None:
    """Who asks for help is never shown a hundred lines."""
    for path, command in COMMANDS.items():
        many = sum(isinstance(one, click.Option) for one in command.params) > 25
        assert many == isinstance(command, Grouped), path


@pytest.mark.parametrize("old", [*NEW_NAMES, "stage run", "step next", "store copy", "run cancel"])
def test_an_old_name_works(desk: Desk, old: str) -> None:
    """The same command under both names; its help, and `help OLD`, say the new one."""
    new = new_name(old)
    assert new is not None and new in COMMANDS and old not in COMMANDS
    line = f"`honestone {old}` is now `honestone {new}`."
    by_old, by_new = desk.run(*old.split(), "--help"), desk.run(*new.split(), "--help")
    assert by_old.code == by_new.code == 0 and line in by_old.out
    named = desk.run("help", *old.split())
    assert named.code == 0 and named.out.startswith(line.partition(old)[0]) and line in named.out
    assert named.out.endswith(by_new.out)
    if old not in ("run", "judge"):
        assert found_by(old) is COMMANDS[new]


def found_by(path: str) -> click.Command | None:
    """The command that these words name."""
    found: click.Command | None = cli
    for word in path.split():
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found, info_name="honestone"), word)
    return found


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("pairwise",), "'judges pairwise'"),
        (("cancel", "last"), "'runs cancel'"),
        (("judges", "prompt"), "'agent prompt'"),
        (("evl",), "'eval'"),
        (("submit",), "'agent submit' or 'agent step submit'"),
        (("help", "pairwise"), "'judges pairwise'"),
    ],
)
def test_a_command_of_another_group_is_named(
    desk: Desk, words: tuple[str, ...], meant: str
) -> None:
    shown = desk.run(*words)
    assert shown.is_refusal and f"did you mean {meant}?" in shown.err


def test_an_option_has_one_name_everywhere() -> None:
    """`-o` is `--output`, `-n` is `--repeat`; the suite is `--suite`."""
    for path, command in COMMANDS.items():
        for option in (one for one in command.params if isinstance(one, click.Option)):
            assert ("-o" in option.opts) == ("--output" in option.opts), path
            assert ("-n" in option.opts) == ("--repeat" in option.opts), path
            assert "--task-suite" not in option.opts, path


def test_an_option_is_read_by_its_old_name(desk: Desk) -> None:
    """And no message shows it."""
    by_old = desk.run("skill", "run", "no-skill", "--task-suite", "s.yaml", "--worker", "fix")
    by_new = desk.run("skill", "run", "no-skill", "--suite", "s.yaml", "--worker", "fix")
    assert (by_old.code, by_old.err) == (by_new.code, by_new.err) and by_old.is_refusal
    assert "missing option '--suite'" in desk.run("skill", "run", "x", "--worker", "fix").err
    twice = desk.run("skill", "run", "x", "--suite", "a", "--task-suite", "b", "--worker", "fix")
    assert twice.is_refusal and "--suite is given twice" in twice.err


def test_short_options_are_the_long_ones(desk: Desk) -> None:
    """-r and -j, -f; given in both ways they are given twice."""
    desk.file("a.md", "hello\n")
    desk.file("r.yaml", "rubric: 1\ncriteria: [{id: a, check: {contains: hello}}]\n")
    assert desk.run("eval", "a.md", "-r", "r.yaml", "-f", "json").json["verdict"] == "pass"
    twice = desk.run("eval", "a.md", "-r", "r.yaml", "--rubric", "r.yaml")
    assert twice.is_refusal and "--rubric is given twice" in twice.err
