"""Files that judge are a fixed set: a proposal that adds, changes or removes one is out of scope."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from .corpus import Attack, Desk, Ended

GREEN = "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem): return True\n"
RUBRIC = """\
rubric: 1
threshold: 50
floor: 0
criteria:
  - {id: more, requirement: It has more, check: {contains: more-words, path: README.md}}
  - {id: works, requirement: It works, required: true, check: CHECK}
"""
SAY = "(a / 'README.md').write_text('more-words\\n')\n"
IN_TESTS = "{pytest: art/tests/test_app.py}"


def looped(
    name: str,
    body: str,
    outcome: str = "out-of-scope",
    *,
    check: str = IN_TESTS,
    path: str = "",
    **files: str,
) -> Attack:
    """A loop whose worker adds the words asked for and does `body`; `path` is what must not be
    delivered.
    """

    def build(desk: Desk) -> Iterable[str]:
        desk.put("art/app.py", "def add(a, b): return 0\n")
        desk.put("art/README.md", "x\n")
        desk.put("art/tests/test_app.py", "import app\ndef test_add(): assert app.add(1, 2) == 3\n")
        desk.put("art/helper.py", "two = 2\n")
        desk.put("r.yaml", RUBRIC.replace("CHECK", check))
        for key, text in files.items():
            desk.put(key.replace("__", "/").replace("_DOT_", "."), text)
        return ["--worker", desk.worker(SAY + body)]

    def after(desk: Desk, ended: Ended) -> bool:
        is_as_it_was = desk.read("art/README.md") == "x\n" and not (
            path and desk.has(f"art/{path}")
        )
        return is_as_it_was if outcome == "out-of-scope" else True

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
    passes = outcome == "changed"
    return Attack(
        name=name,
        hole=1,
        build=build,
        command=command,
        exit=0 if passes else 1,
        expect={"rounds.0.outcome": outcome, **({"result": "PASSED"} if passes else {})},
        after=after,
    )


def adds(name: str, text: str = "", **more: str) -> Attack:
    """A worker that adds one file."""
    write = (
        f"p = a / {name!r}; p.parent.mkdir(parents=True, exist_ok=True); p.write_text({text!r})\n"
    )
    return looped(f"a new {name} with {more.get('check', IN_TESTS)}", write, path=name, **more)


MEND = "(a / 'app.py').write_text('def add(a, b): return a + b\\n')\n"
FOLDER = "{pytest: art/tests}"
OWN = "{pytest: own/test_own.py}"
OWN_TEST = "import app\ndef test_add(): assert app.add(1, 2) == 3\n"
COMMAND = "{command: python -m pytest -q}"
CHECKED = "{python: 'checks:good'}"
ATTACKS = [
    looped("honest code mended", MEND, "changed"),
    looped(
        "honest code in a new module",
        "(a / 'plus.py').write_text('def add(a, b): return a + b\\n')\n(a / 'app.py').write_text('from plus import add\\n')\n",
        "changed",
    ),
    looped(
        "honest change of settings that say nothing of tests",
        MEND + "(a / 'pyproject.toml').write_text('[project]\\nname = \"x\"\\n')\n",
        "changed",
    ),
    looped(
        "honest conftest where the tests are elsewhere",
        MEND + "(a / 'deep').mkdir(); (a / 'deep/conftest.py').write_text('')\n",
        "changed",
        check="{pytest: own/test_app.py}",
        own__test_app_DOT_py=OWN_TEST,
    ),
    adds("tests/conftest.py", GREEN),
    adds("tests/app.py", "def add(a, b): return 3\n"),
    adds("tests/pytest.ini", "[pytest]\naddopts = --collect-only\n"),
    adds("tests/pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--collect-only'\n"),
    adds("tests/tox.ini", "[pytest]\naddopts = --collect-only\n"),
    adds("tests/x.pth", "import os; os._exit(0)\n"),
    adds("conftest.py", GREEN),
    adds("pytest.ini", "[pytest]\naddopts = --collect-only\n"),
    adds("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--collect-only'\n"),
    adds("setup.cfg", "[tool:pytest]\naddopts = --collect-only\n"),
    adds("sitecustomize.py", "import os\nos._exit(0)\n"),
    adds("deep/usercustomize.py", "import os\nos._exit(0)\n"),
    adds("evil.pth", "import os\n"),
    adds("statistics.py", "mean = min\n"),
    adds("src/unittest/__init__.py", ""),
    adds("pytest.py", "def main(*a, **k): return 0\n"),
    adds("_pytest/__init__.py", ""),
    adds("test_app.py", "def test_add(): pass\n"),
    adds("tests/sub/conftest.py", GREEN, check=FOLDER),
    adds("tests/data.json", "{}", check=FOLDER),
    adds("conftest.py", GREEN, check=COMMAND),
    adds("sub/conftest.py", GREEN, check=COMMAND),
    adds("tox.ini", "[pytest]\naddopts = --collect-only\n", check=COMMAND),
    looped(
        "the test itself changed",
        "(a / 'tests/test_app.py').write_text('def test_add(): pass\\n')\n",
    ),
    looped("the test itself removed", "(a / 'tests/test_app.py').unlink()\n"),
    looped("the folder of tests removed", "shutil.rmtree(a / 'tests')\n", check=FOLDER),
    looped(
        "a conftest removed",
        "(a / 'tests/conftest.py').unlink()\n",
        art__tests__conftest_DOT_py="# strict\n",
    ),
    looped(
        "a conftest changed",
        f"(a / 'tests/conftest.py').write_text({GREEN!r})\n",
        art__tests__conftest_DOT_py="# strict\n",
    ),
    looped(
        "a pytest.ini changed",
        "(a / 'pytest.ini').write_text('[pytest]\\naddopts = -k none\\n')\n",
        art__pytest_DOT_ini="[pytest]\n",
    ),
    looped(
        "tests that only the artifact has",
        "(a / 'own/test_own.py').write_text('def test_add(): pass\\n')\n",
        check=OWN,
        art__own__test_own_DOT_py=OWN_TEST,
    ),
    looped(
        "a conftest beside tests that only the artifact has",
        f"(a / 'own/conftest.py').write_text({GREEN!r})\n",
        check=OWN,
        art__own__test_own_DOT_py=OWN_TEST,
    ),
    looped(
        "the function of a python check",
        "(a / 'checks.py').write_text('def good(text): return True\\n')\n",
        check=CHECKED,
        art__checks_DOT_py="def good(text): return False\n",
    ),
    looped(
        "a package in place of the module of a python check",
        "(a / 'checks').mkdir()\n(a / 'checks/__init__.py').write_text('def good(text): return True\\n')\n",
        check=CHECKED,
        art__checks_DOT_py="def good(text): return False\n",
    ),
    looped(
        "the schema",
        "(a / 's.json').write_text('true')\n",
        check="{json-schema: s.json, path: README.md}",
        art__s_DOT_json="false",
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)


def test_another_conftest_is_another_contract(tmp_path: Path) -> None:
    """What judges is a part of the contract, by name and digest."""
    contracts = []
    for number, text in enumerate(("", "# of the team\n")):
        desk = Desk.new(tmp_path / str(number))
        desk.put("art/app.py", "def add(a, b): return 3\n")
        desk.put("art/README.md", "x\n")
        desk.put("art/tests/test_app.py", OWN_TEST)
        desk.put("r.yaml", RUBRIC.replace("CHECK", IN_TESTS))
        if text:
            desk.put("art/tests/conftest.py", text)
        contracts.append(desk.run("eval", "art", "--rubric", "r.yaml", "--json").json["contract"])
    assert contracts[0] != contracts[1]
