"""Code of another tool's file: read and converted without being run, run with permission, confined,
and refused clearly.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from honestone import run_suite
from honestone.core.errors import UsageError
from honestone.system.processes.sandbox import Sandbox

from .desk import Desk

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
needs_sandbox = pytest.mark.skipif(
    Sandbox.choose("auto").name == "none", reason="no sandbox works here"
)
HEAD = "description: mine\nprompts: ['{{q}}']\nproviders: [echo]\ntests:\n"


def config(*tests: tuple[str, str, str], q: str = "three small words") -> str:
    """Tests by (name, type, the rest of the assertion)."""
    rows = [
        f"  - description: {name}\n    vars: {{q: {q}}}\n    assert:\n      - {{type: {kind}, {rest}}}\n"
        for name, kind, rest in tests
    ]
    return HEAD + "".join(rows)


def cases(document: Any) -> dict[str, Any]:
    return {case["id"]: case for case in document["cases"]}


def verdicts(document: Any) -> dict[str, str]:
    return {id: case["verdict"] for id, case in cases(document).items()}


def leaves(mark: Path) -> str:
    return f"value: \"open({str(mark)!r}, 'w').write('x') == 1\""


PYTHON = config(
    ("short", "python", "value: len(output) < 20"),
    ("long", "python", "value: len(output) > 200"),
    ("not", "not-python", "value: len(output) > 200"),
    ("above", "python", "value: '0.6', threshold: 0.5"),
    ("below", "python", "value: '0.3', threshold: 0.5"),
    ("file", "python", "value: 'file://code/grade.py'"),
    ("named", "python", "value: 'file://code/grade.py:other'"),
)
PYTHON_FILE = (
    "def get_assert(output, context): return context['vars']['q'].split()[1] in output\n"
    "def other(output, context): return {'pass': False, 'score': 0.25, 'reason': 'no ' + context['config']['animal']}\n"
).replace("context['config']['animal']", "'zebra'")
WANT = {
    "short": "pass",
    "long": "fail",
    "not": "pass",
    "above": "pass",
    "below": "fail",
    "file": "pass",
    "named": "fail",
}


@pytest.mark.slow
def test_python_assertions(desk: Desk) -> None:
    """Each kind of value and of reply, with the scores and the reason."""
    desk.file("c.yaml", PYTHON)
    desk.file("code/grade.py", PYTHON_FILE)
    result = desk.run("eval", "c.yaml", "--allow-code", "--json")
    assert verdicts(result.json) == WANT
    scores = {id: case["score"] for id, case in cases(result.json).items()}
    assert scores == {
        "short": 100,
        "long": 0,
        "not": 100,
        "above": 60,
        "below": 30,
        "file": 100,
        "named": 25,
    }
    assert "no zebra" in result.out
    assert result.code == 1
    named = cases(result.json)["named"]
    assert named["reasons"] == [
        f"required criterion '{named['criteria'][0]['id']}' is not met: it scored 25.0"
    ]


@pytest.mark.slow
@needs_node
def test_javascript_assertions(desk: Desk) -> None:
    """In Node, with CommonJS files."""
    desk.file(
        "c.yaml",
        config(
            ("short", "javascript", "value: output.length < 20"),
            ("long", "javascript", "value: output.length > 200;"),
            (
                "lines",
                "javascript",
                "value: \"const n = output.split(' ').length;\\n\\nreturn n === context.vars.q.split(' ').length\"",
            ),
            ("below", "javascript", "value: '0.3', threshold: 0.5"),
            ("file", "javascript", "value: 'file://code/grade.js'"),
            ("named", "javascript", "value: 'file://code/grade.js:named', config: {animal: zebra}"),
        ),
    )
    desk.file(
        "code/grade.js",
        "module.exports = (output, context) => output.includes(context.vars.q.split(' ')[1]);\n"
        "module.exports.named = (output, { config }) => ({ pass: false, score: 0.25, reason: `no ${config.animal}` });\n",
    )
    result = desk.run("eval", "c.yaml", "--allow-code", "--json")
    want = {
        "short": "pass",
        "long": "fail",
        "lines": "pass",
        "below": "fail",
        "file": "pass",
        "named": "fail",
    }
    assert verdicts(result.json) == want
    assert "no zebra" in result.out


@pytest.mark.slow
def test_code_is_never_run_by_being_looked_at(desk: Desk) -> None:
    """Checking, converting, showing, locking and a refused eval leave no mark, from the config or
    from its files.
    """
    mark = desk.folder / "mark"
    desk.file(
        "code/grade.py", f"open({str(mark)!r}, 'w')\ndef get_assert(output, context): return True\n"
    )
    desk.file(
        "c.yaml",
        config(("a", "python", leaves(mark)), ("b", "python", "value: 'file://code/grade.py'")),
    )
    for words in (
        ("suite", "check", "c.yaml"),
        ("suite", "convert", "c.yaml", "--output", "deep/native.yaml"),
        ("suite", "check", "deep/native.yaml"),
        ("suite", "show", "c.yaml"),
        ("suite", "lock", "c.yaml"),
        ("trust", "c.yaml"),
    ):
        assert desk.run(*words).code == 0, words
        assert not mark.exists(), words
    desk.run("trust", "c.yaml", "--revoke")
    for more in ((), ("--accept-loss",), ("--target", "cmd:cat", "--sandbox", "none")):
        refused = desk.run("eval", "c.yaml", "--json", *more)
        assert refused.is_refusal, refused.err
        assert "--allow-code" in refused.err and "c.yaml:8:" in refused.err
        assert not mark.exists()
    assert desk.run("eval", "c.yaml", "--allow-code", "--sandbox", "none").code in (0, 1)
    assert mark.exists()


@needs_sandbox
def test_code_is_confined(desk: Desk) -> None:
    """With permission, too, it changes nothing on this machine."""
    mark = desk.folder / "mark"
    desk.file("c.yaml", config(("a", "python", leaves(mark))))
    result = desk.run("eval", "c.yaml", "--allow-code", "--json")
    assert verdicts(result.json) == {"a": "fail"}
    assert not mark.exists()


def test_suite_check_names_the_option(desk: Desk) -> None:
    """Exit 0, with a note of what would run and where."""
    desk.file(
        "c.yaml", config(("a", "python", "value: 'True'"), ("b", "not-javascript", "value: 'true'"))
    )
    checked = desk.run("suite", "check", "c.yaml")
    assert checked.code == 0
    assert (
        "the assertion `python`, the assertion `not-javascript`, in 2 places, c.yaml:"
        in checked.err + checked.out
    )
    assert "--allow-code" in checked.err + checked.out


@pytest.mark.slow
def test_trust_holds_until_a_byte_changes(desk: Desk) -> None:
    """Of the config, of a file of code that it names, or of a table of tests."""
    desk.file("code/grade.py", PYTHON_FILE)
    desk.file("rows.csv", 'q,__expected\nsmall,"python: len(output) == 5"\n')
    text = config(("file", "python", "value: 'file://code/grade.py'")) + "  - file://rows.csv\n"
    files = {
        "c.yaml": text,
        "code/grade.py": PYTHON_FILE,
        "rows.csv": (desk.folder / "rows.csv").read_text(),
    }
    desk.file("c.yaml", text)
    trusted = desk.run("trust", "c.yaml")
    assert trusted.code == 0
    assert trusted.out.splitlines() == [
        "trusted: c.yaml",
        "  with code/grade.py",
        "  with rows.csv",
    ]
    assert desk.run("eval", "c.yaml").code == 0
    for name, before in files.items():
        desk.file(name, before + "\n")
        assert desk.run("eval", "c.yaml").code == 2, name
        desk.file(name, before)
        assert desk.run("eval", "c.yaml").code == 0, name
    assert desk.run("trust", "c.yaml", "--revoke").out == "not trusted: c.yaml\n"
    assert desk.run("eval", "c.yaml").is_refusal


def test_a_suite_without_code_cannot_be_trusted(desk: Desk) -> None:
    """There is nothing that would need it, and a file that cannot be read says why."""
    desk.file("c.yaml", config(("a", "contains", "value: small")))
    refused = desk.run("trust", "c.yaml")
    assert refused.is_refusal and "runs no code that needs your permission" in refused.err
    assert desk.run("trust", "missing.yaml").is_refusal


@pytest.mark.slow
def test_converted_to_another_folder(desk: Desk) -> None:
    """Files of code are found from there, and the verdicts are the same, without the option: it is
    a file of one's own.
    """
    desk.file("c.yaml", PYTHON)
    desk.file("code/grade.py", PYTHON_FILE)
    converted = desk.run("suite", "convert", "c.yaml", "--output", "native/deep/n.yaml")
    assert converted.code == 0 and "read it first" in converted.err
    assert "n-files/code/grade.py" in (desk.folder / "native/deep/n.yaml").read_text()
    result = desk.run("eval", "native/deep/n.yaml", "--target", "cmd:cat", "--json")
    assert verdicts(result.json) == WANT


def test_code_that_fails_never_passes(desk: Desk) -> None:
    """An exception and another kind of reply are unmet, with the message, negated too."""
    boom = "value: \"\\n\\nraise ValueError('BOOM')\\n\""
    desk.file(
        "c.yaml",
        config(("a", "python", boom), ("b", "not-python", boom), ("c", "python", "value: '[1]'")),
    )
    result = desk.run("eval", "c.yaml", "--allow-code", "--json")
    assert set(verdicts(result.json).values()) == {"fail"}
    assert "ValueError: BOOM" in result.out and "must return" in result.out


def test_without_node_it_is_refused(desk: Desk) -> None:
    """Exit 2 before anything is spent; the program and the assertion are named."""
    desk.file("c.yaml", config(("a", "javascript", "value: 'true'")))
    programs = desk.folder / "bin"
    programs.mkdir()
    for name in ("sh", "cat", "env"):
        (programs / name).symlink_to(str(shutil.which(name)))
    path = os.pathsep.join([str(Path(sys.executable).parent), str(programs)])
    refused = desk.run("eval", "c.yaml", "--allow-code", env={"PATH": path})
    assert refused.is_refusal
    assert "runs javascript, but `node` was not found" in refused.err
    assert desk.run("suite", "check", "c.yaml", env={"PATH": path}).code == 0


@pytest.mark.slow
@needs_node
def test_transforms(desk: Desk) -> None:
    """Of a test before the assertion's own, for checks that are not code too; code gets the value
    itself.
    """
    desk.file(
        "c.yaml",
        "prompts: ['{{q}}']\nproviders: [echo]\ndefaultTest:\n  options: {transform: JSON.parse(output)}\ntests:\n"
        '  - description: all\n    vars: {q: \'{"a": "Xyz"}\'}\n    assert:\n'
        '      - {type: equals, value: \'{"a":"Xyz"}\'}\n'
        "      - {type: contains, value: xyz, transform: output.a.toLowerCase()}\n"
        "      - {type: javascript, value: output.a === 'Xyz'}\n"
        "      - {type: python, value: 'file://g.py', transform: 'file://g.py:part'}\n"
        "  - description: own\n    vars: {q: abc}\n    options: {transform: 'output + context.vars.q'}\n    assert:\n"
        "      - {type: equals, value: abcabc}\n",
    )
    desk.file(
        "g.py",
        "def part(output, context): return output['a']\ndef get_assert(output, context): return output == 'Xyz'\n",
    )
    result = desk.run("eval", "c.yaml", "--allow-code", "--json")
    assert verdicts(result.json) == {"all": "pass", "own": "pass"}, result.out + result.err


def test_a_judge_sees_what_no_code_has_changed(desk: Desk) -> None:
    """So a transform is a loss there: the assertion's own leaves it out, the test's does not."""
    desk.file(
        "c.yaml",
        "prompts: ['{{q}}']\nproviders: [echo]\ntests:\n  - vars: {q: abc}\n    options: {transform: output + 'x'}\n"
        "    assert:\n      - {type: llm-rubric, value: It is fine}\n"
        "      - {type: llm-rubric, value: It is short, transform: output}\n",
    )
    refused = desk.run("suite", "check", "c.yaml")
    assert refused.is_refusal
    assert "sees the output as it is" in refused.err and "the assertion is left out" in refused.err


@pytest.mark.parametrize("name", ["../grade.py", "/etc/grade.py", "no.py", "no.ts", "grade.rb"])
def test_files_of_code_that_are_not_run(desk: Desk, name: str) -> None:
    """Outside of the project, missing, or in another language: refused with the place."""
    desk.file("c.yaml", config(("a", "python", f"value: 'file://{name}'")))
    (desk.folder.parent / "grade.py").write_text("def get_assert(output, context): return True\n")
    refused = desk.run("eval", "c.yaml", "--allow-code")
    assert refused.is_refusal and "c.yaml:8:" in refused.err


# ------------------------------------------------------------------------------------ evaluators of
# pydantic-evals


DATASET = """\
name: capitals
cases:
  - name: peru
    inputs: What is the capital of Peru? Lima
    expected_output: Lima
    metadata: {region: south}
  - name: chile
    inputs: What is the capital of Chile?
    expected_output: Santiago
evaluators:
  - Contains: {value: capital}
  - Gives: {strict: true}
"""
CLASSES = """\
from dataclasses import dataclass
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

@dataclass
class Gives(Evaluator[str, str, dict]):
    strict: bool
    def evaluate(self, ctx: EvaluatorContext[str, str, dict]) -> EvaluationReason:
        assert self.strict and ctx.inputs == ctx.output and ctx.duration >= 0
        return EvaluationReason(value=ctx.expected_output in ctx.output, reason="LOOKED-AT " + ctx.name)

@dataclass
class Several(Evaluator):
    parts: list
    async def evaluate(self, ctx):
        return {"half": 0.5, "label": "short", "met": len(self.parts) == 2}
"""


@pytest.mark.slow
def test_evaluators_of_pydantic_evals(desk: Desk) -> None:
    """A class in a Python file next to the data set is a loss without permission, and is asked with
    it.
    """
    desk.file("d.yaml", DATASET)
    desk.file("checks.py", CLASSES)
    for words in (("suite", "check", "d.yaml"), ("eval", "d.yaml", "--target", "cmd:cat")):
        refused = desk.run(*words)
        assert (
            refused.is_refusal
            and "`Gives` is a Python class" in refused.err
            and "--allow-code" in refused.err
        )
    rest = desk.run("eval", "d.yaml", "--target", "cmd:cat", "--accept-loss", "--json")
    assert verdicts(rest.json) == {"peru": "pass", "chile": "pass"}
    result = desk.run("eval", "d.yaml", "--target", "cmd:cat", "--allow-code", "--json")
    assert verdicts(result.json) == {"peru": "pass", "chile": "fail"}, result.out + result.err
    assert "LOOKED-AT chile" in result.out
    assert desk.run("trust", "d.yaml").out.splitlines() == ["trusted: d.yaml", "  with checks.py"]
    assert desk.run("eval", "d.yaml", "--target", "cmd:cat").code == 1
    desk.file("checks.py", CLASSES + "\n")
    assert desk.run("eval", "d.yaml", "--target", "cmd:cat").is_refusal


def test_several_results_of_one_evaluator(desk: Desk) -> None:
    """Every boolean must be true; the score is the mean. A class that two files define is not
    guessed at.
    """
    desk.file("checks.py", CLASSES)
    for parts, verdict in (("[a, b]", "pass"), ("[a]", "fail")):
        text = f"cases:\n  - {{name: a, inputs: hello, evaluators: [{{Several: {{parts: {parts}}}}}, {{Equals: hello}}]}}\n"
        desk.file("d.yaml", text)
        result = desk.run("eval", "d.yaml", "--target", "cmd:cat", "--allow-code", "--json")
        assert verdicts(result.json) == {"a": verdict}, result.out + result.err
    scores = {one["id"]: one["score"] for one in cases(result.json)["a"]["criteria"]}
    assert scores["several"] == pytest.approx(50)
    desk.file("more.py", CLASSES)
    assert desk.run("eval", "d.yaml", "--target", "cmd:cat", "--allow-code").is_refusal


def test_permission_from_python(desk: Desk) -> None:
    """`run_suite` takes it as an option, and refuses without it."""
    desk.file("c.yaml", config(("a", "python", "value: 'True'")))
    suite = desk.folder / "c.yaml"
    with pytest.raises(UsageError, match="runs code of its own"):
        run_suite(suite, folder=desk.folder)
    assert run_suite(suite, allow_code=True, folder=desk.folder).passed
