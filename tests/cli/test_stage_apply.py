"""`stage apply`: a plan on the skill itself, with a backup, all or nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from honestone.app.stages.apply import announce, applied, back_up, original_of, recover
from honestone.app.stages.files import StageFiles
from honestone.core.artifact import Entry, Version
from honestone.core.errors import UsageError
from honestone.formats.stage_files import RollbackPointer

from .desk import Desk
from .stage_desk import (
    SKILL,
    append,
    digest_in,
    files_in,
    problems,
    put_skill,
    ranking,
    skill_in,
    stage,
)


@pytest.fixture
def ready(desk: Desk) -> Desk:
    put_skill(desk)
    return desk


def text(desk: Desk) -> str:
    return (desk.folder / "skill/SKILL.md").read_text()


def apply(desk: Desk, id: str = "c1", out: str = "x.json"):  # type: ignore[no-untyped-def]
    return stage(desk, "apply", "--input", "r.json", "--candidate-id", id, out=out)


def test_the_plan_is_carried_out_with_diff_backup_and_pointer(ready: Desk) -> None:
    """The artifact says what was applied, by digest; the original is kept."""
    ranking(ready, append("about ferns: moist"))
    result, document = apply(ready)
    done = document["result"]
    assert (
        result.code == 0 and problems("execution", document) == [] and done["status"] == "success"
    )
    assert (
        text(ready) == SKILL + "\n## More\n\n- about ferns: moist\n"
        and "+- about ferns: moist" in done["diff"]
    )
    pointer = done["rollback_pointer"]
    assert (
        pointer["method"] == "restore_backup_file"
        and (ready.folder / pointer["backup_path"]).read_text() == SKILL
    )
    assert (
        done["candidate_digest"]
        == digest_in(ready.folder / "skill")
        == document["candidate_digest"]
    )
    assert done["diff_summary"]["added_lines"] == 4 and done["risk_level"] == "low"


def test_files_and_modes_are_written_and_the_whole_is_backed_up(ready: Desk) -> None:
    """A plan of several files keeps modes; the backup is a folder with all of the original."""
    ready.file("skill/old.md", "old\n")
    files = [
        {"path": "scripts/a.sh", "text": "echo\n", "mode": "0755"},
        {"path": "SKILL.md", "text": SKILL + "x\n"},
    ]
    ranking(
        ready,
        {"action": "write_files", "files": files, "delete": ["old.md"]},
        target_path="./skill",
    )
    result, document = apply(ready)
    script, pointer = ready.folder / "skill/scripts/a.sh", document["result"]["rollback_pointer"]
    assert (
        result.code == 0
        and os.access(script, os.X_OK)
        and not (ready.folder / "skill/old.md").exists()
    )
    backup = ready.folder / pointer["backup_path"]
    assert (backup / "SKILL.md").read_text() == SKILL and (backup / "old.md").read_text() == "old\n"


@pytest.mark.parametrize(
    ("plan", "status"),
    [
        ({"action": "unsupported_manual_refactor", "notes": "n"}, "unsupported"),
        (append("x", heading="## Rules"), "no_change"),
        (
            {
                "action": "replace_markdown_section",
                "section_heading": "## None",
                "content_lines": ["x"],
            },
            "error",
        ),
    ],
)
def test_what_cannot_be_applied_is_told_and_changes_nothing(
    ready: Desk, plan: dict[str, object], status: str
) -> None:
    """Exit 1, the reason in the artifact, no backup, no pointer."""
    ranking(ready, plan)
    result, document = apply(ready)
    done = document["result"]
    assert result.code == 1 and (done["status"], done["modified"], done["rollback_pointer"]) == (
        status,
        False,
        None,
    )
    assert problems("execution", document) == [] and done["error"] and text(ready) == SKILL
    assert not (ready.folder / "st/executions/backups").exists()


@pytest.mark.parametrize(
    "path",
    [
        "./other.md",
        "./skill/../other.md",
        "skill/link.md",
        "skill/folder/other.md",
        "skill/evals.json",
    ],
)
def test_nothing_outside_the_skill_is_ever_written(ready: Desk, path: str) -> None:
    """By path, by a link to a file or a folder, or a suite that lies in it: exit 2, nothing
    written.
    """
    other = ready.file("other.md", "# Mine\n")
    (ready.folder / "skill/link.md").symlink_to(other)
    (ready.folder / "skill/folder").symlink_to(ready.folder)
    ready.file(
        "skill/evals.json",
        '{"suite": 1, "cases": [{"id": "a", "input": "b", "checks": [{"contains": ["c"]}]}]}',
    )
    ranking(ready, append("x"), target_path=path)
    result, document = apply(ready)
    assert (
        result.is_refusal
        and document == {}
        and other.read_text() == "# Mine\n"
        and text(ready) == SKILL
    )
    inside = path.removeprefix("skill/")
    if inside != path:
        ranking(
            ready,
            {"action": "write_files", "files": [{"path": inside, "text": "x"}]},
            target_path="skill",
        )
        result, document = apply(ready)
        assert result.is_refusal and document == {} and other.read_text() == "# Mine\n"


def test_unknown_candidates_and_artifacts_are_refused(ready: Desk) -> None:
    """The ids that there are stand in the hint; an artifact of another stage is named as such."""
    ranking(ready, append("x"))
    result, _ = apply(ready, "zz")
    assert result.is_refusal and "it has: c1" in result.err
    document = json.loads((ready.folder / "r.json").read_text())
    ready.file("r.json", json.dumps({**document, "stage": "proposed"}))
    result, _ = apply(ready)
    assert result.is_refusal and "another stage" in result.err and text(ready) == SKILL


def test_a_second_run_keeps_the_first_ones_artifact_and_backup(ready: Desk) -> None:
    """Each has its own file and its own backup."""
    ranking(ready, append("x"))
    for heading in ("## More", "## Even more"):
        ranking(ready, append("x", heading=heading))
        result = ready.run(
            "stage", "apply", "--input", "r.json", "--candidate-id", "c1", "--state-root", "st"
        )
        assert result.code == 0
    assert len(list((ready.folder / "st/executions").glob("*.json"))) == 2
    kept = list((ready.folder / "st/executions/backups").rglob("*SKILL.md"))
    assert len(kept) == 2 and SKILL in {path.read_text() for path in kept}


# ----------------------------------------------------------------------------------------------------
# the way back


def two_versions(tmp_path: Path) -> tuple[Path, StageFiles, Version]:
    folder = tmp_path / "skill"
    (folder / "sub").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "sub/old.md").write_text("old\n")
    after = Version(
        {"SKILL.md": Entry(b"# New\n"), "new/run.sh": Entry(b"echo\n", executable=True)},
        is_folder=True,
    )
    return folder, files_in(tmp_path / "st"), after


def test_restore_brings_every_byte_and_mode_back(tmp_path: Path) -> None:
    """Files that were added go, files that were removed come, and once more changes nothing."""
    folder, files, after = two_versions(tmp_path)
    before = skill_in(folder)
    pointer = back_up(files, before, ["SKILL.md", "sub/old.md", "new/run.sh"], Path("r", "c"))
    before.put_in_place(after)
    assert digest_in(folder) == after.digest and not (folder / "sub").exists()
    for _ in range(2):
        now = skill_in(folder)
        now.put_in_place(original_of(pointer, now))
        assert digest_in(folder) == before.version.digest and not (folder / "new").exists()


def test_restore_never_goes_over_somebodys_edit(tmp_path: Path) -> None:
    """Neither of a file that the plan changed nor of another."""
    folder, files, after = two_versions(tmp_path)
    before = skill_in(folder)
    pointer = back_up(files, before, ["SKILL.md", "sub/old.md", "new/run.sh"], Path("r", "c"))
    before.put_in_place(after)
    now = skill_in(folder)
    (folder / "mine.md").write_text("my words\n")
    with pytest.raises(UsageError, match="edited"):
        now.put_in_place(original_of(pointer, now))
    assert (folder / "SKILL.md").read_text() == "# New\n" and (folder / "mine.md").exists()


@pytest.mark.parametrize(
    "pointer",
    [
        {},
        {"method": "x", "backup_path": "b", "target_path": "skill"},
        {"method": "restore_backup_file", "backup_path": "b", "target_path": "/etc/passwd"},
        {
            "method": "restore_backup_folder",
            "backup_path": ".",
            "target_path": "skill",
            "changed": ["../x"],
        },
        {
            "method": "restore_backup_file",
            "backup_path": "missing",
            "target_path": "skill/SKILL.md",
        },
    ],
)
def test_a_pointer_that_leads_elsewhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pointer: dict[str, object]
) -> None:
    """Artifacts are files that anybody may have written."""
    folder, _, _ = two_versions(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises((UsageError, msgspec.ValidationError)):
        original_of(msgspec.convert(pointer, RollbackPointer), skill_in(folder))
    assert (folder / "SKILL.md").read_text() == SKILL


def test_a_write_that_fails_halfway_leaves_the_skill_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first file is written, the second cannot be: all is put back."""
    from honestone.system import files as system

    folder, _, after = two_versions(tmp_path)
    target, real, calls = skill_in(folder), system._replace, []

    def full_disk(place: int, name: str, data: bytes, executable: bool | None, **more: int) -> None:
        calls.append(name)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(place, name, data, executable, **more)

    monkeypatch.setattr(system, "_replace", full_disk)
    with pytest.raises(UsageError, match="No space left"):
        target.put_in_place(after)
    assert len(calls) == 3 and digest_in(folder) == target.version.digest


def killed(tmp_path: Path) -> tuple[Path, StageFiles, str]:
    """As a kill leaves it: announced, and one of the files written."""
    folder, files, after = two_versions(tmp_path)
    before = skill_in(folder)
    pointer = back_up(files, before, ["SKILL.md", "sub/old.md", "new/run.sh"], Path("r", "c"))
    announce(files, before, after, pointer)
    (folder / "SKILL.md").write_text("# New\n")
    return folder, files, before.version.digest


def test_a_kill_while_applying_is_undone_by_the_next_stage(tmp_path: Path) -> None:
    """The skill is never left half written; a second look finds nothing to do."""
    folder, files, original = killed(tmp_path)
    for _ in range(2):
        assert recover(files, skill_in(folder)).version.digest == original == digest_in(folder)


def test_an_edit_after_a_kill_is_not_overwritten(tmp_path: Path) -> None:
    """Whoever repaired the skill by hand is told where the original is."""
    folder, files, _ = killed(tmp_path)
    (folder / "SKILL.md").write_text("my words\n")
    with pytest.raises(UsageError, match="edited since") as caught:
        recover(files, skill_in(folder))
    assert (folder / "SKILL.md").read_text() == "my words\n" and "backups" in str(caught.value.hint)


def test_a_kill_at_one_skill_is_undone_whatever_another_skill_of_the_same_root_did_since(
    tmp_path: Path,
) -> None:
    """Each skill has its own note of what was being put in place."""
    folder, files, original = killed(tmp_path / "one")
    elsewhere, _, _ = two_versions(tmp_path / "two")
    other = skill_in(elsewhere)
    announce(files, other, other.version, back_up(files, other, ["SKILL.md"], Path("r2", "c2")))
    applied(files, other)
    assert recover(files, skill_in(folder)).version.digest == original == digest_in(folder)


def test_an_edit_made_after_the_proposal_is_not_written_over(ready: Desk) -> None:
    """A candidate holds whole files: applied to a skill that moved on, it would take somebody's
    words. Exit 2.
    """
    old = skill_in(ready.folder / "skill").version.digest
    whole = {
        "action": "write_files",
        "files": [{"path": "SKILL.md", "text": SKILL + "candidate\n"}],
    }
    ranking(ready, whole, target_path="./skill", base_digest=old)
    mine = SKILL + "my words\n"
    (ready.folder / "skill/SKILL.md").write_text(mine)
    result, artifact = apply(ready)
    assert result.is_refusal and "edited since" in result.err and "propose again" in result.err
    assert text(ready) == mine and artifact == {}
    (ready.folder / "skill/SKILL.md").write_text(SKILL)
    assert apply(ready)[0].code == 0 and text(ready) == SKILL + "candidate\n"
