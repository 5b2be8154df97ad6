"""A calibration in words, whatever of it is on record."""

from __future__ import annotations

from honestone.report.documents.trust.calibration import (
    CalibratedJudgeDoc,
    CalibratedPanelDoc,
    CalibrationDoc,
)
from honestone.report.trust.calibration import calibration_figures


def test_a_judge_to_drop_that_is_not_listed_is_named_without_a_reason() -> None:
    """A document of another program may name one whose figures it does not have."""
    listed = CalibratedJudgeDoc(id="kind", units=20, answers=20, weight=0.0, kappa=-0.1)
    panel = CalibratedPanelDoc(votes=2, drop=["kind", "gone"])
    found = calibration_figures(CalibrationDoc(units=20, panel=panel, judges=[listed]))
    dropped = [words for name, words in found.facts if name == "drop"]
    assert dropped == ["kind: no better than chance", "gone"]
