"""Targets at their worst, all in one suite: the rest goes on, nothing stays running, nothing stays
on disk.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from .desk import Desk
from .test_suites import case, run, statuses, suite, target

MARK = f"7{os.getpid()}"
BODY = f"""
kind = text.split()[0]
if kind == 'hangs': time.sleep(600)
if kind == 'forks':
    subprocess.Popen(['sleep', '{MARK}1'])
    subprocess.Popen(['sleep', '{MARK}2'], start_new_session=True)
if kind == 'floods':
    for _ in range(1000): sys.stdout.buffer.write(b'x' * 1000000)
if kind == 'writes': open('../outside', 'w').write('x'); os.symlink('/etc', 'link')
if kind == 'locks': os.mkdir('d'); os.chmod('d', 0); os.mkfifo('pipe')
if kind == 'leaves': sys.exit(137)
if kind == 'babbles': sys.stdout.buffer.write(b'\\xff')
if kind == 'rich': print('{{"output": "apple", "usd": 1e308}}'); sys.exit()
print('apple')
"""
FAILING = {"hangs": "within 2 s", "floods": "16 MiB", "leaves": "137", "babbles": "UTF-8"}
FINE = ("forks", "writes", "locks", "one", "two")


def sleeping() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if b"sleep\0" + MARK.encode() in words:
            found.append(words.decode())
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_all_at_once(desk: Desk, tmp_path: Path) -> None:
    """Each with its reason; a helper in a session of its own is ended too, and the temporary folder
    is empty again.
    """
    suite(
        desk,
        *(case(name, ", timeout: 2" if name == "hangs" else "") for name in (*FAILING, *FINE)),
        head="workspace: {files: {a.txt: hello}}\n",
    )
    made = target(desk, body=BODY)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    result, report = run(desk, "--target", made.spec, env={"TMPDIR": str(temporary)})
    assert result.code == 3
    assert statuses(report) == {
        **dict.fromkeys(FAILING, "target-error"),
        **dict.fromkeys(FINE, "passed"),
    }
    for found in report["cases"]:
        assert FAILING.get(found["id"], "") in " ".join(found["reasons"])
    assert sleeping() == []
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_what_a_killed_run_left_is_swept_by_the_next(desk: Desk, tmp_path: Path) -> None:
    """Folders and programs, also when the next run is another one; what a live run holds stays."""
    suite(desk, case("one"), head="workspace: {files: {a.txt: hello}}\n")
    made = target(desk, body=f"os.execvp('sleep', ['sleep', '{MARK}3'])")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    env = {"TMPDIR": str(temporary)}

    def begin(calls: int) -> int:
        process = desk.start(
            "eval",
            "suite.yaml",
            "--target",
            made.spec,
            "--concurrency",
            str(calls),
            "--fresh",
            env=env,
        )
        until = time.monotonic() + 300
        while (made.calls < calls or not sleeping()) and time.monotonic() < until:
            time.sleep(0.02)
        return process.pid

    os.kill(begin(1), signal.SIGKILL)
    assert len(list(temporary.iterdir())) == 2
    desk.file(
        "other.yaml", "suite: 1\ncases: [{id: a, input: apple, checks: [{contains: apple}]}]\n"
    )
    plain = target(desk, "plain")
    assert desk.run("eval", "other.yaml", "--target", plain.spec, env=env).code == 0
    assert list(temporary.iterdir()) == []
    assert sleeping() == []
    live = begin(2)
    try:
        assert desk.run("eval", "other.yaml", "--target", plain.spec, env=env).code == 0
        assert len(list(temporary.iterdir())) == 2
        assert len(sleeping()) == 1
    finally:
        os.kill(live, signal.SIGTERM)
        until = time.monotonic() + 300
        while sleeping() and time.monotonic() < until:
            time.sleep(0.02)
    assert sleeping() == []


@pytest.mark.parametrize("price", ["1e308", "1e16"])
def test_a_price_that_cannot_be_is_no_price(desk: Desk, price: str) -> None:
    """Sums of such numbers have no end; the case is a target-error and the report can be written."""
    spec = target(desk, body=f'print(\'{{"output": "apple", "usd": {price}}}\')').spec
    suite(desk, case("one"), case("two"), head=f"target: {{use: '{spec}', output: json}}\n")
    result, report = run(desk)
    assert (result.code, set(statuses(report).values())) == (3, {"target-error"})
    assert "usd" in report["cases"][0]["reasons"][0]


@pytest.mark.slow
def test_teardown_runs_when_the_run_is_stopped_in_setup(desk: Desk) -> None:
    """`teardown` is always: what set-up began may hold a port or a container."""
    begun, torn = desk.logs / "begun", desk.logs / "torn"
    suite(
        desk,
        case("one"),
        head=f"setup: sh -c 'echo x > {begun}; sleep 60'\nteardown: sh -c 'echo x > {torn}'\n",
    )
    process = desk.start("eval", "suite.yaml", "--target", target(desk).spec)
    until = time.monotonic() + 300
    while not begun.exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert (process.returncode, torn.exists()) == (130, True)
