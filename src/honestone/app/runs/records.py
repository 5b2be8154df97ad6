"""One recorded run with all that can be shown of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from honestone.app import history
from honestone.core.errors import StoreError, UsageError
from honestone.core.events import EvaluationStarted

if TYPE_CHECKING:
    from honestone.app.workspace import Workspace
    from honestone.core.artifact import Version
    from honestone.core.events import Event, TableColumns
    from honestone.ports import RunInfo, Store
    from honestone.report.documents.case_by_case import SuiteReport
    from honestone.report.documents.imported import ImportedDoc
    from honestone.report.documents.improvement import ImprovementDoc
    from honestone.report.documents.scorecard import ScorecardDoc
    from honestone.report.documents.table import TableDoc
    from honestone.report.documents.trust.audit import AuditDoc
    from honestone.report.documents.trust.calibration import CalibrationDoc
    from honestone.report.documents.trust.noise import NoiseDoc
    from honestone.report.exports.sarif import SarifSource


class RunRecord(Struct, frozen=True, kw_only=True):
    """A run of an open store. Its `info.kind` says which of the methods apply; `beginning` is its
    first event.
    """

    store: Store
    info: RunInfo
    beginning: Event

    def scorecards(self) -> Iterator[ScorecardDoc]:
        from honestone.app.judging.measured.known_noise import noise_on_record

        noise = noise_on_record(self.store, self.info.contract)
        for document in history.judged_documents(self.store, self.info.id):
            yield document if noise is None else replace(document, noise=noise)

    @property
    def table_columns(self) -> TableColumns | None:
        """The columns of the table whose rows were judged; None of a run over artifacts."""
        return self.beginning.table if isinstance(self.beginning, EvaluationStarted) else None

    def judged_texts(self) -> Iterator[tuple[ScorecardDoc, str | None]]:
        """Every artifact with the text that its quotes are from; None where the record does not
        hold it.
        """
        for document in self.scorecards():
            output = document.output if isinstance(document.output, str) else None
            yield (
                document,
                history.text_of(self.store, document.artifact.digest) if output is None else output,
            )

    def sarif(self) -> str:
        """What is not met, as SARIF 2.1.0. Raises UsageError for a run of a kind that has no
        findings.
        """
        from honestone.report.exports.sarif import scorecards_sarif, suite_sarif

        match self.info.kind:
            case "eval":
                return scorecards_sarif(
                    self._sarif_source(document) for document in self.scorecards()
                )
            case "suite" | "column":
                return suite_sarif(self.suite_report().whole)
            case "improve":
                document = self.improvement()[0]
                card = document.last_card
                cards = [] if card is None else [replace(card, artifact=document.artifact)]
                return scorecards_sarif(map(self._sarif_source, cards))
            case kind:
                raise UsageError(
                    f"--format sarif shows findings about files, which a run of the kind {kind} has not",
                    hint="name a run of eval or improve: honestone runs --kind eval",
                )

    def _sarif_source(self, document: ScorecardDoc) -> SarifSource:
        from honestone.report.exports.sarif import SarifSource

        is_output = isinstance(
            document.output, str
        )  # quotes are from what a target made, which is not a file
        texts = {} if is_output else history.texts_of(self.store, document.artifact.digest)
        return SarifSource(document, texts)

    def scorecard(self, number: int) -> tuple[ScorecardDoc, str | None] | None:
        """The artifact of that number, 1 on; None where there is none."""
        return next(islice(self.judged_texts(), number - 1, None), None) if number > 0 else None

    def suite_report(self) -> SuiteReport:
        from honestone.app.judging.measured.known_noise import noise_of_cases
        from honestone.core.record.record import read_record
        from honestone.report.building.suite import suite_report

        run = self.info.id
        record = read_record(self.store.iter_events(run), run=run, is_brief=True)
        noise = noise_of_cases(self.store, record.started)
        return suite_report(record, noise, lambda: nullcontext(self.store.by_case(run)))

    def table(self) -> TableDoc:
        from honestone.app.suites.columns import read_table
        from honestone.report.building.table import table_document

        return table_document(read_table(self.store, self.info.id))

    def improvement(self) -> tuple[ImprovementDoc, str]:
        """The document, and the report as Markdown."""
        return history.improvement_report(self.store, self.info.id)

    def improvement_page(self, *, served: str = "", is_side_by_side: bool = False) -> str:
        """The same as an HTML page, with what each round changed and the best version; `served`:
        for a server.
        """
        from honestone.report.pages.improvement_html import improvement_html

        log = self.store.events(self.info.id)
        diffs = history.round_diffs(
            self.store, history.state_of(log), history.started_of(log).artifact.path
        )
        document = self.improvement()[0]
        text = history.text_of(self.store, document.artifact.digest)
        return improvement_html(
            document, diffs=diffs, text=text, served=served, is_side_by_side=is_side_by_side
        )

    def document(self) -> ImportedDoc | NoiseDoc | AuditDoc | CalibrationDoc:
        """The document of a run, for kinds of runs that have a single document."""
        run = self.info.id
        match self.info.kind:
            case "calibrate":
                from honestone.app.judging.measured.calibrations import calibration_document

                return calibration_document(self.store, run)
            case "noise":
                from honestone.app.judging.measured.known_noise import noise_document

                return noise_document(self.store.events(run), run=run)
            case "audit":
                from honestone.app.judging.measured.audits import audit_document

                return audit_document(self.store.events(run), run=run)
            case _:
                from honestone.app.runs.import_loop import imported_document

                return imported_document(run, self.beginning)

    def diffs(self) -> Iterator[tuple[str, str]]:
        """What each round was and came to, and what it changed as a unified diff."""
        log = self.store.events(self.info.id)
        state, path = history.state_of(log), history.started_of(log).artifact.path
        for number, diff in history.round_diffs(self.store, state, path):
            entry = state.rounds[number - 1]
            decision = {True: "accepted", False: "rejected", None: "interrupted"}[entry.accepted]
            best = (
                ", the version delivered" if entry.accepted and entry.version == state.best else ""
            )
            yield f"round {entry.number}: {', '.join(entry.focus)}, {decision}{best}", diff

    def version(self, name: str) -> Version:
        """A version of the artifact: a round's number, 0, `original`, `best` or `current`. Raises
        UsageError.
        """
        from honestone.engine.place import load_version

        state = history.state_of(self.store.events(self.info.id))
        by_name = {
            "0": state.original,
            "original": state.original,
            "best": state.best,
            "current": state.current,
        }
        by_name.update(
            {str(entry.number): entry.version for entry in state.rounds if entry.version}
        )
        digest = by_name.get(name)
        if digest is None:
            raise UsageError(
                f"run {self.info.id} has no version {name!r}", hint=f"known: {', '.join(by_name)}"
            )
        # Two files with the same bytes are one version, under the name of the first.
        return load_version(self.store, digest).named(PurePath(self.info.subject).name)


@contextmanager
def open_run(workspace: Workspace, name: str) -> Iterator[RunRecord]:
    """A run by its id, the beginning of it, or `last`. Raises StoreError with near names."""
    with workspace.open_store(readonly=True, is_shown=True) as store:
        yield record_in(store, name)


def record_in(store: Store, name: str) -> RunRecord:
    """The same of an open store. Raises StoreError also where the first event is damaged or gone:
    nothing can be made of the others without it.
    """
    info = history.find_run(store, name)
    first = next(store.iter_events(info.id), None)
    if first is None or first.type != "started":
        raise StoreError(
            f"run {info.id} is damaged: event 1 of run {info.id} is not its beginning",
            hint="the other runs are kept: `honestone runs` lists them",
        )
    return RunRecord(store=store, info=info, beginning=first)
