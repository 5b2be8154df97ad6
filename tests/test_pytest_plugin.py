"""The pytest plugin as its user meets it: suites as tests, one run for all, and outputs held
against rubrics.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

# Each test starts pytest, which starts programs.
pytestmark = pytest.mark.slow

TARGET = """
import sys
text = sys.stdin.read()
with open("asked", "a") as log:
    log.write(text + "\\n")
if text == "k3":
    print("THEOUTPUT \\x1b[31m")
elif text == "k4":
    sys.exit("TARGETBROKE")
else:
    print("good")
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A suite of six cases: one fails, one cannot be run, one is skipped."""
    (tmp_path / "t.py").write_text(TARGET)
    cases = "".join(
        f"  - {{id: k{n}, input: k{n}, checks: [{{contains: good}}]{', skip: later' if n == 5 else ''}}}\n"
        for n in range(6)
    )
    (tmp_path / "suite.yaml").write_text(
        f"suite: 1\ntarget: 'cmd:{sys.executable} t.py'\ncases:\n{cases}"
    )
    return tmp_path


def run(
    desk: Path, *args: str, command: Sequence[str] = ("pytest", "-p", "no:cacheprovider")
) -> Any:
    kept = ("PATH", "LANG", "VIRTUAL_ENV")
    env = {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "HOME": str(desk),
        "NO_COLOR": "1",
    }
    return subprocess.run(
        [sys.executable, "-m", *command, *args],
        cwd=desk,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def honestone(desk: Path, *args: str) -> Any:
    return json.loads(run(desk, *args, command=("honestone",)).stdout)


def asked(desk: Path) -> list[str]:
    return sorted((desk / "asked").read_text().split())


@pytest.mark.parametrize("more", [(), ("-n", "2"), ("-n", "2", "--dist", "loadfile")])
def test_a_suite_is_one_run(desk: Path, more: tuple[str, ...]) -> None:
    """Each case is asked once, also with xdist, and the run is one like any other."""
    done = run(desk, "suite.yaml", *more)
    assert "1 failed, 3 passed, 1 skipped, 1 error" in done.stdout, done.stdout
    assert asked(desk) == ["k0", "k1", "k2", "k3", "k4"] and done.returncode == 1
    runs = honestone(desk, "runs", "--json")
    assert len(runs["runs"] if isinstance(runs, dict) else runs) == 1
    shown = honestone(desk, "show", "last", "--json")
    assert [case["id"] for case in shown["cases"]] == [f"k{n}" for n in range(6)]
    assert shown["suite"]["path"] == "suite.yaml"
    again = honestone(desk, "eval", "suite.yaml", "--failed", "--json")
    assert [case["id"] for case in again["cases"]] == ["k3"]


def test_code_of_another_tools_file_runs_with_permission_alone(desk: Path) -> None:
    """Without it the file is refused with the line that gives it, and nothing of it runs."""
    (desk / "look.py").write_text(
        "open('ran', 'w').close()\ndef get_assert(output, context):\n    return 'fine' in output\n"
    )
    (desk / "config.yaml").write_text(
        "description: mine\nprompts: ['{{q}}']\nproviders: [echo]\ntests:\n"
        "  - vars: {q: all is fine}\n    assert: [{type: python, value: 'file://look.py'}]\n"
    )
    refused = run(desk, "config.yaml")
    assert refused.returncode == 2 and "needs your permission" in refused.stdout
    assert "honestone trust config.yaml" in refused.stdout and not (desk / "ran").exists()
    assert run(desk, "trust", "config.yaml", command=("honestone",)).returncode == 0
    allowed = run(desk, "config.yaml")
    assert (
        "needs your permission" not in allowed.stdout
        and "1 item" in run(desk, "--collect-only", "config.yaml").stdout
    )


@pytest.mark.parametrize("more", [(), ("-n", "2")])
def test_a_failure_is_in_the_users_words(desk: Path, more: tuple[str, ...]) -> None:
    """Input, output and the miss, once, and a reason in the summary; nothing of it acts on a
    terminal.
    """
    text, _, summary = run(desk, "suite.yaml", *more).stdout.partition("short test summary")
    assert (
        re.search(r"input +k3", text)
        and re.search(r"output +THEOUTPUT", text)
        and "\x1b" not in text
    )
    assert len(re.findall(r"contains 'good' +not found", text)) == 1
    assert "floor" not in text and "Traceback" not in text and "pytest_plugin" not in text
    assert "FAILED suite.yaml::k3 - contains 'good': not found" in summary
    assert re.search(r"ERROR suite.yaml::k4 - .*TARGETBROKE", summary)


@pytest.mark.parametrize(
    ("choice", "cases"),
    [
        (("suite.yaml::k1",), ["k1"]),
        (("suite.yaml", "-k", "k0 or k2"), ["k0", "k2"]),
        (("suite.yaml", "--co"), []),
    ],
)
def test_only_what_is_chosen_runs(desk: Path, choice: tuple[str, ...], cases: list[str]) -> None:
    """By name or by -k; listing runs nothing."""
    assert run(desk, *choice).returncode == 0
    assert (asked(desk) if cases else (desk / "asked").exists()) == (cases or False)


@pytest.mark.parametrize("more", [(), ("-n", "2")])
def test_what_is_wrong_with_a_call_is_an_error_of_every_case(
    desk: Path, more: tuple[str, ...]
) -> None:
    """With its words, and nothing is asked."""
    done = run(desk, "suite.yaml", "--honestone-target", "cdm:cat", *more)
    assert (
        "6 errors" in done.stdout
        and "unknown target" in done.stdout
        and not (desk / "asked").exists()
    )


def test_suites_are_found_by_settings(desk: Path) -> None:
    """`honestone_suites`; two suites are two runs."""
    (desk / "other.yaml").write_text((desk / "suite.yaml").read_text())
    (desk / "pytest.ini").write_text("[pytest]\nhonestone_suites = *.yaml\n")
    assert "2 failed, 6 passed, 2 skipped, 2 errors" in run(desk).stdout
    assert len(asked(desk)) == 10


@pytest.mark.parametrize("more", [(), ("-n", "2")])
def test_a_table_is_a_test_a_case(desk: Path, more: tuple[str, ...]) -> None:
    """It fails where a column fails, and names the column."""
    text = (desk / "suite.yaml").read_text()
    both = f"target: ['cmd:{sys.executable} t.py', 'cmd:echo good']"
    (desk / "suite.yaml").write_text(re.sub("target: .*", both, text))
    done = run(desk, "suite.yaml", *more)
    assert "1 failed, 3 passed, 1 skipped, 1 error" in done.stdout, done.stdout
    text, _, summary = done.stdout.partition("short test summary")
    assert "FAILED suite.yaml::k3 - contains 'good': not found (cmd:" in summary
    assert re.search(r"(?m)^cmd:.* t.py\ninput +k3$", text) and "cmd:echo" not in text
    assert len(asked(desk)) == 5


@pytest.mark.parametrize(("most", "end"), [(None, "3 passed"), (2, "2 passed, 1 error")])
@pytest.mark.parametrize("more", [(), ("-n", "2")])
def test_a_suite_under_sure_has_its_gate(
    most: int | None, end: str, more: tuple[str, ...], desk: Path
) -> None:
    """Each case more likely passes than not: whether that is sure enough is a test of its own, and ends
    as `honestone eval` does.
    """
    (desk / "j.py").write_text(
        "count = 0\n"
        "def judge(request):\n"
        "    global count\n"
        "    count += 1\n"
        "    answer = {'met': True, 'suggestion': str(count)}\n"
        "    return {'criteria': {one['id']: answer for one in request['criteria']}}\n"
    )
    limit, bar = ("", 90) if most is None else (f"max_looks: {most}\n", 99.9)
    (desk / "suite.yaml").write_text(
        f"suite: 1\nsure: {bar}\n{limit}target: 'cmd:cat'\nrubric: [It holds]\n"
        "cases: [{id: a, input: one}, {id: b, input: two}]\n"
    )
    done = run(desk, "suite.yaml", "--honestone-judge", "python:j.py:judge", *more)
    assert end in done.stdout and "traceback" not in done.stdout.lower(), done.stdout
    shown = honestone(desk, "show", "last", "--json")
    assert done.returncode == (0 if shown["verdict"] == "pass" else 1)
    if most is not None:
        assert "ERROR suite.yaml::gate - UNDECIDED: suite.yaml; " in done.stdout
        assert " sure that at least 2 of 2 cases pass, asked: 99.9%" in " ".join(
            done.stdout.split()
        )


def test_a_broken_suite_is_said(desk: Path) -> None:
    """At collection, with the place."""
    (desk / "suite.yaml").write_text("suite: 1\ncases: [{id: a, input: b, cheks: []}]\n")
    done = run(desk, "suite.yaml")
    assert "suite.yaml:2:" in done.stdout and "cheks" in done.stdout and done.returncode == 2


RUBRIC = "threshold: 100\ncriteria:\n  - {id: b, requirement: Names the beta, check: {contains: [beta]}}\n"
JUDGED = "criteria: [{id: b, requirement: Names the beta}]\n"


def test_an_assertion_fails_in_the_callers_line(desk: Path) -> None:
    """The same words, and no line of ours; from the fixture and from the function."""
    (desk / "rubric.yaml").write_text(RUBRIC)
    (desk / "judged.yaml").write_text(JUDGED)
    (desk / "test_a.py").write_text(
        textwrap.dedent(
            """
            import honestone as H
            from pathlib import Path
            def test_fixture(honestone):
                honestone.assert_passes('THEOUTPUT alpha', 'rubric.yaml', input='THEINPUT')  # MYLINE
            def test_function():
                H.assert_passes('THEOUTPUT alpha', 'rubric.yaml')  # MYLINE
            def test_open(honestone):
                honestone.assert_passes('THEOUTPUT', 'judged.yaml', judge=lambda request: 1 / 0)  # MYLINE
            def test_name(honestone):
                honestone.assert_passes('rubric.yaml', 'rubric.yaml')  # MYLINE
            def test_fine(honestone):
                honestone.assert_passes('beta', 'rubric.yaml')
                honestone.assert_passes(H.Text('rubric.yaml'), {'criteria': [{'id': 'a', 'check': {'contains': 'rubric'}}]})
                assert H.assert_passes('beta', 'rubric.yaml')['verdict'] == 'pass'
                honestone.assert_passes('word', 'judged.yaml', judge=lambda request: True)
            """
        )
    )
    done = run(desk, "test_a.py")
    text, _, summary = done.stdout.partition("short test summary")
    assert "4 failed, 1 passed" in summary and text.count("# MYLINE") >= 4
    assert not re.search(r"(api|pytest_plugin|evaluate|given)\.py:\d+", text)
    errors = "\n".join(line for line in text.splitlines() if line.startswith("E "))
    assert errors.count("THEOUTPUT alpha") == 2 and errors.count("THEINPUT") == 1
    assert (
        len(re.findall(r"✗ Names the beta +not found", errors)) == 2
        and "below its floor" not in errors
    )
    assert errors.count("did not pass: criterion '") == 2
    assert "ZeroDivisionError" in errors and "names a file" in errors.replace(
        "has this name", "names a file"
    )
    assert re.search(
        r"FAILED test_a.py::test_function - AssertionError: ✗ Names the beta +not found", summary
    )
    assert sorted(path.name for path in desk.iterdir() if path.name.startswith(".honestone")) == []
