"""The formats a document can be shown in: ours, and those of other packages (`REPORTS` of
`core/plugins.py`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from honestone.core.errors import UsageError
from honestone.core.plugins import REPORTS
from honestone.report.documents import document_class
from honestone.system.drawing import Style
from honestone.system.plugins import Plugin, plugins

_Renderer: TypeAlias = Callable[..., str]

# The functions of each module of this package: DOCUMENT_FORMAT, which as text also takes a style.
_MODULES: Final = {
    "text": "scorecard_text",
    "improvement_text": "improvement_text",
    "improvement_html": "improvement_html",
    "suite_text": "suite_text",
    "suite_html": "suite_html table_html comparison_html",
    "table_text": "table_text",
    "comparison_text": "comparison_text trend_text",
    "markdown": "scorecard_markdown improvement_markdown suite_markdown table_markdown comparison_markdown trend_markdown",
    "junit": "improvement_junit suite_junit table_junit",
    "rows": "suite_csv suite_jsonl table_csv table_jsonl",
    "inspect_log": "suite_inspect",
    "rulph": "scorecard_rulph improvement_rulph imported_text imported_markdown",
    **{
        name: f"{name}_text {name}_markdown"
        for name in ("noise", "audit", "agreement", "calibration")
    },
    **{name: f"{name}_text" for name in ("labels", "pairwise")},
}

# (document, format): module and function.
_OURS: Final[Mapping[tuple[str, str], tuple[str, str]]] = {
    (name.partition("_")[0].replace("suite", "report"), name.partition("_")[2]): (module, name)
    for module, names in _MODULES.items()
    for name in names.split()
}


def kind_of(document: Mapping[str, Any]) -> str:
    """`report` of `honestone.report/1`."""
    return str(document["schema"]).removeprefix("honestone.").partition("/")[0]


def draw(document: Mapping[str, Any] | msgspec.Struct, form: str, style: Style) -> str:
    """A document as text in one of our formats, or in one of another package."""
    is_typed = isinstance(document, msgspec.Struct)
    kind = kind_of(
        msgspec.structs.asdict(document) if isinstance(document, msgspec.Struct) else document
    )
    if (kind, form) not in _OURS:
        return other_format(form)(msgspec.to_builtins(document))
    known = document if is_typed else msgspec.convert(document, document_class(kind))
    module, name = _OURS[kind, form]
    renderer: _Renderer = vars(importlib.import_module(f"honestone.report.{module}"))[name]
    return renderer(known, style) if form == "text" else renderer(known)


def other_formats() -> Mapping[str, Plugin]:
    """The formats of other packages by name; ours come first."""
    ours = {form for _, form in _OURS}
    return {name: plugin for name, plugin in plugins(REPORTS).items() if name not in ours}


def other_format(name: str) -> _Renderer:
    """The function of another package's format. Raises UsageError where there is none, SettingsError
    where it cannot be loaded.
    """
    ours = sorted({kind for kind, form in _OURS if form == name})
    if ours:
        raise UsageError(f"--format {name} does not show this", hint=f"it shows: {', '.join(ours)}")
    plugin = other_formats().get(name)
    if plugin is None:
        raise UsageError(
            f"--format {name} is not known",
            hint=f"an entry point of the group {REPORTS.group} adds a format",
        )
    return plugin.function()
