"""What judges by a rubric. Asking on is loaded where a rubric says `sure`."""

from __future__ import annotations

from honestone import ports
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorer import Scorer
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.judging.panel import Panel


def evaluator_for(
    rubric: Rubric, checker: ports.Checker, panel: Panel, *, gate_only: Scorer | None = None
) -> Evaluator:
    """What judges by a rubric: asking on where it says `sure`, else one look of each judge."""
    if rubric.sure is None:
        return Evaluator(rubric, checker, panel, gate_only=gate_only)
    from honestone.engine.judging.asking_on import SureEvaluator

    return SureEvaluator(rubric, checker, panel)
