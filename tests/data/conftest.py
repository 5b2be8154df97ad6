"""Figures of public data sets, reproduced by the ordinary reading and scoring code.

The data is not part of the project: tests read it beside the checkout at run time, and skip where
it is not there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.judges.record import RecordJudge
from honestone.core.artifact import Artifact, Entry, Version
from honestone.core.judging.ballot import Ballot, Question, asked_criteria
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorecard import Scorecard
from honestone.core.judging.scorer import Scorer

SHARED = Path(__file__).parents[2] / "../shared/data"


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """The folder of one data set; skips when it is absent."""

    def find(name: str) -> Path:
        folder = SHARED / name
        if not folder.is_dir():
            pytest.skip(f"the data set {name} is not beside this checkout")
        return folder

    return find


@pytest.fixture(scope="session")
def expected(shared_data: Callable[[str], Path]) -> Callable[[str], Any]:
    """The reference figures of one data set."""
    return lambda name: json.loads((shared_data(name) / "expected.json").read_text("utf-8"))


@pytest.fixture(scope="session")
def scored() -> Callable[[RecordJudge, Rubric, str], Scorecard]:
    """What a recorded judge says about one artifact, as a scorecard."""

    def score(judge: RecordJudge, rubric: Rubric, name: str) -> Scorecard:
        version = Version({name: Entry(name.encode())}, is_folder=False)
        asked = Question(artifact=Artifact(name, version), criteria=asked_criteria(rubric))
        request = judge.render(asked)
        reading = judge.read(asked, request, asyncio.run(judge.ask(request, asked)))
        return Scorer(rubric).card(
            [Ballot(judge=judge.id, marks=reading.marks, abstained=reading.errors)]
        )

    return score
