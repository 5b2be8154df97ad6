"""The sandbox: what a program inside can read, write and reach, and what is said when there is none."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from honestone.core.errors import UsageError
from honestone.system import process, sandbox
from honestone.system.sandbox import Sandbox

AUTO = Sandbox.choose("auto")
needs_bwrap = pytest.mark.skipif(AUTO.name != "bwrap", reason="bubblewrap is not installed or does not work here")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "private" / "work"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def forget_probe() -> Iterator[None]:
    sandbox._bubblewrap.cache_clear()
    sandbox._hidden.cache_clear()
    yield
    sandbox._bubblewrap.cache_clear()
    sandbox._hidden.cache_clear()


def inside(box: Sandbox, argv: list[str], copy: Path, *visible: Path, timeout: float = 30) -> process.Ended:
    words = box.wrap(argv, copy, copy.parent, visible)
    return asyncio.run(process.run(words, cwd=copy, env=process.base_environment(), timeout=timeout))


def test_without_a_sandbox_the_command_is_unchanged(copy):
    """`none` adds nothing and says so."""
    box = Sandbox.choose("none")
    assert box.name == "none" and box.wrap(["true", "x"], copy, copy) == ["true", "x"]


def test_an_unknown_sandbox_is_a_usage_error():
    """A word that is no choice is refused with the choices."""
    with pytest.raises(UsageError) as caught:
        Sandbox.choose("docker")
    assert "auto, bwrap, none" in str(caught.value.hint)


def test_bwrap_that_is_not_there_is_a_usage_error(monkeypatch, tmp_path, forget_probe):
    """Asked for by name and absent: said, with what to install. `auto` goes on without."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        Sandbox.choose("bwrap")
    assert "not installed" in caught.value.message and "apt-get install bubblewrap" in str(caught.value.hint)
    assert Sandbox.choose("auto").name == "none"


def test_bwrap_that_does_not_work_counts_as_absent(monkeypatch, tmp_path, forget_probe):
    """A bubblewrap that the system refuses is not used; its own words are shown when it was asked for."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'No permissions to create namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Sandbox.choose("auto").name == "none"
    with pytest.raises(UsageError, match="No permissions"):
        Sandbox.choose("bwrap")


@needs_bwrap
def test_only_the_private_copy_can_be_written(copy, tmp_path):
    """Inside, the private folder can be written; files outside keep their bytes."""
    outside = tmp_path / "outside.txt"
    outside.write_text("before")
    (copy / "a").write_text("old")
    ended = inside(AUTO, ["sh", "-c", f"echo new > a; echo harm > {outside}; echo harm > /etc/harm"], copy, outside)
    assert (copy / "a").read_text() == "new\n"
    assert outside.read_text() == "before" and not Path("/etc/harm").exists() and ended.exit != 0


@needs_bwrap
def test_no_network(copy):
    """A server on this machine cannot be reached from inside."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('reached')"
        ended = inside(AUTO, [sys.executable, "-c", code], copy)
        reached = inside(Sandbox.choose("none"), [sys.executable, "-c", code], copy)
    assert ended.exit != 0 and b"reached" not in ended.stdout
    assert reached.stdout == b"reached\n"


@needs_bwrap
def test_the_home_is_hidden(copy, tmp_path, monkeypatch, forget_probe):
    """Files in the home cannot be read, except what is listed as visible."""
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    (home / "secret").write_text("s3cret")
    (home / "project" / "tool.txt").write_text("shown")
    monkeypatch.setenv("HOME", str(home))
    ended = inside(AUTO, ["sh", "-c", f"cat {home}/project/tool.txt {home}/secret"], copy, home / "project")
    assert ended.stdout == b"shown" and ended.exit != 0


@needs_bwrap
def test_a_home_is_never_shown_whole(copy, tmp_path, monkeypatch, forget_probe):
    """Asked for by itself, a home shows no hidden file; a folder around it shows nothing of it."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".secret").write_text("s3cret")
    (home / "plain").write_text("plain")
    monkeypatch.setenv("HOME", str(home))
    assert inside(AUTO, ["sh", "-c", f"cat {home}/.secret"], copy, home).stdout == b""
    assert inside(AUTO, ["sh", "-c", f"cat {home}/.secret {home}/plain"], copy, tmp_path).stdout == b""


@needs_bwrap
def test_our_python_works_inside(copy):
    """The interpreter in use starts inside and finds this package."""
    ended = inside(AUTO, [sys.executable, "-c", "import honestone, json; print('ok')"], copy)
    assert ended.stdout == b"ok\n"


@needs_bwrap
def test_a_program_in_the_home_stays_visible(copy, tmp_path, monkeypatch, forget_probe):
    """A command that is given by its path can run though its home is hidden."""
    home = tmp_path / "home"
    home.mkdir()
    tool = home / "tool"
    tool.write_text("#!/bin/sh\necho ran\n")
    tool.chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    assert inside(AUTO, [str(tool)], copy).stdout == b"ran\n"


@needs_bwrap
def test_an_environment_in_the_home_works(copy, tmp_path, monkeypatch, forget_probe):
    """A checkout with its .venv below the home, where the interpreter is a link into another place: what most people have."""
    home = tmp_path / "home"
    (home / "checkout" / ".venv" / "bin").mkdir(parents=True)
    python = home / "checkout" / ".venv" / "bin" / "python"
    python.symlink_to(Path(sys.executable).resolve())
    (home / "checkout" / ".venv" / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{python.parent}{os.pathsep}{os.environ['PATH']}")
    ended = inside(AUTO, [str(python), "-c", "print('ok')"], copy)
    assert (ended.stdout, ended.stderr) == (b"ok\n", b"")


@needs_bwrap
def test_tools_of_path_work_and_show_no_keys(copy, tmp_path, monkeypatch, forget_probe):
    """What a version manager keeps beside its shims is visible; of ~/.local and the like, only `bin` is."""
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
    assert inside(AUTO, ["tool"], copy).stdout == b"works"


@needs_bwrap
def test_other_processes_are_out_of_sight(copy):
    """Inside, no process of ours can be seen or ended."""
    ended = inside(AUTO, ["sh", "-c", f"kill -0 {os.getpid()} 2>/dev/null && echo seen; true"], copy)
    assert ended.stdout == b""


@needs_bwrap
def test_a_session_of_its_own_does_not_escape(copy):
    """Even a grandchild that leaves the group is ended with the sandbox."""
    mark = copy / "late"
    setsid = shutil.which("setsid")
    if setsid is None:
        pytest.skip("needs setsid")
    inside(AUTO, ["sh", "-c", "setsid sh -c 'while [ ! -e go ]; do sleep 0.01; done; : > late' & :"], copy)
    (copy / "go").touch()
    time.sleep(0.5)
    assert not mark.exists()


@needs_bwrap
def test_time_out_inside_the_sandbox(copy):
    """A program inside that does not end is ended."""
    ended = inside(AUTO, ["sh", "-c", "trap '' TERM; sleep 600"], copy, timeout=0.5)
    assert ended.timed_out and ended.duration < 300


@needs_bwrap
def test_a_project_that_is_the_home_keeps_its_tools(copy, tmp_path, monkeypatch, forget_probe):
    """What lies beside the rubric is seen though the rubric lies in the home itself; keys in hidden files are not."""
    (tmp_path / "home" / "tools").mkdir(parents=True)
    (tmp_path / "home" / "tools" / "helper").write_text("neighbour")
    (tmp_path / "home" / ".ssh").mkdir()
    (tmp_path / "home" / ".ssh" / "id").write_text("key")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    home = tmp_path / "home"
    assert inside(AUTO, ["cat", str(home / "tools" / "helper")], copy, home).stdout == b"neighbour"
    assert inside(AUTO, ["sh", "-c", f"cat {home}/.ssh/id"], copy, home).stdout == b""


@needs_bwrap
def test_a_home_below_the_project_is_empty(copy, tmp_path, monkeypatch, forget_probe):
    """The project is seen, the home inside it is not."""
    (tmp_path / "project" / ".home").mkdir(parents=True)
    (tmp_path / "project" / "helper").write_text("neighbour")
    (tmp_path / "project" / ".home" / "secret").write_text("key")
    project = tmp_path / "project"
    monkeypatch.setenv("HOME", str(project / ".home"))
    assert inside(AUTO, ["cat", str(project / "helper")], copy, project).stdout == b"neighbour"
    assert inside(AUTO, ["sh", "-c", f"cat {project}/.home/secret"], copy, project).stdout == b""
