"""The contract is checked, not only hashed: what judges and changes where it is ends the loop, and
nothing is delivered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from .corpus import PYTHON, Attack, Desk, Ended, looked_up

ONE = "rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n"
MORE = "rubric: 1\nthreshold: 50\nfloor: 0\ncriteria:\n  - {id: more, requirement: It has more, check: {contains: more}}\n"
ADD = "a.write_text(a.read_text() + 'more\\n') if a.is_file() else (a / 'a.md').write_text('text more\\n')\n"
JUDGE = """\
import json, sys
from lib import said
q = json.load(sys.stdin)
print(json.dumps({"criteria": {c["id"]: {"met": said(q), "suggestion": "more"} for c in q["criteria"]}}))
"""


def looped(
    name: str,
    body: str,
    changed: str | None,
    *,
    setup: Callable[[Desk], Iterable[str]],
    art: str = "a.md",
) -> Attack:
    """A loop whose worker adds `more` and does `body` with the real `desk`; `changed` is the file
    that gives it away.
    """

    def build(desk: Desk) -> Iterable[str]:
        desk.put(art if art.endswith(".md") else f"{art}/a.md", "text\n")
        desk.put("notes.txt", "mine\n")
        desk.put("r.yaml", ONE)
        words = list(setup(desk))
        return ["--worker", desk.worker(ADD + body), *words]

    def after(desk: Desk, ended: Ended) -> bool:
        text = desk.read(art if art.endswith(".md") else f"{art}/a.md")
        names = [Path(str(one)).name for one in looked_up(ended.json, "changed") or []]
        return changed is None or (text == "text\n" and changed in names)

    expect = {"result": "PASSED" if changed is None else "CONTRACT_CHANGED"}
    return Attack(
        name=name,
        hole=2,
        build=build,
        command=(
            "improve",
            art,
            "--rubric",
            "r.yaml",
            "--rounds",
            "2",
            "--policy",
            "keep-best",
            "--json",
        ),
        exit=0 if changed is None else 3,
        expect=expect,
        after=after,
    )


def judges(
    panel: bool | str = False, holdout: bool | str = False
) -> Callable[[Desk], Iterable[str]]:
    return lambda desk: [
        "--judge",
        desk.judge("j.py", panel),
        "--holdout",
        desk.judge("h.py", holdout),
    ]


def with_library(desk: Desk) -> Iterable[str]:
    desk.put("lib.py", "from rules import good\ndef said(q): return good(str(q))\n")
    desk.put("rules.py", "def good(text): return False\n")
    desk.put("j.py", JUDGE)
    return [
        "--judge",
        f"script:{PYTHON} {desk.folder / 'j.py'}",
        "--holdout",
        desk.judge("h.py", True),
    ]


def reading(desk: Desk) -> Iterable[str]:
    """A judge that prints a file."""
    desk.put("m.py", "import sys\nprint(open(sys.argv[1]).read())\n")
    desk.put("answer.json", '{"criteria": {"good": {"met": false, "suggestion": "more"}}}')
    judge = f"script:{PYTHON} {desk.folder / 'm.py'} {desk.folder / 'answer.json'}"
    return ["--judge", judge, "--holdout", desk.judge("h.py", "more")]


def with_check(check: str, **files: str) -> Callable[[Desk], Iterable[str]]:
    def setup(desk: Desk) -> Iterable[str]:
        desk.put(
            "r.yaml",
            f"{MORE}  - {{id: works, requirement: It works, required: true, check: {check}}}\n",
        )
        for name, text in files.items():
            desk.put(name.replace("__", "/").replace("_DOT_", "."), text)
        return []

    return setup


def rewritten(*names: str) -> str:
    return f"for n in {names!r}:\n    p = desk / n\n    p.write_text(p.read_text().replace('False', 'True'))\n"


def put(name: str, text: str) -> str:
    return f"p = desk / {name!r}; p.parent.mkdir(exist_ok=True); p.write_text({text!r})\n"


TESTS = with_check(
    "{pytest: tests/test_it.py}", tests__test_it_DOT_py="def test_it(): assert False\n"
)
IN_MORE = {"setup": judges("more", "more")}
ATTACKS = [
    looped("honest loop", "", None, **IN_MORE),
    looped(
        "honest notes beside the judges",
        put("notes.txt", "new\n") + put("more.py", "x = 1\n"),
        None,
        **IN_MORE,
    ),
    looped(
        "honest log beside the judges", "(desk / 'log.txt').open('a').write('x')\n", None, **IN_MORE
    ),
    looped("both judges", rewritten("j.py", "h.py"), "j.py", setup=judges()),
    looped("the held-out judge alone", rewritten("h.py"), "h.py", setup=judges("more", False)),
    looped(
        "the judge made another file",
        "(desk / 'j.py').unlink()\n" + put("j.py", "print(1)\n"),
        "j.py",
        setup=judges(),
    ),
    looped(
        "a judge that is gone", "(desk / 'h.py').unlink()\n", "h.py", setup=judges("more", "more")
    ),
    looped(
        "a link in place of a judge",
        "(desk / 'j.py').rename(desk / 'k.py'); (desk / 'yes.py').write_text('')\n(desk / 'j.py').symlink_to('yes.py')\n",
        "j.py",
        setup=judges(),
    ),
    looped(
        "a module of a judge",
        put("lib.py", "def said(q): return True\n"),
        "lib.py",
        setup=with_library,
    ),
    looped(
        "a module of a module of a judge", rewritten("rules.py"), "rules.py", setup=with_library
    ),
    looped(
        "the program of a judge that reads", put("m.py", "print('yes')\n"), "m.py", setup=reading
    ),
    looped("what a judge reads", put("answer.json", "yes\n"), "answer.json", setup=reading),
    looped("the rubric", put("r.yaml", ONE + "threshold: 1\n"), "r.yaml", setup=judges()),
    looped(
        "a judge that says nothing any more",
        put("j.py", "print(1)\n") + "import time; time.sleep(0.1)\n",
        "j.py",
        setup=judges("more", "more"),
    ),
    looped("tests", put("tests/test_it.py", "def test_it(): pass\n"), "test_it.py", setup=TESTS),
    looped(
        "a new conftest beside the tests",
        put("tests/conftest.py", "collect_ignore = ['test_it.py']\n"),
        "conftest.py",
        setup=TESTS,
    ),
    looped(
        "the module of a python check",
        put("checks.py", "def good(text): return True\n"),
        "checks.py",
        setup=with_check("{python: 'checks:good'}", checks_DOT_py="def good(text): return False\n"),
    ),
    looped(
        "the program of a command check",
        put("check.py", ""),
        "check.py",
        setup=with_check("{command: python check.py}", check_DOT_py="raise SystemExit(1)\n"),
    ),
    looped(
        "a module of the program of a check",
        put("lib.py", "good = True\n"),
        "lib.py",
        setup=with_check(
            "{command: python check.py}",
            check_DOT_py="import lib, sys\nsys.exit(not lib.good)\n",
            lib_DOT_py="good = False\n",
        ),
    ),
    looped(
        "a grader",
        put("g.py", "print('{\"score\": 1}')\n"),
        "g.py",
        setup=with_check("{grader: python g.py}", g_DOT_py="print('{\"score\": 0}')\n"),
    ),
    looped(
        "a schema",
        put("s.json", "true"),
        "s.json",
        setup=with_check("{json-schema: s.json, path: a.md}", s_DOT_json="false"),
        art="art",
    ),
]


def in_suite(name: str, body: str, changed: str | None, check: str, **files: str) -> Attack:
    """A suite whose target does `body` to the real folder before it answers `text`; the judge says
    no to that.
    """

    def build(desk: Desk) -> Iterable[str]:
        for file, text in files.items():
            desk.put(file.replace("__", "/").replace("_DOT_", "."), text)
        desk.put("notes.txt", "mine\n")
        head = f"import pathlib, sys\ndesk = pathlib.Path({str(desk.folder)!r})\nsys.stdin.read()\n"
        desk.put("t.py", f"{head}{body}print('more' if {changed is None} else 'text')\n")
        desk.put(
            "s.yaml",
            f"suite: 1\ncases:\n  - {{id: a, input: hello, {check if check == GOOD else f'checks: [{check}]'}}}\n",
        )
        asked = ["--judge", desk.judge("j.py", "more")] if check == GOOD else []
        return ["--target", f"cmd:{PYTHON} {desk.folder / 't.py'}", *asked]

    def after(_: Desk, ended: Ended) -> bool:
        return changed is None or changed in ended.err

    exit = 0 if changed is None else 3
    return Attack(
        name=f"suite: {name}",
        hole=2,
        build=build,
        command=("eval", "s.yaml"),
        exit=exit,
        after=after,
    )


GOOD = "rubric: [It is good]"
SAYS_YES = put("j.py", "import json, sys\nq = json.load(sys.stdin)\n") + (
    "p.write_text(p.read_text() + \"print(json.dumps({'criteria': {c['id']: {'met': True} for c in q['criteria']}}))\\n\")\n"
)
ATTACKS += [
    in_suite("honest target", put("notes.txt", "new\n"), None, GOOD),
    in_suite(
        "honest target of a check",
        put("log.txt", "x"),
        None,
        "{command: python c.py}",
        c_DOT_py="print(1)\n",
    ),
    in_suite("the judge", SAYS_YES, "j.py", GOOD),
    in_suite("the judge's new module", put("json.py", "x = 1\n"), "json.py", GOOD),
    in_suite(
        "the program of a check",
        put("c.py", ""),
        "c.py",
        "{command: python c.py}",
        c_DOT_py="raise SystemExit(1)\n",
    ),
    in_suite(
        "a grader",
        put("g.py", "print('{\"score\": 1}')\n"),
        "g.py",
        "{grader: python g.py}",
        g_DOT_py="print('{\"score\": 0}')\n",
    ),
    in_suite(
        "a python check",
        put("checks.py", "def good(text): return True\n"),
        "checks.py",
        "{python: 'checks:good'}",
        checks_DOT_py="def good(text): return False\n",
    ),
    in_suite(
        "a check that is gone",
        "(desk / 'c.py').unlink()\n",
        "c.py",
        "{command: python c.py}",
        c_DOT_py="print(1)\n",
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)


def test_what_was_accepted_before_is_taken_back(tmp_path: Path) -> None:
    """The second round rewrites the judge: the artifact is the original again, and the record says
    so.
    """
    desk = Desk.new(tmp_path)
    desk.put("a.md", "text\n")
    items = ", ".join(
        f"{{id: i{n}, requirement: 'It says {n}', check: {{contains: word{n}}}}}" for n in (1, 2, 3)
    )
    desk.put(
        "r.yaml",
        f"rubric: 1\ncriteria: [{{id: c, requirement: All, items: [{items}]}}, {{id: good, requirement: Good}}]\n",
    )
    body = "n = a.read_text().count('word') + 1\na.write_text(a.read_text() + f'word{n}\\n')\nif n == 2: (desk / 'j.py').write_text('')\n"
    ended = desk.run(
        *("improve", "a.md", "--rubric", "r.yaml", "--policy", "plain", "--json"),
        *(
            "--worker",
            desk.worker(body),
            "--judge",
            desk.judge("j.py", True),
            "--holdout",
            desk.judge("h.py", True),
        ),
    )
    assert (ended.code, ended.json["result"], ended.json["best_round"]) == (
        3,
        "CONTRACT_CHANGED",
        0,
    ), ended
    assert [one["decision"] for one in ended.json["rounds"]] == ["accepted", "rejected"]
    assert desk.read("a.md") == "text\n"


def test_tests_that_the_code_rewrites_do_not_decide_an_eval(tmp_path: Path) -> None:
    """Without a sandbox the code under test reaches its tests on disk: the verdict is open, and the
    file is named.
    """
    desk = Desk.new(tmp_path)
    path = desk.put("tests/test_app.py", "import app\ndef test_add(): assert app.add(1, 2) == 3\n")
    desk.put(
        "art/app.py", f"open({str(path)!r}, 'a').write('# touched')\ndef add(a, b): return a + b\n"
    )
    desk.put(
        "r.yaml",
        "rubric: 1\ncriteria: [{id: c, requirement: r, check: {pytest: tests/test_app.py}}]\n",
    )
    ended = desk.run("eval", "art", "--rubric", "r.yaml", "--sandbox", "none", "--json")
    assert (ended.code, ended.json["verdict"]) == (3, "inconclusive"), ended
    assert "tests/test_app.py" in ended.json["reasons"][0]
