"""A runner on another machine: what is not the same there, or missing, is refused by name; nothing
is spent, and others do the work.
"""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

import honestone

from .server import Server
from .site import PATH, Site

SUITE = """\
suite: 1
cases:
  - {id: a, input: an apple, rubric: [it says apple], checks: [{command: test -s note.txt}], workspace: {copy: fixture}}
  - {id: b, input: a pear, rubric: [it says apple], checks: [{command: test -s note.txt}], workspace: {copy: fixture}}
"""


@pytest.fixture
def project(site: Site) -> Site:
    """A suite with a judge, a target, a check and a fixture."""
    site.desk.file("honestone.toml", "")
    site.desk.file("suite.yaml", SUITE)
    site.desk.file("target.sh", "cat\n")
    site.desk.file("fixture/note.txt", "zebra\n")
    return site


def options(judge: str) -> tuple[str, ...]:
    return ("--target", "cmd:sh target.sh", "--judge", judge)


def finished(project: Site, ordered: subprocess.Popen[str], **variables: str) -> str:
    """A runner that has what is needed does the run; what the coordinator said."""
    project.runner(**variables)
    out, err = ordered.communicate(timeout=120)
    assert ordered.returncode in (0, 1, 3), err
    assert len(json.loads(out)["cases"]) == 2
    return err


@pytest.mark.parametrize("changed", ["a package", "a plugin"])
def test_other_code_is_refused(project: Site, changed: str) -> None:
    """A file of the package, or a package that adds to it, differs; with another runner the run
    ends.
    """
    judge = project.desk.judge()
    other = project.folder / "other"
    if changed == "a package":
        shutil.copytree(
            Path(honestone.__path__[0]),
            other / "honestone",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        (other / "honestone" / "core" / "numbers.py").open("a").write("\n")
    else:
        about = other / "shouting-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text("[honestone.checks]\nshouts = shouting:SHOUTS\n")
    ordered = project.order(*options(judge.spec))
    project.until_ordered(ordered)
    said = project.refused(PYTHONPATH=str(other))
    assert (
        "its code is not that of this runner" in said
        and "though the version is the same" in said
        and "install the same version" in said
    )
    assert judge.calls == 0
    finished(project, ordered)
    assert judge.calls == 2


def test_without_a_variable_or_a_program_it_is_refused(project: Site) -> None:
    """The coordinator has neither; the judge is the same one there and where both are."""
    project.desk.file(
        "honestone.toml",
        '[judges.mine]\nprovider = "cli"\ncommand = ["mytool"]\napi_key_env = "MY_KEY"\n',
    )
    tools, calls = project.folder / "tools", project.folder / "calls"
    tools.mkdir()
    program = tools / "mytool"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\necho called >> {calls}\necho no idea\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert project.desk.run("trust").code == 0
    ordered = project.order(*options("mine"), "--pass-env", "TOKEN")
    project.until_ordered(ordered)
    said = project.refused(TOKEN="t")
    assert "the judge `mine` cannot work here: the program mytool is not installed" in said
    assert "the judge `mine` cannot work here: MY_KEY is not set" in said
    assert "install mytool and export MY_KEY=..., then start the runner again" in said
    said = project.refused(PATH=f"{tools}:{PATH}", MY_KEY="sk-mark-4711")
    assert (
        "the target `cmd:sh target.sh` cannot work here: TOKEN is not set" in said
        and "sk-mark" not in said
    )
    assert not calls.exists()
    err = finished(project, ordered, PATH=f"{tools}:{PATH}", MY_KEY="sk-mark-4711", TOKEN="t")
    assert calls.exists() and "sk-mark" not in err


@pytest.mark.parametrize("table", ["judges", "targets"])
def test_a_cli_of_the_settings_that_travels_is_the_same_one_there(
    project: Site, table: str
) -> None:
    """Its program is a file of the project, named from the folder that is worked in; runners are in
    other folders.
    """
    words = f'[{table}.mine]\nprovider = "cli"\ncommand = ["./tools/mine", "rules.txt"]\n'
    project.desk.file("honestone.toml", words)
    program = project.desk.file("tools/mine", "#!/bin/sh\ncat > /dev/null\necho an apple\n")
    program.chmod(0o755)
    project.desk.file("rules.txt", "be brief\n")
    assert project.desk.run("trust").code == 0
    assert "a command of your settings" in project.desk.run("doctor").out or table == "targets"
    judge = project.desk.judge()
    given = options("mine") if table == "judges" else ("--target", "mine", "--judge", judge.spec)
    finished(project, project.order(*given))


def test_another_program_or_check_is_refused(project: Site) -> None:
    """Programs outside of the folder that travels belong to each machine; one that differs is
    named.
    """
    tools = project.folder / "tools"
    tools.mkdir()
    judge = project.desk.judge()
    program, check = tools / "judge.py", tools / "check.sh"
    judge.path.rename(program)
    check.write_text("test -s note.txt\n")
    project.desk.file("suite.yaml", SUITE.replace("test -s note.txt", f"sh {check}"))
    ordered = project.order(
        *options(judge.spec.replace("judge.py", str(program))), "--sandbox", "none"
    )
    project.until_ordered(ordered)
    same = program.read_text(), check.read_text()
    program.write_text(f"{same[0]}\n# another\n")
    said = project.refused()
    assert "is another one" in said and f"the file `{program}` is another one" in said
    program.write_text(same[0])
    check.write_text("true\n")
    said = project.refused()
    assert (
        f"the file `{check}` is another one" in said
        and str(program) not in said.partition("refused run")[2]
    )
    assert judge.calls == 0
    check.write_text(same[1])
    finished(project, ordered)
    assert judge.calls == 2


def test_another_sandbox_is_refused(project: Site) -> None:
    """Here by a program that is called bwrap, which another machine has."""
    if shutil.which("bwrap", path=PATH):
        pytest.skip("bubblewrap is installed here, so that both sides would use it")
    tools = project.folder / "tools"
    tools.mkdir()
    (tools / "bwrap").write_text(
        '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
    )
    (tools / "bwrap").chmod(0o755)
    judge = project.desk.judge()
    ordered = project.order(*options(judge.spec))
    project.until_ordered(ordered)
    said = project.refused(PATH=f"{tools}:{PATH}")
    assert "the sandbox of its checks is bwrap here, and was" in said
    assert judge.calls == 0
    finished(project, ordered)


def test_another_fixture_is_refused(project: Site, server: Server) -> None:
    """Files travel by digest: content that is not what was ordered, or is gone, is named and not
    used.
    """
    judge = project.desk.judge()
    ordered = project.order(*options(judge.spec))
    project.until_ordered(ordered)
    database = project.desk.extra["HONESTONE_STORE"].rpartition("/")[2]
    server.sql(
        "update honestone.blobs set data = '\\x6c696f6e' where data = '\\x7a656272610a'", database
    )
    said = project.refused()
    assert "`fixture/note.txt` is not what was ordered" in said and "order the run again" in said
    assert judge.calls == 0
    server.sql(
        "update honestone.blobs set data = '\\x7a656272610a' where data = '\\x6c696f6e'", database
    )
    finished(project, ordered)


def test_the_coordinator_says_that_no_one_is_left(project: Site) -> None:
    """By name and with what to do, once all that are at work refuse; the run ends when one comes
    that takes it.
    """
    judge = project.desk.judge()
    ordered = project.order(*options(judge.spec), "--pass-env", "TOKEN")
    project.until_ordered(ordered)
    project.runner()
    said = project.heard(ordered, "refuses run")
    assert "TOKEN is not set" in said and "export TOKEN=..." in said
    assert judge.calls == 0
    finished(project, ordered, TOKEN="t")
    assert judge.calls == 2


def test_a_variable_that_only_a_check_is_given_is_needed(project: Site) -> None:
    """`--pass-env` names it; no judge is asked, and the target is a server."""
    project.desk.file(
        "suite.yaml",
        'suite: 1\ncases:\n  - {id: a, input: x, checks: [{command: test -n "$TOKEN"}]}\n',
    )
    ordered = project.order("--target", "http://127.0.0.1:9/", "--pass-env", "TOKEN")
    project.until_ordered(ordered)
    said = project.refused()
    assert (
        "a check cannot work here: TOKEN is not set; export TOKEN=..., then start the runner again"
        in said
    )
