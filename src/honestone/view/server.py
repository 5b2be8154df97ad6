"""A server on this machine for a browser. Reading runs in threads, so that one slow page holds up
no other.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

from aiohttp import web

from honestone.view.access import HEADERS, Access
from honestone.view.listening import Listening
from honestone.view.served import Served, Site, refused

_THREADS: Final = 3
_BACKLOG: Final = 128
# Connections that nothing was asked on, and the seconds after which one is closed.
_MOST_WAITING: Final = 200
SILENCE: Final = 10.0
_LONGEST_ANSWER: Final = 20_000_000  # bytes


class Serving:
    """A site at a port that listens already."""

    def __init__(self, site: Site, listening: Listening) -> None:
        self._site, self._socket = site, listening.socket
        self._access = listening.access(site.posts)

    async def run(self, ready: Callable[[], None], stopped: asyncio.Event) -> None:
        """Serves until it is stopped."""
        loop, waiting = asyncio.get_running_loop(), IdleConnections()
        loop.set_exception_handler(_on_error)
        made = application(self._site, self._access, waiting)
        runner = web.AppRunner(made, access_log=None, shutdown_timeout=1, logger=_quiet())
        await runner.setup()
        assert runner.server is not None
        listening = await loop.create_server(
            waiting.connections_of(runner.server), sock=self._socket, backlog=_BACKLOG
        )
        ready()
        try:
            await stopped.wait()
        finally:
            listening.close()
            await runner.cleanup()


class IdleConnections:
    """Connections on which nothing has been asked yet that is answered. Whoever opens many and says
    nothing, or has no token, keeps others out: of more than `most` the oldest is closed, and each
    after `SILENCE` seconds.
    """

    def __init__(self) -> None:
        self._open: dict[web.RequestHandler, asyncio.TimerHandle] = {}
        # Half of what this process may have open, for the files that pages are read from.
        self._most = max(8, min(_MOST_WAITING, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4))

    def connections_of(self, server: web.Server) -> Callable[[], asyncio.Protocol]:
        def connected() -> asyncio.Protocol:
            while len(self._open) >= self._most:
                self._close(next(iter(self._open)))
            made = server()
            self._open[made] = asyncio.get_running_loop().call_later(SILENCE, self._close, made)
            return made

        return connected

    def note_request(self, request: web.BaseRequest) -> None:
        """A request on it is answered: the connection is a browser's."""
        if (timer := self._open.pop(request.protocol, None)) is not None:
            timer.cancel()

    def _close(self, connection: web.RequestHandler) -> None:
        if (timer := self._open.pop(connection, None)) is not None:
            timer.cancel()
            connection.force_close()


def _quiet() -> logging.Logger:
    """What is not HTTP is refused without a word: an error of ours is said by `guard`."""
    logger = logging.Logger("honestone.view")
    logger.addHandler(logging.NullHandler())
    return logger


def _on_error(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """One line in place of a traceback; none where the system has no more connections to give,
    which passes.
    """
    error = context.get("exception")
    if not isinstance(error, OSError):
        print(f"internal error: {context.get('message')}: {type(error).__name__}", file=sys.stderr)


def serve(site: Site, listening: Listening, ready: Callable[[], None] = lambda: None) -> None:
    """Serves until it is interrupted. `ready` is called once requests are answered."""
    asyncio.run(_until_interrupted(Serving(site, listening), ready))


async def _until_interrupted(serving: Serving, ready: Callable[[], None]) -> None:
    stopped = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError):
            asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    await serving.run(ready, stopped)


def application(
    site: Site, access: Access, waiting: IdleConnections | None = None
) -> web.Application:
    """The server without its socket."""
    waiting = waiting or IdleConnections()
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="view")

    async def answer(request: web.Request) -> web.Response:
        query = {
            name: ",".join(request.query.getall(name)) for name in request.query if name != "token"
        }
        found = await asyncio.get_running_loop().run_in_executor(
            threads, site.answer, request.path, query
        )
        return _response(found)

    async def take(request: web.Request) -> web.Response:
        sent = await request.read()
        found = await asyncio.get_running_loop().run_in_executor(
            threads, site.take, request.path, sent
        )
        return _response(found)

    @web.middleware
    async def guard(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        named = request.query.get("token", "")
        headers = {name.lower(): value for name, value in request.headers.items()}
        status = access.refusal(request.method, headers, request.cookies, named, request.path)
        if status is not None:
            answer = _response(refused(status))
            answer.force_close()
            return answer
        waiting.note_request(request)
        if access.opens(named) and request.method == "GET":
            return _without_token(request, access, named)
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _response(refused(error.status))
        except Exception as error:
            print(
                f"internal error: {type(error).__name__}: {str(error).splitlines()[:1]}",
                file=sys.stderr,
            )
            return _response(refused(500))

    async def close(_: web.Application) -> None:
        threads.shutdown(wait=False, cancel_futures=True)

    made = web.Application(middlewares=[guard], client_max_size=_LONGEST_ANSWER)
    made.router.add_get("/{path:.*}", answer)
    made.router.add_post("/{path:.*}", take)
    made.on_cleanup.append(close)
    return made


def _without_token(request: web.Request, access: Access, token: str) -> web.Response:
    """The token leaves the address for a cookie, so that it is in no history and no link that is
    shared.
    """
    query = "&".join(
        part
        for part in request.rel_url.raw_query_string.split("&")
        if not part.startswith("token=")
    )
    # Never `//host`, which a browser takes for another server, as it does `/\\host` and what is
    # left without control characters.
    path = quote(request.rel_url.raw_path, safe="/%:@!$&'()*+,;=~").lstrip("/")
    while path.lower().startswith(("%5c", "/")):
        path = path.removeprefix("/") if path.startswith("/") else path[3:]
    answer = web.Response(
        status=303, headers={**HEADERS, "Location": f"/{path}" + (f"?{query}" if query else "")}
    )
    if not access.has_cookie(request.cookies):
        cookie = access.sessions.begin(token)
        answer.set_cookie(access.cookie, cookie, httponly=True, samesite="Strict", path="/")
    return answer


def _response(answer: Served) -> web.Response:
    return web.Response(
        status=answer.status, body=answer.body, headers={**HEADERS, "Content-Type": answer.kind}
    )
