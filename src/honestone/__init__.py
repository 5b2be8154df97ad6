"""Say what good looks like. Measure it honestly. Make it better until it is.

    >>> import honestone
    >>> rubric = honestone.parse_rubric("rubric: 1\\ncriteria: [{id: greets, check: {contains: hello}}]")
    >>> honestone.evaluate("hello world", rubric).passed
    True

Names are imported when they are first used, so that `import honestone` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = (
    False  # imports nothing: what is imported before `__main__` is, Ctrl-C ends with a traceback
)

if TYPE_CHECKING:
    from typing import Any

    from honestone.api import (
        ComparisonResult,
        Evaluated,
        EvaluatedTexts,
        ImprovementResult,
        StepResult,
        SuiteResult,
        TableResult,
        Text,
        acompare,
        aevaluate,
        aevaluate_many,
        aimprove,
        arun_suite,
        assert_passes,
        compare,
        evaluate,
        evaluate_many,
        improve,
        run_stages,
        run_suite,
        step,
    )
    from honestone.api.measures import (
        AgreementResult,
        AuditResult,
        CalibrationResult,
        Labels,
        NoiseResult,
        RecordedResult,
        aaudit,
        acalibrate,
        agreement,
        alabel,
        anoise,
        arescore,
        audit,
        calibrate,
        label,
        noise,
        rescore,
        runs,
        show,
    )
    from honestone.core.artifact import Artifact, Version
    from honestone.core.errors import CouldNotJudge, HonestoneError, RubricError, UsageError
    from honestone.core.judging.ballot import Ballot, Mark
    from honestone.core.judging.rubric import Anchors, Check, Criterion, Item, Rubric, Rule
    from honestone.core.judging.scorecard import Outcome, Scorecard, Verdict, judge_gate
    from honestone.core.judging.scorer import Scorer
    from honestone.core.suite.case import Case, Message, Suite

__version__ = "0.2.0"

# The modules of what is not a function of `api` or one of its results.
_PLACES = {
    "AgreementResult": "api.measures",
    "AuditResult": "api.measures",
    "CalibrationResult": "api.measures",
    "Labels": "api.measures",
    "label": "api.measures",
    "NoiseResult": "api.measures",
    "RecordedResult": "api.measures",
    "aaudit": "api.measures",
    "acalibrate": "api.measures",
    "agreement": "api.measures",
    "alabel": "api.measures",
    "anoise": "api.measures",
    "arescore": "api.measures",
    "audit": "api.measures",
    "calibrate": "api.measures",
    "noise": "api.measures",
    "rescore": "api.measures",
    "runs": "api.measures",
    "show": "api.measures",
    "Artifact": "core.artifact",
    "Version": "core.artifact",
    "Ballot": "core.judging.ballot",
    "Mark": "core.judging.ballot",
    "HonestoneError": "core.errors",
    "UsageError": "core.errors",
    "RubricError": "core.errors",
    "CouldNotJudge": "core.errors",
    "Rubric": "core.judging.rubric",
    "Criterion": "core.judging.rubric",
    "Item": "core.judging.rubric",
    "Anchors": "core.judging.rubric",
    "Check": "core.judging.rubric",
    "Scorer": "core.judging.scorer",
    "Scorecard": "core.judging.scorecard",
    "Rule": "core.judging.rubric",
    "Outcome": "core.judging.scorecard",
    "Verdict": "core.judging.scorecard",
    "judge_gate": "core.judging.scorecard",
    "Suite": "core.suite.case",
    "Case": "core.suite.case",
    "Message": "core.suite.case",
}

__all__ = [
    "AgreementResult",
    "Anchors",
    "Artifact",
    "AuditResult",
    "Ballot",
    "CalibrationResult",
    "Case",
    "Check",
    "ComparisonResult",
    "CouldNotJudge",
    "Criterion",
    "Evaluated",
    "EvaluatedTexts",
    "HonestoneError",
    "ImprovementResult",
    "Item",
    "Labels",
    "Mark",
    "Message",
    "NoiseResult",
    "Outcome",
    "RecordedResult",
    "Rubric",
    "RubricError",
    "Rule",
    "Scorecard",
    "Scorer",
    "StepResult",
    "Suite",
    "SuiteResult",
    "TableResult",
    "Text",
    "UsageError",
    "Verdict",
    "Version",
    "aaudit",
    "acalibrate",
    "acompare",
    "aevaluate",
    "aevaluate_many",
    "agreement",
    "aimprove",
    "alabel",
    "anoise",
    "arescore",
    "arun_suite",
    "assert_passes",
    "audit",
    "calibrate",
    "compare",
    "evaluate",
    "evaluate_many",
    "improve",
    "judge_gate",
    "label",
    "noise",
    "parse_rubric",
    "read_rubric",
    "rescore",
    "run_stages",
    "run_suite",
    "runs",
    "show",
    "step",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'honestone' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"honestone.{_PLACES.get(name, 'api')}"), name)


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


def read_rubric(path: Any) -> Rubric:
    """The rubric in a file, of any format that `honestone rubric show --formats` lists. Raises
    UsageError (RubricError for our own format) with the place of what is wrong, and for what a
    foreign file says and ours cannot.
    """
    from pathlib import Path

    from honestone.formats.source import ForeignRubric, refuse_losses
    from honestone.interop.recognise import read_any_rubric

    source = read_any_rubric(Path(path))
    if isinstance(source, ForeignRubric):
        refuse_losses(source.losses, source.dialect, accepted=False)
    return source.rubric


def parse_rubric(text: str) -> Rubric:
    """The rubric in a text. Raises RubricError with the place of what is wrong."""
    from honestone.formats.rubric.rubric_file import parse_rubric as parse

    return parse(text, "rubric").rubric
