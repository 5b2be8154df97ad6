"""What a checkout may contact and run: said before the first call, and trusted by a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.formats.settings import read_settings
from honestone.system.trust import Trust, host_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Trusted:
    """`files` are those of the checkout that the settings name; `is_trusted` says how it is now."""

    file: Path
    files: tuple[Path, ...]
    digest: str
    is_trusted: bool


def trust(workspace: Workspace, named: Path | None, *, revoke: bool) -> Trusted:
    """Trusts settings as they are now, or no longer. Raises UsageError where there are none, SettingsError for broken ones."""
    settings = workspace.settings if named is None else read_settings(workspace.path(named))
    if settings.file is None:
        raise UsageError("no honestone.toml was found here or above", hint="honestone trust FILE names one")
    found = Trust(settings.file, settings.words)
    if revoke:
        found.revoke()
    else:
        found.grant()
    return Trusted(file=found.file, files=tuple(found.named), digest=found.digest, is_trusted=found.holds)


def contacts(workspace: Workspace, used: Iterable[tuple[str, Mapping[str, object]]]) -> list[str]:
    """In one line: the hosts that these judges, workers and targets contact (names with their identities), and the
    programs of the settings that they run. Nothing where there are none."""
    settings, hosts, programs = workspace.settings, [], []
    for name, identity in used:
        hosts += [host_of(url) for url in _addresses(identity)]
        for table in (settings.judges, settings.workers, settings.targets):
            command = (table.get(name.partition("#")[0]) or {}).get("command")
            if command:
                programs.append(command if isinstance(command, str) else " ".join(map(str, command)))
    parts = [f"contacts {', '.join(dict.fromkeys(hosts))}"] if hosts else []
    parts += [f"runs {', '.join(dict.fromkeys(programs))} of the settings"] if programs else []
    return ["; ".join(parts)] if parts else []


def _addresses(identity: object) -> Iterator[str]:
    if isinstance(identity, Mapping):
        for key, value in identity.items():
            if key in ("base_url", "url") and isinstance(value, str):
                yield value
            else:
                yield from _addresses(value)
