"""Becomes a check's program under limits, and ends everything that the program started.

With Landlock's rules it also sets a filter of system calls (seccomp), since Landlock knows nothing
of modes, times and owners: changing those is asked of this parent, which does it for what may be
written and refuses it elsewhere.

Started with the file descriptors of its order (marshalled: `limits`, `rules`, `program`, `argv`)
and of its report (the error number when the program cannot be executed). It stays as the parent:
orphans of the program come to it, also those with a session and an environment of their own, and it
ends them before it ends as the program did. It runs once for each check, so it imports only what
costs next to nothing: no json, enum, typing or contextlib (15 ms together).
"""

# ruff: noqa: SIM105 - contextlib is one of them

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any, NoReturn
else:
    import _signal as signal  # without the enumerations

PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
# Capabilities that read another process's memory: of modules, raw input and output, ptrace,
# administration, performance monitoring, BPF.
LOOKS_INTO_OTHERS = (16, 17, 19, 21, 38, 39)
# The same numbers on every architecture.
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL = (
    1 << 0,
    1 << 1,
    1 << 2,
    1 << 3,
    1 << 14,
    1 << 15,
)
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
# Of seccomp: what a filter answers, and how one listens to what it asks. `NEW_USER` is a flag of
# clone and unshare.
ALLOW, ERRNO, ASK = 0x7FFF0000, 0x00050000, 0x7FC00000
EPERM, ENOSYS, EOPNOTSUPP = 1, 38, 95
SET_FILTER, NEW_LISTENER, NEW_USER = 1, 1 << 3, 0x10000000
RECEIVE, SEND, IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
SET_FLAGS = (0x40086602, 0x40046602, 0x401C5820)  # ioctl: the flags of a file, as chattr sets them
AT_FDCWD, NOFOLLOW, EMPTY_PATH = -100, 0x100, 0x1000
# By architecture: its number in seccomp; the calls of files, with the places of folder, path, and
# what is set; of others. `mode`: mode (and flags); `times`: seconds, microseconds or nanoseconds
# (and flags); `owner`: user and group.
FILE_CALLS: dict[str, dict[int, tuple[str, int | None, int | None, int, int | None]]] = {
    "x86_64": {
        90: ("mode", None, 0, 1, None),
        91: ("mode", 0, None, 1, None),
        268: ("mode", 0, 1, 2, None),
        132: ("seconds", None, 0, 1, None),
        235: ("microseconds", None, 0, 1, None),
        261: ("microseconds", 0, 1, 2, None),
        280: ("nanoseconds", 0, 1, 2, 3),
        92: ("owner", None, 0, 1, None),
        93: ("owner", 0, None, 1, None),
        94: ("owner", None, 0, 1, None),
        260: ("owner", 0, 1, 2, None),
        452: ("mode", 0, 1, 2, 3),
    },
    "aarch64": {
        52: ("mode", 0, None, 1, None),
        53: ("mode", 0, 1, 2, None),
        88: ("nanoseconds", 0, 1, 2, 3),
        54: ("owner", 0, 1, 2, None),
        55: ("owner", 0, None, 1, None),
        452: ("mode", 0, 1, 2, 3),
    },
}
# The number of seccomp itself and of the architecture; those that set extended attributes, which
# file systems may lack; the flags of a file, setns; clone, unshare; ioctl.
OTHER_CALLS: dict[str, tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...], int]] = {
    "x86_64": (
        317,
        0xC000003E,
        (188, 189, 190, 197, 198, 199, 463, 466),
        (469, 308),
        (56, 272),
        16,
    ),
    "aarch64": (277, 0xC00000B7, (5, 6, 7, 14, 15, 16, 463, 466), (469, 268), (220, 97), 29),
}
# clone3, whose flags a filter cannot see (callers go back to clone), and io_uring, which makes
# calls that no filter sees.
UNKNOWN_CALLS = (435, 425, 426, 427)
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
    listens = order["rules"] is not None and os.uname().machine in FILE_CALLS
    tells, answers = (os.pipe(), os.pipe()) if listens else (None, None)
    program = os.fork()
    if program == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        linux.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == ours:
            confine(linux, order, tells, answers)
            become(order, report)
        os._exit(127)
    if tells is not None and answers is not None:
        listen_to(linux, program, order["rules"][1], tells, answers)
    for fd in (0, 1, 2, report):
        os.close(fd)
    linux.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    end_as(wait_for(program), ours)


def wait_for(program: int) -> int:
    """The status that the program ended with. From SIGTERM on it has a grace, then everything is
    ended.
    """
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
    """SIGKILL to every process that descends from us, parents first: a shell whose command is
    killed before it would begin its next one.
    """
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
    # Python ignores these two, and what is ignored stays ignored in the program that takes its
    # place.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(order["program"], order["argv"])
    except OSError as error:
        os.write(report, str(error.errno).encode())
    os._exit(127)


def confine(linux: Any, order: dict[str, Any], tells: Any, answers: Any) -> None:
    """No look into other processes' memory and environment, as root neither; with rules,
    Landlock's, and a filter of calls.
    """
    rules = order["rules"]
    drop_capabilities(linux, LOOKS_INTO_OTHERS if rules is None else range(64))
    if rules is not None:
        linux.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if not landlock(linux, *rules):
            os.write(2, b"landlock: the rules could not be set\n")
            os._exit(126)
        if tells is not None and not filter_calls(linux, tells, answers):
            os.write(2, b"landlock: the filter of system calls could not be set\n")
            os._exit(126)


def drop_capabilities(linux: Any, dropped: Any) -> None:
    for number in dropped:
        linux.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (
        ctypes.c_uint32 * 6
    )()  # effective, permitted, inheritable, low words first; then the high words
    if linux.capget(header, sets) == 0:
        for number in dropped:
            for at in range(3):
                sets[number // 32 * 3 + at] &= ~(1 << number % 32) & 0xFFFFFFFF
        linux.capset(header, sets)


def landlock(linux: Any, readable: list[str], writable: list[str], listable: list[str]) -> bool:
    """What is below `readable` can be read and run, below `writable` also changed; below `listable`
    the names of folders can be read. Nothing else, and no TCP.
    """
    version = linux.syscall(LANDLOCK_CREATE, None, 0, 1)
    every = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    # Version 4 of the interface added TCP, version 6 signals and abstract sockets: an older kernel
    # refuses a longer structure.
    fields = [every]
    if version >= 4:
        fields.append(3)
    if version >= 6:
        fields.append(3)
    rights = (ctypes.c_uint64 * len(fields))(*fields)
    rules = linux.syscall(LANDLOCK_CREATE, rights, ctypes.sizeof(rights), 0)
    if version < 1 or rules < 0:
        return False
    for paths, wanted in (
        (readable, EXECUTE | READ_FILE | READ_DIR),
        (writable, every),
        (listable, READ_DIR),
    ):
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


# ------------------------------------------------------------------------------------------------
# the filter of calls


def filter_calls(linux: Any, tells: tuple[int, int], answers: tuple[int, int]) -> bool:
    """Sets the filter. The parent gets the descriptor by which it is asked, and takes it before
    this returns; where the kernel gives none, what it would be asked is refused.
    """
    os.close(tells[0])
    os.close(answers[1])
    call = OTHER_CALLS[os.uname().machine][0]
    listener = linux.syscall(call, SET_FILTER, NEW_LISTENER, ctypes.byref(program_of_filter(ASK)))
    if (
        listener < 0
        and linux.syscall(call, SET_FILTER, 0, ctypes.byref(program_of_filter(ERRNO | EPERM))) != 0
    ):
        return False
    os.write(tells[1], str(listener).encode())
    os.close(tells[1])
    os.read(answers[0], 1)
    os.close(answers[0])
    if listener >= 0:
        os.close(listener)  # were nobody listening, the calls would now fail
    return True


class FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def program_of_filter(of_files: int) -> FilterProgram:
    """The filter, as the kernel reads it; `of_files` is what it answers to calls that change modes,
    times and owners.
    """
    machine = os.uname().machine
    _, architecture, attributes, refused, makes_processes, ioctl = OTHER_CALLS[machine]
    load, equal, at_least, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    steps = [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (answer, 0, 0, ERRNO | ENOSYS),
        (load, 0, 0, 0),
    ]
    steps += [
        (at_least, 0, 1, 0x40000000),
        (answer, 0, 0, ERRNO | ENOSYS),
    ]  # x32, the calls by other numbers
    answers: dict[int, int] = dict.fromkeys(FILE_CALLS[machine], of_files)
    answers.update(dict.fromkeys(attributes, ERRNO | EOPNOTSUPP))
    answers.update(dict.fromkeys(refused, ERRNO | EPERM))
    answers.update(dict.fromkeys(UNKNOWN_CALLS, ERRNO | ENOSYS))
    for number, reply in answers.items():
        steps += [(equal, 0, 1, number), (answer, 0, 0, reply)]
    for number in makes_processes:
        steps += [(equal, 0, 4, number), (load, 0, 0, 16), (any_bit, 0, 1, NEW_USER)]
        steps += [(answer, 0, 0, ERRNO | EPERM), (answer, 0, 0, ALLOW)]
    steps += [(equal, 0, 2 + 2 * len(SET_FLAGS), ioctl), (load, 0, 0, 24)]
    for request in SET_FLAGS:
        steps += [(equal, 0, 1, request), (answer, 0, 0, ERRNO | EPERM)]
    steps += [(answer, 0, 0, ALLOW), (answer, 0, 0, ALLOW)]
    order = sys.byteorder
    code = b"".join(
        kind.to_bytes(2, order) + bytes((yes, no)) + value.to_bytes(4, order)
        for kind, yes, no, value in steps
    )
    return FilterProgram(len(steps), code)


def listen_to(
    linux: Any, program: int, writable: list[str], tells: tuple[int, int], answers: tuple[int, int]
) -> None:
    """Takes the program's descriptor and answers what it asks, in a thread of its own."""
    import _thread

    os.close(tells[1])
    os.close(answers[0])
    reported = os.read(tells[0], 20)
    os.close(tells[0])
    if reported and int(reported) >= 0:
        process = linux.syscall(434, program, 0)  # pidfd_open
        listener = linux.syscall(438, process, int(reported), 0)  # pidfd_getfd
        os.close(process)
        roots = [os.path.realpath(path) for path in writable if os.path.isdir(path)]
        if listener >= 0:
            _thread.start_new_thread(answer_calls, (linux, listener, roots))
    os.close(answers[1])


def answer_calls(linux: Any, listener: int, roots: list[str]) -> None:
    while True:
        asked = ctypes.create_string_buffer(80)
        if linux.ioctl(listener, RECEIVE, asked) != 0:
            time.sleep(0.005)  # it was killed meanwhile, or nobody is left to ask
            continue
        id, pid = (
            int.from_bytes(asked.raw[:8], sys.byteorder),
            int.from_bytes(asked.raw[8:12], sys.byteorder),
        )
        number = int.from_bytes(asked.raw[16:20], sys.byteorder)
        arguments = [
            int.from_bytes(asked.raw[at : at + 8], sys.byteorder) for at in range(32, 80, 8)
        ]
        try:
            change(
                linux, listener, id, pid, FILE_CALLS[os.uname().machine][number], arguments, roots
            )
            error = 0
        except OSError as problem:
            error = problem.errno or EPERM
        except Exception:
            error = EPERM
        reply = (
            id.to_bytes(8, sys.byteorder)
            + bytes(8)
            + (-error).to_bytes(4, sys.byteorder, signed=True)
            + bytes(4)
        )
        linux.ioctl(listener, SEND, ctypes.create_string_buffer(reply, 24))


def change(
    linux: Any, listener: int, id: int, pid: int, call: Any, arguments: list[int], roots: list[str]
) -> None:
    """Does what a call of another process asks, where the file is below a root. Raises OSError
    where it is not.

    The file is opened once, looked at, and changed by that descriptor: what its name leads to later
    does not matter.
    """
    kind, folder_at, path_at, value_at, flags_at = call
    value = arguments[value_at]
    flags = 0 if flags_at is None else arguments[flags_at]
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    place = -1
    try:
        place = opened(pid, memory, folder_at, path_at, arguments, flags)
        real = os.readlink(f"/proc/self/fd/{place}")
        if not any(real == root or real.startswith(f"{root}/") for root in roots):
            raise PermissionError(EPERM, "")
        times = times_at(memory, value, kind) if value and kind not in ("mode", "owner") else None
        if linux.ioctl(listener, IS_VALID, ctypes.byref(ctypes.c_uint64(id))) != 0:
            raise PermissionError(EPERM, "")
        if kind == "owner":
            require_owner(arguments[value_at : value_at + 2])
        elif kind != "mode":
            if linux.utimensat(place, b"", times, EMPTY_PATH) != 0:
                raise OSError(ctypes.get_errno(), "")
        elif os.fstat(place).st_mode & 0o170000 == 0o120000:
            raise OSError(EOPNOTSUPP, "")
        else:
            os.chmod(f"/proc/self/fd/{place}", value & 0o1777)
    finally:
        os.close(memory)
        if place >= 0:
            os.close(place)


def require_owner(wanted: list[int]) -> None:
    """No one else can be made the owner; where it is the owner already, there is nothing to do."""
    for one, own in zip(wanted, (os.geteuid(), os.getegid()), strict=True):
        if ctypes.c_int32(one).value not in (-1, own):
            raise PermissionError(EPERM, "")


def opened(
    pid: int, memory: int, folder_at: Any, path_at: Any, arguments: list[int], flags: int
) -> int:
    """A descriptor of the file that a call is about, which can be used for nothing but to name it."""
    folder = AT_FDCWD if folder_at is None else ctypes.c_int32(arguments[folder_at]).value
    base = f"/proc/{pid}/cwd" if folder == AT_FDCWD else f"/proc/{pid}/fd/{folder}"
    path = b"" if path_at is None or not arguments[path_at] else text_at(memory, arguments[path_at])
    look = os.O_PATH | os.O_CLOEXEC
    if not path:
        if path_at is None or not arguments[path_at] or flags & EMPTY_PATH:
            return os.open(base, look)
        raise FileNotFoundError(2, "")
    last = look | (os.O_NOFOLLOW if flags & NOFOLLOW else 0)
    if path.startswith(b"/"):
        return os.open(path, last)
    start = os.open(base, look)
    try:
        return os.open(path, last, dir_fd=start)
    finally:
        os.close(start)


def text_at(memory: int, address: int) -> bytes:
    found = b""
    while b"\0" not in found and len(found) < 4096:
        found += os.pread(memory, 4096 - (address + len(found)) % 4096, address + len(found))
    return found.partition(b"\0")[0]


def times_at(memory: int, address: int, kind: str) -> bytes:
    """Two times as `utimensat` takes them."""
    order = sys.byteorder
    if kind == "nanoseconds":
        return os.pread(memory, 32, address)
    size = 16 if kind == "seconds" else 32
    numbers = [
        int.from_bytes(os.pread(memory, size, address)[at : at + 8], order, signed=True)
        for at in range(0, size, 8)
    ]
    if kind == "seconds":
        numbers = [numbers[0], 0, numbers[1], 0]
    else:
        numbers = [numbers[0], numbers[1] * 1000, numbers[2], numbers[3] * 1000]
    return b"".join(number.to_bytes(8, order, signed=True) for number in numbers)
