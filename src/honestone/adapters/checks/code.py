"""Checks that run code: `command`, `grader`, `pytest`, `python`. In a private copy, without keys,
limited, sandboxed if possible.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import hmac
import json
import os
import secrets
import shutil
import site
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any, Final, cast

from honestone.adapters.checks import grading
from honestone.adapters.checks.check_input import (
    CheckWorkspace,
    Setting,
    Subject,
    finding,
    state_of,
)
from honestone.adapters.checks.computing import answers_in_reach
from honestone.adapters.checks.grading import exit_words, last_words_of
from honestone.adapters.checks.pytest_counts import (
    TestCounts,
    counted,
    python_with_pytest,
    summary_of,
)
from honestone.core.artifact import Version
from honestone.core.checking.checks import CheckAnswer, compile_text_check, visible
from honestone.core.errors import ProgramMissing, UsageError
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Check
from honestone.ports import Finding
from honestone.system.files import NEVER_PART, below
from honestone.system.processes import process
from honestone.system.processes.commands import (
    NotStarted,
    describe_command,
    find_program,
    split_command,
)
from honestone.system.processes.environment import base_environment

MEMORY: Final = 2_000_000_000
FILE_SIZE: Final = 1_000_000_000
# A folder of this name holds tests with all they need, data too.
FIXTURES: Final = "fixtures"

_LARGEST_TESTS: Final = 50_000_000
_LARGEST_ANSWER: Final = 100_000
_CHILD: Final = Path(__file__).with_name("_child.py")
# Holds what every Python below a command reads first.
_STARTUP: Final = Path(__file__).with_name("startup")

# How such a Python ends when it cannot tell which of two modules is meant.
_UNCLEAR: Final = 97

_INTERPRETER: Final = late_pattern(
    r"(?:python|pypy|ruby|perl|node|deno|bun|lua|php)[\d.]*|(?:ba|da|z|k|fi)?sh|Rscript"
)


def identity(check: Check, setting: Setting) -> Mapping[str, Any]:
    """The words, the digest of every file of theirs that is not part of what is judged, and the
    sandbox.
    """
    if "container" in check.options:
        return {"sandbox": "container"}
    if check.kind in ("command", "grader"):
        words = _argv_of(check)
        used = [word for word in words if os.path.isabs(word)] + [
            words[at] for at in _programs(words)
        ]
        siblings = [word for word in used if setting.sibling(word) is not None]
        files = describe_command(siblings, setting.base)["files"]
    else:
        files = {check.value: digest_of(judging_files(check, setting), setting.base)}
    return {"sandbox": setting.sandbox.name, "files": files}


def judging_files(check: Check, setting: Setting) -> list[Path]:
    """The tests or the module of a check, with the modules next to a test; the program of a
    command, if it is not judged.
    """
    if check.kind == "pytest":
        tests = setting.sibling(_without_test_name(check.text), even_judged=True)
        return [] if tests is None else list(_sibling_tests(tests))
    if check.kind == "python":
        module = module_file(check.text, setting)
        if module is not None and module.name == "__init__.py":
            return list(_walk(module.parent))
        return [] if module is None else [module]
    words, programs = program_words(check)
    return [
        path
        for at in programs
        if (path := setting.sibling(words[at])) is not None and path.is_file()
    ]


def preflight(check: Check, setting: Setting, version: Version | None) -> None:
    """Raises UsageError for what cannot start. Without a version, what may be in one gets the
    benefit of the doubt.
    """
    _ = setting.sandbox
    match check.kind:
        case "command" | "grader":
            try:
                words = ["docker"] if "container" in check.options else _argv_of(check)
                _resolved(words, setting, version, setting.base)
            except _MayBeInVersion as unsure:
                if version is not None:
                    raise _cannot_start(check, unsure.reason) from None
            except NotStarted as error:
                raise _cannot_start(check, error.reason) from None
        case "pytest":
            python_with_pytest()
            name = _without_test_name(check.text)
            inside = version is None or setting.in_version(name, version) is not None
            if setting.sibling(name, even_judged=True) is None and not inside:
                hint = "the path of a test file or folder is relative to the rubric's folder"
                raise UsageError(
                    f"the tests {name!r} of the check `pytest` are not there", hint=hint
                )
        case "python":
            if module_file(check.text, setting) is None and not _may_hold_module(
                check.text, version
            ):
                module = check.text.partition(":")[0]
                hint = "it is looked up next to the rubric and in the working directory"
                raise UsageError(
                    f"the module {module!r} of the check `{check.name}` is not there", hint=hint
                )


def _cannot_start(check: Check, reason: str) -> UsageError:
    shown = " ".join(check.words)
    is_installed = not reason.startswith("command not found") or "/" in check.words[0]
    return (UsageError if is_installed else ProgramMissing)(
        f"the check `{check.name}: {visible(shown, 80)}` cannot start: {reason}",
        hint="install it or correct the rubric; a relative path is looked up next to the rubric, then in the artifact",
    )


async def find(check: Check, subject: Subject) -> Finding:
    sandbox = subject.setting.sandbox.name
    try:
        match check.kind:
            case "command":
                answer = await _command(check, subject)
            case "grader":
                return await _grader(check, subject, sandbox)
            case "pytest":
                answer = await _pytest(check, subject)
            case _:
                answer = await _python(check, subject)
    except FinalAnswer as ended:
        met = (
            False if isinstance(ended, TooSlow) else ended.met
        )  # what outlasts the limit is not met
        return finding(check, (met, ended.note), sandbox=sandbox, final=True)
    except NotStarted as error:
        return finding(check, (None, f"could not run: {error.reason}"), sandbox=sandbox)
    return finding(check, answer, sandbox=sandbox)


class FinalAnswer(Exception):
    """An answer that `not-` does not turn round: outlasting the limit meets nothing."""

    def __init__(self, met: bool | None, note: str) -> None:
        super().__init__(note)
        self.met, self.note = met, note


class TooSlow(FinalAnswer):
    """It was still running at its limit of `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(None, f"still running after {seconds:g} s")


# ------------------------------------------------------------------------------------------------------
# running it


async def run_confined(
    words: Sequence[str],
    check: Check,
    subject: Subject,
    copy: CheckWorkspace,
    *,
    stdin: bytes = b"",
    visible: Sequence[Path] = (),
    folder: Path | None = None,
) -> process.Ended:
    """A program of a check, in its private copy or in `folder`, which it can only read in a
    sandbox.

    Raises TooSlow, another FinalAnswer where it printed too much or the sandbox failed, and
    NotStarted.
    """
    setting, work = subject.setting, folder or copy.work
    seconds = float(check.option("timeout", setting.timeout))
    env = _environment(setting, copy, subject, check)
    if check.kind in ("command", "grader"):
        env["PYTHONPATH"] = os.pathsep.join([str(_STARTUP), *filter(None, [env.get("PYTHONPATH")])])
    program = find_program(words[0], cwd=work, env=env)
    # The name that the person wrote stays visible to the program as its own where nothing is
    # wrapped around it.
    argv, rules = setting.sandbox.confine(
        [program, *words[1:]], work, copy.root, [*visible, *setting.allowed], setting.hidden
    )
    ended = await process.run(
        argv,
        rules=rules,
        cwd=work,
        env=env,
        stdin=stdin,
        timeout=seconds,
        output_limit=process.OUTPUT_LIMIT,
        limits=process.Limits(
            memory_bytes=MEMORY,
            cpu_seconds=ceil(seconds * (os.cpu_count() or 1)) + 1,
            file_bytes=FILE_SIZE,
        ),
    )
    if setting.sandbox.name != "none":
        _require_sandboxed(ended)
    if ended.timed_out:
        raise TooSlow(seconds)
    if ended.truncated:
        raise FinalAnswer(
            None,
            f"could not be judged: it printed more than {process.OUTPUT_LIMIT / 1e6:g} MB and was ended",
        )
    return ended


def _require_sandboxed(ended: process.Ended) -> None:
    """Raise an error when the sandbox itself failed: the program did not run, so the exit code is
    not its answer.
    """
    if ended.exit not in (0, None) and ended.stderr.startswith((b"bwrap: ", b"landlock: ")):
        why = visible(ended.stderr[:300].decode(errors="replace").strip(), 200)
        raise FinalAnswer(
            None, f"could not run: the sandbox failed ({why}); --sandbox none runs without it"
        )


def search_path(setting: Setting) -> dict[str, str]:
    """Harmless variables, with a PATH on which `python` is found where only honestone's own
    environment has one.
    """
    env = base_environment(pass_names=setting.pass_env)
    return {**env, "PATH": os.pathsep.join([env["PATH"], os.path.dirname(sys.executable)])}


def _environment(
    setting: Setting, copy: CheckWorkspace, subject: Subject, check: Check
) -> dict[str, str]:
    """Nothing but harmless variables; a home and a place for temporary files that are private and
    empty.
    """
    output_file = str(subject.output_file(copy))
    named = {check.option("output_env", ""): output_file} if "output_env" in check.options else {}
    return (
        search_path(setting)
        | named
        | {
            "HOME": str(copy.home),
            "TMPDIR": str(copy.tmp),
            "HONESTONE_ARTIFACT": str(copy.artifact),
            "AI_OUTPUT_FILE": output_file,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONIOENCODING": "utf-8",
            "PYTHONUSERBASE": site.getuserbase(),  # else it would be sought in the private home
        }
    )


def _shown_siblings(setting: Setting) -> list[Path]:
    """Tools and modules next to the rubric may need their neighbours, and Python the packages of
    the user.
    """
    return [setting.base, Path(site.getuserbase()), _STARTUP]


# ---------------------------------------------------------------------------------------------------------
# command


def _argv_of(check: Check) -> list[str]:
    return split_command(check.text) if isinstance(check.value, str) else list(check.words)


def _programs(words: Sequence[str]) -> list[int]:
    """Which words name a program: the first, and the script that an interpreter is given."""
    name = os.path.basename(words[0])
    is_script = len(words) > 1 and _INTERPRETER.fullmatch(name) and not words[1].startswith("-")
    return [0, 1] if is_script else [0]


class _MayBeInVersion(NotStarted):
    """Not next to the rubric; whether the version has it is not known or not so."""


def _resolved(
    words: Sequence[str], setting: Setting, version: Version | None, work: Path
) -> list[str]:
    """The words with every program given by a relative path found. Raises NotStarted."""
    out = list(words)
    env = search_path(setting)
    for at in _programs(words):
        word = words[at]
        if (at == 0 and "/" not in word) or os.path.isabs(word):
            if at == 0:
                find_program(word, cwd=setting.base, env=env)
            continue
        in_version = None if version is None else setting.in_version(word, version)
        sibling = setting.sibling(word)
        if sibling is not None and not (
            version is not None and setting.prefers_version(word, version)
        ):
            if at == 0:
                find_program(str(sibling), cwd=setting.base, env=env)
            out[at] = str(sibling)
        elif in_version is not None:
            if at == 0 and version is not None and not _may_run(version, in_version):
                raise NotStarted(f"{word} is not executable in the artifact (chmod +x makes it so)")
            out[at] = str(work / in_version)
        else:
            raise _MayBeInVersion(f"no such file: {word}")
    return out


def _may_run(version: Version, name: str) -> bool:
    entry = version.files.get(name)
    return entry is not None and entry.executable


async def _grader(check: Check, subject: Subject, sandbox: str) -> Finding:
    if "container" in check.options:
        return _graded(check, await _contained(check, subject), "container")
    copy = subject.fresh_copy()
    try:
        words = _resolved(_argv_of(check), subject.setting, subject.version, copy.work)
    except _MayBeInVersion as error:
        return finding(check, (None, error.reason), sandbox=sandbox)
    asked = grading.request(check, subject, workspace=copy.work)
    ended = await run_confined(
        words,
        check,
        subject,
        copy,
        stdin=asked.encode("utf-8", "replace"),
        visible=_shown_siblings(subject.setting),
    )
    return _graded(check, ended, sandbox)


async def _contained(check: Check, subject: Subject) -> process.Ended:
    from honestone.adapters.checks.container import run_contained

    asked = grading.request(check, subject, workspace=None)
    ended = await run_contained(check, subject.setting, asked.encode("utf-8", "replace"))
    if ended.timed_out:
        raise TooSlow(float(check.option("timeout", subject.setting.timeout)))
    return ended


def _graded(check: Check, ended: process.Ended, sandbox: str) -> Finding:
    score = grading.points_of(check, ended)
    return finding(check, grading.answer(check, ended), sandbox=sandbox, score=score)


async def _command(check: Check, subject: Subject) -> CheckAnswer:
    copy = subject.fresh_copy()
    try:
        words = _resolved(_argv_of(check), subject.setting, subject.version, copy.work)
    except _MayBeInVersion as error:
        raise FinalAnswer(
            False, error.reason
        ) from None  # what the artifact should bring along and does not
    stdin = (
        subject.text.encode("utf-8", "replace") if check.options.get("stdin") == "artifact" else b""
    )
    ended = await run_confined(
        words, check, subject, copy, stdin=stdin, visible=_shown_siblings(subject.setting)
    )
    expected = check.options.get("expect_exit", 0)
    if ended.exit == _UNCLEAR and ended.stderr.endswith(b"it is not clear which is meant\n"):
        raise FinalAnswer(None, f"could not run{last_words_of(ended)}")
    if ended.exit != expected:
        return False, f"{exit_words(ended.exit)}, expected {expected}{last_words_of(ended)}"
    return await _as_printed(check, subject, ended)


async def _as_printed(check: Check, subject: Subject, ended: process.Ended) -> CheckAnswer:
    stdout = ended.stdout.decode(errors="replace")
    for kind, value in check.option("expect_stdout", dict[str, str]()).items():
        printed = Check(kind=kind, value=value)
        compiled = compile_text_check(printed)
        ((met, note),) = await answers_in_reach([compiled], stdout, subject.setting)
        if not met:
            return met, f"stdout: {note}"
    return True, f"{exit_words(ended.exit)}{last_words_of(ended)}"


# ----------------------------------------------------------------------------------------------------------
# pytest


async def _pytest(check: Check, subject: Subject) -> CheckAnswer:
    python = python_with_pytest()
    copy = subject.fresh_copy()
    tests = _copied_tests(check.text, subject, copy)
    if tests is None:
        raise FinalAnswer(False, f"no such tests: {check.value}")
    before = state_of(copy.extra)
    files = [path for path, (mode, *_) in before.items() if not stat.S_ISDIR(mode)]
    asked = {
        "kind": "pytest",
        "tests": tests,
        "files": files,
        "paths": [str(copy.work), str(copy.work / "src")],
    }
    ended, answer = await _ask_child(python, asked, check, subject, copy)
    if answer is None:
        return (
            None,
            f"pytest ended without a report ({exit_words(ended.exit)}){last_words_of(ended)}",
        )
    if answer["patched"] or _has_changed(before, state_of(copy.extra)):
        return None, "the code under test changed pytest or the tests while they ran"
    return counted(cast(TestCounts, answer), summary_of(ended.stderr.decode(errors="replace")))


def _has_changed(
    before: Mapping[str, tuple[int, ...]], after: Mapping[str, tuple[int, ...]]
) -> bool:
    """Whether a file among the tests was touched, or one was added that Python or pytest reads."""
    files = [path for path, (mode, *_) in before.items() if not stat.S_ISDIR(mode)]
    new = [path for path in after.keys() - before.keys() if path.endswith(_READ_BY_PYTHON)]
    return bool(new) or any(after.get(path) != before[path] for path in files)


_READ_BY_PYTHON: Final = (".py", ".pyc", ".pth", ".so", ".ini", ".toml", ".cfg")


async def _ask_child(
    python: str,
    asked: Mapping[str, object],
    check: Check,
    subject: Subject,
    copy: CheckWorkspace,
    *,
    given: bytes = b"",
    visible: Sequence[Path] = (),
) -> tuple[process.Ended, Mapping[str, Any] | None]:
    """Run our own child program; what it answered, None when the code that it ran ended it or
    sealed nothing.
    """
    key, answer = secrets.token_hex(), copy.root / secrets.token_hex()
    request = {**asked, "root": str(copy.extra), "file": answer.name, "key": key}
    # `-P` where it is known (3.11): nothing of the artifact may replace a module of the standard
    # library.
    words = [python, *(["-P"] if python == sys.executable else []), str(_CHILD)]
    stdin = json.dumps(request).encode() + b"\n" + given
    ended = await run_confined(
        words,
        check,
        subject,
        copy,
        stdin=stdin,
        visible=[*_shown_siblings(subject.setting), *visible, _CHILD],
    )
    with contextlib.suppress(OSError, ValueError, SyntaxError):
        seal, _, reply = answer.read_bytes()[:_LARGEST_ANSWER].partition(b"\n")
        if hmac.compare_digest(
            seal, hashlib.sha256(key.encode() + reply + key.encode()).hexdigest().encode()
        ):
            return ended, dict(ast.literal_eval(reply.decode()))
    return ended, None


def _without_test_name(path: str) -> str:
    return str(path).partition("::")[0]


def _copied_tests(path: str, subject: Subject, copy: CheckWorkspace) -> str | None:
    """Copy the tests next to the copy of the artifact; what pytest is given, or None when there are
    none.
    """
    name, mark, test = path.partition("::")
    setting = subject.setting
    sibling = setting.sibling(name, even_judged=True)
    if sibling is None:
        inside = setting.in_version(name, subject.version)
        if inside is None:
            return None
        sibling = copy.work / inside
    if sibling.is_dir():
        shutil.copytree(
            sibling, copy.extra / "tests", symlinks=True, ignore=shutil.ignore_patterns(*NEVER_PART)
        )
        return f"{copy.extra / 'tests'}{mark}{test}"
    size = 0
    for helper in _sibling_tests(sibling):
        size += helper.stat().st_size
        if size > _LARGEST_TESTS:
            break
        target = copy.extra / helper.relative_to(sibling.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(helper, target)
    return f"{copy.extra / sibling.name}{mark}{test}"


def _sibling_tests(place: Path) -> Iterator[Path]:
    """A test file and the modules next to it, itself first; or all files of a test folder, which
    `fixtures` is.
    """
    if place.is_dir():
        yield from _walk(place)
        return
    yield place
    if place.parent.name == FIXTURES:
        yield from (other for other in _walk(place.parent) if other != place)
        return
    for other in sorted(place.parent.iterdir()):
        if other != place and other.suffix == ".py" and other.is_file():
            yield other


# ----------------------------------------------------------------------------------------------------------
# python


async def _python(check: Check, subject: Subject) -> CheckAnswer:
    setting, copy = subject.setting, subject.fresh_copy()
    module, _, function = check.text.partition(":")
    asked = {
        "kind": "python",
        "module": module,
        "function": function,
        "with": check.options.get("with", "text"),
        "before": [str(setting.base.absolute()), str(setting.folder.absolute())],
        "after": [str(copy.work)],
    }
    given = subject.text.encode("utf-8", "replace")
    ended, answer = await _ask_child(
        sys.executable, asked, check, subject, copy, given=given, visible=[setting.folder]
    )
    if answer is None:
        return (
            None,
            f"{check.value} ended without an answer ({exit_words(ended.exit)}){last_words_of(ended)}",
        )
    return answer["met"], f"{check.value} {answer['note']}" if answer["met"] is None else answer[
        "note"
    ]


def module_file(value: str, setting: Setting) -> Path | None:
    parts = value.partition(":")[0].split(".")
    for root in (setting.base, setting.folder):
        stem = root.joinpath(*parts)
        for place in (stem.with_name(stem.name + ".py"), stem / "__init__.py"):
            if place.is_file():
                return place
    return None


def _may_hold_module(value: str, version: Version | None) -> bool:
    if version is None:
        return True
    stem = value.partition(":")[0].replace(".", "/")
    return f"{stem}.py" in version.files or f"{stem}/__init__.py" in version.files


# ---------------------------------------------------------------------------------------------------------
# digests


def digest_of(files: Iterable[Path], base: Path) -> str:
    """Of names, as seen from the rubric, and bytes: the same wherever the project is."""
    whole = hashlib.sha256()
    for path in files:
        name = os.path.relpath(path, base).encode("utf-8", "surrogateescape")
        whole.update(name + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return "sha256:" + whole.hexdigest()


def _walk(root: Path) -> Iterator[Path]:
    return (path for path in below(root) if path.is_file() and not path.name.endswith(".pyc"))


def program_words(check: Check) -> tuple[list[str], list[int]]:
    """The words of a `command` or `grader`, and which of them name a program: the first, and a
    script of an interpreter.
    """
    words = _argv_of(check)
    return words, [] if "container" in check.options else _programs(words)
