"""A runner on another machine: what is not the same there, or missing, is refused by name; nothing is spent, and others do the work."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.cli.desk import HONESTONE, Desk

import honestone

from .server import Server

SUITE = """\
suite: 1
cases:
  - {id: a, input: an apple, rubric: [it says apple], checks: [{command: test -s note.txt}], workspace: {copy: fixture}}
  - {id: b, input: a pear, rubric: [it says apple], checks: [{command: test -s note.txt}], workspace: {copy: fixture}}
"""
PATH = "/usr/bin:/bin"


@dataclass
class Site:
    """A desk that orders, and runners with variables of their own in empty folders."""

    desk: Desk
    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def order(self, *more: str, **variables: str) -> subprocess.Popen[str]:
        return self._start(self.desk.folder, "eval", "suite.yaml", *more, "--remote", "--json", **variables)

    def runner(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        place = self.folder / f"runner{len(self.started)}"
        place.mkdir()
        return self._start(place, "runner", *words, HOME=str(place), **variables)

    def refused(self, **variables: str) -> str:
        """What a runner that is to drain says while it refuses all there is."""
        one = self.runner("--drain", **variables)
        _, err = one.communicate(timeout=120)
        (run,) = json.loads(self.desk.run("runs", "--json").out)
        assert one.returncode == 2 and f"refused run {run['id']}: " in err and "Traceback" not in err, err
        return err

    def until_ordered(self, ordered: subprocess.Popen[str]) -> None:
        """The coordinator says that there is no runner once the run and its cases are in the store."""
        self.heard(ordered, "no runner is at work")

    def heard(self, process: subprocess.Popen[str], words: str) -> str:
        """What it says on stderr, up to the line with these words."""
        assert process.stderr is not None
        said = ""
        while words not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        return said

    def _start(self, cwd: Path, *words: str, **variables: str) -> subprocess.Popen[str]:
        env = {"PATH": PATH, "HOME": str(self.desk.home), "HONESTONE_HEARTBEAT": "1", **self.desk.extra, **variables}
        made = subprocess.Popen(
            [HONESTONE, *words], cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.started.append(made)
        return made


@pytest.fixture
def site(desk: Desk, tmp_path: Path) -> Iterator[Site]:
    """A suite with a judge, a target, a check and a fixture."""
    desk.file("honestone.toml", "")
    desk.file("suite.yaml", SUITE)
    desk.file("target.sh", "cat\n")
    desk.file("fixture/note.txt", "zebra\n")
    made = Site(desk, tmp_path)
    yield made
    for one in made.started:
        one.kill()
        one.communicate()


def options(judge: str) -> tuple[str, ...]:
    return ("--target", "cmd:sh target.sh", "--judge", judge)


def finished(site: Site, ordered: subprocess.Popen[str], **variables: str) -> str:
    """A runner that has what is needed does the run; what the coordinator said."""
    site.runner(**variables)
    out, err = ordered.communicate(timeout=120)
    assert ordered.returncode in (1, 3), err
    assert len(json.loads(out)["cases"]) == 2
    return err


@pytest.mark.parametrize("changed", ["a package", "a plugin"])
def test_other_code_is_refused(site: Site, changed: str) -> None:
    """A file of the package, or a package that adds to it, differs; with another runner the run ends."""
    judge = site.desk.judge()
    other = site.folder / "other"
    if changed == "a package":
        shutil.copytree(Path(honestone.__path__[0]), other / "honestone", ignore=shutil.ignore_patterns("__pycache__"))
        (other / "honestone" / "core" / "numbers.py").open("a").write("\n")
    else:
        about = other / "shouting-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text("[honestone.checks]\nshouts = shouting:SHOUTS\n")
    ordered = site.order(*options(judge.spec))
    site.until_ordered(ordered)
    said = site.refused(PYTHONPATH=str(other))
    assert "its code is another one" in said and "install the same version" in said
    assert judge.calls == 0
    finished(site, ordered)
    assert judge.calls == 2


def test_without_a_variable_or_a_program_it_is_refused(site: Site) -> None:
    """The coordinator has neither; the judge is the same one there and where both are."""
    site.desk.file("honestone.toml", '[judges.mine]\nprovider = "cli"\ncommand = ["mytool"]\napi_key_env = "MY_KEY"\n')
    tools, calls = site.folder / "tools", site.folder / "calls"
    tools.mkdir()
    program = tools / "mytool"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\necho called >> {calls}\necho no idea\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert site.desk.run("trust").code == 0
    ordered = site.order(*options("mine"), "--pass-env", "TOKEN")
    site.until_ordered(ordered)
    said = site.refused(TOKEN="t")
    assert "the judge `mine` cannot work here: the program mytool is not installed" in said
    assert "the judge `mine` cannot work here: MY_KEY is not set" in said
    assert "install mytool and export MY_KEY=..., then start the runner again" in said
    said = site.refused(PATH=f"{tools}:{PATH}", MY_KEY="sk-mark-4711")
    assert "the target `cmd:sh target.sh` cannot work here: TOKEN is not set" in said and "sk-mark" not in said
    assert not calls.exists()
    err = finished(site, ordered, PATH=f"{tools}:{PATH}", MY_KEY="sk-mark-4711", TOKEN="t")
    assert calls.exists() and "sk-mark" not in err


def test_another_program_or_check_is_refused(site: Site) -> None:
    """Programs outside of the folder that travels belong to each machine; one that differs is named."""
    tools = site.folder / "tools"
    tools.mkdir()
    judge = site.desk.judge()
    program, check = tools / "judge.py", tools / "check.sh"
    judge.path.rename(program)
    check.write_text("test -s note.txt\n")
    site.desk.file("suite.yaml", SUITE.replace("test -s note.txt", f"sh {check}"))
    ordered = site.order(*options(judge.spec.replace("judge.py", str(program))), "--sandbox", "none")
    site.until_ordered(ordered)
    same = program.read_text(), check.read_text()
    program.write_text(f"{same[0]}\n# another\n")
    said = site.refused()
    assert "is another one" in said and f"the file `{program}` is another one" in said
    program.write_text(same[0])
    check.write_text("true\n")
    said = site.refused()
    assert f"the file `{check}` is another one" in said and str(program) not in said.partition("refused run")[2]
    assert judge.calls == 0
    check.write_text(same[1])
    finished(site, ordered)
    assert judge.calls == 2


def test_another_sandbox_is_refused(site: Site) -> None:
    """Here by a program that is called bwrap, which another machine has."""
    if shutil.which("bwrap", path=PATH):
        pytest.skip("bubblewrap is installed here, so that both sides would use it")
    tools = site.folder / "tools"
    tools.mkdir()
    (tools / "bwrap").write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    (tools / "bwrap").chmod(0o755)
    judge = site.desk.judge()
    ordered = site.order(*options(judge.spec))
    site.until_ordered(ordered)
    said = site.refused(PATH=f"{tools}:{PATH}")
    assert "the sandbox of its checks is bwrap here, and was" in said
    assert judge.calls == 0
    finished(site, ordered)


def test_another_fixture_is_refused(site: Site, server: Server) -> None:
    """Files travel by digest: content that is not what was ordered, or is gone, is named and not used."""
    judge = site.desk.judge()
    ordered = site.order(*options(judge.spec))
    site.until_ordered(ordered)
    database = site.desk.extra["HONESTONE_STORE"].rpartition("/")[2]
    server.sql("update honestone.blobs set data = '\\x6c696f6e' where data = '\\x7a656272610a'", database)
    said = site.refused()
    assert "`fixture/note.txt` is not what was ordered" in said and "order the run again" in said
    assert judge.calls == 0
    server.sql("update honestone.blobs set data = '\\x7a656272610a' where data = '\\x6c696f6e'", database)
    finished(site, ordered)


def test_the_coordinator_says_that_no_one_is_left(site: Site) -> None:
    """By name and with what to do, once all that are at work refuse; the run ends when one comes that takes it."""
    judge = site.desk.judge()
    ordered = site.order(*options(judge.spec), "--pass-env", "TOKEN")
    site.until_ordered(ordered)
    site.runner()
    said = site.heard(ordered, "refuses run")
    assert "TOKEN is not set" in said and "export TOKEN=..." in said
    assert judge.calls == 0
    finished(site, ordered, TOKEN="t")
    assert judge.calls == 2
