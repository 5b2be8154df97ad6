"""What is planned for runners is what is planned for this machine."""

from __future__ import annotations

import json
from pathlib import Path

from honestone.app.doors.quiet import Quiet
from honestone.app.suites.plan import SuitePlan, SuiteRequest
from honestone.app.suites.planning import plan_suite
from honestone.app.workspace import Workspace


def planned(folder: Path, *, is_ordered: bool) -> SuitePlan:
    request = SuiteRequest(suite=Path("suite.yaml"), target="cmd:cat", is_ordered=is_ordered)
    return plan_suite(Workspace.at(folder), request, Quiet())


def test_an_order_holds_no_list_of_its_cases(tmp_path: Path) -> None:
    """They are made when they are written, each time they are gone through, and are those of a run
    on one machine.
    """
    (tmp_path / "fixture").mkdir()
    (tmp_path / "fixture/a.txt").write_text("a")
    (tmp_path / "suite.yaml").write_text(
        "suite: 1\ncases: cases.jsonl\nrubric: [{id: a, check: {contains: [a]}}]\n"
    )
    cases = [{"id": f"c{n}", "input": f"Question {n}", "attempts": 1 + n % 2} for n in range(5)]
    cases.append(
        {"id": "f", "input": "x", "checks": [{"contains": ["x"]}], "workspace": {"copy": "fixture"}}
    )
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(one) + "\n" for one in cases))
    here, order = (planned(tmp_path, is_ordered=one) for one in (False, True))
    assert here.identity(here.subject, here.chosen) == order.identity(order.subject, order.chosen)
    meter = here.meter(0)
    first, ordered = (plan.started(plan.subject, plan.chosen, meter) for plan in (here, order))
    assert isinstance(first.cases, tuple) and not isinstance(ordered.cases, tuple)
    for _ in range(2):
        assert list(ordered.cases) == list(first.cases)
    assert ordered.cases[1] == first.cases[1] and list(ordered.cases[2:4]) == list(first.cases[2:4])
    assert len(ordered.cases) == len(cases) and ordered.rubrics == first.rubrics
    assert "case_contracts" not in vars(order)
