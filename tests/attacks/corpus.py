"""Attacks on a verdict: each is one small entry, run with the real command and held to one exit
code.

    Attack(name="...", hole=4, build=files(**{"a.md": "text"}), command=("eval", "a.md", ...),
    exit=1, expect={"verdict": "fail"})

`build` sets a desk up, `command` is what a person types there, `exit`, `expect` and `after` say
what must come of it. The command runs in a fork of the test process with an environment of its own,
which costs a tenth of a new Python; `Desk.start` gives a process of its own where that is the
point.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warm import import_all

PYTHON = sys.executable
HONESTONE = str(Path(PYTHON).with_name("honestone"))


@dataclass(frozen=True)
class Ended:
    """How one command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What `--json` printed; an empty object where it printed nothing that is JSON."""
        try:
            return json.loads(self.out)
        except ValueError:
            return {}


@dataclass(frozen=True)
class Desk:
    """A folder, a home and a place for temporary files of one attack. `extra` is added to the
    environment.
    """

    root: Path
    extra: dict[str, str] = field(default_factory=dict)

    @classmethod
    def new(cls, root: Path) -> Desk:
        """A desk with nothing on it, in a folder that is empty or not there."""
        for name in ("work", "home", "tmp"):
            (root / name).mkdir(parents=True)
        return cls(root)

    @property
    def folder(self) -> Path:
        return self.root / "work"

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join([str(Path(PYTHON).parent), os.environ.get("PATH", os.defpath)]),
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "NO_COLOR": "1",
            "LANG": "C.UTF-8",
            **self.extra,
        }

    def put(self, name: str, text: str) -> Path:
        """A file, with the indentation of the code around it taken off."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def has(self, name: str) -> bool:
        return os.path.lexists(self.folder / name)

    def judge(self, name: str, met: bool | str) -> str:
        """A script judge that always says the same, or that looks for a word; its `--judge` text."""
        answer = f"{met!r} in str(q['artifact'])" if isinstance(met, str) else repr(met)
        self.put(
            name,
            f"""\
            import json, sys  # {name}: no two judges are the same program
            q = json.load(sys.stdin)
            said = {answer}
            print(json.dumps({{"criteria": {{c["id"]: {{"met": said, "suggestion": "more"}} for c in q["criteria"]}}}}))
            """,
        )
        return f"script:{PYTHON} {self.folder / name}"

    def worker(self, body: str, name: str = "w.py") -> str:
        """A command worker; its `body` sees `a`, the artifact in its copy, and `desk`, the real
        folder.
        """
        head = (
            "import os, pathlib, shutil, sys\na = pathlib.Path(os.environ['HONESTONE_ARTIFACT'])\n"
        )
        where = f"desk = pathlib.Path({str(self.folder)!r})\nsys.stdin.read()\n"
        self.put(name, head + where + textwrap.dedent(body))
        return f"cmd:{PYTHON} {self.folder / name}"

    def start(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        """The installed command as a process of its own, still running."""
        return subprocess.Popen(
            [HONESTONE, *words],
            cwd=self.folder,
            env=self.env,
            text=True,
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "start_new_session": True,
                **more,
            },
        )

    def run(self, *words: str) -> Ended:
        """The command, to its end, in a fork of this process."""
        import_all()
        out, err = self.root / "stdout", self.root / "stderr"
        child = os.fork()
        if child == 0:
            self._become(words, out, err)
        _, status = os.waitpid(child, 0)
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in (out, err)]
        return Ended(os.waitstatus_to_exitcode(status), *texts)

    def _become(self, words: Iterable[str], out: Path, err: Path) -> None:
        code = 99
        try:
            for number, path in enumerate((Path(os.devnull), out, err)):
                os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
            sys.stdin, sys.stdout, sys.stderr = (
                os.fdopen(n, "rw"[n > 0], encoding="utf-8", closefd=False) for n in (0, 1, 2)
            )
            os.chdir(self.folder)
            os.environ.clear()
            os.environ.update(self.env)
            code = _command(list(words))
        finally:
            os._exit(code)


def _command(words: list[str]) -> int:
    import atexit
    import tempfile

    from honestone.cli.main import main

    tempfile.tempdir = None  # the parent's is not the desk's
    sys.argv = ["honestone", *words]
    try:
        main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
        return 99
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack. `build` sets the desk up and may return more words of the command; `{desk}` in a
    word is the folder.

    `exit` is the exit code that must come of it, `expect` values in the JSON (`rounds.0.outcome`
    leads inside), `says` texts that stdout and stderr together must hold, `after` whatever else
    must be so, as an assertion or a value that must be true.
    """

    name: str
    hole: int
    build: Callable[[Desk], Iterable[str] | None]
    command: tuple[str, ...]
    exit: int
    expect: Mapping[str, object] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    after: Callable[[Desk, Ended], object] = lambda desk, ended: True

    @property
    def id(self) -> str:
        return self.name.replace(" ", "-")

    def run(self, root: Path) -> None:
        """Raises AssertionError where it succeeds."""
        desk = Desk.new(root)
        more = self.build(desk) or ()
        ended = desk.run(*(word.format(desk=desk.folder) for word in self.command), *more)
        shown = f"{self.name}: exit {ended.code}\n{ended.out[-3000:]}\n{ended.err[-3000:]}"
        assert "Traceback (most recent call last)" not in ended.out + ended.err, shown
        assert ended.code == self.exit, shown
        for path, value in self.expect.items():
            assert looked_up(ended.json, path) == value, (
                f"{path} is {looked_up(ended.json, path)!r}\n{shown}"
            )
        for text in self.says:
            assert text in ended.out + ended.err, f"{text!r} is missing\n{shown}"
        assert self.after(desk, ended) is not False, shown


def looked_up(document: Any, path: str) -> Any:
    """The value at `a.0.b` in a JSON document; None where there is none."""
    for step in path.split("."):
        if isinstance(document, list):
            document = document[int(step)] if int(step) < len(document) else None
        else:
            document = document.get(step) if isinstance(document, dict) else None
    return document


def files(*parts: Mapping[str, str], **more: str) -> Callable[[Desk], None]:
    """A `build` that only writes files."""

    def build(desk: Desk) -> None:
        for part in (*parts, more):
            for name, text in part.items():
                desk.put(name, text)

    return build
