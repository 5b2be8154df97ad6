"""`honestone undo` as a person uses it: what `improve` changed is as it was, or nothing is touched."""

from __future__ import annotations

import os
import shutil
import stat

import pytest

from .desk import Desk, Result
from .test_improve import ADD_ALL, ADD_PEAR, NOTE, WHOLE, improve, left_unfinished, note

CODE = """\
rubric: 1
title: T
threshold: 100
criteria:
  - {id: pear, requirement: It names the pear, check: {contains: pear}}
"""
FOLDER_WORKER = """
    os.remove(os.path.join(path, "secret.md"))
    os.chmod(os.path.join(path, "run.sh"), 0o644)
    os.makedirs(os.path.join(path, "new"))
    open(os.path.join(path, "new", "pear.md"), "w").write("A pear.\\n")
"""


@pytest.fixture
def improved(desk: Desk) -> Result:
    """A note that code judges and one round made pass."""
    desk.rubric(CODE)
    desk.file("note.md", NOTE).chmod(0o640)
    return improve(desk, desk.worker("worker", ADD_PEAR))


def test_the_bytes_and_the_mode_before_the_run_are_put_back(desk: Desk, improved: Result) -> None:
    run = improved.json["run"]
    assert improved.code == 0 and note(desk) != NOTE
    undone = desk.run("undo", run)
    assert (undone.code, note(desk)) == (0, NOTE), undone.err
    assert undone.out == (
        f"note.md is as it was before run {run}\n  what the run made is kept: honestone show {run} --version best\n"
    )
    assert stat.S_IMODE((desk.folder / "note.md").stat().st_mode) == 0o640
    assert "pear" in desk.run("show", run, "--version", "best").out
    assert desk.run("show", run, "--json").json["undone"] is True
    assert "undone: the file is as it was before the run" in desk.run("show", run).out
    again = desk.run("undo", run)
    assert (again.code, again.out) == (0, f"run {run} is undone already: note.md was put back\n")


def test_the_footer_names_the_diff_and_undo_where_the_file_was_changed(
    desk: Desk, improved: Result
) -> None:
    run, shown = improved.json["run"], desk.run("show").out
    assert f"honestone show {run} --format diff" in shown and f"honestone undo {run}" in shown
    desk.run("undo")
    assert "honestone undo" not in desk.run("show").out


def test_a_file_that_was_changed_since_is_left_alone(desk: Desk, improved: Result) -> None:
    desk.file("note.md", "mine now\n")
    refused = desk.run("undo")
    assert (
        refused.is_refusal
        and "'note.md' was changed since run" in refused.err
        and "--version original" in refused.err
    )
    assert note(desk) == "mine now\n"
    (desk.folder / "note.md").unlink()
    assert desk.run("undo").is_refusal and not (desk.folder / "note.md").exists()


def test_a_link_in_the_place_of_the_file_is_not_followed(desk: Desk, improved: Result) -> None:
    elsewhere = desk.file("elsewhere.md", note(desk))
    (desk.folder / "note.md").unlink()
    (desk.folder / "note.md").symlink_to(elsewhere)
    assert desk.run("undo").is_refusal
    assert "pear" in elsewhere.read_text()


def test_of_two_runs_the_later_one_is_undone_first(desk: Desk, improved: Result) -> None:
    desk.rubric(CODE.replace("pear", "plum"))
    later = improve(desk, desk.worker("other", "put(read() + b'A plum.\\n')")).json["run"]
    refused = desk.run("undo", improved.json["run"])
    assert refused.is_refusal and f"honestone undo {later}" in refused.err
    assert (desk.run("undo").code, desk.run("undo", improved.json["run"]).code, note(desk)) == (
        0,
        0,
        NOTE,
    )


def test_a_folder_gets_back_its_files_with_their_modes_and_loses_those_the_run_made(
    desk: Desk,
) -> None:
    desk.rubric(CODE)
    for name, mode in (("a.md", 0o644), ("secret.md", 0o600), ("run.sh", 0o750)):
        desk.file(f"notes/{name}", f"{name}\n").chmod(mode)
    place = desk.folder / "notes"
    done = improve(desk, desk.worker("worker", FOLDER_WORKER), artifact="notes")
    assert (
        done.code == 0 and not (place / "secret.md").exists() and (place / "new/pear.md").exists()
    )
    desk.file("notes/mine.md", "made since\n")
    assert desk.run("undo").code == 0
    assert {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in place.iterdir()
        if path.name != "mine.md"
    } == {
        "a.md": 0o644,
        "secret.md": 0o600,
        "run.sh": 0o750,
    }
    assert (place / "secret.md").read_text() == "secret.md\n" and (
        place / "mine.md"
    ).read_text() == "made since\n"


def test_a_folder_with_a_link_in_the_place_of_a_file_is_left_alone(desk: Desk) -> None:
    desk.rubric(CODE)
    desk.file("notes/a.md", NOTE)
    improve(desk, desk.worker("worker", "path += '/a.md'\n" + ADD_PEAR), artifact="notes")
    shutil.move(desk.folder / "notes", desk.folder / "moved")
    (desk.folder / "notes").symlink_to("moved")
    assert desk.run("undo").is_refusal
    assert "pear" in (desk.folder / "moved/a.md").read_text()


def test_a_run_that_changed_nothing_says_so(desk: Desk) -> None:
    desk.rubric(CODE)
    desk.file("note.md", NOTE)
    improve(desk, desk.worker("worker", ADD_PEAR), dry_run=True)
    left = desk.run("undo")
    assert left.code == 0 and left.out.startswith("nothing to undo: run ")
    improve(desk, desk.worker("worker", ADD_PEAR), output="out.md")
    refused = desk.run("undo")
    assert refused.is_refusal and "wrote to 'out.md'; 'note.md' was not touched" in refused.err
    run = desk.run("eval", "note.md", "--rubric", "rubric.yaml", "--json").json["run"]
    assert desk.run("undo", run).is_refusal
    assert desk.run("undo", "last").is_refusal  # not hidden by the eval


def test_last_is_the_newest_run_that_changed_a_file_and_is_not_undone(
    desk: Desk, improved: Result
) -> None:
    """Runs that changed nothing do not hide it, and undoing again takes the run before."""
    first = improved.json["run"]
    passing = desk.run("improve", "note.md", "--rubric", "rubric.yaml", "--worker", "cmd:false")
    assert passing.code == 0 and "it passes already: no worker was asked" in passing.out
    assert "no version was better" not in passing.out
    desk.file("other.md", NOTE)
    improve(desk, desk.worker("worker", ADD_PEAR), artifact="other.md", dry_run=True)
    second = improve(desk, desk.worker("worker", ADD_PEAR), artifact="other.md").json["run"]
    by_file = desk.run("undo", "note.md")
    assert by_file.is_refusal and "'note.md' is a file or folder" in by_file.err
    assert f"hint: honestone undo {first}\n" in by_file.err
    undone = desk.run("undo", "last")
    assert (
        undone.out.startswith(f"other.md is as it was before run {second}\n")
        and "newer" not in undone.out
    )
    assert "all are undone" in desk.run("undo", "other.md").err
    undone = desk.run("undo")
    assert undone.code == 0 and note(desk) == NOTE
    assert undone.out.startswith(f"note.md is as it was before run {first}\n")
    assert undone.out.endswith("newer runs left nothing to undo\n")
    assert desk.run("undo").code == 0 and note(desk) == NOTE
    assert desk.run("undo", "nothing.md").is_refusal


@pytest.mark.slow
def test_an_unfinished_run_is_undone_and_can_be_resumed(ready: Desk) -> None:
    judge = ready.judge()
    worker = left_unfinished(ready, judge)
    assert "pear" in note(ready)
    assert (ready.run("undo").code, note(ready)) == (0, NOTE)
    again = improve(ready, worker, judge, threshold=100)
    assert again.json["resumed"] and "pear" in note(ready)


@pytest.mark.slow
def test_a_run_under_way_is_not_undone(ready: Desk) -> None:
    import time

    judge, worker = (
        ready.judge(),
        ready.worker("slow", "import time\n" + ADD_ALL + "time.sleep(600)"),
    )
    process = ready.start(
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--worker",
        worker.spec,
        "--judge",
        judge.spec,
    )
    deadline = time.monotonic() + 120
    while not worker.calls and time.monotonic() < deadline:
        time.sleep(0.05)
    refused = ready.run("undo")
    process.kill()
    process.communicate()
    assert refused.is_refusal and "is improving 'note.md' right now" in refused.err


def test_a_place_that_cannot_be_written_is_an_error_and_the_next_try_works(
    desk: Desk, improved: Result
) -> None:
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    desk.folder.chmod(0o555)
    refused = desk.run("undo", env={"HONESTONE_HOME": str(desk.folder / ".honestone")})
    desk.folder.chmod(0o755)
    assert refused.code == 2 and "cannot write" in refused.err
    assert desk.run("undo").code == 0 and note(desk) == NOTE


# -------------------------------------------------------------------------------------------------
# what is delivered


def test_only_what_passed_is_delivered_when_that_is_asked_for(desk: Desk) -> None:
    desk.rubric(
        CODE.replace(
            "  - {id: pear",
            "  - {id: plum, requirement: p, check: {contains: plum}}\n  - {id: pear",
        )
    )
    desk.file("note.md", NOTE)
    half = improve(desk, desk.worker("half", ADD_PEAR), deliver="passed", rounds=1)
    assert (half.code, half.json["deliver"], note(desk)) == (1, "passed", NOTE)
    shown = desk.run("show").out
    assert (
        "it was not delivered, and the file is as it was" in shown and "honestone undo" not in shown
    )
    assert f"honestone show {half.json['run']} --version best" in shown
    assert "pear" in desk.run("show", "--version", "best").out
    improve(desk, desk.worker("none", ADD_PEAR), deliver="passed", rounds=1, output="out.md")
    assert not (desk.folder / "out.md").exists()
    whole = improve(
        desk, desk.worker("whole", "put(read() + b'A pear, a plum.\\n')"), deliver="passed"
    )
    assert whole.code == 0 and "plum" in note(desk)
    assert desk.run("undo").code == 0 and note(desk) == NOTE


@pytest.mark.slow
def test_an_unconfirmed_version_names_who_disagrees_and_the_way_back(ready: Desk) -> None:
    # A judge that says the same three times in the same words is asked no more.
    words = "for one in out['criteria'].values():\n    one['evidence'] = f'a pear {os.getpid()}'"
    judge = ready.judge(body=f"out = reply()\n{words}\nprint(json.dumps(out))")
    worker = ready.worker("worker", f"put({WHOLE.encode()!r})")
    # What its first answer refuses stays refused, whatever it says later.
    asked = ready.folder.parent / "asked"
    first = f"import pathlib\nasked = pathlib.Path({str(asked)!r})\nis_first = not asked.exists()\nasked.touch()\n"
    witness = ready.judge(
        "witness",
        f"{first}out = json.dumps(reply())\nprint(out.replace('true', 'false') if is_first else out)",
    )
    call = (
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--worker",
        worker.spec,
        "--judge",
        judge.spec,
    )
    rubric = (ready.folder / "rubric.yaml").read_text().replace("threshold: 80", "threshold: 100")
    (ready.folder / "rubric.yaml").write_text(rubric)
    held = ready.run(*call, "--holdout", witness.spec, "--deliver", "passed")
    assert (held.code, note(ready)) == (3, NOTE), held.err
    assert (
        "UNCONFIRMED" in held.out
        and "witness.py disagrees (did not pass)" in held.out
        and "--version best" in held.out
    )
    done = ready.run(*call, "--holdout", witness.spec)
    run = ready.run("runs", "--json", "--limit", "1").json[0]["id"]
    first = " ".join(done.out.splitlines()[2:5])
    assert (
        done.code == 3
        and "witness.py disagrees (did not pass)" in first
        and f"honestone undo {run}" in done.out
    )
    assert note(ready) == WHOLE


def test_a_kept_round_without_a_higher_score_is_no_gain(desk: Desk) -> None:
    desk.rubric(CODE)
    desk.file("note.md", NOTE)
    done = desk.run(
        *("improve", "note.md", "--rubric", "rubric.yaml", "--rounds", "1"),
        *("--worker", desk.worker("worker", "put(read() + b'More.\\n')").spec, "--policy", "plain"),
    )
    assert "·  1  pear  no gain  0.0 → 0.0" in done.out and "accepted" not in done.out, done.out
    assert "no gain" in desk.run("show", "--format", "markdown").out
    assert desk.run("show", "--json").json["rounds"][0]["decision"] == "accepted"
