"""`honestone suite check`: whether a suite can be read, and what in it would show nothing when it is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.printing import dump, write
from honestone.core.authoring.suite_lint import WHY, Shown, SuiteRemark, lint_results, lint_suite, lint_with_skill
from honestone.core.errors import StoreError, UsageError

if TYPE_CHECKING:
    from honestone.app.judging_options import JudgingOptions
    from honestone.core.events import Event
    from honestone.core.skill.skill_file import Skill
    from honestone.core.suite.case import Suite
    from honestone.core.suite.summary import RunSummary
    from honestone.formats.source import SuiteSource

SCHEMA = "honestone.findings/1"
GIT_TIMEOUT = 10
MOST_RUNS = 20
"""So many of a suite's runs on record are looked at, the newest first."""


@click.command("check", short_help="Find what is wrong or weak in a suite.")
@click.argument("path", type=shared.PATH)
@click.option("--strict", is_flag=True, help="Findings exit 1; advice does not.")
@click.option("--skill", type=shared.PATH, metavar="DIR", help="The skill it is for: its structure is looked at too.")
@click.option(
    "--with-run",
    "runs",
    multiple=True,
    metavar="RUN",
    help="A run or a saved report that shows which tasks are passed. [the suite's runs on record]",
)
@click.option("--run", "is_run", is_flag=True, help="Run the tasks once without any skill, to see which need none.")
@click.option("--target", default=None, metavar="TARGET", help="With --run: who does the tasks.")
@click.option("--accept-loss", is_flag=True, help="Check the rest of a file that says what honestone cannot.")
@shared.judging_options
@shared.json_option
@shared.quiet_option
def check(
    path: Path,
    strict: bool,
    skill: Path | None,
    runs: tuple[str, ...],
    is_run: bool,
    target: str | None,
    accept_loss: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Check a suite, ours or another tool's. Errors and losses exit 2; findings exit 0, or 1 with --strict.

    Tasks that are passed without the skill, and tasks that nobody passes, are told from runs: those on record,
    those named by --with-run, or one made now by --run.
    """

    judging = shared.take_judging(options)
    if (judging.judges or target) and not is_run:
        raise UsageError("--judge and --target are for --run; nothing else asks anybody", hint="add --run")
    checked = read(path, accept_loss=accept_loss)
    checked.remarks += lint_suite(checked.source.suite)
    if skill is not None:
        _look_at_skill(checked, skill)
    shown = _shown(checked, runs)
    if is_run:
        shown += _run_bare(checked, judging, target, accept_loss=accept_loss, quiet=quiet)
    checked.remarks += lint_results(checked.source.suite, shown)
    write(dump(checked.to_plain()) + "\n" if as_json else checked.to_text())
    return 1 if strict and checked.findings else 0


@dataclass(slots=True, kw_only=True)
class Checked:
    """A suite and all that was found out about it."""

    path: Path
    source: SuiteSource
    notes: list[str] = field(default_factory=list)
    remarks: list[SuiteRemark] = field(default_factory=list)
    structure: list[Mapping[str, Any]] = field(default_factory=list)
    """Remarks on the skill's structure: advice, apart from all the rest."""

    @property
    def findings(self) -> list[SuiteRemark]:
        return [remark for remark in self.remarks if not remark.is_advice]

    @property
    def advice(self) -> list[SuiteRemark]:
        return [remark for remark in self.remarks if remark.is_advice]

    def place_of(self, remark: SuiteRemark) -> str:
        return self.source.places.get(remark.case or "", f"{self.path}:1:1")

    def to_plain(self) -> dict[str, Any]:
        suite = self.source.suite
        return {
            "schema": SCHEMA,
            "path": str(self.path),
            "format": self.source.dialect,
            "ok": not self.findings,
            "cases": len(suite.cases),
            "findings": [self._plain(remark) for remark in self.findings],
            "advice": [self._plain(remark) for remark in self.advice],
            "structure": list(self.structure),
            "notes": self.notes,
        }

    def _plain(self, remark: SuiteRemark) -> dict[str, Any]:
        return {
            "rule": remark.rule,
            "case": remark.case,
            "place": self.place_of(remark),
            "message": remark.message,
            "why": WHY[remark.rule],
            "suggestion": remark.suggestion,
        }

    def to_text(self) -> str:
        from honestone.report.draw import clean

        lines = [line for remark in self.findings for line in self._lines(remark, "")]
        lines += [line for remark in self.advice for line in self._lines(remark, "advice: ")]
        for one in self.structure:
            lines += [
                f"{one['place']}: structure: {one['message']} [{one['rule']}]",
                f"  suggestion: {one['suggestion']}",
            ]
        lines += [f"note: {note}" for note in self.notes]
        lines.append(self._summary())
        return "".join(f"{clean(line)}\n" for line in lines)

    def _lines(self, remark: SuiteRemark, kind: str) -> list[str]:
        about = f"{remark.case}: " if remark.case is not None else ""
        return [
            f"{self.place_of(remark)}: {kind}{about}{remark.message} [{remark.rule}]",
            f"  why: {WHY[remark.rule]}",
            f"  suggestion: {remark.suggestion}",
        ]

    def _summary(self) -> str:
        cases = self.source.suite.cases
        by_code = sum(1 for case in cases if not case.rubric.asks_judges)
        parts = [f"{_count(len(cases), 'case')} ({by_code} judged by code alone)", self.source.dialect]
        found, advice = len(self.findings), len(self.advice) + len(self.structure)
        told = (
            "nothing to say"
            if not found and not advice
            else ", ".join(part for part in (_count(found, "finding"), f"{advice} advice" if advice else "") if part)
        )
        return f"{', '.join(parts)}: {told}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def read(path: Path, *, accept_loss: bool = False) -> Checked:
    """The suite in a file of any format. Raises UsageError with every error, or every loss that is not accepted."""
    from honestone.formats.source import refuse_losses
    from honestone.interop.recognise import read_any_suite

    source = read_any_suite(path)
    lost = refuse_losses(source.losses, source.dialect, accepted=accept_loss)
    notes = [] if source.dialect == "honestone" else [f"read as {source.dialect}"]
    return Checked(path=path, source=source, notes=[*notes, *source.notes, *lost])


# ---------------------------------------------------------------------------------------------------- the skill


def _look_at_skill(checked: Checked, path: Path) -> None:
    from honestone.app.suites.skill_loading import load_skill, skill_folder

    folder = skill_folder(path)
    files = {checked.path.resolve(), *(file.resolve() for file in checked.source.files)}
    skill = load_skill(folder, exclude=files)
    checked.structure = structure_of(skill, folder)
    checked.remarks += lint_with_skill(
        checked.source.suite, skill.name, suite_authors=_authors(checked.path), skill_authors=_authors(folder)
    )


def structure_of(skill: Skill, folder: Path) -> list[Mapping[str, Any]]:
    """What the structure of a skill's files lets one doubt, each with its place. Never part of a score."""
    from honestone.core.skill.skill_file import SKILL_FILE
    from honestone.core.skill.structure import check_structure

    name = folder / SKILL_FILE
    return [
        {
            "rule": one.rule,
            "place": f"{name}:{one.line}:1",
            "message": one.message,
            "why": one.why,
            "suggestion": one.suggestion,
        }
        for one in check_structure(skill.version, folder=folder.resolve().name)
    ]


def _authors(path: Path) -> list[str]:
    """Whom git names as the authors of a file or folder; nobody where there is no git or no history."""
    import subprocess

    try:
        done = subprocess.run(
            ["git", "log", "-n", "200", "--format=%ae", "--", path.resolve().name],
            cwd=path.resolve().parent,
            capture_output=True,
            timeout=GIT_TIMEOUT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return sorted(set(done.stdout.decode("utf-8", "replace").split())) if done.returncode == 0 else []


# ---------------------------------------------------------------------------------------------------- what runs showed


_PASSED = {"passed": True, "failed": False}


def _shown(checked: Checked, names: tuple[str, ...]) -> list[Shown]:
    """How the tasks went in the runs named, else in those of this suite that are on record."""
    if names:
        return [one for name in names for one in shown_in(_named(name), checked.source.suite)]
    try:
        runs = list(_on_record(checked))
    except StoreError as error:
        checked.notes.append(f"the record was not looked at: {error}")
        return []
    if runs:
        checked.notes.append(f"looked at {_count(len(runs), 'run')} of it on record")
    return [one for run in runs for one in run]


def _named(name: str) -> RunSummary:
    from honestone.app.suites.baseline import find_run_summary
    from honestone.cli.workspace import here

    workspace = here()
    with workspace.open_store() as store:
        found = find_run_summary(workspace, store, name)
    if found is None:
        raise UsageError(
            f"`{name}` is neither a suite's run on record nor a saved report", hint="`honestone runs` lists runs"
        )
    return found


def _on_record(checked: Checked) -> Iterator[list[Shown]]:
    """This suite's finished runs, newest first. Nothing is made where there is no store."""
    from honestone.app.setup import open_store_for, settings_here, store_folder

    settings = settings_here()
    if not store_folder(settings).is_dir():
        return
    looked = 0
    with open_store_for(settings) as store:
        for info in store.runs():
            if info.kind == "suite" and info.subject == str(checked.path.resolve()) and info.finished:
                yield _recorded(store.events(info.id), checked.source.suite)
                looked += 1
                if looked == MOST_RUNS:
                    return


def _recorded(log: Sequence[Event], suite: Suite) -> list[Shown]:
    """What a run showed about the tasks that still ask the same and are judged by the same rubric."""
    from honestone.core.rubric import to_plain
    from honestone.core.suite.record import read_record, rubric_key

    record = read_record(log)
    if record.started.mock:
        return []
    is_bare = record.started.isolated and record.started.artifact is None
    now = {case.id: (case.input, rubric_key(to_plain(case.rubric))) for case in suite.cases}
    return [
        Shown(case=id, passed=_PASSED.get(str(one.result.status)), is_bare=is_bare)
        for id, one in record.cases.items()
        if now.get(id) == (one.case.input, one.rubric)
    ]


def shown_in(run: RunSummary, suite: Suite) -> list[Shown]:
    """How each task went on the sides of a run, as far as it asked the same. A mock run shows nothing."""
    if run.is_mock or run.target == "mock":
        return []
    asked = {case.id: case.input for case in suite.cases}
    same = {id for id, case in run.cases.items() if asked.get(id) == case.input}
    out = [Shown(case=id, passed=case.task.passed) for id, case in run.cases.items() if id in same]
    return out + [
        Shown(case=one.task_id, passed=one.passed, is_bare=run.baseline == "without")
        for one in run.baseline_tasks
        if one.task_id in same
    ]


def _run_bare(
    checked: Checked, judging: JudgingOptions, target: str | None, *, accept_loss: bool, quiet: bool
) -> list[Shown]:
    from honestone.app.suites.plan import SuiteRequest
    from honestone.app.suites.run import evaluate_suite
    from honestone.app.suites.subject import SuiteSubject
    from honestone.cli.progress import Progress
    from honestone.cli.workspace import here
    from honestone.core.suite.summary import summary_of

    request = SuiteRequest(
        suite=checked.path,
        judging=judging,
        subject=SuiteSubject.without_skill(),
        target=target,
        accept_loss=accept_loss,
        attempts=1,
    )
    with Progress(quiet=quiet) as progress:
        run = summary_of(evaluate_suite(here(), request, progress).record)
    undecided = [task.task_id for task in run.tasks if task.passed is None]
    if undecided:
        checked.notes.append(f"could not be judged: {', '.join(undecided)}")
    return [Shown(case=one.case, passed=one.passed, is_bare=True) for one in shown_in(run, checked.source.suite)]
