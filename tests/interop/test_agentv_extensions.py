"""AgentV's `extensions`, the folder of a grader, and fields without an expected value, with the
command as a user runs it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SUITE = """
extensions:
  - agentv:agent-rules
  - file://hooks.mjs:beforeAll
  - file://hooks.mjs:beforeEach
  - file://hooks.mjs:afterEach
environment: {type: host, workdir: ./start}
prompts: ["{{ input }}"]
tests:
  - id: one
    assert:
      - {type: contains, value: beforeAll beforeEach one was here}
    vars: {input: show}
"""
HOOKS = """
import fs from "node:fs";
import path from "node:path";
const write = ({hook_name, workspace_path, test_id}) =>
  fs.appendFileSync(path.join(workspace_path, "hooks.txt"), `${hook_name} ${hook_name === "beforeEach" ? test_id + " " : ""}`);
export const beforeAll = write;
export async function beforeEach(context) { await Promise.resolve(); write(context); }
export const afterEach = ({eval_dir}) => fs.writeFileSync(path.join(eval_dir, "after.txt"), "done");
"""


def honestone(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "honestone", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


def desk(folder: Path, suite: str = SUITE, hooks: str = HOOKS) -> Path:
    (folder / "start").mkdir()
    (folder / "start" / "was.txt").write_text("was here\n")
    (folder / "hooks.mjs").write_text(hooks)
    (folder / "s.eval.yaml").write_text(suite)
    (folder / "t.py").write_text("print(open('hooks.txt').read() + open('was.txt').read())\n")
    return folder


def target(folder: Path) -> tuple[str, ...]:
    return (
        "eval",
        "s.eval.yaml",
        "--target",
        f"cmd:{sys.executable} {folder / 't.py'}",
        "--json",
        "--quiet",
    )


def test_extensions_need_permission_before_anything_runs(tmp_path: Path) -> None:
    """`suite check` reads the file and says what it needs; `eval` refuses it, with and without
    --accept-loss, and runs nothing.
    """
    folder = desk(tmp_path)
    done = honestone(folder, "suite", "check", "s.eval.yaml")
    assert done.returncode == 0, done.stderr
    assert "--allow-code" in done.stdout + done.stderr
    for more in ((), ("--accept-loss",)):
        done = honestone(folder, *target(folder), *more)
        assert done.returncode == 2
        assert "hooks.mjs" in done.stderr and "--allow-code" in done.stderr
    assert not (folder / "after.txt").exists()


def test_commands_of_hooks_need_permission_too(tmp_path: Path) -> None:
    """They run before anything is judged, and are not confined as checks are: exit 2 without
    permission, and nothing has run.
    """
    suite = """
workspace: {hooks: {before_each: {command: [touch, "HERE/was-run"]}}}
tests: [{id: a, input: hi, assertions: [{type: contains, value: hi}]}]
""".replace("HERE", str(tmp_path))
    (tmp_path / "s.eval.yaml").write_text(suite)
    command = ("eval", "s.eval.yaml", "--target", "cmd:cat", "--quiet")
    refused = honestone(tmp_path, *command)
    assert (
        refused.returncode == 2
        and "s.eval.yaml:2" in refused.stderr
        and "--allow-code" in refused.stderr
    )
    assert not (tmp_path / "was-run").exists()
    assert honestone(tmp_path, *command, "--allow-code").returncode == 0
    assert (tmp_path / "was-run").exists()


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_extensions_run_around_each_case(tmp_path: Path) -> None:
    """With permission the functions run in AgentV's order: in the case's workspace before it, and
    after it.
    """
    folder = desk(tmp_path)
    done = honestone(folder, *target(folder), "--allow-code")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [case["verdict"] for case in json.loads(done.stdout)["cases"]] == ["pass"]
    assert (folder / "after.txt").read_text() == "done"
    assert not (folder / "start" / "hooks.txt").exists(), "the workspace is a copy"


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_an_extension_that_fails_fails_the_set_up(tmp_path: Path) -> None:
    """An exception in a function before a case is why the case could not be run, never a low score."""
    folder = desk(
        tmp_path, hooks=HOOKS.replace("await Promise.resolve();", "throw new Error('no disk');")
    )
    done = honestone(folder, *target(folder), "--allow-code")
    assert done.returncode == 3, done.stdout
    assert "no disk" in done.stdout


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("extensions: hooks.mjs", "must be a list"),
        ("extensions: [file://absent.mjs:beforeAll]", "is not there"),
        ("extensions: [file://hooks.mjs:somewhen]", "is not run"),
        ("extensions: [7]", "is not run"),
        ("extensions: [{id: agentv:agent-rules, skills: [a]}]", "is not run"),
    ],
)
def test_other_extensions_are_refused_with_their_place(
    tmp_path: Path, written: str, said: str
) -> None:
    """What cannot be run is an error or a loss at its line."""
    folder = desk(tmp_path, f"{written}\n" + SUITE[SUITE.index("environment") :])
    done = honestone(folder, "suite", "check", "s.eval.yaml")
    assert done.returncode == 2
    assert said in done.stderr and "s.eval.yaml:1:" in done.stderr


def test_the_folder_of_a_grader_may_be_named_from_the_root(tmp_path: Path) -> None:
    """`cwd` is looked for up to the root of the repository, as AgentV does: the file's own folder
    by another name is no loss.
    """
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    folder = tmp_path / "evals" / "mine"
    folder.mkdir(parents=True)
    (folder / "g.py").write_text("print('{\"score\": 1}')\n")
    text = "tests:\n  - id: a\n    criteria: good\n    input: q\n    assertions:\n"
    grader = f"      - {{type: code-grader, command: [{sys.executable}, g.py], cwd: ./%s}}\n"
    (folder / "s.eval.yaml").write_text(text + grader % "evals/mine")
    assert honestone(folder, "suite", "check", "s.eval.yaml").returncode == 0
    (folder / "s.eval.yaml").write_text(text + grader % "evals")
    done = honestone(folder, "suite", "check", "s.eval.yaml")
    assert done.returncode == 2 and "runs in its file's folder" in done.stderr


@pytest.mark.parametrize(("said", "verdict"), [('{"b": 1}', "pass"), ("nothing", "fail")])
def test_fields_without_an_expected_value_are_met_by_json(
    tmp_path: Path, said: str, verdict: str
) -> None:
    """AgentV counts such fields as met, but only of an output in which it finds JSON."""
    (tmp_path / "s.eval.yaml").write_text(
        "tests:\n  - id: a\n    input: q\n    expected_output: {total: 1}\n    assertions:\n"
        "      - {type: field-accuracy, fields: [{path: other.name, match: exact}]}\n"
    )
    done = honestone(
        tmp_path, "eval", "s.eval.yaml", "--target", f"cmd:echo '{said}'", "--json", "--quiet"
    )
    assert [case["verdict"] for case in json.loads(done.stdout)["cases"]] == [verdict], done.stderr
