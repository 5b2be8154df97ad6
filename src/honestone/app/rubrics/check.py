"""What is wrong or weak in a rubric, what can be fixed in its file, and whether it judges examples
as it must.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NotRequired, TypedDict

from msgspec import Struct, field

from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.workspace import Workspace
from honestone.core.errors import StoreError, UsageError
from honestone.core.judging.rubric import Rubric
from honestone.core.tables import PlainRemark

if TYPE_CHECKING:
    from honestone.app.rubrics.history import History, PlainHistory
    from honestone.app.rubrics.trial import GoldenRow, OracleResult, PlainGoldenRow, PlainOracle
    from honestone.core.authoring.lint import Remark
    from honestone.formats.rubric.rubric_fix import Fixed
    from honestone.formats.syntax.marked import Marked
    from honestone.ports import Observer

SCHEMA: Final = "honestone.findings/1"


class RubricCheckRequest(Struct, frozen=True, kw_only=True):
    """`golden` is a folder of examples with the verdict that the rubric must give; `oracle` must
    pass, and an empty artifact must fail. `history`: look at recorded runs; None looks where there
    are some. `fix` edits the file.
    """

    path: Path
    judging: JudgingOptions = field(default_factory=JudgingOptions)
    fix: bool = False
    golden: Path | None = None
    oracle: Path | None = None
    history: bool | None = None
    accept_loss: bool = False


def check_rubric(
    workspace: Workspace, request: RubricCheckRequest, observer: Observer
) -> RubricCheck:
    """Raises UsageError and its kinds for a file that is not a rubric, CouldNotJudge without judges
    for the examples.
    """
    tries = request.golden is not None or request.oracle is not None
    if request.judging.judges and not tries:
        raise UsageError(
            "--judge is for --golden and --oracle; nothing else asks judges", hint="leave it out"
        )
    checked = _read_rubric(workspace, request)
    checked.history = _history(checked, workspace, request.history)
    if request.fix:
        _fix(checked, request.golden)
    _require_checks(checked, workspace, request.judging)
    checked.findings = _findings(checked)
    if tries:
        _try(checked, workspace, request, observer)
    return checked


class PlainRubricCheck(TypedDict):
    """A `RubricCheck` as JSON: `honestone.rubric-check/1`. What was not asked for is left out."""

    schema: str
    path: str
    format: str
    ok: bool
    findings: list[PlainRemark]
    notes: list[str]
    fixed: NotRequired[list[dict[str, str]]]
    left: NotRequired[list[str]]
    history: NotRequired[PlainHistory]
    golden: NotRequired[list[PlainGoldenRow]]
    oracle: NotRequired[PlainOracle]


class RubricCheck(Struct, kw_only=True):
    """A rubric and all that was found out about it."""

    path: Path
    rubric: Rubric
    marked: Marked
    dialect: str = "honestone"
    notes: list[str] = field(default_factory=list)
    findings: list[Remark] = field(default_factory=list)
    fixed: Fixed | None = None
    history: History | None = None
    golden: list[GoldenRow] | None = None
    oracle: OracleResult | None = None

    @property
    def is_native(self) -> bool:
        return self.dialect == "honestone"

    @property
    def agreements(self) -> set[str]:
        """What became of the examples: `as expected`, `differs`, `undecided`."""
        rows = {row.agreement for row in self.golden or ()}
        return rows | ({self.oracle.agreement} if self.oracle is not None else set())

    def exit_code(self, *, strict: bool) -> int:
        """Exit code of the command: 1 for a wrong verdict (with `strict` for a finding too), 3 for
        an open one.
        """
        if "differs" in self.agreements or (strict and self.findings):
            return 1
        return 3 if "undecided" in self.agreements else 0

    def to_plain(self) -> PlainRubricCheck:
        out: PlainRubricCheck = {
            "schema": SCHEMA,
            "path": str(self.path),
            "format": self.dialect,
            "ok": not self.findings and self.agreements <= {"as expected"},
            "findings": [finding.to_plain() for finding in self.findings],
            "notes": self.notes,
        }
        if self.fixed is not None:
            out["fixed"] = [change.to_plain() for change in self.fixed.changes]
            out["left"] = list(self.fixed.left)
        if self.history is not None:
            out["history"] = self.history.to_plain()
        if self.golden is not None:
            out["golden"] = [row.to_plain() for row in self.golden]
        if self.oracle is not None:
            out["oracle"] = self.oracle.to_plain()
        return out


# ----------------------------------------------------------------------------------------------------
# reading


def _read_rubric(workspace: Workspace, request: RubricCheckRequest) -> RubricCheck:
    """The rubric in a file. Raises SourceErrors for what a foreign file says and ours cannot,
    unless that is accepted.
    """
    from honestone.formats.source import ForeignRubric, refuse_losses
    from honestone.interop.recognise import read_any_rubric

    path = workspace.path(request.path)
    source = read_any_rubric(path, request.judging.outside(workspace.path), request.judging.read_as)
    notes = list(source.notes)
    dialect = "honestone"
    if isinstance(source, ForeignRubric):
        dialect = source.dialect
        lost = refuse_losses(source.losses, dialect, accepted=request.accept_loss)
        notes = [f"read as {dialect}", *notes, *lost]
    return RubricCheck(
        path=path, rubric=source.rubric, marked=source.marked, dialect=dialect, notes=notes
    )


def _require_checks(checked: RubricCheck, workspace: Workspace, judging: JudgingOptions) -> None:
    """Raises UsageError for checks that `eval` refuses."""
    if not any(item.check is not None for _, item in checked.rubric.questions()):
        return
    from honestone.app.judging.preflight import checker_for, require_checks_of_rubric

    checker = checker_for(checked.path.parent, workspace, judging)
    require_checks_of_rubric(checked.rubric, checked.marked.at(()), checker, checked.notes)


def _history(checked: RubricCheck, workspace: Workspace, wanted: bool | None) -> History | None:
    """What is on record. A store that cannot be read is a note, unless it was asked for."""
    if wanted is False:
        return None
    if not workspace.has_store:
        if wanted:
            raise StoreError(
                "no recorded runs here", hint="`honestone eval` records one in .honestone"
            )
        return None
    from honestone.app.rubrics.history import read_history

    try:
        history = read_history(workspace, checked.rubric)
    except StoreError as error:
        if wanted:
            raise
        checked.notes.append(f"recorded runs were not read: {error}")
        return None
    return history if wanted or history.items else None


def _findings(checked: RubricCheck) -> list[Remark]:
    from honestone.formats.findings import find

    findings = find(checked.rubric, checked.marked, is_native=checked.is_native)
    if checked.history is not None:
        from honestone.app.rubrics.history import history_findings, places

        known = places(checked.rubric, checked.marked) if checked.is_native else {}
        findings += history_findings(
            checked.history,
            checked.rubric,
            known
            or dict.fromkeys((key for key, _ in checked.rubric.questions()), checked.marked.at(())),
        )
    return findings


# ----------------------------------------------------------------------------------------------------
# --fix


def _fix(checked: RubricCheck, golden: Path | None) -> None:
    """Fix the file in place: at every moment it holds the old bytes or the new ones."""
    from honestone.formats.rubric.rubric_file import parse_rubric
    from honestone.formats.rubric.rubric_fix import fix_rubric
    from honestone.system.files import write_atomically

    if not checked.is_native:
        raise UsageError(
            f"--fix edits honestone's own rubrics, and {str(checked.path)!r} is {checked.dialect}",
            hint=f"honestone rubric convert {checked.path}",
        )
    data = checked.path.read_bytes()
    text = data.decode("utf-8-sig")
    checked.fixed = fix_rubric(text, str(checked.path), referred=_Referred(checked, golden))
    if checked.fixed.changes:
        mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
        write_atomically(checked.path, mark + checked.fixed.text.encode(), through_links=True)
        source = parse_rubric(checked.fixed.text, str(checked.path))
        checked.rubric, checked.marked, checked.notes = (
            source.rubric,
            source.marked,
            list(source.notes),
        )


class _Referred:
    """What refers to an id: the lock, the record, or golden examples."""

    def __init__(self, checked: RubricCheck, golden: Path | None) -> None:
        from honestone.core.errors import FileError
        from honestone.formats.lock_file import lock_path, locked_ids, read_lock
        from honestone.formats.rubric.golden_file import read_examples

        self._by: dict[str, str] = {}
        if golden is not None:
            for example in read_examples(golden, checked.rubric)[0]:
                self._by |= dict.fromkeys(
                    example.expect.criteria, f"the golden example {example.name}"
                )
        if checked.history is not None:
            self._by |= dict.fromkeys(checked.history.ids, "a recorded run")
        lock = lock_path(checked.path)
        try:
            self._by |= (
                dict.fromkeys(locked_ids(read_lock(lock).contract), lock.name)
                if lock.exists()
                else {}
            )
        except FileError:
            self._everything: str | None = f"{lock.name}, which cannot be read,"
        else:
            self._everything = None

    def __call__(self, id: str) -> str | None:
        return self._everything or self._by.get(id)


# ----------------------------------------------------------------------------------------------------
# examples


def _try(
    checked: RubricCheck, workspace: Workspace, request: RubricCheckRequest, observer: Observer
) -> None:
    """All examples in one go, so that one limit holds for all of them."""
    golden, oracle = request.golden, request.oracle
    from honestone.app.rubrics.trial import (
        ExampleSubject,
        Trial,
        empty_like,
        golden_row,
        oracle_result,
    )
    from honestone.formats.rubric.golden_file import read_examples
    from honestone.system.files import printable

    examples, notes = read_examples(golden, checked.rubric) if golden is not None else ([], [])
    checked.notes += notes
    paths = [example.path for example in examples] + ([oracle] if oracle is not None else [])
    trial = Trial(workspace, checked.rubric, checked.path, request.judging, paths)
    subjects = [
        ExampleSubject(name=printable(path), path=path, version=trial.load(path)) for path in paths
    ]
    if oracle is not None:
        good = subjects[-1]
        subjects.append(
            ExampleSubject(
                name=good.name, path=oracle / "(empty)", version=empty_like(good.version)
            )
        )
    tried = trial.judge_all(subjects, observer.note)
    if golden is not None:
        checked.golden = [
            golden_row(example, one) for example, one in zip(examples, tried, strict=False)
        ]
    if oracle is not None:
        checked.oracle = oracle_result(oracle, tried[-2], tried[-1])
