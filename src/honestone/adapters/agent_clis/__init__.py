"""The agent command lines: what each takes, what it prints, and the traps between the two.

One file a CLI (`codex.py`, `claude.py`, `gemini.py`, and `custom.py` for any other by settings).
They turn a prompt or a brief into a command and read what came back; `driver.py` runs it in a
private room and ends all it started. The judge's and the worker's side of the ports are in
`adapters/models/agent_cli.py` and `adapters/workers/agent_cli.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from honestone.adapters.agent_clis.base import AgentCli

NAMES: Final = ("codex", "gemini", "claude")


def known_cli(name: str) -> AgentCli:
    """The CLI of this name. Raises KeyError for another."""
    if name not in NAMES:
        raise KeyError(name)
    made: AgentCli = getattr(
        import_module(f"honestone.adapters.agent_clis.{name}"), name.capitalize()
    )()
    return made
