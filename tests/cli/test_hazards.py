"""What can go wrong while a loop runs, with the command as users start it.

Every loop here makes one good edit before the hazard comes, so that there is something to lose.
After each: the typed result and the exit code, the bytes of the person's file, the original and the
best version in the store, the folder's other files, no program that still runs, and an empty folder
for temporary files. What happens in a first round is in `test_improve.py`;
`tests/engine/test_kill_everywhere.py` has `kill -9` at every write, `tests/attacks` what cheats.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.stores.sqlite import SqliteStore
from honestone.engine.place import load_version

from .desk import HONESTONE, RUBRIC, Desk, Program, Result

NOTE = "# Fruit\n\nAn apple a day.\n" + "".join(
    f"Line {n} says something about fruit.\n" for n in range(40)
)
BEST = NOTE + "This is my farewell.\n"
"""After the good edit of round 1, which is the best version until something names the pear."""
GOOD_EDIT = """
if b"farewell" not in read():
    put(read() + b"This is my farewell.\\n")
    sys.exit()
"""
NAMES_THE_PEAR = "put(read() + b'And pear %d.\\n' % len(open(LOG).readlines()))\n"
WORDS = "My own words.\n"


@dataclass(frozen=True)
class Scene:
    """A desk with an artifact (37.5 points of 80), its rubric and a file that is not part of
    either.
    """

    desk: Desk
    artifact: str = "note.md"
    rubric: str = "rubric.yaml"

    @property
    def temporary(self) -> Path:
        return self.desk.home / "tmp"

    @property
    def main(self) -> Path:
        """The file that the worker edits."""
        path = self.desk.folder / self.artifact
        return path / "note.md" if path.is_dir() else path

    def improve(self, worker: Program, *more: str, artifact: str = "") -> list[str]:
        words = [
            "improve",
            artifact or self.artifact,
            "--rubric",
            self.rubric,
            "--worker",
            worker.spec,
            "--json",
        ]
        return [
            *words,
            "--policy",
            "keep-best",
            *([] if "--holdout" in more else ["--holdout", "none"]),
            *more,
        ]

    def others(self) -> dict[str, bytes]:
        """The files that no loop may touch."""
        return {
            str(path): path.read_bytes()
            for path in self.desk.folder.rglob("*")
            if path.is_file() and ".honestone" not in path.parts and path != self.main
        }

    def last(self) -> Any:
        """The document of the newest run."""
        return self.desk.run("show", "last", "--json").json

    def holds_versions(self, document: Any) -> None:
        """The original and the best version are in the store, byte for byte."""
        store = SqliteStore(self.desk.store)
        for digest in (document["artifact"]["original"], document["artifact"]["digest"]):
            assert load_version(store, digest).digest == digest
        store.close()

    def is_tidy(self) -> None:
        assert programs_of(self.desk) == []
        assert os.listdir(self.temporary) == []


def programs_of(desk: Desk) -> list[str]:
    """The command lines of running programs that name a file of the desk."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            line, status = (place / "cmdline").read_bytes(), (place / "stat").read_bytes()
        except OSError:
            continue
        if (
            os.fsencode(desk.folder.parent) in line
            and status.rpartition(b")")[2].split()[0] != b"Z"
        ):
            found.append(line.replace(b"\0", b" ").decode())
    return found


def waited(true: Callable[[], object]) -> bool:
    """Whether it comes true while anybody would wait."""
    deadline = time.monotonic() + 300
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(true())


@pytest.fixture
def scene(desk: Desk) -> Scene:
    desk.rubric()
    desk.file("note.md", NOTE)
    desk.file("other.md", "not of this loop\n")
    (desk.home / "tmp").mkdir()
    desk.extra["TMPDIR"] = str(desk.home / "tmp")
    return Scene(desk)


# -------------------------------------------------------------------------------------------------
# one hazard, one run


@dataclass(frozen=True, kw_only=True)
class Hazard:
    """`does`: the worker from its second call on; HERE is the person's folder. `judges`: the bodies
    of the panel's. `rounds`: outcome and decision of each round after the first. `said`: in the
    reason, or in the last round's.
    """

    does: str
    result: str
    code: int = 1
    judges: tuple[str, ...] = ("",)
    more: tuple[str, ...] = ("--rounds", "2")
    rounds: tuple[tuple[str, str], ...]
    best: int = 1
    text: str = BEST
    touched: tuple[str, ...] = ()
    said: str = ""


def rejected(outcome: str, does: str, said: str, *more: str) -> Hazard:
    """A proposal that is thrown away without a judge call."""
    return Hazard(
        does=does,
        result="ROUND_LIMIT",
        rounds=((outcome, "rejected"),),
        more=("--rounds", "2", *more),
        said=said,
    )


def leaves_a_program(how: str) -> Hazard:
    """A worker that ends well while a program that it started would work on, in the copy and for a
    minute.
    """
    start = (
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)', path], {how})\n"
    )
    return Hazard(
        does=f"import subprocess\n{start}put(read() + b'more\\n')",
        result="ROUND_LIMIT",
        rounds=(("changed", "accepted"),),
        said="held: 62.5",
    )


DIES = "if 'pear 2' in text: os.kill(os.getpid(), 9)\n"
EDITS_THE_RUBRIC = "open(HERE + '/rubric.yaml', 'a').write('# easier\\n')\n"
HAZARDS = {
    "says done and changes nothing": rejected(
        "unchanged", "print('improved it all')", "every byte is as before"
    ),
    "cuts the file off": rejected("shrunk", "put(read()[:100])", "to 100 bytes"),
    "leaves the rest out": rejected(
        "placeholder",
        "put(read()[:900] + b'A pear.\\n... rest unchanged\\n')",
        "... rest unchanged",
    ),
    "writes next to its copy": rejected(
        "out-of-scope", NAMES_THE_PEAR + "open('x.txt', 'w').write('x')", "x.txt"
    ),
    "puts a link in the file's place": rejected(
        "out-of-scope", "os.remove(path)\nos.symlink(HERE + '/other.md', path)", "a link"
    ),
    "writes through a link": rejected(
        "out-of-scope",
        "os.remove(path)\nos.symlink('../x', path)\nopen(path, 'w').write('pear')",
        "a link",
    ),
    "hangs and hears no signal": rejected(
        "timeout",
        "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\nput(read() + b'pear')\ntime.sleep(600)",
        "5 s (--worker-timeout)",
        *("--worker-timeout", "5"),
    ),
    "ends its whole group": rejected("crashed", "os.killpg(0, 9)", "signal 9"),
    "leaves a program": leaves_a_program("stdout=1"),
    "leaves a program in a session of its own": leaves_a_program("start_new_session=True"),
    "leaves a program with another environment": leaves_a_program("start_new_session=True, env={}"),
    "edits the rubric where it is": Hazard(
        does=NAMES_THE_PEAR + EDITS_THE_RUBRIC,
        result="CONTRACT_CHANGED",
        code=3,
        rounds=(("changed", "rejected"),),
        best=0,
        text=NOTE,
        touched=("rubric.yaml",),
        said="rubric.yaml; nothing is delivered",
    ),
    "edits the rubric while the person edits the file": Hazard(
        does=EDITS_THE_RUBRIC + f"open(HERE + '/note.md', 'w').write({WORDS!r})",
        result="CONTRACT_CHANGED",
        code=3,
        rounds=(("unchanged", "rejected"),),
        best=0,
        text=WORDS,
        touched=("rubric.yaml",),
        said="'note.md' was changed by someone else too",
    ),
    "one judge of two dies": Hazard(
        does=NAMES_THE_PEAR,
        judges=("", DIES),
        result="ROUND_LIMIT",
        rounds=(("changed", "rejected"),),
    ),
    "all judges die": Hazard(
        does=NAMES_THE_PEAR,
        judges=(
            "if 'pear' in text: os.kill(os.getpid(), 9)\n",
            "if 'pear' in text: sys.exit('no credit')\n",
        ),
        result="METRIC_DEAD",
        more=("--rounds", "9"),
        rounds=(("changed", "rejected"),) * 3,
        said="could not be judged",
    ),
    "the calls end between two judges": Hazard(
        does=NAMES_THE_PEAR,
        judges=("", "#\n"),
        result="BUDGET",
        more=("--max-calls", "5"),
        rounds=(("changed", "rejected"),),
        said="not judged: --max-calls 5 are used up",
    ),
    "the minutes end while the worker works": Hazard(
        does="import time; time.sleep(600)\n" + NAMES_THE_PEAR,
        result="BUDGET",
        more=("--max-minutes", "0.1"),
        rounds=(("timeout", "rejected"),),
        said="--max-minutes 0.1 are used up",
    ),
    "the calls end before the witness": Hazard(
        does=NAMES_THE_PEAR,
        result="UNCONFIRMED",
        code=3,
        more=("--holdout", "WITNESS", "--max-calls", "3"),
        rounds=(("changed", "accepted"),),
        best=2,
        text=BEST + "And pear 2.\n",
        said="it was not shown to a held-out judge; --max-calls 3",
    ),
    "the witness dies": Hazard(
        does=NAMES_THE_PEAR,
        result="UNCONFIRMED",
        code=3,
        more=("--holdout", "WITNESS", "--rounds", "2"),
        rounds=(("changed", "accepted"),),
        best=2,
        text=BEST + "And pear 2.\n",
        said="a held-out judge does not",
    ),
}


@pytest.mark.parametrize("name", list(HAZARDS))
def test_a_hazard_in_round_two_costs_nothing_that_was_won(name: str, scene: Scene) -> None:
    """The typed result, the best version in the file, both versions in the store, nothing running
    and nothing left.
    """
    hazard, desk = HAZARDS[name], scene.desk
    worker = desk.worker("worker", GOOD_EDIT + f"HERE = {str(desk.folder)!r}\n" + hazard.does)
    panel = [
        desk.judge(f"judge{n}", body + "print(json.dumps(reply()))")
        for n, body in enumerate(hazard.judges)
    ]
    witness = desk.judge("witness", DIES + "print(json.dumps(reply()))  # the witness")
    more = [word.replace("WITNESS", witness.spec) for word in hazard.more]
    before = scene.others()
    result = desk.run(
        *scene.improve(worker, *(w for judge in panel for w in ("--judge", judge.spec)), *more)
    )
    run = result.json
    assert (result.code, run["result"], run["best_round"]) == (
        hazard.code,
        hazard.result,
        hazard.best,
    ), result.err
    assert [(one["outcome"], one["decision"]) for one in run["rounds"]] == [
        ("changed", "accepted"),
        *hazard.rounds,
    ]
    assert hazard.said in f"{run['reason']} {run['rounds'][-1]['reason']}"
    assert scene.main.read_text() == hazard.text
    after = scene.others()
    assert {
        Path(path).name for path in {*before, *after} if before.get(path) != after.get(path)
    } == {*hazard.touched}
    scene.holds_versions(run)
    scene.is_tidy()


# ----------------------------------------------------------------------------------------------
# files that judge, inside

INSIDE = {
    "the rubric": ("rubric.yaml", "'threshold: 1\\n'"),
    "the tests of a check": ("tests/test_note.py", "'def test_it(): pass\\n'"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(INSIDE))
def test_what_judges_a_folder_from_inside_is_not_the_workers_to_edit(
    name: str, scene: Scene
) -> None:
    """Rubric and tests are in its copy; an edit of them throws the round away, and round 1 stays
    delivered.
    """
    desk, (file, text) = scene.desk, INSIDE[name]
    test = "import pathlib\ndef test_it(): assert 'farewell' in (pathlib.Path(__file__).parents[1] / 'note.md').read_text()\n"
    check = "  - {id: tested, requirement: The tests pass, check: {pytest: tests}}\n"
    desk.rubric(RUBRIC + check, "art/rubric.yaml")
    desk.file("art/note.md", NOTE)
    desk.file("art/tests/test_note.py", test)
    scene = Scene(desk, artifact="art", rubric="art/rubric.yaml")
    body = f"folder, path = path, path + '/note.md'\n{GOOD_EDIT}{NAMES_THE_PEAR}open(folder + '/{file}', 'w').write({text})"
    worker, judge = desk.worker("worker", body), desk.judge()
    before = scene.others()
    result = desk.run(*scene.improve(worker, "--judge", judge.spec, "--rounds", "2"))
    assert result.code == 1, result.err
    run = result.json
    assert (run["result"], run["best_round"]) == ("ROUND_LIMIT", 1)
    assert (
        run["rounds"][1]["outcome"] == "out-of-scope" and file in run["rounds"][1]["outcome_detail"]
    )
    assert scene.main.read_text() == BEST and scene.others() == before
    scene.holds_versions(run)
    scene.is_tidy()


# ----------------------------------------------------------------------------------------------------------
# the person


@pytest.mark.parametrize(
    ("act", "left", "worker"),
    [
        (f"open(HERE, 'w').write({WORDS!r})", WORDS, NAMES_THE_PEAR),
        (f"open(HERE, 'w').write({WORDS!r})", WORDS, "pass"),
        ("os.remove(HERE)", None, "pass"),
        ("open(HERE, 'wb').write(b'\\0mine')", "\0mine", NAMES_THE_PEAR),
    ],
    ids=["edits", "edits, and no better version comes", "removes", "makes it binary"],
)
def test_a_person_who_changes_the_file_meanwhile(
    act: str, left: str | None, worker: str, scene: Scene
) -> None:
    """Exit 2 before another round is paid for, their bytes stay, the best version is kept; put
    back, the run resumes.
    """
    desk = scene.desk
    body = f"HERE = {str(scene.main)!r}\n{GOOD_EDIT}if len(open(LOG).readlines()) == 2:\n    {act}\n{worker}"
    editor, judge = desk.worker("worker", body), desk.judge()
    words = scene.improve(editor, "--judge", judge.spec, "--rounds", "3")
    result = desk.run(*words)
    assert result.code == 2 and result.out == "", result.out
    assert (
        "'note.md' was changed by someone else while the loop ran" in result.err
        and "--version best" in result.err
    )
    assert (scene.main.read_text() if scene.main.exists() else None) == left
    assert editor.calls == 2
    scene.is_tidy()
    scene.holds_versions(scene.last())
    desk.file("note.md", BEST)
    resumed = desk.run(*words).json
    assert resumed["resumed"] and resumed["result"] in ("UNCONFIRMED", "ROUND_LIMIT")


@pytest.mark.slow
def test_a_second_loop_is_refused_wherever_it_starts(scene: Scene) -> None:
    """Over a link, from another folder with a store of its own, with --fresh; `undo` too. The first
    is not disturbed.
    """
    desk, here = scene.desk, scene.desk.folder
    waits = "import time\nwhile not os.path.exists(LOG + '.go'): time.sleep(0.02)\n"
    worker, judge = desk.worker("worker", GOOD_EDIT + waits + NAMES_THE_PEAR), desk.judge()
    (here / "link.md").symlink_to("note.md")
    first = desk.start(*scene.improve(worker, "--judge", judge.spec))
    assert waited(lambda: worker.calls == 2)
    mine = [
        "--worker",
        "cmd:true",
        "--judge",
        f"script:{shlex.split(judge.spec)[0][7:]} -I -S {here / 'judge.py'}",
    ]
    elsewhere = desk.home / "elsewhere"
    elsewhere.mkdir()
    refused: dict[str, Result] = {
        "link": desk.run("improve", "link.md", "--rubric", "rubric.yaml", *mine, "--fresh"),
        "elsewhere": desk.run(
            "improve", here / "note.md", "--rubric", here / "rubric.yaml", *mine, cwd=elsewhere
        ),
        "undo": desk.run("undo", "last"),
    }
    for name, result in refused.items():
        assert result.is_refusal and "another honestone is improving" in result.err, (name, result)
    Path(f"{worker.log}.go").touch()
    out, err = first.communicate(timeout=300)
    assert (first.returncode, json.loads(out)["result"]) == (3, "UNCONFIRMED"), err
    assert scene.main.read_text() == BEST + "And pear 2.\n"
    scene.is_tidy()


# ------------------------------------------------------------------------------------------------
# the machine gives out


@pytest.mark.slow
def test_killed_with_a_program_that_the_worker_started(scene: Scene) -> None:
    """After kill -9 the same command resumes, and ends even what has a session and an environment
    of its own.
    """
    desk = scene.desk
    hidden = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)', path], start_new_session=True, env={})"
    body = f"import subprocess, time\nif not os.path.exists(LOG + '.go'):\n    {hidden}\n    open(LOG + '.go', 'w')\n    time.sleep(60)\n"
    worker, judge = desk.worker("worker", GOOD_EDIT + body + NAMES_THE_PEAR), desk.judge()
    words = scene.improve(worker, "--judge", judge.spec)
    running = desk.start(*words)
    assert waited(lambda: os.path.exists(f"{worker.log}.go"))
    running.kill()
    running.communicate()
    assert scene.main.read_text() == BEST
    asked = judge.calls
    resumed = desk.run(*words)
    assert (resumed.code, resumed.json["result"], resumed.json["best_round"]) == (
        3,
        "UNCONFIRMED",
        2,
    ), resumed.err
    assert resumed.json["resumed"] and judge.calls == asked + 1
    scene.holds_versions(resumed.json)
    scene.is_tidy()


@pytest.mark.slow
def test_a_limit_on_the_size_of_files(scene: Scene) -> None:
    """The store may not grow (`ulimit -f`, a quota): exit 2 and what to do, and the same command
    resumes.
    """
    desk = scene.desk
    worker, judge = desk.worker("worker", GOOD_EDIT + NAMES_THE_PEAR), desk.judge()
    words = scene.improve(worker, "--judge", judge.spec)
    stopped = desk.run(
        *words, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    )
    assert stopped.is_refusal and "make room, then run the same command" in stopped.err
    assert scene.main.read_text() in (NOTE, BEST)
    finished = desk.run(*words)
    assert (finished.code, finished.json["resumed"]) == (3, True), finished.err
    assert scene.main.read_text().startswith(BEST) and "pear" in scene.main.read_text()
    scene.holds_versions(finished.json)
    scene.is_tidy()


def can_mount() -> bool:
    """Whether this user may mount a file system in a name space of its own."""
    probe = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /tmp"]
    try:
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="no file system can be mounted here without rights")
@pytest.mark.parametrize("place", ["the store", "temporary files"])
def test_a_worker_that_fills_the_disk(place: str, scene: Scene) -> None:
    """A file system of 400 kB, full to its last byte. The store cannot be written: exit 2, and with
    room again the same command resumes. Temporary files: the worker crashed, and the next round is
    made in the room of its copy.
    """
    desk, is_store = scene.desk, place == "the store"
    desk.store.mkdir()
    small = desk.store if is_store else scene.temporary
    fill = f"big = open({str(small / 'big')!r}, 'ab', 0)\n    while big.write(b'x' * 4096): pass"
    body = f"if not os.path.exists(LOG + '.go'):\n    open(LOG + '.go', 'w')\n    {fill}\n"
    worker, judge = desk.worker("worker", GOOD_EDIT + body + NAMES_THE_PEAR), desk.judge()
    command = (
        shlex.join([HONESTONE, *scene.improve(worker, "--judge", judge.spec)])
        + " > ../out.json; echo $?"
    )
    again = f"cat note.md; rm {shlex.quote(str(small))}/big; {command}" if is_store else "true"
    ended = subprocess.run(
        [
            "unshare",
            "-rm",
            "sh",
            "-c",
            f"mount -t tmpfs -o size=400k none {shlex.quote(str(small))}; {command}; {again}",
        ],
        cwd=desk.folder,
        env=desk.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        ended.stdout == (f"2\n{BEST}3\n" if is_store else "3\n") and "Traceback" not in ended.stderr
    ), ended
    assert not is_store or ("disk is full" in ended.stderr and "make room" in ended.stderr)
    run = json.loads((desk.folder.parent / "out.json").read_text())
    assert (run["result"], run["resumed"]) == ("UNCONFIRMED", is_store)
    assert is_store or "No space left" in run["rounds"][1]["outcome_detail"]
    assert scene.main.read_text().startswith(BEST + "And pear")
    assert programs_of(desk) == []
