"""`honestone agent install`, `uninstall` and `status`: the skill, the hooks and the MCP server in
the agents' own files.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from honestone.app.agents import file_changes, host_files
from honestone.app.agents.holds import alone_in
from honestone.app.agents.hosts import HOSTS, NAME, Host, Scope
from honestone.core.errors import FileError, UsageError

TRUST: Final = "Codex runs the hooks only once you trust them: start codex here and type /hooks (the project has to be trusted)"
APPROVE: Final = (
    'without a person to ask, Codex calls the MCP tools only with default_tools_approval_mode = "approve" in '
    "[mcp_servers.honestone] of config.toml"
)


class InstallRequest(Struct, frozen=True, kw_only=True):
    """`agents` are names of hosts; `command` calls honestone (None: as installed before, else
    `honestone`).
    """

    agents: Sequence[str]
    scope: Scope
    mcp: bool = False
    command: str | None = None
    dry_run: bool = False
    force: bool = False


class Installed(Struct, frozen=True, kw_only=True):
    """The files that were written or removed, or would be; `notes` say what the person should know."""

    files: tuple[str, ...]
    notes: tuple[str, ...]


class FileState(Struct, frozen=True, kw_only=True):
    path: str
    state: Literal["ok", "missing", "changed"]


class AgentState(Struct, frozen=True, kw_only=True):
    """`cli` is where the agent's own program is, None where it is not on PATH."""

    agent: str
    scope: str
    installed: bool
    cli: str | None
    files: tuple[FileState, ...]
    notes: tuple[str, ...]


def agents_on_path() -> tuple[str, ...]:
    """The agents whose program is there. Raises UsageError when there are none."""
    found = tuple(name for name in HOSTS if shutil.which(name))
    if not found:
        hint = f"name the agents: --agent {' --agent '.join(HOSTS)}"
        raise UsageError(f"none of {', '.join(HOSTS)} is on PATH", hint=hint)
    return found


def install(request: InstallRequest) -> Installed:
    """Raises FileError, before anything is written, for settings that cannot be read and for what
    is not ours.
    """
    _require_words(request.command)
    hosts = [HOSTS[name] for name in request.agents]
    with alone_in(request.scope.base):
        edits = _Edits(request.scope)
        for host in hosts:
            command = request.command or edits.command(host) or NAME
            for named, file in host_files.host_files(host, servers=request.mcp):
                edits.put(named, file, command, force=request.force)
        known, edits.record.command = edits.record.command, request.command or edits.record.command
        if not request.dry_run and (
            edits.changes or edits.record.unfinished or edits.record.command != known
        ):
            edits.carry_out()
            edits.record.unfinished = False
            file_changes.save_record(request.scope.base, edits.record)
        notes = [note for host in hosts for note in edits.notes(host)]
    return Installed(files=edits.shown, notes=tuple(dict.fromkeys(notes)))


def _require_words(command: str | None) -> None:
    try:
        words = command is None or (command.isprintable() and shlex.split(command))
    except ValueError:
        words = []
    if not words:
        raise UsageError(
            f"--command {command!r} is not a command", hint="name a program, with quotes in pairs"
        )


def uninstall(request: InstallRequest) -> Installed:
    """Takes out what is ours, and leaves what the person made of it since. Raises FileError before
    anything is written.
    """
    hosts = [HOSTS[name] for name in request.agents]
    others = [host for host in HOSTS.values() if host not in hosts]
    with alone_in(request.scope.base):
        edits = _Edits(request.scope)
        shared = {host.skill for host in others if edits.command(host)}
        for host in hosts:
            for named, file in host_files.host_files(host):
                if named not in shared:
                    edits.take(named, file, force=request.force)
        if not request.dry_run and (edits.changes or edits.is_recorded):
            edits.carry_out()
            _close_record(request.scope.base, edits)
    return Installed(files=edits.shown, notes=tuple(edits.left_alone))


def _close_record(base: Path, edits: _Edits) -> None:
    record = edits.record
    record.unfinished = False
    record.files = {
        file: notes
        for file, notes in record.files.items()
        if file not in edits.taken or notes.replaced is not None
    }
    if record.files:
        file_changes.save_record(base, record)
    else:
        file_changes.remove_record(base)
    file_changes.remove_empty(record.folders)


def agent_states(agents: Iterable[str], scopes: Sequence[Scope]) -> list[AgentState]:
    """How each agent is in each scope. Changes nothing."""
    return [_state(HOSTS[name], _Edits(scope)) for name in agents for scope in scopes]


def _state(host: Host, edits: _Edits) -> AgentState:
    states: dict[str, Literal["ok", "missing", "changed"]] = {}
    notes: list[str] = []
    try:
        command = edits.command(host) or NAME
        for named, file in host_files.host_files(host):
            text, shown = edits.text(named), edits.scope.shown(named)
            is_there = text is not None and (
                isinstance(file, host_files.OwnFile) or file.command(text) is not None
            )
            if is_there and not host_files.is_current(file, text or "", command):
                states[shown] = "changed"
            elif is_there:
                states.setdefault(shown, "ok")
            elif not isinstance(file, host_files.ServerSettings):
                states[shown] = "missing"
        notes += edits.notes(host)
    except (FileError, ValueError) as error:
        notes.append(str(error))
        states[edits.scope.shown(host.hooks)] = "changed"
    return AgentState(
        agent=host.name,
        scope="user" if edits.scope.user else "project",
        installed="missing" not in states.values() and len(states) > 1,
        cli=shutil.which(host.name),
        files=tuple(FileState(path=path, state=state) for path, state in states.items()),
        notes=tuple(notes),
    )


# ---------------------------------------------------------------------------------------------------
# edits in memory


class _Draft(Struct):
    """A file by its real path, and the name it has in the table: as it is on disk, and as it is to
    be.
    """

    key: str
    named: str
    before: bytes | None
    text: str | None

    @property
    def after(self) -> bytes | None:
        return None if self.text is None else self.text.encode()


class _Edits:
    """The files of one scope with what is to be done to them, and the record of what was done
    before.
    """

    def __init__(self, scope: Scope) -> None:
        found = file_changes.load_record(scope.base)
        self.scope, self.record, self.is_recorded = (
            scope,
            found or file_changes.InstallRecord(),
            found is not None,
        )
        self.left_alone: list[str] = []
        """Notes on what `uninstall` leaves."""
        self.taken: set[str] = set()
        """Files that `uninstall` looked at."""
        self._drafts: dict[Path, _Draft] = {}

    def text(self, named: str) -> str | None:
        """The text that the file will have. Raises FileError for what cannot be read, and for a
        link that leads out of a project.
        """
        return self._draft(named).text

    def command(self, host: Host) -> str | None:
        """What calls honestone in the settings of a host; None when it is not installed there."""
        for named, file in host_files.host_files(host):
            if not isinstance(file, host_files.OwnFile) and (found := self._asked(named, file)):
                return found
        return None

    def put(self, named: str, file: host_files.HostFile, command: str, *, force: bool) -> None:
        draft, shown = self._draft(named), self.scope.shown(named)
        notes = self._notes_of(draft, file)
        try:
            with _readable(shown):
                draft.text = file.put(draft.text, command, notes, force=force)
        except host_files.NotOurs as error:
            hint = (
                "--force replaces it, and uninstall gives it back"
                if isinstance(file, host_files.OwnFile)
                else "rename it first"
            )
            raise FileError(
                f"{shown!r} {error}, so it was left alone and nothing was written", hint=hint
            ) from None

    def take(self, named: str, file: host_files.HostFile, *, force: bool) -> None:
        draft, shown = self._draft(named), self.scope.shown(named)
        self.taken.add(draft.key)
        if draft.text is None or not self._asked(named, file):
            return
        before = draft.text
        with _readable(shown):
            draft.text = file.take(before, self._notes_of(draft, file), force=force)
        if draft.text == before:
            self.left_alone.append(f"{shown} was edited, so it stays; uninstall --force removes it")

    def notes(self, host: Host) -> Iterator[str]:
        """What the person should know of a host as it is to be."""
        command = self.command(host)
        if command is None:
            return
        program = shlex.split(command)[0]
        if not shutil.which(program):
            yield f"{program} is not on PATH, where {host.name} will look for it; --command names another"
        if host.name == "codex":
            yield TRUST
            if host_files.ServerSettings(is_toml=True).command(self.text(host.servers)):
                yield APPROVE

    @property
    def changes(self) -> list[file_changes.FileChange]:
        return [
            file_changes.FileChange(path=path, before=draft.before, after=draft.after)
            for path, draft in self._drafts.items()
            if draft.before != draft.after
        ]

    @property
    def shown(self) -> tuple[str, ...]:
        """The files that change."""
        drafts = (self._drafts[change.path] for change in self.changes)
        return tuple(sorted(self.scope.shown(draft.named) for draft in drafts))

    def carry_out(self) -> None:
        """All changes or none; the record says so first."""
        base, old = self.scope.base, file_changes.load_record(self.scope.base)
        paths = [change.path for change in self.changes]
        if self.record.unfinished:
            file_changes.remove_halves([*paths, *map(Path, self.record.files)])
        self.record.unfinished = True
        self.record.folders |= file_changes.missing_folders(*paths)
        if old is None:
            removed = (change.path for change in self.changes if change.after is None)
            self.record.folders |= {
                str(one) for path in removed for one in path.parents if base in one.parents
            }
        file_changes.save_record(base, self.record)
        try:
            file_changes.make_changes(self.changes, private=self.scope.user)
        except BaseException:
            if old:
                file_changes.save_record(base, old)
            else:
                file_changes.remove_record(base)
                file_changes.remove_empty(self.record.folders)
            raise

    def _draft(self, named: str) -> _Draft:
        path, shown = Path(os.path.realpath(self.scope.path(named))), self.scope.shown(named)
        if path not in self._drafts:
            inside = (
                path.is_relative_to(self.scope.base)
                and ".git" not in path.relative_to(self.scope.base).parts
            )
            if not self.scope.user and not inside:
                raise FileError(
                    f"{shown!r} leads out of the project by a link",
                    hint="remove the link, or install with --user",
                )
            with _readable(shown):
                before = path.read_bytes() if path.exists() else None
                self._drafts[path] = _Draft(
                    str(path), named, before, None if before is None else before.decode()
                )
        return self._drafts[path]

    def _notes_of(self, draft: _Draft, file: host_files.HostFile) -> file_changes.FileNotes:
        """Without a record, what is empty in a file that holds ours is taken for ours too."""
        if draft.key not in self.record.files:
            ours = draft.text is not None and file.command(draft.text) is not None
            self.record.files[draft.key] = file_changes.FileNotes(
                made=set(host_files.MAY_BE_MADE) if ours else set()
            )
        return self.record.files[draft.key]

    def _asked(self, named: str, file: host_files.HostFile) -> str | None:
        with _readable(self.scope.shown(named)):
            return file.command(self.text(named))


@contextmanager
def _readable(shown: str) -> Iterator[None]:
    """Raises FileError, naming the file, for one that cannot be read or edited."""
    try:
        yield
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise FileError(
            f"cannot edit {shown!r}: {why}", hint="nothing was written; correct the file first"
        ) from None
