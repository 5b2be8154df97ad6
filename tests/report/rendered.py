"""The renderers as a reader of saved JSON uses them: each takes a dict, which is read into its
document first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from honestone.report.documents.improvement import ImprovementDoc, RoundDoc
from honestone.report.documents.scorecard import ScorecardDoc
from honestone.report.documents.suite import ComparisonDoc, SuiteReportDoc, TrendDoc
from honestone.report.exports import junit as _junit
from honestone.report.exports import rows as _rows
from honestone.report.pages import improvement_html as _improvement_page
from honestone.report.pages import markdown as _markdown
from honestone.report.pages import suite_html as _html
from honestone.report.terminal import comparison_text as _comparison
from honestone.report.terminal import improvement_text as _improvement
from honestone.report.terminal import suite_text as _suite
from honestone.report.terminal import text as _text


def _from_json(draw: Callable[..., str], kind: Any) -> Callable[..., str]:
    return lambda doc, *style, **more: draw(msgspec.convert(doc, kind), *style, **more)


scorecard_text = _from_json(_text.scorecard_text, ScorecardDoc)
scorecards_text = _from_json(_text.scorecards_text, list[ScorecardDoc])
scorecard_markdown = _from_json(_markdown.scorecard_markdown, ScorecardDoc)
scorecards_junit = _from_json(_junit.scorecards_junit, list[ScorecardDoc])
improvement_text = _from_json(_improvement.improvement_text, ImprovementDoc)
round_text = _from_json(_improvement.round_text, RoundDoc)
improvement_markdown = _from_json(_markdown.improvement_markdown, ImprovementDoc)
improvement_html = _from_json(_improvement_page.improvement_html, ImprovementDoc)
improvement_junit = _from_json(_junit.improvement_junit, ImprovementDoc)
suite_text = _from_json(_suite.suite_text, SuiteReportDoc)
suite_markdown = _from_json(_markdown.suite_markdown, SuiteReportDoc)
suite_html = _from_json(_html.suite_html, SuiteReportDoc)
suite_junit = _from_json(_junit.suite_junit, SuiteReportDoc)
suite_csv = _from_json(_rows.suite_csv, SuiteReportDoc)
suite_jsonl = _from_json(_rows.suite_jsonl, SuiteReportDoc)
comparison_text = _from_json(_comparison.comparison_text, ComparisonDoc)
comparison_html = _from_json(_html.comparison_html, ComparisonDoc)
comparison_markdown = _from_json(_markdown.comparison_markdown, ComparisonDoc)
trend_text = _from_json(_comparison.trend_text, TrendDoc)
trend_markdown = _from_json(_markdown.trend_markdown, TrendDoc)
