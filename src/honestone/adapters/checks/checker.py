"""The checker: gives each check of a rubric to the family that can answer it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol, cast

from msgspec.structs import replace

from honestone.adapters.checks import computing
from honestone.adapters.checks import text as text_checks
from honestone.adapters.checks.check_input import Setting, Subject
from honestone.core.artifact import Version
from honestone.core.checking.checks import (
    KINDS,
    CheckAnswer,
    GaveUp,
    TextCheck,
    compile_text_check,
    is_text_check,
    is_transformed,
    visible,
)
from honestone.core.judging.rubric import Check
from honestone.ports import Embedder, Finding, Once, Output
from honestone.system.files import printable
from honestone.system.telemetry import is_traced, span_of


class Needs(Protocol):
    """The same module's part about what a check needs besides a text."""

    def identity(self, check: Check, setting: Setting) -> Mapping[str, Any]: ...

    def preflight(self, check: Check, setting: Setting, version: Version | None) -> None: ...

    def judging_files(self, check: Check, setting: Setting) -> list[Path]: ...


FAMILIES: Final = {
    **computing.COMPUTING,
    **{name: f"honestone.adapters.checks.{name}" for name in ("code", "scripts", "embeddings")},
}

_MET: Final = Finding(met=True)


class CheckRunner:
    """Implements ports.Checker. `base` is the rubric's folder, where programs, tests, schemas and
    modules are looked up. `folder` is where the command works; what is in `closed` (the project,
    the store) no program sees, but each may read the folders that are `allowed`.

    `artifacts` are the paths on disk of what is judged: a program among their files is never taken
    from disk, but from the version, and does not count for a check's identity. `pass_env` names
    variables that code may see besides the harmless ones. `embedder` makes the vectors of
    `similar`.
    """

    def __init__(
        self,
        base: Path,
        sandbox: str = "auto",
        timeout: float = 60,
        pass_env: Iterable[str] = (),
        *,
        artifacts: Iterable[Path] = (),
        folder: Path = Path(),
        closed: Iterable[Path] = (),
        allowed: Iterable[Path] = (),
        embedder: Embedder | None = None,
    ) -> None:
        self._setting = Setting(
            base=base,
            folder=folder,
            closed=tuple(closed),
            allowed=tuple(allowed),
            sandbox_choice=sandbox,
            timeout=timeout,
            pass_env=tuple(pass_env),
            artifacts=tuple(artifacts),
            embedder=embedder,
        )
        self._compiled: dict[int, tuple[Check, TextCheck]] = {}

    @property
    def embedder(self) -> Embedder | None:
        return self._setting.embedder

    def preflight(self, checks: Iterable[Check], version: Version | None = None) -> None:
        """Raises UsageError for a check that cannot run here: no such program, tests, module,
        library or sandbox.

        With `version`, a relative path has to be next to the rubric or in it; without, it may still
        be in one.
        """
        for check in checks:
            for needs in _needs(check):
                needs.preflight(check, self._setting, version)

    def identity(self, check: Check) -> Mapping[str, Any]:
        """The check, the package that adds its kind, the digest of every file that it uses and that
        is not judged, and the sandbox if code runs.
        """
        written = {"check": check.name, "value": check.value, "options": dict(check.options)}
        if package := KINDS[check.kind].package:
            written["package"] = package
        for needs in _needs(check):
            written |= needs.identity(check, self._setting)
        return written

    def judging_files(self, checks: Iterable[Check]) -> list[Path]:
        """The tests, modules and schemas on disk that judge. Should they be in the artifact, they
        do not count as its files.
        """
        return [
            path
            for check in checks
            for needs in _needs(check)
            for path in needs.judging_files(check, self._setting)
        ]

    def would_judge(self, checks: Sequence[Check], before: Version, after: Version) -> list[str]:
        """The names of files that differ between two versions and judge: a proposal may not touch
        them.
        """
        from honestone.adapters.checks.judged_paths import would_judge

        return would_judge(checks, self._setting, before, after)

    def judging_names(self, checks: Sequence[Check], version: Version) -> list[str]:
        """The files of a version by which these checks judge it."""
        from honestone.adapters.checks.judged_paths import judging_names

        return sorted(
            {name for check in checks for name in judging_names(check, self._setting, version)}
        )

    def compile(self, check: Check) -> TextCheck | None:
        """A check of the text alone, compiled once per check; None when it needs files, code, a
        diff or a trace.
        """
        known = self._compiled.get(id(check))
        if known is not None:
            return known[1]
        if not is_text_check(check) or not _OF_TEXT.isdisjoint(check.options):
            return None
        compiled = compile_text_check(check)
        self._compiled[id(check)] = (
            check,
            compiled,
        )  # with the check, so that its id stays its own
        return compiled

    def run_texts(self, compiled: Sequence[TextCheck], text: str) -> list[CheckAnswer]:
        """Compiled checks of one text, in their order, for who awaits nothing (`TextEvaluator`)."""
        return text_checks.text_answers(compiled, text)

    async def run(
        self,
        checks: Sequence[Check],
        version: Version,
        output: Output | None = None,
        *,
        input: str | None = None,
        reference: str | None = None,
        once: Once | None = None,
    ) -> list[Finding]:
        with Subject(
            self._setting, version, output, input=input, reference=reference, once=once
        ) as subject:
            return await self.answers(checks, subject)

    async def answers(self, checks: Sequence[Check], subject: Subject) -> list[Finding]:
        """The same of what is judged and is at hand."""
        compiled = [self.compile(check) for check in checks]
        texts = [one for one in compiled if one is not None]
        text_answers = iter(
            await computing.answers_in_reach(texts, subject.text, self._setting) if texts else ()
        )
        return [
            _finding(*next(text_answers)) if one is not None else await _find(check, subject)
            for check, one in zip(checks, compiled, strict=True)
        ]


def _finding(met: bool | None, note: str | None) -> Finding:
    return _MET if met else Finding(met=met, note=note)


# Options by which a check of a text looks at something else.
_OF_TEXT: Final = frozenset({"path", "in", "transform"})


# The families whose checks run a program of the rubric's author.
_PROGRAMS: Final = frozenset({"code", "scripts"})


async def _find(check: Check, subject: Subject) -> Finding:
    if KINDS[check.kind].family not in _PROGRAMS or not is_traced():
        return await _found(check, subject)
    from honestone.core.record.telemetry import CallAnswer, TracedCall

    with span_of(TracedCall(role="check", name=check.kind, identity={})) as span:
        finding = await _found(check, subject)
        span.answered(CallAnswer(text=lambda: finding.note or ""))
        if finding.met is None:
            span.failed("no_answer", finding.note or "")
        return finding


async def _found(check: Check, subject: Subject) -> Finding:
    names_schema = check.kind == "json-schema" and isinstance(check.value, str)
    if KINDS[check.kind].family not in _PROGRAMS and not names_schema:
        return await _answered(check, subject)
    from honestone.adapters.checks.judged_paths import changed_between, laid_over

    output = subject.output
    if output is None or output.files is None or output.start is None:
        return _with_judging(await _answered(check, subject), check, subject)
    files = laid_over(check, subject.setting, output.start, output.files)
    if files is output.files:
        return _with_judging(await _answered(check, subject), check, subject)
    with subject.with_files(files) as restored:
        finding = _with_judging(await _answered(check, restored), check, restored)
    return replace(finding, restored=tuple(changed_between(files, output.files)[:_MOST_NAMES]))


_MOST_NAMES: Final = 100


def _with_judging(finding: Finding, check: Check, subject: Subject) -> Finding:
    """The finding with the files that judged, of the artifact and next to the rubric, and with what
    names files that only running it would tell.
    """
    from honestone.adapters.checks.judged_paths import judging_names, unnamed_parts

    setting, version = subject.setting, subject.version
    outside = [
        printable(os.path.relpath(path, setting.base))
        for needs in _needs(check)
        for path in needs.judging_files(check, setting)
    ]
    unnamed = [
        f"files that cannot be named (`{visible(part, 60)}`)"
        for part in unnamed_parts(check, setting, version)
    ]
    found = [*unnamed, *outside, *judging_names(check, setting, version)]
    return replace(finding, judged_by=tuple(dict.fromkeys(found))[:_MOST_NAMES])


async def _answered(check: Check, subject: Subject) -> Finding:
    """The answer of a check's family. A bound that is met on the way is an answer of its own,
    whatever the family and whether it is negated or not.
    """
    try:
        return await _by_family(check, subject)
    except GaveUp as why:
        return Finding(met=None, note=visible(str(why)))


async def _by_family(check: Check, subject: Subject) -> Finding:
    if not is_transformed(check):
        return await _in_reach(check, subject)
    from honestone.adapters.checks.scripts import transformed

    changed = await transformed(check, subject)
    if isinstance(changed, Finding):
        return changed
    with changed:
        return await _in_reach(check, changed)


async def _in_reach(check: Check, subject: Subject) -> Finding:
    """What the check's family finds, so that signals and deadlines are met meanwhile."""
    family = cast(computing.Family, _family(check))
    if KINDS[check.kind].family in computing.COMPUTING:
        return await computing.found(family, check, subject)
    return await family.find(check, subject)


def _needs(check: Check) -> Iterator[Needs]:
    """What knows of a check's files and programs; nothing where an output is all that it needs."""
    if KINDS[check.kind].family not in ("text", "trace", "likeness"):
        yield cast(Needs, _family(check))
    if is_transformed(check):
        yield cast(Needs, import_module(FAMILIES["scripts"]))


def _family(check: Check) -> ModuleType:
    return import_module(FAMILIES[KINDS[check.kind].family])
