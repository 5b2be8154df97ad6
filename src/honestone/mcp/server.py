"""The server of `honestone agent mcp`: the tools and resources over stdio, by the official SDK.

Use cases block, so each call works in a thread of its own. A call that is cancelled, or whose
client is gone, ends its programs before it returns.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import signal
import sys
import traceback
import urllib.parse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import anyio
import mcp_types as types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from honestone import __version__
from honestone.app.agents.owned_run import SESSION_VARIABLES
from honestone.app.doors.quiet import Quiet
from honestone.app.event_loop import STOPPER, Stopper
from honestone.app.runs.run_list import list_runs
from honestone.app.workspace import Bounds, Workspace
from honestone.core.errors import HonestoneError
from honestone.core.json_value import late_pattern
from honestone.formats.project import reading_within
from honestone.mcp.tools import TOOLS, Call, find_tool, report_text, rubric_text
from honestone.report.errors import error_text, system_error_text
from honestone.system.drawing import line

_Received: TypeAlias = SessionMessage | Exception
Context: TypeAlias = ServerRequestContext[Any, Any]
T = TypeVar("T")

INSTRUCTIONS: Final = """\
honestone scores files and folders against a rubric and improves them until the rubric's gate is met.
- eval scores once. improve lets a worker of its own edit. step_next and step_submit make you the worker: do what each
  action says (`propose`: edit the file at `location` in place, then step_submit with its run and round; `judge`: have a
  fresh sub-agent answer the text in `prompt_file` and write `reply_file`, then step_submit with its run and reply) until
  the action is `done`. Do not judge your own work, and do not edit the rubric.
- exit_code: 0 passed, 1 did not pass, 2 wrong call, 3 could not be judged or undecided. A call that was cut off is resumed by the same
  call; what was paid for is not asked again.
- Paths are relative to the workspace. Commands (`cmd:`, `script:`, checks that run code) need a server that a person
  started with --allow-commands.
"""
_RUN: Final = "honestone://runs/{run}/report"
_RUBRIC: Final = "honestone://rubrics/{+path}"
_CODEX: Final = "x-codex-turn-metadata"
_ROOTS_SECONDS: Final = 5


class _Failed(Struct, frozen=True, kw_only=True):
    """Why a call has no answer, in the words of the command."""

    words: str
    exit_code: int

    @property
    def structured(self) -> dict[str, object]:
        return {"error": self.words, "exit_code": self.exit_code}


class _Heard(Quiet):
    """Passes on what a use case says while it works."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say

    def note(self, text: str) -> None:
        self._say(text)

    def progress(self, done: int, total: int, doing: str) -> None:
        self._say(f"{done}/{total} {doing}" if total else doing)


class _Door:
    """The handlers. `bounds` are those of the command line; a client's roots make them narrower,
    call by call.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._asks_roots = True
        self._working: set[Stopper] = set()

    async def stop(self) -> None:
        """End what is under way, with its programs."""
        while self._working:
            for stopper in self._working:
                stopper.set()
            await anyio.sleep(0.02)

    def server(self) -> Server[Any]:
        return Server(
            "honestone",
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    async def _list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools = [
            types.Tool(
                name=name,
                description=tool.description,
                input_schema=tool.schema,
                annotations=types.ToolAnnotations(
                    read_only_hint=tool.reads, open_world_hint=not tool.reads
                ),
            )
            for name, tool in TOOLS.items()
        ]
        return types.ListToolsResult(tools=tools)

    async def _call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        found = await self._work(
            ctx, lambda call: find_tool(params.name).call(call, params.arguments or {})
        )
        content: list[types.ContentBlock] = [types.TextContent(text=found.words)]
        failed = (
            isinstance(found, _Failed) and found.exit_code != 3
        )  # what cannot be judged is a result
        return types.CallToolResult(
            content=content, structured_content=found.structured, is_error=failed
        )

    async def _list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        found = await self._work(
            ctx, lambda call: [one.info for one in list_runs(call.workspace, limit=20)]
        )
        runs = [] if isinstance(found, _Failed) else [run for run in found if run.kind != "stages"]
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=_RUN.replace("{run}", run.id),
                    name=f"{run.kind} {line(run.subject)}: {run.result or 'unfinished'}",
                    mime_type="text/markdown",
                )
                for run in runs
            ]
        )

    async def _list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=_RUN, name="The report of a run", mime_type="text/markdown"
                ),
                types.ResourceTemplate(
                    uri_template=_RUBRIC, name="A rubric of the workspace", mime_type="text/plain"
                ),
            ]
        )

    async def _read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        read: Callable[[Workspace, str], str]
        if run := re.fullmatch(r"honestone://runs/([^/]+)/report", uri):
            read, kind, name = report_text, "text/markdown", run[1]
        elif rubric := re.fullmatch(r"honestone://rubrics/(.+)", uri, re.DOTALL):
            read, kind, name = rubric_text, "text/plain", rubric[1]
        else:
            raise MCPError(types.INVALID_PARAMS, f"the resources are {_RUN} and {_RUBRIC}")
        found = await self._work(ctx, lambda call: read(call.workspace, urllib.parse.unquote(name)))
        if isinstance(found, _Failed):
            raise MCPError(types.INVALID_PARAMS, found.words)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=kind, text=found)]
        )

    async def _work(self, ctx: Context, work: Callable[[Call], T]) -> T | _Failed:
        """Do it in a thread, and tell the client how far it is. When the call is cancelled, the
        work is stopped, and only then does this return.
        """
        bounds, session = await self._narrowed(ctx), _session(ctx)
        stopper, loop = Stopper(), asyncio.get_running_loop()
        send, receive = anyio.create_memory_object_stream[str](math.inf)

        def in_thread() -> T | _Failed:
            STOPPER.set(stopper)
            observer = _Heard(
                lambda text: loop.call_soon_threadsafe(partial(send.send_nowait, text))
            )
            try:
                with reading_within(bounds.roots):
                    folder = bounds.roots[0] if bounds.roots else self._bounds.roots[0]
                    workspace = Workspace.at(folder, bounds=bounds)
                    return work(Call(workspace=workspace, observer=observer, session=session))
            except HonestoneError as error:
                return _Failed(words=error_text(error), exit_code=error.exit_code)
            except OSError as error:
                return _Failed(words=system_error_text(error), exit_code=2)
            except Exception as error:
                traceback.print_exc(file=sys.stderr)
                return _Failed(
                    words=f"internal error: {type(error).__name__}: {error}"[:300], exit_code=70
                )

        async def stop_with_the_call() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                stopper.set()

        async def tell() -> None:
            count = 0
            async for text in receive:
                count += 1
                await ctx.session.report_progress(count, message=line(text)[:300])

        self._working.add(stopper)
        try:
            async with anyio.create_task_group() as watching:
                watching.start_soon(stop_with_the_call)
                async with anyio.create_task_group() as telling, send:
                    telling.start_soon(tell)
                    found = await anyio.to_thread.run_sync(
                        in_thread
                    )  # also when cancelled, it waits for the thread
                watching.cancel_scope.cancel()
        finally:
            self._working.remove(stopper)
        return found

    async def _narrowed(self, ctx: Context) -> Bounds:
        """Our roots as far as they are in the client's. No root of the client's says nothing."""
        theirs = await self._roots_of(ctx)
        if not theirs:
            return self._bounds
        return replace(self._bounds, roots=tuple(_overlap(self._bounds.roots, theirs)))

    async def _roots_of(self, ctx: Context) -> list[Path]:
        can = ctx.session.client_capabilities
        if (
            not self._asks_roots
            or can is None
            or can.roots is None
            or not ctx.session.can_send_request
        ):
            return []
        self._asks_roots = False  # once is enough where it is not answered
        with anyio.move_on_after(_ROOTS_SECONDS):
            try:
                found = await ctx.session.send_request(
                    types.ListRootsRequest(), types.ListRootsResult
                )
            except MCPError:
                return []
            self._asks_roots = True
            return [
                Path(urllib.parse.unquote(urllib.parse.urlsplit(str(one.uri)).path)).resolve()
                for one in found.roots
            ]
        return []


def _overlap(ours: Sequence[Path], theirs: Sequence[Path]) -> list[Path]:
    """The inner one of each two folders of which one is in the other."""
    pairs = [(a, b) for a in ours for b in theirs]
    return [
        a if a.is_relative_to(b) else b
        for a, b in pairs
        if a.is_relative_to(b) or b.is_relative_to(a)
    ]


def _session(ctx: Context) -> str | None:
    """The session that the host works for: from the environment that it gave us, or from what it
    says with the call.
    """
    found = next((os.environ[name] for name in SESSION_VARIABLES if os.environ.get(name)), None)
    named: object = (ctx.meta or {}).get(_CODEX)
    if found is None and isinstance(named, str):
        try:
            named = json.loads(named)
        except ValueError:
            return None
    match named:
        case {"thread_id": str(id)} | {"session_id": str(id)} if found is None:
            return id
    return found


# In JSON, from the left: a whole surrogate pair, half of one, any other escape.
_ESCAPE: Final = late_pattern(
    r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u[dD][89a-fA-F][\da-fA-F]{2})|\\."
)


def _with_whole_characters(text: str) -> str:
    """Half of a surrogate pair becomes the character that stands for one that cannot be shown."""
    return _ESCAPE.sub(lambda match: "\\ufffd" if match[1] else match[0], text)


def _readable(received: _Received) -> _Received:
    """The SDK reads no JSON with half of a surrogate pair, and would leave the call unanswered."""
    if not isinstance(received, ValidationError):
        return received
    text = received.errors()[0]["input"]
    if not isinstance(text, str):
        return received
    try:
        message = types.jsonrpc_message_adapter.validate_json(
            _with_whole_characters(text), by_name=False
        )
    except ValidationError:
        return received
    return SessionMessage(message)


async def _pass_on(
    lines: ObjectReceiveStream[_Received], send: ObjectSendStream[_Received]
) -> None:
    async with send:
        async for received in lines:
            await send.send(_readable(received))


def serve(roots: Sequence[Path], *, allow_commands: bool) -> None:
    """ToolAnswer on stdin and stdout until stdin ends, or a signal does. Without `roots` the
    working directory is the one.
    """
    bounds = Bounds(
        roots=tuple(root.resolve() for root in roots or (Path(),)), commands=allow_commands
    )
    anyio.run(_serve, _Door(bounds))


async def _serve(door: _Door) -> None:
    async def end_by_signal() -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for number in signals:
                await door.stop()
                os._exit(
                    128 + number
                )  # a thread waits for the next line of stdin, and nothing ends that

    server = door.server()
    async with anyio.create_task_group() as group:
        group.start_soon(end_by_signal)
        async with stdio_server() as (lines, write):
            send, read = anyio.create_memory_object_stream[_Received](0)
            group.start_soon(_pass_on, lines, send)
            await server.run(read, write, server.create_initialization_options())
        group.cancel_scope.cancel()
