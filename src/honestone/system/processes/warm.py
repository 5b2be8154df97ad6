"""A long-lived child process that answers requests over a socket. Closing it ends its whole process
group.

A message is its length in four bytes, then that many bytes. What the program prints is read while
it works, because a full pipe would block it; the end of stderr is remembered, to say why it died.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from honestone.system.files import remove
from honestone.system.processes import process
from honestone.system.processes.commands import NotStarted
from honestone.system.processes.environment import in_a_thread_that_starts
from honestone.system.processes.groups import end_group, forget_group, starting, watch_group
from honestone.system.processes.private import end_inhabitants, forget, make_private

_STDERR_TAIL: Final = 4096
_CHUNK: Final = 65_536


class Gone(Exception):
    """It gave no answer and is ended; `ended` says how, with the end of its stderr."""

    def __init__(self, ended: process.Ended) -> None:
        super().__init__()
        self.ended = ended


class WarmProgram:
    """`argv` is started with the number of its end of the socket as the last word. `workdir` is a
    private folder for as long as it lives; HONESTONE_ROOM names it, and whatever still has that in
    its environment is ended with it.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output_limit: int
    ) -> None:
        """Raises NotStarted."""
        self.workdir = make_private("honestone-target-")
        self._limit = output_limit
        self._wire, theirs = socket.socketpair()
        self._wire.setblocking(False)
        self._stderr, self._printed = bytearray(), 0
        try:
            self._process = in_a_thread_that_starts(
                partial(self._start, argv, cwd, env, theirs.fileno())
            )
        except (OSError, ValueError) as error:
            self._wire.close()
            _leave(self.workdir)
            raise NotStarted(str(error)) from None
        finally:
            theirs.close()
        assert self._process.stderr is not None
        self._errors = self._process.stderr
        os.set_blocking(self._errors.fileno(), False)
        # Also when nobody holds it any more, and when we exit.
        self._end = weakref.finalize(self, _end, self._process, self._wire, self.workdir)

    def _start(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], wire: int
    ) -> subprocess.Popen[bytes]:
        with starting():
            process = subprocess.Popen(
                [*argv, str(wire)],
                cwd=cwd,
                env={"HONESTONE_ROOM": str(self.workdir), **env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                pass_fds=(wire,),
            )
            watch_group(process.pid)
            return process

    async def ask(self, message: bytes, timeout: float) -> bytes:
        """Its answer. Raises Gone where there is none within so many seconds, or none at all: it is
        ended by then.
        """
        loop, began = asyncio.get_running_loop(), time.monotonic()
        timed_out = False
        answer: bytes | None = None
        self._printed = 0
        loop.add_reader(self._errors, self._drain)
        try:
            async with asyncio.timeout(timeout):
                with contextlib.suppress(ConnectionError):
                    await loop.sock_sendall(self._wire, len(message).to_bytes(4, "big") + message)
                    answer = await self._answer()
        except TimeoutError:
            timed_out = True
        except BaseException:  # stopped in between: its next answer would belong to this question
            loop.remove_reader(self._errors)
            self.end()
            raise
        loop.remove_reader(self._errors)
        if answer is not None and self._printed <= self._limit:
            return answer
        is_flood = self._printed > self._limit
        if not timed_out and not is_flood:
            await asyncio.to_thread(self._wait_for_end)
        self._drain_rest()
        await asyncio.to_thread(self.end)
        raise Gone(
            process.Ended(
                exit=None if timed_out else self._process.returncode,
                stdout=b"",
                stderr=bytes(self._stderr),
                timed_out=timed_out,
                truncated=is_flood,
                duration=time.monotonic() - began,
            )
        )

    async def _answer(self) -> bytes | None:
        """None when it has closed its end, or answers more than the limit."""
        loop, received, size = asyncio.get_running_loop(), bytearray(), 4
        while len(received) < size:
            more = await loop.sock_recv(self._wire, _CHUNK)
            received += more
            if size == 4 and len(received) >= 4:
                size += int.from_bytes(received[:4], "big")
                self._printed += size if size > self._limit else 0
            if not more or size > self._limit:
                return None
        return bytes(received[4:size])

    def _drain(self) -> None:
        """What is printed, as far as it is there."""
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._errors.fileno(), _CHUNK)
            self._stderr = (self._stderr + data)[-_STDERR_TAIL:]
            self._printed += len(data)
            if not data or self._printed > self._limit:
                asyncio.get_running_loop().remove_reader(self._errors)
                if data:
                    self._wire.shutdown(socket.SHUT_RDWR)

    def _wait_for_end(self) -> None:
        """It has closed its socket, and is about to end by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(process.GRACE)

    def _drain_rest(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._errors.fileno(), _CHUNK):
                self._stderr = (self._stderr + data)[-_STDERR_TAIL:]

    @property
    def is_over(self) -> bool:
        return not self._end.alive

    def end(self) -> None:
        """It, its group, and what has left the group; its folder is gone. Ending it twice does
        nothing.
        """
        self._end()


def _end(program: subprocess.Popen[bytes], wire: socket.socket, workdir: Path) -> None:
    wire.close()
    end_group(program, process.GRACE)
    if program.stderr is not None:
        program.stderr.close()
    forget_group(program.pid)
    _leave(workdir)


def _leave(workdir: Path) -> None:
    end_inhabitants(workdir)
    remove(workdir)
    forget(workdir)
