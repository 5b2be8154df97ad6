"""The sandbox: what a program inside can read, write and reach, and what is said when there is
none.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from honestone.core.errors import UsageError
from honestone.system.processes import process, sandbox
from honestone.system.processes.environment import base_environment
from honestone.system.processes.sandbox import Sandbox


@pytest.fixture(params=["bwrap", "landlock"])
def box(request: pytest.FixtureRequest) -> Sandbox:
    """Each of the two, where it works."""
    try:
        return Sandbox.choose(request.param)
    except UsageError as error:
        pytest.skip(error.message)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "private" / "work"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def forget_probe() -> Iterator[None]:
    for known in (sandbox._bubblewrap, sandbox._hidden, sandbox._readable):
        known.cache_clear()
    yield
    for known in (sandbox._bubblewrap, sandbox._hidden, sandbox._readable):
        known.cache_clear()


def inside(
    box: Sandbox, argv: list[str], copy: Path, *visible: Path, timeout: float = 30
) -> process.Ended:
    words, rules = box.confine(argv, copy, copy.parent, visible)
    limits = process.Limits()
    return asyncio.run(
        process.run(
            words,
            cwd=copy,
            env=base_environment(),
            timeout=timeout,
            limits=limits,
            rules=rules,
        )
    )


def test_without_a_sandbox_the_command_is_unchanged(copy):
    """`none` adds nothing and says so."""
    box = Sandbox.choose("none")
    assert box.name == "none" and box.confine(["true", "x"], copy, copy) == (["true", "x"], None)


def test_an_unknown_sandbox_is_a_usage_error():
    """A word that is no choice is refused with the choices."""
    with pytest.raises(UsageError) as caught:
        Sandbox.choose("docker")
    assert "auto, require, bwrap, landlock, none" in str(caught.value.hint)


def test_bwrap_that_is_not_there_is_a_usage_error(monkeypatch, tmp_path, forget_probe):
    """Asked for by name and absent: said, with what to install. `auto` goes on without."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        Sandbox.choose("bwrap")
    assert "not installed" in caught.value.message and "apt-get install bubblewrap" in str(
        caught.value.hint
    )
    assert sandbox.why_not_bubblewrap().startswith(
        "`bwrap` is not installed: install bubblewrap (apt-get"
    )
    assert Sandbox.choose("auto").name in ("landlock", "none")


def test_bwrap_that_does_not_work_counts_as_absent(monkeypatch, tmp_path, forget_probe):
    """A bubblewrap that the system refuses is not used; its own words are shown when it was asked
    for.
    """
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'No permissions to create namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Sandbox.choose("auto").name in ("landlock", "none")
    with pytest.raises(UsageError, match="No permissions") as caught:
        Sandbox.choose("bwrap")
    # It is installed, so installing it is not the remedy.
    assert "systempaths=unconfined" in str(caught.value.hint) and "install" not in str(
        caught.value.hint
    )
    assert (
        "No permissions to create namespace: allow user namespaces" in sandbox.why_not_bubblewrap()
    )


def test_only_the_private_copy_can_be_written(box, copy, tmp_path):
    """Inside, the private folder can be written; files outside keep their bytes."""
    outside = tmp_path / "outside.txt"
    outside.write_text("before")
    (copy / "a").write_text("old")
    ended = inside(
        box,
        ["sh", "-c", f"echo new > a; echo harm > {outside}; echo harm > /etc/harm"],
        copy,
        outside,
    )
    assert (copy / "a").read_text() == "new\n"
    assert outside.read_text() == "before" and not Path("/etc/harm").exists() and ended.exit != 0


def test_no_network(box, copy):
    """A server on this machine cannot be reached from inside."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = (
            f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('reached')"
        )
        ended = inside(box, [sys.executable, "-c", code], copy)
        reached = inside(Sandbox.choose("none"), [sys.executable, "-c", code], copy)
    assert ended.exit != 0 and b"reached" not in ended.stdout
    assert reached.stdout == b"reached\n"


def test_the_home_is_hidden(box, copy, tmp_path, monkeypatch, forget_probe):
    """Files in the home cannot be read, except what is listed as visible."""
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    (home / "secret").write_text("s3cret")
    (home / "project" / "tool.txt").write_text("shown")
    monkeypatch.setenv("HOME", str(home))
    ended = inside(
        box, ["sh", "-c", f"cat {home}/project/tool.txt {home}/secret"], copy, home / "project"
    )
    assert ended.stdout == b"shown" and ended.exit != 0


def test_a_home_is_never_shown_whole(box, copy, tmp_path, monkeypatch, forget_probe):
    """Asked for by itself, a home shows no hidden file; a folder around it shows nothing of it."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".secret").write_text("s3cret")
    (home / "plain").write_text("plain")
    monkeypatch.setenv("HOME", str(home))
    assert inside(box, ["sh", "-c", f"cat {home}/.secret"], copy, home).stdout == b""
    assert (
        inside(box, ["sh", "-c", f"cat {home}/.secret {home}/plain"], copy, tmp_path).stdout == b""
    )


def test_our_python_works_inside(box, copy):
    """The interpreter in use starts inside and finds this package."""
    ended = inside(box, [sys.executable, "-c", "import honestone, json; print('ok')"], copy)
    assert ended.stdout == b"ok\n"


def test_a_program_in_the_home_stays_visible(box, copy, tmp_path, monkeypatch, forget_probe):
    """A command that is given by its path can run though its home is hidden."""
    home = tmp_path / "home"
    home.mkdir()
    tool = home / "tool"
    tool.write_text("#!/bin/sh\necho ran\n")
    tool.chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    assert inside(box, [str(tool)], copy).stdout == b"ran\n"


def test_an_environment_in_the_home_works(box, copy, tmp_path, monkeypatch, forget_probe):
    """A checkout with its .venv below the home, where the interpreter is a link into another place:
    what most people have.
    """
    home = tmp_path / "home"
    (home / "checkout" / ".venv" / "bin").mkdir(parents=True)
    python = home / "checkout" / ".venv" / "bin" / "python"
    python.symlink_to(Path(sys.executable).resolve())
    (home / "checkout" / ".venv" / "pyvenv.cfg").write_text(
        f"home = {Path(sys.executable).resolve().parent}\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{python.parent}{os.pathsep}{os.environ['PATH']}")
    ended = inside(box, [str(python), "-c", "print('ok')"], copy)
    assert (ended.stdout, ended.stderr) == (b"ok\n", b"")


def test_tools_of_path_work_and_show_no_keys(box, copy, tmp_path, monkeypatch, forget_probe):
    """What a version manager keeps beside its shims is visible; of ~/.local and the like, only
    `bin` is.
    """
    home = tmp_path / "home"
    for place in (".manager/shims", ".manager/lib", ".local/bin", ".local/share"):
        (home / place).mkdir(parents=True)
    (home / ".manager/lib/tool").write_text("works")
    (home / ".local/share/key").write_text("s3cret")
    shim = home / ".manager/shims/tool"
    shim.write_text(f"#!/bin/sh\ncat {home}/.manager/lib/tool {home}/.local/share/key\n")
    shim.chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{home}/.manager/shims:{home}/.local/bin:{os.environ['PATH']}")
    assert inside(box, ["tool"], copy).stdout == b"works"


def test_other_processes_are_out_of_sight(box, copy):
    """Inside, no process of ours can be seen or ended."""
    ended = inside(box, ["sh", "-c", f"kill -0 {os.getpid()} 2>/dev/null && echo seen; true"], copy)
    assert ended.stdout == b""


def test_a_session_of_its_own_does_not_escape(box, copy):
    """Even a grandchild that leaves the group is ended with the sandbox."""
    mark = copy / "late"
    setsid = shutil.which("setsid")
    if setsid is None:
        pytest.skip("needs setsid")
    inside(
        box,
        ["sh", "-c", "setsid sh -c 'while [ ! -e go ]; do sleep 0.01; done; : > late' & :"],
        copy,
    )
    (copy / "go").touch()
    time.sleep(0.5)
    assert not mark.exists()


def test_time_out_inside_the_sandbox(box, copy):
    """A program inside that does not end is ended."""
    ended = inside(box, ["sh", "-c", "trap '' TERM; sleep 600"], copy, timeout=0.5)
    assert ended.timed_out and ended.duration < 300


def test_a_project_that_is_the_home_keeps_its_tools(box, copy, tmp_path, monkeypatch, forget_probe):
    """What lies beside the rubric is seen though the rubric lies in the home itself; keys in hidden
    files are not.
    """
    (tmp_path / "home" / "tools").mkdir(parents=True)
    (tmp_path / "home" / "tools" / "helper").write_text("neighbour")
    (tmp_path / "home" / ".ssh").mkdir()
    (tmp_path / "home" / ".ssh" / "id").write_text("key")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    home = tmp_path / "home"
    assert inside(box, ["cat", str(home / "tools" / "helper")], copy, home).stdout == b"neighbour"
    assert inside(box, ["sh", "-c", f"cat {home}/.ssh/id"], copy, home).stdout == b""


def test_a_home_below_the_project_is_empty(box, copy, tmp_path, monkeypatch, forget_probe):
    """The project is seen, the home inside it is not."""
    (tmp_path / "project" / ".home").mkdir(parents=True)
    (tmp_path / "project" / "helper").write_text("neighbour")
    (tmp_path / "project" / ".home" / "secret").write_text("key")
    project = tmp_path / "project"
    monkeypatch.setenv("HOME", str(project / ".home"))
    assert inside(box, ["cat", str(project / "helper")], copy, project).stdout == b"neighbour"
    assert inside(box, ["sh", "-c", f"cat {project}/.home/secret"], copy, project).stdout == b""


def test_nothing_of_the_project_but_what_is_named(box, copy, tmp_path, forget_probe):
    """Inside, the rubric's folder is seen; the project around it, the store and names with a dot
    are not.
    """
    project = tmp_path / "project"
    for name in (
        ".env",
        "settings",
        "rubrics/.key",
        "rubrics/.hidden/key",
        "rubrics/words",
        "rubrics/sub/more",
    ):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(f"<{name}>")
    rubrics = project / "rubrics"
    closed = (project, rubrics / ".key", rubrics / ".hidden")
    words = [
        "sh",
        "-c",
        f"cd {rubrics}; cat ../.env ../settings .key .hidden/key; cat words sub/more; ls > /dev/null && echo listed",
    ]
    argv, rules = box.confine(words, copy, copy.parent, [rubrics], closed)
    ended = asyncio.run(
        process.run(argv, cwd=copy, env=base_environment(), limits=process.Limits(), rules=rules)
    )
    assert ended.stdout == b"<rubrics/words><rubrics/sub/more>listed\n"


def test_no_capability_and_no_way_to_get_one(box, copy):
    """Root inside is nobody special: no capabilities, no remount, no new user namespace to be root
    in.
    """
    code = "print([line.split()[1] for line in open('/proc/self/status') if line[:6] in ('CapEff', 'CapPrm')])"
    assert inside(box, [sys.executable, "-c", code], copy).stdout == f"{['0' * 16] * 2}\n".encode()
    inside(
        box,
        [
            "sh",
            "-c",
            f"mount -o remount,bind,rw / ; echo x > /mark; echo x > {copy.parent.parent}/mark",
        ],
        copy,
    )
    assert not Path("/mark").exists() and not (copy.parent.parent / "mark").exists()


CHANGES = """
import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
outside, inside = sys.argv[1:]
def call(*words): return c.syscall(*words)
def tried(what):
    try:
        return what() not in (None, 0)
    except OSError:
        return True
by = os.open(outside, os.O_RDONLY)
os.symlink(outside, 'link')
folder = os.open('.', os.O_RDONLY)
refused = {
    'chmod': lambda: os.chmod(outside, 0o666), 'fchmod': lambda: os.fchmod(by, 0o666), 'through a link': lambda: os.chmod('link', 0o666),
    'from a folder': lambda: os.chmod(os.path.relpath(outside), 0o666, dir_fd=folder), 'by its number': lambda: os.chmod(f'/proc/self/fd/{by}', 0o666),
    'utime': lambda: os.utime(outside, (1, 1)), 'futime': lambda: os.utime(by, (1, 1)), 'chown': lambda: os.chown(outside, os.getuid(), os.getgid()),
    'fchown': lambda: os.fchown(by, os.getuid(), os.getgid()), 'setxattr': lambda: os.setxattr(outside, 'user.x', b'1'),
    'fsetxattr': lambda: os.setxattr(by, 'user.x', b'1'), 'chmod2': lambda: call(452, -100, outside.encode(), 0o666, 0), 'chattr': lambda: call(16 if os.uname().machine == 'x86_64' else 29, by, 0x40086602, ctypes.byref(ctypes.c_long(0x40))),
    'unshare': lambda: c.unshare(0x10000000), 'io_uring': lambda: call(425, 1, bytes(200)), 'owner': lambda: os.chown('own', 12, 12), 'suid': lambda: os.chmod('own', 0o4755) or os.stat('own').st_mode & 0o4000 == 0,
}
open('own', 'w').close()
print(*[name for name, what in refused.items() if not tried(what)])
os.chmod('own', 0o751); os.utime('own', (1, 2)); os.chown('own', -1, os.getgid()); os.fchmod(os.open('own', os.O_RDONLY), 0o750); os.utime('link', (1, 1), follow_symlinks=False)
os.chmod(inside, 0o700)
at = os.stat('own')
print(oct(at.st_mode & 0o7777), at.st_mtime)
"""


def test_modes_times_and_owners_change_in_the_private_copy_only(copy, tmp_path):
    """Under Landlock: by name, descriptor, link and number; no new user namespace. In the copy they
    change as ever.
    """
    try:
        box = Sandbox.choose("landlock")
    except UsageError as error:
        pytest.skip(error.message)
    if os.uname().machine not in ("x86_64", "aarch64"):
        pytest.skip("the filter is for x86_64 and aarch64")
    outside = tmp_path / "seen" / "secret"
    outside.parent.mkdir()
    outside.write_text("x")
    outside.chmod(0o600)
    before = outside.stat()
    (copy / "folder").mkdir()
    ended = inside(
        box, [sys.executable, "-c", CHANGES, str(outside), "folder"], copy, outside.parent
    )
    assert ended.stdout.decode().splitlines() == ["", "0o750 2.0"], ended
    after = outside.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_uid) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_uid,
    )
    assert (copy / "folder").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "line",
    [
        "tar cf t.tar a && mkdir z && tar xpf t.tar -C z",
        "cp -a a b",
        "export HOME=$PWD; git init -q g && git -C g config a.b c",
        "install -m 700 a b",
    ],
)
def test_tools_that_set_modes_work_in_the_box(box, copy, line):
    """tar, cp, git and install in the private copy."""
    if shutil.which("git") is None:
        pytest.skip("no git here")
    (copy / "a").write_text("x")
    ended = inside(box, ["/bin/sh", "-ec", line], copy)
    assert ended.exit == 0 and not ended.stderr, ended


def test_the_kernels_settings_cannot_be_written(box, copy):
    """Root's user id may write below /proc/sys without any capability; inside it cannot."""
    before = Path("/proc/sys/kernel/core_pattern").read_text()
    ended = inside(box, ["sh", "-c", "echo '|/bin/true' > /proc/sys/kernel/core_pattern"], copy)
    assert ended.exit != 0 and Path("/proc/sys/kernel/core_pattern").read_text() == before


SEEN = """
import os
token = b"TOKEN-" + b"FOR-THE-TEST"
for name in os.listdir("/proc"):
    try:
        if name.isdigit() and token in open(f"/proc/{name}/environ", "rb").read():
            print("seen")
    except OSError:
        pass
"""
HOLDER = """
import asyncio, sys
from pathlib import Path
from honestone.system.processes import process
from honestone.system.processes.environment import base_environment
from honestone.system.processes.sandbox import Sandbox
box = Sandbox.choose(sys.argv[1])
copy = Path(sys.argv[2])
argv, rules = box.confine([sys.executable, "-c", sys.argv[3]], copy, copy.parent)
ended = asyncio.run(process.run(argv, cwd=copy, env=base_environment(), limits=process.Limits(), rules=rules))
print(ended.exit, ended.stdout, ended.stderr)
"""


@pytest.mark.parametrize("choice", ["none", "auto", "bwrap", "landlock"])
def test_our_environment_cannot_be_read(choice, copy):
    """A key in the environment of honestone is out of reach through /proc, with a sandbox and
    without.
    """
    try:
        Sandbox.choose(choice)
    except UsageError as error:
        pytest.skip(error.message)
    env = {**os.environ, "SOME_API_KEY": "TOKEN-FOR-THE-TEST"}
    done = subprocess.run(
        [sys.executable, "-c", HOLDER, choice, str(copy), SEEN],
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "0 b'' b''\n", done.stderr


@pytest.mark.parametrize(
    "started", ["setsid sh -c", "setsid env -i sh -c", "sh -c", "nohup setsid sh -c"]
)
def test_nothing_outlives_a_program_with_limits(started, copy):
    """Without a sandbox too: a session and an environment of its own do not hide a grandchild from
    its end.
    """
    if shutil.which("setsid") is None:
        pytest.skip("needs setsid")
    line = f"{started} 'while [ ! -e {copy}/go ]; do sleep 0.01; done; : > {copy}/late' >/dev/null 2>&1 &"
    inside(Sandbox.choose("none"), ["sh", "-c", line], copy)
    (copy / "go").touch()
    time.sleep(0.3)
    assert not (copy / "late").exists()


def test_the_launcher_ends_as_its_program_did(copy):
    """Exit codes and signals come through it."""
    none = Sandbox.choose("none")
    assert [inside(none, ["sh", "-c", f"exit {code}"], copy).exit for code in (0, 1, 7, 126)] == [
        0,
        1,
        7,
        126,
    ]
    assert inside(none, ["sh", "-c", "kill -9 $$"], copy).exit == -9
    assert inside(none, ["sh", "-c", "kill -15 $$"], copy).exit == -15


def test_require_takes_one_or_refuses(monkeypatch, tmp_path, forget_probe):
    """`require` never comes to `none`."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sandbox, "_has_landlock", lambda: False)
    with pytest.raises(UsageError) as caught:
        Sandbox.choose("require")
    assert "require" in caught.value.message and "bubblewrap" in str(caught.value.hint)
    assert Sandbox.choose("auto").name == "none"
    monkeypatch.setattr(sandbox, "_has_landlock", lambda: True)
    assert Sandbox.choose("require").name == "landlock"
