"""Workspaces: private, made as described, and a diff that shows what was done in them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.errors import FileError
from honestone.core.suite.case import CaseWorkspace
from honestone.system.workspace import Folder, make_folder, require_workspace, run_command, unified


@contextmanager
def made(base: Path, **keys: object) -> Iterator[Folder]:
    folder = make_folder(CaseWorkspace(**keys), base)  # type: ignore[arg-type]
    try:
        folder.start()
        yield folder
    finally:
        folder.close()
        assert not folder.path.parent.exists()


def fixture(base: Path, **files: str) -> None:
    for name, text in files.items():
        path = base / "fixture" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_copy_then_files_and_the_fixture_stays_as_it_is(tmp_path: Path) -> None:
    """What is done in the copy does not reach the folder it came from; modes come along."""
    fixture(tmp_path, app__old="old\n", run="x")
    (tmp_path / "fixture/run").chmod(0o755)
    with made(tmp_path, copy="fixture", files={"app/new": "ü", "old": "y"}) as folder:
        assert (folder.path / "app/old").read_text() == "old\n"
        assert (folder.path / "app/new").read_text("utf-8") == "ü"
        assert os.access(folder.path / "run", os.X_OK)
        assert not folder.path.is_relative_to(tmp_path)
        (folder.path / "app/old").write_text("spoiled")
    assert (tmp_path / "fixture/app/old").read_text() == "old\n"


def test_links_stay_inside_or_are_left_out(tmp_path: Path) -> None:
    """A link out is named and not there; one inside leads to the copy, also when it was written as
    a full path.
    """
    fixture(tmp_path, a="a")
    root = tmp_path / "fixture"
    (root / "out").symlink_to("/etc/hostname")
    (root / "up").symlink_to("../..")
    (root / "folder").mkdir()
    (root / "folder/in").symlink_to(root / "a")
    (root / "linked").symlink_to("folder", target_is_directory=True)
    with made(tmp_path, copy="fixture") as folder:
        assert sorted(folder.notes) == [
            "left out out: a link that leads out",
            "left out up: a link that leads out",
        ]
        assert (folder.path / "folder/in").resolve() == folder.path / "a"
        assert (folder.path / "linked/in").read_text() == "a"
        assert not os.path.lexists(folder.path / "out")


def test_a_pipe_in_the_fixture_is_named_and_not_waited_for(tmp_path: Path) -> None:
    """Copying does not open what is no file."""
    fixture(tmp_path, a="a")
    os.mkfifo(tmp_path / "fixture/pipe")
    with made(tmp_path, copy="fixture") as folder:
        assert folder.notes == ("left out pipe: not a regular file",)
        os.mkfifo(folder.path / "new")
        assert "new file mode a special file" in folder.diff()


def test_a_copy_of_a_folder_above_the_temporary_one_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place that is copied to is no part of what is copied."""
    import tempfile

    fixture(tmp_path, a="a")
    (tmp_path / "fixture/tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "fixture/tmp"))
    with made(tmp_path, copy="fixture") as folder:
        assert sorted(p.name for p in folder.path.iterdir()) == ["a", "tmp"]


@pytest.mark.parametrize(
    "name", ["../x", "/x", "a/../../x", "", ".", "a\0b", ".git/hooks/post-checkout"]
)
def test_a_file_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    """Before anything is spent, with the name."""
    with pytest.raises(FileError, match="file inside it"):
        require_workspace(CaseWorkspace(files={name: "x"}), tmp_path)
    with pytest.raises(FileError):
        make_folder(CaseWorkspace(files={name: "x"}), tmp_path)


@pytest.mark.parametrize(
    "keys",
    [
        {"copy": "none"},
        {"git": "none"},
        {"git": ".", "ref": "--orphan"},
        {"git": "--upload-pack=x://y"},
    ],
)
def test_what_is_not_there_is_refused(tmp_path: Path, keys: dict[str, str]) -> None:
    """A folder or repository that does not exist, and names that git would take for options."""
    with pytest.raises(FileError):
        require_workspace(CaseWorkspace(**keys), tmp_path)  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------------------------------
# git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "repo"
    place.mkdir()
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]

    def git(*words: str) -> None:
        subprocess.run(["git", *who, *words], cwd=place, check=True, capture_output=True)

    git("init", "-q")
    (place / "a.txt").write_text("one\n")
    (place / "out").symlink_to("/etc/hostname")
    git("add", ".")
    git("commit", "-qm", "1")
    git("tag", "first")
    (place / "a.txt").write_text("two\n")
    git("commit", "-qam", "2")
    return place


def test_a_repository_at_a_commit(tmp_path: Path, repository: Path) -> None:
    """A clone of its own: its links out are gone, `.git` is no part of the diff, the original is
    not touched.
    """
    with made(tmp_path, git="repo", ref="first", files={"extra": "x"}) as folder:
        assert (folder.path / "a.txt").read_text() == "one\n"
        assert not os.path.lexists(folder.path / "out")
        (folder.path / ".git/description").write_text("changed")
        (folder.path / "a.txt").write_text("three\n")
        assert folder.diff().splitlines()[-2:] == ["-one", "+three"]
        assert ".git/" not in folder.diff()
        assert sorted(folder.left().files) == ["a.txt", "extra"]
    assert (repository / "a.txt").read_text() == "two\n"
    with made(tmp_path, git="repo") as folder:
        assert (folder.path / "a.txt").read_text() == "two\n"


def test_a_commit_that_is_not_there(tmp_path: Path, repository: Path) -> None:
    """Git's own words, and nothing left behind."""
    with pytest.raises(OSError, match=r"git checkout failed: .*nosuch"):
        make_folder(CaseWorkspace(git="repo", ref="nosuch"), tmp_path)


# ------------------------------------------------------------------------------------------------------------
# diff


def test_the_diff_shows_what_was_done_in_order_of_the_paths(tmp_path: Path) -> None:
    """New, changed, deleted, made executable, binary, a link; and nothing about what was not
    touched.
    """
    fixture(
        tmp_path,
        b="1\n2\n3\n4\n5\n6\n7\n8\n9\n",
        gone="bye\n",
        same="untouched\n",
        tool="#!/bin/sh\n",
        z="old",
    )
    with made(tmp_path, copy="fixture") as folder:
        assert folder.diff() == ""
        (folder.path / "a").write_text("new, without an end")
        (folder.path / "b").write_text("1\n2\n3\n4\nfive\n6\n7\n8\n9\n")
        (folder.path / "gone").unlink()
        (folder.path / "tool").chmod(0o755)
        (folder.path / "y").write_bytes(b"\0\1")
        (folder.path / "z").unlink()
        (folder.path / "z").symlink_to("a")
        assert folder.diff() == (
            "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+new, without an end\n"
            "\\ No newline at end of file\n"
            "diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
            "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"
            "diff --git a/tool b/tool\nold mode 100644\nnew mode 100755\n"
            "diff --git a/y b/y\nnew file mode 100644\nBinary or large file y is new (2 bytes)\n"
            "diff --git a/z b/z\nold mode 100644\nnew mode 120000\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-old\n"
            "\\ No newline at end of file\n+a\n\\ No newline at end of file\n"
        )


def test_what_was_set_up_is_no_part_of_the_diff(tmp_path: Path) -> None:
    """It starts where the target starts; caches never count."""
    folder = make_folder(CaseWorkspace(files={"a": "1"}), tmp_path)
    (folder.path / "made").write_text("by setup")
    folder.start()
    (folder.path / "__pycache__").mkdir()
    (folder.path / "__pycache__/x.pyc").write_bytes(b"x")
    assert folder.diff() == ""
    folder.close()


def test_a_change_that_hides_is_seen(tmp_path: Path) -> None:
    """Same size and the time of change set back: still another file."""
    with made(tmp_path, files={"a": "aaaa"}) as folder:
        before = os.stat(folder.path / "a")
        (folder.path / "a").write_text("bbbb")
        os.utime(folder.path / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
        assert "+bbbb" in folder.diff()


def test_a_long_diff_is_cut_and_says_so(tmp_path: Path) -> None:
    """The size is bounded, what is missing is counted."""
    with made(tmp_path) as folder:
        for name in "abc":
            (folder.path / name).write_text("line\n" * 1000)
        cut = folder.diff(limit=300)
        assert len(cut) < 600
        assert cut.count("[the diff of this file is cut here:") == 2
        assert "[the diff is cut here: 1 more files]" in cut


def test_a_very_large_or_worst_case_file_does_not_hold_it_up(tmp_path: Path) -> None:
    """A file over a megabyte is named only; thousands of equal lines are not compared with each
    other.
    """
    with made(tmp_path, files={"worst": "x\n\n" * 40_000}) as folder:
        (folder.path / "worst").write_text("\ny\n" * 40_000)
        with open(folder.path / "huge", "wb") as file:
            file.truncate(3_000_000_000)
        (folder.path / "huge").unlink()
        (folder.path / "large").write_text("x" * 2_000_000)
        assert "large is new (2000000 bytes)" in folder.diff(limit=10_000_000)
        assert "+y" in folder.diff(limit=10_000_000)


def test_names_from_outside_are_harmless(tmp_path: Path) -> None:
    """A name with a line break cannot forge a line of the diff."""
    with made(tmp_path) as folder:
        (folder.path / "a\n+forged").write_text("x")
        (folder.path / os.fsdecode(b"b\xff")).write_text("x")
        lines = folder.diff().splitlines()
        assert "+forged b/a\\n+forged" not in lines
        assert any("a\\n+forged" in line for line in lines)


@given(
    st.lists(st.sampled_from(["a", "b", "c", ""])),
    st.lists(st.sampled_from(["a", "b", "c", ""])),
    st.booleans(),
)
def test_a_diff_can_be_applied(old: list[str], new: list[str], ends: bool) -> None:
    """Reading the hunks back turns the old text into the new one."""
    before = "".join(line + "\n" for line in old)
    after = "\n".join(new) + ("\n" if ends and new else "")
    out: list[str] = []
    source = before.split("\n")[:-1]
    at, missing_end = 0, False
    for line in unified(before, after):
        if line.startswith("@@"):
            begins, _, length = line.split()[1][1:].partition(",")
            start = int(begins) - (0 if length == "0" else 1)
            out += source[at:start]
            at = start
        elif line.startswith("\\"):
            missing_end = True
        elif line[0] == "+":
            out.append(line[1:])
        else:
            assert source[at] == line[1:]
            out += [line[1:]] if line[0] == " " else []
            at += 1
    out += source[at:]
    assert "".join(line + "\n" for line in out).removesuffix("\n" if missing_end else "\0") == after


# -------------------------------------------------------------------------------------------------
# what is left of it


def test_what_is_left_is_a_version_with_modes(tmp_path: Path) -> None:
    """Regular files, binary ones too; links are no part of it."""
    with made(tmp_path, files={"a": "1"}) as folder:
        (folder.path / "b").write_bytes(b"\0")
        (folder.path / "b").chmod(0o755)
        (folder.path / "link").symlink_to("/etc/hostname")
        left = folder.left()
        assert {name: (entry.data, entry.executable) for name, entry in left.files.items()} == {
            "a": (b"1", False),
            "b": (b"\0", True),
        }
        with pytest.raises(OSError, match="holds more than"):
            folder.left(limit=1)


def test_a_locked_folder_is_removed(tmp_path: Path) -> None:
    """What a target made unwritable goes with the rest."""
    with made(tmp_path) as folder:
        (folder.path / "deep/er").mkdir(parents=True)
        (folder.path / "deep/er/x").write_text("x")
        (folder.path / "deep/er").chmod(0)
        (folder.path / "deep").chmod(0o500)


# --------------------------------------------------------------------------------------------------------
# commands


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("test -f there", None),
        ("sh -c 'echo $MINE > mine'", None),
        ("test -f gone", "exit code 1"),
        ("sh -c 'echo no network >&2; exit 3'", "exit code 3: no network"),
        ("no-such-program-here", "could not be started"),
        ("sh -c 'unbalanced", "cannot be split"),
        ("sleep 30", "still running after 0.5 s"),
    ],
)
def test_a_set_up_command_says_what_went_wrong(tmp_path: Path, line: str, why: str | None) -> None:
    """It runs in the folder with the variables given, on top of the harmless ones."""
    (tmp_path / "there").write_text("")
    found = asyncio.run(
        run_command(line, cwd=tmp_path, env={"MINE": "yes"}, timeout=0.5 if "sleep" in line else 20)
    )
    assert found is None if why is None else why in str(found)
    assert not (tmp_path / "mine").exists() or (tmp_path / "mine").read_text() == "yes\n"


def test_what_a_set_up_command_leaves_running_is_ended(tmp_path: Path) -> None:
    """Like any program of ours."""
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, file=open('pid', 'w'))"
    (tmp_path / "s.py").write_text(code)
    assert (
        asyncio.run(run_command(f"{sys.executable} s.py", cwd=tmp_path, env={}, timeout=20)) is None
    )
    pid = int((tmp_path / "pid").read_text())
    assert (
        not os.path.exists(f"/proc/{pid}")
        or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]
    )
