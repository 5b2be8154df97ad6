"""The demo is a real run in a folder of its own: it ends PASSED, takes back what made it worse, and
touches nothing else.
"""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from honestone.cli import demo as demo_module
from honestone.cli.demo import EXAMPLES, demo, examples_folder, make_folder
from honestone.core.artifact import digest_of
from honestone.core.errors import FileError, UsageError

from .desk import Desk, Result, can_mount

# Three whole demos: each starts some thirty programs.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Result]:
    """One demo as a person sees it, in a folder whose settings would stop every loop after one
    round.
    """
    root = tmp_path_factory.mktemp("told")
    for name in ("work", "home", "logs"):
        (root / name).mkdir()
    desk = Desk(root / "work", root / "home", root / "logs")
    desk.file("honestone.toml", "[limits]\nrounds = 1\n")
    return desk, desk.run("demo", env={"COLUMNS": "80", "HONESTONE_HOME": str(root / "elsewhere")})


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The demo's folder and its document, run where nothing but one program is on PATH."""
    root = tmp_path_factory.mktemp("document")
    for name in ("work", "home", "logs", "bin"):
        (root / name).mkdir()
    desk = Desk(root / "work", root / "home", root / "logs")
    result = desk.run("demo", "--json", env={"PATH": str(root / "bin")})
    assert result.code == 0, result.err
    return desk.folder / "honestone-demo", result.json


def test_it_goes_from_failing_to_passed(document: tuple[Path, dict[str, Any]]) -> None:
    """The baseline fails its gate, the final version passes it, and no witness was needed."""
    _, improved = document
    assert improved["schema"] == "honestone.improvement/1"
    assert improved["result"] == "PASSED"
    assert improved["baseline"]["verdict"] == "fail"
    assert improved["final"]["verdict"] == "pass"
    assert improved["certification"]["needed"] is False
    assert improved["usage"]["judge_calls"] == 0


def test_the_first_round_mends_what_is_below_its_floor(
    document: tuple[Path, dict[str, Any]],
) -> None:
    """Round 1 works on a criterion below its floor, is accepted, and no criterion is below its
    floor after it.
    """
    _, improved = document
    first = improved["rounds"][0]
    low = [one["id"] for one in improved["baseline"]["criteria"] if one["below_floor"]]
    assert first["focus"] == low
    assert first["decision"] == "accepted"
    assert first["floor_violations"] == []


def test_a_change_for_the_worse_is_rolled_back(document: tuple[Path, dict[str, Any]]) -> None:
    """A round whose new version was measured and scored lower, by breaking another criterion, is
    rejected.
    """
    _, improved = document
    worse = [
        one
        for one in improved["rounds"]
        if one["decision"] == "rejected" and one["outcome"] == "changed"
    ]
    assert worse
    first = worse[0]
    assert first["score_after"] < first["score_before"]
    by_id = {one["id"]: one for one in first["criteria"]}
    assert by_id[first["focus"][0]]["after"] > by_id[first["focus"][0]]["before"]
    assert [one["id"] for one in first["criteria"] if one["after"] < one["before"]]
    assert first["floor_violations"]


def test_the_file_holds_the_version_that_passed(document: tuple[Path, dict[str, Any]]) -> None:
    """What is on disk is the version that the report speaks of, and not the original."""
    folder, improved = document
    artifact = folder / improved["artifact"]["path"]
    assert digest_of(artifact.read_bytes()) == improved["artifact"]["digest"]
    assert improved["artifact"]["digest"] != improved["artifact"]["original"]
    original = examples_folder() / "readme" / EXAMPLES["readme"]
    assert digest_of(original.read_bytes()) == improved["artifact"]["original"]


def test_it_says_what_it_does_and_what_to_type_next(told: tuple[Desk, Result]) -> None:
    """Before: what is judged, by what, when it passes. Then the baseline, the rounds, the result,
    and the way on.
    """
    _, result = told
    assert result.code == 0, result.err
    out = result.out
    order = [
        "judged       project/README.md",
        "rubric.yaml: 5 criteria, 25 yes/no items",
        "passes when",
        "$ honestone eval project/README.md --rubric rubric.yaml",
        "DID NOT PASS",
        "$ honestone improve project/README.md --rubric rubric.yaml",
        "PASSED  project/README.md",
        "rejected",
        "Where everything is",
        "cd honestone-demo",
        "honestone init",
        "honestone doctor",
        "honestone eval README.md --rubric rubric.yaml",
        "honestone improve README.md --rubric rubric.yaml",
    ]
    places = [
        out.find(text, out.find(order[index - 1]) if index else 0)
        for index, text in enumerate(order)
    ]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places)
    assert "accepted" in result.err
    assert "criterion 'runs' fell below its floor" in result.err
    assert max(len(line) for line in out.splitlines()) <= 80


def test_its_record_is_in_its_folder_whatever_holds_outside(told: tuple[Desk, Result]) -> None:
    """Settings and a store of the person's own neither change the demo nor hear of it."""
    desk, _ = told
    assert (desk.folder / "honestone-demo" / ".honestone").is_dir()
    assert sorted(path.name for path in desk.folder.iterdir()) == [
        "honestone-demo",
        "honestone.toml",
    ]
    assert not (desk.folder.parent / "elsewhere").exists()
    # What is made there is the key by which this account knows its own stores.
    written = [
        path.relative_to(desk.home).as_posix() for path in desk.home.rglob("*") if path.is_file()
    ]
    assert [path for path in written if not path.startswith(".local/state/honestone/")] == []


def test_the_commands_that_it_names_work(told: tuple[Desk, Result]) -> None:
    """The lines to look closer are typed as they stand."""
    desk, _ = told
    folder = desk.folder / "honestone-demo"
    diff = desk.run("show", "last", "--format", "diff", cwd=folder)
    assert "+$ python3 readtime.py letter.txt" in diff.out
    before = desk.run("show", "last", "--version", "original", cwd=folder)
    assert before.out == (examples_folder() / "readme/project/README.md").read_text(
        encoding="utf-8"
    )


def test_a_second_demo_gets_a_folder_of_its_own(told: tuple[Desk, Result]) -> None:
    """The folder of the first one, and what its reader did there, stays as it is."""
    desk, _ = told
    own = desk.file("honestone-demo/mine.txt", "keep me")
    before = {path: path.read_bytes() for path in own.parent.rglob("*") if path.is_file()}
    again = desk.run("demo", "--quiet")
    assert again.code == 0, again.err
    assert again.err == ""
    assert again.out.count("PASSED") == 1
    assert (desk.folder / "honestone-demo-2" / "rubric.yaml").is_file()
    assert {path: path.read_bytes() for path in own.parent.rglob("*") if path.is_file()} == before


@pytest.mark.skipif(not can_mount(), reason="bubblewrap cannot take the network away here")
def test_it_needs_no_network_and_no_writable_folder(desk: Desk) -> None:
    """Without a network, in a folder that cannot be written, it runs in a temporary one and can
    leave nothing behind.
    """
    temporary = desk.folder.parent / "tmp"
    temporary.mkdir()
    box = [
        "bwrap",
        "--dev-bind",
        "/",
        "/",
        "--ro-bind",
        str(desk.folder),
        str(desk.folder),
        "--unshare-net",
    ]
    result = desk.run("demo", "--no-keep", "--json", prefix=box, env={"TMPDIR": str(temporary)})
    assert result.code == 0, result.err
    assert result.json["result"] == "PASSED"
    assert f"in {temporary}/honestone-demo-" in result.err
    assert list(temporary.iterdir()) == []
    assert list(desk.folder.iterdir()) == []


def test_an_interrupted_demo_goes_on_with_the_command_that_it_names(desk: Desk) -> None:
    """Ctrl-C in a round: exit 130, what to type, and typing it ends PASSED without doing the first
    round again.
    """
    running = desk.start("demo")
    assert running.stderr is not None
    told = ""
    while "runs  accepted" not in told and (line := running.stderr.readline()):
        told += line
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 130, out
    assert "cd honestone-demo\n" in out
    command = next(
        line for line in reversed(out.splitlines()) if line.startswith("  honestone improve")
    )
    words = command.partition("#")[0].split()[1:]
    result = desk.run(*words, "--json", cwd=desk.folder / "honestone-demo")
    assert result.code == 0, result.err
    assert result.json["resumed"] is True
    assert [one["round"] for one in result.json["rounds"]] == [1, 2, 3, 4, 5]


def test_it_leaves_the_process_as_it_found_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Called from a program, it leaves the working directory and the environment alone, also when
    it fails.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HONESTONE_HOME", str(tmp_path / "home"))
    environ = dict(os.environ)

    def broken(*_: object) -> None:
        raise UsageError("broken")

    monkeypatch.setattr(demo_module._Demo, "run", broken)
    with pytest.raises(UsageError, match="broken"):
        demo.main(args=["package"], standalone_mode=False)
    assert Path.cwd() == tmp_path
    assert dict(os.environ) == environ
    assert (tmp_path / "honestone-demo" / "project").is_dir()


def test_an_unknown_example_is_refused(desk: Desk) -> None:
    """The names there are stand in the error, and no folder is made."""
    result = desk.run("demo", "novel")
    assert result.is_refusal, result
    assert all(name in result.err for name in EXAMPLES)
    assert list(desk.folder.iterdir()) == []


# -------------------------------------------------------------------------------------------------------
# the folder


def test_a_folder_that_was_named_is_used_when_it_is_empty(tmp_path: Path) -> None:
    """An empty folder is taken as it is, one with anything in it is left alone, parents are made."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_text("a")
    (tmp_path / "file").write_text("a")
    assert make_folder(tmp_path / "empty") == tmp_path / "empty"
    assert make_folder(tmp_path / "full") == tmp_path / "full-2"
    assert make_folder(tmp_path / "file") == tmp_path / "file-2"
    assert make_folder(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert (tmp_path / "full" / "a").read_text() == "a"


def test_a_folder_that_cannot_be_made_is_refused(desk: Desk) -> None:
    """A named folder is never swapped for a temporary one."""
    desk.file("note.md", "a note")
    result = desk.run("demo", "--dir", "note.md/inside")
    assert result.is_refusal, result
    assert "note.md/inside" in result.err


def test_no_folder_anywhere_is_an_error_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither here nor in a temporary place: said in words."""

    def refuse(*_: object, **__: object) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(demo_module, "_new_folder", refuse)
    monkeypatch.setattr(demo_module.tempfile, "mkdtemp", refuse)
    with pytest.raises(FileError, match="Permission denied") as caught:
        make_folder(None)
    assert "--dir" in (caught.value.hint or "")


# -----------------------------------------------------------------------------------------------
# where examples are


def test_the_examples_of_an_installed_package_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a wheel they lie inside the package; a package without them says so."""
    package = tmp_path / "lib" / "honestone"
    (package / "cli").mkdir(parents=True)
    here = examples_folder()
    monkeypatch.setattr(demo_module, "__file__", str(package / "cli" / "demo.py"))
    with pytest.raises(UsageError, match="not part of this installation"):
        examples_folder()
    for name in EXAMPLES:
        shutil.copytree(here / name, package / "_examples" / name)
    assert examples_folder() == package / "_examples"


def test_a_read_only_installation_gives_a_copy_that_can_be_written(tmp_path: Path) -> None:
    """The copy has the content of the example, not its modes, and none of its caches or records."""
    source = tmp_path / "source"
    (source / "tools" / "__pycache__").mkdir(parents=True)
    (source / ".honestone").mkdir()
    (source / ".honestone" / "store").write_text("old")
    (source / "tools" / "__pycache__" / "a.pyc").write_text("old")
    (source / "tools" / "a.py").write_text("new")
    (source / "tools" / "a.py").chmod(0o444)
    (tmp_path / "copy").mkdir()
    demo_module.copy_example(source, tmp_path / "copy")
    files = [path for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    assert files == [tmp_path / "copy" / "tools" / "a.py"]
    assert files[0].stat().st_mode & 0o200
