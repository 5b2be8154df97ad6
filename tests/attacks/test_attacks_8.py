"""Code that a check runs does not get out: with bubblewrap, with Landlock, and without a sandbox as
far as that goes.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from honestone.core.errors import UsageError
from honestone.system.processes import sandbox
from honestone.system.processes.sandbox import Sandbox

from .corpus import Attack, Desk, Ended

RUBRIC = "rubric: 1\ncriteria: [{id: c, requirement: It runs, check: {command: python probe.py}}]\n"
HEAD = "import os, pathlib, socket, subprocess, sys, time\nP = pathlib.Path({desk!r})\n"
TOKEN = "TOKEN-OF-THE-ATTACKS"

CLOSED = {
    "the store is read": "got = (P / '.honestone/store.db').exists() and (P / '.honestone/store.db').read_bytes()",
    "keys beside the rubric are read": "got = (P / '.env').exists() and (P / '.env').read_bytes()",
    "keys in a hidden folder are read": "got = (P / '.keys/one').exists() and (P / '.keys/one').read_bytes()",
    "keys deeper in the project are read": "got = (P / 'sub/.env').exists() and (P / 'sub/.env').read_bytes()",
    "settings are read": "got = (P / 'honestone.toml').exists() and (P / 'honestone.toml').read_bytes()",
    "keys are read through a link": "got = (P / 'link').exists() and (P / 'link').read_bytes()",
    "the rubric is written": "(P / 'r.yaml').write_text('x'); got = True",
    "a file is left in the project": "(P / 'new').write_text('x'); got = True",
    "the artifact itself is written": "(P / 'a.md').write_text('x'); got = True",
    "the home is written": "(P.parent / 'home/.bashrc').write_text('x'); got = (P.parent / 'home/.bashrc').exists() and 'bw' not in BOX",
    "the project is mounted again": "subprocess.run(['mount', '-o', 'remount,bind,rw', str(P)]); (P / 'new').write_text('x'); got = True",
    "core_pattern is written": "open('/proc/sys/kernel/core_pattern', 'w').write('|/x'); got = True",
    "sysrq is written": "open('/proc/sysrq-trigger', 'w').write('h'); got = True",
    "a user namespace is made": "got = not subprocess.run(['unshare', '-U', 'touch', str(P / 'new')]).returncode",
    "a mode is changed": "os.chmod(P / 'a.md', 0o777); got = True",
    "a time is changed": "os.utime(P / 'a.md', (1, 1)); got = True",
    "an owner is changed": "os.chown(P / 'a.md', os.getuid(), os.getgid()); got = True",
    "a server is reached": "socket.create_connection(('127.0.0.1', {port}), 2); got = True",
    "honestone is ended": "os.kill({pid}, 0); got = True",
    "a capability is kept": (
        "got = any(int(line.split()[1], 16) for line in open('/proc/self/status') if line.startswith('CapEff'))"
    ),
}
"""By sandbox: what nothing inside may do. `got` true, or no error, is a success of the attack."""

ENVIRON = """
got = False
for name in os.listdir('/proc'):
    try:
        got = got or name.isdigit() and b'TOKEN-OF' + b'-THE-ATTACKS' in open(f'/proc/{name}/environ', 'rb').read()
    except OSError:
        pass
"""
OUTLIVING = {
    "a child in the background": ["sh", "-c"],
    "a child in a session of its own": ["setsid", "sh", "-c"],
    "a child without its environment": ["setsid", "env", "-i", "sh", "-c"],
    "a grandchild": ["sh", "-c", 'setsid sh -c "$0" & sleep 0.1'],
}


def probing(name: str, body: str, box: str) -> Attack:
    """A check whose code does `body` in a sandbox: exit 1 when it says that it got there."""

    def build(desk: Desk) -> list[str]:
        import os
        import socket

        server = socket.create_server(("127.0.0.1", 0))
        desk.extra["SOME_API_KEY"] = TOKEN
        for path in ("a.md", ".env", "sub/.env", ".keys/one", "words"):
            desk.put(path, path)
        (desk.folder / "link").symlink_to(".env")
        desk.put("honestone.toml", "[limits]\nmax_calls = 99\n")
        desk.put("r.yaml", RUBRIC)
        known = {
            "{port}": str(server.getsockname()[1]),
            "{pid}": str(os.getpid()),
            "BOX": repr(box),
        }
        text = body
        for word, value in known.items():
            text = text.replace(word, value)
        tried = (
            "try:\n"
            + "".join(f"    {line}\n" for line in text.splitlines())
            + "except OSError:\n    got = False\n"
        )
        desk.put(
            "probe.py", HEAD.format(desk=str(desk.folder)) + tried + "sys.exit(7 if got else 0)\n"
        )
        return []

    return Attack(
        name=f"{name} ({box})",
        hole=8,
        build=build,
        command=("eval", "a.md", "--rubric", "r.yaml", "--sandbox", box, "--json"),
        exit=0,
        expect={"verdict": "pass", "sandbox": box},
        after=lambda desk, ended: not desk.has("new") and desk.read("a.md") == "a.md",
    )


def outliving(name: str, words: list[str]) -> Attack:
    def build(desk: Desk) -> None:
        desk.put("a.md", "text")
        desk.put("r.yaml", RUBRIC)
        late = f"sleep 2; : > {desk.folder}/late"
        started = f"subprocess.Popen([*{words!r}, {late!r}], stdin=-3, stdout=-3, stderr=-3)\ntime.sleep(0.2)\n"
        desk.put("probe.py", HEAD.format(desk=str(desk.folder)) + started)

    def gone(desk: Desk, ended: Ended) -> bool:
        time.sleep(2.2)
        return not desk.has("late")

    return Attack(
        name=f"{name} outlives its check",
        hole=8,
        build=build,
        command=("eval", "a.md", "--rubric", "r.yaml", "--sandbox", "none", "--json"),
        exit=0,
        expect={"sandbox": "none"},
        after=gone,
    )


def plain(name: str, box: str, exit: int, *says: str, format: str = "text") -> Attack:
    def build(desk: Desk) -> None:
        desk.put("a.md", "text")
        desk.put("r.yaml", RUBRIC)
        desk.put("probe.py", "print('ran')")

    command = ("eval", "a.md", "--rubric", "r.yaml", "--sandbox", box, "--format", format)
    return Attack(name=name, hole=8, build=build, command=command, exit=exit, says=says)


ATTACKS = (
    *(probing(name, body, box) for box in ("bwrap", "landlock") for name, body in CLOSED.items()),
    *(
        probing("honest: the artifact and a file beside the rubric are read", body, box)
        for box in ("bwrap", "landlock", "none")
        for body in (
            "got = (P / 'words').read_text() != 'words' or pathlib.Path('a.md').read_text() != 'a.md'",
        )
    ),
    *(
        probing("keys are read from our environment", ENVIRON, box)
        for box in ("bwrap", "landlock", "none")
    ),
    *(outliving(name, words) for name, words in OUTLIVING.items()),
    *(
        plain(
            f"no word of a missing sandbox in {format}",
            "none",
            0,
            "without a sandbox",
            format=format,
        )
        for format in ("text", "markdown", "junit")
    ),
    plain("a sandbox that nobody knows", "docker", 2, "--sandbox"),
)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    box = attack.command[attack.command.index("--sandbox") + 1]
    if box in ("bwrap", "landlock"):
        try:
            Sandbox.choose(box)
        except UsageError as error:
            pytest.skip(error.message)
    attack.run(tmp_path)


def test_require_refuses_without_a_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is run where the machine has neither: the command runs in a fork of this process."""
    monkeypatch.setattr(sandbox, "_bubblewrap", lambda: ((), "there is none"))
    monkeypatch.setattr(sandbox, "_has_landlock", lambda: False)
    plain("no sandbox at all", "require", 2, "--sandbox require", "there is none").run(tmp_path)
