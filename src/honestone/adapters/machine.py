"""This machine, as far as judges, models and targets want something of it: keys, variables,
programs, logins.

Reads variables and files; asks no server and starts nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from honestone.core.errors import SettingsError
from honestone.core.judging.needs import Machine, MachineNeeds
from honestone.ports import CallFailed
from honestone.system.processes.commands import NotStarted, find_program
from honestone.system.processes.environment import base_environment


def key_in(variable: str) -> str:
    """The key that a variable holds; empty where it is not set. Raises CallFailed for what cannot
    be sent as one.
    """
    key = os.environ.get(variable, "").strip()
    if key and (not key.isascii() or not key.isprintable() or " " in key):
        raise CallFailed(f"{variable} holds a character that cannot be part of a key; set it again")
    return key


class ThisMachine(Machine):
    def key_problem(self, variable: str) -> str | None:
        try:
            return None if key_in(variable) else ""
        except CallFailed as failed:
            return failed.reason.partition(";")[0]

    def is_set(self, variable: str) -> bool:
        return bool(os.environ.get(variable))

    def has_program(self, name: str) -> bool:
        try:
            find_program(os.path.expanduser(name), cwd=Path("/"), env=base_environment())
        except NotStarted:
            return False
        return True

    def sign_in_for(self, cli: str) -> str | None:
        from honestone.adapters.agent_clis import known_cli

        known = known_cli(cli)
        return None if known.has_login() else known.sign_in


def require(who: str, needs: MachineNeeds) -> None:
    """Raises SettingsError, with what to do, where this machine does not have what `who` needs."""
    for missing in needs.missing(ThisMachine()):
        raise SettingsError(
            f"{who} cannot work here: {missing.what}",
            hint=f"{missing.remedy}, or name another; see: honestone doctor",
        )
