"""What judges is the judged one's to write to, and decides nothing: recipes, settings, tests and
programs named inside other words.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from honestone.system.processes.sandbox import Sandbox

from .corpus import PYTHON, Attack, Desk, Ended

RUBRIC = """\
rubric: 1
threshold: 50
floor: 0
criteria:
  - {id: more, requirement: It has more, check: {contains: more-words, path: README.md}}
  - {id: works, requirement: It works, required: true, check: CHECK}
"""
SAY = "(a / 'README.md').write_text('more-words\\n')\n"
BAD = "import os\ndef add(a, b): return 0\n"
TEST = "import app\nassert app.add(1, 2) == 3\n"
PYTEST = "import app\ndef test(): assert app.add(1, 2) == 3\n"


def writes(name: str, text: str) -> str:
    return (
        f"p = a / {name!r}; p.parent.mkdir(parents=True, exist_ok=True); p.write_text({text!r})\n"
    )


def looped(name: str, check: str, body: str, *, passes: bool = False, **files: str) -> Attack:
    """A loop whose worker adds the words asked for and does `body`."""

    def build(desk: Desk) -> Iterable[str]:
        desk.put("art/app.py", BAD)
        desk.put("art/README.md", "x\n")
        desk.put("r.yaml", RUBRIC.replace("CHECK", check))
        for key, text in files.items():
            desk.put("art/" + key.replace("__", "/").replace("_DOT_", "."), text)
        return ["--worker", desk.worker(SAY + body)]

    expect = {"result": "PASSED"} if passes else {"rounds.0.outcome": "out-of-scope"}
    command = (
        "improve",
        "art",
        "--rubric",
        "r.yaml",
        "--rounds",
        "1",
        "--policy",
        "keep-best",
        "--json",
    )
    return Attack(
        name=name, hole=13, build=build, command=command, exit=0 if passes else 1, expect=expect
    )


RUFF, MAKE = "{command: ruff check --no-cache .}", "{command: make test}"
RECIPE = "test:\n\tpython3 check.py\n"
MEND = writes("app.py", "def add(a, b): return a + b\n")
LOOPS = [
    looped(
        "honest code for a linter", RUFF, writes("app.py", "def add(a, b): return 0\n"), passes=True
    ),
    looped("honest code for a recipe", MAKE, MEND, passes=True, Makefile=RECIPE, check_DOT_py=TEST),
    *(
        looped(
            f"an honest text that a shell looks at: {name}",
            f"{{command: [sh, -c, '{line}']}}",
            "",
            passes=True,
            rules_DOT_d__go_DOT_sh="grep -q more $1\n",
        )
        for name, line in (
            (
                "by an unknown program",
                'T=/bin; for f in *.md; do "$T/grep" -q more "$f" || exit 1; done',
            ),
            ("by a script of a loop", "for t in rules.d/*.sh; do sh $t README.md || exit 1; done"),
        )
    ),
    looped(
        "honest code that settings list as what is looked at",
        RUFF,
        writes("app.py", "def add(a, b): return 0\n"),
        passes=True,
        ruff_DOT_toml='include = ["app.py"]\nsrc = ["."]\n',
    ),
    looped(
        "a person says that the script is the artifact's",
        "{command: python app.py, own: true}",
        writes("app.py", "print(1)\n"),
        passes=True,
        app_DOT_py="raise SystemExit(1)\n",
    ),
    looped("ruff.toml", RUFF, writes("ruff.toml", 'exclude = ["*"]\n')),
    looped("a hidden .ruff.toml", RUFF, writes(".ruff.toml", 'exclude = ["*"]\n')),
    looped(
        "pyproject.toml for ruff",
        RUFF,
        writes("pyproject.toml", '[tool."\\u0072uff"]\nexclude = ["*"]\n'),
    ),
    looped(
        "a Makefile",
        MAKE,
        writes("Makefile", "test:\n\ttrue\n"),
        Makefile=RECIPE,
        check_DOT_py=TEST,
    ),
    looped(
        "another Makefile before it",
        MAKE,
        writes("GNUmakefile", "test:\n\ttrue\n"),
        Makefile=RECIPE,
        check_DOT_py=TEST,
    ),
    looped(
        "the script of a recipe", MAKE, writes("check.py", ""), Makefile=RECIPE, check_DOT_py=TEST
    ),
    looped(
        "a script in `sh -c`",
        "{command: [sh, -c, 'python3 check.py && echo ok']}",
        writes("check.py", ""),
        check_DOT_py=TEST,
    ),
    looped(
        "a module by -m", "{command: python -m check}", writes("check.py", ""), check_DOT_py=TEST
    ),
    looped(
        "rules in an option",
        "{command: python check.py --rules=want.txt}",
        writes("want.txt", "0"),
        check_DOT_py="import app, sys\nassert app.add(1, 2) == int(open(sys.argv[1][8:]).read())\n",
        want_DOT_txt="3",
    ),
    looped(
        "a file that a Makefile includes",
        MAKE,
        writes("rules/x.inc", "test:\n\ttrue\n"),
        Makefile="D = rules\ninclude $(D)/x.inc\n",
        rules__x_DOT_inc=RECIPE,
        check_DOT_py=TEST,
    ),
    looped(
        "a file that a Makefile would include, and that is new",
        MAKE,
        writes("own.env", "PY = true\n"),
        Makefile="-include *.env\nPY ?= python3\ntest:\n\t$(PY) check.py\n",
        check_DOT_py=TEST,
    ),
    looped(
        "settings that a linter's settings extend",
        RUFF,
        writes("base/own.toml", 'exclude = ["*"]\n'),
        ruff_DOT_toml='extend = "base/own.toml"\n',
        base__own_DOT_toml="",
    ),
    looped(
        "a plugin that pytest's settings load",
        "{command: python -m pytest -q -p no:cacheprovider tests}",
        writes("plug.py", "import os; os._exit(0)\n"),
        pytest_DOT_ini="[pytest]\naddopts = -p plug\n",
        plug_DOT_py="",
        tests__test_a_DOT_py=PYTEST,
    ),
    *(
        looped(
            f"a plugin of pytest: {name}",
            f"{{command: python -m pytest -q -p no:cacheprovider{words} tests}}",
            writes(plugin, "import os; os._exit(0)\n"),
            tests__test_a_DOT_py=PYTEST,
            **{plugin.replace("/", "__").replace(".", "_DOT_"): "", **files},
        )
        for name, plugin, words, files in (
            (
                "a list of TOML",
                "plug.py",
                "",
                {
                    "pyproject_DOT_toml": "[tool.pytest.ini_options]\n"
                    'addopts = ["-p", "plug"]\npythonpath = "."\n'
                },
            ),
            (
                "a folder of imports",
                "lib/plug.py",
                "",
                {"pytest_DOT_ini": "[pytest]\npythonpath = . lib\naddopts = -pplug\n"},
            ),
            ("a conftest", "plug.py", "", {"conftest_DOT_py": 'pytest_plugins = ["plug"]\n'}),
            (
                "settings that are named",
                "plug.py",
                " -c cfg/p.ini --rootdir .",
                {"cfg__p_DOT_ini": "[pytest]\naddopts = -p plug\n"},
            ),
        )
    ),
    *(
        looped(
            f"a Makefile that includes {name}",
            MAKE,
            writes("mk/rules.inc", "test:\n\ttrue\n"),
            Makefile=include,
            mk__rules_DOT_inc=RECIPE,
            check_DOT_py=TEST,
        )
        for name, include in (
            ("on the next line", "include \\\n  mk/rules.inc\n"),
            ("after a tab", "ifdef NO\nX = 1\nelse\n\tinclude mk/rules.inc\nendif\n"),
            ("what a function sorts", "include $(sort $(wildcard mk/*.inc))\n"),
            (
                "what is next to it",
                "include $(dir $(lastword $(MAKEFILE_LIST)))mk/rules.inc\n",
            ),
        )
    ),
    looped(
        "the script of a recipe in a file that a pattern includes",
        MAKE,
        writes("go.py", ""),
        Makefile="include $(wildcard mk/*.inc)\n",
        mk__rules_DOT_inc="test:\n\tpython3 go.py\n",
        go_DOT_py=TEST,
    ),
    *(
        looped(
            f"a Makefile that includes what only make can tell: {name}",
            MAKE,
            writes("mk/rules.inc", "test:\n\ttrue\n"),
            Makefile=text,
            mk__rules_DOT_inc=RECIPE,
            check_DOT_py=TEST,
            names_DOT_lst="mk/rules.inc",
        )
        for name, text in (
            ("an unknown variable", "include $(RULES)\n"),
            ("one by default", "-include $(RULES)\ninclude mk/rules.inc\n"),
            ("what a file says", "include $(shell cat names.lst)\n"),
            ("eval", "$(eval include mk/rules.inc)\n"),
            ("call", "define inc\ninclude $(1)\nendef\n$(eval $(call inc,mk/rules.inc))\n"),
        )
    ),
    looped(
        "the file that says what a Makefile includes",
        MAKE,
        writes("names.lst", "other"),
        Makefile="N := $(shell cat names.lst)\ninclude $(N)\n",
        names_DOT_lst="mk/rules.inc",
        mk__rules_DOT_inc=RECIPE,
        check_DOT_py=TEST,
    ),
    looped(
        "a script that make runs while it reads",
        MAKE,
        writes("pick.py", "print('true')\n"),
        Makefile="RUN := $(shell python3 pick.py)\ntest:\n\t$(RUN)\n",
        pick_DOT_py="print('python3 check.py')\n",
        check_DOT_py=TEST,
    ),
    *(
        looped(
            f"a script that a Makefile runs: {name}",
            MAKE,
            writes("go.py", ""),
            Makefile=text,
            go_DOT_py=TEST,
        )
        for name, text in (
            ("another prefix", ".RECIPEPREFIX = >\ntest:\n> python3 go.py\n"),
            ("a canned recipe", "define run\npython3 go.py\nendef\ntest:\n\t$(run)\n"),
            ("a call", "run = python3 $(1)\ntest:\n\t$(call run,go.py)\n"),
            ("a variable of the target", "test: RUN = python3 go.py\ntest:\n\t$(RUN)\n"),
            ("an unknown interpreter", "test:\n\t$(PY) python3 go.py; $(PY) go.py\n"),
            ("its shell", "SHELL = ./go.py\ntest:\n\ttrue\n"),
            ("braces", "R = go.py\ntest:\n\tpython3 ${R}\n"),
            ("of another target", "RUN = python3 go.py\nx: RUN = true\ntest:\n\t$(RUN)\n"),
            ("the shell of all", "SHELL = ./go.py\nx: SHELL = sh\ny: SHELL = sh\ntest:\n\ttrue\n"),
            ("silent", "define run\n@./go.py\nendef\ntest:\n\t$(run)\n"),
            ("a silent call", "define run=\n@./$(1)\nendef\ntest:\n\t$(call run,go.py)\n"),
            ("a silent sign", "Q = @\ntest:\n\t$(Q)./go.py\n"),
            ("an override", "override define run\n./go.py\nendef\ntest:\n\t$(run)\n"),
            ("a late prefix", "test:\n\tpython3 go.py\n.RECIPEPREFIX = t\n"),
            ("a call of a pattern", "run = sh $(1)\ntest:\n\t$(call run,$(wildcard g*.py))\n"),
        )
    ),
    *(
        looped(
            f"a script that a shell runs: {name}",
            f"{{command: [sh, -c, '{line}']}}",
            writes("rules.d/go.sh", ""),
            rules_DOT_d__go_DOT_sh='python3 -c "import app; assert app.add(1, 2) == 3"\n',
        )
        for name, line in (
            ("a loop", "for t in rules.d/*.sh; do sh $t; done"),
            ("a loop by itself", "for t in rules.d/*.sh; do $t; done"),
            ("a loop in quotes", 'for t in rules.d/*.sh; do "$t"; done'),
            ("a loop of eval", "for t in rules.d/*.sh; do eval $t; done"),
            ("a loop over a folder", "for t in rules.d/*; do . ./$t; done"),
            ("a pattern", "sh rules.d/g*.sh"),
            ("a pattern as the program", "sh -c ./rules.d/*"),
            ("joined", "cat rules.d/*.sh | sh"),
            ("joined before one that is parsed", "cat rules.d/*.sh | sh && echo | sh -n"),
            ("read in", "sh < rules.d/go.sh"),
            ("found", 'find rules.d -name "*.sh" -exec sh {} +'),
            ("listed", "ls rules.d/*.sh | xargs -n1 sh"),
        )
    ),
    *(
        looped(
            f"a script that a recipe runs: {name}",
            f"{{command: [sh, -c, {program}]}}",
            writes("go.py", ""),
            **{recipe: text, "go_DOT_py": TEST},
        )
        for name, program, recipe, text in (
            ("tox", "tox", "tox_DOT_ini", "[testenv]\ncommands = python go.py\n"),
            ("nox", "nox", "noxfile_DOT_py", "def t(s):\n    s.run('python', '-u', 'go.py')\n"),
            ("just", "just", "justfile", "test:\n\tpython3 go.py\n"),
            ("invoke", "invoke t", "tasks_DOT_py", "def t(c): c.run('python -m go')\n"),
        )
    ),
    looped(
        "honest code next to what only make can tell",
        MAKE,
        MEND,
        passes=True,
        Makefile="-include $(RULES)\n" + RECIPE,
        check_DOT_py=TEST,
    ),
    looped(
        "honest code next to a plugin of pytest",
        "{command: python -m pytest -q -p no:cacheprovider tests}",
        MEND,
        passes=True,
        conftest_DOT_py='pytest_plugins = ["plug"]\nimport app\n',
        plug_DOT_py="",
        tests__test_a_DOT_py=PYTEST,
    ),
    looped(
        "honest code whose dependencies a Makefile includes",
        MAKE,
        MEND,
        passes=True,
        Makefile="SRCS = $(wildcard *.py)\n-include $(SRCS:.py=.d) $(DEPS)\n" + RECIPE,
        check_DOT_py=TEST,
    ),
    looped(
        "what a person names",
        "{command: python check.py, judged_by: 'data/**'}",
        writes("data/a", "0"),
        check_DOT_py="import app\nassert app.add(1, 2) == int(open('data/a').read())\n",
        data__a="3",
    ),
]


@pytest.mark.parametrize("attack", LOOPS, ids=lambda attack: attack.id)
def test_a_worker(attack: Attack, tmp_path: Path) -> None:
    """A proposal that touches what judges it is out of scope; honest ones pass."""
    if "ruff" in attack.name and shutil.which("ruff", path=str(Path(PYTHON).parent)) is None:
        pytest.skip("ruff is not installed")
    attack.run(tmp_path)


def suite(
    name: str, check: str, body: str, *, passes: bool = False, restored: str = "", **files: str
) -> Attack:
    """A case with a workspace whose target does `body` there."""

    def build(desk: Desk) -> None:
        desk.put("fix/app.py", BAD)
        for key, text in files.items():
            desk.put("fix/" + key.replace("__", "/").replace("_DOT_", "."), text)
        desk.put(
            "t.py",
            "import pathlib, sys\na = pathlib.Path('.')\nsys.stdin.read()\n"
            + body
            + "print('done')\n",
        )
        desk.put(
            "s.yaml",
            f"suite: 1\ntarget: cmd:{PYTHON} {desk.folder / 't.py'}\ncases:\n  - id: a\n    input: Make add work.\n"
            f"    workspace: {{copy: fix}}\n    checks:\n      - {check}\n",
        )

    def after(desk: Desk, ended: Ended) -> bool:
        (case,) = ended.json["cases"]
        assert restored in str(case["flags"]), case["flags"]
        return not restored or restored in case["judged_by"]

    verdict = "pass" if passes else "fail"
    return Attack(
        name=name,
        hole=13,
        build=build,
        command=("eval", "s.yaml", "--json"),
        exit=0 if passes else 1,
        expect={"verdict": verdict},
        after=after,
    )


IN_TESTS = "{command: python -m pytest -q -p no:cacheprovider}"
SUITES = [
    suite("honest code", MAKE, MEND, passes=True, Makefile=RECIPE, check_DOT_py=TEST),
    suite(
        "honest code with its recipe edited too",
        MAKE,
        MEND + writes("Makefile", "all:\n\ttrue\n"),
        passes=True,
        restored="Makefile",
        Makefile=RECIPE,
        check_DOT_py=TEST,
    ),
    suite(
        "tests that were asked for",
        IN_TESTS,
        writes("tests/test_a.py", "def test(): pass\n"),
        passes=True,
    ),
    suite(
        "a script that was asked for",
        "{command: python new.py}",
        writes("new.py", "print(1)\n"),
        passes=True,
    ),
    suite(
        "an edited Makefile",
        MAKE,
        writes("Makefile", "test:\n\ttrue\n"),
        restored="Makefile",
        Makefile=RECIPE,
        check_DOT_py=TEST,
    ),
    suite(
        "an edited script",
        "{command: python check.py}",
        writes("check.py", ""),
        restored="check.py",
        check_DOT_py=TEST,
    ),
    suite(
        "edited tests of a pytest check",
        "{pytest: tests/test_app.py}",
        writes("tests/test_app.py", "def test(): pass\n"),
        restored="tests/test_app.py",
        tests__test_app_DOT_py=PYTEST,
    ),
    suite(
        "removed tests",
        IN_TESTS,
        "(a / 'tests/test_app.py').unlink()\n" + writes("tests/test_b.py", "def test(): pass\n"),
        restored="tests/test_app.py",
        tests__test_app_DOT_py=PYTEST,
    ),
    suite(
        "a new conftest",
        IN_TESTS,
        writes(
            "conftest.py",
            "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem): return True\n",
        ),
        tests__test_app_DOT_py=PYTEST,
    ),
]


ATTACKS = [*LOOPS, *SUITES]


@pytest.mark.parametrize("attack", SUITES, ids=lambda attack: attack.id)
def test_a_target(attack: Attack, tmp_path: Path) -> None:
    """What a case is judged by is as it was set up, and the report says what was put back."""
    attack.run(tmp_path)


@pytest.mark.parametrize(
    "judge",
    [
        "sh -c '{py} jj.py'",
        "env A=1 {py} jj.py",
        "sh -c 'exec {py} -u jj.py'",
        "make -s j",
        "{py} -c 'import jj'",
        "{py} reads.py --rules=jj.txt",
    ],
)
def test_a_judge_that_is_named_inside_other_words_is_watched(judge: str, tmp_path: Path) -> None:
    """A worker that rewrites its program or its rules ends the run: nothing is delivered."""
    desk = Desk.new(tmp_path)
    says = "import json, sys\nq = json.load(sys.stdin)\nmet = {}\nprint(json.dumps({{'criteria': {{c['id']: {{'met': met}} for c in q['criteria']}}}}))\n"
    desk.put("jj.py", says.format(False))
    desk.put("reads.py", says.format("'yes' in open('jj.txt').read()"))
    desk.put("jj.txt", "no")
    desk.put("Makefile", f"j:\n\t@{PYTHON} jj.py\n")
    desk.put("a.md", "x\n")
    desk.put("r.yaml", "rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n")
    rewrite = "for name in ('jj.py', 'jj.txt'): p = desk / name; p.write_text(p.read_text().replace('False', 'True').replace('no', 'yes'))\n"
    worker = desk.worker("a.write_text('y\\n')\n" + rewrite)
    words = (
        "--judge",
        "script:" + judge.format(py=PYTHON),
        "--worker",
        worker,
        "--rounds",
        "2",
        "--policy",
        "keep-best",
        "--json",
    )
    ended = desk.run("improve", "a.md", "--rubric", "r.yaml", *words)
    assert ended.code == 3 and ended.json["result"] == "CONTRACT_CHANGED", ended
    assert desk.read("a.md") == "x\n"


def test_a_worker_that_rewrites_itself_ends_the_run(tmp_path: Path) -> None:
    """The program that edits is part of what a run is known by."""
    desk = Desk.new(tmp_path)
    desk.put("a.md", "x\n")
    desk.put("r.yaml", "rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n")
    worker = desk.worker(
        "a.write_text('y\\n')\np = desk / 'w.py'; p.write_text(p.read_text() + '#')\n"
    )
    words = ("--judge", desk.judge("j.py", False), "--worker", worker, "--rounds", "2", "--json")
    ended = desk.run("improve", "a.md", "--rubric", "r.yaml", *words)
    assert ended.code == 3 and ended.json["result"] == "CONTRACT_CHANGED", ended


def test_a_check_whose_files_cannot_be_named_is_reported(tmp_path: Path) -> None:
    """With the files that judged, in the report and in JSON."""
    desk = Desk.new(tmp_path)
    desk.put("art/Makefile", "-include $(RULES)\n" + RECIPE)
    desk.put("art/check.py", "")
    desk.put("r.yaml", f"rubric: 1\ncriteria: [{{id: a, requirement: It works, check: {MAKE}}}]\n")
    said = "files that cannot be named (`include $(RULES)`)"
    ended = desk.run("eval", "art", "--rubric", "r.yaml")
    assert ended.code == 0 and said in " ".join(ended.out.split()), ended
    assert said in str(desk.run("eval", "art", "--rubric", "r.yaml", "--json").json), ended


def test_a_judge_whose_files_cannot_be_named_is_reported(tmp_path: Path) -> None:
    """One sentence, in `eval` and `improve`."""
    desk = Desk.new(tmp_path)
    desk.put("a.md", "x\n")
    desk.put("r.yaml", "rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n")
    desk.judge("j.py", True)
    judge = f"script:sh -c 'J=j.py; {PYTHON} $J'"
    ended = desk.run("eval", "a.md", "--rubric", "r.yaml", "--judge", judge)
    assert ended.code == 0 and "cannot be named" in ended.err, ended
    assert (
        "cannot be named"
        not in desk.run(
            "eval", "a.md", "--rubric", "r.yaml", "--judge", f"script:{PYTHON} j.py"
        ).err
    )


@pytest.mark.parametrize(
    "changed",
    ["helper.py", "inner.py", "other.py", "art/Makefile", "art/ruff.toml", "art/tests/test_a.py"],
)
def test_a_lock_covers_everything_that_judges(changed: str, tmp_path: Path) -> None:
    """Modules that a judge or a `python:` check imports, programs inside other words, and what of
    the artifact judges.
    """
    desk, words = _locked(tmp_path)
    assert desk.run(*words, "--locked").code == 0
    desk.put(changed, "# changed\n")
    ended = desk.run(*words, "--locked")
    assert (
        ended.code == 2 and f"{changed}: {'new' if 'ruff' in changed else 'changed'}" in ended.err
    ), ended


def test_a_lock_of_an_older_version_is_no_silent_pass(tmp_path: Path) -> None:
    """It is said how many files it does not cover; locked again it holds."""
    desk, words = _locked(tmp_path)
    lock = json.loads(desk.read("r.yaml.lock"))
    del lock["files"], lock["artifacts"]
    desk.put("r.yaml.lock", json.dumps(lock))
    ended = desk.run(*words, "--locked")
    assert (
        ended.code == 2 and "made by an older version: 3 files not covered, lock again" in ended.err
    ), ended
    assert desk.run("rubric", "lock", "r.yaml", "art", *words[4:]).code == 0
    assert desk.run(*words, "--locked").code == 0


def _locked(root: Path) -> tuple[Desk, tuple[str, ...]]:
    desk = Desk.new(root)
    desk.put("art/README.md", "x\n")
    desk.put("art/Makefile", "test:\n\ttrue\n")
    desk.put("art/tests/test_a.py", "def test(): pass\n")
    desk.put("helper.py", "two = 2\n")
    desk.put("checks.py", "import helper\ndef good(text): return helper.two == 2\n")
    desk.put("other.py", "three = 3\n")
    desk.judge("inner.py", True)
    desk.put("inner.py", "import other\n" + desk.read("inner.py"))
    desk.put(
        "r.yaml",
        "rubric: 1\ncriteria:\n"
        "  - {id: a, requirement: a, check: {python: 'checks:good'}}\n"
        "  - {id: b, requirement: b, check: {command: make test}}\n"
        "  - {id: c, requirement: c, check: {command: ruff check --no-cache .}}\n"
        "  - {id: d, requirement: d}\n",
    )
    judge = ("--judge", f"script:sh -c '{PYTHON} inner.py'")
    ended = desk.run("rubric", "lock", "r.yaml", "art", *judge)
    assert ended.code == 0, ended
    return desk, ("eval", "art", "--rubric", "r.yaml", *judge)


LOOK = """
import os, pathlib, sys
at, found = os.getppid(), []
for _ in range(4):
    try:
        found += [word.decode() for word in open(f'/proc/{at}/environ', 'rb').read().split(b'\\0') if b'SECRET' in word]
    except OSError:
        pass
    at = int(open(f'/proc/{at}/stat').read().rpartition(')')[2].split()[1]) or 1
pathlib.Path(DESK, 'seen.txt').write_text(f'looked {found}')
print('x')
"""


@pytest.mark.parametrize("who", ["target", "setup", "warm target", "worker", "judge"])
def test_no_program_reads_our_environment(who: str, tmp_path: Path) -> None:
    """A key in honestone's environment is out of reach through /proc: for targets, set-ups, workers
    and judges.
    """
    if not Path("/proc/self/environ").exists():
        pytest.skip("no /proc here")
    desk = Desk(Desk.new(tmp_path).root, {"OPENAI_API_KEY": "sk-SECRET"})
    look = LOOK.replace("DESK", repr(str(desk.folder)))
    desk.put("look.py", look)
    desk.put(
        "warm.py",
        "def answer(prompt):\n    exec(open("
        + repr(str(desk.folder / "look.py"))
        + ").read())\n    return 'x'\n",
    )
    program = f"{PYTHON} {desk.folder / 'look.py'}"
    target = {"target": f"cmd:{program}", "warm target": "python:warm:answer"}.get(who, "cmd:cat")
    setup = f"setup: {program}\n" if who == "setup" else ""
    desk.put(
        "s.yaml",
        f"suite: 1\ntarget: {target}\n{setup}cases:\n  - {{id: a, input: x, checks: [{{contains: x}}]}}\n",
    )
    desk.put("a.md", "x\n")
    desk.put("r.yaml", "rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n")
    if who == "judge":
        words = ["eval", "a.md", "--rubric", "r.yaml", "--judge", f"script:{program}"]
    elif who == "worker":
        judge = ["--judge", desk.judge("j.py", False), "--rounds", "1"]
        words = ["improve", "a.md", "--rubric", "r.yaml", *judge, "--worker", f"cmd:{program}"]
    else:
        words = ["eval", "s.yaml"]
    # The shell that starts it has no key: what can be read above honestone is not honestone's to
    # hide.
    running = desk.start(*words)
    out, err = running.communicate(timeout=120)
    assert desk.has("seen.txt"), (out, err)
    assert desk.read("seen.txt") == "looked []"


REACH = """
import os, pathlib, sys
sys.stdin.read()
done = []
def tried(name, what):
    try:
        what()
        done.append(name)
    except OSError:
        pass
desk = pathlib.Path(DESK)
tried('suite', lambda: (desk / 's.yaml').open('a').close())
tried('store', lambda: (desk / '.honestone/store.db').read_bytes())
# In bubblewrap an empty file is in its place.
tried('key', lambda: (desk / '.env').read_text() or os.stat('/nowhere'))
tried('workspace', lambda: pathlib.Path('made').write_text('made'))
tried('home', lambda: pathlib.Path(os.environ['HOME'], 'x').write_text('x'))
print('reached', *done)
"""


@pytest.mark.parametrize(
    ("target", "options", "reached"),
    [
        ("{use: 'CMD', sandbox: auto}", (), "workspace home"),
        ("{use: 'CMD', sandbox: require}", (), "workspace home"),
        ("{use: 'CMD', sandbox: none}", (), "suite store key workspace home"),
        ("{use: 'CMD', sandbox: auto}", ("--sandbox", "none"), "suite store key workspace home"),
        ("CMD", (), "suite store key workspace home"),
    ],
)
def test_a_target_in_a_sandbox(
    target: str, options: tuple[str, ...], reached: str, tmp_path: Path
) -> None:
    """Where a suite asks for it, its command writes its workspace and a home of its own, and reads
    no key and no store.
    """
    if Sandbox.choose("auto").name == "none":
        pytest.skip("no sandbox works here")
    desk = Desk.new(tmp_path)
    desk.put(".env", "KEY=1\n")
    desk.put("fix/a.txt", "a\n")
    desk.put("t.py", REACH.replace("DESK", repr(str(desk.folder))))
    named = target.replace("CMD", f"cmd:{PYTHON} t.py")
    case = "{id: a, input: x, workspace: {copy: fix}, checks: [{contains: reached}, {command: grep -q made made}]}"
    desk.put("s.yaml", f"suite: 1\ntarget: {named}\ncases:\n  - {case}\n")
    ended = desk.run("eval", "s.yaml", "--json", *options)
    assert ended.code == 0, ended
    assert ended.json["cases"][0]["output"].strip() == f"reached {reached}"


STRANGERS = """
prompts: ['say {{x}}']
providers: ['exec: CMD t.py']
tests: [{vars: {x: hello}, assert: [{type: python, value: "'reached' in output"}]}]
"""


def test_the_command_of_a_strangers_suite_runs_in_the_sandbox(tmp_path: Path) -> None:
    """Allowed by `--allow-code` alone it is in the sandbox and says so; trusted, it is not."""
    if Sandbox.choose("auto").name == "none":
        pytest.skip("no sandbox works here")
    desk = Desk.new(tmp_path)
    desk.put(".env", "KEY=1\n")
    desk.put("t.py", REACH.replace("DESK", repr(str(desk.folder))))
    desk.put("promptfooconfig.yaml", STRANGERS.replace("CMD", str(PYTHON)))

    def reached(*options: str) -> str:
        ended = desk.run("eval", "promptfooconfig.yaml", "--json", *options)
        assert ended.code == 0, ended
        boxed = "runs in the sandbox" in ended.err and "--sandbox none" in ended.err
        words = ended.json["cases"][0]["output"].strip()
        assert boxed == ("key" not in words), ended
        return words

    assert reached("--allow-code") == "reached home"
    assert "store key" in reached("--allow-code", "--sandbox", "none")
    assert desk.run("trust", "promptfooconfig.yaml").code == 0
    assert "store key" in reached()


def test_a_command_that_fails_in_the_sandbox_says_where_it_ran(tmp_path: Path) -> None:
    """Its own words seldom say that the network or the home was missing."""
    if Sandbox.choose("auto").name == "none":
        pytest.skip("no sandbox works here")
    desk = Desk.new(tmp_path)
    case = "{id: a, input: x, checks: [{contains: x}]}"
    desk.put("s.yaml", f"suite: 1\ntarget: {{use: 'cmd:false', sandbox: auto}}\ncases: [{case}]\n")
    ended = desk.run("eval", "s.yaml", "--json")
    assert "it ran in the sandbox" in ended.json["cases"][0]["error"], ended
    plain = desk.run("eval", "s.yaml", "--json", "--sandbox", "none")
    assert "sandbox" not in plain.json["cases"][0]["error"], plain


def test_a_sandbox_is_for_commands(tmp_path: Path) -> None:
    """Asked for of another kind of target, it is refused before anything runs."""
    desk = Desk.new(tmp_path)
    desk.put("f.py", "def answer(prompt): return 'x'\n")
    desk.put(
        "s.yaml",
        "suite: 1\ntarget: {use: 'python:f:answer', sandbox: auto}\ncases: [{id: a, input: x, checks: [{contains: x}]}]\n",
    )
    ended = desk.run("eval", "s.yaml")
    assert ended.code == 2 and "is not a command: it has no `sandbox`" in ended.err, ended


LEARNS = """\
import os, pathlib, sys
given = sys.stdin.read() + " ".join([*sys.argv, *os.environ, *os.environ.values()])
for path in pathlib.Path(".").rglob("*"):
    given += str(path) + (path.read_text(errors="replace") if path.is_file() else "")
pathlib.Path(LOG).write_text(given)
print("done")
"""


def test_a_target_learns_nothing_of_how_it_is_judged(tmp_path: Path) -> None:
    """Neither rubric, reference nor check: not in what it reads, its words, its
    variables or its folder.
    """
    desk = Desk.new(tmp_path)
    desk.put("t.py", LEARNS.replace("LOG", repr(str(desk.folder / "given"))))
    desk.put("fix/notes.txt", "a file of the workspace\n")
    desk.put(
        "s.yaml",
        f"suite: 1\ntarget: cmd:{PYTHON} {desk.folder / 't.py'}\ncases:\n  - id: a\n    input: Go ahead.\n"
        "    reference: secret-reference\n    workspace: {copy: fix}\n    rubric: [It names the secret-item]\n"
        "    checks: [{contains: secret-check}]\n",
    )
    judge = desk.judge("secret-judge.py", True)
    desk.run("eval", "s.yaml", "--json", "--judge", judge)
    given = desk.read("given")
    assert "Go ahead." in given and "a file of the workspace" in given
    assert "secret" not in given


def test_a_failed_target_has_no_score(tmp_path: Path) -> None:
    """What it printed before it failed would pass."""

    def build(desk: Desk) -> None:
        desk.put("t.py", "import sys\nprint('good')\nsys.exit(1)\n")
        desk.put(
            "s.yaml",
            f"suite: 1\ntarget: cmd:{PYTHON} {desk.folder / 't.py'}\ncases: [{{id: a, input: x, checks: [{{contains: good}}]}}]\n",
        )

    Attack(
        name="a target that fails",
        hole=13,
        build=build,
        command=("eval", "s.yaml", "--json"),
        exit=3,
        expect={"cases.0.score": None},
    ).run(tmp_path)


def test_a_worker_that_only_says_so_changed_nothing(tmp_path: Path) -> None:
    """Its words and its exit code count for nothing."""

    def build(desk: Desk) -> list[str]:
        desk.put("art/README.md", "x\n")
        desk.put(
            "r.yaml",
            "rubric: 1\ncriteria: [{id: more, requirement: It has more, check: {contains: more-words, path: README.md}}]\n",
        )
        body = "print('changed README.md: more-words')\n"
        return ["--worker", desk.worker(body)]

    Attack(
        name="a worker that only says so",
        hole=13,
        build=build,
        command=(*("improve", "art", "--rubric", "r.yaml"), *("--rounds", "1", "--json")),
        exit=1,
        expect={"rounds.0.outcome": "unchanged"},
        after=lambda desk, ended: desk.read("art/README.md") == "x\n",
    ).run(tmp_path)
