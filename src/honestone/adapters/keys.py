"""Which settings may have a key. A table of a checkout is written by whoever wrote the checkout: it
gets the keys that it names, but not the standard ones, unless a person said so outside of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from honestone.adapters.agent_clis.base import KNOWN
from honestone.adapters.models.catalog import KEY_HOMES, PROVIDERS
from honestone.core.errors import SettingsError
from honestone.core.judging.settings_tables import ModelTable
from honestone.ports import Settings
from honestone.system.trust.trust import Trust, host_of, is_allowed, is_same_server


def is_trusted(settings: Settings) -> bool:
    """Whether a person trusted these settings as they are now."""
    return settings.file is None or Trust(settings.file, settings.words, settings.here).holds


def leaves(entry: ModelTable) -> bool:
    """Whether a table names a program to run or a host to contact."""
    return bool(entry.get("command") or entry.get("base_url"))


def keep_keys(
    name: str, entry: ModelTable, settings: Settings, allowed: Sequence[str]
) -> ModelTable:
    """The table as it may be used. Raises SettingsError where it asks a standard key (or a login)
    for another host than the key's own, or for a program, and no person allowed that.
    """
    known, provider = entry.copy(), str(entry.get("provider", "cli"))
    url, variable = str(entry.get("base_url") or ""), entry.get("api_key_env")
    program, login = entry.get("command"), f"the login of {provider}"
    is_other = bool(url) and not is_allowed(url, allowed)
    if not (is_other or program or variable) or is_trusted(settings):
        return known
    asked = [str(variable)] if variable else []
    if variable is None and provider in KNOWN:
        asked = [
            key
            for key in KNOWN[provider]["keys"]
            if os.environ.get(key) and entry.get("auth") != "login"
        ]
        if is_other:  # it would be sent the login
            asked = asked or [login]
    elif variable is None and is_other and provider in PROVIDERS:
        own = PROVIDERS[provider]
        if not is_same_server(url, own.base_url or ""):
            known["api_key_env"] = ""  # nothing asks for the provider's own key, so none is sent
    default = PROVIDERS[provider].base_url if provider in PROVIDERS else None
    for key in asked:
        home = next((host for begin, host in KEY_HOMES.items() if key.startswith(begin)), None)
        if home is None and key != login:
            continue
        if program:
            raise _refused(name, key, "a program that they name", "`honestone trust` allows it")
        host = host_of(url or default or "") or home
        usual = key in PROVIDERS[provider].keys if provider in PROVIDERS else True
        # The homes of keys are asked by https alone.
        is_home = host == home and (not url or is_same_server(url, f"https://{home}"))
        if not is_home and (is_other or (not url and not usual)):
            way = f"--allow-host {host} or `honestone trust` allows it"
            raise _refused(name, key, f"{host}, which is not its own host", way)
    return known


def _refused(name: str, key: str, whom: str, hint: str) -> SettingsError:
    return SettingsError(
        f"the settings of `{name}` ask for {key} to be given to {whom}; nothing was sent", hint=hint
    )
