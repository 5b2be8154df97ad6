"""The check `script`, and `transform` of other checks: code in JavaScript or Python, confined like
every program of a check.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import site
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from honestone.adapters.checks import code
from honestone.adapters.checks.check_input import Setting, Subject, finding
from honestone.adapters.checks.code_reads import code_reads
from honestone.adapters.checks.grading import exit_words, last_words_of
from honestone.core.artifact import Version
from honestone.core.checking.checks import visible
from honestone.core.checking.script import OddReply, Script, grade, scripts_of, transforms_of
from honestone.core.errors import ProgramMissing, UsageError
from honestone.core.json_value import Json
from honestone.core.judging.rubric import Check
from honestone.core.numbers import exact
from honestone.ports import Finding, Output
from honestone.system.event_loop import run_coroutine
from honestone.system.processes.commands import NotStarted, answer_of, find_program

NODE: Final = "node"
_TYPESCRIPT: Final = (".ts", ".mts", ".cts")
_RUNNERS: Final = {
    "javascript": Path(__file__).with_name("_script.cjs"),
    "python": Path(__file__).with_name("_script.py"),
}
_INSPECT: Final = Path(__file__).with_name("_inspect_task.py")
_LARGEST_REPLY: Final = 10_000_000


def identity(check: Check, setting: Setting) -> Mapping[str, Json]:
    """The digest of every file of code, and the sandbox."""
    files = {name: code.digest_of([setting.base / name], setting.base) for name in _files(check)}
    return {"sandbox": setting.sandbox.name, "scripts": files}


def preflight(check: Check, setting: Setting, version: Version | None) -> None:
    """Raises UsageError where Node or a file is missing, or no sandbox is there that was asked for."""
    _ = setting.sandbox
    for one in scripts_of(check):
        if one.language == "javascript":
            node = _require_node(check, setting)
            if (
                one.file is not None
                and Path(one.file).suffix in _TYPESCRIPT
                and not _reads_types(node)
            ):
                raise UsageError(
                    f"`{one.file}` is TypeScript, which the `{NODE}` on PATH does not read",
                    hint="install Node.js 22.18 or newer (https://nodejs.org), or compile the file to JavaScript",
                )
    for name in _files(check):
        if not (setting.base / name).is_file():
            raise UsageError(
                f"the file `{name}` of the check `{check.name}` is missing",
                hint="its path is relative to the folder of the suite or rubric",
            )
    for one in scripts_of(check):
        _require_reads(one, check, setting)


def _require_reads(script: Script, check: Check, setting: Setting) -> None:
    """Raises UsageError for a file that the code reads and that it would not get: each is opened as
    the code would open it.
    """
    place, source = setting.base, script.code
    if script.file is not None:
        path = (setting.base / script.file).resolve()
        place = path.parent
        source = path.read_text("utf-8", "replace")
    reads = code_reads(script, source or "")
    if not reads:
        return
    paths = [(place if one.of_file else setting.base) / one.name for one in reads]
    # Cases share their code, and each try starts a program.
    asked = (*_visible(script, setting), None, *paths)
    if asked not in setting.unread:
        setting.unread[asked] = run_coroutine(_unread(script, check, setting, paths))
    unread = setting.unread[asked]
    for one, path in zip(reads, paths, strict=True):
        if str(path) not in unread:
            continue
        where = "" if script.file is None else f" ({script.file}:{one.line})"
        reader = f"the code of the check `{check.name}`{where} reads `{visible(one.name, 80)}`"
        folder = "code's file" if one.of_file else "suite or rubric"
        if _is_there(path):
            raise UsageError(
                f"{reader}, which code may not read",
                hint=f"move it into the folder of the {folder}, or name its folder with --allow-outside",
            )
        raise UsageError(
            f"{reader}, which is not there",
            hint=f"its path is relative to the folder of the {folder}",
        )


def _is_there(path: Path) -> bool:
    """Also what is in a folder that cannot be looked into, but no name that no file can have."""
    try:
        return path.exists()
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False


# Prints those of the paths that it is given that cannot be opened, as JSON.
_OPEN_EACH: Final = """\
import json, sys
def opens(path):
    try:
        open(path).close()
    except (OSError, ValueError):
        return False
    return True
print(json.dumps([path for path in json.load(sys.stdin) if not opens(path)]))
"""


async def _unread(
    script: Script, check: Check, setting: Setting, paths: Sequence[Path]
) -> Collection[str]:
    """Those of the paths that the code cannot open where it runs. Where that cannot be tried, none:
    running the code will tell.
    """
    asked = json.dumps([str(path) for path in paths]).encode()
    words = [sys.executable, "-I", "-S", "-c", _OPEN_EACH]
    with (
        contextlib.suppress(NotStarted, code.FinalAnswer, ValueError),
        Subject(setting, Version.of_text(""), Output(text="")) as subject,
    ):
        ended = await code.run_confined(
            words,
            check,
            subject,
            subject.fresh_copy(),
            stdin=asked,
            visible=_visible(script, setting),
            folder=setting.base,
        )
        return frozenset(json.loads(ended.stdout))
    return frozenset()


def _visible(script: Script, setting: Setting) -> list[Path]:
    """What the code sees wherever it is."""
    folders = [setting.base, Path(site.getuserbase())]
    if script.file is not None:
        folders.append((setting.base / script.file).resolve().parent)
    return folders


def _require_node(check: Check, setting: Setting) -> str:
    try:
        return find_program(NODE, cwd=setting.base, env=code.search_path(setting))
    except NotStarted:
        raise ProgramMissing(
            f"the check `{check.name}` runs javascript, but `{NODE}` was not found on PATH",
            hint="install Node.js (https://nodejs.org), or leave out the cases that need it with --case",
        ) from None


@cache
def _reads_types(node: str) -> bool:
    """Whether Node reads TypeScript by leaving the types out."""
    asked = [node, "-p", "process.features.typescript ? 'yes' : 'no'"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return answer_of(asked, 30).stdout.strip() == b"yes"
    return False


def judging_files(check: Check, setting: Setting) -> list[Path]:
    return [setting.base / name for name in _files(check)]


def _files(check: Check) -> list[str]:
    return [one.file for one in scripts_of(check) if one.file is not None]


async def find(check: Check, subject: Subject) -> Finding:
    """The answer of the code of a `script` check, after its transforms."""
    script = Script.of(check.value)
    threshold = check.options.get("threshold")
    try:
        given = await _transformed(check, subject)
        returned = await _run(script, given, check, subject)
        bar = None if threshold is None else exact(check.option("threshold", 0.0))
        graded = grade(returned, script.language, bar, negated=check.negated)
    except (OddReply, _Raised) as wrong:
        return _unmet(check, subject, f"{script.language}: {wrong}")
    except code.FinalAnswer as ended:
        return finding(check, (None, ended.note), sandbox=subject.setting.sandbox.name)
    points = float(graded.score * 100)
    note = visible(graded.note)
    return Finding(met=graded.met, note=note, sandbox=subject.setting.sandbox.name, score=points)


def _unmet(check: Check, subject: Subject, note: str) -> Finding:
    """What holds negated or not: code that fails meets nothing."""
    score = 0.0 if check.kind == "script" else None
    return Finding(met=False, note=visible(note), sandbox=subject.setting.sandbox.name, score=score)


async def transformed(check: Check, subject: Subject) -> Subject | Finding:
    """What a check with `transform` looks at instead of the output; a finding where the code gives
    nothing to look at.
    """
    try:
        changed = await _transformed(check, subject)
    except _Raised as wrong:
        return _unmet(check, subject, f"transform: {wrong}")
    except code.FinalAnswer as ended:
        return finding(
            check, (None, f"transform: {ended.note}"), sandbox=subject.setting.sandbox.name
        )
    text = (
        changed
        if isinstance(changed, str)
        else json.dumps(changed, ensure_ascii=False, separators=(",", ":"))
    )
    output = replace(subject.output or Output(text=""), text=text)
    return replace(subject, artifact=subject.version, output=output)


async def _transformed(check: Check, subject: Subject) -> Json:
    given: Json = subject.text
    for one in transforms_of(check):
        given = await _run(one, given, check, subject)
        if given is None:
            raise _Raised("it returned nothing")
    return given


async def values_of(
    script: Script, calls: Sequence[Sequence[Json]], setting: Setting
) -> Sequence[Json]:
    """What a function of a file returns for each list of arguments, in one confined process. Raises
    UsageError where it cannot be run, fails, or returns what is not a value.
    """
    check = Check(kind="script", value=script.to_plain())
    preflight(check, setting, None)
    try:
        with Subject(setting, Version.of_text(""), Output(text="")) as subject:
            made = await _run(script, None, check, subject, calls=calls)
    except (_Raised, code.FinalAnswer) as error:
        raise UsageError(
            f"`{script.file or visible(str(script.code), 60)}` could not be run: {visible(str(error))}",
            hint="correct it, or run it by itself to see more",
        ) from None
    assert isinstance(made, list), made
    return made


class _Raised(Exception):
    """What the code said instead of a value."""


async def _run(
    script: Script,
    given: Json,
    check: Check,
    subject: Subject,
    *,
    calls: Sequence[Sequence[Json]] | None = None,
) -> Json:
    """The value that the code returns; with `calls`, the list of those that its function returns.
    Raises _Raised, and code.FinalAnswer where it does not end or cannot be run.
    """
    setting, copy = subject.setting, subject.fresh_copy()
    answer = copy.root / secrets.token_hex()
    asked: dict[str, Json] = {
        "output": given,
        "context": _context(check, subject),
        "answer": str(answer),
    }
    if calls is not None:
        asked["calls"] = [list(arguments) for arguments in calls]
    if script.file is not None:
        path = (setting.base / script.file).resolve()
        asked |= {"file": str(path), "function": script.function}
        asked |= {"evaluator": script.evaluator, "arguments": script.arguments}
    else:
        asked["code"] = script.code
    runner = _RUNNERS[script.language]
    words = (
        [NODE, str(runner)]
        if script.language == "javascript"
        else [sys.executable, "-P", str(runner)]
    )
    stdin = json.dumps(asked).encode("utf-8", "replace")
    try:
        ended = await code.run_confined(
            words,
            check,
            subject,
            copy,
            stdin=stdin,
            visible=[*_visible(script, setting), runner, _INSPECT],
            folder=setting.base,
        )
    except NotStarted as error:
        raise code.FinalAnswer(None, f"could not run: {error.reason}") from None
    reply = _reply_in(answer)
    if reply is None:
        raise _Raised(f"ended without an answer ({exit_words(ended.exit)}){last_words_of(ended)}")
    if "value" not in reply:
        odd = reply.get("odd")
        raise _Raised(
            str(reply["error"]) if odd is None else f"it returned {odd}, which is not a value"
        )
    return reply["value"]


def _reply_in(path: Path) -> Mapping[str, Json] | None:
    """The answer as the code's runner left it; None where there is none. Raises FinalAnswer for one
    that is too large.
    """
    with contextlib.suppress(OSError, ValueError, RecursionError):
        if path.stat().st_size > _LARGEST_REPLY:
            raise code.FinalAnswer(None, f"its reply is larger than {_LARGEST_REPLY / 1e6:g} MB")
        found: Mapping[str, Json] = json.loads(path.read_bytes())
        return found
    return None


def _context(check: Check, subject: Subject) -> dict[str, Json]:
    """What the code hears of the case: promptfoo's names."""
    written = check.options.get("context")
    context: dict[str, Json] = {"vars": {}, **(written if isinstance(written, Mapping) else {})}
    test = context.get("test")
    context["test"] = {**(test if isinstance(test, Mapping) else {}), "vars": context["vars"]}
    known: dict[str, Json] = {"prompt": subject.input, "providerResponse": {"output": subject.text}}
    if subject.output is not None:
        known["duration"] = subject.output.duration_ms / 1000
    return {**known, **context}
