"""`eval SUITE --remote` and its runners, in processes of their own: what one machine orders, others do, as it was meant."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.desk import HONESTONE, Desk

from .server import Server

SUITE = "suite: 1\ntitle: Fruit\ncases:\n" + "".join(
    f"  - {{id: c{n}, input: {'an apple' if n % 3 else 'a stone'} {n}, checks: [{{contains: [apple]}}, {{command: test -s note.txt}}],"
    " workspace: {copy: fixture}}\n"
    for n in range(6)
)
TARGET = "sleep ${PAUSE:-0}; cat\n"
EVAL = ("eval", "suite.yaml", "--target", "cmd:sh tools/target.sh", "--sandbox", "none", "--json", "-q")


@pytest.fixture
def project(desk: Desk) -> Desk:
    """A suite with its settings, a target and a fixture; one case in three fails."""
    desk.file("honestone.toml", "")
    desk.file("suite.yaml", SUITE)
    desk.file("tools/target.sh", TARGET)
    desk.file("fixture/note.txt", "zebra\n")
    return desk


class Runners:
    """Runners in empty folders of their own, as on other machines."""

    def __init__(self, desk: Desk, folder: Path) -> None:
        self._desk, self._folder = desk, folder
        self.alive: list[subprocess.Popen[str]] = []

    def start(self, *args: str) -> subprocess.Popen[str]:
        place = self._folder / f"runner{len(self.alive)}"
        place.mkdir()
        env = {"PATH": "/usr/bin:/bin", "HOME": str(place), "HONESTONE_HEARTBEAT": "1", **self._desk.extra}
        made = subprocess.Popen(
            [HONESTONE, "runner", *args], cwd=place, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.alive.append(made)
        return made

    def end(self) -> None:
        for one in self.alive:
            one.kill()
            one.communicate()


@pytest.fixture
def runners(desk: Desk, tmp_path: Path) -> Iterator[Runners]:
    made = Runners(desk, tmp_path)
    yield made
    made.end()


def ordered(desk: Desk, *more: str, words: tuple[str, ...] = EVAL[:-1]) -> subprocess.Popen[str]:
    """A coordinator, under way."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(desk.folder.parent / "home"), "HONESTONE_HEARTBEAT": "1", **desk.extra}
    return subprocess.Popen(
        [HONESTONE, *words, *more, "--remote"],
        cwd=desk.folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(holds: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.1)


def heard_until(command: subprocess.Popen[str], words: str) -> str:
    """What it has said on stderr when these words are said."""
    assert command.stderr is not None
    said = ""
    while words not in said:
        heard = command.stderr.readline()
        assert heard, said
        said += heard
    return said


def gated(desk: Desk) -> Path:
    """The target does not answer before this file is there."""
    gate = desk.folder.parent / "gate"
    desk.file("tools/target.sh", f"while [ ! -e {gate} ]; do sleep 0.1; done; cat\n")
    return gate


def in_hand(desk: Desk) -> int:
    """How many cases all runners work on."""
    return sum(len(one["in_hand"]) for one in json.loads(desk.run("runners", "--json").out))


def listed(desk: Desk) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(desk.run("runs", "--json").out or "[]")
    return found


def bare(value: object) -> object:
    """A report without ids, times and what was spent."""
    if isinstance(value, dict):
        left_out = ("duration_ms", "run", "started", "finished", "seconds", "usage", "spend")
        return {name: bare(one) for name, one in value.items() if name not in left_out}
    return [bare(one) for one in value] if isinstance(value, list) else value


def test_the_report_is_that_of_one_machine(project: Desk, runners: Runners, tmp_path: Path) -> None:
    """A runner that has nothing but the store works on the cases; nothing of the suite was in its folder."""
    project.extra = {**project.extra}
    alone = project.run(*EVAL, "--store", str(tmp_path / "alone"))
    assert alone.code == 1, alone.err
    runners.start()
    done = ordered(project)
    out, err = done.communicate(timeout=120)
    assert done.returncode == 1, err
    assert bare(json.loads(out)) == bare(json.loads(alone.out))
    (run,) = listed(project)
    assert run["result"] == "fail"

    def waits() -> bool:
        (one,) = json.loads(project.run("runners", "--json").out)
        return one["state"] == "waiting" and one["in_hand"] == []

    until(waits)  # it says so with its next heartbeat


def test_a_killed_runner_and_a_killed_coordinator(project: Desk, runners: Runners) -> None:
    """Cases in the hands of a dead runner go to others, and the same command takes the run up."""
    gate = gated(project)
    first = runners.start("--concurrency", "2")
    watching = ordered(project)
    until(lambda: in_hand(project) == 2)
    first.send_signal(signal.SIGKILL)
    watching.send_signal(signal.SIGKILL)
    watching.communicate()
    gate.touch()
    runners.start("--concurrency", "6")
    again = ordered(project)
    out, err = again.communicate(timeout=120)
    assert again.returncode == 1, err
    report = json.loads(out)
    assert report["counts"]["passed"] == 4 and report["counts"]["failed"] == 2
    assert len(listed(project)) == 1


def test_a_runner_that_is_told_to_stop_finishes_what_it_has(project: Desk, runners: Runners) -> None:
    """It says what it takes, and that it ends."""
    gate = gated(project)
    one = runners.start("--concurrency", "6")
    watching = ordered(project)
    until(lambda: in_hand(project) == 6)
    (run,) = listed(project)
    (row, cases) = project.run("runners").out.splitlines()
    assert "  working  6 of 6 cases in hand  last heartbeat " in row
    assert cases == f"  run {run['id']}: c0, c1, c2, c3, c4, c5"
    one.send_signal(signal.SIGTERM)
    until(lambda: "stopping" in project.run("runners").out)
    gate.touch()
    out, err = watching.communicate(timeout=60)
    assert watching.returncode == 1, err
    _, said = one.communicate(timeout=30)
    assert one.returncode == 0
    assert said.splitlines()[0].startswith("waits for cases of postgresql://") and "6 at a time" in said
    assert f"takes cases of run {run['id']}" in said
    assert json.loads(out)["counts"]["passed"] == 4


def test_other_files_judges_and_keys_are_refused(project: Desk, runners: Runners) -> None:
    """With run, reason and remedy; nothing is spent, and the coordinator says that nobody takes the run."""
    table = '[judges.desk]\nprovider = "compatible"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "DESK_KEY"\n'
    project.file("honestone.toml", table)
    project.file("suite.yaml", "suite: 1\ncases:\n  - {id: a, input: x, rubric: [it says x]}\n")
    watching = ordered(project, "--judge", "desk")
    until(lambda: listed(project))
    drained = runners.start("--drain")
    _, err = drained.communicate(timeout=60)
    (run,) = listed(project)
    assert drained.returncode == 2
    assert f"refused run {run['id']}" in err and "DESK_KEY" in err
    runners.start()
    said = heard_until(watching, "refuses run")
    assert "DESK_KEY" in said
    assert project.run("run", "cancel", str(run["id"])).code == 0
    _, err = watching.communicate(timeout=60)
    assert watching.returncode == 130 and "cancelled" in err


def test_what_cannot_be_ordered(project: Desk, tmp_path: Path) -> None:
    """Each is exit code 2, with the option that is not for other machines."""
    runs = {
        ("--store", str(tmp_path / "folder")): "HONESTONE_STORE",
        ("--outputs", "last"): "--outputs",
        ("--watch",): "--watch",
        ("--judge", "human"): "person",
    }
    for more, named in runs.items():
        tried = project.run(*EVAL, "--remote", *more)
        assert tried.code == 2 and named in tried.err, (more, tried.err)
    assert project.run(*EVAL, "--priority", "3").code == 2
    (project.folder / "honestone.toml").unlink()
    tried = project.run(*EVAL, "--remote")
    assert tried.code == 2 and "honestone.toml" in tried.err
    assert listed(project) == []


def test_a_file_with_keys_does_not_travel(project: Desk) -> None:
    project.file("fixture/.env", "KEY=secret\n")
    tried = project.run(*EVAL, "--remote")
    assert tried.code == 2 and ".env" in tried.err and "secret" not in tried.err
    assert listed(project) == []


def test_a_run_that_was_begun_here_is_not_ordered(project: Desk) -> None:
    """The same suite, killed on one machine, is finished there or started over."""
    project.file("tools/target.sh", "sleep 30; cat\n")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(project.folder.parent / "home"), **project.extra}
    here = subprocess.Popen(
        [HONESTONE, *EVAL], cwd=project.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until(lambda: listed(project))
    here.kill()
    here.communicate()
    until(lambda: "unfinished on one machine" in (err := project.run(*EVAL, "--remote").err) or "--fresh" in err)


@pytest.mark.parametrize("given", ["often", "0", "nan"])
def test_a_heartbeat_that_is_none(project: Desk, given: str) -> None:
    project.extra = {**project.extra, "HONESTONE_HEARTBEAT": given}
    tried = project.run("runners")
    assert tried.code == 2 and "HONESTONE_HEARTBEAT" in tried.err


def test_a_case_that_is_another_one_here_is_refused_when_it_is_taken(
    project: Desk, runners: Runners, url: str, server: Server
) -> None:
    """A runner reads a case of the store, not the suite. One whose contract is another here is given back, and nothing is spent."""
    watching = ordered(project)
    until(lambda: listed(project))
    server.sql(
        "update honestone.cases set data = convert_to(replace(convert_from(data, 'UTF8'), 'an apple 4', 'a pear 4'), 'UTF8')",
        url.rpartition("/")[2],
    )
    runners.start("--concurrency", "1")
    assert "case `c4`" in heard_until(watching, "refuses run")
    (run,) = listed(project)
    assert "case `c4` are not the same here" in project.run("runners").out
    assert project.run("run", "cancel", str(run["id"])).code == 0
    watching.communicate(timeout=60)
    assert watching.returncode == 130
    shown = json.loads(project.run("show", str(run["id"]), "--json").out)
    assert {case["id"]: case["status"] for case in shown["cases"]}["c4"] == "skipped"


def test_a_runner_reads_no_case_that_it_does_not_take(
    project: Desk, runners: Runners, url: str, server: Server
) -> None:
    """The rows of all cases but one are damaged: the runner that takes that one does not notice."""
    watching = ordered(project)
    until(lambda: listed(project))
    watching.kill()  # else it puts into the queue again what is missing there
    watching.communicate()
    name = url.rpartition("/")[2]
    server.sql("update honestone.cases set data = 'damaged' where id <> 'c1'", name)
    server.sql("delete from honestone.procrastinate_jobs where args ->> 'case' <> 'c1'", name)
    drained = runners.start("--drain")
    _, err = drained.communicate(timeout=60)
    assert drained.returncode == 0, err
    judged = "select count(*) from honestone.events where convert_from(data, 'UTF8') like '%\"attempted\"%'"
    assert server.sql(judged, name) == "1"


def test_what_failed_and_what_was_skipped_is_run_again(project: Desk, runners: Runners) -> None:
    """`--failed` and `--errored` choose as on one machine, by this project's last run; the others are left out."""
    runners.start()
    first = ordered(project)
    _, err = first.communicate(timeout=120)
    assert first.returncode == 1, err
    again = ordered(project, "--failed")
    out, err = again.communicate(timeout=120)
    assert again.returncode == 1, err
    report = json.loads(out)
    assert [case["id"] for case in report["cases"]] == ["c0", "c3"] and report["counts"]["failed"] == 2
    none = project.run(*EVAL, "--remote", "--errored")
    assert none.code == 2 and "no case is left" in none.err


def test_a_run_that_is_taken_up_is_read_once(project: Desk, runners: Runners) -> None:
    """What is on record counts once, in the cases and in what they cost."""
    first = ordered(project)
    until(lambda: listed(project))
    first.kill()
    first.communicate()
    runners.start("--drain").communicate(timeout=60)
    again = ordered(project)
    out, err = again.communicate(timeout=120)
    assert again.returncode == 1, err
    assert "resuming run" in err and "6 cases of 6 done" in err
    report = json.loads(out)
    assert report["usage"]["target_calls"] == 6 and len(listed(project)) == 1


def test_a_rate_that_is_waited_for_is_named(project: Desk, runners: Runners) -> None:
    """One run of the target a minute: the runner says whose rate its cases wait for, for as long as they do."""
    table = '[targets.slow]\nprovider = "http"\nbase_url = "http://127.0.0.1:9/"\naccount = "team"\nrequests_per_minute = 1\n'
    project.file("honestone.toml", table)
    watching = ordered(project, words=("eval", "suite.yaml", "--target", "slow", "--sandbox", "none"))
    until(lambda: listed(project))
    runners.start("--grace", "0")
    until(lambda: any(one["waits"] == ["team"] for one in json.loads(project.run("runners", "--json").out)))
    assert project.run("run", "cancel", str(listed(project)[0]["id"])).code == 0
    _, err = watching.communicate(timeout=60)
    assert watching.returncode == 130, err
