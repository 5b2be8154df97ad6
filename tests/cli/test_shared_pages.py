"""`show --format html` and `compare --format html`: one file of every kind of run that can be
passed on.
"""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.desk import Desk
from honestone.report.pages.sharing import last_part, without_commands, without_folders

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
RUBRIC = "rubric: 1\ntitle: Fruit\ncriteria:\n  - {id: a, requirement: names an apple}\n"
JUDGE = (
    "import json, sys\n"
    "q = json.load(sys.stdin)\n"
    "text = (q.get('artifact') or {}).get('text') or q.get('output') or ''\n"
    f"said = {{'met': 'apple' in text, 'evidence': 'apple', 'suggestion': {EVIL!r}}}\n"
    "print(json.dumps({'criteria': {c['id']: said for c in q['criteria']}}))\n"
)


class Elements(HTMLParser):
    """What a page is made of, and what it would load."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.links: list[str] = []
        self.policy = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.loads += [given[name] or "" for name in ("src", "action") if name in given]
        if tag == "link" or (tag == "a" and not (given.get("href") or "#").startswith("#")):
            self.loads.append(given.get("href") or "")
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given.get("content") or ""


def judge_of(desk: Desk) -> str:
    path = desk.file("tools/judge.py", JUDGE)
    return f"script:{sys.executable} {path} --key SECRET"


def shown(desk: Desk, *args: str) -> str:
    """The page, which holds no folder of this machine, no command line, and loads nothing."""
    done = desk.run(*args, "--format", "html")
    assert done.out.startswith("<!doctype html>"), done.err
    found = Elements(done.out)
    assert not found.loads
    assert "'sha256-" in found.policy
    assert "default-src 'none'" in found.policy
    assert found.tags.count("script") <= 1
    assert "img" not in found.tags
    for hidden in (str(desk.folder), str(desk.folder.resolve()), sys.prefix, "SECRET"):
        assert hidden not in done.out
    return done.out


def test_several_artifacts(desk: Desk) -> None:
    judge = judge_of(desk)
    desk.file("rubric.yaml", RUBRIC)
    for name, text in (
        ("one.md", f"an apple {EVIL}"),
        ("two.md", "a pear"),
        ("three.md", "apple pie"),
    ):
        desk.file(name, text)
    desk.run(
        "eval", "one.md", "two.md", "three.md", "--rubric", "rubric.yaml", "--judge", judge, "-q"
    )
    done = desk.run("show", "--format", "html")
    page = shown(desk, "show")
    assert "note: texts in this page: 3 texts that were judged, 3 quotes" in done.err
    assert "Texts in this file: 3 texts that were judged, 3 quotes" in page
    assert page.count("data-case=") == 3
    assert page.count('data-hs="text"') == 3
    assert "judge.py" in page
    assert page.count("<mark") == 2


def test_one_artifact(desk: Desk) -> None:
    desk.file("rubric.yaml", RUBRIC)
    desk.file("one.md", "an apple")
    desk.run("eval", "one.md", "--rubric", "rubric.yaml", "--judge", judge_of(desk), "-q")
    assert "the text of one.md (8 characters)" in shown(desk, "show")


@pytest.mark.slow
def test_suites_tables_and_comparisons(desk: Desk) -> None:
    case = {"rubric": [{"id": "a", "requirement": f"names an apple {EVIL}"}]}
    cases = [{"id": one, "input": f"{one} {EVIL}", **case} for one in ("fine", "wrong")]
    desk.file("suite.json", json.dumps({"suite": 1, "cases": cases}))
    targets = []
    for name in ("one", "two"):
        code = f"import sys\nif {name!r} == 'one': sys.exit(__file__)\nprint('apple', __file__)"
        targets.append(f"cmd:{sys.executable} {desk.file(f'tools/{name}.py', code)} SECRET")
    for target in targets:
        desk.run("eval", "suite.json", "--target", target, "--judge", judge_of(desk), "-q")
    runs = [run["id"] for run in json.loads(desk.run("runs", "--json").out)]
    assert "tools/one.py" in shown(desk, "show", runs[1])
    page = shown(desk, "show", runs[0])
    assert "Texts in this file: 2 inputs, 2 outputs, 2 quotes" in page
    assert "data-case" in shown(desk, "compare", runs[1], runs[0])
    desk.run(
        "eval",
        "suite.json",
        "--target",
        targets[0],
        "--target",
        targets[1],
        "--judge",
        judge_of(desk),
        "-q",
    )
    assert "2 inputs" in shown(desk, "show")


def test_a_loop(desk: Desk) -> None:
    judge = judge_of(desk)
    desk.file("rubric.yaml", RUBRIC)
    desk.file("draft.md", "a pear\n")
    worker = desk.file(
        "tools/work.py",
        "import os\nopen(os.environ['HONESTONE_ARTIFACT'], 'a').write('and an apple')",
    )
    asked = (
        "--rubric",
        "rubric.yaml",
        "--judge",
        judge,
        "--worker",
        f"cmd:{sys.executable} {worker} SECRET",
    )
    desk.run("improve", "draft.md", *asked, "--policy", "keep-best", "--rounds", "1", "-q")
    page = shown(desk, "show")
    assert "Texts in this file: 1 diff" in page
    assert "work.py" in page


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("script:python3 /home/me/judge.py --key 1", "judge.py"),
        ("cmd:/opt/tool/run", "run"),
        ("cmd:python3 -m tools.bot a=/b", "tools.bot"),
        ("cmd:'/a b/c d.sh' x", "c d.sh"),
        ("cmd:unclosed ' x", "unclosed"),
        ("openai/gpt-5", "openai/gpt-5"),
        ("human", "human"),
    ],
)
def test_command_lines_are_shown_by_their_last_part(name: str, short: str) -> None:
    assert last_part(name) == short


def test_two_that_end_alike_are_told_apart() -> None:
    names = [
        "script:python3 a/judge.py",
        "script:python3 b/judge.py",
        "script:python3 a/judge.py 2",
    ]
    assert (
        "".join(without_commands(["; ".join(names)], names))
        == "judge.py; judge.py (2); judge.py (3)"
    )


def test_looks_of_one_judge_keep_its_name() -> None:
    """Of 7 looks of 2 judges a page called the judges `judge.py` and `judge.py (5)`."""
    one, two = "script:python3 judge.py a", "script:python3 judge.py b"
    names = [one, f"{one}#2", f"{one}#3", two, f"{two}#2", "cmd:other --x#2"]
    page = "; ".join([*names, f"{two} (2 looks)"])
    assert "".join(without_commands([page], names)) == (
        "judge.py; judge.py#2; judge.py#3; judge.py (2); judge.py (2)#2; other; judge.py (2) (2 looks)"
    )
    # Also of a look whose first one is not among the names, as in a round of a loop.
    assert "".join(without_commands([f"{two} (look 2); {two}"], [one, f"{two} (look 2)"])) == (
        "judge.py (2) (look 2); judge.py (2)"
    )


@given(st.text(alphabet="ab/<&.- \n", max_size=60))
def test_folders_of_this_machine_are_left_out(text: str) -> None:
    here, home = Path("/zz/work"), Path("/zz")
    page = without_folders(f"/zz/work/{text} /zz/work {text}/zz/other /zz/workshop", here, home)
    assert "/zz/work/" not in page
    assert re.sub(r"/zz/work(?![\w.-])", "", page) == page
    assert page.endswith("…/other …/workshop")
