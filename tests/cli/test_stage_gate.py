"""`stage gate`: what was applied stays only where all six layers let it; somebody's edit is never
overwritten.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from honestone.app.stages.file_troubles import troubles
from honestone.core.artifact import Entry, Version

from .desk import Desk, Result
from .stage_desk import SKILL, append, problems, put_skill, ranking, stage

FERNS = append("about ferns: moist")


@pytest.fixture
def ready(desk: Desk) -> Desk:
    put_skill(desk)
    return desk


def text(desk: Desk) -> str:
    return (desk.folder / "skill/SKILL.md").read_text()


def evaluated(desk: Desk, verdict: str = "pass", name: str = "e.json", **more: Any) -> Path:
    """An evaluation of `c1` as another program may write it."""
    now, then = {"pass": (0.75, 0.5), "fail": (0.25, 0.5)}.get(verdict, (None, None))
    inside = {
        "execution_pass_rate": now,
        "baseline_pass_rate": then,
        "delta": None,
        "verdict": verdict,
    }
    document = {
        "schema_version": "1.0",
        "lane": "generic-skill",
        "run_id": "run-1",
        "stage": "evaluated",
        "status": "success",
        "created_at": "2026-01-01T00:00:00Z",
        "candidate_id": "c1",
        "evaluation": inside,
        "candidate_results": [],
        "baseline_results": [],
        "warnings": [],
        "truth_anchor": "./e.json",
        **more,
    }
    return desk.file(name, json.dumps(document))


def applied(desk: Desk, plan: dict[str, Any] = FERNS, **candidate: Any) -> dict[str, Any]:
    ranking(desk, plan, **candidate)
    return stage(desk, "apply", "--input", "r.json", "--candidate-id", "c1", out="x.json")[1]


def gate(
    desk: Desk, *, evaluation: bool = True, out: str = "g.json"
) -> tuple[Result, dict[str, Any]]:
    more = ["--evaluation", "e.json"] if evaluation else []
    return stage(desk, "gate", "--ranking", "r.json", "--execution", "x.json", *more, out=out)


def test_a_harmless_edit_that_passed_is_kept(ready: Desk) -> None:
    """Exit 0, the edit stays, receipt and state files say so; the receipt fits its schema."""
    applied(ready)
    evaluated(ready)
    result, receipt = gate(ready)
    assert (
        result.code == 0 and receipt["decision"] == "keep" and "about ferns: moist" in text(ready)
    )
    assert problems("receipt", receipt) == [] and receipt["rollback"]["reason"] == "not_needed"
    for name in ("current_state", "last_run"):
        state = json.loads((ready.folder / f"st/{name}.json").read_text())
        assert state["decision"] == "keep" and state["receipt_path"] == receipt["truth_anchor"]


@pytest.mark.parametrize(
    "plan",
    [
        FERNS,
        {
            "action": "write_files",
            "files": [
                {"path": "SKILL.md", "text": SKILL + "x\n"},
                {"path": "more.md", "text": "m\n"},
            ],
        },
    ],
)
def test_a_failed_evaluation_puts_every_byte_back(ready: Desk, plan: dict[str, Any]) -> None:
    """Exit 1; of an edit of one file and of several alike."""
    applied(ready, plan)
    assert text(ready) != SKILL
    evaluated(ready, "fail")
    result, receipt = gate(ready)
    assert result.code == 1 and receipt["decision"] == "revert" and text(ready) == SKILL
    assert (
        receipt["gate_layers"]["failed_at"] == "regression"
        and receipt["rollback"]["success"] is True
    )
    assert sorted(path.name for path in (ready.folder / "skill").iterdir()) == ["SKILL.md"]


def test_without_an_evaluation_nothing_is_kept(ready: Desk) -> None:
    """Exit 3; parked with all that it takes to apply it later, and the original is back."""
    applied(ready)
    result, receipt = gate(ready, evaluation=False)
    waiting = json.loads((ready.folder / "st/pending_promote.json").read_text())
    assert result.code == 3 and receipt["decision"] == "pending_promote" and text(ready) == SKILL
    assert problems("pending_promote", waiting) == [] and problems("receipt", receipt) == []
    assert [one["candidate_id"] for one in waiting["pending"]] == ["c1"]
    assert "honestone skill promote c1" in receipt["human_review_request"]["approve"]


def test_the_gate_run_twice_parks_once_and_decides_the_same(ready: Desk) -> None:
    """A gate that is stopped after it put the original back can be run again."""
    applied(ready)
    first, _ = gate(ready, evaluation=False)
    second, receipt = gate(ready, evaluation=False, out="g2.json")
    waiting = json.loads((ready.folder / "st/pending_promote.json").read_text())["pending"]
    assert (first.code, second.code, len(waiting)) == (3, 3, 1) and text(ready) == SKILL
    assert waiting[0]["receipt_path"] == receipt["truth_anchor"]
    assert receipt["rollback"]["reason"] == "the_original_was_back_already"


@pytest.mark.parametrize("verdict", ["pass", "fail"])
def test_somebodys_edit_is_never_overwritten(ready: Desk, verdict: str) -> None:
    """Whatever the evaluation says: exit 2, no receipt, nothing parked, the words stay."""
    applied(ready)
    evaluated(ready, verdict)
    mine = text(ready) + "my own words\n"
    (ready.folder / "skill/SKILL.md").write_text(mine)
    result, receipt = gate(ready)
    assert result.is_refusal and receipt == {} and text(ready) == mine
    assert not (ready.folder / "st/pending_promote.json").exists()


def test_an_edit_of_another_file_counts_too(ready: Desk) -> None:
    """A file beside the one that was changed is part of what was judged."""
    applied(ready)
    evaluated(ready)
    ready.file("skill/notes.md", "mine\n")
    result, _ = gate(ready)
    assert result.is_refusal and (ready.folder / "skill/notes.md").read_text() == "mine\n"


def test_half_of_a_restore_is_finished(ready: Desk) -> None:
    """Some files back and some not, as a kill leaves them: the rest is put back."""
    files = [{"path": "SKILL.md", "text": SKILL + "x\n"}, {"path": "more.md", "text": "m\n"}]
    applied(ready, {"action": "write_files", "files": files})
    evaluated(ready, "fail")
    (ready.folder / "skill/SKILL.md").write_text(SKILL)
    result, receipt = gate(ready)
    assert result.code == 1 and receipt["rollback"]["success"] is True
    assert not (ready.folder / "skill/more.md").exists()


def test_what_is_no_longer_in_place_is_not_kept(ready: Desk) -> None:
    """The original was put back by hand: a keep would be of bytes that are not there."""
    applied(ready)
    evaluated(ready)
    (ready.folder / "skill/SKILL.md").write_text(SKILL)
    result, _ = gate(ready)
    assert result.is_refusal and "no longer in place" in result.err and text(ready) == SKILL


@pytest.mark.parametrize("is_edited", [False, True])
def test_an_execution_of_another_program_is_known_by_its_diff(ready: Desk, is_edited: bool) -> None:
    """Without digests the diff says what was applied; what differs from it is somebody's edit."""
    document = applied(ready)
    for name in ("candidate_digest", "base_digest"):
        document.pop(name, None)
        document["result"].pop(name, None)
    document["candidate"]["execution_plan"] = {"action": "their_own_action"}
    ready.file("x.json", json.dumps(document))
    ranking(ready, {"action": "their_own_action"})
    evaluated(ready, "fail")
    if is_edited:
        (ready.folder / "skill/SKILL.md").write_text(text(ready) + "mine\n")
    now = text(ready)
    result, _ = gate(ready)
    assert (
        (result.is_refusal and text(ready) == now)
        if is_edited
        else (result.code == 1 and text(ready) == SKILL)
    )


def test_a_plan_for_a_person_is_rejected(ready: Desk) -> None:
    """Nothing was applied, so there is nothing to put back: reject, exit 1."""
    document = applied(ready, {"action": "unsupported_manual_refactor", "notes": "n"})
    evaluated(ready)
    result, receipt = gate(ready)
    assert document["result"]["modified"] is False
    assert (
        result.code == 1
        and receipt["decision"] == "reject"
        and receipt["rollback"]["attempted"] is False
    )


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("tool.py", "def broken(:\n"),
        ("tool.py", "-" * 200_000 + "1"),
        ("data.json", '{"a": 1,}'),
        ("data.json", "NaN"),
        ("data.yaml", "a: [1\n"),
        ("data.json", "[" * 100_000),
        ("data.yaml", "a: &x [1\nb: *x"),
        ("data.yaml", "a: \x07"),
        ("data.yaml", "[" * 100_000),
        ("SKILL.md", SKILL.replace("description:", "description: [")),
        ("SKILL.md", SKILL.replace("---\n# Gardener", "# Gardener")),
        ("SKILL.md", SKILL.split("---\n", 2)[2]),
        ("SKILL.md", "---\n- a list\n---\n# Gardener\n"),
    ],
)
def test_what_does_not_compile_or_parse_is_named(path: str, content: str) -> None:
    """Code, data and front matter, hostile ones too; each with its file."""
    before = Version({"SKILL.md": Entry(SKILL.encode())}, is_folder=True)
    after = Version({**before.files, path: Entry(content.encode())}, is_folder=True)
    found = troubles(before, after)
    assert len(found) == 1 and found[0].startswith(path)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("tool.py", "x = '\\d'\nassert (1, 'always')\n"),
        ("data.yaml", "# nothing yet\n"),
        ("data.yaml", "---\na: !Ref x\n---\nb: 2\n"),
        ("data.yaml", "[" * 50 + "]" * 50),
        ("data.json", "[1, 2]"),
        ("SKILL.md", SKILL + "more\n"),
        ("notes.md", "---\nnot front matter\n"),
    ],
)
def test_what_compiles_and_parses_is_let_through(
    path: str, content: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also what only warns, and without a word."""
    before = Version({"SKILL.md": Entry(SKILL.encode())}, is_folder=True)
    after = Version({**before.files, path: Entry(content.encode())}, is_folder=True)
    assert troubles(before, after) == () and capfd.readouterr() == ("", "")


def test_only_what_changed_is_compiled() -> None:
    """A file that was broken before is not the candidate's."""
    broken = {"old.py": Entry(b"def (:\n"), "SKILL.md": Entry(SKILL.encode())}
    before = Version(broken, is_folder=True)
    assert troubles(before, Version({**broken, "new.md": Entry(b"x")}, is_folder=True)) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"candidate_id": "nobody"},
        {"result": {}},
        {"result": {"modified": True}},
        {"stage": "ranked"},
        {
            "result": {
                "modified": True,
                "rollback_pointer": {
                    "method": "restore_backup_file",
                    "backup_path": "r.json",
                    "target_path": "../elsewhere",
                },
            }
        },
    ],
)
def test_artifacts_that_make_no_sense_are_refused_with_their_place(
    ready: Desk, change: dict[str, Any]
) -> None:
    """Exit 2 and nothing written; a pointer that leads out of the skill too."""
    document = applied(ready)
    evaluated(ready)
    now = text(ready)
    ready.file("x.json", json.dumps({**document, **change}))
    result, receipt = gate(ready)
    assert result.is_refusal and receipt == {} and text(ready) == now
