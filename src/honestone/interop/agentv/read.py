"""Reading AgentV files: the page's dialect, AgentV 2, 3 and 4, 5, JSON lines, targets and grader scores."""

from __future__ import annotations

from collections.abc import Callable

from honestone.formats.document import Document
from honestone.formats.reader import about
from honestone.interop.agentv.dialect import (
    DIALECTS,
    FIVE,
    FOUR,
    SEED,
    TWO,
    Dialect,
    dialect_of,
    likeness,
    likeness_of_row,
)
from honestone.interop.agentv.keys import DEFAULTS, EXAMPLES, SUITE_KEYS
from honestone.interop.agentv.lone import LONE
from honestone.interop.agentv.scores import SCORES
from honestone.interop.agentv.suite import read_suite_file
from honestone.interop.agentv.targets import TARGETS
from honestone.interop.reader import Reader


def _signs(dialect: Dialect) -> Callable[[Document], int]:
    def signs(document: Document) -> int:
        if document.is_lines or dialect_of(document.value) is not dialect:
            return 0
        return likeness(document.value)

    return signs


def _signs_of_lines(document: Document) -> int:
    return likeness_of_row(document.value) if document.is_lines else 0


def _signs_of_sidecar(document: Document) -> int:
    """A YAML file without cases with its cases in the JSON lines file of the same stem."""
    if document.is_lines or not document.keys & {"dataset", "execution", "evaluator", "assert", "assertions"}:
        return 0
    if document.keys & {"cases", "tests", "evalcases", "eval_cases", "criteria", "tasks", "prompts"}:
        return 0
    return 80 if document.path.with_suffix(".jsonl").is_file() else 0


_LOOKS_LIKE = {
    SEED.name: ("evalcases", "execution", "evaluators"),
    TWO.name: ("evalcases", "tests", "assert", "dataset"),
    FOUR.name: ("tests", "assertions", "workspace", "execution"),
    FIVE.name: ("tests", "prompts", "providers", "assert", "evaluate_options"),
}

READERS: tuple[Reader, ...] = (
    *(
        Reader(
            name=dialect.name,
            title=dialect.title,
            gives="suite",
            signs=_signs(dialect),
            read=read_suite_file,
            keys=SUITE_KEYS,
            defaults=DEFAULTS[dialect.name],
            looks_like=_LOOKS_LIKE[dialect.name],
            example=EXAMPLES[dialect.name],
        )
        for dialect in DIALECTS
    ),
    Reader(
        name="agentv-jsonl",
        title="AgentV cases as JSON lines",
        gives="suite",
        signs=lambda document: max(_signs_of_lines(document), _signs_of_sidecar(document)),
        read=read_suite_file,
        keys=(
            about(
                "",
                {
                    "each row": "one case, with the keys of a case",
                    "NAME.yaml": "next to NAME.jsonl: what holds for all rows",
                },
            ),
        ),
        defaults=DEFAULTS["agentv-jsonl"],
        example=EXAMPLES["agentv-jsonl"],
    ),
    LONE,
    TARGETS,
    SCORES,
)
