"""The commands that measure judges and raters, and those that read the record, as Python functions:
`calibrate`, `noise`, `audit`, `agreement`, `label`, `runs`, `show`, `rescore`. As in
`honestone.api`, each takes the options of its command.

Without `store` nothing is stored.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TypeVar, Unpack

from msgspec import Struct

from honestone.api.calls import awaited, checked, make_judging, make_workspace, one_or_several
from honestone.app.doors import given
from honestone.app.doors.given import GivenRubric, Judges
from honestone.app.doors.measured import (
    AgreementResult,
    AuditResult,
    CalibrationResult,
    NoiseResult,
    RecordedResult,
)
from honestone.app.doors.quiet import Quiet
from honestone.app.event_loop import run_stoppable
from honestone.app.judging.given_tables import GivenTexts, plain_rows, texts_by_id
from honestone.app.judging.labelling import AskPerson, Labels, label_texts, require_rater
from honestone.app.judging.rubric_plan import load_rubric
from honestone.app.keywords import JudgingKeywords
from honestone.app.runs.rescore import RescoreRequest
from honestone.app.runs.rescore import rescore as rescore_run
from honestone.app.runs.run_list import ListedRun, list_runs
from honestone.app.runs.shown import rescored_result, shown_run
from honestone.app.trust.agreement import AgreementRequest, measure_agreement
from honestone.app.trust.audit import AuditRequest, below
from honestone.app.trust.audit import audit as audit_judges
from honestone.app.trust.calibrate import CalibrateRequest, calibrate_judges
from honestone.app.trust.label import LabelRequest, LabelSession
from honestone.app.trust.noise import LOOKS, NoiseRequest, measure_noise
from honestone.app.workspace import Workspace
from honestone.core.audit.verdict import Tier
from honestone.core.errors import UsageError
from honestone.core.judging.rubric import Rubric
from honestone.core.statistics.agreement import Level
from honestone.formats.ratings import Columns, parse_scale
from honestone.system.screen import has_screen

__all__ = [
    "AgreementResult",
    "AuditResult",
    "CalibrationResult",
    "Labels",
    "NoiseResult",
    "RecordedResult",
    "aaudit",
    "acalibrate",
    "agreement",
    "alabel",
    "anoise",
    "arescore",
    "audit",
    "calibrate",
    "label",
    "noise",
    "rescore",
    "runs",
    "show",
]

T = TypeVar("T")
GivenPath = str | PathLike[str]


@contextmanager
def _stored(folder: GivenPath | None, store: GivenPath | None) -> Iterator[Workspace]:
    """A workspace with the given store, or with one that is deleted at the end."""
    if store is not None:
        yield make_workspace(folder, store)
        return
    with tempfile.TemporaryDirectory(prefix="honestone-") as place:
        yield make_workspace(folder, Path(place) / "store")


def _with_store(
    folder: GivenPath | None, store: GivenPath | None, work: Callable[[Workspace], T]
) -> T:
    """Run a use case in the workspace of a call."""
    with _stored(folder, store) as workspace:
        return run_stoppable(lambda: work(workspace))


@checked
def calibrate(
    labels: GivenPath,
    rubric: GivenRubric,
    *,
    judges: Judges = (),
    artifacts: GivenPath | Sequence[GivenPath] = (),
    strict: bool = False,
    accept_loss: bool = False,
    folder: GivenPath | None = None,
    store: GivenPath | None = None,
    **options: Unpack[JudgingKeywords],
) -> CalibrationResult:
    """Judge every artifact of a file with labels, and compare the answers with those of people, as
    `honestone calibrate` does. `artifacts` have no labels: their pass rate is corrected for the
    errors of the judges.

    For labels in a data frame there is `evaluate_many(...).calibrate(labels)`. Raises UsageError
    for a wrong call or file, before anything is spent.
    """

    def work(workspace: Workspace) -> CalibrationResult:
        request = CalibrateRequest(
            labels=given.a_file(labels, "labels"),
            rubric=given.a_rubric(rubric, workspace),
            judging=make_judging(judges, options),
            population=given.several(artifacts, "artifacts", given.a_path) if artifacts else (),
            accept_loss=accept_loss,
        )
        report = calibrate_judges(workspace, request, Quiet())
        return CalibrationResult(report=report, strict=strict)

    return _with_store(folder, store, work)


@checked
def noise(
    artifact: GivenPath,
    rubric: GivenRubric,
    *,
    n: int = LOOKS,
    judges: Judges = (),
    folder: GivenPath | None = None,
    store: GivenPath | None = None,
    **options: Unpack[JudgingKeywords],
) -> NoiseResult:
    """Judge a text (`str`), file or folder (`Path`) `n` times, as `honestone noise` does, to learn
    which changes of its score mean nothing. Raises CouldNotJudge when fewer than two looks have a
    score.
    """

    def work(workspace: Workspace) -> NoiseResult:
        request = NoiseRequest(
            artifact=given.text_or_path(artifact, workspace),
            rubric=given.a_rubric(rubric, workspace),
            judging=make_judging(judges, options),
            looks=n,
        )
        return NoiseResult(report=measure_noise(workspace, request, Quiet()))

    return _with_store(folder, store, work)


@checked
def audit(
    artifact: GivenPath,
    rubric: GivenRubric,
    *,
    judges: Judges = (),
    folder: GivenPath | None = None,
    store: GivenPath | None = None,
    **options: Unpack[JudgingKeywords],
) -> AuditResult:
    """Ask judges questions whose answers are known, as `honestone audit` does. With `require_tier`
    the verdict is `fail` where a judge is below that tier.
    """
    # Here the tier is what the audit has to find, not what it requires of the judges beforehand.
    wanted = options.pop("require_tier", None)
    tier = None if wanted is None else Tier(wanted)

    def work(workspace: Workspace) -> AuditResult:
        request = AuditRequest(
            artifact=given.text_or_path(artifact, workspace),
            rubric=given.a_rubric(rubric, workspace),
            judging=make_judging(judges, options),
        )
        report = audit_judges(workspace, request, Quiet())
        missed = [] if tier is None else [one.id for one in below(report, tier)]
        return AuditResult(report=report, below=missed)

    return _with_store(folder, store, work)


@checked
def agreement(
    ratings: GivenPath | GivenTexts,
    *,
    unit: str | Sequence[str] = (),
    raters: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    truth: str | None = None,
    scale: str | None = None,
    level: str | None = None,
    folder: GivenPath | None = None,
) -> AgreementResult:
    """Measure how far raters agree, as `honestone agreement` does. `ratings` is a file (`Path`), a
    data frame, a list of dicts or a dict of columns, with a row for each unit and a column for each
    rater.
    """
    columns = Columns(
        unit=one_or_several(unit),
        raters=one_or_several(raters),
        ignore=one_or_several(ignore),
        truth=truth,
        scale=None if scale is None else parse_scale(scale),
    )
    request = AgreementRequest(
        table=Path(ratings)
        if isinstance(ratings, str | PathLike)
        else [row.cells for row in plain_rows(ratings, "ratings")],
        columns=columns,
        level=None if level is None else Level(level),
    )
    return AgreementResult(report=measure_agreement(make_workspace(folder, None), request))


@checked
def label(
    artifacts: GivenTexts,
    rubric: GivenRubric,
    *,
    answers: AskPerson | GivenTexts | None = None,
    rater: str = "me",
    text: str | None = None,
    id: str | None = None,
    labels: GivenPath | None = None,
    sample: int | None = None,
    port: int | None = None,
    no_open: bool = False,
    folder: GivenPath | None = None,
) -> Labels:
    """Collect a person's answers about texts, as labels that judges can be measured against.

    `artifacts` are as in `evaluate_many`. `answers` is a function of a text and a requirement that
    returns yes or no, a number or None (a skip), and may ask a person; or a table with a column `id`
    and one for each criterion. Without `answers` a page of this machine opens in the browser and
    asks, as `honestone label --browser` does; the call returns once every item is answered or
    skipped, or the person ends it there or with Ctrl-C. `port` is that of the page; `no_open` prints
    its address and opens no browser. `labels` is a file to write, which `calibrate` reads; on a
    page a NAME.jsonl, which has each answer at once, and with which the same call resumes.
    `sample`: how many of the texts to label. `result.calibrate(labels.to_frame())` takes what is
    returned.

    Raises UsageError for a wrong call, and for a page where there is neither a screen nor `port`
    or `no_open`.
    """
    workspace = make_workspace(folder, None)
    texts = texts_by_id(artifacts, text, id, workspace)
    plan = given.a_rubric(rubric, workspace)
    if answers is None:
        page = PageOptions(port=port, opens=not no_open)
        place = None if labels is None else given.a_file(labels, "labels")
        return _label_on_page(workspace, texts, plan, page, rater=rater, labels=place, count=sample)
    if port is not None or no_open:
        raise UsageError(
            "`port` and `no_open` are about the page that asks, and `answers` needs none",
            hint="leave them out, or leave out `answers`",
        )
    given_answers = answers if callable(answers) else plain_rows(answers, "answers")
    collected = label_texts(
        texts,
        plan if isinstance(plan, Rubric) else load_rubric(workspace.path(plan)),
        given_answers,
        rater=rater,
        count=sample,
    )
    if labels is not None:
        collected.save(workspace.path(given.a_file(labels, "labels")))
    return collected


class PageOptions(Struct, frozen=True, kw_only=True):
    """The page that asks a person: its port (None is the usual one), and whether a browser opens."""

    port: int | None
    opens: bool


def _label_on_page(
    workspace: Workspace,
    texts: Mapping[str, str],
    rubric: Path | Rubric,
    page: PageOptions,
    *,
    rater: str,
    labels: Path | None,
    count: int | None,
) -> Labels:
    """Ask on a page. Without a labels file the answers are in one that is deleted at the end."""
    # The server and its pages are imported by the call that needs them.
    from honestone.view.labelling import label_until_done

    require_rater(rater)
    if labels is not None and labels.suffix.lower() != ".jsonl":
        raise UsageError(
            f"the page keeps labels in a file NAME.jsonl, not in `{labels}`",
            hint="name a labels file NAME.jsonl",
        )
    if page.opens and page.port is None and not has_screen():
        raise UsageError(
            "labels are asked on a page, and this machine has no screen for a browser",
            hint="`no_open=True` prints the address for a browser that reaches this machine"
            " (ssh -L); `answers=` takes a function or a table",
        )

    with tempfile.TemporaryDirectory(prefix="honestone-") as place:
        request = LabelRequest(
            texts=texts,
            rubric=rubric,
            labels=labels or Path(place) / "labels.jsonl",
            rater=rater,
            sample=count,
            own_order=True,
        )
        session = LabelSession(workspace, request, Quiet())
        run_stoppable(lambda: label_until_done(session, page.port, opens=page.opens))
        return session.labels()


@checked
def runs(
    *,
    limit: int = 20,
    kind: str | None = None,
    verdict: str | None = None,
    folder: GivenPath | None = None,
    store: GivenPath | None = None,
) -> Sequence[ListedRun]:
    """The runs on record, newest first, as `honestone runs` lists them."""
    return list_runs(make_workspace(folder, store), limit=limit, kind=kind, verdict=verdict)


@checked
def show(
    run: str = "last", *, folder: GivenPath | None = None, store: GivenPath | None = None
) -> RecordedResult:
    """The record of a run, named by its id, the beginning of the id, or `last`. Raises StoreError, a
    UsageError, where there is no such run.
    """
    return shown_run(make_workspace(folder, store), run)


@checked
def rescore(
    run: str = "last",
    *,
    rubric: GivenPath | None = None,
    threshold: float | None = None,
    floor: float | None = None,
    combine: str | None = None,
    folder: GivenPath | None = None,
    store: GivenPath | None = None,
) -> RecordedResult:
    """Score a run's recorded answers again, under other bars, another rule or another version of
    the rubric, as `honestone rescore` does. No judge is asked.
    """
    request = RescoreRequest(
        run=run,
        rubric=None if rubric is None else given.a_file(rubric, "rubric"),
        threshold=threshold,
        floor=floor,
        combine=combine,
    )
    return rescored_result(rescore_run(make_workspace(folder, store), request))


acalibrate = awaited(calibrate, "acalibrate")
anoise = awaited(noise, "anoise")
aaudit = awaited(audit, "aaudit")
alabel = awaited(label, "alabel")
arescore = awaited(rescore, "arescore")
