"""`eval SUITE --watch`: what is run again, what is asked again, and what is printed."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .desk import HONESTONE, Desk
from .test_suites import case, suite, target

pytestmark = pytest.mark.slow

PATIENCE = 60
TWO = (case("one"), case("two", wanted="pear"))


class Watching:
    """The command in a process of its own, without a terminal."""

    def __init__(self, desk: Desk, *args: str) -> None:
        self._out, self._err = desk.logs / "out", desk.logs / "err"
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [HONESTONE, "eval", "suite.yaml", "--watch", *args],
                cwd=desk.folder,
                env=desk.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    @property
    def reports(self) -> list[dict[str, Any]]:
        return [
            json.loads(line) for line in self.out.splitlines(keepends=True) if line.endswith("\n")
        ]

    def until(self, what: Callable[[], object]) -> None:
        """What a person would wait for; the limit is far beyond what it takes."""
        end = time.monotonic() + PATIENCE
        while not what():
            assert self.process.poll() is None, f"it ended: {self.err}"
            assert time.monotonic() < end, f"it did not come: {self.out}\n{self.err}"
            time.sleep(0.05)

    def report(self, number: int) -> dict[str, Any]:
        self.until(lambda: len(self.reports) >= number)
        return self.reports[number - 1]

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@pytest.fixture
def watching(desk: Desk) -> Iterator[Callable[..., Watching]]:
    begun: list[Watching] = []

    def begin(*args: str) -> Watching:
        begun.append(Watching(desk, *args))
        return begun[-1]

    yield begin
    for one in begun:
        one.process.kill()
        one.process.wait(PATIENCE)


def turned(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["id"], one["from"], one["to"]) for one in report["turned"]]


def test_only_what_changed_is_asked(desk: Desk, watching: Callable[..., Watching]) -> None:
    """A check: nothing. An input: that case. The artifact or the program: all. Every report is a
    run of the store.
    """
    desk.file("prompt.md", "plain")
    program = target(desk, body="print(text, open(os.environ['HONESTONE_ARTIFACT']).read())")
    head = f"artifact: prompt.md\ntarget: '{program.spec}'\n"
    suite(desk, *TWO, head=head)
    watch = watching("--json")
    first = watch.report(1)
    assert (first["turned"], program.calls) == ([], 2)
    suite(desk, TWO[0], case("two"), head=head)
    second = watch.report(2)
    assert (turned(second), program.calls) == ([("two", "failed", "passed")], 2)
    assert (second["usage"]["target_calls"], second["usage"]["cached_outputs"]) == (0, 2)
    suite(desk, TWO[0], case("two").replace("two apple", "second pear"), head=head)
    assert (turned(watch.report(3)), program.lines[2:]) == (
        [("two", "passed", "failed")],
        ["second"],
    )
    desk.file("prompt.md", "an apple")
    assert (turned(watch.report(4)), program.calls) == ([("two", "failed", "passed")], 5)
    program.path.write_text(program.path.read_text() + "# newer\n")
    assert (turned(watch.report(5)), program.calls) == ([], 7)
    assert watch.end() == 130
    assert "Traceback" not in watch.err
    runs = {run["id"] for run in desk.run("runs", "--json").json}
    assert {report["run"] for report in watch.reports} == runs
    assert (
        desk.run("eval", "suite.yaml", "--json").json["usage"]["target_calls"] == 2
    )  # it is not declared repeatable


def test_included_files_are_watched_and_a_broken_one_is_waited_for(
    desk: Desk, watching: Callable[..., Watching]
) -> None:
    """The place is reported once; what was asked before is still known."""
    program, judge = target(desk), desk.judge()
    (desk.folder / "parts").mkdir()
    good = "rubric: 1\ncriteria: [{id: a, requirement: says apple}]\n"
    desk.file("parts/rubric.yaml", good)
    cases = [
        f"{{id: {id}, input: {id} apple, rubric: {{file: parts/rubric.yaml}}}}"
        for id in ("one", "two")
    ]
    suite(desk, *cases, head=f"target: '{program.spec}'\n")
    watch = watching("--json", "--judge", judge.spec)
    assert watch.report(1)["verdict"] == "pass"
    desk.file("parts/rubric.yaml", "criteria: [\n")
    watch.until(lambda: "error: " in watch.err)
    watch.until(lambda: "parts/rubric.yaml:" in watch.err)
    desk.file("parts/rubric.yaml", good.replace("apple", "pear"))
    assert turned(watch.report(2)) == [(id, "passed", "failed") for id in ("one", "two")]
    assert (program.calls, judge.calls, watch.err.count("error: ")) == (2, 4, 1), watch.err


def test_it_may_begin_with_a_suite_that_is_broken(
    desk: Desk, watching: Callable[..., Watching]
) -> None:
    """Or that names a file which is not there yet."""
    program = target(desk)
    suite(
        desk,
        "{id: one, input: {file: in.txt}, checks: [{contains: apple}]}",
        head=f"target: '{program.spec}'\n",
    )
    watch = watching("--json")
    watch.until(lambda: "in.txt" in watch.err)
    desk.file("in.txt", "an apple")
    assert watch.report(1)["verdict"] == "pass"


def test_failed_and_case_choose_what_is_watched(
    desk: Desk, watching: Callable[..., Watching]
) -> None:
    """The case that failed before stays when it passes; an error of a target is asked again."""
    program = target(desk, body="if text.startswith('one'):\n    sys.exit(3)\nprint(text)")
    head = f"target: '{program.spec}'\n"
    suite(desk, *TWO, head=head)
    desk.run("eval", "suite.yaml")
    watch = watching("--json", "--failed")
    assert [one["id"] for one in watch.report(1)["cases"]] == ["two"]
    suite(desk, TWO[0], case("two"), head=head)
    assert turned(watch.report(2)) == [("two", "failed", "passed")]
    suite(desk, *TWO, head=head)
    assert turned(watch.report(3)) == [("two", "passed", "failed")]
    watch.end()
    other, before = watching("--json", "--case", "one"), program.calls
    assert [one["status"] for one in other.report(1)["cases"]] == ["target-error"]
    suite(desk, case("one", wanted="pear"), TWO[1], head=head)
    other.report(2)
    assert program.calls == before + 2


def test_text_says_what_turned(desk: Desk, watching: Callable[..., Watching]) -> None:
    """Below the report; what happens is on stderr."""
    program = target(desk)
    suite(desk, *TWO, head=f"target: '{program.spec}'\n")
    watch = watching()
    watch.until(lambda: "Ctrl-C ends it" in watch.err)
    suite(desk, TWO[0], case("two"), head=f"target: '{program.spec}'\n")
    watch.until(lambda: "since the run before: 1 fixed\n" in watch.out)
    watch.until(lambda: watch.out.endswith("\n  two  failed → passed\n"))
    assert "changed: suite.yaml" in watch.err
    assert watch.end() == 130


def test_outputs_on_record_and_tables_are_watched_too(
    desk: Desk, watching: Callable[..., Watching]
) -> None:
    """A record that changes is judged again; in a table the column is named."""
    suite(desk, *TWO)
    desk.file("rec.jsonl", '{"id": "one", "output": "apple"}\n{"id": "two", "output": "apple"}\n')
    watch = watching("--json", "--outputs", "rec.jsonl")
    watch.report(1)
    desk.file("rec.jsonl", '{"id": "one", "output": "apple"}\n{"id": "two", "output": "pear"}\n')
    assert turned(watch.report(2)) == [("two", "failed", "passed")]
    watch.end()
    programs = [target(desk, name) for name in ("a", "b")]
    table = watching("--json", *(word for one in programs for word in ("--target", one.spec)))
    table.report(1)
    target(desk, "b", body="print('pear')")
    assert {(one["id"], one["to"]) for one in table.report(2)["turned"]} == {
        ("one", "failed"),
        ("two", "passed"),
    }
    assert len({one["column"] for one in table.reports[1]["turned"]}) == 1
    assert [one.calls for one in programs] == [2, 4]


def test_it_is_for_suites(desk: Desk) -> None:
    """An artifact with a rubric is refused."""
    desk.file("r.yaml", "criteria: [{id: a, check: {contains: apple}}]\n")
    result = desk.run("eval", str(Path("r.yaml")), "--rubric", "r.yaml", "--watch")
    assert result.is_refusal
    assert "--watch is for suites" in result.err
