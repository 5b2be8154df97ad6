"""`honestone rubric check`: what is wrong or weak in a rubric, what can be mended, and whether it judges as it should."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.printing import dump, write
from honestone.core.errors import StoreError, UsageError
from honestone.core.numbers import show_bar, show_points
from honestone.core.rubric import Rubric

if TYPE_CHECKING:
    from honestone.app.rubrics.history import History
    from honestone.app.rubrics.trial import GoldenRow, OracleResult
    from honestone.app.setup import JudgingOptions
    from honestone.formats.findings import Finding
    from honestone.formats.marked import Marked
    from honestone.formats.rubric_fix import Fixed

SCHEMA = "honestone.findings/1"


@click.command("check", short_help="Find what is wrong or weak in a rubric.")
@click.argument("path", type=shared.PATH)
@click.option("--strict", is_flag=True, help="Findings exit 1.")
@click.option("--fix", is_flag=True, help="Mend what is safe to mend; comments and layout stay.")
@click.option("--golden", type=shared.PATH, metavar="DIR", help="Examples with the verdict that the rubric must give.")
@click.option("--oracle", type=shared.PATH, metavar="GOOD", help="This must pass and an empty artifact must fail.")
@click.option(
    "--history/--no-history",
    "history",
    default=None,
    help="What recorded runs say about the items. [on where there is a store]",
)
@shared.judging_options
@shared.json_option
@shared.quiet_option
def check(
    path: Path,
    strict: bool,
    fix: bool,
    golden: Path | None,
    oracle: Path | None,
    history: bool | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Check a rubric, ours or another tool's. Errors exit 2; findings exit 0, or 1 with --strict.

    With --golden or --oracle judges are asked: exit 1 when a verdict is not as it must be, 3 when it cannot be told.
    """
    from honestone.app.setup import JudgingOptions

    judging = JudgingOptions.take(options)
    if judging.judges and golden is None and oracle is None:
        raise UsageError("--judge is for --golden and --oracle; nothing else asks judges", hint="leave it out")
    checked = _read(path)
    checked.history = _history(checked, history)
    if fix:
        _fix(checked, golden)
    checked.findings = _findings(checked)
    if golden is not None or oracle is not None:
        _try(checked, golden, oracle, judging, quiet=quiet)
    if as_json:
        write(dump(checked.to_plain()) + "\n")
    else:
        _tell(checked, with_table=bool(history))
    return checked.exit_code(strict=strict)


@dataclass(slots=True, kw_only=True)
class _Checked:
    """A rubric and all that was found out about it."""

    path: Path
    rubric: Rubric
    marked: Marked
    dialect: str = "honestone"
    notes: list[str] = field(default_factory=list)
    losses: list[Finding] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    fixed: Fixed | None = None
    history: History | None = None
    golden: list[GoldenRow] | None = None
    oracle: OracleResult | None = None

    @property
    def is_native(self) -> bool:
        return self.dialect == "honestone"

    @property
    def told(self) -> set[str]:
        rows = {row.told for row in self.golden or ()}
        return rows | ({self.oracle.told} if self.oracle is not None else set())

    def exit_code(self, *, strict: bool) -> int:
        if "differs" in self.told or (strict and self.findings):
            return 1
        return 3 if "undecided" in self.told else 0

    def to_plain(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "schema": SCHEMA,
            "path": str(self.path),
            "format": self.dialect,
            "ok": not self.findings and self.told <= {"as expected"},
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


# ---------------------------------------------------------------------------------------------------- reading


def _read(path: Path) -> _Checked:
    """The rubric in a file. What a foreign file says and ours cannot is a finding of its own."""
    from honestone.core.authoring.lint import WHY
    from honestone.formats.findings import Finding
    from honestone.formats.source import ForeignRubric
    from honestone.interop.recognise import read_any_rubric

    source = read_any_rubric(path)
    if not isinstance(source, ForeignRubric):
        return _Checked(path=path, rubric=source.rubric, marked=source.marked, notes=list(source.notes))
    losses = [
        Finding(
            place=loss.place,
            message=loss.message,
            rule="loss",
            why=WHY["loss"],
            suggestion=loss.hint or "say it in another way, or read the rest with --accept-loss",
        )
        for loss in source.losses
    ]
    return _Checked(
        path=path,
        rubric=source.rubric,
        marked=source.marked,
        dialect=source.dialect,
        losses=losses,
        notes=[f"read as {source.dialect}", *source.notes],
    )


def _history(checked: _Checked, wanted: bool | None) -> History | None:
    """What is on record. A store that cannot be read is a note, unless it was asked for."""
    from honestone.app.rubrics.history import read_history

    if wanted is False:
        return None
    try:
        found = read_history(checked.rubric)
    except StoreError as error:
        if wanted:
            raise
        checked.notes.append(f"the record was not looked at: {error}")
        return None
    if found is None and wanted:
        raise StoreError("there is no record of any run here", hint="`honestone eval` makes one; it lies in .honestone")
    return found if wanted or (found is not None and found.items) else None


def _findings(checked: _Checked) -> list[Finding]:
    from honestone.app.rubrics.history import history_findings, places
    from honestone.formats.findings import find

    found = [*checked.losses, *find(checked.rubric, checked.marked, is_native=checked.is_native)]
    if checked.history is not None:
        known = places(checked.rubric, checked.marked) if checked.is_native else {}
        found += history_findings(
            checked.history,
            checked.rubric,
            known or dict.fromkeys((key for key, _ in checked.rubric.questions()), checked.marked.at(())),
        )
    return found


# ---------------------------------------------------------------------------------------------------- --fix


def _fix(checked: _Checked, golden: Path | None) -> None:
    """Mend the file where it stands: at every moment it holds the old bytes or the new ones."""
    from honestone.formats.rubric_file import parse_rubric
    from honestone.formats.rubric_fix import fix_rubric
    from honestone.system.files import write_atomically

    if not checked.is_native:
        raise UsageError(
            f"--fix mends honestone's own rubrics, and {str(checked.path)!r} is {checked.dialect}",
            hint=f"honestone rubric convert {checked.path}",
        )
    data = checked.path.read_bytes()
    text = data.decode("utf-8-sig")
    checked.fixed = fix_rubric(text, str(checked.path), referred=_Referred(checked, golden))
    if checked.fixed.changes:
        mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
        write_atomically(checked.path, mark + checked.fixed.text.encode())
        source = parse_rubric(checked.fixed.text, str(checked.path))
        checked.rubric, checked.marked, checked.notes = source.rubric, source.marked, list(source.notes)


class _Referred:
    """What refers to an id: the lock, the record, or golden examples."""

    def __init__(self, checked: _Checked, golden: Path | None) -> None:
        from honestone.core.errors import FileError
        from honestone.formats.golden_file import read_examples
        from honestone.formats.lock_file import lock_path, locked_ids, read_lock

        self._by: dict[str, str] = {}
        if golden is not None:
            for example in read_examples(golden, checked.rubric)[0]:
                self._by |= dict.fromkeys(example.expect.criteria, f"the golden example {example.name}")
        if checked.history is not None:
            self._by |= dict.fromkeys(checked.history.ids, "a recorded run")
        lock = lock_path(checked.path)
        try:
            self._by |= dict.fromkeys(locked_ids(read_lock(lock)), lock.name) if lock.exists() else {}
        except FileError:
            self._everything: str | None = f"{lock.name}, which cannot be read,"
        else:
            self._everything = None

    def __call__(self, id: str) -> str | None:
        return self._everything or self._by.get(id)


# ---------------------------------------------------------------------------------------------------- examples


def _try(checked: _Checked, golden: Path | None, oracle: Path | None, judging: JudgingOptions, *, quiet: bool) -> None:
    """All examples in one go, so that one limit holds for all of them."""
    from honestone.app.rubrics.trial import Subject, Trial, empty_like, golden_row, oracle_result
    from honestone.cli.progress import Progress
    from honestone.formats.golden_file import read_examples
    from honestone.system.files import printable

    if checked.losses:
        raise UsageError(
            f"{str(checked.path)!r} says what honestone cannot represent, so its verdicts would mean something else",
            place=checked.losses[0].place,
            hint="without --golden and --oracle the losses are listed",
        )
    examples, notes = read_examples(golden, checked.rubric) if golden is not None else ([], [])
    checked.notes += notes
    paths = [example.path for example in examples] + ([oracle] if oracle is not None else [])
    trial = Trial(checked.rubric, checked.path, judging, paths)
    subjects = [Subject(name=printable(path), path=path, version=trial.load(path)) for path in paths]
    if oracle is not None:
        good = subjects[-1]
        subjects.append(Subject(name=good.name, path=oracle / "(empty)", version=empty_like(good.version)))
    with Progress(quiet=quiet) as progress:
        tried = trial.judge_all(subjects, progress.note)
    if golden is not None:
        checked.golden = [golden_row(example, one) for example, one in zip(examples, tried, strict=False)]
    if oracle is not None:
        checked.oracle = oracle_result(oracle, tried[-2], tried[-1])


# ---------------------------------------------------------------------------------------------------- printing


def _tell(checked: _Checked, *, with_table: bool) -> None:
    from honestone.report.draw import clean

    lines: list[str] = []
    if checked.fixed is not None:
        lines += _fix_lines(checked.fixed)
    for finding in checked.findings:
        lines.append(f"{finding.place}: {finding.message} [{finding.rule}]")
        lines.append(f"  why: {finding.why}")
        lines.append(f"  suggestion: {finding.suggestion}")
    if with_table and checked.history is not None:
        lines += _history_lines(checked.history)
    if checked.golden is not None:
        lines += _golden_lines(checked.golden)
    if checked.oracle is not None:
        lines += _oracle_lines(checked.oracle)
    lines += [f"note: {note}" for note in checked.notes]
    lines.append(summary(checked.rubric, len(checked.findings), broken="differs" in checked.told))
    write("".join(f"{clean(line)}\n" for line in lines))


def _fix_lines(fixed: Fixed) -> list[str]:
    lines = []
    for change in fixed.changes:
        was = f"{change.before} became {change.after}" if change.before else f"added {change.after}"
        lines += [f"{change.place}: fixed: {was} [{change.rule}]", f"  {change.why}"]
    lines += [f"not fixed: {why}" for why in fixed.left]
    return lines or ["nothing to fix"]


def _history_lines(history: History) -> list[str]:
    from honestone.app.rubrics.history import history_table

    head = f"record: {_count(len(history.record), 'artifact', 'artifacts')} in {_count(history.runs, 'run', 'runs')}"
    return (
        [head, *(f"  {row}" for row in history_table(history))]
        if history.items
        else [f"{head}; no answer to these items"]
    )


def _golden_lines(rows: Sequence[GoldenRow]) -> list[str]:
    width = max((len(row.example.name) for row in rows), default=0)
    lines = []
    for row in rows:
        card = row.tried.card
        score = show_points(card.low) if card.low == card.high else f"{show_points(card.low)}-{show_points(card.high)}"
        lines.append(
            f"golden  {row.told:<11}  {row.example.name:<{width}}  {row.tried.verdict.outcome}, {score} points"
        )
        lines += [f"        {words}" for words in row.differences]
        if row.told != "as expected":
            lines += [f"        because {reason}" for reason in row.tried.verdict.reasons]
    right = sum(row.told == "as expected" for row in rows)
    return [*lines, f"{right} of {_count(len(rows), 'golden example', 'golden examples')} as expected"]


def _oracle_lines(oracle: OracleResult) -> list[str]:
    said = {"as expected": "sound", "differs": "broken", "undecided": "undecided"}[oracle.told]
    good, empty = (
        f"{tried.verdict.outcome} ({show_points(tried.card.low)} points)" for tried in (oracle.good, oracle.empty)
    )
    lines = [f"oracle  {said}: {oracle.path} is {good}, an empty artifact is {empty}"]
    lines += [f"        {words}" for words in oracle.broken]
    if oracle.told == "undecided":
        lines += [f"        {reason}" for tried in (oracle.good, oracle.empty) for reason in tried.verdict.reasons]
    if oracle.met_by_nothing:
        lines.append(f"        met by an empty artifact: {', '.join(oracle.met_by_nothing)}")
    return lines


def summary(found: Rubric, findings: int, *, broken: bool = False) -> str:
    """One line: how much is asked, of whom, and every bar. `broken`: it gave an example another verdict than it must."""
    criteria = sum(1 for _ in found.walk())
    items = list(found.questions())
    checks = sum(1 for _, item in items if item.check is not None)
    what = f"{_count(criteria, 'criterion', 'criteria')}, {_count(len(items), 'item', 'items')} ({checks} answered by code)"
    bars = f"threshold {show_bar(found.threshold)}, floor {show_bar(found.floor) if found.floor else 'off'}"
    said = ["verdicts not as they must be"] if broken else []
    said += [_count(findings, "finding", "findings")] if findings or broken else ["sound"]
    return f"{', '.join(said)}: {what}; {bars}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
