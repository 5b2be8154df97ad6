"""`cmd:COMMAND`: a target that is a command. Input on stdin, output on stdout, or by
`{PROMPT_FILE}`, `{OUTPUT_FILE}`.

Templates are replaced inside the words after splitting, so nothing is expanded or split again.
`$HONESTONE_ARTIFACT` names a private copy of the artifact, `$HONESTONE_SKILL` the skill that was
installed for the run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from honestone.adapters.targets.trace_parsing import OUTPUT_LIMIT, TOO_LONG, as_output
from honestone.adapters.targets.working_directory import Workdir, workdir_for
from honestone.core.checking.checks import visible
from honestone.core.suite.case import Case, OutputForm
from honestone.ports import NothingToClose, Output, Task
from honestone.system.processes import process
from honestone.system.processes.commands import (
    NotStarted,
    anchor_program,
    find_program,
    require_program,
)
from honestone.system.processes.program import Program, why_failed
from honestone.system.processes.sandbox import Sandbox


class TargetBox(Struct, frozen=True, kw_only=True):
    """The sandbox of a target. `base` is the suite's folder, which it sees, as it does the folders
    that are `allowed`; `hidden` is what it does not see. `is_asked`: the suite or the person asked for it; else the suite is a stranger's.
    """

    sandbox: Sandbox
    base: Path
    allowed: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    is_asked: bool = True

    @property
    def is_used(self) -> bool:
        return self.sandbox.name != "none"

    @property
    def limits(self) -> str:
        return f"the sandbox {self.sandbox.name}: without network, keys and your home"


class CommandTarget(NothingToClose):
    """Any end but exit code 0, a time-out, output that is too long or not UTF-8 is an error, never
    a low score.
    """

    def __init__(
        self, program: Program, *, output: OutputForm = "text", box: TargetBox | None = None
    ) -> None:
        self._program = program
        self._form = output
        self._box = box
        boxed = {} if box is None else {"sandbox": box.sandbox.name}
        self.identity = {
            "kind": "cmd",
            **program.identity,
            **({"output": output} if output != "text" else {}),
            **boxed,
        }
        self.needs = program.needs

    @property
    def notes(self) -> tuple[str, ...]:
        box = self._box
        if box is None:
            return ()
        if not box.is_used:
            why = "the target was to run in a sandbox, but none works here: it runs without"
            return (f"{why} (`honestone doctor` says why)",)
        if box.is_asked:
            return ()
        without = "After `honestone trust`, or with `--sandbox none`, it runs without"
        return (f"the suite's own command runs in {box.limits}. {without}",)

    def refuse(self, cases: Sequence[Case]) -> None:
        require_program(self._program.argv, self._program.cwd, what="the target")

    async def run(self, task: Task) -> Output:
        text = prompt_of(task)
        with workdir_for(task, cwd=self._program.cwd, pass_env=self._program.pass_env) as workdir:
            if workdir.artifact is None and any(
                "{ARTIFACT}" in word for word in self._program.argv
            ):
                return Output(
                    text="", error="the command names {ARTIFACT}, but this run is given none"
                )
            prompt, out = workdir.own / "prompt.txt", workdir.own / "output.txt"
            prompt.write_bytes(text.encode("utf-8", "replace"))
            argv = filled(self._words(workdir), _places(task, text, workdir, prompt, out))
            timeout = task.timeout or self._program.timeout
            try:
                words, rules, env = self._confined(argv, workdir, task)
                ended = await process.run(
                    words,
                    cwd=workdir.cwd,
                    env=env,
                    rules=rules,
                    limits=None if self._box is None else process.Limits(),
                    stdin=text.encode("utf-8", "replace"),
                    timeout=timeout,
                    output_limit=OUTPUT_LIMIT,
                )
            except NotStarted as error:
                return Output(
                    text="", error=f"it could not be started: {error.reason}", was_run=False
                )
            to_file = any("{OUTPUT_FILE}" in word for word in self._program.argv)
            return self._output(ended, out if to_file else None, timeout)

    def _confined(
        self, argv: Sequence[str], workdir: Workdir, task: Task
    ) -> tuple[Sequence[str], process.Rules | None, Mapping[str, str]]:
        """The words, rules and variables of a run in the sandbox: with a home of its own, and what
        its words name in sight.
        """
        if self._box is None or not self._box.is_used:
            return argv, None, workdir.env
        root = workdir.own.parent
        home, tmp = (root / name for name in ("boxed-home", "boxed-tmp"))
        home.mkdir()
        tmp.mkdir()
        env = {**workdir.env, "HOME": str(home), "TMPDIR": str(tmp)}
        program = find_program(argv[0], cwd=workdir.cwd, env=env)
        named = [self._program.cwd / word for word in self._program.identity["files"]]
        box, also = self._box, [] if task.folder is None else [task.folder]
        words, rules = box.sandbox.confine(
            [program, *argv[1:]],
            workdir.cwd,
            root,
            [box.base, *box.allowed, *named, *also],
            box.hidden,
            also,
        )
        return words, rules, env

    def _words(self, workdir: Workdir) -> Sequence[str]:
        """In another folder than the person's, a program named relative to that one is found all
        the same.
        """
        if workdir.cwd == self._program.cwd:
            return self._program.argv
        return anchor_program(self._program.argv, self._program.cwd, artifact=workdir.own)

    def _output(self, ended: process.Ended, file: Path | None, timeout: float) -> Output:
        took = int(ended.duration * 1000)
        failed = failure_of(ended, timeout)
        if failed is not None:
            if self._box is not None and self._box.is_used:
                # Its own words seldom say why a connection or a file failed.
                failed += f" (it ran in {self._box.limits})"
            return Output(text="", error=failed, duration_ms=took)
        data = ended.stdout
        if file is not None:
            if file.is_symlink() or not file.is_file():
                return Output(text="", error="it wrote no output file", duration_ms=took)
            if file.stat().st_size > OUTPUT_LIMIT:
                return Output(text="", error=TOO_LONG, duration_ms=took)
            data = file.read_bytes()
        if self._form == "trimmed":
            data = data.strip()
        return as_output(data, is_json=self._form == "json", duration_ms=took)


def prompt_of(task: Task) -> str:
    """The case's input; without one, the artifact's text."""
    if not task.messages and task.version is not None and not task.isolated:
        return task.version.text
    return task.prompt


def given_of(task: Task) -> str | list[dict[str, str]]:
    """The same for a function; several messages are a list of {role, content}."""
    if len(task.messages) > 1:
        return [{"role": message.role, "content": message.content} for message in task.messages]
    return prompt_of(task)


def failure_of(ended: process.Ended, timeout: float) -> str | None:
    """Why a program's output is none."""
    if ended.timed_out:
        return f"no output within {timeout:g} s"
    if ended.truncated:
        return TOO_LONG
    if ended.exit != 0:
        return visible(why_failed(ended))
    return None


def _places(task: Task, text: str, workdir: Workdir, prompt: Path, out: Path) -> dict[str, str]:
    messages = [{"role": message.role, "content": message.content} for message in task.messages]
    return {
        "{PROMPT}": text,
        "{PROMPT_FILE}": str(prompt),
        "{OUTPUT_FILE}": str(out),
        "{CASE_ID}": task.case,
        "{ATTEMPT}": str(task.attempt),
        "{WORKSPACE}": str(workdir.cwd),
        "{ARTIFACT}": str(workdir.artifact),
        "{INPUT_JSON}": json.dumps(messages),
    }


def filled(words: Sequence[str], places: Mapping[str, str]) -> list[str]:
    """All words but the program's name with their places filled, in one pass: what is put in is not
    looked at again.
    """
    place = re.compile("|".join(map(re.escape, places)))
    return [words[0], *(place.sub(lambda match: places[match[0]], word) for word in words[1:])]
