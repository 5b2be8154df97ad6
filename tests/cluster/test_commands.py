"""Commands on a shared store, in processes of their own: from any folder, refused in words, and
never with the password.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.desk import GOOD, Desk

from .server import PASSWORD, Server


def colleague(desk: Desk, tmp_path: Path) -> Desk:
    """Another folder and home, as on another machine; the same store."""
    for name in ("mate", "mate-home"):
        (tmp_path / name).mkdir()
    return Desk(tmp_path / "mate", tmp_path / "mate-home", desk.logs, extra=dict(desk.extra))


def ready(desk: Desk) -> str:
    """A note, a rubric and a judge on the desk; the judge's name."""
    desk.rubric()
    desk.file("note.md", "# Fruit\n\nAn apple a day.\n")
    return desk.judge().spec


def test_a_colleague_sees_runs_from_any_folder(desk: Desk, tmp_path: Path) -> None:
    """`runs`, `show` and `rescore`; nothing of the run is in the folder where it was made."""
    judge = ready(desk)
    made = desk.run("eval", "note.md", "-r", "rubric.yaml", "--judge", judge, "--json")
    assert made.code == 1, made.err
    assert not (desk.store / "store.db").exists()
    mate = colleague(desk, tmp_path)
    (listed,) = json.loads(mate.run("runs", "--json").out)
    assert listed["kind"] == "eval" and "@" in listed["person"] and listed["project"] == ""
    shown = mate.run("show", "last", "--json")
    assert json.loads(shown.out)["score"] == json.loads(made.out)["score"]
    assert mate.run("rescore", "last").code == 1
    again = desk.run("eval", "note.md", "-r", "rubric.yaml", "--judge", judge)
    assert again.code == 1 and desk.logs.joinpath("judge.jsonl").read_text().count("\n") == 1


def test_a_loop_and_its_undo(desk: Desk) -> None:
    """`improve` keeps its versions in the database, and `undo` puts the original back from there."""
    judge = ready(desk)
    before = (desk.folder / "note.md").read_bytes()
    worker = desk.worker("worker", f"put({GOOD.encode()!r})").spec
    done = desk.run(
        "improve",
        "note.md",
        "-r",
        "rubric.yaml",
        "--worker",
        worker,
        "--judge",
        judge,
        "--policy",
        "keep-best",
    )
    assert done.code in (0, 3), done.err
    assert (desk.folder / "note.md").read_text() == GOOD
    assert desk.run("undo", "last").code == 0
    assert (desk.folder / "note.md").read_bytes() == before


def test_the_option_the_variable_and_the_settings(
    desk: Desk, server: Server, tmp_path: Path
) -> None:
    """--store wins over HONESTONE_STORE, which wins over trusted settings; a folder may be named
    too.
    """
    judge = ready(desk)
    command = ("eval", "note.md", "-r", "rubric.yaml", "--judge", judge)
    assert desk.run(*command, "--store", "elsewhere").code == 1
    assert (desk.folder / "elsewhere/store.db").exists()
    assert len(json.loads(desk.run("runs", "--json", "--store", "elsewhere").out)) == 1
    assert "no store" in desk.run("runs").err
    bare = server.url(server.database().rpartition("/")[2], password=None)
    desk.file("honestone.toml", f'[store]\nurl = "{bare}"\nproject = "fruit"\n')
    alone = {"HONESTONE_STORE": "", "PGPASSWORD": PASSWORD}
    refused = desk.run(*command, env=alone)
    assert refused.code == 2 and "trust" in refused.err
    assert desk.run("trust", env=alone).code == 0
    assert desk.run(*command, env=alone).code == 1
    (listed,) = json.loads(desk.run("runs", "--json", env=alone).out)
    assert listed["project"] == "fruit"


def test_a_password_in_the_settings_is_refused(desk: Desk) -> None:
    """With the line, and without repeating it."""
    desk.file("honestone.toml", '\n[store]\nurl = "postgresql://ann:s3cret-mark@db/runs"\n')
    said = desk.run("runs")
    assert (
        said.code == 2
        and "honestone.toml:3" in said.err
        and "PGPASSWORD" in said.err
        and "s3cret-mark" not in said.err
    )


@pytest.mark.parametrize(
    "command",
    [("eval", "note.md", "-r", "rubric.yaml", "--judge", "mock"), ("runs",), ("store", "check")],
)
def test_wrong_stores_are_refused_before_anything_is_asked(
    desk: Desk, server: Server, command: tuple[str, ...]
) -> None:
    """A port that nothing listens on, a wrong password, a database that is missing, other kinds:
    exit 2, and no password.
    """
    ready(desk)
    wrong = {
        "port": server.url("x", port=1),
        "password": server.url("postgres", password="Wrong-mark-77"),
        "database": server.url("nowhere"),
        "kind": "mysql://h/x",
        "form": "postgresql:/oops",
    }
    for name, url in wrong.items():
        said = desk.run(*command, env={"HONESTONE_STORE": url})
        assert said.code == 2, (name, said.err)
        assert "error:" in said.err and "hint:" in said.err and "store" in said.err.lower(), (
            name,
            said.err,
        )
        assert (
            PASSWORD not in said.err
            and "Wrong-mark" not in said.err
            and "Traceback" not in said.err
        )


def test_a_hint_for_each_reason_of_a_server_not_to_let_one_in(desk: Desk, server: Server) -> None:
    """What to do differs: the server does not listen, does not know this machine, has no TLS, no
    such database, or another password.
    """
    rules = server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"host closed all 127.0.0.1/32 reject\n{before}")
    server.sql("select pg_reload_conf()", "postgres")
    hints = {
        server.url("x", port=1): "listen_addresses",
        server.url("closed"): "pg_hba.conf on the server",
        f"{server.url('postgres')}?sslmode=require": "turn on `ssl`",
        server.url("postgres", password="Wrong-mark-77"): "PGPASSWORD",
        server.url("nowhere"): "make the database",
    }
    try:
        for url, hint in hints.items():
            said = desk.run("runs", env={"HONESTONE_STORE": url})
            assert said.code == 2 and hint in said.err.partition("hint:")[2], (hint, said.err)
    finally:
        rules.write_text(before)
        server.sql("select pg_reload_conf()", "postgres")


def test_doctor_says_which_store_and_whether_it_answers(desk: Desk, server: Server) -> None:
    """Without the password, also where it does not answer."""
    assert "answers; empty" in desk.run("doctor").out
    desk.run("store", "migrate")
    said = desk.run("doctor")
    assert (
        "postgresql://honestone@127.0.0.1" in said.out
        and "answers; PostgreSQL" in said.out
        and PASSWORD not in said.out
    )
    away = desk.run("doctor", env={"HONESTONE_STORE": server.url("x", port=1)})
    assert away.code == 0 and "does not work" in away.out and PASSWORD not in away.out


def test_a_history_goes_into_the_database_and_back(desk: Desk, url: str) -> None:
    """Nothing is lost or doubled: a second copy adds nothing, and a run that ended meanwhile is
    ended in the copy too.
    """
    judge = ready(desk)
    command = ("eval", "note.md", "-r", "rubric.yaml", "--judge", judge)
    assert desk.run(*command, "--store", "first").code == 1
    done = desk.run("store", "copy", "first", url, "--json")
    assert (
        done.code == 0
        and json.loads(done.out)["added"]["runs"] == 1
        and PASSWORD not in done.out + done.err
    )
    again = json.loads(desk.run("store", "copy", "first", url, "--json").out)
    assert set(again["added"].values()) == {0}
    assert desk.run("store", "copy", url, "second").code == 0
    shown = [
        desk.run("show", "last", "--json", "--store", where).out
        for where in ("first", url, "second")
    ]
    assert shown[0] == shown[1] == shown[2] != ""
    assert desk.run(*command, "--store", "second").code == 1
    assert desk.logs.joinpath("judge.jsonl").read_text().count("\n") == 1, "the replies came along"
    assert desk.run("store", "copy", "first", "first").code == 2


def test_python_takes_an_address(desk: Desk, url: str) -> None:
    """`store=` of the functions, as text."""
    desk.rubric()
    program = "import sys, honestone\nprint(honestone.evaluate('An apple.', 'rubric.yaml', judges='mock', store=sys.argv[1]).run)"
    done = subprocess.run(
        [sys.executable, "-c", program, url],
        cwd=desk.folder,
        env=desk.env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in desk.run("runs", "--json").out


def test_nothing_secret_is_in_the_database(desk: Desk, server: Server, url: str) -> None:
    """Neither the store's password nor a key of the environment."""
    judge = ready(desk)
    env = {"OPENAI_API_KEY": "sk-Key-mark-7f3a"}
    assert desk.run("eval", "note.md", "-r", "rubric.yaml", "--judge", judge, env=env).code == 1
    dump = server.run(
        "pg_dump",
        "-h",
        "127.0.0.1",
        "-p",
        str(server.port),
        "-U",
        "honestone",
        url.rpartition("/")[2],
    )
    assert len(dump) > 5000
    for secret in (PASSWORD, "sk-Key-mark-7f3a"):
        assert secret not in dump and secret.encode().hex() not in dump


def test_help_and_a_local_run_load_no_driver(desk: Desk) -> None:
    """A folder's store needs nothing of the extra."""
    desk.rubric()
    desk.file("note.md", "An apple.")
    program = (
        "import sys\nsys.argv = ['honestone', 'eval', 'note.md', '-r', 'rubric.yaml', '--judge', 'mock']\n"
        "from honestone.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert not [name for name in sys.modules if 'psycopg' in name or 'postgres' in name]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=desk.folder,
        env={**desk.env, "HONESTONE_STORE": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_a_run_is_deleted_for_everyone(desk: Desk, tmp_path: Path) -> None:
    """Its rows go, the other run is as it was, and a colleague is told that it was deleted."""
    judge = ready(desk)
    for word in ("apple", "pear"):
        desk.file("note.md", f"# Fruit\n\nAn {word} a day.\n")
        assert desk.run("eval", "note.md", "-r", "rubric.yaml", "--judge", judge).code == 1
    left, gone = (run["id"] for run in desk.run("runs", "--json").json)
    document = desk.run("runs", "delete", gone, "--yes", "--json").json
    assert document["deleted"] == [gone] and document["kept"] == [] and document["bytes"] > 0
    mate = colleague(desk, tmp_path)
    assert [run["id"] for run in mate.run("runs", "--json").json] == [left]
    refused = mate.run("show", gone)
    assert refused.is_refusal and f"run {gone} was deleted on " in refused.err
    assert mate.run("show", left).code == 0
