"""Prompts and tests of a promptfoo config that its code makes: never run by being looked at, run
with permission, confined.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from honestone import run_suite
from honestone.system.processes.sandbox import Sandbox

from .desk import Desk

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
READS_TYPES = (
    shutil.which("node") is not None
    and b"yes"
    in subprocess.run(
        ["node", "-p", "process.features.typescript ? 'yes' : 'no'"],
        capture_output=True,
        timeout=60,
        check=False,
    ).stdout
)
needs_sandbox = pytest.mark.skipif(
    Sandbox.choose("auto").name == "none", reason="no sandbox works here"
)

PROMPTS = """
import json, sys

def ask(context):
    said = context["vars"]["q"] + " " + context["config"].get("end", "none")
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": said + " {{q}} {% raw %}{{q}}{% endraw %}"}]

def plain(context):
    return {"prompt": "plain {{q}}", "config": {"temperature": 0}}

if __name__ == "__main__":
    print("printed " + json.loads(sys.argv[1])["vars"]["q"])
"""
TESTS = """
def generate_tests(config=None):
    word = (config or {}).get("word", "cat")
    return [{"description": f"{word} {n}", "vars": {"q": f"{word}{n}"}, "assert": [{"type": "contains", "value": f"{word}{n}"}]} for n in (1, 2)]

class Makes:
    @staticmethod
    def more():
        return [{"description": "more", "vars": {"q": "dog"}, "assert": [{"type": "equals", "value": "other"}]}]
"""


def inputs(document: Any) -> dict[str, str]:
    return {case["id"]: case["attempts"][0]["output"] for case in document["cases"]}


def verdicts(document: Any) -> dict[str, str]:
    return {case["id"]: case["verdict"] for case in document["cases"]}


def test_tests_of_a_python_file(desk: Desk) -> None:
    """The function that is named, `generate_tests` without a name, a method of a class, and what
    `config` gives it.
    """
    desk.file("tests.py", TESTS)
    desk.file(
        "c.yaml",
        "prompts: ['say {{q}}']\nproviders: [echo]\ntests:\n  - file://tests.py\n  - file://tests.py:Makes.more\n"
        "  - {path: 'file://tests.py:generate_tests', config: {word: cow}}\n"
        "  - {description: written, vars: {q: x}, assert: [{type: contains, value: x}]}\n",
    )
    result = desk.run("eval", "c.yaml", "--allow-code", "--json")
    assert result.code == 1, result.err
    assert verdicts(result.json) == {
        "cat-1": "pass",
        "cat-2": "pass",
        "more": "fail",
        "cow-1": "pass",
        "cow-2": "pass",
        "written": "pass",
    }


def test_prompts_of_python_functions(desk: Desk) -> None:
    """Messages, a text in a mapping, and a file that prints its prompt; what is made is a template,
    as in promptfoo.
    """
    desk.file("p.py", PROMPTS)
    desk.file(
        "c.yaml",
        "prompts:\n  - {id: 'file://p.py:ask', label: ask, config: {end: '!'}}\n  - file://p.py:plain\n  - file://p.py\n"
        "providers: [echo]\ntests: [{description: one, vars: {q: cat}, assert: [{type: contains, value: cat}]}]\n",
    )
    result = desk.run("eval", "c.yaml", "--allow-code", "--json")
    assert result.code == 0, result.err
    (case,) = result.json["cases"]
    said = [cell["attempts"][0]["output"] for cell in case["cells"]]
    assert said == ["system: Be brief.\n\nuser: cat ! cat {{q}}", "plain cat", "printed cat"]


@needs_node
def test_prompts_and_tests_of_javascript(desk: Desk) -> None:
    """CommonJS and modules, functions that are waited for, and a list that is exported as it is."""
    desk.file(
        "p.mjs", "export default async ({ vars, provider }) => `${vars.q} for ${provider.id}`;\n"
    )
    desk.file(
        "list.cjs",
        "module.exports = [{ vars: { q: 'cat' }, assert: [{ type: 'contains', value: 'cat for echo' }] }];",
    )
    desk.file(
        "made.js",
        "module.exports.two = async (config) => [1, 2].map((n) => ({ description: config.word + n, vars: { q: config.word } }));",
    )
    desk.file(
        "c.yaml",
        "prompts: [file://p.mjs]\nproviders: [echo]\n"
        "defaultTest: {assert: [{type: icontains, value: FOR}]}\n"
        "tests: [file://list.cjs, {path: 'made.js:two', config: {word: dog}}]\n",
    )
    result = desk.run("eval", "c.yaml", "--allow-code", "--json")
    assert result.code == 0, result.err
    assert inputs(result.json) == {
        "test-1": "cat for echo",
        "dog1": "dog for echo",
        "dog2": "dog for echo",
    }


@pytest.mark.slow
def test_looking_at_it_runs_nothing(desk: Desk) -> None:
    """Check and show say what they do not know, convert refuses, and no mark is left; with
    permission the code runs.
    """
    mark = desk.folder / "mark"
    desk.file("made.py", f"open({str(mark)!r}, 'w')\n" + TESTS + PROMPTS)
    desk.file("tests.yaml", "prompts: ['{{q}}']\nproviders: [echo]\ntests: file://made.py\n")
    desk.file(
        "prompts.yaml",
        "prompts: [file://made.py:plain]\nproviders: [echo]\ntests: [{vars: {q: a}, assert: [{type: contains, value: a}]}]\n",
    )
    for name in ("tests.yaml", "prompts.yaml"):
        checked = desk.run("suite", "check", name)
        assert checked.code == 0 and "--allow-code" in checked.err + checked.out, checked.err
        shown = desk.run("suite", "show", name)
        assert shown.is_refusal and "made by code" in shown.err, shown.err
        assert desk.run("trust", name).code == 0
        assert desk.run("trust", name, "--revoke").code == 0
        for more in ((), ("--accept-loss",), ("--target", "cmd:cat")):
            refused = desk.run("eval", name, *more)
            assert refused.is_refusal and "--allow-code" in refused.err, refused.err
        lost = desk.run("suite", "convert", name, "--output", f"native-{name}")
        assert lost.is_refusal and "made by code" in lost.err, lost.err
        locked = desk.run("suite", "lock", name)
        assert locked.is_refusal and "cannot be locked" in locked.err, locked.err
        assert not mark.exists(), name
    assert desk.run("eval", "tests.yaml", "--allow-code", "--sandbox", "none").code == 0
    assert mark.exists()


def test_trust_covers_the_code_that_makes_tests(desk: Desk) -> None:
    """A byte of it changed, and it is not run."""
    desk.file("made.py", TESTS)
    desk.file("c.yaml", "prompts: ['{{q}}']\nproviders: [echo]\ntests: file://made.py\n")
    assert desk.run("trust", "c.yaml").code == 0
    assert desk.run("eval", "c.yaml").code == 0
    desk.file("made.py", TESTS + "\n")
    assert desk.run("eval", "c.yaml").is_refusal


@needs_sandbox
def test_it_is_confined(desk: Desk) -> None:
    """With permission, too, it writes nothing next to the config."""
    mark = desk.folder / "mark"
    desk.file("made.py", f"open({str(mark)!r}, 'w')\n" + TESTS)
    desk.file("c.yaml", "prompts: ['{{q}}']\nproviders: [echo]\ntests: file://made.py\n")
    refused = desk.run("eval", "c.yaml", "--allow-code")
    assert refused.is_refusal and "`made.py` could not be run" in refused.err and not mark.exists()


WRONG = {
    "raises": ("def generate_tests(): raise ValueError('no data')", "ValueError: no data"),
    "a mapping": ("def generate_tests(): return {}", "must return a list of tests"),
    "nothing": ("def generate_tests(): pass", "must return a list of tests"),
    "no such function": ("x = 1", "generate_tests"),
    "an odd value": ("def generate_tests(): return [object]", "not a value"),
    "odd tests": ("def generate_tests(): return [3]", "must be a mapping, not 3"),
    "a NUL": ("def generate_tests(): return [{'vars': {'q': 'a\\0'}}]", "NUL"),
    "deep": (
        "def generate_tests():\n    x = []\n    for n in range(900): x = [x]\n    return x",
        "deep",
    ),
    "outside": ("def generate_tests(): return ['file:///etc/passwd']", "leads out of the folder"),
    "ends": ("import os\nos._exit(3)", "without an answer"),
}


@pytest.mark.parametrize("name", WRONG)
def test_code_that_makes_no_tests_is_refused_with_its_place(desk: Desk, name: str) -> None:
    """Before anything is spent."""
    text, word = WRONG[name]
    desk.file("made.py", text)
    desk.file("c.yaml", "prompts: ['{{q}}']\nproviders: [echo]\ntests: [file://made.py]\n")
    refused = desk.run("eval", "c.yaml", "--allow-code")
    assert refused.is_refusal and word in refused.err, refused.err
    assert "c.yaml:3:9" in refused.err or "made.py:1:" in refused.err


def test_a_prompt_that_depends_on_the_provider_is_refused(desk: Desk) -> None:
    """A case has one input; the same prompt for each provider is fine."""
    desk.file(
        "p.py", "def a(context): return context['provider']['id']\ndef b(context): return 'x'\n"
    )
    head = "providers: [echo, {id: 'exec: cat', label: second}]\ntests: [{assert: [{type: contains, value: x}]}]\n"
    desk.file("a.yaml", "prompts: [file://p.py:a]\n" + head)
    desk.file("b.yaml", "prompts: [file://p.py:b]\n" + head)
    refused = desk.run("eval", "a.yaml", "--allow-code")
    assert refused.is_refusal and "different prompts for different providers" in refused.err, (
        refused.err
    )
    made = desk.run("eval", "b.yaml", "--allow-code", "--target", "cmd:cat", "--json")
    assert made.code == 0, made.err


def test_permission_from_python(tmp_path: Path) -> None:
    """`run_suite(..., allow_code=True)` runs it, and the reading is the same."""
    (tmp_path / "made.py").write_text(TESTS)
    suite = tmp_path / "c.yaml"
    suite.write_text(
        json.dumps({"prompts": ["{{q}}"], "providers": ["echo"], "tests": "file://made.py"})
    )
    result = run_suite(suite, target="cmd:cat", allow_code=True)
    assert [case.id for case in result.cases] == ["cat-1", "cat-2"]


TYPED = "export default function tests(): object[] {\n  return [{ vars: { q: 'cat' }, assert: [{ type: 'javascript', value: 'file://grade.mts' }] }];\n}\n"


def typed(desk: Desk) -> None:
    desk.file("tests.mts", TYPED)
    desk.file("grade.mts", "export default (output: string): boolean => output === 'cat';\n")
    desk.file("c.yaml", "prompts: ['{{q}}']\nproviders: [echo]\ntests: file://tests.mts\n")


def test_typescript_needs_a_node_that_reads_it(desk: Desk) -> None:
    """An older Node is refused before anything is run; the config itself can be looked at."""
    typed(desk)
    desk.file("bin/node", "#!/bin/sh\necho no\n").chmod(0o755)
    desk.extra["PATH"] = f"{desk.folder / 'bin'}:/usr/bin:/bin"
    assert desk.run("suite", "check", "c.yaml").code == 0
    refused = desk.run("eval", "c.yaml", "--allow-code")
    assert refused.is_refusal and "is TypeScript" in refused.err and "22.18" in refused.err, (
        refused.err
    )


@pytest.mark.skipif(
    not READS_TYPES, reason="Node.js reads no TypeScript here (22.18 or newer does)"
)
def test_typescript_makes_tests_and_judges(desk: Desk) -> None:
    """With a Node that leaves types out."""
    typed(desk)
    result = desk.run("eval", "c.yaml", "--allow-code", "--json")
    assert result.code == 0 and verdicts(result.json) == {"test-1": "pass"}, result.err
