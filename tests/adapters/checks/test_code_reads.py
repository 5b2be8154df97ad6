"""Files that code names and reads: what is found in it without running it."""

from __future__ import annotations

import pytest

from honestone.adapters.checks.code_reads import code_reads
from honestone.core.checking.script import Script

IN_FILE = Script(language="python", file="grade.py", function="grade")


def names(script: Script, source: str) -> list[tuple[str, bool]]:
    return [(one.name, one.of_file) for one in code_reads(script, source)]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("open('a.json').read() == output", ["a.json"]),
        ("json.load(open('a.json', encoding='utf-8'))['x'] in output", ["a.json"]),
        ("\n    with open('a.txt', 'rb') as file:\n        return file.read()\n", ["a.txt"]),
        ("import pathlib\nreturn pathlib.Path('d', 'a.txt').read_text() == output", ["d/a.txt"]),
        ("open('a.txt', 'w').write(output)", []),
        ("open(context['vars']['path']).read()", []),
        ("open(f'{output}.txt')", []),
        ("open(output)", []),
        ("open('a.txt', mode)", []),
        ("import os\nreturn os.path.exists('a.txt') and open('a.txt').read()", []),
        ("try:\n    return open('a.txt').read()\nexcept OSError:\n    return False", []),
        ("open('a.txt', 'w').write('x')\nreturn open('a.txt').read()", []),
        ("import pandas as pd\nreturn len(pd.read_csv('https://host/a.csv'))", []),
        ("import pandas as pd\nreturn len(pd.read_csv('a.csv'))", ["a.csv"]),
        ("output ==", []),
        ("Path(__file__).read_text()", []),
    ],
)
def test_code_in_a_suite(code: str, found: list[str]) -> None:
    """Its paths are relative to where it runs."""
    script = Script(language="python", code=code)
    assert names(script, code) == [(name, False) for name in found]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("'a.txt'", ("a.txt", False)),
        ("Path(__file__).parent / 'a.txt'", ("a.txt", True)),
        ("Path(__file__).resolve().parents[1] / 'd' / 'a.txt'", ("../d/a.txt", True)),
        ("os.path.join(os.path.dirname(os.path.abspath(__file__)), 'a.txt')", ("a.txt", True)),
        ("Path(__file__).with_name('a.txt')", ("a.txt", True)),
        ("Path(__file__).parent.joinpath('d', 'a.txt')", ("d/a.txt", True)),
        ("HERE / 'a.txt'", ("a.txt", True)),
        ("Path(__file__).parent / '/etc/a.txt'", ("/etc/a.txt", False)),
        ("OTHER / 'a.txt'", None),
    ],
)
def test_code_in_a_file(path: str, found: tuple[str, bool] | None) -> None:
    """Its paths may be relative to the file."""
    source = (
        f"HERE = Path(__file__).parent\n\ndef grade(output, context):\n    return open({path})\n"
    )
    assert names(IN_FILE, source) == ([] if found is None else [found])
    assert [one.line for one in code_reads(IN_FILE, source)] == ([] if found is None else [4])


def test_what_is_not_run_reads_nothing() -> None:
    """A function that the check does not call, and what runs where the file is a program."""
    source = (
        "def other():\n    return open('other.txt')\n\n"
        "def helper():\n    return open('helper.txt')\n\n"
        "def grade(output, context):\n    return helper().read() == output\n\n"
        "if __name__ == '__main__':\n    open('main.txt')\n"
    )
    assert names(IN_FILE, source) == [("helper.txt", False)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("module.exports = (o) => o === fs.readFileSync('a.txt', 'utf8')", [("a.txt", False)]),
        ("fs.readFileSync(path.join(__dirname, 'a.txt'))", [("a.txt", True)]),
        ("const words = require('./words.json')", [("./words.json", True)]),
        ("const helper = require('./helper')", []),
        ("const fs = require('fs')", []),
        ("// fs.readFileSync('a.txt')\n/* require('./b.json') */", []),
        ("if (fs.existsSync('a.txt')) fs.readFileSync('a.txt')", []),
        ("try { fs.readFileSync('a.txt') } catch { return false }", []),
        ("fs.readFileSync(`${name}.txt`)", []),
    ],
)
def test_javascript(source: str, found: list[tuple[str, bool]]) -> None:
    assert names(Script(language="javascript", file="grade.js"), source) == found


BODY = "def grade(output, context):\n"


@pytest.mark.parametrize(
    "source",
    [
        BODY + "    if context:\n        return open('a.csv').read() == output\n",
        BODY + "    if not output:\n        return False\n    return open('a.csv').read()\n",
        BODY + "    return open('a.csv').read() if output else False\n",
        BODY + "    return output and open('a.csv').read()\n",
        BODY + "    return 1 < len(output) < len(open('a.csv').read())\n",
        BODY + "    for word in output:\n        open('a.csv')\n",
        BODY + "    while output:\n        open('a.csv')\n",
        BODY + "    match output:\n        case 'x':\n            open('a.csv')\n",
        BODY + "    return [open('a.csv') for word in output]\n",
        BODY + "    def later():\n        return open('a.csv')\n    return True\n",
        BODY + "    later = lambda: open('a.csv')\n    return True\n",
        BODY + "    path = 'data'\n    path += '.csv'\n    return open(path).read()\n",
        BODY + "    path = 'data'\n    path: str = output\n    return open(path).read()\n",
        BODY + "    path = 'data'\n    for path in output:\n        pass\n    open(path)\n",
        BODY + "    path = 'data'\n    path, rest = output\n    open(path)\n",
        BODY + "    path = 'data'\n    print(path := output)\n    open(path)\n",
        BODY + "    path = 'data'\n    [len(path) for path in output]\n    open(path)\n",
        "path = 'data'\n\ndef grade(path, context):\n    return open(path).read()\n",
        "def other():\n    path = 'data'\n\n" + BODY + "    return open(path).read()\n",
        "import subprocess\nsubprocess.run(['make'])\n" + BODY + "    return open('a.csv')\n",
        BODY + "    frame.to_csv('a.csv')\n    return open('a.csv').read()\n",
        BODY + "    with open('a.csv', 'w') as file:\n        pass\n    open('a.csv')\n",
        BODY + "    Path('b.csv').replace('a.csv')\n    open('a.csv')\n",
        "import shutil\n" + BODY + "    shutil.copy('b.csv', 'a.csv')\n    open('a.csv')\n",
        "import makes\n" + BODY + "    open('a.csv')\n",
        "from shutil import copy as print\n" + BODY + "    print('b', 'a')\n    open('a')\n",
        "def open(path):\n    return path\n\n" + BODY + "    return open('a.csv')\n",
        "from tools import open\n" + BODY + "    return open('a.csv')\n",
        "@skipped\n" + BODY + "    return open('a.csv')\n",
        BODY + "    yield open('a.csv')\n",
        BODY + "    with forgiving():\n        open('a.csv')\n",
        BODY + "    assert output\n    open('a.csv')\n",
        "path = 'a'\ndef set():\n    global path\n    path = 'b'\n" + BODY + "    open(path)\n",
    ],
)
def test_what_is_not_sure_is_no_read(source: str) -> None:
    """Code that may never be run, names that may stand for something else, files that the code may
    have made: none of it is refused.
    """
    assert names(IN_FILE, source) == []


@pytest.mark.parametrize(
    "source",
    [
        "import json\n" + BODY + "    data = json.loads(open('a.csv').read())\n",
        BODY + "    words = output.strip().split()\n    if words:\n        words.sort()\n"
        "    return open('a.csv').read() in words\n",
        BODY + "    for line in open('a.csv'):\n        print(line)\n",
        "NAME = 'a.csv'\n\ndef grade(output, context):\n    name = NAME\n    return open(name)\n",
        BODY + "    return open('a.csv').read() and open('b.csv')\n",
        BODY + "    open('a.csv')\n    make()\n    open('b.csv')\n",
        "class grade:\n    def evaluate(self, ctx):\n        return open('a.csv').read()\n",
    ],
)
def test_what_is_always_run_is_a_read(source: str) -> None:
    assert names(IN_FILE, source) == [("a.csv", False)]


@pytest.mark.parametrize(
    "source",
    [
        "module.exports = (o) => o.length > 3 ? fs.readFileSync('a.txt', 'utf8') : ''",
        "module.exports = (o) => o && fs.readFileSync('a.txt')",
        "module.exports = (o) => { if (!o) return 1; return fs.readFileSync('a.txt') }",
        "module.exports = (o) => { for (const w of o) fs.readFileSync('a.txt') }",
        "const later = () => fs.readFileSync('a.txt')\nmodule.exports = (o) => true",
        "module.exports = (o) => o.map((w) => fs.readFileSync('a.txt'))",
        "fs.writeFileSync('a.txt', 'x')\nfs.readFileSync('a.txt')",
        "require('child_process').execSync('make')\nfs.readFileSync('a.txt')",
        "const make = require('./make')\nfs.readFileSync('a.txt')",
        "module.exports = { later() { return fs.readFileSync('a.txt') } }",
        "const say = `${fs.readFileSync('a.txt')}`",
        "const text = \"fs.readFileSync('a.txt')\"",
    ],
)
def test_javascript_that_is_not_sure(source: str) -> None:
    assert names(Script(language="javascript", file="grade.js"), source) == []


def test_javascript_calls_the_function_that_the_check_names() -> None:
    source = "function grade(output) { return output == fs.readFileSync('a.txt') }"
    for name, found in {"grade": [("a.txt", False)], "other": []}.items():
        script = Script(language="javascript", file="grade.js", function=name)
        assert names(script, source) == found
