"""Becomes a check's program under limits, and ends everything that the program started.

Started with the file descriptors of its order (marshalled: `limits`, `rules`, `program`, `argv`) and of its
report (the error number when the program cannot be executed). It stays as the parent: orphans of the program come to it,
also those with a session and an environment of their own, and it ends them before it ends as the program did. It runs once
for each check, so it imports only what costs next to nothing: no json, enum, typing or contextlib (15 ms together).
"""

# ruff: noqa: SIM105 - contextlib is one of them

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any, NoReturn
else:
    import _signal as signal  # without the enumerations

PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
# Capabilities that read another process's memory: of modules, raw input and output, ptrace, administration, performance
# monitoring, BPF.
LOOKS_INTO_OTHERS = (16, 17, 19, 21, 38, 39)
# The same numbers on every architecture.
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
# Seconds that a program has after SIGTERM: less than our parent gives us.
GRACE = 0.4


def libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def main() -> None:
    with open(int(sys.argv[1]), "rb") as file:
        order = marshal.load(file)
    report = int(sys.argv[2])
    os.set_inheritable(report, False)
    linux = libc() if sys.platform == "linux" else None
    if linux is None:
        become(order, report)
    linux.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    ours = os.getpid()
    signal.signal(signal.SIGTERM, lambda *_: None)  # the group's: the program gets it too
    program = os.fork()
    if program == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        linux.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == ours:
            confine(linux, order)
            become(order, report)
        os._exit(127)
    for fd in (0, 1, 2, report):
        os.close(fd)
    linux.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    end_as(wait_for(program), ours)


def wait_for(program: int) -> int:
    """The status that the program ended with. From SIGTERM on it has a grace, then everything is ended."""
    signal.signal(signal.SIGTERM, lambda *_: signal.setitimer(signal.ITIMER_REAL, GRACE))
    signal.signal(signal.SIGALRM, lambda *_: end_below(os.getpid()))
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == program:
            signal.setitimer(signal.ITIMER_REAL, 0)
            return status


def end_as(status: int, ours: int) -> NoReturn:
    try:
        os.waitpid(-1, os.WNOHANG)  # most programs leave nothing that runs
        for _ in range(1000):  # a fork bomb has new children until all are ended in one look
            end_below(ours)
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            signal.signal(number, signal.SIG_DFL)
        except OSError:  # of those that nobody can handle
            pass
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(ours, number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def end_below(ours: int) -> None:
    """SIGKILL to every process that descends from us, parents first: a shell whose command is killed before it would begin
    its next one."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            children.setdefault(parent, []).append(int(name))
    below = [ours]
    for pid in below:
        below += children.pop(pid, ())
    for pid in below[1:]:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def become(order: dict[str, Any], report: int) -> NoReturn:
    for name, soft, hard in order["limits"]:
        try:
            which = getattr(resource, name)
            top = resource.getrlimit(which)[1]
            bound = [n if top == resource.RLIM_INFINITY else min(n, top) for n in (soft, hard)]
            resource.setrlimit(which, (bound[0], bound[1]))
        except (AttributeError, ValueError, OSError):
            pass
    # Python ignores these two, and what is ignored stays ignored in the program that takes its place.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(order["program"], order["argv"])
    except OSError as error:
        os.write(report, str(error.errno).encode())
    os._exit(127)


def confine(linux: Any, order: dict[str, Any]) -> None:
    """No look into other processes' memory and environment, as root neither; with rules, Landlock's."""
    rules = order["rules"]
    drop_capabilities(linux, LOOKS_INTO_OTHERS if rules is None else range(64))
    if rules is not None:
        linux.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if not landlock(linux, *rules):
            os.write(2, b"landlock: the rules could not be set\n")
            os._exit(126)


def drop_capabilities(linux: Any, dropped: Any) -> None:
    for number in dropped:
        linux.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, low words first; then the high words
    if linux.capget(header, sets) == 0:
        for number in dropped:
            for at in range(3):
                sets[number // 32 * 3 + at] &= ~(1 << number % 32) & 0xFFFFFFFF
        linux.capset(header, sets)


def landlock(linux: Any, readable: list[str], writable: list[str], listable: list[str]) -> bool:
    """What is below `readable` can be read and run, below `writable` also changed; below `listable` the names of
    folders can be read. Nothing else, and no TCP."""
    version = linux.syscall(LANDLOCK_CREATE, None, 0, 1)
    every = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    rights = (ctypes.c_uint64 * 3)(every, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    rules = linux.syscall(LANDLOCK_CREATE, rights, 8 if version < 4 else 16 if version < 6 else 24, 0)
    if version < 1 or rules < 0:
        return False
    for paths, wanted in ((readable, EXECUTE | READ_FILE | READ_DIR), (writable, every), (listable, READ_DIR)):
        for path in paths:
            try:
                place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            allowed = wanted if os.path.isdir(path) else wanted & FILE_RIGHTS
            rule = (allowed & every).to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
            linux.syscall(LANDLOCK_ADD, rules, 1, rule, 0)
            os.close(place)
    return bool(linux.syscall(LANDLOCK_RESTRICT, rules, 0) == 0)
