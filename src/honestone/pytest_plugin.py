"""The pytest plugin: outputs held against rubrics in tests, and suite files collected as tests.

    def test_answer(honestone):
        honestone.assert_passes(answer("..."), "rubric.yaml", judge="openai:gpt-5.1")

    $ pytest suite.yaml --honestone-target claude

A case is a test, and so is the gate of a suite under `sure`: failed fails; target-error and inconclusive are errors of its set-up, for nothing
was found out about the output; skipped is skipped. The chosen cases of a suite are one run, made
when the first of them is needed, as `honestone eval` makes it. Processes of pytest-xdist share it:
one makes it, the others wait.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from honestone.app.doors.given import GivenRubric, Judges
    from honestone.app.suites.running.once import FoundOut
    from honestone.core.errors import HonestoneError
    from honestone.core.judging.rubric import Rubric
    from honestone.formats.source import SuiteSource
    from honestone.report.documents import JsonDocument
    from honestone.report.documents.belief import BeliefDoc
    from honestone.report.documents.suite_case import CaseDoc


class CouldNotBeJudged(Exception):
    """Nothing was found out about an output: not a failure of it, and never a pass. `why` is for a
    summary.
    """

    def __init__(self, text: str, why: str = "") -> None:
        super().__init__(text)
        self.why = why or text.partition("\n")[0]


class CaseFailed(AssertionError):
    """A case did not pass. `why` is for a summary."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(text)
        self.why = why


_SHARED = pytest.StashKey[Path]()
# The name of the property of a test's report that says that one judge alone gave a verdict.
_LOW_CONFIDENCE = "low-confidence"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("honestone")
    group.addoption(
        "--honestone-target",
        default=None,
        help="what answers the cases of suites, instead of their own target",
    )
    group.addoption(
        "--honestone-judge",
        action="append",
        default=[],
        help="who judges suites; repeat for a panel",
    )
    parser.addini(
        "honestone_suites", "suite files to collect as tests (globs)", type="linelist", default=[]
    )
    parser.addini(
        "honestone_judges",
        "who judges: suites, and assert_passes without a judge",
        type="linelist",
        default=[],
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Called by pytest-xdist for each process it starts, in the one that starts them: all get one
    folder to share.
    """
    from honestone.system.processes.private import make_private

    stash = node.config.stash
    if _SHARED not in stash:
        stash[_SHARED] = make_private("honestone-pytest-")
    node.workerinput["honestone"] = str(stash[_SHARED])


def pytest_unconfigure(config: pytest.Config) -> None:
    from honestone.system.files import remove
    from honestone.system.processes.private import forget

    if (place := config.stash.get(_SHARED, None)) is not None:
        remove(place)
        forget(place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """pytest asks an item for its words only where the test itself failed, not its set-up."""
    report = yield
    if (
        isinstance(item, _SuiteItem)
        and call.excinfo is not None
        and isinstance(call.excinfo.value, CouldNotBeJudged)
    ):
        report.longrepr = item.repr_failure(call.excinfo)
    return report


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A suite that was named on the command line or is matched by `honestone_suites`. Other files
    are left alone.
    """
    named = {Path(str(name).split("::")[0]).absolute() for name in parent.config.args}
    globs: list[str] = parent.config.getini("honestone_suites")
    if file_path in named and file_path.suffix in (".yaml", ".yml", ".json", ".jsonl"):
        return SuiteFile.from_parent(parent, path=file_path)
    if any(file_path.match(glob) for glob in globs):
        return SuiteFile.from_parent(parent, path=file_path)
    return None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Which tests rest on the verdict of one judge: a summary of passed tests alone would not say
    it.
    """
    reports = [report for found in terminalreporter.stats.values() for report in found]
    lonely = {
        report.nodeid: warning
        for report in reports
        if isinstance(report, pytest.TestReport)
        for name, warning in report.user_properties
        if name == _LOW_CONFIDENCE
    }
    if not lonely:
        return
    terminalreporter.section("honestone: LOW CONFIDENCE")
    for nodeid, warning in lonely.items():
        terminalreporter.line(f"{nodeid}: {warning}")


def _note_lonely(item: pytest.Item, warnings: Iterable[tuple[str, str]]) -> None:
    """Record in the report of a test, and so in its JUnit XML, that one judge alone gave a verdict
    of it.
    """
    noted = (
        _LOW_CONFIDENCE,
        next((warning for name, warning in warnings if name == "LOW CONFIDENCE"), ""),
    )
    if noted[1] and noted not in item.user_properties:
        item.user_properties.append(noted)


def _note_belief(item: pytest.Item, belief: BeliefDoc | None, chance: float | None) -> None:
    """Record in the same places how probable it is that what was judged passes."""
    if belief is not None and belief.is_stated and chance is not None:
        item.user_properties.append(("probability", chance))


@pytest.fixture
def honestone(request: pytest.FixtureRequest) -> Honestone:
    """Holds outputs against rubrics."""
    return Honestone(request.path.parent, request.config.getini("honestone_judges"), request.node)


class Honestone:
    """What the fixture gives. Rubric paths are looked up in the working directory, then next to the
    test.
    """

    def __init__(self, folder: Path, judges: Sequence[str], test: pytest.Item) -> None:
        self._folder = folder
        self._judges = list(judges)
        self._test = test

    def assert_passes(
        self,
        output: str | Path,
        rubric: GivenRubric,
        *,
        judge: Judges | None = None,
        input: str | None = None,
        reference: str | None = None,
        sure: float | None = None,
        max_looks: int | None = None,
    ) -> JsonDocument:
        """The scorecard document of an output (a text, or the Path of a file or folder) that
        passes. `sure` and `max_looks` are those of `honestone eval`.

        Raises AssertionError with the reasons when it does not, CouldNotBeJudged when that could
        not be found out.
        """
        __tracebackhide__ = True
        from honestone.app.between_calls import keeping_open
        from honestone.app.doors import given
        from honestone.app.doors.quiet import Quiet
        from honestone.app.judging.evaluate import EvaluateRequest, evaluate_one, require_pass
        from honestone.app.judging.judging_options import JudgingOptions
        from honestone.app.workspace import Workspace
        from honestone.core.errors import CouldNotJudge, HonestoneError
        from honestone.system.event_loop import run_blocking

        try:
            workspace = Workspace.at(Path())
            judges = given.several(self._judges if judge is None else judge, "judge", given.a_judge)
            artifact = given.text_or_path(output, workspace, "output")
            request = EvaluateRequest(
                artifacts=(artifact,),
                rubric=self._find(given.a_rubric(rubric, workspace)),
                judging=JudgingOptions(judges=judges, sure=sure, max_looks=max_looks),
                input=input,
                reference=reference,
                finds_judges=False,
                keep=False,
            )
            found = run_blocking(
                lambda: keeping_open(lambda: evaluate_one(workspace, request, Quiet()))
            )
            _note_lonely(self._test, found.report.warnings)
            belief = found.belief
            _note_belief(self._test, belief, None if belief is None else belief.probability)
            return require_pass(found, artifact, input)
        except CouldNotJudge as error:
            raise CouldNotBeJudged(error.message) from None
        except HonestoneError as error:
            raise error.with_traceback(None) from None

    def _find(self, rubric: Rubric | Path) -> Rubric | Path:
        return self._folder / rubric if isinstance(rubric, Path) and not rubric.exists() else rubric


class SuiteFile(pytest.File):
    """A suite file: one test a case, one run for all."""

    _source: SuiteSource
    _found: FoundOut | HonestoneError | None = None

    def collect(self) -> Iterator[pytest.Item]:
        from honestone.core.errors import HonestoneError
        from honestone.interop.recognise import read_any_suite

        try:
            self._source = read_any_suite(self.path)
            if self._source.code:
                self._source = self._read_with_permission()
        except HonestoneError as error:
            raise self.CollectError(_error_text(error)) from None
        for case in self._source.suite.cases:
            yield CaseItem.from_parent(self, name=case.id)
        if self._source.suite.sure is not None:
            yield GateItem.from_parent(self, name="gate")

    def _read_with_permission(self) -> SuiteSource:
        """A suite with code of its own. Raises UsageError where no person trusts it."""
        from honestone.app.judging.judging_options import JudgingOptions
        from honestone.app.judging.trusting import read_with_permission

        return read_with_permission(self.path, JudgingOptions(), ())

    def found(self) -> FoundOut:
        """The first that asks runs all cases that were chosen. Raises HonestoneError."""
        from honestone.core.errors import HonestoneError, Interrupted

        if self._found is None:
            try:
                self._found = self._shared_run()
            except Interrupted:
                raise KeyboardInterrupt from None
            except HonestoneError as error:
                self._found = error
        if isinstance(self._found, HonestoneError):
            raise self._found
        return self._found

    def _shared_run(self) -> FoundOut:
        from honestone.app.suites.running.once import run_once

        shared = Path(vars(self.config).get("workerinput", {}).get("honestone", ""))
        if shared == Path() or not shared.is_dir():  # alone, or on another machine
            return self._run()
        return run_once(shared, str(self.path), self._run)

    def _run(self) -> FoundOut:
        from honestone.app.doors.quiet import Quiet
        from honestone.app.judging.judging_options import JudgingOptions
        from honestone.app.suites.choice import CaseChoice
        from honestone.app.suites.plan import SuiteRequest
        from honestone.app.suites.running.once import found_by
        from honestone.app.suites.running.table import evaluate_columns
        from honestone.app.workspace import Workspace
        from honestone.system.event_loop import run_blocking

        judges = self.config.getoption("--honestone-judge") or self.config.getini(
            "honestone_judges"
        )
        chosen = [
            item.name
            for item in self.session.items
            if isinstance(item, CaseItem) and item.path == self.path
        ]
        is_whole = len(set(chosen)) in (0, len(self._source.suite.cases))
        here = Path.cwd()
        request = SuiteRequest(
            suite=self.path.relative_to(here) if self.path.is_relative_to(here) else self.path,
            source=self._source,
            judging=JudgingOptions(judges=tuple(judges)),
            choice=CaseChoice() if is_whole else CaseChoice(ids=tuple(chosen)),
            target=self.config.getoption("--honestone-target"),
        )
        return found_by(
            run_blocking(lambda: evaluate_columns(Workspace.at(Path()), request, Quiet()))
        )


class _SuiteItem(pytest.Item):
    """Something that a run of a suite finds out."""

    def found(self) -> FoundOut:
        from honestone.core.errors import HonestoneError

        assert isinstance(self.parent, SuiteFile)
        try:
            return self.parent.found()
        except HonestoneError as error:
            raise CouldNotBeJudged(_error_text(error)) from None

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Its own words, and in the short summary why it failed."""
        if not isinstance(excinfo.value, CaseFailed | CouldNotBeJudged):
            return super().repr_failure(excinfo, style)
        found = excinfo.getrepr(style="value")
        if found.reprcrash is not None:
            found.reprcrash.message = excinfo.value.why
        return found

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class GateItem(_SuiteItem):
    """What the cases come to together, of a suite that says how sure that has to be."""

    _failed: list[tuple[str, str]]

    def setup(self) -> None:
        sides = self.found().verdicts
        for one in sides:
            _note_belief(self, one.belief, None if one.belief is None else one.belief.probability)
        rows = [
            (
                one.verdict,
                "\n".join([one.words, *one.reasons]),
                "; ".join([one.words, *one.reasons]),
            )
            for one in sides
        ]
        self._failed = [(text, why) for verdict, text, why in rows if verdict == "fail"]
        for verdict, text, why in rows:
            if verdict == "inconclusive" and not self._failed:
                raise CouldNotBeJudged(text, why)
        if all(verdict == "skipped" for verdict, _, _ in rows):
            pytest.skip(rows[0][2])

    def runtest(self) -> None:
        for text, why in self._failed:
            raise CaseFailed(text, why)


class CaseItem(_SuiteItem):
    """One case. It is judged in the set-up, so that only a verdict on the output is a failure."""

    _open: list[tuple[str, CaseDoc]]

    def setup(self) -> None:
        found = self.found().cases[self.name]
        for _, case in found:
            _note_lonely(self, case.warnings)
            _note_belief(self, case.belief, case.probability)
        self._open = [(column, case) for column, case in found if case.is_open]
        if all(case.status == "skipped" for _, case in found):
            pytest.skip("; ".join(found[0][1].reasons))
        if self._open and not self._has_failed:
            raise CouldNotBeJudged(*_misses_and_why(self._open))

    @property
    def _has_failed(self) -> bool:
        return any(case.status == "failed" for _, case in self._open)

    def runtest(self) -> None:
        if self._has_failed:
            raise CaseFailed(*_misses_and_why(self._open))


def _misses_and_why(found: list[tuple[str, CaseDoc]]) -> tuple[str, str]:
    """Input, output and every miss, of each column that has one; and why in one line."""
    from honestone.report.case_text import case_lines
    from honestone.report.misses import why
    from honestone.system.drawing import line

    lines, reasons = [], []
    for column, case in found:
        lines += [*([line(column)] if column else []), *case_lines(case)]
        reasons += [f"{reason} ({line(column)})" if column else reason for reason in why(case)]
    return "\n".join(lines), "; ".join(reasons)


def _error_text(error: HonestoneError) -> str:
    return "\n".join(
        f"{one}" + (f" ({one.hint})" if one.hint else "") for one in error.errors or (error,)
    )
