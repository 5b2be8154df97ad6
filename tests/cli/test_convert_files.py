"""`convert` to another folder: what the file names is copied there or named from there, so that it
loads and judges alike.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.app.convert import convert_suite
from honestone.interop.recognise import read_any_suite
from property_examples import examples

from .desk import PYTHON, Desk

GRADER = """\
import json, sys
from words import WANTED
request = json.load(sys.stdin)
print(json.dumps({"score": 1.0 if WANTED in request["output"] else 0.0}))
"""
SUITE = """\
suite: 1
cases:
  - id: a
    input: list files
    workspace: {{copy: ./template}}
    checks:
      - {{grader: [{python}, graders/grade.py]}}
      - {{json-schema: schema.json}}
"""


def project(desk: Desk) -> None:
    python = ", ".join(PYTHON.split()[:1])
    desk.file("in/s.yaml", SUITE.format(python=python))
    desk.file("in/template/seed.txt", '"seedword"\n')
    desk.file("in/template/inner/more.txt", "more\n")
    desk.file("in/graders/grade.py", GRADER)
    desk.file("in/graders/words.py", "WANTED = 'seedword'\n")
    desk.file("in/graders/other.py", "raise SystemExit('not imported')\n")
    desk.file("in/schema.json", '{"type": "string"}')


def verdicts(desk: Desk, suite: str) -> dict[str, str]:
    ended = desk.run("eval", suite, "--target", "cmd:cat seed.txt", "--json")
    assert ended.out, ended.err
    return {case["id"]: case["verdict"] for case in ended.json["cases"]}


@pytest.mark.parametrize("is_project", [False, True])
def test_a_converted_suite_judges_like_the_first(desk: Desk, is_project: bool) -> None:
    """Workspace, grader with the module that it imports, and schema: the same verdict from another
    folder, without an option, also when the folder that it came from is gone and the new one is no
    part of a project.
    """
    project(desk)
    if is_project:
        desk.file("honestone.toml", "")
    assert verdicts(desk, "in/s.yaml") == {"a": "pass"}
    made = desk.run("suite", "convert", "in/s.yaml", "--output", "deep/er/n.yaml")
    assert made.code == 0, made.err
    assert "needs will be copied" in made.err
    assert desk.run("suite", "check", "deep/er/n.yaml").code == 0
    assert verdicts(desk, "deep/er/n.yaml") == {"a": "pass"}
    carried = sorted(
        p.relative_to(desk.folder / "deep/er").as_posix()
        for p in desk.folder.rglob("deep/er/**/*.*")
    )
    assert "n-files/graders/words.py" in carried and "n-files/graders/other.py" not in carried
    assert ("n-files/template/seed.txt" in carried) != is_project


def test_code_of_javascript_goes_with_what_it_requires(desk: Desk) -> None:
    """A module of its own folder, and what that requires; a package and a file above are left
    alone.
    """
    desk.file(
        "in/lib/a.js",
        "const b = require('./b');\nrequire('fs'); require('../c.js');\nmodule.exports = b;\n",
    )
    desk.file("in/lib/b.js", "import d from './deep/d.mjs'\nmodule.exports = () => true;\n")
    desk.file("in/lib/deep/d.mjs", "export default 1\n")
    desk.file("in/c.js", "\n")
    desk.file(
        "in/s.yaml",
        "suite: 1\ncases: [{id: a, input: x, checks: [{script: {language: javascript, file: lib/a.js}}]}]\n",
    )
    assert desk.run("suite", "convert", "in/s.yaml", "--output", "deep/n.yaml").code == 0
    there = sorted(
        p.relative_to(desk.folder / "deep").as_posix()
        for p in (desk.folder / "deep").rglob("*.*js")
    )
    assert there == ["n-files/lib/a.js", "n-files/lib/b.js", "n-files/lib/deep/d.mjs"]


def test_in_the_same_folder_nothing_is_copied(desk: Desk) -> None:
    """Paths stay as they were written."""
    project(desk)
    made = desk.run("suite", "convert", "in/s.yaml", "--output", "in/n.yaml")
    assert made.code == 0 and "copied" not in made.err
    assert not (desk.folder / "in/n-files").exists()
    assert "graders/grade.py" in (desk.folder / "in/n.yaml").read_text()


def test_a_whole_project_goes_without_its_private_names(desk: Desk) -> None:
    """A workspace that is the suite's own folder: names that begin with a dot stay, as when a case
    gets its copy, and a second conversion does not copy the first one's copies.
    """
    desk.file(
        "in/s.yaml",
        "suite: 1\ncases: [{id: a, input: x, workspace: {copy: .}, checks: [{contains: y}]}]\n",
    )
    desk.file("in/.env", "KEY=1\n")
    desk.file("in/inner/.keep", "\n")
    for _ in range(2):
        assert (
            desk.run("suite", "convert", "in/s.yaml", "--output", "in/out/n.yaml", "--force").code
            == 0
        )
    there = sorted(
        p.relative_to(desk.folder / "in/out").as_posix()
        for p in (desk.folder / "in/out").rglob("*")
    )
    assert "n-files/inner/.keep" in there and "n-files/s.yaml" in there
    assert [name for name in there if name.endswith(".env") or name.count("n-files") > 1] == []


def test_another_file_is_not_written_over(desk: Desk) -> None:
    """A different file under the name of a copy: exit 2, nothing is written; --force writes over
    it.
    """
    project(desk)
    theirs = desk.file("deep/n-files/schema.json", "theirs")
    ended = desk.run("suite", "convert", "in/s.yaml", "--output", "deep/n.yaml")
    assert ended.is_refusal and "schema.json" in ended.err
    assert theirs.read_text() == "theirs" and not (desk.folder / "deep/n.yaml").exists()
    assert desk.run("suite", "convert", "in/s.yaml", "--output", "deep/n.yaml", "--force").code == 0
    assert theirs.read_text() == '{"type": "string"}'


def test_what_leads_out_of_the_project_is_not_copied(desk: Desk) -> None:
    """A suite from elsewhere does not choose which files of the machine are copied: a note says so."""
    secret = desk.home / "secret.json"
    secret.write_text('{"type": "string"}')
    name = os.path.relpath(secret, desk.folder / "in")
    desk.file("in/honestone.toml", "")
    desk.file(
        "in/s.yaml",
        f"suite: 1\ncases: [{{id: a, input: x, checks: [{{json-schema: '{name}'}}]}}]\n",
    )
    ended = desk.run("suite", "convert", "in/s.yaml", "--output", "deep/n.yaml")
    assert "leads out of the project" in ended.err
    assert not list((desk.folder / "deep").rglob("secret.json"))


def test_a_rubric_takes_its_tests_along(desk: Desk) -> None:
    """`rubric convert` to another folder: the tests of a `pytest` check are there, and the rubric
    judges.
    """
    desk.file("in/tests/test_it.py", "def test_it():\n    assert True\n")
    desk.file(
        "in/r.yaml",
        "rubric: 1\ncriteria: [{id: a, requirement: Runs, check: {pytest: tests/test_it.py}}]\n",
    )
    assert desk.run("rubric", "convert", "in/r.yaml", "--output", "deep/r.yaml").code == 0
    assert "pytest: r-files/tests/test_it.py" in (desk.folder / "deep/r.yaml").read_text()
    assert (desk.folder / "deep/r-files/tests/test_it.py").is_file()


names = st.sampled_from(
    ["a.json", "b/c.json", "b/d/e.json", "./a.json", "b/../a.json", "none.json"]
)
folders = st.sampled_from(["x", "x/y", "b", "b/d", "."])


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(st.lists(names, min_size=1, max_size=3), folders, st.booleans())
def test_every_path_leads_to_the_same_bytes(used: list[str], where: str, is_project: bool) -> None:
    """Whatever is named and wherever it is written: each path that led to a file leads to an equal
    one.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for number, name in enumerate(["a.json", "b/c.json", "b/d/e.json"]):
            (root / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / "in" / name).write_text(json.dumps({"const": number}))
        if is_project:
            (root / "honestone.toml").write_text("")
        checks = [{"json-schema": name} for name in used]
        suite = {"suite": 1, "cases": [{"id": "a", "input": "x", "checks": checks}]}
        (root / "in/s.yaml").write_text(json.dumps(suite))
        output = root / "out" / where / "n.yaml"
        made = convert_suite(root / "in/s.yaml", "honestone", accept_loss=False, output=output)
        output.parent.mkdir(parents=True)
        output.write_text(made.text)
        for copy in made.copies:
            (output.parent / copy.name).parent.mkdir(parents=True, exist_ok=True)
            (output.parent / copy.name).write_bytes(copy.source.read_bytes())
        again = [
            item.check.text
            for _, item in read_any_suite(output).suite.cases[0].rubric.questions()
            if item.check
        ]
        for before, after in zip(used, again, strict=True):
            source, moved = root / "in" / before, output.parent / after
            assert moved.is_file() == source.is_file()
            assert not source.is_file() or moved.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("dialect", ["agentv", "agentv-5"])
def test_checks_of_promptfoo_are_written_for_agentv(desk: Desk, dialect: str) -> None:
    """A suite that asks no judge has them too. What AgentV compares in its own way is a loss by
    name, and what is written has the same results.
    """
    checks = [
        {"type": "contains", "value": "hello"},
        {"type": "not-contains", "value": "bye"},
        {"type": "icontains-any", "value": ["HELLO", "x"]},
        {"type": "equals", "value": "Say hello"},
        {"type": "starts-with", "value": "Say"},
        {"type": "regex", "value": "^S\\w+ h.llo$"},
    ]
    tests = [{"vars": {"q": q}, "assert": checks} for q in ("hello", "bye")]
    config = {"prompts": ["Say {{q}}"], "providers": ["echo"], "tests": tests}
    desk.file("promptfooconfig.yaml", json.dumps(config))
    refused = desk.run("suite", "convert", "promptfooconfig.yaml", "--to", dialect)
    assert refused.code == 2
    assert "`exact: javascript`: texts are compared as AgentV compares them" in refused.err
    assert "nothing to judge" not in refused.err
    done = desk.run("suite", "convert", "promptfooconfig.yaml", "--to", dialect, "--accept-loss")
    assert done.code == 0, done.err
    for one in checks:
        assert f"type: {str(one['type']).removeprefix('not-')}" in done.out, one
    desk.file("made.eval.yaml", done.out)
    results = [
        desk.run("eval", name, "-t", "cmd:cat", "--json").json
        for name in ("promptfooconfig.yaml", "made.eval.yaml")
    ]
    found = [[one["status"] for one in report["cases"]] for report in results]
    assert found == [["passed", "failed"]] * 2
