"""The files of a coding agent with what is ours in them: put in, taken out, and compared with what
would be put in.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from typing import Final, Protocol

from msgspec import Struct

from honestone.app.agents.file_changes import FileNotes
from honestone.app.agents.hosts import NAME, Host
from honestone.core.json_value import Json, late_pattern, member, members
from honestone.formats.syntax.json_edit import JsonPath, cut_out, put_in, read_object
from honestone.formats.syntax.toml_edit import cut_table, put_table, read_table
from honestone.templates import agent_text

_SECONDS: Final = 10
_JSON_SERVER: Final = ("mcpServers", NAME)
_TOML_SERVER: Final = ("mcp_servers", NAME)
_CONTAINERS: Final = ("hooks.SessionStart", "hooks.AfterAgent", "hooks.Stop", "mcpServers", "hooks")
# What we may have made in a file that nothing is on record about; "" is the file.
MAY_BE_MADE: Final = frozenset({"", *_CONTAINERS})


class NotOurs(Exception):
    """Something of our name is there that we did not write, or that was edited."""


class HostFile(Protocol):
    """What we do to one file. A text is None where no file exists. Raises ValueError for what
    cannot be read.
    """

    def command(self, text: str | None) -> str | None:
        """What calls honestone in what is ours; None when nothing is ours."""

    def put(self, text: str | None, command: str, notes: FileNotes, *, force: bool) -> str:
        """Add our part, in place of an older one; without a change where it is there already.
        Raises NotOurs.
        """

    def take(self, text: str, notes: FileNotes, *, force: bool) -> str | None:
        """Remove our part."""


def is_current(file: HostFile, text: str, command: str) -> bool:
    """Whether it holds what would be put in."""
    try:
        return file.put(text, command, FileNotes(), force=False) == text
    except NotOurs:
        return False


def host_files(host: Host, *, servers: bool = True) -> Iterator[tuple[str, HostFile]]:
    """The files of a host, each with its path in the table."""
    yield host.skill, OwnFile("SKILL.md")
    if host.command_file:
        yield host.command_file, OwnFile("command.toml")
    yield host.hooks, HookSettings(host)
    if servers:
        yield host.servers, ServerSettings(is_toml=host.servers.endswith(".toml"))


# ------------------------------------------------------------------------------------------------
# files of our own

_STAMP: Final = late_pattern(r"honestone agent install ([0-9a-f]{12})")
_BLANK: Final = "0" * 12


class OwnFile(Struct, frozen=True):
    """A file that is ours alone. It holds a digest of itself, and so is known again in any version
    until somebody edits it.
    """

    template: str

    def text(self, command: str = NAME) -> str:
        text = agent_text(self.template).replace("{{command}}", command)
        return text.replace(_BLANK, _digest(text))

    def command(self, text: str | None) -> str | None:
        return NAME if text is not None and _STAMP.search(text) else None

    def put(self, text: str | None, command: str, notes: FileNotes, *, force: bool) -> str:
        if text is not None and text != self.text(command) and not _is_untouched(text):
            if not force:
                raise NotOurs(
                    "was edited" if self.command(text) else "was not written by honestone"
                )
            notes.replaced = text if notes.replaced is None else notes.replaced
        return self.text(command)

    def take(self, text: str, notes: FileNotes, *, force: bool) -> str | None:
        if not _is_untouched(text) and not (force and self.command(text)):
            return text
        given_back, notes.replaced = notes.replaced, None
        return given_back


def _is_untouched(text: str) -> bool:
    stamp = _STAMP.search(text)
    return stamp is not None and _digest(text.replace(stamp[1], _BLANK)) == stamp[1]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# --------------------------------------------------------------------------------------- settings
# that others share

_HOOK: Final = late_pattern(r"(.+) agent hook (?:stop|session-start)")


def hook_groups(host: Host, command: str) -> dict[str, dict[str, list[Json]]]:
    """What is added to each event of a host."""
    limit = _SECONDS * host.second
    verbs = {host.stop: "stop", "SessionStart": "session-start"}
    return {
        event: {
            "hooks": [
                {"type": "command", "command": f"{command} agent hook {verb}", "timeout": limit}
            ]
        }
        for event, verb in verbs.items()
    }


def server(command: str) -> dict[str, str | list[str]]:
    """The settings of our MCP server."""
    first, *more = shlex.split(command)
    return {"command": first, "args": [*more, "mcp"]}


class HookSettings(Struct, frozen=True):
    """Settings with hooks: of ours, one for each of two events. Whatever calls `agent hook` is
    ours.
    """

    host: Host

    def command(self, text: str | None) -> str | None:
        return next((found.command for found in _hooks(text)), None)

    def put(self, text: str | None, command: str, notes: FileNotes, *, force: bool) -> str:
        groups = hook_groups(self.host, command)
        found = [(each.event, each.handler) for each in _hooks(text)]
        wanted = [(event, handler) for event, group in groups.items() for handler in group["hooks"]]
        if text is not None and len(found) == len(wanted) and all(each in found for each in wanted):
            return text
        new = _without_hooks(text or "{}\n")
        for event, group in groups.items():
            new = _put(new, ("hooks", event), group, notes, append=True)
        return _new_file(new, notes) if text is None else new

    def take(self, text: str, notes: FileNotes, *, force: bool) -> str | None:
        return _cleared(_without_hooks(text), notes) if self.command(text) else text


class _FoundHook(Struct, frozen=True):
    """A handler of ours: `path` leads to it, or to its group when the group holds no other."""

    event: str
    path: JsonPath
    handler: Json
    command: str


def _hooks(text: str | None) -> Iterator[_FoundHook]:
    for event, groups in members(None if text is None else read_object(text).get("hooks")):
        for number, group in enumerate(_list(groups)):
            handlers = _list(member(group, "hooks"))
            ours = {
                at: match[1] for at, handler in enumerate(handlers) if (match := _called(handler))
            }
            path: JsonPath = ("hooks", event, number)
            for at, command in ours.items():
                place = path if len(ours) == len(handlers) else (*path, "hooks", at)
                yield _FoundHook(event, place, handlers[at], command)


def _called(handler: Json) -> re.Match[str] | None:
    command = member(handler, "command")
    return _HOOK.fullmatch(command) if isinstance(command, str) else None


def _without_hooks(text: str) -> str:
    for path in reversed(dict.fromkeys(found.path for found in _hooks(text))):
        text = cut_out(text, path)
    return text


class ServerSettings(Struct, frozen=True):
    """Settings with our MCP server: the member `mcpServers.honestone` of JSON, which keeps what the
    person adds to it, or the table `mcp_servers.honestone` of TOML.
    """

    is_toml: bool

    def command(self, text: str | None) -> str | None:
        return _server_command(self._found(text))

    def put(self, text: str | None, command: str, notes: FileNotes, *, force: bool) -> str:
        found, wanted = self._found(text), server(command)
        if found is not None:
            if _server_command(found) is None:
                raise NotOurs("has an MCP server called honestone that is another one")
            if {**dict(members(found)), **wanted} == found:
                return text or ""
        new = text or ("" if self.is_toml else "{}\n")
        new = self._cut(new) if found is not None else new
        if not self.is_toml:
            new = _put(new, _JSON_SERVER, {**dict(members(found)), **wanted}, notes, append=False)
            return _new_file(new, notes) if text is None else new
        notes.made |= {""} if text is None else set()
        return put_table(new, *_TOML_SERVER, wanted)

    def take(self, text: str, notes: FileNotes, *, force: bool) -> str | None:
        if not self.command(text):
            return text
        rest = self._cut(text)
        if not self.is_toml:
            return _cleared(rest, notes)
        is_ours_alone = not rest.strip() and "" in notes.made
        return None if is_ours_alone else rest

    def _found(self, text: str | None) -> Json:
        if self.is_toml:
            return read_table(text or "", *_TOML_SERVER)
        return None if text is None else member(read_object(text).get("mcpServers"), NAME)

    def _cut(self, text: str) -> str:
        return cut_table(text, *_TOML_SERVER) if self.is_toml else cut_out(text, _JSON_SERVER)


def _server_command(table: Json) -> str | None:
    command, args = member(table, "command"), _list(member(table, "args"))
    if isinstance(command, str) and args[-1:] == ["mcp"]:
        return shlex.join([command, *map(str, args[:-1])])
    return None


def _put(text: str, path: tuple[str, ...], value: Json, notes: FileNotes, *, append: bool) -> str:
    new, made = put_in(text, path, value, append=append)
    notes.made |= {".".join(map(str, each)) for each in made}
    return new


def _new_file(text: str, notes: FileNotes) -> str:
    notes.made.add("")
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def _cleared(text: str, notes: FileNotes) -> str | None:
    """Remove what this program made and that is empty now."""
    for container in _CONTAINERS:
        path = tuple(container.split("."))
        value: Json = read_object(text)
        for key in path:
            value = member(value, key)
        if container in notes.made and value in ({}, []):
            text = cut_out(text, path)
    return None if "" in notes.made and not read_object(text) else text


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
