"""Keys and passwords of a run on several machines are in the environment of its processes, and
nowhere else.
"""

from __future__ import annotations

import base64
import json
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.adapters.models.standin import KEY, running
from tests.cli.desk import until

from .server import PASSWORD, Server
from .site import Site

STALE = "sk-stale-9876543210-secret"
TOKEN = "token-mark-5577-secret"
SECRETS = {KEY, STALE, TOKEN, PASSWORD}
JUDGE = '[judges.{name}]\nprovider = "compatible"\nmodel = "{name}"\nbase_url = "{url}"\napi_key_env = "{variable}"\n'
SUITE = "suite: 1\ncases:\n  - {id: a, input: an apple, rubric: [it says apple]}\n  - {id: b, input: a pear, rubric: [it says pear]}\n"


def test_no_secret_leaves_the_environment(site: Site, server: Server) -> None:
    """Not into the database, what is printed, the server's log, command lines or files: with a key
    that the API takes and says again in its reply, one that it refuses with the key in its words, a
    token of the target, and the store's password.
    """
    database = site.desk.extra["HONESTONE_STORE"].rpartition("/")[2]
    site.desk.extra |= {
        "HONESTONE_STORE": server.url(database, password=None),
        "PGPASSWORD": PASSWORD,
    }
    gate = site.folder / "gate"
    site.desk.file("suite.yaml", SUITE)
    site.desk.file(
        "target.sh", f'test -n "$TOKEN" || exit 1\nwhile [ ! -e {gate} ]; do sleep 0.1; done\ncat\n'
    )
    with running() as api:
        api.say.text = f'{{"answer": true, "key": "{KEY}"}}'
        tables = [("desk", "DESK_KEY"), ("stale", "STALE_KEY")]
        url = f"{api.root}/v1"
        text = "".join(
            JUDGE.format(name=name, url=url, variable=variable) for name, variable in tables
        )
        site.desk.file("honestone.toml", text)
        assert site.desk.run("trust").code == 0
        judges = ("--judge", "desk", "--judge", "stale")
        ordered = site.order("--target", "cmd:sh target.sh", "--pass-env", "TOKEN", *judges)
        site.until_ordered(ordered)
        bare = site.refused()
        runner = site.runner(
            DESK_KEY=KEY, STALE_KEY=STALE, TOKEN=TOKEN, TMPDIR=str(site.folder / "runner1")
        )  # the second one
        assert until(lambda: len(site.in_hand()) == 2)
        lines, files = _command_lines({runner.pid, ordered.pid}), _files(site.folder)
        gate.touch()
        out, err = ordered.communicate(timeout=120)
        assert ordered.returncode in (1, 3) and len(json.loads(out)["cases"]) == 2, err
        runner.send_signal(signal.SIGTERM)
        said = runner.communicate(timeout=60)
    assert {one.headers["authorization"] for one in api.calls} == {
        f"Bearer {KEY}",
        f"Bearer {STALE}",
    }
    dump = server.run(
        "pg_dump",
        "-h",
        "127.0.0.1",
        "-p",
        str(server.port),
        "-U",
        "honestone",
        "-n",
        "honestone",
        database,
    )
    assert (
        b"an apple".hex() in dump and b"Incorrect API key".hex() in dump
    )  # what was asked and answered is there
    shown = [
        site.desk.run(*words).out for words in (("show", "last"), ("runs", "--json"), ("runners",))
    ]
    places = {
        "the database": [dump],
        "what is printed": [bare, out, err, *said, *shown],
        "the server's log": [(server.folder / "log").read_text(errors="replace")],
        "command lines": lines,
        "files": [*files, *_files(site.folder)],
    }
    found = [
        (place, secret)
        for place, texts in places.items()
        for secret in SECRETS
        if _holds(texts, secret)
    ]
    assert lines and files and found == []


def _holds(texts: Iterable[str], secret: str) -> bool:
    """As it is, in hexadecimal or in base64."""
    forms = (secret, secret.encode().hex(), base64.b64encode(secret.encode()).decode().rstrip("="))
    return any(form in text for text in texts for form in forms)


def _command_lines(roots: set[int]) -> list[str]:
    """Of these processes and all that they started, as `ps` shows them."""
    listed = subprocess.run(
        ["ps", "-eww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    family = set(roots)
    while more := {int(pid) for pid, parent, *_ in rows if int(parent) in family} - family:
        family |= more
    assert len(family) > len(roots), "the target is a process of the runner"
    return [" ".join(row) for row in rows if int(row[0]) in family]


def _files(folder: Path) -> list[str]:
    return [path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()]
