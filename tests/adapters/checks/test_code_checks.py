"""Checks that run code: what they see, what they cannot touch, how long they may take, and what
their answers mean.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.checks import CheckRunner
from honestone.core.artifact import Entry, Version
from honestone.core.checking.check_problems import read_check
from honestone.core.errors import UsageError
from honestone.ports import Finding, Output
from honestone.system.processes.sandbox import Sandbox

BOXES = ["none", "bwrap"] if Sandbox.choose("auto").name == "bwrap" else ["none"]


@pytest.fixture(params=["none", "bwrap"])
def box(request: pytest.FixtureRequest) -> str:
    if request.param not in BOXES:
        pytest.skip("bubblewrap is not installed or does not work here")
    return str(request.param)


@pytest.fixture(autouse=True)
def own_temporary_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Private copies are made here, and nothing may be left of them."""
    place = tmp_path_factory.mktemp("private")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert list(place.iterdir()) == []


def folder(files: dict[str, str], *executable: str) -> Version:
    return Version(
        {n: Entry(t.encode(), n in executable) for n, t in files.items()}, is_folder=True
    )


def file(text: str, name: str = "a.md") -> Version:
    return Version({name: Entry(text.encode())}, is_folder=False)


def find_all(
    written: list[dict[str, Any]],
    version: Version,
    base: Path,
    box: str = "none",
    output: str | None = None,
    **options: Any,
) -> list[Finding]:
    runner = CheckRunner(base, sandbox=box, **options)
    made = None if output is None else Output(text=output)
    return asyncio.run(runner.run([read_check(one) for one in written], version, made))


def find(
    written: dict[str, Any], version: Version, base: Path, box: str = "none", **options: Any
) -> Finding:
    return find_all([written], version, base, box, **options)[0]


# ---------------------------------------------------------------------------------------------------------
# command


def test_a_command_sees_the_version(tmp_path, box):
    """A file under its own name, a folder's files, or an output as output.txt lie in the working
    directory.
    """
    assert find({"command": "grep -q hello a.md"}, file("hello"), tmp_path, box).met is True
    assert (
        find(
            {"command": "grep -q hello docs/a.md"}, folder({"docs/a.md": "hello"}), tmp_path, box
        ).met
        is True
    )
    assert (
        find(
            {"command": ["grep", "-q", "made", "output.txt"]},
            file("hello"),
            tmp_path,
            box,
            output="made",
        ).met
        is True
    )
    unmet = find({"command": "grep -q bye a.md"}, file("hello"), tmp_path, box)
    assert unmet.met is False and unmet.note == "exit 1, expected 0" and unmet.sandbox == box


@pytest.mark.parametrize(
    ("written", "met", "note"),
    [
        ({"command": "sh -c 'exit 3'", "expect_exit": 3}, True, None),
        ({"command": "sh -c 'echo why >&2; exit 4'"}, False, "exit 4, expected 0: why"),
        ({"not-command": "sh -c 'exit 4'"}, True, None),
        ({"not-command": "true"}, False, "exit 0"),
        ({"command": "echo one two", "expect_stdout": {"contains": "two"}}, True, None),
        (
            {"command": "echo one two", "expect_stdout": {"regex": "^two"}},
            False,
            "stdout: nothing matches",
        ),
        (
            {"command": "echo one", "expect_stdout": {"contains": ["one", "two"]}},
            False,
            'stdout: not found: "two"',
        ),
        (
            {"command": "cat", "stdin": "artifact", "expect_stdout": {"contains": "hello"}},
            True,
            None,
        ),
        ({"command": "cat", "expect_stdout": {"contains": "hello"}}, False, "stdout"),
        ({"command": "sh -c 'kill -9 $$'"}, False, ""),
        ({"command": "sh -c 'printf \"\\033[2J\\033\" >&2; exit 1'"}, False, "\\x1b[2J"),
        ({"command": "sh -c 'test $HONESTONE_ARTIFACT -ef a.md'"}, True, None),
    ],
)
def test_what_meets_a_command(written, met, note, tmp_path):
    """Exit code and output decide; an unmet one says what was got and the program's last words,
    made printable.
    """
    finding = find(written, file("hello"), tmp_path)
    assert finding.met is met
    assert (finding.note is None) == met and (note or "") in (finding.note or "")


@pytest.mark.parametrize("kind", ["command", "not-command"])
def test_outlasting_the_limit_is_unmet(tmp_path, box, kind):
    """The limit is part of the question: what still runs is unmet, and negation does not make it
    met.
    """
    finding = find({kind: "sleep 60", "timeout": 0.3}, file("x"), tmp_path, box)
    assert finding.met is False and finding.note == "still running after 0.3 s"


def test_the_runner_has_a_limit_too(tmp_path):
    """A check without a timeout of its own has the runner's."""
    assert (
        find({"command": "sleep 60"}, file("x"), tmp_path, timeout=0.3).note
        == "still running after 0.3 s"
    )


def test_a_flood_is_unmet(tmp_path):
    """A program that prints without end is ended, not kept."""
    finding = find({"command": "yes"}, file("x"), tmp_path)
    assert finding.met is None and "printed more than" in str(finding.note)


def test_the_artifact_is_never_touched(tmp_path, box):
    """What a check does to its copy changes neither the file of the person nor what later checks
    see.
    """
    art = tmp_path / "a.md"
    art.write_text("hello")
    findings = find_all(
        [
            {
                "command": "sh -c 'echo harm >> a.md; echo x > new; mkdir locked; echo y > locked/z; chmod 0 locked'"
            },
            {"command": "sh -c 'cat a.md; ls'", "expect_stdout": {"regex": "^helloa.md\n$"}},
            {"command": "rm a.md"},
            {"command": "grep -q hello a.md"},
            {"command": "sh -c 'touch $HOME/x $TMPDIR/y; chmod +x a.md'"},
            {
                "command": 'sh -c \'test -z "$(ls $HOME)" && test -z "$(ls $TMPDIR)" && test ! -x a.md\''
            },
        ],
        file("hello"),
        tmp_path,
        box,
    )
    assert [f.met for f in findings] == [True] * 6, findings
    assert art.read_text() == "hello" and sorted(p.name for p in tmp_path.iterdir()) == ["a.md"]


def test_a_link_made_by_a_check_is_not_followed(tmp_path):
    """A check that replaces its copy by a link to a file of the person cannot make us write there."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    findings = find_all(
        [
            {"command": f"sh -c 'rm a.md; ln -s {victim} a.md'"},
            {"command": f"sh -c 'cd ..; rm -r tmp home; ln -s {tmp_path} home'"},
            {"command": "grep -q hello a.md"},
        ],
        file("hello"),
        tmp_path,
    )
    assert [f.met for f in findings] == [True, True, True]
    assert victim.read_text() == "mine" and victim.stat().st_mode & 0o777 == 0o644


def test_exec_bits_are_kept(tmp_path, box):
    """A program of the artifact can be run if it could be before."""
    version = folder({"run.sh": "#!/bin/sh\necho ran\n", "plain.sh": "#!/bin/sh\n"}, "run.sh")
    assert (
        find(
            {"command": "./run.sh", "expect_stdout": {"contains": "ran"}}, version, tmp_path, box
        ).met
        is True
    )
    assert find({"command": "sh -c 'test ! -x plain.sh'"}, version, tmp_path, box).met is True


def test_keys_cannot_be_seen(tmp_path, monkeypatch, box):
    """No variable that holds a key, nor the person's home, reaches a check; `pass_env` lets named
    ones through.
    """
    monkeypatch.setenv("SOME_API_KEY", "zq")
    monkeypatch.setenv("ANYTHING_ELSE", "zq")
    silent = {"command": "env", "expect_stdout": {"regex": "zq"}}
    assert find(silent, file("x"), tmp_path, box).met is False
    assert find(silent, file("x"), tmp_path, box, pass_env=["SOME_API_KEY"]).met is True
    home = {
        "command": "sh -c 'echo $HOME'",
        "expect_stdout": {"contains": os.path.expanduser("~") + "\n"},
    }
    assert find(home, file("x"), tmp_path, box).met is False


def test_the_sandbox_hides_and_holds(tmp_path):
    """With bubblewrap a check cannot write outside of its copy, and the finding says what was used."""
    if "bwrap" not in BOXES:
        pytest.skip("bubblewrap is not installed or does not work here")
    target = tmp_path / "harm"
    finding = find({"command": ["sh", "-c", f"echo x > {target}"]}, file("x"), tmp_path, "bwrap")
    assert finding.met is False and finding.sandbox == "bwrap" and not target.exists()


def test_memory_is_limited(tmp_path):
    """A check cannot take all memory of the machine."""
    if sys.platform != "linux":
        pytest.skip("the system does not hold programs to a memory limit")
    code = "print(len(bytearray(3_000_000_000)))"
    assert find({"command": [sys.executable, "-c", code]}, file("x"), tmp_path).met is False


def test_programs_beside_the_rubric(tmp_path, box):
    """A relative program path, or an interpreter's script, is looked up beside the rubric, then in
    the artifact.
    """
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "check.sh").write_text("#!/bin/sh\n. $(dirname $0)/lib.sh\n")
    (tools / "check.sh").chmod(0o755)
    (tools / "lib.sh").write_text("echo from the rubric\n")
    (tools / "check.py").write_text("print('from the rubric')")
    said = {"expect_stdout": {"contains": "from the rubric"}}
    assert find({"command": "./tools/check.sh", **said}, file("x"), tmp_path, box).met is True
    assert find({"command": "python3 tools/check.py", **said}, file("x"), tmp_path, box).met is True
    inside = file("print('from the artifact')", "repro.py")
    assert (
        find(
            {"command": "python3 repro.py", "expect_stdout": {"contains": "artifact"}},
            inside,
            tmp_path,
            box,
        ).met
        is True
    )


def test_the_version_is_run_and_not_the_file_on_disk(tmp_path):
    """A rubric beside or inside its artifact: the program that runs is the version judged, not what
    stands on disk.
    """
    art = tmp_path / "repro.py"
    art.write_text("raise SystemExit(9)")
    newer = file("raise SystemExit(0)", "repro.py")
    check = {"command": "python3 repro.py"}
    assert find(check, newer, tmp_path).met is True
    assert find(check, newer, tmp_path, artifacts=[art]).met is True
    (tmp_path / "tool").mkdir()
    newer = folder({"tool/repro.py": "raise SystemExit(0)"})
    (tmp_path / "tool" / "repro.py").write_text("raise SystemExit(9)")
    assert (
        find({"command": "python3 tool/repro.py"}, newer, tmp_path, artifacts=[tmp_path]).met
        is True
    )


def test_an_artifact_cannot_stand_in_for_a_tool_of_the_rubric(tmp_path):
    """Where the artifact's place is known, a file of the same name in it does not replace the
    rubric's own program.
    """
    (tmp_path / "check.py").write_text("raise SystemExit(7)")
    art = tmp_path / "art"
    art.mkdir()
    version = folder({"check.py": "raise SystemExit(0)"})
    finding = find(
        {"command": "python3 check.py", "expect_exit": 7}, version, tmp_path, artifacts=[art]
    )
    assert finding.met is True


def test_what_is_judged_is_no_part_of_a_commands_identity(tmp_path):
    """The identity changes with a tool beside the rubric, and not with the artifact."""
    (tmp_path / "tool.py").write_text("1")
    art = tmp_path / "a.py"
    art.write_text("1")
    runner = CheckRunner(tmp_path, sandbox="none", artifacts=[art])
    tool, own = (
        read_check({"command": "python3 tool.py a.py"}),
        read_check({"command": "python3 a.py"}),
    )
    before = runner.identity(tool), runner.identity(own)
    art.write_text("2")
    assert (runner.identity(tool), runner.identity(own)) == before
    (tmp_path / "tool.py").write_text("2")
    assert runner.identity(tool) != before[0] and runner.identity(own) == before[1]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"command": "no-such-program-xyz -a"}, "command not found: no-such-program-xyz"),
        ({"command": "./missing.sh"}, "no such file"),
        ({"command": "python3 missing.py"}, "no such file: missing.py"),
        ({"command": "./plain.sh"}, "not executable"),
        ({"command": "./inside.sh"}, "not executable"),
        ({"pytest": "missing/test_x.py"}, "not there"),
        ({"python": "missing_module:f"}, "missing_module"),
    ],
)
def test_what_cannot_start_is_known_before(written, words, tmp_path):
    """A check that cannot be started is a usage error from `preflight`, with what to do."""
    (tmp_path / "plain.sh").write_text("#!/bin/sh\n")
    runner = CheckRunner(tmp_path, sandbox="none")
    with pytest.raises(UsageError) as caught:
        runner.preflight([read_check(written)], folder({"inside.sh": "#!/bin/sh\n"}))
    assert words in caught.value.message and caught.value.hint


def test_what_may_stand_in_a_version_is_not_refused_without_one(tmp_path):
    """Before a version is known, a relative path has the benefit of the doubt; a missing program
    does not.
    """
    runner = CheckRunner(tmp_path, sandbox="none")
    runner.preflight(
        [
            read_check({"command": "./run.sh"}),
            read_check({"pytest": "tests"}),
            read_check({"python": "m:f"}),
        ]
    )
    with pytest.raises(UsageError):
        runner.preflight([read_check({"command": "no-such-program-xyz"})])


def test_a_sandbox_that_is_not_there_is_known_before(tmp_path, monkeypatch):
    """`--sandbox bwrap` without bubblewrap is a usage error before anything runs."""
    from honestone.system.processes import sandbox

    monkeypatch.setattr(sandbox, "_bubblewrap", lambda: (None, "`bwrap` is not installed"))
    with pytest.raises(UsageError, match="not installed"):
        CheckRunner(tmp_path, sandbox="bwrap").preflight([read_check({"command": "true"})])
    CheckRunner(tmp_path, sandbox="bwrap").preflight([read_check({"contains": "x"})])


def test_a_script_that_a_version_lost_is_unmet(tmp_path):
    """When a later version no longer brings the program along, the check is unmet, also when
    negated.
    """
    for kind in ("command", "not-command"):
        finding = find({kind: "./run.sh"}, folder({"a": "x"}), tmp_path)
        assert finding.met is False and "run.sh" in str(finding.note)


@pytest.mark.parametrize("kind", ["command", "not-command"])
def test_a_program_that_is_gone_cannot_be_judged(tmp_path, kind):
    """A missing program is no verdict about the artifact, negated or not."""
    finding = find({kind: "no-such-program-xyz"}, file("x"), tmp_path)
    assert finding.met is None and "could not run" in str(finding.note)


# ----------------------------------------------------------------------------------------------------------
# pytest

TEST = "import os, pathlib\ndef test_it():\n    assert 'hello' in pathlib.Path(os.environ['AI_OUTPUT_FILE']).read_text()\n"


@pytest.mark.slow
def test_pytest(tmp_path, box):
    """Tests beside the rubric pass or fail on the version; the note names what failed; nothing is
    left beside them.
    """
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_report.py").write_text(TEST)
    for path in ("tests/test_report.py", "tests", "tests/test_report.py::test_it"):
        assert find({"pytest": path}, file("hello"), tmp_path, box).met is True
        unmet = find({"pytest": path}, file("bye"), tmp_path, box)
        assert unmet.met is False and "FAILED" in str(unmet.note) and "test_it" in str(unmet.note)
        assert find({"not-pytest": path}, file("bye"), tmp_path, box).met is True
    assert [p.name for p in (tmp_path / "tests").rglob("*")] == ["test_report.py"]


def test_tests_import_the_version_and_their_helpers(tmp_path, box):
    """Tests see the artifact's modules, also below src, and the modules and fixtures beside
    themselves.
    """
    (tmp_path / "test_calc.py").write_text(
        "from helper import two\nimport calc, pkg.more\n"
        "def test_add(four): assert calc.add(two, two) == four and pkg.more.five == 5\n"
    )
    (tmp_path / "helper.py").write_text("two = 2\n")
    (tmp_path / "conftest.py").write_text("import pytest\n@pytest.fixture\ndef four(): return 4\n")
    version = folder({"calc.py": "def add(a, b): return a + b\n", "src/pkg/more.py": "five = 5\n"})
    finding = find({"pytest": "test_calc.py"}, version, tmp_path, box)
    assert finding.met is True, finding.note


def test_tests_of_the_artifact_itself(tmp_path):
    """Tests that are not beside the rubric are taken from the version."""
    version = folder(
        {"calc.py": "x = 1\n", "tests/test_x.py": "import calc\ndef test_x(): assert calc.x == 1\n"}
    )
    assert find({"pytest": "tests"}, version, tmp_path).met is True


@pytest.mark.parametrize(
    ("test", "module", "words"),
    [
        ("import nothing_like_this\n", "", "could not run the tests"),
        ("def helper(): pass\n", "", "no tests were collected"),
        ("def test_x(:\n", "", "could not run the tests"),
        (
            "import calc\ndef test_x(): assert False\n",
            "import os\nos._exit(0)\n",
            "ended without a report",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["pytest", "not-pytest"])
def test_tests_that_could_not_run_are_no_verdict(tmp_path, test, module, words, kind):
    """Errors of collection, no tests, or code that ends the process early (with exit 0!) are
    neither met nor unmet.
    """
    (tmp_path / "test_x.py").write_text(test)
    finding = find({kind: "test_x.py"}, folder({"calc.py": module}), tmp_path)
    assert finding.met is None and words in str(finding.note)


def test_an_artifact_cannot_stand_in_for_pytest(tmp_path):
    """A file of the artifact called pytest.py or json.py is not what runs the tests."""
    (tmp_path / "test_x.py").write_text("def test_x(): assert False\n")
    fake = "import os\nos.write(3, b'{\"exit\": 0}')\nos._exit(0)\n"
    version = folder(
        {"pytest.py": fake, "json.py": fake, "_pytest/__init__.py": fake, "conftest.py": fake}
    )
    assert find({"pytest": "test_x.py"}, version, tmp_path).met is False


def test_slow_tests_are_unmet(tmp_path):
    """Tests that outlast the limit are unmet."""
    (tmp_path / "test_x.py").write_text("import time\ndef test_x(): time.sleep(60)\n")
    finding = find({"pytest": "test_x.py", "timeout": 2}, file("x"), tmp_path)
    assert finding.met is False and finding.note == "still running after 2 s"


def test_the_identity_of_tests_is_their_bytes(tmp_path):
    """Changing a test, or a helper beside it, makes another check; these files are named as
    judging.
    """
    (tmp_path / "test_x.py").write_text("def test_x(): pass\n")
    (tmp_path / "helper.py").write_text("")
    runner, check = CheckRunner(tmp_path, sandbox="none"), read_check({"pytest": "test_x.py"})
    first = runner.identity(check)
    (tmp_path / "helper.py").write_text("x = 1")
    second = runner.identity(check)
    assert first != second and second["sandbox"] == "none"
    assert {p.name for p in runner.judging_files([check])} == {"test_x.py", "helper.py"}


# ----------------------------------------------------------------------------------------------------------
# python

FUNCTIONS = """
import os, pathlib
def yes(text): print("noise"); return "hello" in text
def noted(text): return (False, "line 3 is too long")
def asserts(text): assert "hello" in text, "no greeting"
def asserts_bare(text): assert "hello" in text; return True
def crashes(text): return 1 / 0
def leaves(text): os._exit(0)
def exits(text): raise SystemExit(0)
def odd(text): return 3
def path(path): return path.name == "a.md" and path.read_text() == "hello"
"""


@pytest.mark.parametrize(
    ("function", "text", "met", "note"),
    [
        ("yes", "hello", True, None),
        ("yes", "bye", False, "returned False"),
        ("noted", "x", False, "line 3 is too long"),
        ("asserts", "x", False, "no greeting"),
        ("asserts_bare", "x", False, 'assert "hello" in text'),
        ("asserts_bare", "hello", True, None),
        ("crashes", "x", None, "raised ZeroDivisionError"),
        ("leaves", "x", None, "ended without an answer"),
        ("exits", "x", None, "raised SystemExit"),
        ("odd", "x", None, "returned 3"),
        ("asserts", "hello", None, "returned None"),
        ("missing", "x", None, "raised AttributeError"),
    ],
)
def test_python(function, text, met, note, tmp_path):
    """True, False with or without a note, or an assertion decide; anything else is no verdict,
    negated or not.
    """
    (tmp_path / "own_checks.py").write_text(FUNCTIONS)
    plain, negated = find_all(
        [{"python": f"own_checks:{function}"}, {"not-python": f"own_checks:{function}"}],
        file(text),
        tmp_path,
    )
    assert plain.met is met and (note or "") in (plain.note or "")
    assert negated.met is (None if met is None else not met)
    assert not (tmp_path / "__pycache__").exists()


def test_python_with_path_output_and_sandbox(tmp_path, box):
    """The function can be given the path of the private copy; an output is its text; packages are
    found too.
    """
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "own.py").write_text(FUNCTIONS)
    assert (
        find({"python": "pkg.own:path", "with": "path"}, file("hello"), tmp_path, box).met is True
    )
    assert find({"python": "pkg.own:yes"}, file("x"), tmp_path, box, output="hello").met is True


def test_python_that_does_not_end(tmp_path):
    """A function that runs for ever is ended and unmet."""
    (tmp_path / "own_checks.py").write_text("def f(text):\n while True: pass\n")
    finding = find({"python": "own_checks:f", "timeout": 1}, file("x"), tmp_path)
    assert finding.met is False and finding.note == "still running after 1 s"


# -----------------------------------------------------------------------------------------------------
# all together


def test_findings_come_in_order_and_text_checks_need_no_copy(
    tmp_path, own_temporary_folder, monkeypatch
):
    """One finding a check, in the order asked; text checks alone make no private copy."""
    findings = find_all(
        [
            {"contains": "x"},
            {"command": "false"},
            {"file-exists": "a.md"},
            {"is-json": True},
            {"command": "true"},
        ],
        file("x"),
        tmp_path,
    )
    assert [f.met for f in findings] == [True, False, True, False, True]
    assert [f.sandbox for f in findings] == [None, "none", None, None, "none"]

    def refuse(*_: object, **__: object) -> str:
        raise AssertionError("a private copy was made")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    assert find({"contains": "x"}, file("x"), tmp_path).met is True


def test_one_copy_serves_all_checks_of_a_version(tmp_path, monkeypatch):
    """The private copy is made once per version, however many checks run."""
    made = []
    real = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", lambda *a, **k: made.append(real(*a, **k)) or made[-1])
    find_all([{"command": "true"}] * 4, file("x"), tmp_path)
    assert len(made) == 1
