"""The command. Only the subcommand that is asked for is imported, so that `--help` answers at once."""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from honestone import __version__
from honestone.cli.commands import GROUPS, HELP_ALL, MORE, OLD, paths_of
from honestone.cli.ctrl_c import leave_to_command
from honestone.core.errors import HonestoneError, Interrupted, StoreAway

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_ARGS_FROM = "--args-from"

EPILOG = """\b
Exit codes: 0 passed, 1 did not pass, 2 wrong call, file or setting,
3 could not be judged or undecided, 70 an error in honestone, 130 interrupted.

\b
honestone COMMAND --help has examples; honestone --help-all lists the rest."""
_HELP_ALL: Final = "--help-all"


class StrictGroup(click.Group):
    """A group whose commands take an option twice only where they say so: the last one never wins
    in silence.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            own = click.Context(command, ctx, info_name=name)
            if {"-h", "--help"} & set(rest):
                from honestone.cli.helping import add_examples

                add_examples(command, own.command_path.partition(" ")[2])
            _refuse_twice(own, rest)
        return name, command, rest

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help(ctx, formatter)
        if ctx.meta.get(HELP_ALL):
            from honestone.cli.helping import write_below

            write_below(self, ctx, formatter)


def _refuse_twice(ctx: click.Context, args: Sequence[str]) -> None:
    given = ctx.command.make_parser(ctx).parse_args(list(args))[2]
    for option in given:
        once = isinstance(option, click.Option) and not (option.multiple or option.is_flag)
        if once and given.count(option) > 1:
            raise click.UsageError(f"{option.opts[-1]} is given twice, but it takes one value", ctx)


class LazyGroup(StrictGroup):
    """A group whose commands are imported when they are called. Where they are and their help is in
    a table of `commands.py`, under the titles of the help.
    """

    def __init__(self, *args: Any, table: str, **extra: Any) -> None:
        super().__init__(*args, **extra)
        self._titles = GROUPS[table]
        self._table = {name: row for rows in self._titles.values() for name, row in rows.items()}
        self._old = {} if table else OLD

    def invoke(self, ctx: click.Context) -> Any:
        # Before click sees it: click would end with 1, which is a verdict of ours.
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise click.exceptions.Exit(_stop_writing()) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`--help-all` is `--help` of the same command; the context keeps that it is all of it."""
        end = args.index("--") if "--" in args else len(args)
        if ctx.parent is None and _HELP_ALL in args[:end]:
            ctx.meta[HELP_ALL] = True
            args = ["--help" if word == _HELP_ALL else word for word in args[:end]] + args[end:]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._table)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """As click offers them, with the help of the table: no command is imported for its own."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=text)
            for name, (_, text) in self._table.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = self._table[cmd_name][0] if cmd_name in self._table else self._old.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(importlib.import_module(f"honestone.cli.{module}"), name)
        leave_to_command()
        if "_HONESTONE_COMPLETE" in os.environ:
            from honestone.cli.completion import offer_names

            offer_names(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if args and not name.startswith("-") and name not in {**self._table, **self._old}:
            raise click.UsageError(f"unknown command {name!r}{self._near(name)}", ctx)
        return super().resolve_command(ctx, args)

    def _near(self, name: str) -> str:
        """A question about the name that was meant: a command of another group, or one with a
        name like it.
        """
        from difflib import get_close_matches

        near = list(paths_of(name)) or get_close_matches(name, self._table, n=1)
        return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Commands first: a group has few options, and they are seldom what somebody looks for."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        left = max(map(len, self._table))
        for title, rows in self._titles.items():
            if title == MORE and not ctx.meta.get(HELP_ALL):
                continue
            with formatter.section(title):
                formatter.write_dl([(name.ljust(left), text) for name, (_, text) in rows.items()])


@click.group(
    cls=LazyGroup,
    table="",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
    invoke_without_command=True,
)
@click.version_option(__version__, "-V", "--version", message="honestone %(version)s")
@click.option(
    "--args-from",
    "args_variable",
    metavar="VARIABLE",
    hidden=True,
    help="Take the arguments from this variable, split into words as a shell does. Must be the first argument.",
)
@click.pass_context
def cli(ctx: click.Context, args_variable: str | None) -> None:
    """Say what good looks like. Measure it honestly. Make it better until it is."""
    if args_variable is not None:  # `_arguments` takes it where it is the first word
        raise click.UsageError(
            f"{_ARGS_FROM} must be the first argument, and it cannot be used twice", ctx
        )
    if ctx.invoked_subcommand is None:
        from importlib.resources import files

        print((files(__package__) / "greeting.txt").read_text("utf-8"), end="")


def main(args: Sequence[str] | None = None) -> None:
    """The entry point: every error that a person can make ends in a line, a hint and an exit code."""
    _open_what_is_closed()
    is_traced = any(name.startswith("OTEL_") for name in os.environ)
    code = _traced(args) if is_traced else _run(args)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _stop_writing()
    except OSError as error:
        _stop_writing()
        code = report_outside(error)
    sys.exit(code)


def _run(args: Sequence[str] | None) -> int:
    words: Sequence[str] = sys.argv[1:] if args is None else args
    try:
        words = _arguments(words)
        code = cli.main(args=list(words), prog_name="honestone", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except (Interrupted, StoreAway) as stopped:
        report(
            stopped,
            resume=shlex.join(["honestone", *(word for word in words if word != "--fresh")]),
        )
        return stopped.exit_code
    except HonestoneError as error:
        report(error)
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        return 130
    except click.ClickException as error:
        report_usage(error)
        return 2
    except OSError as error:
        return report_outside(error)
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # it came while a class was made
            print("interrupted", file=sys.stderr)
            return 130
        return _report_crash(error)


def _arguments(words: Sequence[str]) -> Sequence[str]:
    """The words, those of the variable that `--args-from` names in its place.

    A workflow passes on arguments in this way: no shell reads them, and no other interpreter starts
    in the checkout to split them. Raises UsageError.
    """
    option, equals, name = words[0].partition("=") if words else ("", "", "")
    if option != _ARGS_FROM:
        return _refuse_names(words)
    rest = list(words[1:])
    if not equals:
        name = rest.pop(0) if rest else ""
    if name not in os.environ:
        raise click.UsageError(
            f"{_ARGS_FROM} names a variable that is not set: {name or '(no name)'}"
        )
    try:
        return _refuse_names([*shlex.split(os.environ[name]), *rest])
    except ValueError as error:
        raise click.UsageError(
            f"the variable {name} cannot be split into words: {str(error).lower()}"
        ) from None


def _refuse_names(words: Sequence[str]) -> Sequence[str]:
    """The words. Raises UsageError for an option that is the name of a file here: a shell's `*` or
    a commit hook, which list what is in a folder, hand over a file called `--threshold=0` like any
    other.
    """
    for word in words:
        if word == "--":
            break
        if word.startswith("-") and word != "-" and os.path.lexists(word):
            raise click.UsageError(
                f"{word!r} is an option and the name of a file here: put -- before the names of files, and ./ before this one"
            )
    return words


def _traced(args: Sequence[str] | None) -> int:
    """The same, with telemetry as the variables say."""
    from honestone.app.doors.telemetry import end_telemetry, provide_telemetry

    provide_telemetry(_say)
    try:
        return _run(args)
    finally:
        end_telemetry(_say)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _open_what_is_closed() -> None:
    """Without stdin, stdout or stderr, their numbers would be those of the next files opened, and
    be written to.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def _report_crash(error: Exception) -> int:
    """A bug of ours, or of something below us: 70, because 1 is a verdict. The trace is in a file."""
    import tempfile
    import traceback
    from pathlib import Path

    from honestone.app.workspace import Workspace

    summary = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    name, trace = "crash-", "".join(traceback.format_exception(error)).encode("utf-8", "replace")
    try:
        handle, path = tempfile.mkstemp(".txt", name, Workspace.at(Path()).store)
    except (OSError, HonestoneError):
        handle, path = tempfile.mkstemp(".txt", f"honestone-{name}")
    with os.fdopen(handle, "wb") as file:
        file.write(trace)
    print(f"internal error: {summary}; the trace is in {path}", file=sys.stderr)
    return 70


def report_outside(error: OSError) -> int:
    from honestone.report.errors import system_error_text

    print(system_error_text(error), file=sys.stderr)
    return 2


def _stop_writing() -> int:
    """Whoever read our output has seen enough. Python would complain once more when it flushes at
    exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def report(error: HonestoneError, *, resume: str = "") -> None:
    """`resume` is the line that resumes what was interrupted; `--fresh` is left out of it, because
    it would start over.
    """
    from honestone.report.errors import error_text

    print(error_text(error, command=resume), file=sys.stderr)


def report_usage(error: click.ClickException) -> None:
    from honestone.report.errors import usage_text

    ctx = error.ctx if isinstance(error, click.UsageError) else None
    print(
        usage_text(error.format_message(), None if ctx is None else ctx.command_path),
        file=sys.stderr,
    )
