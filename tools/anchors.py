"""The addresses of options and keys in the reference, the same in each version of it:
`cli/#eval--judge`, `rubric/#criterion-floor`, `json/#scorecard-verdict`. And the pages of other
tools' formats.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

# The folders of `interop/` whose formats have a page of their own, with what the page is about.
FORMAT_PAGES: Final = {
    "agent-skills": "Agent Skills",
    "agentv": "AgentV",
    "autorubric": "autorubric",
    "healthbench": "HealthBench",
    "inspect-dataset": "Inspect",
    "paperbench": "PaperBench",
    "promptfoo": "promptfoo",
    "pydantic-evals": "Pydantic Evals",
    "rubric-package": "the package rubric",
    "rulph": "rulph",
    "task-suite": "improvement-evaluator and waza",
}

# `  -j, --judge JUDGE` or `  --json`: where help begins an option.
_OPTION_LINE = re.compile(r"^  (?:-\w, )?(--[a-z][\w-]*)")

_TITLE = re.compile(r"^[A-Z][^:]*:$")


def option_anchor(command: Sequence[str], option: str) -> str:
    """`eval--judge` of `--judge` of `honestone eval`."""
    return "-".join(command or ("honestone",)) + option


def key_anchor(shape: str, key: str) -> str:
    """`criterion-floor`; `scorecard-verdict` of a `ScorecardDoc`."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", shape.removesuffix("Doc"))
    return f"{words}-{key}".lower().replace("[]", "").replace(".", "-")


def anchor(name: str) -> str:
    return f'<a id="{name}"></a>'


def help_block(command: Sequence[str], text: str) -> str:
    """The help of a command as it is printed, each option with its anchor. Above the first title are
    only sentences.
    """
    lines = []
    is_listed = False
    for line in text.splitlines():
        is_listed = is_listed or bool(_TITLE.match(line))
        found = _OPTION_LINE.match(line) if is_listed else None
        start = anchor(option_anchor(command, found[1])) if found else ""
        lines.append(start + html.escape(line, quote=False))
    return "\n".join(["<pre>", *lines, "</pre>"])
