"""`honestone demo`: a whole run on a copy of an example, by the ordinary commands. Offline; nothing
of it is recorded.

It copies an example, says what is judged and by what, and calls `eval` and `improve` as a person
would type them there.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from honestone.app.options import Argument, Option
from honestone.cli import options as shared
from honestone.core.errors import FileError, UsageError
from honestone.system.drawing import Style, clean, style_for, wrap

if TYPE_CHECKING:
    from honestone.core.judging.rubric import Rubric

FOLDER = "honestone-demo"
_RUBRIC = "rubric.yaml"
_MOST_NAMES = 1000
_INTERRUPTED = 130
_STOPPING = (signal.SIGINT, signal.SIGTERM)


# What is judged in each folder of `examples/`; `report/pages/demo.txt.j2` says what a stranger
# should know of it.
EXAMPLES: Mapping[str, str] = {
    "readme": "project/README.md",
    "package": "project",
    "skill": "csv-summary",
}


@click.command("demo", short_help="A whole run, offline, on real files.")
@shared.from_parameters
def demo(
    *,
    name: Annotated[str, Argument(choices=("readme", "package", "skill"))] = "readme",
    folder: Annotated[
        Path | None,
        Option(
            "The folder to make. [honestone-demo; a number is added when it is there]",
            name="--dir",
            metavar="DIR",
        ),
    ] = None,
    keep: Annotated[bool, Option("Keep the folder. [keep]", name="--keep/--no-keep")] = True,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """A whole run, offline, on real files: readme, package or skill.

    Copies an example to a new folder, scores it, and improves it until it passes: programs judge
    it, programs work out every edit from what the file holds, and what makes it worse is rolled
    back. Exits as `improve` does.
    """
    source = examples_folder() / name
    place = make_folder(folder)
    shown = _shown(place)
    try:
        copy_example(source, place)
        return _Demo(name, place, shown, keep=keep, as_json=as_json, quiet=quiet).run()
    finally:
        if not keep:
            shutil.rmtree(place, ignore_errors=True)


def examples_folder() -> Path:
    """Where the examples are: in the installed package, or in the checkout that it runs from."""
    here = Path(__file__).resolve()
    for place in (
        here.parent.parent / "_examples",
        *(one / "examples" for one in here.parents[3:4]),
    ):
        if all((place / name / _RUBRIC).is_file() for name in EXAMPLES):
            return place
    raise UsageError(
        "the examples are not part of this installation", hint="install honestone again"
    )


# -------------------------------------------------------------------------------------------------------
# the folder


def make_folder(wanted: Path | None) -> Path:
    """A new folder. Never one that is there, unless it was named and is empty.

    Where the working directory cannot be written, and no folder was named, it is a temporary one.
    """
    try:
        return _new_folder(wanted or Path(FOLDER), may_be_empty=wanted is not None)
    except OSError as error:
        if wanted is not None:
            raise FileError(
                f"cannot make the folder {str(wanted)!r}: {error.strerror or error}",
                hint="name another --dir",
            ) from None
    try:
        return Path(tempfile.mkdtemp(prefix=f"{FOLDER}-")).resolve()
    except OSError as error:
        raise FileError(
            f"neither the working directory nor a temporary folder can be written: {error.strerror or error}",
            hint="honestone demo --dir DIR",
        ) from None


def _new_folder(wanted: Path, *, may_be_empty: bool) -> Path:
    """The first free name of `x`, `x-2`, `x-3`. Making it is what proves it free: two demos may
    start at once.
    """
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
    raise FileError(
        f"{str(wanted)!r} and {_MOST_NAMES - 1} more are there already", hint="name another --dir"
    )


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
        raise FileError(
            f"cannot copy the example to {str(place)!r}: {error.strerror or error}"
        ) from None


def _environment() -> dict[str, str]:
    """The demo has a store of its own, and the example's tools, started as `python3`, run with the
    Python that runs us.
    """
    ours = os.path.dirname(sys.executable) if sys.executable else ""
    first = [ours] if ours and os.path.exists(os.path.join(ours, "python3")) else []
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("HONESTONE_HOME", "HONESTONE_STORE")
    }
    return {**inherited, "PATH": os.pathsep.join([*first, os.environ.get("PATH") or os.defpath])}


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # somebody removed it
        return None


# ----------------------------------------------------------------------------------------------------------
# the run


class _Demo:
    """One demo in its folder; `shown` is the folder's name as seen from where the command was
    typed.
    """

    def __init__(
        self, name: str, place: Path, shown: str, *, keep: bool, as_json: bool, quiet: bool
    ) -> None:

        self._name = name
        self._place = place
        self._shown = shown
        self._keep = keep
        self._as_json = as_json
        self._quiet = quiet
        self._style = style_for(sys.stdout)
        self._words = [EXAMPLES[name], "--rubric", _RUBRIC]

    def run(self) -> int:
        if self._as_json or self._quiet:
            return self._run_plainly()
        from honestone.formats.rubric.rubric_file import read_rubric

        rubric = read_rubric(self._place / _RUBRIC).rubric
        self._tell([*self._page("opening", rubric=rubric, **_facts_of(rubric)), ""])
        self._type("eval", *self._words)
        _call(self._place, ["eval", *self._words])
        self._tell(["", *self._page("loop"), ""])
        self._type("improve", *self._words)
        code = _call(self._place, ["improve", *self._words])
        self._tell(self._interrupted() if code == _INTERRUPTED else self._closing())
        return code

    def _run_plainly(self) -> int:
        """The document or the report alone on stdout; where it happens on stderr."""

        if not self._quiet:
            print(
                f"in {clean(self._shown)}: honestone improve {' '.join(self._words)}",
                file=sys.stderr,
            )
        extra = (["--json"] if self._as_json else []) + (["--quiet"] if self._quiet else [])
        return _call(self._place, ["improve", *self._words, *extra])

    def _tell(self, lines: list[str]) -> None:
        from honestone.cli.terminal import write

        write(self._style.finish(lines))

    def _page(self, part: str, **facts: object) -> list[str]:
        """A part of `demo.txt.j2` in lines that fit; what is after a label hangs behind it."""
        from honestone.report.templates import text_lines

        lines = []
        for row in text_lines(
            "demo.txt.j2",
            part,
            name=self._name,
            artifact=self._words[0],
            shown=self._shown,
            **facts,
        ):
            label = re.match(r"  [a-z]+(?: [a-z]+)*  +", row)
            first = label[0] if label else ""
            rows = wrap(
                row.removeprefix("# ")[len(first) :], min(self._style.columns, 100), first=first
            )
            lines += (
                [self._style.paint(one, "bold") for one in rows] if row.startswith("# ") else rows
            )
        return lines

    def _closing(self) -> list[str]:
        """Where everything is, and the commands for a file of one's own."""
        to_pager = (
            "" if self._words[0].endswith(".md") else " | less"
        )  # a folder's version is printed file by file
        look = {
            f"cd {shlex.quote(self._shown)}": "",
            "honestone show last --format diff": "what every round changed",
            f"honestone show last --version original{to_pager}": "how it was before",
        }
        own = {
            "honestone init": "write a starter rubric.yaml",
            "honestone doctor": "who can judge and edit here",
            f"honestone eval README.md --rubric {_RUBRIC}": "score it",
            f"honestone improve README.md --rubric {_RUBRIC} --worker claude": "",
        }
        there = ["", *self._page("closing" if self._keep else "removed")]
        there += _commands(self._style, look) if self._keep else []
        return [
            *there,
            "",
            self._style.paint("With a file of your own", "bold"),
            *_commands(self._style, own),
        ]

    def _interrupted(self) -> list[str]:
        if not self._keep:
            return ["", *self._page("removed", start="Interrupted.")]
        resume = {
            f"cd {shlex.quote(self._shown)}": "",
            f"honestone improve {' '.join(self._words)}": "resumes where it stopped",
        }
        return [
            "",
            self._style.paint("Interrupted; to resume", "bold"),
            *_commands(self._style, resume),
        ]

    def _type(self, *words: str) -> None:
        """The command as a person would type it in this folder."""
        self._tell([self._style.paint(f"$ honestone {' '.join(words)}", "bold"), ""])


def _call(place: Path, words: list[str]) -> int:
    """An ordinary command in that folder, as somebody would type it there; its exit code.

    It has a process group of its own, so that Ctrl-C and SIGTERM reach it once: from here.
    """
    sys.stdout.flush()
    command = [sys.executable, "-P", "-m", "honestone", *words]
    running = subprocess.Popen(command, cwd=place, env=_environment(), process_group=0)
    before = {
        one: signal.signal(one, lambda number, _: running.send_signal(number)) for one in _STOPPING
    }
    try:
        return running.wait()
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


# --------------------------------------------------------------------------------------------------------
# the words

_WHO_ANSWERS = {
    "command": "by running a program",
    "pytest": "by running tests",
    "python": "by a function in checks.py",
    "links-resolve": "by following links",
}


def _facts_of(rubric: Rubric) -> dict[str, object]:
    """How many items there are and what answers them, how many programs fix them, and which floors
    are higher.
    """
    from honestone.core.numbers import show_bar

    checks = [item.check for _, item in rubric.questions() if item.check is not None]
    kinds = Counter(_WHO_ANSWERS.get(check.kind, "by looking at the text") for check in checks)
    fixes = {
        word
        for _, item in rubric.questions()
        for word in (item.fix or "").split()
        if word.endswith(".py")
    }
    floors = {
        criterion.id: rubric.floor_of(criterion, parent) for criterion, parent in rubric.walk()
    }
    return {
        "items": kinds.total(),
        "answered": ", ".join(f"{number} {how}" for how, number in kinds.most_common()),
        "fixes": len(fixes),
        "threshold": show_bar(rubric.threshold),
        "floors": "; ".join(
            [
                show_bar(rubric.floor),
                ", ".join(
                    f"{id} {show_bar(one)}" for id, one in floors.items() if one > rubric.floor
                ),
            ]
        ),
    }


def _commands(style: Style, commands: Mapping[str, str]) -> list[str]:
    """A command a line, the remarks behind them in one column; above them where the lines are too
    short.
    """
    column = max(len(command) for command, remark in commands.items() if remark) + 2
    side_by_side = all(
        2 + column + 2 + len(remark) <= style.columns for remark in commands.values() if remark
    )
    lines = []
    for command, remark in commands.items():
        note = style.paint(f"# {remark}", "dim") if remark else ""
        lines += [f"  {note}"] if remark and not side_by_side else []
        gap = " " * (column - len(command)) if side_by_side else ""
        lines.append(f"  {style.paint(command, 'cyan')}{gap + note if side_by_side else ''}")
    return lines


def _shown(place: Path) -> str:
    """A folder as one would name it from here: by its name alone where that is enough."""
    here = _working_directory()
    return place.name if here is not None and str(place.parent) == here else str(place)
