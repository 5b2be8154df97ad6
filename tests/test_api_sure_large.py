"""A large suite under `sure`: fewer looks than cases, and many of them at once."""

from __future__ import annotations

from pathlib import Path
from threading import Barrier

import pytest

import honestone

CASES = 400
ASKED_AT_ONCE = 8


@pytest.mark.slow
def test_a_large_suite_is_decided_by_fewer_looks_than_it_has_cases(tmp_path: Path) -> None:
    """Nine of ten cases pass and eight of ten have to. Judges are asked about several cases at once:
    the first ones answer when so many were asked.
    """
    all_asked = Barrier(ASKED_AT_ONCE)
    asked: list[str] = []

    def judge(request: dict) -> dict:
        asked.append(request["output"])
        if len(asked) <= ASKED_AT_ONCE:
            all_asked.wait(timeout=60)
        met = int(request["output"].removeprefix("out ")) % 10 != 3
        return {"criteria": {one["id"]: {"met": met} for one in request["criteria"]}}

    done = honestone.run_suite(
        {
            "suite": 1,
            "cases": [
                {"id": f"c{place}", "input": str(place), "rubric": ["It holds"]}
                for place in range(CASES)
            ],
        },
        target=lambda input: f"out {input}",
        judges=[judge],
        min_pass_rate=0.8,
        sure=95,
        folder=tmp_path,
    )
    assert done.verdict == "pass"
    assert done.to_dict()["belief"]["decided"] is True
    assert len(asked) < CASES
    assert len(set(asked)) == len(asked)
