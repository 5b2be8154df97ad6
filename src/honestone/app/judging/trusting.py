"""What a checkout and a file of another tool may contact and run: said before the first call, and
trusted by a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.judging.contract import Identity
from honestone.formats.settings import read_settings
from honestone.formats.source import SuiteSource
from honestone.interop.environment import named_variables
from honestone.interop.recognise import read_any_suite
from honestone.system.drawing import count
from honestone.system.event_loop import run_coroutine
from honestone.system.trust.trust import Trust, host_of

if TYPE_CHECKING:
    from honestone.core.checking.script import Script
    from honestone.core.json_value import Json
    from honestone.formats.syntax.document import KeepCases, RunCode


class Trusted(Struct, frozen=True, kw_only=True):
    """`files` are those that `file` names or brings along; `is_trusted` says how it is now."""

    file: Path
    files: tuple[Path, ...]
    digest: str
    is_trusted: bool


def trust(workspace: Workspace, named: Path | None, *, revoke: bool) -> Trusted:
    """Trusts settings as they are now, or no longer. Raises UsageError where there are none,
    SettingsError for broken ones.
    """
    settings = workspace.settings
    if named is not None:
        settings = replace(read_settings(workspace.path(named)), here=workspace.folder)
    if settings.file is None:
        raise UsageError(
            "no honestone.toml was found here or above", hint="honestone trust FILE names one"
        )
    found = Trust(settings.file, settings.words, settings.here)
    if revoke:
        found.revoke()
    else:
        found.grant()
    return Trusted(
        file=found.file, files=tuple(found.named), digest=found.digest, is_trusted=found.holds
    )


def trust_suite(workspace: Workspace, named: Path, *, revoke: bool) -> Trusted:
    """Trusts the code of another tool's suite as it is now, or no longer. Raises UsageError where
    it runs none.
    """
    path = workspace.path(named)
    found = Trust(path, ())
    if revoke:
        found.revoke()
    else:
        source = read_any_suite(path, allow_code=True)
        if not source.code or all(one.is_fetched for one in source.code):
            raise UsageError(
                f"`{named}` runs no code that needs your permission, so it cannot be trusted",
                hint="honestone trust is for settings, and for suites of other tools with code in them",
            )
        found = _trust_of(path, source)
        found.grant()
    return Trusted(
        file=found.file, files=tuple(found.named), digest=found.digest, is_trusted=found.holds
    )


def _trust_of(path: Path, source: SuiteSource) -> Trust:
    """Whether the suite is trusted, by every file that was read: what is in a table of tests may be
    code, or be filled into code.
    """
    files = dict.fromkeys([*source.files, *(one.file for one in source.code if one.file)])
    return Trust(path, [str(file.resolve()) for file in files if file.resolve() != path.resolve()])


def is_trusted(path: Path, source: SuiteSource) -> bool:
    """Whether a person has trusted this suite's code, byte by byte."""
    return Trust(path, ()).is_on_record and not source.is_fetched and _trust_of(path, source).holds


def read_with_permission(
    path: Path,
    judging: JudgingOptions,
    outside: Sequence[Path],
    keep_cases: KeepCases | None = None,
) -> SuiteSource:
    """A suite that is to be run, with code next to it where a person allows that. Raises UsageError
    where it runs code of its own that no person has allowed, and as `read_any_suite`.
    """
    with named_variables(judging.pass_env):
        return _read_with_permission(path, judging, outside, keep_cases)


def _read_with_permission(
    path: Path, judging: JudgingOptions, outside: Sequence[Path], keep_cases: KeepCases | None
) -> SuiteSource:
    if judging.allow_code:
        return _read_allowed(path, judging, outside)
    if Trust(path, ()).is_on_record:
        source = read_any_suite(path, outside, judging.read_as, allow_code=True)
        # What is fetched may be another text each time, and be filled into code.
        if _trust_of(path, source).holds and not source.is_fetched:
            return _read_allowed(path, judging, outside, looked_at=source)
    source = read_any_suite(path, outside, judging.read_as, keep_cases=keep_cases)
    if not source.code:
        return source
    first = source.code[0]
    hint = "read it, then --allow-code runs it"
    if not source.is_fetched:
        hint += f"; or `honestone trust {path.name}`, until a byte of it changes"
    raise UsageError(
        f"`{path.name}` {_what_it_does(source)}, which needs your permission: {_code_words(source)}",
        place=first.place,
        hint=hint,
    )


def read_to_lock(path: Path, judging: JudgingOptions, outside: Sequence[Path]) -> SuiteSource:
    """A suite whose contract is wanted: nothing of it is run. Raises UsageError where code makes
    its prompts or tests, and as `read_any_suite`.
    """
    with named_variables(judging.pass_env):
        source = read_any_suite(path, outside, judging.read_as, allow_code=True)
    for one in source.code:
        if one.makes_cases:
            raise UsageError(
                f"`{path.name}` cannot be locked: {one.what}, made by code, are not known before it runs",
                place=one.place,
                hint="save what the code makes, and lock the suite that has it",
            )
    return source


def _read_allowed(
    path: Path,
    judging: JudgingOptions,
    outside: Sequence[Path],
    *,
    looked_at: SuiteSource | None = None,
) -> SuiteSource:
    """Read the suite with the prompts and tests that its code makes, which is run for that."""
    source = looked_at or read_any_suite(path, outside, judging.read_as, allow_code=True)
    if not any(one.makes_cases for one in source.code):
        return source
    from honestone.adapters.fetching import fetch

    run_code = _runner_of_code(path, judging)
    return read_any_suite(
        path, outside, judging.read_as, allow_code=True, run_code=run_code, fetch=fetch
    )


def _runner_of_code(path: Path, judging: JudgingOptions) -> RunCode:
    from honestone.adapters.checks.check_input import Setting
    from honestone.adapters.checks.scripts import values_of

    setting = Setting(
        base=path.parent,
        folder=path.parent,
        sandbox_choice=judging.sandbox,
        pass_env=tuple(judging.pass_env),
    )

    def run_code(script: Script, calls: Sequence[Sequence[Json]]) -> Sequence[Json]:
        return run_coroutine(values_of(script, calls, setting))

    return run_code


def code_notes(source: SuiteSource) -> tuple[str, ...]:
    """A note that the suite runs code of its own, for commands that only look at it."""
    if not source.code:
        return ()
    trusted = "" if source.is_fetched else ", or `honestone trust FILE`"
    where = f"({_code_words(source)}, {source.code[0].place})"
    return (f"{_what_it_does(source)} {where}: eval needs --allow-code{trusted}",)


def _what_it_does(source: SuiteSource) -> str:
    return "fetches tests" if all(one.is_fetched for one in source.code) else "runs code of its own"


def _code_words(source: SuiteSource) -> str:
    names = list(dict.fromkeys(one.what for one in source.code))
    return f"{', '.join(names[:3])}{', ...' if len(names) > 3 else ''}, in {count(len(source.code), 'place')}"


def contacts(workspace: Workspace, used: Iterable[tuple[str, Identity]]) -> list[str]:
    """In one line: the hosts that these judges, workers and targets contact (names with their
    identities), and the programs of the settings that they run. Nothing where there are none.
    """
    settings, hosts, programs = workspace.settings, [], []
    for name, identity in used:
        hosts += [host_of(url) for url in _addresses(identity)]
        for table in (settings.judges, settings.workers, settings.targets):
            command = (table.get(name.partition("#")[0]) or {}).get("command")
            if command:
                programs.append(
                    command if isinstance(command, str) else " ".join(map(str, command))
                )
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
