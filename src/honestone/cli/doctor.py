"""`honestone doctor`: which judges, workers and targets can run here, and what to type to get the rest. Costs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone import __version__
from honestone.adapters.registry import CLIS, DEFAULT_MODELS
from honestone.app.setup import settings_here, store_folder
from honestone.cli import options as shared
from honestone.cli.printing import dump, write
from honestone.core.errors import HonestoneError

if TYPE_CHECKING:
    from honestone.formats.settings import Settings

SCHEMA = "honestone.doctor/1"
APIS = ("openai", "anthropic", "google", "ollama")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing that can judge or work. `hint` says what to type where it is not ready."""

    name: str
    ready: bool
    found: str
    version: str | None = None
    auth: str | None = None
    hint: str | None = None
    family: str | None = None


@click.command("doctor", short_help="Which judges, workers and targets can run here.")
@shared.json_option
def doctor(as_json: bool) -> int:
    """Which judges, workers and targets can run here, and how to get the rest. Spends no call."""
    settings = settings_here()
    models = survey(settings, settings.judges)
    workers = [*[row for row in models if row.name in CLIS or row.name in APIS], *_named(settings.workers)]
    always = {
        "judges": ["script:COMMAND", "cmd:COMMAND", "record:FILE", "human", "mock"],
        "workers": ["cmd:COMMAND", "fix", "human"],
        "targets": ["identity", "cmd:COMMAND", "python:MODULE:FUNCTION", "http://ADDRESS", "record:FILE", "mock"],
    }
    sandbox = _sandbox()
    if as_json:
        document = {
            "schema": SCHEMA,
            "version": __version__,
            "judges": [asdict(row) for row in models],
            "workers": [asdict(row) for row in workers],
            "always": always,
            "sandbox": sandbox,
            "store": str(store_folder(settings)),
            "settings": str(settings.folder) if settings.folder else None,
        }
        write(dump(document) + "\n")
        return 0
    _print(models, _named(settings.workers), always, sandbox, settings)
    return 0


def survey(settings: Settings, named: Any) -> list[Row]:
    """Every named judge, agent CLI and provider, looked at in parallel and bounded in time."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        clis = [pool.submit(_cli_row, name) for name in CLIS]
        apis = [pool.submit(_api_row, name) for name in APIS]
        own = [pool.submit(_named_row, name, entry) for name, entry in named.items()]
        return [future.result() for future in (*own, *clis, *apis)]


def _named(entries: Any) -> list[Row]:
    return [_named_row(name, entry) for name, entry in entries.items()]


def _cli_row(name: str, *, provider: str | None = None, command: Any = None, api_key_env: str | None = None) -> Row:
    from honestone.adapters.agent_clis.detect import detect

    kind = provider or name
    status = detect(kind, command=command, api_key_env=api_key_env)
    found = "not installed" if status.found is None else f"{status.found}"
    signed = {"login": "logged in", "key": "key set"}.get(status.auth or "", "not signed in")
    if status.found is not None:
        found = f"{signed} ({found})"
    ready = status.found is not None and status.auth is not None
    return Row(
        name=name,
        ready=ready,
        found=found,
        version=status.version,
        auth=status.auth,
        hint=None if ready else status.hint,
        family=FAMILIES.get(kind),
    )


def _api_row(
    name: str, *, provider: str | None = None, base_url: str | None = None, api_key_env: str | None = None
) -> Row:
    from honestone.adapters.models.catalog import family_of, probe

    kind = provider or name
    try:
        look = asyncio.run(probe(kind, base_url=base_url, api_key_env=api_key_env))
    except HonestoneError as error:
        return Row(name=name, ready=False, found=error.message, hint=error.hint)
    return Row(name=name, ready=look.ready, found=look.what, hint=look.hint or None, family=family_of(kind))


def _named_row(name: str, entry: Any) -> Row:
    provider = entry.get("provider", "cli")
    if provider in CLIS:
        return _cli_row(name, provider=provider, command=entry.get("command"), api_key_env=entry.get("api_key_env"))
    if provider == "cli":
        return Row(name=name, ready=True, found="a command of your settings")
    return _api_row(name, provider=provider, base_url=entry.get("base_url"), api_key_env=entry.get("api_key_env"))


FAMILIES = {"codex": "openai", "claude": "anthropic", "gemini": "google"}


def ready_judges(settings: Settings, *, limit: int) -> tuple[str, ...]:
    """The judges of a panel that nobody named: those that are ready, of different families, in this order: named in
    settings, agent CLIs, APIs with a key."""
    chosen: list[str] = []
    families: set[str] = set()
    for row in survey(settings, settings.judges):
        spec = row.name if row.name in settings.judges or row.name in CLIS else DEFAULT_MODELS.get(row.name)
        family = row.family or row.name
        if row.ready and spec is not None and family not in families:
            chosen.append(spec)
            families.add(family)
    return tuple(chosen[:limit])


def _sandbox() -> str:
    from honestone.system.sandbox import Sandbox

    return Sandbox.choose("auto").name


def _print(judges: list[Row], workers: list[Row], always: Any, sandbox: str, settings: Settings) -> None:
    from honestone.report.draw import clean

    write("Judges and workers\n")
    write("".join(_lines(judges)))
    if workers:
        write("\nWorkers named in settings\n" + "".join(_lines(workers)))
    write("\nAlways here\n")
    for what, names in always.items():
        write(f"  {what:<8} {', '.join(names)}\n")
    box = (
        "bubblewrap"
        if sandbox == "bwrap"
        else "none: checks that run code see this machine (apt-get install bubblewrap)"
    )
    write(f"\nSandbox    {box}\nStore      {clean(shown(store_folder(settings)))}\n")
    where = clean(shown(settings.folder / "honestone.toml")) if settings.folder else "none (honestone init writes one)"
    write(f"Settings   {where}\n")


def shown(path: Path) -> str:
    from honestone.app.setup import shown_path

    return shown_path(path)


def _lines(rows: Iterable[Row]) -> Iterable[str]:
    from honestone.report.draw import clean

    for row in rows:
        mark = "ready" if row.ready else "-"
        version = f" {row.version}" if row.version else ""
        yield f"  {clean(row.name):<12} {mark:<6} {clean(row.found)}{clean(version)}\n"
        if not row.ready and row.hint:
            yield f"  {'':<12} {'':<6} get it: {clean(row.hint)}\n"
