"""Code under test does not answer for its tests, nor files of the artifact for the library that a
command names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent, indent

import pytest

from .corpus import PYTHON, Attack, files

WRONG = "def add(a, b): return 0\n"
RIGHT = "def add(a, b): return a + b\n"
TEST = "import app\ndef test_add(): assert app.add(1, 2) == 3\n"
TWO_TESTS = TEST + "def test_more(): assert app.add(2, 2) == 4\n"
EVAL = ("eval", "art", "--rubric", "r.yaml", "--json")
VERDICTS = {0: "pass", 1: "fail", 3: "inconclusive"}
GREEN = "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem): return True\n"


def rubric(check: str) -> str:
    return f"rubric: 1\ncriteria: [{{id: works, requirement: It works, check: {check}}}]\n"


def checked(
    name: str, code: str, exit: int, test: str = TEST, more: Mapping[str, str] | None = None
) -> Attack:
    """A pytest check of `app.py`; `more` are files of the desk by name."""
    parts = {
        "art/app.py": dedent(code),
        "tests/test_app.py": test,
        "r.yaml": rubric("{pytest: tests/test_app.py}"),
    }
    build = files(parts | dict(more or {}))
    return Attack(
        name=name, hole=4, build=build, command=EVAL, exit=exit, expect={"verdict": VERDICTS[exit]}
    )


def commanded(name: str, words: str, exit: int, **art: str) -> Attack:
    """A command check; the files of the artifact by name, `__` for a slash, without `.py`."""
    parts = {
        f"art/{key.replace('__', '/')}.py": text
        for key, text in ({"app": "def (:\n"} | art if "app__tool" not in art else art).items()
    }
    build = files(parts, {"r.yaml": rubric(f"{{command: {words}}}")})
    return Attack(
        name=name, hole=4, build=build, command=EVAL, exit=exit, expect={"verdict": VERDICTS[exit]}
    )


def in_test(body: str) -> str:
    """The same code, run by the test and not on import."""
    return f"def add(a, b):\n{indent(dedent(body), '    ')}    return 0\n"


LEAVE = "import os\nfor fd in range(3, 40):\n    try: os.write(fd, b'{\"exit\": 0}')\n    except OSError: pass\nos._exit(0)\n"
GUESS = """\
import os, pathlib
for place in (pathlib.Path(os.environ["HONESTONE_ARTIFACT"]).parent, pathlib.Path(os.environ["TMPDIR"])):
    for name in ("answer", "answer.json", "report.xml", "result"):
        try: (place / name).write_text("{'exit': 0, 'passed': 1, 'collected': 1}")
        except OSError: pass
"""
MARK = "import sys, pytest\nframe = sys._getframe()\nwhile not frame.f_globals['__name__'].startswith('test'):\n    frame = frame.f_back\n"
ITEMS = "import gc, _pytest.python as p\nitems = [one for one in gc.get_objects() if isinstance(one, p.Function)]\n"
MANAGER = "import gc, _pytest.config as c\nmanager = next(o for o in gc.get_objects() if isinstance(o, c.PytestPluginManager))\n"
BESIDE = "import pathlib, sys\nhere = pathlib.Path(sys.argv[0]) if 0 else pathlib.Path(__file__).resolve().parent.parent / 'extra'\n"
HONEST = (
    TEST
    + """\
import pytest
@pytest.mark.parametrize("n", [1, 2, 3])
def test_each(n): assert app.add(n, n) == 2 * n
class TestIt:
    def test_files(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr("builtins.print", lambda *a: None)
        (tmp_path / "f").write_text("x"); print("noise")
import unittest
class Old(unittest.TestCase):
    def setUp(self): self.one = 1
    def test_old(self):
        with self.assertRaises(TypeError): app.add(self.one, "x")
"""
)

PYTEST = (
    checked("honest code passes", RIGHT, 0),
    checked("honest tests of every kind", RIGHT, 0, HONEST),
    checked(
        "honest code that writes to stdout itself", f"import os\nos.write(1, b'noise')\n{RIGHT}", 0
    ),
    checked(
        "honest code that ends badly after its tests",
        f"import atexit, os\natexit.register(os._exit, 9)\n{RIGHT}",
        0,
    ),
    checked("code that fails its test", WRONG, 1),
    # A result of its own.
    checked("an answer on every descriptor on import", LEAVE, 3),
    checked("an answer on every descriptor in the test", in_test(LEAVE), 3),
    checked("an answer in files with likely names", GUESS + WRONG, 1),
    checked("os._exit on import", "import os\nos._exit(0)\n", 3),
    checked("os._exit in the test", in_test("import os\nos._exit(0)\n"), 3),
    checked(
        "os._exit when the run ends", f"import atexit, os\natexit.register(os._exit, 0)\n{WRONG}", 1
    ),
    checked("SystemExit on import", "raise SystemExit(0)\n", 3),
    checked("SystemExit in the test", in_test("raise SystemExit(0)\n"), 1),
    checked("KeyboardInterrupt in the test", in_test("raise KeyboardInterrupt\n"), 3),
    checked("pytest.exit on import", "import pytest\npytest.exit('done', returncode=0)\n", 3),
    checked(
        "pytest.exit in the test", in_test("import pytest\npytest.exit('done', returncode=0)\n"), 3
    ),
    checked("a signal that ends the run", in_test("import os\nos.kill(os.getpid(), 15)\n"), 3),
    checked(
        "another program in place of the run",
        in_test("import os\nos.execv('/bin/true', ['true'])\n"),
        3,
    ),
    checked("os.write that writes nothing", f"import os\nos.write = lambda *a: 0\n{WRONG}", 1),
    checked(
        "json.dumps that says yes", f"import json\njson.dumps = lambda *a, **k: '{{}}'\n{WRONG}", 1
    ),
    # Tests that did not happen.
    checked("pytest.skip", in_test("import pytest\npytest.skip('no')\n"), 1),
    checked("pytest.xfail", in_test("import pytest\npytest.xfail('no')\n"), 1),
    checked(
        "pytest.importorskip", in_test("import pytest\npytest.importorskip('no_such_module')\n"), 1
    ),
    checked("unittest.SkipTest", in_test("import unittest\nraise unittest.SkipTest('no')\n"), 1),
    checked(
        "one test of two skipped",
        "import pytest\ndef add(a, b): return 3 if a == 1 else pytest.skip('no')\n",
        1,
        TWO_TESTS,
    ),
    checked(
        "a skip of the whole module",
        "import pytest\npytest.skip('no', allow_module_level=True)\n",
        3,
    ),
    checked(
        "a mark put on the module of the tests",
        f"{MARK}frame.f_globals['pytestmark'] = pytest.mark.skip\n{WRONG}",
        1,
    ),
    checked(
        "a failure that is expected",
        f"{MARK}frame.f_globals['pytestmark'] = pytest.mark.xfail\n{WRONG}",
        1,
    ),
    checked(
        "a test that only passes unexpectedly",
        f"{MARK}frame.f_globals['pytestmark'] = pytest.mark.xfail\n{RIGHT}",
        1,
    ),
    checked("no test at all", RIGHT, 3, "import app\n"),
    checked(
        "tests that hide as no tests", f"{MARK}frame.f_globals['__test__'] = False\n{WRONG}", 3
    ),
    checked(
        "tests deselected by a setting of theirs",
        RIGHT,
        1,
        TWO_TESTS,
        {"r.yaml": rubric("{pytest: tests}"), "tests/pytest.ini": "[pytest]\naddopts = -k more\n"},
    ),
    # The runner, replaced.
    checked(
        "Function.runtest",
        f"import _pytest.python as p\np.Function.runtest = lambda self: None\n{WRONG}",
        3,
    ),
    checked(
        "the code of Function.runtest",
        f"import _pytest.python as p\np.Function.runtest.__code__ = (lambda self: None).__code__\n{WRONG}",
        3,
    ),
    checked(
        "a method of pytest that does less",
        f"import _pytest.python as p\np.Function.runtest = p.Function.__repr__\n{WRONG}",
        3,
    ),
    checked(
        "a runner that puts itself back",
        "import _pytest.python as p\nreal = p.Function.runtest\ndef none(self): p.Function.runtest = real\np.Function.runtest = none\n"
        + WRONG,
        3,
    ),
    checked(
        "pytest patched when the first test runs",
        in_test("import _pytest.python as p\np.Function.runtest = lambda self: None\n").replace(
            "return 0", "return 3"
        ),
        3,
        TWO_TESTS,
    ),
    checked(
        "a call that never fails",
        f"import _pytest.runner as r\nr.CallInfo.from_call = classmethod(lambda c, f, when, reraise=None: c(None, None, 0, 0, 0, when, _ispytest=True))\n{WRONG}",
        3,
    ),
    checked(
        "a report that always passed",
        f"import _pytest.reports as r\nreal = r.TestReport.from_item_and_call\ndef good(i, c):\n    c.excinfo = None\n    return real(i, c)\nr.TestReport.from_item_and_call = good\n{WRONG}",
        3,
    ),
    checked(
        "an outcome that is a property",
        f"import _pytest.reports as r\nr.TestReport.outcome = property(lambda s: 'passed', lambda s, v: None)\n{WRONG}",
        3,
    ),
    checked(
        "a hook of the manager replaced",
        f"import pluggy._hooks as h\nh.HookCaller.__call__ = lambda self, **k: []\n{WRONG}",
        3,
    ),
    checked(
        "a plugin registered on import",
        f"{MANAGER}class P:\n    def pytest_pyfunc_call(self, pyfuncitem): return True\nmanager.register(P())\n{WRONG}",
        3,
    ),
    checked(
        "runtest of the next item",
        in_test(f"{ITEMS}for one in items: one.runtest = lambda: None\n").replace(
            "return 0", "return 3"
        ),
        3,
        TWO_TESTS,
    ),
    checked(
        "the code of the next test",
        in_test(
            f"{ITEMS}for one in items: one.function.__code__ = (lambda: None).__code__\n"
        ).replace("return 0", "return 3"),
        3,
        TWO_TESTS,
    ),
    checked(
        "pytest.raises that expects nothing",
        f"import contextlib, pytest\npytest.raises = lambda *a, **k: contextlib.nullcontext()\n{WRONG}",
        3,
        "import app, pytest\ndef test_bad():\n    with pytest.raises(TypeError): app.add(1, 'x')\n",
    ),
    checked(
        "pytest.approx that is close to all",
        f"import pytest\nclass Any:\n    def __init__(self, *a): pass\n    def __eq__(self, o): return True\npytest.approx = Any\n{WRONG}",
        3,
        "import app, pytest\ndef test_add(): assert pytest.approx(3) == app.add(1, 2)\n",
    ),
    checked(
        "builtins.isinstance that lies",
        f"import builtins\nreal = builtins.isinstance\nbuiltins.isinstance = lambda a, b: real(a, b)\n{WRONG}",
        3,
    ),
    checked(
        "a tracer that jumps over the assertion",
        "import sys\nsys.settrace(lambda *a: None)\n" + RIGHT,
        3,
    ),
    # Files of the tests.
    checked(
        "a conftest written while tests are collected",
        f"{BESIDE}(here / 'conftest.py').write_text({GREEN!r})\n{WRONG}",
        3,
    ),
    checked(
        "the next test file written anew",
        f"{BESIDE}(here / 'tests/test_more.py').write_text('def test_more(): pass')\n{RIGHT}",
        3,
        TEST,
        {
            "r.yaml": rubric("{pytest: tests}"),
            "tests/test_more.py": "import app\ndef test_more(): assert app.add(1, 1) == 3\n",
        },
    ),
    checked(
        "the test itself written anew",
        f"{BESIDE}(here / 'test_app.py').write_text('def test_add(): pass')\n{WRONG}",
        3,
    ),
    checked("a conftest of the artifact", WRONG, 1, TEST, {"art/conftest.py": GREEN}),
    checked(
        "a pytest.ini of the artifact",
        WRONG,
        1,
        TEST,
        {"art/pytest.ini": "[pytest]\naddopts = --collect-only\n"},
    ),
    checked(
        "an entry point of the artifact",
        WRONG,
        1,
        TEST,
        {
            "art/evil-1.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
            "art/evil-1.dist-info/METADATA": "Name: evil\nVersion: 1\n",
            "art/evil.py": GREEN,
        },
    ),
    checked(
        "a pytest module of the artifact",
        WRONG,
        1,
        TEST,
        {"art/pytest.py": "def main(*a, **k): return 0\n"},
    ),
    checked(
        "a sitecustomize of the artifact",
        WRONG,
        1,
        TEST,
        {"art/sitecustomize.py": "import os\nos._exit(0)\n"},
    ),
)

FINE = "print('fine')\n"
COMMANDS = (
    commanded("python -m of the library passes", "python -m py_compile app.py", 0, app="x = 1\n"),
    commanded(
        "python -m of the artifact's own package passes",
        "python -m app.tool",
        0,
        app____init__="",
        app__tool=FINE,
    ),
    commanded("python -m of the artifact's own module passes", "python -m app", 0, app=FINE),
    commanded(
        "a script of the artifact imports its neighbour",
        "python run.py",
        0,
        run="import calendar\ncalendar.mine\n",
        calendar="mine = 1\n",
    ),
    commanded("py_compile.py", "python -m py_compile app.py", 1, py_compile=FINE),
    commanded("py_compile.py for python3", "python3 -m py_compile app.py", 1, py_compile=FINE),
    commanded(
        "py_compile.py for a path to Python", f"{PYTHON} -m py_compile app.py", 1, py_compile=FINE
    ),
    commanded(
        "py_compile.py and options", "python -B -W ignore -m py_compile app.py", 1, py_compile=FINE
    ),
    commanded("py_compile.py and one word", "python -Bmpy_compile app.py", 1, py_compile=FINE),
    commanded(
        "py_compile.py through a shell",
        "[sh, -c, 'python -m py_compile app.py']",
        1,
        py_compile=FINE,
    ),
    commanded("py_compile.py through env", "env python -m py_compile app.py", 1, py_compile=FINE),
    commanded(
        "a package of that name",
        "python -m py_compile app.py",
        1,
        py_compile____main__=FINE,
        py_compile____init__="",
    ),
    commanded(
        "what the library module imports",
        "python -m py_compile app.py",
        1,
        argparse="raise SystemExit(0)\n",
        traceback="raise SystemExit(0)\n",
    ),
    commanded("json.py for json.tool", "python -m json.tool app.py", 1, json=FINE),
    commanded(
        "json/tool.py for json.tool",
        "python -m json.tool app.py",
        1,
        json____init__="",
        json__tool=FINE,
    ),
    commanded("compileall.py", "python -m compileall -q app.py", 1, compileall=FINE),
    commanded(
        "unittest.py",
        "python -m unittest app",
        1,
        unittest=FINE,
        app="import unittest\nclass T(unittest.TestCase):\n    def test(self): self.fail()\n",
    ),
    commanded(
        "json.py for python -c",
        "[python, -c, 'import json; json.loads(open(\"app.py\").read())']",
        1,
        json="def loads(text): return 0\n",
    ),
    commanded(
        "a sitecustomize",
        "python -m py_compile app.py",
        1,
        sitecustomize="raise SystemExit(0)\n",
        usercustomize="raise SystemExit(0)\n",
    ),
    commanded("a module that is installed too", "python -m pytest --version", 3, pytest=FINE),
)


ATTACKS = (*PYTEST, *COMMANDS)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)
