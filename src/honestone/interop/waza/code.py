"""Assertions of waza's `code` graders: expressions over the output, as checks that run with
permission.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from honestone.core.script import Language, Script
from honestone.formats.reader import words

_GIVEN: Final = frozenset(words("output duration_ms len any all re str int float bool list dict"))
_OF_THE_AGENT: Final = re.compile(r"\b(outcome|transcript|tool_calls|errors)\b")
_PYTHON: Final = "import re\nduration_ms = 1000 * context.get('duration', 0)\nreturn bool(\n{}\n)"
_JAVASCRIPT: Final = "const duration_ms = 1000 * (context.duration || 0);\nreturn Boolean(\n{}\n);"


def assertion_script(assertion: str, language: Language) -> Script | str:
    """The expression as code that says whether it is truthy; or why it cannot be, in words."""
    if language == "javascript":
        found = _OF_THE_AGENT.search(assertion)
        return (
            f"looks at `{found[1]}`"
            if found
            else Script(language=language, code=_JAVASCRIPT.format(assertion))
        )
    try:
        tree = ast.parse(f"({assertion}\n)", mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "is not an expression of Python"
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in names:
        if node.id not in _GIVEN | own:
            return f"looks at `{node.id}`"
    return Script(language=language, code=_PYTHON.format(assertion))
