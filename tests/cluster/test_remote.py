"""`eval SUITE --remote` and its runners, in processes of their own: what one machine orders, others
do, as it was meant.
"""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.desk import Desk, until

from .server import Server
from .site import Site

SUITE = "suite: 1\ntitle: Fruit\ncases:\n" + "".join(
    f"  - {{id: c{n}, input: {'an apple' if n % 3 else 'a stone'} {n}, checks: [{{contains: [apple]}}, {{command: test -s note.txt}}],"
    " workspace: {copy: fixture}}\n"
    for n in range(6)
)
TARGET = "sleep ${PAUSE:-0}; cat\n"
EVAL = (
    "eval",
    "suite.yaml",
    "--target",
    "cmd:sh tools/target.sh",
    "--sandbox",
    "none",
    "--json",
    "-q",
)


@pytest.fixture
def project(desk: Desk) -> Desk:
    """A suite with its settings, a target and a fixture; one case in three fails."""
    desk.file("honestone.toml", "")
    desk.file("suite.yaml", SUITE)
    desk.file("tools/target.sh", TARGET)
    desk.file("fixture/note.txt", "zebra\n")
    return desk


def ordered(site: Site, *more: str) -> subprocess.Popen[str]:
    """A coordinator, under way."""
    return site.order(*EVAL[2:-2], *more)


def gated(desk: Desk) -> Path:
    """The target does not answer before this file is there."""
    gate = desk.folder.parent / "gate"
    desk.file("tools/target.sh", f"while [ ! -e {gate} ]; do sleep 0.1; done; cat\n")
    return gate


def bare(value: object) -> object:
    """A report without ids, times and what was spent."""
    if isinstance(value, dict):
        left_out = ("duration_ms", "run", "started", "finished", "seconds", "usage", "spend")
        return {name: bare(one) for name, one in value.items() if name not in left_out}
    return [bare(one) for one in value] if isinstance(value, list) else value


def test_the_report_is_that_of_one_machine(project: Desk, site: Site, tmp_path: Path) -> None:
    """A runner that has nothing but the store works on the cases; nothing of the suite was in its
    folder.
    """
    project.extra = {**project.extra}
    alone = project.run(*EVAL, "--store", str(tmp_path / "alone"))
    assert alone.code == 1, alone.err
    site.runner()
    done = ordered(site)
    out, err = done.communicate(timeout=120)
    assert done.returncode == 1, err
    assert bare(json.loads(out)) == bare(json.loads(alone.out))
    (run,) = site.runs()
    assert run["result"] == "fail"

    def waits() -> bool:
        (one,) = json.loads(project.run("runners", "--json").out)
        return one["state"] == "waiting" and one["in_hand"] == []

    assert until(waits)  # it says so with its next heartbeat


def test_a_killed_runner_and_a_killed_coordinator(project: Desk, site: Site) -> None:
    """Cases in the hands of a dead runner go to others, and the same command takes the run up."""
    gate = gated(project)
    first = site.runner("--concurrency", "2")
    watching = ordered(site)
    assert until(lambda: len(site.in_hand()) == 2)
    first.send_signal(signal.SIGKILL)
    watching.send_signal(signal.SIGKILL)
    watching.communicate()
    gate.touch()
    site.runner("--concurrency", "6")
    again = ordered(site)
    out, err = again.communicate(timeout=120)
    assert again.returncode == 1, err
    report = json.loads(out)
    assert report["counts"]["passed"] == 4 and report["counts"]["failed"] == 2
    assert len(site.runs()) == 1


def test_a_runner_that_is_told_to_stop_finishes_what_it_has(project: Desk, site: Site) -> None:
    """It says what it takes, and that it ends."""
    gate = gated(project)
    one = site.runner("--concurrency", "6")
    watching = ordered(site)
    assert until(lambda: len(site.in_hand()) == 6)
    (run,) = site.runs()
    (row, cases) = project.run("runners").out.splitlines()
    assert "  working  6 of 6 cases in hand  heartbeat " in row
    assert cases == f"  run {run['id']}: c0, c1, c2, c3, c4, c5"
    one.send_signal(signal.SIGTERM)
    assert until(lambda: "stopping" in project.run("runners").out)
    gate.touch()
    out, err = watching.communicate(timeout=60)
    assert watching.returncode == 1, err
    _, said = one.communicate(timeout=30)
    assert one.returncode == 0
    assert (
        said.splitlines()[0].startswith("waits for cases of postgresql://")
        and "6 at a time" in said
    )
    assert f"takes cases of run {run['id']}" in said
    assert json.loads(out)["counts"]["passed"] == 4


def test_other_files_judges_and_keys_are_refused(project: Desk, site: Site) -> None:
    """With run, reason and remedy; nothing is spent, and the coordinator says that nobody takes the
    run.
    """
    table = '[judges.desk]\nprovider = "compatible"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "DESK_KEY"\n'
    project.file("honestone.toml", table)
    project.file("suite.yaml", "suite: 1\ncases:\n  - {id: a, input: x, rubric: [it says x]}\n")
    watching = ordered(site, "--judge", "desk")
    site.until_ordered(watching)
    drained = site.runner("--drain")
    _, err = drained.communicate(timeout=60)
    (run,) = site.runs()
    assert drained.returncode == 2
    assert f"refused run {run['id']}" in err and "DESK_KEY" in err
    site.runner()
    said = site.heard(watching, "refuses run")
    assert "DESK_KEY" in said
    assert project.run("run", "cancel", str(run["id"])).code == 0
    _, err = watching.communicate(timeout=60)
    assert watching.returncode == 130 and "cancelled" in err


def test_what_cannot_be_ordered(project: Desk, site: Site, tmp_path: Path) -> None:
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
    suites = {
        "  - {id: b, input: y, checks: [{contains: [y]}], depends_on: [a]}": "cases that depend on others"
    }
    for case, named in suites.items():
        project.file(
            "suite.yaml",
            f"suite: 1\ncases:\n  - {{id: a, input: x, checks: [{{contains: [x]}}]}}\n{case}\n",
        )
        tried = project.run(*EVAL, "--remote")
        assert tried.code == 2 and named in tried.err and "other machines" in tried.err, tried.err
    (project.folder / "honestone.toml").unlink()
    tried = project.run(*EVAL, "--remote")
    assert tried.code == 2 and "honestone.toml" in tried.err
    assert site.runs() == []


def test_a_file_with_keys_does_not_travel(project: Desk, site: Site) -> None:
    project.file("fixture/.env", "KEY=secret\n")
    tried = project.run(*EVAL, "--remote")
    assert tried.code == 2 and ".env" in tried.err and "secret" not in tried.err
    assert site.runs() == []


def test_a_run_that_was_begun_here_is_not_ordered(project: Desk, site: Site) -> None:
    """The same suite, killed on one machine, is finished there or started over."""
    project.file("tools/target.sh", "sleep 30; cat\n")
    here = site.here(*EVAL)
    assert until(site.runs)
    here.kill()
    here.communicate()

    def is_refused() -> bool:  # once its connection, and so its claim, is gone
        return "was begun on one machine and is unfinished" in project.run(*EVAL, "--remote").err

    assert until(is_refused)


@pytest.mark.parametrize("given", ["often", "0", "nan"])
def test_a_heartbeat_that_is_none(project: Desk, given: str) -> None:
    project.extra = {**project.extra, "HONESTONE_HEARTBEAT": given}
    tried = project.run("runners")
    assert tried.code == 2 and "HONESTONE_HEARTBEAT" in tried.err


def test_a_case_that_is_another_one_here_is_refused_when_it_is_taken(
    project: Desk, site: Site, url: str, server: Server
) -> None:
    """A runner reads a case of the store, not the suite. One whose contract is another here is
    given back, and nothing is spent.
    """
    watching = ordered(site)
    site.until_ordered(watching)
    server.sql(
        "update honestone.cases set data = convert_to(replace(convert_from(data, 'UTF8'), 'an apple 4', 'a pear 4'), 'UTF8')",
        url.rpartition("/")[2],
    )
    site.runner("--concurrency", "1")
    assert "case `c4`" in site.heard(watching, "refuses run")
    (run,) = site.runs()
    assert "case `c4` are not the same here" in project.run("runners").out
    assert project.run("run", "cancel", str(run["id"])).code == 0
    watching.communicate(timeout=60)
    assert watching.returncode == 130
    shown = json.loads(project.run("show", str(run["id"]), "--json").out)
    assert {case["id"]: case["status"] for case in shown["cases"]}["c4"] == "skipped"


def test_a_runner_reads_no_case_that_it_does_not_take(
    project: Desk, site: Site, url: str, server: Server
) -> None:
    """The rows of all cases but one are damaged: the runner that takes that one does not notice."""
    watching = ordered(site)
    site.until_ordered(watching)
    watching.kill()  # else it puts into the queue again what is missing there
    watching.communicate()
    name = url.rpartition("/")[2]
    server.sql("update honestone.cases set data = 'damaged' where id <> 'c1'", name)
    server.sql("delete from honestone.procrastinate_jobs where args ->> 'case' <> 'c1'", name)
    drained = site.runner("--drain")
    _, err = drained.communicate(timeout=60)
    assert drained.returncode == 0, err
    judged = "select count(*) from honestone.events where convert_from(data, 'UTF8') like '%\"attempted\"%'"
    assert server.sql(judged, name) == "1"


def test_what_failed_and_what_was_skipped_is_run_again(project: Desk, site: Site) -> None:
    """`--failed` and `--errored` choose as on one machine, by this project's last run; the others
    are left out.
    """
    site.runner()
    first = ordered(site)
    _, err = first.communicate(timeout=120)
    assert first.returncode == 1, err
    again = ordered(site, "--failed")
    out, err = again.communicate(timeout=120)
    assert again.returncode == 1, err
    report = json.loads(out)
    assert [case["id"] for case in report["cases"]] == ["c0", "c3"] and report["counts"][
        "failed"
    ] == 2
    none = project.run(*EVAL, "--remote", "--errored")
    assert none.code == 2 and "no case is left" in none.err


def test_a_run_that_is_taken_up_is_read_once(project: Desk, site: Site) -> None:
    """What is on record counts once, in the cases and in what they cost."""
    first = ordered(site)
    site.until_ordered(first)
    first.kill()
    first.communicate()
    site.runner("--drain").communicate(timeout=60)
    again = ordered(site)
    out, err = again.communicate(timeout=120)
    assert again.returncode == 1, err
    assert "resuming run" in err and "6 of 6 cases done" in err
    report = json.loads(out)
    assert report["usage"]["target_calls"] == 6 and len(site.runs()) == 1


def test_a_rate_that_is_waited_for_is_named(project: Desk, site: Site) -> None:
    """One run of the target a minute: the runner says whose rate its cases wait for, for as long as
    they do.
    """
    table = '[targets.slow]\nprovider = "http"\nbase_url = "http://127.0.0.1:9/"\naccount = "team"\nrequests_per_minute = 1\n'
    project.file("honestone.toml", table)
    watching = site.order("--target", "slow", "--sandbox", "none")
    site.until_ordered(watching)
    site.runner("--grace", "0")
    assert until(
        lambda: any(
            one["waits"] == ["team"] for one in json.loads(project.run("runners", "--json").out)
        )
    )
    assert project.run("run", "cancel", str(site.runs()[0]["id"])).code == 0
    _, err = watching.communicate(timeout=60)
    assert watching.returncode == 130, err


@pytest.mark.parametrize("has_room", [True, False])
def test_what_a_limit_refused_is_asked_when_the_run_is_taken_up(
    project: Desk, site: Site, url: str, server: Server, has_room: bool
) -> None:
    """One case is judged, of one the second judge is refused, and one is passed by; then the
    coordinator is killed. Whether calls were given back since, the same command comes to an end,
    and the report counts what both made.
    """
    cases = "".join(
        f"  - {{id: {id}, input: an apple {id}, rubric: [it says apple]}}\n" for id in "abc"
    )
    project.file("suite.yaml", f"suite: 1\ncases:\n{cases}")
    judges = [project.judge(name) for name in ("one", "two")]
    words = ("--max-calls", "3", *(word for judge in judges for word in ("--judge", judge.spec)))
    first = ordered(site, *words)
    site.until_ordered(first)
    first.kill()
    first.communicate()
    drained = site.runner("--drain", "--concurrency", "1")
    _, err = drained.communicate(timeout=120)
    assert drained.returncode == 0 and sum(judge.calls for judge in judges) == 3, err
    if has_room:
        server.sql("update honestone.grants set calls = 0", url.rpartition("/")[2])
    again = ordered(site, *words)
    assert "1 of 3 cases done" in site.heard(again, "resuming run")
    site.runner("--concurrency", "1")
    out, err = again.communicate(timeout=120)
    report = json.loads(out)
    if has_room:
        assert report["counts"]["skipped"] == report["counts"]["inconclusive"] == 0, err
    else:
        assert again.returncode == 3 and report["counts"]["skipped"] == 2, err
    shown = json.loads(project.run("show", "last", "--json").out)
    assert bare(shown["cases"]) == bare(report["cases"]) and shown["usage"] == report["usage"]
    assert report["usage"]["judge_calls"] == sum(judge.calls for judge in judges)


def test_a_case_that_cannot_be_judged_does_not_keep_a_run_open(project: Desk, site: Site) -> None:
    """Its output is on record, and judging it ends in an error each time: here because the target
    changes the judge's program. After three tries it has no answers, with the reason, and the
    target ran once.
    """
    judge = project.judge()
    project.file(
        "suite.yaml", "suite: 1\ncases:\n  - {id: a, input: an apple, rubric: [it says apple]}\n"
    )
    project.file("tools/target.sh", f"cat; echo '# changed' >> {judge.path.name}\n")
    watching = ordered(site, "--judge", judge.spec)
    site.until_ordered(watching)
    one = site.runner("--drain")
    out, err = watching.communicate(timeout=120)
    _, said = one.communicate(timeout=60)
    report = json.loads(out)
    assert watching.returncode == 3 and report["counts"]["inconclusive"] == 1, err
    assert "it could not be run in 3 tries: CouldNotJudge: what judges changed" in json.dumps(
        report["cases"][0]
    ), out
    assert said.count("ended in an error") == 3 and report["usage"]["target_calls"] == 1
