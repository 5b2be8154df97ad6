"""The table of report formats: which function shows which kind of document in which `--format`.

Each function below shows one kind of document in one format; `@_shows` enters it in the table, and
`show --format` takes every name that is in it. The functions import the module that does the work
only when they are called, because a command that prints text must not load the templates of HTML
and Markdown. Other packages add formats by entry points (`REPORTS` of `core/plugins.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec

from honestone.core.errors import UsageError
from honestone.core.plugins import REPORTS
from honestone.report.documents import document_class
from honestone.system.drawing import Style
from honestone.system.plugins import Plugin, plugins

if TYPE_CHECKING:
    from honestone.report.documents.imported import ImportedDoc
    from honestone.report.documents.improvement import ImprovementDoc
    from honestone.report.documents.pairwise import PairwiseDoc
    from honestone.report.documents.scorecard import ScorecardDoc
    from honestone.report.documents.suite import ComparisonDoc, SuiteReportDoc, TrendDoc
    from honestone.report.documents.table import TableDoc
    from honestone.report.documents.trust.agreement import AgreementDoc
    from honestone.report.documents.trust.audit import AuditDoc
    from honestone.report.documents.trust.calibration import CalibrationDoc
    from honestone.report.documents.trust.labels import LabelsDoc
    from honestone.report.documents.trust.noise import NoiseDoc

_Doc = TypeVar("_Doc", bound=msgspec.Struct)
_Renderer: TypeAlias = Callable[..., str]

# (kind of document, format): the function that shows it. Only text has a style.
RENDERERS: Final[dict[tuple[str, str], Callable[[Any, Style], str]]] = {}


def kind_of(document: Mapping[str, Any]) -> str:
    """The kind of a document, from its schema: `report` of `honestone.report/1`."""
    return str(document["schema"]).removeprefix("honestone.").partition("/")[0]


def draw(document: Mapping[str, Any] | msgspec.Struct, form: str, style: Style) -> str:
    """Show a document, typed or as parsed from JSON, in one of our formats or another package's.
    Raises UsageError for a format that does not show this kind of document.
    """
    if isinstance(document, msgspec.Struct):
        kind = kind_of(msgspec.structs.asdict(document))
    else:
        kind = kind_of(document)
    renderer = RENDERERS.get((kind, form))
    if renderer is None:
        # Other packages get plain data: they need not know our classes, which may change.
        return other_format(form)(msgspec.to_builtins(document))
    if not isinstance(document, msgspec.Struct):
        document = msgspec.convert(document, document_class(kind))
    return renderer(document, style)


def other_formats() -> Mapping[str, Plugin]:
    """The formats of other packages by name. None of them can replace one of ours."""
    ours = {form for _, form in RENDERERS}
    return {name: plugin for name, plugin in plugins(REPORTS).items() if name not in ours}


def other_format(name: str) -> _Renderer:
    """The function of another package's format. Raises UsageError where there is none, SettingsError
    where it cannot be loaded.
    """
    ours = sorted({kind for kind, form in RENDERERS if form == name})
    if ours:
        raise UsageError(f"--format {name} does not show this", hint=f"it shows: {', '.join(ours)}")
    plugin = other_formats().get(name)
    if plugin is None:
        raise UsageError(
            f"--format {name} is not known",
            hint=f"an entry point of the group {REPORTS.group} adds a format",
        )
    return plugin.function()


def _shows(
    kind: str, form: str
) -> Callable[[Callable[[_Doc, Style], str]], Callable[[_Doc, Style], str]]:
    """Enter a function as the renderer of `honestone.KIND/1` for `--format FORM`."""

    def enter(renderer: Callable[[_Doc, Style], str]) -> Callable[[_Doc, Style], str]:
        RENDERERS[kind, form] = renderer
        return renderer

    return enter


# ----------------------------------------------------------------------------------------------
# scorecard


@_shows("scorecard", "text")
def _scorecard_text(doc: ScorecardDoc, style: Style) -> str:
    from honestone.report.terminal.text import scorecard_text

    return scorecard_text(doc, style)


@_shows("scorecard", "markdown")
def _scorecard_markdown(doc: ScorecardDoc, _style: Style) -> str:
    from honestone.report.pages.markdown import scorecard_markdown

    return scorecard_markdown(doc)


@_shows("scorecard", "rulph")
def _scorecard_rulph(doc: ScorecardDoc, _style: Style) -> str:
    from honestone.report.pages.rulph import scorecard_rulph

    return scorecard_rulph(doc)


# ----------------------------------------------------------------------------------------------
# improvement


@_shows("improvement", "text")
def _improvement_text(doc: ImprovementDoc, style: Style) -> str:
    from honestone.report.terminal.improvement_text import improvement_text

    return improvement_text(doc, style)


@_shows("improvement", "html")
def _improvement_html(doc: ImprovementDoc, _style: Style) -> str:
    from honestone.report.pages.improvement_html import improvement_html

    return improvement_html(doc)


@_shows("improvement", "markdown")
def _improvement_markdown(doc: ImprovementDoc, _style: Style) -> str:
    from honestone.report.pages.markdown import improvement_markdown

    return improvement_markdown(doc)


@_shows("improvement", "junit")
def _improvement_junit(doc: ImprovementDoc, _style: Style) -> str:
    from honestone.report.exports.junit import improvement_junit

    return improvement_junit(doc)


@_shows("improvement", "rulph")
def _improvement_rulph(doc: ImprovementDoc, _style: Style) -> str:
    from honestone.report.pages.rulph import improvement_rulph

    return improvement_rulph(doc)


# ----------------------------------------------------------------------------------------------
# runs of a suite


@_shows("report", "text")
def _suite_text(doc: SuiteReportDoc, style: Style) -> str:
    from honestone.report.terminal.suite_text import suite_text

    return suite_text(doc, style)


@_shows("report", "html")
def _suite_html(doc: SuiteReportDoc, _style: Style) -> str:
    from honestone.report.pages.suite_html import suite_html

    return suite_html(doc)


@_shows("report", "markdown")
def _suite_markdown(doc: SuiteReportDoc, _style: Style) -> str:
    from honestone.report.pages.markdown import suite_markdown

    return suite_markdown(doc)


@_shows("report", "junit")
def _suite_junit(doc: SuiteReportDoc, _style: Style) -> str:
    from honestone.report.exports.junit import suite_junit

    return suite_junit(doc)


@_shows("report", "csv")
def _suite_csv(doc: SuiteReportDoc, _style: Style) -> str:
    from honestone.report.exports.rows import suite_csv

    return suite_csv(doc)


@_shows("report", "jsonl")
def _suite_jsonl(doc: SuiteReportDoc, _style: Style) -> str:
    from honestone.report.exports.rows import suite_jsonl

    return suite_jsonl(doc)


@_shows("report", "inspect")
def _suite_inspect(doc: SuiteReportDoc, _style: Style) -> str:
    from honestone.report.exports.inspect_log import suite_inspect

    return suite_inspect(doc)


# ----------------------------------------------------------------------------------------------
# table


@_shows("table", "text")
def _table_text(doc: TableDoc, style: Style) -> str:
    from honestone.report.terminal.table_text import table_text

    return table_text(doc, style)


@_shows("table", "html")
def _table_html(doc: TableDoc, _style: Style) -> str:
    from honestone.report.pages.suite_html import table_html

    return table_html(doc)


@_shows("table", "markdown")
def _table_markdown(doc: TableDoc, _style: Style) -> str:
    from honestone.report.pages.markdown import table_markdown

    return table_markdown(doc)


@_shows("table", "junit")
def _table_junit(doc: TableDoc, _style: Style) -> str:
    from honestone.report.exports.junit import table_junit

    return table_junit(doc)


@_shows("table", "csv")
def _table_csv(doc: TableDoc, _style: Style) -> str:
    from honestone.report.exports.rows import table_csv

    return table_csv(doc)


@_shows("table", "jsonl")
def _table_jsonl(doc: TableDoc, _style: Style) -> str:
    from honestone.report.exports.rows import table_jsonl

    return table_jsonl(doc)


# ----------------------------------------------------------------------------------------------
# comparison


@_shows("comparison", "text")
def _comparison_text(doc: ComparisonDoc, style: Style) -> str:
    from honestone.report.terminal.comparison_text import comparison_text

    return comparison_text(doc, style)


@_shows("comparison", "html")
def _comparison_html(doc: ComparisonDoc, _style: Style) -> str:
    from honestone.report.pages.suite_html import comparison_html

    return comparison_html(doc)


@_shows("comparison", "markdown")
def _comparison_markdown(doc: ComparisonDoc, _style: Style) -> str:
    from honestone.report.pages.markdown import comparison_markdown

    return comparison_markdown(doc)


# ----------------------------------------------------------------------------------------------
# trend


@_shows("trend", "text")
def _trend_text(doc: TrendDoc, style: Style) -> str:
    from honestone.report.terminal.comparison_text import trend_text

    return trend_text(doc, style)


@_shows("trend", "markdown")
def _trend_markdown(doc: TrendDoc, _style: Style) -> str:
    from honestone.report.pages.markdown import trend_markdown

    return trend_markdown(doc)


# ----------------------------------------------------------------------------------------------
# imported


@_shows("imported", "text")
def _imported_text(doc: ImportedDoc, style: Style) -> str:
    from honestone.report.pages.rulph import imported_text

    return imported_text(doc, style)


@_shows("imported", "markdown")
def _imported_markdown(doc: ImportedDoc, _style: Style) -> str:
    from honestone.report.pages.rulph import imported_markdown

    return imported_markdown(doc)


# ----------------------------------------------------------------------------------------------
# noise


@_shows("noise", "text")
def _noise_text(doc: NoiseDoc, style: Style) -> str:
    from honestone.report.trust.figures import figures_text
    from honestone.report.trust.noise import noise_figures

    return figures_text(noise_figures(doc), style)


@_shows("noise", "markdown")
def _noise_markdown(doc: NoiseDoc, _style: Style) -> str:
    from honestone.report.trust.figures import figures_markdown
    from honestone.report.trust.noise import noise_figures

    return figures_markdown(noise_figures(doc))


# ----------------------------------------------------------------------------------------------
# audit


@_shows("audit", "text")
def _audit_text(doc: AuditDoc, style: Style) -> str:
    from honestone.report.trust.audit import audit_figures
    from honestone.report.trust.figures import figures_text

    return figures_text(audit_figures(doc), style)


@_shows("audit", "markdown")
def _audit_markdown(doc: AuditDoc, _style: Style) -> str:
    from honestone.report.trust.audit import audit_figures
    from honestone.report.trust.figures import figures_markdown

    return figures_markdown(audit_figures(doc))


# ----------------------------------------------------------------------------------------------
# agreement


@_shows("agreement", "text")
def _agreement_text(doc: AgreementDoc, style: Style) -> str:
    from honestone.report.trust.agreement import agreement_figures
    from honestone.report.trust.figures import figures_text

    return figures_text(agreement_figures(doc, style.glyph("arrow")), style)


@_shows("agreement", "markdown")
def _agreement_markdown(doc: AgreementDoc, _style: Style) -> str:
    from honestone.report.trust.agreement import agreement_figures
    from honestone.report.trust.figures import figures_markdown

    return figures_markdown(agreement_figures(doc))


# ----------------------------------------------------------------------------------------------
# calibration


@_shows("calibration", "text")
def _calibration_text(doc: CalibrationDoc, style: Style) -> str:
    from honestone.report.trust.calibration import calibration_figures
    from honestone.report.trust.figures import figures_text

    return figures_text(calibration_figures(doc), style)


@_shows("calibration", "markdown")
def _calibration_markdown(doc: CalibrationDoc, _style: Style) -> str:
    from honestone.report.trust.calibration import calibration_figures
    from honestone.report.trust.figures import figures_markdown

    return figures_markdown(calibration_figures(doc))


# ----------------------------------------------------------------------------------------------
# labels


@_shows("labels", "text")
def _labels_text(doc: LabelsDoc, style: Style) -> str:
    from honestone.report.trust.labels import labels_text

    return labels_text(doc, style)


# ----------------------------------------------------------------------------------------------
# pairwise


@_shows("pairwise", "text")
def _pairwise_text(doc: PairwiseDoc, style: Style) -> str:
    from honestone.report.trust.pairwise import pairwise_text

    return pairwise_text(doc, style)
