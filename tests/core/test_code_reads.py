"""Files that code names and reads: what is found in it without running it."""

from __future__ import annotations

import pytest

from honestone.core.checking.code_reads import code_reads
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
