"""A person's desk: a private folder and home, and `honestone` run as a process of its own
(`tools/warm.py`).

Judges and workers are real programs, written here as small Python files that log every call.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import warm
from warm import HONESTONE

PYTHON = f"{sys.executable} -I -S"

RUBRIC = """\
rubric: 1
title: A note that a stranger can use
threshold: 80
floor: 0
criteria:
  - id: words
    requirement: It says what it must
    weight: 3
    items:
      - {id: apple, requirement: It names the apple}
      - {id: pear, requirement: It names the pear}
  - id: close
    requirement: It ends with a farewell
    weight: 1
"""
"""Two questions of weight 3 and one of weight 1; `JUDGE` answers them by the last word of each."""

LEAN_JSON = '''\
import _json

class json:
    """The parts in C of the standard module: `import json` takes as long as all else in a judge."""
    strict, memo, object_hook, object_pairs_hook = True, {}, None, None
    parse_float, parse_int, parse_constant = float, int, float

    def loads(text):
        return _json.make_scanner(json)(text.strip(), 0)[0]

    def load(file):
        return json.loads(file.read())

    def dumps(value):
        ascii = _json.encode_basestring_ascii
        write = _json.make_encoder(None, None, ascii, None, ": ", ", ", False, False, True)
        return "".join(write(value, 0))

'''
"""The head of a program that tests start often: `json.loads`, `load` and `dumps`."""

_JUDGE = '''\
with open(LOG, "a", encoding="utf-8") as log:
    log.write(json.dumps(request) + "\\n")
artifact = request["artifact"]
text = artifact["text"] if "text" in artifact else "\\n".join(entry["text"] for entry in artifact["files"])
text = text if request["output"] is None else request["output"]

def met(criterion, item):
    """An item is met when the text holds the last word of its requirement."""
    return item["requirement"].split()[-1].lower() in text.lower()

def reply():
    """Every question of the request answered by `met`."""
    out = {{}}
    for criterion in request["criteria"]:
        if "items" in criterion:
            out[criterion["id"]] = {{"items": {{item["id"]: {{"met": met(criterion, item)}} for item in criterion["items"]}}}}
        else:
            out[criterion["id"]] = {{"met": met(criterion, criterion)}}
    return {{"criteria": out}}

again = "problems" in request
{body}
'''

_WORKER = """\
import os, sys
LOG = {log!r}
brief = sys.stdin.read()
with open(LOG, "a", encoding="utf-8") as log:
    log.write(repr(brief) + "\\n")
path = os.environ["HONESTONE_ARTIFACT"]
def read():
    return open(path, "rb").read()
def put(data):
    open(path, "wb").write(data)
{body}
"""


@dataclass(frozen=True)
class Result:
    """How one command ended."""

    code: int
    out: str
    err: str
    raw: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def is_refusal(self) -> bool:
        """Exit 2 with `error:` and `hint:`, nothing on stdout and no traceback."""
        return (
            self.code == 2
            and self.err.count("error: ") >= 1
            and "hint: " in self.err
            and "Traceback" not in self.err
            and self.out == ""
        )


@dataclass
class Program:
    """A scripted judge or worker: what to pass to the command, and what it was asked."""

    spec: str
    path: Path
    log: Path

    @property
    def calls(self) -> int:
        return len(self.lines)

    @property
    def lines(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


def until(done: Callable[[], object], seconds: float = 300) -> bool:
    """Return as soon as `done` holds, or when the time is over; whether it held."""
    end = time.monotonic() + seconds
    while not (holds := bool(done())) and time.monotonic() < end:
        time.sleep(0.02)
    return holds


def stops_at(log: Path, *calls: int) -> str:
    """The line that makes a program stand still at these calls of it, counted from 1 by the lines
    of its log: whoever kills the command then does so while the program works, however busy the
    machine is.
    """
    return f"if len(open({str(log)!r}).readlines()) in {calls}: __import__('time').sleep(600)\n"


@dataclass
class Desk:
    folder: Path
    home: Path
    logs: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join(
                [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
            ),
            "HOME": str(self.home),
            "NO_COLOR": "1",
            "LANG": "C.UTF-8",
            **self.extra,
        }

    def run(
        self,
        *args: str | bytes | Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        prefix: list[str] | None = None,
        before: Callable[[], None] | None = None,
        timeout: float = 600,
        stdin: str = "",
    ) -> Result:
        """The command, to its end: the installed one where something has to hold before or around
        its process.
        """
        command = HONESTONE if prefix or before else warm.command()
        ended = subprocess.run(
            [*(prefix or []), command, *(os.fspath(arg) for arg in args)],
            cwd=cwd or self.folder,
            env={**self.env, **(env or {})},
            input=stdin.encode(),
            capture_output=True,
            timeout=timeout,
            check=False,
            preexec_fn=before,
        )
        decoded = [text.decode("utf-8", "surrogateescape") for text in (ended.stdout, ended.stderr)]
        return Result(ended.returncode, *decoded, raw=ended.stdout)

    def start(
        self,
        *args: str | Path,
        env: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
        is_installed: bool = True,
    ) -> subprocess.Popen[str]:
        """The command, still running. `is_installed`: the installed one, for who kills it."""
        return subprocess.Popen(
            [HONESTONE if is_installed else warm.command(), *(os.fspath(arg) for arg in args)],
            cwd=self.folder,
            env={**self.env, **(env or {})},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def rubric(self, text: str = RUBRIC, name: str = "rubric.yaml") -> Path:
        return self.file(name, textwrap.dedent(text))

    def judge(self, name: str = "judge", body: str = "print(json.dumps(reply()))") -> Program:
        """A script judge whose `body` ends it; the default answers by the last word of each
        requirement.
        """
        log = self.logs / f"{name}.jsonl"
        head = f"import os, sys, time\nLOG = {str(log)!r}\nrequest = json.load(sys.stdin)\n"
        program = LEAN_JSON + head + _JUDGE.format(body=textwrap.dedent(body))
        path = self.file(f"{name}.py", program)
        return Program(f"script:{PYTHON} {path.name}", path, log)

    def judge_in_python(
        self, name: str = "judge", body: str = "print(json.dumps(reply()))"
    ) -> Program:
        """The same as a function of the command's process, for whoever asks often: it starts no
        program for each question.
        """
        log = self.logs / f"{name}.jsonl"
        program = (
            f"import json, os, time\nLOG = {str(log)!r}\ndef judge(request):\n"
            "    printed = []\n    print = printed.append\n"
            + textwrap.indent(_JUDGE.format(body=textwrap.dedent(body)), "    ")
            + "    return printed[-1]\n"
        )
        path = self.file(f"{name}.py", program)
        return Program(f"python:{path.stem}:judge", path, log)

    def worker(self, name: str, body: str) -> Program:
        """A command worker that sees `brief`, `read()` and `put(data)`."""
        log = self.logs / f"{name}.log"
        path = self.file(f"{name}.py", _WORKER.format(log=str(log), body=textwrap.dedent(body)))
        return Program(f"cmd:{PYTHON} {path.name}", path, log)

    @property
    def store(self) -> Path:
        return self.folder / ".honestone"

    @property
    def replies(self) -> int:
        """How many replies are on record, also while a command writes more."""
        path = self.store / "store.db"
        if not path.exists():
            return 0
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            try:
                return int(store.execute("select count(*) from replies").fetchone()[0])
            except sqlite3.OperationalError:  # The store is being made.
                return 0

    def holds_anywhere(self, needle: bytes) -> list[str]:
        """The files below the folder and the home that hold these bytes."""
        found = []
        for root in (self.folder, self.home):
            found += [str(p) for p in root.rglob("*") if p.is_file() and needle in p.read_bytes()]
        return found


GOOD = "# Fruit\n\nAn apple and a pear.\n\nThat is my farewell.\n"


def can_mount() -> bool:
    """Whether bubblewrap can put a small or read-only file system somewhere."""
    if shutil.which("bwrap") is None:
        return False
    probe = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/tmp", "--", "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0
