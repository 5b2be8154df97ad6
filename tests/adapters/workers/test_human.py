"""A person as the worker, and the copy that outlives the process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from honestone.adapters.workers.human import HumanWorker
from honestone.adapters.workers.persistent_copy import keep_copy, mirror, work_key
from honestone.adapters.workers.step import StepWorker, SubmittedEdit, Waiting
from honestone.core.errors import UsageError
from honestone.ports import Brief, CallFailed, WorkDone
from honestone.testing import check_worker


class Somebody:
    """A person who does this to the copy; they hand it in unless `edit` returns False."""

    def __init__(self, kept: Path, edit: Callable[[Path], object]) -> None:
        self.drafts = kept
        self._edit = edit
        self.told: list[str] = []

    async def edit(self, brief: str, place: Path, brief_file: Path) -> bool:
        self.told.append(brief)
        assert brief_file.read_text() == brief
        return self._edit(place) is not False


def engine_copy(folder: Path, text: str = "one\n") -> Path:
    """The engine's private copy of a file, as `propose` gets it."""
    place = folder / "copy" / "note.md"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


def brief_for(place: Path, words: str = "do it") -> Brief:
    return Brief(text=f"Location: {place}\n{words}\n", focus=("a",))


def propose(
    worker: HumanWorker | StepWorker, place: Path, number: int = 1, words: str = "do it"
) -> WorkDone:
    brief = replace(brief_for(place, words), round=number)
    return asyncio.run(worker.propose(brief, place, place.parent.parent / "brief.md"))


def append(place: Path) -> None:
    place.write_text(place.read_text() + "two\n")


def give_up(place: Path) -> bool:
    place.write_text("never mind")
    return False


def nobody(place: Path) -> bool:
    raise CallFailed("nobody is here")


@pytest.mark.parametrize("edit", [append, give_up, nobody, lambda place: None])
def test_it_keeps_the_promises_of_a_worker(tmp_path: Path, edit: Callable[[Path], object]) -> None:
    """Whatever the person does, failures are reported and nothing is left beside the artifact."""
    check_worker(HumanWorker("human", Somebody(tmp_path / "kept", edit)))


def test_an_edit_is_handed_over(tmp_path: Path) -> None:
    """The engine's copy holds the edited bytes, and the brief named the person's copy."""
    person = Somebody(tmp_path / "kept", append)
    place = engine_copy(tmp_path / "engine")
    assert propose(HumanWorker("human", person), place).ended == "exited"
    assert place.read_text() == "one\ntwo\n"
    assert (
        str(tmp_path / "kept") in person.told[0] and str(tmp_path / "engine") not in person.told[0]
    )


def test_giving_up_changes_nothing(tmp_path: Path) -> None:
    """Given up after an edit: every byte of the engine's copy is as before, and the edit is gone
    next time.
    """
    person = Somebody(tmp_path / "kept", give_up)
    place = engine_copy(tmp_path / "engine")
    done = propose(HumanWorker("human", person), place)
    assert place.read_text() == "one\n" and "gave this round up" in done.message
    assert list(person.drafts.iterdir()) == []


def test_an_edit_cut_short_is_there_again(tmp_path: Path) -> None:
    """Interrupted in the middle, the same work goes on with the half-edited copy in another
    engine's folder.
    """

    def cut_short(place: Path) -> None:
        append(place)
        raise KeyboardInterrupt

    kept = tmp_path / "kept"
    with pytest.raises(KeyboardInterrupt):
        propose(HumanWorker("human", Somebody(kept, cut_short)), engine_copy(tmp_path / "first"))
    place = engine_copy(tmp_path / "second")
    propose(HumanWorker("human", Somebody(kept, lambda _: None)), place)
    assert place.read_text() == "one\ntwo\n"


def test_what_was_handed_in_stays_until_it_is_recorded(tmp_path: Path) -> None:
    """It is removed when the worker is asked again or closed: before that a kill could lose it."""
    worker = HumanWorker("human", Somebody(tmp_path / "kept", append))
    propose(worker, engine_copy(tmp_path / "engine"))
    assert len(list((tmp_path / "kept").iterdir())) == 1
    place = engine_copy(tmp_path / "engine")
    propose(worker, place)
    assert place.read_text() == "one\ntwo\n"  # from the base, not from the last edit
    asyncio.run(worker.close())
    assert list((tmp_path / "kept").iterdir()) == []


def test_another_task_is_another_copy(tmp_path: Path) -> None:
    """Other bytes or other words make another key; only the folder's place does not count."""
    first, moved = engine_copy(tmp_path / "a"), engine_copy(tmp_path / "b")
    assert work_key(brief_for(first), first) == work_key(brief_for(moved), moved)
    assert work_key(brief_for(first), first) != work_key(brief_for(first, "else"), first)
    other = engine_copy(tmp_path / "c", "other\n")
    assert work_key(brief_for(first), first) != work_key(brief_for(other), other)


def test_a_mirror_holds_what_the_source_holds(tmp_path: Path) -> None:
    """Files, folders, links and modes; what was only in the target is gone, and a pipe is left out."""
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "run.sh").write_text("#!/bin/sh\n")
    (source / "deep" / "run.sh").chmod(0o755)
    (source / "link").symlink_to("/etc/hostname")
    (source / "loop").symlink_to(source)
    os.mkfifo(source / "pipe")
    (target / "old").mkdir(parents=True)
    (target / "old" / "gone.md").write_text("x")
    mirror(source, target)
    assert sorted(str(p.relative_to(target)) for p in target.rglob("*")) == [
        "deep",
        "deep/run.sh",
        "link",
        "loop",
    ]
    assert (target / "link").is_symlink() and (target / "deep" / "run.sh").stat().st_mode & 0o100


def test_a_copy_is_made_once(tmp_path: Path) -> None:
    """A second look at the same folder finds the edits, not a fresh copy; no half-made folder is
    left.
    """
    place = engine_copy(tmp_path / "engine")
    first = keep_copy(tmp_path / "kept" / "round-1", brief_for(place), place)
    append(first.place)
    again = keep_copy(tmp_path / "kept" / "round-1", brief_for(place), place)
    assert again.place.read_text() == "one\ntwo\n"
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["round-1"]


# ------------------------------------------------------------------------------------------------------
# the step worker


def in_folder(folder: Path, edit: SubmittedEdit | None = None) -> StepWorker:
    worker = StepWorker()
    worker.folder, worker.edit = folder, edit
    return worker


def test_a_step_waits_until_its_round_is_submitted(tmp_path: Path) -> None:
    """First the action, with the place to edit; then, for that round only, the edited bytes."""
    place, run = engine_copy(tmp_path / "engine"), tmp_path / "run"
    with pytest.raises(Waiting) as waiting:
        propose(in_folder(run), place, 1)
    given = waiting.value
    assert (given.action, given.details["round"]) == ("propose", 1)
    assert f"Location: {given.details['location']}" in str(given.details["brief"])
    append(Path(str(given.details["location"])))
    other = in_folder(run, SubmittedEdit(round=1))
    with pytest.raises(Waiting):
        propose(other, place, 2)
    assert not other.has_taken and place.read_text() == "one\n"
    crashed = in_folder(run, SubmittedEdit(round=1, ended="crashed"))
    assert propose(crashed, place, 1).ended == "crashed" and place.read_text() == "one\ntwo\n"


def test_a_step_outside_its_command_is_a_usage_error(tmp_path: Path) -> None:
    """`improve --worker step` names the command that drives it."""
    with pytest.raises(UsageError, match="one action at a time"):
        propose(StepWorker(), engine_copy(tmp_path))
