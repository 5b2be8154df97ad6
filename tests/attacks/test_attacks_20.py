"""What comes with a checkout, an archive or from another user decides nothing: no store, no
settings, no module, no link of it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from .corpus import Attack, Desk, Ended

ONE = "rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n"
EVAL = ("eval", "a.md", "--rubric", "r.yaml", "--quorum", "all")
NOTE = "was not made by this account"


def git(folder: Path, *words: str) -> None:
    own = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "protocol.file.allow=always",
    ]
    subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)


def judged(desk: Desk) -> tuple[str, ...]:
    """A judge that says no, and its answer on record."""
    desk.put("a.md", "text\n")
    desk.put("r.yaml", ONE)
    judge = ("--judge", desk.judge("j.py", False))
    assert desk.run(*EVAL, *judge).code == 1
    return judge


def forge(store: Path) -> None:
    """Every recorded no becomes a yes."""
    db = sqlite3.connect(store / "store.db", isolation_level=None)
    changed = db.execute(
        "update replies set data = cast(replace(cast(data as text), 'false', 'true') as blob)"
    ).rowcount
    assert changed > 0
    db.execute("pragma wal_checkpoint(truncate)")
    db.close()


def foreign(
    name: str, bring: Callable[[Desk], None], exit: int, *says: str, command: tuple[str, ...] = EVAL
) -> Attack:
    """A store with forged answers that came to the folder in some way."""

    def build(desk: Desk) -> Iterable[str]:
        judge = judged(desk)
        forge(desk.folder / ".honestone")
        bring(desk)
        return judge if command[0] == "eval" else ()

    return Attack(name=name, hole=20, build=build, command=command, exit=exit, says=says)


def archived(desk: Desk) -> None:
    """Packed, removed and unpacked: the same names and bytes, made by nobody here."""
    store = desk.folder / ".honestone"
    shutil.copytree(store, desk.root / "packed")
    shutil.rmtree(store)
    shutil.copytree(desk.root / "packed", store)


def other_account(desk: Desk) -> None:
    """The very same files, seen from an account that did not make them."""
    shutil.rmtree(desk.root / "home")
    (desk.root / "home").mkdir()


def without_mark(desk: Desk) -> None:
    """As an old version, or a stranger, makes it."""
    (desk.folder / ".honestone/account").unlink()


def guessed_mark(desk: Desk) -> None:
    archived(desk)
    (desk.folder / ".honestone/account").write_text("0" * 48 + "\n")


def other_database(desk: Desk) -> None:
    """The folder is one's own, the database in it was replaced."""
    path = desk.folder / ".honestone/store.db"
    shutil.copy(path, desk.root / "forged.db")
    os.replace(desk.root / "forged.db", path)


def named_by_variable(desk: Desk) -> None:
    archived(desk)
    shutil.move(desk.folder / ".honestone", desk.folder / "cache")
    desk.extra["HONESTONE_HOME"] = "cache"


def committed(desk: Desk) -> None:
    git(desk.folder, "init", "-q")
    git(desk.folder, "add", "-f", ".")


def cloned(desk: Desk) -> None:
    committed(desk)
    git(desk.folder, "commit", "-qm", "x")
    git(desk.root, "clone", "-q", str(desk.folder), "clone")
    shutil.rmtree(desk.folder)
    shutil.move(desk.root / "clone", desk.folder)


def second_index(desk: Desk) -> None:
    """Index version 4 shortens names, so the bytes do not hold them."""
    committed(desk)
    git(desk.folder, "update-index", "--index-version", "4")


def worktree(desk: Desk) -> None:
    cloned(desk)
    git(desk.folder, "worktree", "add", "-q", str(desk.root / "tree"))
    shutil.move(desk.folder, desk.root / "main")
    git(desk.root / "main", "worktree", "repair", str(desk.root / "tree"))
    git(desk.root / "main", "worktree", "move", str(desk.root / "tree"), str(desk.folder))


def submodule(desk: Desk) -> None:
    """The folder is a repository of its own, which the branch names."""
    archived(desk)
    store = desk.folder / ".honestone"
    shutil.move(store, desk.root / "sub")
    (desk.root / "sub/.gitignore").unlink()
    git(desk.root / "sub", "init", "-q")
    git(desk.root / "sub", "add", "-A")
    git(desk.root / "sub", "commit", "-qm", "x")
    git(desk.folder, "init", "-q")
    git(desk.folder, "submodule", "add", "-q", str(desk.root / "sub"), ".honestone")


def linked_store(desk: Desk) -> None:
    archived(desk)
    shutil.move(desk.folder / ".honestone", desk.folder / "vendored")
    (desk.folder / ".honestone").symlink_to("vendored")


def copied(name: str, exit: int, *says: str) -> Attack:
    """`store copy` would make the records of a stranger one's own."""

    def build(desk: Desk) -> None:
        judged(desk)
        forge(desk.folder / ".honestone")
        archived(desk)
        shutil.move(desk.folder / ".honestone", desk.folder / "theirs")

    return Attack(
        name=name,
        hole=20,
        build=build,
        command=("store", "copy", "theirs", "mine"),
        exit=exit,
        says=says,
    )


def unfinished_steps(desk: Desk) -> None:
    """Orders for an agent, in the steps of a checkout."""
    desk.put(".honestone/step/01ABC/session.json", "{}")


def trusted(name: str, *words: str, variable: bool = False) -> Attack:
    """A person takes a store in: its (here: true) answers are used."""

    def build(desk: Desk) -> Iterable[str]:
        judge = judged(desk)
        archived(desk)
        if variable:
            desk.extra["HONESTONE_TRUST_STORE"] = str(desk.folder / ".honestone")
        else:
            shown = desk.run("trust", *words)
            assert shown.code == 0 and "1 run (1 eval)" in shown.out and "1 reply" in shown.out, (
                shown
            )
        return judge

    return Attack(
        name=name,
        hole=20,
        build=build,
        command=EVAL,
        exit=1,
        says=("1 recorded reply",),
        after=lambda d, e: NOTE not in e.err,
    )


def own(name: str, change: Callable[[Desk], None]) -> Attack:
    """A store of one's own goes on."""

    def build(desk: Desk) -> Iterable[str]:
        judge = judged(desk)
        change(desk)
        return judge

    return Attack(
        name=name,
        hole=20,
        build=build,
        command=EVAL,
        exit=1,
        says=("1 recorded reply",),
        after=lambda d, e: NOTE not in e.err,
    )


def moved(desk: Desk) -> None:
    """The project gets another name: a folder that is moved stays the account's."""
    store = desk.folder / ".honestone"
    shutil.move(store, desk.root / "elsewhere")
    shutil.move(desk.root / "elsewhere", store)


def tracked_neighbour(desk: Desk) -> None:
    """A folder of the person's own files that git tracks, next to the records."""
    desk.put(".honestone/notes.md", "mine\n")
    git(desk.folder, "init", "-q")
    git(desk.folder, "add", "-f", ".honestone/notes.md")


def links_inside(desk: Desk) -> Iterable[str]:
    (desk.root / "victim").mkdir()
    desk.put(".honestone/x", "")
    for name in ("reports", "live", "locks", "step"):
        (desk.folder / ".honestone" / name).symlink_to("../../victim")
    desk.put("a.md", "text\n")
    desk.put("r.yaml", ONE)
    return ("--judge", desk.judge("y.py", True))


def nothing_in_victim(desk: Desk, ended: Ended) -> bool:
    return not os.listdir(desk.root / "victim")


def other_user(name: str, place: str, text: str) -> Attack:
    """Settings of another user in a folder above, which anybody may write."""

    def build(desk: Desk) -> Iterable[str]:
        desk.put(place, text)
        os.chown(desk.folder / place, 65534, 65534)
        (desk.folder / "w").mkdir()
        desk.put("w/a.md", "text\n")
        desk.put("w/r.yaml", ONE)
        judge = desk.judge("w/y.py", True)
        os.chdir(desk.folder)
        script = f"cd {desk.folder}/w && exec honestone eval a.md --rubric r.yaml --judge '{judge}'"
        done = subprocess.run(["sh", "-c", script], env=desk.env, capture_output=True, text=True)
        assert done.returncode == 0 and "belong to another user and are not used" in done.stderr, (
            done
        )
        return ()

    def after(desk: Desk, ended: Ended) -> bool:
        return (
            not (desk.folder / ".honestone").exists()
            and (desk.folder / "w/.honestone/store.db").exists()
        )

    return Attack(name=name, hole=20, build=build, command=("--version",), exit=0, after=after)


def named_like_an_option(name: str, file: str, words: tuple[str, ...], exit: int) -> Attack:
    def build(desk: Desk) -> None:
        desk.put("a.md", "text\n")
        desk.put(
            "r.yaml",
            "rubric: 1\nfloor: 0\ncriteria: [{id: a, requirement: x, check: {contains: zzz}}]\n",
        )
        desk.put(file, "text\n")

    return Attack(name=name, hole=20, build=build, command=words, exit=exit)


RATED = ("eval", "a.md", "--rubric", "r.yaml")
ATTACKS = (
    foreign("store from an archive", archived, 1, NOTE),
    foreign("store of another account", other_account, 1, NOTE),
    foreign("store without a mark", without_mark, 1, NOTE),
    foreign("store with a guessed mark", guessed_mark, 1, NOTE),
    foreign("own folder, another database", other_database, 1, NOTE),
    foreign("store from an archive, named by HONESTONE_HOME", named_by_variable, 1, NOTE),
    foreign("store in the index", committed, 2, "git tracks `.honestone/"),
    foreign("store in a clone", cloned, 2, "git tracks `.honestone/"),
    foreign("store in an index of version 4", second_index, 2, "git tracks `.honestone/"),
    foreign("store in a worktree", worktree, 2, "git tracks `.honestone/"),
    foreign("store that is a submodule", submodule, 2, "git tracks `.honestone"),
    foreign("store that is a link", linked_store, 2, "is a link"),
    foreign("trust of a store that git tracks", committed, 2, "git tracks", command=("trust", "store")),
    foreign("a foreign run, to be resumed by undo", archived, 2, command=("undo", "last")),
    copied("copy of a foreign store", 2, NOTE),
    Attack(
        name="links in a store without a database",
        hole=20,
        build=links_inside,
        command=EVAL,
        exit=0,
        says=(NOTE,),
        after=nothing_in_victim,
    ),
    named_like_an_option("a file called --threshold=0", "--threshold=0", (*RATED, "--threshold=0"), 2),
    named_like_an_option("a file called -q", "-q", (*RATED, "-q"), 2),
    named_like_an_option("honest file after --", "--threshold=0", ("eval", "--rubric", "r.yaml", "--", "a.md", "--threshold=0"), 1),
    foreign("honest look at a foreign store", archived, 0, "DID NOT PASS", command=("show", "last")),
    foreign("honest list of a foreign store", archived, 0, "eval", command=("runs",)),
    trusted("honest trust of a store", "store"),
    trusted("honest trust of a named store", ".honestone"),
    trusted("honest trust by the variable", variable=True),
    own("honest store of one's own", lambda desk: None),
    own("honest store that was moved", moved),
    own("honest files in the folder that git tracks", tracked_neighbour),
)  # fmt: skip
if os.geteuid() == 0:
    ATTACKS += (
        other_user("honestone.toml of another user above", "honestone.toml", "[limits]\n"),
        other_user("pyproject.toml of another user above", "pyproject.toml", "[tool.honestone]\n"),
    )


GIT_PROGRAMS = {
    "a monitor of files": "[core]\n\tfsmonitor = PROGRAM\n",
    "hooks": "[core]\n\thooksPath = hooks\n",
}


@pytest.mark.parametrize("config", GIT_PROGRAMS.values(), ids=GIT_PROGRAMS)
def test_no_program_of_an_archives_git_configuration_is_run(config: str, tmp_path: Path) -> None:
    """Neither for what is staged nor for who wrote a suite."""
    desk = Desk.new(tmp_path)
    desk.put("a.md", "text\n")
    desk.put("r.yaml", "rubric: 1\ncriteria: [{id: a, requirement: x, check: {contains: text}}]\n")
    desk.put(
        "s.yaml", "suite: 1\ntarget: cmd:cat\ncases: [{id: a, input: x, checks: [{contains: x}]}]\n"
    )
    program = desk.put("hooks/post-index-change", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    git(desk.folder, "init", "-q")
    git(desk.folder, "add", ".")
    git(desk.folder, "commit", "-qm", "x")
    with (desk.folder / ".git/config").open("a") as file:
        file.write(config.replace("PROGRAM", str(program)))
    git(desk.folder, "-c", "core.fsmonitor=false", "status")
    (tmp_path / "ran").unlink(missing_ok=True)
    assert desk.run("eval", "--staged", "a.md", "--rubric", "r.yaml").code == 0
    assert desk.run("eval", "s.yaml").code == 0
    assert desk.run("suite", "check", "s.yaml").code == 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)


def test_a_store_of_an_older_version_goes_on(tmp_path: Path) -> None:
    """Made in this place, a day before this version was first used: its answers are used, and one
    sentence says so.
    """
    desk = Desk.new(tmp_path)
    judge = judged(desk)
    without_mark(desk)
    key = desk.root / "home/.local/state/honestone/store.key"
    later = key.stat().st_mtime + 100_000
    os.utime(key, (later, later))
    ended = desk.run(*EVAL, *judge)
    assert ended.code == 1 and "1 recorded reply" in ended.out, ended
    assert "was made here by an older version" in ended.err
    assert "older version" not in desk.run(*EVAL, *judge).err


def test_a_copy_of_an_older_store_does_not(tmp_path: Path) -> None:
    """The kernel's time of change is that of the copy, however old its records are."""
    desk = Desk.new(tmp_path)
    judge = judged(desk)
    without_mark(desk)
    db = sqlite3.connect(desk.folder / ".honestone/store.db", isolation_level=None)
    db.execute("update replies set at = '2020-01-01T00:00:00.000+00:00'")
    db.execute("update runs set started = '2020-01-01T00:00:00.000+00:00'")
    db.close()
    key = desk.root / "home/.local/state/honestone/store.key"
    later = key.stat().st_mtime + 100_000
    os.utime(key, (later, later))
    ended = desk.run(*EVAL, *judge)
    assert ended.code == 1 and NOTE in ended.err, ended
