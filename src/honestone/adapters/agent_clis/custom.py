"""Any other agent CLI, by a settings table: a command, the prompt on its stdin, and where its
answer is.

    [judges.mine]
    provider = "cli"
    command = ["mytool", "run", "--model", "{model}", "--json"]
    output = "jsonl:item.text"      # or "json:result", or "text" (the default): all of stdout

`{model}`, `{base_url}` and `{place}` (the artifact's copy; a judge's empty folder) are filled in.
The last line of a `jsonl` output that has the path is the answer. Here the exit code counts: other
than 0 is a failed call, and so is 0 with nothing to read. A word with a dot or slash that names a
file from the settings' folder is that file, wherever the command starts. What the command may touch
is up to its own flags.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from honestone.adapters.agent_clis import base
from honestone.adapters.agent_clis.base import AgentCli, CliFolders, CliOutcome, Command, Setup
from honestone.core.errors import SettingsError
from honestone.core.json_value import json_once
from honestone.ports import Prompt
from honestone.system.loose_json import table
from honestone.system.processes.commands import program_from
from honestone.system.processes.process import Ended


class Custom(AgentCli):
    """A CLI that settings describe; its program is found from `here`. Raises SettingsError for an
    output that is none.
    """

    def __init__(self, name: str, command: Sequence[str], output: str, here: Path) -> None:
        if not command or not all(isinstance(word, str) for word in command) or not command[0]:
            raise SettingsError(
                f"`command` of `{name}` must be a list of words",
                hint='for example command = ["mytool", "run"]',
            )
        self.name = name
        self.program = program_from(command[0], here)
        self.install = f"install `{command[0]}`, or correct `command` of `{name}`"
        self.sign_in = f"{command[0]}'s own way to log in"
        self.words = tuple(command)
        self.here = here
        # It starts in another folder, where a script that is named from this one would not be
        # found.
        self._rest = [
            str(here / word) if _names_a_file(here, word) else word for word in command[1:]
        ]
        self.output = output
        self._form, self._path = _output(name, output)

    def has_login(self) -> bool:
        return False

    def judge(self, setup: Setup, folders: CliFolders, prompt: Prompt, key: str) -> Command:
        text = f"{prompt.system.rstrip()}\n\n{prompt.text}" if prompt.system else prompt.text
        return self._command(setup, text, folders.work, folders.work, key)

    def worker(
        self, setup: Setup, folders: CliFolders, brief: str, place: Path, key: str
    ) -> Command:
        return self._command(setup, brief, base.folder_of(place), place, key)

    def _command(self, setup: Setup, stdin: str, cwd: Path, place: Path, key: str) -> Command:
        values = {
            "{model}": setup.model or "",
            "{base_url}": setup.base_url or "",
            "{place}": str(place),
        }
        argv = [setup.program]
        for word in self._rest:
            for name, value in values.items():
                word = word.replace(name, value)
            argv.append(word)
        env = {setup.key_names[0]: key} if key and setup.key_names else {}
        if setup.auth == "login":
            env["HOME"] = str(Path.home())
        return Command(argv=tuple(argv), cwd=cwd, stdin=stdin, env=env)

    def shelf(self, folders: CliFolders, folder: Path) -> Path:
        return folder / ".agents" / "skills"

    def agent(
        self, setup: Setup, folders: CliFolders, task: str, folder: Path, key: str
    ) -> Command:
        return self._command(setup, task, folder, folder, key)

    def read(self, ended: Ended, setup: Setup) -> CliOutcome:
        if ended.exit != 0:
            printed = base.last_line(ended.stderr) or base.last_line(ended.stdout)
            return base.failed(f"exit code {ended.exit}" + (f": {printed}" if printed else ""))
        if self._form == "text":
            return base.answered(base.text_of(ended.stdout), CliOutcome(kind="answer"))
        found = [
            text
            for text in (at(value, self._path) for value in self._values(ended.stdout))
            if text is not None
        ]
        if not found:
            printed = (
                base.last_line(ended.stdout) or base.last_line(ended.stderr) or "it printed nothing"
            )
            return CliOutcome(
                kind="bad answer",
                reason=f"nothing at `{'.'.join(self._path)}` of its output: {printed}",
            )
        return base.answered(found[-1], CliOutcome(kind="answer"))

    def _values(self, stdout: bytes) -> list[object]:
        if self._form == "jsonl":
            return list(base.json_lines(stdout, dict))
        try:
            return [json_once(base.text_of(stdout))]
        except (ValueError, RecursionError):
            return []


def _names_a_file(here: Path, word: str) -> bool:
    """A plain word may be a subcommand, whatever files there are."""
    return ("." in word or "/" in word) and os.path.isfile(here / word)


def _output(name: str, output: str) -> tuple[str, tuple[str, ...]]:
    form, _, path = output.partition(":")
    if form == "text" and not path:
        return form, ()
    if form in ("json", "jsonl") and path and all(path.split(".")):
        return form, tuple(path.split("."))
    raise SettingsError(
        f"`output` of `{name}` is {output!r}",
        hint='it is "text", "json:PATH" or "jsonl:PATH", for example "json:result.text"',
    )


def at(value: object, path: Sequence[str]) -> str | None:
    """The text at a path of keys and list positions (`items.-1.text`); None when there is none."""
    for step in path:
        try:
            value = value[int(step)] if isinstance(value, list) else table(value)[step]
        except (KeyError, IndexError, ValueError):
            return None
    return value if isinstance(value, str) else None
