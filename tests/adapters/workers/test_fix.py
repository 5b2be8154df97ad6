"""`fix`: the rubric's own commands, one after another, only those the brief names."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from honestone.adapters.workers.fix import FixWorker
from honestone.ports import Brief, WorkDone

ADD = "open(__import__('os').environ['HONESTONE_ARTIFACT'], 'a').write"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "note.md").write_text("old")
    return tmp_path / "copy" / "note.md"


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """The rubric's folder with three tools."""
    folder = tmp_path / "rubric"
    folder.mkdir()
    for name, body in (
        ("one", f"{ADD}(' one')"),
        ("two", f"{ADD}(' two')"),
        ("bad", "raise SystemExit('no')"),
    ):
        (folder / f"{name}.py").write_text(body)
    (folder / "slow.py").write_text("import time\ntime.sleep(30)")
    return folder


FIXES = ("python3 one.py", "python3 two.py", "python3 bad.py", "python3 slow.py")


def fixer(beside: Path, *fixes: str, timeout: float = 20) -> FixWorker:
    return FixWorker(fixes or FIXES, base=beside, artifact=beside / "none", timeout=timeout)


def propose(worker: FixWorker, place: Path, *fixes: str) -> WorkDone:
    brief_file = place.parent.parent / "brief.md"
    brief_file.write_text("x")
    return asyncio.run(
        worker.propose(Brief(text="x", focus=("one",), fixes=fixes), place, brief_file)
    )


def test_the_named_fixes_run_in_order_from_the_rubrics_folder(beside: Path, place: Path) -> None:
    """Two of four run, on the same copy, in the order of the brief."""
    done = propose(fixer(beside), place, "python3 two.py", "python3 one.py")
    assert done.ended == "exited"
    assert place.read_text() == "old two one"


def test_a_fix_that_fails_is_told_and_the_others_still_run(beside: Path, place: Path) -> None:
    """The failure names its command; what the others did stays for the bytes to speak."""
    done = propose(fixer(beside), place, "python3 bad.py", "python3 one.py")
    assert done.ended == "crashed"
    assert "`python3 bad.py`" in done.message
    assert done.message.endswith("no")
    assert place.read_text() == "old one"


def test_the_time_is_for_all_fixes_together(beside: Path, place: Path) -> None:
    """One that takes too long ends the proposal; those after it do not start."""
    done = propose(fixer(beside, timeout=0.5), place, "python3 slow.py", "python3 one.py")
    assert done.ended == "timeout"
    assert place.read_text() == "old"


def test_without_a_fix_there_is_nothing_to_do(beside: Path, place: Path) -> None:
    """A focus without fix commands is not worth proposing, and changes nothing when it is proposed."""
    worker = fixer(beside)
    assert worker.can_work_on(("python3 one.py",))
    assert not worker.can_work_on(())
    done = propose(worker, place)
    assert (done.ended, place.read_text()) == ("exited", "old")
    assert "no fix command" in done.message


def test_its_identity_follows_its_tools(beside: Path) -> None:
    """An edited tool is another worker."""
    before = fixer(beside, "python3 one.py").identity
    assert fixer(beside, "python3 one.py").identity == before
    (beside / "one.py").write_text("pass")
    assert fixer(beside, "python3 one.py").identity != before
