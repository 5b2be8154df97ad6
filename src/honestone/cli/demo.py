"""`honestone demo`: a whole run on a copy of an example, by the ordinary commands. Offline; nothing of it is recorded.

It copies an example, says what is judged and by what, and calls `eval` and `improve` as a person would type them there.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from honestone.cli import options as shared
from honestone.core.errors import FileError, UsageError

if TYPE_CHECKING:
    from honestone.core.rubric import Rubric
    from honestone.system.drawing import Style

FOLDER = "honestone-demo"
_RUBRIC = "rubric.yaml"
_MOST_NAMES = 1000
_LABEL = 12
_INTERRUPTED = 130
_STOPPING = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One folder of `examples/`: what in it is judged, and what a stranger should know of it first."""

    artifact: str
    about: str
    watch: str


EXAMPLES: Mapping[str, Example] = {
    "readme": Example(
        artifact="project/README.md",
        about="the README of a small program. It was written for an older version, is unfinished and too long.",
        watch="One of the fixes is too greedy: to make the text shorter it drops the longest section, whatever that "
        "is. See what becomes of that.",
    ),
    "package": Example(
        artifact="project",
        about="a small Python package. A test fails, it prints when it is imported, and it has habits that hide errors.",
        watch="The tests have a floor of 100: while one fails nothing else can make up for it, so they come first.",
    ),
    "skill": Example(
        artifact="csv-summary",
        about="an agent skill. Its name is not valid, its description too long, and the command it shows misspelt.",
        watch="Text that no step needs is not deleted, but moved to a page that is linked; the links are followed.",
    ),
}


@click.command("demo", short_help="A whole run, offline, on real files.")
@click.argument("name", type=click.Choice(list(EXAMPLES)), default="readme")
@click.option(
    "--dir",
    "folder",
    type=shared.PATH,
    default=None,
    metavar="DIR",
    help=f"The folder to make. [{FOLDER}; a number is added when it is there]",
)
@click.option("--keep/--no-keep", default=True, help="Keep the folder. [keep]")
@shared.json_option
@shared.quiet_option
def demo(name: str, folder: Path | None, keep: bool, as_json: bool, quiet: bool) -> int:
    """A whole run, offline, on real files: readme, package or skill.

    Copies an example to a new folder, scores it, and improves it until it passes: programs judge it, programs work out
    every edit from what the file holds, and what makes it worse is rolled back. Exits as `improve` does.
    """
    example = EXAMPLES[name]
    source = examples_folder() / name
    place = make_folder(folder)
    shown = _shown(place)
    try:
        copy_example(source, place)
        return _Demo(name, example, place, shown, keep=keep, as_json=as_json, quiet=quiet).run()
    finally:
        if not keep:
            shutil.rmtree(place, ignore_errors=True)


def examples_folder() -> Path:
    """Where the examples are: in the installed package, or in the checkout that it runs from."""
    here = Path(__file__).resolve()
    for place in (here.parent.parent / "_examples", *(one / "examples" for one in here.parents[3:4])):
        if all((place / name / _RUBRIC).is_file() for name in EXAMPLES):
            return place
    raise UsageError("the examples are not part of this installation", hint="install honestone again")


# ------------------------------------------------------------------------------------------------------- the folder


def make_folder(wanted: Path | None) -> Path:
    """A new folder. Never one that is there, unless it was named and is empty.

    Where the working directory cannot be written, and no folder was named, it is a temporary one.
    """
    try:
        return _new_folder(wanted or Path(FOLDER), may_be_empty=wanted is not None)
    except OSError as error:
        if wanted is not None:
            raise FileError(
                f"cannot make the folder {str(wanted)!r}: {error.strerror or error}", hint="name another --dir"
            ) from None
    try:
        return Path(tempfile.mkdtemp(prefix=f"{FOLDER}-")).resolve()
    except OSError as error:
        raise FileError(
            f"neither the working directory nor a temporary folder can be written: {error.strerror or error}",
            hint="honestone demo --dir DIR",
        ) from None


def _new_folder(wanted: Path, *, may_be_empty: bool) -> Path:
    """The first free name of `x`, `x-2`, `x-3`. Making it is what proves it free: two demos may start at once."""
    path = Path(os.path.abspath(wanted))
    if may_be_empty and path.is_dir() and not any(path.iterdir()):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    for number in islice(count(1), _MOST_NAMES):
        free = path if number == 1 else path.with_name(f"{path.name}-{number}")
        try:
            free.mkdir()
        except FileExistsError:
            continue
        return free
    raise FileError(f"{str(wanted)!r} and {_MOST_NAMES - 1} more are there already", hint="name another --dir")


def copy_example(source: Path, place: Path) -> None:
    """Files with their content alone: an installed package may be read-only, its copy must not be."""
    from honestone.system.files import NEVER_PART

    try:
        for path in sorted(source.rglob("*")):
            inside = path.relative_to(source)
            if NEVER_PART.intersection(inside.parts) or path.suffix == ".pyc":
                continue
            if path.is_dir():
                (place / inside).mkdir(exist_ok=True)
            else:
                shutil.copyfile(path, place / inside)
    except OSError as error:
        raise FileError(f"cannot copy the example to {str(place)!r}: {error.strerror or error}") from None


def _environment() -> dict[str, str]:
    """The demo has a store of its own, and the example's tools, started as `python3`, run with the Python that runs us."""
    ours = os.path.dirname(sys.executable) if sys.executable else ""
    first = [ours] if ours and os.path.exists(os.path.join(ours, "python3")) else []
    kept = {name: value for name, value in os.environ.items() if name != "HONESTONE_HOME"}
    return {**kept, "PATH": os.pathsep.join([*first, os.environ.get("PATH") or os.defpath])}


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # somebody removed it
        return None


# ---------------------------------------------------------------------------------------------------------- the run


class _Demo:
    """One demo in its folder; `shown` is the folder's name as seen from where the command was typed."""

    def __init__(
        self, name: str, example: Example, place: Path, shown: str, *, keep: bool, as_json: bool, quiet: bool
    ) -> None:
        from honestone.system.drawing import style_for

        self._name = name
        self._example = example
        self._place = place
        self._shown = shown
        self._keep = keep
        self._as_json = as_json
        self._quiet = quiet
        self._style = style_for(sys.stdout)
        self._words = [example.artifact, "--rubric", _RUBRIC]

    def run(self) -> int:
        if self._as_json or self._quiet:
            return self._run_plainly()
        from honestone.formats.rubric_file import read_rubric

        rubric = read_rubric(self._place / _RUBRIC).rubric
        self._tell(_opening(self._style, self._name, self._example, self._shown, rubric))
        self._type("eval", *self._words)
        _call(self._place, ["eval", *self._words])
        self._tell(_before_the_loop(self._style, self._example))
        self._type("improve", *self._words)
        code = _call(self._place, ["improve", *self._words])
        if code == _INTERRUPTED:
            self._tell(_interrupted(self._style, self._shown, self._words, kept=self._keep))
        else:
            self._tell(_closing(self._style, self._example, self._shown, kept=self._keep))
        return code

    def _run_plainly(self) -> int:
        """The document or the report alone on stdout; where it happens on stderr."""
        from honestone.system.drawing import clean

        if not self._quiet:
            print(f"in {clean(self._shown)}: honestone improve {' '.join(self._words)}", file=sys.stderr)
        extra = (["--json"] if self._as_json else []) + (["--quiet"] if self._quiet else [])
        return _call(self._place, ["improve", *self._words, *extra])

    def _tell(self, lines: list[str]) -> None:
        from honestone.cli.terminal import write

        write(self._style.finish(lines))

    def _type(self, *words: str) -> None:
        """The command as a person would type it in this folder."""
        self._tell([self._style.paint(f"$ honestone {' '.join(words)}", "bold"), ""])


def _call(place: Path, words: list[str]) -> int:
    """An ordinary command in that folder, as somebody would type it there; its exit code.

    It has a process group of its own, so that Ctrl-C and SIGTERM reach it once: from here.
    """
    sys.stdout.flush()
    command = [sys.executable, "-m", "honestone", *words]
    running = subprocess.Popen(command, cwd=place, env=_environment(), process_group=0)
    before = {one: signal.signal(one, lambda number, _: running.send_signal(number)) for one in _STOPPING}
    try:
        return running.wait()
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


# -------------------------------------------------------------------------------------------------------- the words


def _opening(style: Style, name: str, example: Example, shown: str, rubric: Rubric) -> list[str]:
    """What is judged, by what, who edits and when it passes: before anything is done."""
    from honestone.core.numbers import show_bar

    floors = {criterion.id: rubric.floor_of(criterion, parent) for criterion, parent in rubric.walk()}
    strict = [f"{id} {show_bar(floor)}" for id, floor in floors.items() if floor > rubric.floor]
    return [
        style.paint(f"Demo: {rubric.title[:1].lower()}{rubric.title[1:]}", "bold"),
        "",
        *_wrapped(
            style,
            f"This is a real run. A copy of the example `{name}` is in {shown}; everything below happens "
            "there, without a network and without a model.",
        ),
        "",
        *_row(style, "judged", f"{example.artifact}: {example.about}"),
        *_row(style, "by", f"{_RUBRIC}: {len(rubric.criteria)} criteria, {_questions(rubric)}"),
        *_row(
            style,
            "edited by",
            f"the rubric's `fix:` commands, {_fixes(rubric)} programs in tools/ that work out "
            "each edit from what the file holds. A model could do it as well; here none is needed.",
        ),
        *_row(
            style,
            "passes when",
            f"the weighted mean is {show_bar(rubric.threshold)} or more and no criterion is below "
            f"its floor ({show_bar(rubric.floor)}; {', '.join(strict)}).",
        ),
        "",
        "First the score as it is:",
        "",
    ]


_WHO_ANSWERS = {
    "command": "by running a program",
    "pytest": "by running tests",
    "python": "by a function in checks.py",
    "links-resolve": "by following links",
}


def _questions(rubric: Rubric) -> str:
    """How many items there are, and what answers them."""
    kinds = Counter(
        _WHO_ANSWERS.get(item.check.kind, "by looking at the text")
        for _, item in rubric.questions()
        if item.check is not None
    )
    who = ", ".join(f"{number} {how}" for how, number in kinds.most_common())
    return f"{kinds.total()} yes/no items, all answered by code ({who})."


def _fixes(rubric: Rubric) -> int:
    """How many different programs there are among the fix commands."""
    commands = [item.fix for _, item in rubric.questions() if item.fix]
    return len({word for command in commands for word in command.split() if word.endswith(".py")})


def _before_the_loop(style: Style, example: Example) -> list[str]:
    return [
        "",
        *_wrapped(
            style,
            "Now the loop. Each round takes one criterion: first those below their floor, then the lowest. After "
            "an edit every criterion is measured again. What is worse than before is rolled back, and a criterion whose "
            "edits were rejected twice lets another go first.",
        ),
        "",
        *_wrapped(style, example.watch),
        "",
    ]


def _closing(style: Style, example: Example, shown: str, *, kept: bool) -> list[str]:
    """Where everything is, and the commands for a file of one's own."""
    where = [
        *_row(style, "folder", shown),
        *_row(style, "improved", f"{example.artifact}, in place"),
        *_row(style, "asked", f"{_RUBRIC}; the programs that check and fix are in tools/"),
        *_row(style, "kept", ".honestone/: every version, answer and decision, and the report"),
    ]
    look = {
        f"cd {shlex.quote(shown)}": "",
        "honestone show last --format diff": "what every round changed",
        f"honestone show last --version original{_to_pager(example)}": "how it was before",
    }
    own = {
        "honestone init": "write a starter rubric.yaml",
        "honestone doctor": "who can judge and edit here",
        f"honestone eval README.md --rubric {_RUBRIC}": "score it",
        f"honestone improve README.md --rubric {_RUBRIC} --worker claude": "",
    }
    if kept:
        there = ["", style.paint("Where everything is", "bold"), *where]
        there += ["", style.paint("Look closer", "bold"), *_commands(style, look)]
    else:
        there = ["", *_wrapped(style, f"{shown} is removed again, as --no-keep says.")]
    return [*there, "", style.paint("With a file of your own", "bold"), *_commands(style, own)]


def _interrupted(style: Style, shown: str, words: list[str], *, kept: bool) -> list[str]:
    if not kept:
        return ["", *_wrapped(style, f"Interrupted. {shown} is removed again, as --no-keep says.")]
    go_on = {f"cd {shlex.quote(shown)}": "", f"honestone improve {' '.join(words)}": "resumes where it stopped"}
    return ["", style.paint("Interrupted; to resume", "bold"), *_commands(style, go_on)]


def _to_pager(example: Example) -> str:
    """A folder's version is printed file by file, which is long."""
    return "" if example.artifact.endswith(".md") else " | less"


def _commands(style: Style, commands: Mapping[str, str]) -> list[str]:
    """A command a line, the remarks behind them in one column; above them where the lines are too short."""
    column = max(len(command) for command, remark in commands.items() if remark) + 2
    side_by_side = all(2 + column + 2 + len(remark) <= style.columns for remark in commands.values() if remark)
    lines = []
    for command, remark in commands.items():
        note = style.paint(f"# {remark}", "dim") if remark else ""
        lines += [f"  {note}"] if remark and not side_by_side else []
        gap = " " * (column - len(command)) if side_by_side else ""
        lines.append(f"  {style.paint(command, 'cyan')}{gap + note if side_by_side else ''}")
    return lines


def _row(style: Style, label: str, text: str) -> list[str]:
    first = f"  {label:<{_LABEL}} "
    return _wrapped(style, text, first=first, rest=" " * len(first))


def _wrapped(style: Style, text: str, *, first: str = "", rest: str | None = None) -> list[str]:
    from honestone.system.drawing import clean, wrap

    return wrap(clean(text), min(style.columns, 100), first=first, rest=rest)


def _shown(place: Path) -> str:
    """A folder as one would name it from here: by its name alone where that is enough."""
    here = _working_directory()
    return place.name if here is not None and str(place.parent) == here else str(place)
