"""The pytest plugin: outputs held against rubrics in tests, and suite files collected as tests.

    def test_answer(honestone):
        honestone.assert_passes(answer("..."), "rubric.yaml", judge="openai:gpt-5.1")

    $ pytest suite.yaml --honestone-target claude

A case is a test: failed fails; target-error and inconclusive are errors of its set-up, for nothing was found out about
the output; skipped is skipped. Each process of pytest-xdist runs the cases it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from honestone.core.errors import HonestoneError
    from honestone.ports import Judge
    from honestone.report.documents import JsonDocument
    from honestone.report.documents.suite import CaseDoc


class CouldNotBeJudged(Exception):
    """Nothing was found out about an output: not a failure of it, and never a pass."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("honestone")
    group.addoption(
        "--honestone-target", default=None, help="what answers the cases of suites, instead of their own target"
    )
    group.addoption("--honestone-judge", action="append", default=[], help="who judges suites; repeat for a panel")
    parser.addini("honestone_suites", "suite files to collect as tests (globs)", type="linelist", default=[])
    parser.addini(
        "honestone_judges", "who judges: suites, and assert_passes without a judge", type="linelist", default=[]
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A suite that was named on the command line or is matched by `honestone_suites`. Other files are left alone."""
    named = {Path(str(name).split("::")[0]).absolute() for name in parent.config.args}
    globs: list[str] = parent.config.getini("honestone_suites")
    if file_path in named and file_path.suffix in (".yaml", ".yml", ".json", ".jsonl"):
        return SuiteFile.from_parent(parent, path=file_path)
    if any(file_path.match(glob) for glob in globs):
        return SuiteFile.from_parent(parent, path=file_path)
    return None


@pytest.fixture
def honestone(request: pytest.FixtureRequest) -> Honestone:
    """Holds outputs against rubrics."""
    return Honestone(request.path.parent, request.config.getini("honestone_judges"))


class Honestone:
    """What the fixture gives. Rubric paths are looked up in the working directory, then next to the test."""

    def __init__(self, folder: Path, judges: Sequence[str]) -> None:
        self._folder = folder
        self._judges = list(judges)

    def assert_passes(
        self,
        output: str | Path,
        rubric: str | Path,
        *,
        judge: str | Judge | Iterable[str | Judge] | None = None,
        input: str | None = None,
        reference: str | None = None,
    ) -> JsonDocument:
        """The scorecard document of an output (text, or the path of a file or folder) that passes.

        Raises AssertionError with the reasons when it does not, CouldNotBeJudged when that could not be found out.
        """
        from honestone.app.evaluate import EvaluateRequest, evaluate_one, require_pass
        from honestone.app.judging_options import JudgingOptions
        from honestone.app.loop import outside_a_loop
        from honestone.app.quiet import Quiet
        from honestone.app.workspace import Workspace
        from honestone.core.errors import CouldNotJudge

        request = EvaluateRequest(
            artifacts=(output,),
            rubric=self._find(rubric),
            judging=JudgingOptions(judges=self._panel(judge)),
            input=input,
            reference=reference,
            finds_judges=False,
            keep=False,
        )
        workspace = Workspace.at(Path())
        try:
            return require_pass(outside_a_loop(lambda: evaluate_one(workspace, request, Quiet())))
        except CouldNotJudge as error:
            raise CouldNotBeJudged(error.message) from None

    def _find(self, rubric: str | Path) -> Path:
        path = Path(rubric)
        return path if path.exists() else self._folder / path

    def _panel(self, judge: str | Judge | Iterable[str | Judge] | None) -> tuple[str | Judge, ...]:
        if judge is None:
            return tuple(self._judges)
        if isinstance(judge, str) or not isinstance(judge, Iterable):
            return (judge,)
        return tuple(judge)


class SuiteFile(pytest.File):
    """A suite file: one test a case."""

    def collect(self) -> Iterator[pytest.Item]:
        from honestone.core.errors import HonestoneError
        from honestone.interop.recognise import read_any_suite

        try:
            source = read_any_suite(self.path)
        except HonestoneError as error:
            raise self.CollectError(_said(error)) from None
        for case in source.suite.cases:
            yield CaseItem.from_parent(self, name=case.id)


class CaseItem(pytest.Item):
    """One case. It runs in the set-up, so that only a verdict on the output is a failure."""

    _case: CaseDoc

    def setup(self) -> None:
        from honestone.core.errors import HonestoneError

        try:
            self._case = self._run()
        except HonestoneError as error:
            raise CouldNotBeJudged(_said(error)) from None
        status, reasons = self._case.status, "; ".join(self._case.reasons)
        if status == "skipped":
            pytest.skip(reasons)
        if status in ("target-error", "inconclusive"):
            raise CouldNotBeJudged(f"{status}: {reasons}")

    def _run(self) -> CaseDoc:
        from honestone.app.judging_options import JudgingOptions
        from honestone.app.quiet import Quiet
        from honestone.app.suites.plan import CaseChoice, SuiteRequest
        from honestone.app.suites.run import evaluate_suite
        from honestone.app.workspace import Workspace

        judges = self.config.getoption("--honestone-judge") or self.config.getini("honestone_judges")
        request = SuiteRequest(
            suite=self.path,
            judging=JudgingOptions(judges=tuple(judges)),
            choice=CaseChoice(ids=(self.name,)),
            target=self.config.getoption("--honestone-target"),
        )
        return evaluate_suite(Workspace.at(Path()), request, Quiet()).report.cases[0]

    def runtest(self) -> None:
        if self._case.status == "failed":
            raise CaseFailed(self._case)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, CaseFailed | CouldNotBeJudged):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class CaseFailed(AssertionError):
    """A case's reasons, with what was unmet."""

    def __init__(self, case: CaseDoc) -> None:
        lines = [f"case `{case.id}` failed:", *(f"  {reason}" for reason in case.reasons)]
        items = (item for criterion in case.criteria for item in criterion.items)
        lines += [f"  unmet: {item.requirement or item.id}" for item in items if item.unmet]
        super().__init__("\n".join(lines))


def _said(error: HonestoneError) -> str:
    return "\n".join(f"{one}" + (f" ({one.hint})" if one.hint else "") for one in error.errors or (error,))
