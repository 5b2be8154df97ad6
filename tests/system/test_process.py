"""Programs: fed, capped, limited in time, and ended with everything they started."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.errors import UsageError
from honestone.system.processes import process
from honestone.system.processes.commands import NotStarted, describe_command, split_command
from honestone.system.processes.environment import base_environment
from honestone.system.processes.groups import _Guardian
from honestone.system.processes.process import Ended, Limits


def run(argv: list[str], cwd: Path, **options: object) -> Ended:
    options.setdefault("env", base_environment())
    options.setdefault("timeout", 30)
    return asyncio.run(process.run(argv, cwd=cwd, **options))  # type: ignore[arg-type]


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def is_alive(pid: int) -> bool:
    """Zombies are dead: whoever adopted them has not looked yet."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone_soon(pid: int) -> bool:
    """Whether it ends; the limit is for a machine that does everything else first."""
    until = time.monotonic() + 60
    while is_alive(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


class Clock:
    """What `process` sees as the time: after the program has made the file `ready`, every time
    limit is over.
    """

    sleep = staticmethod(time.sleep)

    def __init__(self, ready: Path) -> None:
        self.ready = ready

    def monotonic(self) -> float:
        return time.monotonic() + (10_000 if self.ready.exists() else 0)


WAITS_LONG = 600
"""Seconds that a program sleeps which has to be ended. Half of it is the limit for what does not
wait for the program.
"""


def test_a_program_is_fed_and_read(tmp_path):
    """Input goes in, both outputs and the exit code come out."""
    ended = run(["sh", "-c", "cat; echo oops >&2; exit 3"], tmp_path, stdin=b"hello")
    assert (ended.stdout, ended.stderr, ended.exit) == (b"hello", b"oops\n", 3)
    assert not ended.timed_out and not ended.truncated and ended.duration > 0


def test_stderr_can_be_merged(tmp_path):
    """Merged, both outputs come in the order written, in stdout."""
    ended = run(["sh", "-c", "echo a; echo b >&2; echo c"], tmp_path, merge_stderr=True)
    assert (ended.stdout, ended.stderr) == (b"a\nb\nc\n", b"")


def test_large_input_and_output_do_not_block_each_other(tmp_path):
    """A megabyte in while a megabyte comes out: nobody waits for the other for ever."""
    data = os.urandom(1_000_000)
    ended = run(["cat"], tmp_path, stdin=data)
    assert ended.stdout == data and ended.exit == 0


def test_a_program_need_not_read_its_input(tmp_path):
    """Input that nobody reads is no error."""
    ended = run(["true"], tmp_path, stdin=b"x" * 1_000_000)
    assert ended.exit == 0


def test_no_input_is_an_empty_one(tmp_path):
    """Without input a program reads the end of a file at once and does not wait for the terminal."""
    assert run(["cat"], tmp_path).stdout == b""


def test_it_runs_in_the_folder_and_environment_given(tmp_path):
    """Working directory and variables are the ones given, nothing else is passed on."""
    ended = run(
        ["sh", "-c", 'pwd; echo "$ONLY"; env | wc -l'],
        tmp_path,
        env={"PATH": os.environ["PATH"], "ONLY": "this"},
    )
    where, only, count = ended.stdout.decode().split("\n")[:3]
    assert Path(where).resolve() == tmp_path.resolve() and only == "this" and int(count) <= 5


def test_a_signal_is_a_negative_exit(tmp_path):
    """A program ended by a signal has the signal's number, negative, as exit code."""
    assert run(["sh", "-c", "kill -KILL $$"], tmp_path).exit == -9


def test_time_out_ends_the_whole_group(tmp_path, monkeypatch):
    """After a time-out neither the program nor what it started is alive, even if they ignore
    SIGTERM.
    """
    monkeypatch.setattr(process, "time", Clock(tmp_path / "ready"))
    script = (
        f"trap '' TERM; (trap '' TERM; echo $$; : > inner; exec sleep {WAITS_LONG}) & echo $!; sleep {WAITS_LONG} & echo $!; "
        f"while [ ! -e inner ]; do sleep 0.01; done; : > ready; echo; wait; sleep {WAITS_LONG}"
    )
    ended = run(["sh", "-c", script], tmp_path, timeout=500)
    assert ended.timed_out and ended.exit is None
    pids = [int(word) for word in ended.stdout.split()]
    assert len(pids) == 3 and all(gone_soon(pid) for pid in pids)


def test_a_time_out_asks_first(tmp_path, monkeypatch):
    """A program that ends on SIGTERM gets the chance to write its last words."""
    monkeypatch.setattr(process, "time", Clock(tmp_path / "ready"))
    monkeypatch.setattr(process, "GRACE", 60)
    # Its last line is read after `ready` is there, and the limit is looked at after each line.
    says = "echo up; : > ready; echo ready >&2"
    script = f"trap 'echo bye; exit 0' TERM; {says}; while :; do sleep 0.05; done"
    ended = run(["sh", "-c", script], tmp_path, timeout=500)
    assert ended.timed_out and ended.stdout == b"up\nbye\n"


def test_a_fork_left_behind_is_ended_and_not_waited_for(tmp_path):
    """The program ends, its grandchild keeps the pipe open: we return at once and the grandchild is
    gone.
    """
    ended = run(["sh", "-c", f"sleep {WAITS_LONG} & echo $!"], tmp_path, timeout=WAITS_LONG)
    assert ended.exit == 0 and not ended.timed_out and ended.duration < WAITS_LONG / 2
    assert gone_soon(int(ended.stdout))


def test_a_pipe_held_by_a_process_of_another_session_is_not_waited_for(tmp_path):
    """A grandchild in a session of its own keeps the pipe: the result comes without waiting for it."""
    code = (
        "import os,time\nif os.fork()==0:\n os.setsid(); end = time.time() + 600\n"
        " while time.time() < end and not os.path.exists('stop'): time.sleep(0.05)\nelse: print('done')"
    )
    ended = run(python(code), tmp_path, timeout=WAITS_LONG)
    (tmp_path / "stop").touch()
    assert ended.stdout == b"done\n" and not ended.timed_out and ended.duration < WAITS_LONG / 2


def test_a_flood_is_capped_and_ended(tmp_path):
    """200 MB of output cost the cap, not 200 MB, and the writer is ended."""
    ended = run(
        python("import os\nfor _ in range(200): os.write(1, b'x' * 1000000)"),
        tmp_path,
        output_limit=100_000,
    )
    assert ended.truncated and len(ended.stdout) == 100_000 and ended.exit != 0


def test_output_of_exactly_the_limit_is_whole(tmp_path):
    """The limit itself is still allowed; stdout and stderr count together."""
    whole = run(["sh", "-c", "printf 12345; printf 67890 >&2"], tmp_path, output_limit=10)
    cut = run(["sh", "-c", "printf 12345; printf 67890 >&2"], tmp_path, output_limit=9)
    assert not whole.truncated and cut.truncated
    assert len(cut.stdout) + len(cut.stderr) == 9


@pytest.mark.parametrize("limits", [None, Limits(cpu_seconds=10)])
def test_what_cannot_start_says_why(tmp_path, limits):
    """Not found, not executable, a folder, no such working directory, no program at all: each is
    named.
    """
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "nonsense").write_bytes(b"\x01\x02\x03")
    (tmp_path / "nonsense").chmod(0o755)
    (tmp_path / "folder").mkdir()
    for argv, cwd, words in [
        (["no-such-program-xyz"], tmp_path, "command not found: no-such-program-xyz"),
        (["./missing"], tmp_path, "no such file: ./missing"),
        (["./plain"], tmp_path, "not executable"),
        (["./folder"], tmp_path, "is a folder"),
        (["true"], tmp_path / "nowhere", "no such folder"),
        ([], tmp_path, "empty"),
        (["true", "a\0b"], tmp_path, "null byte"),
    ]:
        with pytest.raises(NotStarted) as caught:
            run(argv, cwd, limits=limits)
        assert words in caught.value.reason
    with pytest.raises(NotStarted):
        run(["./nonsense"], tmp_path, limits=limits)


def test_a_program_given_by_path_is_looked_up_in_its_folder(tmp_path):
    """`./tool` is the one in the working directory of the program, wherever we are."""
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho here\n")
    tool.chmod(0o755)
    assert run(["./tool"], tmp_path).stdout == b"here\n"


def test_cancelling_ends_the_program(tmp_path):
    """When the task is cancelled the program is gone before the cancellation goes on."""

    async def main() -> int:
        task = asyncio.create_task(
            process.run(
                ["sh", "-c", "echo $$ > pid; sleep 60"], cwd=tmp_path, env=base_environment()
            )
        )
        pid_file = tmp_path / "pid"
        while not (pid_file.exists() and pid_file.read_text().strip()):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return int(pid_file.read_text())

    assert gone_soon(asyncio.run(main()))


def test_many_run_side_by_side(tmp_path):
    """Twenty programs run at once: none waits for a place in a small pool."""
    everyone_is_here = 'while [ "$(ls | wc -l)" -lt 20 ]; do sleep 0.05; done'

    async def main() -> list[Ended]:
        started = [
            process.run(
                ["sh", "-c", f": > {n}; {everyone_is_here}; echo {n}"],
                cwd=tmp_path,
                env=base_environment(),
                timeout=120,
            )
            for n in range(20)
        ]
        return await asyncio.gather(*started)

    results = asyncio.run(main())
    assert [r.stdout for r in results] == [f"{n}\n".encode() for n in range(20)]


def test_nothing_is_left_open(tmp_path):
    """After many runs, started or not, no file descriptor and no thread of ours is left."""
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("needs /proc to count open files")
    run(["true"], tmp_path)
    before = len(list(folder.iterdir()))
    for n in range(5):
        run(
            ["sh", "-c", "echo x; sleep 60 &"],
            tmp_path,
            stdin=b"y",
            limits=Limits() if n % 2 else None,
        )
        with pytest.raises(NotStarted):
            run(["no-such-program-xyz"], tmp_path)
    assert len(list(folder.iterdir())) <= before
    assert not [t for t in threading.enumerate() if t.name == "honestone-program"]


def test_memory_is_limited(tmp_path):
    """A program that asks for more memory than it may have is refused by the system."""
    code = "data = bytearray(400_000_000); print(len(data))"
    assert run(python(code), tmp_path, limits=Limits(memory_bytes=2_000_000_000)).exit == 0
    if sys.platform != "linux":
        pytest.skip("the system does not hold programs to a memory limit")
    assert run(python(code), tmp_path, limits=Limits(memory_bytes=200_000_000)).exit != 0


@pytest.mark.slow
def test_cpu_time_is_limited(tmp_path):
    """An endless computation is ended by its share of the processor, before the clock's limit."""
    ended = run(python("while True: pass"), tmp_path, limits=Limits(cpu_seconds=1), timeout=25)
    assert not ended.timed_out and ended.exit is not None and ended.exit < 0


def test_file_size_is_limited(tmp_path):
    """A file cannot grow over the limit."""
    run(
        ["sh", "-c", "head -c 2000000 /dev/zero > big"], tmp_path, limits=Limits(file_bytes=100_000)
    )
    assert (tmp_path / "big").stat().st_size <= 100_000


def test_limits_do_not_change_the_program(tmp_path):
    """Under limits the words, the name, the environment and a broken pipe are as without."""
    ended = run(
        ["sh", "-c", 'echo "$0|$1|$A"; yes | head -1', "name", "a b"],
        tmp_path,
        limits=Limits(cpu_seconds=20),
        env={"PATH": os.environ["PATH"], "A": "b"},
    )
    assert (ended.stdout, ended.stderr, ended.exit) == (b"name|a b|b\ny\n", b"", 0)


@pytest.mark.parametrize("late", [False, True])
def test_a_dropped_loop_leaves_nothing(late, tmp_path):
    """A program whose Python ends without cleaning up is ended too. `late`: before the thread that
    starts it has come to the next line.
    """
    code = (
        "import asyncio, sys, time, pathlib\n"
        "from honestone.system.processes.environment import base_environment\n"
        "from honestone.system.processes import process\n"
        "from honestone.system.processes.process import run\n"
        "watch = process.watch_group\n"
        f"process.watch_group = lambda group: (time.sleep({late}), watch(group))\n"
        "loop = asyncio.new_event_loop()\n"
        "loop.create_task(run(['sh', '-c', 'echo $$ > pid; sleep 600'], cwd=pathlib.Path('.'), env=base_environment()))\n"
        "loop.call_later(100, loop.stop)\n"
        "def look():\n"
        "    pid = pathlib.Path('pid')\n"
        "    loop.stop() if pid.exists() and pid.read_text().strip() else loop.call_later(0.02, look)\n"
        "look(); loop.run_forever()\n"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        timeout=200,
        check=False,
        stderr=subprocess.DEVNULL,
    )
    assert gone_soon(int((tmp_path / "pid").read_text()))


# ------------------------------------------------------------------------------------------- words
# and environment


def test_commands_are_split_as_a_shell_would():
    """Quotes group words and disappear."""
    assert split_command("sh -c 'exit 3' \"a b\" c\\ d") == ["sh", "-c", "exit 3", "a b", "c d"]


@pytest.mark.parametrize("command", ["", "   ", "''", "grep 'open", "trailing \\"])
def test_a_command_that_is_none_is_a_usage_error(command):
    """Nothing at all, an open quote, a lone backslash: said in plain words."""
    with pytest.raises(UsageError) as caught:
        split_command(command)
    assert caught.value.hint


@given(st.text())
def test_splitting_never_fails_otherwise(command):
    """Whatever is typed, the answer is words or a usage error."""
    try:
        words = split_command(command)
    except UsageError:
        return
    assert words


def test_keys_do_not_reach_programs(monkeypatch):
    """Variables that look like secrets stay out, unless they are asked for by name."""
    for name in ("OPENAI_API_KEY", "GITHUB_TOKEN", "LC_SECRET", "MY_PASSWORD", "SOMETHING_ELSE"):
        monkeypatch.setenv(name, "hidden")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    env = base_environment({"EXTRA": "1"}, pass_names=["GITHUB_TOKEN", "NOT_SET"])
    assert "hidden" not in [v for k, v in env.items() if k != "GITHUB_TOKEN"]
    assert env["GITHUB_TOKEN"] == "hidden" and env["EXTRA"] == "1" and env["LC_ALL"] == "C.UTF-8"
    assert "PATH" in env and "NOT_SET" not in env


def test_a_command_is_described_by_words_and_files(tmp_path):
    """The key of a command changes when a file that it names changes."""
    (tmp_path / "script.py").write_bytes(b"print(1)")
    first = describe_command(["python", "script.py", "x" * 5000, "a\0b", ".", "-v"], tmp_path)
    assert first["files"] == {"script.py": "sha256:" + hashlib.sha256(b"print(1)").hexdigest()}
    assert first["command"][:2] == ["python", "script.py"]
    (tmp_path / "script.py").write_bytes(b"print(2)")
    assert (
        describe_command(["python", "script.py", "x" * 5000, "a\0b", ".", "-v"], tmp_path) != first
    )


def test_a_huge_file_is_described_by_size_and_time(tmp_path):
    """A file over 50 MB is not read; size and time stand for its content."""
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(50_000_001)
    os.utime(huge, ns=(1, 1))
    first = describe_command(["huge"], tmp_path)["files"]["huge"]
    os.utime(huge, ns=(2, 2))
    assert describe_command(["huge"], tmp_path)["files"]["huge"] != first


def test_the_guardian_has_none_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a program of the same user reads our keys there, although it cannot read them from
    us.
    """
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-guardian-test")
    monkeypatch.setattr(_Guardian, "_started", {})
    run(["true"], tmp_path)
    guard, pipe = _Guardian._started[os.getpid()]
    try:
        while not Path(
            f"/proc/{guard.pid}/cmdline"
        ).read_bytes():  # the kernel has not put it in place yet
            time.sleep(0.01)
        assert b"key-of-the" not in Path(f"/proc/{guard.pid}/environ").read_bytes()
    finally:
        os.close(pipe)
        guard.wait(60)
