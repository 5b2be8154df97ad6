"""Programs that answer: a prompt or request on stdin, a reply on stdout, everything else a failed call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from honestone.core.errors import UsageError
from honestone.ports import CallFailed, WorkDone
from honestone.system import process


async def run_for_reply(
    argv: Sequence[str], stdin: str, *, cwd: Path, timeout: float, pass_env: Sequence[str] = ()
) -> process.Ended:
    """Run a judge's or model's program. Raises CallFailed when it cannot start, takes too long or floods its output."""
    try:
        ended = await process.run(
            argv, cwd=cwd, env=process.base_environment(pass_names=pass_env), stdin=stdin.encode(), timeout=timeout
        )
    except process.NotStarted as error:
        raise CallFailed(f"it could not be started: {error.reason}", missing=True) from None
    if ended.timed_out:
        raise CallFailed(f"no reply within {timeout:g} s (--judge-timeout)")
    if ended.truncated:
        raise CallFailed("it printed more than can be a reply")
    return ended


def how_ended(ended: process.Ended) -> str:
    if ended.exit is None:
        return "was killed"
    return f"was ended by signal {-ended.exit}" if ended.exit < 0 else f"ended with exit code {ended.exit}"


def last_words(stderr: bytes) -> str:
    lines = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    text = lines[-1].strip() if lines else ""
    return text if len(text) <= 200 else text[:197] + "..."


def require_program(argv: Sequence[str], cwd: Path, *, what: str) -> None:
    """Raises UsageError, before anything is spent, when a command's program is not there."""
    try:
        process.find_program(argv[0], cwd=cwd, env=process.base_environment())
    except process.NotStarted as error:
        raise UsageError(f"{what}: {error.reason}", hint="check the spelling, or give the full path") from None
    script = _script_of(argv)
    if script == 1 and not (cwd / argv[1]).exists():
        raise UsageError(f"{what}: there is no file {argv[1]!r}", hint="check the spelling, or give the full path")


async def run_editor(
    argv: Sequence[str], brief: str, place: Path, brief_file: Path, *, timeout: float, pass_env: Sequence[str] = ()
) -> WorkDone:
    """Run one editing command in the private copy that holds `place`."""
    cwd = place if place.is_dir() else place.parent
    env = process.base_environment(
        {"HONESTONE_ARTIFACT": str(place), "HONESTONE_BRIEF": str(brief_file)}, pass_names=pass_env
    )
    try:
        ended = await process.run(argv, cwd=cwd, env=env, stdin=brief.encode(), timeout=timeout)
    except process.NotStarted as error:
        return WorkDone(ended="crashed", message=f"it could not be started: {error.reason}")
    if ended.timed_out:
        return WorkDone(ended="timeout", message=f"still working after {timeout:g} s (--worker-timeout)")
    if ended.exit == 0:
        return WorkDone(ended="exited", exit=0, message=last_words(ended.stdout))
    return WorkDone(
        ended="crashed", exit=ended.exit, message=f"it {how_ended(ended)}: {last_words(ended.stderr)}".rstrip(": ")
    )


_INTERPRETERS = re.compile(r"(python|pypy|bash|sh|zsh|dash|node|deno|perl|ruby|php)[\d.]*")


def _script_of(argv: Sequence[str]) -> int | None:
    """Which word names the script that an interpreter runs; None when it is given no file (`sh -c`, `python -m`)."""
    if not _INTERPRETERS.fullmatch(Path(argv[0]).name):
        return None
    for number, word in enumerate(argv[1:], 1):
        if word in _TAKES_CODE:
            return None
        if not word.startswith("-"):
            return number
    return None


_TAKES_CODE = ("-c", "-m", "-e", "-")


def anchor_program(argv: Sequence[str], base: Path, *, artifact: Path) -> list[str]:
    """A command whose program is named relative to `base`, made to work in any folder: its program, and the script
    that an interpreter runs, become absolute paths. The artifact and what lies in it stay as they are: there the
    command is meant to find the private copy."""
    words = list(argv)
    script = _script_of(words)
    places = [*([0] if "/" in words[0] else []), *([script] if script is not None else [])]
    for place in places:
        path = (base / words[place]).resolve()
        if path.is_file() and path != artifact and artifact not in path.parents:
            words[place] = str(base.resolve() / words[place])
    return words
