"""Judges measured against people: every labelled artifact is judged, and the answers are compared
with the labels.

A calibration is a run of its own next to the evaluation that it is about. It holds for a judge
under the rubric, the options and the judge's identity that the evaluation recorded.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.judging.evaluate import EvaluateRequest, evaluate
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.judging.measured.calibrations import MEASURED, calibration_document
from honestone.app.judging.rubric_plan import RubricPlan
from honestone.app.trust.label_texts import require_outside
from honestone.app.trust.measuring import refuse_repeat
from honestone.app.workspace import Workspace
from honestone.core.errors import CouldNotJudge, FileError, UsageError
from honestone.core.events import CalibrationStarted, EvaluationStarted, RunFinished
from honestone.core.judging.rubric import Rubric
from honestone.core.statistics.labels import PersonLabel
from honestone.formats.labels_file import read_labels
from honestone.formats.source import SourceErrors
from honestone.ports import Observer, Store
from honestone.report.documents import fields_of
from honestone.report.documents.trust.calibration import CalibrationDoc
from honestone.system.files import printable


class CalibrateRequest(Struct, frozen=True, kw_only=True):
    """Which labels judges are measured against. `population`: other artifacts, whose rate of passes
    is put right.
    """

    labels: Path
    rubric: Path | Rubric
    judging: JudgingOptions
    population: tuple[Path, ...] = ()
    accept_loss: bool = False


def calibrate_judges(
    workspace: Workspace, request: CalibrateRequest, observer: Observer
) -> CalibrationDoc:
    """Judge what is labelled, with replies on record where there are any, and keep what that comes
    to.

    Raises UsageError and its kinds before anything is spent, Interrupted; the same command resumes.
    """
    refuse_repeat(
        request.judging,
        "every judge is measured by one look",
        "`honestone judges noise` looks again",
    )
    judging = replace(request.judging, repeat=1)
    plan = RubricPlan.read(workspace, request.rubric, judging, (), accept_loss=request.accept_loss)
    if not plan.rubric.asks_judges:
        raise UsageError(
            "this rubric asks no judge, so there is none to measure",
            hint="code answers all of its items",
        )
    labels, outdated = _labels(workspace, plan, request)
    asked = EvaluateRequest(
        measures=True,
        artifacts=tuple(
            dict.fromkeys([*(Path(label.artifact) for label in labels), *request.population])
        ),
        rubric=request.rubric,
        judging=judging,
        accept_loss=request.accept_loss,
    )
    done = evaluate(workspace, asked, observer, lambda _: None)
    assert done.run is not None
    with workspace.open_store() as store:
        first = _evaluation(store, done.run)
        started = CalibrationStarted(
            **fields_of(
                first, "contract", "contract_id", "rule", "panel", "limits", "rubric", "rubric_path"
            ),
            of_run=done.run,
            labels=tuple(replace(label, artifact=printable(label.artifact)) for label in labels),
            labels_path=printable(request.labels),
            outdated=outdated,
            population=tuple(map(printable, request.population)),
        )
        run = store.start_run(
            kind=str(CalibrationStarted.kind),
            subject=printable(request.labels),
            identity="",
            contract=first.contract_id,
            first=started,
        )
        document = calibration_document(store, run)
        result = MEASURED if any(judge.units for judge in document.judges) else "inconclusive"
        store.finish_run(run, result, RunFinished(result=result))
    return document


def require_measured(document: CalibrationDoc) -> None:
    """Raises CouldNotJudge where no judge answered anything that is labelled."""
    if not any(judge.units for judge in document.judges):
        why = next(
            (judge.reason for judge in document.judges if judge.reason),
            "they gave no usable answer",
        )
        raise CouldNotJudge(f"no judge answered what is labelled: {why}")


def _labels(
    workspace: Workspace, plan: RubricPlan, request: CalibrateRequest
) -> tuple[list[PersonLabel], int]:
    """The labels of the bytes that are here, with the paths of their artifacts from here, and how
    many are of others.

    Raises SourceErrors for artifacts that cannot be read, FileError where no label is left.
    """
    path = workspace.path(request.labels)
    labels = read_labels(path, plan.rubric)
    if not labels:
        raise FileError(
            f"`{request.labels}` has no labels",
            hint=f"honestone judges label ARTIFACT... --rubric {request.rubric} --labels {request.labels} --rater NAME",
        )
    placed = [
        replace(label, artifact=os.path.normpath(request.labels.parent / label.artifact))
        for label in labels
    ]
    digests = _digests(plan, placed, request.labels.name)
    for artifact in digests:
        require_outside(path, workspace.path(artifact))
    current = [label for label in placed if label.digest in (None, digests[label.artifact])]
    if not current:
        raise FileError(
            f"every artifact in `{request.labels}` has changed since it was labelled",
            hint="label them again: `honestone judges label` asks what is open",
        )
    return current, len(placed) - len(current)


def _digests(plan: RubricPlan, labels: Sequence[PersonLabel], name: str) -> dict[str, str]:
    """The digest of each labelled artifact, by its path. Raises SourceErrors with each artifact
    that cannot be read, and the line that names it.
    """
    digests: dict[str, str] = {}
    problems: list[UsageError] = []
    for label in labels:
        if label.artifact in digests:
            continue
        digests[label.artifact] = ""
        try:
            digests[label.artifact] = plan.load(Path(label.artifact)).version.digest
        except FileError as error:
            hint = error.hint or "paths in a labels file are relative to that file"
            problems.append(FileError(error.message, place=f"{name}:{label.line}", hint=hint))
    if problems:
        raise SourceErrors(problems)
    return digests


def _evaluation(store: Store, run: str) -> EvaluationStarted:
    first = next(store.iter_events(run))
    assert isinstance(first, EvaluationStarted)
    return first
