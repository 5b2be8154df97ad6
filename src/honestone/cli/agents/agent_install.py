"""`honestone agent install`, `uninstall`, `status`: in the settings of Claude Code, Codex and
Gemini CLI.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import click
from msgspec.structs import asdict

from honestone.app.agents import install as use_case
from honestone.app.agents.hosts import HOSTS, Scope
from honestone.app.agents.install import AgentState, Installed, agent_states
from honestone.app.options import Option
from honestone.cli import options as shared
from honestone.cli.terminal import dump, write
from honestone.system.drawing import clean, style_for

SCHEMA = "honestone.agent/1"

AgentNames: TypeAlias = Annotated[
    tuple[str, ...],
    Option("Which agent; repeat for more.", name="--agent", choices=tuple(HOSTS)),
]
IsProject: TypeAlias = Annotated[
    bool | None,
    Option("In this folder, or in your home.  [default: project]", name="--project/--user"),
]
IsDryRun: TypeAlias = Annotated[bool, Option("Say what would be written, and write nothing.")]


@click.command(
    "install", short_help="Write the skill, the hooks and the MCP server for coding agents."
)
@shared.from_parameters
def install(
    *,
    agents: AgentNames = (),
    project: IsProject = None,
    mcp: Annotated[bool, Option("The MCP server too.")] = False,
    command: Annotated[
        str | None, Option("How the agent calls honestone.  [default: honestone]", metavar="CMD")
    ] = None,
    dry_run: IsDryRun = False,
    force: Annotated[
        bool, Option("Replace a skill that is not ours; uninstall gives it back.")
    ] = False,
    as_json: shared.AsJson = False,
) -> int:
    """Write the skill, the hooks and with --mcp the MCP server into the files of coding agents:
    those on PATH, or --agent.

    All files or none. What is in them stays as it is, and `honestone agent uninstall` takes out
    what was put in.
    """

    agents = agents or use_case.agents_on_path()
    request = use_case.InstallRequest(
        agents=agents,
        scope=_place(project is False),
        mcp=mcp,
        command=command,
        dry_run=dry_run,
        force=force,
    )
    done = use_case.install(request)
    _tell(done, "written", "wrote", as_json=as_json)
    if not as_json and done.files and not request.dry_run:
        typed = ", ".join(f"{HOSTS[name].called} in {HOSTS[name].title}" for name in request.agents)
        write(f'\nnext  type {typed}, or say "grade this"\n')
    return 0


@click.command("uninstall", short_help="Take out what `agent install` put in.")
@shared.from_parameters
def uninstall(
    *,
    agents: AgentNames = (),
    project: IsProject = None,
    dry_run: IsDryRun = False,
    force: Annotated[bool, Option("Remove our skill even if it was edited.")] = False,
    as_json: shared.AsJson = False,
) -> int:
    """Take out what `honestone agent install` put in, for every agent or those named. Edits made
    since then stay.
    """

    request = use_case.InstallRequest(
        agents=agents or tuple(HOSTS), scope=_place(project is False), dry_run=dry_run, force=force
    )
    _tell(use_case.uninstall(request), "removed", "took ours out of", as_json=as_json)
    return 0


@click.command("status", short_help="Whether honestone is installed in coding agents.")
@shared.from_parameters
def status(
    *,
    agents: AgentNames = (),
    project: IsProject = None,
    as_json: shared.AsJson = False,
) -> int:
    """Whether the files of each agent hold what `honestone agent install` writes, here and in your
    home.
    """

    users = (False, True) if project is None else (not project,)
    states = agent_states(agents or tuple(HOSTS), [_place(user) for user in users])
    if as_json:
        write(dump({"schema": SCHEMA, "agents": [asdict(state) for state in states]}) + "\n")
    else:
        write(style_for(sys.stdout).finish([line for state in states for line in _lines(state)]))
    return 0


def _place(user: bool) -> Scope:

    return Scope(base=(Path.home() if user else Path()).resolve(), user=user)


def _tell(done: Installed, key: str, verb: str, *, as_json: bool) -> None:
    if as_json:
        write(dump({"schema": SCHEMA, key: list(done.files)}) + "\n")
    else:
        write("".join(f"{verb} {clean(file)}\n" for file in done.files) or "nothing to change\n")
    for note in done.notes:
        print(f"note: {clean(note)}", file=sys.stderr)


def _lines(state: AgentState) -> list[str]:
    missing = all(file.state == "missing" for file in state.files)
    how = "not installed" if missing else "installed in part"
    if state.installed:
        how = "installed"
    not_found = "" if state.cli else f" ({state.agent} is not on PATH)"
    lines = [f"{state.agent:<8}{state.scope:<9}{how}{not_found}"]
    if not missing:
        lines += [f"  {file.state:<9}{clean(file.path)}" for file in state.files]
        lines += [f"  note     {clean(note)}" for note in state.notes]
    return lines
