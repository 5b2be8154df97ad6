"""Which judges, workers and targets can run here, and what to type to get the rest. Costs no call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from honestone.adapters.context import CLIS, DEFAULT_MODELS
from honestone.adapters.keys import is_trusted, leaves
from honestone.adapters.machine import ThisMachine
from honestone.adapters.registry import JUDGES, TARGETS, WORKERS, always_there
from honestone.app.workspace import Workspace
from honestone.core.errors import HonestoneError
from honestone.core.judging.needs import KeyNeed, MachineNeeds
from honestone.core.judging.settings_tables import ModelTable
from honestone.core.plugins import EXTENSION_POINTS
from honestone.system.plugins import plugins
from honestone.system.processes.commands import program_from

if TYPE_CHECKING:
    from honestone.formats.settings import Settings

APIS: Final = ("openai", "anthropic", "google", "ollama")
# What needs no program, key or login.
ALWAYS: Final = {
    "judges": always_there(JUDGES),
    "workers": always_there(WORKERS),
    "targets": always_there(TARGETS),
}
FAMILIES: Final = {"codex": "openai", "claude": "anthropic", "gemini": "google"}


class Readiness(Struct, frozen=True, kw_only=True):
    """One thing that can judge or work. `hint` says what to type where it is not ready."""

    name: str
    ready: bool
    found: str
    version: str | None = None
    auth: str | None = None
    hint: str | None = None
    family: str | None = None


class ReadinessReport(Struct, frozen=True, kw_only=True):
    """What `honestone doctor` prints. `named_workers` are those of the settings."""

    judges: tuple[Readiness, ...]
    named_workers: tuple[Readiness, ...]
    sandbox: str
    # Why it is not bubblewrap, or nothing.
    no_bubblewrap: str
    # What installed packages add, by kind of thing.
    added: Mapping[str, Sequence[str]]

    @property
    def workers(self) -> tuple[Readiness, ...]:
        found = (row for row in self.judges if row.name in CLIS or row.name in APIS)
        return (*found, *self.named_workers)


def look_around(workspace: Workspace) -> ReadinessReport:
    """Everything that is named in settings, every agent CLI and every provider; bounded in time."""
    from honestone.system.processes.sandbox import Sandbox, why_not_bubblewrap

    settings = workspace.settings
    return ReadinessReport(
        judges=tuple(survey(settings)),
        named_workers=tuple(
            _entry_readiness(name, entry, settings) for name, entry in settings.workers.items()
        ),
        sandbox=Sandbox.choose("auto").name,
        no_bubblewrap=why_not_bubblewrap(),
        added={
            point.group.removeprefix("honestone."): sorted(plugins(point))
            for point in EXTENSION_POINTS
            if plugins(point)
        },
    )


def survey(settings: Settings) -> list[Readiness]:
    """Every named judge, agent CLI and provider, looked at in parallel and bounded in time."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        clis = [pool.submit(_cli, name) for name in CLIS]
        apis = [pool.submit(_api, name) for name in APIS]
        own = [
            pool.submit(_entry_readiness, name, entry, settings)
            for name, entry in settings.judges.items()
        ]
        return [future.result() for future in (*own, *clis, *apis)]


def ready_judges(settings: Settings, *, limit: int) -> tuple[str, ...]:
    """The judges of a panel where none is named: those that are ready, of different families, in
    this order: named in settings, agent CLIs, APIs with a key.
    """
    return _panel_of(survey(settings), settings, limit)


def _panel_of(rows: list[Readiness], settings: Settings, limit: int) -> tuple[str, ...]:
    chosen: list[str] = []
    families: set[str] = set()
    for row in rows:
        spec = (
            row.name
            if row.name in settings.judges or row.name in CLIS
            else DEFAULT_MODELS.get(row.name)
        )
        family = row.family or row.name
        if row.ready and spec is not None and family not in families:
            chosen.append(spec)
            families.add(family)
    return tuple(chosen[:limit])


def _cli(
    name: str,
    *,
    provider: str | None = None,
    command: str | None = None,
    api_key_env: str | None = None,
) -> Readiness:
    from honestone.adapters.agent_clis.detect import detect

    kind = provider or name
    status = detect(kind, command=command, api_key_env=api_key_env)
    signed = {"login": "logged in", "key": "key set"}.get(status.auth or "", "not signed in")
    ready = status.found is not None and status.auth is not None
    return Readiness(
        name=name,
        ready=ready,
        found="not installed" if status.found is None else f"{signed} ({status.found})",
        version=status.version,
        auth=status.auth,
        hint=None if ready else status.hint,
        family=FAMILIES.get(kind),
    )


def _api(
    name: str,
    *,
    provider: str | None = None,
    base_url: str | None = None,
    api_key_env: str | None = None,
) -> Readiness:
    from honestone.adapters.models.catalog import family_of, probe

    kind = provider or name
    try:
        look = asyncio.run(probe(kind, base_url=base_url, api_key_env=api_key_env))
    except HonestoneError as error:
        return Readiness(name=name, ready=False, found=error.message, hint=error.hint)
    return Readiness(
        name=name, ready=look.ready, found=look.what, hint=look.hint or None, family=family_of(kind)
    )


def _entry_readiness(name: str, entry: ModelTable, settings: Settings) -> Readiness:
    if leaves(entry) and not is_trusted(settings):
        return Readiness(
            name=name,
            ready=False,
            found="not trusted: the settings name a program or a host of their own",
            hint="read them, then `honestone trust`; or name it with --judge",
        )
    provider = _text_setting(entry, "provider") or "cli"
    key, command = _text_setting(entry, "api_key_env"), _text_setting(entry, "command")
    if provider in CLIS:
        command = command and program_from(command, settings.here)
        return _cli(name, provider=provider, command=command, api_key_env=key)
    if provider == "cli":
        return _described(name, command, key, settings.here)
    return _api(name, provider=provider, base_url=_text_setting(entry, "base_url"), api_key_env=key)


def _described(name: str, command: str | None, key: str | None, here: Path) -> Readiness:
    """A CLI that the settings describe, by what it needs."""
    programs = (program_from(command.split()[0], here),) if command else ()
    needs = MachineNeeds(programs=programs, keys=(KeyNeed(variables=(key,)),) if key else ())
    missing = needs.missing(ThisMachine())
    return Readiness(
        name=name,
        ready=not missing,
        found="; ".join(one.what for one in missing) or "a command of your settings",
        hint=" and ".join(one.remedy for one in missing) or None,
    )


def _text_setting(entry: ModelTable, name: str) -> str | None:
    """A setting that is text; the program of a command that is a list."""
    value = entry.get(name)
    if isinstance(value, list):
        return str(value[0]) if value else None
    return None if value is None else str(value)
