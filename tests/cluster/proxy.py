"""A server in between that cuts the connection to PostgreSQL before or after a chosen statement."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

_ENDS_STATEMENT = b"SQ"
_SENT_AT_ONCE = b"SQpXH"


class Proxy:
    """Passes connections on to `port` of this machine. `arm` says where the next cut is; `count`
    says how many statements have begun since then.
    """

    def __init__(self, port: int) -> None:
        self._upstream = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._cut_at: int | None = None
        self._is_after = False
        self.count = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, statement: int | None, *, after: bool = False) -> None:
        """Cut at this statement, counted from 1 and from now; None cuts nothing."""
        with self._lock:
            self._cut_at, self._is_after, self.count = statement, after, 0

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                _Passed(self, client, socket.create_connection(("127.0.0.1", self._upstream)))

    def begins(self) -> str:
        """What becomes of the statement that begins: `pass`, or cut `before` or `after` it."""
        with self._lock:
            self.count += 1
            if self.count != self._cut_at:
                return "pass"
            return "after" if self._is_after else "before"


class _Passed:
    """One connection that is passed on, in two threads."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._is_doomed = threading.Event()
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for work in (self._up, self._down):
            threading.Thread(target=self._safely, args=(work,), daemon=True).start()

    def _safely(self, work) -> None:
        with suppress(OSError):
            work()
        self._cut()

    def _up(self) -> None:
        reader = self._client.makefile("rb")
        head = reader.read(4)
        self._server.sendall(head + reader.read(struct.unpack("!I", head)[0] - 4))
        waiting = b""
        while kind := reader.read(1):
            size = reader.read(4)
            waiting += kind + size + reader.read(struct.unpack("!I", size)[0] - 4)
            if kind not in _SENT_AT_ONCE:
                continue
            fate = self._proxy.begins() if kind in _ENDS_STATEMENT else "pass"
            if fate == "before":
                return
            if fate == "after":
                self._is_doomed.set()
            self._server.sendall(waiting)
            waiting = b""
        if self._is_doomed.is_set():  # the other thread cuts when the server has answered
            self._is_doomed.wait(5)

    def _down(self) -> None:
        reader = self._server.makefile("rb")
        while kind := reader.read(1):
            size = reader.read(4)
            message = kind + size + reader.read(struct.unpack("!I", size)[0] - 4)
            if self._is_doomed.is_set():
                if kind == b"Z":
                    return
            else:
                self._client.sendall(message)

    def _cut(self) -> None:
        for one in (self._client, self._server):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
