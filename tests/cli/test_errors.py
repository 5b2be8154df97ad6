"""What a person can get wrong. Each is refused with `error:`, a place, a `hint:` and exit 2, before
anything is spent.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from .desk import GOOD, HONESTONE, PYTHON, RUBRIC, Desk, Result, can_mount, until

needs_mounts = pytest.mark.skipif(
    not can_mount(), reason="bubblewrap cannot mount a file system here"
)


def refused(result: Result, *words: str) -> None:
    """The refusal of a user's mistake, saying these words."""
    assert result.is_refusal, (result.code, result.out, result.err)
    for word in words:
        assert word in result.err, (word, result.err)


def refuses(desk: Desk, artifact: str | bytes, *words: str, rubric: str = "rubric.yaml") -> None:
    """`eval` and `improve` both refuse this artifact or rubric and ask nobody anything."""
    judge, worker = desk.judge(), desk.worker("worker", "put(b'other')")
    before = snapshot(desk)
    refused(desk.run("eval", "--rubric", rubric, "--judge", judge.spec, "--", artifact), *words)
    refused(
        desk.run(
            "improve",
            "--rubric",
            rubric,
            "--judge",
            judge.spec,
            "--worker",
            worker.spec,
            "--",
            artifact,
        ),
        *words,
    )
    assert judge.calls == 0
    assert worker.calls == 0
    assert snapshot(desk) == before


def snapshot(desk: Desk) -> dict[str, bytes]:
    """Every small file of the desk but the store."""
    return {
        str(path): path.read_bytes()
        for path in desk.folder.rglob("*")
        if path.is_file() and ".honestone" not in path.parts and path.stat().st_size < 1_000_000
    }


# ----------------------------------------------------------------------------------------------------------
# artifacts


def test_a_missing_file_is_named_with_its_near_match(ready: Desk) -> None:
    """A misspelt artifact is refused and the file that was meant is told."""
    refuses(ready, "nots.md", "'nots.md'", "did you mean 'note.md'?")


def test_a_missing_file_without_a_near_match_still_has_a_hint(ready: Desk) -> None:
    """A path that resembles nothing is refused with something to do."""
    refuses(ready, "qqqqqqq/zzz", "no file or folder is at 'qqqqqqq/zzz'")


@pytest.mark.parametrize("content", [b"", b" \n\t\n"])
def test_an_empty_file_is_refused(ready: Desk, content: bytes) -> None:
    """An empty or blank file holds nothing to judge."""
    ready.file("empty.md", content)
    refuses(ready, "empty.md", "'empty.md' is empty")


def test_a_binary_file_is_refused(ready: Desk) -> None:
    """A NUL byte makes a file binary; the place of it is named."""
    ready.file("image.md", b"text\0more")
    refuses(ready, "image.md", "'image.md' is a binary file", "offset 4")


def test_a_file_that_is_not_utf8_is_refused(ready: Desk) -> None:
    """The offending byte, its offset and the way to convert the file are named."""
    ready.file("latin.md", "caf\xe9".encode("latin-1"))
    refuses(ready, "latin.md", "'latin.md' is not UTF-8", "0xe9", "offset 3", "iconv")


def test_a_folder_without_readable_files_is_refused(ready: Desk) -> None:
    """A folder of binaries and links has nothing to read; what was left out is told."""
    ready.file("folder/a.bin", b"\0\1")
    (ready.folder / "folder" / "link.md").symlink_to("../note.md")
    refuses(ready, "folder", "'folder' holds no readable text file", "link.md")


def test_an_empty_folder_is_refused(ready: Desk) -> None:
    """An empty folder is no artifact."""
    (ready.folder / "folder").mkdir()
    refuses(ready, "folder", "'folder' holds no readable text file")


def test_a_file_of_50_mb_is_refused_with_the_limit_and_how_to_raise_it(ready: Desk) -> None:
    """A huge file is refused by its size alone, and the option that allows it is named with a value
    that does.
    """
    with (ready.folder / "huge.md").open("wb") as stream:
        stream.truncate(50_000_000)
    refuses(ready, "huge.md", "50.0 MB", "limit of 10 MB", "--max-size 51")


def test_max_size_raises_and_lowers_the_limit(ready: Desk) -> None:
    """`--max-size` is what the hint promised, in both directions."""
    ready.file("long.md", "apple pear farewell\n" * 60_000)
    refused(
        ready.run(
            "eval", "long.md", "--rubric", "rubric.yaml", "--judge", "mock", "--max-size", "1"
        ),
        "1.2 MB",
    )
    allowed = ready.run(
        "eval", "long.md", "--rubric", "rubric.yaml", "--judge", "mock", "--max-size", "2"
    )
    assert allowed.code == 0, allowed.err


def test_a_link_out_of_the_folder_is_not_followed(ready: Desk) -> None:
    """No judge sees what a link in a folder points to, and the scorecard says that it was left out."""
    (ready.home / "secret.md").write_text("the pear and the farewell, secretly")
    ready.file("folder/a.md", "apple\n")
    (ready.folder / "folder" / "out.md").symlink_to(ready.home / "secret.md")
    (ready.folder / "folder" / "outside").symlink_to(ready.home, target_is_directory=True)
    judge = ready.judge()
    result = ready.run("eval", "folder", "--rubric", "rubric.yaml", "--judge", judge.spec, "--json")
    assert result.code == 1
    assert [entry["path"] for entry in judge.requests[0]["artifact"]["files"]] == ["a.md"]
    assert "secretly" not in judge.lines[0]
    assert any("out.md" in note for note in result.json["notes"])
    assert any("outside" in note for note in result.json["notes"])


def test_a_fifo_is_no_artifact(ready: Desk) -> None:
    """A named pipe is refused instead of being waited on."""
    os.mkfifo(ready.folder / "pipe")
    refuses(ready, "pipe", "neither a file nor a folder")


def test_a_bad_artifact_among_good_ones_stops_all_before_the_first_call(ready: Desk) -> None:
    """One bad name among many costs no call for the good ones."""
    judge = ready.judge()
    refused(
        ready.run("eval", "note.md", "none.md", "--rubric", "rubric.yaml", "--judge", judge.spec),
        "none.md",
    )
    assert judge.calls == 0


# ----------------------------------------------------------------------------------------------------------
# rubrics


def broken(old: str, new: str) -> str:
    assert old in RUBRIC
    return RUBRIC.replace(old, new, 1)


BAD_RUBRICS = {
    "a typo in a key": (
        broken("    weight: 1", "    wieght: 1"),
        "bad.yaml:14:5",
        "wieght",
        "`weight`",
    ),
    "a weight that is text": (broken("weight: 3", "weight: heavy"), "bad.yaml:8:13", "heavy"),
    "a negative weight on a checklist": (broken("weight: 3", "weight: -3"), "bad.yaml:8", "words"),
    "a weight that is not a number": (broken("weight: 3", "weight: .nan"), "bad.yaml:8:13", "nan"),
    "a weight without end": (broken("weight: 3", "weight: .inf"), "bad.yaml:8:13", "inf"),
    "weights that sum to 0": (
        broken("weight: 3", "weight: 0").replace("weight: 1", "weight: 0"),
        "bad.yaml:",
        "weight",
    ),
    "the same criterion id twice": (broken("id: close", "id: words"), "bad.yaml:12:9", "`words`"),
    "the same item id twice": (broken("id: pear", "id: apple"), "bad.yaml:11:14", "`apple`"),
    "no criterion at all": ("rubric: 1\ncriteria: []\n", "bad.yaml:2:11", "`criteria` is empty"),
    "no list of criteria": ("rubric: 1\ntitle: Nothing\n", "bad.yaml:", "criteria"),
    "anchors with one level": (
        "rubric: 1\ncriteria:\n  - id: tone\n    requirement: Calm\n    anchors: {10: calm}\n",
        "bad.yaml:5",
        "{0: none, 10: full}",
    ),
    "a threshold of 101": (
        broken("threshold: 80", "threshold: 101"),
        "bad.yaml:3:12",
        "101",
        "0 to 100",
    ),
    "a floor below 0": (broken("floor: 0", "floor: -1"), "bad.yaml:4:8", "-1"),
    "a criterion that is no mapping": (
        broken("  - id: close", "  - [close]\n  - id: last"),
        "bad.yaml:",
    ),
    "no YAML": ("rubric: [1\ncriteria: }", "bad.yaml:2"),
    "an unknown check": (
        broken(
            "requirement: It names the pear}",
            "requirement: It names the pear, check: {contians: pear}}",
        ),
        "bad.yaml:11:60",
        "contians",
        "contains",
    ),
    "an expression that is none": (
        broken(
            "requirement: It names the pear}",
            'requirement: It names the pear, check: {regex: "(a"}}',
        ),
        "bad.yaml:11:60",
    ),
}


@pytest.mark.parametrize("what", list(BAD_RUBRICS))
def test_a_bad_rubric_is_refused_at_its_place(ready: Desk, what: str) -> None:
    """Every mistake in a rubric is told with file and line, by `rubric check`, `eval` and `improve`
    alike.
    """
    text, *words = BAD_RUBRICS[what]
    ready.file("bad.yaml", text)
    refused(ready.run("rubric", "check", "bad.yaml"), *words)
    refuses(ready, "note.md", *words, rubric="bad.yaml")


def test_all_mistakes_of_a_rubric_are_told_at_once(ready: Desk) -> None:
    """A rubric with three mistakes is corrected in one go."""
    text = broken("threshold: 80", "threshold: 101").replace("weight: 3", "wieght: 3")
    ready.file("bad.yaml", text.replace("weight: 1", "weight: much"))
    result = ready.run("rubric", "check", "bad.yaml")
    refused(result, "bad.yaml:3:12", "bad.yaml:8:5", "bad.yaml:14:13")
    assert result.err.count("error: ") == 3


def test_a_missing_rubric_is_refused(ready: Desk) -> None:
    """A rubric that is not there is named."""
    refuses(ready, "note.md", "norubric.yaml", rubric="norubric.yaml")


@pytest.mark.parametrize("content", [b"", b"\0\0", b"rubric: \xff\n"])
def test_a_rubric_that_is_no_text_is_refused(ready: Desk, content: bytes) -> None:
    """An empty, binary or not UTF-8 rubric is named as such."""
    ready.file("bad.yaml", content)
    refuses(ready, "note.md", "bad.yaml", rubric="bad.yaml")


@pytest.mark.parametrize("option", ["--threshold", "--floor"])
@pytest.mark.parametrize("value", ["101", "-1", "nan", "inf"])
def test_a_bar_off_the_scale_is_refused(ready: Desk, option: str, value: str) -> None:
    """The command line's bars follow the same rule as the rubric's."""
    judge = ready.judge()
    call = (
        "eval",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        judge.spec,
        f"{option}={value}",
    )
    refused(ready.run(*call), option, "0 to 100")
    assert judge.calls == 0


def test_a_threshold_that_is_a_share_asks_for_the_hundredfold(ready: Desk) -> None:
    """Bars are out of 100: on the command line, in a rubric and in a suite 0.8 is refused, and 80
    is named.
    """
    judge = ready.judge()
    call = ("--judge", judge.spec)
    refused(
        ready.run("eval", "note.md", "--rubric", "rubric.yaml", *call, "--threshold", "0.8"),
        "--threshold 80",
    )
    ready.file("share.yaml", RUBRIC.replace("threshold: 80", "threshold: 0.805"))
    refused(
        ready.run("eval", "note.md", "--rubric", "share.yaml", *call),
        "share.yaml:3",
        "threshold: 80.5",
    )
    ready.file(
        "suite.yaml", "suite: 1\nthreshold: 0.8\ncases: [{id: a, input: a, rubric: [says a]}]\n"
    )
    refused(ready.run("eval", "suite.yaml", *call), "suite.yaml:2", "threshold: 80")
    assert judge.calls == 0
    for bar in ("0", "1"):
        assert (
            ready.run("eval", "note.md", "--rubric", "rubric.yaml", *call, "--threshold", bar).code
            == 0
        )


@pytest.mark.parametrize("option", ["--max-usd", "--max-minutes", "--max-size", "--judge-timeout"])
def test_no_limit_can_be_set_to_no_limit(ready: Desk, option: str) -> None:
    """NaN, infinity and negative numbers are no limits, on the command line or in settings."""
    judge = ready.judge()
    call = ("eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec)
    for value in ("nan", "inf", "-1"):
        refused(ready.run(*call, f"{option}={value}"), option)
    if option != "--judge-timeout":
        ready.file("honestone.toml", f"[limits]\n{option[2:].replace('-', '_')} = inf\n")
        refused(ready.run(*call), "honestone.toml:2:1", "inf")
    assert judge.calls == 0


# ----------------------------------------------------------------------------------------------------------
# who judges


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("jury", ("unknown judge `jury`", "known: ")),
        ("scirpt:true", ("unknown judge `scirpt:true`", "did you mean `script:`?")),
        ("cluade", ("did you mean `claude`?",)),
        ("script:no-such-program-here --x", ("command not found: no-such-program-here",)),
        ("cmd:./missing.sh", ("no such file: ./missing.sh",)),
        ("script:", ("names nothing",)),
        ("cmd:'unclosed", ("cannot be split into words",)),
        ("script:.", (".",)),
        ("record:none.json", ("none.json",)),
        ("", ("unknown judge",)),
    ],
)
def test_an_unknown_judge_or_command_is_refused(
    ready: Desk, spec: str, words: tuple[str, ...]
) -> None:
    """A judge that cannot exist is a usage error; the good one beside it is not asked."""
    good = ready.judge()
    call = ("eval", "note.md", "--rubric", "rubric.yaml", "--judge", good.spec, "--judge", spec)
    refused(ready.run(*call), *words)
    assert good.calls == 0


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("editor", ("unknown worker `editor`", "known: ")),
        ("./note.sh", ("did you mean `cmd:sh ./note.sh`?",)),
        ("cmd:no-such-editor", ("command not found: no-such-editor",)),
        ("fix", ("this rubric has none", "`fix:`")),
    ],
)
def test_an_unknown_worker_is_refused(ready: Desk, spec: str, words: tuple[str, ...]) -> None:
    """A worker that cannot work is refused before the baseline is judged."""
    judge = ready.judge()
    ready.file("note.sh", "true\n")
    call = (
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        judge.spec,
        "--worker",
        spec,
    )
    refused(ready.run(*call), *words)
    assert judge.calls == 0


def test_improve_without_a_worker_says_how_to_name_one(ready: Desk) -> None:
    """Without `--worker` and without fix commands nobody could edit."""
    judge = ready.judge()
    refused(
        ready.run("improve", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec),
        "--worker cmd:",
    )
    assert judge.calls == 0


def test_a_judge_cannot_both_steer_and_certify(ready: Desk) -> None:
    """A witness that the loop listened to is none."""
    judge = ready.judge()
    call = (
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        judge.spec,
        "--holdout",
        judge.spec,
    )
    refused(ready.run(*call, "--worker", f"cmd:{PYTHON} -V"), "cannot both steer and certify")
    assert judge.calls == 0


def test_a_check_that_cannot_be_started_is_refused_before_anything_is_spent(ready: Desk) -> None:
    """A command check whose program is missing is a mistake in the rubric, not an unmet item."""
    item = "requirement: It names the pear, check: {command: no-such-checker --x}}"
    ready.rubric(RUBRIC.replace("requirement: It names the pear}", item))
    refuses(ready, "note.md", "no-such-checker")


def test_a_server_that_refuses_the_first_connection_is_not_asked_again(ready: Desk) -> None:
    """Nothing listens there, so the address is named at once: retries would take 6 s at least."""
    with closing(socket.socket()) as taken:
        taken.bind(
            ("127.0.0.1", 0)
        )  # bound and not listening: it refuses, and nobody else can take it
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ready.file(
            "honestone.toml",
            f'[judges.local]\nprovider = "vllm"\nbase_url = "http://{address}/v1"\nmodel = "m"\n',
        )
        done = ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", "local", "--json")
    assert done.code == 3
    [judge] = done.json["judges"]
    assert judge["reason"] == f"could not connect to {address}: connection refused"
    # Nothing was sent, so there is nothing to pay.
    assert done.json["usage"]["judge_calls"] == 0


def test_no_judge_named_and_none_found_is_exit_3(ready: Desk) -> None:
    """With nobody to ask there is no verdict; the way to name a judge is told."""
    result = ready.run("eval", "note.md", "--rubric", "rubric.yaml", env={"PATH": "/nonexistent"})
    assert result.code == 3, result.err
    assert "no judge was named and none was found" in result.err
    assert "hint: " in result.err and "--judge" in result.err
    assert "Traceback" not in result.err


def test_eval_without_a_rubric_says_what_is_missing(ready: Desk) -> None:
    """A document or a rubric alone is no suite."""
    refused(ready.run("eval", "note.md"), "--rubric")
    refused(
        ready.run("eval", "rubric.yaml"),
        "is a honestone rubric, not a suite",
        "honestone eval ARTIFACT --rubric rubric.yaml",
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("evla", "note.md"), ("did you mean 'eval'?",)),
        (("eval", "note.md", "--rubrik", "rubric.yaml"), ("--rubrik", "--rubric")),
        (("eval",), ("ARTIFACT",)),
        (
            ("eval", "note.md", "--rubric", "rubric.yaml", "--max-calls", "many"),
            ("--max-calls", "many"),
        ),
        (("eval", "note.md", "--rubric", "rubric.yaml", "--effort", "huge"), ("--effort", "huge")),
        (("show", "--format", "pdf"), ("pdf",)),
        (
            ("eval", "note.md", "--rubric", "rubric.yaml", "--rubric", "other.yaml"),
            ("--rubric is given twice",),
        ),
        (
            ("rubric", "show", "--template", "essay", "--template", "readme"),
            ("--template is given twice",),
        ),
        (("runs", "--limit", "1", "--limit", "2"), ("--limit is given twice",)),
    ],
)
def test_a_misspelt_command_or_option_is_one_line_and_a_hint(
    ready: Desk, call: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """Usage errors of the command line look like every other error."""
    refused(ready.run(*call), *words)


# ----------------------------------------------------------------------------------------------------------
# the store


def test_a_store_from_a_newer_version_is_left_alone(ready: Desk) -> None:
    """A store whose format this honestone does not know is refused, by readers and writers, and not
    touched.
    """
    assert ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", "mock").code == 0
    db = sqlite3.connect(ready.store / "store.db")
    db.execute("pragma user_version = 99")
    db.close()
    before = (ready.store / "store.db").read_bytes()
    refuses(ready, "note.md", "newer honestone", "HONESTONE_HOME")
    refused(ready.run("show"), "newer honestone")
    assert (ready.store / "store.db").read_bytes() == before


def test_a_store_that_is_no_store_is_refused_and_kept(ready: Desk) -> None:
    """A damaged database is named and not overwritten."""
    ready.store.mkdir()
    (ready.store / "store.db").write_bytes(b"this is no database at all, but somebody's text " * 50)
    before = (ready.store / "store.db").read_bytes()
    refuses(ready, "note.md", ".honestone", "HONESTONE_HOME")
    assert (ready.store / "store.db").read_bytes() == before


def test_the_store_is_a_file_in_the_way(ready: Desk) -> None:
    """A file where the store should be is named."""
    ready.file("inway", "x")
    judge = ready.judge()
    call = ("eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec)
    refused(ready.run(*call, env={"HONESTONE_HOME": "inway"}), "inway")
    assert judge.calls == 0


def test_a_locked_store_is_refused_after_a_bounded_wait(ready: Desk) -> None:
    """While another program writes to the store nothing is spent, and the same command works
    afterwards.
    """
    judge = ready.judge()
    call = ("eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec)
    assert ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", "mock").code == 0
    db = sqlite3.connect(ready.store / "store.db", isolation_level=None)
    db.execute("begin immediate")
    try:
        refused(ready.run(*call), "locked", "try again")
        assert judge.calls == 0
    finally:
        db.execute("rollback")
        db.close()
    assert ready.run(*call).code == 1
    assert judge.calls == 1


def test_reading_needs_no_lock(ready: Desk) -> None:
    """`show` and `runs` work while another program writes."""
    assert ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", "mock").code == 0
    db = sqlite3.connect(ready.store / "store.db", isolation_level=None)
    db.execute("begin immediate")
    try:
        assert ready.run("show").code == 0
        assert "note.md" in ready.run("runs").out
    finally:
        db.close()


def test_there_is_nothing_to_show_before_the_first_run(ready: Desk) -> None:
    """Readers never make a store; they say that there is none."""
    for call in (("show",), ("runs",), ("rescore",)):
        refused(ready.run(*call), "no store has been made")
    assert not ready.store.exists()


@needs_mounts
def test_a_read_only_store_is_refused_and_can_still_be_read(ready: Desk) -> None:
    """On a read-only disk nothing is spent, and recorded runs can be shown."""
    judge = ready.judge()
    assert ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", "mock").code == 0
    folder = str(ready.folder)
    prefix = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", folder, folder, "--"]
    call = ("eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec)
    refused(ready.run(*call, prefix=prefix), "Read-only file system", "HONESTONE_HOME")
    assert judge.calls == 0
    shown = ready.run("show", prefix=prefix)
    assert shown.code == 0, shown.err
    assert "PASSED" in shown.out


@needs_mounts
@pytest.mark.parametrize("size", [4096, 49152, 90112])
def test_a_full_disk_is_told_and_loses_nothing(ready: Desk, size: int) -> None:
    """On a disk with no room the command says so without a traceback, and the artifact is what it
    was.
    """
    text = "An apple.\n" + "filler line\n" * 20_000
    ready.file("long.md", text)
    judge = ready.judge()
    small = ready.home / "small"
    small.mkdir()
    prefix = ["bwrap", "--dev-bind", "/", "/", "--size", str(size), "--tmpfs", str(small), "--"]
    call = ("improve", "long.md", "--rubric", "rubric.yaml", "--judge", judge.spec)
    worker = ready.worker("worker", "put(read() + b'pear, farewell\\n')")
    home = {"HONESTONE_HOME": str(small / "store")}
    result = ready.run(*call, "--worker", worker.spec, prefix=prefix, env=home)
    refused(result, "store")
    assert judge.calls == 0
    assert (ready.folder / "long.md").read_text() == text


@pytest.mark.slow
def test_a_reply_that_finds_no_room_is_told_and_what_was_kept_stays(ready: Desk) -> None:
    """When files may grow no more in the middle of a run, it ends with a hint, and the artifact is
    intact.
    """
    judge = ready.judge(body="sys.stdout.write(' ' * 300_000)\nprint(json.dumps(reply()))")
    assert ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", "mock").code == 0

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    call = ("eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec)
    refused(ready.run(*call, before=little_room), "store")
    shown = ready.run("show", ready.run("runs", "--json").json[-1]["id"], "--json")
    assert shown.json["verdict"] == "pass"
    assert ready.run(*call).code == 1


def test_an_artifact_that_cannot_be_written_keeps_the_best_version_in_the_store(
    ready: Desk,
) -> None:
    """Where the file's folder allows no writing, the accepted version is kept and delivered by the
    same command.
    """
    if not can_mount():
        pytest.skip("bubblewrap cannot mount a file system here")
    place = ready.folder / "fixed"
    place.mkdir()
    (place / "note.md").write_text("An apple.\n")
    judge, worker = ready.judge(), ready.worker("worker", f"put({GOOD.encode()!r})")
    prefix = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(place), str(place), "--"]
    call = (
        "improve",
        "fixed/note.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        judge.spec,
        "--worker",
        worker.spec,
    )
    result = ready.run(*call, prefix=prefix)
    assert result.code == 2, result.err
    assert "cannot write" in result.err and "run the same command again" in result.err
    assert "Traceback" not in result.err
    assert ready.run("show", "--version", "best").raw == GOOD.encode()
    calls = judge.calls, worker.calls
    assert ready.run(*call).code in (0, 3)
    assert (place / "note.md").read_text() == GOOD
    assert (judge.calls, worker.calls) == calls


# ----------------------------------------------------------------------------------------------------------
# stopping


def stop_when(desk: Desk, process: subprocess.Popen[str], reached: Path, number: int) -> Result:
    """Send a signal to a running command as soon as a file appears."""
    deadline = time.monotonic() + 300
    while not reached.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    return Result(process.returncode, out, err)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_while_improving_is_130_and_the_same_command_goes_on(
    ready: Desk, number: int
) -> None:
    """Interrupted in the second round: the line that resumes is printed, and nothing on record is
    asked again.
    """
    judge = ready.judge()
    body = """
    if b"pear" not in read():
        put(read() + b"A pear.\\n")
    elif not os.path.exists(LOG + ".go"):
        import time
        time.sleep(30)
    else:
        put(read() + b"My farewell.\\n")
    """
    worker = ready.worker("worker", body)
    call = (
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--threshold",
        "100",
        "--judge",
        judge.spec,
        "--worker",
        worker.spec,
    )
    process = ready.start(*call)
    deadline = time.monotonic() + 300
    while worker.calls < 2 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    result = stop_when(ready, process, worker.log, number)
    assert result.code == 130, result.err
    assert "run the same command to resume" in result.err
    assert "Traceback" not in result.err
    assert "honestone improve note.md --rubric rubric.yaml --threshold 100" in result.err
    assert (ready.folder / "note.md").read_text().endswith("A pear.\n")
    assert not (ready.folder / "note.md").read_text().endswith("farewell.\n")
    asked = judge.calls
    Path(f"{worker.log}.go").touch()
    resumed = ready.run(*call, "--json")
    assert resumed.json["resumed"] is True
    assert resumed.json["run"] in result.err
    assert (ready.folder / "note.md").read_text().endswith("A pear.\nMy farewell.\n")
    assert judge.calls == asked + 3 == 5, (
        "the new version, and twice more before the end: as without the interruption"
    )
    assert len(ready.run("runs", "--json").json) == 1


@pytest.mark.slow
def test_ctrl_c_while_judging_is_130_and_replies_are_kept(ready: Desk) -> None:
    """Interrupted while the second judge thinks: the first one's reply is not asked for again."""
    quick = ready.judge("quick")
    body = "if not os.path.exists(LOG + '.go'):\n    time.sleep(30)\nprint(json.dumps(reply()))"
    slow = ready.judge("slow", body)
    call = (
        "eval",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        quick.spec,
        "--judge",
        slow.spec,
    )
    process = ready.start(*call, "--fresh")
    assert until(lambda: quick.calls and slow.calls and ready.replies)
    result = stop_when(ready, process, slow.log, signal.SIGINT)
    assert result.code == 130, result.err
    assert "run the same command to resume" in result.err
    assert "honestone eval note.md --rubric rubric.yaml" in result.err
    assert "--fresh" not in result.err
    assert "Traceback" not in result.err
    Path(f"{slow.log}.go").touch()
    again = ready.run(*call, "--json")
    assert again.code == 1, again.err
    assert (quick.calls, slow.calls) == (1, 2)
    assert again.json["usage"]["cached_calls"] == 1


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error(ready: Desk) -> None:
    """`| head -1` ends a long listing in silence."""
    names = []
    for number in range(400):
        names.append(f"n{number}.md")
        ready.file(names[-1], f"Note {number}\n")
    command = f"timeout 60 {HONESTONE} eval {' '.join(names)} --rubric rubric.yaml --judge mock -q | head -1"
    ended = subprocess.run(
        ["sh", "-c", command],
        cwd=ready.folder,
        env=ready.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.split()[:2] == ["400", "artifacts"]
    assert ended.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_that_cannot_be_written_is_an_error_and_no_verdict(ready: Desk) -> None:
    """A full disk behind stdout: exit 2 with a line and a hint; the run is on record."""
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [HONESTONE, "eval", "note.md", "--rubric", "rubric.yaml", "--judge", "mock"],
            cwd=ready.folder,
            env=ready.env,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    assert "error: No space left on device" in ended.stderr
    assert "hint: " in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
    assert ready.run("show").code == 0


INTERRUPTED_AT = """\
import os, runpy, signal, sys
class AtImport:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r} and {wrapped}:
            raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, AtImport())
sys.argv[1:] = ["eval", "note.md", "--rubric", "rubric.yaml"]
runpy.run_module("honestone", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    "name",
    ["honestone.cli.main", "click", "honestone.cli.eval", "honestone.core.judging.scorecard"],
)
def test_ctrl_c_while_modules_are_imported(ready: Desk, name: str, wrapped: bool) -> None:
    """No traceback, also where Python wraps the interrupt because a class is being made."""
    code = INTERRUPTED_AT.format(name=name, wrapped=wrapped)
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ready.folder,
        env=ready.env,
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stdout, ended.stderr.strip()) == (130, "", "interrupted")


def test_the_command_is_guarded_from_its_first_import_on() -> None:
    (command,) = entry_points(group="console_scripts", name="honestone")
    assert command.value == "honestone.__main__:main"
